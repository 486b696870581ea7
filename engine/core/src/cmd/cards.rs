//! Hover cards, and the names of nodes.

use serde_json::Value;

use crate::caller::SessionReads;
use crate::cmd::read::read_graph;
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::target::Target;

impl SessionReads {
    /// The hover card of a node: `{title, id, degree, degree_in, degree_out, properties}`.
    ///
    /// # Errors
    /// [`EngineError::Index`]; what loading the graph may answer.
    pub async fn node_card(&self, index: u32) -> Result<Value, EngineError> {
        self.caller.call(NodeCard { target: self.target.clone(), index }).await
    }

    /// What nodes, and edges by their drawn index, are called in the picture, in the order asked; empty for one that is
    /// not there.
    ///
    /// # Errors
    /// What loading the graph may answer.
    pub async fn names(
        &self,
        nodes: Vec<u32>,
        edges: Vec<u32>,
    ) -> Result<[Vec<String>; 2], EngineError> {
        self.caller.call(Names { target: self.target.clone(), nodes, edges }).await
    }

    /// The hover card of an edge, by its drawn index.
    ///
    /// # Errors
    /// [`EngineError::Index`]; what loading the graph may answer.
    pub async fn edge_card(&self, drawn: u32) -> Result<Value, EngineError> {
        self.caller.call(EdgeCard { target: self.target.clone(), drawn }).await
    }
}

pub(crate) struct NodeCard {
    pub(crate) target: Target,
    pub(crate) index: u32,
}

impl Apply for NodeCard {
    type Answer = Value;
    type On = Engine;
    const NAME: &'static str = "node card";
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
struct Names {
    target: Target,
    nodes: Vec<u32>,
    edges: Vec<u32>,
}

impl Apply for Names {
    type Answer = [Vec<String>; 2];
    type On = Engine;
    const NAME: &'static str = "names";
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

struct EdgeCard {
    target: Target,
    /// Number of the edge in the order in which edges are drawn.
    drawn: u32,
}

impl Apply for EdgeCard {
    type Answer = Value;
    type On = Engine;
    const NAME: &'static str = "edge card";
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
