//! Shortest paths between two bound nodes, by breadth from both ends in turn.

use std::collections::HashMap;

use graphlume_types::limits::CYPHER_CELLS_MAX;

use super::edges::EdgeTest;
use super::eval::set;
use super::expand::node_at;
use super::{Exec, Flow, Sink, Stop};
use crate::error::{Res, limit_error, value_error};
use crate::plan::{Slot, Span, Step};
use crate::value::{Edge, Path, Value};
use graphlume_graph::Direction;

/// How nodes were reached: the relationships that lead back one level.
#[derive(Default)]
struct Side {
    back: HashMap<u32, Vec<(Edge, u32)>>,
    depth: HashMap<u32, u32>,
    frontier: Vec<u32>,
    level: u32,
}

impl Side {
    fn new(start: u32) -> Self {
        let mut side = Self::default();
        side.depth.insert(start, 0);
        side.frontier.push(start);
        side
    }
}

impl Exec<'_> {
    pub(super) fn shortest(
        &self,
        row: &mut [Value],
        step: &Step,
        span: &Span,
        (path, all): (Slot, bool),
        sink: &mut Sink<'_>,
    ) -> Flow {
        if span.min > 1 {
            return Err(value_error("a shortest path has a lower bound of 0 or 1").into());
        }
        let ends = (node_at(row, step.from)?, node_at(row, step.to)?);
        let (Some(from), Some(to)) = ends else { return Ok(()) };
        let test = self.edge_test(step, Some(span), row)?;
        let max = span.max.unwrap_or(u32::MAX);
        let found = if from == to {
            if span.min > 0 {
                return Ok(());
            }
            vec![Path { nodes: vec![from], edges: Vec::new() }]
        } else {
            self.search((from, to), step.direction, &test, max, all)?
        };
        for p in found {
            self.tick()?;
            let list = p.edges.iter().map(|e| Value::Edge(*e)).collect();
            set(row, step.rel, Value::list(list));
            set(row, path, Value::Path(p.into()));
            sink(row)?;
        }
        Ok(())
    }

    fn search(
        &self,
        (from, to): (u32, u32),
        direction: Direction,
        test: &EdgeTest,
        max: u32,
        all: bool,
    ) -> Res<Vec<Path>> {
        let against = match direction {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
            Direction::Undirected => Direction::Undirected,
        };
        let (mut a, mut b) = (Side::new(from), Side::new(to));
        loop {
            if a.frontier.is_empty() || b.frontier.is_empty() || a.level + b.level >= max {
                return Ok(Vec::new());
            }
            let forward = a.frontier.len() <= b.frontier.len();
            let (side, other, way) =
                if forward { (&mut a, &b, direction) } else { (&mut b, &a, against) };
            let met = self.level(side, other, way, test, all)?;
            if !met.is_empty() {
                return self.joined(&a, &b, &met, (from, to), all);
            }
        }
    }

    /// Goes one level further on a side; the nodes where the other side was met.
    fn level(
        &self,
        side: &mut Side,
        other: &Side,
        direction: Direction,
        test: &EdgeTest,
        all: bool,
    ) -> Res<Vec<u32>> {
        let mut met = Vec::new();
        let mut next = Vec::new();
        side.level += 1;
        let level = side.level;
        for v in std::mem::take(&mut side.frontier) {
            let (back, depth) = (&mut side.back, &mut side.depth);
            let result = self.each_edge(test, v, direction, |edge, to| {
                self.tick()?;
                let old = depth.get(&to).copied();
                if old.is_some_and(|d| d < level || !all) || !self.props_fit(test, edge)? {
                    return Ok(());
                }
                back.entry(to).or_default().push((edge, v));
                if old.is_none() {
                    depth.insert(to, level);
                    next.push(to);
                    if other.depth.contains_key(&to) {
                        met.push(to);
                    }
                }
                Ok(())
            });
            if let Err(Stop::Failed(e)) = result {
                return Err(e);
            }
            if !all && !met.is_empty() {
                break;
            }
        }
        side.frontier = next;
        // Where the sides meet deeper than elsewhere, the path is longer.
        let best = met.iter().filter_map(|v| other.depth.get(v)).min().copied();
        met.retain(|v| other.depth.get(v).copied() == best);
        Ok(met)
    }

    /// Paths through the meeting nodes.
    fn joined(
        &self,
        a: &Side,
        b: &Side,
        met: &[u32],
        (from, to): (u32, u32),
        all: bool,
    ) -> Res<Vec<Path>> {
        let mut paths = Vec::new();
        let mut cells = 0;
        for v in met {
            let heads = self.chains(a, *v, from, all)?;
            let tails = self.chains(b, *v, to, all)?;
            for head in &heads {
                for tail in &tails {
                    self.tick()?;
                    let mut path = Path { nodes: vec![*v], edges: Vec::new() };
                    for (edge, node) in head {
                        path.nodes.insert(0, *node);
                        path.edges.insert(0, *edge);
                    }
                    for (edge, node) in tail {
                        path.nodes.push(*node);
                        path.edges.push(*edge);
                    }
                    cells += path.nodes.len();
                    if cells > CYPHER_CELLS_MAX {
                        return Err(limit_error("there are too many shortest paths"));
                    }
                    paths.push(path);
                    if !all {
                        return Ok(paths);
                    }
                }
            }
        }
        Ok(paths)
    }

    /// Ways back from a node to the start of its side.
    fn chains(&self, side: &Side, v: u32, start: u32, all: bool) -> Res<Vec<Vec<(Edge, u32)>>> {
        let mut done = Vec::new();
        let mut open = vec![(v, Vec::new())];
        while let Some((at, chain)) = open.pop() {
            self.tick()?;
            if at == start {
                done.push(chain);
                if !all {
                    break;
                }
                continue;
            }
            for (edge, before) in side.back.get(&at).into_iter().flatten() {
                let mut longer = chain.clone();
                longer.push((*edge, *before));
                open.push((*before, longer));
                if !all {
                    break;
                }
            }
        }
        Ok(done)
    }
}
