"""The examples of the unchanged JavaScript and React clients. A file of its own, so that it runs beside test_embed.py."""

from conftest import PASSWORD
from test_embed import run


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
