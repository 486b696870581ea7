//! Type of an expression as known before it runs: a set of kinds.

use graphlume_expr::Scalar;

use crate::value::Value;

/// A set of kinds, and that of the elements when it is a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ty {
    bits: u16,
    element: u16,
}

const ALL: u16 = 0x0fff;

impl Ty {
    pub(crate) const NULL: Self = Self::of(1);
    pub(crate) const BOOL: Self = Self::of(2);
    pub(crate) const INT: Self = Self::of(4);
    pub(crate) const FLOAT: Self = Self::of(8);
    pub(crate) const TEXT: Self = Self::of(16);
    pub(crate) const LIST: Self = Self::of(32);
    pub(crate) const MAP: Self = Self::of(64);
    pub(crate) const NODE: Self = Self::of(128);
    pub(crate) const EDGE: Self = Self::of(256);
    pub(crate) const PATH: Self = Self::of(512);
    pub(crate) const TEMPORAL: Self = Self::of(1024);
    pub(crate) const DURATION: Self = Self::of(2048);
    pub(crate) const ANY: Self = Self::of(ALL);
    pub(crate) const NUMBER: Self = Self::of(4 | 8);

    const fn of(bits: u16) -> Self {
        Self { bits, element: ALL }
    }

    /// Either of two.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self { bits: self.bits | other.bits, element: self.element | other.element }
    }

    /// A list of these.
    pub(crate) const fn list_of(self) -> Self {
        Self { bits: Self::LIST.bits, element: self.bits }
    }

    /// The type of an element; anything but a list is unwound as itself.
    pub(crate) const fn element(self) -> Self {
        if self.bits == Self::LIST.bits && self.element != 0 {
            Self::of(self.element)
        } else {
            Self::ANY
        }
    }

    /// Whether a value of this type can be of that one; null can be anything.
    pub(crate) const fn may_be(self, other: Self) -> bool {
        self.bits & (other.bits | 1) != 0
    }

    /// Whether it surely is of that type.
    pub(crate) const fn is(self, other: Self) -> bool {
        self.bits & !other.bits == 0
    }

    pub(crate) const fn of_value(value: &Value) -> Self {
        match value {
            Value::Scalar(Scalar::Null) => Self::NULL,
            Value::Scalar(Scalar::Bool(_)) => Self::BOOL,
            Value::Scalar(Scalar::Int(_) | Scalar::UInt(_)) => Self::INT,
            Value::Scalar(Scalar::Float(_)) => Self::FLOAT,
            Value::Scalar(Scalar::Text(_)) => Self::TEXT,
            Value::List(_) => Self::LIST,
            Value::Map(_) => Self::MAP,
            Value::Node(_) => Self::NODE,
            Value::Edge(_) => Self::EDGE,
            Value::Path(_) => Self::PATH,
            Value::Scalar(Scalar::Temporal(_)) => Self::TEMPORAL,
            Value::Duration(_) => Self::DURATION,
        }
    }

    /// Names of the kinds, for people.
    pub(crate) fn describe(self) -> String {
        const NAMES: [&str; 12] = [
            "null",
            "boolean",
            "integer",
            "float",
            "text",
            "list",
            "map",
            "node",
            "relationship",
            "path",
            "time",
            "duration",
        ];
        if self.bits == ALL {
            return "any value".to_owned();
        }
        let held = NAMES.iter().enumerate().filter(|(i, _)| self.bits & (1 << i) != 0);
        held.map(|(_, n)| *n).collect::<Vec<_>>().join(" or ")
    }
}
