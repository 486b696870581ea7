"""What one account may put on the disk, and what it is told at the limit."""

import socket

import pytest
from conftest import HANG_S, PASSWORD, Server, run_cli, unique

LIMIT = 1_000_000


@pytest.fixture(scope="module")
def tight(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("quotas") / "data", "--account-files", "3",
                    "--account-bytes", str(LIMIT)).start()
    yield server
    server.stop()


@pytest.fixture
def person(tight):
    name = unique("person")
    run_cli("user", "add", name, "--password-stdin", "--data", tight.data, input=PASSWORD + "\n")
    return tight.api(name)


def rows(size):
    """A CSV of about so many bytes, whose tables are not much smaller."""
    text, i = ["s,d\n"], 0
    while size > 0:
        i += 1
        text.append(f"node-{i:09},node-{(i * 7919) % 1000003:09}\n")
        size -= len(text[-1])
    return "".join(text).encode()


def refused(r, *words):
    assert r.status_code == 413, (r.status_code, r.text)
    told = r.json()
    assert told["slug"] == "quota-exceeded", told
    for word in words:
        assert word in told["message"], (word, told["message"])


def new_file(api):
    r = api("POST", "/api/v2/files/", json={"file_type": "csv"})
    assert r.status_code == 201, r.text
    return r.json()["file_id"]


def upload(api, file, body):
    return api("POST", f"/api/v2/upload/files/{file}", data=body)


def test_an_account_has_so_many_files(tight, person):
    files = [new_file(person) for _ in range(3)]
    refused(person("POST", "/api/v2/files/", json={"file_type": "csv"}), "3 files", "limit is 3", "--account-files")
    assert new_file(tight.api()), "others have their own"
    assert person("DELETE", f"/api/v2/files/{files[0]}").status_code == 204
    assert new_file(person)


def test_an_account_has_so_many_bytes_and_gets_them_back(person):
    file, other = new_file(person), new_file(person)
    assert upload(person, file, rows(400_000)).json()["is_valid"]
    full = upload(person, other, rows(900_000))
    refused(full, "the account holds", f"limit is {LIMIT} bytes", "--account-bytes")
    refused(upload(person, other, iter([rows(900_000)])), f"limit is {LIMIT} bytes")
    dataset = person.dataset([file])
    part = person("POST", f"/api/v2/upload/datasets/{dataset}/edges/csv", data=rows(900_000))
    refused(part, f"limit is {LIMIT} bytes")
    for path in (f"/api/v2/datasets/{dataset}", f"/api/v2/files/{file}"):
        assert person("DELETE", path).status_code == 204
    assert upload(person, other, rows(400_000)).json()["is_valid"], "what was deleted made room"


def test_what_is_handed_over_counts_as_the_heirs(tight, person):
    giver = unique("giver")
    run_cli("user", "add", giver, "--password-stdin", "--data", tight.data, input=PASSWORD + "\n")
    given = tight.api(giver)
    assert upload(given, new_file(given), rows(400_000)).json()["is_valid"]
    assert upload(person, new_file(person), rows(50_000)).json()["is_valid"]
    heir = next(line.split("\t")[1] for line in reversed(
        run_cli("user", "list", "--data", tight.data).stdout.splitlines()) if "\tperson-" in line)
    run_cli("user", "delete", giver, "--give-to", heir, "--data", tight.data)
    refused(upload(person, new_file(person), rows(400_000)), "limit is")


def announce(server, api, file, length):
    """Asks whether a body of so many bytes may be sent; gives the connection and the first line of the answer."""
    s = socket.create_connection((server.server.split(":")[0], int(server.server.split(":")[1])), timeout=HANG_S)
    head = (f"POST /api/v2/upload/files/{file} HTTP/1.1\r\nHost: {server.server}\r\nContent-Length: {length}\r\n"
            f"Authorization: {api.session.headers['Authorization']}\r\nExpect: 100-continue\r\n\r\n")
    s.sendall(head.encode())
    return s, s.recv(4096).split(b"\r\n")[0]


def test_announced_bytes_are_reserved_before_they_come(tight, person):
    first, second = new_file(person), new_file(person)
    s, line = announce(tight, person, first, LIMIT + 1)
    assert b" 413 " in line, "at once, and not when the disk has them"
    s.close()
    s, line = announce(tight, person, first, 600_000)
    assert line == b"HTTP/1.1 100 Continue"
    refused(upload(person, second, rows(600_000)), "600000 bytes are on their way")
    s.close()
    # The server notices a connection that is gone a moment later.
    for _ in range(200):
        r = upload(person, second, rows(450_000))
        if r.status_code == 200:
            break
        refused(r, "on their way")
    assert r.status_code == 200, r.text


def test_the_check_of_the_folder_names_the_largest_accounts(tight, person):
    assert upload(person, new_file(person), rows(300_000)).json()["is_valid"]
    lines = [x for x in run_cli("doctor", "--data", tight.data).stdout.splitlines() if x.startswith("account")]
    assert 1 <= len(lines) <= 5 and all(" files, " in x for x in lines), lines
