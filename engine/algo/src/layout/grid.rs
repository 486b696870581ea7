//! Grids in the plane and in space, with the geometry of python-igraph's layouts of the same names.

use super::coordinates::{DIM, XY, XYZ, coordinates, is_3d, not_beside_dim};
use crate::spec::{igraph, only, param};
use crate::{AlgorithmSpec, Dtype, Kind};

/// The range of a width and of a height.
const SIDE: Option<(f64, f64)> = Some((0.0, 4e9));

pub(crate) static GRID: AlgorithmSpec = AlgorithmSpec {
    id: "grid",
    names: &[igraph("grid")],
    kind: Kind::Layout,
    params: &[
        param("width", Dtype::Int, "0", SIDE, "nodes of a row; 0 is the root of their number"),
        param("height", Dtype::Int, "null", SIDE, "rows of a layer, only with dim 3; 0 chooses"),
        DIM,
    ],
    outputs: XY,
    doc: "A square grid, row by row; with dim 3 the cubic grid.",
    run: |input, p| {
        let (n, width) = (input.num_nodes() as usize, p.count("width") as usize);
        let height = p.count("height");
        if is_3d(p) {
            return Ok(coordinates(&grid_3d(n, width, height as usize)));
        }
        not_beside_dim(p, "height", &height.to_string())?;
        Ok(coordinates(&grid(n, width)))
    },
    ..AlgorithmSpec::BASE
};

pub(crate) static GRID_3D: AlgorithmSpec = AlgorithmSpec {
    id: "grid_3d",
    names: &[igraph("grid_3d")],
    kind: Kind::Layout,
    params: &[
        param("width", Dtype::Int, "0", SIDE, "nodes of a row; 0 chooses"),
        param("height", Dtype::Int, "0", SIDE, "rows of a layer; 0 chooses"),
    ],
    accepted: &[only("dim", "[3]")],
    outputs: XYZ,
    doc: "A cubic grid, layer by layer.",
    run: |input, p| {
        let n = input.num_nodes() as usize;
        let (width, height) = (p.count("width") as usize, p.count("height") as usize);
        Ok(coordinates(&grid_3d(n, width, height)))
    },
    ..AlgorithmSpec::BASE
};

/// Rows of `width` points at distance 1; a width of 0 means the root of `n`, rounded up.
#[must_use]
pub fn grid(n: usize, width: usize) -> Vec<[f64; 2]> {
    let width = if width == 0 { root(n, 2) } else { width };
    (0..n).map(|i| [(i % width) as f64, (i / width) as f64]).collect()
}

/// Layers of rows; a width and height of 0 mean the cube root of `n`, rounded up.
#[must_use]
pub fn grid_3d(n: usize, width: usize, height: usize) -> Vec<[f64; 3]> {
    let (w, h) = match (width, height) {
        (0, 0) => (root(n, 3), root(n, 3)),
        (0, h) => (root(n.div_ceil(h), 2), h),
        (w, 0) => (w, root(n.div_ceil(w), 2)),
        both => both,
    };
    (0..n).map(|i| [(i % w) as f64, (i / w % h) as f64, (i / w / h) as f64]).collect()
}

/// The smallest whole number whose `power`-th power is at least `n`, and at least 1.
fn root(n: usize, power: u32) -> usize {
    let mut r = (n as f64).powf(1.0 / f64::from(power)) as usize;
    while r.saturating_pow(power) < n {
        r += 1;
    }
    while r > 1 && (r - 1).saturating_pow(power) >= n {
        r -= 1;
    }
    r.max(1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn grids_fill_row_by_row() {
        assert_eq!(grid(5, 0), [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
        assert_eq!(grid(3, 2)[2], [0.0, 1.0]);
        assert_eq!(grid_3d(9, 0, 0)[8], [2.0, 2.0, 0.0]);
        assert_eq!(grid_3d(10, 0, 0)[9], [0.0, 0.0, 1.0]);
        assert_eq!(root(1_000_000, 2), 1000);
        assert_eq!(root(1_000_001, 2), 1001);
        assert_eq!((root(0, 2), root(1, 3)), (1, 1));
    }
}
