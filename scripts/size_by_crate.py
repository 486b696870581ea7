"""What each crate adds to a program: bytes of its functions and data, by the symbols of the linked file.

usage: size_by_crate.py PROGRAM [ROWS]      (a program with its symbols; needs nm of binutils)

Generic code counts for the crate that its name begins with. Tables of unwinding and relocations have no symbols: they are
the row `without a symbol`, with padding and what is merged.
"""

import collections
import re
import subprocess
import sys
from pathlib import Path

# Of a demangled name, the first path: `<alloc::vec::Vec<polars_core::X> as ...>::drop` counts for the crate of its impl.
CRATE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[0-9a-f]+\])?::")


def sizes(program):
    """(bytes, name) of each symbol, those at one address once."""
    listed = subprocess.run(["nm", "--print-size", "--demangle=rust", "--defined-only", program], check=True,
                            capture_output=True, text=True, errors="replace").stdout
    seen = set()
    for line in listed.splitlines():
        parts = line.split(" ", 3)
        if len(parts) == 4 and parts[2].lower() in "trdwv" and parts[0] not in seen:
            seen.add(parts[0])
            yield int(parts[1], 16), parts[3]


def table(program, rows):
    by_crate = collections.Counter()
    for size, name in sizes(program):
        found = CRATE.search(name)
        by_crate[found[1] if found else "C and others"] += size
    total = Path(program).stat().st_size
    by_crate["without a symbol"] = total - sum(by_crate.values())
    print(f"{Path(program).name}: {total / 1e6:.1f} MB\n\n| crate | MB | share |\n|---|---|---|")
    for name, size in by_crate.most_common(rows):
        print(f"| {name} | {size / 1e6:.1f} | {100 * size / total:.1f} % |")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    table(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 30)
