//! Formats of a picture: pixels, a PNG, SVG or PDF file.

mod encode;
mod pdf;
mod png;
mod svg;
mod vector;

use graphlume_types::CancelToken;

use crate::drawing::Drawing;
use crate::error::RasterError;
use crate::settings::Settings;

pub use encode::png;
pub use pdf::pdf;
pub use svg::svg;

/// What kind of file a picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Pixels.
    #[default]
    Png,
    /// Shapes and texts.
    Svg,
    /// Shapes and texts, with their fonts.
    Pdf,
}

impl Format {
    /// Draws the picture as such a file.
    ///
    /// # Errors
    /// As [`png()`]; [`RasterError::Elements`] for more than [`ELEMENTS_MAX`](crate::ELEMENTS_MAX) nodes and edges, unless it
    /// has pixels.
    pub fn draw(
        self,
        drawing: &Drawing<'_>,
        settings: &Settings,
        cancel: &CancelToken,
    ) -> Result<Vec<u8>, RasterError> {
        match self {
            Self::Png => png(drawing, settings, cancel),
            Self::Svg => svg(drawing, settings, cancel),
            Self::Pdf => pdf(drawing, settings, cancel),
        }
    }
}

/// A picture as rows of pixels, each red, green, blue and opacity.
///
/// # Errors
/// As [`png()`].
pub fn pixels(
    drawing: &Drawing<'_>,
    settings: &Settings,
    cancel: &CancelToken,
) -> Result<Vec<u8>, RasterError> {
    let mut all = Vec::new();
    encode::rows(drawing, settings, cancel, |rows| {
        all.extend_from_slice(rows);
        Ok(())
    })?;
    Ok(all)
}
