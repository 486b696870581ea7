//! Lengths of time: months, days and seconds, which have no fixed ratio to each other.

use std::cmp::Ordering;
use std::fmt;

use graphlume_expr::write_fraction;

use super::SECOND_NANOS;

/// Seconds of an average month.
const MONTH_SECONDS: f64 = 2_629_746.0;
const DAY_SECONDS: i64 = 86_400;

/// A length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Duration {
    /// Months.
    pub months: i64,
    /// Days.
    pub days: i64,
    /// Seconds.
    pub seconds: i64,
    /// Nanoseconds, of the sign of the seconds or positive.
    pub nanos: i32,
}

/// Amounts that are being summed: fractions of a larger unit go on to the smaller ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    months: f64,
    whole_months: i64,
    days: f64,
    whole_days: i64,
    nanos: f64,
    whole_nanos: i128,
}

impl Parts {
    pub(super) fn add_int(&mut self, key: &str, n: i64) -> Option<()> {
        let months = |k: i64| n.checked_mul(k);
        let nanos = |k: i128| i128::from(n) * k;
        match key {
            "years" => self.whole_months = self.whole_months.checked_add(months(12)?)?,
            "quarters" => self.whole_months = self.whole_months.checked_add(months(3)?)?,
            "months" => self.whole_months = self.whole_months.checked_add(n)?,
            "weeks" => self.whole_days = self.whole_days.checked_add(n.checked_mul(7)?)?,
            "days" => self.whole_days = self.whole_days.checked_add(n)?,
            "hours" => self.whole_nanos += nanos(3_600_000_000_000),
            "minutes" => self.whole_nanos += nanos(60_000_000_000),
            "seconds" => self.whole_nanos += nanos(1_000_000_000),
            "milliseconds" => self.whole_nanos += nanos(1_000_000),
            "microseconds" => self.whole_nanos += nanos(1_000),
            "nanoseconds" => self.whole_nanos += nanos(1),
            _ => return None,
        }
        Some(())
    }

    pub(super) fn add_float(&mut self, key: &str, v: f64) -> Option<()> {
        if !v.is_finite() {
            return None;
        }
        match key {
            "years" => self.months += v * 12.0,
            "quarters" => self.months += v * 3.0,
            "months" => self.months += v,
            "weeks" => self.days += v * 7.0,
            "days" => self.days += v,
            "hours" => self.nanos += v * 3.6e12,
            "minutes" => self.nanos += v * 6e10,
            "seconds" => self.nanos += v * 1e9,
            "milliseconds" => self.nanos += v * 1e6,
            "microseconds" => self.nanos += v * 1e3,
            "nanoseconds" => self.nanos += v,
            _ => return None,
        }
        Some(())
    }

    /// Seconds in decimal digits, exactly.
    pub(super) fn add_decimal(&mut self, digits: &str, negative: bool) -> Option<()> {
        let (whole, fraction) = digits.split_once('.')?;
        let minus = negative != whole.starts_with('-');
        let whole = whole.trim_start_matches(['-', '+']);
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let fraction: String = format!("{fraction:0<9}").chars().take(9).collect();
        let total = whole.checked_mul(1_000_000_000)? + fraction.parse::<i128>().ok()?;
        self.whole_nanos += if minus { -total } else { total };
        Some(())
    }

    /// The duration; `None` when it is out of range.
    pub(super) fn finish(self) -> Option<Duration> {
        let months = self.whole_months.checked_add(whole(self.months)?)?;
        let rest_seconds = self.months.fract() * MONTH_SECONDS;
        let rest_days = (rest_seconds / DAY_SECONDS as f64).trunc();
        let mut days = self.whole_days.checked_add(whole(rest_days)?)?;
        days = days.checked_add(whole(self.days)?)?;
        // Fractions are exact to the nanosecond only after rounding away the noise of floats.
        let small = (rest_seconds - rest_days * DAY_SECONDS as f64) * 1e9
            + self.days.fract() * DAY_SECONDS as f64 * 1e9
            + self.nanos;
        let small =
            if (small - small.round()).abs() < 1e-3 { small.round() } else { small.trunc() };
        if small.abs() > 9e27 {
            return None;
        }
        let nanos = self.whole_nanos.checked_add(small as i128)?;
        let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
        let nanos = nanos.rem_euclid(1_000_000_000) as i32;
        Some(Duration { months, days, seconds, nanos })
    }
}

fn whole(v: f64) -> Option<i64> {
    (v.abs() < 9e18).then_some(v.trunc() as i64)
}

impl Duration {
    /// A duration of this many nanoseconds.
    pub(super) fn of_nanos(nanos: i128) -> Option<Self> {
        Some(Self {
            seconds: i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?,
            nanos: nanos.rem_euclid(1_000_000_000) as i32,
            ..Self::default()
        })
    }

    /// Seconds and nanoseconds as nanoseconds.
    pub(super) fn clock_nanos(&self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos)
    }

    /// The sum; `None` when it is out of range.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Option<Self> {
        let clock = Self::of_nanos(self.clock_nanos() + other.clock_nanos())?;
        Some(Self {
            months: self.months.checked_add(other.months)?,
            days: self.days.checked_add(other.days)?,
            ..clock
        })
    }

    /// The same length backwards.
    #[must_use]
    pub fn negated(&self) -> Option<Self> {
        let clock = Self::of_nanos(-self.clock_nanos())?;
        Some(Self { months: self.months.checked_neg()?, days: self.days.checked_neg()?, ..clock })
    }

    /// Scaled by a factor; fractions go on to the smaller units.
    pub(crate) fn scaled(&self, factor: f64) -> Option<Self> {
        let mut parts = Parts::default();
        parts.add_float("months", self.months as f64 * factor)?;
        parts.add_float("days", self.days as f64 * factor)?;
        let clock = self.clock_nanos();
        if factor.fract() == 0.0 && factor.abs() < 9e15 {
            parts.whole_nanos = clock.checked_mul(factor as i128)?;
        } else {
            parts.whole_nanos = (clock as f64 * factor) as i128;
        }
        parts.finish()
    }

    /// The quotient by a number.
    pub(crate) fn divided(&self, by: f64) -> Option<Self> {
        let mut parts = Parts::default();
        parts.add_float("months", self.months as f64 / by)?;
        parts.add_float("days", self.days as f64 / by)?;
        let clock = self.clock_nanos();
        if by.fract() == 0.0 && by.abs() < 9e15 && by != 0.0 {
            parts.whole_nanos = clock / by as i128;
        } else {
            parts.whole_nanos = (clock as f64 / by) as i128;
        }
        parts.finish()
    }

    /// The order of sorting: by the average length.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let length = |d: &Self| {
            i128::from(d.months) * 2_629_746_000_000_000
                + i128::from(d.days) * 86_400_000_000_000
                + d.clock_nanos()
        };
        let parts = |d: &Self| (d.months, d.days, d.seconds, d.nanos);
        length(self).cmp(&length(other)).then_with(|| parts(self).cmp(&parts(other)))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return f.write_str("PT0S");
        }
        f.write_str("P")?;
        for (n, unit) in [(self.months / 12, 'Y'), (self.months % 12, 'M'), (self.days, 'D')] {
            if n != 0 {
                write!(f, "{n}{unit}")?;
            }
        }
        let nanos = self.clock_nanos();
        if nanos == 0 {
            return Ok(());
        }
        f.write_str("T")?;
        let seconds = nanos / i128::from(SECOND_NANOS);
        for (n, unit) in [(seconds / 3600, 'H'), (seconds / 60 % 60, 'M')] {
            if n != 0 {
                write!(f, "{n}{unit}")?;
            }
        }
        let (rest, fraction) = (seconds % 60, (nanos % i128::from(SECOND_NANOS)) as i64);
        if rest != 0 || fraction != 0 {
            if rest == 0 && fraction < 0 {
                f.write_str("-")?;
            }
            write!(f, "{rest}")?;
            write_fraction(f, fraction.abs())?;
            f.write_str("S")?;
        }
        Ok(())
    }
}
