//! Smaller discs where given positions crowd them. A layout by forces sets discs apart once it is at rest
//! (`graphlume_algo::layout::arrange`); places that came with the data stay where they are, so that discs give way.

use std::ops::RangeInclusive;

use graphlume_types::stage::STAGE;
use rayon::prelude::*;

use crate::drawn::diameters;

/// What is left of a diameter at least.
const LEAST: f64 = 0.6;
/// Neighbours that a disc gives way to.
const NEAREST: usize = 2;
/// Side in pixels of the squares in which neighbours are looked for, on all sides of a node's own: less than that apart are
/// all discs that are not among the largest.
const CELL: f64 = 24.0;
/// Nodes in these squares up to which each is looked at; among more their density tells how far apart they are.
const LOOKED_AT: usize = 64;
/// Positions by which the picture's scale is found, and the share of them that is left out on each side.
const SAMPLE_MAX: usize = 20_000;
const CUT: f64 = 0.002;
/// The least size on the wire.
const SIZE_MIN: f64 = 6.0;

/// Makes the discs of crowded nodes smaller, in quarter pixels on the wire, as the whole picture fits [`STAGE`]. Each has
/// room for a share of its diameter, the mean of what fits between it and its two nearest neighbours; all nodes of a
/// neighbourhood get the mean share of these, so that a large one among small ones stays the largest, and never less than
/// 0.6. Takes time in proportion to the number of nodes; nodes without a place keep their sizes.
pub(crate) fn make_room(sizes: &mut [u8], positions: &[[f32; 2]]) {
    let Some(cells) = Cells::of(positions) else { return };
    let wide = diameters(sizes);
    let nodes = (0..sizes.len()).into_par_iter().with_min_len(1 << 10);
    let own: Vec<f64> = nodes.map(|v| cells.left(v, &wide).clamp(0.0, 1.0)).collect();
    let shares = cells.means(&own);
    sizes.par_iter_mut().with_min_len(1 << 10).enumerate().for_each(|(v, size)| {
        let Some([column, row]) = cells.cell(cells.at[v]) else { return };
        let left = shares[row * cells.columns + column].clamp(LEAST, 1.0);
        *size = (f64::from(*size) * left).round().max(SIZE_MIN.min(f64::from(*size))) as u8;
    });
}

/// The placed nodes by squares of the picture.
struct Cells {
    /// Places in pixels; NaN without one.
    at: Vec<[f32; 2]>,
    columns: usize,
    rows: usize,
    /// Where the nodes of each square begin in `nodes`, and the end of the last.
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl Cells {
    /// `None` where fewer than two nodes have a place, or all one place.
    fn of(positions: &[[f32; 2]]) -> Option<Self> {
        let placed = |at: &&[f32; 2]| at.iter().all(|x| x.is_finite());
        let step = (positions.len() / SAMPLE_MAX).max(1);
        let core = |c: usize| -> Option<[f64; 2]> {
            let mut axis: Vec<f32> =
                positions.iter().step_by(step).filter(placed).map(|at| at[c]).collect();
            axis.sort_unstable_by(f32::total_cmp);
            let cut = (CUT * axis.len() as f64) as usize;
            let last = axis.len().checked_sub(1 + cut)?;
            Some([f64::from(*axis.get(cut)?), f64::from(axis[last])])
        };
        let core = [core(0)?, core(1)?];
        let sides = core.map(|[low, high]| high - low);
        if !(sides[0] > 0.0 || sides[1] > 0.0) {
            return None;
        }
        // A few nodes are kept together in the middle of the picture, as in the page's fit.
        let part = (0.36 + 0.1 * (positions.len() as f64).sqrt()).min(1.0);
        let scale = part * (STAGE[0] / sides[0].max(1e-30)).min(STAGE[1] / sides[1].max(1e-30));
        let [columns, rows] = sides.map(|side| (side * scale / CELL) as usize + 1);
        let at: Vec<[f32; 2]> = positions
            .iter()
            .map(|at| [0, 1].map(|c| ((f64::from(at[c]) - core[c][0]) * scale) as f32))
            .collect();
        let mut cells = Self { at, columns, rows, starts: Vec::new(), nodes: Vec::new() };
        cells.sort();
        Some(cells)
    }

    /// Column and row of a place; those beyond the picture are in the last ones.
    fn cell(&self, point: [f32; 2]) -> Option<[usize; 2]> {
        let on = |x: f32, count: usize| ((f64::from(x) / CELL).max(0.0) as usize).min(count - 1);
        (point[0].is_finite() && point[1].is_finite())
            .then(|| [on(point[0], self.columns), on(point[1], self.rows)])
    }

    fn sort(&mut self) {
        let number =
            |at: &[f32; 2]| self.cell(*at).map(|[column, row]| row * self.columns + column);
        let of: Vec<Option<usize>> = self.at.iter().map(number).collect();
        let mut starts = vec![0u32; self.columns * self.rows + 1];
        for cell in of.iter().flatten() {
            starts[cell + 1] += 1;
        }
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        let mut next = starts.clone();
        let mut nodes = vec![0u32; starts[self.columns * self.rows] as usize];
        for (v, cell) in (0u32..).zip(&of) {
            let Some(cell) = *cell else { continue };
            nodes[next[cell] as usize] = v;
            next[cell] += 1;
        }
        (self.starts, self.nodes) = (starts, nodes);
    }

    /// The mean of the values of the nodes in each square and in those on all sides of it; 1 where there are none.
    fn means(&self, values: &[f64]) -> Vec<f64> {
        let sum = |cell: usize| {
            let nodes = &self.nodes[self.starts[cell] as usize..self.starts[cell + 1] as usize];
            (nodes.iter().map(|v| values[*v as usize]).sum::<f64>(), nodes.len() as f64)
        };
        let sums: Vec<(f64, f64)> = (0..self.columns * self.rows).map(sum).collect();
        let mean = |cell: usize| {
            let [columns, rows] = self.around([cell % self.columns, cell / self.columns]);
            let cells = rows.flat_map(|row| columns.clone().map(move |c| row * self.columns + c));
            let (all, count) = cells
                .fold((0.0, 0.0), |(all, count), cell| (all + sums[cell].0, count + sums[cell].1));
            if count > 0.0 { all / count } else { 1.0 }
        };
        (0..sums.len()).map(mean).collect()
    }

    /// The columns and rows of a square and of those on all sides of it.
    fn around(&self, [column, row]: [usize; 2]) -> [RangeInclusive<usize>; 2] {
        [
            column.saturating_sub(1)..=(column + 1).min(self.columns - 1),
            row.saturating_sub(1)..=(row + 1).min(self.rows - 1),
        ]
    }

    /// The share of its diameter for which a node has room, with 1 for all of it.
    fn left(&self, v: usize, wide: &[f32]) -> f64 {
        let Some(cell) = self.cell(self.at[v]) else { return 1.0 };
        let [columns, rows] = self.around(cell);
        let across = columns.clone().count() as f64;
        let area = across * rows.clone().count() as f64 * CELL * CELL;
        let line = |row: usize| {
            let cell = |column: usize| row * self.columns + column;
            let [from, to] = [cell(*columns.start()), cell(*columns.end()) + 1];
            &self.nodes[self.starts[from] as usize..self.starts[to] as usize]
        };
        let around: usize = rows.clone().map(|row| line(row).len()).sum();
        if around > LOOKED_AT {
            return (area / around as f64).sqrt() / f64::from(wide[v]);
        }
        let mut room = [1.0f64; NEAREST];
        for w in rows.flat_map(line).map(|w| *w as usize).filter(|w| *w != v) {
            let far = [0, 1].map(|c| f64::from(self.at[w][c] - self.at[v][c]));
            let wanted = f64::from(wide[v] + wide[w]) / 2.0;
            let share = far[0].hypot(far[1]) / wanted;
            let place = room.iter().position(|known| share < *known);
            if let Some(place) = place {
                room[place..].rotate_right(1);
                room[place] = share;
            }
        }
        room.iter().sum::<f64>() / NEAREST as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of so many nodes a side.
    fn grid(side: u16) -> Vec<[f32; 2]> {
        let at = |v: u32| [(v % u32::from(side)) as f32, (v / u32::from(side)) as f32];
        (0..u32::from(side).pow(2)).map(at).collect()
    }

    #[test]
    fn discs_with_room_keep_their_sizes_and_crowded_ones_give_way() {
        let mut sizes = vec![40u8; 400];
        make_room(&mut sizes, &grid(20));
        assert!(sizes.iter().all(|size| *size == 40), "40 pixels apart");
        // A second picture of the same nodes, a quarter of whose nodes are within a tenth of it.
        let mut positions = grid(20);
        for at in positions.iter_mut().take(100) {
            *at = [at[0] / 10.0, at[1] / 10.0];
        }
        let mut sizes = vec![40u8; 400];
        make_room(&mut sizes, &positions);
        assert!(sizes[..100].iter().all(|size| *size < 40 && *size >= 24), "{:?}", &sizes[..100]);
        assert!(sizes[200..].iter().all(|size| *size == 40), "{:?}", &sizes[200..]);
    }

    #[test]
    fn two_that_touch_halfway_give_way_by_what_is_between_them() {
        // Seven nodes on a line of 1,360 pixels times the share of few nodes: 0.62; two of them 5 pixels apart.
        let unit = (1360.0 * (0.36 + 0.1 * 7f64.sqrt())) as f32;
        let xs = [0.0, 200.0, 300.0, 305.0, 500.0, 700.0, unit];
        let positions = xs.map(|x| [x, 0.0]);
        let mut sizes = [40u8; 7];
        make_room(&mut sizes, &positions);
        let wide = f64::from(diameters(&[40])[0]);
        let left = ((5.0 / wide + 1.0) / 2.0 * 40.0).round() as u8;
        assert_eq!(sizes, [40, 40, left, left, 40, 40, 40]);
    }

    #[test]
    fn odd_positions_harm_nothing() {
        for positions in [
            vec![[f32::NAN; 2]; 3],
            vec![[1.0, 1.0]; 3],
            vec![[f32::MAX, 0.0], [f32::MIN, 0.0], [0.0, f32::INFINITY]],
            vec![[0.0, 0.0], [1e-38, 0.0], [f32::NAN, 1.0]],
        ] {
            let mut sizes = vec![3u8, 20, 255];
            make_room(&mut sizes, &positions);
            assert!(sizes[0] == 3 && (12..=20).contains(&sizes[1]), "{positions:?}: {sizes:?}");
        }
        make_room(&mut [], &[]);
        // Many on one spot beside others: by their density, and in no more time than others.
        let mut positions = vec![[0.0f32, 0.0]; 100_000];
        positions.extend(grid(300));
        let mut sizes = vec![20u8; positions.len()];
        make_room(&mut sizes, &positions);
        assert!(sizes[..100_000].iter().all(|size| *size == 12));
    }
}
