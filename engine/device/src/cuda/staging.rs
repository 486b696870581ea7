//! Copies between host and device. Larger ones go through pinned blocks, two at a time: while the
//! device moves one, the processor fills or empties the other. Small downloads go through a small
//! pinned block: into other memory the driver answers only when the copy is done, and the stream
//! would be locked meanwhile, for all that is queued before it.

use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use bytemuck::Pod;
use cudarc::driver::sys;
use rayon::prelude::*;

use super::context::Context;
use super::error::DeviceError;
use super::lock;
use super::memory::{View, ViewMut};
use super::order::Touch;
use super::stream::{DriverCall, Stream};

/// From here on a copy is staged; below, the driver's own path is as fast for an upload.
const STAGED_BYTES_MIN: usize = 64 << 10;
/// Bytes of a pinned block.
pub(crate) const BLOCK_BYTES: usize = 2 << 20;
/// Small blocks of a context; one more small download at the same time goes unstaged.
const SMALL_MAX: usize = 8;
/// Bytes of a block that one thread copies out of it.
const COPY_BYTES: usize = 512 << 10;
/// Pairs of blocks of a context; one more copy at the same time goes unstaged.
const PAIRS_MAX: usize = 4;

/// Pinned memory with the event behind the copy that used it last.
struct Block {
    bytes: *mut u8,
    event: sys::CUevent,
    busy: bool,
}

/// The blocks of one copy.
struct Pair([Block; 2]);

// SAFETY: plain memory and an event; a pair has one owner at a time.
unsafe impl Send for Pair {}

/// The blocks of a context that no copy uses at the moment.
pub(crate) struct Staging(Mutex<Idle>);

#[derive(Default)]
struct Idle {
    pairs: Vec<Pair>,
    made: usize,
    small: Vec<Block>,
    small_made: usize,
}

impl Staging {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// A pair for one copy; `None` when all are in use or the system has no memory to pin.
    fn take<'a>(&'a self, cx: &'a Context) -> Result<Option<Taken<'a>>, DeviceError> {
        {
            let mut idle = lock(&self.0);
            if let Some(pair) = idle.pairs.pop() {
                return Ok(Some(Taken { staging: self, cx, pair: Some(pair) }));
            }
            if idle.made == PAIRS_MAX {
                return Ok(None);
            }
            idle.made += 1;
        }
        let pair = Pair::new(cx);
        if !matches!(pair, Ok(Some(_))) {
            lock(&self.0).made -= 1;
        }
        Ok(pair?.map(|pair| Taken { staging: self, cx, pair: Some(pair) }))
    }

    /// A block for one small download; `None` as for a pair.
    fn take_small<'a>(&'a self, cx: &'a Context) -> Result<Option<Small<'a>>, DeviceError> {
        {
            let mut idle = lock(&self.0);
            if let Some(block) = idle.small.pop() {
                return Ok(Some(Small { staging: self, cx, block: Some(block) }));
            }
            if idle.small_made == SMALL_MAX {
                return Ok(None);
            }
            idle.small_made += 1;
        }
        let block = Block::new(cx, STAGED_BYTES_MIN);
        if !matches!(block, Ok(Some(_))) {
            lock(&self.0).small_made -= 1;
        }
        Ok(block?.map(|block| Small { staging: self, cx, block: Some(block) }))
    }

    /// Gives everything back. The context is current and nothing uses it any more.
    pub(crate) fn free(&self, cx: &Context) {
        let mut idle = lock(&self.0);
        idle.pairs.drain(..).for_each(|pair| pair.free(cx));
        idle.small.drain(..).for_each(|block| block.free(cx));
    }
}

impl Pair {
    fn new(cx: &Context) -> Result<Option<Self>, DeviceError> {
        let Some(first) = Block::new(cx, BLOCK_BYTES)? else { return Ok(None) };
        match Block::new(cx, BLOCK_BYTES) {
            Ok(Some(second)) => Ok(Some(Self([first, second]))),
            other => {
                first.free(cx);
                other.map(|_| None)
            }
        }
    }

    fn free(self, cx: &Context) {
        self.0.into_iter().for_each(|block| block.free(cx));
    }
}

impl Block {
    fn new(cx: &Context, len: usize) -> Result<Option<Self>, DeviceError> {
        cx.enter()?;
        let mut bytes: *mut c_void = std::ptr::null_mut();
        // SAFETY: writes one address through a valid pointer.
        let pinned = unsafe { sys::cuMemHostAlloc(&mut bytes, len, 0) };
        match cx.check("pinning memory", pinned) {
            Ok(()) => {}
            Err(DeviceError::Driver { .. }) => return Ok(None),
            Err(e) => return Err(e),
        }
        let bytes = bytes.cast::<u8>();
        match cx.new_event(false) {
            Ok(event) => {
                // SAFETY: the block has this many bytes. The system hands it out zeroed, which the
                // driver does not promise.
                unsafe { bytes.write_bytes(0, len) };
                Ok(Some(Self { bytes, event, busy: false }))
            }
            Err(e) => {
                // SAFETY: pinned above and not used.
                unsafe { sys::cuMemFreeHost(bytes.cast()) };
                Err(e)
            }
        }
    }

    fn free(mut self, cx: &Context) {
        // A failed wait condemns the context; the block is then left to the end of the process.
        if self.idle(cx).is_ok() {
            cx.drop_event(self.event);
            // SAFETY: pinned by `new`, and no copy uses it.
            unsafe { sys::cuMemFreeHost(self.bytes.cast()) };
        }
    }

    /// Waits until the last copy is done with the block.
    fn idle(&mut self, cx: &Context) -> Result<(), DeviceError> {
        if self.busy {
            cx.wait_event(self.event, "waiting for a copy")?;
            self.busy = false;
        }
        Ok(())
    }

    /// Queues a copy between the block and the device, with the event behind it.
    fn copy(&mut self, stream: &Stream, part: &CopyBlock<'_>, up: bool) -> Result<(), DeviceError> {
        let (bytes, event) = (self.bytes.cast::<c_void>(), self.event);
        let memory = part.view.memory();
        let touch = if up { Touch::writes(memory) } else { Touch::reads(memory) };
        stream.submit(DriverCall::immediate(part.step), &[touch], |raw| {
            self.busy = true;
            // SAFETY: the block holds the part, which its owner made no longer; the view's memory lives
            // until the copy is done, and no thread touches the block before its event.
            unsafe {
                let (at, len) = (part.view.ptr(), part.view.len());
                let copied = match up {
                    true => sys::cuMemcpyHtoDAsync_v2(at, bytes, len, raw),
                    false => sys::cuMemcpyDtoHAsync_v2(bytes, at, len, raw),
                };
                if copied != sys::CUresult::CUDA_SUCCESS {
                    return copied;
                }
                sys::cuEventRecord(event, raw)
            }
        })
    }
}

/// A part of a copy, at most a block long.
struct CopyBlock<'a> {
    step: &'static str,
    view: View<'a, u8>,
}

/// A pair that goes back when the copy is over.
struct Taken<'a> {
    staging: &'a Staging,
    cx: &'a Context,
    pair: Option<Pair>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(pair) = self.pair.take() {
            lock(&self.staging.0).pairs.push(pair);
        }
    }
}

/// A small block that goes back when the download is over.
struct Small<'a> {
    staging: &'a Staging,
    cx: &'a Context,
    block: Option<Block>,
}

impl Small<'_> {
    /// Downloads at most `STAGED_BYTES_MIN` bytes. The stream is locked while the copy is queued, and not until it is
    /// done.
    fn download(
        &mut self,
        stream: &Stream,
        part: &CopyBlock<'_>,
        host: &mut [u8],
    ) -> Result<(), DeviceError> {
        let Some(block) = &mut self.block else { return Ok(()) };
        block.idle(self.cx)?;
        block.copy(stream, part, false)?;
        stream.wait_event(block.event, part.step)?;
        block.busy = false;
        // SAFETY: the block is no shorter than the part, which its copy has written and no call uses.
        unsafe { block.bytes.copy_to_nonoverlapping(host.as_mut_ptr(), host.len()) };
        Ok(())
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            lock(&self.staging.0).small.push(block);
        }
    }
}

/// Copies `host` to the device. The host's bytes are read before this returns; the device has them
/// in the stream's order.
pub(crate) fn upload<T: Pod>(
    stream: &Arc<Stream>,
    dst: &ViewMut<'_, T>,
    host: &[T],
) -> Result<(), DeviceError> {
    const STEP: &str = "an upload";
    let (view, host) = (dst.shared().raw(), bytemuck::cast_slice::<T, u8>(host));
    if host.is_empty() {
        return stream.cx.health.check();
    }
    if host.len() >= STAGED_BYTES_MIN
        && let Some(mut taken) = stream.cx.staging.take(&stream.cx)?
    {
        return taken.upload(stream, view, host, STEP);
    }
    stream.submit(DriverCall::immediate(STEP), &[Touch::writes(view.memory())], |raw| {
        // SAFETY: both sides have `host.len()` bytes. From memory that is not pinned the driver
        // copies to its own before it returns.
        unsafe { sys::cuMemcpyHtoDAsync_v2(view.ptr(), host.as_ptr().cast(), host.len(), raw) }
    })
}

/// Copies from the device to `host` and waits for it.
pub(crate) fn download<T: Pod>(
    stream: &Arc<Stream>,
    src: View<'_, T>,
    host: &mut [T],
) -> Result<(), DeviceError> {
    const STEP: &str = "a download";
    let (view, host) = (src.raw(), bytemuck::cast_slice_mut::<T, u8>(host));
    if host.is_empty() {
        return stream.cx.health.check();
    }
    if host.len() >= STAGED_BYTES_MIN
        && let Some(mut taken) = stream.cx.staging.take(&stream.cx)?
    {
        return taken.download(stream, view, host, STEP);
    }
    if host.len() < STAGED_BYTES_MIN
        && let Some(mut small) = stream.cx.staging.take_small(&stream.cx)?
    {
        return small.download(stream, &CopyBlock { step: STEP, view }, host);
    }
    stream.submit(DriverCall::immediate(STEP), &[Touch::reads(view.memory())], |raw| {
        // SAFETY: both sides have `host.len()` bytes, and `host` stays borrowed until the wait
        // below.
        unsafe { sys::cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), view.ptr(), host.len(), raw) }
    })?;
    stream.sync(STEP)
}

impl Taken<'_> {
    fn block(&mut self, number: usize) -> Option<&mut Block> {
        self.pair.as_mut().map(|pair| &mut pair.0[number % 2])
    }

    fn upload(
        &mut self,
        stream: &Arc<Stream>,
        view: View<'_, u8>,
        host: &[u8],
        step: &'static str,
    ) -> Result<(), DeviceError> {
        let cx = self.cx;
        for (at, bytes) in host.chunks(BLOCK_BYTES).enumerate() {
            let Some(block) = self.block(at) else { break };
            block.idle(cx)?;
            // SAFETY: the block holds `BLOCK_BYTES`, at least as many as the chunk, and is idle.
            unsafe { block.bytes.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            let start = at * BLOCK_BYTES;
            let part = CopyBlock { step, view: view.slice(start..start + bytes.len()) };
            block.copy(stream, &part, true)?;
        }
        Ok(())
    }

    fn download(
        &mut self,
        stream: &Arc<Stream>,
        view: View<'_, u8>,
        host: &mut [u8],
        step: &'static str,
    ) -> Result<(), DeviceError> {
        let cx = self.cx;
        let parts = host.len().div_ceil(BLOCK_BYTES);
        let range = |at: usize, len: usize| at * BLOCK_BYTES..((at + 1) * BLOCK_BYTES).min(len);
        for at in 0..=parts {
            if at < parts {
                let part = CopyBlock { step, view: view.slice(range(at, host.len())) };
                let Some(block) = self.block(at) else { break };
                block.idle(cx)?;
                block.copy(stream, &part, false)?;
            }
            if at > 0 {
                let len = host.len();
                let bytes = &mut host[range(at - 1, len)];
                let Some(block) = self.block(at - 1) else { break };
                block.idle(cx)?;
                // SAFETY: the block holds the bytes of this part, which its copy has written, and
                // is idle.
                let from = unsafe { std::slice::from_raw_parts(block.bytes, bytes.len()) };
                // Several threads: the pages of the host's side are often new, and making them takes
                // longer than the copy.
                let parts = bytes.par_chunks_mut(COPY_BYTES).zip(from.par_chunks(COPY_BYTES));
                parts.for_each(|(to, from)| to.copy_from_slice(from));
            }
        }
        Ok(())
    }
}
