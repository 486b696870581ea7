//! From rows back to a graph: which rows of the node table and of the edge table a query has found.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_select::filter::filter_record_batch;
use graphlume_cypher::{Answer, Value, Variable};
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_graph::Graph;
use graphlume_store::PropertyGraph;
use graphlume_store::materialize::with;
use graphlume_table::Table;
use graphlume_types::CancelToken;

/// Values between two looks at the token.
const VALUES_PER_CHECK: usize = 1 << 16;

/// Rows of the two tables.
struct Marks<'a> {
    graph: &'a PropertyGraph,
    frame: &'a Graph,
    nodes: Vec<bool>,
    edges: Vec<bool>,
    cancel: &'a CancelToken,
    /// Values since the last look at the token.
    values: usize,
}

impl<'a> Marks<'a> {
    fn new(graph: &'a PropertyGraph, cancel: &'a CancelToken) -> Result<Self, QueryError> {
        let nodes = graph.node_table(cancel)?.num_rows();
        let edges = graph.edges().map_or(0, Table::num_rows);
        cancel.take((nodes + edges) as u64)?;
        let (nodes, edges) = (vec![false; nodes], vec![false; edges]);
        Ok(Self { graph, frame: graph.frame(cancel)?, nodes, edges, cancel, values: 0 })
    }

    /// Marks what a value stands for; a relationship brings its ends.
    fn add(&mut self, value: &Value) -> Result<(), QueryError> {
        self.values += 1;
        if self.values.is_multiple_of(VALUES_PER_CHECK) {
            self.cancel.check()?;
        }
        match value {
            Value::Node(v) => self.node(*v),
            Value::Edge(edge) => {
                if let Some(mark) = self.edges.get_mut(edge.row as usize) {
                    *mark = true;
                }
                self.node(edge.source);
                self.node(edge.destination);
            }
            Value::List(list) => list.iter().try_for_each(|value| self.add(value))?,
            _ => {}
        }
        Ok(())
    }

    fn node(&mut self, v: u32) {
        let row = self.graph.node_row(self.frame, v);
        if let Some(mark) = row.and_then(|row| self.nodes.get_mut(row as usize)) {
            *mark = true;
        }
    }
}

/// The nodes, or the edges, in the first column of an answer: a truth value for each row of their table.
pub(super) fn found(
    graph: &PropertyGraph,
    answer: &Answer,
    edges: bool,
    cancel: &CancelToken,
) -> Result<ArrayRef, QueryError> {
    let mut marks = Marks::new(graph, cancel)?;
    for value in answer.columns().iter().flatten() {
        marks.add(value)?;
    }
    Ok(Arc::new(BooleanArray::from(if edges { marks.edges } else { marks.nodes })))
}

/// The part of a graph that an answer lists by variables, each of which marks its elements.
pub(super) fn part(
    graph: &PropertyGraph,
    answer: &Answer,
    variables: &[Variable],
    cancel: &CancelToken,
) -> Result<PropertyGraph, QueryError> {
    let mut all = Marks::new(graph, cancel)?;
    let (mut nodes, mut edges) = (graph.node_table(cancel)?, graph.edges().cloned());
    for (variable, column) in variables.iter().zip(answer.columns()) {
        for value in column {
            all.add(value)?;
        }
        let Some(name) = &variable.name else { continue };
        check(graph, variable, name)?;
        let mut own = Marks::new(graph, cancel)?;
        for value in column {
            own.add(value)?;
        }
        let marks = if variable.edges { own.edges } else { own.nodes };
        let cells: ArrayRef = Arc::new(BooleanArray::from(marks));
        match (&mut edges, variable.edges) {
            (Some(edges), true) => *edges = with(edges, name, cells)?,
            (None, true) => {}
            (_, false) => nodes = with(&nodes, name, cells)?,
        }
    }
    let nodes = kept(&nodes, all.nodes, cancel)?;
    let edges = edges.map(|edges| kept(&edges, all.edges, cancel)).transpose()?;
    graph.replaced(Some(nodes), edges)
}

/// Refuses a variable whose marks would take the place of the ids that make the graph.
fn check(graph: &PropertyGraph, variable: &Variable, name: &str) -> Result<(), QueryError> {
    let bindings = graph.bindings();
    let ends = [&bindings.source, &bindings.destination];
    let taken = match variable.edges {
        true => ends.iter().any(|end| end.as_deref() == Some(name)),
        false => graph.node_column() == name,
    };
    if !taken {
        return Ok(());
    }
    let text = format!("the variable {name:?} is called like a column of ids");
    Err(QueryError::new(ErrorCode::Name, text)
        .field("query")
        .value(name)
        .suggest("call the variable otherwise"))
}

/// The marked rows of a table.
fn kept(table: &Table, marks: Vec<bool>, cancel: &CancelToken) -> Result<Table, QueryError> {
    let rows = marks.iter().filter(|mark| **mark).count() as u64;
    let bytes = table.batch().get_array_memory_size() as u64;
    cancel.take(bytes / (table.num_rows().max(1) as u64) * rows)?;
    Ok(Table::try_new(filter_record_batch(table.batch(), &BooleanArray::from(marks))?)?)
}
