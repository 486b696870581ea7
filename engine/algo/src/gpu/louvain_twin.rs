//! The CPU's twin of the device's Louvain: the same sub-rounds, the same whole numbers and the same
//! comparison, so the same labels bit by bit. Tests hold the device against it. It runs on one
//! thread and is for checking; for speed without a device there is [`crate::community::louvain`].

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;

use super::louvain::{
    GAIN_UNITS, HostLevel, OPEN_ROUNDS, ROUNDS_MAX, SUB_ROUNDS, Tuning, check_resolution, finish,
    first_sub_round, gain_min, modularity_of, scale_of, units_of, weight_of,
};
use crate::AlgoError;
use crate::community::louvain::Options;
use crate::weighted_graph::renumber;

/// What [`super::louvain::run_tuned`] answers, computed on the CPU.
///
/// # Errors
/// [`AlgoError::Cancelled`], and [`AlgoError::BadParam`] for a resolution that is not positive.
pub fn run(
    topology: &Topology,
    weights: Option<&[f32]>,
    options: &Options,
    tuning: Tuning,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    check_resolution(options.resolution)?;
    let mut level = first_level(topology, weights);
    let mut labels: Vec<u32> = (0..topology.num_nodes()).collect();
    let mut depth = 0;
    while depth < options.max_level {
        if tuning.finishes(level.ends.len() as u64, options) {
            let rest = finish(level, depth, options, cancel)?;
            labels.iter_mut().for_each(|l| *l = rest[*l as usize]);
            break;
        }
        let (mut groups, gain) = Moving::new(&level, options, depth).run(depth, cancel)?;
        let k = renumber(&mut groups, level.loops.len());
        if k == level.loops.len() {
            break;
        }
        labels.iter_mut().for_each(|l| *l = groups[*l as usize]);
        level = contract(&level, &groups, k);
        if depth > 0 && gain < options.threshold {
            break;
        }
        depth += 1;
    }
    Ok(labels)
}

/// Sums by community, cleared in the time it took to fill them.
struct Sums {
    of: Vec<u64>,
    touched: Vec<u32>,
}

impl Sums {
    fn new(n: usize) -> Self {
        Self { of: vec![0; n], touched: Vec::new() }
    }

    fn add(&mut self, label: u32, w: u64) {
        let sum = &mut self.of[label as usize];
        if *sum == 0 && w > 0 {
            self.touched.push(label);
        }
        *sum += w;
    }

    fn clear(&mut self) {
        self.touched.drain(..).for_each(|l| self.of[l as usize] = 0);
    }
}

/// The undirected graph that `topology` spells, with whole weights.
fn first_level(topology: &Topology, weights: Option<&[f32]>) -> HostLevel {
    let n = topology.num_nodes();
    let given = |row: u32| weights.map_or(1.0, |w| weight_of(w, row));
    let rows = || topology.out_row().iter().map(|r| given(*r));
    let scale = if weights.is_some() { scale_of(rows().sum()) } else { 1.0 };
    let mut lists: Vec<Vec<(u32, u64)>> = vec![Vec::new(); n as usize];
    let mut loops = vec![0; n as usize];
    for v in 0..n {
        for (u, row) in topology.out_neighbors(v).iter().zip(topology.out_rows(v)) {
            let w = units_of(given(*row), scale);
            if *u == v {
                loops[v as usize] += 2 * w;
            } else {
                lists[v as usize].push((*u, w));
                lists[*u as usize].push((v, w));
            }
        }
    }
    let mut level = HostLevel { offsets: vec![0], ends: Vec::new(), weights: Vec::new(), loops };
    for list in lists {
        level.ends.extend(list.iter().map(|(u, _)| *u));
        level.weights.extend(list.iter().map(|(_, w)| *w));
        level.offsets.push(level.ends.len() as u32);
    }
    level
}

/// The graph whose nodes are the groups `labels`, numbered `0..groups`; rows ascend.
fn contract(level: &HostLevel, labels: &[u32], groups: usize) -> HostLevel {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); groups];
    for (v, l) in labels.iter().enumerate() {
        members[*l as usize].push(v);
    }
    let mut next = HostLevel {
        offsets: vec![0],
        ends: Vec::new(),
        weights: Vec::new(),
        loops: vec![0; groups],
    };
    let mut sums = Sums::new(groups);
    for (g, nodes) in members.iter().enumerate() {
        for v in nodes {
            next.loops[g] += level.loops[*v];
            level.row(*v).for_each(|(u, w)| sums.add(labels[u as usize], w));
        }
        sums.touched.sort_unstable();
        for l in &sums.touched {
            let sum = sums.of[*l as usize];
            if *l as usize == g {
                next.loops[g] += sum;
            } else {
                next.ends.push(*l);
                next.weights.push(sum);
            }
        }
        sums.clear();
        next.offsets.push(next.ends.len() as u32);
    }
    next
}

struct Moving<'a> {
    level: &'a HostLevel,
    resolution: f64,
    seed: u64,
    twice: f64,
    strengths: Vec<u64>,
    totals: Vec<u64>,
    labels: Vec<u32>,
    awake: Vec<bool>,
    sums: Sums,
}

impl<'a> Moving<'a> {
    fn new(level: &'a HostLevel, options: &Options, depth: u64) -> Self {
        let n = level.loops.len();
        let strength = |v| level.loops[v] + level.row(v).map(|(_, w)| w).sum::<u64>();
        let strengths: Vec<u64> = (0..n).map(strength).collect();
        Self {
            level,
            resolution: options.resolution,
            seed: options.seed.wrapping_add(depth),
            twice: strengths.iter().sum::<u64>() as f64,
            totals: strengths.clone(),
            strengths,
            labels: (0..n as u32).collect(),
            awake: vec![true; n],
            sums: Sums::new(n),
        }
    }

    /// The labels, and the gain of modularity.
    fn run(mut self, depth: u64, cancel: &CancelToken) -> Result<(Vec<u32>, f64), AlgoError> {
        let mut parts = vec![Vec::new(); SUB_ROUNDS as usize];
        for v in 0..self.labels.len() {
            parts[(h64(self.seed, 78, v as u64) % u64::from(SUB_ROUNDS)) as usize].push(v);
        }
        let mut total = 0.0;
        for round in 0..ROUNDS_MAX {
            let first = first_sub_round(self.seed, round);
            let mut gain = 0;
            for part in 0..SUB_ROUNDS {
                cancel.check()?;
                gain += self.sub_round(round, &parts[((first + part) % SUB_ROUNDS) as usize]);
            }
            let brought = modularity_of(gain, self.twice);
            total += brought;
            if brought < gain_min(depth) {
                break;
            }
        }
        Ok((self.labels, total))
    }

    fn sub_round(&mut self, round: u32, nodes: &[usize]) -> u64 {
        let mut moves = Vec::new();
        for v in nodes {
            if round < OPEN_ROUNDS || self.awake[*v] {
                self.awake[*v] = false;
                moves.extend(self.decide(*v));
            }
        }
        let mut gained = 0;
        for (v, to, gain) in &moves {
            self.totals[self.labels[*v] as usize] -= self.strengths[*v];
            self.totals[*to as usize] += self.strengths[*v];
            self.labels[*v] = *to;
            gained += gain;
        }
        for (v, to, _) in moves.iter().filter(|_| round + 1 >= OPEN_ROUNDS) {
            for (u, _) in self.level.row(*v) {
                if self.labels[u as usize] != *to {
                    self.awake[u as usize] = true;
                }
            }
        }
        gained
    }

    /// See `lv_settle` of the kernels: the same operations in the same order.
    fn decide(&mut self, v: usize) -> Option<(usize, u32, u64)> {
        for (u, w) in self.level.row(v) {
            self.sums.add(self.labels[u as usize], w);
        }
        let (own, strength) = (self.labels[v], self.strengths[v]);
        let pull = self.resolution * strength as f64 / self.twice;
        let score = |sum: u64, total: u64| sum as f64 - pull * total as f64;
        let total = self.totals[own as usize];
        let stay = score(self.sums.of[own as usize], total - strength);
        let mut best = (-1.0e300, u32::MAX);
        for l in self.sums.touched.iter().filter(|l| **l != own) {
            let s = score(self.sums.of[*l as usize], self.totals[*l as usize]);
            if s > best.0 || (s == best.0 && *l < best.1) {
                best = (s, *l);
            }
        }
        self.sums.clear();
        let (score, to) = best;
        let better = score > stay + 1e-9;
        if to == u32::MAX || !better {
            return None;
        }
        let other = to as usize;
        let alone = total == strength
            && self.labels[other] == to
            && self.totals[other] == self.strengths[other];
        let gain = ((score - stay) * GAIN_UNITS) as u64;
        (!alone || to < own).then_some((v, to, gain))
    }
}
