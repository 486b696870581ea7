//! Grouping and aggregates.

use super::eval::set;
use super::groups::{Coder, Groups, Joint};
use super::{Exec, Flow, Sink, Stop};
use crate::error::Res;
use crate::plan::{Agg, Ex, Op, Slot};
use crate::value::Value;

impl Exec<'_> {
    pub(super) fn aggregate(
        &self,
        input: &Op,
        keys: &[(Slot, Ex)],
        aggs: &[Agg],
        row: &mut [Value],
        sink: &mut Sink<'_>,
    ) -> Flow {
        // What DISTINCT has seen in one part cannot be told from another.
        let shares = if aggs.iter().any(|a| a.distinct) { None } else { self.shares(input) };
        let groups = match shares {
            None => self.grouped(input, keys, aggs, row)?,
            Some(shares) => {
                let parts =
                    self.share(shares, row, |exec, row| exec.grouped(input, keys, aggs, row))?;
                self.merged(parts, keys, aggs)?
            }
        };
        for group in 0..groups.len() {
            self.tick()?;
            for ((slot, _), value) in keys.iter().zip(groups.key(group)) {
                set(row, *slot, value.clone());
            }
            for (agg, cell) in aggs.iter().zip(groups.cells(group)) {
                set(row, agg.slot, cell.result(agg)?);
            }
            sink(row)?;
        }
        Ok(())
    }

    fn grouped(
        &self,
        input: &Op,
        keys: &[(Slot, Ex)],
        aggs: &[Agg],
        row: &mut [Value],
    ) -> Res<Groups> {
        let mut groups = Groups::new(keys.len(), aggs.len());
        if keys.is_empty() {
            groups.add(std::iter::empty(), aggs);
        }
        let nodes = self.view.num_nodes() as usize;
        let mut coders: Vec<Coder<'_>> = keys.iter().map(|(_, e)| Coder::new(e, nodes)).collect();
        let mut joint = Joint::new(keys.len());
        let mut codes = Vec::with_capacity(keys.len());
        let result = self.run(input, row, &mut |row| {
            self.tick()?;
            codes.clear();
            for coder in &mut coders {
                codes.push(coder.code(self, row)?);
            }
            let (group, new) = joint.group(&codes);
            if new && !keys.is_empty() {
                self.hold(groups.len(), keys.len() + aggs.len())?;
                let values = coders.iter().zip(&codes).map(|(c, code)| c.value(*code));
                groups.add(values, aggs);
            }
            for (agg, cell) in aggs.iter().zip(groups.cells_mut(group)) {
                cell.feed(self, agg, row)?;
            }
            Ok(())
        });
        match result {
            Err(Stop::Failed(e)) => Err(e),
            _ => Ok(groups),
        }
    }

    /// Puts groups of several parts together, in the order of the parts.
    fn merged(&self, parts: Vec<Groups>, keys: &[(Slot, Ex)], aggs: &[Agg]) -> Res<Groups> {
        let mut all = Groups::new(keys.len(), aggs.len());
        let mut index = super::groups::Index::default();
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
