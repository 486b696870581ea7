//! Columns of times, compared with the texts that clients send for them.

use arrow_array::TimestampMillisecondArray;

use super::*;

/// Three nodes and three edges with a time on the first of February, March and April 2026.
fn calendar() -> PropertyGraph {
    graphlume_types::tuning::use_small(true);
    let months = || {
        let at = [1_769_904_000_000, 1_772_323_200_000, 1_775_001_600_000];
        Arc::new(TimestampMillisecondArray::from(at.to_vec())) as ArrayRef
    };
    let texts = |values: [&str; 3]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let nodes = [("id", texts(["a", "b", "c"])), ("at", months())];
    let edges = [("s", texts(["a", "b", "c"])), ("d", texts(["b", "c", "a"])), ("ts", months())];
    let table = |columns: Vec<(&str, ArrayRef)>| {
        Some(Table::try_new(RecordBatch::try_from_iter(columns).unwrap()).unwrap())
    };
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    PropertyGraph::new(table(nodes.to_vec()), table(edges.to_vec()), bindings).unwrap()
}

fn answer(ops: Value) -> Result<PropertyGraph, QueryError> {
    Ok(run(&calendar(), &parse(&ops)?, None, Strictness::Lenient, &CancelToken::new())?.graph)
}

fn nodes(test: Value) -> String {
    ids_of(&answer(json!([{"type": "Node", "filter_dict": {"at": test}}])).unwrap())
}

fn rows(expr: &str) -> Result<String, QueryError> {
    let found = answer(json!([
        {"type": "Node", "filter_dict": {}},
        {"type": "Call", "function": "rows", "params": {"table": "nodes"}},
        {"type": "Call", "function": "where_rows", "params": {"expr": expr}},
    ]))?;
    Ok(ids_of(&found))
}

#[test]
fn a_time_is_compared_with_the_text_that_says_one() {
    let compared = |kind: &str, val: &str| nodes(json!({"type": kind, "val": val}));
    assert_eq!(compared("GT", "2026-02-15"), "b c");
    assert_eq!(compared("LE", "2026-03-01"), "a b");
    assert_eq!(compared("NE", "2026-03-01T00:00:00Z"), "a c");
    assert_eq!(compared("EQ", "2026-03-01T01:00:00+01:00"), "b");
    assert_eq!(nodes(json!("2026-04-01")), "c");
    assert_eq!(nodes(json!(["2026-02-01", "2026-04-01"])), "a c");
    assert_eq!(nodes(json!({"type": "IsIn", "options": ["2026-02-01", null]})), "a");
    let both =
        [json!({"type": "GT", "val": "2026-02-15"}), json!({"type": "LT", "val": "2026-03-15"})];
    assert_eq!(nodes(json!({"type": "AllOf", "predicates": both})), "b");
    let edges = answer(json!([
        {"type": "Node", "filter_dict": {}},
        {"type": "Edge", "direction": "forward", "hops": 1,
            "edge_match": {"ts": {"type": "GT", "val": "2026-02-15"}}},
        {"type": "Node", "filter_dict": {}},
    ]));
    assert_eq!(column(edges.unwrap().edges(), "s"), "b c");
}

#[test]
fn a_time_in_an_expression_is_compared_with_the_text_that_says_one() {
    assert_eq!(rows("at > '2026-02-15'").unwrap(), "b c");
    assert_eq!(rows("'2026-02-15' > at").unwrap(), "a");
    assert_eq!(rows("at IN ['2026-02-01', '2026-03-01']").unwrap(), "a b");
    assert_eq!(rows("CASE at WHEN '2026-04-01' THEN true ELSE false END").unwrap(), "c");
}

#[test]
fn a_text_that_says_no_time_is_an_error_and_no_empty_answer() {
    let tests = [
        json!("spring"),
        json!(["spring"]),
        json!({"type": "GT", "val": "spring"}),
        json!({"type": "NE", "val": "2026-02-30"}),
        json!({"type": "IsIn", "options": ["2026-02-01", "spring"]}),
        json!({"type": "AllOf", "predicates": [{"type": "LT", "val": "spring"}]}),
    ];
    for test in tests {
        let refused = answer(json!([{"type": "Node", "filter_dict": {"at": test}}])).unwrap_err();
        assert!(refused.to_string().contains("says no time"), "{test}: {refused}");
    }
    for expr in ["at > 'spring'", "'spring' = at", "at IN ['spring']"] {
        let refused = rows(expr).unwrap_err();
        assert!(refused.to_string().contains("says no time"), "{expr}: {refused}");
    }
}
