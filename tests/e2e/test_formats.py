"""Every format in every container and compression, written by other tools, against what pandas reads."""

import bz2
import datetime as dt
import decimal
import gzip
import io
import itertools
import json
import lzma
import re
import zipfile

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pytest
import xlwt

from dump import differences, parse

NONE = ""
COMPRESSIONS = [NONE, "gzip", "bz2", "zip", "xz"]


def pack(how, data, name="table"):
    if how == "zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr(name, data)
        return out.getvalue()
    return {NONE: bytes, "gzip": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[how](data)


def plain_frame():
    return pd.DataFrame({
        "src": [f"n{i % 7}" for i in range(40)],
        "dst": [i * i % 11 for i in range(40)],
        "weight": [i / 8 - 2 for i in range(40)],
        "gaps": [None if i % 5 == 0 else i * 1000 for i in range(40)],
        "flag": [i % 3 == 0 for i in range(40)],
        "note": [None if i % 4 == 0 else "äöü 日本 \"q\", x" + "\U0001f600" * (i % 3) for i in range(40)],
        "large": [2**53 + i for i in range(40)],
    })


def rich_table():
    """Columns of the types that files with types have."""
    n = 12
    when = [None if i == 3 else dt.datetime(2020, 1, 1) + dt.timedelta(hours=i, microseconds=i) for i in range(n)]
    days = [None if i == 4 else dt.date(1969, 12, 30) + dt.timedelta(days=i) for i in range(n)]
    money = [None if i == 5 else decimal.Decimal(i * 12345 - 9) / 100 for i in range(n)]
    return pa.table({
        "i8": pa.array(range(n), pa.int8()),
        "i16": pa.array([None, *range(1, n)], pa.int16()),
        "i32": pa.array(range(n), pa.int32()),
        "i64": pa.array([i * 10**15 for i in range(n)], pa.int64()),
        "f32": pa.array([i / 4 for i in range(n)], pa.float32()),
        "f64": pa.array([None if i == 2 else i / 3 for i in range(n)], pa.float64()),
        "flag": pa.array([None if i == 1 else i % 2 == 0 for i in range(n)]),
        "text": pa.array([None if i == 6 else "ä" * i for i in range(n)]),
        "bin": pa.array([bytes([i, 0, 255]) for i in range(n)]),
        "money": pa.array(money, pa.decimal128(12, 2)),
        "day": pa.array(days, pa.date32()),
        "naive": pa.array(when, pa.timestamp("us")),
        "list": pa.array([None if i == 7 else list(range(i % 4)) for i in range(n)], pa.list_(pa.int64())),
        "struct": pa.array([{"x": i, "y": None if i % 2 else str(i)} for i in range(n)]),
    })


def arrow_only_table():
    n = 9
    when = [dt.datetime(2021, 6, 1, tzinfo=dt.timezone.utc) + dt.timedelta(days=i) for i in range(n)]
    words = [None if i == 2 else f"w{i % 3}" for i in range(n)]
    return pa.table({
        "u64": pa.array([2**64 - 1 - i for i in range(n)], pa.uint64()),
        "large": pa.array(words, pa.large_string()),
        "view": pa.array([None if i == 2 else f"{i} is longer than what fits in" for i in range(n)], pa.string_view()),
        "dict": pa.array(words).dictionary_encode(),
        "zoned": pa.array(when, pa.timestamp("ms", tz="America/New_York")),
        "nanos": pa.array([i * 10**9 + 7 for i in range(n)], pa.timestamp("ns")),
        "span": pa.array([dt.timedelta(milliseconds=i) for i in range(n)], pa.duration("ms")),
        "largelist": pa.array([[str(i)] * (i % 3) for i in range(n)], pa.large_list(pa.string())),
        "fixed": pa.array([[i, i + 1] for i in range(n)], pa.list_(pa.int32(), 2)),
        "time": pa.array([dt.time(i, 2, 3) for i in range(n)], pa.time64("us")),
        "nothing": pa.nulls(n),
    })


def sink(write):
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def ipc(table, opener, batch=None):
    def write(out):
        with opener(out, table.schema) as w:
            w.write_table(table, max_chunksize=batch)
    return sink(write)


def read_ipc(data):
    opener = pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream
    return opener(data).read_pandas()


def sheets(frame, writer):
    """A workbook of two sheets with data, and an empty one between them."""
    if writer == "xlwt":
        book = xlwt.Workbook()
        for name, part in (("edges", frame), ("empty", frame.iloc[:0, :0]), ("more", frame.iloc[:3])):
            sheet = book.add_sheet(name)
            dated = xlwt.easyxf(num_format_str="YYYY-MM-DD HH:MM:SS")
            for c, column in enumerate(part.columns):
                sheet.write(0, c, column)
                for r, v in enumerate(part[column].tolist()):
                    if isinstance(v, pd.Timestamp):
                        sheet.write(r + 1, c, v.to_pydatetime(), dated)
                    elif not pd.isna(v):
                        sheet.write(r + 1, c, v)
        return sink(book.save)

    def write(out):
        with pd.ExcelWriter(out, engine=writer) as w:
            frame.to_excel(w, sheet_name="edges", index=False)
            frame.iloc[:0, :0].to_excel(w, sheet_name="empty", index=False)
            frame.iloc[:3].to_excel(w, sheet_name="more", index=False)
    return sink(write)


def excel_frame():
    frame = plain_frame().drop(columns="large")
    frame["when"] = pd.Timestamp("1999-12-31 23:59:58") + pd.to_timedelta(range(40), unit="h")
    frame["mixed"] = [i if i % 2 else f"m{i}" for i in range(40)]
    frame["digits"] = [f"{i:03}" for i in range(40)]
    return frame


def read_sheets(data, engine):
    tables = pd.read_excel(io.BytesIO(data), sheet_name=None, engine=engine)
    return {name: table for name, table in tables.items() if name != "empty"}


FRAME, RICH, ARROW_ONLY, EXCEL = plain_frame(), rich_table(), arrow_only_table(), excel_frame()
FLAT = pa.Table.from_pandas(FRAME, preserve_index=False)
BOTH = pa.table({**{c: RICH[c].slice(0, 9) for c in RICH.column_names},
                 **{f"x{c}": ARROW_ONLY[c] for c in ARROW_ONLY.column_names}})


def contents():
    """Name to (type, options, bytes, reader of pandas). The reader gives a frame, or frames by name."""
    out = {
        "arrow file": ("arrow", {}, ipc(BOTH, pa.ipc.new_file), read_ipc),
        "arrow file, batches": ("arrow", {}, ipc(RICH, pa.ipc.new_file, 5), read_ipc),
        "arrow stream": ("arrow", {}, ipc(BOTH, pa.ipc.new_stream), read_ipc),
        "arrow stream, batches": ("arrow", {}, ipc(RICH, pa.ipc.new_stream, 5), read_ipc),
        "arrow empty": ("arrow", {}, ipc(BOTH.slice(0, 0), pa.ipc.new_file), read_ipc),
        "csv": ("csv", {}, FRAME.to_csv(index=False).encode(), lambda b: pd.read_csv(io.BytesIO(b))),
        "csv tab": ("csv", {"sep": "\t"}, FRAME.to_csv(index=False, sep="\t").encode(),
                    lambda b: pd.read_csv(io.BytesIO(b), sep="\t")),
        "csv bom, crlf": ("csv", {}, b"\xef\xbb\xbf" + FRAME.to_csv(index=False, lineterminator="\r\n").encode(),
                          lambda b: pd.read_csv(io.BytesIO(b))),
        "xls": ("xls", {}, sheets(EXCEL, "xlwt"), lambda b: read_sheets(b, "xlrd")),
        "xlsx openpyxl": ("xlsx", {}, sheets(EXCEL, "openpyxl"), lambda b: read_sheets(b, "openpyxl")),
        "xlsx xlsxwriter": ("xlsx", {}, sheets(EXCEL, "xlsxwriter"), lambda b: read_sheets(b, "openpyxl")),
    }
    for codec in ("lz4", "zstd"):
        data = sink(lambda f: pa.feather.write_feather(BOTH, f, compression=codec))
        out[f"arrow {codec}"] = ("arrow", {}, data, lambda b: pd.read_feather(io.BytesIO(b)))
    frame = FRAME.drop(columns="note")
    for orient in ("split", "records", "index", "columns", "values", "table"):
        more = {"index": False} if orient == "table" else {}
        data = frame.to_json(orient=orient, **more).encode()
        out[f"json {orient}"] = ("json", {"orient": orient}, data,
                                 lambda b, o=orient: pd.read_json(io.BytesIO(b), orient=o))
    out["json lines"] = ("json", {"lines": True}, FRAME.to_json(orient="records", lines=True).encode(),
                         lambda b: pd.read_json(io.BytesIO(b), lines=True))
    out["json inferred"] = ("json", {}, FRAME.to_json(orient="records").encode(),
                            lambda b: pd.read_json(io.BytesIO(b)))
    for codec in ("none", "snappy", "zstd", "gzip", "lz4", "brotli"):
        data = sink(lambda f: pa.parquet.write_table(RICH, f, compression=codec, row_group_size=5))
        out[f"parquet {codec}"] = ("parquet", {}, data, lambda b: pd.read_parquet(io.BytesIO(b)))
    data = sink(lambda f: ARROW_ONLY.drop_columns(["view", "span"]).to_pandas().to_parquet(f))
    out["parquet pandas"] = ("parquet", {}, data, lambda b: pd.read_parquet(io.BytesIO(b)))
    for codec in ("uncompressed", "zlib", "snappy", "zstd", "lz4"):
        data = sink(lambda f: pa.orc.write_table(RICH, f, compression=codec))
        out[f"orc {codec}"] = ("orc", {}, data, lambda b: pd.read_orc(io.BytesIO(b)))
    zoned = RICH.set_column(0, "zoned", RICH["naive"].cast(pa.timestamp("us", tz="UTC")))
    mapped = zoned.append_column("map", pa.array([[("a", i)] * (i % 3) for i in range(12)],
                                                 pa.map_(pa.string(), pa.int64())))
    data = sink(lambda f: pa.orc.write_table(mapped, f, stripe_size=1024))
    out["orc stripes, zones, maps"] = ("orc", {}, data, lambda b: pd.read_orc(io.BytesIO(b)))
    return out


CONTENTS = contents()


@pytest.mark.parametrize("name", CONTENTS)
def test_every_legal_cell_has_the_values_of_pandas(tmp_path, alice, name):
    file_type, options, data, read = CONTENTS[name]
    want = read(data)
    want = want if isinstance(want, dict) else {None: want}
    jobs, bodies = [], [pack(how, data) for how in COMPRESSIONS]
    for i, (how, body) in enumerate(zip(COMPRESSIONS, bodies)):
        (tmp_path / str(i)).write_bytes(body)
        jobs.append({"path": str(tmp_path / str(i)), "format": file_type, "compression": how,
                     "options": options, "out": str(tmp_path / f"{i}.arrow")})
    for how, body, answer in zip(COMPRESSIONS, bodies, parse(jobs)):
        assert "error" not in answer, (how, answer)
        tables = {t["name"]: t for t in answer["tables"]}
        if None not in want:
            assert list(tables) == list(want), how
        for got, frame in zip(tables.values(), want.values()):
            assert differences(got["table"], frame) == [], how
        f = alice.file(body, file_type, file_compression=how, parser_options=options)
        assert f["is_valid"] and f["errors"] == [] and f["bytes_count"] == len(body), (how, f)
        shape = ("name", "dtypes", "num_rows", "num_cols")
        assert [[t[k] for k in shape] for t in f["tables_schemas"]] == \
            [[t[k] for k in shape] for t in answer["tables"]], how


@pytest.mark.parametrize("name", [n for n in CONTENTS if not n.startswith("xls")])
def test_direct_uploads(alice, name):
    file_type, options, data, read = CONTENTS[name]
    frame = read(data)
    text = {k: str(v).lower() if isinstance(v, bool) else v for k, v in options.items()}
    dataset = alice.dataset(edges={"source": str(frame.columns[0]), "destination": str(frame.columns[1])})
    path = f"/api/v2/upload/datasets/{dataset}/edges/{file_type}"
    how_many = COMPRESSIONS if file_type in ("csv", "json") else [NONE]
    for how in how_many:
        for word in [how, "infer"] if how else ["", "none", "infer"]:
            params = {**text, "compression": word} if file_type in ("csv", "json") and word else text
            r = alice("POST", path, params=params, data=pack(how, data))
            assert r.status_code == 200, (how, word, r.text)
            body = r.json()["data"]
            assert (body["num_rows"], body["num_cols"]) == frame.shape, (how, word)
    for how in COMPRESSIONS[1:]:
        r = alice("POST", path, params=text, data=pack(how, data))
        assert r.status_code in (415, 422) and r.json()["slug"] == "undeclared-compression", (how, r.text)
        assert how in r.json()["message"] and ("declare" in r.json()["message"]), r.text


SAMPLES = {"arrow": "arrow file", "csv": "csv", "json": "json records", "orc": "orc zlib",
           "parquet": "parquet snappy", "xls": "xls", "xlsx": "xlsx openpyxl"}
REMEDY = re.compile(r"declare|send|save|make the archive|compress .* again|put exactly one|use |convert|remove")


def test_every_illegal_cell_has_its_named_error(tmp_path):
    """Seven declared types, the contents of the six others, five compressions."""
    jobs, cells = [], []
    for declared, content, how in itertools.product(SAMPLES, SAMPLES, COMPRESSIONS):
        if declared == content:
            continue
        path = tmp_path / f"{content}.{how}"
        if not path.exists():
            path.write_bytes(pack(how, CONTENTS[SAMPLES[content]][2]))
        jobs.append({"path": str(path), "format": declared, "compression": how})
        cells.append((declared, content, how))
    assert len(jobs) == 7 * 6 * 5
    wrong = []
    for (declared, content, how), answer in zip(cells, parse(jobs)):
        if (declared, content) == ("csv", "json"):
            # Any text is a CSV of some kind: what is declared decides, and nobody sniffs.
            if "tables" not in answer and answer["error"]["slug"] != "malformed-csv":
                wrong.append((declared, content, how, answer))
            continue
        slugs = {f"malformed-{declared}"}
        if content == "xlsx":
            # A workbook is an archive, and is named as one.
            slugs = {f"malformed-{how}"} if how else {"malformed-xls" if declared == "xls" else "undeclared-compression"}
        error = answer.get("error", {"slug": "no error", "message": ""})
        hint = content in error["message"] or content == "xlsx" or declared == "xlsx"
        if error["slug"] not in slugs or not REMEDY.search(error["message"]) or not hint:
            wrong.append((declared, content, how, error))
    assert not wrong, wrong[:10]


def test_every_wrong_compression_has_its_named_error(tmp_path, alice):
    jobs, cells = [], []
    for content, declared, used in itertools.product(SAMPLES, COMPRESSIONS, COMPRESSIONS):
        if declared == used:
            continue
        path = tmp_path / f"{content}.{used}"
        path.write_bytes(pack(used, CONTENTS[SAMPLES[content]][2]))
        jobs.append({"path": str(path), "format": content, "compression": declared})
        cells.append((content, declared, used))
    wrong = []
    for (content, declared, used), answer in zip(cells, parse(jobs)):
        want = {"wrong-compression"} if declared else {"undeclared-compression"}
        if content in ("xls", "xlsx") and "zip" in (declared, used):
            # Archive and workbook begin alike.
            want = {"malformed-zip", f"malformed-{content}", "wrong-compression"}
        error = answer.get("error", {"slug": "no error", "message": ""})
        if error["slug"] not in want or not REMEDY.search(error["message"]):
            wrong.append((content, declared, used, error))
    assert not wrong, wrong[:10]
    f = alice.file(gzip.compress(b"s,d\n1,2\n"), "csv")
    assert f["is_valid"] is False and f["errors"][0]["slug"] == "undeclared-compression", f
    assert "file_compression" in f["errors"][0]["message"], f
    # The settings can be put right without a new upload of kept bytes.
    f = alice.file(gzip.compress(b"s,d\n1,2\n"), "csv", "?erase=false")
    r = alice("PATCH", f"/api/v2/upload/files/{f['file_id']}/", json={"file_compression": "gzip"})
    assert r.status_code == 200 and r.json()["is_valid"] is True, r.text
    r = alice("POST", "/api/v2/files/", json={"file_type": "csv", "file_compression": "rar"})
    assert r.status_code == 400 and "gzip, bz2, zip, xz" in r.text, r.text


def test_awkward_workbooks(tmp_path):
    """Dates, formulas, errors, blanks and repeated names; the values are those of pandas."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Überblick"
    sheet.append(["id", "id", None, "when", "clock", "long", "sum", "bad", "word", 7, "bool", "date"])
    for i in range(6):
        sheet.append([i, i / 2, None if i else "x", dt.datetime(2020, 2, 28 - i, 13, 30, i), dt.time(i, 30, 5),
                      dt.timedelta(hours=20 * i, seconds=1), None, "#DIV/0!" if i % 2 else i, f"00{i}",
                      True if i % 2 else None, bool(i % 2), dt.date(1900, 1, 1) + dt.timedelta(days=10**i % 40000)])
    stray = book.create_sheet("late start")
    stray["B3"], stray["C3"], stray["B5"], stray["C6"] = "x", "y", 1, 2.5
    header_only = book.create_sheet("names only")
    header_only.append(["a", "b"])
    path = tmp_path / "awkward.xlsx"
    book.save(path)
    # A formula has the value that the application stored.
    parts = {}
    with zipfile.ZipFile(path) as z:
        parts = {n: z.read(n) for n in z.namelist()}
    rows = parts["xl/worksheets/sheet1.xml"].decode()
    for i in range(2, 8):
        cell = f'<c r="G{i}"><f>SUM(A{i},B{i})</f><v>{i * 1.5}</v></c>'
        rows = re.sub(f'(<c r="H{i}")', cell + r"\1", rows, count=1)
    parts["xl/worksheets/sheet1.xml"] = rows.encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in parts.items():
            z.writestr(name, data)
    want = pd.read_excel(path, sheet_name=None, engine="openpyxl")
    (answer,) = parse([{"path": str(path), "format": "xlsx", "out": str(tmp_path / "out.arrow")}])
    assert "error" not in answer, answer
    assert [t["name"] for t in answer["tables"]] == list(want)
    for got, frame in zip(answer["tables"], want.values()):
        assert differences(got["table"], frame) == [], got["name"]
    dtypes = answer["tables"][0]["dtypes"]
    assert (dtypes["when"], dtypes["sum"], dtypes["word"]) == ("datetime64[us]", "float64", "int64"), dtypes
    options = [({"sheet_name": "late start", "skiprows": 2, "usecols": ["x"]}, {"usecols": ["x"], "skiprows": 2,
                                                                               "sheet_name": "late start"}),
               ({"sheet_name": [0], "nrows": 2}, {"sheet_name": 0, "nrows": 2}),
               ({"sheet_name": 2, "header": "none"}, {"sheet_name": 2, "header": None})]
    for ours, theirs in options:
        (answer,) = parse([{"path": str(path), "format": "xlsx", "options": ours, "out": str(tmp_path / "o.arrow")}])
        frame = pd.read_excel(path, engine="openpyxl", **theirs)
        assert differences(answer["tables"][0]["table"], frame) == [], ours


def test_orc_options_and_files_of_many_rows(tmp_path):
    n = 200_000
    table = pa.table({"i": pa.array(range(n)), "s": pa.array([f"v{i % 1000}" for i in range(n)]),
                      "l": pa.array([[i] * (i % 3) for i in range(n)])})
    path = tmp_path / "many.orc"
    pa.orc.write_table(table, str(path), compression="zstd", stripe_size=64 * 1024)
    frame = pd.read_orc(path)
    cases = [({}, frame), ({"columns": ["s"]}, frame[["s"]]), ({"skiprows": 150_001, "num_rows": 777},
                                                              frame.iloc[150_001:150_778])]
    for options, want in cases:
        (answer,) = parse([{"path": str(path), "format": "orc", "options": options,
                            "out": str(tmp_path / "o.arrow")}])
        assert "error" not in answer, answer
        assert differences(answer["tables"][0]["table"], want.reset_index(drop=True)) == [], options


def test_a_body_of_json_text_and_other_containers_keep_their_meaning(alice):
    """The browser client sends a text as one JSON string, also when it is compressed."""
    text = json.dumps("s,d\n1,2\n3,4\n").encode()
    f = alice.file(gzip.compress(text), "csv", file_compression="gzip")
    assert f["is_valid"] and f["tables_schemas"][0]["num_rows"] == 2, f
