//! How long algorithms go on after they were told to stop: each is run on one graph and stopped after some times.

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

/// Parameters: `after=MS`, repeated for several moments, and `name=ALGORITHM`, repeated for some alone. The result has
/// for each algorithm the longest time in milliseconds from the order to the return, and at how many of the moments it
/// was still running.
pub(crate) fn run(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (after, only) = moments(spec.params)?;
    let (topology, load_s) = graph(spec.edges, true)?;
    let data = Unnamed(topology.num_nodes());
    let mut latencies = Map::new();
    let ((), took) = measure(|| {
        for algorithm in ALGORITHMS.iter().filter(|a| a.kind == Kind::Compute) {
            if !only.is_empty() && !only.contains(&algorithm.id) {
                continue;
            }
            let library = algorithm.names.first().map_or("cugraph", |name| name.library);
            let (mut worst, mut stopped, mut refused) = (0.0f64, 0, None);
            for millis in &after {
                let cancel = CancelToken::new();
                let input = Input { library, ..Input::plain(&topology, &data, &cancel) };
                let params = ParamValues::defaults(algorithm);
                let (told, ended) = std::thread::scope(|scope| {
                    let order = scope.spawn(|| {
                        std::thread::sleep(Duration::from_millis(*millis));
                        let told = Instant::now();
                        cancel.cancel(CancelReason::ClientGone);
                        told
                    });
                    let result = compute(algorithm, &input, &params);
                    let ended = Instant::now();
                    match result {
                        Err(AlgoError::Cancelled(_)) => stopped += 1,
                        Err(e @ (AlgoError::TooLarge { .. } | AlgoError::Unfit { .. })) => {
                            refused = Some(e.to_string());
                        }
                        _ => {}
                    }
                    (order.join().unwrap_or(ended), ended)
                });
                let late = ended.saturating_duration_since(told).as_secs_f64() * 1e3;
                worst = worst.max(late);
            }
            let entry = json!({"late_ms": worst, "stopped": stopped, "refused": refused});
            latencies.insert(algorithm.id.to_owned(), entry);
        }
    });
    let mut result = facts(&topology, u64::from(topology.num_edges()));
    let worst = latencies.values().filter_map(|v| v["late_ms"].as_f64()).fold(0.0, f64::max);
    result.insert("late_ms_max".to_owned(), worst.into());
    result.insert("algorithms".to_owned(), Value::Object(latencies));
    Ok(finish(vec![took], load_s, result, Vec::new(), None))
}

fn moments(params: &[String]) -> Result<(Vec<u64>, Vec<&str>), TaskError> {
    let (mut after, mut only) = (Vec::new(), Vec::new());
    for param in params {
        match param.split_once('=') {
            Some(("after", millis)) if millis.parse::<u64>().is_ok_and(|m| m <= 60_000) => {
                after.extend(millis.parse::<u64>());
            }
            Some(("name", name)) => only.push(name),
            _ => {
                let message = format!(
                    "{param:?} is unknown; the task takes after=MS (60000 at most) and name=ALGORITHM"
                );
                let path = Path::new("--param").display().to_string();
                return Err(TaskError::Input { path, message });
            }
        }
    }
    if after.is_empty() {
        after.extend(AFTER_MILLIS);
    }
    Ok((after, only))
}
