//! The data folder with what reads and fills it. The engine's loader and the store of checkpoints need no more.

use std::sync::Arc;

use graphlume_storage::Store;
use graphlume_types::Clock;
use graphlume_workers::Parsers;
use parking_lot::Mutex;

use crate::error::ServiceError;
use crate::quotas::Quotas;
use crate::table_cache::TableCache;
use crate::task;
use crate::upload_progress::UploadProgress;

/// Records and blobs, the tables kept of them, and who parses what comes in.
pub(crate) struct DataStore {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cache: TableCache,
    pub(crate) parsers: Parsers,
    pub(crate) progress: Arc<UploadProgress>,
    pub(crate) quotas: Quotas,
    /// The turn to look at the rows of a dataset before its graph is built.
    pub(crate) previews: Mutex<()>,
}

/// Runs blocking `work` on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    data: &Arc<DataStore>,
    work: impl FnOnce(&DataStore) -> Result<T, ServiceError> + Send + 'static,
) -> Result<T, ServiceError> {
    let data = Arc::clone(data);
    task::joined(tokio::task::spawn_blocking(move || work(&data)).await)
}
