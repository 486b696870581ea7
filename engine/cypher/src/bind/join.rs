//! Joining of MATCH clauses in a row that are matched as one pattern, so that it starts where the fewest rows are made,
//! wherever that was written: `MATCH (p)-[:HAS_INTEREST]->(...) MATCH (p)-[:LIVES_IN]->({name: ...})` begins at the
//! place.

use crate::ast::{Clause, Expr, Kind, Match, PathKind};

/// Nodes and relationships of clauses that are joined, at most: where a pattern starts is compared node by node, each by all of its
/// relationships.
const ELEMENTS_MAX: usize = 32;

/// The MATCH clauses at the beginning of `after` that the binder may match together with `first`, as one pattern. The result has the
/// same rows, because no condition of these clauses can end in an error; they may come in another order, which Cypher leaves open
/// without ORDER BY.
pub(super) fn joined<'a>(first: &'a Match, after: &'a [Clause]) -> Vec<&'a Match> {
    let mut more: Vec<&Match> = Vec::new();
    if !is_simple(first) {
        return more;
    }
    let mut elements = elements_of(first);
    for clause in after {
        let Clause::Match(next) = clause else { break };
        elements += elements_of(next);
        let repeats = names(next)
            .any(|name| names(first).chain(more.iter().flat_map(|m| names(m))).any(|n| n == name));
        if !is_simple(next) || repeats || elements > ELEMENTS_MAX {
            break;
        }
        more.push(next);
    }
    more
}

fn elements_of(m: &Match) -> usize {
    m.parts.iter().map(|part| part.nodes.len() + part.rels.len()).sum()
}

/// The variables of its relationships. One that a MATCH names again is bound there, which one pattern cannot say.
fn names(m: &Match) -> impl Iterator<Item = &str> {
    m.parts
        .iter()
        .flat_map(|part| &part.rels)
        .filter_map(|rel| Some(rel.name.as_ref()?.text.as_str()))
}

/// Whether it has plain steps only, and conditions that compare properties with given values.
fn is_simple(m: &Match) -> bool {
    let plain = m.parts.iter().all(|part| {
        let given = |props: &[(String, Expr)]| props.iter().all(|(_, value)| is_given(value));
        part.kind == PathKind::Plain
            && part.name.is_none()
            && part.nodes.iter().all(|node| given(&node.props))
            && part.rels.iter().all(|rel| rel.range.is_none() && given(&rel.props))
    });
    !m.optional && plain && m.filter.as_ref().is_none_or(|e| is_comparison(e, m))
}

fn is_given(e: &Expr) -> bool {
    matches!(e.kind, Kind::Scalar(_) | Kind::Param(_))
}

/// Whether it compares given values and properties of the nodes and relationships of the pattern, which always has an answer.
fn is_comparison(e: &Expr, m: &Match) -> bool {
    let is_own = |name: &str| {
        let nodes = m.parts.iter().flat_map(|part| &part.nodes);
        names(m).any(|n| n == name)
            || nodes.filter_map(|node| node.name.as_ref()).any(|n| n.text == name)
    };
    let is_value = |e: &Expr| match &e.kind {
        Kind::Prop(base, _) => matches!(&base.kind, Kind::Var(name) if is_own(name)),
        _ => is_given(e),
    };
    match &e.kind {
        Kind::And(all) => all.iter().all(|e| is_comparison(e, m)),
        Kind::Compare(left, rest) => {
            is_value(left) && rest.iter().all(|(_, right)| is_value(right))
        }
        _ => false,
    }
}
