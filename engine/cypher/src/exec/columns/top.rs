//! The first rows by a number, found by columns.

use std::sync::Arc;

use graphlume_expr::{Blocks, Number, Test, Unfit, best, best_of_blocks};

use super::Pipeline;
use crate::error::Res;
use crate::exec::Exec;
use crate::plan::{Ex, Op, OpId};

/// The part of all rows that may be wanted for this to pay.
const WANTED_PART: usize = 8;

/// Rows from which on the least and greatest number of each block pay.
const ROWS_MIN: usize = if cfg!(test) { 2 } else { 1 << 17 };

/// The first rows of one table by a number.
struct Wanted<'e> {
    place: OpId,
    rows: usize,
    key: Number<'e>,
    test: Option<Test<'e>>,
    /// The name that the column has among what is kept with the graph, where the number is one.
    column: Option<String>,
}

impl Exec<'_> {
    /// Whether [`Self::select_best`] marks the first rows, unless it meets one that has no value.
    pub(in crate::exec) fn selects_best(&self, input: &Op, key: &Ex, wanted: usize) -> bool {
        self.wanted(input, key, wanted).is_some()
    }

    fn wanted<'e>(&'e self, input: &'e Op, key: &'e Ex, wanted: usize) -> Option<Wanted<'e>> {
        let pipeline = Pipeline::of(input).filter(|_| self.by_columns && self.part.is_none())?;
        let rows = self.table_rows(&pipeline).filter(|rows| wanted <= rows / WANTED_PART)?;
        let (key, key_of) = (self.compiled_number(&pipeline, key)?, key);
        let test = self.all_tests(&pipeline)?;
        let column = self.column_name(&pipeline, key_of);
        Some(Wanted { place: pipeline.base.id()?, rows, key, test, column })
    }

    /// A name for the column that an expression reads, which no other column of the graph has.
    fn column_name<'e>(&'e self, pipeline: &Pipeline<'e>, e: &'e Ex) -> Option<String> {
        match e {
            Ex::Slot(slot) => self.column_name(pipeline, pipeline.item(*slot)?),
            Ex::Plus(a) => self.column_name(pipeline, a),
            Ex::Prop(_, key) => {
                let side = if pipeline.slot().1 { "edges" } else { "nodes" };
                Some(format!("{side} {:?}", self.keys.get(*key)?.name))
            }
            _ => None,
        }
    }

    /// The least and greatest number of each block of a column, read at the first sort by it and kept with the graph.
    fn blocks(&self, wanted: &Wanted<'_>) -> Result<Option<Arc<Blocks>>, Unfit> {
        let column = wanted.column.as_deref().filter(|_| wanted.rows >= ROWS_MIN);
        // A test that fails at a row must be made of all rows.
        let total = wanted.test.as_ref().is_none_or(Test::is_total);
        let Some(column) = column.filter(|_| total) else { return Ok(None) };
        let (graph, name) = (self.view.graph(), format!("blocks of {column}"));
        if let Some(found) = graph.kept(&name) {
            return Ok(Some(found));
        }
        if !graph.is_due(&name, 1, self.cancel) {
            return Ok(None);
        }
        let Some(made) = Blocks::new(&wanted.key, self.cancel)?.map(Arc::new) else {
            return Ok(None);
        };
        graph.keep(&name, &made, made.bytes(), self.cancel);
        Ok(Some(made))
    }

    /// Marks the rows of one table that may be among the first `wanted` by a key, so that a sort makes no others.
    pub(in crate::exec) fn select_best(
        &self,
        input: &Op,
        (key, down): (&Ex, bool),
        wanted: usize,
    ) -> Res<()> {
        let Some(of) = self.wanted(input, key, wanted) else { return Ok(()) };
        let (test, rows) = (of.test.as_ref(), of.rows);
        let found = self.blocks(&of).and_then(|blocks| match blocks {
            Some(blocks) => {
                best_of_blocks(test, (&of.key, &blocks, down), wanted, rows, self.cancel)
            }
            None => best(test, (&of.key, down), wanted, rows, self.cancel),
        });
        match found {
            Ok(found) => self.put_selected(of.place, Some(Arc::new(found))),
            Err(Unfit::Cancelled) => return self.cancelled(),
            Err(Unfit::Value) => {}
        }
        Ok(())
    }
}
