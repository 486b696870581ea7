//! Making a dataset from bindings and, perhaps, files.

use std::sync::Arc;

use graphlume_identity::body::{self, kind, missing};
use graphlume_identity::{IdentityError, Principal, orgs};
use graphlume_storage::{Batch, DatasetRec, FileRec, FileRef, Privacy, TableRec, TableSchema};
use graphlume_types::limits::{FILES_PER_DATASET_MAX, IMAGE_CHARS_MAX};
use graphlume_types::{DatasetId, FileId, Notice, note};
use serde_json::{Map, Value};

use super::compute;
use super::encodings::{ElementKind, bound, check_columns, normalize};
use super::transform::Transforms;
use super::{Datasets, News, has_edges, members, pictures, preview, tell_engine};
use crate::data::{DataStore, blocking};
use crate::error::ServiceError;
use crate::files::{Citable, citable, no_file, refuse_scoped};
use crate::free_fields::{check_free_fields, is_empty};
use crate::reply::{DatasetCreated, DatasetIdReply};
use crate::task::to_the_end;

/// Members whose form is checked, or that are texts with limits of their own.
const HAVE_A_FORM: &[&str] = &[
    "agent_name",
    "agent_version",
    "description",
    "edge_encodings",
    "edge_hypergraph_transform",
    "image",
    "name",
    "node_encodings",
    "org_name",
    "slug",
    "uri_tag",
];

impl Datasets {
    /// Makes a dataset from the create body of spec 2.3. Without files, its tables are uploaded into it
    /// afterwards.
    ///
    /// # Errors
    /// A missing or misshapen field, a file that is not there or not valid, a table index out of range,
    /// a bound column that the tables lack.
    pub async fn create(
        &self,
        who: &Principal,
        body: &[u8],
    ) -> Result<DatasetCreated, ServiceError> {
        let map = body::object(body)?;
        // Here `compute` and `layout` are no fields of the interface: what cannot be run is kept and mentioned.
        self.create_record(who, &map, Vec::new(), None).await
    }

    /// [`Self::create`] with algorithms and a layout to run (spec 4.8), which must be ones that can be run.
    ///
    /// # Errors
    /// As there; an unknown library, algorithm or parameter, or one that this server does not have yet.
    pub async fn create_computed(
        &self,
        who: &Principal,
        body: &[u8],
    ) -> Result<DatasetCreated, ServiceError> {
        let map = body::object(body)?;
        compute::requests(map.get("compute"))?;
        compute::layout(map.get("layout"))?;
        self.create_record(who, &map, Vec::new(), None).await
    }

    /// [`Self::create`] of one that is shared from its first moment.
    pub(crate) async fn create_shared(
        &self,
        who: &Principal,
        body: &[u8],
        privacy: Option<Privacy>,
    ) -> Result<DatasetCreated, ServiceError> {
        self.create_record(who, &body::object(body)?, Vec::new(), privacy).await
    }

    async fn create_record(
        &self,
        who: &Principal,
        map: &Map<String, Value>,
        mut notices: Vec<Notice>,
        privacy: Option<Privacy>,
    ) -> Result<DatasetCreated, ServiceError> {
        refuse_scoped(who)?;
        let mut rec = self.record(who, map, &mut notices)?;
        rec.privacy = privacy;
        let (edges, nodes) =
            (cited_files(map, ElementKind::Edges)?, cited_files(map, ElementKind::Nodes)?);
        let (by, any_file) = (who.clone(), self.ctx.allow_foreign_file_ids);
        let pinned = self.ctx.blocking(move |data| {
            let edges = Self::pin_files(data, &by, edges, any_file)?;
            Ok((edges, Self::pin_files(data, &by, nodes, any_file)?))
        });
        ((rec.edge_files, rec.edge_tables), (rec.node_files, rec.node_tables)) = pinned.await?;
        match Transforms::of(&rec)? {
            Some(transforms) => {
                transforms.check_count(rec.edge_tables.len())?;
                let given_nodes = !rec.node_tables.is_empty();
                let DatasetRec { edge_encodings, node_encodings, .. } = &mut rec;
                transforms.bind(edge_encodings, node_encodings, given_nodes);
            }
            None => rec.edge_count = sum_rows(&rec.edge_tables),
        }
        check(&rec, &mut notices)?;
        let pictures = pictures::notices(&self.ctx.picture_hosts, &rec.metadata);
        let told = move |data: &DataStore| {
            preview::notices_of(data, &rec, &mut notices);
            rec.notices = notices.clone();
            Ok((rec, notices))
        };
        let (rec, mut notices) = self.ctx.blocking(told).await?;
        pictures.into_iter().for_each(|notice| note(&mut notices, notice));
        let dataset = rec.dataset_id;
        let news = if has_edges(&rec) { News::First } else { News::NotYet };
        let (data, engine) = (Arc::clone(&self.ctx.data), self.ctx.engine.clone());
        to_the_end(async move {
            let write = move |c: &DataStore| {
                let _room = c.quotas.record(&c.store, &rec, None)?;
                Ok(c.store.commit(Batch::new().insert(&rec))?)
            };
            blocking(&data, write).await?;
            tell_engine(&engine, dataset, news).await;
            Ok(())
        })
        .await?;
        Ok(DatasetCreated {
            message: with_notices("Dataset created", &notices),
            data: DatasetIdReply { dataset_id: dataset.to_string(), notices },
            success: true,
        })
    }

    /// The record without its files.
    fn record(
        &self,
        who: &Principal,
        map: &Map<String, Value>,
        notices: &mut Vec<Notice>,
    ) -> Result<DatasetRec, ServiceError> {
        let author = who.user().ok_or(IdentityError::Unauthenticated)?;
        // Lists of files have a limit of their own, and texts theirs.
        check_free_fields(
            map,
            |field| !matches!(field, "node_files" | "edge_files"),
            |field| HAVE_A_FORM.contains(&field),
        )?;
        let name = body::name(map, "name")?.ok_or_else(|| missing("name", "a string"))?;
        let metadata = body::member(map, "metadata")?
            .ok_or_else(|| missing("metadata", "an object, which may be empty"))?;
        refuse_transforms(map)?;
        let edge_hypergraph_transform = Transforms::of_create(map)?;
        let node_encodings = normalize(map, ElementKind::Nodes, notices)?;
        let edge_encodings = normalize(map, ElementKind::Edges, notices)?;
        require_ends(map, &edge_encodings, edge_hypergraph_transform.is_empty())?;
        let org = orgs::for_create(&self.ctx.data.store, who, body::text(map, "org_name")?)?;
        let of_agent = |field: &str, in_metadata: &str| -> Result<Option<String>, ServiceError> {
            let named = metadata.get(in_metadata).and_then(Value::as_str).map(str::to_owned);
            Ok(body::name(map, field)?.or(named))
        };
        let now = self.ctx.data.clock.unix_micros();
        let extra = members::extra(map);
        members::unknown(&extra).into_iter().for_each(|notice| note(notices, notice));
        Ok(DatasetRec {
            dataset_id: DatasetId::random(),
            name,
            slug: body::name(map, "slug")?,
            author,
            org_name: Some(org),
            node_count: None,
            edge_count: None,
            agent_name: of_agent("agent_name", "agent")?,
            agent_version: of_agent("agent_version", "agentversion")?,
            uri_tag: body::name(map, "uri_tag")?,
            description: body::description(map)?.unwrap_or_default(),
            image: body::short_text(map, "image", IMAGE_CHARS_MAX)?.unwrap_or_default(),
            created_at: now,
            updated_at: now,
            node_files: Vec::new(),
            edge_files: Vec::new(),
            node_transform: String::new(),
            edge_transform: String::new(),
            edge_hypergraph_transform,
            compute: map.get("compute").cloned().unwrap_or(Value::Null),
            layout: map.get("layout").cloned().unwrap_or(Value::Null),
            node_encodings,
            edge_encodings,
            metadata: Value::Object(metadata.clone()),
            timestamp: now,
            legacy_dataset_name: None,
            legacy_dataset_author: None,
            extra,
            privacy: None,
            node_tables: Vec::new(),
            edge_tables: Vec::new(),
            direct_nodes: None,
            direct_edges: None,
            data_version: 1,
            notices: Vec::new(),
        })
    }

    /// The tables of the cited files, which the dataset holds on to from now on. Blocks.
    fn pin_files(
        data: &DataStore,
        who: &Principal,
        cited: Vec<(FileRef, String)>,
        any_file: bool,
    ) -> Result<(Vec<FileRef>, Vec<TableRec>), ServiceError> {
        let (mut refs, mut tables) = (Vec::new(), Vec::new());
        for (file_ref, at) in cited {
            let id = file_ref.file_id;
            let file = data.store.get::<FileRec>(&id)?.ok_or_else(|| no_file(id))?;
            let index = file_ref.table.unwrap_or(0);
            let from = if any_file { Citable::File } else { citable(data, who, &file, index)? };
            tables.push(match from {
                Citable::File => pin(&file, file_ref, &at)?,
                Citable::Shown(table) => TableRec { file: Some(file_ref), ..*table },
            });
            refs.push(file_ref);
        }
        Ok((refs, tables))
    }
}

/// Refuses edges whose two ends are bound to no column. A transform makes the columns itself and knows what they are
/// called; nodes alone have none.
fn require_ends(
    map: &Map<String, Value>,
    edge_encodings: &Value,
    needs_columns: bool,
) -> Result<(), ServiceError> {
    let some =
        |field: &str| map.get(field).and_then(Value::as_array).is_some_and(|f| !f.is_empty());
    let nodes_alone = some("node_files") && !some("edge_files");
    for role in ["source", "destination"] {
        if needs_columns && !nodes_alone && bound(edge_encodings, role).is_none() {
            let field = format!("edge_encodings.bindings.{role}");
            return Err(missing(&field, "the name of a column of the edges").into());
        }
    }
    Ok(())
}

/// The files that a body cites for one side of the graph, and where it does.
fn cited_files(
    map: &Map<String, Value>,
    part: ElementKind,
) -> Result<Vec<(FileRef, String)>, ServiceError> {
    let field = part.files_field();
    let entries = body::list(map, field)?.unwrap_or_default();
    if entries.len() > FILES_PER_DATASET_MAX {
        return Err(ServiceError::TooLarge {
            what: field,
            limit: FILES_PER_DATASET_MAX as u64,
            unit: "files",
        });
    }
    let cited = entries.iter().enumerate().map(|(i, entry)| {
        let at = format!("{field}[{i}]");
        let (id, table) = file_entry(entry, &at)?;
        let file_id: FileId = id.parse().map_err(|_| no_file(id))?;
        Ok((FileRef { file_id, table }, at))
    });
    cited.collect()
}

/// A bare file id, or `[file id, table index]`.
fn file_entry<'a>(entry: &'a Value, field: &str) -> Result<(&'a str, Option<u32>), ServiceError> {
    let wrong = || {
        let message = format!(
            "{field} is a JSON {}; expected a file id or [file id, table index from 0]",
            kind(entry)
        );
        ServiceError::invalid(field.to_owned(), message)
    };
    match entry {
        Value::String(id) => Ok((id, None)),
        Value::Array(pair) => match pair.as_slice() {
            [Value::String(id)] => Ok((id, None)),
            [Value::String(id), Value::Null] => Ok((id, None)),
            [Value::String(id), Value::Number(n)] => {
                let index = n.as_u64().and_then(|n| u32::try_from(n).ok());
                index.map(|i| (id.as_str(), Some(i))).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

fn pin(file: &FileRec, file_ref: FileRef, field: &str) -> Result<TableRec, ServiceError> {
    let id = file.file_id;
    if !file.is_valid || file.tables.is_empty() {
        let why = if file.is_uploaded { "did not parse" } else { "has no data" };
        let message =
            format!("{field}: file {id} {why}; upload it again and then create the dataset");
        return Err(ServiceError::invalid(field.to_owned(), message));
    }
    let index = file_ref.table.unwrap_or(0);
    let i = index as usize;
    let (Some(schema), Some(table)) = (file.tables_schemas.get(i), file.tables.get(i)) else {
        let last = file.tables.len() - 1;
        let message =
            format!("{field}: file {id} has no table {index}; use an index from 0 to {last}");
        return Err(ServiceError::invalid(field.to_owned(), message));
    };
    Ok(TableRec {
        schema: schema.clone(),
        table: *table,
        raw: file.raw,
        format: file.file_type.clone(),
        compression: file.file_compression.clone(),
        parser_options: file.parser_options.clone(),
        sql_transforms: file.sql_transforms.clone(),
        table_index: index,
        file: Some(file_ref),
        uploaded_at: file.updated_at,
    })
}

/// Bindings against the tables that are there already.
fn check(rec: &DatasetRec, notices: &mut Vec<Notice>) -> Result<(), ServiceError> {
    check_alike(ElementKind::Nodes, &rec.node_tables)?;
    if let Some(nodes) = rec.node_tables.first() {
        check_nodes(rec, &nodes.schema, notices)?;
    }
    if rec.edge_tables.is_empty() {
        return Ok(());
    }
    let tables: Vec<&TableSchema> = rec.edge_tables.iter().map(|t| &t.schema).collect();
    if Transforms::of(rec)?.is_none() {
        check_alike(ElementKind::Edges, &rec.edge_tables)?;
    }
    check_edges(rec, &tables, rec.node_tables.is_empty(), notices)
}

/// The bindings of the edges, and of the nodes when those are made with them.
///
/// # Errors
/// Options of a transform that do not fit; a column that the graph cannot do without.
pub(super) fn check_edges(
    rec: &DatasetRec,
    tables: &[&TableSchema],
    makes_nodes: bool,
    notices: &mut Vec<Notice>,
) -> Result<(), ServiceError> {
    let Some(transforms) = Transforms::of(rec)? else {
        let Some(first) = tables.first() else { return Ok(()) };
        let first = with_results(rec, first, ElementKind::Edges);
        return check_columns(&rec.edge_encodings, ElementKind::Edges, &first, notices);
    };
    let made = transforms.shapes(tables, notices)?;
    let edges = with_results(rec, &made.edges, ElementKind::Edges);
    check_columns(&rec.edge_encodings, ElementKind::Edges, &edges, notices)?;
    if makes_nodes { check_nodes(rec, &made.nodes, notices) } else { Ok(()) }
}

/// A table with the columns that algorithms add to it or replace in it.
fn with_results(rec: &DatasetRec, schema: &TableSchema, part: ElementKind) -> TableSchema {
    TableSchema { dtypes: preview::with_results(rec, &schema.dtypes, part), ..schema.clone() }
}

/// The bindings of the nodes against their table and what algorithms add to it.
///
/// # Errors
/// A column that the graph cannot do without.
pub(super) fn check_nodes(
    rec: &DatasetRec,
    schema: &TableSchema,
    notices: &mut Vec<Notice>,
) -> Result<(), ServiceError> {
    let with_results = with_results(rec, schema, ElementKind::Nodes);
    check_columns(&rec.node_encodings, ElementKind::Nodes, &with_results, notices)
}

/// Several files of one side must look alike.
fn check_alike(part: ElementKind, tables: &[TableRec]) -> Result<(), ServiceError> {
    let Some((first, rest)) = tables.split_first() else { return Ok(()) };
    for (i, other) in rest.iter().enumerate() {
        let (have, want) = (&other.schema.dtypes, &first.schema.dtypes);
        let at = format!("{}[{}]", part.files_field(), i + 1);
        if have.len() != want.len() || want.keys().any(|name| !have.contains_key(name)) {
            let message =
                format!("{at} has other columns than {}[0]; send them alike", part.files_field());
            return Err(ServiceError::invalid(at, message));
        }
        let differ = |(name, dtype): &(&String, &Value)| {
            kind_of(dtype.as_str().unwrap_or_default())
                != kind_of(have[*name].as_str().unwrap_or_default())
        };
        if let Some((name, dtype)) = want.iter().find(differ) {
            let message = format!(
                "{at} has type {} in column {name:?}, where {}[0] has {}; send the column as one type",
                have[name].as_str().unwrap_or_default(),
                part.files_field(),
                dtype.as_str().unwrap_or_default(),
            );
            return Err(ServiceError::invalid(at, message));
        }
    }
    Ok(())
}

/// What a pandas type is a kind of: columns of one kind join. A column without values is `object`, and how text is
/// kept does not matter.
fn kind_of(dtype: &str) -> &str {
    let numbers = ["int", "uint", "float"];
    match dtype {
        "category" => "object",
        d if numbers.iter().any(|n| d.starts_with(n)) => "number",
        d => d.split('[').next().unwrap_or(d),
    }
}

fn sum_rows(tables: &[TableRec]) -> Option<u64> {
    (!tables.is_empty()).then(|| tables.iter().map(|t| t.schema.num_rows).sum())
}

/// What asks for work that this server does not do is refused at once, not when the graph is opened.
fn refuse_transforms(map: &Map<String, Value>) -> Result<(), ServiceError> {
    for field in ["node_transform", "edge_transform"] {
        if !is_empty(map.get(field)) {
            return Err(ServiceError::Unsupported {
                field,
                message: format!(
                    "{field} is not carried out yet; send the edges that it would make"
                ),
            });
        }
    }
    Ok(())
}

/// A message with what was not done as asked.
pub(super) fn with_notices(message: &str, notices: &[Notice]) -> String {
    const SHOWN: usize = 10;
    let mut out = message.to_owned();
    for notice in &notices[..notices.len().min(SHOWN)] {
        out.push_str(". ");
        out.push_str(&notice.text);
    }
    if notices.len() > SHOWN {
        out.push_str(&format!(" and {} more", notices.len() - SHOWN));
    }
    out
}
