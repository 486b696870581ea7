//! Patterns: their variables and conditions.

use std::collections::HashSet;

use graphlume_expr::{Cmp, ErrorCode};
use graphlume_types::limits::CYPHER_PATTERN_STEPS_MAX;

use super::ids::Given;
use super::{Binder, Bound, Ty, intern};
use crate::ast::{Expr, Kind, Match, Name, NodePattern, PathKind, PathPattern, RelPattern};
use crate::error::placed;
use crate::plan::{Ex, Op, OpId, Seek, Slot, Span};
use graphlume_graph::Direction;

pub(super) struct Node {
    pub(super) slot: Slot,
    pub(super) labels: Vec<usize>,
    pub(super) bound: bool,
}

pub(super) struct Rel {
    pub(super) slot: Slot,
    /// Numbers of the nodes it joins, as written.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) direction: Direction,
    pub(super) types: Vec<usize>,
    pub(super) span: Option<Span>,
    pub(super) bound: bool,
    /// Slot of the path and whether all shortest ones are wanted.
    pub(super) shortest: Option<(Slot, bool)>,
    pub(super) done: bool,
    /// Number of its MATCH: one relationship may stand for two of different ones.
    pub(super) clause: usize,
}

pub(super) struct Pred {
    pub(super) test: Ex,
    pub(super) needs: Vec<Slot>,
    pub(super) done: bool,
    pub(super) seek: Option<(Slot, Seek)>,
}

/// All that one MATCH has to bind, or some in a row that are matched as one.
#[derive(Default)]
pub(super) struct Elements {
    /// Number of the MATCH that is being taken up.
    clause: usize,
    pub(super) nodes: Vec<Node>,
    pub(super) rels: Vec<Rel>,
    pub(super) paths: Vec<(Slot, Vec<Slot>, Vec<Slot>)>,
    pub(super) preds: Vec<Pred>,
    /// Slots that are not bound yet.
    pub(super) pending: HashSet<Slot>,
}

impl Binder<'_> {
    /// A MATCH, and those directly after it that [`super::join::joined`] lets be matched with it.
    pub(super) fn match_clauses(&mut self, op: Op, m: &Match, more: &[&Match]) -> Bound<Op> {
        let mut elements = Elements::default();
        let first_new = self.names.len();
        self.take_up(&mut elements, m)?;
        for next in more {
            elements.clause += 1;
            self.take_up(&mut elements, next)?;
        }
        if !m.optional {
            return Ok(self.solve(op, elements));
        }
        let slots = (first_new..self.names.len()).collect();
        let inner = Box::new(self.solve(Op::Argument, elements));
        Ok(Op::Optional { id: OpId::default(), input: Box::new(op), inner, slots })
    }

    /// Adds the variables and conditions of a MATCH.
    fn take_up(&mut self, elements: &mut Elements, m: &Match) -> Bound<()> {
        self.parts(elements, &m.parts, m.at)?;
        let mut conjuncts = Vec::new();
        if let Some(filter) = &m.filter {
            Self::conjuncts(filter, &mut conjuncts);
        }
        for conjunct in conjuncts {
            let mark = self.used.len();
            let test = self.condition(conjunct)?;
            let seek = seek_of(&test);
            let needs = self.used.get(mark..).unwrap_or_default().to_vec();
            elements.preds.push(Pred { test, needs, done: false, seek });
        }
        Ok(())
    }

    /// A pattern as an expression: a truth value, or a shortest path.
    pub(super) fn pattern_expr(&mut self, part: &PathPattern, offset: usize) -> Bound<(Ex, Ty)> {
        if part.kind == PathKind::Plain && !self.predicate {
            return Err(self
                .error(offset, "a pattern cannot stand here as a value")
                .suggest("use it in WHERE, or write [pattern | expression] for a list"));
        }
        let new = std::mem::replace(&mut self.new_in_pattern, false);
        let mut elements = Elements::default();
        let scope = self.scope.len();
        let parts = self.parts(&mut elements, std::slice::from_ref(part), offset);
        self.new_in_pattern = new;
        self.scope.truncate(scope);
        parts?;
        let path = elements.rels.first().and_then(|r| r.shortest);
        let op = Box::new(self.solve(Op::Argument, elements));
        Ok(match path {
            None => (Ex::Exists(op), Ty::BOOL),
            Some((slot, false)) => (Ex::First(op, slot), Ty::PATH),
            Some((slot, true)) => (Ex::Collect(op, Box::new(Ex::Slot(slot))), Ty::PATH.list_of()),
        })
    }

    pub(super) fn pattern_comp(
        &mut self,
        part: &PathPattern,
        filter: Option<&Expr>,
        body: &Expr,
    ) -> Bound<Ex> {
        let new = std::mem::replace(&mut self.new_in_pattern, true);
        let mut elements = Elements::default();
        let scope = self.scope.len();
        let bound = self.parts(&mut elements, std::slice::from_ref(part), body.at).and_then(|()| {
            // What the pattern brings is in reach although it is no grouping key.
            for var in self.scope.iter_mut().skip(scope) {
                var.local = true;
            }
            if let Some(filter) = filter {
                let from = self.used.len();
                let test = self.condition(filter)?;
                let needs = self.used.get(from..).unwrap_or_default().to_vec();
                elements.preds.push(Pred { test, needs, done: false, seek: None });
            }
            self.expr(body)
        });
        self.new_in_pattern = new;
        self.scope.truncate(scope);
        let body = Box::new(bound?.0);
        Ok(Ex::Collect(Box::new(self.solve(Op::Argument, elements)), body))
    }

    fn parts(
        &mut self,
        elements: &mut Elements,
        parts: &[PathPattern],
        offset: usize,
    ) -> Bound<()> {
        let steps: usize = parts.iter().map(|p| p.rels.len() + p.nodes.len()).sum();
        if steps > 2 * CYPHER_PATTERN_STEPS_MAX {
            let what = format!("the pattern has more than {CYPHER_PATTERN_STEPS_MAX} steps");
            return Err(placed(ErrorCode::Limit, self.text, offset, what));
        }
        let mut props: Vec<Given<'_>> = Vec::new();
        let mut spans: Vec<(usize, &RelPattern)> = Vec::new();
        for part in parts {
            let mut nodes = Vec::new();
            for node in &part.nodes {
                let number = self.node(elements, node)?;
                if let Some(n) = elements.nodes.get(number) {
                    props.push((n.slot, Ty::NODE, &node.props));
                }
                nodes.push(number);
            }
            let mut rels = Vec::new();
            for (i, rel) in part.rels.iter().enumerate() {
                let (Some(from), Some(to)) = (nodes.get(i), nodes.get(i + 1)) else { continue };
                let slot = self.rel(elements, rel, (*from, *to))?;
                rels.push(slot);
                if rel.range.is_some() || part.kind != PathKind::Plain {
                    spans.push((elements.rels.len() - 1, rel));
                } else {
                    props.push((slot, Ty::EDGE, &rel.props));
                }
            }
            self.path(elements, part, &nodes, rels)?;
        }
        for (number, rel) in spans {
            let bound: Bound<Vec<(usize, Ex)>> = rel
                .props
                .iter()
                .map(|(k, e)| {
                    let value = self.expr(e)?.0;
                    Ok((self.entity_key(k), self.number_given(Ty::EDGE, k, value)))
                })
                .collect();
            let (min, max) = rel.range.unwrap_or((1, Some(1)));
            if let Some(r) = elements.rels.get_mut(number) {
                r.span = Some(Span { min, max, props: bound? });
            }
        }
        for (slot, of, entries) in props {
            for (key, value) in entries {
                let mark = self.used.len();
                let value = self.expr(value)?.0;
                let value = self.number_given(of, key, value);
                self.used.push(slot);
                let needs = self.used.get(mark..).unwrap_or_default().to_vec();
                let key = self.entity_key(key);
                let left = Box::new(Ex::Prop(Box::new(Ex::Slot(slot)), key));
                let test = Ex::Compare(left, vec![(Cmp::Eq, value)]);
                let seek = seek_of(&test);
                elements.preds.push(Pred { test, needs, done: false, seek });
            }
        }
        Ok(())
    }

    fn path(
        &mut self,
        elements: &mut Elements,
        part: &PathPattern,
        nodes: &[usize],
        rels: Vec<Slot>,
    ) -> Bound<()> {
        let shortest = part.kind != PathKind::Plain;
        if let Some(name) = &part.name
            && self.find(&name.text).is_some()
        {
            let what = format!("the variable {:?} exists already", name.text);
            return Err(self.error(name.at, what));
        }
        let slot = match &part.name {
            Some(name) => self.declare(name, Ty::PATH)?,
            None if shortest => self.slot("")?,
            None => return Ok(()),
        };
        elements.pending.insert(slot);
        if shortest {
            if let Some(rel) = elements.rels.last_mut() {
                rel.shortest = Some((slot, part.kind == PathKind::AllShortest));
            }
        } else {
            let slot_of = |n: &usize| elements.nodes.get(*n).map(|n| n.slot);
            let nodes = nodes.iter().filter_map(slot_of).collect();
            elements.paths.push((slot, nodes, rels));
        }
        Ok(())
    }

    /// The variable that a pattern means, unless it is new.
    fn pattern_variable(&mut self, name: &Name) -> Bound<Option<(Slot, Ty)>> {
        if let Some(grouping) = self.grouping.as_ref().filter(|_| !self.in_aggregate) {
            let same = |e: &Expr| matches!(&e.kind, Kind::Var(n) if *n == name.text);
            if let Some(known) = grouping.known.iter().find(|k| same(&k.expr)) {
                let (slot, ty) = (known.slot, known.ty);
                self.used.push(slot);
                return Ok(Some((slot, ty)));
            }
        }
        match self.find(&name.text) {
            Some(var) => {
                let (slot, ty) = (var.slot, var.ty);
                self.used.push(slot);
                Ok(Some((slot, ty)))
            }
            None if self.new_in_pattern => Ok(None),
            None => Err(self.undefined(&name.text, name.at)),
        }
    }

    fn node(&mut self, elements: &mut Elements, node: &NodePattern) -> Bound<usize> {
        let labels: Vec<usize> = node.labels.iter().map(|l| intern(&mut self.labels, l)).collect();
        let known = match &node.name {
            Some(name) => self.pattern_variable(name)?.map(|v| (v, name)),
            None => None,
        };
        if let Some(((slot, ty), name)) = known {
            if !ty.may_be(Ty::NODE) {
                let what = format!("{:?} is {} and cannot be a node", name.text, ty.describe());
                return Err(self.error(name.at, what));
            }
            if let Some(i) = elements.nodes.iter().position(|n| n.slot == slot) {
                if let Some(n) = elements.nodes.get_mut(i) {
                    n.labels.extend(labels);
                }
                return Ok(i);
            }
            elements.nodes.push(Node { slot, labels, bound: true });
            return Ok(elements.nodes.len() - 1);
        }
        let slot = match &node.name {
            Some(name) => self.declare(name, Ty::NODE)?,
            None => self.slot("")?,
        };
        elements.pending.insert(slot);
        elements.nodes.push(Node { slot, labels, bound: false });
        Ok(elements.nodes.len() - 1)
    }

    fn rel(
        &mut self,
        elements: &mut Elements,
        rel: &RelPattern,
        (from, to): (usize, usize),
    ) -> Bound<Slot> {
        let types = rel.types.iter().map(|t| intern(&mut self.types, t)).collect();
        let ty = if rel.range.is_some() { Ty::EDGE.list_of() } else { Ty::EDGE };
        let mut bound = false;
        let slot = match &rel.name {
            None => self.slot("")?,
            Some(name) => match self.pattern_variable(name)? {
                None => self.declare(name, ty)?,
                Some((slot, old)) => {
                    if elements.rels.iter().any(|r| r.slot == slot) {
                        let what = format!(
                            "the relationship {:?} cannot occur twice in one pattern",
                            name.text
                        );
                        return Err(self.error(name.at, what));
                    }
                    let fits = if rel.range.is_some() { Ty::LIST } else { Ty::EDGE };
                    let entity = rel.range.is_none() || old.element().may_be(Ty::EDGE);
                    if !old.may_be(fits) || !entity {
                        let what = format!(
                            "{:?} is {} and cannot be this relationship",
                            name.text,
                            old.describe()
                        );
                        return Err(self.error(name.at, what));
                    }
                    bound = true;
                    slot
                }
            },
        };
        if !bound {
            elements.pending.insert(slot);
        }
        elements.rels.push(Rel {
            slot,
            from,
            to,
            direction: rel.direction,
            types,
            span: None,
            bound,
            shortest: None,
            done: false,
            clause: elements.clause,
        });
        Ok(slot)
    }
}

/// How a condition names a node by a value, when it does.
pub(crate) fn seek_of(test: &Ex) -> Option<(Slot, Seek)> {
    let key_of = |e: &Ex| match e {
        Ex::Prop(base, key) => match **base {
            Ex::Slot(slot) => Some((slot, Some(*key))),
            _ => None,
        },
        Ex::Call(f, args) if f.name == "id" || f.name == "elementId" => match args.as_slice() {
            [Ex::Slot(slot)] => Some((*slot, None)),
            _ => None,
        },
        _ => None,
    };
    let (left, right, any) = match test {
        Ex::Compare(left, rest) => match rest.as_slice() {
            [(Cmp::Eq, right)] => (left.as_ref(), right, false),
            _ => return None,
        },
        Ex::Binary(crate::ast::Binary::In, left, right) => (left.as_ref(), right.as_ref(), true),
        _ => return None,
    };
    let (slot, key, value) = match (key_of(left), key_of(right)) {
        (Some((slot, key)), _) => (slot, key, right),
        (None, Some((slot, key))) if !any => (slot, key, left),
        _ => return None,
    };
    Some((slot, Seek { key, value: value.clone(), any }))
}
