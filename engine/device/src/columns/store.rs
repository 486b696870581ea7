//! Storage of the words of columns and masks.

use bytemuck::Pod;
use graphlume_types::{Budget, Reservation, ResourcesExhausted};

use crate::cuda::{Buf, View};

/// Words of 32 bits on the host, paid for from a budget and aligned for cells of 8 bytes.
#[derive(Debug)]
pub(super) struct HostWords {
    pairs: Vec<u64>,
    words: usize,
    _paid: Reservation,
}

impl HostWords {
    /// `words` zero words.
    pub fn zeros(budget: &Budget, words: usize) -> Result<Self, ResourcesExhausted> {
        let pairs = words.div_ceil(2);
        let paid = budget.try_reserve(pairs as u64 * 8)?;
        Ok(Self { pairs: vec![0; pairs], words, _paid: paid })
    }

    /// A copy of cells of 4 or 8 bytes.
    pub fn copy<T: Pod>(budget: &Budget, cells: &[T]) -> Result<Self, ResourcesExhausted> {
        let bytes: &[u8] = bytemuck::cast_slice(cells);
        let mut words = Self::zeros(budget, bytes.len().div_ceil(4))?;
        bytemuck::cast_slice_mut::<u64, u8>(&mut words.pairs)[..bytes.len()].copy_from_slice(bytes);
        Ok(words)
    }

    /// All of it as cells of 4 or 8 bytes.
    pub fn cells<T: Pod>(&self) -> &[T] {
        &bytemuck::cast_slice(&self.pairs)[..self.words * 4 / size_of::<T>()]
    }

    /// As [`Self::cells`], to be written.
    pub fn cells_mut<T: Pod>(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.pairs)[..self.words * 4 / size_of::<T>()]
    }
}

/// Words on the GPU, in the type in which they were made.
#[derive(Debug)]
pub(super) enum GpuWords {
    U32(Buf<u32>),
    I32(Buf<i32>),
    F32(Buf<f32>),
    I64(Buf<i64>),
    U64(Buf<u64>),
    F64(Buf<f64>),
}

impl GpuWords {
    pub fn words(&self) -> View<'_, u32> {
        match self {
            Self::U32(b) => b.view(),
            Self::I32(b) => b.view().cast(),
            Self::F32(b) => b.view().cast(),
            Self::I64(b) => b.view().cast(),
            Self::U64(b) => b.view().cast(),
            Self::F64(b) => b.view().cast(),
        }
    }
}

/// The words of a column or a mask.
#[derive(Debug)]
pub(super) enum Store {
    Host(HostWords),
    Cuda(GpuWords),
}

impl Store {
    /// The words on the host, if they live there.
    pub fn host(&self) -> Option<&HostWords> {
        match self {
            Self::Host(words) => Some(words),
            Self::Cuda(_) => None,
        }
    }

    /// The words on the GPU, if they live there.
    pub fn cuda(&self) -> Option<View<'_, u32>> {
        match self {
            Self::Host(_) => None,
            Self::Cuda(words) => Some(words.words()),
        }
    }
}

impl From<HostWords> for Store {
    fn from(words: HostWords) -> Self {
        Self::Host(words)
    }
}

impl From<Buf<u32>> for Store {
    fn from(words: Buf<u32>) -> Self {
        Self::Cuda(GpuWords::U32(words))
    }
}
