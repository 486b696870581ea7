//! The drawing of a graph: places, colours and sizes of its nodes and edges, their names, and what lies under them.

mod collapsed;
mod names;
mod underlay;

use graphlume_scene::{Bits, IconLayer};

use crate::error::RasterError;
use crate::settings::Theme;

pub use collapsed::Collapsed;
pub use names::{EdgeNames, Names};
pub use underlay::{AxisKind, AxisPlace, AxisRow, MapPlace, Underlay};

/// What is drawn. Edges are in drawn order, so that any first part of them is a fair sample.
#[derive(Debug, Clone, Copy)]
pub struct Drawing<'a> {
    /// Where the nodes are; one whose coordinates are not finite is not drawn.
    pub positions: &'a [[f32; 2]],
    /// Colour and opacity of every node.
    pub node_rgba: &'a [[u8; 4]],
    /// The nodes whose colour was chosen, so that it is the same in every theme; without, those with built-in hues follow the
    /// theme.
    pub node_chosen: Option<&'a Bits>,
    /// Diameter of every node on the wire, in quarter pixels.
    pub node_size: &'a [u8],
    /// The nodes that each edge joins, from and to.
    pub ends: &'a [[u32; 2]],
    /// Colour and opacity of every edge; without, an edge has the colours of its ends.
    pub edge_rgba: Option<&'a [[u8; 4]]>,
    /// Whether an opacity of 0 in `edge_rgba` stands for the edge's own look.
    pub edge_rgba_some: bool,
    /// Width of every edge in sixteenths of a pixel; without, all are one pixel wide.
    pub edge_width: Option<&'a [u8]>,
    /// The nodes, by index, and the edges, in drawn order, that filters leave visible; without, all are.
    pub visible: Option<[&'a Bits; 2]>,
    /// Whether the positions came with the data, so that all of them are shown.
    pub is_given: bool,
    /// Whether the dataset binds the sizes of nodes: these keep their proportions at every zoom.
    pub sizes_bound: bool,
    /// What nodes are called; without, nothing is named.
    pub names: Option<&'a dyn Names>,
    /// What edges are called; without, nothing is written along them.
    pub edge_names: Option<&'a dyn EdgeNames>,
    /// What lies under the edges.
    pub underlay: Option<&'a Underlay>,
    /// Icons and badges of nodes, by index, and of edges, in drawn order.
    pub icons: &'a [IconLayer],
    /// What is collapsed; [`Collapsed::applied`] sets it with all that follows from it.
    pub collapsed: Option<&'a Collapsed>,
    /// The nodes that are selected, by index: what is not keeps little of its strength, and edges between two of them are
    /// drawn once more over it; without, nothing is.
    pub selected: Option<&'a Bits>,
    /// The group of every node on each level, coarse levels first, as the wire has them: what is shown of more than
    /// [`MANY`](crate::MANY) nodes from afar, and what edges are bundled along.
    pub groups: &'a [Vec<u16>],
}

fn has(bits: &Bits, index: u32) -> bool {
    bits.words().get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
}

/// What is left of the strength of what is not selected, where something is.
pub(crate) const DIMMED: f32 = 0.22;

impl Drawing<'_> {
    /// What is left of all nodes and edges together; the selected ones are drawn once more over them.
    pub(crate) fn dimmed(&self) -> f32 {
        if self.selected.is_some() { DIMMED } else { 1.0 }
    }

    /// What is left of what belongs to a node, because it is not selected and others are.
    pub(crate) fn left_of_node(&self, node: u32) -> f32 {
        if self.selected.is_none_or(|selected| has(selected, node)) { 1.0 } else { DIMMED }
    }

    /// What is left of what belongs to an edge: it is selected with both of its ends.
    pub(crate) fn left_of_edge(&self, edge: u32) -> f32 {
        let [s, d] = self.ends[edge as usize].map(|v| self.left_of_node(v));
        s.min(d)
    }

    pub(crate) fn shows_node(&self, node: u32) -> bool {
        self.visible.is_none_or(|[nodes, _]| has(nodes, node))
    }

    pub(crate) fn shows_edge(&self, edge: u32) -> bool {
        self.visible.is_none_or(|[_, edges]| has(edges, edge))
    }

    /// The colour and opacity of a node as a theme shows them.
    pub(crate) fn node_color(&self, node: usize, theme: Theme) -> [u8; 4] {
        let own = self.node_rgba[node];
        let is_chosen = self.node_chosen.is_some_and(|chosen| chosen.contains(node as u32));
        if is_chosen { own } else { theme.shown(own) }
    }

    /// The colour of its own that an edge has at one of its ends.
    pub(crate) fn own_color(&self, edge: u32, node: u32) -> Option<[u8; 4]> {
        let (colors, edges) = (self.edge_rgba?, self.ends.len());
        let is_destination = colors.len() > edges && self.ends[edge as usize][1] == node;
        let own = colors[edge as usize + if is_destination { edges } else { 0 }];
        (!self.edge_rgba_some || own[3] > 0).then_some(own)
    }

    /// Refuses parts that do not belong together.
    pub(crate) fn check(&self) -> Result<(), RasterError> {
        let (n, m) = (self.positions.len(), self.ends.len());
        let lengths = [
            ("node_rgba", self.node_rgba.len(), n),
            ("node_size", self.node_size.len(), n),
            ("edge_rgba", self.edge_rgba.filter(|c| c.len() != 2 * m).map_or(m, <[_]>::len), m),
            ("edge_width", self.edge_width.map_or(m, <[_]>::len), m),
        ];
        if let Some((what, given, expected)) = lengths.into_iter().find(|(_, a, b)| a != b) {
            return Err(RasterError::Length { what, given, expected });
        }
        if let Some(level) = self.groups.iter().find(|level| level.len() != n) {
            return Err(RasterError::Length { what: "groups", given: level.len(), expected: n });
        }
        match self.ends.iter().flatten().find(|v| **v as usize >= n) {
            Some(node) => Err(RasterError::Node { node: *node, nodes: n }),
            None => Ok(()),
        }
    }
}
