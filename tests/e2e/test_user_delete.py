"""Deleting an account: what must be said beforehand, and what is gone afterwards."""

import pytest
import requests
from conftest import PASSWORD, Server, run_cli, unique
from live import Viewer
from websockets.exceptions import ConnectionClosed

EDGES = b"s,d\n1,2\n2,3\n3,1\n"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("delete") / "data").start()
    yield server
    server.stop()


def add(house, *names):
    for name in names:
        run_cli("user", "add", name, "--password-stdin", "--data", house.data, input=PASSWORD + "\n")


def delete(house, name, *args, check=True):
    return run_cli("user", "delete", name, *args, "--data", house.data, check=check)


def login(house, name):
    return requests.post(house.url + "/api-token-auth/", json={"username": name, "password": PASSWORD})


def owned(house, name):
    """A file and a dataset of an account."""
    api = house.api(name)
    file = api.file(EDGES, "csv")["file_id"]
    return api, file, api.dataset([file])


def test_an_account_with_data_is_deleted_only_when_it_is_said_what_becomes_of_them(house):
    name = unique("rich")
    add(house, name)
    api, file, dataset = owned(house, name)
    r = delete(house, name, check=False)
    assert r.returncode == 1 and "1 datasets and 1 files" in r.stderr, r
    assert "--give-to" in r.stderr and "--with-data" in r.stderr
    for args in (["--give-to", name], ["--give-to", "nobody"], ["--give-to", "admin", "--with-data"]):
        r = delete(house, name, *args, check=False)
        assert r.returncode != 0 and r.stderr, args
    assert api("GET", "/api/v2/files/").json()["count"] == 1, "nothing was changed"


def test_an_account_that_is_deleted_with_its_data_leaves_nothing(house):
    name = unique("gone")
    add(house, name)
    api, file, dataset = owned(house, name)
    key = run_cli("key", "create", name, "--data", house.data).stdout.strip()
    viewer = Viewer(house, dataset, unique("s"), headers=dict(api.session.headers))
    viewer.until(lambda: viewer.graph)
    r = delete(house, name, "--with-data")
    assert "1 datasets and 1 files" in r.stderr
    assert login(house, name).status_code == 400
    assert api("GET", "/api/v2/files/").status_code == 401
    used = requests.post(house.url + "/api/v2/auth/pkey/jwt/", headers={"Authorization": f"PersonalKey {key}"})
    assert used.status_code == 401
    with pytest.raises(ConnectionClosed) as caught:
        viewer.until(lambda: False)
    assert caught.value.rcvd.code in (4401, 4404, 4410)
    admin = house.api()
    for path in (f"/api/v2/datasets/{dataset}", f"/api/v2/files/{file}"):
        assert admin("GET", path).status_code == 404, path
    assert requests.get(f"{house.url}/graph/graph.html?dataset={dataset}").status_code == 404
    assert name not in run_cli("user", "list", "--data", house.data).stdout
    assert key.split(":")[0] not in run_cli("key", "list", "--data", house.data).stdout
    assert run_cli("doctor", "--data", house.data).returncode == 0
    r = delete(house, name, check=False)
    assert r.returncode == 1 and name in r.stderr, "there is none any more"


def test_data_that_are_handed_over_are_the_heirs_alone(house):
    name, heir = unique("giver"), unique("heir")
    add(house, name, heir)
    api, file, dataset = owned(house, name)
    body = {"obj_pk": dataset, "obj_type": "dataset", "mode": "organization"}
    assert api("POST", "/api/v2/share/link/", json=body).status_code == 200
    assert heir in delete(house, name, "--give-to", heir).stderr
    api = house.api(heir)
    assert [d["dataset_id"] for d in api("GET", "/api/v2/datasets/").json()["results"]] == [dataset]
    assert api("GET", f"/api/v2/files/{file}").status_code == 200
    # Whoever gets the name later gets nothing with it.
    add(house, name)
    late = house.api(name)
    assert late("GET", "/api/v2/datasets/").json()["count"] == 0
    for path in (f"/api/v2/datasets/{dataset}", f"/api/v2/files/{file}"):
        assert late("GET", path).status_code == 404, path
    assert api("DELETE", f"/api/v2/datasets/{dataset}").status_code == 204


def test_the_last_superuser_stays(house, tmp_path):
    idle = tmp_path / "idle"
    run_cli("user", "add", "admin", "--role", "superuser", "--data", idle)
    for data in (house.data, idle):
        r = run_cli("user", "delete", "admin", "--with-data", "--data", data, check=False)
        assert r.returncode == 1 and "only superuser" in r.stderr, r
    run_cli("user", "add", "second", "--role", "superuser", "--data", idle)
    run_cli("user", "delete", "admin", "--data", idle)
    assert "\tadmin\t" not in run_cli("user", "list", "--data", idle).stdout
    assert login(house, "admin").status_code == 200
