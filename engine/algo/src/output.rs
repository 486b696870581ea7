//! Results of algorithms.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array};

use crate::place::ComputedOn;

/// The values of a column: by node index, or by row of the edge table.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    I64(Vec<i64>),
    /// Whole numbers, some of them unknown.
    I64OrNull(Vec<Option<i64>>),
    /// Nodes by index, which stand in a result by their ids, with [`graphlume_graph::NO_NODE`] for the one
    /// that comes before the first.
    Nodes(Vec<Option<u32>>),
    /// Numbers.
    F64(Vec<f64>),
    /// Numbers, some of them unknown.
    F64OrNull(Vec<Option<f64>>),
    /// A list of whole numbers each.
    Lists(Vec<Vec<i64>>),
    /// A list of nodes by index each, which stand in a result by their ids.
    NodeLists(Vec<Vec<u32>>),
}

impl Values {
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::I64(v) => v.len(),
            Self::I64OrNull(v) => v.len(),
            Self::Nodes(v) => v.len(),
            Self::F64(v) => v.len(),
            Self::F64OrNull(v) => v.len(),
            Self::Lists(v) => v.len(),
            Self::NodeLists(v) => v.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of the nodes in `kept`, in index order; of the others none.
    #[must_use]
    pub fn only(self, kept: Option<&[u32]>) -> Self {
        let Some(kept) = kept else { return self };
        let mut rows = vec![None; self.len()];
        for v in kept {
            rows[*v as usize] = Some(*v as usize);
        }
        self.at(&rows)
    }

    /// The value of each of `rows`; nothing where there is no row, or an empty list.
    #[must_use]
    pub fn at(self, rows: &[Option<usize>]) -> Self {
        fn pick<T: Copy>(rows: &[Option<usize>], values: &[T]) -> Vec<Option<T>> {
            rows.iter().map(|row| row.and_then(|i| values.get(i).copied())).collect()
        }
        fn flat<T: Copy>(rows: &[Option<usize>], values: &[Option<T>]) -> Vec<Option<T>> {
            rows.iter().map(|row| row.and_then(|i| values.get(i).copied().flatten())).collect()
        }
        match self {
            Self::I64(v) => Self::I64OrNull(pick(rows, &v)),
            Self::I64OrNull(v) => Self::I64OrNull(flat(rows, &v)),
            Self::Nodes(v) => Self::Nodes(flat(rows, &v)),
            Self::F64(v) => Self::F64OrNull(pick(rows, &v)),
            Self::F64OrNull(v) => Self::F64OrNull(flat(rows, &v)),
            Self::Lists(v) => Self::Lists(moved(rows, v)),
            Self::NodeLists(v) => Self::NodeLists(moved(rows, v)),
        }
    }

    /// The values as an Arrow array; `ids` gives the ids of nodes by index.
    #[must_use]
    pub fn array(self, ids: impl Fn(&[Option<u32>]) -> ArrayRef) -> ArrayRef {
        match self {
            Self::I64(v) => Arc::new(Int64Array::from(v)),
            Self::I64OrNull(v) => Arc::new(Int64Array::from(v)),
            Self::Nodes(v) => ids(&v),
            Self::F64(v) => Arc::new(Float64Array::from(v)),
            Self::F64OrNull(v) => Arc::new(Float64Array::from(v)),
            Self::Lists(v) => {
                // Of the size that it will have: it grows by doubling otherwise, which takes the lists twice more.
                let items = Int64Builder::with_capacity(v.iter().map(Vec::len).sum());
                let mut list = ListBuilder::with_capacity(items, v.len());
                for items in v {
                    list.values().append_slice(&items);
                    list.append(true);
                }
                Arc::new(list.finish())
            }
            Self::NodeLists(v) => node_lists(&v, ids),
        }
    }
}

/// The list of each of `rows`, moved to the last row that has it; empty where there is none.
fn moved<T: Clone>(rows: &[Option<usize>], mut lists: Vec<Vec<T>>) -> Vec<Vec<T>> {
    let mut left = vec![0u32; lists.len()];
    for row in rows.iter().flatten() {
        if let Some(left) = left.get_mut(*row) {
            *left += 1;
        }
    }
    let list = |row: &Option<usize>| {
        let Some(list) = row.and_then(|i| lists.get_mut(i).zip(left.get_mut(i))) else {
            return Vec::new();
        };
        *list.1 -= 1;
        if *list.1 == 0 { std::mem::take(list.0) } else { list.0.clone() }
    };
    rows.iter().map(list).collect()
}

/// Lists of the ids of nodes.
fn node_lists(lists: &[Vec<u32>], ids: impl Fn(&[Option<u32>]) -> ArrayRef) -> ArrayRef {
    use arrow_array::ListArray;
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;
    let flat: Vec<Option<u32>> = lists.iter().flatten().copied().map(Some).collect();
    let items = ids(&flat);
    let lengths = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
    let field = Field::new_list_field(items.data_type().clone(), true);
    Arc::new(ListArray::new(Arc::new(field), lengths, items, None))
}

/// A column of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub values: Values,
}

/// The graph that an algorithm gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Subgraph {
    /// Some of the edges.
    Kept {
        /// Rows of the edge table, ascending.
        edges: Vec<u32>,
        /// Nodes by index, ascending; `None` means all.
        nodes: Option<Vec<u32>>,
    },
    /// Other edges between the nodes.
    Made {
        /// Their sources by node index.
        src: Vec<u32>,
        /// Their destinations by node index.
        dst: Vec<u32>,
        /// Their columns.
        columns: Vec<Column>,
    },
}

/// What an algorithm gives: columns in the order of [`crate::AlgorithmSpec::outputs`]. A layout gives `x`, `y`
/// and, in three dimensions, `z`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Output {
    /// Columns by node index.
    pub columns: Vec<Column>,
    /// Columns by row of the edge table.
    pub edges: Vec<Column>,
    /// The graph, where one is the result.
    pub graph: Option<Subgraph>,
    /// Iterations that it took, where the algorithm tells.
    pub iterations: Option<u64>,
    /// Where it was computed.
    pub place: ComputedOn,
}

impl Output {
    /// An output of one column of the nodes.
    #[must_use]
    pub fn one(name: &'static str, values: Values) -> Self {
        Self { columns: vec![Column { name, values }], ..Self::default() }
    }

    /// An output of some columns of the nodes.
    #[must_use]
    pub fn nodes(columns: Vec<Column>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// An output of one column of the edges.
    #[must_use]
    pub fn edges(name: &'static str, values: Values) -> Self {
        Self { edges: vec![Column { name, values }], ..Self::default() }
    }

    /// A graph out of some of the edges.
    #[must_use]
    pub fn kept(edges: Vec<u32>, nodes: Option<Vec<u32>>) -> Self {
        Self { graph: Some(Subgraph::Kept { edges, nodes }), ..Self::default() }
    }

    /// A column of labels, by node.
    #[must_use]
    pub fn labels(name: &'static str, labels: &[u32]) -> Self {
        Self::one(name, Values::I64(labels.iter().map(|l| i64::from(*l)).collect()))
    }

    /// The same after so many iterations.
    #[must_use]
    pub fn after(self, iterations: u64) -> Self {
        Self { iterations: Some(iterations), ..self }
    }

    /// The `x` and `y` columns as positions, when there are such.
    #[must_use]
    pub fn positions(&self) -> Option<Vec<[f32; 2]>> {
        let get = |name| {
            self.columns.iter().find(|c| c.name == name).and_then(|c| match &c.values {
                Values::F64(v) => Some(v),
                _ => None,
            })
        };
        let (x, y) = (get("x")?, get("y")?);
        Some(x.iter().zip(y).map(|(x, y)| [*x as f32, *y as f32]).collect())
    }
}
