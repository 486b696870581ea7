//! Whole paths, one after the other: for conditions between their elements, and for rows of paths.

use std::collections::BTreeMap;

use super::data::{Kind, Rows, V};
use super::expr::order;
use super::query::{Clause, Edge, Op};
use super::slow::{Bound, Graph, Kept, No, Set, State, marker};

/// The column that one side of a condition compares: its step, and its values by row.
struct Side {
    step: usize,
    column: Vec<V>,
}

fn name(op: &Op) -> Option<&String> {
    match op {
        Op::Node(op) => op.name.as_ref(),
        Op::Edge(op) => op.name.as_ref(),
        Op::Call(_) => None,
    }
}

fn side(graph: &Graph<'_>, steps: &[Op], (alias, column): &(String, String)) -> Result<Side, No> {
    const REFUSED: No = No::Slug("unsupported-cypher-query");
    let step = steps.iter().position(|op| name(op) == Some(alias)).ok_or(REFUSED)?;
    let table = match &steps[step] {
        Op::Edge(op) if !op.single() => return Err(REFUSED),
        Op::Edge(_) => graph.state.edges.as_ref(),
        _ => graph.state.nodes.as_ref(),
    };
    let column = table.and_then(|t| t.column(column)).ok_or(REFUSED)?;
    Ok(Side { step, column })
}

/// What is on a path on which all conditions hold.
pub(super) fn kept(graph: &Graph<'_>, steps: &[Op], clauses: &[Clause]) -> Result<Kept, No> {
    if !steps.iter().enumerate().all(|(i, op)| matches!(op, Op::Edge(_)) == (i % 2 == 1)) {
        return Err(No::Slug("type-mismatch"));
    }
    let mut sides = vec![];
    for (cmp, left, right) in clauses {
        sides.push((*cmp, side(graph, steps, left)?, side(graph, steps, right)?));
    }
    let mut search = Search {
        graph,
        steps,
        sides,
        nodes: vec![],
        bound: vec![],
        walks: vec![],
        path: vec![],
        kept: vec![Set::new(); steps.len()],
        inner: Kept::default(),
    };
    // Conditions choose among what the pattern keeps without them.
    let (bound, _, behind) = super::passes::passes(graph, steps)?;
    for ((op, bound), own) in steps.iter().zip(bound).zip(behind) {
        let bound = bound.map(|b| Bound { edges: own.edges, ..b });
        search.walks.push(match (op, &bound) {
            (Op::Edge(op), Some(bound)) if !op.single() => Some(Walks::new(graph, op, bound)?),
            _ => None,
        });
        search.nodes.push(own.nodes);
        search.bound.push(bound);
    }
    for v in search.nodes[0].clone() {
        search.at(v);
    }
    let Search { kept: own, mut inner, .. } = search;
    for (i, op) in steps.iter().enumerate() {
        match op {
            Op::Node(op) => {
                inner.nodes.extend(&own[i]);
                inner.node_columns.extend(op.name.as_ref().map(|n| marker(n, &own[i])));
            }
            Op::Edge(op) => {
                inner.edges.extend(&own[i]);
                inner.edge_columns.extend(op.name.as_ref().map(|n| marker(n, &own[i])));
            }
            Op::Call(_) => {}
        }
    }
    Ok(inner)
}

struct Search<'a> {
    graph: &'a Graph<'a>,
    steps: &'a [Op],
    sides: Vec<(&'static str, Side, Side)>,
    nodes: Vec<Set>,
    bound: Vec<Option<Bound>>,
    walks: Vec<Option<Walks>>,
    /// The element of each step so far; of a step of several hops nothing.
    path: Vec<Option<usize>>,
    kept: Vec<Set>,
    inner: Kept,
}

impl Search<'_> {
    fn at(&mut self, v: usize) {
        self.path.push(Some(v));
        let step = self.path.len();
        match self.steps.get(step) {
            None => self.complete(),
            Some(Op::Edge(op)) => {
                let next = self.nodes[step + 1].clone();
                if self.walks[step].is_some() {
                    for to in next {
                        if self.walks[step].as_ref().is_some_and(|w| w.meets(v, to)) {
                            self.path.push(None);
                            self.at(to);
                            self.path.pop();
                        }
                    }
                } else {
                    let Some(bound) = &self.bound[step] else { return };
                    let edges: Vec<(usize, usize)> =
                        steps_from(self.graph, bound, op.direction, v).collect();
                    for (e, to) in edges {
                        if next.contains(&to) {
                            self.path.push(Some(e));
                            self.at(to);
                            self.path.pop();
                        }
                    }
                }
            }
            Some(_) => {}
        }
        self.path.pop();
    }

    fn cell<'s>(&'s self, side: &'s Side) -> Option<&'s V> {
        let element = self.path[side.step]?;
        let node = matches!(self.steps[side.step], Op::Node(_));
        side.column.get(if node { self.graph.row(element)? } else { element })
    }

    fn complete(&mut self) {
        for (cmp, left, right) in &self.sides {
            let (Some(a), Some(b)) = (self.cell(left), self.cell(right)) else { return };
            if a.is_null() || b.is_null() {
                return;
            }
            let holds = order(a, b).map_or(*cmp == "neq", |found| match *cmp {
                "eq" => found.is_eq(),
                "neq" => found.is_ne(),
                "lt" => found.is_lt(),
                "le" => found.is_le(),
                "gt" => found.is_gt(),
                _ => found.is_ge(),
            });
            if !holds {
                return;
            }
        }
        for (i, element) in self.path.clone().into_iter().enumerate() {
            match (element, &self.walks[i]) {
                (Some(element), _) => {
                    self.kept[i].insert(element);
                }
                (None, Some(walks)) => {
                    let (from, to) = (self.path[i - 1].unwrap(), self.path[i + 1].unwrap());
                    let (nodes, edges) = walks.between(from, to);
                    self.inner.nodes.extend(nodes);
                    self.kept[i].extend(edges);
                }
                _ => {}
            }
        }
    }
}

/// Edges that lead on from a node, and where.
fn steps_from<'a>(
    graph: &'a Graph<'_>,
    bound: &'a Bound,
    direction: usize,
    v: usize,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    bound.edges.iter().flat_map(move |e| {
        let ways = graph.ways(*e, direction).into_iter();
        ways.filter(move |(from, to)| {
            *from == v && bound.source.contains(from) && bound.destination.contains(to)
        })
        .map(move |(_, to)| (*e, to))
    })
}

/// Which walks there are, by their length: as bits, one for each end.
struct Walks {
    /// `reach[length][from]`.
    reach: Vec<Vec<u32>>,
    /// Edge, from, to.
    ways: Vec<(usize, usize, usize)>,
    min: usize,
    max: usize,
}

impl Walks {
    fn new(graph: &Graph<'_>, op: &Edge, bound: &Bound) -> Result<Self, No> {
        let span = op.span()?;
        let n = graph.ids.len();
        // Of walks without an upper bound none has to be longer than this.
        let (low, most) = (span.min as usize, span.min as usize + 2 * n + 1);
        let min = if op.zero { low } else { low.max(1) };
        let max = span.max.map_or(most, |m| (m as usize).min(most));
        let mut ways = vec![];
        for v in 0..graph.exists {
            ways.extend(steps_from(graph, bound, op.direction, v).map(|(e, to)| (e, v, to)));
        }
        let mut reach = vec![(0..n).map(|v| 1 << v).collect::<Vec<u32>>()];
        for length in 1..=max {
            let mut next = vec![0; n];
            for (_, from, to) in &ways {
                next[*from] |= reach[length - 1][*to];
            }
            reach.push(next);
        }
        Ok(Self { reach, ways, min, max })
    }

    fn meets(&self, from: usize, to: usize) -> bool {
        (self.min..=self.max).any(|length| self.reach[length][from] >> to & 1 == 1)
    }

    /// The nodes and edges of all walks within the bounds.
    fn between(&self, from: usize, to: usize) -> (Set, Set) {
        let (mut nodes, mut edges) = (Set::new(), Set::new());
        for (e, a, b) in &self.ways {
            let on_a_walk = (0..self.max).any(|before| {
                self.reach[before][from] >> a & 1 == 1
                    && (0..self.max - before).any(|behind| {
                        let length = before + 1 + behind;
                        length >= self.min && self.reach[behind][*b] >> to & 1 == 1
                    })
            });
            if on_a_walk {
                edges.insert(*e);
                nodes.extend([*a, *b]);
            }
        }
        (nodes, edges)
    }
}

/// Rows of a pattern: one for each way to match it, no edge used twice on a path.
pub(super) fn rows(state: &State, steps: &[&Op], strict: bool) -> Result<State, No> {
    const REFUSED: No = No::Slug("unsupported-cypher-query");
    let nodes_only = steps.iter().all(|op| matches!(op, Op::Node(_)));
    let alternate =
        steps.iter().enumerate().all(|(i, op)| matches!(op, Op::Edge(_)) == (i % 2 == 1));
    let path = alternate && steps.len() % 2 == 1;
    if steps.is_empty() || !nodes_only && !path {
        return Err(REFUSED);
    }
    let mut names: Vec<&String> = vec![];
    for op in steps {
        if let Op::Edge(op) = op
            && !op.single()
        {
            if op.name.is_some() {
                return Err(REFUSED);
            }
            // Bounds on what is shown have no meaning for rows; tests of their own hold columns of hops.
            if op.labelled() {
                return Err(No::Any);
            }
        }
        if let Some(name) = name(op) {
            if names.contains(&name) {
                return Err(REFUSED);
            }
            names.push(name);
        }
    }
    let graph = Graph::new(state, strict);
    let mut paths: Vec<Vec<usize>> = vec![vec![]];
    let mut trails: Vec<Vec<usize>> = vec![vec![]];
    let mut bound = vec![];
    for op in steps {
        bound.push(match op {
            Op::Edge(op) => (Set::new(), Some(graph.bound(op)?)),
            Op::Node(op) => (graph.filtered(op)?, None),
            Op::Call(_) => return Err(No::Any),
        });
    }
    for (i, op) in steps.iter().enumerate() {
        let (mut next, mut used) = (vec![], vec![]);
        for (path, trail) in paths.iter().zip(&trails) {
            let mut go = |element: usize, trail: &[usize]| {
                next.push([path.as_slice(), &[element]].concat());
                used.push(trail.to_vec());
            };
            match (op, &bound[i].1) {
                (Op::Edge(op), Some(bound)) => {
                    let from = path[i - 1];
                    let mut found = vec![];
                    trail_on(&graph, op, bound, (from, trail), &mut found)?;
                    for (to, edge, trail) in found {
                        // The end is put in front of its own step, and taken from there.
                        go(edge * 1000 + to, &trail);
                    }
                }
                _ if i > 0 && bound[i - 1].1.is_some() => {
                    let to = path[i - 1] % 1000;
                    if bound[i].0.contains(&to) {
                        go(to, trail);
                    }
                }
                _ => bound[i].0.iter().for_each(|v| go(*v, trail)),
            }
        }
        if next.len() > 5_000 {
            return Err(No::Any);
        }
        (paths, trails) = (next, used);
    }
    let mut out = Rows { heads: vec![], cells: vec![vec![]; paths.len()] };
    for (i, op) in steps.iter().enumerate() {
        let Some(name) = name(op) else { continue };
        let node = matches!(op, Op::Node(_));
        let Some(table) = (if node { Some(&graph.nodes) } else { state.edges.as_ref() }) else {
            continue;
        };
        let row = |path: &Vec<usize>| {
            if node { graph.row(path[i]).unwrap_or(0) } else { path[i] / 1000 }
        };
        let rows: Vec<usize> = paths.iter().map(row).collect();
        let picked = table.picked(&rows);
        if !node {
            // An edge has no id but the place of its row.
            out.put(name, Kind::Int, rows.iter().map(|row| V::Int(*row as i64)).collect());
        }
        for head in &table.heads {
            if !node && (head.name == "s" || head.name == "d") {
                continue;
            }
            let column = picked.column(&head.name).unwrap();
            if node && head.name == state.id_name() {
                out.put(name, head.kind, column.clone());
            }
            out.put(&format!("{name}.{}", head.name), head.kind, column);
        }
    }
    Ok(State::table(out, state))
}

type Found = Vec<(usize, usize, Vec<usize>)>;

/// All ways to go on from a node without using an edge again: the end, the last edge, all edges.
fn trail_on(
    graph: &Graph<'_>,
    op: &Edge,
    bound: &Bound,
    (from, trail): (usize, &[usize]),
    found: &mut Found,
) -> Result<(), No> {
    let span = op.span()?;
    let min = span.min;
    let mut open = vec![(from, 0_usize, trail.to_vec(), 0)];
    let mut tries = 0;
    while let Some((v, edge, trail, hops)) = open.pop() {
        tries += 1;
        if tries > 2_000 {
            return Err(No::Any);
        }
        if hops >= min {
            found.push((v, edge, trail.clone()));
        }
        if span.max.is_none_or(|max| hops < max) {
            for (e, to) in steps_from(graph, bound, op.direction, v) {
                if !trail.contains(&e) {
                    open.push((to, e, [trail.as_slice(), &[e]].concat(), hops + 1));
                }
            }
        }
    }
    Ok(())
}

impl State {
    /// Rows in the place of nodes.
    pub(super) fn table(rows: Rows, of: &Self) -> Self {
        let edges = of.edges.as_ref().map(|e| e.picked(&[]));
        Self { nodes: Some(rows), edges, id: None, rows: true }
    }
}

/// Hop numbers and counts that results show as numbers.
pub(super) fn counts(of: &BTreeMap<usize, usize>, nodes: &[Option<usize>]) -> (Kind, Vec<V>) {
    let count = |v: &Option<usize>| v.and_then(|v| of.get(&v).copied()).unwrap_or(0);
    (Kind::Int, nodes.iter().map(|v| V::Int(count(v) as i64)).collect())
}
