//! The GPU as the engine uses it: a card whose memory is a cache of graphs, and a watch over what runs
//! on it. Everything here works without the loop, so that workers never wait for it.

mod cache;
pub(crate) mod card;
pub(crate) mod watch;

pub use card::{GpuChoice, GpuReport, OnDeviceLost};
