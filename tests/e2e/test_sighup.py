"""SIGHUP: the configuration file is read again, and nobody notices who uses the server."""

import os
import re
import signal
import threading
from pathlib import Path

import pytest
import requests
from conftest import HANG_S, Server, unique, until
from live import Viewer
from test_supervise import child_of

SIGNALS = 10


class Configured(Server):
    """A server with a configuration file."""

    def __init__(self, folder, *options):
        self.file = folder / "graphlume.toml"
        self.write("")
        super().__init__(folder / "data", *options, env={"GRAPHLUME_CONFIG": str(self.file)})

    def write(self, settings):
        """Replaces the file at once, as an editor does."""
        fresh = self.file.with_suffix(".new")
        fresh.write_text(f"[serve]\n{settings}\n")
        fresh.rename(self.file)

    def lines(self):
        """The lines of the log, without their colours."""
        text = (self.data.parent / f"{self.data.name}.log").read_text(errors="replace")
        return re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()

    def said(self):
        """What the log says of the signals."""
        return [line.split("SIGHUP: ", 1)[1] for line in self.lines() if "SIGHUP: " in line]

    def hang_up(self, settings=None):
        """Sends the signal, and gives the line that follows."""
        if settings is not None:
            self.write(settings)
        before = len(self.said())
        os.kill(self.process.pid, signal.SIGHUP)
        lines = until(lambda: self.said()[before:], "the log says what the signal did")
        assert len(lines) == 1, lines
        return lines[0]

    def serving(self):
        """The process that serves."""
        return child_of(self.process.pid) if "--supervise" in self.extra else self.process.pid

    def ancestors(self):
        policy = requests.get(f"{self.url}/graph/graph.html?dataset=Karate").headers["content-security-policy"]
        return next((d for d in policy.split("; ") if d.startswith("frame-ancestors")), None)


@pytest.fixture(params=[(), ("--supervise",)], ids=["alone", "supervised"])
def configured(request, tmp_path):
    server = Configured(tmp_path, *request.param).start()
    yield server
    assert server.stop() == 0, server.output()


class Load:
    """Asks for different things all the time, by connections that are kept and by fresh ones."""

    def __init__(self, server):
        self.server, self.answers, self.failures = server, 0, []
        self.stopping, self.token = threading.Event(), server.token()
        self.threads = [threading.Thread(target=self.run, args=[i]) for i in range(6)]

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for t in self.threads:
            t.join()

    def asks(self):
        bearer = {"Authorization": f"Bearer {self.token}"}
        yield "GET", "/healthz", {}
        yield "GET", "/graph/graph.html?dataset=Karate", {}
        yield "GET", "/api/v2/files/", {"headers": bearer}
        yield "POST", "/api/v2/files/", {"headers": bearer, "json": {"file_type": "csv"}}

    def run(self, number):
        kept = requests.Session()
        while not self.stopping.is_set():
            for method, path, more in self.asks():
                try:
                    ask = kept.request if number % 2 else requests.request
                    r = ask(method, self.server.url + path, timeout=HANG_S, **more)
                    if r.status_code not in (200, 201):
                        self.failures.append((path, r.status_code, r.text[:200]))
                except requests.RequestException as e:
                    self.failures.append((path, repr(e)))
                self.answers += 1


def test_ten_signals_under_load_fail_no_request(configured):
    pid = configured.serving()
    viewer = Viewer(configured, "Karate", unique("through"), headers={"Authorization": f"Bearer {configured.token()}"})
    viewer.until(lambda: viewer.positions is not None)
    with Load(configured) as load:
        for number in range(SIGNALS):
            until(lambda before=load.answers: load.answers >= before + 24, "under load before the signal")
            site = f"https://app-{number}.example"
            line = configured.hang_up(f'frame-ancestors = "{site}"')
            assert line == f"reloaded from {configured.file}: frame-ancestors", line
            assert configured.ancestors() == f"frame-ancestors {site}"
        until(lambda before=load.answers: load.answers >= before + 24, "under load after the last signal")
    print(f"{SIGNALS} signals, {load.answers} requests, {len(load.failures)} failures")
    assert load.failures == [] and load.answers >= 24 * SIGNALS, load.failures[:5]
    assert configured.serving() == pid and configured.process.poll() is None
    # The stream that was open all the time still takes commands.
    frames = viewer.frames
    viewer.say({"t": "play", "on": True, "ms": 2000})
    viewer.until(lambda: viewer.frames > frames)
    viewer.close()


def test_a_burst_of_signals_is_no_end(configured):
    pid = configured.serving()
    for _ in range(200):
        os.kill(configured.process.pid, signal.SIGHUP)
    until(configured.said, "the log says what the signals did")
    assert requests.get(configured.url + "/healthz", timeout=HANG_S).status_code == 200
    assert configured.serving() == pid and configured.process.poll() is None


def test_a_file_that_is_refused_changes_nothing_and_says_why(configured):
    assert configured.hang_up('frame-ancestors = "https://one.example"').startswith("reloaded from")
    for settings, reason in (
        ('frame-ancestors = "https://two.example', "graphlume.toml"),
        ('frame-ancestorz = "https://two.example"', 'did you mean "frame-ancestors"?'),
        ('frame-ancestors = "https://two.example; script-src *"', "frame_ancestors"),
        ('frame-ancestors = "https://two.example"\nlog = "loud=very=much"', "--log"),
        ('frame-ancestors = "https://two.example"\ntool-seconds = 0', "tool-seconds"),
        ('frame-ancestors = "https://two.example"\ncookie-samesite = "None"', "COOKIE_SAMESITE"),
    ):
        line = configured.hang_up(settings)
        assert line.startswith("every setting stays as it was: ") and reason in line, line
        assert configured.ancestors() == "frame-ancestors https://one.example", settings
    configured.file.unlink()
    line = configured.hang_up()
    assert line.startswith("every setting stays as it was: ") and str(configured.file) in line, line
    # Mended, it is taken.
    assert configured.hang_up('frame-ancestors = "https://three.example"').startswith("reloaded from")
    assert configured.ancestors() == "frame-ancestors https://three.example"


def test_the_line_tells_what_was_reloaded_from_what_needs_a_restart(configured):
    line = configured.hang_up('memory = "1GiB"\ntool-seconds = 7\ntrusted-proxy = "127.0.0.1"\nparse-workers = 1')
    assert line == (f"reloaded from {configured.file}: tool-seconds, trusted-proxy; these need a restart: memory, parse-workers")
    # Believed from now on: the log names the sender that the proxy names.
    requests.get(f"{configured.url}/api/v2/files/", headers={"X-Forwarded-For": "203.0.113.9"})
    until(lambda: any("peer=203.0.113.9" in line for line in configured.lines()), "the sender is in the log")
    line = configured.hang_up()
    assert line == f"{configured.file} changes nothing; these need a restart: memory, parse-workers"
    assert configured.hang_up("") == f"reloaded from {configured.file}: tool-seconds, trusted-proxy"
    assert configured.hang_up() == f"{configured.file} changes nothing"


def logs_health(server):
    """Whether the log has the line of a request that only `debug` tells of, once it has that of a later one."""
    health = requests.get(server.url + "/healthz").headers["x-request-id"]
    later = requests.get(server.url + "/api/v2/files/").headers["x-request-id"]
    until(lambda: any(later in line for line in server.lines()), "the line of the later request")
    return any(health in line for line in server.lines())


def test_the_filter_of_the_log_is_reloaded(configured):
    assert not logs_health(configured)
    assert configured.hang_up('log = "debug"').endswith(": log")
    until(lambda: logs_health(configured), "lines of debug")
    assert configured.hang_up('log = "info"').endswith(": log")
    assert not logs_health(configured)


def test_without_a_file_the_server_goes_on(fresh):
    os.kill(fresh.process.pid, signal.SIGHUP)
    until(lambda: "there is no configuration file" in fresh.output(), "the log says so")
    assert requests.get(fresh.url + "/healthz", timeout=HANG_S).status_code == 200
    assert fresh.process.poll() is None and fresh.stop() == 0


def test_the_end_of_a_terminal_session_ends_neither_of_both(tmp_path):
    """A terminal sends the signal to all processes of its group."""
    server = Configured(tmp_path, "--supervise").start()
    pid = server.serving()
    for process in (server.process.pid, pid):
        os.kill(process, signal.SIGHUP)
    until(lambda: len(server.said()) >= 1, "the server was told")
    assert requests.get(server.url + "/healthz", timeout=HANG_S).status_code == 200
    assert server.serving() == pid
    assert server.stop() == 0 and not Path(f"/proc/{pid}").exists()


def test_a_signal_while_there_is_no_server_is_not_lost(tmp_path):
    server = Configured(tmp_path, "--supervise").start()
    first = server.serving()
    os.kill(first, signal.SIGKILL)
    server.write('frame-ancestors = "https://late.example"')
    os.kill(server.process.pid, signal.SIGHUP)
    until(lambda: server.serving() not in (None, first), "another server")
    until(lambda: requests.get(server.url + "/healthz", timeout=HANG_S).status_code == 200, "it serves")
    # It has read the file at its start, or again because the parent still owed it the signal.
    assert server.ancestors() == "frame-ancestors https://late.example"
    assert server.stop() == 0
