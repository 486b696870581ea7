//! Pictures of a graph without a browser: what the page draws of positions, colours and sizes, by the same formulae.
//!
//! The page adds the ink of all edges up and maps the sum to a colour whose hue is that of the sum, then draws the nodes
//! over it (`shell/web/src/gl/shaders.ts`). [`png()`] does the same on the processor, in bands of rows on all threads of
//! the current pool, so that the memory does not grow with the height of the picture.

mod band;
mod curve;
mod encode;
mod error;
mod ink;
mod lines;
mod nodes;
mod png;
mod rare;
mod tone;
mod view;

use graphlume_types::CancelToken;

pub use encode::png;
pub use error::RasterError;

/// Pixels of a side at most.
pub const SIDE_MAX: u32 = 8_192;
/// Pixels of a side at least.
pub const SIDE_MIN: u32 = 16;

/// What is drawn. Edges are in drawn order, so that any first part of them is a fair sample.
#[derive(Debug, Clone, Copy)]
pub struct Drawing<'a> {
    /// Where the nodes are; one whose coordinates are not finite is not drawn.
    pub positions: &'a [[f32; 2]],
    /// Colour and opacity of every node.
    pub node_rgba: &'a [[u8; 4]],
    /// Diameter of every node on the wire, in quarter pixels.
    pub node_size: &'a [u8],
    /// The nodes that each edge joins, from and to.
    pub ends: &'a [[u32; 2]],
    /// Colour and opacity of every edge; without, an edge has the colours of its ends.
    pub edge_rgba: Option<&'a [[u8; 4]]>,
    /// Width of every edge in sixteenths of a pixel; without, all are one pixel wide.
    pub edge_width: Option<&'a [u8]>,
    /// Whether the positions came with the data, so that all of them are shown.
    pub is_given: bool,
}

/// The colours of the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Light on dark.
    #[default]
    Dark,
    /// Dark on light; built-in colours become their counterparts.
    Light,
}

/// How it is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Background and palette.
    pub theme: Theme,
    /// Whether the background is left out.
    pub transparent: bool,
    /// Whether edges may have arrow heads.
    pub arrows: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { width: 1_440, height: 900, theme: Theme::Dark, transparent: false, arrows: true }
    }
}

impl Settings {
    /// Refuses sides that are too small or too large.
    ///
    /// # Errors
    /// [`RasterError::Side`].
    pub fn check(&self) -> Result<(), RasterError> {
        for (name, value) in [("width", self.width), ("height", self.height)] {
            if !(SIDE_MIN..=SIDE_MAX).contains(&value) {
                return Err(RasterError::Side { name, value });
            }
        }
        Ok(())
    }
}

impl Drawing<'_> {
    /// Refuses parts that do not belong together.
    fn check(&self) -> Result<(), RasterError> {
        let (n, m) = (self.positions.len(), self.ends.len());
        let lengths = [
            ("node_rgba", self.node_rgba.len(), n),
            ("node_size", self.node_size.len(), n),
            ("edge_rgba", self.edge_rgba.map_or(m, <[_]>::len), m),
            ("edge_width", self.edge_width.map_or(m, <[_]>::len), m),
        ];
        if let Some((what, given, expected)) = lengths.into_iter().find(|(_, a, b)| a != b) {
            return Err(RasterError::Length { what, given, expected });
        }
        match self.ends.iter().flatten().find(|v| **v as usize >= n) {
            Some(node) => Err(RasterError::Node { node: *node, nodes: n }),
            None => Ok(()),
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

#[cfg(test)]
mod tests;
