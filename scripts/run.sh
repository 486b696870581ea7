#!/usr/bin/env bash
# Installs what is missing, builds the page and the server, and starts the server with a demo graph.
# Further arguments go to `graphlume serve`, for example: scripts/run.sh --listen 0.0.0.0:8000
source "$(dirname "$0")/lib.sh"
need_rust
need_node
build_web
build_server
exec "$BIN" serve --demo --supervise "$@"
