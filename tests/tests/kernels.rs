//! The rules of the CUDA kernels: every one is proven by a test, states what it needs, and ships as PTX that was
//! made from its source.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use graphlume_kernels::{MODULES, lock};
use graphlume_tests::root;
use sha2::{Digest, Sha256};

/// Texts of the files of a folder with this ending, by name.
fn texts(folder: &str, ending: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|e| e.unwrap().path());
    entries
        .filter(|p| p.extension().is_some_and(|e| e == ending))
        .map(|p| (p.display().to_string(), fs::read_to_string(p).unwrap()))
        .collect()
}

/// Every kernel of the sources, with the comment lines directly above it.
fn kernels() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for text in texts("kernels-ptx/cu", "cu").values() {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, l)| l.starts_with("GL_KERNEL")) {
            // The name may stand on the next line, behind a bound.
            let head = [*line, lines.get(at + 1).copied().unwrap_or_default()].join(" ");
            let head =
                head.trim_start_matches("GL_KERNEL").trim_start().strip_prefix("void").unwrap();
            let head = match head.trim_start().strip_prefix("GL_BOUNDS(") {
                Some(bound) => bound.split_once(')').unwrap().1,
                None => head,
            };
            let name = head.split('(').next().unwrap().trim();
            let above = lines[..at].iter().rev().take_while(|l| l.starts_with("//"));
            let above = above.map(|l| (*l).to_owned()).collect();
            assert!(found.insert(name.to_owned(), above).is_none(), "{name} occurs twice");
        }
    }
    assert!(!found.is_empty(), "no kernel was read");
    found
}

/// The text literals of a piece of Rust.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

/// The names given to `gpu_test` in one test file, directly or through a constant or a variable.
fn named(text: &str) -> BTreeSet<&str> {
    let value = |at: usize| text[at..].split_once('=')?.1.split(';').next();
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices("gpu_test(") {
        // The kernels come before the closure.
        let Some((first, _)) = text[at + "gpu_test(".len()..].split_once('|') else { continue };
        names.extend(literals(first));
        for word in first.split(|c: char| !c.is_alphanumeric() && c != '_') {
            let constant = text.find(&format!("const {word}: "));
            let variable = text[..at].rfind(&format!("let {word} = "));
            names.extend(constant.or(variable).and_then(value).into_iter().flat_map(literals));
        }
    }
    names
}

#[test]
fn every_kernel_is_run_by_a_test() {
    let tests = texts("tests/emu/tests", "rs");
    let named: BTreeSet<&str> = tests.values().flat_map(|t| named(t)).collect();
    let kernels = kernels();
    let unproven: Vec<&String> = kernels.keys().filter(|k| !named.contains(k.as_str())).collect();
    assert!(unproven.is_empty(), "named by no gpu_test in tests/emu/tests: {unproven:#?}");
    let unknown: Vec<&&str> = named.iter().filter(|n| !kernels.contains_key(**n)).collect();
    assert!(unknown.is_empty(), "tested, but no kernel: {unknown:#?}");
}

#[test]
fn names_given_to_a_test_are_found_in_all_their_forms() {
    let text = "const TREE: &[&str] = &[\"a\", \"b\"];\nconst OTHER: &[&str] = &[\"x\"];\n\
                gpu_test(TREE, |gpu| f(\"no\"));\ngpu_test(&[\"c\"], |_| {});\ngpu_test(&[], |g| {});\n\
                let kernels = [\"d\",\n\"e\"];\ngpu_test(&kernels, |g| {});\nlet other = [\"y\"];";
    assert_eq!(named(text), BTreeSet::from(["a", "b", "c", "d", "e"]));
}

#[test]
fn every_kernel_states_the_lengths_of_its_arrays() {
    for (name, above) in kernels() {
        assert!(
            above.iter().any(|l| l.starts_with("//@")),
            "{name} has no lengths line above it, such as '//@ offsets: n + 1, ends: *'"
        );
    }
}

#[test]
fn the_ptx_is_what_the_sources_give() {
    let hex =
        |bytes: &[u8]| Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect::<String>();
    let problems = lock::problems(&root().join("kernels-ptx"), hex).unwrap();
    assert!(problems.is_empty(), "{}: {problems:#?}", lock::REMEDY);
    let shipped: BTreeSet<&str> = MODULES.iter().flat_map(|m| m.kernels()).collect();
    let sources = kernels();
    let sources: BTreeSet<&str> = sources.keys().map(String::as_str).collect();
    assert_eq!(shipped, sources);
}

#[test]
fn the_report_is_of_this_ptx_and_covers_every_kernel() {
    let report = fs::read_to_string(root().join("kernels-ptx/REPORT.md")).unwrap();
    let mut whole = Sha256::new();
    texts("kernels-ptx/ptx", "ptx").values().for_each(|ptx| whole.update(ptx));
    let digest: String = whole.finalize().iter().map(|b| format!("{b:02x}")).collect();
    assert!(
        report.lines().any(|l| l == format!("PTX: {digest}")),
        "kernels-ptx/REPORT.md was made from other PTX, this is {digest}: run scripts/ptx --report"
    );
    let rows = report.lines().filter(|l| l.starts_with("| ")).skip(1);
    let reported: BTreeSet<String> =
        rows.filter_map(|l| l.split('|').nth(2)).map(|k| k.trim().to_owned()).collect();
    let sources: BTreeSet<String> = kernels().into_keys().collect();
    assert_eq!(reported, sources, "run scripts/ptx --report");
}
