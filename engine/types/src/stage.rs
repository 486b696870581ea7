//! The part of a screen that pictures are made for.
//!
//! What depends on the size of a picture in pixels before anybody looks at it (room between nodes, where small parts lie)
//! is decided for one window. The page draws a smaller window with smaller nodes, so that little changes there.

/// Sides of the window in pixels, width first.
pub const WINDOW: [f64; 2] = [1440.0, 900.0];

/// Sides in pixels of what the page's bars and margins leave of [`WINDOW`], width first: the picture fits into it.
pub const STAGE: [f64; 2] = [1280.0, 780.0];

/// Width over height of [`STAGE`].
pub const ASPECT: f64 = STAGE[0] / STAGE[1];
