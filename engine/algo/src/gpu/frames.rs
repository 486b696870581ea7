//! Payloads of position frames, made on the device: the same bytes as the encoder of the scene crate makes
//! on the host from the same positions, so that a tick copies only what the stream sends (4 bytes a node
//! for a key frame, 2 for a delta) and no positions.
//!
//! The host still chooses the bounds and the headers: [`GpuFrames::survey`] gives it the box and the sample
//! that it looks at.

use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, kernels};

use crate::AlgoError;
use crate::gpu::force_atlas2::OnDevice;

/// Positions looked at to find out where most nodes are: every so many nodes, from node 0 on.
const SURVEY_NODES: usize = 4_096;
/// Differences looked at to choose the step of a delta.
const STEP_NODES: usize = 8_192;
/// Share of them that the step should cover.
const COVERED: f64 = 0.992;
/// A step that covers every difference of 16 bits.
const STEP_MAX: f32 = 520.0;
/// Of how many nodes one may overflow into the side list.
const OVERFLOW_SHARE: usize = 100;
/// Nodes of a tile of the kernels.
const TILE: usize = 1_024;
const THREADS: u32 = 256;
const BOX_BLOCKS_MAX: usize = 1_024;
/// What a node without a position is on the device.
const ABSENT: u32 = u32::MAX;

/// Where the positions are.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// Least x and y and greatest x and y of the finite positions; `None` when there is none.
    pub bounds: Option<[f32; 4]>,
    /// The positions of the nodes 0, s, 2 s, ... where s is the number of nodes over 4,096, rounded up.
    pub sample: Vec<[f32; 2]>,
}

/// What quantised coordinates stand for: `x = x0 + q * sx`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// X of step 0.
    pub x0: f32,
    /// Y of step 0.
    pub y0: f32,
    /// Width of a step.
    pub sx: f32,
    /// Height of a step.
    pub sy: f32,
}

/// Makes the frames of one layout. 10 bytes a node on the device.
pub struct GpuFrames {
    gpu: Gpu,
    nodes: u32,
    /// The pairs of the last key frame, and those of now.
    key: Buf<u32>,
    now: Buf<u32>,
    bounds: Option<Steps>,
    planes: Buf<u8>,
    tiles: Buf<u32>,
    total: Buf<u32>,
    over: Buf<u32>,
    sample: Buf<[f32; 2]>,
    differences: Buf<u32>,
    partials: Buf<f32>,
    least: Buf<f32>,
}

impl GpuFrames {
    /// Frames of `nodes` nodes, made on the stream of `gpu`: best that of the layout.
    ///
    /// # Errors
    /// [`AlgoError::Device`], above all for lack of memory.
    pub fn new(gpu: &Gpu, nodes: u32) -> Result<Self, AlgoError> {
        let n = nodes as usize;
        Ok(Self {
            gpu: gpu.clone(),
            nodes,
            key: gpu.alloc("the key frame", n)?,
            now: gpu.alloc("quantised positions", n)?,
            bounds: None,
            planes: gpu.alloc("the steps of a delta frame", 2 * n)?,
            tiles: gpu.alloc("overflowing nodes of tiles", n.div_ceil(TILE))?,
            total: gpu.alloc("overflowing nodes", 1)?,
            over: gpu.alloc("the side list of a delta frame", 2 * (n / OVERFLOW_SHARE))?,
            sample: gpu.alloc("a sample of positions", SURVEY_NODES.min(n))?,
            differences: gpu.alloc("a sample of differences", STEP_NODES.min(n))?,
            partials: gpu.alloc("boxes", 4 * BOX_BLOCKS_MAX)?,
            least: gpu.alloc("a box", 4)?,
        })
    }

    /// Upper bound of the bytes held on the device.
    #[must_use]
    pub fn footprint(num_nodes: u32) -> u64 {
        // Keys, pairs, two planes, a hundredth of a side list, tiles; samples and boxes.
        11 * u64::from(num_nodes) + (128 << 10)
    }

    /// Where the positions are: what the bounds of a frame are chosen by. Copies 32 KiB.
    ///
    /// # Errors
    /// [`AlgoError::Device`].
    pub fn survey(&mut self, positions: OnDevice<'_>) -> Result<Survey, AlgoError> {
        let n = self.nodes as usize;
        if n == 0 {
            return Ok(Survey { bounds: None, sample: Vec::new() });
        }
        let blocks = n.div_ceil(THREADS as usize).min(BOX_BLOCKS_MAX) as u32;
        let grid = Grid::blocks(blocks, THREADS);
        kernels::frame_box(
            &self.gpu,
            grid,
            self.nodes,
            positions.points,
            self.partials.view_mut(),
        )?;
        let one = Grid::blocks(1, THREADS);
        let least = self.least.view_mut();
        kernels::frame_box_end(&self.gpu, one, blocks, self.partials.view(), least)?;
        let stride = n.div_ceil(SURVEY_NODES);
        let len = n.div_ceil(stride);
        kernels::frame_sample(
            &self.gpu,
            Grid::cover(&self.gpu, len, THREADS),
            self.nodes,
            stride as u32,
            positions.body_of,
            positions.points,
            self.sample.slice_mut(..len),
        )?;
        let mut sample = vec![[0.0; 2]; len];
        self.gpu.read_into(self.sample.slice(..len), &mut sample)?;
        let mut least = [0.0f32; 4];
        self.gpu.read_into(self.least.view(), &mut least)?;
        let bounds = [least[0], least[1], -least[2], -least[3]];
        Ok(Survey { bounds: (bounds[0] <= bounds[2]).then_some(bounds), sample })
    }

    /// The payload of a key frame within `bounds`: a pair of 16 bits for each node. Later deltas are steps
    /// from it.
    ///
    /// # Errors
    /// [`AlgoError::Device`].
    pub fn key(&mut self, positions: OnDevice<'_>, bounds: Steps) -> Result<Vec<u8>, AlgoError> {
        self.quantize(positions, bounds)?;
        std::mem::swap(&mut self.key, &mut self.now);
        self.bounds = Some(bounds);
        let mut payload = vec![0; 4 * self.nodes as usize];
        self.gpu.read_into(self.key.view().cast(), &mut payload)?;
        Ok(payload)
    }

    /// The payload of a delta frame: step, number of overflowing nodes, a byte each for x and for y, and
    /// the overflowing nodes with their pairs. `None` without a key frame, or when more than a hundredth
    /// of the nodes overflow: then a key frame is due.
    ///
    /// # Errors
    /// [`AlgoError::Device`].
    pub fn delta(&mut self, positions: OnDevice<'_>) -> Result<Option<Vec<u8>>, AlgoError> {
        let Some(bounds) = self.bounds else { return Ok(None) };
        self.quantize(positions, bounds)?;
        let most = self.nodes as usize / OVERFLOW_SHARE;
        let mut step = self.choose_step()?;
        let over = loop {
            let over = self.fill(step)?;
            if over <= most {
                break over;
            }
            if step >= STEP_MAX {
                return Ok(None);
            }
            step = (step * 1.5).min(STEP_MAX);
        };
        Ok(Some(self.payload(step, over)?))
    }

    fn grid(&self) -> Grid {
        Grid::cover(&self.gpu, self.nodes as usize, THREADS)
    }

    fn tile_grid(&self) -> Grid {
        Grid::cover(&self.gpu, (self.nodes as usize).div_ceil(4), THREADS)
    }

    fn quantize(&mut self, positions: OnDevice<'_>, b: Steps) -> Result<(), DeviceError> {
        if self.nodes == 0 {
            return Ok(());
        }
        let grid = self.grid();
        kernels::frame_quantize(
            &self.gpu,
            grid,
            self.nodes,
            b.x0,
            b.y0,
            b.sx,
            b.sy,
            positions.body_of,
            positions.points,
            self.now.view_mut(),
        )
    }

    /// A step for the bytes of the delta: 1, which is exact, as long as the nodes move little.
    fn choose_step(&mut self) -> Result<f32, DeviceError> {
        let n = self.nodes as usize;
        if n == 0 {
            return Ok(1.0);
        }
        let stride = n.div_ceil(STEP_NODES);
        let len = n.div_ceil(stride);
        kernels::frame_differences(
            &self.gpu,
            Grid::cover(&self.gpu, len, THREADS),
            self.nodes,
            stride as u32,
            self.key.view(),
            self.now.view(),
            self.differences.slice_mut(..len),
        )?;
        let mut sample = self.gpu.read(self.differences.slice(..len))?;
        sample.retain(|d| *d != ABSENT);
        sample.sort_unstable();
        let covered = (sample.len() as f64 * COVERED).ceil() as usize;
        let wanted = covered.checked_sub(1).map_or(0, |i| sample[i]);
        Ok((wanted as f32 / 127.0).max(1.0))
    }

    /// Writes the planes; answers how many nodes do not fit.
    fn fill(&mut self, step: f32) -> Result<usize, DeviceError> {
        if self.nodes == 0 {
            return Ok(0);
        }
        let grid = self.tile_grid();
        kernels::frame_delta(
            &self.gpu,
            grid,
            self.nodes,
            step,
            self.key.view(),
            self.now.view(),
            self.planes.view_mut(),
            self.tiles.view_mut(),
        )?;
        let count = self.tiles.len() as u32;
        let (tiles, total) = (self.tiles.view_mut(), self.total.view_mut());
        kernels::frame_tiles(&self.gpu, Grid::blocks(1, THREADS), count, tiles, total)?;
        let mut total = [0];
        self.gpu.read_into(self.total.view(), &mut total)?;
        Ok(total[0] as usize)
    }

    fn payload(&mut self, step: f32, over: usize) -> Result<Vec<u8>, DeviceError> {
        let planes = 2 * self.nodes as usize;
        let mut payload = vec![0; 8 + planes + 8 * over];
        payload[..4].copy_from_slice(&step.to_le_bytes());
        payload[4..8].copy_from_slice(&(over as u32).to_le_bytes());
        self.gpu.read_into(self.planes.view(), &mut payload[8..8 + planes])?;
        if over > 0 {
            let grid = self.tile_grid();
            kernels::frame_overflow(
                &self.gpu,
                grid,
                self.nodes,
                step,
                over as u32,
                self.key.view(),
                self.now.view(),
                self.tiles.view(),
                self.over.view_mut(),
            )?;
            let list = self.over.slice(..2 * over).cast();
            self.gpu.read_into(list, &mut payload[8 + planes..])?;
        }
        Ok(payload)
    }
}
