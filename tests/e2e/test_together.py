"""Two browsers and an agent on one session: `shell/web/tests/together.test.mjs`."""

import os
import random
import subprocess

import pytest

from conftest import HANG_S, WEB, node_script

# `scripts/long.sh page` makes more rounds.
IS_LONG = bool(os.environ.get("GRAPHLUME_LONG"))
SEEDS = range(1, 5) if IS_LONG else [1]
ROUNDS = 40 if IS_LONG else 6


@pytest.mark.parametrize("seed", SEEDS)
def test_two_browsers_and_an_agent_see_the_same(server, alice, accounts, seed):
    draw = random.Random(seed)
    nodes = "".join(f"n{i},{i % 40}\n" for i in range(200))
    edges = "".join(f"n{draw.randrange(200)},n{draw.randrange(200)}\n" for _ in range(600))
    graph = alice.dataset([alice.file(f"s,d\n{edges}".encode(), "csv")["file_id"]],
                          [alice.file(f"id,x\n{nodes}".encode(), "csv")["file_id"]], nodes={"node": "id"})
    # Each page in a browser of its own, not in that of the other tests.
    env = {**os.environ, "TOGETHER_URL": server.url, "TOGETHER_GRAPH": graph, "TOGETHER_SEED": str(seed), "TOGETHER_ROUNDS": str(ROUNDS),
           "TOGETHER_TOKEN": server.token("alice"), "TOGETHER_KEY": ":".join(accounts["key"])}
    node, script = node_script("together.test.mjs")
    r = subprocess.run([node, "--test", f"--test-timeout={2000 * HANG_S}", "--test-reporter=spec", script],
                       capture_output=True, text=True, timeout=3 * HANG_S, cwd=WEB, env=env)
    print(r.stdout)
    assert r.returncode == 0, f"{r.stdout[-8000:]}\n{r.stderr[-4000:]}"
