//! Selection of a picture: written to a file, or kept as a dataset of its own.

use std::sync::Arc;

use graphlume_engine::{
    EngineError, NodeBytes, ParsedQuery, QueryAnswer, QueryRequest, QueryResult, ResultMode, Rule,
    Target,
};
use graphlume_expr::Strictness;
use graphlume_identity::authz::Action;
use graphlume_identity::{IdentityError, Principal, body};
use graphlume_scene::wire::{Decoded, decode};
use graphlume_storage::{Privacy, PrivacyMode};
use graphlume_store::PropertyGraph;
use graphlume_types::{DatasetId, MemoryConsumer};
use serde_json::{Map, Value, json};

use super::parse::{escaped, format_named};
use super::{Queries, QueryOutput, QueryReply, ResponseOptions};
use crate::datasets::{Found, find_for};
use crate::error::ServiceError;
use crate::files::refuse_scoped;

/// A selection written to a file.
#[derive(Debug)]
pub struct SelectionFile {
    /// A name for the file.
    pub name: String,
    /// The file.
    pub reply: QueryReply,
}

/// What a part of a dataset takes over of it.
struct Source {
    name: String,
    privacy: Option<Privacy>,
    org: Option<String>,
}

impl Source {
    /// The privacy of a new dataset made of a part of this one, when its maker is active in `org`: never wider than this one's.
    /// A dataset of another organization gives a private one.
    fn privacy_in(self, org: Option<&str>) -> Option<Privacy> {
        let privacy = self.privacy?;
        let elsewhere = self.org.as_deref() != org;
        let mode = match privacy.mode {
            PrivacyMode::Organization if elsewhere => PrivacyMode::Private,
            mode => mode,
        };
        // Who was told of the other dataset is not told again.
        Some(Privacy { mode, notify: false, message: String::new(), ..privacy })
    }
}

impl Queries {
    /// Writes the selected nodes of a session's picture, or the edges among them, to a file: all columns of their table,
    /// and of nodes the present positions as `x` and `y` (see [`graphlume_table::Table::with_places`]). `table` is nodes
    /// or edges, `format` csv, json or parquet, `escape` what of a CSV is escaped; the body has `nodes`, the selected ones as rules name them.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`]; a table, format or set of nodes that is wrong, by name; [`EngineError::NotLoaded`]
    /// before the first positions; a full memory budget.
    pub async fn export_selection(
        &self,
        who: &Principal,
        target: Target,
        (table, format, escape): (&str, &str, Option<&str>),
        body: &[u8],
    ) -> Result<SelectionFile, ServiceError> {
        let output = match table {
            "nodes" => QueryOutput::Nodes,
            "edges" => QueryOutput::Edges,
            other => {
                let shown: String = other.chars().take(40).collect();
                let message = format!("table {shown:?} does not exist; use nodes or edges");
                return Err(ServiceError::invalid("table", message));
            }
        };
        let format = escaped(format_named(format)?, escape)?;
        let body = body::object(body)?;
        let dataset = shown_by(&target)?;
        let nodes = selected(&body, self.ctx.engine.node_count(target.clone()).await?)?;
        let source = self.source(who, dataset).await?;
        let limit = self.ctx.engine.query_memory_max();
        self.ctx.answer_budget.check(who.user(), limit)?;
        let QueryResult { answer, memory, notices, graphs } =
            self.part(who, dataset, &nodes).await?;
        let mut graph = graph_of(answer)?;
        if output == QueryOutput::Nodes {
            let epoch = graphs.epoch().unwrap_or_default();
            graph = self.placed(graph, (target, epoch), nodes, &memory).await?;
        }
        let options = ResponseOptions { output, format, node_columns: None, edge_columns: None };
        let (media_type, body, notices) =
            self.written(who.user(), graphs, (graph, options, None, notices, memory)).await?;
        let name = format!("{}-{table}.{}", source.name, format.name());
        Ok(SelectionFile { name, reply: QueryReply { media_type, body, notices } })
    }

    /// Makes a dataset of the selected nodes of a session's picture and the edges among them. The body has `nodes`, as
    /// rules name them, and `name`. Nobody may see it who may not see the dataset whose part it is.
    ///
    /// # Errors
    /// [`IdentityError::Unauthenticated`] for a caller without an account, and [`ServiceError::Forbidden`] for a guest of
    /// a link; [`ServiceError::NotFound`]; a name or set of nodes that is wrong; those of uploads and of creating a
    /// dataset.
    pub async fn keep_selection(
        &self,
        who: &Principal,
        target: Target,
        body: &[u8],
    ) -> Result<DatasetId, ServiceError> {
        refuse_scoped(who)?;
        who.user().ok_or(IdentityError::Unauthenticated)?;
        let body = body::object(body)?;
        let name = body::name(&body, "name")?.filter(|name| !name.trim().is_empty());
        let name = name.ok_or_else(|| {
            ServiceError::invalid("name", "name is missing: give the new dataset a name")
        })?;
        let dataset = shown_by(&target)?;
        let nodes = selected(&body, self.ctx.engine.node_count(target.clone()).await?)?;
        let privacy = self.source(who, dataset).await?.privacy_in(who.active_org());
        let QueryResult { answer, memory, graphs, .. } = self.part(who, dataset, &nodes).await?;
        let graph = graph_of(answer)?;
        let made = Box::pin(self.keep_result(who, &name, &graph, privacy, &memory)).await;
        drop((graphs, memory));
        made
    }

    /// The selected nodes and the edges among them.
    async fn part(
        &self,
        who: &Principal,
        dataset: DatasetId,
        nodes: &NodeBytes,
    ) -> Result<QueryResult, ServiceError> {
        let request = QueryRequest {
            ask: ParsedQuery::Rule(Arc::new(Rule::Nodes(nodes.clone()))),
            drawn: true,
            strictness: Strictness::Strict,
            mode: ResultMode::Rows,
            user: who.user(),
            others: Vec::new(),
        };
        Ok(self.ctx.engine.query(dataset, request).await??)
    }

    /// The dataset whose part is selected, for a caller who may read it.
    async fn source(&self, who: &Principal, dataset: DatasetId) -> Result<Source, ServiceError> {
        let who = who.clone();
        let source = move |found| match found {
            Found::Stored(rec, _) => {
                Source { name: rec.name, privacy: rec.privacy, org: rec.org_name }
            }
            Found::Builtin(b) => Source { name: b.reply().name, privacy: None, org: None },
        };
        let id = dataset.to_string();
        // A built-in one is made to name it.
        self.ctx.blocking(move |data| find_for(data, &who, Action::Read, &id).map(source)).await
    }

    /// The rows of nodes with their present positions in the picture of a session.
    async fn placed(
        &self,
        graph: PropertyGraph,
        (target, epoch): (Target, u32),
        NodeBytes(nodes): NodeBytes,
        memory: &MemoryConsumer,
    ) -> Result<PropertyGraph, ServiceError> {
        let origin = self.ctx.engine.origin(target.clone()).await?;
        let frame = self.ctx.engine.reads(target).positions(epoch).await?;
        let exhausted = |e| ServiceError::from(EngineError::from(e));
        // The frame, and the positions that are read from it.
        let held = memory.reserve(2 * frame.len() as u64).map_err(exhausted)?;
        let count: u64 = nodes.iter().map(|byte| u64::from(byte.count_ones())).sum();
        memory.take(count * size_of::<[f32; 2]>() as u64).map_err(exhausted)?;
        self.ctx
            .blocking(move |_| {
                let _held = held;
                let defect = |what: &str| ServiceError::Internal(format!("an export: {what}"));
                let Ok(Decoded::F32(positions)) = decode(&frame).map(|frame| frame.payload) else {
                    return Err(defect("the positions cannot be read"));
                };
                let is_selected = |v: &usize| nodes[v / 8] >> (v % 8) & 1 == 1;
                let places: Vec<[f32; 2]> = (0..nodes.len() * 8)
                    .filter(is_selected)
                    .filter_map(|v| positions.get(v).copied())
                    .collect();
                let rows = graph.nodes().ok_or_else(|| defect("the nodes have no rows"))?;
                Ok(PropertyGraph::of_rows(rows.with_places(&places, origin)?, None))
            })
            .await
    }
}

/// The dataset that a caller may see in a session.
fn shown_by(target: &Target) -> Result<DatasetId, ServiceError> {
    target.dataset.ok_or_else(|| ServiceError::not_found("session", &target.session))
}

/// The nodes that a body names, of a graph with `count` of them.
fn selected(body: &Map<String, Value>, count: u32) -> Result<NodeBytes, ServiceError> {
    let rule = Rule::of_json(&json!({ "nodes": body.get("nodes") }), NodeBytes::bytes_of(count))?;
    match rule {
        Rule::Nodes(nodes) if nodes.0.iter().any(|byte| *byte != 0) => Ok(nodes),
        _ => {
            let message = "nodes is an empty set; select one node at least";
            Err(ServiceError::invalid("nodes", message))
        }
    }
}

fn graph_of(answer: QueryAnswer) -> Result<PropertyGraph, ServiceError> {
    match answer {
        QueryAnswer::Graph(graph) => Ok(graph),
        _ => Err(ServiceError::Internal("a rule was answered with no graph".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graphlume_storage::Invitation;

    use super::*;

    #[test]
    fn a_part_is_seen_by_nobody_who_may_not_see_the_whole() {
        let invited = Invitation { email: "ann@example.org".to_owned(), action: "10".to_owned() };
        let kept = |mode, org: &str| {
            let privacy = Privacy {
                mode,
                mode_action: "10".to_owned(),
                invited_users: vec![invited.clone()],
                notify: true,
                message: "look".to_owned(),
            };
            let org_name = Some("acme".to_owned());
            let source = Source { name: String::new(), privacy: Some(privacy), org: org_name };
            let kept = source.privacy_in(Some(org)).unwrap();
            assert_eq!(kept.invited_users, std::slice::from_ref(&invited));
            assert!(!kept.notify && kept.message.is_empty(), "nobody is told again");
            kept.mode
        };
        for (mode, org, wanted) in [
            (PrivacyMode::Private, "acme", PrivacyMode::Private),
            (PrivacyMode::Organization, "acme", PrivacyMode::Organization),
            (PrivacyMode::Organization, "globex", PrivacyMode::Private),
            (PrivacyMode::Public, "globex", PrivacyMode::Public),
        ] {
            assert_eq!(kept(mode, org), wanted, "{mode:?} in {org}");
        }
    }
}
