//! Launches. The typed ones in `kernels` are generated; they reach the driver through [`Launch`].

use std::ffi::c_void;

use bytemuck::Pod;
use cudarc::driver::sys;

use super::Gpu;
use super::error::DeviceError;
use super::memory::{View, ViewMut};
use super::order::Touch;
use super::stream::DriverCall;

/// Blocks that a covering grid holds at most, as a multiple of what the device runs at once: enough
/// to even out blocks of different length, few enough that a thread of a grid-stride loop has work.
const WAVES_MAX: usize = 8;

/// A kernel of the compiled-in modules.
pub(crate) struct Kernel {
    pub(crate) module: &'static str,
    pub(crate) name: &'static str,
    threads_max: u32,
}

impl Kernel {
    /// The kernel `name` of the family `module`, whose blocks have at most `threads_max` threads.
    pub(crate) const fn new(module: &'static str, name: &'static str, threads_max: u32) -> Self {
        Self { module, name, threads_max }
    }
}

/// How many blocks of how many threads, with how many bytes of dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks, at least 1.
    pub blocks: u32,
    /// Threads of a block, a multiple of 32.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

impl Grid {
    /// Exactly these blocks.
    #[must_use]
    pub const fn blocks(blocks: u32, threads: u32) -> Self {
        Self { blocks, threads, shared: 0 }
    }

    /// A thread an item, in as many blocks as fill the device several times over and no more; the
    /// kernel strides over the rest.
    #[must_use]
    pub fn cover(gpu: &Gpu, items: usize, threads: u32) -> Self {
        let info = gpu.info();
        let resident = (info.max_threads_per_sm / threads.max(1)).max(1) as usize;
        let blocks_max = info.sm_count as usize * resident * WAVES_MAX;
        let blocks = items.div_ceil(threads.max(1) as usize).clamp(1, blocks_max);
        Self::blocks(u32::try_from(blocks).unwrap_or(u32::MAX >> 1), threads)
    }

    /// A warp a row; otherwise as [`Self::cover`].
    #[must_use]
    pub fn warps(gpu: &Gpu, rows: usize, threads: u32) -> Self {
        Self::cover(gpu, rows.saturating_mul(32), threads)
    }

    /// The same with dynamic shared memory.
    #[must_use]
    pub const fn with_shared(self, bytes: u32) -> Self {
        Self { shared: bytes, ..self }
    }
}

/// A launch being put together. The first length that does not suffice is kept for [`Self::run`].
pub(crate) struct Launch<'a, const N: usize> {
    kernel: &'static Kernel,
    /// Each value in the low bytes of a word; the driver reads as many as the parameter has.
    values: [u64; N],
    touched: [Option<Touch<'a>>; N],
    count: usize,
    shared: u64,
    error: Option<DeviceError>,
}

impl<'a, const N: usize> Launch<'a, N> {
    pub(crate) const fn new(kernel: &'static Kernel) -> Self {
        Self { kernel, values: [0; N], touched: [None; N], count: 0, shared: 0, error: None }
    }

    fn push(mut self, value: u64, touch: Option<Touch<'a>>) -> Self {
        assert!(self.count < N, "{} has {N} parameters", self.kernel.name);
        self.values[self.count] = value;
        self.touched[self.count] = touch;
        self.count += 1;
        self
    }

    /// The next parameter, a number of at most 8 bytes.
    pub(crate) fn scalar<T: Pod>(self, value: T) -> Self {
        let bytes = bytemuck::bytes_of(&value);
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        self.push(u64::from_ne_bytes(word), None)
    }

    /// The next parameter, an array that is read, of at least `need` values.
    pub(crate) fn input<T>(
        mut self,
        param: &'static str,
        view: View<'a, T>,
        need: Option<u64>,
    ) -> Self {
        self.demand(param, view.len() as u64, need.unwrap_or(0));
        self.push(view.ptr(), Some(Touch::reads(view.memory())))
    }

    /// The next parameter, an array that is written, of at least `need` values.
    pub(crate) fn output<T>(
        mut self,
        param: &'static str,
        view: ViewMut<'a, T>,
        need: Option<u64>,
    ) -> Self {
        let view = view.shared();
        self.demand(param, view.len() as u64, need.unwrap_or(0));
        self.push(view.ptr(), Some(Touch::writes(view.memory())))
    }

    /// States the bytes of dynamic shared memory that the kernel needs at least.
    #[allow(dead_code, reason = "generated for kernels with dynamic shared memory")]
    pub(crate) const fn shared(mut self, bytes: u64) -> Self {
        self.shared = bytes;
        self
    }

    fn demand(&mut self, param: &'static str, len: u64, need: u64) {
        if len < need && self.error.is_none() {
            let kernel = self.kernel.name;
            self.error = Some(DeviceError::Length { kernel, param, len, need });
        }
    }

    /// Queues the kernel.
    ///
    /// # Safety
    /// The values pushed are the kernel's parameters, in their order and with their types.
    pub(crate) unsafe fn run(mut self, gpu: &Gpu, grid: Grid) -> Result<(), DeviceError> {
        assert!(self.count == N, "{} has {N} parameters", self.kernel.name);
        self.demand("shared", u64::from(grid.shared), self.shared);
        if let Some(error) = self.error {
            return Err(error);
        }
        let Grid { blocks, threads, shared } = grid;
        let Kernel { name, threads_max, .. } = *self.kernel;
        let threads_right = threads > 0 && threads <= threads_max && threads.is_multiple_of(32);
        if !threads_right || blocks == 0 || blocks > i32::MAX as u32 {
            return Err(DeviceError::Grid { kernel: name, blocks, threads, threads_max });
        }
        let stream = gpu.stream_of();
        let function = stream.cx.function(self.kernel)?;
        let mut touched: Vec<Touch<'_>> = Vec::with_capacity(N);
        touched.extend(self.touched.iter().flatten());
        let mut pointers = self.values.each_mut().map(|v| std::ptr::from_mut(v).cast::<c_void>());
        let step = DriverCall { name, recordable: true, function: Some(&function) };
        let launched = stream.submit(step, &touched, |raw| {
            // SAFETY: the caller's promise; the driver copies the values before it returns. The
            // arrays live until the kernel is over, for `submit` orders their release behind it.
            unsafe {
                sys::cuLaunchKernel(
                    function.raw,
                    blocks,
                    1,
                    1,
                    threads,
                    1,
                    1,
                    shared,
                    raw,
                    pointers.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            }
        });
        launched.map_err(|e| match e {
            DeviceError::Driver { code, .. } => {
                DeviceError::Launch { kernel: name, blocks, threads, status: code }
            }
            other => other,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    static KERNEL: Kernel = Kernel::new("test", "test_kernel", 256);

    #[test]
    fn numbers_lie_in_the_low_bytes_of_their_words() {
        let launch = Launch::<5>::new(&KERNEL)
            .scalar(7_u32)
            .scalar(-1_i32)
            .scalar(1.5_f64)
            .scalar(1.5_f32)
            .scalar(u64::MAX);
        let low = u64::from(u32::MAX);
        let f32_bits = u64::from(1.5_f32.to_bits());
        assert_eq!(launch.values, [7, low, 1.5_f64.to_bits(), f32_bits, u64::MAX]);
    }

    #[test]
    fn the_first_length_that_does_not_suffice_is_kept() {
        let mut launch = Launch::<0>::new(&KERNEL);
        launch.demand("long", 5, 5);
        assert_eq!(launch.error, None);
        launch.demand("short", 4, 5);
        launch.demand("shorter", 3, 5);
        let kernel = "test_kernel";
        let want = DeviceError::Length { kernel, param: "short", len: 4, need: 5 };
        assert_eq!(launch.error, Some(want));
    }
}
