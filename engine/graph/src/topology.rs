//! Compressed adjacency in both directions, built by a parallel two-level counting sort.

use rayon::prelude::*;

/// Nodes, and the edges grouped by source and by destination. 12 bytes an edge and 8 bytes a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    out_offsets: Vec<u32>,
    out_dst: Vec<u32>,
    out_row: Vec<u32>,
    in_offsets: Vec<u32>,
    in_src: Vec<u32>,
}

impl Topology {
    /// Edges `src[i] -> dst[i]`, whose row in the edge table is `i`.
    ///
    /// # Panics
    /// When the slices differ in length, or an endpoint is not below `n`.
    #[must_use]
    pub fn from_coo(n: u32, src: &[u32], dst: &[u32]) -> Self {
        Self::from_rows(n, src, dst, None)
    }

    /// Edges `src[i] -> dst[i]`, whose row in the edge table is `rows[i]`; `None` means `i`.
    /// Rows must be distinct.
    ///
    /// # Panics
    /// When the slices differ in length, or an endpoint is not below `n`.
    #[must_use]
    pub fn from_rows(n: u32, src: &[u32], dst: &[u32], rows: Option<&[u32]>) -> Self {
        assert_eq!(src.len(), dst.len(), "every edge has a source and a destination");
        assert!(rows.is_none_or(|r| r.len() == src.len()), "every edge has a row");
        assert!(u32::try_from(src.len()).is_ok(), "edge positions are 32 bits wide");
        let coo = Coo { src, dst, rows };
        let (out_offsets, packed) = group(n, &coo, |list: &mut [u64]| {
            // The payload is destination, then row: its order is the order of the list.
            if list.len() > PARALLEL_LIST_MIN {
                list.par_sort_unstable();
            } else {
                list.sort_unstable();
            }
        });
        let mut out_dst = vec![0; packed.len()];
        let mut out_row = vec![0; packed.len()];
        (&mut out_dst, &mut out_row, &packed).into_par_iter().with_min_len(1 << 14).for_each(
            |(d, r, p)| {
                *d = (p >> 32) as u32;
                *r = *p as u32;
            },
        );
        drop(packed);
        // Walking the lists by ascending source keeps each in-list sorted without a further sort.
        let csr = Csr { offsets: &out_offsets, dst: &out_dst };
        let (in_offsets, in_src) = group(n, &csr, |_: &mut [u32]| {});
        Self { out_offsets, out_dst, out_row, in_offsets, in_src }
    }

    /// A graph whose out-lists and in-lists are the same: node `v` leads to `ends[offsets[v]..offsets[v + 1]]`, ascending, and each
    /// of these leads back as often. The row of an edge is its position.
    ///
    /// # Panics
    /// When the offsets do not cover the ends, or there are more than 32 bits can count.
    #[must_use]
    pub fn from_symmetric(offsets: Vec<u32>, ends: Vec<u32>) -> Self {
        assert!(u32::try_from(ends.len()).is_ok(), "edge positions are 32 bits wide");
        let edges = ends.len() as u32;
        assert!(
            offsets.first() == Some(&0) && offsets.last() == Some(&edges),
            "all ends have a list"
        );
        let (in_offsets, in_src) = (offsets.clone(), ends.clone());
        let out_row = (0..edges).collect();
        Self { out_offsets: offsets, out_dst: ends, out_row, in_offsets, in_src }
    }

    /// Whether every edge has one against it, so that each node's out-list is its in-list.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        self.out_offsets == self.in_offsets && self.out_dst == self.in_src
    }

    /// Nodes.
    #[must_use]
    pub fn num_nodes(&self) -> u32 {
        (self.out_offsets.len() - 1) as u32
    }

    /// Edges.
    #[must_use]
    pub fn num_edges(&self) -> u32 {
        self.out_dst.len() as u32
    }

    /// Destinations of the edges that leave `v`, ascending; parallel edges repeat.
    #[must_use]
    pub fn out_neighbors(&self, v: u32) -> &[u32] {
        &self.out_dst[self.out_range(v)]
    }

    /// Sources of the edges that enter `v`, ascending; parallel edges repeat.
    #[must_use]
    pub fn in_neighbors(&self, v: u32) -> &[u32] {
        &self.in_src[self.in_offsets[v as usize] as usize..self.in_offsets[v as usize + 1] as usize]
    }

    /// Rows in the edge table of the edges that leave `v`, parallel to [`Self::out_neighbors`].
    #[must_use]
    pub fn out_rows(&self, v: u32) -> &[u32] {
        &self.out_row[self.out_range(v)]
    }

    /// Edges that leave `v`.
    #[must_use]
    pub fn out_degree(&self, v: u32) -> u32 {
        self.out_offsets[v as usize + 1] - self.out_offsets[v as usize]
    }

    /// Edges that enter `v`.
    #[must_use]
    pub fn in_degree(&self, v: u32) -> u32 {
        self.in_offsets[v as usize + 1] - self.in_offsets[v as usize]
    }

    /// Edges that leave or enter `v`; a self-loop counts twice. Saturates at `u32::MAX`.
    #[must_use]
    pub fn degree(&self, v: u32) -> u32 {
        self.out_degree(v).saturating_add(self.in_degree(v))
    }

    /// Source, destination and edge table row of the edge at position `pos` of the CSR.
    ///
    /// # Panics
    /// When `pos` is not below [`Self::num_edges`].
    #[must_use]
    pub fn edge(&self, pos: u32) -> (u32, u32, u32) {
        let dst = self.out_dst[pos as usize];
        let src = self.out_offsets.partition_point(|o| *o <= pos) - 1;
        (src as u32, dst, self.out_row[pos as usize])
    }

    /// `num_nodes + 1` starts of the out-lists.
    #[must_use]
    pub fn out_offsets(&self) -> &[u32] {
        &self.out_offsets
    }

    /// Destinations of all edges, by CSR position.
    #[must_use]
    pub fn out_dst(&self) -> &[u32] {
        &self.out_dst
    }

    /// Edge table rows of all edges, by CSR position.
    #[must_use]
    pub fn out_row(&self) -> &[u32] {
        &self.out_row
    }

    /// `num_nodes + 1` starts of the in-lists.
    #[must_use]
    pub fn in_offsets(&self) -> &[u32] {
        &self.in_offsets
    }

    /// Sources of all edges, by CSC position.
    #[must_use]
    pub fn in_src(&self) -> &[u32] {
        &self.in_src
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let words = self.out_offsets.capacity()
            + self.out_dst.capacity()
            + self.out_row.capacity()
            + self.in_offsets.capacity()
            + self.in_src.capacity();
        words as u64 * 4
    }

    /// Upper bound of the bytes that building takes at its peak, result included.
    #[must_use]
    pub fn build_footprint(num_nodes: u64, num_edges: u64) -> u64 {
        // Chunk-sorted copy (16), packed result (8), and then the final arrays beside the packed ones.
        num_nodes * 12 + num_edges * 32 + (1 << 20)
    }

    fn out_range(&self, v: u32) -> std::ops::Range<usize> {
        self.out_offsets[v as usize] as usize..self.out_offsets[v as usize + 1] as usize
    }
}

/// Lists longer than this are sorted by several threads.
const PARALLEL_LIST_MIN: usize = 1 << 16;
/// Items that one chunk or one bucket holds, roughly: a piece of work that stays in the cache.
const CHUNK_ITEMS: usize = 1 << 16;
/// Buckets at most: each chunk keeps one counter for every bucket.
const BUCKETS_MAX: usize = 1 << 11;

/// Edges as they come, in pieces that may be read independently and have a fixed order.
trait Edges: Sync {
    type Payload: Copy + Default + Send + Sync;
    fn num_edges(&self) -> usize;
    /// Calls `f(key, payload)` for every edge of piece `chunk` of `chunks`.
    fn for_each(&self, chunk: usize, chunks: usize, f: impl FnMut(u32, Self::Payload));
}

struct Coo<'a> {
    src: &'a [u32],
    dst: &'a [u32],
    rows: Option<&'a [u32]>,
}

impl Edges for Coo<'_> {
    type Payload = u64;

    fn num_edges(&self) -> usize {
        self.src.len()
    }

    fn for_each(&self, chunk: usize, chunks: usize, mut f: impl FnMut(u32, u64)) {
        let range = piece(self.src.len(), chunk, chunks);
        let edges = self.src[range.clone()].iter().zip(&self.dst[range.clone()]);
        match self.rows {
            None => {
                for ((s, d), row) in edges.zip(range) {
                    f(*s, u64::from(*d) << 32 | row as u64);
                }
            }
            Some(rows) => {
                for ((s, d), row) in edges.zip(&rows[range]) {
                    f(*s, u64::from(*d) << 32 | u64::from(*row));
                }
            }
        }
    }
}

/// The out-lists read by destination; a chunk is a range of CSR positions.
struct Csr<'a> {
    offsets: &'a [u32],
    dst: &'a [u32],
}

impl Edges for Csr<'_> {
    type Payload = u32;

    fn num_edges(&self) -> usize {
        self.dst.len()
    }

    fn for_each(&self, chunk: usize, chunks: usize, mut f: impl FnMut(u32, u32)) {
        let range = piece(self.dst.len(), chunk, chunks);
        let mut v = self.offsets.partition_point(|o| *o as usize <= range.start).saturating_sub(1);
        let mut pos = range.start;
        while pos < range.end {
            let end = (self.offsets[v + 1] as usize).min(range.end);
            for dst in &self.dst[pos..end] {
                f(*dst, v as u32);
            }
            pos = end;
            v += 1;
        }
    }
}

/// The `i`-th of `n` nearly equal pieces of `0..len`.
fn piece(len: usize, i: usize, n: usize) -> std::ops::Range<usize> {
    len * i / n..len * (i + 1) / n
}

/// One chunk's edges grouped by bucket: `starts[b]..starts[b + 1]` are those of bucket `b`.
struct Grouped<P> {
    starts: Vec<u32>,
    keys: Vec<u32>,
    payloads: Vec<P>,
}

/// Stable grouping of `edges` by key: the starts of the `n` lists and the payloads in list order;
/// `finish` sees every list once.
///
/// Level one groups each chunk by bucket (a range of keys); level two counts and places one bucket at a
/// time, gathering its parts from the chunks in chunk order. No two threads write the same memory and
/// the result depends on the input alone.
fn group<E: Edges>(
    n: u32,
    edges: &E,
    finish: impl Fn(&mut [E::Payload]) + Sync,
) -> (Vec<u32>, Vec<E::Payload>) {
    let m = edges.num_edges();
    let chunks = m.div_ceil(CHUNK_ITEMS).max(1);
    let wanted = m.div_ceil(CHUNK_ITEMS).clamp(1, BUCKETS_MAX);
    let shift = u64::from(n).div_ceil(wanted as u64).max(1).next_power_of_two().trailing_zeros();
    let buckets = ((u64::from(n) + (1 << shift) - 1) >> shift).max(1) as usize;
    let grouped: Vec<Grouped<E::Payload>> = (0..chunks)
        .into_par_iter()
        .map(|c| group_chunk(edges, (c, chunks), shift, buckets, piece(m, c, chunks).len()))
        .collect();
    let totals: Vec<usize> = (0..buckets)
        .map(|b| grouped.iter().map(|g| (g.starts[b + 1] - g.starts[b]) as usize).sum())
        .collect();
    let mut offsets = vec![0u32; n as usize + 1];
    let mut payloads = vec![E::Payload::default(); m];
    let mut jobs = Vec::with_capacity(buckets);
    let (mut rest_offsets, mut rest_payloads) = (&mut offsets[1..], payloads.as_mut_slice());
    let mut before = 0;
    for (b, total) in totals.iter().enumerate() {
        let width = rest_offsets.len().min(1 << shift);
        let (o, next_offsets) = rest_offsets.split_at_mut(width);
        let (p, next_payloads) = rest_payloads.split_at_mut(*total);
        jobs.push((b, before, o, p));
        (rest_offsets, rest_payloads) = (next_offsets, next_payloads);
        before += total;
    }
    jobs.into_par_iter().with_max_len(1).for_each(|(b, before, ends, out)| {
        place_bucket(&grouped, b, (b as u32) << shift, ends, out);
        let mut start = 0;
        for end in ends.iter_mut() {
            finish(&mut out[start..*end as usize]);
            start = *end as usize;
            *end += before as u32;
        }
    });
    (offsets, payloads)
}

fn group_chunk<E: Edges>(
    edges: &E,
    (chunk, chunks): (usize, usize),
    shift: u32,
    buckets: usize,
    len: usize,
) -> Grouped<E::Payload> {
    let mut starts = vec![0u32; buckets + 1];
    edges.for_each(chunk, chunks, |key, _| starts[(key >> shift) as usize + 1] += 1);
    for b in 0..buckets {
        starts[b + 1] += starts[b];
    }
    let mut cursor = starts.clone();
    let mut keys = vec![0; len];
    let mut payloads = vec![E::Payload::default(); len];
    edges.for_each(chunk, chunks, |key, payload| {
        let at = &mut cursor[(key >> shift) as usize];
        keys[*at as usize] = key;
        payloads[*at as usize] = payload;
        *at += 1;
    });
    Grouped { starts, keys, payloads }
}

/// Counting sort of bucket `b`, whose first key is `base`: afterwards `ends[k]` is the end in `out` of
/// the list of key `base + k`.
fn place_bucket<P: Copy>(
    grouped: &[Grouped<P>],
    b: usize,
    base: u32,
    ends: &mut [u32],
    out: &mut [P],
) {
    let part = |g: &Grouped<P>| g.starts[b] as usize..g.starts[b + 1] as usize;
    for g in grouped {
        for key in &g.keys[part(g)] {
            ends[(key - base) as usize] += 1;
        }
    }
    let mut sum = 0;
    for end in ends.iter_mut() {
        let count = *end;
        *end = sum;
        sum += count;
    }
    for g in grouped {
        for (key, payload) in g.keys[part(g)].iter().zip(&g.payloads[part(g)]) {
            let at = &mut ends[(key - base) as usize];
            out[*at as usize] = *payload;
            *at += 1;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_types::hash::h64;

    use super::*;

    /// The definition, spelled out.
    fn naive(n: u32, src: &[u32], dst: &[u32], rows: &[u32]) -> Vec<(u32, u32, u32)> {
        let mut edges: Vec<(u32, u32, u32)> =
            (0..src.len()).map(|i| (src[i], dst[i], rows[i])).collect();
        assert!(edges.iter().all(|e| e.0 < n && e.1 < n));
        edges.sort_unstable();
        edges
    }

    fn check(n: u32, src: &[u32], dst: &[u32], rows: Option<&[u32]>) {
        let t = Topology::from_rows(n, src, dst, rows);
        let all: Vec<u32> = (0..src.len() as u32).collect();
        let want = naive(n, src, dst, rows.unwrap_or(&all));
        assert_eq!((t.num_nodes(), t.num_edges()), (n, src.len() as u32));
        let got: Vec<_> = (0..t.num_edges()).map(|p| t.edge(p)).collect();
        assert_eq!(got, want);
        let mut back: Vec<(u32, u32)> = want.iter().map(|(s, d, _)| (*d, *s)).collect();
        back.sort_unstable();
        let got: Vec<(u32, u32)> =
            (0..n).flat_map(|v| t.in_neighbors(v).iter().map(move |s| (v, *s))).collect();
        assert_eq!(got, back);
        for v in 0..n {
            let out = want.iter().filter(|e| e.0 == v);
            let lists = t.out_neighbors(v).iter().zip(t.out_rows(v));
            assert!(out.map(|e| (e.1, e.2)).eq(lists.map(|(d, r)| (*d, *r))));
            assert_eq!(t.degree(v), t.out_degree(v) + t.in_degree(v));
        }
    }

    #[test]
    fn small_random_graphs_match_the_definition() {
        for seed in 0..200 {
            let n = 1 + h64(seed, 0, 0) as u32 % 12;
            let m = h64(seed, 0, 1) as usize % 40;
            let end = |stream, i| h64(seed, stream, i as u64) as u32 % n;
            let src: Vec<u32> = (0..m).map(|i| end(1, i)).collect();
            let dst: Vec<u32> = (0..m).map(|i| end(2, i)).collect();
            check(n, &src, &dst, None);
            let rows: Vec<u32> = (0..m as u32).map(|i| i * 3 + 1).collect();
            check(n, &src, &dst, Some(&rows));
        }
    }

    #[test]
    fn empty_graphs_have_lists() {
        check(0, &[], &[], None);
        check(3, &[], &[], None);
    }

    #[test]
    fn many_chunks_and_buckets_match_the_definition() {
        let (n, m) = (1000, 300_000);
        let src: Vec<u32> = (0..m).map(|i| (h64(1, 0, i) % u64::from(n)) as u32).collect();
        let dst: Vec<u32> = (0..m).map(|i| (h64(1, 1, i * i) % 7) as u32).collect();
        let t = Topology::from_coo(n, &src, &dst);
        let rows: Vec<u32> = (0..m as u32).collect();
        let got: Vec<_> = (0..t.num_edges()).map(|p| t.edge(p)).collect();
        assert_eq!(got, naive(n, &src, &dst, &rows));
        assert!((0..n).all(|v| t.in_neighbors(v).is_sorted()));
    }

    #[test]
    fn a_hub_is_sorted_by_several_threads_to_the_same_list() {
        let m = 200_000;
        let src = vec![0; m];
        let dst: Vec<u32> = (0..m as u64).map(|i| (h64(2, 0, i) % m as u64) as u32).collect();
        let t = Topology::from_coo(m as u32, &src, &dst);
        let mut want: Vec<(u32, u32)> = (0..m).map(|i| (dst[i], i as u32)).collect();
        want.sort_unstable();
        assert!(t.out_neighbors(0).iter().zip(t.out_rows(0)).map(|(d, r)| (*d, *r)).eq(want));
    }

    #[test]
    fn the_number_of_threads_does_not_show() {
        let (n, m) = (50_000u32, 400_000u64);
        let src: Vec<u32> = (0..m).map(|i| (h64(3, 0, i) % u64::from(n)) as u32).collect();
        let dst: Vec<u32> = (0..m).map(|i| (h64(3, 1, i) % u64::from(n)) as u32).collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Topology::from_coo(n, &src, &dst))
        };
        let one = on(1);
        assert!([2, 3, 8].into_iter().all(|t| on(t) == one));
    }

    #[test]
    fn memory_stays_within_sixteen_bytes_an_edge() {
        let (n, m) = (100_000u32, 500_000u64);
        let src: Vec<u32> = (0..m).map(|i| (h64(4, 0, i) % u64::from(n)) as u32).collect();
        let dst: Vec<u32> = (0..m).map(|i| (h64(4, 1, i) % u64::from(n)) as u32).collect();
        let t = Topology::from_coo(n, &src, &dst);
        assert!(t.memory_bytes() <= 16 * m, "{} bytes", t.memory_bytes());
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn an_endpoint_out_of_range_is_refused() {
        let _ = Topology::from_coo(2, &[0], &[2]);
    }
}
