//! JSON that is kept as its text: shared, and parsed only where its content is needed.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The text of a JSON value. Cloning shares it.
#[derive(Debug, Clone)]
pub struct JsonText(Arc<RawValue>);

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for JsonText {}

impl JsonText {
    /// The text of a value.
    ///
    /// # Errors
    /// A value that JSON cannot hold.
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self(serde_json::value::to_raw_value(value)?.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The text, as it stands in other JSON.
    #[must_use]
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// The value, parsed anew at every call.
    #[must_use]
    pub fn value(&self) -> serde_json::Value {
        // It was JSON when it was made.
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Box::<RawValue>::deserialize(deserializer)?.into()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_written_and_read_as_the_value_that_it_is() {
        let value =
            json!({"a": [1, 2.5, "x\u{e9}\n"], "b": null, "c": 18_446_744_073_709_551_615_u64});
        let text = JsonText::of(&value).unwrap();
        assert_eq!(text.value(), value);
        let whole = serde_json::to_string(&json!([&text])).unwrap();
        assert_eq!(whole, format!("[{}]", text.as_str()));
        let back: Vec<JsonText> = serde_json::from_str(&whole).unwrap();
        assert_eq!(back, std::slice::from_ref(&text));
        let of_value: JsonText = serde_json::from_value(value).unwrap();
        assert_eq!(of_value, text, "the order of members stays");
    }
}
