//! Themes: background, palette and the colour of texts on dark and on light.

/// The built-in hues, and what they are on a light background.
pub(crate) const HUES: [(u32, u32); 13] = [
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

/// The built-in colours of the background, and the palette that goes with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Light on dark.
    #[default]
    Dark,
    /// Dark on light; built-in colours become their counterparts.
    Light,
}

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

/// Colour of names and of other texts on a background.
pub(crate) fn text_color(theme: Theme) -> [f32; 3] {
    unit(if theme == Theme::Light { [0x14, 0x18, 0x21] } else { [0xee, 0xf1, 0xf7] })
}

/// A colour with channels 0 to 1.
pub(crate) fn unit(rgb: [u8; 3]) -> [f32; 3] {
    rgb.map(|c| f32::from(c) / 255.0)
}
