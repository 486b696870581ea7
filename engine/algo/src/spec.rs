//! The shape of an entry of the registry, and of what it takes and gives.

use crate::place::ComputedOn;
use crate::{AlgoError, Input, Output, ParamValues};

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
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The id of a node or a list of such; as an output a list for each node.
    Nodes,
    /// A count, or a list of ids of nodes.
    IntOrNodes,
    /// Pairs of nodes: `[[a, b], ...]`, `{"first": [...], "second": [...]}` or a list of such rows.
    Pairs,
    /// Numbers of some nodes: `{"vertex": [...], "values": [...]}`, a list of such rows or of pairs, or the name of a
    /// column of the nodes, or one number for each node.
    NodeValues,
    /// A finite number for all nodes, or a table as [`Self::NodeValues`].
    FloatOrNodeValues,
    /// The name of a column of the edges.
    EdgeColumn,
    /// A list of whole numbers for each node.
    IntList,
    /// A row of numbers for each node, each a list.
    Matrix,
    /// The coordinates of every node: a list of lists, in the order of the nodes.
    Positions,
    /// Coordinates of some nodes: `{"vertex": [...], "x": [...], "y": [...]}` or a list of such rows.
    PositionTable,
    /// One of these words, or an object of settings.
    Preset(&'static [&'static str]),
}

impl Dtype {
    /// The words that name the type in documentation and messages.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::Bool => "bool".to_owned(),
            Self::Int => "int".to_owned(),
            Self::Float => "float".to_owned(),
            Self::Node => "node id".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Nodes => "node id or list of node ids".to_owned(),
            Self::IntOrNodes => "int or list of node ids".to_owned(),
            Self::Pairs => "list of pairs of node ids".to_owned(),
            Self::NodeValues => {
                "table of node ids and numbers, or name of a node column".to_owned()
            }
            Self::FloatOrNodeValues => {
                "float, table of node ids and numbers, or name of a node column".to_owned()
            }
            Self::EdgeColumn => "name of an edge column".to_owned(),
            Self::IntList => "list of ints".to_owned(),
            Self::Matrix => "table of numbers, a list for each node".to_owned(),
            Self::Positions => "list of coordinates for each node".to_owned(),
            Self::PositionTable => "table of node ids, x and y".to_owned(),
            Self::Preset(words) => format!("one of {}, or an object of settings", words.join(", ")),
        }
    }
}

/// What the result of an algorithm is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// Columns of the nodes.
    Nodes,
    /// Columns of the edges.
    Edges,
    /// A graph: some of the edges, or others.
    Graph,
}

/// How the work of an algorithm grows with the `n` nodes and `m` edges of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// O(n + m).
    Linear,
    /// O(m log n).
    LogLinear,
    /// O(m) an iteration.
    Iterative,
    /// The sum over all edges of the smaller degree of their ends.
    Wedges,
    /// O(n m): a search from each node.
    Searches,
    /// O(n²) or more.
    Quadratic,
}

impl Cost {
    /// The formula for documentation.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Linear => "O(n + m)",
            Self::LogLinear => "O(m log n)",
            Self::Iterative => "O(m) an iteration",
            Self::Wedges => "O(sum of min degree over edges)",
            Self::Searches => "O(n m)",
            Self::Quadratic => "O(n^2) or more",
        }
    }
}

/// A public name: `library` is `cugraph` or `igraph`.
///
/// The names of the interface are listed in [`crate::schema`]; an `extra` is called like them and is not listed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The namespace.
    pub library: &'static str,
    /// The name in it.
    pub name: &'static str,
    /// Whether the interface does not promise it.
    pub extra: bool,
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

/// Where a search begins.
#[derive(Clone, Copy, Debug)]
pub struct Starts {
    /// The parameter that names the nodes.
    pub param: &'static str,
    /// How many are taken when it names none.
    pub default: usize,
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
    /// Whether it refuses cuGraph's multigraphs.
    pub simple_only: bool,
    /// Parameters that may be given besides, and change nothing.
    pub accepted: &'static [Accepted],
    /// Where a search begins, where it is one.
    pub starts: Option<Starts>,
    /// What its result is about.
    pub gives: Gives,
    /// Its output columns: of the edges where it gives those, else of the nodes. An algorithm that gives a graph may have
    /// columns beside it.
    pub outputs: &'static [OutputSpec],
    /// What it computes.
    pub doc: &'static str,
    /// The paper that it is taken from.
    pub paper: &'static str,
    /// How its work grows.
    pub cost: Cost,
    /// Runs it on the CPU.
    pub run: fn(&Input<'_>, &ParamValues) -> Result<Output, AlgoError>,
}

impl AlgorithmSpec {
    /// What most algorithms have in common: columns of the nodes, at a cost that grows with the edges.
    pub const BASE: Self = Self {
        id: "",
        names: &[],
        kind: Kind::Compute,
        params: &[],
        simple_only: false,
        accepted: &[],
        starts: None,
        gives: Gives::Nodes,
        outputs: &[],
        doc: "",
        paper: "",
        cost: Cost::Linear,
        run: |_, _| {
            let (columns, edges) = (Vec::new(), Vec::new());
            Ok(Output { columns, edges, graph: None, iterations: None, place: ComputedOn::Cpu })
        },
    };
}

/// A name of cuGraph.
#[must_use]
pub const fn cugraph(name: &'static str) -> Name {
    Name { library: "cugraph", name, extra: false }
}

/// A name of igraph.
#[must_use]
pub const fn igraph(name: &'static str) -> Name {
    Name { library: "igraph", name, extra: false }
}

/// A name in the namespace of `library` that the interface does not list.
#[must_use]
pub const fn extra(library: &'static str, name: &'static str) -> Name {
    Name { library, name, extra: true }
}

/// A parameter.
#[must_use]
pub const fn param(
    name: &'static str,
    dtype: Dtype,
    default: &'static str,
    range: Option<(f64, f64)>,
    doc: &'static str,
) -> ParamSpec {
    ParamSpec { name, dtype, default, range, doc }
}

/// A parameter that the library takes and does nothing with.
#[must_use]
pub const fn ignored(name: &'static str) -> Accepted {
    Accepted { name, values: None }
}

/// A parameter of the library that has one of these values here, or null.
#[must_use]
pub const fn only(name: &'static str, values: &'static str) -> Accepted {
    Accepted { name, values: Some(values) }
}

/// An output column.
#[must_use]
pub const fn output(name: &'static str, dtype: Dtype, doc: &'static str) -> OutputSpec {
    OutputSpec { name, dtype, doc }
}

/// The range of seeds.
pub const SEED: Option<(f64, f64)> = Some((0.0, 9e15));
/// The range of a share.
pub const UNIT: Option<(f64, f64)> = Some((0.0, 1.0));
/// Whether edges lead one way only.
pub const DIRECTED: ParamSpec =
    param("directed", Dtype::Bool, "true", None, "follow edges one way only");
/// The seed.
pub const RANDOM_STATE: ParamSpec =
    param("random_state", Dtype::Int, "0", SEED, "seed: equal seeds give equal results");
/// The edge column that igraph's algorithms take weights from.
pub const WEIGHTS: ParamSpec =
    param("weights", Dtype::EdgeColumn, "null", None, "edge column of the weights; null is 1 each");
/// The nodes that get a value, where igraph lets one choose.
pub const VERTICES: ParamSpec =
    param("vertices", Dtype::Nodes, "null", None, "nodes that get a value; null is all");
/// Which edges of a node count.
pub const MODE: ParamSpec = param(
    "mode",
    Dtype::Choice(&["all", "in", "out"]),
    "\"all\"",
    None,
    "which edges are followed: out, in, or all for either way",
);
