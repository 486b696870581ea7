#!/usr/bin/env bash
# Searches with the fuzz targets, from the committed corpus on: scripts/fuzz.sh [SECONDS [TARGET...]]
# An input that breaks a target is kept under fuzz/found of the build folder; run it again with the same program and
# the file as its argument. Without an argument every target gets a minute. The inputs of the corpus themselves are
# given to the targets by tests/tests/corpus.rs, among the unit tests.
source "$(dirname "$0")/lib.sh"
cd "$ROOT"
seconds=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(ls tests/fuzz/corpus)
need_rust
need_apt g++ g++

# Coverage counters of the kind that libFuzzer reads; every one of these flags is a stable one.
flags=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 --cfg fuzzing
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=16)
triple=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TARGET_DIR="$CARGO_TARGET_DIR/fuzz"
# With a target named, build scripts and macros are left uninstrumented.
RUSTFLAGS="${flags[*]}" cargo build --release --locked --quiet --manifest-path tests/fuzz/Cargo.toml --target "$triple"
program="$CARGO_TARGET_DIR/$triple/release/graphlume-fuzz"
found="$CARGO_TARGET_DIR/found"
mkdir -p "$found"

fuzz() {
    local name=$1 work
    work=$(mktemp -d)
    if GRAPHLUME_FUZZ=$name "$program" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 \
        -malloc_limit_mb=512 -artifact_prefix="$found/$name-" -print_final_stats=1 -verbosity=0 \
        "$work" "tests/fuzz/corpus/$name" >"$work.log" 2>&1; then
        echo "fuzz $name: nothing found in $(sed -n 's/^stat::number_of_executed_units: *//p' "$work.log") inputs"
    else
        tail -40 "$work.log"
        echo "fuzz $name: FAILED, the input is in $found"
        return 1
    fi
    rm -rf "$work" "$work.log"
}
export -f fuzz
export seconds program found
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz {}'
