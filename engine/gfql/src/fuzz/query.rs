//! Queries, and what they look like on the wire.

use serde_json::{Map, Value, json};

use super::data::{TIMES, V};
use super::expr::E;

/// A value that cells are compared with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Lit {
    V(V),
    Instant(i64),
    Day(i64),
    /// Seconds of a day.
    Clock(i64),
}

/// A test of cells.
#[derive(Clone, Debug)]
pub(super) enum P {
    Same(V),
    Member(Vec<V>),
    Compare(&'static str, Lit),
    Between(Lit, Lit, bool),
    IsIn(Vec<Lit>),
    Null(&'static str, bool),
    /// Kind of test, patterns, case, answer for null, whether the pattern is an expression.
    Text(&'static str, Vec<&'static str>, bool, Option<bool>, bool),
    Class(&'static str),
    Calendar(&'static str),
    Duplicated(Option<&'static str>),
    All(Vec<P>),
}

pub(super) type Filter = Vec<(String, P)>;

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) filter: Filter,
    pub(super) name: Option<String>,
    pub(super) query: Option<E>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Edge {
    /// 0 forward, 1 reverse, 2 either way.
    pub(super) direction: usize,
    pub(super) hops: Option<u32>,
    pub(super) min: Option<u32>,
    pub(super) max: Option<u32>,
    pub(super) fixed: bool,
    pub(super) output: (Option<u32>, Option<u32>),
    pub(super) labels: (Option<String>, Option<String>),
    pub(super) label_seeds: bool,
    pub(super) zero: bool,
    pub(super) edge: Node,
    pub(super) source: Filter,
    pub(super) destination: Filter,
    pub(super) name: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Op {
    Node(Node),
    Edge(Box<Edge>),
    Call(super::calls::Call),
}

/// A comparison of two columns of named steps.
pub(super) type Clause = (&'static str, (String, String), (String, String));

#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    pub(super) ops: Vec<Op>,
    pub(super) clauses: Vec<Clause>,
}

#[derive(Clone, Debug)]
pub(super) enum Binding {
    Chain(Chain),
    Ref(String, Chain),
    Let(Vec<(String, Binding)>),
}

#[derive(Clone, Debug)]
pub(super) enum Query {
    Chain(Chain),
    Let(Vec<(String, Binding)>, Option<String>),
}

pub(super) const DIRECTIONS: [&str; 3] = ["forward", "reverse", "undirected"];

fn value(v: &V) -> Value {
    match v {
        V::Null => Value::Null,
        V::Bool(v) => json!(v),
        V::Int(v) => json!(v),
        V::Float(v) => json!(v),
        V::Text(v) => json!(v),
        V::Time(s) => json!(stamp(*s)),
        V::List(items) => items.iter().map(value).collect(),
    }
}

/// A moment in ISO form.
pub(super) fn stamp(s: i64) -> String {
    let time = TIMES.iter().find(|t| t.0.div_euclid(86_400) == s.div_euclid(86_400)).unwrap();
    let c = s.rem_euclid(86_400);
    let (y, m, d) = (time.1, time.2, time.3);
    format!("{y:04}-{m:02}-{d:02}T{:02}:{:02}:{:02}", c / 3600, c / 60 % 60, c % 60)
}

impl Lit {
    fn wire(&self) -> Value {
        match self {
            Self::V(v) => value(v),
            Self::Instant(s) => json!({"type": "datetime", "value": stamp(*s)}),
            Self::Day(day) => json!({"type": "date", "value": stamp(day * 86_400)[..10]}),
            Self::Clock(c) => {
                let text = format!("{:02}:{:02}:{:02}", c / 3600, c / 60 % 60, c % 60);
                json!({"type": "time", "value": text})
            }
        }
    }
}

impl P {
    fn wire(&self) -> Value {
        match self {
            Self::Same(v) => value(v),
            Self::Member(list) => list.iter().map(value).collect(),
            Self::Compare(kind, lit) => json!({"type": kind, "val": lit.wire()}),
            Self::Between(low, high, inclusive) => json!({"type": "Between",
                "lower": low.wire(), "upper": high.wire(), "inclusive": inclusive}),
            Self::IsIn(list) => {
                let list: Vec<Value> = list.iter().map(Lit::wire).collect();
                json!({"type": "IsIn", "options": list})
            }
            Self::Null(kind, _) | Self::Class(kind) | Self::Calendar(kind) => json!({"type": kind}),
            Self::Text(kind, patterns, case, na, regex) => {
                let several = patterns.len() != 1;
                let pat = if several { json!(patterns) } else { json!(patterns[0]) };
                let mut object = json!({"type": kind, "pat": pat, "case": case, "na": na});
                if *kind == "Contains" {
                    object["regex"] = json!(regex);
                }
                object
            }
            Self::Duplicated(keep) => {
                let keep = keep.map_or(json!(false), |k| json!(k));
                json!({"type": "Duplicated", "keep": keep})
            }
            Self::All(tests) => {
                let tests: Vec<Value> = tests.iter().map(Self::wire).collect();
                json!({"type": "AllOf", "predicates": tests})
            }
        }
    }
}

pub(super) fn filter_wire(filter: &Filter) -> Value {
    filter.iter().map(|(k, p)| (k.clone(), p.wire())).collect::<Map<_, _>>().into()
}

/// Puts what is there into an object.
fn with(object: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(name.to_owned(), value);
    }
}

fn some(filter: &Filter) -> Option<Value> {
    (!filter.is_empty()).then(|| filter_wire(filter))
}

impl Node {
    fn wire(&self) -> Value {
        let mut o = Map::new();
        o.insert("type".into(), json!("Node"));
        with(&mut o, "filter_dict", some(&self.filter));
        with(&mut o, "name", self.name.as_ref().map(|n| json!(n)));
        with(&mut o, "query", self.query.as_ref().map(|e| json!(e.text())));
        o.into()
    }
}

impl Edge {
    pub(super) fn fields(&self) -> Map<String, Value> {
        let mut o = Map::new();
        o.insert("direction".into(), json!(DIRECTIONS[self.direction]));
        for (name, count) in [
            ("hops", self.hops),
            ("min_hops", self.min),
            ("max_hops", self.max),
            ("output_min_hops", self.output.0),
            ("output_max_hops", self.output.1),
        ] {
            with(&mut o, name, count.map(|n| json!(n)));
        }
        for (name, flag) in [
            ("to_fixed_point", self.fixed),
            ("label_seeds", self.label_seeds),
            ("include_zero_hop_seed", self.zero),
        ] {
            with(&mut o, name, flag.then(|| json!(true)));
        }
        with(&mut o, "label_node_hops", self.labels.0.as_ref().map(|n| json!(n)));
        with(&mut o, "label_edge_hops", self.labels.1.as_ref().map(|n| json!(n)));
        with(&mut o, "edge_match", some(&self.edge.filter));
        with(&mut o, "edge_query", self.edge.query.as_ref().map(|e| json!(e.text())));
        with(&mut o, "source_node_match", some(&self.source));
        with(&mut o, "destination_node_match", some(&self.destination));
        o
    }

    fn wire(&self) -> Value {
        let mut o = self.fields();
        o.insert("type".into(), json!("Edge"));
        with(&mut o, "name", self.name.as_ref().map(|n| json!(n)));
        o.into()
    }
}

impl Op {
    pub(super) fn wire(&self) -> Value {
        match self {
            Self::Node(op) => op.wire(),
            Self::Edge(op) => op.wire(),
            Self::Call(call) => call.wire(),
        }
    }
}

impl Chain {
    fn ops_wire(&self) -> Value {
        self.ops.iter().map(Op::wire).collect()
    }

    fn wire(&self) -> Value {
        let side = |(alias, column): &(String, String)| json!(format!("{alias}.{column}"));
        let clauses: Vec<Value> = self
            .clauses
            .iter()
            .map(|(cmp, a, b)| json!({*cmp: {"left": side(a), "right": side(b)}}))
            .collect();
        if clauses.is_empty() {
            return self.ops_wire();
        }
        json!({"type": "Chain", "chain": self.ops_wire(), "where": clauses})
    }
}

fn bindings_wire(list: &[(String, Binding)]) -> Value {
    let one = |(name, binding): &(String, Binding)| (name.clone(), binding.wire());
    json!({"type": "Let", "bindings": list.iter().map(one).collect::<Map<_, _>>()})
}

impl Binding {
    fn wire(&self) -> Value {
        match self {
            Self::Chain(chain) => chain.wire(),
            Self::Ref(name, chain) => {
                json!({"type": "Ref", "ref": name, "chain": chain.ops_wire()})
            }
            Self::Let(list) => bindings_wire(list),
        }
    }
}

impl Query {
    pub(super) fn wire(&self) -> Value {
        match self {
            Self::Chain(chain) => chain.wire(),
            Self::Let(list, _) => bindings_wire(list),
        }
    }

    pub(super) fn output(&self) -> Option<&str> {
        match self {
            Self::Chain(_) => None,
            Self::Let(_, output) => output.as_deref(),
        }
    }
}
