#!/usr/bin/env python3
"""Graphlume's readers and their peers on the same files, in the same minutes.

    ingest.py --bin graphlume [--data FOLDER] [--rounds 3] [--tasks ints,csv,parquet,jsonl,orc,xlsx] [--out table.md]

| task | file |
|---|---|
| ints | CSV of two columns of integers: R-MAT, scale 19, some 110 MB |
| csv | CSV of six columns, 1,048,576 rows: R-MAT, scale 16, with time, amount, kind and name |
| parquet | the same table, written by pyarrow with its defaults |
| jsonl | the same table, one record a line |
| orc | the same table, written by pyarrow with its defaults |
| xlsx | its first 131,072 rows, written by XlsxWriter |

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

TASKS = ("ints", "csv", "parquet", "jsonl", "orc", "xlsx")
SHEET_ROWS = 131_072
# What the others have no reader for.
PEERS = {"orc": ("pandas", "pyarrow"), "xlsx": ("polars", "pandas", "openpyxl")}
# What has no setting for threads.
ONE_THREAD = ("pandas", "openpyxl")


def make_files(binary, folder):
    """The files of all tasks, made when missing."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"ints": folder / "ints.csv", "csv": folder / "edges.csv", "parquet": folder / "edges.parquet",
             "jsonl": folder / "edges.jsonl", "orc": folder / "edges.orc", "xlsx": folder / "edges.xlsx"}
    make = lambda out, scale, *more: subprocess.run([binary, "generate", "rmat", "--scale", str(scale), "--out", out, *more],
                                                    check=True, capture_output=True)
    if not files["ints"].exists():
        make(files["ints"], 19)
    if not files["csv"].exists():
        make(files["csv"], 16, "--attrs")
    if not files["parquet"].exists():
        import pyarrow.csv
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.csv.read_csv(files["csv"]), files["parquet"])
    if not files["jsonl"].exists():
        import pandas as pd

        pd.read_csv(files["csv"]).to_json(files["jsonl"], orient="records", lines=True)
    if not files["orc"].exists():
        import pyarrow.csv
        import pyarrow.orc

        pyarrow.orc.write_table(pyarrow.csv.read_csv(files["csv"]), files["orc"])
    if not files["xlsx"].exists():
        import pandas as pd

        pd.read_csv(files["csv"], nrows=SHEET_ROWS).to_excel(files["xlsx"], index=False, engine="xlsxwriter")
    return files


def sheet(path):
    """The cells of a workbook's first sheet, by openpyxl alone."""
    import openpyxl

    return list(openpyxl.load_workbook(path, read_only=True).active.iter_rows(values_only=True))


def readers(task):
    """Peers by name; each takes a path and returns something with the table in memory."""
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.json
    import pyarrow.parquet

    duck = lambda f: lambda p: duckdb.sql(f"select * from {f}('{p}')").to_arrow_table()
    if task == "parquet":
        return {"polars": pl.read_parquet, "pandas": pd.read_parquet, "pyarrow": pa.parquet.read_table,
                "duckdb": duck("read_parquet")}
    if task == "jsonl":
        return {"polars": pl.read_ndjson, "pandas": lambda p: pd.read_json(p, lines=True), "pyarrow": pa.json.read_json,
                "duckdb": duck("read_json")}
    if task == "orc":
        import pyarrow.orc

        return {"pandas": pd.read_orc, "pyarrow": pa.orc.read_table}
    if task == "xlsx":
        return {"polars": pl.read_excel, "pandas": pd.read_excel, "openpyxl": sheet}
    return {"polars": pl.read_csv, "pandas": lambda p: pd.read_csv(p, engine="c"), "pyarrow": pa.csv.read_csv,
            "duckdb": duck("read_csv")}


def memory(field):
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field))


def peer(args):
    """One peer in this process; prints its figures."""
    os.environ["POLARS_MAX_THREADS"] = str(args.threads)
    read = readers(args.task)[args.peer]
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


def engine(args, path, threads):
    """One `graphlume bench` run."""
    with tempfile.TemporaryDirectory() as tmp:
        out = Path(tmp) / "out.json"
        subprocess.run([args.bin, "bench", "--task", "parse", "--edges", path, "--out", out, "--threads", str(threads),
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
    for _ in range(args.rounds):
        for threads in counts:
            rows.setdefault(("graphlume", threads), []).append(engine(args, path, threads))
            for name in PEERS.get(task, ("polars", "pandas", "pyarrow", "duckdb")):
                if threads == 1 or name not in ONE_THREAD:
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
    p.add_argument("--data", default="ingest-files", help="folder of the files, made when missing")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--repeat", type=int, default=5, help="runs in each process, of which the best counts")
    p.add_argument("--tasks", default=",".join(TASKS))
    p.add_argument("--out", help="file to append the tables to")
    p.add_argument("--peer", help=argparse.SUPPRESS)
    p.add_argument("--task", help=argparse.SUPPRESS)
    p.add_argument("--file", help=argparse.SUPPRESS)
    p.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.peer:
        return peer(args)
    files = make_files(args.bin, Path(args.data))
    for task in args.tasks.split(","):
        compare(args, task, files[task])


if __name__ == "__main__":
    main()
