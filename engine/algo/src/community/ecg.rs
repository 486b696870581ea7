//! Ensemble clustering for graphs (Poulin and Théberge 2018, arXiv 1809.05578): many one-level runs of Louvain in
//! random order vote on which ends of an edge belong together; the votes are the weights for one full run.

use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use rayon::prelude::*;

use super::moving::{Rule, settle};
use super::network::Network;
use crate::AlgoError;
use crate::view::GraphView;
use crate::weighted_graph::renumber;

/// Runs whose communities are in memory at once.
const RUNS_AT_ONCE: u64 = 16;
/// Rounds of local moving of one run at most.
const ROUNDS_MAX: usize = 24;
/// Share of all weight that a round of an ensemble's run gains at least, or it is the last.
const GAIN_MIN: f64 = 1e-3;

/// Parameters of [`run`]; the defaults are cuGraph's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Weight of an edge that no run has inside a community.
    pub min_weight: f64,
    /// Runs that vote.
    pub ensemble_size: u64,
    /// Levels of the full run at most.
    pub max_level: u64,
    /// Gain of modularity from one level to the next below which the full run ends.
    pub threshold: f64,
    /// Above 1 gives smaller communities.
    pub resolution: f64,
    /// Chooses the orders.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            min_weight: 1e-4,
            ensemble_size: 100,
            max_level: 10,
            threshold: 1e-7,
            resolution: 1.0,
            seed: 0,
        }
    }
}

/// The community of every node of an undirected view, numbered by first appearance.
///
/// # Errors
/// [`AlgoError::Cancelled`], and [`AlgoError::BadParam`] for a resolution that is not positive.
pub fn run(
    view: &GraphView<'_>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    if !(options.resolution > 0.0 && options.resolution.is_finite()) {
        return Err(AlgoError::BadParam {
            algorithm: "ecg",
            name: "resolution".to_owned(),
            value: options.resolution.to_string(),
            expected: "a number above 0".to_owned(),
        });
    }
    let mut net = Network::new(view);
    let votes = votes(&net, options, cancel)?;
    let share = |count: u32| f64::from(count) / options.ensemble_size.max(1) as f64;
    let weight = |at: usize| {
        let w = net.weight(at);
        options.min_weight + (w - options.min_weight) * share(votes[at])
    };
    let weights: Vec<f64> =
        (0..net.ends.len()).into_par_iter().with_min_len(4096).map(weight).collect();
    net.weights = Some(weights);
    louvain(net, options, cancel)
}

/// How many runs have both ends of each list entry in one community.
fn votes(
    network: &Network,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let n = network.num_nodes();
    let mut votes = vec![0u32; network.ends.len()];
    let sizes = network.strengths();
    let total: f64 = sizes.iter().sum();
    if total == 0.0 {
        return Ok(votes);
    }
    let one_level = |run: u64| {
        let mut order: Vec<u32> = (0..n as u32).collect();
        for i in (1..n).rev() {
            let j = h64(options.seed, 1000 + run, i as u64) % (i as u64 + 1);
            order.swap(i, j as usize);
        }
        let rule = Rule {
            sizes: &sizes,
            penalty: options.resolution / total,
            order: Some(&order),
            seed: options.seed,
            gain_min: GAIN_MIN * total / 2.0,
            rounds: ROUNDS_MAX,
            all_move: true,
            thorough: true,
        };
        Ok(settle(network, (0..n as u32).collect(), rule, cancel)?.0)
    };
    for first in (0..options.ensemble_size).step_by(RUNS_AT_ONCE as usize) {
        let runs = first..options.ensemble_size.min(first + RUNS_AT_ONCE);
        let found: Vec<Vec<u32>> =
            runs.into_par_iter().map(one_level).collect::<Result<_, AlgoError>>()?;
        let mut parts = Vec::with_capacity(n);
        let mut left = &mut votes[..];
        for v in 0..n {
            let (own, rest) = left.split_at_mut(network.degree(v));
            left = rest;
            parts.push(own);
        }
        parts.into_par_iter().enumerate().with_min_len(256).for_each(|(v, own)| {
            let ends = &network.ends[network.range(v)];
            for labels in &found {
                let label = labels[v];
                for (vote, u) in own.iter_mut().zip(ends) {
                    *vote += u32::from(labels[*u as usize] == label);
                }
            }
        });
        cancel.check()?;
    }
    Ok(votes)
}

/// Louvain over `network`, level after level.
fn louvain(
    mut network: Network,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let n = network.num_nodes();
    let mut labels: Vec<u32> = (0..n as u32).collect();
    let mut sizes = network.strengths();
    let total: f64 = sizes.iter().sum();
    if total == 0.0 {
        return Ok(labels);
    }
    let mut before = f64::NEG_INFINITY;
    for level in 0..options.max_level {
        let rule = Rule {
            sizes: &sizes,
            penalty: options.resolution / total,
            order: None,
            seed: options.seed.wrapping_add(level),
            gain_min: options.threshold * total / 2.0,
            rounds: ROUNDS_MAX,
            all_move: true,
            thorough: true,
        };
        let (mut groups, _) = settle(&network, (0..sizes.len() as u32).collect(), rule, cancel)?;
        let k = renumber(&mut groups, sizes.len());
        labels.iter_mut().for_each(|l| *l = groups[*l as usize]);
        if k == sizes.len() {
            break;
        }
        network = network.contract(&groups, k);
        sizes = network.strengths();
        let square: f64 = sizes.iter().map(|s| (s / total).powi(2)).sum();
        let now = network.loops.iter().sum::<f64>() / total - options.resolution * square;
        if now - before < options.threshold {
            break;
        }
        before = now;
    }
    renumber(&mut labels, n);
    Ok(labels)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_graph::Topology;

    use super::*;
    use crate::community::network::modularity;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    fn view(t: &Topology) -> GraphView<'_> {
        let shape = Shape { directed: false, copies: Copies::Least, loops: Loops::Once };
        GraphView::new(t, None, shape).unwrap()
    }

    fn find(t: &Topology) -> Vec<u32> {
        run(&view(t), &Options::default(), &CancelToken::new()).unwrap()
    }

    #[test]
    fn the_karate_club_splits_well() {
        let t = testkit::karate();
        let q = modularity(&view(&t), &find(&t), 1.0);
        assert!(q > 0.36, "{q}");
    }

    #[test]
    fn planted_communities_are_found_at_any_number_of_threads() {
        let t = testkit::planted(1000, 20, 0.4, 0.01);
        let [one, two, three] = testkit::at_1_2_3_threads(|| find(&t));
        assert!(one == two && two == three);
        assert_eq!(one, (0..1000).map(|v| v % 20).collect::<Vec<u32>>());
    }

    #[test]
    fn degenerate_graphs_have_communities_too() {
        for (name, t) in testkit::zoo() {
            assert_eq!(find(&t).len(), t.num_nodes() as usize, "{name}");
        }
        assert_eq!(find(&testkit::from_edges(3, &[])), [0, 1, 2]);
        let options = Options { resolution: 0.0, ..Options::default() };
        assert!(run(&view(&testkit::path(3)), &options, &CancelToken::new()).is_err());
    }
}
