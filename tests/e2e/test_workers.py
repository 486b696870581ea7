"""Uploaded bytes are parsed in processes of their own: what befalls one of them costs one error message."""

import gzip
import os
import re
import signal
import socket
import sys
import threading
from pathlib import Path

import pytest
import requests

from conftest import HANG_S, PASSWORD, Server, binary, run_cli, until

HEALTH = "/streamgl-gpu/secondary/cpu/health"


def children(pid):
    """Process ids of the children, by the system's own list."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += (task / "children").read_text().split()
        except OSError:
            pass
    return [int(p) for p in found]


def ready(server, count=2):
    r = requests.get(server.url + HEALTH)
    return r.status_code == 200 and f"{count} of {count} parse workers ready" in r.text


def csv(rows):
    return b"s,d,text\n" + b"".join(b"n%d,n%d,some words %d\n" % (i, i * 7 % rows, i) for i in range(rows))


# Compressed twice over so that a parse takes long enough to be caught in the act.
LONG = gzip.compress(csv(200_000), 1) * 40


@pytest.fixture
def workers(tmp_path, request):
    for name in ("alice", "bob"):
        run_cli("user", "add", name, "--password-stdin", "--data", tmp_path / "data", input=PASSWORD + "\n")
    options = getattr(request, "param", [])
    s = Server(tmp_path / "data", *options).start()
    until(lambda: ready(s, 1 if "--parse-workers" in options else 2), "the workers are ready")
    yield s
    s.stop()


def upload_in_the_background(api, body, compression="gzip"):
    """Starts an upload; returns the file id, the thread, and the list that gets the answer."""
    r = api("POST", "/api/v2/files/", json={"file_type": "csv", "file_compression": compression})
    assert r.status_code == 201, r.text
    file_id, answers = r.json()["file_id"], []

    def run():
        r = requests.post(f"{api.server.url}/api/v2/upload/files/{file_id}", data=body, headers=api.session.headers)
        answers.append(r)

    thread = threading.Thread(target=run)
    thread.start()
    return file_id, thread, answers


def workers_with_a_job(server):
    """Process ids of the workers that have one, as the server tells its operators."""
    told = requests.get(server.internal_url + "/check-workers").json()["workers"]
    return [int(re.search(r"process (\d+)", w["device"]).group(1)) for w in told
            if w["kind"] == "parse" and "has a job" in w["device"]]


def busy_worker(server):
    """The worker that has a job."""
    return until(lambda: workers_with_a_job(server), "a worker has a job")[0]


def in_the_act(server, api, sig):
    _, thread, answers = upload_in_the_background(api, LONG)
    os.kill(busy_worker(server), sig)
    thread.join(HANG_S)
    return answers[0]


def test_a_crash_costs_one_error_and_the_worker_is_replaced(workers):
    api = workers.api()
    old = set(children(workers.process.pid))
    r = in_the_act(workers, api, signal.SIGKILL)
    assert r.status_code == 200, r.text
    f = r.json()
    assert f["is_valid"] is False and f["errors"][0]["slug"] == "parser-crash", f
    assert "signal 9" in f["errors"][0]["message"]
    assert workers.process.poll() is None
    until(lambda: ready(workers), "the worker is replaced")
    assert set(children(workers.process.pid)) != old
    assert api.file(b"s,d\n1,2\n", "csv")["is_valid"] is True


@pytest.mark.parametrize("workers", [["--parse-seconds", "2"]], indirect=True)
def test_a_hang_costs_one_error(workers):
    r = in_the_act(workers, workers.api(), signal.SIGSTOP)
    assert r.json()["errors"][0]["slug"] == "parse-time-limit", r.text
    assert "2 s" in r.json()["errors"][0]["message"], r.text
    until(lambda: ready(workers), "the worker is replaced")


@pytest.mark.parametrize("workers", [["--parse-seconds", "300"]], indirect=True)
def test_a_worker_that_used_up_its_processor_time_costs_one_error_that_names_the_limit(workers):
    threads = os.cpu_count()
    limit = [int(n) for n in re.search(r"Max cpu time +(\d+) +(\d+)", Path(f"/proc/{children(workers.process.pid)[0]}/limits").read_text()).groups()]
    assert limit[0] % 600 == 0 and 600 <= limit[0] <= 600 * threads and limit[0] < limit[1], limit
    # What the system sends at the limit.
    r = in_the_act(workers, workers.api(), signal.SIGXCPU)
    error = r.json()["errors"][0]
    assert error["slug"] == "parse-time-limit" and f"{limit[0]} s of processor time" in error["message"], error
    assert "--parse-seconds" in error["message"], error
    until(lambda: ready(workers), "the worker is replaced")


def test_workers_are_kept_from_the_machine_as_far_as_the_system_lets_them(workers):
    told = re.findall(r'parse workers are confined by="([^"]*)"', workers.output())
    assert len(told) == 1 and told[0].startswith("a system call filter, "), workers.output()
    for pid in children(workers.process.pid):
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2", status
        if "no capabilities" in told[0]:
            assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0, status
        if "own user" in told[0] or "own network" in told[0]:
            assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
    assert workers.api().file(b"s,d\n1,2\n", "csv", sql_transforms=["SELECT * FROM data"])["is_valid"]


@pytest.mark.parametrize("workers", [["--parse-memory", "100MiB"]], indirect=True)
def test_a_parse_that_eats_memory_costs_one_error_and_names_the_remedy(workers):
    api = workers.api()
    before = workers.rss_bytes()
    _, thread, answers = upload_in_the_background(api, LONG)
    thread.join(HANG_S)
    error = answers[0].json()["errors"][0]
    assert error["slug"] in ("parse-memory-limit", "too-large") and "--parse-memory" in error["message"], error
    assert workers.rss_bytes() - before < 64 << 20
    until(lambda: ready(workers), "the worker is replaced")
    assert api.file(b"s,d\n1,2\n", "csv")["is_valid"] is True


def test_no_worker_outlives_the_server(workers):
    pids = children(workers.process.pid)
    assert len(pids) == 2
    workers.kill()
    until(lambda: not any(Path(f"/proc/{p}").exists() for p in pids), "the workers are gone")


def test_an_upload_that_nobody_waits_for_is_stopped(workers):
    api = workers.api()
    r = api("POST", "/api/v2/files/", json={"file_type": "csv", "file_compression": "gzip"})
    head = (f"POST /api/v2/upload/files/{r.json()['file_id']} HTTP/1.1\r\nHost: {workers.server}\r\n"
            f"Authorization: {api.session.headers['Authorization']}\r\nContent-Length: {len(LONG)}\r\n\r\n")
    with socket.create_connection(("127.0.0.1", workers.port), timeout=HANG_S) as s:
        s.sendall(head.encode() + LONG)
        worker = busy_worker(workers)
    until(lambda: not Path(f"/proc/{worker}").exists(), "the worker is ended with its work")
    until(lambda: ready(workers) and not workers_with_a_job(workers), "two workers are ready for others")


def test_the_stages_of_an_upload_are_seen_in_the_record_and_in_the_log(workers):
    api = workers.api()
    file_id, thread, answers = upload_in_the_background(api, LONG)
    seen = {}
    while thread.is_alive():
        progress = api("GET", f"/api/v2/files/{file_id}").json().get("progress")
        if progress:
            seen[progress["stage"]] = progress
    assert answers[0].json()["is_valid"] is True, answers[0].text
    assert {"decompressing", "parsing"} <= set(seen), seen
    assert seen["decompressing"]["bytes"] > 0
    assert "progress" not in api("GET", f"/api/v2/files/{file_id}").json()
    log = (workers.data.parent / f"{workers.data.name}.log").read_text()
    for stage in ("decompressing", "parsing", "storing", "validating"):
        assert f'stage="{stage}"' in log, stage


def test_a_gibibyte_of_compressed_csv_leaves_the_server_small(workers):
    api = workers.api()
    block = b"".join(b"%d,%d\n" % (i, i * 7919 % 1_000_003) for i in range(1_000_000))
    copies = max(1, int(os.environ.get("GRAPHLUME_TEST_GZ_MIB", "1024")) * (1 << 20) // len(block))
    member, head = gzip.compress(block, 1), gzip.compress(b"s,d\n")
    before, peak, stop = workers.rss_bytes(), [0], threading.Event()

    def sample():
        while not stop.wait(0.02):
            peak[0] = max(peak[0], workers.rss_bytes())

    sampler = threading.Thread(target=sample)
    sampler.start()

    def body():
        yield head
        for _ in range(copies):
            yield member

    f = api.file(body(), "csv", file_compression="gzip")
    stop.set()
    sampler.join()
    assert f["is_valid"], f["errors"]
    assert f["tables_schemas"][0]["num_rows"] == copies * 1_000_000
    grown = (peak[0] - before) >> 20
    print(f"{copies * len(block) >> 20} MiB of CSV in {len(member) * copies >> 20} MiB of gzip: grew by {grown} MiB")
    assert grown < 128


@pytest.mark.parametrize("workers", [["--parse-workers", "1"]], indirect=True)
def test_a_worker_never_sees_the_bytes_of_two_accounts(workers):
    def parser():
        """The process that is ready, or has just had a job."""
        told = requests.get(workers.internal_url + "/check-workers").json()["workers"]
        return next((re.search(r"process (\d+)", w["device"]).group(1) for w in told if w["kind"] == "parse"), None)

    def served(name):
        assert workers.api(name).file(b"s,d\n1,2\n", "csv")["is_valid"] is True
        return until(parser, "a worker is ready")

    first = served("alice")
    assert served("alice") == first
    second = served("bob")
    assert second != first and served("bob") == second and served("alice") != second


# Starts a program that can set no seccomp filter, as under a kernel without them: of the call `seccomp` nothing is left.
WITHOUT_FILTERS = """#!{python}
import ctypes, os, platform, struct, sys
SECCOMP = {{"x86_64": 317, "aarch64": 277}}[platform.machine()]
LOAD, EQUAL, RETURN, ALLOW, ERROR = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000 | 38
program = b"".join(struct.pack("HBBI", *one) for one in [(LOAD, 0, 0, 0), (EQUAL, 0, 1, SECCOMP), (RETURN, 0, 0, ERROR), (RETURN, 0, 0, ALLOW)])
kept = ctypes.create_string_buffer(program)
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("program", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(4, ctypes.addressof(kept))), 0, 0) == 0
os.execv({binary!r}, [{binary!r}, *sys.argv[1:]])
"""


@pytest.mark.parametrize("allowed", [False, True])
def test_without_a_cage_nothing_is_parsed_unless_the_operator_says_so(tmp_path, monkeypatch, allowed):
    wrapped = tmp_path / "graphlume"
    wrapped.write_text(WITHOUT_FILTERS.format(python=sys.executable, binary=str(binary())))
    wrapped.chmod(0o755)
    monkeypatch.setenv("GRAPHLUME_BIN", str(wrapped))
    s = Server(tmp_path / "data", *(["--allow-unconfined"] if allowed else [])).start()
    try:
        text = until(lambda: (t := requests.get(s.url + HEALTH).text) and "confine" in t and t, "the workers' state is told")
        if allowed:
            assert "not confined" in text, text
            assert s.api().file(b"s,d\n1,2\n", "csv")["is_valid"]
        else:
            assert "--allow-unconfined" in text and "0 of 2 parse workers ready" in text, text
    finally:
        s.stop()
