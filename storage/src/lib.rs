//! Records and blobs on the disk of one data folder.
//!
//! ```text
//! <dir>/            mode 0700, files 0600
//!   lock            held while a process uses the folder
//!   mark            number of the last durable commit group, and what tells the folder from others
//!   store/          records, in sled; store.new/ while it is made, store.damaged-*/ when moved aside
//!   blobs/ab/cd/…   durable content, named by its BLAKE3 hash
//!   derived/ab/cd/… content that can be computed again
//!   tmp/            content being written
//!   positions/      where the nodes of sessions are, checked when read; may be lost
//!   exports/        the last logical exports of the records, JSON lines
//! ```
//!
//! What the crate promises, and its tests hold it to:
//!
//! 1. A commit that was answered with `Ok` survives a crash and a power cut. sled's own flush does not
//!    give that on Linux, so a commit is: transaction, flush, `fdatasync` on our own handle of its file.
//!    Commits that arrive meanwhile share the next sync.
//! 2. A batch happens as a whole or not at all, indexes included, and a record never refers to a
//!    durable blob that is absent.
//! 3. Wrong bytes are never served: records and blobs carry hashes that every read checks.
//! 4. After a failed sync nothing is acknowledged any more.
//!
//! A reader may see a commit a moment before it is durable; a caller that acts upon a read does so by a commit
//! of its own, which cannot become durable earlier.

mod batch;
mod blob;
mod codec;
mod commit;
mod commit_marker;
mod copied;
mod decoded;
mod disk;
mod each;
mod engine_conf;
mod error;
mod export;
mod export_file;
mod folder;
mod fsck;
mod hex;
mod index;
mod list;
mod meta;
mod open;
mod ours;
mod poison;
pub mod record;
mod snapshot;
mod staged_blob;
mod store;
mod sweep;
mod vfs;
mod writer;

#[cfg(test)]
mod tests;

pub use batch::Batch;
pub use blob::{BlobClass, BlobHash, BlobRef, BlobWriter, Blobs};
pub use codec::Tag;
pub use commit::Commit;
pub use disk::Disk;
pub use error::{Corrupt, StoreError};
pub use export::{ExportReport, ImportReport};
pub use export_file::check_export;
pub use fsck::{FsckReport, Problem};
pub use index::Scope;
pub use list::{Entry, Page};
pub use open::{Opened, Options};
pub use record::{
    CollectionRec, CollectionsStep, DatasetHead, DatasetRec, FileHead, FileRec, FileRef, Headed,
    Holder, Invitation, JsonText, KeyRec, Kind, LinkRec, LoginRec, Member, OrgRec, PasswordHash,
    Privacy, PrivacyMode, Record, RecordKey, Role, SecretDigest, SessionHead, SessionRec,
    SettingRec, StepKey, StepRec, TableRec, TableSchema, UserRec,
};
pub use snapshot::{Coordinates, Kept, SnapshotHead, Snapshots};
pub use staged_blob::{StagedBlob, StagedBlobs};
pub use store::{Store, StoreStats};
pub use sweep::SweepReport;
#[cfg(any(test, feature = "testing"))]
pub use vfs::{Fault, FaultPlan};
