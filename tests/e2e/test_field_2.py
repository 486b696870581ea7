"""Reports of the field on numbers, types and options that passed through a form which cannot hold them: each is exact now, or
refused by name, or the loss is said."""

import datetime
import io
import json
import re

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from agent import Agent
from conftest import counted
from live import Viewer, bits, until_at_rest
from test_mcp_clients import node

FAR = [datetime.datetime(4000, 12, 31), datetime.datetime(9999, 12, 31), datetime.datetime(2024, 2, 29, 12), datetime.datetime(1500, 6, 1)]


def parquet(table, **how):
    out = io.BytesIO()
    pq.write_table(table, out, **how)
    return out.getvalue()


def refused(api, data, kind, **fields):
    made = api("POST", "/api/v2/files/", json={"file_type": kind, **fields}).json()["file_id"]
    r = api("POST", f"/api/v2/upload/files/{made}", data=data)
    return r.json()


def answer(api, dataset, query, form="json"):
    r = api("POST", f"/api/v2/datasets/{dataset}/gfql/nodes", json={"gfql_query": query, "format": form})
    assert r.status_code == 200, r.text
    return r


def test_dates_of_spark_are_those_that_were_written(alice):
    table = pa.table({"s": ["x", "y", "z", "w"], "d": ["y", "z", "x", "x"], "until": pa.array(FAR, pa.timestamp("us")),
                      "many": pa.array([[FAR[0]], [], None, FAR[1:]], pa.list_(pa.timestamp("us")))})
    data = parquet(table, use_deprecated_int96_timestamps=True, store_schema=False)
    record = alice.file(data, "parquet")
    assert record["is_valid"] and record["errors"] == [], record
    dataset = alice.dataset([record["file_id"]])
    rows = answer(alice, dataset, "MATCH (a)-[e]->(b) RETURN a.id AS s, toString(e.until) AS until").json()
    assert {row["s"]: row["until"][:10] for row in rows} == {"x": "4000-12-31", "y": "9999-12-31", "z": "2024-02-29", "w": "1500-06-01"}
    steps = [{"type": "Node"}, {"type": "Edge", "direction": "forward"}, {"type": "Node"}]
    r = alice("POST", f"/api/v2/datasets/{dataset}/gfql/edges", json={"gfql_query": steps, "format": "parquet"})
    assert r.status_code == 200, r.text
    back = pq.read_table(io.BytesIO(r.content)).select(["s", "until", "many"]).sort_by("s")
    want = table.select(["s", "until", "many"]).sort_by("s")
    assert back["until"].to_pylist() == want["until"].to_pylist() and back["many"].to_pylist() == want["many"].to_pylist()


def test_header_none_of_pandas_is_null_in_json(alice):
    data = b"2B,410,AER\n2B,411,ASF\n"
    record = alice.file(data, "csv", parser_options={"header": None, "names": ["line", "s", "d"]})
    dataset = alice.dataset([record["file_id"]])
    assert answer(alice, dataset, "MATCH ()-[e]->() RETURN count(*) AS n").json() == [{"n": 2}]
    record = alice.file(data, "csv", parser_options={"header": None})
    assert list(record["tables_schemas"][0]["dtypes"]) == ["0", "1", "2"] and record["tables_schemas"][0]["num_rows"] == 2
    said = refused(alice, data, "csv", parser_options={"sep": None})
    assert "sep" in json.dumps(said) and "cannot be null" in json.dumps(said), said


@pytest.mark.parametrize("mode", ["dense", "sparse"])
def test_a_type_that_an_answer_cannot_write_is_refused_at_the_door(alice, mode):
    kinds, values = pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
    union = pa.UnionArray.from_sparse(kinds, values) if mode == "sparse" \
        else pa.UnionArray.from_dense(kinds, pa.array([0, 0, 1], pa.int32()), values)
    table = pa.table({"s": ["x", "y", "z"], "d": ["y", "z", "x"], "odd": union})
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    said = refused(alice, sink.getvalue(), "arrow")
    [error] = said["errors"]
    assert said["is_valid"] is False and error["column"] == "odd" and error["slug"] == "malformed-arrow", said
    assert "a union" in error["message"] and "send a column for each of its types" in error["message"], said


def test_json_in_utf_16_is_read(alice):
    text = json.dumps([{"s": "\u00e4", "d": "\U0001f600"}, {"s": "b", "d": "\u00e4"}], ensure_ascii=False)
    for encoding in ("utf-16", "utf-16-be"):
        mark = b"" if encoding == "utf-16" else b"\xfe\xff"
        record = alice.file(mark + text.encode(encoding), "json")
        dataset = alice.dataset([record["file_id"]])
        assert sorted(row["id"] for row in answer(alice, dataset, "MATCH (n) RETURN n.id AS id").json()) == ["b", "\u00e4", "\U0001f600"]


def test_an_agent_gets_ids_that_find_their_nodes(alice):
    ids = [9007199254740993, 9007199254740995, 1972435959496572929, 7]
    nodes = alice.file(("id,x\n" + "".join(f"{i},1\n" for i in ids)).encode(), "csv")["file_id"]
    edges = alice.file(f"s,d\n{ids[0]},{ids[1]}\n{ids[2]},{ids[3]}\n".encode(), "csv")["file_id"]
    dataset = alice.dataset([edges], [nodes], nodes={"node": "id"})
    session = "field-2-agent"
    viewer = Viewer(alice.server, dataset, session, headers=dict(alice.session.headers))
    try:
        viewer.until(lambda: viewer.graph)
        agent = Agent(alice.server, alice.session.headers["Authorization"].removeprefix("Bearer "))

        def ask(query):
            called = agent.result("tools/call", {"name": "query_graph", "arguments": {
                "session_id": session, "gfql_operations": query, "output_type": "nodes"}})
            # As a client in JavaScript reads it: every number is a double.
            return json.loads(called["content"][0]["text"], parse_int=float)
        got = [row["id"] for row in ask("MATCH (n) RETURN n.id AS id")["rows"]]
        assert sorted(map(str, got)) == sorted(["9007199254740993", "9007199254740995", "1972435959496572929", "7.0"])
        for given in got[:3]:
            digits = given if isinstance(given, str) else str(int(given))
            # As a number, and as the text that the answer had.
            for written in (digits, f"'{digits}'"):
                assert ask(f"MATCH (n) WHERE n.id = {written} RETURN n.id AS id")["rows"] == [{"id": given}]
            assert ask([{"type": "Node", "filter_dict": {"id": given}}])["nodes"][0]["id"] == given
        # So does the official client in JavaScript, which keeps what it read in its own values.
        token = alice.session.headers["Authorization"].removeprefix("Bearer ")
        told = node("ids.mjs", alice.server.url + "/mcp", token, session)
        assert sorted(told["read"], key=str) == sorted([*map(str, ids[:3]), 7], key=str)
        for read, steps, cypher in zip(told["read"], told["steps"], told["cypher"]):
            assert steps == cypher == [read], told
    finally:
        viewer.close()


def test_hashes_of_64_bits_are_as_many_as_there_are(alice):
    far = [2**63 + 5, 2**63 + 6, 2**63 + 7, 2**64 - 1]
    sink = io.BytesIO()
    table = pa.table({"id": pa.array(far, pa.uint64()), "h": pa.array(far, pa.uint64()), "name": list("ABCD")})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    nodes = alice.file(sink.getvalue(), "arrow")["file_id"]
    edges = alice.file(f"s,d\n{far[0]},{far[1]}\n{far[1]},{far[2]}\n".encode(), "csv")["file_id"]
    dataset = alice.dataset([edges], [nodes], nodes={"node": "id"})

    def ask(query, form="json", **params):
        body = {"gfql_query": query, "format": form, **({"params": params} if params else {})}
        r = alice("POST", f"/api/v2/datasets/{dataset}/gfql/nodes", json=body)
        assert r.status_code == 200, r.text
        return r
    assert ask("MATCH (n) RETURN count(DISTINCT n.h) AS n").json() == [{"n": 4}]
    assert ask("MATCH (x),(y) WHERE x.h = y.h RETURN count(*) AS n").json() == [{"n": 4}]
    assert ask("MATCH (x {name:'A'}),(y {name:'B'}) RETURN x.h = y.h AS same, x.h < y.h AS less").json() == [{"same": False, "less": True}]
    assert sorted(row["id"] for row in ask("MATCH (n) RETURN n.id AS id").json()) == far
    assert ask("MATCH (n {h: $p}) RETURN n.name AS name", p=far[0]).json() == [{"name": "A"}]
    assert ask("MATCH (n) WHERE n.h IN $p RETURN n.name AS name ORDER BY n.h DESC", p=[far[3], far[1]]).json() == [{"name": "D"}, {"name": "B"}]
    assert ask("MATCH (n) WHERE n.h > $p RETURN n.name AS name ORDER BY name", p=far[1]).json() == [{"name": "C"}, {"name": "D"}]
    assert ask("MATCH (n) RETURN max(n.h) AS most, min(n.h) AS least").json() == [{"most": far[3], "least": far[0]}]
    assert ask("MATCH (n {name: 'D'}) RETURN n.h - 1 AS less, toString(n.h) AS text, toInteger('18446744073709551615') = n.h AS same").json() \
        == [{"less": far[3] - 1, "text": str(far[3]), "same": True}]
    refused = alice("POST", f"/api/v2/datasets/{dataset}/gfql/nodes",
                    json={"gfql_query": "MATCH (n) RETURN sum(n.h) AS s", "format": "json"})
    assert refused.status_code == 400 and "64 bits" in refused.text, refused.text
    back = pq.read_table(io.BytesIO(ask("MATCH (n) RETURN n.h AS h ORDER BY n.h", "parquet").content))
    assert back["h"].type == pa.uint64() and back["h"].to_pylist() == far

    def named(query):
        return sorted(row["name"] for row in ask(query).json())
    step = {"type": "Node", "filter_dict": {"h": far[0]}}
    assert named([step]) == ["A"]
    assert named([step, {"type": "Edge", "direction": "forward", "hops": 1}, {"type": "Node"}]) == ["A", "B"]
    for kind, bound, want in (("GT", far[0], "BCD"), ("GE", far[0], "ABCD"), ("LT", far[2], "AB"), ("NE", far[0], "BCD"), ("EQ", far[3], "D")):
        assert named([{"type": "Node", "filter_dict": {"h": {"type": kind, "val": bound}}}]) == list(want), kind
    assert named([{"type": "Node", "filter_dict": {"h": {"type": "IsIn", "options": [far[1], far[3], 5]}}}]) == ["B", "D"]
    assert named([{"type": "Node", "filter_dict": {"h": {"type": "Between", "lower": far[1], "upper": far[2]}}}]) == ["B", "C"]
    assert named([{"type": "Node"}, {"type": "Call", "function": "rows", "params": {}},
                  {"type": "Call", "function": "where_rows", "params": {"expr": f"h = {far[2]}"}}]) == ["C"]


def test_moments_of_today_as_coordinates_keep_their_distances(alice):
    def picture(origin):
        at = [(1764200000000 - origin + 20000 * i, 40000 * (i % 3)) for i in range(6)]
        nodes = "id,t,y\n" + "".join(f"e{i},{x},{y}\n" for i, (x, y) in enumerate(at))
        edges = "s,d\n" + "".join(f"e{i},e{i + 1}\n" for i in range(5))
        dataset = alice.dataset([alice.file(edges.encode(), "csv")["file_id"]], [alice.file(nodes.encode(), "csv")["file_id"]],
                                nodes={"node": "id", "node_x": "t", "node_y": "y"})
        page = alice("GET", f"/graph/graph.html?dataset={dataset}&play=0")
        session = re.search("session=([0-9a-f]+)", page.url).group(1)
        viewer = Viewer(alice.server, dataset, session, headers=dict(alice.session.headers))
        until_at_rest(viewer)
        epoch = viewer.graph["epoch"]
        r = alice("GET", f"/viz/{session}/{epoch}/positions.bin", params={"dataset": dataset})
        places = np.frombuffer(r.content[48:], "<f4").reshape(-1, 2)
        r = alice("POST", f"/viz/{session}/export", params={"dataset": dataset, "table": "nodes", "format": "json"},
                  json={"nodes": bits(range(6), 6)})
        rows = sorted(r.json(), key=lambda row: row["id"])
        notices, underlay = viewer.graph["notices"], viewer.graph["underlay"]
        viewer.close()
        return at, places, rows, notices, underlay
    at, places, rows, notices, underlay = picture(0)
    plain = picture(1764200000000)
    assert np.array_equal(places - places[0], plain[1] - plain[1][0]), "as with the origin subtracted by hand"
    assert len({tuple(p) for p in places}) == 6
    assert [(row["x"], row["y"]) for row in rows] == at, "what leaves has the coordinates of the data"
    assert notices == [] and "origin" in underlay and "origin" not in plain[4]
    assert (places[:, 0].astype(float) + underlay["origin"][0]).tolist() == [x for x, _ in at]


def test_coordinates_that_32_bits_cannot_tell_apart_are_said(alice):
    nodes = "id,x,y\n" + "".join(f"n{i},{1e12 * i},0\n" for i in range(9)) + "near,7000000000001,0\n"
    edges = "s,d\n" + "".join(f"n{i},n{i + 1}\n" for i in range(8))
    made = alice("POST", "/api/v2/upload/datasets/", json={
        "name": "near", "metadata": {}, "edge_files": [alice.file(edges.encode(), "csv")["file_id"]],
        "node_files": [alice.file(nodes.encode(), "csv")["file_id"]],
        "node_encodings": {"bindings": {"node": "id", "node_x": "x", "node_y": "y"}},
        "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}}).json()["data"]
    [said] = [n for n in counted(alice, made["dataset_id"])["notices"] if n["slug"] == "positions-fall-together"]
    assert said["count"] == 2 and "subtract an origin" in said["text"], said


def test_a_text_cell_of_a_workbook_stays_text_where_text_is_demanded(alice):
    book = openpyxl.Workbook()
    for row in (["s", "d", "a"], ["x", "y", "007"], ["y", "x", "012"]):
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    for options, want in (({"dtype": {"a": "str"}}, ["007", "012"]), ({}, [7, 12])):
        record = alice.file(out.getvalue(), "xlsx", parser_options=options)
        dataset = alice.dataset([record["file_id"]])
        rows = answer(alice, dataset, "MATCH ()-[e]->() RETURN e.a AS a ORDER BY a").json()
        assert [row["a"] for row in rows] == want
