//! Recorded sequences of launches, replayed with one call to the driver.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cudarc::driver::sys;

use super::Gpu;
use super::error::DeviceError;
use super::memory::Memory;
use super::module::Function;
use super::order::Touch;
use super::stream::{DriverCall, Stream};

/// What [`Gpu::record`](Gpu::capture) recorded: kernels, copies and fills, in their order.
///
/// **Ownership.** A replay keeps the memory that it uses alive by itself, so it has no lifetime and
/// can sit in one struct with its [`super::Buf`]s, in any field order. The `Buf`s stay usable
/// meanwhile: reading or writing them between two replays is ordered by the stream. It uses the
/// *memory* that the recorded calls named, not the variables: after `std::mem::swap(&mut a, &mut
/// b)` a replay still does what it did. So record an even number of ping-pong rounds, or end the
/// recording with a copy. Numbers passed to kernels are fixed at recording; put those that change
/// into a small `Buf` and write it between replays.
pub struct Replay {
    stream: Arc<Stream>,
    graph: sys::CUgraphExec,
    /// With whether it is written.
    memory: Vec<(Arc<Memory>, bool)>,
    kernels: Vec<Arc<Function>>,
}

// SAFETY: an executable graph may be launched from any thread; the stream's lock serialises the
// launches.
unsafe impl Send for Replay {}
// SAFETY: as above.
unsafe impl Sync for Replay {}

impl Replay {
    /// Queues everything recorded once more, on the stream of the handle that recorded it.
    ///
    /// # Errors
    /// [`DeviceError::Recording`] inside another recording, [`DeviceError::Lost`], or what the
    /// driver says.
    pub fn launch(&self) -> Result<(), DeviceError> {
        let touched: Vec<Touch<'_>> =
            self.memory.iter().map(|(memory, writes)| Touch { memory, writes: *writes }).collect();
        self.stream.submit(DriverCall::immediate("a replay"), &touched, |raw| {
            // SAFETY: the graph lives as long as `self`, and the memory it uses too.
            unsafe { sys::cuGraphLaunch(self.graph, raw) }
        })?;
        for kernel in &self.kernels {
            kernel.launches.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Number of kernels in it.
    #[must_use]
    pub const fn kernels(&self) -> usize {
        self.kernels.len()
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        if self.stream.cx.enter().is_ok() {
            // SAFETY: made by `capture`, given up by its only owner. The driver lets a running
            // launch finish, and the memory is freed behind it in the order of its stream.
            unsafe { sys::cuGraphExecDestroy(self.graph) };
        }
    }
}

/// Ends the recording also when `record` panics, so that the stream can be used again.
struct Open<'a>(Option<&'a Stream>);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.0.take()
            && let (_, Ok(graph)) = stream.end_recording()
        {
            destroy(graph);
        }
    }
}

fn destroy(graph: sys::CUgraph) {
    if !graph.is_null() {
        // SAFETY: `end_recording` gave it up and nothing else holds it.
        unsafe { sys::cuGraphDestroy(graph) };
    }
}

impl Gpu {
    /// Records what `record` launches, copies and fills on this handle's stream, without running
    /// it.
    ///
    /// Inside, this handle and its clones refuse to allocate, read, write from the host, wait and
    /// measure, as they do from other threads meanwhile; launches on handles with another stream
    /// run at once and are not recorded, and a buffer of this stream cannot be used there. Memory
    /// dropped inside is freed when the recording ends. The kernels must be loaded before, by a
    /// launch, [`Self::load_family`] or [`Self::load_kernels`].
    ///
    /// # Errors
    /// Those of `record`, [`DeviceError::Recording`] when the stream records already, or what the
    /// driver says.
    pub fn capture(
        &self,
        record: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<Replay, DeviceError> {
        let stream = self.stream_of();
        stream.begin_recording()?;
        let mut open = Open(Some(stream));
        let recorded = record();
        open.0 = None;
        let (recording, graph) = stream.end_recording();
        let graph = match (recorded, graph) {
            (Ok(()), Ok(graph)) if !graph.is_null() => graph,
            (Ok(()), Ok(_)) => {
                let code = super::Status::NOT_FOUND;
                return Err(DeviceError::Driver { step: "ending a recording", code });
            }
            (Err(e), Ok(graph)) => {
                destroy(graph);
                return Err(e);
            }
            (Err(e), Err(_)) | (Ok(()), Err(e)) => return Err(e),
        };
        let mut exec = std::ptr::null_mut();
        // SAFETY: writes one handle; the graph was made by this recording.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0) };
        destroy(graph);
        stream.cx.check("preparing a replay", made)?;
        let (memory, kernels) = recording.map_or_else(Default::default, |r| (r.memory, r.kernels));
        Ok(Replay { stream: stream.clone(), graph: exec, memory, kernels })
    }
}
