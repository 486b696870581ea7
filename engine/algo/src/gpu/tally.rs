//! Numbers of paths along the relationships of some types, on the device, step by step.

use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, View, kernels};

use super::relation::{Lists, Relation};
use crate::AlgoError;
use crate::gpu_graph::{THREADS, device_bytes, mask_words, one_wave};

/// Nodes that the kernels give to a warp at a time.
const ROWS_OF_WARP: usize = 4;
/// Buckets by which numbers of paths are told apart.
const BUCKETS: usize = 2_048;
/// Words before the list of nodes, as the kernels have them.
pub(super) const STATE: usize = 8;
/// Words of a node with its number.
const PAIR: usize = 2;
const TOTAL: usize = 0;
const LOOPED: usize = 1;
const BEYOND: usize = 2;
const FOUND: usize = 4;
/// Nodes that come back with the words before the list, so that few are read at once.
pub const AT_ONCE: usize = 1_024;

/// Bits of the kernels' `flags`.
pub(super) const TO: u32 = 1;
const ONE: u32 = 2;
const MARKS: u32 = 4;
const BEFORE_SHIFT: u32 = 2;
const NEXT: u32 = 32;

/// How many paths lead to each node.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "views have none")]
pub enum Paths<'a> {
    /// One.
    One,
    /// One to each marked node, and none to others.
    Marks(View<'a, u32>),
    /// So many.
    Each(View<'a, u64>),
}

impl<'a> Paths<'a> {
    pub(super) const fn flags(self) -> u32 {
        match self {
            Self::One => ONE,
            Self::Marks(_) => MARKS,
            Self::Each(_) => 0,
        }
    }

    const fn marks(self) -> Option<View<'a, u32>> {
        match self {
            Self::Marks(marks) => Some(marks),
            _ => None,
        }
    }
}

/// A step of a pattern.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "views have none")]
pub struct PatternStep<'a> {
    /// The relationships.
    pub relation: &'a Relation,
    /// Whether they are followed from their sources.
    pub forward: bool,
    /// The nodes that may be reached; all without it.
    pub to: Option<View<'a, u32>>,
    /// What led to the nodes a step earlier, where a relationship must differ from that of the step before, whose relation and
    /// direction are the same.
    pub before: Option<Paths<'a>>,
}

impl PatternStep<'_> {
    const fn flags(&self, paths: Paths<'_>) -> u32 {
        paths.flags() | if self.to.is_some() { TO } else { 0 }
    }
}

/// What has been counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// A number has left 63 bits, and nothing else is known.
    Beyond,
    /// All paths.
    Total(u64),
    /// Nodes in ascending order, each with the paths that lead to it; it is not zero.
    Each(Vec<(u32, u64)>),
}

/// What stands in for arrays that a kernel does not look at.
#[derive(Debug)]
pub(super) struct Unused {
    pub(super) words: Buf<u32>,
    paths: Buf<u64>,
}

impl Unused {
    pub(super) fn views<'v>(&'v self, paths: Paths<'v>) -> (View<'v, u32>, View<'v, u64>) {
        match paths {
            Paths::One => (self.words.view(), self.paths.view()),
            Paths::Marks(marks) => (marks, self.paths.view()),
            Paths::Each(each) => (self.words.view(), each),
        }
    }
}

/// A count of paths in progress, with the words and the list that the kernels write to.
#[derive(Debug)]
pub struct Count<'g> {
    pub(super) gpu: &'g Gpu,
    pub(super) num_nodes: u32,
    pub(super) out: Buf<u64>,
    /// Nodes that the list has room for, and the words of each.
    pub(super) room: usize,
    width: usize,
    pub(super) unused: Unused,
}

impl<'g> Count<'g> {
    /// For a graph of so many nodes, with room for a list of so many of them.
    ///
    /// # Errors
    /// Those of an allocation.
    pub fn new(gpu: &'g Gpu, num_nodes: u32, room: usize) -> Result<Self, DeviceError> {
        Self::with_width(gpu, num_nodes, room, PAIR)
    }

    pub(super) fn with_width(
        gpu: &'g Gpu,
        num_nodes: u32,
        room: usize,
        width: usize,
    ) -> Result<Self, DeviceError> {
        let room = room.min(num_nodes as usize);
        let mut out = gpu.alloc("a count of paths", STATE + width * room)?;
        gpu.zero(out.slice_mut(..STATE))?;
        let unused = Unused { words: gpu.alloc("no marks", 0)?, paths: gpu.alloc("no paths", 0)? };
        Ok(Self { gpu, num_nodes, out, room, width, unused })
    }

    /// Upper bound of the device bytes that a count takes: the list, what marks, and the numbers of three steps.
    #[must_use]
    pub const fn footprint(num_nodes: u64, room: u64) -> u64 {
        device_bytes(STATE as u64 + 2 * room, 8) + 3 * device_bytes(num_nodes, 8) + (1 << 14)
    }

    fn check(&self, step: &PatternStep<'_>, paths: Paths<'_>) -> Result<(), AlgoError> {
        let (n, words) = (self.num_nodes as usize, mask_words(self.num_nodes));
        AlgoError::check_len("a relation", step.relation.num_nodes() as usize, n, "nodes")?;
        AlgoError::check_len("to", step.to.map_or(words, |v| v.len()), words, "32 nodes")?;
        for paths in [Some(paths), step.before].into_iter().flatten() {
            match paths {
                Paths::One => {}
                Paths::Marks(v) => AlgoError::check_len("marks", v.len(), words, "32 nodes")?,
                Paths::Each(v) => AlgoError::check_len("paths", v.len(), n, "nodes")?,
            }
        }
        Ok(())
    }

    /// The number of relationships at marked nodes, for a kernel that asks whether these are all.
    fn covered(
        &self,
        lists: &Lists,
        marks: Option<View<'_, u32>>,
    ) -> Result<Buf<u64>, DeviceError> {
        let mut sum = self.gpu.zeros("relationships at marked nodes", 1)?;
        if let Some(marks) = marks {
            let n = self.num_nodes;
            let grid = Grid::cover(self.gpu, n as usize, THREADS);
            kernels::tally_covered(self.gpu, grid, n, lists.offsets.view(), marks, sum.view_mut())?;
        }
        Ok(sum)
    }

    fn rows_grid(&self) -> Grid {
        Grid::warps(self.gpu, (self.num_nodes as usize).div_ceil(ROWS_OF_WARP), THREADS)
    }

    /// The paths to each node that a step makes of those to the nodes where it begins.
    ///
    /// # Errors
    /// [`AlgoError::Length`] for an array of another length, [`AlgoError::Device`].
    pub fn pull(
        &mut self,
        step: &PatternStep<'_>,
        paths: Paths<'_>,
    ) -> Result<Buf<u64>, AlgoError> {
        self.check(step, paths)?;
        let (gpu, n, m) = (self.gpu, self.num_nodes, step.relation.num_edges());
        let mut counts = gpu.alloc::<u64>("paths to nodes", n as usize)?;
        let covered = self.covered(step.relation.lists(step.forward), paths.marks())?;
        let lists = step.relation.lists(!step.forward);
        let flags = step.flags(paths);
        let to = step.to.unwrap_or(self.unused.words.view());
        let (marks, each) = self.unused.views(paths);
        kernels::tally_pull(
            gpu,
            self.rows_grid(),
            n,
            m,
            flags,
            lists.offsets.view(),
            lists.ends.view(),
            to,
            marks,
            each,
            covered.view(),
            counts.view_mut(),
            self.out.slice_mut(..STATE),
        )?;
        if lists.chunks() > 0 && !matches!(paths, Paths::One) {
            kernels::tally_pull_chunks(
                gpu,
                Grid::warps(gpu, lists.chunks() as usize, THREADS),
                lists.chunks(),
                n,
                m,
                flags,
                lists.chunk_rows.view(),
                lists.chunk_begins.view(),
                lists.offsets.view(),
                lists.ends.view(),
                to,
                marks,
                each,
                covered.view(),
                counts.view_mut(),
                self.out.slice_mut(..STATE),
            )?;
        }
        self.loops(step, paths, Some(&mut counts))?;
        Ok(counts)
    }

    /// All paths that a step makes of those to the nodes where it begins. Waits.
    ///
    /// # Errors
    /// Those of [`Self::pull`].
    pub fn total(mut self, step: &PatternStep<'_>, paths: Paths<'_>) -> Result<Counted, AlgoError> {
        self.check(step, paths)?;
        let (gpu, n, m) = (self.gpu, self.num_nodes, step.relation.num_edges());
        let covered = self.covered(step.relation.lists(!step.forward), step.to)?;
        let lists = step.relation.lists(step.forward);
        let flags = step.flags(paths);
        let to = step.to.unwrap_or(self.unused.words.view());
        let (marks, each) = self.unused.views(paths);
        kernels::tally_total(
            gpu,
            self.rows_grid(),
            n,
            m,
            flags,
            lists.offsets.view(),
            lists.ends.view(),
            to,
            marks,
            each,
            covered.view(),
            self.out.slice_mut(..STATE),
        )?;
        if lists.chunks() > 0 && step.to.is_some() {
            kernels::tally_total_chunks(
                gpu,
                Grid::warps(gpu, lists.chunks() as usize, THREADS),
                lists.chunks(),
                n,
                m,
                flags,
                lists.chunk_rows.view(),
                lists.chunk_begins.view(),
                lists.offsets.view(),
                lists.ends.view(),
                to,
                marks,
                each,
                covered.view(),
                self.out.slice_mut(..STATE),
            )?;
        }
        self.loops(step, paths, None)?;
        let state = gpu.read(self.out.slice(..STATE))?;
        Ok(match state[BEYOND] {
            0 => Counted::Total(state[TOTAL].saturating_sub(state[LOOPED])),
            _ => Counted::Beyond,
        })
    }

    /// Takes out the paths whose last two relationships are one.
    fn loops(
        &mut self,
        step: &PatternStep<'_>,
        paths: Paths<'_>,
        counts: Option<&mut Buf<u64>>,
    ) -> Result<(), AlgoError> {
        let count = step.relation.loop_nodes.len();
        let Some(before) = step.before.filter(|_| count > 0) else { return Ok(()) };
        let next = if counts.is_some() { NEXT } else { 0 };
        let flags = step.flags(paths) | before.flags() << BEFORE_SHIFT | next;
        let to = step.to.unwrap_or(self.unused.words.view());
        let (marks, each) = self.unused.views(paths);
        let (before_marks, before_each) = self.unused.views(before);
        let mut none = self.gpu.alloc::<u64>("no counts", 0)?;
        let counts = counts.map_or_else(|| none.view_mut(), |counts| counts.view_mut());
        kernels::tally_loops(
            self.gpu,
            Grid::cover(self.gpu, count, THREADS),
            count as u32,
            flags,
            step.relation.loop_nodes.view(),
            step.relation.loop_counts.view(),
            to,
            marks,
            each,
            before_marks,
            before_each,
            counts,
            self.out.slice_mut(..STATE),
        )?;
        Ok(())
    }

    /// The nodes that paths lead to, as a mask.
    ///
    /// # Errors
    /// [`AlgoError::Length`] when `counts` are not those of all nodes, [`AlgoError::Device`].
    pub fn marks(&self, counts: View<'_, u64>) -> Result<Buf<u32>, AlgoError> {
        let n = self.num_nodes;
        AlgoError::check_len("counts", counts.len(), n as usize, "nodes")?;
        let mut marks = self.gpu.alloc("nodes that paths lead to", mask_words(n))?;
        let grid = Grid::cover(self.gpu, n as usize, THREADS);
        kernels::tally_marks(self.gpu, grid, n, counts, marks.view_mut())?;
        Ok(marks)
    }

    /// The nodes that paths lead to, or those among them that may be the first `wanted` by their number: all with at least the
    /// least number of a bucket, so that there are some more. Waits.
    ///
    /// # Errors
    /// [`AlgoError::Length`] when `counts` are not those of all nodes, [`AlgoError::Device`].
    pub fn list(mut self, counts: &Buf<u64>, wanted: Option<u32>) -> Result<Counted, AlgoError> {
        let (gpu, n) = (self.gpu, self.num_nodes);
        AlgoError::check_len("counts", counts.len(), n as usize, "nodes")?;
        if let Some(wanted) = wanted {
            let mut buckets = gpu.zeros::<u32>("nodes by their paths", BUCKETS)?;
            let grid = one_wave(gpu, n as usize);
            kernels::tally_histogram(gpu, grid, n, counts.view(), buckets.view_mut())?;
            let grid = Grid::blocks(1, THREADS);
            let state = self.out.slice_mut(..STATE);
            kernels::tally_least(gpu, grid, wanted, buckets.view(), state)?;
        }
        let (state, list) = self.out.view_mut().split_at(STATE);
        let grid = Grid::cover(gpu, n as usize, THREADS);
        kernels::tally_list(gpu, grid, n, self.room as u32, counts.view(), list, state)?;
        let Some(words) = self.listed()? else { return Ok(Counted::Beyond) };
        let pairs = words.chunks_exact(PAIR);
        let mut nodes: Vec<(u32, u64)> = pairs.map(|pair| (pair[0] as u32, pair[1])).collect();
        nodes.sort_unstable();
        Ok(Counted::Each(nodes))
    }

    /// The words of the nodes in the list; `None` where a number has left 63 bits. Waits.
    pub(super) fn listed(&self) -> Result<Option<Vec<u64>>, AlgoError> {
        let (gpu, width) = (self.gpu, self.width);
        let first = self.room.min(AT_ONCE);
        let mut words = gpu.read(self.out.slice(..STATE + width * first))?;
        if words[BEYOND] != 0 {
            return Ok(None);
        }
        let found = words[FOUND] as usize;
        AlgoError::check_len("the list", self.room.max(found), self.room, "nodes")?;
        if found > first {
            let rest = STATE + width * first..STATE + width * found;
            words.extend(gpu.read(self.out.slice(rest))?);
        }
        words.truncate(STATE + width * found);
        words.drain(..STATE);
        Ok(Some(words))
    }
}
