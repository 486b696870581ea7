//! The legend of a picture: what its colours, sizes and icons mean.

use graphlume_scene::Anchor;
use serde_json::Value;

/// What the colours mean.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Legend {
    /// Of the nodes, then of the edges.
    pub keys: Vec<Key>,
    /// What sizes, widths, opacities and icons go by, a line each.
    pub scales: Vec<String>,
}

/// What a part of the legend is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Side {
    /// The nodes.
    #[default]
    Nodes,
    /// The edges.
    Edges,
    /// Both.
    Elements,
}

/// What the colours of one side mean, or what the legend says of another column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Key {
    /// The column.
    pub title: String,
    /// What has these colours.
    pub side: Side,
    /// Its values.
    pub entries: Vec<Row>,
    /// Values beyond those.
    pub more: u64,
    /// Colours from the least to the greatest value, and these.
    pub ramp: Option<(Vec<[u8; 3]>, String, String)>,
    /// Icons and badges of the rows by their places, as layers of the picture have them ([`IconLayer::look`]).
    ///
    /// [`IconLayer::look`]: graphlume_scene::IconLayer::look
    pub signs: Vec<(Anchor, Value)>,
    /// Texts below the rows.
    pub lines: Vec<String>,
}

/// A value in a legend.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// What the value is called.
    pub name: String,
    /// Its colour; none where the row shows none.
    pub color: Option<[u8; 3]>,
    /// All of its colours, where it has more than one: side by side in place of the one.
    pub colors: Vec<[u8; 3]>,
    /// Whether the upload or a user gave the colour (a mapping, a colour column, a palette, a collection), so that it is drawn
    /// as it is on a light background, too; the built-in hues are drawn darker there.
    pub chosen: bool,
    /// How many elements have it, when that is known.
    pub count: Option<u64>,
    /// Opacity of what stands before the name, 0 to 1.
    pub opacity: Option<f32>,
    /// Diameter of a disc in pixels of the page.
    pub size: Option<f32>,
    /// Width of a line in pixels of the page.
    pub width: Option<f32>,
    /// For each of the key's signs the entry of its list, counted from 1; 0 for none.
    pub signs: Vec<u16>,
}

impl Row {
    /// Whether it shows a swatch and nothing else.
    pub(crate) fn is_plain(&self) -> bool {
        let is_sized = self.size.is_some() || self.width.is_some();
        !is_sized && self.opacity.is_none() && self.signs.iter().all(|s| *s == 0)
    }
}
