"""Texts in Cypher whose stages make graphs, sent as text and by the command line, against the client's own engine."""

import io
import json
import zipfile

import pandas as pd
import pytest

import gfql_cases
import gfql_docs
from conftest import run_cli
from test_gfql_docs import graphs, post  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore")

# Stages over the graph "world" that the client's own engine evaluates; those of its documentation stand in gfql_docs.
TEXTS = {
    "labels and types": "GRAPH { MATCH (a:Person)-[r:FOLLOWS]->(b) }",
    "nodes alone": "GRAPH { MATCH (a:Person) WHERE a.score > 10 OR a.age < 30 }",
    "a condition that no chain has": "GRAPH { MATCH (a)-[r]->(b) WHERE r.weight > 2 OR toUpper(r.type) = 'FOLLOWS' }",
    "two hops either way": "GRAPH { MATCH (a)--(b)--(c) }",
    "any number of hops": "GRAPH { MATCH (a {id: 'Ann'})-[*]->(b) }",
    "up to two hops": "GRAPH { MATCH (a)-[*1..2]->(b:Person) }",
    "no hop or one": "GRAPH { MATCH (a)-[*0..1]->(b {id: 'Bob'}) }",
    "a procedure": "GRAPH { CALL graphistry.degree.write() }",
    "a procedure without a stage": "CALL graphistry.degree.write()",
    "a stage of a stage": "GRAPH g = GRAPH { MATCH (a:Person)-[r]->(b) } GRAPH { USE G CALL graphistry.degree.write() }",
    "marks of both stages": "GRAPH g = GRAPH { MATCH (a:Person)-[r]->(b) } GRAPH { USE g MATCH (x)-[y]->(z) WHERE z.score >= 10 }",
}
# The same with a table at the end.
TABLES = {
    "rows of the dataset": "GRAPH g = GRAPH { MATCH (a:Person) } MATCH (n) RETURN count(*) AS n",
    "rows of a stage": "GRAPH g = GRAPH { MATCH (a)-[r:FOLLOWS]->(b) } USE g MATCH (n) RETURN n.id AS id, n.a AS a ORDER BY id",
    "a value of a procedure": "GRAPH g = GRAPH { CALL graphistry.degree.write() } USE g MATCH (n) WHERE n.degree > 1 RETURN n.id AS id, n.degree AS d ORDER BY d DESC, id",
}
MISTAKES = {
    "GRAPH { }": "empty-graph-constructor",
    "GRAPH { MATCH (a) RETURN a }": "disallowed-graph-constructor-clause",
    "GRAPH g = GRAPH { MATCH (a) } GRAPH G = GRAPH { MATCH (a) } USE g MATCH (n) RETURN n": "duplicate-graph-binding",
    "USE g MATCH (a) RETURN a": "unresolved-graph-reference",
    "GRAPH g = GRAPH { USE h MATCH (a) } GRAPH h = GRAPH { MATCH (a) } USE g MATCH (n) RETURN n": "forward-graph-reference",
    "GRAPH g = GRAPH { USE g MATCH (a) } USE g MATCH (n) RETURN n": "circular-graph-reference",
    "GRAPH { CALL graphistry.degree() }": "unsupported-cypher-query",
    "MATCH (n) CALL graphistry.degree.write() YIELD x RETURN x": "unsupported-cypher-query",
}


def same(found, local, **case):
    difference = gfql_cases.difference(case, found, {"nodes": local._nodes, "edges": local._edges})
    assert difference is None, difference


def by_text(server, graph, text, **more):
    r = post(server, graph._dataset_id, text, format="parquet", **more)
    assert r.status_code == 200, r.text
    archive = zipfile.ZipFile(io.BytesIO(r.content))
    # Rows have no edges, and an empty file stands for these.
    parts = {part: archive.read(f"{part}.parquet") for part in ("nodes", "edges")}
    return {part: pd.read_parquet(io.BytesIO(bytes_)) if bytes_ else None for part, bytes_ in parts.items()}


@pytest.mark.parametrize("name", [*TEXTS, *gfql_docs.GRAPH_TEXTS])
def test_a_text_makes_the_graph_that_the_client_makes(graphs, server, name):  # noqa: F811
    place, text = ("world", TEXTS[name]) if name in TEXTS else gfql_docs.GRAPH_TEXTS[name]
    local = graphs[place].gfql(text)
    assert len(local._nodes) > 0
    same(by_text(server, graphs[place], text), local)


@pytest.mark.parametrize("name", [*TABLES, *gfql_docs.STAGES])
def test_rows_behind_stages_are_those_of_the_client(graphs, server, name):  # noqa: F811
    text = TABLES[name] if name in TABLES else gfql_docs.STAGES[name][1]
    local = graphs["world"].gfql(text)
    assert len(local._nodes) > 0
    same(by_text(server, graphs["world"], text), local, rows=True, ordered=True)


def test_what_the_client_refuses_or_loses_holds_here(graphs, server):  # noqa: F811
    """Conditions on nodes of a longer pattern are lost when the client sends the text compiled, and refused by its own engine."""
    world = graphs["world"]
    plain = lambda table: table.astype(object).where(table.notna(), None)
    nodes, edges = plain(world._nodes).set_index("id"), plain(world._edges)
    text = "GRAPH { MATCH (a)-[r]->(b) WHERE toUpper(a.name) STARTS WITH 'A' OR a.score > b.score }"
    found = by_text(server, world, text)

    def holds(edge):
        a, b = nodes.loc[edge["s"]], nodes.loc[edge["d"]]
        more = a["score"] is not None and b["score"] is not None and a["score"] > b["score"]
        return more or (a["name"] or "").upper().startswith("A")

    want = edges[[holds(edge) for _, edge in edges.iterrows()]]
    assert 0 < len(want) < len(edges)
    assert sorted(zip(found["edges"]["s"], found["edges"]["d"])) == sorted(zip(want["s"], want["d"]))
    assert set(found["nodes"]["id"]) == set(want["s"]) | set(want["d"])
    assert set(found["nodes"][found["nodes"]["a"]]["id"]) == set(want["s"])


def test_the_dataset_stays_as_it_is(graphs, server):  # noqa: F811
    world = graphs["world"]
    before = by_text(server, world, [])
    by_text(server, world, "GRAPH { CALL graphistry.degree.write() MATCH (a:Person) }")
    after = by_text(server, world, [])
    assert all(before[part].equals(after[part]) for part in before)
    kept = post(server, world._dataset_id, "GRAPH { MATCH (a:Person)-[r]->(b) }", persist=True)
    assert kept.status_code == 200 and kept.json()["dataset_id"] != world._dataset_id, kept.text
    shape = post(server, world._dataset_id, "GRAPH { MATCH (a:Person) }", output="/shape").json()
    assert [part["kind"] for part in shape] == ["nodes", "edges"] and shape[1]["rows"] == 0 < shape[0]["rows"]


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_have_the_clients_names(graphs, server, text):  # noqa: F811
    r = post(server, graphs["world"]._dataset_id, text)
    assert r.status_code in (400, 422) and r.json()["error"].startswith(f"[{MISTAKES[text]}]"), r.text


def test_the_plan_tells_the_stages(graphs, server):  # noqa: F811
    text = "GRAPH g = GRAPH { MATCH (a:Person)-[r]->(b) WHERE a.score > b.score OR a.age = 3 } USE g MATCH (n) RETURN n.id AS id"
    dataset = graphs["world"]._dataset_id
    plan = post(server, dataset, text, explain=True).text
    assert plan.startswith("Graph g of the dataset\n  MATCH (a:Person)-[r]->(b)") and "row by row" in plan and "Rows of graph g\n" in plan, plan
    told = post(server, dataset, text, profile=True).text
    assert "(nodes " in told and "Result [id] (rows " in told, told


def test_the_command_line_makes_graphs(tmp_path):
    edges, nodes = tmp_path / "e.csv", tmp_path / "n.csv"
    edges.write_text("src,dst,w\n1,2,5\n2,3,6\n3,1,7\n7,8,9\n")
    nodes.write_text("id,name\n1,ann\n2,bob\n3,carl\n7,dora\n8,emil\n")
    ask = lambda text, *more: run_cli("query", edges, "--nodes", nodes, "--cypher", text, *more).stdout
    both = json.loads(ask("GRAPH { MATCH (a)-[r]->(b) WHERE a.name < b.name OR r.w = 7 }"))
    assert [e["w"] for e in both["edges"]] == [5, 6, 7, 9] and [n["a"] for n in both["nodes"]] == [True, True, True, True, False]
    text = "GRAPH g = GRAPH { MATCH (a)-[r]->(b {name: $name}) } GRAPH h = GRAPH { USE g CALL graphistry.degree.write() } "
    assert ask(f"{text} USE h MATCH (n) RETURN n.name, n.degree ORDER BY n.name", "--param", "name=bob") == "n.name,n.degree\nann,1\nbob,1\n"
    assert ask(f"{text} GRAPH {{ USE h MATCH (n) }}", "--param", "name=bob", "--output", "shape") == "kind,rows,cols\nnodes,2,8\nedges,0,4\n"
    assert ask(f"{text} USE h MATCH (n) RETURN n.name", "--param", "name=bob", "--explain").startswith("Graph g of the dataset\n")
    told = ask(f"{text} USE h MATCH (n) RETURN n.name", "--param", "name=bob", "--profile")
    assert "as a chain (nodes 2, edges 1)" in told and "(rows 2)" in told
