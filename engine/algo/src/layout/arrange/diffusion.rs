//! Spreads crowds of discs: the density-equalizing map of Gastner and Newman, "Diffusion-based method for producing
//! density-equalizing maps" (PNAS 101, 2004), stopped as soon as discs have room.
//!
//! What discs cover diffuses over a grid as heat does, and every point moves with it: with the velocity
//! `-grad(d) / d` of the flow at its place. Crowds widen, neighbours stay neighbours, and where nothing is crowded
//! nothing moves. Coarse grids come first, so that crowds of any width need few steps; within a cell, the discs are
//! set apart afterwards ([`crate::layout::overlap`]).

use graphlume_types::CancelToken;
use graphlume_types::stage::STAGE;
use rayon::prelude::*;

use crate::AlgoError;

/// What discs may cover of a cell and still be set apart within it.
const ROOM: f64 = 0.5;
/// What is covered beyond that and may stay, of all that is covered.
const EXCESS: f64 = 0.01;
/// Steps over one grid at most, and the time that each takes: the largest that is stable is a quarter.
const STEPS_MAX: usize = 160;
const STEP: f64 = 0.2;
/// Cells of the finest grid at most, and the sides of the others in cells of that.
const CELLS_MAX: f64 = 16_384.0;
const SIDES: [f64; 4] = [6.0, 3.0, 1.5, 1.0];
/// Times that the grids are gone through.
const PASSES: usize = 3;
/// Cells beyond the stage on each side.
const RIM: usize = 2;
/// What every cell covers at least, without which the flow into empty ones would know no limit.
const FLOOR: f64 = 0.02;

/// Moves `points`, in pixels about the middle of the stage, until no cell of a grid is covered so that its discs of
/// these `radii` have no room.
pub(super) fn spread(
    points: &mut [[f64; 2]],
    radii: &[f64],
    cancel: &CancelToken,
) -> Result<(), AlgoError> {
    let finest = (STAGE[0] * STAGE[1] / (points.len() as f64).clamp(256.0, CELLS_MAX)).sqrt();
    for _ in 0..PASSES {
        let mut crowded = false;
        for side in SIDES {
            let mut grid = Grid::new(side * finest);
            grid.cover(points, radii);
            crowded |= grid.run(points, cancel)?;
        }
        if !crowded {
            break;
        }
    }
    Ok(())
}

/// A grid over the stage and its rim.
struct Grid {
    side: f64,
    columns: usize,
    rows: usize,
    /// What is covered, as a part of each cell.
    cover: Vec<f64>,
    next: Vec<f64>,
    /// Cells a unit of time.
    flow: Vec<[f64; 2]>,
}

impl Grid {
    fn new(side: f64) -> Self {
        let cells = |pixels: f64| (pixels / side).ceil() as usize + 2 * RIM;
        let (columns, rows) = (cells(STAGE[0]), cells(STAGE[1]));
        let (cover, next) = (vec![0.0; columns * rows], vec![0.0; columns * rows]);
        Self { side, columns, rows, cover, next, flow: vec![[0.0; 2]; columns * rows] }
    }

    /// Columns and rows, in cells from the middle of the first one.
    fn place(&self, p: [f64; 2]) -> [f64; 2] {
        let half = [self.columns, self.rows].map(|n| 0.5 * (n as f64 - 1.0));
        [0, 1].map(|c| p[c] / self.side + half[c])
    }

    /// The four cells about a place inside the grid, with the part that each has of it.
    fn around(&self, point: [f64; 2]) -> Option<[(usize, f64); 4]> {
        let last = [self.columns - 1, self.rows - 1].map(|n| n as f64);
        if !(0..2).all(|c| (0.0..last[c]).contains(&point[c])) {
            return None;
        }
        let (column, row) = (point[0] as usize, point[1] as usize);
        let (x, y) = (point[0] - column as f64, point[1] - row as f64);
        let first = row * self.columns + column;
        Some([
            (first, (1.0 - x) * (1.0 - y)),
            (first + 1, x * (1.0 - y)),
            (first + self.columns, (1.0 - x) * y),
            (first + self.columns + 1, x * y),
        ])
    }

    /// Adds up what the discs cover. One that is larger than a cell covers no cell more than discs may, or it would be a
    /// crowd by itself.
    fn cover(&mut self, points: &[[f64; 2]], radii: &[f64]) {
        self.cover.fill(FLOOR);
        for (p, r) in points.iter().zip(radii) {
            let at = self.place(*p);
            let wide = r / self.side;
            if wide <= 0.75 {
                let area = std::f64::consts::PI * wide * wide;
                for (cell, part) in self.around(at).into_iter().flatten() {
                    self.cover[cell] += area * part;
                }
                continue;
            }
            let range = |c: usize, count: usize| {
                let low = (at[c] - wide).ceil().max(0.0) as usize;
                let high = (at[c] + wide).floor().min(count as f64 - 1.0);
                low..if high < 0.0 { 0 } else { high as usize + 1 }
            };
            for row in range(1, self.rows) {
                for column in range(0, self.columns) {
                    let apart = (column as f64 - at[0]).hypot(row as f64 - at[1]);
                    if apart <= wide {
                        self.cover[row * self.columns + column] += ROOM;
                    }
                }
            }
        }
    }

    /// Whether discs lack room: more is covered beyond what may be than is worth a step.
    fn is_crowded(&self) -> bool {
        let [mut all, mut excess] = [0.0; 2];
        for cover in &self.cover {
            all += cover - FLOOR;
            excess += (cover - FLOOR - ROOM).max(0.0);
        }
        excess > EXCESS * all
    }

    /// Lets the cover diffuse and the points with it; whether there was a crowd.
    fn run(&mut self, points: &mut [[f64; 2]], cancel: &CancelToken) -> Result<bool, AlgoError> {
        for step in 0..STEPS_MAX {
            cancel.check()?;
            if !self.is_crowded() {
                return Ok(step > 0);
            }
            self.advance();
            let grid = &*self;
            points.par_iter_mut().with_min_len(1 << 10).for_each(|p| {
                let mut by = [0.0; 2];
                for (cell, part) in grid.around(grid.place(*p)).into_iter().flatten() {
                    (0..2).for_each(|c| by[c] += part * grid.flow[cell][c]);
                }
                (0..2).for_each(|c| p[c] += STEP * grid.side * by[c]);
            });
        }
        Ok(true)
    }

    /// One step of the heat equation, whose rim lets nothing through, and the flow that goes with it.
    fn advance(&mut self) {
        let (columns, rows, cover) = (self.columns, self.rows, &self.cover);
        let (next, flow) = (&mut self.next, &mut self.flow);
        next.par_chunks_mut(columns).zip(flow.par_chunks_mut(columns)).enumerate().for_each(
            |(row, (next, flow))| {
                let up = row.saturating_sub(1) * columns;
                let down = (row + 1).min(rows - 1) * columns;
                let own = row * columns;
                for column in 0..columns {
                    let (left, right) = (column.saturating_sub(1), (column + 1).min(columns - 1));
                    let here = cover[own + column];
                    let [w, e] = [cover[own + left], cover[own + right]];
                    let [n, s] = [cover[up + column], cover[down + column]];
                    next[column] = here + STEP * (w + e + n + s - 4.0 * here);
                    let most = |flow: f64| flow.clamp(-0.5 / STEP, 0.5 / STEP);
                    flow[column] = [most(0.5 * (w - e) / here), most(0.5 * (n - s) / here)];
                }
                // Nothing crosses the rim.
                [flow[0][0], flow[columns - 1][0]] = [0.0; 2];
                if row == 0 || row + 1 == rows {
                    flow.iter_mut().for_each(|flow| flow[1] = 0.0);
                }
            },
        );
        std::mem::swap(&mut self.cover, &mut self.next);
    }
}
