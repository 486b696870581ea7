//! Benchmark graphs and timed tasks.

mod arrange;
mod cancel;
pub mod clock;
mod cpu;
mod crossfilter;
mod cuda;
mod input;
mod layout;
pub mod probe;
mod query;
mod rows;
mod sql;
pub mod task;
pub mod tasks;
pub mod work;

pub use graphlume_generate as generate;
