//! Errors of an algorithm, while it is set up or run.

use graphlume_device::cuda::DeviceError;
use graphlume_types::{Cancelled, Code, Coded, ResourcesExhausted};

/// Why an algorithm gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AlgoError {
    /// No such algorithm.
    #[error("there is no {kind} named {name:?}{hint}; known are: {known}")]
    UnknownAlgorithm {
        /// `compute` or `layout`.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// A did-you-mean clause, or nothing.
        hint: String,
        /// The legal names.
        known: String,
    },
    /// A parameter that the algorithm does not have.
    #[error("{algorithm} has no parameter {name:?}{hint}; it takes {legal}")]
    UnknownParam {
        /// The algorithm.
        algorithm: &'static str,
        /// The parameter given.
        name: String,
        /// A did-you-mean clause, or nothing.
        hint: String,
        /// The legal names.
        legal: String,
    },
    /// A parameter whose value is of the wrong type or out of range.
    #[error("parameter {name:?} of {algorithm} is {value}: expected {expected}")]
    BadParam {
        /// The algorithm.
        algorithm: &'static str,
        /// The parameter.
        name: String,
        /// What was given, as text.
        value: String,
        /// What is legal.
        expected: String,
    },
    /// An input column or array does not fit the graph.
    #[error("{what} has {got} entries: expected {expected}, one for each {unit}")]
    Length {
        /// Which input.
        what: &'static str,
        /// Entries given.
        got: usize,
        /// Entries needed.
        expected: usize,
        /// `node` or `edge row`.
        unit: &'static str,
    },
    /// An input array holds a value that the algorithm cannot use.
    #[error("{what} of {unit} {index} is {value}: expected {expected}")]
    BadValue {
        /// Which input.
        what: &'static str,
        /// `node` or `edge row`.
        unit: &'static str,
        /// Where.
        index: usize,
        /// The value.
        value: f64,
        /// What is legal.
        expected: &'static str,
    },
    /// An iterative method did not reach its tolerance.
    #[error(
        "{algorithm} did not converge within {iterations} iterations (last change {change:e}): \
         raise max_iter or tol"
    )]
    NotConverged {
        /// The algorithm.
        algorithm: &'static str,
        /// Iterations done.
        iterations: u64,
        /// The last change.
        change: f64,
    },
    /// The graph is too large for an exact method. Nothing was taken for it yet.
    #[error("{algorithm} takes at most {limit} {what}, and the graph has {size}: {instead}")]
    TooLarge {
        /// The algorithm.
        algorithm: &'static str,
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        size: u64,
        /// How much there may be.
        limit: u64,
        /// What the caller can do instead.
        instead: &'static str,
    },
    /// The graph has a property that the algorithm cannot work with.
    #[error("{algorithm}: {what}: {remedy}")]
    Unfit {
        /// The algorithm.
        algorithm: &'static str,
        /// The property.
        what: String,
        /// What the caller can do.
        remedy: &'static str,
    },
    /// The work was stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The caller's share of memory does not hold what the algorithm needs. It was not taken.
    #[error(transparent)]
    Memory(#[from] ResourcesExhausted),
    /// The GPU did not do its part.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl Coded for AlgoError {
    fn code(&self) -> Code {
        match self {
            Self::UnknownAlgorithm { .. }
            | Self::UnknownParam { .. }
            | Self::BadParam { .. }
            | Self::Length { .. }
            | Self::BadValue { .. }
            | Self::TooLarge { .. }
            | Self::Unfit { .. }
            | Self::NotConverged { .. } => Code::InvalidArgument,
            Self::Cancelled(_) => Code::Cancelled,
            Self::Memory(_) => Code::TooLarge,
            Self::Device(e) => e.code(),
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::UnknownAlgorithm { .. } => "algorithm-not-found",
            Self::UnknownParam { .. } => "parameter-not-found",
            Self::BadParam { .. } => "parameter-invalid",
            Self::Length { .. } => "length-mismatch",
            Self::BadValue { .. } => "value-invalid",
            Self::TooLarge { .. } => "graph-too-large",
            Self::Unfit { .. } => "graph-unfit",
            Self::NotConverged { .. } => "not-converged",
            Self::Cancelled(_) => "cancelled",
            Self::Memory(_) => "query-out-of-memory",
            Self::Device(e) => e.slug(),
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            Self::UnknownParam { name, .. } | Self::BadParam { name, .. } => Some(name),
            Self::Length { what, .. } | Self::BadValue { what, .. } => Some(what),
            _ => None,
        }
    }
}

impl AlgoError {
    /// Refuses `values` unless it has one entry for each `unit`.
    pub(crate) fn check_len(
        what: &'static str,
        got: usize,
        expected: usize,
        unit: &'static str,
    ) -> Result<(), Self> {
        if got == expected { Ok(()) } else { Err(Self::Length { what, got, expected, unit }) }
    }
}
