//! The first rows by a number, found by columns.

use std::sync::Arc;

use graphlume_expr::{Unfit, best};

use super::Pipeline;
use crate::error::Res;
use crate::exec::Exec;
use crate::plan::{Ex, Op};

/// The part of all rows that may be wanted for this to pay.
const WANTED_PART: usize = 8;

impl Exec<'_> {
    /// Marks the rows of one table that may be among the first `wanted` by a key, so that a sort makes no others.
    pub(in crate::exec) fn select_best(
        &self,
        input: &Op,
        (key, down): (&Ex, bool),
        wanted: usize,
    ) -> Res<()> {
        let Some(pipeline) = Pipeline::of(input).filter(|_| self.by_columns && self.part.is_none())
        else {
            return Ok(());
        };
        let place = std::ptr::from_ref(pipeline.base) as usize;
        let rows = self.table_rows(&pipeline).filter(|rows| wanted <= rows / WANTED_PART);
        let parts = (self.compiled_number(&pipeline, key), self.all_tests(&pipeline));
        let (Some(rows), (Some(key), Some(test))) = (rows, parts) else { return Ok(()) };
        match best(test.as_ref(), (&key, down), wanted, rows, self.cancel) {
            Ok(found) => self.put_selected(place, Some(Arc::new(found))),
            Err(Unfit::Cancelled) => return self.cancelled(),
            Err(Unfit::Value) => {}
        }
        Ok(())
    }
}
