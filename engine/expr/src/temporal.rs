//! Points in time: proleptic Gregorian calendar, nanoseconds.
//!
//! Here is what they are, how they are ordered and how they are written. What reads them from text and computes with
//! them belongs to the languages.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use graphlume_types::calendar::{Civil, civil};

const SECOND_NANOS: i64 = 1_000_000_000;

/// A moment in a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// A point in time. `==` tells whether two are written alike; [`Temporal::compare`] is the relation of queries.
#[derive(Clone, PartialEq, Eq)]
pub enum Temporal {
    /// Days since 1970.
    Date(i64),
    /// Nanoseconds of the day.
    LocalTime(i64),
    /// Nanoseconds of the day in a zone this many seconds ahead of UTC.
    Time(i64, i32),
    /// Seconds since 1970 on the local clock and nanoseconds. Where no zone is known the clock is that of UTC.
    LocalDateTime(i64, u32),
    /// A moment.
    DateTime(Arc<Zoned>),
}

impl Temporal {
    /// What kind of time this is, for people.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Date(_) => "a date",
            Self::LocalTime(_) => "a local time",
            Self::Time(..) => "a time",
            Self::LocalDateTime(..) => "a local date and time",
            Self::DateTime(_) => "a date and time",
        }
    }

    /// Position of the kind in the total order.
    #[must_use]
    #[inline]
    pub const fn rank(&self) -> u8 {
        match self {
            Self::DateTime(_) => 0,
            Self::LocalDateTime(..) => 1,
            Self::Date(_) => 2,
            Self::Time(..) => 3,
            Self::LocalTime(_) => 4,
        }
    }

    /// The order of `<`, which exists within one kind.
    #[must_use]
    #[inline]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        (self.rank() == other.rank()).then(|| self.order(other))
    }

    /// Seconds since 1970 and nanoseconds of a time that has a day; without a zone it is UTC.
    #[must_use]
    #[inline]
    pub fn instant(&self) -> Option<(i64, u32)> {
        match self {
            Self::Date(day) => Some((day.saturating_mul(86_400), 0)),
            Self::LocalDateTime(seconds, nanos) => Some((*seconds, *nanos)),
            Self::DateTime(z) => Some((z.seconds, z.nanos)),
            Self::LocalTime(_) | Self::Time(..) => None,
        }
    }

    /// The total order.
    #[must_use]
    #[inline]
    pub fn order(&self, other: &Self) -> Ordering {
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

    /// Hashes this so that equal times have equal hashes.
    pub fn hash_into<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Date(v) | Self::LocalTime(v) => v.hash(state),
            Self::Time(v, o) => (v, o).hash(state),
            Self::LocalDateTime(s, n) => (s, n).hash(state),
            Self::DateTime(z) => (z.seconds, z.nanos).hash(state),
        }
    }

    /// The day on the local clock, when there is one.
    #[must_use]
    pub fn day(&self) -> Option<i64> {
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
    #[must_use]
    pub fn clock(&self) -> Option<i64> {
        let of = |s: i64, n: u32| s.rem_euclid(86_400) * SECOND_NANOS + i64::from(n);
        match self {
            Self::Date(_) => None,
            Self::LocalTime(t) | Self::Time(t, _) => Some(*t),
            Self::LocalDateTime(s, n) => Some(of(*s, *n)),
            Self::DateTime(z) => Some(of(z.seconds.saturating_add(i64::from(z.offset)), z.nanos)),
        }
    }

    /// Seconds ahead of UTC, when there is a zone.
    #[must_use]
    pub fn offset(&self) -> Option<i32> {
        match self {
            Self::Time(_, offset) => Some(*offset),
            Self::DateTime(z) => Some(z.offset),
            _ => None,
        }
    }
}

/// As it is written, because `explain` shows it to people.
impl fmt::Debug for Temporal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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

fn write_date(f: &mut fmt::Formatter<'_>, (year, month, day): Civil) -> fmt::Result {
    if year > 9_999 {
        f.write_str("+")?;
    } else if year < 0 {
        f.write_str("-")?;
    }
    write!(f, "{:04}-{month:02}-{day:02}", year.abs())
}

fn write_time(f: &mut fmt::Formatter<'_>, nanos: i64) -> fmt::Result {
    let (seconds, fraction) = (nanos / SECOND_NANOS, nanos % SECOND_NANOS);
    write!(f, "{:02}:{:02}", seconds / 3600, seconds / 60 % 60)?;
    if seconds % 60 != 0 || fraction != 0 {
        write!(f, ":{:02}", seconds % 60)?;
        write_fraction(f, fraction)?;
    }
    Ok(())
}

/// Writes a fraction of a second without trailing zeros.
///
/// # Errors
/// Those of the formatter.
pub fn write_fraction(f: &mut fmt::Formatter<'_>, nanos: i64) -> fmt::Result {
    if nanos == 0 {
        return Ok(());
    }
    let digits = format!("{nanos:09}");
    write!(f, ".{}", digits.trim_end_matches('0'))
}

fn write_offset(f: &mut fmt::Formatter<'_>, offset: i32) -> fmt::Result {
    if offset == 0 {
        return f.write_str("Z");
    }
    let (sign, size) = (if offset < 0 { '-' } else { '+' }, offset.abs());
    write!(f, "{sign}{:02}:{:02}", size / 3600, size / 60 % 60)?;
    if size % 60 != 0 {
        write!(f, ":{:02}", size % 60)?;
    }
    Ok(())
}
