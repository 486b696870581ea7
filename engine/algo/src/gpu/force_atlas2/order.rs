//! The order of bodies, and what is kept in it.

use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, kernels};

use super::{GpuForceAtlas2, at, cpu};
use crate::AlgoError;

/// Bits of a place on the curve.
const KEY_BITS: u32 = 48;
/// Iterations after which the bodies are sorted even if the old order still serves: sorting is what sets
/// nodes on one spot apart.
const SORT_AGE_MAX: u64 = 256;
/// Iterations between two looks at the counted work, and up to which it is looked at after each.
const LOOK_EVERY: u64 = 8;
const LOOK_ALWAYS: u64 = 4;
/// Bodies of a leaf, and cells below a cell.
const LEAF: u32 = 16;
const FAN: u32 = 4;
/// The same numbers as in `force_atlas2.cuh`.
const LEVELS_MAX: usize = 16;

/// What is kept by body.
pub(super) struct Bodies {
    pub(super) points: Buf<[f32; 2]>,
    /// The forces of the last iteration.
    pub(super) before: Buf<[f32; 2]>,
    /// Positions at the last look.
    pub(super) reference: Buf<[f32; 2]>,
    pub(super) masses: Buf<f32>,
    pub(super) mobility: Buf<f32>,
    /// Empty without radii.
    pub(super) radii: Buf<f32>,
    pub(super) node_of: Buf<u32>,
}

impl Bodies {
    /// Bodies in node order.
    pub(super) fn new(
        gpu: &Gpu,
        start: &[[f32; 2]],
        masses: &[f32],
        radii: Option<&[f32]>,
        mobility: Option<&[f32]>,
    ) -> Result<Self, DeviceError> {
        let n = start.len();
        let mut bodies = Self::empty(gpu, n, radii.is_some())?;
        gpu.write(bodies.points.view_mut(), start)?;
        gpu.zero(bodies.before.view_mut())?;
        gpu.zero(bodies.reference.view_mut())?;
        gpu.write(bodies.masses.view_mut(), masses)?;
        match mobility {
            Some(m) => gpu.write(bodies.mobility.view_mut(), m)?,
            None => gpu.write(bodies.mobility.view_mut(), &vec![1.0; n])?,
        }
        if let Some(r) = radii {
            gpu.write(bodies.radii.view_mut(), r)?;
        }
        let nodes: Vec<u32> = (0..n as u32).collect();
        gpu.write(bodies.node_of.view_mut(), &nodes)?;
        Ok(bodies)
    }

    pub(super) fn empty(gpu: &Gpu, n: usize, has_radii: bool) -> Result<Self, DeviceError> {
        Ok(Self {
            points: gpu.alloc("positions", n)?,
            before: gpu.alloc("the forces before", n)?,
            reference: gpu.alloc("positions at the last look", n)?,
            masses: gpu.alloc("masses", n)?,
            mobility: gpu.alloc("mobility", n)?,
            radii: gpu.alloc("radii", if has_radii { n } else { 0 })?,
            node_of: gpu.alloc("the nodes of bodies", n)?,
        })
    }
}

/// The cells over the bodies.
pub(super) struct Tree {
    pub(super) levels: u32,
    /// The first cell of each level.
    pub(super) bases: Buf<u32>,
    /// Two for each cell: where it is, and its moments.
    pub(super) cells: Buf<[f32; 4]>,
    pub(super) boxes: Buf<[f32; 4]>,
    /// Sums of the logarithms of the radii of 64 leaves each.
    pub(super) logs: Buf<f32>,
}

impl Tree {
    pub(super) fn new(gpu: &Gpu, bodies: u32) -> Result<Self, DeviceError> {
        let (bases, cells, levels) = shape(bodies);
        Ok(Self {
            levels,
            bases: gpu.upload("the levels of a tree", &bases)?,
            cells: gpu.alloc("cells", 2 * cells as usize)?,
            boxes: gpu.alloc("the boxes of cells", cells as usize)?,
            logs: gpu.zeros("the sizes of leaves", bodies.div_ceil(1024) as usize)?,
        })
    }
}

/// The first cell of each level, the number of cells and that of levels. Four cells with one parent lie in
/// one cache line: levels begin at multiples of four.
fn shape(bodies: u32) -> ([u32; LEVELS_MAX], u32, u32) {
    let mut bases = [0; LEVELS_MAX];
    let (mut cells, mut level, mut len) = (0, 0, bodies.div_ceil(LEAF));
    loop {
        bases[level] = cells;
        cells += len.next_multiple_of(FAN);
        level += 1;
        if len <= 1 {
            return (bases, cells, level as u32);
        }
        len = len.div_ceil(FAN);
    }
}

impl GpuForceAtlas2 {
    pub(super) fn cover(&self, items: usize) -> Grid {
        Grid::cover(&self.gpu, items, 256)
    }

    /// Whether sorting now is cheaper than going on, by the work that the device has counted. Looks, and
    /// waits for the device, at iteration numbers that do not depend on how iterations were dealt out.
    pub(super) fn sort_is_due(&mut self) -> Result<bool, DeviceError> {
        let since = self.since_sort;
        if since >= SORT_AGE_MAX {
            return Ok(true);
        }
        let is_checked = since > 0 && (since <= LOOK_ALWAYS || since.is_multiple_of(LOOK_EVERY));
        if !is_checked || self.is_exact() {
            return Ok(false);
        }
        self.read_state()?;
        Ok(self.seen[at::SORT_DUE] != 0.0)
    }

    /// Puts the bodies in curve order anew, with everything that is kept by body.
    pub(super) fn sort(&mut self) -> Result<(), DeviceError> {
        self.find_order()?;
        if self.part()? {
            self.measure()?;
            self.find_order()?;
        }
        let n = self.nodes as usize;
        let grid = self.cover(n);
        let [first, second] = &mut self.bodies;
        let (from, to) = if self.side == 0 { (&*first, second) } else { (&*second, first) };
        kernels::fa_permute(
            &self.gpu,
            grid,
            self.nodes,
            u32::from(!from.radii.is_empty()),
            self.order.view(),
            from.points.view(),
            from.before.view(),
            from.reference.view(),
            from.masses.view(),
            from.mobility.view(),
            from.radii.view(),
            from.node_of.view(),
            self.graph.out_offsets(),
            self.graph.in_offsets(),
            to.points.view_mut(),
            to.before.view_mut(),
            to.reference.view_mut(),
            to.masses.view_mut(),
            to.mobility.view_mut(),
            to.radii.view_mut(),
            to.node_of.view_mut(),
            self.body_of.view_mut(),
            self.spans.view_mut(),
        )?;
        self.side ^= 1;
        let grid = self.cover(self.edges as usize);
        let lists = [
            (self.graph.out_dst(), &mut self.arcs.outs),
            (self.graph.in_src(), &mut self.arcs.ins),
        ];
        for (nodes, bodies) in lists {
            let body_of = self.body_of.view();
            kernels::fa_relabel(&self.gpu, grid, self.edges, nodes, body_of, bodies.view_mut())?;
        }
        self.forget_wear()
    }

    /// Starts counting work anew.
    pub(super) fn forget_wear(&mut self) -> Result<(), DeviceError> {
        self.since_sort = 0;
        self.gpu.zero(self.state.slice_mut(at::WEAR))
    }

    /// The bodies along the curve, to `order`.
    fn find_order(&mut self) -> Result<(), DeviceError> {
        let grid = self.cover(self.nodes as usize);
        let (points, state) = (self.bodies[self.side].points.view(), self.state.view());
        let (keys, order) = (self.keys.view_mut(), self.order.view_mut());
        kernels::fa_keys(&self.gpu, grid, self.nodes, points, state, keys, order)?;
        self.sort.pairs_u64(&mut self.keys, &mut self.order, self.nodes as usize, KEY_BITS)
    }

    /// Sets apart what lies on one spot; whether there was any.
    fn part(&mut self) -> Result<bool, DeviceError> {
        let grid = self.cover(self.nodes as usize);
        let bodies = &mut self.bodies[self.side];
        self.gpu.zero(self.parted.view_mut())?;
        kernels::fa_part(
            &self.gpu,
            grid,
            self.nodes,
            self.order.view(),
            bodies.points.view(),
            bodies.mobility.view(),
            bodies.node_of.view(),
            self.state.view(),
            self.forces.view_mut(),
            self.parted.view_mut(),
        )?;
        if self.gpu.read(self.parted.view())? == [0] {
            return Ok(false);
        }
        self.gpu.copy(self.forces.view(), bodies.points.view_mut())?;
        Ok(true)
    }

    /// Tells the device of pins and their ends.
    pub(super) fn flush(&mut self) -> Result<(), AlgoError> {
        if self.pokes.is_empty() || self.nodes == 0 {
            return Ok(());
        }
        let pokes = std::mem::take(&mut self.pokes);
        let nodes: Vec<u32> = pokes.keys().copied().collect();
        let spots: Vec<[f32; 2]> = pokes.values().map(|s| s.unwrap_or_default()).collect();
        let base = |v: u32| self.mobility.as_ref().map_or(1.0, |m| m[v as usize]);
        let value = |(v, spot): (&u32, &Option<_>)| spot.map_or(base(*v), |_| cpu::PINNED);
        let values: Vec<f32> = pokes.iter().map(value).collect();
        let nodes = self.gpu.upload("pinned nodes", &nodes)?;
        let spots = self.gpu.upload("where nodes are pinned", &spots)?;
        let values = self.gpu.upload("mobility of pinned nodes", &values)?;
        let grid = self.cover(nodes.len());
        let bodies = &mut self.bodies[self.side];
        kernels::fa_pin(
            &self.gpu,
            grid,
            self.nodes,
            nodes.len() as u32,
            nodes.view(),
            spots.view(),
            values.view(),
            self.body_of.view(),
            bodies.points.view_mut(),
            bodies.before.view_mut(),
            bodies.mobility.view_mut(),
        )?;
        self.measure()?;
        self.wake()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_lie_behind_one_another_and_end_with_one_cell() {
        assert_eq!(shape(1), ([0; LEVELS_MAX], 4, 1));
        let (bases, cells, levels) = shape(16 * 17);
        assert_eq!((&bases[..4], cells, levels), (&[0, 20, 28, 32][..], 36, 4));
        for bodies in [1, 15, 16, 17, 512, 513, 1 << 20, u32::MAX] {
            let (bases, cells, levels) = shape(bodies);
            let mut len = bodies.div_ceil(LEAF);
            for level in 0..levels as usize {
                let end = if level + 1 < levels as usize { bases[level + 1] } else { cells };
                assert!(end - bases[level] >= len && end - bases[level] < len + FAN);
                assert_eq!(len == 1, level + 1 == levels as usize);
                len = len.div_ceil(FAN);
            }
        }
    }
}
