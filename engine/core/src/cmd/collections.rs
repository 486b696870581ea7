//! Collections of a session: what one would hold, and which there are.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_gfql::GfqlError;

use crate::cmd::read::read_dataset;
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::session::collections::{CollectionsShown, Found, Layers, Rule};
use crate::target::Target;

/// Evaluates the rule of a collection on the graph of a session.
pub(crate) struct EvaluateCollection {
    pub(crate) target: Target,
    pub(crate) rule: Arc<Rule>,
}

impl Apply for EvaluateCollection {
    /// What is wrong with a query is an answer; the engine itself did not fail.
    type Answer = Result<Found, GfqlError>;
    type On = Engine;
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let dataset = match engine.sessions.target(&self.target) {
            Ok(session) => session.dataset,
            Err(e) => return call.reply.send(Err(e)),
        };
        let rule = self.rule;
        read_dataset(engine, "collection", dataset, call, move |lease, cancel| {
            let found = Found::search(lease, &rule, &HashMap::new(), cancel);
            cancel.check()?;
            Ok(found)
        });
    }
}

/// Gives a session its collections.
pub(crate) struct SetCollections {
    pub(crate) target: Target,
    pub(crate) layers: Arc<Layers>,
    pub(crate) found: Vec<(String, Found)>,
}

impl Apply for SetCollections {
    type Answer = Arc<CollectionsShown>;
    type On = Engine;
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let Self { target, layers, found } = self;
        let Engine { sessions, residency, scheduler, .. } = engine;
        if let Err(e) = sessions.target(&target) {
            return call.reply.send(Err(e));
        }
        let id = &target.session;
        sessions.set_collections(id, layers, found, call.reply, residency, scheduler);
    }
}
