"""A disk that is full before, during or after the opening of a data folder, and folders that are not ours: no command harms
what it cannot use, and whoever only looks changes nothing."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
import requests
from conftest import HANG_S, PASSWORD, Server, binary, free_port, run_cli, until

MIB = 1 << 20
ENV = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")}


class SmallDisk:
    """A file system in memory in a mount namespace of its own; `path` is its place inside, `seen` the same from here."""

    def __init__(self, place, mib):
        command = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"]), "sh", "-c",
                   f'mount -t tmpfs -o size={mib}m none "$0" && echo mounted && exec sleep infinity', str(place)]
        self.keeper = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.keeper.stdout.readline() == "mounted\n", "this machine mounts no file system in a namespace"
        self.path, self.seen = place, Path(f"/proc/{self.keeper.pid}/root{place}")
        self.enter = ["nsenter", "--target", str(self.keeper.pid), "--mount", *(
            [] if os.getuid() == 0 else ["--user", "--preserve-credentials"]), "--"]

    def end(self):
        self.keeper.kill()
        self.keeper.wait()
        self.keeper.stdout.close()

    def cli(self, *args, **kwargs):
        return subprocess.run([*self.enter, binary(), *map(str, args)], capture_output=True, text=True, env=ENV,
                              timeout=HANG_S, **kwargs)

    def serve(self, data, env=None):
        return InDisk(self, data, env)

    def fill(self, room=0):
        """Fills the disk but for `room` bytes."""
        with open(self.seen / "fill", "wb", buffering=0) as f:
            try:
                while f.write(bytes(4096)):
                    pass
            except OSError:
                pass
            f.truncate(max(0, os.fstat(f.fileno()).st_size - room))

    def empty(self):
        (self.seen / "fill").unlink()


class InDisk(Server):
    """A server whose data folder lies on a small disk."""

    def __init__(self, disk, data, env=None):
        super().__init__(disk.path / data, env=env)
        self.disk = disk
        self.url = f"http://127.0.0.1:{self.port}"

    def command(self):
        return [*self.disk.enter, binary(), "serve", "--listen", self.server, "--internal-listen",
                f"127.0.0.1:{self.internal}", "--data", str(self.data)]

    def start(self):
        self.log_path = self.disk.path.parent / f"{self.data.name}.log"
        self.log = open(self.log_path, "ab")
        env = {**ENV, "GRAPHLUME_ADMIN_PASSWORD": PASSWORD, **self.env}
        self.process = subprocess.Popen(self.command(), env=env, stdout=self.log, stderr=self.log)

        def serves():
            assert self.process.poll() is None, self.output()
            try:
                return requests.get(self.url + "/healthz", timeout=HANG_S).status_code == 200
            except requests.ConnectionError:
                return False

        until(serves, "the server on the small disk")
        return self

    def output(self):
        return self.log_path.read_text(errors="replace")[-4000:]


@pytest.fixture
def disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    d = SmallDisk(place, 64)
    yield d
    d.end()


def look(folder):
    """Everything below a folder with what a change would change."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        about = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_mtime_ns, about.st_ino, about.st_size, content)
    return found


def filled_folder(disk):
    """A data folder whose export does not know the account bob."""
    s = disk.serve("d").start()
    # The first export is made at the start.
    until(lambda: list((disk.seen / "d" / "exports").glob("*.jsonl")), "the first export")
    assert s.stop() == 0, s.output()
    r = disk.cli("user", "add", "bob", "--password-stdin", "--data", disk.path / "d", input=PASSWORD + "\n")
    assert r.returncode == 0, r
    return disk.path / "d"


def assert_whole(disk, also=()):
    s = disk.serve("d").start()
    try:
        for name in ["admin", "bob", *also]:
            assert s.token(name), name
        assert "damaged" not in s.output(), s.output()
    finally:
        assert s.stop() == 0, s.output()


@pytest.mark.parametrize("room", [0, 2 * MIB])
def test_no_command_harms_a_data_folder_without_room(disk, tmp_path, room):
    data = filled_folder(disk)
    key = disk.cli("key", "create", "bob", "--data", data).stdout.split(":")[0]
    before = look(disk.seen / "d")
    disk.fill(room)
    looking = [("doctor",), ("user", "list"), ("key", "list"), ("key", "list", "bob")]
    for args in looking:
        r = disk.cli(*args, "--data", data)
        assert look(disk.seen / "d") == before, args
        if args == ("doctor",):
            assert r.returncode == 1 and "MiB free" in r.stderr, r
        else:
            assert r.returncode == 0 and "bob" in r.stdout, r
    out = tmp_path / "backup"
    r = disk.cli("export", out, "--data", data)
    assert r.returncode == 0 and (out / "records.jsonl").is_file(), r
    writing = [
        ("user", "add", "eve", "--password-stdin"), ("user", "set", "bob", "--role", "staff"),
        ("user", "password", "bob", "--password-stdin"), ("user", "disable", "bob"), ("user", "enable", "bob"),
        ("user", "delete", "bob", "--with-data"), ("key", "create", "bob"), ("key", "revoke", key),
        ("key", "rotate-signing"), ("doctor", "--accept-clock"), ("doctor", "--confirm-accounts"),
        ("doctor", "--delete", "file record 1"),
    ]
    for args in writing:
        r = disk.cli(*args, "--data", data, input=PASSWORD + "\n")
        assert r.returncode == 1 and "MiB free" in r.stderr and "panic" not in r.stderr, (args, r)
        assert look(disk.seen / "d") == before, args
    r = subprocess.run(disk.serve("d").command(), env=ENV, capture_output=True, text=True, timeout=HANG_S)
    assert r.returncode == 1 and "MiB free" in r.stderr and "panic" not in r.stderr, r
    # Nor when the log has no room either.
    with open(disk.seen / "log", "ab") as full:
        r = subprocess.run(disk.serve("d").command(), env=ENV, stdout=full, stderr=full, timeout=HANG_S)
    assert r.returncode == 1, r
    assert look(disk.seen / "d") == before
    # A new folder on that disk is not even made.
    for args in [("serve",), ("user", "add", "eve", "--password-stdin"), ("import", out)]:
        r = disk.cli(*args, "--data", disk.path / "new", input=PASSWORD + "\n")
        assert r.returncode == 1 and "MiB free" in r.stderr, (args, r)
        assert not (disk.seen / "new").exists(), args
    assert look(disk.seen / "d") == before
    disk.empty()
    assert_whole(disk)


def test_a_disk_with_room_for_the_opening_alone_loses_nothing(disk):
    data = filled_folder(disk)
    disk.fill(8 * MIB)
    r = disk.cli("user", "add", "eve", "--password-stdin", "--data", data, input=PASSWORD + "\n")
    assert r.returncode == 1 and "MiB free" in r.stderr, r
    disk.empty()
    assert_whole(disk)


def test_a_disk_that_fills_up_behind_a_server_loses_nothing(disk):
    filled_folder(disk)
    s = disk.serve("d").start()
    api = s.api()
    assert api("POST", "/api/v2/files/", json={"file_type": "csv"}).status_code == 201
    disk.fill()
    r = api("POST", "/api/v2/files/", json={"file_type": "csv"})
    assert r.status_code == 507, r.text
    assert "\tbob\t" in disk.cli("user", "list", "--data", s.data).stdout
    s.stop()
    disk.empty()
    assert_whole(disk)


def test_a_snapshot_that_the_engine_did_not_finish_costs_nothing(tmp_path):
    data = tmp_path / "d"
    s = Server(data).start()
    until(lambda: list((data / "exports").glob("*.jsonl")), "the first export")
    assert s.stop() == 0
    run_cli("user", "add", "bob", "--password-stdin", "--data", data, input=PASSWORD + "\n")
    (data / "store" / "snap.FFFFFFFFFFFFFFFF.generating").touch()
    before = look(data)
    assert "bob" in run_cli("user", "list", "--data", data).stdout
    assert run_cli("doctor", "--data", data).returncode == 0
    assert look(data) == before
    s.start()
    assert s.token("bob")
    assert s.stop() == 0 and "damaged" not in s.output()


FOREIGN = {
    "a project": ["store/index.ts", "tmp/notes.txt", "components/a.tsx"],
    "names of an engine": ["store/conf", "store/db"],
    "numbers in tmp": ["tmp/1"],
    "a lock": ["lock"],
    "a mark": ["mark"],
    "blobs": ["blobs/00/x"],
    "a letter": ["letter.txt"],
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_folder_stays_as_it_is(tmp_path, name):
    folder = tmp_path / "mine"
    for file in FOREIGN[name]:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("mine")
    folder.chmod(0o755)
    before = look(folder)
    for args in [("doctor",), ("user", "list"), ("key", "list"), ("user", "disable", "bob"), ("export", tmp_path / "out"),
                 ("user", "add", "bob", "--password-stdin"), ("doctor", "--confirm-accounts")]:
        r = run_cli(*args, "--data", folder, check=False, input=PASSWORD + "\n")
        assert r.returncode == 1 and str(folder) in r.stderr, (args, r)
        assert look(folder) == before, args
    r = run_cli("serve", "--data", folder, "--listen", f"127.0.0.1:{free_port()}", "--internal-listen",
                f"127.0.0.1:{free_port()}", check=False)
    assert r.returncode == 78 and str(folder) in r.stderr, r
    assert look(folder) == before


def test_an_empty_folder_is_said_to_be_empty(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    before = look(folder)
    r = run_cli("doctor", "--data", folder)
    assert f"{folder} is empty" in r.stdout
    r = run_cli("user", "list", "--data", folder, check=False)
    assert r.returncode == 1 and "is empty" in r.stderr
    assert look(folder) == before
