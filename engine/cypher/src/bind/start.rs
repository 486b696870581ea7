//! Start of a pattern: at the node from which the fewest rows are made on the way.
//!
//! The rows of each way are estimated from the numbers of nodes and relationships, taken as independent of
//! each other (Selinger et al., "Access Path Selection in a Relational Database Management System", 1979).

use super::Binder;
use super::pattern::{Elements, Rel};
use crate::ast::Binary;
use crate::plan::{Ex, Seek, Slot};
use crate::value::Value;
use graphlume_graph::Direction;

/// Relationships of a pattern up to which its starts are compared.
const RELS_MAX: usize = 16;
/// Hops that a variable length without an upper bound counts for.
pub(crate) const HOPS_UNBOUND: u32 = 8;
/// Rows that are never told apart.
const ROWS_MAX: f64 = 1e18;

/// The value that a property must have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given<'a> {
    Value(&'a Value),
    Param(&'a str),
    /// It depends on the row.
    Unknown,
}

/// A property that names a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Its name; `None` for the function `id`.
    pub key: Option<&'a str>,
    pub value: Given<'a>,
    /// Whether the value is a list of which one must match.
    pub any: bool,
}

/// What is known of a graph before a query looks at it.
pub(crate) trait Statistics {
    /// About how many nodes have the labels and the properties.
    fn nodes(&self, labels: &[&str], wanted: &[Wanted<'_>]) -> f64;

    /// About how many relationships have one of the types; all without any.
    fn relationships(&self, types: &[&str]) -> f64;

    /// Whether the graph has a GPU that counts paths, so that more of them are worth counting.
    fn has_device(&self) -> bool;
}

/// A pattern with what is known of its parts.
struct Known<'e> {
    elements: &'e Elements,
    /// Nodes with the labels of each node, and those of them that have the properties.
    nodes: Vec<(f64, f64)>,
    rels: Vec<f64>,
}

impl Binder<'_> {
    /// The node to start from.
    pub(super) fn start(&mut self, e: &Elements) -> Option<usize> {
        let usual = e.next_node()?;
        let mut free = (0..e.nodes.len()).filter(|n| !e.is_bound(*n));
        let told_apart = |n: usize| {
            e.nodes.get(n).is_some_and(|n| !n.labels.is_empty() || !e.seeks(n.slot).is_empty())
        };
        if self.nested
            || free.clone().count() < 2
            || e.rels.len() > RELS_MAX
            || !free.any(told_apart)
            || !e.is_total()
        {
            return Some(usual);
        }
        self.open = true;
        let Some(statistics) = self.statistics else { return Some(usual) };
        let known = self.measured(e, statistics);
        let mut best = (known.cost(usual), usual);
        for node in (0..e.nodes.len()).filter(|n| !e.is_bound(*n)) {
            let cost = known.cost(node);
            if cost < best.0 {
                best = (cost, node);
            }
        }
        Some(best.1)
    }

    fn measured<'e>(&self, e: &'e Elements, statistics: &dyn Statistics) -> Known<'e> {
        let words = |list: &'_ [String], numbers: &[usize]| -> Vec<String> {
            numbers.iter().filter_map(|i| list.get(*i).cloned()).collect()
        };
        let nodes = e.nodes.iter().map(|n| {
            let labels = words(&self.labels, &n.labels);
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            let seeks = e.seeks(n.slot);
            let wanted: Vec<Wanted<'_>> = seeks.iter().map(|s| self.wanted(s)).collect();
            let all = statistics.nodes(&labels, &[]).max(1.0);
            let some = if wanted.is_empty() { all } else { statistics.nodes(&labels, &wanted) };
            (all, some.min(all))
        });
        let nodes = nodes.collect();
        let rels = e.rels.iter().map(|r| {
            let types = words(&self.types, &r.types);
            let types: Vec<&str> = types.iter().map(String::as_str).collect();
            statistics.relationships(&types)
        });
        Known { elements: e, nodes, rels: rels.collect() }
    }

    fn wanted<'s>(&'s self, seek: &'s Seek) -> Wanted<'s> {
        let value = match &seek.value {
            Ex::Const(value) => Given::Value(value),
            Ex::Param(i) => self.params.get(*i).map_or(Given::Unknown, |p| Given::Param(p)),
            _ => Given::Unknown,
        };
        let key = seek.key.and_then(|k| self.keys.get(k)).map(String::as_str);
        Wanted { key, value, any: seek.any }
    }
}

impl Known<'_> {
    /// Rows that are made on the way from a node, in the order in which the pattern is matched then.
    fn cost(&self, start: usize) -> f64 {
        let e = self.elements;
        let mut bound: Vec<bool> = (0..e.nodes.len()).map(|n| e.is_bound(n)).collect();
        let mut done: Vec<bool> = e.rels.iter().map(|r| r.done).collect();
        let bind = |bound: &mut Vec<bool>, n: usize| {
            if let Some(b) = bound.get_mut(n) {
                *b = true;
            }
        };
        bind(&mut bound, start);
        let mut rows = self.node(start).1;
        let mut cost = rows;
        loop {
            let is = |list: &[bool], i: usize| list.get(i).copied().unwrap_or(true);
            let next = e.next_rel(|n| is(&bound, n), |r| is(&done, r));
            let Some((i, rel)) = next.and_then(|i| Some((i, e.rels.get(i)?))) else { return cost };
            let ends = (is(&bound, rel.from), is(&bound, rel.to));
            let all = self.rels.get(i).copied().unwrap_or(0.0);
            rows = match ends {
                (true, false) => self.expanded(rows, all, rel, (rel.from, rel.to), &mut cost),
                (false, true) => self.expanded(rows, all, rel, (rel.to, rel.from), &mut cost),
                // How likely two given nodes are joined.
                _ => rows * (all / (self.node(rel.from).0 * self.node(rel.to).0)).min(1.0),
            };
            cost = (cost + rows).min(ROWS_MAX);
            bind(&mut bound, rel.from);
            bind(&mut bound, rel.to);
            if let Some(d) = done.get_mut(i) {
                *d = true;
            }
        }
    }

    fn node(&self, n: usize) -> (f64, f64) {
        self.nodes.get(n).copied().unwrap_or((1.0, 1.0))
    }

    /// Rows after a step from a node that is bound; those that fail a test of the far node cost as well.
    fn expanded(
        &self,
        rows: f64,
        all: f64,
        rel: &Rel,
        (near, far): (usize, usize),
        cost: &mut f64,
    ) -> f64 {
        let both = if rel.direction == Direction::Undirected { 2.0 } else { 1.0 };
        let each = both * all / self.node(near).0;
        let hops = rel.span.as_ref().map_or(1, |s| s.max.unwrap_or(HOPS_UNBOUND));
        let met = (rows * each.powi(hops.min(HOPS_UNBOUND) as i32)).min(ROWS_MAX);
        *cost += met;
        let (labelled, wanted) = self.node(far);
        met * wanted / labelled
    }
}

impl Elements {
    /// Whether no condition can fail with an error, whichever nodes it is asked of: then the order of the work
    /// changes nothing but the time it takes.
    fn is_total(&self) -> bool {
        let nodes = self.nodes.iter().map(|n| n.slot);
        let own: Vec<Slot> = nodes.chain(self.rels.iter().map(|r| r.slot)).collect();
        let spans = self.rels.iter().filter_map(|r| r.span.as_ref());
        let mut props = spans.flat_map(|s| &s.props);
        self.preds.iter().filter(|p| !p.done).all(|p| is_test(&p.test, &own))
            && props.all(|(_, value)| is_total(value, &own))
    }
}

/// Whether a value can be computed for every row.
fn is_total(e: &Ex, own: &[Slot]) -> bool {
    match e {
        Ex::Const(_) | Ex::Param(_) | Ex::Slot(_) => true,
        Ex::Prop(base, _) => matches!(**base, Ex::Slot(s) if own.contains(&s)),
        Ex::Call(f, args) if f.name == "id" || f.name == "elementId" => {
            matches!(args.as_slice(), [Ex::Slot(s)] if own.contains(s))
        }
        Ex::List(list) => list.iter().all(|x| is_total(x, own)),
        _ => false,
    }
}

/// Whether a condition has an answer (true, false or unknown) for every row.
fn is_test(e: &Ex, own: &[Slot]) -> bool {
    match e {
        Ex::And(list) | Ex::Or(list) => list.iter().all(|x| is_test(x, own)),
        Ex::Not(a) => is_test(a, own),
        Ex::Compare(a, rest) => is_total(a, own) && rest.iter().all(|(_, b)| is_total(b, own)),
        Ex::IsNull(a, _) => is_total(a, own),
        Ex::HasLabels(a, _) => matches!(**a, Ex::Slot(s) if own.contains(&s)),
        Ex::Binary(Binary::In, a, b) => {
            let list = matches!(**b, Ex::List(_) | Ex::Const(Value::List(_)));
            list && is_total(a, own) && is_total(b, own)
        }
        Ex::Binary(Binary::StartsWith | Binary::EndsWith | Binary::Contains, a, b) => {
            is_total(a, own) && is_total(b, own)
        }
        _ => false,
    }
}
