//! Parsers that turn uploaded bytes into tables: worker processes, or this process where it has none.

mod pool;
mod process;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use graphlume_ingest::{Done, Failed, ParseCx, ParseSpec, Progress, Source, work};
use graphlume_types::{CancelToken, UserId};

use pool::Pool;

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
///
/// # Examples
///
/// ```
/// use std::io::Write;
/// use std::sync::Arc;
///
/// use graphlume_ingest::{Format, ParseSpec};
/// use graphlume_types::CancelToken;
/// use graphlume_workers::{JobFiles, Parsers};
///
/// # fn main() -> std::io::Result<()> {
/// let parsers = Parsers::new(None)?;
/// let mut input = tempfile::tempfile()?;
/// input.write_all(b"source,destination\na,b\nb,c\n")?;
/// let files = JobFiles {
///     input: Arc::new(input),
///     output: Arc::new(tempfile::tempfile()?),
///     scratch: Arc::new(tempfile::tempfile()?),
/// };
/// let (csv, cancel) = (ParseSpec::plain(Format::Csv), CancelToken::new());
/// let done = parsers.run(None, &csv, files, &cancel, Arc::new(|_| {}));
/// assert_eq!(done.map(|d| d.tables[0].summary.num_rows), Ok(2));
/// # Ok(())
/// # }
/// ```
pub struct Parsers(Where);

enum Where {
    /// In this process, on its threads: for tools and tests that trust their bytes.
    Here,
    /// In processes of their own.
    Workers(Arc<Pool>),
}

/// The files of a job.
pub struct JobFiles {
    /// The bytes.
    pub input: Arc<File>,
    /// Empty; takes the tables.
    pub output: Arc<File>,
    /// Empty; for what lies between.
    pub scratch: Arc<File>,
}

/// Told how far a job is.
pub type Watch = Arc<dyn Fn(Progress) + Send + Sync>;

impl Parsers {
    /// Starts workers as `config` says; without one this process parses by itself.
    ///
    /// # Errors
    /// The thread that keeps the workers cannot be started.
    pub fn new(config: Option<WorkerConfig>) -> std::io::Result<Self> {
        Ok(Self(match config {
            None => Where::Here,
            Some(config) => Where::Workers(Pool::start(config)?),
        }))
    }

    /// Runs a job of `owner`'s to its end; blocks.
    ///
    /// # Errors
    /// What is wrong with the bytes, or why they could not be parsed at this moment ([`Failed::is_final`] tells).
    pub fn run(
        &self,
        owner: Option<UserId>,
        spec: &ParseSpec,
        files: JobFiles,
        cancel: &CancelToken,
        watch: Watch,
    ) -> Result<Done, Failed> {
        match &self.0 {
            Where::Workers(pool) => pool.run(owner, spec, &files, cancel, &watch),
            Where::Here => {
                let cx = ParseCx {
                    cancel: cancel.clone(),
                    watch: Some(watch),
                    scratch: Some(files.scratch),
                };
                work(spec, &Source::File(files.input), &files.output, &cx)
            }
        }
    }

    /// The processes, and whether each has a job.
    #[must_use]
    pub fn ids(&self) -> Vec<(u32, bool)> {
        match &self.0 {
            Where::Here => Vec::new(),
            Where::Workers(pool) => pool.ids(),
        }
    }

    /// What the workers are doing; absent where this process parses by itself.
    #[must_use]
    pub fn health(&self) -> Option<ParsersHealth> {
        match &self.0 {
            Where::Here => None,
            Where::Workers(pool) => Some(pool.health()),
        }
    }
}
