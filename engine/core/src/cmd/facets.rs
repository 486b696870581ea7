//! Commands about the visible part of a session's graph: filters, histograms of its columns, and members of a rule.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_expr::QueryError;
use graphlume_facets::{FacetColumn, FilterSet, Filtered, Histogram, Rule, Wanted};
use graphlume_scene::wire::{Axis, Stamp, encode_mask};
use graphlume_scene::{Bits, Members};

use crate::cmd::read::read_in_turns;
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::session::drawn_picture::DrawnPicture;
use crate::target::Target;

/// Answers with what `work` finds in the picture of a session's graph, out of a query's share of memory and in the turn of
/// the caller: rules may be queries.
fn read_picture<R: Send + 'static>(
    engine: &mut Engine,
    target: &Target,
    call: Call<Result<R, QueryError>>,
    mut work: impl FnMut(&DrawnPicture<'_>) -> Result<R, QueryError> + Send + 'static,
) {
    let dataset = match engine.sessions.target(target) {
        Ok(session) => session.dataset,
        Err(e) => return call.reply.send(Err(e)),
    };
    let ctx = engine.ctx.clone();
    read_in_turns(engine, vec![dataset], target.caller, call, move |turn| {
        let (lease, cancel) = (turn.lease, turn.cancel);
        let found = work(&DrawnPicture { lease, ctx: &ctx, cancel })?;
        // What was stopped is no problem of a single filter.
        cancel.check()?;
        Ok(found)
    });
}

/// What a set of filters leaves of a session's picture, and the frames that tell pages so.
#[derive(Debug)]
pub struct Visible {
    /// The element set that it is about.
    pub epoch: u32,
    /// What is visible, and what each filter does.
    pub filtered: Filtered,
    /// The masks of the nodes and of the edges.
    pub masks: [Bytes; 2],
}

/// What a set of filters leaves of a session's picture.
pub(crate) struct FilterPicture {
    pub(crate) target: Target,
    /// The number that the frames carry.
    pub(crate) revision: u32,
    pub(crate) set: Arc<FilterSet>,
}

impl Apply for FilterPicture {
    type Answer = Result<Visible, QueryError>;
    type On = Engine;
    const NAME: &'static str = "filter";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let (set, revision) = (self.set, self.revision);
        read_picture(engine, &self.target, call, move |picture| {
            let filtered = picture.filter(&set)?;
            let facts = &picture.lease.facts;
            let stamp = Stamp { epoch: facts.epoch, seq: revision, flags: 0 };
            let nodes = encode_mask(stamp, Axis::Node, &filtered.nodes, facts.node_count);
            let edges = encode_mask(stamp, Axis::Edge, &filtered.edges, facts.edge_count);
            Ok(Visible { epoch: facts.epoch, filtered, masks: [nodes, edges] })
        });
    }
}

/// Histograms of columns under a set of filters.
pub(crate) struct Histograms {
    pub(crate) target: Target,
    pub(crate) set: Arc<FilterSet>,
    pub(crate) wanted: Vec<Wanted>,
}

impl Apply for Histograms {
    type Answer = Result<Vec<Histogram>, QueryError>;
    type On = Engine;
    const NAME: &'static str = "histograms";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let Self { target, set, wanted } = self;
        read_picture(engine, &target, call, move |picture| picture.histograms(&set, &wanted));
    }
}

/// The columns that may be filtered and brushed. A page asks for them when its panel opens, before the first filter: the ends
/// of the edges, on which masks rest, are made then.
pub(crate) struct FacetColumns {
    pub(crate) target: Target,
}

impl Apply for FacetColumns {
    type Answer = Result<Vec<FacetColumn>, QueryError>;
    type On = Engine;
    const NAME: &'static str = "facet columns";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        read_picture(engine, &self.target, call, |picture| {
            let columns = picture.columns()?;
            picture.lease.edge_stream();
            Ok(columns)
        });
    }
}

/// The elements that a rule means.
pub(crate) struct Find {
    pub(crate) target: Target,
    pub(crate) rule: Arc<Rule>,
}

impl Apply for Find {
    type Answer = Result<Members, QueryError>;
    type On = Engine;
    const NAME: &'static str = "find";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let rule = self.rule;
        read_picture(engine, &self.target, call, move |picture| picture.members(&rule));
    }
}

/// What of a picture is hidden, and what is collapsed in it.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The element set that it is about.
    pub(crate) epoch: u32,
    /// What is visible; everything when there is nothing.
    pub(crate) visible: Option<Filtered>,
    /// The name of each disc and the nodes that it stands for.
    pub(crate) collapsed: Vec<(String, Bits)>,
}

/// Finds them, before a picture is drawn.
pub(crate) struct PictureParts {
    pub(crate) target: Target,
    pub(crate) filters: Arc<FilterSet>,
    pub(crate) collapsed: Arc<Vec<(String, Arc<Rule>)>>,
}

impl Apply for PictureParts {
    type Answer = Result<Parts, QueryError>;
    type On = Engine;
    const NAME: &'static str = "picture parts";
    const PRIORITY: CommandPriority = CommandPriority::Batch;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let Self { target, filters, collapsed } = self;
        read_picture(engine, &target, call, move |picture| {
            let visible = filters.hides().then(|| picture.filter(&filters)).transpose()?;
            // What cannot be found in this graph is not collapsed there, as in the page.
            let members = |(name, rule): &(String, Arc<Rule>)| {
                let found = picture.members(rule);
                let found =
                    found.inspect_err(|error| tracing::info!(%error, name, "not collapsed"));
                found.ok().map(|members| (name.clone(), members.nodes))
            };
            let collapsed = collapsed.iter().filter_map(members).collect();
            Ok(Parts { epoch: picture.lease.facts.epoch, visible, collapsed })
        });
    }
}

/// An error of the picture where its caller has sent nothing that could be wrong.
pub(crate) fn of_engine<T>(found: Result<T, QueryError>) -> Result<T, EngineError> {
    found.map_err(|e| EngineError::from_coded(&e))
}
