//! Uploaded files: records, bytes, parses.

mod held;
pub(crate) mod tables;
mod upload;
pub(crate) mod upload_stream;

use std::sync::Arc;

use graphlume_identity::authz::{Action, Decision, Resource, decides, require};
use graphlume_identity::{IdentityError, Principal, body, orgs};
use graphlume_ingest::{Compression, Format, IngestError, ParseSpec, sql_transforms};
use graphlume_storage::{Batch, FileHead, FileRec, Headed as _, StoreError, Tag};
use graphlume_types::calendar::iso8601;
use graphlume_types::{CancelToken, FileId, Notice};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::data::DataStore;
use crate::error::{ServiceError, json_value};
use crate::free_fields::check_free_fields;
use crate::listing::{self, PageRequest};
use crate::reply::{FileReply, Page};
use crate::text;
use tables::{ParseOutcome, parse_and_store};

pub(crate) use held::{Citable, citable, held};
pub use upload::FileUpload;

/// The uploaded files of accounts.
#[derive(Clone)]
pub struct Files {
    ctx: Arc<Context>,
}

/// Fields of a record that the server alone writes.
const OWN_FIELDS: &[&str] = &[
    "file_id",
    "author",
    "bytes_count",
    "created_at",
    "updated_at",
    "is_uploaded",
    "is_valid",
    "errors",
    "tables_schemas",
];
/// Fields that a change may name.
const PATCH_FIELDS: &[&str] = &[
    "name",
    "description",
    "file_type",
    "file_compression",
    "parser_options",
    "sql_transforms",
    "agent_name",
    "agent_version",
];

/// The error for a file that is not there, in the words that clients look for.
pub(crate) fn no_file(id: impl std::fmt::Display) -> ServiceError {
    ServiceError::not_found("file", id)
}

/// The file of an id that came in a path or a body.
pub(crate) fn find(data: &DataStore, id: &str) -> Result<(FileRec, Tag), ServiceError> {
    let file_id: FileId = id.parse().map_err(|_| no_file(id))?;
    data.store.get_tagged::<FileRec>(&file_id)?.ok_or_else(|| no_file(id))
}

/// Blocks.
fn find_for(
    data: &DataStore,
    who: &Principal,
    action: Action,
    id: &str,
) -> Result<(FileRec, Tag), ServiceError> {
    let (rec, tag) = find(data, id)?;
    let head = rec.head();
    let held = held(data, who, &head)?;
    require(who, action, Resource::File(&head, held), "file", id)?;
    Ok((rec, tag))
}

impl Files {
    pub(crate) const fn new(ctx: Arc<Context>) -> Self {
        Self { ctx }
    }

    /// [`find_for`] for a task that must not block.
    async fn file_for(
        &self,
        who: &Principal,
        action: Action,
        id: &str,
    ) -> Result<(FileRec, Tag), ServiceError> {
        let (who, id) = (who.clone(), id.to_owned());
        self.ctx.blocking(move |data| find_for(data, &who, action, &id)).await
    }

    /// Makes a file record; its bytes follow.
    ///
    /// # Errors
    /// A missing or unknown `file_type`, an organization that the caller is no member of.
    pub async fn create(&self, who: &Principal, body: &[u8]) -> Result<FileReply, ServiceError> {
        let author = who.user().ok_or(IdentityError::Unauthenticated)?;
        refuse_scoped(who)?;
        let map = body::object(body)?;
        let now = self.ctx.data.clock.unix_micros();
        let org = orgs::for_create(&self.ctx.data.store, who, body::text(&map, "org_name")?)?;
        let mut rec = FileRec {
            file_id: FileId::random(),
            name: String::new(),
            description: String::new(),
            file_type: String::new(),
            file_compression: String::new(),
            parser_options: Map::new(),
            sql_transforms: Value::Null,
            author,
            org_name: Some(org),
            agent_name: String::new(),
            agent_version: String::new(),
            bytes_count: None,
            created_at: now,
            updated_at: now,
            is_uploaded: false,
            is_valid: false,
            errors: Vec::new(),
            tables_schemas: Vec::new(),
            raw: None,
            tables: Vec::new(),
            notices: Vec::new(),
        };
        set_fields(&mut rec, &map)?;
        if rec.file_type.is_empty() {
            return Err(body::missing(
                "file_type",
                &format!("one of {}", Format::ALL.map(Format::name).join(", ")),
            )
            .into());
        }
        self.ctx
            .blocking(move |data| {
                let _place = data.quotas.file(&data.store, author)?;
                let _room = data.quotas.record(&data.store, &rec, None)?;
                data.store.commit(Batch::new().insert(&rec))?;
                reply(rec)
            })
            .await
    }

    /// The caller's files and those of the caller's organizations, newest first.
    ///
    /// # Errors
    /// A window out of range.
    pub async fn list(&self, who: &Principal, page: PageRequest) -> Result<Page, ServiceError> {
        let by = who.clone();
        let may = move |data: &DataStore, f: &FileHead| {
            let held = held(data, &by, f)?;
            Ok(decides(&by, Action::Read, Resource::File(f, held)) == Decision::Allow)
        };
        listing::page_of::<FileRec>(&self.ctx, who, page, may, text::of_file).await
    }

    /// One file's record.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], also for another account's.
    pub async fn get(&self, who: &Principal, id: &str) -> Result<FileReply, ServiceError> {
        let (rec, _) = self.file_for(who, Action::Read, id).await?;
        let progress = self.ctx.data.progress.get(&rec.file_id);
        Ok(FileReply { progress, ..reply(rec)? })
    }

    /// Changes names and parser settings; kept bytes are parsed again with the new settings.
    ///
    /// # Errors
    /// A field that cannot be changed. A parse that fails is part of the reply.
    pub async fn patch(
        &self,
        who: &Principal,
        id: &str,
        body: &[u8],
    ) -> Result<FileReply, ServiceError> {
        let map = body::object(body)?;
        refuse_foreign_fields(&map)?;
        let (before, tag) = self.file_for(who, Action::Write, id).await?;
        let _claim = self.ctx.claims.take(format!("file {id}"))?;
        let mut rec = before.clone();
        set_fields(&mut rec, &map)?;
        rec.updated_at = self.ctx.data.clock.unix_micros();
        let settings = |r: &FileRec| {
            let (kind, compression) = (r.file_type.clone(), r.file_compression.clone());
            (kind, compression, r.parser_options.clone(), r.sql_transforms.clone())
        };
        let parse = settings(&rec) != settings(&before) || rec.is_uploaded && !rec.is_valid;
        let (_entry, watch) = self.ctx.data.progress.begin(rec.file_id);
        let permit = self.ctx.parses.turn(rec.author).await?;
        let out = self
            .ctx
            .blocking(move |data| {
                if parse && let Some(raw) = rec.raw {
                    let input = Arc::new(data.store.blobs().open_verified(&raw)?);
                    let (spec, cancel) = (parse_spec(&rec, &[])?, CancelToken::new());
                    let parsed =
                        parse_and_store(data, Some(rec.author), &spec, input, &cancel, watch)?;
                    record_parse(&mut rec, parsed)?;
                }
                let _room = data.quotas.record(&data.store, &rec, Some(&before))?;
                commit(data, &rec, tag)?;
                reply(rec)
            })
            .await;
        drop(permit);
        out
    }

    /// Deletes a file. Datasets made from it keep the tables that they hold on to.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], also for another account's.
    pub async fn delete(&self, who: &Principal, id: &str) -> Result<(), ServiceError> {
        let (rec, tag) = self.file_for(who, Action::Delete, id).await?;
        let (id, user) = (id.to_owned(), who.user());
        self.ctx.blocking(move |data| {
            match data.store.commit(Batch::new().delete_if::<FileRec>(&rec.file_id, tag)) {
                Ok(()) => {}
                // Changed by an upload of the same moment: it goes all the same.
                Err(StoreError::Changed { .. }) => {
                    data.store.commit(Batch::new().delete::<FileRec>(&rec.file_id))?;
                }
                Err(e) => return Err(e.into()),
            }
            tracing::info!(target: "audit", event = "file-deleted", user = user.map(|u| u.0), file = id);
            Ok(())
        })
        .await
    }
}

/// Link guests look at one dataset and make nothing.
pub(crate) fn refuse_scoped(who: &Principal) -> Result<(), ServiceError> {
    if who.scope().is_some() {
        return Err(ServiceError::Forbidden("a link guest cannot create anything".to_owned()));
    }
    Ok(())
}

fn set_fields(rec: &mut FileRec, map: &Map<String, Value>) -> Result<(), ServiceError> {
    check_free_fields(
        map,
        |field| matches!(field, "parser_options" | "sql_transforms"),
        |_| false,
    )?;
    if let Some(name) = body::name(map, "name")? {
        rec.name = name;
    }
    if let Some(description) = body::description(map)? {
        rec.description = description;
    }
    if let Some(agent) = body::name(map, "agent_name")? {
        rec.agent_name = agent;
    }
    if let Some(version) = body::name(map, "agent_version")? {
        rec.agent_version = version;
    }
    if let Some(text) = body::text(map, "file_type")? {
        let format: Format = text.parse().map_err(|e: IngestError| {
            ServiceError::invalid("file_type", format!("file_type: {e}"))
        })?;
        rec.file_type = format.name().to_owned();
    }
    if let Some(text) = body::text(map, "file_compression")? {
        let compression: Compression = text
            .parse()
            .map_err(|e: IngestError| ServiceError::invalid("file_compression", e.to_string()))?;
        rec.file_compression = compression.name().to_owned();
    }
    if let Some(options) = body::member(map, "parser_options")? {
        rec.parser_options = options.clone();
    } else if map.contains_key("parser_options") {
        rec.parser_options = Map::new();
    }
    if map.contains_key("sql_transforms") {
        let given = map.get("sql_transforms").cloned().unwrap_or(Value::Null);
        sql_transforms(&given)
            .map_err(|e| ServiceError::invalid("sql_transforms", e.to_string()))?;
        rec.sql_transforms = given;
    }
    Ok(())
}

fn refuse_foreign_fields(map: &Map<String, Value>) -> Result<(), ServiceError> {
    for field in map.keys() {
        if PATCH_FIELDS.contains(&field.as_str()) {
            continue;
        }
        let shown: String = field.chars().take(60).collect();
        let own = OWN_FIELDS.contains(&field.as_str()) || field == "org_name";
        let what = if own { "cannot be changed" } else { "is unknown" };
        let message = format!("{shown} {what}; what can be: {}", PATCH_FIELDS.join(", "));
        return Err(ServiceError::invalid(shown, message));
    }
    Ok(())
}

/// How the record says that its bytes are to be parsed; options in an upload's address come on top.
fn parse_spec(rec: &FileRec, query: &[(String, String)]) -> Result<ParseSpec, ServiceError> {
    let format: Format =
        rec.file_type.parse().map_err(|e: IngestError| ServiceError::unreadable(&e))?;
    let mut options = rec.parser_options.clone();
    let more = graphlume_ingest::options_from_query(format, query)
        .map_err(|e| ServiceError::unreadable(&e))?;
    options.extend(more);
    let rest = || -> Result<_, IngestError> {
        Ok((rec.file_compression.parse()?, sql_transforms(&rec.sql_transforms)?))
    };
    let (compression, sql) = rest().map_err(|e| ServiceError::unreadable(&e))?;
    Ok(ParseSpec { format, compression, options, sql })
}

/// A compressed file whose name does not say so: the interface wants the extension in the name, and the declared
/// compression is what counts here.
fn without_extension(rec: &FileRec) -> Option<Notice> {
    let compression: Compression = rec.file_compression.parse().ok()?;
    let extension = compression.extension()?;
    let is_said = rec.name.is_empty() || rec.name.to_ascii_lowercase().ends_with(extension);
    (!is_said).then(|| {
        let text = format!(
            "the file was read as {compression}, as declared, though its name {:?} does not end in {extension:?}; \
             other servers want the extension",
            rec.name
        );
        Notice::new("compression-not-in-name", text)
    })
}

/// Writes the outcome of a parse into the record of bytes that are kept.
fn record_parse(rec: &mut FileRec, parsed: ParseOutcome) -> Result<(), ServiceError> {
    rec.is_uploaded = true;
    match parsed {
        ParseOutcome::Parsed(taken) => {
            rec.is_valid = true;
            rec.errors = Vec::new();
            rec.tables_schemas = taken.schemas;
            rec.tables = taken.tables;
            rec.notices = taken.notices;
            rec.notices.extend(without_extension(rec));
            if let Some(agent) = taken.agent_name {
                rec.agent_name = agent;
            }
            if let Some(version) = taken.agent_version {
                rec.agent_version = version;
            }
        }
        ParseOutcome::Refused(failure) => {
            rec.is_valid = false;
            rec.errors = vec![json_value("an error of a parser", &failure.record)?];
            rec.tables_schemas = Vec::new();
            rec.tables = Vec::new();
            rec.notices = Vec::new();
        }
    }
    Ok(())
}

/// Writes a record that was read with `tag`; one that was deleted meanwhile stays deleted.
fn commit(data: &DataStore, rec: &FileRec, tag: Tag) -> Result<(), ServiceError> {
    match data.store.commit(Batch::new().replace(rec, tag)) {
        Err(StoreError::Changed { .. }) if !data.store.exists::<FileRec>(&rec.file_id)? => {
            Err(no_file(rec.file_id))
        }
        done => Ok(done?),
    }
}

fn reply(rec: FileRec) -> Result<FileReply, ServiceError> {
    Ok(FileReply {
        file_id: rec.file_id.to_string(),
        name: rec.name,
        description: rec.description,
        file_type: rec.file_type,
        file_compression: rec.file_compression,
        parser_options: Value::Object(rec.parser_options),
        sql_transforms: rec.sql_transforms,
        author: rec.author.0,
        agent_name: rec.agent_name,
        agent_version: rec.agent_version,
        bytes_count: rec.bytes_count,
        created_at: iso8601(rec.created_at),
        updated_at: iso8601(rec.updated_at),
        is_uploaded: rec.is_uploaded,
        is_valid: rec.is_valid,
        errors: Value::Array(rec.errors),
        tables_schemas: json_value("the schemas of a file", &rec.tables_schemas)?,
        org_name: rec.org_name.unwrap_or_default(),
        notices: rec.notices,
        progress: None,
    })
}
