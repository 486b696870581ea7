"""Reads the TypeScript of the page: which file imports which, by value, for its types alone, or when it is needed."""

import re

from house_files import walk
from house_rust import spaces

PAGE = "shell/web/src"
# What a file imports: values, which are loaded before it; types, which no program has; and modules that it loads later.
KINDS = ("values", "types", "import()")
TOKENS = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`""", re.DOTALL)
FROM = re.compile(r"""\b(import|export)\s+(type\s+)?([^'";()=]*?)\s*\bfrom\s*(['"])([^'"]+)\4|\bimport\s*(['"])([^'"]+)\6""")
CALLED = re.compile(r"""(\btypeof\s+)?\bimport\(\s*(['"])([^'"]+)\2\s*\)(\s*\.\s*[A-Z])?""")


def without_comments(text):
    """The text with comments as spaces; lines keep their numbers."""
    return TOKENS.sub(lambda found: spaces(found) if found.group().startswith("/") else found.group(), text)


def blanked(text):
    """The text with comments and strings as spaces."""
    return TOKENS.sub(spaces, text)


def types_alone(clause):
    """Whether each name of `{ type A, type B }` is a type."""
    inner = re.fullmatch(r"\{(.*)\}", clause.strip(), re.DOTALL)
    names = [name.strip() for name in inner.group(1).split(",") if name.strip()] if inner else []
    return bool(names) and all(name.startswith("type ") for name in names)


class Page:
    """The files of the page with their imports of each kind."""

    def __init__(self, root):
        self.texts = {}
        for path in walk(root / PAGE, (".ts", ".tsx")):
            name = path.relative_to(root).as_posix()
            if not name.endswith((".d.ts", ".test.ts", ".test.tsx")):
                self.texts[name] = without_comments(path.read_text())
        self.arrows = {kind: {} for kind in KINDS}  # kind -> {(file, imported file): line}
        for file, text in self.texts.items():
            for kind, path, at in self.imports(text):
                target = self.file(file, path)
                if target and target != file:
                    self.arrows[kind].setdefault((file, target), text.count("\n", 0, at) + 1)

    @staticmethod
    def imports(text):
        """`(kind, path, place)` of each import; what a file hands on by `export … from` is one, too."""
        for found in FROM.finditer(text):
            of_types = found.group(2) or types_alone(found.group(3) or "")
            yield ("types" if of_types else "values"), found.group(5) or found.group(7), found.start()
        for found in CALLED.finditer(text):
            yield ("types" if found.group(1) or found.group(4) else "import()"), found.group(3), found.start()

    def file(self, importer, path):
        """The file that a relative path names, or None for a package or a file of another kind."""
        if not path.startswith("."):
            return None
        parts = importer.split("/")[:-1]
        for word in path.split("/"):
            if word == "..":
                parts.pop()
            elif word != ".":
                parts.append(word)
        name = re.sub(r"\.jsx?$", "", "/".join(parts))
        for candidate in (name, f"{name}.ts", f"{name}.tsx", f"{name}/index.ts", f"{name}/index.tsx"):
            if candidate in self.texts:
                return candidate
        return None
