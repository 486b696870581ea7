"""Compiles the kernels, and writes or checks everything that is generated from their sources."""

import ctypes
import hashlib
import os
import re
import sys
from pathlib import Path

import ptx_launches
from ptx_source import SourceError, includes, kernels

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "kernels-ptx"
SOURCES = CRATE / "cu"
LAUNCHES = ROOT / "engine/device/src/cuda/kernels"
RESIDENT = ROOT / "engine/device/src/cuda/resident/table.rs"
VERSION = os.environ["GRAPHLUME_NVRTC_VERSION"]
FLAGS = ["--gpu-architecture=compute_75", "-std=c++17"]
RECIPE = f"compiler nvrtc {VERSION}\nflags {' '.join(FLAGS)}\n"
LOCK_HEADER = (
    "# Written by scripts/ptx: what the PTX was made from. build.rs compares it with the files.\n"
    "# A family's source hash covers the two lines below, the source and the headers it includes.\n"
)


class Nvrtc:
    """NVIDIA's run-time compiler, as much of it as one call needs."""

    def __init__(self, path: str):
        self.lib = ctypes.CDLL(path)

    def _check(self, code: int, log: str = ""):
        if code:
            self.lib.nvrtcGetErrorString.restype = ctypes.c_char_p
            raise SourceError(f"{log}nvrtc: {self.lib.nvrtcGetErrorString(code).decode()}")

    def _text(self, program, what: str) -> str:
        size = ctypes.c_size_t()
        self._check(getattr(self.lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self._check(getattr(self.lib, f"nvrtcGet{what}")(program, buffer))
        return buffer.value.decode()

    def ptx(self, source: Path) -> str:
        """Headers are handed over as text, so that no path of this machine can reach the output."""
        headers = includes(source)[1:]
        program = ctypes.c_void_p()
        array = ctypes.c_char_p * len(headers)
        self._check(self.lib.nvrtcCreateProgram(
            ctypes.byref(program), source.read_bytes(), source.name.encode(), len(headers),
            array(*[h.read_bytes() for h in headers]), array(*[h.name.encode() for h in headers]),
        ))
        options = (ctypes.c_char_p * len(FLAGS))(*[f.encode() for f in FLAGS])
        code = self.lib.nvrtcCompileProgram(program, len(FLAGS), options)
        log = self._text(program, "ProgramLog")
        self._check(code, log)
        if log.strip():
            print(log, file=sys.stderr)
        return self._text(program, "PTX")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def source_hash(source: Path) -> str:
    return sha256(RECIPE.encode() + b"".join(f.read_bytes() for f in includes(source)))


def read_lock() -> dict:
    path = CRATE / "ptx.lock"
    lines = path.read_text().splitlines() if path.exists() else []
    return {line.split()[0]: line for line in lines if " source=" in line}


def compile_family(nvrtc: Nvrtc, source: Path):
    """The generated files of one family, its line of the lock, and its kernels' names."""
    family, found = source.stem, kernels(source)
    ptx = nvrtc.ptx(source)
    names = [k.name for k in found]
    entries = re.findall(r"^\.visible \.entry (\w+)\(", ptx, re.M)
    if sorted(entries) != sorted(names):
        raise SourceError(f"{source.name}: the PTX has {sorted(entries)}, the source {sorted(names)}")
    files = {
        CRATE / f"ptx/{family}.ptx": ptx,
        LAUNCHES / f"{family}.rs": ptx_launches.rustfmt(ROOT, ptx_launches.family(family, found)),
    }
    line = f"{family} source={source_hash(source)} ptx={sha256(ptx.encode())}"
    return files, line, names


def outputs(wanted: list) -> dict:
    """Path to content of everything generated: `wanted` is compiled, other families keep their files."""
    nvrtc, files, lock, homes = Nvrtc(os.environ["GRAPHLUME_NVRTC"]), {}, read_lock(), {}
    sources = {p.stem: p for p in sorted(SOURCES.glob("*.cu"))}
    for family in wanted:
        if family not in sources:
            raise SourceError(f"there is no family {family}; there are {', '.join(sources)}")
        made, lock[family], names = compile_family(nvrtc, sources[family])
        files |= made
        homes |= dict.fromkeys(names, family)
    families = sorted(f for f in lock if f in sources)
    for family in families:  # A name belongs to one family, among those that were left alone as well.
        text = files.get(LAUNCHES / f"{family}.rs") or (LAUNCHES / f"{family}.rs").read_text()
        for name in re.findall(r"^pub fn (\w+)\(", text, re.M):
            if homes.setdefault(name, family) != family:
                raise SourceError(f"the kernel {name} is in {homes[name]}.cu and in {family}.cu")
    lines = "".join(f"{lock[f]}\n" for f in families)
    files[CRATE / "ptx.lock"] = LOCK_HEADER + RECIPE + lines
    files[CRATE / "src/modules.rs"] = ptx_launches.rustfmt(ROOT, ptx_launches.modules(families))
    files[LAUNCHES / "mod.rs"] = ptx_launches.rustfmt(ROOT, ptx_launches.module(families))
    return files


def write(files: dict, whole: bool):
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            temporary = path.with_name(f".{path.name}.new")
            temporary.write_text(text)
            temporary.replace(path)
            print(path.relative_to(ROOT))
    for path in strays(files) if whole else []:
        path.unlink()
        print(f"{path.relative_to(ROOT)} (removed: it has no source)")


def strays(files: dict) -> list:
    """Generated files whose source is gone."""
    present = [*(CRATE / "ptx").glob("*.ptx"), *LAUNCHES.glob("*.rs")]
    return [p for p in present if p not in files]


def check(files: dict) -> int:
    stale = [p for p, text in files.items() if not p.exists() or p.read_text() != text]
    for path in stale + strays(files):
        print(f"stale: {path.relative_to(ROOT)}: run scripts/ptx and commit what it writes", file=sys.stderr)
    return 1 if stale or strays(files) else 0


def main(arguments: list) -> int:
    flags = [a for a in arguments if a.startswith("-")]
    names = [a for a in arguments if not a.startswith("-")]
    if flags not in ([], ["--check"], ["--report"]) or (flags and names):
        print("usage: scripts/ptx [FAMILY...] | --check | --report", file=sys.stderr)
        return 2
    try:
        if flags == ["--report"]:
            import ptx_report

            text, table = ptx_report.report(CRATE)
            write({CRATE / "REPORT.md": text, RESIDENT: ptx_launches.rustfmt(ROOT, table)}, whole=False)
            return 0
        files = outputs(names or sorted(p.stem for p in SOURCES.glob("*.cu")))
    except SourceError as error:
        print(error, file=sys.stderr)
        return 1
    if flags == ["--check"]:
        return check(files)
    write(files, whole=not names)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
