//! Visualization sessions: what they show, who watches, and how their layout runs.

pub(crate) mod collections;
pub(crate) mod control;
pub(crate) mod forces;
pub(crate) mod frames;
pub(crate) mod keeping;
pub(crate) mod layout;
pub(crate) mod machine;
mod missing;
pub(crate) mod schedule;
pub(crate) mod slot;
pub(crate) mod viewer;
