//! Settings of a picture: its size, what part of the graph it shows, and how nodes and edges look in it.

mod legend;
mod theme;

use crate::error::RasterError;
use crate::limits::{PIXELS_MAX, SIDE_MAX, SIDE_MIN};

pub use legend::{Key, Legend, Row, Side};
#[cfg(test)]
pub(crate) use theme::HUES;
pub use theme::Theme;
pub(crate) use theme::{text_color, unit};

/// What is behind the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// That of the theme.
    #[default]
    Theme,
    /// One colour: red, green and blue. Names and palette are those of the theme that goes with it.
    Color([u8; 3]),
    /// Nothing: pixels without ink are transparent.
    Clear,
}

/// A part of the graph that the picture has to show, in the graph's coordinates, whose y points up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Least x.
    pub left: f64,
    /// Greatest x.
    pub right: f64,
    /// Greatest y.
    pub top: f64,
    /// Least y.
    pub bottom: f64,
}

/// How nodes and edges look, as the parameters of the page's address of the same names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Factor of the sizes of nodes, 0.1 to 10.
    pub point_size: f64,
    /// Opacity of nodes, 0 to 1.
    pub point_opacity: f64,
    /// Width in pixels of the ring around a node, 0 to 5; 0 for the usual one of nodes that are large enough.
    pub point_stroke: f64,
    /// Opacity of the edges together, 0 to 1.
    pub edge_opacity: f64,
    /// How far edges bend, 0 to 1.
    pub curvature: f64,
    /// Arrow heads; without, where the edges show that their direction says something.
    pub arrows: Option<bool>,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            point_size: 1.0,
            point_opacity: 1.0,
            point_stroke: 0.0,
            edge_opacity: 1.0,
            curvature: 0.0,
            arrows: None,
        }
    }
}

/// How names look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Labels {
    /// How many of the most important names are shown in any case.
    pub must: usize,
    /// Opacity, 0 to 1.
    pub opacity: f32,
    /// Colour of the letters, channels 0 to 1; without, that of the theme.
    pub color: Option<[f32; 3]>,
    /// Colour behind each name instead of a halo.
    pub plate: Option<[f32; 3]>,
    /// Whether names may have letters that the shipped font lacks: true for SVG, whose viewer brings fonts.
    pub any_script: bool,
}

impl Default for Labels {
    fn default() -> Self {
        Self { must: 5, opacity: 1.0, color: None, plate: None, any_script: false }
    }
}

/// How it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Pixels of a row of the page that shows the same, [`SIDE_MIN`] to [`SIDE_MAX`].
    pub width: u32,
    /// Its rows.
    pub height: u32,
    /// Pixels of the picture for each of these, 0.25 to 8.
    pub scale: f64,
    /// Palette, and the background where there is no other.
    pub theme: Theme,
    /// What is behind the graph.
    pub background: Background,
    /// What is shown; without, all that is visible.
    pub window: Option<Window>,
    /// How far that is zoomed in, 1 being the whole graph: nodes grow with it. Without, it follows from the window.
    pub zoom: Option<f64>,
    /// How nodes and edges look.
    pub look: Look,
    /// How names look.
    pub labels: Labels,
    /// Whether communities are shown in place of nodes that are too many to be told apart.
    pub super_graph: bool,
    /// Whether edges between communities run together.
    pub bundle: bool,
    /// What stands above the graph.
    pub title: Option<String>,
    /// What the colours mean, beside the graph.
    pub legend: Option<Legend>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            width: 1_440,
            height: 900,
            scale: 1.0,
            theme: Theme::Dark,
            background: Background::Theme,
            window: None,
            zoom: None,
            look: Look::default(),
            labels: Labels::default(),
            super_graph: true,
            bundle: false,
            title: None,
            legend: None,
        }
    }
}

/// Pixels of the picture for each of the page's.
const SCALES: std::ops::RangeInclusive<f64> = 0.25..=8.0;

impl Settings {
    /// Columns and rows of the picture.
    #[must_use]
    pub fn pixels(&self) -> [u32; 2] {
        [self.width, self.height].map(|side| (f64::from(side) * self.scale).round().max(1.0) as u32)
    }

    /// Refuses sides that are too small or too large, and more pixels than [`PIXELS_MAX`].
    ///
    /// # Errors
    /// [`RasterError::Side`], [`RasterError::Scale`], [`RasterError::Pixels`] or [`RasterError::Window`].
    pub fn check(&self) -> Result<(), RasterError> {
        for (name, value) in [("width", self.width), ("height", self.height)] {
            if !(SIDE_MIN..=SIDE_MAX).contains(&value) {
                return Err(RasterError::Side { name, value });
            }
        }
        if !SCALES.contains(&self.scale) {
            return Err(RasterError::Scale(self.scale));
        }
        let [columns, rows] = self.pixels();
        if columns.max(rows) > SIDE_MAX || u64::from(columns) * u64::from(rows) > PIXELS_MAX {
            return Err(RasterError::Pixels { columns, rows });
        }
        match self.window {
            Some(w) if !(w.left < w.right && w.bottom < w.top) => Err(RasterError::Window),
            _ => Ok(()),
        }
    }
}
