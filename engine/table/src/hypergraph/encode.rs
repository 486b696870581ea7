//! A column as numbers: equal cells get equal codes, in order of first appearance.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};
use graphlume_types::hash::mix64;
use graphlume_types::{CancelToken, Cancelled};

use super::HypergraphError;
use crate::{TextColumn, cell_text};

/// The code of a null.
pub(super) const NULL: u32 = u32::MAX;
/// Rows between two looks at the cancel token.
const CHUNK: usize = 1 << 16;

/// The codes of a column's rows.
#[derive(Debug, Default)]
pub(super) struct Codes {
    /// Per row; [`NULL`] for a null and for NaN.
    pub of_row: Vec<u32>,
    /// Per code the row where it first appears; ascending.
    pub first_row: Vec<u32>,
    /// The first null.
    pub first_null: Option<u32>,
}

impl Codes {
    fn with_rows(rows: usize) -> Self {
        Self { of_row: Vec::with_capacity(rows), first_row: Vec::new(), first_null: None }
    }

    fn push_null(&mut self) {
        if self.first_null.is_none() {
            self.first_null = Some(self.of_row.len() as u32);
        }
        self.of_row.push(NULL);
    }

    fn push(&mut self, code: u32) {
        if code as usize == self.first_row.len() {
            self.first_row.push(self.of_row.len() as u32);
        }
        self.of_row.push(code);
    }

    /// Numbers the rows of `array`.
    pub(super) fn new(array: &ArrayRef, cancel: &CancelToken) -> Result<Self, HypergraphError> {
        use DataType as D;
        if let D::Dictionary(..) = array.data_type() {
            return of_dictionary(array, cancel);
        }
        if let Some(text) = TextColumn::try_new(array) {
            return Ok(of_texts(text.len(), |row| text.get(row), cancel)?);
        }
        Ok(match array.data_type() {
            D::Boolean => {
                let cells = array.as_boolean();
                of_words(cells.iter().map(|v| v.map(u64::from)), cells.len(), cancel)?
            }
            D::Int8 => whole::<Int8Type>(array, |v| v as u64, cancel)?,
            D::Int16 => whole::<Int16Type>(array, |v| v as u64, cancel)?,
            D::Int32 => whole::<Int32Type>(array, |v| v as u64, cancel)?,
            D::Int64 => whole::<Int64Type>(array, |v| v as u64, cancel)?,
            D::UInt8 => whole::<UInt8Type>(array, u64::from, cancel)?,
            D::UInt16 => whole::<UInt16Type>(array, u64::from, cancel)?,
            D::UInt32 => whole::<UInt32Type>(array, u64::from, cancel)?,
            D::UInt64 => whole::<UInt64Type>(array, |v| v, cancel)?,
            D::Float16 => {
                float::<Float16Type>(array, |v| (u64::from(v.to_bits()), v.is_nan()), cancel)?
            }
            D::Float32 => {
                float::<Float32Type>(array, |v| (u64::from(v.to_bits()), v.is_nan()), cancel)?
            }
            D::Float64 => float::<Float64Type>(array, |v| (v.to_bits(), v.is_nan()), cancel)?,
            D::Date32 => whole::<Date32Type>(array, |v| v as u64, cancel)?,
            D::Date64 => whole::<Date64Type>(array, |v| v as u64, cancel)?,
            D::Timestamp(TimeUnit::Second, _) => {
                whole::<TimestampSecondType>(array, |v| v as u64, cancel)?
            }
            D::Timestamp(TimeUnit::Millisecond, _) => {
                whole::<TimestampMillisecondType>(array, |v| v as u64, cancel)?
            }
            D::Timestamp(TimeUnit::Microsecond, _) => {
                whole::<TimestampMicrosecondType>(array, |v| v as u64, cancel)?
            }
            D::Timestamp(TimeUnit::Nanosecond, _) => {
                whole::<TimestampNanosecondType>(array, |v| v as u64, cancel)?
            }
            D::RunEndEncoded(_, values) => {
                Self::new(&arrow_cast::cast(array, values.data_type())?, cancel)?
            }
            D::Null => {
                let mut codes = Self::with_rows(array.len());
                (0..array.len()).for_each(|_| codes.push_null());
                codes
            }
            // Everything else is compared by what it looks like.
            _ => {
                let mut shown = Vec::with_capacity(array.len());
                for row in 0..array.len() {
                    if row % CHUNK == 0 {
                        cancel.check()?;
                    }
                    shown.push(cell_text(array.as_ref(), row));
                }
                of_texts(shown.len(), |row| shown[row].as_deref(), cancel)?
            }
        })
    }

    /// Number of codes.
    pub(super) fn len(&self) -> usize {
        self.first_row.len()
    }

    /// The code before which the null stands when values are listed by first appearance.
    pub(super) fn null_place(&self) -> Option<usize> {
        let row = self.first_null?;
        Some(self.first_row.partition_point(|first| *first < row))
    }
}

fn whole<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    word: impl Fn(T::Native) -> u64,
    cancel: &CancelToken,
) -> Result<Codes, Cancelled> {
    let cells = array.as_primitive::<T>();
    match cells.nulls().filter(|n| n.null_count() > 0) {
        None => of_words(cells.values().iter().map(|v| Some(word(*v))), cells.len(), cancel),
        Some(_) => of_words(cells.iter().map(|v| v.map(&word)), cells.len(), cancel),
    }
}

fn float<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    word: impl Fn(T::Native) -> (u64, bool),
    cancel: &CancelToken,
) -> Result<Codes, Cancelled> {
    let cells = array.as_primitive::<T>();
    let number = |v: T::Native| {
        let (bits, is_nan) = word(v);
        (!is_nan).then_some(bits)
    };
    of_words(cells.iter().map(|v| v.and_then(number)), cells.len(), cancel)
}

/// Numbers words. Keys are spread with a key of this process, so that no table can be made to collide.
fn of_words(
    words: impl Iterator<Item = Option<u64>>,
    rows: usize,
    cancel: &CancelToken,
) -> Result<Codes, Cancelled> {
    let seed = RandomState::new().hash_one(0u8);
    let mut codes = Codes::with_rows(rows);
    let mut slots: Vec<(u64, u32)> = vec![(0, NULL); 1 << 10];
    for (row, word) in words.enumerate() {
        if row % CHUNK == 0 {
            cancel.check()?;
        }
        let Some(word) = word else {
            codes.push_null();
            continue;
        };
        if codes.len() * 2 >= slots.len() {
            slots = grown(&slots, seed);
        }
        let at = place(&slots, seed, word);
        if slots[at].1 == NULL {
            slots[at] = (word, codes.len() as u32);
        }
        codes.push(slots[at].1);
    }
    Ok(codes)
}

/// The slot of `word`, or the empty one where it belongs.
#[inline]
fn place(slots: &[(u64, u32)], seed: u64, word: u64) -> usize {
    let mask = slots.len() - 1;
    let mut at = mix64(word ^ seed) as usize & mask;
    while slots[at].1 != NULL && slots[at].0 != word {
        at = (at + 1) & mask;
    }
    at
}

fn grown(slots: &[(u64, u32)], seed: u64) -> Vec<(u64, u32)> {
    let mut larger = vec![(0, NULL); slots.len() * 4];
    for slot in slots.iter().filter(|s| s.1 != NULL) {
        let at = place(&larger, seed, slot.0);
        larger[at] = *slot;
    }
    larger
}

fn of_texts<'a>(
    rows: usize,
    text: impl Fn(usize) -> Option<&'a str>,
    cancel: &CancelToken,
) -> Result<Codes, Cancelled> {
    let mut codes = Codes::with_rows(rows);
    let mut known: HashMap<&str, u32> = HashMap::new();
    for row in 0..rows {
        if row % CHUNK == 0 {
            cancel.check()?;
        }
        let Some(text) = text(row) else {
            codes.push_null();
            continue;
        };
        let next = codes.len() as u32;
        let code = *known.entry(text).or_insert(next);
        codes.push(code);
    }
    Ok(codes)
}

/// The values of a dictionary are numbered once; a value may occur in it twice, or be null.
fn of_dictionary(array: &ArrayRef, cancel: &CancelToken) -> Result<Codes, HypergraphError> {
    let dictionary = array.as_any_dictionary();
    let values = Codes::new(dictionary.values(), cancel)?;
    let keys = arrow_cast::cast(dictionary.keys(), &DataType::UInt64)?;
    let keys = keys.as_primitive::<UInt64Type>();
    let mut codes = Codes::with_rows(array.len());
    let mut renamed = vec![NULL; values.len()];
    for (row, key) in keys.iter().enumerate() {
        if row % CHUNK == 0 {
            cancel.check()?;
        }
        let value = key.map_or(NULL, |k| values.of_row[k as usize]);
        if value == NULL {
            codes.push_null();
            continue;
        }
        let code = &mut renamed[value as usize];
        if *code == NULL {
            *code = codes.len() as u32;
        }
        codes.push(*code);
    }
    Ok(codes)
}
