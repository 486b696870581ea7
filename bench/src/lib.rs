//! Benchmark graphs and timed tasks.

pub mod clock;
pub mod generate;
pub mod task;
