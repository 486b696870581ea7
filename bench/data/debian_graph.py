#!/usr/bin/env python3
"""The dependency graph of this machine's Debian package index.

One node per package (section, installed size, maintainer, priority, description), one edge per
entry of Depends and Recommends; of alternatives ("a | b") the first that exists is taken, and a
virtual package stands for the first package that provides it.

    debian_graph.py --out DIR              writes nodes.parquet and edges.parquet, and the edges
                                           with integer ids as numbered/edges.parquet
    debian_graph.py --out DIR --upload http://127.0.0.1:8000 --username U --password P
                                           also plots it with PyGraphistry and prints the address

Needs `apt-get update` to have been run once; reads what `apt-cache dumpavail` prints.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd

NAME = re.compile(r"^\s*([a-z0-9][a-z0-9+.-]*)")


def paragraphs(text):
    """Yields each paragraph of a Debian control file as a dict of its single-line fields."""
    fields = {}
    for line in text.splitlines():
        if not line:
            if fields:
                yield fields
            fields = {}
        elif line[0] not in " \t":
            key, _, value = line.partition(":")
            fields[key] = value.strip()
    if fields:
        yield fields


def names(value):
    """Splits a dependency field into lists of alternative package names."""
    for entry in filter(None, (e.strip() for e in value.split(","))):
        alternatives = [m.group(1) for m in map(NAME.match, entry.split("|")) if m]
        if alternatives:
            yield alternatives


def build(text):
    """Returns the node and edge tables of a package index."""
    packages = {}
    for p in paragraphs(text):
        # The first version of a package wins; others differ only in architecture or release.
        packages.setdefault(p["Package"], p)
    provided_by = {}
    for name, p in packages.items():
        for alternatives in names(p.get("Provides", "")):
            provided_by.setdefault(alternatives[0], name)
    edges = []
    for name, p in packages.items():
        for kind in ("Pre-Depends", "Depends", "Recommends"):
            for alternatives in names(p.get(kind, "")):
                known = next((a for a in alternatives if a in packages), None)
                target = known or next((provided_by[a] for a in alternatives if a in provided_by), None)
                if target and target != name:
                    edges.append((name, target, kind.lower(), len(alternatives)))
    maintainer = re.compile(r"\s*<.*")
    nodes = pd.DataFrame(
        {
            "package": list(packages),
            "section": [p.get("Section", "unknown").split("/")[-1] for p in packages.values()],
            "priority": [p.get("Priority", "optional") for p in packages.values()],
            "installed_kib": [int(p.get("Installed-Size", 0) or 0) for p in packages.values()],
            "maintainer": [maintainer.sub("", p.get("Maintainer", "unknown")) for p in packages.values()],
            "description": [p.get("Description", p.get("Description-en", "")) for p in packages.values()],
        }
    )
    frame = pd.DataFrame(edges, columns=["package", "depends_on", "kind", "alternatives"])
    return nodes, frame.drop_duplicates(["package", "depends_on", "kind"]).reset_index(drop=True)


def upload(nodes, edges, args):
    """Plots the graph the way an analyst would and returns the page's address."""
    import graphistry

    protocol, _, server = args.upload.partition("://")
    graphistry.register(
        api=3, protocol=protocol, server=server, username=args.username, password=args.password
    )
    g = (
        graphistry.edges(edges, "package", "depends_on")
        .nodes(nodes, "package")
        .bind(point_title="package")
        .name("Debian packages")
        .description("Depends and Recommends between the packages of a Debian release")
    )
    return g.plot(render=False, as_files=args.as_files)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for nodes.parquet and edges.parquet")
    parser.add_argument("--upload", metavar="URL", help="server to plot to, such as http://127.0.0.1:8000")
    parser.add_argument("--username", default="admin")
    parser.add_argument("--password")
    parser.add_argument("--as-files", action="store_true", help="upload through reusable files")
    args = parser.parse_args()
    index = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout
    if index.count("\nPackage:") < 1000:
        sys.exit("the package index is empty: run `apt-get update` first")
    nodes, edges = build(index)
    args.out.mkdir(parents=True, exist_ok=True)
    nodes.to_parquet(args.out / "nodes.parquet", index=False)
    edges.to_parquet(args.out / "edges.parquet", index=False)
    # The form that benches read: integer columns src and dst.
    number = pd.Series(range(len(nodes)), index=nodes["package"])
    numbered = {"src": number[edges["package"]].to_numpy(), "dst": number[edges["depends_on"]].to_numpy()}
    (args.out / "numbered").mkdir(exist_ok=True)
    pd.DataFrame(numbered).to_parquet(args.out / "numbered" / "edges.parquet", index=False)
    print(f"{len(nodes)} packages, {len(edges)} dependencies in {args.out}", file=sys.stderr)
    if args.upload:
        print(upload(nodes, edges, args))


if __name__ == "__main__":
    main()
