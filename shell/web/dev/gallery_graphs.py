"""The eight graphs of the gallery as anybody would plot them with PyGraphistry; gallery/README.md says where they come from."""

import subprocess
import sys
from pathlib import Path

import graphistry
import networkx as nx
import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[3]
SEED = 20
LAST_RING = 5


def edges_of(graph):
    return pd.DataFrame(list(graph.edges()), columns=["source", "destination"])


def social():
    """Les Misérables (Knuth, The Stanford GraphBase, 1993): 77 characters, by the chapters that they share."""
    graph = nx.les_miserables_graph()
    rows = [(a, b, d["weight"]) for a, b, d in graph.edges(data=True)]
    edges = pd.DataFrame(rows, columns=["source", "destination", "chapters"])
    nodes = pd.DataFrame({"id": list(graph.nodes)})
    plot = graphistry.edges(edges, "source", "destination").nodes(nodes, "id")
    return plot.bind(point_title="id", edge_weight="chapters")


def packages():
    """Packages of this machine's Debian release and what each depends on: tables of packages and of dependencies."""
    sys.path.insert(0, str(ROOT / "bench/data"))
    from debian_graph import build

    index = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout
    if index.count("\nPackage:") < 1_000:
        sys.exit("the package index is empty: run `apt-get update` first")
    return build(index)


def debian():
    nodes, edges = packages()
    return graphistry.edges(edges, "package", "depends_on").nodes(nodes, "package").bind(point_title="package")


def rings():
    """What the package inkscape needs, on rings by the number of steps to it."""
    nodes, edges = packages()
    needs = edges[edges["kind"] != "recommends"].groupby("package")["depends_on"].agg(list).to_dict()
    step = {"inkscape": 0}
    queue = ["inkscape"]
    for name in queue:
        for other in needs.get(name, []):
            if other not in step:
                step[other] = step[name] + 1
                queue.append(other)
    nodes = nodes[nodes["package"].isin(step)].copy()
    # Few are further away: they share the last ring.
    nodes["steps"] = nodes["package"].map(step).clip(upper=LAST_RING)
    inside = edges[edges["package"].isin(step) & edges["depends_on"].isin(step) & (edges["kind"] != "recommends")]
    plot = graphistry.edges(inside, "package", "depends_on").nodes(nodes, "package").bind(point_title="package")
    between = {k: f"{k} steps" for k in range(2, LAST_RING)}
    names = {0: "inkscape", 1: "1 step", **between, LAST_RING: f"{LAST_RING} steps or more"}
    return plot.ring_categorical_layout("steps", order=list(names), axis=names, min_r=60, max_r=900)


def tree():
    """The folders and files of Graphlume itself."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = {Path("graphlume") / line for line in listed.splitlines()}
    parents = {folder for path in paths for folder in path.parents if folder != Path(".")}
    everything = sorted(paths | parents)
    edges = pd.DataFrame(
        [(str(path.parent), str(path)) for path in everything if path != Path("graphlume")], columns=["folder", "entry"]
    )
    nodes = pd.DataFrame({"path": [str(p) for p in everything], "name": [p.name for p in everything]})
    folders = {path for path in parents if len(path.parts) == 2}
    part = [next((a.name for a in (p, *p.parents) if a in folders), "graphlume") for p in everything]
    nodes["part"] = part
    plot = graphistry.edges(edges, "folder", "entry").nodes(nodes, "path").bind(point_title="name")
    return plot.encode_point_color("part", palette=PALETTE, as_categorical=True)


PALETTE = ["#5aa9ff", "#ffb14a", "#2fd39a", "#ff7f73", "#b58cff", "#ffd84d", "#4dd6e8", "#ff8ad1", "#a3d65c", "#9aa4b5"]


def events():
    """A log of 600 logins as a hypergraph: events, and the accounts, machines and addresses that they name."""
    draw = np.random.default_rng(SEED)
    count = 600
    people = ["amara", "bruno", "chen", "dagny", "elif", "farid", "greta", "hana", "ivan", "jonas", "kofi", "lena",
              "mateo", "nadia", "omar", "priya", "quinn", "rosa", "sven", "tomas", "uma", "vera", "wei", "yara"]
    team = np.arange(len(people)) % 4
    share = 1 / (1 + draw.permutation(len(people)) % 6)
    who = draw.choice(len(people), count, p=share / share.sum())
    # Most people use machines and addresses of their team; few wander.
    group = np.where(draw.random(count) < 0.9, team[who], draw.integers(0, 4, count))
    log = pd.DataFrame({
        "account": [people[i] for i in who],
        "machine": [f"{('build', 'mail', 'web', 'desk')[g]}-{draw.integers(1, 7):02}" for g in group],
        "address": [f"10.{g}.{draw.integers(0, 3)}.{draw.integers(1, 9)}" for g in group],
    })
    return graphistry.hypergraph(log, ["account", "machine", "address"], direct=False, verbose=False)["graph"]


def routes():
    """Air routes between cities of the world, drawn by a gravity model: people of both over the distance."""
    cities = pd.read_csv(ROOT / "shell/web/gallery/cities.csv", keep_default_na=False)
    draw = np.random.default_rng(SEED)
    lat, lon = np.radians(cities["lat"].to_numpy()), np.radians(cities["lon"].to_numpy())
    dot = np.sin(lat)[:, None] * np.sin(lat) + np.cos(lat)[:, None] * np.cos(lat) * np.cos(lon[:, None] - lon)
    km = 6_371 * np.arccos(np.clip(dot, -1, 1))
    people = cities["people"].to_numpy() ** 0.7
    pull = np.triu(people[:, None] * people / np.maximum(km, 400) ** 0.9, 1)
    odds = (pull / pull.sum()).ravel()
    chosen = draw.choice(odds.size, size=520, replace=False, p=odds)
    a, b = np.unravel_index(chosen, pull.shape)
    edges = pd.DataFrame({"source": cities["city"].to_numpy()[a], "destination": cities["city"].to_numpy()[b]})
    edges["km"] = km[a, b].round()
    plot = graphistry.edges(edges, "source", "destination").nodes(cities, "city")
    plot = plot.bind(point_title="city", point_longitude="lon", point_latitude="lat")
    regions = dict(zip(["Europe", "Africa", "Asia", "Oceania", "North America", "South America"], PALETTE))
    return plot.encode_point_color("region", categorical_mapping=regions, default_mapping="#9aa4b5").mercator_layout()


def fraud():
    """Payments of 90 accounts, of which a ring of nine shares two devices and passes money around; made up."""
    draw = np.random.default_rng(SEED)
    accounts = [f"account {1_000 + i}" for i in range(90)]
    shops = ["bakery", "cinema", "florist", "garage", "grocer", "hotel", "pharmacy", "taxi", "travel", "toys"]
    rows, nodes = [], [(a, "account", "ordinary") for a in accounts]
    nodes += [(s, "shop", "ordinary") for s in shops]
    taste = draw.dirichlet(np.full(len(shops), 0.5), len(accounts))
    for i, account in enumerate(accounts):
        device = f"phone {100 + i // 2}"
        rows.append((account, device, "uses", 0.0))
        if i % 2 == 0:
            nodes.append((device, "phone", "ordinary"))
        for shop in draw.choice(shops, size=2, replace=False, p=taste[i] * 0.98 + 0.02 / len(shops)):
            rows.append((account, shop, "pays", float(draw.lognormal(3.5, 0.8))))
    ring = [f"account {2_000 + i}" for i in range(9)]
    nodes += [(a, "account", "reported") for a in ring]
    nodes += [("laptop 7", "laptop", "reported"), ("laptop 8", "laptop", "reported"), ("bank X", "bank", "reported")]
    for i, account in enumerate(ring):
        rows.append((account, f"laptop {7 + i % 2}", "uses", 0.0))
        rows.append((account, ring[(i + 1) % 9], "transfers", 4_000.0 + 100 * i))
        rows.append((account, ring[(i + 4) % 9], "transfers", 2_000.0 + 100 * i))
        rows.append((accounts[7 * i], account, "transfers", 900.0))
        if i % 3 == 0:
            rows.append((account, "bank X", "transfers", 9_500.0))
    edges = pd.DataFrame(rows, columns=["payer", "payee", "kind", "amount"])
    table = pd.DataFrame(nodes, columns=["id", "type", "state"])
    edges["amount"] = edges["amount"].round(2)
    icons = {"account": "user", "shop": "shopping-cart", "phone": "mobile", "laptop": "laptop", "bank": "university"}
    plot = graphistry.edges(edges, "payer", "payee").nodes(table, "id").bind(point_title="id")
    plot = plot.encode_point_color("state", categorical_mapping={"ordinary": "#5aa9ff", "reported": "#ff4d6d"})
    plot = plot.encode_edge_color("kind", categorical_mapping={"uses": "#8d99ae", "pays": "#5aa9ff", "transfers": "#ffb14a"})
    sizes = {"account": 26, "shop": 44, "phone": 20, "laptop": 44, "bank": 50}
    plot = plot.encode_point_size("type", categorical_mapping=sizes, default_mapping=20)
    return plot.encode_point_icon("type", categorical_mapping=icons, shape="circle")


def rmat18():
    return rmat(18)


def rmat(scale):
    """R-MAT (Chakrabarti, Zhan and Faloutsos, SDM 2004): sixteen edges for each of 2^scale ids."""
    draw = np.random.default_rng(SEED)
    ends = np.zeros((2, 16 << scale), dtype=np.int64)
    for _ in range(scale):
        # Quarters of the matrix by 0.57, 0.19, 0.19 and 0.05.
        u = draw.random(ends.shape[1])
        quarter = np.searchsorted([0.57, 0.76, 0.95], u)
        ends = 2 * ends + np.array([quarter // 2, quarter % 2])
    edges = pd.DataFrame({"source": ends[0], "destination": ends[1]})
    return graphistry.edges(edges, "source", "destination")
