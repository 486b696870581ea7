//! Parts of the inside that the conformance tests need: the set-up queries of scenarios, which create.
//!
//! Nothing of the product can reach this: the parser of queries has no such clause.

use graphlume_expr::{QueryError, Scalar, Strictness};
use graphlume_store::PropertyGraph;
use graphlume_types::CancelToken;
use serde_json::Map;

use crate::ast::{Clause, Expr, Item, Kind, Name, PathPattern, Projection, Union};
use crate::bind::{NumberIds, Written};
use crate::parse::Parser;
use crate::{Query, Value};
use graphlume_graph::Direction;

/// Property names and values.
pub type Props = Vec<(String, Value)>;

/// A graph that is being built: nodes, and relationships between their numbers.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Labels and properties.
    pub nodes: Vec<(Vec<String>, Props)>,
    /// Source, destination, type and properties.
    pub edges: Vec<(u32, u32, String, Props)>,
}

/// Executes a set-up query: reading clauses, then CREATE clauses. `graph` is the graph so far.
///
/// # Errors
/// When the query is of another form.
pub fn execute(setup: &mut Setup, text: &str, graph: &PropertyGraph) -> Result<(), QueryError> {
    let mut parser = Parser::new(text)?;
    let (mut clauses, parts) = parser.creating()?;
    let at = 0;
    let mut items = Vec::new();
    let mut push = |expr: &Expr| {
        let name = Name { text: format!("x{}", items.len()), at };
        items.push(Item { expr: expr.clone(), name, aliased: true });
        items.len() - 1
    };
    // Variables that the reading clauses bind, and every property value, become columns.
    let mut values: Vec<Vec<(String, usize)>> = Vec::new();
    let mut names: Vec<(String, usize)> = Vec::new();
    let bound = bound_names(&clauses);
    for part in &parts {
        for node in &part.nodes {
            let props = node.props.iter().map(|(k, e)| (k.clone(), push(e))).collect();
            values.push(props);
            if let Some(name) = node.name.as_ref().filter(|n| bound.contains(&n.text)) {
                let expr = Expr { kind: Kind::Var(name.text.clone()), at };
                names.push((name.text.clone(), push(&expr)));
            }
        }
        for rel in &part.rels {
            values.push(rel.props.iter().map(|(k, e)| (k.clone(), push(e))).collect());
        }
    }
    push(&Expr { kind: Kind::Scalar(Scalar::Bool(true)), at });
    let order = Vec::new();
    let projection =
        Projection { distinct: false, star: false, items, order, skip: None, limit: None, at };
    clauses.push(Clause::Return(projection));
    let union = Union { parts: vec![clauses], all: Vec::new() };
    let query = Query::new(Written { text, ids: &NumberIds::default() }, union)?;
    let cancel = CancelToken::new();
    let answer = crate::run(graph, &query, &Map::new(), Strictness::Lenient, &cancel)?;
    for row in 0..answer.num_rows() {
        let cell = |column: usize| {
            answer.columns().get(column).and_then(|c| c.get(row)).cloned().unwrap_or_default()
        };
        let known = names.iter().filter_map(|(name, column)| match cell(*column) {
            Value::Node(v) => Some((name.clone(), v)),
            _ => None,
        });
        build(setup, &parts, known.collect(), values.iter(), &cell);
    }
    Ok(())
}

fn bound_names(clauses: &[Clause]) -> Vec<String> {
    let mut names = Vec::new();
    for clause in clauses {
        match clause {
            Clause::Match(m) => {
                let nodes = m.parts.iter().flat_map(|p| &p.nodes);
                names.extend(nodes.filter_map(|n| n.name.as_ref()).map(|n| n.text.clone()));
            }
            Clause::With { body, .. } => {
                names.extend(body.items.iter().map(|i| i.name.text.clone()));
            }
            Clause::Unwind { name, .. } => names.push(name.text.clone()),
            _ => {}
        }
    }
    names
}

fn build<'v>(
    setup: &mut Setup,
    parts: &[PathPattern],
    mut known: Vec<(String, u32)>,
    mut values: impl Iterator<Item = &'v Vec<(String, usize)>>,
    cell: &dyn Fn(usize) -> Value,
) {
    let mut props = || -> Props {
        let list = values.next().into_iter().flatten();
        list.map(|(k, column)| (k.clone(), cell(*column))).collect()
    };
    for part in parts {
        let mut nodes = Vec::new();
        for node in &part.nodes {
            let props = props();
            let name = node.name.as_ref().map(|n| n.text.clone());
            let old = known.iter().find(|(n, _)| Some(n) == name.as_ref()).map(|(_, v)| *v);
            nodes.push(old.unwrap_or_else(|| {
                let number = setup.nodes.len() as u32;
                setup.nodes.push((node.labels.clone(), props));
                known.extend(name.map(|n| (n, number)));
                number
            }));
        }
        for (i, rel) in part.rels.iter().enumerate() {
            let props = props();
            let (Some(a), Some(b)) = (nodes.get(i), nodes.get(i + 1)) else { continue };
            let (from, to) = if rel.direction == Direction::Reverse { (b, a) } else { (a, b) };
            let kind = rel.types.first().cloned().unwrap_or_default();
            setup.edges.push((*from, *to, kind, props));
        }
    }
}
