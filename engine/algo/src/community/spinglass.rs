//! Communities as the ground state of a Potts spin glass, found by annealing (Reichardt and Bornholdt 2006, arXiv
//! cond-mat/0603718; with negative weights Traag and Bruggeman 2009, arXiv 0811.2329). Each connected part is a
//! problem of its own; the parts are solved in parallel.

use graphlume_types::CancelToken;
use graphlume_types::hash::{h64, unit_f64};
use rayon::prelude::*;

use super::leading_eigenvector::components;
use super::network::{Network, members_of};
use crate::AlgoError;
use crate::view::GraphView;
use crate::weighted_graph::renumber;

/// Nodes up to which a graph is taken.
pub const NODES_MAX: u64 = 10_000;
/// Sweeps over all nodes at one temperature.
const SWEEPS: u64 = 4;
/// Sweeps at temperature 0 at most.
const COLD_SWEEPS: u64 = 200;
/// Nodes between two looks at the token.
const CHECK_NODES: usize = 256;

/// What a pair of nodes is expected to have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateRule {
    /// In proportion to their strengths.
    Config,
    /// The same for all pairs.
    Simple,
}

/// Parameters of [`run`]; the defaults are igraph's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Communities at most.
    pub spins: u32,
    /// Temperature to begin with, in units of the mean weight.
    pub start_temp: f64,
    /// Temperature to end with.
    pub stop_temp: f64,
    /// What the temperature is multiplied by.
    pub cool_fact: f64,
    /// What is expected.
    pub update_rule: UpdateRule,
    /// Above 1 gives smaller communities.
    pub gamma: f64,
    /// Whether negative weights count as such, against `lambda`.
    pub negative: bool,
    /// As `gamma`, for negative weights.
    pub lambda: f64,
    /// Chooses the moves.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            spins: 25,
            start_temp: 1.0,
            stop_temp: 0.01,
            cool_fact: 0.99,
            update_rule: UpdateRule::Config,
            gamma: 1.0,
            negative: false,
            lambda: 1.0,
            seed: 0,
        }
    }
}

impl Options {
    fn check(&self) -> Result<(), AlgoError> {
        let bad = |name: &str, value: f64, expected: &str| AlgoError::BadParam {
            algorithm: "spinglass",
            name: name.to_owned(),
            value: value.to_string(),
            expected: expected.to_owned(),
        };
        if self.spins < 2 {
            return Err(bad("spins", f64::from(self.spins), "a whole number of at least 2"));
        }
        if !(self.cool_fact > 0.0 && self.cool_fact < 1.0) {
            return Err(bad("cool_fact", self.cool_fact, "a number above 0 and below 1"));
        }
        if !(self.stop_temp > 0.0 && self.stop_temp.is_finite()) {
            return Err(bad("stop_temp", self.stop_temp, "a number above 0"));
        }
        if !(self.start_temp >= self.stop_temp && self.start_temp.is_finite()) {
            return Err(bad("start_temp", self.start_temp, "a number of at least stop_temp"));
        }
        Ok(())
    }
}

/// The community of every node, numbered by first appearance.
///
/// # Errors
/// [`AlgoError::Cancelled`]; [`AlgoError::BadParam`] for parameters without sense; [`AlgoError::TooLarge`] above
/// [`NODES_MAX`] nodes.
pub fn run(
    view: &GraphView<'_>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let n = u64::from(view.num_nodes());
    if n > NODES_MAX {
        return Err(AlgoError::TooLarge {
            algorithm: "spinglass",
            what: "nodes",
            size: n,
            limit: NODES_MAX,
            instead: "use community_leiden with objective_function=modularity",
        });
    }
    options.check()?;
    let net = Network::new(view);
    let part = components(&net);
    let parts = part.iter().max().map_or(0, |p| *p as usize + 1);
    let (starts, members) = members_of(&part, parts);
    let found: Vec<Vec<u32>> = (0..parts)
        .into_par_iter()
        .map(|p| Glass::new(&net, &members[starts[p]..starts[p + 1]], options).anneal(cancel))
        .collect::<Result<_, AlgoError>>()?;
    let mut labels = vec![0; n as usize];
    let mut next = 0;
    for (p, spins) in found.into_iter().enumerate() {
        let own = &members[starts[p]..starts[p + 1]];
        own.iter().zip(&spins).for_each(|(v, s)| labels[*v as usize] = next + s);
        next += spins.iter().max().map_or(0, |s| s + 1);
    }
    renumber(&mut labels, next as usize);
    Ok(labels)
}

/// A connected part with a spin for each of its nodes.
struct Glass<'a> {
    options: &'a Options,
    offsets: Vec<usize>,
    ends: Vec<u32>,
    weights: Vec<f64>,
    /// What each node counts for in the expectation of positive weights, and of negative ones.
    sizes: [Vec<f64>; 2],
    /// What a pair of nodes of size 1 is expected to have, positive and negative.
    expected: [f64; 2],
    spins: Vec<u32>,
    /// Sums of the sizes of the nodes of each spin.
    totals: [Vec<f64>; 2],
    seed: u64,
}

impl<'a> Glass<'a> {
    fn new(network: &Network, members: &[u32], options: &'a Options) -> Self {
        let n = members.len();
        let (mut offsets, mut ends, mut weights) = (vec![0], Vec::new(), Vec::new());
        let mut sizes = [vec![0.0; n], vec![0.0; n]];
        for (i, v) in members.iter().enumerate() {
            let loops = network.loops[*v as usize];
            let own = (loops != 0.0).then_some((*v, loops));
            for (u, w) in network.edges(*v as usize).chain(own) {
                let w = if options.negative { w } else { w.max(0.0) };
                sizes[usize::from(w < 0.0)][i] += w.abs();
                if u != *v {
                    // Members ascend.
                    ends.push(members.partition_point(|m| *m < u) as u32);
                    weights.push(w);
                }
            }
            offsets.push(ends.len());
        }
        let whole = [sizes[0].iter().sum::<f64>(), sizes[1].iter().sum::<f64>()];
        let mean = (whole[0] + whole[1]) / (ends.len().max(1)) as f64;
        let unit = if mean > 0.0 { mean } else { 1.0 };
        weights.iter_mut().for_each(|w| *w /= unit);
        let mut expected = [0.0; 2];
        for (sign, factor) in [(0, options.gamma), (1, options.lambda)] {
            sizes[sign].iter_mut().for_each(|s| *s /= unit);
            let all = whole[sign] / unit;
            expected[sign] = match options.update_rule {
                _ if all == 0.0 => 0.0,
                UpdateRule::Config => factor / all,
                UpdateRule::Simple => factor * all / (n * n.saturating_sub(1)).max(1) as f64,
            };
            if options.update_rule == UpdateRule::Simple {
                sizes[sign].fill(1.0);
            }
        }
        let q = options.spins as usize;
        let seed = h64(options.seed, 70, u64::from(members[0]));
        let spins: Vec<u32> = (0..n as u64).map(|i| (h64(seed, 0, i) % q as u64) as u32).collect();
        let mut totals = [vec![0.0; q], vec![0.0; q]];
        for (sign, totals) in totals.iter_mut().enumerate() {
            spins.iter().zip(&sizes[sign]).for_each(|(s, k)| totals[*s as usize] += k);
        }
        Self { options, offsets, ends, weights, sizes, expected, spins, totals, seed }
    }

    fn anneal(mut self, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
        if self.spins.len() == 1 {
            return Ok(vec![0]);
        }
        let mut sweep = 0;
        let mut temperature = self.options.start_temp;
        while temperature > self.options.stop_temp {
            let mut moves = 0;
            for _ in 0..SWEEPS {
                sweep += 1;
                moves += self.sweep(sweep, temperature, cancel)?;
            }
            // Nothing moves any more when it is this cold.
            if moves == 0 {
                break;
            }
            temperature *= self.options.cool_fact;
        }
        for _ in 0..COLD_SWEEPS {
            sweep += 1;
            if self.sweep(sweep, 0.0, cancel)? == 0 {
                break;
            }
        }
        let mut spins = self.spins;
        renumber(&mut spins, self.options.spins as usize);
        Ok(spins)
    }

    /// Gives each node in turn a spin, each as likely as the exponential of what it is worth over the temperature;
    /// returns how many have another one than before.
    fn sweep(
        &mut self,
        sweep: u64,
        temperature: f64,
        cancel: &CancelToken,
    ) -> Result<usize, AlgoError> {
        let (n, q) = (self.spins.len(), self.options.spins as usize);
        let start = (h64(self.seed, 1, sweep) % n as u64) as usize;
        let (mut worth, mut moves) = (vec![0.0; q], 0);
        for k in 0..n {
            if k % CHECK_NODES == 0 {
                cancel.check()?;
            }
            let v = (start + k) % n;
            let own = self.spins[v] as usize;
            let (plus, minus) = (self.sizes[0][v], self.sizes[1][v]);
            self.totals[0][own] -= plus;
            self.totals[1][own] -= minus;
            let (more, less) = (self.expected[0] * plus, self.expected[1] * minus);
            for (s, worth) in worth.iter_mut().enumerate() {
                *worth = less * self.totals[1][s] - more * self.totals[0][s];
            }
            for at in self.offsets[v]..self.offsets[v + 1] {
                worth[self.spins[self.ends[at] as usize] as usize] += self.weights[at];
            }
            let to = self.choose(&worth, own, temperature, sweep << 32 | v as u64);
            self.totals[0][to] += plus;
            self.totals[1][to] += minus;
            self.spins[v] = to as u32;
            moves += usize::from(to != own);
        }
        Ok(moves)
    }

    fn choose(&self, worth: &[f64], own: usize, temperature: f64, draw: u64) -> usize {
        let most = worth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if temperature <= 0.0 {
            let best = worth.iter().position(|w| *w == most).unwrap_or(own);
            return if most > worth[own] + 1e-12 { best } else { own };
        }
        let by = 1.0 / temperature;
        let all: f64 = worth.iter().map(|w| ((w - most) * by).exp()).sum();
        let mut left = unit_f64(self.seed, 2, draw) * all;
        for (s, w) in worth.iter().enumerate() {
            left -= ((w - most) * by).exp();
            if left < 0.0 {
                return s;
            }
        }
        own
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_graph::Topology;

    use super::*;
    use crate::community::network::modularity;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    fn view<'a>(t: &'a Topology, weights: Option<&[f64]>) -> GraphView<'a> {
        let shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };
        GraphView::new(t, weights, shape).unwrap()
    }

    fn find(t: &Topology, options: &Options) -> Vec<u32> {
        run(&view(t, None), options, &CancelToken::new()).unwrap()
    }

    #[test]
    fn the_karate_club_is_split_nearly_as_well_as_can_be() {
        let t = testkit::karate();
        for seed in 0..5 {
            let labels = find(&t, &Options { seed, ..Options::default() });
            let q = modularity(&view(&t, None), &labels, 1.0);
            assert!(q > 0.4155, "{seed}: {q}");
            let simple = Options { update_rule: UpdateRule::Simple, seed, ..Options::default() };
            assert!(find(&t, &simple).iter().max() > Some(&1));
        }
    }

    #[test]
    fn negative_weights_drive_apart_when_they_count() {
        let t = testkit::from_edges(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
        let weights = [1.0, -1.0, 1.0, -1.0];
        let options = Options { negative: true, ..Options::default() };
        let labels = run(&view(&t, Some(&weights)), &options, &CancelToken::new()).unwrap();
        assert_eq!(labels, [0, 0, 1, 1]);
    }

    #[test]
    fn parts_are_apart_and_bits_do_not_depend_on_the_threads() {
        for (name, t) in testkit::zoo() {
            let [one, two, three] = testkit::at_1_2_3_threads(|| find(&t, &Options::default()));
            assert!(one == two && two == three, "{name}");
            let part = components(&Network::new(&view(&t, None)));
            for v in 0..one.len() {
                for u in 0..v {
                    assert!(part[u] == part[v] || one[u] != one[v], "{name}");
                }
            }
        }
        let bad = Options { spins: 1, ..Options::default() };
        let t = testkit::path(3);
        assert!(run(&view(&t, None), &bad, &CancelToken::new()).is_err());
    }
}
