//! Reasons why a row has no figures.

use graphlume_algo::AlgoError;
use graphlume_device::columns::ColumnOpError;
use graphlume_device::cuda::DeviceError;

/// Why a row has no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuiteError {
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Algo(#[from] AlgoError),
    #[error(transparent)]
    Prim(#[from] ColumnOpError),
    #[error("a graph cannot be made: {0}")]
    Graph(#[from] graphlume_generate::SpecError),
    #[error("the threads of the processor's side cannot be started: {0}")]
    Threads(String),
}
