//! The tasks over columns: filter, aggregates under a filter, and groups by a code.

use std::sync::Arc;

use graphlume_device::columns::{Cells, Compare, Device, DeviceColumn, Mask, Predicate, Value};
use graphlume_device::cuda::Gpu;
use graphlume_device::{CpuPool, memory};
use graphlume_types::hash::h64;
use graphlume_types::{Budget, CancelToken};
use serde_json::json;

use crate::error::SuiteError;
use crate::rows::{Out, REPEATS, Row, time};

/// Rows on which the GPU is compared with the CPU.
const CHECKED_ROWS: usize = 1_000_003;
/// Values of the text column.
const KINDS: u32 = 40;
/// Bars of a histogram beside which a brush is drawn.
const BARS: u32 = 100;
/// The part of the rows of the filter that the page's brushes look at.
const BRUSHED_PART: usize = 10;

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

/// The columns that brushes are drawn on: an amount, an instant and a score, and a kind.
struct Brushes {
    device: Device,
    rows: usize,
    columns: [DeviceColumn; 4],
}

impl Brushes {
    fn new(device: Device, rows: usize) -> Result<Self, SuiteError> {
        let hash = |stream, i: usize| h64(12, stream, i as u64);
        let amounts: Vec<f64> = (0..rows).map(|i| (hash(1, i) % 10_000) as f64).collect();
        let instants: Vec<i64> = (0..rows).map(|i| (hash(2, i) % 10_000) as i64).collect();
        let scores: Vec<f32> = (0..rows).map(|i| (hash(3, i) % 10_000) as f32).collect();
        let kinds: Vec<u32> = (0..rows).map(|i| (hash(4, i) % u64::from(KINDS)) as u32).collect();
        let columns = [
            device.upload(Cells::F64(&amounts), None)?,
            device.upload(Cells::I64(&instants), None)?,
            device.upload(Cells::F32(&scores), None)?,
            device.upload(Cells::Codes(&kinds), None)?,
        ];
        Ok(Self { device, rows, columns })
    }

    /// The histogram of each column in the rows that the brushes of the others leave, as the page draws them after one
    /// brush has moved, and how many rows all of them leave.
    fn moved(&self) -> Result<(Vec<Vec<u32>>, u64), SuiteError> {
        let (columns, cancel) = (self.columns.each_ref(), CancelToken::new());
        let brush = |column: usize| {
            let (op, value) = match column {
                3 => (Compare::Lt, Value::Code(KINDS / 2)),
                _ => (Compare::Gt, Value::Float(2_500.0)),
            };
            Predicate::Compare { column, op, value }
        };
        let under = |left: &[usize]| {
            let all = Predicate::And(left.iter().map(|column| brush(*column)).collect());
            self.device.filter(self.rows, &columns, &all, &cancel)
        };
        let mut histograms = Vec::new();
        for (column, cells) in self.columns.iter().enumerate() {
            let others: Vec<usize> = (0..4).filter(|c| *c != column).collect();
            let mask = Some(under(&others)?);
            histograms.push(match column {
                3 => self.device.histogram_codes(cells, KINDS, mask.as_ref(), &cancel)?,
                _ => {
                    let range = (0.0, 10_000.0);
                    self.device.histogram_range(cells, range, BARS, mask.as_ref(), &cancel)?
                }
            });
        }
        Ok((histograms, self.device.mask_count(&under(&[0, 1, 2, 3])?)?))
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

fn cpu() -> Result<Device, SuiteError> {
    let pool = CpuPool::new(0).map_err(|e| SuiteError::Threads(e.to_string()))?;
    let budget = Budget::new("suite", memory().map_or(u64::MAX, |m| m.total_bytes));
    Ok(Device::cpu(Arc::new(pool), budget))
}

fn brushes(gpu: &Gpu, rows: usize, out: &mut Out) {
    out.row("cross-filter", "table", |row| {
        let (rows, on) = (rows / BRUSHED_PART, Device::Cuda(gpu.clone()));
        let checked = rows.min(CHECKED_ROWS);
        let want = Brushes::new(cpu()?, checked)?.moved()?;
        let equal = Brushes::new(on.clone(), checked)?.moved()? == want;
        let large = Brushes::new(on, rows)?;
        let (_, times) = time(gpu, REPEATS, || large.moved())?;
        Ok(row.with("rows", rows.into()).timed(times, rows as f64, "rows").equal(equal))
    });
}

pub(crate) fn run(gpu: &Gpu, rows: usize, out: &mut Out) {
    brushes(gpu, rows, out);
    if !out.wants(&["filter", "aggregate", "group"]) {
        return;
    }
    if !out.has_time() {
        return out.row("filter", "table", Ok);
    }
    let made = (|| {
        let checked = rows.min(CHECKED_ROWS);
        Ok([
            Columns::new(cpu()?, checked)?,
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
