//! Errors of primitives.

use graphlume_types::{Cancelled, Code, Coded, ResourcesExhausted};

use super::{DType, Value};
use crate::cuda::DeviceError;

/// Why a primitive gave no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ColumnOpError {
    /// The GPU's answer.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The host's memory budget.
    #[error("{0}; free some or raise the limit")]
    HostMemory(#[from] ResourcesExhausted),
    /// The work was stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Operands of one call live in different places.
    #[error("{primitive}: an operand lives on another device; upload it to this one")]
    Elsewhere {
        /// The call.
        primitive: &'static str,
    },
    /// Operands of one call have different numbers of rows.
    #[error("{primitive}: an operand has {got} rows and needs {need}")]
    Rows {
        /// The call.
        primitive: &'static str,
        /// Rows it has.
        got: usize,
        /// Rows it must have.
        need: usize,
    },
    /// The primitive is not defined for the dtype.
    #[error("{primitive} is not defined for a {dtype} column; {remedy}")]
    DType {
        /// The call.
        primitive: &'static str,
        /// What it was given.
        dtype: DType,
        /// What it takes.
        remedy: &'static str,
    },
    /// A predicate compares a column with a value of another kind.
    #[error("column {column} is {dtype} and cannot be compared with {value:?}; convert the value")]
    Value {
        /// The column's place in the call.
        column: usize,
        /// Its dtype.
        dtype: DType,
        /// The value.
        value: Value,
    },
    /// A predicate names a column that the call does not have.
    #[error("the predicate names column {column} and there are {columns}")]
    NoColumn {
        /// The column's place.
        column: usize,
        /// Columns of the call.
        columns: usize,
    },
    /// A stated limit was exceeded.
    #[error("{primitive}: {what} is {got} and the limit is {limit}")]
    Limit {
        /// The call.
        primitive: &'static str,
        /// What was counted.
        what: &'static str,
        /// How much it was.
        got: u64,
        /// The limit.
        limit: u64,
    },
    /// The bins of a histogram make no sense.
    #[error(
        "histogram: {bins} bins over {low} to {high}; give at least one bin and a finite range"
    )]
    Bins {
        /// How many.
        bins: u32,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
}

impl Coded for ColumnOpError {
    fn code(&self) -> Code {
        match self {
            Self::Device(e) => e.code(),
            Self::HostMemory(r) if r.never_fits() => Code::TooLarge,
            Self::HostMemory(_) => Code::DeviceMemory,
            Self::Cancelled(_) => Code::Cancelled,
            Self::Limit { .. } => Code::TooLarge,
            Self::Value { .. } | Self::Bins { .. } => Code::InvalidArgument,
            Self::Elsewhere { .. }
            | Self::Rows { .. }
            | Self::DType { .. }
            | Self::NoColumn { .. } => Code::Internal,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::Device(e) => e.slug(),
            Self::HostMemory(_) => "host-memory",
            Self::Cancelled(_) => "cancelled",
            Self::Elsewhere { .. } => "operand-elsewhere",
            Self::Rows { .. } => "rows-differ",
            Self::DType { .. } => "dtype-not-supported",
            Self::Value { .. } => "value-not-comparable",
            Self::NoColumn { .. } => "no-such-column",
            Self::Limit { .. } => "primitive-limit",
            Self::Bins { .. } => "histogram-bins",
        }
    }
}
