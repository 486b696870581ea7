//! Selection of the value at a place of the order of many: the part of them that is known.

use crate::vector::{Values, Vector};

/// What is known of values of which one is wanted by its place: how many there are, how many lie below two bounds, and
/// those between.
#[derive(Clone, Debug, Default)]
pub struct Near {
    count: usize,
    below: usize,
    between: Vec<i64>,
}

impl Near {
    /// Of so many values, those from a place of their order on.
    pub(crate) const fn known(count: usize, below: usize, between: Vec<i64>) -> Self {
        Self { count, below, between }
    }

    /// How many values there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The values between the bounds, as [`ordered_bits`], and the place of place `k` of all values among them; `None` when
    /// the bounds miss it.
    #[must_use]
    pub fn at(&self, k: usize) -> Option<(&[i64], usize)> {
        let place = k.checked_sub(self.below)?;
        (place < self.between.len()).then_some((&self.between, place))
    }

    /// Takes known values up.
    fn extend(&mut self, keys: impl Iterator<Item = i64>, (low, high): (i64, i64)) {
        for key in keys {
            self.count += 1;
            self.below += usize::from(key < low);
            if (low..=high).contains(&key) {
                self.between.push(key);
            }
        }
    }

    /// Takes the numbers of a vector up.
    pub(crate) fn take(&mut self, vector: &Vector<'_>, bounds: (i64, i64)) {
        match (&vector.values, vector.known.as_deref()) {
            (Values::Int(v), None) => self.extend(v.iter().copied(), bounds),
            (Values::Float(v), None) => self.extend(v.iter().map(|v| ordered_bits(*v)), bounds),
            (Values::Int(v), Some(known)) => {
                self.extend(v.iter().zip(known).filter(|v| *v.1).map(|v| *v.0), bounds);
            }
            (Values::Float(v), Some(known)) => {
                let some = v.iter().zip(known).filter(|v| *v.1);
                self.extend(some.map(|v| ordered_bits(*v.0)), bounds);
            }
        }
    }

    /// Bytes of the values that are kept.
    pub(crate) const fn bytes(&self) -> usize {
        self.between.len() * size_of::<i64>()
    }

    pub(crate) fn merge(&mut self, more: Self) {
        self.count += more.count;
        self.below += more.below;
        self.between.extend(more.between);
    }
}

/// The bits of a float as an integer, in the total order of floats.
#[must_use]
pub const fn ordered_bits(value: f64) -> i64 {
    turned(value.to_bits().cast_signed())
}

/// The float of such bits.
#[must_use]
pub const fn float_of(bits: i64) -> f64 {
    f64::from_bits(turned(bits).cast_unsigned())
}

/// Turns all bits but the sign of negative numbers around; twice gives them back.
const fn turned(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_floats_have_their_order() {
        let all =
            [f64::NEG_INFINITY, -2.5, -f64::MIN_POSITIVE, -0.0, 0.0, 1e-300, 7.0, f64::INFINITY];
        for pair in all.windows(2) {
            assert!(ordered_bits(pair[0]) < ordered_bits(pair[1]), "{pair:?}");
        }
        assert!(all.iter().all(|v| float_of(ordered_bits(*v)).to_bits() == v.to_bits()));
    }
}
