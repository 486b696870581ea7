//! `compute`: algorithms that run when the dataset is loaded. Each member is called as the column that
//! its result becomes in the nodes.

use graphlume_engine::{ComputeError, ComputeRequest};
use graphlume_identity::body::{kind, missing};
use graphlume_types::limits::COMPUTE_COLUMNS_MAX;
use graphlume_types::{Code, Coded};
use serde_json::{Map, Value};

use crate::error::ServiceError;

/// What a create body or a record asks for.
///
/// # Errors
/// A misshapen member, an unknown library or algorithm, one that is not available yet.
pub(crate) fn requests(compute: Option<&Value>) -> Result<Vec<ComputeRequest>, ServiceError> {
    let members = match compute {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(members)) => members,
        Some(other) => {
            return Err(wrong("compute", other, "an object of a name to libraries and alg"));
        }
    };
    if members.len() > COMPUTE_COLUMNS_MAX {
        return Err(ServiceError::TooLarge {
            what: "compute",
            limit: COMPUTE_COLUMNS_MAX as u64,
            unit: "algorithms",
        });
    }
    members.iter().map(|(name, member)| request(name, member)).collect()
}

fn request(name: &str, member: &Value) -> Result<ComputeRequest, ServiceError> {
    let at = format!("compute.{name:.64}");
    if name.is_empty() {
        return Err(ServiceError::invalid("compute", "compute has a member without a name"));
    }
    let Value::Object(member) = member else {
        return Err(wrong(&at, member, "an object with libraries and alg"));
    };
    const KNOWN: [&str; 2] = ["libraries", "alg"];
    if let Some(other) = member.keys().find(|k| !KNOWN.contains(&k.as_str())) {
        let field = format!("{at}.{other:.64}");
        let message = format!("{field} is unknown; the members are: libraries, alg");
        return Err(ServiceError::invalid(field, message));
    }
    let libraries = libraries(member, &format!("{at}.libraries"))?;
    let alg_at = format!("{at}.alg");
    let alg = match member.get("alg") {
        None | Some(Value::Null) => return Err(missing(&alg_at, "the name of an algorithm").into()),
        Some(Value::String(alg)) => alg,
        Some(other) => return Err(wrong(&alg_at, other, "the name of an algorithm")),
    };
    ComputeRequest::new(name, &libraries, alg).map_err(|e| match e {
        ComputeError::Library(_) => invalid(format!("{at}.libraries"), &e),
        _ if e.code() == Code::Unsupported => {
            ServiceError::Unsupported { field: "compute", message: format!("{alg_at}: {e}") }
        }
        _ => invalid(alg_at, &e),
    })
}

fn libraries<'a>(member: &'a Map<String, Value>, at: &str) -> Result<Vec<&'a str>, ServiceError> {
    const EXPECTED: &str = "an array of cugraph or igraph";
    let list = match member.get("libraries") {
        Some(Value::Array(list)) if !list.is_empty() => list,
        None | Some(Value::Null | Value::Array(_)) => return Err(missing(at, EXPECTED).into()),
        Some(other) => return Err(wrong(at, other, EXPECTED)),
    };
    let name = |(i, v): (usize, &'a Value)| {
        v.as_str().ok_or_else(|| wrong(&format!("{at}[{i}]"), v, "cugraph or igraph"))
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
