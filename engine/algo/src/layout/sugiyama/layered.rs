//! A graph in layers, whose edges lead from one layer to the next, and the order of the nodes in each layer: barycentre
//! sweeps (Sugiyama, Tagawa and Toda 1981) and exchanges of neighbours, of which the order with the fewest crossings stays.

use graphlume_types::CancelToken;
use graphlume_types::hash::h64;

use super::slices;
use crate::AlgoError;

/// Segments up to which neighbours are exchanged after each sweep.
const EXCHANGE_MAX: usize = 50_000;
/// Rounds of exchanges after a sweep.
const EXCHANGE_ROUNDS: usize = 6;
/// Segments up to which all sweeps are made; of larger graphs fewer, and at least the least.
const ALL_SWEEPS: usize = 200_000;
const LEAST_SWEEPS: usize = 4;
/// Sweeps at most.
pub(crate) const SWEEPS: usize = 24;
/// Orders that a small graph is swept from, and the segments that all of them may have.
const STARTS: usize = 12;
const START_SEGMENTS: usize = 12_000;
/// Sweeps in a row that may bring nothing.
const PATIENCE: usize = 6;
/// Nodes between two looks at the token.
const LOOK: usize = 1 << 14;

/// Neighbours in the layer above or below, by node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    starts: Vec<u32>,
    to: Vec<u32>,
}

impl Side {
    fn new(
        n: usize,
        segments: &[(u32, u32)],
        of: impl Fn(&(u32, u32)) -> (u32, u32),
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        let mut starts = vec![0u32; n + 1];
        slices::each(segments, cancel, |s| starts[of(s).0 as usize + 1] += 1)?;
        for v in 0..n {
            starts[v + 1] += starts[v];
        }
        let mut free = starts.clone();
        let mut to = vec![0u32; segments.len()];
        slices::each(segments, cancel, |s| {
            let (v, u) = of(s);
            to[free[v as usize] as usize] = u;
            free[v as usize] += 1;
        })?;
        Ok(Self { starts, to })
    }

    /// The places of the neighbours of `v` in [`Self::all`].
    pub(crate) fn range(&self, v: u32) -> std::ops::Range<usize> {
        self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize
    }

    /// Neighbours of `v`.
    pub(crate) fn of(&self, v: u32) -> &[u32] {
        &self.to[self.range(v)]
    }

    /// Neighbours of all nodes.
    pub(crate) fn all(&self) -> &[u32] {
        &self.to
    }

    /// Puts the neighbours of every node into the order of their places.
    fn sort(&mut self, place: &[u32], cancel: &CancelToken) -> Result<(), AlgoError> {
        let mut looks = 0;
        for v in 0..self.starts.len() as u32 - 1 {
            let range = self.range(v);
            look(&mut looks, range.len(), cancel)?;
            self.to[range].sort_unstable_by_key(|u| place[*u as usize]);
        }
        Ok(())
    }
}

/// A graph in layers.
#[derive(Clone, Debug)]
pub(crate) struct Layered {
    /// Nodes from this on are bends of long edges.
    pub(crate) real: usize,
    /// The nodes of each layer, in order.
    pub(crate) rows: Vec<Vec<u32>>,
    /// Neighbours above.
    pub(crate) up: Side,
    /// Neighbours below.
    pub(crate) down: Side,
    /// The place of each node in its layer.
    pub(crate) place: Vec<u32>,
}

impl Layered {
    /// `layer` numbers the layers of the nodes from 0 without gaps, and `edges` lead downwards; those over more than `reach`
    /// layers are left out, which bounds the bends.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`].
    pub(crate) fn new(
        layer: &[u32],
        edges: &[(u32, u32)],
        reach: u32,
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        let real = layer.len();
        let mut rows = vec![Vec::new(); layer.iter().max().map_or(0, |l| *l as usize + 1)];
        let mut segments = Vec::with_capacity(edges.len());
        let mut bends = Vec::new();
        let mut looks = 0;
        for (a, b) in edges {
            let (top, bottom) = (layer[*a as usize], layer[*b as usize]);
            if bottom - top > reach {
                continue;
            }
            look(&mut looks, (bottom - top) as usize, cancel)?;
            let mut above = *a;
            for l in top + 1..bottom {
                let bend = (real + bends.len()) as u32;
                bends.push(l);
                segments.push((above, bend));
                above = bend;
            }
            segments.push((above, *b));
        }
        let n = real + bends.len();
        let down = Side::new(n, &segments, |s| *s, cancel)?;
        let up = Side::new(n, &segments, |s| (s.1, s.0), cancel)?;
        // A search in breadth brings what belongs together beside each other.
        let (mut met, mut queue) = (vec![false; n], Vec::with_capacity(n));
        for start in 0..n as u32 {
            if met[start as usize] {
                continue;
            }
            met[start as usize] = true;
            queue.push(start);
            let mut at = queue.len() - 1;
            while let Some(v) = queue.get(at).copied() {
                at += 1;
                look(&mut looks, down.of(v).len() + up.of(v).len(), cancel)?;
                for u in down.of(v).iter().chain(up.of(v)) {
                    if !met[*u as usize] {
                        met[*u as usize] = true;
                        queue.push(*u);
                    }
                }
            }
        }
        for v in queue {
            let l = layer.get(v as usize).or_else(|| bends.get(v as usize - real));
            rows[l.map_or(0, |l| *l as usize)].push(v);
        }
        let mut made = Self { real, rows, up, down, place: vec![0; n] };
        (0..made.rows.len()).for_each(|row| made.number(row));
        Ok(made)
    }

    /// Writes the places of a row down.
    fn number(&mut self, row: usize) {
        for (i, v) in self.rows[row].iter().enumerate() {
            self.place[*v as usize] = i as u32;
        }
    }

    /// Orders the layers for few crossings by at most `sweeps` sweeps down and up.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`].
    pub(crate) fn reduce(&mut self, sweeps: usize, cancel: &CancelToken) -> Result<(), AlgoError> {
        let segments = self.down.all().len();
        let allowed = if segments <= ALL_SWEEPS {
            SWEEPS
        } else {
            (SWEEPS * ALL_SWEEPS / segments).max(LEAST_SWEEPS)
        };
        let mut best = (self.crossings(cancel)?, self.rows.clone());
        let starts = (START_SEGMENTS / segments.max(1)).clamp(1, STARTS);
        for start in 0..starts as u64 {
            if best.0 == 0 {
                break;
            }
            if start > 0 {
                self.shuffle(start);
            }
            self.search(sweeps.min(allowed), &mut best, cancel)?;
        }
        self.rows = best.1;
        (0..self.rows.len()).for_each(|row| self.number(row));
        self.up.sort(&self.place, cancel)?;
        self.down.sort(&self.place, cancel)
    }

    /// Sweeps down and up from the present order on, as long as it helps, and keeps the best order in `best`.
    fn search(
        &mut self,
        sweeps: usize,
        best: &mut (u64, Vec<Vec<u32>>),
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        let (mut idle, mut least) = (0, u64::MAX);
        for sweep in 0..2 * sweeps {
            if best.0 == 0 || idle == 2 * PATIENCE {
                break;
            }
            self.sweep(sweep % 2 == 0, (sweep / 2) % 2 == 1, cancel)?;
            if self.down.all().len() <= EXCHANGE_MAX {
                self.exchange(cancel)?;
            }
            let now = self.crossings(cancel)?;
            idle += 1;
            if now < least {
                least = now;
                idle = 0;
            }
            if now < best.0 {
                *best = (now, self.rows.clone());
            }
        }
        Ok(())
    }

    /// Puts the nodes of each layer into an order that only `start` and their numbers decide.
    fn shuffle(&mut self, start: u64) {
        for row in 0..self.rows.len() {
            self.rows[row].sort_unstable_by_key(|v| (h64(0, start, u64::from(*v)), *v));
            self.number(row);
        }
    }

    /// Sorts each layer by the mean place of its neighbours in the layer before it, downwards or upwards; `turned` puts
    /// nodes of equal means into the opposite order, so that sweeps do not come to a stop at them.
    fn sweep(&mut self, down: bool, turned: bool, cancel: &CancelToken) -> Result<(), AlgoError> {
        let many = self.rows.len();
        let mut looks = 0;
        for step in 1..many {
            let row = if down { step } else { many - 1 - step };
            let side = if down { &self.up } else { &self.down };
            let mean = |v: u32| {
                let near = side.of(v);
                let sum: u64 = near.iter().map(|u| u64::from(self.place[*u as usize])).sum();
                match near.len() {
                    0 => f64::from(self.place[v as usize]),
                    many => sum as f64 / many as f64,
                }
            };
            let mut keyed = Vec::with_capacity(self.rows[row].len());
            for v in &self.rows[row] {
                look(&mut looks, side.of(*v).len(), cancel)?;
                keyed.push((mean(*v), *v));
            }
            if turned {
                keyed.reverse();
            }
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            self.rows[row] = keyed.into_iter().map(|(_, v)| v).collect();
            self.number(row);
        }
        Ok(())
    }

    /// Exchanges neighbours while that takes crossings away.
    fn exchange(&mut self, cancel: &CancelToken) -> Result<(), AlgoError> {
        let mut looks = 0;
        for _ in 0..EXCHANGE_ROUNDS {
            self.up.sort(&self.place, cancel)?;
            self.down.sort(&self.place, cancel)?;
            let mut better = false;
            for row in 0..self.rows.len() {
                for i in 1..self.rows[row].len() {
                    let (a, b) = (self.rows[row][i - 1], self.rows[row][i]);
                    let arcs = |v: u32| self.up.of(v).len() + self.down.of(v).len();
                    look(&mut looks, arcs(a) + arcs(b), cancel)?;
                    if self.gain(a, b) > 0 {
                        self.rows[row].swap(i - 1, i);
                        self.place[a as usize] = i as u32;
                        self.place[b as usize] = i as u32 - 1;
                        better = true;
                    }
                }
                // The lists beside this row are by place.
                for near in [row.wrapping_sub(1), row + 1] {
                    for v in self.rows.get(near).into_iter().flatten() {
                        let side = if near < row { &mut self.down } else { &mut self.up };
                        let range = side.range(*v);
                        side.to[range].sort_unstable_by_key(|u| self.place[*u as usize]);
                    }
                }
            }
            if !better {
                break;
            }
        }
        Ok(())
    }

    /// Crossings of the edges of `a` with those of `b`, to its right, less those that there are when they change places.
    fn gain(&self, a: u32, b: u32) -> i64 {
        let inversions = |left: &[u32], right: &[u32]| {
            let (mut sum, mut at) = (0i64, 0);
            for u in left {
                while right
                    .get(at)
                    .is_some_and(|w| self.place[*w as usize] < self.place[*u as usize])
                {
                    at += 1;
                }
                sum += at as i64;
            }
            sum
        };
        let of =
            |side: &Side| inversions(side.of(a), side.of(b)) - inversions(side.of(b), side.of(a));
        of(&self.up) + of(&self.down)
    }

    /// Crossings of edges between neighbouring layers (Barth, Jünger and Mutzel 2002).
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`].
    pub(crate) fn crossings(&self, cancel: &CancelToken) -> Result<u64, AlgoError> {
        let (mut sum, mut looks, mut places) = (0u64, 0, Vec::new());
        for pair in self.rows.windows(2) {
            // Counts of ends by place in the lower layer, as a tree of sums.
            let mut tree = vec![0u32; pair[1].len() + 1];
            let mut total = 0u64;
            for v in &pair[0] {
                places.clear();
                places.extend(self.down.of(*v).iter().map(|u| self.place[*u as usize]));
                look(&mut looks, places.len() + 1, cancel)?;
                for p in &places {
                    let (mut i, mut before) = (*p as usize + 1, 0u64);
                    while i > 0 {
                        before += u64::from(tree[i]);
                        i &= i - 1;
                    }
                    sum += total - before;
                }
                for p in &places {
                    let mut i = *p as usize + 1;
                    while i < tree.len() {
                        tree[i] += 1;
                        i += i & i.wrapping_neg();
                    }
                }
                total += places.len() as u64;
            }
        }
        Ok(sum)
    }
}

/// Asks the token once for so much work.
pub(super) fn look(done: &mut usize, work: usize, cancel: &CancelToken) -> Result<(), AlgoError> {
    *done += work + 1;
    if *done >= LOOK {
        *done = 0;
        cancel.check()?;
    }
    Ok(())
}
