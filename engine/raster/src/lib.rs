//! Pictures of a graph without a browser: what the page draws of positions, colours and sizes, by the same formulae.
//!
//! The page adds the ink of all edges up and maps the sum to a colour whose hue is that of the sum, then draws the nodes
//! over it (`shell/web/src/gl/shaders.ts`). [`png()`] does the same on the processor, in bands of rows on all threads of
//! the current pool, so that the memory does not grow with the height of the picture.

mod afar;
mod band;
mod canvas;
mod drawing;
mod edges;
mod error;
mod fit;
mod formats;
mod icons;
mod limits;
mod marks;
mod names;
mod occupied;
mod outlines;
mod panels;
mod settings;
mod sheet;
mod tone;
mod underlay;
mod view;

pub use afar::MANY;
pub use drawing::{
    AxisKind, AxisPlace, AxisRow, Collapsed, Drawing, EdgeNames, MapPlace, Names, Underlay,
};
pub use error::RasterError;
pub use formats::{Format, pdf, pixels, png, svg};
pub use limits::{ELEMENTS_MAX, PIXELS_MAX, SIDE_MAX, SIDE_MIN};
pub use settings::{Background, Key, Labels, Legend, Look, Row, Settings, Side, Theme, Window};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_afar;
#[cfg(test)]
mod tests_icons;
