//! Progress of uploads, for callers who read the record meanwhile.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_ingest::Progress;
use graphlume_types::FileId;
use parking_lot::Mutex;

use graphlume_workers::Watch;

/// The uploads in progress.
#[derive(Default)]
pub(crate) struct UploadProgress {
    uploads: Mutex<HashMap<FileId, Progress>>,
}

/// The entry of one upload, removed on drop.
pub(crate) struct ProgressEntry {
    uploads: Arc<UploadProgress>,
    file: FileId,
}

impl UploadProgress {
    pub(crate) fn get(&self, file: &FileId) -> Option<Progress> {
        self.uploads.lock().get(file).copied()
    }

    /// An entry for `file`, and who writes into it; every new stage is logged, too.
    pub(crate) fn begin(self: &Arc<Self>, file: FileId) -> (ProgressEntry, Watch) {
        let all = Arc::clone(self);
        let watch = move |progress: Progress| {
            let before = all.uploads.lock().insert(file, progress);
            if before.is_none_or(|b| b.stage != progress.stage) {
                let Progress { stage, bytes, rows } = progress;
                tracing::info!(%file, stage = stage.name(), bytes, rows, "upload");
            }
        };
        (ProgressEntry { uploads: Arc::clone(self), file }, Arc::new(watch))
    }
}

impl Drop for ProgressEntry {
    fn drop(&mut self) {
        self.uploads.uploads.lock().remove(&self.file);
    }
}
