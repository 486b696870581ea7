//! Health of the context: `Ready`, `Suspect` or, for good, `Lost`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::DeviceError;
use super::lock;

/// How far the device can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuState {
    /// It works.
    Ready,
    /// It did something that a working device does not do; [`super::Gpu::canary`] decides.
    Suspect {
        /// What was seen.
        reason: String,
    },
    /// It is dead for this process; every call answers [`DeviceError::Lost`].
    Lost {
        /// The first failure that condemned it.
        reason: String,
    },
}

/// The state machine behind [`GpuState`]. There is no way back from `Lost`.
pub(crate) struct Health {
    lost: AtomicBool,
    state: Mutex<GpuState>,
}

impl Health {
    pub(crate) const fn new() -> Self {
        Self { lost: AtomicBool::new(false), state: Mutex::new(GpuState::Ready) }
    }

    pub(crate) fn state(&self) -> GpuState {
        lock(&self.state).clone()
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Answers `Lost` without a call to the driver once the device is gone.
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        if self.is_lost() { Err(self.lost_error()) } else { Ok(()) }
    }

    fn lost_error(&self) -> DeviceError {
        match &*lock(&self.state) {
            GpuState::Lost { reason } | GpuState::Suspect { reason } => {
                DeviceError::Lost { reason: reason.clone() }
            }
            GpuState::Ready => DeviceError::Lost { reason: "for an unknown reason".to_owned() },
        }
    }

    /// Condemns the context. The first reason stays: what follows is its echo.
    pub(crate) fn lose(&self, reason: String) -> DeviceError {
        {
            let mut state = lock(&self.state);
            if !matches!(*state, GpuState::Lost { .. }) {
                *state = GpuState::Lost { reason };
            }
            self.lost.store(true, Ordering::Release);
        }
        self.lost_error()
    }

    /// Notes a wrong answer; the second one in a row condemns the context.
    pub(crate) fn doubt(&self, reason: String) {
        let again = {
            let mut state = lock(&self.state);
            match &*state {
                GpuState::Ready => {
                    *state = GpuState::Suspect { reason: reason.clone() };
                    false
                }
                GpuState::Suspect { .. } => true,
                GpuState::Lost { .. } => false,
            }
        };
        if again {
            self.lose(reason);
        }
    }

    /// A known answer came out right.
    pub(crate) fn trust(&self) {
        let mut state = lock(&self.state);
        if matches!(*state, GpuState::Suspect { .. }) {
            *state = GpuState::Ready;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_answer_is_a_doubt_and_two_are_the_end() {
        let health = Health::new();
        health.doubt("first".to_owned());
        assert_eq!(health.state(), GpuState::Suspect { reason: "first".to_owned() });
        assert_eq!(health.check(), Ok(()));
        health.trust();
        assert_eq!(health.state(), GpuState::Ready);
        health.doubt("second".to_owned());
        health.doubt("third".to_owned());
        assert_eq!(health.check(), Err(DeviceError::Lost { reason: "third".to_owned() }));
    }

    #[test]
    fn the_first_reason_stays_and_nothing_brings_a_lost_device_back() {
        let health = Health::new();
        let lost = DeviceError::Lost { reason: "first".to_owned() };
        assert_eq!(health.lose("first".to_owned()), lost);
        assert_eq!(health.lose("second".to_owned()), lost);
        health.trust();
        health.doubt("third".to_owned());
        assert_eq!(health.check(), Err(lost));
        assert!(health.is_lost());
    }
}
