//! Visible part of a picture: masks joined, edges between visible ends, and nodes without visible edges.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graphlume_expr::QueryError;
use graphlume_scene::Bits;
use rayon::prelude::*;

use crate::filtered::{FilterCount, Filtered};
use crate::mask::Mask;
use crate::rule::{FilterKind, FilterSet};
use crate::work::Work;

/// Words of edges that a thread takes at once.
const WORDS_AT_ONCE: usize = 1 << 8;
/// Bytes of the ends of 64 edges.
const ENDS_BYTES: usize = 64 * 8;

/// A filter that is on and could be evaluated.
pub(crate) struct Applied {
    /// Its place in the set.
    pub(crate) at: usize,
    pub(crate) kind: FilterKind,
    pub(crate) mask: Arc<Mask>,
}

/// The visible elements.
pub(crate) struct Visible {
    /// By index.
    pub(crate) nodes: Bits,
    /// In drawn order; absent when the caller, a histogram of nodes, needs the nodes alone.
    pub(crate) edges: Option<Bits>,
}

/// Elements that pass on one axis.
fn joined<'m>(
    count: u32,
    applied: &'m [&Applied],
    of: impl Fn(&'m Mask) -> Option<&'m Bits>,
) -> Vec<u64> {
    let mut words = Bits::all(count).words().to_vec();
    for filter in applied {
        let Some(bits) = of(&filter.mask) else { continue };
        let pairs = words.iter_mut().zip(bits.words());
        match filter.kind {
            FilterKind::Filter => pairs.for_each(|(word, bits)| *word &= bits),
            FilterKind::Exclusion => pairs.for_each(|(word, bits)| *word &= !bits),
        }
    }
    words
}

impl Work<'_> {
    pub(crate) fn filtered(&self, set: &FilterSet) -> Result<Filtered, QueryError> {
        let (applied, filters) = self.applied(set, true)?;
        let all: Vec<&Applied> = applied.iter().collect();
        let Visible { nodes, edges } = self.visible(&all, set.prune_orphans, true)?;
        Ok(Filtered { nodes, edges: edges.unwrap_or_default(), filters })
    }

    /// The filters that are on, and what is told of all: of those that are off only if `counts`.
    #[expect(clippy::type_complexity, reason = "the second is the list of Filtered")]
    pub(crate) fn applied(
        &self,
        set: &FilterSet,
        counts: bool,
    ) -> Result<(Vec<Applied>, Vec<(String, Result<FilterCount, QueryError>)>), QueryError> {
        let (mut applied, mut told) = (Vec::new(), Vec::new());
        for (at, filter) in set.filters.iter().enumerate() {
            if !filter.on && (!counts || filter.rule.is_query()) {
                continue;
            }
            let mask = self.mask(&filter.rule);
            // A rule that was stopped is no rule that has a problem.
            self.cancel.check()?;
            told.push((
                filter.id.clone(),
                mask.as_ref().map(|mask| mask.count()).map_err(Clone::clone),
            ));
            if let (true, Ok(mask)) = (filter.on, mask) {
                applied.push(Applied { at, kind: filter.kind, mask });
            }
        }
        Ok((applied, told))
    }

    /// What is visible under some filters.
    pub(crate) fn visible(
        &self,
        applied: &[&Applied],
        prune_orphans: bool,
        wants_edges: bool,
    ) -> Result<Visible, QueryError> {
        let (n, m) = (self.nodes(), self.edges());
        let nodes = Bits::of_words(n, joined(n, applied, |mask| mask.nodes.as_ref()));
        if !wants_edges && !prune_orphans {
            return Ok(Visible { nodes, edges: None });
        }
        let mut edges = joined(m, applied, |mask| mask.edges.as_ref());
        let all_nodes = nodes.len() == u64::from(n);
        let touched: Vec<AtomicU64> = match prune_orphans {
            true => (0..nodes.words().len()).map(|_| AtomicU64::new(0)).collect(),
            false => vec![],
        };
        if !all_nodes || prune_orphans {
            let ends = self.picture.ends();
            let chunks = edges
                .par_chunks_mut(WORDS_AT_ONCE)
                .zip(ends.par_chunks(WORDS_AT_ONCE * ENDS_BYTES));
            chunks.try_for_each(|(words, ends)| {
                self.cancel.check()?;
                for (word, ends) in words.iter_mut().zip(ends.chunks(ENDS_BYTES)) {
                    if *word == 0 {
                        continue;
                    }
                    if !all_nodes {
                        *word &= between(&nodes, ends);
                    }
                    if prune_orphans {
                        touch(&touched, *word, ends);
                    }
                }
                Ok::<(), QueryError>(())
            })?;
        }
        let nodes = match prune_orphans {
            true => nodes
                .and(&Bits::of_words(n, touched.into_iter().map(AtomicU64::into_inner).collect())),
            false => nodes,
        };
        Ok(Visible { nodes, edges: wants_edges.then(|| Bits::of_words(m, edges)) })
    }
}

/// The two nodes of an edge, of which `pair` are the bytes.
fn pair(pair: &[u8]) -> (u32, u32) {
    let pair = pair.first_chunk::<8>().map_or(0, |pair| u64::from_le_bytes(*pair));
    (pair as u32, (pair >> 32) as u32)
}

/// Of up to 64 edges those whose ends are both visible.
fn between(nodes: &Bits, ends: &[u8]) -> u64 {
    let edges = ends.chunks_exact(8).enumerate();
    edges.fold(0, |word, (i, bytes)| {
        let (source, destination) = pair(bytes);
        let visible = nodes.contains(source) & nodes.contains(destination);
        word | u64::from(visible) << i
    })
}

/// Marks the ends of those of 64 edges that are in `word`.
fn touch(touched: &[AtomicU64], word: u64, ends: &[u8]) {
    for (i, bytes) in ends.chunks_exact(8).enumerate() {
        if word >> i & 1 == 0 {
            continue;
        }
        let (source, destination) = pair(bytes);
        for v in [source, destination] {
            let (word, bit) = (&touched[v as usize / 64], 1 << (v % 64));
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }
}
