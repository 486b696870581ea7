//! Fields of bodies whose form is the client's own.

use graphlume_types::limits::{FREE_FIELD_BYTES_MAX, FREE_MEMBERS_BYTES_MAX};
use serde_json::{Map, Value};

use crate::error::ServiceError;

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
}
