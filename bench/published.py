#!/usr/bin/env python3
"""The figures that README and the documents state: measured beside their peers by one command, and held to one file.

    published.py --bin graphlume [--only louvain_rmat16,social] [--budget SECONDS] [--rounds 3] [--gephi COMMAND]
                     measures figures one after the other and writes each to bench/results/published.json at once, with
                     commit, date, machine and ratios; then makes the tables of the documents from that file
    published.py --write             makes the tables of the documents only
    published.py --check [--strict]  status 1 when a document is not what the file says, states a measurement that stands
                     in no file, or names paths that are not there. Warns of figures whose paths changed since they were
                     measured, and of those that never were; with --strict these are errors, too
    published.py --list              names, paths and where each stands

A table stands between `<!-- figures: all -->`, or names with commas, and `<!-- /figures -->`. The figures are listed in
published_figures.py; what looks like a measurement and is none, in published_exceptions.txt. --check and --write need
Python and git only. A budget ends the measurement before a figure that would begin after it; run it again for the others:
those that were measured on this commit are left as they are, unless --only names them.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import published_text as text  # noqa: E402
from published_figures import FIGURES  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
FILE = "bench/results/published.json"
EXCEPTIONS = "bench/published_exceptions.txt"
# Dated records, and documents that programs write.
NOT_READ = ("CHANGELOG.md", "bench/results/", "engine/doc/adr/", "engine/doc/ALGORITHM", "engine/doc/CLIENT_CALLS.md",
            "kernels-ptx/REPORT.md")
# What is compiled into no program.
NO_SOURCE = [":(exclude,glob)**/*.md", ":(exclude,glob)**/tests.rs", ":(exclude,glob)**/*_tests.rs", ":(exclude,glob)**/*.test.ts"]

HELP = ("A number that stands in no file: measure it (bench/published_figures.py), leave it out, link to a dated table, or, where it "
        f"is a limit, a setting or a definition, list it ({EXCEPTIONS}).")


def git(root, *words):
    """What git says, or None where it refuses or is not there."""
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def documents(root):
    """The documents whose figures are checked, by their paths from the root."""
    names = (git(root, "ls-files", "--cached", "--others", "--exclude-standard", "*.md") or "").splitlines()
    return {name: (root / name).read_text(encoding="utf-8") for name in sorted(names)
            if not name.startswith(NOT_READ) and (root / name).is_file()}


def measurements(root):
    """{name: measurement} of the file."""
    path = root / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def exceptions(root):
    """{document: [(place of the exception, excerpt)]}; each line of the list is `document | excerpt | why`."""
    found = {}
    for number, line in enumerate((root / EXCEPTIONS).read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            name, excerpt, _why = line.split(" | ")
            found.setdefault(name, []).append((f"{EXCEPTIONS}:{number}", excerpt))
    return found


def made(root, name, body, figures, measured):
    """A document as the file has it."""
    return text.rendered(body, figures, measured, "../" * name.count("/"))


# The check.

def errors(root, figures):
    """What is wrong with documents, list and file, as lines."""
    measured, excepted, placed = measurements(root), exceptions(root), set()
    known = {f.name for f in figures}
    yield from (f"{FILE}: {name} is no figure of the list" for name in measured if name not in known)
    for figure in figures:
        yield from (f"{figure.name}: there is no {path}" for path in (*figure.paths, figure.record) if not (root / path).exists())
        if figure.name in measured and measured[figure.name]["unit"] != figure.unit:
            yield f"{figure.name}: {FILE} has it in {measured[figure.name]['unit']}, the list in {figure.unit}; measure it again"
        if figure.record and figure.name in measured and (root / figure.record).exists():
            kept = of_record(root, figure)
            if any(measured[figure.name][key] != value for key, value in kept.items()):
                yield f"{figure.name}: {FILE} is not what {figure.record} says; run bench/published.py --only {figure.name}"
    read = documents(root)
    yield from (f"{places[0][0]}: {name} is no document that is read" for name, places in excepted.items() if name not in read)
    for name, body in read.items():
        named = [word for m in text.BLOCK.finditer(body) for word in re.split(r",\s*", m["names"])]
        placed.update(known if "all" in named else named)
        unknown = [word for word in named if word not in known | {"all"}]
        yield from (f"{name}: {word} is no figure of the list" for word in unknown)
        if not unknown and made(root, name, body, figures, measured) != body:
            yield f"{name}: its table is not what {FILE} says; run bench/published.py --write"
        yield from text.unlisted(name, body, excepted.get(name, []))
    yield from (f"{name} stands in no document" for name in sorted(known - placed))


def warnings(root, figures):
    """Figures that say something of an earlier state, or nothing yet, as lines."""
    measured = measurements(root)
    missing = [f.name for f in figures if f.name not in measured]
    if missing:
        yield f"not measured, and in no table: {', '.join(missing)}"
    for figure in (f for f in figures if f.name in measured):
        commit = measured[figure.name]["commit"]
        changed = changes(root, figure, commit)
        if changed is None:
            yield f"{figure.name}: its commit {commit[:12]} is not in this repository"
        elif changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            yield f"{figure.name} was measured on {commit[:12]}, and {changed[0]}{more} changed since"


def changes(root, figure, commit):
    """Files of a figure's paths that differ from a commit; None where the commit is not there."""
    if git(root, "cat-file", "-e", f"{commit}^{{commit}}") is None:
        return None
    return (git(root, "diff", "--name-only", commit, "--", *figure.paths, *NO_SOURCE) or "").splitlines()


def check(root, figures, strict):
    """Prints what is wrong; the exit status."""
    wrong, stale = list(errors(root, figures)), list(warnings(root, figures))
    for line in wrong:
        print(f"error: {line}")
    homeless = sum(line.endswith(text.NO_FILE) for line in wrong)
    if homeless:
        print(HELP)
    for line in stale:
        print(f"{'error' if strict else 'warning'}: {line}")
    print(f"{len(figures)} figures, {homeless} without a file, {len(wrong) - homeless} other errors, {len(stale)} warnings")
    return 1 if wrong or (strict and stale) else 0


# The measurement.

def of_record(root, figure):
    """What a kept record says of a figure: the last line of each program on 100 k nodes, timed in the same way."""
    lines = [json.loads(line) for line in (root / figure.record).read_text(encoding="utf-8").splitlines()]
    rows = {r["library"]: r for r in lines if r["size"] == "100k" and r["method"] == "fence"}
    ours = rows.pop("graphlume")
    value = lambda row: round(row[figure.key] / 1e3, 2)
    peers = {name: {"value": value(r), "ratio": round(r[figure.key] / ours[figure.key], 3), "rounds": 1}
             for name, r in sorted(rows.items()) if figure.key in r}
    return {"value": value(ours), "date": ours["date"][:10], "peers": peers}


def machine():
    """The processor, its cores and its memory."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown")
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "memory_gib": round(size / 2**30)}


def commit_of(binary, root):
    """The commit that a binary was built from, in full."""
    said = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True).stdout
    short = re.search(r"commit (\w+)", said)
    whole = git(root, "rev-parse", "--verify", f"{short[1]}^{{commit}}") if short else None
    if whole is None:
        sys.exit(f"{binary} says {said.strip()!r}, and that commit is not in this repository: build it here")
    return whole


def keep(root, name, measurement):
    """Writes one measurement to the file."""
    measured = {**measurements(root), name: measurement}
    ordered = {f.name: measured[f.name] for f in FIGURES if f.name in measured}
    path = root / FILE
    part = path.with_suffix(".part")
    part.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)


def measure(root, args):
    """Measures what was asked for; the exit status is 1 when a figure failed."""
    import published_measures

    commit, began, failed = commit_of(args.bin, root), time.monotonic(), []
    args.bin = str(Path(args.bin).resolve())
    wanted = args.only.split(",") if args.only else [
        f.name for f in FIGURES if measurements(root).get(f.name, {}).get("commit") != commit]
    if unknown := set(wanted) - {f.name for f in FIGURES}:
        sys.exit(f"no figures: {', '.join(sorted(unknown))}; --list names them")
    for figure in (f for f in FIGURES if f.name in wanted and f.how):
        if time.monotonic() - began > args.budget:
            print(f"the time is up before {figure.name}; run the command again", flush=True)
            break
        if changed := changes(root, figure, commit):
            failed.append(figure.name)
            print(f"{figure.name}: not measured, {changed[0]} differs from the binary's commit", flush=True)
            continue
        start = time.monotonic()
        try:
            found = getattr(published_measures, figure.how[0])(args, *figure.how[1:])
        except (Exception, SystemExit):  # noqa: BLE001: the other figures are measured all the same
            traceback.print_exc()
            failed.append(figure.name)
            continue
        keep(root, figure.name, {"unit": figure.unit, **found, "commit": commit,
                                 "date": datetime.date.today().isoformat(), "machine": machine(),
                                 "load": round(os.getloadavg()[0], 1),
                                 "command": f"bench/published.py --bin graphlume --only {figure.name} --rounds {args.rounds}"})
        print(f"{figure.name}: {text.shown(found['value'])} {figure.unit} ({time.monotonic() - start:.0f} s)", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def read_records(root, args):
    """Puts what the kept records say into the file; their commit is the one that brought the record."""
    for figure in FIGURES:
        if figure.record and (not args.only or figure.name in args.only.split(",")):
            commit = git(root, "log", "-1", "--format=%H", "--", figure.record)
            if not commit:
                sys.exit(f"{figure.record} is in no commit")
            keep(root, figure.name, {"unit": figure.unit, **of_record(root, figure), "commit": commit,
                                     "machine": figure.machine, "record": figure.record, "command": figure.command})


def write(root, figures):
    """Makes the tables of the documents."""
    measured = measurements(root)
    for name, body in documents(root).items():
        fresh = made(root, name, body, figures, measured)
        if fresh != body:
            (root / name).write_text(fresh, encoding="utf-8")
            print(f"written: {name}")


def show(root, figures):
    """The list of figures with the state of each."""
    measured = measurements(root)
    for f in figures:
        m = measured.get(f.name)
        print(f"{f.name}: {f.row}; {m['date'] + ' ' + m['commit'][:12] if m else 'not measured'}; {' '.join(f.paths)}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", help="the graphlume binary that is measured")
    p.add_argument("--only", help="names of figures with commas")
    p.add_argument("--budget", type=float, default=float("inf"), help="seconds after which no figure is begun")
    p.add_argument("--rounds", type=int, default=3, help="of ours and of every peer in turn")
    p.add_argument("--threads", type=int, default=2, help="threads of the peers")
    p.add_argument("--data", type=Path, default=Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "graphlume/published",
                   help="folder of the input files, made when missing")
    p.add_argument("--gephi", help="command that runs Gephi's ForceAtlas2, see peers.py")
    for flag in ("--check", "--strict", "--write", "--list"):
        p.add_argument(flag, action="store_true")
    args = p.parse_args()
    if args.list:
        return show(ROOT, FIGURES)
    if args.check:
        return check(ROOT, FIGURES, args.strict)
    status = 0
    if not args.write:
        read_records(ROOT, args)
        if args.bin:
            status = measure(ROOT, args)
    write(ROOT, FIGURES)
    return status


if __name__ == "__main__":
    sys.exit(main())
