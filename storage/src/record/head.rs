//! Heads of records and holders of files: the fields that rights and lists need, kept beside a record so that the record
//! itself need not be read.

use std::collections::BTreeMap;

use graphlume_types::{DatasetId, FileId, SessionId, UserId, id};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{DatasetRec, FileRec, Privacy, PrivacyMode, Record, SessionRec};

/// Bytes of a hash that stands for a mail address.
const ADDRESS_BYTES: usize = 16;

/// A record with a head, which the store writes with each commit of the record.
pub trait Headed: Record {
    /// The head.
    type Head: Serialize + DeserializeOwned;
    /// The head of a record.
    fn head(&self) -> Self::Head;
}

/// What decides about the rights to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHead {
    /// The file.
    pub file_id: FileId,
    /// Owner.
    pub author: UserId,
    /// Organization the file was placed in.
    #[serde(default)]
    pub org_name: Option<String>,
}

/// What decides about the rights to a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetHead {
    /// The dataset.
    pub dataset_id: DatasetId,
    /// Owner.
    pub author: UserId,
    /// Organization the dataset was placed in.
    #[serde(default)]
    pub org_name: Option<String>,
    /// Who may see it; absent until sharing is set.
    #[serde(default)]
    pub mode: Option<PrivacyMode>,
    /// What those may do that the mode lets in.
    #[serde(default)]
    pub mode_action: String,
    /// What the invited may do, by the hash of the mail address: an invitation takes little room however long the
    /// address is.
    #[serde(default)]
    invited: BTreeMap<String, String>,
}

impl DatasetHead {
    /// What the owner of a mail address (lower case) is invited to.
    #[must_use]
    pub fn invited(&self, email: &str) -> Option<&str> {
        self.invited.get(&address(email)).map(String::as_str)
    }
}

/// What lists say of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHead {
    /// The session.
    pub session_id: SessionId,
    /// What it shows.
    pub dataset_id: DatasetId,
    /// Unix microseconds.
    pub created_at: i64,
    /// Unix microseconds; a closed session is gone for good.
    #[serde(default)]
    pub closed_at: Option<i64>,
}

impl Headed for SessionRec {
    type Head = SessionHead;

    fn head(&self) -> SessionHead {
        SessionHead {
            session_id: self.session_id.clone(),
            dataset_id: self.dataset_id,
            created_at: self.created_at,
            closed_at: self.closed_at,
        }
    }
}

fn address(email: &str) -> String {
    id::hex(&blake3::hash(email.as_bytes()).as_bytes()[..ADDRESS_BYTES])
}

/// The most that an address is invited to, of several invitations.
fn invitations(privacy: Option<&Privacy>) -> BTreeMap<String, String> {
    let mut out = BTreeMap::<String, String>::new();
    for invited in privacy.into_iter().flat_map(|p| &p.invited_users) {
        let action = out.entry(address(&invited.email)).or_default();
        if invited.action > *action {
            action.clone_from(&invited.action);
        }
    }
    out
}

impl Headed for FileRec {
    type Head = FileHead;

    fn head(&self) -> FileHead {
        FileHead { file_id: self.file_id, author: self.author, org_name: self.org_name.clone() }
    }
}

impl Headed for DatasetRec {
    type Head = DatasetHead;

    fn head(&self) -> DatasetHead {
        let privacy = self.privacy.as_ref();
        DatasetHead {
            dataset_id: self.dataset_id,
            author: self.author,
            org_name: self.org_name.clone(),
            mode: privacy.map(|p| p.mode),
            mode_action: privacy.map(|p| p.mode_action.clone()).unwrap_or_default(),
            invited: invitations(privacy),
        }
    }
}

/// A dataset that holds tables of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The dataset.
    pub dataset: DatasetId,
    /// Who may see it; absent until sharing is set.
    pub mode: Option<PrivacyMode>,
    /// Indices of the tables that it holds, and when what they were parsed from was uploaded.
    pub tables: Vec<(u32, i64)>,
}

/// One use of a file by a dataset, as the index has it: the key behind that of the file, and the value.
#[derive(Debug)]
pub struct Hold {
    pub(crate) file: FileId,
    pub(crate) entry: (Vec<u8>, Vec<u8>),
}

/// Private ones come first: whether there is one is the first question.
const MODES: [Option<PrivacyMode>; 4] =
    [Some(PrivacyMode::Private), None, Some(PrivacyMode::Organization), Some(PrivacyMode::Public)];

/// What a dataset holds of files.
pub(crate) fn holds(rec: &DatasetRec) -> Vec<Hold> {
    let mut files = BTreeMap::<FileId, BTreeMap<u32, i64>>::new();
    for (refs, tables) in [(&rec.node_files, &rec.node_tables), (&rec.edge_files, &rec.edge_tables)]
    {
        for (i, file) in refs.iter().enumerate() {
            let tables_of = files.entry(file.file_id).or_default();
            if let Some(table) = tables.get(i) {
                let at = tables_of.entry(table.table_index).or_insert(i64::MIN);
                *at = (*at).max(table.uploaded_at);
            }
        }
    }
    let mode = rec.privacy.as_ref().map(|p| p.mode);
    let place = MODES.iter().position(|m| *m == mode).unwrap_or_default();
    let hold = |(file, tables): (FileId, BTreeMap<u32, i64>)| {
        let mut key = rec.author.0.to_be_bytes().to_vec();
        key.push(u8::try_from(place).unwrap_or_default());
        key.extend_from_slice(rec.dataset_id.as_bytes());
        let mut value = Vec::with_capacity(tables.len() * 12);
        for (index, at) in tables {
            value.extend_from_slice(&index.to_be_bytes());
            value.extend_from_slice(&at.to_be_bytes());
        }
        Hold { file, entry: (key, value) }
    };
    files.into_iter().map(hold).collect()
}

/// Prefix of the holders that an author's datasets are, after the key of the file; with `private`, of the private ones.
pub(crate) fn holder_prefix(author: UserId, private: bool) -> Vec<u8> {
    let mut key = author.0.to_be_bytes().to_vec();
    if private {
        key.push(0);
    }
    key
}

/// Reads back what [`holds`] wrote.
pub(crate) fn holder(key: &[u8], value: &[u8]) -> Option<Holder> {
    let (place, dataset) = key.get(8..)?.split_first()?;
    let tables = value.chunks_exact(12).map(|c| {
        let (index, at) = c.split_at(4);
        (
            u32::from_be_bytes(index.try_into().unwrap_or_default()),
            i64::from_be_bytes(at.try_into().unwrap_or_default()),
        )
    });
    Some(Holder {
        dataset: DatasetId::from_bytes(dataset.try_into().ok()?),
        mode: *MODES.get(usize::from(*place))?,
        tables: tables.collect(),
    })
}

/// Prefix of the entries of all datasets that hold a file.
pub(crate) fn file_prefix(file: &FileId) -> Vec<u8> {
    let mut out = vec![b'r'];
    out.extend_from_slice(file.as_bytes());
    out
}

/// The entry of a dataset that holds a file.
pub(super) fn hold_key(hold: &Hold) -> Vec<u8> {
    let mut out = file_prefix(&hold.file);
    out.extend_from_slice(&hold.entry.0);
    out
}
