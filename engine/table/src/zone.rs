//! Time zones by name, from the database that Arrow brings.

use arrow_array::temporal_conversions::as_datetime_with_timezone;
use arrow_array::types::TimestampSecondType;

pub use arrow_array::timezone::Tz;

/// Seconds that a zone is ahead of UTC at a moment, in seconds since 1970.
#[must_use]
pub fn zone_offset(zone: Tz, utc: i64) -> i32 {
    as_datetime_with_timezone::<TimestampSecondType>(utc, zone)
        .map_or(0, |t| (t.naive_local().and_utc().timestamp() - t.timestamp()) as i32)
}

/// The moment at which a clock shows `local`, and how far it is ahead of UTC then. `offset_at` says how
/// far it is ahead at a moment. Of two moments it is the earlier one; where the clock skips `local`, it is
/// taken as it was before.
pub fn resolve_local(offset_at: impl Fn(i64) -> i32, local: i64) -> (i64, i32) {
    let before = offset_at(local.saturating_sub(86_400));
    let after = offset_at(local.saturating_add(86_400));
    for offset in [before, after] {
        let utc = local.saturating_sub(i64::from(offset));
        if offset_at(utc) == offset {
            return (utc, offset);
        }
    }
    let utc = local.saturating_sub(i64::from(before));
    (utc, offset_at(utc))
}
