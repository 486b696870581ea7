#!/usr/bin/env python3
"""Whether the binary NEW is slower than OLD: ten figures, each measured in pairs of runs directly one after the other.

    scripts/bench.sh OLD NEW [--large] [--worse PERCENT] [--only figure,figure] [--budget SECONDS] [--json FILE]

The speed of a shared machine changes by half within minutes, so that only what ran side by side is compared: each pair
(OLD NEW, the next one NEW OLD) gives one ratio NEW / OLD. A figure shows the median of the ratios and a 95 % interval of
it. `worse` says that the whole interval lies above the bound, `fine` that it lies below; otherwise the figure gets up to
three rounds of pairs more, those with the widest interval first, and is `not decided` after them or when the time is up.
`--large` measures the sizes that people have instead, in fifteen minutes: time, peak memory and quality each have a row and
a verdict. How to read the table: bench/README.md.

Exit status: 0 no figure is worse, 1 some are, 2 none is but some are not decided, 3 a measurement failed, 64 wrong usage.
"""

import argparse
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

NAMES = ("social", "hops", "filter", "http small", "pagerank", "louvain", "force_atlas2", "csv", "parquet", "upload")
LARGE_NAMES = ("pagerank", "components", "louvain", "leiden", "force_atlas2", "social", "scans", "uploads", "picture")
# Seconds of the whole time, unless the caller says otherwise.
BUDGET, LARGE_BUDGET = 480.0, 900.0
# What a value of a measure is shown as; seconds are milliseconds unless it stands here.
SHOWN = {"memory": ("MiB", 2.0 ** -20), "quality": ("1 / modularity", 1.0)}
# Pairs of a round, and rounds after the first one. Nine is the least odd number whose interval may leave out an outlier
# on either side.
ROUND, ROUNDS_MORE = 9, 3
CONFIDENCE = 0.95
# What the first pair of a figure is taken to need at most, in seconds.
FIRST_PAIR = 15.0
WORSE, FASTER, FINE, OPEN = "worse", "faster", "fine", "not decided"
FAILED, USAGE = 3, 64


# The statistics.

def interval(values, confidence=CONFIDENCE):
    """An interval that holds the median with at least this confidence, whatever the distribution: two of the sorted
    values, as far inside as possible. Without end where there are too few values."""
    values, n = sorted(values), len(values)
    tail, inside = 0.0, None
    for k in range((n + 1) // 2):
        # The median lies below value k only when at most k of n values lie below it.
        tail += math.comb(n, k) / 2 ** n
        if 1 - 2 * tail < confidence:
            break
        inside = k
    return (0.0, math.inf) if inside is None else (values[inside], values[n - 1 - inside])


def decide(bounds, percent):
    """What an interval of ratios says about a bound in per cent."""
    low, high = bounds
    if low > 1 + percent / 100:
        return WORSE
    if high < 1 - percent / 100:
        return FASTER
    return FINE if high < 1 + percent / 100 else OPEN


def ratio(pair, measure, part=None):
    """NEW / OLD of a pair: of one part, or the geometric mean of those of all parts."""
    old, new = pair["old"][measure], pair["new"][measure]
    return math.exp(statistics.fmean(math.log(new[p] / old[p]) for p in ([part] if part else old)))


@dataclass
class Row:
    """A figure and the pairs of it so far."""

    figure: object
    percent: float
    pairs: list = field(default_factory=list)
    # Seconds of the longest pair.
    longest: float = 0.0

    def bounds(self, measure, part=None, confidence=CONFIDENCE):
        return interval([ratio(p, measure, part) for p in self.pairs], confidence)

    def steadier(self):
        """The measure that decides: the one with the narrower interval."""
        width = lambda m: (b := self.bounds(m))[1] - b[0]
        return min(self.figure.deciding, key=width)

    def parts(self, measure=None):
        """The parts that are worse by themselves, with their ratios. All intervals together have the confidence."""
        measure = measure or self.steadier()
        names = list(self.pairs[0]["old"][measure]) if self.pairs else []
        if len(names) < 2:
            return {}
        confidence = 1 - (1 - CONFIDENCE) / len(names)
        worse = [n for n in names if decide(self.bounds(measure, n, confidence), self.bound(measure)) == WORSE]
        return {n: statistics.median(ratio(p, measure, n) for p in self.pairs) for n in worse}

    def measures(self):
        """The measures that have a row of their own: all of them, where each has to be fine by itself."""
        return self.figure.deciding if self.each() else (self.steadier(),)

    def each(self):
        return getattr(self.figure, "each", False)

    def bound(self, measure):
        """The bound of a measure in per cent; one that scatters more by itself has a wider one."""
        return max(self.percent, getattr(self.figure, "scatter", {}).get(measure, 0.0))

    def verdict_of(self, measure):
        return WORSE if self.parts(measure) else decide(self.bounds(measure), self.bound(measure))

    def verdict(self):
        """A measure or a part that is worse is enough, for a server that waits needs no CPU; else the steadier measure decides."""
        if self.each():
            verdicts = [self.verdict_of(m) for m in self.figure.deciding]
            return next((v for v in (WORSE, OPEN, FINE) if v in verdicts), FASTER)
        if self.parts() or any(decide(self.bounds(m), self.percent) == WORSE for m in self.figure.deciding):
            return WORSE
        return decide(self.bounds(self.steadier()), self.percent)

    def same_work(self):
        return all(p["old"].get("work") == p["new"].get("work") for p in self.pairs)


# The order of the measurements.

def first_of(number):
    """Which side a pair begins with, so that what the second run gets from the first cancels out."""
    return "new" if number % 2 else "old"


def first_pair(row):
    return getattr(row.figure, "first_pair", FIRST_PAIR)


def widest(row):
    """The width of the interval that keeps a figure from being decided."""
    return max((b := row.bounds(m))[1] - b[0] for m in row.measures())


def round_of(row, binaries, end, clock):
    """Pairs for one figure; none is started that would end after `end`. Whether there was time for all."""
    for _ in range(getattr(row.figure, "round", ROUND)):
        begin = clock()
        if begin + (row.longest or first_pair(row)) > end:
            return False
        row.pairs.append(row.figure.pair(binaries, first_of(len(row.pairs))))
        row.longest = max(row.longest, clock() - begin)
    return True


def measure(rows, binaries, budget, clock=time.monotonic, tell=lambda row, whole: None):
    """A round for every figure, then the time that is left for those that are not decided, the widest interval first."""
    end = clock() + budget
    for i, row in enumerate(rows):
        # Every figure may use its share of what is left, so that a slow machine leaves none out.
        share = (end - clock()) / (len(rows) - i)
        tell(row, round_of(row, binaries, min(end, clock() + max(share, 2 * first_pair(row))), clock))
    for _ in range(ROUNDS_MORE):
        for row in sorted((r for r in rows if r.verdict() == OPEN), key=widest, reverse=True):
            before = len(row.pairs)
            whole = round_of(row, binaries, end, clock)
            if len(row.pairs) > before:
                tell(row, whole)


def status(rows):
    verdicts = [row.verdict() for row in rows]
    return 1 if WORSE in verdicts else 2 if OPEN in verdicts else 0


# What is printed.

def cells(row, measure=None):
    """The cells of a figure in the table, or of one measure of it."""
    chosen, figure = measure or row.steadier(), row.figure
    unit, factor = SHOWN.get(chosen, ("ms", 1e3))
    words = figure.measure
    if row.each():
        words = ", ".join(w for w in (f"{chosen}, {unit}", words) if w)
    elif len(figure.deciding) > 1:
        others = [f"{m} {statistics.median(ratio(p, m) for p in row.pairs):.3f}" for m in figure.deciding if m != chosen]
        words = f"{chosen} {words} ({', '.join(others)})" if row.pairs else words
    if not row.pairs:
        return [figure.name, words, "-", "-", "-", "-", "0", OPEN]
    middle = lambda side: statistics.median(
        factor * statistics.geometric_mean(p[side][chosen].values()) for p in row.pairs)
    low, high = row.bounds(chosen)
    shown = f"{low:.3f} to {high:.3f}" if high < math.inf else "too few pairs"
    verdict, worse = (row.verdict_of(chosen) if row.each() else row.verdict()), row.parts(chosen)
    if worse:
        verdict += f" ({', '.join(f'{name} {r:.2f}' for name, r in worse.items())})"
    elif verdict == WORSE and not row.each():
        by = [m for m in figure.deciding if decide(row.bounds(m), row.percent) == WORSE]
        verdict += f" (by {' and '.join(by)})" if chosen not in by else ""
    if not row.same_work():
        verdict += ", other work"
    return [figure.name, words, f"{middle('old'):.3f}", f"{middle('new'):.3f}",
            f"{statistics.median(ratio(p, chosen) for p in row.pairs):.3f}", shown, str(len(row.pairs)), verdict]


def table(rows, heading):
    lines = [heading, "", "| figure | measure | OLD | NEW | ratio | interval | pairs | verdict |", "|---|---|---|---|---|---|---|---|"]
    lines += [f"| {' | '.join(cells(row, m if row.each() else None))} |" for row in rows for m in row.measures()]
    named = lambda verdict: ", ".join(r.figure.name for r in rows if r.verdict() == verdict)
    last = [f"{verdict}: {named(verdict)}" for verdict in (OPEN, WORSE) if named(verdict)]
    return "\n".join([*lines, "", *(last or ["no figure is worse"])])


def record(rows, percent):
    """All pairs, for a file."""
    return {"percent": percent, "figures": [
        {"name": r.figure.name, "verdict": r.verdict(), "measure": r.steadier(), "interval": r.bounds(r.steadier()),
         "intervals": {m: r.bounds(m) for m in r.figure.deciding},
         "pairs": [{"first": first_of(i), **p} for i, p in enumerate(r.pairs)]}
        for r in rows if r.pairs]}


# The command.

class Arguments(argparse.ArgumentParser):
    """Wrong usage has a status of its own, for 2 means `not decided`."""

    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"error: {message}\n")


def arguments():
    p = Arguments(prog="scripts/bench.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("old", metavar="OLD", type=Path, help="the graphlume binary to compare with")
    p.add_argument("new", metavar="NEW", type=Path, help="the graphlume binary to judge")
    p.add_argument("--worse", type=float, default=3.0, metavar="PERCENT", help="the bound (default 3)")
    p.add_argument("--large", action="store_true", help="the sizes that people have, by time, peak memory and quality")
    p.add_argument("--only", metavar="FIGURES", help=f"some figures, with commas, of: {', '.join(NAMES)}; "
                                                     f"with --large of: {', '.join(LARGE_NAMES)}")
    p.add_argument("--budget", type=float, metavar="SECONDS",
                   help=f"the whole time (default {BUDGET:g}, with --large {LARGE_BUDGET:g})")
    p.add_argument("--json", type=Path, metavar="FILE", help="a file for all pairs")
    # Where the input files are kept; scripts/bench.sh says it.
    p.add_argument("--files", type=Path, required=True, metavar="FOLDER", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.budget is None:
        args.budget = LARGE_BUDGET if args.large else BUDGET
    if args.worse <= 0 or args.budget <= 0:
        p.error("--worse and --budget are numbers above 0")
    known = LARGE_NAMES if args.large else NAMES
    args.names = args.only.split(",") if args.only else list(known)
    for name in args.names:
        if name not in known:
            p.error(f"there is no figure {name!r}; there are {', '.join(known)}")
    for binary in (args.old, args.new):
        if not binary.is_file() or not os.access(binary, os.X_OK):
            p.error(f"{binary} is no program that can be run; give the paths of two graphlume binaries")
    args.versions = []
    for binary in (args.old, args.new):
        said = (subprocess.run([binary.resolve(), "--version"], capture_output=True, text=True).stdout.splitlines() or [""])[0]
        if not said.startswith("graphlume "):
            p.error(f"{binary} is no graphlume: --version says {said!r}")
        args.versions.append(said.removeprefix("graphlume "))
    return args


def copies(args, folder):
    """Copies of both binaries at paths of equal length: the length of a program's path moves its stack."""
    made = {}
    for side, source in (("old", args.old), ("new", args.new)):
        (folder / side).mkdir()
        made[side] = Path(shutil.copy2(source, folder / side / "graphlume"))
    return made


def say(*words):
    print(*words, sep="  ", file=sys.stderr, flush=True)


def out_of_time(*_):
    raise TimeoutError("a measurement hangs: the whole run took a minute more than its budget")


def told_to_end(*_):
    """Ends the run as an exception does, so that the servers and the copies go with it."""
    raise InterruptedError("the run was told to end")


def main():
    begin = time.monotonic()
    args = arguments()
    # Brings pandas, the servers of the end-to-end tests and the other benches, which the statistics do without.
    import large_figures
    import pair_figures

    made = large_figures if args.large else pair_figures
    signal.signal(signal.SIGALRM, out_of_time)
    signal.signal(signal.SIGTERM, told_to_end)
    load = lambda: " ".join(f"{x:.1f}" for x in os.getloadavg())

    def tell(row, whole):
        say(f"{time.monotonic() - begin:4.0f} s", *cells(row), "" if whole else "(no time for a whole round)")

    with tempfile.TemporaryDirectory(prefix="graphlume-pairs-") as tmp:
        binaries = copies(args, Path(tmp))
        signal.alarm(math.ceil(args.budget) + 60)
        rows = [Row(f, args.worse) for f in made.figures(args.names, args.files, binaries["old"], tmp)]
        before = load()
        measure(rows, binaries, args.budget - (time.monotonic() - begin), tell=tell)
        signal.alarm(0)
    old, new = args.versions
    heading = (f"### OLD: {old}; NEW: {new}\n\nBound {args.worse:g} %, load {before} before and {load()} after, "
               f"{time.monotonic() - begin:.0f} s.")
    if args.json:
        args.json.write_text(json.dumps(record(rows, args.worse), indent=1))
    print(table(rows, heading))
    return status(rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as e:  # noqa: BLE001: status 1, which Python would end with, means that a figure is worse
        traceback.print_exc()
        detail = (getattr(e, "stderr", None) or b"").decode(errors="replace").strip()
        say(f"error: a measurement failed: {e}", detail)
        sys.exit(FAILED)
