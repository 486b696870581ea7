//! Scenes: encodings resolved to colours, sizes, labels and a legend, and the binary frames that
//! carry them to the page. Pure functions of their inputs; a bad encoding is a warning, never a failure.

mod axes;
pub mod backdrop;
mod bind;
mod card;
mod centre;
mod collection;
mod colormaps;
mod crowding;
mod css;
mod depth;
pub mod drawn;
mod elements;
mod encodings;
mod ends;
mod error;
mod far;
mod gradient;
mod hues;
mod icons;
mod kepler;
mod labels;
mod layer;
mod legend;
mod map;
mod mapping;
mod measure;
mod notices;
mod order;
mod paint;
mod painted;
mod palette;
mod palettes;
mod scene;
mod search;
mod sizes;
mod text;
mod undrawn;
pub mod wire;

pub use axes::{AXIS_ROWS_MAX, check_axis_rows};
pub use card::{edge_card, edge_names, node_card, node_names};
pub use collection::{Bits, Members, Paint, Painted, paint};
pub use depth::{DEPTH_COLUMN, has_depth};
pub use encodings::{Encodings, NodeColumn};
pub use ends::edge_ends;
pub use error::SceneError;
pub use layer::{Anchor, IconLayer};
pub use map::GEOGRAPHIC_COLUMNS;
pub use measure::POSITION_COLUMNS;
pub use order::EdgeOrder;
pub use scene::{Scene, build};
pub use search::{SearchHit, search};
pub use sizes::degree_sizes;

#[cfg(test)]
mod tests;
