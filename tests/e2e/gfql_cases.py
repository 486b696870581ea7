"""Random property graphs and random queries, and the comparison of two engines' answers.

A case is made from (seed, number) alone, so a failing one is repeated by its two numbers.
"""

import collections
import json
import math
import random
import re
import subprocess
import warnings
from pathlib import Path

import pandas as pd
import pyarrow as pa

KINDS = ["host", "user", "file"]
RELATIONS = ["reads", "owns", "calls"]
TEXTS = ["ann", "Ann", "bob", "b.b", "42", "carl", "x y", "Carla"]


def pick_some(rng, make, count, null_share):
    return [None if rng.random() < null_share else make() for _ in range(count)]


def make_graph(rng):
    """Node and edge frames; loops, parallel edges, ends without a node, and sometimes no node table."""
    count = rng.randint(1, 9)
    ids = [i * 3 for i in range(count)] if rng.random() < 0.5 else [f"v{i}" for i in range(count)]
    null_share = rng.choice([0, 0.3])
    nodes = pd.DataFrame({
        "key": ids,
        "kind": [rng.choice(KINDS) for _ in ids],
        "size": [rng.randint(0, 6) for _ in ids],
        "rate": pd.Series(pick_some(rng, lambda: rng.randint(0, 9) / 2, count, null_share), dtype="float64"),
        "label": pd.Series(pick_some(rng, lambda: rng.choice(TEXTS), count, null_share), dtype="object"),
        "on": [rng.random() < 0.5 for _ in ids],
        "at": pd.to_datetime([f"2023-{rng.randint(1, 12):02d}-{rng.choice([1, 9, 28])}T0{rng.randint(0, 9)}:00:00" for _ in ids]),
    })
    ends = list(ids)
    if rng.random() < 0.25:
        ends += [1000, 1001] if isinstance(ids[0], int) else ["w0", "w1"]
    pairs = []
    for _ in range(rng.randint(0, 14)):
        a = rng.choice(ends)
        pairs.append((a, a if rng.random() < 0.1 else rng.choice(ends)))
        if rng.random() < 0.15:
            pairs.append(pairs[-1])
    edges = pd.DataFrame({
        "from": pd.Series([a for a, _ in pairs], dtype=nodes["key"].dtype),
        "to": pd.Series([b for _, b in pairs], dtype=nodes["key"].dtype),
        "no": pd.Series(range(len(pairs)), dtype="int64"),
        "rel": pd.Series([rng.choice(RELATIONS) for _ in pairs], dtype="object"),
        "w": pd.Series([rng.randint(0, 4) for _ in pairs], dtype="int64"),
        "tag": pd.Series(pick_some(rng, lambda: rng.choice(TEXTS), len(pairs), null_share), dtype="object"),
    })
    return (None if pairs and rng.random() < 0.08 else nodes), edges


def number_test(rng, top):
    value, other = rng.randint(0, top), rng.randint(0, top)
    return rng.choice([
        value,
        [value, other],
        {"type": rng.choice(["GT", "LT", "GE", "LE", "EQ", "NE"]), "val": value},
        {"type": "Between", "lower": min(value, other), "upper": max(value, other), "inclusive": rng.random() < 0.5},
        {"type": "IsIn", "options": [value, other]},
        {"type": "AllOf", "predicates": [{"type": "GE", "val": min(value, other)}, {"type": "NE", "val": value}]},
    ])


def text_test(rng):
    text, part = rng.choice(TEXTS), rng.choice(["a", "A", "b", ".", "4", "r"])
    case, na = rng.random() < 0.6, rng.choice([None, False, True])
    return rng.choice([
        text,
        rng.sample(TEXTS, 2),
        {"type": rng.choice(["EQ", "NE", "LT", "GE"]), "val": text},
        {"type": "IsIn", "options": rng.sample(TEXTS, 2)},
        {"type": "Contains", "pat": part, "case": case, "na": na, "regex": rng.random() < 0.5},
        {"type": rng.choice(["Startswith", "Endswith"]), "pat": part, "case": case, "na": na},
        {"type": "Startswith", "pat": rng.sample(["a", "b", "C"], 2), "na": False},
        {"type": rng.choice(["Match", "Fullmatch"]), "pat": rng.choice(["[a-c]+", "A.*", r"\d+", "b|carl"]), "case": case, "na": False},
        {"type": rng.choice(["IsNA", "NotNA", "IsNull", "NotNull"])},
    ])


def time_test(rng):
    moment = {"type": "datetime", "value": "2023-06-09T03:00:00", "timezone": "UTC"}
    return rng.choice([
        {"type": rng.choice(["GT", "LT", "GE", "LE"]), "val": moment},
        {"type": rng.choice(["EQ", "GE", "LT"]), "val": {"type": "date", "value": "2023-06-09"}},
        {"type": rng.choice(["GE", "LT"]), "val": {"type": "time", "value": "05:00:00"}},
        {"type": rng.choice(["IsMonthStart", "IsMonthEnd", "IsQuarterStart", "IsLeapYear"])},
    ])


def node_filter(rng, nodes, share=0.5):
    if nodes is None or rng.random() > share:
        return {}
    tests = {
        "kind": lambda: rng.choice([rng.choice(KINDS), rng.sample(KINDS, 2), {"type": "NE", "val": "host"}]),
        "size": lambda: number_test(rng, 6),
        "rate": lambda: rng.choice([number_test(rng, 4), {"type": rng.choice(["IsNA", "NotNA"])}]),
        "label": lambda: text_test(rng),
        "on": lambda: rng.random() < 0.5,
        "at": lambda: time_test(rng),
        "key": lambda: rng.choice(nodes["key"].tolist()),
        "absent": lambda: rng.choice([1, {"type": "IsNA"}]),
    }
    names = rng.choices(list(tests), weights=[3, 3, 2, 3, 1, 2, 2, 0.3], k=rng.choice([1, 1, 2]))
    return {name: tests[name]() for name in names}


def edge_filter(rng, share=0.3):
    if rng.random() > share:
        return {}
    name = rng.choice(["rel", "w", "tag"])
    return {name: rng.choice(RELATIONS) if name == "rel" else number_test(rng, 4) if name == "w" else text_test(rng)}


def node_step(rng, nodes, name):
    return {"type": "Node", "filter_dict": node_filter(rng, nodes), **({"name": name} if name else {})}


def edge_step(rng, nodes, name, single):
    step = {"type": "Edge", "direction": rng.choice(["forward", "forward", "reverse", "undirected"])}
    bounds = "one" if single else rng.choices(["one", "more", "range", "closure"], weights=[11, 3, 3, 3])[0]
    if bounds == "one":
        step["hops"] = 1
    elif bounds == "more":
        step["hops"] = rng.randint(2, 3)
    elif bounds == "range":
        step["min_hops"] = rng.randint(1, 2)
        step["max_hops"] = step["min_hops"] + rng.randint(0, 2)
    else:
        step["to_fixed_point"] = True
    match = edge_filter(rng)
    if match:
        step["edge_match"] = match
    if not single:
        for side in ["source_node_match", "destination_node_match"]:
            found = node_filter(rng, nodes, 0.1)
            if found:
                step[side] = found
        if "hops" in step and rng.random() < 0.06:
            # With a bare `hops` the reference marks only nodes at that very distance.
            step["min_hops"], step["max_hops"] = 1, step.pop("hops")
            step["label_node_hops"], step["label_edge_hops"] = "hop_n", "hop_e"
    if name:
        step["name"] = name
    return step


def chain(rng, nodes, named=0.4, single=False, pairs=2):
    steps = []

    def name():
        return f"s{len(steps)}" if rng.random() < named else None

    steps.append(node_step(rng, nodes, name()))
    for _ in range(rng.randint(0, pairs)):
        steps.append(edge_step(rng, nodes, name(), single))
        far = steps[-1].get("min_hops", 0) > 1  # see the known differences
        end = name()
        steps.append(node_step(rng, nodes, end and far and f"far{rng.randrange(10**6)}" or end))
        if far:
            break
    if not single and len(steps) > 1 and rng.random() < 0.12:
        steps = steps[1:] if rng.random() < 0.5 else steps[:-1]
    return steps


def chain_case(rng, nodes, edges):
    return {"query": {"type": "Chain", "chain": chain(rng, nodes)}}


def where_case(rng, nodes, edges):
    """Conditions between nodes, the earlier step left: the reference turns the others round."""
    if nodes is None:
        return chain_case(rng, nodes, edges)
    steps = [node_step(rng, nodes, "s0"), edge_step(rng, nodes, "s1", True), node_step(rng, nodes, "s2")]
    column = rng.choice(["size", "kind", "rate", "key"])
    compare = ["eq", "neq"] if column in ("kind", "key") else ["eq", "neq", "lt", "le", "gt", "ge"]
    clause = {rng.choice(compare): {"left": f"s0.{column}", "right": f"s2.{column}"}}
    return {"query": {"type": "Chain", "chain": steps, "where": [clause]}, "where": True}


def let_case(rng, nodes, edges):
    bindings = {}
    for i in range(rng.randint(1, 4)):
        x = rng.random()
        if bindings and x < 0.6:
            inner = chain(rng, nodes, 0.3, rng.random() < 0.7, 1) if rng.random() < 0.85 else []
            bindings[f"b{i}"] = {"type": "Ref", "ref": rng.choice(list(bindings)), "chain": inner}
        elif x < 0.8:
            bindings[f"b{i}"] = {"type": "Chain", "chain": chain(rng, nodes, 0.3, rng.random() < 0.7, 1)}
        elif x < 0.9:
            bindings[f"b{i}"] = node_step(rng, nodes, None)
        else:
            bindings[f"b{i}"] = edge_step(rng, nodes, None, True)
    output = rng.choice(list(bindings)) if rng.random() < 0.4 else None
    return {"query": {"type": "Let", "bindings": bindings}, "output": output}


def call(function, **params):
    return {"type": "Call", "function": function, "params": params}


def call_case(rng, nodes, edges):
    # Without a node table the reference loses the columns of degrees again.
    degrees = [] if nodes is None else [
        call("get_degrees", col="deg", degree_in="deg_in", degree_out="deg_out"),
        call("get_indegrees", col="deg_in"),
        call("get_outdegrees", col="deg_out"),
    ]
    made = rng.choice(degrees + [
        call("prune_self_edges"),
        call("materialize_nodes"),
        call("filter_edges_by_dict", filter_dict={"w": 2}),
        call("hop", hops=rng.randint(1, 2), direction=rng.choice(["forward", "reverse", "undirected"])),
    ])
    steps = chain(rng, nodes, 0.2, True, 1) if rng.random() < 0.5 else []
    return {"query": {"type": "Chain", "chain": steps + [made] if rng.random() < 0.7 else [made] + steps}}


VALUES = ["size", "rate", "size * 2", "size + rate", "coalesce(label, 'none')", "rate IS NULL", "size >= 2 AND on", "toUpper(label)",
          "CASE WHEN size > 2 THEN 'big' ELSE 'small' END", "abs(size - 3)", "label", "key", "-size", "size / 2", "size(label)"]
CONDITIONS = ["size >= 2", "rate > 1", "NOT on", "kind = 'host' OR size < 2", "label IS NOT NULL", "label STARTS WITH 'a'", "label CONTAINS 'b'",
              "rate IS NULL OR rate < 2", "kind IN ['user', 'file']", "NOT (label = 'bob')", "size <> 2"]


def rows_case(rng, nodes, edges):
    if nodes is None:
        return chain_case(rng, nodes, edges)
    steps = chain(rng, nodes, 0, True, 1)
    steps[-1]["name"] = "z"
    steps.append(call("rows", table="nodes", source="z"))
    columns, ordered = [], False
    if rng.random() < 0.6:
        steps.append(call("where_rows", expr=rng.choice(CONDITIONS)))
    x = rng.random()
    if x < 0.5:
        items = [[f"c{i}", text] for i, text in enumerate(rng.sample(VALUES, rng.randint(1, 3)))]
        steps.append(call("select", items=items))
        columns = [name for name, _ in items]
        if rng.random() < 0.3:
            steps.append(call("distinct"))
    elif x < 0.8:
        keys = rng.sample(["kind", "on"], rng.randint(1, 2))
        more = [["s", "sum", "size"], ["a", "avg", "rate"], ["m", "max", "size"], ["l", "min", "label"], ["r", "count", "rate"], ["d", "count_distinct", "label"]]
        found = [["n", "count"]] + rng.sample(more, rng.randint(0, 3))
        steps.append(call("group_by", keys=keys, aggregations=found))
        columns = keys + [entry[0] for entry in found]
    if columns and rng.random() < 0.5:
        steps.append(call("order_by", keys=[[name, rng.choice(["asc", "desc"])] for name in columns]))
        ordered = True
        if rng.random() < 0.3:
            steps.append(call("skip", value=1))
        if rng.random() < 0.5:
            steps.append(call("limit", value=rng.randint(0, 4)))
    return {"query": {"type": "Chain", "chain": steps}, "rows": True, "ordered": ordered}


def paths_case(rng, nodes, edges):
    """Rows of whole paths, as compiled Cypher asks for them."""
    if nodes is None:
        return chain_case(rng, nodes, edges)
    steps = [node_step(rng, nodes, "s0")]
    for i in range(rng.randint(0, 2)):
        steps += [edge_step(rng, nodes, f"e{i}", True), node_step(rng, nodes, f"s{i + 1}")]
    last = f"s{len(steps) // 2}"
    items = [["a", "s0.key"], ["b", f"{last}.key"], ["c", f"{last}.label"], ["d", f"s0.size + {last}.size"]]
    items += [["e", "e0.w"], ["f", "e0.rel"]] if len(steps) > 1 else []
    found = [call("rows", table="nodes")]
    if rng.random() < 0.4:
        found.append(call("where_rows", expr=f"s0.size <= {last}.size"))
    return {"query": {"type": "Chain", "chain": steps + found + [call("select", items=items)]}, "rows": True}


FAMILIES = {"chain": chain_case, "where": where_case, "let": let_case, "call": call_case, "rows": rows_case, "paths": paths_case}


def make_case(seed, number, family):
    rng = random.Random(f"{seed}/{number}/{family}")
    nodes, edges = make_graph(rng)
    return nodes, edges, FAMILIES[family](rng, nodes, edges)


class Reference:
    """The client's own engine, in this process."""

    def __init__(self):
        import graphistry
        self.graphistry = graphistry

    def run(self, nodes, edges, case):
        graph = self.graphistry.edges(edges, "from", "to")
        graph = graph if nodes is None else graph.nodes(nodes, "key")
        extra = {"output": case["output"]} if case.get("output") else {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = graph.gfql(case["query"], engine="pandas", **extra)
            return {"nodes": found._nodes, "edges": found._edges}
        except Exception as error:
            return {"error": str(getattr(error, "code", "")) or type(error).__name__, "text": str(error)}


class Engine:
    """Our engine: one process that answers line by line."""

    def __init__(self, binary, folder):
        self.folder = Path(folder)
        self.process = subprocess.Popen([binary, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def store(self, frame, name):
        if frame is None:
            return None
        path = self.folder / f"in-{name}.arrow"
        table = pa.Table.from_pandas(frame, preserve_index=False)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        return str(path)

    def ask(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the engine ended at {json.dumps(message)}"
        return json.loads(line)

    def run(self, nodes, edges, case):
        reply = self.ask({
            "nodes": self.store(nodes, "nodes"), "edges": self.store(edges, "edges"),
            "node": None if nodes is None else "key", "source": "from", "destination": "to",
            "query": case["query"], "output": case.get("output"),
        })
        if "error" in reply:
            return {"error": reply["error"]["slug"], "text": reply["error"]["text"]}
        read = lambda path: None if path is None else pa.ipc.open_file(path).read_all().to_pandas()
        return {"nodes": read(reply["nodes_path"]), "edges": read(reply["edges_path"])}

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def cell(value):
    """One cell, with numbers by value and every kind of nothing alike."""
    if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
        return tuple(cell(v) for v in value)
    if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    if type(value).__name__ in ("bool", "bool_"):
        return ("truth", bool(value))
    if hasattr(value, "isoformat"):
        return ("time", pd.Timestamp(value).isoformat())
    if isinstance(value, str):
        return ("text", value)
    return ("number", round(float(value), 9))


def internal(name):
    """Helper columns that the reference leaves behind."""
    return name.startswith("__")


def bag(frame, columns):
    return [repr([cell(v) for v in row]) for row in frame[columns].itertuples(index=False, name=None)]


def goes_far(query):
    """Whether a step of the query must go farther than one hop."""
    return query is not None and re.search(r'"min_hops": [2-9]', json.dumps(query)) is not None


def without_met_early(ours, theirs):
    """The reference's nodes but for those that ours are not and that are on no edge: see the known differences."""
    nodes, edges = theirs["nodes"], theirs["edges"]
    key = "key" if "key" in nodes else "id"
    ends = [] if edges is None else [*edges["from"], *edges["to"]]
    mine = [] if ours["nodes"] is None else [*ours["nodes"][key]]
    return nodes[nodes[key].isin([*ends, *mine])]


def difference(case, ours, theirs):
    """What differs: None when nothing does, else a kind and the detail."""
    if "error" in ours and "error" in theirs:
        return None
    if "error" in ours or "error" in theirs:
        return "error", f"ours {ours.get('text', 'answers')} | theirs {theirs.get('text', 'answers')}"
    if theirs["nodes"] is not None and goes_far(case.get("query")) and not case.get("rows"):
        theirs = {**theirs, "nodes": without_met_early(ours, theirs)}
    for part in ["nodes"] if case.get("rows") else ["nodes", "edges"]:
        mine, other = ours[part], theirs[part]
        mine_rows, other_rows = (0 if f is None else len(f) for f in (mine, other))
        if mine_rows == 0 and other_rows == 0:
            continue
        if mine is None or other is None:
            return part, f"rows: ours {mine_rows}, theirs {other_rows}"
        names = [{str(c) for c in f.columns if not internal(str(c))} for f in (mine, other)]
        if case.get("where"):
            names = [names[0] & names[1]] * 2
        if names[0] != names[1]:
            return part, f"columns: only ours {names[0] - names[1]}, only theirs {names[1] - names[0]}"
        a, b = bag(mine, sorted(names[0])), bag(other, sorted(names[0]))
        if case.get("where") and part == "edges":
            # The reference keeps one of several parallel edges; ours keeps all.
            a, b = (sorted(set(bag(f, case.get("ends", ["from", "to"])))) for f in (mine, other))
        if collections.Counter(a) != collections.Counter(b):
            ca, cb = collections.Counter(a), collections.Counter(b)
            return part, f"{sorted(names[0])}: only ours {list((ca - cb).elements())[:3]}, only theirs {list((cb - ca).elements())[:3]}"
        if case.get("ordered") and a != b:
            return "order", f"ours {a[:4]}, theirs {b[:4]}"
    return None
