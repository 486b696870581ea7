"""A peer whose machine or network is gone says nothing, not even that it goes: its connection ends all the same."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("vanish.py")
# Sent and not acknowledged: 30 seconds. Silent: after the next ping of the stream, which comes within 30, as long again.
UNACKED_S, SILENT_S = 45, 90


def test_connections_of_peers_that_vanish_end(tmp_path):
    done = subprocess.run(["unshare", "--map-root-user", "--net", sys.executable, PROGRAM, tmp_path / "data"], capture_output=True, text=True)
    if "unshare" in done.stderr or "/dev/net/tun" in done.stderr:
        pytest.skip(f"a network of one's own needs privileges: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["gone"]["cut"] < UNACKED_S and said["gone"]["silent"] < SILENT_S, said
    assert said["left"] == {"http_connections": 1, "viewers": 0} and said["end"] == 0, said
