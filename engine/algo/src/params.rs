//! Parameters: parsed from `name=value` text or JSON, checked against the specification.

use serde_json::{Map, Value};

use crate::spec::{AlgorithmSpec, Dtype, ParamSpec};
use crate::{AlgoError, util};

/// The parameters of one run: every legal name has a value, its own or the default.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamValues(Vec<(&'static str, Value)>);

impl ParamValues {
    /// Checks the members of a JSON object against `spec`.
    ///
    /// # Errors
    /// [`AlgoError::UnknownParam`] and [`AlgoError::BadParam`], which name the parameter and what is legal.
    pub fn from_json(spec: &AlgorithmSpec, given: &Map<String, Value>) -> Result<Self, AlgoError> {
        for name in given.keys() {
            if !spec.params.iter().any(|p| p.name == name) {
                check_accepted(spec, name, &given[name])?;
            }
        }
        let mut values = Vec::with_capacity(spec.params.len());
        for p in spec.params {
            let value = match given.get(p.name) {
                None => serde_json::from_str(p.default).unwrap_or(Value::Null),
                Some(v) => check(spec, p, v)?,
            };
            values.push((p.name, value));
        }
        Ok(Self(values))
    }

    /// Checks `name=value` texts against `spec`. A value is read as JSON where it is such, else as text.
    ///
    /// # Errors
    /// As [`ParamValues::from_json`], and when a text has no `=`.
    pub fn from_pairs<S: AsRef<str>>(spec: &AlgorithmSpec, pairs: &[S]) -> Result<Self, AlgoError> {
        let mut given = Map::new();
        for pair in pairs {
            let pair = pair.as_ref();
            let Some((name, value)) = pair.split_once('=') else {
                return Err(AlgoError::BadParam {
                    algorithm: spec.id,
                    name: pair.to_owned(),
                    value: "without a value".to_owned(),
                    expected: "name=value".to_owned(),
                });
            };
            let value =
                serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
            given.insert(name.trim().to_owned(), value);
        }
        Self::from_json(spec, &given)
    }

    /// The defaults of `spec`.
    #[must_use]
    pub fn defaults(spec: &AlgorithmSpec) -> Self {
        Self(
            spec.params
                .iter()
                .map(|p| (p.name, serde_json::from_str(p.default).unwrap_or(Value::Null)))
                .collect(),
        )
    }

    fn get(&self, name: &str) -> &Value {
        self.0.iter().find(|(n, _)| *n == name).map_or(&Value::Null, |(_, v)| v)
    }

    /// A truth value; `false` when absent.
    #[must_use]
    pub fn bool(&self, name: &str) -> bool {
        self.get(name).as_bool().unwrap_or(false)
    }

    /// A whole number; `None` for null.
    #[must_use]
    pub fn int(&self, name: &str) -> Option<i64> {
        self.get(name).as_i64()
    }

    /// A number; `None` for null.
    #[must_use]
    pub fn float(&self, name: &str) -> Option<f64> {
        self.get(name).as_f64()
    }

    /// The text of a node id; `None` for null.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<String> {
        match self.get(name) {
            Value::Null => None,
            Value::String(s) => Some(s.clone()),
            other => Some(other.to_string()),
        }
    }
}

/// A parameter that makes no difference may be given, with a value that does not ask for one.
fn check_accepted(spec: &AlgorithmSpec, name: &str, value: &Value) -> Result<(), AlgoError> {
    let accepted =
        spec.accepted.iter().find(|a| a.name == name).ok_or_else(|| unknown(spec, name))?;
    let Some(values) = accepted.values else { return Ok(()) };
    let legal: Vec<Value> = serde_json::from_str(values).unwrap_or_default();
    if value.is_null() || legal.contains(value) {
        return Ok(());
    }
    Err(AlgoError::BadParam {
        algorithm: spec.id,
        name: name.to_owned(),
        value: value.to_string(),
        expected: format!("one of {values}: anything else is not available yet"),
    })
}

fn unknown(spec: &AlgorithmSpec, name: &str) -> AlgoError {
    let legal: Vec<&str> = spec.params.iter().map(|p| p.name).collect();
    AlgoError::UnknownParam {
        algorithm: spec.id,
        name: name.to_owned(),
        hint: util::did_you_mean(name, &legal),
        legal: if legal.is_empty() { "none".to_owned() } else { legal.join(", ") },
    }
}

fn check(spec: &AlgorithmSpec, p: &ParamSpec, v: &Value) -> Result<Value, AlgoError> {
    let bad = || {
        let mut expected = format!("a value of type {}", p.dtype.as_str());
        if let Some((low, high)) = p.range {
            expected.push_str(&format!(" from {low} to {high}"));
        }
        if p.default == "null" {
            expected.push_str(", or null");
        }
        AlgoError::BadParam {
            algorithm: spec.id,
            name: p.name.to_owned(),
            value: v.to_string(),
            expected,
        }
    };
    if v.is_null() {
        return serde_json::from_str(p.default).map_err(|_| bad());
    }
    let in_range = |x: f64| x.is_finite() && p.range.is_none_or(|(l, h)| (l..=h).contains(&x));
    match p.dtype {
        Dtype::Bool => match v {
            Value::Bool(_) => Ok(v.clone()),
            Value::Number(n) if n.as_i64().is_some_and(|n| n == 0 || n == 1) => {
                Ok(Value::Bool(n.as_i64() == Some(1)))
            }
            _ => Err(bad()),
        },
        Dtype::Int => {
            let whole = v.as_i64().or_else(|| {
                v.as_f64().filter(|x| x.fract() == 0.0 && x.abs() < 9e15).map(|x| x as i64)
            });
            match whole {
                Some(i) if in_range(i as f64) => Ok(Value::from(i)),
                _ => Err(bad()),
            }
        }
        Dtype::Float => match v.as_f64() {
            Some(x) if in_range(x) => Ok(Value::from(x)),
            _ => Err(bad()),
        },
        Dtype::Node => match v {
            Value::String(_) | Value::Number(_) | Value::Bool(_) => Ok(v.clone()),
            _ => Err(bad()),
        },
    }
}
