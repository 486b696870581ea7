"""What a person who is signed in changes of the own account, and what a key that was revoked still opens."""

import time

import pytest
import requests
from conftest import PASSWORD, Server, run_cli
from live import Viewer
from websockets.exceptions import ConnectionClosed

NEW = "another long one"
EDGES = b"s,d\n1,2\n2,3\n3,1\n"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("own") / "data").start()
    yield server
    server.stop()


@pytest.fixture
def person(house):
    """The name of a fresh account."""
    name = f"person{time.monotonic_ns()}"
    run_cli("user", "add", name, "--password-stdin", "--data", house.data, input=PASSWORD + "\n")
    return name


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def login(house, name, password):
    return requests.post(house.url + "/api-token-auth/", json={"username": name, "password": password})


def change(house, token, old, new):
    body = {"old_password": old, "new_password": new}
    return requests.post(house.url + "/api/v2/users/me/password/", json=body, headers=bearer(token))


def by_key(house, key):
    """The answer to a login with a personal key."""
    return requests.post(house.url + "/api/v2/auth/pkey/jwt/", headers={"Authorization": f"PersonalKey {key}"})


def sees_files(house, token):
    return requests.get(house.url + "/api/v2/files/", headers=bearer(token)).status_code


def test_a_new_password_ends_what_was_signed_in_with_the_old_one(house, person):
    token, elsewhere = house.token(person), house.token(person)
    for old, new, field in [("wrong" * 3, NEW, "old_password"), ("x" * 2000, NEW, "old_password"),
                            (PASSWORD, "1234567", "new_password"), (PASSWORD, "x" * 1025, "new_password"),
                            (PASSWORD, None, "new_password")]:
        r = change(house, token, old, new)
        assert (r.status_code, r.json()["field"]) == (400, field), r.text
    assert login(house, person, PASSWORD).status_code == 200, "nothing was changed"
    r = change(house, token, PASSWORD, NEW)
    assert r.status_code == 200, r.text
    assert (sees_files(house, token), sees_files(house, elsewhere)) == (401, 401)
    assert sees_files(house, r.json()["token"]) == 200, "whoever changed it goes on"
    assert login(house, person, PASSWORD).status_code == 400
    assert login(house, person, NEW).status_code == 200
    assert requests.post(house.url + "/api/v2/users/me/password/", json={}).status_code == 401


def test_a_stream_ends_when_its_password_is_replaced(house, person):
    api = house.api(person)
    dataset = api.dataset([api.file(EDGES, "csv")["file_id"]])
    viewer = Viewer(house, dataset, "of-" + person, headers=dict(api.session.headers))
    viewer.until(lambda: viewer.graph)
    assert change(house, house.token(person), PASSWORD, NEW).status_code == 200
    with pytest.raises(ConnectionClosed) as caught:
        viewer.until(lambda: False)
    assert caught.value.rcvd.code == 4401


def test_keys_are_made_listed_and_revoked_by_their_owner_alone(house, person):
    api = house.api(person)
    keys = "/api/v2/users/me/keys/"
    made = api("POST", keys, json={"label": "ci"})
    assert made.status_code == 201, made.text
    key = made.json()
    listed = api("GET", keys).json()
    assert listed["count"] == 1 and listed["results"][0]["label"] == "ci"
    assert "secret" not in listed["results"][0] and listed["results"][0]["revoked_at"] is None
    token = by_key(house, f"{key['key_id']}:{key['secret']}").json()["token"]
    again = requests.post(house.url + keys, headers=bearer(token))
    assert again.status_code == 403, "a key that leaked must not make others"
    admin = house.api()
    for address in (keys + key["key_id"] + "/", keys + "NOSUCHKEY0/"):
        assert admin("DELETE", address).status_code == 404, "somebody else's is as one that is not there"
    assert api("DELETE", f"{keys}{key['key_id']}/").status_code == 204
    assert api("GET", keys).json()["results"][0]["revoked_at"]
    assert by_key(house, f"{key['key_id']}:{key['secret']}").status_code == 401
    assert sees_files(house, token) == 401
    assert api("POST", keys, json={"label": "x" * 2000}).json()["field"] == "label"
    assert requests.get(house.url + keys).status_code == 401


def test_a_person_has_a_hundred_keys_at_most(house, person):
    api = house.api(person)
    keys = "/api/v2/users/me/keys/"
    made = [api("POST", keys).json()["key_id"] for _ in range(100)]
    full = api("POST", keys)
    assert full.status_code == 409 and "100" in full.json()["message"], full.text
    assert api("DELETE", f"{keys}{made[50]}/").status_code == 204
    assert api("POST", keys).status_code == 201
    left = [k["key_id"] for k in api("GET", keys).json()["results"]]
    assert len(left) == 100 and made[50] not in left, "the revoked one made room"


def test_what_a_key_signed_in_ends_with_the_key(house, person):
    spare, key = (run_cli("key", "create", person, "--data", house.data).stdout.strip() for _ in range(2))
    token, other = (by_key(house, k).json()["token"] for k in (key, spare))
    fresh = requests.post(house.url + "/api-token-refresh/", json={"token": token}).json()["token"]
    own = house.token(person)
    api = house.api(person)
    dataset = api.dataset([api.file(EDGES, "csv")["file_id"]])
    viewer = Viewer(house, dataset, "by-" + person, headers=bearer(token))
    viewer.until(lambda: viewer.graph)
    run_cli("key", "revoke", key.split(":")[0], "--data", house.data)
    for ended in (token, fresh):
        assert sees_files(house, ended) == 401
        for path in ("/api-token-verify/", "/api-token-refresh/"):
            assert requests.post(house.url + path, json={"token": ended}).status_code in (400, 401), path
    assert (sees_files(house, other), sees_files(house, own)) == (200, 200), "others go on"
    with pytest.raises(ConnectionClosed) as caught:
        viewer.until(lambda: False)
    assert caught.value.rcvd.code == 4401
