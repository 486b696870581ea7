//! Input of an algorithm: its graph and its parameters.

use std::borrow::Cow;
use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use serde_json::Value;

use crate::accelerator::Accelerator;
use crate::spec::Dtype;
use crate::view::{Copies, GraphView, KeptView, Loops, Shape};
use crate::{AlgoError, AlgorithmSpec, ParamValues, start, util};

/// The names and columns behind the indices of a graph; who calls an algorithm knows them.
pub trait GraphData: Sync {
    /// The index of the node with this id, written as text.
    fn node(&self, id: &str) -> Option<u32>;

    /// The numbers of an edge column by row of the edge table, not a number where there is none.
    ///
    /// # Errors
    /// [`ColumnError`].
    fn edge_column(&self, name: &str) -> Result<Vec<f64>, ColumnError>;

    /// The numbers of a node column by node index, not a number where there is none.
    ///
    /// # Errors
    /// [`ColumnError`].
    fn node_column(&self, name: &str) -> Result<Vec<f64>, ColumnError>;

    /// The lists of a view of `topology` that were kept, where they were.
    fn kept(&self, topology: &Arc<Topology>, shape: Shape) -> Option<Arc<KeptView>> {
        let _ = (topology, shape);
        None
    }

    /// Keeps the lists of a view of `topology`, if it can.
    fn keep(&self, topology: &Arc<Topology>, shape: Shape, lists: KeptView) {
        let _ = (topology, shape, lists);
    }
}

/// Why a column cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnError {
    /// There is none of this name.
    Missing {
        /// Those that there are.
        known: Vec<String>,
    },
    /// It does not hold numbers.
    NotNumbers,
}

/// A graph whose nodes are called by their index, without columns.
#[derive(Clone, Copy, Debug)]
pub struct Unnamed(
    /// Number of nodes.
    pub u32,
);

impl GraphData for Unnamed {
    fn node(&self, id: &str) -> Option<u32> {
        id.parse().ok().filter(|v| *v < self.0)
    }

    fn edge_column(&self, _: &str) -> Result<Vec<f64>, ColumnError> {
        Err(ColumnError::Missing { known: Vec::new() })
    }

    fn node_column(&self, _: &str) -> Result<Vec<f64>, ColumnError> {
        Err(ColumnError::Missing { known: Vec::new() })
    }
}

/// Which weights an algorithm takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// All.
    Any,
    /// Those that are not negative.
    NotNegative,
    /// Those above 0.
    Positive,
}

/// What an algorithm runs on.
pub struct Input<'a> {
    /// The graph, every edge row apart.
    pub topology: &'a Arc<Topology>,
    /// Whose names and conventions the request uses: `cugraph` or `igraph`.
    pub library: &'a str,
    /// Whether the request is for a `MultiGraph` of cuGraph, whose copies of edges stay.
    pub multigraph: bool,
    /// The weights that are bound to the edges, by row of the edge table. cuGraph's algorithms use them; igraph's use a
    /// column that a parameter names.
    pub weights: Option<&'a [f64]>,
    /// Ids and columns.
    pub data: &'a dyn GraphData,
    /// Asked regularly.
    pub cancel: &'a CancelToken,
    /// The GPU, where the caller has one that can be used.
    pub device: Option<&'a dyn Accelerator>,
}

impl<'a> Input<'a> {
    /// A graph as igraph sees it, without ids, weights and columns.
    #[must_use]
    pub fn plain(
        topology: &'a Arc<Topology>,
        data: &'a dyn GraphData,
        cancel: &'a CancelToken,
    ) -> Self {
        Self {
            topology,
            library: "igraph",
            multigraph: false,
            weights: None,
            data,
            cancel,
            device: None,
        }
    }

    /// Number of nodes.
    #[must_use]
    pub fn num_nodes(&self) -> u32 {
        self.topology.num_nodes()
    }

    /// Whether the request is by a name of igraph.
    #[must_use]
    pub fn is_igraph(&self) -> bool {
        self.library == "igraph"
    }

    /// The weights by row of the edge table: the bound ones for cuGraph, else the column that the first
    /// [`Dtype::EdgeColumn`] parameter names.
    ///
    /// # Errors
    /// [`AlgoError::BadParam`] for a column that cannot be used, [`AlgoError::BadValue`] for a weight of the wrong sign.
    pub fn weights(
        &self,
        p: &ParamValues,
        sign: Sign,
    ) -> Result<Option<Cow<'a, [f64]>>, AlgoError> {
        let named = p.spec().params.iter().find(|s| s.dtype == Dtype::EdgeColumn);
        let given = named.and_then(|s| Some((s.name, p.text(s.name)?)));
        let weights: Cow<'a, [f64]> = match (given, self.weights) {
            (Some((param, column)), _) => Cow::Owned(self.edge_column(p, param, &column)?),
            (None, Some(bound)) if !self.is_igraph() => Cow::Borrowed(bound),
            _ => return Ok(None),
        };
        let wrong = |w: f64| match sign {
            Sign::Any => false,
            Sign::NotNegative => w < 0.0,
            Sign::Positive => w <= 0.0,
        };
        let rows = self.topology.out_row();
        let bad = rows.iter().find(|r| weights.get(**r as usize).is_some_and(|w| wrong(*w)));
        if let Some(row) = bad {
            return Err(AlgoError::BadValue {
                what: "weight",
                unit: "edge row",
                index: *row as usize,
                value: weights[*row as usize],
                expected: match sign {
                    Sign::Positive => "a number above 0",
                    _ => "a number that is not negative",
                },
            });
        }
        Ok(Some(weights))
    }

    /// The graph as the library of the request sees it, with or without directions.
    ///
    /// cuGraph takes edges with the same ends for one unless it was told of a multigraph, and counts loops once; igraph
    /// keeps every edge, and counts a loop twice where edges have no direction.
    ///
    /// # Errors
    /// See [`GraphView::new`].
    pub fn view(
        &self,
        directed: bool,
        weights: Option<&[f64]>,
    ) -> Result<GraphView<'a>, AlgoError> {
        let shape = match (self.is_igraph(), self.multigraph, directed) {
            (true, _, true) | (false, true, _) => {
                Shape { directed, copies: Copies::Keep, loops: Loops::Once }
            }
            (true, _, false) => Shape { directed, copies: Copies::Keep, loops: Loops::Twice },
            (false, false, true) => Shape { directed, copies: Copies::First, loops: Loops::Once },
            (false, false, false) => Shape { directed, copies: Copies::Least, loops: Loops::Once },
        };
        self.shaped(weights, shape)
    }

    /// The graph in a given shape. Its lists are kept with the graph, so that the next call that asks for the shape
    /// finds them.
    ///
    /// # Errors
    /// See [`GraphView::with`].
    pub fn shaped(
        &self,
        weights: Option<&[f64]>,
        shape: Shape,
    ) -> Result<GraphView<'a>, AlgoError> {
        let kept = self.data.kept(self.topology, shape);
        let (view, made) =
            GraphView::with(self.topology, weights, shape, kept.as_deref(), self.cancel)?;
        if let Some(made) = made {
            self.data.keep(self.topology, shape, made);
        }
        Ok(view)
    }

    /// The node that a [`Dtype::Node`] parameter names.
    ///
    /// # Errors
    /// [`AlgoError::BadParam`] when the graph has no such node.
    pub fn node(&self, p: &ParamValues, name: &str) -> Result<Option<u32>, AlgoError> {
        p.node(name).map(|id| self.resolved(p, name, &id)).transpose()
    }

    /// Where the search begins: at the nodes that its parameter names, else at those from which the most edges lead on.
    ///
    /// # Errors
    /// As [`Self::node`].
    pub fn starts(&self, p: &ParamValues) -> Result<Vec<u32>, AlgoError> {
        let Some(starts) = p.spec().starts else { return Ok(Vec::new()) };
        let given = self.nodes(p, starts.param)?;
        Ok(given.unwrap_or_else(|| {
            start::leading_on(self.topology, is_directed(p.spec(), p), starts.default)
        }))
    }

    /// The one node at which the search begins.
    ///
    /// # Errors
    /// As [`Self::node`].
    pub fn start(&self, p: &ParamValues) -> Result<u32, AlgoError> {
        Ok(self.starts(p)?.first().copied().unwrap_or(0))
    }

    /// The nodes that a [`Dtype::Nodes`] or [`Dtype::IntOrNodes`] parameter names, in the order given.
    ///
    /// # Errors
    /// As [`Self::node`].
    pub fn nodes(&self, p: &ParamValues, name: &str) -> Result<Option<Vec<u32>>, AlgoError> {
        let found =
            p.ids(name).map(|ids| ids.iter().map(|id| self.resolved(p, name, id)).collect());
        found.transpose()
    }

    /// The pairs of a [`Dtype::Pairs`] parameter.
    ///
    /// # Errors
    /// As [`Self::node`], and for what is no table of pairs.
    pub fn pairs(&self, p: &ParamValues, name: &str) -> Result<Option<Vec<(u32, u32)>>, AlgoError> {
        let rows = p.table(name)?;
        let pair = |row: &(Value, Value)| {
            let end = |v: &Value| self.resolved(p, name, &id_text(v));
            Ok((end(&row.0)?, end(&row.1)?))
        };
        rows.map(|rows| rows.iter().map(pair).collect()).transpose()
    }

    /// The numbers of a [`Dtype::NodeValues`] parameter, by node; a node that it leaves out has none.
    ///
    /// # Errors
    /// As [`Self::node`]; for a value that is no number, a node named twice, a column that cannot be used.
    pub fn node_values(
        &self,
        p: &ParamValues,
        name: &str,
    ) -> Result<Option<Vec<Option<f64>>>, AlgoError> {
        let n = self.num_nodes() as usize;
        if let Some(column) = p.text(name) {
            let found = self.data.node_column(&column);
            let found = found.map_err(|e| self.bad_column(p, name, &column, "nodes", &e))?;
            return Ok(Some(found.into_iter().map(|v| (!v.is_nan()).then_some(v)).collect()));
        }
        let bad = |value: String, expected: &str| p.bad(name, value, expected.to_owned());
        if let Some(all) = p.numbers(name) {
            if all.len() == n {
                return Ok(Some(all.into_iter().map(Some).collect()));
            }
            let given = format!("{} numbers", all.len());
            return Err(bad(given, &format!("one number for each of the {n} nodes, or a table")));
        }
        let Some(rows) = p.table(name)? else { return Ok(None) };
        let mut values = vec![None; n];
        for (id, value) in rows {
            let v = self.resolved(p, name, &id_text(&id))?;
            let number = value.as_f64().ok_or_else(|| bad(value.to_string(), "a number"))?;
            if values[v as usize].replace(number).is_some() {
                return Err(bad(format!("{id} twice"), "each node at most once"));
            }
        }
        Ok(Some(values))
    }

    /// The numbers of a [`Dtype::FloatOrNodeValues`] parameter, by node; a node that a table leaves out has none.
    ///
    /// # Errors
    /// As [`Self::node_values`], and for a number that is not in the parameter's range.
    ///
    /// [`Dtype::FloatOrNodeValues`]: crate::Dtype::FloatOrNodeValues
    pub fn float_or_node_values(
        &self,
        p: &ParamValues,
        name: &str,
    ) -> Result<Option<Vec<Option<f64>>>, AlgoError> {
        if let Some(number) = p.float(name) {
            return Ok(Some(vec![Some(number); self.num_nodes() as usize]));
        }
        let Some(values) = self.node_values(p, name)? else { return Ok(None) };
        let range = p.spec().params.iter().find(|param| param.name == name).and_then(|p| p.range);
        let Some((low, high)) = range else { return Ok(Some(values)) };
        match values.iter().flatten().find(|x| !(low..=high).contains(*x)) {
            Some(wrong) => Err(p.bad(name, wrong.to_string(), {
                format!("numbers from {} to {}", util::bound(low), util::bound(high))
            })),
            None => Ok(Some(values)),
        }
    }

    pub(crate) fn resolved(&self, p: &ParamValues, name: &str, id: &str) -> Result<u32, AlgoError> {
        let expected = || "the id of a node of the graph".to_owned();
        self.data.node(id).ok_or_else(|| p.bad(name, util::shown(&Value::from(id)), expected()))
    }

    fn edge_column(
        &self,
        p: &ParamValues,
        param: &str,
        column: &str,
    ) -> Result<Vec<f64>, AlgoError> {
        let found = self.data.edge_column(column);
        found.map_err(|e| self.bad_column(p, param, column, "edges", &e))
    }

    fn bad_column(
        &self,
        p: &ParamValues,
        param: &str,
        column: &str,
        of: &str,
        why: &ColumnError,
    ) -> AlgoError {
        let expected = match why {
            ColumnError::NotNumbers => format!("a column of the {of} that holds numbers"),
            ColumnError::Missing { known } if known.is_empty() => {
                format!("a column of the {of}, which have none here")
            }
            ColumnError::Missing { known } => {
                format!("a column of the {of}; there are {}", known.join(", "))
            }
        };
        p.bad(param, format!("{column:?}"), expected)
    }
}

/// The text of an id in JSON.
pub(crate) fn id_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether `spec` goes one way along edges when it runs with `p`; an algorithm without the choice goes either way.
#[must_use]
pub fn is_directed(spec: &AlgorithmSpec, p: &ParamValues) -> bool {
    spec.params.iter().any(|s| s.name == "directed") && p.bool("directed")
}
