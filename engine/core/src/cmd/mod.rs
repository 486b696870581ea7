//! The commands, one file each: payload, answer, and what is done.

pub(crate) mod attach;
pub(crate) mod canary;
pub(crate) mod cards;
pub(crate) mod changed;
pub(crate) mod close;
pub(crate) mod collections;
pub(crate) mod control;
pub(crate) mod depth;
pub(crate) mod drain;
pub(crate) mod edges;
pub(crate) mod facets;
#[cfg(test)]
pub(crate) mod fail_point;
pub(crate) mod follow;
pub(crate) mod forget;
pub(crate) mod groups;
pub(crate) mod info;
pub(crate) mod jobs;
pub(crate) mod open;
pub(crate) mod origin;
pub(crate) mod picture;
pub(crate) mod positions;
pub(crate) mod preload;
pub(crate) mod query;
mod read;
pub(crate) mod search;
pub(crate) mod sizes;
pub(crate) mod suspend;
