//! Aggregates by columns on the GPU, where the graph's tables have one and it is faster.

use graphlume_expr::{
    Folded, Folds, Keys, NamedColumn, Side, TableArray, TableDevice, TableJob, Test,
};

use crate::column_reader::ColumnReader;
use crate::exec::Exec;
use crate::plan::Agg;

impl Exec<'_> {
    /// What [`graphlume_expr::fold`] gives; `None` where the CPU has to do it.
    pub(super) fn folded_on_device<'e>(
        &'e self,
        test: Option<&Test<'e>>,
        by: &Keys<'e>,
        (folds, aggs): (&[Folds<'e>], &[Agg]),
        rows: usize,
    ) -> Option<(Vec<i64>, Vec<Folded>)> {
        let shares = self.shares(aggs);
        let (device, job) = self.device_job(test, by, (folds, &shares), rows)?;
        if device.declines(&job).is_some() {
            return None;
        }
        job.folded(&device.run(&job, self.cancel)?, by, (folds, &shares))
    }

    /// Which percentile each aggregate is, if it is one.
    pub(super) fn shares(&self, aggs: &[Agg]) -> Vec<Option<f64>> {
        aggs.iter().map(|agg| self.percentile_of(agg).filter(|_| !agg.distinct)).collect()
    }

    /// The aggregates as a job of the tables' GPU, where there is one and they have that form.
    pub(super) fn device_job<'e>(
        &'e self,
        test: Option<&Test<'e>>,
        by: &Keys<'e>,
        of: (&[Folds<'e>], &[Option<f64>]),
        rows: usize,
    ) -> Option<(&'e dyn TableDevice, TableJob<'e>)> {
        let device = self.view.graph().table_device()?;
        let columns = self.keys.iter().flat_map(|key| {
            let named = |side, cells: &'e Option<ColumnReader>| {
                let cells = cells_of(cells.as_ref()?)?;
                Some(NamedColumn { side, name: &key.name, cells })
            };
            [named(Side::Nodes, &key.node), named(Side::Edges, &key.edge)]
        });
        let columns: Vec<NamedColumn<'e>> = columns.flatten().collect();
        let job = TableJob::of(&columns, test, by, of, rows)?;
        // What is true of every row, or of a table that is not read, needs no device.
        (!job.columns.is_empty()).then_some((device, job))
    }
}

fn cells_of(cells: &ColumnReader) -> Option<TableArray<'_>> {
    cells.is_plain().then(|| TableArray::of(cells.column()))?
}
