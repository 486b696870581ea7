//! Every figure of a GPU in one process: rates first, then each task with its time by the device's clock and by the
//! wall, and with the question whether the GPU's answer is the CPU's. Graphs and columns are made in memory, so that
//! it needs nothing but NVIDIA's driver. `scripts/gpu.sh` builds and runs it.
//!
//! A line of JSON a row, flushed at once: what is done when the time is up is kept.

mod error;
mod graphs;
mod rates;
mod rows;
mod social;
mod tables;
mod tasks;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use graphlume_device::cuda::{DeviceError, Gpu, GpuOptions};
use serde_json::json;

use rows::{Out, Row};

const USAGE: &str = "usage: graphlume-gpu-suite [--seconds N] [--small] [--only NAME]... [--once]
  --seconds N   rows are begun for so long (default 280)
  --small       graphs of some hundred nodes, to try the program out
  --only NAME   rows of this name and the graphs that they need, for a profiler; may stand several times
  --once        what is timed runs once, after one run to warm up";

/// What the program was asked for.
struct Asked {
    patience: Duration,
    small: bool,
    only: Vec<String>,
    once: bool,
}

fn asked() -> Result<Asked, String> {
    let mut asked =
        Asked { patience: Duration::from_secs(280), small: false, only: Vec::new(), once: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--small" => asked.small = true,
            "--once" => asked.once = true,
            "--only" => {
                asked.only.push(words.next().ok_or_else(|| {
                    format!("--only: the name of a row is needed, as it is printed\n{USAGE}")
                })?);
            }
            "--seconds" => {
                let value = words.next().unwrap_or_default();
                let seconds = value.parse().ok().filter(|s| (1..=3600).contains(s));
                let Some(seconds) = seconds else {
                    return Err(format!("--seconds {value:?}: a number from 1 to 3600 is needed"));
                };
                asked.patience = Duration::from_secs(seconds);
            }
            other => return Err(format!("{other:?} is no argument\n{USAGE}")),
        }
    }
    Ok(asked)
}

fn main() -> ExitCode {
    let asked = match asked() {
        Ok(asked) => asked,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    let gpu = match open(began) {
        Ok(gpu) => gpu,
        Err(e) => {
            eprintln!("NO GPU: {e}");
            return ExitCode::from(1);
        }
    };
    rows::set_repeats(asked.once);
    let mut out = Out::new(began, asked.patience, asked.only);
    rates::measure(&gpu, asked.small, &mut out);
    tasks::run(&gpu, asked.small, &mut out);
    out.end()
}

/// Opens the GPU with all kernels loaded, and says what it is and how long that took.
fn open(began: Instant) -> Result<Gpu, DeviceError> {
    let gpu = Gpu::open(&GpuOptions::default())?;
    let opened = began.elapsed();
    gpu.load_kernels()?;
    let info = gpu.info();
    Row::new("card", "")
        .with("name", json!(info.name))
        .with("driver", json!(info.driver))
        .with("compute_capability", json!(info.compute_capability))
        .with("multiprocessors", json!(info.sm_count))
        .with("memory_bytes", json!(info.memory_bytes))
        .with("open_s", json!(opened.as_secs_f64()))
        .with("load_kernels_s", json!((began.elapsed() - opened).as_secs_f64()))
        .print();
    Ok(gpu)
}
