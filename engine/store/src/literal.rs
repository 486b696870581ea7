//! Values that cells are compared with.

/// A value that cells are compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// No value; compares with nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Text(String),
    /// A moment: seconds since 1970 and nanoseconds.
    Instant(i64, u32),
    /// A calendar day: days since 1970.
    Day(i64),
    /// A time of day in nanoseconds.
    Clock(i64),
}

impl Literal {
    /// Whether this is a moment, a day or a time of day.
    #[must_use]
    pub const fn is_temporal(&self) -> bool {
        matches!(self, Self::Instant(..) | Self::Day(_) | Self::Clock(_))
    }

    /// Whether this is a number; truth values count.
    #[must_use]
    pub const fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Float(_) | Self::Bool(_))
    }
}
