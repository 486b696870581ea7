//! Layers of icons and badges over nodes and edges.

use serde_json::Value;

use crate::elements::Axis;

/// Where something is shown on a disc, or beside the middle of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Anchor {
    /// The icon itself.
    Icon = 0,
    /// Badges by their side of the disc; [`Anchor::Cover`] is the whole disc.
    Top = 1,
    /// See [`Anchor::Top`].
    TopRight = 2,
    /// See [`Anchor::Top`].
    Right = 3,
    /// See [`Anchor::Top`].
    BottomRight = 4,
    /// See [`Anchor::Top`].
    Bottom = 5,
    /// See [`Anchor::Top`].
    BottomLeft = 6,
    /// See [`Anchor::Top`].
    Left = 7,
    /// See [`Anchor::Top`].
    TopLeft = 8,
    /// See [`Anchor::Top`].
    Cover = 9,
}

impl Anchor {
    /// All of them with the words that clients use, the one that is drawn first in front.
    pub(crate) const ALL: [(Self, &'static str); 10] = [
        (Self::Cover, "BadgeCover"),
        (Self::Icon, "Icon"),
        (Self::Top, "BadgeTop"),
        (Self::TopRight, "BadgeTopRight"),
        (Self::Right, "BadgeRight"),
        (Self::BottomRight, "BadgeBottomRight"),
        (Self::Bottom, "BadgeBottom"),
        (Self::BottomLeft, "BadgeBottomLeft"),
        (Self::Left, "BadgeLeft"),
        (Self::TopLeft, "BadgeTopLeft"),
    ];

    /// The place of a number on the wire; `None` for a number without one.
    #[must_use]
    pub fn of_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().map(|(place, _)| place).find(|place| *place as u8 == byte)
    }
}

/// One icon or badge for every node or edge.
#[derive(Debug, Clone, PartialEq)]
pub struct IconLayer {
    /// Nodes, or edges by CSR position.
    pub axis: Axis,
    /// Where it is shown.
    pub place: Anchor,
    /// Of every element the entry of the list that it shows, counted from 1; 0 for none.
    pub shown: Vec<u16>,
    /// What all share and what is shown: `{title, shape?, blend?, border?, max?, style?, list: [{glyph | flag | text | image,
    /// color?, bg?, bg_image?}]}`. A glyph is a character of Font Awesome 4.7, a flag a code, an image an address.
    pub look: Value,
}
