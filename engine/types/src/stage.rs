//! The part of a screen that pictures are made for.
//!
//! The engine sets nodes apart and puts small components beside the graph (`graphlume_algo::layout::arrange`) before it is
//! known how large the window of a viewer is, and for all viewers at once. It therefore takes a window of [`WINDOW`] pixels,
//! of which [`STAGE`] are free. In a smaller window the page draws nodes smaller, so that they lie apart there, too.

/// Sides of the window in pixels, width first.
pub const WINDOW: [f64; 2] = [1440.0, 900.0];

/// Sides in pixels of what the page's bar and margins leave of [`WINDOW`], width first: the picture fits into it. Panels in
/// corners take nothing of it where no node lies.
pub const STAGE: [f64; 2] = [1360.0, 776.0];

/// Width over height of [`STAGE`].
pub const ASPECT: f64 = STAGE[0] / STAGE[1];
