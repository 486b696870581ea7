//! Columns of times: of values that a query made, the Arrow type that holds each of them exactly.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::sync::Arc;

use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, Date32Array, PrimitiveArray, Time64NanosecondArray};

use crate::temporal::Temporal;

/// A column of times, null where there is none: dates, times of day in nanoseconds, or moments in the finest unit whose
/// range has them all, with the zone that they share. `None` where no Arrow type holds all of them: kinds or zones
/// differ, or a moment far from today has nanoseconds.
pub fn times<'v>(values: impl Iterator<Item = Option<&'v Temporal>> + Clone) -> Option<ArrayRef> {
    let first = values.clone().flatten().next()?;
    let all = |same: &dyn Fn(&Temporal) -> bool| values.clone().flatten().all(same);
    match first {
        Temporal::Date(_) => {
            let day = |time: &Temporal| match time {
                Temporal::Date(day) => i32::try_from(*day).ok(),
                _ => None,
            };
            let fits = all(&|time| day(time).is_some());
            fits.then(|| Arc::new(values.map(|v| day(v?)).collect::<Date32Array>()) as ArrayRef)
        }
        Temporal::LocalTime(_) => {
            let clock = |time: &Temporal| match time {
                Temporal::LocalTime(nanos) => Some(*nanos),
                _ => None,
            };
            let fits = all(&|time| clock(time).is_some());
            let column = || values.map(|v| clock(v?)).collect::<Time64NanosecondArray>();
            fits.then(|| Arc::new(column()) as ArrayRef)
        }
        Temporal::LocalDateTime(..) => {
            let fits = all(&|time| matches!(time, Temporal::LocalDateTime(..)));
            if fits { moments(values, None) } else { None }
        }
        Temporal::DateTime(_) => {
            let zone = zone(first)?;
            let fits = all(&|time| self::zone(time).as_ref() == Some(&zone));
            if fits { moments(values, Some(&zone)) } else { None }
        }
        Temporal::Time(..) => None,
    }
}

/// The zone of a moment as Arrow writes it.
fn zone(time: &Temporal) -> Option<Arc<str>> {
    let Temporal::DateTime(zoned) = time else { return None };
    let offset = || {
        let (sign, far) = (if zoned.offset < 0 { '-' } else { '+' }, zoned.offset.unsigned_abs());
        // Arrow has no seconds in the offset of a zone.
        (far % 60 == 0).then(|| format!("{sign}{:02}:{:02}", far / 3600, far / 60 % 60).into())
    };
    zoned.zone.clone().or_else(offset)
}

/// Moments in the finest unit that has all of them.
fn moments<'v>(
    values: impl Iterator<Item = Option<&'v Temporal>> + Clone,
    zone: Option<&Arc<str>>,
) -> Option<ArrayRef> {
    of_unit::<TimestampNanosecondType>(values.clone(), 1_000_000_000, zone)
        .or_else(|| of_unit::<TimestampMicrosecondType>(values.clone(), 1_000_000, zone))
        .or_else(|| of_unit::<TimestampMillisecondType>(values.clone(), 1_000, zone))
        .or_else(|| of_unit::<TimestampSecondType>(values, 1, zone))
}

fn of_unit<'v, T: ArrowTimestampType>(
    values: impl Iterator<Item = Option<&'v Temporal>> + Clone,
    per_second: i64,
    zone: Option<&Arc<str>>,
) -> Option<ArrayRef> {
    let ticks = |time: &Temporal| {
        let (seconds, nanos) = time.instant()?;
        let (unit, nanos) = (1_000_000_000 / per_second, i64::from(nanos));
        // The earliest nanoseconds do not fit when their second is counted first.
        let ticks = i128::from(seconds) * i128::from(per_second) + i128::from(nanos / unit);
        i64::try_from(ticks).ok().filter(|_| nanos % unit == 0)
    };
    if values.clone().flatten().any(|time| ticks(time).is_none()) {
        return None;
    }
    let column: PrimitiveArray<T> = values.map(|v| ticks(v?)).collect();
    Some(match zone {
        Some(zone) => Arc::new(column.with_timezone(Arc::clone(zone))),
        None => Arc::new(column),
    })
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "numbers of tests are small"
    )]
    use arrow_schema::{DataType, TimeUnit};

    use super::*;
    use crate::temporal::Zoned;

    fn kind(all: &[Temporal]) -> Option<DataType> {
        times(all.iter().map(Some)).map(|column| column.data_type().clone())
    }

    fn stamp(unit: TimeUnit, zone: Option<&str>) -> Option<DataType> {
        Some(DataType::Timestamp(unit, zone.map(Arc::from)))
    }

    #[test]
    fn moments_get_the_finest_unit_that_has_them_all() {
        let year = 31_556_952;
        let at = Temporal::LocalDateTime;
        assert_eq!(kind(&[at(0, 1)]), stamp(TimeUnit::Nanosecond, None));
        assert_eq!(kind(&[at(8_000 * year, 0), at(0, 5_000)]), stamp(TimeUnit::Microsecond, None));
        assert_eq!(kind(&[at(400_000 * year, 2_000_000)]), stamp(TimeUnit::Millisecond, None));
        assert_eq!(kind(&[at(400_000_000 * year, 0)]), stamp(TimeUnit::Second, None));
        assert_eq!(kind(&[at(8_000 * year, 5)]), None);
        // The first nanosecond of 64 bits.
        let first = i64::MIN.div_euclid(1_000_000_000);
        let nanos = i64::MIN.rem_euclid(1_000_000_000) as u32;
        assert_eq!(kind(&[at(first, nanos)]), stamp(TimeUnit::Nanosecond, None));
    }

    #[test]
    fn zones_and_kinds_are_kept_where_all_share_them() {
        let zoned = |offset: i32, zone: Option<&str>| {
            let zone = zone.map(Arc::from);
            Temporal::DateTime(Arc::new(Zoned { seconds: 0, nanos: 0, offset, zone }))
        };
        let berlin = zoned(3_600, Some("Europe/Berlin"));
        let summer = zoned(7_200, Some("Europe/Berlin"));
        assert_eq!(
            kind(&[berlin.clone(), summer]),
            stamp(TimeUnit::Nanosecond, Some("Europe/Berlin"))
        );
        assert_eq!(kind(&[zoned(-5_400, None)]), stamp(TimeUnit::Nanosecond, Some("-01:30")));
        assert_eq!(kind(&[berlin, zoned(3_600, None)]), None);
        assert_eq!(kind(&[Temporal::Date(3)]), Some(DataType::Date32));
        assert_eq!(kind(&[Temporal::Date(1 << 40)]), None);
        assert_eq!(kind(&[Temporal::Date(3), Temporal::LocalDateTime(0, 0)]), None);
        assert_eq!(kind(&[Temporal::LocalTime(3)]), Some(DataType::Time64(TimeUnit::Nanosecond)));
        assert_eq!(kind(&[]), None);
    }
}
