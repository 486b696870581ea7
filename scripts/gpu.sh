#!/usr/bin/env bash
# Proof on a real GPU, in two halves because GPU machines often have neither Rust nor a network.
#   scripts/gpu.sh build   builds the device tests and the benches into .gpu/ (ignored by git; self-contained)
#   scripts/gpu.sh run     on the GPU machine: device tests, compute-sanitizer and benches; results go to $OUT or .gpu/out.
#                          `run tests`, `run sanitize` and `run bench` do one of the three, each within ten minutes
#   scripts/gpu.sh         all of it here
# Without a GPU `run` says so and fails: it never passes by doing nothing.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"

build() {
    # shellcheck source=scripts/lib.sh
    source scripts/lib.sh
    need_rust
    need_apt objdump binutils
    build_web
    rm -rf .gpu && mkdir -p .gpu/tests
    say "building the device tests and the benches"
    build_server
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
    cp "$BIN" .gpu/graphlume
    mkdir -p .gpu/bench && cp bench/*.py .gpu/bench/
    strip --strip-all .gpu/graphlume .gpu/tests/*
    local newest=2.39
    for file in .gpu/graphlume .gpu/tests/*; do
        local needs
        needs=$(objdump -T "$file" | grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -n1)
        [ "$(printf '%s\nGLIBC_%s\n' "$needs" "$newest" | sort -V | tail -n1)" = "GLIBC_$newest" ] \
            || die "$file needs $needs; the GPU machine is only known to have $newest"
    done
    tar -C .gpu -czf .gpu.tar.gz . && rm -rf .gpu && mkdir .gpu && mv .gpu.tar.gz .gpu/payload.tar.gz
    say "ready: .gpu/payload.tar.gz, $(du -h .gpu/payload.tar.gz | cut -f1)"
}

# step NAME SECONDS COMMAND...: runs with a limit, keeps the log, remembers failures.
step() {
    local name=$1 limit=$2
    shift 2
    printf '==> %s\n' "$name"
    if timeout "$limit" "$@" >"$OUT/$name.log" 2>&1; then
        tail -n 3 "$OUT/$name.log"
    else
        printf 'FAILED (%s): %s\n' "$?" "$name"
        tail -n 25 "$OUT/$name.log"
        failed+=("$name")
    fi
}

# The device tests, one program a kernel family. Tests of planted faults need the stand-in driver.
part_tests() {
    for test in "$work"/tests/*; do
        step "test-$(basename "$test")" 90 "$test" --test-threads=1 --skip faulty_
    done
}

# Every tool over every program. A tool slows a run 10 to 100 times, so four run side by side.
part_sanitize() {
    if ! command -v compute-sanitizer >/dev/null; then
        echo "compute-sanitizer is not on this machine: it was NOT run"
        failed+=("compute-sanitizer missing")
        return
    fi
    local tool test pids=() names=()
    for tool in memcheck racecheck initcheck synccheck; do
        for test in "$work"/tests/*; do
            while [ "$(jobs -pr | wc -l)" -ge 4 ]; do wait -n || true; done
            timeout 120 compute-sanitizer --tool "$tool" --error-exitcode 9 --require-cuda-init=no \
                "$test" --test-threads=1 --skip faulty_ >"$OUT/$tool-$(basename "$test").log" 2>&1 &
            pids+=($!)
            names+=("$tool-$(basename "$test")")
        done
    done
    local i
    for i in "${!pids[@]}"; do
        if wait "${pids[$i]}"; then
            echo "ok ${names[$i]}"
        else
            echo "FAILED ($?): ${names[$i]}"
            grep -m 12 -E '=========|panicked' "$OUT/${names[$i]}.log" || tail -n 5 "$OUT/${names[$i]}.log"
            failed+=("${names[$i]}")
        fi
    done
}

part_bench() {
    step bench 580 python3 "$work/bench/gpu.py" --bin "$work/graphlume" --out "$OUT/gpu-bench.md"
    [ ! -f "$OUT/gpu-bench.md" ] || cat "$OUT/gpu-bench.md"
}

run() {
    [ -f .gpu/payload.tar.gz ] || { echo "error: nothing to run; call scripts/gpu.sh build first" >&2; exit 2; }
    OUT=${OUT:-$ROOT/.gpu/out}
    mkdir -p "$OUT"
    if ! nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee "$OUT/gpu.txt"; then
        echo "NO GPU: nvidia-smi found none, so no device test, no sanitizer and no device bench was run" >&2
        exit 1
    fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    tar -C "$work" -xzf .gpu/payload.tar.gz
    failed=()
    export GRAPHLUME_GPU_TESTS=device RUST_BACKTRACE=1
    case ${1:-all} in
    tests) part_tests ;;
    sanitize) part_sanitize ;;
    bench) part_bench ;;
    all) part_tests; part_sanitize; part_bench ;;
    *) echo "error: no part called $1; there are tests, sanitize and bench" >&2; exit 2 ;;
    esac
    (cd "$OUT" && find . -maxdepth 1 -name '*.log' | tar -czf logs.tar.gz -T - && rm -f ./*.log)
    if [ ${#failed[@]} -gt 0 ]; then
        printf 'FAILED: %s\n' "${failed[*]}"
        exit 1
    fi
    echo "passed; logs and tables are in $OUT"
}

case ${1:-both} in
build) build ;;
run) run "${2:-all}" ;;
both) (build) && run all ;;
*) sed -n '2,8p' "$0" >&2; exit 2 ;;
esac
