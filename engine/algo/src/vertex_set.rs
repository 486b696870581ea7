//! The parameter `vertex_set` of every algorithm that computes: `all` nodes, or `edges_only`, those with an edge, which
//! is what libraries see that read a graph from its edges alone.

use std::sync::Arc;

use graphlume_graph::Topology;
use serde_json::Value;

use crate::input::ColumnError;
use crate::{AlgoError, AlgorithmSpec, Column, GraphData, Input, Kind, Output, Subgraph, Values};

/// The name of the parameter.
pub(crate) const NAME: &str = "vertex_set";
/// Its values; the first is the default.
pub(crate) const VALUES: [&str; 2] = ["all", "edges_only"];

/// Whether `name` is this parameter of `spec`.
pub(crate) fn is_param(spec: &AlgorithmSpec, name: &str) -> bool {
    spec.kind == Kind::Compute && name == NAME
}

/// Whether a value of it asks for the nodes with edges alone.
///
/// # Errors
/// [`AlgoError::BadParam`] for what is no value of it.
pub(crate) fn is_edges_only(spec: &AlgorithmSpec, value: &Value) -> Result<bool, AlgoError> {
    match value.as_str() {
        None if value.is_null() => Ok(false),
        Some(text) if VALUES.contains(&text) => Ok(text == VALUES[1]),
        _ => Err(AlgoError::BadParam {
            algorithm: spec.id,
            name: NAME.to_owned(),
            value: crate::util::shown(value),
            expected: format!("one of {}", VALUES.join(", ")),
        }),
    }
}

/// Runs `work` on the graph without the nodes that have no edge, whose values are null in the result.
///
/// # Errors
/// Those of `work`.
pub(crate) fn edges_only(
    input: &Input<'_>,
    work: impl FnOnce(&Input<'_>) -> Result<Output, AlgoError>,
) -> Result<Output, AlgoError> {
    let whole = input.topology;
    let kept: Vec<u32> = (0..whole.num_nodes()).filter(|v| whole.degree(*v) > 0).collect();
    if kept.len() == whole.num_nodes() as usize {
        return work(input);
    }
    let mut number = vec![None; whole.num_nodes() as usize];
    kept.iter().zip(0..).for_each(|(v, i)| number[*v as usize] = Some(i));
    let edges = (0..whole.num_edges()).map(|at| whole.edge(at));
    let of = |v: u32| number[v as usize].unwrap_or_default();
    let (mut src, mut dst, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for (a, b, row) in edges {
        src.push(of(a));
        dst.push(of(b));
        rows.push(row);
    }
    let part = Topology::from_rows(kept.len() as u32, &src, &dst, Some(&rows));
    let topology = Arc::new(part);
    let data = KeptData { whole: input.data, kept: &kept, number: &number };
    let output = work(&Input { topology: &topology, data: &data, ..*input })?;
    Ok(widened(output, &kept, &number))
}

/// The ids and columns of the nodes that are kept.
struct KeptData<'a> {
    whole: &'a dyn GraphData,
    /// The nodes of the whole graph, ascending, and the number of each among them.
    kept: &'a [u32],
    number: &'a [Option<u32>],
}

impl GraphData for KeptData<'_> {
    fn node(&self, id: &str) -> Option<u32> {
        self.whole.node(id).and_then(|v| self.number[v as usize])
    }

    fn edge_column(&self, name: &str) -> Result<Vec<f64>, ColumnError> {
        self.whole.edge_column(name)
    }

    fn node_column(&self, name: &str) -> Result<Vec<f64>, ColumnError> {
        let values = self.whole.node_column(name)?;
        Ok(self.kept.iter().map(|v| values[*v as usize]).collect())
    }
}

/// What was computed for the nodes in `kept` as the output for all.
fn widened(output: Output, kept: &[u32], number: &[Option<u32>]) -> Output {
    let rows: Vec<Option<usize>> = number.iter().map(|i| i.map(|i| i as usize)).collect();
    let renamed = |values: Values| match values {
        Values::Nodes(nodes) => Values::Nodes(
            nodes
                .into_iter()
                .map(|v| v.map(|v| kept.get(v as usize).copied().unwrap_or(v)))
                .collect(),
        ),
        Values::NodeLists(lists) => Values::NodeLists(
            lists
                .into_iter()
                .map(|list| list.into_iter().map(|v| kept[v as usize]).collect())
                .collect(),
        ),
        other => other,
    };
    let all = |nodes: Vec<u32>| nodes.into_iter().map(|v| kept[v as usize]).collect::<Vec<u32>>();
    let by_node = |c: Column| Column { name: c.name, values: renamed(c.values).at(&rows) };
    let by_row = |c: Column| Column { name: c.name, values: renamed(c.values) };
    Output {
        columns: output.columns.into_iter().map(by_node).collect(),
        edges: output.edges.into_iter().map(by_row).collect(),
        graph: output.graph.map(|graph| match graph {
            Subgraph::Kept { edges, nodes } => {
                Subgraph::Kept { edges, nodes: Some(nodes.map_or_else(|| kept.to_vec(), all)) }
            }
            Subgraph::Made { src, dst, columns } => Subgraph::Made {
                src: all(src),
                dst: all(dst),
                columns: columns.into_iter().map(by_row).collect(),
            },
        }),
        ..output
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::input::Unnamed;
    use crate::{ParamValues, find, run, testkit};
    use graphlume_types::CancelToken;

    fn computed(library: &'static str, name: &str, params: &[&str], t: &Arc<Topology>) -> Output {
        let (data, cancel) = (Unnamed(t.num_nodes()), CancelToken::new());
        let input = Input { library, ..Input::plain(t, &data, &cancel) };
        let spec = find(Kind::Compute, library, name).unwrap();
        run(spec, &input, &ParamValues::from_pairs(spec, params).unwrap()).unwrap()
    }

    #[test]
    fn nodes_without_edges_count_only_when_all_nodes_do() {
        // Nodes 1 and 4 have no edge.
        let t = testkit::from_edges(5, &[(0, 2), (2, 3)]);
        let dense = testkit::from_edges(3, &[(0, 1), (1, 2)]);
        let part = computed("cugraph", "pagerank", &["vertex_set=edges_only"], &t);
        let Values::F64OrNull(part) = &part.columns[0].values else { unreachable!("{part:?}") };
        let Values::F64(expected) =
            computed("cugraph", "pagerank", &[], &dense).columns[0].values.clone()
        else {
            unreachable!("all nodes have a rank")
        };
        assert_eq!((part[1], part[4]), (None, None));
        assert_eq!([part[0], part[2], part[3]].map(Option::unwrap), expected[..]);
        let all = computed("cugraph", "pagerank", &["vertex_set=all"], &t);
        assert_eq!(all, computed("cugraph", "pagerank", &[], &t));
    }

    #[test]
    fn parameters_and_results_that_are_nodes_keep_their_ids() {
        let t = testkit::from_edges(5, &[(0, 2), (2, 3)]);
        let found =
            computed("cugraph", "bfs", &["start=3", "directed=false", "vertex_set=edges_only"], &t);
        assert_eq!(
            found.columns[0].values,
            Values::I64OrNull(vec![Some(2), None, Some(1), Some(0), None])
        );
        let Values::Nodes(before) = &found.columns[1].values else { unreachable!("{found:?}") };
        assert_eq!((before[0], before[2]), (Some(2), Some(3)));
        let core = computed("cugraph", "k_core", &["k=0", "vertex_set=edges_only"], &t);
        assert_eq!(
            core.graph,
            Some(Subgraph::Kept { edges: vec![0, 1], nodes: Some(vec![0, 2, 3]) })
        );
        let spec = find(Kind::Compute, "igraph", "pagerank").unwrap();
        let refused = ParamValues::from_pairs(spec, &["vertex_set=some"]).unwrap_err().to_string();
        assert!(refused.contains("vertex_set") && refused.contains("edges_only"), "{refused}");
    }
}
