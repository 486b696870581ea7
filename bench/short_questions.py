"""What a person asks and wants at once: a hop from a named node at three sizes, GFQL's published chain, short reads over HTTP.

The hop is a typed one from one node, inside the engine, on drawn graphs of so many edges. The chain is that of GFQL's
page of performance (filter, PageRank, filter) on a drawn graph of the size of SNAP's ego-Twitter. The short reads are
those of the LDBC Social Network Benchmark (IS1 to IS7), in Cypher, on a drawn network of persons, forums and messages,
asked one after another over one connection of a server of the shipped binary.
"""

import functools
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import queries

EDGES_PER_NODE = 10
TYPES = ["pays", "calls", "mails", "visits"]

# SNAP's ego-Twitter.
TWITTER_NODES, TWITTER_EDGES = 81_306, 2_420_766


def drawn(edges, nodes, rng, types):
    """Edges whose targets few nodes have most of, with a type each."""
    codes = pa.array(rng.integers(0, len(types), edges, dtype=np.int32))
    return pa.table({"src": rng.integers(0, nodes, edges), "dst": (nodes * rng.random(edges) ** 2).astype(np.int64),
                     "type": pa.DictionaryArray.from_arrays(codes, pa.array(types))})


def hop(args, load):
    """The lines of the table of hops, and {edges: median milliseconds}."""
    lines = [f"### A typed hop from a named node, inside the engine (load {load()}, {args.rounds} rounds), milliseconds", "",
             "| edges | nodes | asked in | p50 | p99 |", "|---|---|---|---|---|"]
    for edges in args.hop_edges:
        nodes = edges // EDGES_PER_NODE
        with tempfile.TemporaryDirectory() as tmp:
            path = Path(tmp) / "edges.parquet"
            rng = np.random.default_rng(3)
            pq.write_table(drawn(edges, nodes, rng, TYPES), path)
            chosen = [int(v) for v in rng.choice(nodes, args.sources)]
            asked = [{"name": "GFQL", "gfql": [queries.node(id=v), queries.edge(type="pays"), queries.node()]} for v in chosen]
            asked += [{"name": "Cypher", "cypher": f"MATCH (a {{id: {v}}})-[:pays]->(b) RETURN b.id AS id"} for v in chosen]
            rounds = [queries.engine(args, path, asked, 3) for _ in range(args.rounds)]
            for name in ("GFQL", "Cypher"):
                mid = [1e3 * statistics.median(r[name][q] for r in rounds) for q in ("p50", "p99")]
                lines.append(f"| {edges:,} | {nodes:,} | {name} | {mid[0]:.4f} | {mid[1]:.4f} |")
    return lines


def published_chain(rank):
    """Users above a score, their edges among each other, PageRank of these, and those of them above a rank."""
    among = [{"type": "Node", "filter_dict": {"score": {"type": "GT", "val": 20}}}, {"type": "Edge", "direction": "forward", "hops": 1},
             {"type": "Node", "filter_dict": {"score": {"type": "GT", "val": 20}}}]
    call = {"type": "Call", "function": "compute_cugraph", "params": {"alg": "pagerank"}}
    best = [{"type": "Node", "filter_dict": {"pagerank": {"type": "GT", "val": rank}}}, {"type": "Edge", "direction": "forward", "hops": 1},
            {"type": "Node", "filter_dict": {"pagerank": {"type": "GT", "val": rank}}}]
    ref = lambda of, chain: {"type": "Ref", "ref": of, "chain": chain}
    return {"type": "Let", "bindings": {"users": {"type": "Chain", "chain": among}, "ranked": ref("users", [call]), "best": ref("ranked", best)}}


def chain(args, load):
    """The lines of the table of the chain."""
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as tmp:
        e_path, v_path = Path(tmp) / "e.parquet", Path(tmp) / "v.parquet"
        pq.write_table(drawn(TWITTER_EDGES, TWITTER_NODES, rng, ["follows"]), e_path)
        pd.DataFrame({"id": np.arange(TWITTER_NODES), "score": rng.integers(0, 100, TWITTER_NODES)}).to_parquet(v_path)
        rank = 2 / TWITTER_NODES
        rounds = [queries.engine(args, e_path, [{"name": "chain", "gfql": published_chain(rank)}], 3, v_path)["chain"]
                  for _ in range(args.rounds)]
    mid = [statistics.median(r[q] for r in rounds) for q in ("p50", "cpu")]
    size = rounds[0]["size"]
    return [f"### Filter, PageRank, filter, inside the engine, two threads (load {load()}, {args.rounds} rounds), seconds", "",
            "| graph | nodes | edges | wall | CPU | nodes and edges of the answer |", "|---|---|---|---|---|---|",
            f"| size of ego-Twitter | {TWITTER_NODES:,} | {TWITTER_EDGES:,} | {mid[0]:.3f} | {mid[1]:.3f} | {size} |"]


def network(persons):
    """Tables of persons who know each other, and of the forums and messages that they made."""
    rng = np.random.default_rng(9)
    forums, posts, comments, places = persons // 10, persons, 2 * persons, 1_000
    base = np.cumsum([0, persons, places, forums, posts, comments])
    ids = lambda part, count: base[part] + np.arange(count)
    day = lambda count: pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 3 * 365 * 86_400, count), unit="s")
    v = pd.concat([
        pd.DataFrame({"id": ids(0, persons), "type": "Person", "firstName": [f"first {i % 5_000}" for i in range(persons)],
                      "lastName": [f"last {i % 9_000}" for i in range(persons)], "browserUsed": rng.choice(["Firefox", "Chrome", "Safari"], persons),
                      "birthday": day(persons), "creationDate": day(persons)}),
        pd.DataFrame({"id": ids(1, places), "type": "City", "name": [f"city {i}" for i in range(places)]}),
        pd.DataFrame({"id": ids(2, forums), "type": "Forum", "title": [f"forum {i}" for i in range(forums)]}),
        pd.DataFrame({"id": ids(3, posts), "type": "Post", "content": [f"post number {i} says this" for i in range(posts)], "creationDate": day(posts)}),
        pd.DataFrame({"id": ids(4, comments), "type": "Comment", "content": [f"comment {i}" for i in range(comments)],
                      "creationDate": day(comments)}),
    ], ignore_index=True)
    knows = persons * 15
    message = np.concatenate([ids(3, posts), ids(4, comments)])
    # A comment answers a post or an earlier comment, so that threads have depth.
    earlier = (rng.random(comments) * (posts + np.arange(comments))).astype(np.int64)
    part = lambda kind, src, dst: pd.DataFrame({"src": src, "dst": dst, "type": kind})
    e = pd.concat([
        part("KNOWS", rng.integers(0, persons, knows), (persons * rng.random(knows) ** 2).astype(np.int64)),
        part("IS_LOCATED_IN", ids(0, persons), base[1] + rng.integers(0, places, persons)),
        part("HAS_CREATOR", message, rng.integers(0, persons, len(message))),
        part("CONTAINER_OF", base[2] + rng.integers(0, forums, posts), ids(3, posts)),
        part("HAS_MODERATOR", ids(2, forums), rng.integers(0, persons, forums)),
        part("REPLY_OF", ids(4, comments), base[3] + earlier),
    ], ignore_index=True)
    e["since"] = day(len(e))
    return v, e, base


READS = {
    "IS1 profile of a person": ("person", "MATCH (p:Person {id: $id})-[:IS_LOCATED_IN]->(c:City) RETURN p.firstName AS first, p.lastName AS last, "
                                "p.birthday AS birthday, p.browserUsed AS browser, c.id AS city, p.creationDate AS created"),
    "IS2 last messages of a person": ("person", "MATCH (:Person {id: $id})<-[:HAS_CREATOR]-(m) WITH m, m.creationDate AS created ORDER BY created DESC, m.id LIMIT 10 "
                                      "MATCH (m)-[:REPLY_OF*0..]->(post:Post)-[:HAS_CREATOR]->(author:Person) "
                                      "RETURN m.id AS message, m.content AS content, created, post.id AS post, author.id AS author, author.firstName AS first "
                                      "ORDER BY created DESC, message"),
    "IS3 friends of a person": ("person", "MATCH (:Person {id: $id})-[k:KNOWS]-(f:Person) RETURN f.id AS id, f.firstName AS first, f.lastName AS last, k.since AS since "
                                "ORDER BY since DESC, id"),
    "IS4 content of a message": ("message", "MATCH (m {id: $id}) RETURN m.creationDate AS created, m.content AS content"),
    "IS5 creator of a message": ("message", "MATCH (m {id: $id})-[:HAS_CREATOR]->(p:Person) RETURN p.id AS id, p.firstName AS first, p.lastName AS last"),
    "IS6 forum of a message": ("message", "MATCH (m {id: $id})-[:REPLY_OF*0..]->(p:Post)<-[:CONTAINER_OF]-(f:Forum)-[:HAS_MODERATOR]->(mod:Person) "
                               "RETURN f.id AS forum, f.title AS title, mod.id AS moderator, mod.firstName AS first"),
    "IS7 replies to a message": ("message", "MATCH (m {id: $id})<-[:REPLY_OF]-(c:Comment)-[:HAS_CREATOR]->(p:Person) MATCH (m)-[:HAS_CREATOR]->(a:Person) "
                                 "OPTIONAL MATCH (a)-[r:KNOWS]-(p) RETURN c.id AS comment, c.content AS content, p.id AS author, r IS NOT NULL AS known "
                                 "ORDER BY comment"),
}


def read_request(dataset, token, text, id):
    """The bytes that ask a server for the rows of a text."""
    body = json.dumps({"gfql_query": text.replace("$id", str(id)), "format": "json"}).encode()
    return (f"POST /api/v2/etl/datasets/{dataset}/gfql/nodes HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body


def reads(args, load):
    """The lines of the table of short reads."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/e2e"))
    os.environ["GRAPHLUME_BIN"] = args.bin
    from conftest import Server
    v, e, base = network(args.persons)
    lines = [f"### Short reads over HTTP, one client, {args.persons:,} persons, {len(v):,} nodes, {len(e):,} edges (load {load()}), milliseconds", "",
             "| read | p50 | p99 | rows of the first ten |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as tmp:
        e.to_parquet(Path(tmp) / "e.parquet")
        v.to_parquet(Path(tmp) / "v.parquet")
        del e, v
        server = Server(Path(tmp) / "data").start()
        try:
            api = server.api()
            files = [api.file((Path(tmp) / f"{name}.parquet").read_bytes(), "parquet")["file_id"] for name in "ev"]
            dataset = api.dataset(files[:1], files[1:], edges={"source": "src", "destination": "dst"}, nodes={"node": "id"})
            ask = functools.partial(read_request, dataset, api.session.headers["Authorization"])
            rng = np.random.default_rng(11)
            of = {"person": lambda: int(rng.integers(0, base[1])), "message": lambda: int(rng.integers(base[3], base[5]))}
            for name, (kind, text) in READS.items():
                chosen = [of[kind]() for _ in range(args.sources)]
                few = [len(api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/nodes",
                               json={"gfql_query": text.replace("$id", str(id)), "format": "json"}).json()) for id in chosen[:10]]
                queries.client(server.port, [ask(text, id) for id in chosen[:50]], multiprocessing.SimpleQueue())
                took, _ = queries.together(server.port, [ask(text, id) for id in chosen], 1)
                lines.append(f"| {name} | {np.quantile(took, .5):.2f} | {np.quantile(took, .99):.2f} | {sum(few)} |")
        finally:
            server.stop()
    return lines


COMMANDS = {"hop": hop, "chain": chain, "reads": reads}


def run(args, load):
    """The lines of the tables for queries.py."""
    lines = []
    for name in args.parts.split(","):
        lines += [*COMMANDS[name](args, load), ""]
    return lines
