//! Patterns of which only the number of matches counts: their paths are counted, not walked.
//!
//! Grouping that looks at nothing but the last nodes of a pattern needs no row for each path that leads to
//! them; it is enough to know how many there are (aggregation pushed down through joins, after Yan and
//! Larson, "Eager Aggregation and Lazy Aggregation"). The number of paths to all nodes takes one look at
//! each relationship a step.

use super::{Binder, Bound};
use crate::plan::{Agg, Ex, Op, OpId, Slot, Step, Tallied};
use graphlume_graph::Direction;

impl Binder<'_> {
    /// The input of a grouping, with its paths counted where the grouping allows that, and the slot of their
    /// numbers.
    pub(super) fn counted(
        &mut self,
        input: Op,
        keys: &[(Slot, Ex)],
        aggs: &[Agg],
    ) -> Bound<(Op, Option<Slot>)> {
        // In a subquery there are few paths for each row, and a place for every node would be too much.
        if self.nested {
            return Ok((input, None));
        }
        // From nodes that another pattern has led to the CPU walks as soon.
        if begins_apart(&input) {
            self.open = true;
            if !self.statistics.is_some_and(super::Statistics::has_device) {
                return Ok((input, None));
            }
        }
        let known: Vec<&Ex> = keys.iter().map(|(_, e)| e).chain(arguments(aggs)).collect();
        let Some(chain) = Chain::new(input.clone(), &known) else { return Ok((input, None)) };
        let weight = self.slot("")?;
        Ok((chain.into_op(weight), Some(weight)))
    }
}

/// Whether a pattern begins at nodes of which each was kept once.
fn begins_apart(op: &Op) -> bool {
    match op {
        Op::Expand { input, .. } | Op::Filter { input, .. } => begins_apart(input),
        Op::Distinct { slots, .. } => slots.len() == 1,
        _ => false,
    }
}

fn arguments(aggs: &[Agg]) -> impl Iterator<Item = &Ex> {
    aggs.iter().flat_map(|a| a.arg.iter().chain(&a.extra))
}

/// A step and the conditions that follow it.
struct Link {
    step: Step,
    tests: Vec<Ex>,
}

/// A path from one scan.
struct Chain {
    scan: Op,
    from: Slot,
    counted: Vec<Tallied>,
    /// Steps that still make rows.
    walked: Vec<Link>,
    /// Whether anything looks at the nodes that the counted steps lead to.
    ends: bool,
}

impl Chain {
    /// The path below a grouping that looks at `known`; `None` where counting does not pay or is not allowed.
    fn new(op: Op, known: &[&Ex]) -> Option<Self> {
        let (scan, links) = links(op)?;
        let slot = match root(&scan) {
            Op::Scan { slot, .. } => slot,
            Op::Distinct { slots, .. } => slots.first()?,
            _ => return None,
        };
        let mut live = Vec::new();
        if !known.iter().all(|e| slots_of(e, &mut live)) {
            return None;
        }
        let slot = *slot;
        let last = links.last()?.step.to;
        if live.contains(&slot) && !live.contains(&last) {
            // From the other end only the last node is looked at.
            let (scan, links) = reversed(scan, links)?;
            return Self::split(scan, last, links, live);
        }
        Self::split(scan, slot, links, live)
    }

    /// Counts along as many steps as nothing behind them looks at.
    fn split(scan: Op, from: Slot, links: Vec<Link>, mut live: Vec<Slot>) -> Option<Self> {
        let mut at = from;
        for link in &links {
            let step = &link.step;
            if step.closes || step.from != at {
                return None;
            }
            at = step.to;
        }
        // From behind: what the steps that make rows look at.
        let mut keep = links.len();
        let mut cut = None;
        while keep > 0 {
            let gone = links.iter().take(keep);
            let mut gone = gone.flat_map(|l| [l.step.from, l.step.rel]);
            if gone.all(|s| !live.contains(&s)) {
                cut = Some(keep);
                break;
            }
            keep -= 1;
            let link = links.get(keep)?;
            live.extend(&link.step.others);
            if !link.tests.iter().all(|t| slots_of(t, &mut live)) {
                return None;
            }
        }
        let mut links = links;
        let walked = links.split_off(cut?);
        let ends = links.last().is_some_and(|l| live.contains(&l.step.to)) || !walked.is_empty();
        let mut counted: Vec<Tallied> = Vec::new();
        for Link { step, tests } in links {
            let before = counted.last().map(|t| (t.step.rel, t.apart));
            let apart = match (step.others.as_slice(), before) {
                ([], _) => false,
                // It differs from the one before, which differs from none.
                ([other], Some((rel, false))) if *other == rel => true,
                _ => return None,
            };
            if !tests.iter().all(|t| cannot_fail(t, step.to)) {
                return None;
            }
            counted.push(Tallied { step, tests, apart });
        }
        Some(Self { scan, from, counted, walked, ends })
    }

    fn into_op(self, weight: Slot) -> Op {
        let Self { scan, from, counted, walked, ends } = self;
        let mut op = Op::Tally {
            id: OpId::default(),
            input: Box::new(scan),
            from,
            steps: counted,
            weight,
            ends,
        };
        for Link { step, tests } in walked {
            op = Op::Expand { id: OpId::default(), input: Box::new(op), step };
            for test in tests {
                op = Op::Filter { id: OpId::default(), input: Box::new(op), test };
            }
        }
        op
    }
}

/// A scan with its conditions, and the steps from it; `None` for any other operators.
fn links(op: Op) -> Option<(Op, Vec<Link>)> {
    match op {
        Op::Expand { input, step, .. } => {
            let (scan, mut links) = links(*input)?;
            links.push(Link { step, tests: Vec::new() });
            Some((scan, links))
        }
        Op::Filter { input, test, .. } => {
            let (scan, mut links) = links(*input)?;
            match links.last_mut() {
                Some(link) => link.tests.push(test),
                None => {
                    return Some((
                        Op::Filter { id: OpId::default(), input: Box::new(scan), test },
                        links,
                    ));
                }
            }
            Some((scan, links))
        }
        Op::Scan { ref input, .. } if matches!(**input, Op::Argument) => Some((op, Vec::new())),
        Op::Distinct { ref slots, .. } if slots.len() == 1 => Some((op, Vec::new())),
        _ => None,
    }
}

fn root(op: &Op) -> &Op {
    match op {
        Op::Filter { input, .. } => root(input),
        op => op,
    }
}

/// The same path from its other end. A scan that looks for values stays where it is: it begins with few nodes.
fn reversed(scan: Op, links: Vec<Link>) -> Option<(Op, Vec<Link>)> {
    // What holds for each node, in the order of the path.
    let mut held = vec![of_scan(scan)?];
    let mut steps = Vec::new();
    for Link { step, tests } in links {
        if step.closes || held.last().is_some_and(|h| h.0 != step.from) {
            return None;
        }
        held.push((step.to, step.labels.clone(), tests));
        steps.push(step);
    }
    let (slot, labels, tests) = held.pop()?;
    let mut scan = Op::Scan {
        id: OpId::default(),
        input: Box::new(Op::Argument),
        slot,
        labels,
        seek: Vec::new(),
    };
    for test in tests {
        // A scan meets more nodes than the path did.
        if !cannot_fail(&test, slot) {
            return None;
        }
        scan = Op::Filter { id: OpId::default(), input: Box::new(scan), test };
    }
    let mut links = Vec::new();
    let mut differs: Vec<(Slot, Slot)> = Vec::new();
    while let Some(step) = steps.pop() {
        let (to, labels, tests) = held.pop()?;
        differs.extend(step.others.iter().map(|other| (*other, step.rel)));
        let others = differs.iter().filter(|(rel, _)| *rel == step.rel).map(|(_, o)| *o).collect();
        let direction = match step.direction {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
            Direction::Undirected => Direction::Undirected,
        };
        let backward = !step.backward;
        let step = Step { from: step.to, to, direction, labels, others, backward, ..step };
        links.push(Link { step, tests });
    }
    Some((scan, links))
}

type Held = (Slot, Vec<usize>, Vec<Ex>);

fn of_scan(op: Op) -> Option<Held> {
    match op {
        Op::Filter { input, test, .. } => {
            let (slot, labels, mut tests) = of_scan(*input)?;
            tests.push(test);
            Some((slot, labels, tests))
        }
        Op::Scan { slot, labels, seek, .. } if seek.is_empty() => Some((slot, labels, Vec::new())),
        _ => None,
    }
}

/// Adds the slots that an expression reads; false when that is not known.
fn slots_of(e: &Ex, into: &mut Vec<Slot>) -> bool {
    let mut all = |list: &[Ex]| list.iter().all(|x| slots_of(x, into));
    match e {
        Ex::Const(_) | Ex::Param(_) => true,
        Ex::Slot(slot) => {
            into.push(*slot);
            true
        }
        Ex::Prop(a, _)
        | Ex::HasLabels(a, _)
        | Ex::Not(a)
        | Ex::Neg(a)
        | Ex::Plus(a)
        | Ex::IsNull(a, _) => slots_of(a, into),
        Ex::And(list) | Ex::Or(list) | Ex::List(list) | Ex::Call(_, list) => all(list),
        Ex::Compare(a, rest) => slots_of(a, into) && rest.iter().all(|(_, b)| slots_of(b, into)),
        Ex::Binary(_, a, b) | Ex::Index(a, b) => slots_of(a, into) && slots_of(b, into),
        _ => false,
    }
}

/// Whether a condition looks at nothing but the node in `slot`, and has an answer for every node.
pub(crate) fn cannot_fail(e: &Ex, slot: Slot) -> bool {
    let plain = |e: &Ex| match e {
        Ex::Const(_) | Ex::Param(_) => true,
        Ex::Prop(base, _) => matches!(**base, Ex::Slot(s) if s == slot),
        _ => false,
    };
    match e {
        Ex::And(list) | Ex::Or(list) => list.iter().all(|x| cannot_fail(x, slot)),
        Ex::Not(a) => cannot_fail(a, slot),
        Ex::Compare(a, rest) => plain(a) && rest.iter().all(|(_, b)| plain(b)),
        Ex::IsNull(a, _) => plain(a),
        Ex::HasLabels(a, _) => matches!(**a, Ex::Slot(s) if s == slot),
        _ => false,
    }
}
