//! Hop numbers of a chain: the columns that show them and the slices that are cut by them.

use graphlume_store::PropertyGraph;
use graphlume_store::ids::{IdMap, IdSet};
use graphlume_table::Table;

use crate::scope::Step;
use crate::select::Added;
use crate::wire::EdgeOp;

/// Hop numbers of nodes and edges by column; of several steps with one column the first counts.
#[derive(Default)]
pub(crate) struct Labels {
    nodes: Vec<(Option<String>, IdMap<u32>)>,
    edges: Vec<(Option<String>, IdMap<u32>)>,
}

fn merge(into: &mut Vec<(Option<String>, IdMap<u32>)>, name: Option<&String>, from: &IdMap<u32>) {
    let at = match into.iter().position(|(n, _)| n.as_ref() == name) {
        Some(at) => at,
        None => {
            into.push((name.cloned(), IdMap::default()));
            into.len() - 1
        }
    };
    for (element, hop) in from {
        into[at].1.entry(*element).or_insert(*hop);
    }
}

impl Labels {
    pub(crate) fn collect<'a>(
        steps: &[Step],
        hops: impl Iterator<Item = (&'a IdMap<u32>, &'a IdMap<u32>)>,
    ) -> Self {
        let mut labels = Self::default();
        for (step, (nodes, edges)) in steps.iter().zip(hops) {
            if let Step::Edge(op) = step
                && (op.needs_labels() || op.min_named)
            {
                merge(&mut labels.nodes, op.label_nodes.as_ref(), nodes);
                merge(&mut labels.edges, op.label_edges.as_ref(), edges);
            }
        }
        labels
    }

    fn nodes_of(&self, op: &EdgeOp) -> Option<&IdMap<u32>> {
        let found = self.nodes.iter().find(|(name, _)| *name == op.label_nodes);
        found.map(|(_, hops)| hops)
    }

    /// The nodes whose hop number is within the bounds of the step that reached them.
    pub(crate) fn within(&self, op: &EdgeOp, nodes: IdSet) -> IdSet {
        if !op.needs_labels() && !op.min_named {
            return nodes;
        }
        let Some(hops) = self.nodes_of(op) else { return nodes };
        let least = op.output_min.unwrap_or(op.min);
        let most = op.output_max.or(op.max);
        nodes.filter(|v| match hops.get(&v) {
            Some(hop) => (least <= 1 || *hop >= least) && most.is_none_or(|most| *hop <= most),
            None => least <= 1 && most.is_none(),
        })
    }

    /// Whether anything is cut by hop numbers.
    pub(crate) fn slices(steps: &[Step]) -> bool {
        sliced(steps).next().is_some()
    }

    /// Cuts edges by the hop numbers that a step asks for.
    pub(crate) fn slice_edges(&self, steps: &[Step], edges: IdSet) -> IdSet {
        let slices = sliced(steps);
        let mut edges = edges;
        for op in slices {
            let hops = self.edges.iter().find(|(name, _)| *name == op.label_edges);
            if let Some((_, hops)) = hops {
                edges = edges.filter(|e| hops.get(&e).is_none_or(|hop| in_slice(op, *hop)));
            }
        }
        edges
    }

    /// Cuts nodes likewise. Nodes without a number go when there is a lower bound, else they stay
    /// if a step names them.
    pub(crate) fn slice_nodes(&self, steps: &[Step], nodes: IdSet, marks: &[Added]) -> IdSet {
        let marked =
            |v: u32| marks.iter().any(|m| matches!(m, Added::Marker(_, set) if set.contains(v)));
        let mut nodes = nodes;
        for op in sliced(steps) {
            let Some(hops) = self.nodes_of(op) else { continue };
            nodes = nodes.filter(|v| match hops.get(&v) {
                Some(hop) => in_slice(op, *hop),
                None => op.output_min.is_none() && marked(v),
            });
        }
        nodes
    }

    /// The columns that were asked for; taken names get a number behind them.
    pub(crate) fn columns<'g>(
        self,
        graph: &'g PropertyGraph,
        steps: &[Step],
        first: Option<&IdSet>,
    ) -> (Vec<Added>, Vec<Added>) {
        let seeds = steps.iter().any(|s| matches!(s, Step::Edge(op) if op.label_seeds));
        let named = |list: Vec<(Option<String>, IdMap<u32>)>, taken: &[&str], nodes: bool| {
            let mut columns = Vec::new();
            for (name, mut hops) in list {
                let Some(name) = name else { continue };
                if nodes && seeds {
                    first.iter().flat_map(|s| s.iter()).for_each(|v| {
                        hops.entry(v).or_insert(0);
                    });
                }
                columns.push(Added::Hops(free_name(name, taken), hops));
            }
            columns
        };
        let names = |table: Option<&'g Table>| table.map(Table::column_names).unwrap_or_default();
        let (nodes, edges) = (names(graph.nodes()), names(graph.edges()));
        (named(self.nodes, &nodes, true), named(self.edges, &edges, false))
    }
}

fn sliced(steps: &[Step]) -> impl Iterator<Item = &EdgeOp> {
    steps.iter().filter_map(|s| match s {
        Step::Edge(op) if op.output_min.is_some() || op.output_max.is_some() => Some(op.as_ref()),
        _ => None,
    })
}

/// The name, with a number behind it where it is taken.
pub(crate) fn free_name(name: String, taken: &[&str]) -> String {
    let numbered = (1_u32..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !taken.contains(&name.as_str())).unwrap_or(name)
}

/// Whether a hop number is in the slice that a step asks for.
pub(crate) fn in_slice(op: &EdgeOp, hop: u32) -> bool {
    hop == 0
        || op.output_min.is_none_or(|min| hop >= min) && op.output_max.is_none_or(|max| hop <= max)
}
