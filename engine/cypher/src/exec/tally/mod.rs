//! How many paths lead to each node, step by step.

mod advance;
mod device;
mod few;
mod first;
mod within;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use graphlume_store::TallyWanted;
use graphlume_types::MemoryReservation;
use rayon::prelude::*;

use super::eval::set;
use super::expand::node_at;
use super::hash::Keyed;
use super::{Exec, Flow, Sink, Stop};
use crate::error::{Res, limit_error};
use crate::plan::{Ex, Op, OpId, Slot, Step, Tallied};
use crate::tuning::tuning;
use crate::value::Value;
use advance::{Advance, Before, Lists, Paths};

/// The part of all nodes up to which the nodes that are met are kept by hash.
const FEW_PART: u64 = 16;

/// What a count of paths comes to.
pub(super) enum Counted {
    /// Nodes in ascending order, each with the number of paths that lead to it; it is not zero.
    Each(Vec<(u32, u64)>),
    /// All paths, where nothing looks at their ends.
    Total(u64),
}

/// What is to be counted: the paths from the nodes of a scan along at least one step.
#[derive(Clone, Copy)]
pub(super) struct Tally<'p> {
    pub(super) id: OpId,
    pub(super) input: &'p Op,
    pub(super) from: Slot,
    pub(super) steps: &'p [Tallied],
    /// The ends are told apart where something looks at them. Of nodes that are not among the first by their number, where
    /// only those are wanted, some may be left out.
    pub(super) wanted: TallyWanted,
}

impl<'p> Tally<'p> {
    /// The nodes of a slot, each once, that the operators below `id` lead to.
    pub(super) const fn starts(id: OpId, input: &'p Op, from: Slot) -> Self {
        Self { id, input, from, steps: &[], wanted: TallyWanted::Starts }
    }

    /// The nodes of a slot that a scan gives, before any step.
    pub(super) const fn from(id: OpId, input: &'p Op, from: Slot) -> Self {
        Self { id, input, from, steps: &[], wanted: TallyWanted::Each }
    }

    /// The slot of the nodes that are counted.
    pub(super) fn ends_at(&self) -> Slot {
        self.steps.last().map_or(self.from, |tallied| tallied.step.to)
    }

    /// For an operator that counts paths, of which the first so many ends by their number are wanted, or all.
    pub(super) fn of(op: &'p Op, first: Option<u32>) -> Option<Self> {
        let Op::Tally { id, input, from, steps, ends, .. } = op else { return None };
        let wanted = match (*ends, first) {
            (false, _) => TallyWanted::Total,
            (true, None) => TallyWanted::Each,
            (true, Some(first)) => TallyWanted::First(first),
        };
        Some(Self { id: *id, input, from: *from, steps, wanted })
    }
}

fn too_many() -> Box<graphlume_expr::QueryError> {
    limit_error(format!("the pattern has more than {} matches", i64::MAX))
}

impl Exec<'_> {
    pub(super) fn tally(
        &self,
        of: &Tally<'_>,
        weight: Slot,
        row: &mut [Value],
        sink: &mut Sink<'_>,
    ) -> Flow {
        let int = |count| i64::try_from(count).map_err(|_| too_many());
        match self.counted(of, row)? {
            Counted::Total(0) => {}
            Counted::Total(count) => {
                set(row, weight, Value::int(int(count)?));
                sink(row)?;
            }
            Counted::Each(nodes) => {
                let Some(last) = of.steps.last() else { return Ok(()) };
                for (v, count) in nodes {
                    self.tick()?;
                    set(row, last.step.to, Value::Node(v));
                    set(row, weight, Value::int(int(count)?));
                    sink(row)?;
                }
            }
        }
        Ok(())
    }

    /// Counts the paths.
    pub(super) fn counted(&self, of: &Tally<'_>, row: &mut [Value]) -> Res<Counted> {
        if let Some(found) = self.counted_on_device(of) {
            return Ok(found);
        }
        self.cancelled()?;
        let Tally { input, from, steps, wanted, .. } = *of;
        let ends = wanted != TallyWanted::Total;
        let mut paths = self.starts(input, from, row)?;
        let mut before = Paths::default();
        let mut last: Option<&Step> = None;
        for (i, tallied) in steps.iter().enumerate() {
            let step = &tallied.step;
            let (view, none) = (self.view, None);
            let test = self.edge_test(step, None, row)?;
            let mut advance = Advance { view, paths: &paths, step, test, apart: none };
            let last_apart = last.filter(|_| tallied.apart);
            let to_few = match last_apart {
                None => self.gathered_at_few(&mut advance, tallied, row)?,
                Some(_) => None,
            };
            let many = to_few.is_none() && advance.is_beyond(self.hashed_edges());
            if many {
                advance.test = self.prepared_test(step)?;
            }
            if let Some(last) = last_apart {
                let test =
                    if many { self.prepared_test(last)? } else { self.edge_test(last, None, row)? };
                advance.apart = Some(Before { step: last, test, paths: &before });
            }
            let next = if advance.test.never() {
                Paths::default()
            } else if let Some(next) = to_few {
                next
            } else if !many {
                self.advanced_by_few(&advance, tallied, row)?
            } else {
                let tests: Vec<&Ex> = tallied.tests.iter().collect();
                let (marks, _) = self.mask(step.to, &step.labels, &tests, row)?;
                match advance.relation() {
                    Some(lists) if !ends && i + 1 == steps.len() => {
                        return self.total(&advance, lists, &marks).map(Counted::Total);
                    }
                    Some(lists) if !matches!(paths, Paths::Few(_)) => {
                        self.gathered(&advance, lists, &marks)?
                    }
                    _ => self.spread(&advance, &marks)?,
                }
            };
            before = std::mem::replace(&mut paths, next);
            last = Some(step);
        }
        let nodes = match wanted {
            TallyWanted::First(wanted) => paths.into_first(wanted),
            _ => paths.into_nodes(),
        };
        if ends {
            return Ok(Counted::Each(nodes));
        }
        let total = nodes.iter().fold(0u64, |sum, (_, paths)| sum.saturating_add(*paths));
        bounded(total).map(Counted::Total)
    }

    /// Relationships of one step up to which the nodes that are met are kept by hash.
    fn hashed_edges(&self) -> u64 {
        tuning().few_edges.max(u64::from(self.view.num_nodes()) / FEW_PART)
    }

    /// The nodes that paths begin at.
    fn starts(&self, input: &Op, from: Slot, row: &mut [Value]) -> Res<Paths> {
        let mut tests = Vec::new();
        if let Some(labels) = self.masked(input, &mut tests) {
            let hold = self.hold_all()?;
            let (marks, by_columns) = self.mask(from, labels, &tests, row)?;
            self.record(|r| {
                let starts = marks.iter().filter(|mark| **mark).count();
                r.as_one(input, starts as u64, by_columns);
            });
            return Ok(Paths::One(marks, hold));
        }
        let gather = |exec: &Exec<'_>, row: &mut [Value]| {
            let mut nodes = Vec::new();
            let result = exec.run(input, row, &mut |row| {
                nodes.extend(node_at(row, from)?.map(|v| (v, 1)));
                Ok(())
            });
            match result {
                Err(Stop::Failed(e)) => Err(e),
                _ => Ok(nodes),
            }
        };
        let mut nodes = match self.cut(input, row)? {
            None => gather(self, row)?,
            Some(cut) => self.share(cut, row, gather)?.concat(),
        };
        nodes.sort_unstable();
        Ok(Paths::Few(nodes))
    }

    /// The labels and the tests of the scan that paths begin at, where all nodes are tested at once.
    pub(super) fn masked<'o>(&self, input: &'o Op, tests: &mut Vec<&'o Ex>) -> Option<&'o [usize]> {
        let many = u64::from(self.view.num_nodes()) > tuning().few_edges;
        scanned(input, tests).filter(|_| many)
    }

    /// Accounts for a number and a mark of every node.
    fn hold_all(&self) -> Res<MemoryReservation> {
        let bytes = u64::from(self.view.num_nodes()) * (size_of::<u64>() + 1) as u64;
        self.cancel.hold(bytes).map_err(|e| Box::new(e.into()))
    }

    /// All paths that one more step makes, to marked nodes.
    fn total(&self, advance: &Advance<'_>, lists: Lists<'_>, marks: &[bool]) -> Res<u64> {
        let marked = |v: &u32| marks.get(*v as usize).copied().unwrap_or(false);
        let paths = advance.paths;
        let covered = lists.covered(marks.iter().copied(), false);
        let part = |v: u32, paths: u64| match paths {
            0 => 0,
            paths => {
                let all = lists.of(v, true);
                let ends =
                    if covered { all.len() } else { all.iter().filter(|v| marked(v)).count() };
                u128::from(paths) * ends as u128
            }
        };
        let nodes = self.view.num_nodes();
        let total: u128 = match paths {
            Paths::Few(nodes) => nodes.iter().map(|(v, paths)| part(*v, *paths)).sum(),
            Paths::All(all, _) if covered => {
                let degrees = all.iter().zip(lists.degrees(true));
                degrees.map(|(paths, degree)| u128::from(*paths) * u128::from(degree)).sum()
            }
            Paths::One(marks, _) if covered => {
                let degrees = marks.iter().zip(lists.degrees(true));
                degrees.map(|(mark, degree)| u128::from(u32::from(*mark) * degree)).sum()
            }
            _ => {
                let nodes = (0..nodes).into_par_iter().with_min_len(tuning().tally_nodes_at_once);
                nodes.map(|v| part(v, paths.to(v))).sum()
            }
        };
        let loops = lists.relation.loops().iter().filter(|(v, _)| marked(v));
        let looped: u128 = loops.map(|l| u128::from(advance.looped(*l))).sum();
        self.cancelled()?;
        bounded(u64::try_from(total.saturating_sub(looped)).unwrap_or(u64::MAX))
    }

    /// The paths to marked nodes, each of which asks where its relationships come from.
    fn gathered(&self, advance: &Advance<'_>, lists: Lists<'_>, marks: &[bool]) -> Res<Paths> {
        let hold = self.hold_all()?;
        let paths = advance.paths;
        // Where a single path ends at each node that the relation leaves, degrees are numbers of paths.
        let single = paths.single();
        let single = single.is_some_and(|marks| lists.covered(marks.iter().copied(), true));
        let mut next: Vec<u64> = if single {
            let degrees = lists.degrees(false).zip(marks);
            degrees.map(|(degree, mark)| if *mark { u64::from(degree) } else { 0 }).collect()
        } else {
            let sum = |v: u32| {
                let from = lists.of(v, false).iter().map(|from| paths.to(*from));
                from.fold(0u64, u64::saturating_add)
            };
            let marked = marks.par_iter().enumerate().with_min_len(tuning().tally_nodes_at_once);
            marked.map(|(v, mark)| if *mark { sum(v as u32) } else { 0 }).collect()
        };
        for (v, loops) in lists.relation.loops() {
            let looped = advance.looped((*v, *loops));
            if let Some(paths) = next.get_mut(*v as usize) {
                *paths = paths.saturating_sub(looped);
            }
        }
        self.cancelled()?;
        // Bit by bit, without an end on the way: as fast as memory, wherever the loop lies.
        let all = next.iter().fold(0, |all, paths| all | paths);
        if i64::try_from(all).is_err() {
            return Err(too_many());
        }
        Ok(Paths::of_all(next, hold))
    }

    /// The paths to marked nodes, added up wherever paths go on to.
    fn spread(&self, advance: &Advance<'_>, marks: &[bool]) -> Res<Paths> {
        let hold = self.hold_all()?;
        let counts: Vec<AtomicU64> = marks.iter().map(|_| AtomicU64::new(0)).collect();
        let spread = |exec: &Exec<'_>, node: (u32, u64)| {
            let flow = advance.from(exec, node, |to, paths| {
                let marked = marks.get(to as usize).copied().unwrap_or(false);
                let Some(count) = counts.get(to as usize).filter(|_| marked) else { return Ok(()) };
                // Neither addend has the highest bit, so that the sum is seen before it wraps.
                let sum = count.fetch_add(paths, Ordering::Relaxed).saturating_add(paths);
                if i64::try_from(sum).is_err() { Err(too_many().into()) } else { Ok(()) }
            });
            match flow {
                Err(Stop::Failed(e)) => Err(e),
                _ => Ok(()),
            }
        };
        let shared = self.shared;
        if let Paths::Few(nodes) = advance.paths {
            nodes.par_chunks(tuning().tally_nodes_at_once).try_for_each(|nodes| {
                shared.cancelled()?;
                let exec = Exec::new(shared, None);
                nodes.iter().try_for_each(|node| spread(&exec, *node))
            })?;
        } else {
            let nodes = self.view.num_nodes() as usize;
            (0..nodes.div_ceil(tuning().tally_nodes_at_once)).into_par_iter().try_for_each(
                |chunk| {
                    shared.cancelled()?;
                    let exec = Exec::new(shared, None);
                    let from = chunk * tuning().tally_nodes_at_once;
                    for v in from..nodes.min(from + tuning().tally_nodes_at_once) {
                        let paths = advance.paths.to(v as u32);
                        if paths > 0 {
                            spread(&exec, (v as u32, paths))?;
                        }
                    }
                    Res::Ok(())
                },
            )?;
        }
        Ok(Paths::of_all(counts.into_iter().map(AtomicU64::into_inner).collect(), hold))
    }

    fn advanced_by_few(
        &self,
        advance: &Advance<'_>,
        to: &Tallied,
        row: &mut [Value],
    ) -> Res<Paths> {
        let mut counts: HashMap<u32, u64, Keyed> = HashMap::default();
        let mut add = |node: (u32, u64)| {
            let flow = advance.from(self, node, |to, paths| {
                self.tick()?;
                let count = counts.entry(to).or_default();
                *count = count.saturating_add(paths);
                if i64::try_from(*count).is_err() { Err(too_many().into()) } else { Ok(()) }
            });
            match flow {
                Err(Stop::Failed(e)) => Err(e),
                _ => Ok(()),
            }
        };
        match advance.paths {
            Paths::One(marks, _) => {
                let some = (0..).zip(&**marks).filter(|(_, mark)| **mark);
                some.map(|(v, _)| (v, 1)).try_for_each(add)?;
            }
            Paths::Few(nodes) => nodes.iter().try_for_each(|node| add(*node))?,
            Paths::All(all, _) => {
                let some = (0..).zip(all).filter(|(_, paths)| **paths > 0);
                some.map(|(v, paths)| (v, *paths)).try_for_each(add)?;
            }
        }
        let mut nodes = Vec::with_capacity(counts.len());
        for (v, count) in counts {
            if self.meets(v, to, row)? {
                nodes.push((v, count));
            }
        }
        nodes.sort_unstable();
        Ok(Paths::Few(nodes))
    }

    /// Whether a node is one that a step may end at.
    fn meets(&self, v: u32, to: &Tallied, row: &mut [Value]) -> Res<bool> {
        if !self.has_labels(v, &to.step.labels) {
            return Ok(false);
        }
        set(row, to.step.to, Value::Node(v));
        for test in &to.tests {
            if self.test(test, row)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn bounded(paths: u64) -> Res<u64> {
    if i64::try_from(paths).is_err() { Err(too_many()) } else { Ok(paths) }
}

/// The labels and the tests of a scan of all nodes.
fn scanned<'o>(input: &'o Op, tests: &mut Vec<&'o Ex>) -> Option<&'o [usize]> {
    match input {
        Op::Filter { input, test, .. } => {
            let labels = scanned(input, tests)?;
            tests.push(test);
            Some(labels)
        }
        Op::Scan { input, labels, seek, .. } if matches!(**input, Op::Argument) => {
            seek.is_empty().then_some(labels)
        }
        _ => None,
    }
}
