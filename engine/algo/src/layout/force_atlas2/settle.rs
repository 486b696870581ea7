//! Test of whether a layout has come to rest.
//!
//! Single steps never become small: the speed adapts so that nodes always swing a little. So the layout is compared
//! with itself some iterations ago, and stands when one of two things has ended. One is travel: swinging cancels out,
//! drifting adds up. The other is growth: the forces balance where the edges' pull equals the push of all pairs, which
//! does not depend on distances, so that a picture whose edges become shorter beside the whole grows. One that grows no more
//! is not getting better, though in a crowd of nodes with the same neighbours these may change places for long.
//! Nodes count by their mass: one without edges may fly outwards for ever without changing the picture.
//! Neither depends on a clock, nor on how many iterations there were.

use rayon::prelude::*;

use super::cells::TASK;
use super::params::Params;

/// Iterations between two looks.
pub(crate) const WINDOW: u64 = 16;
/// Mean travel within a window, over the mean distance from the centre, that counts as rest.
pub(crate) const REST: f64 = 1.5e-2;
/// Change of the mean distance from the centre within a window, over that distance, that counts as no growth.
pub(crate) const STEADY: f64 = 1e-3;
/// Travel within a window, over the same, up to which nodes change places in a picture that stands: beyond it the
/// picture may be turning from shrinking to growing.
pub(crate) const EXCHANGE: f64 = 0.1;
/// Share of gravity in what holds a picture together up to which its size follows its edges.
const GRAVITY_SHARE: f64 = 0.1;
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
    pub(super) fn look(&mut self, points: &[[f32; 2]], masses: &[f32], params: &Params) {
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
        let [x, y, _, mass] =
            sum(points, masses, |i| [f64::from(points[i][0]), f64::from(points[i][1]), 0.0]);
        let centre = [x / mass, y / mass];
        let radius = |p: [f32; 2]| (f64::from(p[0]) - centre[0]).hypot(f64::from(p[1]) - centre[1]);
        let reference = &self.reference;
        let [travel, size, before, _] = sum(points, masses, |i| {
            let (p, q) = (points[i], reference[i]);
            [f64::from(p[0] - q[0]).hypot(f64::from(p[1] - q[1])), radius(p), radius(q)]
        });
        let grows_no_more = (size - before).abs() <= STEADY * size
            && travel <= EXCHANGE * size
            && size <= telling_size(params, mass);
        let rest = travel <= REST * size || grows_no_more;
        self.quiet = if rest { self.quiet + 1 } else { 0 };
        self.reference.copy_from_slice(points);
        self.since = 0;
    }
}

/// The largest sum of masses times distances from the centre at which the size of a picture tells how short its edges are: beyond
/// it gravity sets the size. Zero where the size never tells: with gravity that grows with the distance, and with locks.
pub(crate) fn telling_size(params: &Params, mass: f64) -> f64 {
    if params.strong_gravity_mode || params.locked_x || params.locked_y || params.locked_r {
        return 0.0;
    }
    // The virials: scaling / 2 times the squared mass for all pairs, and gravity times this sum.
    GRAVITY_SHARE * 0.5 * params.scaling_ratio * mass * mass / params.gravity
}

/// Sums of mass times `f`, and of mass, in a fixed order.
fn sum(points: &[[f32; 2]], masses: &[f32], f: impl Fn(usize) -> [f64; 3] + Sync) -> [f64; 4] {
    let parts: Vec<[f64; 4]> = masses
        .par_chunks(TASK)
        .enumerate()
        .map(|(t, masses)| {
            let mut sums = [0.0; 4];
            for (i, m) in masses.iter().enumerate() {
                let (m, v) = (f64::from(*m), f(t * TASK + i));
                for c in 0..3 {
                    sums[c] += m * v[c];
                }
                sums[3] += m;
            }
            sums
        })
        .collect();
    assert_eq!(points.len(), masses.len(), "a mass for each body");
    parts.iter().fold([0.0; 4], |a, b| std::array::from_fn(|c| a[c] + b[c]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of nodes, of radius `size`, in which each has gone `steps` places on.
    fn ring(size: f64, steps: f64) -> Vec<[f32; 2]> {
        let at = |i: u32| std::f64::consts::TAU * (f64::from(i) + steps) / 1000.0;
        (0..1000).map(|i| [(size * at(i).cos()) as f32, (size * at(i).sin()) as f32]).collect()
    }

    /// Whether a ring settles that grows and turns by so much in each window.
    fn settles(growth: f64, steps: f64, params: &Params) -> bool {
        let mut settle = Settle::new();
        let masses = vec![20.0; 1000];
        for i in 0..=4 * WINDOW {
            let windows = i as f64 / WINDOW as f64;
            settle.look(
                &ring(100.0 * (1.0 + growth).powf(windows), steps * windows),
                &masses,
                params,
            );
        }
        settle.settled()
    }

    #[test]
    fn a_picture_stands_when_nothing_travels_or_when_it_grows_no_more() {
        let params = Params::default();
        // One step of the ring is 0.6 % of its radius.
        assert!(settles(0.0, 1.0, &params), "nothing travels");
        assert!(settles(0.01, 0.0, &params), "nothing travels, though it grows a little");
        assert!(settles(0.0, 8.0, &params), "nodes change places");
        assert!(settles(0.0005, 8.0, &params) && settles(-0.0005, 8.0, &params));
        assert!(
            !settles(0.003, 8.0, &params) && !settles(-0.003, 8.0, &params),
            "it changes its size"
        );
        assert!(!settles(0.0, 30.0, &params), "much travels");
    }

    #[test]
    fn size_does_not_tell_where_gravity_or_locks_set_it() {
        let with = |change: fn(&mut Params)| {
            let mut params = Params::default();
            change(&mut params);
            settles(0.0, 8.0, &params)
        };
        assert!(with(|p| p.gravity = 0.0) && with(|p| p.lin_log_mode = true));
        assert!(!with(|p| p.gravity = 100.0));
        assert!(!with(|p| p.strong_gravity_mode = true));
        assert!(
            !with(|p| p.locked_x = true)
                && !with(|p| p.locked_y = true)
                && !with(|p| p.locked_r = true)
        );
    }
}
