"""Parses files as the server does and compares the tables with those of pandas."""

import datetime
import decimal
import json
import math
import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from conftest import binary


def dump_binary():
    """The helper that is built beside the server."""
    path = Path(os.environ.get("GRAPHLUME_DUMP") or Path(binary()).parent / "graphlume-dump")
    assert path.is_file(), f"{path} is missing: build the workspace with all targets"
    return path


def parse(jobs):
    """Parses each job; an answer is `{"tables": [(name, pa.Table)], ...}` or `{"error": {...}}`."""
    lines = "".join(json.dumps(job) + "\n" for job in jobs)
    r = subprocess.run([dump_binary()], input=lines, capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, r.stderr[-4000:]
    answers = [json.loads(line) for line in r.stdout.splitlines()]
    assert len(answers) == len(jobs)
    for answer in answers:
        for table in answer.get("tables", ()):
            if "path" in table:
                with pa.memory_map(table["path"]) as f:
                    table["table"] = pa.ipc.open_file(f).read_all()
    return answers


def plain(v):
    """A value in a form in which equal values of different libraries are equal."""
    if v is None or v is pd.NaT or v is pd.NA or (isinstance(v, float) and math.isnan(v)):
        return None
    if isinstance(v, np.ndarray):
        return [plain(x) for x in v.tolist()]
    if isinstance(v, np.generic):
        return plain(v.item()) if not isinstance(v, (np.datetime64, np.timedelta64)) else plain(pd.Timestamp(v))
    if isinstance(v, pd.Timestamp):
        v = v.tz_convert("UTC") if v.tzinfo else v
        return v.as_unit("ns").value
    if isinstance(v, datetime.datetime):
        return plain(pd.Timestamp(v))
    if isinstance(v, pd.Timedelta):
        return v.as_unit("ns").value
    if isinstance(v, datetime.timedelta):
        return plain(pd.Timedelta(v))
    if isinstance(v, decimal.Decimal):
        return ("decimal", v.normalize())
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    return v


KINDS = {"i": pa.types.is_integer, "u": pa.types.is_integer, "f": pa.types.is_floating, "b": pa.types.is_boolean,
         "M": pa.types.is_timestamp, "m": pa.types.is_duration}


def differences(got, want, limit=5):
    """How a `pa.Table` differs from a `pd.DataFrame`, in a few lines; empty when the values are equal."""
    out = []
    if [str(c) for c in want.columns] != got.column_names:
        return [f"columns {got.column_names}, not {list(want.columns)}"]
    if len(want) != got.num_rows:
        return [f"{got.num_rows} rows, not {len(want)}"]
    for i, name in enumerate(got.column_names):
        column = got.column(i)
        kind = KINDS.get(getattr(want.dtypes.iloc[i], "kind", "O"))
        # Gaps make pandas take floats for whole numbers and objects for booleans.
        if kind and column.null_count == 0 and len(column) and not kind(column.type):
            out.append(f"{name}: {column.type}, not {want.dtypes.iloc[i]}")
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        ours = column.to_pandas().tolist() if pa.types.is_timestamp(column.type) or pa.types.is_duration(
            column.type) else column.to_pylist()
        for row, (a, b) in enumerate(zip(ours, want.iloc[:, i].tolist())):
            a, b = plain(a), plain(b)
            # A column of mixed values is a column of text here.
            if text and b is not None and not isinstance(b, str):
                b = str(want.iloc[row, i])
            if a != b or (isinstance(a, str) != isinstance(b, str)):
                out.append(f"{name}[{row}] ({column.type}): {a!r}, not {b!r}")
                if len(out) >= limit:
                    return out
    return out
