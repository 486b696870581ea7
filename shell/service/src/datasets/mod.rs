//! Datasets: bindings over tables, and who may see them.

pub(crate) mod builtin;
mod compute;
mod create;
mod direct;
mod encodings;
mod jobs;
pub(crate) mod loader;
mod login_link;
mod members;
mod pictures;
mod preview;
mod share;
mod transform;

use std::sync::Arc;

use graphlume_engine::EngineHandle;
use graphlume_identity::Principal;
use graphlume_identity::authz::{Action, Decision, Resource, decides, require};
use graphlume_storage::{Batch, DatasetHead, DatasetRec, FileRec, StoreError, Tag};
use graphlume_types::calendar::iso8601;
use graphlume_types::{DatasetId, Notice, note};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::data::{DataStore, blocking};
use crate::error::{ServiceError, json_value};
use crate::listing::{self, PageRequest};
use crate::reply::{DatasetEnvelope, DatasetReply, Page, PrivacyReply};
use crate::task::to_the_end;
use crate::text::{self, API_VERSION, HIDDEN_EXTRAS};
use builtin::Builtin;

pub use direct::PartUpload;
pub use encodings::ElementKind;
pub(crate) use share::check_privacy;

/// The datasets of accounts, and those that ship with the server.
#[derive(Clone)]
pub struct Datasets {
    ctx: Arc<Context>,
}

pub(crate) fn no_dataset(id: impl std::fmt::Display) -> ServiceError {
    ServiceError::not_found("dataset", id)
}

/// A dataset that a caller asked for.
pub(crate) enum Found {
    /// One that was created here.
    Stored(Box<DatasetRec>, Tag),
    /// One that ships with the server.
    Builtin(&'static Builtin),
}

impl Found {
    /// Encodings of nodes and of edges.
    pub(crate) fn encodings(&self) -> (Value, Value) {
        match self {
            Self::Stored(rec, _) => (rec.node_encodings.clone(), rec.edge_encodings.clone()),
            Self::Builtin(b) => {
                let reply = b.reply();
                (reply.node_encodings, reply.edge_encodings)
            }
        }
    }

    pub(crate) fn resource(&self) -> Resource<'_> {
        match self {
            Self::Stored(rec, _) => Resource::Dataset(&**rec),
            Self::Builtin(_) => Resource::Builtin,
        }
    }
}

/// The dataset of an id, or of a built-in's name.
pub(crate) fn find(data: &DataStore, id: &str) -> Result<Found, ServiceError> {
    if let Some(b) = builtin::by_name(id) {
        return Ok(Found::Builtin(b));
    }
    let dataset_id: DatasetId = id.parse().map_err(|_| no_dataset(id))?;
    if let Some(b) = builtin::by_id(dataset_id) {
        return Ok(Found::Builtin(b));
    }
    let found = data.store.get_tagged::<DatasetRec>(&dataset_id)?;
    let (rec, tag) = found.ok_or_else(|| no_dataset(id))?;
    Ok(Found::Stored(Box::new(rec), tag))
}

/// [`find`] for a caller who wants to do something with it.
pub(crate) fn find_for(
    data: &DataStore,
    who: &Principal,
    action: Action,
    id: &str,
) -> Result<Found, ServiceError> {
    let found = find(data, id)?;
    require(who, action, found.resource(), "dataset", id)?;
    Ok(found)
}

/// A dataset of which no more is asked than whose it is and who may see it.
pub(crate) enum Known {
    /// One that was created here.
    Stored(DatasetHead),
    /// One that ships with the server.
    Builtin(DatasetId),
}

impl Known {
    pub(crate) fn id(&self) -> DatasetId {
        match self {
            Self::Stored(head) => head.dataset_id,
            Self::Builtin(id) => *id,
        }
    }

    pub(crate) fn resource(&self) -> Resource<'_> {
        match self {
            Self::Stored(head) => Resource::Dataset(head),
            Self::Builtin(_) => Resource::Builtin,
        }
    }
}

/// [`find_for`] without a look at the record, however large that is: for tasks that must not block.
pub(crate) fn known_for(
    data: &DataStore,
    who: &Principal,
    action: Action,
    id: &str,
) -> Result<Known, ServiceError> {
    let builtin = builtin::by_name(id);
    let dataset_id = match builtin {
        Some(b) => b.id(),
        None => id.parse().map_err(|_| no_dataset(id))?,
    };
    let known = match builtin.or_else(|| builtin::by_id(dataset_id)) {
        Some(b) => Known::Builtin(b.id()),
        None => {
            let head = data.store.head::<DatasetRec>(&dataset_id)?;
            Known::Stored(head.ok_or_else(|| no_dataset(id))?)
        }
    };
    require(who, action, known.resource(), "dataset", id)?;
    Ok(known)
}

impl Datasets {
    pub(crate) const fn new(ctx: Arc<Context>) -> Self {
        Self { ctx }
    }

    /// [`find_for`] for a task that must not block.
    async fn dataset_for(
        &self,
        who: &Principal,
        action: Action,
        id: &str,
    ) -> Result<Found, ServiceError> {
        let (who, id) = (who.clone(), id.to_owned());
        self.ctx.blocking(move |data| find_for(data, &who, action, &id)).await
    }

    /// The same where a built-in dataset cannot be meant.
    async fn stored_for(
        &self,
        who: &Principal,
        action: Action,
        id: &str,
    ) -> Result<(DatasetRec, Tag), ServiceError> {
        match self.dataset_for(who, action, id).await? {
            Found::Stored(rec, tag) => Ok((*rec, tag)),
            Found::Builtin(_) => Err(ServiceError::Forbidden(
                "this dataset ships with the server and cannot be changed".to_owned(),
            )),
        }
    }

    /// The caller's datasets and those of the caller's organizations, newest first.
    ///
    /// # Errors
    /// A window out of range.
    pub async fn list(&self, who: &Principal, page: PageRequest) -> Result<Page, ServiceError> {
        let by = who.clone();
        let may = move |_: &DataStore, d: &DatasetHead| {
            Ok(decides(&by, Action::Read, Resource::Dataset(d)) == Decision::Allow)
        };
        listing::page_of::<DatasetRec>(&self.ctx, who, page, may, text::of_dataset).await
    }

    /// One dataset with what was sent at its creation.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], also for another account's private one.
    pub async fn get(&self, who: &Principal, id: &str) -> Result<DatasetEnvelope, ServiceError> {
        let data = match self.dataset_for(who, Action::Read, id).await? {
            Found::Stored(rec, _) => {
                let deleted = deleted_files(&self.ctx.data, &rec)?;
                let may_share =
                    decides(who, Action::Share, Resource::Dataset(&*rec)) == Decision::Allow;
                let shared = rec.privacy.as_ref().filter(|_| may_share);
                let shared = shared.and_then(share::without_effect);
                let mut reply = reply(*rec, may_share)?;
                reply.notices.extend(deleted.into_iter().chain(shared));
                reply
            }
            Found::Builtin(b) => b.reply(),
        };
        Ok(DatasetEnvelope { success: true, message: String::new(), data })
    }

    /// Deletes a dataset. What is known of its viz sessions is the caller's to forget.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Forbidden`].
    pub(crate) async fn delete(
        &self,
        who: &Principal,
        id: &str,
    ) -> Result<DatasetId, ServiceError> {
        let (rec, _) = self.stored_for(who, Action::Delete, id).await?;
        let dataset = rec.dataset_id;
        let (data, engine) = (Arc::clone(&self.ctx.data), self.ctx.engine.clone());
        to_the_end(async move {
            let delete = move |data: &DataStore| {
                data.store.commit(Batch::new().delete::<DatasetRec>(&dataset))?;
                Ok(())
            };
            blocking(&data, delete).await?;
            drop_resident(&engine, dataset).await;
            Ok(())
        })
        .await?;
        Ok(dataset)
    }

    /// What follows the deletion of a dataset's record: its graph ends.
    pub(crate) async fn forget(&self, dataset: DatasetId) {
        drop_resident(&self.ctx.engine, dataset).await;
    }
}

async fn drop_resident(engine: &EngineHandle, dataset: DatasetId) {
    if let Err(e) = engine.forget(dataset).await {
        tracing::warn!(%dataset, error = %e, "a deleted dataset is still resident");
    }
}

/// What the engine is to be told of a dataset's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    /// There is a picture to prepare.
    First,
    /// There are other data than before.
    Again,
    /// Something is still to come.
    NotYet,
}

async fn tell_engine(engine: &EngineHandle, dataset: DatasetId, news: News) {
    let told = match news {
        News::NotYet => return,
        News::First => engine.preload(dataset).await,
        // Viewers get the new picture; when there are none yet, it is prepared all the same.
        News::Again => match engine.changed(dataset).await {
            Ok(()) => engine.preload(dataset).await,
            failed => failed,
        },
    };
    if let Err(e) = told {
        // Not an error of the upload: the graph is loaded when a viewer opens it.
        tracing::warn!(%dataset, error = %e, "the engine did not take the new data at once");
    }
}

/// Whether there is enough for a picture.
fn has_edges(rec: &DatasetRec) -> bool {
    rec.direct_edges.is_some() || !rec.edge_tables.is_empty()
}

/// Writes a record that was read with a tag; one that was deleted meanwhile stays deleted.
fn commit(data: &DataStore, rec: &DatasetRec, tag: Tag) -> Result<(), ServiceError> {
    match data.store.commit(Batch::new().replace(rec, tag)) {
        Err(StoreError::Changed { .. }) if !data.store.exists::<DatasetRec>(&rec.dataset_id)? => {
            Err(no_dataset(rec.dataset_id))
        }
        done => Ok(done?),
    }
}

/// A line for each cited file that is gone. The dataset keeps what it took from it.
fn deleted_files(data: &DataStore, rec: &DatasetRec) -> Result<Vec<Notice>, ServiceError> {
    let mut out = Vec::new();
    for (field, refs) in [("edge_files", &rec.edge_files), ("node_files", &rec.node_files)] {
        for (i, file) in refs.iter().enumerate() {
            if !data.store.exists::<FileRec>(&file.file_id)? {
                let id = file.file_id;
                let text = format!(
                    "{field}[{i}]: file {id} was deleted; the dataset keeps the table it had"
                );
                note(&mut out, Notice::new("file-deleted", text));
            }
        }
    }
    Ok(out)
}

/// Readers of lists look for the version of the interface that a dataset was made through.
fn with_version(mut metadata: Value) -> Value {
    if let Value::Object(map) = &mut metadata {
        map.entry("apiversion").or_insert_with(|| Value::from(API_VERSION));
    }
    metadata
}

fn reply(rec: DatasetRec, may_share: bool) -> Result<DatasetReply, ServiceError> {
    let mut extra: Map<String, Value> = rec.extra;
    extra.retain(|k, _| !HIDDEN_EXTRAS.contains(&k.as_str()));
    Ok(DatasetReply {
        dataset_id: rec.dataset_id.to_string(),
        name: rec.name,
        slug: rec.slug,
        author: rec.author.0,
        node_count: rec.node_count,
        edge_count: rec.edge_count,
        agent_name: rec.agent_name,
        agent_version: rec.agent_version,
        uri_tag: rec.uri_tag,
        description: rec.description,
        image: rec.image,
        created_at: iso8601(rec.created_at),
        updated_at: iso8601(rec.updated_at),
        node_files: json_value("the node files of a dataset", &rec.node_files)?,
        edge_files: json_value("the edge files of a dataset", &rec.edge_files)?,
        node_transform: rec.node_transform,
        edge_transform: rec.edge_transform,
        edge_hypergraph_transform: Value::Array(rec.edge_hypergraph_transform),
        compute: rec.compute,
        layout: rec.layout,
        node_encodings: rec.node_encodings,
        edge_encodings: rec.edge_encodings,
        metadata: with_version(rec.metadata),
        timestamp: iso8601(rec.timestamp),
        legacy_dataset_name: rec.legacy_dataset_name,
        legacy_dataset_author: rec.legacy_dataset_author,
        org_name: rec.org_name.unwrap_or_default(),
        privacy: rec.privacy.as_ref().map(|p| PrivacyReply::of(p, may_share)),
        notices: rec.notices,
        extra,
    })
}
