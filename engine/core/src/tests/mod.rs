//! The engine as a whole, over tables in memory and a clock that tests move.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arranging;
mod checkpoints;
mod collections;
mod facets;
mod following;
mod gpu;
mod gpu_chain_draws;
mod gpu_chains;
mod gpu_router;
mod gpu_tables;
mod gpu_tallies;
mod gpu_tck;
mod gpu_zoo;
mod jobs;
mod kit;
mod loading;
mod loop_and_queues;
mod memory;
mod placement;
mod reading;
mod sessions;
mod viewers;
