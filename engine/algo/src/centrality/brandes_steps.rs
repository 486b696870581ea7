//! Brandes' accumulation (2001) where every edge is one step: level by level, from whichever side has fewer arcs.
//!
//! A level is found by its frontier, which pushes the numbers of paths along its arcs, or by the nodes that are not
//! reached yet, which sum them up (after Beamer, Asanovic and Patterson 2012; counting needs all arcs, so that the
//! cheaper side is known beforehand). The way back chooses likewise between the arcs of a level and those that enter the
//! level behind it. Sums over lists add what stands in one array, which is 0 for all nodes but those of the level.

use graphlume_types::CancelToken;

use super::betweenness::Options;
use crate::AlgoError;
use crate::view::GraphView;

const FAR: u32 = u32::MAX;
/// Arcs looked at between two looks at the cancel token.
const ARCS_PER_CHECK: u64 = 1 << 16;

/// The working memory of the searches of one thread.
pub(super) struct Steps<'a> {
    view: &'a GraphView<'a>,
    options: &'a Options<'a>,
    limit: u32,
    level: Vec<u32>,
    /// Shortest paths from the source.
    paths: Vec<f64>,
    /// What a sum over lists adds: the paths to the nodes of a level, or what passes them over their paths; else 0.
    shown: Vec<f64>,
    /// What passes a node.
    passes: Vec<f64>,
    /// Reached nodes, level by level, and where each level begins.
    order: Vec<u32>,
    starts: Vec<usize>,
    /// Nodes among which those are that no level has yet.
    rest: Vec<u32>,
    looked: u64,
}

impl<'a> Steps<'a> {
    pub(super) fn new(view: &'a GraphView<'a>, options: &'a Options<'a>) -> Self {
        let n = view.num_nodes() as usize;
        let limit = options.cutoff.map_or(FAR - 1, |c| if c < 0.0 { FAR - 1 } else { c as u32 });
        Self {
            view,
            options,
            limit,
            level: vec![FAR; n],
            paths: vec![0.0; n],
            shown: vec![0.0; n],
            passes: vec![0.0; n],
            order: Vec::with_capacity(n),
            starts: Vec::new(),
            rest: Vec::with_capacity(n),
            looked: 0,
        }
    }

    /// Adds what the shortest paths from `source` give to `sum`.
    pub(super) fn add(
        &mut self,
        source: u32,
        sum: &mut [f64],
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        for v in self.order.drain(..) {
            self.level[v as usize] = FAR;
        }
        self.forward(source, cancel)?;
        self.back(source, sum, cancel)
    }

    fn look(&mut self, arcs: u64, cancel: &CancelToken) -> Result<(), AlgoError> {
        self.looked += arcs + 1;
        if self.looked >= ARCS_PER_CHECK {
            self.looked = 0;
            cancel.check()?;
        }
        Ok(())
    }

    fn forward(&mut self, source: u32, cancel: &CancelToken) -> Result<(), AlgoError> {
        let (out, incoming) = (self.view.out(), self.view.incoming());
        (self.level[source as usize], self.paths[source as usize]) = (0, 1.0);
        self.order.push(source);
        self.starts.clear();
        self.starts.extend([0, 1]);
        self.rest.clear();
        // Arcs that enter nodes without a level.
        let mut open = self.view.num_arcs() as u64 - u64::from(incoming.degree(source));
        for next in 1.. {
            let first = self.starts[self.starts.len() - 2];
            if next > self.limit || first == self.order.len() {
                break;
            }
            let arcs: u64 = self.order[first..].iter().map(|v| u64::from(out.degree(*v))).sum();
            self.look(arcs.min(open), cancel)?;
            if arcs <= open {
                self.push(first, next);
            } else {
                self.pull(first, next);
            }
            let begun = self.starts[self.starts.len() - 1];
            let fresh = self.order[begun..].iter();
            open -= fresh.map(|v| u64::from(incoming.degree(*v))).sum::<u64>();
            self.starts.push(self.order.len());
        }
        // The last level is empty unless the limit ended the search.
        if self.starts[self.starts.len() - 2] == self.order.len() {
            self.starts.pop();
        }
        Ok(())
    }

    /// The frontier, which begins at `first`, counts the paths to the nodes behind it.
    fn push(&mut self, first: usize, next: u32) {
        let out = self.view.out();
        for at in first..self.order.len() {
            let v = self.order[at];
            let paths = self.paths[v as usize];
            for u in out.neighbors(v) {
                let level = &mut self.level[*u as usize];
                if *level == FAR {
                    *level = next;
                    self.paths[*u as usize] = paths;
                    self.order.push(*u);
                } else if *level == next {
                    self.paths[*u as usize] += paths;
                }
            }
        }
    }

    /// The nodes without a level count the paths to themselves.
    fn pull(&mut self, first: usize, next: u32) {
        let incoming = self.view.incoming();
        if self.rest.is_empty() {
            self.rest.extend(0..self.view.num_nodes());
        }
        let end = self.order.len();
        for at in first..end {
            let v = self.order[at] as usize;
            self.shown[v] = self.paths[v];
        }
        let (level, paths, shown, order) =
            (&mut self.level, &mut self.paths, &self.shown, &mut self.order);
        self.rest.retain(|u| {
            if level[*u as usize] != FAR {
                return false;
            }
            let found = total(incoming.neighbors(*u), shown);
            if found > 0.0 {
                level[*u as usize] = next;
                paths[*u as usize] = found;
                order.push(*u);
            }
            found == 0.0
        });
        for at in first..end {
            self.shown[self.order[at] as usize] = 0.0;
        }
    }

    /// Shares the paths out, the farthest level first.
    fn back(
        &mut self,
        source: u32,
        sum: &mut [f64],
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        let of_arcs = self.options.of_arcs;
        let mut ends = 0.0;
        for depth in (0..self.starts.len() - 1).rev() {
            let (first, end) = (self.starts[depth], self.starts[depth + 1]);
            let behind = self.starts.get(depth + 2).map_or(end..end, |last| end..*last);
            let arcs = self.gather(first, end, behind.clone(), of_arcs);
            self.look(arcs, cancel)?;
            if of_arcs {
                self.add_arcs(first, end, sum);
            }
            for at in behind {
                self.shown[self.order[at] as usize] = 0.0;
            }
            for at in first..end {
                let v = self.order[at] as usize;
                let passes = self.passes[v] * self.paths[v];
                let is_target = self.options.targets.is_none_or(|t| t[v]);
                let own = f64::from(u8::from(is_target));
                self.shown[v] = (own + passes) / self.paths[v];
                if !of_arcs && v != source as usize {
                    sum[v] += passes + if self.options.endpoints { own } else { 0.0 };
                    ends += own;
                }
            }
        }
        self.shown[source as usize] = 0.0;
        if self.options.endpoints && !of_arcs {
            sum[source as usize] += ends;
        }
        Ok(())
    }

    /// Sums up, for the nodes of a level, what the level `behind` it shows; gives the arcs that were looked at.
    fn gather(
        &mut self,
        first: usize,
        end: usize,
        behind: std::ops::Range<usize>,
        of_arcs: bool,
    ) -> u64 {
        let (out, incoming) = (self.view.out(), self.view.incoming());
        let own = &self.order[first..end];
        let arcs: u64 = own.iter().map(|v| u64::from(out.degree(*v))).sum();
        let entering = self.order[behind.clone()].iter();
        let entering: u64 = entering.map(|v| u64::from(incoming.degree(*v))).sum();
        if of_arcs || arcs <= entering {
            for v in own {
                self.passes[*v as usize] = total(out.neighbors(*v), &self.shown);
            }
            return arcs;
        }
        own.iter().for_each(|v| self.passes[*v as usize] = 0.0);
        let depth = self.level[self.order[first] as usize];
        for u in &self.order[behind] {
            let share = self.shown[*u as usize];
            for v in incoming.neighbors(*u) {
                if self.level[*v as usize] == depth {
                    self.passes[*v as usize] += share;
                }
            }
        }
        entering
    }

    /// What passes each arc of the nodes of a level: arcs that lead elsewhere than to the next level add 0.
    fn add_arcs(&self, first: usize, end: usize, sum: &mut [f64]) {
        let out = self.view.out();
        for v in &self.order[first..end] {
            let paths = self.paths[*v as usize];
            let arcs = &mut sum[out.range(*v)];
            for (arc, u) in arcs.iter_mut().zip(out.neighbors(*v)) {
                *arc += self.shown[*u as usize] * paths;
            }
        }
    }
}

/// The sum over a list.
fn total(list: &[u32], values: &[f64]) -> f64 {
    list.iter().map(|u| values[*u as usize]).sum()
}
