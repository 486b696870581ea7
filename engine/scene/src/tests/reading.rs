use arrow_array::Float64Array;

use super::*;
use crate::{edge_card, node_card, search};

fn people() -> Case {
    let columns = [
        ("id", ints(&[10, 20, 30, 40])),
        ("name", texts(&["Ann Lee", "Joanna", "", "Zoë ÉTOILE"])),
        ("title", texts(&["Dr Ann Lee", "", "", "Z"])),
        ("score", Arc::new(Float64Array::from(vec![1.5, f64::NAN, 3.0, 4.0])) as ArrayRef),
    ];
    let edges: (&[i64], &[i64]) = (&[10, 10, 50], &[20, 30, 40]);
    let case = Case::new(edges, &[("note", texts(&["first", "", "third"]))], &columns);
    case.bind(json!({"node_label": "name", "node_title": "title"}), json!({"edge_title": "note"}))
}

fn found(case: &Case, query: &str) -> Vec<u32> {
    let importance = case.scene().importance;
    search(&case.graph, case.nodes.as_ref(), &case.enc, &importance, query, 10)
        .into_iter()
        .map(|hit| hit.index)
        .collect()
}

#[test]
fn a_label_is_the_bound_label_else_the_title_else_the_id() {
    let mut case = people();
    let labels = |case: &Case| {
        let mut all = case.scene().label_candidates;
        all.sort_unstable();
        all.into_iter().map(|(_, l)| l).collect::<Vec<_>>()
    };
    assert_eq!(labels(&case), ["Ann Lee", "Joanna", "30", "Zoë ÉTOILE", "50"]);
    case = case.bind(json!({"node_title": "title"}), json!({}));
    assert_eq!(labels(&case), ["Dr Ann Lee", "20", "30", "Z", "50"]);
    case = case.bind(json!({"node_label": "score"}), json!({}));
    assert_eq!(labels(&case)[0], "1.5");
}

#[test]
fn candidates_are_the_most_important_and_not_too_many() {
    let ids: Vec<i64> = (0..5_000).collect();
    let hub = vec![4_999; 4_999];
    let case = Case::new((&hub, &ids[..4_999]), &[], &[("id", ints(&ids))]);
    let got = case.scene().label_candidates;
    assert_eq!((got.len(), got[0].clone()), (2_000, (4_999, "4999".to_owned())));
    assert_eq!(got[1].0, 0);
}

#[test]
fn a_card_shows_the_title_degrees_and_all_columns() {
    let case = people();
    let card = |v| node_card(&case.graph, case.nodes.as_ref(), &case.enc, v);
    let ann = card(0);
    assert_eq!((&ann["title"], &ann["id"]), (&json!("Dr Ann Lee"), &json!("10")));
    assert_eq!(
        (&ann["degree"], &ann["degree_in"], &ann["degree_out"]),
        (&json!(2), &json!(0), &json!(2))
    );
    assert_eq!(
        ann["properties"],
        json!([
            {"name": "id", "value": 10},
            {"name": "name", "value": "Ann Lee"},
            {"name": "title", "value": "Dr Ann Lee"},
            {"name": "score", "value": 1.5},
        ])
    );
    assert_eq!(card(1)["properties"][3]["value"], Value::Null);
    assert_eq!((&card(4)["title"], &card(4)["properties"]), (&json!("50"), &json!([])));
    assert_eq!(card(5), Value::Null);
}

#[test]
fn an_edge_card_names_both_ends() {
    let case = people();
    let card = |pos| edge_card(&case.graph, &case.edges, &case.enc, pos);
    let first = card(0);
    assert_eq!(
        (&first["title"], &first["source"], &first["destination"]),
        (&json!("first"), &json!("10"), &json!("20"))
    );
    assert_eq!((&first["source_index"], &first["destination_index"]), (&json!(0), &json!(1)));
    assert_eq!(first["properties"][2], json!({"name": "note", "value": "first"}));
    assert_eq!(card(1)["title"], "10 → 30");
    assert_eq!(card(3), Value::Null);
}

#[test]
fn search_ignores_case_and_ranks_whole_before_prefix_before_word_before_inside() {
    let case = people();
    assert_eq!(found(&case, "ANN"), [0, 1]);
    assert_eq!(found(&case, " lee "), [0]);
    assert_eq!(found(&case, "étoile"), [3]);
    assert_eq!(found(&case, "30"), [2]);
    assert_eq!(found(&case, "0"), [0, 1, 2, 3, 4], "by importance, then index");
    assert!(found(&case, "").is_empty() && found(&case, "  ").is_empty());
    assert!(found(&case, "nobody").is_empty());
    let names = ["banana", "an apple", "big ana", "ana", "anab"];
    let columns = [("id", ints(&[1, 2, 3, 4, 5])), ("n", texts(&names))];
    let case = Case::new((&[], &[]), &[], &columns).bind(json!({"node_label": "n"}), json!({}));
    assert_eq!(found(&case, "ana"), [3, 4, 2, 0]);
}

#[test]
fn search_returns_the_best_of_many_whatever_the_threads() {
    let ids: Vec<i64> = (0..60_000).collect();
    let case = Case::new((&[59_999; 3], &[1, 2, 3]), &[], &[("id", ints(&ids))]);
    let importance = case.scene().importance;
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| search(&case.graph, case.nodes.as_ref(), &case.enc, &importance, "99", 7))
    };
    let got: Vec<u32> = on(1).iter().map(|h| h.index).collect();
    assert_eq!(got, [99, 990, 991, 992, 993, 994, 995]);
    assert_eq!(on(5), on(1));
    assert!(search(&case.graph, None, &case.enc, &importance, "9", 0).is_empty());
}

/// `cargo test -p graphlume-scene -- --ignored --nocapture timing`
#[test]
#[ignore = "a measurement, not a check"]
fn timing_of_a_million_nodes() {
    let n = 1_000_000;
    let ids: Vec<i64> = (0..n).collect();
    let names: Vec<String> = ids.iter().map(|i| format!("Person {}", i * 7 % n)).collect();
    let names = texts(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let kinds: Vec<String> = ids.iter().map(|i| format!("kind {}", i % 40)).collect();
    let kinds = texts(&kinds.iter().map(String::as_str).collect::<Vec<_>>());
    let columns = [("id", ints(&ids)), ("name", names), ("kind", kinds)];
    let far: Vec<i64> = ids.iter().map(|i| i * 31 % n).collect();
    let case = Case::new((&ids, &far), &[], &columns);
    let communities: Vec<u32> = (0..n as u32).map(|v| v / 1_000).collect();
    let time = |what: &str, f: &mut dyn FnMut()| {
        let start = std::time::Instant::now();
        f();
        eprintln!("{what}: {:?}", start.elapsed());
    };
    time("default scene", &mut || drop(case.scene()));
    time("scene with communities", &mut || drop(case.scene_with(Some(&communities))));
    let case = case.bind(json!({"node_label": "name", "node_color": "kind"}), json!({}));
    let mut importance = vec![];
    time("scene with a bound column", &mut || importance = case.scene().importance);
    for query in ["person 77", "99", "nobody"] {
        time(query, &mut || {
            drop(search(&case.graph, case.nodes.as_ref(), &case.enc, &importance, query, 20));
        });
    }
    let mut positions: Vec<[f32; 2]> =
        far.iter().zip(&ids).map(|(x, y)| [*x as f32, *y as f32]).collect();
    let mut encoder = crate::wire::PositionEncoder::new(1, false);
    time("keyframe", &mut || drop(encoder.encode(&positions, 1, 0)));
    positions.iter_mut().for_each(|p| p[0] += (p[1] % 1_000.0) * 3.0);
    time("delta", &mut || assert!(encoder.encode(&positions, 2, 0).delta.is_some()));
    let mut encoder = crate::wire::PositionEncoder::new(1, true);
    encoder.encode(&positions, 1, 0);
    positions.iter_mut().for_each(|p| p[0] -= (p[1] % 1_000.0) * 3.0);
    time("delta, deflated", &mut || assert!(encoder.encode(&positions, 2, 0).delta.is_some()));
}
