//! Requests of agents about the visualizations that people have open.

use std::time::Duration;

use bytes::Bytes;
use graphlume_engine::{
    ColumnInfo, EngineError, GraphFacts, QueryRequest, QueryResult, ResultMode, SessionInfo,
};
use graphlume_expr::Strictness;
use graphlume_identity::{IdentityError, Principal};
use graphlume_types::limits::{COLUMNS_MAX, TOOL_COLUMNS_MAX};
use serde_json::{Value, json};

use super::agent_results::{answer_json, query_of};
use super::number_ids::BoundColumns;
use super::{Agents, Live};
use crate::error::ServiceError;
use crate::queries::QueryOutput;
use crate::sessions::collections::refusal;
use crate::sessions::{PictureAsked, ViewerGrant};

/// How long a tool waits for a graph that is still being loaded.
const LOAD_TIMEOUT: Duration = Duration::from_secs(30);

impl Agents {
    /// The caller's sessions that are open at this moment, newest first.
    ///
    /// # Errors
    /// As [`Sessions::list`].
    pub async fn list_sessions(&self, who: &Principal) -> Result<Value, ServiceError> {
        who.user().ok_or(IdentityError::Unauthenticated)?;
        let mut sessions = Vec::new();
        let Some(user) = who.session_owner() else { return Ok(json!({ "sessions": sessions })) };
        for meta in self.sessions.of(user) {
            if who.scope().is_some_and(|only| meta.dataset != only) {
                continue;
            }
            if !self.sessions.is_open_by(&meta.session, user) {
                continue;
            }
            let Ok(info) = self.ctx.engine.info(meta.session.clone()).await else { continue };
            let graph = info.graph.as_deref();
            sessions.push(json!({
                "session_id": meta.session, "dataset_id": meta.dataset,
                "name": graph.map(|g| g.name.as_str()),
                "node_count": graph.map(|g| g.node_count),
                "edge_count": graph.map(|g| g.edge_count),
                "state": info.state.state,
            }));
        }
        Ok(json!({ "sessions": sessions }))
    }

    /// A picture of what a session shows.
    ///
    /// # Errors
    /// As [`Sessions::picture`].
    pub async fn picture(&self, live: &Live, asked: PictureAsked) -> Result<Bytes, ServiceError> {
        let grant = ViewerGrant {
            session: live.session.clone(),
            dataset: live.dataset,
            owner: false,
            caller: live.author.caller(),
        };
        self.sessions.picture(&grant, asked).await
    }

    /// What a session shows, as lines of text.
    ///
    /// # Errors
    /// A graph that does not load.
    pub async fn describe(&self, live: &Live) -> Result<String, ServiceError> {
        let info = self.loaded(live).await?;
        let graph = info.graph.as_deref().ok_or(EngineError::NotLoaded(live.session.clone()))?;
        let mut lines = vec![
            format!("session_id: {}", live.session),
            format!("nodes: {}", graph.node_count),
            format!("edges: {}", graph.edge_count),
            columns_line("node columns", &graph.node_columns),
            columns_line("edge columns", &graph.edge_columns),
        ];
        lines.extend(self.bindings_line(live, graph));
        for (name, text) in [("title", &graph.name), ("description", &graph.description)] {
            if !text.trim().is_empty() {
                // One line each, whatever the text holds.
                let words: Vec<&str> = text.split_whitespace().collect();
                lines.push(format!("{name}: {}", words.join(" ")));
            }
        }
        // What was asked for and is not shown; a text may hold line feeds of a column's name.
        for notice in
            graph.notices.iter().chain(self.sessions.address_notices(&live.session).iter())
        {
            let words: Vec<&str> = notice.text.split_whitespace().collect();
            lines.push(format!("notice: {}", words.join(" ")));
        }
        Ok(lines.join("\n"))
    }

    /// Which columns make the graph: a query needs their names.
    fn bindings_line(&self, live: &Live, graph: &GraphFacts) -> Option<String> {
        let BoundColumns { node, source, destination } = self.bound_columns(live, graph)?;
        Some(format!(
            "graph columns: node id {node:?}, edge source {source:?}, edge destination {destination:?}"
        ))
    }

    /// The session once its graph is there.
    async fn loaded(&self, live: &Live) -> Result<SessionInfo, ServiceError> {
        let engine = &self.ctx.engine;
        let loading = engine.load_ended(live.session.clone());
        // One that takes longer is told of as it is then.
        if let Ok(ended) = tokio::time::timeout(LOAD_TIMEOUT, loading).await {
            ended?;
        }
        let info = engine.info(live.session.clone()).await?;
        if info.graph.is_some() {
            return Ok(info);
        }
        Err(refusal(
            "graph-not-loaded",
            format!("the graph of this visualization is not there: {}", info.state.detail),
        ))
    }

    /// Answers a query over the graph that a session shows. `text` is JSON of operations or a Let, or one
    /// Cypher query; texts of digits in it find ids that are numbers.
    ///
    /// # Errors
    /// [`ServiceError::Query`] for a query that is refused.
    pub async fn ask(
        &self,
        who: &Principal,
        live: &Live,
        text: &str,
        output: QueryOutput,
    ) -> Result<Value, ServiceError> {
        let ids = self.number_ids(live).await;
        let (ask, projects) = query_of(text, &ids)?;
        let request = QueryRequest {
            drawn: true,
            others: self.queries.others_of(who, &ask)?,
            ask,
            strictness: Strictness::Strict,
            user: who.user(),
            mode: if output == QueryOutput::Shape { ResultMode::Sizes } else { ResultMode::Rows },
        };
        let QueryResult { answer, memory, .. } =
            self.ctx.engine.query(live.dataset, request).await??;
        self.ctx
            .blocking(move |_| {
                let json = answer_json(answer, output, projects);
                // The tables are counted until they are gone.
                drop(memory);
                json
            })
            .await
    }
}

/// `name (n): a (int64), b (object)`: as many from both ends as the limit lets through.
fn columns_line(title: &str, columns: &[ColumnInfo]) -> String {
    let name = |c: &ColumnInfo| format!("{} ({})", c.name, c.dtype);
    let mut parts: Vec<String> = Vec::with_capacity(columns.len().min(COLUMNS_MAX));
    if columns.len() <= TOOL_COLUMNS_MAX {
        parts.extend(columns.iter().map(name));
    } else {
        let half = TOOL_COLUMNS_MAX / 2;
        parts.extend(columns[..half].iter().map(name));
        parts.push(format!("(+{} more not listed)", columns.len() - TOOL_COLUMNS_MAX));
        parts.extend(columns[columns.len() - half..].iter().map(name));
    }
    if parts.is_empty() {
        // Nodes that only edges mention have no table.
        parts.push("none".to_owned());
    }
    format!("{title} ({}): {}", columns.len(), parts.join(", "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn columns(n: usize) -> Vec<ColumnInfo> {
        (0..n).map(|i| ColumnInfo { name: format!("c{i}"), dtype: "int64".to_owned() }).collect()
    }

    #[test]
    fn as_many_columns_are_listed_from_both_ends_as_the_limit_says() {
        for n in [0, 1, 119, 120] {
            let line = columns_line("node columns", &columns(n));
            assert_eq!(line.matches("int64").count(), n);
            assert!(line.starts_with(&format!("node columns ({n}):")) && !line.contains("more"));
        }
        let line = columns_line("x", &columns(121));
        assert_eq!(line.matches("int64").count(), 120);
        assert!(line.contains("c59 (int64), (+1 more not listed), c61 (int64)"), "{line}");
        let line = columns_line("x", &columns(1000));
        assert!(line.contains("(+880 more not listed)") && line.ends_with("c999 (int64)"));
    }
}
