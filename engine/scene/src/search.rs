//! Finding nodes by what they are called.

use std::cmp::Ordering;

use graphlume_graph::Graph;
use graphlume_table::Table;
use rayon::prelude::*;

use crate::encodings::Encodings;
use crate::labels::Labels;

/// One node found by a search.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SearchHit {
    /// Node index.
    pub index: u32,
    /// Its label.
    pub label: String,
    /// Its id as text.
    pub id: String,
}

/// Nodes whose label or id contains `query`, ignoring case: whole matches first, then beginnings, then
/// beginnings of words, then the rest; the more important first within each, then the lower index.
/// `importance` is that of the scene. A query of blanks finds nothing.
#[must_use]
pub fn search(
    graph: &Graph,
    nodes: Option<&Table>,
    enc: &Encodings,
    importance: &[f32],
    query: &str,
    limit: usize,
) -> Vec<SearchHit> {
    let query = Query::new(query);
    if query.lower.is_empty() || limit == 0 {
        return Vec::new();
    }
    let labels = Labels::of(graph, nodes, enc);
    // Writing a million integers as text to find that none contains a letter would be a waste.
    let digits = query.lower.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let by_id = digits || !graph.ids.data_type().is_integer();
    let order = |a: &(u8, u32), b: &(u8, u32)| -> Ordering {
        let weight = |v: u32| importance.get(v as usize).copied().unwrap_or(0.0);
        a.0.cmp(&b.0).then_with(|| weight(b.1).total_cmp(&weight(a.1))).then(a.1.cmp(&b.1))
    };
    let best = |mut hits: Vec<(u8, u32)>| {
        if hits.len() > limit {
            hits.select_nth_unstable_by(limit, order);
            hits.truncate(limit);
        }
        hits
    };
    const CHUNK: u32 = 1 << 14;
    let n = graph.topology.num_nodes();
    let hits: Vec<(u8, u32)> = (0..n.div_ceil(CHUNK))
        .into_par_iter()
        .flat_map_iter(|c| {
            let mut lower = String::new();
            let mut rank = |v: u32| {
                let by_id = by_id.then(|| query.rank(&labels.id(v), &mut lower)).flatten();
                let by_label = labels.bound(v).and_then(|l| query.rank(&l, &mut lower));
                let rank = by_id.into_iter().chain(by_label).min()?;
                Some((rank, v))
            };
            best((c * CHUNK..(c + 1).saturating_mul(CHUNK).min(n)).filter_map(&mut rank).collect())
        })
        .collect();
    let mut hits = best(hits);
    hits.sort_unstable_by(order);
    let hit = |(_, v): (u8, u32)| SearchHit {
        index: v,
        label: labels.short(v),
        id: labels.id(v).into_owned(),
    };
    hits.into_iter().map(hit).collect()
}

struct Query {
    lower: String,
}

impl Query {
    fn new(text: &str) -> Self {
        Self { lower: text.trim().to_lowercase() }
    }

    /// How well `text` matches, 0 the best; `lower` is scratch space.
    fn rank(&self, text: &str, lower: &mut String) -> Option<u8> {
        let text = if text.is_ascii() {
            if text.len() < self.lower.len() {
                return None;
            }
            // The common case: no letter changes its length, and most texts do not match.
            self.find_ascii(text.as_bytes())?;
            lower.clear();
            lower.push_str(text);
            lower.make_ascii_lowercase();
            lower.as_str()
        } else {
            *lower = text.to_lowercase();
            lower.as_str()
        };
        let mut best = None;
        for (at, _) in text.match_indices(&self.lower) {
            let rank = match text[..at].chars().next_back() {
                None if text.len() == self.lower.len() => 0,
                None => 1,
                Some(before) if !before.is_alphanumeric() => 2,
                Some(_) => 3,
            };
            best = Some(best.map_or(rank, |b: u8| b.min(rank)));
        }
        best
    }

    fn find_ascii(&self, text: &[u8]) -> Option<usize> {
        let query = self.lower.as_bytes();
        let first = *query.first()?;
        let last = text.len().checked_sub(query.len())?;
        (0..=last).find(|at| {
            text[*at].to_ascii_lowercase() == first
                && text[*at..*at + query.len()].eq_ignore_ascii_case(query)
        })
    }
}
