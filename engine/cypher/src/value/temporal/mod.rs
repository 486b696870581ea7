//! Points in time and lengths of time: proleptic Gregorian calendar, nanoseconds, named zones.

mod access;
mod arith;
mod build;
mod calendar;
mod duration;
mod read;
mod zone;

use std::cmp::Ordering;

pub(crate) use access::{component, duration_component};
pub(crate) use arith::{Unit, add, between, duration_of_map, truncate};
pub(crate) use build::{construct, from_epoch};
pub use duration::Duration;
pub use graphlume_expr::{Temporal, Zoned};
pub(crate) use read::duration_of;

use crate::error::{Res, type_error};

pub(crate) const DAY_NANOS: i64 = 86_400_000_000_000;
pub(crate) const SECOND_NANOS: i64 = 1_000_000_000;

/// Which constructor makes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Date,
    LocalTime,
    Time,
    LocalDateTime,
    DateTime,
}

/// The order of a time and the one that a text says. A text without a zone is read in the zone of the time.
pub(crate) fn order_of_text(time: &Temporal, text: &str) -> Res<Ordering> {
    let said = read_like(time, text).map_err(|_| {
        type_error(format!(
            "{} is compared with the text {text:?}, which says no such time: write it in ISO form, such as \
             '2026-03-01' or '2026-03-01T12:30:00'",
            time.kind()
        ))
    })?;
    Ok(match (time.instant(), said.instant()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => time.order(&said),
    })
}

fn read_like(time: &Temporal, text: &str) -> Res<Temporal> {
    let text = text.trim();
    match time {
        Temporal::LocalTime(_) => read::temporal(Sort::LocalTime, text),
        Temporal::Time(..) => read::temporal(Sort::Time, text),
        Temporal::Date(_) | Temporal::LocalDateTime(..) | Temporal::DateTime(_) => {
            // Tables write a space where ISO has a T.
            let text = text.replacen(' ', "T", 1);
            match (read::temporal(Sort::LocalDateTime, &text), build::zone_of(time)) {
                (Ok(Temporal::LocalDateTime(local, nanos)), Some(zone)) => {
                    Ok(Temporal::DateTime(zone.local(local, nanos).into()))
                }
                (Ok(local), _) => Ok(local),
                (Err(_), _) => read::temporal(Sort::DateTime, &text),
            }
        }
    }
}

/// The moment in the zone of a column, which is an offset or a name.
pub(crate) fn zoned_of(seconds: i64, nanos: u32, zone: &str) -> Temporal {
    let zone = match zone {
        "UTC" => zone::Zone::Fixed(0),
        name => zone::zone(name).unwrap_or(zone::Zone::Fixed(0)),
    };
    let offset = zone.offset_at(seconds);
    Temporal::DateTime(Zoned { seconds, nanos, offset, zone: zone.name() }.into())
}
