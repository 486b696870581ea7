//! Local moving on the device.

use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, View, ViewMut, kernels};
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;

use super::louvain::Tuning;
use super::louvain_level::Level;
use crate::AlgoError;
use crate::community::louvain::Options;
use crate::community::louvain::sub_rounds::{
    OPEN_ROUNDS, ROUNDS_MAX, SUB_ROUNDS, first_sub_round, modularity_of,
};
use crate::gpu_graph::THREADS;

/// Row classes: five that queue, and wide rows. See `lv_class` in `louvain.cuh`.
const CLASSES: usize = 6;
const WIDE: usize = 5;

/// The deciding kernel of a class; all have the same parameters.
type Decide = fn(
    &Gpu,
    Grid,
    u32,
    u32,
    u32,
    f64,
    f64,
    View<'_, u32>,
    View<'_, u32>,
    View<'_, u32>,
    View<'_, u32>,
    View<'_, u64>,
    View<'_, u64>,
    View<'_, u32>,
    View<'_, u64>,
    ViewMut<'_, u32>,
    ViewMut<'_, u64>,
) -> Result<(), DeviceError>;

/// Kernel, threads of a block and rows that a block works on at a time, of each class that queues.
const DECIDES: [(Decide, u32, usize); WIDE] = [
    (kernels::lv_decide_tiny, THREADS, 32),
    (kernels::lv_decide_narrow, THREADS, 8),
    (kernels::lv_decide_warp, THREADS, 8),
    (kernels::lv_decide_block, 128, 1),
    (kernels::lv_decide_large, 512, 1),
];

/// What moving leaves for the aggregation.
pub(crate) struct Groups {
    /// The community of each node, named by some node's index.
    pub(crate) labels: Buf<u32>,
    /// The nodes whose rows are wide.
    pub(crate) hubs: Buf<u32>,
}

/// Slots of a table for `keys` keys: `lv_slots` in `louvain.cuh`.
pub(crate) const fn table_slots(keys: u64) -> u64 {
    (keys + keys / 4 + 32) / 32 * 32
}

/// Tables in global memory, all slots free.
pub(crate) struct Tables {
    pub(crate) keys: Buf<u32>,
    pub(crate) sums: Buf<u64>,
}

impl Tables {
    pub(crate) fn new(gpu: &Gpu, slots: u64) -> Result<Self, DeviceError> {
        if slots > u64::from(u32::MAX) {
            let (what, limit) = ("the tables of long rows", u64::from(u32::MAX));
            return Err(DeviceError::TooLarge { what, need: slots, limit });
        }
        let mut keys = gpu.alloc("table keys", slots as usize)?;
        let mut sums = gpu.alloc("table sums", slots as usize)?;
        let grid = Grid::cover(gpu, slots as usize, THREADS);
        kernels::lv_free_slots(gpu, grid, slots, keys.view_mut(), sums.view_mut())?;
        Ok(Self { keys, sums })
    }
}

/// The wide rows, by sub-round.
struct WideRows {
    nodes: Buf<u32>,
    /// Where each row's table begins, and where the last one of its sub-round ends.
    places: Buf<u32>,
    /// First row of each sub-round, and the number of rows.
    parts: [usize; SUB_ROUNDS as usize + 1],
    tables: Tables,
    scores: Buf<f64>,
    bests: Buf<u32>,
    insides: Buf<u64>,
    movers: Buf<u32>,
}

impl WideRows {
    fn new(
        gpu: &Gpu,
        level: &Level,
        seed: u64,
        rows: usize,
        team: u32,
    ) -> Result<Self, DeviceError> {
        let n = level.num_nodes();
        let mut nodes = gpu.alloc::<u32>("long rows", rows)?;
        let mut lengths = gpu.alloc::<u32>("long row lengths", rows)?;
        let mut host = Vec::new();
        if rows > 0 {
            let mut count = gpu.zeros::<u32>("long rows", 1)?;
            let grid = Grid::cover(gpu, n as usize, THREADS);
            let (v, l, most) = (nodes.view_mut(), lengths.view_mut(), rows as u32);
            kernels::lv_list_wide(
                gpu,
                grid,
                n,
                most,
                level.offsets.view(),
                v,
                l,
                count.view_mut(),
            )?;
            let part = |v: u32| (h64(seed, 78, u64::from(v)) % u64::from(SUB_ROUNDS)) as usize;
            let pairs = gpu.read(nodes.view())?.into_iter().zip(gpu.read(lengths.view())?);
            host.extend(pairs.map(|(v, length)| (part(v), v, length)));
            host.sort_unstable();
        }
        let (mut places, mut parts, mut slots) = (Vec::new(), [0; SUB_ROUNDS as usize + 1], 0);
        for part in 0..SUB_ROUNDS as usize {
            let mut at = 0;
            places.push(0);
            for (_, _, length) in host.iter().filter(|(p, _, _)| *p == part) {
                at += table_slots(u64::from(*length.min(&n)));
                // A sum that does not fit is refused below.
                places.push(u32::try_from(at).unwrap_or(u32::MAX));
                parts[part + 1] += 1;
            }
            slots = slots.max(at);
            parts[part + 1] += parts[part];
        }
        gpu.write(nodes.view_mut(), &host.iter().map(|(_, v, _)| *v).collect::<Vec<_>>())?;
        let findings = parts.windows(2).map(|p| p[1] - p[0]).max().unwrap_or(0) * team as usize;
        Ok(Self {
            nodes,
            places: gpu.upload("table places", &places)?,
            parts,
            tables: Tables::new(gpu, slots)?,
            scores: gpu.alloc("long row scores", findings)?,
            bests: gpu.alloc("long row communities", findings)?,
            insides: gpu.alloc("long row sums", findings)?,
            movers: gpu.alloc("moved long rows", rows)?,
        })
    }
}

/// The local moving phase on one level.
pub(crate) struct Moving<'a> {
    gpu: &'a Gpu,
    level: &'a Level,
    resolution: f64,
    seed: u64,
    tuning: Tuning,
    /// Twice the weight of all edges.
    twice: f64,
    /// Rows of each class.
    classes: [u32; CLASSES],
    /// Where each class begins in the queue.
    starts: [u32; CLASSES],
    bases: Buf<u32>,
    /// Queued rows of each class in this sub-round, then movers with short and with wide rows.
    counts: Buf<u32>,
    strengths: Buf<u64>,
    totals: Buf<u64>,
    labels: Buf<u32>,
    awake: Buf<u8>,
    parts: Buf<u8>,
    queue: Buf<u32>,
    choice: Buf<u32>,
    gains: Buf<u64>,
    movers: Buf<u32>,
    /// Gain and moves of this round.
    round: Buf<u64>,
    wide: WideRows,
}

impl<'a> Moving<'a> {
    pub(crate) fn new(
        gpu: &'a Gpu,
        level: &'a Level,
        options: &Options,
        depth: u64,
        tuning: Tuning,
    ) -> Result<Self, DeviceError> {
        let (resolution, seed) = (options.resolution, options.seed.wrapping_add(depth));
        let n = level.num_nodes() as usize;
        let mut strengths = gpu.alloc::<u64>("strengths", n)?;
        let mut totals = gpu.alloc::<u64>("community totals", n)?;
        let mut labels = gpu.alloc::<u32>("communities", n)?;
        let mut awake = gpu.alloc::<u8>("nodes awake", n)?;
        let mut parts = gpu.alloc::<u8>("sub-rounds", n)?;
        let mut twice = gpu.zeros::<u64>("total weight", 1)?;
        let mut classes = gpu.zeros::<u32>("row classes", CLASSES)?;
        kernels::lv_open(
            gpu,
            tuning.grid(gpu, n * 32, THREADS),
            n as u32,
            u32::from(level.unit),
            seed,
            SUB_ROUNDS,
            level.offsets.view(),
            level.weights.view(),
            level.loops.view(),
            strengths.view_mut(),
            totals.view_mut(),
            labels.view_mut(),
            awake.view_mut(),
            parts.view_mut(),
            twice.view_mut(),
            classes.view_mut(),
        )?;
        let mut sizes = [0; CLASSES];
        gpu.read_into(classes.view(), &mut sizes)?;
        let twice: u64 = gpu.read(twice.view())?.iter().sum();
        let mut starts = [0; CLASSES];
        for class in 1..CLASSES {
            starts[class] = starts[class - 1] + sizes[class - 1];
        }
        Ok(Self {
            gpu,
            level,
            resolution,
            seed,
            tuning,
            twice: twice as f64,
            classes: sizes,
            starts,
            bases: gpu.upload("queue starts", &starts)?,
            counts: gpu.zeros("queue lengths", CLASSES + 2)?,
            strengths,
            totals,
            labels,
            awake,
            parts,
            queue: gpu.alloc("queue", n)?,
            choice: gpu.alloc("choices", n)?,
            gains: gpu.alloc("gains", n)?,
            movers: gpu.alloc("movers", n)?,
            round: gpu.zeros("round", 2)?,
            wide: WideRows::new(gpu, level, seed, sizes[WIDE] as usize, tuning.team)?,
        })
    }

    /// Rounds until one brings less than `gain_min` of modularity; also answers what all brought.
    pub(crate) fn run(
        mut self,
        gain_min: f64,
        cancel: &CancelToken,
    ) -> Result<(Groups, f64), AlgoError> {
        let (gpu, mut gain) = (self.gpu, 0.0);
        for round in 0..ROUNDS_MAX {
            gpu.zero(self.round.view_mut())?;
            let first = first_sub_round(self.seed, round);
            for part in 0..SUB_ROUNDS {
                cancel.check()?;
                self.sub_round(round, (first + part) % SUB_ROUNDS)?;
            }
            let mut done = [0; 2];
            gpu.read_into(self.round.view(), &mut done)?;
            let brought = modularity_of(done[0], self.twice);
            gain += brought;
            if brought < gain_min {
                break;
            }
        }
        Ok((Groups { labels: self.labels, hubs: self.wide.nodes }, gain))
    }

    fn sub_round(&mut self, round: u32, part: u32) -> Result<(), DeviceError> {
        let (gpu, n) = (self.gpu, self.level.num_nodes());
        gpu.zero(self.counts.view_mut())?;
        kernels::lv_collect(
            gpu,
            self.tuning.grid(gpu, n as usize, THREADS),
            n,
            part,
            u32::from(round < OPEN_ROUNDS),
            self.parts.view(),
            self.level.offsets.view(),
            self.awake.view_mut(),
            self.bases.view(),
            self.counts.view_mut(),
            self.queue.view_mut(),
        )?;
        // The long rows first: the short ones fill the gaps that they leave.
        for class in (0..WIDE).rev() {
            self.decide(class)?;
        }
        self.decide_wide(part as usize)?;
        kernels::lv_apply(
            gpu,
            self.tuning.grid(gpu, (n / SUB_ROUNDS) as usize + 1, THREADS),
            n,
            self.wide.movers.len() as u32,
            self.bases.view(),
            self.counts.view_mut(),
            self.queue.view(),
            self.choice.view(),
            self.gains.view(),
            self.strengths.view(),
            self.labels.view_mut(),
            self.totals.view_mut(),
            self.movers.view_mut(),
            self.wide.movers.view_mut(),
            self.round.view_mut(),
        )?;
        // Who moved does not matter where every node decides in the next round anyway.
        if round + 1 >= OPEN_ROUNDS { self.wake() } else { Ok(()) }
    }

    fn decide(&mut self, class: usize) -> Result<(), DeviceError> {
        let (gpu, level) = (self.gpu, self.level);
        let (kernel, threads, rows) = DECIDES[class];
        let most = self.classes[class] as usize;
        if most == 0 {
            return Ok(());
        }
        // A sub-round has about this many of the class; the kernels stride over more.
        let blocks = (most / SUB_ROUNDS as usize + 1).div_ceil(rows);
        let grid = self.tuning.blocks(gpu, blocks, 2_048 / threads, threads);
        let start = self.starts[class] as usize;
        kernel(
            gpu,
            grid,
            level.num_nodes(),
            most as u32,
            u32::from(level.unit),
            self.resolution,
            self.twice,
            self.counts.slice(class..=class),
            self.queue.slice(start..start + most),
            level.offsets.view(),
            level.ends.view(),
            level.weights.view(),
            self.strengths.view(),
            self.labels.view(),
            self.totals.view(),
            self.choice.slice_mut(start..start + most),
            self.gains.slice_mut(start..start + most),
        )
    }

    fn decide_wide(&mut self, part: usize) -> Result<(), DeviceError> {
        let (gpu, level, team, n) =
            (self.gpu, self.level, self.tuning.team, self.level.num_nodes());
        let (first, last) = (self.wide.parts[part], self.wide.parts[part + 1]);
        let (rows, count) = ((last - first) as u32, last - first);
        if rows == 0 {
            return Ok(());
        }
        let wide = &mut self.wide;
        let (nodes, places) = (wide.nodes.slice(first..last), wide.places.slice(first + part..));
        let grid = self.tuning.blocks(gpu, count.saturating_mul(team as usize), 8, THREADS);
        kernels::lv_wide_fill(
            gpu,
            grid,
            n,
            rows,
            team,
            u32::from(level.unit),
            nodes,
            places,
            self.awake.view(),
            level.offsets.view(),
            level.ends.view(),
            level.weights.view(),
            self.labels.view(),
            wide.tables.keys.view_mut(),
            wide.tables.sums.view_mut(),
        )?;
        kernels::lv_wide_search(
            gpu,
            grid,
            n,
            rows,
            team,
            self.resolution,
            self.twice,
            nodes,
            places,
            self.awake.view(),
            self.strengths.view(),
            self.labels.view(),
            self.totals.view(),
            wide.tables.keys.view_mut(),
            wide.tables.sums.view_mut(),
            wide.scores.view_mut(),
            wide.bests.view_mut(),
            wide.insides.view_mut(),
        )?;
        let start = self.starts[WIDE] as usize;
        kernels::lv_wide_settle(
            gpu,
            self.tuning.grid(gpu, count, 128),
            n,
            rows,
            team,
            self.classes[WIDE],
            self.resolution,
            self.twice,
            nodes,
            self.strengths.view(),
            self.labels.view(),
            self.totals.view(),
            wide.scores.view(),
            wide.bests.view(),
            wide.insides.view(),
            self.awake.view_mut(),
            self.counts.slice_mut(WIDE..=WIDE),
            self.queue.slice_mut(start..),
            self.choice.slice_mut(start..),
            self.gains.slice_mut(start..),
        )
    }

    fn wake(&mut self) -> Result<(), DeviceError> {
        let (gpu, level, n) = (self.gpu, self.level, self.level.num_nodes());
        let grid = self.tuning.grid(gpu, (n / SUB_ROUNDS) as usize * 32 + 1, THREADS);
        let (offsets, ends) = (level.offsets.view(), level.ends.view());
        let (count, labels) = (self.counts.slice(CLASSES..=CLASSES), self.labels.view());
        let awake = self.awake.view_mut();
        kernels::lv_wake(gpu, grid, n, count, self.movers.view(), offsets, ends, labels, awake)?;
        if self.classes[WIDE] == 0 {
            return Ok(());
        }
        let team = self.tuning.team;
        let items = (self.classes[WIDE] as usize).saturating_mul(team as usize);
        let grid = self.tuning.blocks(gpu, items, 8, THREADS);
        let count = self.counts.slice(CLASSES + 1..=CLASSES + 1);
        let (movers, awake) = (self.wide.movers.view(), self.awake.view_mut());
        kernels::lv_wake_wide(gpu, grid, n, team, count, movers, offsets, ends, labels, awake)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_room_for_all_keys_and_a_free_slot() {
        for keys in (0..5_000).chain([u64::from(u32::MAX)]) {
            let slots = table_slots(keys);
            assert!(
                slots > keys + keys / 4
                    && slots <= keys + keys / 4 + 32
                    && slots.is_multiple_of(32)
            );
        }
    }
}
