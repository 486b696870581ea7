//! Days and dates, and how they are written.

use std::fmt;

use super::SECOND_NANOS;

/// Year, month and day.
pub(super) type Civil = (i64, i64, i64);

/// Years that a date may have.
pub(super) const YEAR_MAX: i64 = 999_999_999;

/// Days since 1970 of a proleptic Gregorian date.
pub(super) const fn days_of((year, month, day): Civil) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The inverse of [`days_of`].
pub(super) const fn civil(days: i64) -> Civil {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + if month <= 2 { 1 } else { 0 }, month, day)
}

pub(super) const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(super) const fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + is_leap(year) as i64,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Monday is 1.
pub(super) const fn weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

/// ISO year and week of a day.
pub(super) const fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - weekday(days) + 4;
    let year = civil(thursday).0;
    (year, (thursday - days_of((year, 1, 1))) / 7 + 1)
}

/// The day of an ISO week.
pub(super) const fn of_iso_week(year: i64, week: i64, weekday_: i64) -> i64 {
    let fourth = days_of((year, 1, 4));
    fourth - weekday(fourth) + 1 + (week - 1) * 7 + weekday_ - 1
}

/// The date `months` later; the day is cut to the length of the month.
pub(super) fn add_months(days: i64, months: i64) -> Option<i64> {
    let (year, month, day) = civil(days);
    let count = year.checked_mul(12)?.checked_add(month - 1)?.checked_add(months)?;
    let (year, month) = (count.div_euclid(12), count.rem_euclid(12) + 1);
    if year.abs() > YEAR_MAX {
        return None;
    }
    Some(days_of((year, month, day.min(days_in_month(year, month)))))
}

pub(super) fn write_date(f: &mut fmt::Formatter<'_>, (year, month, day): Civil) -> fmt::Result {
    if year > 9_999 {
        f.write_str("+")?;
    } else if year < 0 {
        f.write_str("-")?;
    }
    write!(f, "{:04}-{month:02}-{day:02}", year.abs())
}

pub(super) fn write_time(f: &mut fmt::Formatter<'_>, nanos: i64) -> fmt::Result {
    let (seconds, fraction) = (nanos / SECOND_NANOS, nanos % SECOND_NANOS);
    write!(f, "{:02}:{:02}", seconds / 3600, seconds / 60 % 60)?;
    if seconds % 60 != 0 || fraction != 0 {
        write!(f, ":{:02}", seconds % 60)?;
        write_fraction(f, fraction)?;
    }
    Ok(())
}

/// A fraction of a second without trailing zeros.
pub(super) fn write_fraction(f: &mut fmt::Formatter<'_>, nanos: i64) -> fmt::Result {
    if nanos == 0 {
        return Ok(());
    }
    let digits = format!("{nanos:09}");
    write!(f, ".{}", digits.trim_end_matches('0'))
}

pub(super) fn write_offset(f: &mut fmt::Formatter<'_>, offset: i32) -> fmt::Result {
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
