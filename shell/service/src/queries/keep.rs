//! Results of queries that are kept as datasets of their own.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_calls::show::shown;
use graphlume_engine::{EngineError, give_back_freed};
use graphlume_identity::Principal;
use graphlume_ingest::ExportFormat;
use graphlume_storage::{Batch, FileRec, Privacy};
use graphlume_store::PropertyGraph;
use graphlume_table::Table;
use graphlume_types::{Counted, DatasetId, FileId, MemoryConsumer};
use serde_json::{Map, Value, json};

use super::Queries;
use crate::data::DataStore;
use crate::datasets::check_privacy;
use crate::error::ServiceError;

/// What a request says of the dataset that it wants.
pub(crate) struct Keep {
    privacy: Option<Map<String, Value>>,
}

impl Keep {
    /// Reads `privacy`, the body of a share without the object.
    pub(crate) fn of(body: &Map<String, Value>) -> Result<Self, ServiceError> {
        let privacy = match body.get("privacy") {
            None | Some(Value::Null) => None,
            Some(Value::Object(privacy)) => {
                check_privacy(privacy)?;
                Some(privacy.clone())
            }
            Some(other) => {
                let message = format!("privacy is {other}; it has to be an object");
                return Err(ServiceError::invalid("privacy", message));
            }
        };
        Ok(Self { privacy })
    }

    /// Who may see the dataset; nothing was said of it where a request has no `privacy`.
    pub(crate) fn checked(&self) -> Result<Option<Privacy>, ServiceError> {
        self.privacy.as_ref().map(check_privacy).transpose()
    }

    /// What the answer says of the dataset that was made.
    pub(crate) fn told(&self, made: DatasetId, format: ExportFormat) -> Value {
        let mut said =
            json!({ "dataset_id": made.to_string(), "persist": true, "format": format.name() });
        if let Some(privacy) = &self.privacy {
            said["privacy"] = json!(privacy);
        }
        said
    }
}

/// Files of a result whose dataset is not there yet. Dropping it deletes them, also when the caller went away.
struct Unfinished {
    data: Arc<DataStore>,
    files: Vec<FileId>,
}

impl Unfinished {
    fn remove(data: &DataStore, files: &[FileId]) {
        let batch = files.iter().fold(Batch::new(), |batch, id| batch.delete::<FileRec>(id));
        if let Err(e) = data.store.commit(batch) {
            tracing::warn!(error = %e, "files of a result that was not kept were not removed");
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let (data, files) = (Arc::clone(&self.data), std::mem::take(&mut self.files));
        if files.is_empty() {
            return;
        }
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn_blocking(move || Self::remove(&data, &files));
            }
            Err(_) => Self::remove(&data, &files),
        }
    }
}

impl Queries {
    /// Makes a dataset of a result: its tables become files, its bindings and encodings go with them. It is there with
    /// the privacy that was asked for, or nothing is. What is written counts as memory of the query.
    ///
    /// # Errors
    /// Those of uploads and of creating a dataset; [`ServiceError::Invalid`] for rows that are no graph.
    pub(crate) async fn keep_result(
        &self,
        who: &Principal,
        of: &str,
        graph: &PropertyGraph,
        privacy: Option<Privacy>,
        memory: &MemoryConsumer,
    ) -> Result<DatasetId, ServiceError> {
        let mut unfinished = Unfinished { data: Arc::clone(&self.ctx.data), files: Vec::new() };
        let kept = self.keep_parts(who, of, graph, privacy, memory, &mut unfinished).await;
        let files = std::mem::take(&mut unfinished.files);
        if kept.is_err() && !files.is_empty() {
            self.ctx
                .blocking(move |data| {
                    Unfinished::remove(data, &files);
                    Ok(())
                })
                .await?;
        }
        kept
    }

    async fn keep_parts(
        &self,
        who: &Principal,
        of: &str,
        graph: &PropertyGraph,
        privacy: Option<Privacy>,
        memory: &MemoryConsumer,
        unfinished: &mut Unfinished,
    ) -> Result<DatasetId, ServiceError> {
        let bindings = graph.bindings().clone();
        if graph.nodes().is_some() && bindings.node.is_none() {
            let message = "persist keeps graphs, and this query yields rows; leave persist out";
            return Err(ServiceError::invalid("persist", message));
        }
        let nodes = self.keep_table(who, "nodes", graph.nodes(), memory, unfinished).await?;
        let edges = self.keep_table(who, "edges", graph.edges(), memory, unfinished).await?;
        let look = shown(graph);
        let encodings = |of: &str, bound: &[(&str, Option<String>)]| {
            let bound = bound.iter().filter_map(|(role, column)| Some((*role, column.clone()?)));
            let mut roles: Map<String, Value> =
                bound.map(|(role, column)| (role.to_owned(), column.into())).collect();
            let client = if of == "node" { "point_" } else { "edge_" };
            for (name, column) in look["encodings"].as_object().into_iter().flatten() {
                if let (Some(role), true) = (name.strip_prefix(client), column.is_string()) {
                    roles.insert(format!("{of}_{role}"), column.clone());
                }
            }
            let made = &look["encodings"]["complex_encodings"][format!("{of}_encodings")];
            let mut part = json!({ "bindings": roles });
            if let Some(default) = made["default"].as_object().filter(|d| !d.is_empty()) {
                part["complex"] = json!({ "default": default, "current": {} });
            }
            part
        };
        let name = look["metadata"]["name"].as_str().unwrap_or(of).to_owned();
        let body = json!({
            "name": name,
            "description": look["metadata"]["description"].as_str().unwrap_or_default(),
            "metadata": {},
            "node_files": nodes.iter().collect::<Vec<_>>(),
            "edge_files": edges.iter().collect::<Vec<_>>(),
            "node_encodings": encodings("node", &[("node", bindings.node)]),
            "edge_encodings": encodings(
                "edge",
                &[("source", bindings.source), ("destination", bindings.destination)],
            ),
        });
        let made = self.datasets.create_shared(who, body.to_string().as_bytes(), privacy).await?;
        made.data
            .dataset_id
            .parse()
            .map_err(|_| ServiceError::Internal("the new dataset has no id".to_owned()))
    }

    /// A table as a file of the caller's; none of no table, or of one without columns.
    async fn keep_table(
        &self,
        who: &Principal,
        name: &str,
        table: Option<&Table>,
        memory: &MemoryConsumer,
        unfinished: &mut Unfinished,
    ) -> Result<Option<String>, ServiceError> {
        let Some(table) = table.filter(|t| t.num_cols() > 0).cloned() else { return Ok(None) };
        // Writing a table out takes a core, as writing an answer does.
        let place = Arc::clone(&self.ctx.renders).acquire_owned().await;
        let mut out = Counted::new(memory.clone());
        let bytes = self
            .ctx
            .blocking(move |_| {
                let _place = place;
                let written = table.write_arrow(&mut out);
                written.map_err(|e| match out.refused() {
                    Some(refused) => EngineError::from(refused).into(),
                    None => ServiceError::Internal(e.to_string()),
                })?;
                // What the writer of the format made on the way is as large as what it wrote.
                give_back_freed(out.reserved());
                Ok(Bytes::from_owner(out.done()))
            })
            .await?;
        let body = json!({ "file_type": "arrow", "name": name });
        let file = self.files.create(who, body.to_string().as_bytes()).await?;
        unfinished.files.extend(file.file_id.parse::<FileId>());
        let length = bytes.len() as u64;
        let mut upload =
            self.files.begin_upload(who, &file.file_id, Vec::new(), Some(length)).await?;
        upload.write(bytes).await?;
        let file = upload.finish().await?;
        if !file.is_valid {
            let message = "the result cannot be kept: a column has no form in a file";
            return Err(ServiceError::invalid("persist", message));
        }
        Ok(Some(file.file_id))
    }
}
