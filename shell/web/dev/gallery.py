"""The graphs of the gallery, uploaded through PyGraphistry as anybody would plot them.

Prints a JSON list of what there is: the name, the address of the page, the session that shows the graph, the theme it is
meant for (null for that of its own background), and whether a filter hides some of it. Other scripts open these addresses (picture-difference.mjs).

Usage: gallery.py <address of the server> <account> <password> [name...]
Needs graphistry, networkx, numpy, pandas, requests and websockets.
"""

import json
import sys
from urllib.parse import parse_qs, urlparse

import graphistry
import networkx as nx
import numpy as np
import pandas as pd
import requests
from websockets.sync.client import connect

SEED = 20


def edges_of(graph):
    return pd.DataFrame(list(graph.edges()), columns=["source", "destination"])


def social():
    """Les Misérables (Knuth, The Stanford GraphBase, 1993): 77 nodes."""
    graph = nx.les_miserables_graph()
    nodes = pd.DataFrame({"id": list(graph.nodes)})
    return graphistry.edges(edges_of(graph), "source", "destination").nodes(nodes, "id").bind(point_title="id")


def tree():
    """A random recursive tree of 5,000 nodes."""
    draw = np.random.default_rng(SEED)
    child = np.arange(1, 5_000)
    parent = (draw.random(child.size) * child).astype(int)
    edges = pd.DataFrame({"source": parent, "destination": child})
    nodes = pd.DataFrame({"id": np.arange(5_000), "title": [f"leaf {i}" for i in range(5_000)]})
    return graphistry.edges(edges, "source", "destination").nodes(nodes, "id").bind(point_title="title")


def events():
    """A log of 400 logins as a hypergraph: events, and the accounts, machines and addresses that they name."""
    draw = np.random.default_rng(SEED)
    count = 400
    log = pd.DataFrame({
        "account": [f"user{i}" for i in draw.zipf(1.6, count) % 40],
        "machine": [f"host{i}" for i in draw.integers(0, 25, count)],
        "address": [f"10.0.{i // 16}.{i % 16}" for i in draw.integers(0, 60, count)],
    })
    return graphistry.hypergraph(log, ["account", "machine", "address"], direct=False, verbose=False)["graph"]


def ring():
    """300 nodes by age on rings, as ring_continuous_layout of the client places them."""
    draw = np.random.default_rng(SEED)
    nodes = pd.DataFrame({"id": np.arange(300), "age": draw.integers(0, 100, 300).astype(float)})
    edges = pd.DataFrame({"source": draw.integers(0, 300, 500), "destination": draw.integers(0, 300, 500)})
    plot = graphistry.edges(edges, "source", "destination").nodes(nodes, "id")
    return plot.ring_continuous_layout(ring_col="age", num_rings=6)


def rmat():
    """R-MAT 12 (Chakrabarti, Zhan and Faloutsos, SDM 2004): 65,536 edges among 4,096 ids."""
    draw = np.random.default_rng(SEED)
    scale, count = 12, 16 << 12
    ends = np.zeros((2, count), dtype=int)
    for _ in range(scale):
        quarter = draw.choice(4, size=count, p=[0.57, 0.19, 0.19, 0.05])
        ends = 2 * ends + np.array([quarter // 2, quarter % 2])
    edges = pd.DataFrame({"source": ends[0], "destination": ends[1]})
    return graphistry.edges(edges, "source", "destination")


def marked():
    """Communities of 1,200 nodes with risks, of which a collection and a filter are made."""
    graph = nx.powerlaw_cluster_graph(1_200, 2, 0.6, seed=SEED)
    draw = np.random.default_rng(SEED)
    nodes = pd.DataFrame({"id": list(graph.nodes), "risk": draw.random(1_200).round(3)})
    plot = graphistry.edges(edges_of(graph), "source", "destination").nodes(nodes, "id")
    rule = [{"type": "Node", "filter_dict": {"risk": {"type": "GT", "val": 0.8}}}]
    marks = [{"type": "set", "id": "risky", "name": "risky", "node_color": "#ff4d6d",
              "expr": {"type": "gfql_chain", "gfql": rule}}]
    return plot.settings(url_params={"collections": json.dumps(marks)})


def light():
    """Cliques in a ring, meant for the light theme, with colours of its edges."""
    graph = nx.connected_caveman_graph(16, 9)
    nodes = pd.DataFrame({"id": list(graph.nodes), "clique": [f"clique {v // 9}" for v in graph.nodes]})
    plot = graphistry.edges(edges_of(graph), "source", "destination").nodes(nodes, "id")
    return plot.encode_point_color("clique", categorical_mapping={f"clique {i}": c for i, c in enumerate(
        ["#327cb9", "#ef7a10", "#aa2914", "#977750", "#6537d9", "#a08de8", "#ca3894", "#4bad6d"] * 2)})


GRAPHS = {
    "social": (social, "dark"), "tree": (tree, "dark"), "events": (events, "dark"), "ring": (ring, None),
    "rmat12": (rmat, "dark"), "marked": (marked, "dark"), "demo": (None, "dark"), "light": (light, "light"),
}
# What is hidden in a graph once its session is open: a step of its document.
FILTERS = {"marked": "risk > 0.1"}


def session_of(address, headers):
    """Opens the page as a browser would, and answers the session that it leads to."""
    r = requests.get(address, headers=headers, timeout=60)
    r.raise_for_status()
    return parse_qs(urlparse(r.url).query)["session"][0]


def hide(server, session, headers, expression):
    """Takes a filter into the document of a session, as a page that has it open does."""
    address = f"{server.replace('http', 'ws', 1)}/viz/{session}/ws"
    with connect(address, subprotocols=["graph-viz.v1"], max_size=None, additional_headers=headers) as page:
        hello = json.loads(page.recv(timeout=60))
        value = {"kind": "filter", "rule": {"expr": expression}}
        step = {"label": "filter", "changes": [{"path": "filters/gallery", "value": value}]}
        where = f"{server}/viz/{session}/do?viewer={hello['viewer']}"
        r = requests.post(where, json=step, headers=headers, timeout=60)
    r.raise_for_status()
    assert r.json()["t"] == "done", r.text


def main(server, account, password, *names):
    where = urlparse(server)
    graphistry.register(api=3, protocol=where.scheme, server=where.netloc, username=account, password=password)
    headers = {"Authorization": f"Bearer {graphistry.api_token()}"}
    shown = []
    for name in names or GRAPHS:
        make, theme = GRAPHS[name]
        if make is None:
            address = f"{server}/graph/graph.html?dataset={name}"
        else:
            address = make().name(name).plot(render=False)
            address = f"{where.scheme}:{address}" if address.startswith("//") else address
        session = session_of(address, headers)
        if name in FILTERS:
            hide(server, session, headers, FILTERS[name])
        shown.append({"name": name, "address": address, "session": session, "theme": theme, "filtered": name in FILTERS})
    print(json.dumps(shown, indent=1))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
