//! Context that every use case shares.

use std::sync::Arc;

use graphlume_engine::EngineHandle;
use graphlume_identity::Identity;
use tokio::sync::Semaphore;

use crate::answer_budget::AnswerBudget;
use crate::claims::Claims;
use crate::data::{self, DataStore};
use crate::error::ServiceError;
use crate::parse_turns::ParseTurns;
use crate::pictures::PictureHost;

/// The data, the engine, who is asking, and the places that use cases take turns on.
pub(crate) struct Context {
    pub(crate) data: Arc<DataStore>,
    pub(crate) engine: EngineHandle,
    pub(crate) identity: Arc<Identity>,
    /// Places for parses of uploaded bytes.
    pub(crate) parses: ParseTurns,
    /// Places for answers that are being written out.
    pub(crate) renders: Arc<Semaphore>,
    /// Places for lists that are being written out.
    pub(crate) lists: Arc<Semaphore>,
    pub(crate) answer_budget: AnswerBudget,
    pub(crate) claims: Claims,
    /// Bytes of one uploaded body.
    pub(crate) upload_bytes_max: u64,
    /// Whether a dataset may cite the file of an account that shares no organization with the caller.
    pub(crate) allow_foreign_file_ids: bool,
    /// Sites from which pages may load pictures, besides our own.
    pub(crate) picture_hosts: Vec<PictureHost>,
}

impl Context {
    /// Runs blocking `work` on a thread that may block.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&DataStore) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        data::blocking(&self.data, work).await
    }
}
