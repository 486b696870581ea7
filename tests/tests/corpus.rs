//! The inputs that the fuzzers keep, given to their targets once more: seeds, and what broke something once. Searching for
//! new ones is `scripts/fuzz.sh`, part of `scripts/long.sh`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../fuzz/src/targets.rs"]
mod targets;

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use graphlume_tests::root;

/// Bytes of memory that no input may make a target take: the bound of `scripts/fuzz.sh`.
const MEMORY_MAX: u64 = 2048 << 20;

/// Panics of our own code since the last look.
static FOUND: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn found() -> MutexGuard<'static, Vec<String>> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One target at a time: panics and memory are those of the whole process.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if targets::is_finding(info) {
                found().push(info.to_string());
            }
            before(info);
        }));
    });
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The highest resident memory since it was set back.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn inputs(target: &str) -> Vec<PathBuf> {
    let folder = root().join("tests/fuzz/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{target} has no inputs");
    paths
}

fn replay(name: &str) {
    let (_, run) = targets::TARGETS.iter().find(|(n, _)| *n == name).unwrap();
    let _turn = turn();
    fs::write("/proc/self/clear_refs", "5").unwrap();
    for path in inputs(name) {
        found().clear();
        run(&fs::read(&path).unwrap());
        assert!(found().is_empty(), "{}: {:?}", path.display(), found());
        let peak = peak_bytes();
        assert!(peak < MEMORY_MAX, "{}: {} MiB of memory", path.display(), peak >> 20);
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_is_replayed() {
            let replayed = [$(stringify!($name)),*];
            let mut known: Vec<_> = targets::TARGETS.iter().map(|(n, _)| *n).collect();
            known.sort_unstable();
            assert_eq!(replayed.as_slice(), known);
            let mut folders: Vec<_> = fs::read_dir(root().join("tests/fuzz/corpus")).unwrap()
                .map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            folders.sort_unstable();
            assert_eq!(replayed.as_slice(), folders);
        }
    };
}

targets! { arrow compressed csv cypher gfql json options orc parquet xls xlsx }
