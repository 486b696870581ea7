//! Names in a data folder: the record store, and what was set aside because records were lost.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The folder of the record store.
pub(crate) fn store_dir(dir: &Path) -> PathBuf {
    dir.join("store")
}

/// Whether records were lost and the operator has not yet said that their blobs are not needed.
pub(crate) fn holds_back(dir: &Path) -> Result<bool, StoreError> {
    Ok(!damage_in(dir)?.is_empty())
}

/// Names of what was set aside because records were lost, in their order.
pub(crate) fn damage_in(dir: &Path) -> Result<Vec<String>, StoreError> {
    let fail = |e| StoreError::io("list", dir, e);
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name().to_string_lossy().into_owned();
        if name.starts_with("store.damaged-") || name.starts_with("mark.lost-") {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}
