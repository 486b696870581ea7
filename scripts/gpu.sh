#!/usr/bin/env bash
# Proof on a real GPU, in two halves because GPU machines often have neither Rust nor a network.
#   scripts/gpu.sh build   builds the suite of figures and the device tests into .gpu/ (ignored by git; self-contained)
#   scripts/gpu.sh run     on the GPU machine, within nine minutes: rates and tasks as a line of JSON a row, then the
#                          device tests, then compute-sanitizer over some of them; results go to $OUT or .gpu/out.
#                          `run suite`, `run tests` and `run sanitize` do one of the three; sanitize then takes all tests
#   scripts/gpu.sh         all of it here
# Without a GPU `run` says so and fails: it never passes by doing nothing.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"

# What the GPU machine is known to have, and what a machine that is lent for one call takes with it.
NEWEST_GLIBC=2.39
PAYLOAD_BYTES_MAX=$((48 << 20))

build() {
    # shellcheck source=scripts/lib.sh
    source scripts/lib.sh
    need_rust
    need_apt objdump binutils
    rm -rf .gpu && mkdir -p .gpu/tests
    say "building the suite and the device tests"
    # By target and not by package, as in lib.sh: other features would mean a second build.
    cargo build --locked --quiet --workspace --bin graphlume-gpu-suite
    kernel_tests
    local file
    cargo test --locked --quiet "${KERNEL_TESTS[@]}" --no-run --message-format=json | python3 -c '
import json, sys
for line in sys.stdin:
    m = json.loads(line) if line.startswith("{") else {}
    if m.get("reason") == "compiler-artifact" and m.get("executable") and m["target"]["kind"] == ["test"]:
        print(m["target"]["name"], m["executable"])' | while read -r name path; do
        cp "$path" ".gpu/tests/$name"
    done
    cp "$CARGO_TARGET_DIR/debug/graphlume-gpu-suite" .gpu/
    strip --strip-all .gpu/graphlume-gpu-suite .gpu/tests/*
    for file in .gpu/graphlume-gpu-suite .gpu/tests/*; do
        local needs
        needs=$(objdump -T "$file" | grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -n1)
        [ "$(printf '%s\nGLIBC_%s\n' "$needs" "$NEWEST_GLIBC" | sort -V | tail -n1)" = "GLIBC_$NEWEST_GLIBC" ] \
            || die "$file needs $needs; the GPU machine is only known to have $NEWEST_GLIBC"
    done
    tar -C .gpu -czf .gpu.tar.gz . && rm -rf .gpu && mkdir .gpu && mv .gpu.tar.gz .gpu/payload.tar.gz
    local bytes
    bytes=$(stat -c %s .gpu/payload.tar.gz)
    [ "$bytes" -le "$PAYLOAD_BYTES_MAX" ] || die "the payload has $bytes bytes; at most $PAYLOAD_BYTES_MAX can be taken along"
    say "ready: .gpu/payload.tar.gz, $bytes bytes"
}

# Seconds that `run` may take in all: what a machine that is lent for one call allows, less its transfers.
GPU_SECONDS=${GRAPHLUME_GPU_SECONDS:-540}

# within SECONDS: as many of them as are left of the call. What finds none left is not run, and counts as failed.
within() {
    local left=$((GPU_SECONDS - SECONDS))
    echo $((left < $1 ? left : $1))
}

# step NAME SECONDS COMMAND...: runs with a limit, keeps the log, remembers failures.
step() {
    local name=$1 limit
    limit=$(within "$2")
    shift 2
    printf '==> %s\n' "$name"
    if [ "$limit" -le 0 ]; then
        echo "NOT RUN: the $GPU_SECONDS seconds of this call are over"
        failed+=("$name")
        return
    fi
    if timeout "$limit" "$@" >"$work/logs/$name.log" 2>&1; then
        tail -n 3 "$work/logs/$name.log"
    else
        printf 'FAILED (%s): %s\n' "$?" "$name"
        tail -n 25 "$work/logs/$name.log"
        failed+=("$name")
    fi
}

# All figures in one process. Each line is in the file as soon as it is measured.
part_suite() {
    echo "==> suite"
    local rc=0
    # shellcheck disable=SC2086
    timeout "$(within 320)" "$work/graphlume-gpu-suite" ${GRAPHLUME_GPU_SUITE:---seconds 280} 2>"$work/logs/suite.log" \
        | tee "$OUT/suite.jsonl" || rc=$?
    [ $rc -eq 0 ] || { echo "FAILED ($rc): suite"; cat "$work/logs/suite.log"; failed+=(suite); }
}

# The device tests, one program a kernel family. Tests of planted faults need the stand-in driver.
part_tests() {
    for test in "$work"/tests/*; do
        step "test-$(basename "$test")" 60 "$test" --test-threads=1 --skip faulty_
    done
}

# The runs of test programs: a program, or with a colon after its name a run for each of its tests, which then share out the
# cores. A line each: the program, and the test.
runs_of() {
    local test name
    for test in "$@"; do
        name=${test%:}
        [ -x "$work/tests/$name" ] || continue
        if [ "$name" = "$test" ]; then
            echo "$name"
        else
            "$work/tests/$name" --list --format terse | sed -n "/^faulty_/d; s/^\(.*\): test\$/$name \1/p"
        fi
    done
}

# Tools over programs: part_sanitize SECONDS TOOL... -- PROGRAM[:]...; several side by side, since a tool slows a run 10 to
# 100 times. What does not come to its end in time is named, and fails.
part_sanitize() {
    if ! command -v compute-sanitizer >/dev/null; then
        echo "compute-sanitizer is not on this machine: it was NOT run"
        failed+=("compute-sanitizer missing")
        return
    fi
    local limit=$1 seconds tools=() tool test only name pids=() names=()
    shift
    while [ "$1" != -- ]; do tools+=("$1"); shift; done
    shift
    for tool in "${tools[@]}"; do
        while read -r test only; do
            name=$tool-$test${only:+-$only}
            while [ "$(jobs -pr | wc -l)" -ge 12 ]; do wait -n || true; done
            seconds=$(within "$limit")
            if [ "$seconds" -le 0 ]; then
                echo "NOT RUN: $name, the $GPU_SECONDS seconds of this call are over"
                failed+=("$name")
                continue
            fi
            timeout "$seconds" compute-sanitizer --tool "$tool" --error-exitcode 9 --require-cuda-init=no \
                "$work/tests/$test" --test-threads=1 --skip faulty_ ${only:+--exact "$only"} >"$work/logs/$name.log" 2>&1 &
            pids+=($!)
            names+=("$name")
        done < <(runs_of "$@")
    done
    local i
    for i in "${!pids[@]}"; do
        if wait "${pids[$i]}"; then
            echo "ok ${names[$i]}"
        else
            echo "FAILED ($?): ${names[$i]}"
            grep -m 12 -E '=========|panicked' "$work/logs/${names[$i]}.log" || tail -n 5 "$work/logs/${names[$i]}.log"
            failed+=("${names[$i]}")
        fi
    done
}

# One file of logs, also when the call is ended from outside.
put_away() {
    tar -C "$work" -czf "$OUT/logs.tar.gz" logs
    rm -rf "$work"
}

run() {
    [ -f .gpu/payload.tar.gz ] || { echo "error: nothing to run; call scripts/gpu.sh build first" >&2; exit 2; }
    # Bash counts from here on.
    SECONDS=0
    OUT=${OUT:-$ROOT/.gpu/out}
    mkdir -p "$OUT"
    if ! nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee "$OUT/gpu.txt"; then
        echo "NO GPU: nvidia-smi found none, so no figure, no device test and no sanitizer was run" >&2
        exit 1
    fi
    work=$(mktemp -d)
    mkdir "$work/logs"
    trap put_away EXIT
    trap 'exit 143' TERM INT
    tar -C "$work" -xzf .gpu/payload.tar.gz
    failed=()
    # The driver compiles the kernels once, and the test programs find what the suite made it compile.
    export CUDA_MODULE_LOADING=EAGER CUDA_CACHE_PATH=$work/cache
    export GRAPHLUME_GPU_TESTS=${GRAPHLUME_GPU_TESTS:-device} RUST_BACKTRACE=1
    case ${1:-all} in
    suite) part_suite ;;
    tests) part_tests ;;
    sanitize)
        local all
        mapfile -t all < <(ls "$work/tests")
        part_sanitize 120 memcheck racecheck initcheck synccheck -- "${all[@]}" ;;
    all)
        part_suite
        part_tests
        # On the smaller graphs of each kind: the larger ones did not end under these tools.
        export GRAPHLUME_ZOO=short
        part_sanitize 160 racecheck memcheck -- paths: louvain: tally: tally_sums: scan sort frontier components csr chain ;;
    *) echo "error: no part called $1; there are suite, tests and sanitize" >&2; exit 2 ;;
    esac
    if [ ${#failed[@]} -gt 0 ]; then
        printf 'FAILED: %s\n' "${failed[*]}"
        exit 1
    fi
    echo "passed; figures and logs are in $OUT"
}

case ${1:-both} in
build) build ;;
run) run "${2:-all}" ;;
both) (build) && run all ;;
*) sed -n '2,9p' "$0" >&2; exit 2 ;;
esac
