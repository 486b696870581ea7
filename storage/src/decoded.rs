//! Records that were decoded before.
//!
//! The value of a record is read and verified every time; its tag, which covers kind, key and content, then tells
//! whether it is one that was decoded already. Nothing has to be told when a record changes.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::codec::Tag;
use crate::record::Record;

/// Records that are kept.
const RECORDS_MAX: usize = 1_024;
/// Bytes of JSON of a record that is kept; longer ones are decoded every time.
const JSON_BYTES_MAX: usize = 8 << 10;

type Kept = Arc<dyn Any + Send + Sync>;

/// Decoded records by their tags.
#[derive(Default)]
pub(crate) struct Decoded(Mutex<HashMap<Tag, Kept>>);

impl Decoded {
    fn kept(&self) -> MutexGuard<'_, HashMap<Tag, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The record of a verified value.
    ///
    /// # Errors
    /// When the JSON is not that of such a record.
    pub(crate) fn record<R: Record>(&self, tag: Tag, json: &[u8]) -> Result<R, serde_json::Error> {
        let kept = self.kept().get(&tag).cloned();
        if let Some(rec) = kept.as_deref().and_then(|rec| (rec as &dyn Any).downcast_ref::<R>()) {
            return Ok(rec.clone());
        }
        let rec: R = serde_json::from_slice(json)?;
        if json.len() <= JSON_BYTES_MAX {
            let mut kept = self.kept();
            if kept.len() >= RECORDS_MAX {
                kept.clear();
            }
            kept.insert(tag, Arc::new(rec.clone()));
        }
        Ok(rec)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::codec::{Payload, decode, encode_inline, tree_key};
    use crate::record::{OrgRec, SettingRec};

    fn value(slug: &str, name: &str) -> (Tag, Vec<u8>) {
        let json = serde_json::json!({"slug": slug, "name": name, "created_at": 1}).to_string();
        let key = tree_key(OrgRec::KIND, slug.as_bytes());
        let value = encode_inline(&key, json.as_bytes());
        let (tag, Payload::Json(json)) = decode(&key, &value).unwrap() else { panic!("inline") };
        (tag, json.to_vec())
    }

    #[test]
    fn a_record_is_what_its_value_says_however_often_it_is_asked_for() {
        let decoded = Decoded::default();
        for _ in 0..3 {
            for name in ["one", "two"] {
                let (tag, json) = value("acme", name);
                assert_eq!(decoded.record::<OrgRec>(tag, &json).unwrap().name, name);
            }
        }
        assert_eq!(decoded.kept().len(), 2);
        let (tag, json) = value("acme", "one");
        let other = decoded.record::<SettingRec>(tag, &json);
        assert!(other.is_err(), "a record of another kind is not taken for it");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let decoded = Decoded::default();
        for i in 0..2 * RECORDS_MAX {
            let (tag, json) = value("acme", &i.to_string());
            decoded.record::<OrgRec>(tag, &json).unwrap();
            assert!(decoded.kept().len() <= RECORDS_MAX);
        }
        let before = decoded.kept().len();
        let (tag, json) = value("acme", &"x".repeat(JSON_BYTES_MAX));
        decoded.record::<OrgRec>(tag, &json).unwrap();
        assert_eq!(decoded.kept().len(), before, "long ones are not kept");
    }
}
