//! Memory for columns.

use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_buffer::Buffer;
use bytemuck::Pod;
use bytes::Bytes;
use memmap2::{Advice, MmapMut, UncheckedAdvice};
use parking_lot::Mutex;

use crate::IngestError;

/// Bytes from which memory is mapped by itself, in pages of two megabytes where the system has them:
/// handing out a column in small pages costs as much as parsing it.
const MAPPED_BYTES_MIN: usize = 4 << 20;
/// The large pages of most systems.
const PAGE_BYTES: usize = 2 << 20;
/// Bytes that are worth giving back: having them again costs more than keeping them does.
const GIVEN_BACK_BYTES_MIN: usize = 16 << 20;
/// Bytes of mapped memory that are kept when a table is dropped, for the next one: having the system
/// clear new pages costs a fifth of reading a table of numbers. The system is told that it may take the
/// pages back whenever it wants them.
const SPARE_BYTES_MAX: usize = 256 << 20;

static SPARES: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());
static SPARE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Memory with some content or other, which the system hands out as it is written.
pub enum Memory {
    Heap(Vec<u64>),
    Mapped(Mapped),
}

/// A mapping that is kept for later use when it is dropped.
pub struct Mapped(Option<MmapMut>);

impl Mapped {
    /// A spare one of about this size, else a new one.
    fn new(bytes: usize) -> std::io::Result<Self> {
        if let Some(map) = take_spare(bytes) {
            return Ok(Self(Some(map)));
        }
        let map = MmapMut::map_anon(bytes).or_else(|_| {
            // What is kept for later may be what is missing now.
            SPARES.lock().clear();
            SPARE_BYTES.store(0, Ordering::Relaxed);
            MmapMut::map_anon(bytes)
        })?;
        // A hint only: a system without large pages gives small ones.
        let _ = map.advise(Advice::HugePage);
        Ok(Self(Some(map)))
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.as_deref_mut().unwrap_or_default()
    }
}

/// The smallest spare mapping that holds `bytes` and is not much too large.
fn take_spare(bytes: usize) -> Option<MmapMut> {
    if SPARE_BYTES.load(Ordering::Relaxed) < bytes {
        return None;
    }
    let mut spares = SPARES.lock();
    let fits = |m: &MmapMut| m.len() >= bytes && m.len() <= bytes.saturating_add(bytes / 2);
    let fitting = spares.iter().enumerate().filter(|(_, m)| fits(m));
    let (at, _) = fitting.min_by_key(|(_, m)| m.len())?;
    let map = spares.swap_remove(at);
    SPARE_BYTES.fetch_sub(map.len(), Ordering::Relaxed);
    Some(map)
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let Some(map) = self.0.take() else { return };
        let mut spares = SPARES.lock();
        if SPARE_BYTES.load(Ordering::Relaxed) + map.len() > SPARE_BYTES_MAX {
            return;
        }
        // SAFETY: the advice may turn the content into zeros at any moment. No reference exists into
        // a mapping that is being dropped, and its next user expects any content.
        let advised = unsafe { map.unchecked_advise(UncheckedAdvice::Free) };
        if advised.is_ok() {
            SPARE_BYTES.fetch_add(map.len(), Ordering::Relaxed);
            spares.push(map);
        }
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Memory {
    /// Room for `count` values of type `T`, of any content. What there is no memory for is an error and
    /// not the end of the process.
    pub fn room<T: Pod>(count: usize) -> Result<Self, IngestError> {
        let full = || {
            let message = format!(
                "there is no memory for a column of {count} values; send the data in parts or as \
                 parquet, or give a parse more memory (--parse-memory)"
            );
            IngestError::too_large(message)
        };
        let bytes = count.checked_mul(size_of::<T>()).ok_or_else(full)?;
        if bytes < MAPPED_BYTES_MIN {
            return Ok(Self::Heap(vec![0; bytes.div_ceil(size_of::<u64>())]));
        }
        Ok(Self::Mapped(Mapped::new(bytes).map_err(|_| full())?))
    }

    /// All of the memory, as values; there may be more than were asked for.
    pub fn values<T: Pod>(&self) -> &[T] {
        match self {
            Self::Heap(words) => bytemuck::cast_slice(words),
            Self::Mapped(map) => {
                let bytes = map.bytes();
                bytemuck::cast_slice(&bytes[..bytes.len() - bytes.len() % size_of::<T>()])
            }
        }
    }

    /// As [`Memory::values`].
    pub fn values_mut<T: Pod>(&mut self) -> &mut [T] {
        match self {
            Self::Heap(words) => bytemuck::cast_slice_mut(words),
            Self::Mapped(map) => {
                let bytes = map.bytes_mut();
                let len = bytes.len() - bytes.len() % size_of::<T>();
                bytemuck::cast_slice_mut(&mut bytes[..len])
            }
        }
    }

    /// Lets go of what lies behind the first `bytes` bytes, where it is much.
    pub fn keep(&mut self, bytes: usize) {
        let Self::Mapped(Mapped(Some(map))) = self else { return };
        let from = bytes.next_multiple_of(PAGE_BYTES);
        if from + GIVEN_BACK_BYTES_MIN <= map.len() {
            // SAFETY: the advice makes zeros of what lies behind the bytes, to which no reference exists while this call
            // has the memory. A refusal leaves it as it is.
            let _ = unsafe {
                map.unchecked_advise_range(UncheckedAdvice::DontNeed, from, map.len() - from)
            };
        }
    }

    /// The first `count` values of type `T` as a buffer of Arrow, without a copy.
    pub fn into_buffer<T: Pod>(self, count: usize) -> Buffer {
        let buffer = match self {
            Self::Heap(words) => Buffer::from_vec(words),
            Self::Mapped(map) => Buffer::from(Bytes::from_owner(map)),
        };
        buffer.slice_with_length(0, count * size_of::<T>())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn small_and_large_memory_hold_what_is_written() {
        for count in [0usize, 1, 7, 1_000, MAPPED_BYTES_MIN] {
            let mut memory = Memory::room::<u32>(count).unwrap();
            assert!(memory.values::<u32>().len() >= count);
            for (i, v) in memory.values_mut::<u32>()[..count].iter_mut().enumerate() {
                *v = i as u32;
            }
            let buffer = memory.into_buffer::<u32>(count);
            let values = buffer.typed_data::<u32>();
            assert_eq!(
                (values.len(), values.last().copied()),
                (count, (count as u32).checked_sub(1))
            );
        }
        assert!(Memory::room::<u64>(usize::MAX / 4).is_err());
    }

    #[test]
    fn what_is_kept_stays_as_it_is() {
        let bytes = 2 * GIVEN_BACK_BYTES_MIN;
        let mut memory = Memory::room::<u8>(bytes).unwrap();
        memory.values_mut::<u8>().fill(7);
        memory.keep(3_000_000);
        assert!(memory.values::<u8>()[..3_000_000].iter().all(|b| *b == 7));
        memory.values_mut::<u8>().fill(8);
        memory.keep(bytes - 1);
        assert!(memory.values::<u8>().iter().all(|b| *b == 8));
        Memory::room::<u8>(100).unwrap().keep(0);
    }

    #[test]
    fn dropped_memory_is_used_again_up_to_a_bound() {
        let count = MAPPED_BYTES_MIN + 4096;
        let buffers: Vec<_> = (0..80)
            .map(|i| {
                let mut memory = Memory::room::<u8>(count).unwrap();
                memory.values_mut::<u8>()[..count].fill(i);
                memory.into_buffer::<u8>(count)
            })
            .collect();
        let places: Vec<_> = buffers.iter().map(Buffer::as_ptr).collect();
        // Of two that are alive, neither ever sees the other's bytes.
        for (i, buffer) in buffers.iter().enumerate() {
            assert!(buffer.iter().all(|b| usize::from(*b) == i));
        }
        drop(buffers);
        assert!(SPARE_BYTES.load(Ordering::Relaxed) <= SPARE_BYTES_MAX);
        let again = Memory::room::<u8>(count).unwrap();
        assert!(places.contains(&again.values::<u8>().as_ptr()));
    }
}
