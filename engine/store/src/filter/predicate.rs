//! Tests of one cell. A null answers nothing but the tests for null.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use graphlume_types::number::saturating_i128;
use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use graphlume_expr::{Cmp, Scalar, Temporal};
use graphlume_graph::canon::Canon;
use graphlume_types::calendar::civil;
use regex::Regex;

use crate::filter::Pattern;

/// What a text is tested for.
#[derive(Clone, Debug)]
pub enum TextTest {
    /// It contains this.
    Contains(String),
    /// It begins with one of these.
    Starts(Vec<String>),
    /// It ends with one of these.
    Ends(Vec<String>),
    /// The expression matches somewhere, at the start, or the whole: the anchors are in it.
    Regex(Pattern),
}

impl PartialEq for TextTest {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Contains(a), Self::Contains(b)) => a == b,
            (Self::Starts(a), Self::Starts(b)) | (Self::Ends(a), Self::Ends(b)) => a == b,
            // All that was asked for is in the expression's text, its flags too.
            (Self::Regex(a), Self::Regex(b)) => a.as_str() == b.as_str(),
            _ => false,
        }
    }
}

/// Classes of characters that a whole text may consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after Python's str methods")]
pub enum Class {
    Numeric,
    Alpha,
    Digit,
    Lower,
    Upper,
    Space,
    Alnum,
    Decimal,
    Title,
}

/// Places of a day in the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Calendar {
    MonthStart,
    MonthEnd,
    QuarterStart,
    QuarterEnd,
    YearStart,
    YearEnd,
    LeapYear,
}

/// Which of equal cells counts as the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The first.
    First,
    /// The last.
    Last,
    /// None: all are duplicates.
    None,
}

/// A test of the cells of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Equal to a plain value, whose type must fit the column.
    Same(Scalar),
    /// A comparison.
    Compare(Cmp, Scalar),
    /// Between two values, the ends included or not.
    Between(Scalar, Scalar, bool),
    /// One of several values; a null cell is in when a null is listed.
    IsIn(Vec<Scalar>),
    /// One of several values; a null cell never is.
    Member(Vec<Scalar>),
    /// Null.
    IsNull,
    /// Not null.
    NotNull,
    /// A test of text, folded to lower case first if asked, and the answer for null.
    Text {
        /// The test.
        test: TextTest,
        /// Whether text is compared in lower case.
        fold: bool,
        /// What a null cell answers.
        na: bool,
    },
    /// Every character is of a class.
    Class(Class),
    /// The day has a place in the calendar.
    Calendar(Calendar),
    /// The value occurs more than once.
    Duplicated(Keep),
    /// All of several tests.
    All(Vec<Predicate>),
    /// Nothing matches.
    Never,
}

impl Predicate {
    /// Whether the cell passes. `bool_column` says that the column holds nothing but truth values,
    /// which are never compared with numbers. [`Predicate::Duplicated`] is not a matter of one cell.
    #[must_use]
    pub fn holds(&self, cell: Option<&Canon<'_>>, bool_column: bool) -> bool {
        match (self, cell) {
            (Self::IsNull, cell) => cell.is_none(),
            (Self::NotNull, cell) => cell.is_some(),
            (Self::All(tests), cell) => tests.iter().all(|t| t.holds(cell, bool_column)),
            (Self::IsIn(options), None) => options.contains(&Scalar::Null),
            (Self::Text { na, .. }, None) => *na,
            (_, None) | (Self::Never | Self::Duplicated(_), _) => false,
            (Self::Same(value), Some(cell)) => compare(Cmp::Eq, cell, value),
            (Self::Compare(cmp, value), Some(cell)) => {
                let number = value.is_number();
                !(bool_column && number) && compare(*cmp, cell, value)
            }
            (Self::Between(low, high, inclusive), Some(cell)) => {
                let (from, to) = if *inclusive { (Cmp::Ge, Cmp::Le) } else { (Cmp::Gt, Cmp::Lt) };
                compare(from, cell, low) && compare(to, cell, high)
            }
            (Self::IsIn(options) | Self::Member(options), Some(cell)) => {
                options.iter().any(|o| compare(Cmp::Eq, cell, o))
            }
            (Self::Text { test, fold, .. }, Some(Canon::Text(text))) => {
                if *fold {
                    test.holds(&text.to_lowercase())
                } else {
                    test.holds(text)
                }
            }
            (Self::Class(class), Some(Canon::Text(text))) => class.holds(text),
            (Self::Calendar(place), Some(Canon::Instant(seconds, _))) => {
                place.holds(seconds.div_euclid(86_400))
            }
            (Self::Text { .. } | Self::Class(_) | Self::Calendar(_), Some(_)) => false,
        }
    }

    /// Whether a column that is absent, and so all null, passes.
    #[must_use]
    pub const fn holds_for_absent(&self) -> bool {
        matches!(self, Self::IsNull)
    }

    /// Adds the programs of the patterns within, for as long as cells are tested.
    pub fn hold_patterns(&self, held: &mut Vec<Arc<Regex>>) {
        match self {
            Self::Text { test: TextTest::Regex(pattern), .. } => held.extend(pattern.hold()),
            Self::All(tests) => tests.iter().for_each(|t| t.hold_patterns(held)),
            _ => {}
        }
    }

    /// Whether there is a test for duplicates within, which needs the whole column.
    #[must_use]
    pub fn needs_column(&self) -> bool {
        match self {
            Self::Duplicated(_) => true,
            Self::All(tests) => tests.iter().any(Self::needs_column),
            _ => false,
        }
    }
}

/// Whether `cell cmp value`; values of different kinds are only ever unequal.
fn compare(cmp: Cmp, cell: &Canon<'_>, value: &Scalar) -> bool {
    match order(cell, value) {
        Some(ordering) => cmp.accepts(ordering),
        None => cmp == Cmp::Ne && *value != Scalar::Null,
    }
}

fn order(cell: &Canon<'_>, value: &Scalar) -> Option<Ordering> {
    match (cell, value) {
        (Canon::Text(a), Scalar::Text(b)) => Some((*a).cmp(b)),
        (Canon::Instant(s, ns), Scalar::Temporal(time)) => order_of_instant((*s, *ns), time),
        (Canon::Clock(ns), Scalar::Temporal(Temporal::LocalTime(clock))) => Some(ns.cmp(clock)),
        _ => number_of(cell)?.order(Number::of(value)?),
    }
}

/// The order of a moment and a time, by what the time says of it: its day alone, its clock alone, or both.
fn order_of_instant((s, ns): (i64, u32), time: &Temporal) -> Option<Ordering> {
    match time {
        Temporal::Date(day) => Some(s.div_euclid(86_400).cmp(day)),
        Temporal::LocalTime(clock) => {
            let of_day = s.rem_euclid(86_400) * 1_000_000_000 + i64::from(ns);
            Some(of_day.cmp(clock))
        }
        Temporal::LocalDateTime(..) | Temporal::DateTime(_) => Some((s, ns).cmp(&time.instant()?)),
        // A clock in a zone is of no moment whose zone is not known.
        Temporal::Time(..) => None,
    }
}

/// A number of either kind; comparisons are exact.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    fn of(value: &Scalar) -> Option<Self> {
        Some(match value {
            Scalar::Bool(v) => Self::Int(i128::from(*v)),
            Scalar::Int(v) => Self::Int(i128::from(*v)),
            Scalar::UInt(v) => Self::Int(i128::from(*v)),
            Scalar::Float(v) => Self::Float(*v),
            _ => return None,
        })
    }

    /// The order; `None` with NaN.
    pub fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Int(a), Self::Float(b)) => int_float(a, b),
            (Self::Float(a), Self::Int(b)) => int_float(b, a).map(Ordering::reverse),
        }
    }
}

/// The number that a cell is; truth values are 0 and 1.
pub fn number_of(cell: &Canon<'_>) -> Option<Number> {
    Some(match cell {
        Canon::Int(v) => Number::Int(i128::from(*v)),
        Canon::UInt(v) => Number::Int(i128::from(*v)),
        Canon::Float(bits) => Number::Float(f64::from_bits(*bits)),
        Canon::Bool(v) => Number::Int(i128::from(*v)),
        _ => return None,
    })
}

fn int_float(a: i128, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    // Beyond 2^100 no 64-bit integer can be, so the sign decides.
    const FAR: f64 = 1_267_650_600_228_229_401_496_703_205_376.0;
    if b.abs() >= FAR {
        return Some(if b > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let whole = b.trunc();
    let fraction = 0.0.partial_cmp(&(b - whole)).unwrap_or(Ordering::Equal);
    Some(a.cmp(&saturating_i128(whole)).then(fraction))
}

/// The order of two cells of one kind; `None` when they are of different kinds.
#[must_use]
pub fn order_cells(a: &Canon<'_>, b: &Canon<'_>) -> Option<Ordering> {
    match (a, b) {
        (Canon::Text(x), Canon::Text(y)) | (Canon::Compound(x), Canon::Compound(y)) => {
            Some(x.cmp(y))
        }
        (Canon::Bytes(x), Canon::Bytes(y)) => Some(x.cmp(y)),
        (Canon::Instant(x, xn), Canon::Instant(y, yn))
        | (Canon::Span(x, xn), Canon::Span(y, yn)) => Some((x, xn).cmp(&(y, yn))),
        (Canon::Clock(x), Canon::Clock(y)) => Some(x.cmp(y)),
        _ => number_of(a)?.order(number_of(b)?),
    }
}

impl TextTest {
    fn holds(&self, text: &str) -> bool {
        match self {
            Self::Contains(pattern) => text.contains(pattern.as_str()),
            Self::Starts(patterns) => patterns.iter().any(|p| text.starts_with(p.as_str())),
            Self::Ends(patterns) => patterns.iter().any(|p| text.ends_with(p.as_str())),
            Self::Regex(pattern) => pattern.is_match(text),
        }
    }
}

impl Class {
    fn holds(self, text: &str) -> bool {
        let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
        match self {
            Self::Numeric => all(char::is_numeric),
            Self::Alpha => all(char::is_alphabetic),
            Self::Decimal => all(is_decimal),
            Self::Digit => all(|c| is_decimal(c) || RAISED.contains(c)),
            Self::Space => all(char::is_whitespace),
            Self::Alnum => all(char::is_alphanumeric),
            Self::Lower => cased(text, char::is_lowercase, char::is_uppercase),
            Self::Upper => cased(text, char::is_uppercase, char::is_lowercase),
            Self::Title => title(text),
        }
    }
}

/// Digits that are no decimals: raised and lowered ones.
const RAISED: &str = "\u{b2}\u{b3}\u{b9}\u{2070}\u{2074}\u{2075}\u{2076}\u{2077}\u{2078}\u{2079}\u{2080}\u{2081}\u{2082}\u{2083}\u{2084}\u{2085}\u{2086}\u{2087}\u{2088}\u{2089}";

/// A digit of any script.
fn is_decimal(c: char) -> bool {
    static DECIMAL: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = DECIMAL.get_or_init(|| Regex::new(r"\A\p{Nd}\z").ok());
    c.is_ascii_digit()
        || c.is_numeric()
            && pattern.as_ref().is_some_and(|p| p.is_match(c.encode_utf8(&mut [0; 4])))
}

/// Whether there is a letter of the wanted case and none of the other.
fn cased(text: &str, wanted: fn(char) -> bool, other: fn(char) -> bool) -> bool {
    text.chars().any(wanted) && !text.chars().any(other)
}

/// Whether upper case stands exactly at the beginning of each run of letters.
fn title(text: &str) -> bool {
    let (mut inside, mut any) = (false, false);
    for c in text.chars() {
        if c.is_uppercase() && inside || c.is_lowercase() && !inside {
            return false;
        }
        inside = c.is_uppercase() || c.is_lowercase();
        any |= inside;
    }
    any
}

impl Calendar {
    fn holds(self, days: i64) -> bool {
        let (year, month, day) = civil(days);
        let last = civil(days + 1).2 == 1;
        match self {
            Self::MonthStart => day == 1,
            Self::MonthEnd => last,
            Self::QuarterStart => day == 1 && month % 3 == 1,
            Self::QuarterEnd => last && month % 3 == 0,
            Self::YearStart => (month, day) == (1, 1),
            Self::YearEnd => (month, day) == (12, 31),
            Self::LeapYear => year % 4 == 0 && (year % 100 != 0 || year % 400 == 0),
        }
    }
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
    use super::*;

    #[test]
    fn numbers_compare_by_exact_value() {
        let int = |v| Canon::Int(v);
        let far = Scalar::Float(9_007_199_254_740_992.0);
        assert!(compare(Cmp::Gt, &int(9_007_199_254_740_993), &far));
        assert!(compare(Cmp::Eq, &int(9_007_199_254_740_992), &far));
        for (a, b, want) in [
            (1, 1.5, Ordering::Less),
            (2, 1.5, Ordering::Greater),
            (-1, -1.5, Ordering::Greater),
            (0, -0.0, Ordering::Equal),
            (-2, -1.5, Ordering::Less),
            (5, 1e300, Ordering::Less),
        ] {
            assert_eq!(int_float(a, b), Some(want), "{a} {b}");
        }
    }

    #[test]
    fn null_passes_only_the_tests_for_null() {
        let none = |p: Predicate| p.holds(None, false);
        assert!(none(Predicate::IsNull) && !none(Predicate::NotNull));
        assert!(!none(Predicate::Compare(Cmp::Ne, Scalar::Int(1))));
        assert!(none(Predicate::IsIn(vec![Scalar::Null])));
        assert!(!none(Predicate::Member(vec![Scalar::Null])));
    }

    #[test]
    fn kinds_do_not_mix() {
        let text = Canon::Text("5");
        assert!(!compare(Cmp::Eq, &text, &Scalar::Int(5)));
        assert!(compare(Cmp::Ne, &text, &Scalar::Int(5)));
        assert!(!compare(Cmp::Lt, &text, &Scalar::Int(7)));
        let truth = Predicate::Compare(Cmp::Ge, Scalar::Int(0));
        assert!(!truth.holds(Some(&Canon::Bool(true)), true));
    }

    #[test]
    fn titles_and_calendar_places() {
        let cases = [("Alice Bob", true), ("alice", false), ("ALice", false), ("42", false)];
        for (text, want) in cases {
            assert_eq!(Class::Title.holds(text), want, "{text}");
        }
        assert!(Calendar::MonthEnd.holds(19_782) && Calendar::LeapYear.holds(19_782));
        assert!(Calendar::QuarterStart.holds(0) && !Calendar::QuarterEnd.holds(0));
    }
}
