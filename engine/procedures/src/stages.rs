//! Texts in Cypher whose stages make graphs. A stage is evaluated by what is there: a procedure with `.write`, a chain of GFQL over the
//! elements that pass the conditions of the text, or, where a condition concerns several elements, a query for rows. The graphs are
//! values; nothing of the dataset changes.

mod marks;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Mutex;

use graphlume_calls::procedure::{Made, procedure};
use graphlume_cypher::{
    Answer, Does, PlannedStep, ProcedureTable, Procedures, Query, Text, Value, Variable, Walks,
};
use graphlume_expr::{Cmp, QueryError, Strictness};
use graphlume_graph::Direction;
use graphlume_store::PropertyGraph;
use graphlume_store::materialize::{columns, table_of, with};
use graphlume_table::Table;
use graphlume_types::{CancelToken, Notice, note};
use serde_json::{Map, Value as Json, json};

use crate::{Algorithms, options};

/// What a text yields.
#[derive(Debug)]
pub enum TextAnswer {
    /// Rows.
    Rows(Answer),
    /// A graph, and what there is to say beside it.
    Graph(PropertyGraph, Vec<Notice>),
}

/// How a text is to be evaluated.
#[derive(Clone, Copy, Debug)]
pub struct TextSetting<'a> {
    /// The values of the `$names`.
    pub params: &'a Map<String, Json>,
    /// What an absent column means.
    pub strictness: Strictness,
    /// Stops the work, and counts its memory.
    pub cancel: &'a CancelToken,
}

/// Evaluates a text on a graph.
///
/// # Errors
/// [`QueryError`] with its slug: those of [`graphlume_cypher::run`], of [`graphlume_gfql::run`] and of the procedures.
pub fn run_text(
    graph: &PropertyGraph,
    text: &Text,
    setting: TextSetting<'_>,
) -> Result<TextAnswer, QueryError> {
    let TextSetting { params, strictness, cancel } = setting;
    let mut run = Run::of(graph, text, setting)?;
    let Some((query, from)) = text.rows() else {
        let last = run.made.pop().unwrap_or_else(|| graph.clone());
        return Ok(TextAnswer::Graph(last, run.notices));
    };
    let base = run.base(from)?;
    let algorithms = Algorithms::after(run.notices);
    let rows = graphlume_cypher::run_with(&base, query, params, strictness, &algorithms, cancel);
    rows.map(TextAnswer::Rows)
}

/// The plan of a text. A query that reads the graph of a stage, which is not made, is told as for any graph.
///
/// # Errors
/// Those of [`graphlume_cypher::explain_on`].
pub fn explain_text(
    graph: &PropertyGraph,
    text: &Text,
    params: &Map<String, Json>,
    cancel: &CancelToken,
) -> Result<String, QueryError> {
    let mut out = String::new();
    for (i, stage) in text.stages().iter().enumerate() {
        out.push_str(&heading(text, i));
        stage.steps.iter().for_each(|step| line(&mut out, step, ""));
    }
    match text.rows() {
        None => {}
        Some((query, None)) => {
            out.push_str(&graphlume_cypher::explain_on(graph, query, params, cancel)?);
        }
        Some((query, Some(from))) => {
            let _ = writeln!(out, "Rows of {}", name_of(text, Some(from)));
            out.push_str(&graphlume_cypher::explain(query));
        }
    }
    Ok(out)
}

/// Evaluates a text and tells what each step of its stages and each operator of its query did.
///
/// # Errors
/// Those of [`run_text`].
pub fn profile_text(
    graph: &PropertyGraph,
    text: &Text,
    setting: TextSetting<'_>,
) -> Result<(String, Vec<Notice>), QueryError> {
    let TextSetting { params, strictness, cancel } = setting;
    let run = Run::of(graph, text, setting)?;
    let Some((query, from)) = text.rows() else { return Ok((run.told, run.notices)) };
    let base = run.base(from)?;
    let mut told = run.told;
    if from.is_some() {
        let _ = writeln!(told, "Rows of {}", name_of(text, from));
    }
    let algorithms = Algorithms::after(run.notices);
    let profile = graphlume_cypher::profile(&base, query, params, strictness, &algorithms, cancel)?;
    told.push_str(&profile.text);
    Ok((told, profile.notices))
}

/// The graph that a stage makes, by its name or its number.
fn name_of(text: &Text, stage: Option<usize>) -> String {
    let Some(at) = stage else { return "the dataset".to_owned() };
    let name = text.stages().get(at).and_then(|stage| stage.name.clone());
    name.map_or_else(|| format!("stage {}", at + 1), |name| format!("graph {name}"))
}

fn heading(text: &Text, stage: usize) -> String {
    let from = text.stages().get(stage).and_then(|of| of.from);
    let mut name = name_of(text, Some(stage));
    name[..1].make_ascii_uppercase();
    format!("{name} of {}\n", name_of(text, from))
}

/// A step, how it is evaluated, and what is known of it.
fn line(out: &mut String, step: &PlannedStep, known: &str) {
    let way = match &step.does {
        Does::Call(_) => "",
        Does::Walks(_) => " as a chain",
        Does::Rows(..) => " row by row",
    };
    let _ = writeln!(out, "  {}{way}{known}", step.written);
}

/// The stages of a text while they are evaluated.
struct Run<'a> {
    graph: &'a PropertyGraph,
    setting: TextSetting<'a>,
    /// The graphs of the stages so far.
    made: Vec<PropertyGraph>,
    notices: Vec<Notice>,
    /// What the steps did.
    told: String,
}

impl<'a> Run<'a> {
    /// Evaluates the stages of a text.
    fn of(
        graph: &'a PropertyGraph,
        text: &Text,
        setting: TextSetting<'a>,
    ) -> Result<Self, QueryError> {
        let mut run = Self { graph, setting, made: vec![], notices: vec![], told: String::new() };
        for (i, stage) in text.stages().iter().enumerate() {
            run.told.push_str(&heading(text, i));
            let mut graph = run.base(stage.from)?.into_owned();
            for step in &stage.steps {
                setting.cancel.check()?;
                let made = run.step(&graph, step).map_err(|e| e.field(name_of(text, Some(i))))?;
                graph = made.with_every_node(setting.cancel)?;
                let nodes = graph.node_table(setting.cancel)?.num_rows();
                let edges = graph.edges().map_or(0, Table::num_rows);
                line(&mut run.told, step, &format!(" (nodes {nodes}, edges {edges})"));
            }
            run.made.push(graph);
        }
        Ok(run)
    }

    /// The graph that a stage or the query begins with.
    fn base(&self, from: Option<usize>) -> Result<Cow<'a, PropertyGraph>, QueryError> {
        let made = from.and_then(|at| self.made.get(at));
        Ok(made.map_or(Cow::Borrowed(self.graph), |graph| Cow::Owned(graph.clone())))
    }

    fn step(
        &mut self,
        graph: &PropertyGraph,
        step: &PlannedStep,
    ) -> Result<PropertyGraph, QueryError> {
        match &step.does {
            Does::Call(query) => {
                let writer = Writer::default();
                self.ask(graph, query, &writer)?;
                let made = writer.made.into_inner().ok().flatten();
                Ok(made.unwrap_or_else(|| graph.clone()))
            }
            Does::Walks(walks) => match &walks.by_rows {
                // A chain refuses to compare what is not there, and a text takes it for null.
                Some((query, variables)) if !has_columns(graph, walks) => {
                    self.rows(graph, query, variables)
                }
                _ => self.walks(graph, walks),
            },
            Does::Rows(query, variables) => self.rows(graph, query, variables),
        }
    }

    /// What a query finds row by row.
    fn rows(
        &mut self,
        graph: &PropertyGraph,
        query: &Query,
        variables: &[Variable],
    ) -> Result<PropertyGraph, QueryError> {
        let answer = self.ask(graph, query, &Algorithms::default())?;
        marks::part(graph, &answer, variables, self.setting.cancel)
    }

    /// The rows of a query that is part of a stage.
    fn ask(
        &mut self,
        graph: &PropertyGraph,
        query: &Query,
        procedures: &dyn Procedures,
    ) -> Result<Answer, QueryError> {
        let TextSetting { params, strictness, cancel } = self.setting;
        let answer =
            graphlume_cypher::run_with(graph, query, params, strictness, procedures, cancel)?;
        answer.notices().iter().for_each(|notice| note(&mut self.notices, notice.clone()));
        Ok(answer)
    }

    /// What lies on the walks of a pattern: a chain over the graph with a column for each element that not all may stand for.
    fn walks(&mut self, graph: &PropertyGraph, walks: &Walks) -> Result<PropertyGraph, QueryError> {
        let TextSetting { strictness, cancel, .. } = self.setting;
        let (mut nodes, mut edges) = (graph.node_table(cancel)?, graph.edges().cloned());
        let (mut ops, mut added) = (Vec::new(), Vec::new());
        for (i, element) in walks.elements.iter().enumerate() {
            let mut test = Map::new();
            if let Some(query) = &element.test {
                let found = self.ask(graph, query, &Algorithms::default())?;
                let column = free_name(&nodes, edges.as_ref(), i);
                let is_edge = element.hop.is_some();
                let cells = marks::found(graph, &found, is_edge, cancel)?;
                match (&mut edges, is_edge) {
                    (Some(edges), true) => *edges = with(edges, &column, cells)?,
                    (None, true) => {}
                    (_, false) => nodes = with(&nodes, &column, cells)?,
                }
                test.insert(column.clone(), true.into());
                added.push(column);
            }
            ops.push(operation(element, test));
        }
        let comparisons: Vec<Json> = walks.comparisons.iter().map(comparison).collect();
        let query = json!({"type": "Chain", "chain": ops, "where": comparisons});
        let query = graphlume_gfql::parse(&query)?;
        let marked = graph.replaced(Some(nodes), edges)?;
        let outcome = graphlume_gfql::run(&marked, &query, None, strictness, cancel)?;
        outcome.notices.into_iter().for_each(|notice| note(&mut self.notices, notice));
        let made = outcome.graph;
        let without = |table: &Table| {
            let kept = columns(table).into_iter().filter(|(name, _)| !added.contains(name));
            table_of(kept.collect(), table.num_rows())
        };
        made.replaced(
            made.nodes().map(without).transpose()?,
            made.edges().map(without).transpose()?,
        )
    }
}

/// Whether the graph has every column that is compared.
fn has_columns(graph: &PropertyGraph, walks: &Walks) -> bool {
    let has = |(variable, property): &(String, String)| {
        let of = walks.elements.iter().find(|e| e.name.as_deref() == Some(variable));
        let is_edge = of.is_some_and(|element| element.hop.is_some());
        let table = if is_edge { graph.edges() } else { graph.nodes() };
        table.is_some_and(|table| table.column(property).is_some())
            || !is_edge && property == graph.node_column()
    };
    walks.comparisons.iter().all(|c| has(&c.left) && has(&c.right))
}

/// A name that no column has, for the marks of an element.
fn free_name(nodes: &Table, edges: Option<&Table>, element: usize) -> String {
    let mut name = format!("element {element}");
    while nodes.column(&name).is_some() || edges.is_some_and(|t| t.column(&name).is_some()) {
        name.push('_');
    }
    name
}

/// An element as an operation of GFQL.
fn operation(element: &graphlume_cypher::Element, test: Map<String, Json>) -> Json {
    let Some(hop) = element.hop else {
        return json!({"type": "Node", "filter_dict": test, "name": element.name});
    };
    let direction = match hop.direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
        Direction::Undirected => "undirected",
    };
    let mut op = json!({
        "type": "Edge", "direction": direction, "edge_match": test, "name": element.name,
    });
    if let Some((min, max)) = hop.range {
        op["min_hops"] = min.into();
        op["max_hops"] = max.into();
        op["to_fixed_point"] = max.is_none().into();
    }
    op
}

fn comparison(of: &graphlume_cypher::Comparison) -> Json {
    let name = match of.cmp {
        Cmp::Eq => "eq",
        Cmp::Ne => "neq",
        Cmp::Lt => "lt",
        Cmp::Le => "le",
        Cmp::Gt => "gt",
        Cmp::Ge => "ge",
    };
    let side = |(variable, property): &(String, String)| format!("{variable}.{property}");
    json!({name: {"left": side(&of.left), "right": side(&of.right)}})
}

/// Runs a procedure with `.write` and keeps its graph.
#[derive(Default)]
struct Writer {
    made: Mutex<Option<PropertyGraph>>,
    notices: Mutex<Vec<Notice>>,
}

impl Procedures for Writer {
    fn call(
        &self,
        graph: &PropertyGraph,
        name: &str,
        args: &[Value],
        cancel: &CancelToken,
    ) -> Result<ProcedureTable, QueryError> {
        let mut notices = Vec::new();
        let options = options(name, args)?;
        let made = procedure(graph, name, &options, cancel, &mut notices)?;
        if let (Made::Graph(made), Ok(mut kept)) = (made, self.made.lock()) {
            *kept = Some(made);
        }
        if let Ok(mut all) = self.notices.lock() {
            *all = notices;
        }
        Ok(ProcedureTable::default())
    }

    fn notices(&self) -> Vec<Notice> {
        self.notices.lock().map(|all| all.clone()).unwrap_or_default()
    }
}
