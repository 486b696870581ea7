//! Edges of a drawing: which are drawn, the lines and curves that they become, and how strong their ink is.

pub(crate) mod bundle;
pub(crate) mod curve;
pub(crate) mod direction;
pub(crate) mod ink;
pub(crate) mod lines;
pub(crate) mod near;
pub(crate) mod rare;
