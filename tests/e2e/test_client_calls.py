"""Every call of the client's safelist: by `gfql_remote` of the unchanged client as by its own engine, on pandas. The table that
comes of it stands in engine/doc/CLIENT_CALLS.md."""

import contextlib
import io
import json
import os
import pathlib

import graphistry
import numpy as np
import pandas as pd
import pytest
from graphistry.compute.ast import from_json
from graphistry.compute.gfql.call.validation import SAFELIST_V1
from graphistry.validate import apply_axis_url_defaults

import client_calls
from conftest import PASSWORD

PAGE = pathlib.Path(__file__).parents[2] / "engine/doc/CLIENT_CALLS.md"
# What a graph says of how it is shown.
SHOWN = ("_node", "_source", "_destination", "_name", "_description", "_complex_encodings", "_url_params", *(
    f"_{of}_{what}" for of in ("point", "edge") for what in ("color", "size", "opacity", "icon", "label", "title")), "_edge_weight",
    "_point_x", "_point_y")


def uploaded(server, graphs):
    graphistry.register(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    made = {}
    for name, (nodes, node, edges, source, destination, *bound) in graphs.items():
        graph = graphistry.edges(edges, source, destination).bind(**(bound[0] if bound else {}))
        graph = graph if nodes is None else graph.nodes(nodes, node)
        made[name] = graph.upload(validate=False)
    return made


def steps(case):
    return [from_json(step) for step in (*case.before, client_calls.step(case.name, **case.params), *case.after)]


def locally(graph, case):
    """The client's own result: its frames, and the graph that says how it is shown. Its engine loses the latter on the way,
    which its method of the call's name does not."""
    with contextlib.redirect_stdout(io.StringIO()):
        if case.rows and case.name != "hypergraph":
            return graph.gfql(steps(case), engine="pandas"), None
        more = {"allow_cpu_fallback": True, "fa2_params": None} if case.name == "fa2_layout" else {}
        method = getattr(graph, case.name)(**{**case.params, **more})
        if isinstance(method, pd.DataFrame):
            return graph.nodes(method), None
        # The engine asks for columns that the hypergraph makes, and lays nothing out by forces.
        own = case.name in ("hypergraph", "fa2_layout")
        found = method if own else graph.gfql(steps(case), engine="pandas")
    method._url_params = apply_axis_url_defaults(method._url_params, method._complex_encodings)
    return found, method


def plain(value):
    """A cell with times, lists and every kind of nothing written alike."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(v) for v in value]
    if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return round(float(value), 9) if isinstance(value, (int, float, np.number)) else value


def kind(series):
    """What the values of a column are: numbers, truths, times or others. Integers with nothing among them are floats in pandas."""
    series = series.infer_objects()
    return {"i": "number", "u": "number", "f": "number", "b": "truth", "M": "time"}.get(series.dtype.kind, "other")


def frames(mine, theirs, case):
    if mine is None or theirs is None:
        return None if mine is theirs else f"a table is {mine} or {theirs}"
    if not case.ordered:
        mine, theirs = mine[sorted(mine)], theirs[sorted(theirs)]
    if list(mine) != list(theirs):
        return f"columns {list(mine)} and {list(theirs)}"
    if len(mine) != len(theirs):
        return f"{len(mine)} and {len(theirs)} rows"
    if not case.ordered:
        mine, theirs = (f.iloc[np.argsort([repr([plain(v) for v in row]) for row in f.itertuples(index=False)], kind="stable")]
                        for f in (mine, theirs))
    for name in (name for name in theirs if name not in case.aside):
        a, b = mine[name].reset_index(drop=True), theirs[name].reset_index(drop=True)
        if len(a) and kind(a) != kind(b) and (b.notna().any() or a.notna().any()):
            return f"{name}: {a.dtype} and {b.dtype}"
        if kind(a) == kind(b) == "number":
            equal = np.isclose(a.astype(float), b.astype(float), rtol=1e-9, atol=1e-9, equal_nan=True)
        else:
            equal = [plain(v) == plain(w) for v, w in zip(a, b)]
        if not all(equal):
            return f"{name}: " + ", ".join(f"{v!r} and {w!r}" for v, w, same in zip(a, b, equal) if not same)[:400]
    return None


def shown(graph, name):
    """As JSON carries it, where every key is a text."""
    value = json.loads(json.dumps(getattr(graph, name)))
    return value or "id" if name == "_node" else value


# Layouts whose positions the local call leaves unbound.
UNBOUND = dict.fromkeys(("circle_layout", "fa2_layout", "group_in_a_box_layout"), {"_point_x": "x", "_point_y": "y"})


def crossings(graph, at):
    """How many pairs of edges cross where each is a straight line."""
    ends = [(at[a], at[b]) for a, b in zip(graph._edges[graph._source], graph._edges[graph._destination]) if a in at and b in at]
    side = lambda p, q, r: np.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))
    return sum(side(a, b, c) * side(a, b, d) < 0 > side(c, d, a) * side(c, d, b)
               for i, (a, b) in enumerate(ends) for c, d in ends[:i])


def trees(mine, theirs, case):
    """Levels within the width, no two nodes of one in a place, and no more crossings."""
    (along,), level = case.aside, case.params.get("level_col", "level")
    nodes = [g._nodes[g._nodes[level].notna()] for g in (mine, theirs)]
    if any(np.ptp(n[along]) > case.params.get("width", 1) + 1e-9 for n in nodes):
        return f"wider than asked: {[np.ptp(n[along]) for n in nodes]}"
    if nodes[0].duplicated([level, along]).any():
        return "two nodes in a place"
    x, y = mine._point_x or "x", mine._point_y or "y"
    found = [crossings(g, dict(zip(n["id"], zip(n[x], n[y])))) for g, n in zip((mine, theirs), nodes)]
    return None if found[0] <= found[1] else f"crossings {found}"


def circles(mine, theirs, case):
    """Nodes without edges stand where the client's own circle puts them, around the others of the layout."""
    edges = mine._edges[mine._edges[mine._source] != mine._edges[mine._destination]]
    joined = mine._nodes[mine._node].isin([*edges[mine._source], *edges[mine._destination]])
    near, far, key = mine._nodes[joined], mine._nodes[~joined], case.params.get("partition_key")
    if near[["x", "y"]].duplicated().any():
        return "two nodes in a place"
    if far.empty:
        return None
    bounds = lambda f: {"cx": (f.x.min() + f.x.max()) / 2, "cy": (f.y.min() + f.y.max()) / 2, "w": np.ptp(f.x), "h": np.ptp(f.y)}
    around = (0, 0, 1, 1) if near.empty else tuple(bounds(near).values())
    if key is not None:
        around = pd.DataFrame([{"partition_key": part, **bounds(rows)} for part, rows in near.groupby(key)])
    alone = mine.nodes(far.drop(columns=["x", "y"])).edges(edges[:0])
    want = alone.circle_layout(around, **case.params.get("circle_layout_params", {}))._nodes
    same = list(want["id"]) == list(far["id"]) and np.allclose(far[["x", "y"]], want[["x", "y"]])
    return None if same else f"a circle of {far[['x', 'y']]} and {want[['x', 'y']]}"


ASIDE = {"tree_layout": trees, "fa2_layout": circles}


def answers(graph, case):
    """The server's answer, the client's own, and the graph that says how the latter is shown; a text where there is none."""
    try:
        theirs, told = locally(graph, case)
    except Exception as e:  # noqa: BLE001 said as what the local call does
        theirs, told = f"{type(e).__name__}: {e}", None
    try:
        mine = graph.gfql_remote(steps(case))
    except Exception as e:  # noqa: BLE001 as above
        mine = f"{type(e).__name__}: {e}"
    return mine, theirs, told


def difference(graphs, case):
    """What differs, or nothing."""
    mine, theirs, told = answers(graphs[case.graph], case)
    if isinstance(mine, str) or isinstance(theirs, str):
        return "\n      ".join(v if isinstance(v, str) else "answers" for v in (mine, theirs))
    return compared(mine, theirs, told, case)


def compared(mine, theirs, told, case):
    for part in ("_nodes", "_edges"):
        if part in case.aside or (part == "_edges" and case.rows):
            continue
        found = frames(getattr(mine, part), getattr(theirs, part), case)
        if found:
            return f"{part}: {found}"
    for name in SHOWN if told is not None else ():
        a, b = shown(mine, name), shown(told, name)
        if name == "_node" and a == shown(theirs, name):
            continue
        if case.name in UNBOUND and name.startswith("_point_"):
            b = b or UNBOUND[case.name].get(name)
        elif name == "_url_params" and case.name in (*UNBOUND, "tree_layout"):
            b = {"play": 0, **b}
        if a != b:
            return f"{name}: {a} and {b}"
    return ASIDE[case.name](mine, theirs, case) if case.name in ASIDE else None


@pytest.fixture(scope="module")
def graphs(server):
    return uploaded(server, client_calls.GRAPHS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(dict.fromkeys(case.name for case in client_calls.CASES)))
def test_a_call_gives_what_the_local_call_gives(graphs, name):
    found = {str(case): difference(graphs, case) for case in client_calls.CASES if case.name == name}
    wrong = [f"{case}: {text}" for case, text in found.items() if text]
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(client_calls.ODD_GRAPHS))
def test_odd_graphs_give_the_local_result_or_a_clear_error(server, name):
    graph = uploaded(server, {name: client_calls.ODD_GRAPHS[name]})[name]
    wrong = []
    for case in client_calls.ODD_CASES:
        mine, theirs, told = answers(graph, case)
        if isinstance(mine, str):
            # The code, the field or parameter, and what to do instead.
            clear = "(HTTP 400)" in mine and any(word in mine for word in ("suggestion: ", "expected ", "the columns are: "))
            wrong += [] if clear else [f"{case}: {mine}"]
        elif not isinstance(theirs, str) and (name, case.name) not in client_calls.ODD_DIFFERS:
            found = compared(mine, theirs, told, case)
            wrong += [f"{case}: {found}"] if found else []
    assert not wrong, "\n".join(wrong)


def listed(names):
    return ", ".join(f"`{name}`" for name in names)


def row(name, allowed):
    """A call's line of the table; every parameter is compared, or stands aside with the reason."""
    compared = sorted({key for case in client_calls.CASES if case.name == name for key in case.params})
    if name in client_calls.ELSEWHERE:
        how, where = client_calls.ELSEWHERE[name]
        return f"| `{name}` | {how} | in {where} | |"
    reasons = {key: client_calls.ASIDE[name, key] for key in sorted(allowed - set(compared)) if (name, key) in client_calls.ASIDE}
    assert set(compared) | set(reasons) == set(allowed), f"{name}: {allowed - set(compared) - set(reasons)} stand nowhere"
    notes = [f"`{key}`: {reason}" for key, reason in reasons.items()] 
    notes += [client_calls.DIFFERS[name]] if name in client_calls.DIFFERS else []
    cases = sum(case.name == name for case in client_calls.CASES)
    return f"| `{name}` | the local call, {cases} times | {listed(compared) or 'it takes none'} | {'; '.join(notes)} |"


def test_each_call_and_each_parameter_stands_in_the_table():
    names = {case.name for case in client_calls.CASES} | set(client_calls.ELSEWHERE)
    assert names == set(SAFELIST_V1)
    assert {name for name, _ in client_calls.ASIDE} | set(client_calls.DIFFERS) <= names
    lines = [row(name, SAFELIST_V1[name]["allowed_params"]) for name in sorted(SAFELIST_V1)]
    odd = [f"| {graph} | `{name}` | {reason} |" for (graph, name), reason in sorted(client_calls.ODD_DIFFERS.items())]
    page = (f"# Calls of the client\n\nWritten by tests/e2e/test_client_calls.py: each of the {len(lines)} calls that the client may make, "
            "what the answer by `gfql_remote` is compared with, the parameters that are compared, and what differs with the reason. "
            "Compared are the columns, their types, values and order, the rows and theirs, and what the answer says of how the graph "
            "is shown.\n\n| call | compared with | parameters | what differs |\n|---|---|---|---|\n" + "\n".join(lines) + "\n\n"
            "Graphs of other kinds, over each of which every call that makes a graph runs once: "
            + ", ".join(client_calls.ODD_GRAPHS) + ". Where the local call fails, ours answers or says what to change. What differs:\n\n"
            "| graph | call | what differs |\n|---|---|---|\n" + "\n".join(odd) + "\n")
    if os.environ.get("GRAPHLUME_WRITE_TABLES"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "run with GRAPHLUME_WRITE_TABLES=1 to write the table"
