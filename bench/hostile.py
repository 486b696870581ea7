#!/usr/bin/env python3
"""Hostile requests: what a server with `--memory 1GiB` needs for them, and what everybody else feels of it.

    hostile.py --bin graphlume [--requests 500] [--seed N] [--rounds 3] [--out table.md]

A generator draws requests of every family below from a seed, half of them without a login and half with an account
of their own; each family exists to break one bound. Beside them another account asks a query of two hops, and a
probe asks `/healthz`, both before and during the attack. After it that account uploads a graph, which must work.

Printed are the peak of the resident memory of the server and its workers, the 99th percentiles, and the statuses
that the hostile requests got; of three rounds the best counts, because the attackers share the cores with the
server here. Nothing of this decides a test; tests/e2e/test_hostile.py, whose table half of the requests are of, does.
"""

import argparse
import base64
import collections
import datetime
import http.client
import json
import multiprocessing
import os
import platform
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import types
import urllib.parse
from pathlib import Path

PASSWORD = "correct horse battery staple"
MEMORY = 1 << 30
HOLD_S = 8.0
WORKERS = 24
GFQL = "/api/v2/etl/datasets/{}/gfql/all"
CHAIN = [{"type": "Node"}, {"type": "Edge", "direction": "forward"}, {"type": "Node"}]


# A server of its own.

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server on a fresh folder with the accounts mallory (attacks) and alice (is to notice nothing)."""

    def __init__(self, binary, folder):
        self.folder, self.port, self.internal = Path(folder), free_port(), free_port()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")}
        self.env["GRAPHLUME_ADMIN_PASSWORD"] = PASSWORD
        data = str(self.folder / "data")
        for name in ("mallory", "alice"):
            subprocess.run([binary, "user", "add", name, "--password-stdin", "--data", data], input=PASSWORD + "\n",
                           text=True, check=True, capture_output=True, env=self.env)
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [binary, "serve", "--memory", "1GiB", "--listen", f"127.0.0.1:{self.port}", "--internal-listen",
             f"127.0.0.1:{self.internal}", "--data", data], stdout=self.log, stderr=self.log, env=self.env)
        end = time.monotonic() + 60
        while True:
            try:
                if ask(self.port, "GET", "/healthz")[0] == 200:
                    return
            except OSError:
                pass
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit("the server did not come up:\n" + (self.folder / "log").read_text()[-2000:])
            time.sleep(0.05)

    def resident(self):
        """Bytes of the server and of the processes that it started."""
        total, todo = 0, [self.process.pid]
        while todo:
            pid = todo.pop()
            try:
                status = Path(f"/proc/{pid}/status").read_text()
                todo += [int(c) for t in os.listdir(f"/proc/{pid}/task") for c in Path(f"/proc/{pid}/task/{t}/children").read_text().split()]
            except OSError:
                continue
            total += sum(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS"))
        return total

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "did not end"


def ask(port, method, path, body=None, headers=None, timeout=60):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def login(port, name):
    status, body = ask(port, "POST", "/api-token-auth/", json.dumps({"username": name, "password": PASSWORD}),
                       {"Content-Type": "application/json"})
    assert status == 200, body
    return {"Authorization": "Bearer " + json.loads(body)["token"]}


def upload(port, auth, rows):
    """A graph of `rows` edges; its dataset's id."""
    def post(path, body, kind="application/json"):
        status, answer = ask(port, "POST", path, body, {**auth, "Content-Type": kind})
        assert status in (200, 201), (path, status, answer[:300])
        return json.loads(answer)
    file = post("/api/v2/files/", json.dumps({"file_type": "csv"}))["file_id"]
    post(f"/api/v2/upload/files/{file}", b"s,d,t\n" + b"".join(b"n%d,n%d,text %d\n" % (i, i * 7 % rows, i % 97) for i in range(rows)), "text/csv")
    return post("/api/v2/upload/datasets/", json.dumps({
        "name": "hostile", "metadata": {}, "node_encodings": {"bindings": {}},
        "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}, "edge_files": [file]}))["data"]["dataset_id"]


# The families. Each draws one request and carries it out; it returns what came back, as a short word.

class Attack:
    """What the families know: where to knock, and as whom."""

    def __init__(self, port, auth, dataset, seed, table=None):
        self.port, self.auth, self.dataset, self.random, self.seed = port, auth, dataset, random.Random(seed), seed
        # What `rows` draws from, and what it knows of the server.
        self.table = table

    def http(self, method, path, body=None, **headers):
        try:
            return str(ask(self.port, method, path, body, {**(self.auth or {}), **headers})[0])
        except (OSError, http.client.HTTPException) as e:
            return type(e).__name__

    def query(self, query, **more):
        path = GFQL.format(self.dataset if self.auth else "Karate")
        return self.http("POST", path, json.dumps({"gfql_query": query, "format": "json", **more}), **{"Content-Type": "application/json"})

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=HOLD_S)
        return s

    def head(self, method="GET", path="/healthz"):
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        return lines + [f"{k}: {v}" for k, v in (self.auth or {}).items()]

    def raw(self, data, read=True):
        """Sends bytes; the status of the first answer."""
        try:
            with self.connect() as s:
                s.sendall(data)
                first = s.recv(64) if read else b""
                return first.split(b" ")[1].decode() if first.startswith(b"HTTP/") else "closed"
        except OSError as e:
            return type(e).__name__

    def websocket(self):
        s = self.connect()
        path = f"/viz/hostile{self.random.randrange(1 << 30)}/ws?dataset=Karate"
        key = base64.b64encode(os.urandom(16)).decode()
        lines = self.head("GET", path) + ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
        s.sendall("\r\n".join([*lines, "", ""]).encode())
        return s


def frame(opcode, payload):
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + struct.pack(">H", size)
    return bytes([0x80 | opcode]) + length + bytes(4) + payload


def patterns(a):
    """Regular expressions that are large once compiled, many in one request."""
    pattern = a.random.choice([r"\w{%d}", r"\pL{%d}", r"(?i)\w{%d}", "(a{%d}){30}", r"(x|y|\d){%d}"]) % a.random.choice([20, 60, 90, 900])
    tests = [{"type": "Match", "pat": pattern + "q" * i} for i in range(a.random.choice([1, 8, 40, 400]))]
    step = {"type": "Node", "filter_dict": {"id": {"type": "AllOf", "predicates": tests}}}
    if not a.auth:
        text = urllib.parse.quote(json.dumps([{"expr": [step]}], separators=(",", ":")), safe="[]{}:,")[:8000]
        return a.http("GET", "/graph/graph.html?dataset=Karate&collections=" + text)
    if a.random.random() < 0.5:
        return a.query([step])
    many = " OR ".join(f"n.id =~ '{pattern}{i}'" for i in range(a.random.choice([1, 10, 60])))
    return a.query(f"MATCH (n) WHERE {many} RETURN count(*)")


def nesting(a):
    """Depth, in JSON and in both query languages."""
    depth = a.random.choice([17, 100, 2_000, 200_000])
    kind = a.random.randrange(4)
    if kind == 0:
        body = b'{"a":' * depth + b"1" + b"}" * depth
        return a.http("POST", a.random.choice(["/api-token-auth/", "/api/v2/upload/datasets/", "/mcp"]), body, **{"Content-Type": "application/json"})
    if kind == 1:
        return a.query("RETURN " + "(" * depth + "1" + ")" * depth)
    if kind == 2:
        query = CHAIN
        for _ in range(min(depth, 200)):
            query = {"type": "Let", "bindings": {"a": query}}
        return a.query(query)
    return a.query("RETURN " + "[" * depth + "]" * depth)


def sizes(a):
    """Bodies, heads and addresses about their limits and far beyond, and lengths that are not true."""
    kind, size = a.random.randrange(5), a.random.choice([1 << 12, 1 << 16, 1 << 20, 9 << 20])
    if kind == 0:
        return a.http("POST", "/api-token-auth/", b'{"username":"' + b"x" * size + b'","password":"y"}', **{"Content-Type": "application/json"})
    if kind == 1:
        return a.http("GET", "/graph/graph.html?dataset=Karate&a=" + "b" * min(size, 1 << 20))
    if kind == 2:
        return a.raw("\r\n".join([*a.head(), *[f"X-{i}: {'v' * 60}" for i in range(size >> 6)], "", ""]).encode())
    if kind == 3:
        return a.raw("\r\n".join([*a.head("POST", "/api/v2/files/"), f"Content-Length: {1 << a.random.randrange(20, 63)}", "", "{}"]).encode())
    if a.auth:
        body = json.dumps({"name": "x", "metadata": {"a": [0] * (size >> 2)}, "node_encodings": {"bindings": {}},
                           "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}, "edge_files": []})
        a.http("POST", "/api/v2/upload/datasets/", body, **{"Content-Type": "application/json"})
        return a.http("GET", "/api/v2/datasets/?limit=1000")
    return a.http("POST", "/mcp", b"[" + b"1," * (size >> 1) + b"1]", **{"Content-Type": "application/json"})


def work(a):
    """Queries that would not end, and answers that would not fit."""
    return a.query(a.random.choice([
        "MATCH (a), (b), (c), (d), (e) RETURN count(*)",
        "UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b RETURN a, b ORDER BY b",
        "MATCH (a)-->(b)-->(c)-->(d) RETURN collect(a.id + b.id + c.id + d.id)",
        "RETURN range(1, 100000000) AS x",
        "UNWIND range(1, 1000000) AS i RETURN reduce(s = 'x', j IN range(1, 60) | s + s) AS t",
        [{"type": "Node"}, {"type": "Edge", "direction": "undirected", "to_fixed_point": True}, {"type": "Node"}],
    ]))


def slow(a):
    """A head, a body or an answer, a few bytes at a time."""
    kind = a.random.randrange(3)
    try:
        with a.connect() as s:
            end = time.monotonic() + HOLD_S
            if kind == 2 and a.auth:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                body = json.dumps({"gfql_query": CHAIN, "format": "json"})
                s.sendall("\r\n".join([*a.head("POST", GFQL.format(a.dataset)), f"Content-Length: {len(body)}", "", body]).encode())
                while time.monotonic() < end and s.recv(512):
                    time.sleep(0.2)
            else:
                head = a.head("POST", "/api-token-auth/") + (["Content-Length: 500", "", ""] if kind else [])
                for byte in ("\r\n".join(head) + " " * 400).encode():
                    s.sendall(bytes([byte]))
                    time.sleep(0.05)
                    if time.monotonic() > end:
                        break
        return "held"
    except OSError as e:
        return type(e).__name__


def half_open(a):
    """Connections that say nothing, or break off in the middle."""
    sockets = []
    try:
        for _ in range(a.random.choice([1, 10, 40])):
            s = a.connect()
            if a.random.random() < 0.6:
                s.sendall("\r\n".join(a.head("POST", "/api/v2/files/")).encode()[: a.random.randrange(1, 60)])
            sockets.append(s)
        time.sleep(a.random.uniform(0.1, HOLD_S / 2))
        return "held"
    except OSError as e:
        return type(e).__name__
    finally:
        for s in sockets:
            # A reset instead of a goodbye.
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", a.random.randrange(2), 0))
            s.close()


def pipelined(a):
    """Hundreds of requests at once over one connection, of which no answer is read before the last is sent."""
    path = a.random.choice(["/healthz", "/graph/graph.html?dataset=Karate", "/api/v2/datasets/", "/openapi.json"])
    return a.raw("\r\n".join([*a.head("GET", path), "", ""]).encode() * a.random.choice([50, 500]))


def duplicates(a):
    """Headers, keys and ids that come twice."""
    kind = a.random.randrange(4)
    if kind == 0:
        return a.raw("\r\n".join([*a.head("POST", "/api-token-auth/"), "Content-Length: 2", "Content-Length: 40", "", "{}" + "x" * 38]).encode())
    if kind == 1:
        return a.raw("\r\n".join([*a.head(), "Host: elsewhere", "Transfer-Encoding: chunked", "Content-Length: 5", "", "0\r\n\r\n"]).encode())
    if kind == 2:
        return a.http("POST", "/api-token-auth/", b"{" + b'"username":"a",' * 20_000 + b'"password":"b"}', **{"Content-Type": "application/json"})
    one = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    return a.http("POST", "/mcp", "[" + ",".join([one] * 200) + "]", **{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"})


def floods(a):
    """Pings, messages of visibility and garbage over a viewer's stream, as fast as they go."""
    kind = a.random.randrange(3)
    block = {0: frame(9, b"x" * 100), 1: frame(1, b'{"t":"hidden"}') + frame(1, b'{"t":"visible"}'), 2: frame(1, b'{"t":"' + b"z" * 900 + b'"}')}[kind] * 200
    try:
        with a.websocket() as s:
            s.settimeout(0.5)
            end = time.monotonic() + HOLD_S / 2
            while time.monotonic() < end:
                s.sendall(block)
                s.recv(1 << 16)
        return "held"
    except OSError as e:
        return type(e).__name__


def rows(a):
    """A row of the table of all that callers can send (tests/e2e/hostile_rows.py), whose test has bounds for it."""
    hostile, server, token = a.table
    key, row = hostile.drawn(f"{a.seed}/row")
    return str(row.family(hostile.Attack(server, token, a.dataset, a.seed), key)[-1])


# Half of the requests are of the table: what is new stands there and nowhere else.
FAMILIES = [rows] * 9 + [patterns, nesting, sizes, work, slow, half_open, pipelined, duplicates, floods]


def attack(port, auth, dataset, seed, requests, out):
    """All requests of one round, from as many threads as there are workers."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/e2e"))
    import test_hostile

    server = types.SimpleNamespace(port=port, url=f"http://127.0.0.1:{port}")
    table = test_hostile, *test_hostile.known(server, auth["Authorization"].removeprefix("Bearer "), dataset)[:2]
    todo, lock, seen = iter(range(requests)), threading.Lock(), collections.Counter()

    def worker():
        while True:
            with lock:
                number = next(todo, None)
            if number is None:
                return
            a = Attack(port, auth if number % 2 else None, dataset, f"{seed}/{number}", table)
            family = FAMILIES[a.random.randrange(len(FAMILIES))]
            said = family(a)
            with lock:
                seen[f"{family.__name__} {said}"] += 1

    threads = [threading.Thread(target=worker) for _ in range(WORKERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    out.put(dict(seen))


def percentile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else float("nan")


class Watch:
    """Asks one thing again and again; the seconds that each answer took, and what was not 200."""

    def __init__(self, pause, once):
        self.times, self.failed, self.end, self.pause, self.once = [], collections.Counter(), threading.Event(), pause, once
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.end.is_set():
            began = time.perf_counter()
            try:
                status = self.once()
            except OSError as e:
                status = type(e).__name__
            self.times.append(time.perf_counter() - began)
            if status != 200:
                self.failed[status] += 1
            self.end.wait(self.pause)

    def stop(self):
        self.end.set()
        self.thread.join()
        return self


def beside(server, alice, dataset, during):
    """The watches of /healthz and of the other account while `during` runs; and the peak of the memory."""
    query = json.dumps({"gfql_query": [{"type": "Node", "filter_dict": {"id": "n7"}}, {"type": "Edge", "direction": "undirected", "hops": 2}, {"type": "Node"}],
                        "format": "json", "output_type": "shape"})
    headers = {**alice, "Content-Type": "application/json"}
    peak, end = [0], threading.Event()

    def memory():
        while not end.wait(0.02):
            peak[0] = max(peak[0], server.resident())

    sampler = threading.Thread(target=memory)
    sampler.start()
    health = Watch(0.05, lambda: ask(server.port, "GET", "/healthz")[0])
    other = Watch(0.05, lambda: ask(server.port, "POST", GFQL.format(dataset), query, headers)[0])
    during()
    health.stop(), other.stop(), end.set(), sampler.join()
    return health, other, peak[0]


def one_round(binary, requests, seed):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(binary, folder)
        try:
            mallory, alice = login(server.port, "mallory"), login(server.port, "alice")
            target, own = upload(server.port, mallory, 200_000), upload(server.port, alice, 20_000)
            before, other_before, calm = beside(server, alice, own, lambda: time.sleep(10))
            out = multiprocessing.Queue()
            attacker = multiprocessing.Process(target=attack, args=(server.port, mallory, target, seed, requests, out))
            began = time.perf_counter()

            def during():
                attacker.start()
                seen.update(out.get())
                attacker.join()

            seen = {}
            health, other, peak = beside(server, alice, own, during)
            took = time.perf_counter() - began
            upload(server.port, alice, 1_000)
            status, _ = ask(server.port, "GET", "/ht/")
        finally:
            ended = server.stop()
    return {
        "seconds": took, "calm MiB": calm / 2**20, "peak MiB": peak / 2**20,
        "healthz p99 ms before": 1e3 * percentile(before.times, 0.99), "healthz p99 ms": 1e3 * percentile(health.times, 0.99),
        "healthz worst ms": 1e3 * max(health.times), "healthz failed": sum(health.failed.values()), "healthz asked": len(health.times),
        "other p99 ms before": 1e3 * percentile(other_before.times, 0.99), "other p99 ms": 1e3 * percentile(other.times, 0.99),
        "other failed": sum(other.failed.values()), "other asked": len(other.times),
        "/ht/ afterwards": status, "ended with": ended, "seen": seen,
    }


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--bin", required=True)
    args.add_argument("--requests", type=int, default=500)
    args.add_argument("--seed", type=int, default=None)
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--out")
    args = args.parse_args()
    seed = args.seed if args.seed is not None else random.randrange(1 << 32)
    rounds = []
    for number in range(args.rounds):
        rounds.append(one_round(args.bin, args.requests, f"{seed}/{number}"))
        print(json.dumps(rounds[-1]), file=sys.stderr)
    names = [name for name in rounds[0] if name != "seen"]
    show = lambda v: f"{v:.1f}" if isinstance(v, float) else str(v)
    lines = ["# Hostile requests", "",
             f"{datetime.date.today()}, {os.cpu_count()} cores ({platform.machine()}), seed {seed}, {args.requests} requests a round, {WORKERS} at a time;",
             "attackers, probes and server share the cores. Server with `--memory 1GiB`.", "",
             "| | " + " | ".join(f"round {i + 1}" for i in range(len(rounds))) + " |", "|---" * (len(rounds) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(show(r[name]) for r in rounds) + " |" for name in names]
    ratio = min(r["other p99 ms"] / r["other p99 ms before"] for r in rounds)
    lines += ["", f"Best of the rounds: peak {min(r['peak MiB'] for r in rounds):.0f} MiB (budget {MEMORY >> 20} + 200), "
              f"/healthz p99 {min(r['healthz p99 ms'] for r in rounds):.1f} ms, another account's p99 {ratio:.1f} times that before.", "",
              "What the requests got (all rounds):", "", "| family and answer | times |", "|---|---|"]
    total = collections.Counter()
    for r in rounds:
        total.update(r["seen"])
    lines += [f"| {name} | {count} |" for name, count in sorted(total.items())]
    text = "\n".join(lines) + "\n"
    print(text)
    if args.out:
        Path(args.out).write_text(text)


if __name__ == "__main__":
    main()
