//! Names of a call and of its parameters, and the look whether a call has them.

use graphlume_expr::{ErrorCode, QueryError, listed, nearest};
use graphlume_store::CallOp;
use serde_json::Value;

/// Names of the engines that clients have. All give the same here.
pub const ENGINES: [&str; 7] =
    ["auto", "pandas", "cudf", "polars", "polars-gpu", "dask", "dask_cudf"];

/// What a call is named, and what it takes.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// Its name.
    pub name: &'static str,
    /// The parameters that must be given.
    pub required: &'static [&'static str],
    /// The parameters that may be given.
    pub optional: &'static [&'static str],
    /// Names of engines that it takes besides those of all calls.
    pub engines: &'static [&'static str],
}

impl Signature {
    /// Looks whether the parameters of a call are known, and those that it needs are there.
    ///
    /// # Errors
    /// [`QueryError`] with the parameter.
    pub fn check(&self, call: &CallOp) -> Result<(), QueryError> {
        let (found, name) = (self, self.name);
        let known: Vec<&str> = found.required.iter().chain(found.optional).copied().collect();
        if let Some(other) = call.params.keys().find(|key| !known.contains(&key.as_str())) {
            let text = format!("call {name:?} has no parameter {other:?}");
            let error = QueryError::new(ErrorCode::Call, text).field(format!("params.{other}"));
            return Err(match nearest(other, &known) {
                Some(near) => error.suggest(format!("did you mean {near:?}?")),
                None if known.is_empty() => error.suggest("it takes none"),
                None => error.suggest(format!("its parameters: {}", listed(&known))),
            });
        }
        let given = |key: &str| call.params.get(key).is_some_and(|v| *v != Value::Null);
        if let Some(missing) = found.required.iter().find(|key| !given(key)) {
            let text = format!("call {name:?} needs {missing:?}");
            return Err(
                QueryError::new(ErrorCode::MissingField, text).field(format!("params.{missing}"))
            );
        }
        check_engine(call, found)
    }
}

/// The refusal of a name that no call has, with the nearest of the `names` that there are.
#[must_use]
pub fn unknown(name: &str, names: &[&str]) -> QueryError {
    let error = QueryError::new(ErrorCode::Call, format!("call {name:?} does not exist"));
    let error = error.field("function").value(format!("{name:?}"));
    match nearest(name, names) {
        Some(near) => error.suggest(format!("did you mean {near:?}?")),
        None => error.suggest("see the list of calls in the documentation"),
    }
}

/// Refuses an `engine` of a call that no client has.
fn check_engine(call: &CallOp, found: &Signature) -> Result<(), QueryError> {
    let Some(value) = call.params.get("engine").filter(|v| !v.is_null()) else { return Ok(()) };
    let known = [&ENGINES[..], found.engines].concat();
    if value.as_str().is_some_and(|name| known.contains(&name)) {
        return Ok(());
    }
    let text = format!("\"engine\" of call {:?} must name an engine", call.function);
    Err(QueryError::new(ErrorCode::Type, text)
        .field("params.engine")
        .value(value)
        .suggest(format!("leave it out, or name one of {}", known.join(", "))))
}
