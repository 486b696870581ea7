//! Tells how far a parse is, a few times a second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::{ParseCx, Stage};

const MILLIS_BETWEEN: u64 = 250;

/// Counts what threads have worked through.
pub struct Meter<'a> {
    cx: &'a ParseCx,
    start: Instant,
    told_millis: AtomicU64,
    bytes: AtomicU64,
    rows: AtomicU64,
}

impl<'a> Meter<'a> {
    pub fn new(cx: &'a ParseCx) -> Self {
        let zero = || AtomicU64::new(0);
        Self { cx, start: Instant::now(), told_millis: zero(), bytes: zero(), rows: zero() }
    }

    /// Counts more bytes and rows, and reports them when the last report is a while ago.
    pub fn add(&self, bytes: u64, rows: u64) {
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let rows = self.rows.fetch_add(rows, Ordering::Relaxed) + rows;
        if self.cx.watch.is_none() {
            return;
        }
        let now = self.start.elapsed().as_millis() as u64;
        let told = self.told_millis.load(Ordering::Relaxed);
        let due = now >= told + MILLIS_BETWEEN;
        let order = Ordering::Relaxed;
        if due && self.told_millis.compare_exchange(told, now, order, order).is_ok() {
            self.cx.report(Stage::Parsing, bytes, rows);
        }
    }
}
