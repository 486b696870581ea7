"""A slice of the long checks that fails is no slice that passed (scripts/long.sh)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What scripts/lib.sh gives, without installing and building anything.
LIBRARY = """set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
say() { echo "==> $*" >&2; }
die() { echo "error: $*" >&2; exit 1; }
need_checks() { :; }
build_server() { :; }
client_modules() { :; }
older_python_client() { :; }
"""


@pytest.mark.parametrize("status", [0, 1])
def test_a_slice_passes_only_if_every_command_of_it_does(tmp_path, status):
    checkout, cache = tmp_path / "checkout", tmp_path / "cache"
    programs, target = tmp_path / "bin", tmp_path / "target"
    for folder in (checkout / "scripts", checkout / "tests/fuzz/corpus/csv", programs, target / "dist", cache / "venv/bin"):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "scripts/long.sh", checkout / "scripts/long.sh")
    (checkout / "scripts/lib.sh").write_text(LIBRARY)
    (target / "dist/graphlume").write_text("a program")
    for path, code in ((programs / "cargo", 0), (cache / "venv/bin/python", status)):
        path.write_text(f"#!/bin/sh\nexit {code}\n")
        path.chmod(0o755)
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "PATH": f"{programs}:{os.environ['PATH']}", "CACHE": str(cache), "VENV": str(cache / "venv"),
        "CARGO_TARGET_DIR": str(target), "BIN": "none", "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    named = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*named, "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=checkout, env=env, check=True)
    r = subprocess.run(["scripts/long.sh", "packed"], cwd=checkout, env=env, capture_output=True, text=True)
    assert (r.returncode == 0) == (status == 0), r.stdout + r.stderr
    listed = subprocess.run(["scripts/long.sh", "--list"], cwd=checkout, env=env, capture_output=True, text=True).stdout
    assert ("packed passed" in listed.splitlines()) == (status == 0), listed
