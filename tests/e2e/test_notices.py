"""What is asked for and not done is said: in the answer, in the record, in the message to the page, to agents, and on
the command line's standard error."""

import json

import pandas as pd
import pytest
from agent import Agent, OpenPage
from conftest import counted, unique
from live import Viewer
from test_datasets import file_of

EDGES = pd.DataFrame({"s": ["a", "b", "c"], "d": ["b", "c", "a"], "w": ["heavy", "light", "?"]})
NODES = pd.DataFrame({"id": ["a", "b", "c"], "kind": ["x", "y", "x"], "px": [0.0, 1.0, 2.0]})
NODE = {"node": "id"}


def color(attribute, outcome="#ff0000"):
    mapping = {"categorical": {"fixed": {"x": outcome}}}
    return {"default": {"pointColorEncoding": {
        "graphType": "point", "encodingType": "color", "attribute": attribute, "mapping": mapping}}}


# What is bound or sent, and the slug and a part of the text of the notice.
SILENT_BEFORE = {
    "a size of text": (EDGES, NODES, {"node_size": "kind"}, {}, None, "column-without-numbers", '"kind"'),
    "weights of text": (EDGES, NODES, {}, {"edge_weight": "w"}, None, "column-without-numbers", '"w"'),
    "x without y": (EDGES, NODES, {"node_x": "px"}, {}, None, "positions-incomplete", "node_x and node_y"),
    "a colour by no column": (EDGES, NODES, {}, {}, color("nope"), "column-missing", '"nope"'),
    "a colour that is none": (EDGES, NODES, {}, {}, color("kind", "no-colour"), "encoding-ignored", "no CSS colour"),
    "an icon": (EDGES, NODES, {"node_icon": "kind"}, {}, None, "encoding-not-drawn", "names no icon"),
    "a binding that is none": (EDGES, NODES, {"node_wings": "kind"}, {}, None, "binding-unknown", "node_wings"),
}
# What only the data tell.
DATA = {
    "null ends": (EDGES.assign(d=["b", None, None]), NODES, "edges-without-an-end", "2 of 3 edge rows", 2),
    "ids of two types": (pd.DataFrame({"s": [1, 2, 3], "d": ["1", "2", "9"]}), None, "ids-of-different-types",
                         "holds numbers", 1),
    "nodes that are not named": (EDGES, NODES.iloc[:1], "nodes-without-a-row", "2 of 3 nodes", 2),
    "ids that match nothing": (EDGES, NODES.assign(id=["p", "q", "r"]), "node-table-matches-no-edge", '"id"', 3),
    "repeated ids": (EDGES, pd.concat([NODES, NODES.iloc[:2]]), "node-rows-not-used", "2 of 5 node rows", 2),
}


def create(api, edges, nodes, node_bindings, edge_bindings, complex_=None):
    r = api("POST", "/api/v2/upload/datasets/", json={
        "name": "notices", "metadata": {}, "edge_files": [file_of(api, edges)],
        "node_files": [] if nodes is None else [file_of(api, nodes)],
        "node_encodings": {"bindings": {**({} if nodes is None else NODE), **node_bindings},
                           **({"complex": complex_} if complex_ else {})},
        "edge_encodings": {"bindings": {"source": "s", "destination": "d", **edge_bindings}}})
    assert r.status_code == 201, r.text
    return r.json()


def has(notices, slug, text, count=1):
    return [n for n in notices if n["slug"] == slug and text in n["text"] and n["count"] == count]


@pytest.mark.parametrize("case", SILENT_BEFORE)
def test_what_a_binding_asks_for_and_does_not_get_is_said_everywhere(server, alice, case):
    *made, slug, text = SILENT_BEFORE[case]
    answer = create(alice, *made)
    assert has(answer["data"]["notices"], slug, text), answer
    assert text in answer["message"]
    dataset = answer["data"]["dataset_id"]
    if slug == "binding-unknown":
        return  # Such a binding is not kept, so that nothing of it is left to be told.
    assert has(counted(alice, dataset)["notices"], slug, text)
    viewer = Viewer(server, dataset, unique("notices"))
    viewer.until(lambda: viewer.graph is not None)
    assert has(viewer.graph["notices"], slug, text), viewer.graph
    viewer.close()


@pytest.mark.parametrize("case", DATA)
def test_what_the_data_do_not_give_is_counted(server, accounts, alice, case):
    edges, nodes, slug, text, count = DATA[case]
    answer = create(alice, edges, nodes, {}, {})
    dataset = answer["data"]["dataset_id"]
    assert has(answer["data"]["notices"], slug, text, count) and text in answer["message"], answer
    session = unique("notices")
    with OpenPage(server, dataset, session, server.token("alice")):
        lines = Agent(server, ":".join(accounts["key"])).text("get_session_info", session_id=session).split("\n")
    assert [line for line in lines if line.startswith("notice: ") and text in line], lines
    assert has(counted(alice, dataset)["notices"], slug, text, count)


def test_what_the_address_asks_for_in_vain_is_said_to_page_and_agent(server, accounts, alice):
    dataset, session = create(alice, EDGES, NODES, {}, {})["data"]["dataset_id"], unique("address")
    expected = {"parameter-ignored": ("did you mean play?", '"big"'), "setting-ignored": ("gravity",),
                "setting-out-of-range": ("play=12000", "0 to 10000"),
                "collection-ignored": ("collections",)}
    query = "plai=0&pointSize=big&gravity=much&collections=x&play=12000"
    with OpenPage(server, dataset, session, server.token("alice"), query) as page:
        hello = next(m for m in page.viewer.messages if m["t"] == "hello")
        lines = Agent(server, ":".join(accounts["key"])).text("get_session_info", session_id=session).split("\n")
    for slug, texts in expected.items():
        for text in texts:
            assert has(hello["notices"], slug, text), hello
            assert [line for line in lines if line.startswith("notice: ") and text in line], lines


def test_nodes_without_a_place_are_counted_in_the_answer_and_in_the_record(alice):
    nodes = NODES.assign(py=[1e300, 2.0, None])
    answer = create(alice, EDGES, nodes, {"node_x": "px", "node_y": "py"}, {})
    for notices in (answer["data"]["notices"], counted(alice, answer["data"]["dataset_id"])["notices"]):
        assert has(notices, "nodes-without-a-place", '"py"', 2), notices


def test_uploads_into_a_dataset_answer_with_what_their_rows_lack(alice):
    dataset = alice.dataset(nodes={"node": "id"}, edges={"source": "s", "destination": "d"})
    edges = EDGES.assign(d=["b", None, None]).to_json(orient="records")
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/json", data=edges)
    assert has(r.json()["data"]["notices"], "edges-without-an-end", "2 of 3", 2), r.text
    nodes = NODES.iloc[:1].to_json(orient="records")
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/nodes/json", data=nodes)
    assert has(r.json()["data"]["notices"], "nodes-without-a-row", "2 of 3", 2), r.text


def test_members_of_the_body_that_change_nothing_are_said(alice):
    r = alice("POST", "/api/v2/upload/datasets/", json={
        "name": "notices", "metadata": {"settings": {"pointSize": 2}}, "layout": {"type": "circle"},
        "edge_files": [file_of(alice, EDGES)], "node_encodings": {"bindings": {}},
        "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}})
    made = r.json()["data"]
    for notices in (made["notices"], counted(alice, made["dataset_id"])["notices"]):
        assert has(notices, "field-without-effect", "metadata.settings is kept"), notices
        assert has(notices, "layout-not-run", "layout.type is a JSON string"), notices


def test_data_without_anything_to_tell_tell_nothing(server, alice):
    answer = create(alice, EDGES, NODES, {"node_color": "kind"}, {})
    assert answer["data"]["notices"] == [] and answer["message"] == "Dataset created"
    assert counted(alice, answer["data"]["dataset_id"])["notices"] == []


def test_bindings_of_a_table_that_is_still_to_come_are_no_notice(alice):
    dataset = alice.dataset(nodes={"node": "id", "node_size": "px"}, edges={"source": "s", "destination": "d"})
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/json", data=EDGES.to_json(orient="records"))
    assert r.status_code == 200 and r.json()["data"]["notices"] == [], r.text
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/nodes/json", data=NODES.drop(columns="px").to_json(orient="records"))
    assert has(r.json()["data"]["notices"], "column-missing", '"px"'), r.text


def test_an_option_of_the_parser_without_effect_is_said(alice):
    # As in pandas, whose index it is about; a table has none.
    record = alice.file(b"s,d\na,b\n", "csv", parser_options={"parse_dates": True})
    assert has(record["notices"], "option-without-effect", "parse_dates"), record


def test_an_option_that_asks_for_what_a_table_cannot_be_is_refused_where_it_matters(alice):
    options = {"mangle_dupe_cols": False}
    assert alice.file(b"s,d\na,b\n", "csv", parser_options=options)["notices"] == []
    [error] = alice.file(b"s,s\na,b\n", "csv", parser_options=options)["errors"]
    assert error["slug"] == "invalid-option" and "mangle_dupe_cols" in error["message"] and '"s.1"' in error["message"], error


def test_a_compressed_file_whose_name_does_not_say_so_is_said(alice):
    import gzip

    for name, told in (("edges.csv", 1), ("edges.csv.gz", 0), ("", 0)):
        record = alice.file(gzip.compress(b"s,d\na,b\n"), "csv", file_compression="gzip", name=name)
        assert len(has(record["notices"], "compression-not-in-name", "gzip")) == told, record


def test_edge_files_that_keep_text_differently_join(server, alice):
    import pyarrow as pa

    from test_hypergraph import arrow

    parts = [pa.table({"s": pa.array(["a"], kind), "d": pa.array(["b"], kind)})
             for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()))]
    files = [alice.file(arrow(part), "arrow")["file_id"] for part in parts]
    dataset = alice.dataset(files)
    got = counted(alice, dataset)
    assert (got["node_count"], got["edge_count"]) == (2, 3), got
    numbers = alice.file(b"s,d\n1,2\n", "csv")["file_id"]
    refused = alice.dataset([files[0], numbers], expect=400)
    assert refused["field"] == "edge_files[1]" and '"s"' in refused["message"], refused


# Files that are tables by the letter: the type, the bytes, and what the notice says.
MISREAD = {
    "semicolons": ("csv", b"s;d\na;b\nb;c\n", '`sep` to ";"'),
    "tabs": ("csv", b"s\td\na\tb\nb\tc\n", '`sep` to "\\t"'),
    "bars": ("csv", b"s|d\na|b\nb|c\n", '`sep` to "|"'),
    "a graph in one object": ("json", b'{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 1}]}', "a file of its own"),
}


@pytest.mark.parametrize("case", MISREAD)
def test_a_file_that_was_surely_meant_otherwise_says_so(alice, case):
    kind, body, text = MISREAD[case]
    record = alice.file(body, kind)
    assert record["is_valid"] and has(record["notices"], "file-probably-misread", text), record
    stored = alice("GET", f"/api/v2/files/{record['file_id']}").json()
    assert has(stored["notices"], "file-probably-misread", text), stored


def test_the_remedy_of_such_a_notice_is_one(alice):
    record = alice.file(b"s;d\na;b\nb;c\n", "csv", parser_options={"sep": ";"})
    assert record["notices"] == [] and record["tables_schemas"][0]["num_cols"] == 2, record


def test_an_upload_into_a_dataset_tells_that_it_was_misread(alice):
    dataset = alice.dataset(edges={"source": "s;d", "destination": "s;d"})
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/csv", data=b"s;d\na;b\nb;c\n")
    assert has(r.json()["data"]["notices"], "file-probably-misread", '`sep` to ";"'), r.text


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_web_page_is_no_table(alice, kind):
    page = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n"
    record = alice.file(page, kind)
    assert not record["is_valid"] and record["errors"][0]["slug"] == f"malformed-{kind}", record
    assert "web page" in record["errors"][0]["message"] and "browser" in record["errors"][0]["message"], record
    dataset = alice.dataset(edges={"source": "s", "destination": "d"})
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/{kind}", data=page)
    assert 400 <= r.status_code < 500 and "web page" in r.text, r.text
