//! A column that takes its type from its values.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, LargeStringArray, StringArray, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

/// A scalar of JSON. Arrays and objects are their own compact text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// Beyond the signed range.
    UInt(u64),
    Float(f64),
    Text(&'a str),
}

#[derive(Debug, Default)]
enum Values {
    /// Only nulls so far.
    #[default]
    Void,
    Bool(Vec<bool>),
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Float(Vec<f64>),
    Text {
        ends: Vec<usize>,
        bytes: String,
    },
}

/// Collects scalars. Whole numbers widen to doubles when a fraction appears; any other mixture becomes
/// text.
#[derive(Debug, Default)]
pub struct ColumnBuilder {
    rows: usize,
    values: Values,
    /// One flag per row once a row is null, else empty.
    valid: Vec<bool>,
}

impl ColumnBuilder {
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Appends nulls up to `rows` rows.
    pub fn pad(&mut self, rows: usize) {
        while self.rows < rows {
            self.push(Scalar::Null);
        }
    }

    pub fn push(&mut self, scalar: Scalar<'_>) {
        if scalar == Scalar::Null {
            if self.valid.is_empty() {
                self.valid = vec![true; self.rows];
            }
        } else {
            self.make_room(scalar);
        }
        match (&mut self.values, scalar) {
            (Values::Void, _) => {}
            (Values::Bool(v), Scalar::Bool(b)) => v.push(b),
            (Values::Bool(v), _) => v.push(false),
            (Values::Int(v), Scalar::Int(i)) => v.push(i),
            (Values::Int(v), _) => v.push(0),
            (Values::UInt(v), Scalar::UInt(u)) => v.push(u),
            (Values::UInt(v), Scalar::Int(i)) => v.push(i.unsigned_abs()),
            (Values::UInt(v), _) => v.push(0),
            (Values::Float(v), Scalar::Float(f)) => v.push(f),
            (Values::Float(v), Scalar::Int(i)) => v.push(i as f64),
            (Values::Float(v), Scalar::UInt(u)) => v.push(u as f64),
            (Values::Float(v), _) => v.push(0.0),
            (Values::Text { ends, bytes }, scalar) => {
                write_text(bytes, scalar);
                ends.push(bytes.len());
            }
        }
        self.rows += 1;
        if !self.valid.is_empty() || scalar == Scalar::Null {
            self.valid.push(scalar != Scalar::Null);
        }
    }

    /// Changes the type if `scalar` does not fit it.
    #[inline]
    fn make_room(&mut self, scalar: Scalar<'_>) {
        let rows = self.rows;
        match (&self.values, scalar) {
            (Values::Bool(_), Scalar::Bool(_))
            | (Values::Int(_), Scalar::Int(_))
            | (Values::UInt(_), Scalar::UInt(_))
            | (Values::Float(_), Scalar::Float(_) | Scalar::Int(_) | Scalar::UInt(_))
            | (Values::Text { .. }, _) => {}
            (Values::UInt(_), Scalar::Int(i)) if i >= 0 => {}
            (Values::Void, Scalar::Bool(_)) => self.values = Values::Bool(vec![false; rows]),
            (Values::Void, Scalar::Int(_)) => self.values = Values::Int(vec![0; rows]),
            (Values::Void, Scalar::UInt(_)) => self.values = Values::UInt(vec![0; rows]),
            (Values::Void, Scalar::Float(_)) => self.values = Values::Float(vec![0.0; rows]),
            (Values::Int(v), Scalar::Float(_)) => {
                self.values = Values::Float(v.iter().map(|i| *i as f64).collect());
            }
            (Values::UInt(v), Scalar::Float(_)) => {
                self.values = Values::Float(v.iter().map(|u| *u as f64).collect());
            }
            (Values::Int(v), Scalar::UInt(_)) if v.iter().all(|i| *i >= 0) => {
                self.values = Values::UInt(v.iter().map(|i| i.unsigned_abs()).collect());
            }
            _ => self.become_text(),
        }
    }

    fn become_text(&mut self) {
        let mut bytes = String::new();
        let mut ends = Vec::with_capacity(self.rows + 1);
        for row in 0..self.rows {
            write_text(&mut bytes, self.get(row));
            ends.push(bytes.len());
        }
        self.values = Values::Text { ends, bytes };
    }

    /// The value of `row`; null past the end.
    pub fn get(&self, row: usize) -> Scalar<'_> {
        if row >= self.rows || self.valid.get(row) == Some(&false) {
            return Scalar::Null;
        }
        match &self.values {
            Values::Void => Scalar::Null,
            Values::Bool(v) => Scalar::Bool(v[row]),
            Values::Int(v) => Scalar::Int(v[row]),
            Values::UInt(v) => Scalar::UInt(v[row]),
            Values::Float(v) => Scalar::Float(v[row]),
            Values::Text { ends, bytes } => {
                let start = if row == 0 { 0 } else { ends[row - 1] };
                Scalar::Text(&bytes[start..ends[row]])
            }
        }
    }

    /// Appends a value of another column.
    pub fn push_from(&mut self, other: &Self, row: usize) {
        self.push(other.get(row));
    }

    pub fn finish(self) -> ArrayRef {
        let rows = self.rows;
        let nulls = (!self.valid.is_empty()).then(|| NullBuffer::from(self.valid));
        match self.values {
            // What pandas makes of nothing but missing values; without rows there is no type at all.
            Values::Void if rows == 0 => Arc::new(StringArray::from(Vec::<&str>::new())),
            Values::Void => Arc::new(Float64Array::new(vec![0.0; rows].into(), nulls)),
            Values::Bool(v) => Arc::new(BooleanArray::new(BooleanBuffer::from(v), nulls)),
            Values::Int(v) => Arc::new(Int64Array::new(v.into(), nulls)),
            Values::UInt(v) => Arc::new(UInt64Array::new(v.into(), nulls)),
            Values::Float(v) => Arc::new(Float64Array::new(v.into(), nulls)),
            Values::Text { ends, bytes } => text(&ends, bytes, nulls),
        }
    }
}

fn text(ends: &[usize], bytes: String, nulls: Option<NullBuffer>) -> ArrayRef {
    let small = i32::try_from(bytes.len()).is_ok();
    let values = Buffer::from_vec(bytes.into_bytes());
    if small {
        let offsets: ScalarBuffer<i32> =
            [0].into_iter().chain(ends.iter().map(|e| *e as i32)).collect();
        Arc::new(StringArray::new(OffsetBuffer::new(offsets), values, nulls))
    } else {
        let offsets: ScalarBuffer<i64> =
            [0].into_iter().chain(ends.iter().map(|e| *e as i64)).collect();
        Arc::new(LargeStringArray::new(OffsetBuffer::new(offsets), values, nulls))
    }
}

fn write_text(out: &mut String, scalar: Scalar<'_>) {
    use std::fmt::Write as _;
    // Writing to a string cannot fail.
    let _ = match scalar {
        Scalar::Null => Ok(()),
        Scalar::Bool(b) => write!(out, "{}", if b { "True" } else { "False" }),
        Scalar::Int(i) => write!(out, "{i}"),
        Scalar::UInt(u) => write!(out, "{u}"),
        Scalar::Float(f) => write!(out, "{f:?}"),
        Scalar::Text(s) => {
            out.push_str(s);
            Ok(())
        }
    };
}
