//! Rows of shortest paths: for each start and each node that may be the end, how many hops lie between.

use std::collections::HashMap;
use std::rc::Rc;

use super::follow::{Follow, Found, NOTHING};
use graphlume_expr::QueryError;

/// How a client names the column of the hops of a shortest path, which makes a step one.
const HOPS: &str = "__cypher_shortest_path_hops__";
/// Distances that are kept for further rows with the same start.
const KEPT: usize = 1 << 24;

/// A step that keeps the shortest way only.
pub(super) struct Shortest<'a> {
    follow: &'a Follow<'a>,
    ends: Vec<u32>,
    known: HashMap<u32, Rc<Vec<u32>>>,
    /// How many of them have been paid for at once.
    paid: usize,
}

impl<'a> Shortest<'a> {
    /// The step, when it is one of shortest paths.
    pub(super) fn new(follow: &'a Follow<'a>) -> Option<Self> {
        let name = follow.op.label_nodes.as_ref()?;
        let ends = || follow.next.to_vec();
        name.starts_with(HOPS).then(|| Self {
            follow,
            ends: ends(),
            known: HashMap::new(),
            paid: 0,
        })
    }

    /// Continues a path to every end. Ends that cannot be reached have no hops; clients drop them unless
    /// the match was optional.
    pub(super) fn run(
        &mut self,
        path: usize,
        (v, must): (u32, Option<u32>),
        trail: u32,
        found: &mut Found,
    ) -> Result<(), QueryError> {
        let hops = self.distances(v)?;
        let ends = self.ends.iter().filter(|end| must.is_none_or(|must| must == **end));
        for end in ends {
            found.push(path, hops[*end as usize], *end, trail);
        }
        Ok(())
    }

    fn distances(&mut self, start: u32) -> Result<Rc<Vec<u32>>, QueryError> {
        if let Some(known) = self.known.get(&start) {
            return Ok(Rc::clone(known));
        }
        let Follow { pass, op, .. } = self.follow;
        let nodes = pass.t.num_nodes() as usize;
        if (self.known.len() + 1) * nodes > KEPT {
            self.known.clear();
        }
        pass.scope.cancel.check()?;
        if self.known.len() >= self.paid {
            pass.scope.cancel.take(nodes as u64 * 4)?;
            self.paid += 1;
        }
        let mut hops = vec![NOTHING; nodes];
        hops[start as usize] = 0;
        let mut frontier = vec![start];
        let mut loops = false;
        let mut depth = 0;
        let mut looked = 0_usize;
        while !frontier.is_empty() && op.max.is_none_or(|max| depth < max) {
            depth += 1;
            let mut next = Vec::new();
            for v in frontier {
                self.follow.arcs(v, |_, to| {
                    loops |= v == start && to == start;
                    if hops[to as usize] == NOTHING {
                        hops[to as usize] = depth;
                        next.push(to);
                    }
                });
                looked += 1;
                if looked.is_multiple_of(1024) {
                    pass.scope.cancel.check()?;
                }
            }
            frontier = next;
        }
        // The way from a node to itself has no hops, or else is a loop.
        if op.min > 0 {
            hops[start as usize] = if loops { 1 } else { NOTHING };
        }
        hops.iter_mut().filter(|h| **h < op.min).for_each(|h| *h = NOTHING);
        let hops = Rc::new(hops);
        self.known.insert(start, Rc::clone(&hops));
        Ok(hops)
    }
}
