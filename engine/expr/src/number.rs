//! Expressions whose values are numbers.

use std::borrow::Cow;

use std::sync::Arc;

use arrow_array::{Array, Float64Array, Int64Array, UInt32Array};
use arrow_buffer::NullBuffer;

use crate::vector::{Rows, Unfit, Values, Vector, both};

/// An operator of two numbers, or of a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient; of integers the whole part.
    Div,
    /// Remainder, with the sign of the dividend.
    Mod,
    /// Power, always a float.
    Pow,
}

/// An expression whose value is a number or null.
#[derive(Clone, Debug)]
pub enum Number<'c> {
    /// A column of integers.
    Ints(&'c Int64Array),
    /// A column of floats, in which NaN is null.
    Floats(&'c Float64Array),
    /// A constant.
    Int(i64),
    /// A constant, which is no NaN.
    Float(f64),
    /// The numbers of the texts of a dictionary, by its keys: equal texts have equal numbers, and null the greatest.
    Codes(&'c UInt32Array, Arc<Vec<u32>>),
    /// An operator of two numbers.
    Op(Arithmetic, Box<Self>, Box<Self>),
}

/// The validity of some rows; `None` where all are valid.
pub(crate) fn valid(nulls: Option<&NullBuffer>, rows: Rows<'_>) -> Option<Vec<bool>> {
    let nulls = nulls.filter(|n| n.null_count() > 0)?;
    let known: Vec<bool> = (0..rows.len()).map(|i| nulls.is_valid(rows.at(i))).collect();
    known.contains(&false).then_some(known)
}

impl<'c> Number<'c> {
    /// Whether all values are integers.
    #[must_use]
    pub fn is_int(&self) -> bool {
        match self {
            Self::Ints(_) | Self::Int(_) | Self::Codes(..) => true,
            Self::Floats(_) | Self::Float(_) => false,
            Self::Op(op, a, b) => *op != Arithmetic::Pow && a.is_int() && b.is_int(),
        }
    }

    /// Bounds between which all known integers lie, where they follow from columns and constants.
    #[must_use]
    pub fn bounds(&self) -> Option<(i64, i64)> {
        match self {
            Self::Int(v) => Some((*v, *v)),
            Self::Ints(column) => {
                let ends = |(a, b): (i64, i64), v: i64| (a.min(v), b.max(v));
                let none = (i64::MAX, i64::MIN);
                let ends = match column.null_count() {
                    0 => column.values().iter().copied().fold(none, ends),
                    _ => column.iter().flatten().fold(none, ends),
                };
                // A column without values lies within any bounds.
                Some(if ends.0 <= ends.1 { ends } else { (0, 0) })
            }
            Self::Codes(_, numbers) => {
                let most = numbers.iter().filter(|n| **n < u32::MAX).max()?;
                Some((0, i64::from(*most)))
            }
            Self::Op(Arithmetic::Mod, a, b) => match (&**a, &**b) {
                (a, Self::Int(by)) if a.is_int() && *by != 0 => {
                    let most = by.checked_abs()? - 1;
                    Some((-most, most))
                }
                _ => None,
            },
            Self::Op(op @ (Arithmetic::Add | Arithmetic::Sub), a, b) => {
                let ((low, high), (from, to)) = (a.bounds()?, b.bounds()?);
                match op {
                    Arithmetic::Add => Some((low.checked_add(from)?, high.checked_add(to)?)),
                    _ => Some((low.checked_sub(to)?, high.checked_sub(from)?)),
                }
            }
            _ => None,
        }
    }

    /// Whether no value has an error: sums of integers may be too large, and divisors zero.
    pub(crate) fn is_total(&self) -> bool {
        match self {
            Self::Op(_, a, b) => !self.is_int() && a.is_total() && b.is_total(),
            _ => true,
        }
    }

    /// Whether a value may be a NaN that was computed, and so is not null.
    pub(crate) fn may_be_nan(&self) -> bool {
        matches!(self, Self::Op(..)) && !self.is_int()
    }

    /// The values of some rows.
    ///
    /// # Errors
    /// [`Unfit::Value`] where a result does not fit 64 bits or something is divided by zero.
    pub fn eval(&self, rows: Rows<'_>) -> Result<Vector<'c>, Unfit> {
        Ok(match self {
            Self::Ints(column) => Vector {
                values: Values::Int(rows.of(column.values())),
                known: valid(column.nulls(), rows),
            },
            Self::Floats(column) => {
                let values = rows.of(column.values());
                let mut known = valid(column.nulls(), rows);
                if values.iter().any(|v| v.is_nan()) {
                    let numbers = values.iter().map(|v| !v.is_nan()).collect();
                    known = both(known, Some(numbers));
                }
                Vector { values: Values::Float(values), known }
            }
            Self::Codes(keys, numbers) => {
                let found = rows.of(keys.values());
                let of = |k: &u32| numbers.get(*k as usize).copied().unwrap_or(u32::MAX);
                let values: Vec<i64> = found.iter().map(|k| i64::from(of(k))).collect();
                let mut known = valid(keys.nulls(), rows);
                if values.contains(&i64::from(u32::MAX)) {
                    let numbers = values.iter().map(|v| *v != i64::from(u32::MAX)).collect();
                    known = both(known, Some(numbers));
                }
                Vector { values: Values::Int(Cow::Owned(values)), known }
            }
            Self::Int(v) => {
                Vector { values: Values::Int(Cow::Owned(vec![*v; rows.len()])), known: None }
            }
            Self::Float(v) => {
                Vector { values: Values::Float(Cow::Owned(vec![*v; rows.len()])), known: None }
            }
            Self::Op(op, a, b) => apply(*op, a.eval(rows)?, b.eval(rows)?)?,
        })
    }
}

fn apply<'c>(op: Arithmetic, a: Vector<'c>, b: Vector<'c>) -> Result<Vector<'c>, Unfit> {
    if let (Values::Int(x), Values::Int(y)) = (&a.values, &b.values)
        && op != Arithmetic::Pow
    {
        let known = both(a.known, b.known);
        let values = integers(op, x, y, known.as_deref())?;
        return Ok(Vector { values: Values::Int(Cow::Owned(values)), known });
    }
    let ((x, p), (y, q)) = (a.floats(), b.floats());
    let pairs = x.iter().zip(y.iter());
    let values: Vec<f64> = match op {
        Arithmetic::Add => pairs.map(|(x, y)| x + y).collect(),
        Arithmetic::Sub => pairs.map(|(x, y)| x - y).collect(),
        Arithmetic::Mul => pairs.map(|(x, y)| x * y).collect(),
        Arithmetic::Div => pairs.map(|(x, y)| x / y).collect(),
        Arithmetic::Mod => pairs.map(|(x, y)| x % y).collect(),
        Arithmetic::Pow => pairs.map(|(x, y)| x.powf(*y)).collect(),
    };
    Ok(Vector { values: Values::Float(Cow::Owned(values)), known: both(p, q) })
}

/// Results of an operator of integers; unfit where a known one has none.
fn integers(
    op: Arithmetic,
    x: &[i64],
    y: &[i64],
    known: Option<&[bool]>,
) -> Result<Vec<i64>, Unfit> {
    let each = |f: fn(i64, i64) -> (i64, bool)| {
        let mut bad = false;
        let values = match known {
            None => x
                .iter()
                .zip(y)
                .map(|(x, y)| {
                    let (v, is_bad) = f(*x, *y);
                    bad |= is_bad;
                    v
                })
                .collect(),
            Some(known) => x
                .iter()
                .zip(y)
                .zip(known)
                .map(|((x, y), known)| {
                    let (v, is_bad) = f(*x, *y);
                    bad |= is_bad & known;
                    v
                })
                .collect(),
        };
        if bad { Err(Unfit::Value) } else { Ok(values) }
    };
    match op {
        Arithmetic::Add => each(i64::overflowing_add),
        Arithmetic::Sub => each(i64::overflowing_sub),
        Arithmetic::Mul => each(i64::overflowing_mul),
        Arithmetic::Div => each(|x, y| x.checked_div(y).map_or((0, true), |v| (v, false))),
        // The remainder by -1 is 0, also of the least number.
        Arithmetic::Mod | Arithmetic::Pow => each(|x, y| match y {
            0 => (0, true),
            y => (x.checked_rem(y).unwrap_or(0), false),
        }),
    }
}
