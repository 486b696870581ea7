//! Colour maps that people know by name beside the ColorBrewer palettes: 16 of the 256 colours of each published table, at
//! equal steps from its first to its last, as matplotlib 3.11 has them.
//!
//! viridis, magma, inferno and plasma are by Nathaniel Smith, Stéfan van der Walt and (viridis) Eric Firing, released
//! under CC0 1.0 (<https://bids.github.io/colormap/>). cividis is by Jamie Nuñez, Christopher Anderton and Ryan Renslow
//! 2018 (<https://doi.org/10.1371/journal.pone.0199239>). turbo is by Anton Mikhailov, copyright 2019 Google LLC,
//! licensed under the Apache License, Version 2.0.

use crate::palette::Kind::Sequential;
use crate::palette::Palette;

#[rustfmt::skip]
pub(crate) const COLORMAPS: [Palette; 6] = [
    Palette { name: "cividis", kind: Sequential, sizes: &[
        "00224e002e6c1e3a6f35456c47516c575d6d666970757575848279948e77a59c74b7a96ec8b866dbc75aeed649fee838",
    ] },
    Palette { name: "inferno", kind: Sequential, sizes: &[
        "0000040c0826240c4f420a685d126e781c6d932667ae305cc73e4cdd513aed6925f8850ffca50afac62df2e661fcffa4",
    ] },
    Palette { name: "magma", kind: Sequential, sizes: &[
        "0000040b092420114b3b0f7057157e721f818c2981a8327dc43c75de4968f1605dfa7f5efe9f6dfebf84fddea0fcfdbf",
    ] },
    Palette { name: "plasma", kind: Sequential, sizes: &[
        "0d08873305975002a26a00a88405a79c179eb12a90c33d80d35171e16462ed7953f68f44fca636fec029f9dc24f0f921",
    ] },
    Palette { name: "turbo", kind: Sequential, sizes: &[
        "30123b4143a74771e93e9bfe22c5e21ae4b646f88488ff4eb9f635e1dd37faba39fd8d27f05b12d63506af18017a0403",
    ] },
    Palette { name: "viridis", kind: Sequential, sizes: &[
        "440154481a6c472f7d41448739568c31688e2a788e23888e1f988b22a88435b77954c5687ad151a5db36d2e21bfde725",
    ] },
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::css::to_hex;
    use crate::palettes::by_name;

    #[test]
    fn colour_maps_have_16_colours_and_the_published_ends() {
        let ends = [
            ("cividis", "#00224e", "#fee838"),
            ("inferno", "#000004", "#fcffa4"),
            ("magma", "#000004", "#fcfdbf"),
            ("plasma", "#0d0887", "#f0f921"),
            ("turbo", "#30123b", "#7a0403"),
            ("viridis", "#440154", "#fde725"),
        ];
        assert!(COLORMAPS.iter().map(|p| p.name).eq(ends.iter().map(|(name, ..)| *name)));
        for (name, first, last) in ends {
            let colors = by_name(&name.to_uppercase()).unwrap().largest();
            assert_eq!(colors.len(), 16, "{name}");
            assert_eq!((to_hex(colors[0]), to_hex(colors[15])), (first.into(), last.into()));
        }
    }

    #[test]
    fn viridis_runs_through_the_colours_of_its_table() {
        // Rows 0, 51, 102, 153, 204 and 255 of the table.
        let want = ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"];
        let colors = by_name("viridis").unwrap().largest();
        assert!(colors.iter().step_by(3).map(|c| to_hex(*c)).eq(want.map(String::from)));
    }
}
