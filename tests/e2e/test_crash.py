"""Acknowledged is durable: the server is killed while it takes uploads."""

import io
import os
import random
import threading
import time

import pandas as pd
import requests

from conftest import HANG_S, Server, until

# The long checks (scripts/long.sh) run all rounds.
ROUNDS, UPLOADS = 20 if os.environ.get("GRAPHLUME_LONG") else 5, 100


def body(i):
    """The i-th upload: a table whose contents tell whether it is whole."""
    rows = 1 + (i * 7919) % 4000
    frame = pd.DataFrame({"s": range(rows), "d": [(r * 31 + i) % rows for r in range(rows)], "i": i})
    out = io.StringIO()
    frame.to_csv(out, index=False)
    return out.getvalue().encode(), rows


def test_kill_in_the_middle_of_a_hundred_uploads(tmp_path):
    rng = random.Random(7)
    server = Server(tmp_path / "data").start()
    acked_files, acked_datasets, created, lock = {}, {}, set(), threading.Lock()
    done = 0
    for round_no in range(ROUNDS):
        token = server.token()
        headers = {"Authorization": f"Bearer {token}"}
        killed = threading.Event()

        def work(first):
            for i in range(first, UPLOADS, 4):
                if i in acked_files or killed.is_set():
                    continue
                try:
                    data, rows = body(i)
                    r = requests.post(f"{server.url}/api/v2/files/", json={"file_type": "csv", "name": str(i)},
                                      headers=headers, timeout=HANG_S)
                    if r.status_code != 201:
                        raise AssertionError(r.text)
                    file_id = r.json()["file_id"]
                    with lock:
                        created.add(file_id)
                    r = requests.post(f"{server.url}/api/v2/upload/files/{file_id}", data=data, headers=headers,
                                      timeout=HANG_S)
                    assert r.json()["is_valid"], r.text
                    with lock:
                        acked_files[i] = (file_id, rows, len(data))
                    r = requests.post(
                        f"{server.url}/api/v2/upload/datasets/", headers=headers, timeout=HANG_S,
                        json={"name": str(i), "metadata": {}, "node_encodings": {"bindings": {}},
                              "edge_encodings": {"bindings": {"source": "s", "destination": "d"}},
                              "edge_files": [file_id]})
                    with lock:
                        acked_datasets[i] = r.json()["data"]["dataset_id"]
                except (requests.RequestException, ValueError):
                    return  # The server is gone; what was not answered may or may not exist.

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        # So many more uploads are acknowledged before the kill, which then falls anywhere into those under way.
        wanted = min(UPLOADS, len(acked_files) + rng.randrange(5, 20))
        until(lambda: len(acked_files) >= wanted or not any(t.is_alive() for t in threads), "uploads")
        time.sleep(rng.uniform(0, 0.03))
        server.kill()
        killed.set()
        for t in threads:
            t.join()
        done = round_no + 1
        server.start()
        check(server, acked_files, acked_datasets, created)
        if len(acked_datasets) == UPLOADS:
            break
    print(f"{done} kills, {len(acked_files)} files and {len(acked_datasets)} datasets acknowledged, none lost")
    assert len(acked_files) > 20, "each round begins with five"
    assert server.stop() == 0


def check(server, acked_files, acked_datasets, created):
    api = server.api()
    listed = {}
    offset = 0
    while True:
        page = api("GET", f"/api/v2/files/?limit=500&offset={offset}").json()
        listed.update({f["file_id"]: f for f in page["results"]})
        offset += 500
        if not page["next"]:
            break
    for i, (file_id, rows, size) in acked_files.items():
        f = listed.get(file_id)
        assert f and f["is_uploaded"] and f["is_valid"], (i, f)
        assert f["bytes_count"] == size and f["tables_schemas"][0]["num_rows"] == rows, (i, f)
    assert created <= set(listed), "an acknowledged file record is gone"
    for f in listed.values():
        # Half-visible would be: said to be valid without its schema, or with a wrong size.
        assert f["is_valid"] == bool(f["tables_schemas"]), f
        if f["is_valid"]:
            data, rows = body(int(f["name"]))
            assert (f["bytes_count"], f["tables_schemas"][0]["num_rows"]) == (len(data), rows), f
    for i, dataset in list(acked_datasets.items())[-10:]:
        r = api("GET", f"/api/v2/upload/datasets/{dataset}")
        assert r.status_code == 200 and r.json()["data"]["edge_files"] == [acked_files[i][0]], r.text
    if acked_datasets:
        # The bytes behind the record are whole too: the graph opens.
        i, dataset = list(acked_datasets.items())[-1]
        from live import Viewer

        viewer = Viewer(server, dataset, f"crash{i}")
        viewer.until(lambda: viewer.graph)
        assert viewer.graph["edge_count"] == acked_files[i][1]
        viewer.close()
