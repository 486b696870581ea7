//! The use cases of Graphlume: files, datasets, queries, viz sessions, the tools of agents, health. Who is asking, and what
//! they may do, is `graphlume-identity`'s.
//!
//! This crate speaks domain nouns. It knows no HTTP: no status numbers, headers or cookies. A transport
//! authenticates a credential into a [`Principal`], calls a method of [`Service`] or of one of its fields, and serializes
//! the reply or [`ServiceError::reply`].
//!
//! What holds throughout:
//!
//! 1. A reply that reports a write is given after the write is durable.
//! 2. Whether a caller may do something is decided in [`graphlume_identity::authz`] alone, before anything is done.
//! 3. Uploaded bytes are kept; what was parsed from them can always be made again.
//! 4. No secret reaches a log line, an error or a record in readable form.
//!
//! Each module uses only those below it in `floors.txt`.

mod agents;
mod answer_budget;
mod claims;
pub mod command;
mod context;
mod data;
mod datasets;
mod document;
mod error;
mod files;
mod free_fields;
mod health;
mod listing;
mod parse_turns;
pub mod pictures;
mod queries;
mod quotas;
pub mod reply;
mod service;
mod sessions;
mod table_cache;
mod task;
#[cfg(test)]
mod tests;
mod text;
mod upkeep;
mod upload_progress;

pub use agents::{Agents, CollectionChange, Live, LiveError, NewCollection, ToolAccess};
pub use datasets::builtin::DEMO;
pub use datasets::{Datasets, ElementKind, PartUpload};
pub use document::{ChangeRequest, Seat, Text, Told};
pub use error::ServiceError;
pub use files::{FileUpload, Files};
pub use graphlume_identity::reply::{
    ActiveOrganization, KeyReply, KeysReply, LoginReply, StatusReply, TokenReply,
};
pub use graphlume_identity::{
    Bootstrap, Caller, FIRST_USERNAME, Identity, IdentityError, LinkLogin, LinkSettings, Principal,
    SignedIn, admin,
};
pub use graphlume_table::keep_digits;
pub use graphlume_workers::{ParsersHealth, WorkerConfig};
pub use health::{Component, Health, RecordCounts};
pub use listing::PageRequest;
pub use pictures::PictureHost;
pub use queries::{AnswerStream, Queries, QueryBody, QueryOutput, QueryReply, SelectionFile};
pub use quotas::QuotaSettings;
pub use reply::{
    DatasetCreated, DatasetEnvelope, DatasetReply, DirectReply, ErrorReply, FileReply, HealthReply,
    JobReply, JobsReply, Page, SessionReply, SessionsReply, WorkersReply,
};
pub use service::{Service, ServiceConfig, ServiceSettings, Started};
pub use sessions::collections::BACKGROUND_ID;
pub use sessions::{
    AboutReply, Arrival, Found, LookAsked, NamedLayout, OpenPage, Opened, PageControl,
    PictureAsked, Sessions, StepRequest, Stepped, ViewerGrant,
};
pub use upkeep::Upkeep;
