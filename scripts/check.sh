#!/usr/bin/env bash
# Checks what a change touches, in minutes: scripts/check.sh [--list] [PATH...]
# Without a path: what differs from main, committed or not. With --list it only says what it would run. The table of
# end-to-end tests by crate is tests/e2e/covers.toml. It says what it leaves out; scripts/test.sh leaves out nothing.
export CARGO_INCREMENTAL=1
source "$(dirname "$0")/lib.sh"
cd "$ROOT"
need_checks
rc=0
BIN=$BIN PATH=$VENV/bin:$PATH CACHE=$CACHE python3 scripts/check.py "$@" || rc=$?
build_folder record
exit $rc
