//! Outlines: paths, the letters that are made of them, and how far pixels are from both.

pub(crate) mod distance;
pub(crate) mod path;
pub(crate) mod text;
