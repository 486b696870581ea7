"""Counts the arrows of each room: imports against the order of its floors, and files that import each other in circles.

A room is a crate, a folder with a `floors.txt` of its own, or the page. Its floors are its files and first-level folders,
which `floors.txt` names from top to bottom. An arrow is one file that imports another one of another floor; it goes up
where the floor of the imported file stands above. A circle is a largest set of files of a room that reach each other by
imports.
"""

from dataclasses import dataclass

from house_files import walk
from house_rust import Crate
from house_web import KINDS, PAGE, Page

FLOORS = "floors.txt"
# The line for all files that no other line names: peers on one floor, as commands and panels are.
OTHERS = "*"
# A folder of more files has to say in which order they stand.
UNORDERED_FILES = 25
# The crates whose files take names from the root of the crate, which hands them on, as users of the crate do. Elsewhere a
# name is taken from where it is defined.
HANDED_ON = {f"engine/{name}/src" for name in ("algo", "ingest", "table")}


@dataclass
class Room:
    """One row of the table."""

    name: str
    base: str  # the folder whose files and first-level folders are the floors
    floors_file: str
    order: list  # names from top to bottom
    files: list
    imports: dict  # (file, imported file) -> line
    loops: dict  # the imports that circles are followed through
    language: str
    counts_files: bool  # whether the totals take its files and circles: no room beside it has the same ones

    def floor(self, file):
        """The name of the floor on which a file of the room stands."""
        if not file.startswith(self.base + "/"):
            return "mod"  # x.rs beside the folder x
        first = file[len(self.base) + 1 :].split("/")[0]
        return first.split(".")[0]

    def across(self):
        """`(file, imported file, line)` of each arrow."""
        inside = set(self.files)
        for (file, target), line in sorted(self.imports.items()):
            if file in inside and target in inside and self.floor(file) != self.floor(target):
                yield file, target, line

    def up(self):
        """The arrows that go up, each as a line of text."""
        at = {name: floor for floor, name in enumerate(self.order)}
        others = at.get(OTHERS, 0)
        return [
            f"{file}:{line} imports {target} ({self.floor(file)} -> {self.floor(target)})"
            for file, target, line in self.across()
            if at.get(self.floor(target), others) < at.get(self.floor(file), others)
        ]

    def circles(self):
        """The circles, each a sorted list of files, the largest first."""
        inside = set(self.files)
        targets = {file: [] for file in self.files}
        for file, target in self.loops:
            if file in inside and target in inside:
                targets[file].append(target)
        return sorted(circles(targets), key=lambda circle: (-len(circle), circle))

    def wrong(self):
        """What does not fit between `floors.txt` and the files."""
        there = {self.floor(file) for file in self.files}
        for name in sorted(there - set(self.order) if OTHERS not in self.order else ()):
            yield f"{self.floors_file} lacks {name}"
        for name in sorted(set(self.order) - there - {OTHERS}):
            yield f"{self.floors_file} names {name}, which is no file or folder with files of the product"
        for name in sorted({name for name in self.order if self.order.count(name) > 1}):
            yield f"{self.floors_file} names {name} twice"


def circles(targets):
    """The strongly connected components of two and more nodes, by Tarjan's algorithm without recursion."""
    found, index, low, stack, on_stack = [], {}, {}, [], set()
    for start in targets:
        if start in index:
            continue
        path = [(start, iter(targets[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while path:
            node, rest = path[-1]
            target = next(rest, None)
            if target is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    component, stack[at:] = stack[at:], []
                    on_stack.difference_update(component)
                    if len(component) > 1:
                        found.append(sorted(component))
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                on_stack.add(target)
                path.append((target, iter(targets[target])))
            elif target in on_stack:
                low[node] = min(low[node], index[target])
    return found


def order_of(path):
    """The names in a `floors.txt`, from top to bottom."""
    return [line.strip() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]


def crates(root):
    """The folders of the workspace's crates, without those of the tests; the root's crate is the empty name."""
    for path in walk(root, ("Cargo.toml",)):
        name = path.parent.relative_to(root).as_posix()
        if not name.startswith("tests") and (path.parent / "src").is_dir():
            yield "" if name == "." else name


def below(files, folder):
    """The files below a folder, with the one that stands beside it and has its name."""
    return [file for file in files if file.startswith(folder + "/") or file == folder + ".rs"]


def rooms(root):
    """`(rooms, what is wrong with floors, names taken from the root of a crate)` of a checkout."""
    found, wrong = [], []
    crates_read = [Crate(root, name) for name in crates(root)]
    for crate in crates_read:
        name = crate.base.removesuffix("/src")
        found += ordered(root, name, crate.base, f"{name}/{FLOORS}", crate.texts, [("", crate.arrows, crate.arrows)], "Rust", wrong)
    page, loops, kinds = Page(root), {}, []
    for kind in KINDS:
        loops = {**page.arrows[kind], **loops}
        kinds.append((f", {kind}", page.arrows[kind], loops))
    if page.texts:
        found += ordered(root, PAGE, PAGE, f"{PAGE}/{FLOORS}", page.texts, kinds, "TypeScript", wrong)
    for room in found:
        wrong += [line for line in room.wrong() if line not in wrong]
    from_root = [line for crate in crates_read if crate.base not in HANDED_ON for line in crate.from_root]
    return found, wrong, from_root


def ordered(root, name, base, floors_file, texts, kinds, language, wrong):
    """The rooms of one crate or of the page: itself, and each folder in it that has floors. Notes in `wrong` which folders
    have to have some."""
    folders = {base: floors_file}
    for file in sorted(texts):
        parts = file.split("/")
        for length in range(base.count("/") + 2, len(parts)):
            folder = "/".join(parts[:length])
            folders.setdefault(folder, f"{folder}/{FLOORS}")
    found = []
    for folder, path in sorted(folders.items()):
        files = sorted(texts) if folder == base else below(texts, folder)
        if not (root / path).is_file():
            if folder == base or len(files) > UNORDERED_FILES:
                wrong.append(f"{path} is missing: {len(files)} files stand in no order")
            continue
        order = order_of(root / path)
        for kind, imports, loops in kinds:
            title = (name if folder == base else folder) + kind
            counts_files = folder == base and kind == kinds[-1][0]
            found.append(Room(title, folder, path, order, files, imports, loops, language, counts_files))
    return found
