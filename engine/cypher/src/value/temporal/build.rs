//! Constructors: from text, from another value, from a map of components.

use graphlume_expr::Scalar;

use super::calendar::{Civil, YEAR_MAX, civil, days_in_month, days_of, iso_week, weekday};
use super::read::{ordinal, temporal, week_date};
use super::zone::{Zone, zone, zone_of_moment};
use super::{SECOND_NANOS, Sort, Temporal, Zoned};
use crate::error::{Res, type_error, value_error};
use crate::value::{Entries, Value, entry};

/// Components that a map may have, of dates and of clocks.
const DATE_KEYS: &[&str] = &[
    "year",
    "month",
    "day",
    "week",
    "dayOfWeek",
    "ordinalDay",
    "quarter",
    "dayOfQuarter",
    "weekYear",
];
const CLOCK_KEYS: &[&str] =
    &["hour", "minute", "second", "millisecond", "microsecond", "nanosecond"];

/// `date(...)`, `time(...)` and so on; `None` as the argument means now.
pub(crate) fn construct(sort: Sort, arg: Option<&Value>, now: (i64, u32)) -> Res<Value> {
    let moment = Zoned { seconds: now.0, nanos: now.1, offset: 0, zone: None };
    let made = match arg {
        None => convert(sort, &Temporal::DateTime(moment.into()))?,
        Some(Value::Scalar(Scalar::Null)) => return Ok(Value::NULL),
        Some(Value::Scalar(Scalar::Text(text))) => temporal(sort, text)?,
        Some(Value::Scalar(Scalar::Temporal(other))) => convert(sort, other)?,
        Some(Value::Map(map)) => of_map(sort, map)?,
        Some(other) => {
            let what = format!("a point in time cannot be made of {}", other.kind());
            return Err(type_error(what));
        }
    };
    Ok(Value::temporal(made))
}

/// `datetime.fromepoch(seconds, nanoseconds)`
pub(crate) fn from_epoch(seconds: i64, nanos: i64) -> Res<Value> {
    let all = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let seconds = i64::try_from(all.div_euclid(1_000_000_000)).ok().filter(|s| s.abs() < 1 << 55);
    let seconds = seconds.ok_or_else(|| value_error("the moment is out of range"))?;
    let nanos = all.rem_euclid(1_000_000_000) as u32;
    Ok(Value::temporal(Temporal::DateTime(Zoned { seconds, nanos, offset: 0, zone: None }.into())))
}

/// Components of a value that is being made.
struct Draft {
    day: i64,
    clock: i64,
    zone: Option<Zone>,
}

pub(super) fn zone_of(t: &Temporal) -> Option<Zone> {
    match t {
        Temporal::Time(_, offset) => Some(Zone::Fixed(*offset)),
        Temporal::DateTime(z) => Some(zone_of_moment(z)),
        _ => None,
    }
}

impl Draft {
    fn finish(self, sort: Sort) -> Res<Temporal> {
        let local = self.day.checked_mul(86_400).filter(|s| s.abs() < 1 << 55);
        let local = local.ok_or_else(|| value_error("the date is out of range"))?
            + self.clock / SECOND_NANOS;
        let nanos = (self.clock % SECOND_NANOS) as u32;
        let zone = self.zone.unwrap_or(Zone::Fixed(0));
        Ok(match sort {
            Sort::Date => Temporal::Date(self.day),
            Sort::LocalTime => Temporal::LocalTime(self.clock),
            Sort::Time => Temporal::Time(self.clock, zone.resolve(local).1),
            Sort::LocalDateTime => Temporal::LocalDateTime(local, nanos),
            Sort::DateTime => Temporal::DateTime(zone.local(local, nanos).into()),
        })
    }
}

/// The parts of another value that the new kind has.
fn convert(sort: Sort, other: &Temporal) -> Res<Temporal> {
    let needs_day = matches!(sort, Sort::Date | Sort::LocalDateTime | Sort::DateTime);
    let needs_clock = matches!(sort, Sort::LocalTime | Sort::Time);
    if needs_day && other.day().is_none() || needs_clock && other.clock().is_none() {
        return Err(type_error(format!("{} has not all that is asked for", other.kind())));
    }
    // A time of a date in a named zone has the offset of that date.
    let zone = match (sort, other) {
        (Sort::Time, Temporal::DateTime(z)) => Some(Zone::Fixed(z.offset)),
        _ => zone_of(other),
    };
    let (day, clock) = (other.day().unwrap_or(0), other.clock().unwrap_or(0));
    Draft { day, clock, zone }.finish(sort)
}

fn int(map: &Entries, key: &str) -> Res<Option<i64>> {
    match entry(map, key) {
        None => Ok(None),
        Some(Value::Scalar(Scalar::Int(v))) => Ok(Some(*v)),
        Some(other) => Err(type_error(format!("{key} must be an integer, not {}", other.kind()))),
    }
}

fn other<'a>(map: &'a Entries, key: &str) -> Res<Option<&'a Temporal>> {
    match entry(map, key) {
        None => Ok(None),
        Some(Value::Scalar(Scalar::Temporal(t))) => Ok(Some(t)),
        Some(other) => {
            Err(type_error(format!("{key} must be a point in time, not {}", other.kind())))
        }
    }
}

fn in_range(key: &str, v: i64, from: i64, to: i64) -> Res<i64> {
    if (from..=to).contains(&v) {
        Ok(v)
    } else {
        Err(value_error(format!("{key} must be from {from} to {to}, not {v}")))
    }
}

fn of_map(sort: Sort, map: &Entries) -> Res<Temporal> {
    check_keys(sort, map)?;
    if let Some(seconds) = int(map, "epochSeconds")? {
        let nanos = int(map, "nanosecond")?.unwrap_or(0);
        if let Value::Scalar(Scalar::Temporal(t)) = from_epoch(seconds, nanos)? {
            return Ok(t);
        }
    }
    if let Some(millis) = int(map, "epochMillis")? {
        let (s, ms) = (millis.div_euclid(1000), millis.rem_euclid(1000));
        if let Value::Scalar(Scalar::Temporal(t)) = from_epoch(s, ms * 1_000_000)? {
            return Ok(t);
        }
    }
    let whole = other(map, "datetime")?;
    let date = other(map, "date")?.or(whole);
    let time = other(map, "time")?.or(whole);
    let base = date.map(|d| d.day().ok_or_else(|| no_part(d, "date"))).transpose()?;
    let clock = time.map(|t| t.clock().ok_or_else(|| no_part(t, "time"))).transpose()?;
    let has_date = matches!(sort, Sort::Date | Sort::LocalDateTime | Sort::DateTime);
    let day = if has_date { date_of(map, base)? } else { 0 };
    let written = match entry(map, "timezone") {
        None => None,
        Some(Value::Scalar(Scalar::Text(name))) => Some(zone(name)?),
        Some(other) => {
            return Err(type_error(format!("timezone must be a text, not {}", other.kind())));
        }
    };
    let held = match (sort, time) {
        (Sort::Time, Some(Temporal::DateTime(z))) => Some(Zone::Fixed(z.offset)),
        (_, Some(t)) => zone_of(t),
        (_, None) => None,
    };
    let mut draft = Draft { day, clock: clock.unwrap_or(0), zone: None };
    match (written, held) {
        // A clock that is in a zone already is moved to the new one.
        (Some(to), Some(from)) => {
            let local = draft.day.saturating_mul(86_400) + draft.clock / SECOND_NANOS;
            let (utc, _) = from.resolve(local);
            let moved = utc + i64::from(to.offset_at(utc));
            if has_date {
                draft.day = moved.div_euclid(86_400);
            }
            draft.clock = moved.rem_euclid(86_400) * SECOND_NANOS + draft.clock % SECOND_NANOS;
            draft.zone = Some(to);
        }
        (to, from) => draft.zone = to.or(from),
    }
    draft.clock = clock_of(map, draft.clock, clock.is_some())?;
    draft.finish(sort)
}

fn no_part(t: &Temporal, part: &str) -> Box<graphlume_expr::QueryError> {
    type_error(format!("{} has no {part}", t.kind()))
}

fn check_keys(sort: Sort, map: &Entries) -> Res<()> {
    let has_date = matches!(sort, Sort::Date | Sort::LocalDateTime | Sort::DateTime);
    let has_clock = sort != Sort::Date;
    let has_zone = matches!(sort, Sort::Time | Sort::DateTime);
    for (key, _) in map {
        let key = &**key;
        let known = has_date && (DATE_KEYS.contains(&key) || key == "date")
            || has_clock && (CLOCK_KEYS.contains(&key) || key == "time")
            || has_zone && key == "timezone"
            || has_date && has_clock && key == "datetime"
            || sort == Sort::DateTime && (key == "epochSeconds" || key == "epochMillis");
        if !known {
            let mut names = [DATE_KEYS, CLOCK_KEYS].concat();
            names.extend(["date", "time", "datetime", "timezone"]);
            let error = *value_error(format!("{key:?} is no component of this kind of value"));
            return Err(Box::new(match graphlume_expr::nearest(key, &names) {
                Some(near) => error.suggest(format!("did you mean {near:?}?")),
                None => error,
            }));
        }
    }
    Ok(())
}

/// The day that the components give, on top of a day.
fn date_of(map: &Entries, base: Option<i64>) -> Res<i64> {
    let year = int(map, "year")?;
    if let Some(week) = int(map, "week")? {
        let (base_year, base_day) = base.map_or((None, 1), |d| (Some(iso_week(d).0), weekday(d)));
        let year = int(map, "weekYear")?.or(year).or(base_year).ok_or_else(missing_year)?;
        let day = in_range("dayOfWeek", int(map, "dayOfWeek")?.unwrap_or(base_day), 1, 7)?;
        in_range("year", year, -YEAR_MAX, YEAR_MAX)?;
        return week_date(year, week, day)
            .ok_or_else(|| value_error(format!("the year {year} has no week {week}")));
    }
    if let (Some(day), Some(base)) = (int(map, "dayOfWeek")?, base) {
        return Ok(base - weekday(base) + in_range("dayOfWeek", day, 1, 7)?);
    }
    let (base_year, base_month, base_day): (Option<i64>, i64, i64) = match base {
        Some(d) => {
            let (y, m, d): Civil = civil(d);
            (Some(y), m, d)
        }
        None => (None, 1, 1),
    };
    let year = year.or(base_year).ok_or_else(missing_year)?;
    in_range("year", year, -YEAR_MAX, YEAR_MAX)?;
    if let Some(day) = int(map, "ordinalDay")? {
        return ordinal(year, day)
            .ok_or_else(|| value_error(format!("the year {year} has no day {day}")));
    }
    if let Some(quarter) = int(map, "quarter")? {
        let first = (in_range("quarter", quarter, 1, 4)? - 1) * 3 + 1;
        if let Some(day) = int(map, "dayOfQuarter")? {
            return Ok(days_of((year, first, 1)) + in_range("dayOfQuarter", day, 1, 92)? - 1);
        }
        let month = first + (base_month - 1) % 3;
        let day = int(map, "day")?.unwrap_or(base_day.min(days_in_month(year, month)));
        return Ok(days_of((year, month, in_range("day", day, 1, days_in_month(year, month))?)));
    }
    let given = int(map, "month")?;
    let month = in_range("month", given.unwrap_or(base_month), 1, 12)?;
    let last = days_in_month(year, month);
    let day = match int(map, "day")? {
        Some(day) => in_range("day", day, 1, last)?,
        None => base_day.min(last),
    };
    Ok(days_of((year, month, day)))
}

fn missing_year() -> Box<graphlume_expr::QueryError> {
    value_error("the year is missing")
}

/// The time of day that the components give, on top of one.
fn clock_of(map: &Entries, base: i64, has_base: bool) -> Res<i64> {
    let seconds = base / SECOND_NANOS;
    let part = |key: &str, old: i64, max: i64| -> Res<i64> {
        match int(map, key)? {
            Some(v) => in_range(key, v, 0, max),
            None => Ok(old),
        }
    };
    let hour = part("hour", seconds / 3600, 23)?;
    let minute = part("minute", seconds / 60 % 60, 59)?;
    let second = part("second", seconds % 60, 59)?;
    let (ms, us, ns) =
        (int(map, "millisecond")?, int(map, "microsecond")?, int(map, "nanosecond")?);
    let mut fraction = base % SECOND_NANOS;
    if ms.is_some() || us.is_some() || ns.is_some() {
        // A smaller unit alone keeps what a truncated value has of the larger ones.
        let keep = match (ms, us) {
            (None, None) if has_base && ns.is_some_and(|n| n < 1_000) => {
                fraction - fraction % 1_000
            }
            (None, Some(u)) if has_base && u < 1_000 => fraction - fraction % 1_000_000,
            _ => 0,
        };
        let us_max = if ms.is_some() || keep > 0 { 999 } else { 999_999 };
        let ns_max = match (ms, us) {
            _ if us.is_some() => 999,
            (Some(_), None) => 999_999,
            _ => 999_999_999,
        };
        fraction = keep
            + in_range("millisecond", ms.unwrap_or(0), 0, 999)? * 1_000_000
            + in_range("microsecond", us.unwrap_or(0), 0, us_max)? * 1_000
            + in_range("nanosecond", ns.unwrap_or(0), 0, ns_max)?;
    }
    Ok(((hour * 60 + minute) * 60 + second) * SECOND_NANOS + fraction)
}

/// Applies components to a value that was cut down; a zone is put on, not converted to.
pub(super) fn adjust(sort: Sort, base: &Temporal, map: &Entries) -> Res<Temporal> {
    check_keys(sort, map)?;
    let day = match base.day() {
        Some(day) => date_of(map, Some(day))?,
        None => 0,
    };
    let clock = match base.clock() {
        Some(clock) => clock_of(map, clock, true)?,
        None => clock_of(map, 0, false)?,
    };
    let zone = match entry(map, "timezone") {
        Some(Value::Scalar(Scalar::Text(name))) => Some(zone(name)?),
        Some(_) => return Err(type_error("timezone must be a text")),
        None => zone_of(base),
    };
    Draft { day, clock, zone }.finish(sort)
}
