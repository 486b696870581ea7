//! Letters: how wide a text is, and which pixels it covers. The font is DejaVu Sans, which the page takes where no font of
//! the system comes first; it has Latin, Greek, Cyrillic and Armenian letters and symbols, and comes with this crate
//! (`fonts/LICENSE`).

use std::sync::LazyLock;

use ab_glyph::{Font as _, FontRef, GlyphId, PxScale};
use unicode_segmentation::UnicodeSegmentation as _;

use super::distance;
use super::path::Path;
use crate::limits::SIDE_MAX;

/// The files of the font, plain and bold.
pub(crate) const FILES: [&[u8]; 2] = [
    include_bytes!("../../fonts/DejaVuSans.ttf"),
    include_bytes!("../../fonts/DejaVuSans-Bold.ttf"),
];
static FONTS: LazyLock<[Option<FontRef<'static>>; 2]> =
    LazyLock::new(|| FILES.map(|bytes| FontRef::try_from_slice(bytes).ok()));

/// How far below the middle line of a text its letters stand, as a share of their size.
pub(crate) const BASELINE: f32 = 0.34;

/// One of the two fonts.
#[derive(Clone, Copy)]
pub(crate) struct Face {
    font: &'static FontRef<'static>,
    em: f32,
}

impl Face {
    /// The plain or the bold font; `None` only when its file is damaged.
    pub(crate) fn of(bold: bool) -> Option<Self> {
        let font = FONTS[usize::from(bold)].as_ref()?;
        Some(Self { font, em: font.units_per_em().filter(|em| *em > 0.0)? })
    }

    pub(crate) fn glyph(&self, letter: char) -> GlyphId {
        self.font.glyph_id(letter)
    }

    /// How far the next letter is, as a share of the size.
    pub(crate) fn advance(&self, glyph: GlyphId) -> f32 {
        self.font.h_advance_unscaled(glyph) / self.em
    }

    /// Width of a text of size 1.
    pub(crate) fn width(&self, text: &str) -> f32 {
        text.chars().map(|letter| self.advance(self.glyph(letter))).sum()
    }

    /// The outline of a text of size 1 that begins where its line does; what the font lacks is left out.
    pub(crate) fn path(&self, text: &str) -> Path {
        let mut all = Path::default();
        let mut at = 0.0;
        for letter in text.chars() {
            if let Some(path) = Path::of_letter(self.font, letter) {
                all.0.extend(path.map(|[x, y]| [x + at, y]).0);
                at += self.advance(self.glyph(letter));
            } else if letter == ' ' {
                at += self.advance(self.glyph(letter));
            }
        }
        all
    }

    /// How far letters reach above and below the line on which they stand, as shares of the size.
    pub(crate) fn reach(&self) -> [f32; 2] {
        [self.font.ascent_unscaled() / self.em, -self.font.descent_unscaled() / self.em]
    }

    /// The text as far as the font has its letters: signs that it has not are left out, and `None` where it lacks a letter,
    /// without which a name is another one.
    pub(crate) fn drawable(&self, text: &str) -> Option<String> {
        let has = |letter: char| self.glyph(letter).0 != 0;
        if text.chars().any(|letter| letter.is_alphabetic() && !has(letter)) {
            return None;
        }
        let left: String = text.chars().filter(|letter| has(*letter)).collect();
        Some(left).filter(|left| !left.trim().is_empty())
    }
}

/// The pixels of a text.
pub(crate) struct Mask {
    /// Of the picture, of the upper left corner.
    pub(crate) left: i64,
    pub(crate) top: i64,
    pub(crate) columns: usize,
    /// How much of each pixel the letters cover, 0 to 1.
    pub(crate) letters: Vec<f32>,
    /// The same of their halo; empty without one.
    pub(crate) halo: Vec<f32>,
}

impl Mask {
    /// A text whose letters stand on a line from `x`, in pixels of the picture like its `size` and the width of its halo.
    pub(crate) fn new(face: Face, text: &str, [x, y]: [f32; 2], size: f32, halo: f32) -> Self {
        let [above, below] = face.reach().map(|share| share * size);
        let pad = (halo + 1.0).ceil();
        let (left, top) = ((x - pad).floor(), (y - above - pad).floor());
        // Letters may lean a little out of their advance.
        let right = x + face.width(text) * size + 0.3 * size + pad;
        let columns = (right - left).ceil().max(1.0) as usize;
        let rows = (y + below + pad - top).ceil().max(1.0) as usize;
        let mut letters = vec![0.0f32; columns * rows];
        // The crate's scale is that of a line, from the highest letter to the lowest.
        let scale = PxScale::from(size * face.font.height_unscaled() / face.em);
        let mut at = x;
        for letter in text.chars() {
            let glyph = face.glyph(letter);
            let placed = glyph.with_scale_and_position(scale, ab_glyph::point(at, y));
            if let Some(outline) = face.font.outline_glyph(placed) {
                let bounds = outline.px_bounds();
                let (dx, dy) = ((bounds.min.x - left) as i64, (bounds.min.y - top) as i64);
                outline.draw(|px, py, cover| {
                    let (column, row) = (dx + i64::from(px), dy + i64::from(py));
                    let inside =
                        (0..columns as i64).contains(&column) && (0..rows as i64).contains(&row);
                    if inside {
                        let pixel = &mut letters[row as usize * columns + column as usize];
                        *pixel = (*pixel + cover).min(1.0);
                    }
                });
            }
            at += face.advance(glyph) * size;
        }
        let halo = Self::around(&letters, columns, halo);
        Self { left: left as i64, top: top as i64, columns, letters, halo }
    }

    /// A filled outline in pixels of the page, of which the picture has `scale` each; none where nothing of it is seen.
    pub(crate) fn of_path(path: &Path, scale: f32, halo: f32) -> Option<Self> {
        let found = path.cover(scale, 0, SIDE_MAX as usize)?;
        let pad = (halo + 1.0).ceil() as usize;
        let columns = found.columns + 2 * pad;
        let rows = found.cover.len() / found.columns;
        let mut letters = vec![0.0; columns * (rows + 2 * pad)];
        for (row, line) in found.cover.chunks_exact(found.columns).enumerate() {
            let at = (row + pad) * columns + pad;
            letters[at..at + found.columns].copy_from_slice(line);
        }
        let halo = Self::around(&letters, columns, halo);
        let [left, top] = [found.left, found.top].map(|x| x - pad as i64);
        Some(Self { left, top, columns, letters, halo })
    }

    /// How much a halo of so many pixels around letters covers.
    fn around(letters: &[f32], columns: usize, halo: f32) -> Vec<f32> {
        if halo > 0.0 {
            let far = distance::outside(letters, columns);
            far.into_iter().map(|d| (halo + 0.5 - d).clamp(0.0, 1.0)).collect()
        } else {
            Vec::new()
        }
    }
}

/// Cuts a long text in the middle, and no letter from its marks.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let letters: Vec<&str> = text.graphemes(true).collect();
    if letters.len() <= limit {
        return text.to_owned();
    }
    let head = (limit - 1).div_ceil(2);
    let tail = letters.len() - (limit - 1 - head);
    [&letters[..head], &["…"], &letters[tail..]].concat().concat()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_letters_or_are_left_out() {
        let face = Face::of(false).unwrap();
        for whole in ["Les Misérables", "Ελλάδα", "Москва", "a → b", "№ 7"] {
            assert_eq!(face.drawable(whole).as_deref(), Some(whole));
        }
        assert_eq!(face.drawable("rocket 🚀").as_deref(), Some("rocket "));
        for lacking in ["東京", "東京 tower", "🚀", ""] {
            assert_eq!(face.drawable(lacking), None, "{lacking}");
        }
    }

    #[test]
    fn a_text_covers_pixels_and_its_halo_more() {
        let face = Face::of(true).unwrap();
        assert!(face.width("wide") > face.width("will"));
        let mask = Mask::new(face, "Hi", [10.0, 40.0], 20.0, 2.0);
        let sum = |cover: &[f32]| cover.iter().sum::<f32>();
        assert!(sum(&mask.letters) > 60.0 && sum(&mask.halo) > 1.8 * sum(&mask.letters));
        // Letters stand on the line: the left stem of the H is above row 40 and not below.
        let at = |x: i64, y: i64| {
            mask.letters[(y - mask.top) as usize * mask.columns + (x - mask.left) as usize]
        };
        assert!(at(13, 35) > 0.9 && at(13, 42) < 0.1, "{} {}", at(13, 35), at(13, 42));
        assert!(Mask::new(face, "Hi", [10.0, 40.0], 20.0, 0.0).halo.is_empty());
    }

    #[test]
    fn long_names_are_cut_in_the_middle() {
        assert_eq!(shorten("short", 24), "short");
        assert_eq!(shorten("abcdefghij", 6), "abc…ij");
        assert_eq!(shorten("ÄÖÜäöüß", 4), "ÄÖ…ß");
    }
}
