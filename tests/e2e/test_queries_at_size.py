"""Queries over a graph that is large enough for everything that small ones do without: indexes of properties, numbers
of values, adjacency of types, work that is shared out, rows by bits. Each is asked again and again, so that the first
answer and those behind what the server has learned are held against data frames."""

import io

import numpy as np
import pandas as pd
import pytest

PERSONS, TOWNS, LANDS, TOPICS = 12_000, 400, 12, 30
TIMES = 5


def village():
    """Nodes and edges, with missing values, names that repeat, parallel edges, loops, and ends that do not exist."""
    rng = np.random.default_rng(5)
    town, land, topic = PERSONS, PERSONS + TOWNS, PERSONS + TOWNS + LANDS
    count = topic + TOPICS
    age = rng.integers(0, 90, count).astype(float)
    age[rng.random(count) < 0.1] = np.nan
    name = np.array([f"n{i // 3}" for i in range(count)], dtype=object)
    name[rng.random(count) < 0.05] = None
    nodes = pd.DataFrame({
        "id": np.arange(count),
        "type": np.repeat(["Person", "Town", "Land", "Topic"], [PERSONS, TOWNS, LANDS, TOPICS]),
        "name": name, "age": age, "sex": rng.choice(["f", "m", None], count, p=[0.5, 0.4, 0.1]),
        "rank": pd.array(rng.integers(0, 500, count), dtype="Int64"),
    })
    nodes.loc[rng.random(count) < 0.1, "rank"] = pd.NA

    def edges(kind, src, dst):
        return pd.DataFrame({"s": src, "d": dst, "type": kind})

    known = (PERSONS * rng.random(PERSONS * 6) ** 2).astype(np.int64)
    table = pd.concat([
        edges("KNOWS", rng.integers(0, PERSONS, PERSONS * 6), known),
        edges("KNOWS", np.arange(40), np.arange(40)),
        edges("KNOWS", np.arange(30), np.arange(30) + count),
        edges("LIVES_IN", np.arange(PERSONS), town + rng.integers(0, TOWNS, PERSONS)),
        edges("LIKES", rng.integers(0, PERSONS, PERSONS * 2), topic + rng.integers(0, TOPICS, PERSONS * 2)),
        edges("IN", town + np.arange(TOWNS), land + rng.integers(0, LANDS, TOWNS)),
    ], ignore_index=True)
    return nodes, table


NODES, EDGES = village()
BY = NODES.set_index("id")
E = EDGES[EDGES["d"] < len(NODES)]


def of(kind):
    return E.loc[E["type"] == kind, ["s", "d"]]


def rows(frame, *columns):
    """Sorted rows, with null for what is missing."""
    plain = lambda x: None if pd.isna(x) else round(float(x), 6) if isinstance(x, (int, float, np.number)) else x
    cells = [[plain(x) for x in row] for row in frame[list(columns)].itertuples(index=False)]
    return sorted(cells, key=repr)


def joined(a, b):
    """Paths of two steps: x, y, z."""
    return a.rename(columns={"s": "x", "d": "y"}).merge(b.rename(columns={"s": "y", "d": "z"}), on="y")


def named(frame, column, key="name"):
    return frame[column].map(BY[key])


def grouped(frame, by, **columns):
    """Groups in which null is a value, like any other."""
    return frame.assign(k=by).groupby("k", dropna=False).agg(**columns).reset_index()


NAME = "n3998"  # of persons
TOWN = NODES.loc[NODES["type"] == "Town", "name"].dropna().iloc[10]
LAND = NODES.loc[NODES["type"] == "Land", "name"].dropna().iloc[3]
TOPIC = NODES.loc[NODES["type"] == "Topic", "name"].dropna().iloc[5]


def lives():
    return of("LIVES_IN").assign(town=lambda f: named(f, "d"), age=lambda f: named(f, "s", "age"), sex=lambda f: named(f, "s", "sex"))


def likes():
    return of("LIKES").assign(topic=lambda f: named(f, "d"), age=lambda f: named(f, "s", "age"), sex=lambda f: named(f, "s", "sex"))


def two_steps():
    steps = joined(of("KNOWS").reset_index(names="e1"), of("KNOWS").reset_index(names="e2"))
    return steps[steps["e1"] != steps["e2"]]


def fans():
    """Towns of those who like a topic, each person once."""
    who = likes().query("topic == @TOPIC")["s"].drop_duplicates()
    return of("LIVES_IN").merge(who, on="s")


CYPHER = {
    "both ends named": (
        f"MATCH (p:Person {{sex: 'm'}})-[:LIVES_IN]->(t:Town {{name: '{TOWN}'}}) RETURN p.id AS x, t.id AS y",
        lambda: rows(lives().query("sex == 'm' and town == @TOWN"), "s", "d")),
    "a condition on one end": (
        f"MATCH (p:Person)-[:LIKES]->(i:Topic {{name: '{TOPIC}'}}) WHERE p.age < 30 RETURN p.id AS x, i.id AS y",
        lambda: rows(likes().query("topic == @TOPIC and age < 30"), "s", "d")),
    "one of some": (
        f"MATCH (p)-[:LIVES_IN]->(t) WHERE t.name IN ['{TOWN}', 'nobody', 7] RETURN p.id AS x, t.id AS y",
        lambda: rows(lives().query("town == @TOWN"), "s", "d")),
    "numbers": (
        "MATCH (p:Person {rank: 77})-[:KNOWS]->(q:Person {age: 40}) RETURN p.id AS x, q.id AS y",
        lambda: rows(of("KNOWS").pipe(lambda f: f[(named(f, "s", "rank") == 77).fillna(False) & (named(f, "d", "age") == 40)]), "s", "d")),
    "two steps": (
        f"MATCH (p:Person {{name: '{NAME}'}})-[:KNOWS]->(q)-[:LIVES_IN]->(t:Town) RETURN q.id AS x, t.id AS y",
        lambda: rows(joined(of("KNOWS").pipe(lambda f: f[named(f, "s") == NAME]), of("LIVES_IN")), "y", "z")),
    "back over three": (
        f"MATCH (l:Land {{name: '{LAND}'}})<-[:IN]-(t)<-[:LIVES_IN]-(p) RETURN t.id AS k, avg(p.age) AS a, sum(p.rank) AS b, "
        "min(p.age) AS c, max(p.rank) AS d, count(p.age) AS e, count(*) AS f",
        lambda: rows(grouped((f := joined(of("LIVES_IN"), of("IN").pipe(lambda f: f[named(f, "d") == LAND])).assign(
            age=lambda f: named(f, "x", "age"), rank=lambda f: named(f, "x", "rank"))), f["y"],
            a=("age", "mean"), b=("rank", "sum"), c=("age", "min"), d=("rank", "max"), e=("age", "count"), f=("x", "size")), *"kabcdef")),
    "by a text": (
        "MATCH (p:Person)-[:KNOWS]->(q:Person) RETURN q.name AS k, count(*) AS a, min(p.age) AS b",
        lambda: rows(grouped((f := of("KNOWS").assign(age=lambda f: named(f, "s", "age"))), named(f, "d"), a=("s", "size"), b=("age", "min")), *"kab")),
    "by a number": (
        "MATCH (p)-[:LIVES_IN]->(t) RETURN p.rank AS k, count(*) AS a",
        lambda: rows(grouped((f := of("LIVES_IN")), named(f, "s", "rank"), a=("s", "size")), *"ka")),
    "the first by number": (
        "MATCH (p:Person)-[:KNOWS]->(q:Person) RETURN q.name AS k, count(*) AS a ORDER BY a DESC, k LIMIT 5",
        lambda: rows(grouped((f := of("KNOWS")), named(f, "d"), a=("s", "size")).sort_values(
            ["a", "k"], ascending=[False, True], na_position="last").head(5), *"ka")),
    "each once, and on": (
        f"MATCH (p)-[:LIKES]->(:Topic {{name: '{TOPIC}'}}) WITH DISTINCT p MATCH (p)-[:LIVES_IN]->(t) RETURN t.name AS k, count(*) AS a",
        lambda: rows(grouped((f := fans()), named(f, "d"), a=("s", "size")), *"ka")),
    "many, each once, and on": (
        "MATCH (:Person)-[:KNOWS]->(q) WITH DISTINCT q MATCH (q)-[:LIVES_IN]->(t) RETURN t.id AS k, count(*) AS a, avg(q.age) AS b",
        lambda: rows(grouped((f := of("LIVES_IN").pipe(lambda f: f[f["s"].isin(of("KNOWS")["d"])]).assign(age=lambda f: named(f, "s", "age"))),
                             f["d"], a=("s", "size"), b=("age", "mean")), *"kab")),
    "distinct ends": (
        f"MATCH (p {{name: '{NAME}'}})-[:KNOWS]->()-[:KNOWS]->(r) RETURN count(DISTINCT r) AS a, count(*) AS b",
        lambda: rows(pd.DataFrame([(f := two_steps().pipe(lambda f: f[named(f, "x") == NAME]))["z"].nunique(), len(f)], ["a", "b"]).T, *"ab")),
    "paths of two": (
        "MATCH (p:Person)-[:KNOWS]->(q:Person)-[:KNOWS]->(r:Person) WHERE q.age < 50 AND r.sex = 'f' RETURN count(*) AS a",
        lambda: rows(pd.DataFrame({"a": [len(two_steps().pipe(lambda f: f[(named(f, "y", "age") < 50) & (named(f, "z", "sex") == "f")]))]}), "a")),
    "named by rows": (
        f"UNWIND ['{NAME}', 'nobody', '{TOWN}'] AS who MATCH (p {{name: who}})-->(q) RETURN who AS k, q.id AS x",
        lambda: rows(E.assign(k=lambda f: named(f, "s"), x=E["d"]).pipe(lambda f: f[f["k"].isin([NAME, TOWN])]), "k", "x")),
}


def kept(keep):
    """The nodes and edges of one hop."""
    edges = E[keep]
    return sorted(set(edges["s"]) | set(edges["d"])), sorted(map(tuple, edges.astype(object).to_numpy().tolist()))


def has(side, **match):
    return np.logical_and.reduce([(named(E, side, key) == value).fillna(False).to_numpy(bool) for key, value in match.items()])


HOPS = {
    "from a kind": (
        [{"sex": "f"}, "forward", {"type": "KNOWS"}, {}], lambda: has("s", sex="f") & (E["type"] == "KNOWS")),
    "back to a kind": (
        [{}, "reverse", {"type": "LIVES_IN"}, {"sex": "m"}], lambda: has("s", sex="m") & (E["type"] == "LIVES_IN")),
    "between kinds": (
        [{"sex": "f"}, "forward", {}, {"sex": "m"}], lambda: has("s", sex="f") & has("d", sex="m")),
    "either way": (
        [{"sex": "f"}, "undirected", {"type": "KNOWS"}, {"sex": "m"}],
        lambda: (E["type"] == "KNOWS") & ((has("s", sex="f") & has("d", sex="m")) | (has("s", sex="m") & has("d", sex="f")))),
    "nearly all": (
        [{}, "forward", {"type": {"type": "NE", "val": "IN"}}, {}], lambda: E["type"] != "IN"),
}


@pytest.fixture(scope="module")
def dataset(server):
    alice = server.api("alice")

    def file(frame):
        out = io.BytesIO()
        frame.to_parquet(out)
        return alice.file(out.getvalue(), "parquet")["file_id"]

    return alice.dataset([file(EDGES)], [file(NODES)], nodes={"node": "id"}, edges={"source": "s", "destination": "d"})


def ask(api, dataset, query, output):
    r = api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/{output}", json={"gfql_query": query, "format": "parquet"})
    assert r.status_code == 200, r.text
    return pd.read_parquet(io.BytesIO(r.content))


@pytest.mark.parametrize("name", CYPHER)
def test_cypher_says_what_data_frames_say(alice, dataset, name):
    text, expected = CYPHER[name]
    wanted = expected()
    assert wanted, "a question about nothing"
    for time in range(TIMES):
        got = ask(alice, dataset, text, "nodes")
        assert rows(got, *got.columns) == wanted, f"asked for the {time + 1}. time"


@pytest.mark.parametrize("name", HOPS)
def test_a_hop_keeps_what_data_frames_keep(alice, dataset, name):
    (a, direction, match, b), keep = HOPS[name]
    node = lambda match: {"type": "Node", "filter_dict": match}
    query = [node(a), {"type": "Edge", "direction": direction, "edge_match": match}, node(b)]
    nodes, edges = kept(keep())
    assert len(edges) > 4_000
    for _ in range(TIMES):
        got = ask(alice, dataset, query, "nodes")
        assert sorted(got["id"]) == nodes
        assert rows(got, *NODES.columns) == rows(NODES[NODES["id"].isin(nodes)], *NODES.columns)
        got = ask(alice, dataset, query, "edges")
        assert sorted(map(tuple, got[["s", "d", "type"]].astype(object).to_numpy().tolist())) == edges
