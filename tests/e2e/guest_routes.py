"""What every route answers a guest whom a login link has let in, for `test_every_route_for_a_guest`; a new route needs a row."""

import re

import requests
from agent import OpenPage
from conftest import HANG_S, unique
from link_rig import EDGES
from live import bits

# Every route of the public address that asks for somebody: the answer to a guest about the dataset of the link,
# and about another one.
OWN_PAGE, OTHER_PAGE = (200,), (404,)
SCOPE = {
    "GET /api/v2/auth/pkey/jwt/": ((401,), (401,)),
    "POST /api/v2/auth/pkey/jwt/": ((401,), (401,)),
    "POST /api/v2/o/{slug}/switch/": ((404,), (404,)),
    "GET /api/v2/generate/single-use-url/": ((403,), (403,)),
    "GET /api/v2/logout-user/{username}/": ((403,), (403,)),
    "GET /api/v2/logout-user/username/{username}/": ((403,), (403,)),
    "POST /api/v2/users/me/password/": ((403,), (403,)),
    "GET /api/v2/users/me/keys/": ((403,), (403,)),
    "POST /api/v2/users/me/keys/": ((403,), (403,)),
    "DELETE /api/v2/users/me/keys/{key_id}/": ((403,), (403,)),
    "GET /api/v2/files/": ((200,), (200,)),
    "POST /api/v2/files/": ((403,), (403,)),
    "GET /api/v2/files/{file_id}": ((404,), (404,)),
    "DELETE /api/v2/files/{file_id}": ((404,), (404,)),
    "POST /api/v2/upload/files/{file_id}": ((404,), (404,)),
    "PATCH /api/v2/upload/files/{file_id}/": ((404,), (404,)),
    "GET /api/v2/datasets/": ((200,), (200,)),
    "GET /api/v2/datasets/{dataset_id}": ((200,), (404,)),
    "DELETE /api/v2/datasets/{dataset_id}": ((403,), (404,)),
    "GET /api/v2/datasets/{dataset_id}/jobs": ((200,), (404,)),
    "DELETE /api/v2/datasets/{dataset_id}/jobs/{job_id}": ((403,), (404,)),
    "POST /api/v2/upload/datasets/": ((403,), (403,)),
    "GET /api/v2/upload/datasets/{dataset_id}": ((200,), (404,)),
    "POST /api/v2/upload/datasets/{dataset_id}/nodes/{format}": ((403,), (404,)),
    "POST /api/v2/upload/datasets/{dataset_id}/edges/{format}": ((403,), (404,)),
    "POST /api/v2/etl/datasets/{dataset_id}/gfql/{output_type}": ((200,), (404,)),
    "POST /api/v2/etl/datasets/{dataset_id}/gfql": ((200,), (404,)),
    "POST /api/v2/datasets/{dataset_id}/gfql/{output_type}": ((200,), (404,)),
    "POST /api/v2/datasets/{dataset_id}/gfql": ((200,), (404,)),
    "POST /api/v2/datasets/{dataset_id}/python": ((403,), (403,)),
    "POST /api/v1/datasets/": ((403,), (403,)),
    "POST /api/v2/share/link/": ((403,), (404,)),
    "GET /api/v2/share/link/": ((403,), (404,)),
    "GET /api/experimental/viz/sessions/": ((200,), (200,)),
    "GET /api/experimental/viz/sessions/{session_id}/": ((200,), (404,)),
    "GET /viz/{session_id}/ws": ((426,), (426,)),
    "GET /viz/{session_id}/about": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/graph": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/scene/{index}": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/node/{index}": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/names": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/edge/{index}": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/search": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/frame": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/{epoch}/edges.bin": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/{epoch}/positions.bin": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/{epoch}/groups.bin": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/{epoch}/depth.bin": ((404,), (404,)),  # This graph has no z; see test_space.py.
    "GET /viz/{session_id}/picture.png": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/picture.svg": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/picture.pdf": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/columns": (OWN_PAGE, OTHER_PAGE),
    "GET /viz/{session_id}/bins": (OWN_PAGE, OTHER_PAGE),
    "POST /viz/{session_id}/find": (OWN_PAGE, OTHER_PAGE),
    "POST /viz/{session_id}/do": (OWN_PAGE, OTHER_PAGE),
    "POST /viz/{session_id}/export": (OWN_PAGE, OTHER_PAGE),
    "POST /viz/{session_id}/dataset": ((403,), (404,)),
    "POST /mcp": ((400,), (400,)),
    "GET /mcp": ((400,), (400,)),
    "DELETE /mcp": ((400,), (400,)),
    "POST /mcp/x/{toolset}": ((400,), (400,)),
    "GET /mcp/x/{toolset}": ((400,), (400,)),
    "DELETE /mcp/x/{toolset}": ((400,), (400,)),
    "GET /graph/graph.html": (OWN_PAGE, OTHER_PAGE),
}
BODIES = {
    "POST /api/v2/files/": {"file_type": "csv"},
    "POST /api/v2/upload/datasets/": {"name": "x", "metadata": {}, "node_encodings": {"bindings": {}},
                                      "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}},
    "POST /api/v1/datasets/": {"name": "x", "metadata": {}, "node_encodings": {"bindings": {}}, "compute": {},
                               "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}},
    "POST /api/v2/etl/datasets/{dataset_id}/gfql/{output_type}": {"gfql_query": [{"type": "Node"}]},
    "POST /api/v2/etl/datasets/{dataset_id}/gfql": {"gfql_query": [{"type": "Node"}]},
    "POST /api/v2/datasets/{dataset_id}/gfql/{output_type}": {"gfql_query": [{"type": "Node"}]},
    "POST /api/v2/datasets/{dataset_id}/gfql": {"gfql_query": [{"type": "Node"}]},
    "POST /api/v2/datasets/{dataset_id}/python": {"execute": "1"},
    "POST /viz/{session_id}/find": {"text": "degree > 1"},
    "POST /viz/{session_id}/do": {"label": "x", "changes": []},
    "POST /viz/{session_id}/export": {"nodes": bits([1], 60)},
    "POST /viz/{session_id}/dataset": {"nodes": bits([1], 60), "name": "x"},
}


class Place:
    """A dataset with a session that somebody has open, as addresses name it."""

    def __init__(self, server, api, dataset):
        self.dataset, self.session = dataset, unique("s")
        token = api.session.headers["Authorization"].removeprefix("Bearer ")
        self.page = OpenPage(server, dataset, self.session, token)
        self.file = api.file(EDGES, "csv")["file_id"]

    def request(self, server, row, **kwargs):
        method, path = row.split(" ")
        values = {"slug": "alice", "username": "alice", "file_id": self.file, "dataset_id": self.dataset,
                  "key_id": "ABCDEFGHIJ", "format": "csv", "output_type": "all", "session_id": self.session, "index": "1", "job_id": "1", "toolset": "all",
                  "epoch": str(self.page.viewer.graph["epoch"])}
        path = re.sub(r"{(\w+)}", lambda m: values[m.group(1)], path)
        query = {"username": "x", "dataset_id": self.dataset} if "single-use-url" in path else {}
        if path == "/graph/graph.html":
            query = {"dataset": self.dataset, "session": self.session}
        if path.startswith("/viz/"):
            query = {"dataset": self.dataset}
        if path.endswith("/bins"):
            query["columns"] = "node:degree"
        if path.endswith("/export"):
            query.update(table="nodes", format="csv")
        if row == "GET /api/v2/share/link/":
            query = {"obj_pk": self.dataset}
        if row == "POST /api/v2/share/link/":
            kwargs["json"] = {"obj_pk": self.dataset, "obj_type": "dataset", "mode": "public"}
        elif row in BODIES:
            kwargs["json"] = BODIES[row]
        elif method in ("POST", "PATCH"):
            kwargs["data"] = b"{}" if not path.startswith("/mcp") else b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'
        return requests.request(method, server.url + path, params=query, timeout=HANG_S, **kwargs)
