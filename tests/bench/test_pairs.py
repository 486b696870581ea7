"""The statistics and the order of measurements of bench/pairs.py, on ratios that are made up: no server, no binary."""

import ast
import math
import random
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import pair_figures
import pairs


class Made:
    """A figure whose pairs have NEW slower than OLD by `factor`, with noise of `sigma`, and take `seconds` each."""

    def __init__(self, factor, sigma, clock, name="made", deciding=("cpu",), seconds=1.0, parts=("all",), seed=1):
        self.name, self.measure, self.deciding = name, "ms", deciding
        self.factor, self.sigma, self.clock, self.seconds, self.parts = factor, sigma, clock, seconds, parts
        self.rng, self.firsts = random.Random(seed), []

    def factor_of(self, measure, part):
        return self.factor.get(measure, self.factor.get(part, 1.0)) if isinstance(self.factor, dict) else self.factor

    def pair(self, binaries, first):
        self.firsts.append(first)
        self.clock.now += self.seconds
        noisy = lambda: self.rng.lognormvariate(0.0, self.sigma)
        old = {m: {p: 0.1 * noisy() for p in self.parts} for m in self.deciding}
        new = {m: {p: 0.1 * noisy() * self.factor_of(m, p) for p in self.parts} for m in self.deciding}
        return {"old": old, "new": new}


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def measured(figures, clock, budget=480.0, percent=3.0):
    rows = [pairs.Row(f, percent) for f in figures]
    pairs.measure(rows, {}, budget, clock)
    return rows


def test_an_interval_is_two_of_the_sorted_values():
    assert pairs.interval(list(range(9, 0, -1))) == (2, 8)
    assert pairs.interval(list(range(1, 7))) == (1, 6)
    assert pairs.interval(list(range(1, 37))) == (12, 25)
    # Of five values not even the outermost two hold the median with 95 %.
    assert pairs.interval([1.0] * 5) == (0.0, math.inf) == pairs.interval([])


@pytest.mark.parametrize("count", [6, 9, 18, 36])
@pytest.mark.parametrize("shape", ["normal", "heavy", "skewed"])
def test_an_interval_holds_the_median_as_often_as_it_says(count, shape):
    rng = random.Random(f"{count} {shape}")
    draw = {
        "normal": lambda: rng.gauss(0, 1),
        # Student's t with two degrees of freedom: no variance.
        "heavy": lambda: rng.gauss(0, 1) / math.sqrt(rng.expovariate(1)),
        "skewed": lambda: rng.expovariate(1) - math.log(2),
    }[shape]
    tries = 1000
    intervals = [pairs.interval([draw() for _ in range(count)]) for _ in range(tries)]
    held = sum(low <= 0.0 <= high for low, high in intervals)
    # Three standard deviations of a count below 95 %.
    assert held / tries > 0.95 - 3 * math.sqrt(0.95 * 0.05 / tries)
    assert held < tries or count == 6, "an interval that always holds it is too wide"


@pytest.mark.parametrize("bounds, verdict", [
    ((1.031, 1.2), pairs.WORSE),
    ((0.5, 0.969), pairs.FASTER),
    ((0.96, 1.029), pairs.FINE),
    ((1.001, 1.029), pairs.FINE),
    ((1.029, 1.031), pairs.OPEN),
    ((0.9, 1.1), pairs.OPEN),
    ((0.0, math.inf), pairs.OPEN),
])
def test_a_verdict_is_about_the_whole_interval(bounds, verdict):
    assert pairs.decide(bounds, 3.0) == verdict


def test_slow_fast_and_equal_are_told_apart(clock):
    slow, fast, equal = measured([Made(1.08, 0.01, clock, "slow"), Made(0.9, 0.01, clock, "fast"), Made(1.0, 0.01, clock, "equal")], clock)
    assert (slow.verdict(), fast.verdict(), equal.verdict()) == (pairs.WORSE, pairs.FASTER, pairs.FINE)
    assert [len(r.pairs) for r in (slow, fast, equal)] == [pairs.ROUND] * 3
    assert pairs.status([fast, equal]) == 0 and pairs.status([fast, slow, equal]) == 1
    assert pairs.table([fast, slow, equal], "").splitlines()[-1] == "worse: slow"


def test_the_order_within_pairs_alternates(clock):
    figure = Made(1.0, 0.0, clock)
    measured([figure], clock)
    assert figure.firsts == ["old", "new"] * 4 + ["old"]


def test_what_the_spread_hides_gets_three_rounds_more_and_no_others(clock):
    noisy, clear = measured([Made(1.03, 0.2, clock, "noisy"), Made(1.0, 0.005, clock, "clear")], clock)
    assert noisy.verdict() == pairs.OPEN and len(noisy.pairs) == 4 * pairs.ROUND
    assert clear.verdict() == pairs.FINE and len(clear.pairs) == pairs.ROUND
    assert pairs.status([noisy, clear]) == 2
    assert pairs.table([noisy, clear], "").splitlines()[-1] == "not decided: noisy"


def test_more_pairs_decide_what_one_round_does_not(clock):
    row, = measured([Made(1.0, 0.03, clock, seed=1)], clock)
    first = pairs.Row(row.figure, 3.0, row.pairs[:pairs.ROUND])
    assert first.verdict() == pairs.OPEN and row.verdict() == pairs.FINE


def test_equal_binaries_are_fine_and_one_slower_by_a_tenth_is_not(clock):
    verdicts = lambda factor: [measured([Made(factor, 0.02, clock, seed=s)], clock)[0].verdict() for s in range(100)]
    equal, slower = verdicts(1.0), verdicts(1.1)
    assert equal.count(pairs.FINE) >= 95 and pairs.WORSE not in equal
    assert slower == [pairs.WORSE] * 100


def test_nothing_is_started_that_would_overrun_the_time(clock):
    begin = clock.now
    rows = measured([Made(1.0, 0.3, clock, f"f{i}", seconds=7.0, seed=i) for i in range(5)], clock, budget=300.0)
    assert clock.now - begin <= 300.0
    # The first round left no figure without a share, and the rest of the time was used.
    assert all(len(r.pairs) >= 5 for r in rows) and clock.now - begin > 280.0


def test_without_time_for_enough_pairs_nothing_is_decided(clock):
    row, = measured([Made(2.0, 0.0, clock, seconds=10.0)], clock, budget=45.0)
    assert 0 < len(row.pairs) < 6 and row.verdict() == pairs.OPEN
    none, = measured([Made(2.0, 0.0, clock)], clock, budget=1.0)
    assert none.pairs == [] and none.verdict() == pairs.OPEN
    assert pairs.cells(none)[-1] == "not decided"


def test_the_widest_interval_is_looked_at_first(clock):
    told = []
    rows = [pairs.Row(Made(1.03, sigma, clock, name, seed=2), 3.0) for name, sigma in (("wide", 0.1), ("wider", 0.3))]
    pairs.measure(rows, {}, 480.0, clock, lambda row, whole: told.append(row.figure.name))
    assert told[:4] == ["wide", "wider", "wider", "wide"]


def test_one_slow_part_is_named_though_the_mean_is_fine(clock):
    parts = tuple(f"q{i}" for i in range(1, 10))
    row, = measured([Made({"q7": 1.2}, 0.005, clock, "social", parts=parts)], clock)
    assert pairs.decide(row.bounds("cpu"), 3.0) == pairs.FINE
    assert list(row.parts()) == ["q7"] and row.verdict() == pairs.WORSE
    assert pairs.cells(row)[-1].startswith("worse (q7 1.2")


def test_the_steadier_measure_decides_and_a_slow_other_one_is_seen(clock):
    row, = measured([Made({"wall": 1.0}, 0.005, clock, deciding=("cpu", "wall"))], clock)
    assert row.verdict() == pairs.FINE
    # A server that sleeps needs no more CPU: the steadier measure sees nothing.
    wait = Made({"cpu": 1.0, "wall": 1.5}, 0.005, clock, deciding=("cpu", "wall"))
    steady = wait.pair

    def unsteady(binaries, first):
        made = steady(binaries, first)
        made["new"]["wall"]["all"] *= wait.rng.uniform(1.0, 1.2)
        return made

    wait.pair = unsteady
    row, = measured([wait], clock)
    assert row.steadier() == "cpu" and row.verdict() == pairs.WORSE
    assert pairs.cells(row)[-1] == "worse (by wall)"


def test_where_each_measure_counts_none_hides_behind_a_steadier_one(clock):
    def of(factor, sigma=0.002):
        figure = Made(factor, sigma, clock, "louvain", deciding=("cpu", "memory", "quality"))
        figure.each, figure.round = True, 6
        return measured([figure], clock)[0]

    equal = of(1.0)
    assert equal.verdict() == pairs.FINE and len(equal.pairs) == 6 and len(equal.measures()) == 3
    for measure in ("cpu", "memory", "quality"):
        row = of({measure: 1.06})
        assert row.verdict() == pairs.WORSE and pairs.status([row]) == 1
        lines = [line for line in pairs.table([row], "").splitlines() if line.startswith("| louvain")]
        assert [("worse" in line) for line in lines] == [m == measure for m in ("cpu", "memory", "quality")]
    assert of({"cpu": 0.9, "memory": 0.9, "quality": 0.9}).verdict() == pairs.FASTER
    assert of({"cpu": 0.9}).verdict() == pairs.FINE
    # What scatters by itself has a wider bound.
    row = of({"memory": 1.06})
    row.figure.scatter = {"memory": 10.0}
    assert row.verdict() == pairs.FINE
    # Noise in one measure leaves it open, however steady the others are.
    noisy = Made(1.0, 0.0, clock, deciding=("cpu", "memory"))
    noisy.each, steady = True, noisy.pair

    def pair(binaries, first):
        made = steady(binaries, first)
        made["new"]["cpu"]["all"] *= noisy.rng.lognormvariate(0.03, 0.2)
        return made

    noisy.pair = pair
    assert measured([noisy], clock)[0].verdict() == pairs.OPEN


def test_other_work_is_said(clock):
    row, = measured([Made(1.0, 0.001, clock)], clock)
    assert pairs.cells(row)[-1] == "fine"
    row.pairs[0]["new"]["work"] = {"iterations": 3}
    assert pairs.cells(row)[-1] == "fine, other work"


@pytest.mark.parametrize("arguments, said", [
    (["nowhere", sys.executable], "nowhere is no program that can be run"),
    ([sys.executable, __file__], "is no program that can be run"),
    ([sys.executable, sys.executable], "is no graphlume: --version says 'Python"),
    ([sys.executable, sys.executable, "--only", "nothing"], "there is no figure 'nothing'"),
    ([sys.executable, sys.executable, "--worse", "0"], "are numbers above 0"),
    ([sys.executable], "the following arguments are required"),
])
def test_wrong_usage_has_a_status_of_its_own(arguments, said):
    got = subprocess.run([sys.executable, BENCH / "pairs.py", "--files", "unused", *arguments], capture_output=True, text=True)
    assert got.returncode == 64 and got.stdout == ""
    assert got.stderr.startswith("usage: scripts/bench.sh") and said in got.stderr


def test_figures_call_only_what_the_other_benches_have():
    import pair_figures

    benches = {p.stem for p in BENCH.glob("*.py")}
    tree = ast.parse((BENCH / "pair_figures.py").read_text())
    called = {(n.value.id, n.attr) for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
              and n.value.id in benches}
    assert {name for name, _ in called} == {"ingest", "queries", "query_suite", "upload_stages"}
    missing = [f"{name}.{attr}" for name, attr in sorted(called) if not hasattr(getattr(pair_figures, name), attr)]
    assert not missing


# A binary that answers as `graphlume bench --task parse` does.
PARSER = """#!/bin/sh
while [ "$1" != --out ]; do shift; done
echo '{"cpu_seconds": [0.5, 0.25], "seconds": [0.3], "result": {"parse_bytes": 9, "table_bytes": 8, "rows": 7}}' >"$2"
"""


def test_a_file_is_read_by_the_binary_of_each_side(tmp_path):
    binary = tmp_path / "graphlume"
    binary.write_text(PARSER)
    binary.chmod(0o755)
    read = pair_figures.parse(tmp_path / "edges.csv", 2)(str(binary))
    assert read == {"cpu": {"parse": 0.25}, "wall": {"parse": 0.3}, "work": {"rows": 7}}
