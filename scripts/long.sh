#!/usr/bin/env bash
# The long checks whole, of which the gate (scripts/test.sh) runs a part: scripts/long.sh [SLICE...]
#   scripts/long.sh --list     the slices, and which of them passed on this commit
#   scripts/long.sh --table    the table of what passed, to be kept under bench/results
# A slice that passed on this commit is left out, so that the whole may be run in several sittings: stop it when the
# time is up and start it again. The records lie in the cache folder, by commit.
source "$(dirname "$0")/lib.sh"
cd "$ROOT"
records=$CACHE/long/$(git rev-parse HEAD)
FUZZ_SECONDS=1800 GFQL_PARTS=10 GFQL_ROUNDS=100000 ORACLE_PARTS=10 ORACLE_CASES=334 ORACLE_TEXTS=84 CRASH_PARTS=3

slices() {
    local target part
    for target in tests/fuzz/corpus/*/; do echo "fuzz-$(basename "$target")"; done
    for ((part = 1; part <= GFQL_PARTS; part++)); do echo "gfql-rounds-$part"; done
    for ((part = 1; part <= ORACLE_PARTS; part++)); do echo "gfql-oracle-$part"; done
    for ((part = 1; part <= CRASH_PARTS; part++)); do echo "crash-$part"; done
    echo power-cuts
    echo page
    echo viewers
    echo drawn-requests
    echo algorithms
    echo algorithm-limits
    echo hostile
    echo odd-schedules
    echo packed
}

end_to_end() { env "${@:2}" GRAPHLUME_BIN="$BIN" "$VENV/bin/python" -m pytest -q -p no:cacheprovider $1; }

# run SLICE: prints what it found; the last line is what the table shows.
run() {
    local part=${1##*-}
    case $1 in
    fuzz-*) scripts/fuzz.sh "$FUZZ_SECONDS" "${1#fuzz-}" ;;
    gfql-rounds-*)
        GRAPHLUME_FUZZ_ROUNDS=$GFQL_ROUNDS GRAPHLUME_FUZZ_SEED=$((part * 1000003 + $(date +%Y%m%d))) \
            cargo test --locked --quiet -p graphlume -p graphlume-gfql --lib agrees_with_the_slow -- --nocapture 2>&1 | grep rounds ;;
    # The gate makes 50 cases and 20 texts of each family: more random ones are a search.
    gfql-oracle-*)
        end_to_end tests/e2e/test_gfql_oracle.py GRAPHLUME_ORACLE_CASES=$ORACLE_CASES GRAPHLUME_ORACLE_TEXTS=$ORACLE_TEXTS ;;
    crash-*) end_to_end tests/e2e/test_crash.py GRAPHLUME_LONG=1 ;;
    # On the mock server first, which has states that a real one is hard to bring into.
    page)
        (cd shell/web && npm run --silent page) || return 1
        end_to_end "tests/e2e/test_page.py tests/e2e/test_together.py tests/e2e/test_document.py tests/e2e/test_embed.py tests/e2e/test_embed_examples.py" GRAPHLUME_LONG=1 ;;
    power-cuts)
        GRAPHLUME_TEST_POWER_CUTS=60 cargo test --locked --quiet -p graphlume -p graphlume-storage --lib power_cut -- --nocapture 2>&1 \
            | grep rounds ;;
    viewers) end_to_end "tests/e2e/test_live.py -k fifty_viewers" GRAPHLUME_LONG=1 ;;
    # The gate draws 12 requests of each operation of /openapi.json, always the same ones; here they are random.
    drawn-requests) end_to_end tests/e2e/test_openapi.py GRAPHLUME_DRAWN_REQUESTS=400 ;;
    # The gate compares the algorithms on eight of the thirty graphs.
    algorithms) end_to_end tests/e2e/test_algorithms.py GRAPHLUME_ALL_GRAPHS=1 ;;
    # The gate takes one second a call, and one end of the ranges of parameters; here three, and both ends.
    algorithm-limits) end_to_end "tests/e2e/test_algorithm_limits.py -s" GRAPHLUME_LONG=1 ;;
    # The gate draws 300 hostile requests.
    hostile) end_to_end "tests/e2e/test_hostile.py -s" GRAPHLUME_HOSTILE_DRAWS=3000 ;;
    # The gate runs the quicker kernel tests in two orders of lanes, warps and blocks; here all of them in eight.
    odd-schedules)
        kernel_tests
        python3 scripts/unit_tests.py --odd whole -- "${KERNEL_TESTS[@]}" ;;
    # What is handed to users has its SQL engine compiled another way, and must stay below its size in bytes.
    packed)
        cargo build --locked --quiet --profile dist --bin graphlume
        bytes=$(stat -c %s "$CARGO_TARGET_DIR/dist/graphlume")
        [ "$bytes" -le 80000000 ] || die "the packed binary has $bytes bytes; the limit is 80000000"
        # The programs that compare answers and the emulated card stand beside it, as in the gate.
        cargo build --locked --quiet --workspace --bins --lib
        client_modules
        older_python_client
        folder=$records/packed.folder
        rm -rf "$folder" && mkdir -p "$folder"
        for beside in graphlume-dump graphlume-gfql graphlume-hypergraph graphlume-gpu-suite build; do ln -s "$CARGO_TARGET_DIR/debug/$beside" "$folder/$beside"; done
        cp "$CARGO_TARGET_DIR/dist/graphlume" "$folder/graphlume"
        GRAPHLUME_BIN=$folder/graphlume "$VENV/bin/python" -m pytest tests/e2e -q -p no:cacheprovider -n 2 --dist loadfile --no-loadscope-reorder
        echo "$bytes bytes" ;;
    *) die "$1 is no slice; scripts/long.sh --list names them" ;;
    esac
}

table() {
    printf '# Long checks\n\nCommit %s. Made by `scripts/long.sh`, which says what each slice runs.\n\n' "$(git rev-parse --short=12 HEAD)"
    printf '| slice | day | seconds | result |\n|---|---|---|---|\n'
    slices | while read -r slice; do
        if [ -f "$records/$slice" ]; then cat "$records/$slice"; else printf '| %s | | | not run |\n' "$slice"; fi
    done
}

case ${1:-} in
--list)
    slices | while read -r slice; do [ -f "$records/$slice" ] && echo "$slice passed" || echo "$slice"; done
    exit ;;
--table) table; exit ;;
# One slice in a process of its own: behind `||` the shell would go on after a command that failed.
--one)
    mkdir -p "$records"
    run "$2"
    exit ;;
esac
[ -z "$(git status --porcelain)" ] || die "there are uncommitted changes: the records are kept by commit"
mapfile -t wanted < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else slices; fi)
need_checks
build_server
mkdir -p "$records"
for slice in "${wanted[@]}"; do
    [ ! -f "$records/$slice" ] || { say "$slice passed before"; continue; }
    say "$slice"
    began=$(date +%s)
    "$ROOT/scripts/long.sh" --one "$slice" >"$records/$slice.log" 2>&1 || { tail -40 "$records/$slice.log"; die "$slice failed; its log: $records/$slice.log"; }
    result=$(tail -n 1 "$records/$slice.log" | tr '|' '/')
    printf '| %s | %s | %s | %s |\n' "$slice" "$(date +%F)" "$(($(date +%s) - began))" "$result" >"$records/$slice"
    tail -n 1 "$records/$slice"
done
table
