//! Benchmark graphs and timed tasks.

mod cancel;
pub mod clock;
mod cpu;
mod cuda;
pub mod generate;
mod input;
mod layout;
pub mod probe;
mod query;
mod rows;
mod sql;
pub mod task;
pub mod work;
