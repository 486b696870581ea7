//! Groups by what is known before the last step of a pattern, whose numbers the GPU adds up: what [`super::ends`] reads one end at
//! a time comes back as one sum for each node that the step begins at.

use std::sync::Arc;

use arrow_array::Array;
use graphlume_expr::{NamedColumn, Scalar, Side, TableArray};
use graphlume_graph::canon::Column;
use graphlume_store::{CacheKey, TallySums};

use super::aggregate::Grouper;
use super::eval::set;
use super::groups::{EXACT_BOUND, Groups, State};
use super::tally::Tally;
use super::{Exec, recorder::Way};
use crate::bind::cannot_fail;
use crate::error::Res;
use crate::graph_view::GraphView;
use crate::plan::{Agg, AggKind, Ex, Op, OpId, Slot, Step};
use crate::value::Value;
use graphlume_graph::Direction;

/// The last step of a grouping's input, and the numbers of its ends that are added up.
pub(super) struct Summing<'p> {
    /// The paths that lead to the nodes where it begins.
    pub(super) paths: Tally<'p>,
    pub(super) step: &'p Step,
    /// Conditions on its ends.
    pub(super) tests: Vec<&'p Ex>,
    pub(super) column: NamedColumn<'p>,
    pub(super) range: WholeRange,
    /// Whether the numbers are floats.
    is_float: bool,
}

/// The whole numbers of a property of nodes: the range, or that they are others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RangeOf(String);

impl CacheKey for RangeOf {
    type Value = Option<WholeRange>;
}

/// The least and the greatest of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WholeRange {
    pub(super) least: i64,
    greatest: i64,
}

impl WholeRange {
    /// Of a column without fractions, NaN, negative zero and numbers beyond 53 bits. A column without any number has it, too.
    fn of(column: &Column) -> Option<Self> {
        let mut range: Option<Self> = None;
        let mut add = |v: i64| {
            let old = range.unwrap_or(Self { least: v, greatest: v });
            range = Some(Self { least: old.least.min(v), greatest: old.greatest.max(v) });
        };
        match column {
            Column::Int(a) => a.iter().flatten().for_each(add),
            Column::Float(a) => {
                for v in (0..a.len()).filter(|row| a.is_valid(*row)).map(|row| a.value(row)) {
                    let is_whole = v == v.trunc() && v.abs() < EXACT_BOUND;
                    if !is_whole || v == 0.0 && v.is_sign_negative() {
                        return None;
                    }
                    add(v as i64);
                }
            }
            _ => return None,
        }
        let range = range.unwrap_or(Self { least: 0, greatest: 0 });
        ((range.magnitude() as f64) < EXACT_BOUND).then_some(range)
    }

    /// The range of a property, which is looked at once for a graph.
    fn kept(
        view: &GraphView,
        property: &str,
        column: &Column,
        cancel: &graphlume_types::CancelToken,
    ) -> Option<Self> {
        let name = RangeOf(property.to_owned());
        if let Some(found) = view.graph().kept(&name) {
            return *found;
        }
        let made = Arc::new(Self::of(column));
        view.graph().keep(name, &made, size_of::<Self>() as u64, cancel);
        *made
    }

    fn magnitude(self) -> u64 {
        self.least.unsigned_abs().max(self.greatest.unsigned_abs())
    }

    /// Whether so many of these numbers have an exact sum in a float, whichever they are and in whichever order.
    fn is_exact(self, numbers: u128) -> bool {
        let most = self.magnitude().max(self.greatest.abs_diff(self.least)).max(1);
        (numbers.saturating_mul(most.into()) as f64) < EXACT_BOUND
    }
}

/// Whether an expression looks at nothing but the node in `slot`.
fn is_of(e: &Ex, slot: Slot) -> bool {
    match e {
        Ex::Const(_) | Ex::Param(_) => true,
        Ex::Slot(own) => *own == slot,
        Ex::Prop(base, _) => is_of(base, slot),
        _ => false,
    }
}

/// The property of the node in `slot` whose numbers an aggregate adds up or counts; the inner `None` where it counts rows.
fn added(agg: &Agg, slot: Slot) -> Option<Option<usize>> {
    use AggKind::{Avg, Count, CountRows, Sum};
    match &agg.arg {
        None => (agg.kind == CountRows).then_some(None),
        Some(Ex::Prop(base, key)) if matches!(**base, Ex::Slot(own) if own == slot) => {
            let adds = matches!(agg.kind, Avg | Count | Sum) && !agg.distinct;
            adds.then_some(Some(*key))
        }
        Some(_) => None,
    }
}

/// What a group has come to: its rows, those with a number, and the sum of these.
#[derive(Clone, Copy, Default)]
struct Total {
    rows: i64,
    values: i64,
    sum: i64,
}

impl<'p> Summing<'p> {
    /// The last step of a grouping's input, where sums of whole numbers of its ends are all that is asked for.
    fn of(exec: &'p Exec<'_>, input: &'p Op, keys: &[(Slot, Ex)], aggs: &[Agg]) -> Option<Self> {
        // Without a GPU nothing is looked at for it, the numbers of the column least of all.
        exec.view.graph().tally_device().filter(|_| exec.by_columns && exec.part.is_none())?;
        let (mut at, mut tests) = (input, Vec::new());
        while let Op::Filter { input, test, .. } = at {
            tests.push(test);
            at = input;
        }
        let Op::Expand { id, input: before, step } = at else { return None };
        let is_plain = step.direction != Direction::Undirected && !step.closes;
        if !is_plain || !step.others.is_empty() {
            return None;
        }
        if !tests.iter().all(|test| cannot_fail(test, step.to))
            || !keys.iter().all(|(_, e)| is_of(e, step.from))
        {
            return None;
        }
        let (paths, weight) = match &**before {
            Op::Tally { weight, .. } => (Tally::of(before, None)?, Some(*weight)),
            _ => (Tally::from(*id, before, step.from), None),
        };
        if paths.ends_at() != step.from || aggs.iter().any(|agg| agg.weight != weight) {
            return None;
        }
        let added: Option<Vec<_>> = aggs.iter().map(|agg| added(agg, step.to)).collect();
        let mut properties = added?.into_iter().flatten();
        let key = properties.next()?;
        if !properties.all(|other| other == key) || !exec.view.rows_are_nodes() {
            return None;
        }
        let key = exec.keys.get(key)?;
        let column = key.node.as_ref()?.number_column()?;
        let range = WholeRange::kept(exec.view, &key.name, column, exec.cancel)?;
        let (cells, is_float) = (TableArray::of(column)?, matches!(column, Column::Float(_)));
        let column = NamedColumn { side: Side::Nodes, name: &key.name, cells };
        let summing = Self { paths, step, tests, column, range, is_float };
        let edges = exec.view.topology().num_edges();
        range.is_exact(edges.into()).then_some(summing)
    }
}

impl Exec<'_> {
    /// The groups of the rows of an operator's input, where the GPU adds up the numbers of the last step's ends.
    pub(super) fn summed_on_device(
        &self,
        (id, input): (OpId, &Op),
        keys: &[(Slot, Ex)],
        aggs: &[Agg],
        row: &mut [Value],
    ) -> Res<Option<Groups>> {
        let Some(summing) = Summing::of(self, input, keys, aggs) else { return Ok(None) };
        let Some(nodes) = self.sums_on_device(&summing) else { return Ok(None) };
        let held = self.cancel.hold(size_of_val(nodes.as_slice()) as u64);
        let _held = held.map_err(|e| Box::new(e.into()))?;
        let all = nodes.iter().map(|of| u128::from(of.paths) * u128::from(of.rows));
        if !summing.range.is_exact(all.sum::<u128>().max(1)) {
            // The order of additions shows in such a sum.
            return Ok(None);
        }
        self.record(|r| {
            r.took(Some(id), Way::Gpu);
            r.took(input.id(), Way::Absorbed);
            r.below(input, false);
        });
        let groups = self.groups_of_sums(&summing, &nodes, (keys, aggs), row)?;
        Ok(Some(groups))
    }

    /// What [`Self::summed_on_device`] takes the GPU, or why that would not do it; `None` where it is not asked.
    pub(super) fn sums_side(
        &self,
        input: &Op,
        keys: &[(Slot, Ex)],
        aggs: &[Agg],
    ) -> Option<Result<String, String>> {
        self.side_of_sums(&Summing::of(self, input, keys, aggs)?)
    }

    fn groups_of_sums(
        &self,
        summing: &Summing<'_>,
        nodes: &[TallySums],
        (keys, aggs): (&[(Slot, Ex)], &[Agg]),
        row: &mut [Value],
    ) -> Res<Groups> {
        let mut grouper = Grouper::new(self, keys, None, aggs);
        let mut totals: Vec<Total> = vec![Total::default(); grouper.groups.len()];
        for of in nodes {
            self.tick()?;
            set(row, summing.step.from, Value::Node(of.node));
            let group = grouper.group(self, row)?;
            if group == totals.len() {
                totals.push(Total::default());
            }
            let Some(total) = totals.get_mut(group) else { continue };
            // All of them together are known to be exact.
            let paths = of.paths as i64;
            total.rows += paths * i64::from(of.rows);
            total.values += paths * i64::from(of.values);
            total.sum += paths * of.sum;
        }
        for (group, total) in totals.iter().enumerate() {
            for (agg, cell) in aggs.iter().zip(grouper.groups.cells_mut(group)) {
                let state = match agg.kind {
                    AggKind::Avg if total.values > 0 => State::Whole(total.sum as f64),
                    AggKind::Sum if total.values > 0 && summing.is_float => {
                        State::Value(Value::Scalar(Scalar::Float(total.sum as f64)))
                    }
                    AggKind::Sum if total.values > 0 => State::Value(Value::int(total.sum)),
                    _ => State::Empty,
                };
                let counts_rows = agg.kind == AggKind::CountRows;
                cell.put(if counts_rows { total.rows } else { total.values }, state);
            }
        }
        Ok(grouper.groups)
    }
}
