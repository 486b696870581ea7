"""The nine questions of query_suite.py in Cypher, in our engine and in Ladybug (the package `ladybug`), which went on from Kùzu.

Both hold the graph in memory, answer on one thread, and have prepared a question before its clock starts; the figure is CPU
seconds, the least of some repeats in each round. Answers are compared before times are. Called by queries.py and published.py.
"""

import math
import statistics
import tempfile
import time
from pathlib import Path

import queries
import query_suite

REPEAT = 7
NODES = {
    "Person": "name STRING, gender STRING, age DOUBLE",
    "City": "name STRING, country STRING",
    "State": "name STRING, country STRING",
    "Country": "name STRING, country STRING",
    "Interest": "name STRING",
}
RELATIONSHIPS = {
    "FOLLOWS": ("Person", "Person"), "LIVES_IN": ("Person", "City"), "HAS_INTEREST": ("Person", "Interest"),
    "CITY_IN": ("City", "State"), "STATE_IN": ("State", "Country"),
}


def loaded(v, e, folder):
    """A connection of Ladybug to these tables, on one thread."""
    import ladybug

    connection = ladybug.Connection(ladybug.Database(str(folder / "ladybug")), num_threads=1)

    def copy(kind, frame):
        path = folder / f"{kind}.parquet"
        frame.to_parquet(path, index=False)
        connection.execute(f"COPY {kind} FROM '{path}'")

    for kind, columns in NODES.items():
        connection.execute(f"CREATE NODE TABLE {kind}(id INT64 PRIMARY KEY, {columns})")
        copy(kind, v[v["type"] == kind][["id", *(c.split()[0] for c in columns.split(", "))]])
    for kind, (source, target) in RELATIONSHIPS.items():
        connection.execute(f"CREATE REL TABLE {kind}(FROM {source} TO {target})")
        copy(kind, e[e["type"] == kind][["src", "dst"]])
    return connection


def asked(connection, prepared):
    """The least CPU seconds of an answer with all its rows, and the rows."""
    least, rows = math.inf, None
    for _ in range(REPEAT):
        begin = time.process_time()
        rows = connection.execute(prepared).get_all()
        least = min(least, time.process_time() - begin)
    return least, rows


def engine(binary, v_path, e_path):
    """{question: least CPU seconds} inside our engine."""
    wanted = [{"name": name, "cypher": text} for name, text in query_suite.CYPHER.items()]
    seconds = queries.report(binary, e_path, wanted, REPEAT, v_path, threads=1)["cpu_seconds"]
    return {q["name"]: min(seconds[i * REPEAT:(i + 1) * REPEAT]) for i, q in enumerate(wanted)}


def rounds(args, persons):
    """[({question: our seconds}, {question: Ladybug's seconds})], a pair a round."""
    v, e = query_suite.social(persons)
    # Ladybug takes the relationship of somebody who follows himself twice in one path, which Cypher forbids.
    e = e[e["src"] != e["dst"]]
    with tempfile.TemporaryDirectory() as tmp:
        v_path, e_path = Path(tmp) / "v.parquet", Path(tmp) / "e.parquet"
        v.to_parquet(v_path)
        e.to_parquet(e_path)
        connection = loaded(v, e, Path(tmp))
        prepared = {name: connection.prepare(text) for name, text in query_suite.CYPHER.items()}
        for name, text in query_suite.CYPHER.items():
            same(name, query_suite.rows(query_suite.ours(args, v_path, e_path, text)), asked(connection, prepared[name])[1])
        return [(engine(args.bin, v_path, e_path), {name: asked(connection, p)[0] for name, p in prepared.items()})
                for _ in range(args.rounds)]


def same(name, ours, theirs):
    """Ends when the two do not answer the same, but for the last digits of a mean."""
    equal = lambda a, b: math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) else a == b
    if len(ours) != len(theirs) or not all(equal(a, b) for r, s in zip(ours, theirs) for a, b in zip(r, s)):
        raise SystemExit(f"{name}: another answer: {ours[:3]} and {theirs[:3]}")


def run(args, load):
    """The lines of a table for queries.py."""
    lines = [f"### Nine questions in Cypher, CPU milliseconds, one thread (load {load()}, {args.rounds} rounds, medians)", "",
             "| graph | question | graphlume | Ladybug | times ours | least | most |", "|---|---|---|---|---|---|---|"]
    for persons in map(int, args.scales.split(",")):
        made = rounds(args, persons)
        for name in query_suite.CYPHER:
            ratios = [theirs[name] / ours[name] for ours, theirs in made]
            mid = [1e3 * statistics.median(side[name] for side in sides) for sides in zip(*made)]
            lines.append(f"| social {persons:,} | {name} | {mid[0]:.3f} | {mid[1]:.2f} | {statistics.median(ratios):.1f} | "
                         f"{min(ratios):.1f} | {max(ratios):.1f} |")
    return lines
