//! Loader of a dataset's tables for the engine.

use std::sync::{Arc, Weak};

use graphlume_engine::{BuildStage, Built, Encodings, LoadError, Loaded, Loader};
use graphlume_storage::{Batch, Commit, DatasetRec, StoreError, TableRec};
use graphlume_table::{DataType, Field, RecordBatch, Schema, Table};
use graphlume_types::{CancelToken, DatasetId, Notice};
use tokio::runtime::Handle;

use super::builtin;
use super::compute;
use super::encodings::{bind_default, bound};
use super::preview::without_effect;
use super::transform::{Transforms, of_transforms};
use crate::data::DataStore;
use crate::error::ServiceError;
use crate::files::tables::{load_table, stack};

/// Reads tables from the cache, the derived blobs or the uploaded bytes, in that order.
pub(crate) struct TableLoader {
    data: Arc<DataStore>,
    /// Where it is looked after that what was found out is written down; absent in tools, which have no requests.
    runtime: Option<Handle>,
}

/// How often what was found out about a dataset is written anew, when its record changes at the same moment.
const NOTES_MAX: usize = 100;

/// What a build tells of a dataset.
struct Note {
    dataset: DatasetId,
    /// The data that were built.
    version: u64,
    /// Nodes and edges.
    counts: (Option<u64>, Option<u64>),
    notices: Vec<Notice>,
    stage: BuildStage,
}

impl Note {
    /// Hands it to the store's writer. `None` where the record has it already, is gone, or has other data by now.
    fn write(&self, data: &DataStore) -> Option<Commit> {
        let (mut rec, tag) = data.store.get_tagged::<DatasetRec>(&self.dataset).ok()??;
        // Those that the record has are as good as what is known while algorithms are still to run.
        let known = (rec.node_count, rec.edge_count) == self.counts
            && (self.stage == BuildStage::BeforeJobs || rec.notices == self.notices);
        if rec.data_version != self.version || known {
            return None;
        }
        (rec.node_count, rec.edge_count) = self.counts;
        rec.notices.clone_from(&self.notices);
        Some(data.store.submit(Batch::new().replace(&rec, tag)))
    }

    /// Writes it again until it is there. What changed the record meanwhile, such as sharing, need not load the data again.
    fn insist(&self, data: &Weak<DataStore>) {
        for _ in 0..NOTES_MAX {
            let Some(commit) = data.upgrade().and_then(|data| self.write(&data)) else { return };
            if !matches!(commit.wait(), Err(StoreError::Changed { .. })) {
                return;
            }
        }
    }
}

impl TableLoader {
    pub(crate) fn new(data: Arc<DataStore>) -> Self {
        Self { data, runtime: Handle::try_current().ok() }
    }

    fn tables(
        &self,
        direct: Option<&TableRec>,
        pinned: &[TableRec],
        cancel: &CancelToken,
    ) -> Result<Vec<Table>, ServiceError> {
        let load = |rec: &TableRec| load_table(&self.data, rec, cancel);
        in_use(direct, pinned).into_iter().map(load).collect()
    }

    /// The edges, and the nodes that are made with them.
    fn edges(
        &self,
        rec: &DatasetRec,
        cancel: &CancelToken,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<(Table, Option<Table>)>, ServiceError> {
        let tables = self.tables(rec.direct_edges.as_ref(), &rec.edge_tables, cancel)?;
        cancel.check().map_err(graphlume_table::HypergraphError::from)?;
        let Some(transforms) = Transforms::of(rec)? else {
            return Ok(stack(tables)?.map(|edges| (edges, None)));
        };
        let Some(made) = transforms.run(tables, cancel)? else { return Ok(None) };
        of_transforms(notices, &made.warnings);
        Ok(Some((made.edges, Some(made.nodes))))
    }

    fn stored(&self, rec: &DatasetRec, cancel: &CancelToken) -> Result<Loaded, LoadError> {
        let failed = |e: ServiceError| LoadError::from_coded(&e);
        let mut notices = Vec::new();
        without_effect(rec, &mut notices);
        let edges = self.edges(rec, cancel, &mut notices).map_err(failed)?;
        cancel.check()?;
        let given =
            self.tables(rec.direct_nodes.as_ref(), &rec.node_tables, cancel).map_err(failed)?;
        let given = stack(given).map_err(failed)?;
        let (edges, made_nodes) = match (edges, &given) {
            (Some(edges), _) => edges,
            (None, Some(nodes)) => (no_edges(rec, nodes).map_err(failed)?, None),
            (None, None) => {
                let text = "neither edges nor nodes have been uploaded yet";
                return Err(LoadError::Waiting(text.to_owned()));
            }
        };
        let mut node_encodings = rec.node_encodings.clone();
        if let (None, Some(transforms)) = (&given, Transforms::of(rec).map_err(failed)?) {
            bind_default(&mut node_encodings, "node", transforms.node_id());
            if bound(&node_encodings, "node_label").is_none() {
                bind_default(&mut node_encodings, "node_title", transforms.title());
            }
        }
        let nodes = given.or(made_nodes);
        let empty = edges.num_rows() == 0;
        let column = |role: &str| match bound(&rec.edge_encodings, role) {
            Some(column) => Ok(column.to_owned()),
            None if empty => Ok(role.to_owned()),
            None => Err(failed(ServiceError::invalid(
                role.to_owned(),
                format!("no column is bound as {role}"),
            ))),
        };
        // Datasets may hold what was never promised to be run.
        let compute = compute::of_record(rec, &mut notices);
        Ok(Loaded {
            name: rec.name.clone(),
            description: rec.description.clone(),
            edges,
            source: column("source")?,
            destination: column("destination")?,
            node: nodes.as_ref().and(bound(&node_encodings, "node")).map(str::to_owned),
            nodes,
            encodings: Encodings::new(
                node_encodings,
                rec.edge_encodings.clone(),
                rec.metadata.clone(),
            ),
            compute,
            owner: Some(rec.author),
            version: rec.data_version,
            notices,
        })
    }
}

/// The edge table of a dataset that has nodes and no edges: its two ends, without rows.
fn no_edges(rec: &DatasetRec, nodes: &Table) -> Result<Table, ServiceError> {
    let id = bound(&rec.node_encodings, "node").and_then(|name| nodes.column(name));
    let kind = id.map_or(DataType::Utf8, |ids| ids.data_type().clone());
    let ends = ["source", "destination"];
    let fields: Vec<Field> = ends
        .iter()
        .map(|end| Field::new(bound(&rec.edge_encodings, end).unwrap_or(end), kind.clone(), true))
        .collect();
    Ok(Table::try_new(RecordBatch::new_empty(Arc::new(Schema::new(fields))))?)
}

/// A table uploaded into the dataset stands in for its files.
fn in_use<'a>(direct: Option<&'a TableRec>, pinned: &'a [TableRec]) -> Vec<&'a TableRec> {
    match direct {
        Some(rec) => vec![rec],
        None => pinned.iter().collect(),
    }
}

impl Loader for TableLoader {
    fn load(&self, dataset: DatasetId, cancel: &CancelToken) -> Result<Loaded, LoadError> {
        if let Some(b) = builtin::by_id(dataset) {
            return b.load(cancel).map_err(|e| LoadError::from_coded(&e));
        }
        let found = self.data.store.get::<DatasetRec>(&dataset);
        let found = found.map_err(|e| LoadError::from_coded(&e))?;
        let rec = found.ok_or(LoadError::NotFound(dataset))?;
        self.stored(&rec, cancel)
    }

    fn built(&self, dataset: DatasetId, built: &Built<'_>) {
        if builtin::by_id(dataset).is_some() {
            return;
        }
        let counts = (Some(u64::from(built.num_nodes)), Some(u64::from(built.num_edges)));
        let (version, stage) = (built.version, built.stage);
        let notices = built.notices.to_vec();
        let note = Note { dataset, version, counts, notices, stage };
        // The graph of tables that were replaced meanwhile says nothing about the new ones. The picture does not depend
        // on the record, and so does not wait for it.
        let Some(commit) = note.write(&self.data) else { return };
        let data = Arc::downgrade(&self.data);
        if note.stage == BuildStage::AfterJobs {
            // Who has waited for the columns finds there what is said of them.
            if let Err(StoreError::Changed { .. }) = commit.wait() {
                note.insist(&data);
            }
            return;
        }
        let Some(runtime) = &self.runtime else { return };
        runtime.spawn(async move {
            if let Err(StoreError::Changed { .. }) = commit.await {
                tokio::task::spawn_blocking(move || note.insist(&data));
            }
        });
    }

    fn footprint_bytes(&self, dataset: DatasetId) -> Option<u64> {
        let rec = self.data.store.get::<DatasetRec>(&dataset).ok()??;
        // The stored form holds the Arrow buffers as they are.
        let tables: u64 = rec.all_tables().map(|t| t.table.len).sum();
        let edges = in_use(rec.direct_edges.as_ref(), &rec.edge_tables);
        let shapes: Vec<_> = edges.iter().map(|t| &t.schema).collect();
        let made = Transforms::of(&rec).ok()?.map_or(0, |t| t.bytes_max(&shapes));
        Some(tables.saturating_add(made))
    }
}
