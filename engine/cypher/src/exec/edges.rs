//! The relationships that a step looks at.

use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use graphlume_expr::Cmp;

use super::comparison::compared;
use super::relation::Relation;
use super::{Exec, Flow};
use crate::error::Res;
use crate::graph_view::{GraphView, TypeTest};
use crate::plan::{Span, Step};
use crate::tuning::tuning;
use crate::value::{Edge, Value};
use graphlume_graph::Direction;

/// Relationships to look at in the time of a search among those of a node.
const SEARCH_COST: u32 = 8;
/// The part of all relationships that is scanned without a match before a type gets adjacency of its own.
const WASTED_PART: u64 = 32;

/// Which relationships have one of the types of a step.
#[derive(Clone, Debug)]
pub(super) enum Types {
    /// Any type will do.
    Any,
    /// No relationship has a type.
    Never,
    Some(Arc<Typed>),
}

/// Some types, and the adjacency of their relationships once it is worth while to have it.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    test: TypeTest,
    relation: Option<Arc<Relation>>,
    /// Whether nothing more can be prepared.
    ready: bool,
}

/// What relationships of a step must be like.
pub(super) struct EdgeTest {
    types: Types,
    props: Vec<(usize, Value)>,
}

impl EdgeTest {
    /// Whether nothing can match.
    pub(super) const fn never(&self) -> bool {
        matches!(self.types, Types::Never)
    }

    /// Whether there are types to look for.
    const fn is_typed(&self) -> bool {
        matches!(self.types, Types::Some(_))
    }

    /// Whether a relationship has one of the types.
    pub(super) fn has_type(&self, edge: Edge) -> bool {
        match &self.types {
            Types::Any => true,
            Types::Never => false,
            Types::Some(typed) => typed.test.holds(edge.row),
        }
    }

    /// Whether nothing more can be prepared.
    fn is_ready(&self) -> bool {
        !matches!(&self.types, Types::Some(typed) if !typed.ready)
    }

    /// The nodes that a step in one direction leads to, as often as it does so, some of which may not exist;
    /// `None` where relationships must be looked at to know.
    pub(super) fn ends<'v>(
        &'v self,
        view: &'v GraphView,
        v: u32,
        direction: Direction,
    ) -> Option<&'v [u32]> {
        let topology = match &self.types {
            Types::Any => view.topology(),
            _ => self.relation()?.topology(),
        };
        if !self.props.is_empty() || v >= topology.num_nodes() {
            return None;
        }
        match direction {
            Direction::Forward => Some(topology.out_neighbors(v)),
            Direction::Reverse => Some(topology.in_neighbors(v)),
            Direction::Undirected => None,
        }
    }

    /// The adjacency of the types.
    pub(super) fn relation(&self) -> Option<&Arc<Relation>> {
        match &self.types {
            Types::Some(typed) => typed.relation.as_ref(),
            _ => None,
        }
    }
}

/// The test of a step without properties, which is the same for all rows.
#[derive(Default)]
pub(super) struct StepTest {
    test: Option<EdgeTest>,
    /// Whether it was made by a busy run.
    busy: bool,
}

/// Rows of the relationships from one node to another.
fn rows_between(view: &GraphView, from: u32, to: u32) -> &[u32] {
    let topology = view.topology();
    let targets = topology.out_neighbors(from);
    let start = targets.partition_point(|t| *t < to);
    let len = targets.get(start..).unwrap_or_default().partition_point(|t| *t == to);
    topology.out_rows(from).get(start..start + len).unwrap_or_default()
}

/// Calls `f` with each relationship from one node to another, of any type, and with the other.
pub(super) fn each_between(
    view: &GraphView,
    (v, to): (u32, u32),
    direction: Direction,
    f: &mut dyn FnMut(Edge, u32) -> Flow,
) -> Flow {
    if direction != Direction::Reverse {
        for row in rows_between(view, v, to) {
            f(Edge { row: *row, source: v, destination: to }, to)?;
        }
    }
    if direction == Direction::Reverse || direction == Direction::Undirected && v != to {
        for row in rows_between(view, to, v) {
            f(Edge { row: *row, source: to, destination: v }, to)?;
        }
    }
    Ok(())
}

impl Exec<'_> {
    /// Calls `f` with each relationship of a node that has a type of the test, in a direction, and the node at
    /// its other end.
    #[inline]
    pub(super) fn each_edge(
        &self,
        test: &EdgeTest,
        v: u32,
        direction: Direction,
        mut f: impl FnMut(Edge, u32) -> Flow,
    ) -> Flow {
        if let Some(relation) = test.relation() {
            return relation.each(v, direction, f);
        }
        let topology = self.view.topology();
        let exists = self.view.num_nodes();
        let (mut skipped, mut searched) = (0, 0);
        let mut typed = |edge: Edge, to: u32| {
            if test.has_type(edge) {
                return f(edge, to);
            }
            skipped += 1;
            Ok(())
        };
        if direction != Direction::Reverse {
            for (to, row) in topology.out_neighbors(v).iter().zip(topology.out_rows(v)) {
                if *to < exists {
                    typed(Edge { row: *row, source: v, destination: *to }, *to)?;
                }
            }
        }
        if direction != Direction::Forward {
            let mut last = None;
            for from in topology.in_neighbors(v) {
                // Parallel relationships repeat the source; a loop was met on its way out.
                if last == Some(*from)
                    || *from >= exists
                    || direction == Direction::Undirected && *from == v
                {
                    continue;
                }
                last = Some(*from);
                searched += 1;
                for row in rows_between(self.view, *from, v) {
                    typed(Edge { row: *row, source: *from, destination: v }, *from)?;
                }
            }
        }
        if test.is_typed() {
            self.waste(skipped + searched * SEARCH_COST);
        }
        Ok(())
    }

    /// Counts relationships that were looked at although they have another type. They count over all queries of
    /// the graph: adjacency of the types pays when it would have saved about what it costs.
    fn waste(&self, relationships: u32) {
        let wasted = self.wasted.get().saturating_add(relationships);
        self.wasted.set(wasted);
        if wasted >= tuning().waste_step {
            self.wasted.set(0);
            self.view.wasted().fetch_add(u64::from(wasted), Ordering::Relaxed);
        }
    }

    /// Whether so many relationships were scanned without a match that a type deserves adjacency of its own.
    fn has_wasted(&self) -> bool {
        let least = u64::from(self.view.topology().num_edges()) / WASTED_PART;
        self.view.wasted().load(Ordering::Relaxed) > least
    }

    /// What the relationships of a step must be like, as this row has it.
    pub(super) fn edge_test(
        &self,
        step: &Step,
        span: Option<&Span>,
        row: &mut [Value],
    ) -> Res<EdgeTest> {
        let types = self.types_of(step, self.has_wasted())?;
        if self.is_busy() {
            self.prepare_labels(&step.labels);
        }
        let mut props = Vec::new();
        for (key, value) in span.iter().flat_map(|s| &s.props) {
            props.push((*key, self.eval(value, row)?));
        }
        Ok(EdgeTest { types, props })
    }

    /// The same for a step without properties: made once, and again when more can be prepared.
    pub(super) fn step_test<'t>(
        &self,
        step: &Step,
        made: &'t mut StepTest,
        row: &mut [Value],
    ) -> Res<&'t EdgeTest> {
        let busy = self.is_busy();
        let done = made
            .test
            .take()
            .filter(|test| made.busy == busy && (test.is_ready() || !self.has_wasted()));
        let test = match done {
            Some(test) => test,
            None => self.edge_test(step, None, row)?,
        };
        made.busy = busy;
        Ok(made.test.insert(test))
    }

    /// The same for a step that looks at very many relationships.
    pub(super) fn prepared_test(&self, step: &Step) -> Res<EdgeTest> {
        self.prepare_labels(&step.labels);
        Ok(EdgeTest { types: self.types_of(step, true)?, props: Vec::new() })
    }

    pub(super) fn prepare_labels(&self, labels: &[usize]) {
        let tests = labels.iter().filter_map(|label| self.labels.get(*label));
        tests.for_each(|test| self.view.prepare(test, self.cancel));
    }

    fn types_of(&self, step: &Step, many: bool) -> Res<Types> {
        if step.types.is_empty() {
            return Ok(Types::Any);
        }
        // Two steps may have one relationship and ask for different types of it.
        if let Some(Some((types, found))) = self.types.borrow().get(step.rel)
            && *types == step.types
            && !(many && matches!(found, Types::Some(typed) if !typed.ready))
        {
            return Ok(found.clone());
        }
        let found = match self.shared_types(&step.types, many)? {
            // A count of its own, so that threads do not wait for each other to change it.
            Types::Some(typed) => Types::Some(Arc::new(Typed::clone(&typed))),
            other => other,
        };
        let mut all = self.types.borrow_mut();
        if all.len() <= step.rel {
            all.resize(step.rel + 1, None);
        }
        if let Some(slot) = all.get_mut(step.rel) {
            *slot = Some((step.types.clone(), found.clone()));
        }
        Ok(found)
    }

    /// The types with these numbers, as far as any thread has prepared them.
    fn shared_types(&self, numbers: &[usize], many: bool) -> Res<Types> {
        let Ok(mut all) = self.shared.types.lock() else { return Ok(Types::Never) };
        let found = match all.entry(numbers.to_vec()) {
            Entry::Occupied(found) => found.get().clone(),
            Entry::Vacant(place) => {
                let words = self.type_words(numbers);
                let relation = Relation::kept(self.view, &words);
                let made = self.view.type_test(words).map_or(Types::Never, |test| {
                    let ready = relation.is_some();
                    Types::Some(Arc::new(Typed { test, relation, ready }))
                });
                place.insert(made).clone()
            }
        };
        drop(all);
        let Types::Some(typed) = &found else { return Ok(found) };
        if !many || typed.ready {
            return Ok(found);
        }
        // One thread makes it; others go on without it until it is there.
        let Ok(_making) = self.shared.making.try_lock() else { return Ok(found) };
        let Typed { test, .. } = &**typed;
        let relation = Relation::of(self.view, &self.type_words(numbers), test, self.cancel)?;
        let made = Types::Some(Arc::new(Typed { test: test.clone(), relation, ready: true }));
        if let Ok(mut all) = self.shared.types.lock() {
            all.insert(numbers.to_vec(), made.clone());
        }
        Ok(made)
    }

    pub(super) fn type_words(&self, numbers: &[usize]) -> Vec<String> {
        numbers.iter().filter_map(|i| self.type_names.get(*i).cloned()).collect()
    }

    /// Whether a relationship has one of the types, and the properties.
    pub(super) fn edge_fits(&self, test: &EdgeTest, edge: Edge) -> Res<bool> {
        Ok(test.has_type(edge) && self.props_fit(test, edge)?)
    }

    /// Whether a relationship has the properties.
    pub(super) fn props_fit(&self, test: &EdgeTest, edge: Edge) -> Res<bool> {
        for (key, wanted) in &test.props {
            if compared(Cmp::Eq, &self.property(&Value::Edge(edge), *key)?, wanted)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
