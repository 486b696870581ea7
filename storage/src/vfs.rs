//! The seam between the store and the file system: every call whose failure or order matters for
//! durability goes through it. The record engine does its own I/O; of it, only our sync call on its
//! file passes here.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// File operations. Each one is a single step that can fail alone.
pub(crate) trait Vfs: Send + Sync + 'static {
    /// A new file, readable by us alone.
    fn create(&self, path: &Path) -> io::Result<File>;
    /// Writes some bytes; may take fewer than offered and may be interrupted.
    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize>;
    /// Data and metadata of a file, down to the device.
    fn sync_file(&self, file: &File) -> io::Result<()>;
    /// Data of a file and the metadata needed to read it, down to the device.
    fn sync_data(&self, file: &File) -> io::Result<()>;
    /// Entries of a folder, down to the device.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Moves `from` over `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// A folder readable by us alone; no error when it is there.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Bytes that an ordinary user may still write on this file system.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;
}

/// The machine's file system.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OsVfs;

impl Vfs for OsVfs {
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    fn sync_file(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        let s = rustix::fs::statvfs(path)?;
        Ok(s.f_bavail.saturating_mul(s.f_frsize))
    }
}

/// The machine's file system for those who only look: nothing is made, written or removed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LookVfs;

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Vfs for LookVfs {
    fn create(&self, _: &Path) -> io::Result<File> {
        refused()
    }
    fn write(&self, _: &mut File, _: &[u8]) -> io::Result<usize> {
        refused()
    }
    fn sync_file(&self, _: &File) -> io::Result<()> {
        refused()
    }
    fn sync_data(&self, _: &File) -> io::Result<()> {
        refused()
    }
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        refused()
    }
    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        refused()
    }
    fn create_dir(&self, _: &Path) -> io::Result<()> {
        refused()
    }
    fn remove_file(&self, _: &Path) -> io::Result<()> {
        refused()
    }
    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        OsVfs.free_bytes(path)
    }
}

/// Writes all of `bytes`, going on after short and interrupted writes.
pub(crate) fn write_all(vfs: &dyn Vfs, file: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match vfs.write(file, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The lock of a data folder for one who only looks, beside others who do; the outer `None` when a process that writes
/// holds it, the inner one when there is no such file.
pub(crate) fn try_lock_to_look(path: &Path) -> io::Result<Option<Option<File>>> {
    let file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Some(None)),
        opened => opened?,
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(Some(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

/// The lock file of a data folder, which begins with `magic`; `None` when another process holds it. Released on drop.
pub(crate) fn try_lock(path: &Path, magic: &[u8]) -> io::Result<Option<File>> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(e)) => return Err(e),
    }
    // Earlier versions left it empty.
    if file.metadata()?.len() == 0 {
        file.write_all(magic)?;
        file.sync_all()?;
    }
    Ok(Some(file))
}

/// Makes every file below `dir` readable by us alone; the record engine does not do so itself.
pub(crate) fn tighten(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let is_dir = entry.file_type()?.is_dir();
        let mode = if is_dir { 0o700 } else { 0o600 };
        fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode))?;
        if is_dir {
            tighten(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(any(test, feature = "testing"))]
pub use faulty::{Fault, FaultPlan};

#[cfg(any(test, feature = "testing"))]
mod faulty {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// What the N-th call does instead of its work.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Fault {
        /// Fails with this error number.
        Errno(i32),
        /// Every call from there on fails with this error number.
        ErrnoFromThere(i32),
        /// A write takes one byte only; other calls succeed.
        ShortWrite,
    }

    /// A file system whose `fail_at`-th call (from 1; 0 = never) goes wrong. Clones share the count.
    #[derive(Debug, Clone)]
    pub struct FaultPlan {
        shared: Arc<Shared>,
    }

    #[derive(Debug)]
    struct Shared {
        calls: AtomicU64,
        fail_at: AtomicU64,
        syncs: AtomicU64,
        fault: Fault,
    }

    impl FaultPlan {
        /// A plan with one fault.
        #[must_use]
        pub fn new(fail_at: u64, fault: Fault) -> Self {
            let shared = Shared {
                calls: AtomicU64::new(0),
                fail_at: AtomicU64::new(fail_at),
                syncs: AtomicU64::new(0),
                fault,
            };
            Self { shared: Arc::new(shared) }
        }

        /// Restarts the count with another target.
        pub fn arm(&self, fail_at: u64) {
            self.shared.calls.store(0, Ordering::SeqCst);
            self.shared.fail_at.store(fail_at, Ordering::SeqCst);
        }

        /// Whether the fault was reached.
        #[must_use]
        pub fn hit(&self) -> bool {
            let at = self.shared.fail_at.load(Ordering::SeqCst);
            at != 0 && self.shared.calls.load(Ordering::SeqCst) >= at
        }

        /// Sync calls that reached the file system or failed.
        #[must_use]
        pub fn syncs(&self) -> u64 {
            self.shared.syncs.load(Ordering::SeqCst)
        }

        /// `Ok(true)`: do a short write.
        fn step(&self) -> io::Result<bool> {
            let n = self.shared.calls.fetch_add(1, Ordering::SeqCst) + 1;
            let at = self.shared.fail_at.load(Ordering::SeqCst);
            match self.shared.fault {
                Fault::Errno(e) if n == at => Err(io::Error::from_raw_os_error(e)),
                Fault::ErrnoFromThere(e) if at != 0 && n >= at => {
                    Err(io::Error::from_raw_os_error(e))
                }
                Fault::ShortWrite => Ok(n == at),
                _ => Ok(false),
            }
        }
    }

    impl Vfs for FaultPlan {
        fn create(&self, path: &Path) -> io::Result<File> {
            self.step()?;
            OsVfs.create(path)
        }
        fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
            let short = self.step()?;
            OsVfs.write(file, if short { &bytes[..1] } else { bytes })
        }
        fn sync_file(&self, file: &File) -> io::Result<()> {
            self.shared.syncs.fetch_add(1, Ordering::SeqCst);
            self.step()?;
            OsVfs.sync_file(file)
        }
        fn sync_data(&self, file: &File) -> io::Result<()> {
            self.shared.syncs.fetch_add(1, Ordering::SeqCst);
            self.step()?;
            OsVfs.sync_data(file)
        }
        fn sync_dir(&self, path: &Path) -> io::Result<()> {
            self.shared.syncs.fetch_add(1, Ordering::SeqCst);
            self.step()?;
            OsVfs.sync_dir(path)
        }
        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            self.step()?;
            OsVfs.rename(from, to)
        }
        fn create_dir(&self, path: &Path) -> io::Result<()> {
            self.step()?;
            OsVfs.create_dir(path)
        }
        fn remove_file(&self, path: &Path) -> io::Result<()> {
            self.step()?;
            OsVfs.remove_file(path)
        }
        fn free_bytes(&self, path: &Path) -> io::Result<u64> {
            self.step()?;
            OsVfs.free_bytes(path)
        }
    }
}
