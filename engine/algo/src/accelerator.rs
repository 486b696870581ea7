//! Accelerators: a GPU that can be used, and an algorithm that is ready to run on one.

use std::sync::Arc;

use graphlume_device::cuda::Gpu;
use graphlume_graph::Topology;

use crate::gpu_graph::GpuGraph;
use crate::{AlgoError, Output};

/// What runs on a GPU over the copy of a graph that lies there. It may run again after one that lacked memory.
pub type Work<'a> = dyn FnMut(&Gpu, &GpuGraph) -> Result<Output, AlgoError> + 'a;

/// A GPU that can be used, with the graphs that it keeps. Who calls an algorithm has it.
pub trait Accelerator: Send + Sync + std::fmt::Debug {
    /// The name of the device, for answers.
    fn name(&self) -> String;

    /// Graphs with fewer edges are cheaper on the CPU.
    fn edges_min(&self) -> u32;

    /// Bytes of device memory that graphs and algorithms may take together.
    fn memory_bytes(&self) -> u64;

    /// Runs `work` over the copy of `topology`, which is made if it is not there.
    ///
    /// # Errors
    /// Those of `work`, and [`AlgoError::Device`].
    fn run(&self, topology: &Arc<Topology>, work: &mut Work<'_>) -> Result<Output, AlgoError>;

    /// An algorithm failed on the device and runs on the CPU: for the log.
    fn failed(&self, algorithm: &'static str, error: &AlgoError);
}

/// An algorithm with its parameters, ready to run on a GPU.
pub struct DeviceJob<'a> {
    /// The graph as the library of the request sees it.
    pub topology: Arc<Topology>,
    /// Bytes of device memory at most, besides the graph's own.
    pub bytes: u64,
    /// What runs.
    pub work: Box<Work<'a>>,
}

/// What the form of an algorithm for the GPU makes of a request.
pub enum Prepared<'a> {
    /// It can run.
    Job(DeviceJob<'a>),
    /// It cannot, and why; the CPU can.
    Declined(&'static str),
}
