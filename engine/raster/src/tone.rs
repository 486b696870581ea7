//! Background, palette and the map from ink to colour (`TONE` of the page's shaders).

use crate::Theme;
use crate::band::Band;

/// What edges may cover of the background at most.
const COVER_MAX: f32 = 0.78;

/// The built-in hues, and what they are on a light background.
const HUES: [(u32, u32); 13] = [
    (0x6d_b9fc, 0x32_7cb9),
    (0xca_5d2f, 0xef_7a10),
    (0xfd_d141, 0xaa_2914),
    (0x35_957c, 0x97_7750),
    (0x94_67ca, 0x65_37d9),
    (0x2d_f1c4, 0xa0_8de8),
    (0xe4_90bb, 0xca_3894),
    (0xa6_aa07, 0x4b_ad6d),
    (0xd7_cefd, 0xbb_899e),
    (0xa8_c991, 0x98_536d),
    (0x73_85aa, 0x9c_0699),
    (0xc0_935f, 0x92_5ee3),
    (0x6b_7589, 0x9e_a5b2),
];

impl Theme {
    /// The middle of the usual background, and its corners.
    pub(crate) fn background(self) -> [[f32; 3]; 2] {
        let colors = match self {
            Self::Dark => [0x13_161e, 0x0b_0d12],
            Self::Light => [0xff_ffff, 0xf1_f3f7],
        };
        colors.map(|rgb: u32| [rgb >> 16, rgb >> 8, rgb].map(|c| (c & 255) as f32 / 255.0))
    }

    /// A colour of a node as this theme shows it: built-in hues have a counterpart on light, others stay.
    pub(crate) fn shown(self, [r, g, b, a]: [u8; 4]) -> [u8; 4] {
        if self == Self::Dark {
            return [r, g, b, a];
        }
        let rgb = u32::from(r) << 16 | u32::from(g) << 8 | u32::from(b);
        let known = HUES.iter().find(|(dark, _)| *dark == rgb);
        known.map_or([r, g, b, a], |(_, light)| {
            let channel = |shift: u32| (light >> shift & 255) as u8;
            [channel(16), channel(8), channel(0), a]
        })
    }
}

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
