//! Betweenness of nodes and edges (Freeman 1977; Girvan and Newman 2002) by Brandes' accumulation (2001, 2008): a search
//! from each source counts shortest paths, and the way back shares them out. Sources run in parallel.
//!
//! The sources are cut into chunks by their number alone, whose sums are added in order: any number of threads gives the
//! same bits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::brandes_lanes::{LANES, Lanes};
use super::brandes_steps::Steps;
use crate::AlgoError;
use crate::path::distances;
use crate::view::GraphView;

/// Chunks of sources that there are at least before chunks become larger, and how large they become.
const CHUNKS_MIN: usize = 128;
const CHUNK_LANES_MAX: usize = 8;
/// Bytes that the sums of chunks may take while they wait to be added.
const WAVE_BYTES: usize = 256 << 20;
/// Nodes and arcs looked at between two looks at the cancel token.
const STEPS_PER_CHECK: usize = 1 << 16;
/// Lengths that differ by less than this share are equal.
const EQUAL: f64 = 1e-10;
/// Levels of a search up to which several go side by side.
const LEVELS_MAX: f64 = 24.0;
const FAR: u32 = u32::MAX;

/// What is summed up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Sum up for the arcs of [`GraphView::out`] instead of the nodes.
    pub of_arcs: bool,
    /// Count the ends of a path too. For nodes only.
    pub endpoints: bool,
    /// Longest path that counts, in steps or by weights.
    pub cutoff: Option<f64>,
    /// Nodes at which paths end; `None` is all.
    pub targets: Option<&'a [bool]>,
}

/// For each node, or each arc, the sum over `sources` of the share of shortest paths from the source that pass it. By
/// weights above 0 in a weighted view.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(
    view: &GraphView<'_>,
    sources: &[u32],
    options: &Options<'_>,
    cancel: &CancelToken,
) -> Result<Vec<f64>, AlgoError> {
    cancel.check()?;
    let size = if options.of_arcs { view.num_arcs() } else { view.num_nodes() as usize };
    let mut total = vec![0.0; size];
    let kind = Kind::of(view, sources, cancel)?;
    let sorted;
    let sources = match kind {
        Kind::Lanes => {
            sorted = side_by_side(view, sources);
            &sorted
        }
        _ => sources,
    };
    let lanes = (sources.len() / (CHUNKS_MIN * LANES)).clamp(1, CHUNK_LANES_MAX);
    let chunks: Vec<&[u32]> = sources.chunks(lanes * LANES).collect();
    // How many chunks wait does not change in which order they are added.
    let wave = (WAVE_BYTES / (8 * size.max(1))).clamp(1, 4 * rayon::current_num_threads());
    for wave in chunks.chunks(wave) {
        let sums: Vec<Vec<f64>> = wave
            .par_iter()
            .map_init(
                || match kind {
                    Kind::Weights => Walk::Weights(Search::new(view, options)),
                    Kind::Steps => Walk::Steps(Steps::new(view, options)),
                    Kind::Lanes => Walk::Lanes(Lanes::new(view, options)),
                },
                |walk, sources| {
                    let mut sum = vec![0.0; size];
                    for sources in sources.chunks(LANES) {
                        match walk {
                            Walk::Lanes(lanes) => lanes.add(sources, &mut sum, cancel)?,
                            Walk::Weights(search) => {
                                for source in sources {
                                    search.add(*source, &mut sum, cancel)?;
                                }
                            }
                            Walk::Steps(steps) => {
                                for source in sources {
                                    steps.add(*source, &mut sum, cancel)?;
                                }
                            }
                        }
                    }
                    Ok(sum)
                },
            )
            .collect::<Result<_, AlgoError>>()?;
        for sum in sums {
            total.par_iter_mut().with_min_len(1 << 14).zip(&sum).for_each(|(t, s)| *t += s);
        }
    }
    Ok(total)
}

/// The sources in an order in which those come together that have a neighbour in common: their searches have most nodes
/// on the same levels.
fn side_by_side(view: &GraphView<'_>, sources: &[u32]) -> Vec<u32> {
    let out = view.out();
    let hub = |v: &u32| {
        let near = out.neighbors(*v).iter().copied().chain([*v]);
        near.max_by_key(|u| (out.degree(*u), *u)).unwrap_or(*v)
    };
    let mut sorted = sources.to_vec();
    sorted.sort_by_cached_key(|v| (hub(v), out.degree(*v), *v));
    sorted
}

/// How searches go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// By weights.
    Weights,
    /// Step by step, one after the other: where levels are many, and have few nodes.
    Steps,
    /// Step by step, several side by side.
    Lanes,
}

impl Kind {
    fn of(view: &GraphView<'_>, sources: &[u32], cancel: &CancelToken) -> Result<Self, AlgoError> {
        if view.is_weighted() {
            return Ok(Self::Weights);
        }
        let Some(source) = sources.iter().max_by_key(|v| (view.out().degree(**v), **v)) else {
            return Ok(Self::Steps);
        };
        let lengths = distances::lengths(view, *source, f64::INFINITY, cancel)?;
        let levels = lengths.into_iter().filter(|d| d.is_finite()).fold(0.0, f64::max);
        Ok(if levels <= LEVELS_MAX { Self::Lanes } else { Self::Steps })
    }
}

/// The searches of one thread.
enum Walk<'a> {
    Weights(Search<'a>),
    Steps(Steps<'a>),
    Lanes(Lanes<'a>),
}

/// The working memory of the searches of one thread, where edges have weights.
struct Search<'a> {
    view: &'a GraphView<'a>,
    options: &'a Options<'a>,
    level: Vec<u32>,
    length: Vec<f64>,
    /// Shortest paths from the source.
    paths: Vec<f64>,
    /// What passes a node, and the same with its own end over its number of paths.
    passes: Vec<f64>,
    share: Vec<f64>,
    /// Reached nodes, the nearest first.
    order: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    steps: usize,
}

impl<'a> Search<'a> {
    fn new(view: &'a GraphView<'a>, options: &'a Options<'a>) -> Self {
        let n = view.num_nodes() as usize;
        Self {
            view,
            options,
            level: vec![FAR; n],
            length: vec![f64::INFINITY; n],
            paths: vec![0.0; n],
            passes: vec![0.0; n],
            share: vec![0.0; n],
            order: Vec::with_capacity(n),
            heap: BinaryHeap::new(),
            steps: 0,
        }
    }

    fn add(&mut self, source: u32, sum: &mut [f64], cancel: &CancelToken) -> Result<(), AlgoError> {
        for v in self.order.drain(..) {
            self.level[v as usize] = FAR;
            self.length[v as usize] = f64::INFINITY;
        }
        self.by_weights(source, cancel)?;
        self.back(source, sum, cancel)
    }

    /// A look at the cancel token now and then.
    fn step(&mut self, by: usize, cancel: &CancelToken) -> Result<(), AlgoError> {
        self.steps += by + 1;
        if self.steps >= STEPS_PER_CHECK {
            self.steps = 0;
            cancel.check()?;
        }
        Ok(())
    }

    fn by_weights(&mut self, source: u32, cancel: &CancelToken) -> Result<(), AlgoError> {
        let out = self.view.out();
        (self.length[source as usize], self.paths[source as usize]) = (0.0, 1.0);
        self.heap.push(Reverse((0, source)));
        let limit = self.options.cutoff.filter(|c| *c >= 0.0).unwrap_or(f64::INFINITY);
        while let Some(Reverse((bits, v))) = self.heap.pop() {
            let length = self.length[v as usize];
            // Settled already, or overtaken by a shorter way.
            if self.level[v as usize] != FAR || f64::from_bits(bits) > length * (1.0 + EQUAL) {
                continue;
            }
            self.level[v as usize] = 0;
            self.order.push(v);
            self.step(out.degree(v) as usize, cancel)?;
            let paths = self.paths[v as usize];
            for (u, w) in out.weighted(v).filter(|(u, _)| *u != v) {
                let next = length + w;
                let known = self.length[u as usize];
                if next > limit {
                    continue;
                }
                if is_equal(next, known) {
                    self.paths[u as usize] += paths;
                } else if next < known {
                    self.length[u as usize] = next;
                    self.paths[u as usize] = paths;
                    self.heap.push(Reverse((next.to_bits(), u)));
                }
            }
        }
        // Nodes that were seen and not settled lie beyond the limit: there are none, for all within it are settled.
        Ok(())
    }

    /// Shares the paths out, the farthest nodes first.
    fn back(
        &mut self,
        source: u32,
        sum: &mut [f64],
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        let out = self.view.out();
        let is_target = |v: u32| self.options.targets.is_none_or(|t| t[v as usize]);
        let of_arcs = self.options.of_arcs;
        let mut ends = 0.0;
        for place in (0..self.order.len()).rev() {
            let v = self.order[place];
            let range = out.range(v);
            let mut passes = 0.0;
            for at in range.clone() {
                let u = out.all_neighbors()[at];
                let next = self.length[v as usize] + out.weight(at);
                if is_equal(next, self.length[u as usize]) {
                    let share = self.share[u as usize];
                    passes += share;
                    if of_arcs {
                        sum[at] += share * self.paths[v as usize];
                    }
                }
            }
            let passes = passes * self.paths[v as usize];
            self.passes[v as usize] = passes;
            let own = f64::from(u8::from(is_target(v)));
            self.share[v as usize] = (own + passes) / self.paths[v as usize];
            if !of_arcs && v != source {
                sum[v as usize] += passes + if self.options.endpoints { own } else { 0.0 };
                ends += own;
            }
            self.steps += range.len() + 1;
            if self.steps >= STEPS_PER_CHECK {
                self.steps = 0;
                cancel.check()?;
            }
        }
        if self.options.endpoints && !of_arcs {
            sum[source as usize] += ends;
        }
        Ok(())
    }
}

fn is_equal(a: f64, b: f64) -> bool {
    // An infinite length is equal to no other.
    (a - b).abs() <= EQUAL * a.abs().min(b.abs())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    const SHAPE: Shape = Shape { directed: false, copies: Copies::Least, loops: Loops::Once };

    fn all(view: &GraphView<'_>, options: &Options<'_>) -> Vec<f64> {
        let sources: Vec<u32> = (0..view.num_nodes()).collect();
        run(view, &sources, options, &CancelToken::new()).unwrap()
    }

    #[test]
    fn on_a_path_a_node_is_passed_by_the_pairs_around_it() {
        let t = testkit::path(5);
        let view = GraphView::new(&t, None, SHAPE).unwrap();
        assert_eq!(all(&view, &Options::default()), [0.0, 6.0, 8.0, 6.0, 0.0]);
        let cut = Options { cutoff: Some(2.0), ..Options::default() };
        assert_eq!(all(&view, &cut), [0.0, 2.0, 2.0, 2.0, 0.0]);
        let arcs = all(&view, &Options { of_arcs: true, ..Options::default() });
        assert_eq!(arcs[0], 4.0, "from the first node lead the paths to the four others");
    }

    #[test]
    fn equal_weights_and_none_give_the_same_at_any_number_of_threads() {
        for (name, t) in testkit::zoo() {
            let ones = vec![0.3; t.num_edges() as usize];
            let (plain, weighted) = (
                GraphView::new(&t, None, SHAPE).unwrap(),
                GraphView::new(&t, Some(&ones), SHAPE).unwrap(),
            );
            for of_arcs in [false, true] {
                let options = Options { of_arcs, ..Options::default() };
                let [a, b, c] = testkit::at_1_2_3_threads(|| all(&plain, &options));
                assert!(a == b && a == c, "{name}");
                let close = |(x, y): (&f64, &f64)| (x - y).abs() < 1e-6;
                assert!(a.iter().zip(&all(&weighted, &options)).all(close), "{name}");
            }
        }
    }
}
