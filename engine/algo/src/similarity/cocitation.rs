//! Cocitation (Small 1973) and bibliographic coupling (Kessler 1963): how many nodes cite two nodes, and how many two
//! nodes cite, as a row for each node (Gustavson 1978).

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::spec::{AlgorithmSpec, Cost, DIRECTED, Dtype, VERTICES, igraph, output};
use crate::view::{GraphView, Lists};
use crate::{AlgoError, Input, Output, ParamValues, Values};

/// Nodes of a graph at most: the answer has a number for every pair of them.
pub const NODES_MAX: u64 = 10_000;
/// Bytes of a number while the rows become a column: once in its row and once in the column.
const NUMBER_BYTES: u64 = 16;
/// Ways followed between two looks at the cancel token.
const WAYS_PER_CHECK: usize = 1 << 16;

/// For every node how many two-step ways lead to each other node, over `first` and then over `second`. A node has as many
/// to itself as it has pairs of copies of an edge, so that in a simple graph there is 0. With `kept` only those nodes,
/// ascending, have a row; the rows of others are empty.
///
/// # Errors
/// [`AlgoError::TooLarge`]; [`AlgoError::Memory`] before the rows are made; [`AlgoError::Cancelled`].
pub fn run(
    algorithm: &'static str,
    first: &Lists<'_>,
    second: &Lists<'_>,
    kept: Option<&[u32]>,
    cancel: &CancelToken,
) -> Result<Vec<Vec<i64>>, AlgoError> {
    let n = first.offsets().len() - 1;
    if n as u64 > NODES_MAX {
        return Err(AlgoError::TooLarge {
            algorithm,
            what: "nodes",
            size: n as u64,
            limit: NODES_MAX,
            instead: "jaccard compares the ends of edges at any size",
        });
    }
    let rows = kept.map_or(n, <[u32]>::len);
    cancel.take((rows as u64).saturating_mul(n as u64).saturating_mul(NUMBER_BYTES))?;
    (0..n as u32)
        .into_par_iter()
        .map(|v| {
            if kept.is_some_and(|kept| kept.binary_search(&v).is_err()) {
                return Ok(Vec::new());
            }
            cancel.check()?;
            let (mut row, mut ways) = (vec![0i64; n], 0);
            for w in first.neighbors(v) {
                let ends = second.neighbors(*w);
                ways += ends.len();
                if ways >= WAYS_PER_CHECK {
                    cancel.check()?;
                    ways = 0;
                }
                for u in ends {
                    row[*u as usize] += 1;
                }
                // The way back over the same edge is none.
                row[v as usize] -= 1;
            }
            Ok(row)
        })
        .collect()
}

fn rows(input: &Input<'_>, p: &ParamValues, cited: bool) -> Result<Output, AlgoError> {
    let view: GraphView<'_> = input.view(p.bool("directed"), None)?;
    let (name, first, second) = match cited {
        true => ("cocitation", view.incoming(), view.out()),
        false => ("bibcoupling", view.out(), view.incoming()),
    };
    let mut kept = input.nodes(p, "vertices")?;
    if let Some(nodes) = &mut kept {
        nodes.sort_unstable();
        nodes.dedup();
    }
    let rows = run(name, first, second, kept.as_deref(), input.cancel)?;
    Ok(Output::one(name, Values::Lists(rows)))
}

/// igraph's `cocitation`.
pub static COCITATION: AlgorithmSpec = AlgorithmSpec {
    id: "cocitation",
    names: &[igraph("cocitation")],
    params: &[VERTICES, DIRECTED],
    outputs: &[output("cocitation", Dtype::IntList, "for each node how many nodes lead to both")],
    doc: "Cocitation counts of every pair of nodes.",
    paper: "Small 1973",
    cost: Cost::Quadratic,
    run: |input, p| rows(input, p, true),
    ..AlgorithmSpec::BASE
};

/// igraph's `bibcoupling`.
pub static BIBCOUPLING: AlgorithmSpec = AlgorithmSpec {
    id: "bibcoupling",
    names: &[igraph("bibcoupling")],
    params: &[VERTICES, DIRECTED],
    outputs: &[output("bibcoupling", Dtype::IntList, "for each node how many nodes both lead to")],
    doc: "Bibliographic coupling of every pair of nodes.",
    paper: "Kessler 1963",
    cost: Cost::Quadratic,
    run: |input, p| rows(input, p, false),
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use graphlume_types::{Budget, CancelReason, MemoryConsumer};

    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    const SHAPE: Shape = Shape { directed: true, copies: Copies::Keep, loops: Loops::Once };

    #[test]
    fn the_square_of_the_nodes_is_charged_before_it_is_taken() {
        let t = testkit::planted(300, 5, 0.2, 0.01);
        let view = GraphView::new(&t, None, SHAPE).unwrap();
        let counted = |limit: u64, kept: Option<&[u32]>| {
            let share = MemoryConsumer::new(Budget::new("host", 1 << 30), limit, None);
            let cancel = CancelToken::new().with_memory(share.clone());
            (run("cocitation", view.incoming(), view.out(), kept, &cancel), share.used())
        };
        let square = 300 * 300 * NUMBER_BYTES;
        assert!(matches!(counted(square - 1, None), (Err(AlgoError::Memory(_)), 0)));
        let (all, used) = counted(square, None);
        assert_eq!(used, square);
        // Some rows take as much as they are.
        let (some, used) = counted(square / 100, Some(&[7, 290]));
        assert_eq!(used, 2 * 300 * NUMBER_BYTES);
        let (all, some) = (all.unwrap(), some.unwrap());
        assert_eq!((&some[7], &some[290]), (&all[7], &all[290]));
        assert!(some[8].is_empty());
    }

    #[test]
    fn a_cancelled_run_ends() {
        let t = testkit::planted(300, 5, 0.2, 0.01);
        let view = GraphView::new(&t, None, SHAPE).unwrap();
        let cancel = CancelToken::new();
        cancel.cancel(CancelReason::ClientGone);
        let found = run("bibcoupling", view.out(), view.incoming(), None, &cancel);
        assert!(matches!(found, Err(AlgoError::Cancelled(_))));
    }
}
