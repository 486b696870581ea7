//! The proleptic Gregorian calendar, as a count of days since 1970-01-01.
//!
//! Eras of 400 years and years that begin in March make both directions straight arithmetic: Hinnant,
//! "chrono-Compatible Low-Level Date Algorithms". Right for years of up to nine digits.

/// Year, month (1 to 12) and day (1 to 31).
pub type Civil = (i64, i64, i64);

const ERA_DAYS: i64 = 146_097;
/// Days from the first of March of the year 0 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// Days since 1970-01-01 of a date; a day past the end of its month counts into the next one.
#[must_use]
pub const fn days_of((year, month, day): Civil) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH
}

/// The inverse of [`days_of`].
#[must_use]
pub const fn civil(days: i64) -> Civil {
    let shifted = days + EPOCH;
    let era = shifted.div_euclid(ERA_DAYS);
    let of_era = shifted.rem_euclid(ERA_DAYS);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + (month <= 2) as i64, month, day)
}

/// Whether a year has 366 days.
#[must_use]
pub const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month (1 to 12).
#[must_use]
pub const fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + is_leap(year) as i64,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// ISO 8601 in UTC with microseconds, such as `2026-01-31T23:59:59.000001Z`; empty outside the years 0 to 9999.
#[must_use]
pub fn iso8601(unix_micros: i64) -> String {
    const DAY: i64 = 24 * 3600 * 1_000_000;
    let ((year, month, day), of_day) =
        (civil(unix_micros.div_euclid(DAY)), unix_micros.rem_euclid(DAY));
    if !(0..=9_999).contains(&year) {
        return String::new();
    }
    let (seconds, micros) = (of_day / 1_000_000, of_day % 1_000_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for days in (-1_000_000..1_000_000).step_by(997) {
            assert_eq!(days_of(civil(days)), days);
        }
        assert_eq!((civil(0), civil(19_782)), ((1970, 1, 1), (2024, 2, 29)));
    }

    #[test]
    fn every_month_ends_before_the_next_begins() {
        for (year, month) in (1896..2104).flat_map(|y| (1..=12).map(move |m| (y, m))) {
            let next = if month == 12 { (year + 1, 1, 1) } else { (year, month + 1, 1) };
            assert_eq!(days_of((year, month, days_in_month(year, month))) + 1, days_of(next));
        }
    }

    #[test]
    fn times_are_written_with_microseconds() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(iso8601(1_700_000_000_000_001), "2023-11-14T22:13:20.000001Z");
        assert_eq!(iso8601(-1), "1969-12-31T23:59:59.999999Z");
        assert_eq!(iso8601(i64::MAX), "");
    }
}
