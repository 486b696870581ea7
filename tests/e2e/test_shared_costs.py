"""What one caller costs the others: processor time of the server, counted by the system and compared with itself, and
places in the list of sessions. No figure here is a time by the clock."""

import json
import os
import urllib.parse
from pathlib import Path

import pytest
import requests
from conftest import PASSWORD, Server, run_cli


@pytest.fixture
def rig(tmp_path):
    data = tmp_path / "data"
    for name in ("alice", "bob"):
        run_cli("user", "add", name, "--password-stdin", "--data", data, input=PASSWORD + "\n")
    server = Server(data).start()
    yield server
    assert server.stop() == 0, server.output()


def processor_s(server):
    """Seconds that the server's process has computed, all threads together."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost_s(server, action, times):
    before = processor_s(server)
    for _ in range(times):
        action()
    return processor_s(server) - before


def test_a_file_of_an_account_with_many_records_is_as_cheap_to_refuse_as_one_of_an_account_without(rig):
    alice, bob = rig.api("alice"), rig.api("bob")
    lonely, crowded = (api.file(b"a,b\n1,2\n", "csv")["file_id"] for api in (rig.api(), alice))
    # 120 records of 50 kB: to answer for a file, they were all parsed.
    body = {
        "name": "t", "metadata": {"a": [0] * 25_000}, "node_encodings": {"bindings": {}},
        "edge_encodings": {"bindings": {"source": "s", "destination": "d"}},
    }
    for _ in range(120):
        assert alice("POST", "/api/v2/upload/datasets/", json=body).status_code == 201

    def ask(file):
        assert bob("GET", f"/api/v2/files/{file}").status_code == 404

    ask(lonely), ask(crowded)
    few, many = cost_s(rig, lambda: ask(lonely), 60), cost_s(rig, lambda: ask(crowded), 60)
    assert many <= 4 * few + 0.2, f"{many:.2f} s of processor time for 60 answers instead of {few:.2f}"


def test_more_patterns_than_a_cache_holds_cost_in_proportion(rig):
    """Each pattern is compiled once a query, whatever other queries ask for."""
    api = rig.api()
    rows = "".join(f"n{i},n{i + 1},text number {i}\n" for i in range(4_000))
    dataset = api.dataset([api.file(("s,d,note\n" + rows).encode(), "csv")["file_id"]])

    def ask(patterns):
        # Alternatives that no search for a plain text answers.
        tests = [{"type": "Match", "pat": f"(?:text|word) [a-z]+ [0-9]*(?:{i}|x{i}|[0-9])"} for i in range(patterns)]
        r = api("POST", f"/api/v2/datasets/{dataset}/gfql", json={
            "gfql_query": [{"type": "Edge", "direction": "forward", "edge_match": {"note": {"type": "AllOf", "predicates": tests}}}],
            "format": "json"})
        assert r.status_code == 200, r.text

    ask(8)
    few, many = cost_s(rig, lambda: ask(8), 5), cost_s(rig, lambda: ask(32), 5)
    assert many <= 10 * few + 0.3, f"{many:.2f} s of processor time with 32 patterns, {few:.2f} with 8"


def test_visits_of_nobody_take_no_more_memory_than_their_limit_and_push_out_no_session_of_an_account(rig):
    page = rig.api("alice")("GET", "/graph/graph.html?dataset=Karate", allow_redirects=False).headers["Location"]
    session = urllib.parse.parse_qs(urllib.parse.urlsplit(page).query)["session"][0]
    mine = f"/api/experimental/viz/sessions/{session}/"
    alice = rig.api("alice")
    assert alice("GET", mine).status_code == 200
    nobody, before = requests.Session(), rig.rss_bytes()
    for i in range(4_150):
        tests = [{"type": "GT", "val": i + k} for k in range(140)]
        of_address = [{"type": "set", "expr": [{"type": "Node", "filter_dict": {"a": {"type": "AllOf", "predicates": tests}}}]}]
        collections = urllib.parse.quote(json.dumps(of_address, separators=(",", ":")), safe="[]{}:,")
        r = nobody.get(f"{rig.url}/graph/graph.html?dataset=Karate&collections={collections}", allow_redirects=False)
        assert r.status_code == 302, r.text
    taken = rig.rss_bytes() - before
    # Sessions of callers who have not signed in have 64 MiB together.
    assert taken < 200 << 20, f"{taken >> 20} MiB"
    assert alice("GET", mine).status_code == 200, "the session of an account is still there"
