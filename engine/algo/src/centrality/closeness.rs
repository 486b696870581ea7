//! Closeness (Bavelas 1950), harmonic centrality (Rochat 2009) and eccentricity. Without weights 256 searches share one
//! pass over the edges (Then et al. 2014); with weights each node is searched from by Dijkstra's method.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::input::Sign;
use crate::path::distances;
use crate::spec::{
    AlgorithmSpec, Cost, DIRECTED, Dtype, MODE, ParamSpec, VERTICES, WEIGHTS, igraph, output, param,
};
use crate::view::{GraphView, Lists};
use crate::{AlgoError, Input, Output, ParamValues, Values};

/// Words of one set of searches.
const WORDS: usize = 4;
/// Searches of one pass.
const SEARCHES: usize = 64 * WORDS;
/// Nodes taken between two looks at the cancel token.
const NODES_PER_CHECK: usize = 1 << 12;

type Set = [u64; WORDS];
const NONE: Set = [0; WORDS];

/// What the distances from one node come to, itself left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Nodes reached.
    pub reached: u64,
    /// Sum of the distances.
    pub total: f64,
    /// Sum of 1 over the distances.
    pub inverse: f64,
    /// The largest distance.
    pub farthest: f64,
}

impl Sums {
    fn add(&mut self, many: u64, distance: f64) {
        self.reached += many;
        self.total += many as f64 * distance;
        self.inverse += many as f64 / distance;
        self.farthest = distance;
    }
}

/// The sums of every node in `nodes`, along the arcs of `lists` and no farther than `cutoff`.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn by_steps(
    lists: &Lists<'_>,
    nodes: &[u32],
    cutoff: Option<f64>,
    cancel: &CancelToken,
) -> Result<Vec<Sums>, AlgoError> {
    cancel.check()?;
    let n = lists.offsets().len() - 1;
    let limit = cutoff.filter(|c| *c >= 0.0).map_or(u32::MAX, |c| c as u32);
    let parts = nodes.par_chunks(SEARCHES).map_init(
        || Pass { seen: vec![NONE; n], now: vec![NONE; n], next: vec![NONE; n], open: Vec::new() },
        |pass, sources| pass.run(lists, sources, limit, cancel),
    );
    Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The sets of searches by node: those that have been there, are there, and will be there next.
struct Pass {
    seen: Vec<Set>,
    now: Vec<Set>,
    next: Vec<Set>,
    open: Vec<u32>,
}

impl Pass {
    fn run(
        &mut self,
        lists: &Lists<'_>,
        sources: &[u32],
        limit: u32,
        cancel: &CancelToken,
    ) -> Result<Vec<Sums>, AlgoError> {
        self.seen.fill(NONE);
        let mut sums = vec![Sums::default(); sources.len()];
        self.open.clear();
        for (search, v) in sources.iter().enumerate() {
            if self.now[*v as usize] == NONE {
                self.open.push(*v);
            }
            self.now[*v as usize][search / 64] |= 1 << (search % 64);
            self.seen[*v as usize][search / 64] |= 1 << (search % 64);
        }
        let mut level = 0u32;
        let mut met = Vec::new();
        while !self.open.is_empty() && level < limit {
            level += 1;
            for (i, v) in self.open.iter().enumerate() {
                if i % NODES_PER_CHECK == 0 {
                    cancel.check()?;
                }
                let own = std::mem::replace(&mut self.now[*v as usize], NONE);
                for u in lists.neighbors(*v) {
                    let to = &mut self.next[*u as usize];
                    if *to == NONE {
                        met.push(*u);
                    }
                    (0..WORDS).for_each(|w| to[w] |= own[w]);
                }
            }
            self.open.clear();
            let mut count = Counter::default();
            for u in met.drain(..) {
                let (to, seen) = (&mut self.next[u as usize], &mut self.seen[u as usize]);
                let mut new = NONE;
                for w in 0..WORDS {
                    new[w] = to[w] & !seen[w];
                    seen[w] |= new[w];
                }
                *to = NONE;
                if new != NONE {
                    self.now[u as usize] = new;
                    count.add(&new);
                    self.open.push(u);
                }
            }
            for (search, sum) in sums.iter_mut().enumerate() {
                let many = count.of(search);
                if many > 0 {
                    sum.add(many, f64::from(level));
                }
            }
        }
        self.open.iter().for_each(|v| self.now[*v as usize] = NONE);
        Ok(sums)
    }
}

/// Counts for each search in how many sets it is: binary numbers whose digits lie in words of their own.
#[derive(Default)]
struct Counter {
    digits: Vec<Set>,
}

impl Counter {
    fn add(&mut self, set: &Set) {
        let mut carry = *set;
        for digit in &mut self.digits {
            for w in 0..WORDS {
                let both = digit[w] & carry[w];
                digit[w] ^= carry[w];
                carry[w] = both;
            }
            if carry == NONE {
                return;
            }
        }
        if carry != NONE {
            self.digits.push(carry);
        }
    }

    fn of(&self, search: usize) -> u64 {
        let digit = |(place, set): (usize, &Set)| (set[search / 64] >> (search % 64) & 1) << place;
        self.digits.iter().enumerate().map(digit).sum()
    }
}

/// The sums of every node in `nodes` by weights, along the outgoing arcs of a view.
fn by_weights(
    view: &GraphView<'_>,
    nodes: &[u32],
    cutoff: Option<f64>,
    cancel: &CancelToken,
) -> Result<Vec<Sums>, AlgoError> {
    let cutoff = cutoff.filter(|c| *c >= 0.0).unwrap_or(f64::INFINITY);
    let of_node = |v: &u32| {
        let found = distances::lengths(view, *v, cutoff, cancel)?;
        let mut sums = Sums::default();
        for (u, d) in found.iter().enumerate() {
            if u != *v as usize && *d < f64::INFINITY {
                sums.reached += 1;
                sums.total += d;
                sums.inverse += 1.0 / d;
                sums.farthest = sums.farthest.max(*d);
            }
        }
        Ok(sums)
    };
    nodes.par_iter().map(of_node).collect()
}

/// The sums of the nodes that get a value, by the parameters of a request.
fn sums(input: &Input<'_>, p: &ParamValues) -> Result<(Vec<u32>, Vec<Sums>), AlgoError> {
    let weights = input.weights(p, Sign::Positive)?;
    let mode = p.text("mode");
    let directed = p.bool("directed") && mode.as_deref() != Some("all");
    let nodes = input.nodes(p, "vertices")?.unwrap_or_else(|| (0..input.num_nodes()).collect());
    let view = input.view(directed, weights.as_deref())?;
    let back = mode.as_deref() == Some("in");
    let found = if view.is_weighted() {
        let view = if back { view.reversed() } else { view };
        by_weights(&view, &nodes, p.float("cutoff"), input.cancel)?
    } else {
        let lists = if back { view.incoming() } else { view.out() };
        by_steps(lists, &nodes, p.float("cutoff"), input.cancel)?
    };
    Ok((nodes, found))
}

/// The values of the nodes that were asked for, and none of the others.
fn spread(
    input: &Input<'_>,
    name: &'static str,
    nodes: &[u32],
    values: impl Iterator<Item = Option<f64>>,
) -> Output {
    let mut all = vec![None; input.num_nodes() as usize];
    for (v, value) in nodes.iter().zip(values) {
        all[*v as usize] = value;
    }
    Output::one(name, Values::F64OrNull(all))
}

const CUTOFF: ParamSpec = param(
    "cutoff",
    Dtype::Float,
    "null",
    Some((-1.0, 1e300)),
    "longest distance that counts; null is any",
);

/// igraph's `closeness`.
pub static CLOSENESS: AlgorithmSpec = AlgorithmSpec {
    id: "closeness",
    names: &[igraph("closeness")],
    params: &[
        VERTICES,
        MODE,
        CUTOFF,
        WEIGHTS,
        param("normalized", Dtype::Bool, "true", None, "times the number of nodes reached"),
        DIRECTED,
    ],
    outputs: &[output(
        "closeness",
        Dtype::Float,
        "nodes reached over the sum of their distances; null where none is reached",
    )],
    doc: "Closeness within what a node reaches.",
    paper: "Bavelas 1950; Then et al. 2014",
    cost: Cost::Searches,
    run: |input, p| {
        let (nodes, found) = sums(input, p)?;
        let normalized = p.bool("normalized");
        let value = |s: &Sums| {
            let many = if normalized { s.reached as f64 } else { 1.0 };
            (s.reached > 0).then(|| many / s.total)
        };
        Ok(spread(input, "closeness", &nodes, found.iter().map(value)))
    },
    ..AlgorithmSpec::BASE
};

/// igraph's `harmonic_centrality`.
pub static HARMONIC: AlgorithmSpec = AlgorithmSpec {
    id: "harmonic_centrality",
    names: &[igraph("harmonic_centrality")],
    params: &[
        VERTICES,
        MODE,
        CUTOFF,
        WEIGHTS,
        param("normalized", Dtype::Bool, "true", None, "divide by the number of other nodes"),
        DIRECTED,
    ],
    outputs: &[output(
        "harmonic_centrality",
        Dtype::Float,
        "mean of 1 over the distance to the others; 0 for one that is not reached",
    )],
    doc: "Harmonic centrality.",
    paper: "Rochat 2009; Then et al. 2014",
    cost: Cost::Searches,
    run: |input, p| {
        let (nodes, found) = sums(input, p)?;
        let others = f64::from(input.num_nodes()) - 1.0;
        let by = if p.bool("normalized") && others > 0.0 { others } else { 1.0 };
        let value = |s: &Sums| Some(s.inverse / by);
        Ok(spread(input, "harmonic_centrality", &nodes, found.iter().map(value)))
    },
    ..AlgorithmSpec::BASE
};

/// igraph's `eccentricity`.
pub static ECCENTRICITY: AlgorithmSpec = AlgorithmSpec {
    id: "eccentricity",
    names: &[igraph("eccentricity")],
    params: &[
        VERTICES,
        param(
            "mode",
            Dtype::Choice(&["all", "in", "out"]),
            "\"out\"",
            None,
            "which edges are followed: out, in, or all for either way",
        ),
        WEIGHTS,
        DIRECTED,
    ],
    outputs: &[output(
        "eccentricity",
        Dtype::Float,
        "the largest distance to a node that is reached",
    )],
    doc: "Eccentricity.",
    paper: "Harary 1969; Then et al. 2014",
    cost: Cost::Searches,
    run: |input, p| {
        let (nodes, found) = sums(input, p)?;
        Ok(spread(input, "eccentricity", &nodes, found.iter().map(|s| Some(s.farthest))))
    },
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::path::bfs;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    #[test]
    fn shared_passes_agree_with_single_searches() {
        let cancel = CancelToken::new();
        for (name, t) in testkit::zoo() {
            for directed in [true, false] {
                let shape = Shape { directed, copies: Copies::Keep, loops: Loops::Once };
                let view = GraphView::new(&t, None, shape).unwrap();
                let nodes: Vec<u32> = (0..t.num_nodes()).collect();
                let [found, two, three] = testkit::at_1_2_3_threads(|| {
                    by_steps(view.out(), &nodes, None, &cancel).unwrap()
                });
                assert!(found == two && found == three, "{name}");
                for v in nodes {
                    let levels = bfs::run(&t, v, directed, None, &cancel).unwrap().distance;
                    let others = levels.iter().filter(|d| **d != bfs::UNREACHED && **d > 0);
                    let total: u64 = others.clone().map(|d| u64::from(*d)).sum();
                    let sums = found[v as usize];
                    assert_eq!((sums.reached, sums.total), (others.count() as u64, total as f64));
                    let far = levels.iter().filter(|d| **d != bfs::UNREACHED).max();
                    assert_eq!(sums.farthest, far.map_or(0.0, |d| f64::from(*d)), "{name} {v}");
                }
            }
        }
    }
}
