#!/usr/bin/env bash
# Builds the page into shell/web/dist, from where `cargo build` embeds it.
source "$(dirname "$0")/lib.sh"
need_node
build_web
