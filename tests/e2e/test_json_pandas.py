"""Random frames in every orientation: the tables are those of `pandas.read_json`.

`GRAPHLUME_JSON_CASES` sets how many (400), `GRAPHLUME_SEED` repeats a run. A column that differs must be one of
`DIFFERENCES`, which engine/ingest/src/json.rs documents, each a narrow predicate.
"""

import io
import json
import math
import os
import random
import warnings

import pandas as pd

import dump
from test_csv_pandas import dtype_of, missing, same

CASES = int(os.environ.get("GRAPHLUME_JSON_CASES", "400"))
# The same cases in every run, so that a change is judged by itself; set another seed to look for more.
SEED = int(os.environ.get("GRAPHLUME_SEED") or 20_261_121)

VALUES = {
    "int": [0, 1, -3, 40000000000, 2**53 + 1, -(2**63)],
    "huge": [2**63, 2**64 - 1, 1],
    "float": [1.5, -0.25, 1e300, 0.1, 2.0, -0.0],
    "bool": [True, False],
    "text": ["x", "é", "日本 \U0001f600", "a\"b", "line\nbreak", "\\", "", "12", "1.5", "007", "NaN", "True", " "],
    "date": ["2020-01-02", "2021-12-31T23:59:59Z"],
    "nested": [[1, 2], {"a": [None, "b c"]}, [], {}],
    "odd": [float("nan"), float("inf"), float("-inf"), 1.5],
}
NAMES = ["a", "b", "c d", "é", "1", "date", "x_at", "modified", "q\"uote"]

# At most ten.
DIFFERENCES = {
    "gaps": "whole numbers and booleans with gaps keep their type",
    "words": "text that looks like numbers stays text: a name is no quantity",
    "dates": "columns are not made dates because of their names; name them in `dtype`",
    "whole": "numbers written as fractions stay float64 where all of them are whole",
    "mixed": "a column of several kinds of values is text: numbers as they are written, nested values as JSON",
    "demanded": "a column has the type that is demanded, or a value that does not fit it is an error; pandas leaves many a "
                "column as it was, or cuts values off",
    "written": "where text is demanded, values are as they are written; pandas spells what it has made of them",
    "void": "a column of nothing but missing values is float64, also where no types are to be found",
    "beyond": "gaps and numbers beyond 64 bits are read; pandas refuses them",
}


def frame(rng):
    """A frame as a list of names and a list of rows of values."""
    names = rng.sample(NAMES, rng.randint(1, 5))
    kinds = [rng.choice([*VALUES, "int", "float", "text"]) for _ in names]
    rows = []
    for _ in range(rng.choice([1, 2, 3, 8])):
        pick = lambda k: None if rng.random() < 0.1 else rng.choice(VALUES[rng.choice([*VALUES]) if rng.random() < 0.02 else k])
        rows.append([pick(k) for k in kinds])
    return names, rows


def document(rng, names, rows, orient, lines):
    """The text of a frame in one orientation, spaced at random."""
    records = [dict(zip(names, row)) for row in rows]
    if orient in ("records", None) and rng.random() < 0.3:
        records = [{k: v for k, v in r.items() if v is not None} or r for r in records]
    space = dict(separators=rng.choice([(",", ":"), (", ", ": ")]), ensure_ascii=rng.random() < 0.5)
    if lines:
        return "\n".join(json.dumps(r, **space) for r in records) + rng.choice(["", "\n", "\n\n"])
    labels = [str(i) for i in range(len(rows))]
    doc = {
        "records": records,
        None: records,
        "values": rows,
        "index": dict(zip(labels, records)),
        "columns": {n: dict(zip(labels, [row[i] for row in rows])) for i, n in enumerate(names)},
        "split": {"columns": names, "index": list(range(len(rows))), "data": rows},
    }[orient]
    return json.dumps(doc, indent=rng.choice([None, None, 1]), **space)


def read_pandas(text, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return pd.read_json(io.BytesIO(text.encode()), **options)
        except Exception as e:  # noqa: BLE001
            return e


def fits(v, kind):
    """Whether a value is, or spells, a number of the demanded type."""
    if isinstance(v, (list, dict)):
        return False
    try:
        number = float(v)
    except ValueError:
        return False
    if isinstance(v, str) and (v != v.strip() or math.isnan(number)):
        return False
    return kind == "float64" or (math.isfinite(number) and number == int(number) and -(2**63) <= number < 2**63)


def as_json(v):
    return json.dumps(v, sort_keys=True)


def column_differs(name, column, series, source, demanded):
    """The name of the difference of a column, `None` when there is none, "" when it is not documented."""
    ours, theirs = dtype_of(column), str(series.dtype)
    values, wanted = column.to_pylist(), series.tolist()
    if ours == theirs and all(map(same, values, wanted)):
        return None
    present = [v for v in source if not missing(v)]
    kinds = {type(v) for v in present}
    gaps = len(present) < len(source)
    if demanded == "str" and ours == "str":
        return "written" if all(map(spelled, values, source)) else ""
    if kinds == {str} and ours == "str":
        if all(same(a, b) for a, b in zip(values, source)):
            return "dates" if "datetime" in theirs else "words"
        return ""
    if not present and all(map(missing, values)) and all(map(missing, wanted)):
        return "void"
    if demanded in ("int64", "float64") and ours == demanded:
        of = lambda v: {"True": 1, "False": 0}.get(v, v)
        had = lambda a, b: missing(a) if missing(b) else not missing(a) and a == type(a)(of(b))
        return "demanded" if all(map(had, values, source)) else ""
    if "datetime" in theirs:
        alike = lambda a, b: same(a, b) or (spelled(a, b) if isinstance(a, str) else a == b)
        return "dates" if all(map(alike, values, source)) else ""
    if kinds <= {int} and ours in ("int64", "uint64") and gaps:
        return "gaps" if all(same(a, b) for a, b in zip(values, source)) else ""
    if kinds <= {bool} and ours == "bool" and gaps:
        return "gaps" if all(same(a, b) for a, b in zip(values, source)) else ""
    if kinds <= {int, float} and ours == "float64":
        equal = all(missing(a) and missing(b) or a == float(b) for a, b in zip(values, source))
        return "whole" if equal and theirs in ("int64", "uint64", "float64") else ""
    beyond = any(isinstance(v, int) and not -(2**63) <= v < 2**64 for v in present)
    signed = any(isinstance(v, int) and v >= 2**63 for v in present) and any(isinstance(v, int) and v < 0 for v in present)
    if ours == "str" and (len(kinds) > 1 or kinds & {list, dict} or beyond or signed):
        return "mixed" if all(map(spelled, values, source)) else ""
    return ""


def spelled(text, value):
    """Whether a text is what a value of a document is written as."""
    if missing(value):
        return missing(text)
    if isinstance(value, (list, dict)):
        return as_json(json.loads(text)) == as_json(value)
    if isinstance(value, (str, bool)):
        return text == str(value)
    return text == str(value) or float(text) == float(value)


def test_random_json_documents(tmp_path):
    print(f"GRAPHLUME_SEED={SEED} GRAPHLUME_JSON_CASES={CASES}")
    rng = random.Random(SEED)
    cases, jobs = [], []
    for i in range(CASES):
        names, rows = frame(rng)
        orient = rng.choice(["records", "records", "values", "index", "columns", "split", None])
        lines = orient in ("records", None) and rng.random() < 0.4
        options = {"orient": orient} if orient else {}
        if lines:
            options["lines"] = True
        if rng.random() < 0.2:
            options["dtype"] = rng.choice([True, False])
        elif rng.random() < 0.2 and orient != "values":
            options["dtype"] = {rng.choice(names): rng.choice(["str", "float64", "int64"])}
        text = document(rng, names, rows, orient, lines)
        path = tmp_path / f"{i}.json"
        path.write_text(text, encoding="utf-8", newline="")
        job = {"path": str(path), "format": "json", "out": str(tmp_path / f"{i}.arrow"), "options": options}
        cases.append((names, rows, options, text))
        jobs.append(job)
    count, wrong = {}, []
    for (names, rows, options, text), answer in zip(cases, dump.parse(jobs)):
        theirs = read_pandas(text, options)
        found = differs(names, rows, options, theirs, answer)
        for name in found - {None}:
            count[name] = count.get(name, 0) + 1
        if "" in found:
            table = answer["tables"][0]["table"].to_pydict() if "tables" in answer else answer["error"]["message"]
            theirs = theirs if isinstance(theirs, Exception) else (theirs.dtypes.to_dict(), theirs.to_dict("list"))
            wrong.append(f"--- {text!r}\n    {options}\n    pandas {theirs!r}\n    ours {table}")
    print(f"{len(cases)} cases; differences: {count}")
    assert not wrong, f"GRAPHLUME_SEED={SEED}: {len(wrong)} of {len(cases)} cases differ\n" + "\n".join(wrong[:5])
    assert len(DIFFERENCES) <= 10 and set(count) <= set(DIFFERENCES)


def differs(names, rows, options, theirs, answer):
    """The names of the differences of one document."""
    demanded = options.get("dtype") if isinstance(options.get("dtype"), dict) else {}
    source = {n: [row[i] for row in rows] for i, n in enumerate(names)}
    if "error" in answer:
        if isinstance(theirs, Exception):
            return set()
        # A value that does not spell a number of the demanded type, which pandas leaves or cuts off.
        for n, kind in demanded.items():
            values = [v for v in source[n] if not missing(v)]
            if kind != "str" and not all(fits(v, kind) for v in values):
                return {"demanded"}
        return {""}
    if isinstance(theirs, Exception):
        # pandas refuses numbers beyond 64 bits, and gaps where whole numbers are demanded.
        huge = any(isinstance(v, int) and not -(2**63) <= v < 2**64 for values in source.values() for v in values)
        gaps = any(kind == "int64" and any(map(missing, source[n])) for n, kind in demanded.items())
        return {"beyond"} if huge or gaps else {""}
    table = answer["tables"][0]["table"]
    columns = [str(c) for c in theirs.columns]
    if sorted(columns) != sorted(table.column_names) or len(theirs) != table.num_rows:
        return {""}
    by_position = dict(zip(map(str, range(len(names))), source.values())) if options.get("orient") == "values" else source
    series = {str(c): theirs.iloc[:, i] for i, c in enumerate(theirs.columns)}
    return {column_differs(n, table.column(n), series[n], by_position[n], demanded.get(n)) for n in table.column_names}
