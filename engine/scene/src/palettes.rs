//! The ColorBrewer palettes, and the integer codes that name their colours.
//!
//! This product includes color specifications and designs developed by Cynthia Brewer
//! (<https://colorbrewer2.org/>), copyright 2002 Cynthia Brewer, Mark Harrower and The Pennsylvania State
//! University, licensed under the Apache License, Version 2.0.

use std::sync::OnceLock;

use crate::colormaps::COLORMAPS;
use crate::css::Rgba;
use crate::palette::{Kind, Palette};

/// The palette of this name, whatever its case.
pub(crate) fn by_name(name: &str) -> Option<&'static Palette> {
    all().find(|p| p.name.eq_ignore_ascii_case(name))
}

/// The names of all palettes: those of ColorBrewer, then the colour maps.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().map(|p| p.name)
}

/// Every palette: those of ColorBrewer, which codes count, then the colour maps.
fn all() -> impl Iterator<Item = &'static Palette> {
    const MAPS: &[Palette] = &COLORMAPS;
    PALETTES.iter().chain(MAPS)
}

/// Codes at or above this name no palette.
pub(crate) const CODES: i64 = 265_000;

/// Every palette in every size: by name in ASCII order, then by size. A code is the number in this list
/// times 1,000 plus the number of the colour.
///
/// No public document states this numbering; it is the reading that fits the published examples.
fn numbered() -> &'static [Vec<Rgba>] {
    static ALL: OnceLock<Vec<Vec<Rgba>>> = OnceLock::new();
    ALL.get_or_init(|| PALETTES.iter().flat_map(Palette::all_sizes).collect())
}

/// The colour of a code. `small` says that the whole column is below 1,000: then codes count through
/// the twelve paired colours, as do codes out of range.
pub(crate) fn color_of_code(code: i64, small: bool) -> Rgba {
    let palette = usize::try_from(code / 1_000).ok().and_then(|p| numbered().get(p));
    match palette {
        Some(colors) if !small && code >= 0 => colors[(code % 1_000) as usize % colors.len()],
        _ => {
            static PAIRED: OnceLock<Vec<Rgba>> = OnceLock::new();
            let paired =
                PAIRED.get_or_init(|| by_name("Paired").map(Palette::largest).unwrap_or_default());
            paired[code.rem_euclid(paired.len() as i64) as usize]
        }
    }
}

use Kind::{Diverging, Qualitative, Sequential};

#[rustfmt::skip]
const PALETTES: [Palette; 35] = [
    Palette { name: "Accent", kind: Qualitative, sizes: &[
        "7fc97fbeaed4fdc086ffff99386cb0f0027fbf5b17666666",
    ] },
    Palette { name: "Blues", kind: Sequential, sizes: &[
        "deebf79ecae13182bd",
        "eff3ffbdd7e76baed62171b5",
        "eff3ffbdd7e76baed63182bd08519c",
        "eff3ffc6dbef9ecae16baed63182bd08519c",
        "eff3ffc6dbef9ecae16baed64292c62171b5084594",
        "f7fbffdeebf7c6dbef9ecae16baed64292c62171b5084594",
        "f7fbffdeebf7c6dbef9ecae16baed64292c62171b508519c08306b",
    ] },
    Palette { name: "BrBG", kind: Diverging, sizes: &[
        "d8b365f5f5f55ab4ac",
        "a6611adfc27d80cdc1018571",
        "a6611adfc27df5f5f580cdc1018571",
        "8c510ad8b365f6e8c3c7eae55ab4ac01665e",
        "8c510ad8b365f6e8c3f5f5f5c7eae55ab4ac01665e",
        "8c510abf812ddfc27df6e8c3c7eae580cdc135978f01665e",
        "8c510abf812ddfc27df6e8c3f5f5f5c7eae580cdc135978f01665e",
        "5430058c510abf812ddfc27df6e8c3c7eae580cdc135978f01665e003c30",
        "5430058c510abf812ddfc27df6e8c3f5f5f5c7eae580cdc135978f01665e003c30",
    ] },
    Palette { name: "BuGn", kind: Sequential, sizes: &[
        "e5f5f999d8c92ca25f",
        "edf8fbb2e2e266c2a4238b45",
        "edf8fbb2e2e266c2a42ca25f006d2c",
        "edf8fbccece699d8c966c2a42ca25f006d2c",
        "edf8fbccece699d8c966c2a441ae76238b45005824",
        "f7fcfde5f5f9ccece699d8c966c2a441ae76238b45005824",
        "f7fcfde5f5f9ccece699d8c966c2a441ae76238b45006d2c00441b",
    ] },
    Palette { name: "BuPu", kind: Sequential, sizes: &[
        "e0ecf49ebcda8856a7",
        "edf8fbb3cde38c96c688419d",
        "edf8fbb3cde38c96c68856a7810f7c",
        "edf8fbbfd3e69ebcda8c96c68856a7810f7c",
        "edf8fbbfd3e69ebcda8c96c68c6bb188419d6e016b",
        "f7fcfde0ecf4bfd3e69ebcda8c96c68c6bb188419d6e016b",
        "f7fcfde0ecf4bfd3e69ebcda8c96c68c6bb188419d810f7c4d004b",
    ] },
    Palette { name: "Dark2", kind: Qualitative, sizes: &[
        "1b9e77d95f027570b3e7298a66a61ee6ab02a6761d666666",
    ] },
    Palette { name: "GnBu", kind: Sequential, sizes: &[
        "e0f3dba8ddb543a2ca",
        "f0f9e8bae4bc7bccc42b8cbe",
        "f0f9e8bae4bc7bccc443a2ca0868ac",
        "f0f9e8ccebc5a8ddb57bccc443a2ca0868ac",
        "f0f9e8ccebc5a8ddb57bccc44eb3d32b8cbe08589e",
        "f7fcf0e0f3dbccebc5a8ddb57bccc44eb3d32b8cbe08589e",
        "f7fcf0e0f3dbccebc5a8ddb57bccc44eb3d32b8cbe0868ac084081",
    ] },
    Palette { name: "Greens", kind: Sequential, sizes: &[
        "e5f5e0a1d99b31a354",
        "edf8e9bae4b374c476238b45",
        "edf8e9bae4b374c47631a354006d2c",
        "edf8e9c7e9c0a1d99b74c47631a354006d2c",
        "edf8e9c7e9c0a1d99b74c47641ab5d238b45005a32",
        "f7fcf5e5f5e0c7e9c0a1d99b74c47641ab5d238b45005a32",
        "f7fcf5e5f5e0c7e9c0a1d99b74c47641ab5d238b45006d2c00441b",
    ] },
    Palette { name: "Greys", kind: Sequential, sizes: &[
        "f0f0f0bdbdbd636363",
        "f7f7f7cccccc969696525252",
        "f7f7f7cccccc969696636363252525",
        "f7f7f7d9d9d9bdbdbd969696636363252525",
        "f7f7f7d9d9d9bdbdbd969696737373525252252525",
        "fffffff0f0f0d9d9d9bdbdbd969696737373525252252525",
        "fffffff0f0f0d9d9d9bdbdbd969696737373525252252525000000",
    ] },
    Palette { name: "OrRd", kind: Sequential, sizes: &[
        "fee8c8fdbb84e34a33",
        "fef0d9fdcc8afc8d59d7301f",
        "fef0d9fdcc8afc8d59e34a33b30000",
        "fef0d9fdd49efdbb84fc8d59e34a33b30000",
        "fef0d9fdd49efdbb84fc8d59ef6548d7301f990000",
        "fff7ecfee8c8fdd49efdbb84fc8d59ef6548d7301f990000",
        "fff7ecfee8c8fdd49efdbb84fc8d59ef6548d7301fb300007f0000",
    ] },
    Palette { name: "Oranges", kind: Sequential, sizes: &[
        "fee6cefdae6be6550d",
        "feeddefdbe85fd8d3cd94701",
        "feeddefdbe85fd8d3ce6550da63603",
        "feeddefdd0a2fdae6bfd8d3ce6550da63603",
        "feeddefdd0a2fdae6bfd8d3cf16913d948018c2d04",
        "fff5ebfee6cefdd0a2fdae6bfd8d3cf16913d948018c2d04",
        "fff5ebfee6cefdd0a2fdae6bfd8d3cf16913d94801a636037f2704",
    ] },
    Palette { name: "PRGn", kind: Diverging, sizes: &[
        "af8dc3f7f7f77fbf7b",
        "7b3294c2a5cfa6dba0008837",
        "7b3294c2a5cff7f7f7a6dba0008837",
        "762a83af8dc3e7d4e8d9f0d37fbf7b1b7837",
        "762a83af8dc3e7d4e8f7f7f7d9f0d37fbf7b1b7837",
        "762a839970abc2a5cfe7d4e8d9f0d3a6dba05aae611b7837",
        "762a839970abc2a5cfe7d4e8f7f7f7d9f0d3a6dba05aae611b7837",
        "40004b762a839970abc2a5cfe7d4e8d9f0d3a6dba05aae611b783700441b",
        "40004b762a839970abc2a5cfe7d4e8f7f7f7d9f0d3a6dba05aae611b783700441b",
    ] },
    Palette { name: "Paired", kind: Qualitative, sizes: &[
        "a6cee31f78b4b2df8a33a02cfb9a99e31a1cfdbf6fff7f00cab2d66a3d9affff99b15928",
    ] },
    Palette { name: "Pastel1", kind: Qualitative, sizes: &[
        "fbb4aeb3cde3ccebc5decbe4fed9a6ffffcce5d8bdfddaecf2f2f2",
    ] },
    Palette { name: "Pastel2", kind: Qualitative, sizes: &[
        "b3e2cdfdcdaccbd5e8f4cae4e6f5c9fff2aef1e2cccccccc",
    ] },
    Palette { name: "PiYG", kind: Diverging, sizes: &[
        "e9a3c9f7f7f7a1d76a",
        "d01c8bf1b6dab8e1864dac26",
        "d01c8bf1b6daf7f7f7b8e1864dac26",
        "c51b7de9a3c9fde0efe6f5d0a1d76a4d9221",
        "c51b7de9a3c9fde0eff7f7f7e6f5d0a1d76a4d9221",
        "c51b7dde77aef1b6dafde0efe6f5d0b8e1867fbc414d9221",
        "c51b7dde77aef1b6dafde0eff7f7f7e6f5d0b8e1867fbc414d9221",
        "8e0152c51b7dde77aef1b6dafde0efe6f5d0b8e1867fbc414d9221276419",
        "8e0152c51b7dde77aef1b6dafde0eff7f7f7e6f5d0b8e1867fbc414d9221276419",
    ] },
    Palette { name: "PuBu", kind: Sequential, sizes: &[
        "ece7f2a6bddb2b8cbe",
        "f1eef6bdc9e174a9cf0570b0",
        "f1eef6bdc9e174a9cf2b8cbe045a8d",
        "f1eef6d0d1e6a6bddb74a9cf2b8cbe045a8d",
        "f1eef6d0d1e6a6bddb74a9cf3690c00570b0034e7b",
        "fff7fbece7f2d0d1e6a6bddb74a9cf3690c00570b0034e7b",
        "fff7fbece7f2d0d1e6a6bddb74a9cf3690c00570b0045a8d023858",
    ] },
    Palette { name: "PuBuGn", kind: Sequential, sizes: &[
        "ece2f0a6bddb1c9099",
        "f6eff7bdc9e167a9cf02818a",
        "f6eff7bdc9e167a9cf1c9099016c59",
        "f6eff7d0d1e6a6bddb67a9cf1c9099016c59",
        "f6eff7d0d1e6a6bddb67a9cf3690c002818a016450",
        "fff7fbece2f0d0d1e6a6bddb67a9cf3690c002818a016450",
        "fff7fbece2f0d0d1e6a6bddb67a9cf3690c002818a016c59014636",
    ] },
    Palette { name: "PuOr", kind: Diverging, sizes: &[
        "f1a340f7f7f7998ec3",
        "e66101fdb863b2abd25e3c99",
        "e66101fdb863f7f7f7b2abd25e3c99",
        "b35806f1a340fee0b6d8daeb998ec3542788",
        "b35806f1a340fee0b6f7f7f7d8daeb998ec3542788",
        "b35806e08214fdb863fee0b6d8daebb2abd28073ac542788",
        "b35806e08214fdb863fee0b6f7f7f7d8daebb2abd28073ac542788",
        "7f3b08b35806e08214fdb863fee0b6d8daebb2abd28073ac5427882d004b",
        "7f3b08b35806e08214fdb863fee0b6f7f7f7d8daebb2abd28073ac5427882d004b",
    ] },
    Palette { name: "PuRd", kind: Sequential, sizes: &[
        "e7e1efc994c7dd1c77",
        "f1eef6d7b5d8df65b0ce1256",
        "f1eef6d7b5d8df65b0dd1c77980043",
        "f1eef6d4b9dac994c7df65b0dd1c77980043",
        "f1eef6d4b9dac994c7df65b0e7298ace125691003f",
        "f7f4f9e7e1efd4b9dac994c7df65b0e7298ace125691003f",
        "f7f4f9e7e1efd4b9dac994c7df65b0e7298ace125698004367001f",
    ] },
    Palette { name: "Purples", kind: Sequential, sizes: &[
        "efedf5bcbddc756bb1",
        "f2f0f7cbc9e29e9ac86a51a3",
        "f2f0f7cbc9e29e9ac8756bb154278f",
        "f2f0f7dadaebbcbddc9e9ac8756bb154278f",
        "f2f0f7dadaebbcbddc9e9ac8807dba6a51a34a1486",
        "fcfbfdefedf5dadaebbcbddc9e9ac8807dba6a51a34a1486",
        "fcfbfdefedf5dadaebbcbddc9e9ac8807dba6a51a354278f3f007d",
    ] },
    Palette { name: "RdBu", kind: Diverging, sizes: &[
        "ef8a62f7f7f767a9cf",
        "ca0020f4a58292c5de0571b0",
        "ca0020f4a582f7f7f792c5de0571b0",
        "b2182bef8a62fddbc7d1e5f067a9cf2166ac",
        "b2182bef8a62fddbc7f7f7f7d1e5f067a9cf2166ac",
        "b2182bd6604df4a582fddbc7d1e5f092c5de4393c32166ac",
        "b2182bd6604df4a582fddbc7f7f7f7d1e5f092c5de4393c32166ac",
        "67001fb2182bd6604df4a582fddbc7d1e5f092c5de4393c32166ac053061",
        "67001fb2182bd6604df4a582fddbc7f7f7f7d1e5f092c5de4393c32166ac053061",
    ] },
    Palette { name: "RdGy", kind: Diverging, sizes: &[
        "ef8a62ffffff999999",
        "ca0020f4a582bababa404040",
        "ca0020f4a582ffffffbababa404040",
        "b2182bef8a62fddbc7e0e0e09999994d4d4d",
        "b2182bef8a62fddbc7ffffffe0e0e09999994d4d4d",
        "b2182bd6604df4a582fddbc7e0e0e0bababa8787874d4d4d",
        "b2182bd6604df4a582fddbc7ffffffe0e0e0bababa8787874d4d4d",
        "67001fb2182bd6604df4a582fddbc7e0e0e0bababa8787874d4d4d1a1a1a",
        "67001fb2182bd6604df4a582fddbc7ffffffe0e0e0bababa8787874d4d4d1a1a1a",
    ] },
    Palette { name: "RdPu", kind: Sequential, sizes: &[
        "fde0ddfa9fb5c51b8a",
        "feebe2fbb4b9f768a1ae017e",
        "feebe2fbb4b9f768a1c51b8a7a0177",
        "feebe2fcc5c0fa9fb5f768a1c51b8a7a0177",
        "feebe2fcc5c0fa9fb5f768a1dd3497ae017e7a0177",
        "fff7f3fde0ddfcc5c0fa9fb5f768a1dd3497ae017e7a0177",
        "fff7f3fde0ddfcc5c0fa9fb5f768a1dd3497ae017e7a017749006a",
    ] },
    Palette { name: "RdYlBu", kind: Diverging, sizes: &[
        "fc8d59ffffbf91bfdb",
        "d7191cfdae61abd9e92c7bb6",
        "d7191cfdae61ffffbfabd9e92c7bb6",
        "d73027fc8d59fee090e0f3f891bfdb4575b4",
        "d73027fc8d59fee090ffffbfe0f3f891bfdb4575b4",
        "d73027f46d43fdae61fee090e0f3f8abd9e974add14575b4",
        "d73027f46d43fdae61fee090ffffbfe0f3f8abd9e974add14575b4",
        "a50026d73027f46d43fdae61fee090e0f3f8abd9e974add14575b4313695",
        "a50026d73027f46d43fdae61fee090ffffbfe0f3f8abd9e974add14575b4313695",
    ] },
    Palette { name: "RdYlGn", kind: Diverging, sizes: &[
        "fc8d59ffffbf91cf60",
        "d7191cfdae61a6d96a1a9641",
        "d7191cfdae61ffffbfa6d96a1a9641",
        "d73027fc8d59fee08bd9ef8b91cf601a9850",
        "d73027fc8d59fee08bffffbfd9ef8b91cf601a9850",
        "d73027f46d43fdae61fee08bd9ef8ba6d96a66bd631a9850",
        "d73027f46d43fdae61fee08bffffbfd9ef8ba6d96a66bd631a9850",
        "a50026d73027f46d43fdae61fee08bd9ef8ba6d96a66bd631a9850006837",
        "a50026d73027f46d43fdae61fee08bffffbfd9ef8ba6d96a66bd631a9850006837",
    ] },
    Palette { name: "Reds", kind: Sequential, sizes: &[
        "fee0d2fc9272de2d26",
        "fee5d9fcae91fb6a4acb181d",
        "fee5d9fcae91fb6a4ade2d26a50f15",
        "fee5d9fcbba1fc9272fb6a4ade2d26a50f15",
        "fee5d9fcbba1fc9272fb6a4aef3b2ccb181d99000d",
        "fff5f0fee0d2fcbba1fc9272fb6a4aef3b2ccb181d99000d",
        "fff5f0fee0d2fcbba1fc9272fb6a4aef3b2ccb181da50f1567000d",
    ] },
    Palette { name: "Set1", kind: Qualitative, sizes: &[
        "e41a1c377eb84daf4a984ea3ff7f00ffff33a65628f781bf999999",
    ] },
    Palette { name: "Set2", kind: Qualitative, sizes: &[
        "66c2a5fc8d628da0cbe78ac3a6d854ffd92fe5c494b3b3b3",
    ] },
    Palette { name: "Set3", kind: Qualitative, sizes: &[
        "8dd3c7ffffb3bebadafb807280b1d3fdb462b3de69fccde5d9d9d9bc80bdccebc5ffed6f",
    ] },
    Palette { name: "Spectral", kind: Diverging, sizes: &[
        "fc8d59ffffbf99d594",
        "d7191cfdae61abdda42b83ba",
        "d7191cfdae61ffffbfabdda42b83ba",
        "d53e4ffc8d59fee08be6f59899d5943288bd",
        "d53e4ffc8d59fee08bffffbfe6f59899d5943288bd",
        "d53e4ff46d43fdae61fee08be6f598abdda466c2a53288bd",
        "d53e4ff46d43fdae61fee08bffffbfe6f598abdda466c2a53288bd",
        "9e0142d53e4ff46d43fdae61fee08be6f598abdda466c2a53288bd5e4fa2",
        "9e0142d53e4ff46d43fdae61fee08bffffbfe6f598abdda466c2a53288bd5e4fa2",
    ] },
    Palette { name: "YlGn", kind: Sequential, sizes: &[
        "f7fcb9addd8e31a354",
        "ffffccc2e69978c679238443",
        "ffffccc2e69978c67931a354006837",
        "ffffccd9f0a3addd8e78c67931a354006837",
        "ffffccd9f0a3addd8e78c67941ab5d238443005a32",
        "ffffe5f7fcb9d9f0a3addd8e78c67941ab5d238443005a32",
        "ffffe5f7fcb9d9f0a3addd8e78c67941ab5d238443006837004529",
    ] },
    Palette { name: "YlGnBu", kind: Sequential, sizes: &[
        "edf8b17fcdbb2c7fb8",
        "ffffcca1dab441b6c4225ea8",
        "ffffcca1dab441b6c42c7fb8253494",
        "ffffccc7e9b47fcdbb41b6c42c7fb8253494",
        "ffffccc7e9b47fcdbb41b6c41d91c0225ea80c2c84",
        "ffffd9edf8b1c7e9b47fcdbb41b6c41d91c0225ea80c2c84",
        "ffffd9edf8b1c7e9b47fcdbb41b6c41d91c0225ea8253494081d58",
    ] },
    Palette { name: "YlOrBr", kind: Sequential, sizes: &[
        "fff7bcfec44fd95f0e",
        "ffffd4fed98efe9929cc4c02",
        "ffffd4fed98efe9929d95f0e993404",
        "ffffd4fee391fec44ffe9929d95f0e993404",
        "ffffd4fee391fec44ffe9929ec7014cc4c028c2d04",
        "ffffe5fff7bcfee391fec44ffe9929ec7014cc4c028c2d04",
        "ffffe5fff7bcfee391fec44ffe9929ec7014cc4c02993404662506",
    ] },
    Palette { name: "YlOrRd", kind: Sequential, sizes: &[
        "ffeda0feb24cf03b20",
        "ffffb2fecc5cfd8d3ce31a1c",
        "ffffb2fecc5cfd8d3cf03b20bd0026",
        "ffffb2fed976feb24cfd8d3cf03b20bd0026",
        "ffffb2fed976feb24cfd8d3cfc4e2ae31a1cb10026",
        "ffffccffeda0fed976feb24cfd8d3cfc4e2ae31a1cb10026",
        "ffffccffeda0fed976feb24cfd8d3cfc4e2ae31a1cbd0026800026",
    ] },
];

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::css::to_hex;

    fn code(code: i64) -> String {
        to_hex(color_of_code(code, false))
    }

    #[test]
    fn there_are_265_palettes_in_ascii_order_and_each_has_its_size() {
        assert!(PALETTES.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(numbered().len() as i64 * 1_000, CODES);
        for p in &PALETTES {
            let sizes: Vec<usize> = p.all_sizes().iter().map(Vec::len).collect();
            assert_eq!(sizes, (3..3 + sizes.len()).collect::<Vec<_>>(), "{}", p.name);
            let most = match p.kind {
                Sequential => 9..=9,
                Diverging => 11..=11,
                Qualitative => 8..=12,
            };
            assert!(most.contains(sizes.last().unwrap()), "{}", p.name);
            assert!(p.sizes.iter().all(|s| s.bytes().all(|b| b.is_ascii_hexdigit())));
        }
    }

    #[test]
    fn codes_of_published_examples_give_their_colours() {
        assert_eq!((code(67_006), code(67_001)), ("#990000".into(), "#fdd49e".into()));
        assert_eq!((code(90_005), code(46_005)), ("#e31a1c".into(), "#2b8cbe".into()));
        assert_eq!((code(96_000), code(96_001)), ("#fbb4ae".into(), "#b3cde3".into()));
    }

    #[test]
    fn codes_out_of_range_and_small_columns_count_through_the_paired_colours() {
        assert_eq!(to_hex(color_of_code(0, true)), "#a6cee3");
        assert_eq!(to_hex(color_of_code(13, true)), "#1f78b4");
        assert_eq!(code(0), "#7fc97f");
        for out in [265_000, 265_001, 9_999_999, -1, i64::MIN, i64::MAX] {
            let paired = by_name("paired").unwrap().largest();
            assert_eq!(color_of_code(out, false), paired[out.rem_euclid(12) as usize]);
        }
        assert_eq!(code(67_007), code(67_000), "an index past the end starts over");
    }

    #[test]
    fn palettes_are_found_by_name_in_any_case() {
        assert_eq!(by_name("ylgnbu").unwrap().name, "YlGnBu");
        assert_eq!(by_name("set1").unwrap().kind, Qualitative);
        assert_eq!(by_name("Viridis").unwrap().name, "viridis");
        assert!(by_name("viridi").is_none());
    }
}
