//! Communities of the largest modularity there is (Brandes et al. 2008, IEEE TKDE 20:172), by the integer program of
//! partitions into cliques: a number for each pair of nodes says whether the two are together. Its relaxation is solved
//! with the inequalities that it breaks, added round after round (Grötschel and Wakabayashi 1989, Mathematical
//! Programming 45:59), and pairs that stay between are tried both ways.

mod cuts;
pub mod spec;

use std::time::Duration;

use graphlume_types::CancelToken;
use microlp::{ComparisonOp, OptimizationDirection, Problem};

use super::leading_eigenvector::components;
use super::network::{Network, members_of};
use crate::AlgoError;
use crate::view::GraphView;
use crate::weighted_graph::renumber;
use cuts::Cut;

/// Nodes of a connected part up to which it is taken; what it costs may double with every few nodes.
pub const NODES_MAX: u64 = 200;
/// The solver runs so long between two looks at the token.
const SLICE: Duration = Duration::from_millis(40);
/// A value so near 0 or 1 is whole.
const WHOLE: f64 = 1e-5;
/// Rounds of inequalities beyond triangles before a pair is tried both ways.
const ROUNDS_MAX: usize = 12;
/// Inequalities are kept for the next round that are so near to being broken.
const SLACK_MAX: f64 = 0.3;
/// Errors of the solver, as a share of what all pairs are worth.
const SOLVER_ERROR: f64 = 1e-8;

/// The community of every node, numbered by first appearance. `guess` is a good partition to begin with: the search returns
/// it when there is none better.
///
/// # Errors
/// [`AlgoError::Cancelled`]; [`AlgoError::TooLarge`] for more than [`NODES_MAX`] nodes in one connected part;
/// [`AlgoError::Unfit`] for weights that the solver of linear programs cannot work with.
pub fn run(
    view: &GraphView<'_>,
    resolution: f64,
    guess: impl FnOnce() -> Result<Vec<u32>, AlgoError>,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    cancel.check()?;
    let parts = components(&Network::new(view));
    let num_parts = parts.iter().max().map_or(0, |p| *p as usize + 1);
    let (starts, members) = members_of(&parts, num_parts);
    let parts = || starts.windows(2).map(|w| &members[w[0]..w[1]]);
    let largest = parts().map(<[u32]>::len).max().unwrap_or(0) as u64;
    if largest > NODES_MAX {
        return Err(AlgoError::TooLarge {
            algorithm: "community_optimal_modularity",
            what: "nodes that are connected",
            size: largest,
            limit: NODES_MAX,
            instead: "use community_leiden with objective_function \"modularity\", which comes close",
        });
    }
    let mut labels = guess()?;
    let strengths = Strengths::new(view);
    let mut position = vec![0; view.num_nodes() as usize];
    let mut next = labels.len() as u32;
    let mut found = vec![0; labels.len()];
    for part in parts().filter(|part| part.len() > 1) {
        part.iter().enumerate().for_each(|(k, v)| position[*v as usize] = k);
        let (pairs, stands_for) = Pairs::of(view, &strengths, (part, &position), resolution);
        let kept: Vec<u32> =
            (0..part.len()).filter(|k| stands_for[*k] == *k).map(|k| part[k]).collect();
        // By the first node of the part with the same label: renumbering would look at the whole graph for every part.
        let label = |v: &u32| labels[*v as usize];
        let first = |v| kept.iter().position(|u| label(u) == label(v)).unwrap_or(0) as u32;
        let guess: Vec<u32> = kept.iter().map(first).collect();
        let best = Search::new(&pairs, guess).run(cancel)?;
        let mut of_kept = vec![0; part.len()];
        kept.iter().zip(&best).for_each(|(v, label)| of_kept[position[*v as usize]] = *label);
        for (k, v) in part.iter().enumerate() {
            found[*v as usize] = next + of_kept[stands_for[k]];
        }
        next += best.len() as u32;
    }
    for part in parts().filter(|part| part.len() == 1) {
        found[part[0] as usize] = next;
        next += 1;
    }
    labels = found;
    renumber(&mut labels, next as usize);
    Ok(labels)
}

/// What the null model of modularity needs of a graph.
struct Strengths {
    out: Vec<f64>,
    into: Vec<f64>,
    /// What the product of two strengths is divided by.
    by: f64,
    /// Every weight is a whole number, so that what pairs are worth is one over `by`.
    whole: bool,
}

impl Strengths {
    fn new(view: &GraphView<'_>) -> Self {
        let n = view.num_nodes();
        let out: Vec<f64> = (0..n).map(|v| view.out().strength(v)).collect();
        let into: Vec<f64> = (0..n).map(|v| view.incoming().strength(v)).collect();
        let total: f64 = out.iter().sum();
        let whole = view.out().all_weights().is_none_or(|w| w.iter().all(|w| w.fract() == 0.0));
        // Without directions every product stands for both of its orders.
        let by = if view.is_directed() { total } else { 2.0 * total };
        Self { out, into, by, whole }
    }
}

/// What every pair of nodes of one connected part adds to the modularity when the two are together, in units of weight.
struct Pairs {
    n: usize,
    /// By pair of nodes, both orders.
    worth: Vec<f64>,
    /// Partitions of different worth differ by this at least.
    step: f64,
}

impl Pairs {
    /// The pairs of a part, and for each of its nodes the one that stands for it: a node whose only neighbour is `u` is
    /// with `u` in a best partition when the resolution is at most 1, so that `u` stands for both.
    fn of(
        view: &GraphView<'_>,
        strengths: &Strengths,
        (part, position): (&[u32], &[usize]),
        resolution: f64,
    ) -> (Self, Vec<usize>) {
        let k = part.len();
        let mut link = vec![0.0; k * k];
        for (a, v) in part.iter().enumerate() {
            for (u, weight) in view.out().weighted(*v) {
                let b = position[u as usize];
                link[a * k + b] += weight;
                if view.is_directed() {
                    link[b * k + a] += weight;
                }
            }
        }
        let mut out: Vec<f64> = part.iter().map(|v| strengths.out[*v as usize]).collect();
        let mut into: Vec<f64> = part.iter().map(|v| strengths.into[*v as usize]).collect();
        let mut stands_for: Vec<usize> = (0..k).collect();
        for v in 0..k {
            let mut ends = (0..k).filter(|u| link[v * k + u] > 0.0);
            if let (Some(u), None) = (ends.next(), ends.next())
                && u != v
                && stands_for[u] == u
                && resolution <= 1.0
            {
                stands_for[v] = u;
                out[u] += out[v];
                into[u] += into[v];
            }
        }
        let kept: Vec<usize> = (0..k).filter(|v| stands_for[*v] == *v).collect();
        let by = if strengths.by > 0.0 { strengths.by } else { 1.0 };
        let worth: Vec<f64> = kept
            .iter()
            .flat_map(|a| kept.iter().map(move |b| (*a, *b)))
            .map(|(a, b)| {
                let expected = out[a] * into[b] + into[a] * out[b];
                link[a * k + b] - resolution * expected / by
            })
            .collect();
        let all: f64 = worth.iter().map(|w| w.abs()).sum();
        let is_whole = strengths.whole && resolution == 1.0;
        let step = (SOLVER_ERROR * all).max(if is_whole { 0.9 / by } else { 0.0 });
        (Self { n: kept.len(), worth, step }, stands_for)
    }

    /// Pairs of different nodes, each once.
    fn each(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let n = self.n;
        (0..n).flat_map(move |a| (a + 1..n).map(move |b| (a, b)))
    }

    fn worth_of(&self, labels: &[u32]) -> f64 {
        let together = self.each().filter(|(a, b)| labels[*a] == labels[*b]);
        together.map(|(a, b)| self.worth[a * self.n + b]).sum()
    }
}

/// A part of the search: some pairs are together (1) or apart (0).
struct Branch {
    /// No partition of it is worth more.
    bound: f64,
    fixed: Vec<(usize, usize, f64)>,
}

struct Search<'a> {
    pairs: &'a Pairs,
    labels: Vec<u32>,
    best: f64,
    cuts: Vec<Cut>,
}

impl<'a> Search<'a> {
    fn new(pairs: &'a Pairs, labels: Vec<u32>) -> Self {
        let best = pairs.worth_of(&labels);
        Self { pairs, labels, best, cuts: Vec::new() }
    }

    /// The best partition; the branch of the largest bound is looked into first.
    fn run(mut self, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
        let mut open = vec![Branch { bound: f64::INFINITY, fixed: Vec::new() }];
        while let Some(at) =
            (0..open.len()).max_by(|a, b| open[*a].bound.total_cmp(&open[*b].bound))
        {
            let branch = open.swap_remove(at);
            if self.is_closed(branch.bound) {
                break;
            }
            if let Some((bound, a, b)) = self.look_into(&branch, cancel)? {
                open.extend([0.0, 1.0].map(|value| {
                    let mut fixed = branch.fixed.clone();
                    fixed.push((a, b, value));
                    Branch { bound, fixed }
                }));
            }
        }
        Ok(self.labels)
    }

    fn is_closed(&self, bound: f64) -> bool {
        bound < self.best + self.pairs.step
    }

    /// The bound of a branch and the pair to try both ways, or nothing when the branch has no better partition.
    fn look_into(
        &mut self,
        branch: &Branch,
        cancel: &CancelToken,
    ) -> Result<Option<(f64, usize, usize)>, AlgoError> {
        let n = self.pairs.n;
        let mut rounds = 0;
        loop {
            let Some((bound, x)) = self.relaxed(branch, cancel)? else {
                return Ok(None);
            };
            self.try_rounded(&x);
            if self.is_closed(bound) {
                return Ok(None);
            }
            let mut broken = cuts::triangles(&x, n);
            if broken.is_empty() {
                rounds += 1;
            }
            if broken.len() < n && rounds <= ROUNDS_MAX {
                broken.extend(cuts::stars(&x, n));
            }
            if broken.is_empty() {
                let between = |(a, b): &(usize, usize)| (x[a * n + b] - 0.5).abs();
                let nearest = self.pairs.each().min_by(|p, q| between(p).total_cmp(&between(q)));
                let open = nearest.filter(|pair| between(pair) < 0.5 - WHOLE);
                return Ok(open.map(|(a, b)| (bound, a, b)));
            }
            self.cuts.retain(|cut| cut.value(&x, n) > 1.0 - SLACK_MAX);
            self.cuts.extend(broken);
        }
    }

    /// The optimum of the relaxation with the present inequalities, and the value of each pair; nothing when no values
    /// meet them.
    fn relaxed(
        &self,
        branch: &Branch,
        cancel: &CancelToken,
    ) -> Result<Option<(f64, Vec<f64>)>, AlgoError> {
        let (n, worth) = (self.pairs.n, &self.pairs.worth);
        let unit = worth.iter().fold(f64::MIN_POSITIVE, |most, w| most.max(w.abs()));
        let mut program = Problem::new(OptimizationDirection::Maximize);
        let mut range = vec![(0.0, 1.0); n * n];
        branch.fixed.iter().for_each(|(a, b, value)| range[a * n + b] = (*value, *value));
        let mut variables = vec![None; n * n];
        for (a, b) in self.pairs.each() {
            let variable = program.add_var(worth[a * n + b] / unit, range[a * n + b]);
            (variables[a * n + b], variables[b * n + a]) = (Some(variable), Some(variable));
        }
        for cut in &self.cuts {
            let terms = cut.terms().filter_map(|(a, b, sign)| Some((variables[a * n + b]?, sign)));
            program.add_constraint(terms.collect::<Vec<_>>(), ComparisonOp::Le, 1.0);
        }
        program.set_time_limit(SLICE);
        let mut outcome = program.solve();
        loop {
            cancel.check()?;
            match outcome {
                Ok(solved) if solved.is_optimal() => {
                    let Some(solution) = solved.solution() else { return Ok(None) };
                    let value = |v: &Option<_>| v.map_or(1.0, |v| solution.var_value(v));
                    return Ok(Some((
                        solution.objective() * unit,
                        variables.iter().map(value).collect(),
                    )));
                }
                Ok(unfinished) => outcome = unfinished.resume(),
                Err(microlp::Error::Infeasible) => return Ok(None),
                Err(error) => {
                    return Err(AlgoError::Unfit {
                        algorithm: "community_optimal_modularity",
                        what: format!("the linear program cannot be solved ({error})"),
                        remedy: "use weights that differ less in size, or community_leiden",
                    });
                }
            }
        }
    }

    /// Takes the partition in which nodes are together whose pair is above a half, if it is better than the best so far.
    fn try_rounded(&mut self, x: &[f64]) {
        let n = self.pairs.n;
        let mut labels = vec![u32::MAX; n];
        let mut stack = Vec::new();
        for v in 0..n {
            if labels[v] != u32::MAX {
                continue;
            }
            labels[v] = v as u32;
            stack.push(v);
            while let Some(u) = stack.pop() {
                for w in 0..n {
                    if labels[w] == u32::MAX && x[u * n + w] > 0.5 {
                        labels[w] = v as u32;
                        stack.push(w);
                    }
                }
            }
        }
        let worth = self.pairs.worth_of(&labels);
        if worth > self.best + SOLVER_ERROR * worth.abs() {
            (self.best, self.labels) = (worth, labels);
        }
    }
}

#[cfg(test)]
mod tests;
