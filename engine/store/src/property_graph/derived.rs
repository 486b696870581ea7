//! Derived values that a graph keeps: columns ready to be read, the index of ids, and whatever the languages derive.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use graphlume_expr::QueryError;
use graphlume_graph::canon::{Canon, Column, Hasher};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::PropertyGraph;
use crate::cache::{CacheKey, made};

/// Bytes that any graph may keep of what follows from it.
const KEEP_BYTES_MIN: u64 = 1 << 20;
/// Ids that are looked for one by one before they are indexed.
const LOOKS_MAX: usize = 16;

/// How often something was asked for that is not kept yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Uses<K>(K);

impl<K: CacheKey> CacheKey for Uses<K> {
    type Value = AtomicU32;
}

impl PropertyGraph {
    /// A column of the node table or of the edge table, ready to be read by value.
    #[must_use]
    pub fn column(&self, table: &Table, edges: bool, name: &str) -> Option<Arc<Column>> {
        let key = (edges, name.to_owned());
        let found = self.inner.columns.lock().ok()?.get(&key).cloned();
        if found.is_some() {
            return found;
        }
        // Many threads work on it: the lock must be free, since one of them may ask for the same column.
        let array = table.column(name)?;
        let coded = crate::dictionary::coded(array);
        let column = Arc::new(Column::try_new(coded.as_ref().unwrap_or(array)).ok()?);
        let mut columns = self.inner.columns.lock().ok()?;
        Some(Arc::clone(columns.entry(key).or_insert(column)))
    }

    /// A column that was read before, see [`PropertyGraph::column`].
    pub fn known_column(&self, edges: bool, name: &str) -> Option<Arc<Column>> {
        self.inner.columns.lock().ok()?.get(&(edges, name.to_owned())).cloned()
    }

    /// What was kept under a key, see [`PropertyGraph::keep`].
    #[must_use]
    pub fn kept<K: CacheKey>(&self, key: &K) -> Option<Arc<K::Value>> {
        self.inner.derived.get(key)
    }

    /// Keeps something that follows from the graph alone, of so many bytes, until others need its place: all
    /// together take [`PropertyGraph::keep_max`], and what is kept of the adjacency as much again. It is not kept where
    /// the memory budget has no room for it.
    pub fn keep<K: CacheKey>(
        &self,
        key: K,
        value: &Arc<K::Value>,
        bytes: u64,
        cancel: &CancelToken,
    ) {
        self.inner.derived.put(key, value, (bytes, self.keep_max()), cancel);
    }

    /// What was kept of the adjacency under a key, see [`PropertyGraph::keep_of_frame`].
    #[must_use]
    pub fn kept_of_frame<K: CacheKey>(&self, key: &K) -> Option<Arc<K::Value>> {
        self.inner.of_frame.get(key)
    }

    /// Keeps something that follows from the adjacency alone, as [`PropertyGraph::keep`] does.
    pub fn keep_of_frame<K: CacheKey>(
        &self,
        key: K,
        value: &Arc<K::Value>,
        bytes: u64,
        cancel: &CancelToken,
    ) {
        self.inner.of_frame.put(key, value, (bytes, self.keep_max()), cancel);
    }

    /// Counts a use of something that is not kept yet; whether it is the one at which making it pays. That is so
    /// once: what had no room, or had to go, is not made again and again.
    #[must_use]
    pub fn is_due<K: CacheKey>(&self, key: &K, uses: u32, cancel: &CancelToken) -> bool {
        let count = Uses(key.clone());
        let counted = self.kept(&count).unwrap_or_else(|| {
            let counted = Arc::default();
            self.keep(count, &counted, 0, cancel);
            counted
        });
        counted.fetch_add(1, Ordering::Relaxed) + 1 == uses
    }

    /// Bytes of all that is kept with the graph, and of all that is kept with its adjacency: each twice as many as its adjacency has.
    #[must_use]
    pub fn keep_max(&self) -> u64 {
        self.inner
            .frame
            .get()
            .map_or(0, |frame| 2 * frame.topology.memory_bytes())
            .max(KEEP_BYTES_MIN)
    }

    /// The node with this id.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::frame`].
    pub fn find(&self, id: &Canon<'_>, cancel: &CancelToken) -> Result<Option<u32>, QueryError> {
        let frame = self.frame(cancel)?;
        let ids = || Column::try_new(&frame.ids).ok();
        let Some(column) = self.inner.id_column.get_or_init(ids) else { return Ok(None) };
        // An index takes as long as many looks through the ids; those who ask for a few need none.
        if self.inner.ids.get().is_none()
            && self.inner.looks.fetch_add(1, Ordering::Relaxed) < LOOKS_MAX
        {
            let same = |v: &u32| column.get(*v as usize).as_ref() == Some(id);
            return Ok((0..column.len() as u32).into_par_iter().find_any(same));
        }
        let hasher = Hasher::new();
        let index = made(&self.inner.ids, || {
            let mut index: Vec<(u64, u32)> = (0..column.len() as u32)
                .into_par_iter()
                .filter_map(|v| Some((hasher.canon(&column.get(v as usize)?), v)))
                .collect();
            index.par_sort_unstable();
            index
        });
        let hash = hasher.canon(id);
        let from = index.partition_point(|(h, _)| *h < hash);
        let same = index[from..].iter().take_while(|(h, _)| *h == hash);
        Ok(same.map(|(_, v)| *v).find(|v| column.get(*v as usize).as_ref() == Some(id)))
    }
}
