//! The query engine against a slow evaluator, over random small graphs and random queries.
//!
//! A round draws a graph and a query. Both evaluators must give the same tables, or refuse with the same
//! slug. Then the query's wire form is broken in a few places; that must be refused or answered, without a
//! panic. A difference is cut down to a small case and shown with the seed that leads to it.
//!
//! `GRAPHLUME_FUZZ_ROUNDS` sets the number of rounds and `GRAPHLUME_FUZZ_SEED` the first seed:
//! `GRAPHLUME_FUZZ_ROUNDS=1000000 cargo test -p graphlume-gfql fuzz`.

mod calls;
mod data;
mod draw;
mod expr;
mod filter;
mod groups;
mod passes;
mod paths;
mod query;
mod random;
mod slow;

use std::panic::{AssertUnwindSafe, catch_unwind};

use graphlume_expr::Strictness;
use graphlume_store::PropertyGraph;
use graphlume_types::{CancelToken, Coded};
use rayon::prelude::*;
use serde_json::{Value, json};

use data::{Data, Rows, V};
use draw::{Draw, shrink};
use query::Query;
use slow::{No, State};

/// Rounds of a normal run of the tests.
const ROUNDS: u64 = 20_000;
/// Rounds after which a long run tells how far it is, and ends when something was wrong.
const ROUNDS_AT_ONCE: u64 = 50_000;

/// A graph, a query and how it treats columns that are not there.
#[derive(Debug)]
struct Case {
    data: Data,
    query: Query,
    strict: bool,
    /// Whether the order of rows is not determined, because rows of paths have none.
    bag: bool,
}

impl Case {
    fn drawn(d: &mut Draw) -> Self {
        let data = data::data(d);
        let query = random::query(d);
        Self { data, query, strict: d.chance(15), bag: true }
    }

    fn fast(&self, wire: &Value) -> Result<PropertyGraph, String> {
        let strictness = if self.strict { Strictness::Strict } else { Strictness::Lenient };
        let cancel = CancelToken::new();
        let slug = |e: graphlume_expr::QueryError| e.slug().to_owned();
        let query = crate::parse(wire).map_err(slug)?;
        let outcome =
            crate::run(&self.data.graph(), &query, self.query.output(), strictness, &cancel);
        let graph = outcome.map_err(slug)?.graph;
        graph.node_table(&cancel).map_err(slug)?;
        Ok(graph)
    }

    /// What is wrong about the fast answer.
    fn difference(&self) -> Option<String> {
        let wire = self.query.wire();
        let fast = match catch_unwind(AssertUnwindSafe(|| self.fast(&wire))) {
            Ok(fast) => fast,
            Err(panic) => return Some(format!("panic: {}", said(panic.as_ref()))),
        };
        let slow = slow::query(&self.data, &self.query, self.strict);
        match (fast, slow) {
            (_, Err(No::Any)) => None,
            (Err(a), Err(No::Slug(b))) if a == b => None,
            (Err(a), Err(b)) => Some(format!("refused with {a}, should be {b:?}")),
            (Err(a), Ok(b)) => Some(format!("refused with {a}, should be {b:?}")),
            (Ok(_), Err(b)) => Some(format!("answered, should be refused with {b:?}")),
            (Ok(a), Ok(b)) => self.tables(&a, &b),
        }
    }

    fn tables(&self, fast: &PropertyGraph, slow: &State) -> Option<String> {
        let cancel = CancelToken::new();
        let nodes = Rows::read(&fast.node_table(&cancel).unwrap());
        let slow_nodes = slow::Graph::new(slow, false).nodes;
        let wrong = differ(&nodes, &slow_nodes, self.bag).map(|w| format!("nodes: {w}"));
        wrong.or_else(|| match (fast.edges(), &slow.edges) {
            (None, None) => None,
            (Some(a), Some(b)) => {
                differ(&Rows::read(a), b, self.bag).map(|w| format!("edges: {w}"))
            }
            (a, b) => Some(format!("edges: {} and {}", a.is_some(), b.is_some())),
        })
    }

    /// Breaks the wire form; what panics is told.
    fn broken(&self, d: &mut Draw) -> Option<String> {
        let mut wire = self.query.wire();
        for _ in 0..=d.below(3) {
            mutate(&mut wire, d);
        }
        let panic = catch_unwind(AssertUnwindSafe(|| self.fast(&wire))).err()?;
        Some(format!("panic: {}, on {wire}", said(panic.as_ref())))
    }
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default()
}

/// How two tables differ.
fn differ(a: &Rows, b: &Rows, bag: bool) -> Option<String> {
    let names = |rows: &Rows| {
        let mut names: Vec<String> = rows.heads.iter().map(|h| h.name.clone()).collect();
        names.sort();
        names
    };
    if names(a) != names(b) {
        return Some(format!("columns {:?}, should be {:?}", names(a), names(b)));
    }
    let sorted = |rows: &Rows| {
        let columns: Vec<Vec<V>> = names(b).iter().map(|n| rows.column(n).unwrap()).collect();
        let row = |i: usize| columns.iter().map(|c| c[i].clone()).collect::<Vec<V>>();
        let mut rows: Vec<Vec<V>> = (0..rows.cells.len()).map(row).collect();
        if bag {
            // A sum with zero has one zero, as values are compared.
            let key = |row: &Vec<V>| {
                let part = |v: &V| {
                    v.number().map_or_else(|| format!("{v:?}"), |v| format!("{:?}", v + 0.0))
                };
                row.iter().map(part).collect::<Vec<_>>()
            };
            rows.sort_by_key(key);
        }
        rows
    };
    let (x, y) = (sorted(a), sorted(b));
    let same = x.len() == y.len()
        && x.iter().zip(&y).all(|(x, y)| x.iter().zip(y).all(|(x, y)| x.same(y)));
    (!same).then(|| format!("columns {:?}\n  rows {x:?}\n  should be {y:?}", names(b)))
}

/// Changes something somewhere in a value.
fn mutate(value: &mut Value, d: &mut Draw) {
    let odd = |d: &mut Draw| {
        d.pick(&[
            Value::Null,
            json!(true),
            json!(-1),
            json!(0),
            json!(1),
            json!(10_001),
            json!(9_223_372_036_854_775_807_i64),
            json!(18_446_744_073_709_551_615_u64),
            json!(1e308),
            json!(""),
            json!("n0"),
            json!("n0.i"),
            json!("("),
            json!("\u{10ffff}"),
            json!([]),
            json!({}),
            json!([1]),
            json!({"type": "GT"}),
            json!("i + 1"),
            json!({"type": "Node"}),
            json!({"type": "Edge", "direction": "forward"}),
            json!({"type": "Call", "function": "rows"}),
            json!("range(1, 9) + i"),
            json!("[x IN range(0, 3) WHERE x > i | x]"),
            json!("substring(t, 1)"),
        ])
        .clone()
    };
    match value {
        Value::Array(items) if !items.is_empty() && d.chance(85) => {
            let at = d.below(items.len());
            match d.below(8) {
                0 => {
                    items.remove(at);
                }
                1 => items.push(items[at].clone()),
                2 => items.swap(at, 0),
                _ => mutate(&mut items[at], d),
            }
        }
        Value::Object(map) if !map.is_empty() && d.chance(85) => {
            let key = map.keys().nth(d.below(map.len())).cloned().unwrap_or_default();
            match d.below(8) {
                0 => {
                    map.remove(&key);
                }
                1 => {
                    let other = d.word(&["type", "hops", "min_hops", "name", "val", "chain", "i"]);
                    let v = odd(d);
                    map.insert((*other).to_owned(), v);
                }
                _ => mutate(map.get_mut(&key).unwrap(), d),
            }
        }
        Value::String(text) if d.chance(50) => {
            let at =
                text.char_indices().map(|(i, _)| i).nth(d.below(text.len().max(1))).unwrap_or(0);
            match d.below(3) {
                0 => text.insert_str(at, d.word(&["(", "'", " ", "NOT ", "\u{e9}", "[", ".", "-"])),
                1 if !text.is_empty() => {
                    text.remove(at);
                }
                _ => text.truncate(at),
            }
        }
        other => *other = odd(d),
    }
}

/// What is wrong with a round, and the choices that lead to it.
fn round(d: &mut Draw) -> Option<String> {
    let case = Case::drawn(d);
    case.difference().or_else(|| case.broken(d))
}

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    }
}

/// The beginning of a message: failures that share it are most likely one.
fn sort_of(wrong: &str) -> &str {
    wrong
        .split_once(" State")
        .map_or(wrong, |(head, _)| head)
        .split(['[', '\n'])
        .next()
        .unwrap_or("")
}

/// A failure, cut down to a small case of the same sort.
fn report(seed: u64, wrong: &str) -> String {
    let mut d = Draw::seeded(seed);
    let _ = round(&mut d);
    let same = |list: &[u32]| {
        let found = round(&mut Draw::replay(list.to_vec()));
        found.is_some_and(|w| sort_of(&w) == sort_of(wrong))
    };
    let mut d = Draw::replay(shrink(d.taken().to_vec(), same));
    let case = Case::drawn(&mut d);
    let wrong = case.difference().or_else(|| case.broken(&mut d)).unwrap_or_default();
    let (strict, data) = (case.strict, &case.data);
    format!(
        "seed {seed}: {wrong}\nstrict: {strict}\n{}\n{data}\n{:?}\n",
        case.query.wire(),
        case.query
    )
}

/// Failures that are cut down and shown.
const SHOWN: usize = 6;

#[test]
fn the_engine_agrees_with_the_slow_evaluator() {
    let rounds = setting("GRAPHLUME_FUZZ_ROUNDS", ROUNDS);
    let first = setting("GRAPHLUME_FUZZ_SEED", 1);
    // Panics are told by the reports.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let started = std::time::Instant::now();
    let mut failed: Vec<(u64, String)> = vec![];
    let end = first + rounds;
    for from in (first..end).step_by(ROUNDS_AT_ONCE as usize) {
        let seeds = from..(from + ROUNDS_AT_ONCE).min(end);
        let wrong = |seed| round(&mut Draw::seeded(seed)).map(|wrong| (seed, wrong));
        failed.extend(seeds.into_par_iter().filter_map(wrong).collect::<Vec<_>>());
        let done = (from + ROUNDS_AT_ONCE).min(end) - first;
        let (secs, wrong) = (started.elapsed().as_secs_f64(), failed.len());
        eprintln!("{done} of {rounds} rounds from seed {first}, {wrong} failed, {secs:.0} s");
        if wrong > 0 {
            break;
        }
    }
    let mut sorts: Vec<&str> = vec![];
    let mut reports = String::new();
    for (seed, wrong) in &failed {
        if sorts.len() < SHOWN && !sorts.contains(&sort_of(wrong)) {
            sorts.push(sort_of(wrong));
            reports += &report(*seed, wrong);
        }
    }
    std::panic::set_hook(hook);
    assert!(failed.is_empty(), "{} rounds failed\n{reports}", failed.len());
}
