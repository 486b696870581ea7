//! Chains on the GPU, where the graph has one and it is faster: the passes of a chain written down as a program of set
//! operations, step by step as [`Pass`] takes them.

mod writer;

use graphlume_expr::QueryError;
use graphlume_graph::Direction;
use graphlume_store::ids::IdSet;
use graphlume_store::{ChainHop, ChainJob, ChainStep, EdgeSet, NodeSet, PropertyGraph};

use self::writer::{Bound, Writer};
use super::{Pass, check_names, closed};
use crate::filter::{NodeFilter, row_filter};
use crate::scope::{Scope, Side, Step};
use crate::select::{Added, Selection};
use crate::wire::EdgeOp;

/// Hops that a walk with a least number of them may take on a GPU, which keeps a set of edges for each.
const LEAST_HOPS_MAX: u32 = 32;

/// Where a chain runs, as the plan says it.
pub(crate) enum Ran {
    /// The graph has no GPU, so there is no choice.
    NoDevice,
    /// On the GPU, with what it takes there.
    Gpu(String),
    /// On the CPU, for a reason.
    Cpu(String),
}

/// What a chain keeps, found by the GPU; `None` where the CPU has to.
pub(crate) fn selection(
    graph: &PropertyGraph,
    steps: &[Step],
    scope: Scope<'_>,
) -> Result<Option<Selection>, QueryError> {
    let Some(device) = graph.chain_device() else { return Ok(None) };
    check_names(graph, steps)?;
    let steps = closed(steps);
    let Ok(program) = program(graph, &steps, scope)? else { return Ok(None) };
    if device.declines(&program.job).is_some() {
        return Ok(None);
    }
    let Some(answer) = device.run(&program.job, scope.cancel) else {
        scope.cancel.check()?;
        return Ok(None);
    };
    let sets = answer.nodes.iter().chain(&answer.edges);
    scope.cancel.take(sets.map(IdSet::bytes).sum())?;
    Ok(program.selected(answer.nodes, answer.edges))
}

/// Where a chain would run.
pub(crate) fn side(
    graph: &PropertyGraph,
    steps: &[Step],
    scope: Scope<'_>,
) -> Result<Ran, QueryError> {
    let Some(device) = graph.chain_device() else { return Ok(Ran::NoDevice) };
    let job = match steps {
        [Step::Node(op)] if op.filter.is_empty() => {
            return Ok(Ran::Cpu("nothing is tested".to_owned()));
        }
        [Step::Node(op)] => {
            let table = graph.node_table(scope.cancel)?;
            let filter = row_filter(graph, &table, Side::Nodes, op, scope)?;
            filter_job(graph, &NodeFilter::Rows(filter, graph), scope)?
        }
        _ => program(graph, &closed(steps), scope)?.map(|program| program.job),
    };
    Ok(match job {
        Err(why) => Ran::Cpu(why.to_owned()),
        Ok(job) => match device.declines(&job) {
            Some(why) => Ran::Cpu(why),
            None => Ran::Gpu(device.effort(&job)),
        },
    })
}

/// The nodes that pass a filter, found by the GPU; `None` where the CPU has to.
pub(crate) fn passing(
    graph: &PropertyGraph,
    filter: &NodeFilter<'_>,
    scope: Scope<'_>,
) -> Result<Option<IdSet>, QueryError> {
    let Some(device) = graph.chain_device() else { return Ok(None) };
    if !matches!(filter, NodeFilter::Rows(..)) {
        return Ok(None);
    }
    let Ok(job) = filter_job(graph, filter, scope)? else { return Ok(None) };
    if device.declines(&job).is_some() {
        return Ok(None);
    }
    let Some(answer) = device.run(&job, scope.cancel) else {
        scope.cancel.check()?;
        return Ok(None);
    };
    let found = answer.nodes.into_iter().next();
    scope.cancel.take(found.as_ref().map_or(0, IdSet::bytes))?;
    Ok(found)
}

/// The program of a filter of nodes by itself.
fn filter_job<'a>(
    graph: &'a PropertyGraph,
    filter: &NodeFilter<'_>,
    scope: Scope<'a>,
) -> Result<Result<ChainJob<'a>, Why>, QueryError> {
    let mut writer = match Writer::new(graph, scope)? {
        Ok(writer) => writer,
        Err(why) => return Ok(Err(why)),
    };
    let set = match writer.filter(filter) {
        Ok(Some(set)) => set,
        Ok(None) => return Ok(Err("nothing is tested")),
        Err(why) => return Ok(Err(why)),
    };
    let existing = NodeSet(writer.push(ChainStep::Existing));
    let set = writer.and(set, existing);
    writer.job.wanted_nodes.push(set);
    Ok(Ok(writer.job))
}

/// Why a chain has no form for a GPU.
type Why = &'static str;

/// A program, and the names of the sets that it gives back after the nodes and the edges that are kept.
struct Program<'a> {
    job: ChainJob<'a>,
    node_names: Vec<String>,
    edge_names: Vec<String>,
}

impl Program<'_> {
    fn selected(self, nodes: Vec<IdSet>, edges: Vec<IdSet>) -> Option<Selection> {
        let marked = |names: Vec<String>, sets: Vec<IdSet>| {
            let mut sets = sets.into_iter();
            let kept = sets.next()?;
            let columns = names.into_iter().zip(sets).map(|(name, set)| Added::Marker(name, set));
            Some((kept, columns.collect::<Vec<_>>()))
        };
        let (nodes, node_columns) = marked(self.node_names, nodes)?;
        let (edges, edge_columns) = marked(self.edge_names, edges)?;
        Some(Selection { nodes, edges, node_columns, edge_columns })
    }
}

/// What of a step there is no form for; what the steps are is known before anything is bound.
fn unfit(steps: &[Step]) -> Option<Why> {
    steps.iter().enumerate().find_map(|(i, step)| {
        let Step::Edge(op) = step else { return None };
        // A named node is marked by the hop that reached it, where a least number of them was asked for.
        let marked = matches!(steps.get(i + 1), Some(Step::Node(op)) if op.name.is_some());
        if op.needs_labels() || op.min_named && marked {
            return Some("numbers of hops are found by the CPU");
        }
        let far = op.min > 1 && op.max.is_none_or(|max| max > LEAST_HOPS_MAX);
        far.then_some("a walk with so many hops at least is found by the CPU")
    })
}

/// The program of a closed chain.
fn program<'a>(
    graph: &'a PropertyGraph,
    steps: &[Step],
    scope: Scope<'a>,
) -> Result<Result<Program<'a>, Why>, QueryError> {
    if let Some(why) = unfit(steps) {
        return Ok(Err(why));
    }
    let mut writer = match Writer::new(graph, scope)? {
        Ok(writer) => writer,
        Err(why) => return Ok(Err(why)),
    };
    let mut bound = Vec::with_capacity(steps.len());
    for (i, step) in steps.iter().enumerate() {
        match writer.bind(step).map_err(|e| e.at(i))? {
            Ok(step) => bound.push(step),
            Err(why) => return Ok(Err(why)),
        }
    }
    let existing = NodeSet(writer.push(ChainStep::Existing));
    let mut chain = Chain { writer, steps, bound, existing };
    let ahead = chain.forward();
    let kept = chain.backward(&ahead);
    Ok(Ok(chain.combine(&ahead, &kept)))
}

/// What a pass leaves of a step.
#[derive(Clone, Copy)]
struct Layer {
    nodes: NodeSet,
    edges: Option<EdgeSet>,
}

/// A chain that is being written down.
struct Chain<'a, 's> {
    writer: Writer<'a>,
    steps: &'s [Step],
    bound: Vec<Bound>,
    existing: NodeSet,
}

impl<'a> Chain<'a, '_> {
    /// A hop of step `i`: forward, or back over `edges` to `target`.
    fn hop(
        &mut self,
        i: usize,
        op: &EdgeOp,
        seeds: NodeSet,
        over: Option<EdgeSet>,
        target: Option<NodeSet>,
    ) -> usize {
        let (edges, source, destination) = match self.bound[i] {
            Bound::Edge { edges, source, destination } => (edges, source, destination),
            Bound::Node(_) => (None, None, None),
        };
        let is_forward = target.is_none();
        let (source, destination) =
            if is_forward { (source, destination) } else { (destination, source) };
        // As in [`Pass`]: the way back only asks whether there is a path.
        let min = match (is_forward, op.max) {
            (true, _) => op.min,
            (false, Some(0)) => 0,
            (false, _) => u32::from(!(op.zero_hop_seed && op.min == 0)),
        };
        let from = self.writer.within(source, self.existing);
        let to = self.writer.within(destination, self.existing);
        let last = self.writer.within(target, to);
        self.writer.push(ChainStep::Hop(ChainHop {
            direction: if is_forward { op.direction } else { op.direction.reversed() },
            min,
            max: op.max,
            seeds,
            from,
            to,
            last,
            edges: over.or(edges),
            unless_all: None,
            stays: op.zero_hop_seed,
        }))
    }

    fn node_filter(&self, i: usize) -> Option<NodeSet> {
        match self.bound[i] {
            Bound::Node(filter) => filter,
            Bound::Edge { .. } => None,
        }
    }

    fn forward(&mut self) -> Vec<Layer> {
        let mut layers: Vec<Layer> = Vec::with_capacity(self.steps.len());
        for (i, step) in self.steps.iter().enumerate() {
            let before = layers.last().map_or(self.existing, |layer| layer.nodes);
            layers.push(match step {
                Step::Edge(op) => {
                    let made = self.hop(i, op, before, None, None);
                    Layer { nodes: NodeSet(made), edges: Some(EdgeSet(made)) }
                }
                Step::Node(_) => {
                    let filter = self.node_filter(i);
                    Layer { nodes: self.writer.within(filter, before), edges: None }
                }
            });
        }
        layers
    }

    fn backward(&mut self, ahead: &[Layer]) -> Vec<Layer> {
        let mut kept: Vec<Layer> = Vec::with_capacity(ahead.len());
        for i in (0..self.steps.len()).rev() {
            let next = kept.last().or(ahead.last()).map_or(self.existing, |layer| layer.nodes);
            let before = i.checked_sub(1).map(|i| ahead[i].nodes);
            kept.push(match (&self.steps[i], ahead[i].edges, before) {
                (Step::Edge(op), Some(edges), Some(before)) if op.is_single() => {
                    let step = ChainStep::Between(op.direction, edges, before, next);
                    let edges = EdgeSet(self.writer.push(step));
                    let left = self.writer.push(ChainStep::Left(op.direction, edges));
                    Layer { nodes: NodeSet(left), edges: Some(edges) }
                }
                (Step::Edge(op), Some(edges), Some(before)) => {
                    let made = self.hop(i, op, next, Some(edges), Some(before));
                    Layer { nodes: NodeSet(made), edges: Some(EdgeSet(made)) }
                }
                _ => {
                    let mut nodes = self.writer.within(self.node_filter(i), next);
                    if let Some(before) = before {
                        nodes = self.writer.and(nodes, before);
                    }
                    Layer { nodes, edges: None }
                }
            });
        }
        kept.reverse();
        kept
    }

    /// The edges that each step follows between what is kept.
    fn step_edges(&mut self, ahead: &[Layer], kept: &[Layer]) -> Vec<Option<EdgeSet>> {
        let mut all = Vec::with_capacity(kept.len());
        for (i, step) in self.steps.iter().enumerate() {
            let own = kept[i].edges;
            all.push(match (step, own) {
                (Step::Edge(op), Some(own)) if !op.is_single() => {
                    let seeds = ahead[i - 1].nodes;
                    let made = self.hop(i, op, seeds, Some(own), None);
                    if let Some(ChainStep::Hop(hop)) = self.writer.job.steps.get_mut(made) {
                        hop.unless_all = ahead[i].edges;
                    }
                    Some(EdgeSet(made))
                }
                _ => own,
            });
        }
        all
    }

    fn combine(mut self, ahead: &[Layer], kept: &[Layer]) -> Program<'a> {
        let step_edges = self.step_edges(ahead, kept);
        let some: Vec<EdgeSet> = step_edges.iter().flatten().copied().collect();
        let edges = match some.as_slice() {
            [one] => *one,
            _ => EdgeSet(self.writer.push(ChainStep::OrEdges(some))),
        };
        let mut nodes: Vec<NodeSet> = kept.iter().map(|layer| layer.nodes).collect();
        let several = |step: &Step| matches!(step, Step::Edge(op) if !op.is_single());
        if self.steps.iter().any(several) {
            nodes.push(self.left(Direction::Undirected, edges));
        }
        let nodes = NodeSet(self.writer.push(ChainStep::Or(nodes)));
        let (mut node_names, mut edge_names) = (vec![], vec![]);
        let (mut wanted_nodes, mut wanted_edges) = (vec![nodes], vec![edges]);
        for (i, step) in self.steps.iter().enumerate() {
            match step {
                Step::Edge(op) => {
                    if let (Some(name), Some(own)) = (&op.name, step_edges[i]) {
                        edge_names.push(name.clone());
                        wanted_edges.push(own);
                    }
                }
                Step::Node(op) => {
                    let Some(name) = &op.name else { continue };
                    let mut set = kept[i].nodes;
                    if let Some((Step::Edge(next), Some(edges))) =
                        self.steps.get(i + 1).zip(kept.get(i + 1)).map(|(s, l)| (s, l.edges))
                    {
                        let left = self.left(next.direction, edges);
                        set = self.writer.and(set, left);
                    }
                    node_names.push(name.clone());
                    wanted_nodes.push(set);
                }
            }
        }
        let mut job = self.writer.job;
        (job.wanted_nodes, job.wanted_edges) = (wanted_nodes, wanted_edges);
        Program { job, node_names, edge_names }
    }

    fn left(&mut self, direction: Direction, edges: EdgeSet) -> NodeSet {
        NodeSet(self.writer.push(ChainStep::Left(direction, edges)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use graphlume_expr::{ErrorCode, Strictness};
    use graphlume_store::{Bindings, ChainAnswer, ChainDevice};
    use graphlume_table::Table;
    use graphlume_types::{CancelReason, CancelToken};
    use serde_json::{Value, json};

    use super::*;

    /// What a device does that has no GPU.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Does {
        Declines,
        Fails,
        IsStopped,
        FindsNothing,
    }

    #[derive(Debug)]
    struct Fake {
        does: Does,
        asked: AtomicUsize,
        steps: Mutex<Vec<usize>>,
    }

    impl ChainDevice for Fake {
        fn declines(&self, job: &ChainJob<'_>) -> Option<String> {
            self.steps.lock().unwrap().push(job.steps.len());
            (self.does == Does::Declines).then(|| "it is small".to_owned())
        }

        fn effort(&self, job: &ChainJob<'_>) -> String {
            format!("{} steps", job.steps.len())
        }

        fn run(&self, job: &ChainJob<'_>, cancel: &CancelToken) -> Option<ChainAnswer> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            match self.does {
                Does::Declines | Does::Fails => None,
                Does::IsStopped => {
                    cancel.cancel(CancelReason::ClientGone);
                    None
                }
                Does::FindsNothing => Some(ChainAnswer {
                    nodes: vec![IdSet::empty(); job.wanted_nodes.len()],
                    edges: vec![IdSet::empty(); job.wanted_edges.len()],
                }),
            }
        }
    }

    fn graph(does: Does) -> (PropertyGraph, Arc<Fake>) {
        graphlume_types::tuning::use_small(true);
        let ints = |v: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(v.to_vec())) };
        let edges = [("s", ints(&[0, 1, 2])), ("d", ints(&[1, 2, 3])), ("w", ints(&[5, 6, 7]))];
        let edges = Table::try_new(RecordBatch::try_from_iter(edges).unwrap()).unwrap();
        let name = |name: &str| Some(name.to_owned());
        let bindings = Bindings { node: None, source: name("s"), destination: name("d") };
        let device = Arc::new(Fake { does, asked: AtomicUsize::new(0), steps: Mutex::default() });
        let graph = PropertyGraph::new(None, Some(edges), bindings).unwrap();
        (graph.with_chain_device(Some(device.clone())), device)
    }

    fn ask(graph: &PropertyGraph, chain: &Value) -> Result<usize, QueryError> {
        let query = crate::parse(chain).unwrap();
        let found = crate::run(graph, &query, None, Strictness::Strict, &CancelToken::new())?;
        Ok(found.graph.edges().map_or(0, Table::num_rows))
    }

    #[test]
    fn the_cpu_answers_where_the_device_does_not() {
        let heavy = json!([{"type": "Edge", "direction": "forward", "edge_match": {"w": {"type": "GT", "val": 5}}}]);
        for (does, edges, asked) in
            [(Does::Declines, 2, 0), (Does::Fails, 2, 1), (Does::FindsNothing, 0, 1)]
        {
            let (graph, device) = graph(does);
            assert_eq!(ask(&graph, &heavy).unwrap(), edges, "{does:?}");
            assert_eq!(device.asked.load(Ordering::Relaxed), asked, "{does:?}");
        }
        let (graph, _) = graph(Does::IsStopped);
        assert_eq!(ask(&graph, &heavy).unwrap_err().error_code(), ErrorCode::Stopped);
    }

    #[test]
    fn what_has_no_form_for_a_device_is_not_offered_and_the_plan_says_why() {
        let (graph, device) = graph(Does::FindsNothing);
        let edge = |more: Value| {
            let mut edge = json!({"type": "Edge", "direction": "forward"});
            edge.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
            json!([edge, {"type": "Node", "name": "end"}])
        };
        for (chain, edges, why) in [
            (edge(json!({"label_edge_hops": "hop"})), 3, "numbers of hops"),
            (edge(json!({"min_hops": 1, "max_hops": 2})), 3, "numbers of hops"),
            (edge(json!({"edge_query": "w > 5"})), 2, "a column that no GPU keeps"),
            (json!([{"type": "Edge", "direction": "forward", "min_hops": 2}]), 3, "so many hops"),
        ] {
            assert_eq!(ask(&graph, &chain).unwrap(), edges, "{chain}");
            let query = crate::parse(&chain).unwrap();
            let cancel = CancelToken::new();
            let plan = crate::explain_on(&graph, &query, Strictness::Strict, &cancel).unwrap();
            assert!(plan.contains("the pattern on the CPU: ") && plan.contains(why), "{plan}");
        }
        assert!(device.steps.lock().unwrap().is_empty());
        let query = crate::parse(&edge(json!({}))).unwrap();
        let plan = crate::explain_on(&graph, &query, Strictness::Strict, &CancelToken::new());
        let plan = plan.unwrap();
        assert!(
            plan.contains("  the pattern on the GPU: ") && plan.ends_with(" steps\n"),
            "{plan}"
        );
    }
}
