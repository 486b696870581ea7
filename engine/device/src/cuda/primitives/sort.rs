//! Stable radix sorts of pairs.

use bytemuck::Pod;

use super::{Chunks, THREADS, count, within};
use crate::cuda::resident::resident;
use crate::cuda::{Buf, DeviceError, Gpu, Grid, View, ViewMut, kernels};

/// Bits of a pass.
const DIGIT_BITS: u32 = 8;
const DIGITS: u32 = 1 << DIGIT_BITS;
/// Pairs of a tile of the scatter kernels.
const TILE_U32: u32 = 4096;
const TILE_U64: u32 = 3072;

/// Stable ascending sorts of pairs of a key (u32 or u64) and a u32 value, up to a stated length:
/// least significant digit first, 8 bits and three launches a pass. Scratch memory: a second copy
/// of the pairs and 1 KiB for each of a few hundred chunks. Bytes moved a pair: 20 a pass with u32
/// keys, 32 with u64 keys, and one copy when the number of passes is odd.
pub struct Sort {
    gpu: Gpu,
    max_len: usize,
    keys: Keys,
    values: Buf<u32>,
    counts: Buf<u32>,
    totals: Buf<u32>,
}

enum Keys {
    Narrow(Buf<u32>),
    Wide(Buf<u64>),
}

/// What differs between the two kinds of keys.
trait Key: Pod {
    const BITS: u32;
    const TILE: u32;
    /// The scatter kernel, which needs the most registers and shared memory: a block of it gets one chunk.
    const SCATTER: &'static str;
    fn count_digits(
        gpu: &Gpu,
        pass: Pass,
        keys: View<'_, Self>,
        counts: ViewMut<'_, u32>,
    ) -> Answer;
    fn scatter(gpu: &Gpu, pass: Pass, from: Pairs<'_, Self>, to: PairsMut<'_, Self>) -> Answer;
}

type Answer = Result<(), DeviceError>;

#[derive(Clone, Copy)]
struct Pass {
    n: u32,
    chunks: Chunks,
    shift: u32,
    mask: u32,
}

struct Pairs<'a, K> {
    keys: View<'a, K>,
    values: View<'a, u32>,
    counts: View<'a, u32>,
    totals: View<'a, u32>,
}

struct PairsMut<'a, K> {
    keys: ViewMut<'a, K>,
    values: ViewMut<'a, u32>,
}

macro_rules! key {
    ($key:ty, $tile:expr, $count:ident, $scatter:ident) => {
        impl Key for $key {
            const BITS: u32 = <$key>::BITS;
            const TILE: u32 = $tile;
            const SCATTER: &'static str = stringify!($scatter);

            fn count_digits(
                gpu: &Gpu,
                Pass { n, chunks, shift, mask }: Pass,
                keys: View<'_, Self>,
                counts: ViewMut<'_, u32>,
            ) -> Answer {
                let grid = Grid::blocks(chunks.count, THREADS);
                kernels::$count(gpu, grid, n, chunks.len, chunks.count, shift, mask, keys, counts)
            }

            fn scatter(
                gpu: &Gpu,
                Pass { n, chunks, shift, mask }: Pass,
                from: Pairs<'_, Self>,
                to: PairsMut<'_, Self>,
            ) -> Answer {
                kernels::$scatter(
                    gpu,
                    Grid::blocks(chunks.count, THREADS),
                    n,
                    chunks.len,
                    chunks.count,
                    shift,
                    mask,
                    from.keys,
                    from.values,
                    from.counts,
                    from.totals,
                    to.keys,
                    to.values,
                )
            }
        }
    };
}

key!(u32, TILE_U32, sort_count_u32, sort_scatter_u32);
key!(u64, TILE_U64, sort_count_u64, sort_scatter_u64);

impl Sort {
    /// Scratch memory for up to `max_len` pairs with u32 keys on `gpu`, on whose stream it works.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`]; [`DeviceError::TooLarge`] from 2^32 pairs on.
    pub fn new_u32(gpu: &Gpu, max_len: usize) -> Result<Self, DeviceError> {
        Self::new::<u32>(gpu, max_len, Keys::Narrow(gpu.alloc("sorted keys", max_len)?))
    }

    /// As [`Self::new_u32`], for u64 keys.
    ///
    /// # Errors
    /// As [`Self::new_u32`].
    pub fn new_u64(gpu: &Gpu, max_len: usize) -> Result<Self, DeviceError> {
        Self::new::<u64>(gpu, max_len, Keys::Wide(gpu.alloc("sorted keys", max_len)?))
    }

    fn new<K: Key>(gpu: &Gpu, max_len: usize, keys: Keys) -> Result<Self, DeviceError> {
        let blocks = resident(gpu, K::SCATTER);
        let chunks = Chunks::bound(gpu, count("a sort", max_len)?, K::TILE, blocks);
        Ok(Self {
            gpu: gpu.clone(),
            max_len,
            keys,
            values: gpu.alloc("sorted values", max_len)?,
            counts: gpu.alloc("digit counts", chunks * DIGITS as usize)?,
            totals: gpu.alloc("digit counts", DIGITS as usize)?,
        })
    }

    /// Sorts the first `len` pairs by the low `bits` bits of their keys (up to 32); equal ones keep
    /// their order.
    ///
    /// # Errors
    /// [`DeviceError::Length`] when `len` exceeds a buffer or the scratch memory, or when this sort
    /// was made for u64 keys.
    pub fn pairs_u32(
        &mut self,
        keys: &mut Buf<u32>,
        values: &mut Buf<u32>,
        len: usize,
        bits: u32,
    ) -> Result<(), DeviceError> {
        let Self { gpu, max_len, keys: Keys::Narrow(other), values: spare, counts, totals } = self
        else {
            return within("sort_scatter_u32", len, 0);
        };
        within("sort_scatter_u32", len, *max_len)?;
        let scratch = Scratch { keys: other, values: spare, counts, totals };
        sort(gpu, keys.view_mut(), values.view_mut(), len, bits, scratch)
    }

    /// As [`Self::pairs_u32`], for u64 keys (up to 64 bits).
    ///
    /// # Errors
    /// As [`Self::pairs_u32`].
    pub fn pairs_u64(
        &mut self,
        keys: &mut Buf<u64>,
        values: &mut Buf<u32>,
        len: usize,
        bits: u32,
    ) -> Result<(), DeviceError> {
        let Self { gpu, max_len, keys: Keys::Wide(other), values: spare, counts, totals } = self
        else {
            return within("sort_scatter_u64", len, 0);
        };
        within("sort_scatter_u64", len, *max_len)?;
        let scratch = Scratch { keys: other, values: spare, counts, totals };
        sort(gpu, keys.view_mut(), values.view_mut(), len, bits, scratch)
    }
}

struct Scratch<'a, K> {
    keys: &'a mut Buf<K>,
    values: &'a mut Buf<u32>,
    counts: &'a mut Buf<u32>,
    totals: &'a mut Buf<u32>,
}

/// The result stays in the caller's memory, so that a recorded replay finds the pairs where it
/// recorded them.
fn sort<K: Key>(
    gpu: &Gpu,
    mut keys: ViewMut<'_, K>,
    mut values: ViewMut<'_, u32>,
    len: usize,
    bits: u32,
    scratch: Scratch<'_, K>,
) -> Result<(), DeviceError> {
    for (param, have) in [("keys", keys.len()), ("values", values.len())] {
        if have < len {
            let (len, need) = (have as u64, len as u64);
            return Err(DeviceError::Length { kernel: "sort_scatter", param, len, need });
        }
    }
    let n = count("a sort", len)?;
    let bits = bits.min(K::BITS);
    if n < 2 || bits == 0 {
        return Ok(());
    }
    let chunks = Chunks::new(gpu, n, K::TILE, resident(gpu, K::SCATTER));
    let passes = bits.div_ceil(DIGIT_BITS);
    let Scratch { keys: other_keys, values: other_values, counts, totals } = scratch;
    let mut here =
        PairsMut { keys: keys.reborrow().slice(..len), values: values.reborrow().slice(..len) };
    let mut there =
        PairsMut { keys: other_keys.slice_mut(..len), values: other_values.slice_mut(..len) };
    for pass in 0..passes {
        let shift = pass * DIGIT_BITS;
        let mask = (1 << (bits - shift).min(DIGIT_BITS)) - 1;
        let pass = Pass { n, chunks, shift, mask };
        K::count_digits(gpu, pass, here.keys.as_view(), counts.view_mut())?;
        let grid = Grid::blocks(DIGITS / (THREADS / 32), THREADS);
        kernels::sort_rows(gpu, grid, chunks.count, counts.view_mut(), totals.view_mut())?;
        let from = Pairs {
            keys: here.keys.as_view(),
            values: here.values.as_view(),
            counts: counts.view(),
            totals: totals.view(),
        };
        let to = PairsMut { keys: there.keys.reborrow(), values: there.values.reborrow() };
        K::scatter(gpu, pass, from, to)?;
        std::mem::swap(&mut here, &mut there);
    }
    if passes % 2 == 1 {
        gpu.copy(here.keys.as_view(), there.keys)?;
        gpu.copy(here.values.as_view(), there.values)?;
    }
    Ok(())
}
