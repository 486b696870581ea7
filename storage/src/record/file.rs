//! Uploaded files.

use graphlume_types::{FileId, Notice, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::head::Headed as _;
use super::{Kind, Record};
use crate::blob::BlobRef;

/// Shape of one table, as clients read it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TableSchema {
    /// Name of the table (sheet or file).
    #[serde(default)]
    pub name: String,
    /// Column name to dtype name, in column order.
    #[serde(default)]
    pub dtypes: Map<String, Value>,
    /// Columns.
    pub num_cols: u64,
    /// Rows.
    pub num_rows: u64,
}

/// An uploaded file and what its parse gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileRec {
    /// Key.
    pub file_id: FileId,
    /// Name given by the client.
    #[serde(default)]
    pub name: String,
    /// Description given by the client.
    #[serde(default)]
    pub description: String,
    /// `arrow`, `csv`, `json`, `orc`, `parquet`, `xls` or `xlsx`.
    pub file_type: String,
    /// Empty, `gzip`, `bz2`, `zip` or `xz`.
    #[serde(default)]
    pub file_compression: String,
    /// How to parse.
    #[serde(default)]
    pub parser_options: Map<String, Value>,
    /// SQL to run over the parsed tables, when any.
    #[serde(default)]
    pub sql_transforms: Value,
    /// Owner.
    pub author: UserId,
    /// Organization the file was placed in.
    #[serde(default)]
    pub org_name: Option<String>,
    /// Client program.
    #[serde(default)]
    pub agent_name: String,
    /// Its version.
    #[serde(default)]
    pub agent_version: String,
    /// Bytes of the uploaded body; absent before the upload and after an erased one.
    #[serde(default)]
    pub bytes_count: Option<u64>,
    /// Unix microseconds.
    pub created_at: i64,
    /// Unix microseconds.
    pub updated_at: i64,
    /// Whether the body is held.
    #[serde(default)]
    pub is_uploaded: bool,
    /// Whether the body was parsed without an error.
    #[serde(default)]
    pub is_valid: bool,
    /// Parse problems, each an object with at least `message` and `slug`.
    #[serde(default)]
    pub errors: Vec<Value>,
    /// One per table.
    #[serde(default)]
    pub tables_schemas: Vec<TableSchema>,
    /// The uploaded body.
    #[serde(default)]
    pub raw: Option<BlobRef>,
    /// The parsed tables in the canonical form, parallel to `tables_schemas`.
    #[serde(default)]
    pub tables: Vec<BlobRef>,
    /// What was asked of the parser and not done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
}

impl Record for FileRec {
    const KIND: Kind = Kind::File;
    const COUNTED: bool = true;
    type Key = FileId;

    fn key(&self) -> FileId {
        self.file_id
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
        self.raw.iter().chain(&self.tables).copied().collect()
    }

    fn head_json(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(&self.head()).ok()
    }
}
