//! Finds nodes by label or id.

use graphlume_scene::SearchHit;
use graphlume_types::limits;

use crate::caller::SessionReads;
use crate::cmd::read::read_graph;
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::target::Target;

impl SessionReads {
    /// Nodes whose label or id contains `text`, the best matches first.
    ///
    /// # Errors
    /// What loading the graph may answer.
    pub async fn search(&self, text: String, limit: usize) -> Result<Vec<SearchHit>, EngineError> {
        self.caller.call(Search { target: self.target.clone(), text, limit }).await
    }
}

struct Search {
    target: Target,
    text: String,
    limit: usize,
}

impl Apply for Search {
    type Answer = Vec<SearchHit>;
    type On = Engine;
    const NAME: &'static str = "search";
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
