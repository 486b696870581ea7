//! Work on millions of edges in slices, between which the cancel token is asked.

use graphlume_types::CancelToken;

use crate::AlgoError;

/// Edges of a slice: a few milliseconds of work each.
pub(super) const SLICE: usize = 1 << 17;

/// Sorts by `key`, equal ones in their order. Slices are sorted first; what is left is to merge them, which takes a fraction
/// of the time.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(super) fn sort<T, K: Ord>(
    items: &mut [T],
    key: impl Fn(&T) -> K + Copy,
    cancel: &CancelToken,
) -> Result<(), AlgoError> {
    for slice in items.chunks_mut(SLICE) {
        cancel.check()?;
        slice.sort_by_key(key);
    }
    cancel.check()?;
    if items.len() > SLICE {
        items.sort_by_key(key);
    }
    Ok(cancel.check()?)
}

/// Calls `act` for each of `items`.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(super) fn each<T>(
    items: &[T],
    cancel: &CancelToken,
    mut act: impl FnMut(&T),
) -> Result<(), AlgoError> {
    for slice in items.chunks(SLICE) {
        cancel.check()?;
        slice.iter().for_each(&mut act);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use graphlume_types::CancelReason;

    use super::*;

    #[test]
    fn sorting_in_slices_is_a_stable_sort() {
        let mut items: Vec<(u32, u32)> =
            (0..400_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 22, i)).collect();
        let mut expected = items.clone();
        expected.sort_by_key(|(key, _)| *key);
        sort(&mut items, |(key, _)| *key, &CancelToken::new()).unwrap();
        assert_eq!(items, expected);
    }

    #[test]
    fn work_ends_with_the_slice_in_which_it_is_cancelled() {
        let (items, cancel) = (vec![0u8; 5 * SLICE], CancelToken::new());
        let mut done = 0;
        let run = each(&items, &cancel, |_| {
            done += 1;
            if done == SLICE + 1 {
                cancel.cancel(CancelReason::ClientGone);
            }
        });
        assert!(matches!(run, Err(AlgoError::Cancelled(_))));
        assert_eq!(done, 2 * SLICE);
        let mut keys: Vec<u32> = (0..SLICE as u32 * 2).rev().collect();
        assert!(sort(&mut keys, |k| *k, &cancel).is_err());
    }
}
