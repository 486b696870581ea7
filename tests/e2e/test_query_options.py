"""Options of queries that clients have: each has its effect, or is refused by its name with what to do instead."""

import pytest

from test_gfql_docs import graphs, post  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore")


def call(function, **params):
    return [{"type": "Call", "function": function, "params": params}]


def refused(answer, *words):
    assert answer.status_code in (400, 422), answer.text
    missing = [word for word in words if word not in answer.text]
    assert not missing, (missing, answer.text)


def test_hop_takes_all_of_its_parameters(graphs, server):  # noqa: F811
    dataset = graphs["friends"]._dataset_id
    seeds = ["Alice"]
    ask = lambda **params: post(server, dataset, call("hop", **params))
    found = ask(nodes=seeds, hops=2, target_wave_front=["Bob", "Cleo"])
    assert found.status_code == 200 and found.json()["edges"], found.text
    every = ask(nodes=seeds, min_hops=1, max_hops=2, label_node_hops="far", label_seeds=True, output_min_hops=1, output_max_hops=2)
    assert every.status_code == 200 and {row["far"] for row in every.json()["nodes"]} == {0, 1}, every.text


def test_rows_take_the_ends_of_a_pattern(graphs, server):  # noqa: F811
    world = graphs["world"]
    steps = [{"type": "Node", "name": "a"}, {"type": "Edge", "direction": "forward", "name": "r"}, {"type": "Node", "name": "b"}]
    rows = {"table": "edges", "source": "r", "alias_endpoints": {"a": "src", "b": "dst"}}
    r = post(server, world._dataset_id, [*steps, *call("rows", **rows)], output="/nodes")
    assert r.status_code == 200 and len(r.json()) == len(world._edges), r.text
    refused(post(server, world._dataset_id, [*steps, *call("rows", **{**rows, "alias_endpoints": 3})], output="/nodes"), "alias_endpoints")


def test_a_token_for_another_dataset_is_refused_with_what_to_do(graphs, server):  # noqa: F811
    far = {"type": "RemoteGraph", "dataset_id": graphs["transfers"]._dataset_id, "token": "secret"}
    answer = post(server, graphs["world"]._dataset_id, {"type": "Let", "bindings": {"far": far}})
    refused(answer, "[unsupported-operation]", "rights of the one who asks", "leave the token out", "shared with the account")
    assert "secret" not in answer.text


def test_engines_are_known_by_name(graphs, server):  # noqa: F811
    dataset = graphs["world"]._dataset_id
    nodes = [{"type": "Node"}]
    answers = [post(server, dataset, nodes, engine=name).text for name in ("auto", "pandas", "cudf", "polars", None)]
    assert len(set(answers)) == 1
    refused(post(server, dataset, nodes, engine="spark"), "spark", "polars-gpu")
    assert post(server, dataset, call("get_degrees", engine="cudf")).status_code == 200
    refused(post(server, dataset, call("get_degrees", engine="spark")), "params.engine", "spark", "dask_cudf")


def test_export_arguments_say_what_is_done_or_are_refused(graphs, server):  # noqa: F811
    dataset = graphs["risk"]._dataset_id
    ask = lambda form, **args: post(server, dataset, [{"type": "Node"}], output="/nodes", format=form, df_export_args=args)
    plain = post(server, dataset, [{"type": "Node"}], output="/nodes", format="csv")
    said = ask("csv", index=False, sep=",", header=True, na_rep="", lineterminator="\n", encoding="utf-8", columns=None)
    assert said.status_code == 200 and said.text == plain.text and "\r" not in plain.text
    assert ask("json", orient="records", lines=False, force_ascii=False).status_code == 200
    assert ask("parquet", compression="snappy", index=False).status_code == 200
    refused(ask("csv", sep=";"), "df_export_args.sep", "leave it out")
    refused(ask("json", orient="split"), "df_export_args.orient", "records")
    refused(ask("parquet", compression="zstd"), "df_export_args.compression", "snappy")
    refused(ask("csv", columns=["id"]), "columns", "node_col_subset")
    refused(post(server, dataset, [{"type": "Node"}], df_export_args=[1]), "df_export_args", "object")


@pytest.mark.parametrize("function, params, words", [
    ("fa2_layout", {"featurize": True}, ["params.featurize", "leave it out"]),
    ("layout_cugraph", {"G": {}}, ["params.G"]),
    ("compute_cugraph", {"alg": "pagerank", "G": {}}, ["params.G"]),
    ("compute_cugraph", {"alg": "pagerank", "kind": "Hyper"}, ["Hyper", "MultiGraph"]),
    ("layout_cugraph", {"layout": "force_atlas2", "kind": "Hyper"}, ["Hyper", "MultiGraph"]),
    ("compute_igraph", {"alg": "pagerank", "use_vids": "yes"}, ["use_vids"]),
])
def test_what_a_call_cannot_do_is_refused_by_name(graphs, server, function, params, words):  # noqa: F811
    refused(post(server, graphs["world"]._dataset_id, call(function, **params)), *words)


def test_ids_are_kept_however_a_library_numbers_vertices(graphs, server):  # noqa: F811
    ask = lambda flag: post(server, graphs["transfers"]._dataset_id, call("compute_igraph", alg="pagerank", use_vids=flag)).text
    assert ask(True) == ask(False)


@pytest.mark.parametrize("pattern", ["a(?=b)", "a(?!b)", "(?<=a)b", r"(a)\1"])
def test_patterns_that_look_around_or_back_are_refused_with_the_reason(graphs, server, pattern):  # noqa: F811
    dataset = graphs["world"]._dataset_id
    steps = [{"type": "Node", "filter_dict": {"name": {"type": "Contains", "pat": pattern}}}]
    words = ["back references are not available", "two conditions"]
    refused(post(server, dataset, steps), "name", *words)
    text = "MATCH (n) WHERE n.name =~ $pattern RETURN n"
    refused(post(server, dataset, text, params={"pattern": pattern}), *words)
    search = call("rows", binding_ops=[{"type": "Node", "name": "n"}]) + call("search_any", alias="n", term=pattern, regex=True, out_col="m")
    refused(post(server, dataset, search), "term", *words)
