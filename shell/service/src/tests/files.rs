use super::*;
use graphlume_ingest::{Format, ParseCx, ParseSpec, Source, parse};

/// The Arrow file form of [`EDGES_CSV`].
fn arrow_file() -> Vec<u8> {
    let source = Source::Bytes(Bytes::from(EDGES_CSV));
    let parsed = parse(&ParseSpec::plain(Format::Csv), &source, &ParseCx::default()).unwrap();
    let mut out = Vec::new();
    parsed.tables[0].1.write_arrow(&mut out).unwrap();
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_file_shows_the_whole_record() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let made = rig
        .file(
            &alice,
            json!({"file_type": "csv", "name": "n", "description": "d", "org_name": "alice",
                   "agent_name": "pygraphistry", "agent_version": "1", "file_compression": "",
                   "parser_options": {"sep": ";"}, "sql_transforms": null,
                   "is_valid": true, "author": 77, "bytes_count": 5, "file_id": "x"}),
        )
        .await;
    let got = serde_json::to_value(&made).unwrap();
    let id = made.file_id.clone();
    assert_eq!(id.len(), 32);
    let when = "2027-01-15T08:00:00.000000Z";
    let want = json!({
        "file_id": id, "name": "n", "description": "d", "file_type": "csv", "file_compression": "",
        "parser_options": {"sep": ";"}, "sql_transforms": null, "author": alice.user().unwrap().0,
        "agent_name": "pygraphistry", "agent_version": "1", "bytes_count": null,
        "created_at": when, "updated_at": when, "is_uploaded": false, "is_valid": false,
        "errors": [], "tables_schemas": [], "org_name": "alice", "notices": [],
    });
    assert_eq!(got, want);
}

#[tokio::test(flavor = "multi_thread")]
async fn creation_refuses_what_cannot_be_and_names_the_field() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    for (body, field, want) in [
        (json!({}), "file_type", Code::InvalidArgument),
        (json!({"file_type": "doc"}), "file_type", Code::InvalidArgument),
        (json!({"file_type": 3}), "file_type", Code::InvalidArgument),
        (json!({"file_type": "csv", "name": []}), "name", Code::InvalidArgument),
        (
            json!({"file_type": "csv", "parser_options": "x"}),
            "parser_options",
            Code::InvalidArgument,
        ),
        (
            json!({"file_type": "csv", "file_compression": "rar"}),
            "file_compression",
            Code::InvalidArgument,
        ),
        (
            json!({"file_type": "csv", "sql_transforms": [1]}),
            "sql_transforms",
            Code::InvalidArgument,
        ),
    ] {
        let e = rig.service.files.create(&alice, body.to_string().as_bytes()).await.unwrap_err();
        assert_eq!((e.code(), e.field()), (want, Some(field)), "{body}");
        assert!(e.to_string().contains(field), "{e}");
    }
    let body = br#"{"file_type":"csv","org_name":"elsewhere"}"#;
    let e = rig.service.files.create(&alice, body).await.unwrap_err();
    assert_eq!(e.code(), Code::Forbidden);
    assert!(e.to_string().contains("elsewhere"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_readable_format_is_uploaded_parsed_and_still_there_after_a_restart() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let arrow = arrow_file();
    let json_rows = br#"[{"s":"a","d":"b","w":1},{"s":"b","d":"c","w":2},{"s":"c","d":"a","w":3}]"#;
    let json_columns = br#"{"s":["a","b","c"],"d":["b","c","a"],"w":[1,2,3],
        "agent_name":"@graphistry/js-upload-api","agent_version":"5.1.8"}"#;
    let mut ids = Vec::new();
    for (kind, body) in [
        ("csv", EDGES_CSV.as_bytes()),
        ("json", json_rows.as_slice()),
        ("json", json_columns.as_slice()),
        ("arrow", arrow.as_slice()),
    ] {
        let done = rig.loaded(&alice, kind, body).await;
        assert!(done.is_uploaded && done.is_valid, "{kind} {:?}", done.errors);
        assert_eq!(done.bytes_count, Some(body.len() as u64));
        assert_eq!(done.errors, json!([]));
        let schema = &done.tables_schemas[0];
        assert_eq!((schema["num_cols"].clone(), schema["num_rows"].clone()), (json!(3), json!(3)));
        let names: Vec<&String> = schema["dtypes"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["s", "d", "w"], "in column order");
        assert_eq!(schema["dtypes"]["w"], "int64");
        ids.push(done);
    }
    assert_eq!(ids[2].agent_name, "@graphistry/js-upload-api");
    assert_eq!(ids[2].agent_version, "5.1.8");
    let rig = rig.restart();
    let alice = rig.user("alice").await;
    for before in ids {
        let after = rig.service.files.get(&alice, &before.file_id).await.unwrap();
        assert_eq!(serde_json::to_value(after).unwrap(), serde_json::to_value(before).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_truncated_bodies_are_replies_with_errors() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let arrow = arrow_file();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("arrow", arrow[..arrow.len() / 2].to_vec()),
        ("arrow", b"ARROW1\0\0 and then nothing".to_vec()),
        ("arrow", Vec::new()),
        ("json", b"{\"s\": [1, 2".to_vec()),
        ("json", vec![0xff; 100]),
        ("parquet", b"PAR1 no PAR1".to_vec()),
        ("parquet", vec![7; 5_000]),
        ("csv", b"a,b\n1,2\n\"open".to_vec()),
        ("orc", b"ORC".to_vec()),
        ("xlsx", b"PK\x03\x04".to_vec()),
    ];
    for (kind, body) in cases {
        for (erase, kept) in [(None, false), (Some("true"), false), (Some("false"), true)] {
            let id = rig.file(&alice, json!({"file_type": kind})).await.file_id;
            let query: Vec<(&str, &str)> = erase.map(|e| ("erase", e)).into_iter().collect();
            let got = rig.upload(&alice, &id, &query, &body).await.unwrap();
            assert_eq!((got.is_uploaded, got.is_valid), (kept, false), "{kind} {erase:?}");
            assert_eq!(got.bytes_count.is_some(), kept);
            assert_eq!(got.tables_schemas, json!([]));
            let first = &got.errors[0];
            assert!(!first["message"].as_str().unwrap().is_empty(), "{kind}");
            assert!(!first["slug"].as_str().unwrap().is_empty());
            let shown = rig.service.files.get(&alice, &id).await.unwrap();
            assert_eq!(shown.errors, got.errors, "the record says so, too");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_bytes_are_parsed_again_when_the_settings_change() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let made = rig.file(&alice, json!({"file_type": "json"})).await;
    let body = EDGES_CSV.replace(',', ";");
    let got =
        rig.upload(&alice, &made.file_id, &[("erase", "false")], body.as_bytes()).await.unwrap();
    assert!(got.is_uploaded && !got.is_valid);
    rig.clock.advance(std::time::Duration::from_secs(5));
    let patch = br#"{"file_type": "csv", "parser_options": {"sep": ";"}, "name": "fixed"}"#;
    let got = rig.service.files.patch(&alice, &made.file_id, patch).await.unwrap();
    assert!(got.is_valid, "{:?}", got.errors);
    assert_eq!((got.name.as_str(), got.errors.clone()), ("fixed", json!([])));
    assert_eq!(got.tables_schemas[0]["num_cols"], 3);
    assert_eq!(got.created_at, made.created_at);
    assert_ne!(got.updated_at, made.updated_at);
    let worse = br#"{"parser_options": {"sep": ";", "wings": 2}}"#;
    let got = rig.service.files.patch(&alice, &made.file_id, worse).await.unwrap();
    assert!(got.is_uploaded && !got.is_valid);
    assert!(got.errors[0]["message"].as_str().unwrap().contains("wings"));
    let back = br#"{"parser_options": {"sep": ";"}}"#;
    assert!(rig.service.files.patch(&alice, &made.file_id, back).await.unwrap().is_valid);
    for (field, value) in [
        ("author", json!(1)),
        ("is_valid", json!(true)),
        ("file_id", json!("x")),
        ("wings", json!(2)),
    ] {
        let body = json!({ field: value }).to_string();
        let e = rig.service.files.patch(&alice, &made.file_id, body.as_bytes()).await.unwrap_err();
        assert_eq!((e.code(), e.field()), (Code::InvalidArgument, Some(field)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn options_in_the_address_are_used_and_unknown_ones_named() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let id = rig.file(&alice, json!({"file_type": "csv"})).await.file_id;
    let body = EDGES_CSV.replace(',', "|");
    let got = rig.upload(&alice, &id, &[("sep", "|")], body.as_bytes()).await.unwrap();
    assert_eq!(got.tables_schemas[0]["num_cols"], 3);
    assert_eq!(got.parser_options["sep"], "|", "kept, so that the bytes can be parsed again");
    let e = rig.upload(&alice, &id, &[("wings", "2")], b"x").await.unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    assert!(e.to_string().contains("wings"));
    let e = rig.upload(&alice, &id, &[("erase", "maybe")], b"x").await.unwrap_err();
    assert_eq!(e.field(), Some("erase"));
    let still = rig.service.files.get(&alice, &id).await.unwrap();
    assert!(still.is_valid, "refused uploads leave the file as it was");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_another_length_than_announced_changes_nothing() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let before = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await;
    let id = before.file_id.as_str();
    let begin = |declared| rig.service.files.begin_upload(&alice, id, Vec::new(), declared);
    let mut up = begin(Some(100)).await.unwrap();
    up.write(Bytes::from_static(b"a,b\n")).await.unwrap();
    assert_eq!(code(up.finish().await), Code::InvalidArgument);
    let mut up = begin(Some(3)).await.unwrap();
    assert_eq!(code(up.write(Bytes::from_static(b"a,b\n")).await), Code::InvalidArgument);
    drop(up);
    assert_eq!(code(begin(Some(u64::MAX)).await), Code::TooLarge);
    let up = begin(None).await.unwrap();
    assert_eq!(code(begin(None).await), Code::Conflict, "one upload of a file at a time");
    drop(up);
    let after = rig.service.files.get(&alice, id).await.unwrap();
    assert_eq!(serde_json::to_value(after).unwrap(), serde_json::to_value(&before).unwrap());
    let mut up = begin(None).await.unwrap();
    up.write(Bytes::from_static(b"x\n1\n")).await.unwrap();
    assert_eq!(up.finish().await.unwrap().tables_schemas[0]["num_cols"], 1, "no length announced");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_an_upload_is_exact() {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let mut config = config(dir.path());
    config.upload_bytes_max = 10;
    let rig = Rig::start(dir, Arc::new(TestClock::at(NOW)), config);
    let admin = rig.user("admin").await;
    let id = rig.file(&admin, json!({"file_type": "csv"})).await.file_id;
    assert!(rig.upload(&admin, &id, &[], b"a\n1\n2\n3\n4\n").await.unwrap().is_valid);
    assert_eq!(code(rig.upload(&admin, &id, &[], b"a\n1\n2\n3\n45\n").await), Code::TooLarge);
    let mut up = rig.service.files.begin_upload(&admin, &id, Vec::new(), None).await.unwrap();
    up.write(Bytes::from_static(b"a\n1\n2\n3\n4\n")).await.unwrap();
    assert_eq!(code(up.write(Bytes::from_static(b"5")).await), Code::TooLarge);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_go_through_in_many_pieces() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let mut body = String::from("s,d\n");
    for i in 0..300_000 {
        body.push_str(&format!("{i},{}\n", i / 2));
    }
    assert!(body.len() > 3 << 20);
    let id = rig.file(&alice, json!({"file_type": "csv"})).await.file_id;
    for declared in [Some(body.len() as u64), None] {
        let mut up =
            rig.service.files.begin_upload(&alice, &id, Vec::new(), declared).await.unwrap();
        for piece in body.as_bytes().chunks(65_536) {
            up.write(Bytes::copy_from_slice(piece)).await.unwrap();
        }
        let done = up.finish().await.unwrap();
        assert_eq!(done.tables_schemas[0]["num_rows"], 300_000);
        assert_eq!(done.bytes_count, Some(body.len() as u64));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_file_is_gone_and_its_datasets_stay() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let file = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let dataset = rig.dataset(&alice, create_body(json!({"edge_files": [file]}))).await.unwrap();
    rig.service.files.delete(&alice, &file).await.unwrap();
    assert_eq!(code(rig.service.files.get(&alice, &file).await), Code::NotFound);
    assert_eq!(code(rig.service.files.delete(&alice, &file).await), Code::NotFound);
    assert_eq!(code(rig.upload(&alice, &file, &[], b"x").await), Code::NotFound);
    let got = rig.service.datasets.get(&alice, &dataset).await.unwrap().data;
    assert_eq!(got.edge_files, json!([file]));
    let e = rig.dataset(&alice, create_body(json!({"edge_files": [file]}))).await.unwrap_err();
    assert!(e.to_string().starts_with(&format!("file not found: {file}; ")), "{e}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_come_in_pages_newest_first() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    for i in 0..7 {
        rig.clock.advance(std::time::Duration::from_secs(1));
        rig.file(&alice, json!({"file_type": "csv", "name": format!("f{i}")})).await;
    }
    let mut seen = Vec::new();
    for offset in ["", "3", "6"] {
        let p = rig.service.files.list(&alice, page("3", offset)).await.unwrap();
        assert_eq!(p.count, 7);
        let said = read(crate::Page { count: 7, body: p.body.clone() });
        assert_eq!(said["next"].is_string(), offset != "6");
        assert_eq!(said["previous"].is_string(), !offset.is_empty());
        seen.extend(each(p, "name"));
    }
    assert_eq!(seen, ["f6", "f5", "f4", "f3", "f2", "f1", "f0"]);
    assert_eq!(code(rig.service.files.list(&alice, page("0", "")).await), Code::InvalidArgument);
    let none = rig.service.files.list(&alice, page("", "9223372036854775808")).await.unwrap();
    assert_eq!((none.count, each(none, "name").len()), (7, 0));
}
