"""Columns that no table has, in calls of the unchanged client: what it prints names those that there are.

The client says nothing of a successful answer. So a sentence reaches the person where the client looks at the columns by
itself (encodings), where a table cannot be made (ends of edges, ids of nodes) and where a query asks to be told (`strict`);
what it binds plainly is said on the page, open, and in the record.
"""

import io
import json
import warnings
from contextlib import redirect_stderr, redirect_stdout

import pandas as pd
import pytest
import requests
from conftest import PASSWORD, Server, browser
from graphistry import n

NODES = pd.DataFrame({"id": [1, 2, 3, 4], "country": ["fr", "br", "fr", "jp"], "risk": [0.1, 0.9, 0.4, 0.7]})
EDGES = pd.DataFrame({"src": [1, 2, 3, 4], "dst": [2, 3, 4, 1], "amount": [1.5, 2.5, 3.5, 4.5]})


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    s = Server(tmp_path_factory.mktemp("warnings") / "data").start()
    yield s
    assert s.stop() == 0, s.output()


@pytest.fixture(scope="module")
def g(server):
    import graphistry

    graphistry.register(api=3, protocol="http", server=server.server, username="admin", password=PASSWORD)
    return graphistry.edges(EDGES, "src", "dst").nodes(NODES, "id")


@pytest.fixture(scope="module")
def uploaded(g):
    return g.upload()


def printed(call):
    """Everything that a person sees of a call: output, warnings, log lines and the error that it ends with."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except Exception as error:  # noqa: BLE001
            out.write(f"{type(error).__name__}: {error}")
    return out.getvalue() + "".join(str(w.message) for w in caught)


CALLS = {
    "encode_point_color": (lambda g, _: g.encode_point_color("contry", ["red", "blue"], as_categorical=True).plot(render=False), "contry", ["country", "risk"]),
    "encode_point_size": (lambda g, _: g.encode_point_size("rsik", categorical_mapping={}).plot(render=False), "rsik", ["country", "risk"]),
    "encode_point_icon": (lambda g, _: g.encode_point_icon("contry", categorical_mapping={"fr": "flag-icon-fr"}).plot(render=False), "contry", ["country", "risk"]),
    "encode_edge_color": (lambda g, _: g.encode_edge_color("amuont", ["red", "blue"], as_continuous=True).plot(render=False), "amuont", ["amount", "src"]),
    "edges": (lambda g, _: g.edges(EDGES, "source", "dst").plot(render=False), "source", ["src", "dst", "amount"]),
    "nodes": (lambda g, _: g.nodes(NODES, "idd").plot(render=False), "idd", ["id", "country", "risk"]),
    "gfql_remote, Cypher": (lambda _, u: u.gfql_remote("MATCH (a) RETURN a.contry AS c", strict=True), "contry", ["country"]),
    "gfql_remote, chain": (lambda _, u: u.gfql_remote([n({"contry": "fr"})], strict=True), "contry", ["country"]),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_column_is_printed_with_those_that_there_are(g, uploaded, call):
    run, wrong, known = CALLS[call]
    text = printed(lambda: run(g, uploaded))
    assert wrong in text, text
    for name in known:
        assert name in text, (name, text)


def test_what_is_bound_plainly_is_said_open_on_the_page_and_in_the_record(server, g):
    url = g.bind(point_size="rsik", edge_weight="amuont").plot(render=False)
    url = url if url.startswith("http") else f"http:{url}"
    dataset = url.split("dataset=")[1].split("&")[0]
    record = requests.get(f"{server.url}/api/v2/upload/datasets/{dataset}", headers={"Authorization": f"Bearer {server.token()}"}).json()
    texts = [one["text"] for one in record["data"]["notices"]]
    for wrong, known in (("rsik", "risk"), ("amuont", "amount")):
        assert any(wrong in text and known in text for text in texts), texts
    seen = browser("open.mjs", f"{url}&play=0&test=1&splashAfter=False")
    shown = json.dumps(seen)
    assert "rsik" in shown and "amuont" in shown, shown[:2000]


def test_without_strict_a_query_says_it_in_its_metadata(server, g, uploaded):
    asked = requests.post(f"{server.url}/api/v2/etl/datasets/{uploaded._dataset_id}/gfql/all",
                          headers={"Authorization": f"Bearer {server.token()}"},
                          json={"gfql_operations": [{"type": "Node", "filter_dict": {"contry": "fr"}}], "format": "json"})
    assert asked.status_code == 200, asked.text
    said = json.dumps(asked.json())
    assert "contry" in said and "country" in said, said
