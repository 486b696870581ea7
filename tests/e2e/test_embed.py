"""The unchanged JavaScript and React clients, in a page of another origin that shows ours in a frame."""

import subprocess

from conftest import HANG_S, PASSWORD, WEB, node_script, page_env
from test_page import generated


def run(script, hang_s=HANG_S, **env):
    """Runs a file of tests, each of which takes less than `hang_s`."""
    node, path = node_script(script)
    r = subprocess.run([node, "--test", f"--test-timeout={1000 * hang_s}", "--test-reporter=spec", path],
                       capture_output=True, text=True, timeout=3 * hang_s, cwd=WEB, env=page_env(**env))
    print(r.stdout)
    assert r.returncode == 0, f"{r.stdout[-8000:]}\n{r.stderr[-4000:]}"


def test_the_clients_embed_the_page_and_use_it(server, alice, tmp_path):
    graph = generated(alice, tmp_path, "sbm", "--nodes", 400, "--edges", 900, "--communities", 8, "--mixing", 10)
    run("embed.test.mjs", EMBED_URL=server.url, EMBED_DATASET=graph)


def test_every_call_and_setting_of_the_client_has_an_effect_or_is_an_error(server, alice):
    run("embed-calls.test.mjs", hang_s=5 * HANG_S, EMBED_URL=server.url, EMBED_USER="alice", EMBED_PASSWORD=PASSWORD)
