//! The three passes of a chain: forward, back to what leads to an end, and together.

use std::collections::BTreeMap;

use super::data::{Kind, V};
use super::query::{Edge, Op};
use super::slow::{Added, Bound, Graph, Kept, No, Set, Span, marker};

type Hops = BTreeMap<usize, u32>;

/// What a step reaches, and at which hop first.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached {
    pub(super) nodes: Set,
    pub(super) edges: Set,
    pub(super) node_hops: Hops,
    pub(super) edge_hops: Hops,
}

/// One use of the hop operator.
pub(super) struct Hop<'a> {
    pub(super) graph: &'a Graph<'a>,
    pub(super) direction: usize,
    pub(super) span: Span,
    pub(super) edges: &'a Set,
    pub(super) source: &'a Set,
    pub(super) destination: &'a Set,
    /// Nodes that the last hop must reach.
    pub(super) target: Option<&'a Set>,
    pub(super) wavefront: bool,
    pub(super) zero: bool,
    pub(super) labels: bool,
}

impl Hop<'_> {
    /// Seeds that stay where they are.
    fn stay(&self, seeds: &Set) -> Set {
        let fits = |v: &&usize| {
            self.zero
                && self.source.contains(v)
                && self.destination.contains(v)
                && self.target.is_none_or(|t| t.contains(v))
        };
        seeds.iter().filter(fits).copied().collect()
    }

    pub(super) fn run(&self, seeds: &Set) -> Reached {
        let Span { min, max, .. } = self.span;
        let mut r = Reached::default();
        if max == Some(0) {
            r.nodes = self.stay(seeds);
            if self.labels {
                r.node_hops = r.nodes.iter().map(|v| (*v, 0)).collect();
            }
            return r;
        }
        let (mut front, mut hop, mut deepest) = (seeds.clone(), 0, 0);
        while max.is_none_or(|max| hop < max) && !front.is_empty() {
            hop += 1;
            let mut arrivals = Set::new();
            let mut left = Set::new();
            for e in self.edges {
                for (from, to) in self.graph.ways(*e, self.direction) {
                    let fits = front.contains(&from)
                        && self.source.contains(&from)
                        && self.destination.contains(&to)
                        && (max != Some(hop) || self.target.is_none_or(|t| t.contains(&to)));
                    if fits {
                        r.edges.insert(*e);
                        r.edge_hops.entry(*e).or_insert(hop);
                        r.node_hops.entry(to).or_insert(hop);
                        arrivals.insert(to);
                        left.insert(from);
                    }
                }
            }
            if !arrivals.is_empty() {
                deepest = hop;
            }
            if hop == 1 && !self.wavefront {
                r.nodes.extend(&left);
            }
            let grown = !arrivals.is_subset(&r.nodes);
            r.nodes.extend(&arrivals);
            // A walk must go on when it has not got as far as it must.
            let unmet = max.is_some() && min > 1 && deepest < min;
            if !grown && !unmet {
                break;
            }
            front = arrivals;
        }
        if deepest < min {
            r = Reached::default();
        } else if min > 1 {
            self.prune(&mut r);
        }
        self.close(seeds, r)
    }

    /// Leaves the edges on walks that get as far as they must, going back by the hops of edges.
    fn prune(&self, r: &mut Reached) {
        let min = self.span.min;
        let deepest = r.edge_hops.values().copied().max().unwrap_or(0);
        // Only a walk that uses an edge twice gets that far.
        if deepest < min {
            return;
        }
        let (mut nodes, mut edges, mut hops) = (Set::new(), Set::new(), Hops::new());
        let mut label = |v: usize, hop: u32| {
            let known = hops.entry(v).or_insert(hop);
            *known = hop.min(*known);
        };
        let mut feeds = Set::new();
        for hop in (1..=deepest).rev() {
            let mut left = Set::new();
            for (e, _) in r.edge_hops.iter().filter(|(_, h)| **h == hop) {
                let (s, d) = self.graph.ends[*e].unwrap();
                let ways = match self.direction {
                    0 => vec![(s, d)],
                    1 => vec![(d, s)],
                    _ => vec![(s, d), (d, s)],
                };
                for (from, to) in ways {
                    if hop >= min {
                        nodes.insert(to);
                        label(to, hop);
                    }
                    if hop >= min || feeds.contains(&to) {
                        edges.insert(*e);
                        left.insert(from);
                        nodes.insert(from);
                        if hop > 1 {
                            label(from, hop - 1);
                        }
                    }
                }
            }
            feeds = left;
        }
        r.edges = edges;
        r.nodes.retain(|v| nodes.contains(v));
        r.edge_hops.retain(|e, _| r.edges.contains(e));
        if self.direction == 2 {
            r.node_hops.retain(|v, _| nodes.contains(v));
        } else {
            r.node_hops = hops;
            r.nodes.retain(|v| r.node_hops.contains_key(v));
        }
    }

    /// Adds the ends of the edges; takes the seeds out unless they are found again.
    fn close(&self, seeds: &Set, mut r: Reached) -> Reached {
        let arrived = r.nodes.clone();
        for e in &r.edges {
            let (s, d) = self.graph.ends[*e].unwrap();
            r.nodes.extend([s, d]);
        }
        if self.span.min == 0 {
            r.nodes.extend(self.stay(seeds));
        }
        if self.wavefront && self.span.min >= 1 {
            let both = self.direction == 2 && self.span.max != Some(1);
            let again = |v: &usize| {
                arrived.contains(v) && (!both || self.rediscovered(*v, seeds, &r.edges))
            };
            r.nodes = r.nodes.iter().filter(|v| !seeds.contains(v) || again(v)).copied().collect();
        }
        if self.wavefront && self.direction == 2 {
            r.node_hops.retain(|v, _| !seeds.contains(v));
        }
        r
    }

    /// Whether another seed is in the node's component, or the node remains when leaves are taken off
    /// again and again: parallel edges and loops are cycles.
    fn rediscovered(&self, v: usize, seeds: &Set, edges: &Set) -> bool {
        let ends: Vec<(usize, usize)> =
            edges.iter().map(|e| self.graph.ends[*e].unwrap()).collect();
        if ends.iter().any(|(s, d)| *s == v && *d == v) {
            return true;
        }
        let mut component = Set::from([v]);
        for _ in 0..self.graph.ids.len() {
            for (s, d) in &ends {
                if component.contains(s) || component.contains(d) {
                    component.extend([*s, *d]);
                }
            }
        }
        if component.iter().any(|u| *u != v && seeds.contains(u)) {
            return true;
        }
        let mut rest: Vec<(usize, usize)> = ends.into_iter().filter(|(s, d)| s != d).collect();
        loop {
            let degree = |v: usize| rest.iter().filter(|(s, d)| *s == v || *d == v).count();
            let core: Vec<(usize, usize)> =
                rest.iter().filter(|(s, d)| degree(*s) > 1 && degree(*d) > 1).copied().collect();
            if core.len() == rest.len() {
                return degree(v) > 0;
            }
            rest = core;
        }
    }
}

fn forward(
    graph: &Graph<'_>,
    op: &Edge,
    bound: &Bound,
    seeds: &Set,
    edges: &Set,
) -> Result<Reached, No> {
    let span = op.span()?;
    Ok(Hop {
        graph,
        direction: op.direction,
        span,
        edges,
        source: &bound.source,
        destination: &bound.destination,
        target: None,
        wavefront: true,
        zero: op.zero,
        labels: op.labelled() || span.named,
    }
    .run(seeds))
}

/// The hop back over the edges of the hop forward, to the nodes that it began at.
fn back(
    graph: &Graph<'_>,
    op: &Edge,
    bound: &Bound,
    ahead: &Reached,
    (before, next): (&Set, &Set),
) -> Result<Reached, No> {
    if op.single() {
        let mut r = Reached::default();
        for e in &ahead.edges {
            for (from, to) in graph.ways(*e, op.direction) {
                if before.contains(&from) && next.contains(&to) {
                    r.edges.insert(*e);
                }
            }
        }
        r.nodes = departures(graph, op.direction, &r.edges);
        return Ok(r);
    }
    let span = op.span()?;
    let min = match span.max {
        Some(0) => 0,
        _ => u32::from(!(op.zero && span.min == 0)),
    };
    Ok(Hop {
        graph,
        direction: [1, 0, 2][op.direction],
        span: Span { min, ..span },
        edges: &ahead.edges,
        source: &bound.destination,
        destination: &bound.source,
        target: Some(before),
        wavefront: true,
        zero: op.zero,
        labels: false,
    }
    .run(next))
}

/// The nodes that edges leave; either end of those that go either way.
fn departures(graph: &Graph<'_>, direction: usize, edges: &Set) -> Set {
    edges.iter().flat_map(|e| graph.ways(*e, direction)).map(|(from, _)| from).collect()
}

fn and(a: &Set, b: &Set) -> Set {
    a.intersection(b).copied().collect()
}

/// What a chain keeps.
pub(super) fn kept(graph: &Graph<'_>, steps: &[Op]) -> Result<Kept, No> {
    let (bound, ahead, behind) = passes(graph, steps)?;
    let mut kept = Kept::default();
    let mut own: Vec<Set> = vec![];
    for (i, op) in steps.iter().enumerate() {
        own.push(match (op, &bound[i]) {
            (Op::Edge(op), Some(bound)) if !op.single() => {
                forward(graph, op, bound, &ahead[i - 1].nodes, &behind[i].edges)?.edges
            }
            _ => behind[i].edges.clone(),
        });
        kept.edges.extend(&own[i]);
        kept.nodes.extend(&behind[i].nodes);
    }
    let labels = Labels::new(steps, &ahead);
    for op in sliced(steps) {
        if let Some(hops) = labels.edges.get(&op.labels.1) {
            kept.edges.retain(|e| hops.get(e).is_none_or(|hop| in_slice(op, *hop)));
        }
    }
    let mut marked = Set::new();
    let mut markers: Added = vec![];
    for (i, op) in steps.iter().enumerate() {
        match op {
            Op::Edge(op) => {
                kept.edge_columns.extend(op.name.as_ref().map(|n| marker(n, &own[i])));
            }
            Op::Node(op) => {
                let Some(name) = &op.name else { continue };
                let mut set = behind[i].nodes.clone();
                if let Some(Op::Edge(next)) = steps.get(i + 1) {
                    set = and(&set, &departures(graph, next.direction, &behind[i + 1].edges));
                }
                if let Some(Op::Edge(before)) = i.checked_sub(1).map(|i| &steps[i]) {
                    set = labels.within(before, set)?;
                }
                marked.extend(&set);
                markers.push(marker(name, &set));
            }
            Op::Call(_) => {}
        }
    }
    for op in sliced(steps) {
        if let Some(hops) = labels.nodes.get(&op.labels.0) {
            kept.nodes.retain(|v| match hops.get(v) {
                Some(hop) => in_slice(op, *hop),
                None => op.output.0.is_none() && marked.contains(v),
            });
        }
    }
    for e in &kept.edges {
        let (s, d) = graph.ends[*e].unwrap();
        kept.nodes.extend([s, d]);
    }
    let seeds = steps.iter().any(|op| matches!(op, Op::Edge(op) if op.label_seeds));
    let seeds = seeds.then(|| ahead[0].nodes.clone());
    let taken = |rows: Option<&super::data::Rows>| -> Vec<String> {
        rows.map(|r| r.heads.iter().map(|h| h.name.clone()).collect()).unwrap_or_default()
    };
    kept.node_columns = labels.columns(&labels.nodes, &taken(graph.state.nodes.as_ref()), seeds);
    let edges = labels.columns(&labels.edges, &taken(graph.state.edges.as_ref()), None);
    kept.edge_columns.splice(0..0, edges);
    kept.node_columns.extend(markers);
    Ok(kept)
}

pub(super) type Passes = (Vec<Option<Bound>>, Vec<Reached>, Vec<Reached>);

/// The tests of the edge steps, and what each step has after the way forward and the way back.
pub(super) fn passes(graph: &Graph<'_>, steps: &[Op]) -> Result<Passes, No> {
    let (mut bound, mut filters) = (vec![], vec![]);
    for op in steps {
        match op {
            Op::Edge(op) => {
                bound.push(Some(graph.bound(op)?));
                filters.push(Set::new());
            }
            Op::Node(op) => {
                bound.push(None);
                filters.push(graph.filtered(op)?);
            }
            Op::Call(_) => return Err(No::Any),
        }
    }
    let mut ahead: Vec<Reached> = vec![];
    for (i, op) in steps.iter().enumerate() {
        let before = ahead.last().map_or_else(|| graph.all(), |r| r.nodes.clone());
        ahead.push(match (op, &bound[i]) {
            (Op::Edge(op), Some(bound)) => forward(graph, op, bound, &before, &bound.edges)?,
            _ => Reached { nodes: and(&before, &filters[i]), ..Reached::default() },
        });
    }
    let mut behind = vec![Reached::default(); steps.len()];
    let mut next = ahead.last().map_or_else(Set::new, |r| r.nodes.clone());
    for i in (0..steps.len()).rev() {
        let before = if i > 0 { ahead[i - 1].nodes.clone() } else { graph.all() };
        behind[i] = match (&steps[i], &bound[i]) {
            (Op::Edge(op), Some(bound)) => back(graph, op, bound, &ahead[i], (&before, &next))?,
            _ => Reached { nodes: and(&and(&next, &filters[i]), &before), ..Reached::default() },
        };
        next = behind[i].nodes.clone();
    }
    Ok((bound, ahead, behind))
}

fn sliced(steps: &[Op]) -> impl Iterator<Item = &Edge> {
    steps.iter().filter_map(|op| match op {
        Op::Edge(op) if op.output.0.is_some() || op.output.1.is_some() => Some(op.as_ref()),
        _ => None,
    })
}

fn in_slice(op: &Edge, hop: u32) -> bool {
    hop == 0 || op.output.0.is_none_or(|low| hop >= low) && op.output.1.is_none_or(|h| hop <= h)
}

/// Hop numbers by the column that shows them; steps that name none share one.
struct Labels {
    order: Vec<Option<String>>,
    nodes: BTreeMap<Option<String>, Hops>,
    edges: BTreeMap<Option<String>, Hops>,
}

impl Labels {
    fn new(steps: &[Op], ahead: &[Reached]) -> Self {
        let (mut nodes, mut edges) = (BTreeMap::new(), BTreeMap::new());
        let mut order = vec![];
        let merge = |all: &mut BTreeMap<_, Hops>, name: &Option<String>, from: &Hops| {
            let own = all.entry(name.clone()).or_default();
            from.iter().for_each(|(v, hop)| {
                own.entry(*v).or_insert(*hop);
            });
        };
        for (op, reached) in steps.iter().zip(ahead) {
            if let Op::Edge(op) = op
                && (op.labelled() || op.min.is_some_and(|n| n > 0))
            {
                merge(&mut nodes, &op.labels.0, &reached.node_hops);
                merge(&mut edges, &op.labels.1, &reached.edge_hops);
                order.push(op.labels.0.clone());
                order.push(op.labels.1.clone());
            }
        }
        Self { order, nodes, edges }
    }

    /// The nodes whose hop is one that the step asked for.
    fn within(&self, op: &Edge, mut set: Set) -> Result<Set, No> {
        let span = op.span()?;
        if !op.labelled() && !span.named {
            return Ok(set);
        }
        let Some(hops) = self.nodes.get(&op.labels.0) else { return Ok(set) };
        let least = op.output.0.unwrap_or(span.min);
        let most = op.output.1.or(span.max);
        set.retain(|v| match hops.get(v) {
            Some(hop) => (least <= 1 || *hop >= least) && most.is_none_or(|m| *hop <= m),
            None => least <= 1 && most.is_none(),
        });
        Ok(set)
    }

    fn columns(
        &self,
        all: &BTreeMap<Option<String>, Hops>,
        taken: &[String],
        seeds: Option<Set>,
    ) -> Added {
        let mut columns: Added = vec![];
        let mut done: Vec<&String> = vec![];
        for name in self.order.iter().flatten() {
            let Some(hops) = all.get(&Some(name.clone())) else { continue };
            if done.contains(&name) {
                continue;
            }
            done.push(name);
            let mut hops = hops.clone();
            for v in seeds.iter().flatten() {
                hops.entry(*v).or_insert(0);
            }
            let mut free = name.clone();
            for number in 1.. {
                if !taken.contains(&free) {
                    break;
                }
                free = format!("{name}_{number}");
            }
            let cells = hops.iter().map(|(v, hop)| (*v, V::Int(i64::from(*hop)))).collect();
            columns.push((free, Kind::Int, cells));
        }
        columns
    }
}
