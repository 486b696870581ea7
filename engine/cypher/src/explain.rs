//! Plans as text.

use graphlume_expr::{QueryError, Scalar, Strictness};
use graphlume_store::PropertyGraph;
use graphlume_types::{CancelToken, Notice};
use serde_json::{Map, Value as Json};

use crate::exec::{Expected, Profiled, Recorder, Setting, Way};
use crate::plan::{Op, OpId, Plan, Slot, Span, Step};
use crate::procedures::{NoProcedures, Procedures};
use crate::query::Query;
use crate::value::Value;
use graphlume_graph::Direction;

/// The plan of a query as a tree of operators, the last one first, where nothing is known of the graph. The
/// text is stable.
#[must_use]
pub fn explain(query: &Query) -> String {
    Shown { plan: &query.plan, expected: &Expected::default(), ran: None }.text()
}

/// The same for a graph: patterns start where that costs least there, operators say whether they read a table by columns,
/// and about how many rows they will give where the planner knows that.
///
/// # Errors
/// [`QueryError`] when the graph has no edges, or because the work was stopped.
pub fn explain_on(
    graph: &PropertyGraph,
    query: &Query,
    params: &Map<String, Json>,
    cancel: &CancelToken,
) -> Result<String, QueryError> {
    let setting = Setting {
        params,
        strictness: Strictness::Lenient,
        procedures: &NoProcedures,
        now: (0, 0),
        by_columns: true,
        cancel,
    };
    let (plan, expected) = crate::exec::planned(graph, query, &setting)?;
    Ok(Shown { plan: &plan, expected: &expected, ran: None }.text())
}

/// What a run did, operator by operator.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The tree of [`explain_on`] with what each operator did in the run: how many rows it gave, and which of them read
    /// a table by columns.
    pub text: String,
    /// What the query named and the graph does not have, where that was no error.
    pub notices: Vec<Notice>,
}

/// Runs a query, which may call procedures, and tells what its operators did instead of its rows. The run is that of
/// [`run_with`](crate::run_with), with counters beside the operators.
///
/// # Errors
/// Those of [`run_with`](crate::run_with).
pub fn profile(
    graph: &PropertyGraph,
    query: &Query,
    params: &Map<String, Json>,
    strictness: Strictness,
    procedures: &dyn Procedures,
    cancel: &CancelToken,
) -> Result<Profile, QueryError> {
    let now = crate::now();
    let setting = Setting { params, strictness, procedures, now, by_columns: true, cancel };
    let run = crate::exec::profiled(graph, query, &setting)?;
    Ok(Profile { text: text_of(&run), notices: run.answer.notices().to_vec() })
}

/// A run as text.
pub(crate) fn text_of(run: &Profiled) -> String {
    let ran = Some((&run.recorder, run.answer.num_rows()));
    Shown { plan: &run.plan, expected: &run.expected, ran }.text()
}

/// A plan with what is known of its operators.
struct Shown<'a> {
    plan: &'a Plan,
    expected: &'a Expected,
    /// What a run did, and the rows of its answer.
    ran: Option<(&'a Recorder, usize)>,
}

impl Shown<'_> {
    fn text(&self) -> String {
        let mut out = String::new();
        let names = self.plan.columns.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>();
        out.push_str(&format!("Result [{}]", names.join(", ")));
        if let Some((_, rows)) = self.ran {
            out.push_str(&format!(" (rows {rows})"));
        }
        // Operators that read columns say it themselves.
        if self.expected.has_gpu && self.expected.on_gpu.is_empty() {
            out.push_str(" on the CPU: no operator tests or groups a whole table by columns");
        }
        out.push('\n');
        self.write(&self.plan.root, 1, &mut out);
        out
    }

    fn write(&self, op: &Op, depth: usize, out: &mut String) {
        if matches!(op, Op::Argument) {
            return;
        }
        out.push_str(&"  ".repeat(depth));
        out.push_str(&line(self.plan, op));
        out.push_str(&self.known(op));
        out.push('\n');
        match op {
            Op::Optional { inner, .. } => {
                out.push_str(&"  ".repeat(depth + 1));
                out.push_str("Inner\n");
                self.write(inner, depth + 2, out);
            }
            Op::Union { parts, .. } => {
                parts.iter().for_each(|(part, _)| self.write(part, depth + 1, out));
            }
            _ => {}
        }
        if let Some(input) = op.input() {
            self.write(input, depth, out);
        }
    }

    /// What is known of an operator beside what it does.
    fn known(&self, op: &Op) -> String {
        let Some(id) = op.id() else { return String::new() };
        let mut notes = Vec::new();
        let by_columns = match self.ran {
            None => self.expected.by_columns.contains(&id),
            Some((recorder, _)) => {
                let absorbed = recorder.has_taken(id, Way::Absorbed);
                notes.push(match recorder.rows(id) {
                    Some(rows) => format!("rows {rows}"),
                    None if absorbed => "within the operator above".to_owned(),
                    None => "not reached".to_owned(),
                });
                let ways = [
                    (Way::Id, "found by id"),
                    (Way::Index, "found by index"),
                    (Way::Marks, "all nodes tested at once"),
                ];
                let taken = ways.iter().filter(|(way, _)| recorder.has_taken(id, *way));
                notes.extend(taken.map(|(_, text)| (*text).to_owned()));
                recorder.has_taken(id, Way::Columns)
            }
        };
        if let Some(rows) = self.expected.rows.get(&id) {
            // No sum of nothing is shown as less than zero.
            notes.push(format!("estimated rows {:.0}", rows + 0.0));
        }
        let mut text = String::new();
        if by_columns {
            text.push_str(" by columns");
        }
        // A grouping by columns that runs row by row has no side.
        let counts = match op {
            Op::Tally { .. } => true,
            Op::Aggregate { .. } => !self.expected.by_columns.contains(&id),
            _ => false,
        };
        if by_columns || counts {
            text.push_str(&self.side(id));
        }
        if !notes.is_empty() {
            text.push_str(&format!(" ({})", notes.join(", ")));
        }
        text
    }

    /// Which side reads the columns, where the tables have a GPU.
    fn side(&self, id: OpId) -> String {
        let was_gpu = self.ran.map(|(recorder, _)| recorder.has_taken(id, Way::Gpu));
        match (was_gpu, self.expected.on_gpu.get(&id)) {
            (Some(true) | None, Some(Ok(effort))) => format!(" on the GPU: {effort}"),
            (Some(true), _) => " on the GPU".to_owned(),
            (_, Some(Err(why))) => format!(" on the CPU: {why}"),
            (Some(false), Some(Ok(_))) => " on the CPU: the GPU failed".to_owned(),
            (_, None) => String::new(),
        }
    }
}

fn name(plan: &Plan, slot: Slot) -> String {
    match plan.names.get(slot) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => format!("#{slot}"),
    }
}

fn names(plan: &Plan, slots: impl Iterator<Item = Slot>) -> String {
    slots.map(|s| name(plan, s)).collect::<Vec<_>>().join(", ")
}

fn labels(list: &[String], numbers: &[usize]) -> String {
    numbers.iter().filter_map(|i| list.get(*i)).map(|l| format!(":{l}")).collect()
}

fn step(plan: &Plan, step: &Step, span: Option<&Span>) -> String {
    let types = numbers(&plan.types, &step.types);
    let length = span.map_or(String::new(), |s| match s.max {
        Some(max) => format!("*{}..{max}", s.min),
        None => format!("*{}..", s.min),
    });
    let (left, right) = match step.direction {
        Direction::Forward => ("-", "->"),
        Direction::Reverse => ("<-", "-"),
        Direction::Undirected => ("-", "-"),
    };
    let rel = name(plan, step.rel);
    let far = format!("{}{}", name(plan, step.to), labels(&plan.labels, &step.labels));
    let near = name(plan, step.from);
    let closes = if step.closes { " closing" } else { "" };
    format!("({near}){left}[{rel}{types}{length}]{right}({far}){closes}")
}

fn numbers(list: &[String], numbers: &[usize]) -> String {
    let names: Vec<&str> =
        numbers.iter().filter_map(|i| list.get(*i)).map(String::as_str).collect();
    if names.is_empty() { String::new() } else { format!(":{}", names.join("|")) }
}

fn line(plan: &Plan, op: &Op) -> String {
    match op {
        Op::Argument => String::new(),
        Op::Scan { slot, labels: l, seek, .. } => {
            let by = seek.iter().map(|s| match s.key.and_then(|k| plan.keys.get(k)) {
                Some(key) => key.clone(),
                None => "id()".to_owned(),
            });
            let by = by.collect::<Vec<_>>().join(", ");
            let by = if by.is_empty() { by } else { format!(" by {by}") };
            format!("Scan ({}{}){by}", name(plan, *slot), labels(&plan.labels, l))
        }
        Op::Check { slot, labels: l, .. } => {
            format!("Check ({}{})", name(plan, *slot), labels(&plan.labels, l))
        }
        Op::Expand { step: s, .. } => format!("Expand {}", step(plan, s, None)),
        Op::Tally { steps, .. } => {
            let steps: Vec<String> = steps.iter().map(|t| step(plan, &t.step, None)).collect();
            format!("CountPaths {}", steps.join(", "))
        }
        Op::Ends { step: s, .. } => format!("Ends {}", step(plan, s, None)),
        Op::VarExpand { step: s, span, .. } => format!("Expand {}", step(plan, s, Some(span))),
        Op::Walk { step: s, .. } => format!("Walk {}", step(plan, s, None)),
        Op::Shortest { step: s, span, all, .. } => {
            let which = if *all { "AllShortest" } else { "Shortest" };
            format!("{which} {}", step(plan, s, Some(span)))
        }
        Op::Path { slot, .. } => format!("Path {}", name(plan, *slot)),
        Op::Filter { .. } => "Filter".to_owned(),
        Op::Project { items, .. } => {
            format!("Project {}", names(plan, items.iter().map(|i| i.0)))
        }
        Op::Aggregate { keys, aggs, .. } => {
            let kinds: Vec<String> = aggs.iter().map(|a| format!("{:?}", a.kind)).collect();
            format!("Aggregate [{}] {}", names(plan, keys.iter().map(|k| k.0)), kinds.join(", "))
        }
        Op::Distinct { slots, .. } => {
            format!("Distinct {}", names(plan, slots.iter().copied()))
        }
        Op::Sort { keys, top, .. } => {
            let directions: Vec<&str> =
                keys.iter().map(|(_, down)| if *down { "desc" } else { "asc" }).collect();
            let top = if top.is_some() { " top" } else { "" };
            format!("Sort {}{top}", directions.join(", "))
        }
        Op::Skip { count, .. } => format!("Skip{}", amount(count)),
        Op::Limit { count, .. } => format!("Limit{}", amount(count)),
        Op::Unwind { slot, .. } => format!("Unwind {}", name(plan, *slot)),
        Op::Optional { slots, .. } => format!("Optional {}", names(plan, slots.iter().copied())),
        Op::Union { .. } => "Union".to_owned(),
        Op::Call { name, .. } => format!("Call {name}"),
    }
}

fn amount(count: &crate::plan::Ex) -> String {
    match count {
        crate::plan::Ex::Const(Value::Scalar(Scalar::Int(n))) => format!(" {n}"),
        _ => String::new(),
    }
}
