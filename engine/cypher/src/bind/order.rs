//! The order in which the relationships and nodes of a pattern are matched.

use super::Binder;
use super::pattern::{Elements, Node, Pred, Rel};
use crate::plan::{Ex, Op, OpId, Seek, Slot, Step};

impl Elements {
    pub(super) fn is_bound(&self, node: usize) -> bool {
        self.nodes.get(node).is_some_and(|n| n.bound)
    }

    /// Adds the conditions that can be tested now.
    fn filter(&mut self, mut op: Op) -> Op {
        for pred in self.preds.iter_mut().filter(|p| !p.done) {
            if pred.needs.iter().all(|s| !self.pending.contains(s)) {
                pred.done = true;
                op = Op::Filter {
                    id: OpId::default(),
                    input: Box::new(op),
                    test: pred.test.clone(),
                };
            }
        }
        for (slot, nodes, rels) in std::mem::take(&mut self.paths) {
            let ready = nodes.iter().chain(&rels).all(|s| !self.pending.contains(s));
            if ready {
                self.pending.remove(&slot);
                op = Op::Path { id: OpId::default(), input: Box::new(op), slot, nodes, rels };
                op = self.filter(op);
            } else {
                self.paths.push((slot, nodes, rels));
            }
        }
        op
    }

    /// Values that name the node and can be computed now.
    pub(super) fn seeks(&self, slot: Slot) -> Vec<Seek> {
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

    /// The relationship to match next, when these nodes are bound and these relationships done: one between two
    /// bound nodes before one that is bound on one side, and variable length last.
    pub(super) fn next_rel(
        &self,
        is_bound: impl Fn(usize) -> bool,
        is_done: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let cost = |r: &Rel| {
            let ends = usize::from(is_bound(r.from)) + usize::from(is_bound(r.to));
            if r.bound && r.span.is_none() {
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
        let left = self.rels.iter().enumerate().filter(|(i, _)| !is_done(*i));
        left.filter_map(|(i, r)| Some((cost(r)?, i))).min().map(|(_, i)| i)
    }

    /// The node to start from where nothing is known of the graph.
    pub(super) fn next_node(&self) -> Option<usize> {
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
        let of_clause = self.rels.iter().filter(|r| r.clause == this.clause);
        let others = of_clause.filter(|r| r.done && r.shortest.is_none() && !apart(r));
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

impl Binder<'_> {
    /// Orders the work of one pattern.
    pub(super) fn solve(&mut self, op: Op, mut e: Elements) -> Op {
        let mut op = op;
        for i in 0..e.nodes.len() {
            let Some(node) = e.nodes.get_mut(i).filter(|n| n.bound) else { continue };
            let (slot, labels) = (node.slot, std::mem::take(&mut node.labels));
            // A relationship finds out by itself whether there is a node.
            if labels.is_empty() && e.rels.iter().any(|r| r.from == i || r.to == i) {
                continue;
            }
            op = Op::Check { id: OpId::default(), input: Box::new(op), slot, labels };
        }
        op = e.filter(op);
        loop {
            let is_done = |i: usize| e.rels.get(i).is_none_or(|r| r.done);
            if let Some(i) = e.next_rel(|n| e.is_bound(n), is_done) {
                op = relate(op, &mut e, i);
            } else if let Some(i) = self.start(&e) {
                let Some((slot, labels)) = e.nodes.get(i).map(|n| (n.slot, n.labels.clone()))
                else {
                    return op;
                };
                let seek = e.seeks(slot);
                op = Op::Scan { id: OpId::default(), input: Box::new(op), slot, labels, seek };
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
        direction: if backward { direction.reversed() } else { direction },
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
            Op::Shortest { id: OpId::default(), input, step, span, path, all }
        }
        (Some(_), None) if bound => Op::Walk { id: OpId::default(), input, step },
        (Some(span), None) => Op::VarExpand { id: OpId::default(), input, step, span },
        (None, _) if bound => {
            Op::Ends { id: OpId::default(), input, step, from_bound: from_bound || to_bound }
        }
        (None, _) => Op::Expand { id: OpId::default(), input, step },
    };
    // A bound relationship may bind both ends at once; the near one has labels of its own.
    let late = e.nodes.get(near).filter(|n| !n.bound).map(|n| n.labels.clone());
    if let Some(labels) = late.filter(|l| !l.is_empty()) {
        op = Op::Check { id: OpId::default(), input: Box::new(op), slot: near_slot, labels };
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
