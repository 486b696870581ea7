//! How far uploads are, for whoever asks for the record meanwhile.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_ingest::Progress;
use graphlume_types::FileId;
use parking_lot::Mutex;

use crate::parsers::Watch;

/// The uploads in progress.
#[derive(Default)]
pub(crate) struct Board {
    uploads: Mutex<HashMap<FileId, Progress>>,
}

/// One upload's place on the board, given up on drop.
pub(crate) struct Place {
    board: Arc<Board>,
    file: FileId,
}

impl Board {
    pub(crate) fn get(&self, file: &FileId) -> Option<Progress> {
        self.uploads.lock().get(file).copied()
    }

    /// A place for `file`, and who writes there; every new stage is logged, too.
    pub(crate) fn place(self: &Arc<Self>, file: FileId) -> (Place, Watch) {
        let board = Arc::clone(self);
        let watch = move |progress: Progress| {
            let before = board.uploads.lock().insert(file, progress);
            if before.is_none_or(|b| b.stage != progress.stage) {
                let Progress { stage, bytes, rows } = progress;
                tracing::info!(%file, stage = stage.name(), bytes, rows, "upload");
            }
        };
        (Place { board: Arc::clone(self), file }, Arc::new(watch))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.board.uploads.lock().remove(&self.file);
    }
}
