//! Device memory: owned by [`Buf`], lent as [`View`] and [`ViewMut`].

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytemuck::Pod;
use cudarc::driver::sys;
use graphlume_types::Reservation;

use super::Gpu;
use super::error::{DeviceError, Status};
use super::order::Uses;
use super::stream::{Freed, Stream};

/// What the driver rounds an allocation up to; the budget pays for the rounded size.
const GRANULE_BYTES: u64 = 512;

/// An allocation with its home stream. Dropping the last owner frees it behind everything queued
/// there.
pub(crate) struct Memory {
    pointer: sys::CUdeviceptr,
    pub(crate) bytes: usize,
    pub(crate) home: Arc<Stream>,
    pub(crate) uses: Uses,
    paid: Option<Reservation>,
}

impl Memory {
    /// Pays for `bytes` and allocates them. A driver that refuses what the budget has granted
    /// (fragments, or another process on the device) is asked once more after the pool has given
    /// back what it keeps.
    pub(crate) fn new(
        home: &Arc<Stream>,
        what: &'static str,
        bytes: Option<usize>,
    ) -> Result<Arc<Self>, DeviceError> {
        let cx = &home.cx;
        cx.health.check()?;
        let limit = cx.budget.limit();
        let need = bytes.and_then(|b| (b as u64).checked_next_multiple_of(GRANULE_BYTES));
        let (Some(bytes), Some(need)) = (bytes, need) else {
            return Err(DeviceError::TooLarge { what, need: u64::MAX, limit });
        };
        if bytes == 0 {
            let uses = Uses::default();
            return Ok(Arc::new(Self { pointer: 0, bytes, home: home.clone(), uses, paid: None }));
        }
        let paid = cx.budget.try_reserve(need).map_err(|refused| match refused.never_fits() {
            true => DeviceError::TooLarge { what, need, limit },
            false => DeviceError::OutOfMemory {
                what,
                need,
                free: limit - refused.used.min(limit),
                limit,
            },
        })?;
        let mut answer = home.allocate(bytes);
        if answer.as_ref().is_err_and(is_full) {
            cx.driver_refusals.fetch_add(1, Ordering::Relaxed);
            home.trim()?;
            answer = home.allocate(bytes);
        }
        match answer {
            Ok((pointer, queued)) => {
                let (home, uses) = (home.clone(), Uses::since(queued));
                Ok(Arc::new(Self { pointer, bytes, home, uses, paid: Some(paid) }))
            }
            Err(e) if is_full(&e) => {
                let (free, _) = cx.free_and_total()?;
                Err(DeviceError::OutOfMemory { what, need, free, limit })
            }
            Err(e) => Err(e),
        }
    }
}

/// Whether the driver had no memory.
fn is_full(error: &DeviceError) -> bool {
    matches!(error, DeviceError::Driver { code: Status::OUT_OF_MEMORY, .. })
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let (paid, readers) = (self.paid.take(), self.uses.take_readers());
            self.home.release(Freed { pointer: self.pointer, paid, readers });
        }
    }
}

/// An array on the device. It frees itself in the order of its home stream, that of the handle that
/// made it, and gives its bytes back to the budget. Any handle of the same device may use it: the
/// streams are then put in order (see [`Gpu::stream`]). Contents are undefined until written.
pub struct Buf<T> {
    memory: Arc<Memory>,
    gpu: Gpu,
    len: usize,
    values: PhantomData<T>,
}

impl<T: Pod> Buf<T> {
    pub(crate) fn new(gpu: &Gpu, what: &'static str, len: usize) -> Result<Self, DeviceError> {
        let bytes = len.checked_mul(size_of::<T>());
        let memory = Memory::new(gpu.stream_of(), what, bytes)?;
        Ok(Self { memory, gpu: gpu.clone(), len, values: PhantomData })
    }
}

impl<T> Buf<T> {
    /// Number of values.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no value.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The handle that made it.
    #[must_use]
    pub const fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// All of it, to be read.
    #[must_use]
    pub fn view(&self) -> View<'_, T> {
        View {
            memory: &self.memory,
            pointer: self.memory.pointer,
            len: self.len,
            values: PhantomData,
        }
    }

    /// All of it, to be written.
    #[must_use]
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut(self.view())
    }

    /// A part of it, to be read.
    #[must_use]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> View<'_, T> {
        self.view().slice(range)
    }

    /// A part of it, to be written.
    #[must_use]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> ViewMut<'_, T> {
        self.view_mut().slice(range)
    }
}

impl<T> std::fmt::Debug for Buf<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buf<{}>[{}]", std::any::type_name::<T>(), self.len)
    }
}

/// Values on the device that another buffer owns.
pub struct View<'a, T> {
    memory: &'a Arc<Memory>,
    pointer: sys::CUdeviceptr,
    len: usize,
    values: PhantomData<&'a [T]>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<'a, T> View<'a, T> {
    /// Number of values.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no value.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of it. The range must lie inside, as with a slice of the host.
    #[must_use]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Self {
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => self.len,
        };
        assert!(start <= end && end <= self.len, "slice {start}..{end} of {} values", self.len);
        let pointer = self.pointer + (start * size_of::<T>()) as u64;
        Self { pointer, len: end - start, ..*self }
    }

    /// The same bytes as values of another type, such as pairs of `f32` as `[f32; 2]`. The bytes
    /// must divide evenly and be aligned for it.
    #[must_use]
    pub fn cast<U: Pod>(self) -> View<'a, U>
    where
        T: Pod,
    {
        let (bytes, size) = (self.len * size_of::<T>(), size_of::<U>());
        assert!(
            size > 0 && bytes.is_multiple_of(size),
            "{bytes} bytes are no whole {size}-byte values"
        );
        assert!(self.pointer.is_multiple_of(align_of::<U>() as u64), "the bytes are not aligned");
        View { memory: self.memory, pointer: self.pointer, len: bytes / size, values: PhantomData }
    }

    /// Address of the first value; 0 when there is none.
    pub(crate) const fn ptr(&self) -> sys::CUdeviceptr {
        self.pointer
    }

    pub(crate) const fn memory(&self) -> &'a Arc<Memory> {
        self.memory
    }

    /// The same as bytes.
    pub(crate) const fn raw(&self) -> View<'a, u8> {
        let len = self.len * size_of::<T>();
        View { memory: self.memory, pointer: self.pointer, len, values: PhantomData }
    }
}

/// Values on the device, lent for writing.
pub struct ViewMut<'a, T>(View<'a, T>);

impl<'a, T> ViewMut<'a, T> {
    /// Number of values.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len
    }

    /// Whether it holds no value.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// The same, lent for a shorter time.
    #[must_use]
    pub const fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut(self.0)
    }

    /// The same, to be read while nothing is written:
    ///
    /// ```compile_fail,E0502
    /// use graphlume_device::cuda::{DeviceError, Gpu, ViewMut};
    ///
    /// fn reads_what_is_written(gpu: &Gpu, mut out: ViewMut<'_, u32>) -> Result<(), DeviceError> {
    ///     let reader = out.as_view();
    ///     gpu.zero(out.reborrow())?;
    ///     gpu.read(reader).map(drop)
    /// }
    /// ```
    #[must_use]
    pub const fn as_view(&self) -> View<'_, T> {
        self.0
    }

    /// A part of it. The range must lie inside, as with a slice of the host.
    #[must_use]
    pub fn slice(self, range: impl RangeBounds<usize>) -> Self {
        Self(self.0.slice(range))
    }

    /// Two parts that can be written separately: the first `offset` values and the rest.
    #[must_use]
    pub fn split_at(self, offset: usize) -> (Self, Self) {
        (Self(self.0.slice(..offset)), Self(self.0.slice(offset..)))
    }

    /// As [`View::cast`].
    #[must_use]
    pub fn cast<U: Pod>(self) -> ViewMut<'a, U>
    where
        T: Pod,
    {
        ViewMut(self.0.cast())
    }

    pub(crate) const fn shared(&self) -> View<'a, T> {
        self.0
    }
}
