//! The slow twin: all pairs, double precision, written straight from the definition.

use graphlume_graph::Topology;

use super::Params;

pub(super) struct Naive {
    pub(super) points: Vec<[f64; 2]>,
    pub(super) forces: Vec<[f64; 2]>,
    pub(super) masses: Vec<f64>,
    pub(super) mobility: Vec<f64>,
    pub(super) radii: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) params: Params,
    speed: f64,
    efficiency: f64,
}

const EPSILON: f64 = 1.192_092_9e-7;

fn norm(v: [f64; 2]) -> f64 {
    (v[0] * v[0] + v[1] * v[1]).sqrt()
}

impl Naive {
    pub(super) fn new(topology: &Topology, params: Params, start: &[[f32; 2]]) -> Self {
        let n = start.len();
        Self {
            points: start.iter().map(|p| p.map(f64::from)).collect(),
            forces: vec![[0.0; 2]; n],
            masses: (0..n as u32).map(|v| f64::from(topology.degree(v)) + 1.0).collect(),
            mobility: vec![1.0; n],
            radii: vec![0.0; n],
            weights: vec![1.0; topology.num_edges() as usize],
            params,
            speed: 1.0,
            efficiency: 1.0,
        }
    }

    fn repulsion(&self, i: usize, j: usize) -> [f64; 2] {
        let p = &self.params;
        let d = [self.points[i][0] - self.points[j][0], self.points[i][1] - self.points[j][1]];
        let mm = self.masses[i] * self.masses[j];
        let d2 = d[0] * d[0] + d[1] * d[1] + EPSILON;
        let k = if p.prevent_overlapping {
            let dist = d2.sqrt();
            let gap = dist - self.radii[i] - self.radii[j];
            if gap <= 0.0 {
                p.overlap_scaling_ratio * mm / dist
            } else {
                p.scaling_ratio * mm / dist / (gap + EPSILON)
            }
        } else {
            p.scaling_ratio * mm / d2
        };
        [d[0] * k, d[1] * k]
    }

    /// The pull on `i` of an edge to `j`, whose source has mass `source`.
    fn attraction(&self, i: usize, j: usize, weight: f64, source: f64) -> [f64; 2] {
        let p = &self.params;
        let d = [self.points[j][0] - self.points[i][0], self.points[j][1] - self.points[i][1]];
        let dist = (d[0] * d[0] + d[1] * d[1] + EPSILON).sqrt();
        let mut k = weight.powf(p.edge_weight_influence);
        if p.prevent_overlapping {
            let gap = dist - self.radii[i] - self.radii[j];
            k *= if gap <= 0.0 {
                0.0
            } else if p.lin_log_mode {
                (1.0 + gap).ln() / dist
            } else {
                gap / dist
            };
        } else if p.lin_log_mode {
            k *= (1.0 + dist).ln() / dist;
        }
        if p.outbound_attraction_distribution {
            k *= self.masses.iter().sum::<f64>() / self.masses.len() as f64 / source;
        }
        [d[0] * k, d[1] * k]
    }

    pub(super) fn force(&self, topology: &Topology, i: usize) -> [f64; 2] {
        let p = &self.params;
        let mut f = [0.0; 2];
        let mut add = |v: [f64; 2]| {
            f[0] += v[0];
            f[1] += v[1];
        };
        for j in (0..self.points.len()).filter(|j| *j != i) {
            add(self.repulsion(i, j));
        }
        for pos in 0..topology.num_edges() {
            let (src, dst, row) = topology.edge(pos);
            let (src, dst) = (src as usize, dst as usize);
            let w = self.weights[row as usize];
            for (a, b) in [(src, dst), (dst, src)] {
                if a == i {
                    add(self.attraction(a, b, w, self.masses[src]));
                    if p.double_attraction {
                        add(self.attraction(a, b, w, self.masses[dst]));
                    }
                }
            }
        }
        let at = self.points[i];
        let g = if p.strong_gravity_mode {
            self.masses[i] * p.gravity * p.scaling_ratio
        } else {
            self.masses[i] * p.gravity / (norm(at).powi(2) + EPSILON).sqrt()
        };
        add([-at[0] * g, -at[1] * g]);
        f
    }

    pub(super) fn iterate(&mut self, topology: &Topology) {
        let (p, n) = (self.params.clone(), self.points.len());
        let mut forces: Vec<[f64; 2]> = (0..n).map(|i| self.force(topology, i)).collect();
        for f in &mut forces {
            if p.locked_x {
                f[0] = 0.0;
            }
            if p.locked_y {
                f[1] = 0.0;
            }
        }
        let swing = |i: usize| {
            let (f, o): ([f64; 2], [f64; 2]) = (forces[i], self.forces[i]);
            self.masses[i] * norm([o[0] - f[0], o[1] - f[1]])
        };
        let traction = |i: usize| {
            let (f, o): ([f64; 2], [f64; 2]) = (forces[i], self.forces[i]);
            0.5 * self.masses[i] * norm([o[0] + f[0], o[1] + f[1]])
        };
        let s: f64 = (0..n).map(swing).sum();
        let t: f64 = (0..n).map(traction).sum();
        let estimate = 0.05 * (n as f64).sqrt();
        let mut jt =
            p.jitter_tolerance * estimate.sqrt().max((estimate * t / (n * n) as f64).min(10.0));
        if s / t > 2.0 {
            if self.efficiency > 0.05 {
                self.efficiency *= 0.5;
            }
            jt = jt.max(p.jitter_tolerance);
        }
        let target = if s == 0.0 { f64::INFINITY } else { jt * self.efficiency * t / s };
        if s > jt * t {
            if self.efficiency > 0.05 {
                self.efficiency *= 0.7;
            }
        } else if self.speed < 1000.0 {
            self.efficiency *= 1.3;
        }
        self.speed += (target - self.speed).min(0.5 * self.speed);
        for (i, f) in forces.iter().enumerate() {
            let mut k = self.speed / (1.0 + (self.speed * swing(i)).sqrt());
            if p.prevent_overlapping {
                let df = norm(*f);
                k = (0.1 * k * df).min(10.0) / df;
            }
            self.points[i][0] += f[0] * k * self.mobility[i];
            self.points[i][1] += f[1] * k * self.mobility[i];
        }
        self.forces = forces;
    }
}
