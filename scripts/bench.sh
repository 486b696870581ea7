#!/usr/bin/env bash
# Whether a binary is slower than another one, within 8 minutes: scripts/bench.sh OLD NEW [--worse PERCENT]; with --large
# within 15, at the sizes that people have, in memory and quality, too.
# Exit status 1: NEW is worse by more than that (default 3); 2: not decided. --help tells the rest, bench/README.md how
# to read the table.
source "$(dirname "$0")/lib.sh"
need_venv "$ROOT/tests/requirements.txt"
exec "$VENV/bin/python" "$ROOT/bench/pairs.py" --files "$CACHE/bench" "$@"
