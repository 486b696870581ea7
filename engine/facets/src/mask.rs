//! Rules as sets of bits, made once and kept until others need their place.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graphlume_expr::{Cmp, ErrorCode, QueryError, Strictness};
use graphlume_graph::canon::Column;
use graphlume_procedures::{TextSetting, elements_of_text};
use graphlume_scene::{Bits, Members};
use graphlume_store::CacheKey;
use graphlume_store::filter::{ColumnPlace, ColumnTest, Predicate, RowFilter, within_budget};
use graphlume_store::ids::bit;
use rayon::prelude::*;
use serde_json::Map;

use crate::check::predicate;
use crate::column::Cells;
use crate::expr::{Expr, Literal, Test, parse};
use crate::filtered::FilterCount;
use crate::rule::{Axis, Brush, Kept, NodeBytes, Rule};
use crate::work::Work;

/// Words of bits that a thread takes at once.
const WORDS_AT_ONCE: usize = 1 << 10;

/// The elements that a rule means; absent on an axis of which it says nothing.
#[derive(Debug, Default)]
pub(crate) struct Mask {
    /// Nodes, by index.
    pub(crate) nodes: Option<Bits>,
    /// Edges, in drawn order.
    pub(crate) edges: Option<Bits>,
}

impl Mask {
    pub(crate) fn count(&self) -> FilterCount {
        FilterCount {
            nodes: self.nodes.as_ref().map(Bits::len),
            edges: self.edges.as_ref().map(Bits::len),
        }
    }

    fn bytes(&self) -> u64 {
        let of = |bits: &Option<Bits>| bits.as_ref().map_or(0, |b| b.words().len() as u64 * 8);
        of(&self.nodes) + of(&self.edges)
    }
}

/// The mask of a rule.
#[derive(Debug, Clone, PartialEq)]
struct MaskOf(Arc<Rule>);

// Numbers of a brush come from JSON, in which there is no NaN; with one the mask is made again each time.
impl Eq for MaskOf {}

impl CacheKey for MaskOf {
    type Value = Mask;
}

/// The row of each edge in drawn order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DrawnRows;

impl CacheKey for DrawnRows {
    type Value = Vec<u32>;
}

impl Work<'_> {
    /// The elements that a rule means.
    pub(crate) fn mask(&self, rule: &Arc<Rule>) -> Result<Arc<Mask>, QueryError> {
        let key = MaskOf(Arc::clone(rule));
        if let Some(found) = self.caches.masks.get(&key) {
            return Ok(found);
        }
        let mask = Arc::new(self.find(rule)?);
        self.cancel.check()?;
        let bytes = mask.bytes() + rule.bytes();
        self.caches.masks.put(key, &mask, (bytes, self.keep_max()), self.cancel);
        Ok(mask)
    }

    fn find(&self, rule: &Rule) -> Result<Mask, QueryError> {
        let nodes = |nodes| Mask { nodes: Some(nodes), edges: None };
        Ok(match rule {
            Rule::Expr(text) => within_budget(|| self.of_expr(text))?,
            Rule::Brush(brush) => self.of_brush(brush)?,
            Rule::Nodes(bytes) => nodes(self.of_bytes(bytes)?),
            Rule::Ego(bytes, hops) => nodes(self.ego(self.of_bytes(bytes)?, *hops)?),
            Rule::Cypher(text) => {
                let text = graphlume_cypher::parse_text(text)?;
                let params = Map::new();
                let setting = TextSetting {
                    params: &params,
                    strictness: Strictness::Strict,
                    cancel: self.cancel,
                };
                let found = elements_of_text(self.graph, &text, setting)?;
                Mask {
                    nodes: found.nodes.map(|list| Bits::new(self.nodes(), &list)),
                    edges: found.edges.map(|list| self.drawn(&list)),
                }
            }
            Rule::Gfql(query) => {
                let query = graphlume_gfql::parse(query)?;
                let found =
                    graphlume_gfql::elements(self.graph, &query, Strictness::Strict, self.cancel)?;
                // Operations that keep no edge are about nodes: [n({...})] says nothing of the edges.
                let edges = (!found.edges.is_empty()).then(|| self.drawn(&found.edges));
                Mask { nodes: Some(Bits::new(self.nodes(), &found.nodes)), edges }
            }
        })
    }

    /// Edges by position in the outgoing adjacency, as a set in drawn order.
    fn drawn(&self, positions: &[u32]) -> Bits {
        let order = self.picture.order();
        let drawn: Vec<u32> = positions.par_iter().map(|p| order.drawn(*p)).collect();
        Bits::new(self.edges(), &drawn)
    }

    fn of_bytes(&self, NodeBytes(bytes): &NodeBytes) -> Result<Bits, QueryError> {
        let n = self.nodes();
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        let words: Vec<u64> = words.collect();
        let set: u64 = words.iter().map(|w| u64::from(w.count_ones())).sum();
        let bits = Bits::of_words(n, words);
        if bytes.len() as u64 == u64::from(n).div_ceil(8) && bits.len() == set {
            return Ok(bits);
        }
        let text =
            format!("the set of nodes is of another graph than this one, which has {n} nodes");
        Err(QueryError::new(ErrorCode::Type, text)
            .field("nodes")
            .value(format!("{} bytes", bytes.len()))
            .suggest("select the nodes again"))
    }

    /// The nodes within so many hops of some, by levels.
    fn ego(&self, start: Bits, hops: u32) -> Result<Bits, QueryError> {
        let t = &self.frame.topology;
        let _memory = self.cancel.hold(u64::from(t.num_nodes()) * 5)?;
        let reached: Vec<AtomicU64> = start.words().iter().map(|w| AtomicU64::new(*w)).collect();
        let mut level: Vec<u32> = start.iter().collect();
        for _ in 0..hops {
            if level.is_empty() {
                break;
            }
            let next = level.par_chunks(WORDS_AT_ONCE).map(|chunk| {
                self.cancel.check()?;
                let mut own = Vec::new();
                for v in chunk {
                    for w in t.out_neighbors(*v).iter().chain(t.in_neighbors(*v)) {
                        let (word, bit) = (&reached[*w as usize / 64], 1 << (w % 64));
                        let is_new = word.load(Ordering::Relaxed) & bit == 0
                            && word.fetch_or(bit, Ordering::Relaxed) & bit == 0;
                        if is_new {
                            own.push(*w);
                        }
                    }
                }
                Ok::<_, QueryError>(own)
            });
            level = next.collect::<Result<Vec<_>, _>>()?.concat();
        }
        let words = reached.into_iter().map(AtomicU64::into_inner).collect();
        Ok(Bits::of_words(t.num_nodes(), words))
    }

    fn of_brush(&self, brush: &Brush) -> Result<Mask, QueryError> {
        let cells = self.cells(brush.axis, &brush.column)?;
        let literal = |value| Literal { value, at: 0 };
        let test = match &brush.kept {
            Kept::Range([low, high]) => {
                let number = |v: f64| literal(graphlume_expr::Scalar::Float(v));
                Test::Between(number(*low), number(*high))
            }
            Kept::Values(values) => Test::In(values.iter().cloned().map(literal).collect()),
        };
        let words = self.leaf(&cells, &test, false)?;
        self.whole(brush.axis, words)
    }

    fn of_expr(&self, text: &str) -> Result<Mask, QueryError> {
        let expr = parse(text)?;
        let axis = self.axis(&expr)?;
        let words = self.evaluated(&expr, axis)?;
        self.whole(axis, words)
    }

    /// The one axis of an expression: the one that is written, or the first that has all its columns.
    fn axis(&self, expr: &Expr) -> Result<Axis, QueryError> {
        let names = expr.names();
        let written = names.iter().find_map(|name| name.axis);
        if let Some(axis) = written {
            if let Some(other) = names.iter().find(|n| n.axis.is_some_and(|own| own != axis)) {
                let text = format!(
                    "an expression is about nodes or about edges, and the column {:?} at character {} is of the others",
                    other.name, other.at
                );
                return Err(QueryError::new(ErrorCode::Unsupported, text)
                    .field("expr")
                    .value(&other.name)
                    .suggest("make two filters of it, or ask in Cypher"));
            }
            return Ok(axis);
        }
        for axis in [Axis::Node, Axis::Edge] {
            let has = names
                .iter()
                .map(|name| self.has(axis, &name.name))
                .collect::<Result<Vec<_>, _>>()?;
            if has.iter().all(|has| *has) {
                return Ok(axis);
            }
        }
        // No table has all columns of the expression: its axis is that of the table with the first one, and the nodes when
        // neither has it, so that the error names the nearest column of theirs.
        let first = names.first().map_or("", |name| name.name.as_str());
        Ok(if !self.has(Axis::Node, first)? && self.has(Axis::Edge, first)? {
            Axis::Edge
        } else {
            Axis::Node
        })
    }

    /// The elements for which an expression is true: nodes by index, edges by row.
    fn evaluated(&self, expr: &Expr, axis: Axis) -> Result<Vec<u64>, QueryError> {
        let joined = |list: &[Expr], join: fn(&mut u64, u64)| {
            let mut all: Option<Vec<u64>> = None;
            for expr in list {
                let words = self.evaluated(expr, axis)?;
                match &mut all {
                    None => all = Some(words),
                    Some(all) => all.iter_mut().zip(words).for_each(|(a, b)| join(a, b)),
                }
            }
            Ok(all.unwrap_or_default())
        };
        match expr {
            Expr::And(list) => joined(list, |a, b| *a &= b),
            Expr::Or(list) => joined(list, |a, b| *a |= b),
            Expr::Test(name, test, not) => {
                let cells = match self.has(axis, &name.name)? {
                    true => self.cells(axis, &name.name)?,
                    false => return Err(self.no_column(axis, &name.name)?),
                };
                self.leaf(&cells, test, *not)
            }
        }
    }

    /// The elements that pass one test, or its negation: those that have a value and do not pass.
    fn leaf(&self, cells: &Cells, test: &Test, not: bool) -> Result<Vec<u64>, QueryError> {
        let test = match test {
            Test::Compare(cmp, value) if not => &Test::Compare(opposite(*cmp), value.clone()),
            test => test,
        };
        let is_compared = matches!(test, Test::Compare(..));
        let predicate = match predicate(cells, test)? {
            Predicate::IsNull if not => Predicate::NotNull,
            predicate => predicate,
        };
        let inverted = not && !is_compared && !matches!(predicate, Predicate::NotNull);
        let mut words = self.rows(cells, predicate)?;
        if inverted {
            let known = self.rows(cells, Predicate::NotNull)?;
            words.iter_mut().zip(known).for_each(|(word, known)| *word = !*word & known);
        }
        if cells.axis == Axis::Node && !cells.derived && !self.graph.rows_are_nodes(self.frame) {
            words = self.of_nodes(&words)?;
        }
        Ok(words)
    }

    /// The rows of a column that pass.
    fn rows(&self, cells: &Cells, predicate: Predicate) -> Result<Vec<u64>, QueryError> {
        let rows = cells.column.len();
        if matches!(predicate, Predicate::NotNull) && is_full(&cells.column) {
            return Ok(Bits::all(rows as u32).words().to_vec());
        }
        let mut filter = RowFilter::over(rows).until(self.cancel);
        predicate.hold_patterns(&mut filter.held);
        if matches!(predicate, Predicate::Never) {
            filter.never = true;
        } else {
            let place = ColumnPlace {
                graph: self.graph,
                edges: cells.axis == Axis::Edge,
                name: &cells.name,
                cancel: self.cancel,
            };
            filter.tests.push(ColumnTest::of(&cells.column, predicate, Some(&place)));
        }
        let words = filter.run().to_vec();
        self.cancel.check()?;
        Ok(words)
    }

    /// Rows of the node table as nodes.
    fn of_nodes(&self, rows: &[u64]) -> Result<Vec<u64>, QueryError> {
        self.gathered(self.nodes(), |v| {
            self.graph.node_row(self.frame, v).is_some_and(|row| bit(rows, row))
        })
    }

    /// Bits of as many elements as there are.
    fn gathered(
        &self,
        count: u32,
        has: impl Fn(u32) -> bool + Sync,
    ) -> Result<Vec<u64>, QueryError> {
        let mut words = vec![0u64; count.div_ceil(64) as usize];
        words.par_chunks_mut(WORDS_AT_ONCE).enumerate().try_for_each(|(chunk, words)| {
            self.cancel.check()?;
            for (i, word) in words.iter_mut().enumerate() {
                let from = ((chunk * WORDS_AT_ONCE + i) * 64) as u32;
                let bits = from..count.min(from.saturating_add(64));
                *word = bits.fold(0, |word, e| word | u64::from(has(e)) << (e - from));
            }
            Ok::<(), QueryError>(())
        })?;
        Ok(words)
    }

    /// The mask of an axis: edges are put into drawn order.
    fn whole(&self, axis: Axis, words: Vec<u64>) -> Result<Mask, QueryError> {
        Ok(match axis {
            Axis::Node => Mask { nodes: Some(Bits::of_words(self.nodes(), words)), edges: None },
            Axis::Edge => {
                let drawn = self.drawn_rows()?;
                let count = self.edges();
                let words = self.gathered(count, |e| bit(&words, drawn[e as usize]))?;
                Mask { nodes: None, edges: Some(Bits::of_words(count, words)) }
            }
        })
    }

    /// The row of the edge table of each edge in drawn order.
    pub(crate) fn drawn_rows(&self) -> Result<Arc<Vec<u32>>, QueryError> {
        if let Some(found) = self.caches.columns.get(&DrawnRows) {
            return Ok(found);
        }
        let bytes = u64::from(self.edges()) * 4;
        let _memory = self.cancel.hold(bytes)?;
        let (order, rows) = (self.picture.order(), self.frame.topology.out_row());
        let mut drawn = vec![0u32; rows.len()];
        drawn.par_chunks_mut(1 << 14).enumerate().try_for_each(|(chunk, drawn)| {
            self.cancel.check()?;
            for (e, row) in drawn.iter_mut().enumerate() {
                *row = rows[order.position((chunk << 14 | e) as u32) as usize];
            }
            Ok::<(), QueryError>(())
        })?;
        let drawn = Arc::new(drawn);
        self.caches.columns.put(DrawnRows, &drawn, (bytes, self.keep_max()), self.cancel);
        Ok(drawn)
    }

    /// The elements that a rule means as members of a collection.
    pub(crate) fn members(&self, rule: &Arc<Rule>) -> Result<Members, QueryError> {
        let mask = self.mask(rule)?;
        let t = &self.frame.topology;
        let order = self.picture.order();
        let edges = match (&mask.edges, &mask.nodes, rule.as_ref()) {
            (Some(edges), ..) => edges.iter().map(|e| order.position(e)).collect(),
            // Of sets of nodes the edges among them are part.
            (None, Some(nodes), Rule::Nodes(_) | Rule::Ego(..)) => {
                let offsets = t.out_offsets();
                let list: Vec<u32> = nodes.iter().collect();
                let among = list.par_chunks(WORDS_AT_ONCE).map(|chunk| {
                    self.cancel.check()?;
                    let of = |v: &u32| {
                        let (from, ends) = (offsets[*v as usize], t.out_neighbors(*v));
                        let inside = (from..).zip(ends).filter(|(_, w)| nodes.contains(**w));
                        inside.map(|(position, _)| position).collect::<Vec<u32>>()
                    };
                    Ok::<_, QueryError>(chunk.iter().flat_map(of).collect::<Vec<u32>>())
                });
                among.collect::<Result<Vec<_>, _>>()?.concat()
            }
            _ => vec![],
        };
        let nodes = match &mask.nodes {
            Some(nodes) => nodes.clone(),
            None => {
                let ends = edges.iter().flat_map(|e| {
                    let (source, destination, _) = t.edge(*e);
                    [source, destination]
                });
                Bits::new(self.nodes(), &ends.collect::<Vec<u32>>())
            }
        };
        self.cancel.check()?;
        Ok(Members { nodes, edges: Bits::new(self.edges(), &edges) })
    }
}

/// Whether a column surely has a value in every row.
fn is_full(column: &Column) -> bool {
    matches!(column, Column::Int(cells) if arrow_array::Array::null_count(cells) == 0)
}

/// The comparison that is true where this one is false, of what has a value.
const fn opposite(cmp: Cmp) -> Cmp {
    match cmp {
        Cmp::Eq => Cmp::Ne,
        Cmp::Ne => Cmp::Eq,
        Cmp::Lt => Cmp::Ge,
        Cmp::Le => Cmp::Gt,
        Cmp::Gt => Cmp::Le,
        Cmp::Ge => Cmp::Lt,
    }
}
