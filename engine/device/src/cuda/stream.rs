//! A queue of the device. All work goes through [`Stream::submit`], which keeps the order between
//! streams and the rules of a recording.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use cudarc::driver::sys;
use graphlume_types::Reservation;

use super::context::Context;
use super::error::{DeviceError, Status};
use super::lock;
use super::memory::Memory;
use super::module::Function;

/// How long a wait asks again and again before it sleeps: most reads of a count are over by then.
const POLL: Duration = Duration::from_micros(60);

/// A non-blocking CUDA stream.
pub(crate) struct Stream {
    pub(crate) cx: Arc<Context>,
    raw: sys::CUstream,
    /// Recorded behind the work that is waited for, on the host or in another stream.
    done: sys::CUevent,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    recording: Option<Recording>,
    last_kernel: Option<&'static str>,
}

/// What a recording has touched so far; the replay keeps it alive.
pub(crate) struct Recording {
    thread: ThreadId,
    pub(crate) memory: Vec<Arc<Memory>>,
    pub(crate) kernels: Vec<Arc<Function>>,
    /// Memory dropped meanwhile: freeing it at once would become part of the recording.
    dropped: Vec<(sys::CUdeviceptr, Option<Reservation>)>,
}

/// A call to the driver and what it is called in messages.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    pub(crate) name: &'static str,
    /// Whether it may become part of a replay.
    pub(crate) recordable: bool,
    /// The kernel, when it launches one.
    pub(crate) function: Option<&'a Arc<Function>>,
}

impl Step<'_> {
    /// A call that can be recorded.
    pub(crate) const fn recordable(name: &'static str) -> Self {
        Self { name, recordable: true, function: None }
    }

    /// A call that is refused while the stream records.
    pub(crate) const fn immediate(name: &'static str) -> Self {
        Self { name, recordable: false, function: None }
    }
}

// SAFETY: a stream and an event may be used from any thread; the driver serialises the calls.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    pub(crate) fn new(cx: &Arc<Context>) -> Result<Arc<Self>, DeviceError> {
        let done = cx.new_event(false)?;
        let mut raw = std::ptr::null_mut();
        let kind = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: writes one handle through a valid pointer.
        let made = unsafe { sys::cuStreamCreate(&mut raw, kind) };
        if let Err(e) = cx.check("creating a stream", made) {
            cx.drop_event(done);
            return Err(e);
        }
        Ok(Arc::new(Self { cx: cx.clone(), raw, done, state: Mutex::default() }))
    }

    /// Enqueues `call`, which uses the memory in `touched`.
    ///
    /// Memory whose home is another stream is safe to use: this stream first waits for what the
    /// other one has queued, and the other one then waits for this call before anything queued
    /// later, the release of the memory included.
    pub(crate) fn submit(
        &self,
        step: Step<'_>,
        touched: &[&Arc<Memory>],
        call: impl FnOnce(sys::CUstream) -> sys::CUresult,
    ) -> Result<(), DeviceError> {
        self.cx.enter()?;
        if touched.iter().any(|m| !Arc::ptr_eq(&m.home.cx, &self.cx)) {
            return Err(DeviceError::OtherDevice { step: step.name });
        }
        let mut state = self.turn(step)?;
        if let Some(recording) = &mut state.recording {
            recording.keep(touched);
            return self.run(&mut state, step, call);
        }
        let homes = self.other_homes(touched);
        if homes.is_empty() {
            return self.run(&mut state, step, call);
        }
        drop(state);
        for home in &homes {
            home.mark(step)?;
        }
        let mut state = self.turn(step)?;
        for home in &homes {
            // SAFETY: both handles live; the event was recorded above, outside any recording.
            let waits = unsafe { sys::cuStreamWaitEvent(self.raw, home.done, 0) };
            self.cx.check("waiting for another stream", waits)?;
        }
        self.run(&mut state, step, call)?;
        drop(state);
        self.mark(step)?;
        homes.iter().try_for_each(|home| home.follow(self))
    }

    /// The stream's lock, if the step may be taken now.
    fn turn(&self, step: Step<'_>) -> Result<MutexGuard<'_, State>, DeviceError> {
        let state = lock(&self.state);
        if let Some(recording) = &state.recording
            && (!step.recordable || recording.thread != std::thread::current().id())
        {
            return Err(DeviceError::Recording { step: step.name });
        }
        Ok(state)
    }

    fn run(
        &self,
        state: &mut State,
        step: Step<'_>,
        call: impl FnOnce(sys::CUstream) -> sys::CUresult,
    ) -> Result<(), DeviceError> {
        let last = state.last_kernel;
        if let Some(function) = step.function {
            state.last_kernel = Some(function.name);
        }
        self.cx.judge(step.name, last, call(self.raw).into())?;
        match (step.function, &mut state.recording) {
            (Some(function), Some(recording)) => recording.kernels.push(function.clone()),
            (Some(function), None) => _ = function.launches.fetch_add(1, Ordering::Relaxed),
            (None, _) => {}
        }
        Ok(())
    }

    /// The streams that own `touched` memory, this one left out.
    fn other_homes<'a>(&self, touched: &[&'a Arc<Memory>]) -> Vec<&'a Arc<Self>> {
        let mut homes: Vec<&Arc<Self>> = Vec::new();
        for memory in touched.iter().filter(|m| m.bytes > 0) {
            let home = &memory.home;
            let known =
                std::ptr::eq(Arc::as_ptr(home), self) || homes.iter().any(|h| Arc::ptr_eq(h, home));
            if !known {
                homes.push(home);
            }
        }
        homes
    }

    /// Records `done` behind everything queued so far.
    fn mark(&self, step: Step<'_>) -> Result<(), DeviceError> {
        let state = lock(&self.state);
        if state.recording.is_some() {
            return Err(DeviceError::Recording { step: step.name });
        }
        // SAFETY: both handles live.
        let marked = unsafe { sys::cuEventRecord(self.done, self.raw) };
        self.cx.judge(step.name, state.last_kernel, marked.into())
    }

    /// Orders whatever is queued here from now on behind what `other` has marked.
    fn follow(&self, other: &Self) -> Result<(), DeviceError> {
        {
            let state = lock(&self.state);
            if state.recording.is_none() {
                // SAFETY: both handles live; the event was recorded by the caller.
                let waits = unsafe { sys::cuStreamWaitEvent(self.raw, other.done, 0) };
                return self.cx.check("waiting for another stream", waits);
            }
        }
        // Another thread began to record here meanwhile; a recording must not wait for work outside
        // of it.
        self.cx.wait_event(other.done, "waiting for another stream")
    }

    /// Waits until everything queued so far is done; its failure, if any, is answered.
    pub(crate) fn sync(&self, step: &'static str) -> Result<(), DeviceError> {
        self.cx.enter()?;
        self.mark(Step::immediate(step))?;
        let waited = self.cx.poll_event(self.done, POLL);
        let last = lock(&self.state).last_kernel;
        self.cx.judge(step, last, waited)
    }

    /// As [`Self::sync`], for at most `patience`.
    pub(crate) fn sync_within(
        &self,
        step: &'static str,
        patience: Duration,
    ) -> Result<(), DeviceError> {
        self.cx.enter()?;
        self.mark(Step::immediate(step))?;
        let start = Instant::now();
        loop {
            // SAFETY: the event lives as long as `self`.
            let status = Status::from(unsafe { sys::cuEventQuery(self.done) });
            if status != Status::NOT_READY {
                let last = lock(&self.state).last_kernel;
                return self.cx.judge(step, last, status);
            }
            if start.elapsed() >= patience {
                let millis = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
                return Err(DeviceError::Timeout { step, millis });
            }
            std::thread::sleep(POLL);
        }
    }

    /// Allocates from the device's pool in this stream's order.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<sys::CUdeviceptr, DeviceError> {
        self.cx.enter()?;
        let mut pointer = 0;
        let pooled = self.cx.pool.is_some();
        let mut state = self.turn(Step::immediate("an allocation"))?;
        self.run(&mut state, Step::immediate("an allocation"), |raw| {
            // SAFETY: writes one address through a valid pointer.
            unsafe {
                match pooled {
                    true => sys::cuMemAllocAsync(&mut pointer, bytes, raw),
                    false => sys::cuMemAlloc_v2(&mut pointer, bytes),
                }
            }
        })?;
        Ok(pointer)
    }

    /// Waits for this stream and makes the pool give back what it keeps.
    pub(crate) fn trim(&self) -> Result<(), DeviceError> {
        let Some(pool) = self.cx.pool else { return Ok(()) };
        self.sync("making room")?;
        // SAFETY: the pool is the device's own and lives with the context.
        let trimmed = unsafe { sys::cuMemPoolTrimTo(pool, 0) };
        self.cx.check("making room", trimmed)
    }

    /// Gives memory back behind everything queued so far. `paid` is released here, or after the
    /// recording.
    pub(crate) fn release(&self, pointer: sys::CUdeviceptr, paid: Option<Reservation>) {
        if self.cx.enter().is_err() {
            return;
        }
        let mut state = lock(&self.state);
        if let Some(recording) = &mut state.recording {
            recording.dropped.push((pointer, paid));
            return;
        }
        // SAFETY: the address came from `allocate`, and its only owner is being dropped. Without a
        // pool the release is not ordered, so the work that may use the memory is waited for.
        let freed = unsafe {
            match self.cx.pool {
                Some(_) => sys::cuMemFreeAsync(pointer, self.raw),
                None => {
                    sys::cuStreamSynchronize(self.raw);
                    sys::cuMemFree_v2(pointer)
                }
            }
        };
        // An answer that condemns the context is remembered by `judge`; no caller is left to be told
        // another.
        self.cx.judge("freeing memory", state.last_kernel, freed.into()).ok();
    }

    /// Starts a recording by the calling thread.
    pub(crate) fn begin_recording(&self) -> Result<(), DeviceError> {
        self.cx.enter()?;
        let mut state = self.turn(Step::immediate("beginning a recording"))?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream lives and records nothing.
        let begun = unsafe { sys::cuStreamBeginCapture_v2(self.raw, mode) };
        self.cx.judge("beginning a recording", state.last_kernel, begun.into())?;
        state.recording = Some(Recording {
            thread: std::thread::current().id(),
            memory: Vec::new(),
            kernels: Vec::new(),
            dropped: Vec::new(),
        });
        Ok(())
    }

    /// Ends the recording. The graph is the caller's to destroy; null when the driver gave none up.
    pub(crate) fn end_recording(&self) -> (Option<Recording>, Result<sys::CUgraph, DeviceError>) {
        let mut graph = std::ptr::null_mut();
        let mut state = lock(&self.state);
        let ended = self.cx.enter().and_then(|()| {
            // SAFETY: writes one handle; the stream records since `begin_recording`.
            let ended = unsafe { sys::cuStreamEndCapture(self.raw, &mut graph) };
            self.cx.judge("ending a recording", state.last_kernel, ended.into())
        });
        let mut recording = state.recording.take();
        drop(state);
        for (pointer, paid) in recording.iter_mut().flat_map(|r| r.dropped.drain(..)) {
            self.release(pointer, paid);
        }
        (recording, ended.map(|()| graph))
    }
}

impl Recording {
    fn keep(&mut self, touched: &[&Arc<Memory>]) {
        for memory in touched.iter().filter(|m| m.bytes > 0) {
            if !self.memory.iter().any(|m| Arc::ptr_eq(m, memory)) {
                self.memory.push(Arc::clone(memory));
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.cx.enter().is_err() {
            return;
        }
        // SAFETY: this is the only owner of the stream; the driver finishes what is queued before it goes.
        unsafe { sys::cuStreamDestroy_v2(self.raw) };
        self.cx.drop_event(self.done);
    }
}

/// Events, which belong to a context and to no stream.
impl Context {
    /// A new event; `timed` ones can be measured, the others sleep when waited for.
    pub(crate) fn new_event(&self, timed: bool) -> Result<sys::CUevent, DeviceError> {
        self.enter()?;
        use sys::CUevent_flags as Flags;
        let flags = match timed {
            true => Flags::CU_EVENT_DEFAULT as u32,
            false => Flags::CU_EVENT_BLOCKING_SYNC as u32 | Flags::CU_EVENT_DISABLE_TIMING as u32,
        };
        let mut event = std::ptr::null_mut();
        // SAFETY: writes one handle through a valid pointer.
        let made = unsafe { sys::cuEventCreate(&mut event, flags) };
        self.check("creating an event", made)?;
        Ok(event)
    }

    /// Destroys an event that is no longer used.
    pub(crate) fn drop_event(&self, event: sys::CUevent) {
        if self.enter().is_ok() {
            // SAFETY: made by `new_event`, given up by its only owner.
            unsafe { sys::cuEventDestroy_v2(event) };
        }
    }

    /// Waits for an event, asking for a short while before sleeping.
    pub(crate) fn wait_event(
        &self,
        event: sys::CUevent,
        step: &'static str,
    ) -> Result<(), DeviceError> {
        self.enter()?;
        let status = self.poll_event(event, POLL);
        self.judge(step, None, status)
    }

    fn poll_event(&self, event: sys::CUevent, patience: Duration) -> Status {
        let start = Instant::now();
        loop {
            // SAFETY: the event lives: the thread that waits holds its owner.
            let status = Status::from(unsafe { sys::cuEventQuery(event) });
            if status != Status::NOT_READY {
                return status;
            }
            if start.elapsed() >= patience {
                // SAFETY: as above.
                return unsafe { sys::cuEventSynchronize(event) }.into();
            }
            std::hint::spin_loop();
        }
    }
}
