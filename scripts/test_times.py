"""What scripts/test.sh prints of its own records: what took longest.

usage: test_times.py slowest FOLDER    (with the files stages, unit and e2e.xml, each of which may be absent)
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

STAGES, TESTS = 5, 20
TEST = re.compile(r"^test (?P<name>\S.*?) \.\.\. (?P<result>\w+).*?(?:<(?P<seconds>[0-9.]+)s>)?$")
PROGRAM = re.compile(r"^ +Running (?:unittests )?(?P<path>\S+)")


def unit_tests(text):
    """(seconds, name) of each unit and integration test."""
    program = "?"
    for line in text.splitlines():
        if m := PROGRAM.match(line):
            program = m["path"]
        elif (m := TEST.match(line)) and m["seconds"]:
            yield float(m["seconds"]), f"{program} {m['name']}"


def end_to_end_tests(path):
    """(seconds, name) of each end-to-end test, what it had to set up included."""
    for case in ElementTree.parse(path).iter("testcase"):
        yield float(case.get("time", 0)), f"{case.get('classname', '').replace('.', '/')}.py {case.get('name')}"


def table(title, rows):
    print(title)
    for seconds, name in rows:
        print(f"  {seconds:8.1f} s  {name}")


def slowest(folder):
    stages = folder / "stages"
    if stages.exists():
        rows = [line.split("\t", 1) for line in stages.read_text().splitlines()]
        table("slowest stages:", sorted(((float(s), n) for s, n in rows), reverse=True)[:STAGES])
    tests = []
    if (folder / "unit").exists():
        tests += unit_tests((folder / "unit").read_text(errors="replace"))
    if (folder / "e2e.xml").exists():
        tests += end_to_end_tests(folder / "e2e.xml")
    table("slowest tests:", sorted(tests, reverse=True)[:TESTS])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "slowest":
        sys.exit(__doc__)
    slowest(Path(sys.argv[2]))
