"""The unchanged JavaScript and React clients, in a page of another origin that shows ours in a frame."""

import subprocess

from conftest import HANG_S, PASSWORD, WEB, node_script, page_env
from test_page import generated


def run(script, **env):
    node, path = node_script(script)
    r = subprocess.run([node, "--test", f"--test-timeout={1000 * HANG_S}", "--test-reporter=spec", path],
                       capture_output=True, text=True, timeout=3 * HANG_S, cwd=WEB, env=page_env(**env))
    print(r.stdout)
    assert r.returncode == 0, f"{r.stdout[-8000:]}\n{r.stderr[-4000:]}"


def test_the_clients_embed_the_page_and_use_it(server, alice, tmp_path):
    graph = generated(alice, tmp_path, "sbm", "--nodes", 400, "--edges", 900, "--communities", 8, "--mixing", 10)
    run("embed.test.mjs", EMBED_URL=server.url, EMBED_DATASET=graph)


def test_the_clients_own_examples_run(server, alice):
    """A graph with the columns that the examples name."""
    nodes = "".join(f"n{i},{'ab'[i % 2]},{i % 7},{1000 * i},{i % 5}\n" for i in range(60))
    edges = "".join(f"n{i},n{(i * 7 + 1) % 60},{i % 3},{'ab'[i % 2]},{1000 * i},{i}\n" for i in range(60))
    header = "id,some_attr,community_infomap,prebaked_colors_col,tag_wearamask\n"
    node_file = alice.file((header + nodes).encode(), "csv")
    edge_file = alice.file(("s,d,value,some_attr,prebaked_colors_col,_title\n" + edges).encode(), "csv")
    graph = alice.dataset([edge_file["file_id"]], [node_file["file_id"]], nodes={"node": "id"},
                          edges={"source": "s", "destination": "d"})
    run("examples.test.mjs", EMBED_URL=server.url, EMBED_DATASET=graph, EMBED_USER="alice", EMBED_PASSWORD=PASSWORD)
