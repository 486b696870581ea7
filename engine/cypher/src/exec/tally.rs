//! How many paths lead to each node, step by step.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::eval::set;
use super::expand::{EdgeTest, each_edge, node_at};
use super::hash::Keyed;
use super::view::View;
use super::{Exec, Flow, Sink, Stop};
use crate::ast::Direction;
use crate::error::{Res, limit_error};
use crate::plan::{Op, Slot, Step, Tallied};
use crate::value::{Edge, Value};

/// Relationships of one step up to which the nodes that are met are kept by hash; beyond it every node has a
/// place.
const FEW_EDGES: u64 = if cfg!(test) { 4 } else { 4_096 };
/// Nodes that a thread takes at once.
const NODES_AT_ONCE: usize = 256;

/// Nodes in ascending order, each with the number of paths that lead to it.
#[derive(Default)]
struct Paths {
    nodes: Vec<(u32, u64)>,
    /// The numbers by node, where that is the quicker way.
    all: Vec<u64>,
}

impl Paths {
    fn to(&self, v: u32) -> u64 {
        if let Some(paths) = self.all.get(v as usize) {
            return *paths;
        }
        let at = self.nodes.binary_search_by_key(&v, |n| n.0);
        at.ok().and_then(|i| self.nodes.get(i)).map_or(0, |n| n.1)
    }
}

fn too_many() -> Box<graphlume_gfql::GfqlError> {
    limit_error(format!("the pattern has more than {} matches", i64::MAX))
}

/// Whether a step may take a relationship from one node to another.
fn leads(step: &Step, edge: Edge, from: u32, to: u32) -> bool {
    match step.direction {
        Direction::Out => edge.source == from && edge.destination == to,
        Direction::In => edge.source == to && edge.destination == from,
        Direction::Both => true,
    }
}

/// One step, ready to be taken.
struct Advance<'a> {
    view: &'a View,
    paths: &'a Paths,
    step: &'a Step,
    test: EdgeTest,
    /// Where the relationship must differ from the one before: that step, its test, and the paths to its
    /// near end.
    apart: Option<(&'a Step, EdgeTest, &'a Paths)>,
}

impl Advance<'_> {
    /// Calls `add` with the nodes that a node's paths go on to, and with how many do so.
    #[inline]
    fn from(&self, (v, paths): (u32, u64), mut add: impl FnMut(u32, u64) -> Flow) -> Flow {
        each_edge(self.view, v, self.step.direction, |edge, to| {
            if !self.test.has_type(edge) {
                return Ok(());
            }
            let back = match &self.apart {
                Some((step, test, before)) if leads(step, edge, to, v) && test.has_type(edge) => {
                    before.to(to)
                }
                _ => 0,
            };
            match paths.saturating_sub(back) {
                0 => Ok(()),
                paths => add(to, paths),
            }
        })
    }

    /// An upper bound of the relationships to look at.
    fn edges(&self) -> u64 {
        let topology = self.view.topology();
        let degree = |v: u32| match self.step.direction {
            Direction::Out => topology.out_degree(v),
            Direction::In => topology.in_degree(v),
            Direction::Both => topology.degree(v),
        };
        self.paths.nodes.iter().map(|(v, _)| u64::from(degree(*v))).sum()
    }
}

impl Exec<'_> {
    pub(super) fn tally(
        &self,
        input: &Op,
        from: Slot,
        steps: &[Tallied],
        weight: Slot,
        row: &mut [Value],
        sink: &mut Sink<'_>,
    ) -> Flow {
        let mut paths = Paths { nodes: self.starts(input, from, row)?, all: Vec::new() };
        let mut before = Paths::default();
        let mut last: Option<&Step> = None;
        for tallied in steps {
            let step = &tallied.step;
            let apart = match last.filter(|_| tallied.apart) {
                Some(last) => Some((last, self.edge_test(last, None, row)?, &before)),
                None => None,
            };
            let test = self.edge_test(step, None, row)?;
            let next = if test.never() {
                Paths::default()
            } else {
                let advance = Advance { view: self.view, paths: &paths, step, test, apart };
                self.advanced(&advance, tallied, row)?
            };
            before = std::mem::replace(&mut paths, next);
            last = Some(step);
        }
        let Some(last) = last else { return Ok(()) };
        for (v, count) in paths.nodes {
            self.tick()?;
            set(row, last.to, Value::Node(v));
            set(row, weight, Value::Int(i64::try_from(count).map_err(|_| too_many())?));
            sink(row)?;
        }
        Ok(())
    }

    /// The nodes that paths begin at.
    fn starts(&self, input: &Op, from: Slot, row: &mut [Value]) -> Res<Vec<(u32, u64)>> {
        let gather = |exec: &Exec<'_>, row: &mut [Value]| {
            let mut nodes = Vec::new();
            let result = exec.run(input, row, &mut |row| {
                nodes.extend(node_at(row, from)?.map(|v| (v, 1)));
                Ok(())
            });
            match result {
                Err(Stop::Failed(e)) => Err(e),
                _ => Ok(nodes),
            }
        };
        let mut nodes = match self.shares(input) {
            None => gather(self, row)?,
            Some(shares) => self.share(shares, row, gather)?.concat(),
        };
        nodes.sort_unstable();
        Ok(nodes)
    }

    fn advanced(&self, advance: &Advance<'_>, to: &Tallied, row: &mut [Value]) -> Res<Paths> {
        let edges = advance.edges();
        if edges <= FEW_EDGES {
            return self.advanced_by_few(advance, to, row);
        }
        advance.test.prepare();
        advance.apart.iter().for_each(|(_, test, _)| test.prepare());
        for label in &to.step.labels {
            self.labels.get(*label).into_iter().for_each(super::view::LabelTest::prepare);
        }
        let nodes = self.view.num_nodes();
        let bytes = 2 * u64::from(nodes) * size_of::<u64>() as u64;
        self.cancel.take(bytes).map_err(|e| Box::new(e.into()))?;
        let counts: Vec<AtomicU64> = (0..nodes).map(|_| AtomicU64::new(0)).collect();
        advance.paths.nodes.par_chunks(NODES_AT_ONCE).try_for_each(|some| {
            self.shared.cancelled()?;
            for node in some {
                let flow = advance.from(*node, |to, paths| {
                    let Some(count) = counts.get(to as usize) else { return Ok(()) };
                    // Neither addend has the highest bit, so that the sum is seen before it wraps.
                    let sum = count.fetch_add(paths, Ordering::Relaxed).saturating_add(paths);
                    if i64::try_from(sum).is_err() { Err(too_many().into()) } else { Ok(()) }
                });
                if let Err(Stop::Failed(e)) = flow {
                    return Err(e);
                }
            }
            Ok(())
        })?;
        let mut all: Vec<u64> = counts.into_iter().map(AtomicU64::into_inner).collect();
        let shared = self.shared;
        let parts = all.par_chunks_mut(NODES_AT_ONCE * 64).enumerate().map(|(i, part)| {
            let exec = Exec::new(shared, Some((usize::MAX, 0..0)));
            let mut row = row.to_vec();
            let mut found = Vec::new();
            let first = (i * NODES_AT_ONCE * 64) as u32;
            for (v, count) in (first..).zip(part) {
                exec.tick()?;
                if *count > 0 && exec.meets(v, to, &mut row)? {
                    found.push((v, *count));
                } else {
                    *count = 0;
                }
            }
            Ok(found)
        });
        let nodes = parts.collect::<Res<Vec<_>>>()?.concat();
        Ok(Paths { nodes, all })
    }

    fn advanced_by_few(
        &self,
        advance: &Advance<'_>,
        to: &Tallied,
        row: &mut [Value],
    ) -> Res<Paths> {
        let mut counts: HashMap<u32, u64, Keyed> = HashMap::default();
        for node in &advance.paths.nodes {
            let flow = advance.from(*node, |to, paths| {
                self.tick()?;
                let count = counts.entry(to).or_default();
                *count = count.saturating_add(paths);
                if i64::try_from(*count).is_err() { Err(too_many().into()) } else { Ok(()) }
            });
            if let Err(Stop::Failed(e)) = flow {
                return Err(e);
            }
        }
        let mut nodes = Vec::with_capacity(counts.len());
        for (v, count) in counts {
            if self.meets(v, to, row)? {
                nodes.push((v, count));
            }
        }
        nodes.sort_unstable();
        Ok(Paths { nodes, all: Vec::new() })
    }

    /// Whether a node is one that a step may end at.
    fn meets(&self, v: u32, to: &Tallied, row: &mut [Value]) -> Res<bool> {
        if !self.has_labels(v, &to.step.labels) {
            return Ok(false);
        }
        set(row, to.step.to, Value::Node(v));
        for test in &to.tests {
            if self.test(test, row)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
