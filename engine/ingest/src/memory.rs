//! Memory for columns.

use arrow_buffer::Buffer;
use bytemuck::Pod;
use bytes::Bytes;
use memmap2::MmapMut;

use crate::IngestError;

/// Bytes from which memory is mapped by itself, in pages of two megabytes where the system has them:
/// handing out a column in small pages costs as much as parsing it.
const MAPPED_BYTES_MIN: usize = 4 << 20;

/// Zeroed memory, which the system hands out as it is written.
pub enum Memory {
    Heap(Vec<u64>),
    Mapped(MmapMut),
}

impl Memory {
    /// Room for `count` values of type `T`. What there is no memory for is an error and not the end of
    /// the process.
    pub fn zeroed<T: Pod>(count: usize) -> Result<Self, IngestError> {
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
        let map = MmapMut::map_anon(bytes).map_err(|_| full())?;
        // A hint only: a system without large pages gives small ones.
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self::Mapped(map))
    }

    /// All of the memory, as values; there may be a few more than were asked for.
    pub fn values<T: Pod>(&self) -> &[T] {
        match self {
            Self::Heap(words) => bytemuck::cast_slice(words),
            Self::Mapped(map) => {
                bytemuck::cast_slice(&map[..map.len() - map.len() % size_of::<T>()])
            }
        }
    }

    /// As [`Memory::values`].
    pub fn values_mut<T: Pod>(&mut self) -> &mut [T] {
        match self {
            Self::Heap(words) => bytemuck::cast_slice_mut(words),
            Self::Mapped(map) => {
                let len = map.len() - map.len() % size_of::<T>();
                bytemuck::cast_slice_mut(&mut map[..len])
            }
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
            let mut memory = Memory::zeroed::<u32>(count).unwrap();
            assert!(memory.values::<u32>().len() >= count);
            assert!(memory.values::<u32>().iter().all(|v| *v == 0));
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
        assert!(Memory::zeroed::<u64>(usize::MAX / 4).is_err());
    }
}
