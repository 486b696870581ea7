//! Small named values of the server itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Kind, Record};

/// A named value, such as the clock's high-water mark. Never a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingRec {
    /// Key, 1 to 255 bytes.
    pub name: String,
    /// Value.
    pub value: Value,
}

impl Record for SettingRec {
    const KIND: Kind = Kind::Setting;
    type Key = String;

    fn key(&self) -> String {
        self.name.clone()
    }
}
