//! A known answer, asked of every multiprocessor.

use std::time::Duration;

use graphlume_types::hash::h64;

use super::error::DeviceError;
use super::kernels::canary_answer;
use super::{Buf, Gpu, Grid, lock};

/// Threads of the kernel's blocks, and numbers that a block hashes.
const THREADS: usize = 256;
const NUMBERS: u64 = 4096;
/// How long an answer is waited for. The work itself takes well under a millisecond; the rest is
/// room for kernels that are running.
const PATIENCE: Duration = Duration::from_millis(200);

/// What the canary needs, kept between calls: it must sing on a full device too.
pub(crate) struct Canary {
    /// Its own stream, so that it does not queue behind the work it watches.
    gpu: Gpu,
    answers: Buf<u32>,
    salt: u32,
}

impl Gpu {
    /// Runs a small kernel whose answer is known on every multiprocessor, on a stream of its own,
    /// and compares. The first call also allocates and loads the kernel; make it when the server
    /// starts.
    ///
    /// A wrong answer makes the device [`super::GpuState::Suspect`], a second one in a row
    /// [`super::GpuState::Lost`], a right one [`super::GpuState::Ready`] again.
    ///
    /// # Errors
    /// [`DeviceError::Canary`], [`DeviceError::Timeout`] when the device is too busy to answer,
    /// [`DeviceError::Lost`], and at the first call those of [`Self::alloc`].
    pub fn canary(&self) -> Result<(), DeviceError> {
        let mut nest = lock(&self.shared.canary);
        let canary = match &mut *nest {
            Some(canary) => canary,
            none => none.insert(Canary::new(self)?),
        };
        let (got, want) = canary.sing()?;
        let health = &self.stream_of().cx.health;
        if got == want {
            health.trust();
            return Ok(());
        }
        health.doubt(format!("the canary answered {got:#010x} instead of {want:#010x}"));
        health.check()?;
        Err(DeviceError::Canary { got, want })
    }
}

impl Canary {
    fn new(gpu: &Gpu) -> Result<Self, DeviceError> {
        // A handle of its own and not a clone: what it shares must not hold the canary in turn.
        let gpu = gpu.detached()?;
        let answers = gpu.zeros("the canary", gpu.info().sm_count as usize)?;
        Ok(Self { gpu, answers, salt: 0 })
    }

    /// The first answer that is not the right one, if any, and the right one.
    fn sing(&mut self) -> Result<(u32, u32), DeviceError> {
        self.salt = self.salt.wrapping_add(1);
        let blocks = u32::try_from(self.answers.len()).unwrap_or(1);
        let grid = Grid::blocks(blocks, THREADS as u32);
        canary_answer(&self.gpu, grid, self.salt, self.answers.view_mut())?;
        self.gpu.stream_of().sync_within("the canary", PATIENCE)?;
        let got = self.gpu.read(self.answers.view())?;
        let want = answer(self.salt);
        Ok((got.into_iter().find(|a| *a != want).unwrap_or(want), want))
    }
}

/// What every block answers.
fn answer(salt: u32) -> u32 {
    let mut part = [0_u32; THREADS];
    for i in 0..NUMBERS {
        let sum = &mut part[i as usize % THREADS];
        *sum = sum.rotate_left(5).wrapping_add((h64(u64::from(salt), 1, i) >> 32) as u32);
    }
    let sums = part;
    for (t, sum) in part.iter_mut().enumerate() {
        *sum ^= sums[t ^ 31].wrapping_mul(0x9E37_79B1);
    }
    let mut half = THREADS / 2;
    while half > 0 {
        for t in 0..half {
            part[t] = part[t].wrapping_mul(31).wrapping_add(part[t + half]);
        }
        half /= 2;
    }
    part[0]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn every_salt_has_its_own_answer() {
        let answers: std::collections::BTreeSet<u32> = (0..100).map(answer).collect();
        assert_eq!(answers.len(), 100);
    }
}
