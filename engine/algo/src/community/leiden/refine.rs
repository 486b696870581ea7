//! Leiden's refinement: each community is taken apart into nodes and put together again inside its bounds,
//! by merges that join only what is well connected. Communities are independent of each other, so they are
//! refined in parallel; within one, nodes take turns in an order drawn from the seed.

use graphlume_types::CancelToken;
use graphlume_types::hash::{h64, unit_f64};
use rayon::prelude::*;

use super::super::moving::Size;
use super::super::network::{Network, members_of};
use crate::AlgoError;
use crate::tally::Tally;
use crate::weighted_graph::by_arcs;

/// Arcs between two looks at the token.
const CHECK_ARCS: usize = 1 << 16;

/// Below it the exponential is 0 in double precision.
const EXP_ZERO: f64 = -746.0;

/// What refinement goes by.
#[derive(Clone, Copy)]
pub(super) struct Rule<'a, S> {
    pub(super) sizes: &'a [S],
    pub(super) penalty: f64,
    /// Above 0, how freely a merge is drawn among those that do not lose; 0 takes the best.
    pub(super) beta: f64,
    pub(super) seed: u64,
}

/// The parts of the communities `labels`, numbered `0..k` in the order of the communities, and for each part
/// its community.
pub(super) fn refine<S: Size>(
    network: &Network,
    labels: &[u32],
    groups: usize,
    rule: Rule<'_, S>,
    cancel: &CancelToken,
) -> Result<(Vec<u32>, Vec<u32>), AlgoError> {
    let (starts, members) = members_of(labels, groups);
    // The community of each node, and where it stands among the members.
    let mut place = vec![(0u32, 0u32); labels.len()];
    for g in 0..groups {
        for (k, v) in members[starts[g]..starts[g + 1]].iter().enumerate() {
            place[*v as usize] = (g as u32, k as u32);
        }
    }
    let work = network.work(&starts, &members);
    let refined: Vec<(Vec<u32>, Vec<u32>)> = by_arcs(&work)
        .into_par_iter()
        .map(|range| {
            let (mut parts, mut of_group) = (Vec::new(), Vec::with_capacity(range.len()));
            let mut state = State::default();
            for g in range {
                let own = &members[starts[g]..starts[g + 1]];
                let community =
                    Community { net: network, place: &place, members: own, number: g as u32, rule };
                of_group.push(community.split(&mut state, &mut parts, cancel)?);
            }
            Ok((parts, of_group))
        })
        .collect::<Result<_, AlgoError>>()?;
    let (mut fine, mut above) = (vec![0u32; labels.len()], Vec::new());
    let (mut at, mut group) = (0, 0);
    for (parts, of_group) in refined {
        let mut within = parts.iter();
        for count in of_group {
            let first = above.len() as u32;
            for part in within.by_ref().take(starts[group + 1] - starts[group]) {
                fine[members[at] as usize] = first + part;
                at += 1;
            }
            above.extend(std::iter::repeat_n(group as u32, count as usize));
            group += 1;
        }
    }
    Ok((fine, above))
}

/// One community to refine.
struct Community<'a, S> {
    net: &'a Network,
    place: &'a [(u32, u32)],
    members: &'a [u32],
    number: u32,
    rule: Rule<'a, S>,
}

/// Arrays by place within a community, kept from one to the next.
#[derive(Default)]
struct State<S> {
    /// The part of each member, named by one member.
    part: Vec<u32>,
    size: Vec<S>,
    /// Weight between each part and the rest of the community.
    cut: Vec<f64>,
    count: Vec<u32>,
    order: Vec<u32>,
    /// Places of the neighbours inside the community, member by member, then whatever earlier communities left.
    ends: Vec<u32>,
    /// Weights of the same; not used where all are 1.
    weights: Vec<f64>,
    /// Where the neighbours of each member start in `ends`; one more than members.
    starts: Vec<usize>,
    links: Tally<f64>,
    choices: Vec<(u32, f64)>,
    /// How likely each choice is.
    odds: Vec<f64>,
    number: Vec<u32>,
}

impl<S: Size> State<S> {
    fn reset(&mut self, members: usize) {
        self.part.clear();
        self.part.extend(0..members as u32);
        self.count.clear();
        self.count.resize(members, 1);
        self.order.clear();
        self.order.extend(0..members as u32);
        self.size.clear();
        self.cut.clear();
        self.starts.clear();
        self.starts.push(0);
        self.links.grow(members);
    }

    /// Adds up the links of the member at place `k` by part.
    fn tally(&mut self, k: usize, weighted: bool) {
        let range = self.starts[k]..self.starts[k + 1];
        let parts = self.ends[range.clone()].iter().map(|u| self.part[*u as usize]);
        if weighted {
            self.links.extend(parts.zip(self.weights[range].iter().copied()));
        } else {
            self.links.extend(parts.map(|part| (part, 1.0)));
        }
    }
}

impl<S: Size> Community<'_, S> {
    /// Appends the part of each member, numbered from 0 by first appearance; returns the number of parts.
    fn split(
        &self,
        state: &mut State<S>,
        parts: &mut Vec<u32>,
        cancel: &CancelToken,
    ) -> Result<u32, AlgoError> {
        let n = self.members.len();
        if n == 1 {
            parts.push(0);
            return Ok(1);
        }
        state.reset(n);
        let mut arcs = 0;
        for v in self.members {
            arcs += self.net.degree(*v as usize);
            if arcs > CHECK_ARCS {
                arcs = 0;
                cancel.check()?;
            }
            state.size.push(self.rule.sizes[*v as usize]);
            let cut = self.inside(*v as usize, state);
            state.cut.push(cut);
        }
        let whole = state.size.iter().fold(S::default(), |sum, size| sum + *size);
        let key = u64::from(self.members[0]);
        for i in (1..n).rev() {
            let j = h64(self.rule.seed, key, i as u64) % (i as u64 + 1);
            state.order.swap(i, j as usize);
        }
        for i in 0..n {
            let k = state.order[i] as usize;
            arcs += self.net.degree(self.members[k] as usize);
            if arcs > CHECK_ARCS {
                arcs = 0;
                cancel.check()?;
            }
            if state.count[state.part[k] as usize] == 1 {
                self.merge(k, whole, state);
            }
        }
        state.number.clear();
        state.number.resize(n, u32::MAX);
        let mut next = 0;
        for part in &state.part {
            let slot = &mut state.number[*part as usize];
            if *slot == u32::MAX {
                *slot = next;
                next += 1;
            }
            parts.push(*slot);
        }
        Ok(next)
    }

    /// Appends the neighbours of `v` inside the community to the lists of `state`; returns the weight of the edges to them.
    fn inside(&self, v: usize, state: &mut State<S>) -> f64 {
        let range = self.net.range(v);
        let start = state.starts.last().copied().unwrap_or(0);
        let most = start + range.len();
        if state.ends.len() < most {
            state.ends.resize(most.next_power_of_two(), 0);
        }
        let ends = self.net.ends[range.clone()].iter().map(|u| self.place[*u as usize]);
        let mut len = start;
        let mut cut = 0.0;
        // Whether a neighbour is inside is as good as random: written without a branch.
        match self.net.weights.as_deref() {
            None => {
                let to = &mut state.ends[..most];
                for (group, place) in ends {
                    to[len] = place;
                    len += usize::from(group == self.number);
                }
                cut = (len - start) as f64;
            }
            Some(w) => {
                if state.weights.len() < most {
                    state.weights.resize(most.next_power_of_two(), 0.0);
                }
                let (to, weights) = (&mut state.ends[..most], &mut state.weights[..most]);
                for ((group, place), w) in ends.zip(&w[range]) {
                    let is_inside = group == self.number;
                    (to[len], weights[len]) = (place, *w);
                    len += usize::from(is_inside);
                    cut += if is_inside { *w } else { 0.0 };
                }
            }
        }
        state.starts.push(len);
        cut
    }

    /// Lets the member at place `k`, which is alone, join another part.
    fn merge(&self, k: usize, whole: S, state: &mut State<S>) {
        let v = self.members[k] as usize;
        let (size, penalty) = (state.size[k], self.rule.penalty);
        let well = |size: S, cut: f64| cut >= size.times(penalty).product(whole - size) - 1e-12;
        if !well(size, state.cut[k]) {
            return;
        }
        let weighted = self.net.weights.is_some();
        state.tally(k, weighted);
        state.choices.clear();
        let mut best = (k as u32, 0.0, 0.0);
        let State { links, size: sizes, cut, choices, .. } = state;
        links.drain(|part, links| {
            let other = sizes[part as usize];
            let gain = links - size.times(penalty).product(other);
            if gain >= 0.0 && links != 0.0 && well(other, cut[part as usize]) {
                choices.push((part, gain));
                if gain > best.1 || best.0 == k as u32 {
                    best = (part, gain, links);
                }
            }
        });
        if state.choices.is_empty() {
            return;
        }
        let State { choices, odds, .. } = state;
        let to = self.draw(v, best.0, best.1, (choices, odds)) as usize;
        if to == k {
            return;
        }
        let links = match to == best.0 as usize {
            true => best.2,
            false => {
                state.tally(k, weighted);
                let links = state.links.get(to as u32);
                state.links.drain(|_, _| ());
                links
            }
        };
        state.size[to] += size;
        state.cut[to] += state.cut[k] - 2.0 * links;
        state.count[to] += 1;
        state.count[k] = 0;
        state.part[k] = to as u32;
    }

    /// One of the choices, each as likely as the exponential of its gain.
    fn draw(
        &self,
        v: usize,
        best: u32,
        most: f64,
        (choices, odds): (&[(u32, f64)], &mut Vec<f64>),
    ) -> u32 {
        if self.rule.beta <= 0.0 || choices.len() == 1 {
            return best;
        }
        odds.clear();
        odds.extend(choices.iter().map(|(_, gain)| {
            let exponent = (gain - most) / self.rule.beta;
            // Most are far below the best, where the exponential is 0.
            if exponent < EXP_ZERO { 0.0 } else { exponent.exp() }
        }));
        let all: f64 = odds.iter().sum();
        let mut left = unit_f64(self.rule.seed, 1 << 20, v as u64) * all;
        for ((part, _), odds) in choices.iter().zip(odds) {
            left -= *odds;
            if left < 0.0 {
                return *part;
            }
        }
        best
    }
}
