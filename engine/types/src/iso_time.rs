//! Texts of ISO 8601 that say a day, a time of day, an offset or a moment.

use crate::calendar::{civil, days_of};

fn number(text: &str, digits: usize) -> Option<i64> {
    let plain = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// The day that a text such as `2024-01-31` says, counted from 1970-01-01; none for another text.
#[must_use]
pub fn date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let days = days_of((year, month, day));
    (parts.next().is_none() && civil(days) == (year, month, day)).then_some(days)
}

/// The nanoseconds since midnight that a text such as `08:30:00.5` says; none for another text.
#[must_use]
pub fn time_of_day(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let hour = number(parts.next()?, 2)?;
    let minute = number(parts.next()?, 2)?;
    let second = parts.next().map_or(Some(0), |s| number(s, 2))?;
    let valid = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
    let digits = fraction.len();
    if !valid || digits > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanos =
        if digits == 0 { 0 } else { fraction.parse::<i64>().ok()? * 10_i64.pow(9 - digits as u32) };
    Some((hour * 3600 + minute * 60 + second) * 1_000_000_000 + nanos)
}

/// The seconds east of UTC of `UTC`, `GMT`, `Z` or an offset such as `+02:00`; none for another text.
#[must_use]
pub fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "UTC" | "utc" | "Z" | "GMT" | "Etc/UTC") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    let hours = number(digits.get(..2)?, 2)?;
    let minutes = if digits.len() > 2 { number(digits.get(2..)?, 2)? } else { 0 };
    Some(sign * (hours * 3600 + minutes * 60))
}

/// The seconds since 1970 and the nanoseconds of a moment such as `2024-01-31T08:30:00Z`; one without an offset is in the zone
/// `zone` seconds east of UTC. None for another text.
#[must_use]
pub fn instant(text: &str, zone: i64) -> Option<(i64, u32)> {
    let day = date(text.get(..10)?)?;
    let rest = &text[10..];
    if rest.is_empty() {
        return Some((day * 86_400 - zone, 0));
    }
    let rest = rest.strip_prefix(['T', ' '])?;
    let cut = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (clock, tail) = rest.split_at(cut);
    let zone = if tail.is_empty() { zone } else { offset(tail)? };
    let nanos = time_of_day(clock)?;
    Some((day * 86_400 + nanos / 1_000_000_000 - zone, (nanos % 1_000_000_000) as u32))
}
