//! Calls: drawn, written and evaluated.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::data::{Kind, Rows, V};
use super::draw::Draw;
use super::expr::{E, any, column, condition};
use super::filter::passing;
use super::groups::{alike, group, keys, sort};
use super::query::{Edge, Filter, filter_wire};
use super::random::{EDGE_NAMES, NODE_NAMES, filter};
use super::slow::{Graph, No, Set, State};

/// A call.
#[derive(Clone, Debug)]
pub(super) enum Call {
    /// The table of nodes or of edges, and the step whose elements are wanted.
    Rows(&'static str, Option<String>),
    /// Named expressions; whether the old columns stay.
    Select(&'static str, Vec<(String, E)>, bool),
    Where(Filter, Option<E>),
    Order(Vec<(E, bool)>),
    Skip(usize),
    Limit(usize),
    Distinct(Option<Vec<String>>),
    Unwind(E, String),
    Group(Vec<String>, Vec<(String, &'static str, Option<E>)>),
    Count(&'static str),
    Drop(Vec<String>),
    Fill(i64),
    /// A call on a graph without parameters of its own.
    Degrees(&'static str),
    FilterNodes(Filter),
    FilterEdges(Filter),
    Prune,
    /// Keeps or drops the nodes that a filter or a list names.
    Cut(bool, Filter, Vec<V>),
    Materialize,
    Hop(Box<Edge>, bool),
}

fn numbered(names: &[(&str, Kind)]) -> Vec<(&'static str, Kind)> {
    // Rows have plain columns, or those of paths.
    let mut all: Vec<(&'static str, Kind)> = vec![
        ("n0.i", Kind::Int),
        ("n0.t", Kind::Text),
        ("n1.i", Kind::Int),
        ("n1.f", Kind::Float),
        ("e0.e", Kind::Int),
        ("n0", Kind::Text),
        ("x", Kind::Int),
        ("y", Kind::Text),
    ];
    let own = NODE_NAMES.iter().chain(EDGE_NAMES);
    all.extend(own.filter(|(n, _)| names.iter().any(|(m, _)| n == m)));
    all
}

/// A call on a graph.
pub(super) fn on_graph(d: &mut Draw) -> Option<Call> {
    Some(match d.below(8) {
        0 => Call::Degrees(d.word(&["get_degrees", "get_indegrees", "get_outdegrees"])),
        1 => Call::FilterNodes(filter(d, NODE_NAMES, 2)),
        2 => Call::FilterEdges(filter(d, EDGE_NAMES, 2)),
        3 => Call::Prune,
        4 => Call::Cut(d.chance(50), filter(d, NODE_NAMES, 1), vec![]),
        5 => {
            let ids = d.list(3, |d| match d.below(2) {
                0 => V::Int(d.below(7) as i64),
                _ => V::Text(format!("n{}", d.below(7))),
            });
            Call::Cut(d.chance(50), vec![], ids)
        }
        6 => Call::Materialize,
        _ => {
            let mut edge = Edge { direction: d.below(3), ..Edge::default() };
            match d.below(4) {
                0 => {}
                1 => edge.hops = Some(1 + d.below(3) as u32),
                2 => edge.fixed = true,
                _ => {
                    edge.min = Some(d.below(3) as u32);
                    edge.max = Some(edge.min.unwrap_or(0) + d.below(3) as u32);
                }
            }
            edge.edge.filter = filter(d, EDGE_NAMES, 1);
            edge.source = filter(d, NODE_NAMES, 1);
            edge.destination = filter(d, NODE_NAMES, 1);
            Call::Hop(Box::new(edge), d.chance(40))
        }
    })
}

/// Calls that make rows of a graph and go on with them. What depends on the order of rows is drawn only
/// where they have one.
pub(super) fn pipeline(d: &mut Draw, ordered: bool) -> Vec<Call> {
    let table = d.word(&["nodes", "nodes", "nodes", "edges"]);
    let source = d.chance(15).then(|| if table == "nodes" { "n0" } else { "e0" }.to_owned());
    let own = if table == "nodes" { NODE_NAMES } else { EDGE_NAMES };
    let names = numbered(own);
    let mut calls = vec![if d.chance(5) { Call::Count(table) } else { Call::Rows(table, source) }];
    let name = |d: &mut Draw| (d.word(&["x", "y", "i", "z"])).to_owned();
    for _ in 0..d.below(4) {
        calls.push(match d.below(12) {
            0 | 1 => {
                let items = d.list(3, |d| (name(d), any(d, &names, 2)));
                let function = d.word(&["select", "return_", "with_"]);
                Call::Select(function, items, function == "with_" && d.chance(60))
            }
            2 | 3 => {
                let filter = if d.chance(30) { filter(d, own, 1) } else { vec![] };
                Call::Where(filter, d.chance(80).then(|| condition(d, &names, 2)))
            }
            4 | 5 => Call::Order(d.list(2, |d| (any(d, &names, 1), d.chance(50)))),
            6 if ordered => Call::Skip(d.below(4)),
            7 if ordered => Call::Limit(d.below(6)),
            6..=8 => Call::Distinct(
                (ordered && d.chance(40)).then(|| d.list(2, |d| d.pick(&names).0.to_owned())),
            ),
            9 => {
                let list = match d.below(3) {
                    0 => E::Name("labels".to_owned()),
                    1 => E::Lit(V::List(vec![V::Int(1), V::Null, V::Int(2)])),
                    _ => any(d, &names, 1),
                };
                Call::Unwind(list, name(d))
            }
            10 => {
                let keys = vec![d.pick(&names).0.to_owned()];
                let aggregations = d.list(3, |d| {
                    let function = *d.pick(&[
                        "count",
                        "count_distinct",
                        "sum",
                        "min",
                        "max",
                        "avg",
                        "mean",
                        "collect",
                        "collect_distinct",
                    ]);
                    let whole = function == "count" && d.chance(50);
                    (name(d), function, (!whole).then(|| any(d, &names, 1)))
                });
                Call::Group(keys, aggregations)
            }
            _ => match d.below(2) {
                0 => Call::Drop(vec![d.pick(&names).0.to_owned(), "gone".to_owned()]),
                _ => Call::Fill(d.below(3) as i64),
            },
        });
    }
    calls
}

impl Call {
    pub(super) fn wire(&self) -> Value {
        let items = |items: &[(String, E)]| {
            items.iter().map(|(n, e)| json!([n, e.text()])).collect::<Vec<_>>()
        };
        let (function, params) = match self {
            // With a source, if only in name, these are the nodes whatever follows: a client that compiles a text
            // without a pattern writes none.
            Self::Rows(table, None) => ("rows", json!({"table": table, "source": null})),
            Self::Rows(table, source) => ("rows", json!({"table": table, "source": source})),
            Self::Select("with_", list, extend) => {
                ("with_", json!({"items": items(list), "extend": extend}))
            }
            Self::Select(function, list, _) => (*function, json!({"items": items(list)})),
            Self::Where(filter, expr) => {
                let mut params = json!({"filter_dict": filter_wire(filter)});
                if let Some(expr) = expr {
                    params["expr"] = json!(expr.text());
                }
                ("where_rows", params)
            }
            Self::Order(keys) => {
                let way = |down: bool| if down { "desc" } else { "asc" };
                let keys: Vec<_> =
                    keys.iter().map(|(e, down)| json!([e.text(), way(*down)])).collect();
                ("order_by", json!({"keys": keys}))
            }
            Self::Skip(n) => ("skip", json!({"value": n})),
            Self::Limit(n) => ("limit", json!({"value": n.to_string()})),
            Self::Distinct(None) => ("distinct", json!({})),
            Self::Distinct(subset) => ("distinct", json!({"subset": subset})),
            Self::Unwind(e, name) => ("unwind", json!({"expr": e.text(), "as_": name})),
            Self::Group(keys, list) => {
                let one = |(name, function, e): &(String, &str, Option<E>)| match e {
                    Some(e) => json!([name, function, e.text()]),
                    None => json!([name, function]),
                };
                let list: Vec<_> = list.iter().map(one).collect();
                ("group_by", json!({"keys": keys, "aggregations": list}))
            }
            Self::Count(table) => ("count_table", json!({"table": table})),
            Self::Drop(names) => ("drop_cols", json!({"cols": names})),
            Self::Fill(v) => ("fill_empty_row", json!({"row": {"x": v, "y": null}})),
            Self::Degrees(function) => (*function, json!({})),
            Self::FilterNodes(f) => {
                ("filter_nodes_by_dict", json!({"filter_dict": filter_wire(f)}))
            }
            Self::FilterEdges(f) => {
                ("filter_edges_by_dict", json!({"filter_dict": filter_wire(f)}))
            }
            Self::Prune => ("prune_self_edges", json!({})),
            Self::Cut(keep, filter, ids) => {
                let nodes: Value = match ids.as_slice() {
                    [] => filter_wire(filter),
                    ids => ids.iter().map(|v| E::Lit(v.clone()).plain()).collect(),
                };
                (if *keep { "keep_nodes" } else { "drop_nodes" }, json!({"nodes": nodes}))
            }
            Self::Materialize => ("materialize_nodes", json!({})),
            Self::Hop(edge, wavefront) => {
                let mut params: Map<String, Value> = edge.fields();
                params.insert("return_as_wave_front".into(), json!(wavefront));
                ("hop", params.into())
            }
        };
        json!({"type": "Call", "function": function, "params": params})
    }

    /// Whether this asks for rows of paths when it follows named steps.
    pub(super) fn is_bare_rows(&self) -> bool {
        matches!(self, Self::Rows("nodes", None))
    }

    pub(super) fn run(&self, state: &State, _base: &State, strict: bool) -> Result<State, No> {
        let on_graph = matches!(
            self,
            Self::Degrees(_)
                | Self::FilterNodes(_)
                | Self::FilterEdges(_)
                | Self::Prune
                | Self::Cut(..)
                | Self::Materialize
                | Self::Hop(..)
        );
        if on_graph {
            // Rows have no nodes and edges.
            return if state.rows { Err(No::Any) } else { self.graph(state, strict) };
        }
        let table = if state.rows {
            state.nodes.clone().unwrap_or_default()
        } else {
            Graph::new(state, strict).nodes
        };
        Ok(State::table(self.rows(table, state, strict)?, state))
    }

    fn rows(&self, mut t: Rows, state: &State, strict: bool) -> Result<Rows, No> {
        let len = t.cells.len();
        Ok(match self {
            Self::Rows(table, source) => {
                let t = chosen(t, table, state)?;
                let Some(source) = source else { return Ok(t) };
                match t.kind(source) {
                    None => return Err(No::Slug("column-not-found")),
                    Some(Kind::Bool) => {}
                    Some(_) => return Err(No::Slug("type-mismatch")),
                }
                let marks = t.column(source).unwrap();
                pick(&t, |row| marks[row] == V::Bool(true))
            }
            Self::Count(table) => {
                let count = chosen(t, table, state)?.cells.len();
                one_row(&[("count(*)", Kind::Int, V::Int(count as i64))])
            }
            Self::Select(_, items, extend) => {
                let mut out = Rows { heads: vec![], cells: vec![vec![]; len] };
                if *extend {
                    out = t.clone();
                }
                for (name, e) in items {
                    let values = e.values(&t, false, strict)?;
                    let (kind, values) = match e {
                        // A column that is only renamed stays as it is.
                        E::Name(n) if t.place(n).is_some() => (t.kind(n).unwrap(), values),
                        _ => column(values)?,
                    };
                    out.put(name, kind, values);
                }
                out
            }
            Self::Where(filter, e) => {
                let pass = passing(&t, filter, true, strict)?;
                let truth = match e {
                    Some(e) => e.values(&t, false, strict)?,
                    None => vec![V::Bool(true); len],
                };
                pick(&t, |row| pass[row] && truth[row] == V::Bool(true))
            }
            Self::Order(keys) => {
                let mut columns = vec![];
                for (e, down) in keys {
                    columns.push((e.values(&t, false, strict)?, *down));
                }
                let mut rows: Vec<usize> = (0..len).collect();
                rows.sort_by(|a, b| {
                    let parts = columns.iter().map(|(cells, down)| {
                        let found = sort(&cells[*a], &cells[*b]);
                        if *down { found.reverse() } else { found }
                    });
                    parts.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
                });
                t.picked(&rows)
            }
            Self::Skip(n) => pick(&t, |row| row >= *n),
            Self::Limit(n) => pick(&t, |row| row < *n),
            Self::Distinct(names) => {
                let all = || t.heads.iter().map(|h| h.name.clone()).collect();
                let names: Vec<String> = names.clone().unwrap_or_else(all);
                let keys = keys(&t, &names)?;
                let same = |a: usize, b: usize| alike(&keys[a], &keys[b]);
                pick(&t, |row| !(0..row).any(|before| same(before, row)))
            }
            Self::Unwind(e, name) => {
                let (mut rows, mut cells) = (vec![], vec![]);
                for (row, v) in e.values(&t, false, strict)?.into_iter().enumerate() {
                    match v {
                        V::Null => {}
                        V::List(items) => {
                            rows.extend(std::iter::repeat_n(row, items.len()));
                            cells.extend(items);
                        }
                        v => {
                            rows.push(row);
                            cells.push(v);
                        }
                    }
                }
                let (kind, cells) = column(cells)?;
                t = t.picked(&rows);
                t.put(name, kind, cells);
                t
            }
            Self::Group(names, list) => group(&t, names, list, strict)?,
            Self::Drop(names) => {
                let mut out = Rows { heads: vec![], cells: vec![vec![]; len] };
                for head in t.heads.iter().filter(|h| !names.contains(&h.name)) {
                    out.put(&head.name, head.kind, t.column(&head.name).unwrap());
                }
                out
            }
            Self::Fill(v) if len == 0 => {
                one_row(&[("x", Kind::Int, V::Int(*v)), ("y", Kind::Null, V::Null)])
            }
            _ => t,
        })
    }

    fn graph(&self, state: &State, strict: bool) -> Result<State, No> {
        const NO_EDGES: No = No::Slug("invalid-edge-reference");
        let graph = Graph::new(state, strict);
        let with = |nodes: Rows, edges: Option<Rows>| State {
            nodes: Some(nodes),
            edges,
            id: Some(state.id_name().to_owned()),
            rows: false,
        };
        let mut nodes = graph.nodes.clone();
        Ok(match self {
            Self::Degrees(function) => {
                if state.edges.is_none() {
                    return Err(NO_EDGES);
                }
                let (mut outs, mut ins) = (BTreeMap::new(), BTreeMap::new());
                for (s, d) in graph.ends.iter().flatten() {
                    *outs.entry(*s).or_insert(0) += 1;
                    *ins.entry(*d).or_insert(0) += 1;
                }
                let mut both = outs.clone();
                ins.iter().for_each(|(v, n)| *both.entry(*v).or_insert(0) += n);
                let wanted: &[(&str, &BTreeMap<usize, usize>)] = match *function {
                    "get_degrees" => {
                        &[("degree_in", &ins), ("degree_out", &outs), ("degree", &both)]
                    }
                    "get_indegrees" => &[("degree_in", &ins)],
                    _ => &[("degree_out", &outs)],
                };
                for (name, of) in wanted {
                    let (kind, column) = super::paths::counts(of, &graph.of_row);
                    nodes.put(name, kind, column);
                }
                with(nodes, state.edges.clone())
            }
            Self::FilterNodes(filter) => {
                let pass = passing(&nodes, filter, true, strict)?;
                with(pick(&nodes, |row| pass[row]), state.edges.clone())
            }
            Self::FilterEdges(filter) => {
                let edges = state.edges.as_ref().ok_or(NO_EDGES)?;
                let pass = passing(edges, filter, false, strict)?;
                State { edges: Some(pick(edges, |row| pass[row])), ..state.clone() }
            }
            Self::Prune => {
                let edges = state.edges.as_ref().ok_or(NO_EDGES)?;
                let (s, d) = (edges.column("s").unwrap(), edges.column("d").unwrap());
                let kept = pick(edges, |row| s[row].is_null() || !s[row].same(&d[row]));
                State { edges: Some(kept), ..state.clone() }
            }
            Self::Cut(keep, filter, ids) => {
                let named: Set = if ids.is_empty() {
                    let pass = passing(&nodes, filter, true, strict)?;
                    let rows = graph.of_row.iter().zip(pass).filter(|(_, pass)| *pass);
                    rows.filter_map(|(v, _)| *v).collect()
                } else {
                    let known = |v: &V| graph.ids.iter().position(|i| i.same(v));
                    ids.iter().filter_map(known).collect()
                };
                let stays = |v: usize| named.contains(&v) == *keep;
                // A row without an id is no named node.
                let kept = pick(&nodes, |row| graph.of_row[row].map_or(!*keep, stays));
                let edges = state.edges.as_ref().map(|edges| {
                    pick(edges, |e| match graph.ends[e] {
                        Some((s, d)) => stays(s) && stays(d),
                        // Of an edge that lacks an end, the other one says whether it goes.
                        None => {
                            let end = |name: &str| edges.column(name).map(|cells| cells[e].clone());
                            let gone = |id: V| {
                                graph
                                    .ids
                                    .iter()
                                    .position(|i| i.same(&id))
                                    .is_some_and(|v| !stays(v))
                            };
                            !keep && !["s", "d"].iter().filter_map(|name| end(name)).any(gone)
                        }
                    })
                });
                with(kept, edges)
            }
            Self::Hop(op, wavefront) => {
                let bound = graph.bound(op)?;
                let span = op.span()?;
                let reached = super::passes::Hop {
                    graph: &graph,
                    direction: op.direction,
                    span,
                    edges: &bound.edges,
                    source: &bound.source,
                    destination: &bound.destination,
                    target: None,
                    wavefront: *wavefront,
                    zero: op.zero,
                    labels: false,
                }
                .run(&graph.all());
                graph.gather(&super::slow::Kept {
                    nodes: reached.nodes,
                    edges: reached.edges,
                    ..Default::default()
                })
            }
            _ => with(nodes, state.edges.clone()),
        })
    }
}

impl E {
    /// A literal as JSON.
    fn plain(&self) -> Value {
        match self {
            Self::Lit(V::Int(v)) => json!(v),
            Self::Lit(V::Text(v)) => json!(v),
            _ => Value::Null,
        }
    }
}

fn chosen(nodes: Rows, table: &str, state: &State) -> Result<Rows, No> {
    match table {
        "nodes" => Ok(nodes),
        _ => state.edges.clone().ok_or(No::Slug("invalid-edge-reference")),
    }
}

fn one_row(cells: &[(&str, Kind, V)]) -> Rows {
    let mut rows = Rows { heads: vec![], cells: vec![vec![]] };
    cells.iter().for_each(|(name, kind, v)| rows.put(name, *kind, vec![v.clone()]));
    rows
}

fn pick(rows: &Rows, keep: impl Fn(usize) -> bool) -> Rows {
    rows.picked(&(0..rows.cells.len()).filter(|row| keep(*row)).collect::<Vec<_>>())
}
