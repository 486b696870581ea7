//! Sums, differences and truncation.

use graphlume_expr::Scalar;

use super::build::{adjust, zone_of};
use super::calendar::{add_months, civil, days_of, iso_week, of_iso_week, weekday};
use super::duration::Parts;
use super::zone::{Zone, zone_of_moment};
use super::{DAY_NANOS, Duration, SECOND_NANOS, Sort, Temporal};
use crate::error::{Res, type_error, value_error};
use crate::value::{Entries, Value};

fn out_of_range() -> Box<graphlume_expr::QueryError> {
    value_error("the result is out of the range of time")
}

/// A point in time plus a length of time.
pub(crate) fn add(t: &Temporal, d: &Duration) -> Res<Temporal> {
    try_add(t, d).ok_or_else(out_of_range)
}

fn try_add(t: &Temporal, d: &Duration) -> Option<Temporal> {
    let clock = d.clock_nanos();
    let wrap = |n: i64| (i128::from(n) + clock).rem_euclid(i128::from(DAY_NANOS)) as i64;
    let calendar = |day: i64| add_months(day, d.months)?.checked_add(d.days);
    let later = |seconds: i64, nanos: u32| {
        let all = i128::from(seconds) * 1_000_000_000 + i128::from(nanos) + clock;
        let seconds = i64::try_from(all.div_euclid(1_000_000_000)).ok()?;
        Some((seconds, all.rem_euclid(1_000_000_000) as u32))
    };
    let fits = |seconds: &(i64, u32)| seconds.0.abs() < 1 << 55;
    Some(match t {
        Temporal::Date(day) => {
            let whole_days = i64::try_from(clock / i128::from(DAY_NANOS)).ok()?;
            let sum = calendar(*day)?.checked_add(whole_days)?;
            Temporal::Date(Some(sum).filter(|s| s.abs() < 1 << 39)?)
        }
        Temporal::LocalTime(n) => Temporal::LocalTime(wrap(*n)),
        Temporal::Time(n, offset) => Temporal::Time(wrap(*n), *offset),
        Temporal::LocalDateTime(s, n) => {
            let day = calendar(s.div_euclid(86_400))?;
            let local = day.checked_mul(86_400)?.checked_add(s.rem_euclid(86_400))?;
            let (s, n) = later(local, *n).filter(fits)?;
            Temporal::LocalDateTime(s, n)
        }
        Temporal::DateTime(z) => {
            let local = z.seconds.checked_add(i64::from(z.offset))?;
            let day = calendar(local.div_euclid(86_400))?;
            let local = day.checked_mul(86_400)?.checked_add(local.rem_euclid(86_400))?;
            let zone = zone_of_moment(z);
            let (utc, nanos) = later(zone.resolve(local).0, z.nanos).filter(fits)?;
            let offset = zone.offset_at(utc);
            let moved = super::Zoned { seconds: utc, nanos, offset, zone: zone.name() };
            Temporal::DateTime(moved.into())
        }
    })
}

/// Which units a difference is told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    All,
    Months,
    Days,
    Seconds,
}

struct Moment {
    /// Nanoseconds since 1970 on the local clock.
    local: i128,
    zone: Zone,
}

impl Moment {
    fn instant(&self) -> i128 {
        let seconds = self.local.div_euclid(1_000_000_000) as i64;
        let (utc, _) = self.zone.resolve(seconds);
        i128::from(utc) * 1_000_000_000 + self.local.rem_euclid(1_000_000_000)
    }
}

/// The difference of two points in time.
pub(crate) fn between(from: &Temporal, to: &Temporal, unit: Unit) -> Res<Duration> {
    let dates = from.day().zip(to.day());
    if dates.is_none() && matches!(unit, Unit::Months | Unit::Days) {
        return Ok(Duration::default());
    }
    let (from_day, to_day) = dates.unwrap_or_else(|| {
        let day = from.day().or(to.day()).unwrap_or(0);
        (day, day)
    });
    let (zone, other) = (zone_of(from), zone_of(to));
    let moment = |t: &Temporal, day: i64, own: Option<&Zone>, lent: Option<&Zone>| Moment {
        local: i128::from(day) * i128::from(DAY_NANOS) + i128::from(t.clock().unwrap_or(0)),
        zone: own.or(lent).cloned().unwrap_or(Zone::Fixed(0)),
    };
    let a = moment(from, from_day, zone.as_ref(), other.as_ref());
    let mut b = moment(to, to_day, other.as_ref(), zone.as_ref());
    let end = b.instant();
    // Calendar units are counted on the clock of the first.
    let shift = a.zone.offset_at(end.div_euclid(1_000_000_000) as i64);
    b.local = end + i128::from(shift) * 1_000_000_000;
    let mut result = Duration::default();
    let mut local = a.local;
    let day_nanos = i128::from(DAY_NANOS);
    if dates.is_some() && matches!(unit, Unit::All | Unit::Months) {
        result.months = months_between(local, b.local);
        let day = local.div_euclid(day_nanos) as i64;
        let moved = add_months(day, result.months).ok_or_else(out_of_range)?;
        local = i128::from(moved) * day_nanos + local.rem_euclid(day_nanos);
    }
    if dates.is_some() && matches!(unit, Unit::All | Unit::Days) {
        result.days = ((b.local - local) / day_nanos) as i64;
        local += i128::from(result.days) * day_nanos;
    }
    if matches!(unit, Unit::All | Unit::Seconds) {
        let start = Moment { local, zone: a.zone }.instant();
        let clock = Duration::of_nanos(end - start).ok_or_else(out_of_range)?;
        (result.seconds, result.nanos) = (clock.seconds, clock.nanos);
    }
    Ok(result)
}

/// Whole months from one local time to another.
fn months_between(from: i128, to: i128) -> i64 {
    let day_nanos = i128::from(DAY_NANOS);
    let split = |t: i128| {
        let (y, m, d) = civil(t.div_euclid(day_nanos) as i64);
        (y * 12 + m, (d, t.rem_euclid(day_nanos)))
    };
    let ((m1, rest1), (m2, rest2)) = (split(from), split(to));
    let months = m2 - m1;
    match months.signum() {
        1 if rest2 < rest1 => months - 1,
        -1 if rest2 > rest1 => months + 1,
        _ => months,
    }
}

/// Cuts a value down to a unit and then sets components.
pub(crate) fn truncate(sort: Sort, unit: &str, t: &Temporal, map: Option<&Entries>) -> Res<Value> {
    let lower = unit.to_ascii_lowercase();
    let clock_only = matches!(sort, Sort::LocalTime | Sort::Time);
    let clock = t.clock().unwrap_or(0);
    let step = match lower.as_str() {
        "hour" => Some(3600 * SECOND_NANOS),
        "minute" => Some(60 * SECOND_NANOS),
        "second" => Some(SECOND_NANOS),
        "millisecond" => Some(1_000_000),
        "microsecond" => Some(1_000),
        _ => None,
    };
    let (day, clock) = match step {
        Some(step) if sort != Sort::Date => (t.day(), clock - clock % step),
        Some(_) => return Err(value_error(format!("a date cannot be cut down to {unit:?}"))),
        None if clock_only && lower == "day" => (None, 0),
        None if clock_only => {
            return Err(value_error(format!("a time cannot be cut down to {unit:?}")));
        }
        None => {
            let day = t.day().ok_or_else(|| type_error(format!("{} has no date", t.kind())))?;
            let cut = cut_day(&lower, day)
                .ok_or_else(|| value_error(format!("{unit:?} is no unit of time")))?;
            (Some(cut), 0)
        }
    };
    if !clock_only && day.is_none() || clock_only && t.clock().is_none() {
        return Err(type_error(format!("{} has not all that is asked for", t.kind())));
    }
    let zone = zone_of(t).unwrap_or(Zone::Fixed(0));
    let local = day.unwrap_or(0).saturating_mul(86_400).saturating_add(clock / SECOND_NANOS);
    let cut = match sort {
        Sort::Date => Temporal::Date(day.unwrap_or(0)),
        Sort::LocalTime => Temporal::LocalTime(clock),
        Sort::Time => Temporal::Time(clock, t.offset().unwrap_or(0)),
        Sort::LocalDateTime => Temporal::LocalDateTime(local, (clock % SECOND_NANOS) as u32),
        Sort::DateTime => {
            Temporal::DateTime(zone.local(local, (clock % SECOND_NANOS) as u32).into())
        }
    };
    Ok(Value::temporal(match map {
        Some(map) if !map.is_empty() => adjust(sort, &cut, map)?,
        _ => cut,
    }))
}

fn cut_day(unit: &str, day: i64) -> Option<i64> {
    let (year, month, _) = civil(day);
    let first = |y: i64| days_of((y, 1, 1));
    Some(match unit {
        "millennium" => first(year - year.rem_euclid(1000)),
        "century" => first(year - year.rem_euclid(100)),
        "decade" => first(year - year.rem_euclid(10)),
        "year" => first(year),
        "weekyear" => of_iso_week(iso_week(day).0, 1, 1),
        "quarter" => days_of((year, (month - 1) / 3 * 3 + 1, 1)),
        "month" => days_of((year, month, 1)),
        "week" => day - weekday(day) + 1,
        "day" => day,
        _ => return None,
    })
}

/// A duration from a map of amounts.
pub(crate) fn duration_of_map(map: &Entries) -> Res<Duration> {
    let mut parts = Parts::default();
    for (key, value) in map {
        let added = match value {
            Value::Scalar(Scalar::Null) => Some(()),
            Value::Scalar(Scalar::Int(n)) => parts.add_int(key, *n),
            Value::Scalar(Scalar::Float(v)) => parts.add_float(key, *v),
            other => {
                let what = format!("{key} of a duration must be a number, not {}", other.kind());
                return Err(type_error(what));
            }
        };
        added.ok_or_else(|| value_error(format!("a duration cannot have this {key:?}")))?;
    }
    parts.finish().ok_or_else(out_of_range)
}
