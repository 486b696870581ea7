//! Finds nodes by label or id.

use graphlume_scene::SearchHit;
use graphlume_types::limits;

use crate::cmd::read::read_graph;
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::target::Target;

pub(crate) struct Search {
    pub(crate) target: Target,
    pub(crate) text: String,
    pub(crate) limit: usize,
}

impl Apply for Search {
    type Answer = Vec<SearchHit>;
    type On = Engine;
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let text: String = self.text.trim().chars().take(limits::SEARCH_CHARS_MAX).collect();
        let limit = self.limit.min(limits::SEARCH_RESULTS_MAX);
        read_graph(engine, "search", &self.target, call, move |lease| {
            if text.is_empty() || limit == 0 {
                return Ok(Vec::new());
            }
            let (nodes, encodings) = (lease.nodes.as_ref(), &lease.encodings);
            let importance = &lease.importance;
            Ok(graphlume_scene::search(&lease.graph, nodes, encodings, importance, &text, limit))
        });
    }
}
