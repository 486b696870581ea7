#!/usr/bin/env python3
"""The shipped server on a GPU, and the same on the processor's cores, driven over HTTP on one machine.

    gpu_server.py --bin graphlume [--edges 2000000] [--persons 1000000] [--parts session,router,social,algorithms]
                  [--out FILE.jsonl]

A line of JSON a row, flushed at once. Both servers hold the same data. `router` asks the thirty queries of
tests/e2e/test_gpu_router.py and `social` the nine questions of query_suite.py: which side `explain` names, the least of
several times on each server, and whether the answers are equal. `algorithms` calls algorithms as GFQL calls, `session`
plays a layout and counts frames. Needs pandas, pyarrow, requests and pytest, and websockets for `session`; ends with
status 1 when answers differ or a part fails.
"""

import argparse
import faulthandler
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/e2e")]

REPEATS = 7
# How long a layout plays before its frames are counted, and while.
WARM_S, PLAY_S = 2.0, 5.0
# What takes longer than this hangs; the program then tells where, and goes on.
PATIENCE_S = 60
ALGORITHMS = ["pagerank", "louvain", "weakly_connected_components", "bfs", "core_number", "triangle_count"]


class Rows:
    """What was measured, and whether anything went wrong."""

    def __init__(self, out):
        self.file, self.wrong = open(out, "w") if out else None, False

    def add(self, **row):
        line = json.dumps(row)
        for file in filter(None, (sys.stdout, self.file)):
            print(line, file=file, flush=True)
        self.wrong |= row.get("equal") is False or "error" in row


def parquet(frame):
    import io

    out = io.BytesIO()
    frame.to_parquet(out, index=False)
    return out.getvalue()


def answered(server, since):
    """Milliseconds of each query that the server's log tells of, from this place in it on."""
    with open(server.data.parent / f"{server.data.name}.log") as log:
        log.seek(since)
        return [float(ms) for ms in re.findall(r' ms=([0-9.]+)', "".join(line for line in log if "/gfql/" in line))]


def least(ask, server):
    """Milliseconds as the server's log tells them: the first time, which copies what the GPU does not have yet, and the
    least of the others; and the least that the engine took in turns of the query, as the server's metrics tell it."""
    log = server.data.parent / f"{server.data.name}.log"
    since = log.stat().st_size
    engine = []
    for _ in range(REPEATS):
        turns, spent = server.metric("query_turns_total"), server.metric("query_seconds_total")
        ask()
        # A turn is counted when its thread is free again, a moment after the answer.
        end = time.monotonic() + 10
        while server.metric("query_turns_total") == turns and time.monotonic() < end:
            time.sleep(0.002)
        engine.append(1_000 * (server.metric("query_seconds_total") - spent))
    end = time.monotonic() + 10
    while len(times := answered(server, since)) < REPEATS and time.monotonic() < end:
        time.sleep(0.02)
    return times[0], min(times[1:]), round(min(engine[1:]), 3)


def canonical(value):
    """An answer with numbers as short as their text, whatever type they came in; rows in any order."""
    if isinstance(value, list):
        return sorted((canonical(v) for v in value), key=repr)
    if isinstance(value, dict):
        return {k: canonical(v) for k, v in value.items()}
    return float(f"{value:.9g}") if isinstance(value, float) else value


def body_of(query):
    return {"gfql_query": query} if isinstance(query, str) else {"gfql_operations": query}


def compare(rows, part, both, datasets, name, query):
    """One row: a query on the server with the GPU and on the one without."""
    # Rows of a Cypher query are few; of a pattern the sizes are wanted, as a page asks for them.
    what = "nodes" if isinstance(query, str) and "x.score, x.group" not in query and "x.amount, x.kind" not in query else "shape"
    row = {"row": part, "query": name, "answer": what}
    answers = {}
    for side, api in both.items():
        path = f"/api/v2/etl/datasets/{datasets[side]}/gfql/{what}"

        def ask(**more):
            reply = api("POST", path, json={**body_of(query), "format": "json", **more})
            assert reply.status_code == 200, reply.text[:500]
            return reply

        answers[side] = canonical(ask().json())
        row[f"{side}_first_ms"], row[f"{side}_ms"], row[f"{side}_engine_ms"] = least(ask, api.server)
        if side == "gpu":
            plan = api("POST", f"/api/v2/etl/datasets/{datasets[side]}/gfql/nodes",
                       json={**body_of(query), "format": "json", "explain": True}).text
            row["side"] = "gpu" if "on the GPU: " in plan else "cpu"
    inside = row["cpu_engine_ms"] / max(row["gpu_engine_ms"], 0.001)
    rows.add(**row, times=round(row["cpu_ms"] / row["gpu_ms"], 2), times_inside=round(inside, 2),
             equal=answers["gpu"] == answers["cpu"])


def router(rows, both, args):
    from test_gpu_router import PATTERNS, TABLES, plot

    datasets = {side: plot(api, args.edges) for side, api in both.items()}
    for query in TABLES + PATTERNS:
        compare(rows, "router", both, datasets, query if isinstance(query, str) else json.dumps(query)[:160], query)


def social(rows, both, args):
    import query_suite

    nodes, edges = query_suite.social(args.persons)
    files = [parquet(edges), parquet(nodes)]
    datasets = {}
    for side, api in both.items():
        begin = time.perf_counter()
        edge_file, node_file = (api.file(data, "parquet")["file_id"] for data in files)
        datasets[side] = api.dataset([edge_file], [node_file], edges={"source": "src", "destination": "dst"}, nodes={"node": "id"})
        compare_count = api("POST", f"/api/v2/etl/datasets/{datasets[side]}/gfql/shape", json={"gfql_operations": [{"type": "Node"}]})
        assert compare_count.status_code == 200, compare_count.text[:500]
        rows.add(row="upload", on=f"{side}: {len(edges)} edges, {len(nodes)} nodes", seconds=round(time.perf_counter() - begin, 2))
    for name, query in query_suite.CYPHER.items():
        compare(rows, "social", both, datasets, name, query)


def generated(args, tmp, *words):
    path = Path(tmp) / "edges.parquet"
    subprocess.run([args.bin, "generate", *words, "--out", path], check=True, capture_output=True)
    return path.read_bytes()


def algorithms(rows, both, args):
    with tempfile.TemporaryDirectory() as tmp:
        data = generated(args, tmp, "rmat", "--scale", str(args.scale))
    datasets = {side: api.dataset([api.file(data, "parquet")["file_id"]], edges={"source": "src", "destination": "dst"})
                for side, api in both.items()}
    for name in ALGORITHMS:
        query = [{"type": "Call", "function": "compute_cugraph", "params": {"alg": name}}]
        compare(rows, "algorithm", both, datasets, name, query)


def watch(viewer, seconds):
    """Takes what comes for so long."""
    end = time.perf_counter() + seconds
    while (left := end - time.perf_counter()) > 0:
        try:
            viewer.step(left)
        except TimeoutError:
            return


def session(rows, both, args):
    from live import Viewer

    with tempfile.TemporaryDirectory() as tmp:
        data = generated(args, tmp, "tree", "--nodes", "1000000", "--edges", "5000000")
    for side, api in both.items():
        dataset = api.dataset([api.file(data, "parquet")["file_id"]], edges={"source": "src", "destination": "dst"})
        headers = {"Authorization": api.session.headers["Authorization"]}
        begin = time.perf_counter()
        viewer = Viewer(api.server, dataset, f"play-{side}", headers=headers)
        try:
            viewer.until(lambda: viewer.frames, PATIENCE_S)
            first = time.perf_counter() - begin
            viewer.say({"t": "play", "on": True, "ms": 600_000})
            watch(viewer, WARM_S)
            frames, iterations, begin = viewer.frames, api.server.metric("iterations_total"), time.perf_counter()
            watch(viewer, PLAY_S)
            took = time.perf_counter() - begin
            rows.add(row="session", on="tree 1000000/5000000", side=side, backend=(viewer.state or {}).get("backend"),
                     first_frame_s=round(first, 2), frames_per_s=round((viewer.frames - frames) / took, 1),
                     iterations_per_s=round((api.server.metric("iterations_total") - iterations) / took, 1))
            viewer.say({"t": "play", "on": False})
        finally:
            viewer.close()


PARTS = {"session": session, "router": router, "algorithms": algorithms, "social": social}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", required=True)
    p.add_argument("--edges", type=int, default=2_000_000)
    p.add_argument("--persons", type=int, default=1_000_000)
    p.add_argument("--scale", type=int, default=20, help="of the R-MAT graph of the algorithms")
    p.add_argument("--parts", default=",".join(PARTS))
    p.add_argument("--out")
    args = p.parse_args()
    os.environ["GRAPHLUME_BIN"] = str(Path(args.bin).resolve())
    from conftest import Server, until
    import requests

    faulthandler.dump_traceback_later(PATIENCE_S, repeat=True)
    rows = Rows(args.out)
    with tempfile.TemporaryDirectory() as tmp:
        servers = {side: Server(Path(tmp) / side, "--backend", backend).start()
                   for side, backend in (("gpu", "cuda"), ("cpu", "cpu"))}
        try:
            health = servers["gpu"].url + "/streamgl-gpu/secondary/gpu/health"
            until(lambda: requests.get(health, timeout=60).status_code == 200, "a checked GPU")
            both = {side: server.api() for side, server in servers.items()}
            for part in args.parts.split(","):
                try:
                    PARTS[part](rows, both, args)
                except Exception as e:  # The other parts still say something.
                    traceback.print_exc()
                    rows.add(row=part, error=f"{type(e).__name__}: {e}"[:500])
        finally:
            for side, server in servers.items():
                code = server.stop()
                rows.add(row="end", side=side, status=code, log=server.output()[-600:])
                rows.wrong |= code != 0
    return 1 if rows.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
