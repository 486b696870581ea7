"""scripts/house.py counts imports against the order of the floors and circles, in Rust and in TypeScript, and names them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from house_files import walk  # noqa: E402
from house_rooms import circles  # noqa: E402
from house_rust import blanked, paths_of  # noqa: E402
from house_web import Page  # noqa: E402

# A crate of two floors and a nested folder, and a page of two rooms; nothing is wrong with them.
SMALL = {
    "Cargo.toml": "[workspace]",
    "engine/x/Cargo.toml": "[package]",
    "engine/x/floors.txt": "# top to bottom\nlib\nhigh\nlow\n",
    "engine/x/src/lib.rs": "mod high;\nmod low;\npub use low::Low;\n",
    "engine/x/src/high/mod.rs": "mod inner;\nuse crate::low::Low;\npub use inner::Inner;\n",
    "engine/x/src/high/inner.rs": "pub struct Inner;\n",
    "engine/x/src/low.rs": "pub struct Low;\n#[cfg(test)]\nmod tests {\n    use crate::high::Inner;\n}\n",
    "shell/web/src/floors.txt": "main\nstate\ngl\n",
    "shell/web/src/main.ts": "import { state } from './state/state.ts';\n",
    "shell/web/src/state/state.ts": "import { draw } from '../gl/draw.ts';\nimport './state.css';\n",
    "shell/web/src/gl/draw.ts": "export const draw = 1; // import { state } from '../state/state.ts'\n",
    "scripts/house_names.txt": "Old New engine/x/\nOld New shell/\n",
    "scripts/house_values.txt": "",
    "scripts/house_bounds.txt": "# bounds\n",
}


@pytest.fixture
def small(tmp_path):
    """A checkout of a few files with the scripts that count."""
    for name, text in SMALL.items():
        put(tmp_path, name, text)
    copy_scripts(tmp_path)
    return tmp_path


def copy_scripts(root):
    for path in (ROOT / "scripts").glob("house*.py"):
        shutil.copy(path, root / "scripts")


def put(root, name, text):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def add(root, name, text):
    put(root, name, text + (root / name).read_text())


def house(root, *arguments):
    """`(exit status, what it printed)`."""
    ran = subprocess.run([sys.executable, "scripts/house.py", *arguments], cwd=root, capture_output=True, text=True)
    assert not ran.stderr, ran.stderr
    return ran.returncode, ran.stdout


def row(printed, name):
    """`(arrows up, arrows, files in circles, files, files of the largest circle)` of a room."""
    found = re.search(rf"^ *(\d+) / (\d+) +(\d+) / (\d+) +(\d+)   {re.escape(name)}(?:  |$)", printed, re.MULTILINE)
    return tuple(map(int, found.groups()))


def test_the_counts_of_the_tree_are_the_bounds():
    status, printed = house(ROOT)
    assert status == 0, printed
    assert "OVER" not in printed and "lower" not in printed
    assert row(printed, "all of Rust")[3] > 1000 and row(printed, "shell/web/src, values")[1] > 100


def test_imports_upwards_that_are_planted_in_the_tree_are_named(tmp_path):
    for path in walk(ROOT, (".rs", ".ts", ".tsx", "Cargo.toml", "floors.txt")):
        put(tmp_path, path.relative_to(ROOT).as_posix(), path.read_text())
    for path in (ROOT / "scripts").glob("house_*.txt"):
        put(tmp_path, f"scripts/{path.name}", path.read_text())
    copy_scripts(tmp_path)
    add(tmp_path, "engine/store/src/tuning.rs", "use crate::property_graph::PropertyGraph;\n")
    add(tmp_path, "engine/core/src/session/state.rs", "use super::viewer::Viewer;\n")
    add(tmp_path, "shell/web/src/gl/gpu.ts", "import { PageControl } from '../state/theme.ts';\n")
    status, printed = house(tmp_path)
    assert status == 1
    assert "engine/store/src/tuning.rs:1 imports engine/store/src/property_graph/mod.rs (tuning -> property_graph)" in printed
    assert "engine/core/src/session/state.rs:1 imports engine/core/src/session/viewer.rs (state -> viewer)" in printed
    assert "shell/web/src/gl/gpu.ts:1 imports shell/web/src/state/theme.ts (gl -> state)" in printed


def test_a_tree_within_its_bounds_passes(small):
    status, printed = house(small)
    assert status == 0, printed
    assert row(printed, "engine/x") == (0, 1, 0, 4, 0)
    assert row(printed, "shell/web/src, values") == (0, 2, 0, 3, 0)
    assert row(printed, "all") == (0, 3, 0, 7, 0)


@pytest.mark.parametrize("line", ["use crate::high::Inner;", "use crate::{\n    high::{Inner},\n};", "use super::high::Inner;",
                                  "fn f() -> crate::high::Inner {", "pub(crate) use crate::high::Inner as Other;"])
def test_an_import_upwards_is_followed_to_the_definition_and_named(small, line):
    add(small, "engine/x/src/low.rs", f"{line}\n")
    status, printed = house(small)
    assert status == 1
    assert row(printed, "engine/x")[:2] == (1, 2)
    assert "engine/x/src/low.rs:1 imports engine/x/src/high/inner.rs (low -> high)" in printed


def test_a_path_without_use_is_named_with_its_line(small):
    add(small, "engine/x/src/low.rs", "\n// crate::high::Inner\nfn f() -> crate::high::Inner { todo!() }\n")
    assert "engine/x/src/low.rs:3 imports engine/x/src/high/inner.rs" in house(small)[1]


def test_a_name_of_the_root_is_followed_and_counted(small):
    add(small, "engine/x/src/high/inner.rs", "use crate::Low;\n")
    status, printed = house(small)
    assert status == 1 and row(printed, "engine/x")[:2] == (0, 2)
    assert "engine/x/src/high/inner.rs:1 takes Low from the root of the crate, which has it from engine/x/src/low.rs" in printed


def test_a_circle_is_named_with_its_imports(small):
    add(small, "engine/x/src/high/inner.rs", "use super::Other;\n")
    add(small, "engine/x/src/high/mod.rs", "pub struct Other;\nuse inner::Inner;\n")
    status, printed = house(small)
    assert status == 1
    assert row(printed, "engine/x") == (0, 1, 2, 4, 2)
    assert "circle of 2 files:" in printed
    assert "engine/x/src/high/inner.rs:1 imports engine/x/src/high/mod.rs" in printed


def test_a_nested_folder_is_a_room_when_it_has_floors(small):
    put(small, "engine/x/src/high/floors.txt", "mod\ninner\n")
    add(small, "engine/x/src/high/inner.rs", "use super::Other;\n")
    add(small, "engine/x/src/high/mod.rs", "pub struct Other;\n")
    status, printed = house(small)
    assert status == 1
    assert row(printed, "engine/x/src/high") == (1, 1, 0, 2, 0)
    assert "engine/x/src/high/inner.rs:1 imports engine/x/src/high/mod.rs (inner -> mod)" in printed
    assert row(printed, "all of Rust") == (1, 2, 0, 4, 0)


def test_floors_have_to_be_there_and_to_fit(small):
    put(small, "engine/x/floors.txt", "lib\nlow\ngone\n")
    put(small, "engine/y/Cargo.toml", "[package]")
    put(small, "engine/y/src/lib.rs", "")
    for number in range(26):
        put(small, f"engine/x/src/high/file{number}.rs", "")
    status, printed = house(small)
    assert status == 1
    assert "engine/x/floors.txt lacks high" in printed
    assert "engine/x/floors.txt names gone" in printed
    assert "engine/y/floors.txt is missing" in printed
    assert "engine/x/src/high/floors.txt is missing: 28 files" in printed


def test_a_star_stands_for_all_files_that_no_line_names(small):
    put(small, "engine/x/src/one.rs", "use crate::low::Low;\nuse crate::two::Two;\n")
    put(small, "engine/x/src/two.rs", "pub struct Two;\n")
    put(small, "engine/x/floors.txt", "lib\n*\nlow\n")
    assert house(small)[0] == 0, "peers import what stands below them, and each other"
    add(small, "engine/x/src/low.rs", "use crate::two::Two;\n")
    status, printed = house(small)
    assert status == 1 and "engine/x/src/low.rs:1 imports engine/x/src/two.rs (low -> two)" in printed


@pytest.mark.parametrize("line, kind", [
    ("import { state } from '../state/state.ts';", "values"),
    ("import '../state/state.ts';", "values"),
    ("export * from \"../state/state.ts\";", "values"),
    ("import { type A, state } from '../state/state';", "values"),
    ("import type { State } from '../state/state.ts';", "types"),
    ("import { type A, type B } from '../state/state.ts';", "types"),
    ("let s: typeof import('../state/state.ts');", "types"),
    ("let s: import('../state/state.ts').State;", "types"),
    ("void import('../state/state.ts').then((all) => all.start());", "import()"),
])
def test_imports_of_the_page_are_told_apart_and_named(small, line, kind):
    add(small, "shell/web/src/gl/draw.ts", f"{line}\n")
    status, printed = house(small)
    assert status == 1
    for other in ("values", "types", "import()"):
        assert row(printed, f"shell/web/src, {other}")[0] == (1 if other == kind else 0)
    assert "shell/web/src/gl/draw.ts:1 imports shell/web/src/state/state.ts (gl -> state)" in printed
    # Circles of types follow values, too; those of import() follow all.
    circled = {"values": 1, "types": 2, "import()": 3}
    for other in circled:
        assert row(printed, f"shell/web/src, {other}")[2] == (2 if circled[other] >= circled[kind] else 0)


def test_a_figure_below_its_bound_fails_until_the_bound_is_lowered(small):
    bounds = small / "scripts/house_bounds.txt"
    bounds.write_text("# bounds\n  2   2   2  engine/x\n  3  names taken from the root of a crate\n  1  gone\n")
    add(small, "engine/x/src/low.rs", "use crate::high::Inner;\n")
    status, printed = house(small)
    assert status == 1
    assert "engine/x  lower the bound to 1/0/0" in printed and "crate  lower the bound to 0" in printed
    assert "house_bounds.txt bounds gone, which is not counted" in printed
    assert house(small, "--lower")[0] == 0
    assert bounds.read_text() == "# bounds\n  1   0   0  engine/x\n"
    assert house(small)[0] == 0
    add(small, "engine/x/src/high/inner.rs", "use crate::low::Low;\n")
    assert house(small, "--lower")[0] == 1
    assert bounds.read_text() == "# bounds\n  1   0   0  engine/x\n", "a bound is raised by hand alone"


def test_names_that_were_given_up_are_found_in_every_language(small):
    put(small, "engine/x/draw.py", '"""Old"""\n# Old\nx = Old()\n')
    add(small, "engine/x/src/low.rs", "// Old\nstruct Old;\n")
    add(small, "shell/web/src/gl/draw.ts", "// Old\nconst word = 'Old';\nclass Old {}\n")
    status, printed = house(small)
    assert status == 1
    for place in ("engine/x/draw.py:3", "engine/x/src/low.rs:2", "shell/web/src/gl/draw.ts:3"):
        assert f"{place}: Old is called New" in printed


def test_use_trees_comments_and_strings_are_read():
    assert paths_of("a::{b, c::{self, d as e}}") == ["a::b", "a::c::self", "a::c::d"]
    assert blanked("let a = \"crate::x\"; // crate::y\nr#\"use \"crate::z\";\"#; '\"'; fn f<'a>(x: &'a str) {}").split() == [
        "let", "a", "=", ";", ";", ";", "fn", "f<'a>(x:", "&'a", "str)", "{}"]
    assert list(Page.imports("import a from 'x';")) == [("values", "x", 0)]


def test_circles_are_the_components_of_a_graph():
    targets = {"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "e": ["d"], "f": ["f", "a"]}
    assert sorted(circles(targets)) == [["a", "b", "c"], ["d", "e"]]
