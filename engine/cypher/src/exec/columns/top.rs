//! The first rows by a number, found by columns.

use std::sync::Arc;

use graphlume_expr::{Blocks, Number, Test, Unfit, best, best_of_blocks};
use graphlume_store::CacheKey;

use super::Pipeline;
use crate::error::Res;
use crate::exec::Exec;
use crate::plan::{Ex, Op, OpId};
use crate::tuning::tuning;

/// The part of all rows that may be wanted for this to pay.
const WANTED_PART: usize = 8;

/// The least and greatest numbers of the blocks of a column of the nodes or of the relationships.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BlocksOf {
    edges: bool,
    column: String,
}

impl CacheKey for BlocksOf {
    type Value = Blocks;
}

/// The first rows of one table by a number.
struct Wanted<'e> {
    place: OpId,
    rows: usize,
    key: Number<'e>,
    test: Option<Test<'e>>,
    /// The column, where the number is one.
    column: Option<BlocksOf>,
}

impl Exec<'_> {
    /// The operator whose first rows [`Self::select_best`] marks, unless it meets one that has no value.
    pub(in crate::exec) fn selects_best<'p>(
        &self,
        input: &'p Op,
        key: &Ex,
        wanted: usize,
    ) -> Option<&'p Op> {
        self.wanted(input, key, wanted)?;
        Pipeline::of(input).map(|pipeline| pipeline.base)
    }

    fn wanted<'e>(&'e self, input: &'e Op, key: &'e Ex, wanted: usize) -> Option<Wanted<'e>> {
        let pipeline = Pipeline::of(input).filter(|_| self.by_columns && self.part.is_none())?;
        let rows = self.table_rows(&pipeline).filter(|rows| wanted <= rows / WANTED_PART)?;
        let (key, key_of) = (self.compiled_number(&pipeline, key)?, key);
        let test = self.all_tests(&pipeline)?;
        let column = self.column_name(&pipeline, key_of);
        Some(Wanted { place: pipeline.base.id()?, rows, key, test, column })
    }

    /// The column that an expression reads.
    fn column_name<'e>(&'e self, pipeline: &Pipeline<'e>, e: &'e Ex) -> Option<BlocksOf> {
        match e {
            Ex::Slot(slot) => self.column_name(pipeline, pipeline.item(*slot)?),
            Ex::Plus(a) => self.column_name(pipeline, a),
            Ex::Prop(_, key) => {
                let column = self.keys.get(*key)?.name.to_string();
                Some(BlocksOf { edges: pipeline.slot().1, column })
            }
            _ => None,
        }
    }

    /// The least and greatest number of each block of a column, read at the first sort by it and kept with the graph.
    fn blocks(&self, wanted: &Wanted<'_>) -> Result<Option<Arc<Blocks>>, Unfit> {
        let column = wanted.column.as_ref().filter(|_| wanted.rows >= tuning().block_ends_rows_min);
        // A test that fails at a row must be made of all rows.
        let total = wanted.test.as_ref().is_none_or(Test::is_total);
        let Some(key) = column.filter(|_| total) else { return Ok(None) };
        let graph = self.view.graph();
        if let Some(found) = graph.kept(key) {
            return Ok(Some(found));
        }
        if !graph.is_due(key, 1, self.cancel) {
            return Ok(None);
        }
        let Some(made) = Blocks::new(&wanted.key, self.cancel)?.map(Arc::new) else {
            return Ok(None);
        };
        graph.keep(key.clone(), &made, made.bytes(), self.cancel);
        Ok(Some(made))
    }

    /// Marks the rows of one table that may be among the first `wanted` by a key, so that a sort makes no others. False
    /// where the sort has to look at all of them.
    pub(in crate::exec) fn select_best(
        &self,
        input: &Op,
        (key, down): (&Ex, bool),
        wanted: usize,
    ) -> Res<bool> {
        let Some(of) = self.wanted(input, key, wanted) else { return Ok(false) };
        let (test, rows) = (of.test.as_ref(), of.rows);
        let found = self.blocks(&of).and_then(|blocks| match blocks {
            Some(blocks) => {
                best_of_blocks(test, (&of.key, &blocks, down), wanted, rows, self.cancel)
            }
            None => best(test, (&of.key, down), wanted, rows, self.cancel),
        });
        match found {
            Ok(found) => {
                self.put_selected(of.place, Some(Arc::new(found)));
                Ok(true)
            }
            Err(Unfit::Cancelled) => self.cancelled().map(|()| false),
            Err(Unfit::Value) => Ok(false),
        }
    }
}

/// The blocks of a column of the nodes, where they are kept.
#[cfg(test)]
pub(super) fn kept_blocks(
    graph: &graphlume_store::PropertyGraph,
    column: &str,
) -> Option<Arc<Blocks>> {
    graph.kept(&BlocksOf { edges: false, column: column.to_owned() })
}
