"""The life of a dataset: what it is made of, what becomes of its files, who sees it, what is kept."""

import json

import pandas as pd
import pytest
import requests

from conftest import PASSWORD, counted, unique
from live import Viewer
from test_hypergraph import arrow, upload

EDGES = pd.DataFrame({"s": ["a", "b", "c"], "d": ["b", "c", "a"], "w": [1.0, 2.0, 3.0]})
NODES = pd.DataFrame({"id": ["a", "b", "c"], "kind": ["x", "y", "x"], "n": [1, 2, 3], "x": [0.0, 1.0, 2.0],
                      "y": [0.0, -1.0, None]})
EDGE_BINDINGS = {"source": "s", "destination": "d"}


def record(api, dataset, expect=200):
    r = api("GET", f"/api/v2/upload/datasets/{dataset}")
    assert r.status_code == expect, r.text
    return r.json()["data"] if expect == 200 else r.json()


def file_of(api, frame, **fields):
    f = api.file(arrow(frame), "arrow", **fields)
    assert f["is_valid"], f
    return f["file_id"]


# Encodings.

COMPLEX = {
    "default": {
        "pointColorEncoding": {
            "graphType": "point", "encodingType": "color", "attribute": "kind", "variation": "categorical",
            "mapping": {"categorical": {"fixed": {"x": "#ff0000"}, "other": "blue"}}, "name": "custom"},
        "pointSizeEncoding": {
            "graphType": "point", "encodingType": "size", "attribute": "n", "variation": "continuous",
            "mapping": {"continuous": {"bins": [[2, 10], [None, 30]], "comparator": "<", "other": 5}}},
        "pointIconEncoding": {
            "graphType": "point", "encodingType": "icon", "attribute": "kind", "variation": "categorical",
            "mapping": {"categorical": {"fixed": {"x": "user", "y": "flag-icon-fr"}, "other": "fa-star"}},
            "asText": False, "shape": "circle", "border": {"width": 2, "color": "black", "stroke": "dashed"},
            "style": {"opacity": 0.5}, "blendMode": "multiply"},
        "pointBadgeTopRightEncoding": {
            "graphType": "point", "encodingType": "badgeTopRight", "attribute": "kind", "variation": "categorical",
            "mapping": {"categorical": {"fixed": {"x": "bolt"}}}, "color": {"mapping": {"categorical": {"fixed": {}}}},
            "bg": {"color": "white", "image": "data:image/png;base64,AA=="}, "fg": {"style": {"contrast": 2}},
            "dimensions": {"maxHeight": 10, "maxWidth": 20}},
        "pointAxisEncoding": {
            "graphType": "point", "encodingType": "axis", "variation": "categorical", "attribute": "degree",
            "rows": [{"r": 10, "label": "ring", "external": True}]},
        "pointKeplerEncoding": {"graphType": "point", "encodingType": "kepler", "datasets": [], "layers": [],
                                "options": {"centerMap": True}, "config": {"tileStyle": "dark"}},
    },
    "current": {
        "pointOpacityEncoding": {
            "graphType": "point", "encodingType": "opacity", "attribute": "n", "variation": "continuous",
            "mapping": {"continuous": {"bins": [[2, 0.5], [None, 1.0]]}}},
    },
}
METADATA = {
    "usertag": "1234abcd-pygraphistry-0.61.2", "agent": "pygraphistry", "apiversion": "3", "agentversion": "0.61.2",
    "bg": {"color": "red", "gradient": {"kind": "linear", "position": 45, "stops": [["rgb(0,0,0)", "0%"]]}},
    "fg": {"blendMode": "screen"}, "page": {"title": "{{ name }}", "favicon": "http://x/y.ico"},
    "logo": {"url": "http://x/logo.png", "autoInvert": True, "style": {"opacity": 0.5}}, "more": [1, {"deep": None}],
}


def test_everything_that_is_drawn_or_will_be_is_kept_as_it_was_sent(alice):
    bindings = {"node": "id", "node_color": "kind", "node_label": "kind", "node_title": "id", "node_size": "n",
                "node_opacity": "n", "node_weight": "n", "node_icon": "kind", "node_x": "x", "node_y": "y",
                "node_longitude": "x", "node_latitude": "y"}
    edge_bindings = {**EDGE_BINDINGS, "edge_color": "w", "edge_source_color": "w", "edge_destination_color": "w",
                     "edge_label": "w", "edge_opacity": "w", "edge_size": "w", "edge_title": "w", "edge_weight": "w",
                     "edge_icon": "s"}
    edge_complex = {"default": {"edgeColorEncoding": {
        "graphType": "edge", "encodingType": "color", "attribute": "w", "variation": "continuous",
        "colors": ["blue", "rgb(255,0,0)"]}}}
    layout = {"anything": ["goes", 1, None]}
    dataset = alice.dataset(
        [file_of(alice, EDGES)], [file_of(alice, NODES)], metadata=METADATA, layout=layout, description="d",
        node_encodings={"bindings": bindings, "complex": COMPLEX},
        edge_encodings={"bindings": edge_bindings, "complex": edge_complex})
    got = counted(alice, dataset)
    assert got["node_encodings"] == {"bindings": bindings, "complex": COMPLEX}
    assert got["edge_encodings"] == {"bindings": edge_bindings, "complex": edge_complex}
    assert got["metadata"] == METADATA and got["layout"] == layout and got["description"] == "d"
    assert {n["slug"] for n in got["notices"]} == {"encoding-not-drawn", "layout-not-run", "nodes-without-a-place"}, got["notices"]
    # The other address, with and without the slash, and the list show the same record.
    for path in (f"/api/v2/datasets/{dataset}", f"/api/v2/datasets/{dataset}/"):
        r = alice("GET", path)
        assert r.status_code == 200 and r.json()["data"] == got, path
    listed = alice("GET", "/api/v2/datasets/?limit=1000").json()["results"]
    assert got in listed


def test_complex_encodings_may_be_a_list_and_nothing_is_never_null(alice):
    entries = [dict(e) for e in COMPLEX["default"].values()]
    unusable = [{"graphType": "edge", "encodingType": "color"}, {"attribute": "kind"}, "red"]
    r = alice("POST", "/api/v2/upload/datasets/", json={
        "name": "list", "metadata": {}, "edge_encodings": {"bindings": EDGE_BINDINGS, "complex": None},
        "node_encodings": {"bindings": {}, "complex": entries + unusable}})
    assert r.status_code == 201, r.text
    for i in range(len(entries), len(entries) + len(unusable)):
        assert f"node_encodings.complex[{i}]" in r.json()["message"], r.text
    got = record(alice, r.json()["data"]["dataset_id"])
    assert got["node_encodings"]["complex"] == {"default": COMPLEX["default"]}
    assert "complex" not in got["edge_encodings"]
    for complex_, kept in ([], None), ({}, None), (COMPLEX, COMPLEX):
        dataset = alice.dataset(node_encodings={"bindings": {}, "complex": complex_})
        assert record(alice, dataset)["node_encodings"].get("complex") == kept
    for wrong in ("red", 3, True):
        r = alice.dataset(expect=400, node_encodings={"bindings": {}, "complex": wrong})
        assert r["field"] == "node_encodings.complex", r


def picture(server, dataset):
    """What the server draws: the message that describes the graph."""
    viewer = Viewer(server, dataset, unique("life"))
    viewer.until(lambda: viewer.graph is not None and viewer.frames)
    viewer.close()
    return viewer.graph


def test_what_is_not_drawn_is_said(server, alice):
    dataset = alice.dataset([file_of(alice, EDGES)], [file_of(alice, NODES)],
                            node_encodings={"bindings": {"node": "id", "node_icon": "kind"}, "complex": COMPLEX},
                            edge_encodings={"bindings": {**EDGE_BINDINGS, "edge_icon": "s"}})
    said = json.dumps(picture(server, dataset)["notices"])
    # Ids of edges' ends are no icons.
    for key in ("pointKeplerEncoding", "edges have no icon"):
        assert key in said, (key, said)
    for key in ("pointColorEncoding", "pointSizeEncoding", "pointOpacityEncoding", "pointIconEncoding",
                "pointBadgeTopRightEncoding", "pointAxisEncoding"):
        assert key not in said, (key, said)


def test_bound_positions_are_drawn(server, alice):
    nodes = NODES.assign(y=[0.0, -1.0, 5.0])
    dataset = alice.dataset([file_of(alice, EDGES)], [file_of(alice, nodes)],
                            nodes={"node": "id", "node_x": "x", "node_y": "y"})
    viewer = Viewer(server, dataset, unique("place"))
    viewer.until(lambda: viewer.graph is not None and viewer.positions is not None)
    assert viewer.graph["has_positions"] is True
    viewer.close()


# Files.

def test_a_file_may_be_named_with_the_index_of_a_table(alice):
    edges = file_of(alice, EDGES)
    for entry in (edges, [edges], [edges, 0]):
        dataset = alice.dataset([entry])
        got = counted(alice, dataset)
        assert (got["node_count"], got["edge_count"]) == (3, 3)
        assert got["edge_files"] == [[edges, 0] if entry == [edges, 0] else edges]
    for entry, says in [([edges, 1], "from 0 to 0"), ([edges, -1], "table index from 0"), ([edges, "0"], "table index"),
                        ({}, "object"), ([], "file id"), ([edges, 0, 0], "file id"), (7, "number")]:
        r = alice.dataset([entry], expect=400)
        assert r["field"] == "edge_files[0]" and says in r["message"], (entry, r)
    r = alice.dataset([edges] * 65, expect=413)
    assert "64" in r["message"], r


def test_several_tables_of_a_side_stand_below_each_other(alice):
    more = pd.DataFrame({"s": ["c"], "d": ["z"], "w": [9.0]})
    files = [file_of(alice, EDGES), file_of(alice, more)]
    more_nodes = NODES.assign(id=["d", "e", "f"])
    dataset = alice.dataset(files, [file_of(alice, NODES), file_of(alice, more_nodes)], nodes={"node": "id"})
    got = counted(alice, dataset)
    assert (got["node_count"], got["edge_count"]) == (7, 4)
    other = file_of(alice, pd.DataFrame({"s": ["c"], "d": ["z"]}))
    r = alice.dataset([files[0], other], expect=400)
    assert r["field"] == "edge_files[1]" and "other columns" in r["message"], r


def test_files_are_shared_and_datasets_keep_what_they_took(alice):
    """A file that changes or goes changes no dataset that was made of it."""
    edges, nodes = file_of(alice, EDGES, name="shared"), file_of(alice, NODES)
    one = alice.dataset([edges], [nodes], nodes={"node": "id"})
    two = alice.dataset([edges])
    before = {d: counted(alice, d) for d in (one, two)}
    # Another table under the same id: new datasets see it, existing ones do not.
    longer = pd.concat([EDGES, pd.DataFrame({"s": ["q"], "d": ["r"], "w": [0.0]})])
    r = alice("POST", f"/api/v2/upload/files/{edges}", data=arrow(longer))
    assert r.json()["is_valid"] and r.json()["tables_schemas"][0]["num_rows"] == 4
    three = alice.dataset([edges])
    assert counted(alice, three)["edge_count"] == 4
    assert {d: record(alice, d) for d in (one, two)} == before
    # A file that no longer parses is no file for new datasets.
    r = alice("POST", f"/api/v2/upload/files/{edges}?erase=true", data=b"garbage")
    assert r.json()["is_valid"] is False
    assert alice.dataset([edges], expect=400)["field"] == "edge_files[0]"
    # A deleted file stays named, and the datasets say that it is gone.
    assert alice("DELETE", f"/api/v2/files/{edges}").status_code == 204
    for dataset in (one, two, three):
        got = record(alice, dataset)
        assert got["edge_files"] == [edges]
        assert [n["text"] for n in got["notices"] if n["slug"] not in ("positions-from-columns", "nodes-without-a-place")] == [
            f"edge_files[0]: file {edges} was deleted; the dataset keeps the table it had"]
    assert alice("GET", f"/api/v2/files/{edges}").status_code == 404
    assert "file not found" in alice.dataset([edges], expect=404)["message"]
    # They open all the same.
    page = requests.get(f"{alice.server.url}/graph/graph.html?dataset={one}")
    assert page.status_code == 200
    assert picture(alice.server, one)["edge_count"] == 3
    assert picture(alice.server, three)["edge_count"] == 4


def test_a_dataset_survives_its_files_and_a_restart(fresh):
    api = fresh.api()
    edges = file_of(api, EDGES)
    dataset = api.dataset([[edges, 0]])
    counted(api, dataset)
    assert api("DELETE", f"/api/v2/files/{edges}").status_code == 204
    fresh.stop()
    fresh.start()
    api = fresh.api()
    got = counted(api, dataset)
    assert (got["edge_count"], got["edge_files"]) == (3, [[edges, 0]])
    assert picture(fresh, dataset)["edge_count"] == 3


def test_a_direct_upload_stands_in_for_the_files(alice):
    edges = file_of(alice, EDGES)
    dataset = alice.dataset([edges])
    assert counted(alice, dataset)["edge_count"] == 3
    upload(alice, dataset, "edges", EDGES.head(1))
    got = counted(alice, dataset)
    assert (got["node_count"], got["edge_count"], got["edge_files"]) == (2, 1, [edges])


# Organizations and sharing.

def test_an_organization_sees_its_datasets_and_nobody_else_lists_them(alice, bob):
    dataset = alice.dataset([file_of(alice, EDGES, org_name="acme")], org_name="acme")
    assert record(alice, dataset)["org_name"] == "acme"

    def listed(api):
        return [d["dataset_id"] for d in api("GET", "/api/v2/datasets/?limit=1000").json()["results"]]

    assert dataset in listed(alice) and dataset not in listed(bob)
    r = alice.dataset(org_name="globex", expect=403)
    assert "globex" in r["message"], r
    # Until sharing is set, whoever has the address may look; changing it is another matter.
    assert record(bob, dataset)["dataset_id"] == dataset
    for method, path in [("DELETE", f"/api/v2/datasets/{dataset}"),
                         ("POST", f"/api/v2/upload/datasets/{dataset}/edges/csv")]:
        assert bob(method, path, data=b"s,d\n1,2\n").status_code == 403
    r = bob("POST", "/api/v2/share/link/", json={"obj_pk": dataset, "obj_type": "dataset", "mode": "public"})
    assert r.status_code == 403, r.text


def test_sharing_decides_who_sees_a_dataset(server, alice, bob):
    dataset = alice.dataset([file_of(alice, EDGES)], org_name="acme")

    def share(**fields):
        r = alice("POST", "/api/v2/share/link/", json={"obj_pk": dataset, "obj_type": "dataset", **fields})
        assert r.status_code == 200 and r.json()["status"] == "OK", r.text

    page = f"{server.url}/graph/graph.html?dataset={dataset}"
    for mode, strangers in [("private", 404), ("organization", 404), ("org", 404), ("public", 200)]:
        share(mode=mode)
        for path in (f"/api/v2/upload/datasets/{dataset}", f"/api/v2/datasets/{dataset}"):
            assert bob("GET", path).status_code == strangers, (mode, path)
            assert alice("GET", path).status_code == 200
        assert (requests.get(page).status_code == 200) == (strangers == 200), mode
        assert bob("DELETE", f"/api/v2/datasets/{dataset}").status_code == (404 if strangers == 404 else 403)
    for wrong, field in [({"mode": "secret"}, "mode"), ({"obj_type": "file"}, "obj_type")]:
        r = alice("POST", "/api/v2/share/link/", json={"obj_pk": dataset, "obj_type": "dataset", **wrong})
        assert r.status_code == 400 and r.json()["field"] == field, r.text


def test_a_private_file_is_no_material_for_strangers(alice, bob):
    edges = file_of(alice, EDGES)
    assert "file not found" in bob.dataset([edges], expect=404)["message"]
    assert alice("DELETE", f"/api/v2/files/{edges}").status_code == 204


# The schema, and datasets with algorithms.

def test_the_schema_lists_every_name_once(server):
    seen = [requests.get(server.url + path) for path in ("/api/v1/datasets/", "/web/api/v1/datasets/")]
    assert [r.status_code for r in seen] == [200, 200] and seen[0].json() == seen[1].json()
    schema = seen[0].json()
    assert set(schema) == {"compute", "layout", "types"}
    for part, counts in [("compute", {"cugraph": 31, "igraph": 24}), ("layout", {"cugraph": 1, "igraph": 39})]:
        assert {k: len(set(v)) for k, v in schema[part].items()} == counts
    assert schema["types"] == {"CuGraphKind": ["Graph", "MultiGraph", "BiPartiteGraph"]}
    assert "spectralBalancedCutClustering" in schema["compute"]["cugraph"]
    assert requests.get(server.url + "/web/api/v1/datasets").status_code == 404
    assert requests.post(server.url + "/api/v1/datasets/", json={}).status_code == 401
    document = requests.get(server.url + "/openapi.json").json()["paths"]
    assert set(document["/api/v1/datasets/"]) == {"get", "post"}


def computed(api, compute, expect=201, **fields):
    body = {"name": "computed", "description": "", "agent_name": "test", "metadata": {},
            "node_encodings": {"bindings": {}}, "edge_encodings": {"bindings": EDGE_BINDINGS}, "compute": compute,
            **fields}
    r = api("POST", "/api/v1/datasets/", json=body)
    assert r.status_code == expect, r.text
    return r.json()["data"]["dataset_id"] if expect == 201 else r.json()


def properties(server, dataset, count):
    """The columns of every node by its id, as the page shows them."""
    session = unique("computed")
    viewer = Viewer(server, dataset, session)
    viewer.until(lambda: viewer.graph is not None)
    cards = [requests.get(f"{server.url}/viz/{session}/node/{i}?dataset={dataset}").json() for i in range(count)]
    viewer.close()
    return {c["id"]: {p["name"]: p["value"] for p in c["properties"]} for c in cards}


def test_algorithms_become_columns_of_the_nodes(server, alice):
    import networkx as nx

    graph = nx.karate_club_graph()
    edges = pd.DataFrame([(f"m{u}", f"m{v}") for u, v in graph.edges()], columns=["s", "d"])
    compute = {"rank": {"libraries": ["igraph", "cugraph"], "alg": "pagerank"},
               "core": {"libraries": ["cugraph"], "alg": "core_number"},
               "hops": {"libraries": ["cugraph"], "alg": "bfs"}}
    ranks = nx.pagerank(nx.DiGraph([(f"m{u}", f"m{v}") for u, v in graph.edges()]), tol=1e-12, max_iter=1000)
    cores = nx.core_number(graph)
    nodes = pd.DataFrame({"id": ["m33", "m0", "alone"], "camp": ["x", "y", "z"]})
    for files in (False, True):
        with_nodes = {"node_files": [file_of(alice, nodes)]} if files else {}
        bindings = {"node_size": "rank", **({"node": "id"} if files else {})}
        dataset = computed(alice, compute, edge_files=[file_of(alice, edges)] if files else [],
                           node_encodings={"bindings": bindings}, **with_nodes)
        if not files:
            upload(alice, dataset, "edges", edges)
        got = counted(alice, dataset)
        assert got["compute"] == compute and got["node_count"] == 34 + files
        shown = properties(server, dataset, got["node_count"])
        assert len(shown) == got["node_count"]
        for v in graph:
            row = shown[f"m{v}"]
            assert row["core"] == cores[v]
            if not files:
                assert row["rank"] == pytest.approx(ranks[f"m{v}"], abs=1e-9)
            assert set(row) >= {"rank", "core", "hops", "hops_predecessor"}
        assert shown["m33"].get("camp") == ("x" if files else None)
        if files:
            assert shown["alone"]["core"] == 0 and shown["m5"]["camp"] is None and shown["m5"]["id"] == "m5"


def test_results_on_edges_and_graphs_become_columns_and_replace_those_of_the_same_name(server, alice):
    import graphistry

    edges = pd.DataFrame({"s": ["a", "b", "c", "c"], "d": ["b", "c", "a", "x"], "kind": [7, 7, 7, 7]})
    compute = {"kind": {"libraries": ["cugraph"], "alg": "jaccard"}, "core": {"libraries": ["cugraph"], "alg": "k_core"},
               "s": {"libraries": ["cugraph"], "alg": "overlap"}}
    dataset = computed(alice, compute, edge_files=[file_of(alice, edges)])
    got = counted(alice, dataset)
    assert any("compute.s" in n["text"] and "not replaced" in n["text"] for n in got["notices"]), got["notices"]
    graphistry.register(api=3, protocol="http", server=server.url.removeprefix("http://"), username="alice", password=PASSWORD)
    shown = graphistry.bind(dataset_id=dataset, source="s", destination="d", node="id").gfql_remote([])
    assert shown._edges["kind"].tolist() == pytest.approx([1 / 3, 1 / 4, 1 / 4, 0.0])
    assert shown._edges["core"].tolist() == [1, 1, 1, 0] and sorted(shown._edges["s"]) == ["a", "b", "c", "c"]
    assert dict(zip(shown._nodes["id"], shown._nodes["core"])) == {"a": 1, "b": 1, "c": 1, "x": 0}


def test_algorithms_run_on_hypergraphs_too(server, alice):
    rows = pd.DataFrame({"ip": ["x", "y", "x"], "user": ["a", "b", "b"]})
    compute = {"part": {"libraries": ["cugraph"], "alg": "connected_components"}}
    dataset = computed(alice, compute, edge_encodings={"bindings": {}}, edge_hypergraph_transform=[{}],
                       edge_files=[file_of(alice, rows)], node_encodings={"bindings": {"node_color": "part"}})
    got = counted(alice, dataset)
    shown = properties(server, dataset, got["node_count"])
    assert {p["part"] for p in shown.values()} == {0} and shown["ip::x"]["type"] == "ip"


def test_wrong_algorithms_are_named_with_what_is_legal(alice):
    fine = {"libraries": ["cugraph"], "alg": "pagerank"}
    for compute, field, says in [
        ([], "compute", "object"),
        ({"r": 3}, "compute.r", "object"),
        ({"r": {**fine, "params": []}}, "compute.r.params", "an object"),
        ({"r": {"alg": "pagerank"}}, "compute.r.libraries", "cugraph or igraph"),
        ({"r": {**fine, "libraries": []}}, "compute.r.libraries", "cugraph or igraph"),
        ({"r": {**fine, "libraries": "cugraph"}}, "compute.r.libraries", "array"),
        ({"r": {**fine, "libraries": ["networkx"]}}, "compute.r.libraries", "networkx"),
        ({"r": {"libraries": ["cugraph"]}}, "compute.r.alg", "missing"),
        ({"r": {**fine, "alg": "pagernak"}}, "compute.r.alg", 'did you mean "pagerank"'),
        ({"r": {**fine, "alg": "hub_score"}}, "compute.r.alg", "one of igraph"),
        ({"r": {**fine, "alg": "force_atlas2"}}, "compute.r.alg", "louvain"),
        ({f"r{i}": fine for i in range(65)}, None, "64"),
    ]:
        r = computed(alice, compute, expect=413 if field is None else 400)
        assert r["success"] is False and says in r["message"], r
        assert field is None or r["field"] == field, r
    # What v2 create checks is checked here too.
    assert computed(alice, {"r": fine}, expect=400, name=None)["field"] == "name"
    assert record(alice, computed(alice, None))["compute"] is None


def test_a_plain_create_keeps_any_compute_and_says_what_is_not_run(alice):
    for compute in ({"anything": [1, 2]}, "text", {"r": {"libraries": ["igraph"], "alg": "no_such_thing"}}):
        r = alice("POST", "/api/v2/upload/datasets/", json={
            "name": "x", "metadata": {}, "node_encodings": {"bindings": {}}, "compute": compute,
            "edge_encodings": {"bindings": EDGE_BINDINGS}})
        assert r.status_code == 201 and "not run" in r.json()["message"], r.text
        dataset = r.json()["data"]["dataset_id"]
        assert record(alice, dataset)["compute"] == compute
        upload(alice, dataset, "edges", EDGES)
        assert counted(alice, dataset)["node_count"] == 3
