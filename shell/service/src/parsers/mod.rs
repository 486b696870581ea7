//! Who turns uploaded bytes into tables: worker processes, or this process where it has none.

mod child;
mod pool;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use graphlume_ingest::{Done, Failed, ParseCx, Progress, Recipe, Source, work};
use graphlume_types::{CancelToken, UserId};

pub(crate) use pool::Pool;

/// How parse workers are kept.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// Program and arguments that start one; its standard input is the connection.
    pub command: Vec<String>,
    /// How many there are.
    pub count: usize,
    /// How long one parse may take.
    pub patience: Duration,
    /// What each may use, for messages.
    pub memory_bytes: u64,
    /// Processor time that each may use in its whole life, after which the system ends it; for messages.
    pub cpu: Duration,
    /// Processor time that one parse may use; a worker that has less than this left gets no further job.
    pub parse_cpu: Duration,
    /// Whether bytes are also parsed where the system cannot confine a worker.
    pub allow_unconfined: bool,
}

/// What the workers are doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsersHealth {
    /// Workers that take jobs or have one.
    pub ready: usize,
    /// Of these, those that have one.
    pub busy: usize,
    /// How many there should be.
    pub wanted: usize,
    /// Whether they have given up what a parse does not need.
    pub confined: bool,
    /// Why the last one ended that should not have.
    pub last_end: Option<String>,
}

/// The parsers of a service.
pub(crate) enum Parsers {
    /// In this process, on its threads: for tools and tests that trust their bytes.
    Here,
    /// In processes of their own.
    Workers(Arc<Pool>),
}

/// The files of a job.
pub(crate) struct JobFiles {
    pub input: Arc<File>,
    /// Empty; takes the tables.
    pub output: Arc<File>,
    /// Empty; for what lies between.
    pub scratch: Arc<File>,
}

/// Told how far a job is.
pub(crate) type Watch = Arc<dyn Fn(Progress) + Send + Sync>;

impl Parsers {
    pub(crate) fn new(config: Option<WorkerConfig>) -> std::io::Result<Self> {
        Ok(match config {
            None => Self::Here,
            Some(config) => Self::Workers(Pool::start(config)?),
        })
    }

    /// Runs a job of `owner`'s to its end; blocks.
    pub(crate) fn run(
        &self,
        owner: Option<UserId>,
        recipe: &Recipe,
        files: JobFiles,
        cancel: &CancelToken,
        watch: Watch,
    ) -> Result<Done, Failed> {
        match self {
            Self::Workers(pool) => pool.run(owner, recipe, &files, cancel, &watch),
            Self::Here => {
                let cx = ParseCx {
                    cancel: cancel.clone(),
                    watch: Some(watch),
                    scratch: Some(files.scratch),
                };
                work(recipe, &Source::File(files.input), &files.output, &cx)
            }
        }
    }

    /// The processes, and whether each has a job.
    pub(crate) fn ids(&self) -> Vec<(u32, bool)> {
        match self {
            Self::Here => Vec::new(),
            Self::Workers(pool) => pool.ids(),
        }
    }

    pub(crate) fn health(&self) -> Option<ParsersHealth> {
        match self {
            Self::Here => None,
            Self::Workers(pool) => Some(pool.health()),
        }
    }
}
