//! What is shown of a session's graph: filters, histograms of its columns, and what a rule means.

use std::sync::Arc;

use graphlume_expr::QueryError;
use graphlume_facets::{FacetColumn, FilterSet, Filtered, Histogram, Rule, Wanted};
use graphlume_scene::Members;

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

/// What a set of filters leaves of a session's picture.
pub(crate) struct FilterPicture {
    pub(crate) target: Target,
    pub(crate) set: Arc<FilterSet>,
}

impl Apply for FilterPicture {
    type Answer = Result<Filtered, QueryError>;
    type On = Engine;
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let set = self.set;
        read_picture(engine, "filters", &self.target, call, move |picture| picture.filter(&set));
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

/// The columns that may be filtered and brushed.
pub(crate) struct FacetColumns {
    pub(crate) target: Target,
}

impl Apply for FacetColumns {
    type Answer = Result<Vec<FacetColumn>, QueryError>;
    type On = Engine;
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        read_picture(engine, "columns", &self.target, call, |picture| picture.columns());
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
