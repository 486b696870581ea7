//! The call that places nodes by their columns.

use arrow_array::Float32Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use graphlume_types::CancelReason;

use super::*;
use graphlume_calls::show::shown;

/// Nodes in three groups, by two columns of numbers and a text, and a path of edges.
fn groups(n: usize) -> PropertyGraph {
    graphlume_types::tuning::use_small(true);
    let noise = |i: usize, c: u64| graphlume_types::hash::unit_f64(1, c, i as u64) as f32;
    let number = |c: u64| -> ArrayRef {
        Arc::new((0..n).map(|i| Some((i % 3 * 8) as f32 + noise(i, c))).collect::<Float32Array>())
    };
    let text = |of: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..n).map(of)))
    };
    let nodes = RecordBatch::try_from_iter([
        ("id", text(&|i| format!("v{i}"))),
        ("a", number(0)),
        ("b", number(1)),
        ("kind", text(&|i| ["p", "q", "r"][i % 3].to_owned())),
        ("free", text(&|i| format!("text {i}"))),
    ]);
    let edges = RecordBatch::try_from_iter([
        ("s", text(&|i| format!("v{i}"))),
        ("d", text(&|i| format!("v{}", (i + 1) % n))),
        ("w", number(2)),
    ]);
    let table = |batch: Result<RecordBatch, _>| Some(Table::try_new(batch.unwrap()).unwrap());
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    PropertyGraph::new(table(nodes), table(edges), bindings).unwrap()
}

fn umap(graph: &PropertyGraph, params: Value) -> Result<(PropertyGraph, Vec<String>), QueryError> {
    let query = parse(&json!([{"type": "Call", "function": "umap", "params": params}]))?;
    let made = run(graph, &query, None, Strictness::Lenient, &CancelToken::new())?;
    Ok((made.graph, made.notices.into_iter().map(|n| n.text).collect()))
}

fn numbers(table: Option<&Table>, name: &str) -> Vec<f32> {
    table.unwrap().column(name).unwrap().as_primitive::<Float32Type>().values().to_vec()
}

#[test]
fn nodes_are_placed_by_their_columns_and_joined_with_their_neighbours() {
    let (found, notices) = umap(&groups(90), json!({"dbscan": true, "min_dist": 0.3})).unwrap();
    let (x, y) = (numbers(found.nodes(), "x"), numbers(found.nodes(), "y"));
    assert!(x.len() == 90 && x.iter().chain(&y).all(|v| v.is_finite()));
    // Groups are apart: a node is nearest to one of its own.
    for i in 0..90 {
        let far = |j: &usize| (x[i] - x[*j]).hypot(y[i] - y[*j]);
        let nearest = (0..90).filter(|j| *j != i).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap();
        assert_eq!(nearest % 3, i % 3);
    }
    let clusters = column(found.nodes(), "_dbscan");
    let of_kind = |i: usize| {
        clusters.split(' ').skip(i).step_by(3).collect::<std::collections::BTreeSet<_>>()
    };
    assert!(of_kind(0).is_disjoint(&of_kind(1)) && of_kind(1).is_disjoint(&of_kind(2)));
    let edges = found.edges().unwrap();
    assert_eq!(edges.column_names(), ["_src_implicit", "_dst_implicit", "_weight"]);
    let (from, to) = (column(Some(edges), "_src_implicit"), column(Some(edges), "_dst_implicit"));
    let group = |id: &str| id[1..].parse::<usize>().unwrap() % 3;
    assert!(from.split(' ').zip(to.split(' ')).all(|(a, b)| group(a) == group(b) && a != b));
    assert!(numbers(Some(edges), "_weight").iter().all(|w| *w > 0.0 && *w <= 1.0));
    let said = shown(&found);
    assert_eq!(
        said["bindings"],
        json!({"node": "id", "source": "_src_implicit", "destination": "_dst_implicit"})
    );
    assert_eq!(
        said["encodings"],
        json!({"point_x": "x", "point_y": "y", "edge_weight": "_weight"})
    );
    assert_eq!(said["url_params"], json!({"info": "true", "play": 0}));
    assert!(notices.len() == 1 && notices[0].contains("\"free\""), "{notices:?}");
}

#[test]
fn what_is_not_asked_for_stays_away() {
    let some =
        json!({"X": ["a", "id"], "encode_weight": false, "encode_position": false, "suffix": "_u"});
    let (found, notices) = umap(&groups(30), some).unwrap();
    assert_eq!(
        found.nodes().unwrap().column_names(),
        ["id", "a", "b", "kind", "free", "x_u", "y_u"]
    );
    assert_eq!(found.edges().unwrap().column_names(), ["s", "d", "w"]);
    assert_eq!((shown(&found)["encodings"].clone(), notices.len()), (json!({}), 0));
    let (found, _) =
        umap(&groups(30), json!({"play": null, "suffix": "2", "n_components": 3})).unwrap();
    assert!(shown(&found).get("url_params").is_none());
    assert!(found.edges().unwrap().column("_weight2").is_some());
    assert!(found.nodes().unwrap().column("y2").is_some());
    let weights = |scale: f64| {
        let (found, _) = umap(&groups(30), json!({"X": "a", "scale": scale})).unwrap();
        numbers(found.edges(), "_weight")
    };
    let (all, some) = (weights(1.0), weights(0.5));
    assert!(some.len() < all.len() && some.iter().all(|w| *w > 0.5) && !some.is_empty());
    assert_eq!(weights(0.0).len(), 0);
}

#[test]
fn edges_are_placed_by_their_ends_and_columns() {
    let (found, _) = umap(&groups(40), json!({"kind": "edges", "suffix": "_e"})).unwrap();
    assert_eq!(found.edges().unwrap().column_names(), ["s", "d", "w", "x_e", "y_e"]);
    assert_eq!(found.nodes().unwrap().num_rows(), 40);
    assert!(found.nodes().unwrap().column("x_e").is_none());
    assert_eq!(shown(&found)["bindings"]["source"], "s");
}

#[test]
fn labels_are_no_features_and_part_their_rows() {
    let graph = groups(60);
    // The column says nothing of the groups; the labels do.
    let noise = |y: Value| json!({"kind": "nodes", "X": ["free2"], "y": y, "scale": 0.9, "n_neighbors": 20});
    let free: ArrayRef = Arc::new(
        (0..60_u64)
            .map(|i| Some(graphlume_types::hash::unit_f64(9, 9, i) as f32))
            .collect::<Float32Array>(),
    );
    let nodes = graphlume_store::materialize::with(graph.nodes().unwrap(), "free2", free).unwrap();
    let graph = graph.replaced(Some(nodes), graph.edges().cloned()).unwrap();
    let share = |params: Value| {
        let (found, notices) = umap(&graph, params).unwrap();
        let edges = found.edges();
        let group = |id: &str| id[1..].parse::<usize>().unwrap() % 3;
        let (from, to) = (column(edges, "_src_implicit"), column(edges, "_dst_implicit"));
        let same = from.split(' ').zip(to.split(' ')).filter(|(a, b)| group(a) == group(b)).count();
        (same as f64 / edges.unwrap().num_rows() as f64, notices)
    };
    let (without, _) = share(noise(Value::Null));
    let (with, notices) = share(noise(json!("kind")));
    assert!(with > 0.9 && without < 0.6 && notices.is_empty(), "{with} {without}");
    let (several, notices) = share(noise(json!(["kind", "a"])));
    assert!(several == without && notices[0].contains("kind, a"), "{several} {notices:?}");
}

#[test]
fn what_follows_sees_the_graph_of_neighbours() {
    let query = json!([
        {"type": "Node", "filter_dict": {"kind": {"type": "IsIn", "options": ["p", "q"]}}},
        {"type": "Call", "function": "umap", "params": {"X": ["a", "b"]}},
        {"type": "Call", "function": "get_degrees", "params": {}},
    ]);
    let query = parse(&query).unwrap();
    let found =
        run(&groups(90), &query, None, Strictness::Lenient, &CancelToken::new()).unwrap().graph;
    assert_eq!(found.nodes().unwrap().num_rows(), 60);
    let degrees = column(found.nodes(), "degree");
    assert!(degrees.split(' ').all(|d| d.parse::<usize>().unwrap() >= 11), "{degrees}");
}

#[test]
fn parameters_are_refused_by_name_with_their_range() {
    let graph = groups(12);
    let refused = [
        (json!({"n_neighbors": 1}), "params.n_neighbors", "a whole number from 2 to 1000"),
        (json!({"n_neighbors": 2.5}), "params.n_neighbors", "whole"),
        (json!({"n_components": 1}), "params.n_components", "2 to 100"),
        (json!({"min_dist": -1}), "params.min_dist", "from 0 to 1000"),
        (json!({"min_dist": 0.9}), "params.min_dist", "at most \"spread\", 0.5"),
        (json!({"min_dist": 0, "dbscan": true}), "params.min_dist", "above 0"),
        (json!({"spread": 0}), "params.spread", "0.000001"),
        (json!({"repulsion_strength": "x"}), "params.repulsion_strength", "from 0 to 1000"),
        (json!({"local_connectivity": -1}), "params.local_connectivity", "from 0"),
        (json!({"negative_sample_rate": 101}), "params.negative_sample_rate", "from 0 to 100"),
        (json!({"metric": "euclidian"}), "params.metric", "did you mean \"euclidean\"?"),
        (json!({"metric": 3}), "params.metric", "braycurtis"),
        (json!({"scale": -1}), "scale", "0 to 1000"),
        (json!({"suffix": 1}), "suffix", "a text"),
        (json!({"kind": "both"}), "kind", "\"nodes\" or \"edges\""),
        (json!({"play": -1}), "play", "whole number"),
        (json!({"inplace": true}), "params.inplace", "leave it out"),
        (json!({"engine": "gpu"}), "engine", "umap_learn"),
        (json!({"feature_engine": "torch"}), "params.feature_engine", "columns of numbers"),
        (json!({"feature_engine": "x"}), "params.feature_engine", "skrub"),
        (json!({"X": 3}), "X", "name of a column"),
        (json!({"X": ["aa"]}), "aa", "column-not-found"),
        (json!({"y": "knd"}), "knd", "column-not-found"),
        (json!({"X": "kind", "y": "kind"}), "params.X", "no column of the nodes to read"),
        (json!({"X": "kind", "feature_engine": "pandas"}), "params.X", "feature_engine \"auto\""),
        (
            json!({"umap_kwargs": {"n_epoch": 3}}),
            "params.umap_kwargs.n_epoch",
            "did you mean \"n_epochs\"?",
        ),
        (json!({"umap_kwargs": {"n_epochs": 1e9}}), "params.umap_kwargs.n_epochs", "0 to 10000"),
        (json!({"umap_kwargs": {"densmap": true}}), "params.umap_kwargs.densmap", "only be false"),
        (json!({"umap_kwargs": {"a": 1}}), "params.umap_kwargs", "give both"),
        (json!({"umap_kwargs": {"init": "best"}}), "params.umap_kwargs.init", "spectral"),
        (json!({"umap_kwargs": 3}), "umap_kwargs", "an object"),
        (json!({"umap_fit_kwargs": {"sample": 1}}), "params.umap_fit_kwargs.sample", "umap_kwargs"),
    ];
    for (params, field, text) in refused {
        let e = umap(&graph, params.clone()).unwrap_err().to_string();
        assert!(e.contains(field) && e.contains(text), "{params}: {e}");
    }
    let taken = json!({"umap_kwargs": {"n_epochs": 5, "random_state": 7, "init": "pca", "verbose": true, "densmap": false,
        "metric": "manhattan", "n_neighbors": 4}, "umap_fit_kwargs": {"ensure_all_finite": true}, "memoize": false, "engine": "cuml"});
    umap(&graph, taken).unwrap();
}

#[test]
fn a_stopped_call_says_so() {
    let cancel = CancelToken::new();
    let query = parse(&json!([{"type": "Call", "function": "umap", "params": {}}])).unwrap();
    cancel.cancel(CancelReason::ClientGone);
    let e = run(&groups(30), &query, None, Strictness::Lenient, &cancel).unwrap_err();
    assert_eq!(e.error_code().slug(), "query-stopped");
}
