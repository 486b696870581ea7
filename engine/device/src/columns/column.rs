//! Columns: their dtypes, cells and validity, and the way to a device and back.

use super::store::{GpuWords, HostWords, Store};
use super::{ColumnOpError, Device, Mask};
use crate::cuda::{Buf, View};

/// The dtypes of columns on a device. Text is a [`DType::Codes`] column over a dictionary on the
/// host; timestamps and other integers are [`DType::I64`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// 64-bit integers.
    I64,
    /// 32-bit integers.
    I32,
    /// 32-bit unsigned integers, such as row numbers.
    U32,
    /// 64-bit floats; NaN is a null.
    F64,
    /// 32-bit floats; NaN is a null.
    F32,
    /// One bit a row.
    Bool,
    /// Codes of a dictionary on the host.
    Codes,
}

impl DType {
    /// Words of 32 bits that `rows` cells take.
    #[must_use]
    pub const fn words(self, rows: usize) -> usize {
        match self {
            Self::I64 | Self::F64 => 2 * rows,
            Self::I32 | Self::U32 | Self::F32 | Self::Codes => rows,
            Self::Bool => rows.div_ceil(32),
        }
    }

    /// Whether NaN may occur.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32)
    }

    /// The number that kernels know it by; bits have none.
    pub(super) const fn number(self) -> u32 {
        match self {
            Self::I64 => 0,
            Self::I32 => 1,
            Self::U32 | Self::Codes | Self::Bool => 2,
            Self::F64 => 3,
            Self::F32 => 4,
        }
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::Bool => "bool",
            Self::Codes => "codes",
        })
    }
}

/// Cells on the host, to be uploaded.
#[derive(Clone, Copy, Debug)]
pub enum Cells<'a> {
    /// [`DType::I64`].
    I64(&'a [i64]),
    /// [`DType::I32`].
    I32(&'a [i32]),
    /// [`DType::U32`].
    U32(&'a [u32]),
    /// [`DType::F64`].
    F64(&'a [f64]),
    /// [`DType::F32`].
    F32(&'a [f32]),
    /// [`DType::Bool`], one byte a row; not zero is true.
    Bytes(&'a [u8]),
    /// [`DType::Codes`].
    Codes(&'a [u32]),
}

impl Cells<'_> {
    /// Number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        match self {
            Self::I64(c) => c.len(),
            Self::I32(c) => c.len(),
            Self::U32(c) | Self::Codes(c) => c.len(),
            Self::F64(c) => c.len(),
            Self::F32(c) => c.len(),
            Self::Bytes(c) => c.len(),
        }
    }
}

/// Cells that came back to the host.
#[derive(Clone, Debug, PartialEq)]
pub enum HostCells {
    /// [`DType::I64`].
    I64(Vec<i64>),
    /// [`DType::I32`].
    I32(Vec<i32>),
    /// [`DType::U32`].
    U32(Vec<u32>),
    /// [`DType::F64`].
    F64(Vec<f64>),
    /// [`DType::F32`].
    F32(Vec<f32>),
    /// [`DType::Bool`], one byte a row, 0 or 1.
    Bytes(Vec<u8>),
    /// [`DType::Codes`].
    Codes(Vec<u32>),
}

/// A column on a device. Cells of null rows have undefined values.
#[derive(Debug)]
pub struct DeviceColumn {
    pub(super) dtype: DType,
    pub(super) rows: usize,
    pub(super) cells: Store,
    /// Rows that hold a value; absent when all do.
    pub(super) valid: Option<Mask>,
}

macro_rules! from_buf {
    ($($value:ty, $dtype:ident);*) => {
        $(impl From<Buf<$value>> for DeviceColumn {
            /// The array as a column without nulls; nothing is copied.
            fn from(cells: Buf<$value>) -> Self {
                Self {
                    dtype: DType::$dtype,
                    rows: cells.len(),
                    cells: Store::Cuda(GpuWords::$dtype(cells)),
                    valid: None,
                }
            }
        })*
    };
}
from_buf!(u32, U32; i32, I32; f32, F32; i64, I64; f64, F64);

impl DeviceColumn {
    /// Its dtype.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Whether it is a column of no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The words of its cells on the GPU, if it lives there.
    #[must_use]
    pub fn words(&self) -> Option<View<'_, u32>> {
        self.cells.cuda()
    }

    /// The rows that hold a value; `None` when all do. NaN cells are nulls besides.
    #[must_use]
    pub const fn valid(&self) -> Option<&Mask> {
        self.valid.as_ref()
    }

    /// Codes as u32 numbers, all of which count; nothing is copied. Other columns stay what they are.
    #[must_use]
    pub fn into_numbers(self) -> Self {
        match self.dtype {
            DType::Codes => Self { dtype: DType::U32, valid: None, ..self },
            _ => self,
        }
    }

    /// The same cells with other nulls.
    ///
    /// # Errors
    /// [`ColumnOpError::Rows`] when the mask has another number of rows.
    pub fn with_valid(self, valid: Option<Mask>) -> Result<Self, ColumnOpError> {
        match &valid {
            Some(mask) if mask.rows != self.rows => Err(ColumnOpError::Rows {
                primitive: "with_valid",
                got: mask.rows,
                need: self.rows,
            }),
            _ => Ok(Self { valid, ..self }),
        }
    }
}

impl Device {
    /// Copies a column to the device. `valid` has bit r % 32 of word r / 32 set where row r holds a
    /// value; `None` when all do.
    /// Cost: the bytes over the bus (on the CPU a copy); reserves them first.
    ///
    /// # Errors
    /// [`ColumnOpError::HostMemory`] or [`ColumnOpError::Device`] for memory; [`ColumnOpError::Rows`] when
    /// `valid` is too short; [`ColumnOpError::Limit`] from 2^32 rows on.
    pub fn upload(
        &self,
        cells: Cells<'_>,
        valid: Option<&[u32]>,
    ) -> Result<DeviceColumn, ColumnOpError> {
        let rows = cells.rows();
        super::check_rows("upload", rows)?;
        let (dtype, cells) = match cells {
            Cells::I64(c) => (DType::I64, self.store(c)?),
            Cells::I32(c) => (DType::I32, self.store(c)?),
            Cells::U32(c) => (DType::U32, self.store(c)?),
            Cells::F64(c) => (DType::F64, self.store(c)?),
            Cells::F32(c) => (DType::F32, self.store(c)?),
            Cells::Codes(c) => (DType::Codes, self.store(c)?),
            Cells::Bytes(c) => (DType::Bool, self.mask_from_bytes(c)?.bits),
        };
        let valid = valid.map(|words| self.mask_from_words(rows, words)).transpose()?;
        Ok(DeviceColumn { dtype, rows, cells, valid })
    }

    fn store<T: bytemuck::Pod>(&self, cells: &[T]) -> Result<Store, ColumnOpError> {
        Ok(match self {
            Self::Cpu(cpu) => HostWords::copy(&cpu.budget, cells)?.into(),
            Self::Cuda(gpu) => {
                let words = size_of_val(cells) / 4;
                let mut buf = gpu.alloc::<u32>("a column", words)?;
                gpu.write(buf.view_mut().cast(), cells)?;
                buf.into()
            }
        })
    }

    /// Copies a column to the host: its cells and, if it has nulls, its validity words.
    /// Cost: waits for the device; the bytes over the bus.
    ///
    /// # Errors
    /// [`ColumnOpError::Device`], [`ColumnOpError::Elsewhere`].
    pub fn download(
        &self,
        column: &DeviceColumn,
    ) -> Result<(HostCells, Option<Vec<u32>>), ColumnOpError> {
        let cells = &column.cells;
        let cells = match column.dtype {
            DType::I64 => HostCells::I64(self.fetch(cells)?),
            DType::I32 => HostCells::I32(self.fetch(cells)?),
            DType::U32 => HostCells::U32(self.fetch(cells)?),
            DType::F64 => HostCells::F64(self.fetch(cells)?),
            DType::F32 => HostCells::F32(self.fetch(cells)?),
            DType::Codes => HostCells::Codes(self.fetch(cells)?),
            DType::Bool => HostCells::Bytes(self.bits_to_bytes(column.rows, cells)?),
        };
        let valid = column.valid.as_ref().map(|m| self.fetch(&m.bits)).transpose()?;
        Ok((cells, valid))
    }

    pub(super) fn fetch<T: bytemuck::Pod>(&self, store: &Store) -> Result<Vec<T>, ColumnOpError> {
        match (self, store) {
            (Self::Cpu(_), Store::Host(words)) => Ok(words.cells().to_vec()),
            (Self::Cuda(gpu), Store::Cuda(words)) => Ok(gpu.read(words.words().cast())?),
            _ => Err(ColumnOpError::Elsewhere { primitive: "download" }),
        }
    }
}
