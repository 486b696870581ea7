//! Percentiles by columns.

use graphlume_expr::{Fold, Folded, Folds, Keys, Near, Ranked, Test, Unfit, float_of, fold, near};

use crate::exec::Exec;
use crate::exec::groups::{State, percentile};
use crate::plan::Agg;
use crate::value::Value;

impl Exec<'_> {
    /// The share of the values below a percentile, when it is the same for all rows.
    pub(super) fn percentile_of(&self, agg: &Agg) -> Option<f64> {
        let given = self.fixed(agg.extra.as_ref()?)?.as_f64()?;
        (0.0..=1.0).contains(&given).then_some(given)
    }

    /// Aggregates on the CPU. Percentiles of all rows are found without a list of the values, unless a sample of the rows
    /// misleads.
    pub(super) fn folded_here(
        &self,
        test: Option<&Test<'_>>,
        by: &Keys<'_>,
        (aggs, folds): (&[Agg], &mut [Folds<'_>]),
        rows: usize,
    ) -> Result<(Vec<i64>, Vec<Folded>), Unfit> {
        let is_list = |of: &Folds<'_>, agg: &Agg| of.fold == Fold::List && !agg.distinct;
        if by.groups() == 1 {
            for (of, agg) in folds.iter_mut().zip(aggs).filter(|(of, agg)| is_list(of, agg)) {
                let (Some(number), Some(share)) = (&of.of, self.percentile_of(agg)) else {
                    continue;
                };
                of.fold = near(share, number, test, rows, self.cancel).unwrap_or(Fold::List);
            }
        }
        let (counts, folded) = fold(test, by, folds, rows, self.cancel)?;
        let mut missed = false;
        for ((of, agg), folded) in folds.iter_mut().zip(aggs).zip(&folded) {
            let Folded::Near(cells) = folded else { continue };
            let mut misses = false;
            self.percentile(agg, cells[0].count(), &mut |k| {
                misses |= cells[0].at(k).is_none();
                Value::int(0)
            });
            if misses {
                of.fold = Fold::List;
                missed = true;
            }
        }
        if missed { fold(test, by, folds, rows, self.cancel) } else { Ok((counts, folded)) }
    }

    /// A percentile of values of which those near it are known; `None` when it is not among them.
    pub(super) fn near_percentile(
        &self,
        agg: &Agg,
        cell: &Near,
        is_int: bool,
    ) -> Option<(i64, State)> {
        let mut between: Option<Ranked<'_, i64>> = None;
        let mut misses = false;
        let found = self.percentile(agg, cell.count(), &mut |k| {
            let Some((list, place)) = cell.at(k) else {
                misses = true;
                return Value::int(0);
            };
            let bits = between.get_or_insert_with(|| Ranked::new(list)).at(place, i64::cmp);
            if is_int { Value::int(bits) } else { Value::float(float_of(bits)) }
        });
        (!misses).then_some(found)
    }

    /// A percentile of so many values, of which `nth` gives one by its place in their order.
    pub(super) fn percentile(
        &self,
        agg: &Agg,
        len: usize,
        nth: &mut dyn FnMut(usize) -> Value,
    ) -> (i64, State) {
        match self.percentile_of(agg) {
            Some(at) if len > 0 => (len as i64, State::Value(percentile(agg.kind, at, len, nth))),
            _ => (0, State::Empty),
        }
    }
}
