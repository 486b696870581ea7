"""What an operator reads: the access log, the metrics, the reason of a refusal."""

import json
import re

import pytest
import requests
from conftest import PASSWORD, Api, Server, until


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def answered(server):
    """The lines of the access log, as JSON."""
    text = (server.data.parent / f"{server.data.name}.log").read_text(errors="replace")
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [line["fields"] for line in lines if line["fields"].get("message") == "answered"]


def line_of(server, request_id):
    """The line of a request; it is written once its answer has been sent."""
    found = until(lambda: [f for f in answered(server) if f["request_id"] == request_id], "the line of the request")
    assert len(found) == 1, found
    return found[0]


@pytest.fixture
def logged(tmp_path):
    server = Server(tmp_path / "data", "--log-format", "json", "--log", "debug", "--trusted-proxy", "127.0.0.1/32").start()
    yield server
    assert server.stop() == 0


def test_the_access_log_says_who_asked_from_where_and_what_was_sent(logged):
    token = logged.token()
    sent = requests.get(f"{logged.url}/api/v2/files/", headers={**bearer(token), "Accept-Encoding": "identity"})
    line = line_of(logged, sent.headers["x-request-id"])
    assert (line["account"], line["peer"], line["bytes"]) == ("admin", "127.0.0.1", len(sent.content)), line

    # Through a proxy of the operator's, the sender is the one that the proxy names.
    nobody = requests.get(f"{logged.url}/api/v2/files/", headers={"X-Forwarded-For": "10.9.8.7, 203.0.113.7"})
    line = line_of(logged, nobody.headers["x-request-id"])
    assert nobody.status_code == 401
    assert (line["account"], line["peer"], line["bytes"]) == ("(anonymous)", "203.0.113.7", len(nobody.content)), line

    # Compressed bytes are the ones that went over the wire.
    packed = requests.get(f"{logged.url}/openapi.json", headers={"Accept-Encoding": "gzip"}, stream=True)
    raw = packed.raw.read(decode_content=False)
    line = line_of(logged, packed.headers["x-request-id"])
    assert line["bytes"] == len(raw) < int(requests.get(
        f"{logged.url}/openapi.json", headers={"Accept-Encoding": "identity"}).headers["content-length"]), line

    looked = requests.head(f"{logged.url}/api/v2/files/", headers=bearer(token))
    line = line_of(logged, looked.headers["x-request-id"])
    assert (line["method"], line["account"], line["bytes"]) == ("HEAD", "admin", 0), line


def test_the_access_log_has_neither_tokens_nor_ids_of_datasets(logged):
    token = logged.token()
    api = Api(logged, token)
    dataset = api.dataset([api.file(b"s,d\na,b\n", "csv")["file_id"]])
    opened = requests.get(f"{logged.url}/graph/graph.html", params={"dataset": dataset}, cookies={"graphlume_jwt": token})
    line = line_of(logged, opened.headers["x-request-id"])
    assert line["account"] == "admin", line
    tool = requests.post(f"{logged.url}/mcp", headers=bearer(token), json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    line_of(logged, tool.headers["x-request-id"])
    text = json.dumps(answered(logged))
    assert dataset not in text and token not in text and PASSWORD not in text


def test_the_public_address_says_where_the_metrics_are(server):
    for path in ("/metrics", "/check-workers"):
        refused = requests.get(server.url + path)
        assert refused.status_code == 404 and "--internal-listen" in refused.json()["message"], refused.text
        assert str(server.internal) not in refused.json()["message"]


def test_a_refusal_says_why_in_its_status_line(server, alice):
    created = alice("POST", "/api/v2/upload/datasets/", json={"name": 7})
    with pytest.raises(requests.HTTPError) as said:
        created.raise_for_status()
    assert created.status_code == 400 and created.json()["message"][:40] in str(said.value), said.value

    # Whatever a client writes: one line of ASCII, and no header of the client's making.
    wild = "gr\u00f6\u00dfe\u2028\r\nX-Evil: 1\r\n\r\n" + "long " * 100
    refused = alice("POST", "/api/v2/files/", json={"file_type": wild})
    assert refused.status_code == 400 and "X-Evil" not in refused.headers, refused.headers
    assert refused.reason.isascii() and refused.reason.isprintable() and 10 < len(refused.reason) <= 120, refused.reason
    unknown = requests.get(f"{server.url}/api/v2/no/such/path")
    assert unknown.reason.startswith("there is nothing at /api/v2/no/such/path"), unknown.reason
    assert requests.get(f"{server.url}/api/v2/files/").status_code == 401
    assert alice("GET", "/api/v2/files/").reason == "OK"
