//! JSON-RPC messages, one in a body.

use serde_json::Value;

use super::error::{Kind, Refusal};

/// Integers beyond this may come back as others.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A message of a client.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// An answer to something that we never ask.
    Response,
}

/// Reads a message. A refusal comes with the id that it answers, as far as one could be read.
pub(super) fn read(body: &[u8]) -> Result<Message, (Value, Refusal)> {
    let refuse = |id: &Value, text: String| (id.clone(), Refusal::new(Kind::Parse, text));
    let nobody = Value::Null;
    let value: Value = serde_json::from_slice(body)
        .map_err(|e| refuse(&nobody, format!("the body is no JSON-RPC message: {e}")))?;
    let Value::Object(mut map) = value else {
        let text = "the body has to be one JSON-RPC object; batches are not taken";
        return Err(refuse(&nobody, text.to_owned()));
    };
    let id = map.remove("id");
    let shown = id.as_ref().filter(|id| is_id(id)).cloned().unwrap_or_default();
    if map.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(refuse(&shown, "jsonrpc has to be \"2.0\"".to_owned()));
    }
    let method = match map.remove("method") {
        Some(Value::String(method)) => method,
        None if map.contains_key("result") || map.contains_key("error") => {
            return Ok(Message::Response);
        }
        _ => return Err(refuse(&shown, "method has to be a text".to_owned())),
    };
    let params = map.remove("params").unwrap_or_default();
    match id {
        None => Ok(Message::Notification { method, params }),
        Some(id) if is_id(&id) => {
            if !matches!(params, Value::Null | Value::Object(_)) {
                let text = "params has to be an object".to_owned();
                return Err((id, Refusal::new(Kind::Params, text)));
            }
            Ok(Message::Request { id, method, params })
        }
        Some(_) => {
            let text = "id has to be a text or a number that survives a reader of doubles";
            Err(refuse(&nobody, text.to_owned()))
        }
    }
}

fn is_id(id: &Value) -> bool {
    match id {
        Value::String(_) => true,
        Value::Number(n) => n.is_i64() || n.is_u64() || n.as_f64().is_some_and(|x| x.abs() < EXACT),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(id: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
    }

    #[test]
    fn requests_keep_their_id_and_others_have_none() {
        for id in ["1", "0", "-7", "\"a\"", "\"\"", "1.5", "9223372036854775807"] {
            let Message::Request { id: read, .. } = read(request(id).as_bytes()).unwrap() else {
                panic!("{id}")
            };
            assert_eq!(read.to_string(), id);
        }
        let told = read(br#"{"jsonrpc":"2.0","method":"notifications/x"}"#).unwrap();
        assert!(matches!(told, Message::Notification { .. }));
        for answer in
            [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"{"jsonrpc":"2.0","id":1,"error":{}}"#]
        {
            assert_eq!(read(answer.as_bytes()).unwrap(), Message::Response);
        }
    }

    #[test]
    fn what_is_no_message_is_refused_with_the_id_that_could_be_read() {
        for bad in [
            "",
            "x",
            "7",
            "null",
            "\"a\"",
            "[]",
            "{}",
            "{\"jsonrpc\":\"2.0\"}",
            "{\"jsonrpc\":\"1.0\"}",
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            "{\"jsonrpc\":\"2.0\",\"method\":7}",
        ] {
            let (id, refusal) = read(bad.as_bytes()).unwrap_err();
            assert_eq!((id, refusal.kind), (Value::Null, Kind::Parse), "{bad}");
        }
        for id in ["null", "true", "[1]", "{}", "1e300", "18446744073709551616"] {
            assert_eq!(read(request(id).as_bytes()).unwrap_err().1.kind, Kind::Parse, "{id}");
        }
        let (id, _) = read(br#"{"id":5,"method":"ping"}"#).unwrap_err();
        assert_eq!(id, json!(5));
        let listed = br#"{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}"#;
        let (id, refusal) = read(listed).unwrap_err();
        assert_eq!((id, refusal.kind), (json!(5), Kind::Params));
    }
}
