//! The key that signs tokens: 32 random bytes in a file that only the server's account can read. After a rotation the one
//! before it lies beside it for as long as a token lives: it verifies and signs nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use graphlume_types::id::random_bytes;

use crate::error::IdentityError;

/// Bytes of the key.
pub(crate) const KEY_BYTES: usize = 32;
const FILE_NAME: &str = "token.key";
/// The key before, followed by the second from which on it verifies nothing (8 bytes, the highest first).
const OLD_NAME: &str = "token.key.old";

/// The key. It neither prints nor compares.
pub struct SigningKey([u8; KEY_BYTES]);

impl SigningKey {
    pub(crate) const fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    #[cfg(test)]
    pub(crate) const fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Reads the key of the data folder, or makes one at the first start.
    ///
    /// # Errors
    /// A key that others can read, or of another length, is refused: the message says what to do.
    pub fn load_or_create(data_dir: &Path) -> Result<Self, IdentityError> {
        let path = data_dir.join(FILE_NAME);
        match File::open(&path) {
            Ok(file) => Self::read(file),
            Err(e) if e.kind() == ErrorKind::NotFound => Self::create(data_dir),
            Err(e) => Err(failed("open")(e)),
        }
    }

    /// The key before the last rotation and the second from which on it verifies nothing. One that cannot be read is none.
    pub(crate) fn old(data_dir: &Path) -> Option<(Self, i64)> {
        let bytes = match fs::read(data_dir.join(OLD_NAME)) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return None,
            Err(e) => {
                tracing::warn!(error = %e, "{OLD_NAME} cannot be read: tokens of before the rotation end now");
                return None;
            }
        };
        let (key, until) = bytes.split_first_chunk::<KEY_BYTES>()?;
        Some((Self(*key), i64::from_be_bytes(until.try_into().ok()?)))
    }

    /// Makes another key. The one of now verifies until the second `until`, or no more without one.
    ///
    /// # Errors
    /// A file cannot be written; the key is as before then.
    pub(crate) fn rotate(data_dir: &Path, until: Option<i64>) -> Result<(), IdentityError> {
        match until {
            Some(until) => {
                let mut bytes = Self::load_or_create(data_dir)?.0.to_vec();
                bytes.extend_from_slice(&until.to_be_bytes());
                write(data_dir, OLD_NAME, &bytes)?;
            }
            None => remove(data_dir, OLD_NAME)?,
        }
        Self::create(data_dir)?;
        Ok(())
    }

    /// Takes the key away, so that the next [`SigningKey::load_or_create`] makes another: every token ends.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub(crate) fn replace(data_dir: &Path) -> Result<(), IdentityError> {
        remove(data_dir, OLD_NAME)?;
        remove(data_dir, FILE_NAME)
    }

    fn read(mut file: File) -> Result<Self, IdentityError> {
        let mode = file.metadata().map_err(failed("inspect"))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(IdentityError::Setup(format!(
                "{FILE_NAME} in the data folder is readable by other accounts (mode {:03o}); \
                 run chmod 600 on it, and delete it if it may have been copied",
                mode & 0o777
            )));
        }
        let mut bytes = Vec::with_capacity(KEY_BYTES + 1);
        Read::by_ref(&mut file)
            .take(KEY_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(failed("read"))?;
        bytes.try_into().map(Self).map_err(|b: Vec<u8>| {
            IdentityError::Setup(format!(
                "{FILE_NAME} in the data folder holds {} bytes instead of {KEY_BYTES}; delete it to have a \
                 new one made (everybody has to log in again)",
                b.len()
            ))
        })
    }

    fn create(data_dir: &Path) -> Result<Self, IdentityError> {
        let key = random_bytes::<KEY_BYTES>();
        write(data_dir, FILE_NAME, &key)?;
        Ok(Self(key))
    }
}

/// Writes a file of the data folder whole or not at all.
/// Makes another key for tokens in a data folder. The one of now verifies until the second `until`, or no more without
/// one; a server that runs goes on with it after [`crate::Identity::use_rotated_key`].
///
/// # Errors
/// A file cannot be written; the key is as before then.
pub fn rotate_signing_key(data_dir: &Path, until: Option<i64>) -> Result<(), IdentityError> {
    SigningKey::rotate(data_dir, until)
}

fn write(data_dir: &Path, name: &str, bytes: &[u8]) -> Result<(), IdentityError> {
    let part = data_dir.join(format!("{name}.new"));
    let _ = fs::remove_file(&part);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&part)
        .map_err(failed("create"))?;
    file.write_all(bytes).map_err(failed("write"))?;
    file.sync_all().map_err(failed("sync"))?;
    fs::rename(&part, data_dir.join(name)).map_err(failed("rename"))?;
    let dir = File::open(data_dir).map_err(failed("open the folder of"))?;
    dir.sync_all().map_err(failed("sync the folder of"))
}

fn remove(data_dir: &Path, name: &str) -> Result<(), IdentityError> {
    match fs::remove_file(data_dir.join(name)) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(failed("remove")(e)),
        _ => Ok(()),
    }
}

fn failed(action: &'static str) -> impl Fn(std::io::Error) -> IdentityError {
    move |source| IdentityError::File { action, path: FILE_NAME.to_owned(), source }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_key_stays_the_same_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let a = SigningKey::load_or_create(dir.path()).unwrap();
        let b = SigningKey::load_or_create(dir.path()).unwrap();
        assert_eq!(a.as_bytes(), b.as_bytes());
        let mode = fs::metadata(dir.path().join(FILE_NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_rotation_keeps_the_key_before_until_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let first = SigningKey::load_or_create(dir.path()).unwrap();
        assert!(SigningKey::old(dir.path()).is_none());
        SigningKey::rotate(dir.path(), Some(4_600)).unwrap();
        let (old, until) = SigningKey::old(dir.path()).unwrap();
        assert_eq!((old.as_bytes(), until), (first.as_bytes(), 4_600));
        let second = SigningKey::load_or_create(dir.path()).unwrap();
        assert_ne!(second.as_bytes(), first.as_bytes());
        for name in [FILE_NAME, OLD_NAME] {
            let mode = fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        SigningKey::rotate(dir.path(), None).unwrap();
        assert!(SigningKey::old(dir.path()).is_none());
        SigningKey::rotate(dir.path(), Some(1)).unwrap();
        SigningKey::replace(dir.path()).unwrap();
        assert!(SigningKey::old(dir.path()).is_none(), "damage ends both");
    }

    #[test]
    fn an_exposed_or_short_key_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        SigningKey::load_or_create(dir.path()).unwrap();
        let path = dir.path().join(FILE_NAME);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(SigningKey::load_or_create(dir.path()), Err(IdentityError::Setup(_))));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for bad in [31usize, 33, 0] {
            fs::write(&path, vec![1u8; bad]).unwrap();
            assert!(matches!(SigningKey::load_or_create(dir.path()), Err(IdentityError::Setup(_))));
        }
    }
}
