//! Grouping by what is known before the last step of a pattern: no row is made for the nodes that the step leads
//! to, whose values are read one column at a time.

use arrow_array::{Array, Float64Array, Int64Array};
use graphlume_expr::Scalar;
use graphlume_graph::canon::Column;

use super::aggregate::Grouper;
use super::edges::{EdgeTest, StepTest};
use super::expand::node_at;
use super::recorder::Way;
use super::relation::Relation;
use super::{Exec, Flow};
use crate::error::Res;
use crate::plan::{Agg, AggKind, Ex, Op, OpId, Slot, Step};
use crate::value::Value;
use graphlume_graph::Direction;

/// Where an aggregate of the ends of a step finds its values.
enum Read<'a> {
    /// It counts rows.
    Rows,
    Floats(&'a Float64Array),
    Ints(&'a Int64Array),
}

/// The last step of a grouping's input.
pub(super) struct LastStep<'p, 'a> {
    /// What makes the rows that it starts from.
    input: &'p Op,
    id: OpId,
    step: &'p Step,
    reads: Vec<Read<'a>>,
}

/// Whether an expression is the same for all ends of a step.
fn is_before(e: &Ex, step: &Step) -> bool {
    let before = |slot: &Slot| *slot != step.to && *slot != step.rel;
    match e {
        Ex::Const(_) | Ex::Param(_) => true,
        Ex::Slot(slot) => before(slot),
        Ex::Prop(base, _) => is_before(base, step),
        _ => false,
    }
}

impl<'a> Exec<'a> {
    /// The last step of the input, when the keys are known before it and the aggregates read numbers of its
    /// ends.
    pub(super) fn last_step<'p, 's>(
        &'s self,
        input: &'p Op,
        keys: &[(Slot, Ex)],
        aggs: &[Agg],
    ) -> Option<LastStep<'p, 's>> {
        let Op::Expand { id, input, step } = input else { return None };
        let one_way =
            step.direction != Direction::Undirected && !step.closes && step.others.is_empty();
        if !one_way || !self.view.rows_are_nodes() || !keys.iter().all(|(_, e)| is_before(e, step))
        {
            return None;
        }
        let reads: Option<Vec<Read<'_>>> = aggs.iter().map(|agg| self.read_of(agg, step)).collect();
        let reads = reads.filter(|reads| !reads.is_empty())?;
        Some(LastStep { input, id: *id, step, reads })
    }

    fn read_of(&self, agg: &Agg, step: &Step) -> Option<Read<'_>> {
        use AggKind::{Avg, Count, CountRows, Max, Min, Sum};
        let Some(arg) = &agg.arg else {
            return (agg.kind == CountRows).then_some(Read::Rows);
        };
        let plain = matches!(agg.kind, Count | Sum | Avg | Min | Max) && !agg.distinct;
        let Ex::Prop(base, key) = arg else { return None };
        if !plain || !matches!(**base, Ex::Slot(slot) if slot == step.to) {
            return None;
        }
        match self.keys.get(*key)?.node.as_ref()?.number_column()? {
            Column::Float(a) => Some(Read::Floats(a)),
            Column::Int(a) => Some(Read::Ints(a)),
            _ => None,
        }
    }

    /// Whether all nodes that a relation's relationships leave, or with `out` unset all that they lead to, are known to
    /// have the labels that a step asks for at its far end.
    pub(super) fn ends_have(&self, relation: &Relation, step: &Step, out: bool) -> bool {
        let words = self.type_words(&step.types);
        step.labels.iter().all(|label| {
            let label = self.labels.get(*label);
            label.is_some_and(|l| relation.ends_have(self.view, &words, (l, out), self.cancel))
        })
    }

    /// Puts the values of the ends of a step into a group.
    fn feed_ends(
        &self,
        grouper: &mut Grouper<'_>,
        group: usize,
        reads: &[Read<'_>],
        ends: &[u32],
    ) -> Res<()> {
        let cells = grouper.groups.cells_mut(group).iter_mut();
        for ((agg, cell), read) in grouper.aggs.iter().zip(cells).zip(reads) {
            let rows = ends.iter().map(|v| *v as usize);
            match read {
                Read::Rows => cell.add_count(ends.len() as i64)?,
                Read::Floats(a) => {
                    let rows = rows.filter(|row| a.is_valid(*row));
                    let values = rows.map(|row| a.value(row)).filter(|v| !v.is_nan());
                    cell.take_floats(self, agg.kind, values)?;
                }
                Read::Ints(a) => {
                    let rows = rows.filter(|row| a.is_valid(*row));
                    cell.take_ints(self, agg.kind, rows.map(|row| a.value(row)))?;
                }
            }
        }
        Ok(())
    }

    /// Groups the ends of the last step; `COUNT` says whether the run is recorded, and the step with it.
    pub(super) fn grouped_ends<const COUNT: bool>(
        &self,
        last: &LastStep<'_, '_>,
        grouper: &mut Grouper<'_>,
        row: &mut [Value],
    ) -> Flow {
        let step = last.step;
        self.prepare_labels(&step.labels);
        let mut made = StepTest::default();
        // The ends of one step that have the labels, and whether all of all steps do.
        let mut some: Vec<u32> = Vec::new();
        let mut covered: Option<bool> = None;
        let far_ends_fit = |test: &EdgeTest| {
            let out = step.direction == Direction::Reverse;
            test.relation().is_some_and(|relation| self.ends_have(relation, step, out))
        };
        let mut made_rows = 0;
        let flow = self.run(last.input, row, &mut |row| {
            let Some(v) = node_at(row, step.from)? else { return Ok(()) };
            let once = |agg: &Agg| {
                let times = agg.weight.and_then(|slot| row.get(slot));
                matches!(times, None | Some(Value::Scalar(Scalar::Int(1))))
            };
            let once = grouper.aggs.iter().all(once);
            let test = self.step_test(step, &mut made, row)?;
            if test.never() {
                return Ok(());
            }
            let Some(all) = test.ends(self.view, v, step.direction).filter(|_| once) else {
                return self.expand(row, step, &mut made, &mut |row| {
                    made_rows += u64::from(COUNT);
                    grouper.feed(self, row)
                });
            };
            self.tick_by(all.len() as u32)?;
            let ends = match *covered.get_or_insert_with(|| far_ends_fit(test)) {
                true => all,
                false => {
                    let exists = self.view.num_nodes();
                    let fits = |to: &&u32| **to < exists && self.has_labels(**to, &step.labels);
                    some.clear();
                    some.extend(all.iter().filter(fits));
                    &some
                }
            };
            if COUNT {
                made_rows += ends.len() as u64;
            }
            if ends.is_empty() {
                return Ok(());
            }
            let group = grouper.group(self, row)?;
            self.feed_ends(grouper, group, &last.reads, ends)?;
            Ok(())
        });
        self.record(|r| {
            r.ran(Some(last.id), made_rows);
            r.took(Some(last.id), Way::Absorbed);
        });
        flow
    }
}
