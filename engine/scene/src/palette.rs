//! A palette of colours, in each size that it comes in.

use crate::css::Rgba;

/// What a palette is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Low to high.
    Sequential,
    /// Away from a middle, both ways.
    Diverging,
    /// Categories.
    Qualitative,
}

/// A named palette.
pub(crate) struct Palette {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The colours as runs of `rrggbb`: one line for each size from 3 up, or for qualitative palettes the
    /// largest size, of which every smaller one is a prefix.
    pub(crate) sizes: &'static [&'static str],
}

fn colors(line: &str) -> Vec<Rgba> {
    let digit = |b: u8| char::from(b).to_digit(16).unwrap_or(0) as u8;
    let byte = |pair: &[u8]| digit(pair[0]) << 4 | digit(pair[1]);
    let color = |c: &[u8]| [byte(&c[..2]), byte(&c[2..4]), byte(&c[4..6]), u8::MAX];
    line.as_bytes().chunks_exact(6).map(color).collect()
}

impl Palette {
    /// The palette in each size that it comes in, smallest first.
    pub(crate) fn all_sizes(&self) -> Vec<Vec<Rgba>> {
        match self.sizes {
            [all] => {
                let all = colors(all);
                (3..=all.len()).map(|n| all[..n].to_vec()).collect()
            }
            many => many.iter().map(|line| colors(line)).collect(),
        }
    }

    /// The palette in its largest size.
    pub(crate) fn largest(&self) -> Vec<Rgba> {
        self.sizes.last().map(|line| colors(line)).unwrap_or_default()
    }
}
