//! Spectral clustering: nodes become points whose coordinates are entries of eigenvectors, and k-means finds the
//! clusters among the points.
//!
//! The balanced cut takes the smallest eigenvectors of the normalised Laplacian (Shi and Malik 2000; Ng, Jordan and
//! Weiss 2001; von Luxburg 2007), the maximum of modularity the leading ones of the modularity matrix (Newman 2006;
//! White and Smyth 2005).

mod kmeans;

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::leading_eigenvector::components;
use super::network::Network;
use crate::AlgoError;
use crate::eigen::{Search, dot, largest};
use crate::view::GraphView;
use crate::weighted_graph::renumber;

/// What the clusters are good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Little weight between clusters, for their sizes.
    BalancedCut,
    /// High modularity.
    Modularity,
}

/// Parameters of [`run`]; the defaults are cuGraph's where it has some.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// What the clusters are good for.
    pub objective: Objective,
    /// Clusters; fewer where there are not as many nodes.
    pub num_clusters: u32,
    /// Eigenvectors; as many as clusters unless given.
    pub num_eigen_vects: Option<u32>,
    /// Length of the residual of an eigenvector, over the largest eigenvalue, that is small enough.
    pub evs_tolerance: f64,
    /// Restarts of the search for eigenvectors at most.
    pub evs_max_iter: u32,
    /// Relative change of the sum of squares below which k-means ends.
    pub kmean_tolerance: f64,
    /// Rounds of k-means at most.
    pub kmean_max_iter: u32,
    /// Chooses the first vectors and the first centres.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            objective: Objective::BalancedCut,
            num_clusters: 8,
            num_eigen_vects: None,
            evs_tolerance: 1e-5,
            evs_max_iter: 100,
            kmean_tolerance: 1e-5,
            kmean_max_iter: 100,
            seed: 0,
        }
    }
}

/// The cluster of every node of an undirected view, numbered by first appearance. Loops do not count. Nodes without
/// edges, and parts that have no share in the eigenvectors, go to the smallest cluster.
///
/// # Errors
/// [`AlgoError::Memory`] before it is taken, [`AlgoError::Cancelled`], and [`AlgoError::BadParam`] for less than one cluster.
pub fn run(
    view: &GraphView<'_>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    if options.num_clusters < 1 {
        return Err(AlgoError::BadParam {
            algorithm: "spectral clustering",
            name: "num_clusters".to_owned(),
            value: options.num_clusters.to_string(),
            expected: "a whole number of at least 1".to_owned(),
        });
    }
    let mut net = Network::new(view);
    net.loops.fill(0.0);
    let strengths = net.strengths();
    let present: Vec<u32> =
        (0..net.num_nodes() as u32).filter(|v| strengths[*v as usize] > 0.0).collect();
    let n = net.num_nodes();
    let clusters = (options.num_clusters as usize).min(n.max(1));
    if present.is_empty() || clusters == 1 {
        return Ok(vec![0; n]);
    }
    let dimensions = options.num_eigen_vects.map_or(clusters, |e| (e as usize).max(1));
    // The axes, and the points that are made of them.
    let wide = (n as u64).saturating_mul(dimensions.min(n) as u64).saturating_mul(8);
    let _axes = cancel.hold(wide)?;
    let axes = match options.objective {
        Objective::BalancedCut => cut_axes(&net, &strengths, dimensions, options, cancel)?,
        Objective::Modularity => modularity_axes(&net, &strengths, dimensions, options, cancel)?,
    };
    let (points, known) = rows(&axes, &present);
    let rule = kmeans::Rule {
        clusters: clusters.min(known.len().max(1)),
        dimensions: axes.len(),
        tolerance: options.kmean_tolerance,
        rounds: options.kmean_max_iter.max(1),
        seed: options.seed,
    };
    let _held = cancel.hold(kmeans::bytes_of(known.len(), rule))?;
    let found = kmeans::run(&points, rule, cancel)?;
    let mut sizes = vec![0usize; rule.clusters];
    found.iter().for_each(|c| sizes[*c as usize] += 1);
    let smallest = (0..rule.clusters).min_by_key(|c| (sizes[*c], *c)).unwrap_or(0) as u32;
    let mut labels = vec![smallest; n];
    known.iter().zip(&found).for_each(|(v, c)| labels[*v as usize] = *c);
    renumber(&mut labels, rule.clusters);
    Ok(labels)
}

/// The entries of the axes for each node, scaled to length 1, and the nodes that have any.
fn rows(axes: &[Vec<f64>], present: &[u32]) -> (Vec<f64>, Vec<u32>) {
    let (mut points, mut known) = (Vec::new(), Vec::new());
    for v in present {
        let length = axes.iter().map(|a| a[*v as usize].powi(2)).sum::<f64>().sqrt();
        if length > 1e-12 {
            points.extend(axes.iter().map(|a| a[*v as usize] / length));
            known.push(*v);
        }
    }
    (points, known)
}

/// The eigenvectors to the smallest eigenvalues of the normalised Laplacian. Those to 0 are known: one for each
/// connected part; they are taken out of the search.
fn cut_axes(
    network: &Network,
    strengths: &[f64],
    dimensions: usize,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<Vec<f64>>, AlgoError> {
    let n = network.num_nodes();
    let root: Vec<f64> = strengths.iter().map(|s| s.max(0.0).sqrt()).collect();
    let part = components(network);
    let parts = part.iter().max().map_or(0, |p| *p as usize + 1);
    let mut volume = vec![0.0; parts];
    part.iter().zip(strengths).for_each(|(p, s)| volume[*p as usize] += s);
    // The largest parts; a lone node is none.
    let mut order: Vec<usize> = (0..parts).filter(|p| volume[*p] > 0.0).collect();
    order.sort_by(|a, b| volume[*b].total_cmp(&volume[*a]).then(a.cmp(b)));
    order.truncate(dimensions);
    let axis = |p: &usize| {
        let of = |v: usize| if part[v] as usize == *p { root[v] / volume[*p].sqrt() } else { 0.0 };
        (0..n).map(of).collect::<Vec<f64>>()
    };
    let mut axes: Vec<Vec<f64>> = order.iter().map(axis).collect();
    let scale: Vec<f64> = root.iter().map(|r| if *r > 0.0 { 1.0 / r } else { 0.0 }).collect();
    let mut share = vec![0.0; parts];
    // One plus the normalised adjacency: the eigenvalues lie between 0 and 2, in the opposite order.
    let apply = |x: &[f64], y: &mut [f64]| {
        y.par_iter_mut().enumerate().with_min_len(512).for_each(|(v, y)| {
            let ends = network.edges(v).map(|(u, w)| w * scale[u as usize] * x[u as usize]);
            *y = scale[v] * ends.sum::<f64>() + if scale[v] > 0.0 { x[v] } else { 0.0 };
        });
        share.fill(0.0);
        part.iter().zip(x.iter().zip(&root)).for_each(|(p, (x, r))| share[*p as usize] += x * r);
        y.par_iter_mut().enumerate().with_min_len(4096).for_each(|(v, y)| {
            let p = part[v] as usize;
            if volume[p] > 0.0 {
                *y -= 2.0 * root[v] * share[p] / volume[p];
            }
        });
        Ok(())
    };
    let search = Search {
        count: dimensions - axes.len(),
        tolerance: options.evs_tolerance,
        restarts: options.evs_max_iter as usize,
        seed: options.seed,
    };
    let found = largest(n, search, apply, cancel)?;
    // What has the eigenvalue 0 here is a known vector, or a lone node.
    let real = found.values.iter().zip(found.vectors).filter(|(value, _)| **value > 1e-9);
    axes.extend(real.map(|(_, vector)| vector));
    Ok(axes)
}

/// The eigenvectors to the largest eigenvalues of the modularity matrix, each times the root of its eigenvalue over
/// the largest; those not above 0 say nothing about communities.
fn modularity_axes(
    network: &Network,
    strengths: &[f64],
    dimensions: usize,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<Vec<f64>>, AlgoError> {
    let n = network.num_nodes();
    let total: f64 = strengths.iter().sum();
    let apply = |x: &[f64], y: &mut [f64]| {
        let drift = dot(strengths, x) / total;
        y.par_iter_mut().enumerate().with_min_len(512).for_each(|(v, y)| {
            let near: f64 = network.edges(v).map(|(u, w)| w * x[u as usize]).sum();
            *y = near - strengths[v] * drift;
        });
        Ok(())
    };
    let search = Search {
        count: dimensions,
        tolerance: options.evs_tolerance,
        restarts: options.evs_max_iter as usize,
        seed: options.seed,
    };
    let found = largest(n, search, apply, cancel)?;
    let most = found.values.first().copied().unwrap_or(0.0);
    if most <= 1e-9 {
        return Ok(found.vectors.into_iter().take(1).collect());
    }
    let positive = found.values.into_iter().zip(found.vectors).filter(|(value, _)| *value > 1e-9);
    let scaled = positive.map(|(value, mut vector)| {
        let by = (value / most).sqrt();
        vector.iter_mut().for_each(|x| *x *= by);
        vector
    });
    Ok(scaled.collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_graph::Topology;

    use super::*;
    use crate::community::network::modularity;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    const BOTH: [Objective; 2] = [Objective::BalancedCut, Objective::Modularity];

    fn view(t: &Topology) -> GraphView<'_> {
        let shape = Shape { directed: false, copies: Copies::Least, loops: Loops::Once };
        GraphView::new(t, None, shape).unwrap()
    }

    fn find(t: &Topology, objective: Objective, num_clusters: u32) -> Vec<u32> {
        let options = Options { objective, num_clusters, ..Options::default() };
        run(&view(t), &options, &CancelToken::new()).unwrap()
    }

    #[test]
    fn the_karate_club_is_cut_well() {
        let t = testkit::karate();
        for objective in BOTH {
            for (k, least) in [(2, 0.36), (4, 0.34)] {
                let labels = find(&t, objective, k);
                assert_eq!(labels.iter().max(), Some(&(k - 1)));
                let q = modularity(&view(&t), &labels, 1.0);
                assert!(q > least - 0.01, "{objective:?} {k}: {q}");
            }
        }
    }

    #[test]
    fn planted_clusters_are_found_at_any_number_of_threads() {
        let t = testkit::planted(900, 6, 0.3, 0.01);
        for objective in BOTH {
            let [one, two, three] = testkit::at_1_2_3_threads(|| find(&t, objective, 6));
            assert!(one == two && two == three);
            assert_eq!(one, (0..900).map(|v| v % 6).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn parts_are_clusters_and_degenerate_graphs_have_some() {
        let rings = |k: u32| (0..5).map(move |i| (5 * k + i, 5 * k + (i + 1) % 5));
        let edges: Vec<(u32, u32)> = (0..3).flat_map(rings).collect();
        let t = testkit::from_edges(15, &edges);
        let truth: Vec<u32> = (0..15).map(|v| v / 5).collect();
        assert_eq!(find(&t, Objective::BalancedCut, 3), truth);
        for (name, t) in testkit::zoo() {
            for objective in BOTH {
                for k in [1, 2, 8] {
                    let labels = find(&t, objective, k);
                    assert_eq!(labels.len(), t.num_nodes() as usize, "{name}");
                    assert!(labels.iter().all(|l| *l < k), "{name}");
                }
            }
        }
        let none = Options { num_clusters: 0, ..Options::default() };
        assert!(run(&view(&t), &none, &CancelToken::new()).is_err());
    }
}
