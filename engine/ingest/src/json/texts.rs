//! Values in the making in the memory in which Arrow keeps them: nothing is copied to finish a column,
//! and nothing grows by doubling where it can be told how much follows. Either would hold a large
//! column twice.

use std::sync::Arc;

use arrow_array::{ArrayRef, LargeStringArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

/// Items that what has `len` of them and room for `capacity` should have memory for, so that `more` can
/// be added, when `ahead` times as many are expected after these; `None` when there is room.
fn wish(len: usize, capacity: usize, more: usize, ahead: f64) -> Option<usize> {
    if capacity - len >= more {
        return None;
    }
    // A little more than expected, since no two parts of a text are quite alike; and if expectations
    // are wrong, an eighth of what there is, so that the work of moving it remains bounded.
    let expected = (more as f64 * ahead * 1.02) as usize;
    Some(more.saturating_add(expected).max(len / 8))
}

/// Appends all items of `other`; `ahead` times as many are expected to follow.
pub fn append<T>(items: &mut Vec<T>, other: &mut Vec<T>, ahead: f64) {
    if let Some(wish) = wish(items.len(), items.capacity(), other.len(), ahead) {
        // What there is no memory for may not come either: then the vector grows as it does by itself.
        let _ = items.try_reserve_exact(wish);
    }
    items.append(other);
}

/// The items without memory that was reserved and not used.
pub fn fitted<T>(mut items: Vec<T>) -> Vec<T> {
    items.shrink_to_fit();
    items
}

/// Where texts begin and end: 0, then the end of each. They widen when the bytes outgrow 32 bits.
#[derive(Debug)]
enum Offsets {
    Small(Vec<i32>),
    Large(Vec<i64>),
}

/// A column of texts.
#[derive(Debug)]
pub struct Texts {
    offsets: Offsets,
    bytes: String,
}

impl Texts {
    /// This many empty texts.
    pub fn empty(rows: usize) -> Self {
        Self { offsets: Offsets::Small(vec![0; rows + 1]), bytes: String::new() }
    }

    #[inline]
    pub fn push(&mut self, text: &str) {
        self.bytes.push_str(text);
        self.end_at(self.bytes.len());
    }

    /// Notes that a text ends here.
    #[inline]
    fn end_at(&mut self, end: usize) {
        match &mut self.offsets {
            Offsets::Small(v) => match i32::try_from(end) {
                Ok(end) => v.push(end),
                Err(_) => {
                    let wide = v.iter().map(|o| i64::from(*o));
                    self.offsets = Offsets::Large(wide.chain([end as i64]).collect());
                }
            },
            Offsets::Large(v) => v.push(end as i64),
        }
    }

    /// The text of `row`, which there is.
    pub fn get(&self, row: usize) -> &str {
        let (start, end) = match &self.offsets {
            Offsets::Small(v) => (v[row] as usize, v[row + 1] as usize),
            Offsets::Large(v) => (v[row] as usize, v[row + 1] as usize),
        };
        &self.bytes[start..end]
    }

    /// As [`append`].
    pub fn append(&mut self, other: &Self, ahead: f64) {
        let before = self.bytes.len();
        if let Some(wish) = wish(before, self.bytes.capacity(), other.bytes.len(), ahead) {
            let _ = self.bytes.try_reserve_exact(wish);
        }
        self.bytes.push_str(&other.bytes);
        let more = other.rows();
        // As in `append`, a refusal changes nothing.
        let _ = match &mut self.offsets {
            Offsets::Small(v) => wish(v.len(), v.capacity(), more, ahead)
                .map_or(Ok(()), |wish| v.try_reserve_exact(wish)),
            Offsets::Large(v) => wish(v.len(), v.capacity(), more, ahead)
                .map_or(Ok(()), |wish| v.try_reserve_exact(wish)),
        };
        match &other.offsets {
            Offsets::Small(v) => v[1..].iter().for_each(|end| self.end_at(before + *end as usize)),
            Offsets::Large(v) => v[1..].iter().for_each(|end| self.end_at(before + *end as usize)),
        }
    }

    fn rows(&self) -> usize {
        match &self.offsets {
            Offsets::Small(v) => v.len() - 1,
            Offsets::Large(v) => v.len() - 1,
        }
    }

    pub fn finish(self, nulls: Option<NullBuffer>) -> ArrayRef {
        let values = Buffer::from_vec(fitted(self.bytes.into_bytes()));
        match self.offsets {
            Offsets::Small(v) => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(fitted(v)));
                Arc::new(StringArray::new(offsets, values, nulls))
            }
            Offsets::Large(v) => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(fitted(v)));
                Arc::new(LargeStringArray::new(offsets, values, nulls))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn texts_are_kept_in_order_over_appends() {
        let mut all = Texts::empty(2);
        for part in 0..5 {
            let mut more = Texts::empty(0);
            (0..part).for_each(|i| more.push(&format!("{part}é{i}")));
            all.append(&more, 3.5);
        }
        all.push("end");
        let want =
            ["", "", "1é0", "2é0", "2é1", "3é0", "3é1", "3é2", "4é0", "4é1", "4é2", "4é3", "end"];
        assert_eq!((0..all.rows()).map(|row| all.get(row)).collect::<Vec<_>>(), want);
        let array = all.finish(None);
        let array = array.as_any().downcast_ref::<StringArray>().unwrap();
        assert_eq!(array.iter().flatten().collect::<Vec<_>>(), want);
    }

    #[test]
    fn offsets_widen_beyond_32_bits() {
        let mut texts = Texts::empty(0);
        texts.push("ab");
        // The bytes themselves would take two gigabytes.
        let far = i32::MAX as usize + 1;
        texts.end_at(far);
        texts.end_at(far + 1);
        let Offsets::Large(v) = &texts.offsets else { panic!("still small") };
        assert_eq!(v, &[0, 2, far as i64, far as i64 + 1]);
        assert_eq!(texts.get(0), "ab");
    }

    #[test]
    fn memory_is_taken_once_where_parts_are_alike() {
        let parts = 100u32;
        let (mut all, mut moves, mut room) = (Vec::new(), 0, 0);
        for part in 0..parts {
            append(&mut all, &mut vec![part; 1000], f64::from(parts - part - 1));
            moves += u32::from(all.capacity() != room);
            room = all.capacity();
        }
        assert_eq!((all.len(), moves), (100_000, 1));
        assert!(room < 103_000, "{room}");
        // Without an idea of what follows it still moves seldom.
        let (mut all, mut moves, mut room) = (Vec::new(), 0, 0);
        for _ in 0..1000 {
            append(&mut all, &mut vec![0u8; 1000], 0.0);
            moves += u32::from(all.capacity() != room);
            room = all.capacity();
        }
        assert!(moves < 60, "{moves}");
        assert_eq!(fitted(all).capacity(), 1_000_000);
    }
}
