//! Flags: filled outlines, which `shell/web/dev/flag-shapes.mjs` makes of the drawings of the package circle-flags that the
//! page shows. The page's build compares the file with these.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::outlines::path::{Path, Segment};

const FILE: &str = include_str!("../../flags/flags.json");
/// The side of the square in which flags are drawn.
pub(crate) const SIDE: f32 = 512.0;

/// Outlines with the colours that fill them, the lowest first.
pub(crate) type Flag = Vec<(Path, [f32; 3])>;

/// The same as in the file: a colour as a number, and closed parts of steps.
type Written = Vec<(u32, Vec<Vec<Vec<f32>>>)>;

static FLAGS: LazyLock<HashMap<String, Written>> =
    LazyLock::new(|| serde_json::from_str(FILE).unwrap_or_default());

/// A flag by its code, in a square of [`SIDE`] of which its disc is seen; none for one that is not there.
pub(crate) fn flag(code: &str) -> Option<Flag> {
    FLAGS.get(code)?.iter().map(|(rgb, parts)| Some((path(parts)?, color(*rgb)))).collect()
}

fn color(rgb: u32) -> [f32; 3] {
    let [_, r, g, b] = rgb.to_be_bytes();
    [r, g, b].map(|c| f32::from(c) / 255.0)
}

/// An outline of parts; none where a step has other numbers than one can have.
fn path(parts: &[Vec<Vec<f32>>]) -> Option<Path> {
    let step = |(k, numbers): (usize, &Vec<f32>)| match (k, &numbers[..]) {
        (0, &[x, y]) => Some(Segment::Move([x, y])),
        (1.., &[x, y]) => Some(Segment::Line([x, y])),
        (1.., &[a, b, x, y]) => Some(Segment::Quad([[a, b], [x, y]])),
        (1.., &[a, b, c, d, x, y]) => Some(Segment::Cubic([[a, b], [c, d], [x, y]])),
        _ => None,
    };
    parts.iter().flat_map(|part| part.iter().enumerate()).map(step).collect::<Option<_>>().map(Path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_is_read_and_fills_its_disc() {
        assert!(FLAGS.len() > 240, "{}", FLAGS.len());
        for code in FLAGS.keys() {
            let shapes = flag(code);
            assert!(shapes.as_ref().is_some_and(|s| !s.is_empty()), "{code}");
            for (path, _) in shapes.unwrap() {
                let [l, t, r, b] = path.bounds().unwrap();
                let is_near = [l, t, r, b].into_iter().all(|x| (-300.0..=812.0).contains(&x));
                assert!(is_near && r >= l && b >= t, "{code}: {path:?}");
            }
        }
        assert!(flag("nowhere").is_none());
        let bands: Vec<[f32; 3]> = flag("de").unwrap().into_iter().map(|s| s.1).collect();
        assert_eq!(bands.len(), 3);
        assert!(bands[0][0] > 0.9 && bands[0][1] > 0.8 && bands[2] == [0.2; 3]);
    }

    #[test]
    fn steps_are_told_by_their_numbers() {
        let part = vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0; 4], vec![6.0; 6]];
        let steps = path(std::slice::from_ref(&part)).unwrap().0;
        assert_eq!(steps[..2], [Segment::Move([1.0, 2.0]), Segment::Line([3.0, 4.0])]);
        assert_eq!(steps[2..], [Segment::Quad([[5.0; 2]; 2]), Segment::Cubic([[6.0; 2]; 3])]);
        assert!(
            path(&[vec![vec![1.0; 6]]]).is_none()
                && path(&[[part, vec![vec![]]].concat()]).is_none()
        );
    }
}
