//! Predicates over typed columns, and their reduction to tests of single columns without negation.

use super::program::{Leaf, Node, Test};
use super::{ColumnOpError, DType, DeviceColumn};

/// How a cell is compared with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Equal. The two float zeros are equal.
    Eq,
    /// Not equal. A null is not: it matches nothing.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// A value that cells are compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// An integer, for numeric columns: compared by its exact value with floats too.
    Int(i64),
    /// A float, for numeric columns: compared by its exact value with integers too. NaN is a null
    /// and matches nothing.
    Float(f64),
    /// For bool columns; false is less than true.
    Bool(bool),
    /// A dictionary code, for code columns: a code's order is that of the sorted dictionary.
    Code(u32),
}

/// The codes whose text has a property, one bit a code: any predicate on text is evaluated once for
/// each distinct value on the host and becomes such a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    pub(super) words: Vec<u32>,
    pub(super) codes: u32,
}

impl Lookup {
    /// A table of `codes` codes: those for which `holds` answers true.
    #[must_use]
    pub fn new(codes: u32, holds: impl Fn(u32) -> bool) -> Self {
        let mut words = vec![0_u32; codes.div_ceil(32) as usize];
        for code in (0..codes).filter(|c| holds(*c)) {
            words[(code / 32) as usize] |= 1 << (code % 32);
        }
        Self { words, codes }
    }

    /// Whether the code is in the table; codes beyond it are not.
    #[must_use]
    pub fn holds(&self, code: u32) -> bool {
        code < self.codes && self.words[(code / 32) as usize] >> (code % 32) & 1 != 0
    }
}

/// A condition on the rows of some columns, named by their place in the call. It is true, false or
/// unknown for a row; a filter selects the rows in which it is true.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// A comparison; unknown for a null.
    Compare {
        /// The column.
        column: usize,
        /// The comparison.
        op: Compare,
        /// With what.
        value: Value,
    },
    /// Between two values; unknown for a null, and when either end is NaN.
    Between {
        /// The column.
        column: usize,
        /// The lower end.
        low: Value,
        /// The upper end.
        high: Value,
        /// Whether both ends belong to it, or neither.
        inclusive: bool,
    },
    /// Equal to one of the values; unknown for a null, also when a NaN is listed.
    In {
        /// The column.
        column: usize,
        /// The values, in any order.
        values: Vec<Value>,
    },
    /// The code of the cell is in a table; unknown for a null.
    Codes {
        /// A code column.
        column: usize,
        /// The table.
        lookup: Lookup,
    },
    /// The cell is null or NaN. Never unknown.
    IsNull {
        /// The column.
        column: usize,
    },
    /// The cell is neither null nor NaN. Never unknown.
    NotNull {
        /// The column.
        column: usize,
    },
    /// Not; unknown stays unknown.
    Not(Box<Predicate>),
    /// All of them; true of nothing.
    And(Vec<Predicate>),
    /// At least one of them; false of nothing.
    Or(Vec<Predicate>),
}

impl Predicate {
    /// A comparison of column `column` with `value`.
    #[must_use]
    pub const fn compare(column: usize, op: Compare, value: Value) -> Self {
        Self::Compare { column, op, value }
    }
}

/// How deep predicates may be nested.
pub(super) const DEPTH_MAX: usize = 64;

/// The predicate as tests joined by and / or. Negations go down to the tests, where "not" is the
/// test that fails on a cell that holds a value: and / or of the true rows is then exact
/// three-valued logic.
pub(super) fn normalise(
    predicate: &Predicate,
    columns: &[&DeviceColumn],
    negate: bool,
    depth: usize,
) -> Result<Node, ColumnOpError> {
    if depth > DEPTH_MAX {
        return Err(ColumnOpError::Limit {
            primitive: "filter",
            what: "the depth of the predicate",
            got: depth as u64,
            limit: DEPTH_MAX as u64,
        });
    }
    let all = |parts: &[Predicate]| {
        parts.iter().map(|p| normalise(p, columns, negate, depth + 1)).collect::<Result<_, _>>()
    };
    let (column, test) = match predicate {
        Predicate::Not(inner) => return normalise(inner, columns, !negate, depth + 1),
        Predicate::And(parts) if negate => return Ok(Node::Or(all(parts)?)),
        Predicate::Or(parts) if negate => return Ok(Node::And(all(parts)?)),
        Predicate::And(parts) => return Ok(Node::And(all(parts)?)),
        Predicate::Or(parts) => return Ok(Node::Or(all(parts)?)),
        Predicate::Compare { column, op, value } => (*column, Question::Compare(*op, *value)),
        Predicate::Between { column, low, high, inclusive } => {
            (*column, Question::Between(*low, *high, *inclusive))
        }
        Predicate::In { column, values } => (*column, Question::In(values)),
        Predicate::Codes { column, lookup } => (*column, Question::Codes(lookup)),
        Predicate::IsNull { column } => (*column, Question::Null(!negate)),
        Predicate::NotNull { column } => (*column, Question::Null(negate)),
    };
    let of =
        columns.get(column).ok_or(ColumnOpError::NoColumn { column, columns: columns.len() })?;
    let (test, negate) = ask(column, of.dtype, test, negate)?;
    Ok(Node::Leaf(Leaf { column, dtype: of.dtype, test, negate }))
}

enum Question<'a> {
    Compare(Compare, Value),
    Between(Value, Value, bool),
    In(&'a [Value]),
    Codes(&'a Lookup),
    Null(bool),
}

/// The test of a column of this dtype, and whether its failure is asked for.
fn ask(
    column: usize,
    dtype: DType,
    question: Question<'_>,
    negate: bool,
) -> Result<(Test, bool), ColumnOpError> {
    let number = |value: Value| {
        Number::of(value, dtype).ok_or(ColumnOpError::Value { column, dtype, value })
    };
    let domain = Domain(dtype);
    let test = match question {
        Question::Null(true) => return Ok((Test::Null, false)),
        Question::Null(false) => return Ok((Test::NotNull, false)),
        Question::Codes(lookup) if dtype == DType::Codes => Test::Lookup(lookup.clone()),
        Question::Codes(_) => {
            let remedy = "a table of codes needs a code column";
            return Err(ColumnOpError::DType { primitive: "filter", dtype, remedy });
        }
        Question::Compare(op, value) => match number(value)? {
            Number::Unknown => Test::Unknown,
            v => return Ok((domain.range(op, v), negate != (op == Compare::Ne))),
        },
        Question::Between(low, high, inclusive) => match (number(low)?, number(high)?) {
            (Number::Unknown, _) | (_, Number::Unknown) => Test::Unknown,
            (low, high) => domain.between(low, high, inclusive),
        },
        Question::In(values) => {
            let values = values.iter().map(|v| number(*v)).collect::<Result<Vec<_>, _>>()?;
            match negate && values.iter().any(|v| matches!(v, Number::Unknown)) {
                true => Test::Unknown,
                false => domain.list(&values),
            }
        }
    };
    Ok((test, negate))
}

/// An operand as an exact number.
#[derive(Clone, Copy, Debug)]
enum Number {
    Int(i64),
    Float(f64),
    /// NaN.
    Unknown,
}

impl Number {
    /// `None` when cells of the dtype cannot be compared with the value.
    fn of(value: Value, dtype: DType) -> Option<Self> {
        match (value, dtype) {
            (Value::Bool(b), DType::Bool) => Some(Self::Int(i64::from(b))),
            (Value::Code(c), DType::Codes) => Some(Self::Int(i64::from(c))),
            (_, DType::Bool | DType::Codes) | (Value::Bool(_) | Value::Code(_), _) => None,
            (Value::Float(f), _) if f.is_nan() => Some(Self::Unknown),
            (Value::Float(f), _) => Some(Self::Float(f)),
            (Value::Int(i), _) => Some(Self::Int(i)),
        }
    }

    /// The integers next to it: the greatest that is not above and the least that is not below.
    fn integers(self) -> (i128, i128) {
        match self {
            Self::Int(i) => (i128::from(i), i128::from(i)),
            // Casts saturate, so infinities stay beyond every integer of a cell.
            Self::Float(f) => (f.floor() as i128, f.ceil() as i128),
            Self::Unknown => (i128::MIN, i128::MAX),
        }
    }

    /// The 64-bit floats next to it, likewise.
    fn wide(self) -> (f64, f64) {
        match self {
            Self::Int(i) => {
                let near = i as f64;
                match (near as i128).cmp(&i128::from(i)) {
                    std::cmp::Ordering::Less => (near, near.next_up()),
                    std::cmp::Ordering::Equal => (near, near),
                    std::cmp::Ordering::Greater => (near.next_down(), near),
                }
            }
            Self::Float(f) => (f, f),
            Self::Unknown => (f64::NAN, f64::NAN),
        }
    }

    /// The 32-bit floats next to it, likewise.
    fn narrow(self) -> (f32, f32) {
        let (low, high) = self.wide();
        let (down, up) = (low as f32, high as f32);
        (
            if f64::from(down) > low { down.next_down() } else { down },
            if f64::from(up) < high { up.next_up() } else { up },
        )
    }
}

/// The cells of a dtype next to a number, as bits: each is `None` when there is no such cell.
struct Ends {
    at_least: Option<u64>,
    above: Option<u64>,
    at_most: Option<u64>,
    below: Option<u64>,
    /// The cell that equals the number.
    equal: Option<u64>,
}

/// The values of a dtype, in their order.
#[derive(Clone, Copy)]
struct Domain(DType);

impl Domain {
    /// Least and greatest value.
    const fn span(self) -> (i128, i128) {
        match self.0 {
            DType::I64 => (i64::MIN as i128, i64::MAX as i128),
            DType::I32 => (i32::MIN as i128, i32::MAX as i128),
            DType::Bool => (0, 1),
            _ => (0, u32::MAX as i128),
        }
    }

    fn ends(self, number: Number) -> Ends {
        match self.0 {
            DType::F64 => {
                let (down, up) = number.wide();
                let at = |v: f64| Some(v.to_bits());
                Ends {
                    at_least: at(up),
                    above: if down < up {
                        at(up)
                    } else {
                        at(up.next_up()).filter(|_| up < f64::INFINITY)
                    },
                    at_most: at(down),
                    below: if down < up {
                        at(down)
                    } else {
                        at(down.next_down()).filter(|_| down > f64::NEG_INFINITY)
                    },
                    equal: at(up).filter(|_| down == up),
                }
            }
            DType::F32 => {
                let (down, up) = number.narrow();
                let at = |v: f32| Some(u64::from(v.to_bits()));
                Ends {
                    at_least: at(up),
                    above: if down < up {
                        at(up)
                    } else {
                        at(up.next_up()).filter(|_| up < f32::INFINITY)
                    },
                    at_most: at(down),
                    below: if down < up {
                        at(down)
                    } else {
                        at(down.next_down()).filter(|_| down > f32::NEG_INFINITY)
                    },
                    equal: at(up).filter(|_| down == up),
                }
            }
            _ => {
                let (floor, ceil) = number.integers();
                let (least, most) = self.span();
                // A lower end beyond the greatest cell leaves no cell, and one below the least all
                // of them.
                let lower = |v: i128| (v <= most).then(|| v.max(least) as u64);
                let upper = |v: i128| (v >= least).then(|| v.min(most) as u64);
                Ends {
                    at_least: lower(ceil),
                    above: lower(floor.saturating_add(1)),
                    at_most: upper(floor),
                    below: upper(ceil.saturating_sub(1)),
                    equal: lower(ceil).filter(|_| floor == ceil && ceil >= least),
                }
            }
        }
    }

    /// All cells, as a closed range of bits. NaN is in none.
    fn all(self) -> (u64, u64) {
        match self.0 {
            DType::F64 => (f64::NEG_INFINITY.to_bits(), f64::INFINITY.to_bits()),
            DType::F32 => {
                (u64::from(f32::NEG_INFINITY.to_bits()), u64::from(f32::INFINITY.to_bits()))
            }
            _ => (self.span().0 as u64, self.span().1 as u64),
        }
    }

    /// The test "in the closed range"; without one of the ends no cell passes.
    fn closed(self, low: Option<u64>, high: Option<u64>) -> Test {
        let (least, most) = self.all();
        let (low, high) = match (low, high) {
            (Some(low), Some(high)) => (low, high),
            _ => (most, least),
        };
        match self.0 {
            DType::Bool => Test::Bools { on_false: low == 0, on_true: low <= 1 && high == 1 },
            _ => Test::Range { low, high },
        }
    }

    /// The range of cells that compare so; that of `Ne` is that of `Eq`, to be negated.
    fn range(self, op: Compare, number: Number) -> Test {
        let ends = self.ends(number);
        let (least, most) = self.all();
        match op {
            Compare::Eq | Compare::Ne => self.closed(ends.equal, ends.equal),
            Compare::Lt => self.closed(Some(least), ends.below),
            Compare::Le => self.closed(Some(least), ends.at_most),
            Compare::Gt => self.closed(ends.above, Some(most)),
            Compare::Ge => self.closed(ends.at_least, Some(most)),
        }
    }

    fn between(self, low: Number, high: Number, inclusive: bool) -> Test {
        let (low, high) = (self.ends(low), self.ends(high));
        match inclusive {
            true => self.closed(low.at_least, high.at_most),
            false => self.closed(low.above, high.below),
        }
    }

    /// The cells that equal one of the numbers, in ascending order.
    fn list(self, numbers: &[Number]) -> Test {
        let known = numbers.iter().filter(|n| !matches!(n, Number::Unknown));
        let mut cells: Vec<u64> = known.filter_map(|n| self.ends(*n).equal).collect();
        match self.0 {
            DType::Bool => {
                return Test::Bools { on_false: cells.contains(&0), on_true: cells.contains(&1) };
            }
            DType::I64 => cells.sort_unstable_by_key(|b| *b as i64),
            DType::I32 => cells.sort_unstable_by_key(|b| *b as i32),
            DType::U32 | DType::Codes => cells.sort_unstable(),
            DType::F64 => {
                cells.sort_unstable_by(|a, b| f64::from_bits(*a).total_cmp(&f64::from_bits(*b)))
            }
            DType::F32 => cells.sort_unstable_by(|a, b| {
                f32::from_bits(*a as u32).total_cmp(&f32::from_bits(*b as u32))
            }),
        }
        cells.dedup();
        Test::List(cells)
    }
}
