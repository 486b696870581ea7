//! Random queries.

use super::data::{Kind, TEXTS, TIMES, V, drawn};
use super::draw::Draw;
use super::query::{Binding, Chain, Clause, Edge, Filter, Lit, Node, Op, P, Query};

const COMPARISONS: [&str; 6] = ["GT", "LT", "GE", "LE", "EQ", "NE"];
const CLAUSES: [&str; 6] = ["eq", "neq", "lt", "le", "gt", "ge"];
const CLASSES: [&str; 9] = [
    "IsAlpha",
    "IsDigit",
    "IsLower",
    "IsUpper",
    "IsSpace",
    "IsAlnum",
    "IsDecimal",
    "IsTitle",
    "IsNumeric",
];
const PLACES: [&str; 7] = [
    "IsMonthStart",
    "IsMonthEnd",
    "IsQuarterStart",
    "IsQuarterEnd",
    "IsYearStart",
    "IsYearEnd",
    "IsLeapYear",
];
/// Patterns that mean the same to Python and here.
const PATTERNS: [&str; 8] = ["a", "", "^a", "b$", "a.*b", "[ab]+", "A|1", "(?:a)b?"];
/// Columns of nodes that filters name; some graphs lack them.
pub(super) const NODE_NAMES: &[(&str, Kind)] = &[
    ("i", Kind::Int),
    ("f", Kind::Float),
    ("t", Kind::Text),
    ("b", Kind::Bool),
    ("w", Kind::Time),
    ("type", Kind::Text),
    ("label__A", Kind::Bool),
    ("label__B", Kind::Bool),
    ("labels", Kind::List),
    ("none", Kind::Null),
    ("id", Kind::Int),
    ("absent", Kind::Int),
    ("n0", Kind::Bool),
];
pub(super) const EDGE_NAMES: &[(&str, Kind)] = &[
    ("e", Kind::Int),
    ("g", Kind::Float),
    ("t", Kind::Text),
    ("b", Kind::Bool),
    ("w", Kind::Time),
    ("type", Kind::Text),
    ("label__A", Kind::Bool),
    ("s", Kind::Int),
    ("absent", Kind::Int),
    ("e0", Kind::Bool),
];

/// A literal that a column of a kind may be compared with.
fn literal(d: &mut Draw, name: &str, kind: Kind) -> Lit {
    let s = d.pick(TIMES).0;
    match kind {
        Kind::Time => match d.below(4) {
            0 | 1 => Lit::Instant(s),
            2 => Lit::Day(s.div_euclid(86_400)),
            _ => Lit::Clock(s.rem_euclid(86_400)),
        },
        Kind::List => Lit::V(V::text("A")),
        kind => Lit::V(drawn(d, name, kind)),
    }
}

/// A literal that is not null, as comparisons want it.
fn bound(d: &mut Draw, name: &str, kind: Kind) -> Lit {
    match literal(d, name, kind) {
        Lit::V(V::Null) => Lit::V(if kind == Kind::Text { V::text("a") } else { V::Int(1) }),
        other => other,
    }
}

fn predicate(d: &mut Draw, name: &str, kind: Kind, depth: usize) -> P {
    // Now and then the literal is of another kind than the column.
    let kind = match d.below(24) {
        23 => *d.pick(&[Kind::Int, Kind::Text, Kind::Bool, Kind::Time, Kind::Float]),
        22 if kind == Kind::Int => Kind::Float,
        22 if kind == Kind::Float => Kind::Int,
        _ => kind,
    };
    match d.below(13) {
        0 | 1 => P::Compare(d.word(&COMPARISONS), bound(d, name, kind)),
        2 => P::Same(match drawn(d, name, kind) {
            V::List(_) => V::text(d.word(&["A", "B"])),
            v => v,
        }),
        3 => P::Null("IsNA", true),
        4 => P::Null(d.word(&["NotNA", "NotNull"]), false),
        5 => P::Null("IsNull", true),
        6 if kind != Kind::List => P::Member(d.list(3, |d| drawn(d, name, kind))),
        7 => {
            // Long lists are looked up.
            let most = if d.chance(20) { 40 } else { 3 };
            P::IsIn(d.list(most, |d| literal(d, name, kind)))
        }
        8 if kind == Kind::Time => {
            P::Between(bound(d, name, kind), bound(d, name, kind), d.chance(50))
        }
        8 if matches!(kind, Kind::Int | Kind::Float) => {
            P::Between(bound(d, name, kind), bound(d, name, kind), d.chance(50))
        }
        9 | 10 if kind == Kind::Text => {
            let kind = d.word(&["Contains", "Startswith", "Endswith", "Match", "Fullmatch"]);
            let (case, na) = (!d.chance(40), *d.pick(&[None, Some(true), Some(false)]));
            let (regex, mut patterns) = (kind == "Match" || kind == "Fullmatch", vec![]);
            let regex = regex || kind == "Contains" && d.chance(50);
            let count = if kind.ends_with("with") { d.below(3) } else { 1 };
            for _ in 0..count {
                patterns.push(if regex { d.word(&PATTERNS) } else { d.word(TEXTS) });
            }
            P::Text(kind, patterns, case, na, regex)
        }
        11 if kind == Kind::Text => P::Class(d.word(&CLASSES)),
        11 if kind == Kind::Time => P::Calendar(d.word(&PLACES)),
        11 => P::Duplicated(*d.pick(&[Some("first"), Some("last"), None])),
        12 if depth < 2 => {
            let test = |d: &mut Draw| match predicate(d, name, kind, depth + 1) {
                P::Same(_) | P::Member(_) => P::Null("NotNA", false),
                test => test,
            };
            let first = test(d);
            let mut tests = d.list(2, test);
            tests.insert(0, first);
            P::All(tests)
        }
        _ => P::Compare("GE", bound(d, name, kind)),
    }
}

pub(super) fn filter(d: &mut Draw, names: &[(&str, Kind)], most: usize) -> Filter {
    let mut filter = Filter::new();
    for _ in 0..d.below(most + 1) {
        let (name, kind) = *d.pick(names);
        if !filter.iter().any(|(n, _)| n == name) {
            // Labels are asked for by plain equality most of the time.
            let test = match name {
                "label__A" | "label__B" if d.chance(70) => P::Same(V::Bool(true)),
                "type" | "labels" if d.chance(60) => P::Same(V::text(d.word(&["A", "B"]))),
                "id" | "s" if d.chance(80) => {
                    let ids: Vec<V> = d.list(2, |d| V::Text(format!("n{}", d.below(7))));
                    if d.chance(50) { P::Member(ids) } else { P::Null("NotNA", false) }
                }
                _ => predicate(d, name, kind, 0),
            };
            filter.push((name.to_owned(), test));
        }
    }
    filter
}

/// How a chain is to look.
#[derive(Clone, Copy)]
struct Shape {
    /// Whether there are conditions along paths.
    clauses: bool,
    /// Whether rows of paths are made of it.
    paths: bool,
}

fn node(d: &mut Draw, number: usize) -> Node {
    Node {
        filter: if d.chance(55) { filter(d, NODE_NAMES, 2) } else { vec![] },
        name: d.chance(55).then(|| if d.chance(3) { "i".to_owned() } else { format!("n{number}") }),
        query: d.chance(8).then(|| super::expr::condition(d, NODE_NAMES, 2)),
    }
}

fn edge(d: &mut Draw, number: usize, shape: Shape) -> Edge {
    let mut op = Edge { direction: d.below(3), ..Edge::default() };
    let few = |d: &mut Draw| d.below(5) as u32;
    match d.below(10) {
        0..=3 => {}
        4 | 5 => op.hops = Some(1 + d.below(3) as u32),
        6 => op.fixed = true,
        7 => op.max = Some(few(d)),
        _ => {
            op.min = Some(few(d));
            op.max = d.chance(80).then(|| op.min.unwrap_or(0) + d.below(3) as u32);
            op.fixed = d.chance(15);
        }
    }
    op.zero = d.chance(12);
    if d.chance(20) && !shape.clauses && !shape.paths {
        let column =
            |d: &mut Draw| d.chance(70).then(|| (d.word(&["hop", "hop_e", "i"])).to_owned());
        op.labels = (column(d), column(d));
        op.label_seeds = d.chance(30);
        if d.chance(50) {
            let low = d.below(4) as u32;
            op.output = (d.chance(60).then_some(low), d.chance(60).then(|| low + few(d)));
        }
    }
    if d.chance(45) {
        op.edge.filter = filter(d, EDGE_NAMES, 2);
    }
    if d.chance(5) {
        op.edge.query = Some(super::expr::condition(d, EDGE_NAMES, 2));
    }
    if d.chance(15) {
        op.source = filter(d, NODE_NAMES, 1);
    }
    if d.chance(15) {
        op.destination = filter(d, NODE_NAMES, 1);
    }
    op.name = d.chance(40).then(|| format!("e{number}"));
    op
}

fn steps(d: &mut Draw, shape: Shape) -> Vec<Op> {
    let mut ops = Vec::new();
    let exact = shape.clauses || shape.paths;
    if exact || !d.chance(10) {
        ops.push(Op::Node(node(d, 0)));
    }
    for number in 0..d.below(4) {
        ops.push(Op::Edge(Box::new(edge(d, number, shape))));
        if exact || !d.chance(5) {
            ops.push(Op::Node(node(d, number + 1)));
        }
        if !exact && d.chance(4) {
            ops.push(Op::Node(node(d, number + 5)));
        }
    }
    ops
}

fn clauses(d: &mut Draw, ops: &[Op]) -> Vec<Clause> {
    let names: Vec<(&String, bool)> = ops
        .iter()
        .filter_map(|op| match op {
            Op::Node(op) => Some((op.name.as_ref()?, false)),
            Op::Edge(op) => Some((op.name.as_ref()?, true)),
            Op::Call(_) => None,
        })
        .collect();
    if names.is_empty() {
        return vec![];
    }
    let mut list = Vec::new();
    for _ in 0..=d.below(2) {
        let side = |d: &mut Draw| {
            let (name, edge) = *d.pick(&names);
            let column = if edge {
                d.word(&["e", "t", "g", "s"])
            } else {
                d.word(&["i", "f", "t", "id", "w"])
            };
            (name.clone(), column.to_owned())
        };
        list.push((d.word(&CLAUSES), side(d), side(d)));
    }
    list
}

fn chain(d: &mut Draw) -> Chain {
    let mut chain = Chain::default();
    if d.chance(12) {
        chain.ops.extend(super::calls::on_graph(d).map(Op::Call));
    }
    let shape = Shape { clauses: d.chance(20), paths: d.chance(12) };
    if d.chance(92) {
        chain.ops.extend(steps(d, shape));
    }
    if shape.clauses && !shape.paths {
        chain.clauses = clauses(d, &chain.ops);
    }
    if d.chance(10) {
        chain.ops.extend(super::calls::on_graph(d).map(Op::Call));
    }
    if shape.paths || d.chance(25) {
        // Rows of paths stand in no order.
        let ordered = chain.ops.iter().all(|op| matches!(op, Op::Call(_)));
        chain.ops.extend(super::calls::pipeline(d, ordered).into_iter().map(Op::Call));
    }
    chain
}

fn bindings(d: &mut Draw, depth: usize) -> Vec<(String, Binding)> {
    let count = 1 + d.below(3);
    let mut list: Vec<(String, Binding)> = Vec::new();
    for i in 0..count {
        let name = format!("g{i}");
        let binding = match d.below(8) {
            7 if depth < 2 => Binding::Let(bindings(d, depth + 1)),
            5 | 6 if count > 1 => {
                // Mostly to an earlier name, sometimes to a later one or to itself.
                let other = if i > 0 && d.chance(90) { d.below(i) } else { d.below(count) };
                // A reference has no conditions of its own.
                let chain = Chain { clauses: vec![], ..chain(d) };
                Binding::Ref(format!("g{other}"), chain)
            }
            _ => Binding::Chain(chain(d)),
        };
        list.push((name, binding));
    }
    list
}

/// Any query.
pub(super) fn query(d: &mut Draw) -> Query {
    if d.chance(15) {
        let list = bindings(d, 0);
        let output = d.chance(60).then(|| list[d.below(list.len())].0.clone());
        return Query::Let(list, output);
    }
    Query::Chain(chain(d))
}
