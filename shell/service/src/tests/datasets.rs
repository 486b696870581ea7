use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use graphlume_engine::{BuildStage, Built, LoadError, Loader};
use graphlume_storage::{Batch, DatasetRec};
use graphlume_types::{CancelToken, DatasetId};

use crate::datasets::loader::TableLoader;

fn load(rig: &Rig, id: &str) -> Result<graphlume_engine::Loaded, LoadError> {
    let loader = TableLoader::new(Arc::clone(&rig.service.ctx.data));
    loader.load(id.parse::<DatasetId>().unwrap(), &CancelToken::new())
}

/// The record once the engine has built the graph and so knows its size.
async fn counted(rig: &Rig, who: &Principal, id: &str) -> Value {
    for _ in 0..500 {
        let got = rig.service.datasets.get(who, id).await.unwrap();
        assert!(got.success);
        if got.data.node_count.is_some() {
            return serde_json::to_value(&got.data).unwrap();
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the size of {id} did not become known");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_build_tells_is_kept_when_the_record_changes_at_the_same_moment() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let edges = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let id = rig.dataset(&alice, create_body(json!({"edge_files": [edges]}))).await.unwrap();
    counted(&rig, &alice, &id).await;
    let dataset = id.parse::<DatasetId>().unwrap();
    let (core, done) = (Arc::clone(&rig.service.ctx.data), Arc::new(AtomicBool::new(false)));
    let is_done = Arc::clone(&done);
    let others = tokio::task::spawn_blocking(move || {
        while !is_done.load(Ordering::Relaxed) {
            let (mut rec, tag) = core.store.get_tagged::<DatasetRec>(&dataset).unwrap().unwrap();
            rec.name = if rec.name == "one" { "other" } else { "one" }.to_owned();
            let _ = core.store.commit(Batch::new().replace(&rec, tag));
        }
    });
    let loader = TableLoader::new(Arc::clone(&rig.service.ctx.data));
    let mut lost = None;
    for nodes in 1000..1020 {
        let version = loader.load(dataset, &CancelToken::new()).unwrap().version;
        let stage = BuildStage::Whole;
        let built = Built { version, num_nodes: nodes, num_edges: 5, notices: &[], stage };
        loader.built(dataset, &built);
        let mut told = false;
        for _ in 0..500 {
            let got = rig.service.datasets.get(&alice, &id).await.unwrap().data.node_count;
            told = got == Some(u64::from(nodes));
            if told {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        if !told {
            lost = Some(nodes);
            break;
        }
    }
    done.store(true, Ordering::Relaxed);
    others.await.unwrap();
    assert_eq!(lost, None, "these numbers were lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dataset_from_files_reads_back_as_it_was_made() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let edges = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let nodes = rig.loaded(&alice, "csv", b"id,t\na,1\nb,2\n").await.file_id;
    let complex = json!({"default": {"pointColorEncoding": {"attribute": "t"}}});
    let body = create_body(json!({
        "description": "about", "edge_files": [[edges, 0]], "node_files": [nodes],
        "node_encodings": {"bindings": {"node": "id", "node_title": "t"}, "complex": complex},
        "layout": {"x": 1}, "custom": [1], "bindings": {"nonsense": 1}, "author": 99,
    }));
    let id = rig.dataset(&alice, body).await.unwrap();
    assert_eq!(id.len(), 32);
    let d = counted(&rig, &alice, &id).await;
    assert_eq!(d["dataset_id"], json!(id));
    assert_eq!(d["edge_files"], json!([[edges, 0]]));
    assert_eq!(d["node_files"], json!([nodes]));
    assert_eq!(d["node_encodings"]["complex"], complex);
    assert!(d["edge_encodings"].get("complex").is_none(), "never null");
    assert_eq!(d["author"], json!(alice.user().unwrap().0));
    assert_eq!(d["agent_name"], "pygraphistry");
    assert_eq!((d["layout"].clone(), d["custom"].clone()), (json!({"x": 1}), json!([1])));
    assert_eq!((d["edge_count"].clone(), d["compute"].clone()), (json!(3), Value::Null));
    assert!(d.get("bindings").is_none(), "a reader would take it for ready-made bindings");
    assert!(d["node_count"].as_u64().is_some_and(|n| n >= 2), "{d}");
    for field in ["slug", "uri_tag", "legacy_dataset_name", "legacy_dataset_author"] {
        assert!(d[field].is_null(), "{field}");
    }
    for field in ["image", "node_transform", "edge_transform"] {
        assert_eq!(d[field], "", "{field}");
    }
    let rig = rig.restart();
    let alice = rig.user("alice").await;
    let again = rig.service.datasets.get(&alice, &id).await.unwrap();
    assert_eq!(serde_json::to_value(again.data).unwrap(), d);
    let loaded = load(&rig, &id).unwrap();
    assert_eq!((loaded.edges.num_rows(), loaded.nodes.unwrap().num_rows()), (3, 2));
    assert_eq!((loaded.source.as_str(), loaded.node.as_deref()), ("s", Some("id")));
}

#[tokio::test(flavor = "multi_thread")]
async fn creation_names_what_is_missing_or_wrong() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let file = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let empty = rig.file(&alice, json!({"file_type": "csv"})).await.file_id;
    let only = |bindings: Value| json!({ "edge_encodings": { "bindings": bindings } });
    for (more, field) in [
        (json!({"name": null}), "name"),
        (json!({"metadata": null}), "metadata"),
        (json!({"metadata": []}), "metadata"),
        (json!({"node_encodings": null}), "node_encodings"),
        (json!({"node_encodings": {}}), "node_encodings.bindings"),
        (only(json!({"destination": "d"})), "edge_encodings.bindings.source"),
        (only(json!({"source": "s"})), "edge_encodings.bindings.destination"),
        (json!({"edge_files": {}}), "edge_files"),
        (json!({"edge_files": [3]}), "edge_files[0]"),
        (json!({"edge_files": [[file, -1]]}), "edge_files[0]"),
        (json!({"edge_files": [[file, 1]]}), "edge_files[0]"),
        (json!({"edge_files": [empty]}), "edge_files[0]"),
        (json!({"node_files": [file]}), "node_encodings.bindings.node"),
    ] {
        let e = rig.dataset(&alice, create_body(more.clone())).await.unwrap_err();
        assert_eq!((e.code(), e.field()), (Code::InvalidArgument, Some(field)), "{more}");
        assert!(e.to_string().contains(field), "{e}");
    }
    let out_of_range = create_body(json!({"edge_files": [[file, 7]]}));
    let e = rig.dataset(&alice, out_of_range).await.unwrap_err();
    assert!(e.to_string().contains("from 0 to 0"), "{e}");
    let swapped = create_body(json!({
        "edge_files": [file],
        "edge_encodings": {"bindings": {"source": "src", "destination": "d"}},
    }));
    let e = rig.dataset(&alice, swapped).await.unwrap_err();
    assert!(e.to_string().contains("\"src\"") && e.to_string().contains("s, d, w"), "{e}");
    for stranger in ["0".repeat(32), "nonsense".to_owned(), "../x".to_owned()] {
        let e =
            rig.dataset(&alice, create_body(json!({"edge_files": [stranger]}))).await.unwrap_err();
        assert_eq!(e.code(), Code::NotFound);
        let told = format!("file not found: {stranger}; GET /api/v2/files/ lists yours");
        assert!(e.to_string().starts_with(&told), "{e}");
    }
    for field in ["node_transform", "edge_transform"] {
        let mut body = json!({});
        body[field] = json!("upper");
        let e = rig.dataset(&alice, create_body(body)).await.unwrap_err();
        assert_eq!((e.code(), e.field()), (Code::Unsupported, Some(field)));
    }
    assert_eq!(rig.service.datasets.list(&alice, page("", "")).await.unwrap().count, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_bindings_are_warned_of_and_nothing_more() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let body = create_body(json!({
        "node_encodings": {"bindings": {"node_wings": "w"}, "complex": []},
        "edge_hypergraph_transform": [], "node_files": [],
    }));
    let made = rig.service.datasets.create(&alice, body.to_string().as_bytes()).await.unwrap();
    assert!(made.success && made.message.contains("node_wings"), "{}", made.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_uploaded_directly_complete_a_dataset_and_replace_each_other() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let body = create_body(json!({"node_encodings": {"bindings": {"node": "id"}}}));
    let id = rig.dataset(&alice, body).await.unwrap();
    assert!(matches!(load(&rig, &id), Err(LoadError::Waiting(_))));
    let got = rig.part(&alice, &id, ElementKind::Edges, "csv", EDGES_CSV.as_bytes()).await.unwrap();
    let want = json!({
        "data": {"dataset_id": id, "dtypes": {"s": "object", "d": "object", "w": "int64"},
                 "num_cols": 3, "num_rows": 3, "time_parsing_s": 0, "notices": []},
        "message": "Data uploaded", "success": true,
    });
    let mut got = serde_json::to_value(&got).unwrap();
    assert!(got["data"]["time_parsing_s"].is_u64(), "{got}");
    // How long it took is the machine's affair.
    got["data"]["time_parsing_s"] = json!(0);
    assert_eq!(got, want);
    assert!(load(&rig, &id).unwrap().nodes.is_none());
    let rows = br#"[{"id":"a"},{"id":"lonely"}]"#;
    rig.part(&alice, &id, ElementKind::Nodes, "json", rows).await.unwrap();
    assert_eq!(load(&rig, &id).unwrap().nodes.unwrap().num_rows(), 2);
    rig.part(&alice, &id, ElementKind::Edges, "csv", b"s,d\nx,y\n").await.unwrap();
    assert_eq!(load(&rig, &id).unwrap().edges.num_rows(), 1);
    let shown = rig.service.datasets.get(&alice, &id).await.unwrap().data;
    assert_eq!(shown.edge_count, Some(1));
    // What is refused leaves the earlier table.
    for (format, body, want) in [
        ("csv", b"a,b\n1,2\n".as_slice(), Code::InvalidArgument),
        ("json", b"{{{".as_slice(), Code::InvalidArgument),
        ("arrow", b"ARROW1\0\0".as_slice(), Code::InvalidArgument),
        ("parquet", b"".as_slice(), Code::InvalidArgument),
        ("orc", b"ORC".as_slice(), Code::InvalidArgument),
        ("doc", b"x".as_slice(), Code::InvalidArgument),
    ] {
        let e = rig.part(&alice, &id, ElementKind::Edges, format, body).await.unwrap_err();
        assert_eq!(e.code(), want, "{format} {e}");
    }
    let e = rig.part(&alice, &id, ElementKind::Edges, "csv", b"a,b\n1,2\n").await.unwrap_err();
    assert!(
        e.to_string().contains("edge_encodings.bindings.source") && e.to_string().contains("a, b")
    );
    let rig = rig.restart();
    let loaded = load(&rig, &id).unwrap();
    assert_eq!((loaded.edges.num_rows(), loaded.nodes.unwrap().num_rows()), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_files_of_one_side_are_stacked_when_they_look_alike() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let a = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let b = rig.loaded(&alice, "csv", b"s,d,w\nx,y,9\n").await.file_id;
    let other = rig.loaded(&alice, "csv", b"s,d\nx,y\n").await.file_id;
    let id = rig.dataset(&alice, create_body(json!({"edge_files": [a, b]}))).await.unwrap();
    assert_eq!(load(&rig, &id).unwrap().edges.num_rows(), 4);
    assert_eq!(rig.service.datasets.get(&alice, &id).await.unwrap().data.edge_count, Some(4));
    let e = rig.dataset(&alice, create_body(json!({"edge_files": [a, other]}))).await.unwrap_err();
    assert_eq!(e.field(), Some("edge_files[1]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_derived_tables_are_made_again_from_the_uploaded_bytes() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let id = rig.empty_dataset(&alice).await;
    rig.part(&alice, &id, ElementKind::Edges, "csv", EDGES_CSV.as_bytes()).await.unwrap();
    let first = load(&rig, &id).unwrap().edges;
    let (dir, clock) = rig.stop();
    std::fs::remove_dir_all(dir.path().join("derived")).unwrap();
    let config = config(dir.path());
    let rig = Rig::start(Arc::clone(&dir), clock, config);
    assert_eq!(load(&rig, &id).unwrap().edges, first);
    let rig = rig.restart();
    let mut torn = 0;
    let mut folders = vec![dir.path().join("derived")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
                torn += 1;
            }
        }
    }
    assert!(torn > 0);
    assert_eq!(load(&rig, &id).unwrap().edges, first, "a torn table is not served");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_change_of_a_file_does_not_reach_the_datasets_made_before() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let file = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let id = rig.dataset(&alice, create_body(json!({"edge_files": [file]}))).await.unwrap();
    rig.upload(&alice, &file, &[], b"s,d\nx,y\n").await.unwrap();
    assert_eq!(load(&rig, &id).unwrap().edges.num_rows(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_dataset_is_gone_for_everybody() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let id = rig.empty_dataset(&alice).await;
    rig.service.delete_dataset(&alice, &id).await.unwrap();
    assert_eq!(code(rig.service.datasets.get(&alice, &id).await), Code::NotFound);
    assert_eq!(code(rig.service.delete_dataset(&alice, &id).await), Code::NotFound);
    assert!(matches!(load(&rig, &id), Err(LoadError::NotFound(_))));
    let gone = rig.part(&alice, &id, ElementKind::Edges, "csv", b"s,d\n1,2\n").await;
    assert_eq!(code(gone), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn built_in_datasets_are_everybodys_to_see_and_nobodys_to_change() {
    let rig = Rig::with(&["alice"]);
    let admin = rig.user("admin").await;
    for name in ["Miserables", "Facebook", "Twitter", "demo"] {
        let got = rig.service.datasets.get(&Principal::anonymous(), name).await.unwrap().data;
        assert!(got.edge_count.unwrap() > 100, "{name}");
        assert!(load(&rig, &got.dataset_id).is_ok());
        let by_id = rig.service.datasets.get(&admin, &got.dataset_id).await.unwrap().data;
        assert_eq!(by_id.name, got.name);
        assert_eq!(code(rig.service.delete_dataset(&admin, name).await), Code::Forbidden);
    }
}

/// Regular files below a folder.
fn files_below(folder: &std::path::Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let paths = entries.map(|e| e.unwrap().path());
    paths.map(|p| if p.is_dir() { files_below(&p) } else { 1 }).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn maintenance_exports_the_records_and_removes_only_what_nobody_needs() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let file = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let id = rig.dataset(&alice, create_body(json!({"edge_files": [file]}))).await.unwrap();
    rig.service.files.delete(&alice, &file).await.unwrap();
    let blobs = || files_below(&rig.dir.path().join("blobs"));
    assert_eq!(files_below(&rig.dir.path().join("exports")), 0);
    // The files' own times are today's: far in the past of this clock.
    rig.clock.set_unix_secs(4_000_000_000);
    rig.service.upkeep.run().await.unwrap();
    assert_eq!((blobs(), files_below(&rig.dir.path().join("exports"))), (1, 1));
    assert_eq!(load(&rig, &id).unwrap().edges.num_rows(), 3);
    rig.service.delete_dataset(&alice, &id).await.unwrap();
    rig.service.upkeep.run().await.unwrap();
    assert_eq!((blobs(), files_below(&rig.dir.path().join("exports"))), (0, 1));
    rig.clock.advance(std::time::Duration::from_secs(24 * 3600));
    rig.service.upkeep.run().await.unwrap();
    assert_eq!(files_below(&rig.dir.path().join("exports")), 2, "once a day");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transform_makes_the_edges_the_nodes_and_their_bindings() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let file = rig.loaded(&alice, "csv", b"ip,port\nx,80\ny,80\n,22\n").await.file_id;
    let unbound = json!({
        "edge_files": [file], "edge_hypergraph_transform": [{}],
        "edge_encodings": {"bindings": {}}, "node_encodings": {"bindings": {}},
    });
    let id = rig.dataset(&alice, create_body(unbound.clone())).await.unwrap();
    let loaded = load(&rig, &id).unwrap();
    assert_eq!((loaded.source.as_str(), loaded.destination.as_str()), ("EventID", "attribID"));
    assert_eq!((loaded.edges.num_rows(), loaded.node.as_deref()), (5, Some("nodeID")));
    assert_eq!(loaded.nodes.as_ref().unwrap().num_rows(), 2 + 2 + 3);
    assert_eq!(loaded.encodings.node["bindings"]["node_title"], "nodeTitle");
    let loader = TableLoader::new(Arc::clone(&rig.service.ctx.data));
    let promised = loader.footprint_bytes(id.parse().unwrap()).unwrap();
    assert!(promised >= loaded.edges.memory_bytes() + loaded.nodes.unwrap().memory_bytes());
    let d = counted(&rig, &alice, &id).await;
    assert_eq!((d["node_count"].clone(), d["edge_count"].clone()), (json!(7), json!(5)));
    assert!(d["node_encodings"]["bindings"].get("node_title").is_none(), "that is ours to know");
    // One end that is bound decides the other.
    for (bound, other) in [("EventID", "attribID"), ("attribID", "EventID")] {
        let mut half = unbound.clone();
        half["edge_encodings"]["bindings"]["source"] = json!(bound);
        let id = rig.dataset(&alice, create_body(half)).await.unwrap();
        assert_eq!(load(&rig, &id).unwrap().destination, other);
    }
    let mut named = unbound;
    named["edge_hypergraph_transform"] = json!([{"direct": true, "opts": {"SOURCE": "from"}}]);
    let id = rig.dataset(&alice, create_body(named)).await.unwrap();
    let loaded = load(&rig, &id).unwrap();
    assert_eq!((loaded.source.as_str(), loaded.destination.as_str()), ("from", "dst"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_file_leaves_its_table_and_a_warning() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let file = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let body = create_body(json!({"edge_files": [file]}));
    let id = rig.dataset(&alice, body).await.unwrap();
    assert!(counted(&rig, &alice, &id).await["notices"] == json!([]));
    rig.service.files.delete(&alice, &file).await.unwrap();
    let d = counted(&rig, &alice, &id).await;
    assert_eq!(d["edge_files"], json!([file]));
    assert!(d["notices"][0]["text"].as_str().unwrap().contains(&file), "{d}");
    assert_eq!(load(&rig, &id).unwrap().edges.num_rows(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_free_field_over_its_limit_is_refused_by_name() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let large = Value::from(vec![0; 40_000]);
    for field in ["metadata", "node_encodings", "layout", "compute", "anything"] {
        let mut value = create_body(json!({})).get(field).cloned().unwrap_or(json!({}));
        value["large"] = large.clone();
        let e = rig.dataset(&alice, create_body(json!({ field: value }))).await.unwrap_err();
        assert_eq!((e.code(), e.field()), (Code::InvalidArgument, Some(field)), "{e}");
    }
    let many: Vec<String> = (0..20_000).map(|i| format!("c{i}")).collect();
    let body = json!({"file_type": "csv", "parser_options": {"names": many}}).to_string();
    let e = rig.service.files.create(&alice, body.as_bytes()).await.unwrap_err();
    assert_eq!((e.code(), e.field()), (Code::InvalidArgument, Some("parser_options")));
}

/// Every page of a list, and each dataset once.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_list_ends_at_its_bytes_and_names_the_next() {
    use graphlume_types::limits::{FREE_FIELD_BYTES_MAX, LIST_PAGE_BYTES_MAX};
    let rig = Rig::with(&["alice@acme", "bob@acme"]);
    let alice = rig.user("alice").await;
    let mut made = Vec::new();
    let text = "x".repeat(FREE_FIELD_BYTES_MAX - 100);
    for _ in 0..100 {
        let body = create_body(json!({"metadata": {"a": text}, "org_name": "acme"}));
        made.push(rig.dataset(&alice, body).await.unwrap());
    }
    made.sort();
    for who in [&alice, &rig.user("bob").await] {
        let (mut seen, mut offset, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let got = rig.service.datasets.list(who, page("1000", &offset)).await.unwrap();
            assert_eq!(got.count, 100);
            let bytes = got.body.len();
            assert!(bytes < LIST_PAGE_BYTES_MAX + (64 << 10), "{bytes}");
            let got = read(got);
            let results = got["results"].as_array().unwrap().iter();
            seen.extend(results.map(|d| d["dataset_id"].as_str().unwrap().to_owned()));
            pages += 1;
            let Some(next) = got["next"].as_str() else { break };
            offset = next.rsplit('=').next().unwrap().to_owned();
        }
        seen.sort();
        assert_eq!((&seen, pages), (&made, 2), "{:?}", who.username());
    }
}
