//! A count of paths by the kernels of a device.

use std::sync::Arc;

use graphlume_algo::gpu::relation::Relation;
use graphlume_algo::gpu::tally::{Count, Counted, Paths, PatternStep};
use graphlume_algo::gpu::tally_sums::{Cells as NumberCells, Numbers};
use graphlume_device::columns::{Cells, DType, Device, DeviceColumn, Mask};
use graphlume_device::cuda::{Buf, Gpu, View};
use graphlume_store::{
    TallyAnswer, TallyBranch, TallyFold, TallyJob, TallyMarks, TallySums, TallyWanted,
};
use graphlume_types::CancelToken;

use super::chain_sets::ChainError;
use super::tables::predicate;

/// What a job reads, on a device.
pub(super) struct Copies {
    /// Of each condition.
    pub(super) columns: Vec<Vec<Arc<DeviceColumn>>>,
    /// Of each step, those of branches first and that of the fold last.
    pub(super) relations: Vec<Arc<Relation>>,
    /// The numbers that the fold adds up.
    pub(super) numbers: Option<Arc<DeviceColumn>>,
}

/// The job, over copies on this device; `None` where a number leaves 63 bits.
pub(super) fn run(
    (gpu, device): (&Gpu, &Device),
    job: &TallyJob<'_>,
    copies: &Copies,
    cancel: &CancelToken,
) -> Result<Option<TallyAnswer>, ChainError> {
    let masks = masks(device, job, copies, cancel)?;
    let marks = Marks { masks: &masks };
    let mut relations = copies.relations.iter();
    // The nodes that all patterns have led to so far.
    let mut met: Option<Buf<u32>> = None;
    for branch in &job.branches {
        let own = relations.by_ref().take(branch.steps.len());
        let within = met.as_ref().map(Buf::view).or(marks.of(job.from)?);
        met = Some(led_to(gpu, (job, branch), own, (&marks, within), cancel)?);
    }
    if job.wanted == TallyWanted::Starts {
        let words =
            met.ok_or_else(|| ChainError::Program("no pattern leads to nodes".to_owned()))?;
        cancel.check()?;
        let nodes = device.mask_count(&Mask::of_words(job.num_nodes as usize, words)?)?;
        return Ok(Some(TallyAnswer::Total(nodes)));
    }
    let first = met.as_ref().map(Buf::view).or(marks.of(job.from)?);
    let first = first.map_or(Paths::One, Paths::Marks);
    counted(gpu, job, (relations, copies.numbers.as_deref()), (&marks, first), cancel)
}

/// The nodes that meet the conditions, by their places.
struct Marks<'m> {
    masks: &'m [Mask],
}

impl<'m> Marks<'m> {
    fn of(&self, place: Option<usize>) -> Result<Option<View<'m, u32>>, ChainError> {
        let Some(place) = place else { return Ok(None) };
        let marks = self.masks.get(place).and_then(Mask::words);
        let missing = || ChainError::Program(format!("condition {place} has no marks on the GPU"));
        marks.map(Some).ok_or_else(missing)
    }
}

/// The nodes that a pattern leads to, of those within a set.
fn led_to<'c>(
    gpu: &Gpu,
    (job, branch): (&TallyJob<'_>, &TallyBranch),
    relations: impl Iterator<Item = &'c Arc<Relation>>,
    (marks, within): (&Marks<'_>, Option<View<'_, u32>>),
    cancel: &CancelToken,
) -> Result<Buf<u32>, ChainError> {
    let mut count = Count::new(gpu, job.num_nodes, 0)?;
    let first = marks.of(branch.from)?.map_or(Paths::One, Paths::Marks);
    let mut met: Option<Buf<u32>> = None;
    for (i, (step, relation)) in branch.steps.iter().zip(relations).enumerate() {
        cancel.check()?;
        let is_last = i + 1 == branch.steps.len();
        let to = if is_last { within } else { marks.of(step.to)? };
        let from = met.as_ref().map_or(first, |words| Paths::Marks(words.view()));
        let taken = PatternStep { relation, forward: step.forward, to, before: None };
        let counts = count.pull(&taken, from)?;
        met = Some(count.marks(counts.view())?);
    }
    met.ok_or_else(|| ChainError::Program("a pattern without a step".to_owned()))
}

/// The steps behind the nodes where paths begin.
fn counted<'c>(
    gpu: &Gpu,
    job: &TallyJob<'_>,
    (mut relations, numbers): (impl Iterator<Item = &'c Arc<Relation>>, Option<&DeviceColumn>),
    (marks, first): (&Marks<'_>, Paths<'_>),
    cancel: &CancelToken,
) -> Result<Option<TallyAnswer>, ChainError> {
    fn paths<'v>(held: Option<&'v Buf<u64>>, first: Paths<'v>) -> Paths<'v> {
        held.map_or(first, |counts| Paths::Each(counts.view()))
    }
    let is_listed = job.wanted != TallyWanted::Total && job.fold.is_none();
    let room = if is_listed { job.num_nodes as usize } else { 0 };
    let mut count = Count::new(gpu, job.num_nodes, room)?;
    // The numbers after the last step, and after the one before it; none where paths begin.
    let (mut now, mut before): (Option<Buf<u64>>, Option<Buf<u64>>) = (None, None);
    for (i, (step, relation)) in job.steps.iter().zip(relations.by_ref()).enumerate() {
        cancel.check()?;
        let earlier = step.apart.then(|| paths(before.as_ref(), first));
        let (forward, to) = (step.forward, marks.of(step.to)?);
        let taken = PatternStep { relation, forward, to, before: earlier };
        let from = paths(now.as_ref(), first);
        if i + 1 == job.steps.len() && job.wanted == TallyWanted::Total {
            return Ok(answer(count.total(&taken, from)?));
        }
        let next = count.pull(&taken, from)?;
        before = now.replace(next);
    }
    cancel.check()?;
    if let Some(fold) = &job.fold {
        let copies = (relations.next(), numbers);
        return summed(gpu, (job, fold), copies, (marks, paths(now.as_ref(), first)));
    }
    let no_step = || ChainError::Program("a count of paths without a step".to_owned());
    let counts = now.ok_or_else(no_step)?;
    let wanted = match job.wanted {
        TallyWanted::First(wanted) => Some(wanted),
        _ => None,
    };
    Ok(answer(count.list(&counts, wanted)?))
}

/// What the fold adds up for each node that paths lead to.
fn summed(
    gpu: &Gpu,
    (job, fold): (&TallyJob<'_>, &TallyFold<'_>),
    (relation, numbers): (Option<&Arc<Relation>>, Option<&DeviceColumn>),
    (marks, paths): (&Marks<'_>, Paths<'_>),
) -> Result<Option<TallyAnswer>, ChainError> {
    let missing = || ChainError::Program("numbers or relationships are not on the GPU".to_owned());
    let (relation, numbers) = relation.zip(numbers).ok_or_else(missing)?;
    let words = numbers.words().ok_or_else(missing)?;
    let cells = match numbers.dtype() {
        DType::I64 => NumberCells::Ints(words.cast()),
        DType::F64 => NumberCells::Floats(words.cast()),
        _ => return Err(ChainError::Program("a fold adds up numbers".to_owned())),
    };
    let valid = numbers.valid().map(|mask| mask.words().ok_or_else(missing)).transpose()?;
    let count = Count::of_sums(gpu, job.num_nodes, fold_room(fold))?;
    // Nodes without a path are not looked at.
    let reached = match paths {
        Paths::Each(each) => Some(count.marks(each)?),
        Paths::One | Paths::Marks(_) => None,
    };
    let to = match paths {
        Paths::Marks(marks) => Some(marks),
        Paths::One | Paths::Each(_) => reached.as_ref().map(Buf::view),
    };
    let step = PatternStep { relation, forward: !fold.step.forward, to, before: None };
    let numbers = Numbers { cells, valid, least: fold.least };
    let Some(sums) = count.sums(&step, marks.of(fold.step.to)?, numbers, paths)? else {
        return Ok(None);
    };
    let sums = sums.into_iter().map(|of| TallySums {
        node: of.node,
        paths: of.paths,
        rows: of.rows,
        values: of.values,
        sum: (of.above as i64).wrapping_add(fold.least.wrapping_mul(of.values.into())),
    });
    Ok(Some(TallyAnswer::Sums(sums.collect())))
}

/// From how many nodes at most the step of a fold leads on.
pub(super) fn fold_room(fold: &TallyFold<'_>) -> usize {
    let near = if fold.step.forward { 0 } else { 1 };
    fold.step.relation.places[near] as usize
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
        let marks = match marks {
            TallyMarks::Table(marks) => marks,
            TallyMarks::Nodes(nodes) => {
                cancel.check()?;
                let listed = device.upload(Cells::U32(nodes), None)?;
                return Ok(device.mask_from_rows(job.num_nodes as usize, &listed)?);
            }
        };
        let columns: Vec<&DeviceColumn> = columns.iter().map(AsRef::as_ref).collect();
        let no_test = || ChainError::Program("a condition without a test".to_owned());
        let test = marks.test.as_ref().ok_or_else(no_test)?;
        Ok(device.filter(marks.rows, &columns, &predicate(test), cancel)?)
    });
    marked.collect()
}
