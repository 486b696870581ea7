#!/usr/bin/env python3
"""Scans of one table: Graphlume through HTTP beside DuckDB and polars in the same minutes, on two threads each.

    columns.py --bin graphlume [--edges 1000000] [--rounds 7]

Conditions, groups, orders and aggregates over the properties of edges and of nodes (a tenth as many), and all edges as
JSON, CSV and Parquet beside DuckDB's COPY. Tables are made here from a seed; peers hold theirs in memory. Every round
runs all sides in turn; the least time of a side counts, and answers are compared before times are. Prints a table for
bench/results: the bar is 1.5 times DuckDB's time, and 2 ms more for HTTP (`over` says how far beyond it a query is).
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/e2e"))

E, N = "MATCH ()-[e]->()", "MATCH (n)"
# Name, Cypher, SQL for DuckDB; the rows are the same.
QUERIES = [
    ("filter on two", f"{E} WHERE e.amount > 100 AND e.count < 50 RETURN count(*)", "select count(*) from e where amount > 100 and count < 50"),
    ("between", f"{E} WHERE 20 <= e.amount <= 30 RETURN count(*)", "select count(*) from e where amount between 20 and 30"),
    ("in", f"{E} WHERE e.count IN [3, 77, 105, 500] RETURN count(*)", "select count(*) from e where count in (3, 77, 105, 500)"),
    ("group, average", f"{E} RETURN e.count % 10, avg(e.amount)", "select count % 10, avg(amount) from e group by 1"),
    ("group by text", f"{E} RETURN e.kind, avg(e.amount), count(*)", "select kind, avg(amount), count(*) from e group by 1"),
    ("text contains", f"{E} WHERE e.note CONTAINS '777' RETURN count(*)", "select count(*) from e where contains(note, '777')"),
    ("text starts, few values", f"{E} WHERE e.kind STARTS WITH 'kind 1' RETURN count(*)", "select count(*) from e where starts_with(kind, 'kind 1')"),
    ("arithmetic sum", f"{E} RETURN sum(e.amount * 2 + e.count)", "select sum(amount * 2 + count) from e"),
    ("distinct count", f"{E} RETURN count(DISTINCT e.count)", "select count(distinct count) from e"),
    ("top ten", f"{E} RETURN e.amount, e.count ORDER BY e.amount DESC, e.count LIMIT 10",
     "select amount, count from e order by amount desc, count limit 10"),
    ("percentile", f"{E} RETURN percentileCont(e.amount, 0.9)", "select quantile_cont(amount, 0.9) from e"),
    ("nodes: filter, sum", f"{N} WHERE n.age > 50 AND n.city CONTAINS '7' RETURN sum(n.score * 2)",
     "select sum(score * 2) from n where age > 50 and contains(city, '7')"),
    ("nodes: group by text", f"{N} RETURN n.city, avg(n.score), count(*)", "select city, avg(score), count(*) from n group by 1"),
    ("nodes: top ten", f"{N} RETURN n.id, n.score ORDER BY n.score LIMIT 10", "select id, score from n order by score limit 10"),
]


def of_polars(e, n):
    """The same in polars, by name."""
    import polars as pl
    c, col = pl.len(), pl.col
    return {
        "filter on two": lambda: e.filter((col("amount") > 100) & (col("count") < 50)).select(c),
        "between": lambda: e.filter(col("amount").is_between(20, 30)).select(c),
        "in": lambda: e.filter(col("count").is_in([3, 77, 105, 500])).select(c),
        "group, average": lambda: e.group_by(col("count") % 10).agg(col("amount").mean()),
        "group by text": lambda: e.group_by("kind").agg(col("amount").mean(), c),
        "text contains": lambda: e.filter(col("note").str.contains("777", literal=True)).select(c),
        "text starts, few values": lambda: e.filter(col("kind").str.starts_with("kind 1")).select(c),
        "arithmetic sum": lambda: e.select((col("amount") * 2 + col("count")).sum()),
        "distinct count": lambda: e.select(col("count").n_unique()),
        "top ten": lambda: e.select("amount", "count").sort("amount", "count", descending=[True, False]).head(10),
        "percentile": lambda: e.select(col("amount").quantile(0.9, "linear")),
        "nodes: filter, sum": lambda: n.filter((col("age") > 50) & col("city").str.contains("7", literal=True)).select((col("score") * 2).sum()),
        "nodes: group by text": lambda: n.group_by("city").agg(col("score").mean(), c),
        "nodes: top ten": lambda: n.select("id", "score").sort("score").head(10),
    }


def tables(m):
    rng = np.random.default_rng(7)
    n = m // 10
    kinds = np.array([f"kind {i:02d}" for i in range(20)])
    e = pd.DataFrame({
        "src": rng.integers(0, n, m), "dst": rng.integers(0, n, m), "amount": np.round(rng.lognormal(3, 1, m), 2),
        "count": rng.integers(0, 1000, m), "kind": kinds[rng.integers(0, 20, m)],
        "note": np.char.add("transfer ", rng.integers(0, m, m).astype(str)),
    })
    cities = np.array([f"city {i}" for i in range(300)])
    v = pd.DataFrame({"id": np.arange(n), "age": rng.integers(18, 90, n), "score": rng.random(n), "city": cities[rng.integers(0, 300, n)]})
    return e, v


def same(a, b):
    """Whether rows are the same in any order, but for rounding."""
    if len(a) != len(b):
        return False
    near = lambda x, y: math.isclose(x, y, rel_tol=1e-9) if isinstance(x, float) or isinstance(y, float) else x == y
    key = lambda row: [str(round(x, 6)) if isinstance(x, float) else str(x) for x in row]
    return all(near(x, y) for r, s in zip(sorted(a, key=key), sorted(b, key=key)) for x, y in zip(r, s))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", required=True)
    p.add_argument("--edges", type=int, default=1_000_000)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--only", help="queries whose name has this text")
    args = p.parse_args()
    os.environ.update(GRAPHLUME_BIN=args.bin, POLARS_MAX_THREADS="2")
    import duckdb
    import polars as pl
    from conftest import Server

    e, v = tables(args.edges)
    with tempfile.TemporaryDirectory() as tmp:
        tmp = Path(tmp)
        e.to_parquet(tmp / "e.parquet")
        v.to_parquet(tmp / "n.parquet")
        duck = duckdb.connect()
        duck.sql("set threads to 2")
        for name in "en":
            duck.sql(f"create table {name} as from '{tmp}/{name}.parquet'")
        polars = of_polars(pl.read_parquet(tmp / "e.parquet"), pl.read_parquet(tmp / "n.parquet"))
        server = Server(tmp / "data").start()
        api = server.api()
        edges, nodes = ([api.file((tmp / f"{name}.parquet").read_bytes(), "parquet")["file_id"]] for name in "en")
        dataset = api.dataset(edges, nodes, edges={"source": "src", "destination": "dst"}, nodes={"node": "id"})

        # Peers compress nothing on the way, either.
        api.session.headers["Accept-Encoding"] = "identity"

        def ask(query, output="nodes", kind="json"):
            r = api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/{output}", json={"gfql_query": query, "format": kind}
                    if isinstance(query, str) else {"gfql_operations": query, "format": kind})
            assert r.status_code == 200, r.text[:500]
            return r.content

        wanted = lambda name: not args.only or args.only in name
        lines = ["| query | Graphlume | DuckDB | polars | over |", "|---|---|---|---|---|"]
        for name, cypher, sql in filter(lambda q: wanted(q[0]), QUERIES):
            own = [list(row.values()) for row in json.loads(ask(cypher))]
            other = duck.sql(sql).fetchall()
            assert same(own, [list(r) for r in other]), f"{name}: {own[:3]} {other[:3]}"
            sides = [lambda: ask(cypher), lambda: duck.sql(sql).fetchall(), polars[name]]
            lines.append(row(name, sides, args.rounds))
        everything = [{"type": "Node"}, {"type": "Edge", "direction": "forward"}, {"type": "Node"}]
        for kind in filter(lambda k: wanted(f"edges as {k}"), ("json", "csv", "parquet")):
            out = tmp / f"out.{kind}"
            copy = {"json": "(format json, array true)", "csv": "(format csv, header)", "parquet": "(format parquet)"}[kind]
            size = len(ask(everything, "edges", kind))
            sides = [lambda: ask(everything, "edges", kind), lambda: duck.sql(f"copy e to '{out}' {copy}")]
            lines.append(row(f"edges as {kind} ({size / 1e6:.0f} MB)", sides, args.rounds))
        server.stop()
    print(f"{args.edges:,} edges, {args.edges // 10:,} nodes; milliseconds, least of {args.rounds}, two threads\n")
    print("\n".join(lines))


def row(name, sides, rounds):
    least = [math.inf] * len(sides)
    for _ in range(rounds + 1):
        for i, side in enumerate(sides):
            began = time.perf_counter()
            side()
            least[i] = min(least[i], (time.perf_counter() - began) * 1e3)
    bar = 1.5 * least[1] + 2
    over = f"{least[0] / bar:.1f} times" if least[0] > bar else ""
    cells = [f"{t:.1f}" for t in least] + [""] * (3 - len(least))
    return f"| {name} | {' | '.join(cells)} | {over} |"


if __name__ == "__main__":
    main()
