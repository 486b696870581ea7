//! A small job with a known answer, which shows that workers run and compute rightly.

use std::sync::Arc;
use std::time::Duration;

use graphlume_graph::Topology;
use graphlume_types::{CancelToken, Clock};

/// The result of a small job with a known answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// Whether the answer was the known one.
    pub ok: bool,
    /// What was wrong, or nothing.
    pub detail: String,
    /// How long the job took once it ran.
    pub took: Duration,
}

impl Canary {
    /// The result of a job that panicked.
    pub(crate) fn panicked() -> Self {
        Self { ok: false, detail: "the canary panicked".to_owned(), took: Duration::ZERO }
    }

    /// Two triangles joined by one edge: the communities are known, so a wrong answer means that the
    /// machine or the build cannot be trusted. Runs on the current rayon pool.
    pub(crate) fn run(clock: &dyn Clock) -> Self {
        let begun = clock.monotonic();
        let (sources, destinations) = ([0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3]);
        let topology = Arc::new(Topology::from_coo(6, &sources, &destinations));
        let labels =
            graphlume_algo::community::louvain::run(&topology, None, 1, 1.0, &CancelToken::new());
        let detail = match labels {
            Ok(l) if l == [0, 0, 0, 1, 1, 1] => String::new(),
            Ok(l) => format!("two triangles were split as {l:?}"),
            Err(e) => e.to_string(),
        };
        let took = clock.monotonic().saturating_duration_since(begun);
        Self { ok: detail.is_empty(), detail, took }
    }
}
