//! Named results: what needs what, and in which order they are made.

use graphlume_expr::{ErrorCode, QueryError, listed, nearest};
use graphlume_store::PropertyGraph;
use graphlume_types::limits::QUERY_DEPTH_MAX;

use crate::scope::Scope;
use crate::wire::{Binding, Chain, Let};

/// Results of one Let, and those of the Lets around it.
struct Names<'a> {
    own: Vec<(&'a str, PropertyGraph)>,
    outer: Option<&'a Names<'a>>,
}

impl Names<'_> {
    fn get(&self, name: &str) -> Option<&PropertyGraph> {
        let own = self.own.iter().find(|(n, _)| *n == name).map(|(_, graph)| graph);
        own.or_else(|| self.outer?.get(name))
    }
}

/// Makes the results and returns the one called `output`, or the last that was made.
pub(crate) fn run(
    graph: &PropertyGraph,
    query: &Let,
    output: Option<&str>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    evaluate(graph, query, output, None, scope, 0)
}

fn evaluate(
    graph: &PropertyGraph,
    query: &Let,
    output: Option<&str>,
    outer: Option<&Names<'_>>,
    scope: Scope<'_>,
    depth: usize,
) -> Result<PropertyGraph, QueryError> {
    if depth > QUERY_DEPTH_MAX {
        let text = format!("bindings are nested more than {QUERY_DEPTH_MAX} deep");
        return Err(QueryError::new(ErrorCode::Limit, text));
    }
    let mut names = Names { own: vec![], outer };
    let mut made = Vec::new();
    let mut last = graph.clone();
    for i in order(query, outer)? {
        let (name, binding) = &query.bindings[i];
        let place = |e: QueryError| e.field(format!("bindings.{name}"));
        let result = match binding {
            Binding::Chain(chain) => chain_of(graph, chain, &mut made, scope),
            Binding::Ref(other, chain) => match names.get(other) {
                Some(start) => chain_of(start, chain, &mut made, scope),
                None => Err(unresolved(other, query)),
            },
            Binding::Let(inner) => evaluate(graph, inner, None, Some(&names), scope, depth + 1),
            Binding::Remote(dataset) => {
                scope.others.get(dataset).cloned().ok_or_else(|| no_dataset(dataset))
            }
        }
        .map_err(place)?;
        last = result.clone();
        names.own.push((name, result));
    }
    match output {
        None => Ok(last),
        Some(output) => match names.own.iter().position(|(n, _)| *n == output) {
            Some(at) => Ok(names.own.swap_remove(at).1),
            None => Err(unresolved(output, query).field("output")),
        },
    }
}

/// What each chain has made so far, and of which graph.
type Results<'a> = Vec<(PropertyGraph, &'a Chain, PropertyGraph)>;

/// The result of a chain, made once when several bindings are the same.
fn chain_of<'a>(
    graph: &PropertyGraph,
    chain: &'a Chain,
    made: &mut Results<'a>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let same = |(start, of, _): &&(PropertyGraph, &Chain, PropertyGraph)| {
        start.is_same(graph) && *of == chain
    };
    if let Some((_, _, result)) = made.iter().find(same) {
        return Ok(result.clone());
    }
    let result = crate::run_chain(graph, chain, scope)?;
    made.push((graph.clone(), chain, result.clone()));
    Ok(result)
}

/// The refusal of a dataset that is not there, or not for the one who asks.
#[must_use]
pub fn no_dataset(dataset: &str) -> QueryError {
    let text = format!("there is no dataset {dataset:?} that can be read here");
    QueryError::new(ErrorCode::NoGraph, text)
        .field("dataset_id")
        .value(dataset)
        .suggest("use the id of a dataset that you may read")
}

fn unresolved(name: &str, query: &Let) -> QueryError {
    let names: Vec<&str> = query.bindings.iter().map(|(n, _)| n.as_str()).collect();
    let error = QueryError::new(ErrorCode::Unresolved, format!("no binding is named {name:?}"));
    error.value(name).suggest(match nearest(name, &names) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("bindings: {}", listed(&names)),
    })
}

/// Names that a binding needs from outside of itself.
fn needs<'a>(binding: &'a Binding, into: &mut Vec<&'a str>) {
    match binding {
        Binding::Ref(name, _) => into.push(name),
        Binding::Let(inner) => {
            let own: Vec<&str> = inner.bindings.iter().map(|(n, _)| n.as_str()).collect();
            let mut all = Vec::new();
            inner.bindings.iter().for_each(|(_, b)| needs(b, &mut all));
            into.extend(all.into_iter().filter(|n| !own.contains(n)));
        }
        Binding::Chain(_) | Binding::Remote(_) => {}
    }
}

/// The order of evaluation: a binding becomes ready when the last that it needs is done, and those that
/// are ready are taken in the order in which they became so, at first that of declaration.
fn order(query: &Let, outer: Option<&Names<'_>>) -> Result<Vec<usize>, QueryError> {
    let count = query.bindings.len();
    let mut waits = vec![0; count];
    let mut feeds: Vec<Vec<usize>> = vec![vec![]; count];
    for (i, (name, binding)) in query.bindings.iter().enumerate() {
        let mut wanted = Vec::new();
        needs(binding, &mut wanted);
        wanted.sort_unstable();
        wanted.dedup();
        for other in wanted {
            match query.bindings.iter().position(|(n, _)| n == other) {
                Some(at) => {
                    waits[i] += 1;
                    feeds[at].push(i);
                }
                None if outer.is_some_and(|o| o.get(other).is_some()) => {}
                None => return Err(unresolved(other, query).field(format!("bindings.{name}"))),
            }
        }
    }
    let mut ready: std::collections::VecDeque<usize> =
        (0..count).filter(|i| waits[*i] == 0).collect();
    let mut done = Vec::with_capacity(count);
    while let Some(i) = ready.pop_front() {
        done.push(i);
        for next in &feeds[i] {
            waits[*next] -= 1;
            if waits[*next] == 0 {
                ready.push_back(*next);
            }
        }
    }
    if done.len() < count {
        let stuck: Vec<&str> = (0..count)
            .filter(|i| !done.contains(i))
            .map(|i| query.bindings[i].0.as_str())
            .collect();
        let text = format!("bindings need each other: {}", listed(&stuck));
        return Err(QueryError::new(ErrorCode::Circular, text).field("bindings"));
    }
    Ok(done)
}
