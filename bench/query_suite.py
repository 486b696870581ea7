"""The reference's benchmark queries, on graphs made here.

Five workloads on random graphs (hops and chains), and the nine questions of the social-network benchmark (persons who
follow each other, live in cities of states of countries, and have interests). Each is asked of our engine in one
query; of the reference in whichever of its ways is fastest: its own Cypher, or a chain and data-frame steps behind it,
on its pandas and on its polars engine. Answers are compared before times are.
"""

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd


def random_graph(nodes, edges):
    rng = np.random.default_rng(0)
    v = pd.DataFrame({"id": np.arange(nodes), "kind": rng.choice(["x", "y", "z"], nodes), "score": rng.integers(0, 100, nodes)})
    e = pd.DataFrame({"src": rng.integers(0, nodes, edges), "dst": rng.integers(0, nodes, edges),
                      "rel": rng.choice(["r1", "r2", "r3"], edges)})
    return v, e


def social(persons):
    """Persons with 24 follows, one city and three interests each on average."""
    rng = np.random.default_rng(1)
    countries = ["United States", "United Kingdom", "Canada"]
    states, cities, interests = 60, 7_000, 41
    state_country = rng.integers(0, 3, states)
    city_state = rng.integers(0, states, cities)
    base = np.cumsum([0, persons, cities, states, 3, interests])

    def part(kind, i, n, **columns):
        return pd.DataFrame({"id": np.arange(n) + base[i], "type": kind, **columns})

    country = np.array(countries)
    v = pd.concat([
        part("Person", 0, persons, name=[f"person {i}" for i in range(persons)], gender=rng.choice(["female", "male"], persons),
             age=rng.integers(18, 80, persons).astype(float)),
        part("City", 1, cities, name=[f"city {i}" for i in range(cities)], country=country[state_country[city_state]]),
        part("State", 2, states, name=[f"state {i}" for i in range(states)], country=country[state_country]),
        part("Country", 3, 3, name=countries, country=countries),
        part("Interest", 4, interests, name=["fine dining", "photography", "tennis", *(f"interest {i}" for i in range(3, interests))]),
    ], ignore_index=True)

    def edges(kind, src, dst):
        return pd.DataFrame({"src": src, "dst": dst, "type": kind})

    follows = persons * 24
    # Few are followed by many.
    followed = (persons * rng.random(follows) ** 3).astype(np.int64)
    e = pd.concat([
        edges("FOLLOWS", rng.integers(0, persons, follows), followed),
        edges("LIVES_IN", np.arange(persons), base[1] + rng.integers(0, cities, persons)),
        edges("HAS_INTEREST", rng.integers(0, persons, persons * 3), base[4] + rng.integers(0, interests, persons * 3)),
        edges("CITY_IN", base[1] + np.arange(cities), base[2] + city_state),
        edges("STATE_IN", base[2] + np.arange(states), base[3] + state_country),
    ], ignore_index=True)
    return v, e


def node(**match):
    return {"type": "Node", "filter_dict": match} if match else {"type": "Node"}


def edge(hops=1, **match):
    step = {"type": "Edge", "direction": "forward", "hops": hops}
    return {**step, "edge_match": match} if match else step


WORKLOADS = {
    "1 hop from all": [node(), edge(), node()],
    "2 hops from all": [node(), edge(2), node()],
    "node, edge, node, filtered": [node(kind="x"), edge(rel="r1"), node()],
    "two edges, filtered": [node(kind="x"), edge(), node(), edge(), node()],
}

CITY = "city 17"
CYPHER = {
    "q1": "MATCH (f:Person)-[:FOLLOWS]->(p:Person) RETURN p.id AS id, p.name AS name, count(*) AS c ORDER BY c DESC, id LIMIT 3",
    "q2": "MATCH (f:Person)-[:FOLLOWS]->(p:Person) WITH p, count(*) AS c ORDER BY c DESC, p.id LIMIT 1 "
          "MATCH (p)-[:LIVES_IN]->(t:City) RETURN p.name AS name, t.name AS city, t.country AS country",
    "q3": "MATCH (p:Person)-[:LIVES_IN]->(t:City)-[:CITY_IN]->(:State)-[:STATE_IN]->(:Country {name: 'United States'}) "
          "RETURN t.name AS city, avg(p.age) AS age ORDER BY age, city LIMIT 5",
    "q4": "MATCH (p:Person)-[:LIVES_IN]->(:City)-[:CITY_IN]->(:State)-[:STATE_IN]->(c:Country) "
          "WHERE p.age >= 30 AND p.age <= 40 RETURN c.name AS country, count(*) AS persons ORDER BY persons DESC LIMIT 3",
    "q5": f"MATCH (p:Person {{gender: 'male'}})-[:HAS_INTEREST]->(:Interest {{name: 'fine dining'}}) "
          f"MATCH (p)-[:LIVES_IN]->(:City {{name: '{CITY}'}}) RETURN count(DISTINCT p) AS persons",
    "q6": "MATCH (p:Person {gender: 'female'})-[:HAS_INTEREST]->(:Interest {name: 'tennis'}) WITH DISTINCT p "
          "MATCH (p)-[:LIVES_IN]->(t:City) RETURN t.name AS city, count(*) AS persons ORDER BY persons DESC, city LIMIT 5",
    "q7": "MATCH (p:Person)-[:HAS_INTEREST]->(:Interest {name: 'photography'}) WHERE p.age >= 23 AND p.age <= 30 WITH DISTINCT p "
          "MATCH (p)-[:LIVES_IN]->(:City)-[:CITY_IN]->(s:State {country: 'United States'}) "
          "RETURN s.name AS state, count(*) AS persons ORDER BY persons DESC, state LIMIT 1",
    "q8": "MATCH (a:Person)-[:FOLLOWS]->(b:Person)-[:FOLLOWS]->(c:Person) RETURN count(*) AS paths",
    "q9": "MATCH (a:Person)-[:FOLLOWS]->(b:Person)-[:FOLLOWS]->(c:Person) WHERE b.age < 50 AND c.age > 25 RETURN count(*) AS paths",
}


def frames_of(g):
    """Pandas frames of a result."""
    frame = lambda f: f.to_pandas() if hasattr(f, "to_pandas") else f
    return frame(g._nodes), frame(g._edges)


def by_chains(name, g, engine):
    """A question answered by chains of the reference and data-frame steps; the frames are those of the engine."""
    from graphistry import between, e_forward, n
    chain = lambda *ops: g.gfql(list(ops), engine=engine)
    person, lives = n({"type": "Person"}), e_forward({"type": "LIVES_IN"})
    city_in, state_in = e_forward({"type": "CITY_IN"}), e_forward({"type": "STATE_IN"})
    follows = e_forward({"type": "FOLLOWS"})

    def rel(edges, kind):
        return edges[edges["type"] == kind][["src", "dst"]]

    def interested(match, interest):
        v, _ = frames_of(chain(n({"type": "Person", **match}), e_forward({"type": "HAS_INTEREST"}), n({"type": "Interest", "name": interest})))
        return v[v["type"] == "Person"][["id"]].rename(columns={"id": "src"})

    if name in ("q1", "q2"):
        v, e = frames_of(chain(person, follows, person))
        top = e.groupby("dst").size().reset_index(name="c").merge(v[["id", "name"]], left_on="dst", right_on="id")
        top = top.sort_values(["c", "id"], ascending=[False, True])
        if name == "q1":
            return top.head(3)[["id", "name", "c"]]
        v, e = frames_of(chain(n({"id": int(top["id"].iloc[0])}), lives, n({"type": "City"})))
        one = v[v["type"] == "Person"]["name"].iloc[0]
        return v[v["type"] == "City"].assign(person=one)[["person", "name", "country"]]
    if name == "q3":
        v, e = frames_of(chain(person, lives, n({"type": "City"}), city_in, n({"type": "State"}), state_in, n({"type": "Country", "name": "United States"})))
        m = rel(e, "LIVES_IN").merge(v[["id", "age"]], left_on="src", right_on="id").merge(v[["id", "name"]], left_on="dst", right_on="id")
        return m.groupby("name")["age"].mean().reset_index().sort_values(["age", "name"]).head(5)[["name", "age"]]
    if name == "q4":
        v, e = frames_of(chain(n({"type": "Person", "age": between(30, 40)}), lives, n({"type": "City"}), city_in, n({"type": "State"}), state_in,
                               n({"type": "Country"})))
        m = rel(e, "LIVES_IN").merge(rel(e, "CITY_IN"), left_on="dst", right_on="src", suffixes=("", "_c"))
        m = m.merge(rel(e, "STATE_IN"), left_on="dst_c", right_on="src", suffixes=("", "_s")).merge(v[["id", "name"]], left_on="dst_s", right_on="id")
        return m.groupby("name").size().reset_index(name="c").sort_values("c", ascending=False).head(3)
    if name == "q5":
        who = interested({"gender": "male"}, "fine dining")
        _, e = frames_of(chain(person, lives, n({"type": "City", "name": CITY})))
        return pd.DataFrame({"c": [len(who.merge(e[["src"]].drop_duplicates(), on="src"))]})
    if name == "q6":
        who = interested({"gender": "female"}, "tennis")
        v, e = frames_of(chain(person, lives, n({"type": "City"})))
        m = e[["src", "dst"]].merge(who, on="src").groupby("dst").size().reset_index(name="c").merge(v[["id", "name"]], left_on="dst", right_on="id")
        return m.sort_values(["c", "name"], ascending=[False, True]).head(5)[["name", "c"]]
    if name == "q7":
        who = interested({"age": between(23, 30)}, "photography")
        v, e = frames_of(chain(person, lives, n({"type": "City"}), city_in, n({"type": "State", "country": "United States"})))
        m = rel(e, "LIVES_IN").merge(who, on="src").merge(rel(e, "CITY_IN"), left_on="dst", right_on="src", suffixes=("", "_c"))
        m = m.groupby("dst_c").size().reset_index(name="c").merge(v[["id", "name"]], left_on="dst_c", right_on="id")
        return m.sort_values(["c", "name"], ascending=[False, True]).head(1)[["name", "c"]]
    v, e = frames_of(g)
    e = rel(e, "FOLLOWS")
    into, out = e, e
    if name == "q9":
        ages = v[["id", "age"]]
        young, old = ages[ages["age"] < 50][["id"]], ages[ages["age"] > 25][["id"]]
        into, out = e.merge(young, left_on="dst", right_on="id"), e.merge(old, left_on="dst", right_on="id")
    m = into.groupby("dst").size().rename("i").to_frame().merge(out.groupby("src").size().rename("o").to_frame(), left_index=True, right_index=True)
    return pd.DataFrame({"c": [int((m["i"] * m["o"]).sum())]})


def rows(frame):
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    round_ = lambda x: round(x, 9) if isinstance(x, float) else x
    return [tuple(round_(x) for x in row) for row in frame.itertuples(index=False)]


def ours(args, v_path, e_path, text):
    """The rows of a Cypher query, from the command line."""
    import io
    import subprocess
    got = subprocess.run([args.bin, "query", e_path, "--nodes", v_path, "--node", "id", "--source", "src", "--destination", "dst",
                          "--cypher", text, "--output", "nodes"], capture_output=True, check=True, text=True)
    return pd.read_csv(io.StringIO(got.stdout))


def clocked(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def run(args, engine, load):
    import graphistry
    import polars as pl
    lines = [f"### The reference's benchmark queries, wall milliseconds (load {load()})", "",
             "| graph | query | rows | engine | GFQL pandas | GFQL polars | by | fastest / engine | least |",
             "|---|---|---|---|---|---|---|---|---|"]

    def row(graph, name, asked, ways, v_path, e_path, same):
        """`ways`: {label: work}; the fastest of those that work counts."""
        ask = lambda: engine(args, e_path, [asked], 7, nodes=v_path)[name]
        got, usable = ask(), {}
        for label, work in ways.items():
            try:
                result = work()
            except Exception as e:  # noqa: BLE001: what the reference cannot do is not timed
                print(f"{graph} {name}: {label}: {type(e).__name__} {str(e)[:90]}", flush=True)
                continue
            if same(result, got):
                usable[label] = work
            else:
                print(f"{graph} {name}: {label}: another answer", flush=True)
        # The speed of a machine that is shared changes within seconds: the engine is asked before and after each round
        # of the others, and a ratio is that of one round.
        rounds = []
        for _ in range(args.rounds):
            before = ask()["p50"]
            took = {label: clocked(work) for label, work in usable.items()}
            rounds.append(((before + ask()["p50"]) / 2, took))
        ms = 1e3 * statistics.median(own for own, _ in rounds)
        best = {label: 1e3 * statistics.median(took[label] for _, took in rounds) for label in usable}
        of = lambda kind: min((t for label, t in best.items() if label.startswith(kind)), default=None)
        show = lambda t: "-" if t is None else f"{t:.1f}"
        whole = min(best, key=best.get) if best else None
        ratios = [took[whole] / own for own, took in rounds] if whole else []
        ratio = f"{statistics.median(ratios):.0f} | {min(ratios):.0f}" if whole else "- | -"
        lines.append(f"| {graph} | {name} | {got['size'][0]:,} | {ms:.2f} | {show(of('pandas'))} | {show(of('polars'))} | "
                     f"{whole.split()[1] if whole else '-'} | {ratio} |")
        print(lines[-1], flush=True)

    with tempfile.TemporaryDirectory() as tmp:
        v_path, e_path = Path(tmp) / "v.parquet", Path(tmp) / "e.parquet"

        def graphs(v, e):
            v.to_parquet(v_path)
            e.to_parquet(e_path)
            return {"pandas": graphistry.nodes(v, "id").edges(e, "src", "dst"),
                    "polars": graphistry.nodes(pl.from_pandas(v), "id").edges(pl.from_pandas(e), "src", "dst")}

        for n_nodes, n_edges in ((10_000, 50_000), (100_000, 500_000)):
            gs = graphs(*random_graph(n_nodes, n_edges))
            for name, wire in WORKLOADS.items():
                from graphistry.compute.ast import from_json
                ops = [from_json(op) for op in wire]
                ways = {f"{k} chain": (lambda g=g, k=k: g.gfql(ops, engine=k)) for k, g in gs.items()}
                same = lambda r, got: [len(r._nodes), len(r._edges)] == got["size"]
                row(f"random {n_edges:,}", name, {"name": name, "gfql": wire}, ways, v_path, e_path, same)
        for persons in map(int, args.scales.split(",")):
            v, e = social(persons)
            gs = graphs(v, e)
            for name, text in CYPHER.items():
                want = rows(ours(args, v_path, e_path, text))
                ways = {}
                for k, g in gs.items():
                    ways[f"{k} Cypher"] = lambda g=g, k=k: g.gfql(text, engine=k)._nodes
                    ways[f"{k} chains"] = lambda g=g, k=k: by_chains(name, g, k)
                row(f"social {persons:,}", name, {"name": name, "cypher": text}, ways, v_path, e_path, lambda r, _: rows(r) == want)
    return lines
