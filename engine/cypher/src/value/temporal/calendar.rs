//! Days and dates.

pub(super) use graphlume_types::calendar::{Civil, civil, days_in_month, days_of, is_leap};

/// Years that a date may have.
pub(super) const YEAR_MAX: i64 = 999_999_999;

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
