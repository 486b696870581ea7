"""The process and its folder: what no command may touch, how it ends, and that a pause is no end."""

import errno
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import time

import pytest
import requests
from conftest import HANG_S, PASSWORD, Server, binary, free_port, run_cli, until
from live import Viewer

CONFIG, DISK, SYSTEM = 78, 74, 71


def look(folder):
    return sorted(p.name for p in folder.iterdir()), stat.S_IMODE(folder.stat().st_mode)


@pytest.mark.parametrize("command", [
    ["serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"], ["doctor"], ["user", "list"],
    ["user", "add", "bob", "--password-stdin"], ["key", "list"], ["key", "create", "bob"],
], ids=lambda c: " ".join(c[:2]))
def test_no_command_takes_a_foreign_folder(tmp_path, command):
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("dear")
    home.chmod(0o1777)
    before = look(home)
    r = run_cli(*command, "--data", home, check=False, input=PASSWORD + "\n")
    assert r.returncode != 0 and "name a new folder inside it" in r.stderr, (r.returncode, r.stderr)
    assert look(home) == before
    # Nor does one that only looks make a folder.
    absent = tmp_path / "absent"
    if command[0] != "serve" and command[:2] != ["user", "add"]:
        run_cli(*command, "--data", absent, check=False)
        assert not absent.exists()


def test_an_account_before_the_first_start_leaves_a_superuser(tmp_path):
    data = tmp_path / "data"
    r = run_cli("user", "add", "bob", "--password-stdin", "--data", data, input=PASSWORD + "\n")
    assert "made the data folder" in r.stderr
    server = Server(data).start()
    assert server.token("admin") and server.token("bob")
    assert server.stop() == 0


def test_a_start_that_would_fail_again_is_not_tried_again(tmp_path):
    data = tmp_path / "data"
    assert Server(data).start().stop() == 0
    (data / "token.key").chmod(0o644)
    for supervise in ([], ["--supervise"]):
        r = run_cli("serve", "--data", data, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", *supervise,
                    check=False, timeout=HANG_S)
        assert r.returncode == CONFIG and "chmod 600" in r.stderr, (r.returncode, r.stderr)


@pytest.mark.parametrize("supervise", [[], ["--supervise"]], ids=["alone", "supervised"])
def test_too_little_address_space_is_said_by_the_name_of_its_limit(tmp_path, supervise):
    def few():
        resource.setrlimit(resource.RLIMIT_AS, (1200 << 20, 1200 << 20))

    r = run_cli("serve", "--data", tmp_path / "data", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", *supervise,
                check=False, timeout=HANG_S, preexec_fn=few)
    assert r.returncode == SYSTEM, (r.returncode, r.stderr)
    for word in ("1200 MiB", "RLIMIT_AS", "ulimit -v", "LimitAS=", "--memory"):
        assert word in r.stderr, r.stderr


def test_few_descriptors_serve_and_the_log_says_how_many_connections(tmp_path):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))

    server, spawn = Server(tmp_path / "data"), subprocess.Popen
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", lambda *a, **k: spawn(*a, preexec_fn=few, **k))
        server.start()
    sessions = [requests.Session() for _ in range(20)]
    assert [s.get(server.url + "/healthz", timeout=HANG_S).status_code for s in sessions] == [200] * 20, "kept open, all at once"
    assert "connections=86" in server.output() and "descriptors" in server.output(), server.output()
    assert server.stop() == 0


def test_a_folder_in_use_is_a_configuration_that_is_refused(server):
    r = run_cli("serve", "--data", server.data, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", check=False)
    assert r.returncode == CONFIG and "in use" in r.stderr, (r.returncode, r.stderr)


@pytest.fixture
def usual_port_taken():
    """Something listens where the operators' address is by default: this test, or another program already."""
    with socket.socket() as holder:
        try:
            holder.bind(("127.0.0.1", 8001))
            holder.listen()
        except OSError as e:
            assert e.errno == errno.EADDRINUSE, e
        yield


@pytest.mark.parametrize("supervise", [[], ["--supervise"]], ids=["alone", "supervised"])
def test_the_operators_address_takes_a_free_port_where_the_usual_one_is_taken(tmp_path, supervise, usual_port_taken):
    env = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")}
    command = [binary(), "serve", "--listen", f"127.0.0.1:{free_port()}", "--data", str(tmp_path / "data"), *supervise]
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        banner = next(line for line in process.stdout if "operators" in line)
        address = re.search(r"http://(127\.0\.0\.1:\d+)/metrics", banner).group(1)
        assert address != "127.0.0.1:8001" and "127.0.0.1:8001 is taken" in banner, banner
        assert "graphlume_build_info" in requests.get(f"http://{address}/metrics", timeout=HANG_S).text
        said = re.sub(r"\x1b\[[0-9;]*m", "", (tmp_path / "log").read_text())
        assert f"internal_listen={address}" in said and "--internal-listen" in said, said
    finally:
        process.terminate()
        process.communicate(timeout=HANG_S)
    assert process.returncode == 0


@pytest.mark.parametrize("by", ["flag", "variable", "file"])
def test_an_operators_address_that_was_named_does_not_move(tmp_path, by, usual_port_taken):
    env = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")}
    named = []
    if by == "flag":
        named = ["--internal-listen", "127.0.0.1:8001"]
    elif by == "variable":
        env["GRAPHLUME_INTERNAL_LISTEN"] = "127.0.0.1:8001"
    else:
        (tmp_path / "graphlume.toml").write_text('[serve]\ninternal-listen = "127.0.0.1:8001"\n')
        env["GRAPHLUME_CONFIG"] = str(tmp_path / "graphlume.toml")
    r = run_cli("serve", "--data", tmp_path / "data", "--listen", f"127.0.0.1:{free_port()}", *named, check=False, env=env,
                timeout=HANG_S)
    assert r.returncode == 1 and "127.0.0.1:8001" in r.stderr and "is another server running there" in r.stderr, r.stderr


def test_a_server_that_was_stopped_and_continued_goes_on(fresh):
    """A container that is frozen, or a machine that sleeps, is no engine that hangs."""
    os.kill(fresh.process.pid, signal.SIGSTOP)
    # Longer than an engine may stand still before it is given up; a pause has no end that could be waited for.
    time.sleep(11)
    os.kill(fresh.process.pid, signal.SIGCONT)
    assert requests.get(fresh.url + "/healthz", timeout=HANG_S).status_code == 200
    # The watch looks ten times a second: by the time that a layout has shown these frames it has looked at the pause.
    viewer = Viewer(fresh, "karate", "after-the-pause")
    viewer.until(lambda: viewer.frames >= 5)
    viewer.close()
    assert fresh.process.poll() is None, fresh.output()
    assert fresh.stop() == 0, fresh.output()


def test_writes_go_on_after_all_descriptors_were_taken(tmp_path):
    """Idle connections take every descriptor that they may; the store must not take that for a broken disk."""
    data = tmp_path / "data"
    server = Server(data, "--connections-per-address", "4096")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    # The server may raise its own soft limit, so that only a low hard one is a limit.
    plain = subprocess.Popen

    def limited(*args, **kwargs):
        return plain(*args, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400)), **kwargs)

    subprocess.Popen = limited
    try:
        server.start()
    finally:
        subprocess.Popen = plain
    idle = []
    try:
        api = server.api()
        for _ in range(600):
            idle.append(socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S))
        codes = set()
        for i in range(12):
            try:
                codes.add(api("POST", "/api/v2/files/", json={"file_type": "csv", "name": str(i)}, timeout=20).status_code)
            except requests.RequestException:
                codes.add("no connection")
        assert codes <= {201, 503, "no connection"}, codes
        for s in idle:
            s.close()

        def signed_in():
            try:
                return requests.post(server.url + "/api-token-auth/", timeout=20,
                                     json={"username": "admin", "password": PASSWORD}).status_code == 200
            except requests.RequestException:
                return False

        until(signed_in, "closed connections, which the server notices one by one, give their descriptors back")
        r = server.api()("POST", "/api/v2/files/", json={"file_type": "csv"})
        assert r.status_code == 201, r.text
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        server.stop()
