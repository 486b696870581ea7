#!/usr/bin/env python3
"""Counts what the house rules bound, and holds each figure against scripts/house_bounds.txt: one over its bound fails, and
so does one below it, whose bound is to be lowered.

usage: house.py [--list] [--lower]

First the table of rooms (house_rooms.py): imports against the order of the floors, and files in circles. Then the
counts: long functions and files, idioms in comments, names that were given up, and others. --list names every place that
counts; --lower writes each figure that fell into the bounds, and raises none. tests/tests/house.rs runs it in the gate.
"""

import sys
from pathlib import Path

import house_counts
from house_bounds import Bounds
from house_rooms import rooms

ROOT = Path(__file__).resolve().parent.parent
# Circles of at most this many files are shown with each import.
SMALL_CIRCLE = 8


class Report:
    """Prints figures beside their bounds and remembers whether one is off."""

    def __init__(self, bounds, shows):
        self.bounds, self.shows = bounds, shows
        self.grew = self.fell = False

    def says(self, name, figures, places):
        """What is to be said of the figures of one name, or an empty text; `places` has the lines behind each figure."""
        bounds = self.bounds.of(name, len(figures))
        over = [at for at, (figure, bound) in enumerate(zip(figures, bounds)) if figure > bound]
        below = any(figure < bound for figure, bound in zip(figures, bounds))
        self.bounds.note(name, figures)
        self.grew |= bool(over)
        self.fell |= below
        shown = range(len(figures)) if self.shows else over
        lines = dict.fromkeys(line for at in shown for line in places[at])
        text = "  OVER " + "/".join(map(str, bounds)) if over else ""
        if below:
            text += f"  lower the bound to {'/'.join(str(min(pair)) for pair in zip(figures, bounds))}"
        return text + "".join(f"\n       {line}" for line in lines)


def circle_lines(room, circles):
    """The circles as text: small ones with their imports, large ones with their files."""
    for circle in circles:
        inside = set(circle)
        if len(circle) > SMALL_CIRCLE:
            yield f"circle of {len(circle)} files: {' '.join(circle)}"
            continue
        yield f"circle of {len(circle)} files:"
        for (file, target), line in sorted(room.loops.items()):
            if file in inside and target in inside:
                yield f"  {file}:{line} imports {target}"


def table(report, found):
    """Prints one row for each room, and the totals."""
    print("imports against the order of the floors (floors.txt), and files that import each other in circles")
    print("  up / arrows   in circles / files   largest circle")
    totals = {"all of Rust": [0] * 5, "all": [0] * 5}
    for room in found:
        up, across, circles = room.up(), len(list(room.across())), room.circles()
        circled, largest = sum(map(len, circles)), len(circles[0]) if circles else 0
        lines = list(circle_lines(room, circles))
        said = report.says(room.name, (len(up), circled, largest), (up, lines, lines))
        row(room.name, len(up), across, circled, len(room.files), largest, said)
        for name, total in totals.items():
            if name == "all" or room.language == "Rust":
                total[0] += len(up)
                total[1] += across
                if room.counts_files:
                    total[2] += circled
                    total[3] += len(room.files)
                    total[4] = max(total[4], largest)
    for name, (up, across, circled, files, largest) in totals.items():
        row(name, up, across, circled, files, largest, "")


def row(name, up, across, circled, files, largest, said):
    print(f"{up:4} / {across:<6}{circled:12} / {files:<5}{largest:15}   {name}{said}")


def main():
    bounds = Bounds(ROOT / "scripts/house_bounds.txt")
    report = Report(bounds, "--list" in sys.argv[1:])
    found, wrong, from_root = rooms(ROOT)
    table(report, found)
    print()
    counts = [("floors.txt that are missing or do not fit", wrong), ("names taken from the root of a crate", from_root)]
    for name, places in counts + list(house_counts.counts(ROOT)):
        said = report.says(name, (len(places),), (places,))
        print(f"{len(places):4} of at most {bounds.of(name, 1)[0]:2}  {name}{said}")
    for name in bounds.unknown():
        report.fell = True
        print(f"scripts/house_bounds.txt bounds {name}, which is not counted")
    if "--lower" in sys.argv[1:]:
        bounds.lower()
    elif report.fell:
        print("scripts/house.py --lower writes the bounds that are to be lowered")
    sys.exit(1 if report.grew or (report.fell and "--lower" not in sys.argv[1:]) else 0)


if __name__ == "__main__":
    main()
