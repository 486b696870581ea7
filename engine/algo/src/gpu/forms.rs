//! The forms of algorithms for the GPU: each reads the parameters as the specification's own function does, and gives
//! the same columns.

use std::sync::Arc;

use graphlume_device::cuda::Gpu;
use graphlume_graph::Topology;

use super::{bfs, components, louvain, pagerank, sssp};
use crate::accelerator::{DeviceJob, Prepared};
use crate::centrality::pagerank::{Options, cugraph_options, igraph_options};
use crate::community::louvain::{Options as Search, SUB_ROUNDS_ARCS};
use crate::community::louvain_spec::{louvain_options, multilevel_options};
use crate::gpu_graph::GpuGraph;
use crate::input::Sign;
use crate::libraries::{Seen, seen};
use crate::path::distances;
use crate::weighted_graph::list_entries;
use crate::{AlgoError, Input, Output, ParamValues, Values};

/// The form of an algorithm for the GPU.
pub type DeviceForm = for<'a> fn(&'a Input<'a>, &'a ParamValues) -> Result<Prepared<'a>, AlgoError>;

/// Algorithms by their ids, and their forms.
const FORMS: &[(&str, DeviceForm)] = &[
    ("pagerank", pagerank),
    ("pagerank_igraph", pagerank_igraph),
    ("louvain", louvain),
    ("community_multilevel", multilevel),
    ("weakly_connected_components", weak),
    ("connected_components", connected),
    ("bfs", bfs),
    ("sssp", sssp),
    ("shortest_path", shortest_path),
];

/// The form of the algorithm with this id, where it has one.
#[must_use]
pub fn of(id: &str) -> Option<DeviceForm> {
    FORMS.iter().find(|(own, _)| *own == id).map(|(_, form)| *form)
}

type Prepares<'a> = Result<Prepared<'a>, AlgoError>;

/// Nodes and edges of a graph, as footprints count them.
fn size(t: &Topology) -> (u64, u64) {
    (u64::from(t.num_nodes()), u64::from(t.num_edges()))
}

/// cuGraph's `pagerank`.
///
/// # Errors
/// Those of the parameters.
fn pagerank<'a>(input: &'a Input<'a>, p: &'a ParamValues) -> Prepares<'a> {
    let given = |name: &str| p.is_given(name);
    if ["personalization", "nstart", "precomputed_vertex_out_weight"].into_iter().any(given) {
        return Ok(Prepared::Declined(
            "ranks that begin or restart by a table are found on the CPU",
        ));
    }
    let options = cugraph_options(p);
    ranks(input, p, options, |values| Ok(Output::one("pagerank", values)))
}

/// igraph's `pagerank`.
///
/// # Errors
/// Those of the parameters.
fn pagerank_igraph<'a>(input: &'a Input<'a>, p: &'a ParamValues) -> Prepares<'a> {
    let kept = input.nodes(p, "vertices")?;
    ranks(input, p, igraph_options(p), move |values| {
        Ok(Output::one("pagerank", values.only(kept.as_deref())))
    })
}

fn ranks<'a>(
    input: &'a Input<'a>,
    p: &'a ParamValues,
    options: Options,
    columns: impl Fn(Values) -> Result<Output, AlgoError> + 'a,
) -> Prepares<'a> {
    let weights = input.weights(p, Sign::NotNegative)?;
    let Seen { topology, weights } = seen(input, !options.directed, weights.as_deref())?;
    let (n, m) = size(&topology);
    let bytes = pagerank::footprint(n, m, weights.is_some(), options.directed);
    let work = move |gpu: &Gpu, graph: &GpuGraph| {
        let (weights, directed) = (weights.as_deref(), options.directed);
        let make = || pagerank::Plan::new(gpu, graph, weights, directed, input.cancel);
        let plan = match (weights, directed) {
            (Some(_), _) => Arc::new(make()?),
            (None, true) => graph.plan(gpu, "pagerank", make)?,
            (None, false) => graph.plan(gpu, "pagerank, undirected", make)?,
        };
        columns(Values::F64(plan.run(gpu, graph, options, None, input.cancel)?))
    };
    Ok(Prepared::Job(DeviceJob { topology, bytes, work: Box::new(work) }))
}

/// cuGraph's `weakly_connected_components`.
///
/// # Errors
/// None.
fn weak<'a>(input: &'a Input<'a>, _: &'a ParamValues) -> Prepares<'a> {
    joined(input, "weakly_connected_components")
}

/// cuGraph's `connected_components`.
///
/// # Errors
/// None.
fn connected<'a>(input: &'a Input<'a>, p: &'a ParamValues) -> Prepares<'a> {
    if p.text("connection").as_deref() == Some("strong") {
        return Ok(Prepared::Declined("strong components are found on the CPU"));
    }
    joined(input, "connected_components")
}

fn joined<'a>(input: &'a Input<'a>, name: &'static str) -> Prepares<'a> {
    let (n, m) = size(input.topology);
    let work = move |gpu: &_, graph: &_| {
        Ok(Output::labels(name, &components::run(gpu, graph, input.cancel)?))
    };
    let (topology, bytes) = (Arc::clone(input.topology), components::footprint(n, m));
    Ok(Prepared::Job(DeviceJob { topology, bytes, work: Box::new(work) }))
}

/// cuGraph's `bfs`.
///
/// # Errors
/// Those of the parameters.
fn bfs<'a>(input: &'a Input<'a>, p: &'a ParamValues) -> Prepares<'a> {
    let start = match input.starts(p)?[..] {
        // There is no node to begin at.
        [] if input.topology.num_nodes() == 0 => 0,
        [start] => start,
        _ => return Ok(Prepared::Declined("a search from several nodes is made on the CPU")),
    };
    let limit = p.int("depth_limit").and_then(|d| u32::try_from(d).ok());
    let directed = p.bool("directed");
    let (n, m) = size(input.topology);
    let work = move |gpu: &_, graph: &_| {
        let found = bfs::run(gpu, graph, start, directed, limit, input.cancel)?;
        Ok(found.columns("bfs"))
    };
    let (topology, bytes) = (Arc::clone(input.topology), bfs::footprint(n, m));
    Ok(Prepared::Job(DeviceJob { topology, bytes, work: Box::new(work) }))
}

/// cuGraph's `sssp`.
///
/// # Errors
/// Those of the parameters.
fn sssp<'a>(input: &'a Input<'a>, p: &'a ParamValues) -> Prepares<'a> {
    paths(input, p, "sssp")
}

/// cuGraph's `shortest_path`.
///
/// # Errors
/// Those of the parameters.
fn shortest_path<'a>(input: &'a Input<'a>, p: &'a ParamValues) -> Prepares<'a> {
    paths(input, p, "shortest_path")
}

fn paths<'a>(input: &'a Input<'a>, p: &'a ParamValues, name: &'static str) -> Prepares<'a> {
    let source = input.start(p)?;
    let given = input.weights(p, Sign::NotNegative)?;
    let directed = p.bool("directed");
    // The device adds up in 64 bits what it reads in 32.
    if given.as_deref().is_some_and(|w| w.iter().any(|w| !w.is_nan() && f64::from(*w as f32) != *w))
    {
        return Ok(Prepared::Declined("weights that do not fit 32 bits are added up on the CPU"));
    }
    let Seen { topology, weights } = seen(input, !directed, given.as_deref())?;
    if weights.is_some() && !Arc::ptr_eq(&topology, input.topology) {
        return Ok(Prepared::Declined("weights of copies are settled on the CPU"));
    }
    let cutoff = p.float("cutoff").unwrap_or(f64::INFINITY);
    let (n, m) = size(&topology);
    let work = move |gpu: &_, graph: &_| {
        let (weights, cancel) = (weights.as_deref(), input.cancel);
        let found = sssp::run(gpu, graph, source, directed, weights, cutoff, cancel)?;
        Ok(distances::columns(name, &found.distance, &found.predecessor))
    };
    Ok(Prepared::Job(DeviceJob { topology, bytes: sssp::footprint(n, m), work: Box::new(work) }))
}

/// cuGraph's `louvain`.
///
/// # Errors
/// Those of the parameters.
fn louvain<'a>(input: &'a Input<'a>, p: &'a ParamValues) -> Prepares<'a> {
    communities(input, p, "louvain", louvain_options(p)?)
}

/// igraph's `community_multilevel`.
///
/// # Errors
/// Those of the parameters.
fn multilevel<'a>(input: &'a Input<'a>, p: &'a ParamValues) -> Prepares<'a> {
    communities(input, p, "community_multilevel", multilevel_options(p))
}

fn communities<'a>(
    input: &'a Input<'a>,
    p: &'a ParamValues,
    name: &'static str,
    options: Search,
) -> Prepares<'a> {
    let weights = input.weights(p, Sign::NotNegative)?;
    let Seen { topology, weights } = seen(input, true, weights.as_deref())?;
    if list_entries(&topology) <= SUB_ROUNDS_ARCS as u64 {
        return Ok(Prepared::Declined("a graph of at most 524288 edges stays on the CPU"));
    }
    let (n, m) = size(&topology);
    let work = move |gpu: &_, graph: &_| {
        let found = louvain::run(gpu, graph, weights.as_deref(), &options, input.cancel)?;
        Ok(Output::labels(name, &found))
    };
    Ok(Prepared::Job(DeviceJob { topology, bytes: louvain::footprint(n, m), work: Box::new(work) }))
}
