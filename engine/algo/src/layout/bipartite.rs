//! Two rows, with the geometry of python-igraph's layout of the same name.

use super::coordinates::{XY, coordinates};
use super::sugiyama::parts::parts;
use super::sugiyama::{HGAP, MAXITER, VGAP, across, edges, point_down};
use crate::component::weak;
use crate::input::ColumnError;
use crate::spec::{igraph, param};
use crate::{AlgoError, AlgorithmSpec, Cost, Dtype, Input, Kind, ParamValues};

/// The column that kinds stand in where a request names none.
const COLUMN: &str = "type";

pub(crate) static BIPARTITE: AlgorithmSpec = AlgorithmSpec {
    id: "bipartite",
    names: &[igraph("bipartite")],
    kind: Kind::Layout,
    params: &[
        param(
            "types",
            Dtype::NodeValues,
            "null",
            None,
            "the kind of every node, 0 or another number: a list, a table or a node column; null is the column type, \
             and where there is none of numbers the two sides of the graph, the first node of each part on the first",
        ),
        HGAP,
        VGAP,
        MAXITER,
    ],
    outputs: XY,
    doc: "Nodes of the first kind in a row at y = vgap, the others at 0, in an order of few crossings, and \
          nodes over the middle of their neighbours where there is room; parts lie side by side.",
    paper: "Sugiyama, Tagawa and Toda 1981, IEEE Trans. Syst. Man Cybern. 11(2)",
    cost: Cost::LogLinear,
    run: |input, p| Ok(coordinates(&draw(input, p)?)),
    ..AlgorithmSpec::BASE
};

fn draw(input: &Input<'_>, p: &ParamValues) -> Result<Vec<[f64; 2]>, AlgoError> {
    let second = kinds(input, p)?;
    let all = edges(input, None)?;
    let labels = weak::run(input.topology, input.cancel)?;
    let (hgap, vgap) = (p.float("hgap").unwrap_or(1.0), p.float("vgap").unwrap_or(1.0));
    let mut points = vec![[0.0; 2]; input.num_nodes() as usize];
    let sweeps = p.count("maxiter") as usize;
    let mut left = 0.0;
    for (i, part) in parts(&labels, &all, input.cancel)?.iter_mut().enumerate() {
        if i % 64 == 0 {
            input.cancel.check()?;
        }
        // The first kind is the layer above.
        let side = |v: &u32| i64::from(second[*v as usize]);
        let layer: Vec<i64> = part.nodes.iter().map(side).collect();
        point_down(part, &layer);
        let x = across(part, &layer, u32::MAX, sweeps, input)?;
        let mut width = 0.0f64;
        for ((v, x), layer) in part.nodes.iter().zip(&x).zip(&layer) {
            points[*v as usize] = [(left + x) * hgap, (1 - layer) as f64 * vgap];
            width = width.max(*x);
        }
        left += width + 1.0;
    }
    Ok(points)
}

/// Whether each node is of the second kind.
fn kinds(input: &Input<'_>, p: &ParamValues) -> Result<Vec<bool>, AlgoError> {
    if let Some(given) = input.node_values(p, "types")? {
        let known = |(v, x): (usize, Option<f64>)| {
            let missing = || format!("without a value for node {v}");
            x.map(|x| x != 0.0)
                .ok_or_else(|| p.bad("types", missing(), "a number for each node".to_owned()))
        };
        return given.into_iter().enumerate().map(known).collect();
    }
    match input.data.node_column(COLUMN) {
        Ok(column) => Ok(column.into_iter().map(|x| x != 0.0 && !x.is_nan()).collect()),
        Err(ColumnError::Missing { .. } | ColumnError::NotNumbers) => sides(input),
    }
}

/// The two sides of a graph whose edges lead from one to the other.
fn sides(input: &Input<'_>) -> Result<Vec<bool>, AlgoError> {
    let t = input.topology;
    let n = t.num_nodes();
    let (mut side, mut met) = (vec![false; n as usize], vec![false; n as usize]);
    let mut queue = Vec::with_capacity(n as usize);
    for start in 0..n {
        if met[start as usize] {
            continue;
        }
        met[start as usize] = true;
        queue.push(start);
        let mut at = queue.len() - 1;
        while let Some(v) = queue.get(at).copied() {
            if at.is_multiple_of(1 << 15) {
                input.cancel.check()?;
            }
            at += 1;
            for u in t.out_neighbors(v).iter().chain(t.in_neighbors(v)) {
                if !met[*u as usize] {
                    met[*u as usize] = true;
                    side[*u as usize] = !side[v as usize];
                    queue.push(*u);
                } else if *u != v && side[*u as usize] == side[v as usize] {
                    return Err(AlgoError::Unfit {
                        algorithm: "bipartite",
                        what: "the graph has a cycle of odd length, and so no two sides".to_owned(),
                        remedy: "name the kinds of the nodes by \"types\"",
                    });
                }
            }
        }
    }
    Ok(side)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_types::CancelToken;

    use super::*;
    use crate::input::Unnamed;
    use crate::testkit;

    fn run(n: u32, edges: &[(u32, u32)], pairs: &[&str]) -> Result<Vec<[f64; 2]>, AlgoError> {
        let t = testkit::from_edges(n, edges);
        let (data, cancel) = (Unnamed(n), CancelToken::new());
        draw(&Input::plain(&t, &data, &cancel), &ParamValues::from_pairs(&BIPARTITE, pairs)?)
    }

    #[test]
    fn rows_hold_the_kinds_and_nodes_lie_over_their_neighbours() {
        let edges = [(0, 3), (1, 4), (2, 5), (0, 5)];
        let points = run(6, &edges, &["types=[0,0,0,1,1,1]", "hgap=2", "vgap=3"]).unwrap();
        let rows: Vec<f64> = points.iter().map(|p| p[1]).collect();
        assert_eq!(rows, [3.0, 3.0, 3.0, 0.0, 0.0, 0.0]);
        for row in [0..3, 3..6] {
            let mut x: Vec<f64> = points[row].iter().map(|p| p[0]).collect();
            x.sort_by(f64::total_cmp);
            assert_eq!(x, [0.0, 2.0, 4.0]);
        }
        // Three edges of a path and one apart have no crossings.
        let order = |a: usize, b: usize| points[a][0] < points[b][0];
        assert_eq!(order(0, 2), order(3, 5));
        assert_eq!(run(6, &edges, &[]).unwrap()[0][1], 1.0);
        // The middle of a star lies over the middle of its leaves.
        let star = run(4, &[(0, 1), (0, 2), (0, 3)], &["types=[0,1,1,1]"]).unwrap();
        assert_eq!(star[0], [1.0, 1.0]);
        let one_kind = run(3, &[(0, 1), (1, 2), (2, 0)], &["types=[0,0,0]"]).unwrap();
        assert!(one_kind.iter().all(|p| p[1] == 1.0));
    }

    #[test]
    fn graphs_without_two_sides_and_bad_kinds_are_refused() {
        for (edges, pairs, says) in [
            (&[(0, 1), (1, 2), (2, 0)][..], &[][..], "odd length"),
            (&[(0, 1)], &["types=[0,1]"], "one number for each of the 3 nodes"),
            (&[(0, 1)], &["types={\"vertex\":[0],\"values\":[1]}"], "without a value for node 1"),
            (&[(0, 1)], &["types=nothing"], "\"nothing\""),
            (&[(0, 1)], &["vgap=-1"], "from 0 to 1000000"),
        ] {
            let e = run(3, edges, pairs).unwrap_err().to_string();
            assert!(e.contains(says), "{pairs:?}: {e}");
        }
    }
}
