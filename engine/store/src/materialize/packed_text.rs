//! Columns of text written from the numbers of their values.

use std::sync::Arc;

use arrow_array::{ArrayRef, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use graphlume_table::TextColumn;

use crate::filter::SMALL_NULL;

/// Bytes of a value that are copied at once, whether it has so many or fewer.
const WIDTH: usize = 16;

/// The texts with these numbers among `values`, of which the last of all stands for null; `None` where a value is
/// too long or a number means none.
pub fn written<O: OffsetSizeTrait>(codes: &[u8], values: &TextColumn) -> Option<ArrayRef> {
    let mut cells = [([0_u8; WIDTH], 0_usize); 256];
    if values.len() > usize::from(SMALL_NULL) {
        return None;
    }
    for (i, (cell, len)) in cells.iter_mut().enumerate().take(values.len()) {
        let text = values.get(i)?.as_bytes();
        cell.get_mut(..text.len())?.copy_from_slice(text);
        *len = text.len();
    }
    let end: usize = codes.iter().map(|code| cells[usize::from(*code)].1).sum();
    O::from_usize(end)?;
    let mut offsets = vec![O::usize_as(0); codes.len() + 1];
    let mut bytes = vec![0_u8; end + WIDTH];
    let mut from = 0;
    for (code, offset) in codes.iter().zip(&mut offsets[1..]) {
        let (cell, len) = &cells[usize::from(*code)];
        bytes[from..from + WIDTH].copy_from_slice(cell);
        from += len;
        *offset = O::usize_as(from);
    }
    bytes.truncate(end);
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let nulls = codes.contains(&SMALL_NULL).then(|| {
        let valid = BooleanBuffer::collect_bool(codes.len(), |i| codes[i] != SMALL_NULL);
        NullBuffer::new(valid)
    });
    let made = GenericStringArray::<O>::try_new(offsets, Buffer::from_vec(bytes), nulls).ok()?;
    Some(Arc::new(made))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow_array::{Array, LargeStringArray, StringArray};
    use graphlume_types::hash::h64;

    use super::*;

    #[test]
    fn texts_are_what_their_numbers_stand_for() {
        let texts = ["", "a", "\u{e9}t\u{e9}", "sixteen bytes it", "b c"];
        let values: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let values = TextColumn::try_new(&values).unwrap();
        for kinds in [5, 6] {
            let key = |i| (h64(1, 2, i) % kinds) as usize;
            let code = |i| texts.get(key(i)).map_or(SMALL_NULL, |_| key(i) as u8);
            let codes: Vec<u8> = (0..999).map(code).collect();
            let cells = || (0..999).map(|i| texts.get(key(i)).copied());
            let wanted: StringArray = cells().collect();
            assert_eq!(written::<i32>(&codes, &values).unwrap().as_ref(), &wanted as &dyn Array);
            let wanted: LargeStringArray = cells().collect();
            assert_eq!(written::<i64>(&codes, &values).unwrap().as_ref(), &wanted as &dyn Array);
        }
    }

    #[test]
    fn long_and_many_values_are_left_to_others() {
        let column = |texts: &[String]| {
            let array: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
            TextColumn::try_new(&array).unwrap()
        };
        assert!(written::<i32>(&[0], &column(&["seventeen bytes it".to_owned()])).is_none());
        let many: Vec<String> = (0..256).map(|i| i.to_string()).collect();
        assert!(written::<i32>(&[0], &column(&many)).is_none());
        assert!(written::<i32>(&[0], &column(&many[..255])).is_some());
    }
}
