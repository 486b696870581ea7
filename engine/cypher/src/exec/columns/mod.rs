//! Operators that start at all nodes or at all relationships, evaluated by columns.
//!
//! A pipeline of filters and projections over a scan reads the cells of one table. Its tests and aggregates are given to
//! `graphlume_expr`, which evaluates them by vectors; only rows that pass are made. What vectors cannot say is evaluated
//! row by row as everything else is, and gives the same answer or the error of the row where it is.

mod compile;
mod device;
mod group;
mod percentile;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod top;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use graphlume_expr::{Marks, Test, Unfit, marks};

use super::eval::set;
use super::parallel::Part;
use super::recorder::Way;
use super::{Exec, Flow, Sink};
use crate::column_reader::ColumnReader;
use crate::error::Res;
use crate::plan::{Ex, Op, OpId, Slot, Step};
use crate::value::{Edge, Value};
use graphlume_graph::Direction;

/// Stands for the numbers of several operators.
const SEVERAL: usize = usize::MAX;
/// Relationships that are read in the time in which the end of one is looked up.
const READ_PER_LOOKUP: usize = 512;

/// What a pipeline starts from.
#[derive(Clone, Copy)]
enum Start<'p> {
    /// All nodes, in a slot, with these labels.
    Nodes(Slot, &'p [usize]),
    /// All relationships, with the step that finds them from all nodes.
    Edges(&'p Step),
}

/// A pipeline whose rows are those of one table.
struct Pipeline<'p> {
    start: Start<'p>,
    /// Conditions, the first one first.
    tests: Vec<&'p Ex>,
    /// What slots stand for that were filled on the way.
    items: Vec<&'p (Slot, Ex)>,
    /// The operator below which there are no projections, to which marks belong.
    base: &'p Op,
}

impl<'p> Pipeline<'p> {
    fn of(op: &'p Op) -> Option<Self> {
        let (mut at, mut tests, mut items, mut base) = (op, Vec::new(), Vec::new(), op);
        let start = loop {
            match at {
                Op::Filter { input, test, .. } => {
                    tests.push(test);
                    at = input;
                }
                Op::Project { input, items: more, .. } => {
                    items.extend(more);
                    (at, base) = (input, input);
                }
                Op::Scan { input, slot, labels, seek, .. } => {
                    if !matches!(**input, Op::Argument) || !seek.is_empty() {
                        return None;
                    }
                    break Start::Nodes(*slot, labels);
                }
                Op::Expand { input, step, .. } => {
                    let Op::Scan { input, slot, labels, seek, .. } = &**input else { return None };
                    let all = matches!(**input, Op::Argument) && *slot == step.from;
                    let plain = labels.is_empty() && seek.is_empty() && step.labels.is_empty();
                    if !all || !plain || step.closes || step.direction != Direction::Forward {
                        return None;
                    }
                    break Start::Edges(step);
                }
                _ => return None,
            }
        };
        tests.reverse();
        Some(Self { start, tests, items, base })
    }

    /// The slot whose cells are read, and whether it has relationships.
    const fn slot(&self) -> (Slot, bool) {
        match self.start {
            Start::Nodes(slot, _) => (slot, false),
            Start::Edges(step) => (step.rel, true),
        }
    }

    /// What a slot stands for.
    fn item(&self, slot: Slot) -> Option<&'p Ex> {
        self.items.iter().find(|(own, _)| *own == slot).map(|(_, item)| item)
    }
}

/// Marks of the rows that operators are to make, by the operator below which there are no projections.
pub(super) type Selected = std::collections::HashMap<OpId, Option<Arc<Marks>>>;

impl Exec<'_> {
    /// The rows of the table that a pipeline starts from; `None` where rows of the table and of the pipeline differ.
    fn table_rows(&self, pipeline: &Pipeline<'_>) -> Option<usize> {
        let (view, nodes) = (self.view, self.view.num_nodes());
        match pipeline.start {
            Start::Nodes(..) => {
                let rows = view.graph().nodes()?.num_rows();
                (view.rows_are_nodes() && rows == nodes as usize).then_some(rows)
            }
            Start::Edges(_) => {
                let (topology, rows) = (view.topology(), view.graph().edges()?.num_rows());
                let whole = topology.num_nodes() == nodes && topology.num_edges() as usize == rows;
                whole.then_some(rows)
            }
        }
    }

    /// Tests the rows that an operator starts from by columns, before its work is shared out. Without it, or where a
    /// row has to be looked at by itself, filters test row by row.
    pub(super) fn select(&self, op: &Op) -> Res<()> {
        let Some(pipeline) = Pipeline::of(op).filter(|_| self.by_columns) else { return Ok(()) };
        let Some(place) = pipeline.base.id() else { return Ok(()) };
        let known = self.selected.lock().is_ok_and(|all| all.contains_key(&place));
        // A filter above a projection tests what is made; those below are one with the scan.
        let below = Pipeline::of(pipeline.base).filter(|p| !p.tests.is_empty());
        let Some(below) = below.filter(|_| !known) else { return Ok(()) };
        let rows = self.table_rows(&below);
        if let Some(found) = rows.and_then(|rows| self.marked_on_device(&below, rows)) {
            self.record(|r| r.took(Some(place), Way::Gpu));
            self.put_selected(place, Some(Arc::new(found)));
            return Ok(());
        }
        let found = match (rows, self.all_tests(&below)) {
            (Some(rows), Some(test)) => match marks(test.as_ref(), rows, self.cancel) {
                Ok(found) => Some(Arc::new(found)),
                Err(Unfit::Cancelled) => return self.cancelled(),
                Err(Unfit::Value) => None,
            },
            _ => None,
        };
        self.put_selected(place, found);
        Ok(())
    }

    /// The operator whose rows [`Self::select`] marks, unless it meets one that has no value.
    pub(super) fn selects<'p>(&self, op: &'p Op) -> Option<&'p Op> {
        let usual = self.by_columns && self.part.is_none();
        let base = Pipeline::of(op).filter(|_| usual)?.base;
        let below = Pipeline::of(base).filter(|p| !p.tests.is_empty())?;
        let fits = self.table_rows(&below).is_some() && self.all_tests(&below).is_some();
        fits.then_some(base)
    }

    /// What marking the rows that an operator is made of takes the GPU of the tables, or why that would not do it; `None`
    /// where there is none.
    pub(super) fn selects_on_device(&self, base: &Op) -> Option<Result<String, String>> {
        let below = Pipeline::of(base)?;
        self.side_of(self.marking_job(&below, self.table_rows(&below)?))
    }

    fn put_selected(&self, place: OpId, found: Option<Arc<Marks>>) {
        if let Ok(mut all) = self.selected.lock() {
            all.insert(place, found);
            let only = if all.len() == 1 { place.0 } else { SEVERAL };
            self.selected_at.store(only, Ordering::Relaxed);
        }
    }

    /// Makes the rows of an operator from the marks that were made for it; `None` where there are none.
    pub(super) fn selected_rows(
        &self,
        op: &Op,
        row: &mut [Value],
        sink: &mut Sink<'_>,
    ) -> Option<Flow> {
        let place = match op {
            Op::Filter { id, .. } | Op::Scan { id, .. } | Op::Expand { id, .. } => *id,
            _ => return None,
        };
        // Subqueries come here for every row, so that the lock is left alone where it holds nothing for them.
        match self.selected_at.load(Ordering::Relaxed) {
            0 => return None,
            SEVERAL => {}
            one if one != place.0 => return None,
            _ => {}
        }
        let marks = self.selected.lock().ok()?.get(&place).cloned()??;
        let pipeline = Pipeline::of(op)?;
        self.record(|r| r.below(op, true));
        Some(match pipeline.start {
            Start::Nodes(slot, _) => marks.rows(self.nodes_of(slot)).try_for_each(|v| {
                self.tick()?;
                set(row, slot, Value::Node(v));
                sink(row)
            }),
            Start::Edges(step) => self.selected_edges(step, &marks, row, sink),
        })
    }

    fn selected_edges(
        &self,
        step: &Step,
        marks: &Marks,
        row: &mut [Value],
        sink: &mut Sink<'_>,
    ) -> Flow {
        let topology = self.view.topology();
        if let Some(found) = self.few_edges(step, marks) {
            return found.into_iter().try_for_each(|edge| {
                self.tick()?;
                set(row, step.from, Value::Node(edge.source));
                set(row, step.rel, Value::Edge(edge));
                set(row, step.to, Value::Node(edge.destination));
                sink(row)
            });
        }
        for v in self.nodes_of(step.from) {
            let (ends, rows) = (topology.out_neighbors(v), topology.out_rows(v));
            self.tick_by(1 + rows.len() as u32 / 16)?;
            for (to, at) in ends.iter().zip(rows).filter(|(_, at)| marks.has(**at)) {
                set(row, step.from, Value::Node(v));
                let edge = Edge { row: *at, source: v, destination: *to };
                set(row, step.rel, Value::Edge(edge));
                set(row, step.to, Value::Node(*to));
                sink(row)?;
            }
        }
        Ok(())
    }

    /// The marked relationships of this thread's nodes, in their order, by looking the ends up; `None` where there are so
    /// many that all of the adjacency is read instead.
    fn few_edges(&self, step: &Step, marks: &Marks) -> Option<Vec<Edge>> {
        let topology = self.view.topology();
        if marks.count() > topology.num_edges() as usize / READ_PER_LOOKUP {
            return None;
        }
        let own = self.nodes_of(step.from);
        let bindings = self.view.graph().bindings();
        let source = self.view.edge_cells(bindings.source.as_deref()?)?;
        let destination = self.view.edge_cells(bindings.destination.as_deref()?)?;
        let node = |cells: &ColumnReader, row| {
            self.view.find(&cells.value(row), self.cancel).ok().flatten()
        };
        let mut found = Vec::new();
        for row in marks.rows(0..topology.num_edges()) {
            let source = node(&source, row)?;
            if own.contains(&source) {
                found.push(Edge { row, source, destination: node(&destination, row)? });
            }
        }
        // The order of the adjacency: by both ends, and parallel ones by their rows.
        found.sort_unstable_by_key(|e| (e.source, e.destination, e.row));
        Some(found)
    }

    /// The nodes that this thread is to start from.
    fn nodes_of(&self, slot: Slot) -> Range<u32> {
        match &self.part {
            Some(Part::Nodes(part, range)) if *part == slot => range.clone(),
            _ => 0..self.view.num_nodes(),
        }
    }

    /// All conditions of a pipeline as one; the inner `None` where there is none.
    fn all_tests<'e>(&'e self, pipeline: &Pipeline<'e>) -> Option<Option<Test<'e>>> {
        let labelled = match pipeline.start {
            Start::Nodes(_, labels) if !labels.is_empty() => {
                vec![Test::Flags(self.labelled(labels))]
            }
            _ => Vec::new(),
        };
        self.tests_with(labelled, pipeline)
    }

    /// The same, where these stand for the labels of nodes.
    fn tests_with<'e>(
        &'e self,
        labelled: Vec<Test<'e>>,
        pipeline: &Pipeline<'e>,
    ) -> Option<Option<Test<'e>>> {
        let mut all = labelled;
        if let Start::Edges(step) = pipeline.start
            && !step.types.is_empty()
        {
            all.push(self.types_test(step)?);
        }
        for test in &pipeline.tests {
            all.push(self.compiled_test(pipeline, test)?);
        }
        Some(match all.len() {
            0 => None,
            1 => all.pop(),
            _ => Some(Test::And(all)),
        })
    }
}
