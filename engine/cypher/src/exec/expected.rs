//! What is known of a run before it begins: which operators will read columns, and about how many rows each will give.
//!
//! The walk over the plan takes the turns that the operators take, and asks what they ask. A value that no column can
//! hold, such as a quotient by zero, is met by the run alone, which then goes on row by row; a profile says so.

use std::collections::{HashMap, HashSet};

use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::PropertyGraph;

use super::aggregate::nodes_counted;
use super::estimate::estimates;
use super::recorder::Recorder;
use super::statistics::Known;
use super::tally::Tally;
use super::{Exec, Setting, Shared, answered, missing_of, part_of_plan, plan_for, view_of};
use crate::answer::Answer;
use crate::graph_view::GraphView;
use crate::plan::{Agg, Ex, Op, OpId, Plan, Slot};
use crate::query::Query;
use crate::value::Value;

/// What a plan is expected to do on a graph.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    /// Operators that read columns.
    pub by_columns: HashSet<OpId>,
    /// Of those that a GPU could do: that it will, or why it will not.
    pub on_gpu: HashMap<OpId, Result<String, String>>,
    /// Whether the tables have a GPU.
    pub has_gpu: bool,
    /// About how many rows operators give, where something tells.
    pub rows: HashMap<OpId, f64>,
}

/// A run, and what each operator of its plan did beside what was expected of it.
pub(crate) struct Profiled {
    pub answer: Answer,
    pub plan: Plan,
    pub expected: Expected,
    pub recorder: Recorder,
}

/// The plan of a query as it runs on a graph, with what is expected of it as far as the values of parameters are known.
pub(crate) fn planned(
    graph: &PropertyGraph,
    query: &Query,
    setting: &Setting<'_>,
) -> Result<(Plan, Expected), QueryError> {
    let view = view_of(graph, setting)?;
    let plan = plan_for(query, &view, setting.params, setting.cancel)?.into_owned();
    let expected = expected(&plan, &view, setting)?;
    Ok((plan, expected))
}

/// Runs a query and tells what each operator of its plan did, beside what was expected of it.
pub(crate) fn profiled(
    graph: &PropertyGraph,
    query: &Query,
    setting: &Setting<'_>,
) -> Result<Profiled, QueryError> {
    let missing = missing_of(graph, query, setting)?;
    let view = view_of(graph, setting)?;
    let plan = plan_for(query, &view, setting.params, setting.cancel)?.into_owned();
    let expected = expected(&plan, &view, setting)?;
    let recorder = Recorder::new(&plan);
    let answer = answered(view, &plan, setting, missing, Some(&recorder))?;
    Ok(Profiled { answer, plan, expected, recorder })
}

fn expected(plan: &Plan, view: &GraphView, setting: &Setting<'_>) -> Result<Expected, QueryError> {
    let Setting { params, cancel, .. } = *setting;
    let rows = estimates(plan, &Known { view, params, cancel, searches: false });
    let (by_columns, on_gpu) = match Shared::new(plan, view, setting, None) {
        Ok(shared) => {
            let exec = Exec::new(&shared, part_of_plan(plan));
            let mut row = vec![Value::NULL; plan.slots];
            let (found, on_gpu) = (HashSet::new(), HashMap::new());
            let mut walk = Walk { exec: &exec, row: &mut row, found, on_gpu };
            walk.plan(plan);
            (walk.found, walk.on_gpu)
        }
        // Without the values of all parameters there is a plan, and nothing to run.
        Err(e) if e.error_code() == ErrorCode::MissingField => Default::default(),
        Err(e) => return Err(e),
    };
    let graph = view.graph();
    let has_gpu = graph.table_device().is_some() || graph.tally_device().is_some();
    Ok(Expected { by_columns, on_gpu, has_gpu, rows })
}

/// A walk over the operators that a run sets up.
struct Walk<'w, 'a> {
    exec: &'w Exec<'a>,
    row: &'w mut [Value],
    found: HashSet<OpId>,
    on_gpu: HashMap<OpId, Result<String, String>>,
}

impl Walk<'_, '_> {
    /// As [`Exec::collect`] begins.
    fn plan(&mut self, plan: &Plan) {
        self.selected(&plan.root);
        if let Op::Distinct { id, input, slots } = &plan.root {
            self.selected(input);
            // An error is that of the run.
            if self.exec.cut_at(input, self.row).is_ok_and(|cut| cut.is_some()) {
                let keys: Vec<_> = slots.iter().map(|s| (*s, Ex::Slot(*s))).collect();
                return self.grouping((*id, input), &keys, (&[], None));
            }
        }
        self.operator(&plan.root);
    }

    /// As [`Exec::run`] goes from an operator to those that feed it.
    fn operator(&mut self, op: &Op) {
        let mut at = Some(op);
        while let Some(op) = at {
            // What feeds an operator that makes its rows from marks does not run.
            if matches!(op, Op::Scan { .. } | Op::Expand { .. } | Op::Filter { .. })
                && op.id().is_some_and(|id| self.found.contains(&id))
            {
                return;
            }
            match op {
                Op::Aggregate { id, input, keys, aggs } => {
                    return self.grouping((*id, input), keys, (aggs, None));
                }
                Op::Tally { .. } => return self.tally(op, None),
                Op::Sort { id, input, keys, top, .. } => {
                    match self.best(input, keys, top.as_ref()) {
                        Some(0) => return,
                        Some(_) => _ = self.found.insert(*id),
                        None => {}
                    }
                    self.selected(input);
                    if let Op::Aggregate { id, input, keys: by, aggs } = &**input {
                        let first = self.first(keys, top.as_ref(), aggs);
                        return self.grouping((*id, input), by, (aggs, first));
                    }
                }
                // An error is that of the run.
                Op::Limit { count, .. }
                    if self.exec.count(count, self.row).is_ok_and(|n| n == 0) =>
                {
                    return;
                }
                Op::Optional { inner, .. } => self.operator(inner),
                Op::Union { parts, .. } => parts.iter().for_each(|(part, _)| self.operator(part)),
                _ => {}
            }
            at = op.input();
        }
    }

    /// As [`Exec::select`] tests rows by columns, of which the operators below the projections are made.
    fn selected(&mut self, op: &Op) {
        if let Some(base) = self.exec.selects(op) {
            if let (Some(id), Some(side)) = (base.id(), self.exec.selects_on_device(base)) {
                self.on_gpu.insert(id, side);
            }
            self.all_below(base);
        }
    }

    /// As [`Exec::grouping`] finds groups.
    fn grouping(
        &mut self,
        (id, input): (OpId, &Op),
        keys: &[(Slot, Ex)],
        (aggs, first): (&[Agg], Option<u32>),
    ) {
        if self.exec.folds(input, keys, aggs) {
            self.found.insert(id);
            if let Some(side) = self.exec.folds_on_device(input, keys, aggs) {
                self.on_gpu.insert(id, side);
            }
            return self.all_below(input);
        }
        if matches!(input, Op::Tally { .. }) {
            return self.tally(input, first.filter(|_| self.exec.is_by_paths(keys, aggs, input)));
        }
        if let Some(slot) = nodes_counted(keys, aggs, input) {
            let of = Tally::starts(id, input, slot);
            if let Some(side) = self.exec.tallies_on_device(&of) {
                let is_gpu = side.is_ok();
                self.on_gpu.insert(id, side);
                if is_gpu {
                    return;
                }
            }
        }
        if let Some(side) = self.exec.sums_side(input, keys, aggs) {
            let is_gpu = side.is_ok();
            self.on_gpu.insert(id, side);
            if is_gpu {
                return;
            }
        }
        self.selected(input);
        self.operator(input);
    }

    /// How many of the first groups by their paths a sort wants.
    fn first(
        &mut self,
        keys: &[(Ex, bool)],
        top: Option<&(Option<Ex>, Ex)>,
        aggs: &[Agg],
    ) -> Option<u32> {
        // An error is that of the run.
        let wanted = self.exec.wanted_rows(top, self.row).ok()?;
        Exec::first_by_paths(keys, aggs, wanted)
    }

    /// As [`Exec::counted`] counts paths.
    fn tally(&mut self, op: &Op, first: Option<u32>) {
        let Some(of) = Tally::of(op, first) else { return };
        if let Some(side) = self.exec.tallies_on_device(&of) {
            let is_gpu = side.is_ok();
            self.on_gpu.insert(of.id, side);
            if is_gpu {
                if Exec::masked_by_device(of.input) {
                    self.all_below(of.input);
                }
                return;
            }
        }
        self.starts(of.input, of.from);
    }

    /// As [`Exec::sort`] marks the first rows; how many there are, where it does.
    fn best(
        &mut self,
        input: &Op,
        keys: &[(Ex, bool)],
        top: Option<&(Option<Ex>, Ex)>,
    ) -> Option<usize> {
        let (key, _) = keys.first()?;
        // An error is that of the run.
        let wanted = self.exec.wanted_rows(Some(top?), self.row).ok()?;
        if wanted > 0 {
            let base = self.exec.selects_best(input, key, wanted)?;
            self.all_below(base);
        }
        Some(wanted)
    }

    /// As [`Exec::starts`] finds the nodes that paths begin at.
    fn starts(&mut self, input: &Op, from: Slot) {
        let mut tests = Vec::new();
        if self.exec.masked(input, &mut tests).is_some() {
            if self.exec.masks_by_columns(from, &tests) {
                self.all_below(input);
            }
            return;
        }
        self.selected(input);
        self.operator(input);
    }

    fn all_below(&mut self, top: &Op) {
        let mut at = Some(top);
        while let Some(op) = at {
            self.found.extend(op.id());
            at = op.input();
        }
    }
}
