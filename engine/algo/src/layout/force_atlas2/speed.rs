//! The adaptive global speed of ForceAtlas2 (Jacomy et al. 2014, section "Adapting the global speed"),
//! in double precision throughout: the square of the node count does not fit 32 bits.

/// Efficiency never falls below this by halving.
const EFFICIENCY_MIN: f64 = 0.05;

/// Speed and its efficiency factor, carried from one iteration to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speed {
    pub(super) speed: f64,
    efficiency: f64,
}

impl Speed {
    pub(super) const fn new() -> Self {
        Self { speed: 1.0, efficiency: 1.0 }
    }

    /// The speed of this iteration, from the global swing and traction of `n` nodes.
    pub(super) fn advance(&mut self, n: f64, tolerance: f64, swing: f64, traction: f64) -> f64 {
        let estimate = 0.05 * n.sqrt();
        let mut jitter = tolerance * estimate.sqrt().max((estimate * traction / (n * n)).min(10.0));
        if traction > 0.0 && swing / traction > 2.0 {
            if self.efficiency > EFFICIENCY_MIN {
                self.efficiency *= 0.5;
            }
            jitter = jitter.max(tolerance);
        }
        let target =
            if swing > 0.0 { jitter * self.efficiency * traction / swing } else { f64::INFINITY };
        if swing > jitter * traction {
            if self.efficiency > EFFICIENCY_MIN {
                self.efficiency *= 0.7;
            }
        } else if self.speed < 1000.0 {
            self.efficiency *= 1.3;
        }
        self.speed += (target - self.speed).min(0.5 * self.speed);
        // A layout without any force leaves the speed growing for ever; nothing moves anyway.
        self.speed = self.speed.clamp(f64::MIN_POSITIVE, 1e12);
        self.speed
    }
}
