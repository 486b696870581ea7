//! Hover cards, and the names of nodes.

use serde_json::Value;

use crate::cmd::read::read_graph;
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::target::Target;

pub(crate) struct NodeCard {
    pub(crate) target: Target,
    pub(crate) index: u32,
}

impl Apply for NodeCard {
    type Answer = Value;
    type On = Engine;
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Value>) {
        let index = self.index;
        read_graph(engine, "node card", &self.target, call, move |lease| {
            let count = lease.facts.node_count;
            if index >= count {
                return Err(EngineError::Index { what: "node", index, count });
            }
            let (graph, nodes) = (&lease.graph, lease.nodes.as_ref());
            Ok(graphlume_scene::node_card(graph, nodes, &lease.encodings, index))
        });
    }
}

pub(crate) struct NodeNames {
    pub(crate) target: Target,
    pub(crate) nodes: Vec<u32>,
}

impl Apply for NodeNames {
    type Answer = Vec<String>;
    type On = Engine;
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Vec<String>>) {
        let asked = self.nodes;
        read_graph(engine, "node names", &self.target, call, move |lease| {
            let (graph, nodes) = (&lease.graph, lease.nodes.as_ref());
            Ok(graphlume_scene::node_names(graph, nodes, &lease.encodings, &asked))
        });
    }
}

pub(crate) struct EdgeCard {
    pub(crate) target: Target,
    /// Number of the edge in the order in which edges are drawn.
    pub(crate) drawn: u32,
}

impl Apply for EdgeCard {
    type Answer = Value;
    type On = Engine;
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Value>) {
        let index = self.drawn;
        read_graph(engine, "edge card", &self.target, call, move |lease| {
            let count = lease.facts.edge_count;
            if index >= count {
                return Err(EngineError::Index { what: "edge", index, count });
            }
            let (edges, pos) = (&lease.edges, lease.order.position(index));
            Ok(graphlume_scene::edge_card(&lease.graph, edges, &lease.encodings, pos))
        });
    }
}
