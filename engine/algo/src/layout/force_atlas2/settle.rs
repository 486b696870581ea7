//! When a layout has come to rest.
//!
//! Single steps never become small: the speed adapts so that nodes always swing a little. What ends is
//! travel. So the layout is compared with itself some iterations ago: swinging cancels out, drifting adds up.
//! Nodes count by their mass: one without edges may fly outwards for ever without changing the picture.

use rayon::prelude::*;

use super::cells::TASK;

/// Iterations between two looks.
pub(crate) const WINDOW: u64 = 16;
/// Mean travel within a window, over the mean distance from the centre, that counts as rest.
pub(crate) const REST: f64 = 1.5e-2;
/// Looks in a row that must find rest.
pub(crate) const LOOKS: u32 = 2;

/// The watch over one layout.
pub(super) struct Settle {
    /// Positions at the last look, by body.
    pub(super) reference: Vec<[f32; 2]>,
    since: u64,
    quiet: u32,
}

impl Settle {
    pub(super) fn new() -> Self {
        Self { reference: Vec::new(), since: 0, quiet: 0 }
    }

    /// Something changed from outside: whatever was at rest may move again.
    pub(super) fn restart(&mut self) {
        self.reference.clear();
        (self.since, self.quiet) = (0, 0);
    }

    pub(super) fn settled(&self) -> bool {
        self.quiet >= LOOKS
    }

    /// Called after every iteration.
    pub(super) fn look(&mut self, points: &[[f32; 2]], masses: &[f32]) {
        if self.reference.len() != points.len() {
            self.reference.clear();
            self.reference.extend_from_slice(points);
            self.since = 0;
            return;
        }
        self.since += 1;
        if self.since < WINDOW {
            return;
        }
        let sums = sum(points, masses, |i| [f64::from(points[i][0]), f64::from(points[i][1])]);
        let centre = [sums[0] / sums[2], sums[1] / sums[2]];
        let reference = &self.reference;
        let sums = sum(points, masses, |i| {
            let (p, q) = (points[i], reference[i]);
            let radius = (f64::from(p[0]) - centre[0]).hypot(f64::from(p[1]) - centre[1]);
            [f64::from(p[0] - q[0]).hypot(f64::from(p[1] - q[1])), radius]
        });
        let rest = sums[0] <= REST * sums[1];
        self.quiet = if rest { self.quiet + 1 } else { 0 };
        self.reference.copy_from_slice(points);
        self.since = 0;
    }
}

/// Sums of mass times `f`, and of mass, in a fixed order.
fn sum(points: &[[f32; 2]], masses: &[f32], f: impl Fn(usize) -> [f64; 2] + Sync) -> [f64; 3] {
    let parts: Vec<[f64; 3]> = masses
        .par_chunks(TASK)
        .enumerate()
        .map(|(t, masses)| {
            let mut sums = [0.0; 3];
            for (i, m) in masses.iter().enumerate() {
                let (m, v) = (f64::from(*m), f(t * TASK + i));
                for c in 0..2 {
                    sums[c] += m * v[c];
                }
                sums[2] += m;
            }
            sums
        })
        .collect();
    assert_eq!(points.len(), masses.len(), "a mass for each body");
    parts.iter().fold([0.0; 3], |a, b| std::array::from_fn(|c| a[c] + b[c]))
}
