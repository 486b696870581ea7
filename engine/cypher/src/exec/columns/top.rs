//! The first rows by a number, found by columns.

use std::sync::Arc;

use graphlume_expr::{Number, Test, Unfit, best};

use super::Pipeline;
use crate::error::Res;
use crate::exec::Exec;
use crate::plan::{Ex, Op, OpId};

/// The part of all rows that may be wanted for this to pay.
const WANTED_PART: usize = 8;

/// The first rows of one table by a number.
struct Wanted<'e> {
    place: OpId,
    rows: usize,
    key: Number<'e>,
    test: Option<Test<'e>>,
}

impl Exec<'_> {
    /// Whether [`Self::select_best`] marks the first rows, unless it meets one that has no value.
    pub(in crate::exec) fn selects_best(&self, input: &Op, key: &Ex, wanted: usize) -> bool {
        self.wanted(input, key, wanted).is_some()
    }

    fn wanted<'e>(&'e self, input: &'e Op, key: &'e Ex, wanted: usize) -> Option<Wanted<'e>> {
        let pipeline = Pipeline::of(input).filter(|_| self.by_columns && self.part.is_none())?;
        let rows = self.table_rows(&pipeline).filter(|rows| wanted <= rows / WANTED_PART)?;
        let (key, test) = (self.compiled_number(&pipeline, key)?, self.all_tests(&pipeline)?);
        Some(Wanted { place: pipeline.base.id()?, rows, key, test })
    }

    /// Marks the rows of one table that may be among the first `wanted` by a key, so that a sort makes no others.
    pub(in crate::exec) fn select_best(
        &self,
        input: &Op,
        (key, down): (&Ex, bool),
        wanted: usize,
    ) -> Res<()> {
        let Some(Wanted { place, rows, key, test }) = self.wanted(input, key, wanted) else {
            return Ok(());
        };
        match best(test.as_ref(), (&key, down), wanted, rows, self.cancel) {
            Ok(found) => self.put_selected(place, Some(Arc::new(found))),
            Err(Unfit::Cancelled) => return self.cancelled(),
            Err(Unfit::Value) => {}
        }
        Ok(())
    }
}
