//! Elements of a graph that a text keeps.

use graphlume_cypher::{Answer, Text, Value};
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_gfql::elements_of;
use graphlume_store::PropertyGraph;
use graphlume_types::CancelToken;

use crate::stages::{TextAnswer, TextSetting, run_text};

/// Values between two looks at the token.
const VALUES_PER_CHECK: usize = 1 << 16;

/// What a text keeps of a graph. A side is absent where the text says nothing of it: `RETURN n` names nodes alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextElements {
    /// Node indices, as often as they were found.
    pub nodes: Option<Vec<u32>>,
    /// Edges by position in the outgoing adjacency, likewise.
    pub edges: Option<Vec<u32>>,
}

/// The nodes and relationships in the rows of a text, in its lists and paths too; or all that is in the graph it makes.
///
/// # Errors
/// Those of [`run_text`]; [`ErrorCode::Output`] when its rows hold neither nodes nor relationships.
pub fn elements_of_text(
    graph: &PropertyGraph,
    text: &Text,
    setting: TextSetting<'_>,
) -> Result<TextElements, QueryError> {
    let cancel = setting.cancel;
    if text.rows().is_none() {
        let made = elements_of(graph, cancel, |tagged| match run_text(tagged, text, setting)? {
            TextAnswer::Graph(made, _) => Ok(made),
            TextAnswer::Rows(_) => Err(no_elements()),
        })?;
        return Ok(TextElements { nodes: Some(made.nodes), edges: Some(made.edges) });
    }
    match run_text(graph, text, setting)? {
        TextAnswer::Rows(answer) => of_rows(graph, &answer, cancel),
        TextAnswer::Graph(..) => Err(no_elements()),
    }
}

fn no_elements() -> QueryError {
    let text = "the text returns values, and what is wanted is a part of the graph";
    QueryError::new(ErrorCode::Output, text)
        .field("query")
        .suggest("return nodes or relationships, for example MATCH (n) WHERE ... RETURN n")
}

fn of_rows(
    graph: &PropertyGraph,
    answer: &Answer,
    cancel: &CancelToken,
) -> Result<TextElements, QueryError> {
    let mut found = Found { nodes: None, rows: None, has_value: false, values: 0, cancel };
    for value in answer.columns().iter().flatten() {
        found.add(value)?;
    }
    if found.nodes.is_none() && found.rows.is_none() {
        if found.has_value {
            return Err(no_elements());
        }
        // Without rows nothing tells what would have been in them.
        return Ok(TextElements { nodes: Some(vec![]), edges: None });
    }
    let edges = found.rows.map(|rows| positions(graph, &rows, cancel)).transpose()?;
    Ok(TextElements { nodes: found.nodes, edges })
}

/// The positions of rows of the edge table.
fn positions(
    graph: &PropertyGraph,
    rows: &[u32],
    cancel: &CancelToken,
) -> Result<Vec<u32>, QueryError> {
    let count = graph.edges().map_or(0, graphlume_table::Table::num_rows);
    let _memory = cancel.hold(count as u64)?;
    let mut kept = vec![false; count];
    for row in rows {
        if let Some(kept) = kept.get_mut(*row as usize) {
            *kept = true;
        }
    }
    let of_positions = graph.topology(cancel)?.out_row().iter().enumerate();
    let kept = of_positions.filter(|(_, row)| kept.get(**row as usize) == Some(&true));
    Ok(kept.map(|(position, _)| position as u32).collect())
}

struct Found<'a> {
    nodes: Option<Vec<u32>>,
    /// Rows of the edge table.
    rows: Option<Vec<u32>>,
    /// Whether something was found that is no element.
    has_value: bool,
    /// Values so far.
    values: usize,
    cancel: &'a CancelToken,
}

impl Found<'_> {
    fn add(&mut self, value: &Value) -> Result<(), QueryError> {
        self.values += 1;
        if self.values.is_multiple_of(VALUES_PER_CHECK) {
            self.cancel.check()?;
        }
        match value {
            Value::Node(v) => self.nodes.get_or_insert_default().push(*v),
            Value::Edge(edge) => self.rows.get_or_insert_default().push(edge.row),
            Value::Path(path) => {
                self.nodes.get_or_insert_default().extend(&path.nodes);
                self.rows.get_or_insert_default().extend(path.edges.iter().map(|e| e.row));
            }
            Value::List(list) => list.iter().try_for_each(|value| self.add(value))?,
            Value::Scalar(graphlume_expr::Scalar::Null) => {}
            _ => self.has_value = true,
        }
        Ok(())
    }
}
