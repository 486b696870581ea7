//! Patterns: their variables, and the order in which they are matched.

use std::collections::HashSet;

use graphlume_gfql::{Cmp, ErrorCode};
use graphlume_types::limits::CYPHER_PATTERN_STEPS_MAX;

use super::{Binder, Bound, Ty, intern};
use crate::ast::{Direction, Expr, Kind, Match, Name, NodePattern, Part, PathKind, RelPattern};
use crate::error::placed;
use crate::plan::{Ex, Op, Seek, Slot, Span, Step};

struct Node {
    slot: Slot,
    labels: Vec<usize>,
    bound: bool,
}

struct Rel {
    slot: Slot,
    /// Numbers of the nodes it joins, as written.
    from: usize,
    to: usize,
    direction: Direction,
    types: Vec<usize>,
    span: Option<Span>,
    bound: bool,
    /// Slot of the path and whether all shortest ones are wanted.
    shortest: Option<(Slot, bool)>,
    done: bool,
}

struct Pred {
    test: Ex,
    needs: Vec<Slot>,
    done: bool,
    seek: Option<(Slot, Seek)>,
}

/// All that one MATCH has to bind.
#[derive(Default)]
struct Elements {
    nodes: Vec<Node>,
    rels: Vec<Rel>,
    paths: Vec<(Slot, Vec<Slot>, Vec<Slot>)>,
    preds: Vec<Pred>,
    /// Slots that are not bound yet.
    pending: HashSet<Slot>,
}

const fn flipped(direction: Direction) -> Direction {
    match direction {
        Direction::Out => Direction::In,
        Direction::In => Direction::Out,
        Direction::Both => Direction::Both,
    }
}

impl Binder<'_> {
    pub(super) fn match_clause(&mut self, op: Op, m: &Match) -> Bound<Op> {
        let mut elements = Elements::default();
        let first_new = self.names.len();
        self.parts(&mut elements, &m.parts, m.at)?;
        if let Some(filter) = &m.filter {
            let mut conjuncts = Vec::new();
            Self::conjuncts(filter, &mut conjuncts);
            for conjunct in conjuncts {
                let mark = self.used.len();
                let test = self.condition(conjunct)?;
                let seek = seek_of(&test);
                let needs = self.used.get(mark..).unwrap_or_default().to_vec();
                elements.preds.push(Pred { test, needs, done: false, seek });
            }
        }
        if !m.optional {
            return Ok(solve(op, elements));
        }
        let slots = (first_new..self.names.len()).collect();
        let inner = Box::new(solve(Op::Argument, elements));
        Ok(Op::Optional { input: Box::new(op), inner, slots })
    }

    /// A pattern as an expression: a truth value, or a shortest path.
    pub(super) fn pattern_expr(&mut self, part: &Part, at: usize) -> Bound<(Ex, Ty)> {
        if part.kind == PathKind::Plain && !self.predicate {
            return Err(self
                .error(at, "a pattern cannot stand here as a value")
                .suggest("use it in WHERE, or write [pattern | expression] for a list"));
        }
        let new = std::mem::replace(&mut self.new_in_pattern, false);
        let mut elements = Elements::default();
        let scope = self.scope.len();
        let parts = self.parts(&mut elements, std::slice::from_ref(part), at);
        self.new_in_pattern = new;
        self.scope.truncate(scope);
        parts?;
        let path = elements.rels.first().and_then(|r| r.shortest);
        let op = Box::new(solve(Op::Argument, elements));
        Ok(match path {
            None => (Ex::Exists(op), Ty::BOOL),
            Some((slot, false)) => (Ex::First(op, slot), Ty::PATH),
            Some((slot, true)) => (Ex::Collect(op, Box::new(Ex::Slot(slot))), Ty::PATH.list_of()),
        })
    }

    pub(super) fn pattern_comp(
        &mut self,
        part: &Part,
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
        Ok(Ex::Collect(Box::new(solve(Op::Argument, elements)), body))
    }

    fn parts(&mut self, elements: &mut Elements, parts: &[Part], at: usize) -> Bound<()> {
        let steps: usize = parts.iter().map(|p| p.rels.len() + p.nodes.len()).sum();
        if steps > 2 * CYPHER_PATTERN_STEPS_MAX {
            let what = format!("the pattern has more than {CYPHER_PATTERN_STEPS_MAX} steps");
            return Err(placed(ErrorCode::Limit, self.text, at, what));
        }
        let mut props: Vec<(Slot, &[(String, Expr)])> = Vec::new();
        let mut spans: Vec<(usize, &RelPattern)> = Vec::new();
        for part in parts {
            let mut nodes = Vec::new();
            for node in &part.nodes {
                let number = self.node(elements, node)?;
                if let Some(n) = elements.nodes.get(number) {
                    props.push((n.slot, &node.props));
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
                    props.push((slot, &rel.props));
                }
            }
            self.path(elements, part, &nodes, rels)?;
        }
        for (number, rel) in spans {
            let bound: Bound<Vec<(usize, Ex)>> =
                rel.props.iter().map(|(k, e)| Ok((self.entity_key(k), self.expr(e)?.0))).collect();
            let (min, max) = rel.range.unwrap_or((1, Some(1)));
            if let Some(r) = elements.rels.get_mut(number) {
                r.span = Some(Span { min, max, props: bound? });
            }
        }
        for (slot, entries) in props {
            for (key, value) in entries {
                let mark = self.used.len();
                let value = self.expr(value)?.0;
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
        part: &Part,
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
        });
        Ok(slot)
    }
}

/// How a condition names a node by a value, when it does.
fn seek_of(test: &Ex) -> Option<(Slot, Seek)> {
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

impl Elements {
    fn is_bound(&self, node: usize) -> bool {
        self.nodes.get(node).is_some_and(|n| n.bound)
    }

    /// Adds the conditions that can be tested now.
    fn filter(&mut self, mut op: Op) -> Op {
        for pred in self.preds.iter_mut().filter(|p| !p.done) {
            if pred.needs.iter().all(|s| !self.pending.contains(s)) {
                pred.done = true;
                op = Op::Filter { input: Box::new(op), test: pred.test.clone() };
            }
        }
        for (slot, nodes, rels) in std::mem::take(&mut self.paths) {
            let ready = nodes.iter().chain(&rels).all(|s| !self.pending.contains(s));
            if ready {
                self.pending.remove(&slot);
                op = Op::Path { input: Box::new(op), slot, nodes, rels };
                op = self.filter(op);
            } else {
                self.paths.push((slot, nodes, rels));
            }
        }
        op
    }

    /// Values that name the node and can be computed now.
    fn seeks(&self, slot: Slot) -> Vec<Seek> {
        let ready = |p: &&Pred| {
            let others = p.needs.iter().filter(|s| **s != slot);
            others.into_iter().all(|s| !self.pending.contains(s))
        };
        let of = |p: &Pred| match &p.seek {
            Some((s, seek)) if *s == slot && !mentions(&seek.value, slot) => Some(seek.clone()),
            _ => None,
        };
        self.preds.iter().filter(ready).filter_map(of).collect()
    }

    /// The relationship to match next: one between two bound nodes before one that is bound on one
    /// side, and variable length last.
    fn next_rel(&self) -> Option<usize> {
        let cost = |r: &Rel| {
            let ends = usize::from(self.is_bound(r.from)) + usize::from(self.is_bound(r.to));
            if r.done {
                None
            } else if r.bound && r.span.is_none() {
                Some(0)
            } else if r.shortest.is_some() {
                // Shortest paths start where the search is cheapest: with both ends known.
                (ends == 2).then_some(5)
            } else {
                match (ends, r.span.is_some()) {
                    (0, _) => None,
                    (2, false) => Some(1),
                    (2, true) => Some(3),
                    (_, false) => Some(2),
                    (_, true) => Some(4),
                }
            }
        };
        let scored = self.rels.iter().enumerate().filter_map(|(i, r)| Some((cost(r)?, i)));
        scored.min().map(|(_, i)| i)
    }

    /// The cheapest node to start from.
    fn next_node(&self) -> Option<usize> {
        let cost = |n: &Node| {
            if !self.seeks(n.slot).is_empty() {
                0
            } else if !n.labels.is_empty() {
                1
            } else {
                2
            }
        };
        let unbound = self.nodes.iter().enumerate().filter(|(_, n)| !n.bound);
        unbound.map(|(i, n)| (cost(n), i)).min().map(|(_, i)| i)
    }

    fn others(&self, rel: usize) -> Vec<Slot> {
        let Some(this) = self.rels.get(rel) else { return Vec::new() };
        let apart = |r: &Rel| {
            !r.types.is_empty()
                && !this.types.is_empty()
                && r.types.iter().all(|t| !this.types.contains(t))
        };
        let others = self.rels.iter().filter(|r| r.done && r.shortest.is_none() && !apart(r));
        others.map(|r| r.slot).collect()
    }
}

/// Whether an expression reads a slot directly; used to keep a seek from depending on itself.
fn mentions(e: &Ex, slot: Slot) -> bool {
    match e {
        Ex::Const(_) | Ex::Param(_) => false,
        Ex::Slot(s) => *s == slot,
        Ex::Prop(base, _) => mentions(base, slot),
        Ex::List(list) => list.iter().any(|x| mentions(x, slot)),
        Ex::Call(_, args) => args.iter().any(|x| mentions(x, slot)),
        Ex::Binary(_, a, b) => mentions(a, slot) || mentions(b, slot),
        // Rarely of use for a seek, and not worth looking into.
        _ => true,
    }
}

/// Orders the work of one pattern.
fn solve(op: Op, mut e: Elements) -> Op {
    let mut op = op;
    for i in 0..e.nodes.len() {
        let Some(node) = e.nodes.get_mut(i).filter(|n| n.bound) else { continue };
        let (slot, labels) = (node.slot, std::mem::take(&mut node.labels));
        // A relationship finds out by itself whether there is a node.
        if labels.is_empty() && e.rels.iter().any(|r| r.from == i || r.to == i) {
            continue;
        }
        op = Op::Check { input: Box::new(op), slot, labels };
    }
    op = e.filter(op);
    loop {
        if let Some(i) = e.next_rel() {
            op = relate(op, &mut e, i);
        } else if let Some(i) = e.next_node() {
            let Some((slot, labels)) = e.nodes.get(i).map(|n| (n.slot, n.labels.clone())) else {
                return op;
            };
            let seek = e.seeks(slot);
            op = Op::Scan { input: Box::new(op), slot, labels, seek };
            e.pending.remove(&slot);
            if let Some(node) = e.nodes.get_mut(i) {
                node.bound = true;
            }
        } else {
            return e.filter(op);
        }
        op = e.filter(op);
    }
}

fn relate(op: Op, e: &mut Elements, i: usize) -> Op {
    let others = e.others(i);
    let Some(rel) = e.rels.get_mut(i) else { return op };
    rel.done = true;
    let (from, to) = (rel.from, rel.to);
    let (slot, direction, types) = (rel.slot, rel.direction, std::mem::take(&mut rel.types));
    let (span, bound, shortest) = (rel.span.take(), rel.bound, rel.shortest);
    rel.types.clone_from(&types);
    let (from_bound, to_bound) = (e.is_bound(from), e.is_bound(to));
    let backward = !from_bound && to_bound;
    let (near, far) = if backward { (to, from) } else { (from, to) };
    let (Some(near_node), Some(far_node)) = (e.nodes.get(near), e.nodes.get(far)) else {
        return op;
    };
    let (far_slot, far_labels) = (far_node.slot, far_node.labels.clone());
    let closes = near == far || from_bound && to_bound;
    let step = Step {
        from: near_node.slot,
        to: far_slot,
        rel: slot,
        direction: if backward { flipped(direction) } else { direction },
        types,
        labels: if closes { Vec::new() } else { far_labels },
        closes,
        others,
        backward,
    };
    let near_slot = step.from;
    let input = Box::new(op);
    let mut op = match (span, shortest) {
        (Some(span), Some((path, all))) => {
            e.pending.remove(&path);
            Op::Shortest { input, step, span, path, all }
        }
        (Some(_), None) if bound => Op::Walk { input, step },
        (Some(span), None) => Op::VarExpand { input, step, span },
        (None, _) if bound => Op::Ends { input, step, from_bound: from_bound || to_bound },
        (None, _) => Op::Expand { input, step },
    };
    // A bound relationship may bind both ends at once; the near one has labels of its own.
    let late = e.nodes.get(near).filter(|n| !n.bound).map(|n| n.labels.clone());
    if let Some(labels) = late.filter(|l| !l.is_empty()) {
        op = Op::Check { input: Box::new(op), slot: near_slot, labels };
    }
    for (n, s) in [(near, near_slot), (far, far_slot)] {
        if let Some(node) = e.nodes.get_mut(n) {
            node.bound = true;
        }
        e.pending.remove(&s);
    }
    e.pending.remove(&slot);
    op
}
