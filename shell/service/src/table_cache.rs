//! Parsed tables that were used a moment ago.

use std::collections::HashMap;

use graphlume_storage::BlobHash;
use graphlume_table::Table;
use parking_lot::Mutex;

/// The most recently used tables, up to a number of bytes, by the hash of their stored form.
pub(crate) struct TableCache {
    bytes_max: u64,
    inner: Mutex<Lru>,
}

#[derive(Default)]
struct Lru {
    tables: HashMap<BlobHash, Entry>,
    bytes: u64,
    turn: u64,
}

struct Entry {
    table: Table,
    bytes: u64,
    used: u64,
}

impl TableCache {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { bytes_max, inner: Mutex::new(Lru::default()) }
    }

    pub(crate) fn get(&self, hash: &BlobHash) -> Option<Table> {
        let mut lru = self.inner.lock();
        lru.turn += 1;
        let turn = lru.turn;
        let entry = lru.tables.get_mut(hash)?;
        entry.used = turn;
        Some(entry.table.clone())
    }

    /// Keeps a table; the least recently used ones make room. One that never fits is not kept.
    pub(crate) fn put(&self, hash: BlobHash, table: &Table) {
        let bytes = table.memory_bytes();
        if bytes > self.bytes_max {
            return;
        }
        let mut lru = self.inner.lock();
        lru.turn += 1;
        let entry = Entry { table: table.clone(), bytes, used: lru.turn };
        lru.bytes += bytes;
        if let Some(old) = lru.tables.insert(hash, entry) {
            lru.bytes -= old.bytes;
        }
        while lru.bytes > self.bytes_max {
            let oldest = lru.tables.iter().min_by_key(|(_, e)| e.used).map(|(h, _)| *h);
            match oldest.and_then(|h| lru.tables.remove(&h)) {
                Some(e) => lru.bytes -= e.bytes,
                None => break,
            }
        }
    }
}
