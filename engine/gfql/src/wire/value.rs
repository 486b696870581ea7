//! Scalar values of a query, temporal tags included.

use graphlume_expr::{ErrorCode, QueryError, Scalar, Temporal};
use graphlume_table::{Tz, resolve_local, zone_offset};
use graphlume_types::calendar::{civil, days_of};
use serde_json::Value;

/// Reads a scalar or a temporal tag.
pub(super) fn literal(value: &Value, field: &str) -> Result<Scalar, QueryError> {
    if let Some(v) = Scalar::from_json(value) {
        return Ok(v);
    }
    temporal(value).ok_or_else(|| {
        QueryError::new(ErrorCode::Predicate, "the value is no scalar and no temporal tag")
            .field(field)
            .value(value)
            .suggest(
                "use a number, a text or {\"type\": \"datetime\", \
                 \"value\": \"2024-01-31T00:00:00\", \"timezone\": \"UTC\"}; \
                 zones are UTC, an offset such as +02:00, or a name such as Europe/London",
            )
    })
}

fn temporal(value: &Value) -> Option<Scalar> {
    let tag = value.as_object()?;
    let content = tag.get("value")?;
    match tag.get("type")?.as_str()? {
        "datetime" => {
            if let Some(unit) = tag.get("unit") {
                let count = content.as_i64()?;
                return match unit.as_str()? {
                    "s" => Some(Scalar::instant(count, 0)),
                    "ms" => {
                        let nanos = count.rem_euclid(1000) as u32 * 1_000_000;
                        Some(Scalar::instant(count.div_euclid(1000), nanos))
                    }
                    _ => None,
                };
            }
            let zone = tag.get("timezone").filter(|zone| !zone.is_null());
            let zone = zone.map_or(Some("UTC"), Value::as_str)?;
            let (seconds, nanos) = instant_in(content.as_str()?, zone)?;
            Some(Scalar::instant(seconds, nanos))
        }
        "date" => {
            date(content.as_str()?.get(..10)?).map(|day| Scalar::Temporal(Temporal::Date(day)))
        }
        "time" => {
            let text = content.as_str()?;
            let clock = text.rsplit(['T', ' ']).next()?;
            time_of_day(clock).map(|ns| Scalar::Temporal(Temporal::LocalTime(ns)))
        }
        _ => None,
    }
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let plain = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

fn date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let days = days_of((year, month, day));
    (parts.next().is_none() && civil(days) == (year, month, day)).then_some(days)
}

pub(crate) fn time_of_day(text: &str) -> Option<i64> {
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

/// Seconds east of UTC.
fn offset(zone: &str) -> Option<i64> {
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

/// A moment in ISO form; one without an offset is what the clocks of `zone` show: `UTC`, an offset, or a
/// name such as `Europe/London`.
fn instant_in(text: &str, zone: &str) -> Option<(i64, u32)> {
    if let Some(offset) = offset(zone) {
        return instant(text, offset);
    }
    let zone: Tz = zone.parse().ok()?;
    let (local, nanos) = instant(text, 0)?;
    let has_offset = instant(text, 1)? == (local, nanos);
    let utc = if has_offset { local } else { resolve_local(|utc| zone_offset(zone, utc), local).0 };
    Some((utc, nanos))
}

/// A moment in ISO form; one without an offset is in the zone `zone` seconds east of UTC.
pub(crate) fn instant(text: &str, zone: i64) -> Option<(i64, u32)> {
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

/// The moment that a text says which is compared with a time; without an offset it is in UTC.
///
/// # Errors
/// [`ErrorCode::ColumnType`] for a text that says none.
pub fn moment(text: &str) -> Result<(i64, u32), QueryError> {
    instant(text, 0).ok_or_else(|| {
        QueryError::new(ErrorCode::ColumnType, "a time is compared with a text that says no time")
            .value(text)
            .suggest("write the time in ISO form, such as 2024-01-31 or 2024-01-31T08:30:00Z")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tags_become_moments() {
        let at = |v: Value| literal(&v, "val");
        let tag =
            json!({"type": "datetime", "value": "2024-06-01T12:00:00.5", "timezone": "+02:00"});
        assert_eq!(at(tag), Ok(Scalar::instant(1_717_236_000, 500_000_000)));
        let aware =
            json!({"type": "datetime", "value": "2024-06-01T12:00:00Z", "timezone": "+02:00"});
        assert_eq!(at(aware), Ok(Scalar::instant(1_717_243_200, 0)));
        let named = |value: &str, zone: &str| {
            at(json!({"type": "datetime", "value": value, "timezone": zone}))
        };
        let morning = Ok(Scalar::instant(1_686_824_400, 0));
        assert_eq!(named("2023-06-15T11:20:00", "Europe/London"), morning);
        assert_eq!(named("2023-06-15T06:20:00-04:00", "US/Eastern"), morning);
        assert!(named("2023-06-15T11:20:00", "Europe/Nowhere").is_err());
        let unit = json!({"type": "datetime", "value": -1, "unit": "ms"});
        assert_eq!(at(unit), Ok(Scalar::instant(-1, 999_000_000)));
        assert_eq!(
            at(json!({"type": "date", "value": "1970-01-02"})),
            Ok(Scalar::Temporal(Temporal::Date(1)))
        );
        assert_eq!(
            at(json!({"type": "time", "value": "00:00:01"})),
            Ok(Scalar::Temporal(Temporal::LocalTime(1_000_000_000)))
        );
        for bad in ["2024-13-01", "2024-02-30", "yesterday"] {
            assert!(at(json!({"type": "date", "value": bad})).is_err(), "{bad}");
        }
    }
}
