//! Receiving an uploaded body: pieces go to the disk on a thread that may block while the next ones
//! arrive, and, when memory allows, stay in memory so that parsing need not wait for the disk.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use graphlume_ingest::Source;
use graphlume_storage::{BlobRef, BlobWriter, StoreError, TableSchema};
use graphlume_types::{CancelToken, Coded, Reservation};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::service::{Core, joined};
use crate::tables::{ParseFailure, Recipe, parse_guarded, schema_of, store_table};
use crate::{Service, ServiceError};

/// Bytes gathered before they are handed to the disk.
const FLUSH_BYTES: usize = 1 << 20;

/// A body on its way in. Dropping it leaves nothing behind.
pub(crate) struct Intake {
    core: Arc<Core>,
    parses: Arc<tokio::sync::Semaphore>,
    /// Absent while a flush runs.
    writer: Option<BlobWriter>,
    flush: Option<JoinHandle<Result<BlobWriter, StoreError>>>,
    pending: Vec<Bytes>,
    pending_len: usize,
    received: u64,
    declared: Option<u64>,
    bytes_max: u64,
    copy: Option<(BytesMut, Reservation)>,
    cancel: CancelToken,
}

/// Stored bytes and what they parsed into.
pub(crate) struct Taken {
    pub raw: BlobRef,
    pub parsed: Result<TakenTables, ParseFailure>,
    /// Microseconds spent parsing.
    pub parse_micros: u64,
}

/// The tables of a body, stored.
pub(crate) struct TakenTables {
    pub schemas: Vec<TableSchema>,
    pub tables: Vec<BlobRef>,
    pub agent_name: Option<String>,
    pub agent_version: Option<String>,
    pub warnings: Vec<String>,
}

impl Service {
    /// Starts receiving a body.
    pub(crate) async fn intake(&self, declared: Option<u64>) -> Result<Intake, ServiceError> {
        let bytes_max = self.upload_bytes_max;
        if declared.is_some_and(|d| d > bytes_max) {
            return Err(too_large(bytes_max));
        }
        let writer = self.blocking(|core| Ok(core.store.blobs().writer()?)).await?;
        // Only a declared length can be paid for beforehand.
        let copy = declared.and_then(|len| {
            let paid = self.upload_memory.try_reserve(len).ok()?;
            let capacity = usize::try_from(len).ok()?;
            Some((BytesMut::with_capacity(capacity), paid))
        });
        Ok(Intake {
            core: Arc::clone(&self.core),
            parses: Arc::clone(&self.parses),
            writer: Some(writer),
            flush: None,
            pending: Vec::new(),
            pending_len: 0,
            received: 0,
            declared,
            bytes_max,
            copy,
            cancel: CancelToken::new(),
        })
    }
}

fn too_large(limit: u64) -> ServiceError {
    ServiceError::TooLarge { what: "the uploaded body", limit, unit: "bytes" }
}

impl Intake {
    /// Takes the next piece; waits when the disk is behind.
    pub(crate) async fn write(&mut self, piece: Bytes) -> Result<(), ServiceError> {
        let received = self.received.saturating_add(piece.len() as u64);
        if received > self.bytes_max {
            return Err(too_large(self.bytes_max));
        }
        if self.declared.is_some_and(|d| received > d) {
            return Err(self.wrong_length(received));
        }
        self.received = received;
        if let Some((copy, _)) = &mut self.copy {
            copy.extend_from_slice(&piece);
        }
        self.pending_len += piece.len();
        self.pending.push(piece);
        if self.pending_len >= FLUSH_BYTES {
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

    /// Makes the body durable and parses it, both at once when it is in memory.
    ///
    /// # Errors
    /// A length other than the declared one, or a disk that fails. What is wrong with the content is
    /// part of the result.
    pub(crate) async fn finish(mut self, recipe: Recipe) -> Result<Taken, ServiceError> {
        if self.declared.is_some_and(|d| d != self.received) {
            return Err(self.wrong_length(self.received));
        }
        self.start_flush().await?;
        let writer = self.writer().await?;
        let copy = self.copy.take();
        let permit = Arc::clone(&self.parses)
            .acquire_owned()
            .await
            .map_err(|_| ServiceError::Busy { what: "parses" })?;
        let store_raw = spawn_blocking(move || writer.finish().map_err(ServiceError::from));
        let (core, cancel) = (Arc::clone(&self.core), self.cancel.clone());
        let (raw, outcome) = match copy {
            Some((bytes, paid)) => {
                let source = Source::Bytes(bytes.freeze());
                let parse = spawn_blocking(move || {
                    let out = parse_and_store(&core, &recipe, &source, &cancel);
                    drop((paid, permit));
                    out
                });
                let (raw, outcome) = tokio::join!(store_raw, parse);
                (joined(raw)?, joined(outcome)?)
            }
            None => {
                let raw = joined(store_raw.await)?;
                let source = Source::Path(core.store.blobs().path(&raw));
                let parse = spawn_blocking(move || {
                    let out = parse_and_store(&core, &recipe, &source, &cancel);
                    drop(permit);
                    out
                });
                (raw, joined(parse.await)?)
            }
        };
        let (parsed, parse_micros) = outcome;
        if let Err(failure) = &parsed
            && !failure.is_final()
        {
            // Says nothing about the bytes: the upload as a whole has failed and may be repeated.
            let message = failure.record.message.clone();
            return Err(ServiceError::Unreadable {
                message,
                slug: failure.slug,
                code: failure.code,
            });
        }
        Ok(Taken { raw, parsed, parse_micros })
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        // A caller that went away must not keep the cores busy.
        self.cancel.cancel(graphlume_types::CancelReason::ClientGone);
    }
}

type Outcome = (Result<TakenTables, ParseFailure>, u64);

/// Parses a source and stores its tables in the canonical form.
pub(crate) fn parse_and_store(
    core: &Core,
    recipe: &Recipe,
    source: &Source,
    cancel: &CancelToken,
) -> Result<Outcome, ServiceError> {
    let begin = core.clock.monotonic();
    let parsed = parse_guarded(recipe, source, cancel);
    let spent = core.clock.monotonic().saturating_duration_since(begin);
    let micros = u64::try_from(spent.as_micros()).unwrap_or(u64::MAX);
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(failure) => {
            tracing::info!(format = %recipe.format, slug = failure.record.slug, "a body did not parse");
            return Ok((Err(failure), micros));
        }
    };
    let mut out = TakenTables {
        schemas: Vec::new(),
        tables: Vec::new(),
        agent_name: parsed.agent_name,
        agent_version: parsed.agent_version,
        warnings: parsed.warnings,
    };
    for (name, table) in &parsed.tables {
        out.schemas.push(schema_of(name, table));
        match store_table(&core.store, &core.cache, table) {
            Ok(blob) => out.tables.push(blob),
            Err(e) => {
                tracing::warn!(error = %e, slug = e.slug(), "a parsed table could not be stored");
                return Err(e);
            }
        }
    }
    Ok((Ok(out), micros))
}
