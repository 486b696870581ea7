"""The graphs of the gallery (gallery_graphs.py), uploaded through PyGraphistry as anybody would plot them, and, by name,
others that only pictures are compared by.

Prints a JSON list of what there is: the name, the address of the page, the session that shows the graph, the theme it is
meant for (null for that of its own background), whether a filter hides some of it, how many discs stand for collapsed
nodes, and how it is compared (nodes, groups or bundled). Other scripts open these addresses (picture-difference.mjs,
gallery-pictures.mjs, beauty.mjs).

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

import gallery_graphs as graphs
from gallery_graphs import SEED, edges_of, rmat


def tree5k():
    """A random recursive tree of 5,000 nodes."""
    draw = np.random.default_rng(SEED)
    child = np.arange(1, 5_000)
    parent = (draw.random(child.size) * child).astype(int)
    edges = pd.DataFrame({"source": parent, "destination": child})
    nodes = pd.DataFrame({"id": np.arange(5_000), "title": [f"leaf {i}" for i in range(5_000)]})
    return graphistry.edges(edges, "source", "destination").nodes(nodes, "id").bind(point_title="title")


def rmat12():
    return rmat(12)


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


def islands():
    """Six communities of 60, of which two are collapsed."""
    graph = nx.planted_partition_graph(6, 60, 0.16, 0.002, seed=SEED)
    nodes = pd.DataFrame({"id": list(graph.nodes), "island": [v // 60 for v in graph.nodes]})
    return graphistry.edges(edges_of(graph), "source", "destination").nodes(nodes, "id")


def light():
    """Cliques in a ring, meant for the light theme, with colours of its edges."""
    graph = nx.connected_caveman_graph(16, 9)
    nodes = pd.DataFrame({"id": list(graph.nodes), "clique": [f"clique {v // 9}" for v in graph.nodes]})
    plot = graphistry.edges(edges_of(graph), "source", "destination").nodes(nodes, "id")
    return plot.encode_point_color("clique", categorical_mapping={f"clique {i}": c for i, c in enumerate(
        ["#327cb9", "#ef7a10", "#aa2914", "#977750", "#6537d9", "#a08de8", "#ca3894", "#4bad6d"] * 2)})


# What makes each graph, and the theme that its pictures are compared in; null: the background of its layout.
GALLERY = {
    "social": (graphs.social, "dark"), "debian": (graphs.debian, "dark"), "events": (graphs.events, "dark"),
    "tree": (graphs.tree, "dark"), "routes": (graphs.routes, "dark"), "rings": (graphs.rings, None),
    "fraud": (graphs.fraud, "light"), "rmat18": (graphs.rmat18, "dark"),
}
OTHERS = {
    "tree5k": (tree5k, "dark"), "rmat12": (rmat12, "dark"), "marked": (marked, "dark"), "demo": (None, "dark"),
    "light": (light, "light"), "islands": (islands, "dark"),
}
# What is hidden in a graph once its session is open: a step of its document.
FILTERS = {"marked": "risk > 0.1"}
# What is collapsed in a graph: other steps of its document.
COLLAPSED = {"islands": {"North": "island == 0", "South": "island == 3"}}
# How a graph is compared where that is not node by node alone: as communities from afar, or with bundled edges.
VIEWS = {"debian": ["nodes", "groups", "bundled"], "islands": ["nodes", "bundled"]}


def session_of(address, headers):
    """Opens the page as a browser would, and answers the session that it leads to."""
    r = requests.get(address, headers=headers, timeout=60)
    r.raise_for_status()
    return parse_qs(urlparse(r.url).query)["session"][0]


def change(server, session, headers, path, value):
    """Takes an entry into the document of a session, as a page that has it open does."""
    address = f"{server.replace('http', 'ws', 1)}/viz/{session}/ws"
    with connect(address, subprotocols=["graph-viz.v1"], max_size=None, ping_interval=None, additional_headers=headers) as page:
        hello = json.loads(page.recv(timeout=60))
        step = {"label": "gallery", "changes": [{"path": path, "value": value}]}
        where = f"{server}/viz/{session}/do?viewer={hello['viewer']}"
        r = requests.post(where, json=step, headers=headers, timeout=60)
    r.raise_for_status()
    assert r.json()["t"] == "done", r.text


def main(server, account, password, *names):
    where = urlparse(server)
    graphistry.register(api=3, protocol=where.scheme, server=where.netloc, username=account, password=password)
    headers = {"Authorization": f"Bearer {graphistry.api_token()}"}
    shown = []
    for name in names or GALLERY:
        make, theme = {**GALLERY, **OTHERS}[name]
        if make is None:
            address = f"{server}/graph/graph.html?dataset={name}"
        else:
            address = make().name(name).plot(render=False)
            address = f"{where.scheme}:{address}" if address.startswith("//") else address
        session = session_of(address, headers)
        if name in FILTERS:
            value = {"kind": "filter", "rule": {"expr": FILTERS[name]}}
            change(server, session, headers, "filters/gallery", value)
        for k, (disc, rule) in enumerate(COLLAPSED.get(name, {}).items()):
            change(server, session, headers, f"collapsed/g{k}", {"name": disc, "order": k, "rule": {"expr": rule}})
        shown.append({"name": name, "address": address, "session": session, "theme": theme, "filtered": name in FILTERS,
                      "collapsed": len(COLLAPSED.get(name, {})), "views": VIEWS.get(name, ["nodes"])})
    print(json.dumps(shown, indent=1))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
