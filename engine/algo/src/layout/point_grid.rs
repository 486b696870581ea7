//! Points by the square cell of the plane that they lie in, to find those that are near.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::AlgoError;

/// Some of the points by cell: those of cell `k` of `cells` are `order[k.1..]`, in the order of the points.
pub(crate) struct PointGrid {
    wide: f64,
    /// Cells that hold points, by row and column, with the place of their first point.
    cells: Vec<([i64; 2], usize)>,
    order: Vec<u32>,
}

impl PointGrid {
    /// The points `of`, in cells that are so `wide`.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`].
    pub(crate) fn new(
        points: &[[f64; 2]],
        of: &[u32],
        wide: f64,
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        cancel.check()?;
        let mut keys: Vec<([i64; 2], u32)> =
            of.par_iter().map(|v| (cell(points[*v as usize], wide), *v)).collect();
        keys.par_sort_unstable();
        cancel.check()?;
        let mut cells: Vec<([i64; 2], usize)> = Vec::new();
        for (place, (key, _)) in keys.iter().enumerate() {
            if cells.last().is_none_or(|(last, _)| last != key) {
                cells.push((*key, place));
            }
        }
        Ok(Self { wide, cells, order: keys.into_iter().map(|(_, v)| v).collect() })
    }

    /// The points of a cell.
    fn of(&self, key: [i64; 2]) -> &[u32] {
        let Ok(k) = self.cells.binary_search_by_key(&key, |(key, _)| *key) else { return &[] };
        let end = self.cells.get(k + 1).map_or(self.order.len(), |(_, place)| *place);
        &self.order[self.cells[k].1..end]
    }

    /// Calls `f` with the points of the cells around a place, at most `many` of each.
    pub(crate) fn around(&self, point: [f64; 2], many: usize, mut f: impl FnMut(usize)) {
        let [row, column] = cell(point, self.wide);
        for key in (-1..=1).flat_map(|r| (-1..=1).map(move |c| [row + r, column + c])) {
            self.of(key).iter().take(many).for_each(|u| f(*u as usize));
        }
    }
}

fn cell(point: [f64; 2], wide: f64) -> [i64; 2] {
    point.map(|x| (x / wide).floor() as i64)
}
