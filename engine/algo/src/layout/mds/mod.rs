//! Classical scaling (Torgerson 1952): the places whose distances come nearest to those asked for, which are the hops between
//! nodes unless a request gives others. Above some thousand nodes by pivots (Brandes and Pich 2007).

mod classical;
mod hops;
mod pivots;
#[cfg(test)]
mod tests;

use super::coordinates::{DIM, XY, coordinates, is_3d};
use super::packing::pack;
use crate::component::weak;
use crate::spec::{Cost, ignored, igraph, param};
use crate::view::{Copies, Loops, Shape};
use crate::{AlgoError, AlgorithmSpec, Dtype, Input, Kind, Output, ParamValues};
use hops::Local;

/// Nodes of a part up to which all pairs count.
const EXACT_NODES: usize = 5_000;
/// Nodes at most: the distances from a few pivots would no longer fit.
const NODES_MAX: u64 = 50_000_000;

pub(crate) static MDS: AlgorithmSpec = AlgorithmSpec {
    id: "mds",
    names: &[igraph("mds")],
    kind: Kind::Layout,
    params: &[
        param(
            "dist",
            Dtype::Matrix,
            "null",
            None,
            "the distances of all nodes, a row for each, of at most 5000; null is the hops between them",
        ),
        DIM,
    ],
    accepted: &[ignored("arpack_options")],
    outputs: XY,
    doc: "Classical scaling of the hops between nodes, without regard to directions: exact in parts of up to 5 thousand \
          nodes, above by the hops from some pivots (Pivot MDS). Parts lie side by side. Fewer nodes than dimensions all \
          lie in the origin.",
    paper: "Torgerson 1952, Psychometrika 17(4); Brandes and Pich 2007, Eigensolver methods for progressive \
            multidimensional scaling of large data, GD 2006",
    cost: Cost::Quadratic,
    run,
    ..AlgorithmSpec::BASE
};

fn run(input: &Input<'_>, p: &ParamValues) -> Result<Output, AlgoError> {
    Ok(if is_3d(p) {
        coordinates(&scaled::<3>(input, p)?)
    } else {
        coordinates(&scaled::<2>(input, p)?)
    })
}

/// The coordinates of a request in `D` dimensions.
fn scaled<const D: usize>(input: &Input<'_>, p: &ParamValues) -> Result<Vec<[f64; D]>, AlgoError> {
    let n = input.num_nodes() as usize;
    let too_many = |what, limit, instead| AlgoError::TooLarge {
        algorithm: "mds",
        what,
        size: n as u64,
        limit,
        instead,
    };
    if n as u64 > NODES_MAX {
        return Err(too_many("nodes", NODES_MAX, "force_atlas2 takes more"));
    }
    if p.is_given("dist") && n > EXACT_NODES {
        let instead = "leave \"dist\" out, and hops from some pivots are taken";
        return Err(too_many("nodes with distances of their own", EXACT_NODES as u64, instead));
    }
    let given = p.matrix("dist", n)?;
    if n < D {
        return Ok(vec![[0.0; D]; n]);
    }
    let shape = Shape { directed: false, copies: Copies::First, loops: Loops::Drop };
    let view = input.shaped(None, shape)?;
    let labels = weak::run(input.topology, input.cancel)?;
    let mut local = Local::new(view.out(), &labels);
    let mut parts = Vec::with_capacity(local.parts().len());
    for (i, nodes) in local.take_parts().into_iter().enumerate() {
        if i % 256 == 0 {
            input.cancel.check()?;
        }
        let points = match &given {
            _ if nodes.len() == 1 => vec![[0.0; D]],
            Some(given) => classical::of_matrix(given, n, &nodes, input.cancel)?,
            None if nodes.len() <= EXACT_NODES => classical::of_hops(&local, &nodes, input.cancel)?,
            None => pivots::scaled(&local, &nodes, input.cancel)?,
        };
        parts.push((nodes, points));
    }
    Ok(pack(n, &parts))
}
