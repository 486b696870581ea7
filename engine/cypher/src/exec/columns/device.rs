//! Marks and aggregates by columns on the GPU, where the graph's tables have one and it is faster.

use graphlume_expr::{
    Folded, Folds, Keys, Marks, NamedColumn, Side, TableArray, TableDevice, TableJob, Test,
    TextTest, truth,
};
use graphlume_graph::canon::Column;

use super::{Pipeline, Start};
use crate::column_reader::ColumnReader;
use crate::exec::Exec;
use crate::graph_view::TYPE;
use crate::plan::{Agg, Ex, Op, Slot};

/// A job and the GPU that is to do it.
type Job<'e> = (&'e dyn TableDevice, TableJob<'e>);

impl Exec<'_> {
    /// What [`graphlume_expr::fold`] gives; `None` where the CPU has to do it.
    pub(super) fn folded_on_device<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        by: &Keys<'e>,
        (folds, aggs): (&[Folds<'e>], &[Agg]),
        rows: usize,
    ) -> Option<(Vec<i64>, Vec<Folded>)> {
        let shares = self.shares(aggs);
        let (device, job) = self.folding_job(pipeline, by, (folds, &shares), rows)?;
        if device.declines(&job).is_some() {
            return None;
        }
        job.folded(&device.run(&job, self.cancel)?, by, (folds, &shares))
    }

    /// What [`graphlume_expr::marks`] gives; `None` where the CPU has to do it.
    pub(super) fn marked_on_device<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        rows: usize,
    ) -> Option<Marks> {
        let (device, job) = self.marking_job(pipeline, rows)?;
        if device.declines(&job).is_some() {
            return None;
        }
        Some(Marks::of_words(rows, &device.run(&job, self.cancel)?.marks))
    }

    /// Marking the nodes that have labels and meet conditions as a job for a device: the inner `None` where all nodes do, the
    /// outer one where columns alone do not tell. `below` is what the conditions stand above.
    pub(in crate::exec) fn nodes_job<'e>(
        &'e self,
        slot: Slot,
        (labels, tests): (&'e [usize], Vec<&'e Ex>),
        below: &'e Op,
    ) -> Option<Option<TableJob<'e>>> {
        if labels.is_empty() && tests.is_empty() {
            return Some(None);
        }
        let start = Start::Nodes(slot, labels);
        let pipeline = Pipeline { start, tests, items: Vec::new(), base: below };
        let rows = self.table_rows(&pipeline)?;
        let test = self.tests_with(self.label_tests(labels)?, &pipeline)??;
        Some(Some(TableJob::marking(&self.named_columns(), &test, rows)?))
    }

    /// Which percentile each aggregate is, if it is one.
    pub(super) fn shares(&self, aggs: &[Agg]) -> Vec<Option<f64>> {
        aggs.iter().map(|agg| self.percentile_of(agg).filter(|_| !agg.distinct)).collect()
    }

    /// The aggregates as a job of the tables' GPU, where there is one and they have that form.
    pub(super) fn folding_job<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        by: &Keys<'e>,
        of: (&[Folds<'e>], &[Option<f64>]),
        rows: usize,
    ) -> Option<Job<'e>> {
        self.device_job(pipeline, |named, test| TableJob::of(named, test, by, of, rows))
    }

    /// Marking the rows that pass, likewise.
    pub(super) fn marking_job<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        rows: usize,
    ) -> Option<Job<'e>> {
        self.device_job(pipeline, |named, test| TableJob::marking(named, test?, rows))
    }

    /// What a job takes the GPU of the tables, or why that would not do it; `None` where there is none.
    pub(super) fn side_of(&self, job: Option<Job<'_>>) -> Option<Result<String, String>> {
        self.view.graph().table_device()?;
        Some(match job {
            None => Err("the GPU has no kernels or no columns for it".to_owned()),
            Some((device, job)) => {
                device.declines(&job).map_or_else(|| Ok(device.effort(&job)), Err)
            }
        })
    }

    fn device_job<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        make: impl FnOnce(&[NamedColumn<'e>], Option<&Test<'e>>) -> Option<TableJob<'e>>,
    ) -> Option<Job<'e>> {
        let device = self.view.graph().table_device()?;
        let labelled = match pipeline.start {
            Start::Nodes(_, labels) => self.label_tests(labels)?,
            Start::Edges(_) => Vec::new(),
        };
        let test = self.tests_with(labelled, pipeline)?;
        let job = make(&self.named_columns(), test.as_ref())?;
        // What is true of every row, or of a table that is not read, needs no device.
        (!job.columns.is_empty()).then_some((device, job))
    }

    /// A condition on columns for each label; `None` where columns alone do not tell.
    fn label_tests<'e>(&'e self, labels: &[usize]) -> Option<Vec<Test<'e>>> {
        let of_label = |label: &usize| {
            let Some(test) = self.labels.get(*label) else {
                return Some(Test::Always(truth::FALSE));
            };
            if let Some((_, cells)) = test.flag_cells() {
                let Column::Bool(flags) = cells.column() else { return None };
                return Some(Test::Truths(flags));
            }
            match test.typed_cells()?.column() {
                Column::Text(text) => {
                    let name = test.name();
                    Some(Test::Text(TextTest::new(text, truth::FALSE, move |cell| cell == name)))
                }
                _ => None,
            }
        };
        labels.iter().map(of_label).collect()
    }

    /// The columns that conditions and aggregates may read, with the names under which a device keeps them.
    fn named_columns<'e>(&'e self) -> Vec<NamedColumn<'e>> {
        let named = |side, name: &'e str, cells: Option<&'e ColumnReader>| {
            Some(NamedColumn { side, name, cells: cells_of(cells?)? })
        };
        let keys = self.keys.iter().flat_map(|key| {
            [(Side::Nodes, &key.node), (Side::Edges, &key.edge)]
                .map(|(side, cells)| named(side, &key.name, cells.as_ref()))
        });
        let labels = self.labels.iter().flat_map(|test| {
            let flag = test.flag_cells().map(|(name, cells)| named(Side::Nodes, name, Some(cells)));
            [flag.flatten(), named(Side::Nodes, TYPE, test.typed_cells())]
        });
        let types = named(Side::Edges, TYPE, self.view.edge_type_cells());
        keys.chain(labels).chain([types]).flatten().collect()
    }
}

fn cells_of(cells: &ColumnReader) -> Option<TableArray<'_>> {
    cells.is_plain().then(|| TableArray::of(cells.column()))?
}
