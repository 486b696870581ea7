"""The page is built again when a file that goes into it has changed, and only then (build_web of scripts/lib.sh)."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "shell/web"
# What the page's build reads elsewhere in the repository, as dev/bound-files.mjs and dev/flag-shapes.mjs name it.
OUTSIDE = [f"engine/raster/{folder}/{name}"
           for folder, name in re.findall(r"join\(raster, '(\w+)', '([\w.]+)'\)", (WEB / "dev/bound-files.mjs").read_text())]
OUTSIDE += re.findall(r"new URL\('[./]*/(engine/raster/[\w./]+)'", (WEB / "dev/flag-shapes.mjs").read_text())
OWN = ["src/main.ts", "public/x.svg", "graph.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json",
       "licences/x.txt", "dev/bound-files.mjs", "dev/flag-shapes.mjs", "dev/flag-paths.mjs"]
# What npm and node are in the checkout: each build adds a line.
NPM = """#!/bin/sh
[ "$1" != run ] && exit
[ "$(pwd)" -ef "$WEB" ] || exit 1
mkdir -p dist && echo built >>dist/builds
"""


@pytest.fixture
def checkout(tmp_path):
    """A checkout with one file of each kind that the page is built from, and a build that only counts."""
    root = tmp_path / "checkout"
    for path in [*(f"shell/web/{path}" for path in OWN), *OUTSIDE]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("before")
    (root / "scripts").mkdir()
    (root / "bin").mkdir()
    shutil.copy(ROOT / "scripts/lib.sh", root / "scripts/lib.sh")
    (root / "shell/web/node_modules").mkdir()
    for name, text in (("npm", NPM), ("node", "#!/bin/sh\necho v0\n")):
        (root / "bin" / name).write_text(text)
        (root / "bin" / name).chmod(0o755)
    return root


def builds(root):
    """How often the page has been built after one more call."""
    env = {"PATH": f"{root / 'bin'}:/usr/bin:/bin", "HOME": str(root), "WEB": str(root / "shell/web")}
    subprocess.run(["bash", "-c", "source scripts/lib.sh; build_web"], cwd=root, env=env, check=True, capture_output=True)
    return len((root / "shell/web/dist/builds").read_text().splitlines())


def test_the_files_from_elsewhere_are_found():
    assert len(OUTSIDE) == 3 and all((ROOT / path).is_file() for path in OUTSIDE), OUTSIDE


@pytest.mark.parametrize("changed", [*(f"shell/web/{path}" for path in OWN), *OUTSIDE])
def test_a_changed_file_of_the_page_builds_it_again(checkout, changed):
    assert builds(checkout) == 1
    assert builds(checkout) == 1, "nothing has changed"
    (checkout / changed).write_text("after")
    assert builds(checkout) == 2, f"{changed} has changed"
    assert builds(checkout) == 2
