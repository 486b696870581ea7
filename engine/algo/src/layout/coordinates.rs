//! Columns and number of dimensions that the specifications of layouts share.

use crate::spec::{OutputSpec, output, param};
use crate::{AlgoError, Column, Dtype, Output, ParamSpec, ParamValues, Values};

/// The columns of a layout in the plane.
pub(crate) const XY: &[OutputSpec] =
    &[output("x", Dtype::Float, "abscissa"), output("y", Dtype::Float, "ordinate")];
/// The columns of a layout in space.
pub(crate) const XYZ: &[OutputSpec] = &[
    output("x", Dtype::Float, "abscissa"),
    output("y", Dtype::Float, "ordinate"),
    output("z", Dtype::Float, "height"),
];

/// The parameter `dim` of layouts that have both; in 3 dimensions there is a column `z` besides.
pub(crate) const DIM: ParamSpec =
    param("dim", Dtype::Int, "2", Some((2.0, 3.0)), "dimensions: with 3 there is a column z");

/// Whether `dim` asks for three dimensions.
pub(crate) fn is_3d(p: &ParamValues) -> bool {
    p.int("dim") == Some(3)
}

/// Columns `x`, `y` and perhaps `z`, of points by node.
pub(crate) fn coordinates<const D: usize>(points: &[[f64; D]]) -> Output {
    let column = |c: usize| Values::F64(points.iter().map(|p| p[c]).collect());
    let names = ["x", "y", "z"];
    Output::nodes((0..D).map(|c| Column { name: names[c], values: column(c) }).collect())
}

/// Refuses `name`, which may not stand beside `dim` of this value.
///
/// # Errors
/// [`AlgoError::BadParam`] when it is given.
pub(crate) fn not_beside_dim(p: &ParamValues, name: &str, shown: &str) -> Result<(), AlgoError> {
    if !p.is_given(name) {
        return Ok(());
    }
    let dim = p.int("dim").unwrap_or(2);
    Err(p.bad(name, shown.to_owned(), format!("null where dim is {dim}")))
}
