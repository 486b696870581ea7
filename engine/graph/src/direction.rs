//! Direction in which edges are followed.

/// Which way edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From source to destination.
    Forward,
    /// From destination to source.
    Reverse,
    /// Either way.
    Undirected,
}

impl Direction {
    /// The way back.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
            Self::Undirected => Self::Undirected,
        }
    }

    /// Whether out-edges are followed.
    #[must_use]
    pub const fn follows_out(self) -> bool {
        matches!(self, Self::Forward | Self::Undirected)
    }

    /// Whether in-edges are followed.
    #[must_use]
    pub const fn follows_in(self) -> bool {
        matches!(self, Self::Reverse | Self::Undirected)
    }
}
