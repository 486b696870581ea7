//! Measures of a session's picture at rest: the nodes that hide each other, and the share of the screen that they take.

use graphlume_algo::AlgoError;
use graphlume_algo::layout::arrange::{ViewBox, arrange, box_share};
use graphlume_algo::layout::component_packing::ComponentPacking;
use graphlume_algo::layout::{force_atlas2, initial_layout};
use graphlume_graph::Topology;
use graphlume_scene::drawn;
use graphlume_types::CancelToken;
use serde_json::json;

use crate::cpu::both_ways;
use crate::input::graph;
use crate::layout::{columns_of, params_of};
use crate::task::{Report, Spec, TaskError, facts, finish, repeat};

/// Runs a layout as a session does, for so many iterations or until it is at rest, and times what is done to its picture
/// then.
pub(crate) fn run(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, false)?;
    let cancel = CancelToken::new();
    let start = initial_layout::place(&topology, 1, &cancel)?;
    let packing = ComponentPacking::new(&topology, &start, &cancel)?;
    let mobility = packing.as_ref().map(|packing| packing.mobility(topology.num_nodes()));
    let new = force_atlas2::ForceAtlas2::new;
    let mobility = mobility.as_deref();
    let mut layout = new(&topology, None, params_of(spec)?, &start, None, None, mobility)?;
    for _ in 0..spec.iterations.unwrap_or(600) {
        layout.iterate(&cancel)?;
        if layout.settled() {
            break;
        }
    }
    let mut before = Vec::new();
    layout.positions(&mut before);
    let mut result = facts(&topology, both_ways(&topology));
    result.insert("rounds".to_owned(), layout.iterations().into());
    result.insert("settled".to_owned(), json!(layout.settled()));
    drop(layout);
    if let Some(packing) = &packing {
        packing.place(&mut before, |_| false);
    }
    let diameters = drawn::diameters(&graphlume_scene::degree_sizes(&degrees(&topology)));
    let (after, took) = repeat(spec, || {
        let mut after = before.clone();
        let packing = ComponentPacking::new(&topology, &before, &cancel)?;
        arrange(&mut after, &diameters, packing.as_ref(), |_| false, 1, &cancel)?;
        Ok(after)
    })?;
    for (name, at) in [("before", &before), ("after", &after)] {
        let at: Vec<[f64; 2]> = at.iter().map(|p| p.map(f64::from)).collect();
        let figures = json!({
            "overlapping": overlapping(&at, &diameters)?,
            "box_share": box_share(&at),
        });
        result.insert(name.to_owned(), figures);
    }
    Ok(finish(took, load_s, result, columns_of(&after), None))
}

fn degrees(topology: &Topology) -> Vec<f32> {
    (0..topology.num_nodes()).map(|v| topology.degree(v) as f32).collect()
}

/// The part of the nodes whose discs overlap another's where the picture fits the stage.
fn overlapping(positions: &[[f64; 2]], diameters: &[f32]) -> Result<f64, AlgoError> {
    let Some(view) = ViewBox::of(positions) else { return Ok(0.0) };
    let pixels: Vec<[f64; 2]> = positions.iter().map(|p| p.map(|x| x * view.scale)).collect();
    let widest = diameters.iter().copied().fold(0.0, f32::max);
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_unstable_by(|a, b| pixels[*a][0].total_cmp(&pixels[*b][0]));
    let mut hidden = vec![false; positions.len()];
    for (i, a) in order.iter().enumerate() {
        for b in &order[i + 1..] {
            let across = pixels[*b][0] - pixels[*a][0];
            if across >= f64::from(widest) {
                break;
            }
            let reach = f64::from(diameters[*a] + diameters[*b]) / 2.0;
            if across.hypot(pixels[*b][1] - pixels[*a][1]) < reach {
                (hidden[*a], hidden[*b]) = (true, true);
            }
        }
    }
    Ok(hidden.iter().filter(|hidden| **hidden).count() as f64 / positions.len().max(1) as f64)
}
