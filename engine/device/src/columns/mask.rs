//! Masks: sets of rows as bits.

use super::store::{HostWords, Store};
use super::{ColumnOpError, DType, Device, DeviceColumn, check_rows, cpu, gpu, same_rows};
use crate::cuda::{Buf, View};
use graphlume_types::CancelToken;

/// A set of rows on a device: row r is bit r % 32 of word r / 32, and the bits beyond the last row
/// are zero.
#[derive(Debug)]
pub struct Mask {
    pub(super) rows: usize,
    pub(super) bits: Store,
}

impl Mask {
    /// Number of rows that it speaks about.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The set of these bits, row r in bit r % 32 of word r / 32; nothing is copied. The bits beyond the last row have to be
    /// zero.
    ///
    /// # Errors
    /// [`ColumnOpError::Rows`] when there are more or fewer words than the rows take.
    pub fn of_words(rows: usize, words: Buf<u32>) -> Result<Self, ColumnOpError> {
        match words.len() == rows.div_ceil(32) {
            true => Ok(Self { rows, bits: words.into() }),
            false => {
                let (primitive, got) = ("of_words", words.len() * 32);
                Err(ColumnOpError::Rows { primitive, got, need: rows })
            }
        }
    }

    /// Its words on the GPU, if it lives there.
    #[must_use]
    pub fn words(&self) -> Option<View<'_, u32>> {
        self.bits.cuda()
    }

    /// The set as a column of bools without nulls; nothing is copied.
    #[must_use]
    pub fn into_column(self) -> DeviceColumn {
        DeviceColumn { dtype: DType::Bool, rows: self.rows, cells: self.bits, valid: None }
    }
}

/// How two masks are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskOp {
    /// Rows of both.
    And,
    /// Rows of either.
    Or,
    /// Rows of exactly one.
    Xor,
    /// Rows of the first that are not in the second.
    AndNot,
}

/// The bits of the last word that stand for rows.
pub(super) const fn last_word(rows: usize) -> u32 {
    match rows % 32 {
        0 => u32::MAX,
        live => (1 << live) - 1,
    }
}

impl Device {
    /// A mask of all rows, or of none. Cost: n / 8 bytes written.
    ///
    /// # Errors
    /// Memory; [`ColumnOpError::Limit`] from 2^32 rows on.
    pub fn mask_filled(&self, rows: usize, set: bool) -> Result<Mask, ColumnOpError> {
        let n = check_rows("mask_filled", rows)?;
        let bits = match self {
            Self::Cpu(c) => {
                let mut bits = HostWords::zeros(&c.budget, rows.div_ceil(32))?;
                if set {
                    let words = bits.cells_mut::<u32>();
                    words.fill(u32::MAX);
                    if let Some(last) = words.last_mut() {
                        *last = last_word(rows);
                    }
                }
                bits.into()
            }
            Self::Cuda(g) => gpu::mask::filled(g, n, set)?.into(),
        };
        Ok(Mask { rows, bits })
    }

    /// A mask from its words on the host; bits beyond the last row are dropped.
    /// Cost: n / 8 bytes over the bus.
    ///
    /// # Errors
    /// [`ColumnOpError::Rows`] when there are fewer words than the rows need; memory.
    pub fn mask_from_words(&self, rows: usize, words: &[u32]) -> Result<Mask, ColumnOpError> {
        check_rows("mask_from_words", rows)?;
        let need = rows.div_ceil(32);
        if words.len() < need {
            let (primitive, got) = ("mask_from_words", words.len() * 32);
            return Err(ColumnOpError::Rows { primitive, got, need: rows });
        }
        let mut words = words[..need].to_vec();
        if let Some(last) = words.last_mut() {
            *last &= last_word(rows);
        }
        let bits = match self {
            Self::Cpu(c) => HostWords::copy(&c.budget, &words)?.into(),
            Self::Cuda(g) => g.upload("a mask", &words)?.into(),
        };
        Ok(Mask { rows, bits })
    }

    /// The words of a mask on the host, ceil(n / 32) of them. Cost: waits; n / 8 bytes over the
    /// bus.
    ///
    /// # Errors
    /// [`ColumnOpError::Device`], [`ColumnOpError::Elsewhere`].
    pub fn mask_to_words(&self, mask: &Mask) -> Result<Vec<u32>, ColumnOpError> {
        self.fetch(&mask.bits)
    }

    /// A mask of the rows whose byte is not zero. Cost: n bytes over the bus, n + n / 8 on the
    /// device.
    ///
    /// # Errors
    /// Memory; [`ColumnOpError::Limit`] from 2^32 rows on.
    pub fn mask_from_bytes(&self, bytes: &[u8]) -> Result<Mask, ColumnOpError> {
        let rows = bytes.len();
        let n = check_rows("mask_from_bytes", rows)?;
        let bits = match self {
            Self::Cpu(c) => {
                let mut bits = HostWords::zeros(&c.budget, rows.div_ceil(32))?;
                c.pool.install(|| cpu::mask::from_bytes(bytes, bits.cells_mut()));
                bits.into()
            }
            Self::Cuda(g) => gpu::mask::from_bytes(g, n, bytes)?.into(),
        };
        Ok(Mask { rows, bits })
    }

    /// One byte a row, 1 for the rows of the mask. Cost: waits; n bytes over the bus.
    ///
    /// # Errors
    /// Memory; [`ColumnOpError::Elsewhere`].
    pub fn mask_to_bytes(&self, mask: &Mask) -> Result<Vec<u8>, ColumnOpError> {
        self.bits_to_bytes(mask.rows, &mask.bits)
    }

    pub(super) fn bits_to_bytes(
        &self,
        rows: usize,
        bits: &Store,
    ) -> Result<Vec<u8>, ColumnOpError> {
        let primitive = "mask_to_bytes";
        let n = check_rows(primitive, rows)?;
        match (self, bits) {
            (Self::Cpu(c), Store::Host(words)) => {
                Ok(c.pool.install(|| cpu::mask::to_bytes(rows, words.cells())))
            }
            (Self::Cuda(g), Store::Cuda(words)) => Ok(gpu::mask::to_bytes(g, n, words.words())?),
            _ => Err(ColumnOpError::Elsewhere { primitive }),
        }
    }

    /// The combination of two masks of the same rows. Cost: n / 4 bytes read, n / 8 written.
    ///
    /// # Errors
    /// [`ColumnOpError::Rows`], [`ColumnOpError::Elsewhere`]; memory.
    pub fn mask_combine(&self, op: MaskOp, a: &Mask, b: &Mask) -> Result<Mask, ColumnOpError> {
        same_rows("mask_combine", b.rows, a.rows)?;
        Ok(Mask { rows: a.rows, bits: self.combine_bits(op, a.rows, &a.bits, &b.bits)? })
    }

    pub(super) fn combine_bits(
        &self,
        op: MaskOp,
        rows: usize,
        a: &Store,
        b: &Store,
    ) -> Result<Store, ColumnOpError> {
        let primitive = "mask_combine";
        let n = check_rows(primitive, rows)?;
        match (self, a, b) {
            (Self::Cpu(c), Store::Host(x), Store::Host(y)) => {
                let mut out = HostWords::zeros(&c.budget, rows.div_ceil(32))?;
                c.pool.install(|| cpu::mask::combine(op, x.cells(), y.cells(), out.cells_mut()));
                Ok(out.into())
            }
            (Self::Cuda(g), Store::Cuda(x), Store::Cuda(y)) => {
                Ok(gpu::mask::combine(g, n, op, x.words(), y.words())?.into())
            }
            _ => Err(ColumnOpError::Elsewhere { primitive }),
        }
    }

    /// The rows that are not in the mask. Cost: n / 8 bytes read, n / 8 written.
    ///
    /// # Errors
    /// [`ColumnOpError::Elsewhere`]; memory.
    pub fn mask_not(&self, mask: &Mask) -> Result<Mask, ColumnOpError> {
        let (primitive, rows) = ("mask_not", mask.rows);
        let n = check_rows(primitive, rows)?;
        let bits = match (self, &mask.bits) {
            (Self::Cpu(c), Store::Host(x)) => {
                let mut out = HostWords::zeros(&c.budget, rows.div_ceil(32))?;
                c.pool.install(|| cpu::mask::not(rows, x.cells(), out.cells_mut()));
                out.into()
            }
            (Self::Cuda(g), Store::Cuda(x)) => gpu::mask::not(g, n, x.words())?.into(),
            _ => return Err(ColumnOpError::Elsewhere { primitive }),
        };
        Ok(Mask { rows, bits })
    }

    /// How many rows the mask has. Cost: waits; n / 8 bytes read.
    ///
    /// # Errors
    /// [`ColumnOpError::Elsewhere`], [`ColumnOpError::Device`].
    pub fn mask_count(&self, mask: &Mask) -> Result<u64, ColumnOpError> {
        let primitive = "mask_count";
        let n = check_rows(primitive, mask.rows)?;
        match (self, &mask.bits) {
            (Self::Cpu(c), Store::Host(x)) => Ok(c.pool.install(|| cpu::mask::count(x.cells()))),
            (Self::Cuda(g), Store::Cuda(x)) => Ok(gpu::mask::count(g, n, x.words())?),
            _ => Err(ColumnOpError::Elsewhere { primitive }),
        }
    }

    /// The rows of a mask in ascending order, a u32 column without nulls.
    /// Cost: waits for their number; n / 4 bytes read, 4 a listed row written.
    ///
    /// # Errors
    /// [`ColumnOpError::Elsewhere`], [`ColumnOpError::Cancelled`]; memory.
    pub fn compact(
        &self,
        mask: &Mask,
        cancel: &CancelToken,
    ) -> Result<DeviceColumn, ColumnOpError> {
        let primitive = "compact";
        check_rows(primitive, mask.rows)?;
        let found = usize::try_from(self.mask_count(mask)?).unwrap_or(usize::MAX);
        cancel.check()?;
        let cells = match (self, &mask.bits) {
            (Self::Cpu(c), Store::Host(x)) => {
                let mut out = HostWords::zeros(&c.budget, found)?;
                c.pool.install(|| cpu::mask::compact(x.cells(), out.cells_mut()));
                out.into()
            }
            (Self::Cuda(g), Store::Cuda(x)) => {
                gpu::mask::compact(g, mask.rows, x.words(), found)?.into()
            }
            _ => return Err(ColumnOpError::Elsewhere { primitive }),
        };
        Ok(DeviceColumn { dtype: DType::U32, rows: found, cells, valid: None })
    }

    /// The mask, of `rows` rows, that has the rows listed in a u32 column without nulls; listed
    /// rows from `rows` on are passed over. Cost: 4 bytes read a listed row and one 32-byte sector
    /// of the mask.
    ///
    /// # Errors
    /// [`ColumnOpError::DType`], [`ColumnOpError::Elsewhere`]; memory.
    pub fn mask_from_rows(
        &self,
        rows: usize,
        listed: &DeviceColumn,
    ) -> Result<Mask, ColumnOpError> {
        let primitive = "mask_from_rows";
        let n = check_rows(primitive, rows)?;
        super::gather::listed_rows(primitive, listed)?;
        let bits = match (self, &listed.cells) {
            (Self::Cpu(c), Store::Host(x)) => {
                let mut out = HostWords::zeros(&c.budget, rows.div_ceil(32))?;
                cpu::mask::scatter(rows, x.cells(), out.cells_mut());
                out.into()
            }
            (Self::Cuda(g), Store::Cuda(x)) => gpu::mask::scatter(g, n, x.words())?.into(),
            _ => return Err(ColumnOpError::Elsewhere { primitive }),
        };
        Ok(Mask { rows, bits })
    }
}
