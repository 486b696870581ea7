//! Spool of decoded text: memory at first, then the scratch file, behind what is already there.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use graphlume_types::limits::DECOMPRESSED_BYTES_MAX;

use crate::{IngestError, ParseCx};

/// Bytes that are kept in memory; what is longer goes into a file.
const MEMORY_BYTES_MAX: usize = 64 << 20;

/// See the module.
pub struct Spool<'a> {
    cx: &'a ParseCx,
    memory: Vec<u8>,
    /// The file, and where the text begins in it.
    file: Option<(Arc<File>, u64)>,
    len: u64,
}

impl<'a> Spool<'a> {
    pub fn new(cx: &'a ParseCx) -> Self {
        Self { cx, memory: Vec::new(), file: None, len: 0 }
    }

    /// Appends `bytes`.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), IngestError> {
        let len = self.len + bytes.len() as u64;
        if len > DECOMPRESSED_BYTES_MAX {
            let message = format!(
                "the text has more than {DECOMPRESSED_BYTES_MAX} bytes in UTF-8, the limit"
            );
            return Err(IngestError::too_large(message));
        }
        if self.file.is_none() && self.memory.len() + bytes.len() > MEMORY_BYTES_MAX {
            let file = match &self.cx.scratch {
                Some(file) => Arc::clone(file),
                None => Arc::new(tempfile::tempfile()?),
            };
            let start = file.metadata()?.len();
            file.write_all_at(&self.memory, start)?;
            self.memory = Vec::new();
            self.file = Some((file, start));
        }
        match &self.file {
            Some((file, start)) => file.write_all_at(bytes, start + self.len)?,
            None => self.memory.extend_from_slice(bytes),
        }
        self.len = len;
        Ok(())
    }

    /// Everything that was taken.
    pub fn finish(self) -> Result<Bytes, IngestError> {
        let Some((file, start)) = self.file else { return Ok(self.memory.into()) };
        let len = usize::try_from(self.len).unwrap_or(usize::MAX);
        // SAFETY: the map is private and read-only. The scratch file belongs to this parse alone, which
        // only ever appends to it, so that the mapped part does not change while the map lives.
        let map = unsafe { memmap2::MmapOptions::new().offset(start).len(len).map(&*file)? };
        Ok(Bytes::from_owner(map))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_long_text_goes_behind_what_the_scratch_file_holds() {
        let scratch = Arc::new(tempfile::tempfile().unwrap());
        scratch.write_all_at(b"kept", 0).unwrap();
        let cx = ParseCx { scratch: Some(scratch.clone()), ..ParseCx::default() };
        let mut spool = Spool::new(&cx);
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..65 {
            spool.take(&piece).unwrap();
        }
        spool.take(b"end").unwrap();
        let text = spool.finish().unwrap();
        assert_eq!((text.len(), &text[65 << 20..]), ((65 << 20) + 3, &b"end"[..]));
        assert_eq!(scratch.metadata().unwrap().len(), 4 + (65 << 20) + 3);
        let mut kept = [0; 4];
        scratch.read_exact_at(&mut kept, 0).unwrap();
        assert_eq!(&kept, b"kept");
    }
}
