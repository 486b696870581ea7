//! Receiving an uploaded body: pieces go to the disk on a thread that may block while the next ones
//! arrive. The parser reads them from there while they are made durable, so that the size of a body is
//! nothing to this process.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_ingest::{ParseSpec, Progress, Stage};
use graphlume_storage::{BlobRef, BlobWriter, StoreError};
use graphlume_types::{CancelToken, UserId};
use graphlume_workers::Watch;
use tokio::task::{JoinHandle, spawn_blocking};

use super::tables::{ParseOutcome, parse_and_store};
use crate::context::Context;
use crate::data::DataStore;
use crate::error::ServiceError;
use crate::parse_turns::ParseTurns;
use crate::quotas::Room;
use crate::task::joined;

/// Bytes gathered before they are handed to the disk.
const FLUSH_BYTES: usize = 1 << 20;

/// A body on its way in. Dropping it leaves nothing behind.
pub(crate) struct UploadStream {
    data: Arc<DataStore>,
    owner: UserId,
    parses: ParseTurns,
    /// Absent while a flush runs.
    writer: Option<BlobWriter>,
    flush: Option<JoinHandle<Result<BlobWriter, StoreError>>>,
    pending: Vec<Bytes>,
    pending_len: usize,
    received: u64,
    declared: Option<u64>,
    bytes_max: u64,
    cancel: CancelToken,
    watch: Watch,
    /// Given away when the body is finished.
    room: Option<Room>,
}

/// Stored bytes and what they parsed into.
pub(crate) struct StoredUpload {
    pub raw: BlobRef,
    pub parsed: ParseOutcome,
    /// To be dropped when the record that holds the bytes is written.
    pub room: Option<Room>,
    /// Microseconds spent parsing.
    pub parse_micros: u64,
}

impl UploadStream {
    /// Starts receiving a body, which counts as `owner`'s.
    ///
    /// # Errors
    /// [`ServiceError::UploadTooLarge`] for a body that says beforehand that it is; an account that holds too much.
    pub(crate) async fn begin(
        ctx: &Context,
        owner: UserId,
        declared: Option<u64>,
        watch: Watch,
    ) -> Result<Self, ServiceError> {
        let limit = ctx.upload_bytes_max;
        if declared.is_some_and(|d| d > limit) {
            return Err(ServiceError::UploadTooLarge { limit });
        }
        let (room, writer) = ctx
            .blocking(move |data| {
                let room = data.quotas.room(&data.store, owner, declared.unwrap_or(0))?;
                Ok((room, data.store.blobs().writer()?))
            })
            .await?;
        Ok(Self {
            owner,
            data: Arc::clone(&ctx.data),
            parses: ctx.parses.clone(),
            writer: Some(writer),
            flush: None,
            pending: Vec::new(),
            pending_len: 0,
            received: 0,
            declared,
            bytes_max: limit,
            cancel: CancelToken::new(),
            watch,
            room: Some(room),
        })
    }

    /// Takes the next piece; waits when the disk is behind.
    pub(crate) async fn write(&mut self, piece: Bytes) -> Result<(), ServiceError> {
        let received = self.received.saturating_add(piece.len() as u64);
        if received > self.bytes_max {
            return Err(ServiceError::UploadTooLarge { limit: self.bytes_max });
        }
        if self.declared.is_some_and(|d| received > d) {
            return Err(self.wrong_length(received));
        }
        // An announced body has its room already.
        let data = Arc::clone(&self.data);
        if let Some(room) = &mut self.room {
            data.quotas.grow(&data.store, room, received)?;
        }
        self.received = received;
        self.pending_len += piece.len();
        self.pending.push(piece);
        if self.pending_len >= FLUSH_BYTES {
            (self.watch)(Progress { stage: Stage::Receiving, bytes: received, rows: 0 });
            self.start_flush().await?;
        }
        Ok(())
    }

    fn wrong_length(&self, received: u64) -> ServiceError {
        let declared = self.declared.unwrap_or(0);
        ServiceError::invalid(
            "Content-Length",
            format!("the body has {received} bytes but {declared} were declared; send it again"),
        )
    }

    async fn writer(&mut self) -> Result<BlobWriter, ServiceError> {
        if let Some(flush) = self.flush.take() {
            return joined(flush.await.map(|r| r.map_err(ServiceError::from)));
        }
        let closed =
            || ServiceError::Conflict("the upload has failed before; send it again".into());
        self.writer.take().ok_or_else(closed)
    }

    /// Hands the pending pieces over once the previous ones are written.
    async fn start_flush(&mut self) -> Result<(), ServiceError> {
        let mut writer = self.writer().await?;
        let pieces = std::mem::take(&mut self.pending);
        self.pending_len = 0;
        self.flush = Some(spawn_blocking(move || {
            for piece in &pieces {
                writer.put(piece)?;
            }
            Ok(writer)
        }));
        Ok(())
    }

    /// Makes the body durable and parses it, both at once.
    ///
    /// # Errors
    /// A length other than the declared one, or a disk that fails. What is wrong with the content is
    /// part of the result.
    pub(crate) async fn finish(mut self, spec: ParseSpec) -> Result<StoredUpload, ServiceError> {
        if self.declared.is_some_and(|d| d != self.received) {
            return Err(self.wrong_length(self.received));
        }
        self.start_flush().await?;
        let mut writer = self.writer().await?;
        let permit = self.parses.turn(self.owner).await?;
        let input = Arc::new(writer.reader()?);
        let store_raw = spawn_blocking(move || writer.finish().map_err(ServiceError::from));
        let (data, cancel, owner) = (Arc::clone(&self.data), self.cancel.clone(), self.owner);
        let watch = Arc::clone(&self.watch);
        let parse = spawn_blocking(move || {
            let begin = data.clock.monotonic();
            let parsed = parse_and_store(&data, Some(owner), &spec, input, &cancel, watch);
            let spent = data.clock.monotonic().saturating_duration_since(begin);
            drop(permit);
            parsed.map(|p| (p, u64::try_from(spent.as_micros()).unwrap_or(u64::MAX)))
        });
        let (raw, outcome) = tokio::join!(store_raw, parse);
        let (raw, (parsed, parse_micros)) = (joined(raw)?, joined(outcome)?);
        Ok(StoredUpload { raw, parsed, room: self.room.take(), parse_micros })
    }
}

impl Drop for UploadStream {
    fn drop(&mut self) {
        // A caller that went away must not keep the cores busy.
        self.cancel.cancel(graphlume_types::CancelReason::ClientGone);
    }
}
