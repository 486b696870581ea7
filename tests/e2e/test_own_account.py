"""What a person who is signed in changes of the own account, and what a key that was revoked still opens."""

import time

import pytest
import requests
from conftest import PASSWORD, Server, run_cli
from live import Viewer
from websockets.exceptions import ConnectionClosed

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


def by_key(house, key):
    """The answer to a login with a personal key."""
    return requests.post(house.url + "/api/v2/auth/pkey/jwt/", headers={"Authorization": f"PersonalKey {key}"})


def sees_files(house, token):
    return requests.get(house.url + "/api/v2/files/", headers=bearer(token)).status_code


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
