//! Every JSON body that the server answers with, in the exact shape that clients read.

use bytes::Bytes;
use graphlume_engine::JobState;
use graphlume_ingest::Progress;
use graphlume_storage::{Invitation, Privacy, PrivacyMode};
use graphlume_types::{Code, Notice};
use serde::Serialize;
use serde_json::{Map, Value};

/// The body of a failed request: one shape that satisfies every reader.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorReply {
    /// Always false.
    pub success: bool,
    /// Always "ERR".
    pub status: &'static str,
    /// What went wrong and what to do about it.
    pub message: String,
    /// The message behind its slug in brackets.
    pub error: String,
    /// The message again, under the name that some readers look for.
    pub detail: String,
    /// The message as a list, which the token routes' readers look for.
    pub non_field_errors: [String; 1],
    /// The kind of failure.
    pub code: Code,
    /// The stable machine name.
    pub slug: String,
    /// The request field at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The request's id in the log; the transport fills it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl ErrorReply {
    /// A body for `message`.
    #[must_use]
    pub fn new(code: Code, slug: &str, field: Option<&str>, message: String) -> Self {
        Self {
            success: false,
            status: "ERR",
            error: format!("[{slug}] {message}"),
            detail: message.clone(),
            non_field_errors: [message.clone()],
            message,
            code,
            slug: slug.to_owned(),
            field: field.map(str::to_owned),
            request_id: None,
        }
    }
}

/// One page of a list, as it is sent: `{count, next, previous, results}`.
#[derive(Debug)]
pub struct Page {
    /// Entries in all pages together.
    pub count: u64,
    /// The page as JSON; its memory is counted until the last byte is gone.
    pub body: Bytes,
}

/// A file record (spec 2.2). `V` is how the parts are held whose form is free.
#[derive(Debug, Clone, Serialize)]
pub struct FileReply<V = Value> {
    /// Opaque id.
    pub file_id: String,
    /// Name, may be empty.
    pub name: String,
    /// Description, may be empty.
    pub description: String,
    /// Declared format.
    pub file_type: String,
    /// Declared compression, empty for none.
    pub file_compression: String,
    /// Parsing hints.
    pub parser_options: V,
    /// Transforms or null.
    pub sql_transforms: V,
    /// Owner's account number.
    pub author: u64,
    /// Uploading program.
    pub agent_name: String,
    /// Its version.
    pub agent_version: String,
    /// Size of the uploaded bytes, null while there are none.
    pub bytes_count: Option<u64>,
    /// ISO 8601.
    pub created_at: String,
    /// ISO 8601.
    pub updated_at: String,
    /// Whether bytes are kept.
    pub is_uploaded: bool,
    /// Whether they parsed.
    pub is_valid: bool,
    /// Parse problems, empty when fine.
    pub errors: V,
    /// One schema per table.
    pub tables_schemas: V,
    /// Organization.
    pub org_name: String,
    /// What was asked for and not done, such as an option of the parser without effect.
    pub notices: Vec<Notice>,
    /// How far an upload of it is; absent while there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

/// Reply to the creation of a dataset.
#[derive(Debug, Clone, Serialize)]
pub struct DatasetCreated {
    /// Holds the id.
    pub data: DatasetIdReply,
    /// What was done, with warnings.
    pub message: String,
    /// Always true: failures are errors.
    pub success: bool,
}

/// An object with the id alone.
#[derive(Debug, Clone, Serialize)]
pub struct DatasetIdReply {
    /// Opaque id, 32 hexadecimal characters.
    pub dataset_id: String,
    /// What was asked for and not done.
    pub notices: Vec<Notice>,
}

/// Reply to a read of one dataset.
#[derive(Debug, Clone, Serialize)]
pub struct DatasetEnvelope {
    /// Always true.
    pub success: bool,
    /// Empty.
    pub message: String,
    /// The record.
    pub data: DatasetReply,
}

/// A dataset record (spec 2.3) with what was sent at creation. `V` and `X` are how the parts are held whose form is free.
#[derive(Debug, Clone, Serialize)]
pub struct DatasetReply<V = Value, X = Map<String, Value>> {
    /// Opaque id.
    pub dataset_id: String,
    /// Name.
    pub name: String,
    /// As created, or null; datasets are addressed by id.
    pub slug: Option<String>,
    /// Owner's account number.
    pub author: u64,
    /// Nodes, null while unknown.
    pub node_count: Option<u64>,
    /// Edges, null while unknown.
    pub edge_count: Option<u64>,
    /// Creating program.
    pub agent_name: Option<String>,
    /// Its version.
    pub agent_version: Option<String>,
    /// As created, or null.
    pub uri_tag: Option<String>,
    /// Description, may be empty.
    pub description: String,
    /// As created, such as the address of a preview; empty for none.
    pub image: String,
    /// ISO 8601.
    pub created_at: String,
    /// ISO 8601.
    pub updated_at: String,
    /// File ids or `[file id, table index]`.
    pub node_files: V,
    /// File ids or `[file id, table index]`.
    pub edge_files: V,
    /// Empty: none.
    pub node_transform: String,
    /// Empty: none.
    pub edge_transform: String,
    /// As created; empty for none.
    pub edge_hypergraph_transform: V,
    /// As created, or null.
    pub compute: V,
    /// As created, or null.
    pub layout: V,
    /// `{bindings, complex?}`.
    pub node_encodings: V,
    /// `{bindings, complex?}`.
    pub edge_encodings: V,
    /// As created.
    pub metadata: V,
    /// ISO 8601, equal to `created_at`.
    pub timestamp: String,
    /// Always null.
    pub legacy_dataset_name: Option<String>,
    /// Always null.
    pub legacy_dataset_author: Option<String>,
    /// Organization.
    pub org_name: String,
    /// Who may see it; null until sharing is set.
    pub privacy: Option<PrivacyReply>,
    /// What of the dataset is not shown as asked: at first what its bindings tell, and what its data tell once the
    /// graph was built.
    pub notices: Vec<Notice>,
    /// What else was sent at creation.
    #[serde(flatten)]
    pub extra: X,
}

/// How a dataset is shared: for who may look at it whom the mode lets in, for who may share it all that was set.
#[derive(Debug, Clone, Serialize)]
pub struct PrivacyReply {
    /// `private`, `organization` or `public`.
    pub mode: PrivacyMode,
    /// What those may do whom the mode lets in: `"10"` view, `"20"` edit, `"30"` share.
    pub mode_action: String,
    /// Who is let in by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invited_users: Option<Vec<Invitation>>,
    /// Whether they were to be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<bool>,
    /// What they were to be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl PrivacyReply {
    /// What `whole` says how much of is shown.
    #[must_use]
    pub fn of(privacy: &Privacy, whole: bool) -> Self {
        Self {
            mode: privacy.mode,
            mode_action: privacy.mode_action.clone(),
            invited_users: whole.then(|| privacy.invited_users.clone()),
            notify: whole.then_some(privacy.notify),
            message: whole.then(|| privacy.message.clone()),
        }
    }
}

/// The algorithms and the layout that a dataset names.
#[derive(Debug, Clone, Serialize)]
pub struct JobsReply {
    /// In the order in which they run.
    pub results: Vec<JobReply>,
}

/// An algorithm or a layout that a dataset names.
#[derive(Debug, Clone, Serialize)]
pub struct JobReply {
    /// Its number within the dataset.
    pub id: String,
    /// The member of the dataset that asks for it, such as `compute.rank`.
    pub field: String,
    /// `library.name`.
    pub algorithm: String,
    /// Where it is.
    pub state: JobState,
    /// ISO 8601, null before it has begun.
    pub begun_at: Option<String>,
    /// How long it has run, null before it has begun.
    pub seconds: Option<f64>,
    /// How long it may run.
    pub limit_seconds: u64,
    /// Why it gave no columns, else null.
    pub message: Option<String>,
}

/// Reply to a direct upload of nodes or edges (spec 4.5).
#[derive(Debug, Clone, Serialize)]
pub struct DirectReply {
    /// What was parsed.
    pub data: DirectData,
    /// What was done, with warnings.
    pub message: String,
    /// Always true.
    pub success: bool,
}

/// What a direct upload parsed into.
#[derive(Debug, Clone, Serialize)]
pub struct DirectData {
    /// The dataset.
    pub dataset_id: String,
    /// Column name to dtype name, in column order.
    pub dtypes: Map<String, Value>,
    /// Columns.
    pub num_cols: u64,
    /// Rows.
    pub num_rows: u64,
    /// Whole seconds spent parsing.
    pub time_parsing_s: u64,
    /// What was asked for and not done.
    pub notices: Vec<Notice>,
}

/// A viz session as the REST interface shows it (spec 2.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionReply {
    /// The session.
    pub session_id: String,
    /// What it shows.
    pub revision: RevisionReply,
}

/// A shareable revision of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RevisionReply {
    /// The revision.
    pub revision_id: String,
    /// The dataset that it started as.
    pub dataset: RevisionDataset,
}

/// The dataset of a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RevisionDataset {
    /// The dataset.
    pub dataset_id: String,
}

/// The list of viz sessions.
#[derive(Debug, Clone, Serialize)]
pub struct SessionsReply {
    /// Newest first.
    pub results: Vec<SessionReply>,
}

/// State of one component.
#[derive(Debug, Clone, Serialize)]
pub struct HealthReply {
    /// "ok" or "unavailable".
    pub status: &'static str,
    /// The component in plain words.
    pub component: &'static str,
    /// What was found.
    pub detail: String,
    /// Whether the route answers that all is well.
    #[serde(skip)]
    pub healthy: bool,
}

/// State of the workers behind the GPU service.
#[derive(Debug, Clone, Serialize)]
pub struct WorkersReply {
    /// One entry per worker.
    pub workers: Vec<WorkerReply>,
}

/// One worker.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerReply {
    /// "cpu" or "gpu".
    pub kind: &'static str,
    /// Device in plain words.
    pub device: String,
    /// Whether its compute context works.
    pub cl_context_healthy: bool,
    /// Whether work is routed to it.
    pub ready: bool,
}
