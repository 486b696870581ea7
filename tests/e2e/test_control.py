"""Commands of the command line while the server runs: they go through a socket in the data folder."""

import json
import os
import socket
import stat
import subprocess

import pytest
import requests
from conftest import HANG_S, PASSWORD, Server, binary, run_cli
from live import Viewer
from websockets.exceptions import ConnectionClosed

LONG = "a-name-of-a-folder-that-makes-the-path-longer-than-an-address-of-a-socket-may-be" * 2


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A server that runs, in a folder whose path is longer than the address of a socket may be."""
    data = tmp_path_factory.mktemp("control") / LONG / "data"
    data.parent.mkdir()
    assert len(str(data / "control.sock")) > 107
    s = Server(data).start()
    yield s
    assert s.stop() == 0, s.output()
    assert not (data / "control.sock").exists()


def cli(server, *args, **kwargs):
    return run_cli(*args, "--data", server.data, **kwargs)


def login(server, name, password=PASSWORD):
    return requests.post(server.url + "/api-token-auth/", json={"username": name, "password": password})


def add(server, name):
    r = cli(server, "user", "add", name, "--password-stdin", input=PASSWORD + "\n")
    assert r.stderr == f"added {name}\n"


def test_only_the_servers_own_user_can_open_the_socket(busy):
    mode = os.stat(busy.data / "control.sock").st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600


def test_accounts_are_made_listed_and_changed_while_the_server_runs(busy):
    add(busy, "anna")
    assert login(busy, "anna").status_code == 200
    rows = [line.split("\t") for line in cli(busy, "user", "list").stdout.splitlines()]
    assert rows[0][:4] == ["id", "name", "role", "state"]
    assert [r[1:4] for r in rows[1:] if r[1] in ("admin", "anna")] == [
        ["admin", "superuser", "active"], ["anna", "user", "active"]]
    cli(busy, "user", "set", "anna", "--role", "staff")
    assert "\tanna\tstaff\t" in cli(busy, "user", "list").stdout


def test_a_disabled_account_and_a_new_password_end_what_was_signed_in(busy):
    add(busy, "ben")
    api = busy.api("ben")
    assert api("GET", "/api/v2/files/").status_code == 200
    cli(busy, "user", "disable", "ben")
    assert api("GET", "/api/v2/files/").status_code == 401
    assert login(busy, "ben").status_code == 400
    cli(busy, "user", "enable", "ben")
    api = busy.api("ben")
    made = cli(busy, "user", "password", "ben").stdout.strip()
    assert api("GET", "/api/v2/files/").status_code == 401
    assert login(busy, "ben").status_code == 400
    assert login(busy, "ben", made).status_code == 200


def test_new_passwords_have_eight_characters_at_least(busy, tmp_path):
    add(busy, "otto")
    idle = tmp_path / "idle"
    run_cli("user", "add", "otto", "--data", idle)
    for data in (busy.data, idle):
        for args in (["add", "emil"], ["password", "otto"]):
            r = run_cli("user", *args, "--password-stdin", "--data", data, input="1234567\n", check=False)
            assert r.returncode == 1 and "7 characters" in r.stderr and "at least 8" in r.stderr, r
    assert "emil" not in cli(busy, "user", "list").stdout
    assert login(busy, "otto").status_code == 200
    env = {**os.environ, "GRAPHLUME_ADMIN_PASSWORD": "1234567"}
    anywhere = ["--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"]
    r = subprocess.run([binary(), "serve", "--data", tmp_path / "new", *anywhere], env=env, capture_output=True, text=True,
                       timeout=HANG_S)
    assert r.returncode == 78 and "GRAPHLUME_ADMIN_PASSWORD" in r.stderr and "at least 8" in r.stderr, r


def test_an_open_page_of_a_disabled_account_is_ended(busy):
    add(busy, "dora")
    api = busy.api("dora")
    file = api.file(b"s,d\n1,2\n2,3\n", "csv")["file_id"]
    dataset = api.dataset([file])
    viewer = Viewer(busy, dataset, "of-dora", headers=dict(api.session.headers))
    viewer.until(lambda: viewer.graph)
    cli(busy, "user", "disable", "dora")
    with pytest.raises(ConnectionClosed) as caught:
        viewer.until(lambda: False)
    assert caught.value.rcvd.code == 4401, caught.value


def test_keys_are_made_and_revoked_while_the_server_runs(busy):
    add(busy, "cleo")
    key = cli(busy, "key", "create", "cleo", "--label", "ci").stdout.strip()
    use = lambda: requests.post(busy.url + "/api/v2/auth/pkey/jwt/",
                                headers={"Authorization": "PersonalKey " + key}).status_code
    assert use() == 200
    key_id = key.split(":")[0]
    assert f"{key_id}\tcleo\tactive\t" in cli(busy, "key", "list", "cleo").stdout
    cli(busy, "key", "revoke", key_id)
    assert use() == 401
    assert f"{key_id}\tcleo\trevoked\t" in cli(busy, "key", "list").stdout


def test_a_backup_and_a_check_need_no_stop(busy, tmp_path):
    r = run_cli("export", "backup", "--data", busy.data, cwd=tmp_path)
    assert "records and" in r.stderr and (tmp_path / "backup" / "records.jsonl").is_file()
    new = tmp_path / "new"
    run_cli("import", tmp_path / "backup", "--data", new)
    assert "\tadmin\tsuperuser\t" in run_cli("user", "list", "--data", new).stdout
    assert f"data folder  {busy.data}: " in cli(busy, "doctor").stdout


def test_what_is_refused_is_refused_as_without_a_server(busy, tmp_path):
    idle = tmp_path / "idle"
    run_cli("user", "add", "admin", "--role", "superuser", "--data", idle)
    for args, why in [(["user", "disable", "nobody"], "user not found: nobody; `graphlume user list` lists"),
                      (["user", "add", "admin"], "admin"),
                      (["key", "create", "nobody"], "user not found: nobody; `graphlume user list` lists"),
                      (["key", "revoke", "nothing"], "key not found: nothing; `graphlume key list`"),
                      (["user", "disable", "admin"], "superuser")]:
        told = [run_cli(*args, "--data", data, check=False) for data in (busy.data, idle)]
        assert [r.returncode for r in told] == [1, 1], told
        assert told[0].stderr == told[1].stderr and told[0].stderr.startswith("error: "), told
        assert why in told[0].stderr, told


def ask(server, line):
    folder = os.open(server.data, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(10)
        s.connect(f"/proc/self/fd/{folder}/control.sock")
        os.close(folder)
        s.sendall(line)
        s.shutdown(socket.SHUT_WR)
        return json.loads(b"".join(iter(lambda: s.recv(4096), b"")))


@pytest.mark.parametrize("line, why", [
    (b'{"command": "reboot"}\n', "none that this server knows"),
    (b"\xff\n", "none that this server knows"),
    (b"", "none that this server knows"),
    (b'{"command": "key-revoke", "arguments": {"key_id": "' + b"a" * 65_536 + b'"}}', "more than 65536 bytes"),
])
def test_a_line_that_is_no_command_is_answered(busy, line, why):
    assert why in ask(busy, line)["error"]


def test_a_socket_that_a_killed_server_left_is_no_hindrance(tmp_path):
    s = Server(tmp_path / "data").start()
    s.kill()
    assert (s.data / "control.sock").exists()
    assert "\tadmin\t" in cli(s, "user", "list").stdout
    s.start()
    assert "\tadmin\t" in cli(s, "user", "list").stdout
    assert s.stop() == 0


def test_a_folder_that_something_else_holds_is_said_to_be_in_use(tmp_path):
    data = tmp_path / "data"
    run_cli("user", "add", "admin", "--data", data)
    with open(data / "lock") as lock:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)
        r = subprocess.run([binary(), "user", "list", "--data", data], capture_output=True, text=True)
    assert r.returncode == 1 and "in use by another process" in r.stderr and "control.sock" in r.stderr, r


def verify(server, token):
    return requests.post(server.url + "/api-token-verify/", json={"token": token}).status_code


def test_the_key_of_tokens_is_rotated_while_the_server_runs_and_without_it(tmp_path):
    s = Server(tmp_path / "data").start()
    old = s.token()
    assert "within an hour" in cli(s, "key", "rotate-signing").stderr
    new = s.token()
    assert verify(s, old) == verify(s, new) == 200
    s.stop()
    s.start()
    assert verify(s, old) == verify(s, new) == 200, "the key before is kept over a restart"
    # Two rotations leave nothing of the first key.
    s.stop()
    cli(s, "key", "rotate-signing")
    s.start()
    assert verify(s, old) == 400 and verify(s, new) == 200
    assert "has ended" in cli(s, "key", "rotate-signing", "--at-once").stderr
    assert verify(s, new) == 400 and verify(s, s.token()) == 200
    assert s.stop() == 0


def test_the_organization_of_a_token_outlives_the_process(tmp_path):
    s = Server(tmp_path / "data")
    for name in ("admin", "olga"):
        run_cli("user", "add", name, "--org", "acme", "--role", "admin", "--password-stdin", "--data", s.data, input=PASSWORD + "\n")
    s.start()
    api = s.api("olga")
    r = api("POST", "/api/v2/o/acme/switch/")
    assert r.status_code == 200, r.text

    def acts_in():
        r = api("POST", "/api/v2/files/", json={"file_type": "csv"})
        assert r.status_code == 201, r.text
        return api("GET", f"/api/v2/files/{r.json()['file_id']}").json()["org_name"]

    assert acts_in() == "acme"
    s.kill()
    s.start()
    assert acts_in() == "acme"
    assert s.stop() == 0


def test_a_relative_path_of_an_export_is_the_callers(busy, tmp_path):
    r = subprocess.run([binary(), "export", "backup", "--data", busy.data], cwd=tmp_path, capture_output=True, text=True)
    assert r.returncode == 0 and (tmp_path / "backup" / "records.jsonl").is_file(), r
    answer = ask(busy, json.dumps({"command": "export", "arguments": {"to": "backup"}}).encode())
    assert "no whole path" in str(answer), answer


def test_a_damaged_record_that_is_not_there_is_not_deleted(busy):
    r = cli(busy, "doctor", "--delete", "file record 17", check=False)
    assert r.returncode == 1 and "no damaged record" in r.stderr, r
