//! Parameters of a call.

use graphlume_expr::{ErrorCode, QueryError};
use serde_json::{Map, Value};

/// The parameters of a call.
pub struct Params<'a> {
    /// The name of the call.
    pub function: &'a str,
    /// Names and values.
    pub map: &'a Map<String, Value>,
}

impl Params<'_> {
    /// The value of a parameter; null stands for none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.map.get(name).filter(|v| !v.is_null())
    }

    /// The refusal of a call that lacks a parameter.
    #[must_use]
    pub fn missing(&self, name: &str) -> QueryError {
        let text = format!("call {:?} needs {name:?}", self.function);
        QueryError::new(ErrorCode::MissingField, text).field(name)
    }

    /// The refusal of a value, with what is wanted.
    #[must_use]
    pub fn wrong(&self, name: &str, want: &str, value: &Value) -> QueryError {
        let text = format!("{name:?} of call {:?} must be {want}", self.function);
        QueryError::new(ErrorCode::Type, text).field(name).value(value)
    }

    /// A text.
    ///
    /// # Errors
    /// [`QueryError`] for a value of another kind.
    pub fn text(&self, name: &str) -> Result<Option<&str>, QueryError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "a text", other)),
        }
    }

    /// A truth value, or what is meant without one.
    ///
    /// # Errors
    /// [`QueryError`] for a value of another kind.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, QueryError> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(v)) => Ok(*v),
            Some(other) => Err(self.wrong(name, "true or false", other)),
        }
    }

    /// The items of a list, which has to be there.
    ///
    /// # Errors
    /// [`QueryError`] for a value of another kind, or none.
    pub fn list(&self, name: &str) -> Result<&[Value], QueryError> {
        match self.get(name) {
            None => Err(self.missing(name)),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(self.wrong(name, "a list", other)),
        }
    }

    /// A list of texts, which has to be there.
    ///
    /// # Errors
    /// [`QueryError`] for a value of another kind, or none.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, QueryError> {
        let items = self.list(name)?.iter();
        items
            .map(|v| v.as_str().map(str::to_owned).ok_or_else(|| self.wrong(name, "texts", v)))
            .collect()
    }

    /// A number of rows: a whole number, as a number or as text.
    ///
    /// # Errors
    /// [`QueryError`] for a value of another kind, or none.
    pub fn count(&self, name: &str) -> Result<usize, QueryError> {
        let value = self.get(name).ok_or_else(|| self.missing(name))?;
        let number = match value {
            Value::Number(n) => n.as_u64().or_else(|| {
                let v = n.as_f64()?;
                (v.fract() == 0.0 && (0.0..1e15).contains(&v)).then_some(v as u64)
            }),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let number = number.and_then(|n| usize::try_from(n).ok());
        number.ok_or_else(|| self.wrong(name, "a whole number that is not negative", value))
    }

    /// A finite number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>, QueryError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_f64().filter(|v| v.is_finite()) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(name, "a finite number", value)),
        }
    }

    /// Parameters that are functions in the client have no form in a request.
    pub(crate) fn no_functions(&self, names: &[&str]) -> Result<(), QueryError> {
        match names.iter().find(|name| self.get(name).is_some()) {
            None => Ok(()),
            Some(name) => {
                let text =
                    format!("{name:?} of call {:?} is a function of the client", self.function);
                Err(QueryError::new(ErrorCode::Unsupported, text)
                    .field(format!("params.{name}"))
                    .suggest("leave it out, and write the labels with \"axis\" or \"encode_axis\""))
            }
        }
    }
}
