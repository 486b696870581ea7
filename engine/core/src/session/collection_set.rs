//! Collections as a session is given them: their rules, their elements, and what viewers are shown of them.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_expr::{QueryError, Strictness};
use graphlume_facets::Rule;
use graphlume_gfql::Query;
use graphlume_scene::{Bits, Members, Paint};
use graphlume_types::CancelToken;
use serde_json::{Map, Value};

use crate::context::EngineContext;
use crate::frames::SceneFrames;
use crate::messages::{CollectionEntry, CollectionLabel, CollectionList};
use crate::residency::Lease;
use crate::session::drawn_picture::DrawnPicture;

/// Which elements a collection holds.
#[derive(Debug, Clone)]
pub enum CollectionRule {
    /// What a query keeps.
    Query(Query, Strictness),
    /// What a rule of a session's document means.
    Rule(Arc<Rule>),
    /// What is in all of these collections of the same session.
    All(Vec<String>),
}

/// A collection of a session.
#[derive(Debug, Clone)]
pub struct CollectionSpec {
    /// Its id within the session.
    pub id: String,
    /// What it holds.
    pub rule: Arc<CollectionRule>,
    /// How that is coloured.
    pub paint: Paint,
    /// Its name and description.
    pub label: CollectionLabel,
}

/// The collections of a session.
#[derive(Debug, Clone, Default)]
pub struct CollectionSet {
    /// The first is rendered on top.
    pub specs: Vec<CollectionSpec>,
    /// Under all of them: what is in no collection.
    pub background: Paint,
    /// Columns that colours, sizes, opacities and icons follow instead of those of the dataset: by `node.color`, `edge.size`
    /// and the like, as complex encodings of an upload.
    pub encodings: Map<String, Value>,
    /// Another one after every change; 0 for a session that never had a collection.
    pub revision: u64,
}

impl CollectionSet {
    /// Whether the picture is as it would be without them.
    pub(super) fn is_plain(&self) -> bool {
        self.specs.is_empty() && self.background == Paint::default() && self.encodings.is_empty()
    }
}

/// The elements of one collection in one element set.
#[derive(Debug, Clone)]
pub struct CollectionMembers {
    pub(super) rule: Arc<CollectionRule>,
    /// The element set and its columns.
    version: (u32, u32),
    pub(super) members: Arc<Members>,
}

impl CollectionMembers {
    /// How many elements there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.members.len()
    }

    /// Whether it is about this element set with these columns.
    pub(super) fn is_of(&self, lease: &Lease) -> bool {
        self.version == lease.version()
    }

    /// Finds the elements of a rule in a graph.
    pub(crate) fn search(
        lease: &Lease,
        rule: &Arc<CollectionRule>,
        others: &HashMap<String, Self>,
        ctx: &EngineContext,
        cancel: &CancelToken,
    ) -> Result<Self, QueryError> {
        let (nodes, edges) = (lease.facts.node_count, lease.facts.edge_count);
        let members = match rule.as_ref() {
            CollectionRule::Query(query, strictness) => {
                let graph = lease.drawn(cancel)?;
                let kept = graphlume_gfql::elements(graph, query, *strictness, cancel)?;
                Members {
                    nodes: Bits::new(nodes, &kept.nodes),
                    edges: Bits::new(edges, &kept.edges),
                }
            }
            CollectionRule::Rule(rule) => DrawnPicture { lease, ctx, cancel }.members(rule)?,
            CollectionRule::All(ids) => {
                let mut parts = ids.iter().filter_map(|id| others.get(id));
                let first = parts.next().map(|f| f.members.as_ref().clone());
                parts.fold(first.unwrap_or_default(), |all, part| Members {
                    nodes: all.nodes.and(&part.members.nodes),
                    edges: all.edges.and(&part.members.edges),
                })
            }
        };
        let (rule, version) = (rule.clone(), lease.version());
        Ok(Self { rule, version, members: Arc::new(members) })
    }
}

/// What viewers and lists are shown of the collections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectionsView {
    /// Id and number of elements of each, the one on top first; the number is absent while unknown.
    pub counts: Vec<(String, Option<u64>)>,
    /// The list that pages get.
    pub list: CollectionList,
}

impl CollectionsView {
    pub(super) fn new(set: &CollectionSet, counts: Vec<(String, Option<u64>)>) -> Self {
        let entry = |(position, (spec, (_, count))): (usize, (&CollectionSpec, &(String, _)))| {
            CollectionEntry {
                id: spec.id.clone(),
                position,
                match_count: *count,
                swatches: spec.paint.swatches(),
                label: spec.label.clone(),
            }
        };
        let collections = set.specs.iter().zip(&counts).enumerate().map(entry).collect();
        let list = CollectionList { collections, background: set.background.swatches() };
        Self { counts, list }
    }

    /// The number of elements of a collection, when it is known.
    #[must_use]
    pub fn count(&self, id: &str) -> Option<u64> {
        self.counts.iter().find(|(own, _)| own == id).and_then(|(_, count)| *count)
    }
}

/// What a worker has rendered.
pub(crate) struct CollectionRender {
    pub(super) revision: u64,
    pub(super) base: Arc<SceneFrames>,
    pub(super) members: HashMap<String, CollectionMembers>,
    pub(super) scene: Arc<SceneFrames>,
}
