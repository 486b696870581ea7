//! The layout tasks on the processor, and where the time of an iteration goes.

use std::sync::Arc;

use graphlume_algo::Values;
use graphlume_algo::layout::{force_atlas2, initial_layout as placing};
use graphlume_device::CpuPool;
use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::unit_f64;
use serde_json::{Value, json};

use crate::clock::{measure, thread_nanos};
use crate::cpu::both_ways;
use crate::input::graph;
use crate::probe;
use crate::task::{Report, Spec, TaskError, facts, finish, repeat};

/// The positions that every peer starts from: hashed, in a square of side 1000 around the origin.
#[must_use]
pub fn random_start(num_nodes: u32) -> Vec<[f32; 2]> {
    let at = |stream, v| (unit_f64(1, stream, u64::from(v)) * 1000.0 - 500.0) as f32;
    (0..num_nodes).map(|v| [at(60, v), at(61, v)]).collect()
}

pub(crate) fn columns_of(positions: &[[f32; 2]]) -> Vec<(&'static str, Values)> {
    let axis = |a: usize| Values::F64(positions.iter().map(|p| f64::from(p[a])).collect());
    vec![("x", axis(0)), ("y", axis(1))]
}

pub(crate) fn start(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, false)?;
    let (positions, took) =
        repeat(spec, || Ok(placing::place(&topology, 0, &CancelToken::new())?))?;
    let result = facts(&topology, both_ways(&topology));
    Ok(finish(took, load_s, result, columns_of(&positions), None))
}

/// The parameters of a layout task.
pub(crate) fn params_of(spec: &Spec<'_>) -> Result<force_atlas2::Params, TaskError> {
    let mut all = serde_json::to_value(force_atlas2::Params::default()).unwrap_or_default();
    if let Some(map) = all.as_object_mut() {
        for pair in spec.params {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
            let text = || Value::String(value.to_owned());
            map.insert(name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| text()));
        }
    }
    serde_json::from_value(all)
        .map_err(|e| TaskError::Input { path: "--param".to_owned(), message: e.to_string() })
}

pub(crate) fn fa2(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, false)?;
    let cancel = CancelToken::new();
    let from = match spec.placed {
        true => placing::place(&topology, 0, &cancel)?,
        false => random_start(topology.num_nodes()),
    };
    let params = params_of(spec)?;
    let iterations = spec.iterations.unwrap_or(20);
    let (layout, took) = repeat(spec, || {
        let params = params.clone();
        let new = force_atlas2::ForceAtlas2::new;
        let mut layout = new(&topology, None, params, &from, None, None, None)?;
        for _ in 0..iterations {
            layout.iterate(&cancel)?;
        }
        Ok(layout)
    })?;
    let mut positions = Vec::new();
    layout.positions(&mut positions);
    let settled = layout.settled();
    drop(layout);
    let phases = phases(&topology, params, &from, iterations)?;
    let mut result = facts(&topology, both_ways(&topology));
    result.insert("iterations".to_owned(), iterations.into());
    result.insert("settled".to_owned(), json!(settled));
    result.insert("phases".to_owned(), phases);
    Ok(finish(took, load_s, result, columns_of(&positions), None))
}

/// One more run on one thread with a clock in it: what an iteration counts and takes, phase by phase.
fn phases(
    topology: &Arc<Topology>,
    params: force_atlas2::Params,
    from: &[[f32; 2]],
    iterations: u64,
) -> Result<Value, TaskError> {
    let fail = |message: String| TaskError::Threads { threads: 1, message };
    let pool = CpuPool::new(1).map_err(|e| fail(e.to_string()))?;
    let cancel = CancelToken::new();
    let (start_ns, profile) = pool.install(|| {
        let new = force_atlas2::ForceAtlas2::new;
        let (layout, start) = measure(|| new(topology, None, params, from, None, None, None));
        let mut layout = layout?;
        layout.watch(thread_nanos);
        for _ in 0..iterations {
            layout.iterate(&cancel)?;
        }
        Ok::<_, TaskError>((1e9 * start.cpu_seconds, *layout.profile()))
    })?;
    let (rounds, nodes) = (profile.iterations.max(1) as f64, f64::from(topology.num_nodes()));
    let (bodies, arcs) = (rounds * nodes.max(1.0), rounds * (both_ways(topology) as f64).max(1.0));
    let by = |total: u64, unit: f64| json!(total as f64 / unit);
    let (cells, reads) = (topology.num_nodes() as usize, both_ways(topology) as usize);
    let gather_ns = pool.install(|| probe::position_ns(cells, reads));
    Ok(json!({
        "sorts": profile.sorts,
        "relabels": profile.relabels,
        // A near pair is 16 bodies on 16, a middle one a cell on 16 bodies; a leaf has 16 bodies.
        "near_per_body": by(256 * profile.near, bodies),
        "middle_per_body": by(16 * profile.middle, bodies),
        "far_per_leaf": by(16 * profile.far, bodies),
        "start_ns_per_arc": start_ns / arcs,
        "sort_ns_per_body": by(profile.sort_ns, bodies),
        "relabel_ns_per_arc": by(profile.relabel_ns, arcs),
        "refit_ns_per_body": by(profile.refit_ns, bodies),
        "repulse_ns_per_body": by(profile.repulse_ns, bodies),
        "attract_ns_per_arc": by(profile.attract_ns, arcs),
        "step_ns_per_body": by(profile.step_ns, bodies),
        "position_gather_ns": gather_ns,
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn the_phases_are_counted_and_timed() {
        let ring: Vec<u32> = (0..3000).collect();
        let next: Vec<u32> = (0..3000).map(|v| (v + 1) % 3000).collect();
        let topology = Arc::new(Topology::from_coo(3000, &ring, &next));
        let from = random_start(3000);
        let phases = phases(&topology, force_atlas2::Params::default(), &from, 20).unwrap();
        for (name, value) in phases.as_object().unwrap() {
            let value = value.as_f64().unwrap();
            let may_be_none = name == "sorts" || name == "relabels" || name.contains("relabel");
            assert!(value > 0.0 || (may_be_none && value == 0.0), "{name}: {value}");
        }
        assert!(phases["sort_ns_per_body"].as_f64() < Some(1e6));
    }
}
