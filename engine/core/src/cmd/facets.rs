//! What is shown of a session's graph: filters, histograms of its columns, and what a rule means.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_expr::QueryError;
use graphlume_facets::{FacetColumn, FilterSet, Filtered, Histogram, Rule, Wanted};
use graphlume_scene::Members;
use graphlume_scene::wire::{Axis, Stamp, encode_mask};

use crate::cmd::read::read_dataset;
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::session::drawn_picture::DrawnPicture;
use crate::target::Target;

/// Answers with what `work` finds in the picture of a session's graph, out of a query's share of memory.
fn read_picture<R: Send + 'static>(
    engine: &mut Engine,
    what: &'static str,
    target: &Target,
    call: Call<Result<R, QueryError>>,
    work: impl FnOnce(&DrawnPicture<'_>) -> Result<R, QueryError> + Send + 'static,
) {
    let dataset = match engine.sessions.target(target) {
        Ok(session) => session.dataset,
        Err(e) => return call.reply.send(Err(e)),
    };
    let (ctx, memory) = (engine.ctx.clone(), engine.residency.query_memory());
    read_dataset(engine, what, dataset, call, move |lease, cancel| {
        let counted = cancel.with_memory(memory.share());
        let found = work(&DrawnPicture { lease, ctx: &ctx, cancel: &counted });
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
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let (set, revision) = (self.set, self.revision);
        read_picture(engine, "filters", &self.target, call, move |picture| {
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
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let Self { target, set, wanted } = self;
        read_picture(engine, "histograms", &target, call, move |picture| {
            picture.histograms(&set, &wanted)
        });
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
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        read_picture(engine, "columns", &self.target, call, |picture| {
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
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let rule = self.rule;
        read_picture(engine, "find", &self.target, call, move |picture| picture.members(&rule));
    }
}

/// An error of the picture where its caller has sent nothing that could be wrong.
pub(crate) fn of_engine<T>(found: Result<T, QueryError>) -> Result<T, EngineError> {
    found.map_err(|e| EngineError::from_coded(&e))
}
