//! The tone map: from ink to colour, over the background (`TONE` of the page's shaders).

use crate::band::Band;

/// What edges may cover of the background at most.
const COVER_MAX: f32 = 0.78;

/// What the ink of a picture is mapped with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tone {
    /// Rows of the whole picture.
    pub(crate) height: usize,
    /// Colour of the background in its middle and in its corners.
    pub(crate) back: [[f32; 3]; 2],
    /// Whether there is no background.
    pub(crate) clear: bool,
    /// What a unit of ink counts.
    pub(crate) scale: f32,
    /// Opacity of the edges together.
    pub(crate) opacity: f32,
}

/// Opacity of that much ink.
pub(crate) fn cover(ink: f32, scale: f32) -> f32 {
    (1.0 - (-ink * scale).exp()).min(COVER_MAX)
}

impl Tone {
    /// Turns the ink of a band into colours, multiplied with their opacity, over the background or over nothing.
    pub(crate) fn map(&self, band: &mut Band) {
        let aspect = band.columns as f32 / self.height.max(1) as f32;
        let far = (0.5 * aspect.hypot(1.0)).max(1e-3);
        let square = |x: f32| x * x;
        let across = |i: usize| square(((i as f32 + 0.5) / band.columns as f32 - 0.5) * aspect);
        let across: Vec<f32> = (0..band.columns).map(across).collect();
        let first = band.first;
        for (row, pixels) in band.pixels.chunks_mut(band.columns.max(1)).enumerate() {
            let down = square(((first + row) as f32 + 0.5) / self.height as f32 - 0.5);
            for (pixel, across) in pixels.iter_mut().zip(&across) {
                let ink = *pixel;
                if ink == [0.0; 4] {
                    // Most of a picture has none.
                    if !self.clear {
                        let [r, g, b] = self.ground(across + down, far);
                        *pixel = [r, g, b, 1.0];
                    }
                    continue;
                }
                let cover = cover(ink[3], self.scale) * self.opacity;
                let color = [0, 1, 2].map(|c| ink[c] / ink[3].max(1e-5));
                if self.clear {
                    *pixel = [color[0] * cover, color[1] * cover, color[2] * cover, cover];
                    continue;
                }
                let back = self.ground(across + down, far);
                let [r, g, b] = [0, 1, 2].map(|c| back[c] + (color[c] - back[c]) * cover);
                *pixel = [r, g, b, 1.0];
            }
        }
    }

    /// The background at a place whose distance from the middle has this square; the corners are `far`.
    #[inline]
    fn ground(&self, square: f32, far: f32) -> [f32; 3] {
        let [center, edge] = self.back;
        let d = (square.sqrt() / far).min(1.0);
        let t = d * d * (3.0 - 2.0 * d);
        let at = |c: usize| center[c] + (edge[c] - center[c]) * t;
        [at(0), at(1), at(2)]
    }
}
