//! The curve 1 / (1 + a d^2b) by which distances in the plane are judged.

/// Places at which the curve is fitted.
const PLACES: usize = 300;
const STEPS: usize = 200;

/// The `a` and `b` of the curve that is nearest, by least squares, to one that is 1 up to `min_dist` and falls by
/// `spread` beyond.
pub(super) fn fitted(min_dist: f64, spread: f64) -> (f64, f64) {
    let place = |k: usize| 3.0 * spread * k as f64 / (PLACES - 1) as f64;
    let wanted = |x: f64| if x < min_dist { 1.0 } else { (-(x - min_dist) / spread).exp() };
    let points: Vec<(f64, f64)> = (0..PLACES).map(place).map(|x| (x, wanted(x))).collect();
    let error = |a: f64, b: f64| -> f64 {
        points.iter().map(|(x, y)| (1.0 / (1.0 + a * x.powf(2.0 * b)) - y).powi(2)).sum()
    };
    // Levenberg's steps (1944), in the logarithms, so that both stay above 0.
    let (mut p, mut q, mut damping) = (0.0_f64, 0.0_f64, 1e-3);
    let mut least = error(1.0, 1.0);
    for _ in 0..STEPS {
        let (a, b) = (p.exp(), q.exp());
        let (mut pp, mut pq, mut qq, mut rp, mut rq) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (x, y) in points.iter().filter(|(x, _)| *x > 0.0) {
            let power = a * x.powf(2.0 * b);
            let value = 1.0 / (1.0 + power);
            let slope = -power * value * value;
            let (dp, dq) = (slope, slope * 2.0 * b * x.ln());
            let rest = y - value;
            pp += dp * dp;
            pq += dp * dq;
            qq += dq * dq;
            rp += dp * rest;
            rq += dq * rest;
        }
        let (pp, qq) = (pp * (1.0 + damping), qq * (1.0 + damping));
        let size = pp * qq - pq * pq;
        if size.abs() < 1e-300 {
            break;
        }
        let (sp, sq) = ((qq * rp - pq * rq) / size, (pp * rq - pq * rp) / size);
        let next = error((p + sp).exp(), (q + sq).exp());
        if next < least {
            let gain = least - next;
            (p, q, least) = (p + sp, q + sq, next);
            damping *= 0.3;
            if gain < 1e-15 {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    (p.exp(), q.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_those_of_umap_learn() {
        // Printed by umap.umap_.find_ab_params of umap-learn 0.5.12.
        for (spread, min_dist, a, b) in AB {
            let found = fitted(min_dist, spread);
            assert!(
                (found.0 / a - 1.0).abs() < 1e-3 && (found.1 / b - 1.0).abs() < 1e-3,
                "{found:?}"
            );
        }
    }

    const AB: [(f64, f64, f64, f64); 5] = [
        (1.0, 0.1, 1.576943, 0.895061),
        (0.5, 0.1, 5.069309, 1.003005),
        (1.0, 0.0, 1.932808, 0.790495),
        (1.0, 0.99, 0.119305, 1.916390),
        (5.0, 0.5, 0.088425, 0.895061),
    ];
}
