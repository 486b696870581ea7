"""Times steps of a session's document through the server, as a page sees them: from sending a step to its masks and numbers, or
to the colours of a collection.

    python bench/document_steps.py URL DATASET PASSWORD

DATASET is one of the superuser's, of a million nodes; a numeric column of the nodes has the name `a` and goes from 0 to the number
of nodes. The Python packages are those of tests/requirements.txt."""

import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))

import numpy as np  # noqa: E402
import requests  # noqa: E402
from live import bits  # noqa: E402
from test_document import Page  # noqa: E402

COLUMNS, SELECTED = 10, 100_000


class Address:
    """What `Page` asks of a server."""

    def __init__(self, url, password):
        self.url, self.server = url, url.split("//")[1]
        answer = requests.post(f"{url}/api-token-auth/", json={"username": "admin", "password": password})
        answer.raise_for_status()
        self.key = answer.json()["token"]

    def token(self, _user):
        return self.key


class Bench:
    def __init__(self, url, dataset, password):
        self.server, self.dataset, self.session = Address(url, password), dataset, f"steps-{time.time_ns()}"
        self.headers = {"Authorization": f"Bearer {self.server.key}"}
        requests.get(f"{url}/graph/graph.html?dataset={dataset}&workbook={self.session}&play=0",
                     headers=self.headers, allow_redirects=False).raise_for_status()
        self.page = Page(self.server, dataset, self.session, "admin")
        self.page.until(lambda: self.page.graph and self.page.frames)
        self.times = {}

    def ask(self, method, path, **more):
        params = {"dataset": self.dataset, "viewer": self.page.messages[0]["viewer"], **more.pop("params", {})}
        answer = requests.request(method, f"{self.server.url}/viz/{self.session}/{path}", params=params,
                                  headers=self.headers, **more)
        answer.raise_for_status()
        return answer.json()

    def timed(self, what, act, until=lambda: True):
        begun = time.perf_counter()
        answer = act()
        assert answer.get("t", "done") == "done", answer
        self.page.until(until)
        self.times.setdefault(what, []).append(1_000 * (time.perf_counter() - begun))

    def shown(self):
        """Whether masks and numbers newer than those of now are there."""
        counts = self.page.counts
        return lambda: self.page.counts is not counts

    def painted(self, frames):
        """Whether so many frames of colours came after now."""
        colors = self.page.colors
        return lambda: self.page.colors >= colors + frames

    def do(self, changes):
        changes = [{"path": path, "value": value} for path, value in changes.items()]
        return self.ask("POST", "do", json={"label": "step", "changes": changes})

    def undo(self):
        return self.page.ask(t="undo")

    def run(self):
        nodes = self.page.graph["node_count"]
        columns = [c["name"] for c in self.ask("GET", "columns")["columns"] if c["axis"] == "node"][:COLUMNS]
        named = {"columns": ",".join(f"node:{name}" for name in columns)}
        self.timed(f"first question of {len(columns)} histograms", lambda: self.ask("GET", "bins", params=named))
        for k in range(8):
            brush = {"axis": "node", "column": "a", "range": [k, k + nodes // 2]}
            self.timed("brush moves" if k else "first brush", lambda: self.do({"filters/b": {"rule": {"brush": brush}}}), self.shown())
            self.timed(f"then {len(columns)} histograms", lambda: self.ask("GET", "bins", params=named))
            self.timed("brush taken back", self.undo, self.shown())
        draw = np.random.default_rng(1)
        for _ in range(5):
            rule = {"nodes": bits(draw.choice(nodes, SELECTED, replace=False), nodes)}
            self.timed("selection to a filter", lambda: self.do({"filters/s": {"rule": rule}}), self.shown())
            self.timed("filter taken back", self.undo, self.shown())
            own = {"name": "C", "node_color": "#ff0000", "rule": rule}
            self.timed("selection to a collection, painted", lambda: self.do({"collections/c": own}), self.painted(2))
            self.timed("collection taken back, painted", self.undo, self.painted(2))
        for what, times in self.times.items():
            print(f"{what}: median {statistics.median(times):.1f}, most {max(times):.1f} ms ({len(times)})")


if __name__ == "__main__":
    Bench(*sys.argv[1:4]).run()
