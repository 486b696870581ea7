"""The call `umap` through the unchanged client: neighbourhoods kept as umap-learn keeps them, columns as the client's."""

import json
import pathlib

import graphistry
import numpy as np
import pandas as pd
import pytest
from graphistry.compute.ast import call, n

from conftest import PASSWORD, run_cli

DATA = pathlib.Path(__file__).parent.parent / "data" / "umap"
REFERENCE = json.loads((DATA / "reference.json").read_text())
MARGIN = 0.02

pytestmark = pytest.mark.filterwarnings("ignore")


def table(name):
    plain = DATA / f"{name}.csv"
    return pd.read_csv(plain if plain.exists() else DATA / f"{name}.csv.gz")


def uploaded(server, nodes, edges=None):
    graphistry.register(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    edges = pd.DataFrame({"s": nodes["id"], "d": nodes["id"]}) if edges is None else edges
    return graphistry.nodes(nodes, "id").edges(edges, "s", "d").upload(validate=False)


def robust(values):
    """As scikit-learn's RobustScaler, rounded as the client rounds."""
    low, middle, high = np.percentile(values, [25, 50, 75], axis=0)
    spread = np.where(high - low == 0, 1.0, high - low)
    return np.round((values - middle) / spread, 5)


def squares(points):
    norms = (points**2).sum(axis=1)
    return norms[:, None] + norms[None, :] - 2 * points @ points.T


def trustworthiness(features, points, k=15):
    """scikit-learn's: by how far off in the table the neighbours of the picture are."""
    count = len(points)
    far = squares(features.astype(float))
    np.fill_diagonal(far, np.inf)
    rank = np.empty((count, count), int)
    rows = np.arange(count)[:, None]
    rank[rows, far.argsort(axis=1, kind="stable")] = np.arange(1, count + 1)
    near = squares(points.astype(float))
    np.fill_diagonal(near, np.inf)
    off = rank[rows, near.argsort(axis=1, kind="stable")[:, :k]] - k
    return 1 - off[off > 0].sum() * 2 / (count * k * (2 * count - 3 * k - 1))


@pytest.mark.parametrize("name", list(REFERENCE["tables"]))
def test_neighbourhoods_are_kept_as_umap_learn_keeps_them(server, name):
    nodes = table(name)
    graph = uploaded(server, nodes)
    columns = [c for c in nodes if c.startswith("f")]
    for scaling, case in REFERENCE["tables"][name].items():
        engine = {"robust": "pandas", "none": "none"}[scaling]
        features = nodes[columns].to_numpy(float)
        features = robust(features) if scaling == "robust" else features
        found = graph.gfql_remote([call("umap", {"X": columns, "feature_engine": engine, **case["params"]})])
        assert list(found._nodes["id"]) == list(nodes["id"])
        kept = trustworthiness(features, found._nodes[["x", "y"]].to_numpy())
        mean = np.mean(case["trustworthiness"])
        print(f"{name} {scaling}: {kept:.4f}, umap-learn {mean:.4f}")
        assert kept > mean - MARGIN, (name, scaling, kept, mean)
        weight = found._edges["_weight"].sum()
        # The client leaves out what weighs next to nothing.
        assert weight == pytest.approx(case["graph"]["weight"], rel=0.01), (name, scaling)


def test_columns_and_bindings_are_the_clients(server):
    nodes = table("iris")
    graph = uploaded(server, nodes)
    found = graph.gfql_remote([call("umap", {"dbscan": True, "min_dist": 0.4})])
    assert list(found._nodes) == [*nodes, "x", "y", "_dbscan"]
    assert list(found._edges) == ["_src_implicit", "_dst_implicit", "_weight"]
    assert (found._source, found._destination, found._node) == ("_src_implicit", "_dst_implicit", "id")
    assert (found._point_x, found._point_y, found._edge_weight) == ("x", "y", "_weight")
    assert found._url_params["play"] == 0
    assert found._nodes["x"].dtype == np.float32 and found._edges["_weight"].between(0, 1).all()
    # Setosa is a cluster of its own.
    clusters = found._nodes.groupby("label")["_dbscan"].unique()
    assert not set(clusters["c0"]) & {*clusters["c1"], *clusters["c2"]}
    pairs = set(zip(found._edges["_src_implicit"], found._edges["_dst_implicit"]))
    assert all((b, a) in pairs for a, b in pairs) and len(pairs) == len(found._edges)
    plain = graph.gfql_remote([call("umap", {"encode_weight": False, "encode_position": False, "suffix": "_u", "y": "label", "X": ["f0", "f1"]})])
    assert list(plain._edges) == ["s", "d"] and {"x_u", "y_u"} <= set(plain._nodes) and plain._point_x is None
    some = graph.gfql_remote([n({"label": "c0"}), call("umap", {"X": ["f2", "f3"]}), call("get_degrees", {})])
    assert len(some._nodes) == 50 and (some._nodes["degree"] >= 11).all()


def test_edges_are_placed(server):
    nodes = pd.DataFrame({"id": list("abcdef"), "v": range(6)})
    edges = pd.DataFrame({"s": list("abcdefabcd"), "d": list("bcdefacdea"), "w": np.arange(10) % 3})
    found = uploaded(server, nodes, edges).gfql_remote([call("umap", {"kind": "edges", "n_neighbors": 4})])
    assert list(found._edges) == ["s", "d", "w", "x", "y"] and len(found._edges) == 10
    assert np.isfinite(found._edges[["x", "y"]].to_numpy()).all()


def test_equal_seeds_give_equal_bits_at_any_number_of_threads(tmp_path):
    """Rows enough for rows to move side by side."""
    nodes = table("digits")
    nodes = pd.concat([nodes, nodes.assign(id="s" + nodes["id"])])
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    nodes[["id"]].assign(d=nodes["id"]).to_csv(tmp_path / "edges.csv", index=False)
    columns = [c for c in nodes if c.startswith("f")]
    params = {"X": columns, "feature_engine": "none", "umap_kwargs": {"random_state": 3, "n_epochs": 20}}
    (tmp_path / "query.json").write_text(json.dumps([{"type": "Call", "function": "umap", "params": params}]))
    made = []
    for threads in (1, 2, 3):
        run_cli("query", tmp_path / "edges.csv", "--nodes", tmp_path / "nodes.csv", "--gfql", tmp_path / "query.json", "--threads", threads,
                "--out", tmp_path / "made.json")
        made.append((tmp_path / "made.json").read_bytes())
    assert made[0] == made[1] == made[2]
    places = json.loads(made[0])["nodes"]
    assert len(places) == 3594 and all(np.isfinite([row["x"], row["y"]]).all() for row in places)


def test_parameters_are_refused_by_name_with_the_range(server):
    api = server.api("alice")
    file = api.file(b"s,d\na,b\nb,c\n", "csv")
    nodes = api.file(b"id,n,t\na,1,x\nb,2,y\nc,4,x\n", "csv")
    dataset = api.dataset([file["file_id"]], [nodes["file_id"]], nodes={"node": "id"})

    def ask(**params):
        operation = {"type": "Call", "function": "umap", "params": params}
        return api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/all", json={"gfql_operations": [operation], "format": "json"})

    assert ask().status_code == 200, ask().text
    for params, field, text in [
        ({"n_neighbors": 1}, "params.n_neighbors", "from 2 to 1000"),
        ({"min_dist": 2}, "params.min_dist", "at most \\\"spread\\\""),
        ({"metric": "cosin"}, "params.metric", "did you mean \\\"cosine\\\"?"),
        ({"feature_engine": "torch"}, "params.feature_engine", "columns of numbers"),
        ({"X": ["m"]}, "m", "column-not-found"),
        ({"umap_kwargs": {"n_epochs": -1}}, "params.umap_kwargs.n_epochs", "from 0 to 10000"),
        ({"umap_kwargs": {"densmap": True}}, "params.umap_kwargs.densmap", "can only be false"),
        ({"inplace": True}, "params.inplace", "leave it out"),
    ]:
        reply = ask(**params)
        assert reply.status_code in (400, 422) and field in reply.text and text in reply.text, (params, reply.text)
