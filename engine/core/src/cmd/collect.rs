//! Collections of a session: what one would hold, and which there are.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_gfql::GfqlError;

use crate::cmd::read::read_dataset;
use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;
use crate::session::collections::{CollectionsShown, Found, Layers, Rule};
use crate::target::Target;

/// Evaluates a rule on the graph of a session.
pub(crate) struct Collect {
    pub(crate) target: Target,
    pub(crate) rule: Arc<Rule>,
}

impl Apply for Collect {
    /// What is wrong with a query is an answer; the engine itself did not fail.
    type Answer = Result<Found, GfqlError>;
    const LANE: Lane = Lane::Interactive;

    fn apply(self, core: &mut Core, call: Call<Self::Answer>) {
        let dataset = match core.target(&self.target) {
            Ok(session) => session.dataset,
            Err(e) => return call.reply.send(Err(e)),
        };
        let rule = self.rule;
        read_dataset(core, "collection", dataset, call, move |lease, cancel| {
            let found = Found::search(lease, &rule, &HashMap::new(), cancel);
            cancel.check()?;
            Ok(found)
        });
    }
}

/// Gives a session its collections.
pub(crate) struct Dress {
    pub(crate) target: Target,
    pub(crate) layers: Arc<Layers>,
    pub(crate) found: Vec<(String, Found)>,
}

impl Apply for Dress {
    type Answer = Arc<CollectionsShown>;
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<Self::Answer>) {
        let Self { target, layers, found } = self;
        match core.target(&target).map(|_| ()) {
            Ok(()) => core.dress(&target.session, layers, found, call.reply),
            Err(e) => call.reply.send(Err(e)),
        }
    }
}
