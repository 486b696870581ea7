//! Communities by the leading eigenvector of the modularity matrix (Newman 2006, arXiv physics/0605087): each
//! connected part is split in two by the signs of the eigenvector, and the parts again, until none can be split.

use std::collections::VecDeque;

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::network::Network;
use crate::AlgoError;
use crate::eigen::{Search, largest};
use crate::view::GraphView;
use crate::weighted_graph::renumber;

/// Length of the residual of an eigenvector that is small enough.
const TOLERANCE: f64 = 1e-10;
/// Restarts of the search for an eigenvector at most.
const RESTARTS_MAX: usize = 300;
/// An eigenvalue below this times the largest strength does not count as above 0.
const EIGENVALUE_MIN: f64 = 1e-8;

/// Parameters of [`run`]; the defaults are igraph's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Communities at most; as many as there are when not given.
    pub clusters: Option<u32>,
    /// Chooses the first vectors, which hardly matter.
    pub seed: u64,
}

/// The community of every node, numbered by first appearance. A directed view is read as undirected.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(
    view: &GraphView<'_>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let net = Network::new(view);
    let n = net.num_nodes();
    let mut labels = components(&net);
    let mut count = labels.iter().max().map_or(0, |l| l + 1);
    let strengths = net.strengths();
    let total: f64 = strengths.iter().sum();
    let most = options.clusters.unwrap_or(u32::MAX);
    let mut queue: VecDeque<Vec<u32>> = vec![Vec::new(); count as usize].into();
    labels.iter().enumerate().for_each(|(v, l)| queue[*l as usize].push(v as u32));
    let mut local = vec![u32::MAX; n];
    while let Some(members) = queue.pop_front() {
        cancel.check()?;
        if count >= most || members.len() < 2 || total <= 0.0 {
            continue;
        }
        for (i, v) in members.iter().enumerate() {
            local[*v as usize] = i as u32;
        }
        let part = Submatrix::new(&net, &strengths, total, &members, &local);
        let signs = part.signs(options.seed, cancel)?;
        members.iter().for_each(|v| local[*v as usize] = u32::MAX);
        let Some(signs) = signs else { continue };
        let (mut stay, mut leave) = (Vec::new(), Vec::new());
        for (v, positive) in members.into_iter().zip(signs) {
            if positive {
                leave.push(v);
            } else {
                stay.push(v);
            }
        }
        leave.iter().for_each(|v| labels[*v as usize] = count);
        count += 1;
        queue.push_back(stay);
        queue.push_back(leave);
    }
    renumber(&mut labels, n);
    Ok(labels)
}

/// The connected parts, numbered by first appearance.
pub(super) fn components(network: &Network) -> Vec<u32> {
    let mut labels = vec![u32::MAX; network.num_nodes()];
    let (mut next, mut queue) = (0, Vec::new());
    for v in 0..labels.len() {
        if labels[v] != u32::MAX {
            continue;
        }
        labels[v] = next;
        queue.push(v);
        while let Some(u) = queue.pop() {
            for w in &network.ends[network.range(u)] {
                if labels[*w as usize] == u32::MAX {
                    labels[*w as usize] = next;
                    queue.push(*w as usize);
                }
            }
        }
        next += 1;
    }
    labels
}

/// The modularity matrix of a part of the graph.
struct Submatrix {
    offsets: Vec<usize>,
    ends: Vec<u32>,
    weights: Vec<f64>,
    /// Strength of each member in the whole graph.
    strengths: Vec<f64>,
    /// What each diagonal entry has besides, so that rows of the matrix of a part sum to 0.
    diagonal: Vec<f64>,
    total: f64,
    /// No eigenvalue is below the negative of this.
    shift: f64,
}

impl Submatrix {
    fn new(
        network: &Network,
        strengths: &[f64],
        total: f64,
        members: &[u32],
        local: &[u32],
    ) -> Self {
        let mut part = Self {
            offsets: vec![0],
            ends: Vec::new(),
            weights: Vec::new(),
            strengths: members.iter().map(|v| strengths[*v as usize]).collect(),
            diagonal: Vec::with_capacity(members.len()),
            total,
            shift: 0.0,
        };
        let whole: f64 = part.strengths.iter().sum();
        for (i, v) in members.iter().enumerate() {
            let loops = network.loops[*v as usize];
            let mut inside = loops;
            for (u, w) in network.edges(*v as usize) {
                if local[u as usize] != u32::MAX {
                    part.ends.push(local[u as usize]);
                    part.weights.push(w);
                    inside += w;
                }
            }
            part.offsets.push(part.ends.len());
            let k = part.strengths[i];
            part.diagonal.push(loops - (inside - k * whole / total));
            part.shift = part.shift.max(2.0 * k + loops);
        }
        part
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let drift = crate::eigen::dot(&self.strengths, x) / self.total;
        y.par_iter_mut().enumerate().with_min_len(512).for_each(|(i, y)| {
            let range = self.offsets[i]..self.offsets[i + 1];
            let ends = self.ends[range.clone()].iter().zip(&self.weights[range]);
            let near: f64 = ends.map(|(u, w)| w * x[*u as usize]).sum();
            *y = near + self.diagonal[i] * x[i] - self.strengths[i] * drift;
        });
    }

    /// For each member whether it is on the side of the positive entries, unless the part is not to be split.
    fn signs(&self, seed: u64, cancel: &CancelToken) -> Result<Option<Vec<bool>>, AlgoError> {
        let n = self.strengths.len();
        let search = Search { count: 1, tolerance: TOLERANCE, restarts: RESTARTS_MAX, seed };
        let apply = |x: &[f64], y: &mut [f64]| {
            self.apply(x, y);
            Ok(())
        };
        let found = largest(n, search, apply, cancel)?;
        if found.values[0] < EIGENVALUE_MIN * self.shift {
            return Ok(None);
        }
        let vector = &found.vectors[0];
        // The same side whichever sign the vector has: the first member stays.
        let sign = vector.iter().find(|x| x.abs() > 1e-9).map_or(1.0, |x| x.signum());
        let signs: Vec<bool> = vector.iter().map(|x| x * sign < 0.0).collect();
        // A split that gains no modularity is none.
        let side: Vec<f64> = signs.iter().map(|s| if *s { 1.0 } else { -1.0 }).collect();
        let mut product = vec![0.0; n];
        self.apply(&side, &mut product);
        let gain: f64 = side.iter().zip(&product).map(|(s, b)| s * b).sum();
        Ok((gain > EIGENVALUE_MIN * self.shift).then_some(signs))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_graph::Topology;

    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    fn find(t: &Topology, options: &Options) -> Vec<u32> {
        let shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };
        let view = GraphView::new(t, None, shape).unwrap();
        run(&view, options, &CancelToken::new()).unwrap()
    }

    #[test]
    fn the_karate_club_splits_as_in_the_paper() {
        let t = testkit::karate();
        let expected = [
            0, 1, 1, 1, 0, 0, 0, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 1, 2, 1, 2, 1, 2, 3, 3, 3, 2, 3, 3,
            2, 2, 3, 2, 2,
        ];
        assert_eq!(find(&t, &Options::default()), expected);
        let two = find(&t, &Options { clusters: Some(2), ..Options::default() });
        assert_eq!(two.iter().max(), Some(&1));
    }

    #[test]
    fn what_cannot_be_split_stays_whole() {
        assert_eq!(find(&testkit::star(9), &Options::default()), [0; 10]);
        assert_eq!(find(&testkit::clique(8), &Options::default()), [0; 8]);
        for (name, t) in testkit::zoo() {
            let labels = find(&t, &Options::default());
            assert_eq!(labels.len(), t.num_nodes() as usize, "{name}");
        }
    }

    #[test]
    fn labels_are_the_same_at_any_number_of_threads() {
        let t = testkit::planted(1500, 8, 0.2, 0.01);
        let [one, two, three] = testkit::at_1_2_3_threads(|| find(&t, &Options::default()));
        assert!(one == two && two == three);
    }
}
