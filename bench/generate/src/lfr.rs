//! LFR benchmark graphs (Lancichinetti, Fortunato and Radicchi, Phys. Rev. E 78, 2008): power laws in
//! the degrees and in the community sizes, and a known share of edges that leave a community.

use graphlume_types::hash::{h64, unit_f64};

use crate::{EdgeList, SpecError, in_range};

/// Parameters of [`lfr`].
#[derive(Debug, Clone, PartialEq)]
pub struct LfrSpec {
    /// Number of nodes.
    pub num_nodes: u32,
    /// Exponent of the degree distribution.
    pub tau1: f64,
    /// Exponent of the community size distribution.
    pub tau2: f64,
    /// Share of edges, in percent, that leave their community.
    pub mixing_percent: u32,
    /// Smallest degree.
    pub degree_min: u32,
    /// Largest degree.
    pub degree_max: u32,
    /// Smallest community.
    pub community_min: u32,
    /// Largest community.
    pub community_max: u32,
    /// Seed.
    pub seed: u64,
}

impl Default for LfrSpec {
    fn default() -> Self {
        Self {
            num_nodes: 10_000,
            tau1: 2.5,
            tau2: 1.5,
            mixing_percent: 30,
            degree_min: 8,
            degree_max: 200,
            community_min: 30,
            community_max: 600,
            seed: 1,
        }
    }
}

/// A power-law number in `lo..=hi` with density `x^-tau`, from a uniform `u`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by lo and hi")]
fn power_law(u: f64, lo: u32, hi: u32, tau: f64) -> u32 {
    let (a, b) = (f64::from(lo), f64::from(hi) + 1.0);
    let e = 1.0 - tau;
    let x = if e.abs() < 1e-9 {
        a * (b / a).powf(u)
    } else {
        (a.powf(e) + u * (b.powf(e) - a.powf(e))).powf(1.0 / e)
    };
    (x as u32).clamp(lo, hi)
}

fn check(spec: &LfrSpec) -> Result<(), SpecError> {
    let n = u64::from(spec.num_nodes);
    in_range("lfr", "nodes", n, 10..=1 << 28, "10 to 2^28")?;
    in_range("lfr", "mixing", u64::from(spec.mixing_percent), 0..=100, "0 to 100")?;
    in_range("lfr", "degree_min", u64::from(spec.degree_min), 1..=n / 2, "1 to nodes / 2")?;
    let min = u64::from(spec.degree_min);
    in_range(
        "lfr",
        "degree_max",
        u64::from(spec.degree_max),
        min..=n - 1,
        "degree_min to nodes - 1",
    )?;
    in_range("lfr", "community_min", u64::from(spec.community_min), 2..=n, "2 to nodes")?;
    let min = u64::from(spec.community_min);
    in_range(
        "lfr",
        "community_max",
        u64::from(spec.community_max),
        min..=n,
        "community_min to nodes",
    )
}

/// Pairs up `stubs` at random, dropping loops and duplicates after a few attempts to repair them.
#[expect(clippy::cast_possible_truncation, reason = "values are reduced modulo a list length")]
fn wire(
    stubs: &mut [u32],
    seed: u64,
    stream: u64,
    accept: impl Fn(u32, u32) -> bool,
    out: &mut Vec<(u32, u32)>,
) {
    for i in (1..stubs.len()).rev() {
        stubs.swap(i, (h64(seed, stream, i as u64) % (i as u64 + 1)) as usize);
    }
    let len = stubs.len() & !1;
    for i in (0..len).step_by(2) {
        // A bad pair swaps its second end with a later one; the last few may stay unpaired.
        for attempt in 0..20u64 {
            if accept(stubs[i], stubs[i + 1]) {
                break;
            }
            let span = (len - i) as u64;
            let j = i + (h64(seed, stream + 1, (i as u64) << 8 | attempt) % span) as usize;
            stubs.swap(i + 1, j);
        }
        if accept(stubs[i], stubs[i + 1]) {
            out.push((stubs[i], stubs[i + 1]));
        }
    }
}

/// Sizes that sum to the number of nodes; the last community takes the remainder.
fn community_sizes(spec: &LfrSpec) -> Vec<u32> {
    let (mut sizes, mut left) = (Vec::new(), spec.num_nodes);
    while left > 0 {
        let u = unit_f64(spec.seed, 31, sizes.len() as u64);
        let s = power_law(u, spec.community_min, spec.community_max, spec.tau2).min(left);
        if left - s < spec.community_min {
            sizes.push(left);
            break;
        }
        sizes.push(s);
        left -= s;
    }
    sizes
}

/// A graph with planted communities of power-law sizes.
///
/// # Errors
/// A parameter is out of range.
#[expect(clippy::cast_possible_truncation, reason = "node ids fit 32 bits")]
pub fn lfr(spec: &LfrSpec) -> Result<EdgeList, SpecError> {
    check(spec)?;
    let n = spec.num_nodes as usize;
    let sizes = community_sizes(spec);
    let mut slots: Vec<u32> = sizes
        .iter()
        .enumerate()
        .flat_map(|(c, s)| std::iter::repeat_n(c as u32, *s as usize))
        .collect();
    for i in (1..n).rev() {
        slots.swap(i, (h64(spec.seed, 32, i as u64) % (i as u64 + 1)) as usize);
    }
    let community = slots;
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); sizes.len()];
    let (mut outer, mut internal) = (Vec::new(), vec![Vec::new(); sizes.len()]);
    for (v, c) in community.iter().map(|c| *c as usize).enumerate() {
        members[c].push(v as u32);
        let u = unit_f64(spec.seed, 30, v as u64);
        let degree = power_law(u, spec.degree_min, spec.degree_max, spec.tau1);
        let leaving = (u64::from(degree) * u64::from(spec.mixing_percent) + 50) / 100;
        // A node cannot have more inner neighbours than its community has other members.
        let inner = (degree - leaving as u32).min(sizes[c].saturating_sub(1));
        outer.extend(std::iter::repeat_n(v as u32, leaving as usize));
        internal[c].extend(std::iter::repeat_n(v as u32, inner as usize));
    }
    let mut pairs = Vec::new();
    for (c, stubs) in internal.iter_mut().enumerate() {
        wire(stubs, spec.seed, 1_000 + 2 * c as u64, |a, b| a != b, &mut pairs);
    }
    wire(
        &mut outer,
        spec.seed,
        33,
        |a, b| community[a as usize] != community[b as usize],
        &mut pairs,
    );
    for p in &mut pairs {
        *p = (p.0.min(p.1), p.0.max(p.1));
    }
    pairs.sort_unstable();
    pairs.dedup();
    let keyed = |_: usize, (a, b): (u32, u32)| u64::from(a) * n as u64 + u64::from(b);
    let (src, dst) = crate::shuffle_by_hash(&pairs, spec.seed, keyed)
        .into_iter()
        .map(|(a, b)| crate::orient(a, b, n as u64, spec.seed))
        .unzip();
    Ok(EdgeList { num_nodes: spec.num_nodes, src, dst, community: Some(community) })
}
