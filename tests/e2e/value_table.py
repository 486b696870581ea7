"""The values that numbers and times are lost by, and what makes two of their forms one value.

A value comes in a column of its own: row n1 has it, row n2 its neighbour, which a narrower type would take for the same, and
row n0 is null."""

import datetime
import decimal
import fractions
import math
import re

import pyarrow as pa


def day(text):
    return datetime.date.fromisoformat(text)


def moment(text):
    return datetime.datetime.fromisoformat(text)


# Name, Arrow type, value, neighbour.
VALUES = [
    ("two_53_and_1", pa.int64(), 2**53 + 1, 2**53),
    ("two_63_less_1", pa.int64(), 2**63 - 1, 2**63 - 2),
    ("two_63_and_5", pa.uint64(), 2**63 + 5, 2**63 + 6),
    ("two_64_less_1", pa.uint64(), 2**64 - 1, 2**64 - 2),
    ("least_64", pa.int64(), -2**63, -2**63 + 1),
    ("end_of_dates", pa.timestamp("us"), moment("9999-12-31"), moment("9999-12-30T23:59:59.999999")),
    ("before_the_calendar", pa.timestamp("us"), moment("1500-06-01"), moment("1500-06-02")),
    ("first_date", pa.timestamp("us"), moment("0001-01-01"), moment("0001-01-01T00:00:01")),
    ("end_of_days", pa.date32(), day("9999-12-31"), day("9999-12-30")),
    ("first_day", pa.date32(), day("0001-01-01"), day("0001-01-02")),
    ("nanoseconds", pa.timestamp("ns"), 1_709_208_000_123_456_789, 1_709_208_000_123_456_788),
    ("milliseconds", pa.float64(), 1.76e12, 1.76e12 + 1),
    ("far", pa.float64(), 1e300, 1.0000000000000002e300),
    ("minus_zero", pa.float64(), -0.0, 1.0),
    ("not_a_number", pa.float64(), math.nan, 1.0),
    ("digits_38", pa.decimal128(38, 0), decimal.Decimal("12345678901234567890123456789012345678"),
     decimal.Decimal("12345678901234567890123456789012345679")),
    ("fraction_38", pa.decimal128(38, 18), decimal.Decimal("12345678901234567890.123456789012345678"),
     decimal.Decimal("12345678901234567890.123456789012345679")),
]
NAMES = [name for name, *_ in VALUES]


def table(names=NAMES):
    columns = {"id": ["n0", "n1", "n2"]}
    for name, kind, value, neighbour in VALUES:
        if name in names:
            columns[name] = pa.array([None, value, neighbour], kind)
    return pa.table(columns)


EDGES = b"s,d\nn0,n1\nn1,n2\nn2,n0\n"

ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(?:Z|\+00:00)?$")


def canon(value):
    """What a value is, whatever form it has: a number by its exact value, a moment by its nanoseconds."""
    if value is None:
        return None
    if isinstance(value, bool):
        return value
    if hasattr(value, "value") and hasattr(value, "nanosecond"):
        # A pandas Timestamp, of any unit.
        value = value.isoformat()
    if isinstance(value, datetime.datetime):
        value = value.isoformat()
    elif isinstance(value, datetime.date):
        value = value.isoformat()
    if isinstance(value, str):
        found = ISO.match(value)
        if found:
            year, month, of_month, hour, minute, second, rest = found.groups()
            seconds = datetime.date(int(year), int(month), int(of_month)).toordinal() * 86_400
            seconds += int(hour or 0) * 3_600 + int(minute or 0) * 60 + int(second or 0)
            return ("time", seconds * 10**9 + int((rest or "0").ljust(9, "0")))
        try:
            value = decimal.Decimal(value)
        except decimal.InvalidOperation:
            return value
    if isinstance(value, (float, decimal.Decimal)):
        if value == 0:
            return ("number", math.copysign(0.0, value).hex())
        if not math.isfinite(value):
            # NaN counts as null everywhere; the documents say so.
            return None if math.isnan(value) else str(value)
    return ("number", fractions.Fraction(value))


def found_in(name, value):
    """What a cell of this column is. Text that says a float says the nearest one."""
    [kind] = [v[1] for v in VALUES if v[0] == name]
    if kind == pa.float64() and isinstance(value, (str, int, decimal.Decimal)) and value != "":
        try:
            value = float(value)
        except ValueError:
            pass
    return canon(value)


def wanted(name):
    """What rows n0, n1 and n2 have in this column."""
    [(_, kind, value, neighbour)] = [v for v in VALUES if v[0] == name]
    if kind == pa.timestamp("ns"):
        value, neighbour = (pa.scalar(v, kind).as_py() for v in (value, neighbour))
    return [None, canon(value), canon(neighbour)]


def spoken(kind, value):
    """A value as people write it: a number, or the text of a moment or of digits."""
    if kind == pa.timestamp("ns"):
        seconds, rest = divmod(value, 10**9)
        return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}"
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if kind == pa.decimal128(38, 0):
        return str(value)
    return float(value) if isinstance(value, decimal.Decimal) else value


def in_cypher(kind, expression):
    """A text in Cypher, as a value of this type."""
    if pa.types.is_timestamp(kind):
        return f"localdatetime({expression})"
    return f"date({expression})" if pa.types.is_date(kind) else expression


def in_gfql(kind, value):
    if pa.types.is_timestamp(kind):
        return {"type": "datetime", "value": spoken(kind, value), "timezone": "UTC"}
    return {"type": "date", "value": spoken(kind, value)} if pa.types.is_date(kind) else spoken(kind, value)
