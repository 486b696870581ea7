"""Who gets in: signing in in a browser, wrong passwords, proxies, rights over what others see."""

import json
import subprocess

import pytest
import requests
from conftest import HANG_S, PASSWORD, WEB, Server, node_script, page_env, run_cli, until
from link_rig import EDGES, ring
from live import stream
from websockets.exceptions import ConnectionClosed


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("access") / "data", "--trusted-proxy", "127.0.0.0/8").start()
    yield server
    server.stop()


def test_a_private_graph_opens_after_signing_in(rig):
    env = {
        "SIGN_IN_URL": rig.url,
        "SIGN_IN_GRAPH": ring(rig.api()),
        "SIGN_IN_PASSWORD": PASSWORD,
    }
    r = subprocess.run(node_script("page/sign-in.mjs"), capture_output=True, text=True, timeout=3 * HANG_S, cwd=WEB,
                       env=page_env(**env))
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


def test_who_comes_later_watches(rig):
    def open_page(query):
        ws = stream(f"{rig.url.replace('http', 'ws')}/viz/shared/ws?dataset=Karate{query}")
        return ws, next(m for m in messages(ws) if m.get("t") == "hello")

    def messages(ws):
        while True:
            message = ws.recv(timeout=HANG_S)
            yield json.loads(message) if isinstance(message, str) else {}

    first, hello = open_page("")
    assert hello["steers"] and hello["key"] and hello["user"] == ""
    later, told = open_page("")
    assert not told["steers"] and told["key"] is None
    for message in ({"t": "play", "on": True}, {"t": "pin", "index": 0, "x": 1, "y": 1}, {"t": "settings", "gravity": 7},
                    {"t": "layout", "name": "circle"}):
        later.send(json.dumps(message))
        refused = next(m for m in messages(later) if m.get("t") == "error")
        assert refused["slug"] == "not-yours" and "without session=" in refused["message"]
    first.send(json.dumps({"t": "settings", "gravity": 3.5}))
    next(m for m in messages(later) if m.get("t") == "state" and m.get("settings", {}).get("gravity", 3.5) == 3.5)
    again, back = open_page(f"&steer={hello['key']}")
    assert back["steers"], "the page that is loaded again goes on steering"
    for ws in (first, later, again):
        ws.close()


def test_a_steering_key_ends_when_the_session_gets_an_owner(fresh):
    dataset = ring(fresh.api(), private=False)

    def hello(query="", **headers):
        with stream(f"{fresh.url.replace('http', 'ws')}/viz/demo/ws?dataset={dataset}{query}", additional_headers=headers) as ws:
            while True:
                message = ws.recv(timeout=HANG_S)
                if isinstance(message, str) and json.loads(message).get("t") == "hello":
                    return json.loads(message)

    first = hello()
    assert first["steers"] and first["key"]
    assert fresh.stop() == 0
    fresh.start()
    assert hello(Authorization=f"Bearer {fresh.token()}")["steers"], "the author of the dataset owns the session now"
    later = hello(f"&steer={first['key']}")
    assert not later["steers"] and later["key"] is None


def test_a_personal_key_revokes_itself_alone(fresh):
    api = fresh.api()
    one, two = (api("POST", "/api/v2/users/me/keys/", json={}).json() for _ in range(2))
    one, two = (key.get("data", key) for key in (one, two))
    made = {"Authorization": f"PersonalKey {one['key_id']}:{one['secret']}"}
    token = requests.post(f"{fresh.url}/api/v2/auth/pkey/jwt/", headers=made)
    assert token.status_code == 200, token.text
    by_key = {"Authorization": f"Bearer {token.json()['token']}"}
    other = requests.delete(f"{fresh.url}/api/v2/users/me/keys/{two['key_id']}/", headers=by_key)
    assert other.status_code == 403 and "itself" in other.text, other.text
    assert requests.delete(f"{fresh.url}/api/v2/users/me/keys/{one['key_id']}/", headers=by_key).status_code < 300
    assert requests.post(f"{fresh.url}/api/v2/auth/pkey/jwt/", headers=made).status_code == 401
    in_force = [k["key_id"] for k in api("GET", "/api/v2/users/me/keys/").json()["results"] if k["revoked_at"] is None]
    assert in_force == [two["key_id"]]


def test_the_name_of_a_session_alone_opens_nothing_to_strangers(rig):
    from live import Viewer

    dataset, name = ring(rig.api(), private=False), "demo1"
    page = rig.api()("GET", f"/graph/graph.html?dataset={dataset}&workbook={name}", allow_redirects=False)
    assert page.headers["Location"].endswith(f"&session={name}")
    viewer = Viewer(rig, dataset, name)
    viewer.until(lambda: viewer.graph and viewer.frames)
    epoch, absent = viewer.graph["epoch"], "demo2"
    paths = ["viz/NAME/search?q=n", "viz/NAME/node/0", "viz/NAME/edge/0", "viz/NAME/frame?after=0",
             "viz/NAME/about", "viz/NAME/graph", "viz/NAME/scene/0",
             f"viz/NAME/{epoch}/edges.bin", f"viz/NAME/{epoch}/positions.bin", "graph/graph.html?session=NAME"]

    def told(path, name):
        r = requests.get(f"{rig.url}/{path.replace('NAME', name)}")
        return r.status_code, r.text.replace(name, "NAME").replace(r.headers["X-Request-Id"], "ID")

    for path in paths:
        assert told(path, name) == told(path, absent), path
        assert told(path, name)[0] == 404, path
        address = f"{rig.url}/{path.replace('NAME', name)}{'&' if '?' in path else '?'}dataset={dataset}"
        assert requests.get(address).status_code in (200, 204), "whoever has the whole address looks"
    ends = []
    for tried in (name, absent):
        stranger = Viewer(rig, "", tried)
        with pytest.raises(ConnectionClosed) as end:
            stranger.until(lambda: False)
        ends.append((end.value.rcvd.code, json.dumps(stranger.messages).replace(tried, "NAME")))
    assert ends[0] == ends[1] and ends[0][0] == 4404
    viewer.close()


def test_what_waits_behind_the_splash_is_told_to_whoever_may_see_it_and_loads_nothing(rig):
    api = rig.api()
    private, absent = ring(api), "0123456789abcdef0123456789abcdef"
    until(lambda: api("GET", f"/api/v2/upload/datasets/{private}").json()["data"]["node_count"], "the graph was built")

    def about(ask, dataset, session="f" * 32):
        return ask(f"{rig.url}/viz/{session}/about", params={"dataset": dataset})

    live = rig.metric("engine_sessions")
    mine = about(api.session.get, private)
    assert mine.status_code == 200, mine.text
    assert mine.json() == {"name": "test", "description": "", "node_count": 60, "edge_count": 60}
    assert rig.metric("engine_sessions") == live, "no session was opened for it"
    strangers = [about(requests.get, dataset) for dataset in (private, absent)]
    assert [r.status_code for r in strangers] == [404, 404]
    assert strangers[0].json()["message"].replace(private, "ID") == strangers[1].json()["message"].replace(absent, "ID")
    karate = about(requests.get, "Karate").json()
    assert (karate["name"], karate["edge_count"]) == ("Karate club", 78)


def test_the_log_shows_no_address_that_opens_a_graph(rig):
    api = rig.api()
    dataset = ring(api, private=False)
    assert api("GET", f"/api/v2/datasets/{dataset}").status_code == 200
    assert api("POST", f"/api/v2/datasets/{dataset}/gfql", json={"gfql_query": [{"type": "Node"}]}).status_code == 200
    page = requests.get(f"{rig.url}/graph/graph.html?dataset={dataset}", headers=dict(api.session.headers))
    session = page.url.split("session=")[1]
    assert api("GET", f"/api/experimental/viz/sessions/{session}/").status_code == 200
    file = api.file(EDGES, "csv")["file_id"]
    assert api("GET", f"/api/v2/files/{file}").status_code == 200
    log = rig.output()
    assert dataset not in log and session not in log
    assert "/api/v2/datasets/{dataset_id}" in log and f"/api/v2/files/{file}" in log


def test_a_private_dataset_of_an_organization_is_in_no_list_of_others(tmp_path):
    server = Server(tmp_path / "data")
    for name in ("alice", "bob"):
        run_cli("user", "add", name, "--password-stdin", "--org", "acme", "--data", server.data, input=PASSWORD + "\n")
    server.start()
    alice, bob = server.api("alice"), server.api("bob")
    file = alice.file(EDGES, "csv", org_name="acme")["file_id"]
    dataset = alice.dataset([file], org_name="acme")

    def seen(path):
        return bob("GET", path).json()["count"]

    assert (seen("/api/v2/datasets/"), seen("/api/v2/files/")) == (1, 1)
    assert bob("GET", "/api/v2/datasets/").json()["results"][0]["metadata"]["apiversion"] == "3"
    alice("POST", "/api/v2/share/link/", json={"obj_pk": dataset, "obj_type": "dataset", "mode": "private"})
    assert (seen("/api/v2/datasets/"), seen("/api/v2/files/")) == (0, 0)
    assert bob("GET", f"/api/v2/files/{file}").status_code == 404
    assert bob.dataset([file], expect=404)["success"] is False
    server.stop()
