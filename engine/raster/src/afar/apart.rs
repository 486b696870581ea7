//! Discs that stand clear of one another (`shell/web/src/afar/apart.ts`).

/// A disc in the plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Body {
    pub(crate) at: [f64; 2],
    pub(crate) r: f64,
}

const TURNS: usize = 60;
/// What stays free between two, as a share of the radius of the smaller one.
const GAP: f64 = 0.12;

/// Moves discs apart that overlap, the smaller of two more than the larger, as in the cartograms of Dorling ("Area
/// Cartograms: Their Use and Creation", 1996). Those that are far from others stay where they are.
pub(crate) fn set_apart(bodies: &mut [Body]) {
    for _ in 0..TURNS {
        let mut moved = false;
        for i in 0..bodies.len() {
            for j in i + 1..bodies.len() {
                moved |= part(bodies, i, j);
            }
        }
        if !moved {
            return;
        }
    }
}

/// Moves two discs apart; answers whether they had to be.
fn part(bodies: &mut [Body], i: usize, j: usize) -> bool {
    let [a, b] = [bodies[i], bodies[j]];
    let mut run = [b.at[0] - a.at[0], b.at[1] - a.at[1]];
    let wanted = a.r + b.r + GAP * a.r.min(b.r);
    if run[0].abs() >= wanted || run[1].abs() >= wanted {
        return false;
    }
    let mut span = run[0].hypot(run[1]);
    if span >= wanted * 0.999 {
        return false;
    }
    if span < 1e-9 * wanted || span == 0.0 {
        // Two on one spot: each pair leaves in a direction of its own.
        let (sin, cos) = (2.399_963 * (i + j) as f64).sin_cos();
        (run, span) = ([cos, sin], 1.0);
    }
    let push = (wanted - span.min(wanted)) / span;
    let share = b.r * b.r / (a.r * a.r + b.r * b.r).max(1e-300);
    for (c, way) in run.into_iter().enumerate() {
        bodies[i].at[c] -= way * push * share;
        bodies[j].at[c] += way * push * (1.0 - share);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_two_gives_way_and_a_far_one_stays() {
        let body = |x: f64, r: f64| Body { at: [x, 0.0], r };
        let mut bodies = [body(0.0, 10.0), body(8.0, 2.0), body(100.0, 5.0)];
        set_apart(&mut bodies);
        let gap = bodies[1].at[0] - bodies[0].at[0] - 12.0;
        assert!((gap - 0.24).abs() < 0.02, "{gap}");
        assert!(bodies[0].at[0].abs() < 0.3 && bodies[1].at[0] > 11.5, "{bodies:?}");
        assert_eq!(bodies[2], body(100.0, 5.0));
        let mut same = [body(1.0, 1.0); 3];
        set_apart(&mut same);
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let far = (same[i].at[0] - same[j].at[0]).hypot(same[i].at[1] - same[j].at[1]);
            assert!(far > 2.0, "{same:?}");
        }
    }
}
