"""Which side answers thirty queries over three sizes, as `explain` tells it, on a server of sixteen threads with a card of 132
multiprocessors, which is the emulated one. The costs are those of engine/core/src/device/cost.rs: who changes them sees here
what that changes."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import Server
from test_gpu import driver

SIZES = (2_000, 200_000, 2_000_000)

TABLES = [
    "MATCH ()-[x]->() WHERE x.amount > 100 RETURN count(*)",
    "MATCH ()-[x]->() WHERE x.amount > 100 AND x.rate < 0.5 RETURN count(*)",
    "MATCH ()-[x]->() WHERE x.kind = 'fee' RETURN count(*)",
    "MATCH ()-[x]->() WHERE x.amount IN [1, 2, 3] RETURN count(*)",
    "MATCH ()-[x]->() RETURN sum(x.amount), min(x.rate), max(x.rate)",
    "MATCH ()-[x]->() WHERE x.rate > 0.9 RETURN sum(x.amount), max(x.amount)",
    "MATCH ()-[x]->() RETURN x.kind, count(*)",
    "MATCH ()-[x]->() WHERE x.amount > 10 RETURN x.kind, count(*)",
    "MATCH ()-[x]->() RETURN x.kind, sum(x.amount)",
    "MATCH ()-[x]->() RETURN count(DISTINCT x.kind)",
    "MATCH ()-[x]->() RETURN percentileCont(x.rate, 0.5)",
    "MATCH ()-[x]->() WHERE x.amount > 10 RETURN percentileDisc(x.amount, 0.9)",
    "MATCH ()-[x]->() WHERE x.rate < 0.001 RETURN x.amount, x.kind",
    "MATCH (x) WHERE x.score > 10 RETURN count(*)",
    "MATCH (x) WHERE x.score > 10 RETURN x.score, x.group",
]


def node(**filters):
    return {"type": "Node", "filter_dict": filters}


def edge(direction="forward", **more):
    return {"type": "Edge", "direction": direction, **more}


def more_than(value):
    return {"type": "GT", "val": value}


FEW = node(id={"type": "IsIn", "options": [1, 5, 9]})
PATTERNS = [
    [node(score=more_than(10))],
    [edge(edge_match={"amount": more_than(100)})],
    [edge(edge_match={"amount": more_than(100), "kind": "fee"})],
    [node(score=more_than(10)), edge(), node(score=more_than(50))],
    [node(score=more_than(10)), edge("reverse"), node()],
    [node(score=more_than(10)), edge("undirected"), node(score=more_than(90))],
    [node(score=more_than(10)), edge(hops=2), node()],
    [node(score=more_than(10)), edge("undirected", hops=3), node()],
    [node(score=more_than(10)), edge(min_hops=2, max_hops=3), node()],
    [node(score=more_than(10)), edge(), node(), edge("reverse", edge_match={"rate": more_than(0.5)}), node()],
    [node(score=more_than(10)), edge(name="way", edge_match={"rate": more_than(0.5)}), node(name="end")],
    [FEW, edge()],
    [FEW, edge(hops=2)],
    [FEW, edge("undirected", hops=3, edge_match={"amount": more_than(100)})],
    [FEW, edge(to_fixed_point=True)],
]


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def plot(api, edges):
    """A dataset of so many edges and a fifth as many nodes, with columns of numbers and of texts that repeat."""
    rng, nodes = np.random.default_rng(7), edges // 5
    texts = np.array(["transfer", "fee", "tax", "gift"])
    edge_file = api.file(parquet(s=rng.integers(0, nodes, edges), d=rng.integers(0, nodes, edges), amount=rng.integers(0, 1_000, edges),
                                 rate=rng.random(edges), kind=texts[rng.integers(0, 4, edges)]), "parquet")
    node_file = api.file(parquet(id=np.arange(nodes), score=rng.integers(0, 100, nodes), group=texts[rng.integers(0, 4, nodes)]), "parquet")
    return api.dataset([edge_file["file_id"]], [node_file["file_id"]], nodes={"node": "id"})


def side(api, dataset, query):
    reply = api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/nodes", json={"gfql_operations": query, "format": "json", "explain": True})
    assert reply.status_code == 200, reply.text
    plan = reply.text
    assert ("on the GPU: " in plan) != ("on the CPU" in plan), f"{query}\n{plan}"
    return "gpu" if "on the GPU: " in plan else "cpu"


@pytest.fixture(scope="module")
def choices(tmp_path_factory):
    place = tmp_path_factory.mktemp("router")
    env = driver(sms=132, sm_threads=2048, capability=90)
    server = Server(place / "data", "--threads", "16", "--gpu-edges-min", "1", env=env).start()
    try:
        api = server.api()
        datasets = [plot(api, size) for size in SIZES]
        yield {str(query): [side(api, dataset, query) for dataset in datasets] for query in TABLES + PATTERNS}
    finally:
        assert server.stop() == 0, server.output()


# Of TABLES and PATTERNS, by their place, what the card answers of the largest graph whose columns it has not seen yet. A copy
# costs the more the less is done with it, so that plain filters and sums stay with sixteen threads.
ON_THE_GPU = {2, 6, 9, 10, 11, 16, 17, 21, 22, 23, 24, 29}
# And of the middle one, whose patterns meet many edges.
ON_THE_GPU_SOONER = {16, 17, 21, 22, 23, 29}


def test_explain_names_the_side_of_thirty_queries_over_three_sizes(choices):
    assert len(choices) == 30
    wrong = []
    for place, (query, sides) in enumerate(choices.items()):
        expected = ["cpu", *("gpu" if place in those else "cpu" for those in (ON_THE_GPU_SOONER, ON_THE_GPU))]
        if sides != expected:
            wrong.append(f"{place}: {query}: {sides} instead of {expected}")
    assert not wrong, "\n".join(wrong)
