//! Tests that need more than one crate: the house rules (`tests/tidy.rs`) as a cargo test, and, run by
//! `scripts/test.sh`, real clients in `e2e/` and crash tests in `crash/` against the release binary.
