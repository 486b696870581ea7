//! Points in time and lengths of time: proleptic Gregorian calendar, nanoseconds, named zones.

mod access;
mod arith;
mod build;
mod calendar;
mod duration;
mod read;
mod zone;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub(crate) use access::{component, duration_component};
pub(crate) use arith::{Unit, add, between, duration_of_map, truncate};
pub(crate) use build::{construct, from_epoch};
pub use duration::Duration;
pub(crate) use read::duration_of;

use crate::error::{Res, type_error};
use calendar::{civil, write_date, write_offset, write_time};

pub(crate) const DAY_NANOS: i64 = 86_400_000_000_000;
pub(crate) const SECOND_NANOS: i64 = 1_000_000_000;

/// A moment in a zone.
#[derive(Clone, Debug)]
pub struct Zoned {
    /// Seconds since 1970, UTC.
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub nanos: u32,
    /// Seconds that the zone is ahead of UTC at that moment.
    pub offset: i32,
    /// Name of the zone, if it has one.
    pub zone: Option<Arc<str>>,
}

/// A point in time.
#[derive(Clone, Debug)]
pub enum Temporal {
    /// Days since 1970.
    Date(i64),
    /// Nanoseconds of the day.
    LocalTime(i64),
    /// Nanoseconds of the day in a zone this many seconds ahead of UTC.
    Time(i64, i32),
    /// Seconds since 1970 on the local clock and nanoseconds.
    LocalDateTime(i64, u32),
    /// A moment.
    DateTime(Arc<Zoned>),
}

/// Which constructor makes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Date,
    LocalTime,
    Time,
    LocalDateTime,
    DateTime,
}

impl Temporal {
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Date(_) => "a date",
            Self::LocalTime(_) => "a local time",
            Self::Time(..) => "a time",
            Self::LocalDateTime(..) => "a local date and time",
            Self::DateTime(_) => "a date and time",
        }
    }

    /// Position of the kind in the total order.
    pub(crate) const fn rank(&self) -> u8 {
        match self {
            Self::DateTime(_) => 0,
            Self::LocalDateTime(..) => 1,
            Self::Date(_) => 2,
            Self::Time(..) => 3,
            Self::LocalTime(_) => 4,
        }
    }

    /// The order of `<`, which exists within one kind.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        (self.rank() == other.rank()).then(|| self.order(other))
    }

    /// Seconds since 1970 and nanoseconds of a time that has a day; without a zone it is UTC.
    pub(crate) fn instant(&self) -> Option<(i64, u32)> {
        match self {
            Self::Date(day) => Some((day.saturating_mul(86_400), 0)),
            Self::LocalDateTime(seconds, nanos) => Some((*seconds, *nanos)),
            Self::DateTime(z) => Some((z.seconds, z.nanos)),
            Self::LocalTime(_) | Self::Time(..) => None,
        }
    }

    /// The order of this time and the one that a text says. A text without a zone is read in the zone of this.
    pub(crate) fn order_of_text(&self, text: &str) -> Res<Ordering> {
        let said = self.read_like(text).map_err(|_| {
            type_error(format!(
                "{} is compared with the text {text:?}, which says no such time: write it in ISO form, such as \
                 '2026-03-01' or '2026-03-01T12:30:00'",
                self.kind()
            ))
        })?;
        Ok(match (self.instant(), said.instant()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => self.order(&said),
        })
    }

    fn read_like(&self, text: &str) -> Res<Self> {
        let text = text.trim();
        match self {
            Self::LocalTime(_) => read::temporal(Sort::LocalTime, text),
            Self::Time(..) => read::temporal(Sort::Time, text),
            Self::Date(_) | Self::LocalDateTime(..) | Self::DateTime(_) => {
                // Tables write a space where ISO has a T.
                let text = text.replacen(' ', "T", 1);
                match (read::temporal(Sort::LocalDateTime, &text), build::zone_of(self)) {
                    (Ok(Self::LocalDateTime(local, nanos)), Some(zone)) => {
                        Ok(Self::DateTime(zone.local(local, nanos).into()))
                    }
                    (Ok(local), _) => Ok(local),
                    (Err(_), _) => read::temporal(Sort::DateTime, &text),
                }
            }
        }
    }

    /// The total order.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Date(a), Self::Date(b)) | (Self::LocalTime(a), Self::LocalTime(b)) => a.cmp(b),
            (Self::Time(a, x), Self::Time(b, y)) => {
                let utc = |t: i64, offset: i32| t - i64::from(offset) * SECOND_NANOS;
                utc(*a, *x).cmp(&utc(*b, *y)).then(x.cmp(y))
            }
            (Self::LocalDateTime(a, x), Self::LocalDateTime(b, y)) => (a, x).cmp(&(b, y)),
            (Self::DateTime(a), Self::DateTime(b)) => {
                (a.seconds, a.nanos).cmp(&(b.seconds, b.nanos)).then(a.offset.cmp(&b.offset))
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }

    pub(crate) fn hash_into<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Date(v) | Self::LocalTime(v) => v.hash(state),
            Self::Time(v, o) => (v, o).hash(state),
            Self::LocalDateTime(s, n) => (s, n).hash(state),
            Self::DateTime(z) => (z.seconds, z.nanos).hash(state),
        }
    }

    /// The day on the local clock, when there is one.
    pub(crate) fn day(&self) -> Option<i64> {
        match self {
            Self::Date(d) => Some(*d),
            Self::LocalDateTime(s, _) => Some(s.div_euclid(86_400)),
            Self::DateTime(z) => {
                Some(z.seconds.saturating_add(i64::from(z.offset)).div_euclid(86_400))
            }
            Self::LocalTime(_) | Self::Time(..) => None,
        }
    }

    /// Nanoseconds of the day on the local clock, when there is a clock.
    pub(crate) fn clock(&self) -> Option<i64> {
        let of = |s: i64, n: u32| s.rem_euclid(86_400) * SECOND_NANOS + i64::from(n);
        match self {
            Self::Date(_) => None,
            Self::LocalTime(t) | Self::Time(t, _) => Some(*t),
            Self::LocalDateTime(s, n) => Some(of(*s, *n)),
            Self::DateTime(z) => Some(of(z.seconds.saturating_add(i64::from(z.offset)), z.nanos)),
        }
    }

    /// Seconds ahead of UTC, when there is a zone.
    pub(crate) fn offset(&self) -> Option<i32> {
        match self {
            Self::Time(_, offset) => Some(*offset),
            Self::DateTime(z) => Some(z.offset),
            _ => None,
        }
    }
}

impl fmt::Display for Temporal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(day) = self.day() {
            write_date(f, civil(day))?;
        }
        if let Some(clock) = self.clock() {
            if self.day().is_some() {
                f.write_str("T")?;
            }
            write_time(f, clock)?;
        }
        if let Some(offset) = self.offset() {
            write_offset(f, offset)?;
        }
        match self {
            Self::DateTime(z) => match &z.zone {
                Some(zone) => write!(f, "[{zone}]"),
                None => Ok(()),
            },
            _ => Ok(()),
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
