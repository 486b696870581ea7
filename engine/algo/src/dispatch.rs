//! Dispatch of an algorithm: on the GPU where there is one that suffices, else on the CPU.
//!
//! Every caller comes through [`run`]: a dataset's `compute`, GFQL calls, Cypher procedures, the command line. A caller
//! that has a GPU hands over an [`Accelerator`]; [`forms`] lists the algorithms that have a form for it. A GPU
//! that fails costs a line in the log, and the CPU gives the answer.

use std::sync::Arc;

use graphlume_device::cuda::{Gpu, GpuOptions};
use graphlume_graph::Topology;

use crate::accelerator::{Accelerator, Prepared, Work};
use crate::gpu::forms;
use crate::gpu_graph::GpuGraph;
use crate::place::ComputedOn;
use crate::{AlgoError, AlgorithmSpec, Input, Output, ParamValues, vertex_set};

/// Runs `spec`, on the GPU where that is possible and pays, else on the current rayon pool.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use graphlume_algo::input::Unnamed;
/// use graphlume_algo::{Input, Kind, ParamValues, Values, find, run};
/// use graphlume_graph::Topology;
/// use graphlume_types::CancelToken;
///
/// // Three nodes in a row, and one by itself.
/// let graph = Arc::new(Topology::from_coo(4, &[0, 1], &[1, 2]));
/// let (names, cancel) = (Unnamed(4), CancelToken::new());
/// let input = Input::plain(&graph, &names, &cancel);
/// let spec = find(Kind::Compute, "igraph", "coreness").expect("igraph has it");
/// let params = ParamValues::from_pairs(spec, &["mode=all"])?;
/// let output = run(spec, &input, &params)?;
/// assert_eq!(output.columns[0].values, Values::I64(vec![1, 1, 1, 0]));
///
/// let refused = ParamValues::from_pairs(spec, &["mode=sideways"]).unwrap_err();
/// assert!(refused.to_string().contains("mode"), "{refused}");
/// # Ok::<(), graphlume_algo::AlgoError>(())
/// ```
///
/// # Errors
/// [`AlgoError`]: see the algorithm. Never [`AlgoError::Device`].
pub fn run(
    spec: &AlgorithmSpec,
    input: &Input<'_>,
    params: &ParamValues,
) -> Result<Output, AlgoError> {
    if params.edges_only() {
        return vertex_set::edges_only(input, |part| on_its_side(spec, part, params));
    }
    on_its_side(spec, input, params)
}

/// The same where the vertex set is settled.
fn on_its_side(
    spec: &AlgorithmSpec,
    input: &Input<'_>,
    params: &ParamValues,
) -> Result<Output, AlgoError> {
    let Some(device) = input.device else { return (spec.run)(input, params) };
    let why = match on_device(spec, device, input, params)? {
        Ok(output) => return Ok(Output { place: ComputedOn::Gpu(device.name()), ..output }),
        Err(why) => why,
    };
    let output = (spec.run)(input, params)?;
    Ok(Output { place: ComputedOn::CpuBecause(why), ..output })
}

/// The answer of the GPU, or why it gives none.
fn on_device(
    spec: &AlgorithmSpec,
    device: &dyn Accelerator,
    input: &Input<'_>,
    params: &ParamValues,
) -> Result<Result<Output, String>, AlgoError> {
    let Some(form) = forms::of(spec.id) else {
        return Ok(Err("it has no form for the GPU".to_owned()));
    };
    let (edges, least) = (input.topology.num_edges(), device.edges_min());
    if edges < least {
        let why = format!("the graph has {edges} edges, fewer than the {least} of --gpu-edges-min");
        return Ok(Err(why));
    }
    let mut job = match form(input, params)? {
        Prepared::Job(job) => job,
        Prepared::Declined(why) => return Ok(Err(why.to_owned())),
    };
    let (n, m) = (u64::from(job.topology.num_nodes()), u64::from(job.topology.num_edges()));
    let (needed, limit) = (GpuGraph::footprint(n, m) + job.bytes, device.memory_bytes());
    if needed > limit {
        return Ok(Err(format!(
            "it takes {needed} bytes of device memory, of which there are {limit}"
        )));
    }
    match device.run(&job.topology, &mut *job.work) {
        Err(error @ AlgoError::Device(_)) => {
            device.failed(spec.id, &error);
            Ok(Err(format!("the GPU failed: {error}")))
        }
        done => done.map(Ok),
    }
}

/// A GPU that keeps no graphs, for commands that look at one graph and end.
#[derive(Debug)]
pub struct OneGraph {
    /// The device.
    pub gpu: Gpu,
    /// Graphs with fewer edges stay on the CPU.
    pub edges_min: u32,
}

impl OneGraph {
    /// Opens the first GPU.
    ///
    /// # Errors
    /// [`AlgoError::Device`] when there is none, or it computes wrongly.
    pub fn open(edges_min: u32) -> Result<Self, AlgoError> {
        let gpu = Gpu::open(&GpuOptions::default())?;
        gpu.canary()?;
        Ok(Self { gpu, edges_min })
    }
}

impl Accelerator for OneGraph {
    fn name(&self) -> String {
        self.gpu.info().name.clone()
    }

    fn edges_min(&self) -> u32 {
        self.edges_min
    }

    fn memory_bytes(&self) -> u64 {
        self.gpu.budget().limit()
    }

    fn run(&self, topology: &Arc<Topology>, work: &mut Work<'_>) -> Result<Output, AlgoError> {
        let graph = GpuGraph::upload(&self.gpu, topology)?;
        work(&self.gpu, &graph)
    }

    fn failed(&self, _: &'static str, _: &AlgoError) {
        // The answer says it, and a command has no log.
    }
}
