//! Primitives on device arrays: prefix sums, stable sorts of pairs, reductions in a fixed order,
//! and the rows of a mask. Each owns the scratch memory for a stated greatest length, so that its
//! calls neither allocate nor wait and can be part of a recorded replay.

mod compact;
mod reduce;
mod scan;
mod sort;

pub use compact::Compact;
pub use reduce::Reduce;
pub(crate) use reduce::parts;
pub use scan::Scan;
pub use sort::Sort;

use super::{DeviceError, Gpu};

/// Threads of a block in all of these kernels.
const THREADS: u32 = 256;

/// `len` as the kernels count, or why that cannot be.
fn count(what: &'static str, len: usize) -> Result<u32, DeviceError> {
    u32::try_from(len).map_err(|_| DeviceError::TooLarge {
        what,
        need: len as u64,
        limit: u64::from(u32::MAX),
    })
}

/// Whether `len` values fit the scratch memory that was made for `max_len`.
fn within(kernel: &'static str, len: usize, max_len: usize) -> Result<(), DeviceError> {
    match len <= max_len {
        true => Ok(()),
        false => Err(DeviceError::Length {
            kernel,
            param: "scratch memory",
            len: max_len as u64,
            need: len as u64,
        }),
    }
}

/// How an array is divided into chunks, each the work of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chunks {
    /// Items of a chunk, a multiple of the tile.
    len: u32,
    /// How many; 0 for an empty array.
    count: u32,
}

impl Chunks {
    /// Chunks of whole tiles, at most `blocks_per_sm` for each multiprocessor.
    fn new(gpu: &Gpu, items: u32, tile: u32, blocks_per_sm: u32) -> Self {
        Self::at_most(items, tile, gpu.info().sm_count.saturating_mul(blocks_per_sm))
    }

    /// The most chunks that an array of up to `items` items can have.
    fn bound(gpu: &Gpu, items: u32, tile: u32, blocks_per_sm: u32) -> usize {
        let most = gpu.info().sm_count.saturating_mul(blocks_per_sm);
        items.div_ceil(tile).clamp(1, most.max(1)) as usize
    }

    fn at_most(items: u32, tile: u32, chunks: u32) -> Self {
        let tiles = items.div_ceil(tile);
        let len = tiles.div_ceil(chunks.max(1)).max(1).saturating_mul(tile);
        Self { len, count: items.div_ceil(len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_items_and_keep_the_bound() {
        for items in [0, 1, 4095, 4096, 4097, 1 << 20, u32::MAX - 1, u32::MAX] {
            for most in [1, 2, 7, 1056] {
                let c = Chunks::at_most(items, 4096, most);
                assert!(
                    c.count <= most && u64::from(c.len) * u64::from(c.count) >= u64::from(items)
                );
                assert_eq!(c.count == 0, items == 0);
                assert!(c.len.is_multiple_of(4096) || c.len == u32::MAX, "{c:?}");
            }
        }
    }
}
