//! Paths to the few nodes that a relation leads to: what is looked at is these nodes, not all.

use graphlume_graph::Direction;
use rayon::prelude::*;

use super::advance::{Advance, Lists, Paths};
use super::too_many;
use crate::error::Res;
use crate::exec::Exec;
use crate::exec::relation::Relation;
use crate::plan::Tallied;
use crate::tuning::tuning;
use crate::value::Value;

/// Nodes at the far end of a relation that are looked at in the time that it takes to keep one by hash.
const ENDS_PER_HASH: u64 = 16;

impl Exec<'_> {
    /// The paths that one more step makes along a relation that leads to few nodes, those with paths in ascending order;
    /// `None` where it leads to many, or where the paths have so few relationships to follow that looking at all its
    /// ends costs more.
    pub(super) fn gathered_at_few(
        &self,
        advance: &mut Advance<'_>,
        to: &Tallied,
        row: &mut [Value],
    ) -> Res<Option<Paths>> {
        self.prepare_often(advance)?;
        let Some(lists) = advance.relation() else { return Ok(None) };
        let Some(ends) = lists.relation.listed(!lists.out) else { return Ok(None) };
        let pays = match advance.paths {
            Paths::Few(_) => advance.is_beyond(ends.len() as u64 / ENDS_PER_HASH),
            // All nodes were looked at before, and as many relationships take no longer.
            _ => {
                let (edges, nodes) = (lists.relation.topology().num_edges(), self.view.num_nodes());
                edges <= nodes.saturating_mul(2) || advance.is_beyond(self.hashed_edges())
            }
        };
        let (Some(first), true) = (ends.first(), pays && lists.relation.loops().is_empty()) else {
            return Ok(None);
        };
        let bytes = ends.len() * size_of::<(u32, u64)>();
        let _held = self.cancel.hold(bytes as u64).map_err(|e| Box::new(e.into()))?;
        let sums = match advance.paths {
            Paths::Few(from) => match self.carried(from, lists, (*first, ends))? {
                Some(sums) => sums,
                None => return Ok(None),
            },
            from => {
                let sum = |v: &u32| {
                    let paths = lists.of(*v, false).iter().map(|v| from.to(*v));
                    paths.fold(0u64, u64::saturating_add)
                };
                ends.par_iter().with_min_len(tuning().tally_ends_at_once).map(sum).collect()
            }
        };
        self.cancelled()?;
        let out = advance.step.direction == Direction::Reverse;
        let all = to.tests.is_empty() && self.ends_have(lists.relation, &to.step, out);
        let mut nodes = Vec::new();
        for (v, paths) in ends.iter().zip(sums).filter(|(_, paths)| *paths > 0) {
            self.tick()?;
            if i64::try_from(paths).is_err() {
                return Err(too_many());
            }
            if all || self.meets(*v, to, row)? {
                nodes.push((*v, paths));
            }
        }
        Ok(Some(Paths::Few(nodes)))
    }

    /// Gives the step adjacency of its types' own where it was taken along many relationships often enough.
    fn prepare_often(&self, advance: &mut Advance<'_>) -> Res<()> {
        let step = advance.step;
        if advance.test.relation().is_none()
            && !advance.test.never()
            && !step.types.is_empty()
            && advance.is_beyond(tuning().few_edges)
            && Relation::is_due(self.view, &self.type_words(&step.types), self.cancel)
        {
            advance.test = self.prepared_test(step)?;
        }
        Ok(())
    }

    /// The paths of few nodes carried to the ends of their relationships; `None` where these lie far apart.
    fn carried(
        &self,
        from: &[(u32, u64)],
        lists: Lists<'_>,
        (first, ends): (u32, &[u32]),
    ) -> Res<Option<Vec<u64>>> {
        let span = ends.last().map_or(0, |last| (last - first) as usize + 1);
        if span > ends.len().saturating_mul(ENDS_PER_HASH as usize) {
            return Ok(None);
        }
        let bytes = span * size_of::<u64>();
        let _held = self.cancel.hold(bytes as u64).map_err(|e| Box::new(e.into()))?;
        let mut sums = vec![0u64; span];
        for (v, paths) in from {
            let list = lists.of(*v, true);
            self.tick_by(list.len() as u32)?;
            for to in list {
                if let Some(sum) = sums.get_mut(to.wrapping_sub(first) as usize) {
                    *sum = sum.saturating_add(*paths);
                }
            }
        }
        let sum = |v: &u32| sums.get(v.wrapping_sub(first) as usize).copied().unwrap_or(0);
        Ok(Some(ends.iter().map(sum).collect()))
    }
}
