"""Reads the kernels out of a CUDA source: signatures, bounds, comments and stated lengths."""

import re
from dataclasses import dataclass
from pathlib import Path

SCALARS = {
    "u8": "u8", "u16": "u16", "u32": "u32", "u64": "u64",
    "i32": "i32", "i64": "i64", "f32": "f32", "f64": "f64",
}
ITEMS = SCALARS | {"float2": "[f32; 2]", "float4": "[f32; 4]"}
# Names that the typed launch uses itself.
RESERVED = {"gpu", "grid", "blocks", "threads", "shared", "self", "super", "crate"}
KEYWORDS = {
    "as", "box", "dyn", "fn", "gen", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref",
    "type", "unsafe", "use", "where", "yield",
}
THREADS_MAX = 1024

KERNEL = re.compile(r"^GL_KERNEL\s+void\s+(?:GL_BOUNDS\(\s*(\w+)\s*\)\s+)?([a-z]\w*)\s*\(([^)]*)\)\s*\{", re.M)
PARAM = re.compile(r"^(const\s+)?(\w+)\s*(\*?)\s*(?:GL_RESTRICT\s+)?(?:const\s+)?(\w+)$")
TOKEN = re.compile(r"\s*(?:(\d+)|(\w+)|([-+*/(),]))")


class SourceError(Exception):
    """What is wrong with a source, and where."""


@dataclass(frozen=True)
class Param:
    name: str
    rust: str  # The Rust type of the scalar, or of one item of the array.
    pointer: bool
    const: bool

    @property
    def ident(self) -> str:
        """The name in Rust."""
        return f"r#{self.name}" if self.name in KEYWORDS else self.name


@dataclass(frozen=True)
class Kernel:
    family: str
    name: str
    threads_max: int
    params: tuple
    lengths: dict  # Name to Rust expression of type i128, or None where the length depends on the data.
    doc: tuple


def includes(path: Path) -> list:
    """The source and the headers it takes in, each once, in order of appearance."""
    found, todo = [], [path]
    while todo:
        file = todo.pop(0)
        if file not in found:
            found.append(file)
            names = re.findall(r'^\s*#\s*include\s+"([^"]+\.cuh)"', file.read_text(), re.M)
            todo += [path.parent / name for name in names]
    return found


def kernels(path: Path) -> list:
    """All kernels of a source file."""
    text = path.read_text()
    mentions = len(re.findall(r"\bGL_KERNEL\b", re.sub(r"//.*", "", text)))
    found = [_kernel(path, text, match) for match in KERNEL.finditer(text)]
    if not found:
        raise SourceError(f"{path.name}: no kernel (a line that begins with GL_KERNEL void)")
    if mentions != len(found):
        raise SourceError(
            f"{path.name}: GL_KERNEL occurs {mentions} times, but {len(found)} kernels could be read: write "
            "'GL_KERNEL void GL_BOUNDS(256) name(...) {' at the start of a line, not inside a macro"
        )
    return found


def _kernel(path: Path, text: str, match: re.Match) -> Kernel:
    bound, name, inner = match.groups()
    where = f"{path.name}:{text.count(chr(10), 0, match.start()) + 1}: kernel {name}"
    params = tuple(_param(p, where) for p in _split(re.sub(r"//.*|/\*.*?\*/", "", inner)))
    doc, stated = _above(text[: match.start()], where)
    lengths = {}
    for key, expression in stated.items():
        pointer = any(p.pointer and p.name == key for p in params)
        if not pointer and key != "shared":
            raise SourceError(f"{where}: the lengths line names {key}, which is no pointer parameter")
        lengths[key] = None if expression == "*" else _Expression(expression, params, where).rust()
    missing = [p.name for p in params if p.pointer and p.name not in lengths]
    if missing:
        raise SourceError(f"{where}: the lengths line above it lacks {', '.join(missing)}")
    names = [p.name for p in params]
    if bad := [n for n in names if names.count(n) > 1 or n in RESERVED or re.fullmatch(r"p\d+", n)]:
        raise SourceError(f"{where}: rename {', '.join(bad)}: the name occurs twice or is reserved")
    threads = _bound(text, bound, where) if bound else THREADS_MAX
    return Kernel(path.stem, name, threads, params, lengths, tuple(doc))


def _split(inner: str) -> list:
    return [" ".join(p.split()) for p in inner.split(",") if p.strip()]


def _param(text: str, where: str) -> Param:
    match = PARAM.match(text)
    if not match:
        raise SourceError(f"{where}: cannot read the parameter '{text}'")
    const, kind, star, name = match.groups()
    known = ITEMS if star else SCALARS
    if kind not in known:
        raise SourceError(f"{where}: {name} has the type {kind}; known are {', '.join(known)}")
    return Param(name, known[kind], bool(star), bool(const))


def _above(text: str, where: str):
    """The comment above a kernel, and the lengths that its //@ lines state."""
    doc, stated = [], []
    for line in reversed(text.rstrip("\n").split("\n")):
        if line.startswith("//@"):
            stated.insert(0, line[3:])
        elif line.startswith("//") and (stated or not doc):
            doc.insert(0, line[2:].strip())
        else:
            break
    if not stated:
        raise SourceError(f"{where}: no lengths line above it, such as '//@ offsets: n + 1, ends: *'")
    lengths = {}
    for part in re.split(r",\s*(?=\w+\s*:)", " ".join(stated).strip().rstrip(",")):
        key, colon, expression = part.partition(":")
        if colon:
            lengths[key.strip()] = expression.strip()
        elif part.strip() not in ("", "none"):
            raise SourceError(f"{where}: cannot read '{part}' in the lengths line")
    return doc, lengths


def _bound(text: str, bound: str, where: str) -> int:
    if bound.isdigit():
        return int(bound)
    match = re.search(rf"^#define\s+{bound}\s+(\d+)", text, re.M) or re.search(
        rf"\b{bound}\s*=\s*(\d+)u?\s*;", text
    )
    if not match:
        raise SourceError(f"{where}: GL_BOUNDS({bound}) is neither a number nor defined in this file")
    return int(match.group(1))


class _Expression:
    """A length as a Rust expression; arithmetic saturates, so that no product wraps."""

    def __init__(self, text: str, params: tuple, where: str):
        self.scalars = {p.name: p.ident for p in params if not p.pointer and p.rust[0] in "iu"}
        self.where, self.text = where, text
        self.tokens, at = [], 0
        while at < len(text.rstrip()):
            match = TOKEN.match(text, at)
            if not match:
                self._fail(f"at '{text[at:]}'")
            self.tokens.append(match.group(1) or match.group(2) or match.group(3))
            at = match.end()

    def rust(self) -> str:
        out = self._sum()
        if self.tokens:
            self._fail(f"at '{self.tokens[0]}'")
        return out

    def _fail(self, what: str):
        raise SourceError(f"{self.where}: cannot read the length '{self.text}': {what}")

    def _take(self, *wanted):
        if self.tokens and self.tokens[0] in wanted:
            return self.tokens.pop(0)
        return None

    def _sum(self) -> str:
        out = self._product()
        while sign := self._take("+", "-"):
            out = f"{out}.saturating_{'add' if sign == '+' else 'sub'}({self._product()})"
        return out

    def _product(self) -> str:
        out = self._atom()
        while sign := self._take("*", "/"):
            other = self._atom()
            out = f"{out}.saturating_mul({other})" if sign == "*" else f"quotient({out}, {other})"
        return out

    def _atom(self) -> str:
        if not self.tokens:
            self._fail("it ends early")
        token = self.tokens.pop(0)
        if token.isdigit():
            return f"{token}_i128"
        if token == "(":
            out = self._sum()
            self._take(")") or self._fail("a bracket stays open")
            return out
        if token in self.scalars:
            return f"i128::from({self.scalars[token]})"
        if token in ("blocks", "threads"):
            return f"i128::from(grid.{token})"
        if token in ("max", "min", "div_up"):
            self._take("(") or self._fail(f"{token} needs two values in brackets")
            first = self._sum()
            self._take(",") or self._fail(f"{token} needs two values")
            second = self._sum()
            self._take(")") or self._fail("a bracket stays open")
            if token == "div_up":
                return f"quotient({first}.saturating_add({second}).saturating_sub(1), {second})"
            return f"{first}.{token}({second})"
        self._fail(f"{token} is no integer parameter of the kernel")
