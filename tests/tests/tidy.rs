//! The house rules as tests: who may depend on whom, how long a file may be, which calls are banned.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use graphlume_tests::root;

/// Which of our crates each of our crates may name, test dependencies aside.
const MAY_DEPEND: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("table", &["types"]),
    ("ingest", &["types", "table"]),
    ("graph", &["types", "table"]),
    ("expr", &["types", "table", "graph"]),
    ("store", &["types", "table", "graph", "expr", "algo"]),
    ("calls", &["types", "table", "graph", "expr", "store", "algo"]),
    ("gfql", &["types", "table", "graph", "expr", "store", "calls"]),
    ("cypher", &["types", "table", "graph", "expr", "store"]),
    ("procedures", &["types", "table", "graph", "expr", "store", "calls", "gfql", "cypher"]),
    ("scene", &["types", "table", "graph"]),
    ("raster", &["types", "scene"]),
    (
        "facets",
        &[
            "types",
            "table",
            "graph",
            "expr",
            "store",
            "gfql",
            "cypher",
            "procedures",
            "scene",
            "algo",
        ],
    ),
    ("kernels", &[]),
    ("device", &["types", "kernels"]),
    ("algo", &["types", "graph", "device"]),
    (
        "engine",
        &[
            "types",
            "table",
            "graph",
            "expr",
            "store",
            "gfql",
            "cypher",
            "procedures",
            "facets",
            "scene",
            "raster",
            "device",
            "algo",
        ],
    ),
    ("storage", &["types"]),
    ("identity", &["types", "storage"]),
    ("workers", &["types", "ingest"]),
    (
        "service",
        &[
            "types", "table", "ingest", "graph", "expr", "store", "calls", "gfql", "cypher",
            "scene", "engine", "storage", "identity", "workers",
        ],
    ),
    ("http", &["types", "service", "engine", "scene"]),
    ("generate", &["types"]),
    ("gpu-suite", &["types", "graph", "device", "algo", "generate", "emu"]),
    (
        "bench",
        &[
            "types",
            "generate",
            "table",
            "ingest",
            "graph",
            "expr",
            "store",
            "gfql",
            "cypher",
            "procedures",
            "facets",
            "scene",
            "device",
            "algo",
        ],
    ),
    ("tests", &["types", "table", "ingest", "expr", "store", "gfql", "cypher", "procedures"]),
    ("emu", &["types", "graph", "device", "algo", "kernels"]),
];

/// Foreign crates that have exactly these homes.
const HOMES: &[(&str, &[&str])] = &[
    ("warp", &["graphlume-http"]),
    ("hyper", &["graphlume-http"]),
    ("hyper-util", &["graphlume-http"]),
    ("http", &["graphlume-http"]),
    ("sled", &["graphlume-storage"]),
    ("cudarc", &["graphlume-device"]),
    ("parquet", &["graphlume-ingest", "graphlume"]),
    ("jsonwebtoken", &["graphlume-identity"]),
    ("microlp", &["graphlume-algo"]),
    ("ab_glyph", &["graphlume-raster"]),
    ("ab_glyph_rasterizer", &["graphlume-raster"]),
    ("pdf-writer", &["graphlume-raster"]),
    ("argon2", &["graphlume-identity"]),
    ("seccompiler", &["graphlume-workers"]),
    ("tokio", &["graphlume-identity", "graphlume-service", "graphlume-http", "graphlume"]),
];

const LINES_MAX: usize = 900;

/// Files known to git, so that build outputs and local notes do not count.
fn tracked() -> Vec<PathBuf> {
    let out = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    assert!(out.status.success(), "git ls-files failed");
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().map(PathBuf::from).filter(|p| root().join(p).is_file()).collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_default()
}

fn has_extension(path: &Path, wanted: &[&str]) -> bool {
    path.extension().and_then(|e| e.to_str()).is_some_and(|e| wanted.contains(&e))
}

/// The part of a Rust file before its test module.
fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]").map_or(text, |at| &text[..at])
}

struct Package {
    name: String,
    dependencies: BTreeSet<String>,
}

fn workspace_packages() -> Vec<Package> {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let meta: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
    let packages = meta["packages"].as_array().unwrap().iter();
    packages
        .map(|p| Package {
            name: text(&p["name"]),
            dependencies: p["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|d| d["kind"].is_null())
                .map(|d| text(&d["name"]))
                .collect(),
        })
        .collect()
}

#[test]
fn crates_depend_only_downwards() {
    let allowed: BTreeMap<String, &[&str]> =
        MAY_DEPEND.iter().map(|(name, list)| (format!("graphlume-{name}"), *list)).collect();
    for package in workspace_packages() {
        if package.name == "graphlume" {
            continue; // The daemon wires everything together.
        }
        let list = allowed.get(&package.name).unwrap_or_else(|| {
            panic!("{} is new: add it with its permitted dependencies to MAY_DEPEND", package.name)
        });
        for dep in package.dependencies.iter().filter_map(|d| d.strip_prefix("graphlume-")) {
            assert!(list.contains(&dep), "{} must not depend on graphlume-{dep}", package.name);
        }
    }
}

#[test]
fn foreign_crates_stay_in_their_home() {
    for package in workspace_packages() {
        for (krate, homes) in HOMES {
            assert!(
                !package.dependencies.contains(*krate) || homes.contains(&package.name.as_str()),
                "{} must not name {krate}: its home is {homes:?}",
                package.name
            );
        }
    }
}

#[test]
fn files_stay_small_enough_to_hold_in_the_head() {
    let mut long = Vec::new();
    for path in tracked() {
        if has_extension(&path, &["rs", "ts", "tsx", "mjs", "py", "sh", "css", "cu", "cuh"]) {
            let lines = read(&path).lines().count();
            if lines > LINES_MAX {
                long.push(format!("{}: {lines} lines", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "over {LINES_MAX} lines, split at a seam: {long:#?}");
}

/// `(needle, why, exempt path prefixes)` for non-test Rust code.
const BANNED: &[(&str, &str, &[&str])] = &[
    ("SystemTime::now", "time comes from the injected Clock", &["engine/types/src/clock.rs"]),
    (
        "std::env::var",
        "settings are read in src/config.rs",
        &["src/", "build.rs", "engine/gfql/src/fuzz/"],
    ),
    ("thread::spawn(", "name threads with thread::Builder", &[]),
    ("unbounded(", "every queue has a bound in limits.rs", &[]),
    ("unbounded_channel", "every queue has a bound in limits.rs", &[]),
    ("todo!(", "unfinished", &[]),
    ("unimplemented!(", "unfinished", &[]),
    ("from_utf8_unchecked", "check the text", &["engine/ingest/", "engine/table/"]),
    ("HashMap::with_hasher(Default", "state the hasher", &[]),
];

#[test]
fn banned_calls_do_not_occur() {
    let mut found = Vec::new();
    for path in tracked().iter().filter(|p| has_extension(p, &["rs"])) {
        let shown = path.display().to_string();
        if shown.starts_with("tests/") || shown.contains("/tests/") || shown.contains("test") {
            continue;
        }
        let text = read(path);
        for (needle, why, exempt) in BANNED {
            let is_exempt = exempt.iter().any(|p| shown.starts_with(p));
            let code = without_tests(&text);
            for (number, line) in code.lines().enumerate() {
                let code = line.split("//").next().unwrap_or("");
                if !is_exempt && code.contains(needle) {
                    found.push(format!("{shown}:{}: {needle} ({why})", number + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_file_names_a_place_of_the_machine_it_was_written_on() {
    // Spelled in pieces so that this file does not find itself.
    let places = [["/wo", "rk/"].concat(), ["/ro", "ot/"].concat(), ["/fa", "rm/"].concat()];
    let mut found = Vec::new();
    for path in tracked() {
        let text = read(&path);
        for (number, line) in text.lines().enumerate() {
            for place in places.iter().filter(|p| line.contains(p.as_str())) {
                found.push(format!("{}:{}: {place}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn markdown_starts_with_a_title_and_its_links_lead_somewhere() {
    let mut bad = Vec::new();
    for path in tracked().iter().filter(|p| has_extension(p, &["md"])) {
        let text = read(path);
        if !text.starts_with("# ") {
            bad.push(format!("{}: the first line is no title", path.display()));
        }
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or("");
            let outside = target.contains("://") || target.starts_with('#') || file.is_empty();
            let folder = root().join(path.parent().unwrap());
            if !outside && !folder.join(file).exists() {
                bad.push(format!("{}: broken link {target}", path.display()));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn every_crate_says_what_it_is_and_uses_the_workspace_lints() {
    for package in workspace_packages().iter().filter(|p| p.name != "graphlume") {
        let short = package.name.trim_start_matches("graphlume-");
        let name = match short {
            "engine" => "core",
            "kernels" => "kernels-ptx",
            other => other,
        };
        let folder = ["engine", "shell", "tests", "bench", "."]
            .iter()
            .map(|parent| root().join(parent).join(name))
            .find(|f| f.join("Cargo.toml").is_file())
            .unwrap_or_else(|| panic!("{} is not where house rules put it", package.name));
        let roots = ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file));
        let lib = std::fs::read_to_string(roots.iter().find(|f| f.is_file()).unwrap()).unwrap();
        assert!(lib.starts_with("//!"), "{}: its root has no module doc", package.name);
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{}: lints", package.name);
    }
}
