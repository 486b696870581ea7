#!/usr/bin/env python3
"""Every layout of the registry, in time and quality, at three sizes, and each caller of a layout once.

    layout_table.py BIN RECORDS [--sizes 100,10000,100000] [--graphs groups,preferential] [--limit 60] [--minutes 15]
                    [--threads 2] [--write FILE]

RECORDS is a file of JSON lines, one a measurement; a measurement that is there is not made again, so that the table can be
made in slices: each run ends after `--minutes`, and says what is left. igraph runs beside ours where it knows the layout, in
a process that is ended at `--limit` seconds; where it ended at one size it is not begun at a larger one. How time and
quality are measured stands in `layouts.py`. With `--write` the table of all that is recorded is written.
"""

import argparse
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from websockets.sync.client import connect

from layouts import SOURCES, graphs, hops, ours, peer, quality, shown, table

# Layouts that need what a plain graph has not.
PARTED = {"bipartite"}
CALLERS = ["command line", "GFQL call", "Cypher", "dataset", "live session"]
PASSWORD = "correct horse battery staple"
FEW_SOURCES = 50


def names(program):
    """Every layout of the registry, by the library and the first name of each, from the list that the program prints."""
    text = subprocess.run([program, "print", "algorithms"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^`(cugraph|igraph)\.([a-z0-9_]+)`", text.partition("\n## Layouts\n")[2], re.M)


class Records:
    """Measurements by what was measured, in a file."""

    def __init__(self, path):
        self.path, self.rows = path, {}
        for line in path.read_text().splitlines() if path.exists() else []:
            row = json.loads(line)
            self.rows[tuple(row["key"])] = row

    def add(self, key, **values):
        row = {"key": list(key), **values}
        self.rows[tuple(key)] = row
        with self.path.open("a") as out:
            out.write(json.dumps(row) + "\n")
        print(row, flush=True)


class Graph:
    """A graph as files, with the distances that quality is measured by."""

    def __init__(self, folder, name, size):
        self.folder = folder
        self.n, self.pairs = graphs(size)[name]()
        rng = np.random.default_rng(0)
        some = SOURCES if self.n < 50_000 else FEW_SOURCES
        self.sources = np.arange(self.n) if self.n <= 2000 else np.sort(rng.choice(self.n, some, replace=False))
        self.distance = hops(self.n, self.pairs, self.sources)
        np.savez(folder / "graph.npz", n=self.n, pairs=self.pairs)
        np.savetxt(folder / "edges.csv", self.pairs, "%d", ",", header="src,dst", comments="")
        np.savetxt(folder / "nodes.csv", np.arange(self.n), "%d", header="id", comments="")


def measure(records, program, graph, key, options):
    name, size, graph_name, who = key
    if who == "ours":
        points, seconds = ours(program, graph.folder, name, options.threads)
    else:
        ended = [k for k, row in records.rows.items() if k[0] == name and k[3] == who and k[2] == graph_name and k[1] < size and row.get("ended")]
        if ended:
            return records.add(key, ended=True, seconds=options.limit, begun=False)
        points, seconds = peer(graph.folder, name, options.limit)
        if points is None:
            return records.add(key, **({"ended": True, "seconds": options.limit} if seconds else {"refused": "igraph ends with an error, or has no such layout"}))
    if points is None:
        return records.add(key, refused=seconds)
    stress, kept = quality(points, graph.distance, graph.sources)
    return records.add(key, n=graph.n, m=len(graph.pairs), seconds=seconds, stress=stress, kept=kept)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server of one account, for the caller that a dataset is."""

    def __init__(self, program, folder):
        self.port, data = free_port(), folder / "data"
        subprocess.run([program, "user", "add", "alice", "--password-stdin", "--data", data], input=PASSWORD + "\n", text=True,
                       check=True, capture_output=True)
        self.process = subprocess.Popen(
            [program, "serve", "--backend", "cpu", "--listen", f"127.0.0.1:{self.port}", "--internal-listen", f"127.0.0.1:{free_port()}", "--data", data],
            env=dict(os.environ, GRAPHLUME_ADMIN_PASSWORD=PASSWORD), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                self.ask("GET", "/healthz")
                break
            except OSError:
                time.sleep(0.05)
        self.token = self.ask("POST", "/api-token-auth/", {"username": "alice", "password": PASSWORD})["token"]

    def ask(self, method, path, body=None, data=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = {"Authorization": f"Bearer {self.token}"} if hasattr(self, "token") else {}
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body), "application/json"
        connection.request(method, path, data, headers)
        reply = connection.getresponse()
        text = reply.read()
        if reply.status >= 400:
            raise RuntimeError(text.decode())
        return json.loads(text) if text[:1] in b"[{" else text

    def file(self, path):
        made = self.ask("POST", "/api/v2/files/", {"file_type": "csv"})["file_id"]
        self.ask("POST", f"/api/v2/upload/files/{made}", data=path.read_bytes())
        return made

    def laid_live(self, dataset, name):
        """Opens the dataset, names the layout as its page does, and counts the nodes that have a place then."""
        session, headers = f"bench-{name}", {"Authorization": f"Bearer {self.token}"}
        address = f"ws://127.0.0.1:{self.port}/viz/{session}/ws?dataset={dataset}"
        with connect(address, subprotocols=["graph-viz.v1"], max_size=None, ping_interval=None, additional_headers=headers) as ws:
            said, epoch = False, None
            while True:
                message = ws.recv(timeout=120)
                message = json.loads(message) if isinstance(message, str) else {}
                if message.get("t") == "error":
                    raise RuntimeError(message["message"])
                if message.get("t") == "graph":
                    epoch = message["epoch"]
                if epoch is not None and not said:
                    ws.send(json.dumps({"t": "layout", "name": name}))
                    said = True
                if message.get("placements", 0) > 0:
                    frame = self.ask("GET", f"/viz/{session}/{epoch}/positions.bin?dataset={dataset}")
                    return int(np.isfinite(np.frombuffer(frame[48:], "<f4").reshape(-1, 2)).all(axis=1).sum())

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def by_query(program, graph, options):
    done = subprocess.run([program, "query", graph.folder / "edges.csv", "--nodes", graph.folder / "nodes.csv", *options],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def placed(program, server, graph, caller, library, name):
    """The nodes that get a finite place by a caller."""
    if caller == "command line":
        points, why = ours(program, graph.folder, name, 2)
        if points is None:
            raise RuntimeError(why)
        return int(np.isfinite(points[:, :2]).all(axis=1).sum())
    if caller == "GFQL call":
        call = {"type": "Call", "function": f"layout_{library}", "params": {"layout": name}}
        (graph.folder / "query.json").write_text(json.dumps([call]))
        rows = json.loads(by_query(program, graph, ["--gfql", graph.folder / "query.json"]))["nodes"]
    elif caller == "Cypher":
        text = f"CALL graphistry.layout.{name}() YIELD nodeId, x, y RETURN nodeId AS id, x, y"
        made = by_query(program, graph, ["--cypher", text, "--output", "nodes"]).splitlines()
        rows = [dict(zip(made[0].split(","), line.split(","))) for line in made[1:]]
    else:
        body = {"name": name, "metadata": {}, "edge_files": [server.file(graph.folder / "edges.csv")],
                "node_files": [server.file(graph.folder / "nodes.csv")], "node_encodings": {"bindings": {"node": "id"}},
                "edge_encodings": {"bindings": {"source": "src", "destination": "dst"}}}
        if caller == "dataset":
            body["layout"] = {"places": {"libraries": [library], "alg": name}}
        dataset = server.ask("POST", "/api/v1/datasets/", body)["data"]["dataset_id"]
        if caller == "live session":
            return server.laid_live(dataset, name)
        rows = server.ask("POST", f"/api/v2/etl/datasets/{dataset}/gfql/nodes", {"gfql_operations": [], "format": "json"})
    return sum(bool(np.isfinite([float(row["x"]), float(row["y"])]).all()) for row in rows)


def call_all(records, program, layouts, ends):
    """Each layout by each caller, at 100 nodes."""
    wanted = [(library, name, caller) for library, name in layouts for caller in CALLERS]
    wanted = [(library, name, caller) for library, name, caller in wanted if (f"{library}.{name}", caller) not in records.rows]
    if not wanted:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        graph, parted = Graph(folder, "groups", 100), folder / "parted"
        parted.mkdir()
        parted = Graph(parted, "bipartite", 100)
        server = Server(program, folder)
        try:
            while wanted and time.monotonic() < ends:
                library, name, caller = wanted.pop(0)
                on = parted if name in PARTED else graph
                try:
                    records.add((f"{library}.{name}", caller), placed=placed(program, server, on, caller, library, name), of=on.n)
                except (RuntimeError, KeyError, TypeError, ValueError) as error:
                    records.add((f"{library}.{name}", caller), refused=f"{type(error).__name__}: {error}"[:300])
        finally:
            server.stop()
    return len(wanted)


def measure_all(records, options, layouts, ends):
    """How many measurements are left."""
    left = 0
    for size in map(int, options.sizes.split(",")):
        for graph_name in options.graphs.split(","):
            own = dict.fromkeys(name for _, name in layouts)
            keys = [(name, size, graph_name, who) for name in own for who in ("ours", "igraph")]
            keys = [key for key in keys if key not in records.rows]
            if not keys:
                continue
            if time.monotonic() > ends:
                left += len(keys)
                continue
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "whole").mkdir()
                graph = Graph(Path(folder) / "whole", graph_name, size)
                (Path(folder) / "parted").mkdir()
                parted = Graph(Path(folder) / "parted", "bipartite", size)
                for at, key in enumerate(keys):
                    if time.monotonic() > ends:
                        left += len(keys) - at
                        break
                    measure(records, options.program, parted if key[0] in PARTED else graph, key, options)
    return left


def line(records, key):
    mine, theirs = records.rows[key], records.rows.get((*key[:3], "igraph"), {})
    if "refused" in mine:
        return [key[0], key[2], key[1], "refused: " + mine["refused"], *[""] * 5]
    over = ">" if theirs.get("ended") else ""
    return [key[0], key[2], mine["n"], shown(mine["seconds"]), over + shown(theirs.get("seconds"), 2), shown(mine["stress"]),
            shown(theirs.get("stress")), shown(mine["kept"]), shown(theirs.get("kept"))]


def write(records, options):
    head = ["layout", "graph", "n", "ours s", "igraph s", "stress", "igraph", "kept", "igraph"]
    ordered = [key for key in records.rows if len(key) == 4 and key[3] == "ours"]
    ordered.sort(key=lambda key: (key[1], key[2]))
    lines = [line(records, key) for key in ordered]
    called = {}
    for key, row in records.rows.items():
        if len(key) == 2:
            called.setdefault(key[0], {})[key[1]] = f"{row['placed']} of {row['of']}" if "placed" in row else row["refused"]
    callers = [[name, *(by.get(caller, "") for caller in CALLERS)] for name, by in called.items()]
    text = f"""# Every layout of the registry

Written by [layout_table.py](../layout_table.py) on {time.strftime('%Y-%m-%d')}: {options.threads} threads of a machine of two cores that others used at the same time, python-igraph
1.0.0 ended at {options.limit:g} s (`>`; not begun where a smaller graph was ended). Stress and kept neighbours are those of [layouts.py](../layouts.py); layouts that follow a formula have them as well, and are not made for them.
`bipartite` is laid out on a graph of two sides.

{table(head, lines)}

## Each caller once, at 100 nodes

Nodes that got a place.

{table(["layout", *CALLERS], callers)}
"""
    options.write.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("records", type=Path)
    parser.add_argument("--sizes", default="100,10000,100000")
    parser.add_argument("--graphs", default="groups,preferential")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    ends = time.monotonic() + 60 * options.minutes
    records = Records(options.records)
    layouts = names(options.program)
    left = call_all(records, options.program, layouts, ends)
    left += measure_all(records, options, layouts, ends)
    print(f"{left} measurements are left")
    if options.write:
        write(records, options)


if __name__ == "__main__":
    main()
