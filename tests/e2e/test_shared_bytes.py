"""What one account gets to see, and to weigh, of what others hold: versions of files, records, lists, sign-outs."""

import json
import threading

import pytest
import requests
from conftest import HANG_S, PASSWORD, Server, run_cli, until
from live import Viewer
from websockets.exceptions import ConnectionClosed

OLD, NEW = b"s,d\nold1,old2\n", b"s,d,salary\nsecret1,secret2,99\n"
ALL = [{"type": "Node"}, {"type": "Edge", "direction": "forward"}, {"type": "Node"}]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("shared") / "data", "--account-bytes", "2MiB", "--memory", "512MiB")
    for name in ("alice", "bob", "carol"):
        run_cli("user", "add", name, "--password-stdin", "--data", server.data, input=PASSWORD + "\n")
    server.start()
    yield server
    server.stop()


def share(api, dataset, mode, invited=()):
    body = {"obj_pk": dataset, "obj_type": "dataset", "mode": mode, "mode_action": "10", "invited_users": list(invited)}
    assert api("POST", "/api/v2/share/link/", json=body).status_code == 200


def edges(api, dataset):
    r = api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/edges", json={"gfql_query": ALL, "format": "json"})
    assert r.status_code == 200, r.text
    return r.json()


def test_a_file_that_is_cited_through_a_dataset_shows_what_that_dataset_shows(house):
    alice, bob = house.api("alice"), house.api("bob")
    file = alice.file(OLD, "csv")["file_id"]
    dataset = alice.dataset([file])
    share(alice, dataset, "public")
    r = alice("POST", f"/api/v2/upload/files/{file}?erase=true", data=NEW)
    assert r.json()["is_valid"]
    assert edges(bob, bob.dataset([file])) == [{"s": "old1", "d": "old2"}]
    assert edges(alice, alice.dataset([file]))[0]["salary"] == 99, "its author cites it as it is"
    bob.dataset([[file, 1]], expect=404)
    options = {"parser_options": {"names": ["s", "d", "other"], "skiprows": 0}}
    assert alice("PATCH", f"/api/v2/upload/files/{file}/", json=options).json()["is_valid"]
    assert edges(bob, bob.dataset([file])) == [{"s": "old1", "d": "old2"}]
    held = alice.dataset([file])
    share(alice, held, "private")
    bob.dataset([file], expect=404)
    assert alice("DELETE", f"/api/v2/datasets/{held}").status_code == 204
    bob.dataset([file])
    share(alice, dataset, "private")
    bob.dataset([file], expect=404)


def test_records_count_as_bytes_of_the_account_and_free_members_have_one_limit(house):
    carol = house.api("carol")
    body = {"name": "t", "metadata": {"a": "x" * 60_000}, "node_encodings": {"bindings": {}},
            "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}}
    over = carol("POST", "/api/v2/upload/datasets/", json={**body, "more": {"b": "x" * 6_000}})
    assert over.status_code == 400 and over.json()["field"] == "metadata", over.text
    assert "65536" in over.json()["message"]
    made = []
    while (r := carol("POST", "/api/v2/upload/datasets/", json=body)).status_code == 201:
        made.append(r.json()["data"]["dataset_id"])
        assert len(made) < 40
    assert r.json()["slug"] == "quota-exceeded" and "--account-bytes" in r.json()["message"], r.text
    assert len(made) == (2 << 20) // 62_000
    file = carol("POST", "/api/v2/files/", json={"file_type": "csv"}).json()["file_id"]
    named = carol("PATCH", f"/api/v2/upload/files/{file}/", json={"description": "x" * 60_000})
    assert named.json()["slug"] == "quota-exceeded", "a change of a record is weighed, too"
    page = carol("GET", "/api/v2/datasets/?limit=1000").json()
    assert page["count"] == len(made) == len(page["results"])
    assert page["results"][0] == carol("GET", f"/api/v2/datasets/{made[-1]}").json()["data"]
    house.stop()
    house.start()
    full = house.api("carol")("POST", "/api/v2/upload/datasets/", json=body)
    assert full.json()["slug"] == "quota-exceeded", "what is held is known after a start"
    for dataset in made:
        assert house.api("carol")("DELETE", f"/api/v2/datasets/{dataset}").status_code == 204
    assert house.api("carol")("POST", "/api/v2/upload/datasets/", json=body).status_code == 201


def test_many_lists_at_once_take_turns(house):
    bob = house.api("bob")
    body = {"name": "t", "metadata": {"a": [0] * 30_000}, "node_encodings": {"bindings": {}},
            "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}}
    for _ in range(20):
        assert bob("POST", "/api/v2/upload/datasets/", json=body).status_code == 201
    got, headers = [], dict(bob.session.headers)

    def one():
        r = requests.get(house.url + "/api/v2/datasets/?limit=1000", headers=headers, timeout=HANG_S)
        got.append((r.status_code, len(r.json()["results"])))

    threads = [threading.Thread(target=one) for _ in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(got) == 16 and {status for status, _ in got} == {200}
    until(lambda: house.metric("memory_bytes") is None or house.metric("memory_bytes") < 64 << 20, "what is sent is free")


def test_signing_out_ends_the_token_and_the_open_stream(house):
    alice = house.api("alice")
    dataset = alice.dataset([alice.file(OLD, "csv")["file_id"]])
    share(alice, dataset, "private")
    browser = requests.Session()
    r = browser.post(house.url + "/login", data={"username": "alice", "password": PASSWORD}, allow_redirects=False)
    assert r.status_code == 303
    token = browser.cookies["graphlume_jwt"]
    cookies = "; ".join(f"{c.name}={c.value}" for c in browser.cookies)
    viewer = Viewer(house, dataset, "signed-in", headers={"Cookie": cookies, "Origin": house.url})
    viewer.until(lambda: viewer.graph)
    assert browser.post(house.url + "/logout", allow_redirects=False).status_code == 303
    with pytest.raises(ConnectionClosed) as caught:
        viewer.until(lambda: False)
    assert caught.value.rcvd.code == 4401
    bearer = {"Authorization": f"Bearer {token}"}
    assert requests.get(house.url + "/api/v2/files/", headers=bearer).status_code == 401
    refresh = requests.post(house.url + "/api-token-refresh/", json={"token": token})
    assert refresh.status_code in (400, 401)
    assert alice("GET", "/api/v2/files/").status_code == 200, "other sign-ins go on"


def test_an_account_joins_an_organization_later(house):
    run_cli("user", "set", "carol", "--org", "acme2", "--data", house.data)
    assert "acme2" in run_cli("user", "list", "--data", house.data).stdout
    carol, admin = house.api("carol"), house.api()
    dataset = carol.dataset([carol.file(OLD, "csv", org_name="acme2")["file_id"]], org_name="acme2")
    share(carol, dataset, "organization")
    listed = [d["dataset_id"] for d in admin("GET", "/api/v2/datasets/?limit=1000").json()["results"]]
    assert dataset in listed, "a superuser's list holds what lies in organizations"


def test_a_result_that_is_not_kept_leaves_nothing_behind(house):
    alice = house.api("alice")
    rows = b"s,d,t,k\n" + b"".join(b"n%d,n%d,%s,%d\n" % (i, i + 1, b"x" * 40, i % 20) for i in range(6_000))
    dataset = alice.dataset([alice.file(rows, "csv")["file_id"]])

    def held():
        return [alice("GET", f"/api/v2/{kind}/?limit=1").json()["count"] for kind in ("files", "datasets")]

    before = held()
    for k in range(20):
        # Each result is another one: the same bytes would weigh once.
        chain = [ALL[0], {**ALL[1], "edge_query": f"k != {k}"}, ALL[2]]
        query = {"gfql_query": chain, "format": "json", "persist": True}
        r = alice("POST", f"/api/v2/etl/datasets/{dataset}/gfql/all", json=query)
        if r.status_code != 200:
            break
        made = r.json()["dataset_id"]
        before = held()
    assert json.loads(r.text)["slug"] == "quota-exceeded", r.text
    assert held() == before
    assert alice("GET", f"/api/v2/datasets/{made}").status_code == 200
