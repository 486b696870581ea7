//! Grouping and aggregates by columns.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_expr::{
    Fold, Folded, Folds, GROUPS_MAX, Keys, Number, Ranked, Rows, Test, Unfit, VECTOR_ROWS, truth,
};
use graphlume_graph::canon::Column;
use graphlume_table::TextColumn;
use rayon::prelude::*;

use super::{Pipeline, Start};
use crate::error::Res;
use crate::exec::Exec;
use crate::exec::eval::set;
use crate::exec::groups::{Groups, State};
use crate::exec::recorder::Way;
use crate::plan::{Agg, AggKind, Ex, Op, OpId, Slot};
use crate::value::{Edge, Value};

/// Why there are no groups by columns.
enum Other {
    /// They have to be made row by row.
    ByRow,
    Failed(Box<graphlume_expr::QueryError>),
}

/// An aggregate over one table, by columns.
struct Compiled<'e> {
    pipeline: Pipeline<'e>,
    rows: usize,
    by: Keys<'e>,
    folds: Vec<Folds<'e>>,
}

impl Exec<'_> {
    /// Whether [`Self::folded`] makes the groups of an aggregate, unless it meets a row that has no value.
    pub(in crate::exec) fn folds(&self, input: &Op, keys: &[(Slot, Ex)], aggs: &[Agg]) -> bool {
        let usual = self.by_columns && self.part.is_none();
        let compiled = usual.then(|| self.compiled(input, keys, aggs)).flatten();
        compiled.is_some_and(|c| self.all_tests(&c.pipeline).is_some())
    }

    /// What it takes the GPU of the tables, or why that would not do it; `None` where there is none.
    pub(in crate::exec) fn folds_on_device(
        &self,
        input: &Op,
        keys: &[(Slot, Ex)],
        aggs: &[Agg],
    ) -> Option<Result<String, String>> {
        let Compiled { pipeline, by, folds, rows } = self.compiled(input, keys, aggs)?;
        let shares = self.shares(aggs);
        self.side_of(self.folding_job(&pipeline, &by, (&folds, &shares), rows))
    }

    fn compiled<'e>(
        &'e self,
        input: &'e Op,
        keys: &'e [(Slot, Ex)],
        aggs: &'e [Agg],
    ) -> Option<Compiled<'e>> {
        let pipeline = Pipeline::of(input)?;
        let rows = self.table_rows(&pipeline)?;
        let by = self.grouping_keys(&pipeline, keys)?;
        let folds: Option<Vec<Folds<'_>>> =
            aggs.iter().map(|agg| self.fold_of(&pipeline, agg, by.groups())).collect();
        Some(Compiled { pipeline, rows, by, folds: folds? })
    }

    /// The groups of an aggregate over one table; `None` where rows have to be looked at one by one.
    pub(in crate::exec) fn folded(
        &self,
        (id, input): (OpId, &Op),
        keys: &[(Slot, Ex)],
        aggs: &[Agg],
        row: &mut [Value],
    ) -> Res<Option<Groups>> {
        if self.part.is_some() || !self.by_columns {
            return Ok(None);
        }
        match self.folded_or((id, input), keys, aggs, row) {
            Ok(groups) => Ok(Some(groups)),
            Err(Other::ByRow) => Ok(None),
            Err(Other::Failed(e)) => Err(e),
        }
    }

    fn folded_or(
        &self,
        (id, input): (OpId, &Op),
        keys: &[(Slot, Ex)],
        aggs: &[Agg],
        row: &mut [Value],
    ) -> Result<Groups, Other> {
        let Compiled { pipeline, rows, by, mut folds } =
            self.compiled(input, keys, aggs).ok_or(Other::ByRow)?;
        let elsewhere = self.folded_on_device(&pipeline, &by, (&folds, aggs), rows);
        // What the GPU has answered is tested again only to find the first row of each group.
        let test = match elsewhere.is_some() && keys.is_empty() {
            true => None,
            false => self.all_tests(&pipeline).ok_or(Other::ByRow)?,
        };
        let (counts, folded) = match elsewhere {
            Some(found) => {
                self.record(|r| r.took(Some(id), Way::Gpu));
                found
            }
            None => self.fit(self.folded_here(test.as_ref(), &by, (aggs, &mut folds), rows))?,
        };
        let mut groups = Groups::new(keys.len(), aggs.len());
        if keys.is_empty() {
            groups.add(std::iter::empty(), aggs);
            self.fill(&mut groups, (0, 0), aggs, (&counts, &folded, &folds))?;
            self.record_folded(input, &counts);
            return Ok(groups);
        }
        let met = self.first_rows(&pipeline, &by, test.as_ref(), &counts, rows)?;
        self.hold(met.len(), met.len() * (keys.len() + aggs.len())).map_err(Other::Failed)?;
        for (group, entity) in met {
            set(row, pipeline.slot().0, entity);
            let mut values = Vec::with_capacity(keys.len());
            for (_, key) in keys {
                let key = resolved(&pipeline, key);
                values.push(self.eval(key, row).map_err(Other::Failed)?);
            }
            let at = groups.add(values.into_iter(), aggs);
            self.fill(&mut groups, (at, group), aggs, (&counts, &folded, &folds))?;
        }
        self.record_folded(input, &counts);
        Ok(groups)
    }

    /// Notes that the input of groups was read by columns; each of its rows is in a group.
    fn record_folded(&self, input: &Op, counts: &[i64]) {
        self.record(|r| r.as_one(input, counts.iter().map(|n| n.unsigned_abs()).sum(), true));
    }

    fn fit<T>(&self, done: Result<T, Unfit>) -> Result<T, Other> {
        match done {
            Ok(done) => Ok(done),
            Err(Unfit::Value) => Err(Other::ByRow),
            Err(Unfit::Cancelled) => match self.cancelled() {
                Err(e) => Err(Other::Failed(e)),
                Ok(()) => Err(Other::ByRow),
            },
        }
    }

    fn grouping_keys<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        keys: &'e [(Slot, Ex)],
    ) -> Option<Keys<'e>> {
        let mut by = Keys::default();
        for (_, key) in keys {
            let cells = self.column_of(pipeline, key).filter(|c| c.is_plain());
            let Some(cells) = cells else {
                let number = self.compiled_number(pipeline, key)?;
                if by.number(number) {
                    continue;
                }
                return None;
            };
            let fits = match cells.column() {
                Column::Int(column) => by.number(Number::Ints(column)),
                Column::Bool(column) => by.truths(column),
                Column::Text(text) => {
                    let (codes, words) = text.dictionary().filter(|d| d.1.len() < GROUPS_MAX)?;
                    let (mut numbers, null) = numbered(words);
                    numbers.iter_mut().for_each(|n| *n = (*n).min(null));
                    by.dictionary(codes, numbers, null as usize)
                }
                _ => false,
            };
            if !fits {
                return None;
            }
        }
        Some(by)
    }

    fn fold_of<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        agg: &'e Agg,
        groups: usize,
    ) -> Option<Folds<'e>> {
        if agg.weight.is_some() {
            return None;
        }
        if agg.distinct {
            let of = Some(self.told_apart(pipeline, agg.arg.as_ref()?)?);
            return (agg.kind == AggKind::Count)
                .then_some(Folds { fold: distinct(of.as_ref(), groups), of });
        }
        let fold = match agg.kind {
            AggKind::CountRows | AggKind::Count => Fold::Count,
            AggKind::Sum | AggKind::Avg => Fold::Sum,
            AggKind::Min => Fold::Min,
            AggKind::Max => Fold::Max,
            AggKind::StDev | AggKind::StDevP => Fold::Moments,
            AggKind::PercentileCont | AggKind::PercentileDisc => {
                self.percentile_of(agg)?;
                Fold::List
            }
            AggKind::Collect => return None,
        };
        let of = match &agg.arg {
            None => None,
            // The node or the relationship itself is never null.
            Some(Ex::Slot(slot)) if *slot == pipeline.slot().0 && fold == Fold::Count => None,
            Some(arg) => Some(self.compiled_number(pipeline, arg)?),
        };
        Some(Folds { fold, of })
    }

    /// Numbers that tell the values of an expression apart.
    fn told_apart<'e>(&'e self, pipeline: &Pipeline<'e>, e: &'e Ex) -> Option<Number<'e>> {
        if let Some(number) = self.compiled_number(pipeline, e) {
            return Some(number);
        }
        let cells = self.column_of(pipeline, e).filter(|c| c.is_plain())?;
        let Column::Text(text) = cells.column() else { return None };
        let (keys, words) = text.dictionary()?;
        Some(Number::Codes(keys, Arc::new(numbered(words).0)))
    }

    /// Puts the results of a group into its cells.
    fn fill(
        &self,
        groups: &mut Groups,
        (at, group): (usize, usize),
        aggs: &[Agg],
        (counts, folded, folds): (&[i64], &[Folded], &[Folds<'_>]),
    ) -> Result<(), Other> {
        let rows = counts.get(group).copied().unwrap_or(0);
        let cells = groups.cells_mut(at).iter_mut().zip(aggs);
        for ((cell, agg), (folded, of)) in cells.zip(folded.iter().zip(folds)) {
            let (count, state) = match folded {
                Folded::Counts(_) if of.of.is_none() => (rows, State::Empty),
                Folded::Counts(known) => (known[group], State::Empty),
                Folded::Ints(cells) => self.integer(agg.kind, cells[group])?,
                Folded::Floats(cells) => match (agg.kind, cells[group]) {
                    (_, (0, _)) => (0, State::Empty),
                    (AggKind::Avg, (n, sum)) if (sum / n as f64).is_finite() => {
                        (n, State::Moments { mean: sum / n as f64, spread: 0.0 })
                    }
                    (AggKind::Avg, _) => return Err(Other::ByRow),
                    (_, (n, v)) => (n, State::Value(Value::float(v))),
                },
                Folded::Moments(cells) => match cells[group] {
                    (0, ..) => (0, State::Empty),
                    (n, mean, spread) => (n, State::Moments { mean, spread }),
                },
                Folded::Lists(lists) if agg.distinct => {
                    // 0.0 and -0.0 are one value.
                    let mut list: Vec<f64> = lists[group].iter().map(|v| v + 0.0).collect();
                    list.par_sort_unstable_by(f64::total_cmp);
                    list.dedup();
                    (list.len() as i64, State::Empty)
                }
                Folded::Distinct(bits) => {
                    let words = bits.len() / counts.len();
                    let own = &bits[group * words..(group + 1) * words];
                    (own.iter().map(|w| i64::from(w.count_ones())).sum(), State::Empty)
                }
                Folded::IntLists(lists) if agg.distinct => {
                    let mut list = lists[group].clone();
                    list.par_sort_unstable();
                    list.dedup();
                    (list.len() as i64, State::Empty)
                }
                Folded::Near(cells) => {
                    let is_int = of.of.as_ref().is_some_and(Number::is_int);
                    self.near_percentile(agg, &cells[group], is_int).ok_or(Other::ByRow)?
                }
                Folded::Lists(lists) => {
                    let mut list = Ranked::new(&lists[group]);
                    self.percentile(agg, lists[group].len(), &mut |i| {
                        Value::float(list.at(i, f64::total_cmp))
                    })
                }
                Folded::IntLists(lists) => {
                    let mut list = Ranked::new(&lists[group]);
                    self.percentile(agg, lists[group].len(), &mut |i| {
                        Value::int(list.at(i, i64::cmp))
                    })
                }
            };
            cell.put(count, state);
        }
        Ok(())
    }

    fn integer(&self, kind: AggKind, (n, v): (i64, i128)) -> Result<(i64, State), Other> {
        Ok(match kind {
            _ if n == 0 => (0, State::Empty),
            AggKind::Avg => (n, State::Moments { mean: v as f64 / n as f64, spread: 0.0 }),
            _ => (n, State::Value(Value::int(i64::try_from(v).map_err(|_| Other::ByRow)?))),
        })
    }

    /// The groups that have rows, with the node or relationship in which each was met first, in the order in which rows
    /// are made.
    fn first_rows(
        &self,
        pipeline: &Pipeline<'_>,
        by: &Keys<'_>,
        test: Option<&Test<'_>>,
        counts: &[i64],
        num_rows: usize,
    ) -> Result<Vec<(usize, Value)>, Other> {
        let mut left = counts.iter().filter(|n| **n > 0).count();
        let (mut met, mut seen) = (Vec::with_capacity(left), vec![false; counts.len()]);
        let topology = self.view.topology();
        for from in (0..num_rows).step_by(VECTOR_ROWS) {
            if left == 0 {
                break;
            }
            self.cancelled().map_err(Other::Failed)?;
            let len = VECTOR_ROWS.min(num_rows - from);
            let rows = match pipeline.start {
                Start::Nodes(..) => Rows::Run { from, len },
                // Rows are made in the order of the nodes that relationships leave.
                Start::Edges(_) => Rows::List(&topology.out_row()[from..from + len]),
            };
            let truths = self.fit(test.map(|t| t.eval(rows)).transpose())?;
            for (i, group) in self.fit(by.of(rows))?.into_iter().enumerate() {
                let passes = truths.as_ref().is_none_or(|t| t[i] == truth::TRUE);
                if !passes || std::mem::replace(&mut seen[group as usize], true) {
                    continue;
                }
                left -= 1;
                met.push((
                    group as usize,
                    match pipeline.start {
                        Start::Nodes(..) => Value::Node((from + i) as u32),
                        Start::Edges(_) => {
                            let (source, destination, row) = topology.edge((from + i) as u32);
                            Value::Edge(Edge { row, source, destination })
                        }
                    },
                ));
            }
        }
        Ok(met)
    }
}

/// A number for each of some words, from zero, equal ones for equal words and the greatest for null; and how many there
/// are.
fn numbered(words: &TextColumn) -> (Vec<u32>, u32) {
    let mut known = HashMap::new();
    let numbers = words.iter().map(|word| {
        word.map_or(u32::MAX, |word| {
            let next = known.len() as u32;
            *known.entry(word).or_insert(next)
        })
    });
    (numbers.collect(), known.len() as u32)
}

/// How to find the different values of a number in each of some groups: by a bit each where they lie close together.
fn distinct(number: Option<&Number<'_>>, groups: usize) -> Fold {
    const WORDS_MAX: usize = 1 << 16;
    let bounds = number.filter(|n| n.is_int()).and_then(Number::bounds);
    let words = bounds.and_then(|(low, high)| {
        let words = usize::try_from(high.checked_sub(low)?).ok()? / 64 + 1;
        (words <= WORDS_MAX / groups).then_some(Fold::Distinct { low, words })
    });
    words.unwrap_or(Fold::List)
}

/// A key without the projections on the way.
fn resolved<'p>(pipeline: &Pipeline<'p>, key: &'p Ex) -> &'p Ex {
    match key {
        Ex::Slot(slot) => pipeline.item(*slot).map_or(key, |item| resolved(pipeline, item)),
        key => key,
    }
}
