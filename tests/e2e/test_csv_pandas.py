"""Random CSV texts under random options: the tables are those of `pandas.read_csv`.

`GRAPHLUME_CSV_CASES` sets how many (2,000), `GRAPHLUME_SEED` repeats a run. A case that differs must be one of
`DIFFERENCES`, which are the documented ones (engine/ingest/src/csv.rs and engine/doc/ingestion.md have the same list),
each a narrow predicate.
"""

import io
import json
import math
import os
import random
import re
import warnings

import pandas as pd
import pyarrow as pa
import pyarrow.compute

import dump

CASES = int(os.environ.get("GRAPHLUME_CSV_CASES", "2000"))
# The same cases in every run, so that a change is judged by itself; set another seed to look for more.
SEED = int(os.environ.get("GRAPHLUME_SEED") or 20_261_121)

CELLS = {
    "int": ["0", "1", "-3", "+5", "007", "40000000000", " 7", "8 ", "-0"],
    "float": ["1.5", "-0.25", "3.", ".5", "1e3", "-2.5E-3", "1.7976931348623157e308", "0.1", "inf", "-Infinity", "1e400"],
    "bool": ["True", "False", "true", "FALSE"],
    "na": ["", "NA", "null", "nan", "N/A", "<NA>", "None", "#N/A", "-nan"],
    "text": ["x", "yy", "é", "a b", "日本", "TRUE!", "0x10", "1_000", "e", "-", "+", ".", "NULLS", "#tag", "it's"],
    "huge": ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615",
             "18446744073709551616", "-99999999999999999999"],
    "date": ["2020-01-02", "2021-12-31", "2024-02-29"],
    "time": ["2020-01-02 03:04:05", "2021-12-31 23:59:59"],
    "thousands": ["1,000", "1.000", "1,234,567", "-2,5", "1,5", "12,34.5"],
    "words": ["yes", "no", "Yes", "on", "off"],
}
QUOTED = ["a,b", "a;b", "line\nbreak", "cr\rlf\r\n", 'say "hi"', "", " pad ", "1", "NA", "a::b", "a|b", "tab\there", "#x"]
NAMES = ["a", "b", "c", "a", "", "x y", "é", "1", "a.1", "Unnamed: 0", " pad"]


def cell(rng, kind, sep, quoting):
    """One cell as it stands in the text."""
    roll = rng.random()
    if roll < 0.06 and quoting != 3:
        text = rng.choice(QUOTED)
        return '"' + text.replace('"', '""') + '"'
    if roll < 0.08:
        return rng.choice(['5" pipe', '"a"b', "'q'", '"half'] if roll < 0.062 else ['5" pipe', "'q'"])
    if roll < 0.14:
        return rng.choice(CELLS["na"])
    text = rng.choice(CELLS[kind])
    if sep in text and rng.random() < 0.9:
        text = text.replace(sep, "")
    return text


def text_and_options(rng):
    """A text and the options to read it with, as pandas has them."""
    o = {}
    sep = rng.choice([",", ",", ",", ",", ";", "\t", "|", " ", r"\s+", "::", r"\|\|", "§", "[,;]"])
    if sep != "," or rng.random() < 0.2:
        o[rng.choice(["sep", "sep", "delimiter"])] = sep
    written = {r"\s+": "  ", r"\|\|": "||", "[,;]": ";"}.get(sep, sep)
    eol = rng.choice(["\n", "\n", "\n", "\r\n", "\r"])
    maybe = lambda p: rng.random() < p
    if maybe(0.1):
        o["quoting"] = rng.randrange(4)
    width, height = rng.randint(1, 6), rng.choice([0, 1, 2, 3, 5, 8, 13])
    kinds = [rng.choice([*CELLS, "int", "float", "text"]) for _ in range(width)]
    names = [rng.choice(NAMES) if maybe(0.6) else f"c{i}" for i in range(width)]
    head = ['"' + n.replace('"', '""') + '"' if maybe(0.1) and o.get("quoting") != 3 else n for n in names]
    lines = [written.join(head)]
    for _ in range(height):
        row = [cell(rng, rng.choice([*CELLS]) if maybe(0.05) else k, written, o.get("quoting")) for k in kinds]
        if maybe(0.05):
            row = row[: rng.randint(0, width)]
        elif maybe(0.015):
            row.append(cell(rng, "int", written, o.get("quoting")))
        lines.append(written.join(row) + ("" if maybe(0.95) else rng.choice([" ", "# note", "#"])))
        if maybe(0.06):
            lines.append(rng.choice(["", "", "  ", "# comment", " \t"]))
    if maybe(0.1):
        lines.insert(0, rng.choice(["", "# top", "title line", ""]))
    ends = [eol if maybe(0.97) else rng.choice(["\n", "\r\n"]) for _ in lines]
    text = "".join(a + b for a, b in zip(lines, ends))
    if maybe(0.25):
        text = text[: len(text) - len(ends[-1])]
    if maybe(0.05):
        text = "\ufeff" + text

    python = len(sep) > 1 and sep != r"\s+"
    if maybe(0.15):
        o["nrows"] = rng.randint(0, 9)
    elif maybe(0.08):
        o["skipfooter"] = rng.randint(1, 3)
    if maybe(0.12):
        o["skiprows"] = rng.randint(0, 3) if maybe(0.5) else sorted(rng.sample(range(8), rng.randint(1, 3)))
    if maybe(0.15):
        o["header"] = rng.choice([0, 0, 1, None, "infer"])
    if maybe(0.1):
        o["names"] = rng.sample(["p", "q", "r", "s", "t", "u", "v", "w"], width + rng.choice([0, 0, 0, 1, 2]))
    if maybe(0.12):
        pool = o.get("names") or (["c0", "c1", "a", "b"] if o.get("header", 0) is not None else [])
        pool = [n for n in pool if n in names or "names" in o]
        if pool and maybe(0.5):
            o["usecols"] = rng.sample(pool, rng.randint(1, len(pool)))
        else:
            o["usecols"] = rng.sample(range(width), rng.randint(1, width))
    if maybe(0.1):
        o["na_values"] = rng.choice([["1", "x"], ["-3"], ["yy", "1.5"], ["0"], {"a": ["x", "1"], "c1": "yy"}, ["True"]])
    if maybe(0.1):
        o["keep_default_na"] = False
    if maybe(0.07):
        o["na_filter"] = False
    if maybe(0.1):
        o["skip_blank_lines"] = False
    if maybe(0.12):
        o["comment"] = "#"
    if maybe(0.1):
        o["skipinitialspace"] = True
    if maybe(0.1):
        o["thousands"] = rng.choice([",", ".", "'", "_"])
    if maybe(0.08):
        o["decimal"] = ","
    if o.get("decimal", ".") == o.get("thousands"):
        del o["thousands"]
    if maybe(0.08):
        o["true_values"], o["false_values"] = rng.choice([["yes", "on"], ["1"], ["x"]]), rng.choice([["no", "off"], ["0"]])
    if maybe(0.06):
        o["doublequote"] = False
    if maybe(0.06):
        o["quotechar"] = "'"
    if maybe(0.05) and not python:
        o["escapechar"] = "\\"
        text = text.replace("x", "\\,x").replace("7", '\\"7')
    if maybe(0.04) and not python and sep != "§" and eol == "\n" and "skipfooter" not in o:
        text, o["lineterminator"] = text.replace("\n", "~"), "~"
    if maybe(0.12):
        numbers = [] if "decimal" in o or "thousands" in o else ["Int64", "boolean", "bool"]
        types = ["str", "float64", "category", *numbers, "int64", "string", "float32", "object", "int8", "uint64"]
        known = names if "names" not in o else o["names"]
        known = [n for n in dict.fromkeys(known) if n and known.count(n) == 1] if o.get("header", 0) == 0 else []
        if "usecols" in o:
            known = []
        o["dtype"] = {n: rng.choice(types) for n in known[:2]} if known and maybe(0.7) else rng.choice(["str", "float64"])
    if maybe(0.15):
        chosen = o.get("names", names)
        if o.get("header", 0) == 0 and "usecols" not in o and "dtype" not in o:
            dates = [i for i, k in enumerate(kinds) if k in ("date", "time")]
            ok = [chosen[i] for i in dates if chosen[i] and chosen.count(chosen[i]) == 1]
            o["parse_dates"] = (dates if maybe(0.5) else ok) if maybe(0.9) else True
    encoding = "utf-8"
    if maybe(0.06):
        encoding = rng.choice(["utf-16", "latin-1", "cp1252", "gbk", "shift_jis", "utf-16-le", "iso-8859-15", "koi8-r", "utf-32"])
        o["encoding"] = encoding
        text = text.lstrip("\ufeff")
        text = text.encode(encoding, "ignore").decode(encoding)
    return text.encode(encoding), o


def ours_of(o):
    """The options in the form of the interface."""
    o = dict(o)
    if "header" in o and o["header"] is None:
        o["header"] = "none"
    return o


def query_of(o):
    """The same options as they stand in an address."""
    text = lambda v: json.dumps(v) if isinstance(v, (list, dict, bool)) else str(v)
    return [[k, text(v)] for k, v in ours_of(o).items()]


def separator(o):
    return o.get("sep", o.get("delimiter", ","))


def is_pattern(o):
    return len(separator(o)) > 1 and separator(o) != r"\s+"


def read_pandas(data, o, **more):
    """The frame, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return pd.read_csv(io.BytesIO(data), **{**o, **more})
        except Exception as e:  # noqa: BLE001
            return e


def without_footer(text, o):
    """The text without the last lines, a quoted cell with line ends in it being part of its line."""
    starts, at, quote = [], 0, None if o.get("quoting") == 3 or is_pattern(o) else o.get("quotechar", '"')
    sep, ends = separator(o), "\r\n"
    is_sep = lambda c: c in " \t" if sep == r"\s+" else c == sep
    escaped = lambda: at + 1 < len(text) and text[at] == o.get("escapechar")
    while at < len(text):
        starts.append(at)
        comment = text[at] == o.get("comment")
        fresh = True
        while at < len(text) and text[at] not in ends:
            if fresh and text[at] == quote and not comment:
                at += 1
                while at < len(text) and (text[at] != quote or (o.get("doublequote", True) and text[at + 1 : at + 2] == quote)):
                    at += 2 if text[at] == quote or escaped() else 1
            elif escaped() and not comment:
                at, fresh = at + 1, False
            else:
                blank = text[at] == " " and (o.get("skipinitialspace") or sep == r"\s+")
                comment = comment or text[at] == o.get("comment")
                fresh = is_sep(text[at]) or (fresh and blank)
            at += 1
        at += 2 if text[at : at + 2] == "\r\n" else 1
    return text[: starts[-o["skipfooter"]]] if len(starts) > o["skipfooter"] else ""


def in_first_parser(data, o):
    """The same table for the first parser of pandas, the one in C: text and options with the same meaning."""
    o = dict(o)
    text = data.decode(o.pop("encoding", "utf-8")).removeprefix("\ufeff")
    if "skipfooter" in o:
        text = without_footer(text, o)
        del o["skipfooter"]
    sep = separator(o)
    if is_pattern(o):
        words = set() if o.get("keep_default_na") is False else set(CELLS["na"])
        words |= set(map(str, o["na_values"])) if isinstance(o.get("na_values"), list) else set()
        lines, comment = [], o.pop("comment", None)
        for line in re.split("\r\n|\r|\n", text):
            cells = []
            for x in re.split(sep, line.strip()):
                cut = x.find(comment) if comment and x not in words else -1
                if cut != 0:
                    cells.append(x if cut < 0 else x[:cut])
                if cut >= 0:
                    break
            lines.append("\x01".join(cells))
        # A last line of blanks is a line, also where it has no end and its blanks are stripped.
        text = "\n".join(lines) + ("\n" if lines[-1] == "" and text[-1:] not in ("", "\r", "\n") else "")
        # Quotes are text, which the numbers of QUOTE_NONNUMERIC need said in another way.
        o.update(sep="\x01", quotechar="\x02", skipinitialspace=False)
    elif sep == "§":
        o["sep"], text = "\x01", text.replace("§", "\x01")
    o.pop("delimiter", None) if "sep" in o else None
    return text.encode(), o


def missing(v):
    return v is None or v is pd.NA or v is pd.NaT or (isinstance(v, float) and math.isnan(v))


def same(a, b):
    """Whether two values are the same; booleans are no numbers."""
    if missing(a) or missing(b):
        return missing(a) and missing(b)
    if isinstance(a, bool) or isinstance(b, bool):
        return isinstance(b, bool) and a is b
    return type(a) is type(b) and a == b


def number(v):
    """The number that a value is or spells, else NaN."""
    try:
        return float(v)
    except ValueError:
        return math.nan


DTYPES = {"int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8", "uint16": "uint16",
          "uint32": "uint32", "uint64": "uint64", "float": "float32", "double": "float64", "bool": "bool",
          "string": "str", "large_string": "str"}


def dtype_of(field):
    if pa.types.is_timestamp(field.type):
        return f"datetime64[{field.type.unit}{', UTC' if field.type.tz else ''}]"
    if pa.types.is_dictionary(field.type):
        return "category"
    return DTYPES[str(field.type)]


def column_differs(case, name, column, series):
    """The name of the difference of a column, `None` when there is none, or "" when it is not a documented one."""
    ours, theirs = dtype_of(pa.field("x", column.type)), str(series.dtype)
    theirs = {"Int64": "int64", "boolean": "bool", "string": "str"}.get(theirs, theirs)
    rows = len(series)
    if rows == 0:
        return None
    values = column.to_pandas().tolist() if pa.types.is_timestamp(column.type) else column.to_pylist()
    wanted = series.tolist()
    gaps = any(missing(v) for v in values)
    if ours == theirs and all(map(same, values, wanted)):
        return None
    if theirs == "object" and ours == "str" and all(isinstance(v, str) or missing(v) for v in wanted):
        return None if all(map(same, values, wanted)) else ""
    if ours in ("int64", "uint64") and gaps and theirs == "float64":
        equal = lambda a, b: missing(b) if a is None else a == b or float(a) == b
        return "gaps" if all(map(equal, values, wanted)) else ""
    if ours == "bool" and gaps and theirs == "object" and all(map(same, values, wanted)):
        return "gaps"
    cells = [v for v in wanted if not missing(v)]
    if any(BIG.fullmatch(str(v)) for v in [*values, *cells]):
        given = case.options.get("na_values", [])
        given = given.get(name, []) if isinstance(given, dict) else given
        words = {*CELLS["na"], *([given] if isinstance(given, str) else map(str, given))}
        return "big" if all(same_big(a, b, words, case.options) for a, b in zip(values, wanted)) else ""
    if ours == "category" and theirs == "category":
        spelled = lambda a, b: missing(b) if a is None else isinstance(b, bool) or (not isinstance(b, str) and number(a) == b)
        return "category" if all(map(spelled, values, wanted)) else ""
    if "parse_dates" in case.options and ("datetime" in ours or "datetime" in theirs):
        nat = {"", "NaT", "nat", "NaN", "nan", "NAN"}
        moment = lambda v: None if missing(v) or v in nat else moment_of(str(v).strip())
        iso = all(ISO.fullmatch(str(v).strip()) for v in values if not missing(v) and v not in nat)
        return "dates" if iso == ("datetime" in ours) and list(map(moment, values)) == list(map(moment, wanted)) else ""
    return ""


def moment_of(text):
    """The time that a text stands for, or the text."""
    try:
        return pd.Timestamp(text)
    except ValueError:
        return text


BIG = re.compile(r"\s*[-+]?[0-9]{19,}\s*")
ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?")


def same_big(a, b, words, options):
    """Whether numbers are the same apart from their type; a missing one may be one of these words."""
    plain = lambda v: v.replace(options.get("thousands", ""), "").replace(options.get("decimal", "."), ".")
    if missing(a):
        return missing(b) or b in words or number(b) in map(number, words)
    if missing(b):
        return False
    if isinstance(a, str) and isinstance(b, str):
        return a == b
    return a == str(b) or number(a) == number(plain(b) if isinstance(b, str) else b)


class Case:
    """One text with its options, and what the readers made of it."""

    def __init__(self, data, options):
        self.data, self.options = data, options
        self.frame, self.answer, self.table = None, None, None

    def decoded(self):
        return self.data.decode(self.options.get("encoding", "utf-8"))

    def __repr__(self):
        answer = self.answer["error"]["message"] if "error" in self.answer else self.table.to_pylist()
        frame = self.frame if isinstance(self.frame, Exception) else (self.frame.dtypes.to_dict(), self.frame.values.tolist())
        return f"--- text {self.decoded()!r}\n    options {self.options!r}\n    pandas {frame!r}\n    ours {answer}"

    def against(self, frame):
        """The names of the differences to one frame; "" stands for one that is not documented."""
        error = self.answer.get("error")
        if isinstance(frame, Exception) and error:
            return set()
        if isinstance(frame, Exception) or error:
            return {next((n for n, (_, applies) in DIFFERENCES.items() if applies and applies(self, frame, error)), "")}
        names = [str(c) for c in frame.columns]
        if self.table.column_names != names or self.table.num_rows != len(frame):
            return {next((n for n, (_, applies) in DIFFERENCES.items() if applies and applies(self, frame, error)), "")}
        pairs = enumerate(names)
        found = {column_differs(self, n, self.table.column(i), frame.iloc[:, i]) for i, n in pairs}
        return found - {None}

    def differs(self):
        """The names of the documented differences of this case; "" stands for one that is not documented."""
        found = self.against(self.frame)
        if "" not in found:
            return found
        # What a second reading by pandas makes of an equal text tells which difference it is.
        if "skipfooter" in self.options or is_pattern(self.options) or separator(self.options) == "§":
            data, options = in_first_parser(self.data, self.options)
            frame = read_pandas(data, options)
            headless = isinstance(frame, pd.errors.EmptyDataError) or "Passed header" in str(frame)
            if headless and "skipfooter" in self.options:
                # The footer reaches into the header, which counts all the same.
                whole = {k: v for k, v in self.options.items() if k != "skipfooter"}
                frame = read_pandas(*in_first_parser(self.data, whole), nrows=0)
                if "EOF inside string" in str(frame):
                    # A quoted cell that is never closed is the last line, and so one of the footer.
                    frame = read_pandas(*in_first_parser(self.data, {**self.options, "skipfooter": 1}), nrows=0)
            if "" not in (more := self.against(with_separators(frame))):
                return more | {"parser"}
        else:
            data, options = self.data, self.options
        if re.search("\r(?!\n)", self.decoded()):
            code = options.get("encoding", "utf-8")
            text = re.sub("\r\n?", "\n", data.decode(code))
            again = Case(self.data, self.options)
            again.answer, again.table = self.answer, None if self.table is None else line_feeds(self.table)
            if "" not in (more := again.against(with_separators(read_pandas(text.encode(code), options)))):
                return more | {"returns"}
        return found


def with_separators(frame):
    """The frame of `in_first_parser` with the separators that names and texts have in them."""
    if isinstance(frame, pd.DataFrame):
        for i, dtype in enumerate(frame.dtypes):
            if str(dtype) in ("str", "string"):
                frame.isetitem(i, frame.iloc[:, i].str.replace("\x01", "§"))
        frame.columns = [str(c).replace("\x01", "§") for c in frame.columns]
    return frame


def line_feeds(table):
    """The table with line feeds for all line ends in its names and texts."""
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            column = pa.compute.replace_substring_regex(table.column(i), "\r\n?", "\n")
            table = table.set_column(i, field.name, column)
    return table.rename_columns([re.sub("\r\n?", "\n", n) for n in table.column_names])


def surplus(case, frame, error):
    """pandas made an index, or let the columns that are picked slide."""
    if error is None or not re.search("cells, found|more than there are names|names [0-9]+ columns|does not exist|has no columns", error["message"]):
        return False
    if isinstance(frame, Exception):
        return False
    if "has no columns" in error["message"]:
        return frame.shape[1] == 0
    if "usecols" in case.options:
        return True
    # Cells that count from 0 make the same index as none does; without one the rows hold other values.
    if isinstance(frame.index, pd.RangeIndex) and (frame.index.start, frame.index.step) == (0, 1):
        plain = read_pandas(case.data, case.options, index_col=False)
        return isinstance(plain, Exception) or not plain.equals(frame)
    return True


# What its parsers say then. Numbers become floats where there are gaps, which are no booleans.
REFUSED = re.compile("has NA values in column|due to NA values|Unable to convert column|Cannot convert to numerical dtype|"
                     "cannot safely convert passed user dtype of (bool|u?int)")


def refused_gaps(case, frame, error):
    """pandas has no room for the gaps of a column that is demanded as whole numbers or booleans."""
    if not isinstance(frame, ValueError) or error or not REFUSED.search(str(frame)):
        return False
    dtype = case.options.get("dtype", {})
    kinds = dtype if isinstance(dtype, dict) else dict.fromkeys(case.table.column_names, dtype)
    written = lambda n: n if n in kinds else re.sub(r"\.[0-9]+$", "", n)
    whole = [n for n in case.table.column_names if "int" in kinds.get(written(n), "") or kinds.get(written(n)) == "bool"]
    return any(case.table.column(n).null_count for n in whole)


# Name: (reason, predicate over a whole case; None where a column or another reading decides). At most ten.
DIFFERENCES = {
    "gaps": ("whole numbers and booleans with gaps keep their type (null, not NaN), also where a type is demanded",
             refused_gaps),
    "big": ("a whole number beyond 64 bits is text, or a float beside fractions, wherever it stands, and words for missing "
            "values beside it are missing", None),
    "surplus": ("a first record with more cells than names is an error; pandas makes an index of its first cells", surplus),
    "parser": ("pandas reads footers, patterns and separators outside ASCII by a second parser with rules of its own; here "
               "the rules are those of its first one", None),
    "returns": ("a lone carriage return ends a line like a line feed; pandas repeats or swallows text where the next line "
                "begins with blanks or a separator", None),
    "dates": ("dates are those of ISO 8601, in any mixture, with zones as UTC; pandas takes one form a column, of many", None),
    "category": ("categories are text; pandas makes numbers of them where all are", None),
}


def run_cases(cases, folder):
    jobs = []
    for i, case in enumerate(cases):
        path = folder / f"{i}.csv"
        path.write_bytes(case.data)
        job = {"path": str(path), "format": "csv", "out": str(folder / f"{i}.arrow")}
        job.update({"query": query_of(case.options)} if i % 4 == 0 else {"options": ours_of(case.options)})
        jobs.append(job)
    for case, answer in zip(cases, dump.parse(jobs)):
        case.answer = answer
        case.table = answer["tables"][0]["table"] if "tables" in answer else None
        o = case.options
        second = "skipfooter" in o or is_pattern(o) or separator(o) == "§"
        case.frame = read_pandas(case.data, o, **({"engine": "python"} if second else {}))


def test_the_documented_differences_are_at_most_ten():
    assert len(DIFFERENCES) <= 10


def test_random_csv_options(tmp_path):
    print(f"GRAPHLUME_SEED={SEED} GRAPHLUME_CSV_CASES={CASES}")
    rng = random.Random(SEED)
    cases = [Case(*text_and_options(rng)) for _ in range(CASES)]
    run_cases(cases, tmp_path)
    count = {}
    wrong = []
    for case in cases:
        found = case.differs()
        for name in found:
            count[name] = count.get(name, 0) + 1
        if "" in found:
            wrong.append(case)
    failed = sum(isinstance(c.frame, Exception) for c in cases)
    print(f"{len(cases)} cases, {failed} refused by pandas; differences: {count}")
    shown = "\n".join(map(repr, wrong[:5]))
    assert not wrong, f"GRAPHLUME_SEED={SEED}: {len(wrong)} of {len(cases)} cases differ\n{shown}"
