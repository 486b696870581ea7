//! One reader over every representation of text.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, StringViewArray, UInt32Array};
use arrow_schema::DataType;

/// A column of text, whatever its Arrow representation is. Cheap to clone: buffers are shared.
#[derive(Clone, Debug)]
pub struct TextColumn(Repr);

#[derive(Clone, Debug)]
enum Repr {
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
    Dictionary { keys: UInt32Array, values: Box<TextColumn> },
}

impl TextColumn {
    /// Reads `array` as text; `None` when it is no text type (nor a dictionary of one).
    #[must_use]
    pub fn try_new(array: &ArrayRef) -> Option<Self> {
        Some(Self(match array.data_type() {
            DataType::Utf8 => Repr::Utf8(array.as_string::<i32>().clone()),
            DataType::LargeUtf8 => Repr::LargeUtf8(array.as_string::<i64>().clone()),
            DataType::Utf8View => Repr::Utf8View(array.as_string_view().clone()),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let values = Self::try_new(dictionary.values())?;
                let keys = arrow_cast::cast(dictionary.keys(), &DataType::UInt32).ok()?;
                let keys = keys.as_primitive::<UInt32Type>().clone();
                Repr::Dictionary { keys, values: Box::new(values) }
            }
            _ => return None,
        }))
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Utf8(a) => a.len(),
            Repr::LargeUtf8(a) => a.len(),
            Repr::Utf8View(a) => a.len(),
            Repr::Dictionary { keys, .. } => keys.len(),
        }
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of `row`; `None` when it is null.
    ///
    /// # Panics
    /// When `row` is not below [`TextColumn::len`].
    #[must_use]
    #[inline]
    pub fn get(&self, row: usize) -> Option<&str> {
        match &self.0 {
            Repr::Utf8(a) => a.is_valid(row).then(|| a.value(row)),
            Repr::LargeUtf8(a) => a.is_valid(row).then(|| a.value(row)),
            Repr::Utf8View(a) => a.is_valid(row).then(|| a.value(row)),
            Repr::Dictionary { keys, values } => {
                if keys.is_valid(row) {
                    values.get(keys.value(row) as usize)
                } else {
                    None
                }
            }
        }
    }

    /// For a dictionary column its keys (one per row, null = null) and its distinct values, so that
    /// work can be done once per value. A value may itself be null or occur twice.
    #[must_use]
    pub fn dictionary(&self) -> Option<(&UInt32Array, &TextColumn)> {
        match &self.0 {
            Repr::Dictionary { keys, values } => Some((keys, values)),
            _ => None,
        }
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.len()).map(|row| self.get(row))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::{DictionaryArray, Int8Array, Int64Array};

    use super::*;

    #[test]
    fn every_representation_reads_alike() {
        let rows = vec![Some("b"), None, Some(""), Some("b")];
        let values = Arc::new(StringViewArray::from(vec!["", "b"]));
        let keys = Int8Array::from(vec![Some(1), None, Some(0), Some(1)]);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(rows.clone())),
            Arc::new(LargeStringArray::from(rows.clone())),
            Arc::new(StringViewArray::from(rows.clone())),
            Arc::new(DictionaryArray::new(keys, values)),
        ];
        for c in columns {
            let text = TextColumn::try_new(&c).unwrap();
            assert_eq!(text.iter().collect::<Vec<_>>(), rows, "{}", c.data_type());
            let sliced = TextColumn::try_new(&c.slice(2, 2)).unwrap();
            assert_eq!(sliced.iter().collect::<Vec<_>>(), rows[2..], "{}", c.data_type());
        }
    }

    #[test]
    fn numbers_are_not_text() {
        let a: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        assert!(TextColumn::try_new(&a).is_none());
        let d = DictionaryArray::new(Int8Array::from(vec![0]), Arc::new(Int64Array::from(vec![1])));
        let d: ArrayRef = Arc::new(d);
        assert!(TextColumn::try_new(&d).is_none());
    }
}
