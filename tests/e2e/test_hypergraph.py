"""The hypergraph transform: equal to the client's own, and carried out on the server."""

import contextlib
import datetime as dt
import io
import json
import subprocess
from pathlib import Path

import graphistry
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from conftest import HANG_S, binary, browser, counted
from live import Viewer

TABLES = 200
WORDS = ["x", "y", "null", "", "é", "名前", "a b", "::", "1", "True", "Ωmega", "x::y"]


class Helper:
    """The transform of this project as a process that answers line by line."""

    def __init__(self, folder):
        self.folder, self.count = folder, 0
        path = Path(binary()).parent / "graphlume-hypergraph"
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, frame, options):
        """The edges and the nodes, or the error."""
        self.count += 1
        paths = {name: str(self.folder / f"{self.count}.{name}") for name in ("table", "edges", "nodes")}
        Path(paths["table"]).write_bytes(arrow(frame))
        self.process.stdin.write(json.dumps({**paths, "options": options}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            return answer
        answer["edges"], answer["nodes"] = (pa.ipc.open_file(paths[n]).read_all() for n in ("edges", "nodes"))
        return answer


@pytest.fixture(scope="module")
def helper(tmp_path_factory):
    h = Helper(tmp_path_factory.mktemp("hypergraph"))
    yield h
    h.process.stdin.close()
    assert h.process.wait(HANG_S) == 0


def arrow(frame):
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as w:
        w.write_table(table)
    return sink.getvalue()


def by_the_client(frame, options):
    """Edges and nodes of the client's local transform."""
    with contextlib.redirect_stdout(io.StringIO()):
        made = graphistry.hypergraph(frame, **options, engine="pandas", verbose=False)
    return made["edges"], made["nodes"]


def plain(value):
    """A cell of either side in one form: a missing value is None, a number a float, a time its count."""
    if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, float, np.integer, np.floating)):
        return float(value)
    if isinstance(value, (pd.Timestamp, dt.datetime)):
        stamp = pd.Timestamp(value)
        return ("time", stamp.tz_convert("UTC").tz_localize(None).isoformat() if stamp.tz else stamp.isoformat())
    if isinstance(value, (pd.Timedelta, dt.timedelta)):
        return ("span", pd.Timedelta(value).total_seconds())
    return str(value)


def columns(table):
    """Column name to cells in one form."""
    if isinstance(table, pa.Table):
        return {name: [plain(v) for v in table.column(name).to_pylist()] for name in table.column_names}
    return {name: [plain(v) for v in table[name].astype(object).tolist()] for name in table.columns}


def assert_equal(ours, theirs, what):
    ours, theirs = columns(ours), columns(theirs)
    assert set(ours) == set(theirs), what
    for name in theirs:
        assert ours[name] == theirs[name], (what, name, list(zip(ours[name], theirs[name]))[:8])


def random_column(rng, rows):
    """Values of one of the types that tables have, with repeats; some types with missing values."""
    kind = rng.integers(13)
    pick = rng.integers(max(1, rows // 2), size=rows)
    holes = rng.random(rows) < rng.choice([0, 0.3])
    if kind == 0:
        return pd.Series(pick * 7 - 3, dtype="int64")
    if kind == 1:
        return pd.Series(pick.astype("int32"))
    if kind == 2:
        values = np.round(rng.normal(size=rows) * 10.0 ** rng.integers(-9, 20), 3) + 0.0
        return pd.Series(np.where(holes, np.nan, np.where(pick % 3 == 0, pick.astype(float), values)))
    if kind == 3:
        return pd.Series(pick % 2 == 0)
    if kind in (4, 5, 6):
        words = np.array(WORDS, dtype=object)[pick % len(WORDS)]
        return pd.Series([None if hole else word for word, hole in zip(words, holes)], dtype="str")
    if kind == 7:
        days = pd.Series(pd.Timestamp("2020-02-27") + pd.to_timedelta(pick, unit="D"))
        return days.mask(holes)
    if kind == 8:
        # Every time has a fraction, so that leaving rows out does not change how exact the rest is.
        times = pd.Series(pd.Timestamp("1969-12-31 23:59:58.000001") + pd.to_timedelta(pick * 1_000_003, unit="us"))
        return times.mask(holes)
    if kind == 9:
        return pd.Series(np.array(WORDS, dtype=object)[pick % 4]).mask(holes).astype("category")
    if kind == 10:
        # Integers with missing values reach the server as integers with nulls.
        holes[0] = True
        return pd.Series(pick).astype("Int64").mask(holes)
    if kind == 11:
        # Summer and winter, so that the offset changes.
        times = pd.Series(pd.Timestamp("2021-01-05 10:00:00.25") + pd.to_timedelta(pick * 40, unit="D"))
        return times.dt.tz_localize(str(rng.choice(["UTC", "America/New_York", "+05:30"]))).mask(holes)
    return pd.Series([None if hole else dt.date(2021, 3, 1) + dt.timedelta(int(p)) for p, hole in zip(pick, holes)],
                     dtype=object)


def random_case(seed):
    """A table and options that the client's transform carries out."""
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(1, 40)), int(rng.integers(1, 7))
    names = ["a", "b", "name with space", "été", "type", "a::b", "Z", "nodeTitle", "1", "category"]
    chosen = list(rng.permutation(names)[:width])
    frame = pd.DataFrame({name: random_column(rng, rows) for name in chosen})
    if width > 1 and rng.random() < 0.3:
        frame[chosen[1]] = frame[chosen[0]]
    if rng.random() < 0.2:
        frame["EventID"] = [f"e{i // 2}" for i in range(rows)]
    options = {"direct": bool(rng.random() < 0.5), "drop_na": bool(rng.random() < 0.6),
               "drop_edge_attrs": bool(rng.random() < 0.3)}
    if rng.random() < 0.4:
        options["entity_types"] = list(rng.permutation(chosen)[:rng.integers(1, width + 1)])
    opts = {}
    if rng.random() < 0.3:
        opts["DELIM"] = str(rng.choice(["::", "/", "", "→"]))
    if rng.random() < 0.2:
        opts["EVENTID"] = str(rng.choice(["row", "EventID", "Z"]))
    if rng.random() < 0.2:
        opts["NULLVAL"] = "missing"
    skipped = [c for c in chosen if rng.random() < 0.15]
    left = set(options.get("entity_types", chosen)) - set(skipped) - {opts.get("EVENTID", "EventID")}
    if skipped and left:
        opts["SKIP"] = skipped
    elif not left:
        left = set(options.get("entity_types", chosen))
        opts.pop("EVENTID", None)
    # With categories, the client overwrites a column `category` before it reads it.
    if rng.random() < 0.35 and "category" not in chosen:
        some = [c for c in chosen if rng.random() < 0.6]
        opts["CATEGORIES"] = {"thing": some, "none": ["not there"]}
    if options["direct"] and rng.random() < 0.3:
        ends = sorted(left)
        opts["EDGES"] = {str(c): [str(d) for d in ends if rng.random() < 0.6] for c in ends if rng.random() < 0.7}
    if opts:
        options["opts"] = opts
    return frame, options


@pytest.mark.parametrize("block", range(10))
def test_random_tables_give_what_the_client_gives(helper, block):
    for seed in range(block * TABLES // 10, (block + 1) * TABLES // 10):
        frame, options = random_case(seed)
        what = (seed, options, dict(frame.dtypes))
        edges, nodes = by_the_client(frame, options)
        ours = helper.ask(frame, options)
        assert "error" not in ours, (what, ours)
        assert_equal(ours["nodes"], nodes, what)
        assert_equal(ours["edges"], edges, what)
        ends = ("src", "dst") if options["direct"] else (options.get("opts", {}).get("EVENTID", "EventID"), "attribID")
        assert tuple(ours["edges"].column_names[:2]) == ends, "edges run from the row to the value"


def test_every_name_of_the_options_is_known(helper):
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["x", None]})
    opts = {"TITLE": "t", "DELIM": "-", "NODEID": "n", "ATTRIBID": "at", "EVENTID": "ev", "EVENTTYPE": "row",
            "SOURCE": "from", "DESTINATION": "to", "CATEGORY": "cat", "NODETYPE": "nt", "EDGETYPE": "et",
            "NULLVAL": "nil", "SKIP": ["z"], "CATEGORIES": {"c": ["a", "b"]}}
    for direct in (False, True):
        options = {"opts": opts, "direct": direct, "drop_na": False}
        edges, nodes = by_the_client(frame, options)
        ours = helper.ask(frame, options)
        assert_equal(ours["nodes"], nodes, direct)
        assert_equal(ours["edges"], edges, direct)
        assert "z" in ours["warnings"][0]


def test_the_columns_of_nodes_come_in_the_clients_order(helper):
    frame = pd.DataFrame({"b": [1, 2], "a": ["x", "y"], "c": [0.5, 1.5]})
    for options in ({}, {"direct": True}, {"entity_types": ["c", "a"]}, {"entity_types": ["c", "b"], "direct": True}):
        _, nodes = by_the_client(frame, options)
        assert helper.ask(frame, options)["nodes"].column_names == list(nodes.columns), options


def test_a_million_rows_make_four_million_edges(helper):
    rng = np.random.default_rng(1)
    n = 1_000_000
    frame = pd.DataFrame({"ip": rng.integers(100_000, size=n), "user": rng.integers(20_000, size=n).astype(str),
                          "port": rng.integers(1_000, size=n), "host": rng.integers(50_000, size=n).astype(str)})
    answer = helper.ask(frame, {})
    assert answer["edges"].num_rows == 4 * n
    print(f"a million rows took {answer['wall_s']:.1f} s")


# On the server.

FRAME = pd.DataFrame({"ip": ["x", "y", "x", None], "port": [80, 80, 22, 80], "user": ["a", "b", "a", "c"]})
NOTHING = {"bindings": {}}


def created(api, expect=201, **fields):
    body = {"name": "hyper", "metadata": {}, "node_encodings": NOTHING, "edge_encodings": NOTHING,
            "edge_hypergraph_transform": [{}], **fields}
    r = api("POST", "/api/v2/upload/datasets/", json=body)
    assert r.status_code == expect, r.text
    return r.json()["data"]["dataset_id"] if expect == 201 else r.json()


def sizes(frame, **options):
    edges, nodes = by_the_client(frame, options)
    return nodes["nodeID"].nunique(), len(edges)


def upload(api, dataset, part, frame, expect=200):
    r = api("POST", f"/api/v2/upload/datasets/{dataset}/{part}/arrow", data=arrow(frame))
    assert r.status_code == expect, r.text
    return r.json()


@pytest.mark.parametrize("options", [
    {}, {"direct": True}, {"drop_na": False}, {"entity_types": ["ip", "user"], "drop_edge_attrs": True},
    {"direct": True, "opts": {"CATEGORIES": {"who": ["ip", "user"]}, "EDGES": {"ip": ["user"]}}},
])
@pytest.mark.parametrize("directly", [False, True])
def test_a_dataset_is_made_of_rows(alice, options, directly):
    if directly:
        dataset = created(alice, edge_hypergraph_transform=[options])
        upload(alice, dataset, "edges", FRAME)
    else:
        file = alice.file(arrow(FRAME), "arrow")
        dataset = created(alice, edge_files=[file["file_id"]], edge_hypergraph_transform=[options])
    got = counted(alice, dataset)
    assert (got["node_count"], got["edge_count"]) == sizes(FRAME, **options)
    assert got["edge_hypergraph_transform"] == [options]
    ends = ("src", "dst") if options.get("direct") else ("EventID", "attribID")
    bindings = got["edge_encodings"]["bindings"]
    assert (bindings["source"], bindings["destination"]) == ends
    assert got["node_encodings"]["bindings"]["node"] == "nodeID"


def test_bindings_of_the_client_are_kept_and_mean_columns_of_the_result(server, alice):
    edges = {"bindings": {"source": "attribID", "destination": "EventID", "edge_color": "edgeType"}}
    nodes = {"bindings": {"node": "nodeID", "node_title": "nodeTitle", "node_color": "type"}}
    file = alice.file(arrow(FRAME), "arrow")["file_id"]
    dataset = created(alice, edge_files=[file], edge_encodings=edges, node_encodings=nodes)
    got = counted(alice, dataset)
    assert got["edge_encodings"] == edges and got["node_encodings"] == nodes
    card = first_card(server, dataset)
    assert card["id"] == "ip::x" and card["title"] == "x", card
    for side, bindings, column in [("edge", {"source": "ip", "destination": "nope"}, "nope"),
                                   ("edge", {"source": "src", "destination": "dst"}, "src"),
                                   ("node", {"node": "ip_"}, "ip_")]:
        r = created(alice, expect=400, edge_files=[file], **{f"{side}_encodings": {"bindings": bindings}})
        assert f'"{column}"' in r["message"] and r["field"].startswith(f"{side}_encodings.bindings"), r
        assert ("attribID" if side == "edge" else "nodeTitle") in r["message"], r
    dataset = created(alice, edge_encodings={"bindings": {"source": "src", "destination": "dst"}})
    r = upload(alice, dataset, "edges", FRAME, expect=400)
    assert r["field"] == "edge_encodings.bindings.source", r


def first_card(server, dataset):
    import requests

    viewer = Viewer(server, dataset, "hyper-" + dataset[:8])
    viewer.until(lambda: viewer.graph is not None)
    card = requests.get(f"{server.url}/viz/hyper-{dataset[:8]}/node/0?dataset={dataset}").json()
    viewer.close()
    return card


def test_wrong_transforms_name_the_member_and_what_is_legal(alice):
    file = alice.file(arrow(FRAME), "arrow")["file_id"]
    at = "edge_hypergraph_transform"
    for transform, field, says in [
        ({}, at, "array"),
        ([3], f"{at}[0]", "object"),
        ([{"entitytypes": []}], f"{at}[0].entitytypes", "entity_types"),
        ([{"opts": {"CATS": {}}}], f"{at}[0].opts.CATS", "CATEGORIES"),
        ([{"direct": "yes"}], f"{at}[0].direct", "true or false"),
        ([{"entity_types": ["ipp"]}], f"{at}[0].entity_types", "ip, port, user"),
        ([{"direct": True, "opts": {"EDGES": {"ip": ["usr"]}}}], f"{at}[0].opts.EDGES.ip", "ip, port, user"),
        ([{}, {}], at, "one for each file"),
    ]:
        r = created(alice, expect=400, edge_files=[file], edge_hypergraph_transform=transform)
        assert r["success"] is False and r["field"] == field and says in r["message"], r
    dataset = created(alice, edge_hypergraph_transform=[{"entity_types": ["ipp"]}])
    r = upload(alice, dataset, "edges", FRAME, expect=400)
    assert r["field"] == f"{at}[0].entity_types", r
    for nothing in (None, []):
        r = created(alice, expect=400, edge_files=[file], edge_hypergraph_transform=nothing)
        assert r["field"] == "edge_encodings.bindings.source", r


def test_each_file_may_have_a_transform_of_its_own(alice):
    other = pd.DataFrame({"ip": ["x"], "city": ["Ulm"]})
    files = [alice.file(arrow(f), "arrow")["file_id"] for f in (FRAME, other)]
    both = created(alice, edge_files=files, edge_hypergraph_transform=[{"entity_types": ["ip"]}, {}])
    got = counted(alice, both)
    # Rows of both files are nodes of their own: 4 + 1; values: x, y and Ulm.
    assert (got["node_count"], got["edge_count"]) == (5 + 3, 3 + 2)
    one = created(alice, edge_files=[files[0]] * 2)
    got = counted(alice, one)
    assert (got["node_count"], got["edge_count"]) == sizes(pd.concat([FRAME, FRAME]))


def test_a_node_table_describes_the_nodes_that_it_names(alice):
    nodes = pd.DataFrame({"id": ["ip::x", "somebody"], "label": ["the host", "nobody"]})
    bindings = {"bindings": {"node": "id", "node_title": "label"}}
    files = [alice.file(arrow(f), "arrow")["file_id"] for f in (FRAME, nodes)]
    dataset = created(alice, edge_files=files[:1], node_files=files[1:], node_encodings=bindings)
    assert counted(alice, dataset)["node_count"] == sizes(FRAME)[0] + 1
    dataset = created(alice, node_encodings=bindings)
    upload(alice, dataset, "nodes", nodes)
    upload(alice, dataset, "edges", FRAME)
    assert counted(alice, dataset)["node_count"] == sizes(FRAME)[0] + 1
    r = created(alice, expect=400, edge_files=files[:1], node_files=files[1:])
    assert r["field"] == "node_encodings.bindings.node", r


def test_a_transform_that_would_burst_is_refused_and_the_server_goes_on(server, alice):
    wide = pd.DataFrame({f"c{i}": np.zeros(3_000, dtype="int8") for i in range(300)})
    before = server.rss_bytes()
    dataset = created(alice, edge_hypergraph_transform=[{"direct": True}])
    upload(alice, dataset, "edges", wide)
    viewer = Viewer(server, dataset, "burst-" + dataset[:8])
    viewer.until(lambda: viewer.state and viewer.state["state"] == "failed")
    detail = json.dumps(viewer.messages)
    assert "100000000" in detail or "memory" in detail, detail[-2000:]
    viewer.close()
    assert server.rss_bytes() - before < 200 << 20
    r = created(alice, expect=201, edge_hypergraph_transform=[{"direct": True}])
    wider = pd.DataFrame({f"c{i}": [1] for i in range(400)})
    r = upload(alice, r, "edges", wider, expect=400)
    assert "65536" in r["message"], r


def test_the_page_shows_a_hypergraph(server, alice):
    frame = pd.DataFrame({"host": [f"h{i % 12}" for i in range(60)], "user": [f"u{i % 7}" for i in range(60)]})
    dataset = created(alice, edge_files=[alice.file(arrow(frame), "arrow")["file_id"]])
    nodes, edges = sizes(frame)
    seen = browser("open.mjs", f"{server.url}/graph/graph.html?dataset={dataset}&play=2000")
    assert (seen["nodes"], seen["edges"]) == (nodes, edges), seen
    assert seen["settled"] and not seen["errors"], seen
