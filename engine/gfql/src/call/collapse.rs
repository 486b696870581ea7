//! Merging runs of nodes that have the same attribute.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use graphlume_calls::layout::cells;
use graphlume_calls::params::Params;
use graphlume_expr::QueryError;
use graphlume_store::materialize::take;
use graphlume_store::materialize::{columns, table_of};
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::CancelToken;

use super::rows::row_keys;
use crate::expr::Cell;
use crate::scope::Scope;

/// What stands around each id in the name of a cluster.
const WRAP: char = '~';
/// The name of a node that is in no cluster.
const NONE: &str = "None";
/// Steps between two looks at the token.
const STEPS: usize = 1 << 10;

/// From `node` on, along edges, ends of an edge that both have `attribute` in `column` become one cluster; the columns
/// `node_final`, `src_final` and `dst_final` name the clusters, or the nodes that are in none, and are what the graph is made
/// of from then on. The walk is that of the client, step by step, for the order of its steps shows in the names. Ids become
/// texts. Rows that are the same are one, of edges only without `self_edges`.
pub(super) fn run(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let value = |name| params.get(name).ok_or_else(|| params.missing(name));
    let column = params.text("column")?.ok_or_else(|| params.missing("column"))?;
    let attribute = Cell::from_json(value("attribute")?)
        .ok_or_else(|| params.wrong("attribute", "a value", &serde_json::Value::Null))?;
    let start = Cell::from_json(value("node")?).map(|cell| cell.text()).unwrap_or_default();
    let (unwrap, self_edges) = (params.flag("unwrap", false)?, params.flag("self_edges", false)?);
    params.flag("verbose", false)?;
    let edges = graphlume_calls::graph::edge_table(graph)?.clone();
    let nodes = graph.node_table(scope.cancel)?;
    let bound = graph.bindings();
    let role =
        |bound: &Option<String>, usual: &str| bound.clone().unwrap_or_else(|| usual.to_owned());
    let node = graph.node_column().to_owned();
    let (source, destination) = (role(&bound.source, "src"), role(&bound.destination, "dst"));
    let texts = |table: &Table, name: &str| -> Result<Vec<String>, QueryError> {
        let column = table
            .column(name)
            .ok_or_else(|| QueryError::no_column(name, "node", &table.column_names()))?;
        let texts = graphlume_table::id_texts(column).map_err(super::hypergraph::refused)?;
        Ok(texts.into_iter().map(Option::unwrap_or_default).collect())
    };
    let ids = Ids {
        node: texts(&nodes, &node)?,
        src: texts(&edges, &source)?,
        dst: texts(&edges, &destination)?,
    };
    let key = attribute.key();
    let has: Vec<bool> = cells(&nodes, column)?.iter().map(|cell| cell.key() == key).collect();
    let mut walk = Walk::new(&ids, &has, scope.cancel);
    if let Some(start) = walk.number.get(start.as_str()).copied() {
        walk.run(start)?;
    }
    let name = |id: &String| walk.name(id);
    let finish = |name: Option<String>, id: &String| {
        let name = name.unwrap_or_else(|| id.clone());
        if unwrap { name.replace(WRAP, "") } else { name }
    };
    let column_of = |ids: &[String], table: &Table, name_of_ids: &str| {
        let names: Vec<Option<String>> = ids.iter().map(name).collect();
        let shown = names.iter().map(|n| n.as_deref().unwrap_or(NONE)).collect::<Vec<_>>();
        let known = |row: usize| table.column(name_of_ids).is_some_and(|c| c.is_valid(row));
        let last = names.iter().cloned().zip(ids).map(|(n, id)| finish(n, id)).enumerate();
        let last = last.map(|(row, text)| known(row).then_some(text)).collect::<StringArray>();
        (text(shown.iter()), Arc::new(last) as ArrayRef)
    };
    let mut made = replaced(&nodes, &[(&node, &ids.node)]);
    let (shown, last) = column_of(&ids.node, &nodes, &node);
    made.push((safe_name("node_collapse", &nodes), shown));
    made.push(("node_final".to_owned(), last));
    let nodes = distinct(&table_of(made, nodes.num_rows())?, scope)?;
    let mut made = replaced(&edges, &[(&source, &ids.src), (&destination, &ids.dst)]);
    let (src, dst) =
        (column_of(&ids.src, &edges, &source), column_of(&ids.dst, &edges, &destination));
    made.push((safe_name("src_collapse", &edges), src.0));
    made.push((safe_name("dst_collapse", &edges), dst.0));
    made.push(("src_final".to_owned(), src.1));
    made.push(("dst_final".to_owned(), dst.1));
    let mut edges = table_of(made, edges.num_rows())?;
    if !self_edges {
        edges = distinct(&edges, scope)?;
    }
    let made = PropertyGraph::new(Some(nodes), Some(edges), bindings())?;
    Ok(graph.notes().iter().fold(made, |made, note| made.noted(note)))
}

/// What the graph is made of from then on.
fn bindings() -> Bindings {
    Bindings {
        node: Some("node_final".to_owned()),
        source: Some("src_final".to_owned()),
        destination: Some("dst_final".to_owned()),
    }
}

/// Ids by row.
struct Ids {
    node: Vec<String>,
    src: Vec<String>,
    dst: Vec<String>,
}

fn text(values: impl Iterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// The columns of a table, those of ids as texts.
fn replaced(table: &Table, ids: &[(&String, &Vec<String>)]) -> Vec<(String, ArrayRef)> {
    let mut all = columns(table);
    for (name, array) in &mut all {
        if let Some((_, texts)) = ids.iter().find(|(id, _)| *id == name) {
            let known =
                texts.iter().enumerate().map(|(row, text)| array.is_valid(row).then_some(text));
            *array = Arc::new(known.collect::<StringArray>());
        }
    }
    all
}

/// The name that the client gives a column of its own, which no column of the table has.
fn safe_name(base: &str, table: &Table) -> String {
    let names = table.column_names();
    let name = |i: usize| format!("__gfql_{base}_{i}__");
    (0..).map(name).find(|name| !names.contains(&name.as_str())).unwrap_or_default()
}

/// The rows that no row before is the same as.
fn distinct(table: &Table, scope: Scope<'_>) -> Result<Table, QueryError> {
    let names: Vec<String> = table.column_names().into_iter().map(str::to_owned).collect();
    let keys = row_keys(table, &names, scope)?;
    let mut seen = HashSet::new();
    let kept = (0..table.num_rows() as u32).filter(|row| seen.insert(&keys[*row as usize]));
    take(table, kept.collect())
}

/// The walk over the graph, and the clusters so far.
struct Walk<'a> {
    /// Nodes by id; those of the edges, too.
    number: HashMap<&'a str, u32>,
    ids: Vec<&'a str>,
    has: Vec<bool>,
    /// The nodes that edges lead to, each once, in the order of the edges.
    ends: Vec<Vec<u32>>,
    /// The members that the name of a node's cluster has. The client brings only the names of the two nodes that it merges
    /// up to date.
    members: Vec<Option<Arc<BTreeSet<u32>>>>,
    /// The nodes whose names have a member.
    holders: HashMap<u32, HashSet<u32>>,
    seen: HashSet<String>,
    cancel: &'a CancelToken,
}

/// A node that is being gone on from.
struct Frame {
    ends: Vec<u32>,
    at: usize,
    /// Whose ends are visited next, as their parent.
    parent: u32,
    /// The pair that is left when the frame ends, for pairs that the walk does not remember.
    pair: Option<(u32, u32)>,
}

impl<'a> Walk<'a> {
    fn new(ids: &'a Ids, has: &[bool], cancel: &'a CancelToken) -> Self {
        let mut walk = Self {
            number: HashMap::new(),
            ids: vec![],
            has: vec![],
            ends: vec![],
            members: vec![],
            holders: HashMap::new(),
            seen: HashSet::new(),
            cancel,
        };
        for (id, has) in ids.node.iter().zip(has) {
            let v = walk.node(id) as usize;
            walk.has[v] |= has;
        }
        let mut pairs = HashSet::new();
        for (s, d) in ids.src.iter().zip(&ids.dst) {
            let (s, d) = (walk.node(s), walk.node(d));
            if pairs.insert((s, d)) {
                walk.ends[s as usize].push(d);
            }
        }
        walk
    }

    fn node(&mut self, id: &'a str) -> u32 {
        if let Some(v) = self.number.get(id) {
            return *v;
        }
        let v = self.ids.len() as u32;
        self.number.insert(id, v);
        self.ids.push(id);
        self.has.push(false);
        self.ends.push(vec![]);
        self.members.push(None);
        v
    }

    fn run(&mut self, start: u32) -> Result<(), QueryError> {
        // Pairs that are on the way to where the walk is: the client would go round in them for ever.
        let mut open: HashSet<(u32, u32)> = HashSet::new();
        let mut stack: Vec<Frame> = self.enter(start, start, &mut open)?.into_iter().collect();
        let mut steps = 0_usize;
        while let Some(frame) = stack.last_mut() {
            steps += 1;
            if steps.is_multiple_of(STEPS) {
                self.cancel.check()?;
            }
            let next = frame.ends.get(frame.at).copied();
            frame.at += 1;
            let parent = frame.parent;
            // A loop at the start of a walk without the attribute ends it.
            let ends = next.is_some_and(|end| {
                end == parent && frame.pair.is_some_and(|(child, parent)| child == parent)
            });
            match next.filter(|_| !ends) {
                Some(end) => stack.extend(self.enter(end, parent, &mut open)?),
                None => {
                    if let Some(pair) = stack.pop().and_then(|frame| frame.pair) {
                        open.remove(&pair);
                    }
                }
            }
        }
        Ok(())
    }

    /// A step from `parent` to `child`; where the walk goes on from there.
    fn enter(
        &mut self,
        child: u32,
        parent: u32,
        open: &mut HashSet<(u32, u32)>,
    ) -> Result<Option<Frame>, QueryError> {
        let name = |a: u32, b: u32| format!("{} {}", self.ids[a as usize], self.ids[b as usize]);
        let (pair, own) = (name(parent, child), name(parent, parent));
        if self.seen.contains(&pair) {
            return Ok(None);
        }
        if !self.has[parent as usize] {
            let pair = (child, parent);
            let ends = self.ends[child as usize].clone();
            return Ok(open.insert(pair).then_some(Frame {
                ends,
                at: 0,
                parent: child,
                pair: Some(pair),
            }));
        }
        // As the client compares: one text within the other.
        if !pair.contains(&own) {
            self.seen.insert(own);
            self.merge(parent, parent)?;
        }
        if !self.has[child as usize] {
            return Ok(None);
        }
        self.merge(parent, child)?;
        self.seen.insert(pair);
        let ends = self.ends[parent as usize].clone();
        Ok(Some(Frame { ends, at: 0, parent: child, pair: None }))
    }

    /// Gives two nodes one name.
    fn merge(&mut self, parent: u32, child: u32) -> Result<(), QueryError> {
        let known = |v: u32| self.holders.get(&v).is_some_and(|holders| !holders.is_empty());
        let (from, other) =
            if known(child) && known(parent) { (child, parent) } else { (parent, child) };
        let mut members = BTreeSet::from([from, other]);
        for holder in self.holders.get(&from).into_iter().flatten() {
            members.extend(self.members[*holder as usize].iter().flat_map(|m| m.iter().copied()));
        }
        self.cancel.take(16 * members.len() as u64)?;
        let members = Arc::new(members);
        for v in [parent, child] {
            let before = self.members[v as usize].replace(members.clone());
            for member in before.iter().flat_map(|before| before.iter()) {
                if let Some(holders) = self.holders.get_mut(member) {
                    holders.remove(&v);
                }
            }
            for member in members.iter() {
                self.holders.entry(*member).or_default().insert(v);
            }
        }
        Ok(())
    }

    /// The name of a node's cluster: its members in the order of their texts.
    fn name(&self, id: &str) -> Option<String> {
        let members = self.members[*self.number.get(id)? as usize].as_ref()?;
        let wrapped = |v: &u32| format!("{WRAP}{}{WRAP}", self.ids[*v as usize]);
        let mut names: Vec<String> = members.iter().map(wrapped).collect();
        names.sort_unstable();
        Some(names.join(" "))
    }
}
