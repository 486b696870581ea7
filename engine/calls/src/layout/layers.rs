//! The level of each node of a tree that is drawn, from roots.

use graphlume_graph::Topology;
use graphlume_types::{CancelToken, Cancelled};

/// Nodes or edges that are looked at between two looks at the cancel token.
const STEPS_PER_CHECK: usize = 1 << 16;

/// The edges of a graph by node, in the order of the edge table, without loops. An edge that closes a cycle for a search
/// from the roots runs the other way.
pub(super) struct Layers<'a> {
    /// Source and destination of each edge.
    edges: Vec<(u32, u32)>,
    /// Edges by node: those of node `v` stand at `starts[v]..starts[v + 1]` of `at`.
    starts: Vec<usize>,
    at: Vec<u32>,
    cancel: &'a CancelToken,
}

impl<'a> Layers<'a> {
    /// The edges of a graph.
    pub(crate) fn of(topology: &Topology, cancel: &'a CancelToken) -> Result<Self, Cancelled> {
        let mut rows = Vec::new();
        for position in 0..topology.num_edges() {
            if (position as usize).is_multiple_of(STEPS_PER_CHECK) {
                cancel.check()?;
            }
            let (a, b, row) = topology.edge(position);
            if a != b {
                rows.push((row, a, b));
            }
        }
        rows.sort_unstable();
        cancel.check()?;
        let edges: Vec<(u32, u32)> = rows.into_iter().map(|(_, a, b)| (a, b)).collect();
        let mut starts = vec![0; topology.num_nodes() as usize + 1];
        for (a, b) in &edges {
            starts[*a as usize + 1] += 1;
            starts[*b as usize + 1] += 1;
        }
        for v in 1..starts.len() {
            starts[v] += starts[v - 1];
        }
        let (mut next, mut at) = (starts.clone(), vec![0; edges.len() * 2]);
        for (e, (a, b)) in edges.iter().enumerate() {
            for v in [*a, *b] {
                at[next[v as usize]] = e as u32;
                next[v as usize] += 1;
            }
        }
        Ok(Self { edges, starts, at, cancel })
    }

    fn of_node(&self, v: u32) -> &[u32] {
        &self.at[self.starts[v as usize]..self.starts[v as usize + 1]]
    }

    fn out(&self, v: u32) -> impl Iterator<Item = u32> {
        let ends = self.of_node(v).iter().map(|e| self.edges[*e as usize]);
        ends.filter(move |(a, _)| *a == v).map(|(_, b)| b)
    }

    fn incoming(&self, v: u32) -> impl Iterator<Item = u32> {
        let ends = self.of_node(v).iter().map(|e| self.edges[*e as usize]);
        ends.filter(move |(_, b)| *b == v).map(|(a, _)| a)
    }

    fn num_nodes(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The nodes that no edge enters.
    pub(crate) fn without_parents(&self) -> Vec<u32> {
        (0..self.num_nodes()).filter(|v| self.incoming(*v).next().is_none()).collect()
    }

    /// The level of each node; a node that cannot be reached has none. From roots without incoming edges a node is one below
    /// the lowest of those before it, once all of these have a level. Around a root with incoming edges, nodes are found
    /// depth first, either way along the edges: one below those that lead to them, or that they lead to.
    pub(crate) fn levels(mut self, roots: &[u32]) -> Result<Vec<Option<i64>>, Cancelled> {
        self.turn_cycles(roots)?;
        let (open, inner): (Vec<u32>, Vec<u32>) =
            roots.iter().partition(|v| self.incoming(**v).next().is_none());
        let mut level = vec![None; self.starts.len() - 1];
        self.fall(open, &mut level)?;
        for root in inner {
            self.around(root, &mut level)?;
        }
        Ok(level)
    }

    /// Turns each edge round that leads back to a node on the way of a depth-first search, which begins at the roots.
    fn turn_cycles(&mut self, roots: &[u32]) -> Result<(), Cancelled> {
        let n = self.starts.len() - 1;
        let (mut seen, mut on_way) = (vec![false; n], vec![false; n]);
        let mut back = Vec::new();
        let mut steps = 0;
        for root in roots.iter().copied().chain(0..self.num_nodes()) {
            let mut way = vec![];
            if !std::mem::replace(&mut seen[root as usize], true) {
                on_way[root as usize] = true;
                way.push((root, 0));
            }
            while let Some((v, i)) = way.last_mut() {
                steps += 1;
                if steps % STEPS_PER_CHECK == 0 {
                    self.cancel.check()?;
                }
                let Some(e) = self.of_node(*v).get(*i).copied() else {
                    on_way[*v as usize] = false;
                    way.pop();
                    continue;
                };
                *i += 1;
                let (a, b) = self.edges[e as usize];
                if a != *v {
                    continue;
                }
                if on_way[b as usize] {
                    back.push(e);
                } else if !std::mem::replace(&mut seen[b as usize], true) {
                    on_way[b as usize] = true;
                    way.push((b, 0));
                }
            }
        }
        for e in back {
            let (a, b) = self.edges[e as usize];
            self.edges[e as usize] = (b, a);
        }
        Ok(())
    }

    /// Longest ways from nodes that no edge enters.
    fn fall(&self, roots: Vec<u32>, level: &mut [Option<i64>]) -> Result<(), Cancelled> {
        let mut waits: Vec<u32> = vec![0; level.len()];
        self.edges.iter().for_each(|(_, b)| waits[*b as usize] += 1);
        roots.iter().for_each(|v| level[*v as usize] = Some(0));
        let mut queue = roots;
        let mut done = 0;
        while done < queue.len() {
            if done % STEPS_PER_CHECK == 0 {
                self.cancel.check()?;
            }
            let v = queue[done];
            done += 1;
            let below = level[v as usize].map(|l| l + 1);
            for w in self.out(v) {
                waits[w as usize] -= 1;
                // Only a node that all others before it have been taken for is asked what it stands below.
                level[w as usize] = level[w as usize].max(below);
                if waits[w as usize] == 0 {
                    queue.push(w);
                }
            }
        }
        // What still waits is behind a node that cannot be reached.
        for (v, waits) in waits.iter().enumerate() {
            if *waits > 0 {
                level[v] = None;
            }
        }
        Ok(())
    }

    /// Levels around a root with edges to and from it.
    fn around(&self, root: u32, level: &mut [Option<i64>]) -> Result<(), Cancelled> {
        let mut seen = vec![false; level.len()];
        let mut stack = vec![(root, false)];
        let mut steps = 0;
        while let Some((v, upwards)) = stack.pop() {
            if std::mem::replace(&mut seen[v as usize], true) {
                continue;
            }
            steps += 1;
            if steps % STEPS_PER_CHECK == 0 {
                self.cancel.check()?;
            }
            if level[v as usize].is_none() {
                let at = |w: u32| level[w as usize];
                let near = match upwards {
                    true => self.out(v).filter_map(at).min(),
                    false => self.incoming(v).filter_map(at).max(),
                };
                level[v as usize] = Some(near.unwrap_or(-1) + 1);
            }
            // The last that is pushed comes first: what the node leads to, in the order of the edges, then what leads to it.
            let mut next: Vec<(u32, bool)> = self.out(v).map(|w| (w, false)).collect();
            next.extend(self.incoming(v).map(|w| (w, true)));
            next.retain(|(w, _)| !seen[*w as usize]);
            stack.extend(next.into_iter().rev());
        }
        Ok(())
    }
}
