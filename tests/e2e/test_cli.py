"""The command line as a user meets it."""

import json
import os

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import requests

from conftest import PASSWORD, Server, counted, free_port, run_cli

COMMANDS = ["serve", "user", "key", "layout", "compute", "query", "picture", "generate", "export", "import", "doctor", "bench", "print"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_defaults_and_an_example(command):
    r = run_cli(command, "--help")
    assert "Usage: graphlume" in r.stdout and not r.stderr
    assert r.stdout.count("\n") > 8


def test_wrong_usage_is_2_and_a_failure_is_1_with_one_sentence(tmp_path):
    for args in ([], ["nonsense"], ["layout"], ["serve", "--listen", "here"], ["generate", "moebius", "--out", "x.csv"]):
        r = run_cli(*args, check=False)
        assert r.returncode == 2 and r.stderr and not r.stdout, (args, r)
    missing = tmp_path / "none.csv"
    r = run_cli("layout", "force_atlas2", missing, check=False)
    assert r.returncode == 1 and str(missing) in r.stderr and "panic" not in r.stderr
    bad = tmp_path / "x.csv"
    bad.write_text("a,b\n1,2\n")
    r = run_cli("layout", "force_atlas2", bad, "--source", "srk", check=False)
    assert r.returncode == 1 and '--source "srk"' in r.stderr and "a, b" in r.stderr, r.stderr
    r = run_cli("layout", "force_atlas2", bad, "--iterations", "-5", check=False)
    assert r.returncode == 2 and "'-5'" in r.stderr and "whole number" in r.stderr, r.stderr
    r = run_cli("layout", "forse_atlas2", bad, "--source", "a", "--destination", "b", check=False)
    assert r.returncode == 1 and "force_atlas2" in r.stderr, r.stderr
    r = run_cli("layout", "force_atlas2", bad, "--source", "a", "--destination", "b", "--param", "gravvity=1", check=False)
    assert r.returncode == 1 and "gravity" in r.stderr, r.stderr


def test_edge_tables_are_read_as_people_have_them(tmp_path):
    def degrees(name, text, *options):
        (tmp_path / name).write_text(text)
        out = tmp_path / "made" / "here" / "out.csv"
        r = run_cli("query", tmp_path / name, *options, "--cypher", "MATCH (a)-->(b) RETURN a.id AS a, b.id AS b ORDER BY a, b", "--out", out)
        return [tuple(map(int, line.split(","))) for line in out.read_text().split("\n")[1:] if line], r.stderr

    want = [(1, 2), (2, 3)]
    assert degrees("a.csv", "src,dst\n1,2\n2,3\n") == (want, "")
    for header in ("source,destination", "Source,Target", "from,to", "acct,peer"):
        rows, said = degrees("a.csv", f"{header}\n1,2\n2,3\n")
        a, b = header.split(",")
        assert rows == want and f'"{a}"' in said and f'"{b}"' in said, (header, rows, said)
    rows, said = degrees("a.csv", "w,to,from\n9,2,1\n9,3,2\n")
    assert rows == want and '"from"' in said
    rows, said = degrees("a.csv", "1,2\n2,3\n")
    assert rows == want[1:] and "--header none" in said
    for name, text in [
        ("a.csv", "1,2\n2,3\n"),
        ("a.txt", "1 2\n2 3\n"),
        ("a.txt", "1\t2\n2\t3\n"),
        ("a.tsv", "1\t2\n2\t3\n"),
        ("a.txt", "# Directed graph\n# FromNodeId\tToNodeId\n1\t2\n2\t3\n"),
    ]:
        rows, said = degrees(name, text, "--header", "none")
        assert rows == want and "--header none" not in said, (name, text, rows, said)


def test_configuration_is_rejected_with_78(tmp_path):
    for args, word in [
        (["serve", "--cookie-samesite", "None"], "COOKIE_SECURE"),
        (["serve", "--cookie-samesite", "Sometimes"], "Sometimes"),
        (["serve", "--memory", "lots"], "lots"),
        (["serve", "--listen", "localhost:8123", "--internal-listen", "8123"], "--internal-listen"),
        (["serve", "--backend", "cuda"], "cuda"),
        (["--config", str(tmp_path / "none.toml"), "serve"], "none.toml"),
    ]:
        r = run_cli(*args, "--data", tmp_path / "d" , check=False)
        assert r.returncode == 78 and word.lower() in r.stderr.lower(), (args, r)
    config = tmp_path / "c.toml"
    config.write_text("[serve]\nlissen = 'x'\n")
    r = run_cli("--config", config, "serve", check=False)
    assert r.returncode == 78 and "lissen" in r.stderr and "listen" in r.stderr


def test_first_start_keeps_the_generated_password_out_of_logs(tmp_path):
    import os
    import re

    os.environ.pop("GRAPHLUME_ADMIN_PASSWORD", None)
    s = Server(tmp_path / "data")
    s.start()
    s.stop()
    assert "admin" in s.output()
    run_cli("user", "list", "--data", tmp_path / "data")
    # Without the variable a password is generated. Where standard output is no terminal it stands in a file.
    import subprocess

    from conftest import HANG_S, binary, free_port, until

    port = free_port()
    log = tmp_path / "first.log"
    with open(log, "wb") as out:
        p = subprocess.Popen([binary(), "serve", "--listen", f"127.0.0.1:{port}", "--internal-listen",
                              f"127.0.0.1:{free_port()}", "--data", str(tmp_path / "other")], stdout=out, stderr=out)
    # Said once the server listens.
    found = until(lambda: re.search(r"superuser admin, password in (\S+)\n", log.read_text()), "where the password is")
    kept = tmp_path / "other" / "first-password"
    assert found.group(1) == str(kept) and kept.stat().st_mode & 0o777 == 0o600
    password = kept.read_text().strip()
    assert len(password) >= 16 and password not in log.read_text()
    r = requests.post(f"http://127.0.0.1:{port}/api-token-auth/", json={"username": "admin", "password": password})
    # Another password ends the use of the file.
    run_cli("user", "password", "admin", "--password-stdin", "--data", tmp_path / "other", input=PASSWORD + "\n")
    assert not kept.exists()
    p.terminate()
    assert p.wait(HANG_S) == 0
    assert r.status_code == 200, r.text


def test_accounts_and_keys(tmp_path):
    data = tmp_path / "data"
    run_cli("user", "add", "carol", "--password-stdin", "--email", "c@x", "--data", data, input=PASSWORD + "\n")
    r = run_cli("user", "add", "carol", "--data", data, check=False)
    assert r.returncode == 1 and "carol" in r.stderr
    generated = run_cli("user", "add", "dave", "--role", "staff", "--data", data).stdout.strip()
    assert len(generated) >= 16
    key = run_cli("key", "create", "carol", "--data", data).stdout.strip()
    assert key.count(":") == 1
    listing = run_cli("user", "list", "--data", data).stdout
    assert "carol" in listing and "dave" in listing and "staff" in listing
    keys = run_cli("key", "list", "--data", data).stdout
    assert key.split(":")[0] in keys and key.split(":")[1] not in keys
    s = Server(data).start()
    try:
        assert run_cli("user", "list", "--data", data).stdout.startswith(listing)
        header = {"Authorization": f"PersonalKey {key}"}
        assert requests.post(f"{s.url}/api/v2/auth/pkey/jwt/", headers=header).status_code == 200
        assert s.token("dave", generated)
    finally:
        s.stop()
    run_cli("key", "revoke", key.split(":")[0], "--data", data)
    run_cli("user", "disable", "dave", "--data", data)
    run_cli("user", "enable", "dave", "--data", data)
    assert "disabled" not in run_cli("user", "list", "--data", data).stdout
    run_cli("user", "disable", "dave", "--data", data)
    run_cli("user", "password", "carol", "--password-stdin", "--data", data, input="another long one\n")
    s.start()
    try:
        assert requests.post(f"{s.url}/api/v2/auth/pkey/jwt/", headers=header).status_code in (400, 401)
        login = lambda u, p: requests.post(f"{s.url}/api-token-auth/", json={"username": u, "password": p})
        assert login("dave", generated).status_code == 400
        assert login("carol", PASSWORD).status_code == 400
        assert login("carol", "another long one").status_code == 200
    finally:
        s.stop()


def test_what_is_not_there_is_named_with_what_to_name_instead(tmp_path):
    edges = tmp_path / "e.csv"
    edges.write_text("s,d\n1,2\n")
    absent = tmp_path / "absent"
    for args, told in [
        (("compute", "pagerank", f"{absent}.csv"), f"{absent}.csv: there is no such file; name a table"),
        (("layout", "circle", f"{absent}.parquet"), f"{absent}.parquet: there is no such file; name a table"),
        (("layout", "circle", edges, "--nodes", f"{absent}.csv"), f"{absent}.csv: there is no such file; name a table"),
        (("query", edges, "--gfql", absent), f"{absent}: there is no such file; name one that holds the operations"),
        (("compute", "pagerankk", edges), 'no compute named "pagerankk" (did you mean "pagerank"?)'),
        (("user", "list", "--data", absent), "no such data folder; `graphlume serve` makes it"),
        (("import", absent, "--data", tmp_path / "new"), "there is no such folder; name another one"),
        (("picture", "x", "-o", tmp_path / "x.png", "--server", f"http://127.0.0.1:{free_port()}"),
         "name the address of a running `graphlume serve`"),
        (("serve", "--config", absent), f"configuration file {absent}: "),
    ]:
        r = run_cli(*args, check=False)
        assert r.returncode != 0 and told in r.stderr, (args, r.stderr)
    assert "name another with --config" in r.stderr


def test_export_and_import_carry_everything_over(tmp_path):
    s = Server(tmp_path / "data").start()
    api = s.api()
    f = api.file(b"s,d\n1,2\n2,3\n", "csv")
    d = api.dataset([f["file_id"]])
    # The sizes of a graph are written down once it has been built, for which nobody waits.
    counted(api, d)
    s.stop()
    run_cli("export", tmp_path / "backup", "--data", tmp_path / "data")
    run_cli("import", tmp_path / "backup", "--data", tmp_path / "copy")
    r = run_cli("import", tmp_path / "backup", "--data", tmp_path / "copy", check=False)
    assert r.returncode == 1, "a folder that is in use must not be overwritten"
    copy = Server(tmp_path / "copy").start()
    try:
        got = counted(copy.api(), d)
        assert (got["node_count"], got["edge_count"], got["edge_files"]) == (3, 2, [f["file_id"]])
    finally:
        copy.stop()


@pytest.fixture(scope="module")
def rmat(tmp_path_factory):
    path = tmp_path_factory.mktemp("g") / "rmat.parquet"
    run_cli("generate", "rmat", "--scale", 10, "--out", path)
    return path


def test_an_import_of_what_is_no_backup_leaves_nothing_behind(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for name, said in [("none", "no such folder"), ("file", "graphlume export"), ("folder", "graphlume export")]:
        r = run_cli("import", tmp_path / name, "--data", tmp_path / "data", check=False)
        assert r.returncode == 1 and said in r.stderr and name in r.stderr, r
        assert not (tmp_path / "data").exists()
    assert "token.key" in run_cli("export", "--help").stdout


def test_generate_writes_the_same_bytes_in_every_format(tmp_path, rmat):
    frame = pd.read_parquet(rmat)
    assert len(frame) == 16 << 10
    for name in ("a.csv", "a.arrow"):
        run_cli("generate", "rmat", "--scale", 10, "--out", tmp_path / name)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "a.csv"), frame, check_dtype=False)
    pd.testing.assert_frame_equal(pd.read_feather(tmp_path / "a.arrow"), frame)


def test_layout_is_the_same_at_any_number_of_threads_and_differs_by_seed(tmp_path, rmat):
    args = ["layout", "force_atlas2", rmat, "--iterations", 30]
    run_cli(*args, "--threads", 1, "--out", tmp_path / "1.parquet")
    r = run_cli(*args, "--threads", 2, "--timings", "--out", tmp_path / "2.parquet")
    timings = json.loads(r.stderr.strip().splitlines()[-1])
    assert {"load_s", "build_s", "run_s", "iterations", "nodes", "edges", "peak_bytes", "backend"} <= set(timings)
    assert timings["iterations"] == 30 and timings["backend"] == "cpu"
    one, two = pd.read_parquet(tmp_path / "1.parquet"), pd.read_parquet(tmp_path / "2.parquet")
    pd.testing.assert_frame_equal(one, two)
    assert list(one) == ["node", "x", "y"] and np.isfinite(one[["x", "y"]].to_numpy()).all()
    run_cli(*args, "--seed", 5, "--out", tmp_path / "3.parquet")
    assert not one.equals(pd.read_parquet(tmp_path / "3.parquet"))


def test_a_repeated_computation_says_how_long_it_took_first_and_again(rmat):
    once = run_cli("compute", "triangle_count", rmat, "--timings")
    r = run_cli("compute", "triangle_count", rmat, "--timings", "--repeat", 3)
    assert r.stdout == once.stdout
    timings = json.loads(r.stderr.strip().splitlines()[-1])
    assert timings["first_s"] > 0 and timings["run_s"] > 0
    refused = run_cli("compute", "triangle_count", rmat, "--repeat", 0, check=False)
    assert refused.returncode == 2 and "1..=1000" in refused.stderr


def test_layout_separates_the_camps_of_the_karate_club(tmp_path):
    run_cli("generate", "karate", "--out", tmp_path / "e.csv", "--node-file", tmp_path / "n.csv")
    out = run_cli("layout", "force_atlas2", tmp_path / "e.csv", "--iterations", 300).stdout
    rows = [line.split(",") for line in out.splitlines()[1:]]
    at = {int(r[0]): np.array([float(r[1]), float(r[2])]) for r in rows}
    camp = pd.read_csv(tmp_path / "n.csv").set_index("node")["community"]
    same = np.mean([np.linalg.norm(at[a] - at[b]) for a in at for b in at if a < b and camp[a] == camp[b]])
    other = np.mean([np.linalg.norm(at[a] - at[b]) for a in at for b in at if a < b and camp[a] != camp[b]])
    assert other > 1.2 * same, (same, other)


def test_compute_agrees_with_networkx(tmp_path, rmat):
    frame = pd.read_parquet(rmat).drop_duplicates()
    directed = nx.from_pandas_edgelist(frame, "src", "dst", create_using=nx.DiGraph)
    run_cli("compute", "pagerank", rmat, "--directed", "--out", tmp_path / "p.parquet")
    got = pd.read_parquet(tmp_path / "p.parquet").set_index("node")["pagerank"]
    want = nx.pagerank(directed, tol=1e-10)
    assert max(abs(got[v] - want[v]) for v in directed) < 1e-5
    run_cli("compute", "connected_components", rmat, "--out", tmp_path / "c.parquet")
    labels = pd.read_parquet(tmp_path / "c.parquet").set_index("node").iloc[:, 0]
    for component in nx.connected_components(directed.to_undirected()):
        assert labels[list(component)].nunique() == 1
    assert labels.nunique() == nx.number_connected_components(directed.to_undirected())
    simple = directed.to_undirected()
    simple.remove_edges_from(nx.selfloop_edges(simple))
    run_cli("compute", "core_number", rmat, "--out", tmp_path / "k.parquet")
    cores = pd.read_parquet(tmp_path / "k.parquet").set_index("node").iloc[:, 0]
    want = nx.core_number(simple)
    assert max(cores[v] for v in simple) >= max(want.values())


def test_doctor_says_how_things_stand(tmp_path):
    r = run_cli("doctor", "--data", tmp_path / "data")
    assert "data folder" in r.stdout.lower() and "gpu" in r.stdout.lower() and "memory" in r.stdout.lower()


def test_query_asks_table_files(tmp_path):
    edges, nodes, steps = tmp_path / "e.csv", tmp_path / "n.csv", tmp_path / "q.json"
    edges.write_text("src,dst,w\n1,2,5\n2,3,6\n3,1,7\n7,8,9\n")
    nodes.write_text("id,name\n1,ann\n2,bob\n3,carl\n7,dora\n")
    steps.write_text(json.dumps([{"type": "Node", "filter_dict": {"id": 1}}, {"type": "Edge", "direction": "forward", "hops": 2},
                                 {"type": "Node"}]))
    both = json.loads(run_cli("query", edges, "--nodes", nodes, "--gfql", steps).stdout)
    assert [n["name"] for n in both["nodes"]] == ["ann", "bob", "carl"] and [e["w"] for e in both["edges"]] == [5, 6]
    piped = run_cli("query", edges, "--nodes", nodes, "--gfql", "-", "--output", "nodes", input=steps.read_text()).stdout
    assert piped == "id,name\n1,ann\n2,bob\n3,carl\n"
    assert run_cli("query", edges, "--gfql", steps, "--output", "shape").stdout == "kind,rows,cols\nnodes,3,1\nedges,2,3\n"
    out = tmp_path / "rows.parquet"
    run_cli("query", edges, "--nodes", nodes, "--cypher", "MATCH (a)-->(b) WHERE a.id > $least RETURN a.name AS a, b.name AS b ORDER BY a",
            "--param", "least=1", "--out", out)
    # Node 8, which only an edge names, is a node without a name.
    assert pd.read_parquet(out).fillna("").values.tolist() == [["bob", "carl"], ["carl", "ann"], ["dora", ""]]
    plan = run_cli("query", edges, "--cypher", "MATCH (a)-->(b) RETURN b.id, count(*)", "--explain").stdout
    assert "CountPaths (a)-[" in plan and "Aggregate" in plan
    told = run_cli("query", edges, "--cypher", "MATCH (a)-->(b) RETURN b.id AS b", "--profile").stdout
    assert told.startswith("Result [b] (rows ") and "Expand (a)-[" in told and ", estimated rows " in told
    both = run_cli("query", edges, "--cypher", "RETURN 1", "--profile", "--explain", check=False)
    assert both.returncode == 2 and "--explain" in both.stderr
    for args, word in [
        (["--cypher", "CREATE (n)"], "CREATE"), (["--gfql", tmp_path / "none.json"], "none.json"),
        (["--cypher", "MATCH (n) RETURN n", "--output", "edges"], "no edges"), (["--cypher", "RETURN 1", "--param", "x"], "name=value"),
        (["--cypher", "RETURN 1", "--output", "all", "--out", tmp_path / "x.csv"], ".json"),
    ]:
        r = run_cli("query", edges, *args, check=False)
        assert r.returncode == 1 and word in r.stderr and not r.stdout, (args, r)
    assert run_cli("query", edges, check=False).returncode == 2


def test_query_says_on_stderr_what_it_looked_for_in_vain(tmp_path):
    edges, nodes, steps = tmp_path / "e.csv", tmp_path / "n.csv", tmp_path / "q.json"
    edges.write_text("src,dst,w\n1,a,5\n2,3,6\n")
    nodes.write_text("id,name\n1,ann\n2,bob\n")
    steps.write_text(json.dumps([{"type": "Node", "filter_dict": {"nmae": "ann"}}]))
    ask = ["query", edges, "--nodes", nodes]
    for args, said in [
        (["--cypher", "MATCH (a)-->(b) RETURN a.nmae"], ['"nmae"', '"name"', "null in every row"]),
        (["--cypher", "MATCH (a:Robot) RETURN count(*)"], ['label "Robot"']),
        (["--gfql", steps], ['"nmae"', '"name"', "null in every row"]),
    ]:
        r = run_cli(*ask, *args)
        assert all(word in r.stderr for word in said), (args, r.stderr)
        assert "holds numbers" in r.stderr and "holds text" in r.stderr and "no row in the node table" in r.stderr, r.stderr
    r = run_cli(*ask, "--cypher", "MATCH (a) WHERE a.name = 'ann' RETURN a.name")
    assert "null in every row" not in r.stderr and r.stdout == "a.name\nann\n"
    r = run_cli("compute", "pagerank", edges, "--nodes", nodes)
    assert "no row in the node table" in r.stderr and "never match" in r.stderr, r.stderr


def test_what_a_command_does_by_itself_is_said(tmp_path):
    out = tmp_path / "nd" / "sbm.csv"
    r = run_cli("generate", "sbm", "--nodes", 2000, "--edges", 3000, "--out", out, "--node-file", tmp_path / "more" / "n.csv")
    assert out.is_file() and "have no edge" in r.stderr, r
    assert len((tmp_path / "more" / "n.csv").read_text().splitlines()) == 2001
    edges = tmp_path / "e.csv"
    edges.write_text("src,dst\na,b\na,c\nc,d\n")
    r = run_cli("compute", "bfs", edges)
    assert "begins at the node from which the most edges lead on, a;" in r.stderr, r
    assert "-p source=ID names another" in run_cli("compute", "sssp", edges).stderr
    assert run_cli("compute", "bfs", edges, "-p", "start=d").stderr == ""
    r = run_cli("compute", "bfs", edges, "--directed", "-p", "start=d")
    assert "begins" not in r.stderr and 'starts at "d"' in r.stderr and "-p directed=false" in r.stderr, r
    assert run_cli("compute", "bfs", edges, "--directed", "-p", "start=c").stderr == ""
    timings = json.loads(run_cli("compute", "pagerank", edges, "--timings").stderr.strip().splitlines()[-1])
    assert timings["iterations"] > 1


def test_typing_errors_of_settings_are_named_and_help_needs_none(tmp_path):
    config = tmp_path / "c.toml"
    config.write_text("[serve]\nthreadz = 1\n")
    r = run_cli("--config", config, "serve", check=False)
    assert r.returncode == 78 and 'did you mean "threads"?' in r.stderr
    for args in [("--config", config, "serve", "--help"), ("--config", tmp_path / "none", "--help")]:
        assert "Usage" in run_cli(*args).stdout
    r = run_cli("doctor", "--data", tmp_path / "d", env={**os.environ, "GRAPHLUME_LISTENN": "1"})
    assert 'GRAPHLUME_LISTENN' in r.stderr and 'did you mean "GRAPHLUME_LISTEN"?' in r.stderr


def test_a_sample_configuration_completions_and_a_manual_are_printed(tmp_path):
    sample = run_cli("print", "config").stdout
    home = tmp_path / "home" / "graphlume"
    home.mkdir(parents=True)
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")}, "XDG_CONFIG_HOME": str(home.parent)}
    # The sample changes nothing, and with every comment taken away it is still one; the usual place is read.
    plain = "\n".join(l[2:] if " = " in l and l.startswith("# ") and l[2:].split(" = ")[0].replace("-", "").isalnum() else l
                      for l in sample.splitlines())
    assert "\nthreads = 0\n" in plain and "[serve]" in plain
    (home / "graphlume.toml").write_text("[serve]\nthreadz = 1\n")
    r = run_cli("doctor", "--data", tmp_path / "d", check=False, env=env)
    assert r.returncode == 78 and str("threadz") in r.stderr, r
    (home / "graphlume.toml").write_text(sample)
    assert run_cli("doctor", "--data", tmp_path / "d", env=env).returncode == 0
    assert ".TH GRAPHLUME 1" in run_cli("print", "man").stdout
    assert "-l threads" in run_cli("print", "fish").stdout
    script = run_cli("print", "bash").stdout + """
COMP_WORDS=(graphlume user li); COMP_CWORD=2; _graphlume; echo "${COMPREPLY[@]}"
COMP_WORDS=(graphlume serve --intern); COMP_CWORD=2; _graphlume; echo "${COMPREPLY[@]}"
"""
    import subprocess

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.split() == ["list", "--internal-listen"], done
