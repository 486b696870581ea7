//! Membership in long lists: a lookup for each cell instead of a comparison with each value.

use std::collections::HashSet;

use graphlume_graph::canon::{Canon, of_f64};

use crate::filter::Predicate;
use crate::literal::Literal;

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
            Predicate::IsIn(list) => (list, list.contains(&Literal::Null)),
            Predicate::Member(list) => (list, false),
            _ => return None,
        };
        if list.len() <= FEW {
            return None;
        }
        let mut members = Self { null, ..Self::default() };
        for value in list {
            let number = match value {
                Literal::Null => None,
                Literal::Bool(v) => Some(Number::Int(i64::from(*v))),
                Literal::Int(v) => Some(Number::Int(*v)),
                Literal::Float(v) => of_f64(*v).and_then(|c| Number::of(&c)),
                Literal::Text(v) => {
                    members.texts.insert(v.as_str().into());
                    None
                }
                Literal::Instant(s, ns) => {
                    members.instants.insert((*s, *ns));
                    None
                }
                Literal::Day(day) => {
                    members.days.insert(*day);
                    None
                }
                Literal::Clock(ns) => {
                    members.clocks.insert(*ns);
                    None
                }
            };
            members.numbers.extend(number);
        }
        Some(members)
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
    use super::*;

    #[test]
    fn a_long_list_holds_what_its_values_are_equal_to() {
        let mut list: Vec<Literal> = (100..120).map(Literal::Int).collect();
        list.extend([
            Literal::Bool(true),
            Literal::Float(2.0),
            Literal::Float(0.5),
            Literal::Float(1.8e19),
            Literal::Text("x".to_owned()),
            Literal::Instant(5, 7),
            Literal::Day(3),
            Literal::Clock(1_000_000_000),
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
        for list in [list.clone(), [list, vec![Literal::Null]].concat()] {
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
