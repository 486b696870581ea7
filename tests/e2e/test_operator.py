"""What an operator reads: the access log, the metrics, the reason of a refusal."""

import json
import re
from pathlib import Path

import pytest
import requests
from conftest import PASSWORD, Api, Server, run_cli, until


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


NUMBER = r"[0-9.e+-]+|NaN"


def scrape(server, accept=None):
    return requests.get(server.internal_url + "/metrics", headers={"Accept": accept} if accept else {})


def test_the_metrics_count_records_logins_and_the_process(fresh):
    def value(name):
        found = re.search(rf"^{re.escape(name)} ({NUMBER})$", scrape(fresh).text, re.MULTILINE)
        assert found, name
        return float(found.group(1))

    before = {name: value(f"graphlume_{name}") for name in ("datasets", "files", "accounts", "sessions")}
    assert before == {"datasets": 0, "files": 0, "accounts": 1, "sessions": 0}
    api = fresh.api()
    dataset = api.dataset([api.file(b"s,d\na,b\n", "csv")["file_id"]])
    requests.get(f"{fresh.url}/graph/graph.html", params={"dataset": dataset}, headers=bearer(fresh.token())).raise_for_status()
    run_cli("user", "add", "bob", "--password-stdin", "--data", fresh.data, input=PASSWORD + "\n")
    after = {name: value(f"graphlume_{name}") for name in before}
    assert after == {"datasets": 1, "files": 1, "accounts": 2, "sessions": 1}

    refused = "graphlume_login_refusals_total"
    for tries in range(12):
        login = {"username": "bob", "password": f"wrong {tries}"}
        assert requests.post(f"{fresh.url}/api-token-auth/", json=login).status_code in (400, 429)
    assert requests.get(f"{fresh.url}/magic-login/", params={"sst": "x"}).status_code in (400, 404, 410)
    key = {"Authorization": "PersonalKey none:none"}
    assert requests.post(f"{fresh.url}/api/v2/auth/pkey/jwt/", headers=key).status_code == 401
    by_reason = {reason: value(f'{refused}{{reason="{reason}"}}') for reason in ("password", "throttled", "link", "key")}
    assert by_reason == {"password": 10, "throttled": 2, "link": 1, "key": 1}

    stat = Path(f"/proc/{fresh.process.pid}/status").read_text()
    assert value("process_max_fds") >= value("process_open_fds") > 3
    assert value("process_threads") > 1 and value("process_cpu_seconds_total") > 0
    resident = int(re.search(r"VmRSS:\s+(\d+) kB", stat).group(1)) * 1024
    assert resident / 4 < value("process_resident_memory_bytes") < resident * 4
    # Uptime is the moment of the scrape less this; the folder was touched after the process began.
    assert -2 <= fresh.data.stat().st_mtime - value("process_start_time_seconds") < 3600


def test_a_scraper_gets_the_format_that_it_asks_for(server):
    plain, opened = scrape(server), scrape(server, "application/openmetrics-text;version=1.0.0,*/*;q=0.1")
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert opened.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert opened.text.endswith("# EOF\n") and "# EOF" not in plain.text
    for text in (plain.text, opened.text):
        assert re.search(r'^graphlume_build_info\{version="[^"]+",commit="[0-9a-f]+|unknown"\} 1$', text, re.MULTILINE)
        assert "figure=" not in text
    # The same samples in both, whatever the families are called.
    names = [{line.split("{")[0].split(" ")[0] for line in t.splitlines() if line[0] != "#"} for t in (plain.text, opened.text)]
    assert names[0] == names[1] and len(names[0]) > 60


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


@pytest.mark.parametrize("backend", ["cpu", "auto"])
def test_what_computes_is_said_once_the_server_listens(tmp_path, server, backend):
    """A start that fails ends its log with why, and says nothing of a device before."""
    taken = run_cli("serve", "--backend", backend, "--data", tmp_path / "a", "--listen", server.server,
                    "--internal-listen", "127.0.0.1:0", check=False)
    in_use = run_cli("serve", "--backend", backend, "--data", server.data, "--listen", "127.0.0.1:0",
                     "--internal-listen", "127.0.0.1:0", check=False)
    for r in (taken, in_use):
        assert r.returncode != 0 and "computing" not in r.stderr + r.stdout, r.stderr
    started = Server(tmp_path / "b", "--backend", backend).start()
    assert until(lambda: "computing" in started.output(), "the line about the device")
    assert started.stop() == 0


def test_pages_ask_only_sites_for_pictures_that_the_operator_names(tmp_path, server, alice):
    def sources(of):
        csp = requests.get(of.url + "/", headers={"Accept": "text/html"}).headers["content-security-policy"]
        return next(d for d in csp.split("; ") if d.startswith("img-src"))

    style = {"logo": {"url": "https://cdn.example/logo.png"}, "bg": {"image": {"url": "http://other.example/bg.png"}}}

    def said(api):
        edges = api.file(b"s,d\na,b\n", "csv")["file_id"]
        r = api("POST", "/api/v2/upload/datasets/", json={
            "name": "a", "metadata": style, "node_encodings": {"bindings": {}}, "node_files": [], "edge_files": [edges],
            "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}})
        assert r.status_code == 201, r.text
        data = r.json()["data"]
        # What pages load is the operator's to change, so it is not kept with the dataset; what was sent is.
        kept = api("GET", f"/api/v2/upload/datasets/{data['dataset_id']}").json()["data"]
        assert kept["notices"] == [] and kept["metadata"]["logo"] == style["logo"], kept
        return [n["text"] for n in data["notices"] if n["slug"] == "picture-blocked"]

    assert sources(server) == "img-src 'self' data: blob:"
    both = said(alice)
    assert len(both) == 2 and "https://cdn.example" in both[0] and "http://other.example" in both[1], both
    assert all("--picture-host" in text for text in both)

    named = Server(tmp_path / "data", "--picture-host", "cdn.example,*.pictures.example").start()
    assert sources(named) == "img-src 'self' data: blob: https://cdn.example https://*.pictures.example"
    assert said(named.api()) == both[1:]
    assert named.stop() == 0
    wrong = run_cli("serve", "--data", tmp_path / "no", "--picture-host", "x; script-src *", check=False)
    assert wrong.returncode != 0 and "images.example.org" in wrong.stderr, wrong.stderr


def test_plain_requests_are_sent_to_the_public_address_and_never_to_a_foreign_name(tmp_path):
    server = Server(tmp_path / "data", "--https-only", "--public-url", "https://viz.example", "--trusted-proxy", "127.0.0.1").start()
    for path in ("/login", "/graph/graph.html?dataset=Karate"):
        for host in ("evil.example", "evil.example:1", "viz.example"):
            r = requests.get(server.url + path, headers={"Host": host, "X-Forwarded-Proto": "http"}, allow_redirects=False)
            assert r.status_code == 308 and r.headers["Location"] == f"https://viz.example{path}", (host, r.headers)
    foreign = requests.get(server.url + "/login", headers={"Host": "evil.example", "X-Forwarded-Proto": "https"}, allow_redirects=False)
    assert foreign.status_code == 403 and "--public-url" in foreign.text, foreign.text
    assert server.stop() == 0


def test_the_start_says_when_the_header_host_is_not_checked(tmp_path):
    """On addresses of other machines; on this machine's own it is checked, and nothing is said."""
    for listen, is_said in (("127.0.0.1", False), ("0.0.0.0", True)):
        server = Server(tmp_path / listen)
        server.server = f"{listen}:{server.port}"
        server.start()
        assert server.stop() == 0
        assert ("set --public-url" in server.output()) == is_said, server.output()


def test_a_proxy_that_is_not_believed_is_named_once(tmp_path):
    server = Server(tmp_path / "data").start()
    for i in range(3):
        requests.get(server.url + "/healthz", headers={"X-Forwarded-For": f"198.51.100.{i}"})
    assert server.stop() == 0
    assert server.output().count("set --trusted-proxy") == 1, server.output()
