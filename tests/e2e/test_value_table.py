"""One table of values through every door and every exit: each cell is equal, refused by name, or said in a notice."""

import base64
import csv
import datetime
import io
import json
import zipfile
import zlib

import openpyxl
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
import requests
import xlwt
from agent import Agent
from conftest import unique
from live import Viewer, bits, until_at_rest
from value_table import EDGES, NAMES, VALUES, found_in, in_cypher, in_gfql, spoken, table, wanted

RESULTS = []


def note(door, exit, name, state):
    RESULTS.append((door, exit, name, state))


def arrow(names):
    out = io.BytesIO()
    data = table(names)
    with pa.ipc.new_file(out, data.schema) as writer:
        writer.write_table(data)
    return out.getvalue()


def parquet(names):
    out = io.BytesIO()
    pq.write_table(table(names), out)
    return out.getvalue()


def orc(names):
    out = io.BytesIO()
    data = table(names)
    # The format has no integers without a sign.
    pyarrow.orc.write_table(data.select([c for c in data.column_names if data[c].type != pa.uint64()]), out)
    return out.getvalue()


def text(value):
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def rows(names):
    data = table(names)
    columns = [data[name] for name in data.column_names]
    # Nanoseconds are whole in the text of pandas' Timestamp alone.
    cells = [[v.as_py() if v.type != pa.timestamp("ns") or not v.is_valid else v.as_py().isoformat() for v in c] for c in columns]
    return data.column_names, list(zip(*cells))


def as_csv(names):
    head, cells = rows(names)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows([text(v) for v in row] for row in cells)
    return out.getvalue().encode()


def as_json(names):
    head, cells = rows(names)

    def plain(v):
        if isinstance(v, (datetime.date, datetime.datetime)):
            return v.isoformat()
        return None if v is None or v != v else v

    # json.dumps knows no decimals, whose digits stand in the text as they are.
    records = [{k: plain(v) for k, v in zip(head, row)} for row in cells]
    marks = {}

    def other(v):
        marks[f'"@{len(marks)}@"'] = str(v)
        return f"@{len(marks) - 1}@"
    whole = json.dumps(records, default=other)
    for mark, digits in marks.items():
        whole = whole.replace(mark, digits)
    return whole.encode()


def sheet(cell, save, names):
    head, cells = rows(names)
    for column, name in enumerate(head):
        cell(0, column, name)
        for row, values in enumerate(cells):
            value = values[column]
            if value is None or value != value:
                continue
            cell(row + 1, column, value)
    out = io.BytesIO()
    save(out)
    return out.getvalue()


def xlsx(names):
    book = openpyxl.Workbook()

    def cell(row, column, value):
        # Excel has no days before 1900.
        old = isinstance(value, (datetime.date, datetime.datetime)) and value.year < 1900
        book.active.cell(row + 1, column + 1).value = value.isoformat() if old else value
    return sheet(cell, book.save, names)


def xls(names):
    book = xlwt.Workbook()
    page = book.add_sheet("a")
    style = xlwt.easyxf(num_format_str="YYYY-MM-DD HH:MM:SS")

    def cell(row, column, value):
        if isinstance(value, (datetime.date, datetime.datetime)):
            if value.year < 1900:
                page.write(row, column, value.isoformat())
            else:
                page.write(row, column, value, style)
        else:
            page.write(row, column, value)
    return sheet(cell, book.save, names)


def orc_nanoseconds(names):
    """Nanoseconds apart from moments that are beyond them: a file that has both is refused."""
    return orc(["nanoseconds"])


DOORS = {"arrow": arrow, "parquet": parquet, "orc": orc, "orc nanoseconds": orc_nanoseconds, "csv": as_csv, "json": as_json, "xlsx": xlsx, "xls": xls}
# A workbook holds a moment as days in a double, and no zero with a sign; openpyxl and xlwt write 16 digits of a float. These
# are other values before the file is sent.
BEYOND_WORKBOOKS = {"end_of_dates", "far", "minus_zero"}
# xlwt writes no numbers beyond a double's.
BEYOND_XLWT = {"digits_38", "fraction_38"}


def open_session(api, dataset):
    session = unique("values")
    viewer = Viewer(api.server, dataset, session, headers=dict(api.session.headers))
    until_at_rest(viewer)
    return session, viewer


def read_table(data, form):
    """Rows of an answer as {column: value}."""
    if form == "json":
        return json.loads(data)
    if form == "csv":
        return [{k: (v if v != "" else None) for k, v in row.items()} for row in csv.DictReader(io.StringIO(data.decode()))]
    return pq.read_table(io.BytesIO(data)).to_pylist()


def said(notices, name):
    """Whether a notice speaks of this column."""
    return any(f'"{name}"' in json.dumps(n).replace('\\"', '"') for n in notices)


def judge(door, exit, names, got, notices):
    """Notes what became of each column; `got` has rows by the id of their node."""
    for name in names:
        found = [found_in(name, got[f"n{i}"].get(name)) for i in range(3)]
        want = wanted(name)
        if found == want:
            note(door, exit, name, "equal")
        elif said(notices, name):
            note(door, exit, name, "notice")
        else:
            note(door, exit, name, f"SILENT {found[1:]} for {want[1:]}")


def by_id(all_rows):
    return {row["id"]: row for row in all_rows}


def answers(api, dataset, door, names, notices):
    """The exits of the engine's questions."""
    columns = ", ".join(f"n.{name} AS {name}" for name in ["id", *names])
    questions = {"cypher": f"MATCH (n) RETURN {columns}", "gfql": [{"type": "Node"}]}
    for language, question in questions.items():
        for form in ("json", "csv", "parquet"):
            r = api("POST", f"/api/v2/datasets/{dataset}/gfql/nodes", json={"gfql_query": question, "format": form})
            assert r.status_code == 200, (language, form, r.text)
            judge(door, f"{language} {form}", names, by_id(read_table(r.content, form)), notices)
    for form in ("csv", "json", "parquet"):
        r = api("POST", f"/api/v2/datasets/{dataset}/gfql/all", json={"gfql_query": [{"type": "Node"}], "format": form})
        assert r.status_code == 200, r.text
        if form == "json":
            kept = r.json()["nodes"]
        else:
            with zipfile.ZipFile(io.BytesIO(r.content)) as archive:
                kept = read_table(archive.read(f"nodes.{form}"), form)
        judge(door, f"archive {form}", names, by_id(kept), notices)
    rows_of = [{"type": "Node"}, {"type": "Call", "function": "rows", "params": {}},
               {"type": "Call", "function": "select", "params": {"items": [["id", "id"], *([name, name] for name in names)]}}]
    r = api("POST", f"/api/v2/datasets/{dataset}/gfql/nodes", json={"gfql_query": rows_of, "format": "parquet"})
    assert r.status_code == 200, r.text
    judge(door, "gfql select", names, by_id(read_table(r.content, "parquet")), notices)
    r = api("POST", f"/api/v2/datasets/{dataset}/gfql/all", json={"gfql_query": [{"type": "Node"}], "persist": True, "format": "json"})
    assert r.status_code == 200, r.text
    kept = r.json()["dataset_id"]
    r = api("POST", f"/api/v2/datasets/{kept}/gfql/nodes", json={"gfql_query": [{"type": "Node"}], "format": "parquet"})
    judge(door, "persist", names, by_id(read_table(r.content, "parquet")), notices)


def pictures(api, dataset, door, names, notices):
    """The exits of an open picture: cards, a selection as a file, tools."""
    session, viewer = open_session(api, dataset)
    try:
        at = lambda path: f"/viz/{session}/{path}"  # noqa: E731
        cards = {}
        for i in range(3):
            # As the page reads it: every number is a double.
            card = json.loads(api("GET", at(f"node/{i}"), params={"dataset": dataset}).text, parse_int=float)
            cards[card["id"]] = {field["name"]: field["value"] for field in card["properties"]}
        judge(door, "card", names, cards, notices)
        for form in ("csv", "json", "parquet"):
            r = api("POST", at("export"), params={"dataset": dataset, "table": "nodes", "format": form}, json={"nodes": bits(range(3), 3)})
            assert r.status_code == 200, r.text
            judge(door, f"selection {form}", names, by_id(read_table(r.content, form)), notices)
        agent = Agent(api.server, api.session.headers["Authorization"].removeprefix("Bearer "))
        columns = ", ".join(f"n.{name} AS {name}" for name in ["id", *names])
        called = agent.result("tools/call", {"name": "query_graph", "arguments": {
            "session_id": session, "gfql_operations": f"MATCH (n) RETURN {columns}", "output_type": "nodes"}})
        # As a client in JavaScript reads it: every number is a double.
        told = json.loads(called["content"][0]["text"], parse_int=float)["rows"]
        judge(door, "tool", names, by_id(told), notices)
    finally:
        viewer.close()


@pytest.mark.parametrize("door", DOORS)
def test_what_comes_in_by_a_file_comes_out(alice, door):
    names = [name for name, kind, *_ in VALUES if door != "orc" or kind not in (pa.uint64(), pa.timestamp("ns"))]
    names = names if door != "orc nanoseconds" else ["nanoseconds"]
    if door in ("xlsx", "xls"):
        beyond = BEYOND_WORKBOOKS | (BEYOND_XLWT if door == "xls" else set())
        names = [name for name in names if name not in beyond]
    record = alice.file(DOORS[door](names), door.split()[0])
    assert record["is_valid"], record
    edges = alice.file(EDGES, "csv")["file_id"]
    made = alice("POST", "/api/v2/upload/datasets/", json={
        "name": "values", "metadata": {}, "edge_files": [edges], "node_files": [record["file_id"]],
        "node_encodings": {"bindings": {"node": "id"}}, "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}}).json()
    dataset = made["data"]["dataset_id"]
    notices = made["data"]["notices"] + record.get("notices", []) + record.get("warnings", [])
    answers(alice, dataset, door, names, notices)
    pictures(alice, dataset, door, names, notices)
    silent = [cell for cell in RESULTS if cell[0] == door and cell[3].startswith("SILENT")]
    assert silent == [], "\n".join(str(cell)[:160] for cell in silent)


# Each gives a request that finds the node whose value is the given one.
def cypher_parameter(name, kind, value):
    return {"gfql_query": f"MATCH (n) WHERE n.{name} = {in_cypher(kind, '$v')} RETURN n.id AS id", "params": {"v": spoken(kind, value)}}


def cypher_list(name, kind, value):
    return {"gfql_query": f"MATCH (n) WHERE n.{name} IN [x IN $v | {in_cypher(kind, 'x')}] RETURN n.id AS id",
            "params": {"v": [spoken(kind, value)]}}


def cypher_literal(name, kind, value):
    # A literal ends at 2^63 - 1, as the language says; the least number has no literal of its own.
    shown = spoken(kind, value)
    shown = f"toInteger('{shown}')" if isinstance(shown, int) and not -2**63 < shown < 2**63 else json.dumps(shown)
    return {"gfql_query": f"MATCH (n) WHERE n.{name} = {in_cypher(kind, shown)} RETURN n.id AS id"}


def gfql(test):
    return lambda name, kind, value: {"gfql_query": [{"type": "Node", "filter_dict": {name: test(in_gfql(kind, value))}}]}


QUESTIONS = {
    "cypher parameter": cypher_parameter,
    "cypher parameter in a list": cypher_list,
    "cypher literal": cypher_literal,
    "gfql value": gfql(lambda v: v),
    "gfql EQ": gfql(lambda v: {"type": "EQ", "val": v}),
    "gfql IsIn": gfql(lambda v: {"type": "IsIn", "options": [v]}),
    "gfql Between": gfql(lambda v: {"type": "Between", "lower": v, "upper": v}),
}


def find_by_question(api, dataset, request):
    r = api("POST", f"/api/v2/datasets/{dataset}/gfql/nodes", json={**request, "format": "json"})
    return ({row["id"] for row in r.json()} if r.status_code == 200 else None), r.text


def find_by_tool(agent, session, operations):
    r = agent.ask("tools/call", {"name": "query_graph", "arguments": {
        "session_id": session, "gfql_operations": operations, "output_type": "nodes"}}).json()
    told = r.get("result", {}).get("content", [{}])[0].get("text", json.dumps(r))
    failed = "error" in r or r["result"].get("isError")
    answer = {} if failed else json.loads(told)
    if failed or "error" in answer:
        return None, told
    return {row["id"] for row in answer["rows" if "rows" in answer else "nodes"]}, told


def find_by_filter(api, at, dataset, ids, rule):
    r = api("POST", at("find"), params={"dataset": dataset}, json=rule)
    if r.status_code != 200:
        return None, r.text
    return {ids[i] for i in unpacked(r.json()["nodes"])}, r.text


def unpacked(nodes):
    held = zlib.decompress(base64.b64decode(nodes), -15)
    return [i for i in range(8 * len(held)) if held[i // 8] >> i % 8 & 1]


def weigh(door, name, found, want, text, notices):
    """Notes whether a question found the node that it asks for."""
    if found is None:
        # A refusal names what was refused.
        state = f"refused {text[:200]}" if "digits" in text or "64 bits" in text or name in text else f"SILENT {text[:120]}"
    elif found == want:
        state = "equal"
    else:
        state = "notice" if said(notices, name) else f"SILENT {sorted(found)} for {sorted(want)}"
    note("compare", door, name, state)


def test_what_is_asked_for_is_found(alice):
    record = alice.file(arrow(NAMES), "arrow")
    edges = alice.file(EDGES, "csv")["file_id"]
    made = alice("POST", "/api/v2/upload/datasets/", json={
        "name": "values", "metadata": {}, "edge_files": [edges], "node_files": [record["file_id"]],
        "node_encodings": {"bindings": {"node": "id"}}, "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}}).json()
    dataset, notices = made["data"]["dataset_id"], made["data"]["notices"] + record["notices"]
    session, viewer = open_session(alice, dataset)
    agent = Agent(alice.server, alice.session.headers["Authorization"].removeprefix("Bearer "))
    at = lambda path: f"/viz/{session}/{path}"  # noqa: E731
    ids = [alice("GET", at(f"node/{i}"), params={"dataset": dataset}).json()["id"] for i in range(3)]
    try:
        for name, kind, *pair in VALUES:
            for value, node in zip(pair, ("n1", "n2")):
                # NaN counts as null everywhere, and equals nothing.
                if value != value:
                    continue
                want = {node}
                for door, request in QUESTIONS.items():
                    weigh(door, name, *reply(find_by_question(alice, dataset, request(name, kind, value)), want), notices)
                    operations = request(name, kind, value)
                    if "params" not in operations:
                        found = find_by_tool(agent, session, operations["gfql_query"])
                        weigh(f"tool, {door}", name, *reply(found, want), notices)
                shown = spoken(kind, value)
                literal = f"'{shown}'" if isinstance(shown, str) else repr(shown)
                rules = {"find by text": {"text": f"{name} = {literal}"}, "find in a list": {"text": f"{name} in ({literal})"},
                         "find between": {"text": f"{name} between {literal} and {literal}"},
                         "brush of values": {"rule": {"brush": {"axis": "node", "column": name, "values": [shown]}}}}
                for door, rule in rules.items():
                    weigh(door, name, *reply(find_by_filter(alice, at, dataset, ids, rule), want), notices)
        nothing = find_by_filter(alice, at, dataset, ids, {"text": "not_a_number is null"})
        weigh("find by text", "not_a_number", *reply(nothing, {"n0", "n1"}), notices)
    finally:
        viewer.close()
    silent = [cell for cell in RESULTS if cell[0] == "compare" and cell[3].startswith("SILENT")]
    assert silent == [], "\n".join(str(cell)[:240] for cell in silent)


def reply(found, want):
    """What was found, what was asked for, and the text of the answer."""
    return found[0], want, found[1]


def test_the_table():
    """Prints what became of each value by door, and in how many exits."""
    for door in [*DOORS, "compare"]:
        cells = [cell for cell in RESULTS if cell[0] == door]
        states = {name: sorted({cell[3].split()[0] for cell in cells if cell[2] == name}) for name in NAMES}
        print(f"{door:16}", len(cells), "cells:", ", ".join(f"{name} {'/'.join(s)}" for name, s in states.items() if s))
    assert RESULTS and not [cell for cell in RESULTS if cell[3].startswith("SILENT")]
