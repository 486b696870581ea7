"""An agent on plain JSON-RPC, and a page that somebody keeps open."""

import itertools
import json
import threading

import requests
from conftest import HANG_S
from live import Viewer


class Refused(Exception):
    """A message that was answered with an error of the endpoint."""

    def __init__(self, status, error):
        super().__init__(f"{status}: {error}")
        self.status, self.code, self.message = status, error["code"], error["message"]


class Agent:
    """One connection to `/mcp`, or to another address. `key` is what follows Bearer."""

    def __init__(self, server, key=None, start=True, path="/mcp"):
        self.url, self.ids, self.http = server.url + path, itertools.count(1), requests.Session()
        self.session, self.key = None, key
        self.info = self.initialize() if start else None

    def headers(self, **more):
        h = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            h["mcp-session-id"] = self.session
        if self.key:
            h["Authorization"] = f"Bearer {self.key}"
        return {**h, **{k: v for k, v in more.items() if v is not None}}

    def post(self, body, **headers):
        data = body if isinstance(body, (str, bytes)) else json.dumps(body)
        return self.http.post(self.url, data=data, headers=self.headers(**headers), timeout=HANG_S)

    def ask(self, method, params=None, id=None, **headers):
        """The reply of a request, whatever it is."""
        message = {"jsonrpc": "2.0", "id": next(self.ids) if id is None else id, "method": method}
        if params is not None:
            message["params"] = params
        return self.post(message, **headers)

    def result(self, method, params=None, **headers):
        r = self.ask(method, params, **headers)
        body = r.json()
        if "error" in body:
            raise Refused(r.status_code, body["error"])
        assert r.status_code == 200, r.text
        return body["result"]

    def initialize(self, version="2025-06-18"):
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        r = self.ask("initialize", params)
        assert r.status_code == 200, r.text
        self.session = r.headers["mcp-session-id"]
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status_code == 202
        return r.json()["result"]

    def text(self, tool, **arguments):
        result = self.result("tools/call", {"name": tool, "arguments": arguments})
        assert "isError" not in result, result
        [block] = result["content"]
        assert block["type"] == "text"
        return block["text"]

    def call(self, tool, **arguments):
        """The decoded result of a tool."""
        return json.loads(self.text(tool, **arguments))

    def refusal(self, tool, **arguments):
        """Status and code of a call that the endpoint refuses."""
        try:
            done = self.text(tool, **arguments)
        except Refused as e:
            return e.status, e.code
        raise AssertionError(f"was not refused: {done}")

    def failure(self, tool, **arguments):
        """The code in brackets of a call that the tool fails."""
        error = self.call(tool, **arguments)["error"]
        assert error.startswith("["), error
        return error[1:error.index("]")]


class OpenPage:
    """A page as the server sees one: it opens the stream, reads on and acknowledges."""

    def __init__(self, server, dataset, session, token=None, query=""):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if query:
            r = requests.get(f"{server.url}/graph/graph.html?dataset={dataset}&workbook={session}&{query}",
                             headers=headers, allow_redirects=False)
            assert r.status_code == 302, r.text
        self.viewer = Viewer(server, dataset, session, headers=headers)
        self.session, self.stop = session, threading.Event()
        self.viewer.until(lambda: self.viewer.graph is not None)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while not self.stop.is_set():
            try:
                self.viewer.step(timeout=0.1)
            except TimeoutError:
                continue
            except Exception:
                return

    @property
    def collections(self):
        """The last message about collections."""
        return next((m for m in reversed(self.viewer.messages) if m["t"] == "collections"), None)

    def close(self):
        self.stop.set()
        self.thread.join()
        self.viewer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
