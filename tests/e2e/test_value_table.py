"""One table of values through every door and every exit: each cell is equal, refused by name, or said in a notice."""

import csv
import datetime
import io
import json
import zipfile

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
from value_table import EDGES, NAMES, VALUES, canon, found_in, table, wanted

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
# What a workbook holds is doubles; the digits beyond are lost before the file is written, by whoever wrote it.
BEYOND_WORKBOOKS = {"two_53_and_1", "two_63_less_1", "two_63_and_5", "two_64_less_1", "least_64", "end_of_dates", "far", "minus_zero",
                    "digits_38", "fraction_38"}


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


def wanted_of(door, name):
    """What comes out. Numbers with a fraction in CSV and JSON are read as floats, as pandas does and the documents say."""
    found = wanted(name)
    if door in ("csv", "json") and name == "fraction_38":
        return [v if v is None else canon(float(v[1])) for v in found]
    return found


def judge(door, exit, names, got, notices):
    """Notes what became of each column; `got` has rows by the id of their node."""
    for name in names:
        found = [found_in(name, got[f"n{i}"].get(name)) for i in range(3)]
        want = wanted_of(door, name)
        if want != wanted(name):
            # The text of a float says the float.
            found = [v if v is None else canon(float(v[1])) for v in found]
        if found == want:
            note(door, exit, name, "equal" if want == wanted(name) else "as pandas")
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
        names = [name for name in names if name not in BEYOND_WORKBOOKS]
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


def test_the_table():
    """Prints what became of each value by door, and in how many exits."""
    for door in DOORS:
        cells = [cell for cell in RESULTS if cell[0] == door]
        states = {name: sorted({cell[3].split()[0] for cell in cells if cell[2] == name}) for name in NAMES}
        print(f"{door:16}", len(cells), "cells:", ", ".join(f"{name} {'/'.join(s)}" for name, s in states.items() if s))
    assert RESULTS and not [cell for cell in RESULTS if cell[3].startswith("SILENT")]
