//! Local clustering coefficients (Watts and Strogatz 1998), in the directed form of LDBC Graphalytics too: the share of
//! the possible edges between the neighbours of a node that are there.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::count::{self, SIMPLE};
use crate::spec::{AlgorithmSpec, Cost, DIRECTED, Dtype, extra, output};
use crate::view::GraphView;
use crate::{AlgoError, Output, Values};

/// Nodes of one unit of parallel work.
const NODES: usize = 64;

/// The coefficient of every node of a topology, whose view without directions, copies and loops is `simple`: edges between its neighbours over the ordered pairs of them. Where edges have no
/// direction each counts both ways, which gives the usual share of pairs. A node with less than two neighbours has 0.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(
    topology: &Topology,
    simple: &GraphView<'_>,
    directed: bool,
    cancel: &CancelToken,
) -> Result<Vec<f64>, AlgoError> {
    let pairs = |v: usize| {
        let k = f64::from(simple.out().degree(v as u32));
        k * (k - 1.0)
    };
    let share = |v: usize, edges: u64| if pairs(v) > 0.0 { edges as f64 / pairs(v) } else { 0.0 };
    if !directed {
        let triangles = count::run(simple, cancel)?;
        return Ok(triangles.into_iter().enumerate().map(|(v, t)| share(v, 2 * t)).collect());
    }
    let n = topology.num_nodes() as usize;
    let chunks: Vec<usize> = (0..n).step_by(NODES).collect();
    let of_chunk = |mark: &mut Vec<u32>, first: usize| -> Result<Vec<f64>, AlgoError> {
        let mut values = Vec::with_capacity(NODES);
        for v in first..n.min(first + NODES) {
            cancel.check()?;
            let neighbors = simple.out().neighbors(v as u32);
            let own = v as u32 + 1;
            neighbors.iter().for_each(|u| mark[*u as usize] = own);
            let mut edges = 0u64;
            if neighbors.len() > 1 {
                for u in neighbors {
                    let mut last = u32::MAX;
                    for to in topology.out_neighbors(*u) {
                        // Copies are neighbours in the list.
                        edges += u64::from(mark[*to as usize] == own && *to != last && to != u);
                        last = *to;
                    }
                }
            }
            values.push(share(v, edges));
        }
        Ok(values)
    };
    let parts: Vec<Vec<f64>> =
        chunks.into_par_iter().map_init(|| vec![0u32; n], of_chunk).collect::<Result<_, _>>()?;
    Ok(parts.concat())
}

/// The local clustering coefficient.
pub static LCC: AlgorithmSpec = AlgorithmSpec {
    id: "lcc",
    names: &[extra("cugraph", "lcc"), extra("igraph", "transitivity_local_undirected")],
    params: &[DIRECTED],
    outputs: &[output("lcc", Dtype::Float, "share of the pairs of neighbours that are joined")],
    doc: "Local clustering coefficients; with directions each of the two edges between neighbours counts.",
    paper: "Watts and Strogatz 1998; Iosup et al. 2016",
    cost: Cost::Wedges,
    run: |input, p| {
        let simple = input.shaped(None, SIMPLE)?;
        let directed = p.bool("directed") && !input.is_igraph();
        let values = run(input.topology, &simple, directed, input.cancel)?;
        Ok(Output::one("lcc", Values::F64(values)))
    },
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testkit;

    fn coefficients(t: &Topology, directed: bool) -> Vec<f64> {
        let simple = GraphView::new(t, None, SIMPLE).unwrap();
        run(t, &simple, directed, &CancelToken::new()).unwrap()
    }

    #[test]
    fn directed_coefficients_count_edges_between_neighbours() {
        // Neighbours of 0 are 1, 2, 3; between them lead 1-2, 2-1 and 2-3.
        let edges = [(0, 1), (2, 0), (0, 3), (1, 2), (2, 1), (2, 3), (2, 3), (1, 1)];
        let t = testkit::from_edges(4, &edges);
        let directed = coefficients(&t, true);
        assert!((directed[0] - 3.0 / 6.0).abs() < 1e-12);
        let undirected = coefficients(&t, false);
        assert!((undirected[0] - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn without_directions_both_ways_of_counting_agree() {
        for (name, t) in testkit::zoo() {
            let mut both = Vec::new();
            for at in 0..t.num_edges() {
                let (from, to, _) = t.edge(at);
                both.extend([(from, to), (to, from)]);
            }
            let twice = testkit::from_edges(t.num_nodes(), &both);
            assert_eq!(coefficients(&twice, true), coefficients(&t, false), "{name}");
        }
    }
}
