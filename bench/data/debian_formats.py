#!/usr/bin/env python3
"""The Debian dependency graph through every upload format, up to the page.

    debian_formats.py --bin graphlume --data DIR [--formats csv,orc] [--out table.md]

DIR is what `debian_graph.py --out DIR` wrote. Nodes and edges are written in each format, uploaded as files to a
server that is started for the purpose, joined to a dataset, and opened in headless Chromium. The table says, by format:
the bytes of both files, the seconds of uploading and parsing them and of building the graph, and whether the page
shows as many nodes and edges as the source has. A sheet has only so many rows; where edges are cut for that, the
row says so. Exits with 1 when a count differs.

Needs the packages of tests/requirements.txt, Node.js and Chromium.
"""

import argparse
import gzip
import io
import os
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

BINDINGS = {"edges": {"source": "package", "destination": "depends_on"}, "nodes": {"node": "package"}}


def sink(write):
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def table(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def ipc(opener):
    def written(frame):
        def write(out):
            with opener(out, table(frame).schema) as w:
                w.write_table(table(frame))
        return sink(write)
    return written


def xlsx(frame):
    options = {"options": {"strings_to_urls": False, "strings_to_formulas": False}}

    def write(out):
        with pd.ExcelWriter(out, engine="xlsxwriter", engine_kwargs=options) as w:
            frame.to_excel(w, index=False)
    return sink(write)


def xls(frame):
    import xlwt

    book = xlwt.Workbook()
    sheet = book.add_sheet("Sheet1")
    for c, name in enumerate(frame.columns):
        sheet.write(0, c, name)
        for r, value in enumerate(frame[name].tolist(), 1):
            sheet.write(r, c, value)
    return sink(book.save)


def text(write):
    return lambda frame: write(frame).encode()


as_csv = text(lambda frame: frame.to_csv(index=False))
as_records = text(lambda frame: frame.to_json(orient="records"))
as_lines = text(lambda frame: frame.to_json(orient="records", lines=True))

# Name: (fields of the file's record, writer, rows below the header that one sheet takes).
FORMATS = {
    "csv": ({"file_type": "csv"}, as_csv, None),
    "csv.gz": ({"file_type": "csv", "file_compression": "gzip"}, lambda f: gzip.compress(as_csv(f)), None),
    "json records": ({"file_type": "json"}, as_records, None),
    "json lines": ({"file_type": "json", "parser_options": {"lines": True}}, as_lines, None),
    "arrow file": ({"file_type": "arrow"}, ipc(pa.ipc.new_file), None),
    "arrow stream": ({"file_type": "arrow"}, ipc(pa.ipc.new_stream), None),
    "parquet": ({"file_type": "parquet"}, lambda f: sink(lambda out: pa.parquet.write_table(table(f), out)), None),
    "orc": ({"file_type": "orc"}, lambda f: sink(lambda out: pa.orc.write_table(table(f), out)), None),
    "xlsx": ({"file_type": "xlsx"}, xlsx, 1_048_575),
    "xls": ({"file_type": "xls"}, xls, 65_535),
}


def expected(nodes, edges):
    """How many nodes and edges the graph of these tables has."""
    ends = pd.unique(pd.concat([nodes["package"], edges["package"], edges["depends_on"]]))
    return len(ends), len(edges)


def put(api, name, nodes, edges):
    """Uploads the tables in one format; returns the dataset and a row of figures."""
    from conftest import counted

    fields, write, rows_max = FORMATS[name]
    cut = [rows_max is not None and len(frame) > rows_max for frame in (nodes, edges)]
    nodes, edges = nodes[:rows_max], edges[:rows_max]
    bodies = [write(nodes), write(edges)]
    t = time.perf_counter()
    files = [api.file(body, name=f"debian {name}", **fields) for body in bodies]
    parsed = time.perf_counter()
    assert all(f["is_valid"] for f in files), [f["errors"] for f in files]
    dataset = api.dataset([files[1]["file_id"]], [files[0]["file_id"]], name=f"debian {name}", **BINDINGS)
    record = counted(api, dataset, 120)
    row = {"format": name, "bytes": sum(map(len, bodies)), "parse_s": parsed - t,
           "build_s": time.perf_counter() - parsed, "nodes": record["node_count"], "edges": record["edge_count"],
           "cut": " and ".join(what for what, is_cut in zip(("nodes", "edges"), cut) if is_cut)}
    row["source"] = expected(nodes, edges)
    return dataset, row


def look(url, datasets):
    """What the page of each dataset counts and complains about."""
    from conftest import HANG_S, browser

    # Without playing: the layout is not what is looked at.
    addresses = [f"{url}/graph/graph.html?dataset={dataset}&play=0" for dataset in datasets]
    return browser("counts.mjs", *addresses, timeout=HANG_S * (1 + len(addresses)))


def judge(row, seen):
    """Adds to `row` what the page shows; true when all counts are those of the source."""
    nodes, edges = row["source"]
    words = f"{nodes:,} nodes · {edges:,} edges"
    row["shown"] = (seen["nodes"], seen["edges"]) == row["source"] and seen["shown"] == words and not seen["errors"]
    row["seen"] = seen
    return row["shown"] and (row["nodes"], row["edges"]) == row["source"]


def markdown(rows):
    lines = ["| format | MB | upload and parse, s | graph, s | nodes | edges | the page shows them |",
             "|---|---:|---:|---:|---:|---:|---|"]
    for r in rows:
        cut = f" (cut to the sheet: {r['cut']})" if r["cut"] else ""
        lines.append(f"| {r['format']}{cut} | {r['bytes'] / 1e6:.1f} | {r['parse_s']:.2f} | {r['build_s']:.2f} | "
                     f"{r['nodes']:,} | {r['edges']:,} | {'yes' if r['shown'] else 'NO'} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the program graphlume")
    parser.add_argument("--data", type=Path, required=True, help="folder of nodes.parquet and edges.parquet")
    parser.add_argument("--formats", default=",".join(FORMATS), help="comma-separated; all of them unless given")
    parser.add_argument("--out", type=Path, help="file for the table")
    args = parser.parse_args()
    os.environ["GRAPHLUME_BIN"] = str(Path(args.bin).resolve())
    from conftest import Server

    nodes, edges = (pd.read_parquet(args.data / f"{what}.parquet") for what in ("nodes", "edges"))
    good, rows = True, []
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "data").start(60)
        try:
            for name in args.formats.split(","):
                # A new token, as old ones end while large sheets are written.
                dataset, row = put(server.api(), name, nodes, edges)
                [seen] = look(server.url, [dataset])
                ok = judge(row, seen)
                good = good and ok
                rows.append(row)
                print(markdown([row]).splitlines()[-1] + ("" if ok else f" {row['seen']}"), flush=True)
        finally:
            server.stop()
    if args.out:
        args.out.write_text(markdown(rows))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
