//! Reading JSON bodies: every complaint names the field, what was found and what is expected.

use graphlume_types::limits::{
    DESCRIPTION_CHARS_MAX, JSON_BODY_BYTES_MAX, JSON_DEPTH_MAX, NAME_CHARS_MAX,
};
use serde_json::{Map, Value};

use crate::error::IdentityError;

/// An object body. An empty body is an empty object, so that the complaint is about a field.
///
/// # Errors
/// A body that is no object, is too large or is nested too deep.
pub fn object(body: &[u8]) -> Result<Map<String, Value>, IdentityError> {
    if body.len() as u64 > JSON_BODY_BYTES_MAX {
        return Err(IdentityError::TooLarge {
            what: "the JSON body",
            limit: JSON_BODY_BYTES_MAX,
            unit: "bytes",
        });
    }
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    check_depth(body)?;
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(IdentityError::invalid(
            "body",
            format!("body is a JSON {}; expected an object", kind(&other)),
        )),
        Err(e) => Err(IdentityError::invalid(
            "body",
            format!("body is not valid JSON ({e}); send an object"),
        )),
    }
}

/// Refuses deep nesting before anything recurses over it.
fn check_depth(body: &[u8]) -> Result<(), IdentityError> {
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    for &b in body {
        if in_text {
            match b {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match b {
            b'"' => in_text = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > JSON_DEPTH_MAX {
            return Err(IdentityError::invalid(
                "body",
                format!("body is nested deeper than {JSON_DEPTH_MAX} levels; flatten it"),
            ));
        }
    }
    Ok(())
}

/// What a value is, in JSON's words.
pub const fn kind(v: &Value) -> &'static str {
    match v {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn wrong(field: &str, v: &Value, expected: &str) -> IdentityError {
    let message = format!("{field} is a JSON {}; expected {expected}", kind(v));
    IdentityError::invalid(field.to_owned(), message)
}

/// That a field is missing, and `what` to send.
#[must_use]
pub fn missing(field: &str, what: &str) -> IdentityError {
    IdentityError::invalid(field.to_owned(), format!("{field} is missing; send {what}"))
}

/// A text field; null counts as absent.
///
/// # Errors
/// A value that is no text.
pub fn text<'a>(
    map: &'a Map<String, Value>,
    field: &str,
) -> Result<Option<&'a str>, IdentityError> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(s)) => Ok(Some(s)),
        Some(other) => Err(wrong(field, other, "a string")),
    }
}

/// A text field with a limit on its characters.
///
/// # Errors
/// A value that is no text, or one that is too long.
pub fn short_text(
    map: &Map<String, Value>,
    field: &str,
    chars_max: usize,
) -> Result<Option<String>, IdentityError> {
    let Some(s) = text(map, field)? else { return Ok(None) };
    if s.chars().count() > chars_max {
        return Err(IdentityError::invalid(
            field.to_owned(),
            format!("{field} has more than {chars_max} characters; shorten it"),
        ));
    }
    if s.contains('\0') {
        return Err(IdentityError::invalid(
            field.to_owned(),
            format!("{field} contains a NUL character; remove it"),
        ));
    }
    Ok(Some(s.to_owned()))
}

/// A name.
///
/// # Errors
/// A value that is no text, or one that is too long.
pub fn name(map: &Map<String, Value>, field: &str) -> Result<Option<String>, IdentityError> {
    short_text(map, field, NAME_CHARS_MAX)
}

/// A description.
///
/// # Errors
/// A value that is no text, or one that is too long.
pub fn description(map: &Map<String, Value>) -> Result<Option<String>, IdentityError> {
    short_text(map, "description", DESCRIPTION_CHARS_MAX)
}

/// An object field; null counts as absent.
///
/// # Errors
/// A value that is no object.
pub fn member<'a>(
    map: &'a Map<String, Value>,
    field: &str,
) -> Result<Option<&'a Map<String, Value>>, IdentityError> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(m)) => Ok(Some(m)),
        Some(other) => Err(wrong(field, other, "an object")),
    }
}

/// A list field; null counts as absent.
///
/// # Errors
/// A value that is no array.
pub fn list<'a>(
    map: &'a Map<String, Value>,
    field: &str,
) -> Result<Option<&'a [Value]>, IdentityError> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(a)) => Ok(Some(a)),
        Some(other) => Err(wrong(field, other, "an array")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use graphlume_types::{Code, Coded};

    #[test]
    fn bodies_that_are_not_objects_are_refused() {
        for bad in ["[]", "1", "\"x\"", "null", "{", "{\"a\":1}x", "{\"a\":NaN}", "\u{feff}["] {
            let e = object(bad.as_bytes()).unwrap_err();
            assert_eq!((e.code(), e.field()), (Code::InvalidArgument, Some("body")), "{bad}");
        }
        assert!(object(b"").unwrap().is_empty());
        assert!(object("\u{feff}{\"a\":1}".as_bytes()).unwrap().contains_key("a"));
    }

    #[test]
    fn nesting_is_limited_without_recursion() {
        let nest = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
        assert!(object(nest(JSON_DEPTH_MAX - 1).as_bytes()).is_ok());
        assert!(object(nest(JSON_DEPTH_MAX).as_bytes()).is_err());
        assert!(object("[".repeat(100_000).as_bytes()).is_err());
        let brackets_in_text = format!("{{\"a\":\"\\\"{}\"}}", "[".repeat(1_000));
        assert!(object(brackets_in_text.as_bytes()).is_ok());
    }

    #[test]
    fn a_body_over_the_limit_is_too_large() {
        let body = vec![b' '; JSON_BODY_BYTES_MAX as usize + 1];
        assert_eq!(object(&body).unwrap_err().code(), Code::TooLarge);
        assert!(object(&body[1..]).is_ok());
    }

    #[test]
    fn a_field_of_the_wrong_type_is_named() {
        let map = object(br#"{"name": 3, "x": "y"}"#).unwrap();
        let e = name(&map, "name").unwrap_err();
        assert!(e.to_string().contains("name is a JSON number"), "{e}");
        assert!(name(&map, "x").unwrap().is_some());
        let long = format!("{{\"n\":\"{}\"}}", "é".repeat(NAME_CHARS_MAX + 1));
        assert!(name(&object(long.as_bytes()).unwrap(), "n").is_err());
        let fits = format!("{{\"n\":\"{}\"}}", "é".repeat(NAME_CHARS_MAX));
        assert!(name(&object(fits.as_bytes()).unwrap(), "n").is_ok());
    }
}
