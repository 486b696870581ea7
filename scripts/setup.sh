#!/usr/bin/env bash
# Once in every checkout and worktree, for whoever works on the code: afterwards plain cargo commands, editors and
# scripts/check.sh compile incrementally into the build folder of this checkout, which begins with what other checkouts of
# this user have compiled. What is shipped, measured and tested by the gate stays compiled without it (scripts/lib.sh).
source "$(dirname "$0")/lib.sh"
cd "$ROOT"
need_rust
need_node
need_apt g++ g++
build_web
build_folder adopt
mkdir -p .cargo
cat >.cargo/config.toml <<END
# Written by scripts/setup.sh for this checkout; not tracked.
[build]
target-dir = "$CARGO_TARGET_DIR"
[profile.dev]
incremental = true
codegen-units = 256
[alias]
# cargo unit CRATE: its unit tests, with the features that its dependencies have in the server. Alone (cargo test -p CRATE)
# they have fewer, and are compiled a second time.
unit = "test -p graphlume --lib -p"
END
say "ready: cargo build, cargo run -- serve --demo, cargo unit graphlume-gfql, scripts/check.sh"
