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

/// Names of nodes, and of edges by their drawn index.
pub(crate) struct Names {
    pub(crate) target: Target,
    pub(crate) nodes: Vec<u32>,
    pub(crate) edges: Vec<u32>,
}

impl Apply for Names {
    type Answer = [Vec<String>; 2];
    type On = Engine;
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<[Vec<String>; 2]>) {
        let Self { target, nodes: asked, edges: drawn } = self;
        read_graph(engine, "names", &target, call, move |lease| {
            let (graph, nodes, enc) = (&lease.graph, lease.nodes.as_ref(), &lease.encodings);
            let count = lease.facts.edge_count;
            // An edge that is not there stays one that is not there.
            let position = |i: &u32| if *i < count { lease.order.position(*i) } else { u32::MAX };
            let positions: Vec<u32> = drawn.iter().map(position).collect();
            Ok([
                graphlume_scene::node_names(graph, nodes, enc, &asked),
                graphlume_scene::edge_names(graph, nodes, &lease.edges, enc, &positions),
            ])
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
