//! Messages of the page protocol: the JSON that the server sends to a page beside its frames, and a page to the server.
//!
//! The page's types (`shell/web/src/net/page-messages.ts`) are written from these by a test.

use std::borrow::Cow;
use std::collections::BTreeMap;

use graphlume_types::{DatasetId, Notice, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
#[cfg(test)]
use ts_rs::TS;

use crate::layout_settings::LayoutSettings;
use crate::residency::{ColumnInfo, GraphFacts};

/// The state of a session in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The graph is being read and built.
    Loading,
    /// The dataset has no data yet.
    Waiting,
    /// The layout is moving.
    Running,
    /// The layout was stopped, by a viewer or because there is none.
    Paused,
    /// The layout has done the iterations that it was given and is not at rest.
    Stopped,
    /// The layout has come to rest.
    Settled,
    /// The graph could not be loaded; the detail says why.
    Failed,
}

impl Phase {
    /// Whether a layout is there and has nothing left to do.
    #[must_use]
    pub const fn is_at_rest(self) -> bool {
        matches!(self, Self::Settled | Self::Stopped)
    }
}

/// The processor that computes a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The CPU.
    Cpu,
    /// The GPU.
    Cuda,
}

/// The changing facts about a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct SessionState {
    /// The phase.
    pub state: Phase,
    /// A sentence for the user, or nothing.
    pub detail: String,
    /// Iterations of the layout since the session began.
    pub iterations: u64,
    /// Iterations per second of late; 0 when the layout does not run.
    pub iterations_per_s: f64,
    /// Whether the layout runs, or will with the first viewer.
    pub playing: bool,
    /// Viewers attached.
    pub viewers: usize,
    /// The processor of the layout.
    pub backend: Backend,
    /// Why that is the CPU although the server has a GPU, or nothing.
    pub backend_reason: String,
    /// The layout that was named last and placed the nodes, or nothing; forces keep its size.
    pub placed_by: String,
    /// How often nodes were placed so: after each the page shows all of them.
    pub placements: u32,
    /// Whether a layout has moved nodes from where the data has them, so that they do not stand on its map. Nodes that viewers
    /// hold do not count.
    pub displaced: bool,
    /// 0 while nodes have no third coordinate; another number whenever these are others.
    pub depths: u32,
    /// The knobs.
    pub settings: LayoutSettings,
}

/// The layout of a graph at the moment when a page is told of the graph.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct LayoutState<'a> {
    /// The phase of the session.
    pub state: Phase,
    /// Whether the layout runs, or will with the first viewer.
    pub playing: bool,
    /// Iterations of the layout since the session began.
    pub iterations: u64,
    /// The knobs.
    pub settings: &'a LayoutSettings,
    /// As in [`SessionState`].
    pub placed_by: &'a str,
    /// As in [`SessionState`].
    pub placements: u32,
    /// As in [`SessionState`].
    pub depths: u32,
    /// As in [`SessionState`].
    pub displaced: bool,
}

/// The first message of a stream.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Hello<'a> {
    /// The oldest version of the messages that the server speaks.
    pub protocol_min: u32,
    /// The newest one.
    pub protocol_max: u32,
    /// The build of the server.
    pub build: &'a str,
    /// The name of the account; empty without one.
    pub user: &'a str,
    /// Parameters of the address that were not taken as given.
    pub notices: Vec<PageNotice<'a>>,
    /// Whether the page only watches, since a page of another site shows it in a frame.
    pub framed: bool,
    /// The session.
    #[cfg_attr(test, ts(type = "string"))]
    pub session: &'a SessionId,
    /// The dataset that it shows.
    #[cfg_attr(test, ts(type = "string"))]
    pub dataset: DatasetId,
    /// The phase of the session.
    pub state: Phase,
    /// A sentence for the user, or nothing.
    pub detail: String,
    /// Whether the page controls the session; absent where it has no stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub steers: Option<bool>,
    /// The key with which it proves that when it comes again, where it needs one; absent as above.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional, type = "string | null"))]
    pub key: Option<Option<&'a str>>,
    /// The id of the page among those of the session; absent as above.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub viewer: Option<&'a str>,
}

/// A [`Notice`], or a sentence of the server about the page itself, which has no count.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS), ts(rename = "Notice"))]
pub struct PageNotice<'a> {
    /// The machine name of its kind.
    pub slug: Cow<'a, str>,
    /// The sentence for the user.
    pub text: Cow<'a, str>,
    /// Rows, nodes or values that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub count: Option<u64>,
}

impl From<&Notice> for PageNotice<'static> {
    fn from(Notice { slug, text, count }: &Notice) -> Self {
        Self { slug: slug.clone(), text: text.clone().into(), count: Some(*count) }
    }
}

/// The name of a collection and how lists describe it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct CollectionLabel {
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The palette by name, in place of one colour.
    pub palette: Option<String>,
}

/// A collection in the list of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct CollectionEntry {
    /// Its id within the session.
    pub id: String,
    /// Its place, 0 on top.
    pub position: usize,
    /// Its elements; null while unknown.
    pub match_count: Option<u64>,
    /// Its colours: one, or those of its palette.
    pub swatches: Vec<String>,
    /// Its name and description.
    #[serde(flatten)]
    pub label: CollectionLabel,
}

/// The collections of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct CollectionList {
    /// The one on top first.
    pub collections: Vec<CollectionEntry>,
    /// The colour of elements in none of them; empty for their own colours.
    pub background: Vec<String>,
}

/// The author of a step of the document.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(TS), ts(rename = "Author"))]
pub struct StepAuthor<'a> {
    /// The name of the account; empty where the page may not know it.
    pub name: &'a str,
    /// A person or an agent.
    pub kind: AuthorKind,
    /// Whether it is the account of the page.
    pub you: bool,
}

/// Kinds of authors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum AuthorKind {
    /// A person at a page.
    Person,
    /// An agent.
    Agent,
}

/// Entries of the document by their paths.
pub type Entries<'a> = BTreeMap<&'a str, &'a RawValue>;

/// An entry of the document after a step.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(TS), ts(rename = "Change"))]
pub struct ChangedEntry<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its value; null where it was deleted.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub value: Option<&'a RawValue>,
}

/// The effect of one filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS), ts(rename = "FilterCount"))]
#[serde(untagged)]
pub enum FilterNumbers {
    /// Elements that it keeps or hides; null on the side that it does not rest on.
    Count {
        /// Nodes.
        nodes: Option<u64>,
        /// Edges.
        edges: Option<u64>,
    },
    /// It does nothing.
    Problem {
        /// The reason.
        problem: String,
    },
}

/// A message from the server to a page. A page passes over those that it does not know.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum ToPage<'a> {
    /// The first one, before anything is loaded.
    Hello(Hello<'a>),
    /// The state of the session has changed.
    State(&'a SessionState),
    /// A graph is there; before its first frame.
    Graph {
        /// The unchanging facts.
        #[serde(flatten)]
        facts: &'a GraphFacts,
        /// The meaning of colours and sizes (`graphlume_scene::legend`).
        #[cfg_attr(test, ts(type = "LegendSides"))]
        legend: &'a Value,
        /// Whether a label or a title of the edges is bound.
        edges_named: bool,
        /// Axes and map under the edges (`graphlume_scene::axes`).
        #[cfg_attr(test, ts(type = "Underlay"))]
        underlay: &'a Value,
        /// Whether edges have colours of their own.
        has_edge_colors: bool,
        /// The layout.
        layout: LayoutState<'a>,
    },
    /// Algorithms that the dataset names have ended: the graph has other columns and notices.
    Columns {
        /// The element set.
        epoch: u32,
        /// Columns of the node table.
        node_columns: &'a [ColumnInfo],
        /// Columns of the edge table.
        edge_columns: &'a [ColumnInfo],
        /// What of the dataset is not shown as asked.
        #[cfg_attr(test, ts(as = "Vec<PageNotice<'static>>"))]
        notices: &'a [Notice],
    },
    /// Colours and sizes mean something else; their frames follow.
    Legend {
        /// As in `Graph`.
        #[cfg_attr(test, ts(type = "LegendSides"))]
        legend: &'a Value,
        /// As in `Graph`.
        #[cfg_attr(test, ts(type = "Underlay"))]
        underlay: &'a Value,
    },
    /// The collections, when there are any and whenever they change.
    Collections(&'a CollectionList),
    /// A request was refused, or the session has ended.
    Error {
        /// The machine name of the reason.
        slug: Cow<'a, str>,
        /// The reason in a sentence.
        message: Cow<'a, str>,
    },
    /// The whole document.
    Document {
        /// Its revision.
        revision: u64,
        /// The entries that all pages have.
        #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
        document: Entries<'a>,
        /// The entries of this page alone.
        #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
        own: Entries<'a>,
    },
    /// A step of the document.
    Changed {
        /// The revision after it.
        revision: u64,
        /// Whether it is about the entries of this page alone.
        own: bool,
        /// A name for it.
        label: &'a str,
        /// The author.
        by: StepAuthor<'a>,
        /// The entries that are others.
        changes: Vec<ChangedEntry<'a>>,
    },
    /// A step of this page was done.
    Done {
        /// The id that the page gave it.
        id: &'a str,
        /// The revision after it.
        revision: u64,
        /// Whether it is about the entries of this page alone.
        own: bool,
    },
    /// A step of this page was not done.
    Refused {
        /// The id that the page gave it.
        id: &'a str,
        /// The machine name of the reason.
        slug: Cow<'a, str>,
        /// The reason in a sentence.
        message: Cow<'a, str>,
    },
    /// The steps that this page may take back and repeat, by their names.
    History {
        /// The step that undo takes back; null for none.
        undo: Option<String>,
        /// The step that redo repeats; null for none.
        redo: Option<String>,
    },
    /// The visible elements, after the frames that say which they are.
    Counts {
        /// The revision of the document.
        revision: u64,
        /// Nodes.
        nodes: u64,
        /// Edges.
        edges: u64,
        /// The effect of each filter, by its id.
        filters: BTreeMap<String, FilterNumbers>,
    },
}

impl<'a> ToPage<'a> {
    /// A refusal.
    pub fn error(slug: impl Into<Cow<'a, str>>, message: impl Into<Cow<'a, str>>) -> Self {
        Self::Error { slug: slug.into(), message: message.into() }
    }
}

/// An entry of the document that a page wants to be another.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(TS), ts(rename = "Change"))]
pub struct WantedEntry {
    /// Its path.
    pub path: String,
    /// Its value; null or absent deletes it.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub value: Option<Value>,
}

/// A message from a page to the server.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "t", rename_all = "lowercase")]
pub enum ToServer {
    /// A frame of positions, and all before it, was applied.
    Ack {
        /// The number of the frame.
        seq: u32,
    },
    /// Runs or pauses the layout.
    Play {
        /// Run it.
        on: bool,
        /// Play time in milliseconds, which says for how many iterations; without it, until it settles.
        #[cfg_attr(test, ts(optional))]
        ms: Option<u64>,
    },
    /// Changes knobs of the layout, by the names of [`LayoutSettings`].
    Settings(#[cfg_attr(test, ts(type = "Record<string, unknown>"))] Map<String, Value>),
    /// Holds a node at a place.
    Pin {
        /// The node.
        index: u32,
        /// Its place in the coordinates of the layout.
        x: f32,
        /// Likewise.
        y: f32,
    },
    /// Lets a node go.
    Unpin {
        /// The node.
        index: u32,
    },
    /// Runs a layout by name.
    Layout {
        /// The name; `given` for the positions of the data.
        name: String,
        /// Its parameters.
        #[serde(default)]
        #[cfg_attr(test, ts(type = "Record<string, unknown>", optional))]
        params: Map<String, Value>,
    },
    /// A step of the document: its changes, all or none.
    Do {
        /// The id of the step, for the answer.
        id: String,
        /// A name for it.
        label: String,
        /// Those in a row with the same one are one step of undo.
        #[serde(default)]
        #[cfg_attr(test, ts(optional))]
        join: Option<String>,
        /// The changes.
        changes: Vec<WantedEntry>,
    },
    /// Takes back the last step of this page.
    Undo {
        /// The id of the step, for the answer.
        id: String,
    },
    /// Makes the last step that was taken back again.
    Redo {
        /// The id of the step, for the answer.
        id: String,
    },
    /// The page is out of sight.
    Hidden,
    /// The page is in sight again.
    Visible,
    /// The page has come back and still shows a frame.
    Resume {
        /// The element set.
        epoch: u32,
        /// The number of the frame.
        seq: u32,
    },
    /// `view`, and messages of later pages.
    #[serde(other)]
    #[cfg_attr(test, ts(skip))]
    Other,
}

#[cfg(test)]
mod tests;
