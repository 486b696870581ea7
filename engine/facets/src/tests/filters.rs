use std::sync::Arc;

use graphlume_scene::Bits;
use graphlume_types::{CancelReason, CancelToken};

use super::kit::{Draw, Random};
use super::naive::{Tree, brush, means};
use crate::{Axis, Filter, FilterCount, FilterKind, FilterSet, Filtered, Rule};

/// A filter, and what it asks where it is an expression.
pub(super) type Drawn = (Filter, Option<Tree>, Axis);

pub(super) fn filters(draw: &mut Draw, count: usize) -> Vec<Drawn> {
    let one = |at: usize, draw: &mut Draw| {
        let axis = draw.pick(&[Axis::Node, Axis::Edge]);
        let (rule, tree) = if draw.below(2) == 0 {
            (Rule::Brush(brush(draw, axis)), None)
        } else {
            let tree = Tree::draw(draw, axis, 3);
            let prefix = if axis == Axis::Edge { "edge:" } else { draw.pick(&["point:", "node:"]) };
            (Rule::Expr(tree.text(prefix)), Some(tree))
        };
        let kind = draw.pick(&[FilterKind::Filter, FilterKind::Filter, FilterKind::Exclusion]);
        let (id, on) = (format!("f{at}"), draw.below(4) > 0);
        (Filter { id, kind, on, rule: Arc::new(rule) }, tree, axis)
    };
    (0..count).map(|at| one(at, draw)).collect()
}

pub(super) fn set_of(drawn: &[Drawn], prune_orphans: bool) -> FilterSet {
    FilterSet { filters: drawn.iter().map(|(f, ..)| f.clone()).collect(), prune_orphans }
}

/// What is visible, by a look at each element; `without` leaves filters out.
pub(super) fn visible(
    of: &Random,
    drawn: &[Drawn],
    prune_orphans: bool,
    without: impl Fn(&Filter) -> bool,
) -> (Vec<bool>, Vec<bool>) {
    let (n, m) = of.counts();
    let passes = |axis: Axis, element: u32| {
        let on = drawn.iter().filter(|(f, _, own)| f.on && *own == axis && !without(f));
        on.into_iter().all(|(f, tree, _)| {
            means(of, &f.rule, tree.as_ref(), axis, element) == (f.kind == FilterKind::Filter)
        })
    };
    let mut nodes: Vec<bool> = (0..n).map(|v| passes(Axis::Node, v)).collect();
    let edge = |e: u32| {
        let (source, destination, _) = of.edge(e);
        passes(Axis::Edge, e) && nodes[source as usize] && nodes[destination as usize]
    };
    let edges: Vec<bool> = (0..m).map(edge).collect();
    if prune_orphans {
        let mut touched = vec![false; n as usize];
        for e in (0..m).filter(|e| edges[*e as usize]) {
            let (source, destination, _) = of.edge(e);
            touched[source as usize] = true;
            touched[destination as usize] = true;
        }
        nodes.iter_mut().zip(touched).for_each(|(v, touched)| *v &= touched);
    }
    (nodes, edges)
}

fn bits(of: &[bool]) -> Bits {
    let list: Vec<u32> = (0..of.len() as u32).filter(|i| of[*i as usize]).collect();
    Bits::new(of.len() as u32, &list)
}

#[test]
fn masks_are_what_each_element_says() {
    for seed in 0..400 {
        let of = Random::new(seed);
        let draw = &mut Draw::new(seed + 1_000);
        let count = 1 + draw.below(4);
        let (drawn, prune) = (filters(draw, count), draw.below(3) == 0);
        let cancel = CancelToken::new();
        let found = of.facets.filter(&of, &set_of(&drawn, prune), &cancel).unwrap();
        let (nodes, edges) = visible(&of, &drawn, prune, |_| false);
        let shown = || drawn.iter().map(|(f, ..)| format!("{f:?}")).collect::<Vec<_>>().join("\n");
        assert_eq!(found.nodes, bits(&nodes), "nodes of seed {seed}: {}", shown());
        assert_eq!(found.edges, bits(&edges), "edges of seed {seed}: {}", shown());
        for ((filter, tree, axis), (id, count)) in drawn.iter().zip(&found.filters) {
            let (n, m) = of.counts();
            let elements = if *axis == Axis::Node { n } else { m };
            let meant = |e: &u32| means(&of, &filter.rule, tree.as_ref(), *axis, *e);
            let own = (0..elements).filter(meant).count() as u64;
            let wanted = match axis {
                Axis::Node => FilterCount { nodes: Some(own), edges: None },
                Axis::Edge => FilterCount { nodes: None, edges: Some(own) },
            };
            assert_eq!((id, count), (&filter.id, &Ok(wanted)), "seed {seed}: {filter:?}");
        }
    }
}

#[test]
fn any_number_of_threads_finds_the_same() {
    for seed in 0..20 {
        let draw = &mut Draw::new(seed);
        let set = set_of(&filters(draw, 3), seed % 2 == 0);
        let at = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let of = Random::new(seed);
            pool.install(|| of.facets.filter(&of, &set, &CancelToken::new()).unwrap())
        };
        let one: Filtered = at(1);
        assert_eq!((&at(2), &at(3)), (&one, &one));
    }
}

#[test]
fn a_stopped_question_leaves_nothing_half_done() {
    let of = Random::new(3);
    let set = set_of(&filters(&mut Draw::new(5), 4), true);
    let stopped = CancelToken::new();
    stopped.cancel(CancelReason::ClientGone);
    let error = of.facets.filter(&of, &set, &stopped).unwrap_err();
    assert_eq!(error.error_code(), graphlume_expr::ErrorCode::Stopped);
    let again = of.facets.filter(&of, &set, &CancelToken::new()).unwrap();
    let fresh = Random::new(3);
    assert_eq!(again, fresh.facets.filter(&fresh, &set, &CancelToken::new()).unwrap());
}

#[test]
fn a_filter_with_a_problem_does_nothing_and_says_so() {
    let of = Random::new(11);
    let filter = |id: &str, on: bool, text: &str| Filter {
        id: id.to_owned(),
        kind: FilterKind::Filter,
        on,
        rule: Arc::new(if text.starts_with("MATCH") {
            Rule::Cypher(text.to_owned())
        } else {
            Rule::Expr(text.to_owned())
        }),
    };
    let filters = vec![
        filter("a", true, "point:wole > 1"),
        filter("b", true, "whole is null"),
        filter("c", false, "MATCH (n) RETURN n"),
    ];
    let set = FilterSet { filters, prune_orphans: false };
    let found = of.facets.filter(&of, &set, &CancelToken::new()).unwrap();
    let [(a, problem), (b, count)] = found.filters.as_slice() else {
        panic!("a query that is off is not asked: {:?}", found.filters)
    };
    let text = problem.as_ref().unwrap_err().to_string();
    assert!(text.contains("did you mean \"whole\"?") && text.contains("node table"), "{text}");
    assert_eq!((a.as_str(), b.as_str()), ("a", "b"));
    assert_eq!(count.as_ref().unwrap().nodes, Some(found.nodes.len()));
}
