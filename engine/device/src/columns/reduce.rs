//! Count, sum, least and greatest of a column.

use graphlume_types::CancelToken;

use super::store::{HostWords, Store};
use super::{
    ColumnOpError, DType, Device, DeviceColumn, Mask, MaskOp, check_rows, cpu, gpu, same_rows,
};

/// A number out of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of integers and bools (false is 0): exact.
    Int(i128),
    /// Of floats.
    Float(f64),
}

impl Number {
    /// The nearest float.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(i) => i as f64,
            Self::Float(f) => f,
        }
    }
}

/// What [`Device::reduce`] answers. Nulls and NaN are passed over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduced {
    /// Cells that hold a value.
    pub count: u64,
    /// Their sum, 0 of none.
    pub sum: Number,
    /// The least; `None` of none.
    pub least: Option<Number>,
    /// The greatest; `None` of none.
    pub greatest: Option<Number>,
}

impl Reduced {
    /// The mean; `None` of no cell.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.as_f64() / self.count as f64)
    }
}

/// What some cells are together, while they are being seen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    Int { count: u64, sum: i128, least: i64, greatest: i64 },
    Float { count: u64, sum: f64, least: f64, greatest: f64 },
}

impl Seen {
    pub const NO_INT: Self = Self::Int { count: 0, sum: 0, least: i64::MAX, greatest: i64::MIN };
    pub const NO_FLOAT: Self =
        Self::Float { count: 0, sum: 0.0, least: f64::INFINITY, greatest: f64::NEG_INFINITY };

    pub const fn none(dtype: DType) -> Self {
        if dtype.is_float() { Self::NO_FLOAT } else { Self::NO_INT }
    }

    pub fn int(&mut self, v: i64) {
        if let Self::Int { count, sum, least, greatest } = self {
            *count += 1;
            *sum += i128::from(v);
            *least = v.min(*least);
            *greatest = v.max(*greatest);
        }
    }

    pub fn float(&mut self, v: f64) {
        if let Self::Float { count, sum, least, greatest } = self
            && !v.is_nan()
        {
            *count += 1;
            *sum += v;
            *least = if v < *least { v } else { *least };
            *greatest = if *greatest < v { v } else { *greatest };
        }
    }

    /// This and then that.
    pub fn join(self, that: Self) -> Self {
        match (self, that) {
            (
                Self::Int { count, sum, least, greatest },
                Self::Int { count: c, sum: s, least: l, greatest: g },
            ) => Self::Int {
                count: count + c,
                sum: sum + s,
                least: least.min(l),
                greatest: greatest.max(g),
            },
            (
                Self::Float { count, sum, least, greatest },
                Self::Float { count: c, sum: s, least: l, greatest: g },
            ) => Self::Float {
                count: count + c,
                sum: sum + s,
                least: if l < least { l } else { least },
                greatest: if greatest < g { g } else { greatest },
            },
            (kept, _) => kept,
        }
    }

    /// The sum as a cell of 8 bytes: modulo 2^64 for integers.
    pub const fn sum_bits(self) -> u64 {
        match self {
            Self::Int { sum, .. } => sum as u64,
            Self::Float { sum, .. } => sum.to_bits(),
        }
    }

    /// Least and greatest as cells of 8 bytes; NaN of no float.
    pub const fn end_bits(self) -> (u64, u64) {
        match self {
            Self::Int { least, greatest, .. } => (least as u64, greatest as u64),
            Self::Float { count: 0, .. } => (f64::NAN.to_bits(), f64::NAN.to_bits()),
            Self::Float { least, greatest, .. } => (least.to_bits(), greatest.to_bits()),
        }
    }

    fn finish(self) -> Reduced {
        let some = |count, v| (count > 0).then_some(v);
        match self {
            Self::Int { count, sum, least, greatest } => Reduced {
                count,
                sum: Number::Int(sum),
                least: some(count, Number::Int(i128::from(least))),
                greatest: some(count, Number::Int(i128::from(greatest))),
            },
            Self::Float { count, sum, least, greatest } => Reduced {
                count,
                sum: Number::Float(sum),
                least: some(count, Number::Float(least)),
                greatest: some(count, Number::Float(greatest)),
            },
        }
    }
}

/// Calls `$f::<cell type>(words as cells, how a cell is seen)` for the dtype of a column on the
/// host.
macro_rules! with_cells {
    ($dtype:expr, $words:expr, |$cells:ident, $see:ident| $body:expr) => {{
        use $crate::columns::reduce::Seen;
        match $dtype {
            $crate::columns::DType::I64 => {
                let ($cells, $see) = ($words.cells::<i64>(), |s: &mut Seen, v: i64| s.int(v));
                $body
            }
            $crate::columns::DType::I32 => {
                let ($cells, $see) =
                    ($words.cells::<i32>(), |s: &mut Seen, v: i32| s.int(v.into()));
                $body
            }
            $crate::columns::DType::F64 => {
                let ($cells, $see) = ($words.cells::<f64>(), |s: &mut Seen, v: f64| s.float(v));
                $body
            }
            $crate::columns::DType::F32 => {
                let ($cells, $see) =
                    ($words.cells::<f32>(), |s: &mut Seen, v: f32| s.float(v.into()));
                $body
            }
            _ => {
                let ($cells, $see) =
                    ($words.cells::<u32>(), |s: &mut Seen, v: u32| s.int(v.into()));
                $body
            }
        }
    }};
}
pub(super) use with_cells;

/// The mask that counts: the column's validity, the caller's selection, or both.
pub(super) enum Select<'a> {
    All,
    One(&'a Mask),
    Both(Mask),
}

impl Select<'_> {
    pub fn mask(&self) -> Option<&Mask> {
        match self {
            Self::All => None,
            Self::One(mask) => Some(mask),
            Self::Both(mask) => Some(mask),
        }
    }

    /// The words on the host; `None` when every row counts.
    pub fn host(&self) -> Option<&[u32]> {
        self.mask().and_then(|m| m.bits.host()).map(HostWords::cells)
    }
}

impl Device {
    pub(super) fn select<'a>(
        &self,
        primitive: &'static str,
        column: &'a DeviceColumn,
        mask: Option<&'a Mask>,
    ) -> Result<Select<'a>, ColumnOpError> {
        check_rows(primitive, column.rows)?;
        if let Some(mask) = mask {
            same_rows(primitive, mask.rows, column.rows)?;
        }
        let operands =
            [Some(&column.cells), mask.map(|m| &m.bits), column.valid.as_ref().map(|m| &m.bits)];
        for store in operands.into_iter().flatten() {
            let here = match self {
                Self::Cpu(_) => store.host().is_some(),
                Self::Cuda(_) => store.cuda().is_some(),
            };
            if !here {
                return Err(ColumnOpError::Elsewhere { primitive });
            }
        }
        Ok(match (mask, &column.valid) {
            (None, None) => Select::All,
            (Some(one), None) | (None, Some(one)) => Select::One(one),
            (Some(a), Some(b)) => Select::Both(self.mask_combine(MaskOp::And, a, b)?),
        })
    }

    /// Count, sum, least, greatest (and with them the mean) of the cells of a column in the rows of
    /// a mask, or in all rows. Nulls and NaN are passed over. A code column reduces its codes.
    /// Cost: waits; the column and up to n / 2 bytes of masks.
    ///
    /// # Errors
    /// [`ColumnOpError::Rows`], [`ColumnOpError::Elsewhere`], [`ColumnOpError::Cancelled`]; memory.
    pub fn reduce(
        &self,
        column: &DeviceColumn,
        mask: Option<&Mask>,
        cancel: &CancelToken,
    ) -> Result<Reduced, ColumnOpError> {
        let select = self.select("reduce", column, mask)?;
        cancel.check()?;
        if column.dtype == DType::Bool {
            return self.reduce_bits(column, &select);
        }
        let seen = match (self, column.cells.host(), column.cells.cuda()) {
            (Self::Cpu(c), Some(words), _) => {
                let (none, select) = (Seen::none(column.dtype), select.host());
                let (ints, floats) = (cpu::reduce::ints::<i64>, cpu::reduce::floats::<f64>);
                c.pool.install(|| match column.dtype {
                    DType::I64 => cpu::reduce::seen(words.cells(), select, cancel, none, ints),
                    DType::F64 => cpu::reduce::seen(words.cells(), select, cancel, none, floats),
                    DType::I32 => {
                        let ints = cpu::reduce::ints::<i32>;
                        cpu::reduce::seen(words.cells(), select, cancel, none, ints)
                    }
                    DType::F32 => {
                        let floats = cpu::reduce::floats::<f32>;
                        cpu::reduce::seen(words.cells(), select, cancel, none, floats)
                    }
                    DType::U32 | DType::Codes | DType::Bool => {
                        let ints = cpu::reduce::ints::<u32>;
                        cpu::reduce::seen(words.cells(), select, cancel, none, ints)
                    }
                })?
            }
            (Self::Cuda(g), _, Some(words)) => {
                let select = select.mask().and_then(|m| m.bits.cuda());
                gpu::reduce::seen(g, column.rows, column.dtype, words, select)?
            }
            _ => return Err(ColumnOpError::Elsewhere { primitive: "reduce" }),
        };
        Ok(seen.finish())
    }

    fn reduce_bits(
        &self,
        column: &DeviceColumn,
        select: &Select<'_>,
    ) -> Result<Reduced, ColumnOpError> {
        let bits = |rows, store: &Store| match (self, store.host(), store.cuda()) {
            (Self::Cpu(c), Some(w), _) => Ok(c.pool.install(|| cpu::mask::count(w.cells()))),
            (Self::Cuda(g), _, Some(w)) => Ok(gpu::mask::count(g, check_rows("reduce", rows)?, w)?),
            _ => Err(ColumnOpError::Elsewhere { primitive: "reduce" }),
        };
        let (count, set) = match select.mask() {
            None => (column.rows as u64, bits(column.rows, &column.cells)?),
            Some(mask) => {
                let both = self.combine_bits(MaskOp::And, mask.rows, &column.cells, &mask.bits)?;
                (self.mask_count(mask)?, bits(mask.rows, &both)?)
            }
        };
        let number = |v: bool| (count > 0).then_some(Number::Int(i128::from(v)));
        Ok(Reduced {
            count,
            sum: Number::Int(i128::from(set)),
            least: number(set == count),
            greatest: number(set > 0),
        })
    }
}
