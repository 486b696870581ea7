"""Counts what the house rules bound one by one: each count is a name and the list of its places."""

import re

from house_files import walk
from house_rust import sources, spaces, without_tests
from house_rust import blanked as rust_code
from house_web import Page
from house_web import blanked as web_code

FUNCTION_LINES, FILE_LINES = 70, 500

# Words that stand for a caller, a user or a process, and phrases that hide what they mean.
IDIOMS = re.compile(
    r"\b(nobody|somebody|whoever|anybody|everybody|whose hand|anybody's guess|in vain|not to be had|for want of|"
    r"(comes?|brings?|bring) home|ill one|slip of the pen|be it that|what became of|on the wheel|of which the first)\b",
    re.IGNORECASE,
)

# Casts that change a value without a word.
CASTS = ("cast_possible_truncation", "cast_possible_wrap", "cast_precision_loss", "cast_sign_loss")


# What a query runs on; an address kept as a number may be that of another value when it is asked for.
QUERIES = ("engine/cypher/", "engine/gfql/", "engine/calls/", "engine/expr/", "engine/graph/", "engine/store/", "engine/procedures/", "engine/facets/")
ADDRESS = re.compile(r"(?:from_ref|as_ptr|addr_of!?)\([^;\n]*as usize")

# Where the values of queries are defined, and the enums there that hold an integer, a float and a truth value or a text
# but are no value of a query.
VALUES = ("engine/expr/", "engine/store/", "engine/gfql/", "engine/cypher/")
NO_VALUES = {
    ("engine/cypher/src/lex.rs", "Tok"): "tokens",
    ("engine/gfql/src/expr/lex.rs", "Token"): "tokens",
    ("engine/expr/src/table_job.rs", "TableArray"): "arrays",
    ("engine/gfql/src/fuzz/data.rs", "V"): "values of the oracle that GFQL is held against, which may share nothing with it",
}
ENUM = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?enum (\w+)[^{;]*\{\n(.*?)^\1\}", re.MULTILINE | re.DOTALL)


SCALAR = re.compile(r"^ *\w*?(Int|Float|Bool|Truth|Text|Str)\w*\((?:[iuf]64|bool|String|Arc<str>|&)", re.MULTILINE)


def scalars(name, text):
    """Enums that have integers, floats, and truth values or texts as variants of their own."""
    for found in ENUM.finditer(re.sub(r"//[^\n]*", "", text)):
        kinds = set(SCALAR.findall(found.group(3)))
        if {"Int", "Float"} < kinds and (name, found.group(2)) not in NO_VALUES:
            yield f"{name}: {found.group(2)}"


FUNCTION = re.compile(
    r"^( *)(?:pub(?:\([^)]*\))? )?(?:const )?(?:async )?(?:unsafe )?(?:extern \"C\" )?fn (\w+)", re.MULTILINE
)


def long_functions(name, text):
    """Functions over the bound, as rustfmt lays them out: the closing brace stands under the first word."""
    lines = text.splitlines()
    for found in FUNCTION.finditer(text):
        first = text.count("\n", 0, found.start())
        end = found.group(1) + "}"
        for last in range(first, len(lines)):
            if lines[last] == end:
                if last - first + 1 > FUNCTION_LINES:
                    yield f"{name}:{first + 1}: {found.group(2)} has {last - first + 1} lines"
                break
            if last == first and lines[last].rstrip().endswith(("}", ";")):
                break


def open_casts(root):
    """Files through which users' values pass that leave casts between kinds of numbers to whoever writes them."""
    found = []
    for line in (root / "scripts/house_values.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        path = root / line
        if not path.is_file():
            found.append(f"{line}: there is no such file")
            continue
        code = without_tests(path.read_text())
        denied = re.search(r"#!\[deny\(([^)]*)\)\]", code)
        found += [f"{line}: clippy::{lint} is not denied" for lint in CASTS if not denied or lint not in denied.group(1)]
        found += [f"{line}: {use.group()}" for use in re.finditer(r"#!?\[(?:allow|expect)\([^\]]*cast_\w+", code)]
    return found


def given_up(root, names, code):
    """Where a name that was given up comes back, in the folder that gave it up: once for each name and file. `names` are
    those of the files and `code` makes spaces of what is no code."""
    rules = [line.split() for line in (root / "scripts/house_names.txt").read_text().splitlines() if line.strip() and line[0] != "#"]
    for name in names:
        held = [(old, new) for old, new, folder in rules if name.startswith(folder)]
        text = code((root / name).read_text()) if held else ""
        for old, new in held:
            found = re.search(rf"\b{old}\b", text)
            if found:
                yield f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {old} is called {new}"


PYTHON = re.compile(r"""[rbf]*(\"{3}|'{3}).*?\1|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\#[^\n]*""", re.DOTALL)


def python_code(text):
    """Python with comments and strings as spaces."""
    return PYTHON.sub(spaces, text)


def counts(root):
    """`(name, places)` of each count."""
    functions, of_queries, files, idioms, addresses, tests, values, rust = [], [], [], [], [], [], [], []
    for name, text in sources(root):
        rust.append(name)
        code = without_tests(text)
        (of_queries if name.startswith(QUERIES) else functions).extend(long_functions(name, code))
        lines = code.count("\n")
        if lines > FILE_LINES:
            files.append(f"{name}: {lines} lines")
        for number, line in enumerate(code.splitlines(), 1):
            comment = "//" in line and re.search(r"(?<![:\"'])//.*", line)
            if comment and IDIOMS.search(comment.group()):
                idioms.append(f"{name}:{number}: {comment.group().strip()}")
        if name.startswith(QUERIES):
            addresses += [f"{name}: {found.group()}" for found in ADDRESS.finditer(code)]
            tests += [f"{name}: {found.group()}" for found in re.finditer(r"cfg!\(test\)", code)]
        if name.startswith(VALUES):
            values += scalars(name, code)
    python = [path.relative_to(root).as_posix() for path in walk(root, (".py",))]
    return [
        (f"functions over {FUNCTION_LINES} lines, without tests and queries", functions),
        (f"functions over {FUNCTION_LINES} lines of queries, without tests", of_queries),
        (f"files over {FILE_LINES} lines, without tests", files),
        ("comments with idioms, Rust without tests", idioms),
        ("values of queries told apart by an address as a number", addresses),
        ("thresholds of queries that tests have of their own", tests),
        ("enums of scalars among the values of queries", values),
        ("casts without a name in the files of house_values.txt", open_casts(root)),
        ("names of house_names.txt that were given up, Rust", list(given_up(root, rust, lambda text: rust_code(without_tests(text))))),
        ("names of house_names.txt that were given up, TypeScript", list(given_up(root, Page(root).texts, web_code))),
        ("names of house_names.txt that were given up, Python", list(given_up(root, python, python_code))),
    ]
