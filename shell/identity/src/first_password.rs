//! The generated password of the first superuser, in a file that only the server's account can read: standard output of a
//! service goes into logs, which many read and no one empties.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use graphlume_storage::UserRec;

use crate::accounts::FIRST_USERNAME;
use crate::error::IdentityError;

const FILE_NAME: &str = "first-password";

/// Writes the file and gives its path. A start that got no further may have left one.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn keep(data_dir: &Path, password: &str) -> Result<PathBuf, IdentityError> {
    let path = data_dir.join(FILE_NAME);
    forget(data_dir);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .map_err(failed("create"))?;
    writeln!(file, "{password}").and_then(|()| file.sync_all()).map_err(failed("write"))?;
    Ok(path)
}

/// [`forget`], when `user` is the account that it is of and has another password now.
pub(crate) fn forget_of(user: &UserRec, data_dir: &Path) {
    if user.username == FIRST_USERNAME {
        forget(data_dir);
    }
}

/// Removes the file: another password is in force.
fn forget(data_dir: &Path) {
    match fs::remove_file(data_dir.join(FILE_NAME)) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            tracing::warn!(error = %e, "{FILE_NAME} in the data folder was not removed; remove it");
        }
        _ => {}
    }
}

fn failed(action: &'static str) -> impl Fn(std::io::Error) -> IdentityError {
    move |source| IdentityError::File { action, path: FILE_NAME.to_owned(), source }
}
