//! igraph's choice of a layout by what the graph is.

use serde_json::{Map, Value};

use super::coordinates::{DIM, XY, coordinates, is_3d};
use super::force_directed::{drl, fruchterman_reingold};
use super::stress::kamada_kawai;
use crate::component::weak;
use crate::spec::{Cost, RANDOM_STATE, igraph};
use crate::{AlgoError, AlgorithmSpec, Input, Kind, Output, ParamValues};

/// A connected graph up to this many nodes is laid out by `kamada_kawai`.
const KAMADA_KAWAI_NODES_MAX: u32 = 100;
/// Any graph up to this many nodes is laid out by `fruchterman_reingold`, a larger one by `drl`.
const FRUCHTERMAN_REINGOLD_NODES_MAX: u32 = 1000;

pub(crate) static AUTO: AlgorithmSpec = AlgorithmSpec {
    id: "auto",
    names: &[igraph("auto"), igraph("automatic")],
    kind: Kind::Layout,
    params: &[DIM, RANDOM_STATE],
    outputs: XY,
    doc: "Columns x and y of the nodes, and z in space, where they give every node a number; else `kamada_kawai` for a \
          graph of at most 100 nodes that is connected when directions are ignored, `fruchterman_reingold` up to 1000 \
          nodes, `drl` above.",
    paper: "igraph's rule; see the layout that it chooses",
    cost: Cost::LogLinear,
    run,
    ..AlgorithmSpec::BASE
};

fn run(input: &Input<'_>, p: &ParamValues) -> Result<Output, AlgoError> {
    input.cancel.check()?;
    let given = if is_3d(p) { given::<3>(input) } else { given::<2>(input) };
    if let Some(output) = given {
        return Ok(output);
    }
    let spec = chosen(input)?;
    let mut params = Map::new();
    params.insert(DIM.name.to_owned(), Value::from(p.count(DIM.name)));
    params.insert(RANDOM_STATE.name.to_owned(), Value::from(p.count(RANDOM_STATE.name)));
    (spec.run)(input, &ParamValues::from_json(spec, &params)?)
}

/// The positions that the columns of the nodes give; `None` unless every node has all `D` of them.
fn given<const D: usize>(input: &Input<'_>) -> Option<Output> {
    let mut points = vec![[0.0; D]; input.num_nodes() as usize];
    for (c, name) in ["x", "y", "z"].into_iter().take(D).enumerate() {
        let column = input.data.node_column(name).ok()?;
        if column.len() != points.len() {
            return None;
        }
        for (at, x) in points.iter_mut().zip(column) {
            at[c] = Some(x).filter(|x| x.is_finite())?;
        }
    }
    Some(coordinates(&points))
}

/// The layout for a graph without positions.
fn chosen(input: &Input<'_>) -> Result<&'static AlgorithmSpec, AlgoError> {
    let n = input.num_nodes();
    let is_connected = || -> Result<bool, AlgoError> {
        Ok(weak::run(input.topology, input.cancel)?.iter().all(|component| *component == 0))
    };
    Ok(if n <= KAMADA_KAWAI_NODES_MAX && is_connected()? {
        &kamada_kawai::KAMADA_KAWAI
    } else if n <= FRUCHTERMAN_REINGOLD_NODES_MAX {
        &fruchterman_reingold::FRUCHTERMAN_REINGOLD
    } else {
        &drl::DRL
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use graphlume_graph::Topology;
    use graphlume_types::CancelToken;

    use super::*;
    use crate::input::{ColumnError, GraphData, Unnamed};

    /// Nodes with columns.
    struct Columns(&'static [(&'static str, &'static [f64])]);

    impl GraphData for Columns {
        fn node(&self, _: &str) -> Option<u32> {
            None
        }

        fn edge_column(&self, _: &str) -> Result<Vec<f64>, ColumnError> {
            Err(ColumnError::NotNumbers)
        }

        fn node_column(&self, name: &str) -> Result<Vec<f64>, ColumnError> {
            let column = self.0.iter().find(|(n, _)| *n == name);
            let missing = || ColumnError::Missing { known: Vec::new() };
            column.map(|(_, values)| values.to_vec()).ok_or_else(missing)
        }
    }

    fn laid_out(
        spec: &'static AlgorithmSpec,
        t: &Arc<Topology>,
        data: &dyn GraphData,
        pairs: &[&str],
    ) -> Output {
        let cancel = CancelToken::new();
        let params = ParamValues::from_pairs(spec, pairs).unwrap();
        (spec.run)(&Input::plain(t, data, &cancel), &params).unwrap()
    }

    #[test]
    fn the_size_and_the_connection_of_a_graph_choose() {
        let path = |n: u32| {
            let from: Vec<u32> = (1..n).collect();
            let to: Vec<u32> = (0..n - 1).collect();
            Arc::new(Topology::from_coo(n, &from, &to))
        };
        let two_parts = Arc::new(Topology::from_coo(4, &[0, 2], &[1, 3]));
        for (t, want) in [
            (path(100), &kamada_kawai::KAMADA_KAWAI),
            (two_parts, &fruchterman_reingold::FRUCHTERMAN_REINGOLD),
            (path(101), &fruchterman_reingold::FRUCHTERMAN_REINGOLD),
            (path(1000), &fruchterman_reingold::FRUCHTERMAN_REINGOLD),
            (path(1001), &drl::DRL),
        ] {
            let data = Unnamed(t.num_nodes());
            for pairs in [&["random_state=7"][..], &["random_state=7", "dim=3"]] {
                let auto = laid_out(&AUTO, &t, &data, pairs);
                assert_eq!(auto, laid_out(want, &t, &data, pairs), "{}", want.id);
                assert_eq!(auto.columns.len(), pairs.len() + 1);
            }
        }
    }

    #[test]
    fn positions_that_every_node_has_stay() {
        let t = Arc::new(Topology::from_coo(3, &[0, 1], &[1, 2]));
        let (x, y): (&[f64], &[f64]) = (&[5.0, -1.0, 2.5], &[0.0, 9.0, 4.0]);
        let flat = Columns(&[("x", &[5.0, -1.0, 2.5]), ("y", &[0.0, 9.0, 4.0])]);
        let points: Vec<[f64; 2]> = x.iter().zip(y).map(|(x, y)| [*x, *y]).collect();
        assert_eq!(laid_out(&AUTO, &t, &flat, &[]), coordinates(&points));
        // Without heights, or with a node that lacks a number, the layout is computed.
        let holes = Columns(&[("x", &[5.0, f64::NAN, 2.5]), ("y", &[0.0, 9.0, 4.0])]);
        for (data, pairs) in [(&flat, &["dim=3"][..]), (&holes, &[])] {
            let computed = laid_out(&kamada_kawai::KAMADA_KAWAI, &t, &Unnamed(3), pairs);
            assert_eq!(laid_out(&AUTO, &t, data, pairs), computed);
        }
        let deep = Columns(&[("x", &[1.0; 3]), ("y", &[2.0; 3]), ("z", &[3.0, 4.0, 5.0])]);
        let points = [[1.0, 2.0, 3.0], [1.0, 2.0, 4.0], [1.0, 2.0, 5.0]];
        assert_eq!(laid_out(&AUTO, &t, &deep, &["dim=3"]), coordinates(&points));
    }
}
