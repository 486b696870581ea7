//! The use cases of Graphlume: identity, authorization, files, datasets, viz sessions, sharing, health.
//!
//! This crate speaks domain nouns. It knows no HTTP: no status numbers, headers or cookies. A transport
//! authenticates a credential into a [`Principal`], calls a method of [`Service`], and serializes the
//! reply or [`ServiceError::reply`].
//!
//! What holds throughout:
//!
//! 1. A reply that reports a write is given after the write is durable.
//! 2. Whether somebody may do something is decided in [`authz`] alone, before anything is done.
//! 3. Uploaded bytes are kept; what was parsed from them can always be made again.
//! 4. No secret reaches a log line, an error or a record in readable form.

mod address;
pub mod admin;
mod answers;
pub mod authz;
mod body;
mod builtin;
mod collections;
pub mod command;
mod damage;
mod datasets;
mod error;
mod figures;
mod files;
mod health;
mod identity;
mod intake;
mod keeper;
mod live;
mod loader;
mod page;
mod pages;
mod parsers;
mod persist;
pub mod pictures;
mod principal;
mod queries;
mod quotas;
pub mod reply;
mod service;
mod sessions;
mod steady;
mod steering;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod time_text;
mod unread;
mod upkeep;

pub use builtin::DEMO;
pub use collections::BACKGROUND_ID;
pub use datasets::{AboutReply, Part, PartUpload};
pub use error::ServiceError;
pub use figures::Held;
pub use files::FileUpload;
pub use health::Component;
pub use identity::links::{LinkLogin, LinkSettings};
pub use identity::sign_in::{Caller, SignedIn};
pub use live::{CollectionChange, Live, LiveError, NewCollection, ToolAccess};
pub use page::PageRequest;
pub use pages::OpenPage;
pub use parsers::{ParsersHealth, WorkerConfig};
pub use pictures::PictureHost;
pub use principal::Principal;
pub use queries::{QueryOutput, QueryReply};
pub use quotas::QuotaSettings;
pub use reply::{
    ActiveOrganization, DatasetCreated, DatasetEnvelope, DatasetReply, DirectReply, ErrorReply,
    FileReply, HealthReply, KeyReply, KeysReply, LoginReply, Page, SessionReply, SessionsReply,
    StatusReply, TokenReply, WorkersReply,
};
pub use service::{Bootstrap, FIRST_USERNAME, Service, ServiceConfig, Started};
pub use sessions::{Opened, Ticket};
pub use steering::{Arrival, Helm};
