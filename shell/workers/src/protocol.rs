//! Messages between a server and its parse worker, one after another.

use graphlume_ingest::{Done, Failed, ParseSpec, Progress};
use serde::{Deserialize, Serialize};

/// A job, sent with three open files: the bytes, an empty one for the tables, and an empty one for what
/// lies between.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    /// What to do with the bytes.
    pub(crate) spec: ParseSpec,
}

/// What a worker says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    /// It is ready for jobs; said once at the start.
    Ready {
        /// Whether it has given up everything that a parse does not need.
        confined: bool,
        /// What keeps it from the rest of the machine, in words.
        by: String,
    },
    /// The job goes on.
    Progress(Progress),
    /// Something panicked, for the log: the text and the place. The answer to the job follows.
    Panicked(String),
    /// The job is done.
    Done(Done),
    /// The job failed.
    Failed(Failed),
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_arrives_as_it_was_sent() {
        let done = Done { warnings: vec!["w".to_owned()], ..Done::default() };
        let sent = serde_json::to_string(&Answer::Done(done.clone())).unwrap();
        assert!(matches!(serde_json::from_str(&sent).unwrap(), Answer::Done(d) if d == done));
    }
}
