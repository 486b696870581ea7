//! The order of collections in a document.

/// Orders for a list of collections, of which some have one: those that fit stay, so that a step about one collection
/// leaves alone what others have done to the rest.
pub(super) fn orders(known: &[Option<f64>]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::with_capacity(known.len());
    for (at, own) in known.iter().enumerate() {
        let last = found.last().copied();
        let fits = |order: &f64| last.is_none_or(|last| *order > last);
        let next = || known[at + 1..].iter().flatten().copied().find(fits);
        // One that was moved up gives way to those after it, which keep theirs.
        let keeps = own.filter(fits).filter(|own| next().is_none_or(|next| next > *own));
        found.push(keeps.unwrap_or_else(|| match (last, next()) {
            (None, None) => 0.0,
            (None, Some(next)) => next - 1.0,
            (Some(last), None) => last + 1.0,
            (Some(last), Some(next)) => f64::midpoint(last, next),
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::orders;

    #[test]
    fn what_fits_stays_and_the_rest_goes_between() {
        assert_eq!(orders(&[None, None]), [0.0, 1.0]);
        assert_eq!(orders(&[None, Some(0.0), Some(1.0)]), [-1.0, 0.0, 1.0], "a new one on top");
        assert_eq!(orders(&[Some(0.0), Some(1.0), None]), [0.0, 1.0, 2.0]);
        assert_eq!(orders(&[Some(-1.0), None, Some(2.0)]), [-1.0, 0.5, 2.0]);
        assert_eq!(orders(&[Some(5.0), Some(0.0), Some(1.0)]), [-1.0, 0.0, 1.0], "moved up");
        assert_eq!(orders(&[Some(1.0), Some(0.0), Some(2.0)]), [-1.0, 0.0, 2.0]);
        for known in [[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [1.0, 1.0, 1.0]] {
            let found = orders(&known.map(Some));
            assert!(found.is_sorted_by(|a, b| a < b), "{known:?} became {found:?}");
        }
    }
}
