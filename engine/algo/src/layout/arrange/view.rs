//! Place of a picture on the stage when the page fits it there.

use graphlume_types::stage::STAGE;

/// Points that are looked at, as many as the page does.
const SAMPLE_MAX: usize = 20_000;
/// Share of the points that is left out at either end of an axis.
const LEFT_OUT: f64 = 0.002;
/// How many times as long an axis may be for the sake of all points.
const WHOLE: f64 = 1.12;

/// The scale and the middle at which the page shows a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewBox {
    /// Pixels a unit.
    pub scale: f64,
    /// The point in the middle of the stage.
    pub middle: [f64; 2],
    /// Sides of what is fitted, in units.
    pub sides: [f64; 2],
}

impl ViewBox {
    /// The view of `points`, which leaves out those beyond the 0.2 and 99.8 percentiles of an axis if that makes the rest
    /// larger, as `percentileBox` of the page does; `None` unless two points differ.
    #[must_use]
    pub fn of(points: &[[f64; 2]]) -> Option<Self> {
        let spans = [0, 1].map(|c| span(&sorted(points, c)));
        let sides = spans.map(|[low, high]| high - low);
        let middle = spans.map(|[low, high]| f64::midpoint(low, high));
        let scale = (STAGE[0] / sides[0].max(1e-9)).min(STAGE[1] / sides[1].max(1e-9));
        (sides[0].max(sides[1]) > 0.0).then_some(Self { scale, middle, sides })
    }

    /// Turns units into pixels about the middle of the stage.
    pub(super) fn to_pixels(self, points: &mut [[f64; 2]]) {
        for p in points {
            *p = [0, 1].map(|c| (p[c] - self.middle[c]) * self.scale);
        }
    }

    /// Turns pixels into units.
    pub(super) fn to_units(self, points: &mut [[f64; 2]]) {
        for p in points {
            *p = [0, 1].map(|c| p[c] / self.scale + self.middle[c]);
        }
    }
}

/// A coordinate of a sample of the points, ascending.
fn sorted(points: &[[f64; 2]], c: usize) -> Vec<f64> {
    let step = (points.len() / SAMPLE_MAX).max(1);
    let mut all: Vec<f64> = points.iter().step_by(step).map(|p| p[c]).collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

fn span(sorted: &[f64]) -> [f64; 2] {
    let Some(last) = sorted.len().checked_sub(1) else { return [0.0; 2] };
    let low = sorted[(LEFT_OUT * last as f64).floor() as usize];
    let high = sorted[((1.0 - LEFT_OUT) * last as f64).ceil() as usize];
    let far = sorted[last] - sorted[0];
    if far <= (high - low) * WHOLE { [sorted[0], sorted[last]] } else { [low, high] }
}

/// The part of the stage that the box from the 5 to the 95 percentiles of the points takes when they fit it: 1 for a
/// picture that fills the screen evenly would be 0.81, for a disc 0.4.
#[must_use]
pub fn box_share(points: &[[f64; 2]]) -> f64 {
    let Some(view) = ViewBox::of(points) else { return 0.0 };
    let side = |c: usize| {
        let all = sorted(points, c);
        let at = |share: f64| all[(share * (all.len() - 1) as f64).round() as usize];
        (at(0.95) - at(0.05)) * view.scale / STAGE[c]
    };
    side(0) * side(1)
}
