//! Time on the device.

use std::sync::Arc;

use cudarc::driver::sys;

use super::Gpu;
use super::error::DeviceError;
use super::stream::{DriverCall, Stream};

/// Measures the work of a stream between two points, by the device's own clock.
pub struct Timer {
    stream: Arc<Stream>,
    start: sys::CUevent,
    end: sys::CUevent,
}

// SAFETY: events may be used from any thread; the driver serialises the calls.
unsafe impl Send for Timer {}

impl Gpu {
    /// Starts to measure behind everything queued so far on this handle's stream.
    ///
    /// # Errors
    /// [`DeviceError::Recording`], [`DeviceError::Lost`], or what the driver says.
    pub fn timer(&self) -> Result<Timer, DeviceError> {
        let stream = self.stream_of().clone();
        let start = stream.cx.new_event(true)?;
        let end = stream.cx.new_event(true).inspect_err(|_| stream.cx.drop_event(start))?;
        let timer = Timer { stream, start, end };
        timer.stamp(timer.start)?;
        Ok(timer)
    }
}

impl Timer {
    fn stamp(&self, event: sys::CUevent) -> Result<(), DeviceError> {
        self.stream.submit(DriverCall::immediate("a time stamp"), &[], |raw| {
            // SAFETY: both handles live as long as `self`.
            unsafe { sys::cuEventRecord(event, raw) }
        })
    }

    /// Milliseconds that the stream took for what was queued since the start; waits for it. Can be
    /// asked again, always from the same start.
    ///
    /// # Errors
    /// [`DeviceError::Recording`], [`DeviceError::Lost`], or what the driver says.
    pub fn elapsed_ms(&mut self) -> Result<f32, DeviceError> {
        self.stamp(self.end)?;
        self.stream.sync("measuring")?;
        let mut millis = 0.0;
        // SAFETY: both events are recorded and over, for the stream was waited for.
        let got = unsafe { sys::cuEventElapsedTime(&mut millis, self.start, self.end) };
        self.stream.cx.check("measuring", got)?;
        Ok(millis)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.stream.cx.drop_event(self.start);
        self.stream.cx.drop_event(self.end);
    }
}
