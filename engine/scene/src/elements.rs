//! Elements of a graph: its nodes or its edges, in encodings and on the wire.

/// Which elements a colour or size frame is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Axis {
    /// Nodes, in node index order.
    Node = 0,
    /// Edges, in drawn order.
    Edge = 1,
}

/// Nodes or edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Node,
    Edge,
}

impl Side {
    /// The word of the complex encodings' keys.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Node => "point",
            Self::Edge => "edge",
        }
    }

    /// The elements on the wire.
    pub(crate) const fn axis(self) -> Axis {
        match self {
            Self::Node => Axis::Node,
            Self::Edge => Axis::Edge,
        }
    }

    /// The word of simple bindings and of messages.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Edge => "edge",
        }
    }
}
