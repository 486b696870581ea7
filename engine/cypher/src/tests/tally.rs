//! Counted paths are as many as walked ones: a pattern with a name for its path is always walked.

use super::*;

/// Nodes with loops, parallel relationships, missing values and ends that do not exist.
fn tangle(seed: u64) -> PropertyGraph {
    let mut state = seed;
    let mut below = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let ids: Vec<i64> = (0..9).collect();
    let kinds: Vec<_> = ids.iter().map(|_| ["P", "Q"][below(2) as usize]).collect();
    let n: Vec<_> = ids.iter().map(|_| (below(4) > 0).then_some(below(5) as i64)).collect();
    let edges = 22;
    let ends = |below: &mut dyn FnMut(u64) -> u64| -> Vec<i64> {
        (0..edges).map(|_| below(10) as i64).collect()
    };
    let (s, d) = (ends(&mut below), ends(&mut below));
    let rel: Vec<_> = (0..edges).map(|_| ["K", "L"][below(2) as usize]).collect();
    let nodes = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(ids)) as ArrayRef),
        ("type", Arc::new(StringArray::from(kinds))),
        ("n", Arc::new(Int64Array::from(n))),
    ]);
    let edges = RecordBatch::try_from_iter([
        ("s", Arc::new(Int64Array::from(s)) as ArrayRef),
        ("d", Arc::new(Int64Array::from(d))),
        ("type", Arc::new(StringArray::from(rel))),
    ]);
    graph_of(nodes, edges)
}

fn rows(graph: &PropertyGraph, text: &str) -> (Vec<String>, bool) {
    let mut rows = rows_of(graph, text, Strictness::Strict);
    rows.sort();
    (rows, explain(&parse(text).unwrap()).contains("CountPaths"))
}

#[test]
fn counted_paths_are_as_many_as_walked_ones() {
    let steps = ["-[:K]->", "<-[:K]-", "-[:K]-", "-->", "--", "<-[:L]-", "-[:K|L]->"];
    let nodes = ["", ":P", " {n: 1}"];
    let filters = [
        "",
        "WHERE b.n < 3",
        "WHERE c.n > 0 AND NOT a.n = 2",
        "WHERE a.n < c.n",
        "WHERE b.n IS NULL OR c:Q",
        "WHERE a.id IN [1, 2, 3]",
    ];
    let results = [
        "count(*) AS x",
        "c.id AS k, count(*) AS x",
        "a.type AS k, count(*) AS x",
        "b.n AS k, count(*) AS x, sum(b.n) AS y, min(b.n) AS z",
        "c.type AS k, count(c.n) AS w, sum(c.n) AS x, round(1000000 * avg(c.n)) AS y, max(c.n) AS z",
        "c AS c, count(DISTINCT c.n) AS x, size(collect(c.n)) AS y",
        "a.id AS i, c.id AS j, count(*) AS x",
        "c.id AS k, c.n AS m, count(*) AS x ORDER BY x DESC, k LIMIT 3",
        "c.type AS k, c.id AS i, c AS c ORDER BY k, c.id DESC SKIP 1 LIMIT 4",
        "c AS c, count(*) AS x, sum(c.n) AS y ORDER BY y, x DESC, c.id LIMIT 2",
    ];
    let (mut counted, mut asked) = (0, 0);
    for seed in 0..3 {
        let graph = tangle(seed);
        for (i, one) in steps.iter().enumerate() {
            for (j, two) in steps.iter().enumerate() {
                let (x, y, z) = (nodes[i % 3], nodes[(i + j) % 3], nodes[j % 2]);
                for (f, filter) in filters.iter().enumerate() {
                    let result = results[(i + 3 * j + 5 * f + seed as usize) % results.len()];
                    let pattern = format!("(a{x}){one}(b{y}){two}(c{z}) {filter} RETURN {result}");
                    let (got, way) = rows(&graph, &format!("MATCH {pattern}"));
                    let (want, walked) = rows(&graph, &format!("MATCH p = {pattern}"));
                    assert!(!walked);
                    assert_eq!(got, want, "{pattern}, seed {seed}");
                    counted += usize::from(way);
                    asked += 1;
                }
            }
        }
        for pattern in [
            "(a)-[:K]->(b)-[:L]->(c)-[:K]->(d) RETURN count(*) AS x",
            "(a)-[:K]->(b)-[:K]->(c)-[:K]->(d) RETURN d.id AS k, count(*) AS x",
            "(a)-[:K]->(b)-[:L]->(c)-[r]->(d) RETURN r.type AS k, d.id AS i, count(*) AS x",
            "(a)-[:K]->(a) RETURN count(*) AS x",
            "(a)-[:K]->(b)-[:L]->(a) RETURN count(*) AS x",
            "(a)-[r:K]->(b) RETURN r AS r, count(*) AS x",
            "(a)-[:Z]->(b) RETURN count(*) AS x",
            "(a)-[:K]->(b), (b)-[:L]->(c) RETURN c.n AS k, count(*) AS x",
            "(a)-[:K]->(b)<-[:L]-(c) WITH c, count(*) AS n MATCH (c)-->(d) RETURN d.id AS k, sum(n) AS x",
        ] {
            let (got, way) = rows(&graph, &format!("MATCH {pattern}"));
            let walked = pattern.replacen("(a)", "p = (a)", 1);
            assert_eq!(got, rows(&graph, &format!("MATCH {walked}")).0, "{pattern}, seed {seed}");
            counted += usize::from(way);
            asked += 1;
        }
    }
    assert!(counted * 4 > asked && counted < asked, "{counted} of {asked} were counted");
}

#[test]
fn more_paths_than_numbers_are_refused() {
    graphlume_types::tuning::use_small(true);
    // Ten relationships of each of twenty types in each direction: every step has ten times as many paths.
    let ends =
        |a: i64, b: i64| -> Vec<i64> { (0..400).map(|i| if i < 200 { a } else { b }).collect() };
    let edges = RecordBatch::try_from_iter([
        ("s", Arc::new(Int64Array::from(ends(1, 2))) as ArrayRef),
        ("d", Arc::new(Int64Array::from(ends(2, 1)))),
        (
            "type",
            Arc::new(StringArray::from(
                (0..400).map(|i| format!("T{}", i % 20)).collect::<Vec<_>>(),
            )),
        ),
    ]);
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    let graph =
        PropertyGraph::new(None, Some(Table::try_new(edges.unwrap()).unwrap()), bindings).unwrap();
    let ask = |steps: usize| {
        let pattern: String = (0..steps).map(|i| format!("-[:T{i}]->()")).collect();
        let query = parse(&format!("MATCH (){pattern} RETURN count(*) AS x")).unwrap();
        run(&graph, &query, &Map::new(), Strictness::Strict, &CancelToken::new())
    };
    assert_eq!(ask(13).unwrap().json(), [json!({"x": 20_000_000_000_000_i64})]);
    let e = ask(20).unwrap_err().to_string();
    assert!(e.contains("more than 9223372036854775807 matches"), "{e}");
}

#[test]
fn the_average_of_whole_numbers_is_that_of_their_sum() {
    // One by one the mean of these is 3.0000000000000004 and the like, in some orders.
    for seed in 0..40_u64 {
        let numbers: Vec<i64> = (0..200)
            .map(|i: u64| ((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50) as i64 - 8_000)
            .collect();
        let sum: i64 = numbers.iter().sum();
        let floats: Vec<f64> = numbers.iter().map(|v| *v as f64).collect();
        for list in [json!(numbers), json!(floats)] {
            assert_eq!(
                value(&format!("UNWIND {list} AS x RETURN avg(x)")),
                json!(sum as f64 / 200.0)
            );
        }
    }
    let of = |list: &str| value(&format!("UNWIND {list} AS x RETURN avg(x)")).as_f64();
    assert_eq!(of("[1, 2, 0.5]"), Some(3.5 / 3.0));
    assert_eq!(of("[0.5, 1, 2]"), Some(3.5 / 3.0));
    // Beyond 53 bits a sum is not exact, and the mean alone is kept.
    let large = of("[9007199254740992, 9007199254740994, 9007199254740990]").unwrap();
    assert!((large - 9_007_199_254_740_992.0).abs() <= 2.0, "{large}");
    // The sum of these is no float: added up it would lose both ones.
    let mixed = of("[9007199254740992, 1, 1]").unwrap();
    assert!((mixed - 3_002_399_751_580_331.5).abs() <= 0.5, "{mixed}");
    assert_eq!(of("[]"), None);
}
