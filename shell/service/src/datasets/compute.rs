//! `compute` and `layout`: algorithms that run once the graph of the dataset is there. A member of `compute` is called as the column
//! that its result becomes in the nodes; the one member of `layout` places the nodes, in the columns x and y. Both take the
//! parameters of the libraries, as the calls of queries do.

use graphlume_engine::{ComputeError, ComputeRequest};
use graphlume_identity::body::{kind, missing};
use graphlume_storage::DatasetRec;
use graphlume_types::limits::COMPUTE_COLUMNS_MAX;
use graphlume_types::{Code, Coded, Notice, note};
use serde_json::{Map, Value};

use crate::error::ServiceError;

/// What a create body or a record asks for.
///
/// # Errors
/// A misshapen member, an unknown library or algorithm, one that is not available yet; a parameter that the algorithm does
/// not have, a value that it cannot have, a kind of graph that it does not take.
pub(crate) fn requests(compute: Option<&Value>) -> Result<Vec<ComputeRequest>, ServiceError> {
    let members = members("compute", compute)?;
    if members.len() > COMPUTE_COLUMNS_MAX {
        return Err(ServiceError::TooLarge {
            what: "compute",
            limit: COMPUTE_COLUMNS_MAX as u64,
            unit: "algorithms",
        });
    }
    members.into_iter().map(|(name, member)| request("compute", name, member)).collect()
}

/// The layout that a create body or a record asks for, if any.
///
/// # Errors
/// As [`requests`]; several members, a parameter that the layout does not have, a value that it cannot have.
pub(crate) fn layout(layout: Option<&Value>) -> Result<Option<ComputeRequest>, ServiceError> {
    let members = members("layout", layout)?;
    let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    if names.len() > 1 {
        let names: String = names.join(", ").chars().take(200).collect();
        let message =
            format!("layout has several members ({names}), and a node has one place: keep one");
        return Err(ServiceError::invalid("layout", message));
    }
    let one = members.first().map(|(name, member)| request("layout", name, member));
    one.transpose()
}

/// What a record asks for that can be run, the layout last; what cannot is told.
pub(super) fn of_record(rec: &DatasetRec, notices: &mut Vec<Notice>) -> Vec<ComputeRequest> {
    let mut failed = |slug, e: ServiceError| {
        note(notices, Notice::new(slug, format!("{e}: not run")));
    };
    let mut all = requests(Some(&rec.compute)).unwrap_or_else(|e| {
        failed("compute-not-run", e);
        Vec::new()
    });
    all.extend(layout(Some(&rec.layout)).unwrap_or_else(|e| {
        failed("layout-not-run", e);
        None
    }));
    all
}

/// The members of an object that may be absent.
fn members<'a>(
    field: &'static str,
    value: Option<&'a Value>,
) -> Result<Vec<(&'a String, &'a Value)>, ServiceError> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(members)) => Ok(members.iter().collect()),
        Some(other) => {
            Err(wrong(field, other, "an object of a name to an object with libraries and alg"))
        }
    }
}

fn request(
    field: &'static str,
    name: &str,
    member: &Value,
) -> Result<ComputeRequest, ServiceError> {
    let at = format!("{field}.{name:.64}");
    let is_layout = field == "layout";
    if name.is_empty() {
        let message = format!("{field} has a member without a name");
        return Err(ServiceError::invalid(field, message));
    }
    let Value::Object(member) = member else {
        return Err(wrong(&at, member, "an object with libraries and alg"));
    };
    let known = &["libraries", "alg", "params", "kind"][..if is_layout { 3 } else { 4 }];
    if let Some(other) = member.keys().find(|k| !known.contains(&k.as_str())) {
        let field = format!("{at}.{other:.64}");
        let message = format!("{field} is unknown; the members are: {}", known.join(", "));
        return Err(ServiceError::invalid(field, message));
    }
    let libraries = libraries(member, &format!("{at}.libraries"))?;
    let alg_at = format!("{at}.alg");
    let what = if is_layout { "the name of a layout" } else { "the name of an algorithm" };
    let alg = match member.get("alg") {
        None | Some(Value::Null) => return Err(missing(&alg_at, what).into()),
        Some(Value::String(alg)) => alg,
        Some(other) => return Err(wrong(&alg_at, other, what)),
    };
    let none = Map::new();
    let params = match member.get("params") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(params)) => params,
        Some(other) => return Err(wrong(&format!("{at}.params"), other, "an object")),
    };
    let kind_at = format!("{at}.kind");
    let graph = match member.get("kind") {
        None | Some(Value::Null) => None,
        Some(Value::String(kind)) => Some(kind),
        Some(other) => return Err(wrong(&kind_at, other, "the name of a kind of graph")),
    };
    let made = if is_layout {
        ComputeRequest::layout(name, &libraries, alg, params)
    } else {
        ComputeRequest::new(name, &libraries, alg, params)
    };
    let made = made.and_then(|request| match graph {
        Some(kind) => request.on_graph(kind),
        None => Ok(request),
    });
    made.map_err(|e| match &e {
        ComputeError::Library(_) => invalid(format!("{at}.libraries"), &e),
        ComputeError::GraphKind(_) => invalid(kind_at, &e),
        ComputeError::Param { name, .. } => invalid(format!("{at}.params.{name:.64}"), &e),
        _ if e.code() == Code::Unsupported => {
            ServiceError::Unsupported { field, message: format!("{alg_at}: {e}") }
        }
        _ => invalid(alg_at, &e),
    })
}

fn libraries<'a>(
    member: &'a Map<String, Value>,
    field: &str,
) -> Result<Vec<&'a str>, ServiceError> {
    const EXPECTED: &str = "an array of cugraph or igraph";
    let list = match member.get("libraries") {
        Some(Value::Array(list)) if !list.is_empty() => list,
        None | Some(Value::Null | Value::Array(_)) => return Err(missing(field, EXPECTED).into()),
        Some(other) => return Err(wrong(field, other, EXPECTED)),
    };
    let name = |(i, v): (usize, &'a Value)| {
        v.as_str().ok_or_else(|| wrong(&format!("{field}[{i}]"), v, "cugraph or igraph"))
    };
    list.iter().enumerate().map(name).collect()
}

fn invalid(field: String, e: &ComputeError) -> ServiceError {
    let message = format!("{field}: {e}");
    ServiceError::invalid(field, message)
}

fn wrong(field: &str, v: &Value, expected: &str) -> ServiceError {
    let message = format!("{field} is a JSON {}; expected {expected}", kind(v));
    ServiceError::invalid(field.to_owned(), message)
}
