//! Nodes by the value of a property: an index that a column gets once it was searched a few times.

use std::sync::{Arc, OnceLock};

use arrow_array::Array;
use graphlume_expr::{Cmp, Scalar};
use graphlume_graph::canon::Column;
use graphlume_store::CacheKey;
use graphlume_types::CancelToken;
use graphlume_types::hash::mix64;
use rayon::prelude::*;

use super::mask::ColumnTest;
use super::{Exec, Key};
use crate::column_reader::ColumnReader;
use crate::error::Res;
use crate::graph_view::GraphView;
use crate::plan::Seek;
use crate::tuning::tuning;
use crate::value::Value;

/// Searches before a column gets its index: making it takes as long as some searches, which for few nodes is no
/// time.
const SEARCHES_MIN: u32 = 2;
const SEARCHES_MAX: u32 = 8;
const NODES_PER_SEARCH: u32 = 1 << 17;

/// Nodes in the order of the hashes of their values; those of one hash ascend.
#[derive(Debug)]
pub(super) struct Lookup {
    hashes: Vec<u32>,
    nodes: Vec<u32>,
}

/// The index of a property, once a run has it.
pub(super) type Searched = OnceLock<Arc<Lookup>>;

/// The hash of a text.
fn of_text(text: &str) -> u32 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let words = words.iter().chain(std::iter::once(&last)).map(|w| u64::from_le_bytes(*w));
    let hash = words.fold(text.len() as u64, |hash, word| mix64(hash ^ word));
    (hash >> 32) as u32
}

fn of_int(v: i64) -> u32 {
    of_uint(v as u64)
}

const fn of_uint(v: u64) -> u32 {
    (mix64(v) >> 32) as u32
}

/// Both zeros have one hash.
fn of_float(v: f64) -> u32 {
    (mix64((v + 0.0).to_bits()) >> 32) as u32
}

/// The index of a property of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NodesBy(String);

impl CacheKey for NodesBy {
    type Value = Lookup;
}

/// The hash that cells have which equal the value; `None` where a hash cannot tell.
fn hash_of(cells: &ColumnReader, value: &Value) -> Option<u32> {
    ColumnTest::new(cells, Cmp::Eq, value)?;
    match (cells.column(), value) {
        (Column::Text(_), Value::Scalar(Scalar::Text(v))) => Some(of_text(v)),
        (Column::Int(_), Value::Scalar(Scalar::Int(v))) => Some(of_int(*v)),
        (Column::UInt(_), Value::Scalar(Scalar::UInt(v))) => Some(of_uint(*v)),
        (Column::Float(_), v) => v.as_f64().map(of_float),
        _ => None,
    }
}

impl Lookup {
    /// The index of a column that is searched; it is made once that happened often enough.
    pub(super) fn of(
        view: &GraphView,
        property: &str,
        cells: &ColumnReader,
        cancel: &CancelToken,
    ) -> Option<Arc<Self>> {
        let (graph, nodes) = (view.graph(), view.num_nodes());
        if nodes < tuning().index_nodes_min || !view.rows_are_nodes() {
            return None;
        }
        let name = NodesBy(property.to_owned());
        if let Some(index) = graph.kept(&name) {
            return Some(index);
        }
        let searches = (nodes / NODES_PER_SEARCH).clamp(SEARCHES_MIN, SEARCHES_MAX);
        if !graph.is_due(&name, searches, cancel) {
            return None;
        }
        let made = Arc::new(Self::new(cells, cancel)?);
        let bytes = made.nodes.len() as u64 * size_of::<u64>() as u64;
        graph.keep(name, &made, bytes, cancel);
        Some(made)
    }

    /// The index of a column, if it was made before.
    pub(super) fn kept(view: &GraphView, property: &str) -> Option<Arc<Self>> {
        view.graph().kept(&NodesBy(property.to_owned()))
    }

    /// `None` for columns of other kinds, and where there is no memory for it.
    fn new(cells: &ColumnReader, cancel: &CancelToken) -> Option<Self> {
        let rows = cells.column().len();
        let _held = cancel.hold(rows as u64 * size_of::<u64>() as u64).ok()?;
        let entry = |row: usize, hash: u32| u64::from(hash) << 32 | row as u64;
        let all = (0..rows).into_par_iter().with_min_len(1 << 12);
        let mut entries: Vec<u64> = match cells.column() {
            Column::Text(text) => match text.dictionary() {
                Some((keys, values)) => {
                    let hashes: Vec<u32> =
                        (0..values.len()).map(|v| values.get(v).map_or(0, of_text)).collect();
                    let hash = |row: usize| hashes.get(keys.value(row) as usize).copied();
                    let valid = all.filter(|row| keys.is_valid(*row));
                    valid.filter_map(|row| Some(entry(row, hash(row)?))).collect()
                }
                None => all.filter_map(|row| Some(entry(row, of_text(text.get(row)?)))).collect(),
            },
            Column::Int(a) => {
                let valid = all.filter(|row| a.is_valid(*row));
                valid.map(|row| entry(row, of_int(a.value(row)))).collect()
            }
            Column::UInt(a) => {
                let valid = all.filter(|row| a.is_valid(*row));
                valid.map(|row| entry(row, of_uint(a.value(row)))).collect()
            }
            Column::Float(a) => {
                let valid = all.filter(|row| a.is_valid(*row));
                valid.map(|row| entry(row, of_float(a.value(row)))).collect()
            }
            _ => return None,
        };
        cancel.check().ok()?;
        entries.par_sort_unstable();
        let hashes = entries.iter().map(|e| (e >> 32) as u32).collect();
        Some(Self { hashes, nodes: entries.into_iter().map(|e| e as u32).collect() })
    }

    /// Nodes among which are all that have the value, in ascending order; `None` where it cannot tell.
    pub(super) fn find(&self, cells: &ColumnReader, value: &Value) -> Option<&[u32]> {
        let hash = hash_of(cells, value)?;
        let from = self.hashes.partition_point(|h| *h < hash);
        let rest = self.hashes.get(from..)?;
        let len = rest.partition_point(|h| *h == hash);
        self.nodes.get(from..from + len)
    }
}

impl Exec<'_> {
    fn lookup(&self, key: &Key, cells: &ColumnReader) -> Option<Arc<Lookup>> {
        if let Some(index) = key.searched.get() {
            return Some(Arc::clone(index));
        }
        let index = Lookup::of(self.view, &key.name, cells, self.cancel)?;
        Some(Arc::clone(key.searched.get_or_init(|| index)))
    }

    /// Nodes among which are all that a seek names by a property, in ascending order; `None` where no index
    /// tells, or where there are many.
    pub(super) fn looked_up(&self, seeks: &[Seek], row: &mut [Value]) -> Res<Option<Vec<u32>>> {
        let most = self.view.num_nodes() as usize / tuning().index_found_part;
        let mut best: Option<Vec<u32>> = None;
        for seek in seeks {
            let key = seek.key.and_then(|k| self.keys.get(k));
            let Some((key, cells)) = key.and_then(|k| Some((k, k.node.as_ref()?))) else {
                continue;
            };
            let Some(index) = self.lookup(key, cells) else { continue };
            let value = self.eval(&seek.value, row)?;
            let most = best.as_ref().map_or(most, Vec::len);
            let found = match &value {
                Value::List(list) if seek.any => {
                    let parts: Option<Vec<&[u32]>> =
                        list.iter().map(|v| index.find(cells, v)).collect();
                    let few = parts.filter(|p| p.iter().map(|p| p.len()).sum::<usize>() <= most);
                    few.map(|parts| {
                        let mut all = parts.concat();
                        all.sort_unstable();
                        all.dedup();
                        all
                    })
                }
                value => {
                    let few = index.find(cells, value).filter(|found| found.len() <= most);
                    few.map(<[u32]>::to_vec)
                }
            };
            best = found.or(best);
        }
        Ok(best)
    }

    /// Whether the seeks of a scan name so few nodes that there is nothing to share.
    pub(super) fn is_narrow(&self, seeks: &[Seek], row: &mut [Value]) -> Res<bool> {
        let by_id = |key: &Option<usize>| match key {
            None => true,
            Some(key) => self.keys.get(*key).is_none_or(|k| self.view.is_id(&k.name)),
        };
        if seeks.iter().any(|s| by_id(&s.key)) {
            return Ok(true);
        }
        Ok(self.looked_up(seeks, row)?.is_some_and(|found| found.len() < tuning().narrow_max))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int64Array, StringArray};
    use graphlume_types::hash::h64;

    use super::*;

    #[test]
    fn an_index_finds_all_rows_of_a_value() {
        let draw = |i: u64| h64(3, 1, i) % 7;
        let word = |i: u64| (draw(i) > 0).then(|| format!("value of nine{}", draw(i)));
        let rows = 0..200_u64;
        let texts: ArrayRef = Arc::new(rows.clone().map(word).collect::<StringArray>());
        let words: Vec<_> = rows.clone().map(word).collect();
        let coded: DictionaryArray<Int32Type> = words.iter().map(|w| w.as_deref()).collect();
        let int = |i: u64| (draw(i) > 0).then_some(draw(i) as i64 - 3);
        let ints: ArrayRef = Arc::new(rows.clone().map(int).collect::<Int64Array>());
        let float = |i: u64| [f64::NAN, -0.0, 0.0, 1.5, -2.0, 1e300, 7.0][draw(i) as usize];
        let floats: ArrayRef = Arc::new(rows.map(|i| Some(float(i))).collect::<Float64Array>());
        let values = [
            Value::text("value of nine1"),
            Value::text("none"),
            Value::int(0),
            Value::int(2),
            Value::int(7),
            Value::float(0.0),
            Value::float(-0.0),
            Value::float(1.5),
            Value::float(f64::NAN),
            Value::NULL,
            Value::bool(true),
        ];
        let mut found = 0;
        for array in [texts, Arc::new(coded) as ArrayRef, ints, floats] {
            let cells = ColumnReader::new(Arc::new(Column::try_new(&array).unwrap()), &array);
            let index = Lookup::new(&cells, &CancelToken::new()).unwrap();
            for value in &values {
                let Some(rows) = index.find(&cells, value) else { continue };
                let equal =
                    |row: &u32| crate::value::equal(&cells.value(*row), value) == Some(true);
                let wanted: Vec<u32> = (0..200).filter(equal).collect();
                let exact: Vec<u32> = rows.iter().copied().filter(equal).collect();
                assert_eq!(exact, wanted, "{value:?}");
                assert!(rows.is_sorted());
                found += usize::from(!wanted.is_empty());
            }
        }
        assert_eq!(found, 9);
    }
}
