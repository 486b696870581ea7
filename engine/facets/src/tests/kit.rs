//! Small pictures of random tables, and what their cells are.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use bytes::Bytes;
use graphlume_expr::QueryError;
use graphlume_scene::EdgeOrder;
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;

use crate::{Facets, Picture};

/// A cell as the tests see it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Number(f64),
    Truth(bool),
    Text(String),
    /// Microseconds since 1970.
    Micros(i64),
}

/// A picture of a random graph, with the cells of its elements: of nodes by index, of edges by row.
pub(super) struct Random {
    pub(super) graph: PropertyGraph,
    pub(super) order: EdgeOrder,
    pub(super) facets: Facets,
    pub(super) nodes: Vec<(&'static str, Vec<Cell>)>,
    pub(super) edges: Vec<(&'static str, Vec<Cell>)>,
}

impl Picture for Random {
    fn graph(&self, _: &CancelToken) -> Result<&PropertyGraph, QueryError> {
        Ok(&self.graph)
    }

    fn order(&self) -> EdgeOrder {
        self.order
    }

    fn ends(&self) -> Bytes {
        let ends = (0..self.order.len()).flat_map(|drawn| {
            let (source, destination, _) = self.edge(drawn);
            [source.to_le_bytes(), destination.to_le_bytes()].concat()
        });
        ends.collect()
    }

    fn communities(&self, _: &CancelToken) -> Result<Arc<Vec<u32>>, QueryError> {
        let n = self.graph.topology(&CancelToken::new())?.num_nodes();
        Ok(Arc::new((0..n).map(|v| v % 3).collect()))
    }
}

/// Random numbers of one seed.
pub(super) struct Draw(u64, u64);

impl Draw {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed, 0)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.1 += 1;
        (h64(self.0, self.1, 7) % bound.max(1) as u64) as usize
    }

    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

pub(super) const FLOATS: [f64; 8] =
    [0.0, -0.0, 1.5, -2.25, 3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
pub(super) const TEXTS: [&str; 6] = ["a", "b", "", "A_b", "100%", "é\nz"];
/// 2024-01-31 and what is around it.
pub(super) const MICROS: [i64; 5] = [
    1_706_659_200_000_000,
    1_706_659_200_000_500,
    1_706_659_199_999_999,
    -1,
    1_706_745_600_000_000,
];

fn cells(rows: usize, draw: &mut Draw, of: impl Fn(&mut Draw) -> Cell) -> Vec<Cell> {
    (0..rows).map(|_| if draw.below(5) == 0 { Cell::Null } else { of(draw) }).collect()
}

/// Columns of every kind, and the same as arrays.
#[expect(clippy::type_complexity, reason = "two lists of the same columns")]
fn columns(
    rows: usize,
    draw: &mut Draw,
) -> (Vec<(&'static str, Vec<Cell>)>, Vec<(&'static str, ArrayRef)>) {
    let whole = cells(rows, draw, |d| Cell::Number(d.below(9) as f64 - 4.0));
    let float = cells(rows, draw, |d| Cell::Number(d.pick(&FLOATS)));
    let unsigned = cells(rows, draw, |d| Cell::Number(d.pick(&[0.0, 1.0, 7.0, 9e18 * 2.0])));
    let truth = cells(rows, draw, |d| Cell::Truth(d.below(2) == 1));
    let text = cells(rows, draw, |d| Cell::Text(d.pick(&TEXTS).to_owned()));
    let micros = cells(rows, draw, |d| Cell::Micros(d.pick(&MICROS)));
    let days = cells(rows, draw, |d| Cell::Micros(86_400_000_000 * (19_753 + d.below(3) as i64)));
    let list = cells(rows, draw, |d| Cell::Text(d.pick(&["[]", "[1]", "[1, 2]"]).to_owned()));
    let number = |c: &Cell| if let Cell::Number(v) = c { Some(*v) } else { None };
    let time = |c: &Cell| if let Cell::Micros(v) = c { Some(*v) } else { None };
    let string = |c: &Cell| if let Cell::Text(v) = c { Some(v.clone()) } else { None };
    let mut lists = ListBuilder::new(Int64Builder::new());
    for cell in &list {
        match string(cell) {
            None => lists.append_null(),
            Some(text) => {
                let items = text.trim_matches(['[', ']']).split(", ").filter(|t| !t.is_empty());
                items.for_each(|t| lists.values().append_value(t.parse().unwrap()));
                lists.append(true);
            }
        }
    }
    let arrays: Vec<(&'static str, ArrayRef)> = vec![
        (
            "whole",
            Arc::new(whole.iter().map(|c| number(c).map(|v| v as i64)).collect::<Int64Array>()),
        ),
        ("float", Arc::new(float.iter().map(number).collect::<Float64Array>())),
        (
            "unsigned",
            Arc::new(unsigned.iter().map(|c| number(c).map(|v| v as u64)).collect::<UInt64Array>()),
        ),
        (
            "truth",
            Arc::new(
                truth
                    .iter()
                    .map(|c| if let Cell::Truth(v) = c { Some(*v) } else { None })
                    .collect::<BooleanArray>(),
            ),
        ),
        ("text", Arc::new(text.iter().map(string).collect::<StringArray>())),
        ("micros", Arc::new(micros.iter().map(time).collect::<TimestampMicrosecondArray>())),
        (
            "days",
            Arc::new(
                days.iter()
                    .map(|c| time(c).map(|v| (v / 86_400_000_000) as i32))
                    .collect::<Date32Array>(),
            ),
        ),
        ("list", Arc::new(lists.finish())),
    ];
    // What is no number is null.
    let float = float.into_iter().map(|c| match c {
        Cell::Number(v) if v.is_nan() => Cell::Null,
        c => c,
    });
    let known = vec![
        ("whole", whole),
        ("float", float.collect()),
        ("unsigned", unsigned),
        ("truth", truth),
        ("text", text),
        ("micros", micros),
        ("days", days),
        ("list", list),
    ];
    (known, arrays)
}

fn table(id: Vec<(&'static str, Vec<i64>)>, columns: Vec<(&'static str, ArrayRef)>) -> Table {
    let ids = id.into_iter().map(|(name, ids)| (name, Arc::new(Int64Array::from(ids)) as ArrayRef));
    Table::try_new(RecordBatch::try_from_iter(ids.chain(columns)).unwrap()).unwrap()
}

impl Random {
    /// A graph with a table of the nodes, some of them twice, and nodes that only edges name.
    pub(super) fn new(seed: u64) -> Self {
        Self::with(seed, 3)
    }

    /// The same with less than so many rows whose id another row has.
    pub(super) fn with(seed: u64, repeats: usize) -> Self {
        graphlume_types::tuning::use_small(true);
        let draw = &mut Draw::new(seed);
        let listed = 1 + draw.below(150);
        let repeats = draw.below(3).min(repeats.saturating_sub(1));
        let mut ids: Vec<i64> = (0..listed as i64).collect();
        ids.extend((0..repeats).map(|_| draw.below(listed) as i64));
        let (mut nodes, arrays) = columns(ids.len(), draw);
        let node_table = table(vec![("id", ids)], arrays);
        let unlisted = draw.below(4);
        let m = draw.below(300);
        let end = |draw: &mut Draw| draw.below(listed + unlisted) as i64;
        let (source, destination) =
            ((0..m).map(|_| end(draw)).collect(), (0..m).map(|_| end(draw)).collect());
        let (edges, arrays) = columns(m, draw);
        let edge_table = table(vec![("s", source), ("d", destination)], arrays);
        let name = |n: &str| Some(n.to_owned());
        let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
        let cancel = CancelToken::new();
        let graph = PropertyGraph::new(Some(node_table), Some(edge_table), bindings).unwrap();
        let graph = graph.with_every_node(&cancel).unwrap();
        // The first row of an id is the node's, and of what only edges name there is none.
        let n = graph.topology(&cancel).unwrap().num_nodes() as usize;
        for (_, cells) in &mut nodes {
            cells.truncate(listed);
            cells.resize(n, Cell::Null);
        }
        let order = EdgeOrder::new(m as u32, seed);
        Self { graph, order, facets: Facets::default(), nodes, edges }
    }

    pub(super) fn counts(&self) -> (u32, u32) {
        let t = self.graph.topology(&CancelToken::new()).unwrap();
        (t.num_nodes(), t.num_edges())
    }

    /// Source, destination and row of an edge in drawn order.
    pub(super) fn edge(&self, drawn: u32) -> (u32, u32, u32) {
        self.graph.topology(&CancelToken::new()).unwrap().edge(self.order.position(drawn))
    }

    /// The cell of an element, edges in drawn order.
    pub(super) fn cell(&self, axis: crate::Axis, column: &str, element: u32) -> Cell {
        let (columns, row) = match axis {
            crate::Axis::Node => (&self.nodes, element),
            crate::Axis::Edge => (&self.edges, self.edge(element).2),
        };
        if let Some((_, cells)) = columns.iter().find(|(name, _)| *name == column) {
            return cells[row as usize].clone();
        }
        let t = self.graph.topology(&CancelToken::new()).unwrap();
        Cell::Number(f64::from(match column {
            "degree" => t.out_degree(element) + t.in_degree(element),
            "degree_in" => t.in_degree(element),
            "degree_out" => t.out_degree(element),
            "community" => element % 3,
            other => panic!("no column {other}"),
        }))
    }
}
