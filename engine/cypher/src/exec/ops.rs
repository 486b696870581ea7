//! Operators that are not patterns.

use graphlume_expr::Scalar;

use super::coder::{Coder, Joint};
use super::edges::StepTest;
use super::eval::set;
use super::recorder::Way;
use super::tally::Tally;
use super::{Exec, Flow, Sink, Stop};
use crate::error::{Res, type_error, value_error};
use crate::plan::{Ex, Op, OpId, Plan, Slot};
use crate::row_buffer::{Column, Rows};
use crate::value::Value;

/// Rows beyond twice the wanted ones that a sort with a limit holds before it drops the rest.
const TOP_SLACK: usize = 4_096;

/// Names of the result columns and their values.
pub(super) type Columns = (Vec<String>, Vec<Column>);

impl Exec<'_> {
    /// Runs a whole plan and holds its rows.
    pub(super) fn collect(&self, plan: &Plan) -> Res<Columns> {
        let mut row = vec![Value::NULL; plan.slots];
        let width = plan.columns.len();
        let gather = |exec: &Exec<'_>, row: &mut [Value]| {
            let mut rows = Rows::new(width);
            let result = exec.run(&plan.root, row, &mut |row| {
                let values = plan.columns.iter().map(|(_, s)| row.get(*s).unwrap_or(&Value::NULL));
                exec.hold(rows.len(), values.clone().map(|v| v.size().weight as usize).sum())?;
                rows.push(values);
                Ok(())
            });
            match result {
                Err(Stop::Failed(e)) => Err(e),
                _ => Ok(rows),
            }
        };
        let rows = match self.cut(&plan.root, &mut row)? {
            None => match &plan.root {
                // Where all rows are wanted, DISTINCT is grouping, which can be shared out.
                Op::Distinct { id, input, slots } if self.cut(input, &mut row)?.is_some() => {
                    let keys: Vec<_> = slots.iter().map(|s| (*s, Ex::Slot(*s))).collect();
                    let mut rows = Rows::new(width);
                    let result = self.aggregate((*id, input), &keys, &[], &mut row, &mut |row| {
                        self.hold(rows.len(), width)?;
                        let columns = plan.columns.iter();
                        rows.push(columns.map(|(_, s)| row.get(*s).unwrap_or(&Value::NULL)));
                        Ok(())
                    });
                    self.record(|r| r.ran(Some(*id), rows.len() as u64));
                    match result {
                        Err(Stop::Failed(e)) => return Err(e),
                        _ => rows,
                    }
                }
                _ => gather(self, &mut row)?,
            },
            Some(cut) => self.joined_rows(self.share(cut, &mut row, gather)?, width)?,
        };
        let names = plan.columns.iter().map(|(n, _)| n.clone()).collect();
        Ok((names, rows.into_columns()))
    }

    /// Rows of several parts behind each other.
    fn joined_rows(&self, parts: Vec<Rows>, width: usize) -> Res<Rows> {
        let mut all = Rows::new(width);
        for part in parts {
            self.hold(all.len() + part.len(), 0)?;
            all.append(part);
        }
        Ok(all)
    }

    /// Runs a procedure that is the whole query: its columns are the result.
    pub(super) fn whole_call(&self, plan: &Plan) -> Res<Columns> {
        let Op::Call { name, args, .. } = &plan.root else { return self.collect(plan) };
        let mut row = vec![Value::NULL; plan.slots];
        let args: Res<Vec<Value>> = args.iter().map(|a| self.eval(a, &mut row)).collect();
        let table = self.procedures.call(self.view.graph(), name, &args?, self.cancel);
        let table = table.map_err(Box::new)?;
        let mut rows = Rows::new(table.columns.len());
        for values in &table.rows {
            self.hold(rows.len(), table.columns.len())?;
            rows.push(values.iter());
        }
        self.record(|r| r.ran(plan.root.id(), rows.len() as u64));
        Ok((table.columns, rows.into_columns()))
    }

    /// Runs an operator on a row and pushes what it yields.
    pub(super) fn run(&self, op: &Op, row: &mut [Value], sink: &mut Sink<'_>) -> Flow {
        if let Some(flow) = self.played(op, row, sink) {
            return flow;
        }
        let Some(recorder) = self.recorder else { return self.make_rows(op, row, sink) };
        let mut rows = 0;
        let flow = self.make_rows(op, row, &mut |row| {
            rows += 1;
            sink(row)
        });
        recorder.ran(op.id(), rows);
        flow
    }

    fn make_rows(&self, op: &Op, row: &mut [Value], sink: &mut Sink<'_>) -> Flow {
        if let Some(flow) = self.selected_rows(op, row, sink) {
            return flow;
        }
        match op {
            Op::Argument => sink(row),
            Op::Scan { id, input, slot, labels, seek } => {
                self.run(input, row, &mut |row| self.scan(row, (*id, *slot), labels, seek, sink))
            }
            Op::Check { input, slot, labels, .. } => {
                self.run(input, row, &mut |row| match super::expand::node_at(row, *slot)? {
                    Some(v) if self.has_labels(v, labels) => sink(row),
                    _ => Ok(()),
                })
            }
            Op::Expand { input, step, .. } => {
                let mut made = StepTest::default();
                self.run(input, row, &mut |row| self.expand(row, step, &mut made, sink))
            }
            Op::Tally { weight, .. } => match Tally::of(op, None) {
                Some(of) => self.tally(&of, *weight, row, sink),
                None => Ok(()),
            },
            Op::Ends { input, step, from_bound, .. } => {
                self.run(input, row, &mut |row| self.ends(row, step, *from_bound, sink))
            }
            Op::VarExpand { input, step, span, .. } => {
                self.run(input, row, &mut |row| self.var_expand(row, step, span, sink))
            }
            Op::Walk { input, step, .. } => {
                self.run(input, row, &mut |row| self.walk(row, step, sink))
            }
            Op::Shortest { input, step, span, path, all, .. } => {
                self.run(input, row, &mut |row| self.shortest(row, step, span, (*path, *all), sink))
            }
            Op::Path { input, slot, nodes, rels, .. } => self.run(input, row, &mut |row| {
                let path = self.path(row, nodes, rels)?;
                set(row, *slot, path);
                sink(row)
            }),
            Op::Filter { id, input, test } => {
                let far = match &**input {
                    Op::Expand { step, .. } if !step.closes => Some(step.to),
                    _ => None,
                };
                let mut marks = None;
                self.run(input, row, &mut |row| {
                    let passes = match far {
                        Some(far) => self.far_test((*id, test), far, &mut marks, row)?,
                        None => self.test(test, row)?,
                    };
                    if passes == Some(true) { sink(row) } else { Ok(()) }
                })
            }
            Op::Project { input, items, .. } => self.run(input, row, &mut |row| {
                for (slot, item) in items {
                    let value = self.eval(item, row)?;
                    set(row, *slot, value);
                }
                sink(row)
            }),
            Op::Aggregate { id, input, keys, aggs } => {
                self.aggregate((*id, input), keys, aggs, row, sink)
            }
            Op::Distinct { input, slots, .. } => self.distinct(input, slots, row, sink),
            Op::Sort { id, input, keys, keep, top } => {
                self.sort((*id, input), keys, keep, top.as_ref(), row, sink)
            }
            Op::Skip { input, count, .. } => {
                let mut left = self.count(count, row)?;
                self.run(input, row, &mut |row| {
                    if left == 0 {
                        return sink(row);
                    }
                    left -= 1;
                    Ok(())
                })
            }
            Op::Limit { input, count, .. } => self.limit(input, count, row, sink),
            Op::Unwind { input, list, slot, .. } => {
                self.run(input, row, &mut |row| match self.eval(list, row)? {
                    Value::Scalar(Scalar::Null) => Ok(()),
                    Value::List(list) => {
                        for item in list.iter() {
                            self.tick()?;
                            set(row, *slot, item.clone());
                            sink(row)?;
                        }
                        Ok(())
                    }
                    other => {
                        set(row, *slot, other);
                        sink(row)
                    }
                })
            }
            Op::Optional { input, inner, slots, .. } => self.run(input, row, &mut |row| {
                let mut found = false;
                self.run(inner, row, &mut |row| {
                    found = true;
                    sink(row)
                })?;
                if found {
                    return Ok(());
                }
                slots.iter().for_each(|s| set(row, *s, Value::NULL));
                sink(row)
            }),
            Op::Union { parts, out, .. } => {
                for (part, slots) in parts {
                    self.run(part, row, &mut |row| {
                        for (from, to) in slots.iter().zip(out) {
                            let value = row.get(*from).cloned().unwrap_or_default();
                            set(row, *to, value);
                        }
                        sink(row)
                    })?;
                }
                Ok(())
            }
            Op::Call { input, name, args, yields, .. } => {
                self.run(input, row, &mut |row| self.call(name, args, yields, row, sink))
            }
        }
    }

    fn call(
        &self,
        name: &str,
        args: &[Ex],
        yields: &[(String, Slot)],
        row: &mut [Value],
        sink: &mut Sink<'_>,
    ) -> Flow {
        let args: Res<Vec<Value>> = args.iter().map(|a| self.eval(a, row)).collect();
        let table = self.procedures.call(self.view.graph(), name, &args?, self.cancel);
        let table = table.map_err(Box::new)?;
        let mut columns = Vec::new();
        for (from, slot) in yields {
            let Some(i) = table.columns.iter().position(|c| c == from) else {
                let what = format!("the procedure {name} has no result {from:?}");
                let known = table.columns.join(", ");
                let error = *value_error(what);
                return Err(Box::new(error.suggest(format!("its results: {known}"))).into());
            };
            columns.push((i, *slot));
        }
        for values in &table.rows {
            self.tick()?;
            for (i, slot) in &columns {
                set(row, *slot, values.get(*i).cloned().unwrap_or_default());
            }
            sink(row)?;
        }
        Ok(())
    }

    /// A number of rows.
    pub(super) fn count(&self, e: &Ex, row: &mut [Value]) -> Res<usize> {
        match self.eval(e, row)? {
            Value::Scalar(Scalar::Int(n)) => usize::try_from(n)
                .map_err(|_| value_error(format!("a number of rows cannot be negative: {n}"))),
            other => Err(type_error(format!(
                "a number of rows must be an integer, not {}",
                other.kind()
            ))),
        }
    }

    fn limit(&self, input: &Op, count: &Ex, row: &mut [Value], sink: &mut Sink<'_>) -> Flow {
        let mut left = self.count(count, row)?;
        if left == 0 {
            return Ok(());
        }
        let mut enough = false;
        let result = self.run(input, row, &mut |row| {
            left -= 1;
            sink(row)?;
            enough = left == 0;
            if enough { Err(Stop::Done) } else { Ok(()) }
        });
        match result {
            // Only an end that came from here ends here.
            Err(Stop::Done) if enough => Ok(()),
            other => other,
        }
    }

    fn distinct(&self, input: &Op, slots: &[Slot], row: &mut [Value], sink: &mut Sink<'_>) -> Flow {
        let exprs: Vec<Ex> = slots.iter().map(|s| Ex::Slot(*s)).collect();
        let nodes = self.view.num_nodes() as usize;
        let mut coders: Vec<Coder<'_>> = exprs.iter().map(|e| Coder::new(e, nodes)).collect();
        let mut joint = Joint::new(slots.len());
        let mut codes = Vec::with_capacity(slots.len());
        let mut any = false;
        self.run(input, row, &mut |row| {
            self.tick()?;
            codes.clear();
            for coder in &mut coders {
                codes.push(coder.code(self, row)?);
            }
            let (group, new) = joint.group(&codes);
            // Of rows without columns there is one.
            let first = new || slots.is_empty() && !any;
            any = true;
            if !first {
                return Ok(());
            }
            self.hold(group, 1)?;
            sink(row)
        })
    }

    /// How many rows of a sort are looked at: those that are skipped, and those that are given.
    pub(super) fn wanted_rows(
        &self,
        top: Option<&(Option<Ex>, Ex)>,
        row: &mut [Value],
    ) -> Res<usize> {
        let Some((skip, limit)) = top else { return Ok(usize::MAX) };
        let skip = skip.as_ref().map(|s| self.count(s, row)).transpose()?.unwrap_or(0);
        Ok(self.count(limit, row)?.saturating_add(skip))
    }

    /// Keys and kept values of the groups that may be among the wanted ones.
    fn rows_of_groups(
        &self,
        grouped: &super::aggregate::Grouped<'_>,
        (keys, keep): (&[(Ex, bool)], &[Slot]),
        wanted: usize,
        row: &mut [Value],
    ) -> Res<Rows> {
        let width = keys.len() + keep.len();
        let (mut rows, mut values) = (Rows::new(width), Vec::with_capacity(keys.len()));
        let Some((first, down)) = keys.first() else { return Ok(rows) };
        for group in self.best_groups(grouped, (first, *down), wanted, row)? {
            self.put_group(grouped, group, row)?;
            values.clear();
            for (key, _) in keys {
                values.push(self.eval(key, row)?);
            }
            self.hold(rows.len(), width)?;
            let kept = keep.iter().map(|s| row.get(*s).unwrap_or(&Value::NULL));
            rows.push(values.iter().chain(kept));
        }
        Ok(rows)
    }

    fn sort(
        &self,
        (id, input): (OpId, &Op),
        keys: &[(Ex, bool)],
        keep: &[Slot],
        top: Option<&(Option<Ex>, Ex)>,
        row: &mut [Value],
        sink: &mut Sink<'_>,
    ) -> Flow {
        let wanted = self.wanted_rows(top, row)?;
        if wanted == 0 {
            return Ok(());
        }
        if let (Some((key, down)), true) = (keys.first(), wanted < usize::MAX)
            && self.select_best(input, (key, *down), wanted)?
        {
            self.record(|r| r.took(Some(id), Way::Columns));
        }
        let down: Vec<bool> = keys.iter().map(|(_, down)| *down).collect();
        let width = keys.len() + keep.len();
        let most = wanted.saturating_mul(2).saturating_add(TOP_SLACK);
        let gather = |exec: &Exec<'_>, row: &mut [Value]| {
            let mut rows = Rows::new(width);
            let mut values = Vec::with_capacity(keys.len());
            let mut peak = 0;
            let result = exec.run(input, row, &mut |row| {
                values.clear();
                for (key, _) in keys {
                    values.push(exec.eval(key, row)?);
                }
                // Rows that fall out of the best make place for others.
                exec.hold(rows.len(), if rows.len() >= peak { width } else { 0 })?;
                peak = peak.max(rows.len() + 1);
                let kept = keep.iter().map(|s| row.get(*s).unwrap_or(&Value::NULL));
                rows.push(values.iter().chain(kept));
                if rows.len() >= most {
                    let mut best = rows.sorted(&down);
                    best.truncate(wanted);
                    rows.keep(&best);
                }
                exec.tick()?;
                Ok(())
            });
            match result {
                Err(Stop::Failed(e)) => Err(e),
                _ => Ok(rows),
            }
        };
        let rows = match (input, self.cut(input, row)?) {
            (Op::Aggregate { id, input, keys: by, aggs }, _) => {
                let first = Self::first_by_paths(keys, aggs, wanted);
                let grouped = self.grouping((*id, input), by, (aggs, first), row)?;
                self.record(|r| r.ran(Some(*id), grouped.len() as u64));
                self.rows_of_groups(&grouped, (keys, keep), wanted, row)?
            }
            (_, None) => gather(self, row)?,
            (_, Some(cut)) => self.joined_rows(self.share(cut, row, gather)?, width)?,
        };
        self.cancel.check().map_err(|e| Box::new(e.into()))?;
        for i in rows.sorted(&down).into_iter().take(wanted) {
            self.tick()?;
            for (n, slot) in keep.iter().enumerate() {
                set(row, *slot, rows.get(i as usize, keys.len() + n));
            }
            sink(row)?;
        }
        Ok(())
    }
}
