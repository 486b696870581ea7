#!/usr/bin/env python3
"""Graphlume's readers and their peers on the same files, in the same minutes.

    ingest.py --bin graphlume [--data FOLDER] [--rounds 3] [--tasks ints,csv,parquet,jsonl,records,xlsx,orc] [--out table.md]
    ingest.py --bin graphlume --large [--data FOLDER] [--before graphlume]

| task | file |
|---|---|
| ints | CSV of two columns of integers: R-MAT, scale 19, some 110 MB |
| csv | CSV of six columns, 1,048,576 rows: R-MAT, scale 16, with time, amount, kind and name |
| parquet | the same table, written by pyarrow with its defaults |
| jsonl | the same table, one record a line |
| records | the same records as one JSON array |
| orc | the same table, written by pyarrow with its defaults |
| xlsx | the first 100,000 rows as a workbook, written by openpyxl |

`--large` reads a CSV and JSON lines of 1 GB, which are the records of the files above again and again, once a process:
what counts is the peak of memory in lengths of the Arrow table.

Every run is a process of its own, and engine and peers alternate. Each process reads the file several times and its
best counts: CPU seconds, user and system, of all threads. Peak memory is that of the process while it reads, without
what it held before (imports, the runtime), and with the pages of the file where it is mapped. `ratio` is peer / engine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TASKS = ("ints", "csv", "parquet", "jsonl", "records", "orc", "xlsx")
LARGE = ("csv-large", "jsonl-large")
LARGE_BYTES = 1_000_000_000
XLSX_ROWS = 100_000


def make_files(binary, folder, tasks):
    """The files of the tasks, made when missing."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {"ints": "ints.csv", "csv": "edges.csv", "parquet": "edges.parquet", "jsonl": "edges.jsonl", "records": "edges.json",
             "orc": "edges.orc", "xlsx": "edges.xlsx", "csv-large": "large.csv", "jsonl-large": "large.jsonl"}
    files = {task: folder / name for task, name in names.items()}
    make = lambda out, scale, *more: subprocess.run([binary, "generate", "rmat", "--scale", str(scale), "--out", out, *more],
                                                    check=True, capture_output=True)
    if "ints" in tasks and not files["ints"].exists():
        make(files["ints"], 19)
    if not files["csv"].exists():
        make(files["csv"], 16, "--attrs")
    for task in ("parquet", "orc"):
        if task in tasks and not files[task].exists():
            import pyarrow.csv
            import pyarrow.orc
            import pyarrow.parquet

            write = {"parquet": pyarrow.parquet.write_table, "orc": pyarrow.orc.write_table}[task]
            write(pyarrow.csv.read_csv(files["csv"]), files[task])
    for task in ("jsonl", "records"):
        if (task in tasks or f"{task}-large" in tasks) and not files[task].exists():
            import pandas as pd

            pd.read_csv(files["csv"]).to_json(files[task], orient="records", lines=task == "jsonl")
    if "xlsx" in tasks and not files["xlsx"].exists():
        write_workbook(files["csv"], files["xlsx"])
    for task, header in (("csv", True), ("jsonl", False)):
        if f"{task}-large" in tasks and not files[f"{task}-large"].exists():
            repeat_records(files[task], files[f"{task}-large"], header)
    return files


def write_workbook(table, out):
    """The first rows of a CSV as the only sheet of a workbook."""
    import openpyxl
    import pandas as pd

    rows = pd.read_csv(table, nrows=XLSX_ROWS)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("edges")
    sheet.append(list(rows.columns))
    for row in zip(*(rows[name].tolist() for name in rows.columns)):
        sheet.append(row)
    book.save(out)


def repeat_records(source, out, header):
    """The records of a file again and again, up to LARGE_BYTES; a header once."""
    text = source.read_bytes()
    body = text[text.index(b"\n") + 1:] if header else text
    body = body if body.endswith(b"\n") else body + b"\n"
    with out.open("wb") as f:
        left = LARGE_BYTES - f.write(text[:len(text) - len(body)] if header else b"")
        for _ in range(left // len(body)):
            f.write(body)
        f.write(body[:body.rindex(b"\n", 0, left % len(body)) + 1])


def readers(task):
    """Peers by name; each takes a path and returns something with the table in memory."""
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.json
    import pyarrow.orc
    import pyarrow.parquet

    duck = lambda f: lambda p: duckdb.sql(f"select * from {f}('{p}')").to_arrow_table()
    if task == "parquet":
        return {"polars": pl.read_parquet, "pandas": pd.read_parquet, "pyarrow": pa.parquet.read_table,
                "duckdb": duck("read_parquet")}
    if task == "orc":
        return {"pyarrow": pa.orc.read_table, "pandas": pd.read_orc}
    if task == "xlsx":
        return {"openpyxl": sheet_of_openpyxl, "calamine": sheet_of_calamine, "polars": pl.read_excel}
    if task == "records":
        return {"polars": pl.read_json, "pandas": pd.read_json, "duckdb": duck("read_json")}
    if task.startswith("jsonl"):
        return {"polars": pl.read_ndjson, "pandas": lambda p: pd.read_json(p, lines=True), "pyarrow": pa.json.read_json,
                "duckdb": duck("read_json")}
    return {"polars": pl.read_csv, "pandas": lambda p: pd.read_csv(p, engine="c"), "pyarrow": pa.csv.read_csv,
            "duckdb": duck("read_csv")}


def sheet_of_openpyxl(path):
    import openpyxl

    return list(openpyxl.load_workbook(path, read_only=True).active.values)


def sheet_of_calamine(path):
    import python_calamine

    return python_calamine.load_workbook(path).get_sheet_by_index(0).to_python()


def memory(field):
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field))


def peer(args):
    """One peer in this process; prints its figures."""
    os.environ["POLARS_MAX_THREADS"] = str(args.threads)
    read = readers(args.task)[args.peer]
    if args.task == "xlsx":
        import fastexcel  # noqa: F401  polars imports it at its first workbook
        import openpyxl  # noqa: F401
        import python_calamine  # noqa: F401
    import pyarrow as pa

    pa.set_cpu_count(args.threads)
    if args.peer == "duckdb":
        import duckdb

        duckdb.sql(f"set threads to {args.threads}")
    best, peak = None, 0
    for _ in range(args.repeat):
        before = memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        t, c = time.perf_counter(), time.process_time()
        table = read(args.file)
        row = (time.process_time() - c, time.perf_counter() - t)
        best = row if best is None or row < best else best
        peak = max(peak, memory("VmHWM") - before)
        del table
    print(json.dumps({"cpu": best[0], "wall": best[1], "peak": peak}))


def engine(args, binary, path, threads):
    """One `graphlume bench` run."""
    with tempfile.TemporaryDirectory() as tmp:
        out = Path(tmp) / "out.json"
        subprocess.run([binary, "bench", "--task", "parse", "--edges", path, "--out", out, "--threads", str(threads),
                        "--repeat", str(args.repeat)], check=True, capture_output=True)
        doc = json.loads(out.read_text())
    result = doc["result"]
    return {"cpu": min(doc["cpu_seconds"]), "wall": min(doc["seconds"]), "peak": result["parse_bytes"],
            "table": result["table_bytes"], "rows": result["rows"]}


def run_peer(args, name, path, threads, task):
    r = subprocess.run([sys.executable, __file__, "--bin", "-", "--peer", name, "--task", task, "--file", path, "--threads",
                        str(threads), "--repeat", str(args.repeat)], capture_output=True, text=True)
    if r.returncode:
        return {"error": (r.stderr.strip().splitlines() or ["ended"])[-1][:100]}
    return json.loads(r.stdout.strip().splitlines()[-1])


def rounds(args, task, path, counts=(1, 2)):
    """{(who, threads): [a run of each round]}: engine and peers in turn."""
    rows = {}
    # pandas takes 28 times the table.
    peers = [name for name in readers(task) if (name, task) != ("pandas", "jsonl-large")]
    for _ in range(args.rounds):
        for threads in counts:
            rows.setdefault(("graphlume", threads), []).append(engine(args, args.bin, path, threads))
            if args.before:
                rows.setdefault(("before", threads), []).append(engine(args, args.before, path, threads))
            for name in peers:
                if threads == 1 or name not in ("pandas", "openpyxl", "calamine"):
                    rows.setdefault((name, threads), []).append(run_peer(args, name, path, threads, task))
    return rows


def compare(args, task, path):
    rows = rounds(args, task, path)
    size = path.stat().st_size
    ours = {t: statistics.median(r["cpu"] for r in rows["graphlume", t]) for t in (1, 2)}
    table = rows["graphlume", 1][0]["table"]
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    lines = [f"### {task}: {path.name}, {size / 1e6:.0f} MB, {rows['graphlume', 1][0]['rows']:,} rows, "
             f"{table / 1e6:.0f} MB as Arrow (load {load}, medians of {args.rounds} rounds)", "",
             "| who | threads | CPU s | wall s | MB/s of CPU | ratio | peak MB | peak / Arrow |", "|---|---|---|---|---|---|---|---|"]
    for (name, threads), runs in sorted(rows.items(), key=lambda kv: kv[0][1]):
        ok = [r for r in runs if "cpu" in r]
        if not ok:
            lines.append(f"| {name} | {threads} | {runs[0]['error']} | | | | | |")
            continue
        cpu, wall, peak = (statistics.median(r[k] for r in ok) for k in ("cpu", "wall", "peak"))
        lines.append(f"| {name} | {threads} | {cpu:.3f} | {wall:.3f} | {size / 1e6 / cpu:.0f} | {cpu / ours[threads]:.2f} | "
                     f"{peak / 1e6:.0f} | {peak / table:.2f} |")
    text = "\n".join(lines) + "\n"
    print(text, flush=True)
    if args.out:
        with open(args.out, "a", encoding="utf-8") as f:
            f.write(text + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", required=True, help="the graphlume binary")
    p.add_argument("--before", help="another graphlume binary, whose rows are called so")
    p.add_argument("--data", default="ingest-files", help="folder of the files, made when missing")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--repeat", type=int, help="runs in each process, of which the best counts: 5, with --large 1")
    p.add_argument("--tasks", help=",".join(TASKS + LARGE))
    p.add_argument("--large", action="store_true", help=f"the tasks {' and '.join(LARGE)} instead of the others")
    p.add_argument("--out", help="file to append the tables to")
    p.add_argument("--peer", help=argparse.SUPPRESS)
    p.add_argument("--task", help=argparse.SUPPRESS)
    p.add_argument("--file", help=argparse.SUPPRESS)
    p.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.peer:
        return peer(args)
    tasks = args.tasks.split(",") if args.tasks else LARGE if args.large else TASKS
    args.repeat = args.repeat or (1 if args.large else 5)
    files = make_files(args.bin, Path(args.data), tasks)
    for task in tasks:
        compare(args, task, files[task])


if __name__ == "__main__":
    main()
