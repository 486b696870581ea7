//! A count of paths by the kernels of a device.

use std::sync::Arc;

use graphlume_algo::gpu::relation::Relation;
use graphlume_algo::gpu::tally::{Count, Counted, Paths, Step};
use graphlume_device::cuda::{Buf, Gpu, View};
use graphlume_device::prim::{Device, DeviceColumn, Mask};
use graphlume_store::{TallyAnswer, TallyJob, TallyWanted};
use graphlume_types::CancelToken;

use super::chain_sets::ChainError;
use super::tables::predicate;

/// What a job reads, on a device.
pub(super) struct Copies {
    /// Of each condition.
    pub(super) columns: Vec<Vec<Arc<DeviceColumn>>>,
    /// Of each step.
    pub(super) relations: Vec<Arc<Relation>>,
}

/// The job, over copies on this device; `None` where a number leaves 63 bits.
pub(super) fn run(
    (gpu, device): (&Gpu, &Device),
    job: &TallyJob<'_>,
    copies: &Copies,
    cancel: &CancelToken,
) -> Result<Option<TallyAnswer>, ChainError> {
    let masks = masks(device, job, copies, cancel)?;
    let of = |place: Option<usize>| -> Result<Option<View<'_, u32>>, ChainError> {
        let Some(place) = place else { return Ok(None) };
        let marks = masks.get(place).and_then(Mask::words);
        let missing = || ChainError::Program(format!("condition {place} has no marks on the GPU"));
        marks.map(Some).ok_or_else(missing)
    };
    let first = of(job.from)?.map_or(Paths::One, Paths::Marks);
    let room = if job.wanted == TallyWanted::Total { 0 } else { job.num_nodes as usize };
    let mut count = Count::new(gpu, job.num_nodes, room)?;
    // The numbers after the last step, and after the one before it; none where paths begin.
    let (mut now, mut before): (Option<Buf<u64>>, Option<Buf<u64>>) = (None, None);
    for (i, (step, relation)) in job.steps.iter().zip(&copies.relations).enumerate() {
        cancel.check()?;
        fn paths<'v>(held: Option<&'v Buf<u64>>, first: Paths<'v>) -> Paths<'v> {
            held.map_or(first, |counts| Paths::Each(counts.view()))
        }
        let earlier = step.apart.then(|| paths(before.as_ref(), first));
        let forward = step.forward;
        let taken = Step { relation, forward, to: of(step.to)?, before: earlier };
        let from = paths(now.as_ref(), first);
        if i + 1 == job.steps.len() && job.wanted == TallyWanted::Total {
            return Ok(answer(count.total(&taken, from)?));
        }
        let next = count.pull(&taken, from)?;
        before = now.replace(next);
    }
    let no_step = || ChainError::Program("a count of paths without a step".to_owned());
    let counts = now.ok_or_else(no_step)?;
    cancel.check()?;
    let wanted = match job.wanted {
        TallyWanted::First(wanted) => Some(wanted),
        TallyWanted::Each | TallyWanted::Total => None,
    };
    Ok(answer(count.list(&counts, wanted)?))
}

fn answer(counted: Counted) -> Option<TallyAnswer> {
    match counted {
        Counted::Beyond => None,
        Counted::Total(paths) => i64::try_from(paths).is_ok().then_some(TallyAnswer::Total(paths)),
        Counted::Each(nodes) => Some(TallyAnswer::Each(nodes)),
    }
}

/// The nodes that meet each condition.
fn masks(
    device: &Device,
    job: &TallyJob<'_>,
    copies: &Copies,
    cancel: &CancelToken,
) -> Result<Vec<Mask>, ChainError> {
    let marked = job.marks.iter().zip(&copies.columns).map(|(marks, columns)| {
        let columns: Vec<&DeviceColumn> = columns.iter().map(AsRef::as_ref).collect();
        let no_test = || ChainError::Program("a condition without a test".to_owned());
        let test = marks.test.as_ref().ok_or_else(no_test)?;
        Ok(device.filter(marks.rows, &columns, &predicate(test), cancel)?)
    });
    marked.collect()
}
