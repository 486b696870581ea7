#!/usr/bin/env bash
# Installs what the tests need and runs every test. Set GRAPHLUME_TEST_QUICK=1 to leave out the one-minute ones.
# When everything passed, the cache folder's file last-passed has the commit and the seconds that it took.
source "$(dirname "$0")/lib.sh"
cd "$ROOT"
started=$(date +%s)
records=$(mktemp -d)
trap 'rm -rf "$records"' EXIT
# The commit that is tested; with uncommitted changes no commit is.
commit=$(git rev-parse HEAD 2>/dev/null || true)
[ -z "$(git status --porcelain 2>/dev/null)" ] || commit=
stage() {
    local now
    now=$(date +%s)
    [ -z "${stage_name:-}" ] || printf '%s\t%s\n' "$((now - stage_began))" "$stage_name" >>"$records/stages"
    stage_name=$* stage_began=$now
    say "$* ($((now - started)) s)"
}
# A test that hangs is a failure with a name, and does not hold everything up.
limited() {
    local rc=0
    timeout -k 10 1800 "$@" || rc=$?
    [ $rc -ne 124 ] || say "stopped after half an hour: the last test named above hangs"
    return $rc
}

stage "what the tests need"
need_rust
need_node
need_chromium
need_apt g++ g++
need_venv tests/requirements.txt
need_deny
build_web

stage "formatting and lints"
cargo fmt --all --check
cargo deny --log-level error check bans licenses sources
# The fuzzers are a workspace of their own: a lock file that is behind is said here, not after half an hour.
cargo tree --locked --quiet --manifest-path tests/fuzz/Cargo.toml >/dev/null
(cd shell/web && node_modules && npm run --silent check)

stage "kernels: PTX as compiled from the sources"
scripts/ptx --check

# The kernels run on the host twice: plainly among all tests, and then under AddressSanitizer.
export GRAPHLUME_EMU_ASAN=1

stage "release build"
cargo build --release --locked --workspace --all-targets --quiet
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

stage "unit and integration tests"
# The test harness tells how long each test took; for that it wants to be told that unstable options are welcome. The
# compiler is not told, or it would build everything again.
triple=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
limited env "CARGO_TARGET_${triple}_RUNNER=env RUSTC_BOOTSTRAP=1" cargo test --release --locked --workspace --lib --bins --tests \
    -- -Z unstable-options --report-time >"$records/unit" 2>&1 || { python3 scripts/test_times.py failures "$records/unit"; exit 1; }
grep -c ' \.\.\. ok' "$records/unit" | sed 's/$/ tests passed/'
limited cargo test --release --locked --workspace --doc --quiet

stage "kernels under AddressSanitizer"
kernel_tests
limited env "CARGO_TARGET_${triple}_RUNNER=env GRAPHLUME_EMU=asan ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$(g++ -print-file-name=libasan.so)" \
    cargo test --release --locked --quiet "${KERNEL_TESTS[@]}"

stage "fuzz targets"
scripts/fuzz.sh "${GRAPHLUME_FUZZ_SECONDS:-60}"

stage "page unit tests"
(cd shell/web && npm run --silent test)

export GRAPHLUME_BIN=$BIN
client_modules
older_python_client
stage "end-to-end tests"
args=(-q -rs -p no:cacheprovider --junitxml="$records/e2e.xml")
[ -n "${GRAPHLUME_TEST_QUICK:-}" ] && args+=(-k "not fifty_viewers and not kill_in_the_middle and not takes_a_minute")
limited "$VENV/bin/python" -m pytest tests/e2e "${args[@]}"
stage "done"
python3 scripts/test_times.py slowest "$records"
if [ -n "$commit" ] && [ "$commit" = "$(git rev-parse HEAD)" ] && [ -z "${GRAPHLUME_TEST_QUICK:-}" ]; then
    echo "$commit $(($(date +%s) - started))" >"$CACHE/last-passed"
fi
