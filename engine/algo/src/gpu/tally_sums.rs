//! Sums over the nodes that one more step leads to, for each node that paths lead to: how many there are, how many have a number,
//! and what these come to.

use graphlume_device::cuda::{DeviceError, Gpu, Grid, View, kernels};

use super::tally::{AT_ONCE, Count, Paths, PatternStep, STATE, TO};
use crate::AlgoError;
use crate::gpu_graph::{THREADS, device_bytes, mask_words};

/// Words of a node in the list, as the kernel has it.
const WIDTH: usize = 4;
/// Bits of the kernels' `flags`.
const FLOATS: u32 = 64;
const VALID: u32 = 128;

/// The whole numbers of all nodes.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "views have none")]
pub struct Numbers<'a> {
    /// Those of nodes without one are undefined.
    pub cells: Cells<'a>,
    /// The nodes that have one; all without it.
    pub valid: Option<View<'a, u32>>,
    /// No number is less. With the greatest above it and the relationships, the product must stay below 2^63.
    pub least: i64,
}

/// Whole numbers as a column has them.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "views have none")]
pub enum Cells<'a> {
    /// Integers.
    Ints(View<'a, i64>),
    /// Floats, each a whole number.
    Floats(View<'a, f64>),
}

/// What a step leads to from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sums {
    /// The node.
    pub node: u32,
    /// Paths that lead to it, not zero.
    pub paths: u64,
    /// Relationships of the step, not zero.
    pub rows: u32,
    /// Those that lead to a node with a number.
    pub values: u32,
    /// The sum of what the numbers are above the least.
    pub above: u64,
}

impl Count<'_> {
    /// For a graph of so many nodes, from so many of which at most a step leads on.
    ///
    /// # Errors
    /// Those of an allocation.
    pub fn of_sums(gpu: &Gpu, num_nodes: u32, room: usize) -> Result<Count<'_>, DeviceError> {
        Count::with_width(gpu, num_nodes, room, WIDTH)
    }

    /// Upper bound of the device bytes that sums take beside [`Count::footprint`] without room: the list, and numbers of nodes.
    #[must_use]
    pub const fn sums_footprint(num_nodes: u64, room: u64) -> u64 {
        device_bytes(STATE as u64 + WIDTH as u64 * room, 8) + 4 * device_bytes(num_nodes, 8)
    }

    /// The sums for each node that paths lead to, in ascending order; `None` where one has left 63 bits. `step` is the step taken
    /// the other way, to the nodes that `paths` are of; its `to` leaves out those without any. `ends` are the nodes that count
    /// where the step leads to; all without it. Waits.
    ///
    /// # Errors
    /// [`AlgoError::Length`] for an array of another length, [`AlgoError::Device`].
    pub fn sums(
        mut self,
        step: &PatternStep<'_>,
        ends: Option<View<'_, u32>>,
        numbers: Numbers<'_>,
        paths: Paths<'_>,
    ) -> Result<Option<Vec<Sums>>, AlgoError> {
        let (gpu, n) = (self.gpu, self.num_nodes);
        let mut values = gpu.alloc::<u64>("numbers of nodes", n as usize)?;
        let mut valued = gpu.alloc::<u32>("nodes with numbers", mask_words(n))?;
        let (cells, floats) = match numbers.cells {
            Cells::Ints(cells) => (cells.cast(), 0),
            Cells::Floats(cells) => (cells.cast(), FLOATS),
        };
        let to = if ends.is_some() { TO } else { 0 };
        let valid = if numbers.valid.is_some() { VALID } else { 0 };
        let none = self.unused.words.view();
        kernels::tally_values(
            gpu,
            Grid::cover(gpu, n as usize, THREADS),
            n,
            floats | to | valid,
            numbers.least as u64,
            ends.unwrap_or(none),
            numbers.valid.unwrap_or(none),
            cells,
            values.view_mut(),
            valued.view_mut(),
        )?;
        let sums = self.pull(step, Paths::Each(values.view()))?;
        let counts = self.pull(step, Paths::Marks(valued.view()))?;
        // Without a node that has no number, these are all.
        let rows = match numbers.valid {
            Some(_) => Some(self.pull(step, ends.map_or(Paths::One, Paths::Marks))?),
            None => None,
        };
        let rows = rows.as_ref().unwrap_or(&counts);
        let (marks, each) = self.unused.views(paths);
        let room = self.room as u32;
        let (state, list) = self.out.view_mut().split_at(STATE);
        kernels::tally_sums(
            gpu,
            Grid::cover(gpu, n as usize, THREADS),
            n,
            room,
            paths.flags(),
            marks,
            each,
            rows.view(),
            counts.view(),
            sums.view(),
            list,
            state,
        )?;
        let Some(words) = self.listed()? else { return Ok(None) };
        let nodes = words.chunks_exact(WIDTH).map(|of| Sums {
            node: of[0] as u32,
            paths: of[1],
            rows: (of[2] >> 32) as u32,
            values: of[2] as u32,
            above: of[3],
        });
        let mut nodes: Vec<Sums> = nodes.collect();
        nodes.sort_unstable();
        Ok(Some(nodes))
    }
}

/// Nodes whose sums come back with the first read, and the bytes of each.
pub const SUMS_AT_ONCE: (usize, usize) = (AT_ONCE, WIDTH * 8);
