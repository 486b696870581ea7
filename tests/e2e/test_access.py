"""Who gets in: signing in in a browser, wrong passwords, proxies, rights over what others see."""

import os
import shutil
import subprocess

import pytest
import requests
from conftest import PASSWORD, ROOT, Server
from link_rig import ring


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("access") / "data", "--trusted-proxy", "127.0.0.0/8").start()
    yield server
    server.stop()


def test_a_private_graph_opens_after_signing_in(rig):
    node = shutil.which("node")
    assert node, "Node.js is missing (scripts/test.sh installs it)"
    env = {
        **os.environ,
        "SIGN_IN_URL": rig.url,
        "SIGN_IN_GRAPH": ring(rig.api()),
        "SIGN_IN_PASSWORD": PASSWORD,
    }
    r = subprocess.run(
        [node, "tests/page/sign-in.mjs"], capture_output=True, text=True, timeout=120, cwd=ROOT / "shell/web", env=env
    )
    assert r.returncode == 0, f"{r.stdout[-4000:]}\n{r.stderr[-4000:]}"


def test_what_is_not_for_you_looks_like_what_is_not_there(rig):
    private, absent = ring(rig.api()), "0123456789abcdef0123456789abcdef"
    seen = []
    for dataset in [private, absent]:
        page = requests.get(f"{rig.url}/graph/graph.html", params={"dataset": dataset})
        assert page.history[0].status_code == 302
        kept = {k: v for k, v in page.headers.items() if k.lower() not in ("date", "x-request-id")}
        seen.append((page.status_code, kept, page.content))
    assert seen[0] == seen[1]
    assert seen[0][0] == 404


def test_the_owner_gets_in_while_others_guess(rig):
    def login(address, username, password):
        return requests.post(
            f"{rig.url}/api-token-auth/",
            json={"username": username, "password": password},
            headers={"X-Forwarded-For": f"{address}"},
        )

    for i in range(100):
        # More than two at once wait; these come one after another.
        assert login("198.51.100.1", f"nobody{i}", "x").status_code == 400
    assert login("198.51.100.1", "admin", PASSWORD).status_code == 200, "an address is slowed, not refused"
    for _ in range(10):
        assert login("198.51.100.2", "admin", "x").status_code == 400
    assert login("198.51.100.2", "admin", PASSWORD).status_code == 429
    assert login("198.51.100.2", "admin", PASSWORD).status_code == 429
    assert login("198.51.100.3", "admin", PASSWORD).status_code == 200, "the owner, from elsewhere"
    log = rig.output()
    assert log.count("login-throttled") == 1, "once for the window"
    assert "198.51.100.2" in log and "nobody7" not in log
