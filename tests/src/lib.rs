//! Tests that need more than one crate: the house rules (`tests/tidy.rs`) as a cargo test, and, run by
//! `scripts/test.sh`, real clients in `e2e/` and crash tests in `crash/` against the server's binary.

use std::env;
use std::path::{Path, PathBuf};

/// The folder of the sources. It is asked for when a test runs, because a target folder that several checkouts
/// share may hold a test that was compiled in another of them.
pub fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR");
    let here = here.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), Path::to_owned)
}
