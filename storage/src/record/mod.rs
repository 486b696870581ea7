//! The records, one file each. Adding one: write the file, add a [`Kind`] and a line to [`KINDS`];
//! indexes, listings, self-check, export and the crash tests follow from that.

mod dataset;
mod file;
mod head;
mod json_text;
mod key;
mod link;
mod login;
mod org;
mod session;
mod setting;
mod step;
mod user;

use std::fmt;

use graphlume_types::{DatasetId, FileId, KeyId, SessionId, UserId, id};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::blob::BlobRef;

pub use dataset::{DatasetRec, FileRef, Invitation, Privacy, PrivacyMode, TableRec};
pub use file::{FileRec, TableSchema};
pub use head::{DatasetHead, FileHead, Headed, Hold, Holder, SessionHead};
pub(crate) use head::{file_prefix, holder, holder_prefix};
pub use json_text::JsonText;
pub use key::{KeyRec, SecretDigest};
pub use link::LinkRec;
pub use login::LoginRec;
pub use org::{Member, OrgRec};
pub use session::{CollectionRec, SessionRec};
pub use setting::SettingRec;
pub use step::{CollectionsStep, StepKey, StepRec};
pub use user::{EMAIL, PasswordHash, Role, USERNAME, UserRec};

/// The kinds of records. The number is on the disk and is never used for anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "named after their records")]
pub enum Kind {
    User = 1,
    Org = 2,
    Key = 3,
    File = 4,
    Dataset = 5,
    Session = 6,
    Setting = 7,
    Link = 8,
    Login = 9,
    Step = 10,
}

impl Kind {
    /// Its name in messages and exports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Org => "organization",
            Self::Key => "key",
            Self::File => "file",
            Self::Dataset => "dataset",
            Self::Session => "session",
            Self::Setting => "setting",
            Self::Link => "link",
            Self::Login => "login",
            Self::Step => "step",
        }
    }

    pub(crate) const fn tag(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A key of a record: at most 255 bytes, and text for messages.
pub trait RecordKey: Clone + Send + Sync + 'static {
    /// The bytes on the disk. Numbers are big-endian so that keys sort as numbers.
    fn to_bytes(&self) -> Vec<u8>;
    /// The text in messages.
    fn to_text(&self) -> String;
}

macro_rules! record_keys {
    ($($t:ty: |$k:ident| $bytes:expr, $text:expr;)*) => {$(
        impl RecordKey for $t {
            fn to_bytes(&self) -> Vec<u8> {
                let $k = self;
                $bytes
            }
            fn to_text(&self) -> String {
                let $k = self;
                $text
            }
        }
    )*};
}

record_keys! {
    FileId: |k| k.as_bytes().to_vec(), k.to_string();
    DatasetId: |k| k.as_bytes().to_vec(), k.to_string();
    SessionId: |k| k.as_str().as_bytes().to_vec(), k.to_string();
    UserId: |k| k.0.to_be_bytes().to_vec(), k.0.to_string();
    KeyId: |k| k.0.as_bytes().to_vec(), k.0.clone();
    // Enough of a digest to tell records apart in messages.
    SecretDigest: |k| k.as_bytes().to_vec(), id::hex(&k.as_bytes()[..8]);
    String: |k| k.as_bytes().to_vec(), k.clone();
}

/// A typed record. Every method is a pure function of the fields: the indexes are derived from them
/// and change in the same transaction as the record.
pub trait Record: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Which kind.
    const KIND: Kind;
    /// Whether the record, and the blobs that it needs, count as bytes that its owner holds.
    const COUNTED: bool = false;
    /// Type of its key.
    type Key: RecordKey;
    /// Its key.
    fn key(&self) -> Self::Key;
    /// Unix microseconds; listings are sorted by it, newest first.
    fn created_at(&self) -> i64 {
        0
    }
    /// Whose list it is in.
    fn owner(&self) -> Option<UserId> {
        None
    }
    /// Which organization's list it is in.
    fn org(&self) -> Option<&str> {
        None
    }
    /// Values that no two records of this kind may share: field name and value.
    fn unique(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
    /// Blobs it needs; they are kept as long as it is.
    fn blobs(&self) -> Vec<BlobRef> {
        Vec::new()
    }
    /// Its head in JSON, when the kind has one ([`Headed`]).
    fn head_json(&self) -> Option<Vec<u8>> {
        None
    }
    /// The files whose tables it holds.
    #[doc(hidden)]
    fn holds(&self) -> Vec<Hold> {
        Vec::new()
    }
}

/// What the store must know of a record without knowing its type.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub key: Vec<u8>,
    pub key_text: String,
    pub created_at: i64,
    pub owner: Option<UserId>,
    pub org: Option<String>,
    pub unique: Vec<(&'static str, String)>,
    pub blobs: Vec<BlobRef>,
    pub head: Option<Vec<u8>>,
    /// Key in the index and value.
    pub holds: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether it counts as its owner's.
    pub is_counted: bool,
}

impl Facts {
    pub fn of<R: Record>(rec: &R) -> Self {
        let key = rec.key();
        let mut blobs = rec.blobs();
        blobs.sort_unstable();
        blobs.dedup();
        Self {
            key: key.to_bytes(),
            key_text: key.to_text(),
            created_at: rec.created_at(),
            owner: rec.owner(),
            org: rec.org().map(str::to_owned),
            unique: rec.unique(),
            blobs,
            head: rec.head_json(),
            holds: rec.holds().into_iter().map(|h| (head::hold_key(&h), h.entry.1)).collect(),
            is_counted: R::COUNTED,
        }
    }
}

type FactsFn = fn(&[u8]) -> Result<Facts, serde_json::Error>;

/// One line of [`KINDS`].
pub(crate) struct KindRow {
    pub kind: Kind,
    /// Facts from the JSON form.
    pub facts: FactsFn,
}

const fn row<R: Record>() -> KindRow {
    KindRow { kind: R::KIND, facts: |json| Ok(Facts::of(&serde_json::from_slice::<R>(json)?)) }
}

/// The list of records, in the order in which an import writes them.
pub(crate) static KINDS: [KindRow; 10] = [
    row::<UserRec>(),
    row::<OrgRec>(),
    row::<KeyRec>(),
    row::<FileRec>(),
    row::<DatasetRec>(),
    row::<SessionRec>(),
    row::<SettingRec>(),
    row::<LinkRec>(),
    row::<LoginRec>(),
    row::<StepRec>(),
];

pub(crate) fn row_of_tag(tag: u8) -> Option<&'static KindRow> {
    KINDS.iter().find(|r| r.kind.tag() == tag)
}

pub(crate) fn row_of_name(name: &str) -> Option<&'static KindRow> {
    KINDS.iter().find(|r| r.kind.name() == name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_kind_is_listed_once_under_its_own_tag_and_name() {
        for (i, r) in KINDS.iter().enumerate() {
            assert_eq!(row_of_tag(r.kind.tag()).unwrap().kind, r.kind);
            assert_eq!(row_of_name(r.kind.name()).unwrap().kind, r.kind);
            assert!(KINDS[i + 1..].iter().all(|o| o.kind.tag() != r.kind.tag()));
        }
        assert!(row_of_tag(0).is_none());
    }

    #[test]
    fn a_file_reference_keeps_the_form_the_client_sent() {
        let id = FileId::random();
        for text in [format!("\"{id}\""), format!("[\"{id}\",3]")] {
            let r: FileRef = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&r).unwrap(), text);
        }
        assert!(serde_json::from_str::<FileRef>("[\"x\",1]").is_err());
    }

    #[test]
    fn secrets_do_not_print() {
        let d = SecretDigest::new([7; 32]);
        assert!(!format!("{d:?}").contains("07"));
        assert!(!format!("{:?}", PasswordHash("argon-text".into())).contains("argon"));
        let back: SecretDigest = serde_json::from_str(&serde_json::to_string(&d).unwrap()).unwrap();
        assert_eq!(back.as_bytes(), d.as_bytes());
    }
}
