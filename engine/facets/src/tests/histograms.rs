use std::collections::BTreeMap;

use graphlume_expr::Scalar;
use graphlume_types::{CancelReason, CancelToken};

use super::filters::{filters, set_of, visible};
use super::kit::{Cell, Draw, Random};
use crate::{Axis, Count, FilterKind, FilterSet, Histogram, Parts, Rule, VALUES_MAX, Wanted};

fn wanted(draw: &mut Draw) -> Wanted {
    let axis = draw.pick(&[Axis::Node, Axis::Edge]);
    let mut columns = vec!["whole", "float", "unsigned", "truth", "text", "micros", "days", "list"];
    if axis == Axis::Node {
        columns.extend(["degree", "community"]);
    }
    let search = draw.pick(&[None, None, Some("a"), Some("1")]).map(str::to_owned);
    let bins = draw.pick(&[1, 3, 32, 255]);
    Wanted { axis, column: draw.pick(&columns).to_owned(), bins, log: draw.below(3) == 0, search }
}

/// The number of a cell on the scale of its histogram.
fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number(v) => Some(*v).filter(|v| v.is_finite()),
        Cell::Micros(v) => Some(v.div_euclid(1_000) as f64),
        _ => None,
    }
}

/// Checks a histogram by a look at each element.
fn check(of: &Random, wanted: &Wanted, found: &Histogram, passing: &[bool]) {
    let cells: Vec<(Cell, bool)> = passing
        .iter()
        .zip(0..)
        .map(|(passes, e)| (of.cell(wanted.axis, &wanted.column, e), *passes))
        .collect();
    let count = |holds: &dyn Fn(&Cell) -> bool| {
        let own = cells.iter().filter(|(cell, _)| holds(cell));
        let passing = own.clone().filter(|(_, passes)| *passes).count() as u64;
        Count { total: own.count() as u64, passing }
    };
    match &found.parts {
        Parts::Ranges { log, edges, counts } => {
            assert!(wanted.log || !log);
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
            assert_eq!(edges.len(), if counts.is_empty() { 0 } else { counts.len() + 1 });
            assert!(counts.len() <= usize::from(wanted.bins));
            for (i, own) in counts.iter().enumerate() {
                let within = |v: f64| {
                    edges[i] <= v
                        && (v < edges[i + 1] || i + 1 == counts.len() && v == edges[i + 1])
                };
                assert_eq!(*own, count(&|cell| number(cell).is_some_and(within)), "{edges:?} {i}");
            }
            assert_eq!(found.nulls, count(&|cell| number(cell).is_none()));
            let all: u64 = counts.iter().map(|c| c.total).sum();
            assert_eq!(all + found.nulls.total, cells.len() as u64, "each is in one part");
        }
        Parts::Values { values, distinct, others } => {
            let mut all: BTreeMap<String, (Scalar, Count)> = BTreeMap::new();
            for (cell, passes) in &cells {
                let value = match cell {
                    Cell::Null => continue,
                    Cell::Number(v) => Scalar::Int(*v as i64),
                    Cell::Truth(v) => Scalar::Bool(*v),
                    Cell::Text(v) => Scalar::text(v.as_str()),
                    Cell::Micros(_) => panic!("dates are ranges"),
                };
                let shown = match &value {
                    Scalar::Int(v) => v.to_string(),
                    Scalar::Bool(v) => v.to_string(),
                    Scalar::Text(v) => v.to_string(),
                    _ => String::new(),
                };
                let searched = wanted.search.as_deref().unwrap_or_default();
                if shown.to_lowercase().contains(searched) {
                    let own = all.entry(shown).or_insert((value, Count::default()));
                    own.1.total += 1;
                    own.1.passing += u64::from(*passes);
                }
            }
            let mut all: Vec<(Scalar, Count)> = all.into_values().collect();
            assert_eq!(*distinct, all.len() as u64);
            // In order of text, and then by frequency.
            all.sort_by_key(|(_, count)| std::cmp::Reverse(count.total));
            let rest = all.split_off(all.len().min(VALUES_MAX));
            assert_eq!(values, &all);
            assert_eq!(others.total, rest.iter().map(|(_, c)| c.total).sum::<u64>());
            assert_eq!(found.nulls, count(&|cell| *cell == Cell::Null));
        }
    }
}

#[test]
fn bars_are_what_each_element_says_without_the_column_s_own_brush() {
    for seed in 0..300 {
        let of = Random::new(seed);
        let draw = &mut Draw::new(seed + 5_000);
        let count = draw.below(4);
        let (drawn, prune) = (filters(draw, count), draw.below(3) == 0);
        let asked: Vec<Wanted> = (0..4).map(|_| wanted(draw)).collect();
        let set = set_of(&drawn, prune);
        let found = of.facets.histograms(&of, &set, &asked, &CancelToken::new()).unwrap();
        for (one, histogram) in asked.iter().zip(&found) {
            assert_eq!((one.axis, &one.column), (histogram.axis, &histogram.name));
            let own = |f: &crate::Filter| {
                let column = matches!(f.rule.as_ref(), Rule::Brush(b) if b.axis == one.axis && b.column == one.column);
                f.kind == FilterKind::Filter && column
            };
            let (nodes, edges) = visible(&of, &drawn, prune, own);
            let passing = if one.axis == Axis::Node { nodes } else { edges };
            check(&of, one, histogram, &passing);
        }
    }
}

#[test]
fn any_number_of_threads_counts_the_same() {
    for seed in 0..10 {
        let draw = &mut Draw::new(seed);
        let (set, asked) =
            (set_of(&filters(draw, 2), true), (0..4).map(|_| wanted(draw)).collect::<Vec<_>>());
        let at = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let of = Random::new(seed);
            pool.install(|| of.facets.histograms(&of, &set, &asked, &CancelToken::new()).unwrap())
        };
        let one = at(1);
        assert_eq!((&at(2), &at(3)), (&one, &one));
    }
}

fn ask(of: &Random, column: &str, bins: u8, log: bool) -> Result<Histogram, String> {
    let one = Wanted { axis: Axis::Node, column: column.to_owned(), bins, log, search: None };
    let found = of.facets.histograms(of, &FilterSet::default(), &[one], &CancelToken::new());
    found.map(|mut all| all.remove(0)).map_err(|e| e.to_string())
}

#[test]
fn the_json_is_that_of_the_page() {
    let counted = |of: &Random| {
        let (mut totals, mut nulls) = ([0u64; 9], 0u64);
        for v in 0..of.counts().0 {
            match of.cell(Axis::Node, "whole", v) {
                Cell::Number(v) => totals[(v + 4.0) as usize] += 1,
                _ => nulls += 1,
            }
        }
        (totals, nulls)
    };
    let mut all = (0..).map(Random::new);
    let of = all.find(|of| counted(of).0.iter().all(|t| *t > 0)).unwrap();
    let (totals, nulls) = counted(&of);
    let edges: Vec<f64> = (0..10).map(|i| f64::from(i) - 4.5).collect();
    let wanted = serde_json::json!({
        "axis": "node", "name": "whole", "kind": "number", "log": false, "edges": edges,
        "total": totals, "passing": totals, "nulls": {"total": nulls, "passing": nulls},
    });
    assert_eq!(ask(&of, "whole", 32, false).unwrap().json(), wanted);
    let json = ask(&of, "truth", 32, false).unwrap().json();
    assert_eq!(json["kind"], "boolean");
    let value = &json["values"][0];
    assert!(value["value"].is_boolean() && value["total"] == value["passing"], "{json}");
    assert_eq!(json["others"], serde_json::json!({"total": 0, "passing": 0}));
}

#[test]
fn logarithms_keep_zeros_apart_and_are_left_out_where_there_are_none() {
    let of = Random::new(1);
    let found = ask(&of, "degree", 8, true).unwrap();
    let Parts::Ranges { log: true, edges, counts } = &found.parts else { panic!("{found:?}") };
    let zeros =
        (0..of.counts().0).filter(|v| of.cell(Axis::Node, "degree", *v) == Cell::Number(0.0));
    let zeros = zeros.count() as u64;
    if zeros > 0 {
        assert_eq!((edges[0], counts[0].total), (0.0, zeros));
    }
    let grows = edges.windows(3).skip(usize::from(zeros > 0));
    assert!(grows.into_iter().all(|e| e[2] - e[1] > e[1] - e[0]), "{edges:?}");
    let found = ask(&of, "whole", 8, true).unwrap();
    assert!(matches!(found.parts, Parts::Ranges { log: false, .. }), "it has negative numbers");
}

#[test]
fn an_unknown_column_and_a_stopped_question_are_errors() {
    let of = Random::new(1);
    assert!(ask(&of, "wole", 8, false).unwrap_err().contains("did you mean \"whole\"?"));
    let stopped = CancelToken::new();
    stopped.cancel(CancelReason::Deadline);
    for column in ["whole", "text", "degree", "list", "core", "component", "float"] {
        let one = Wanted {
            axis: Axis::Node,
            column: column.to_owned(),
            bins: 4,
            log: false,
            search: None,
        };
        let set = FilterSet::default();
        let error =
            of.facets.histograms(&of, &set, std::slice::from_ref(&one), &stopped).unwrap_err();
        assert_eq!(error.error_code(), graphlume_expr::ErrorCode::Stopped, "{column}: {error}");
        let after = ask(&of, column, 4, false).unwrap();
        assert_eq!(after, ask(&Random::new(1), column, 4, false).unwrap(), "{column}");
    }
}
