//! ISO 8601 text to values.

use super::calendar::{
    Civil, YEAR_MAX, civil, days_in_month, days_of, is_leap, iso_week, of_iso_week,
};
use super::duration::{Duration, Parts};
use super::zone::{Zone, zone};
use super::{Sort, Temporal};
use crate::error::{Res, value_error};

fn bad(text: &str, kind: &str) -> Box<graphlume_expr::QueryError> {
    value_error(format!("{:?} is no {kind}", text.chars().take(60).collect::<String>()))
}

fn digits(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// A date in one of the forms of ISO 8601.
pub(super) fn date(text: &str) -> Option<i64> {
    let (sign, body) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => (1, text),
    };
    if let Some((year, rest)) = body.split_once('-') {
        let year = sign * digits(year)?;
        if let Some(week) = rest.strip_prefix('W') {
            let (week, day) = week.split_once('-').unwrap_or((week, "1"));
            return week_date(year, digits(week)?, digits(day)?);
        }
        return match (rest.split_once('-'), rest.len()) {
            (Some((month, day)), _) => valid((year, digits(month)?, digits(day)?)),
            (None, 3) => ordinal(year, digits(rest)?),
            (None, _) => valid((year, digits(rest)?, 1)),
        };
    }
    if let Some((year, week)) = body.split_once('W') {
        let (week, day) = week.split_at_checked(2)?;
        let day = if day.is_empty() { 1 } else { digits(day)? };
        return week_date(sign * digits(year)?, digits(week)?, day);
    }
    let year = sign * digits(body.get(..4)?)?;
    let rest = body.get(4..)?;
    match rest.len() {
        0 => valid((year, 1, 1)),
        2 => valid((year, digits(rest)?, 1)),
        3 => ordinal(year, digits(rest)?),
        4 => valid((year, digits(rest.get(..2)?)?, digits(rest.get(2..)?)?)),
        _ => None,
    }
}

fn valid((year, month, day): Civil) -> Option<i64> {
    let fits = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    (fits && year.abs() <= YEAR_MAX).then(|| days_of((year, month, day)))
}

pub(super) fn ordinal(year: i64, day: i64) -> Option<i64> {
    if year.abs() > YEAR_MAX {
        return None;
    }
    let last = 365 + i64::from(is_leap(year));
    (1..=last).contains(&day).then(|| days_of((year, 1, 1)) + day - 1)
}

pub(super) fn week_date(year: i64, week: i64, day: i64) -> Option<i64> {
    if year.abs() > YEAR_MAX || !(1..=53).contains(&week) || !(1..=7).contains(&day) {
        return None;
    }
    let found = of_iso_week(year, week, day);
    (iso_week(found) == (year, week)).then_some(found)
}

/// A time of day.
pub(super) fn time(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let compact: String = clock.chars().filter(|c| *c != ':').collect();
    if clock.contains(':') && clock.split(':').any(|p| p.len() != 2) {
        return None;
    }
    let part = |i: usize| match compact.get(i..i + 2) {
        Some(d) => digits(d),
        None => Some(0),
    };
    if !matches!(compact.len(), 2 | 4 | 6) || !fraction.is_empty() && compact.len() != 6 {
        return None;
    }
    let (h, m, s) = (part(0)?, part(2)?, part(4)?);
    let nanos = if fraction.is_empty() { 0 } else { digits(&format!("{fraction:0<9}"))? };
    let fits = h < 24 && m < 60 && s < 60 && fraction.len() <= 9;
    fits.then(|| ((h * 60 + m) * 60 + s) * super::SECOND_NANOS + nanos)
}

/// Splits the zone off a time: `12:00+01:00[Europe/Stockholm]`.
fn split_zone(text: &str) -> Res<(&str, Option<Zone>)> {
    if let Some((rest, name)) = text.split_once('[') {
        let name = name.strip_suffix(']').ok_or_else(|| bad(text, "time with a zone"))?;
        let clock = rest.find(['Z', 'z', '+', '-']).map_or(rest, |i| &rest[..i]);
        return Ok((clock, Some(zone(name)?)));
    }
    match text.find(['Z', 'z', '+', '-']) {
        Some(i) => Ok((&text[..i], Some(zone(&text[i..])?))),
        None => Ok((text, None)),
    }
}

/// A value of the given kind.
pub(super) fn temporal(sort: Sort, text: &str) -> Res<Temporal> {
    let kind = match sort {
        Sort::Date => "date",
        Sort::LocalTime => "local time",
        Sort::Time => "time",
        Sort::LocalDateTime => "local date and time",
        Sort::DateTime => "date and time",
    };
    let fail = || bad(text, kind);
    match sort {
        Sort::Date => date(text).map(Temporal::Date).ok_or_else(fail),
        Sort::LocalTime => time(text).map(Temporal::LocalTime).ok_or_else(fail),
        Sort::Time => {
            let (clock, zone) = split_zone(text)?;
            let offset = zone.map_or(0, |z| z.offset_at(0));
            Ok(Temporal::Time(time(clock).ok_or_else(fail)?, offset))
        }
        Sort::LocalDateTime | Sort::DateTime => {
            let (day, clock) = text.split_once(['T', 't']).unwrap_or((text, "00:00"));
            let (clock, zone) = split_zone(clock)?;
            let day = date(day).ok_or_else(fail)?;
            let nanos = time(clock).ok_or_else(fail)?;
            let local = day * 86_400 + nanos / super::SECOND_NANOS;
            let part = (nanos % super::SECOND_NANOS) as u32;
            if sort == Sort::LocalDateTime {
                return match zone {
                    None => Ok(Temporal::LocalDateTime(local, part)),
                    Some(_) => Err(fail()),
                };
            }
            let zone = zone.unwrap_or(Zone::Fixed(0));
            Ok(Temporal::DateTime(zone.local(local, part).into()))
        }
    }
}

/// A duration: `P1Y2M3DT4H5M6.7S`, or `P2012-02-02T14:37:21.545`.
pub(crate) fn duration_of(text: &str) -> Res<Duration> {
    let fail = || bad(text, "duration");
    let (sign, body) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let body = body.strip_prefix(['P', 'p']).ok_or_else(fail)?;
    let (days, clock) = body.split_once(['T', 't']).unwrap_or((body, ""));
    if days.get(1..).is_some_and(|d| d.contains('-')) && !days.contains(['Y', 'M', 'D', 'W']) {
        let day = date(days).ok_or_else(fail)?;
        let nanos = if clock.is_empty() { 0 } else { time(clock).ok_or_else(fail)? };
        let (years, months, days) = civil(day);
        return Ok(Duration {
            months: years * 12 + months,
            days,
            seconds: nanos / super::SECOND_NANOS,
            nanos: (nanos % super::SECOND_NANOS) as i32,
        });
    }
    let mut parts = Parts::default();
    let mut any = false;
    for (section, is_clock) in [(days, false), (clock, true)] {
        let mut number = String::new();
        for c in section.chars() {
            if c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+') {
                number.push(if c == ',' { '.' } else { c });
                continue;
            }
            let value = sign * number.parse::<f64>().map_err(|_| fail())?;
            let key = match (c.to_ascii_uppercase(), is_clock) {
                ('Y', false) => "years",
                ('M', false) => "months",
                ('W', false) => "weeks",
                ('D', false) => "days",
                ('H', true) => "hours",
                ('M', true) => "minutes",
                ('S', true) => "seconds",
                _ => return Err(fail()),
            };
            // Whole numbers keep all their digits; so do fractions of a second.
            match number.parse::<i64>() {
                Ok(n) if sign < 0.0 => n.checked_neg().and_then(|n| parts.add_int(key, n)),
                Ok(n) => parts.add_int(key, n),
                Err(_) if key == "seconds" => parts.add_decimal(&number, sign < 0.0),
                Err(_) => parts.add_float(key, value),
            }
            .ok_or_else(fail)?;
            number.clear();
            any = true;
        }
        if !number.is_empty() {
            return Err(fail());
        }
    }
    if any { parts.finish().ok_or_else(fail) } else { Err(fail()) }
}
