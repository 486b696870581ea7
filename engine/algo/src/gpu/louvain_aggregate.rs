//! Aggregation on the device: from the communities of a level to the next level's graph.

use graphlume_device::cuda::primitives::Scan;
use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, View, ViewMut, kernels};
use graphlume_types::CancelToken;

use super::louvain::Tuning;
use super::louvain_level::Level;
use super::louvain_move::{Groups, Tables, table_slots};
use crate::AlgoError;
use crate::gpu_graph::THREADS;

/// A community with at most this many entries is never wide: see `lv_sort_communities`.
const WIDE_MIN: u64 = 3_073;

/// Communities by how their rows are folded.
struct Lists {
    /// Of a few entries, a warp each; of more, a block each.
    narrow: Buf<u32>,
    broad: Buf<u32>,
    /// Lengths of the three lists.
    counts: Buf<u32>,
    num_narrow: usize,
    num_broad: usize,
    wide: Buf<u32>,
    num_wide: usize,
    /// Where each wide community's table begins, and the end.
    tables_at: Buf<u32>,
    tables: Tables,
    /// Place of each community in the wide list.
    rows: Buf<u32>,
    /// Where each community's preliminary row begins, and the end.
    places: Buf<u32>,
}

/// Communities that have their numbers.
pub(crate) struct Aggregation<'a> {
    gpu: &'a Gpu,
    level: Level,
    tuning: Tuning,
    hubs: Buf<u32>,
    k: u32,
    /// Number of each node's community.
    fresh: Buf<u32>,
    /// Members and list entries of each community.
    sizes: Buf<u32>,
    entries: Buf<u32>,
    /// Twice the weight of each community's loops, those of its members to begin with.
    loops: Buf<u64>,
}

impl<'a> Aggregation<'a> {
    /// Numbers the communities by first appearance; `None` when every node is alone.
    pub(crate) fn number(
        gpu: &'a Gpu,
        level: Level,
        groups: Groups,
        tuning: Tuning,
    ) -> Result<Option<Self>, DeviceError> {
        let n = level.num_nodes();
        let len = n as usize;
        let grid = Grid::cover(gpu, len, THREADS);
        let Groups { labels, hubs } = groups;
        let mut first = gpu.zeros::<u32>("first members", len)?;
        let mut fresh = gpu.alloc::<u32>("community numbers", len)?;
        let mut numbers = gpu.alloc::<u32>("numbers of first members", len + 1)?;
        kernels::lv_first(gpu, grid, n, labels.view(), first.view_mut())?;
        kernels::lv_heads(gpu, grid, n, labels.view(), first.view(), fresh.view_mut())?;
        Scan::new(gpu, len)?.exclusive(fresh.view(), numbers.view_mut())?;
        let k: u32 = gpu.read(numbers.slice(len..))?.iter().sum();
        if k == n {
            return Ok(None);
        }
        let mut sizes = gpu.zeros::<u32>("community sizes", k as usize)?;
        let mut entries = gpu.zeros::<u32>("community entries", k as usize)?;
        let mut loops = gpu.zeros::<u64>("loop weights", k as usize)?;
        kernels::lv_rename(
            gpu,
            grid,
            n,
            k,
            labels.view(),
            first.view(),
            numbers.view(),
            level.offsets.view(),
            level.loops.view(),
            fresh.view_mut(),
            sizes.view_mut(),
            entries.view_mut(),
            loops.view_mut(),
        )?;
        Ok(Some(Self { gpu, level, tuning, hubs, k, fresh, sizes, entries, loops }))
    }

    /// The graph of the communities, and each node's community.
    pub(crate) fn fold(mut self, cancel: &CancelToken) -> Result<(Level, Buf<u32>), AlgoError> {
        let (gpu, k) = (self.gpu, self.k);
        let len = k as usize;
        let mut scan = Scan::new(gpu, len)?;
        let (members, starts) = self.group(&mut scan)?;
        let mut lists = self.sort(&mut scan)?;
        let room: u32 = gpu.read(lists.places.slice(len..))?.iter().sum();
        let mut ends = gpu.alloc::<u32>("preliminary rows", room as usize)?;
        let mut weights = gpu.alloc::<u64>("preliminary weights", room as usize)?;
        let mut degrees = gpu.zeros::<u32>("list lengths", len)?;
        cancel.check()?;
        let out = (&mut degrees, &mut ends, &mut weights);
        self.fold_short(&lists, members.view(), starts.view(), out)?;
        drop((members, starts));
        cancel.check()?;
        self.fold_wide(&mut lists, degrees.view_mut())?;
        cancel.check()?;
        let team_grid = self.team_grid(lists.num_wide);
        let mut offsets = gpu.alloc::<u32>("list starts", len + 1)?;
        scan.exclusive(degrees.view(), offsets.view_mut())?;
        let arcs: u32 = gpu.read(offsets.slice(len..))?.iter().sum();
        // The old lists go before the new ones come: that is what keeps the peak down.
        drop((self.level, self.hubs));
        let mut next_ends = gpu.alloc::<u32>("lists", arcs as usize)?;
        let mut next_weights = gpu.alloc::<u64>("list weights", arcs as usize)?;
        let (at, rows, from) = (lists.places.view(), lists.rows.view(), offsets.view());
        let (e, w) = (next_ends.view_mut(), next_weights.view_mut());
        let grid = Grid::warps(gpu, len, THREADS);
        kernels::lv_copy_rows(gpu, grid, k, at, rows, from, ends.view(), weights.view(), e, w)?;
        if lists.num_wide > 0 {
            let wide = lists.num_wide as u32;
            let mut cursors = gpu.zeros::<u32>("row cursors", lists.num_wide)?;
            kernels::lv_emit_wide(
                gpu,
                team_grid,
                k,
                wide,
                self.tuning.team,
                lists.wide.view(),
                lists.tables_at.view(),
                lists.tables.keys.view(),
                lists.tables.sums.view(),
                offsets.view(),
                cursors.view_mut(),
                next_ends.view_mut(),
                next_weights.view_mut(),
            )?;
        }
        let next = Level::weighted(k, offsets, next_ends, next_weights, self.loops);
        Ok((next, self.fresh))
    }

    fn team_grid(&self, rows: usize) -> Grid {
        let items = rows.saturating_mul(self.tuning.team as usize);
        self.tuning.blocks(self.gpu, items, 8, THREADS)
    }

    /// The nodes by community, and where each community begins.
    fn group(&self, scan: &mut Scan) -> Result<(Buf<u32>, Buf<u32>), DeviceError> {
        let (gpu, n, k) = (self.gpu, self.level.num_nodes(), self.k);
        let len = k as usize;
        let mut starts = gpu.alloc::<u32>("community starts", len + 1)?;
        scan.exclusive(self.sizes.view(), starts.view_mut())?;
        let mut cursors = gpu.alloc::<u32>("community cursors", len)?;
        gpu.copy(starts.slice(..len), cursors.view_mut())?;
        let mut members = gpu.alloc::<u32>("community members", n as usize)?;
        let grid = Grid::cover(gpu, n as usize, THREADS);
        let (c, out) = (cursors.view_mut(), members.view_mut());
        kernels::lv_place(gpu, grid, n, k, self.fresh.view(), c, out)?;
        Ok((members, starts))
    }

    fn sort(&self, scan: &mut Scan) -> Result<Lists, DeviceError> {
        let (gpu, k) = (self.gpu, self.k);
        let len = k as usize;
        let most = (self.level.arcs() / WIDE_MIN) as usize;
        let mut room = gpu.alloc::<u32>("row lengths", len)?;
        let mut rows = gpu.alloc::<u32>("wide rows", len)?;
        let mut counts = gpu.zeros::<u32>("list lengths", 3)?;
        let mut narrow = gpu.alloc::<u32>("narrow communities", len)?;
        let mut broad = gpu.alloc::<u32>("broad communities", len)?;
        let mut wide = gpu.alloc::<u32>("wide communities", most)?;
        let mut wide_entries = gpu.alloc::<u32>("wide communities", most)?;
        kernels::lv_sort_communities(
            gpu,
            Grid::cover(gpu, len, THREADS),
            k,
            most as u32,
            self.entries.view(),
            room.view_mut(),
            rows.view_mut(),
            counts.view_mut(),
            narrow.view_mut(),
            broad.view_mut(),
            wide.view_mut(),
            wide_entries.view_mut(),
        )?;
        let mut places = gpu.alloc::<u32>("row starts", len + 1)?;
        scan.exclusive(room.view(), places.view_mut())?;
        let mut host = [0; 3];
        gpu.read_into(counts.view(), &mut host)?;
        let num_wide = (host[2] as usize).min(most);
        let (mut tables_at, mut slots) = (vec![0], 0);
        for e in gpu.read(wide_entries.slice(..num_wide))? {
            slots += table_slots(u64::from(e.min(k)));
            // A sum that does not fit is refused below.
            tables_at.push(u32::try_from(slots).unwrap_or(u32::MAX));
        }
        Ok(Lists {
            narrow,
            broad,
            counts,
            num_narrow: host[0] as usize,
            num_broad: host[1] as usize,
            wide,
            num_wide,
            tables_at: gpu.upload("table places", &tables_at)?,
            tables: Tables::new(gpu, slots)?,
            rows,
            places,
        })
    }

    fn fold_short(
        &mut self,
        lists: &Lists,
        members: View<'_, u32>,
        starts: View<'_, u32>,
        out: (&mut Buf<u32>, &mut Buf<u32>, &mut Buf<u64>),
    ) -> Result<(), DeviceError> {
        let (gpu, level) = (self.gpu, &self.level);
        let (degrees, ends, weights) = out;
        let (few, many) = (lists.num_narrow, lists.num_broad);
        let narrow = self.tuning.grid(gpu, few.saturating_mul(32), THREADS);
        let broad = self.tuning.blocks(gpu, many, 8, 512);
        let passes: [(FoldKernel, Grid, usize, &Buf<u32>, usize); 2] = [
            (kernels::lv_fold_warp, narrow, few, &lists.narrow, 0),
            (kernels::lv_fold_block, broad, many, &lists.broad, 1),
        ];
        for (kernel, grid, listed, list, place) in passes {
            if listed == 0 {
                continue;
            }
            kernel(
                gpu,
                grid,
                level.num_nodes(),
                self.k,
                u32::from(level.unit),
                list.view(),
                lists.counts.slice(place..=place),
                level.offsets.view(),
                level.ends.view(),
                level.weights.view(),
                self.fresh.view(),
                members,
                starts,
                self.entries.view(),
                lists.places.view(),
                degrees.view_mut(),
                self.loops.view_mut(),
                ends.view_mut(),
                weights.view_mut(),
            )?;
        }
        Ok(())
    }

    fn fold_wide(
        &mut self,
        lists: &mut Lists,
        degrees: ViewMut<'_, u32>,
    ) -> Result<(), DeviceError> {
        let (gpu, level, team) = (self.gpu, &self.level, self.tuning.team);
        if lists.num_wide == 0 {
            return Ok(());
        }
        let (n, k, wide) = (level.num_nodes(), self.k, lists.num_wide as u32);
        let unit = u32::from(level.unit);
        let (offsets, ends, weights) =
            (level.offsets.view(), level.ends.view(), level.weights.view());
        let (rows, at, fresh) = (lists.rows.view(), lists.tables_at.view(), self.fresh.view());
        let grid = Grid::warps(gpu, n as usize, THREADS);
        let Tables { keys, sums } = &mut lists.tables;
        let (t, s, out) = (keys.view_mut(), sums.view_mut(), self.loops.view_mut());
        kernels::lv_fold_wide(
            gpu, grid, n, k, wide, unit, offsets, ends, weights, fresh, rows, at, t, s, out,
        )?;
        let hubs = self.hubs.len();
        if hubs > 0 {
            let grid = self.team_grid(hubs);
            let (nodes, hubs) = (self.hubs.view(), hubs as u32);
            let (t, s, out) = (keys.view_mut(), sums.view_mut(), self.loops.view_mut());
            kernels::lv_fold_hubs(
                gpu, grid, n, k, wide, hubs, team, unit, nodes, offsets, ends, weights, fresh,
                rows, at, t, s, out,
            )?;
        }
        let grid = self.team_grid(lists.num_wide);
        kernels::lv_count_wide(
            gpu,
            grid,
            k,
            wide,
            team,
            lists.wide.view(),
            at,
            keys.view(),
            degrees,
        )
    }
}

/// The folding kernel of a list; both have the same parameters.
type FoldKernel = fn(
    &Gpu,
    Grid,
    u32,
    u32,
    u32,
    View<'_, u32>,
    View<'_, u32>,
    View<'_, u32>,
    View<'_, u32>,
    View<'_, u64>,
    View<'_, u32>,
    View<'_, u32>,
    View<'_, u32>,
    View<'_, u32>,
    View<'_, u32>,
    ViewMut<'_, u32>,
    ViewMut<'_, u64>,
    ViewMut<'_, u32>,
    ViewMut<'_, u64>,
) -> Result<(), DeviceError>;
