//! The filter of the peers' task: rows with `amount > 5000` and `kind = "ssh"`.

use std::path::Path;
use std::sync::Arc;

use graphlume_device::columns::{Cells, Compare, Device, DeviceColumn, Predicate, Value};
use graphlume_device::{CpuPool, memory};
use graphlume_table::{TextColumn, to_f64};
use graphlume_types::{Budget, CancelToken};

use crate::input::read;
use crate::task::TaskError;

/// Bytes of the two columns in a row.
pub(crate) const BYTES_PER_ROW: f64 = 12.0;

/// The columns `amount` and `kind` of a file.
pub(crate) struct Columns {
    amount: Vec<f64>,
    kind: Vec<u32>,
    ssh: u32,
}

/// The same on a device.
pub(crate) struct OnDevice {
    columns: [DeviceColumn; 2],
    rows: usize,
    predicate: Predicate,
}

pub(crate) fn cpu_device(threads: usize) -> Result<Device, TaskError> {
    let pool = CpuPool::new(threads)
        .map_err(|e| TaskError::Threads { threads, message: e.to_string() })?;
    Ok(Device::cpu(
        Arc::new(pool),
        Budget::new("bench", memory().map_or(u64::MAX, |m| m.total_bytes)),
    ))
}

impl Columns {
    pub(crate) fn read(path: &Path) -> Result<Self, TaskError> {
        let fail = |message: &str| TaskError::Input {
            path: path.display().to_string(),
            message: message.to_owned(),
        };
        let table = read(path)?;
        let needed = "needs the columns amount and kind; generate it with --attrs";
        let amount = table.column("amount").and_then(|c| to_f64(c.as_ref()));
        let text = table.column("kind").and_then(TextColumn::try_new);
        let (Some(amount), Some(text)) = (amount, text) else { return Err(fail(needed)) };
        let mut names: Vec<&str> = text.iter().flatten().collect();
        names.sort_unstable();
        names.dedup();
        let code = |name: &str| names.partition_point(|n| *n < name) as u32;
        let kind = text.iter().map(|t| code(t.unwrap_or(""))).collect();
        Ok(Self { amount, kind, ssh: code("ssh") })
    }

    pub(crate) fn rows(&self) -> usize {
        self.amount.len()
    }

    pub(crate) fn upload(&self, device: &Device) -> Result<OnDevice, TaskError> {
        let amount = device.upload(Cells::F64(&self.amount), None)?;
        let kind = device.upload(Cells::Codes(&self.kind), None)?;
        let both = [
            Predicate::Compare { column: 0, op: Compare::Gt, value: Value::Float(5000.0) },
            Predicate::Compare { column: 1, op: Compare::Eq, value: Value::Code(self.ssh) },
        ];
        let predicate = Predicate::And(both.into());
        Ok(OnDevice { columns: [amount, kind], rows: self.rows(), predicate })
    }
}

impl OnDevice {
    /// How many rows match.
    pub(crate) fn count(&self, device: &Device) -> Result<u64, TaskError> {
        let columns = [&self.columns[0], &self.columns[1]];
        let mask = device.filter(self.rows, &columns, &self.predicate, &CancelToken::new())?;
        Ok(device.mask_count(&mask)?)
    }
}
