//! Groups of nodes and what joins them (`shell/web/src/afar/groups.ts`).

use std::cmp::Reverse;
use std::collections::HashMap;

use graphlume_scene::wire::NO_GROUP;

use crate::drawing::Drawing;
use crate::settings::Theme;
use crate::view::is_placed;

/// What of a group does not depend on where its nodes are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    pub(crate) id: u16,
    /// Visible nodes.
    pub(crate) count: u32,
    /// The largest of them, which names the group.
    pub(crate) top: u32,
    /// The colour of most of them, channels 0 to 1.
    pub(crate) color: [f32; 3],
}

/// Edges between two groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// Places in the list of groups.
    pub(crate) ends: [usize; 2],
    /// Visible edges between them.
    pub(crate) count: u32,
}

/// What of a drawing groups are made of.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a> {
    pub(crate) drawing: &'a Drawing<'a>,
    pub(crate) theme: Theme,
    /// Whether a node counts.
    pub(crate) shows: &'a dyn Fn(u32) -> bool,
}

/// Different colours up to which they are counted one by one: those of categories and communities.
const PALETTE_MAX: usize = 64;
/// Bits of a channel that are left of colours that are more.
const COARSE: u32 = 0xffe0_e0e0;

/// The groups of a level with at least so many nodes that count, by falling number of these, at most `most`.
pub(crate) fn groups_of(
    level: &[u16],
    elements: Elements<'_>,
    most: usize,
    least: u32,
) -> Vec<Group> {
    let sizes = elements.drawing.node_size;
    let last = level.iter().filter(|g| **g != NO_GROUP).max().map_or(0, |g| usize::from(*g) + 1);
    let mut counts = vec![0u32; last];
    let mut tops: Vec<Option<u32>> = vec![None; last];
    for (v, group) in (0u32..).zip(level) {
        if *group == NO_GROUP || !(elements.shows)(v) {
            continue;
        }
        let group = usize::from(*group);
        counts[group] += 1;
        let is_larger = |top: u32| sizes[v as usize] > sizes[top as usize];
        if tops[group].is_none_or(is_larger) {
            tops[group] = Some(v);
        }
    }
    let mut order: Vec<u16> = (0..last).filter(|g| counts[*g] >= least).map(|g| g as u16).collect();
    order.sort_by_key(|g| (Reverse(counts[usize::from(*g)]), *g));
    order.truncate(most);
    let colors = prevailing(level, &order, elements);
    let group = |(id, color): (&u16, [f32; 3])| {
        let k = usize::from(*id);
        Group { id: *id, count: counts[k], top: tops[k].unwrap_or(0), color }
    };
    order.iter().zip(colors).map(group).collect()
}

/// The place of each group in a list; -1 for one that is not in it.
pub(crate) fn places_in(groups: impl Iterator<Item = u16>) -> Vec<i32> {
    let mut place = vec![-1; usize::from(NO_GROUP) + 1];
    groups.zip(0..).for_each(|(group, k)| place[usize::from(group)] = k);
    place
}

/// The colour that most nodes of each group have; where colours are of a scale, roughly.
fn prevailing(level: &[u16], groups: &[u16], elements: Elements<'_>) -> Vec<[f32; 3]> {
    let place = places_in(groups.iter().copied());
    let shown = |v: usize| u32::from_le_bytes(elements.drawing.node_color(v, elements.theme));
    let mut distinct = std::collections::HashSet::new();
    for v in 0..level.len() {
        distinct.insert(shown(v));
        if distinct.len() > PALETTE_MAX {
            break;
        }
    }
    let bits = if distinct.len() > PALETTE_MAX { COARSE } else { u32::MAX };
    // Of colours with as many votes the one that came first wins.
    let mut votes: Vec<HashMap<u32, (u32, usize, u32)>> = vec![HashMap::new(); groups.len()];
    for (v, group) in level.iter().enumerate() {
        let Ok(k) = usize::try_from(place[usize::from(*group)]) else { continue };
        if !(elements.shows)(v as u32) {
            continue;
        }
        let color = shown(v);
        votes[k].entry(color & bits).or_insert((0, v, color)).0 += 1;
    }
    let best = |of: HashMap<u32, (u32, usize, u32)>| {
        let best = of.into_values().max_by_key(|(votes, first, _)| (*votes, Reverse(*first)));
        let [r, g, b, _] = best.map_or(0, |(_, _, color)| color).to_le_bytes();
        [r, g, b].map(|c| f32::from(c) / 255.0)
    };
    votes.into_iter().map(best).collect()
}

/// Where the nodes of a group are: their middle, and their standard deviation on each axis.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Spread {
    pub(crate) middle: [f64; 2],
    pub(crate) far: [f64; 2],
}

/// Where the visible nodes of groups are.
pub(crate) fn spreads(level: &[u16], groups: &[Group], drawing: &Drawing<'_>) -> Vec<Spread> {
    let place = places_in(groups.iter().map(|group| group.id));
    let mut found = vec![Spread::default(); groups.len()];
    // Twice: a few nodes far out must not say where a group is, nor how large.
    for turn in 0..2 {
        let mut sums = vec![[0.0f64; 5]; groups.len()];
        for (v, group) in level.iter().enumerate() {
            let Ok(k) = usize::try_from(place[usize::from(*group)]) else { continue };
            let at = drawing.positions[v];
            if !drawing.shows_node(v as u32) || !is_placed(at) {
                continue;
            }
            let [x, y] = at.map(f64::from);
            if turn > 0 {
                let Spread { middle, far } = found[k];
                let (dx, dy, reach) = (x - middle[0], y - middle[1], 2.0 * (far[0] + far[1]));
                if dx * dx + dy * dy > reach * reach {
                    continue;
                }
            }
            let sum = &mut sums[k];
            for (part, value) in sum.iter_mut().zip([1.0, x, y, x * x, y * y]) {
                *part += value;
            }
        }
        for (spread, sum) in found.iter_mut().zip(&sums) {
            let n = sum[0].max(1.0);
            spread.middle = [sum[1] / n, sum[2] / n];
            spread.far = [0, 1]
                .map(|c| (sum[3 + c] / n - spread.middle[c] * spread.middle[c]).max(0.0).sqrt());
        }
    }
    found
}

/// Visible edges between groups, the most first, at most `most` links.
pub(crate) fn links_of(
    level: &[u16],
    groups: &[Group],
    drawing: &Drawing<'_>,
    most: usize,
) -> Vec<Link> {
    let n = groups.len();
    let place = places_in(groups.iter().map(|group| group.id));
    let mut counts = vec![0u32; n * n];
    for (e, ends) in (0u32..).zip(drawing.ends) {
        let [a, b] = ends.map(|v| place[usize::from(level[v as usize])]);
        let (Ok(a), Ok(b)) = (usize::try_from(a), usize::try_from(b)) else { continue };
        if a != b && drawing.shows_edge(e) {
            counts[a.min(b) * n + a.max(b)] += 1;
        }
    }
    let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| [a, b]));
    let link = |ends: [usize; 2]| {
        let count = counts[ends[0] * n + ends[1]];
        (count > 0).then_some(Link { ends, count })
    };
    let mut found: Vec<Link> = pairs.filter_map(link).collect();
    found.sort_by_key(|link| (Reverse(link.count), link.ends));
    found.truncate(most);
    found
}
