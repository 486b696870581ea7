"""Runs the checks that a change needs, and says which it leaves out. Called by scripts/check.sh, which prepares the machine.

usage: check.py [--list] [PATH ...]
"""

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOUSE_RULES = "graphlume-tests"
SERVER = "graphlume"


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def changed():
    """Paths that differ from main: in commits of this branch, in the working tree, and new ones."""
    base = output("git", "merge-base", "HEAD", "main").strip()
    names = output("git", "diff", "--name-only", base) + output("git", "ls-files", "--others", "--exclude-standard")
    return sorted(set(names.split()))


def members():
    """{crate: (folder, crates of ours that it depends on, test dependencies too)}."""
    packages = json.loads(output("cargo", "metadata", "--no-deps", "--offline", "--format-version=1"))["packages"]
    names = {p["name"] for p in packages}
    return {p["name"]: (Path(p["manifest_path"]).parent.relative_to(ROOT),
                        {d["name"] for d in p["dependencies"]} & names) for p in packages}


def crate_of(path, crates):
    """The crate whose folder holds the file; the server's own are src, build.rs and the manifests of the root."""
    inside = [(len(folder.parts), name) for name, (folder, _) in crates.items()
              if name != SERVER and folder in Path(path).parents]
    if inside:
        return max(inside)[1]
    return SERVER if path.startswith("src/") or path in ("build.rs", "Cargo.toml", "Cargo.lock") else None


def dependents(chosen, crates):
    """The crates that the chosen ones are compiled into, and these themselves."""
    found = set(chosen)
    while more := {n for n, (_, needs) in crates.items() if needs & found} - found:
        found |= more
    return found


def plan(paths):
    """What to run for these paths: crates, their dependents, end-to-end files, and flags for the page and the scripts."""
    crates = members()
    direct = {c for c in (crate_of(p, crates) for p in paths) if c}
    # The page and the kernels are compiled into a crate that lies elsewhere. The page's tests hold the samples of pictures.
    page = any(p.startswith(("shell/web/", "engine/raster/samples/")) for p in paths)
    covers = tomllib.loads((ROOT / "tests/e2e/covers.toml").read_text())
    areas = direct | ({"page"} if page else set())
    files = {f for area in areas for f in covers.get(area, [])}
    files |= {Path(p).name for p in paths if p.startswith("tests/e2e/test_") and (ROOT / p).is_file()}
    if any(p in ("tests/e2e/conftest.py", "tests/requirements.txt") for p in paths):
        files |= set(covers["harness"])
    scripts = [p for p in paths if p.startswith(("scripts/", "bench/")) and p.endswith((".py", ".sh"))]
    return {"direct": sorted(direct), "all": sorted(dependents(direct, crates)), "page": page, "scripts": bool(scripts),
            "files": sorted(files), "every_file": {f.name for f in (ROOT / "tests/e2e").glob("test_*.py")}}


def packages(names):
    return [word for name in sorted(names) for word in ("-p", name)]


def steps(todo):
    """(title, command) of each step; the server always takes part, so that dependencies keep the features they have in it."""
    yield "formatting", ["cargo", "fmt", "--all", "--check"]
    if todo["direct"]:
        yield "clippy", ["cargo", "clippy", "--locked", "--quiet", "--all-targets", *packages({*todo["direct"], SERVER}), "--",
                         "-D", "warnings"]
    chosen = packages({*todo["all"], SERVER, HOUSE_RULES})
    kinds = ["--lib", "--bins", "--tests"] if todo["direct"] else ["--test", "tidy", "--test", "house"]
    yield "unit tests", [sys.executable, "scripts/unit_tests.py", "--times", f"{os.environ['CACHE']}/unit-times.json", "--",
                         *chosen, *kinds]
    if todo["page"]:
        yield "the page's types", ["npm", "--prefix", "shell/web", "run", "--silent", "check"]
        yield "page unit tests", ["npm", "--prefix", "shell/web", "run", "--silent", "test"]
    yield "published figures", [sys.executable, "bench/published.py", "--check"]
    if todo["scripts"]:
        yield "tests of scripts", ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/bench", "tests/scripts"]
    if todo["files"]:
        yield "the server", ["cargo", "build", "--locked", "--quiet", "--workspace", "--bins", "--lib"]
        yield "end-to-end tests", ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder",
                                   *(f"tests/e2e/{f}" for f in todo["files"])]


def left_out(todo):
    rest = sorted(todo["every_file"] - set(todo["files"]))
    yield f"{len(rest)} of {len(todo['every_file'])} end-to-end files"
    yield "kernels under AddressSanitizer, tests in documentation, licences, PTX"
    if others := [c for c in todo["all"] if c not in todo["direct"]]:
        yield f"clippy of {', '.join(others)}"
    if not todo["page"]:
        yield "the page's own tests"


def main(arguments):
    only_list = "--list" in arguments
    paths = [str(Path(p).resolve().relative_to(ROOT)) for p in arguments if p != "--list"] or changed()
    if not paths:
        sys.exit("nothing differs from main; name the paths to check")
    todo = plan(paths)
    print(f"{len(paths)} changed: crates {', '.join(todo['direct']) or 'none'}; compiled into {', '.join(todo['all']) or 'none'}")
    env = {**os.environ, "GRAPHLUME_BIN": os.environ.get("BIN", "")}
    failed, began = [], time.monotonic()
    for title, command in steps(todo):
        print(f"==> {title}" + (f": {' '.join(command)}" if only_list else ""), flush=True)
        if only_list:
            continue
        start = time.monotonic()
        if subprocess.run(command, cwd=ROOT, env=env).returncode:
            failed.append(title)
        print(f"    {time.monotonic() - start:.0f} s", flush=True)
        if failed and failed[-1] in ("clippy", "the server"):
            break  # What does not compile has no tests.
    print("left out (scripts/test.sh runs all):\n" + "\n".join(f"  {line}" for line in left_out(todo)))
    print(f"{'FAILED: ' + ', '.join(failed) if failed else 'passed'} ({time.monotonic() - began:.0f} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
