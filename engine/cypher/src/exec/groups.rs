//! Groups, and the states of their aggregates.

use std::collections::HashSet;

use graphlume_expr::Scalar;

use super::hash::Keyed;
use super::{Exec, arith};
use crate::ast::Binary;
use crate::error::{Res, limit_error, type_error, value_error};
use crate::plan::{Agg, AggKind, Ex};
use crate::value::{Key, Value, order};

/// Groups with their keys and the states of their aggregates, side by side.
pub(super) struct Groups {
    width: usize,
    aggs: usize,
    keys: Vec<Value>,
    cells: Vec<Cell>,
    len: usize,
}

impl Groups {
    pub(super) const fn new(width: usize, aggs: usize) -> Self {
        Self { width, aggs, keys: Vec::new(), cells: Vec::new(), len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn add(&mut self, key: impl Iterator<Item = Value>, aggs: &[Agg]) -> usize {
        self.keys.extend(key);
        self.cells.extend(aggs.iter().map(Cell::new));
        self.len += 1;
        self.len - 1
    }

    pub(super) fn key(&self, group: usize) -> &[Value] {
        self.keys.get(group * self.width..(group + 1) * self.width).unwrap_or_default()
    }

    pub(super) fn cells(&self, group: usize) -> &[Cell] {
        self.cells.get(group * self.aggs..(group + 1) * self.aggs).unwrap_or_default()
    }

    pub(super) fn cells_mut(&mut self, group: usize) -> &mut [Cell] {
        self.cells.get_mut(group * self.aggs..(group + 1) * self.aggs).unwrap_or_default()
    }

    pub(super) fn into_groups(self) -> impl Iterator<Item = (Vec<Value>, Vec<Cell>)> {
        let (width, aggs) = (self.width, self.aggs);
        let (mut keys, mut cells) = (self.keys.into_iter(), self.cells.into_iter());
        (0..self.len).map(move |_| {
            (keys.by_ref().take(width).collect(), cells.by_ref().take(aggs).collect())
        })
    }
}

/// Values that DISTINCT has seen.
#[derive(Default)]
struct Seen(HashSet<Key, Keyed>);

/// The state of one aggregate of one group.
pub(super) struct Cell {
    count: i64,
    state: State,
    seen: Option<Box<Seen>>,
}

/// What an aggregate has come to.
pub(super) enum State {
    Empty,
    Value(Value),
    /// What an average adds up: whole numbers, whose sum is exact in whichever order.
    Whole(f64),
    Moments {
        mean: f64,
        spread: f64,
    },
    List(Vec<Value>),
    Sample {
        list: Vec<Value>,
        at: f64,
    },
}

/// Whole numbers below are exact in a float of 64 bits, and so are their sums that stay below; at it a sum may have been rounded.
pub(super) const EXACT_BOUND: f64 = 9_007_199_254_740_992.0;

/// A sum of whole numbers and one more number; `None` where it may not be exact.
fn whole_sum(sum: f64, more: f64) -> Option<f64> {
    let next = sum + more;
    // A number that no `i64` holds is beyond the bound, and NaN is none.
    (more == more as i64 as f64 && next.abs() < EXACT_BOUND).then_some(next)
}

impl Cell {
    fn new(agg: &Agg) -> Self {
        let seen = agg.distinct.then(Box::default);
        Self { count: 0, state: State::Empty, seen }
    }

    /// Takes the place of all rows of the group: so many values, and what they come to.
    pub(super) fn put(&mut self, count: i64, state: State) {
        (self.count, self.state) = (count, state);
    }

    /// Takes up a row, as often as it counts.
    pub(super) fn feed(&mut self, exec: &Exec<'_>, agg: &Agg, row: &mut [Value]) -> Res<()> {
        let times = match agg.weight.and_then(|slot| row.get(slot)) {
            Some(Value::Scalar(Scalar::Int(times))) => *times,
            _ => 1,
        };
        let Some(arg) = &agg.arg else { return self.add_count(times) };
        // A count needs to know of null alone.
        if agg.kind == AggKind::Count
            && !agg.distinct
            && let Ex::Slot(slot) = arg
        {
            let some = row.get(*slot).is_some_and(|v| !v.is_null());
            return if some { self.add_count(times) } else { Ok(()) };
        }
        let value = exec.eval(arg, row)?;
        if let Some(extra) = &agg.extra
            && matches!(self.state, State::Empty)
        {
            let given = exec.eval(extra, row)?;
            let at = given.as_f64().filter(|p| (0.0..=1.0).contains(p));
            let wrong = || value_error("a percentile must be a number from 0.0 to 1.0");
            self.state = State::Sample { list: Vec::new(), at: at.ok_or_else(wrong)? };
        }
        if value.is_null() {
            return Ok(());
        }
        if let Some(seen) = &mut self.seen {
            if !seen.0.insert(Key(value.clone())) {
                return Ok(());
            }
            exec.hold(0, 1)?;
            self.add_count(1)?;
            return self.take(exec, agg.kind, value);
        }
        if matches!(agg.kind, AggKind::Count | AggKind::Min | AggKind::Max) {
            self.add_count(times)?;
            return self.take(exec, agg.kind, value);
        }
        for _ in 1..times {
            exec.tick()?;
            self.add_count(1)?;
            self.take(exec, agg.kind, value.clone())?;
        }
        self.add_count(1)?;
        self.take(exec, agg.kind, value)
    }

    /// Takes up numbers that are not NaN.
    pub(super) fn take_floats(
        &mut self,
        exec: &Exec<'_>,
        kind: AggKind,
        values: impl Iterator<Item = f64>,
    ) -> Res<()> {
        match (kind, &mut self.state) {
            (AggKind::Avg, State::Empty | State::Whole(_) | State::Moments { .. }) => {
                let mut values = values;
                let odd = match self.state {
                    State::Moments { .. } => None,
                    _ => match self.take_whole(&mut values) {
                        None => return Ok(()),
                        odd => odd,
                    },
                };
                let (mut mean, mut spread) = self.moments(self.count);
                let before = self.count;
                for v in odd.into_iter().chain(values) {
                    self.count += 1;
                    let off = v - mean;
                    mean += off / self.count as f64;
                    spread += off * (v - mean);
                }
                if self.count > before {
                    self.state = State::Moments { mean, spread };
                }
                Ok(())
            }
            (AggKind::Sum, State::Value(Value::Scalar(Scalar::Float(sum)))) => {
                for v in values {
                    self.count += 1;
                    *sum += v;
                }
                Ok(())
            }
            _ => {
                for v in values {
                    self.add_count(1)?;
                    self.take(exec, kind, Value::float(v))?;
                }
                Ok(())
            }
        }
    }

    /// Takes up numbers for an average for as long as they are whole and their sum is exact; gives the first that is not.
    fn take_whole(&mut self, values: &mut impl Iterator<Item = f64>) -> Option<f64> {
        let mut sum = match self.state {
            State::Whole(sum) => sum,
            _ => 0.0,
        };
        let before = self.count;
        let mut count = before;
        let odd = values.find(|v| match whole_sum(sum, *v) {
            Some(next) => {
                (sum, count) = (next, count + 1);
                false
            }
            None => true,
        });
        if count > before {
            (self.state, self.count) = (State::Whole(sum), count);
        }
        odd
    }

    /// The mean of so many numbers, and the sum of the squares of what they are off it where that was kept.
    fn moments(&self, count: i64) -> (f64, f64) {
        match self.state {
            State::Moments { mean, spread } => (mean, spread),
            State::Whole(sum) if count > 0 => (sum / count as f64, 0.0),
            _ => (0.0, 0.0),
        }
    }

    /// Takes up whole numbers.
    pub(super) fn take_ints(
        &mut self,
        exec: &Exec<'_>,
        kind: AggKind,
        mut values: impl Iterator<Item = i64>,
    ) -> Res<()> {
        if kind == AggKind::Avg {
            return self.take_floats(exec, kind, values.map(|v| v as f64));
        }
        values.try_for_each(|v| {
            self.add_count(1)?;
            self.take(exec, kind, Value::int(v))
        })
    }

    pub(super) fn add_count(&mut self, times: i64) -> Res<()> {
        let sum = self.count.checked_add(times);
        self.count =
            sum.ok_or_else(|| limit_error(format!("a group has more than {} rows", i64::MAX)))?;
        Ok(())
    }

    fn take(&mut self, exec: &Exec<'_>, kind: AggKind, value: Value) -> Res<()> {
        match (kind, &mut self.state) {
            (AggKind::CountRows | AggKind::Count, _) => {}
            (AggKind::Sum, State::Value(Value::Scalar(Scalar::Int(sum))))
                if matches!(value, Value::Scalar(Scalar::Int(_))) =>
            {
                self.state =
                    State::Value(arith::binary(exec.view, Binary::Add, &Value::int(*sum), &value)?);
            }
            (AggKind::Sum, _) | (AggKind::Avg, State::Value(_)) => self.add(exec, value)?,
            (AggKind::Avg, _) if matches!(value, Value::Duration(_)) => self.add(exec, value)?,
            (AggKind::Min, State::Value(old)) if order(&value, old).is_ge() => {}
            (AggKind::Max, State::Value(old)) if order(&value, old).is_le() => {}
            (AggKind::Min | AggKind::Max, state) => *state = State::Value(value),
            (AggKind::Collect, State::List(list)) => {
                exec.hold(list.len(), 1)?;
                list.push(value);
            }
            (AggKind::Collect, state) => *state = State::List(vec![value]),
            (AggKind::Avg | AggKind::StDev | AggKind::StDevP, _) => {
                let v = number(&value)?;
                let sum = match self.state {
                    State::Empty => Some(0.0),
                    State::Whole(sum) => Some(sum),
                    _ => None,
                };
                let whole = sum.filter(|_| kind == AggKind::Avg).and_then(|s| whole_sum(s, v));
                if let Some(sum) = whole {
                    self.state = State::Whole(sum);
                    return Ok(());
                }
                let (mean, spread) = self.moments(self.count - 1);
                let off = v - mean;
                let mean = mean + off / self.count as f64;
                self.state = State::Moments { mean, spread: spread + off * (v - mean) };
            }
            (AggKind::PercentileCont | AggKind::PercentileDisc, State::Sample { list, .. }) => {
                number(&value)?;
                exec.hold(list.len(), 1)?;
                list.push(value);
            }
            (AggKind::PercentileCont | AggKind::PercentileDisc, _) => {}
        }
        Ok(())
    }

    fn add(&mut self, exec: &Exec<'_>, value: Value) -> Res<()> {
        if value.as_f64().is_none() && !matches!(value, Value::Duration(_)) {
            return Err(type_error(format!("{} cannot be added up", value.kind())));
        }
        self.state = State::Value(match &self.state {
            State::Value(old) => arith::binary(exec.view, Binary::Add, old, &value)?,
            _ => value,
        });
        Ok(())
    }

    /// Takes up the state of the same group of another part.
    pub(super) fn merge(&mut self, exec: &Exec<'_>, agg: &Agg, more: Self) -> Res<()> {
        let (n, m) = (self.count, more.count);
        self.count += m;
        match (agg.kind, more.state) {
            (_, State::Empty) => {}
            (AggKind::Sum | AggKind::Avg, State::Value(v)) => self.add(exec, v)?,
            (kind, State::Value(v)) => self.take(exec, kind, v)?,
            (_, State::Whole(more)) => {
                let sum = match self.state {
                    State::Empty => Some(0.0),
                    State::Whole(sum) => Some(sum),
                    _ => None,
                };
                match sum.and_then(|sum| whole_sum(sum, more)) {
                    Some(sum) => self.state = State::Whole(sum),
                    None => self.merge_moments((n, m), (more / m.max(1) as f64, 0.0)),
                }
            }
            (_, State::Moments { mean, spread }) => self.merge_moments((n, m), (mean, spread)),
            (_, State::List(more)) => {
                exec.hold(0, more.len())?;
                match &mut self.state {
                    State::List(list) => list.extend(more),
                    state => *state = State::List(more),
                }
            }
            (_, State::Sample { list: more, at }) => {
                exec.hold(0, more.len())?;
                match &mut self.state {
                    State::Sample { list, .. } => list.extend(more),
                    state => *state = State::Sample { list: more, at },
                }
            }
        }
        Ok(())
    }

    /// Takes up the mean of `m` numbers into that of `n`.
    fn merge_moments(&mut self, (n, m): (i64, i64), (b, s): (f64, f64)) {
        let (mean, spread) = self.moments(n);
        let (n, m) = (n as f64, m as f64);
        let off = b - mean;
        let all = (n + m).max(1.0);
        let spread = spread + s + off * off * n * m / all;
        self.state = State::Moments { mean: mean + off * m / all, spread };
    }

    /// The result.
    pub(super) fn result(&self, agg: &Agg) -> Res<Value> {
        let count = self.count as f64;
        Ok(match (agg.kind, &self.state) {
            (AggKind::CountRows | AggKind::Count, _) => Value::int(self.count),
            (AggKind::Avg, State::Value(Value::Duration(d))) => {
                d.divided(count).map_or(Value::NULL, |d| Value::Duration(d.into()))
            }
            (AggKind::Avg, State::Whole(sum)) => Value::float(sum / count),
            (AggKind::Avg, State::Moments { mean, .. }) => Value::float(*mean),
            (_, State::Value(v)) => v.clone(),
            (AggKind::Sum, _) => Value::int(0),
            (AggKind::Collect, State::List(list)) => {
                super::eval::bounded(Value::list(list.clone()))?
            }
            (AggKind::Collect, _) => Value::list(Vec::new()),
            (AggKind::StDev, State::Moments { spread, .. }) if self.count > 1 => {
                Value::float((spread / (count - 1.0)).sqrt())
            }
            (AggKind::StDevP, State::Moments { spread, .. }) => {
                Value::float((spread / count).sqrt())
            }
            (AggKind::StDev | AggKind::StDevP, _) => Value::float(0.0),
            (_, State::Sample { list, .. }) if list.is_empty() => Value::NULL,
            (kind, State::Sample { list, at }) => {
                let mut list = list.clone();
                list.sort_by(order);
                let mut nth = |i: usize| list.get(i).cloned().unwrap_or_default();
                percentile(kind, *at, list.len(), &mut nth)
            }
            _ => Value::NULL,
        })
    }
}

/// A percentile of so many values, at least one, of which `nth` gives one by its place in their order.
pub(super) fn percentile(
    kind: AggKind,
    at: f64,
    len: usize,
    nth: &mut dyn FnMut(usize) -> Value,
) -> Value {
    let last = len.saturating_sub(1);
    if kind == AggKind::PercentileDisc {
        let rank = (at * len as f64).ceil() as usize;
        return nth(rank.saturating_sub(1).min(last));
    }
    let place = at * last as f64;
    let mut number = |i: usize| nth(i.min(last)).as_f64().unwrap_or(f64::NAN);
    let (low, high) = (number(place.floor() as usize), number(place.ceil() as usize));
    Value::float(low + (high - low) * place.fract())
}

fn number(value: &Value) -> Res<f64> {
    value.as_f64().ok_or_else(|| type_error(format!("a number is needed, not {}", value.kind())))
}
