"""A real server on a fresh data folder, driven by real clients."""

import errno
import fcntl
import itertools
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pandas as pd
import pytest
import requests

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "correct horse battery staple"
# Seconds after which what a test waits for is taken to hang. No test passes or fails by how far below it the machine stays.
HANG_S = 120


def binary():
    """The server's binary, which scripts/test.sh builds."""
    path = os.environ.get("GRAPHLUME_BIN")
    assert path and Path(path).is_file(), "set GRAPHLUME_BIN to the server's binary (scripts/test.sh does)"
    return path


# Below the ports that the system gives to outgoing connections (from 32768 on by default), so that a connection of some
# test never holds the port of a server that is about to start again.
PORTS = range(11_000, 32_000)
# Ports of this process, each with the open file whose lock holds it until the process ends.
_held_ports = {}
_candidates = itertools.cycle(PORTS)


def free_port():
    """A port that no other process of these tests gets until this one has ended: two of them start servers at once, and a
    server that is killed comes back on the port that it had."""
    folder = Path(tempfile.gettempdir()) / f"graphlume-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for port in itertools.islice(_candidates, len(PORTS)):
        if port in _held_ports:
            continue
        lock = open(folder / str(port), "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as s:
                # As the server does: connections that have ended are no listener.
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind(("127.0.0.1", port))
                s.listen()
        except OSError as e:
            lock.close()
            assert e.errno in (errno.EWOULDBLOCK, errno.EADDRINUSE, errno.EACCES), e
            continue
        _held_ports[port] = lock
        return port
    raise AssertionError(f"no port from {PORTS.start} to {PORTS.stop} is free")


class Server:
    """One daemon; `start` and `kill` may be repeated on the same data folder."""

    def __init__(self, data, *extra, env=None):
        self.data, self.extra, self.process, self.env = Path(data), extra, None, env or {}
        self.port, self.internal = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = f"127.0.0.1:{self.port}"
        self.internal_url = f"http://127.0.0.1:{self.internal}"

    def start(self, deadline_s=HANG_S):
        env = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")}
        env["GRAPHLUME_ADMIN_PASSWORD"] = PASSWORD
        env.update(self.env)
        self.log = open(self.data.parent / f"{self.data.name}.log", "ab")
        self.process = subprocess.Popen(
            [binary(), "serve", "--listen", self.server, "--internal-listen", f"127.0.0.1:{self.internal}",
             "--data", str(self.data), *self.extra],
            env=env, stdout=self.log, stderr=self.log,
        )
        end = time.monotonic() + deadline_s
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.output()}")
            try:
                if requests.get(self.url + "/healthz", timeout=HANG_S).status_code == 200:
                    return self
            except requests.ConnectionError:
                time.sleep(0.02)
        raise AssertionError(f"the server did not come up:\n{self.output()}")

    def output(self):
        return (self.data.parent / f"{self.data.name}.log").read_text(errors="replace")[-4000:]

    def stop(self, sig=signal.SIGTERM, deadline_s=HANG_S):
        if self.process and self.process.poll() is None:
            self.process.send_signal(sig)
            try:
                self.process.wait(deadline_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"no clean end within {deadline_s} s:\n{self.output()}")
        return self.process.returncode if self.process else None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def rss_bytes(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(l for l in status.splitlines() if l.startswith("VmRSS")).split()[1]) * 1024

    def metric(self, name):
        """A figure of the operators' address without labels, by its name with or without `engine_`."""
        text = requests.get(self.internal_url + "/metrics", timeout=HANG_S).text
        found = re.search(rf'^graphlume_(?:engine_)?{name} ([0-9.e+-]+)$', text, re.MULTILINE)
        return float(found.group(1)) if found else None

    def token(self, username="admin", password=PASSWORD):
        r = requests.post(f"{self.url}/api-token-auth/", json={"username": username, "password": password})
        r.raise_for_status()
        return r.json()["token"]

    def api(self, username="admin", password=PASSWORD):
        return Api(self, self.token(username, password))


class Api:
    """Plain requests with a Bearer token."""

    def __init__(self, server, token):
        self.server, self.session = server, requests.Session()
        self.session.headers["Authorization"] = f"Bearer {token}"

    def __call__(self, method, path, **kwargs):
        return self.session.request(method, self.server.url + path, **kwargs)

    def file(self, data, file_type, query="", **fields):
        """Creates a file record and uploads its bytes; returns the record of the upload."""
        r = self("POST", "/api/v2/files/", json={"file_type": file_type, **fields})
        assert r.status_code == 201, r.text
        r = self("POST", f"/api/v2/upload/files/{r.json()['file_id']}{query}", data=data)
        assert r.status_code == 200, r.text
        return r.json()

    def dataset(self, edge_files=(), node_files=(), edges=None, nodes=None, expect=201, **fields):
        body = {
            "name": "test",
            "node_encodings": {"bindings": nodes if nodes is not None else {}},
            "edge_encodings": {"bindings": edges or {"source": "s", "destination": "d"}},
            "metadata": {},
            "edge_files": list(edge_files),
            "node_files": list(node_files),
            **fields,
        }
        r = self("POST", "/api/v2/upload/datasets/", json=body)
        assert r.status_code == expect, r.text
        return r.json()["data"]["dataset_id"] if expect == 201 else r.json()


def until(condition, what, deadline_s=HANG_S):
    """Waits until `condition` gives something true, and gives it."""
    end = time.monotonic() + deadline_s
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {deadline_s} s: {what}"
        time.sleep(0.02)
    return found


def counted(api, dataset, deadline_s=HANG_S):
    """The dataset's record once the engine has built the graph and so knows its size, and algorithms that it names have ended."""
    end = time.monotonic() + deadline_s

    def ended(data):
        if not data["compute"] and not data["layout"]:
            return True
        jobs = api("GET", f"/api/v2/datasets/{dataset}/jobs").json()["results"]
        return all(job["state"] in ("done", "failed", "cancelled") for job in jobs)

    def record():
        r = api("GET", f"/api/v2/upload/datasets/{dataset}")
        assert r.status_code == 200, r.text
        return r.json()["data"]

    while True:
        data = record()
        if data["node_count"] is not None and ended(data) or time.monotonic() > end:
            return record()
        time.sleep(0.02)


def run_cli(*args, check=True, **kwargs):
    kwargs.setdefault("env", {k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")})
    r = subprocess.run([binary(), *map(str, args)], capture_output=True, text=True, **kwargs)
    if check:
        assert r.returncode == 0, f"{args}: {r.returncode}\n{r.stdout}\n{r.stderr}"
    return r


@pytest.fixture(scope="session")
def accounts(tmp_path_factory):
    """A data folder with accounts alice and bob, an organization acme (alice), and a key of alice."""
    data = tmp_path_factory.mktemp("server") / "data"
    run_cli("user", "add", "alice", "--password-stdin", "--org", "acme", "--data", data, input=PASSWORD + "\n")
    run_cli("user", "add", "bob", "--password-stdin", "--org", "globex", "--data", data, input=PASSWORD + "\n")
    key = run_cli("key", "create", "alice", "--data", data).stdout.strip()
    return {"data": data, "key": key.split(":")}


@pytest.fixture(scope="session")
def server(accounts):
    s = Server(accounts["data"]).start()
    yield s
    assert s.stop() == 0, s.output()


@pytest.fixture
def fresh(tmp_path):
    """A server of its own, for tests that stop it."""
    s = Server(tmp_path / "data").start()
    yield s
    if s.process.poll() is None:
        s.stop()


@pytest.fixture
def alice(server):
    return server.api("alice")


@pytest.fixture
def bob(server):
    return server.api("bob")


@pytest.fixture
def client(server):
    """The unchanged Python client, logged in as alice, with nothing left over from other tests."""
    import graphistry

    graphistry.register(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    return graphistry


@pytest.fixture(scope="session")
def club():
    """Zachary's karate club as client tables."""
    import networkx as nx

    g = nx.karate_club_graph()
    edges = pd.DataFrame([(f"m{u}", f"m{v}", float(1 + u % 3)) for u, v in g.edges()], columns=["s", "d", "w"])
    nodes = pd.DataFrame(
        {
            "id": [f"m{v}" for v in g],
            "camp": [g.nodes[v]["club"] for v in g],
            "size": [float(g.degree(v)) for v in g],
            "title": [f"Member {v}" for v in g],
        }
    )
    return edges, nodes


WEB = ROOT / "shell/web"
# The browser of this process once somebody has asked for it, and its address.
_browser = []


def node_script(script, *args):
    """The command of a page script of shell/web/tests."""
    node = shutil.which("node")
    assert node, "Node.js is missing (scripts/test.sh installs it)"
    return [node, str(WEB / "tests" / script), *map(str, args)]


def page_env(**more):
    """The environment of a page script: all of them open their pages in one browser."""
    if not _browser:
        process = subprocess.Popen(node_script("browser-server.mjs"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, cwd=WEB)
        address = process.stdout.readline().strip()
        assert address.startswith("ws://"), f"Chromium did not start: {address!r}"
        _browser.extend([process, address])
    return {**os.environ, "BROWSER_WS": _browser[1], **more}


def pytest_unconfigure():
    """Ends the browser that `page_env` started."""
    if _browser:
        _browser[0].stdin.close()
        _browser[0].wait(HANG_S)


def browser(script, *args, timeout=3 * HANG_S):
    """Runs a page script of shell/web/tests in headless Chromium and returns the JSON it prints."""
    r = subprocess.run(node_script(script, *args), capture_output=True, text=True, timeout=timeout, cwd=WEB, env=page_env())
    assert r.returncode == 0, f"{script}:\n{r.stdout}\n{r.stderr}"
    return json.loads(r.stdout.strip().splitlines()[-1])


def unique(prefix):
    return f"{prefix}-{secrets.token_hex(4)}"


# ---- how a run is divided between workers (pytest -n 2 --dist loadfile --no-loadscope-reorder) ----------------

# The files that take longest, longest first: a worker that begins one of them late works alone at the end.
LONG_FILES = ["test_gfql_oracle", "test_page"]


def pytest_configure(config):
    """Decides the seed of random cases once, in the first process; workers take it from their environment."""
    os.environ.setdefault("GRAPHLUME_ORACLE_SEED", secrets.token_hex(4))


def pytest_collection_modifyitems(items):
    """Puts the long files first, in the order of the list; within a file and for all others nothing changes."""
    place = {name: i for i, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


def pytest_terminal_summary(terminalreporter):
    """Says with which seed random cases were made, so that a run can be repeated."""
    reports = [r for kind in ("passed", "failed", "error") for r in terminalreporter.stats.get(kind, [])]
    if any("test_gfql_oracle" in r.nodeid for r in reports):
        seed = os.environ["GRAPHLUME_ORACLE_SEED"]
        terminalreporter.write_line(f"queries compared with the reference: GRAPHLUME_ORACLE_SEED={seed}")
