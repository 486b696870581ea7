//! Components of values, as properties.

use std::sync::Arc;

use super::calendar::{civil, days_of, iso_week, weekday};
use super::{Duration, SECOND_NANOS, Temporal};
use crate::value::Value;

/// A component; `None` when the value has no such one.
pub(crate) fn component(t: &Temporal, key: &str) -> Option<Value> {
    if let Some(day) = t.day()
        && let Some(v) = of_day(day, key)
    {
        return Some(Value::int(v));
    }
    if let Some(clock) = t.clock()
        && let Some(v) = of_clock(clock, key)
    {
        return Some(Value::int(v));
    }
    let offset = t.offset()?;
    let written = || {
        let shown = Temporal::Time(0, offset).to_string();
        Value::text(shown.trim_start_matches("00:00"))
    };
    Some(match (key, t) {
        ("offset", _) => written(),
        ("timezone", Temporal::DateTime(z)) => match &z.zone {
            Some(name) => Value::text(Arc::clone(name)),
            None => written(),
        },
        ("timezone", _) => written(),
        ("offsetMinutes", _) => Value::int(i64::from(offset / 60)),
        ("offsetSeconds", _) => Value::int(i64::from(offset)),
        ("epochSeconds", Temporal::DateTime(z)) => Value::int(z.seconds),
        ("epochMillis", Temporal::DateTime(z)) => {
            Value::int(z.seconds.checked_mul(1000)? + i64::from(z.nanos / 1_000_000))
        }
        _ => return None,
    })
}

fn of_day(day: i64, key: &str) -> Option<i64> {
    let (year, month, d) = civil(day);
    let quarter = (month - 1) / 3;
    Some(match key {
        "year" => year,
        "quarter" => quarter + 1,
        "month" => month,
        "week" => iso_week(day).1,
        "weekYear" => iso_week(day).0,
        "day" => d,
        "ordinalDay" => day - days_of((year, 1, 1)) + 1,
        "weekDay" | "dayOfWeek" => weekday(day),
        "dayOfQuarter" => day - days_of((year, quarter * 3 + 1, 1)) + 1,
        _ => return None,
    })
}

fn of_clock(clock: i64, key: &str) -> Option<i64> {
    let (seconds, nanos) = (clock / SECOND_NANOS, clock % SECOND_NANOS);
    Some(match key {
        "hour" => seconds / 3600,
        "minute" => seconds / 60 % 60,
        "second" => seconds % 60,
        "millisecond" => nanos / 1_000_000,
        "microsecond" => nanos / 1_000,
        "nanosecond" => nanos,
        _ => return None,
    })
}

/// A component of a duration; `None` when there is no such one.
pub(crate) fn duration_component(d: &Duration, key: &str) -> Option<Value> {
    let nanos = d.clock_nanos();
    let seconds = nanos.div_euclid(1_000_000_000);
    let of_second = nanos.rem_euclid(1_000_000_000);
    let months = i128::from(d.months);
    let days = i128::from(d.days);
    let v = match key {
        "years" => months / 12,
        "quarters" => months / 3,
        "months" => months,
        "weeks" => days / 7,
        "days" => days,
        "hours" => seconds / 3600,
        "minutes" => seconds / 60,
        "seconds" => seconds,
        "milliseconds" => nanos.div_euclid(1_000_000),
        "microseconds" => nanos.div_euclid(1_000),
        "nanoseconds" => nanos,
        "quartersOfYear" => months / 3 % 4,
        "monthsOfQuarter" => months % 3,
        "monthsOfYear" => months % 12,
        "daysOfWeek" => days % 7,
        "minutesOfHour" => seconds / 60 % 60,
        "secondsOfMinute" => seconds % 60,
        "millisecondsOfSecond" => of_second / 1_000_000,
        "microsecondsOfSecond" => of_second / 1_000,
        "nanosecondsOfSecond" => of_second,
        _ => return None,
    };
    i64::try_from(v).ok().map(Value::int)
}
