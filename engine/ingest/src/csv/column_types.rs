//! Types that a caller demands of columns.

use serde_json::Value;

use crate::IngestError;
use crate::demand::{Demand, demand};

/// The demanded type of each column. `written` are the names in the header, where `names` has them
/// made unique: what is demanded of a repeated name goes for all of its columns.
pub fn demands(
    names: &[String],
    written: &[String],
    dtype: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Option<Demand>>, IngestError> {
    let mut out = vec![None; names.len()];
    match dtype {
        None | Some(Value::Null | Value::Bool(true)) => {}
        Some(all @ Value::String(_)) => out.fill(Some(demand(all)?)),
        Some(Value::Array(list)) => {
            if list.len() > names.len() {
                return Err(IngestError::option("dtype", "lists more types than columns"));
            }
            for (slot, one) in out.iter_mut().zip(list) {
                *slot = Some(demand(one)?);
            }
        }
        Some(Value::Object(map)) => {
            for (name, one) in map {
                let demand = demand(one)?;
                let at = names.iter().position(|n| n == name);
                if at.is_none() {
                    warnings
                        .push(format!("option `dtype` names a column {name:?} that there is not"));
                }
                for (i, slot) in out.iter_mut().enumerate() {
                    let repeated = written.get(i) == Some(name) && !map.contains_key(&names[i]);
                    if Some(i) == at || repeated {
                        *slot = Some(demand.clone());
                    }
                }
            }
        }
        Some(_) => return Err(IngestError::option("dtype", "must be a type, a list or an object")),
    }
    Ok(out)
}
