//! Brandes' accumulation (2001) where every edge is one step, from several sources side by side.
//!
//! In graphs of few levels the searches from several sources look at the same arcs at about the same time (Then et al.
//! 2014), so that one look at an arc serves all of them: what each search knows of a node stands side by side. A level
//! has the nodes that any of the searches finds there. As in [`Steps`](super::brandes_steps::Steps) a level is found by
//! the frontier or by the nodes that are not reached yet, and the way back takes the shorter lists of two levels.

use std::ops::Range;

use graphlume_types::CancelToken;

use super::betweenness::Options;
use crate::AlgoError;
use crate::view::GraphView;

/// Searches that run side by side.
pub(super) const LANES: usize = 8;
const FAR: u32 = u32::MAX;
/// Arcs looked at between two looks at the cancel token.
const ARCS_PER_CHECK: u64 = 1 << 15;
/// What an arc costs that is followed from the frontier, over one by which a node looks for the frontier.
const PUSH_COST: u64 = 2;

/// The same on the way back, where each arc is added to.
const ARC_COST: u64 = 3;

type Numbers = [f64; LANES];
type Levels = [u32; LANES];
const NONE: Numbers = [0.0; LANES];

/// The working memory of the searches of one thread.
pub(super) struct Lanes<'a> {
    view: &'a GraphView<'a>,
    options: &'a Options<'a>,
    limit: u32,
    level: Vec<Levels>,
    /// Shortest paths from the sources.
    paths: Vec<Numbers>,
    /// What a sum over lists adds, of the searches that have the node on the level that is shown; else 0.
    shown: Vec<Numbers>,
    /// Reached nodes, level by level, and where each level begins. A node stands on as many levels as searches have it on.
    order: Vec<u32>,
    starts: Vec<usize>,
    /// The level on which each node was put last, and its place there.
    listed: Vec<(u32, u32)>,
    /// Nodes that not all searches have reached, once that is asked for.
    rest: Vec<u32>,
    /// What passes the nodes of a level, besides their paths.
    passes: Vec<Numbers>,
    /// The paths to the nodes of a level, of the searches that have them there.
    own_paths: Vec<Numbers>,
    /// Where arcs are summed up: see [`places_of_leaving`].
    leaves_at: Vec<u32>,
    looked: u64,
}

impl<'a> Lanes<'a> {
    pub(super) fn new(view: &'a GraphView<'a>, options: &'a Options<'a>) -> Self {
        let n = view.num_nodes() as usize;
        let limit = options.cutoff.map_or(FAR - 1, |c| if c < 0.0 { FAR - 1 } else { c as u32 });
        Self {
            view,
            options,
            limit,
            level: vec![[FAR; LANES]; n],
            paths: vec![NONE; n],
            shown: vec![NONE; n],
            order: Vec::with_capacity(n),
            starts: Vec::new(),
            listed: vec![(FAR, 0); n],
            rest: Vec::new(),
            passes: Vec::new(),
            own_paths: Vec::new(),
            leaves_at: if options.of_arcs { places_of_leaving(view) } else { Vec::new() },
            looked: 0,
        }
    }

    /// Adds what the shortest paths from each of `sources`, at most [`LANES`], give to `sum`.
    pub(super) fn add(
        &mut self,
        sources: &[u32],
        sum: &mut [f64],
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn wide(
                lanes: &mut Lanes<'_>,
                sources: &[u32],
                sum: &mut [f64],
                cancel: &CancelToken,
            ) -> Result<(), AlgoError> {
                lanes.add_all(sources, sum, cancel)
            }
            if std::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has just said that it has these instructions.
                return unsafe { wide(self, sources, sum, cancel) };
            }
        }
        self.add_all(sources, sum, cancel)
    }

    #[inline(always)]
    fn add_all(
        &mut self,
        sources: &[u32],
        sum: &mut [f64],
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        for v in self.order.drain(..) {
            self.level[v as usize] = [FAR; LANES];
            self.paths[v as usize] = NONE;
            self.listed[v as usize] = (FAR, 0);
        }
        self.forward(sources, cancel)?;
        self.back(sources, sum, cancel)
    }

    fn look(&mut self, arcs: u64, cancel: &CancelToken) -> Result<(), AlgoError> {
        self.looked += arcs + 1;
        if self.looked >= ARCS_PER_CHECK {
            self.looked = 0;
            cancel.check()?;
        }
        Ok(())
    }

    #[inline(always)]
    fn forward(&mut self, sources: &[u32], cancel: &CancelToken) -> Result<(), AlgoError> {
        let out = self.view.out();
        for (lane, source) in sources.iter().enumerate() {
            let v = *source as usize;
            if self.listed[v].0 != 0 {
                self.listed[v] = (0, self.order.len() as u32);
                self.order.push(*source);
            }
            (self.level[v][lane], self.paths[v][lane]) = (0, 1.0);
        }
        self.starts.clear();
        self.starts.extend([0, self.order.len()]);
        self.rest.clear();
        // Arcs that enter nodes that a search has not reached.
        let mut open = self.view.num_arcs() as u64;
        for next in 1.. {
            let first = self.starts[self.starts.len() - 2];
            if next > self.limit || first == self.order.len() {
                break;
            }
            let end = self.order.len();
            for at in first..end {
                let v = self.order[at] as usize;
                self.shown[v] = of_level(&self.level[v], next - 1, &self.paths[v]);
            }
            let arcs: u64 = self.order[first..].iter().map(|v| u64::from(out.degree(*v))).sum();
            if PUSH_COST * arcs <= open {
                self.push(first..end, next);
                self.look(arcs, cancel)?;
            } else {
                let looked = open;
                open = self.pull(end, next);
                self.look(looked, cancel)?;
            }
            for at in first..end {
                self.shown[self.order[at] as usize] = NONE;
            }
            self.starts.push(self.order.len());
        }
        // The last level is empty unless the limit ended the search.
        if self.starts[self.starts.len() - 2] == self.order.len() {
            self.starts.pop();
        }
        Ok(())
    }

    /// The frontier counts the paths to the nodes behind it.
    #[inline(always)]
    fn push(&mut self, frontier: Range<usize>, next: u32) {
        let out = self.view.out();
        let end = frontier.end;
        for at in frontier {
            let v = self.order[at];
            let shown = self.shown[v as usize];
            for u in out.neighbors(v) {
                let (level, paths) = (&mut self.level[*u as usize], &mut self.paths[*u as usize]);
                let mut found = false;
                for lane in 0..LANES {
                    // Reached on this level, or not yet.
                    let is_behind = level[lane] >= next && shown[lane] > 0.0;
                    paths[lane] += if is_behind { shown[lane] } else { 0.0 };
                    level[lane] = if is_behind { next } else { level[lane] };
                    found |= is_behind;
                }
                if found && self.listed[*u as usize].0 != next {
                    self.listed[*u as usize] = (next, (self.order.len() - end) as u32);
                    self.order.push(*u);
                }
            }
        }
    }

    /// The nodes that not all searches have reached count the paths to themselves. Gives the arcs that enter those that
    /// are left; `begin` is where the level begins.
    #[inline(always)]
    fn pull(&mut self, begin: usize, next: u32) -> u64 {
        let incoming = self.view.incoming();
        if self.rest.is_empty() {
            self.rest.extend(0..self.view.num_nodes());
        }
        let mut kept = 0;
        let mut open = 0;
        for at in 0..self.rest.len() {
            let u = self.rest[at];
            let level = &mut self.level[u as usize];
            if !level.contains(&FAR) {
                continue;
            }
            let found = total(incoming.neighbors(u), &self.shown);
            let paths = &mut self.paths[u as usize];
            let (mut is_found, mut is_open) = (false, false);
            for lane in 0..LANES {
                let is_new = level[lane] == FAR && found[lane] > 0.0;
                paths[lane] = if is_new { found[lane] } else { paths[lane] };
                level[lane] = if is_new { next } else { level[lane] };
                is_found |= is_new;
                is_open |= level[lane] == FAR;
            }
            if is_found {
                self.listed[u as usize] = (next, (self.order.len() - begin) as u32);
                self.order.push(u);
            }
            if is_open {
                self.rest[kept] = u;
                kept += 1;
                open += u64::from(incoming.degree(u));
            }
        }
        self.rest.truncate(kept);
        if kept == 0 {
            // An empty list would be filled again.
            self.rest.push(0);
        }
        open
    }

    /// Shares the paths out, the farthest level first.
    #[inline(always)]
    fn back(
        &mut self,
        sources: &[u32],
        sum: &mut [f64],
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        let of_arcs = self.options.of_arcs;
        let mut ends = NONE;
        for depth in (0..self.starts.len() - 1).rev() {
            let own = self.starts[depth]..self.starts[depth + 1];
            let behind = self.starts.get(depth + 2).map_or(own.end..own.end, |last| own.end..*last);
            let level = depth as u32;
            self.passes.clear();
            self.passes.resize(own.len(), NONE);
            let arcs = if behind.is_empty() {
                0
            } else if of_arcs {
                self.gather_arcs(own.clone(), behind.clone(), level, sum)
            } else {
                self.gather(own.clone(), behind.clone(), level)
            };
            self.look(arcs, cancel)?;
            for at in behind {
                self.shown[self.order[at] as usize] = NONE;
            }
            for (at, passes) in own.zip(&self.passes) {
                let v = self.order[at] as usize;
                let is_target = self.options.targets.is_none_or(|t| t[v]);
                let target = f64::from(u8::from(is_target));
                let ended = if self.options.endpoints { target } else { 0.0 };
                let (levels, paths) = (&self.level[v], &self.paths[v]);
                let mut added = 0.0;
                let shown = &mut self.shown[v];
                for lane in 0..LANES {
                    let is_own = levels[lane] == level;
                    let through = passes[lane] * paths[lane];
                    shown[lane] = if is_own { (target + through) / paths[lane] } else { 0.0 };
                    let is_inner = is_own && level > 0;
                    added += if is_inner { through + ended } else { 0.0 };
                    ends[lane] += if is_inner { target } else { 0.0 };
                }
                if !of_arcs {
                    sum[v] += added;
                }
            }
        }
        for (source, ends) in sources.iter().zip(ends) {
            self.shown[*source as usize] = NONE;
            if self.options.endpoints && !of_arcs {
                sum[*source as usize] += ends;
            }
        }
        Ok(())
    }

    /// Sums up, for the nodes of a level, what the level `behind` it shows; gives the arcs that were looked at.
    #[inline(always)]
    fn gather(&mut self, own: Range<usize>, behind: Range<usize>, level: u32) -> u64 {
        let (out, incoming) = (self.view.out(), self.view.incoming());
        let (arcs, entering) = self.arcs_of(&own, &behind);
        if arcs <= PUSH_COST * entering {
            for (v, passes) in self.order[own].iter().zip(&mut self.passes) {
                *passes = total(out.neighbors(*v), &self.shown);
            }
            return arcs;
        }
        // A node may have been put on a later level since.
        for (v, place) in self.order[own].iter().zip(0..) {
            self.listed[*v as usize] = (level, place);
        }
        for u in &self.order[behind] {
            let shown = &self.shown[*u as usize];
            for v in incoming.neighbors(*u) {
                let (on, place) = self.listed[*v as usize];
                if on == level {
                    let passes = &mut self.passes[place as usize];
                    (0..LANES).for_each(|lane| passes[lane] += shown[lane]);
                }
            }
        }
        entering
    }

    /// The same, which adds to each arc what passes it: arcs that lead elsewhere than to the next level add 0.
    #[inline(always)]
    fn gather_arcs(
        &mut self,
        own: Range<usize>,
        behind: Range<usize>,
        level: u32,
        sum: &mut [f64],
    ) -> u64 {
        let (out, incoming) = (self.view.out(), self.view.incoming());
        let (arcs, entering) = self.arcs_of(&own, &behind);
        if arcs <= ARC_COST * entering {
            for (v, passes) in self.order[own].iter().zip(&mut self.passes) {
                let paths = of_level(&self.level[*v as usize], level, &self.paths[*v as usize]);
                let range = out.range(*v);
                for (arc, u) in sum[range].iter_mut().zip(out.neighbors(*v)) {
                    *arc += pass(&self.shown[*u as usize], &paths, passes);
                }
            }
            return arcs;
        }
        self.own_paths.clear();
        for (v, place) in self.order[own].iter().zip(0..) {
            self.listed[*v as usize] = (level, place);
            let paths = of_level(&self.level[*v as usize], level, &self.paths[*v as usize]);
            self.own_paths.push(paths);
        }
        for u in &self.order[behind] {
            let shown = &self.shown[*u as usize];
            for at in incoming.range(*u) {
                let (on, place) = self.listed[incoming.all_neighbors()[at] as usize];
                if on == level {
                    let paths = &self.own_paths[place as usize];
                    let passes = &mut self.passes[place as usize];
                    sum[self.leaves_at[at] as usize] += pass(shown, paths, passes);
                }
            }
        }
        entering
    }

    /// The arcs that leave the nodes of a level, and those that enter the level behind it.
    #[inline(always)]
    fn arcs_of(&self, own: &Range<usize>, behind: &Range<usize>) -> (u64, u64) {
        let (out, incoming) = (self.view.out(), self.view.incoming());
        let leaving = self.order[own.clone()].iter().map(|v| u64::from(out.degree(*v)));
        let entering = self.order[behind.clone()].iter().map(|v| u64::from(incoming.degree(*v)));
        (leaving.sum(), entering.sum())
    }
}

/// Adds what a neighbour behind shows to what passes a node; gives what passes the arc between them.
#[inline(always)]
fn pass(shown: &Numbers, paths: &Numbers, passes: &mut Numbers) -> f64 {
    let mut through = NONE;
    for lane in 0..LANES {
        passes[lane] += shown[lane];
        through[lane] = shown[lane] * paths[lane];
    }
    folded(&through)
}

/// For each arc in the order of the lists of arcs that enter a node, its place among those that leave one.
fn places_of_leaving(view: &GraphView<'_>) -> Vec<u32> {
    let (out, incoming) = (view.out(), view.incoming());
    let mut cursor = incoming.offsets().to_vec();
    let mut places = vec![0; view.num_arcs()];
    for v in 0..view.num_nodes() {
        for at in out.range(v) {
            // Sources ascend, and so does each list of those that enter.
            let next = &mut cursor[out.all_neighbors()[at] as usize];
            places[*next as usize] = at as u32;
            *next += 1;
        }
    }
    places
}

/// The sum of all, halves first, which takes few steps.
#[inline(always)]
fn folded(numbers: &Numbers) -> f64 {
    let mut sums = *numbers;
    let mut width = LANES / 2;
    while width > 0 {
        (0..width).for_each(|lane| sums[lane] += sums[lane + width]);
        width /= 2;
    }
    sums[0]
}

/// The numbers of the searches that have a node on `level`; 0 for the others.
#[inline(always)]
fn of_level(levels: &Levels, level: u32, numbers: &Numbers) -> Numbers {
    let mut shown = NONE;
    for lane in 0..LANES {
        shown[lane] = if levels[lane] == level { numbers[lane] } else { 0.0 };
    }
    shown
}

/// The sum over a list.
#[inline(always)]
fn total(list: &[u32], values: &[Numbers]) -> Numbers {
    let mut sum = NONE;
    for u in list {
        let value = &values[*u as usize];
        (0..LANES).for_each(|lane| sum[lane] += value[lane]);
    }
    sum
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::brandes_steps::Steps;
    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    /// What both forms add up from all sources.
    fn both(view: &GraphView<'_>, options: &Options<'_>) -> [Vec<f64>; 2] {
        let cancel = CancelToken::new();
        let size = if options.of_arcs { view.num_arcs() } else { view.num_nodes() as usize };
        let sources: Vec<u32> = (0..view.num_nodes()).collect();
        let (mut lanes, mut steps) = (Lanes::new(view, options), Steps::new(view, options));
        let [mut a, mut b] = [vec![0.0; size], vec![0.0; size]];
        for sources in sources.chunks(LANES) {
            lanes.add(sources, &mut a, &cancel).unwrap();
            sources.iter().for_each(|s| steps.add(*s, &mut b, &cancel).unwrap());
        }
        [a, b]
    }

    #[test]
    fn several_sources_side_by_side_add_what_each_adds_alone() {
        let mut graphs = testkit::zoo();
        graphs.push(("wide", testkit::planted(1500, 3, 0.01, 0.001)));
        for (name, t) in graphs {
            let targets: Vec<bool> = (0..t.num_nodes()).map(|v| v % 3 != 1).collect();
            for directed in [false, true] {
                let shape = Shape { directed, copies: Copies::Keep, loops: Loops::Once };
                let view = GraphView::new(&t, None, shape).unwrap();
                for (of_arcs, endpoints, cutoff, targets) in [
                    (false, false, None, None),
                    (false, true, None, Some(&targets[..])),
                    (false, false, Some(2.0), None),
                    (true, false, None, None),
                    (true, false, Some(3.0), Some(&targets[..])),
                ] {
                    let options = Options { of_arcs, endpoints, cutoff, targets };
                    let [a, b] = both(&view, &options);
                    for (x, y) in a.iter().zip(&b) {
                        assert!((x - y).abs() <= 1e-9 * y.abs().max(1.0), "{name} {options:?}");
                    }
                }
            }
        }
    }
}
