//! Inks of the panels: the colours of their texts and plates, and the swatch of a row.

/// Side of a swatch in pixels of the page.
pub(crate) const SWATCH: f32 = 10.0;

/// The colours of panels.
pub(crate) struct Inks {
    pub(crate) text: [f32; 3],
    pub(crate) quiet: [f32; 3],
    pub(crate) plate: [f32; 3],
}
