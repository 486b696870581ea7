//! Datasets: bindings over tables.

use graphlume_types::{DatasetId, FileId, Notice, UserId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::head::{self, Headed as _, Hold};
use super::{Kind, Record, TableSchema};
use crate::blob::BlobRef;

/// A table of a file: the bare file id, or `[file id, table index]`. The form that the client sent
/// is the form it reads back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRef {
    /// The file.
    pub file_id: FileId,
    /// Zero-based table index; absent means the first.
    pub table: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FileRefForm {
    Bare(FileId),
    Table(FileId, u32),
}

impl Serialize for FileRef {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.table {
            None => FileRefForm::Bare(self.file_id).serialize(s),
            Some(t) => FileRefForm::Table(self.file_id, t).serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for FileRef {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(match FileRefForm::deserialize(d)? {
            FileRefForm::Bare(file_id) => Self { file_id, table: None },
            FileRefForm::Table(file_id, t) => Self { file_id, table: Some(t) },
        })
    }
}

/// A table that a dataset holds on to: pinned from a file when the dataset was created, or uploaded
/// directly into the dataset. It carries all that is needed to derive `table` from `raw` again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRec {
    /// Shape.
    pub schema: TableSchema,
    /// Parsed table in the canonical form.
    pub table: BlobRef,
    /// Uploaded body.
    #[serde(default)]
    pub raw: Option<BlobRef>,
    /// Format of `raw`.
    #[serde(default)]
    pub format: String,
    /// Compression of `raw`.
    #[serde(default)]
    pub compression: String,
    /// Parser options of `raw`.
    #[serde(default)]
    pub parser_options: Map<String, Value>,
    /// SQL that was run over the tables of `raw`.
    #[serde(default)]
    pub sql_transforms: Value,
    /// Index of the table among those of `raw`.
    #[serde(default)]
    pub table_index: u32,
    /// The file it was pinned from.
    #[serde(default)]
    pub file: Option<FileRef>,
    /// Unix microseconds of the upload.
    #[serde(default)]
    pub uploaded_at: i64,
}

/// Who may see a dataset once sharing was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrivacyMode {
    /// The author, the organization and the invited.
    Private,
    /// The members of the organization.
    #[serde(alias = "org")]
    Organization,
    /// Every client with the address.
    Public,
}

/// One invited person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// Mail address, lower case.
    pub email: String,
    /// `"10"` view, `"20"` edit, `"30"` share.
    pub action: String,
}

/// The last sharing call of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Privacy {
    /// Who may see it.
    pub mode: PrivacyMode,
    /// What they may do: `"10"` view, `"20"` edit, `"30"` share.
    pub mode_action: String,
    /// People named one by one.
    #[serde(default)]
    pub invited_users: Vec<Invitation>,
    /// Whether they are told.
    #[serde(default)]
    pub notify: bool,
    /// What they are told.
    #[serde(default)]
    pub message: String,
}

/// A dataset. Fields without a comment hold what the client sent, for it to read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields of the interface, named as there")]
pub struct DatasetRec {
    /// Key.
    pub dataset_id: DatasetId,
    pub name: String,
    #[serde(default)]
    pub slug: Option<String>,
    /// Owner.
    pub author: UserId,
    #[serde(default)]
    pub org_name: Option<String>,
    #[serde(default)]
    pub node_count: Option<u64>,
    #[serde(default)]
    pub edge_count: Option<u64>,
    #[serde(default)]
    pub agent_name: Option<String>,
    #[serde(default)]
    pub agent_version: Option<String>,
    #[serde(default)]
    pub uri_tag: Option<String>,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub image: String,
    /// Unix microseconds.
    pub created_at: i64,
    /// Unix microseconds.
    pub updated_at: i64,
    #[serde(default)]
    pub node_files: Vec<FileRef>,
    #[serde(default)]
    pub edge_files: Vec<FileRef>,
    #[serde(default)]
    pub node_transform: String,
    #[serde(default)]
    pub edge_transform: String,
    #[serde(default)]
    pub edge_hypergraph_transform: Vec<Value>,
    #[serde(default)]
    pub compute: Value,
    #[serde(default)]
    pub layout: Value,
    pub node_encodings: Value,
    pub edge_encodings: Value,
    pub metadata: Value,
    /// Unix microseconds.
    #[serde(default)]
    pub timestamp: i64,
    #[serde(default)]
    pub legacy_dataset_name: Option<String>,
    #[serde(default)]
    pub legacy_dataset_author: Option<String>,
    /// Members of the create body that are in no field above.
    #[serde(default)]
    pub extra: Map<String, Value>,
    /// Absent until sharing is set: readable by every client with the address, editable by the author.
    #[serde(default)]
    pub privacy: Option<Privacy>,
    /// Node tables pinned from `node_files`, in that order.
    #[serde(default)]
    pub node_tables: Vec<TableRec>,
    /// Edge tables pinned from `edge_files`, in that order.
    #[serde(default)]
    pub edge_tables: Vec<TableRec>,
    /// Node table uploaded into the dataset.
    #[serde(default)]
    pub direct_nodes: Option<TableRec>,
    /// Edge table uploaded into the dataset.
    #[serde(default)]
    pub direct_edges: Option<TableRec>,
    /// Counts the changes of tables and encodings, so that caches know what they hold.
    #[serde(default)]
    pub data_version: u64,
    /// What of the dataset is not shown as asked, as far as is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
}

impl DatasetRec {
    /// Every table the dataset holds on to.
    pub fn all_tables(&self) -> impl Iterator<Item = &TableRec> {
        let pinned = self.node_tables.iter().chain(&self.edge_tables);
        pinned.chain(&self.direct_nodes).chain(&self.direct_edges)
    }
}

impl Record for DatasetRec {
    const KIND: Kind = Kind::Dataset;
    const COUNTED: bool = true;
    type Key = DatasetId;

    fn key(&self) -> DatasetId {
        self.dataset_id
    }

    fn created_at(&self) -> i64 {
        self.created_at
    }

    fn owner(&self) -> Option<UserId> {
        Some(self.author)
    }

    fn org(&self) -> Option<&str> {
        self.org_name.as_deref()
    }

    fn blobs(&self) -> Vec<BlobRef> {
        self.all_tables().flat_map(|t| t.raw.into_iter().chain([t.table])).collect()
    }

    fn head_json(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(&self.head()).ok()
    }

    fn holds(&self) -> Vec<Hold> {
        head::holds(self)
    }
}
