//! Wire format of clients: JSON to operations. Every limit of size and depth is checked here.

mod op;
mod predicate;
pub(crate) mod value;

use serde_json::{Map, Value};

use graphlume_expr::{Cmp, ErrorCode, QueryError};
use graphlume_graph::Direction;
use graphlume_store::CallOp;
use graphlume_store::filter::Predicate;
use graphlume_types::limits::{QUERY_BINDINGS_MAX, QUERY_DEPTH_MAX, QUERY_STEPS_MAX};

pub(crate) use op::{bounded, filter};
pub(crate) use predicate::regex;

type Object = Map<String, Value>;

/// A whole query.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// Operations one after the other.
    Chain(Chain),
    /// Named results.
    Let(Let),
}

/// Operations one after the other, and conditions between the elements of one path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    /// The operations.
    pub ops: Vec<Op>,
    /// Conditions that all hold on a path.
    pub clauses: Vec<Clause>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Keeps nodes.
    Node(NodeOp),
    /// Follows edges.
    Edge(Box<EdgeOp>),
    /// Calls a function.
    Call(CallOp),
}

/// Column names and the tests of their cells.
pub type Filter = Vec<(String, Predicate)>;

/// A step that keeps nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeOp {
    /// Tests of columns; all must pass.
    pub filter: Filter,
    /// Column that marks the nodes of this step.
    pub name: Option<String>,
    /// A condition in the data frame's own language.
    pub query: Option<String>,
}

/// A step that follows edges.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeOp {
    /// Which way.
    pub direction: Direction,
    /// Hops at least.
    pub min: u32,
    /// Hops at most; no bound when absent.
    pub max: Option<u32>,
    /// Whether the query named the least number of hops; results then depend on hop numbers.
    pub min_named: bool,
    /// Keep edges from this hop on.
    pub output_min: Option<u32>,
    /// Keep edges up to this hop.
    pub output_max: Option<u32>,
    /// Column for the hop at which a node is reached.
    pub label_nodes: Option<String>,
    /// Column for the hop at which an edge is used.
    pub label_edges: Option<String>,
    /// Whether the first nodes are labelled 0.
    pub label_seeds: bool,
    /// Whether paths of length zero count.
    pub zero_hop_seed: bool,
    /// Tests of edges.
    pub edge: NodeOp,
    /// Tests of the nodes that a hop leaves.
    pub source: NodeOp,
    /// Tests of the nodes that a hop reaches.
    pub destination: NodeOp,
    /// Column that marks the edges of this step.
    pub name: Option<String>,
}

impl EdgeOp {
    /// Whether this is one plain hop, whose result needs no hop numbers.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.max == Some(1) && self.min == 1 && !self.needs_labels()
    }

    /// Whether the result depends on the numbers of hops.
    #[must_use]
    pub fn needs_labels(&self) -> bool {
        self.label_nodes.is_some()
            || self.label_edges.is_some()
            || self.label_seeds
            || self.output_min.is_some()
            || self.output_max.is_some()
    }
}

/// A condition between two columns of elements on one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The comparison.
    pub cmp: Cmp,
    /// Alias and column.
    pub left: (String, String),
    /// Alias and column.
    pub right: (String, String),
}

/// Named results, in order of declaration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Let {
    /// The bindings.
    pub bindings: Vec<(String, Binding)>,
}

/// What a name is bound to.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    /// Operations on the graph of the query.
    Chain(Chain),
    /// Operations on another result.
    Ref(String, Chain),
    /// Further bindings.
    Let(Let),
    /// Another dataset.
    Remote(String),
}

impl Query {
    /// The ids of the other datasets that the query names, each once.
    #[must_use]
    pub fn datasets(&self) -> Vec<&str> {
        fn collect<'a>(query: &'a Let, into: &mut Vec<&'a str>) {
            for (_, binding) in &query.bindings {
                match binding {
                    Binding::Remote(id) if !into.contains(&id.as_str()) => into.push(id),
                    Binding::Let(inner) => collect(inner, into),
                    _ => {}
                }
            }
        }
        let mut found = Vec::new();
        if let Self::Let(query) = self {
            collect(query, &mut found);
        }
        found
    }
}

/// Reads a query.
///
/// # Errors
/// [`QueryError`] that names the field and the operation at fault.
pub fn parse(query: &Value) -> Result<Query, QueryError> {
    // All patterns of a query share one budget.
    graphlume_store::filter::within_budget(|| parse_within(query))
}

fn parse_within(query: &Value) -> Result<Query, QueryError> {
    match query {
        Value::Array(ops) => Ok(Query::Chain(chain(ops, None)?)),
        Value::Object(object) => {
            if let Some(inner) = object.get("gfql").or_else(|| {
                (object.get("type").and_then(Value::as_str) == Some("gfql_chain"))
                    .then(|| object.get("chain"))
                    .flatten()
            }) {
                return parse(inner);
            }
            match object.get("type").and_then(Value::as_str) {
                Some("Let" | "QueryDAG") => Ok(Query::Let(bindings(object, 0)?)),
                _ if object.contains_key("chain") => Ok(Query::Chain(chain_object(object)?)),
                Some("Node" | "Edge" | "Call" | "Ref" | "RemoteGraph") => {
                    Err(QueryError::new(ErrorCode::ChainType, "a single operation is no query")
                        .suggest("put it into an array: [operation]"))
                }
                Some(other) => Err(unknown_kind(other)),
                None => Ok(Query::Let(named(object, 0)?)),
            }
        }
        other => {
            Err(QueryError::new(ErrorCode::ChainType, "a query is an array of operations or a Let")
                .value(other)
                .suggest("for example [{\"type\": \"Node\", \"filter_dict\": {}}]"))
        }
    }
}

fn unknown_kind(kind: &str) -> QueryError {
    const KINDS: &[&str] = &["Node", "Edge", "Call", "Chain", "Let", "Ref", "RemoteGraph"];
    let hint = graphlume_expr::nearest(kind, KINDS);
    let error =
        QueryError::new(ErrorCode::ChainType, format!("operation type {kind:?} does not exist"));
    let error = error.field("type").value(format!("{kind:?}"));
    error.suggest(match hint {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("operation types: {}", KINDS.join(", ")),
    })
}

fn chain_object(object: &Object) -> Result<Chain, QueryError> {
    let ops = object.get("chain").ok_or_else(|| {
        QueryError::new(ErrorCode::MissingField, "a chain has an array \"chain\"").field("chain")
    })?;
    match ops.as_array() {
        Some(ops) => chain(ops, object.get("where")),
        None => {
            Err(QueryError::new(ErrorCode::ChainType, "\"chain\" must be an array of operations")
                .field("chain")
                .value(ops))
        }
    }
}

fn chain(ops: &[Value], clauses: Option<&Value>) -> Result<Chain, QueryError> {
    if ops.len() > QUERY_STEPS_MAX {
        let text = format!("the chain has {} steps; the limit is {QUERY_STEPS_MAX}", ops.len());
        return Err(QueryError::new(ErrorCode::Limit, text).suggest("split it with a Let"));
    }
    let mut read = Vec::with_capacity(ops.len());
    for (i, op) in ops.iter().enumerate() {
        read.extend(op::op(op).map_err(|e| e.at(i))?);
    }
    let clauses = match clauses {
        None | Some(Value::Null) => vec![],
        Some(Value::Array(items)) => items.iter().map(op::clause).collect::<Result<_, _>>()?,
        Some(other) => {
            return Err(QueryError::new(
                ErrorCode::Type,
                "\"where\" must be an array of conditions",
            )
            .field("where")
            .value(other));
        }
    };
    if !clauses.is_empty() && read.is_empty() {
        return Err(QueryError::new(ErrorCode::Type, "\"where\" needs operations to compare")
            .field("where"));
    }
    Ok(Chain { ops: read, clauses })
}

fn bindings(object: &Object, depth: usize) -> Result<Let, QueryError> {
    match object.get("bindings") {
        Some(Value::Object(named_bindings)) => named(named_bindings, depth),
        Some(other) => Err(QueryError::new(ErrorCode::Type, "\"bindings\" must be an object")
            .field("bindings")
            .value(other)),
        None => {
            Err(QueryError::new(ErrorCode::MissingField, "a Let has \"bindings\"")
                .field("bindings"))
        }
    }
}

fn named(object: &Object, depth: usize) -> Result<Let, QueryError> {
    if depth >= QUERY_DEPTH_MAX || object.len() > QUERY_BINDINGS_MAX {
        let text = format!(
            "a Let has at most {QUERY_BINDINGS_MAX} bindings and is nested at most \
             {QUERY_DEPTH_MAX} deep"
        );
        return Err(QueryError::new(ErrorCode::Limit, text).field("bindings"));
    }
    let read = |(name, value): (&String, &Value)| {
        let bound = binding(value, depth).map_err(|e| e.field(format!("bindings.{name}")))?;
        Ok((name.clone(), bound))
    };
    Ok(Let { bindings: object.iter().map(read).collect::<Result<_, QueryError>>()? })
}

fn binding(value: &Value, depth: usize) -> Result<Binding, QueryError> {
    let object = match value {
        Value::Array(ops) => return Ok(Binding::Chain(chain(ops, None)?)),
        Value::Object(object) => object,
        other => {
            return Err(QueryError::new(ErrorCode::Type, "a binding is an operation or a chain")
                .value(other));
        }
    };
    match object.get("type").and_then(Value::as_str) {
        Some("Let" | "QueryDAG") => Ok(Binding::Let(bindings(object, depth + 1)?)),
        Some("Ref" | "ChainRef") => {
            let name = op::name(object, "ref")?;
            let ops = match object.get("chain") {
                None | Some(Value::Null) => Chain::default(),
                Some(Value::Array(ops)) => chain(ops, None)?,
                Some(other) => {
                    return Err(QueryError::new(ErrorCode::Type, "\"chain\" must be an array")
                        .field("chain")
                        .value(other));
                }
            };
            Ok(Binding::Ref(name, ops))
        }
        Some("RemoteGraph") => {
            if object.get("token").is_some_and(|token| !token.is_null()) {
                let text = "another dataset is read with the rights of the one who asks, and with no token of its own";
                return Err(QueryError::new(ErrorCode::Unsupported, text).field("token").suggest(
                    "leave the token out, and have the dataset shared with the account that asks",
                ));
            }
            Ok(Binding::Remote(op::name(object, "dataset_id")?))
        }
        _ if object.contains_key("chain") => Ok(Binding::Chain(chain_object(object)?)),
        _ => Ok(Binding::Chain(Chain { ops: op::op(value)?, clauses: vec![] })),
    }
}
