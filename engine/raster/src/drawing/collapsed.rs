//! Collapsed nodes of a drawing, each entry shown as one disc.

use graphlume_scene::Bits;

/// What is collapsed in a drawing.
#[derive(Debug)]
pub struct Collapsed {
    /// The entry of every node; [`NO_GROUP`] for one that is not collapsed.
    ///
    /// [`NO_GROUP`]: graphlume_scene::wire::NO_GROUP
    pub(crate) of: Vec<u16>,
    pub(crate) names: Vec<String>,
    /// The middle of each entry; none where no member has a place.
    pub(crate) middles: Vec<Option<[f64; 2]>>,
    pub(crate) positions: Vec<[f32; 2]>,
    pub(crate) visible: [Bits; 2],
    /// The nodes that filters leave; none where these hide nothing.
    pub(crate) left: Option<Bits>,
}

impl Collapsed {
    /// Whether filters hide nodes, and leave this one.
    pub(crate) fn leaves(&self, node: u32) -> bool {
        self.left.as_ref().is_none_or(|left| left.contains(node))
    }

    /// Whether filters hide nodes.
    pub(crate) const fn is_filtered(&self) -> bool {
        self.left.is_some()
    }
}
