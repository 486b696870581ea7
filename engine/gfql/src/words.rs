//! Columns of text written from the numbers of their values.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, GenericStringArray, OffsetSizeTrait, UInt32Array};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use graphlume_table::TextColumn;

/// Bytes of a value that are copied at once, whether it has so many or fewer.
const WIDTH: usize = 16;
/// Values of a column up to which they are laid out for that: all of them stay in the fastest memory.
const VALUES_MAX: usize = 1 << 10;

/// The texts of `keys` among `values`; `None` where nothing is won by that.
pub(crate) fn written<O: OffsetSizeTrait>(
    keys: &UInt32Array,
    values: &TextColumn,
) -> Option<ArrayRef> {
    if values.len() > VALUES_MAX || keys.len() < values.len() {
        return None;
    }
    let mut laid = Vec::with_capacity(values.len());
    for i in 0..values.len() {
        let text = values.get(i)?.as_bytes();
        let mut cell = [0; WIDTH];
        cell.get_mut(..text.len())?.copy_from_slice(text);
        laid.push((cell, text.len()));
    }
    // The key of a null may be any number.
    let none = ([0; WIDTH], 0);
    let of = |row: usize| match keys.is_valid(row) {
        true => laid.get(keys.value(row) as usize).unwrap_or(&none),
        false => &none,
    };
    let end: usize = (0..keys.len()).map(|row| of(row).1).sum();
    O::from_usize(end)?;
    let mut offsets: Vec<O> = Vec::with_capacity(keys.len() + 1);
    let mut bytes = vec![0_u8; end + WIDTH];
    let mut from = 0;
    offsets.push(O::usize_as(0));
    for row in 0..keys.len() {
        let (cell, len) = of(row);
        bytes[from..from + WIDTH].copy_from_slice(cell);
        from += len;
        offsets.push(O::usize_as(from));
    }
    bytes.truncate(end);
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let nulls = keys.nulls().cloned();
    let made = GenericStringArray::<O>::try_new(offsets, Buffer::from_vec(bytes), nulls).ok()?;
    Some(Arc::new(made))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow_array::{LargeStringArray, StringArray};
    use graphlume_types::hash::h64;

    use super::*;

    #[test]
    fn texts_are_what_their_numbers_stand_for() {
        let texts = ["", "a", "\u{e9}t\u{e9}", "sixteen bytes it", "b c"];
        let values: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let values = TextColumn::try_new(&values).unwrap();
        let key = |i| (h64(1, 2, i) % 6) as usize;
        let keys: UInt32Array =
            (0..999).map(|i| texts.get(key(i)).map(|_| key(i) as u32)).collect();
        let cells = || (0..999).map(|i| texts.get(key(i)).copied());
        let wanted: StringArray = cells().collect();
        assert_eq!(written::<i32>(&keys, &values).unwrap().as_ref(), &wanted as &dyn Array);
        let wanted: LargeStringArray = cells().collect();
        assert_eq!(written::<i64>(&keys, &values).unwrap().as_ref(), &wanted as &dyn Array);
    }

    #[test]
    fn long_and_many_values_are_left_to_others() {
        let column = |texts: &[&str]| {
            let array: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
            TextColumn::try_new(&array).unwrap()
        };
        let keys = UInt32Array::from(vec![0, 0, 0]);
        assert!(written::<i32>(&keys, &column(&["seventeen bytes it"])).is_none());
        assert!(written::<i32>(&keys, &column(&["a", "b", "c", "d"])).is_none());
    }
}
