//! Clusters of points of which each is within a distance of another: DBSCAN (Ester et al. 1996) for one point a cluster at
//! least, so that every point is a core and none is noise.

use std::collections::HashMap;

use graphlume_types::CancelToken;

use super::pace::Pace;
use crate::AlgoError;

/// The cluster of each point of `dims` coordinates, numbered by their first points. Points at most `eps` apart are in one.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn clusters(
    points: &[f32],
    dims: usize,
    eps: f64,
    cancel: &CancelToken,
) -> Result<Vec<i64>, AlgoError> {
    let pace = Pace::new(cancel);
    let n = points.len() / dims.max(1);
    let point = |i: u32| &points[i as usize * dims..(i as usize + 1) * dims];
    // Cells as wide as the distance, of the first two coordinates: what is near is in the next cell.
    let of = |x: f32| (f64::from(x) / eps).floor() as i64;
    let cell = |i: u32| (of(point(i)[0]), point(i).get(1).map_or(0, |y| of(*y)));
    let mut cells: HashMap<(i64, i64), Vec<u32>> = HashMap::new();
    (0..n as u32).for_each(|i| cells.entry(cell(i)).or_default().push(i));
    let near = |i: u32, j: u32| {
        let terms = point(i).iter().zip(point(j));
        terms.map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum::<f64>() <= eps * eps
    };
    let mut labels = vec![-1; n];
    let mut next = 0;
    for first in 0..n as u32 {
        if labels[first as usize] >= 0 {
            continue;
        }
        let mut queue = vec![first];
        labels[first as usize] = next;
        while let Some(i) = queue.pop() {
            let (x, y) = cell(i);
            for beside in (x.saturating_sub(1)..=x.saturating_add(1))
                .flat_map(|x| (y.saturating_sub(1)..=y.saturating_add(1)).map(move |y| (x, y)))
            {
                let Some(others) = cells.get_mut(&beside) else { continue };
                // A point that has a label is looked at no more.
                let mut kept = Vec::new();
                for some in others.chunks(Pace::items(dims)) {
                    pace.piece(some.len() * dims)?;
                    for j in some {
                        if labels[*j as usize] >= 0 {
                            continue;
                        }
                        if near(i, *j) {
                            labels[*j as usize] = next;
                            queue.push(*j);
                        } else {
                            kept.push(*j);
                        }
                    }
                }
                *others = kept;
            }
        }
        next += 1;
    }
    Ok(labels)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn chains_of_near_points_are_one_cluster() {
        let points = [0.0, 0.0, 5.0, 5.0, 0.9, 0.0, 1.8, 0.0, 5.0, 5.9, -9.0, 0.0];
        let found = clusters(&points, 2, 1.0, &CancelToken::new()).unwrap();
        assert_eq!(found, [0, 1, 0, 0, 1, 2]);
        let found = clusters(&points, 2, 0.5, &CancelToken::new()).unwrap();
        assert_eq!(found, [0, 1, 2, 3, 4, 5]);
        // Two coordinates that agree, and a third that does not.
        let space = [0.0, 0.0, 0.0, 0.0, 0.0, 9.0];
        assert_eq!(clusters(&space, 3, 1.0, &CancelToken::new()).unwrap(), [0, 1]);
    }
}
