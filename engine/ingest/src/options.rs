//! Options of formats: their kinds, their texts in an address, and typed access for readers.

use serde_json::{Map, Value};

use crate::{Format, IngestError};

/// How the text of a query parameter becomes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionKind {
    Text,
    Bool,
    Int,
    /// A whole number or a word.
    IntOrText,
    /// A whole number, or a list.
    IntOrList,
    /// A boolean, or a list.
    BoolOrList,
    /// A list, or an object in JSON.
    ListOrObject,
    /// A list: a JSON array, or values separated by commas, or the parameter repeated.
    List,
    /// An object or array in JSON, or a single word.
    Json,
}

/// An option of a format, for documentation and for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionInfo {
    /// Name in the query and in `parser_options`.
    pub name: &'static str,
    kind: OptionKind,
}

/// An option of a reader's [`FormatSpec`](crate::format::FormatSpec).
pub(crate) const fn on(name: &'static str, kind: OptionKind) -> OptionInfo {
    OptionInfo { name, kind }
}

/// The options of `format`, in alphabetical order.
#[must_use]
pub const fn option_infos(format: Format) -> &'static [OptionInfo] {
    format.spec().options
}

fn find(format: Format, name: &str) -> Result<&'static OptionInfo, IngestError> {
    let infos = option_infos(format);
    infos.iter().find(|i| i.name == name).ok_or_else(|| {
        let names: Vec<_> = infos.iter().map(|i| i.name).collect();
        let legal = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        IngestError::UnknownOption { format, option: name.chars().take(64).collect(), legal }
    })
}

/// Refuses options that the format does not have.
pub fn check_names(format: Format, options: &Map<String, Value>) -> Result<(), IngestError> {
    options.keys().try_for_each(|name| find(format, name).map(drop))
}

/// Typed options from the pairs of a URL query. A list may be a JSON array, values separated by
/// commas, or a repeated parameter; an object is JSON.
///
/// # Errors
/// An unknown name (with the legal ones), or text that is not of the option's type.
pub fn options_from_query(
    format: Format,
    pairs: &[(String, String)],
) -> Result<Map<String, Value>, IngestError> {
    let mut out = Map::new();
    for (name, text) in pairs {
        let info = find(format, name)?;
        let value = typed(info, text)?;
        match (out.get_mut(name), value) {
            (Some(Value::Array(old)), Value::Array(new)) => old.extend(new),
            (Some(_), _) => return Err(IngestError::option(name, "is given more than once")),
            (None, value) => {
                out.insert(name.clone(), value);
            }
        }
    }
    Ok(out)
}

fn typed(info: &OptionInfo, text: &str) -> Result<Value, IngestError> {
    let bad = |want: &str| {
        let shown: String = text.chars().take(64).collect();
        IngestError::option(info.name, format!("{shown:?} is not {want}"))
    };
    let word = text.trim();
    Ok(match info.kind {
        // Not trimmed: a separator may be a tab or a blank.
        OptionKind::Text => Value::String(text.to_owned()),
        OptionKind::Bool => boolean(word).ok_or_else(|| bad("true or false"))?,
        OptionKind::IntOrList => match word.parse::<i64>() {
            Ok(n) => n.into(),
            Err(_) => list(text).ok_or_else(|| bad("a whole number or a list"))?,
        },
        OptionKind::BoolOrList => match boolean(word) {
            Some(b) if word.parse::<i64>().is_err() => b,
            _ => list(text).ok_or_else(|| bad("true, false or a list"))?,
        },
        OptionKind::ListOrObject if word.starts_with('{') => match serde_json::from_str(word) {
            Ok(object @ Value::Object(_)) => object,
            _ => return Err(bad("a JSON object")),
        },
        OptionKind::Int => word.parse::<i64>().map_err(|_| bad("a whole number"))?.into(),
        OptionKind::IntOrText => word.parse::<i64>().map_or_else(|_| word.into(), Value::from),
        OptionKind::List | OptionKind::ListOrObject => {
            list(text).ok_or_else(|| bad("a JSON array"))?
        }
        OptionKind::Json => match serde_json::from_str(word) {
            Ok(value) => value,
            Err(_) if word.starts_with(['[', '{']) => return Err(bad("JSON")),
            Err(_) => Value::String(word.to_owned()),
        },
    })
}

fn boolean(word: &str) -> Option<Value> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "1" => Some(Value::Bool(true)),
        "false" | "0" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn list(text: &str) -> Option<Value> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).ok().filter(Value::is_array);
    }
    Some(text.split(',').map(list_item).collect())
}

/// A number only where the text is what the number looks like: `007` is a word.
fn list_item(text: &str) -> Value {
    let number = text.trim().parse::<i64>().ok().filter(|n| n.to_string() == text.trim());
    number.map_or_else(|| Value::from(text), Value::from)
}

/// Typed access to a map of options. Null counts as absent where that is what it means to pandas, too; see
/// [`Options::is_null`] for the others.
#[derive(Clone, Copy)]
pub struct Options<'a>(pub &'a Map<String, Value>);

impl<'a> Options<'a> {
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|v| !v.is_null())
    }

    /// Whether null is given, which for some options is a value of its own.
    pub fn is_null(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(Value::is_null)
    }

    /// Refuses null for an option whose default is not to have none; `instead` says what to send.
    pub fn not_null(&self, name: &str, instead: &str) -> Result<(), IngestError> {
        match self.is_null(name) {
            true => Err(IngestError::option(name, format!("cannot be null: {instead}"))),
            false => Ok(()),
        }
    }

    pub fn text(&self, name: &str) -> Result<Option<&'a str>, IngestError> {
        self.map(name, "must be text", Value::as_str)
    }

    pub fn bool(&self, name: &str, default: bool) -> Result<bool, IngestError> {
        self.not_null(name, &format!("send true or false, or leave it out for {default}"))?;
        Ok(self.map(name, "must be true or false", Value::as_bool)?.unwrap_or(default))
    }

    pub fn count(&self, name: &str) -> Result<Option<u64>, IngestError> {
        self.map(name, "must be a whole number, 0 or more", Value::as_u64)
    }

    pub fn list(&self, name: &str) -> Result<Option<&'a Vec<Value>>, IngestError> {
        self.map(name, "must be a list", Value::as_array)
    }

    /// A list, or a single item, as texts; numbers are taken as they are written.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>, IngestError> {
        let item = |v: &Value| match v {
            Value::String(s) => Ok(s.clone()),
            Value::Number(n) => Ok(n.to_string()),
            _ => Err(IngestError::option(name, "must hold texts or numbers")),
        };
        match self.get(name) {
            None => Ok(None),
            Some(Value::Array(items)) => items.iter().map(item).collect::<Result<_, _>>().map(Some),
            Some(one) => Ok(Some(vec![item(one)?])),
        }
    }

    fn map<T>(
        &self,
        name: &str,
        want: &str,
        f: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, IngestError> {
        match self.get(name) {
            None => Ok(None),
            Some(v) => f(v).map(Some).ok_or_else(|| IngestError::option(name, want)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graphlume_types::Coded;
    use serde_json::json;

    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Result<Map<String, Value>, IngestError> {
        let pairs: Vec<_> = pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        options_from_query(Format::Csv, &pairs)
    }

    #[test]
    fn a_query_becomes_typed_options() {
        let got = query(&[
            ("sep", "\t"),
            ("header", "infer"),
            ("nrows", "7"),
            ("na_filter", "False"),
            ("names", "a,b"),
            ("usecols", "[0,\"b\"]"),
            ("na_values", "x"),
            ("na_values", "y"),
            ("dtype", "{\"a\":\"str\"}"),
            ("skiprows", "0,2"),
            ("parse_dates", "true"),
            ("true_values", "007,7"),
        ]);
        let want = json!({"sep": "\t", "header": "infer", "nrows": 7, "na_filter": false,
            "names": ["a", "b"], "usecols": [0, "b"], "na_values": ["x", "y"], "dtype": {"a": "str"},
            "skiprows": [0, 2], "parse_dates": true, "true_values": ["007", 7]});
        assert_eq!(Value::Object(got.unwrap()), want);
    }

    #[test]
    fn an_unknown_option_names_itself_and_the_legal_ones() {
        let e = query(&[("seperator", ";")]).unwrap_err();
        assert_eq!((e.slug(), e.field()), ("unknown-option", Some("seperator")));
        assert!(e.to_string().contains("sep,"), "{e}");
        let e = options_from_query(Format::Arrow, &[("sep".into(), ";".into())]).unwrap_err();
        assert!(e.to_string().contains("the options are: none"), "{e}");
    }

    #[test]
    fn an_option_of_the_wrong_type_says_what_it_must_be() {
        for (name, text) in
            [("nrows", "x"), ("na_filter", "maybe"), ("usecols", "[1,"), ("dtype", "{")]
        {
            let e = query(&[(name, text)]).unwrap_err();
            assert_eq!((e.slug(), e.field()), ("invalid-option", Some(name)));
        }
        assert!(query(&[("sep", ","), ("sep", ";")]).is_err());
    }

    #[test]
    fn the_lists_are_sorted_so_that_messages_read_well() {
        for format in Format::ALL {
            assert!(option_infos(format).is_sorted_by_key(|i| i.name), "{format}");
        }
    }
}
