//! The tasks over columns: filter, aggregates under a filter, and groups by a code.

use std::sync::Arc;

use graphlume_device::cuda::Gpu;
use graphlume_device::prim::{Cells, Compare, Device, DeviceColumn, Mask, Predicate, Value};
use graphlume_device::{CpuPool, memory};
use graphlume_types::hash::h64;
use graphlume_types::{Budget, CancelToken};
use serde_json::json;

use crate::SuiteError;
use crate::rows::{Out, REPEATS, Row, time};

/// Rows on which the GPU is compared with the CPU.
const CHECKED_ROWS: usize = 1_000_003;
/// Values of the text column.
const KINDS: u32 = 40;

/// An amount and a kind a row, on one device.
struct Columns {
    device: Device,
    rows: usize,
    amount: DeviceColumn,
    kind: DeviceColumn,
}

impl Columns {
    fn new(device: Device, rows: usize) -> Result<Self, SuiteError> {
        let hash = |stream, i: usize| h64(11, stream, i as u64);
        let amounts: Vec<f64> = (0..rows).map(|i| (hash(1, i) % 10_000) as f64).collect();
        let amount = device.upload(Cells::F64(&amounts), None)?;
        drop(amounts);
        let kinds: Vec<u32> = (0..rows).map(|i| (hash(2, i) % u64::from(KINDS)) as u32).collect();
        let kind = device.upload(Cells::Codes(&kinds), None)?;
        Ok(Self { device, rows, amount, kind })
    }

    /// Rows with a large amount and one of the kinds.
    fn filter(&self) -> Result<Mask, SuiteError> {
        let both = [
            Predicate::Compare { column: 0, op: Compare::Gt, value: Value::Float(5000.0) },
            Predicate::Compare { column: 1, op: Compare::Eq, value: Value::Code(7) },
        ];
        let (columns, cancel) = ([&self.amount, &self.kind], CancelToken::new());
        Ok(self.device.filter(self.rows, &columns, &Predicate::And(both.into()), &cancel)?)
    }

    fn count(&self) -> Result<u64, SuiteError> {
        Ok(self.device.mask_count(&self.filter()?)?)
    }

    /// Count, sum, least and greatest of the amounts that the filter leaves, as text that is equal when they are.
    fn aggregate(&self) -> Result<String, SuiteError> {
        let mask = self.filter()?;
        Ok(format!("{:?}", self.device.reduce(&self.amount, Some(&mask), &CancelToken::new())?))
    }

    fn groups(&self) -> Result<Vec<u32>, SuiteError> {
        Ok(self.device.histogram_codes(&self.kind, KINDS, None, &CancelToken::new())?)
    }
}

type Task<T> = fn(&Columns) -> Result<T, SuiteError>;

/// Compares on both sides and times on the GPU.
fn task<T: PartialEq>(
    row: Row,
    [cpu, same, large]: [&Columns; 3],
    bytes_per_row: f64,
    work: Task<T>,
) -> Result<Row, SuiteError> {
    let equal = work(cpu)? == work(same)?;
    let Device::Cuda(gpu) = &large.device else { return Ok(row.equal(false)) };
    let (_, times) = time(gpu, REPEATS, || work(large))?;
    let bytes = bytes_per_row * large.rows as f64;
    Ok(row
        .with("rows", large.rows.into())
        .timed(times, large.rows as f64, "rows")
        .with("bytes_per_s", json!(bytes / (times.event_ms / 1e3).max(1e-9)))
        .equal(equal))
}

pub(crate) fn run(gpu: &Gpu, rows: usize, out: &mut Out) {
    if !out.has_time() {
        return out.row("filter", "table", Ok);
    }
    let made = (|| {
        let pool = CpuPool::new(0).map_err(|e| SuiteError::Threads(e.to_string()))?;
        let budget = Budget::new("suite", memory().map_or(u64::MAX, |m| m.total_bytes));
        let checked = rows.min(CHECKED_ROWS);
        Ok([
            Columns::new(Device::cpu(Arc::new(pool), budget), checked)?,
            Columns::new(Device::Cuda(gpu.clone()), checked)?,
            Columns::new(Device::Cuda(gpu.clone()), rows)?,
        ])
    })();
    let [cpu, same, large] = match &made {
        Ok([cpu, same, large]) => [cpu, same, large],
        Err(_) => return out.row("filter", "table", |_| made.map(|_| Row::new("filter", "table"))),
    };
    let columns = [cpu, same, large];
    out.row("filter", "table", |row| task(row, columns, 12.0, Columns::count));
    out.row("aggregate", "table", |row| task(row, columns, 20.0, Columns::aggregate));
    out.row("group", "table", |row| task(row, columns, 4.0, Columns::groups));
}
