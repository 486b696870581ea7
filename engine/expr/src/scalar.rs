//! The values of queries that have no parts.
//!
//! Column filters, GFQL and Cypher all compute with [`Scalar`]. Each language has a value of its own around it, which adds
//! what has parts (lists, maps, nodes, edges), and where the languages differ about scalars, the difference has a name
//! here: see [`Mixed`].

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use graphlume_types::number::{nearest_f64, nearest_f64_of_u64, saturating_i64, saturating_u64};

use crate::temporal::Temporal;

/// A value without parts. `==` tells whether two are represented alike, so 1 is not 1.0; the relations of queries are
/// [`Scalar::compare`], [`Scalar::equal`] and [`Scalar::order`].
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scalar {
    /// Missing or unknown.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number above the largest [`Scalar::Int`]; [`Scalar::uint`] keeps to that.
    UInt(u64),
    /// A number.
    Float(f64),
    /// Text.
    Text(Arc<str>),
    /// A point in time.
    Temporal(Temporal),
}

// Rows of both languages are made of these, and what a query may take is counted by their size.
const _: () = assert!(size_of::<Scalar>() == 24);

/// How an integer is compared with a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixed {
    /// Exactly, as openCypher asks for: 2^53 + 1 is more than 2.0^53.
    Exact,
    /// As two floats, as pandas does and so GFQL: 2^53 + 1 is 2.0^53.
    Rounded,
}

impl Scalar {
    /// Text.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// A whole number without a sign.
    #[must_use]
    #[inline]
    pub const fn uint(v: u64) -> Self {
        match 0_i64.checked_add_unsigned(v) {
            Some(v) => Self::Int(v),
            None => Self::UInt(v),
        }
    }

    /// A whole number; `None` for what neither an `i64` nor a `u64` holds.
    #[must_use]
    pub fn of_whole(v: i128) -> Option<Self> {
        i64::try_from(v).map(Self::Int).or_else(|_| u64::try_from(v).map(Self::UInt)).ok()
    }

    /// A whole number, exactly; `None` for everything else, floats too.
    #[must_use]
    #[inline]
    pub const fn as_whole(&self) -> Option<i128> {
        match self {
            Self::Int(v) => Some(*v as i128),
            Self::UInt(v) => Some(*v as i128),
            _ => None,
        }
    }

    /// A moment whose zone is not known: seconds since 1970 and nanoseconds.
    #[must_use]
    pub const fn instant(seconds: i64, nanos: u32) -> Self {
        Self::Temporal(Temporal::LocalDateTime(seconds, nanos))
    }

    /// A scalar of JSON; `None` for a list and an object.
    #[must_use]
    pub fn from_json(json: &serde_json::Value) -> Option<Self> {
        use serde_json::Value as J;
        Some(match json {
            J::Null => Self::Null,
            J::Bool(v) => Self::Bool(*v),
            J::Number(n) => match (n.as_i64(), n.as_u64()) {
                (Some(v), _) => Self::Int(v),
                (None, Some(v)) => Self::uint(v),
                (None, None) => Self::Float(n.as_f64()?),
            },
            J::String(v) => Self::text(v.as_str()),
            J::Array(_) | J::Object(_) => return None,
        })
    }

    /// Whether this is null.
    #[must_use]
    #[inline]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether this is a point in time.
    #[must_use]
    pub const fn is_temporal(&self) -> bool {
        matches!(self, Self::Temporal(_))
    }

    /// Whether this is an integer or a float.
    #[must_use]
    #[inline]
    pub const fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::UInt(_) | Self::Float(_))
    }

    /// Whether this counts as a number where truth values are 0 and 1, as in the column filters, which follow Python.
    #[must_use]
    pub const fn is_number_or_bool(&self) -> bool {
        self.is_number() || matches!(self, Self::Bool(_))
    }

    /// A number as a float, the nearest where none is equal.
    #[must_use]
    #[inline]
    pub const fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(v) => Some(nearest_f64(*v)),
            Self::UInt(v) => Some(nearest_f64_of_u64(*v)),
            Self::Float(v) => Some(*v),
            _ => None,
        }
    }

    /// What kind of value this is, for people.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a truth value",
            Self::Int(_) => "an integer",
            Self::UInt(_) => "an unsigned integer",
            Self::Float(_) => "a float",
            Self::Text(_) => "a text",
            Self::Temporal(t) => t.kind(),
        }
    }

    /// Position of the kind in the total order of openCypher, which GFQL shares. 5 and 6 stay free: Cypher's durations
    /// stand between times and texts.
    #[must_use]
    #[inline]
    pub const fn rank(&self) -> u8 {
        match self {
            Self::Temporal(t) => t.rank(),
            Self::Text(_) => 7,
            Self::Bool(_) => 8,
            Self::Int(_) | Self::UInt(_) | Self::Float(_) => 9,
            Self::Null => 10,
        }
    }

    /// The order of `<`: `None` across kinds, with null and with NaN.
    #[must_use]
    #[inline]
    pub fn compare(&self, other: &Self, mixed: Mixed) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Temporal(a), Self::Temporal(b)) => a.compare(b),
            _ => self.compare_numbers(other, mixed),
        }
    }

    /// The order of two numbers; `None` for what is none, and with NaN.
    #[inline]
    fn compare_numbers(&self, other: &Self, mixed: Mixed) -> Option<Ordering> {
        match (self, other, mixed) {
            (Self::Int(a), Self::Float(b), Mixed::Exact) => int_float(*a, *b),
            (Self::Float(a), Self::Int(b), Mixed::Exact) => {
                int_float(*b, *a).map(Ordering::reverse)
            }
            (Self::UInt(a), Self::Float(b), Mixed::Exact) => uint_float(*a, *b),
            (Self::Float(a), Self::UInt(b), Mixed::Exact) => {
                uint_float(*b, *a).map(Ordering::reverse)
            }
            (Self::Int(_) | Self::UInt(_), Self::Int(_) | Self::UInt(_), _) => {
                Some(self.as_whole()?.cmp(&other.as_whole()?))
            }
            _ => self.as_f64()?.partial_cmp(&other.as_f64()?),
        }
    }

    /// Whether two values are equal; `None` when that is unknown, because one is null. Values of two kinds are not.
    #[must_use]
    #[inline]
    pub fn equal(&self, other: &Self, mixed: Mixed) -> Option<bool> {
        Some(match (self, other) {
            (Self::Null, _) | (_, Self::Null) => return None,
            // Texts of different lengths need no look.
            (Self::Text(a), Self::Text(b)) => a == b,
            _ => self.compare(other, mixed) == Some(Ordering::Equal),
        })
    }

    /// The total order of Cypher's ORDER BY: kinds by their rank, and NaN above all other numbers.
    #[must_use]
    #[inline]
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Temporal(a), Self::Temporal(b)) => a.order(b),
            _ if self.is_number() && other.is_number() => {
                self.compare_numbers(other, Mixed::Exact).unwrap_or_else(|| {
                    let nan = |v: &Self| matches!(v, Self::Float(f) if f.is_nan());
                    nan(self).cmp(&nan(other))
                })
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// Hashes this so that what [`Scalar::order`] calls equal has equal hashes, within a kind.
    #[inline]
    pub fn hash_into<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Null => {}
            Self::Bool(v) => v.hash(state),
            Self::Int(v) => v.hash(state),
            Self::UInt(v) => v.hash(state),
            Self::Float(v) => {
                let (whole, unsigned) = (saturating_i64(*v), saturating_u64(*v));
                if int_float(whole, *v) == Some(Ordering::Equal) {
                    whole.hash(state);
                } else if uint_float(unsigned, *v) == Some(Ordering::Equal) {
                    unsigned.hash(state);
                } else if v.is_nan() {
                    state.write_u8(1);
                } else {
                    v.to_bits().hash(state);
                }
            }
            Self::Text(v) => v.hash(state),
            Self::Temporal(t) => t.hash_into(state),
        }
    }
}

/// The order of an integer and a float, exactly; NaN has none.
fn int_float(a: i64, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    // Both bounds are exact; 2^63 is one above the largest integer.
    if b >= 9_223_372_036_854_775_808.0 {
        return Some(Ordering::Less);
    }
    if b < -9_223_372_036_854_775_808.0 {
        return Some(Ordering::Greater);
    }
    let whole = b.trunc();
    Some(
        a.cmp(&saturating_i64(whole))
            .then(0.0_f64.partial_cmp(&(b - whole)).unwrap_or(Ordering::Equal)),
    )
}

/// The order of an unsigned integer and a float, exactly; NaN has none.
fn uint_float(a: u64, b: f64) -> Option<Ordering> {
    // 2^64 is one above the largest integer.
    if b >= 18_446_744_073_709_551_616.0 {
        return Some(Ordering::Less);
    }
    if b < 0.0 {
        return Some(Ordering::Greater);
    }
    let whole = b.trunc();
    let rest = 0.0_f64.partial_cmp(&(b - whole))?;
    Some(a.cmp(&saturating_u64(whole)).then(rest))
}

impl From<bool> for Scalar {
    fn from(v: bool) -> Self {
        Self::Bool(v)
    }
}

impl From<Option<bool>> for Scalar {
    fn from(v: Option<bool>) -> Self {
        v.map_or(Self::Null, Self::Bool)
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "numbers of tests are small"
    )]
    use super::*;

    const FAR: i64 = 1 << 53;

    #[test]
    fn the_languages_differ_in_large_integers_beside_floats_alone() {
        let (a, b) = (Scalar::Int(FAR + 1), Scalar::Float(FAR as f64));
        assert_eq!(a.compare(&b, Mixed::Exact), Some(Ordering::Greater));
        assert_eq!(b.compare(&a, Mixed::Exact), Some(Ordering::Less));
        assert_eq!(a.compare(&b, Mixed::Rounded), Some(Ordering::Equal));
        assert_eq!(a.equal(&b, Mixed::Exact), Some(false));
        assert_eq!(a.equal(&b, Mixed::Rounded), Some(true));
    }

    #[test]
    fn whole_numbers_are_exact_to_the_largest_of_64_bits() {
        let far = |more: u64| Scalar::uint((1 << 63) + more);
        let hash = |v: &Scalar| {
            let mut state = std::hash::DefaultHasher::new();
            v.hash_into(&mut state);
            state.finish()
        };
        assert_eq!(Scalar::uint(7), Scalar::Int(7));
        assert_eq!(Scalar::uint(i64::MAX as u64), Scalar::Int(i64::MAX));
        for mixed in [Mixed::Exact, Mixed::Rounded] {
            assert_eq!(far(5).compare(&far(6), mixed), Some(Ordering::Less));
            assert_eq!(far(5).equal(&far(5), mixed), Some(true));
            assert_eq!(Scalar::Int(i64::MAX).compare(&far(0), mixed), Some(Ordering::Less));
            assert_eq!(far(0).compare(&Scalar::Int(-1), mixed), Some(Ordering::Greater));
        }
        let float = Scalar::Float(9_223_372_036_854_775_808.0);
        assert_eq!(far(0).equal(&float, Mixed::Exact), Some(true));
        assert_eq!(far(1).compare(&float, Mixed::Exact), Some(Ordering::Greater));
        assert_eq!(float.compare(&far(1), Mixed::Exact), Some(Ordering::Less));
        assert_eq!(far(1).equal(&float, Mixed::Rounded), Some(true));
        assert_eq!(hash(&far(0)), hash(&float));
        let most = Scalar::UInt(u64::MAX);
        assert_eq!(most.order(&Scalar::Float(1.9e19)), Ordering::Less);
        assert_eq!(most.order(&Scalar::Float(-0.5)), Ordering::Greater);
        assert_eq!(most.order(&Scalar::Float(f64::NAN)), Ordering::Less);
        assert_eq!(Scalar::of_whole(i128::from(u64::MAX)), Some(most));
        assert_eq!(Scalar::of_whole(i128::from(u64::MAX) + 1), None);
        let json = serde_json::json!([9_223_372_036_854_775_813_u64, -1, 0.5]);
        let read: Vec<_> = json.as_array().into_iter().flatten().map(Scalar::from_json).collect();
        assert_eq!(read, [Some(far(5)), Some(Scalar::Int(-1)), Some(Scalar::Float(0.5))]);
    }

    #[test]
    fn kinds_are_never_equal_and_have_no_order_but_that_of_sorting() {
        let kinds = [
            Scalar::instant(0, 0),
            Scalar::Temporal(Temporal::Date(0)),
            Scalar::text("0"),
            Scalar::Bool(false),
            Scalar::Int(0),
            Scalar::Null,
        ];
        for (i, a) in kinds.iter().enumerate() {
            for (j, b) in kinds.iter().enumerate() {
                assert_eq!(a.order(b), i.cmp(&j), "{a:?} and {b:?}");
                for mixed in [Mixed::Exact, Mixed::Rounded] {
                    let same = i == j && !a.is_null();
                    assert_eq!(a.compare(b, mixed).is_some(), same, "{a:?} and {b:?}");
                    let known = !(a.is_null() || b.is_null());
                    assert_eq!(a.equal(b, mixed), known.then_some(same), "{a:?} and {b:?}");
                }
            }
        }
    }

    #[test]
    fn nan_has_no_order_and_sorts_above_all_numbers() {
        let nan = Scalar::Float(f64::NAN);
        for other in [Scalar::Int(i64::MAX), Scalar::Float(f64::INFINITY), nan.clone()] {
            for mixed in [Mixed::Exact, Mixed::Rounded] {
                assert_eq!(nan.compare(&other, mixed), None);
                assert_eq!(nan.equal(&other, mixed), Some(false));
            }
        }
        assert_eq!(nan.order(&Scalar::Float(f64::INFINITY)), Ordering::Greater);
        assert_eq!(Scalar::Int(i64::MAX).order(&nan), Ordering::Less);
        assert_eq!(nan.order(&nan), Ordering::Equal);
    }

    #[test]
    fn what_sorts_as_equal_hashes_alike() {
        let hash = |v: &Scalar| {
            let mut state = std::hash::DefaultHasher::new();
            v.hash_into(&mut state);
            state.finish()
        };
        for (a, b) in [
            (Scalar::Int(3), Scalar::Float(3.0)),
            (Scalar::Float(0.0), Scalar::Float(-0.0)),
            (Scalar::Float(f64::NAN), Scalar::Float(-f64::NAN)),
        ] {
            assert_eq!(a.order(&b), Ordering::Equal);
            assert_eq!(hash(&a), hash(&b), "{a:?} and {b:?}");
        }
    }
}
