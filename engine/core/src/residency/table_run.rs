//! A job over the columns of a table, by the primitives of a device.

use std::sync::Arc;

use graphlume_device::columns::{
    Cells, ColumnOpError, Device, DeviceColumn, HostCells, Mask, MaskOp, Number, Predicate,
};
use graphlume_expr::{Placed, Reduction, TableAnswer, TableJob, ordered_bits, places};
use graphlume_types::CancelToken;

use super::tables::predicate;
use crate::device::table_work::part_rows;

const NOT_NULL: Predicate = Predicate::NotNull { column: 0 };

/// The job, over its columns on this device.
pub(super) fn run(
    device: &Device,
    job: &TableJob<'_>,
    columns: &[Arc<DeviceColumn>],
    cancel: &CancelToken,
) -> Result<TableAnswer, ColumnOpError> {
    let columns: Vec<&DeviceColumn> = columns.iter().map(AsRef::as_ref).collect();
    let mask = match &job.test {
        None => None,
        Some(test) => Some(device.filter(job.rows, &columns, &predicate(test), cancel)?),
    };
    let mask = mask.as_ref();
    if let Some(mask) = mask.filter(|_| job.marks) {
        return Ok(TableAnswer { marks: device.mask_to_words(mask)?, ..TableAnswer::default() });
    }
    let rows = match mask {
        None => job.rows as u64,
        Some(mask) => device.mask_count(mask)?,
    };
    let mut answer = TableAnswer { rows, ..TableAnswer::default() };
    match job.grouped_by {
        None => {
            for place in &job.reduced {
                answer.reduced.push(vec![reduction(device, columns[*place], mask, cancel)?]);
            }
        }
        Some((place, keys)) => {
            let by = columns[place];
            answer.by_key = device.histogram_codes(by, keys as u32, mask, cancel)?;
            if !job.reduced.is_empty() {
                let groups = Grouped::new(device, (by, &answer.by_key), mask, cancel)?;
                for place in &job.reduced {
                    answer.reduced.push(groups.reductions(columns[*place])?);
                }
            }
        }
    }
    for (place, keys) in &job.distinct {
        let counts = device.histogram_codes(columns[*place], *keys as u32, mask, cancel)?;
        answer.distinct.push(counts);
    }
    for (place, share) in &job.placed {
        answer.placed.push(placed(device, columns[*place], *share, mask, cancel)?);
    }
    Ok(answer)
}

fn reduction(
    device: &Device,
    column: &DeviceColumn,
    mask: Option<&Mask>,
    cancel: &CancelToken,
) -> Result<Reduction, ColumnOpError> {
    let found = device.reduce(column, mask, cancel)?;
    let sum = match found.sum {
        Number::Int(sum) => Some(sum),
        Number::Float(_) => None,
    };
    let (ints, floats) = match (found.least, found.greatest) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => (Some((a as i64, b as i64)), None),
        (Some(Number::Float(a)), Some(Number::Float(b))) => (None, Some((a, b))),
        _ => (None, None),
    };
    Ok(Reduction { count: found.count, sum, ints, floats })
}

/// The values of a column at the places of their order that a percentile asks for.
fn placed(
    device: &Device,
    column: &DeviceColumn,
    share: f64,
    mask: Option<&Mask>,
    cancel: &CancelToken,
) -> Result<Placed, ColumnOpError> {
    let count = device.reduce(column, mask, cancel)?.count as usize;
    if count == 0 {
        return Ok(Placed::default());
    }
    // Nulls come last.
    let rows = device.order(column, false, mask, cancel)?;
    let wanted = places(share, count);
    let first = *wanted.start();
    let wanted: Vec<u32> = wanted.map(|place| place as u32).collect();
    let wanted = device.upload(Cells::U32(&wanted), None)?;
    let cells = device.gather(column, &device.gather(&rows, &wanted, cancel)?, cancel)?;
    let values = match device.download(&cells)?.0 {
        HostCells::I64(v) => v,
        HostCells::F64(v) => v.into_iter().map(ordered_bits).collect(),
        _ => Vec::new(),
    };
    Ok(Placed { count, first, values })
}

/// The rows that pass in the order of their keys, cut into parts.
struct Grouped<'d> {
    device: &'d Device,
    cancel: &'d CancelToken,
    rows: DeviceColumn,
    /// Where each part begins.
    offsets: DeviceColumn,
    /// The key of each part.
    keys: Vec<usize>,
    num_keys: usize,
    /// Rows of a part at most.
    part_rows: usize,
    by: &'d DeviceColumn,
    /// Rows that pass; all without it.
    mask: Option<&'d Mask>,
    /// Rows that pass and have no key.
    null: Option<Mask>,
}

impl<'d> Grouped<'d> {
    fn new(
        device: &'d Device,
        (by, counts): (&'d DeviceColumn, &[u32]),
        mask: Option<&'d Mask>,
        cancel: &'d CancelToken,
    ) -> Result<Self, ColumnOpError> {
        let within = |test: &Predicate| -> Result<Mask, ColumnOpError> {
            let found = device.filter(by.rows(), &[by], test, cancel)?;
            match mask {
                None => Ok(found),
                Some(mask) => device.mask_combine(MaskOp::And, &found, mask),
            }
        };
        let rows = match (mask, by.valid()) {
            (None, None) => device.all_rows(by.rows())?,
            _ => device.compact(&within(&NOT_NULL)?, cancel)?,
        };
        let null = match by.valid() {
            None => None,
            Some(_) => Some(within(&Predicate::IsNull { column: 0 })?),
        };
        let keys = device.gather(by, &rows, cancel)?.into_numbers();
        let bits = (counts.len().max(2) - 1).ilog2() + 1;
        let (_, rows) = device.sort_pairs(&keys, &rows, bits, cancel)?;
        let total: usize = counts.iter().map(|n| *n as usize).sum();
        let part_rows = part_rows(total);
        let (mut offsets, mut keys, mut at) = (vec![0], Vec::new(), 0);
        for (key, count) in counts.iter().enumerate() {
            let end = at + *count as usize;
            while at < end {
                at = end.min(at + part_rows);
                offsets.push(at as u32);
                keys.push(key);
            }
        }
        let offsets = device.upload(Cells::U32(&offsets), None)?;
        let num_keys = counts.len();
        Ok(Self { device, cancel, rows, offsets, keys, num_keys, part_rows, by, mask, null })
    }

    /// The reduction of a column by key, and then of the rows without one.
    fn reductions(&self, column: &DeviceColumn) -> Result<Vec<Reduction>, ColumnOpError> {
        let Self { device, cancel, offsets, .. } = self;
        let mut all = vec![Reduction::default(); self.num_keys + 1];
        if !self.keys.is_empty() {
            let cells = device.gather(column, &self.rows, cancel)?;
            let (least, most) = device.segment_ends(offsets, &cells, None, cancel)?;
            let sums = device.segment_sum(offsets, &cells, None, cancel)?;
            let ends = (device.download(&least)?, device.download(&most)?.0);
            let sums = device.download(&sums)?.0;
            for (part, key) in self.keys.iter().enumerate() {
                all[*key] = all[*key].and(of_part(part, self.part_rows, &ends, &sums));
            }
            for (group, count) in all.iter_mut().zip(self.counts(column)?) {
                group.count = u64::from(count);
            }
        }
        if let Some(null) = &self.null {
            all[self.num_keys] = reduction(device, column, Some(null), cancel)?;
        }
        Ok(all)
    }

    /// Rows of each key that have a value in a column.
    fn counts(&self, column: &DeviceColumn) -> Result<Vec<u32>, ColumnOpError> {
        let Self { device, cancel, mask, by, .. } = self;
        let known = device.filter(column.rows(), &[column], &NOT_NULL, cancel)?;
        let known = match mask {
            None => known,
            Some(mask) => device.mask_combine(MaskOp::And, &known, mask)?,
        };
        device.histogram_codes(by, self.num_keys as u32, Some(&known), cancel)
    }
}

/// What is known of a part: one value at least, where there is any.
fn of_part(
    part: usize,
    part_rows: usize,
    ((least, valid), most): &((HostCells, Option<Vec<u32>>), HostCells),
    sums: &HostCells,
) -> Reduction {
    match (least, most, sums) {
        (HostCells::I64(least), HostCells::I64(most), HostCells::I64(sums)) => {
            let is_set = |words: &Vec<u32>| words[part / 32] >> (part % 32) & 1 == 1;
            if !valid.as_ref().is_none_or(is_set) {
                return Reduction::default();
            }
            let (a, b) = (least[part], most[part]);
            // The sum is known but for multiples of 2^64, and so known where it cannot reach 2^63.
            let greatest = u128::from(a.unsigned_abs().max(b.unsigned_abs())) * part_rows as u128;
            let sum = (greatest < 1 << 63).then(|| i128::from(sums[part]));
            Reduction { count: 1, sum, ints: Some((a, b)), floats: None }
        }
        (HostCells::F64(least), HostCells::F64(most), _) if !least[part].is_nan() => {
            Reduction { count: 1, sum: None, ints: None, floats: Some((least[part], most[part])) }
        }
        _ => Reduction::default(),
    }
}
