//! The force layouts of igraph: one engine, to which each layout gives its law of forces, its steps and its start.
//!
//! Nodes push each other and edges pull. A start that is nearly right comes from the coarse pictures of ForceAtlas2
//! ([`super::initial_layout`]) in the plane and from sampled stress ([`super::stress`]) in space, so that few iterations
//! are left for large graphs. In an iteration every node moves by its force over its stiffness, at most as far as the
//! layout lets it (Fruchterman and Reingold's temperature).

pub(crate) mod drl;
mod field;
pub(crate) mod fruchterman_reingold;
pub(crate) mod graphopt;
pub(crate) mod lgl;
mod start;
mod tree;

use graphlume_types::CancelToken;
use graphlume_types::hash::unit_f64;
use rayon::prelude::*;

use super::given::{self, Bounds};
use super::parts::{InducedSubgraph, assemble, parts};
use super::stress::sampled;
use crate::{AlgoError, Input};
use field::Field;

/// Nodes of one unit of parallel work.
const CHUNK: usize = 1 << 10;
/// Share of the step to the balance of a node that it goes: its neighbours move as well.
const RELAXATION: f32 = 0.6;
/// Mean move over mean length of edges below which a layout is at rest.
const REST: f64 = 5e-4;
/// Up to this many nodes a layout does all its iterations; of more a share, but some at least.
const ALL_ITERATIONS_NODES: f64 = 300.0;
const SHARE_MIN: f64 = 0.02;
const ITERATIONS_MIN: u64 = 12;

/// Stress over that before edges let go, and a share of all, above which they pull again.
const TORN: f64 = 1.05;
const TORN_LEAST: f64 = 0.002;
/// Iterations in which a part comes to the balance of forces.
const BALANCING: u32 = 100;

/// How the push of two nodes falls with their distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repulsion {
    /// As the distance.
    Inverse,
    /// As its square.
    InverseSquare,
}

/// How an edge pulls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Attraction {
    /// With this power of its length.
    Power(i32),
    /// As a spring of this length.
    Spring(f32),
}

/// The forces of a layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Forces {
    /// The law of the push, and its factor.
    pub(crate) repulsion: Repulsion,
    pub(crate) push: f32,
    /// The law of the pull, and its factor.
    pub(crate) attraction: Attraction,
    pub(crate) pull: f32,
    /// Pull to the middle with the square of the distance.
    pub(crate) confinement: f32,
}

/// One iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CoolingStep {
    /// The farthest that a node may move.
    pub(crate) limit: f32,
    /// Factor of the step.
    pub(crate) speed: f32,
    /// Factor of the pull of edges.
    pub(crate) pull: f32,
    /// Length over the mean length of edges beyond which an edge pulls less, if any.
    pub(crate) cut: Option<f32>,
}

/// What one layout does with the engine.
pub(crate) struct Plan<'a, const D: usize> {
    /// The forces.
    pub(crate) forces: Forces,
    /// The iterations of a part of so many nodes, from a start of our own or a given one.
    pub(crate) steps: &'a dyn Fn(usize, bool) -> Vec<CoolingStep>,
    /// Weights by row of the edge table.
    pub(crate) weights: Option<&'a [f64]>,
    /// Where nodes start, and where they may go.
    pub(crate) start: Option<Vec<[f64; D]>>,
    pub(crate) bounds: Option<Vec<Bounds<D>>>,
    /// A node in the middle of the start, around which the others stand by their hops from it.
    pub(crate) root: Option<u32>,
    /// Whether edges that have let go pull again where their letting go tears the picture apart.
    pub(crate) may_mend: bool,
    /// Seed of everything random.
    pub(crate) seed: u64,
}

/// Lays a graph out; gives the positions by node.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(crate) fn run<const D: usize>(
    input: &Input<'_>,
    plan: &Plan<'_, D>,
) -> Result<Vec<[f64; D]>, AlgoError> {
    let n = input.num_nodes() as usize;
    let whole = plan.start.is_some() || plan.bounds.is_some();
    let parts = parts(input.topology, plan.weights, whole, input.cancel)?;
    let pictures = match plan.start {
        Some(_) => Vec::new(),
        None => start::pictures::<D>(input, plan.seed)?,
    };
    let mut places = Vec::with_capacity(parts.len());
    for part in &parts {
        input.cancel.check()?;
        if part.len() == 1 && !whole {
            places.push(vec![[0.0; D]]);
        } else {
            places.push(part_of(part, plan, &pictures, input.cancel)?);
        }
    }
    let length = mean_length(&parts, &places, input.cancel)?;
    if !whole && parts.len() > 1 {
        // An edge is as long in every component, where no other component pushes.
        for (part, place) in parts.iter().zip(&mut places) {
            let (part, own) = (std::slice::from_ref(part), std::slice::from_ref(place));
            let own = mean_length(part, own, input.cancel)?;
            place.iter_mut().flatten().for_each(|x| *x *= length / own);
        }
    }
    let gap = 2.0 * length;
    let mut points = assemble(n, &parts, places, gap);
    for (at, bounds) in points.iter_mut().zip(plan.bounds.iter().flatten()) {
        given::clamp(at, bounds);
    }
    Ok(points)
}

/// A part at the balance of Fruchterman and Reingold's forces, from a start that is nearly right.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(crate) fn balanced(
    part: &InducedSubgraph,
    start: &[[f64; 2]],
    seed: u64,
    cancel: &CancelToken,
) -> Result<Vec<[f64; 2]>, AlgoError> {
    let points = start.iter().map(|at| at.map(|x| x as f32)).collect();
    let mut engine = Engine::new(part, fruchterman_reingold::FORCES, points, None);
    engine.part_equal(seed);
    engine.fit(cancel)?;
    let first = (part.len() as f32).sqrt() / 10.0;
    for k in 0..BALANCING {
        cancel.check()?;
        let limit = first * (1.0 - k as f32 / BALANCING as f32);
        if engine.iterate(&CoolingStep { limit, speed: 1.0, pull: 1.0, cut: None }, cancel)? < REST
        {
            break;
        }
    }
    Ok(engine.points.iter().map(|at| at.map(f64::from)).collect())
}

/// The mean length of all edges, 1 without any.
fn mean_length<const D: usize>(
    parts: &[InducedSubgraph],
    places: &[Vec<[f64; D]>],
    cancel: &CancelToken,
) -> Result<f64, AlgoError> {
    let (mut sum, mut count) = (0.0, 0usize);
    for (part, places) in parts.iter().zip(places) {
        for (v, at) in places.iter().enumerate() {
            if v.is_multiple_of(CHUNK) {
                cancel.check()?;
            }
            for (u, _) in part.edges(v) {
                let square: f64 = (0..D).map(|c| (at[c] - places[u][c]).powi(2)).sum();
                sum += square.sqrt();
                count += 1;
            }
        }
    }
    Ok(if count > 0 && sum > 0.0 { sum / count as f64 } else { 1.0 })
}

/// Lays one part out. `pictures` are starts by node of the graph, in the plane.
///
/// # Errors
/// [`AlgoError::Cancelled`].
fn part_of<const D: usize>(
    part: &InducedSubgraph,
    plan: &Plan<'_, D>,
    pictures: &[[f32; 2]],
    cancel: &CancelToken,
) -> Result<Vec<[f64; D]>, AlgoError> {
    let own = plan.start.is_none();
    let steps = (plan.steps)(part.len(), own);
    if let (Some(start), true) = (&plan.start, steps.is_empty()) {
        return Ok(start.clone());
    }
    let points = match &plan.start {
        Some(start) => start.iter().map(|at| at.map(|x| x as f32)).collect(),
        None => start::of_part(part, plan, pictures, cancel)?,
    };
    let mut engine = Engine::new(part, plan.forces, points, plan.bounds.as_deref());
    engine.part_equal(plan.seed);
    if own {
        engine.fit(cancel)?;
    }
    engine.clamp();
    let first_cut = steps.iter().position(|step| step.cut.is_some()).unwrap_or(steps.len());
    let (whole, cut) = steps.split_at(first_cut);
    engine.take(whole, cancel)?;
    if plan.may_mend && !cut.is_empty() {
        let before = engine.points.clone();
        let limit = TORN * sampled(part, &before, cancel)? + TORN_LEAST;
        engine.take(cut, cancel)?;
        if sampled(part, &engine.points, cancel)? > limit {
            engine.points = before;
            let uncut: Vec<CoolingStep> =
                cut.iter().map(|step| CoolingStep { cut: None, ..*step }).collect();
            engine.take(&uncut, cancel)?;
        }
    } else {
        engine.take(cut, cancel)?;
    }
    Ok(engine.points.iter().map(|at| at.map(f64::from)).collect())
}

/// How many of `wanted` iterations are done for `n` nodes: all when the start is given, else as many as a start that is
/// nearly right leaves to do.
pub(crate) fn iterations(wanted: u64, n: usize, own_start: bool) -> u64 {
    if !own_start {
        return wanted;
    }
    let share = (ALL_ITERATIONS_NODES / n as f64).clamp(SHARE_MIN, 1.0);
    ((wanted as f64 * share).ceil() as u64).max(ITERATIONS_MIN.min(wanted))
}

/// A part on its way.
struct Engine<'a, const D: usize> {
    part: &'a InducedSubgraph,
    forces: Forces,
    bounds: Option<&'a [Bounds<D>]>,
    points: Vec<[f32; D]>,
    next: Vec<[f32; D]>,
    pushes: Vec<[f32; D]>,
    field: Field<D>,
    mean_length: f32,
}

/// What a unit of work of an iteration adds up.
#[derive(Clone, Copy, Default)]
struct Sums {
    moved: f64,
    length: f64,
    ends: f64,
}

impl<'a, const D: usize> Engine<'a, D> {
    fn new(
        part: &'a InducedSubgraph,
        forces: Forces,
        points: Vec<[f32; D]>,
        bounds: Option<&'a [Bounds<D>]>,
    ) -> Self {
        let n = points.len();
        let none = vec![[0.0; D]; n];
        let field = Field::new(n, forces.repulsion);
        Self {
            part,
            forces,
            bounds,
            points,
            next: none.clone(),
            pushes: none,
            field,
            mean_length: 0.0,
        }
    }

    /// Sets nodes apart that start on one spot, by a thousandth of the box.
    fn part_equal(&mut self, seed: u64) {
        let largest = self.points.iter().flatten().fold(0.0f32, |a, x| a.max(x.abs()));
        let spread = if largest > 0.0 { 1e-3 * largest } else { 1.0 };
        for (v, at) in self.points.iter_mut().enumerate() {
            for (c, x) in at.iter_mut().enumerate() {
                *x += spread * (unit_f64(seed, 70 + c as u64, v as u64) as f32 - 0.5);
            }
        }
    }

    /// Does these steps. At rest, a layout waits for the next phase, whose edges pull in another way.
    fn take(&mut self, steps: &[CoolingStep], cancel: &CancelToken) -> Result<(), AlgoError> {
        let mut rested: Option<&CoolingStep> = None;
        for step in steps {
            cancel.check()?;
            if rested.is_some_and(|at| at.pull == step.pull && at.cut == step.cut) {
                continue;
            }
            rested = (self.iterate(step, cancel)? < REST).then_some(step);
        }
        Ok(())
    }

    fn clamp(&mut self) {
        for (at, bounds) in self.points.iter_mut().zip(self.bounds.unwrap_or_default()) {
            clamp(at, bounds);
        }
    }

    /// Scales the start to the size at which pushes and pulls do the same work.
    fn fit(&mut self, cancel: &CancelToken) -> Result<(), AlgoError> {
        self.field.push(&self.points, &mut self.pushes, cancel)?;
        let push: f64 = self.points.iter().zip(&self.pushes).map(|(at, f)| dot(*at, *f)).sum();
        let (mut pull, mut length, mut ends) = (0.0, 0.0, 0.0f64);
        let (power, own) = match self.forces.attraction {
            Attraction::Power(p) => (p, 0.0),
            Attraction::Spring(own) => (1, own),
        };
        for v in 0..self.points.len() {
            if v.is_multiple_of(CHUNK) {
                cancel.check()?;
            }
            for (u, w) in self.part.edges(v).filter(|(u, _)| *u > v) {
                let d = f64::from(distance(self.points[v], self.points[u]));
                pull += f64::from(w) * d.powi(power + 1);
                length += d;
                ends += 1.0;
            }
        }
        let falls = if self.forces.repulsion == Repulsion::Inverse { 0 } else { 1 };
        let ratio = push * f64::from(self.forces.push) / (pull * f64::from(self.forces.pull));
        let mut scale = ratio.powf(1.0 / f64::from(power + 1 + falls));
        scale += f64::from(own) * ends / length;
        if scale.is_finite() && scale > 0.0 {
            self.points.iter_mut().flatten().for_each(|x| *x *= scale as f32);
        }
        Ok(())
    }

    /// Moves every node once; gives the mean move over the mean length of the edges.
    fn iterate(&mut self, step: &CoolingStep, cancel: &CancelToken) -> Result<f64, AlgoError> {
        self.field.push(&self.points, &mut self.pushes, cancel)?;
        let mut next = std::mem::take(&mut self.next);
        let moves = Moves { engine: &*self, step, centre: self.centre() };
        let sums: Vec<Sums> = next
            .par_chunks_mut(CHUNK)
            .enumerate()
            .map(|(chunk, next)| {
                cancel.check()?;
                Ok(moves.chunk(chunk * CHUNK, next))
            })
            .collect::<Result<_, AlgoError>>()?;
        self.next = std::mem::replace(&mut self.points, next);
        self.clamp();
        let all = sums.iter().fold(Sums::default(), |a, b| Sums {
            moved: a.moved + b.moved,
            length: a.length + b.length,
            ends: a.ends + b.ends,
        });
        let length = all.length / all.ends.max(1.0);
        self.mean_length = length as f32;
        Ok(all.moved / self.points.len() as f64 / length.max(1e-30))
    }

    fn centre(&self) -> [f32; D] {
        let mut sum = [0.0f64; D];
        for at in &self.points {
            (0..D).for_each(|c| sum[c] += f64::from(at[c]));
        }
        sum.map(|x| (x / self.points.len() as f64) as f32)
    }
}

/// What every unit of work of an iteration reads.
struct Moves<'e, 'a, const D: usize> {
    engine: &'e Engine<'a, D>,
    step: &'e CoolingStep,
    centre: [f32; D],
}

impl<const D: usize> Moves<'_, '_, D> {
    fn chunk(&self, first: usize, next: &mut [[f32; D]]) -> Sums {
        let mut sums = Sums::default();
        for (i, to) in next.iter_mut().enumerate() {
            let v = first + i;
            let at = self.engine.points[v];
            let by = self.step_of(v, at, &mut sums);
            for c in 0..D {
                to[c] = (at[c] + by[c]).clamp(-1e15, 1e15);
            }
            sums.moved += f64::from(dot(by, by).sqrt() as f32);
        }
        sums
    }

    /// How far a node moves.
    #[inline]
    fn step_of(&self, v: usize, point: [f32; D], sums: &mut Sums) -> [f32; D] {
        let (engine, step) = (self.engine, self.step);
        let forces = &engine.forces;
        let cut = step.cut.map(|cut| cut * engine.mean_length).filter(|cut| *cut > 0.0);
        let mut force = engine.pushes[v].map(|x| x * forces.push);
        let mut stiffness = 0.0;
        for (u, w) in engine.part.edges(v) {
            let to = engine.points[u];
            let d = distance(point, to).max(1e-12);
            let mut w = w * forces.pull * step.pull;
            if let Some(cut) = cut.filter(|cut| d > *cut) {
                w *= cut / d;
            }
            let (pull, stiff) = match forces.attraction {
                Attraction::Power(p) => (w * d.powi(p - 1), w * p.max(1) as f32 * d.powi(p - 1)),
                Attraction::Spring(own) => (w * (d - own) / d, w),
            };
            for c in 0..D {
                force[c] += pull * (to[c] - point[c]);
            }
            stiffness += stiff;
            sums.length += f64::from(d);
            sums.ends += 1.0;
        }
        if forces.confinement > 0.0 {
            let r = distance(point, self.centre);
            for c in 0..D {
                force[c] -= forces.confinement * r * (point[c] - self.centre[c]);
            }
            stiffness += 2.0 * forces.confinement * r;
        }
        // A node without a pull, or one that lies on its neighbour, is held by the limit alone.
        let floor = 0.25 * forces.pull * step.pull;
        let factor = RELAXATION * step.speed / stiffness.max(floor);
        let length = factor * (dot(force, force).sqrt() as f32);
        let factor = if length > step.limit { factor * step.limit / length } else { factor };
        let by = force.map(|x| x * factor);
        if by.iter().all(|x| x.is_finite()) { by } else { [0.0; D] }
    }
}

fn dot<const D: usize>(a: [f32; D], b: [f32; D]) -> f64 {
    (0..D).map(|c| f64::from(a[c]) * f64::from(b[c])).sum()
}

fn distance<const D: usize>(a: [f32; D], b: [f32; D]) -> f32 {
    (0..D).map(|c| (a[c] - b[c]) * (a[c] - b[c])).sum::<f32>().sqrt()
}

fn clamp<const D: usize>(point: &mut [f32; D], bounds: &Bounds<D>) {
    let mut wide = point.map(f64::from);
    given::clamp(&mut wide, bounds);
    *point = wide.map(|x| x as f32);
}

/// The mean error of the push on `n` points in space over its mean size.
#[cfg(test)]
pub(crate) fn repulsion_error(law: Repulsion, n: usize) -> f64 {
    let points: Vec<[f32; 3]> = (0..n)
        .map(|v| {
            let far = if v % 50 == 0 { 20.0 } else { 1.0 };
            [0, 1, 2].map(|c| far * (unit_f64(3, c, v as u64) as f32 - 0.5))
        })
        .collect();
    let mut pushes = vec![[0.0; 3]; n];
    let cancel = CancelToken::new();
    if Field::new(n, law).push(&points, &mut pushes, &cancel).is_err() {
        return f64::INFINITY;
    }
    let (mut wrong, mut size) = (0.0, 0.0);
    for v in (0..n).step_by(7) {
        let mut exact = [0.0f64; 3];
        for u in (0..n).filter(|u| *u != v) {
            let by = [0, 1, 2].map(|c| f64::from(points[v][c]) - f64::from(points[u][c]));
            let square: f64 = by.iter().map(|x| x * x).sum();
            let falls = if law == Repulsion::Inverse { square } else { square.powf(1.5) };
            (0..3).for_each(|c| exact[c] += by[c] / falls);
        }
        let off = [0, 1, 2].map(|c| exact[c] - f64::from(pushes[v][c]));
        wrong += off.iter().map(|x| x * x).sum::<f64>().sqrt();
        size += exact.iter().map(|x| x * x).sum::<f64>().sqrt();
    }
    wrong / size
}
