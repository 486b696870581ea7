//! UMAP (McInnes, Healy and Melville 2018, arXiv 1802.03426): places for the rows of a table such that rows that are near
//! each other in the table are so in the plane. Called by GFQL's `umap`; it takes a table and no graph, and is therefore
//! not in the registry.

mod clusters;
mod curve;
mod descent;
mod fuzzy;
mod metric;
mod neighbors;
mod optimize;
mod pace;
mod start;
#[cfg(test)]
mod tests;
mod trees;

use graphlume_types::CancelToken;

use crate::AlgoError;
use fuzzy::Fuzzy;
use pace::Pace;

pub use clusters::clusters;
pub use metric::Metric;

/// Rows at most: with more, the start would ask the token too seldom.
pub const ROWS_MAX: usize = 1_000_000;
/// Numbers of a table at most: a gigabyte.
pub const VALUES_MAX: usize = 1 << 28;
/// Neighbours of all rows at most.
pub const NEIGHBORS_MAX: usize = 1 << 25;
/// Rows up to which a table has many epochs; how many, and how many others have.
const EPOCHS: (usize, u64, u64) = (10_000, 500, 200);
/// The width of the result.
const WIDTH: f32 = 10.0;

/// Rows of numbers.
#[derive(Clone, Debug)]
pub struct Features {
    /// How many rows there are.
    pub rows: usize,
    /// How many numbers a row has.
    pub columns: usize,
    /// The numbers, row by row; all finite.
    pub values: Vec<f32>,
}

impl Features {
    fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.columns..(i + 1) * self.columns]
    }
}

/// A category for each row; `None` where it is not known.
pub type Labels = [Option<u32>];

/// Where rows stand first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// By the eigenvectors of the graph.
    Spectral,
    /// By the axes of most variance of the table.
    Pca,
    /// By lot.
    Random,
}

/// How a table is laid out. The names in brackets are umap-learn's.
#[derive(Clone, Debug)]
pub struct Options {
    /// Neighbours of a row, itself among them, from 2 (`n_neighbors`). A table of fewer rows has one less than its rows.
    pub neighbors: usize,
    /// Coordinates, from 1 (`n_components`).
    pub dims: usize,
    /// How near points may be to each other, from 0 to `spread` (`min_dist`).
    pub min_dist: f64,
    /// How far apart points are, above 0 (`spread`).
    pub spread: f64,
    /// Neighbours that are certain, from 0 (`local_connectivity`).
    pub local_connectivity: f64,
    /// Weight of rows that are no neighbours, from 0 (`repulsion_strength`).
    pub repulsion: f64,
    /// Rows that are no neighbours, for each neighbour (`negative_sample_rate`).
    pub negative_samples: usize,
    /// How distances in the table are measured (`metric`).
    pub metric: Metric,
    /// Epochs; as many as the number of rows suggests where there is none (`n_epochs`).
    pub epochs: Option<u64>,
    /// The first step, above 0 (`learning_rate`).
    pub learning_rate: f64,
    /// Where rows stand first (`init`).
    pub start: Start,
    /// From rows that name each other, 0, to rows of which one names the other, 1 (`set_op_mix_ratio`).
    pub mix: f64,
    /// The curve; that of `min_dist` and `spread` where there is none (`a`, `b`).
    pub curve: Option<(f64, f64)>,
    /// How much labels say, from 0 to 1 (`target_weight`).
    pub target_weight: f64,
    /// Seed (`random_state`).
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            neighbors: 15,
            dims: 2,
            min_dist: 0.1,
            spread: 1.0,
            local_connectivity: 1.0,
            repulsion: 1.0,
            negative_samples: 5,
            metric: Metric::Euclidean,
            epochs: None,
            learning_rate: 1.0,
            start: Start::Spectral,
            mix: 1.0,
            curve: None,
            target_weight: 0.5,
            seed: 0,
        }
    }
}

/// A laid out table.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// Coordinates, row by row, each from 0 to about 10.
    pub points: Vec<f32>,
    /// The graph of neighbours: pairs of rows, each in both directions, by the first row and then the second, with weights
    /// above 0 and up to 1.
    pub edges: Vec<(u32, u32, f32)>,
}

/// Refuses a table that is too large, before memory is taken for it.
///
/// # Errors
/// [`AlgoError::TooLarge`], which names the limit.
pub fn check_size(rows: usize, columns: usize, neighbors: usize) -> Result<(), AlgoError> {
    let check = |what, size: usize, limit: usize, instead| {
        if size <= limit {
            return Ok(());
        }
        let (size, limit) = (size as u64, limit as u64);
        Err(AlgoError::TooLarge { algorithm: "umap", what, size, limit, instead })
    };
    check("rows", rows, ROWS_MAX, "sample them, or lay the graph out by fa2_layout")?;
    let values = rows.saturating_mul(columns);
    check("numbers, rows times features", values, VALUES_MAX, "name fewer columns by X")?;
    let near = rows.saturating_mul(neighbors.min(rows));
    check("neighbours, rows times n_neighbors", near, NEIGHBORS_MAX, "lower n_neighbors")
}

/// Bytes that an embedding takes at most beside the table: lists of neighbours in both directions, and some vectors of the
/// start.
#[must_use]
pub fn bytes(rows: usize, neighbors: usize) -> u64 {
    rows as u64 * (320 + 64 * neighbors.min(rows) as u64)
}

/// Lays a table out. The same options give the same bits at any number of threads.
///
/// # Errors
/// [`AlgoError::TooLarge`], [`AlgoError::Length`] for labels that are not one for each row, and [`AlgoError::Cancelled`].
pub fn embed(
    features: &Features,
    labels: Option<&Labels>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Embedding, AlgoError> {
    run(features, labels, options, &Pace::new(cancel))
}

fn run(
    features: &Features,
    labels: Option<&Labels>,
    options: &Options,
    pace: &Pace<'_>,
) -> Result<Embedding, AlgoError> {
    let n = features.rows;
    check_size(n, features.columns, options.neighbors)?;
    if let Some(labels) = labels {
        AlgoError::check_len("labels", labels.len(), n, "row")?;
    }
    pace.piece(0)?;
    if n < 2 {
        return Ok(Embedding { points: vec![0.0; n * options.dims], edges: Vec::new() });
    }
    // umap-learn takes one less than all rows, of which there is a neighbour only where there are three.
    let width = if options.neighbors > n { (n - 1).max(2) } else { options.neighbors.max(2) };
    let near = neighbors::nearest(features, options.metric, width, options.seed, pace)?;
    let mut graph = fuzzy::graph(&near, n, options, pace)?;
    drop(near);
    if let Some(labels) = labels {
        graph = fuzzy::with_labels(&graph, labels, options.target_weight, pace)?;
    }
    let curve = options.curve.unwrap_or_else(|| curve::fitted(options.min_dist, options.spread));
    let mut points = start::positions(features, &graph, options, pace)?;
    stretch(&mut points, options.dims);
    let points = optimize::run(&graph, points, curve, options, pace)?;
    Ok(Embedding { points, edges: edges(&graph, pace)? })
}

/// Each coordinate from 0 to 10.
fn stretch(points: &mut [f32], dims: usize) {
    for c in 0..dims {
        let column = || points.iter().skip(c).step_by(dims);
        let low = column().fold(f32::INFINITY, |low, x| low.min(*x));
        let high = column().fold(f32::NEG_INFINITY, |high, x| high.max(*x));
        if high > low {
            let scale = WIDTH / (high - low);
            points.iter_mut().skip(c).step_by(dims).for_each(|x| *x = (*x - low) * scale);
        }
    }
}

fn edges(graph: &Fuzzy, pace: &Pace<'_>) -> Result<Vec<(u32, u32, f32)>, AlgoError> {
    let mut edges = Vec::with_capacity(graph.ids.len());
    for i in 0..graph.num_rows() {
        pace.piece(graph.row(i).0.len())?;
        let (ids, weights) = graph.row(i);
        edges.extend(ids.iter().zip(weights).map(|(j, w)| (i as u32, *j, *w)));
    }
    Ok(edges)
}
