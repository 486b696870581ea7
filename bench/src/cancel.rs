//! Time for which algorithms go on after they were told to stop: each is run on one graph and stopped after some times.

use std::path::Path;
use std::time::{Duration, Instant};

use graphlume_algo::input::Unnamed;
use graphlume_algo::{ALGORITHMS, AlgoError, Input, Kind, ParamValues, run as compute};
use graphlume_types::{CancelReason, CancelToken};
use serde_json::{Map, Value, json};

use crate::clock::measure;
use crate::input::graph;
use crate::task::{Report, Spec, TaskError, facts, finish};

/// When algorithms are stopped, in milliseconds, unless `after=MS` says otherwise.
const AFTER_MILLIS: [u64; 4] = [5, 50, 250, 1_000];

/// Parameters: `after=MS`, repeated for several moments, `name=ALGORITHM`, repeated for some alone, and `kind=layout` for
/// layouts instead. The result has for each algorithm the longest time in milliseconds from the order to the return, and
/// at how many of the moments it was still running.
pub(crate) fn run(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let Moments { after, only, kind } = moments(spec.params)?;
    let (topology, load_s) = graph(spec.edges, true)?;
    let data = Unnamed(topology.num_nodes());
    let mut latencies = Map::new();
    let ((), took) = measure(|| {
        for algorithm in ALGORITHMS.iter().filter(|a| a.kind == kind) {
            if !only.is_empty() && !only.contains(&algorithm.id) {
                continue;
            }
            let library = algorithm.names.first().map_or("cugraph", |name| name.library);
            let entry = lateness(&after, |cancel| {
                let input = Input { library, ..Input::plain(&topology, &data, cancel) };
                match compute(algorithm, &input, &ParamValues::defaults(algorithm)) {
                    Err(AlgoError::Cancelled(_)) => Ending::Stopped,
                    Err(e @ (AlgoError::TooLarge { .. } | AlgoError::Unfit { .. })) => {
                        Ending::Refused(e.to_string())
                    }
                    _ => Ending::Done,
                }
            });
            latencies.insert(algorithm.id.to_owned(), entry);
        }
    });
    let mut result = facts(&topology, u64::from(topology.num_edges()));
    let worst = latencies.values().filter_map(|v| v["late_ms"].as_f64()).fold(0.0, f64::max);
    result.insert("late_ms_max".to_owned(), worst.into());
    result.insert("algorithms".to_owned(), Value::Object(latencies));
    Ok(finish(vec![took], load_s, result, Vec::new(), None))
}

/// How a piece of work ended that was told to stop.
pub(crate) enum Ending {
    /// Before it was told.
    Done,
    /// Because it was told.
    Stopped,
    /// It did not begin.
    Refused(String),
}

/// The longest time in milliseconds that `work` goes on after it was told to stop at each of these moments, and at how
/// many of them it was still running.
pub(crate) fn lateness(after: &[u64], work: impl Fn(&CancelToken) -> Ending + Sync) -> Value {
    let (mut worst, mut stopped, mut refused) = (0.0f64, 0, None);
    for millis in after {
        let cancel = CancelToken::new();
        let (told, ended) = std::thread::scope(|scope| {
            let order = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(*millis));
                let told = Instant::now();
                cancel.cancel(CancelReason::ClientGone);
                told
            });
            let ending = work(&cancel);
            let ended = Instant::now();
            match ending {
                Ending::Done => {}
                Ending::Stopped => stopped += 1,
                Ending::Refused(why) => refused = Some(why),
            }
            (order.join().unwrap_or(ended), ended)
        });
        worst = worst.max(ended.saturating_duration_since(told).as_secs_f64() * 1e3);
    }
    json!({"late_ms": worst, "stopped": stopped, "refused": refused})
}

/// What the parameters say: when to stop, and which algorithms.
struct Moments<'a> {
    after: Vec<u64>,
    only: Vec<&'a str>,
    kind: Kind,
}

fn moments(params: &[String]) -> Result<Moments<'_>, TaskError> {
    let (mut after, mut only, mut kind) = (Vec::new(), Vec::new(), Kind::Compute);
    for param in params {
        match param.split_once('=') {
            Some(("after", millis)) if millis.parse::<u64>().is_ok_and(|m| m <= 60_000) => {
                after.extend(millis.parse::<u64>());
            }
            Some(("name", name)) => only.push(name),
            Some(("kind", "layout")) => kind = Kind::Layout,
            _ => {
                let message = format!(
                    "{param:?} is unknown; the task takes after=MS (60000 at most), name=ALGORITHM and kind=layout"
                );
                let path = Path::new("--param").display().to_string();
                return Err(TaskError::Input { path, message });
            }
        }
    }
    if after.is_empty() {
        after.extend(AFTER_MILLIS);
    }
    Ok(Moments { after, only, kind })
}
