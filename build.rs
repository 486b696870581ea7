//! Stamps the binary with the commit it was built from, and refuses PTX that was not made from its sources.

use std::path::Path;
use std::process::{Command, exit};

use graphlume_kernels::lock;
use sha2::{Digest, Sha256};

fn main() {
    check_kernels();
    stamp_commit();
    fold_identical_code();
}

/// The kernels are compiled by `scripts/ptx` and not here, so that a build needs no CUDA; a forgotten run
/// must not go unseen.
fn check_kernels() {
    for path in ["cu", "ptx", "ptx.lock"] {
        println!("cargo:rerun-if-changed=kernels-ptx/{path}");
    }
    let hex = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
    let problems = lock::problems(Path::new("kernels-ptx"), hex)
        .unwrap_or_else(|e| vec![format!("kernels-ptx could not be read: {e}")]);
    for problem in &problems {
        println!("cargo::error={problem}: {}", lock::REMEDY);
    }
    if !problems.is_empty() {
        exit(1);
    }
}

fn stamp_commit() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=.git/HEAD");
    println!("cargo:rerun-if-changed=.git/refs/heads");
    let commit = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()
        .filter(|o| o.status.success())
        .and_then(|o| String::from_utf8(o.stdout).ok())
        .map_or_else(|| "unknown".to_owned(), |s| s.trim().to_owned());
    println!("cargo:rustc-env=GRAPHLUME_COMMIT={commit}");
}

/// Generic code is compiled once for each type, often to the same instructions; the linker keeps one copy. GNU's linker
/// cannot, so this is asked for only where rustc links with its own.
fn fold_identical_code() {
    let has = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let own_linker = std::env::var("TARGET").is_ok_and(|t| t == "x86_64-unknown-linux-gnu");
    if own_linker && !has("RUSTC_LINKER") && !has("CARGO_ENCODED_RUSTFLAGS") {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
}
