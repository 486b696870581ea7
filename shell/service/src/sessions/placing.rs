//! Layouts by name on a session that is open: found like the answer to a query, and shown to all who look.

use std::sync::Arc;

use graphlume_engine::{
    ComputeRequest, Control, ParsedQuery, Placement, QueryAnswer, QueryRequest, QueryResult,
    ResultMode, SessionState,
};
use graphlume_expr::{QueryError, Strictness};
use graphlume_identity::Principal;
use graphlume_scene::{DEPTH_COLUMN, has_depth};
use graphlume_store::PropertyGraph;
use serde_json::{Map, Value, json};

use super::{Sessions, ViewerGrant};
use crate::error::ServiceError;

/// Layouts that are calls of their own, with columns of the nodes as parameters.
const CALLS: [&str; 9] = [
    "circle_layout",
    "fa2_layout",
    "group_in_a_box_layout",
    "layout_graphviz",
    "mercator_layout",
    "ring_categorical_layout",
    "ring_continuous_layout",
    "time_ring_layout",
    "tree_layout",
];
/// The name by which the nodes go back to where the data has them.
const GIVEN: &str = "given";
const GIVEN_LABEL: &str = "Given positions";
/// Libraries whose layouts are known by their names.
const LIBRARIES: [&str; 2] = ["igraph", "cugraph"];

/// A layout that a viewer names.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedLayout {
    /// A layout of igraph or cuGraph, or a call that lays out.
    pub name: String,
    /// Its parameters.
    pub params: Map<String, Value>,
}

impl NamedLayout {
    /// The call that lays out.
    fn call(&self) -> Result<Value, ServiceError> {
        let (name, params) = (self.name.as_str(), &self.params);
        if CALLS.contains(&name) {
            return Ok(json!({"type": "Call", "function": name, "params": params}));
        }
        let found = ComputeRequest::layout("layout", &LIBRARIES, name, params).map_err(|e| {
            ServiceError::invalid("layout", format!("{e}; or a call: {}", CALLS.join(", ")))
        })?;
        let library = found.library();
        let params = json!({"layout": name, "params": params});
        Ok(json!({"type": "Call", "function": format!("layout_{library}"), "params": params}))
    }
}

impl Sessions {
    /// Lays the nodes of a session out by name, for a page that [`Sessions::may_control`], and answers the new state. The
    /// layout takes turns with the queries of the account, and has their time and memory; dropping the future ends it.
    ///
    /// # Errors
    /// A layout or parameter that does not exist, with the field; [`ServiceError::Query`] for what the layout refuses, and
    /// past the time of a query; a dataset whose elements are others by now.
    pub async fn lay_out(
        &self,
        who: &Principal,
        grant: &ViewerGrant,
        layout: &NamedLayout,
    ) -> Result<Arc<SessionState>, ServiceError> {
        if layout.name == GIVEN {
            let graph = self.ctx.engine.info(grant.session.clone()).await?.graph;
            if !graph.is_some_and(|graph| graph.has_positions) {
                let text = "the data has no positions: bind point_x and point_y, or name a layout";
                return Err(ServiceError::invalid("layout", text));
            }
            return self.arrange(who, grant, (GIVEN_LABEL, ""), Control::Given).await;
        }
        let query = graphlume_gfql::parse(&json!([layout.call()?]))?;
        let request = QueryRequest {
            ask: ParsedQuery::Gfql(Arc::new(query), None),
            drawn: true,
            strictness: Strictness::Strict,
            mode: ResultMode::Rows,
            user: who.user(),
            others: Vec::new(),
        };
        let QueryResult { answer, graphs, memory, .. } =
            self.ctx.engine.query(grant.dataset, request).await??;
        let QueryAnswer::Graph(graph) = answer else {
            return Err(ServiceError::invalid("layout", "the layout gave no graph".to_owned()));
        };
        let epoch = graphs.epoch().unwrap_or_default();
        let (positions, depths) =
            self.ctx.blocking(move |_| Ok((places(&graph)?, depths(&graph)))).await?;
        let placement = Placement { epoch, positions, depths, by: layout.name.clone() };
        let label = format!("Layout {}", layout.name);
        let place = Control::Place(Arc::new(placement));
        let placed = self.arrange(who, grant, (&label, &layout.name), place).await;
        drop((graphs, memory));
        placed
    }
}

/// Where a layout put the nodes, in their order; not a number where it gave a node no place.
fn places(graph: &PropertyGraph) -> Result<Vec<[f32; 2]>, ServiceError> {
    let axis = |function: &str, usual: &'static str| -> Result<Vec<f32>, ServiceError> {
        let noted = graph.notes().iter().rev().find(|note| note.function == function);
        let name = noted.and_then(|n| n.params.get("column")).and_then(Value::as_str);
        let name = name.unwrap_or(usual);
        let table = graph.nodes();
        let column = table.and_then(|table| table.column(name)).ok_or_else(|| {
            let known = table.map(|table| table.column_names()).unwrap_or_default();
            QueryError::no_column(name, "node", &known)
        })?;
        let numbers = graphlume_table::to_f64(column.as_ref());
        let numbers = numbers.ok_or_else(|| {
            ServiceError::invalid("layout", format!("the column {name} holds no numbers"))
        })?;
        Ok(numbers.into_iter().map(|x| x as f32).collect())
    };
    let (x, y) = (axis("encode_point_x", "x")?, axis("encode_point_y", "y")?);
    Ok(x.into_iter().zip(y).map(|(x, y)| [x, y]).collect())
}

/// The third coordinate that a layout in space gave the nodes. A column of this name that the layout did not make has the
/// same values in the dataset, where the session finds it.
fn depths(graph: &PropertyGraph) -> Option<Arc<Vec<f32>>> {
    let column = graph.nodes()?.column(DEPTH_COLUMN)?;
    let z = graphlume_table::to_f64(column.as_ref())?;
    let z: Vec<f32> = z.into_iter().map(|z| z as f32).collect();
    has_depth(&z).then(|| Arc::new(z))
}
