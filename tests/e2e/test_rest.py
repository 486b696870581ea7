"""The REST interface with plain requests: what the specification promises and clients do not use."""

import gzip
import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import requests

from conftest import counted

FRAME = pd.DataFrame({"s": ["a", "b", "c"], "d": ["b", "c", "a"], "n": [1, 2, 3], "f": [0.5, None, 2.5],
                      "flag": [True, False, True]})


def arrow_file(table):
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as w:
        w.write_table(table)
    return sink.getvalue()


def arrow_stream(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as w:
        w.write_table(table)
    return sink.getvalue()


def parquet(table, **kw):
    sink = io.BytesIO()
    pa.parquet.write_table(table, sink, **kw)
    return sink.getvalue()


def compressed_arrow(table, codec):
    sink = io.BytesIO()
    pa.feather.write_feather(table, sink, compression=codec)
    return sink.getvalue()


TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)
BODIES = {
    "arrow file": ("arrow", "", arrow_file(TABLE)),
    "arrow stream": ("arrow", "", arrow_stream(TABLE)),
    "arrow lz4": ("arrow", "", compressed_arrow(TABLE, "lz4")),
    "arrow zstd": ("arrow", "", compressed_arrow(TABLE, "zstd")),
    "csv": ("csv", "", FRAME.to_csv(index=False).encode()),
    "csv tab": ("csv", "?sep=%09", FRAME.to_csv(index=False, sep="\t").encode()),
    "json records": ("json", "", FRAME.to_json(orient="records").encode()),
    "json columns": ("json", "", json.dumps({k: [None if v != v else v for v in FRAME[k].tolist()] for k in FRAME}).encode()),
    "json lines": ("json", "?lines=true", FRAME.to_json(orient="records", lines=True).encode()),
    "parquet": ("parquet", "", parquet(TABLE)),
    "parquet zstd": ("parquet", "", parquet(TABLE, compression="zstd")),
    "parquet gzip": ("parquet", "", parquet(TABLE, compression="gzip")),
}


@pytest.mark.parametrize("name", BODIES)
def test_every_format_as_a_file_and_directly(alice, name):
    file_type, query, body = BODIES[name]
    options = {} if not query else {"parser_options": {"sep": "\t"} if "sep" in query else {"lines": True}}
    f = alice.file(body, file_type, **options)
    assert f["is_uploaded"] and f["is_valid"] and f["errors"] == [], f
    assert f["bytes_count"] == len(body)
    schema = f["tables_schemas"][0]
    assert (schema["num_rows"], schema["num_cols"]) == (3, 5)
    dtypes = schema["dtypes"]
    assert list(dtypes) == list(FRAME)
    assert (dtypes["n"], dtypes["f"], dtypes["flag"]) == ("int64", "float64", "bool"), dtypes
    dataset = alice.dataset([f["file_id"]])
    got = counted(alice, dataset)
    assert (got["node_count"], got["edge_count"]) == (3, 3)
    dataset = alice.dataset()
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/{file_type}{query}", data=body)
    assert r.status_code == 200, r.text
    data = r.json()["data"]
    assert r.json()["success"] is True and data["dataset_id"] == dataset
    assert (data["num_rows"], data["num_cols"]) == (3, 5) and data["dtypes"] == dtypes
    assert isinstance(data["time_parsing_s"], int)


def test_a_fresh_file_record_is_complete(alice):
    r = alice("POST", "/api/v2/files/", json={"file_type": "csv", "name": "n", "description": "d"})
    assert r.status_code == 201
    f = r.json()
    assert f["is_uploaded"] is False and f["is_valid"] is False and f["bytes_count"] is None
    assert f["tables_schemas"] == [] and f["errors"] == [] and f["name"] == "n" and f["description"] == "d"
    assert isinstance(f["author"], int) and len(f["file_id"]) == 32
    assert f["agent_name"] == "" and f["file_compression"] == ""
    assert pd.Timestamp(f["created_at"]).tzinfo is not None


GARBAGE = {
    "arrow": b"ARROW1\0\0 nothing of the kind",
    "parquet": b"PAR1 nothing of the kind PAR1",
    "json": b'[{"a": 1}, {"a":',
    "csv": b"a,b\n1,2\n1,2,3,4\n",
}


@pytest.mark.parametrize("file_type", GARBAGE)
@pytest.mark.parametrize("erase", ["", "?erase=true", "?erase=false"])
def test_garbage_is_an_answer_not_an_error(alice, file_type, erase):
    f = alice.file(GARBAGE[file_type], file_type, erase)
    assert f["is_valid"] is False and f["is_uploaded"] is (erase == "?erase=false"), f
    assert f["errors"] and f["errors"][0]["message"] and f["errors"][0]["slug"], f
    # The file is still there and takes good bytes afterwards.
    good = {"arrow": arrow_file(TABLE), "parquet": parquet(TABLE), "json": b'[{"a": 1}]', "csv": b"a,b\n1,2\n"}
    r = alice("POST", f"/api/v2/upload/files/{f['file_id']}", data=good[file_type])
    assert r.json()["is_valid"] is True and r.json()["errors"] == []


@pytest.mark.parametrize("name", [n for n in BODIES if not n.startswith(("csv", "json lines"))])
def test_every_truncation_is_refused(alice, name):
    file_type, _, body = BODIES[name]
    for cut in {0, 1, len(body) // 3, len(body) // 2, len(body) - 1}:
        f = alice.file(body[:cut], file_type)
        # An Arrow stream without its end mark is complete all the same.
        if name == "arrow stream" and cut == len(body) - 1:
            continue
        assert f["is_valid"] is False and f["errors"], (cut, f)


def test_parser_settings_can_be_changed_without_a_new_upload(alice):
    body = b"a;b\n1;2\n3;4\n"
    f = alice.file(body, "csv", "?erase=false")
    assert f["tables_schemas"][0]["num_cols"] == 1
    r = alice("PATCH", f"/api/v2/upload/files/{f['file_id']}/", json={"parser_options": {"sep": ";"}})
    assert r.status_code == 200, r.text
    assert list(r.json()["tables_schemas"][0]["dtypes"]) == ["a", "b"]


def test_unknown_options_are_named(alice):
    dataset = alice.dataset()
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/csv?septum=1", data=b"s,d\n1,2\n")
    assert r.status_code == 400 and "septum" in r.text and "sep" in r.json()["message"]
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/csv?byte_range=5", data=b"s,d\n1,2\n")
    assert r.status_code == 400 and "byte_range" in r.text
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/csvv", data=b"s,d\n1,2\n")
    assert r.status_code in (400, 404, 415, 422)
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/csv", data=gzip.compress(b"s,d\n1,2\n"))
    assert r.status_code < 500 and r.json()["success"] is False and "compress" in r.text.lower()


def test_dataset_errors_name_the_field_and_leave_nothing(alice):
    before = alice("GET", "/api/v2/datasets/?limit=1").json()["count"]
    for body, field in [
        ({}, "name"),
        ({"name": "x", "node_encodings": {"bindings": {}},
          "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}}, "metadata"),
        ({"name": "x", "metadata": {}}, "node_encodings"),
        ({"name": "x", "metadata": {}, "node_encodings": {"bindings": {}}}, "edge_encodings"),
        ({"name": "x", "node_encodings": {"bindings": {}}, "metadata": {},
          "edge_encodings": {"bindings": {"destination": "d"}}}, "source"),
        ({"name": 5, "node_encodings": {"bindings": {}}, "metadata": {},
          "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}}, "name"),
    ]:
        r = alice("POST", "/api/v2/upload/datasets/", json=body)
        assert r.status_code == 400 and r.json()["success"] is False, r.text
        assert field in r.json()["message"], r.text
    r = alice("POST", "/api/v2/upload/datasets/", json={
        "name": "x", "metadata": {}, "node_encodings": {"bindings": {}}, "edge_files": ["0" * 32],
        "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}})
    assert r.status_code in (400, 404) and "file not found" in r.json()["message"], r.text
    r = alice("POST", "/api/v2/upload/datasets/", data=b"{not json")
    assert r.status_code == 400 and r.json()["success"] is False
    assert alice("GET", "/api/v2/datasets/?limit=1").json()["count"] == before


def test_a_missing_column_is_named_when_the_dataset_is_made(alice):
    f = alice.file(b"s,d\n1,2\n", "csv")
    r = alice("POST", "/api/v2/upload/datasets/", json={
        "name": "x", "metadata": {}, "node_encodings": {"bindings": {}}, "edge_files": [f["file_id"]],
        "edge_encodings": {"bindings": {"source": "sorce", "destination": "d"}}})
    assert r.status_code == 400 and "sorce" in r.text, r.text
    r = alice("POST", "/api/v2/upload/datasets/", json={
        "name": "x", "metadata": {}, "node_encodings": {"bindings": {}}, "edge_files": [[f["file_id"], 3]],
        "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}})
    assert r.status_code == 400 and "3" in r.json()["message"], r.text


def test_lists_page_newest_first_and_deletes_delete(alice):
    ids = [alice("POST", "/api/v2/files/", json={"file_type": "csv", "name": f"f{i}"}).json()["file_id"]
           for i in range(7)]
    page = alice("GET", "/api/v2/files/?limit=3").json()
    assert [f["file_id"] for f in page["results"]] == ids[:3:-1]
    assert page["previous"] is None and page["count"] >= 7
    following = requests.get(page["next"], headers=alice.session.headers).json()
    assert [f["file_id"] for f in following["results"]] == ids[3:0:-1]
    assert following["previous"]
    assert alice("DELETE", f"/api/v2/files/{ids[0]}").status_code == 204
    assert alice("DELETE", f"/api/v2/files/{ids[0]}").status_code == 404
    for bad in ["limit=-1", "limit=x", "offset=-1"]:
        r = alice("GET", f"/api/v2/files/?{bad}")
        assert r.status_code == 400 and bad.split("=")[0] in r.json()["message"], r.text
    d = alice.dataset([], name="gone")
    assert alice("GET", "/api/v2/datasets/?limit=1").json()["results"][0]["dataset_id"] == d
    assert alice("DELETE", f"/api/v2/datasets/{d}").status_code == 204
    assert alice("GET", f"/api/v2/upload/datasets/{d}").status_code == 404


DATASET_FIELDS = {
    "dataset_id", "name", "slug", "author", "node_count", "edge_count", "agent_name", "agent_version", "uri_tag",
    "description", "image", "created_at", "updated_at", "node_files", "edge_files", "node_transform",
    "edge_transform", "edge_hypergraph_transform", "compute", "layout", "node_encodings", "edge_encodings",
    "metadata", "timestamp", "legacy_dataset_name", "legacy_dataset_author",
}
FILE_FIELDS = {
    "file_id", "name", "description", "file_type", "file_compression", "parser_options", "sql_transforms", "author",
    "agent_name", "agent_version", "bytes_count", "created_at", "updated_at", "is_uploaded", "is_valid", "errors",
    "tables_schemas",
}


def test_listed_records_have_every_field_of_the_specification(alice):
    alice.file(b"s,d\n1,2\n", "csv")
    alice.dataset()
    assert FILE_FIELDS <= set(alice("GET", "/api/v2/files/").json()["results"][0])
    assert DATASET_FIELDS <= set(alice("GET", "/api/v2/datasets/").json()["results"][0])


def test_others_cannot_see_change_or_delete(alice, bob):
    f = alice.file(b"s,d\n1,2\n", "csv")["file_id"]
    d = alice.dataset([f])
    for method, path in [("DELETE", f"/api/v2/files/{f}"), ("POST", f"/api/v2/upload/files/{f}"),
                         ("PATCH", f"/api/v2/upload/files/{f}/"), ("DELETE", f"/api/v2/datasets/{d}"),
                         ("POST", f"/api/v2/upload/datasets/{d}/edges/csv")]:
        theirs = bob(method, path, data=b"{}")
        absent = bob(method, path.replace(f, "f" * 32).replace(d, "f" * 32), data=b"{}")
        assert absent.status_code == 404, (method, path, absent.text)
        # Whoever has the link may look at a dataset, so its existence is no secret; a file's is.
        assert theirs.status_code == (403 if d in path else 404), (method, path, theirs.text)
    alice("POST", "/api/v2/share/link/", json={"obj_pk": d, "obj_type": "dataset", "mode": "private"})
    assert bob("DELETE", f"/api/v2/datasets/{d}").status_code == 404
    assert f not in bob("GET", "/api/v2/files/?limit=1000").text
    assert d not in bob("GET", "/api/v2/datasets/?limit=1000").text
    assert alice("GET", f"/api/v2/upload/datasets/{d}").status_code == 200


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}, {"Authorization": "Basic eDp5"},
                                     {"Authorization": "Bearer a.b.c"}])
@pytest.mark.parametrize("method,path", [("GET", "/api/v2/files/"), ("POST", "/api/v2/files/"),
                                         ("GET", "/api/v2/datasets/"), ("POST", "/api/v2/upload/datasets/"),
                                         ("GET", "/api/experimental/viz/sessions/"), ("POST", "/api/v2/share/link/")])
def test_a_missing_or_bad_token_is_401(server, headers, method, path):
    r = requests.request(method, server.url + path, headers=headers, json={})
    assert r.status_code == 401 and r.json()["success"] is False and r.json()["detail"], r.text
    assert "WWW-Authenticate" in r.headers


def test_token_routes(server):
    credentials = {"username": "alice", "password": "correct horse battery staple"}
    login = requests.post(f"{server.url}/api-token-auth/", json=credentials)
    body = login.json()
    assert login.status_code == 200 and body["user"]["username"] == "alice" and body["pk"] == body["user"]["id"]
    assert body["active_organization"] == {"slug": "alice", "is_found": True, "is_member": True}
    token = body["token"]
    js = requests.post(f"{server.url}/api/v2/auth/token/generate", json=credentials)
    assert js.json()["token"]
    for path in ("/api-token-refresh/", "/api/v2/auth/token/refresh"):
        r = requests.post(server.url + path, json={"token": token})
        assert r.status_code == 200 and r.json()["token"], r.text
        r = requests.post(server.url + path, json={"token": "x.y.z"})
        assert r.status_code == 400 and r.json()["non_field_errors"], r.text
    assert requests.post(f"{server.url}/api-token-verify/", json={"token": token}).status_code == 200
    assert requests.post(f"{server.url}/api-token-verify/", json={"token": token + "x"}).status_code == 400
    for bad in ({"username": "alice"}, {}, {"username": 1, "password": 2}, {"username": "alice", "password": "x"}):
        r = requests.post(f"{server.url}/api-token-auth/", json=bad)
        assert r.status_code == 400 and r.json()["non_field_errors"], r.text


def test_personal_key_login_by_get_with_a_body_and_by_post(server, accounts):
    headers = {"Authorization": "PersonalKey " + ":".join(accounts["key"])}
    for method in ("GET", "POST"):
        for body in ({}, {"org_name": "acme"}):
            r = requests.request(method, f"{server.url}/api/v2/auth/pkey/jwt/", headers=headers, json=body)
            assert r.status_code == 200 and r.json()["token"], r.text
            assert r.json()["active_organization"]["slug"] == body.get("org_name", "alice")


def test_sessions_are_listed_for_their_owner(server, alice, bob, club):
    f = alice.file(club[0].to_csv(index=False).encode(), "csv")
    d = alice.dataset([f["file_id"]])
    r = requests.get(f"{server.url}/graph/graph.html?dataset={d}&play=0", headers=alice.session.headers,
                     allow_redirects=False)
    session = r.headers["Location"].rsplit("session=", 1)[1]
    rows = alice("GET", "/api/experimental/viz/sessions/").json()["results"]
    row = next(x for x in rows if x["session_id"] == session)
    assert row["revision"]["dataset"]["dataset_id"] == d and row["revision"]["revision_id"]
    assert alice("GET", f"/api/experimental/viz/sessions/{session}/").json() == row
    assert session not in bob("GET", "/api/experimental/viz/sessions/").text
    assert alice("GET", "/api/experimental/viz/sessions/nope/").status_code == 404


def test_slashes_methods_and_unknown_paths(server, alice):
    for path in ("/api/v2/files", "/api/v2/datasets", "/api-token-auth", "/healthz/", "/api/v2/upload/datasets"):
        r = requests.post(server.url + path, json={}, allow_redirects=False)
        assert r.status_code == 404 and r.json()["success"] is False, (path, r.status_code)
    r = requests.delete(server.url + "/api-token-auth/")
    assert r.status_code == 405 and "POST" in r.headers["Allow"]
    r = requests.get(server.url + "/api/v9/nothing")
    assert r.status_code == 404 and r.json()["success"] is False
    assert requests.post(server.url + "/etl", json={}).status_code == 410
    f = alice.file(b"s,d\n1,2\n", "csv")["file_id"]
    assert alice("DELETE", f"/api/v2/files/{f}/").status_code == 204


def test_cross_origin_preflight(server):
    for path in ("/api/v2/auth/token/generate", "/api/v2/auth/pkey/jwt/", "/api/v2/files/",
                 "/api/v2/upload/files/" + "0" * 32, "/api/v2/upload/datasets/", "/api/v2/share/link/"):
        r = requests.options(server.url + path, headers={
            "Origin": "https://app.example", "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type"})
        assert r.status_code in (200, 204), (path, r.status_code)
        assert r.headers["Access-Control-Allow-Origin"] in ("*", "https://app.example")
        assert "authorization" in r.headers["Access-Control-Allow-Headers"].lower() or \
            r.headers["Access-Control-Allow-Headers"] == "*"


def test_health_tells_the_truth(server):
    for path in ("/healthz", "/ht/", "/streamgl-viz/health", "/streamgl-gpu/primary/health",
                 "/streamgl-gpu/secondary/cpu/health", "/streamgl-sessions/health", "/pivot/health",
                 "/caddy/health/", "/healthcheck/"):
        r = requests.get(server.url + path)
        assert set(r.json()) >= {"status", "component", "detail"}, (path, r.text)
        assert r.status_code == 200, (path, r.text)
    r = requests.get(server.url + "/streamgl-gpu/secondary/gpu/health")
    workers = requests.get(server.internal_url + "/check-workers").json()["workers"]
    assert all({"clContextHealthy", "ready"} <= set(w) for w in workers), workers
    # Without a GPU worker this route must not claim one.
    gpu_ready = any(w["ready"] and w["clContextHealthy"] for w in workers if w["kind"] == "gpu")
    assert (r.status_code == 200) == gpu_ready, (r.text, workers)
    assert requests.get(server.url + "/check-workers").status_code == 404
    assert requests.get(server.url + "/metrics").status_code == 404
    assert "# TYPE" in requests.get(server.internal_url + "/metrics").text
