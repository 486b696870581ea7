//! The GPU as queries over the tables of a resident graph see it: aggregates over columns that it keeps copies of.

use std::sync::Arc;

use graphlume_device::columns::{
    Cells as PrimCells, ColumnOpError, Compare, Device, DeviceColumn, Lookup, Predicate, Value,
};
use graphlume_expr::{
    Cmp, Constant, JobTest, NamedColumn, RawCells, Side, TableAnswer, TableDevice, TableJob,
};
use graphlume_types::{CancelToken, DatasetId};

use super::table_run;
use crate::context::EngineContext;
use crate::device::cost::slower;
use crate::device::gpu_device::GpuDevice;
use crate::device::table_work::TableWork;
use crate::device::{ColumnKey, MayBeShort};

/// The GPU, and the graph whose columns it keeps.
pub(crate) struct ResidentTables {
    pub(super) ctx: Arc<EngineContext>,
    pub(super) key: (DatasetId, u32),
    /// Which of the columns that the graph has had.
    pub(super) version: u32,
    /// Whether the table of nodes has what only edges name, too.
    pub(super) drawn: bool,
}

impl std::fmt::Debug for ResidentTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResidentTables").field("dataset", &self.key.0).finish_non_exhaustive()
    }
}

impl ResidentTables {
    /// For the tables of the graph that `key` names; none without a GPU that can be used.
    pub(crate) fn of(
        ctx: &Arc<EngineContext>,
        key: (DatasetId, u32),
        version: u32,
        drawn: bool,
    ) -> Option<Arc<dyn TableDevice>> {
        ctx.usable_gpu()?;
        Some(Arc::new(Self::new(ctx.clone(), key, version, drawn)))
    }

    pub(super) const fn new(
        ctx: Arc<EngineContext>,
        key: (DatasetId, u32),
        version: u32,
        drawn: bool,
    ) -> Self {
        Self { ctx, key, version, drawn }
    }

    pub(super) fn column_key(&self, column: &NamedColumn<'_>) -> ColumnKey {
        let of_edges = column.side == Side::Edges;
        ColumnKey {
            graph: self.key,
            version: self.version,
            of_edges,
            drawn: self.drawn && !of_edges,
            by_position: false,
            name: column.name.to_owned(),
        }
    }

    fn work(&self, gpu: &GpuDevice, job: &TableJob<'_>) -> TableWork {
        let missing = |c: &&NamedColumn<'_>| !gpu.has_column(&self.column_key(c));
        let width = |c: &NamedColumn<'_>| c.cells.width();
        TableWork::of(job, job.columns.iter().filter(missing).map(width).sum::<usize>() * job.rows)
    }

    /// The copies of a job's columns.
    pub(super) fn copies(
        &self,
        gpu: &GpuDevice,
        device: &Device,
        job: &TableJob<'_>,
    ) -> Result<Vec<Arc<DeviceColumn>>, ColumnOpError> {
        job.columns.iter().map(|column| self.copy(gpu, device, column)).collect()
    }

    /// The copy of a column.
    pub(super) fn copy(
        &self,
        gpu: &GpuDevice,
        device: &Device,
        column: &NamedColumn<'_>,
    ) -> Result<Arc<DeviceColumn>, ColumnOpError> {
        gpu.column(self.column_key(column), || {
            let valid = column.cells.valid();
            upload(device, &column.cells.values(), valid.as_deref())
        })
    }

    fn answer(
        &self,
        gpu: &GpuDevice,
        job: &TableJob<'_>,
        cancel: &CancelToken,
    ) -> Result<TableAnswer, ColumnOpError> {
        // A stream of its own: the slices of layouts do not wait behind it.
        let device = Device::Cuda(gpu.gpu.stream()?);
        let columns = self.copies(gpu, &device, job)?;
        cancel.check()?;
        gpu.with_room(|| table_run::run(&device, job, &columns, cancel))
    }
}

impl TableDevice for ResidentTables {
    fn declines(&self, job: &TableJob<'_>) -> Option<String> {
        let Some(gpu) = self.ctx.usable_gpu() else {
            return Some(self.ctx.why_gpu_lost().unwrap_or_else(|| "no GPU".to_owned()));
        };
        let row_bytes: usize = job.columns.iter().map(|c| c.cells.width()).sum();
        let (need, limit) = ((row_bytes * job.rows) as u64, gpu.gpu.budget().limit());
        if need > limit {
            return Some(format!("the columns take {need} bytes and the GPU may hold {limit}"));
        }
        if self.ctx.config.gpu_edges_min == 0 {
            return None;
        }
        let work = self.work(gpu, job);
        let cpu = work.cpu_us(self.ctx.threads());
        let own = work.effort.gpu_us(gpu.gpu.info().sm_count);
        (own >= cpu).then(|| slower(cpu, own))
    }

    fn effort(&self, job: &TableJob<'_>) -> String {
        let Some(gpu) = self.ctx.usable_gpu() else { return String::new() };
        self.work(gpu, job).effort.to_string()
    }

    fn run(&self, job: &TableJob<'_>, cancel: &CancelToken) -> Option<TableAnswer> {
        let gpu = self.ctx.usable_gpu()?;
        match self.answer(gpu, job, cancel) {
            Ok(answer) => Some(answer),
            Err(ColumnOpError::Cancelled(_)) => None,
            Err(error) => {
                let is_short = error.is_short();
                tracing::warn!(dataset = %self.key.0, is_short, %error, "a query is answered by the CPU instead of the GPU");
                None
            }
        }
    }
}

/// A copy of a column's cells on a device; `valid` has a bit for each row with a value, and all have one without it.
pub(super) fn upload(
    device: &Device,
    cells: &RawCells<'_>,
    valid: Option<&[u32]>,
) -> Result<DeviceColumn, ColumnOpError> {
    let cells = match cells {
        RawCells::Ints(v) => PrimCells::I64(v),
        RawCells::Floats(v) => PrimCells::F64(v),
        RawCells::Codes(v) => PrimCells::Codes(v),
        RawCells::Truths(v) => PrimCells::Bytes(v),
    };
    device.upload(cells, valid)
}

/// A condition as the primitives take it.
pub(super) fn predicate(test: &JobTest) -> Predicate {
    let value = |constant: &Constant| match constant {
        Constant::Int(v) => Value::Int(*v),
        Constant::Float(v) => Value::Float(*v),
    };
    match test {
        JobTest::Always(true) => Predicate::And(Vec::new()),
        JobTest::Always(false) => Predicate::Or(Vec::new()),
        JobTest::Compare(column, op, with) => {
            let op = match op {
                Cmp::Eq => Compare::Eq,
                Cmp::Ne => Compare::Ne,
                Cmp::Lt => Compare::Lt,
                Cmp::Le => Compare::Le,
                Cmp::Gt => Compare::Gt,
                Cmp::Ge => Compare::Ge,
            };
            Predicate::compare(*column, op, value(with))
        }
        JobTest::In(column, values) => {
            Predicate::In { column: *column, values: values.iter().map(value).collect() }
        }
        JobTest::IsTrue(column) => Predicate::compare(*column, Compare::Eq, Value::Bool(true)),
        JobTest::Passes(column, answers) => {
            let passes = |code: u32| answers.get(code as usize).copied().unwrap_or(false);
            let lookup = Lookup::new(answers.len() as u32, passes);
            Predicate::Codes { column: *column, lookup }
        }
        JobTest::IsNull(column, true) => Predicate::IsNull { column: *column },
        JobTest::IsNull(column, false) => Predicate::NotNull { column: *column },
        JobTest::Not(test) => Predicate::Not(Box::new(predicate(test))),
        JobTest::And(tests) => Predicate::And(tests.iter().map(predicate).collect()),
        JobTest::Or(tests) => Predicate::Or(tests.iter().map(predicate).collect()),
    }
}
