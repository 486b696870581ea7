"""What a request costs is counted from its first byte to its last: answers that nobody reads stay inside of the memory budget."""
import json
import socket
import threading
import time

import pytest

from conftest import Api, Server, until

MEMORY = 192 << 20
ROWS = 120_000
QUERY = json.dumps({"gfql_query": [{"type": "Node"}, {"type": "Edge", "direction": "forward"}, {"type": "Node"}],
                    "format": "json"}).encode()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    s = Server(tmp_path_factory.mktemp("small") / "data", "--memory", str(MEMORY)).start()
    yield s
    s.stop()


def asked(server, token, dataset):
    """A query's answer on a connection of its own, of which only the status is read."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(60)
    s.connect(("127.0.0.1", server.port))
    head = (f"POST /api/v2/etl/datasets/{dataset}/gfql/all HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {token}\r\nContent-Length: {len(QUERY)}\r\n\r\n")
    s.sendall(head.encode() + QUERY)
    return s, int(s.recv(12)[9:12])


def test_answers_that_nobody_reads_stay_inside_of_the_budget(small):
    """fails on e40bbae: every answer was held outside of the budget, and none was refused."""
    token = small.token()
    api = Api(small, token)
    lines = b"".join(b"node%d,node%d\n" % (i, i * 7 % ROWS) for i in range(ROWS))
    dataset = api.dataset([api.file(b"s,d\n" + lines, "csv")["file_id"]])
    whole = api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/all", data=QUERY)
    assert whole.status_code == 200
    count = 2 + 2 * MEMORY // len(whole.content)
    held = [asked(small, token, dataset) for _ in range(count)]
    try:
        refused = [status for _, status in held if status != 200]
        assert refused and set(refused) <= {503, 507, 413, 429}, f"{len(refused)} of {count} refused: {set(refused)}"
        assert small.rss_bytes() < MEMORY + (200 << 20)
        # Who writes is not kept from it.
        assert api.dataset([api.file(b"s,d\n1,2\n", "csv")["file_id"]])
    finally:
        for s, _ in held:
            s.close()
    # All of it is given back.
    for _ in range(100):
        again = api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/all", data=QUERY)
        if again.status_code == 200:
            break
    assert again.status_code == 200 and len(again.content) == len(whole.content)


def test_a_large_answer_takes_the_memory_of_some_blocks_of_it(tmp_path):
    """fails on 4915b16: the answer was written out as a whole before its first byte left."""
    rows = 1_000_000
    server = Server(tmp_path / "data").start()
    try:
        api = Api(server, server.token())
        lines = "".join(f"n{i},n{i * 7 % rows},text number {i} and some more text to make it long enough to count {i}\n"
                        for i in range(rows))
        dataset = api.dataset([api.file(b"s,d,t\n" + lines.encode(), "csv")["file_id"]])
        api.session.headers["Accept-Encoding"] = "identity"

        def ask(kind, encoding="identity"):
            return api.session.post(
                f"{server.url}/api/v2/etl/datasets/{dataset}/gfql/edges", data=json.dumps(json.loads(QUERY) | {"format": kind}),
                headers={"Authorization": f"Bearer {server.token()}", "Accept-Encoding": encoding}, stream=True)

        # What a query holds beside its answer is there from the first one on.
        assert sum(len(piece) for piece in ask("parquet").iter_content(1 << 20)) > 1 << 20
        for kind in ("json", "csv"):
            before, peak, size = server.rss_bytes(), 0, 0
            answer = ask(kind)
            assert answer.status_code == 200 and "Content-Length" not in answer.headers
            for piece in answer.iter_content(4 << 20):
                size += len(piece)
                peak = max(peak, server.rss_bytes())
            assert size > 80 << 20 and peak - before < size // 2, f"{kind}: {(peak - before) >> 20} of {size >> 20} MiB"
        # One who leaves in the middle, and one who reads compressed bytes.
        left = ask("json")
        next(left.iter_content(1 << 20))
        left.close()
        found = ask("json", "gzip")
        assert found.headers["Content-Encoding"] == "gzip"
        found = json.loads(found.content)
        assert len(found) == rows and found[rows - 1]["t"] == f"text number {rows - 1} and some more text to make it long enough to count {rows - 1}"
    finally:
        server.stop()


def test_a_graph_whose_rows_are_being_sent_stays_counted(tmp_path):
    """fails on 1935c13: the graph was evicted for others while a slow reader still held its tables."""
    rows = 300_000
    server = Server(tmp_path / "data", "--memory", str(96 << 20)).start()
    try:
        api = Api(server, server.token())

        def dataset(word):
            lines = "".join(f"{word}{i},{word}{i * 7 % rows},{word} number {i} of some length\n" for i in range(rows))
            return api.dataset([api.file(b"s,d,t\n" + lines.encode(), "csv")["file_id"]])

        first, second = dataset("a"), dataset("b")

        def ask(id):
            return api.session.post(
                f"{server.url}/api/v2/etl/datasets/{id}/gfql/edges", data=json.dumps(json.loads(QUERY) | {"format": "csv"}),
                headers={"Authorization": f"Bearer {server.token()}", "Accept-Encoding": "identity"}, stream=True)

        answers = []
        # The other one may be in memory for a moment, since it was made last.
        until(lambda: answers.append(ask(first)) or answers[-1].status_code == 200, "room for the first")
        answer = answers[-1]
        before = server.metric("evictions_total")
        # There is no room for both, and the one that is being read does not go.
        refused = ask(second)
        assert refused.status_code in (413, 429, 503, 507), refused.status_code
        assert server.metric("evictions_total") == before
        assert answer.content.count(b"\n") == rows + 1
        until(lambda: ask(second).status_code == 200, "room for the other")
    finally:
        server.stop()


def test_results_kept_at_once_leave_no_memory_behind(tmp_path):
    """fails on 9b261d5: threads kept 400 MiB of what they had freed, beyond the budget."""
    memory, rows = 512 << 20, 400_000
    server = Server(tmp_path / "data", "--memory", str(memory)).start()
    try:
        token = server.token()
        api = Api(server, token)
        lines = "".join(f"n{i},n{i * 7 % rows},text number {i} and some more text to make it long enough to count {i}\n"
                        for i in range(rows))
        dataset = api.dataset([api.file(b"s,d,t\n" + lines.encode(), "csv")["file_id"]])
        query = json.dumps(json.loads(QUERY) | {"format": "parquet", "persist": True}).encode()
        statuses, peak, done = [], [0], threading.Event()

        def watch():
            while not done.is_set():
                peak[0] = max(peak[0], server.rss_bytes())
                time.sleep(0.02)

        def keep():
            mine = Api(server, token)
            statuses.append(mine("POST", f"/api/v2/etl/datasets/{dataset}/gfql/all", data=query).status_code)

        threads = [threading.Thread(target=keep) for _ in range(24)]
        watcher = threading.Thread(target=watch)
        watcher.start()
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        done.set()
        watcher.join()
        # Those that found no room were told so.
        assert statuses.count(200) >= 4 and set(statuses) <= {200, 413, 429, 503}, statuses
        assert peak[0] < memory + (200 << 20), peak[0] >> 20
    finally:
        server.stop()
