//! Collections of a session: what one would hold, and which there are.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_expr::QueryError;

use crate::cmd::read::read_in_turns;
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::session::collection_set::{
    CollectionMembers, CollectionRule, CollectionSet, CollectionsView,
};
use crate::target::Target;

/// Evaluates the rule of a collection on the graph of a session.
pub(crate) struct EvaluateCollection {
    pub(crate) target: Target,
    pub(crate) rule: Arc<CollectionRule>,
}

impl Apply for EvaluateCollection {
    /// What is wrong with a query is an answer; the engine itself did not fail.
    type Answer = Result<CollectionMembers, QueryError>;
    type On = Engine;
    const NAME: &'static str = "evaluate collection";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let dataset = match engine.sessions.target(&self.target) {
            Ok(session) => session.dataset,
            Err(e) => return call.reply.send(Err(e)),
        };
        let (rule, ctx) = (self.rule, engine.ctx.clone());
        let caller = self.target.caller;
        read_in_turns(engine, vec![dataset], caller, call, move |turn| {
            CollectionMembers::search(turn.lease, &rule, &HashMap::new(), &ctx, turn.cancel)
        });
    }
}

/// Gives a session its collections.
pub(crate) struct SetCollections {
    pub(crate) target: Target,
    pub(crate) set: Arc<CollectionSet>,
    pub(crate) members: Vec<(String, CollectionMembers)>,
}

impl Apply for SetCollections {
    type Answer = Arc<CollectionsView>;
    type On = Engine;
    const NAME: &'static str = "set collections";
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let Self { target, set, members } = self;
        let Engine { sessions, residency, scheduler, .. } = engine;
        if let Err(e) = sessions.target(&target) {
            return call.reply.send(Err(e));
        }
        let id = &target.session;
        let given = (set, members, target.caller);
        sessions.set_collections(id, given, call.reply, residency, scheduler);
    }
}
