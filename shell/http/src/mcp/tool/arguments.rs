//! The arguments of a call: read as the tool takes them, or refused with the sentence that mends them.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::super::error::{Kind, Refusal};
use super::Tool;

/// Characters of a value that a refusal repeats.
const SHOWN_CHARS_MAX: usize = 60;

/// The arguments of `tool`. Where a text is declared, a list or an object is taken as its JSON: models send operations as
/// often one way as the other.
///
/// # Errors
/// [`Kind::Params`], which names the argument, what came, what is expected, and shows one right call.
pub(super) fn read<T: DeserializeOwned>(tool: &Tool, arguments: Value) -> Result<T, Refusal> {
    let mut arguments = match arguments {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    // Models write null for what they leave out.
    arguments.retain(|_, value| !value.is_null());
    let schema = (tool.schema)();
    for (name, value) in &mut arguments {
        let is_text = schema["properties"][name.as_str()]["type"] == "string";
        if is_text && (value.is_array() || value.is_object()) {
            *value = Value::String(value.to_string());
        }
    }
    let arguments = Value::Object(arguments);
    T::deserialize(&arguments).map_err(|e| {
        let what = fault(tool, &schema, &arguments).unwrap_or_else(|| e.to_string());
        let text = format!("{what}. A right call: {} {}", tool.name, tool.example);
        Refusal::new(Kind::Params, text)
    })
}

/// `value`, and what kind of JSON it is: `7, a number`.
pub(in super::super) fn told(value: &Value) -> String {
    let text = value.to_string();
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    let kind = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("{shown}, {kind}")
}

/// The first thing that is wrong with arguments, by the schema of their tool.
fn fault(tool: &Tool, schema: &Value, arguments: &Value) -> Option<String> {
    let (given, properties) = (arguments.as_object()?, schema["properties"].as_object()?);
    if let Some(name) = given.keys().find(|name| !properties.contains_key(*name)) {
        let shown: String = name.chars().take(SHOWN_CHARS_MAX).collect();
        let known: Vec<&str> = properties.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Some(format!("{} takes no argument {shown:?}; it takes {known}", tool.name));
    }
    let mut required = schema["required"].as_array()?.iter().filter_map(Value::as_str);
    if let Some(name) = required.find(|name| !given.contains_key(*name)) {
        let expected = expected(&properties[name]);
        return Some(format!("{name} is missing; it has to be {expected}"));
    }
    given.iter().find_map(|(name, value)| {
        let property = &properties[name];
        if fits(value, property) {
            return None;
        }
        let item = value.as_array().filter(|_| property["type"] == "array");
        if let Some((place, item)) = item.and_then(|items| {
            items.iter().enumerate().find(|(_, item)| !fits(item, &property["items"]))
        }) {
            let (item, expected) = (told(item), expected(&property["items"]));
            return Some(format!("{name}[{place}] is {item}; it has to be {expected}"));
        }
        Some(format!("{name} is {}; it has to be {}", told(value), expected(property)))
    })
}

fn fits(value: &Value, schema: &Value) -> bool {
    match schema["type"].as_str().unwrap_or_default() {
        "string" => match (value, schema["enum"].as_array()) {
            (Value::String(_), Some(names)) => names.contains(value),
            _ => value.is_string(),
        },
        "integer" => {
            let least = schema["minimum"].as_u64().unwrap_or(0);
            let most = schema["maximum"].as_u64().unwrap_or(u64::MAX);
            value.as_u64().is_some_and(|number| (least..=most).contains(&number))
        }
        "boolean" => value.is_boolean(),
        "array" => {
            value.as_array().is_some_and(|items| items.iter().all(|i| fits(i, &schema["items"])))
        }
        _ => true,
    }
}

/// What a schema asks for, in words.
fn expected(schema: &Value) -> String {
    match schema["type"].as_str().unwrap_or_default() {
        "string" => match schema["enum"].as_array().map(Vec::as_slice) {
            Some([one]) => format!("{one}, a text"),
            Some(names) => {
                let names: Vec<String> = names.iter().map(Value::to_string).collect();
                format!("one of {}, a text", names.join(", "))
            }
            None => "a text, in quotes".to_owned(),
        },
        "integer" => match (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
            (Some(least), Some(most)) => {
                format!("a whole number from {least} to {most}, without quotes")
            }
            _ => "a whole number, without quotes".to_owned(),
        },
        "boolean" => "true or false, without quotes".to_owned(),
        "array" => format!("a list, each of which is {}", expected(&schema["items"])),
        _ => "an object".to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::every;
    use super::*;
    use serde_json::json;

    #[test]
    fn each_tool_shows_a_call_that_its_schema_takes() {
        for tool in every() {
            let schema = (tool.schema)();
            let example: Value = serde_json::from_str(tool.example).unwrap();
            assert_eq!(fault(tool, &schema, &example), None, "{}", tool.name);
            for name in schema["required"].as_array().unwrap() {
                assert!(example.get(name.as_str().unwrap()).is_some(), "{} {name}", tool.name);
            }
        }
    }

    #[test]
    fn every_wrong_kind_of_every_argument_is_named() {
        let wrong =
            [json!(true), json!(7), json!(-1.5), json!("x"), json!([]), json!([7]), json!({})];
        let mut told = 0;
        for tool in every() {
            let schema = (tool.schema)();
            let example: Value = serde_json::from_str(tool.example).unwrap();
            for (name, property) in schema["properties"].as_object().unwrap() {
                for value in wrong.iter().filter(|value| !fits(value, property)) {
                    let mut arguments = example.clone();
                    arguments[name] = value.clone();
                    let fault = fault(tool, &schema, &arguments).unwrap();
                    assert!(fault.starts_with(name.as_str()), "{fault}");
                    assert!(fault.contains("it has to be "), "{fault}");
                    told += 1;
                }
            }
            let mut more = example.clone();
            more["nosuch"] = json!(1);
            let fault = fault(tool, &schema, &more).unwrap();
            assert!(fault.contains("no argument \"nosuch\""), "{fault}");
        }
        assert!(told > 100, "{told}");
    }

    #[test]
    fn a_long_value_is_cut_and_a_short_one_named_with_its_kind() {
        assert_eq!(told(&json!(7)), "7, a number");
        assert_eq!(told(&json!("a")), "\"a\", a text");
        assert_eq!(told(&json!([1])), "[1], a list");
        assert_eq!(told(&Value::Null), "null");
        let long = told(&json!("ä".repeat(500)));
        assert!(long.ends_with("…, a text") && long.chars().count() < 80, "{long}");
    }
}
