//! Dates and durations from text.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, DurationNanosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use graphlume_table::TextColumn;
use graphlume_types::calendar::{days_in_month, days_of};

const SECS_PER_DAY: i64 = 86_400;
const NANOS_PER_SEC: i64 = 1_000_000_000;

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    /// Seconds since 1970, in UTC when there is a zone.
    secs: i64,
    nanos: u32,
    zoned: bool,
    /// Whether the fraction has more digits than microseconds have.
    fine: bool,
}

/// Reads digits from the front of a text.
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    /// A number of exactly `len` digits.
    fn number(&mut self, len: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(len)?;
        let value = digits
            .iter()
            .try_fold(0i64, |v, b| b.is_ascii_digit().then(|| v * 10 + i64::from(b - b'0')))?;
        self.0 = rest;
        Some(value)
    }

    fn take(&mut self, mark: u8) -> bool {
        let found = self.0.first() == Some(&mark);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    /// A fraction of a second in nanoseconds, and whether it is finer than microseconds. Digits past
    /// the ninth are dropped.
    fn fraction(&mut self) -> Option<(u32, bool)> {
        let len = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        if len == 0 {
            return None;
        }
        let digit = |i: usize| if i < len { u32::from(self.0[i] - b'0') } else { 0 };
        let nanos = (0..9).fold(0, |v, i| v * 10 + digit(i));
        self.0 = &self.0[len..];
        Some((nanos, len > 6))
    }
}

/// ISO 8601: `YYYY-MM-DD`, `YYYYMMDD`, `YYYY-MM` or `YYYY`, behind a day also `T` or a blank and
/// `HH:MM[:SS[.f]]`, and then `Z`, `+HH`, `+HH:MM` or `+HHMM`.
fn moment(text: &str) -> Option<Moment> {
    let mut text = Digits(text.trim().as_bytes());
    let year = text.number(4)?;
    let dashed = text.take(b'-');
    let (mut month, mut day, mut whole) = (1, 1, false);
    if dashed || !text.0.is_empty() {
        month = text.number(2)?;
        // Six digits could be anything.
        if !dashed || text.0.first() == Some(&b'-') {
            if dashed && !text.take(b'-') {
                return None;
            }
            (day, whole) = (text.number(2)?, true);
        }
    }
    if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
        return None;
    }
    let mut out = Moment {
        secs: days_of((year, month, day)) * SECS_PER_DAY,
        nanos: 0,
        zoned: false,
        fine: false,
    };
    if text.0.is_empty() {
        return Some(out);
    }
    if !whole || !(text.take(b'T') || text.take(b't') || text.take(b' ')) {
        return None;
    }
    let hour = text.number(2)?;
    let (mut minute, mut second) = (0, 0);
    if text.take(b':') {
        minute = text.number(2)?;
        if text.take(b':') {
            second = text.number(2)?;
            if text.take(b'.') || text.take(b',') {
                (out.nanos, out.fine) = text.fraction()?;
            }
        }
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    out.secs += hour * 3_600 + minute * 60 + second;
    let offset = zone(&mut text)?;
    out.zoned = offset.is_some();
    out.secs -= offset.unwrap_or(0);
    text.0.is_empty().then_some(out)
}

/// Seconds that the zone at the front is ahead of UTC; `Some(None)` where none is.
fn zone(text: &mut Digits<'_>) -> Option<Option<i64>> {
    if text.0.is_empty() {
        return Some(None);
    }
    if text.take(b'Z') || text.take(b'z') {
        return Some(Some(0));
    }
    let sign = match (text.take(b'+'), text.take(b'-')) {
        (true, _) => 1,
        (_, true) => -1,
        _ => return None,
    };
    let hours = text.number(2)?;
    let colon = text.take(b':');
    let minutes = if colon || !text.0.is_empty() { text.number(2)? } else { 0 };
    (hours < 24 && minutes < 60).then_some(Some(sign * (hours * 3_600 + minutes * 60)))
}

/// Timestamps in microseconds, or in nanoseconds where a fraction has that many digits; with a zone
/// only when every text has one, and then in UTC. The error is the first row that is no date.
pub fn dates(array: &ArrayRef) -> Result<ArrayRef, usize> {
    let texts = TextColumn::try_new(array).ok_or(0usize)?;
    let mut moments = Vec::with_capacity(array.len());
    for (row, text) in texts.iter().enumerate() {
        moments.push(match text {
            None | Some("" | "NaT" | "nat" | "NaN" | "nan" | "NAN") => None,
            Some(text) => Some(moment(text).ok_or(row)?),
        });
    }
    let some = || moments.iter().flatten();
    let zoned = some().next().is_some() && some().all(|m| m.zoned);
    if let Some(row) = moments.iter().position(|m| m.is_some_and(|m| m.zoned != zoned)) {
        return Err(row);
    }
    let zone: Option<Arc<str>> = zoned.then(|| Arc::from("UTC"));
    let nanos = |m: &Moment| m.secs.checked_mul(NANOS_PER_SEC)?.checked_add(i64::from(m.nanos));
    if some().any(|m| m.fine) && some().all(|m| nanos(m).is_some()) {
        let values = moments.iter().map(|m| m.as_ref().and_then(nanos));
        return Ok(Arc::new(values.collect::<TimestampNanosecondArray>().with_timezone_opt(zone)));
    }
    let micros = |m: &Moment| m.secs * 1_000_000 + i64::from(m.nanos / 1_000);
    let values = moments.iter().map(|m| m.as_ref().map(micros));
    Ok(Arc::new(values.collect::<TimestampMicrosecondArray>().with_timezone_opt(zone)))
}

/// Nanoseconds of a duration: `[N days] [HH:MM:SS[.f]]`, or a number with a unit, or both with a sign.
fn duration(text: &str) -> Option<i64> {
    let text = text.trim();
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut total = 0i64;
    let mut rest = text.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if rest.as_bytes().get(digits) != Some(&b':') {
        let amount: i64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let word = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = match &rest[..word] {
            "d" | "D" | "day" | "days" => SECS_PER_DAY * NANOS_PER_SEC,
            "h" | "H" | "hour" | "hours" => 3_600 * NANOS_PER_SEC,
            "m" | "min" | "minute" | "minutes" => 60 * NANOS_PER_SEC,
            "s" | "sec" | "second" | "seconds" => NANOS_PER_SEC,
            "ms" | "millisecond" | "milliseconds" => 1_000_000,
            "us" | "microsecond" | "microseconds" => 1_000,
            "ns" | "nanosecond" | "nanoseconds" => 1,
            _ => return None,
        };
        total = amount.checked_mul(unit)?;
        rest = rest[word..].trim_start();
        // As pandas writes it: minus one day, plus some hours.
        if let Some(clock) = rest.strip_prefix('+') {
            let days = if negative { -total } else { total };
            return days.checked_add(clock_nanos(clock)?);
        }
    }
    if !rest.is_empty() {
        total = total.checked_add(clock_nanos(rest)?)?;
    }
    Some(if negative { -total } else { total })
}

/// `HH:MM[:SS[.f]]`.
fn clock_nanos(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let hours: i64 = parts.next()?.parse().ok()?;
    let minutes: i64 = parts.next()?.parse().ok()?;
    let (seconds, nanos) = match parts.next().map(|p| p.split_once('.').unwrap_or((p, "0"))) {
        None => (0, 0),
        Some((whole, fraction)) => {
            let mut digits = Digits(fraction.as_bytes());
            let (nanos, _) = digits.fraction()?;
            (if digits.0.is_empty() { whole.parse().ok()? } else { return None }, nanos)
        }
    };
    let fits = (0..60).contains(&minutes) && (0..60).contains(&seconds) && hours >= 0;
    let secs = hours.checked_mul(3_600)?.checked_add(minutes * 60 + seconds)?;
    let nanos = secs.checked_mul(NANOS_PER_SEC)?.checked_add(i64::from(nanos))?;
    fits.then_some(nanos)
}

/// Durations in nanoseconds. The error is the first row that is none.
pub fn durations(array: &ArrayRef) -> Result<ArrayRef, usize> {
    let texts = TextColumn::try_new(array).ok_or(0usize)?;
    let mut values = Vec::with_capacity(array.len());
    for (row, text) in texts.iter().enumerate() {
        values.push(match text {
            None | Some("NaT") => None,
            Some(text) => Some(duration(text).ok_or(row)?),
        });
    }
    Ok(Arc::new(DurationNanosecondArray::from(values)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn dates_of_iso_8601_and_nothing_else() {
        let secs = |text| moment(text).map(|m| m.secs);
        assert_eq!(secs("1970-01-01"), Some(0));
        assert_eq!(secs("20000229"), Some(951_782_400));
        assert_eq!(secs("2000-02-29 12:30"), Some(951_827_400));
        assert_eq!(secs("2000-02-29T12:30:01+02:00"), Some(951_820_201));
        assert_eq!(secs("1969-12-31T23:59:59Z"), Some(-1));
        assert_eq!((secs("2001"), secs("2001-02")), (Some(978_307_200), Some(980_985_600)));
        assert_eq!(
            (secs("0001-01-01"), secs("9999-12-31")),
            (Some(-62_135_596_800), Some(253_402_214_400))
        );
        assert_eq!(moment("2000-01-01 00:00:00.1234567").unwrap().nanos, 123_456_700);
        for bad in [
            "",
            "x",
            "200001",
            "2000-1-1",
            "2000-13-01",
            "2001-02-29",
            "2000-01-01x",
            "2000-01T00:00",
            "2000-01-01 24:00",
            "2000-01-01 1:00",
            "2000-01-01 00:00:00.",
            "1.5",
            "2000-01-01 00:00 PM",
        ] {
            assert_eq!(moment(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_as_pandas_writes_them_and_with_units() {
        let hour = 3_600 * NANOS_PER_SEC;
        assert_eq!(duration("1 days 02:00:00"), Some(26 * hour));
        assert_eq!(duration("-1 days +23:00:00"), Some(-hour));
        assert_eq!(duration("02:00:00.5"), Some(2 * hour + NANOS_PER_SEC / 2));
        assert_eq!(
            (duration("90 min"), duration("-5s")),
            (Some(hour * 3 / 2), Some(-5 * NANOS_PER_SEC))
        );
        for bad in ["", "1", "days", "1 moon", "1:2:3:4", "00:61:00", "1 days 5"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }
}
