//! The order between streams that use the same memory. A call that reads an allocation waits for the call that wrote it
//! last; a call that writes or frees it waits for every call before that reads or writes it; two calls that read it, such
//! as two queries on the graph of one dataset, do not wait for each other.

use std::sync::{Arc, Mutex};

use cudarc::driver::sys;

use super::context::Context;
use super::error::DeviceError;
use super::lock;
use super::memory::Memory;

/// Readers of an allocation from which on those that are over are forgotten.
const READERS_KEPT: usize = 4;

/// Memory that a call uses, and how.
#[derive(Clone, Copy)]
pub(crate) struct Touch<'a> {
    pub(crate) memory: &'a Arc<Memory>,
    pub(crate) writes: bool,
}

impl<'a> Touch<'a> {
    /// Memory that a call only reads.
    pub(crate) const fn reads(memory: &'a Arc<Memory>) -> Self {
        Self { memory, writes: false }
    }

    /// Memory that a call may change.
    pub(crate) const fn writes(memory: &'a Arc<Memory>) -> Self {
        Self { memory, writes: true }
    }
}

/// An event that a stream records behind its work. Memory that the stream reads holds it too, because it must be
/// waited for also after the stream is gone.
pub(crate) struct Mark {
    pub(crate) event: sys::CUevent,
    cx: Arc<Context>,
}

// SAFETY: an event may be used from any thread; the driver serialises the calls.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl Mark {
    pub(crate) fn new(cx: &Arc<Context>) -> Result<Arc<Self>, DeviceError> {
        Ok(Arc::new(Self { event: cx.new_event(false)?, cx: cx.clone() }))
    }

    /// Whether what was last recorded is over. `false` also when the driver does not say.
    fn is_over(&self) -> bool {
        // SAFETY: the event lives as long as `self`.
        unsafe { sys::cuEventQuery(self.event) == sys::CUresult::CUDA_SUCCESS }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.cx.drop_event(self.event);
    }
}

/// Who has used an allocation, as far as a later call on another stream must know.
#[derive(Default)]
pub(crate) struct Uses(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// How much the home stream had queued when the contents last changed.
    written: u64,
    /// The other streams that have read it since, with the event behind their last read.
    readers: Vec<(u64, Arc<Mark>)>,
}

impl Uses {
    /// Of memory whose allocation was the home stream's `queued`-th call.
    pub(crate) fn since(queued: u64) -> Self {
        Self(Mutex::new(Inner { written: queued, readers: Vec::new() }))
    }

    /// How much of the home stream's work a reader must wait for.
    pub(crate) fn written(&self) -> u64 {
        lock(&self.0).written
    }

    /// The contents have changed by the home stream's `queued`-th call, or by one that it waits for.
    pub(crate) fn changed(&self, queued: u64) {
        let mut inner = lock(&self.0);
        inner.written = inner.written.max(queued);
    }

    /// Stream `number`, another than the home stream, has read it; `mark` is recorded behind that.
    pub(crate) fn read_by(&self, number: u64, mark: &Arc<Mark>) {
        let mut inner = lock(&self.0);
        if inner.readers.iter().any(|(reader, _)| *reader == number) {
            return;
        }
        if inner.readers.len() >= READERS_KEPT {
            inner.readers.retain(|(_, mark)| !mark.is_over());
        }
        inner.readers.push((number, mark.clone()));
    }

    /// What a call must wait for that changes or frees the memory.
    pub(crate) fn take_readers(&self) -> Vec<(u64, Arc<Mark>)> {
        std::mem::take(&mut lock(&self.0).readers)
    }
}
