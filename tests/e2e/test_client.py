"""The unchanged PyGraphistry client against the server."""

from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pyarrow as pa
import pytest
import requests

from conftest import PASSWORD, browser, counted


def dataset_of(url):
    return parse_qs(urlsplit(url).query)["dataset"][0]


def record(api, url):
    return counted(api, dataset_of(url))


def plot(g, **kwargs):
    url = g.plot(render=False, **kwargs)
    return url if url.startswith("http") else "http:" + url


def test_register_with_password_sets_the_personal_organization(client):
    assert client.org_name() == "alice"
    assert client.api_token().count(".") == 2


def test_a_wrong_password_is_refused_readably(server):
    import graphistry

    with pytest.raises(Exception, match="HTTP 400"):
        graphistry.client().register(
            api=3, protocol="http", server=server.server, username="alice", password="wrong"
        )


def test_register_with_a_personal_key(server, accounts, club):
    import graphistry

    key_id, secret = accounts["key"]
    c = graphistry.client()
    c.register(api=3, protocol="http", server=server.server, personal_key_id=key_id, personal_key_secret=secret)
    url = plot(c.bind(source="s", destination="d").edges(club[0]))
    assert requests.get(url, allow_redirects=False).status_code == 302
    with pytest.raises(Exception, match="HTTP 4"):
        graphistry.client().register(
            api=3, protocol="http", server=server.server, personal_key_id=key_id, personal_key_secret="wrong"
        )


def test_organizations(server):
    import graphistry

    c = graphistry.client()
    kw = dict(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    c.register(org_name="acme", **kw)
    assert c.org_name() == "acme"
    with pytest.raises(Exception, match="(?i)not found"):
        graphistry.client().register(org_name="nope", **kw)
    with pytest.raises(Exception, match="(?i)member"):
        graphistry.client().register(org_name="globex", **kw)


def test_register_with_a_token(server):
    import graphistry

    token = server.token("alice")
    c = graphistry.client()
    c.register(api=3, protocol="http", server=server.server, token=token)
    assert c.api_token() == token
    with pytest.raises(Exception):
        graphistry.client().register(api=3, protocol="http", server=server.server, token="bad")


def test_refresh_gives_a_new_token_and_switching_organizations_works(client):
    before = client.api_token()
    client.refresh()
    client.refresh()
    assert client.api_token() != before
    client.org_name("acme")
    with pytest.raises(Exception):
        client.org_name("nope")
    client.org_name("alice")


@pytest.mark.parametrize("as_files", [False, True])
def test_plot_uploads_the_graph_and_the_address_opens_without_login(client, alice, club, as_files):
    edges, nodes = club
    g = client.edges(edges, "s", "d").nodes(nodes, "id").name("club").description("split")
    url = plot(g, as_files=as_files)
    data = record(alice, url)
    assert (data["node_count"], data["edge_count"]) == (34, 78)
    assert (data["name"], data["description"]) == ("club", "split")
    r = requests.get(url, allow_redirects=False)
    assert r.status_code == 302
    query = url.split("?", 1)[1]
    assert r.headers["Location"].split("?", 1)[1].startswith(query + "&session=")
    page = requests.get(url)
    assert page.status_code == 200 and "text/html" in page.headers["Content-Type"]
    assert "<script" in page.text and "session=" in page.url


def test_edges_alone_make_their_own_nodes(client, alice, club):
    url = plot(client.edges(club[0], "s", "d"))
    assert record(alice, url)["node_count"] == 34


def test_every_binding_arrives_and_reads_back(client, alice, club):
    edges, nodes = club
    nodes = nodes.assign(x=range(34), y=range(34), c=[i % 12 for i in range(34)], o=0.5, i="user")
    edges = edges.assign(ec=[i % 12 for i in range(78)], label="friends", es=1.0, eo=0.5)
    g = (
        client.edges(edges, "s", "d")
        .nodes(nodes, "id")
        .bind(
            point_title="title", point_label="title", point_color="c", point_size="size", point_opacity="o",
            point_weight="size", point_icon="i", point_x="x", point_y="y", edge_title="label",
            edge_label="label", edge_color="ec", edge_weight="w", edge_size="es", edge_opacity="eo",
        )
    )
    data = record(alice, plot(g))
    assert data["node_encodings"]["bindings"] == {
        "node": "id", "node_title": "title", "node_label": "title", "node_color": "c", "node_size": "size",
        "node_opacity": "o", "node_weight": "size", "node_icon": "i", "node_x": "x", "node_y": "y",
    }
    assert data["edge_encodings"]["bindings"] == {
        "source": "s", "destination": "d", "edge_title": "label", "edge_label": "label", "edge_color": "ec",
        "edge_weight": "w", "edge_size": "es", "edge_opacity": "eo",
    }
    again = client.from_dataset_id(data["dataset_id"])
    assert (again._source, again._destination, again._node, again._point_color) == ("s", "d", "id", "c")


def test_complex_encodings_are_kept(client, alice, club):
    edges, nodes = club
    g = (
        client.edges(edges, "s", "d").nodes(nodes, "id")
        .encode_point_color("camp", categorical_mapping={"Mr. Hi": "red", "Officer": "#00f"}, default_mapping="gray")
        .encode_point_size("camp", categorical_mapping={"Mr. Hi": 10, "Officer": 30}, default_mapping=5)
        .encode_edge_color("w", palette=["blue", "red"], as_continuous=True)
        .encode_point_badge("camp", "TopRight", categorical_mapping={"Officer": "star"}, default_mapping="user")
        .encode_point_icon("camp", categorical_mapping={"Officer": "star"}, default_mapping="user")
    )
    data = record(alice, plot(g))
    default = data["node_encodings"]["complex"]["default"]
    assert set(default) == {
        "pointColorEncoding", "pointSizeEncoding", "pointBadgeTopRightEncoding", "pointIconEncoding"
    }
    assert default["pointColorEncoding"]["mapping"]["categorical"]["fixed"]["Mr. Hi"] == "red"
    assert data["edge_encodings"]["complex"]["default"]["edgeColorEncoding"]["colors"] == ["blue", "red"]


def test_settings_and_style_reach_the_address_and_the_record(client, alice, club):
    g = (
        client.edges(club[0], "s", "d")
        .settings(url_params={"play": 2000, "linLog": True, "gravity": 2.5, "bg": "#fff", "pageTitle": "a b&c",
                              "splashAfter": False, "pointSize": 2})
        .addStyle(bg={"color": "#112233"}, page={"title": "T"})
    )
    url = plot(g)
    assert "play=2000" in url and "linLog=True" in url
    data = record(alice, url)
    assert data["metadata"]["bg"]["color"] == "#112233" and data["metadata"]["agent"] == "pygraphistry"
    r = requests.get(url.split("#")[0], allow_redirects=False)
    assert r.status_code == 302 and url.split("#")[0].split("?", 1)[1] in r.headers["Location"]


def test_uploading_the_same_tables_again_reuses_the_files(client, alice, club):
    g = client.edges(club[0], "s", "d").nodes(club[1], "id")
    first, second = g.upload(), g.upload()
    one = alice("GET", f"/api/v2/datasets/{first._dataset_id}").json()
    two = alice("GET", f"/api/v2/datasets/{second._dataset_id}").json()
    one, two = one.get("data", one), two.get("data", two)
    assert first._dataset_id != second._dataset_id
    assert one["edge_files"] == two["edge_files"] and one["node_files"] == two["node_files"]


def test_privacy(client, server, alice, bob, club):
    g = client.edges(club[0], "s", "d")
    url = plot(g.privacy(mode="private"))
    dataset = dataset_of(url)
    anonymous = requests.get(f"{server.url}/api/v2/upload/datasets/{dataset}")
    assert anonymous.status_code in (401, 404)
    assert bob("GET", f"/api/v2/upload/datasets/{dataset}").status_code == 404
    assert alice("GET", f"/api/v2/upload/datasets/{dataset}").status_code == 200
    r = bob("POST", "/api/v2/share/link/", json={"obj_pk": dataset, "obj_type": "dataset", "mode": "public"})
    assert r.status_code in (403, 404) and r.json()["success"] is False
    g = client.edges(club[0], "s", "d").privacy(
        mode="private", invited_users=[{"email": "bob@example.com", "action": "10"}], notify=False
    )
    assert plot(g)
    url = plot(client.edges(club[0], "s", "d").privacy(mode="public"))
    assert bob("GET", f"/api/v2/upload/datasets/{dataset_of(url)}").status_code == 200


def test_every_column_type_is_accepted(client, alice):
    import datetime
    import decimal
    import uuid

    n = 4
    nodes = pd.DataFrame(
        {
            "id": ["a", "b", "c", "d"],
            "int": pd.array([1, None, 3, 4], dtype="Int64"),
            "u8": pd.Series(range(n), dtype="uint8"),
            "f32": pd.Series([1.5, None, 2, 3], dtype="float32"),
            "bool": pd.array([True, None, False, True], dtype="boolean"),
            "cat": pd.Categorical(["x", None, "y", "x"]),
            "icat": pd.Categorical([3, 1, 2, 1], ordered=True),
            "ts": pd.date_range("2026-01-01", periods=n),
            "tz": pd.date_range("2026-01-01", periods=n, tz="America/New_York"),
            "td": pd.to_timedelta(range(n), unit="s"),
            "date": [datetime.date(2026, 1, 1)] * n,
            "time": [datetime.time(1, 2, 3)] * n,
            "dec": [decimal.Decimal("1.50")] * n,
            "bytes": [b"\x00\x01"] * n,
            "list": [[1, 2], [], None, [3]],
            "dict": [{"a": 1}] * n,
            "uuid": [uuid.UUID(int=i) for i in range(n)],
            "none": [None] * n,
            "mixed": [1, "x", 2.5, None],
            "": ["empty name"] * n,
            "a.b": range(n),
            "emoji 🙂": range(n),
        }
    )
    edges = pd.DataFrame({"s": ["a", "b", "c", "zz", None], "d": ["b", "c", "a", "a", "b"]})
    for as_files in (False, True):
        url = plot(client.edges(edges, "s", "d").nodes(nodes, "id"), as_files=as_files)
        data = record(alice, url)
        # "zz" has no row of its own and the null end is no edge.
        assert (data["node_count"], data["edge_count"]) == (5, 4), data


def test_odd_tables(client, alice):
    many = pa.concat_tables([pa.table({"s": [1, 2], "d": [2.0, 3.0]}), pa.table({"s": [3], "d": [1.0]})])
    data = record(alice, plot(client.edges(many, "s", "d")))
    # Whole numbers and floats are the same node.
    assert (data["node_count"], data["edge_count"]) == (3, 3)
    empty = pd.DataFrame({"s": pd.Series([], dtype="int64"), "d": pd.Series([], dtype="int64")})
    data = record(alice, plot(client.edges(empty, "s", "d")))
    assert (data["node_count"], data["edge_count"]) == (0, 0)
    loops = pd.DataFrame({"s": ["a", "a", "a"], "d": ["a", "b", "b"]})
    data = record(alice, plot(client.edges(loops, "s", "d")))
    assert (data["node_count"], data["edge_count"]) == (2, 3)


@pytest.mark.parametrize("erase", [True, False])
def test_a_corrupt_file_shows_our_errors_in_the_client(client, server, erase):
    from graphistry.ArrowFileUploader import ArrowFileUploader
    from graphistry.arrow_uploader import ArrowUploader

    uploader = ArrowUploader(server_base_path=server.url, token=client.api_token(), name="x")
    files = ArrowFileUploader(uploader)
    file_id = files.create_file({"file_type": "arrow"})
    uploader.arrow_to_buffer = lambda _table: b"ARROW1\0\0 this is not a table"
    with pytest.raises(RuntimeError) as caught:
        files.post_arrow(pa.table({"s": [1]}), file_id, f"erase={str(erase).lower()}")
    text, errors = caught.value.args
    assert ("Erased" in text) == erase
    assert errors and "arrow" in errors[0]["message"].lower() and errors[0]["slug"]


def test_the_plotted_address_shows_that_graph_in_a_browser(client, club):
    edges, nodes = club
    g = client.edges(edges, "s", "d").nodes(nodes, "id").settings(url_params={"play": 3000})
    seen = browser("open.mjs", plot(g))
    assert (seen["nodes"], seen["edges"]) == (34, 78), seen
    assert 0.002 < seen["lit"] < 0.9, seen
    assert seen["moved"] and seen["settled"], seen
    assert not seen["errors"], seen
