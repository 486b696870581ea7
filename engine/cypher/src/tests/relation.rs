//! Adjacency of a type of its own, and numbers of values, change how fast an answer comes and nothing else.

use arrow_array::DictionaryArray;
use arrow_array::types::Int32Type;

use super::*;

/// Relationships of three types among a few nodes, with loops and parallel ones, and a text on all.
fn graph() -> PropertyGraph {
    let count = 60_i64;
    let ends = |a: i64| (0..count).map(|i| (i * a + i / 7) % 9).collect::<Vec<_>>();
    let texts = |words: &[&'static str], n: i64, step: i64| -> ArrayRef {
        let word = |i: i64| words.get((i * step) as usize % (words.len() + 1)).copied();
        Arc::new((0..n).map(word).collect::<DictionaryArray<Int32Type>>())
    };
    let plain = |n: i64| -> ArrayRef {
        Arc::new(StringArray::from((0..n).map(|i| format!("w{}", i / 2)).collect::<Vec<_>>()))
    };
    let int = |list: Vec<i64>| Arc::new(Int64Array::from(list)) as ArrayRef;
    let nodes = RecordBatch::try_from_iter([
        ("id", int((0..9).collect())),
        ("k", texts(&["x", "y", "z"], 9, 1)),
        ("w", plain(9)),
        ("type", texts(&["P", "Q"], 9, 2)),
    ]);
    let edges = RecordBatch::try_from_iter([
        ("s", int(ends(5))),
        ("d", int(ends(2))),
        ("k", texts(&["z", "v", "x"], count, 5)),
        ("w", plain(count)),
        ("type", texts(&["K", "L", "M"], count, 3)),
    ]);
    graph_of(nodes, edges)
}

fn rows(graph: &PropertyGraph, text: &str) -> Vec<String> {
    rows_of(graph, text, Strictness::Lenient)
}

#[test]
fn a_type_s_own_adjacency_gives_the_same_rows() {
    let used = graph();
    for text in [
        "MATCH (a)-[r:K]->(b) RETURN id(a) AS a, id(b) AS b, r.w AS w",
        "MATCH (a)<-[r:K]-(b) RETURN id(a) AS a, id(b) AS b, r.w AS w",
        "MATCH (a)-[r:K]-(b) RETURN id(a) AS a, id(b) AS b, r.w AS w",
        "MATCH (a)-[r:K|L]-(b)-[s:L]->(c) RETURN id(a) AS a, id(c) AS c, r.w + s.w AS w",
        "MATCH (a {k: 'x'})-[:L*1..3]->(b) RETURN id(a) AS a, id(b) AS b",
        "MATCH p = shortestPath((a {id: 1})-[:M*]-(b {id: 4})) RETURN length(p) AS n",
        "MATCH (a) WHERE (a)-[:M]->(:Q) RETURN id(a) AS a",
        "MATCH (a)-[r:NONE]->(b) RETURN a, b",
    ] {
        let fresh = rows(&graph(), text);
        assert_eq!(fresh.is_empty(), text.contains("NONE"), "{text}");
        for _ in 0..6 {
            assert_eq!(rows(&used, text), fresh, "{text}");
        }
    }
    let kept = |words: &[&str]| crate::exec::is_kept(&used, words);
    assert!(kept(&["K"]) && kept(&["K", "L"]) && kept(&["M"]), "they were made");
}

#[test]
fn nodes_and_relationships_may_be_grouped_together() {
    let g = graph();
    let sorted = |text: &str| {
        let mut rows = rows(&g, text);
        rows.sort();
        rows
    };
    for key in ["k", "w"] {
        let got = sorted(&format!(
            "MATCH (a)-[r]->(b) UNWIND [a, r, b] AS x RETURN x.{key} AS v, count(*) AS n"
        ));
        let lists = format!("MATCH (a)-[r]->(b) RETURN a.{key} AS a, r.{key} AS r, b.{key} AS b");
        let mut counts: std::collections::BTreeMap<String, i64> = Default::default();
        for row in rows(&g, &lists) {
            let row: Json = serde_json::from_str(&row).unwrap();
            for side in ["a", "r", "b"] {
                *counts.entry(row[side].to_string()).or_default() += 1;
            }
        }
        let mut want: Vec<String> = counts
            .iter()
            .map(|(v, n)| {
                json!({"v": serde_json::from_str::<Json>(v).unwrap(), "n": n}).to_string()
            })
            .collect();
        want.sort();
        assert_eq!(got, want, "{key}");
    }
}

#[test]
fn groups_by_a_node_s_id_are_groups_by_the_node() {
    let g = graph();
    for (by, alone) in
        [("b.id AS i, b.w AS w", "b"), ("b AS b, b.k AS k", "b"), ("b.w AS w, b.id AS i", "b")]
    {
        for order in ["n DESC, id(b)", "m, id(b) DESC"] {
            let aggregates = "count(*) AS n, max(a.id) AS m, collect(a.w) AS l";
            let pattern = "MATCH (a)-[:K|M]->(b)";
            let one =
                format!("{pattern} WITH {by}, b AS o, {aggregates} RETURN id(o) AS o, n, m, l");
            let two =
                format!("{pattern} WITH {alone}, {aggregates} RETURN id({alone}) AS o, n, m, l");
            let (mut one, mut two) = (rows(&g, &one), rows(&g, &two));
            one.sort();
            two.sort();
            assert_eq!(one, two, "{by}");
            let all =
                format!("{pattern} WITH b, {aggregates} RETURN id(b) AS o, n ORDER BY {order}");
            let all = rows(&g, &all);
            for wanted in 0..=all.len() {
                let some = format!(
                    "{pattern} WITH b, {aggregates} RETURN id(b) AS o, n ORDER BY {order} LIMIT {wanted}"
                );
                assert_eq!(rows(&g, &some), all[..wanted], "{some}");
            }
        }
    }
}
