//! Small helpers shared by the algorithms.

use std::sync::Arc;

use graphlume_graph::Topology;

/// The graph with each (source, destination) once: the copy of the first row stays.
#[must_use]
pub fn distinct_edges(topology: &Arc<Topology>) -> Arc<Topology> {
    let (mut src, mut dst, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for v in 0..topology.num_nodes() {
        let mut last = None;
        // Out-lists are sorted by destination, then row.
        for (to, row) in topology.out_neighbors(v).iter().zip(topology.out_rows(v)) {
            if last != Some(*to) {
                src.push(v);
                dst.push(*to);
                rows.push(*row);
                last = Some(*to);
            }
        }
    }
    if src.len() == topology.num_edges() as usize {
        return Arc::clone(topology);
    }
    Arc::new(Topology::from_rows(topology.num_nodes(), &src, &dst, Some(&rows)))
}

/// A bound of a range as people write it.
#[must_use]
pub fn bound(value: f64) -> String {
    let size = value.abs();
    if size >= 1e16 || size > 0.0 && size < 1e-6 { format!("{value:e}") } else { value.to_string() }
}

/// Characters of a client's value that a refusal shows.
pub(crate) const SHOWN_CHARS: usize = 80;

/// A value as JSON, cut where it is long.
pub(crate) fn shown(value: &serde_json::Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// ` (did you mean "x"?)` when a candidate is close to `name`, else nothing.
#[must_use]
pub fn did_you_mean(name: &str, candidates: &[&str]) -> String {
    let allowed = (name.chars().count() / 3).max(1);
    candidates
        .iter()
        .map(|c| (graphlume_types::nearest::distance(name, c), *c))
        .filter(|(d, _)| *d <= allowed)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| format!(" (did you mean {c:?}?)"))
        .unwrap_or_default()
}

/// Brings `values[index]` near, when there is such a thing and the processor can be told.
#[inline(always)]
pub(crate) fn prefetch<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching reads nothing and cannot fault, and the address is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, index);
}

/// The weights of the arcs of every node in node order, each node's out-edges first, in list order.
/// A weight that is not a number counts as 1, a negative one as 0.
pub(crate) fn arc_weights(topology: &Topology, by_row: &[f32]) -> Vec<f32> {
    let n = topology.num_nodes();
    let clean = |row: u32| {
        let w = by_row.get(row as usize).copied().unwrap_or(1.0);
        if w.is_nan() { 1.0 } else { w.max(0.0) }
    };
    let mut cursor: Vec<usize> = Vec::with_capacity(n as usize + 1);
    let mut at = 0;
    for v in 0..n {
        cursor.push(at + topology.out_degree(v) as usize);
        at += topology.degree(v) as usize;
    }
    let mut weights = vec![1.0; at];
    let mut start = 0;
    for v in 0..n {
        // In-lists are sorted by source, and sources are walked in order: each in-arc's turn comes in order.
        for (k, (row, dst)) in
            topology.out_rows(v).iter().zip(topology.out_neighbors(v)).enumerate()
        {
            let w = clean(*row);
            weights[start + k] = w;
            let slot = &mut cursor[*dst as usize];
            weights[*slot] = w;
            *slot += 1;
        }
        start += topology.degree(v) as usize;
    }
    weights
}
