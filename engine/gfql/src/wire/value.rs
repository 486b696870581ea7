//! Scalar values of a query, temporal tags included.

use graphlume_expr::{ErrorCode, QueryError, Scalar, Temporal};
use graphlume_table::{Tz, resolve_local, zone_offset};
use graphlume_types::iso_time::{date, instant, offset, time_of_day};
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
