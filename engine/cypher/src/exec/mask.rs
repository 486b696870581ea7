//! Conditions on all nodes at once: a mark for each node, column by column where that is possible.

use std::sync::Arc;

use arrow_array::Array;
use graphlume_expr::{Cmp, Scalar};
use graphlume_graph::canon::Column;
use rayon::prelude::*;

use super::Exec;
use super::eval::set;
use super::groups::EXACT_BOUND;
use super::parallel::Part;
use super::recorder::Way;
use crate::column_reader::ColumnReader;
use crate::error::Res;
use crate::plan::{Ex, OpId, Slot};
use crate::tuning::tuning;
use crate::value::Value;

/// A comparison of a column with a constant, of kinds that need no value for a cell.
pub(super) struct ColumnTest<'a> {
    cells: &'a ColumnReader,
    op: Cmp,
    constant: &'a Value,
}

/// Clears the marks of numbers that do not pass; what has no order with the constant does not.
fn narrow_numbers<T: PartialOrd + Copy>(op: Cmp, cells: &[T], c: T, marks: &mut [bool]) {
    // A loop for each comparison, so that none of them branches within.
    fn each<T: Copy>(cells: &[T], marks: &mut [bool], passes: impl Fn(T) -> bool) {
        marks.iter_mut().zip(cells).for_each(|(mark, cell)| *mark &= passes(*cell));
    }
    match op {
        Cmp::Eq => each(cells, marks, |v| v == c),
        Cmp::Ne => each(cells, marks, |v| (v < c) | (v > c)),
        Cmp::Lt => each(cells, marks, |v| v < c),
        Cmp::Le => each(cells, marks, |v| v <= c),
        Cmp::Gt => each(cells, marks, |v| v > c),
        Cmp::Ge => each(cells, marks, |v| v >= c),
    }
}

impl<'a> ColumnTest<'a> {
    /// `None` where a value has to be made to compare.
    pub(super) fn new(cells: &'a ColumnReader, op: Cmp, constant: &'a Value) -> Option<Self> {
        let plain = match (cells.column(), constant) {
            (Column::Int(_), Value::Scalar(Scalar::Int(_)))
            | (Column::UInt(_), Value::Scalar(Scalar::UInt(_)))
            | (Column::Text(_), Value::Scalar(Scalar::Text(_))) => true,
            (Column::Float(_), Value::Scalar(Scalar::Float(v))) => !v.is_nan(),
            (Column::Float(_), Value::Scalar(Scalar::Int(v))) => {
                (v.unsigned_abs() as f64) < EXACT_BOUND
            }
            _ => false,
        };
        plain.then_some(Self { cells, op, constant })
    }

    /// Clears the marks of the rows from `from` on that do not pass.
    pub(super) fn narrow(&self, from: usize, marks: &mut [bool]) {
        match (self.cells.column(), self.constant) {
            (Column::Int(a), Value::Scalar(Scalar::Int(c))) => {
                narrow_numbers(self.op, a.values().get(from..).unwrap_or_default(), *c, marks);
                valid_only(a, from, marks);
            }
            (Column::UInt(a), Value::Scalar(Scalar::UInt(c))) => {
                narrow_numbers(self.op, a.values().get(from..).unwrap_or_default(), *c, marks);
                valid_only(a, from, marks);
            }
            (Column::Float(a), constant) => {
                let c = constant.as_f64().unwrap_or(f64::NAN);
                narrow_numbers(self.op, a.values().get(from..).unwrap_or_default(), c, marks);
                valid_only(a, from, marks);
            }
            (Column::Text(text), Value::Scalar(Scalar::Text(word))) => {
                let passes = |cell: Option<&str>| {
                    cell.is_some_and(|cell| match self.op {
                        // Texts of different lengths need no look.
                        Cmp::Eq => *cell == **word,
                        Cmp::Ne => *cell != **word,
                        op => op.accepts(cell.cmp(word)),
                    })
                };
                match text.dictionary() {
                    Some((keys, values)) => {
                        let answers: Vec<bool> = values.iter().map(passes).collect();
                        let of = |key: &u32| answers.get(*key as usize).copied().unwrap_or(false);
                        let cells = marks.iter_mut().zip(keys.values().iter().skip(from));
                        cells.for_each(|(mark, key)| *mark &= of(key));
                        valid_only(keys, from, marks);
                    }
                    None => {
                        let rows = marks.iter_mut().zip(from..text.len());
                        rows.for_each(|(mark, row)| *mark = *mark && passes(text.get(row)));
                    }
                }
            }
            // Not made, see below.
            _ => marks.fill(false),
        }
    }
}

/// Clears the marks of nulls.
fn valid_only(array: &dyn Array, from: usize, marks: &mut [bool]) {
    let Some(nulls) = array.nulls() else { return };
    let len = marks.len().min(nulls.len().saturating_sub(from));
    let Some(marks) = marks.get_mut(..len) else { return };
    // Word by word: most have no null at all.
    let bits = nulls.inner().slice(from.min(nulls.len()), len);
    let chunks = bits.bit_chunks();
    let words = chunks.iter().chain(std::iter::once(chunks.remainder_bits()));
    for (marks, word) in marks.chunks_mut(u64::BITS as usize).zip(words) {
        if word.trailing_ones() as usize >= marks.len() {
            continue;
        }
        marks.iter_mut().zip(0..).for_each(|(mark, i)| *mark &= word >> i & 1 == 1);
    }
}

impl Exec<'_> {
    /// A mark for every node: whether it has the labels and passes all the tests, which look at nothing but
    /// the node in `slot`. And whether columns told all of that, so that no row was looked at.
    pub(super) fn mask(
        &self,
        slot: Slot,
        labels: &[usize],
        tests: &[&Ex],
        row: &[Value],
    ) -> Res<(Arc<Vec<bool>>, bool)> {
        let labelled = self.labelled(labels);
        if tests.is_empty() {
            return Ok((labelled, true));
        }
        let mut marks = Vec::clone(&labelled);
        let mut rest = Vec::new();
        for test in tests {
            let mut found = Vec::new();
            if self.view.rows_are_nodes() && self.column_tests(test, slot, &mut found) {
                found.iter().for_each(|test| test.narrow(0, &mut marks));
            } else {
                rest.push(*test);
            }
        }
        self.cancelled()?;
        if rest.is_empty() {
            return Ok((Arc::new(marks), true));
        }
        let shared = self.shared;
        marks.par_chunks_mut(tuning().mask_nodes_at_once).enumerate().try_for_each(
            |(i, marks)| {
                let exec = Exec::new(shared, Some(Part::Alone));
                let mut row = row.to_vec();
                for (v, mark) in ((i * tuning().mask_nodes_at_once) as u32..).zip(marks) {
                    if !*mark {
                        continue;
                    }
                    exec.tick()?;
                    set(&mut row, slot, Value::Node(v));
                    for test in &rest {
                        if exec.test(test, &mut row)? != Some(true) {
                            *mark = false;
                            break;
                        }
                    }
                }
                Res::Ok(())
            },
        )?;
        Ok((Arc::new(marks), false))
    }

    /// A mark for every node: whether it has the labels.
    pub(super) fn labelled(&self, labels: &[usize]) -> Arc<Vec<bool>> {
        let known = self.shared.labelled.lock().ok().and_then(|all| all.get(labels).cloned());
        if let Some(found) = known {
            return found;
        }
        let mut marks = vec![true; self.view.num_nodes() as usize];
        for label in labels {
            match self.labels.get(*label) {
                Some(test) => {
                    self.view.prepare(test, self.cancel);
                    self.view.narrow(test, 0, &mut marks);
                }
                None => marks.fill(false),
            }
        }
        let marks = Arc::new(marks);
        if let Ok(mut all) = self.shared.labelled.lock() {
            all.insert(labels.to_vec(), Arc::clone(&marks));
        }
        marks
    }

    /// Tests the node in a slot; after many nodes all of them are tested at once, and the `marks` are asked.
    pub(super) fn far_test(
        &self,
        (id, test): (OpId, &Ex),
        slot: Slot,
        marks: &mut Option<Arc<Vec<bool>>>,
        row: &mut [Value],
    ) -> Res<Option<bool>> {
        if marks.is_none() && self.is_busy() {
            *marks = self.shared_marks((id, test), slot)?;
            if marks.as_ref().is_some_and(|marks| !marks.is_empty()) {
                self.record(|r| r.took(Some(id), Way::Marks));
            }
        }
        match (marks, row.get(slot)) {
            (Some(marks), Some(Value::Node(v))) if !marks.is_empty() => {
                Ok(Some(marks.get(*v as usize).copied().unwrap_or(false)))
            }
            _ => self.test(test, row),
        }
    }

    /// The marks of a test of nodes, made by the thread that asks first; empty where the test is of another
    /// form. `None` while they are being made.
    fn shared_marks(&self, (id, test): (OpId, &Ex), slot: Slot) -> Res<Option<Arc<Vec<bool>>>> {
        let Ok(mut all) = self.shared.marks.try_lock() else { return Ok(None) };
        if let Some(found) = all.get(&id) {
            return Ok(Some(Arc::clone(found)));
        }
        let mut found = Vec::new();
        let plain = self.view.rows_are_nodes() && self.column_tests(test, slot, &mut found);
        let mut marks = vec![true; if plain { self.view.num_nodes() as usize } else { 0 }];
        self.cancel.take(marks.len() as u64).map_err(|e| Box::new(e.into()))?;
        for test in found.iter().filter(|_| plain) {
            test.narrow(0, &mut marks);
        }
        let marks = Arc::new(marks);
        all.insert(id, Arc::clone(&marks));
        Ok(Some(marks))
    }

    /// Whether [`Self::mask`] looks at no row for these tests.
    pub(super) fn masks_by_columns(&self, slot: Slot, tests: &[&Ex]) -> bool {
        let plain = |test: &&Ex| {
            self.view.rows_are_nodes() && self.column_tests(test, slot, &mut Vec::new())
        };
        tests.iter().all(plain)
    }

    /// The comparisons that a test consists of; false when it is of another form.
    fn column_tests<'t>(
        &'t self,
        test: &'t Ex,
        slot: Slot,
        into: &mut Vec<ColumnTest<'t>>,
    ) -> bool {
        match test {
            Ex::And(list) => list.iter().all(|test| self.column_tests(test, slot, into)),
            Ex::Compare(left, rest) => {
                let ([(op, right)], Ex::Prop(base, key)) = (rest.as_slice(), &**left) else {
                    return false;
                };
                if !matches!(**base, Ex::Slot(s) if s == slot) {
                    return false;
                }
                let cells = self.keys.get(*key).and_then(|key| key.node.as_ref());
                let Some((cells, constant)) = cells.zip(self.fixed(right)) else { return false };
                let test = ColumnTest::new(cells, *op, constant);
                let plain = test.is_some();
                into.extend(test);
                plain
            }
            _ => false,
        }
    }
}
