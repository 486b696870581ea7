//! Parameters: parsed from `name=value` text or JSON, checked against the specification.

use serde_json::{Map, Value};

use crate::input::id_text;
use crate::spec::{AlgorithmSpec, Dtype, ParamSpec};
use crate::{AlgoError, util, vertex_set};

/// The parameters of one run: every legal name has a value, its own or the default.
#[derive(Clone, Debug)]
pub struct ParamValues {
    spec: &'static AlgorithmSpec,
    values: Vec<(&'static str, Value)>,
    edges_only: bool,
}

impl PartialEq for ParamValues {
    fn eq(&self, other: &Self) -> bool {
        self.spec.id == other.spec.id
            && self.values == other.values
            && self.edges_only == other.edges_only
    }
}

impl ParamValues {
    /// Checks the members of a JSON object against `spec`.
    ///
    /// # Errors
    /// [`AlgoError::UnknownParam`] and [`AlgoError::BadParam`], which name the parameter and what is legal.
    pub fn from_json(
        spec: &'static AlgorithmSpec,
        given: &Map<String, Value>,
    ) -> Result<Self, AlgoError> {
        let mut edges_only = false;
        for name in given.keys() {
            if vertex_set::is_param(spec, name) {
                edges_only = vertex_set::is_edges_only(spec, &given[name])?;
            } else if !spec.params.iter().any(|p| p.name == name) {
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
        Ok(Self { spec, values, edges_only })
    }

    /// Checks `name=value` texts against `spec`. A value is read as JSON where it is such, else as text.
    ///
    /// # Errors
    /// As [`ParamValues::from_json`], and when a text has no `=`.
    pub fn from_pairs<S: AsRef<str>>(
        spec: &'static AlgorithmSpec,
        pairs: &[S],
    ) -> Result<Self, AlgoError> {
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
    pub fn defaults(spec: &'static AlgorithmSpec) -> Self {
        let default = |p: &ParamSpec| serde_json::from_str(p.default).unwrap_or(Value::Null);
        let values = spec.params.iter().map(|p| (p.name, default(p))).collect();
        Self { spec, values, edges_only: false }
    }

    /// The algorithm that the parameters are for.
    #[must_use]
    pub fn spec(&self) -> &'static AlgorithmSpec {
        self.spec
    }

    /// Whether only the nodes that have edges belong to the graph.
    pub(crate) fn edges_only(&self) -> bool {
        self.edges_only
    }

    /// The error of a parameter that has a value which the graph or another parameter makes illegal.
    #[must_use]
    pub fn bad(&self, name: &str, value: String, expected: String) -> AlgoError {
        AlgoError::BadParam { algorithm: self.spec.id, name: name.to_owned(), value, expected }
    }

    fn get(&self, name: &str) -> &Value {
        self.values.iter().find(|(n, _)| *n == name).map_or(&Value::Null, |(_, v)| v)
    }

    /// Whether a parameter has a value other than null.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        !self.get(name).is_null()
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

    /// A count that has a default and a range; 0 for null.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.int(name).unwrap_or(0).max(0).unsigned_abs()
    }

    /// A count that may be null.
    #[must_use]
    pub fn limit(&self, name: &str) -> Option<u64> {
        self.int(name).and_then(|v| u64::try_from(v).ok())
    }

    /// A text: a word of a choice, or the name of a column.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).as_str().map(str::to_owned)
    }

    /// The ids that a parameter names, one or several; `None` for null and for a count.
    #[must_use]
    pub fn ids(&self, name: &str) -> Option<Vec<String>> {
        let dtype = self.spec.params.iter().find(|p| p.name == name).map(|p| p.dtype);
        match self.get(name) {
            Value::Null => None,
            Value::Array(items) => Some(items.iter().map(id_text).collect()),
            Value::Number(_) if dtype == Some(Dtype::IntOrNodes) => None,
            one => Some(vec![id_text(one)]),
        }
    }

    /// A list of plain numbers.
    pub(crate) fn numbers(&self, name: &str) -> Option<Vec<f64>> {
        self.get(name).as_array()?.iter().map(Value::as_f64).collect()
    }

    /// The numbers of a [`Dtype::Matrix`] parameter of `n` rows and columns, row by row.
    pub(crate) fn matrix(&self, name: &str, n: usize) -> Result<Option<Vec<f64>>, AlgoError> {
        let Some(rows) = self.get(name).as_array() else { return Ok(None) };
        let row = |row: &Value| -> Option<Vec<f64>> {
            let row = row.as_array().filter(|row| row.len() == n)?;
            row.iter().map(Value::as_f64).collect()
        };
        let numbers: Option<Vec<Vec<f64>>> = rows.iter().map(row).collect();
        match numbers.filter(|rows| rows.len() == n) {
            Some(rows) => Ok(Some(rows.concat())),
            None => {
                let given = format!("{} rows", rows.len());
                Err(self.bad(name, given, format!("{n} rows of {n} numbers, one for each node")))
            }
        }
    }

    /// The entries of a list.
    pub(crate) fn rows(&self, name: &str) -> Option<&[Value]> {
        self.get(name).as_array().map(Vec::as_slice)
    }

    /// The members of an object.
    pub(crate) fn settings(&self, name: &str) -> Option<&Map<String, Value>> {
        self.get(name).as_object()
    }

    /// The rows of a table of two columns: an object of two lists, a list of objects with two members, or of pairs. The
    /// id comes first, or is called `vertex`, `node`, `first` or `source`.
    pub(crate) fn table(&self, name: &str) -> Result<Option<Vec<(Value, Value)>>, AlgoError> {
        let wrong =
            |value: &Value| self.bad(name, util::shown(value), "a table of two columns".to_owned());
        match self.get(name) {
            Value::Null => Ok(None),
            Value::Object(map) => {
                let (key, other) = two(map).ok_or_else(|| wrong(self.get(name)))?;
                match (key.as_array(), other.as_array()) {
                    (Some(a), Some(b)) if a.len() == b.len() => {
                        Ok(Some(a.iter().cloned().zip(b.iter().cloned()).collect()))
                    }
                    _ => Err(wrong(self.get(name))),
                }
            }
            Value::Array(rows) => {
                let row = |row: &Value| match row {
                    Value::Array(pair) if pair.len() == 2 => Ok((pair[0].clone(), pair[1].clone())),
                    Value::Object(map) => {
                        two(map).map(|(a, b)| (a.clone(), b.clone())).ok_or_else(|| wrong(row))
                    }
                    other => Err(wrong(other)),
                };
                rows.iter().map(row).collect::<Result<_, _>>().map(Some)
            }
            other => Err(wrong(other)),
        }
    }
}

/// The two members of an object, that with the id first.
fn two(map: &Map<String, Value>) -> Option<(&Value, &Value)> {
    const IDS: [&str; 4] = ["vertex", "node", "first", "source"];
    if map.len() != 2 {
        return None;
    }
    let key = map.keys().find(|k| IDS.contains(&k.as_str())).or_else(|| map.keys().next())?;
    let other = map.keys().find(|k| *k != key)?;
    Some((&map[key], &map[other]))
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
        value: util::shown(value),
        expected: format!("one of {values}: anything else is not available yet"),
    })
}

fn unknown(spec: &AlgorithmSpec, name: &str) -> AlgoError {
    let legal: Vec<&str> = spec.params.iter().map(|p| p.name).collect();
    AlgoError::UnknownParam {
        algorithm: spec.id,
        name: name.chars().take(util::SHOWN_CHARS).collect(),
        hint: util::did_you_mean(name, &legal),
        legal: if legal.is_empty() { "none".to_owned() } else { legal.join(", ") },
    }
}

fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}

fn check(spec: &AlgorithmSpec, p: &ParamSpec, v: &Value) -> Result<Value, AlgoError> {
    let bad = || {
        let mut expected = format!("a value of type {}", p.dtype.describe());
        if let Some((low, high)) = p.range {
            expected.push_str(&format!(" from {} to {}", util::bound(low), util::bound(high)));
        }
        if p.default == "null" {
            expected.push_str(", or null");
        }
        AlgoError::BadParam {
            algorithm: spec.id,
            name: p.name.to_owned(),
            value: util::shown(v),
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
        Dtype::FloatOrNodeValues if !v.is_number() => match v {
            Value::Array(_) | Value::Object(_) | Value::String(_) => Ok(v.clone()),
            _ => Err(bad()),
        },
        Dtype::Float | Dtype::FloatOrNodeValues => match v.as_f64() {
            Some(x) if in_range(x) => Ok(Value::from(x)),
            _ => Err(bad()),
        },
        Dtype::Choice(words) => match v.as_str() {
            Some(word) if words.contains(&word) => Ok(v.clone()),
            _ => Err(bad()),
        },
        Dtype::EdgeColumn => {
            if v.is_string() {
                Ok(v.clone())
            } else {
                Err(bad())
            }
        }
        Dtype::Node => {
            if is_id(v) {
                Ok(v.clone())
            } else {
                Err(bad())
            }
        }
        Dtype::Nodes => match v {
            Value::Array(ids) if ids.iter().all(is_id) => Ok(v.clone()),
            one if is_id(one) => Ok(v.clone()),
            _ => Err(bad()),
        },
        Dtype::IntOrNodes => match v {
            Value::Array(ids) if ids.iter().all(is_id) => Ok(v.clone()),
            Value::Number(n) if n.as_i64().is_some_and(|n| in_range(n as f64)) => Ok(v.clone()),
            _ => Err(bad()),
        },
        Dtype::Matrix if v.is_array() => Ok(v.clone()),
        Dtype::Matrix => Err(bad()),
        Dtype::Positions if v.is_array() => Ok(v.clone()),
        Dtype::Positions => Err(bad()),
        Dtype::Preset(words) => match v {
            Value::Object(_) => Ok(v.clone()),
            Value::String(word) if words.contains(&word.as_str()) => Ok(v.clone()),
            _ => Err(bad()),
        },
        Dtype::Pairs | Dtype::NodeValues | Dtype::IntList | Dtype::PositionTable => match v {
            Value::Array(_) | Value::Object(_) => Ok(v.clone()),
            Value::String(_) if p.dtype == Dtype::NodeValues => Ok(v.clone()),
            _ => Err(bad()),
        },
    }
}
