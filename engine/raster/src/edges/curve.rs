//! The curve of an edge: a quadratic one, a circle or a cubic one, in pixels of the page.

/// A quadratic curve, or a circle, or a cubic curve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Curve {
    pub(crate) a: [f32; 2],
    pub(crate) m: [f32; 2],
    pub(crate) b: [f32; 2],
    /// The radius, where it is a circle around `m`.
    pub(crate) circle: Option<f32>,
    /// The inner control points, where it is a cubic curve.
    pub(crate) led: Option<[[f32; 2]; 2]>,
}

impl Curve {
    pub(crate) fn at(&self, t: f32) -> [f32; 2] {
        if let Some(radius) = self.circle {
            let (sin, cos) = (t * std::f32::consts::TAU).sin_cos();
            return [self.m[0] + radius * sin, self.m[1] - radius * cos];
        }
        let u = 1.0 - t;
        if let Some([p, q]) = self.led {
            let [b0, b1, b2, b3] = [u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t];
            return [0, 1].map(|c| b0 * self.a[c] + b1 * p[c] + b2 * q[c] + b3 * self.b[c]);
        }
        [0, 1].map(|c| u * u * self.a[c] + 2.0 * u * t * self.m[c] + t * t * self.b[c])
    }

    /// The length between its ends, as the crow flies.
    pub(crate) fn span(&self) -> f32 {
        (self.b[0] - self.a[0]).hypot(self.b[1] - self.a[1])
    }

    /// First and last row that it may touch when it is so wide.
    pub(crate) fn rows(&self, wide: f32) -> [f32; 2] {
        let [low, high] = self.reach(1);
        [low - wide, high + wide]
    }

    /// Least and greatest coordinate on an axis that it may have.
    pub(crate) fn reach(&self, axis: usize) -> [f32; 2] {
        let inner = self.led.unwrap_or([self.m; 2]);
        let far = self.circle.unwrap_or(0.0);
        let all = [self.a, inner[0], inner[1], self.b].map(|p| p[axis]);
        let [low, high] = [all.map(|x| x - far), all.map(|x| x + far)];
        [low.into_iter().fold(f32::MAX, f32::min), high.into_iter().fold(f32::MIN, f32::max)]
    }
}

/// A line that stands for many edges is wider, by the logarithm of their number.
pub(crate) fn swell(count: u32) -> f32 {
    (1.0 + 0.5 * (count.max(1) as f32).log2()).min(6.0)
}
