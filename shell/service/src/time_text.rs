//! Times as the interface shows them.

use time::OffsetDateTime;
use time::macros::format_description;

/// ISO 8601 in UTC with microseconds, such as `2026-01-31T23:59:59.000001Z`.
pub(crate) fn iso8601(unix_micros: i64) -> String {
    let format =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_micros) * 1_000)
        .ok()
        .and_then(|t| t.format(&format).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_with_microseconds() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(iso8601(1_700_000_000_000_001), "2023-11-14T22:13:20.000001Z");
        assert_eq!(iso8601(-1), "1969-12-31T23:59:59.999999Z");
    }
}
