//! The Louvain method (Blondel, Guillaume, Lambiotte and Lefebvre 2008, arXiv 0803.0476).
//!
//! Nodes are visited in batches. Within a batch all nodes decide at once, by what was true before it, and
//! then move one after the other; small graphs have batches of one. The batches depend on the graph alone
//! and weights are whole numbers, so the result is the same at any number of threads.

use std::sync::Mutex;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use rayon::prelude::*;

use crate::AlgoError;
use crate::net::{Net, Tally, renumber};

/// Nodes up to which every batch is a single node.
const SEQUENTIAL_NODES_MAX: usize = 8_192;
/// Batches of one round over a larger graph.
const BATCHES: usize = 64;
/// Rounds of one level at most.
const ROUNDS_MAX: usize = 24;
/// Levels at most.
const LEVELS_MAX: usize = 32;
/// Gain of modularity in a round of the first level below which the next level begins; a tenth of it on
/// each further level.
const GAIN_MIN: f64 = 2e-3;

/// Communities of the undirected graph that `topology` spells, by node index, numbered by first appearance.
///
/// `weights` are by edge table row: one that is not a number counts as 1, a negative one as 0. `seed`
/// chooses the order in which nodes are visited, `resolution` above 1 gives smaller communities.
///
/// # Errors
/// [`AlgoError::Cancelled`], and [`AlgoError::BadParam`] for a resolution that is not positive.
pub fn run(
    topology: &Topology,
    weights: Option<&[f32]>,
    seed: u64,
    resolution: f64,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    if !(resolution > 0.0 && resolution.is_finite()) {
        return Err(AlgoError::BadParam {
            algorithm: "louvain",
            name: "resolution".to_owned(),
            value: resolution.to_string(),
            expected: "a number above 0".to_owned(),
        });
    }
    let mut net = Net::new(topology, weights);
    let mut labels: Vec<u32> = (0..topology.num_nodes()).collect();
    let small = net.num_nodes() <= SEQUENTIAL_NODES_MAX;
    let mut gain_min = if small { 1e-7 } else { GAIN_MIN };
    for level in 0..LEVELS_MAX {
        let mut moving = Moving::new(&net, resolution, (0..net.num_nodes() as u32).collect());
        moving.run(seed.wrapping_add(level as u64), gain_min, cancel)?;
        let mut groups = moving.labels;
        let k = renumber(&mut groups, net.num_nodes());
        for l in &mut labels {
            *l = groups[*l as usize];
        }
        if k == net.num_nodes() {
            break;
        }
        net = net.contract(&groups, k);
        gain_min /= 10.0;
    }
    if small {
        // Time does not matter here, so single nodes may correct what whole groups decided.
        let whole = Net::new(topology, weights);
        let mut moving = Moving::new(&whole, resolution, labels);
        moving.run(seed, 1e-7, cancel)?;
        labels = moving.labels;
    }
    let bound = labels.len();
    renumber(&mut labels, bound);
    Ok(labels)
}

/// The local moving phase on one level.
struct Moving<'a> {
    net: &'a Net,
    labels: Vec<u32>,
    strength: Vec<u64>,
    /// Sum of the strengths of each community.
    total: Vec<u64>,
    /// Twice the weight of all edges.
    twice: f64,
    resolution: f64,
    /// Nodes whose surroundings changed since they last decided.
    active: Vec<bool>,
}

impl<'a> Moving<'a> {
    fn new(net: &'a Net, resolution: f64, labels: Vec<u32>) -> Self {
        let n = net.num_nodes();
        let strength: Vec<u64> = (0..n).into_par_iter().map(|v| net.strength(v)).collect();
        let mut total = vec![0; n];
        for (l, s) in labels.iter().zip(&strength) {
            total[*l as usize] += s;
        }
        Self {
            net,
            labels,
            total,
            twice: strength.iter().sum::<u64>() as f64,
            strength,
            resolution,
            active: vec![true; n],
        }
    }

    fn run(&mut self, seed: u64, gain_min: f64, cancel: &CancelToken) -> Result<(), AlgoError> {
        let n = self.net.num_nodes();
        if self.twice == 0.0 {
            return Ok(());
        }
        let batches = if n <= SEQUENTIAL_NODES_MAX { n } else { BATCHES };
        let tallies: Vec<Mutex<Tally>> =
            (0..rayon::current_num_threads() + 1).map(|_| Mutex::new(Tally::new(n))).collect();
        let mut moves: Vec<(u32, u32, f64)> = Vec::new();
        for round in 0..ROUNDS_MAX {
            cancel.check()?;
            let mut gain = 0.0;
            let first = h64(seed, 77, round as u64) as usize % batches;
            for b in 0..batches {
                let batch = (first + b) % batches;
                self.decide(batch, batches, &tallies, &mut moves);
                // Whoever decided is at rest until a neighbour moves.
                (batch..n).step_by(batches).for_each(|v| self.active[v] = false);
                for (v, to, better) in moves.drain(..) {
                    gain += better;
                    self.apply(v as usize, to);
                }
            }
            if gain * 2.0 / self.twice < gain_min {
                break;
            }
        }
        Ok(())
    }

    /// Lists the moves that the nodes `batch, batch + batches, ...` want.
    fn decide(
        &self,
        batch: usize,
        batches: usize,
        tallies: &[Mutex<Tally>],
        moves: &mut Vec<(u32, u32, f64)>,
    ) {
        let n = self.net.num_nodes();
        if batches == n {
            if let (true, Ok(mut tally)) = (self.active[batch], tallies[0].lock()) {
                moves.extend(self.best(batch, &mut tally));
            }
            return;
        }
        let count = (n - batch).div_ceil(batches);
        moves.par_extend((0..count).into_par_iter().with_min_len(256).filter_map(|i| {
            let v = batch + i * batches;
            if !self.active[v] {
                return None;
            }
            let slot = rayon::current_thread_index().map_or(0, |i| i + 1);
            // Only this thread takes this lock, so it is always free.
            tallies[slot.min(tallies.len() - 1)]
                .lock()
                .ok()
                .and_then(|mut tally| self.best(v, &mut tally))
        }));
    }

    /// The community that `v` had better join, when there is one, and the gain in units of edge weight.
    fn best(&self, v: usize, tally: &mut Tally) -> Option<(u32, u32, f64)> {
        for (u, w) in self.net.edges(v) {
            tally.add(self.labels[u as usize], w);
        }
        let (own, k) = (self.labels[v], self.strength[v]);
        let pull = self.resolution * k as f64 / self.twice;
        let score = |label: u32, total: u64| tally.of[label as usize] as f64 - pull * total as f64;
        let stay = score(own, self.total[own as usize] - k);
        let mut best = (own, stay);
        for l in &tally.touched {
            if *l != own {
                let s = score(*l, self.total[*l as usize]);
                if s > best.1 || (s == best.1 && *l < best.0 && best.0 != own) {
                    best = (*l, s);
                }
            }
        }
        tally.clear();
        (best.0 != own && best.1 > stay + 1e-9).then_some((v as u32, best.0, best.1 - stay))
    }

    fn apply(&mut self, v: usize, to: u32) {
        let from = self.labels[v];
        self.total[from as usize] -= self.strength[v];
        self.total[to as usize] += self.strength[v];
        self.labels[v] = to;
        for u in &self.net.ends[self.net.offsets[v]..self.net.offsets[v + 1]] {
            if self.labels[*u as usize] != to {
                self.active[*u as usize] = true;
            }
        }
    }
}

/// Modularity (Newman and Girvan 2004) of a partition of the undirected graph that `topology` spells.
#[must_use]
pub fn modularity(topology: &Topology, labels: &[u32]) -> f64 {
    let groups = labels.iter().max().map_or(0, |l| *l as usize + 1);
    let twice = 2.0 * f64::from(topology.num_edges());
    if twice == 0.0 {
        return 0.0;
    }
    let (mut inside, mut total) = (0.0, vec![0.0; groups]);
    for v in 0..topology.num_nodes() {
        let own = labels[v as usize];
        total[own as usize] += f64::from(topology.degree(v));
        inside += 2.0
            * topology.out_neighbors(v).iter().filter(|u| labels[**u as usize] == own).count()
                as f64;
    }
    inside / twice - total.iter().map(|t| (t / twice).powi(2)).sum::<f64>()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testkit;

    fn find(t: &Topology, seed: u64) -> Vec<u32> {
        run(t, None, seed, 1.0, &CancelToken::new()).unwrap()
    }

    #[test]
    fn modularity_is_that_of_the_definition() {
        // Two triangles joined by one edge: 6/7 of the edges inside, half of the ends on each side.
        let t = testkit::from_edges(6, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)]);
        assert!((modularity(&t, &[0, 0, 0, 1, 1, 1]) - (6.0 / 7.0 - 0.5)).abs() < 1e-12);
        assert_eq!(find(&t, 0), [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn the_karate_club_splits_as_well_as_is_known() {
        for seed in 0..10 {
            let t = testkit::karate();
            let q = modularity(&t, &find(&t, seed));
            assert!((if seed == 0 { 0.41 } else { 0.4 }..=0.4198).contains(&q), "seed {seed}: {q}");
        }
    }

    #[test]
    fn planted_communities_are_found_at_any_number_of_threads() {
        // Large enough for parallel batches.
        let groups = 40;
        let mut edges = Vec::new();
        for i in 0..120_000u64 {
            let a = h64(1, 0, i) % 12_000;
            let b = if h64(1, 1, i) % 10 < 8 {
                a % groups + groups * (h64(1, 2, i) % 300)
            } else {
                h64(1, 3, i) % 12_000
            };
            edges.push((a as u32, b as u32));
        }
        let t = testkit::from_edges(12_000, &edges);
        let truth: Vec<u32> = (0..12_000).map(|v| v % groups as u32).collect();
        let [one, two, three] = testkit::at_1_2_3_threads(|| find(&t, 3));
        assert!(one == two && two == three);
        let (found, planted) = (modularity(&t, &one), modularity(&t, &truth));
        assert!(found > planted - 0.005, "{found} {planted}");
        assert_eq!(one[0], 0, "labels are numbered by first appearance");
    }

    #[test]
    fn weights_and_resolution_decide() {
        let t = testkit::from_edges(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
        let with = |w: &[f32]| run(&t, Some(w), 0, 1.0, &CancelToken::new()).unwrap();
        assert_eq!(with(&[9.0, 0.1, 9.0, 0.1]), [0, 0, 1, 1]);
        assert_eq!(with(&[0.1, 9.0, 0.1, 9.0]), [0, 1, 1, 0]);
        let k = testkit::karate();
        let count =
            |r| run(&k, None, 0, r, &CancelToken::new()).unwrap().into_iter().max().unwrap();
        assert!(count(4.0) > count(1.0) && count(1.0) > count(0.1));
        assert!(run(&k, None, 0, 0.0, &CancelToken::new()).is_err());
    }
}
