"""What a dataset and an account are sent with is what they are read back with, or is told: names of people, slug, image and tag,
members that a dataset does not have, how it is shared; and palettes by the names that people know."""

import pytest
import requests
from conftest import PASSWORD, Server, run_cli
from mcp_rig import agent, key, kind, on, page, small  # noqa: F401


def body(**fields):
    return {"name": "record", "metadata": {}, "node_encodings": {"bindings": {}},
            "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}, **fields}


def created(api, **fields):
    r = api("POST", "/api/v2/upload/datasets/", json=body(**fields))
    assert r.status_code == 201, r.text
    return r.json()["data"]


def record(api, dataset):
    r = api("GET", f"/api/v2/upload/datasets/{dataset}")
    assert r.status_code == 200, r.text
    return r.json()["data"]


def listed(api, dataset):
    r = api("GET", "/api/v2/datasets/?limit=1000")
    return next((d for d in r.json()["results"] if d["dataset_id"] == dataset), None)


def test_slug_tag_and_image_are_read_back_up_to_their_limits(alice):
    given = {"slug": "my-graph", "uri_tag": "tag:é", "image": "https://example.org/p.png"}
    data = created(alice, **given)
    assert data["notices"] == []
    for got in (record(alice, data["dataset_id"]), listed(alice, data["dataset_id"])):
        assert {key: got[key] for key in given} == given
    none = created(alice)["dataset_id"]
    assert [record(alice, none)[key] for key in given] == [None, None, ""]
    for key, most in [("slug", 1024), ("uri_tag", 1024), ("image", 8192)]:
        assert record(alice, created(alice, **{key: "x" * most})["dataset_id"])[key] == "x" * most
        r = alice("POST", "/api/v2/upload/datasets/", json=body(**{key: "x" * (most + 1)}))
        assert r.status_code == 400 and r.json()["field"] == key and str(most) in r.text, r.text
        r = alice("POST", "/api/v2/upload/datasets/", json=body(**{key: 7}))
        assert r.status_code == 400 and r.json()["field"] == key, r.text


def test_members_that_a_dataset_does_not_have_are_kept_and_told(alice):
    data = created(alice, bogus=1)
    [notice] = data["notices"]
    assert notice["slug"] == "field-without-effect" and "bogus" in notice["text"], notice
    got = record(alice, data["dataset_id"])
    assert got["bogus"] == 1 and notice in got["notices"]
    [notice] = created(alice, privacy={"mode": "public"})["notices"]
    assert "/api/v2/share/link/" in notice["text"]
    [notice] = created(alice, **{f"m{i:03}": i for i in range(500)})["notices"]
    assert notice["count"] == 500 and len(notice["text"]) < 400, notice


def test_a_record_that_was_read_can_be_sent_again_without_a_word(alice):
    got = record(alice, created(alice, slug="again", description="d")["dataset_id"])
    r = alice("POST", "/api/v2/upload/datasets/", json=got)
    assert r.status_code == 201 and r.json()["data"]["notices"] == [], r.text


def test_what_the_client_sends_by_itself_is_no_notice(client, club, alice):
    edges, nodes = club
    g = client.edges(edges, "s", "d").nodes(nodes, nodes.columns[0]).name("by habit").description("d")
    for as_files in (True, False):
        plotted = g.plot(render=False, as_files=as_files, memoize=False)
        dataset = plotted.split("dataset=")[1].split("&")[0]
        assert [n for n in record(alice, dataset)["notices"] if n["slug"] == "field-without-effect"] == []


def share(api, dataset, **fields):
    r = api("POST", "/api/v2/share/link/", json={"obj_pk": dataset, "obj_type": "dataset", **fields})
    assert r.status_code == 200, r.text
    return r.json()


def shared(api, dataset, status=200):
    r = api("GET", "/api/v2/share/link/", params={"obj_pk": dataset, "obj_type": "dataset"})
    assert r.status_code == status, r.text
    return r.json().get("data")


def test_sharing_is_read_back_by_those_who_may_share(server, alice, bob):
    dataset = created(alice)["dataset_id"]
    assert record(alice, dataset)["privacy"] is None and shared(alice, dataset)["mode"] is None
    invited = [{"email": "carol@example.org", "action": "20"}]
    answer = share(alice, dataset, mode="public", mode_action="10", invited_users=invited, message="look")
    assert answer["status"] == "OK" and answer["data"]["notices"] == []
    whole = {"mode": "public", "mode_action": "10", "invited_users": invited, "notify": False, "message": "look"}
    assert record(alice, dataset)["privacy"] == whole
    assert shared(alice, dataset) == {**whole, "obj_pk": dataset, "obj_type": "dataset", "notices": []}
    # A list and those who may only look are told no addresses.
    brief = {"mode": "public", "mode_action": "10"}
    assert listed(alice, dataset)["privacy"] == brief and record(bob, dataset)["privacy"] == brief
    assert "carol" not in bob("GET", f"/api/v2/upload/datasets/{dataset}").text
    shared(bob, dataset, 403)
    share(alice, dataset, mode="private")
    shared(bob, dataset, 404)
    assert bob("GET", f"/api/v2/upload/datasets/{dataset}").status_code == 404
    assert record(alice, dataset)["privacy"]["mode"] == "private"
    assert requests.get(f"{server.url}/api/v2/share/link/?obj_pk={dataset}", timeout=30).status_code == 401
    for query, field in [({}, "obj_pk"), ({"obj_pk": dataset, "obj_type": "file"}, "obj_type")]:
        r = alice("GET", "/api/v2/share/link/", params=query)
        assert r.status_code == 400 and r.json()["field"] == field, r.text


def test_public_editors_whom_nobody_is_are_told(alice, bob):
    dataset = created(alice)["dataset_id"]
    answer = share(alice, dataset, mode="public", mode_action="20")
    [notice] = answer["data"]["notices"]
    assert notice["slug"] == "sharing-without-effect" and "nobody edit" in notice["text"], answer
    assert notice["text"] in answer["message"]
    assert notice in record(alice, dataset)["notices"] and notice in shared(alice, dataset)["notices"]
    assert bob("DELETE", f"/api/v2/datasets/{dataset}").status_code == 403, "as it says"
    answer = share(alice, dataset, mode="organization", mode_action="20")
    assert answer["data"]["notices"] == [] and record(alice, dataset)["notices"] == []


def login(server, name, password=PASSWORD):
    r = requests.post(f"{server.url}/api-token-auth/", json={"username": name, "password": password}, timeout=30)
    assert r.status_code == 200, r.text
    return r.json()["user"]


def test_an_account_has_a_name_for_people(tmp_path):
    data = tmp_path / "data"
    add = lambda *args: run_cli("user", "add", *args, "--password-stdin", "--data", data, input=PASSWORD + "\n")
    add("ada", "--name", "  Ada Lovelace ")
    add("bert")
    server = Server(data).start()
    try:
        assert login(server, "ada")["name"] == "Ada Lovelace" and login(server, "bert")["name"] == "bert"
        assert login(server, "ada")["username"] == "ada"
        # While the server runs, and in force at once.
        run_cli("user", "set", "bert", "--name", "Bertrand Rüssel", "--data", data)
        assert login(server, "bert")["name"] == "Bertrand Rüssel"
        run_cli("user", "set", "ada", "--name", "", "--data", data)
        assert login(server, "ada")["name"] == "ada"
        lines = [line.split("\t") for line in run_cli("user", "list", "--data", data).stdout.splitlines()]
        shown = {line[1]: line[-1] for line in lines[1:]}
        assert (shown["ada"], shown["bert"]) == ("ada", "Bertrand Rüssel")
        for wrong in ("x" * 151, "two\nlines"):
            r = run_cli("user", "set", "ada", "--name", wrong, "--data", data, check=False)
            assert r.returncode != 0 and "name" in r.stderr and "150" in r.stderr, r
    finally:
        assert server.stop() == 0


MAPS = ["viridis", "plasma", "inferno", "magma", "cividis", "turbo"]


@pytest.mark.parametrize("name", [*MAPS, "Viridis", "TURBO", "set1", "SET1", "ylgnbu"])
def test_agents_colour_by_palettes_of_any_case(on, page, name):
    made = on("create_collection", name="p", gfql_operations=kind("x"), palette=name)
    assert "notices" not in made
    proper = {"set1": "Set1", "ylgnbu": "YlGnBu"}.get(name.lower(), name.lower())
    assert (made["collection"]["palette"], made["collection"]["matchCount"]) == (proper, 3)


def test_a_colour_wins_over_a_palette_that_is_not_there(on, agent, page):
    made = on("create_collection", name="p", gfql_operations=kind("x"), palette="virids", node_color="#ff0000")
    assert made["collection"]["color"] == "#ff0000" and "palette" not in made["collection"]
    [notice] = made["notices"]
    assert notice["slug"] == "palette-not-found" and '"viridis"' in notice["text"] and "#ff0000" in notice["text"], notice
    changed = on("update_collection", collection_id=made["collection"]["id"], palette="nope", node_color="#00ff00")
    assert changed["collection"]["color"] == "#00ff00"
    assert changed["notices"][0]["slug"] == "palette-not-found" and "viridis" in changed["notices"][0]["text"]
    for alone in ("virids", "nope"):
        assert agent.failure("create_collection", session_id=page.session, name="q", gfql_operations=kind("x"),
                             palette=alone) == "palette-not-found"


@pytest.mark.parametrize("colors,told", [("viridis", False), ("Turbo", False), ("rdbu", False), ("nope", True)])
def test_an_encoding_may_name_a_palette(alice, colors, told):
    edges = alice.file(b"s,d,w\na,b,1\nb,c,2\nc,a,3\n", "csv")["file_id"]
    encoding = {"graphType": "edge", "encodingType": "color", "attribute": "w", "colors": colors}
    data = created(alice, edge_files=[edges], edge_encodings={
        "bindings": {"source": "s", "destination": "d"}, "complex": {"default": {"edgeColorEncoding": encoding}}})
    assert bool(data["notices"]) == told, data
    assert not told or "viridis" in data["notices"][0]["text"]
