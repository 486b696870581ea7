//! The types that were observed in a column.

use crate::demand::Kind;

/// What was met in a column. The sets of all chunks together decide the [`Kind`], so the outcome does
/// not depend on where chunks begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen(pub u16);

impl Seen {
    pub const NULL: u16 = 1;
    pub const INT: u16 = 2;
    pub const NEGATIVE: u16 = 4;
    /// A whole number that needs the 64th bit.
    pub const UNSIGNED: u16 = 8;
    /// A whole number beyond 64 bits.
    pub const BIG: u16 = 16;
    pub const FLOAT: u16 = 32;
    pub const BOOL: u16 = 64;
    pub const TEXT: u16 = 128;
    /// A number that is no word for a boolean.
    pub const NUMBER: u16 = 256;

    pub fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }

    /// Whether nothing but missing values was met.
    pub fn is_void(self) -> bool {
        self.0 & !Self::NULL == 0
    }

    /// Whether both numbers and booleans were met.
    pub fn is_mixture(self) -> bool {
        self.has(Self::BOOL) && self.has(Self::NUMBER)
    }

    /// The narrowest type that holds everything met without loss; whole numbers beyond 64 bits stay
    /// text unless fractions show that the column holds quantities and not names. `floats`: numbers
    /// are never whole.
    pub fn kind(self, floats: bool) -> Kind {
        let whole = Self::INT | Self::NEGATIVE | Self::UNSIGNED | Self::BIG;
        if self.has(Self::TEXT) {
            Kind::Text
        } else if self.has(Self::BOOL) {
            if self.has(Self::NUMBER) { Kind::Text } else { Kind::Bool }
        } else if self.has(Self::FLOAT) || (floats && self.has(whole)) {
            Kind::Float
        } else if self.has(Self::BIG) || (self.has(Self::UNSIGNED) && self.has(Self::NEGATIVE)) {
            Kind::Text
        } else if self.has(Self::UNSIGNED) {
            Kind::UInt
        } else if self.has(Self::INT) {
            Kind::Int
        } else {
            Kind::Float
        }
    }
}
