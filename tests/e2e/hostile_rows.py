"""Who pays for what a caller sends, where it waits, and what a hostile caller sends: a row for each route, path of the
document, message of the socket and tool. `test_hostile.py` fails for one without a row, and draws requests from all.

`pays` names the budget that bounds what a request makes the server hold, by a key of `BUDGETS`; `waits` the turn that it
waits for; `family` makes and sends what is hostile. A family gets the attack (`Attack` of test_hostile.py) and the row's
key, and returns the statuses of the answers."""

import base64
import json
import random
import re
import zlib
from dataclasses import dataclass, field
from typing import Callable

MIB = 1 << 20
# What the server of the test may hold in all, and what it holds without hostile requests is less than.
MEMORY = 256 * MIB
QUERY_S = 2


@dataclass(frozen=True)
class Budget:
    """Bounds of what one draw may cost beyond what was there: MiB of memory at its peak, MiB written, seconds of CPU."""

    memory: float
    written: float
    cpu: float


BUDGETS = {
    # No more than the head and the address of a request, and small answers.
    "head": Budget(24, 1, 0.5),
    # A body of JSON, decoded, and the records that it makes.
    "body": Budget(160, 24, 1.0),
    # The share of a query in the memory of graphs, and its answer; its limit of time on all threads.
    "query": Budget(MEMORY / MIB + 100, 2, 2 * QUERY_S),
    # The document of a session, its history and what watchers change for themselves.
    "document": Budget(48, 8, 1.0),
    # A change of the document with rules, which are looked at before it is made: one that is a query takes a share of the
    # memory of graphs, and waits for its turn.
    "rule": Budget(0.75 * MEMORY / MIB, 8, 2 * QUERY_S),
    # The pixels of a picture.
    "picture": Budget(200, 1, 4.0),
    # The bytes of the account: bodies are on the disk, parsed in processes of their own.
    "account": Budget(120, 48, 3.0),
    # Frames and texts of one stream.
    "stream": Budget(64, 2, 1.0),
}


@dataclass(frozen=True)
class Row:
    """What is known of a thing that callers can ask."""

    pays: str
    waits: str
    family: Callable = field(repr=False)


# Values.

def junk(r, size=1 << 16):
    """A value of JSON that nobody expects."""
    return r.choice([
        None, True, -1, 2 ** 63, 10 ** 400, 1e308, -0.0, "", "x" * size, "\u0000\ud7ff\u202e", "ä" * (size // 2),
        "=1+1", "../../etc/passwd", "'\"><script>", [0] * (size // 2), [[]] * (size // 4), {"a": "b" * size},
        {str(i): i for i in range(size // 16)}, nested(r.choice([20, 120, 900])),
    ])


def nested(depth, leaf=1):
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


def packed(data):
    """Base64 of deflated bytes, as sets of nodes travel."""
    c = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(c.compress(data) + c.flush()).decode()


def nodes(r):
    """A set of nodes: of another graph, huge once it is unpacked, or no such thing."""
    return r.choice([lambda: packed(b"\0" * (4 << 20)), lambda: packed(b"\xff" * (3 << 20)), lambda: packed(b"\x01"),
                     lambda: packed(b"\xff" * 250), lambda: "A" * (1 << 16), lambda: junk(r)])()


TEXTS = [
    "degree > 1", "(" * 900 + "degree" + ")" * 900 + " > 1", " OR ".join(["degree > 1"] * 2000), "degree > '" + "x" * 60000 + "'",
    "MATCH (a), (b), (c), (d) RETURN a", "MATCH p = (a)-[*]->(b) RETURN a", "MATCH (a)-->(b)-->(c)-->(d)-->(e) RETURN a",
    "UNWIND range(1, 100000000) AS i RETURN i", "RETURN reduce(s = 'x', j IN range(1, 60) | s + s)", "name =~ '(a{900}){900}'",
    "MATCH (n) WHERE n.id =~ '" + r"\\w{90}" * 40 + "' RETURN n",
]


def rule(r, depth=0):
    """A rule as filters have it, in each of its forms."""
    form = r.choice(["expr", "brush", "nodes", "ego", "query", "gfql", "sets", "none"])
    if form == "expr" or form == "query":
        return {form: r.choice(TEXTS)}
    if form == "brush":
        values = [r.randrange(10 ** 9) for _ in range(r.choice([1, 1000, 30000]))]
        return {"brush": {"axis": r.choice(["node", "edge", "x"]), "column": r.choice(["degree", "s", "none", "x" * 9999]),
                          **r.choice([{"values": values}, {"low": 1e308, "high": -1e308}, {"low": junk(r)}])}}
    if form == "nodes":
        return {"nodes": nodes(r)}
    if form == "ego":
        return {"ego": {"nodes": r.choice([[0], list(range(20000)), junk(r)]), "hops": r.choice([1, 10 ** 9, -1, junk(r, 64)])}}
    if form == "gfql":
        step = {"type": "Edge", "direction": "undirected", **r.choice([{"hops": 10_000}, {"to_fixed_point": True}, {"hops": 10 ** 12}])}
        return {"gfql": r.choice([[{"type": "Node"}, step, {"type": "Node"}], [{"type": "Node"}] * 300, junk(r)])}
    if form == "sets" and depth < 3:
        return {"sets": {"of": [rule(r, depth + 1) for _ in range(r.choice([1, 8]))], "how": r.choice(["union", "all", "x"])}}
    return {form: junk(r)}


# Families of routes.

def filled(a, path):
    """The path with its parameters: those of things that are there, or junk."""
    values = a.values()

    def value(m):
        name = m.group(1).lstrip("*")
        odd = ["%00", "..%2f..", "x" * 3000, "-1", "99999999999999999999", "%F0%9F%92%A9"]
        return a.r.choice(odd) if a.r.random() < 0.25 else values.get(name, "x")
    return re.sub(r"{(\*?\w+)}", value, path)


def described(a, key):
    """A request as /openapi.json describes it, each parameter and member junk or left out."""
    method, path = key.split(" ")
    operation = a.operations[key]
    query = {}
    for p in operation.get("parameters", []):
        if p["in"] == "query" and a.r.random() < 0.6:
            value = junk(a.r, 2000)
            query[p["name"]] = value if isinstance(value, str) else json.dumps(value)
    if "dataset" in {p["name"] for p in operation.get("parameters", [])} and a.r.random() < 0.8:
        query["dataset"] = a.dataset
    body = None
    content = operation.get("requestBody", {}).get("content", {})
    if content:
        schema = next(iter(content.values())).get("schema", {})
        names = list(schema.get("properties", {})) or ["a"]
        size = a.r.choice([64, 1 << 12, 1 << 16, 1 << 20])
        body = a.r.choice([
            lambda: json.dumps({n: junk(a.r, size) for n in names if a.r.random() < 0.8}),
            lambda: b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
            lambda: b"[" + b"0," * (size << 1) + b"0]",
            lambda: b"\xff\xfe" * 999,
            lambda: b'{"' + b"k" * size + b'":1}',
        ])()
    return [a.ask(method, filled(a, path), query, body)]


def find(a, key):
    return [a.ask("POST", f"/viz/{a.session}/find", {"dataset": a.dataset}, {a.r.choice(["rule", "text"]): rule(a.r)}),
            a.ask("POST", f"/viz/{a.session}/find", {"dataset": a.dataset}, {"text": a.r.choice(TEXTS)})]


def bins(a, key):
    columns = a.r.choice(["node:degree", ",".join(["node:degree"] * 60), "node:" + "x" * 5000, ",".join(f"edge:c{i}" for i in range(16))])
    query = {"columns": columns, "bins": a.r.choice(["1", "254", "255", "-1"]), "search": a.r.choice(["", "x" * 4000]), "dataset": a.dataset}
    return [a.ask("GET", f"/viz/{a.session}/bins", query) for _ in range(3)]


def export(a, key):
    path = key.rsplit("/", 1)[1]
    query = {"table": a.r.choice(["nodes", "edges", "x"]), "format": a.r.choice(["csv", "json", "parquet"]),
             "escape": a.r.choice(["formulas", "x"]), "dataset": a.dataset}
    return [a.ask("POST", f"/viz/{a.session}/{path}", query, {"nodes": nodes(a.r), "name": junk(a.r)})]


def picture(a, key):
    kind = key.rsplit(".", 1)[1]
    query = {"dataset": a.dataset, "wait": "0", "width": a.r.choice(["16", "8192", "6324", "8193"]),
             "height": a.r.choice(["16", "6324", "8192"]), "scale": a.r.choice(["0.25", "1", "8"]),
             "title": a.r.choice(["", "<b>&" * 40, "x" * 300]), "bundle": a.r.choice(["true", "false"]),
             **a.r.choice([{}, {"left": "1e29", "right": "1e30", "top": "1e30", "bottom": "-1e30"}, {"left": "nan"}])}
    return [a.ask("GET", f"/viz/{a.session}/picture.{kind}", query)]


SQUARE = [{"type": "Call", "function": "compute_igraph", "params": {"alg": "bibcoupling"}}]
QUERIES = [
    "MATCH (a), (b), (c), (d), (e) RETURN count(*)", "UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b RETURN a, b ORDER BY b",
    "MATCH (a)-->(b)-->(c)-->(d) RETURN collect(a.id + b.id + c.id + d.id)", "RETURN range(1, 100000000) AS x",
    "UNWIND range(1, 1000000) AS i RETURN reduce(s = 'x', j IN range(1, 60) | s + s) AS t", "MATCH p = (a)-[*]->(b) RETURN count(p)",
    "MATCH (a), (b) RETURN collect(a.id + b.id)", "MATCH (a), (b) RETURN a.id, b.id, count(*)",
    [{"type": "Node"}, {"type": "Edge", "direction": "undirected", "to_fixed_point": True}, {"type": "Node"}],
    SQUARE,
    [{"type": "Call", "function": "compute_igraph", "params": {"alg": "community_walktrap", "params": {"steps": 100}}}],
    [{"type": "Call", "function": "umap", "params": {"n_neighbors": 10 ** 6}}],
]


def query(a, key):
    body = {"gfql_query": a.r.choice(QUERIES), "format": a.r.choice(["json", "csv", "parquet"]),
            "strictness": a.r.choice(["strict", "warn", "x"]), "persist": False}
    path = key.split(" ")[1].replace("{dataset_id}", a.own if a.token else "Karate")
    return [a.ask("POST", path.replace("{output_type}", a.r.choice(["all", "nodes", "edges", "shape", "x"])), {}, body)]


def upload(a, key):
    """A table that is large once it is unpacked or read, or none at all."""
    path = filled(a, key.split(" ")[1])
    data = a.r.choice([
        lambda: b"a,b\n" + b"1,2\n" * 400_000, lambda: b"a" + b",a" * 200_000 + b"\n1\n", lambda: b'a,b\n"' + b"x" * (3 << 20),
        lambda: zlib.compress(b"\0" * (64 << 20), 9), lambda: b"[" * 200_000, lambda: b"PAR1" + b"\xff" * 4096 + b"PAR1",
        lambda: b"ARROW1\0\0" + b"\x7f" * 999, lambda: b"PK\x03\x04" + b"\0" * 999,
    ])()
    if path.startswith("/api/v2/upload/files/") and a.token:
        made = a.ask("POST", "/api/v2/files/", {}, {"file_type": a.r.choice(["csv", "json", "parquet", "arrow", "orc", "xlsx"])}, whole=True)
        if made[0] == 201:
            path = "/api/v2/upload/files/" + json.loads(made[1])["file_id"]
    return [a.ask("POST", path, {}, data)]


def rpc(a, key):
    """Messages of the tool endpoint, among them calls of every tool."""
    call = {"jsonrpc": "2.0", "id": a.r.choice([1, "x" * 9999, nested(50)]), "method": a.r.choice(["tools/call", "tools/list", "initialize", "x" * 9999]),
            "params": a.r.choice([{}, junk(a.r), {"name": junk(a.r, 100), "arguments": junk(a.r)}])}
    body = a.r.choice([call, [call] * 300, junk(a.r)])
    method, path = key.replace("{toolset}", a.r.choice(["all", "all", "x" * 999])).split(" ")
    return [a.ask(method, path, {}, json.dumps(body), {"Accept": "application/json, text/event-stream"})]


def stream(a, key):
    """A stream of a page that says junk until it is told to go."""
    return a.said([junk(a.r, 900) for _ in range(20)] + [{"t": junk(a.r, 60)} for _ in range(20)])


# Families of the document, the socket and the tools.

def steps(a, changes):
    """A step by the page that controls the session, or by one that watches."""
    return [a.do([{"path": path, "value": value} for path, value in changes])]


def entry(a, path):
    """What a path may hold, at its worst: many of them, each large."""
    root = path.split("/")[0]
    many = a.r.choice([1, 40, 160])
    if root in ("filters", "collapsed", "collections"):
        # Sets of nodes that are huge once they are unpacked, most of all.
        of = (lambda: {"nodes": packed(b"\0" * (4 << 20))}) if a.r.random() < 0.5 else (lambda: rule(a.r))
        value = lambda: {"name": "x", "on": a.r.random() < 0.5, "rule": of()}
        return steps(a, [(f"{root}/f{i}", value()) for i in range(many)]) + [a.ask("GET", f"/viz/{a.session}/bins", {"columns": "node:degree", "dataset": a.dataset, "viewer": a.seat})]
    if root == "pins":
        return steps(a, [(f"pins/{i}", a.r.choice([[i, -i], [1e308, 1], junk(a.r, 99)])) for i in range(many * 20)])
    if root == "encodings":
        return steps(a, [(path, {"attribute": a.r.choice(["degree", "x" * 9999]), "name": "x", "x": [0] * a.r.choice([1, 200_000])})])
    return steps(a, [(path.replace("<knob of the layout>", "gravity"), junk(a.r, 2000))])


SAID = {
    "Ack": lambda r: {"t": "ack", "seq": r.choice([0, 2 ** 32 - 1, -1])},
    "Play": lambda r: {"t": "play", "on": True, "ms": r.choice([0, 2 ** 63, 1])},
    "Settings": lambda r: {"t": "settings", **{k: junk(r, 99) for k in ("gravity", "linLog", "x")}},
    "Pin": lambda r: {"t": "pin", "index": r.choice([0, 2 ** 32 - 1]), "x": r.choice([1e38, -1e38, 0]), "y": 0},
    "Unpin": lambda r: {"t": "unpin", "index": r.choice([0, 2 ** 32 - 1, -1])},
    "Layout": lambda r: {"t": "layout", "name": r.choice(["kk", "fr", "x", "mds"]), "params": {"maxiter": r.choice([10 ** 12, -1]), "x": junk(r, 99)}},
    "Do": lambda r: {"t": "do", "id": junk(r, 99), "label": "x" * 900, "changes": [{"path": "filters/f", "value": {"rule": rule(r)}}]},
    "Undo": lambda r: {"t": "undo", "id": "x" * 300},
    "Redo": lambda r: {"t": "redo", "id": "x" * 300},
    "Hidden": lambda r: {"t": "hidden"},
    "Visible": lambda r: {"t": "visible"},
    "Resume": lambda r: {"t": "resume", "epoch": r.choice([0, 2 ** 32 - 1]), "seq": 2 ** 32 - 1},
    "Other": lambda r: {"t": junk(r, 99), "x": junk(r, 900)},
}


def message(a, name):
    return a.said([SAID[name](a.r) for _ in range(a.r.choice([1, 40, 90]))])


def tool(a, name):
    ask = {"session_id": a.r.choice([a.session, junk(a.r, 99)]), "query": a.r.choice(QUERIES), "collections": junk(a.r), "name": junk(a.r, 999),
           "gfql": a.r.choice(QUERIES[8:]), "cypher": a.r.choice(QUERIES[:8]), "width": a.r.choice([1600, 10 ** 9]), "limit": 10 ** 12,
           "node_color": junk(a.r, 99), "expr": a.r.choice(TEXTS)}
    known = a.tools[name]["inputSchema"].get("properties", {})
    arguments = {n: ask.get(n, junk(a.r)) for n in known if a.r.random() < 0.9}
    return [a.call(name, arguments if a.r.random() < 0.9 else junk(a.r))]


# The rows.

def rows(pays, waits, family, *keys):
    return {key: Row(pays, waits, family) for key in keys}


ROUTES = {
    **rows("head", "nothing", described, *(f"GET {path}" for path in (
        "/healthz", "/ht/", "/caddy/health/", "/healthcheck/", "/pivot/health", "/streamgl-viz/health", "/streamgl-gpu/primary/health", "/streamgl-gpu/secondary/cpu/health", "/streamgl-gpu/secondary/gpu/health",
        "/streamgl-sessions/health", "/", "/graph/{path}", "/favicon.ico", "/openapi.json", "/etl", "/api/check", "/login", "/mcp/manifest.json",
        "/magic-login/", "/api/v1/datasets/", "/web/api/v1/datasets/", "/api/v2/auth/pkey/jwt/", "/mcp", "/mcp/x/{toolset}"))),
    **rows("head", "sign-in", described, "POST /api/v2/auth/pkey/jwt/", "GET /api/v2/generate/single-use-url/",
           "GET /api/v2/logout-user/{username}/", "GET /api/v2/logout-user/username/{username}/", "DELETE /api/v2/users/me/keys/{key_id}/",
           "DELETE /mcp", "DELETE /mcp/x/{toolset}"),
    **rows("body", "sign-in", described, "POST /api-token-auth/", "POST /api/v2/auth/token/generate", "POST /api/v2/auth/token/refresh",
           "POST /api-token-refresh/", "POST /api-token-verify/", "POST /api/v2/o/{slug}/switch/", "POST /login", "POST /logout",
           "POST /api/v2/users/me/password/", "POST /api/v2/users/me/keys/"),
    **rows("body", "lists", described, "GET /api/v2/files/", "GET /api/v2/datasets/", "GET /api/v2/users/me/keys/",
           "GET /api/experimental/viz/sessions/"),
    **rows("body", "commits", described, "POST /api/v2/files/", "GET /api/v2/files/{file_id}", "DELETE /api/v2/files/{file_id}",
           "PATCH /api/v2/upload/files/{file_id}/", "GET /api/v2/datasets/{dataset_id}", "DELETE /api/v2/datasets/{dataset_id}",
           "GET /api/v2/datasets/{dataset_id}/jobs", "DELETE /api/v2/datasets/{dataset_id}/jobs/{job_id}",
           "POST /api/v2/upload/datasets/", "GET /api/v2/upload/datasets/{dataset_id}", "POST /api/v1/datasets/",
           "POST /api/v2/share/link/", "GET /api/v2/share/link/", "POST /etl", "POST /api/v2/datasets/{dataset_id}/python", "GET /api/experimental/viz/sessions/{session_id}/"),
    **rows("account", "parses", upload, "POST /api/v2/upload/files/{file_id}", "POST /api/v2/upload/datasets/{dataset_id}/nodes/{format}",
           "POST /api/v2/upload/datasets/{dataset_id}/edges/{format}"),
    **rows("query", "queries", query, "POST /api/v2/etl/datasets/{dataset_id}/gfql/{output_type}", "POST /api/v2/etl/datasets/{dataset_id}/gfql",
           "POST /api/v2/datasets/{dataset_id}/gfql/{output_type}", "POST /api/v2/datasets/{dataset_id}/gfql"),
    **rows("query", "queries", find, "POST /viz/{session_id}/find"),
    **rows("query", "queries", export, "POST /viz/{session_id}/export", "POST /viz/{session_id}/dataset"),
    **rows("query", "readers", bins, "GET /viz/{session_id}/bins"),
    **rows("picture", "pictures", picture, "GET /viz/{session_id}/picture.png", "GET /viz/{session_id}/picture.svg",
           "GET /viz/{session_id}/picture.pdf"),
    **rows("document", "the session", described, "POST /viz/{session_id}/do"),
    **rows("body", "readers", described, *(f"GET /viz/{{session_id}}/{path}" for path in (
        "about", "graph", "scene/{index}", "node/{index}", "names", "edge/{index}", "search", "frame", "columns",
        "{epoch}/edges.bin", "{epoch}/positions.bin", "{epoch}/groups.bin", "{epoch}/depth.bin")), "GET /graph/graph.html"),
    **rows("stream", "the session", stream, "GET /viz/{session_id}/ws"),
    **rows("body", "tools", rpc, "POST /mcp", "POST /mcp/x/{toolset}"),
}
# By the first part of the path; those of encodings and looks are named each.
PATHS = {root: Row("rule", "queries", entry) for root in ("filters/<id>", "collections/<id>", "collapsed/<id>")} | {
    root: Row("document", "the session", entry) for root in (
    "prune_orphans", "pins/<node>", "settings/<knob of the layout>",
    *(f"encodings/{axis}.{what}" for axis in ("node", "edge") for what in ("color", "size", "opacity", "icon")), "encodings/node.axis",
    *(f"look/{name}" for name in (
        "background", "edgeCurvature", "edgeOpacity", "edgeSize", "labelBackground", "labelColor", "labelEnabled", "labelHighlightEnabled",
        "labelInspectorEnabled", "labelLabelPOI", "labelOpacity", "labelPOI", "labelPOIMax", "labelPropertiesEnabled", "labelShowActions",
        "neighborhoodHighlight", "neighborhoodHighlightHops", "pointOpacity", "pointSize", "pointStrokeWidth", "showArrows", "showToolbar")))}
MESSAGES = {name: Row("stream", "the session", message) for name in SAID} | {"Do": Row("rule", "queries", message)}
TOOLS = {
    **rows("query", "queries", tool, "query_graph", "create_collection", "update_collection"),
    **rows("picture", "pictures", tool, "get_picture"),
    **rows("body", "tools", tool, "get_session_info", "list_collections", "list_sessions", "delete_collection", "reorder_collections",
           "reset_collections"),
}
