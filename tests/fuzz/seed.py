"""Writes the seeds of the fuzz targets into tests/fuzz/corpus: small valid and nearly valid files of every kind.

The first byte of an input chooses options (see src/main.rs). Run it again after a format has got a new feature;
inputs that a run of the fuzzer has found worth keeping lie beside the seeds under their hashes.
"""

import bz2
import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import xlwt

CORPUS = Path(__file__).parent / "corpus"
FRAME = pd.DataFrame({"s": ["a", "b", None], "n": [1, 2, 3], "f": [0.5, None, 2.5], "ok": [True, False, True],
                      "t": pd.to_datetime(["2020-01-01", "2021-06-30", None])})
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)
NESTED = pa.table({"l": [[1, 2], [], None], "m": [{"a": 1, "b": "x"}, None, {"a": 2, "b": "y"}],
                   "d": pa.array(["x", "y", "x"]).dictionary_encode(), "b": [b"\0\1", b"", None]})


def sink(write):
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def ipc(table, new, **options):
    def write(out):
        with new(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as w:
            w.write_table(table, max_chunksize=2)
    return sink(write)


def workbook():
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["s", "n", "when", "sum"])
    sheet.append(["a", 1, pd.Timestamp("2020-01-01").to_pydatetime(), "=B2*2"])
    sheet.append([None, 2.5, "text", True])
    book.create_sheet("more").append([1, 2, 3])
    return sink(book.save)


def old_workbook():
    book = xlwt.Workbook()
    sheet = book.add_sheet("one")
    for r, row in enumerate([["s", "n"], ["a", 1], ["b", 2.5], [None, True]]):
        for c, value in enumerate(row):
            sheet.write(r, c, value)
    return sink(book.save)


CSV = ["a,b\n1,2\n3,4\n", 'a,b\n"q,1","x""y"\n"l\nm",2\n', "a;b\n1.000,5;x\n", "a b  c\n1 2  3\n", "\ufeffa,b\r\n1,\r\n\r\n,2\r\n",
       "#c\na,b\n1,2 # d\n", "a,a,,b\n1,2,3,4\n", "a,b\n1\n1,2,3\n", "d\n2020-01-01\nx\n", "a,b\nNA,True\nnan,False\n", '"a', "",
       "a::b\n1::2\n", "a,b\n18446744073709551615,-9223372036854775808\n1e400,inf\n"]
SHAPES = [("records", {}), ("split", {}), ("index", {}), ("columns", {}), ("values", {}), ("table", {})]
QUERIES = ["sep=%3B&nrows=3", "names=a,b&usecols=[0]&header=0", "dtype={\"a\":\"str\"}&parse_dates=true", "orient=split&lines=true",
           "columns=a,b&row_groups=[0]", "skiprows=1&num_rows=2", "SELECT 1", '[{"name":"x","sql":"SELECT * FROM data"}]',
           "encoding=utf-16&quoting=3&byte_range=1,2"]


GFQL = [
    [{"type": "Node", "filter_dict": {"type": "A", "i": {"type": "GT", "val": 1}}, "name": "a"},
     {"type": "Edge", "direction": "forward", "min_hops": 1, "max_hops": 3, "edge_match": {"w": {"type": "Between", "lower": 1, "upper": 5}},
      "label_node_hops": "hop", "output_min_hops": 1}, {"type": "Node", "query": "f > 0.5 and t != 'x'", "name": "b"}],
    {"type": "Chain", "chain": [{"type": "Node", "name": "a"}, {"type": "Edge", "direction": "undirected", "to_fixed_point": True},
                                {"type": "Node", "name": "b"}], "where": [{"lt": {"left": "a.i", "right": "b.i"}}]},
    {"type": "Let", "bindings": {"x": [{"type": "Node"}], "y": {"type": "Ref", "ref": "x", "chain": [{"type": "Edge", "direction": "reverse", "hops": 2}]}}},
    [{"type": "Call", "function": "rows", "params": {"table": "nodes"}},
     {"type": "Call", "function": "with_", "params": {"items": [["x", "[v IN range(1, i) WHERE v % 2 = 0 | v * f]"]], "extend": True}},
     {"type": "Call", "function": "unwind", "params": {"expr": "x", "as_": "v"}},
     {"type": "Call", "function": "group_by", "params": {"keys": ["type"], "aggregations": [["n", "count"], ["s", "sum", "v"]]}},
     {"type": "Call", "function": "order_by", "params": {"keys": [["n", "desc"]]}}],
    [{"type": "Call", "function": "rows", "params": {"binding_ops": [
        {"type": "Node", "name": "a"}, {"type": "Edge", "direction": "forward", "name": "e"}, {"type": "Node", "name": "b"}]}},
     {"type": "Call", "function": "where_rows", "params": {"expr": "CASE WHEN a.t IS NULL THEN b.b ELSE a.t =~ 'x.*' END"}},
     {"type": "Call", "function": "distinct", "params": {}}, {"type": "Call", "function": "limit", "params": {"value": "2"}}],
    [{"type": "Call", "function": "get_degrees", "params": {}}, {"type": "Node", "filter_dict": {"degree": {"type": "IsIn", "options": [1, None]},
      "t": {"type": "AllOf", "predicates": [{"type": "Match", "pat": "[a-z]", "flags": 2}, {"type": "NotNA"}]}}}],
]
CYPHER = ["MATCH (a:A)-[r:X*1..3]->(b) WHERE a.i < b.i RETURN a.t AS t, count(r) AS n ORDER BY n DESC LIMIT 2",
          "MATCH p = shortestPath((a {id: 'a'})-[*]-(b {id: 'c'})) RETURN length(p), [n IN nodes(p) | n.id]",
          "OPTIONAL MATCH (a)-->(b) WITH a, collect(b.f) AS fs UNWIND fs AS f RETURN a.id, avg(f), max(fs)",
          "RETURN date('2024-02-29') + duration('P1M') AS d, toString(1.5) + 'x', $a, $c.d, CASE WHEN $a = 1 THEN [1, 2][0] END",
          "MATCH (a), (b) WHERE NOT (a)-->(b) AND EXISTS { (b)-->() } RETURN DISTINCT a.type UNION MATCH (c) RETURN c.t",
          "RETURN reduce(s = '', x IN split('a,b', ',') | s + x), all(x IN [1, null] WHERE x > 0), {a: {b: [1]}}.a.b",
          "GRAPH g = GRAPH { MATCH (a:A)-[r:X*1..2]-(b) WHERE a.i > 0 OR b.f < a.f } GRAPH { USE g CALL graphistry.degree.write() MATCH (c {degree: 1}) }",
          "GRAPH g = GRAPH { MATCH (a)-->(b) WHERE a.i < b.i OPTIONAL MATCH (b)--(c) } USE g MATCH (n) RETURN n.id, n.a"]


def seeds():
    arrow = [ipc(t, new, compression=c) for t in (TABLE, NESTED) for new in (pa.ipc.new_file, pa.ipc.new_stream)
             for c in (None, "lz4", "zstd")]
    yield "arrow", [b"\0" + a for a in arrow]
    yield "csv", [bytes([i]) + t.encode() for i in range(16) for t in CSV[i % 3::3]]
    plain = FRAME.astype({"t": str})
    shaped = [plain.to_json(orient=o) for o, _ in SHAPES] + [plain.to_json(orient="records", lines=True)]
    shaped += ['{"s":["a"],"d":["b"],"agent_name":"x"}', '[{"a":{"b":[1,{"c":null}]}},{"a":1e999}]', "[[1,2],[3]]", '"a,b\\n1,2"']
    yield "json", [bytes([i]) + t.encode() for i in range(9) for t in shaped[i % 2::2]]
    orc = [sink(lambda o, c=c: pa.orc.write_table(TABLE.select(["s", "n", "f", "ok"]), o, compression=c))
           for c in ("uncompressed", "zlib", "snappy", "zstd", "lz4")]
    yield "orc", [b"\0" + o for o in orc]
    parquet = [sink(lambda o, c=c, t=t: pa.parquet.write_table(t, o, compression=c, row_group_size=2))
               for c in ("none", "snappy", "gzip", "zstd", "lz4", "brotli") for t in (TABLE, NESTED)]
    yield "parquet", [b"\0" + p for p in parquet]
    yield "xlsx", [b"\0" + workbook()]
    yield "xls", [b"\0" + old_workbook()]
    text = CSV[0].encode()
    member = sink(lambda o: zipfile.ZipFile(o, "w", zipfile.ZIP_DEFLATED).writestr("a.csv", text))
    stored = sink(lambda o: zipfile.ZipFile(o, "w").writestr("a.csv", text))
    bodies = [gzip.compress(text), gzip.compress(text) * 2, bz2.compress(text), member, stored, lzma.compress(text),
              lzma.compress(text, check=lzma.CHECK_CRC32) * 2, gzip.compress(gzip.compress(text)), text]
    kinds = [1, 1, 2, 3, 3, 4, 4, 1, 0]
    yield "compressed", [bytes([k]) + b for k, b in zip(kinds, bodies)]
    yield "gfql", [b"\0" + json.dumps(q).encode() for q in GFQL]
    yield "cypher", [b"\0" + q.encode() for q in CYPHER]
    yield "options", [bytes([i % 7]) + q.encode() for i, q in enumerate(QUERIES * 2)]


if __name__ == "__main__":
    for target, inputs in seeds():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("seed-*"):
            old.unlink()
        for i, data in enumerate(inputs):
            (folder / f"seed-{i:02}").write_bytes(data)
        print(target, len(inputs), "seeds,", sum(map(len, inputs)), "bytes")
