//! Mappings from values to colours, sizes and other numbers.

use std::collections::HashMap;

use arrow_array::ArrayRef;
use rayon::prelude::*;
use serde_json::Value;

use crate::bind::value_text;

/// "This row has no outcome."
pub(crate) const NONE: u32 = u32::MAX;

/// A rule from values to outcomes, which are JSON as uploaded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Mapping {
    /// By exact value.
    Categorical { fixed: Vec<(String, Value)>, other: Option<Value> },
    /// By the first bin whose upper end is above the value; `None` has no upper end.
    Continuous { bins: Vec<(Option<f64>, Value)>, inclusive: bool, other: Option<Value> },
}

/// What a mapping made of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mapped {
    /// Per row the number of its outcome, or [`NONE`].
    pub(crate) codes: Vec<u32>,
    /// Outcomes with the words that explain them.
    pub(crate) outcomes: Vec<(String, Value)>,
}

impl Mapping {
    /// Reads a mapping in any of the forms that clients send: wrapped in `categorical` or `continuous`,
    /// without that wrapper, or nested in a whole encoding.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        if let Some(inner) = value.get("mapping").filter(|m| m.is_object()) {
            return Self::parse(inner);
        }
        let present = |name: &str| value.get(name).filter(|v| v.is_object());
        if let Some(inner) = present("categorical").or_else(|| present("continuous")) {
            return Self::parse(inner);
        }
        let other = value.get("other").filter(|v| !v.is_null()).cloned();
        if let Some(fixed) = value.get("fixed").and_then(Value::as_object) {
            let fixed = fixed.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
            return Some(Self::Categorical { fixed, other });
        }
        let bins = value.get("bins")?.as_array()?;
        let bin = |b: &Value| {
            let [upper, outcome] = b.as_array()?.as_slice() else { return None };
            let upper = if upper.is_null() { None } else { Some(number(upper)?) };
            Some((upper, outcome.clone()))
        };
        let bins = bins.iter().map(bin).collect::<Option<_>>()?;
        let inclusive = value.get("comparator").and_then(Value::as_str) == Some("<=");
        Some(Self::Continuous { bins, inclusive, other })
    }

    /// The outcomes of a column; `None` when bins meet values that are not numbers.
    pub(crate) fn apply(&self, array: &ArrayRef) -> Option<Mapped> {
        match self {
            Self::Categorical { fixed, other } => categorical(array, fixed, other.as_ref()),
            Self::Continuous { bins, inclusive, other } => {
                continuous(array, bins, *inclusive, other.as_ref())
            }
        }
    }
}

/// A number, or a text that is one.
pub(crate) fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(s) => s.trim().parse().ok(),
        other => other.as_f64(),
    };
    number.filter(|v: &f64| v.is_finite())
}

/// Adds the outcome for everything else; its number, or [`NONE`] when there is none.
fn push_other(outcomes: &mut Vec<(String, Value)>, other: Option<&Value>) -> u32 {
    let Some(other) = other else { return NONE };
    outcomes.push(("other".to_owned(), other.clone()));
    outcomes.len() as u32 - 1
}

fn categorical(
    array: &ArrayRef,
    fixed: &[(String, Value)],
    other: Option<&Value>,
) -> Option<Mapped> {
    let distinct = graphlume_graph::distinct(array)?;
    let mut outcomes = fixed.to_vec();
    let rest = push_other(&mut outcomes, other);
    let by_text: HashMap<&str, u32> =
        fixed.iter().enumerate().map(|(i, (k, _))| (k.as_str(), i as u32)).collect();
    let of_value: Vec<u32> = distinct
        .first_rows
        .par_iter()
        .map(|row| {
            let text = value_text(array.as_ref(), *row as usize)?;
            // Keys made by Python's str() write booleans with a capital.
            let python = match text.as_str() {
                "true" => "True",
                "false" => "False",
                other => other,
            };
            by_text.get(text.as_str()).or_else(|| by_text.get(python)).copied()
        })
        .map(|found| found.unwrap_or(rest))
        .collect();
    let code = |code: &u32| of_value.get(*code as usize).copied().unwrap_or(rest);
    Some(Mapped { codes: distinct.codes.par_iter().map(code).collect(), outcomes })
}

fn continuous(
    array: &ArrayRef,
    bins: &[(Option<f64>, Value)],
    inclusive: bool,
    other: Option<&Value>,
) -> Option<Mapped> {
    let values = graphlume_table::to_f64(array.as_ref())?;
    let sign = if inclusive { "≤" } else { "<" };
    let label = |i: usize| {
        let below = i.checked_sub(1).and_then(|i| bins[i].0);
        match (below, bins[i].0) {
            (None, Some(upper)) => format!("{sign} {upper}"),
            (Some(lower), Some(upper)) => format!("{lower} – {upper}"),
            (Some(lower), None) => format!("{} {lower}", if inclusive { ">" } else { "≥" }),
            (None, None) => "all".to_owned(),
        }
    };
    let mut outcomes: Vec<(String, Value)> =
        bins.iter().enumerate().map(|(i, (_, v))| (label(i), v.clone())).collect();
    let rest = push_other(&mut outcomes, other);
    let code = |v: &f64| {
        if v.is_nan() {
            return rest;
        }
        let fits = |(upper, _): &(Option<f64>, Value)| {
            upper.is_none_or(|upper| if inclusive { *v <= upper } else { *v < upper })
        };
        bins.iter().position(fits).map_or(rest, |i| i as u32)
    };
    Some(Mapped { codes: values.par_iter().map(code).collect(), outcomes })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Float64Array, Int64Array, StringArray};
    use serde_json::json;

    use super::*;

    /// Outcomes row by row.
    fn rows(mapping: &Value, array: ArrayRef) -> Vec<Value> {
        let mapped = Mapping::parse(mapping).unwrap().apply(&array).unwrap();
        let outcome =
            |c: &u32| mapped.outcomes.get(*c as usize).map_or(Value::Null, |o| o.1.clone());
        mapped.codes.iter().map(outcome).collect()
    }

    #[test]
    fn categories_match_by_the_text_of_the_value() {
        let mapping =
            json!({"categorical": {"fixed": {"1": "a", "true": "b", "x": "c"}, "other": "z"}});
        let ints: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), None]));
        assert_eq!(rows(&mapping, ints), ["a", "z", "z"]);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1.5, f64::NAN]));
        assert_eq!(rows(&mapping, floats), ["a", "z", "z"]);
        let bools: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        assert_eq!(rows(&mapping, bools), ["b", "z"]);
        let text: ArrayRef = Arc::new(StringArray::from(vec!["x", "1", ""]));
        assert_eq!(rows(&mapping, text), ["c", "a", "z"]);
    }

    #[test]
    fn keys_written_by_python_match_booleans() {
        let mapping = json!({"fixed": {"True": 1, "False": 2}});
        let bools: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
        assert_eq!(rows(&mapping, bools), [json!(1), json!(2), Value::Null]);
    }

    #[test]
    fn the_first_bin_above_the_value_wins() {
        let values =
            || -> ArrayRef { Arc::new(Float64Array::from(vec![-1.0, 5.0, 9.9, 10.0, f64::NAN])) };
        let bins = json!([[5, "low"], [10, "mid"], [null, "high"]]);
        let less = json!({"continuous": {"bins": bins, "comparator": "<", "other": "none"}});
        assert_eq!(rows(&less, values()), ["low", "mid", "mid", "high", "none"]);
        let at_most = json!({"continuous": {"bins": bins, "comparator": "<="}});
        assert_eq!(
            rows(&at_most, values()),
            [json!("low"), json!("low"), json!("mid"), json!("mid"), Value::Null]
        );
        let mapped = Mapping::parse(&less).unwrap().apply(&values()).unwrap();
        let labels: Vec<&str> = mapped.outcomes.iter().map(|(l, _)| l.as_str()).collect();
        assert_eq!(labels, ["< 5", "5 – 10", "≥ 10", "other"]);
    }

    #[test]
    fn loose_forms_are_read_and_broken_ones_refused() {
        let wanted = Mapping::parse(&json!({"fixed": {"a": 1}, "other": 2})).unwrap();
        for form in [
            json!({"categorical": {"fixed": {"a": 1}, "other": 2}}),
            json!({"mapping": {"categorical": {"fixed": {"a": 1}, "other": 2}}}),
            json!({"mapping": {"mapping": {"fixed": {"a": 1}, "other": 2}}}),
        ] {
            assert_eq!(Mapping::parse(&form), Some(wanted.clone()), "{form}");
        }
        for form in [json!(null), json!({}), json!({"bins": [[1]]}), json!({"bins": [["x", 1]]})] {
            assert_eq!(Mapping::parse(&form), None, "{form}");
        }
        let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        assert_eq!(Mapping::parse(&json!({"bins": [[1, 2]]})).unwrap().apply(&text), None);
    }
}
