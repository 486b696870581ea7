//! Reading JSON bodies: every complaint names the field, what was found and what is expected.

use graphlume_types::limits::{
    DESCRIPTION_CHARS_MAX, FREE_FIELD_BYTES_MAX, FREE_MEMBERS_BYTES_MAX, JSON_BODY_BYTES_MAX,
    JSON_DEPTH_MAX, NAME_CHARS_MAX,
};
use serde_json::{Map, Value};

use crate::ServiceError;

/// An object body. An empty body is an empty object, so that the complaint is about a field.
pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, ServiceError> {
    if body.len() as u64 > JSON_BODY_BYTES_MAX {
        return Err(ServiceError::TooLarge {
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
        Ok(other) => Err(ServiceError::invalid(
            "body",
            format!("body is a JSON {}; expected an object", kind(&other)),
        )),
        Err(e) => Err(ServiceError::invalid(
            "body",
            format!("body is not valid JSON ({e}); send an object"),
        )),
    }
}

/// Refuses deep nesting before anything recurses over it.
fn check_depth(body: &[u8]) -> Result<(), ServiceError> {
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
            return Err(ServiceError::invalid(
                "body",
                format!("body is nested deeper than {JSON_DEPTH_MAX} levels; flatten it"),
            ));
        }
    }
    Ok(())
}

/// What a value is, in JSON's words.
pub(crate) const fn kind(v: &Value) -> &'static str {
    match v {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn wrong(field: &str, v: &Value, expected: &str) -> ServiceError {
    let message = format!("{field} is a JSON {}; expected {expected}", kind(v));
    ServiceError::invalid(field.to_owned(), message)
}

pub(crate) fn missing(field: &str, what: &str) -> ServiceError {
    ServiceError::invalid(field.to_owned(), format!("{field} is missing; send {what}"))
}

/// A text field; null counts as absent.
pub(crate) fn text<'a>(
    map: &'a Map<String, Value>,
    field: &str,
) -> Result<Option<&'a str>, ServiceError> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(s)) => Ok(Some(s)),
        Some(other) => Err(wrong(field, other, "a string")),
    }
}

/// A text field with a limit on its characters.
pub(crate) fn short_text(
    map: &Map<String, Value>,
    field: &str,
    chars_max: usize,
) -> Result<Option<String>, ServiceError> {
    let Some(s) = text(map, field)? else { return Ok(None) };
    if s.chars().count() > chars_max {
        return Err(ServiceError::invalid(
            field.to_owned(),
            format!("{field} has more than {chars_max} characters; shorten it"),
        ));
    }
    if s.contains('\0') {
        return Err(ServiceError::invalid(
            field.to_owned(),
            format!("{field} contains a NUL character; remove it"),
        ));
    }
    Ok(Some(s.to_owned()))
}

/// A name.
pub(crate) fn name(map: &Map<String, Value>, field: &str) -> Result<Option<String>, ServiceError> {
    short_text(map, field, NAME_CHARS_MAX)
}

/// A description.
pub(crate) fn description(map: &Map<String, Value>) -> Result<Option<String>, ServiceError> {
    short_text(map, "description", DESCRIPTION_CHARS_MAX)
}

/// An object field; null counts as absent.
pub(crate) fn member<'a>(
    map: &'a Map<String, Value>,
    field: &str,
) -> Result<Option<&'a Map<String, Value>>, ServiceError> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(m)) => Ok(Some(m)),
        Some(other) => Err(wrong(field, other, "an object")),
    }
}

/// A list field; null counts as absent.
pub(crate) fn list<'a>(
    map: &'a Map<String, Value>,
    field: &str,
) -> Result<Option<&'a [Value]>, ServiceError> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(a)) => Ok(Some(a)),
        Some(other) => Err(wrong(field, other, "an array")),
    }
}

/// Bytes of a value as JSON, without writing it anywhere.
pub(crate) fn json_bytes(value: &impl serde::Serialize) -> usize {
    struct Counted(usize);
    impl std::io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut out = Counted(0);
    // What cannot be written as JSON cannot be kept either.
    if serde_json::to_writer(&mut out, value).is_err() {
        return usize::MAX;
    }
    out.0
}

/// Refuses fields whose form is the client's own and that are larger than the record of a list should hold. Texts
/// have limits of their own. Fields with a form here (`has_form`) have theirs alone; all others have one together, too.
pub(crate) fn check_free_fields(
    map: &Map<String, Value>,
    is_free: impl Fn(&str) -> bool,
    has_form: impl Fn(&str) -> bool,
) -> Result<(), ServiceError> {
    let (mut together, mut largest) = (0_usize, ("", 0));
    for (field, value) in map {
        if !is_free(field) {
            continue;
        }
        let bytes = json_bytes(value);
        if !has_form(field) {
            together = together.saturating_add(bytes);
            largest = if bytes > largest.1 { (field.as_str(), bytes) } else { largest };
        }
        if bytes > FREE_FIELD_BYTES_MAX {
            let shown: String = field.chars().take(60).collect();
            let message = format!(
                "{shown} takes {bytes} bytes of JSON; at most {FREE_FIELD_BYTES_MAX} are kept: shorten it, or send \
                 what it holds as columns of a table"
            );
            return Err(ServiceError::invalid(shown, message));
        }
    }
    if together > FREE_MEMBERS_BYTES_MAX {
        let shown: String = largest.0.chars().take(60).collect();
        let message = format!(
            "members whose form is free take {together} bytes of JSON together, most of them {shown} with {}; at most \
             {FREE_MEMBERS_BYTES_MAX} of all are kept: shorten it, or send what it holds as columns of a table",
            largest.1
        );
        return Err(ServiceError::invalid(shown, message));
    }
    Ok(())
}

/// Whether a value asks for nothing: null, or an empty string, array or object.
pub(crate) fn is_empty(v: Option<&Value>) -> bool {
    match v {
        None | Some(Value::Null) => true,
        Some(Value::String(s)) => s.is_empty(),
        Some(Value::Array(a)) => a.is_empty(),
        Some(Value::Object(m)) => m.is_empty(),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use graphlume_types::{Code, Coded};
    use serde_json::json;

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
    fn a_free_field_has_its_limit_to_the_byte() {
        // Two quotes and a text.
        let fits = json!({"metadata": "x".repeat(FREE_FIELD_BYTES_MAX - 2), "other": 1});
        let over = json!({"metadata": "x".repeat(FREE_FIELD_BYTES_MAX - 1), "other": 1});
        let of = |v: &Value| v.as_object().unwrap().clone();
        assert!(check_free_fields(&of(&fits), |_| true, |_| true).is_ok());
        let e = check_free_fields(&of(&over), |_| true, |_| true).unwrap_err();
        assert_eq!((e.code(), e.field()), (Code::InvalidArgument, Some("metadata")));
        assert!(e.to_string().contains("65537 bytes") && e.to_string().contains("65536"), "{e}");
        assert!(check_free_fields(&of(&over), |f| f == "other", |_| true).is_ok());
    }

    #[test]
    fn free_members_have_one_limit_together_that_names_the_largest() {
        let half = "x".repeat(FREE_MEMBERS_BYTES_MAX / 2 - 2);
        let mut body = json!({"metadata": &half, "a": &half, "node_encodings": "xxx"});
        let check = |v: &Value| {
            check_free_fields(v.as_object().unwrap(), |_| true, |f| f == "node_encodings")
        };
        assert!(check(&body).is_ok(), "to the byte");
        body["a"] = json!(format!("{half}y"));
        let e = check(&body).unwrap_err();
        assert_eq!((e.code(), e.field()), (Code::InvalidArgument, Some("a")));
        assert!(e.to_string().contains("65537 bytes of JSON together"), "{e}");
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
