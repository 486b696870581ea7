//! About how many rows the operators of a plan give, by the numbers from which the planner chooses where patterns start.
//!
//! Where those numbers say nothing, as of a condition on two nodes or of groups, there is no estimate from there on.

use std::collections::HashMap;

use graphlume_expr::Scalar;

use crate::bind::{Given, HOPS_UNBOUND, Statistics, Wanted, seek_of};
use crate::plan::{Ex, Op, OpId, Plan, Seek, Slot, Span, Step};
use crate::value::Value;
use graphlume_graph::Direction;

/// Rows that are never told apart.
const ROWS_MAX: f64 = 1e18;

/// About how many rows operators give, where something tells.
pub(super) fn estimates(plan: &Plan, statistics: &dyn Statistics) -> HashMap<OpId, f64> {
    let (nodes, rows) = (HashMap::new(), HashMap::new());
    let mut estimator = Estimator { plan, statistics, nodes, rows };
    estimator.line(&plan.root, Some(1.0));
    estimator.rows
}

/// A node that operators have bound.
struct Bound<'p> {
    labels: &'p [usize],
    /// What its number takes into account already.
    seeks: &'p [Seek],
}

struct Estimator<'p> {
    plan: &'p Plan,
    statistics: &'p dyn Statistics,
    nodes: HashMap<Slot, Bound<'p>>,
    rows: HashMap<OpId, f64>,
}

/// The number of rows that a query names.
fn fixed(count: &Ex) -> Option<f64> {
    match count {
        Ex::Const(Value::Scalar(Scalar::Int(n))) => Some(*n as f64),
        _ => None,
    }
}

impl<'p> Estimator<'p> {
    /// The rows of an operator and of all that feed it, of which the first gets so many rows.
    fn line(&mut self, op: &'p Op, first: Option<f64>) -> Option<f64> {
        let mut line = Vec::new();
        let mut at = Some(op);
        while let Some(op) = at {
            line.push(op);
            at = op.input();
        }
        let mut rows = first;
        for op in line.into_iter().rev() {
            rows = self.operator(op, rows).map(|rows| rows.min(ROWS_MAX));
            if let (Some(id), Some(rows)) = (op.id(), rows) {
                self.rows.insert(id, rows);
            }
        }
        rows
    }

    fn operator(&mut self, op: &'p Op, rows: Option<f64>) -> Option<f64> {
        match op {
            Op::Argument | Op::Path { .. } | Op::Project { .. } => rows,
            Op::Scan { slot, labels, seek, .. } => {
                self.nodes.insert(*slot, Bound { labels, seeks: seek });
                Some(rows? * self.with(labels, seek))
            }
            Op::Expand { step, .. } => self.expanded(rows, step, None),
            Op::VarExpand { step, span, .. } => self.expanded(rows, step, Some(span)),
            Op::Filter { test, .. } => Some(rows? * self.part(test)?),
            Op::Check { labels, .. } => match labels.is_empty() {
                true => rows,
                false => Some(rows? * self.with(labels, &[]) / self.with(&[], &[])),
            },
            Op::Tally { ends: false, .. } => Some(1.0),
            Op::Aggregate { keys, .. } => keys.is_empty().then_some(1.0),
            Op::Sort { top: Some((None, limit)), .. } | Op::Limit { count: limit, .. } => {
                Some(rows?.min(fixed(limit)?))
            }
            Op::Sort { top: Some((Some(skip), limit)), .. } => {
                Some(rows?.min(fixed(skip)? + fixed(limit)?))
            }
            Op::Sort { top: None, .. } => rows,
            Op::Skip { count, .. } => Some((rows? - fixed(count)?).max(0.0)),
            Op::Unwind { list, .. } => match list {
                Ex::List(list) => Some(rows? * list.len() as f64),
                Ex::Const(Value::List(list)) => Some(rows? * list.len() as f64),
                _ => None,
            },
            // Each row comes once without a match.
            Op::Optional { inner, .. } => {
                let found = self.line(inner, rows);
                Some(rows?.max(found?))
            }
            Op::Union { parts, .. } => {
                let parts = parts.iter().map(|(part, _)| self.line(part, Some(1.0)));
                parts.collect::<Vec<_>>().into_iter().sum()
            }
            Op::Tally { ends: true, .. }
            | Op::Ends { .. }
            | Op::Walk { .. }
            | Op::Shortest { .. }
            | Op::Distinct { .. }
            | Op::Call { .. } => None,
        }
    }

    /// Rows after a step.
    fn expanded(&mut self, rows: Option<f64>, step: &'p Step, span: Option<&Span>) -> Option<f64> {
        let labels = |slot: &Slot| self.nodes.get(slot).map_or(&[][..], |node| node.labels);
        let near = self.with(labels(&step.from), &[]).max(1.0);
        let far = self.with(labels(&step.to), &[]).max(1.0);
        if !step.closes {
            self.nodes.insert(step.to, Bound { labels: &step.labels, seeks: &[] });
        }
        let types: Vec<&str> = words(&self.plan.types, &step.types);
        let all = self.statistics.relationships(&types);
        let both = if step.direction == Direction::Undirected { 2.0 } else { 1.0 };
        if step.closes {
            // How likely two given nodes are joined.
            let joined = (both * all / (near * far)).min(1.0);
            return span.is_none().then_some(rows? * joined);
        }
        let hops = span.map_or(1, |s| s.max.unwrap_or(HOPS_UNBOUND)).min(HOPS_UNBOUND);
        Some(rows? * (both * all / near).powi(hops as i32))
    }

    /// The part of the rows that passes a test.
    fn part(&self, test: &Ex) -> Option<f64> {
        if let Ex::And(tests) = test {
            return tests.iter().map(|test| self.part(test)).product();
        }
        let (slot, seek) = seek_of(test)?;
        let node = self.nodes.get(&slot)?;
        // A scan that looks for a value has found it.
        if node.seeks.iter().any(|known| known.key == seek.key && known.any == seek.any) {
            return Some(1.0);
        }
        let known = matches!(seek.value, Ex::Const(_) | Ex::Param(_));
        let labelled = self.with(node.labels, &[]).max(1.0);
        known.then(|| (self.with(node.labels, &[seek]) / labelled).min(1.0))
    }

    /// How many nodes have the labels and the properties.
    fn with(&self, labels: &[usize], seeks: &[Seek]) -> f64 {
        let plan = self.plan;
        let wanted = seeks.iter().map(|seek| Wanted {
            key: seek.key.and_then(|key| plan.keys.get(key)).map(String::as_str),
            value: match &seek.value {
                Ex::Const(value) => Given::Value(value),
                Ex::Param(i) => plan.params.get(*i).map_or(Given::Unknown, |p| Given::Param(p)),
                _ => Given::Unknown,
            },
            any: seek.any,
        });
        self.statistics.nodes(&words(&plan.labels, labels), &wanted.collect::<Vec<_>>())
    }
}

fn words<'w>(list: &'w [String], numbers: &[usize]) -> Vec<&'w str> {
    numbers.iter().filter_map(|i| list.get(*i)).map(String::as_str).collect()
}
