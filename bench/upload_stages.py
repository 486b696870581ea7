#!/usr/bin/env python3
"""From the first byte of an upload to the first positions on the socket, on a server of its own.

    upload_stages.py --bin graphlume [--scale 16] [--repeat 5] [--out table.md]

The graph is R-MAT (scale 16) with integer ids and, in the six-column form, time, amount, kind and name columns. Client and
server share the machine. Stages as the client sees them: upload (request sent to answer received: transfer, parsing,
durable storage), open (redirect, websocket, graph announced), first positions.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/e2e"))


def once(server, api, body, kind, session):
    """One upload into a fresh dataset; returns the seconds of each stage."""
    from live import Viewer

    dataset = api.dataset(edges={"source": "src", "destination": "dst"})
    t0 = time.perf_counter()
    r = api("POST", f"/api/v2/upload/datasets/{dataset}/edges/{kind}", data=body)
    assert r.status_code == 200, r.text
    t1 = time.perf_counter()
    viewer = Viewer(server, dataset, session)
    viewer.until(lambda: viewer.graph, 60)
    t2 = time.perf_counter()
    viewer.until(lambda: viewer.frames, 60)
    t3 = time.perf_counter()
    viewer.close()
    api("DELETE", f"/api/v2/datasets/{dataset}")
    return {"upload": t1 - t0, "open": t2 - t1, "first positions": t3 - t2, "total": t3 - t0}


def measured(binary, scale, repeat, inputs=(("csv", True), ("csv", False), ("arrow", True))):
    """(format, whether with attributes, bytes, seconds of the stages of each upload) of every input, after one that is not counted."""
    os.environ["GRAPHLUME_BIN"] = binary
    from conftest import Server

    rows = []
    with tempfile.TemporaryDirectory() as tmp:
        server = Server(Path(tmp) / "data").start()
        api = server.api()
        for kind, attrs in inputs:
            path = Path(tmp) / f"edges.{kind}"
            subprocess.run([binary, "generate", "rmat", "--scale", str(scale), "--out", path, *(["--attrs"] if attrs else [])],
                           check=True, capture_output=True)
            body = path.read_bytes()
            rows.append((kind, attrs, len(body), [once(server, api, body, kind, f"{kind}{int(attrs)}-{i}") for i in range(repeat + 1)][1:]))
        print(server.output()[-1500:], file=sys.stderr)
        server.stop()
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", required=True)
    p.add_argument("--scale", type=int, default=16)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--out")
    args = p.parse_args()
    rows = [(f"{kind}, {6 if attrs else 2} columns, {size / 1e6:.0f} MB", stages)
            for kind, attrs, size, stages in measured(args.bin, args.scale, args.repeat)]
    names = list(rows[0][1][0])
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    lines = [f"### upload to first positions, {16 << args.scale:,} edges (load {load}, median of {args.repeat}, seconds)", "",
             f"| input | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for name, stages in rows:
        lines.append(f"| {name} | " + " | ".join(f"{statistics.median(s[k] for s in stages):.3f}" for k in names) + " |")
    text = "\n".join(lines) + "\n"
    print(text)
    if args.out:
        with open(args.out, "a", encoding="utf-8") as f:
            f.write(text + "\n")


if __name__ == "__main__":
    main()
