//! The counted house rules: `scripts/house.py` prints them with their scope, and says whether one is over its bound.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::process::Command;

use graphlume_tests::root;

#[test]
fn the_counted_rules_hold() {
    let out = Command::new("python3")
        .arg("scripts/house.py")
        .current_dir(root())
        .output()
        .expect("python3 runs");
    let printed = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{printed}{}", String::from_utf8_lossy(&out.stderr));
    assert!(
        printed.contains("engine/core/src/session") && printed.contains("shell/web/src, values"),
        "it found the rooms: {printed}"
    );
}
