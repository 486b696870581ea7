#!/usr/bin/env bash
# Installs what the tests need and runs every test: scripts/test.sh [STAGE...], with the stages lints, build, unit, page and
# end-to-end, all of them by default. Searches for new defects are in scripts/long.sh.
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
chosen=("$@")
for name in "${chosen[@]}"; do
    case $name in lints | build | unit | page | end-to-end) ;; *) die "$name is no stage: lints, build, unit, page, end-to-end" ;; esac
done
wanted() { [ ${#chosen[@]} -eq 0 ] || [[ " ${chosen[*]} " == *" $1 "* ]]; }

stage "what the tests need"
need_checks

if wanted lints; then
    stage "formatting, licences, the page's types, PTX as compiled from the sources, published figures"
    cargo fmt --all --check
    licences
    # The fuzzers are a workspace of their own: a lock file that is behind is said here, and not when somebody fuzzes.
    cargo tree --locked --quiet --manifest-path tests/fuzz/Cargo.toml >/dev/null
    (cd shell/web && node_modules && npm run --silent check)
    scripts/ptx --check
    "$VENV/bin/python" bench/published.py --check
    "$VENV/bin/python" -m pytest -q -p no:cacheprovider --basetemp "$records/scripts" tests/bench tests/scripts
fi

# The kernels run on the host twice: plainly among all tests, and once more under AddressSanitizer.
export GRAPHLUME_EMU_ASAN=1

if wanted build; then
    stage "every program, and clippy"
    cargo build --locked --workspace --all-targets --quiet
    build_folder record
    cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
fi

if wanted unit; then
    stage "unit and integration tests, kernels under AddressSanitizer and in odd orders"
    python3 scripts/unit_tests.py --odd part --times "$CACHE/unit-times.json" --log "$records/unit" --asan "$(g++ -print-file-name=libasan.so)"
    limited cargo test --locked --workspace --doc --quiet >"$records/doc" 2>&1 || { cat "$records/doc"; exit 1; }
    build_folder record
fi

if wanted page; then
    stage "page unit tests"
    (cd shell/web && node_modules && npm run --silent test)
fi

if wanted end-to-end; then
    stage "end-to-end tests"
    # The emulated card and the programs that compare answers, then the server as it is shipped.
    cargo build --locked --quiet --workspace --bins --lib
    build_server
    client_modules
    older_python_client
    GRAPHLUME_BIN=$BIN limited "$VENV/bin/python" -m pytest tests/e2e -q -rs -p no:cacheprovider -n 2 --dist loadfile --no-loadscope-reorder --basetemp "$records/e2e" --junitxml="$records/e2e.xml"
fi
stage "done"
python3 scripts/test_times.py slowest "$records"
if [ -n "$commit" ] && [ "$commit" = "$(git rev-parse HEAD)" ] && [ ${#chosen[@]} -eq 0 ]; then
    echo "$commit $(($(date +%s) - started))" >"$CACHE/last-passed"
fi
