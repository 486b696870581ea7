"""The server with a GPU, to which every pattern goes that has a form for it, against the client's own query engine: random
graphs and random chains, as test_gfql_oracle.py draws them. The driver is the emulated one."""

import os
import random

import graphistry
import pytest

import gfql_cases
from conftest import PASSWORD, Server
from test_gpu import ALL, driver

# Each is a dataset of its own: uploaded, asked twice, compared. scripts/long.sh asks the engine for many more without a GPU.
CASES = int(os.environ.get("GRAPHLUME_GPU_ORACLE_CASES", "40"))
SEED = os.environ["GRAPHLUME_ORACLE_SEED"]


def numbers_only(test):
    """Filters of numbers and truths; texts of small tables have no numbers by which a GPU could test them."""
    return {column: value for column, value in test.items() if column in ("size", "rate", "on", "w", "no")}


def without_texts(case, rng):
    """The chain with what a GPU tests; a step that loses all of its tests gets one of numbers."""
    for step in case["query"]["chain"]:
        for field in ("filter_dict", "edge_match", "source_node_match", "destination_node_match"):
            if not step.get(field):
                continue
            own = {"w": {"type": "GE", "val": rng.randint(0, 3)}} if field == "edge_match" else {"size": {"type": "LE", "val": rng.randint(1, 6)}}
            step[field] = numbers_only(step[field]) or own
        for field in ("query", "edge_query", "source_node_query", "destination_node_query"):
            step.pop(field, None)
    return case


@pytest.mark.filterwarnings("ignore")
def test_chains_on_the_gpu_agree_with_the_client(tmp_path):
    server = Server(tmp_path / "data", *ALL, env=driver()).start()
    try:
        graphistry.register(api=3, protocol="http", server=server.server, username="admin", password=PASSWORD)
        reference, wrong, asked, number = gfql_cases.Reference(), [], 0, 0
        while asked < CASES:
            nodes, edges, case = gfql_cases.make_case(SEED, number, "chain")
            number += 1
            if nodes is None or len(edges) == 0:
                continue
            case = without_texts(case, random.Random(f"{SEED}/{number}"))
            theirs = reference.run(nodes, edges, case)
            if "error" in theirs:
                continue
            asked += 1
            graph = graphistry.nodes(nodes, "key").edges(edges, "from", "to").upload(validate=False)
            found = graph.gfql_remote(case["query"])
            differs = gfql_cases.difference(case, {"nodes": found._nodes, "edges": found._edges}, theirs)
            if differs:
                wrong.append(f"case {number - 1}: {differs[0]}: {differs[1]}\n  {case}")
        assert not wrong, f"{len(wrong)} of {asked} differ with GRAPHLUME_ORACLE_SEED={SEED}:\n" + "\n".join(wrong[:5])
        api = server.api()
        plan = api("POST", f"/api/v2/etl/datasets/{graph._dataset_id}/gfql/nodes",
                   json={"gfql_operations": [{"type": "Edge", "direction": "forward"}], "format": "json", "explain": True})
        assert plan.status_code == 200 and "the pattern on the GPU" in plan.text, plan.text
        # A dataset's graph is copied once, by the first pattern that runs there. Hop numbers are left to the CPU.
        copies = server.metric("device_uploads_total")
        assert copies > asked / 3, f"{copies} of {asked} ran on the GPU"
    finally:
        assert server.stop() == 0, server.output()
