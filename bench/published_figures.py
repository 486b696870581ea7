"""The figures that README and the documents state: what each is, how it is measured, and the paths that it depends on.

`how` is a function of published_measures.py with its arguments, or None where a browser or a card measures: such a figure
is read from `record`, a kept file, by its `key`; `command` makes the record anew, and `machine` is what it was made on.
"""

from dataclasses import dataclass

GRAPH = "engine/graph/src"
ALGO = "engine/algo/src"
LAYOUT = (GRAPH, f"{ALGO}/layout/force_atlas2", f"{ALGO}/layout/initial_layout", f"{ALGO}/layout/initial_layout.rs")
RANKS = (GRAPH, f"{ALGO}/power.rs", *(f"{ALGO}/centrality/{name}.rs" for name in ("pagerank", "rows")))
ARCS = (GRAPH, f"{ALGO}/weighted_graph.rs", f"{ALGO}/tally.rs")
LOUVAIN = (*ARCS, f"{ALGO}/community/louvain")
LEIDEN = (*ARCS, f"{ALGO}/view", *(f"{ALGO}/community/{name}" for name in ("leiden", "moving.rs", "network.rs")))
READING = ("engine/ingest/src", "engine/table/src", "engine/types/src")
STORE = (GRAPH, "engine/expr/src", "engine/store/src")
GFQL = (*STORE, "engine/gfql/src")
CYPHER = (*STORE, "engine/cypher/src")
SERVER = ("shell/http/src", "shell/service/src", "engine/core/src")
PAGE = ("shell/web/src", "engine/scene/src")
PAGE_RECORD = "bench/results/2026-11-27-page-peers.jsonl"
PAGE_COMMAND = f"GRAPHLUME_BIN=graphlume node shell/web/bench/peers/run.mjs {PAGE_RECORD}"
PAGE_MACHINE = {"cpu": "AMD EPYC without a graphics card, shared with other work", "cores": 2}
COMMUNITY_GRAPHS = (("rmat16", "R-MAT 16"), ("rmat18", "R-MAT 18"), ("lfr", "LFR 100,000"), ("planted", "planted partition 100,000"))


@dataclass(frozen=True)
class Figure:
    """One row of a table: `row` is its first cell, `unit` follows the value."""

    name: str
    row: str
    unit: str
    paths: tuple
    how: tuple | None = None
    record: str = ""
    key: str = ""
    command: str = ""
    machine: dict | None = None


def communities(name, words, paths):
    """A search for communities on each of the four graphs."""
    return [Figure(f"{name}_{short}", f"{words}, {graph}", "CPU ms", paths, ("communities", name, graph))
            for short, graph in COMMUNITY_GRAPHS]


def page(name, row, key):
    """A figure of the page beside others, in a browser without a graphics card."""
    return Figure(name, f"the page of 100 k nodes and 300 k edges without a graphics card: {row}", "CPU s", PAGE, None,
                  PAGE_RECORD, key, PAGE_COMMAND, PAGE_MACHINE)


FIGURES = [
    Figure("fa2", "ForceAtlas2, 100 k nodes and 0.9 M edges, an iteration", "CPU ms", LAYOUT, ("force_atlas2",)),
    Figure("fa2_rate", "ForceAtlas2, the same graph, on two threads", "iterations a second", LAYOUT, ("force_atlas2_rate",)),
    Figure("fa2_settled", "ForceAtlas2 until the picture stands, LFR 60,000 (517 k edges)", "CPU s", LAYOUT, ("settled", "lfr60k")),
    Figure("fa2_stress", "ForceAtlas2, stress of 10 k nodes after 300 iterations, from the start of the exact forces", "", LAYOUT,
           ("stress",)),
    Figure("pagerank", "PageRank, R-MAT 16 (1 M arcs), to 1e-6", "CPU ms", RANKS, ("pagerank",)),
    *communities("louvain", "Louvain", LOUVAIN),
    *communities("leiden", "Leiden", LEIDEN),
    Figure("read_csv", "reading a table of six columns: CSV, 1 M rows", "CPU ms", READING, ("reading", "csv")),
    Figure("read_parquet", "the same table from Parquet", "CPU ms", READING, ("reading", "parquet")),
    Figure("read_jsonl", "the same table from JSON lines", "CPU ms", READING, ("reading", "jsonl")),
    Figure("read_records", "the same table from a JSON array of records", "CPU ms", READING, ("reading", "records")),
    Figure("read_orc", "the same table from ORC", "CPU ms", READING, ("reading", "orc")),
    Figure("read_xlsx", "100,000 rows of that table from Excel", "CPU ms", READING, ("reading", "xlsx")),
    Figure("social", "nine questions in Cypher about 100,000 persons, geometric mean (and the one with the least ratio)", "CPU ms",
           CYPHER, ("social",)),
    Figure("hops", "the neighbourhood of a node, 2 hops, 16 M edges: in the engine, median", "µs", GFQL, ("hops",)),
    Figure("hops_http", "2 hops over HTTP, 4 M edges, 8 clients: median of a request", "ms", (*GFQL, *SERVER), ("hops_http",)),
    Figure("upload_csv", "one million edges as a CSV of 45 MB: upload to first positions on the socket", "s",
           (*READING, *LAYOUT, *SERVER), ("upload", "csv")),
    Figure("upload_arrow", "the same edges as Arrow: upload to first positions", "s", (*READING, *LAYOUT, *SERVER), ("upload", "arrow")),
    page("page_first", "first picture", "firstCpuMs"),
    page("page_update", "new positions", "updateCpuMs"),
    page("page_pan", "a frame of a pan", "panCpuMs"),
    Figure("memory", "memory of a resident graph, both directions, R-MAT 16", "bytes an edge", (GRAPH,), ("memory",)),
]
