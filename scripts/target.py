"""Gives a checkout a build folder of its own that begins with what other checkouts have compiled.

usage: target.py adopt ROOT TARGET       before cargo runs: once for each checkout, nothing afterwards
       target.py record ROOT TARGET      after cargo ran: remembers the sources as they were compiled

TARGET is the build folder of the checkout ROOT, beside those of other checkouts. Called by scripts/lib.sh.

cargo takes a crate of the workspace for compiled when its sources are older than what was compiled from them. Two
checkouts in one folder therefore run each other's programs, and a checkout that was laid anew compiles everything. So
every checkout has its own folder. A new one starts with hard links to the newest folder of this user, and files whose
content is the recorded one get the time that was recorded with it. What cannot be told to be the same is compiled again:
crates compiled after the record was made, and crates that name a place of the other checkout.
"""

import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

RECORD = "sources.json"
# Built and not tracked, but compiled into a program: the page.
EXTRA = ("shell/web/dist",)
MEMBER = "graphlume"


def sources(root):
    """{path: [hash of the content, time in ns]} of the tracked and untracked files that git does not ignore, and of the page."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                            capture_output=True).stdout.decode().split("\0")
    paths = [p for p in listed if p]
    for extra in EXTRA:
        paths += [str(p.relative_to(root)) for p in (root / extra).rglob("*")]
    found = {}
    for path in paths:
        try:
            before = (root / path).lstat()
            content = (root / path).read_bytes()
            after = (root / path).lstat()
        except (FileNotFoundError, IsADirectoryError, PermissionError):
            continue
        if before.st_mtime_ns == after.st_mtime_ns:
            found[path] = [hashlib.blake2b(content, digest_size=16).hexdigest(), after.st_mtime_ns]
    return found


def compiler():
    return subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout


def checkout_id(root):
    """The random name of this laying of the files, made when missing; it goes when the files are laid anew."""
    mark = root / ".cargo" / "checkout"
    if not mark.is_file():
        mark.parent.mkdir(exist_ok=True)
        mark.write_text(secrets.token_hex(16))
    return mark.read_text()


def read_record(target):
    try:
        return json.loads((target / RECORD).read_text())
    except (FileNotFoundError, ValueError):
        return None


def record(root, target):
    """Remembers contents and times. Whatever is compiled later is not covered by it."""
    if not target.is_dir():
        return
    now = time.time_ns()
    made = {"checkout": checkout_id(root), "root": str(root), "compiler": compiler(), "time_ns": now, "files": sources(root)}
    new = target / f"{RECORD}.new"
    new.write_text(json.dumps(made))
    new.replace(target / RECORD)


def link_tree(old, new):
    """Copies a profile's folder. What compilers replace as a whole is linked, what they write in place is copied."""
    for name in ("deps", ".fingerprint", "build"):
        for path in (old / name).rglob("*"):
            to = new / name / path.relative_to(old / name)
            if path.is_dir():
                to.mkdir(parents=True, exist_ok=True)
                continue
            to.parent.mkdir(parents=True, exist_ok=True)
            try:
                if name == "deps" and path.suffix in (".rlib", ".rmeta", ".so", ""):
                    os.link(path, to)
                else:
                    shutil.copy2(path, to, follow_symlinks=False)
            except FileNotFoundError:
                continue  # Replaced meanwhile by a compiler: it is compiled here.
            except OSError:
                shutil.copy2(path, to, follow_symlinks=False)


def units(profile):
    """(fingerprint folder, dependency file or None) of each compiled crate of the workspace."""
    for path in sorted((profile / ".fingerprint").glob(f"{MEMBER}*")):
        ends = list((profile / "deps").glob(f"*-{path.name.rsplit('-', 1)[-1]}.d"))
        yield path, ends[0] if ends else None


def names_a_place(text, places):
    """Whether a dependency file of rustc names a place outside the sources of its crate: another checkout's, or a way up.
    Before the colon of a line stands what was made, behind it the sources, and behind # the environment."""
    needs = "\n".join(line if line.startswith("#") else line.partition(": ")[2] for line in text.splitlines())
    return any(place in needs for place in places) or "../" in needs


def forget(profile, since_ns, places):
    """Removes the fingerprints of crates that may be compiled from other sources than the record's."""
    for path, dependencies in units(profile):
        stamp = path / "invoked.timestamp"
        late = not stamp.exists() or stamp.stat().st_mtime_ns > since_ns
        placed = dependencies is not None and names_a_place(dependencies.read_text(errors="replace"), places)
        ran = next(path.glob("run-build-script-*"), None) is not None
        if late or (places and (placed or ran)):
            shutil.rmtree(path)


def set_times(root, recorded):
    """Gives each file the time of the record when its content is the record's, and the present time otherwise."""
    now = time.time_ns()
    for path, (content, _) in sources(root).items():
        known = recorded.get(path)
        at = known[1] if known and known[0] == content else now
        os.utime(root / path, ns=(at, at))


def profiles(target):
    return [p for p in target.iterdir() if (p / ".fingerprint").is_dir()]


def all_profiles(target):
    """Those of the fuzzers too, which lie deeper; they are not handed on, but hold what was compiled from the same files."""
    return [p.parent for p in target.glob("**/.fingerprint")]


def newest(own):
    """The folder of another checkout that was recorded last, by the same compiler."""
    known = [(read_record(t), t) for t in own.parent.glob("*") if t != own]
    known = [(r["time_ns"], t) for r, t in known if r and r["compiler"] == compiler()]
    return max(known, default=(0, None))[1]


def tidy(own):
    """Removes folders of checkouts that are gone, but for the newest: somebody begins with it."""
    keep = newest(own)
    for target in own.parent.glob("*"):
        made = read_record(target)
        if target not in (own, keep) and made and not Path(made["root"]).is_dir():
            shutil.rmtree(target, ignore_errors=True)


def adopt(root, target):
    made = read_record(target)
    if made and made["checkout"] == checkout_id(root):
        return
    places = []
    if made is None and not target.exists():
        old = newest(target)
        if old is None:
            target.mkdir(parents=True)
            return
        made = read_record(old)
        places = [made["root"] + "/", str(old) + "/"]
        for profile in profiles(old):
            link_tree(profile, target / profile.name)
    target.mkdir(parents=True, exist_ok=True)
    if made:
        for profile in all_profiles(target):
            forget(profile, made["time_ns"], places)
        set_times(root, made["files"])
        record(root, target)
    tidy(target)


def main(arguments):
    match arguments:
        case ["adopt", root, target]:
            adopt(Path(root), Path(target))
        case ["record", root, target]:
            record(Path(root), Path(target))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
