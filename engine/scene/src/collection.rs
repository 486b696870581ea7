//! Collections: named parts of a graph that are painted over its own colours.

use std::collections::HashMap;

use graphlume_graph::Topology;

use crate::css::{self, Rgba};
use crate::hues::is_built_in;
use crate::order::EdgeOrder;
use crate::palette::Kind;
use crate::palettes;

/// A set of indices below a bound, one bit for each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bits {
    words: Vec<u64>,
    count: u64,
}

impl Bits {
    /// The distinct indices of `list` that are below `bound`.
    #[must_use]
    pub fn new(bound: u32, list: &[u32]) -> Self {
        let mut words = vec![0u64; bound.div_ceil(64) as usize];
        let mut count = 0;
        for i in list.iter().filter(|i| **i < bound) {
            let (word, bit) = (&mut words[*i as usize / 64], 1 << (i % 64));
            count += u64::from(*word & bit == 0);
            *word |= bit;
        }
        Self { words, count }
    }

    /// The indices below `bound` whose bits are set in `words`, least significant first.
    #[must_use]
    pub fn of_words(bound: u32, mut words: Vec<u64>) -> Self {
        words.resize(bound.div_ceil(64) as usize, 0);
        if let (Some(last), left @ 1..) = (words.last_mut(), bound % 64) {
            *last &= u64::MAX >> (64 - left);
        }
        let count = words.iter().map(|w| u64::from(w.count_ones())).sum();
        Self { words, count }
    }

    /// The indices below `bound` from the first to the last of each pair, however often they are named.
    #[must_use]
    pub fn of_ranges(bound: u32, mut ranges: Vec<[u32; 2]>) -> Self {
        ranges.sort_unstable();
        let mut words = vec![0u64; bound.div_ceil(64) as usize];
        // Each index is looked at once.
        let mut next = 0;
        for [first, last] in ranges {
            for i in first.max(next)..last.saturating_add(1).min(bound) {
                words[i as usize / 64] |= 1 << (i % 64);
            }
            next = next.max(last.saturating_add(1));
        }
        Self::of_words(bound, words)
    }

    /// The indices of the flags that are set.
    #[must_use]
    pub fn of_flags(flags: impl ExactSizeIterator<Item = bool>) -> Self {
        let bound = flags.len() as u32;
        let mut words = vec![0u64; flags.len().div_ceil(64)];
        for (i, flag) in flags.enumerate() {
            words[i / 64] |= u64::from(flag) << (i % 64);
        }
        Self::of_words(bound, words)
    }

    /// All indices below `bound`.
    #[must_use]
    pub fn all(bound: u32) -> Self {
        Self::of_words(bound, vec![u64::MAX; bound.div_ceil(64) as usize])
    }

    /// Words of 64 bits, least significant first.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Bytes of 8 bits, least significant first, for the indices below `bound`: as masks travel.
    #[must_use]
    pub fn bytes(&self, bound: u32) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        bytes.resize(bound.div_ceil(8) as usize, 0);
        bytes
    }

    /// The indices that are in both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let words: Vec<u64> = self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect();
        let count = words.iter().map(|w| u64::from(w.count_ones())).sum();
        Self { words, count }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether an index is in it.
    #[must_use]
    #[inline]
    pub fn contains(&self, i: u32) -> bool {
        self.words.get(i as usize / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
    }

    /// The indices, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                (bit < 64).then_some(at as u32 * 64 + bit)
            })
        })
    }
}

/// The elements of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Members {
    /// Node indices.
    pub nodes: Bits,
    /// Edges by position in the outgoing adjacency.
    pub edges: Bits,
}

impl Members {
    /// How many elements there are.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.nodes.len() + self.edges.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How the elements of a collection are coloured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paint(Colors);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Colors {
    Flat { node: Option<Rgba>, edge: Option<Rgba> },
    Palette(&'static str),
}

impl Default for Paint {
    /// Paint that changes nothing.
    fn default() -> Self {
        Self(Colors::Flat { node: None, edge: None })
    }
}

impl Paint {
    /// One colour for nodes and one for edges, as CSS writes them; what is absent keeps its own. `None`
    /// when a text is no colour.
    #[must_use]
    pub fn flat(node: Option<&str>, edge: Option<&str>) -> Option<Self> {
        let read = |text: Option<&str>| match text {
            None => Some(None),
            Some(text) => css::parse(text).map(Some),
        };
        Some(Self(Colors::Flat { node: read(node)?, edge: read(edge)? }))
    }

    /// A palette by its name, whatever its case. Sequential and diverging palettes run from few links to
    /// many; the colours of a qualitative one go to the connected parts of the collection, the largest
    /// first.
    #[must_use]
    pub fn palette(name: &str) -> Option<Self> {
        Some(Self(Colors::Palette(palettes::by_name(name)?.name)))
    }

    /// The names that [`Paint::palette`] knows.
    #[must_use]
    pub fn palette_names() -> Vec<&'static str> {
        palettes::names().collect()
    }

    /// The name of the palette, when it is one.
    #[must_use]
    pub const fn palette_name(&self) -> Option<&'static str> {
        match &self.0 {
            Colors::Palette(name) => Some(name),
            Colors::Flat { .. } => None,
        }
    }

    /// The colours for a list: one, or those of the palette.
    #[must_use]
    pub fn swatches(&self) -> Vec<String> {
        match &self.0 {
            Colors::Flat { node, edge } => node.or(*edge).map(css::to_hex).into_iter().collect(),
            Colors::Palette(name) => colors_of(name).into_iter().map(css::to_hex).collect(),
        }
    }
}

fn colors_of(name: &str) -> Vec<Rgba> {
    palettes::by_name(name).map(|p| p.largest()).unwrap_or_default()
}

/// Colours with collections painted over them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Painted {
    /// By node index.
    pub nodes: Vec<[u8; 4]>,
    /// As [`Scene::node_chosen`](crate::Scene::node_chosen), of these colours: those of collections were given by users.
    pub chosen: Bits,
    /// By drawn index. An opacity of 0 where the scene gives edges no colours of their own stands for the
    /// look that the page gives them. None when no edge is painted.
    pub edges: Option<Vec<[u8; 4]>>,
}

/// Paints `layers` over the colours of a scene, of which those of the nodes in `chosen` were chosen, the first on top, all of
/// them over `background`. `edges` are the scene's own colours in drawn order, those of the destinations behind those of the sources where each end has one.
#[must_use]
pub fn paint(
    topology: &Topology,
    order: EdgeOrder,
    (mut nodes, chosen): (Vec<[u8; 4]>, &Bits),
    edges: Option<Vec<[u8; 4]>>,
    layers: &[(&Paint, &Members)],
    background: &Paint,
) -> Painted {
    let mut edges = EdgePaint { order, colors: edges };
    let mut chosen: Vec<bool> = (0..nodes.len() as u32).map(|v| chosen.contains(v)).collect();
    if let Colors::Flat { node, edge } = background.0 {
        if let Some(color) = node {
            nodes.fill(color);
            chosen.fill(is_built_in(color));
        }
        if let Some(color) = edge {
            edges.colors().fill(color);
        }
    }
    for (paint, members) in layers.iter().rev() {
        match &paint.0 {
            Colors::Flat { node, edge } => {
                for v in members.nodes.iter().filter(|_| node.is_some()) {
                    nodes[v as usize] = node.unwrap_or_default();
                    chosen[v as usize] = node.is_some_and(is_built_in);
                }
                if let Some(color) = edge {
                    members.edges.iter().for_each(|e| edges.set(e, *color));
                }
            }
            Colors::Palette(name) => {
                let painted = of_palette(topology, members, name);
                for (v, color) in &painted {
                    nodes[*v as usize] = *color;
                    chosen[*v as usize] = is_built_in(*color);
                }
                let first = colors_of(name).first().copied();
                for e in members.edges.iter() {
                    let (source, destination, _) = topology.edge(e);
                    let ends = painted.get(&source).or_else(|| painted.get(&destination));
                    if let Some(color) = ends.copied().or(first) {
                        edges.set(e, color);
                    }
                }
            }
        }
    }
    Painted { nodes, chosen: Bits::of_flags(chosen.into_iter()), edges: edges.colors }
}

/// Colours of edges, made when the first one is painted.
struct EdgePaint {
    order: EdgeOrder,
    colors: Option<Vec<Rgba>>,
}

impl EdgePaint {
    fn colors(&mut self) -> &mut Vec<Rgba> {
        let len = self.order.len() as usize;
        self.colors.get_or_insert_with(|| vec![[0; 4]; len])
    }

    fn set(&mut self, position: u32, color: Rgba) {
        let drawn = self.order.drawn(position) as usize;
        let edges = self.order.len() as usize;
        // Both ends, where the scene gives each a colour.
        self.colors().iter_mut().skip(drawn).step_by(edges.max(1)).for_each(|c| *c = color);
    }
}

/// The colour of every member under a palette.
fn of_palette(topology: &Topology, members: &Members, name: &str) -> HashMap<u32, Rgba> {
    let colors = colors_of(name);
    let qualitative = palettes::by_name(name).is_some_and(|p| p.kind == Kind::Qualitative);
    if colors.is_empty() {
        return HashMap::new();
    }
    if qualitative {
        let parts = parts(topology, members);
        return parts.into_iter().map(|(v, part)| (v, colors[part % colors.len()])).collect();
    }
    // Degrees have long tails, so the ramp follows their logarithm.
    let links = |v: u32| f64::from(topology.degree(v)).ln_1p();
    let (low, high) = members
        .nodes
        .iter()
        .map(links)
        .fold((f64::MAX, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
    let span = if high > low { high - low } else { 1.0 };
    let color = |v: u32| css::ramp(&colors, (links(v) - low) / span);
    members.nodes.iter().map(|v| (v, color(v))).collect()
}

/// The connected part of every member node, the largest part being 0. Parts hang together by the member
/// edges, or when there is none, by all edges between members.
fn parts(topology: &Topology, members: &Members) -> HashMap<u32, usize> {
    let nodes: Vec<u32> = members.nodes.iter().collect();
    let place: HashMap<u32, usize> = nodes.iter().enumerate().map(|(i, v)| (*v, i)).collect();
    let mut parent: Vec<usize> = (0..nodes.len()).collect();
    fn root(parent: &mut [usize], mut i: usize) -> usize {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    }
    let mut join = |a: u32, b: u32| {
        if let (Some(a), Some(b)) = (place.get(&a), place.get(&b)) {
            let (a, b) = (root(&mut parent, *a), root(&mut parent, *b));
            // The smaller index leads, so that parts are named alike at every run.
            parent[a.max(b)] = a.min(b);
        }
    };
    if members.edges.is_empty() {
        for v in &nodes {
            let inside = topology.out_neighbors(*v).iter().filter(|w| members.nodes.contains(**w));
            inside.for_each(|w| join(*v, *w));
        }
    } else {
        for e in members.edges.iter() {
            let (source, destination, _) = topology.edge(e);
            join(source, destination);
        }
    }
    let roots: Vec<usize> = (0..nodes.len()).map(|i| root(&mut parent, i)).collect();
    let mut sizes: HashMap<usize, usize> = HashMap::new();
    roots.iter().for_each(|r| *sizes.entry(*r).or_default() += 1);
    let mut ranked: Vec<(usize, usize)> = sizes.into_iter().map(|(r, size)| (size, r)).collect();
    ranked.sort_unstable_by_key(|(size, r)| (std::cmp::Reverse(*size), *r));
    let rank: HashMap<usize, usize> =
        ranked.into_iter().enumerate().map(|(at, (_, r))| (r, at)).collect();
    nodes.iter().zip(&roots).map(|(v, r)| (*v, rank[r])).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    const RED: Rgba = [255, 0, 0, 255];
    const BLUE: Rgba = [0, 0, 255, 255];
    const GREY: Rgba = [9, 9, 9, 255];

    fn members(nodes: &[u32], edges: &[u32]) -> Members {
        Members { nodes: Bits::new(6, nodes), edges: Bits::new(4, edges) }
    }

    fn painted(layers: &[(&Paint, &Members)], background: &Paint) -> Painted {
        let t = Topology::from_coo(6, &[0, 1, 2, 3], &[1, 2, 0, 4]);
        paint(&t, EdgeOrder::new(4, 1), (vec![GREY; 6], &Bits::default()), None, layers, background)
    }

    #[test]
    fn bits_count_distinct_indices_and_give_them_back_in_order() {
        let bits = Bits::new(130, &[129, 3, 3, 64, 200]);
        assert_eq!((bits.len(), bits.iter().collect::<Vec<_>>()), (3, vec![3, 64, 129]));
        let other = Bits::new(130, &[64, 129, 7]);
        assert_eq!(bits.and(&other).iter().collect::<Vec<_>>(), [64, 129]);
        assert!(Bits::new(10, &[]).is_empty() && bits.and(&Bits::new(130, &[1])).is_empty());
        let all = Bits::all(67);
        assert_eq!((all.len(), all.iter().last(), all.and(&all)), (67, Some(66), all.clone()));
        assert_eq!(Bits::of_words(3, vec![u64::MAX, 1]), Bits::new(3, &[0, 1, 2]));
        let ranges = vec![[70, 71], [0, 2], [1, 1], [0, 0], [64, u32::MAX]];
        assert_eq!(
            Bits::of_ranges(72, ranges),
            Bits::new(72, &[0, 1, 2, 64, 65, 66, 67, 68, 69, 70, 71])
        );
        assert!(
            Bits::of_ranges(0, vec![[0, 3]]).is_empty()
                && Bits::of_ranges(5, Vec::new()).is_empty()
        );
        assert_eq!(Bits::new(20, &[0, 9, 19]).bytes(20), [1, 2, 8]);
    }

    #[test]
    fn the_first_layer_is_on_top_and_the_background_below_all() {
        let (red, blue) = (
            Paint::flat(Some("#ff0000"), Some("#ff0000")).unwrap(),
            Paint::flat(Some("#0000ff"), None).unwrap(),
        );
        let (a, b) = (members(&[0, 1], &[0]), members(&[1, 2], &[1]));
        let plain = Paint::default();
        let p = painted(&[(&red, &a), (&blue, &b)], &plain);
        assert_eq!(p.nodes, [RED, RED, BLUE, GREY, GREY, GREY]);
        let edges = p.edges.unwrap();
        assert_eq!(edges.iter().filter(|c| **c == RED).count(), 1);
        assert_eq!(edges.iter().filter(|c| c[3] == 0).count(), 3, "the rest keeps its look");
        let p = painted(&[(&blue, &b), (&red, &a)], &plain);
        assert_eq!(p.nodes[1], BLUE, "the order decides");
        let white = Paint::flat(Some("fff000"), Some("#010203")).unwrap();
        let p = painted(&[(&blue, &b)], &white);
        assert_eq!((p.nodes[0], p.nodes[1]), ([255, 240, 0, 255], BLUE));
        assert_eq!(p.edges.unwrap(), [[1, 2, 3, 255]; 4]);
        assert_eq!(
            painted(&[], &plain),
            Painted { nodes: vec![GREY; 6], chosen: Bits::new(6, &[]), edges: None }
        );
    }

    #[test]
    fn painted_built_in_hues_are_chosen_and_what_is_painted_over_them_is_not() {
        let t = Topology::from_coo(6, &[0, 1, 2], &[1, 2, 0]);
        let hue = Paint::flat(Some("#6db9fc"), None).unwrap();
        let red = Paint::flat(Some("#ff0000"), None).unwrap();
        let layers = |top: &[u32], below: &[u32]| [members(top, &[]), members(below, &[])];
        let plain = Paint::default();
        let order = EdgeOrder::new(3, 1);
        let chosen = |layers: &[(&Paint, &Members)], background: &Paint, own: &[u32]| {
            let own = Bits::new(6, own);
            let p = paint(&t, order, (vec![GREY; 6], &own), None, layers, background);
            p.chosen.iter().collect::<Vec<u32>>()
        };
        let [top, below] = layers(&[0], &[0, 1, 2]);
        assert_eq!(chosen(&[(&red, &top), (&hue, &below)], &plain, &[5]), [1, 2, 5]);
        assert_eq!(chosen(&[(&hue, &top), (&red, &below)], &plain, &[1, 5]), [0, 5]);
        assert_eq!(chosen(&[(&red, &top)], &hue, &[]), [1, 2, 3, 4, 5]);
        assert!(chosen(&[], &red, &[1]).is_empty(), "another background hides them");
        // Paint of edges leaves nodes as they are.
        let edges = Paint::flat(None, Some("#6db9fc")).unwrap();
        assert_eq!(chosen(&[(&edges, &below)], &edges, &[4]), [4]);
    }

    #[test]
    fn a_painted_edge_has_one_colour_at_both_ends() {
        let t = Topology::from_coo(6, &[0, 1, 2, 3], &[1, 2, 0, 4]);
        let red = Paint::flat(None, Some("#ff0000")).unwrap();
        let own = [vec![GREY; 4], vec![BLUE; 4]].concat();
        let layers = [(&red, &members(&[], &[2]))];
        let p = paint(
            &t,
            EdgeOrder::new(4, 1),
            (vec![GREY; 6], &Bits::default()),
            Some(own),
            &layers,
            &Paint::default(),
        );
        let edges = p.edges.unwrap();
        let at = edges.iter().position(|c| *c == RED).unwrap();
        assert_eq!((edges.len(), edges[at + 4]), (8, RED));
        assert_eq!(edges.iter().filter(|c| **c == RED).count(), 2);
        assert_eq!(edges[4..].iter().filter(|c| **c == BLUE).count(), 3);
    }

    #[test]
    fn palettes_follow_links_or_connected_parts() {
        let all = members(&[0, 1, 2, 3, 4, 5], &[]);
        let plain = Paint::default();
        let set = Paint::palette("set1").unwrap();
        assert_eq!(set.palette_name(), Some("Set1"));
        let p = painted(&[(&set, &all)], &plain).nodes;
        assert!(p[0] == p[1] && p[1] == p[2] && p[3] == p[4], "{p:?}");
        assert!(p[0] != p[3] && p[3] != p[5] && p[0] != p[5]);
        assert_eq!(css::to_hex(p[0]), set.swatches()[0], "the largest part has the first colour");
        let blues = Paint::palette("Blues").unwrap();
        let p = painted(&[(&blues, &all)], &plain).nodes;
        assert_eq!(css::to_hex(p[5]), blues.swatches()[0], "no link is the low end");
        assert_eq!(css::to_hex(p[0]), *blues.swatches().last().unwrap());
        assert!(Paint::palette("Blue").is_none() && Paint::flat(Some("nope"), None).is_none());
        assert_eq!(Paint::palette_names().len(), 41);
    }
}
