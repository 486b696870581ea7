//! Memory rates of this machine, measured in the same run as a task: the rate of reading one long
//! array, and of reading 4-byte cells of a table at random.
//!
//! Rates are per processor second of one core, so that they mean the same on a busy machine.

use graphlume_types::hash::h64;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::clock::measure;

/// Bytes of the array that is read through: more than any cache.
const STREAM_BYTES: usize = 256 << 20;
/// Cells read at random in one go.
const GATHERS: usize = 1 << 22;
/// Repeats; the best counts.
const REPEATS: usize = 5;
/// Table sizes of the task `bandwidth`, in bytes.
const TABLES: [usize; 8] = [1 << 15, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 25, 1 << 26, 1 << 28];

/// Rates of one core.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Bytes a processor second, one after the other.
    pub stream_bytes: f64,
    /// 4-byte cells a processor second at random, from a table of [`Self::table_bytes`].
    pub gathers: f64,
    /// Size of that table.
    pub table_bytes: u64,
}

impl Rates {
    /// Measures on the current pool; random reads go to a table of `table_bytes`.
    #[must_use]
    pub fn measure(table_bytes: u64) -> Self {
        let table = usize::try_from(table_bytes).unwrap_or(usize::MAX).clamp(1 << 12, 1 << 30);
        Self {
            stream_bytes: stream(),
            gathers: gather::<u32>(table, GATHERS),
            table_bytes: table as u64,
        }
    }

    /// The least processor seconds for reading `stream_bytes` in order and `gathers` cells at random,
    /// when each of the two hides the other.
    #[must_use]
    pub fn floor_s(&self, stream_bytes: f64, gathers: f64) -> f64 {
        (stream_bytes / self.stream_bytes).max(gathers / self.gathers)
    }

    /// For a report.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "stream_gb_s": self.stream_bytes / 1e9,
            "gather_g_s": self.gathers / 1e9,
            "table_bytes": self.table_bytes,
        })
    }
}

/// The task `bandwidth`: the stream rate and the gather rate by table size, per core.
pub(crate) fn table() -> Value {
    let gathers = TABLES.map(
        |bytes| json!({"table_bytes": bytes, "gather_g_s": gather::<u32>(bytes, GATHERS) / 1e9}),
    );
    json!({"stream_gb_s": stream() / 1e9, "gathers": gathers})
}

/// Nanoseconds of one 8-byte cell, a position, read at random from a table of `cells`; `reads` of them in
/// one go, as many as the arcs of a graph have, so that their list takes its share of the caches.
pub(crate) fn position_ns(cells: usize, reads: usize) -> f64 {
    1e9 / gather::<u64>(8 * cells, reads.clamp(1 << 16, 1 << 26))
}

/// The best rate of `REPEATS` runs of `work`, which handles `amount` of something.
fn best(amount: f64, mut work: impl FnMut() -> u64) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..REPEATS {
        let (sum, took) = measure(&mut work);
        std::hint::black_box(sum);
        least = least.min(took.cpu_seconds);
    }
    amount / least
}

fn stream() -> f64 {
    let array: Vec<u64> = (0..STREAM_BYTES as u64 / 8).into_par_iter().collect();
    best(STREAM_BYTES as f64, || {
        array.par_chunks(1 << 16).map(|c| c.iter().fold(0u64, |a, b| a.wrapping_add(*b))).sum()
    })
}

/// Cells a processor second at random from a table of `table_bytes`, `reads` of them in one go.
fn gather<T: Copy + Send + Sync + From<u32> + Into<u64>>(table_bytes: usize, reads: usize) -> f64 {
    let cells = (table_bytes / size_of::<T>()).max(1);
    let table: Vec<T> = (0..cells as u32).into_par_iter().map(T::from).collect();
    let places: Vec<u32> =
        (0..reads as u64).into_par_iter().map(|i| (h64(3, 90, i) % cells as u64) as u32).collect();
    best(reads as f64, || {
        let sum = |chunk: &[u32]| {
            // Eight chains, so that reads overlap as they do in the kernels.
            let mut sums = [0u64; 8];
            for eight in chunk.chunks_exact(8) {
                for (s, at) in sums.iter_mut().zip(eight) {
                    *s += table[*at as usize].into();
                }
            }
            sums.iter().fold(0u64, |a, b| a.wrapping_add(*b))
        };
        places.par_chunks(1 << 15).map(sum).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_positive_and_the_slower_part_is_the_floor() {
        let rates = Rates::measure(1 << 16);
        assert!(rates.stream_bytes > 1e6 && rates.gathers > 1e5, "{rates:?}");
        let fixed = Rates { stream_bytes: 100.0, gathers: 10.0, table_bytes: 0 };
        assert_eq!(fixed.floor_s(200.0, 10.0), 2.0);
        assert_eq!(fixed.floor_s(200.0, 50.0), 5.0);
    }
}
