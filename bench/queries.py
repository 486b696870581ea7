#!/usr/bin/env python3
"""Queries: Graphlume and its peers on the same graph, the same cores and in the same minutes.

    queries.py hops   --bin graphlume --graphs FOLDER[,...]      inside the engine, over sizes (edges.parquet in each)
    queries.py http   --bin graphlume --graph edges.parquet      through the remote endpoint, 1 and 8 clients
    queries.py filter --bin graphlume --graph edges.parquet      two predicates on edges: polars, GFQL
    queries.py suite  --bin graphlume [--scales 20000,100000]    the reference's benchmark queries: its engines
    queries.py social --bin graphlume [--scales 20000,100000]    nine questions in Cypher: Ladybug, an embedded graph database
    queries.py short  --bin graphlume [--parts hop,chain,reads]  a hop at three sizes, filter-PageRank-filter, short reads over HTTP

The engine's figures come from `graphlume bench --task query`, a process that holds the graph; peers hold theirs as
well, and both are warm. Every round runs all sides in turn. Ratios are peer / engine. GFQL is the package
`graphistry`, with the frames of each engine made before the clock starts.
"""

import argparse
import functools
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))


def report(binary, edges, queries, repeat, nodes=None, threads=2):
    """What `graphlume bench --task query` writes; its lists of seconds hold `repeat` for each query, in order."""
    with tempfile.TemporaryDirectory() as tmp:
        asked, out = Path(tmp) / "queries.json", Path(tmp) / "out.json"
        asked.write_text(json.dumps(queries))
        params = ["--param", f"queries={asked}"] + (["--param", f"nodes={nodes}"] if nodes else [])
        subprocess.run([binary, "bench", "--task", "query", "--edges", edges, "--out", out, "--threads", str(threads),
                        "--repeat", str(repeat), *params], check=True, stdout=subprocess.DEVNULL)
        return json.loads(out.read_text())


def engine(args, edges, queries, repeat, nodes=None, threads=2):
    """{name: {count, p50, p90, p99, cpu, size}} of queries inside the engine."""
    return report(args.bin, edges, queries, repeat, nodes, threads)["result"]


def node(**match):
    return {"type": "Node", "filter_dict": match} if match else {"type": "Node"}


def edge(hops=1, direction="forward", **match):
    step = {"type": "Edge", "direction": direction, "hops": hops}
    return {**step, "edge_match": match} if match else step


def load():
    return " ".join(f"{x:.1f}" for x in os.getloadavg())


# Hops inside the engine.

def hop_queries(kinds, chosen):
    """The sizes of what is within so many hops of each node, for each (direction, hops)."""
    return [{"name": f"{d} {k}", "shape": True, "gfql": [node(id=v), edge(k, d), node()]} for d, k in kinds for v in chosen]


def hops(args):
    import pyarrow.parquet as pq
    lines = [f"### From one node, `shape`, inside the engine (load {load()}), microseconds", "",
             "| graph | nodes | edges | direction | hops | p50 | p90 | p99 | worst round's p50 |", "|---|---|---|---|---|---|---|---|---|"]
    for folder in args.graphs.split(","):
        path = Path(folder) / "edges.parquet"
        ends = pq.read_table(path, columns=["src", "dst"])
        nodes = np.union1d(ends["src"].to_numpy(), ends["dst"].to_numpy())
        chosen = [int(v) for v in np.random.default_rng(7).choice(nodes, args.sources)]
        kinds = [(direction, k) for direction in ("forward", "undirected") for k in (1, 2)]
        rounds = [engine(args, path, hop_queries(kinds, chosen), 3) for _ in range(args.rounds)]
        for d, k in kinds:
            of = lambda q: [1e6 * r[f"{d} {k}"][q] for r in rounds]
            us = " | ".join(f"{statistics.median(of(q)):.0f}" for q in ("p50", "p90", "p99"))
            lines.append(f"| {Path(folder).name} | {len(nodes):,} | {len(ends):,} | {d} | {k} | {us} | {max(of('p50')):.0f} |")
    return lines


# Through HTTP.

def client(port, requests, out):
    """Sends requests one after the other over one connection; seconds of each."""
    s = socket.create_connection(("127.0.0.1", port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    took = []
    for request in requests:
        begin = time.perf_counter()
        s.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data:
            data += s.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), data[:500]
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        while len(body) < length:
            body += s.recv(65536)
        took.append(time.perf_counter() - begin)
    out.put(took)


def shape_request(dataset, token, query):
    """The bytes that ask a server for the sizes of an answer."""
    body = json.dumps({"gfql_operations": query}).encode()
    head = (f"POST /api/v2/etl/datasets/{dataset}/gfql/shape HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
    return head.encode() + body


def over_http(args):
    lines = [f"### Through the remote endpoint, `shape` (load {load()}), milliseconds", "",
             "| graph | edges | query | clients | requests a second | p50 | p90 | p99 |", "|---|---|---|---|---|---|---|---|"]
    for path in map(Path, args.graph.split(",")):
        for edges, name, clients, took, rate in http_runs(args, path):
            p = [f"{np.quantile(took, q):.2f}" for q in (0.5, 0.9, 0.99)]
            lines.append(f"| {path.parent.name} | {edges:,} | {name} | {clients} | {rate:,.0f} | {' | '.join(p)} |")
    return lines


def http_runs(args, path):
    """(edges, query, clients, milliseconds of each request, requests a second) of 1 and 2 hops with 1 and 8 clients."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/e2e"))
    os.environ["GRAPHLUME_BIN"] = args.bin
    import pyarrow.parquet as pq
    from conftest import Server
    src = pq.read_table(path, columns=["src"])["src"].to_numpy()
    with tempfile.TemporaryDirectory() as tmp:
        server = Server(Path(tmp) / "data").start()
        api = server.api()
        dataset = api.dataset([api.file(path.read_bytes(), "parquet")["file_id"]], edges={"source": "src", "destination": "dst"})
        request = functools.partial(shape_request, dataset, api.session.headers["Authorization"])
        chosen = [int(v) for v in np.random.default_rng(11).choice(np.unique(src), args.sources)]
        both = {"2 hops": [request([node(id=v), edge(2), node()]) for v in chosen],
                "1 hop": [request([node(id=v), edge(1), node()]) for v in chosen]}
        for requests in both.values():
            client(server.port, requests[:50], multiprocessing.SimpleQueue())
        try:
            for name, requests in both.items():
                for clients in (1, 8):
                    yield len(src), name, clients, *together(server.port, requests, clients)
        finally:
            server.stop()


def together(port, requests, clients):
    """Milliseconds of each request in order of size, and requests a second, of clients that each send all requests."""
    queue = multiprocessing.SimpleQueue()
    share = [requests[i:] + requests[:i] for i in range(0, len(requests), max(1, len(requests) // clients))][:clients]
    running = [multiprocessing.Process(target=client, args=(port, r, queue)) for r in share]
    begin = time.perf_counter()
    [p.start() for p in running]
    took = np.sort(np.concatenate([queue.get() for _ in running])) * 1e3
    rate = len(took) / (time.perf_counter() - begin)
    [p.join() for p in running]
    return took, rate


def timed(work, rounds):
    """Median wall and CPU seconds, warm; and the last result."""
    work()
    wall, cpu = [], []
    for _ in range(rounds):
        t, c = time.perf_counter(), time.process_time()
        result = work()
        wall.append(time.perf_counter() - t)
        cpu.append(time.process_time() - c)
    return statistics.median(wall), statistics.median(cpu), result


# Filters.

def with_attributes(path, folder):
    """The path of the same edges with a kind, one of eight, and an amount; as they are when they have them."""
    import polars as pl
    frame = pl.read_parquet(path)
    if "kind" in frame.columns:
        return path
    rng = np.random.default_rng(4)
    kinds = np.array(["mail", "call", "visit", "pay", "lend", "meet", "ship", "sign"])
    made = folder / path.parent.name / path.name
    made.parent.mkdir(exist_ok=True)
    frame.with_columns(kind=pl.Series(kinds[rng.integers(0, 8, frame.height)]),
                       amount=pl.Series(rng.uniform(0, 10_000, frame.height))).write_parquet(made)
    return made


def filters(args):
    with tempfile.TemporaryDirectory() as tmp:
        return filters_of([with_attributes(path, Path(tmp)) for path in map(Path, args.graph.split(","))], args)


def filters_of(paths, args):
    import graphistry
    import pandas as pd
    import polars as pl
    from graphistry import e_forward, gt
    lines = [f"### Two predicates on the edges, CPU seconds (load {load()})", "",
             "| graph | edges | matched | engine | polars | GFQL pandas | GFQL polars | polars / engine | GFQL / engine |",
             "|---|---|---|---|---|---|---|---|---|"]
    for path in paths:
        frame = pl.read_parquet(path).with_columns(pl.col("kind").cast(pl.Categorical))
        wanted = (pl.col("kind") == "mail") & (pl.col("amount") > 5000.0)
        wire = {"kind": "mail", "amount": {"type": "GT", "val": 5000.0}}
        g = graphistry.edges(pd.read_parquet(path), "src", "dst")
        gp = graphistry.edges(pl.read_parquet(path), "src", "dst")
        match = {"kind": "mail", "amount": gt(5000.0)}
        rows = {"engine": [], "polars": [], "pandas": [], "gpolars": []}
        for _ in range(args.rounds):
            # The fourth question makes the byte columns that all later ones read.
            got = engine(args, path, [{"name": "f", "shape": True, "gfql": [edge(**wire)]}], 200)["f"]
            rows["engine"].append(got["cpu"])
            rows["polars"].append(timed(lambda: frame.filter(wanted).height, 5)[1])
            _, cpu, chained = timed(lambda: g.gfql([e_forward(match)], engine="pandas"), 1)
            rows["pandas"].append(cpu)
            rows["gpolars"].append(timed(lambda: gp.gfql([e_forward(match)], engine="polars"), 1)[1])
            assert frame.filter(wanted).height == got["size"][1] == len(chained._edges), got
        mid = {k: statistics.median(v) for k, v in rows.items()}
        lines.append(f"| {path.parent.name} | {frame.height:,} | {got['size'][1]:,} | {mid['engine']:.4f} | {mid['polars']:.4f} | "
                     f"{mid['pandas']:.3f} | {mid['gpolars']:.3f} | {mid['polars'] / mid['engine']:.1f} | "
                     f"{min(mid['pandas'], mid['gpolars']) / mid['engine']:.0f} |")
    return lines


COMMANDS = {"hops": hops, "http": over_http, "filter": filters}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=[*COMMANDS, "suite", "social", "short"])
    p.add_argument("--bin", required=True, help="the graphlume binary")
    p.add_argument("--graphs", help="folders with edges.parquet, with commas")
    p.add_argument("--graph", help="an edges.parquet, or some with commas")
    p.add_argument("--sources", type=int, default=1000, help="nodes that queries start from")
    p.add_argument("--scales", default="20000,100000", help="persons of the social graph")
    p.add_argument("--parts", default="hop,chain,reads", help="parts of short")
    p.add_argument("--hop-edges", type=lambda text: [int(n) for n in text.split(",")], default=[1_000_000, 10_000_000, 50_000_000])
    p.add_argument("--persons", type=int, default=1_000_000, help="persons of the network of short reads")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--out", type=Path)
    args = p.parse_args()
    if args.what == "suite":
        import query_suite
        lines = query_suite.run(args, engine, load)
    elif args.what == "social":
        import social_peer
        lines = social_peer.run(args, load)
    elif args.what == "short":
        import short_questions
        lines = short_questions.run(args, load)
    else:
        lines = COMMANDS[args.what](args)
    text = "\n".join(lines) + "\n"
    print(text)
    if args.out:
        args.out.write_text(text)


if __name__ == "__main__":
    main()
