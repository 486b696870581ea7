//! What agents do with the visualizations that people have open: look, ask, and paint collections.

use std::sync::Arc;
use std::time::Duration;

use graphlume_engine::{
    Answered, CollectionMembers, CollectionRule, CollectionsView, ColumnInfo, EngineError,
    GraphFacts, QueryRequest, SessionInfo, Target, Want,
};
use graphlume_gfql::Strictness;
use graphlume_storage::CollectionRec;
use graphlume_types::limits::{COLUMNS_MAX, TOOL_COLUMNS_MAX};
use graphlume_types::{Code, Coded, DatasetId, SessionId};
use serde_json::{Value, json};

use crate::answers::{answer_json, ask_of};
use crate::authz::{Action, Decision, Resource, decides};
use crate::collections::{self, Background, Worn, refusal};
use crate::datasets;
use crate::principal::Principal;
use crate::queries::QueryOutput;
use crate::sessions::{keep_collections, leads_to};
use crate::{Service, ServiceError};

/// How long a tool waits for a graph that is still being loaded.
const LOAD_PATIENCE: Duration = Duration::from_secs(30);
const LOAD_POLL: Duration = Duration::from_millis(20);

/// What a tool is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolAccess {
    /// Look; for whoever may see the dataset.
    Read,
    /// Change what everybody sees; for the person who has the visualization open.
    Owner,
}

/// Why a tool may not touch a session.
#[derive(Debug)]
pub enum LiveError {
    /// Not the caller's to look at, or not the caller's to change, or not there: the caller cannot tell.
    Denied,
    /// The visualization is closed, or its owner is away.
    Closed,
    /// Whether the caller may could not be found out.
    Unchecked(ServiceError),
}

/// A session that the caller may use for what it asked.
#[derive(Debug, Clone)]
pub struct Live {
    session: SessionId,
    dataset: DatasetId,
}

impl Live {
    fn target(&self) -> Target {
        (self.session.clone(), self.dataset).into()
    }
}

/// A collection that an agent wants.
#[derive(Debug, Clone, Default)]
pub struct NewCollection {
    /// Its name; one of the same name is replaced.
    pub name: String,
    /// JSON of an array of operations or of a Let.
    pub gfql_operations: String,
    /// `#RRGGBB` or `#RRGGBBAA`; wins over the palette.
    pub node_color: Option<String>,
    /// Name of a palette.
    pub palette: Option<String>,
    /// Anything worth knowing.
    pub description: Option<String>,
}

/// What is to be different about a collection.
#[derive(Debug, Clone, Default)]
pub struct CollectionChange {
    /// A new name.
    pub name: Option<String>,
    /// A new colour; wins over the palette.
    pub node_color: Option<String>,
    /// A new palette.
    pub palette: Option<String>,
}

impl Service {
    /// Checks that the caller may use a session.
    ///
    /// # Errors
    /// [`LiveError`].
    pub async fn live(
        &self,
        who: &Principal,
        session: &str,
        access: ToolAccess,
    ) -> Result<Live, LiveError> {
        let id: SessionId = session.parse().map_err(|_| LiveError::Denied)?;
        let Some(visit) = self.visit(&id).map_err(LiveError::Unchecked)? else {
            let mine = who.session_owner().is_some_and(|user| self.visits.was_closed_on(&id, user));
            return Err(if mine { LiveError::Closed } else { LiveError::Denied });
        };
        let found = datasets::find(&self.core, &visit.dataset.to_string());
        let found = found.map_err(|e| match e.code() {
            Code::NotFound if visit.owner.is_some() && visit.owner == who.session_owner() => {
                LiveError::Closed
            }
            Code::NotFound => LiveError::Denied,
            _ => LiveError::Unchecked(e),
        })?;
        if decides(who, Action::Read, found.resource()) != Decision::Allow {
            return Err(LiveError::Denied);
        }
        // Whoever has the page open came with the dataset's address.
        let has_page = || who.user().is_some_and(|user| self.pages.is_open_by(&id, user));
        if !leads_to(who, &visit, found.resource()) && !has_page() {
            return Err(LiveError::Denied);
        }
        let is_open = match access {
            ToolAccess::Read => self.pages.is_open(&id),
            ToolAccess::Owner => {
                let resource =
                    Resource::Session { owner: visit.owner, dataset: None, holds_key: false };
                let allowed = decides(who, Action::Paint, resource) == Decision::Allow;
                let user = who.user().filter(|_| allowed).ok_or(LiveError::Denied)?;
                self.pages.is_open_by(&id, user)
            }
        };
        if is_open {
            Ok(Live { session: id, dataset: visit.dataset })
        } else {
            Err(LiveError::Closed)
        }
    }

    /// The caller's sessions that are open at this moment, newest first.
    ///
    /// # Errors
    /// As [`Service::list_sessions`].
    pub async fn live_sessions(&self, who: &Principal) -> Result<Value, ServiceError> {
        who.user().ok_or(ServiceError::Unauthenticated)?;
        let mut sessions = Vec::new();
        let Some(user) = who.session_owner() else { return Ok(json!({ "sessions": sessions })) };
        for visit in self.visits.of(user) {
            if who.scope().is_some_and(|only| visit.dataset != only) {
                continue;
            }
            if !self.pages.is_open_by(&visit.session, user) {
                continue;
            }
            let Ok(info) = self.engine.info(visit.session.clone()).await else { continue };
            let graph = info.graph.as_deref();
            sessions.push(json!({
                "session_id": visit.session, "dataset_id": visit.dataset,
                "name": graph.map(|g| g.name.as_str()),
                "node_count": graph.map(|g| g.node_count),
                "edge_count": graph.map(|g| g.edge_count),
                "state": info.state.state,
            }));
        }
        Ok(json!({ "sessions": sessions }))
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
        for notice in graph.notices.iter().chain(self.address_notices(&live.session).iter()) {
            let words: Vec<&str> = notice.text.split_whitespace().collect();
            lines.push(format!("notice: {}", words.join(" ")));
        }
        Ok(lines.join("\n"))
    }

    /// Which columns make the graph: a query needs their names.
    fn bindings_line(&self, live: &Live, graph: &GraphFacts) -> Option<String> {
        let found = datasets::find(&self.core, &live.dataset.to_string()).ok()?;
        let (node, edge) = found.encodings();
        let of = |side: &Value, role: &str| side["bindings"][role].as_str().map(str::to_owned);
        let id = of(&node, "node").filter(|_| !graph.node_columns.is_empty());
        let id = id.unwrap_or_else(|| "id".to_owned());
        let (source, destination) = (of(&edge, "source")?, of(&edge, "destination")?);
        Some(format!(
            "graph columns: node id {id:?}, edge source {source:?}, edge destination {destination:?}"
        ))
    }

    /// The session once its graph is there.
    async fn loaded(&self, live: &Live) -> Result<SessionInfo, ServiceError> {
        let until = tokio::time::Instant::now() + LOAD_PATIENCE;
        loop {
            let info = self.engine.info(live.session.clone()).await?;
            let failed = info.state.state == graphlume_engine::Phase::Failed;
            if info.graph.is_some() {
                return Ok(info);
            }
            if failed || tokio::time::Instant::now() >= until {
                return Err(refusal(
                    "graph-not-loaded",
                    format!("the graph of this visualization is not there: {}", info.state.detail),
                ));
            }
            tokio::time::sleep(LOAD_POLL).await;
        }
    }

    /// Answers a query over the graph that a session shows. `text` is JSON of operations or a Let, or one
    /// Cypher query.
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
        let (ask, projects) = ask_of(text)?;
        let request = QueryRequest {
            drawn: true,
            others: self.others_of(who, &ask)?,
            ask,
            strictness: Strictness::Strict,
            user: who.user(),
            want: if output == QueryOutput::Shape { Want::Sizes } else { Want::Rows },
        };
        let Answered { answer, memory, .. } = self.engine.query(live.dataset, request).await??;
        self.blocking(move |_| {
            let json = answer_json(answer, output, projects);
            // The tables are counted until they are gone.
            drop(memory);
            json
        })
        .await
    }

    /// Makes a collection, paints it in every open page and tells what it holds.
    ///
    /// # Errors
    /// An expression that is refused; a name, colour or palette that makes no sense; a full disk.
    pub async fn create_collection(
        &self,
        live: &Live,
        new: NewCollection,
    ) -> Result<Value, ServiceError> {
        let name = collections::checked_name(&new.name)?;
        let description =
            collections::checked_description(new.description.as_deref().unwrap_or(""))?;
        let (node_color, palette) = coloring(new.node_color.as_deref(), new.palette.as_deref())?;
        let expr = collections::expression(&new.gfql_operations)?;
        let rule = Arc::new(collections::rule_of(&expr, true)?);
        let found = self.engine.evaluate_collection(live.target(), Arc::clone(&rule)).await??;
        let count = found.count();
        let now = self.core.clock.unix_micros();
        let edit = |worn: &Worn| {
            let mut records = worn.records.clone();
            let node_color = node_color.or_else(|| palette.is_none().then(|| worn.free_color()));
            let old = records.iter().position(|r| r.name == name);
            let id = old.map_or_else(collections::new_id, |at| records[at].id.clone());
            let rec = CollectionRec {
                id: id.clone(),
                name,
                description,
                expr,
                strict: true,
                node_color,
                edge_color: None,
                palette,
                created_at: now,
            };
            match old {
                Some(at) => records[at] = rec,
                None => records.insert(0, rec),
            }
            let dropped = collections::cut_to_limit(&mut records);
            Ok((records, (id, old.is_some(), dropped)))
        };
        let known = |made: &(String, bool, Vec<CollectionRec>)| Some((made.0.clone(), rule, found));
        let (worn, shown, (id, replaced, dropped)) = self.redress(live, edit, known).await?;
        let mut entry = worn.entry(worn.find(&id)?, &shown);
        // The picture may lag behind; what was found is known.
        entry["matchCount"] = json!(count);
        let dropped: Vec<Value> =
            dropped.iter().map(|r| json!({"id": r.id, "name": r.name})).collect();
        Ok(json!({ "collection": entry, "replaced": replaced, "dropped": dropped }))
    }

    /// The collections of a session, the one on top first.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] when the session is gone.
    pub async fn list_collections(&self, live: &Live) -> Result<Value, ServiceError> {
        let worn = self.worn(live)?;
        let shown = match self.engine.info(live.session.clone()).await {
            Ok(info) => info.collections,
            Err(_) => Arc::default(),
        };
        let entries = (0..worn.records.len()).map(|place| worn.entry(place, &shown));
        Ok(json!({
            "collections": entries.collect::<Vec<_>>(), "background": worn.background_entry(),
        }))
    }

    /// Renames or recolours a collection.
    ///
    /// # Errors
    /// An unknown id, a name that another collection has, a change that changes nothing.
    pub async fn update_collection(
        &self,
        live: &Live,
        id: &str,
        change: CollectionChange,
    ) -> Result<Value, ServiceError> {
        let name = change.name.as_deref().map(collections::checked_name).transpose()?;
        let (color, palette) = coloring(change.node_color.as_deref(), change.palette.as_deref())?;
        let edit = |worn: &Worn| {
            let at = worn.find(id)?;
            if name.is_none() && color.is_none() && palette.is_none() {
                return Err(refusal(
                    "nothing-to-change",
                    "give at least one of name, node_color and palette",
                ));
            }
            let mut records = worn.records.clone();
            if let Some(name) = name {
                if records.iter().enumerate().any(|(i, r)| i != at && r.name == name) {
                    return Err(refusal(
                        "conflict",
                        format!("another collection is named {name:?}"),
                    ));
                }
                records[at].name = name;
            }
            if color.is_some() || palette.is_some() {
                (records[at].node_color, records[at].palette) = (color, palette);
                records[at].edge_color = None;
            }
            Ok((records, at))
        };
        let (worn, shown, at) = self.redress(live, edit, |_| None).await?;
        Ok(json!({ "collection": worn.entry(at, &shown) }))
    }

    /// Deletes a collection.
    ///
    /// # Errors
    /// An unknown id; the layer that is always there.
    pub async fn delete_collection(&self, live: &Live, id: &str) -> Result<Value, ServiceError> {
        let edit = |worn: &Worn| {
            let at = worn.find(id)?;
            let mut records = worn.records.clone();
            let gone = records.remove(at);
            Ok((records, gone))
        };
        let (_, _, gone) = self.redress(live, edit, |_| None).await?;
        Ok(json!({ "deleted": { "id": gone.id, "name": gone.name } }))
    }

    /// Puts the named collections on top, in this order; the others follow in theirs.
    ///
    /// # Errors
    /// An unknown id, or one that is named twice.
    pub async fn reorder_collections(
        &self,
        live: &Live,
        order: &[String],
    ) -> Result<Value, ServiceError> {
        let edit = |worn: &Worn| {
            let mut places = Vec::new();
            for id in order {
                let at = worn.find(id)?;
                if places.contains(&at) {
                    return Err(refusal("conflict", format!("order names {id:?} twice")));
                }
                places.push(at);
            }
            let rest = (0..worn.records.len()).filter(|at| !places.contains(at));
            let all: Vec<usize> = places.iter().copied().chain(rest).collect();
            Ok((all.into_iter().map(|at| worn.records[at].clone()).collect(), ()))
        };
        let (worn, shown, ()) = self.redress(live, edit, |_| None).await?;
        let entries = (0..worn.records.len()).map(|place| worn.entry(place, &shown));
        Ok(json!({ "collections": entries.collect::<Vec<_>>() }))
    }

    /// Removes every collection: the picture is as it was.
    ///
    /// # Errors
    /// A full disk.
    pub async fn reset_collections(&self, live: &Live) -> Result<Value, ServiceError> {
        let edit = |worn: &Worn| Ok((Vec::new(), worn.records.len()));
        let (_, _, removed) = self.redress(live, edit, |_| None).await?;
        Ok(json!({ "removed": removed }))
    }

    fn worn(&self, live: &Live) -> Result<Arc<Worn>, ServiceError> {
        let visit = self.visit(&live.session)?;
        let visit = visit.ok_or_else(|| ServiceError::not_found("session", &live.session))?;
        Ok(visit.worn)
    }

    /// Changes the collections of a session: one change at a time, on the disk before anybody is told,
    /// and then in every page.
    async fn redress<T>(
        &self,
        live: &Live,
        edit: impl FnOnce(&Worn) -> Result<(Vec<CollectionRec>, T), ServiceError>,
        known: impl FnOnce(&T) -> Option<(String, Arc<CollectionRule>, CollectionMembers)>,
    ) -> Result<(Arc<Worn>, Arc<CollectionsView>, T), ServiceError> {
        let turn = self.visits.turn(&live.session);
        let _turn = turn.lock().await;
        let visit = self.visit(&live.session)?;
        let visit = visit.ok_or_else(|| ServiceError::not_found("session", &live.session))?;
        let (records, told) = edit(&visit.worn)?;
        let known = known(&told);
        let rule = known.as_ref().map(|(id, rule, _)| (id.as_str(), Arc::clone(rule)));
        let Background { node, edge } = visit.worn.background.clone();
        let worn = Arc::new(Worn::new(records, Background { node, edge }, &visit.worn, rule));
        let visit = self.visits.rewear(visit, Arc::clone(&worn));
        self.blocking(move |core| keep_collections(core, &visit)).await?;
        self.visits.show(&live.session, &worn);
        let found = known.map(|(id, _, found)| (id, found)).into_iter().collect();
        let dressed =
            self.engine.set_collections(live.target(), Arc::clone(&worn.layers), found).await;
        let shown = dressed.unwrap_or_else(|error| {
            // They are kept; the page shows them as soon as it can.
            tracing::warn!(session = %live.session, %error, "collections are not in the picture yet");
            Arc::default()
        });
        Ok((worn, shown, told))
    }
}

/// One colour wins over a palette.
fn coloring(
    color: Option<&str>,
    palette: Option<&str>,
) -> Result<(Option<String>, Option<String>), ServiceError> {
    let color = color.map(collections::checked_color).transpose()?;
    let palette = palette.map(collections::checked_palette).transpose()?;
    let palette = palette.filter(|_| color.is_none());
    Ok((color, palette))
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
