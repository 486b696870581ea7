//! The slow evaluator: queries as the documentation states them, with sets and loops over all edges.

use std::collections::{BTreeMap, BTreeSet};

use super::data::{Data, Kind, Rows, V};
use super::filter::passing;
use super::query::{Binding, Chain, Edge, Filter, Node, Op, Query};

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum No {
    /// The query is refused with this slug.
    Slug(&'static str),
    /// It may be refused or answered; it only must not panic.
    Any,
}

pub(super) type Set = BTreeSet<usize>;

/// A graph, or rows, while a query is evaluated.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) nodes: Option<Rows>,
    pub(super) edges: Option<Rows>,
    /// The id column; without one the nodes are rows.
    pub(super) id: Option<String>,
    /// Whether the nodes are rows of a table and no graph.
    pub(super) rows: bool,
}

/// The numbering of a graph: nodes by the first place where their id stands.
pub(super) struct Graph<'a> {
    pub(super) state: &'a State,
    pub(super) strict: bool,
    pub(super) ids: Vec<V>,
    /// Node of each row of the node table.
    pub(super) of_row: Vec<Option<usize>>,
    /// Source and destination of each edge that has both.
    pub(super) ends: Vec<Option<(usize, usize)>>,
    /// Nodes that may be visited.
    pub(super) exists: usize,
    /// The node table, made of the ends of edges where there is none.
    pub(super) nodes: Rows,
}

impl State {
    pub(super) fn new(data: &Data) -> Self {
        Self {
            nodes: data.nodes.clone(),
            edges: data.edges.clone(),
            id: data.id.clone(),
            rows: false,
        }
    }

    pub(super) fn id_name(&self) -> &str {
        self.id.as_deref().unwrap_or("id")
    }
}

impl<'a> Graph<'a> {
    pub(super) fn new(state: &'a State, strict: bool) -> Self {
        let mut ids: Vec<V> = Vec::new();
        let mut number = |v: &V| {
            if v.is_null() {
                return None;
            }
            Some(ids.iter().position(|i| i.same(v)).unwrap_or_else(|| {
                ids.push(v.clone());
                ids.len() - 1
            }))
        };
        let column = |rows: &Rows, name: &str| rows.column(name).unwrap_or_default();
        let of_row: Vec<Option<usize>> = match &state.nodes {
            Some(rows) => column(rows, state.id_name()).iter().map(&mut number).collect(),
            None => vec![],
        };
        let listed = of_row.iter().flatten().count();
        let (mut from, mut to) = (vec![], vec![]);
        if let Some(edges) = &state.edges {
            from = column(edges, "s").iter().map(&mut number).collect();
            to = column(edges, "d").iter().map(&mut number).collect();
        }
        let ends = from.iter().zip(&to).map(|(s, d)| s.zip(*d)).collect();
        let distinct = of_row.iter().flatten().collect::<BTreeSet<_>>().len();
        let exists = if state.nodes.is_some() { distinct.min(listed) } else { ids.len() };
        let (nodes, of_row) = match &state.nodes {
            Some(rows) => (rows.clone(), of_row),
            None => {
                let mut rows = Rows { heads: vec![], cells: vec![vec![]; ids.len()] };
                let kind = state.edges.as_ref().map_or(Kind::Int, ends_kind);
                let id = |v: &V| match (kind, v) {
                    (Kind::Int, V::Float(v)) => V::Int(*v as i64),
                    (Kind::Float, V::Int(v)) => V::Float(*v as f64),
                    _ => v.clone(),
                };
                rows.put(state.id_name(), kind, ids.iter().map(id).collect());
                (rows, (0..ids.len()).map(Some).collect())
            }
        };
        Self { state, strict, ids, of_row, ends, exists, nodes }
    }

    /// The first row that describes a node.
    pub(super) fn row(&self, v: usize) -> Option<usize> {
        self.of_row.iter().position(|n| *n == Some(v))
    }

    pub(super) fn all(&self) -> Set {
        (0..self.exists).collect()
    }

    /// The rows of a step.
    fn rows_of(&self, rows: &Rows, op: &Node, nodes: bool) -> Result<Vec<bool>, No> {
        let mut pass = passing(rows, &op.filter, nodes, self.strict)?;
        if let Some(query) = &op.query {
            for (pass, v) in pass.iter_mut().zip(query.values(rows, true, true)?) {
                match v {
                    V::Bool(v) => *pass &= v,
                    V::Null => *pass = false,
                    _ => return Err(No::Slug("incompatible-column-type")),
                }
            }
        }
        Ok(pass)
    }

    /// The nodes of which a row passes.
    pub(super) fn filtered(&self, op: &Node) -> Result<Set, No> {
        let pass = self.rows_of(&self.nodes, op, true)?;
        let nodes = self.of_row.iter().zip(pass).filter(|(_, pass)| *pass);
        Ok(nodes.filter_map(|(v, _)| *v).filter(|v| *v < self.exists).collect())
    }

    fn side(&self, filter: &Filter) -> Result<Set, No> {
        self.filtered(&Node { filter: filter.clone(), ..Node::default() })
    }

    /// The tests of an edge step, answered for all edges and all nodes.
    pub(super) fn bound(&self, op: &Edge) -> Result<Bound, No> {
        let Some(edges) = &self.state.edges else { return Err(No::Slug("invalid-edge-reference")) };
        let pass = self.rows_of(edges, &op.edge, false)?;
        let usable = |e: &usize| {
            pass[*e] && self.ends[*e].is_some_and(|(s, d)| s < self.exists && d < self.exists)
        };
        Ok(Bound {
            edges: (0..self.ends.len()).filter(usable).collect(),
            source: self.side(&op.source)?,
            destination: self.side(&op.destination)?,
        })
    }

    /// Ways along an edge: from, to. A loop is followed once.
    pub(super) fn ways(&self, e: usize, direction: usize) -> Vec<(usize, usize)> {
        let Some((s, d)) = self.ends[e] else { return vec![] };
        match direction {
            0 => vec![(s, d)],
            1 => vec![(d, s)],
            _ if s == d => vec![(s, d)],
            _ => vec![(s, d), (d, s)],
        }
    }
}

/// Edges that pass, and the nodes that may be left and reached.
pub(super) struct Bound {
    pub(super) edges: Set,
    pub(super) source: Set,
    pub(super) destination: Set,
}

/// The bounds of an edge step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) min: u32,
    pub(super) max: Option<u32>,
    /// Whether a least number of hops was named.
    pub(super) named: bool,
}

impl Edge {
    pub(super) fn span(&self) -> Result<Span, No> {
        let (low, high) = self.output;
        let bounds = self.min.is_some() || low.is_some() || high.is_some();
        let max = match (self.fixed, self.max.or(self.hops)) {
            (true, _) => None,
            (_, Some(max)) => Some(max),
            (_, None) => (!bounds).then_some(1),
        };
        let min = self.min.unwrap_or(u32::from(max != Some(0)));
        let above = |a: Option<u32>, b: Option<u32>| a.zip(b).is_some_and(|(a, b)| a > b);
        if above(Some(min), max) || above(low, high) || above(low, max) || above(Some(min), high) {
            return Err(No::Slug("invalid-hops-value"));
        }
        Ok(Span { min, max, named: self.min.is_some_and(|n| n > 0) })
    }

    pub(super) const fn labelled(&self) -> bool {
        self.labels.0.is_some()
            || self.labels.1.is_some()
            || self.label_seeds
            || self.output.0.is_some()
            || self.output.1.is_some()
    }

    pub(super) fn single(&self) -> bool {
        !self.labelled() && self.span().is_ok_and(|s| s.min == 1 && s.max == Some(1))
    }
}

/// What a graph result adds as columns, by node or by edge.
pub(super) type Added = Vec<(String, Kind, BTreeMap<usize, V>)>;

/// What a pattern keeps.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) nodes: Set,
    pub(super) edges: Set,
    pub(super) node_columns: Added,
    pub(super) edge_columns: Added,
}

/// A marker: true for the elements of a set.
pub(super) fn marker(name: &str, set: &Set) -> (String, Kind, BTreeMap<usize, V>) {
    (name.to_owned(), Kind::Bool, set.iter().map(|v| (*v, V::Bool(true))).collect())
}

impl Graph<'_> {
    /// The tables of what was kept.
    pub(super) fn gather(&self, kept: &Kept) -> State {
        let elements: Vec<usize> =
            kept.nodes.iter().copied().filter(|v| self.row(*v).is_some()).collect();
        let rows: Vec<usize> = elements.iter().filter_map(|v| self.row(*v)).collect();
        let mut nodes = self.nodes.picked(&rows);
        add(&mut nodes, &elements, &kept.node_columns);
        let edges = self.state.edges.as_ref().map(|edges| {
            let elements: Vec<usize> = kept.edges.iter().copied().collect();
            let mut edges = edges.picked(&elements);
            add(&mut edges, &elements, &kept.edge_columns);
            edges
        });
        State { nodes: Some(nodes), edges, id: Some(self.state.id_name().to_owned()), rows: false }
    }
}

fn add(rows: &mut Rows, elements: &[usize], columns: &Added) {
    for (name, kind, cells) in columns {
        let none = if *kind == Kind::Bool { V::Bool(false) } else { V::Null };
        let cell = |e: &usize| cells.get(e).unwrap_or(&none).clone();
        rows.put(name, *kind, elements.iter().map(cell).collect());
    }
}

/// Evaluates a query.
pub(super) fn query(data: &Data, query: &Query, strict: bool) -> Result<State, No> {
    let state = State::new(data);
    match query {
        Query::Chain(c) => chain(&state, c, strict),
        Query::Let(list, output) => {
            check(list)?;
            bindings(&state, list, output.as_deref(), &[], strict)
        }
    }
}

/// What is refused before anything is evaluated.
fn check(list: &[(String, Binding)]) -> Result<(), No> {
    for (_, binding) in list {
        match binding {
            Binding::Chain(chain) | Binding::Ref(_, chain) => check_chain(chain)?,
            Binding::Let(list) => check(list)?,
        }
    }
    Ok(())
}

fn check_chain(chain: &Chain) -> Result<(), No> {
    if !chain.clauses.is_empty() && chain.ops.is_empty() {
        return Err(No::Slug("type-mismatch"));
    }
    for op in &chain.ops {
        if let Op::Edge(op) = op {
            op.span()?;
        }
    }
    Ok(())
}

fn needs<'q>(binding: &'q Binding, into: &mut Vec<&'q str>) {
    match binding {
        Binding::Chain(_) => {}
        Binding::Ref(name, _) => into.push(name),
        Binding::Let(list) => {
            let mut inner = vec![];
            list.iter().for_each(|(_, b)| needs(b, &mut inner));
            into.extend(inner.into_iter().filter(|n| !list.iter().any(|(own, _)| own == n)));
        }
    }
}

/// Takes bindings whose needs are met until none is left, first come, first served.
fn bindings(
    state: &State,
    list: &[(String, Binding)],
    output: Option<&str>,
    outer: &[(&str, State)],
    strict: bool,
) -> Result<State, No> {
    let mut needed: Vec<Vec<&str>> = Vec::new();
    for (_, binding) in list {
        let mut names = vec![];
        needs(binding, &mut names);
        for name in &names {
            let known = list.iter().any(|(n, _)| n == name) || outer.iter().any(|(n, _)| n == name);
            if !known {
                return Err(No::Slug("unresolved-graph-reference"));
            }
        }
        names.retain(|name| list.iter().any(|(n, _)| n == name));
        needed.push(names);
    }
    let mut waiting: Vec<usize> = (0..list.len()).collect();
    let mut order: Vec<usize> = vec![];
    // What becomes ready by the same binding becomes ready in the order of declaration.
    let is_ready =
        |i: usize, done: &[usize]| needed[i].iter().all(|n| done.iter().any(|j| list[*j].0 == *n));
    let mut ready: Vec<usize> = waiting.iter().copied().filter(|i| is_ready(*i, &[])).collect();
    waiting.retain(|i| !ready.contains(i));
    while !ready.is_empty() {
        order.push(ready.remove(0));
        let more: Vec<usize> = waiting.iter().copied().filter(|i| is_ready(*i, &order)).collect();
        waiting.retain(|i| !more.contains(i));
        ready.extend(more);
    }
    if !waiting.is_empty() {
        return Err(No::Slug("circular-graph-reference"));
    }
    let mut made: Vec<(&str, State)> = outer.to_vec();
    let mut last = state.clone();
    for i in order {
        let (name, binding) = &list[i];
        last = match binding {
            Binding::Chain(c) => chain(state, c, strict)?,
            Binding::Ref(other, c) => {
                let start = made.iter().rev().find(|(n, _)| n == other).unwrap();
                chain(&start.1.clone(), c, strict)?
            }
            Binding::Let(inner) => bindings(state, inner, None, &made, strict)?,
        };
        made.push((name, last.clone()));
    }
    match output {
        None => Ok(last),
        Some(name) => Ok(made.into_iter().rev().find(|(n, _)| *n == name).unwrap().1),
    }
}

/// Evaluates calls, a pattern and calls.
fn chain(state: &State, chain: &Chain, strict: bool) -> Result<State, No> {
    check_chain(chain)?;
    let steps: Vec<&Op> = chain.ops.iter().filter(|op| !matches!(op, Op::Call(_))).collect();
    let mut state = state.clone();
    if steps.is_empty() {
        if !chain.clauses.is_empty() {
            return Err(No::Slug("type-mismatch"));
        }
        // Calls see nodes of their own.
        if !chain.ops.is_empty() && state.nodes.is_none() {
            let nodes = Graph::new(&state, strict).nodes;
            state = State { id: Some(state.id_name().to_owned()), nodes: Some(nodes), ..state };
        }
    }
    let mut base = state.clone();
    let mut done = false;
    for (i, op) in chain.ops.iter().enumerate() {
        match op {
            Op::Call(call) => {
                let after = i > 0 && !matches!(chain.ops[i - 1], Op::Call(_));
                let named = steps.iter().any(|op| match op {
                    Op::Node(op) => op.name.is_some(),
                    Op::Edge(op) => op.name.is_some(),
                    Op::Call(_) => false,
                });
                state = if after && named && call.is_bare_rows() {
                    super::paths::rows(&base, &steps, strict)?
                } else {
                    call.run(&state, &base, strict)?
                };
            }
            _ if !done => {
                done = true;
                base = state.clone();
                state = pattern(&state, &steps, &chain.clauses, strict)?;
            }
            _ => {}
        }
    }
    Ok(state)
}

fn pattern(
    state: &State,
    steps: &[&Op],
    clauses: &[super::query::Clause],
    strict: bool,
) -> Result<State, No> {
    let mut seen = Set::new();
    let mut names: Vec<(bool, &str)> = vec![];
    for op in steps {
        let (edge, name) = match op {
            Op::Node(op) => (false, &op.name),
            Op::Edge(op) => (true, &op.name),
            Op::Call(_) => continue,
        };
        let Some(name) = name.as_deref() else { continue };
        if !edge && name == state.id_name() || edge && (name == "s" || name == "d") {
            return Err(No::Slug("unsupported-cypher-query"));
        }
        if names.contains(&(edge, name)) {
            return Err(No::Slug("type-mismatch"));
        }
        names.push((edge, name));
    }
    seen.clear();
    if state.rows {
        return match steps {
            [Op::Node(_)] if clauses.is_empty() => Err(No::Any),
            _ => Err(No::Slug("graph-not-bound")),
        };
    }
    let graph = Graph::new(state, strict);
    if let ([Op::Node(op)], true) = (steps, clauses.is_empty()) {
        // A single filter keeps rows, not nodes.
        let pass = graph.rows_of(&graph.nodes, op, true)?;
        let rows: Vec<usize> = (0..pass.len()).filter(|row| pass[*row]).collect();
        let mut nodes = graph.nodes.picked(&rows);
        if let Some(name) = &op.name {
            nodes.put(name, Kind::Bool, vec![V::Bool(true); rows.len()]);
        }
        let edges = state.edges.as_ref().map(|e| e.picked(&[]));
        let id = Some(state.id_name().to_owned());
        return Ok(State { nodes: Some(nodes), edges, id, rows: false });
    }
    if state.edges.is_none() && steps.iter().any(|op| matches!(op, Op::Edge(_))) {
        return Err(No::Slug("invalid-edge-reference"));
    }
    let mut closed: Vec<Op> = vec![];
    for op in steps {
        if matches!(op, Op::Edge(_)) && !matches!(closed.last(), Some(Op::Node(_))) {
            closed.push(Op::Node(Node::default()));
        }
        closed.push((*op).clone());
    }
    if matches!(closed.last(), Some(Op::Edge(_))) {
        closed.push(Op::Node(Node::default()));
    }
    let kept = match clauses {
        [] => super::passes::kept(&graph, &closed)?,
        _ => super::paths::kept(&graph, &closed, clauses)?,
    };
    Ok(graph.gather(&kept))
}

/// The kind of ids that only edges mention: that of both ends, and whole numbers where these differ. An
/// end that is nowhere says nothing.
fn ends_kind(edges: &Rows) -> Kind {
    let known =
        |name: &&str| edges.column(name).is_some_and(|c| c.iter().any(|v| !matches!(v, V::Null)));
    let kinds: Vec<Kind> =
        ["s", "d"].iter().filter(|n| known(n)).filter_map(|n| edges.kind(n)).collect();
    match kinds.as_slice() {
        [] => edges.kind("s").unwrap_or(Kind::Int),
        [one, rest @ ..] if rest.iter().all(|k| k == one) => *one,
        _ => Kind::Int,
    }
}
