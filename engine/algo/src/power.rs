//! Power iterations' common steps: products with the adjacency matrix, and sums, that do not depend on the threads.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::AlgoError;
use crate::view::Lists;

/// Nodes of one unit of parallel work, and of one partial sum.
const CHUNK: usize = 2048;

/// For each node the sum of `x` over its list, times the weights. Each node adds in the order of its list, so that the
/// result has the same bits at any number of threads.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(crate) fn gather(
    lists: &Lists<'_>,
    x: &[f64],
    out: &mut [f64],
    cancel: &CancelToken,
) -> Result<(), AlgoError> {
    let all = lists.all_neighbors();
    out.par_chunks_mut(CHUNK).enumerate().try_for_each(|(chunk, part)| {
        cancel.check()?;
        for (i, value) in part.iter_mut().enumerate() {
            let range = lists.range((chunk * CHUNK + i) as u32);
            *value = match lists.all_weights() {
                None => all[range].iter().map(|u| x[*u as usize]).sum(),
                Some(w) => {
                    all[range.clone()].iter().zip(&w[range]).map(|(u, w)| w * x[*u as usize]).sum()
                }
            };
        }
        Ok(())
    })
}

/// The sum of `f` over `0..n`, in partial sums of a fixed size that are added in order.
pub(crate) fn sum(n: usize, f: impl Fn(usize) -> f64 + Sync) -> f64 {
    let chunks = n.div_ceil(CHUNK);
    let part = |c: usize| (c * CHUNK..n.min((c + 1) * CHUNK)).map(&f).sum::<f64>();
    (0..chunks).into_par_iter().map(part).collect::<Vec<_>>().into_iter().sum()
}

/// The largest of the absolute values.
pub(crate) fn largest(x: &[f64]) -> f64 {
    x.par_iter().with_min_len(CHUNK).map(|v| v.abs()).reduce(|| 0.0, f64::max)
}

/// Changes every value in parallel.
pub(crate) fn each(x: &mut [f64], f: impl Fn(usize, &mut f64) + Sync) {
    x.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(|(v, value)| f(v, value));
}
