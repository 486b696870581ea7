"""Every feature of the parse worker once through the shipped server, whose workers are confined.

What a library does inside is not known from its name: a query engine wants an event queue, a decompressor a thread. So
each option of each format and each kind of query is asked for here; the formats in each compression are in
test_formats.py, the hypergraph's options in test_hypergraph.py.
"""

import io
import re

import openpyxl
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest
import requests
import xlwt

from conftest import Server, counted, until
from test_formats import COMPRESSIONS, CONTENTS, pack

INT, FLOAT, TEXT, BOOL, TIME = "int64", "double", "string", "bool", "timestamp"
SMALL = pa.table({"a": [1, 2, 3, 4], "b": ["w", "x", "y", "z"]})


def sink(write):
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def book(file_type):
    """A sheet of two columns under a title, and a second sheet."""
    rows = [["title", None], ["a", "b"], [1, "x"], [2, "-"], [3, "z"]]
    if file_type == "xls":
        made = xlwt.Workbook()
        for name in ("one", "two"):
            sheet = made.add_sheet(name)
            for r, row in enumerate(rows):
                for c, value in enumerate(row):
                    if value is not None:
                        sheet.write(r, c, value)
        return sink(made.save)
    made = openpyxl.Workbook()
    made.active.title = "one"
    for sheet in (made.active, made.create_sheet("two")):
        for row in rows:
            sheet.append(row)
    return sink(made.save)


PARQUET = sink(lambda out: pa.parquet.write_table(SMALL, out, row_group_size=2))
ORC = sink(lambda out: pa.orc.write_table(SMALL, out))
BOOKS = {"xls": book("xls"), "xlsx": book("xlsx")}
JSON = b'[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]'

# (format, option): its value with what else it needs, the bytes, and the rows and columns with their types that come out.
OPTIONS = {
    ("csv", "byte_range"): ({"byte_range": [4, 8]}, b"a,b\n1,2\n3,4\n5,6\n", 2, None),
    ("csv", "comment"): ({"comment": "#"}, b"a,b\n1,2#no\n#no\n", 1, {"a": INT, "b": INT}),
    ("csv", "compression"): ({"compression": "gzip"}, pack("gzip", b"a,b\n1,2\n"), 1, {"a": INT, "b": INT}),
    ("csv", "decimal"): ({"decimal": ",", "sep": ";"}, b"a;b\n1,5;2\n", 1, {"a": FLOAT, "b": INT}),
    ("csv", "delim_whitespace"): ({"delim_whitespace": True}, b"a  b\n1   2\n", 1, {"a": INT, "b": INT}),
    ("csv", "delimiter"): ({"delimiter": "|"}, b"a|b\n1|2\n", 1, {"a": INT, "b": INT}),
    ("csv", "doublequote"): ({"doublequote": False, "escapechar": "\\"}, b'a,b\n"x\\"y",2\n', 1, {"a": TEXT, "b": INT}),
    ("csv", "dtype"): ({"dtype": {"a": "str"}}, b"a,b\n01,2\n", 1, {"a": TEXT, "b": INT}),
    ("csv", "encoding"): ({"encoding": "utf-16"}, "a,b\nä,2\n".encode("utf-16"), 1, {"a": TEXT, "b": INT}),
    ("csv", "escapechar"): ({"escapechar": "\\"}, b"a,b\nx\\,y,2\n", 1, {"a": TEXT, "b": INT}),
    ("csv", "false_values"): ({"true_values": ["ja"], "false_values": ["nein"]}, b"a\nja\nnein\n", 2, {"a": BOOL}),
    ("csv", "header"): ({"header": "none"}, b"1,2\n3,4\n", 2, {"0": INT, "1": INT}),
    ("csv", "keep_default_na"): ({"keep_default_na": False}, b"a,b\nNA,2\n", 1, {"a": TEXT, "b": INT}),
    ("csv", "lineterminator"): ({"lineterminator": ";"}, b"a,b;1,2;3,4", 2, {"a": INT, "b": INT}),
    ("csv", "mangle_dupe_cols"): ({"mangle_dupe_cols": True}, b"a,a\n1,2\n", 1, {"a": INT, "a.1": INT}),
    ("csv", "na_filter"): ({"na_filter": False}, b"a,b\nNA,2\n", 1, {"a": TEXT, "b": INT}),
    ("csv", "na_values"): ({"na_values": ["none at all"]}, b"a,b\nnone at all,2\n3,4\n", 2, {"a": INT, "b": INT}),
    ("csv", "names"): ({"names": ["x", "y"]}, b"1,2\n3,4\n", 2, {"x": INT, "y": INT}),
    ("csv", "nrows"): ({"nrows": 1}, b"a,b\n1,2\n3,4\n", 1, {"a": INT, "b": INT}),
    ("csv", "parse_dates"): ({"parse_dates": ["a"]}, b"a,b\n2020-01-02,2\n", 1, {"a": TIME, "b": INT}),
    ("csv", "prefix"): ({"prefix": "c", "header": "none"}, b"1,2\n", 1, {"c0": INT, "c1": INT}),
    ("csv", "quotechar"): ({"quotechar": "'"}, b"a,b\n'x,y',2\n", 1, {"a": TEXT, "b": INT}),
    ("csv", "quoting"): ({"quoting": 3}, b'a,b\n"x,2\n', 1, {"a": TEXT, "b": INT}),
    ("csv", "sep"): ({"sep": "[;|]"}, b"a;b\n1|2\n", 1, {"a": INT, "b": INT}),
    ("csv", "skip_blank_lines"): ({"skip_blank_lines": False}, b"a,b\n1,2\n\n3,4\n", 3, None),
    ("csv", "skipfooter"): ({"skipfooter": 1}, b"a,b\n1,2\nend\n", 1, {"a": INT, "b": INT}),
    ("csv", "skipinitialspace"): ({"skipinitialspace": True}, b"a, b\n1, x\n", 1, {"a": INT, "b": TEXT}),
    ("csv", "skiprows"): ({"skiprows": 1}, b"title\na,b\n1,2\n", 1, {"a": INT, "b": INT}),
    ("csv", "thousands"): ({"thousands": "'"}, b"a,b\n1'000,2\n", 1, {"a": INT, "b": INT}),
    ("csv", "true_values"): ({"true_values": ["ja"], "false_values": ["nein"]}, b"a\nja\nnein\n", 2, {"a": BOOL}),
    ("csv", "usecols"): ({"usecols": ["b"]}, b"a,b\n1,2\n", 1, {"b": INT}),
    ("json", "compression"): ({"compression": "gzip"}, pack("gzip", JSON), 2, {"a": INT, "b": TEXT}),
    ("json", "dtype"): ({"dtype": {"a": "float64"}}, JSON, 2, {"a": FLOAT, "b": TEXT}),
    ("json", "lines"): ({"lines": True}, b'{"a": 1}\n{"a": 2}\n', 2, {"a": INT}),
    ("json", "orient"): ({"orient": "values"}, b'[[1, "x"]]', 1, {"0": INT, "1": TEXT}),
    ("parquet", "columns"): ({"columns": ["b"]}, PARQUET, 4, {"b": TEXT}),
    ("parquet", "row_groups"): ({"row_groups": [1]}, PARQUET, 2, {"a": INT, "b": TEXT}),
    ("orc", "columns"): ({"columns": ["a"]}, ORC, 4, {"a": INT}),
    ("orc", "num_rows"): ({"num_rows": 3}, ORC, 3, {"a": INT, "b": TEXT}),
    ("orc", "skiprows"): ({"skiprows": 1}, ORC, 3, {"a": INT, "b": TEXT}),
    **{(kind, name): ({"skiprows": 1, "sheet_name": "two", **options}, BOOKS[kind], rows, columns)
       for kind in BOOKS for name, options, rows, columns in [
           ("sheet_name", {}, 3, {"a": INT, "b": TEXT}),
           ("skiprows", {}, 3, {"a": INT, "b": TEXT}),
           ("header", {"header": "none"}, 4, {"0": TEXT, "1": TEXT}),
           ("names", {"names": ["x", "y"]}, 3, {"x": INT, "y": TEXT}),
           ("usecols", {"usecols": ["b"]}, 3, {"b": TEXT}),
           ("dtype", {"dtype": {"a": "str"}}, 3, {"a": TEXT, "b": TEXT}),
           ("nrows", {"nrows": 2}, 2, {"a": INT, "b": TEXT}),
           ("na_values", {"na_values": ["-"]}, 3, {"a": INT, "b": TEXT}),
       ]},
}

PEOPLE = b"who,team,at,points\nann,red,2020-01-01,1\nbob,red,2021-06-30,5\ncy,blue,2022-02-02,3\ndee,blue,,\n"
# Kind of query: its text over PEOPLE, and the rows that come out as CSV, the header first.
QUERIES = {
    "filter": ("SELECT who FROM data WHERE points > 2", "who\nbob\ncy\n"),
    "IN and LIKE": ("SELECT who FROM data WHERE team IN ('red') AND who LIKE 'b%'", "who\nbob\n"),
    "BETWEEN and NULL": ("SELECT who FROM data WHERE points BETWEEN 1 AND 3 OR points IS NULL", "who\nann\ncy\ndee\n"),
    "expressions": ("SELECT who, CASE WHEN points > 2 THEN 'much' ELSE 'little' END AS n FROM data WHERE points > 0",
                    "who,n\nann,little\nbob,much\ncy,much\n"),
    "text functions": ("SELECT UPPER(who) || '!' AS w FROM data LIMIT 1", "w\nANN!\n"),
    "numbers": ("SELECT ROUND(SQRT(points * 1.0), 2) AS r FROM data WHERE points = 5", "r\n2.24\n"),
    "times": ("SELECT EXTRACT(YEAR FROM CAST(at AS DATE)) AS y FROM data WHERE who = 'bob'", "y\n2021\n"),
    "casts": ("SELECT CAST(points AS SMALLINT) AS s, CAST(points AS VARCHAR) AS t FROM data WHERE who = 'ann'", "s,t\n1,1\n"),
    "group": ("SELECT team, COUNT(*) AS n, SUM(points) AS s, AVG(points) AS m, MAX(points) AS h FROM data GROUP BY team "
              "HAVING COUNT(*) > 1 ORDER BY team", "team,n,s,m,h\nblue,2,3,3.0,3\nred,2,6,3.0,5\n"),
    "distinct": ("SELECT DISTINCT team FROM data ORDER BY team", "team\nblue\nred\n"),
    "sort": ("SELECT who FROM data ORDER BY points DESC NULLS LAST LIMIT 2 OFFSET 1", "who\ncy\nann\n"),
    "join": ("SELECT a.who, b.who AS mate FROM data AS a JOIN data AS b ON a.team = b.team WHERE a.who < b.who ORDER BY a.who",
             "who,mate\nann,bob\ncy,dee\n"),
    "left join": ("SELECT a.who, b.points FROM data AS a LEFT JOIN (SELECT * FROM data WHERE points > 4) AS b ON a.who = b.who "
                  "ORDER BY a.who", "who,points\nann,\nbob,5\ncy,\ndee,\n"),
    "cross join": ("SELECT COUNT(*) AS n FROM data AS a CROSS JOIN data AS b", "n\n16\n"),
    "semi join": ("SELECT who FROM data WHERE who IN (SELECT who FROM data WHERE points > 2) ORDER BY who", "who\nbob\ncy\n"),
    "union": ("SELECT who FROM data WHERE points > 4 UNION ALL SELECT who FROM data WHERE points < 2", "who\nbob\nann\n"),
    "common table, read twice": ("WITH t AS (SELECT team, SUM(points) AS s FROM data GROUP BY team) SELECT x.team, x.s FROM t AS x "
                                 "JOIN t AS y ON x.team = y.team ORDER BY x.team", "team,s\nblue,3\nred,6\n"),
    "window": ("SELECT who, SUM(points) OVER (PARTITION BY team) AS s, ROW_NUMBER() OVER (PARTITION BY team ORDER BY who) AS k "
               "FROM data ORDER BY who", "who,s,k\nann,6,1\nbob,6,2\ncy,3,1\ndee,3,2\n"),
    "rank": ("SELECT who, RANK() OVER (ORDER BY points) AS r FROM data WHERE points > 0 ORDER BY who", "who,r\nann,1\nbob,3\ncy,2\n"),
    "running sum": ("SELECT who, SUM(points) OVER (ORDER BY who ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s FROM data "
                    "WHERE points > 0 ORDER BY who", "who,s\nann,1\nbob,6\ncy,9\n"),
}

EVERY_EDGE = [{"type": "Node"}, {"type": "Edge", "direction": "undirected"}, {"type": "Node"}]

# Transform of PEOPLE: its edges.
HYPERGRAPHS = {
    "defaults": ({}, 14),
    "direct": ({"direct": True, "entity_types": ["who", "team"]}, 4),
    "categories": ({"opts": {"CATEGORIES": {"n": ["who", "team"]}}, "entity_types": ["who", "team"]}, 8),
}


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    """A server on which confined workers are ready."""
    s = Server(tmp_path_factory.mktemp("features") / "data").start()

    def parsers():
        told = requests.get(s.internal_url + "/check-workers").json()["workers"]
        return [w for w in told if w["kind"] == "parse"]

    until(parsers, "parse workers are ready")
    assert "unconfined" not in s.output()
    yield s.api()
    assert s.stop() == 0, s.output()


def columns(record):
    """Of the only table: its rows, and its columns with the plain names of their types."""
    assert record["is_valid"] and record["errors"] == [], record
    [table] = record["tables_schemas"]
    plain = {"large_string": TEXT, "str": TEXT, "object": TEXT, "float64": FLOAT, "boolean": BOOL}
    kinds = {name: plain.get(kind, TIME if kind.startswith(("timestamp", "datetime")) else kind) for name, kind in table["dtypes"].items()}
    return table["num_rows"], kinds


@pytest.mark.parametrize("cell", OPTIONS, ids=" ".join)
def test_each_option_works_in_a_confined_worker(api, cell):
    options, body, rows, kinds = OPTIONS[cell]
    found = columns(api.file(body, cell[0], parser_options=options))
    assert found[0] == rows, found
    assert kinds is None or found[1] == kinds


@pytest.mark.parametrize("kind", sorted({kind for kind, *_ in CONTENTS.values()}))
def test_no_option_is_left_out(api, kind):
    record = api.file(b"x", kind, parser_options={"nope": 1})
    message = record["errors"][0]["message"]
    known = set(re.search(r"the options are: (.*)", message).group(1).split(", ")) - {"none"}
    assert known == {name for k, name in OPTIONS if k == kind}


@pytest.mark.parametrize("how", [c for c in COMPRESSIONS if c])
def test_each_compression_is_undone(api, how):
    assert columns(api.file(pack(how, b"a,b\n1,2\n"), "csv", file_compression=how)) == (1, {"a": INT, "b": INT})


@pytest.mark.parametrize("kind", QUERIES)
def test_each_kind_of_sql_works_in_a_confined_worker(api, kind):
    sql, want = QUERIES[kind]
    header, *lines = want.splitlines()
    names = header.split(",")
    record = api.file(PEOPLE, "csv", sql_transforms=[sql])
    assert columns(record)[0] == len(lines) and list(columns(record)[1]) == names, record
    # The rows themselves, as the edges of a graph.
    dataset = api.dataset(edge_files=[record["file_id"]], edges={"source": names[0], "destination": names[-1]})
    r = api("POST", f"/api/v2/datasets/{dataset}/gfql/edges", json={"gfql_query": EVERY_EDGE, "format": "json"})
    assert r.status_code == 200, r.text
    drawn = [",".join("" if row[n] is None else str(row[n]) for n in names) for row in r.json()]
    assert sorted(drawn) == sorted(line for line in lines if not line.endswith(","))


def test_sql_sees_the_results_before_it_and_every_format(api):
    """As of each format, whose tables the engine takes over without a copy."""
    for kind, body in [("csv", PEOPLE), ("json", JSON), ("parquet", PARQUET), ("orc", ORC), *BOOKS.items()]:
        queries = {"every": "SELECT * FROM data", "one": "SELECT * FROM every LIMIT 1"}
        record = api.file(body, kind, sql_transforms=queries)
        assert record["is_valid"], (kind, record)
        assert [t["name"] for t in record["tables_schemas"]] == ["every", "one"], kind


def test_a_wrong_query_says_what_is_wrong_with_it(api):
    for sql, *parts in [
        ("SELECT nothing FROM data", '"nothing"', "valid columns"), ("SELECT whoo FROM data", 'did you mean "who"?'),
        ("SELEC who FROM data", "no SQL", "Line: 1, Column: 1"), ("SELECT who FROM elsewhere", "'elsewhere'", "the tables are data"),
        ("SELECT who FROM data WHERE who REGEXP '('", "unclosed group"),
        ("SELECT who FROM data WHERE EXISTS (SELECT 1 FROM data)", "not supported", "Column: 36"),
    ]:
        [error] = api.file(PEOPLE, "csv", sql_transforms=[sql])["errors"]
        assert error["slug"] == "invalid-option" and all(part in error["message"] for part in parts), error


@pytest.mark.parametrize("name", HYPERGRAPHS)
def test_hypergraphs_are_made(api, name):
    transform, rows = HYPERGRAPHS[name]
    record = api.file(PEOPLE, "csv")
    dataset = api.dataset(edge_files=[record["file_id"]], edges={"source": "EventID", "destination": "attribID"} | (
        {"source": "src", "destination": "dst"} if transform.get("direct") else {}), edge_hypergraph_transform=[transform])
    assert counted(api, dataset)["edge_count"] == rows
