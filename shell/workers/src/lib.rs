//! Parsing in processes of their own: a pool of confined workers in the server, and what such a worker does.
//!
//! [`Parsers`] is the server's half: it hands each job with its open files to a worker and replaces workers that end.
//! [`serve`] is the worker's half: a process that has given up everything but its jobs. Between them go the messages of
//! `protocol` over a `channel`. A parser that crashes, hangs or eats memory takes its worker with it and nothing else.

mod channel;
mod child;
mod parent;
mod protocol;

pub use child::{Enclosed, WorkerLimits, confine, enclose, serve};
pub use parent::{JobFiles, Parsers, ParsersHealth, Watch, WorkerConfig};
