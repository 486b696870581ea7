//! Inks of the panels: the colours of their texts and plates, and the swatch of a row.

/// Side of a swatch in pixels of the page.
pub(super) const SWATCH: f32 = 10.0;

/// The colours of panels.
pub(super) struct Inks {
    pub(super) text: [f32; 3],
    pub(super) quiet: [f32; 3],
    pub(super) plate: [f32; 3],
}
