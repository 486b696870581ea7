//! Parts of a drawing side by side, where nothing says how they lie to each other.

/// Room between the boxes of parts.
const GAP: f64 = 1.0;

/// The coordinates of the `n` nodes of a graph from those of its parts, each with its nodes: boxes in rows that make about
/// a square, the highest first. One part stays as it is.
pub(crate) fn pack<const D: usize>(n: usize, parts: &[(Vec<u32>, Vec<[f64; D]>)]) -> Vec<[f64; D]> {
    let mut all = vec![[0.0; D]; n];
    if let [(nodes, points)] = parts {
        nodes.iter().zip(points).for_each(|(v, p)| all[*v as usize] = *p);
        return all;
    }
    let corner = |points: &[[f64; D]], c: usize| {
        points
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |b, p| (b.0.min(p[c]), b.1.max(p[c])))
    };
    let boxes: Vec<[(f64, f64); 2]> =
        parts.iter().map(|(_, points)| [corner(points, 0), corner(points, 1)]).collect();
    let side = |part: usize, c: usize| boxes[part][c].1 - boxes[part][c].0 + GAP;
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|a, b| side(*b, 1).total_cmp(&side(*a, 1)).then(a.cmp(b)));
    let area: f64 = order.iter().map(|i| side(*i, 0) * side(*i, 1)).sum();
    let widest = order.iter().map(|i| side(*i, 0)).fold(0.0, f64::max);
    let width = area.sqrt().max(widest);
    let (mut at, mut height) = ([0.0, 0.0], 0.0f64);
    for i in order {
        if at[0] > 0.0 && at[0] + side(i, 0) > width + 1e-9 {
            at = [0.0, at[1] + height];
            height = 0.0;
        }
        let (nodes, points) = &parts[i];
        for (v, p) in nodes.iter().zip(points) {
            let mut p = *p;
            for c in 0..2 {
                p[c] += at[c] - boxes[i][c].0;
            }
            all[*v as usize] = p;
        }
        at[0] += side(i, 0);
        height = height.max(side(i, 1));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_touch_and_one_stays_where_it_is() {
        let square = |from: u32, size: f64| {
            let points = vec![[0.0, 0.0], [size, 0.0], [0.0, size], [size, size]];
            ((from..from + 4).collect::<Vec<u32>>(), points)
        };
        let parts = [square(0, 5.0), square(4, 2.0), square(8, 3.0), (vec![12], vec![[7.0, 7.0]])];
        let all = pack(13, &parts);
        let bounds = |nodes: &[u32]| {
            let points = nodes.iter().map(|v| all[*v as usize]);
            points.fold([f64::MAX, f64::MAX, f64::MIN, f64::MIN], |b, p| {
                [b[0].min(p[0]), b[1].min(p[1]), b[2].max(p[0]), b[3].max(p[1])]
            })
        };
        for (i, (a, _)) in parts.iter().enumerate() {
            for (b, _) in &parts[..i] {
                let (a, b) = (bounds(a), bounds(b));
                let clear = (0..2).any(|c| a[c + 2] + GAP <= b[c] || b[c + 2] + GAP <= a[c]);
                assert!(clear, "{a:?} {b:?}");
            }
        }
        assert_eq!(pack(4, &[square(0, 2.0)]), square(0, 2.0).1);
        assert!(pack::<2>(0, &[]).is_empty());
    }
}
