//! The GPU as the engine uses it: its memory is a cache of graphs, and what runs on it is measured.
//! Everything here works without the loop, so that workers never wait for it.

mod cache;
pub(crate) mod chain_work;
pub(crate) mod cost;
mod free_list;
pub(crate) mod gpu_device;
pub(crate) mod steps;
pub(crate) mod table_work;
pub(crate) mod tally_work;

pub(crate) use gpu_device::{ColumnKey, MayBeShort, RelationKey};
pub use gpu_device::{GpuChoice, GpuReport, OnDeviceLost};
