//! Filled outlines, and the paint that fills them.

use crate::outlines::path::Path;

/// A colour and how much it covers, channels 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Paint {
    pub(crate) color: [f32; 3],
    pub(crate) opacity: f32,
}

/// A filled outline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) path: Path,
    pub(crate) paint: Paint,
    /// The disc that it is cut to, by middle and radius.
    pub(crate) disc: Option<([f32; 2], f32)>,
}
