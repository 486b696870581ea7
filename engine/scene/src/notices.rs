//! Slugs of the notices about encodings.

/// A binding names a column that is not there.
pub(crate) const COLUMN_MISSING: &str = "column-missing";
/// An encoding cannot be read, or does not fit its column.
pub(crate) const ENCODING_IGNORED: &str = "encoding-ignored";
/// A channel of numbers is bound to a column without any.
pub(crate) const NO_NUMBERS: &str = "column-without-numbers";
/// Kept with the dataset, and not shown.
pub(crate) const NOT_SHOWN: &str = "encoding-not-drawn";
