"""60 Arrow types through the door, the three formats of answers and the export of a selection: what comes out is what came in.

Each type is a column with a null. What no format can write is refused by name at the door."""

import datetime
import decimal
import io
import json
import zipfile

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from conftest import unique
from live import Viewer, bits, until_at_rest

DAY, CLOCK = datetime.date(2024, 2, 29), datetime.time(13, 14, 15)
AT = datetime.datetime(2024, 2, 29, 13, 14, 15)
LONG = datetime.timedelta(hours=30, seconds=5)


def plain(kind, *values):
    return pa.array([values[0], None, values[-1]], kind)


def dictionary(index, values, ordered=False):
    return pa.DictionaryArray.from_arrays(pa.array([0, None, 1], index), values, ordered=ordered)


def runs(values):
    return pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), values)


TYPES = {
    "null": lambda: pa.nulls(3),
    "bool": lambda: plain(pa.bool_(), True, False),
    "int8": lambda: plain(pa.int8(), -128, 127),
    "int16": lambda: plain(pa.int16(), -2**15, 2**15 - 1),
    "int32": lambda: plain(pa.int32(), -2**31, 2**31 - 1),
    "int64": lambda: plain(pa.int64(), -2**63, 2**63 - 1),
    "uint8": lambda: plain(pa.uint8(), 0, 255),
    "uint16": lambda: plain(pa.uint16(), 0, 2**16 - 1),
    "uint32": lambda: plain(pa.uint32(), 0, 2**32 - 1),
    "uint64": lambda: plain(pa.uint64(), 0, 2**64 - 1),
    "float16": lambda: plain(pa.float16(), 1.5, -2.0),
    "float32": lambda: plain(pa.float32(), 1.5, -0.25),
    "float64": lambda: plain(pa.float64(), 1e300, -0.1),
    "decimal32": lambda: plain(pa.decimal32(9, 2), decimal.Decimal("1234567.89"), decimal.Decimal("-0.01")),
    "decimal64": lambda: plain(pa.decimal64(18, 4), decimal.Decimal("12345678.9012"), decimal.Decimal("-1.5000")),
    "decimal128": lambda: plain(pa.decimal128(38, 10), decimal.Decimal("1234567890123456789012345678.0123456789")),
    "decimal256": lambda: plain(pa.decimal256(60, 0), decimal.Decimal("9" * 60), decimal.Decimal(-1)),
    "date32": lambda: plain(pa.date32(), DAY, datetime.date(1500, 1, 1)),
    "date64": lambda: plain(pa.date64(), DAY, datetime.date(9999, 12, 31)),
    "time32 s": lambda: plain(pa.time32("s"), CLOCK),
    "time32 ms": lambda: plain(pa.time32("ms"), CLOCK.replace(microsecond=7_000)),
    "time64 us": lambda: plain(pa.time64("us"), CLOCK.replace(microsecond=7)),
    "time64 ns": lambda: plain(pa.time64("ns"), CLOCK.replace(microsecond=7)),
    **{f"timestamp {u}": lambda u=u: plain(pa.timestamp(u), AT, AT.replace(year=1952)) for u in ("s", "ms", "us", "ns")},
    **{f"timestamp {u} utc": lambda u=u: plain(pa.timestamp(u, "UTC"), AT, AT.replace(year=1952)) for u in ("s", "ms", "us", "ns")},
    "timestamp us berlin": lambda: plain(pa.timestamp("us", "Europe/Berlin"), AT, AT.replace(month=7)),
    "timestamp us offset": lambda: plain(pa.timestamp("us", "+05:30"), AT),
    **{f"duration {u}": lambda u=u: plain(pa.duration(u), LONG, -LONG) for u in ("s", "ms", "us", "ns")},
    "string": lambda: plain(pa.string(), "ä", ""),
    "large_string": lambda: plain(pa.large_string(), "ä", ""),
    "string_view": lambda: plain(pa.string_view(), "ä", "more than twelve bytes"),
    "binary": lambda: plain(pa.binary(), b"\x00\xff", b""),
    "large_binary": lambda: plain(pa.large_binary(), b"\x00\xff", b""),
    "binary_view": lambda: plain(pa.binary_view(), b"\x00\xff", b"more than twelve bytes"),
    "fixed_binary": lambda: plain(pa.binary(4), b"\x00\xff\x01\x02"),
    "dictionary int8": lambda: dictionary(pa.int8(), pa.array(["a", "b"])),
    "dictionary int32": lambda: dictionary(pa.int32(), pa.array(["a", "b"])),
    "dictionary uint16": lambda: dictionary(pa.uint16(), pa.array(["a", "b"])),
    "dictionary of numbers": lambda: dictionary(pa.int32(), pa.array([2**53 + 1, -1])),
    "dictionary of dates": lambda: dictionary(pa.int32(), pa.array([DAY, datetime.date(1500, 1, 1)])),
    "dictionary ordered": lambda: dictionary(pa.int32(), pa.array(["a", "b"]), True),
    "list": lambda: plain(pa.list_(pa.int64()), [2**53 + 1, None], []),
    "list all null": lambda: pa.array([[None, None], None, []], pa.list_(pa.null())),
    "list of text": lambda: plain(pa.list_(pa.string()), ["a", None], []),
    "list of moments": lambda: plain(pa.list_(pa.timestamp("us")), [AT, None], []),
    "list of lists": lambda: plain(pa.list_(pa.list_(pa.int32())), [[1], None, []], []),
    "large_list": lambda: plain(pa.large_list(pa.int64()), [1, None], []),
    "list_view": lambda: plain(pa.list_view(pa.int64()), [1, None], []),
    "large_list_view": lambda: plain(pa.large_list_view(pa.int64()), [1, None], []),
    "fixed_list": lambda: plain(pa.list_(pa.float32(), 2), [0.5, 1.5]),
    "struct": lambda: plain(pa.struct([("n", pa.int64()), ("t", pa.string())]), {"n": 2**53 + 1, "t": "a"}, {"n": None, "t": None}),
    "struct of moments": lambda: plain(pa.struct([("at", pa.timestamp("us"))]), {"at": AT}),
    "list of structs": lambda: plain(pa.list_(pa.struct([("n", pa.int64())])), [{"n": 1}, None], []),
    "map": lambda: plain(pa.map_(pa.string(), pa.int64()), [("a", 1), ("b", None)], []),
    "runs": lambda: runs(pa.array(["a", None, "b"])),
    "dense union": lambda: pa.UnionArray.from_dense(pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()),
                                                    [pa.array([1, 2]), pa.array(["a"])]),
    "sparse union": lambda: pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]),
    "interval": lambda: pa.array([(1, 2, 3), None, (4, 5, 6)], pa.month_day_nano_interval()),
}
assert len(TYPES) >= 60, len(TYPES)
REFUSED = {"dense union": "a union", "sparse union": "a union", "interval": "intervals of a calendar"}


def arrow(table):
    out = io.BytesIO()
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def of(name):
    return pa.table({"id": ["n0", "n1", "n2"], "v": TYPES[name]()})


def is_kind(kind, *tests):
    return any(test(kind) for test in tests)


def text_of(value):
    """A value as JSON and CSV write it, or `None` for one whose text is compared by its parts."""
    if isinstance(value, bytes):
        return value.hex()
    return value


def same_text(kind, value, text):
    """Whether a cell of CSV or JSON says the value."""
    if value is None:
        return text in (None, "")
    if isinstance(text, str) and text != "" and pa.types.is_decimal(kind):
        return decimal.Decimal(text) == value
    if pa.types.is_decimal(kind):
        return decimal.Decimal(str(text)) == value
    if pa.types.is_boolean(kind):
        return str(text).lower() == str(value).lower()
    if pa.types.is_integer(kind):
        return str(text) == str(value)
    if pa.types.is_floating(kind):
        return float(text) == value
    if isinstance(value, bytes):
        return text == value.hex()
    if isinstance(value, datetime.datetime):
        said = datetime.datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        if value.tzinfo is None:
            return said.replace(tzinfo=None) == value
        return (said if said.tzinfo else said.replace(tzinfo=datetime.timezone.utc)) == value
    if isinstance(value, datetime.date):
        return str(text)[:10] == value.isoformat() and str(text)[10:] in ("", "T00:00:00", " 00:00:00")
    if isinstance(value, datetime.time):
        return datetime.time.fromisoformat(str(text)[:15]) == value
    if isinstance(value, datetime.timedelta):
        return seconds(str(text)) == value.total_seconds()
    if isinstance(value, (list, dict)):
        return True
    return text == value


def seconds(text):
    """An ISO duration, or a number of seconds."""
    import re
    found = re.fullmatch(r"(-?)P(?:(-?\d+)D)?T?(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?", text)
    if not found:
        return float(text)
    sign, days, hours, minutes, rest = found.groups()
    total = float(days or 0) * 86_400 + float(hours or 0) * 3_600 + float(minutes or 0) * 60 + float(rest or 0)
    return -total if sign else total


def decoded(kind):
    """The type as it is without dictionary or runs, which are forms of storage."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return kind.value_type if pa.types.is_run_end_encoded(kind) else kind


def plain_values(column):
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = column.type
    if pa.types.is_time64(kind) and kind.unit == "ns" or pa.types.is_duration(kind) or pa.types.is_timestamp(kind):
        return [v.value if v.is_valid else None for v in column]
    return column.to_pylist()


def scaled(kind, values):
    """Times as nanoseconds, so that another unit is no other value."""
    unit = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
    if is_kind(kind, pa.types.is_timestamp, pa.types.is_duration) or pa.types.is_time64(kind) and kind.unit == "ns":
        return [v if v is None else v * unit[kind.unit] for v in values]
    if pa.types.is_time(kind):
        return [v if v is None else (v.hour * 3600 + v.minute * 60 + v.second) * 10**9 + v.microsecond * 1000 for v in values]
    return values


def flat(column):
    """A column in one piece, without runs and views, which are forms of storage."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_run_end_encoded(column.type):
        column = pyarrow.compute.run_end_decode(column)
    views = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return column.cast(views[column.type]) if column.type in views else column


def typed(got, want):
    """Whether a column of Parquet has the values and what kind of thing they are."""
    a, b = got.type, decoded(want.type)
    got_values, want_values = scaled(a, plain_values(got)), scaled(b, plain_values(want.cast(b) if b != want.type else want))
    kinds = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_time, pa.types.is_duration, pa.types.is_decimal, pa.types.is_integer,
             pa.types.is_floating, pa.types.is_boolean)
    a = decoded(a)
    assert [test(a) for test in kinds] == [test(b) for test in kinds] or pa.types.is_null(b), (a, b)
    assert got_values == want_values, (a, got_values, want_values)


@pytest.fixture(scope="module")
def api(server):
    return server.api("alice")


@pytest.mark.parametrize("name", TYPES)
def test_a_type_comes_out_as_it_came_in(api, name):
    table = of(name)
    if name in REFUSED:
        made = api("POST", "/api/v2/files/", json={"file_type": "arrow"}).json()["file_id"]
        said = api("POST", f"/api/v2/upload/files/{made}", data=arrow(table)).json()
        [error] = said["errors"]
        assert not said["is_valid"] and error["column"] == "v" and REFUSED[name] in error["message"], said
        return
    record = api.file(arrow(table), "arrow")
    assert record["is_valid"], record
    edges = api.file(b"s,d\nn0,n1\nn1,n2\n", "csv")
    dataset = api.dataset([edges["file_id"]], [record["file_id"]], nodes={"node": "id"})
    want, kind = table["v"].combine_chunks(), decoded(table["v"].type)
    values = flat(want).to_pylist()

    def check(data, form):
        if form == "parquet":
            got = pq.read_table(io.BytesIO(data))
            assert got["id"].to_pylist() == ["n0", "n1", "n2"]
            typed(flat(got["v"]), flat(want))
            return
        rows = json.loads(data) if form == "json" else \
            pyarrow.csv.read_csv(io.BytesIO(data), convert_options=pyarrow.csv.ConvertOptions(
                column_types={"v": pa.string()}, strings_can_be_null=True)).to_pylist()
        for row, value in zip(sorted(rows, key=lambda r: r["id"]), values):
            cell = row.get("v")
            if form == "csv" and value in ("", b""):
                assert cell in (None, ""), row
            elif form == "json" and isinstance(value, (list, dict)) and name in ("list", "list of text", "list of lists", "large_list"):
                assert cell == value, (cell, value)
            else:
                assert same_text(kind, value, cell), (form, name, cell, value)
    for form in ("json", "csv", "parquet"):
        r = api("POST", f"/api/v2/datasets/{dataset}/gfql/nodes", json={"gfql_query": [{"type": "Node"}], "format": form})
        assert r.status_code == 200, (form, r.text)
        check(r.content, form)
        r = api("POST", f"/api/v2/datasets/{dataset}/gfql/all", json={"gfql_query": [{"type": "Node"}], "format": form})
        assert r.status_code == 200, (form, r.text)
        if form != "json":
            with zipfile.ZipFile(io.BytesIO(r.content)) as archive:
                check(archive.read(f"nodes.{form}"), form)
    session = unique("types")
    viewer = Viewer(api.server, dataset, session, headers=dict(api.session.headers))
    try:
        until_at_rest(viewer)
        for form in ("json", "csv", "parquet"):
            r = api("POST", f"/viz/{session}/export", params={"dataset": dataset, "table": "nodes", "format": form},
                    json={"nodes": bits(range(3), 3)})
            assert r.status_code == 200, (form, r.text)
            check(r.content, form)
    finally:
        viewer.close()
