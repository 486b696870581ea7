//! Grouping and aggregates.

use super::coder::{Coder, Index, Joint};
use super::eval::set;
use super::groups::Groups;
use super::numbers::Numbers;
use super::parallel::Cut;
use super::recorder::Way;
use super::tally::{Counted, Tally};
use super::{Exec, Flow, Sink, Stop};
use crate::error::Res;
use crate::plan::{Agg, AggKind, Ex, Op, OpId, Slot};
use crate::row_buffer::Column;
use crate::value::Value;

/// Groups, with what their values are found by.
pub(super) struct Grouped<'p> {
    keys: &'p [(Slot, Ex)],
    aggs: &'p [Agg],
    groups: Held,
}

/// How groups are held.
enum Held {
    Values(Groups),
    /// The keys follow from the node in a slot, which alone is held, or stands for all with its value.
    Nodes(Slot, Groups),
    /// The same where all aggregates are the number of paths to the node.
    Paths(Slot, Vec<(u32, u64)>),
    /// One group, whose only aggregate is this number.
    Number(u64),
}

impl Grouped<'_> {
    pub(super) fn len(&self) -> usize {
        match &self.groups {
            Held::Values(groups) | Held::Nodes(_, groups) => groups.len(),
            Held::Paths(_, nodes) => nodes.len(),
            Held::Number(_) => 1,
        }
    }

    /// The result of an aggregate of a group.
    fn result(&self, group: usize, agg: usize) -> Res<Value> {
        match &self.groups {
            Held::Values(groups) | Held::Nodes(_, groups) => {
                match groups.cells(group).get(agg).zip(self.aggs.get(agg)) {
                    Some((cell, agg)) => cell.result(agg),
                    None => Ok(Value::NULL),
                }
            }
            Held::Paths(_, nodes) => {
                let paths = nodes.get(group).map_or(0, |n| n.1);
                // More were refused.
                Ok(Value::int(i64::try_from(paths).unwrap_or(i64::MAX)))
            }
            Held::Number(number) => Ok(Value::int(i64::try_from(*number).unwrap_or(i64::MAX))),
        }
    }
}

/// The slot of a node that is bound by the operators and from which all keys follow: one of them is the node
/// itself or its id.
fn determining(exec: &Exec<'_>, keys: &[(Slot, Ex)], input: &Op) -> Option<Slot> {
    let mut node = None;
    let mut known = false;
    for (_, key) in keys {
        let (slot, own) = match key {
            Ex::Slot(slot) => (*slot, true),
            Ex::Prop(base, key) => match base.as_ref() {
                Ex::Slot(slot) => {
                    (*slot, exec.keys.get(*key).is_some_and(|k| exec.view.is_id(&k.name)))
                }
                _ => return None,
            },
            _ => return None,
        };
        if *node.get_or_insert(slot) != slot {
            return None;
        }
        known |= own;
    }
    node.filter(|node| known && binds_node(input, *node))
}

/// Whether the operators put a node into a slot for each row.
pub(super) fn binds_node(op: &Op, slot: Slot) -> bool {
    let here = match op {
        Op::Scan { slot: own, .. } => *own == slot,
        Op::Expand { step, .. } => step.to == slot && !step.closes,
        Op::Tally { steps, ends, .. } => {
            return *ends && steps.last().is_some_and(|t| t.step.to == slot);
        }
        Op::Filter { .. } | Op::Check { .. } | Op::VarExpand { .. } | Op::Path { .. } => false,
        _ => return false,
    };
    here || op.input().is_some_and(|input| binds_node(input, slot))
}

/// The keys of a grouping, and the numbers of the values for which a node that is the key stands.
type Keys<'k> = (&'k [(Slot, Ex)], Option<&'k Numbers>);

/// Groups that rows are put into.
pub(super) struct Grouper<'p> {
    keys: &'p [(Slot, Ex)],
    pub(super) aggs: &'p [Agg],
    coders: Vec<Coder<'p>>,
    joint: Joint,
    codes: Vec<u32>,
    pub(super) groups: Groups,
}

impl<'p> Grouper<'p> {
    pub(super) fn new(
        exec: &Exec<'_>,
        keys: &'p [(Slot, Ex)],
        numbers: Option<&Numbers>,
        aggs: &'p [Agg],
    ) -> Self {
        let mut groups = Groups::new(keys.len(), aggs.len());
        if keys.is_empty() {
            groups.add(std::iter::empty(), aggs);
        }
        let nodes = exec.view.num_nodes() as usize;
        let coder = |e| Coder::new(e, nodes).numbered(numbers.cloned());
        let coders = keys.iter().map(|(_, e)| coder(e)).collect();
        let codes = Vec::with_capacity(keys.len());
        Self { keys, aggs, coders, joint: Joint::new(keys.len()), codes, groups }
    }

    /// The group of a row.
    pub(super) fn group(&mut self, exec: &Exec<'_>, row: &mut [Value]) -> Res<usize> {
        self.codes.clear();
        for coder in &mut self.coders {
            self.codes.push(coder.code(exec, row)?);
        }
        let (group, new) = self.joint.group(&self.codes);
        if new && !self.keys.is_empty() {
            exec.hold(self.groups.len(), self.keys.len() + self.aggs.len())?;
            let values = self.coders.iter().zip(&self.codes).map(|(c, code)| c.value(*code));
            self.groups.add(values, self.aggs);
        }
        Ok(group)
    }

    pub(super) fn feed(&mut self, exec: &Exec<'_>, row: &mut [Value]) -> Flow {
        exec.tick()?;
        let group = self.group(exec, row)?;
        for (agg, cell) in self.aggs.iter().zip(self.groups.cells_mut(group)) {
            cell.feed(exec, agg, row)?;
        }
        Ok(())
    }
}

/// The slot whose nodes are counted, each once, where that is all that is asked of a pattern.
pub(super) fn nodes_counted(keys: &[(Slot, Ex)], aggs: &[Agg], input: &Op) -> Option<Slot> {
    let (true, [agg]) = (keys.is_empty(), aggs) else { return None };
    let Some(Ex::Slot(slot)) = agg.arg else { return None };
    let counts = agg.kind == AggKind::Count && agg.distinct;
    (counts && is_walked(input) && binds_node(input, slot)).then_some(slot)
}

/// Whether rows are made by steps from node to node.
fn is_walked(op: &Op) -> bool {
    match op {
        Op::Expand { .. } | Op::Tally { .. } => true,
        Op::Filter { input, .. } => is_walked(input),
        _ => false,
    }
}

/// Whether an aggregate is the number of paths.
fn counts_paths(agg: &Agg) -> bool {
    agg.kind == AggKind::CountRows && agg.weight.is_some()
}

impl Exec<'_> {
    /// The number of nodes that [`nodes_counted`] is about, where the GPU counts them.
    fn nodes_on_device(
        &self,
        (id, input): (OpId, &Op),
        keys: &[(Slot, Ex)],
        aggs: &[Agg],
    ) -> Option<u64> {
        let slot = nodes_counted(keys, aggs, input).filter(|_| self.part.is_none())?;
        self.starts_on_device(id, input, slot)
    }

    /// Whether groups are nodes with the number of paths that lead to them.
    pub(super) fn is_by_paths(&self, keys: &[(Slot, Ex)], aggs: &[Agg], input: &Op) -> bool {
        determining(self, keys, input).is_some() && aggs.iter().all(counts_paths)
    }

    pub(super) fn aggregate(
        &self,
        of: (OpId, &Op),
        keys: &[(Slot, Ex)],
        aggs: &[Agg],
        row: &mut [Value],
        sink: &mut Sink<'_>,
    ) -> Flow {
        let grouped = self.grouping(of, keys, (aggs, None), row)?;
        for group in 0..grouped.len() {
            self.tick()?;
            self.put_group(&grouped, group, row)?;
            sink(row)?;
        }
        Ok(())
    }

    /// The groups of the rows of an operator's input. Where only the first so many by the number of paths are wanted, others may be
    /// left out.
    pub(super) fn grouping<'p>(
        &self,
        (id, input): (OpId, &Op),
        keys: &'p [(Slot, Ex)],
        (aggs, first): (&'p [Agg], Option<u32>),
        row: &mut [Value],
    ) -> Res<Grouped<'p>> {
        let node = determining(self, keys, input);
        if let (Some(node), Some(tally)) = (node, Tally::of(input, first))
            && aggs.iter().all(counts_paths)
            && let Counted::Each(nodes) = self.counted(&tally, row)?
        {
            self.hold(nodes.len(), nodes.len())?;
            self.record(|r| r.ran(Some(tally.id), nodes.len() as u64));
            return Ok(Grouped { keys, aggs, groups: Held::Paths(node, nodes) });
        }
        if let Some(number) = self.nodes_on_device((id, input), keys, aggs) {
            return Ok(Grouped { keys, aggs, groups: Held::Number(number) });
        }
        if let Some(groups) = self.summed_on_device((id, input), keys, aggs, row)? {
            return Ok(Grouped { keys, aggs, groups: Held::Values(groups) });
        }
        if let Some(groups) = self.folded((id, input), keys, aggs, row)? {
            self.record(|r| r.took(Some(id), Way::Columns));
            return Ok(Grouped { keys, aggs, groups: Held::Values(groups) });
        }
        let numbered = || self.numbered(keys, input).map(|(node, numbers)| (node, Some(numbers)));
        let groups = match node.map(|node| (node, None)).or_else(numbered) {
            Some((node, numbers)) => {
                let key = [(node, Ex::Slot(node))];
                Held::Nodes(node, self.grouped_by(input, (&key, numbers.as_ref()), aggs, row)?)
            }
            None => Held::Values(self.grouped_by(input, (keys, None), aggs, row)?),
        };
        Ok(Grouped { keys, aggs, groups })
    }

    fn grouped_by(
        &self,
        input: &Op,
        keys: Keys<'_>,
        aggs: &[Agg],
        row: &mut [Value],
    ) -> Res<Groups> {
        // What DISTINCT has seen in one part cannot be told from another, but for the nodes by which the parts
        // are made: no two have one in common.
        let apart = |slot: Slot| {
            let own = |a: &Agg| matches!(&a.arg, Some(Ex::Slot(s)) if *s == slot);
            aggs.iter().all(|a| !a.distinct || own(a))
        };
        let cut = self.cut(input, row)?.filter(|cut| match cut {
            Cut::Nodes(slot) => apart(*slot),
            Cut::Rows(_) => aggs.iter().all(|a| !a.distinct),
        });
        match cut {
            None => self.grouped(input, keys, aggs, row),
            Some(cut) => {
                let parts =
                    self.share(cut, row, |exec, row| exec.grouped(input, keys, aggs, row))?;
                self.merged(parts, keys, aggs)
            }
        }
    }

    /// Puts the values of a group into the row.
    pub(super) fn put_group(
        &self,
        grouped: &Grouped<'_>,
        group: usize,
        row: &mut [Value],
    ) -> Res<()> {
        for (i, (slot, _)) in grouped.keys.iter().enumerate() {
            let value = self.group_key(grouped, group, i, row)?;
            set(row, *slot, value);
        }
        for (i, agg) in grouped.aggs.iter().enumerate() {
            set(row, agg.slot, grouped.result(group, i)?);
        }
        Ok(())
    }

    /// The value of a key of a group.
    fn group_key(
        &self,
        grouped: &Grouped<'_>,
        group: usize,
        key: usize,
        row: &mut [Value],
    ) -> Res<Value> {
        let (slot, node) = match &grouped.groups {
            Held::Values(groups) => {
                return Ok(groups.key(group).get(key).cloned().unwrap_or_default());
            }
            Held::Nodes(slot, groups) => (*slot, groups.key(group).first().cloned()),
            Held::Paths(slot, nodes) => (*slot, nodes.get(group).map(|n| Value::Node(n.0))),
            Held::Number(_) => return Ok(Value::NULL),
        };
        set(row, slot, node.unwrap_or_default());
        grouped.keys.get(key).map_or(Ok(Value::NULL), |(_, key)| self.eval(key, row))
    }

    /// The groups that may be among the first `wanted` by a sort key and others behind it, in their order.
    pub(super) fn best_groups(
        &self,
        grouped: &Grouped<'_>,
        (key, down): (&Ex, bool),
        wanted: usize,
        row: &mut [Value],
    ) -> Res<Vec<usize>> {
        let all = 0..grouped.len();
        let Some(last) = wanted.checked_sub(1).filter(|last| *last < all.len()) else {
            return Ok(all.collect());
        };
        let mut values = Column::Empty;
        for group in all.clone() {
            self.tick()?;
            self.hold(0, 1)?;
            values.push(&self.sort_value(grouped, group, key, row)?);
        }
        let order = |a: &usize, b: &usize| {
            let order = values.compare(*a, *b);
            if down { order.reverse() } else { order }
        };
        let mut groups: Vec<usize> = all.clone().collect();
        let worst = *groups.select_nth_unstable_by(last, order).1;
        Ok(all.filter(|group| order(group, &worst).is_le()).collect())
    }

    /// A sort key of a group, without values that it does not need.
    fn sort_value(
        &self,
        grouped: &Grouped<'_>,
        group: usize,
        key: &Ex,
        row: &mut [Value],
    ) -> Res<Value> {
        if let Ex::Slot(slot) = key {
            if let Some(agg) = grouped.aggs.iter().position(|a| a.slot == *slot) {
                return grouped.result(group, agg);
            }
            if let Some(key) = grouped.keys.iter().position(|(s, _)| s == slot) {
                return self.group_key(grouped, group, key, row);
            }
        }
        self.put_group(grouped, group, row)?;
        self.eval(key, row)
    }

    fn grouped(&self, input: &Op, keys: Keys<'_>, aggs: &[Agg], row: &mut [Value]) -> Res<Groups> {
        let mut grouper = Grouper::new(self, keys.0, keys.1, aggs);
        let result = match self.last_step(input, keys.0, aggs) {
            Some(last) if self.recorder.is_some() => {
                self.grouped_ends::<true>(&last, &mut grouper, row)
            }
            Some(last) => self.grouped_ends::<false>(&last, &mut grouper, row),
            None => self.run(input, row, &mut |row| grouper.feed(self, row)),
        };
        match result {
            Err(Stop::Failed(e)) => Err(e),
            _ => Ok(grouper.groups),
        }
    }

    /// Puts groups of several parts together, in the order of the parts.
    fn merged(
        &self,
        mut parts: Vec<Groups>,
        (keys, numbers): Keys<'_>,
        aggs: &[Agg],
    ) -> Res<Groups> {
        if parts.len() == 1
            && let Some(one) = parts.pop()
        {
            return Ok(one);
        }
        let mut all = Groups::new(keys.len(), aggs.len());
        let mut index = Index::new(numbers.cloned());
        for part in parts {
            for (key, cells) in part.into_groups() {
                self.tick()?;
                let group = match index.find(&key) {
                    Some(group) => group,
                    None => {
                        self.hold(all.len(), keys.len() + aggs.len())?;
                        let group = all.add(key.iter().cloned(), aggs);
                        index.insert(&key, group);
                        group
                    }
                };
                for ((agg, cell), more) in aggs.iter().zip(all.cells_mut(group)).zip(cells) {
                    cell.merge(self, agg, more)?;
                }
            }
        }
        Ok(all)
    }
}
