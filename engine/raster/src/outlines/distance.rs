//! Distances to a shape of pixels, from which the halo around letters is made.

/// Larger than any squared distance within a picture.
const FAR: f32 = 1e20;
/// What a pixel has of a shape at least that it is seen there.
const COVER_MIN: f32 = 1.0 / 512.0;

/// How far each pixel is from a shape of which `cover` says how much of it each pixel has, 0 to 1: 0 inside, and at the
/// rim to a fraction of a pixel. Linear in the pixels (Felzenszwalb and Huttenlocher, "Distance Transforms of Sampled
/// Functions", Theory of Computing 2012).
pub(crate) fn outside(cover: &[f32], columns: usize) -> Vec<f32> {
    let squared = |a: f32| match a {
        // Sums of areas leave traces beside outlines, which are no part of the shape.
        a if a < COVER_MIN => FAR,
        a => (0.5 - a).max(0.0).powi(2),
    };
    let mut grid: Vec<f32> = cover.iter().map(|a| squared(*a)).collect();
    let rows = grid.len().checked_div(columns).unwrap_or(0);
    let mut line = vec![0.0; columns.max(rows)];
    let mut work = Envelope::new(line.len());
    for x in 0..columns {
        (0..rows).for_each(|y| line[y] = grid[y * columns + x]);
        work.transform(&mut line[..rows]);
        (0..rows).for_each(|y| grid[y * columns + x] = line[y]);
    }
    for row in grid.chunks_exact_mut(columns.max(1)) {
        work.transform(row);
    }
    grid.iter().map(|d| d.sqrt()).collect()
}

/// The lower envelope of parabolas.
struct Envelope {
    values: Vec<f32>,
    places: Vec<usize>,
    bounds: Vec<f32>,
}

impl Envelope {
    fn new(length: usize) -> Self {
        Self { values: vec![0.0; length], places: vec![0; length], bounds: vec![0.0; length + 1] }
    }

    fn transform(&mut self, line: &mut [f32]) {
        let n = line.len();
        let Self { values, places, bounds } = self;
        values[..n].copy_from_slice(line);
        let mut k = 0;
        (places[0], bounds[0], bounds[1]) = (0, f32::MIN, f32::MAX);
        for q in 1..n {
            let meet = |r: usize| {
                let (q2, r2) = ((q * q) as f32, (r * r) as f32);
                (values[q] - values[r] + q2 - r2) / (2 * (q - r)) as f32
            };
            while k > 0 && meet(places[k]) <= bounds[k] {
                k -= 1;
            }
            bounds[k + 1] = meet(places[k]);
            k += 1;
            (places[k], bounds[k + 1]) = (q, f32::MAX);
        }
        let mut k = 0;
        for (q, d) in line.iter_mut().enumerate() {
            while bounds[k + 1] < q as f32 {
                k += 1;
            }
            let r = places[k];
            *d = values[r] + (q as f32 - r as f32).powi(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_to_the_nearest_pixel_of_the_shape() {
        let (columns, rows) = (23, 17);
        let mut cover = vec![0.0; columns * rows];
        let shape = [(3, 4), (20, 15), (11, 8)];
        shape.iter().for_each(|(x, y)| cover[y * columns + x] = 1.0);
        let found = outside(&cover, columns);
        for y in 0..rows {
            for x in 0..columns {
                let to =
                    |(a, b): &(usize, usize)| (x.abs_diff(*a) as f32).hypot(y.abs_diff(*b) as f32);
                let expected = shape.iter().map(to).fold(f32::MAX, f32::min);
                let d = found[y * columns + x];
                assert!((d - expected).abs() < 1e-3, "{x} {y}: {d} and {expected}");
            }
        }
        // What a sum of areas leaves beside a shape is none of it.
        let traces: Vec<f32> = cover.iter().map(|a| if *a > 0.0 { *a } else { 3e-7 }).collect();
        assert_eq!(outside(&traces, columns), found);
        assert!(outside(&[], 0).is_empty());
        assert!(outside(&[0.0; 4], 2).iter().all(|d| *d > 1e6), "no shape");
    }
}
