//! Results of queries that are kept as datasets of their own.

use bytes::Bytes;
use graphlume_gfql::{PropertyGraph, shown};
use graphlume_table::Table;
use graphlume_types::DatasetId;
use serde_json::{Map, Value, json};

use crate::datasets::check_privacy;
use crate::principal::Principal;
use crate::{Service, ServiceError};

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

    /// The privacy that was asked for.
    pub(crate) fn privacy(&self) -> Option<Value> {
        self.privacy.clone().map(Value::Object)
    }
}

impl Service {
    /// Makes a dataset of a result: its tables become files, its bindings and encodings go with them.
    ///
    /// # Errors
    /// Those of uploads and of creating a dataset; [`ServiceError::Invalid`] for rows that are no graph.
    pub(crate) async fn keep_result(
        &self,
        who: &Principal,
        of: &str,
        graph: &PropertyGraph,
        keep: &Keep,
    ) -> Result<DatasetId, ServiceError> {
        let bindings = graph.bindings().clone();
        if graph.nodes().is_some() && bindings.node.is_none() {
            let message = "persist keeps graphs, and this query yields rows; leave persist out";
            return Err(ServiceError::invalid("persist", message));
        }
        let nodes = self.keep_table(who, "nodes", graph.nodes()).await?;
        let edges = self.keep_table(who, "edges", graph.edges()).await?;
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
        let made = self.create_dataset(who, body.to_string().as_bytes()).await?;
        let id = made.data.dataset_id;
        if let Some(privacy) = &keep.privacy {
            let mut share = privacy.clone();
            share.insert("obj_pk".to_owned(), id.clone().into());
            share.insert("obj_type".to_owned(), "dataset".into());
            self.share(who, Value::Object(share).to_string().as_bytes()).await?;
        }
        id.parse().map_err(|_| ServiceError::Internal("the new dataset has no id".to_owned()))
    }

    /// A table as a file of the caller's; none of no table, or of one without columns.
    async fn keep_table(
        &self,
        who: &Principal,
        name: &str,
        table: Option<&Table>,
    ) -> Result<Option<String>, ServiceError> {
        let Some(table) = table.filter(|t| t.num_cols() > 0).cloned() else { return Ok(None) };
        let bytes = self
            .blocking(move |_| {
                let mut out = Vec::new();
                table.write_arrow(&mut out).map_err(|e| ServiceError::Internal(e.to_string()))?;
                Ok(out)
            })
            .await?;
        let body = json!({ "file_type": "arrow", "name": name });
        let file = self.create_file(who, body.to_string().as_bytes()).await?;
        let length = bytes.len() as u64;
        let mut upload =
            self.begin_file_upload(who, &file.file_id, Vec::new(), Some(length)).await?;
        upload.write(Bytes::from(bytes)).await?;
        let file = upload.finish().await?;
        if !file.is_valid {
            let message = "the result cannot be kept: a column has no form in a file";
            return Err(ServiceError::invalid("persist", message));
        }
        Ok(Some(file.file_id))
    }
}
