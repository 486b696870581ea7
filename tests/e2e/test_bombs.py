"""Small bodies that would become huge ones are refused at once, and leave the server as it was."""

import bz2
import gzip
import io
import json
import lzma
import os
import zipfile
import zlib
from pathlib import Path

import pytest

from test_workers import children

# Of computing, many times what a bomb costs: only what unpacks on and on takes that long.
SECONDS_MAX = 60
GROWTH_BYTES_MAX = 64 << 20
MIB = 1 << 20


def archive(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in entries:
            z.writestr(name, data)
    return out.getvalue()


def squeezed(start, part, count, end, wrap):
    """`start + part * count + end` in compressed form, without ever being in memory as a whole."""
    packer = {"deflate": lambda: zlib.compressobj(9, zlib.DEFLATED, -15), "gzip": lambda: zlib.compressobj(9, wbits=31),
              "bz2": bz2.BZ2Compressor, "xz": lzma.LZMACompressor}[wrap]()
    block = part * max(1, MIB // len(part))
    blocks, rest = divmod(count * len(part), len(block))
    out = [packer.compress(start)]
    crc = zlib.crc32(start)
    for piece in [*([block] * blocks), block[:rest], end]:
        out.append(packer.compress(piece))
        crc = zlib.crc32(piece, crc)
    out.append(packer.flush())
    return b"".join(out), crc, len(start) + count * len(part) + len(end)


def stored_as_deflated(name, deflated, crc, size, more=()):
    """An archive with a member that was compressed elsewhere."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for other, data in more:
            z.writestr(other, data)
        info = zipfile.ZipInfo(name)
        # Written as stored bytes first, then declared to be deflated ones.
        z.writestr(info, deflated)
    data = bytearray(out.getvalue())
    method = (8).to_bytes(2, "little")
    sizes = crc.to_bytes(4, "little") + len(deflated).to_bytes(4, "little") + size.to_bytes(4, "little")
    local = data.index(b"PK\x03\x04", info.header_offset)
    central = data.rindex(b"PK\x01\x02")
    data[local + 8:local + 10], data[local + 14:local + 26] = method, sizes
    data[central + 10:central + 12], data[central + 16:central + 28] = method, sizes
    return bytes(data)


def workbook(deflated, crc, size):
    """A workbook whose shared texts are these."""
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    sheet = ('<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row></sheetData></worksheet>')
    parts = [
        ("[Content_Types].xml", "<Types/>"),
        ("_rels/.rels", f'<Relationships><Relationship Id="r" Type="{rel}/officeDocument" Target="xl/workbook.xml"/>'
                        "</Relationships>"),
        ("xl/workbook.xml", f'<workbook xmlns:r="{rel}"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets>'
                            "</workbook>"),
        ("xl/_rels/workbook.xml.rels", f'<Relationships><Relationship Id="rId1" Type="{rel}/worksheet" '
                                       'Target="worksheets/sheet1.xml"/></Relationships>'),
        ("xl/worksheets/sheet1.xml", sheet),
    ]
    return stored_as_deflated("xl/sharedStrings.xml", deflated, crc, size, parts)


def bomb(kind):
    """Type, compression and bytes of a bomb, and what its error names."""
    if kind in ("gzip", "bz2", "xz"):
        return "csv", kind, squeezed(b"", b"0", 1 << 28, b"", kind)[0], "decompression-limit"
    if kind == "zip":
        return "csv", "zip", stored_as_deflated("t.csv", *squeezed(b"", b"0", 1 << 28, b"", "deflate")), \
            "decompression-limit"
    if kind == "nested zip":
        inner = stored_as_deflated("t.csv", *squeezed(b"", b"0", 1 << 28, b"", "deflate"))
        return "csv", "zip", archive([("inner.zip", inner)]), "malformed-zip"
    if kind == "100,000 entries":
        return "csv", "zip", archive((f"{i}.csv", b"a") for i in range(100_000)), "decompression-limit"
    if kind == "many gzip members":
        return "csv", "gzip", gzip.compress(b"0" * MIB, 9) * 600, "decompression-limit"
    if kind == "shared texts":
        texts = squeezed(b"<sst>", b"<si><t>x</t></si>", 10_000_000, b"</sst>", "deflate")
        return "xlsx", "", workbook(*texts), "decompression-limit"
    if kind == "claimed texts":
        texts = squeezed(b'<sst uniqueCount="4000000000000">', b"<si><t>x</t></si>", 1, b"</sst>", "deflate")
        return "xlsx", "", workbook(*texts), "decompression-limit"
    if kind == "one huge text":
        texts = squeezed(b"<sst><si><t>", b"x", 1 << 28, b"</t></si></sst>", "deflate")
        return "xlsx", "", workbook(*texts), "decompression-limit"
    raise ValueError(kind)


KINDS = ["gzip", "bz2", "xz", "zip", "nested zip", "100,000 entries", "many gzip members", "shared texts",
         "claimed texts", "one huge text"]


def cpu_seconds(server):
    """What the server and its workers have computed, those included that have ended."""
    ticks = 0
    for pid in (server.process.pid, *children(server.process.pid)):
        ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("kind", KINDS)
def test_bombs_are_refused_at_once(server, alice, kind):
    file_type, compression, body, slug = bomb(kind)
    assert len(body) < 32 * MIB
    # What a first upload makes the server keep is not the bomb's doing.
    alice.file(b"s,d\n1,2\n", "csv")
    before = server.rss_bytes()
    begin = cpu_seconds(server)
    f = alice.file(body, file_type, file_compression=compression)
    spent = cpu_seconds(server) - begin
    print(f"{kind}: {len(body)} bytes cost {spent:.2f} s")
    growth = server.rss_bytes() - before
    assert f["is_valid"] is False and [e["slug"] for e in f["errors"]] == [slug], f
    assert spent < SECONDS_MAX, spent
    assert growth < GROWTH_BYTES_MAX, growth
    message = f["errors"][0]["message"]
    assert any(word in message for word in ("limit", "twice")), message
    assert alice.file(b"s,d\n1,2\n", "csv")["is_valid"]


def test_a_dictionary_of_a_gigabyte_and_a_half_is_refused(server, alice):
    body = bytearray(lzma.compress(b"s,d\n1,2\n", preset=1))
    # The header of the block: its length, flags, the filter's id, one byte of properties.
    assert body[14:16] == b"\x21\x01"
    body[16] = 37
    end = 12 + (body[12] + 1) * 4
    body[end - 4:end] = zlib.crc32(body[12:end - 4]).to_bytes(4, "little")
    before = server.rss_bytes()
    f = alice.file(bytes(body), "csv", file_compression="xz")
    assert f["errors"][0]["slug"] == "malformed-xz" and "256 MiB" in f["errors"][0]["message"], f
    assert server.rss_bytes() - before < GROWTH_BYTES_MAX


def test_names_in_an_archive_lead_nowhere(alice, tmp_path):
    for name in ("../../../tmp/escaped.csv", "/tmp/escaped.csv", "C:\\escaped.csv", "con", "a" * 300):
        f = alice.file(archive([(name, b"s,d\n1,2\n")]), "csv", file_compression="zip")
        assert f["is_valid"] and f["tables_schemas"][0]["num_rows"] == 1, (name, f)
    link = zipfile.ZipInfo("link.csv")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    f = alice.file(archive([(link, b"/etc/passwd")]), "csv", file_compression="zip")
    assert f["errors"][0]["slug"] == "malformed-zip" and "a link" in f["errors"][0]["message"], f


def test_what_shrinks_well_and_is_small_is_no_bomb(alice):
    rows = [{"s": i % 3, "d": 1, "w": 0.5} for i in range(200_000)]
    body = gzip.compress(json.dumps(rows).encode(), 9)
    f = alice.file(body, "json", file_compression="gzip")
    assert f["is_valid"] and f["tables_schemas"][0]["num_rows"] == len(rows), f
