//! The shape of an entry of the registry, and of what it takes and gives.

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;

use crate::{AlgoError, ParamValues};

/// What an algorithm makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A column for each node.
    Compute,
    /// Coordinates for each node.
    Layout,
}

impl Kind {
    /// The word that names the kind in requests and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Layout => "layout",
        }
    }
}

/// The type of a parameter or of an output column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int,
    /// A finite number.
    Float,
    /// The id of a node, or null.
    Node,
}

impl Dtype {
    /// The word that names the type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::Node => "node id",
        }
    }
}

/// A public name: `library` is `cugraph` or `igraph`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The namespace.
    pub library: &'static str,
    /// The name in it.
    pub name: &'static str,
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub dtype: Dtype,
    /// Its default as JSON text; `null` means that the algorithm chooses, as its documentation says.
    pub default: &'static str,
    /// Smallest and largest legal value of a number.
    pub range: Option<(f64, f64)>,
    /// What it does.
    pub doc: &'static str,
}

/// A parameter of the library that makes no difference here.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    /// Its name.
    pub name: &'static str,
    /// The values that it may have, as a JSON array; without them any, for the library does nothing with it.
    pub values: Option<&'static str>,
}

/// One output column.
#[derive(Clone, Copy, Debug)]
pub struct OutputSpec {
    /// Column name when the request names none; the first column is renamed to the requested one.
    pub name: &'static str,
    /// Its type.
    pub dtype: Dtype,
    /// What the values mean.
    pub doc: &'static str,
}

/// Everything that is known about an algorithm, and the way to run it.
#[derive(Debug)]
pub struct AlgorithmSpec {
    /// Our name: unique, snake case.
    pub id: &'static str,
    /// The public names it answers to.
    pub names: &'static [Name],
    /// What it makes.
    pub kind: Kind,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// Parameters that may be given besides, and change nothing.
    pub accepted: &'static [Accepted],
    /// Its output columns.
    pub outputs: &'static [OutputSpec],
    /// What it computes, with its source.
    pub doc: &'static str,
    /// Runs it.
    pub run: fn(&Input<'_>, &ParamValues) -> Result<Output, AlgoError>,
}

/// What an algorithm runs on.
pub struct Input<'a> {
    /// The graph.
    pub topology: &'a Arc<Topology>,
    /// Edge weights by edge table row, when the request has some.
    pub weights: Option<&'a [f32]>,
    /// Finds the node index of a node id given as text.
    pub resolve: &'a (dyn Fn(&str) -> Option<u32> + Sync),
    /// Asked regularly.
    pub cancel: &'a CancelToken,
}

/// The values of a column in node-index order.
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
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A column of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub values: Values,
}

/// What an algorithm gives: columns in the order of [`AlgorithmSpec::outputs`]. A layout gives `x`, `y`
/// and, in three dimensions, `z`.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The columns.
    pub columns: Vec<Column>,
    /// Iterations that it took, where the algorithm tells.
    pub iterations: Option<u64>,
}

impl Output {
    /// An output of one column.
    #[must_use]
    pub fn one(name: &'static str, values: Values) -> Self {
        Self { columns: vec![Column { name, values }], iterations: None }
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
