//! Membership in long lists: a lookup for each cell instead of a comparison with each value.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::collections::HashSet;

use graphlume_expr::{Constant, Scalar, Temporal};
use graphlume_graph::canon::{Canon, of_f64};
use graphlume_types::number::exact_f64_of_u64;

use crate::filter::Predicate;

/// Up to this many values are compared one by one.
const FEW: usize = 16;

/// The values of a list by their kind.
#[derive(Debug, Default)]
pub struct Members {
    numbers: HashSet<Number>,
    texts: HashSet<Box<str>>,
    instants: HashSet<(i64, u32)>,
    days: HashSet<i64>,
    clocks: HashSet<i64>,
    null: bool,
}

/// A number in the one form that its value has; truth values are 0 and 1.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Number {
    Int(i64),
    UInt(u64),
    Float(u64),
}

impl Number {
    fn of(cell: &Canon<'_>) -> Option<Self> {
        Some(match cell {
            Canon::Int(v) => Self::Int(*v),
            Canon::UInt(v) => Self::UInt(*v),
            Canon::Float(bits) => Self::Float(*bits),
            Canon::Bool(v) => Self::Int(i64::from(*v)),
            _ => return None,
        })
    }
}

impl Members {
    /// The list that a test looks in, when it is long.
    pub fn new(predicate: &Predicate) -> Option<Self> {
        let (list, null) = match predicate {
            Predicate::IsIn(list) => (list, list.contains(&Scalar::Null)),
            Predicate::Member(list) => (list, false),
            _ => return None,
        };
        if list.len() <= FEW {
            return None;
        }
        let mut members = Self { null, ..Self::default() };
        for value in list {
            let number = match value {
                Scalar::Null => None,
                Scalar::Bool(v) => Some(Number::Int(i64::from(*v))),
                Scalar::Int(v) => Some(Number::Int(*v)),
                Scalar::UInt(v) => Some(Number::UInt(*v)),
                Scalar::Float(v) => of_f64(*v).and_then(|c| Number::of(&c)),
                Scalar::Text(v) => {
                    members.texts.insert((**v).into());
                    None
                }
                Scalar::Temporal(time) => {
                    members.insert_time(time);
                    None
                }
            };
            members.numbers.extend(number);
        }
        Some(members)
    }

    fn insert_time(&mut self, time: &Temporal) {
        match time {
            Temporal::Date(day) => {
                self.days.insert(*day);
            }
            Temporal::LocalTime(ns) => {
                self.clocks.insert(*ns);
            }
            Temporal::LocalDateTime(..) | Temporal::DateTime(_) => {
                self.instants.extend(time.instant());
            }
            // No cell equals a clock in a zone.
            Temporal::Time(..) => {}
        }
    }

    /// The numbers among them, as constants that cells of integers and of floats are compared with by their exact value.
    pub(super) fn constants(&self) -> Vec<Constant> {
        let constant = |number: &Number| match number {
            Number::Int(v) => Some(Constant::Int(*v)),
            // No cell of integers equals it, and one of floats where it is a float to the last bit.
            Number::UInt(v) => exact_f64_of_u64(*v).map(Constant::Float),
            Number::Float(bits) => Some(Constant::Float(f64::from_bits(*bits))),
        };
        self.numbers.iter().filter_map(constant).collect()
    }

    /// Whether a cell is one of them.
    pub fn holds(&self, cell: Option<&Canon<'_>>) -> bool {
        match cell {
            None => self.null,
            Some(Canon::Text(text)) => self.texts.contains(*text),
            Some(Canon::Instant(s, ns)) => {
                let of_day = s.rem_euclid(86_400) * 1_000_000_000 + i64::from(*ns);
                self.instants.contains(&(*s, *ns))
                    || self.days.contains(&s.div_euclid(86_400))
                    || self.clocks.contains(&of_day)
            }
            Some(Canon::Clock(ns)) => self.clocks.contains(ns),
            Some(cell) => Number::of(cell).is_some_and(|n| self.numbers.contains(&n)),
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
    fn a_long_list_holds_what_its_values_are_equal_to() {
        let mut list: Vec<Scalar> = (100..120).map(Scalar::Int).collect();
        list.extend([
            Scalar::Bool(true),
            Scalar::Float(2.0),
            Scalar::Float(0.5),
            Scalar::Float(1.8e19),
            Scalar::text("x"),
            Scalar::instant(5, 7),
            Scalar::Temporal(Temporal::Date(3)),
            Scalar::Temporal(Temporal::LocalTime(1_000_000_000)),
        ]);
        let cells = [
            Canon::Int(1),
            Canon::Int(2),
            Canon::Int(3),
            Canon::Int(119),
            Canon::UInt(18_000_000_000_000_000_000),
            Canon::UInt(u64::MAX),
            Canon::Float(0.5_f64.to_bits()),
            Canon::Float(0.25_f64.to_bits()),
            Canon::Bool(true),
            Canon::Bool(false),
            Canon::Text("x"),
            Canon::Text("100"),
            Canon::Bytes(b"x"),
            Canon::Instant(5, 7),
            Canon::Instant(5, 8),
            Canon::Instant(3 * 86_400 + 9, 0),
            Canon::Instant(4 * 86_400 + 1, 0),
            Canon::Clock(1_000_000_000),
            Canon::Span(5, 7),
            Canon::Compound("x"),
        ];
        for list in [list.clone(), [list, vec![Scalar::Null]].concat()] {
            for test in [Predicate::IsIn(list.clone()), Predicate::Member(list.clone())] {
                let members = Members::new(&test).expect("a long list");
                assert_eq!(members.holds(None), test.holds(None, false));
                for cell in &cells {
                    assert_eq!(
                        members.holds(Some(cell)),
                        test.holds(Some(cell), false),
                        "{cell:?}"
                    );
                }
            }
        }
    }
}
