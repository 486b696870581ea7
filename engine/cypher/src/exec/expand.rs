//! Relationships: one step, a bound one, and variable length.

use super::edges::{EdgeTest, StepTest, each_between};
use super::eval::set;
use super::{Exec, Flow, Sink};
use crate::error::{Res, type_error};
use crate::graph_view::GraphView;
use crate::plan::{Slot, Span, Step};
use crate::value::{Edge, Path, Value};
use graphlume_expr::Scalar;
use graphlume_graph::Direction;

/// Relationships of a trail that are compared in the time of a step.
const TRAIL_PER_TICK: u32 = 16;

/// The node in a slot; `None` when it is null.
pub(super) fn node_at(row: &[Value], slot: Slot) -> Res<Option<u32>> {
    match row.get(slot) {
        Some(Value::Node(v)) => Ok(Some(*v)),
        Some(Value::Scalar(Scalar::Null)) | None => Ok(None),
        Some(other) => Err(type_error(format!("a pattern needs a node, not {}", other.kind()))),
    }
}

fn in_slot(value: Option<&Value>, edge: Edge) -> bool {
    match value {
        Some(Value::Edge(e)) => e.row == edge.row,
        Some(Value::List(list)) => {
            list.iter().any(|v| matches!(v, Value::Edge(e) if e.row == edge.row))
        }
        _ => false,
    }
}

impl Exec<'_> {
    pub(super) fn expand(
        &self,
        row: &mut [Value],
        step: &Step,
        made: &mut StepTest,
        sink: &mut Sink<'_>,
    ) -> Flow {
        let Some(v) = node_at(row, step.from)? else { return Ok(()) };
        let test = self.step_test(step, made, row)?;
        if test.never() {
            return Ok(());
        }
        if step.closes {
            let Some(to) = node_at(row, step.to)? else { return Ok(()) };
            let mut g = |edge: Edge, _: u32| -> Flow {
                self.tick()?;
                if !test.has_type(edge) || step.others.iter().any(|s| in_slot(row.get(*s), edge)) {
                    return Ok(());
                }
                set(row, step.rel, Value::Edge(edge));
                sink(row)
            };
            return each_between(self.view, (v, to), step.direction, &mut g);
        }
        let f = |edge: Edge, to: u32| -> Flow {
            self.tick()?;
            if step.others.iter().any(|s| in_slot(row.get(*s), edge))
                || !step.labels.is_empty() && !self.has_labels(to, &step.labels)
            {
                return Ok(());
            }
            set(row, step.rel, Value::Edge(edge));
            set(row, step.to, Value::Node(to));
            sink(row)
        };
        self.each_edge(test, v, step.direction, f)
    }

    /// A bound relationship: its ends are bound or compared.
    pub(super) fn ends(
        &self,
        row: &mut [Value],
        step: &Step,
        from_bound: bool,
        sink: &mut Sink<'_>,
    ) -> Flow {
        let edge = match row.get(step.rel) {
            Some(Value::Edge(e)) => *e,
            Some(Value::Scalar(Scalar::Null)) | None => return Ok(()),
            Some(other) => {
                let what = format!("a pattern needs a relationship, not {}", other.kind());
                return Err(type_error(what).into());
            }
        };
        let test = self.edge_test(step, None, row)?;
        if test.never()
            || !self.edge_fits(&test, edge)?
            || step.others.iter().any(|s| in_slot(row.get(*s), edge))
        {
            return Ok(());
        }
        let forward = (edge.source, edge.destination);
        let mut ways = Vec::with_capacity(2);
        if step.direction != Direction::Reverse {
            ways.push(forward);
        }
        if step.direction == Direction::Reverse
            || step.direction == Direction::Undirected && edge.source != edge.destination
        {
            ways.push((forward.1, forward.0));
        }
        let near = if from_bound { node_at(row, step.from)? } else { None };
        let far = if step.closes && step.from != step.to { node_at(row, step.to)? } else { None };
        for (from, to) in ways {
            let fits = (!from_bound || near == Some(from))
                && (!step.closes || step.from == step.to || far == Some(to))
                && (step.from != step.to || from == to)
                && self.has_labels(to, &step.labels);
            if fits {
                set(row, step.from, Value::Node(from));
                set(row, step.to, Value::Node(to));
                sink(row)?;
            }
        }
        Ok(())
    }

    /// A list of relationships that is bound, walked from a bound node.
    pub(super) fn walk(&self, row: &mut [Value], step: &Step, sink: &mut Sink<'_>) -> Flow {
        let Some(mut at) = node_at(row, step.from)? else { return Ok(()) };
        let Some(Value::List(list)) = row.get(step.rel).cloned() else { return Ok(()) };
        let test = self.edge_test(step, None, row)?;
        let mut edges: Vec<Edge> = Vec::new();
        let ordered: Box<dyn Iterator<Item = &Value>> =
            if step.backward { Box::new(list.iter().rev()) } else { Box::new(list.iter()) };
        for value in ordered {
            let Value::Edge(edge) = value else {
                return Err(type_error("a pattern needs a list of relationships").into());
            };
            let right = match step.direction {
                Direction::Forward => edge.source == at,
                Direction::Reverse => edge.destination == at,
                Direction::Undirected => edge.source == at || edge.destination == at,
            };
            let again = edges.iter().any(|e| e.row == edge.row);
            if !right || again || test.never() || !self.edge_fits(&test, *edge)? {
                return Ok(());
            }
            edges.push(*edge);
            at = GraphView::other_end(*edge, at);
        }
        if step.closes {
            if node_at(row, step.to)? != Some(at) {
                return Ok(());
            }
        } else if !self.has_labels(at, &step.labels) {
            return Ok(());
        }
        set(row, step.to, Value::Node(at));
        sink(row)
    }

    /// All trails within the bounds.
    pub(super) fn var_expand(
        &self,
        row: &mut [Value],
        step: &Step,
        span: &Span,
        sink: &mut Sink<'_>,
    ) -> Flow {
        let Some(start) = node_at(row, step.from)? else { return Ok(()) };
        let target = if step.closes { Some(node_at(row, step.to)?) } else { None };
        let test = self.edge_test(step, Some(span), row)?;
        let max = span.max.map_or(usize::MAX, |m| m as usize);
        let min = span.min as usize;
        let mut trail: Vec<Edge> = Vec::new();
        let mut levels: Vec<Vec<(Edge, u32)>> = Vec::new();
        let mut emit = |row: &mut [Value], trail: &[Edge], at: u32| -> Flow {
            if trail.len() < min || target.is_some_and(|t| t != Some(at)) {
                return Ok(());
            }
            if target.is_none() && !self.has_labels(at, &step.labels) {
                return Ok(());
            }
            self.tick_by(trail.len() as u32)?;
            let mut list: Vec<Value> = trail.iter().map(|e| Value::Edge(*e)).collect();
            if step.backward {
                list.reverse();
            }
            set(row, step.rel, Value::list(list));
            if !step.closes {
                set(row, step.to, Value::Node(at));
            }
            sink(row)
        };
        emit(row, &trail, start)?;
        if max == 0 || test.never() || min > max {
            return Ok(());
        }
        levels.push(self.candidates(start, row, step, &test, &trail)?);
        while let Some(level) = levels.last_mut() {
            let Some((edge, to)) = level.pop() else {
                levels.pop();
                trail.pop();
                continue;
            };
            self.tick()?;
            if trail.len() >= graphlume_types::limits::CYPHER_HOPS_MAX {
                let max = graphlume_types::limits::CYPHER_HOPS_MAX;
                let what = format!("a path has more than {max} relationships");
                return Err(crate::error::limit_error(what).into());
            }
            trail.push(edge);
            emit(row, &trail, to)?;
            if trail.len() < max {
                levels.push(self.candidates(to, row, step, &test, &trail)?);
            } else {
                trail.pop();
            }
        }
        Ok(())
    }

    /// Relationships that may come next, in reverse.
    fn candidates(
        &self,
        v: u32,
        row: &[Value],
        step: &Step,
        test: &EdgeTest,
        trail: &[Edge],
    ) -> Res<Vec<(Edge, u32)>> {
        let mut found = Vec::new();
        let result = self.each_edge(test, v, step.direction, |edge, to| {
            self.tick_by(1 + trail.len() as u32 / TRAIL_PER_TICK)?;
            if !trail.iter().any(|e| e.row == edge.row)
                && !step.others.iter().any(|s| in_slot(row.get(*s), edge))
                && self.props_fit(test, edge)?
            {
                found.push((edge, to));
            }
            Ok(())
        });
        match result {
            Err(super::Stop::Failed(e)) => Err(e),
            _ => {
                found.reverse();
                Ok(found)
            }
        }
    }

    /// The path of bound nodes and relationships.
    pub(super) fn path(&self, row: &[Value], nodes: &[Slot], rels: &[Slot]) -> Res<Value> {
        let Some(first) = nodes.first() else { return Ok(Value::NULL) };
        let Some(mut at) = node_at(row, *first)? else { return Ok(Value::NULL) };
        let mut path = Path { nodes: vec![at], edges: Vec::new() };
        let mut add = |edge: Edge| {
            at = GraphView::other_end(edge, at);
            path.nodes.push(at);
            path.edges.push(edge);
        };
        for slot in rels {
            match row.get(*slot) {
                Some(Value::Edge(e)) => add(*e),
                Some(Value::List(list)) => {
                    for value in list.iter() {
                        if let Value::Edge(e) = value {
                            add(*e);
                        }
                    }
                }
                _ => return Ok(Value::NULL),
            }
        }
        Ok(Value::Path(path.into()))
    }
}
