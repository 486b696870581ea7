"""Every name of the registry with absurd parameters, on a graph on which that takes for ever: it ends at the limit of a
query, is refused by name, or answers, and takes no more memory than it may.

How late a call ends is told by the processor time of its busiest thread, which other work on the machine only lowers: a
thread that does not look at its limit goes on computing. The parameters are made of the ranges that `graphlume print
algorithms` names, so that a new algorithm has its row at once. GRAPHLUME_LONG=1 takes three seconds a call and parameters
at both ends of their ranges."""

import os
import random
import re
import time
from pathlib import Path

import pytest

from conftest import PASSWORD, Server, run_cli

LONG = bool(os.environ.get("GRAPHLUME_LONG"))
NODES, EDGES = 12_000, 80_000
LIMIT_S = 3 if LONG else 1
# How much of its limit a call may take.
LATE = 1.5
MEMORY = 1 << 30
TICKS = os.sysconf("SC_CLK_TCK")
# The calls of GFQL by what the registry's names begin with.
CALLS = {"cugraph": "compute_cugraph", "igraph": "compute_igraph", "networkx": "compute_nx", "nx": "compute_nx"}
# What is less than the memory that an answer of so many rows takes.
REST = 400 << 20


def number(text):
    return float(text.replace(",", ""))


def registry():
    """[(kind, library, name, {parameter: (type, low, high)})] as the binary prints it."""
    found, kind, ranges, names = [], None, {}, []

    def close():
        found.extend((kind, *name.split(".", 1), dict(ranges)) for name in names)
        names.clear()
        ranges.clear()

    for line in run_cli("print", "algorithms").stdout.splitlines():
        if line.startswith(("## ", "### ")):
            close()
            if line.startswith("## "):
                kind = line[3:].lower()
        elif line.startswith(("`", "[`")) and not names:
            names.extend(re.findall(r"`([a-z]+\.\w+)`", line))
        elif m := re.match(r"\| (\w+) \| (int|float), ([-\d.e+]+) to ([-\d.e+]+) \|", line):
            ranges[m[1]] = (m[2], number(m[3]), number(m[4]))
    close()
    return found


def absurd(ranges, low):
    """Whole numbers at the end of their range, and of the others those at one end of it: a tolerance of 0 is as hard as an
    exponent of a million."""
    def at(kind, least, most):
        value = least if kind == "float" and low else most
        return int(value) if kind == "int" else value
    return {name: at(*of) for name, of in ranges.items() if name != "random_state"}


def threads(pid):
    """Processor seconds of each thread."""
    spent = {}
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # A thread that has just ended.
        spent[path.parent.name] = (int(fields[11]) + int(fields[12])) / TICKS
    return spent


def busiest(before, after):
    return max(after[t] - before.get(t, 0.0) for t in after)


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limits")
    run_cli("user", "add", "mallory", "--password-stdin", "--data", folder / "data", input=PASSWORD + "\n")
    s = Server(folder / "data", "--memory", str(MEMORY), "--backend", "cpu", "--query-seconds", str(LIMIT_S)).start()
    yield s
    assert s.stop() == 0, s.output()


def test_every_algorithm_and_layout_ends_with_its_query(hasty):
    draw = random.Random(2)
    rows = "s,d\n" + "".join(f"{draw.randrange(NODES)},{draw.randrange(NODES)}\n" for _ in range(EDGES))
    api = hasty.api("mallory", PASSWORD)
    dataset = api.dataset([api.file(rows.encode(), "csv")["file_id"]])
    names = registry()
    assert len(names) > 90 and {kind for kind, *_ in names} == {"algorithms", "layouts"}, len(names)
    pid, odd, ends = hasty.process.pid, [], {}
    for kind, library, name, ranges in names:
        for low in ((True, False) if LONG else (True,)):
            layout = kind == "layouts"
            function = f"layout_{library}" if layout else CALLS[library]
            params = {"layout" if layout else "alg": name, "params": absurd(ranges, low)}
            before = threads(pid)
            r = api("POST", f"/api/v2/datasets/{dataset}/gfql/shape",
                    json={"gfql_query": [{"type": "Call", "function": function, "params": params}], "format": "json"})
            late = busiest(before, threads(pid))
            after = threads(pid)
            time.sleep(0.05)
            left = busiest(after, threads(pid))
            ends[r.status_code] = ends.get(r.status_code, 0) + 1
            if r.status_code not in (200, 400, 413, 422, 504) or late > LATE * LIMIT_S or left > 0.04:
                odd.append(f"{library}.{name} {params['params']}: {r.status_code} after {late:.2f} s of its busiest thread, "
                           f"{left:.2f} s left; {r.text[:200]}")
    status = Path(f"/proc/{pid}/status").read_text()
    peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024
    print(f"{len(names)} names, {ends}, peak {peak >> 20} MiB")
    assert not odd, "\n".join(odd)
    assert ends.get(504, 0) >= 5, f"the graph is too small for its limit: {ends}"
    assert peak < MEMORY + REST, f"{peak >> 20} MiB"
    assert "panic" not in hasty.output()


def test_square_memory_is_refused_before_it_is_taken(hasty):
    """A number for each pair of 10,000 nodes takes 1.6 GB, which a query has not where the server has one."""
    api = hasty.api("mallory", PASSWORD)
    draw = random.Random(3)
    rows = "s,d\n" + "".join(f"{v},{draw.randrange(10_000)}\n" for v in range(10_000))
    dataset = api.dataset([api.file(rows.encode(), "csv")["file_id"]])
    for name in ("bibcoupling", "cocitation"):
        def asked(**params):
            call = {"type": "Call", "function": "compute_igraph", "params": {"alg": name, "params": params}}
            return api("POST", f"/api/v2/datasets/{dataset}/gfql/shape", json={"gfql_query": [call], "format": "json"})
        r = asked()
        assert r.status_code == 413 and "query-out-of-memory" in r.text and "compute_igraph" in r.text, r.text
        # Some nodes take what they need.
        assert asked(vertices=["1", "2"]).status_code == 200
