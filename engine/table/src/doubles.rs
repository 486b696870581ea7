//! Whole numbers for readers whose numbers are doubles, as those of JavaScript.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use serde_json::Value;

/// The largest whole number up to which a double holds all.
const DOUBLE_MAX: u64 = 1 << 53;

/// Makes texts of the whole numbers in a value that a double does not hold, so that no reader rounds them.
///
/// # Examples
///
/// ```
/// let mut value = serde_json::json!({"id": 9_007_199_254_740_993_u64, "n": [7, 0.5]});
/// graphlume_table::keep_digits(&mut value);
/// assert_eq!(value, serde_json::json!({"id": "9007199254740993", "n": [7, 0.5]}));
/// ```
pub fn keep_digits(value: &mut Value) {
    match value {
        Value::Number(n) => {
            let size = n.as_u64().or_else(|| n.as_i64().map(i64::unsigned_abs));
            if size.is_some_and(|size| size > DOUBLE_MAX) {
                *value = Value::String(n.to_string());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(keep_digits),
        Value::Object(members) => members.values_mut().for_each(keep_digits),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
