"""The page's own test-suite, against the real server."""

import os
import subprocess

from conftest import HANG_S, WEB, node_script, page_env, run_cli

EDGES = {"source": "src", "destination": "dst"}


def generated(alice, folder, kind, *options):
    """A generated graph as a dataset of alice."""
    out = folder / f"{kind}-{len(list(folder.iterdir()))}.parquet"
    run_cli("generate", kind, *options, "--out", out)
    file = alice.file(out.read_bytes(), "parquet", name=kind)
    return alice.dataset([file["file_id"]], edges=EDGES, name=kind)


# Of the tests of the panels these are run by the gate, which has a minute for the whole page; all of them by
# `scripts/long.sh page`. Collections have a file of their own there.
GATE = ["a filter hides nodes", "what cannot be read", "a brush is drawn", "what an expression", "selected: dark",
        "an ordinary graph leaves", "without WebGL 2"]


def suite(server, alice, tmp_path, name, only=()):
    """Runs one file of the page's tests against the server, or of it those whose names begin with one of `only`."""
    nothing = alice.file(b"src,dst\n", "csv", name="nothing")
    rows = b"".join(b"hub,%s\n" % (b"left" if k % 2 else b"right") for k in range(300))
    parallel = alice.file(b"src,dst\n" + rows, "csv", name="parallel")
    env = {
        "PAGE_URL": server.url,
        "PAGE_GRAPH": generated(
            alice, tmp_path, "sbm", "--nodes", 2000, "--edges", 6000, "--communities", 20, "--mixing", 10
        ),
        "PAGE_LARGE": generated(
            alice, tmp_path, "sbm", "--nodes", 9000, "--edges", 20000, "--communities", 60, "--mixing", 10
        ),
        "PAGE_SPARSE": generated(alice, tmp_path, "tree", "--nodes", 90, "--edges", 95),
        "PAGE_PARALLEL": alice.dataset([parallel["file_id"]], edges=EDGES, name="parallel"),
        "PAGE_EMPTY": alice.dataset([nothing["file_id"]], edges=EDGES, name="nothing"),
    }
    node, script = node_script(f"page/{name}")
    named = [f"--test-name-pattern={begin}" for begin in only]
    r = subprocess.run([node, "--test", f"--test-timeout={4000 * HANG_S}", "--test-reporter=spec", *named, script],
                       capture_output=True, text=True, timeout=6 * HANG_S, cwd=WEB, env=page_env(**env))
    print(r.stdout)
    assert r.returncode == 0, f"{r.stdout[-12000:]}\n{r.stderr[-4000:]}"
    for begin in only:
        assert any(line.startswith("✔") and begin in line for line in r.stdout.splitlines()), f"no test {begin!r}"


def test_the_page_suite_passes_on_the_real_server(server, alice, tmp_path):
    suite(server, alice, tmp_path, "page.test.mjs")


def test_the_panels_suite_passes_on_the_real_server(server, alice, tmp_path):
    suite(server, alice, tmp_path, "panels.test.mjs", () if os.environ.get("GRAPHLUME_LONG") else GATE)
