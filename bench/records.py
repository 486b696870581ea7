#!/usr/bin/env python3
"""Records of one account, and what others feel of them.

    records.py --bin graphlume [--records 250] [--out table.md]

One account makes many large records of datasets and a dataset that holds 32 files. Measured are, for another account: a GET
of one of those files, and `/healthz` while two datasets that cite all 32 are posted at once; then 16 lists of everything
at once, the resident memory after them, and the first upload after a start. Nothing of this decides a test.
"""

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

PASSWORD = "correct horse battery staple"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, binary, folder):
        self.binary, self.data, self.port = binary, Path(folder) / "data", free_port()
        for name in ("alice", "bob"):
            subprocess.run([binary, "user", "add", name, "--password-stdin", "--data", self.data],
                           input=PASSWORD + "\n", text=True, check=True, capture_output=True)

    def start(self):
        env = dict(os.environ, GRAPHLUME_ADMIN_PASSWORD=PASSWORD)
        self.process = subprocess.Popen(
            [self.binary, "serve", "--backend", "cpu", "--listen", f"127.0.0.1:{self.port}", "--internal-listen",
             f"127.0.0.1:{free_port()}", "--data", self.data, "--memory", "512MiB"],
            env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                self.ask("GET", "/healthz")
                return
            except OSError:
                if self.process.poll() is not None:
                    raise SystemExit(f"the server ended with {self.process.returncode}")
                time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)

    def ask(self, method, path, body=None, token=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if isinstance(body, dict):
            body, headers["Content-Type"] = json.dumps(body, separators=(",", ":")), "application/json"
        c.request(method, path, body, headers)
        r = c.getresponse()
        out = r.status, r.read()
        c.close()
        return out

    def token(self, name):
        return json.loads(self.ask("POST", "/api-token-auth/", {"username": name, "password": PASSWORD})[1])["token"]

    def rss(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(l for l in status.splitlines() if l.startswith("VmRSS")).split()[1]) / 1024


def body(files=(), **more):
    return {"name": "t", "metadata": {}, "node_encodings": {"bindings": {}}, "edge_files": list(files),
            "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}, **more}


def made(answer, want=201):
    assert answer[0] == want, answer
    return json.loads(answer[1])


def together(n, work):
    threads = [threading.Thread(target=work) for _ in range(n)]
    [t.start() for t in threads]
    [t.join() for t in threads]


def timed(work):
    begin = time.perf_counter()
    result = work()
    return result, (time.perf_counter() - begin) * 1000


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", required=True)
    p.add_argument("--records", type=int, default=250)
    p.add_argument("--out", type=Path)
    args = p.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        s = Server(args.bin, folder)
        s.start()
        alice, bob = s.token("alice"), s.token("bob")
        files = []
        for _ in range(32):
            f = made(s.ask("POST", "/api/v2/files/", {"file_type": "csv"}, alice))["file_id"]
            s.ask("POST", f"/api/v2/upload/files/{f}", "s,d\n1,2\n", alice)
            files.append(f)
        made(s.ask("POST", "/api/v2/upload/datasets/", body(files), alice))
        for _ in range(args.records):
            made(s.ask("POST", "/api/v2/upload/datasets/", body(metadata={"a": [0] * 30_000}), alice))
        times = sorted(timed(lambda: s.ask("GET", f"/api/v2/files/{files[0]}", token=bob))[1] for _ in range(50))
        rows.append(("GET of another's file, slowest of 50", f"{times[-1]:.1f} ms", "50 ms"))
        waits, over = [], threading.Event()

        def probe():
            while not over.is_set():
                waits.append(timed(lambda: s.ask("GET", "/healthz"))[1])
                time.sleep(0.002)

        prober = threading.Thread(target=probe)
        prober.start()
        cited = []
        for _ in range(50):
            together(2, lambda: cited.append(s.ask("POST", "/api/v2/upload/datasets/", body(files), bob)[0]))
        over.set()
        prober.join()
        assert set(cited) == {201}, cited
        waits.sort()
        p99 = waits[int(len(waits) * 0.99)]
        rows.append((f"/healthz p99 of {len(waits)} while two datasets of 32 such files are posted, fifty times",
                     f"{p99:.1f} ms", "100 ms"))
        together(16, lambda: s.ask("GET", "/api/v2/datasets/?limit=1000", token=alice))
        rows.append(("resident after 16 lists at once, --memory 512MiB", f"{s.rss():.0f} MiB", "712 MiB"))
        s.stop()
        s.start()
        alice = s.token("alice")
        f = made(s.ask("POST", "/api/v2/files/", {"file_type": "csv"}, alice))["file_id"]
        first = timed(lambda: made(s.ask("POST", f"/api/v2/upload/files/{f}", "s,d\n1,2\n", alice), 200))[1]
        rows.append(("first upload after a start", f"{first:.1f} ms", "1000 ms"))
        s.stop()
    text = f"{args.records} records of 60 kB of one account.\n\n| what | measured | bound |\n|---|---|---|\n"
    text += "".join(f"| {a} | {b} | {c} |\n" for a, b, c in rows)
    print(text)
    if args.out:
        args.out.write_text(text)


if __name__ == "__main__":
    main()
