//! Sink of plain bytes: memory at first, then a file.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use graphlume_types::limits::{
    DECOMPRESSED_BYTES_FREE, DECOMPRESSED_BYTES_MAX, DECOMPRESSION_RATIO_MAX,
};

use crate::{IngestError, ParseCx, Stage, source};

/// Plain bytes that are kept in memory; what is longer goes into a file.
const MEMORY_BYTES_MAX: usize = 64 << 20;
/// Compressed bytes between two reports.
const REPORT_BYTES: u64 = 8 << 20;

/// Refuses what expands more than data does.
#[derive(Debug, Default, Clone, Copy)]
pub struct Bound {
    produced: u64,
}

impl Bound {
    /// Counts `more` plain bytes, made from the first `consumed` compressed ones of `what`.
    pub fn add(&mut self, more: usize, consumed: u64, what: &str) -> Result<(), IngestError> {
        self.produced = self.produced.saturating_add(more as u64);
        let by_ratio = consumed.saturating_mul(DECOMPRESSION_RATIO_MAX);
        let limit = DECOMPRESSED_BYTES_MAX.min(by_ratio.saturating_add(DECOMPRESSED_BYTES_FREE));
        if self.produced <= limit {
            return Ok(());
        }
        let free = DECOMPRESSED_BYTES_FREE >> 20;
        let message = format!(
            "{what} expands to more than {limit} bytes out of its first {consumed}; the limit is \
             {DECOMPRESSED_BYTES_MAX} bytes in all, and {free} MiB plus {DECOMPRESSION_RATIO_MAX} \
             times the compressed bytes; send the data plain, in parts, or as parquet"
        );
        Err(IngestError::Bomb { message })
    }
}

/// See the module.
pub struct Sink<'a> {
    cx: &'a ParseCx,
    what: String,
    bound: Bound,
    memory: Vec<u8>,
    file: Option<Arc<File>>,
    reported: u64,
}

impl<'a> Sink<'a> {
    /// An empty sink for the contents of `what`.
    pub fn new(cx: &'a ParseCx, what: impl Into<String>) -> Self {
        let (bound, memory) = (Bound::default(), Vec::new());
        Self { cx, what: what.into(), bound, memory, file: None, reported: 0 }
    }

    /// Takes plain bytes, made from the first `consumed` compressed ones.
    pub fn take(&mut self, plain: &[u8], consumed: u64) -> Result<(), IngestError> {
        self.cx.cancel.check()?;
        self.bound.add(plain.len(), consumed, &self.what)?;
        if self.file.is_none() && self.memory.len() + plain.len() > MEMORY_BYTES_MAX {
            let file = match &self.cx.scratch {
                Some(file) => Arc::clone(file),
                None => Arc::new(tempfile::tempfile()?),
            };
            (&*file).write_all(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &self.file {
            Some(file) => (&**file).write_all(plain)?,
            None => self.memory.extend_from_slice(plain),
        }
        if consumed >= self.reported + REPORT_BYTES {
            self.reported = consumed;
            self.cx.report(Stage::Decompressing, consumed, 0);
        }
        Ok(())
    }

    /// Everything that was taken.
    pub fn finish(self) -> Result<Bytes, IngestError> {
        match self.file {
            Some(file) => source::map(&file),
            None => Ok(self.memory.into()),
        }
    }
}
