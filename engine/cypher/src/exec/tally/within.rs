//! Patterns of which only the nodes in one place count: a device finds them from the other ends.

use crate::bind::cannot_fail;
use crate::plan::{Ex, Op, Seek, Slot, Step};
use graphlume_graph::Direction;

/// A node of a pattern, with what holds for it.
#[derive(Clone)]
pub(super) struct Place<'e> {
    pub(super) slot: Slot,
    pub(super) labels: &'e [usize],
    pub(super) tests: Vec<&'e Ex>,
    /// What a scan looks for, which is a condition above it, too.
    pub(super) seeks: &'e [Seek],
}

impl<'e> Place<'e> {
    pub(super) const fn new(slot: Slot, labels: &'e [usize], tests: Vec<&'e Ex>) -> Self {
        Self { slot, labels, tests, seeks: &[] }
    }
}

/// A step as it is taken, which may be against the one that is written.
pub(super) struct Taken<'e> {
    pub(super) step: &'e Step,
    pub(super) forward: bool,
    /// Where it leads to.
    pub(super) to: Slot,
}

/// The steps from an end of a pattern to the nodes that count.
pub(super) struct Branch<'e> {
    pub(super) from: Slot,
    pub(super) steps: Vec<Taken<'e>>,
}

/// A pattern of which the nodes in one place count.
pub(super) struct Within<'e> {
    places: Vec<Place<'e>>,
    pub(super) branches: Vec<Branch<'e>>,
}

impl<'e> Within<'e> {
    /// The pattern that operators look for, seen from a slot; `None` where it is none, or a larger one than a few chains.
    pub(super) fn of(op: &'e Op, slot: Slot) -> Option<Self> {
        let (mut places, mut steps, mut tests) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = op;
        loop {
            match at {
                Op::Filter { input, test, .. } => {
                    tests.push(test);
                    at = input;
                }
                Op::Expand { input, step, .. } if !step.closes => {
                    steps.push(step);
                    places.push(Place::new(step.to, &step.labels, Vec::new()));
                    at = input;
                }
                // Of numbers of paths it counts only whether there are any.
                Op::Tally { input, steps: taken, .. } => {
                    for tallied in taken.iter().rev() {
                        let (step, tests) = (&tallied.step, tallied.tests.iter().collect());
                        steps.push(step);
                        places.push(Place::new(step.to, &step.labels, tests));
                    }
                    at = input;
                }
                Op::Scan { input, slot, labels, seek, .. } if matches!(**input, Op::Argument) => {
                    places.push(Place { seeks: seek, ..Place::new(*slot, labels, Vec::new()) });
                    break;
                }
                _ => return None,
            }
        }
        if !steps.iter().all(|step| may_be_any(step, &steps)) {
            return None;
        }
        for test in tests {
            places.iter_mut().find(|place| cannot_fail(test, place.slot))?.tests.push(test);
        }
        let leaves = |from: Slot| steps.iter().filter(move |s| s.from == from || s.to == from);
        let mut branches = Vec::new();
        for step in leaves(slot) {
            // From the nodes that count outwards.
            let (mut outward, mut near, mut step): (Vec<Taken<'e>>, _, &'e Step) =
                (Vec::new(), slot, step);
            let from = loop {
                let (far, along) = match step.from == near {
                    true => (step.to, false),
                    false => (step.from, true),
                };
                let forward = match step.direction {
                    Direction::Forward => along,
                    Direction::Reverse => !along,
                    Direction::Undirected => return None,
                };
                outward.push(Taken { step, forward, to: near });
                let mut others = leaves(far).filter(|other| !std::ptr::eq(**other, step));
                match (others.next(), others.next()) {
                    (None, _) => break far,
                    (Some(next), None) => (near, step) = (far, *next),
                    (Some(_), Some(_)) => return None,
                }
            };
            outward.reverse();
            branches.push(Branch { from, steps: outward });
        }
        places.iter().any(|place| place.slot == slot).then_some(Self { places, branches })
    }

    /// What holds for the node in a slot.
    pub(super) fn place(&self, slot: Slot) -> Option<Place<'e>> {
        self.places.iter().find(|place| place.slot == slot).cloned()
    }
}

/// Whether a relationship is none of those of other steps that it must differ from, whichever it is.
fn may_be_any(step: &Step, steps: &[&Step]) -> bool {
    let apart = |other: &Step| {
        let shares = |kind| other.types.contains(kind);
        !step.types.is_empty() && !other.types.is_empty() && !step.types.iter().any(shares)
    };
    let of = |slot: &Slot| steps.iter().find(|other| other.rel == *slot);
    step.others.iter().all(|slot| of(slot).is_some_and(|other| apart(other)))
}
