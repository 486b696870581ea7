//! Sizes of the graph that a session shows.

use crate::caller::SessionReads;
use crate::cmd::read::read_graph;
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::target::Target;

impl SessionReads {
    /// The nodes and the edges of the graph.
    ///
    /// # Errors
    /// What loading the graph may answer.
    pub async fn sizes(&self) -> Result<[u32; 2], EngineError> {
        self.caller.call(Sizes { target: self.target.clone() }).await
    }
}

struct Sizes {
    target: Target,
}

impl Apply for Sizes {
    type Answer = [u32; 2];
    type On = Engine;
    const NAME: &'static str = "sizes";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<[u32; 2]>) {
        read_graph(engine, "sizes", &self.target, call, |lease| {
            Ok([lease.facts.node_count, lease.facts.edge_count])
        });
    }
}
