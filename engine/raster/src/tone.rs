//! Background, palette and the map from ink to colour (`TONE` of the page's shaders).

use crate::Theme;
use crate::band::Band;

/// What edges may cover of the background at most.
const COVER_MAX: f32 = 0.78;

/// The built-in hues, and what they are on a light background.
const HUES: [(u32, u32); 13] = [
    (0x6d_b9fc, 0x3e_7aae),
    (0xca_5d2f, 0xea_7020),
    (0xfd_d141, 0x88_0b34),
    (0x35_957c, 0x73_6704),
    (0x94_67ca, 0x4f_2da2),
    (0x2d_f1c4, 0xb0_77f1),
    (0xe4_90bb, 0xbe_4879),
    (0xa6_aa07, 0x69_a17a),
    (0xd7_cefd, 0xcf_7aab),
    (0xa8_c991, 0x61_4b6f),
    (0x73_85aa, 0x76_0c74),
    (0xc0_935f, 0x7c_5bcc),
    (0x6b_7589, 0x9e_a5b2),
];

impl Theme {
    /// The middle of the background, and its corners.
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

/// Turns the ink of a band into colours, multiplied with their opacity, over the background or, with `clear`, over nothing.
pub(crate) fn map(band: &mut Band, height: usize, theme: Theme, scale: f32, clear: bool) {
    let [center, edge] = theme.background();
    let aspect = band.columns as f32 / height.max(1) as f32;
    let far = 0.5 * aspect.hypot(1.0);
    for (i, pixel) in band.pixels.iter_mut().enumerate() {
        let ink = *pixel;
        let cover = (1.0 - (-ink[3] * scale).exp()).min(COVER_MAX);
        let color = [0, 1, 2].map(|c| ink[c] / ink[3].max(1e-5));
        if clear {
            *pixel = [color[0] * cover, color[1] * cover, color[2] * cover, cover];
            continue;
        }
        let x = ((i % band.columns) as f32 + 0.5) / band.columns as f32 - 0.5;
        let y = ((band.first + i / band.columns) as f32 + 0.5) / height as f32 - 0.5;
        let d = ((x * aspect).hypot(y) / far.max(1e-3)).clamp(0.0, 1.0);
        let t = d * d * (3.0 - 2.0 * d);
        let mixed = [0, 1, 2].map(|c| {
            let back = center[c] + (edge[c] - center[c]) * t;
            back + (color[c] - back) * cover
        });
        *pixel = [mixed[0], mixed[1], mixed[2], 1.0];
    }
}
