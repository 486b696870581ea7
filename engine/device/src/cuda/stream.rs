//! A queue of the device. All work goes through [`Stream::submit`], which keeps the order between
//! streams and the rules of a recording.

use std::sync::atomic::{AtomicU64, Ordering};
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
use super::order::{Mark, Touch};

/// How long a wait asks again and again before it sleeps: most reads of a count are over by then.
const POLL: Duration = Duration::from_micros(60);

/// A non-blocking CUDA stream.
pub(crate) struct Stream {
    pub(crate) cx: Arc<Context>,
    raw: sys::CUstream,
    /// Tells it from the other streams of the process.
    number: u64,
    /// Recorded behind the work that is waited for, on the host or in another stream.
    done: Arc<Mark>,
    /// Recorded behind the last call that read memory of another stream.
    read: Arc<Mark>,
    state: Mutex<State>,
}

static STREAMS: AtomicU64 = AtomicU64::new(1);

#[derive(Default)]
struct State {
    /// Calls so far.
    queued: u64,
    /// How many calls of other streams this one is ordered behind.
    seen: Vec<(u64, u64)>,
    recording: Option<Recording>,
    last_kernel: Option<&'static str>,
}

/// What a recording has touched so far; the replay keeps it alive.
pub(crate) struct Recording {
    thread: ThreadId,
    /// With whether it is written.
    pub(crate) memory: Vec<(Arc<Memory>, bool)>,
    pub(crate) kernels: Vec<Arc<Function>>,
    /// Memory dropped meanwhile: freeing it at once would become part of the recording.
    dropped: Vec<Freed>,
}

/// Memory on its way back to the driver.
pub(crate) struct Freed {
    pub(crate) pointer: sys::CUdeviceptr,
    /// Released when the driver has it.
    pub(crate) paid: Option<Reservation>,
    /// What other streams still read of it.
    pub(crate) readers: Vec<(u64, Arc<Mark>)>,
}

/// A call to the driver and what it is called in messages.
#[derive(Clone, Copy)]
pub(crate) struct DriverCall<'a> {
    pub(crate) name: &'static str,
    /// Whether it may become part of a replay.
    pub(crate) recordable: bool,
    /// The kernel, when it launches one.
    pub(crate) function: Option<&'a Arc<Function>>,
}

impl DriverCall<'_> {
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
        let (done, read) = (Mark::new(cx)?, Mark::new(cx)?);
        let mut raw = std::ptr::null_mut();
        let kind = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: writes one handle through a valid pointer.
        let made = unsafe { sys::cuStreamCreate(&mut raw, kind) };
        cx.check("creating a stream", made)?;
        let number = STREAMS.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Self { cx: cx.clone(), raw, number, done, read, state: Mutex::default() }))
    }

    /// Enqueues `call`, which uses the memory in `touched`.
    ///
    /// Memory whose home is another stream is safe to use. A call that reads it first waits for what the home stream
    /// had queued when the contents last changed, once; what later changes or frees the memory waits for the call. A
    /// call that changes it waits for all that is queued on the home stream and by readers, and the home stream then
    /// waits for the call.
    pub(crate) fn submit(
        &self,
        step: DriverCall<'_>,
        touched: &[Touch<'_>],
        call: impl FnOnce(sys::CUstream) -> sys::CUresult,
    ) -> Result<(), DeviceError> {
        self.cx.enter()?;
        if touched.iter().any(|t| !Arc::ptr_eq(&t.memory.home.cx, &self.cx)) {
            return Err(DeviceError::OtherDevice { step: step.name });
        }
        let mut state = self.turn(step)?;
        if let Some(recording) = &mut state.recording {
            recording.keep(touched);
            return self.run(&mut state, step, call);
        }
        let homes = self.unseen_homes(&state, touched);
        if !homes.is_empty() {
            drop(state);
            let marked: Result<Vec<u64>, _> = homes.iter().map(|home| home.mark(step)).collect();
            let marked = marked?;
            state = self.turn(step)?;
            for (home, queued) in homes.iter().zip(marked) {
                self.wait_for(&home.done)?;
                state.saw(home.number, queued);
            }
        }
        self.wait_for_readers(touched)?;
        self.run(&mut state, step, call)?;
        self.note(state, step, touched)
    }

    /// The other streams that a call must wait for.
    fn unseen_homes<'a>(&self, state: &State, touched: &[Touch<'a>]) -> Vec<&'a Arc<Self>> {
        let mut homes: Vec<&Arc<Self>> = Vec::new();
        for Touch { memory, writes } in touched.iter().filter(|t| self.is_foreign(t.memory)) {
            let home = &memory.home;
            let unseen = *writes || state.seen_of(home.number) < memory.uses.written();
            if unseen && !homes.iter().any(|h| Arc::ptr_eq(h, home)) {
                homes.push(home);
            }
        }
        homes
    }

    fn is_foreign(&self, memory: &Memory) -> bool {
        memory.bytes > 0 && memory.home.number != self.number
    }

    /// Orders a call that changes memory behind those that read it on other streams.
    fn wait_for_readers(&self, touched: &[Touch<'_>]) -> Result<(), DeviceError> {
        let mut waited: Vec<u64> = vec![self.number];
        for touch in touched.iter().filter(|t| t.writes) {
            for (reader, mark) in touch.memory.uses.take_readers() {
                if !waited.contains(&reader) {
                    self.wait_for(&mark)?;
                    waited.push(reader);
                }
            }
        }
        Ok(())
    }

    /// Remembers what a queued call has used.
    fn note(
        &self,
        state: MutexGuard<'_, State>,
        step: DriverCall<'_>,
        touched: &[Touch<'_>],
    ) -> Result<(), DeviceError> {
        for touch in touched.iter().filter(|t| t.writes && !self.is_foreign(t.memory)) {
            touch.memory.uses.changed(state.queued);
        }
        let foreign = || touched.iter().filter(|t| self.is_foreign(t.memory));
        if foreign().any(|t| !t.writes) {
            // SAFETY: both handles live.
            let marked = unsafe { sys::cuEventRecord(self.read.event, self.raw) };
            self.cx.judge(step.name, state.last_kernel, marked.into())?;
            for touch in foreign().filter(|t| !t.writes) {
                touch.memory.uses.read_by(self.number, &self.read);
            }
        }
        drop(state);
        if foreign().any(|t| t.writes) {
            self.mark(step)?;
        }
        for touch in foreign().filter(|t| t.writes) {
            touch.memory.uses.changed(touch.memory.home.follow(self)?);
        }
        Ok(())
    }

    /// Orders whatever is queued here from now on behind what was last recorded in `mark`.
    fn wait_for(&self, mark: &Mark) -> Result<(), DeviceError> {
        // SAFETY: both handles live; the event is recorded outside of any recording.
        let waits = unsafe { sys::cuStreamWaitEvent(self.raw, mark.event, 0) };
        self.cx.check("waiting for another stream", waits)
    }

    /// The stream's lock, if the step may be taken now.
    fn turn(&self, step: DriverCall<'_>) -> Result<MutexGuard<'_, State>, DeviceError> {
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
        step: DriverCall<'_>,
        call: impl FnOnce(sys::CUstream) -> sys::CUresult,
    ) -> Result<(), DeviceError> {
        let last = state.last_kernel;
        state.queued += 1;
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

    /// Records `done` behind everything queued so far, and says how much that is.
    fn mark(&self, step: DriverCall<'_>) -> Result<u64, DeviceError> {
        let state = lock(&self.state);
        if state.recording.is_some() {
            return Err(DeviceError::Recording { step: step.name });
        }
        // SAFETY: both handles live.
        let marked = unsafe { sys::cuEventRecord(self.done.event, self.raw) };
        self.cx.judge(step.name, state.last_kernel, marked.into())?;
        Ok(state.queued)
    }

    /// Orders whatever is queued here from now on behind what `other` has marked; the number of this step.
    fn follow(&self, other: &Self) -> Result<u64, DeviceError> {
        let mut state = lock(&self.state);
        state.queued += 1;
        let queued = state.queued;
        if state.recording.is_none() {
            self.wait_for(&other.done)?;
            return Ok(queued);
        }
        drop(state);
        // Another thread began to record here meanwhile; a recording must not wait for work outside
        // of it.
        self.cx.wait_event(other.done.event, "waiting for another stream")?;
        Ok(queued)
    }

    /// Waits until everything queued so far is done; its failure, if any, is answered.
    pub(crate) fn sync(&self, step: &'static str) -> Result<(), DeviceError> {
        self.cx.enter()?;
        self.mark(DriverCall::immediate(step))?;
        let waited = self.cx.poll_event(self.done.event, POLL);
        let last = lock(&self.state).last_kernel;
        self.cx.judge(step, last, waited)
    }

    /// Waits for an event that a call on this stream has recorded.
    pub(crate) fn wait_event(
        &self,
        event: sys::CUevent,
        step: &'static str,
    ) -> Result<(), DeviceError> {
        self.cx.enter()?;
        let waited = self.cx.poll_event(event, POLL);
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
        self.mark(DriverCall::immediate(step))?;
        let start = Instant::now();
        loop {
            // SAFETY: the event lives as long as `self`.
            let status = Status::from(unsafe { sys::cuEventQuery(self.done.event) });
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

    /// Allocates from the device's pool in this stream's order; the address, and the number of the call.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<(sys::CUdeviceptr, u64), DeviceError> {
        self.cx.enter()?;
        let mut pointer = 0;
        let pooled = self.cx.pool.is_some();
        let mut state = self.turn(DriverCall::immediate("an allocation"))?;
        self.run(&mut state, DriverCall::immediate("an allocation"), |raw| {
            // SAFETY: writes one address through a valid pointer.
            unsafe {
                match pooled {
                    true => sys::cuMemAllocAsync(&mut pointer, bytes, raw),
                    false => sys::cuMemAlloc_v2(&mut pointer, bytes),
                }
            }
        })?;
        Ok((pointer, state.queued))
    }

    /// Waits for this stream and makes the pool give back what it keeps.
    pub(crate) fn trim(&self) -> Result<(), DeviceError> {
        let Some(pool) = self.cx.pool else { return Ok(()) };
        self.sync("making room")?;
        // SAFETY: the pool is the device's own and lives with the context.
        let trimmed = unsafe { sys::cuMemPoolTrimTo(pool, 0) };
        self.cx.check("making room", trimmed)
    }

    /// Gives memory back behind everything queued so far and behind its readers on other streams. What was paid for it
    /// is released here, or after the recording.
    pub(crate) fn release(&self, freed: Freed) {
        if self.cx.enter().is_err() {
            return;
        }
        let mut state = lock(&self.state);
        if let Some(recording) = &mut state.recording {
            recording.dropped.push(freed);
            return;
        }
        let Freed { pointer, paid: _until_freed, readers } = freed;
        for (_, mark) in &readers {
            // A failed wait condemns the context, and the release below is then refused.
            self.wait_for(mark).ok();
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
        let mut state = self.turn(DriverCall::immediate("beginning a recording"))?;
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
        for freed in recording.iter_mut().flat_map(|r| r.dropped.drain(..)) {
            self.release(freed);
        }
        (recording, ended.map(|()| graph))
    }
}

impl State {
    fn seen_of(&self, stream: u64) -> u64 {
        self.seen.iter().find(|(number, _)| *number == stream).map_or(0, |(_, queued)| *queued)
    }

    fn saw(&mut self, stream: u64, queued: u64) {
        match self.seen.iter_mut().find(|(number, _)| *number == stream) {
            Some((_, seen)) => *seen = queued.max(*seen),
            None => self.seen.push((stream, queued)),
        }
    }
}

impl Recording {
    fn keep(&mut self, touched: &[Touch<'_>]) {
        for Touch { memory, writes } in touched.iter().filter(|t| t.memory.bytes > 0) {
            match self.memory.iter_mut().find(|(m, _)| Arc::ptr_eq(m, memory)) {
                Some((_, written)) => *written |= writes,
                None => self.memory.push((Arc::clone(memory), *writes)),
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
