//! A hop over a large part of all edges: they are looked at in order, by all threads, and what is kept is
//! marked by bits.

use std::sync::atomic::{AtomicU64, Ordering};

use graphlume_expr::QueryError;
use graphlume_graph::Topology;
use graphlume_store::ids::{IdMap, IdSet, bit};
use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::{Hops, Reached};
use crate::tuning::tuning;
use graphlume_graph::Direction;

/// Pieces for each thread, so that none waits long for the last one.
const PIECES_PER_THREAD: usize = 4;
/// Bytes of bits that are worth more than one piece for a thread.
const PIECES_BYTES: u64 = 64 << 20;

/// A set that all threads add to.
pub(crate) struct Marks(Vec<AtomicU64>);

impl Marks {
    pub(crate) fn new(bound: u32) -> Self {
        Self((0..bound.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    #[inline]
    pub(crate) fn insert(&self, i: u32) {
        let (Some(word), bit) = (self.0.get(i as usize / 64), 1 << (i % 64)) else { return };
        // Most are there already, and asking costs less than writing.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    pub(crate) fn finish(self) -> IdSet {
        IdSet::of_words(self.0.into_iter().map(AtomicU64::into_inner).collect())
    }
}

/// Edges, and the nodes at their ends.
pub(crate) struct Kept {
    pub(crate) edges: IdSet,
    pub(crate) sources: IdSet,
    pub(crate) destinations: IdSet,
}

impl Kept {
    /// All nodes at the ends.
    pub(crate) fn both_ends(&self, bound: u32) -> IdSet {
        IdSet::union(&[&self.sources, &self.destinations], bound)
    }
}

/// Bits of sources and of destinations.
type EndBits = (Vec<u64>, Vec<u64>);

/// What one thread keeps of a piece of all edges.
struct Piece<'a> {
    t: &'a Topology,
    /// Position of the first edge, a multiple of 64.
    first: u32,
    words: &'a mut [u64],
    sources: &'a mut [u64],
    destinations: &'a mut [u64],
}

impl Piece<'_> {
    /// The edges of 64 positions, one of them this, are kept as the bits say.
    fn fill(&mut self, word: usize, bits: u64) {
        self.words[word] = bits;
        let base = self.first + word as u32 * 64;
        let mut rest = bits;
        while rest != 0 {
            let to = self.t.out_dst()[(base + rest.trailing_zeros()) as usize];
            rest &= rest - 1;
            self.destinations[to as usize / 64] |= 1 << (to % 64);
        }
    }

    /// Looks at all edges of the sources that may be left.
    fn whole(&mut self, leaving: &IdSet, last: u32, keeps: impl Fn(u32, u32, u32) -> bool) {
        let (offsets, targets) = (self.t.out_offsets(), self.t.out_dst());
        let source = offsets.partition_point(|o| *o <= self.first).saturating_sub(1) as u32;
        // The word that is being filled stays in a register.
        let (mut filled, mut bits) = (0, 0_u64);
        for base in (source / 64 * 64..self.t.num_nodes()).step_by(64) {
            if offsets[base as usize] >= last {
                break;
            }
            let mut rest = leaving.word(base);
            while rest != 0 {
                let source = base + rest.trailing_zeros();
                rest &= rest - 1;
                let (from, to) = (offsets[source as usize], offsets[source as usize + 1]);
                let mut any = false;
                for at in from.max(self.first)..to.min(last) {
                    let word = (at - self.first) as usize / 64;
                    if word != filled {
                        self.fill(filled, bits);
                        (filled, bits) = (word, 0);
                    }
                    // No branch: what is kept follows no pattern.
                    let kept = keeps(at, source, targets[at as usize]);
                    bits |= u64::from(kept) << (at % 64);
                    any |= kept;
                }
                self.sources[source as usize / 64] |= u64::from(any) << (source % 64);
            }
        }
        self.fill(filled, bits);
    }

    /// Looks at the given edges.
    fn given(&mut self, edges: &IdSet, leaving: &IdSet, keeps: impl Fn(u32, u32, u32) -> bool) {
        let (offsets, targets) = (self.t.out_offsets(), self.t.out_dst());
        let mut source = offsets.partition_point(|o| *o <= self.first).saturating_sub(1);
        for word in 0..self.words.len() {
            let base = self.first + word as u32 * 64;
            let (mut rest, mut bits) = (edges.word(base), 0);
            while rest != 0 {
                let at = base + rest.trailing_zeros();
                rest &= rest - 1;
                source = next_source(offsets, source, at);
                let from = source as u32;
                let kept = leaving.contains(from) && keeps(at, from, targets[at as usize]);
                bits |= u64::from(kept) << (at % 64);
                self.sources[source / 64] |= u64::from(kept) << (source % 64);
            }
            self.fill(word, bits);
        }
    }
}

/// Words of edges in a piece, of so many, where each piece takes so many bytes for bits of its own.
pub(crate) fn piece_size(words: usize, bytes: u64) -> usize {
    let threads = rayon::current_num_threads();
    let most = (PIECES_BYTES / bytes.max(1)) as usize;
    words.div_ceil(most.clamp(threads, PIECES_PER_THREAD * threads)).max(tuning().words_at_once)
}

/// The nodes in any of the pieces' bits.
pub(crate) fn joined<'p>(bound: u32, pieces: impl Iterator<Item = &'p Vec<u64>>) -> IdSet {
    let mut all = vec![0; bound.div_ceil(64) as usize];
    pieces.for_each(|piece| all.iter_mut().zip(piece).for_each(|(word, more)| *word |= more));
    IdSet::of_words(all)
}

/// The edges that `keeps(position, source, destination)` accepts, of those given, by bits, whose source is
/// among those `leaving`; all threads ask.
pub(crate) fn kept_edges(
    t: &Topology,
    edges: &IdSet,
    leaving: &IdSet,
    cancel: &CancelToken,
    keeps: impl Fn(u32, u32, u32) -> bool + Sync,
) -> Result<Kept, QueryError> {
    let m = t.num_edges();
    let is_whole = matches!(edges, IdSet::First(len) if *len >= m);
    let mut words = vec![0_u64; m.div_ceil(64) as usize];
    // Each piece has bits of its own for all nodes.
    let bytes = u64::from(t.num_nodes().div_ceil(64)) * 2 * size_of::<u64>() as u64;
    let size = piece_size(words.len(), bytes);
    let _held = cancel.hold(bytes * words.len().div_ceil(size) as u64)?;
    let per_check = tuning().words_per_check;
    let pieces: Vec<EndBits> = words
        .par_chunks_mut(size)
        .enumerate()
        .map(|(i, words)| {
            let nodes = vec![0; t.num_nodes().div_ceil(64) as usize];
            let (mut sources, mut destinations) = (nodes.clone(), nodes);
            for (j, words) in words.chunks_mut(per_check).enumerate() {
                if cancel.is_cancelled() {
                    break;
                }
                let first = ((i * size + j * per_check) * 64) as u32;
                let last = first.saturating_add(words.len() as u32 * 64).min(m);
                let (sources, destinations) = (&mut sources, &mut destinations);
                let mut piece = Piece { t, first, words, sources, destinations };
                if is_whole {
                    piece.whole(leaving, last, &keeps);
                } else {
                    piece.given(edges, leaving, &keeps);
                }
            }
            (sources, destinations)
        })
        .collect();
    cancel.check()?;
    let sources = joined(t.num_nodes(), pieces.iter().map(|p| &p.0));
    let destinations = joined(t.num_nodes(), pieces.iter().map(|p| &p.1));
    Ok(Kept { edges: IdSet::of_words(words), sources, destinations })
}

/// The sources of edges, their destinations, or both; all threads look.
pub(crate) fn ends_of(
    t: &Topology,
    edges: &IdSet,
    (from, to): (bool, bool),
    cancel: &CancelToken,
) -> Result<IdSet, QueryError> {
    let n = t.num_nodes();
    if matches!(edges, IdSet::First(len) if *len >= t.num_edges()) {
        let met = |v| from && t.out_degree(v) > 0 || to && t.in_degree(v) > 0;
        return Ok(IdSet::First(n).filter(met));
    }
    let (offsets, targets) = (t.out_offsets(), t.out_dst());
    let marks = Marks::new(n);
    let words = t.num_edges().div_ceil(64) as usize;
    let at_once = tuning().words_at_once;
    (0..words.div_ceil(at_once)).into_par_iter().for_each(|chunk| {
        if cancel.is_cancelled() {
            return;
        }
        let mut source = None;
        for at in chunk * at_once..words.min((chunk + 1) * at_once) {
            let first = at as u32 * 64;
            let mut rest = edges.word(first);
            while rest != 0 {
                let position = first + rest.trailing_zeros();
                rest &= rest - 1;
                if to {
                    marks.insert(targets[position as usize]);
                }
                if from {
                    let next = source.map_or_else(
                        || offsets.partition_point(|o| *o <= position) - 1,
                        |last| next_source(offsets, last, position),
                    );
                    if source != Some(next) {
                        marks.insert(next as u32);
                        source = Some(next);
                    }
                }
            }
        }
    });
    cancel.check()?;
    Ok(marks.finish())
}

/// The source of the edge at a position, which is not before `source`.
fn next_source(offsets: &[u32], mut source: usize, position: u32) -> usize {
    while offsets[source + 1] <= position {
        source += 1;
    }
    source
}

/// Edges at some nodes that a direction follows.
pub(crate) fn edges_at(t: &Topology, nodes: &IdSet, direction: Direction) -> u64 {
    let mut edges = 0;
    nodes.for_each(|v| {
        edges += u64::from(match direction {
            Direction::Forward => t.out_degree(v),
            Direction::Reverse => t.in_degree(v),
            Direction::Undirected => t.degree(v),
        });
    });
    edges
}

impl Hops<'_> {
    /// One hop over a large part of all edges; `None` where it is anything else.
    pub(super) fn dense(
        &self,
        t: &Topology,
        seeds: &IdSet,
        cancel: &CancelToken,
    ) -> Result<Option<Reached>, QueryError> {
        let one = self.max == Some(1) && self.min == 1 && self.wavefront && !self.labels;
        let m = t.num_edges();
        let dense = |set: Option<&IdSet>| set.is_none_or(IdSet::is_dense);
        if !one || m < tuning().dense_edges_min || !dense(Some(seeds)) || !dense(self.edges) {
            return Ok(None);
        }
        if !self.is_wide(t, seeds) {
            return Ok(None);
        }
        if self.edge.is_never() {
            return Ok(None);
        }
        self.sweep(t, seeds, true, cancel).map(Some)
    }

    /// Whether a hop from these nodes meets a large part of all edges.
    pub(super) fn is_wide(&self, t: &Topology, from: &IdSet) -> bool {
        let m = t.num_edges();
        let most = u64::from(self.edges.map_or(m, IdSet::len));
        // Asked first, since it takes no look at the nodes.
        let part = tuning().dense_edges_part;
        most * part >= u64::from(m) && edges_at(t, from, self.direction) * part >= u64::from(m)
    }

    /// One hop, perhaps the last, found by a look at all edges. What it reaches are the ends of its edges, and nothing else.
    pub(super) fn sweep(
        &self,
        t: &Topology,
        seeds: &IdSet,
        last: bool,
        cancel: &CancelToken,
    ) -> Result<Reached, QueryError> {
        let (n, m) = (t.num_nodes(), t.num_edges());
        let set = |limits: [Option<&IdSet>; 2], all: &IdSet| {
            let limits = limits.into_iter().flatten();
            let set = limits.fold(all.clone(), |set, limit| set.and(limit));
            set.dense(n)
        };
        let from = set([Some(self.existing), self.source], seeds);
        let target = self.target.filter(|_| last);
        let to = set([self.destination, target], self.existing);
        let (all, trivial) = (IdSet::First(m), self.edge.is_trivial());
        let passes = if trivial { &[][..] } else { self.edge.run() };
        let rows = t.out_row();
        let passes = |at: u32| trivial || bit(passes, rows[at as usize]);
        let given = self.edges.unwrap_or(&all);
        let anywhere = |set: &IdSet| matches!(set, IdSet::First(len) if *len >= n);
        let everywhere = IdSet::First(n);
        let (kept, nodes, left) = match self.direction {
            Direction::Forward => {
                let any = anywhere(&to);
                let keeps = |at, _, d| passes(at) & (any || to.contains(d));
                let Kept { edges, sources, destinations } =
                    kept_edges(t, given, &from, cancel, keeps)?;
                (edges, destinations, sources)
            }
            Direction::Reverse => {
                let keeps = |at, _, d| passes(at) & from.contains(d);
                let Kept { edges, sources, destinations } =
                    kept_edges(t, given, &to, cancel, keeps)?;
                (edges, sources, destinations)
            }
            Direction::Undirected => {
                // Both ways are tried: each reaches another node.
                let reached = Marks::new(n);
                let along = |a: u32, b: u32| {
                    let follows = from.contains(a) && to.contains(b);
                    if follows {
                        reached.insert(b);
                    }
                    follows
                };
                let keeps = |at, s, d| passes(at) && (along(s, d) | along(d, s));
                let kept = kept_edges(t, given, &everywhere, cancel, keeps)?;
                let left = kept.both_ends(n);
                (kept.edges, reached.finish(), left)
            }
        };
        let (node_hops, edge_hops) = (IdMap::default(), IdMap::default());
        Ok(Reached { nodes, edges: kept, left: Some(left), node_hops, edge_hops })
    }

    /// Whether all edges are followed at the first hop and more hops find nothing new: nothing is tested, and
    /// the first nodes have all edges.
    pub(super) fn is_everything(&self, t: &Topology, seeds: &IdSet) -> bool {
        let (n, m) = (t.num_nodes(), t.num_edges());
        let whole = |set: Option<&IdSet>, all| {
            set.is_none_or(|set| matches!(set, IdSet::First(len) if *len >= all))
        };
        self.max != Some(0)
            && (self.max == Some(1) || self.direction != Direction::Undirected)
            && self.min == 1
            && self.wavefront
            && !self.labels
            && self.edge.is_trivial()
            && whole(Some(self.existing), n)
            && whole(self.edges, m)
            && [self.source, self.destination, self.target].iter().all(|set| whole(*set, n))
            && seeds.is_dense()
            && match self.direction {
                // Each edge is seen from either end.
                Direction::Undirected => whole(Some(seeds), n),
                _ => edges_at(t, seeds, self.direction) == u64::from(m),
            }
    }

    /// What [`Hops::is_everything`] reaches.
    pub(super) fn everything(&self, t: &Topology) -> Reached {
        let reached = |v: u32| match self.direction {
            Direction::Forward => t.in_degree(v) > 0,
            Direction::Reverse => t.out_degree(v) > 0,
            Direction::Undirected => t.degree(v) > 0,
        };
        Reached {
            nodes: IdSet::First(t.num_nodes()).filter(reached),
            edges: IdSet::First(t.num_edges()),
            left: None,
            node_hops: IdMap::default(),
            edge_hops: IdMap::default(),
        }
    }
}
