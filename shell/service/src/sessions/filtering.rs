//! Visible elements of a picture: found by the engine with the filters of its document and sent to its pages; and the
//! answers to pages about its columns.

use std::sync::Arc;
use std::time::Duration;

use graphlume_engine::{
    Axis, EngineError, EngineHandle, FacetColumn, Filter, FilterCount, FilterNumbers, FilterSet,
    Histogram, NodeBytes, Rule, Target, ToPage, Visible, Wanted,
};
use graphlume_expr::QueryError;
use graphlume_identity::body::object;
use graphlume_types::Coded;
use serde_json::{Value, json};

use super::{Sessions, ViewerGrant, no_session};
use crate::document::{Change, Document, Held, Layer, Payer, Room, Shown};
use crate::error::ServiceError;

/// What a rule means.
#[derive(Debug)]
pub struct Found {
    /// The form of the rule: `expr`, `cypher`, `gfql` and so on.
    pub form: String,
    /// The rule as filters have it.
    pub rule: Value,
    /// The nodes, as rules name them.
    pub nodes: String,
    /// How many there are.
    pub node_count: u64,
    /// How many edges the rule means.
    pub edge_count: u64,
}

/// How long filters wait when their caller has as many queries as he may.
const BUSY_PAUSES: [Duration; 6] = [
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(10),
    Duration::from_secs(30),
];
/// Words with which texts in Cypher begin.
const CYPHER: [&str; 9] =
    ["match", "optional", "call", "unwind", "with", "return", "graph", "use", "profile"];

impl Sessions {
    /// Finds what is visible anew, for all or for a page that has filters of its own, and tells it when it is there. While it
    /// is being found for an earlier document, the newest follows after that.
    pub(super) fn find_visible(&self, target: Target, room: &Arc<Room>, own: Option<&str>) {
        if room.with(own, Layer::must_find) != Some(true) {
            return;
        }
        let (engine, room, own) =
            (self.ctx.engine.clone(), Arc::clone(room), own.map(str::to_owned));
        tokio::spawn(async move {
            let own = own.as_deref();
            while let Some((revision, document)) = room.with(own, Layer::next_to_find).flatten() {
                let set = match own {
                    None => filter_set(&document, None),
                    Some(_) => filter_set(&room.document(), Some(&document)),
                };
                let visible = {
                    // One at a time a session, however many have filters of their own.
                    let _turn = room.finding().await;
                    visible_of(&engine, &target, Arc::new(set), revision).await
                };
                let visible = visible.map_err(ServiceError::from);
                room.show(own, shown(revision, visible, &room.pays_for_shown(own)));
            }
        });
    }

    /// Finds what is visible after a change, unless the change has nothing to do with it.
    pub(super) fn follow(&self, target: &Target, room: &Arc<Room>, own: Option<&str>) {
        self.find_visible(target.clone(), room, own);
        match own {
            // Those who have filters of their own see the shared ones, too.
            None => room.overlays().iter().for_each(|id| {
                self.find_visible(target.clone(), room, Some(id));
            }),
            // Who has none any more sees what all see.
            Some(_) if room.with(None, |l| l.shown.is_none()) == Some(true) => {
                self.find_visible(target.clone(), room, None);
            }
            Some(_) => {}
        }
    }

    /// Finds what is visible of the elements of `epoch`, where filters of all or of one page are about others yet.
    pub(super) fn refresh_visible(&self, grant: &ViewerGrant, epoch: u32) {
        let Ok(meta) = self.shown(grant) else { return };
        let is_old = |own: Option<&str>| {
            let known = |layer: &mut Layer| layer.shown.as_ref().and_then(|s| s.epoch);
            meta.room.with(own, known).flatten() != Some(epoch)
        };
        if has_filters(&meta.room.document()) && is_old(None) {
            self.find_visible(grant.target(), &meta.room, None);
        }
        for id in meta.room.overlays().iter().filter(|id| is_old(Some(id))) {
            self.find_visible(grant.target(), &meta.room, Some(id));
        }
    }

    /// The columns that may be filtered and counted.
    ///
    /// # Errors
    /// What loading the graph may answer.
    pub async fn facet_columns(
        &self,
        grant: &ViewerGrant,
    ) -> Result<Vec<FacetColumn>, ServiceError> {
        Ok(self.ctx.engine.facet_columns(grant.target()).await?)
    }

    /// Histograms of columns as the page reads them, and the revision of the document whose filters they follow. `viewer` is the seat of a page
    /// whose own filters count, too.
    ///
    /// # Errors
    /// [`ServiceError::Query`] for a column that is not there; what loading the graph may answer.
    pub async fn histograms(
        &self,
        grant: &ViewerGrant,
        viewer: Option<&str>,
        wanted: Vec<Wanted>,
    ) -> Result<(u64, Vec<Value>), ServiceError> {
        let room = self.shown(grant)?.room;
        let own = viewer
            .map(|id| {
                room.with(Some(id), |l| Arc::clone(&l.document)).ok_or_else(|| no_session(id))
            })
            .transpose()?;
        let state = room.with(None, |l| (l.revision, Arc::clone(&l.document)));
        let (revision, shared) = state.unwrap_or_default();
        let set = Arc::new(filter_set(&shared, own.as_deref()));
        let found = self.ctx.engine.histograms(grant.target(), set, wanted).await??;
        Ok((revision, found.iter().map(Histogram::json).collect()))
    }

    /// The elements that a rule means: `rule` of the body, or what its `text` says.
    ///
    /// # Errors
    /// [`ServiceError::Query`] for what is wrong with the rule; what loading the graph may answer.
    pub async fn find(&self, grant: &ViewerGrant, body: &[u8]) -> Result<Found, ServiceError> {
        let body = object(body)?;
        let given = |name: &str| body.get(name).filter(|v| !v.is_null());
        let (form, rule) = match (given("rule"), given("text").and_then(Value::as_str)) {
            (Some(rule), None) => (form_of(rule), rule.clone()),
            (None, Some(text)) => rule_of_text(text)?,
            _ => {
                let message = "send either rule, an object, or text";
                return Err(ServiceError::invalid("rule", message));
            }
        };
        let is_set = rule.get("nodes").is_some() || rule.get("ego").is_some();
        let set_bytes_max = if is_set { self.set_bytes_max(grant).await? } else { 0 };
        let parsed = Arc::new(Rule::of_json(&rule, set_bytes_max)?);
        let members = self.ctx.engine.find(grant.target(), parsed).await??;
        let count = self.ctx.engine.node_count(grant.target()).await?;
        Ok(Found {
            form,
            rule,
            nodes: NodeBytes::pack(&members.nodes, count),
            node_count: members.nodes.len(),
            edge_count: members.edges.len(),
        })
    }

    /// Bytes of a set of the nodes of the session's graph.
    pub(super) async fn set_bytes_max(&self, grant: &ViewerGrant) -> Result<u64, ServiceError> {
        Ok(NodeBytes::bytes_of(self.ctx.engine.node_count(grant.target()).await?))
    }

    /// Refuses an encoding whose column is not there.
    async fn check_encoding(
        &self,
        grant: &ViewerGrant,
        change: &Change,
    ) -> Result<(), ServiceError> {
        let Some(encoding) = change.value.as_ref().map(Held::value) else { return Ok(()) };
        let Some(attribute) = encoding.get("attribute").and_then(Value::as_str) else {
            return Ok(());
        };
        let axis = if change.path.starts_with("encodings/edge") { Axis::Edge } else { Axis::Node };
        let columns = self.ctx.engine.facet_columns(grant.target()).await?;
        let own: Vec<&str> =
            columns.iter().filter(|c| c.axis == axis).map(|c| c.name.as_str()).collect();
        match own.contains(&attribute) {
            true => Ok(()),
            false => Err(QueryError::no_column(attribute, axis.name(), &own).into()),
        }
    }

    /// Refuses new filters that mean nothing in this graph, such as one on a column that is not there.
    pub(super) async fn check_rules(
        &self,
        grant: &ViewerGrant,
        changes: &[Change],
    ) -> Result<(), ServiceError> {
        for change in changes.iter().filter(|c| c.path.starts_with("encodings/")) {
            self.check_encoding(grant, change).await?;
        }
        let has_rule = |path: &str| path.starts_with("filters/") || path.starts_with("collapsed/");
        let filters = changes.iter().filter(|c| has_rule(&c.path));
        let set = FilterSet {
            filters: filters.filter_map(|c| filter_of(&c.path, c.value.as_ref()?)).collect(),
            prune_orphans: false,
        };
        if set.filters.iter().all(|f| !f.on) {
            return Ok(());
        }
        let visible = self.ctx.engine.filter(grant.target(), Arc::new(set), 0).await?;
        match visible.filtered.filters.into_iter().find_map(|(_, found)| found.err()) {
            Some(problem) => Err(problem.into()),
            None => Ok(()),
        }
    }
}

/// What a set of filters leaves visible. No request waits for the answer, so that it can wait for its turn.
async fn visible_of(
    engine: &EngineHandle,
    target: &Target,
    set: Arc<FilterSet>,
    revision: u64,
) -> Result<Visible, EngineError> {
    #[allow(clippy::cast_possible_truncation, reason = "it only tells frames apart")]
    let revision = revision as u32;
    for pause in BUSY_PAUSES {
        match engine.filter(target.clone(), Arc::clone(&set), revision).await {
            Err(EngineError::Busy { .. }) => tokio::time::sleep(pause).await,
            other => return other,
        }
    }
    engine.filter(target.clone(), set, revision).await
}

/// Whether a document hides anything.
fn has_filters(document: &Document) -> bool {
    document.below("filters/").next().is_some() || prunes(document)
}

/// Whether a document hides nodes without a visible edge.
fn prunes(document: &Document) -> bool {
    document.get("prune_orphans").is_some_and(|held| held.text().as_str() == "true")
}

/// The filters of a document, and those that one page adds for itself.
pub(super) fn filter_set(shared: &Document, own: Option<&Document>) -> FilterSet {
    // A page that changes a filter of all for itself sees its own form of it.
    let is_own = |id: &str| own.is_some_and(|own| own.get(&format!("filters/{id}")).is_some());
    let of = |document: &Document, mine: bool| -> Vec<Filter> {
        let entries = document.below("filters/").filter(|(id, _)| mine || !is_own(id));
        entries.filter_map(|(id, value)| filter_of(id, value)).collect()
    };
    let mut filters = of(shared, false);
    filters.extend(own.into_iter().flat_map(|own| of(own, true)));
    FilterSet { filters, prune_orphans: prunes(shared) || own.is_some_and(prunes) }
}

/// What a document collapses: the name of each disc and the rule of its nodes, in the document's order.
pub(super) fn collapsed_of(document: &Document) -> Vec<(String, Arc<Rule>)> {
    let ruled = |(id, held): (&'_ str, &'_ Held)| {
        let ruled = held.ruled().filter(|ruled| ruled.on)?;
        Some((ruled.order, id.to_owned(), ruled.name.to_string(), Arc::clone(&ruled.rule)))
    };
    let mut entries: Vec<_> = document.below("collapsed/").filter_map(ruled).collect();
    entries.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    entries.into_iter().map(|(_, _, name, rule)| (name, rule)).collect()
}

/// A filter of a document, as it was read when it was set.
fn filter_of(id: &str, held: &Held) -> Option<Filter> {
    let ruled = held.ruled()?;
    let (kind, on, rule) = (ruled.kind, ruled.on, Arc::clone(&ruled.rule));
    Some(Filter { id: id.to_owned(), kind, on, rule })
}

/// What pages are told of what is visible.
fn shown(revision: u64, visible: Result<Visible, ServiceError>, payer: &Payer) -> Shown {
    // A bit for each element is much of a large graph: it is paid for until the last page was sent it.
    let held = visible.and_then(|Visible { epoch, filtered, masks }| {
        let frames = masks.into_iter().map(|mask| payer.hold(mask));
        Ok((epoch, filtered, frames.collect::<Result<Vec<_>, _>>()?))
    });
    let (epoch, filtered, frames) = match held {
        Ok(held) => held,
        Err(error) => {
            let message = format!("what the filters leave visible was not found: {error}");
            let counts = ToPage::error(error.slug(), message);
            return Shown { epoch: None, counts, frames: Vec::new() };
        }
    };
    let numbers = |found: Result<FilterCount, QueryError>| match found {
        Ok(FilterCount { nodes, edges }) => FilterNumbers::Count { nodes, edges },
        Err(problem) => FilterNumbers::Problem { problem: problem.to_string() },
    };
    let filters = filtered.filters.into_iter().map(|(id, found)| (id, numbers(found))).collect();
    let (nodes, edges) = (filtered.nodes.len(), filtered.edges.len());
    let counts = ToPage::Counts { revision, nodes, edges, filters };
    Shown { epoch: Some(epoch), counts, frames }
}

fn form_of(rule: &Value) -> String {
    let form = rule.as_object().and_then(|map| map.keys().next());
    form.map_or_else(String::new, |form| if form == "query" { "cypher" } else { form }.to_owned())
}

/// The rule that a person has typed: operations as JSON, a text in Cypher, or an expression.
fn rule_of_text(text: &str) -> Result<(String, Value), ServiceError> {
    let text = text.trim();
    if text.starts_with(['[', '{']) {
        let gfql: Value = serde_json::from_str(text).map_err(|e| {
            ServiceError::invalid("text", format!("the operations are not JSON: {e}"))
        })?;
        return Ok(("gfql".to_owned(), json!({ "gfql": gfql })));
    }
    let word: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
    // `match = 3` would be an expression over a column of that name.
    let rest = text[word.len()..].trim_start();
    let is_cypher = CYPHER.contains(&word.to_ascii_lowercase().as_str())
        && !rest.starts_with(['=', '<', '>', '!']);
    Ok(match is_cypher {
        true => ("cypher".to_owned(), json!({ "query": text })),
        false => ("expr".to_owned(), json!({ "expr": text })),
    })
}

/// What filters left visible, in a test.
#[cfg(test)]
fn some_visible(mask: &'static [u8]) -> Visible {
    use graphlume_engine::{Bits, FilterCount, Filtered};
    let filters = vec![
        ("f".to_owned(), Ok(FilterCount { nodes: Some(3), edges: None })),
        ("g".to_owned(), Err(QueryError::no_column("a", "node", &["b"]))),
    ];
    let filtered = Filtered { nodes: Bits::new(5, &[1, 2, 4]), edges: Bits::new(2, &[]), filters };
    Visible { epoch: 1, filtered, masks: [mask.into(), mask.into()] }
}

/// Messages about filters, for the test of the page's types.
#[cfg(test)]
pub(crate) fn samples() -> Vec<ToPage<'static>> {
    vec![shown(7, Ok(some_visible(&[])), &Payer::default()).counts]
}

#[cfg(test)]
mod tests {
    use graphlume_types::Budget;

    use super::*;
    use crate::document::{Actor, Author, Unwritten};

    fn enter(room: &Arc<Room>, payer: &Payer) -> crate::document::Seat {
        let author = Author { actor: Actor::Viewer, name: String::new(), orgs: [].into() };
        room.enter(author, true, payer)
    }

    #[test]
    fn what_is_visible_is_paid_for_until_the_last_page_has_left_and_was_sent_it() {
        let memory = Budget::new("memory", 2_500);
        let payer = Payer::new(vec![memory.clone()]);
        let room = Room::new(Document::default(), true, payer.clone(), Unwritten::default());
        let find = || shown(7, Ok(some_visible(&[7; 1_000])), &room.pays_for_shown(None));

        // Nobody is there: it is not kept.
        room.show(None, find());
        assert_eq!(memory.used(), 0);

        let (mut first, mut second) = (enter(&room, &payer), enter(&room, &payer));
        room.show(None, find());
        assert_eq!(memory.used(), 2_000);
        let told = (first.pending(), second.pending());
        assert_eq!(memory.used(), 2_000, "all are told the same bytes");
        // What there is no memory for is said.
        let refused = find();
        assert!(refused.frames.is_empty() && refused.epoch.is_none(), "{refused:?}");
        let ToPage::Error { message, .. } = &refused.counts else { panic!("{refused:?}") };
        assert!(message.contains("memory"), "{refused:?}");

        drop(first);
        assert_eq!(memory.used(), 2_000);
        drop(second);
        assert_eq!(memory.used(), 2_000, "the pages have yet to be sent it");
        drop(told);
        assert_eq!(memory.used(), 0);
        let mut later = enter(&room, &payer);
        assert_eq!(later.pending().len(), 1, "the document alone");
    }
}
