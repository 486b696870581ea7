"""Random texts in Cypher over random graphs, sent both ways: as the unchanged client compiles them, and whole.

The other side is the client's own engine. Cases are made from (seed, number) alone.
"""

import json
import random
import re
import warnings

import pandas as pd

import gfql_cases

# What a text has that the client leaves out when it compiles it for a server; it cannot be answered from the rest.
DROPPED = {
    "optional part": lambda text: "OPTIONAL MATCH" in text,
    "rows before a pattern": lambda text: re.search(r"WITH .* MATCH", text) is not None,
    "pattern that branches": lambda text: "), (" in text and "--" in text,
    "whole elements": lambda text: re.search(r"RETURN (DISTINCT )?[a-z](, [a-z])*$", text) is not None,
}


def make_graph(rng):
    """A graph of `gfql_cases` with labels and types of relationships."""
    nodes, edges = gfql_cases.make_graph(rng)
    while nodes is None:
        nodes, edges = gfql_cases.make_graph(rng)
    nodes = nodes.assign(label__A=[rng.random() < 0.5 for _ in range(len(nodes))], label__B=[rng.random() < 0.3 for _ in range(len(nodes))])
    return nodes, edges.rename(columns={"rel": "type"})


def element(rng, name, nodes):
    label = rng.choice(["", "", "", ":A", ":B"])
    test = rng.choice(["", "", "", f" {{kind: '{rng.choice(gfql_cases.KINDS)}'}}", f" {{size: {rng.randint(0, 6)}}}"])
    return f"({name}{label}{test})"


def arrow(rng, name=""):
    kind = rng.choice(["", "", f":{rng.choice(gfql_cases.RELATIONS)}"])
    inner = f"[{name}{kind}]" if name or kind else ""
    return rng.choice([f"-{inner}->", f"-{inner}->", f"<-{inner}-", f"-{inner}-"])


def condition(rng, a):
    return rng.choice([
        f"{a}.size > {rng.randint(0, 5)}", f"{a}.rate IS NULL", f"{a}.label STARTS WITH 'a'", f"{a}.on", f"NOT {a}.on",
        f"{a}.kind IN ['host', 'user'] OR {a}.size < 2", f"{a}.label IS NOT NULL AND {a}.size <> 3",
    ])


def moment(rng, a):
    day = f"2023-{rng.randint(1, 12):02d}-0{rng.randint(1, 9)}"
    said = rng.choice([f"localdatetime('{day}T03:00:00')", f"'{day}'", f"'{day}T03:00:00'", f"'{day} 03:00:00'"])
    return f"{a}.at {rng.choice(['<', '<=', '>', '>='])} {said}"


VALUES = ["size", "rate", "label", "kind", "key", "on"]


def cycle(rng, nodes):
    n = rng.randint(2, 4)
    names = [chr(97 + i) for i in range(n)]
    text = element(rng, "a", nodes) + "".join(arrow(rng) + (element(rng, x, nodes)) for x in names[1:]) + arrow(rng) + "(a)"
    return f"MATCH {text} RETURN count(*) AS n"


def repeated(rng, nodes):
    text = f"{element(rng, 'a', nodes)}{arrow(rng)}{element(rng, 'b', nodes)}{arrow(rng)}{element(rng, 'c', nodes)}"
    return f"MATCH {text} WHERE {rng.choice(['a = c', 'a <> c', 'a <> b'])} RETURN a.key AS a, b.key AS b, c.key AS c"


def nothing(rng, nodes):
    pattern = rng.choice(["(a {key: 'no'})", f"(a {{kind: 'no'}}){arrow(rng)}(b)", f"{element(rng, 'a', nodes)}"])
    found = ["count(*) AS n", "sum(a.size) AS s", "max(a.size) AS m", "collect(a.size) AS l", "avg(a.size) AS v", "count(DISTINCT a.kind) AS d"]
    return f"MATCH {pattern} RETURN " + ", ".join(rng.sample(found, rng.randint(1, 3)))


def optional(rng, nodes):
    return f"MATCH {element(rng, 'a', nodes)} OPTIONAL MATCH (a){arrow(rng)}{element(rng, 'b', nodes)} RETURN a.key AS a, b.key AS b"


def functions(rng, nodes):
    found = ["labels(a) AS l", "keys(a) AS k", "properties(a) AS p", "a['size'] AS i", f"CASE a.size WHEN {rng.randint(2, 6)} THEN 'one' ELSE 'other' END AS c"]
    return f"MATCH {element(rng, 'a', nodes)} RETURN a.key AS key, {rng.choice(found)}"


def maps(rng, nodes):
    a, b = rng.sample(VALUES, 2)
    return f"MATCH {element(rng, 'a', nodes)} RETURN {{x: a.{a}, y: a.{b}}} AS m, a.key AS key"


def shortest(rng, nodes):
    ids = nodes["key"].tolist()
    one = rng.choice(ids)
    start = f"(a {{key: {one!r}}})"
    step = rng.choice(["-[*]->", "<-[*]-", "-[*]-", "-[*..3]->", "-[*..2]-"])
    return f"MATCH p = shortestPath({start}{step}(b)) RETURN b.key AS b, length(p) AS l"


def times(rng, nodes):
    return f"MATCH {element(rng, 'a', nodes)} WHERE {moment(rng, 'a')} RETURN a.key AS key, a.at AS at"


def groups(rng, nodes):
    pattern = rng.choice([element(rng, "a", nodes), f"{element(rng, 'a', nodes)}{arrow(rng)}(b)"])
    found = ["count(*) AS n", "sum(a.size) AS s", "collect(a.size) AS l", "min(a.label) AS m"]
    return f"MATCH {pattern} WHERE {condition(rng, 'a')} RETURN a.kind AS kind, {rng.choice(found)}"


def hops(rng, nodes):
    bounds = rng.choice(["*1..2", "*0..1", "*1..3"])
    way = rng.choice([f"-[{bounds}]->", f"<-[{bounds}]-", f"-[{bounds if bounds == '*0..1' else '*1'}]-"])
    return f"MATCH {element(rng, 'a', nodes)}{way}{element(rng, 'b', nodes)} RETURN a.key AS a, b.key AS b"


def exists(rng, nodes):
    negative = rng.choice(["", "NOT "])
    return f"MATCH {element(rng, 'a', nodes)} WHERE {negative}(a){arrow(rng)}() RETURN a.key AS a"


def paths(rng, nodes):
    text = f"{element(rng, 'a', nodes)}{arrow(rng, 'r')}{element(rng, 'b', nodes)}"
    return f"MATCH {text} WHERE {condition(rng, rng.choice('ab'))} RETURN a.key AS a, b.key AS b, r.w AS w"


FAMILIES = {f.__name__: f for f in [cycle, repeated, nothing, optional, functions, maps, shortest, times, groups, hops, exists, paths]}


def make_case(seed, number, family):
    rng = random.Random(f"{seed}/{number}/{family}")
    nodes, edges = make_graph(rng)
    return nodes, edges, FAMILIES[family](rng, nodes)


def compiled(text):
    """What the unchanged client sends of a text; None where it refuses to."""
    from graphistry.compute.gfql.cypher.lowering import compile_cypher_query
    from graphistry.compute.gfql.cypher.parser import parse_cypher

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return json.loads(json.dumps(compile_cypher_query(parse_cypher(text)).chain.to_json()))
    except Exception:
        return None


def dropped(text):
    return [name for name, test in DROPPED.items() if test(text)]


TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?")
MAP = re.compile(r"(\w+): ('(?:[^'\\]|\\.)*'|[^,{}]+)")


def norm(value):
    """A cell for comparison: texts of lists and maps are what they say, null fields are not there, the id is a property."""
    if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
        value = {k: v.strip() for k, v in MAP.findall(value)}
        return norm({k: v[1:-1] if v.startswith("'") else v for k, v in value.items()})
    if isinstance(value, str) and TIME.fullmatch(value):
        return gfql_cases.cell(pd.Timestamp(value))
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        return tuple(norm(v.strip().strip("'")) for v in value[1:-1].split(",") if v.strip())
    if isinstance(value, dict):
        fields = {k: None if v == "null" else norm(v) for k, v in value.items() if not k.startswith("label__") and k not in ("key", "type", "at")}
        return ("map", tuple(sorted((k, text(v)) for k, v in fields.items() if v is not None)))
    if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
        return tuple(norm(v) for v in value if v not in ("key", "type") or not isinstance(v, str))
    return gfql_cases.cell(value)


def text(cell):
    """A field as text: a number of a map may be one or be written."""
    kind, value = cell if isinstance(cell, tuple) and len(cell) == 2 else ("", cell)
    if kind == "truth":
        return str(value).lower()
    try:
        return str(float(value))
    except (TypeError, ValueError):
        return str(value)


def rows(frame, names):
    if frame is None or not len(frame):
        return []
    return sorted(repr([norm(v) for v in row]) for row in frame[names].itertuples(index=False, name=None))


def without_start(frame, case):
    """The rows of a shortest path but for the one from the start to itself: see the known differences."""
    start = re.search(r"shortestPath\(\(a \{key: '?(\w+)'?\}", case)
    if start is None or frame is None or not len(frame):
        return frame
    return frame[frame["b"].astype(str) != start[1]]


def difference(case, mine, theirs):
    """None when both answer alike or both refuse, else what differs."""
    if "error" in mine or "error" in theirs:
        if "error" in mine and "error" in theirs:
            return None
        return f"ours {mine.get('text', 'answers')} | theirs {theirs.get('text', 'answers')}"
    a, b = (without_start(f["nodes"], case) for f in (mine, theirs))
    if (a is None or not len(a)) and (b is None or not len(b)):
        return None
    names = sorted(str(c) for c in (b if b is not None and len(b) else a).columns)
    missing = [n for f in (a, b) if f is not None and len(f) for n in names if n not in f.columns]
    if missing:
        return f"columns {missing} are missing: ours {list(a.columns) if a is not None else None}"
    x, y = rows(a, names), rows(b, names)
    if x != y:
        only = lambda p, q: [v for v in p if v not in q][:2]
        return f"{names}: {len(x)} and {len(y)} rows, only ours {only(x, y)}, only theirs {only(y, x)}"
    return None
