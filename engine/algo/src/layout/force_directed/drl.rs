//! The layout DrL, also OpenOrd (Martin, Brown, Klavans and Boyack 2011), after VxOrd (Davidson, Wylie and Boyack 2001),
//! with the parameters of python-igraph.
//!
//! Its phases are kept: how far nodes move, how strongly edges pull, and that long edges between groups let go in the
//! phases of expansion and after. The density grid gives way to the tree.

use serde_json::Value;

use super::fruchterman_reingold::WEIGHTS;
use super::{Attraction, CoolingStep, Forces, Plan, Repulsion, iterations, run};
use crate::input::Sign;
use crate::layout::coordinates::{DIM, XY, XYZ, coordinates, is_3d};
use crate::layout::given::{self, START};
use crate::spec::{Cost, RANDOM_STATE, ignored, igraph, param};
use crate::{AlgoError, AlgorithmSpec, Dtype, Input, Kind, Output, ParamSpec, ParamValues};

const OPTIONS: ParamSpec = param(
    "options",
    Dtype::Preset(&["default", "coarsen", "coarsest", "refine", "final"]),
    "\"default\"",
    None,
    "preset, or edge_cut and {init,liquid,expansion,cooldown,crunch,simmer}_{iterations,temperature,attraction,\
     damping_mult} in place of those of the default",
);

pub(crate) static DRL: AlgorithmSpec = AlgorithmSpec {
    id: "drl",
    names: &[igraph("drl")],
    kind: Kind::Layout,
    params: &[WEIGHTS, START, OPTIONS, DIM, RANDOM_STATE],
    accepted: &[ignored("fixed")],
    outputs: XY,
    doc: "The phases of DrL or OpenOrd (Martin et al. 2011) with repulsion by a tree: long edges between groups let go, \
          unless that tears the picture apart (options keep it). From a start of our own, large graphs do a share of the iterations. Components lie side by side.",
    paper: "Martin, Brown, Klavans and Boyack 2011; Davidson, Wylie and Boyack 2001",
    cost: Cost::LogLinear,
    run: |input, p| if is_3d(p) { lay_out::<3>(input, p) } else { lay_out::<2>(input, p) },
    ..AlgorithmSpec::BASE
};

pub(crate) static DRL_3D: AlgorithmSpec = AlgorithmSpec {
    id: "drl_3d",
    names: &[igraph("drl_3d")],
    params: &[WEIGHTS, START, OPTIONS, RANDOM_STATE],
    outputs: XYZ,
    doc: "As `drl`, in space.",
    run: lay_out::<3>,
    ..DRL
};

/// The phases in their order, and what is said of each.
const PHASES: [&str; 6] = ["init", "liquid", "expansion", "cooldown", "crunch", "simmer"];
const SAID: [&str; 4] = ["iterations", "temperature", "attraction", "damping_mult"];
/// From this phase on long edges let go.
const EXPANSION: usize = 2;
/// The temperature at which a node may move as far as at the start of Fruchterman and Reingold's layout.
const HOT: f64 = 2000.0;
/// Lengths over the mean at which edges let go without a cut; by the usual one it is the mean.
const UNCUT: f64 = 12.0;
/// Times as many iterations of large graphs as other layouts do, in the plane: groups part slowly.
const PATIENCE: u64 = 7;

/// Iterations, temperature, attraction and damping of each phase.
type Phases = [[f64; 4]; 6];

/// The share of edges that is cut where the options do not say, and the phases of a preset.
const EDGE_CUT: f64 = 0.8;

fn preset(name: &str) -> Phases {
    const INIT: [f64; 4] = [0.0, 2000.0, 10.0, 1.0];
    let usual = [
        INIT,
        [200.0, 2000.0, 10.0, 1.0],
        [200.0, 2000.0, 2.0, 1.0],
        [200.0, 2000.0, 1.0, 0.1],
        [50.0, 250.0, 1.0, 0.25],
        [100.0, 250.0, 0.5, 0.0],
    ];
    match name {
        "coarsen" => {
            let mut phases = usual;
            phases[1][2] = 2.0;
            phases[2][2] = 10.0;
            phases
        }
        "coarsest" => {
            let mut phases = preset("coarsen");
            phases[4][0] = 200.0;
            phases
        }
        "refine" => [
            [0.0, 50.0, 0.5, 0.0],
            [0.0, 2000.0, 2.0, 1.0],
            [50.0, 500.0, 0.1, 0.25],
            [50.0, 200.0, 1.0, 0.1],
            [50.0, 250.0, 1.0, 0.25],
            [0.0, 250.0, 0.5, 0.0],
        ],
        "final" => [
            [0.0, 50.0, 0.5, 0.0],
            [0.0, 2000.0, 2.0, 1.0],
            [50.0, 50.0, 0.1, 0.25],
            [50.0, 200.0, 1.0, 0.1],
            [50.0, 250.0, 1.0, 0.25],
            [25.0, 250.0, 0.5, 0.0],
        ],
        _ => usual,
    }
}

/// The edge cut and phases that the options say.
///
/// # Errors
/// [`AlgoError::BadParam`] for a setting that there is not, or a value out of its range.
fn options(p: &ParamValues) -> Result<(f64, Phases), AlgoError> {
    let (mut cut, mut phases) = (EDGE_CUT, preset(&p.text("options").unwrap_or_default()));
    for (name, value) in p.settings("options").into_iter().flatten() {
        let (slot, high) = match name.split_once('_') {
            Some(("edge", "cut")) => (&mut cut, 1.0),
            Some((phase, said)) => {
                let found = PHASES.iter().position(|x| *x == phase);
                let place = found.zip(SAID.iter().position(|x| *x == said));
                let (phase, said) = place.ok_or_else(|| unknown(p, name))?;
                (&mut phases[phase][said], if said == 0 { 1e6 } else { 1e9 })
            }
            None => return Err(unknown(p, name)),
        };
        let legal = value.as_f64().filter(|x| (0.0..=high).contains(x));
        *slot = legal.ok_or_else(|| wrong(p, name, value, high))?;
    }
    Ok((cut, phases))
}

fn unknown(p: &ParamValues, name: &str) -> AlgoError {
    let expected =
        format!("edge_cut, or one of {} with one of {}", PHASES.join(", "), SAID.join(", "));
    p.bad("options", format!("an object with {name:?}"), expected)
}

fn wrong(p: &ParamValues, name: &str, value: &Value, high: f64) -> AlgoError {
    p.bad(&format!("options.{name}"), value.to_string(), format!("a number from 0 to {high}"))
}

/// The iterations that the phases ask for.
fn wanted(phases: &Phases) -> u64 {
    phases.iter().map(|phase| phase[0].ceil() as u64).sum()
}

/// `count` iterations of all phases, in a graph in which a hot node may move `farthest`.
fn steps(cut: f64, phases: &Phases, count: u64, farthest: f64) -> Vec<CoolingStep> {
    let share = count as f64 / wanted(phases).max(1) as f64;
    let mut steps = Vec::new();
    let mut before = 0.0;
    for (k, [many, temperature, attraction, damping]) in phases.iter().enumerate() {
        let (begin, end) = (before * share, (before + many) * share);
        before += many;
        let next = phases.get(k + 1).map_or(0.0, |next| next[1]);
        let own = end.round() - begin.round();
        for i in 0..own as u64 {
            // A phase ends at the temperature of the next, where that is lower.
            let along = i as f64 / own;
            let now = temperature + (next.min(*temperature) - temperature) * along;
            let long = UNCUT.powf(1.0 - cut / EDGE_CUT);
            steps.push(CoolingStep {
                limit: (farthest * now / HOT) as f32,
                speed: (1.0 / (1.0 + damping)) as f32,
                pull: *attraction as f32,
                cut: (k >= EXPANSION && cut > 0.0).then_some(long as f32),
            });
        }
    }
    steps
}

fn lay_out<const D: usize>(input: &Input<'_>, p: &ParamValues) -> Result<Output, AlgoError> {
    let weights = input.weights(p, Sign::Positive)?;
    let (cut, phases) = options(p)?;
    let farthest = f64::from(input.num_nodes()).sqrt() / 10.0;
    let (all, patience) = (wanted(&phases), if D == 2 { PATIENCE } else { 1 });
    let steps = |n: usize, own: bool| {
        steps(cut, &phases, iterations(patience * all, n, own).min(all), farthest)
    };
    let points = run(
        input,
        &Plan {
            forces: Forces {
                repulsion: Repulsion::Inverse,
                push: 1.0,
                // In space, groups part with a stronger pull already.
                attraction: Attraction::Power(if D == 2 { 1 } else { 2 }),
                pull: 1.0,
                confinement: 0.0,
            },
            steps: &steps,
            weights: weights.as_deref(),
            start: given::start::<D>(input, p)?,
            bounds: None,
            root: None,
            may_mend: p.settings("options").is_none(),
            seed: p.count("random_state"),
        },
    )?;
    Ok(coordinates(&points))
}
