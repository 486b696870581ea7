//! The nodes of largest degree, each with a bitmap of those of them that it is joined to.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::count::Oriented;
use crate::AlgoError;

/// Nodes of the core at most.
const NODES_MAX: usize = 2048;
/// Edges of a node of the core within it, on average, from which on bitmaps pay.
const EDGES_MIN: usize = 16;
/// Nodes of one unit of parallel work.
const NODES: usize = 32;
/// From how many nodes of a list on their bitmaps are read word by word.
const LONG: usize = 24;

/// The last nodes of an [`Oriented`] graph; none where they have few edges among themselves.
pub(super) struct Core {
    first: usize,
    words: usize,
    rows: Vec<u64>,
}

impl Core {
    /// The first node of the core of a graph of `n` nodes, if it has one.
    pub(super) fn from(n: usize) -> usize {
        n - n.min(NODES_MAX)
    }

    pub(super) fn new(graph: &Oriented) -> Self {
        let n = graph.node.len();
        let first = Self::from(n);
        let count = n - first;
        let edges = graph.offsets[n] - graph.offsets[first];
        if edges < EDGES_MIN * count {
            return Self { first: n, words: 0, rows: Vec::new() };
        }
        let words = count.div_ceil(64);
        let mut rows = vec![0u64; count * words];
        for i in 0..count {
            for k in graph.list(first + i) {
                let k = *k as usize - first;
                rows[i * words + k / 64] |= 1 << (k % 64);
                rows[k * words + i / 64] |= 1 << (i % 64);
            }
        }
        Self { first, words, rows }
    }

    /// The first node of the core.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    fn row(&self, k: usize) -> &[u64] {
        &self.rows[(k - self.first) * self.words..][..self.words]
    }

    /// The edges among `list`, which are nodes of the core: adds to each node of `of_list` its own, and gives all. `mask`
    /// is working memory.
    pub(super) fn pairs(&self, list: &[u32], of_list: &mut [u64], mask: &mut Vec<u64>) -> u64 {
        if list.len() < 2 {
            return 0;
        }
        let mut found = 0;
        if list.len() < LONG {
            for (x, k) in list.iter().enumerate() {
                let row = self.row(*k as usize);
                let mut of_k = 0;
                for (y, l) in list.iter().enumerate().skip(x + 1) {
                    let l = *l as usize - self.first;
                    let is_edge = row[l / 64] >> (l % 64) & 1;
                    of_k += is_edge;
                    of_list[y] += is_edge;
                }
                of_list[x] += of_k;
                found += of_k;
            }
            return found;
        }
        mask.clear();
        mask.resize(self.words, 0);
        for k in list {
            let k = *k as usize - self.first;
            mask[k / 64] |= 1 << (k % 64);
        }
        for (k, of_k) in list.iter().zip(of_list) {
            let edges = common(self.row(*k as usize), mask);
            *of_k += edges;
            found += edges;
        }
        found / 2
    }

    /// The triangles within the core of each of its nodes.
    pub(super) fn triangles(
        &self,
        graph: &Oriented,
        cancel: &CancelToken,
    ) -> Result<Vec<u64>, AlgoError> {
        let n = graph.node.len();
        let none = || vec![0u64; n - self.first];
        let add = |mut twice: Vec<u64>, i: usize| {
            if i.is_multiple_of(NODES) {
                cancel.check()?;
            }
            let own = self.row(i);
            for k in graph.list(i) {
                let shared = common(own, self.row(*k as usize));
                twice[i - self.first] += shared;
                twice[*k as usize - self.first] += shared;
            }
            Ok::<_, AlgoError>(twice)
        };
        let both = |mut a: Vec<u64>, b: Vec<u64>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            Ok(a)
        };
        let nodes = (self.first..n).into_par_iter().with_min_len(NODES);
        let twice = nodes.try_fold(none, add).try_reduce(none, both)?;
        // Each triangle was found at both edges of each corner.
        Ok(twice.into_iter().map(|count| count / 2).collect())
    }
}

/// The bits that two bitmaps share.
fn common(a: &[u64], b: &[u64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,popcnt")]
        fn wide(a: &[u64], b: &[u64]) -> u64 {
            plain(a, b)
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("popcnt") {
            // SAFETY: the processor has just said that it has these instructions.
            return unsafe { wide(a, b) };
        }
    }
    plain(a, b)
}

#[inline(always)]
fn plain(a: &[u64], b: &[u64]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from((a & b).count_ones())).sum()
}
