//! Cores by the degrees that igraph counts, and k-cores as graphs.

use graphlume_types::CancelToken;

use super::core_number;
use crate::buckets::Buckets;
use crate::spec::{
    AlgorithmSpec, Dtype, Gives, MODE, cugraph, extra, ignored, igraph, output, param,
};
use crate::util::prefetch;
use crate::view::{GraphView, Lists};
use crate::{AlgoError, Input, Output, ParamValues};

/// Nodes ahead of the one that goes whose lists are asked for.
const AHEAD: usize = 4;
/// Nodes peeled between two looks at the cancel token.
const NODES_PER_CHECK: usize = 1 << 14;

/// Which arcs of a node count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Those in either direction.
    All,
    /// Those that enter it.
    In,
    /// Those that leave it.
    Out,
}

/// The core number of every node by bucket peeling (Batagelj and Zaversnik 2003). Every arc of the view counts; a loop
/// counts as often as it stands in the list of its node, and goes when the node goes.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(view: &GraphView<'_>, mode: Mode, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    match mode {
        Mode::In => peel(view.incoming(), view.out(), cancel),
        _ => peel(view.out(), view.incoming(), cancel),
    }
}

/// Peels by the length of the lists of `counted`; when a node goes, those of its list in `touched` lose one.
fn peel(
    counted: &Lists<'_>,
    touched: &Lists<'_>,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let n = counted.offsets().len() - 1;
    cancel.check()?;
    let mut buckets = Buckets::new((0..n).map(|v| counted.degree(v as u32)).collect());
    for i in 0..buckets.len() {
        if i % NODES_PER_CHECK == 0 {
            cancel.check()?;
        }
        // Lists lie anywhere: ask for those to come.
        if let Some(next) = buckets.expected(i + 2 * AHEAD) {
            prefetch(touched.offsets(), next as usize);
        }
        if let Some(next) = buckets.expected(i + AHEAD) {
            let start = touched.offsets()[next as usize] as usize;
            prefetch(touched.all_neighbors(), start);
            prefetch(touched.all_neighbors(), start + 16);
        }
        let (v, core) = buckets.take(i);
        touched.neighbors(v).iter().for_each(|u| buckets.lower(*u, core));
    }
    Ok(buckets.into_numbers())
}

/// The subgraph of the nodes whose number is at least `k`: every edge between two of them stays, loops too.
pub(crate) fn core(input: &Input<'_>, cores: &[u32], k: u32) -> Output {
    let stays = |v: u32| cores[v as usize] >= k;
    let nodes: Vec<u32> = (0..input.num_nodes()).filter(|v| stays(*v)).collect();
    let t = input.topology;
    let kept = nodes.iter().flat_map(|v| {
        let rows = t.out_neighbors(*v).iter().zip(t.out_rows(*v));
        rows.filter(|(to, _)| stays(**to)).map(|(_, row)| *row)
    });
    let mut rows: Vec<u32> = kept.collect();
    rows.sort_unstable();
    Output::kept(rows, Some(nodes))
}

const K: Option<(f64, f64)> = Some((0.0, 4e9));

/// cuGraph's `k_core`.
pub static K_CORE: AlgorithmSpec = AlgorithmSpec {
    id: "k_core",
    names: &[cugraph("k_core")],
    params: &[
        param("k", Dtype::Int, "null", K, "degree of every node at least; null is the largest k"),
        param(
            "core_number",
            Dtype::NodeValues,
            "null",
            None,
            "core numbers to go by; null computes them",
        ),
    ],
    simple_only: true,
    accepted: &[ignored("degree_type")],
    gives: Gives::Graph,
    doc: "The largest subgraph in which every node has at least k neighbours. Loops do not count and stay.",
    paper: "Seidman 1983; Batagelj and Zaversnik 2003",
    run: |input, p| {
        let cores = match input.node_values(p, "core_number")? {
            None => core_number::run(input.topology, false, input.cancel)?,
            Some(given) => given.into_iter().map(|c| c.map_or(0, |c| c.max(0.0) as u32)).collect(),
        };
        let k = p.limit("k").map(|k| u32::try_from(k).unwrap_or(u32::MAX));
        let k = k.unwrap_or_else(|| cores.iter().copied().max().unwrap_or(0));
        Ok(core(input, &cores, k))
    },
    ..AlgorithmSpec::BASE
};

/// igraph's `k_core` and `coreness`.
pub static CORENESS: AlgorithmSpec = AlgorithmSpec {
    id: "coreness",
    names: &[igraph("k_core"), extra("igraph", "coreness")],
    params: &[
        MODE,
        param("k", Dtype::Int, "null", K, "cut the graph to its k-core; null keeps all of it"),
        crate::spec::DIRECTED,
    ],
    outputs: &[output("coreness", Dtype::Int, "largest k whose k-core holds the node")],
    doc: "Core numbers. Copies of edges count, a loop counts twice. With k the graph is cut to its k-core.",
    paper: "Seidman 1983; Batagelj and Zaversnik 2003",
    run: |input, p| {
        let (directed, mode) = mode(p);
        let view = input.view(directed, None)?;
        let cores = run(&view, mode, input.cancel)?;
        let made = Output::labels("coreness", &cores);
        match p.limit("k") {
            None => Ok(made),
            Some(k) => {
                let graph = core(input, &cores, u32::try_from(k).unwrap_or(u32::MAX)).graph;
                Ok(Output { graph, ..made })
            }
        }
    },
    ..AlgorithmSpec::BASE
};

/// Whether the view has directions, and which arcs count, by the parameters `mode` and `directed`.
fn mode(p: &ParamValues) -> (bool, Mode) {
    match p.text("mode").as_deref() {
        Some("in") if p.bool("directed") => (true, Mode::In),
        Some("out") if p.bool("directed") => (true, Mode::Out),
        _ => (false, Mode::All),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testkit::{self, from_edges};
    use crate::view::{Copies, Loops, Shape};

    #[test]
    fn loops_count_twice_and_copies_each() {
        let t = from_edges(4, &[(0, 1), (0, 1), (2, 2), (2, 3)]);
        let shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };
        let view = GraphView::new(&t, None, shape).unwrap();
        assert_eq!(run(&view, Mode::All, &CancelToken::new()).unwrap(), [2, 2, 2, 1]);
    }

    #[test]
    fn of_simple_graphs_both_kernels_tell_the_same() {
        let cancel = CancelToken::new();
        for (name, t) in testkit::zoo() {
            let shape = Shape { directed: false, copies: Copies::Least, loops: Loops::Drop };
            let view = GraphView::new(&t, None, shape).unwrap();
            let cores = run(&view, Mode::All, &cancel).unwrap();
            assert_eq!(cores, core_number::run(&t, false, &cancel).unwrap(), "{name}");
        }
    }

    #[test]
    fn a_cycle_has_a_core_in_both_directions() {
        let t = from_edges(4, &[(0, 1), (1, 2), (2, 0), (3, 0)]);
        let shape = Shape { directed: true, copies: Copies::Keep, loops: Loops::Once };
        let view = GraphView::new(&t, None, shape).unwrap();
        let cancel = CancelToken::new();
        assert_eq!(run(&view, Mode::In, &cancel).unwrap(), [1, 1, 1, 0]);
        assert_eq!(run(&view, Mode::Out, &cancel).unwrap(), [1, 1, 1, 1]);
    }
}
