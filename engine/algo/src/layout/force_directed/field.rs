//! The repulsion between all nodes, by the tree that fits the law.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::Repulsion;
use super::tree::{self, Tree};
use crate::AlgoError;
use crate::layout::force_atlas2::cells::{Bounds, Cells, TASK};
use crate::layout::force_atlas2::order::Sorter;
use crate::layout::force_atlas2::repulse::{self, Law, Scratch};
use crate::layout::force_atlas2::simd::Isa;

/// Iterations that nodes stay in the order of a sort.
const SORTED_FOR: u32 = 4;
/// Up to this many nodes all pairs are summed.
const EXACT_NODES_MAX: usize = 192;
/// The opening angle of the core of ForceAtlas2.
const THETA: f64 = 1.0;

/// What pushes nodes apart.
pub(super) struct Field<const D: usize> {
    law: Repulsion,
    /// The node of every body, in the order of a curve.
    order: Vec<u32>,
    /// Iterations since the last sort.
    age: u32,
    /// Places and pushes by body.
    bodies: Vec<[f32; D]>,
    pushes: Vec<[f32; D]>,
    core: Core<D>,
}

/// The tree of the law.
enum Core<const D: usize> {
    /// That of ForceAtlas2: in the plane, falling with the distance.
    Plane(Box<Plane>),
    /// Any other.
    Tree(Tree<D>),
}

/// The tree of ForceAtlas2 with nodes of mass 1.
struct Plane {
    cells: Cells,
    sorter: Sorter,
    isa: Isa,
    masses: Vec<f32>,
    points: Vec<[f32; 2]>,
    pushes: Vec<[f32; 2]>,
}

impl<const D: usize> Field<D> {
    pub(super) fn new(n: usize, law: Repulsion) -> Self {
        let core = if D == 2 && law == Repulsion::Inverse {
            Core::Plane(Box::new(Plane {
                cells: Cells::new(n),
                sorter: Sorter::default(),
                isa: Isa::detect(),
                masses: vec![1.0; n],
                points: vec![[0.0; 2]; n],
                pushes: vec![[0.0; 2]; n],
            }))
        } else {
            Core::Tree(Tree::default())
        };
        let none = vec![[0.0; D]; n];
        Self { law, order: Vec::new(), age: 0, bodies: none.clone(), pushes: none, core }
    }

    /// Writes the push on every node to `out`, without the factor of the law.
    pub(super) fn push(
        &mut self,
        points: &[[f32; D]],
        out: &mut [[f32; D]],
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        if self.order.is_empty() || self.age >= SORTED_FOR {
            self.sort(points);
            self.age = 0;
        }
        self.age += 1;
        let order = &self.order;
        match &mut self.core {
            Core::Plane(plane) => {
                for (at, v) in plane.points.iter_mut().zip(order) {
                    let from = points[*v as usize];
                    *at = [from[0], from[1]];
                }
                plane.push(cancel)?;
                for (push, v) in plane.pushes.iter().zip(order) {
                    out[*v as usize][..2].copy_from_slice(push);
                }
            }
            Core::Tree(tree) => {
                for (at, v) in self.bodies.iter_mut().zip(order) {
                    *at = points[*v as usize];
                }
                tree.refit(&self.bodies);
                tree.push(self.law, &self.bodies, &mut self.pushes, cancel)?;
                for (push, v) in self.pushes.iter().zip(order) {
                    out[*v as usize] = *push;
                }
            }
        }
        Ok(())
    }

    fn sort(&mut self, points: &[[f32; D]]) {
        match &mut self.core {
            Core::Plane(plane) => {
                for (at, from) in plane.points.iter_mut().zip(points) {
                    *at = [from[0], from[1]];
                }
                let bounds = Bounds::of(&plane.points);
                plane.sorter.sort(&plane.points, bounds.low, bounds.high, &mut self.order);
            }
            Core::Tree(_) => tree::sort(points, &mut self.order),
        }
    }
}

impl Plane {
    /// The push on every body, by the core of ForceAtlas2.
    fn push(&mut self, cancel: &CancelToken) -> Result<(), AlgoError> {
        let exact = self.points.len() <= EXACT_NODES_MAX;
        let bounds = Bounds::of(&self.points);
        self.cells.refit(&self.points, &self.masses, bounds);
        let ratio = (!exact).then(|| repulse::ratio(THETA));
        let field = repulse::Field {
            isa: self.isa,
            cells: &self.cells,
            points: &self.points,
            masses: &self.masses,
            law: Law { radii: None, overlap: 0.0, clearance: 0.0, ratio },
        };
        let tasks = self.pushes.par_chunks_mut(TASK).enumerate();
        tasks.try_for_each_init(Scratch::default, |scratch, (task, out)| {
            cancel.check()?;
            out.fill([0.0; 2]);
            field.task(task, scratch, out);
            Ok(())
        })
    }
}
