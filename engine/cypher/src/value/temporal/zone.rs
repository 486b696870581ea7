//! Zones: fixed offsets and the named zones of the database that Arrow brings.

use std::sync::Arc;

use graphlume_table::{Tz, resolve_local, zone_offset};

use super::Zoned;
use crate::error::{Res, value_error};

/// Seconds that an offset may have.
const OFFSET_MAX: i32 = 18 * 3600;

/// A zone as written.
#[derive(Clone, Debug)]
pub(super) enum Zone {
    Fixed(i32),
    Named(Arc<str>, Tz),
}

/// Reads `Z`, `+02`, `+0200`, `+02:00`, `+02:00:00` or the name of a zone.
pub(super) fn zone(text: &str) -> Res<Zone> {
    if let Some(offset) = offset(text) {
        return Ok(Zone::Fixed(offset));
    }
    match text.parse::<Tz>() {
        Ok(tz) => Ok(Zone::Named(text.into(), tz)),
        Err(_) => Err(value_error(format!("{text:?} is no time zone"))
            .suggest("write an offset such as +02:00 or a name such as Europe/Stockholm")
            .into()),
    }
}

pub(super) fn offset(text: &str) -> Option<i32> {
    if text == "Z" || text == "z" {
        return Some(0);
    }
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let digits: String = rest.chars().filter(|c| *c != ':').collect();
    if !digits.bytes().all(|b| b.is_ascii_digit()) || !matches!(digits.len(), 2 | 4 | 6) {
        return None;
    }
    let part = |i: usize| digits.get(i..i + 2).map_or(Some(0), |d| d.parse::<i32>().ok());
    let (hours, minutes, seconds) = (part(0)?, part(2)?, part(4)?);
    let total = hours * 3600 + minutes * 60 + seconds;
    (minutes < 60 && seconds < 60 && total <= OFFSET_MAX).then_some(sign * total)
}

impl Zone {
    pub(super) fn name(&self) -> Option<Arc<str>> {
        match self {
            Self::Fixed(_) => None,
            Self::Named(name, _) => Some(Arc::clone(name)),
        }
    }

    /// Seconds ahead of UTC at a moment.
    pub(super) fn offset_at(&self, utc: i64) -> i32 {
        match self {
            Self::Fixed(offset) => *offset,
            Self::Named(_, tz) => zone_offset(*tz, utc),
        }
    }

    /// The moment at which the local clock shows `local`: the earlier of two, and in a gap the clock
    /// as it was before.
    pub(super) fn resolve(&self, local: i64) -> (i64, i32) {
        resolve_local(|utc| self.offset_at(utc), local)
    }

    /// A moment given by the local clock.
    pub(super) fn local(&self, local: i64, nanos: u32) -> Zoned {
        let (seconds, offset) = self.resolve(local);
        Zoned { seconds, nanos, offset, zone: self.name() }
    }
}

/// The zone of a moment.
pub(super) fn zone_of_moment(moment: &Zoned) -> Zone {
    match &moment.zone {
        Some(name) => match name.parse::<Tz>() {
            Ok(tz) => Zone::Named(Arc::clone(name), tz),
            Err(_) => Zone::Fixed(moment.offset),
        },
        None => Zone::Fixed(moment.offset),
    }
}
