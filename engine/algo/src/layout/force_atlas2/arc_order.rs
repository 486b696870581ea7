//! Arcs in an order of their own. Renaming the ends of all arcs costs more than everything else that a
//! sort does, and while the layout is wild the next sort undoes it: so the arcs stay as they are for some
//! iterations, and the positions come to them.

use rayon::prelude::*;

use super::cells::TASK;

/// Iterations that the arcs stay behind the bodies: renaming them takes 2 to 6 ns an arc, and an iteration
/// with the wrong order 0.2 to 0.4 ns more than one with the right one, so that by then both have cost
/// about the same.
const BEHIND_MAX: u32 = 12;

/// How the order of the arcs, whose rows are at places, differs from that of the bodies.
#[derive(Default)]
pub(super) struct Apart {
    /// Place of each body; empty while the orders are one.
    pub(super) place_of: Vec<u32>,
    /// The body at each place.
    body_at: Vec<u32>,
    /// Iterations since the orders parted.
    behind: u32,
    /// Positions, by place.
    pub(super) points: Vec<[f32; 2]>,
    /// Radii, by place; empty without.
    pub(super) radii: Vec<f32>,
    /// The pull on each body, by place.
    pub(super) pulls: Vec<[f32; 2]>,
}

impl Apart {
    pub(super) fn is_on(&self) -> bool {
        !self.place_of.is_empty()
    }

    /// Body `i` is now the one that was `order[i]`.
    pub(super) fn part(&mut self, order: &[u32]) {
        if self.is_on() {
            let mut now = Vec::new();
            gather(&self.place_of, order, &mut now);
            self.place_of = now;
        } else {
            self.place_of = order.to_vec();
        }
        self.body_at.resize(order.len(), 0);
        for (body, place) in self.place_of.iter().enumerate() {
            self.body_at[*place as usize] = body as u32;
        }
    }

    /// Whether the arcs should follow now; to be asked once an iteration, which it counts.
    pub(super) fn follow_is_due(&mut self) -> bool {
        self.behind += u32::from(self.is_on());
        self.behind > BEHIND_MAX
    }

    /// The orders are one again: gives the places by body.
    pub(super) fn join(&mut self) -> Vec<u32> {
        self.behind = 0;
        std::mem::take(&mut self.place_of)
    }

    /// Brings what the pull depends on to the places.
    pub(super) fn fetch(&mut self, points: &[[f32; 2]], radii: Option<&[f32]>) {
        gather(points, &self.body_at, &mut self.points);
        match radii {
            Some(radii) => gather(radii, &self.body_at, &mut self.radii),
            None => self.radii.clear(),
        }
        self.pulls.resize(points.len(), [0.0; 2]);
    }

    /// Adds to `out` the pull on the bodies from `first`.
    pub(super) fn hand_out(&self, first: usize, out: &mut [[f32; 2]]) {
        for (f, place) in out.iter_mut().zip(&self.place_of[first..]) {
            let pull = self.pulls[*place as usize];
            f[0] += pull[0];
            f[1] += pull[1];
        }
    }

    /// Bytes held.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        4 * (self.place_of.capacity() + self.body_at.capacity() + self.radii.capacity())
            + 8 * (self.points.capacity() + self.pulls.capacity())
    }
}

/// `out[i]` becomes `from[order[i]]`.
fn gather<T: Copy + Send + Sync>(from: &[T], order: &[u32], out: &mut Vec<T>) {
    order.par_iter().with_min_len(4 * TASK).map(|i| from[*i as usize]).collect_into_vec(out);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn bodies_find_their_places_through_any_number_of_orders() {
        let n = 5000u32;
        // Steps that share no factor with n go through all of it.
        let orders: Vec<Vec<u32>> =
            [7u32, 1233, 49].iter().map(|k| (0..n).map(|i| i * k % n).collect()).collect();
        let mut nodes: Vec<u32> = (0..n).collect();
        let mut apart = Apart::default();
        assert!(!apart.is_on());
        for order in &orders {
            nodes = order.iter().map(|i| nodes[*i as usize]).collect();
            apart.part(order);
            // Places are the first order, in which node and body had the same number.
            assert_eq!(apart.place_of, nodes);
            let points: Vec<[f32; 2]> = nodes.iter().map(|v| [*v as f32, 0.0]).collect();
            apart.fetch(&points, None);
            assert!(apart.points.iter().enumerate().all(|(place, p)| p[0] == place as f32));
            apart.pulls.clone_from(&apart.points);
            let mut out = vec![[1.0; 2]; 100];
            apart.hand_out(40, &mut out);
            assert!(out.iter().zip(&points[40..]).all(|(f, p)| f[0] == 1.0 + p[0] && f[1] == 1.0));
        }
        assert_eq!((1..).find(|_| apart.follow_is_due()), Some(BEHIND_MAX + 1));
        assert_eq!(apart.join(), nodes);
        assert!(!apart.is_on() && !apart.follow_is_due());
    }
}
