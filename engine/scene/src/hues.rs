//! The colours that are used when none are chosen, and how communities get theirs.

use graphlume_graph::Topology;
use rayon::prelude::*;

use crate::css::Rgba;

const fn rgb(v: u32) -> Rgba {
    let [_, r, g, b] = v.to_be_bytes();
    [r, g, b, 255]
}

/// Twelve hues that people with any kind of colour vision tell apart on a dark background.
pub(crate) const HUES: [Rgba; 12] = [
    rgb(0x6d_b9fc),
    rgb(0xca_5d2f),
    rgb(0xfd_d141),
    rgb(0x35_957c),
    rgb(0x94_67ca),
    rgb(0x2d_f1c4),
    rgb(0xe4_90bb),
    rgb(0xa6_aa07),
    rgb(0xd7_cefd),
    rgb(0xa8_c991),
    rgb(0x73_85aa),
    rgb(0xc0_935f),
];
/// For values beyond the hues, and for no value.
pub(crate) const OTHER: Rgba = rgb(0x6b_7589);
/// From low to high; the darkest stop still shows on the dark background.
pub(crate) const RAMP: [Rgba; 6] = [
    rgb(0x5b_4fa8),
    rgb(0x3f_76b5),
    rgb(0x2a_9aa8),
    rgb(0x35_b779),
    rgb(0x8f_d744),
    rgb(0xfd_e725),
];

/// Whether a colour is one of those for which a light page has another.
pub(crate) fn is_built_in([r, g, b, _]: Rgba) -> bool {
    HUES.iter().chain([&OTHER]).any(|hue| hue[..3] == [r, g, b])
}

/// Communities by falling size (ties: by number), and the index into [`HUES`] of each community.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommunityHues {
    /// Community numbers, the largest first.
    pub(crate) by_size: Vec<u32>,
    /// Nodes of each community.
    pub(crate) sizes: Vec<u32>,
    /// Hue of each community.
    pub(crate) hues: Vec<u8>,
    /// Nodes without neighbours.
    pub(crate) alone: u32,
}

/// Gives neighbouring communities different hues: the largest choose first, each the hue that shares the
/// fewest edges with communities already coloured so, and of those the one that colours the fewest nodes.
/// Nodes without neighbours belong to no community.
pub(crate) fn of_communities(topology: &Topology, labels: &[u32]) -> CommunityHues {
    let count = labels.iter().max().map_or(0, |m| *m as usize + 1);
    let mut sizes = vec![0u32; count];
    let mut alone = 0;
    for (v, label) in (0..).zip(labels) {
        if is_alone(topology, v) {
            alone += 1;
        } else {
            sizes[*label as usize] += 1;
        }
    }
    let mut by_size: Vec<u32> = (0..count as u32).filter(|c| sizes[*c as usize] > 0).collect();
    by_size.sort_by_key(|c| (std::cmp::Reverse(sizes[*c as usize]), *c));
    let (offsets, links) = meta_graph(topology, labels, count);
    let mut hues = vec![u8::MAX; count];
    let mut painted = [0u64; HUES.len()];
    for community in &by_size {
        let c = *community as usize;
        let mut shared = [0u64; HUES.len()];
        for (other, weight) in &links[offsets[c]..offsets[c + 1]] {
            if let Some(s) = shared.get_mut(usize::from(hues[*other as usize])) {
                *s += u64::from(*weight);
            }
        }
        let best = (0..HUES.len()).min_by_key(|h| (shared[*h], painted[*h], *h)).unwrap_or(0);
        hues[c] = best as u8;
        painted[best] += u64::from(sizes[c]);
    }
    CommunityHues { by_size, sizes, hues, alone }
}

/// Whether a node has no neighbour but itself.
pub(crate) fn is_alone(topology: &Topology, v: u32) -> bool {
    topology.out_neighbors(v).iter().chain(topology.in_neighbors(v)).all(|w| *w == v)
}

/// Edges between communities: the start of each community's list, and (other, edges) pairs.
fn meta_graph(topology: &Topology, labels: &[u32], count: usize) -> (Vec<usize>, Vec<(u32, u32)>) {
    let mut pairs: Vec<u64> = (0..topology.num_nodes())
        .into_par_iter()
        .with_min_len(1 << 10)
        .flat_map_iter(|v| {
            let a = labels[v as usize];
            let others = topology.out_neighbors(v).iter().map(move |w| labels[*w as usize]);
            others
                .filter(move |b| *b != a)
                .map(move |b| u64::from(a.min(b)) << 32 | u64::from(a.max(b)))
        })
        .collect();
    pairs.par_sort_unstable();
    let mut weighted: Vec<(u32, u32, u32)> = Vec::new();
    for pair in pairs {
        let (a, b) = ((pair >> 32) as u32, pair as u32);
        match weighted.last_mut() {
            Some(last) if (last.0, last.1) == (a, b) => last.2 = last.2.saturating_add(1),
            _ => weighted.push((a, b, 1)),
        }
    }
    let mut offsets = vec![0; count + 1];
    for (a, b, _) in &weighted {
        offsets[*a as usize + 1] += 1;
        offsets[*b as usize + 1] += 1;
    }
    for c in 0..count {
        offsets[c + 1] += offsets[c];
    }
    let mut cursor = offsets.clone();
    let mut links = vec![(0, 0); weighted.len() * 2];
    for (a, b, weight) in weighted {
        for (from, to) in [(a, b), (b, a)] {
            links[cursor[from as usize]] = (to, weight);
            cursor[from as usize] += 1;
        }
    }
    (offsets, links)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn communities_that_share_edges_get_different_hues() {
        // A ring of 30 communities of 3 nodes, each linked to the next two.
        let (mut src, mut dst) = (vec![], vec![]);
        for c in 0..30u32 {
            for next in [1, 2] {
                src.push(c * 3);
                dst.push((c + next) % 30 * 3 + 1);
            }
        }
        let labels: Vec<u32> = (0..90).map(|v| v / 3).collect();
        let found = of_communities(&Topology::from_coo(90, &src, &dst), &labels);
        for c in 0..30 {
            for next in [1, 2] {
                assert_ne!(found.hues[c], found.hues[(c + next) % 30], "{c}");
            }
        }
        // All hues are used, about equally.
        let used = |h| found.hues.iter().filter(|x| **x == h).count();
        assert!((0..12).all(|h| (1..=4).contains(&used(h))), "{:?}", found.hues);
    }

    #[test]
    fn the_largest_community_gets_the_first_hue() {
        let labels = [1, 1, 1, 0, 0, 2];
        let edges = ([0, 1, 3, 5], [1, 2, 4, 0]);
        let found = of_communities(&Topology::from_coo(6, &edges.0, &edges.1), &labels);
        assert_eq!(found.by_size, [1, 0, 2]);
        assert_eq!(found.sizes, [2, 3, 1]);
        assert_eq!((found.hues[1], found.alone), (0, 0));
    }

    #[test]
    fn nodes_without_neighbours_are_no_community() {
        // Node 3 has only an edge to itself, node 4 none.
        let topology = Topology::from_coo(5, &[0, 1, 3], &[1, 2, 3]);
        let found = of_communities(&topology, &[0, 0, 0, 1, 2]);
        assert_eq!((found.by_size, found.sizes, found.alone), (vec![0], vec![3, 0, 0], 2));
    }

    #[test]
    fn no_nodes_need_no_hues() {
        let found = of_communities(&Topology::from_coo(0, &[], &[]), &[]);
        assert!(found.by_size.is_empty() && found.hues.is_empty());
    }
}
