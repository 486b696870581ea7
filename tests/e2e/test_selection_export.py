"""What is selected in a picture leaves as a file, or becomes a dataset of its own."""

import io

import numpy as np
import pandas as pd
import pytest
import requests
from conftest import HANG_S, unique, until
from link_rig import admin_server, jar, mint, visit
from live import Viewer, bits, until_at_rest

N = 40
KIND = "abcd"
SELECTED = [0, 1, 4, 8, 17, 33, 39]


def target(i):
    return (i * 7 + 1) % N


def upload(api, **fields):
    """40 nodes, of which the last five are named by edges alone, and a column y besides."""
    edges = "".join(f"n{i},n{target(i)},{i / 4}\n" for i in range(N))
    nodes = "".join(f"n{i},{i},{KIND[i % 4]}\n" for i in range(N - 5))
    node_file = api.file(f"id,y,kind\n{nodes}".encode(), "csv")
    edge_file = api.file(f"s,d,w\n{edges}".encode(), "csv")
    return api.dataset([edge_file["file_id"]], [node_file["file_id"]], nodes={"node": "id"}, **fields)


class Picture:
    """A session at rest, and what is asked of its selections."""

    def __init__(self, server, dataset, headers=None):
        self.server, self.dataset, self.session, self.headers = server, dataset, unique("sel"), headers or {}
        self.viewer = Viewer(server, dataset, self.session, headers=headers)
        until_at_rest(self.viewer)
        # Nodes are numbered as the graph numbers them; their names say which ones they are.
        listed = ",".join(map(str, range(N)))
        names = requests.get(self.at("names"), params={"dataset": dataset, "nodes": listed}, headers=self.headers)
        self.names = [n if isinstance(n, str) else n.get("label", n.get("id")) for n in names.json()["names"]]
        self.index = {name: i for i, name in enumerate(self.names)}

    def at(self, path):
        return f"{self.server.url}/viz/{self.session}/{path}"

    def bits(self, nodes):
        return bits([self.index[f"n{i}"] for i in nodes])

    def positions(self):
        epoch = self.viewer.graph["epoch"]
        r = requests.get(self.at(f"{epoch}/positions.bin"), params={"dataset": self.dataset}, headers=self.headers)
        assert r.status_code == 200, r.text
        return np.frombuffer(r.content[48:], "<f4").reshape(-1, 2)

    def post(self, path, nodes, headers=None, body=None, **params):
        body = {"nodes": nodes if isinstance(nodes, str) else self.bits(nodes), **(body or {})}
        return requests.post(self.at(path), params={"dataset": self.dataset, **params}, json=body, timeout=HANG_S,
                             headers=self.headers if headers is None else headers)

    def close(self):
        self.viewer.close()


def bearer(server, user):
    return {"Authorization": f"Bearer {server.token(user)}"}


@pytest.fixture
def picture(server, alice):
    shown = Picture(server, upload(alice, name="Überweisungen 1/2"), bearer(server, "alice"))
    yield shown
    shown.close()


READ = {
    "csv": lambda data: pd.read_csv(io.BytesIO(data)),
    "json": lambda data: pd.read_json(io.BytesIO(data), precise_float=True),
    "parquet": lambda data: pd.read_parquet(io.BytesIO(data)),
}


@pytest.mark.parametrize("form", READ)
def test_a_file_has_the_selected_nodes_with_their_positions_or_the_edges_among_them(picture, form):
    r = picture.post("export", SELECTED, table="nodes", format=form)
    assert r.status_code == 200, r.text
    named = r.headers["content-disposition"]
    assert named == (f'attachment; filename="_berweisungen 1_2-nodes.{form}"; '
                     f"filename*=UTF-8''%C3%9Cberweisungen%201%2F2-nodes.{form}"), named
    nodes = READ[form](r.content)
    assert list(nodes.columns) == ["id", "y_bound", "kind", "x", "y"], "a column of the table is not lost"
    assert set(nodes["id"]) == {f"n{i}" for i in SELECTED} and len(nodes) == len(SELECTED)
    places = picture.positions()
    for row in nodes.itertuples():
        i = int(row.id[1:])
        assert np.array_equal(np.float32([row.x, row.y]), places[picture.index[row.id]]), row
        if i < N - 5:
            assert (row.y_bound, row.kind) == (i, KIND[i % 4])
        else:
            assert pd.isna(row.y_bound) and pd.isna(row.kind), "edges alone name it"
    r = picture.post("export", SELECTED, table="edges", format=form)
    edges = READ[form](r.content)
    want = [(f"n{i}", f"n{target(i)}", i / 4) for i in SELECTED if target(i) in SELECTED]
    assert list(edges.columns) == ["s", "d", "w"] and len(want) >= 3
    assert list(edges.itertuples(index=False, name=None)) == want, "in the order of their table"


def test_what_a_spreadsheet_would_run_is_escaped_on_demand(server, alice):
    odd = ['=HYPERLINK("http://evil.example","x")', "@SUM(1)", "-2+3", "+1+1", "\tx", "fine"]
    rows = pd.DataFrame({"s": odd, "d": odd[1:] + odd[:1], "w": [-1.5, 2.0, -3.0, 4.0, 5.0, -6.0]})
    dataset = alice.dataset([alice.file(rows.to_csv(index=False).encode(), "csv")["file_id"]])
    viewer = Viewer(server, dataset, session := unique("formulas"), headers=bearer(server, "alice"))
    until_at_rest(viewer)
    asked = {"dataset": dataset, "table": "edges", "format": "csv"}
    def export(**more):
        return requests.post(f"{server.url}/viz/{session}/export", params={**asked, **more}, json={"nodes": bits(range(6), 8)},
                             headers=bearer(server, "alice"))
    plain, escaped = (pd.read_csv(io.BytesIO(export(**more).content)) for more in ({}, {"escape": "formulas"}))
    assert list(plain["s"]) == odd and list(plain["w"]) == list(rows["w"])
    assert list(escaped["s"]) == [f"'{text}" for text in odd[:5]] + ["fine"]
    assert list(escaped["w"]) == list(rows["w"]), "numbers stay numbers"
    r = export(escape="html")
    assert r.status_code == 400 and "formulas" in r.json()["message"], r.text
    viewer.close()
    query = {"gfql_query": "MATCH ()-[e]->() RETURN e.s AS s, e.w AS w", "format": "csv"}
    table = lambda **more: alice("POST", f"/api/v2/datasets/{dataset}/gfql/nodes", json={**query, **more})  # noqa: E731
    assert set(pd.read_csv(io.BytesIO(table(escape="formulas").content))["s"]) == set(escaped["s"])
    assert table(escape="html").status_code == 400


def test_a_new_dataset_has_exactly_the_selected_nodes_and_the_edges_among_them(picture, server, alice):
    r = picture.post("dataset", SELECTED, body={"name": "Seven"})
    assert r.status_code == 201, r.text
    made = r.json()["dataset_id"]
    assert r.json() == {"dataset_id": made, "url": f"graph.html?dataset={made}"}
    assert alice("GET", f"/api/v2/datasets/{made}/").json()["data"]["name"] == "Seven"
    r = alice("POST", f"/api/v2/datasets/{made}/gfql/nodes",
              json={"gfql_operations": [{"type": "Node"}], "format": "json"})
    assert r.status_code == 200, r.text
    assert {row["id"]: row["kind"] for row in r.json()} == {
        f"n{i}": KIND[i % 4] if i < N - 5 else None for i in SELECTED}
    query = [{"type": "Node"}, {"type": "Edge", "direction": "forward"}, {"type": "Node"}]
    r = alice("POST", f"/api/v2/datasets/{made}/gfql/edges", json={"gfql_operations": query, "format": "json"})
    among = [(f"n{i}", f"n{target(i)}", i / 4) for i in SELECTED if target(i) in SELECTED]
    assert [(row["s"], row["d"], row["w"]) for row in r.json()] == among
    viewer = Viewer(server, made, unique("made"))
    viewer.until(lambda: viewer.frames and viewer.graph)
    assert (viewer.graph["node_count"], viewer.graph["edge_count"]) == (len(SELECTED), len(among))
    viewer.close()


def test_a_part_without_edges_is_a_dataset_too(picture, server):
    alone = [2, 3]
    assert not any(target(i) in alone for i in alone)
    r = picture.post("dataset", alone, body={"name": "Two"})
    assert r.status_code == 201, r.text
    viewer = Viewer(server, r.json()["dataset_id"], unique("made"))
    viewer.until(lambda: viewer.frames and viewer.graph)
    assert (viewer.graph["node_count"], viewer.graph["edge_count"]) == (2, 0)
    viewer.close()


def test_a_new_dataset_is_for_nobody_who_may_not_see_its_source(server, alice):
    source = upload(alice)
    shared = {"obj_pk": source, "obj_type": "dataset"}
    for mode, for_strangers in [("private", 404), ("organization", 404), ("public", 200)]:
        r = alice("POST", "/api/v2/share/link/", json={**shared, "mode": mode})
        assert r.status_code == 200, r.text
        shown = Picture(server, source, bearer(server, "alice"))
        made = shown.post("dataset", SELECTED, body={"name": mode}).json()["dataset_id"]
        shown.close()
        r = requests.get(f"{server.url}/viz/{unique('look')}/about", params={"dataset": made})
        assert r.status_code == for_strangers, (mode, r.text)
        assert alice("GET", f"/api/v2/datasets/{made}").status_code == 200


def test_what_cannot_be_is_refused_by_name(picture):
    edges = picture.post("export", SELECTED, table="edge", format="csv")
    assert edges.status_code == 400 and "nodes or edges" in edges.json()["message"], edges.text
    form = picture.post("export", SELECTED, table="nodes", format="xlsx")
    assert form.status_code == 400 and form.json()["field"] == "format", form.text
    assert all(word in form.json()["message"] for word in ("xlsx", "csv", "json", "parquet"))
    for path, more in [("export", {"table": "nodes", "format": "csv"}), ("dataset", {"body": {"name": "x"}})]:
        for nodes, words in [([], "empty"), (bits([1], n=4000), "another graph"), (bits([45], n=45 + 1), "another graph"),
                             ("!", "base64")]:
            r = picture.post(path, nodes, **more)
            assert r.status_code == 400 and words in r.json()["message"], (path, nodes, r.text)
    for body in ({}, {"name": " "}):
        r = picture.post("dataset", SELECTED, body=body)
        assert r.status_code == 400 and r.json()["field"] == "name", r.text


def test_no_page_need_be_open(server, alice):
    params = {"dataset": upload(alice), "table": "nodes", "format": "csv"}
    url, body = f"{server.url}/viz/{unique('sel')}/export", {"nodes": bits(SELECTED)}

    def file():
        r = requests.post(url, params=params, json=body, timeout=HANG_S)
        assert r.status_code == 200 or r.json()["slug"] == "graph-loading", r.text
        return r.status_code == 200 and [READ["csv"](r.content)]

    [nodes] = until(file, "the first positions")
    assert nodes[["x", "y"]].notna().all(axis=None) and len(nodes) == len(SELECTED)


def test_who_has_no_account_may_take_a_file_and_makes_no_dataset(server, alice, picture):
    assert picture.post("export", SELECTED, headers={}, table="nodes", format="csv").status_code == 200
    r = picture.post("dataset", SELECTED, headers={}, body={"name": "x"})
    assert r.status_code == 401 and "sign in" in r.json()["message"], r.text
    r = alice("POST", "/api/v2/share/link/", json={"obj_pk": picture.dataset, "obj_type": "dataset", "mode": "private"})
    assert r.status_code == 200, r.text
    for path in ("export", "dataset"):
        r = picture.post(path, SELECTED, headers={}, table="nodes", format="csv", body={"name": "x"})
        assert r.status_code == 404, "what is not theirs to see is not there"


def test_a_guest_takes_files_and_pages_of_other_sites_make_no_dataset(tmp_path):
    server = admin_server(tmp_path / "data", users=[("alice", "user")]).start()
    alice = server.api("alice")
    dataset = upload(alice)
    r = alice("POST", "/api/v2/share/link/", json={"obj_pk": dataset, "obj_type": "dataset", "mode": "private"})
    assert r.status_code == 200, r.text
    guest = jar(visit(mint(server.api(), dataset)))
    shown = Picture(server, dataset, {"Cookie": f"sessionid={guest['sessionid']}", "Origin": server.url})
    r = shown.post("export", SELECTED, table="nodes", format="csv")
    assert r.status_code == 200 and len(READ["csv"](r.content)) == len(SELECTED), r.text
    r = shown.post("dataset", SELECTED, body={"name": "x"})
    assert r.status_code == 403 and "guest" in r.json()["message"], r.text
    cookie = {"Cookie": f"graphlume_jwt={server.token('alice')}"}
    for foreign in ({"Origin": "https://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}):
        r = shown.post("dataset", SELECTED, headers={**cookie, **foreign}, body={"name": "x"})
        assert r.status_code == 403 and r.json()["slug"] == "foreign-origin", r.text
        # Nor does it get anything else done.
        for path, body in (("do", {"label": "x", "changes": []}), ("find", {"text": "degree > 0"})):
            r = shown.post(path, SELECTED, headers={**cookie, **foreign}, body=body)
            assert r.status_code == 403 and r.json()["slug"] == "foreign-origin", r.text
    count = alice("GET", "/api/v2/datasets/").json()["count"]
    r = shown.post("dataset", SELECTED, headers={**cookie, "Origin": server.url}, body={"name": "x"})
    assert r.status_code == 201, r.text
    until(lambda: alice("GET", "/api/v2/datasets/").json()["count"] == count + 1, "the dataset of the page's own call")
    shown.close()
    assert server.stop() == 0, server.output()
