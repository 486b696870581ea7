//! The self-check, and the rebuilding of the indexes from the records.

use std::collections::BTreeMap;

use crate::blob::{BlobClass, BlobRef, Blobs};
use crate::codec::describe;
use crate::error::StoreError;
use crate::index::{self, DIRTY_KEY, Entries, FORMAT_KEY};
use crate::meta::{Meta, facts_of, guarded, open_value};
use crate::store::Store;
use crate::writer::Core;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The object.
    pub what: String,
    /// What is wrong with it.
    pub detail: String,
}

/// What a self-check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FsckReport {
    /// Records looked at.
    pub records: u64,
    /// Blobs looked at.
    pub blobs: u64,
    /// Derived blobs that are absent or torn. That is no problem: they will be computed again.
    pub derived_missing: u64,
    /// Everything that is wrong; empty means a sound store.
    pub problems: Vec<Problem>,
}

impl FsckReport {
    fn problem(&mut self, what: impl Into<String>, detail: impl Into<String>) {
        self.problems.push(Problem { what: what.into(), detail: detail.into() });
    }
}

/// What the records say the index tree must hold.
#[derive(Default)]
struct Expected {
    plain: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Counters, and sums of what accounts hold.
    counts: BTreeMap<Vec<u8>, u64>,
    highest_user: u64,
    needed: Vec<(BlobRef, String)>,
}

impl Expected {
    fn add(&mut self, entries: Entries, report: Option<&mut FsckReport>, what: &str) {
        let mut clash = false;
        for (key, value) in entries.plain {
            let old = self.plain.insert(key, value.clone());
            clash |= old.is_some_and(|o| o != value);
        }
        for key in entries.counts {
            *self.counts.entry(key).or_default() += 1;
        }
        if let Some(owned) = entries.owned {
            let mut bytes = owned.bytes;
            for (key, len) in owned.blobs {
                let records = self.counts.entry(key).or_default();
                *records += 1;
                if *records == 1 {
                    bytes = bytes.saturating_add(len);
                }
            }
            let held = self.counts.entry(owned.held).or_default();
            *held = held.saturating_add(bytes);
        }
        if let Some(report) = report.filter(|_| clash) {
            report.problem(what, "another record holds a value that must be unique");
        }
    }
}

/// Reads every record; the damaged ones become problems.
fn read_all(meta: &Meta, blobs: &Blobs, report: &mut FsckReport) -> Result<Expected, StoreError> {
    let mut expected = Expected::default();
    let mut entries = meta.records.iter();
    while let Some((key, value)) = guarded(|| entries.next().transpose())? {
        report.records += 1;
        let opened = open_value(&key, &value, blobs).and_then(|(_, json, overflow)| {
            let (kind, facts) = facts_of(&key, &json)?;
            Ok((kind, facts, overflow, json.len()))
        });
        let (kind, facts, overflow, bytes) = match opened {
            Ok(o) => o,
            Err(StoreError::Corrupt(c)) => {
                report.problem(c.what(), c.to_string());
                continue;
            }
            Err(e) => return Err(e),
        };
        let what = describe(&key);
        if key[1..] != facts.key[..] {
            report.problem(&what, "it is filed under a key that is not its own");
        }
        if kind == crate::record::Kind::User {
            let id = index::read_u64(Some(&facts.key));
            expected.highest_user = expected.highest_user.max(id);
        }
        let blobs_of = facts.blobs.iter().chain(&overflow);
        expected.needed.extend(blobs_of.map(|b| (*b, what.clone())));
        expected.add(index::entries(kind, &facts, overflow.as_ref(), bytes), Some(report), &what);
    }
    Ok(expected)
}

fn check_index(state: &Core, want: &Expected, report: &mut FsckReport) -> Result<(), StoreError> {
    let mut seen = 0usize;
    let mut seen_counts = 0usize;
    let mut entries = state.meta.index.iter();
    while let Some((key, value)) = guarded(|| entries.next().transpose())? {
        let right = match key.first() {
            Some(b'c' | b'q' | b'w') => {
                seen_counts += 1;
                want.counts.get(&*key) == Some(&index::read_u64(Some(&value)))
            }
            Some(b's') => value.len() == 8,
            Some(b'n') => index::read_u64(Some(&value)) >= want.highest_user,
            Some(b'v') => *value == index::FORMAT.to_be_bytes(),
            _ => {
                seen += 1;
                want.plain.get(&*key).is_some_and(|v| *v == *value)
            }
        };
        if !right {
            let name = graphlume_types::id::hex(&key);
            report.problem(format!("index entry {name}"), "no record gives rise to it");
        }
    }
    if seen < want.plain.len() || seen_counts < want.counts.len() {
        let missing = want.plain.len() + want.counts.len() - seen - seen_counts;
        report.problem("the indexes", format!("{missing} entries are absent"));
    }
    Ok(())
}

impl Store {
    /// Checks that every record decodes, that the indexes say what the records say, and that every
    /// referenced blob is there; with `deep`, that every referenced blob has the right content, too.
    /// Commits wait while the records are read, and go on during the deep part.
    ///
    /// # Errors
    /// Only when the check itself cannot go on; what is wrong is in the report.
    pub fn fsck(&self, deep: bool) -> Result<FsckReport, StoreError> {
        let (mut report, needed) = self.exclusively(|core| {
            let mut report = FsckReport::default();
            let want = read_all(&core.meta, &core.blobs, &mut report)?;
            check_index(core, &want, &mut report)?;
            let mut absent = Vec::new();
            for (blob, what) in &want.needed {
                if !core.blobs.exists(blob) {
                    absent.push((*blob, what.clone()));
                }
            }
            for (blob, what) in &absent {
                note_absent(&mut report, blob, what, "is absent or has another length");
            }
            Ok((report, want.needed))
        })?;
        let mut last = None;
        let mut needed = needed;
        needed.sort();
        for (blob, what) in &needed {
            if last == Some(*blob) {
                continue;
            }
            last = Some(*blob);
            report.blobs += 1;
            if !deep || !self.blobs().exists(blob) {
                continue;
            }
            match self.blobs().open_verified(blob) {
                Ok(_) => {}
                // Removed together with its record since the records were read.
                Err(StoreError::BlobMissing { .. }) if blob.class == BlobClass::Durable => {}
                Err(StoreError::BlobMissing { .. }) => report.derived_missing += 1,
                Err(StoreError::Corrupt(_)) => {
                    note_absent(&mut report, blob, what, "has a wrong content");
                }
                Err(e) => return Err(e),
            }
        }
        Ok(report)
    }

    /// Rebuilds every index from the records that can be read. Damaged records stay where they are.
    ///
    /// # Errors
    /// When the engine fails; the next start then begins the work again.
    pub fn reindex(&self) -> Result<(), StoreError> {
        self.exclusively(|core| {
            core.poison.check()?;
            let done = core.meta.reindex(&core.blobs).and_then(|()| core.meta.sync(&*core.vfs));
            done.inspect_err(|e| core.poison.set("rebuild the indexes", e))
        })
    }
}

impl Store {
    /// Deletes the record `what`, a name that [`Problem::what`] gave, when it cannot be read; what the indexes say of it
    /// goes with it.
    ///
    /// # Errors
    /// `NotDamaged` when there is no such record, or it can be read.
    pub fn delete_damaged(&self, what: &str) -> Result<(), StoreError> {
        let name = what.to_owned();
        self.exclusively(move |core| {
            core.poison.check()?;
            if core.only_reads {
                return Err(StoreError::ReadOnly { dir: core.dir.clone() });
            }
            let mut entries = core.meta.records.iter();
            while let Some((key, value)) = guarded(|| entries.next().transpose())? {
                if describe(&key) != name {
                    continue;
                }
                let read = open_value(&key, &value, &core.blobs)
                    .and_then(|(_, json, _)| facts_of(&key, &json));
                match read {
                    Err(StoreError::Corrupt(_)) => {}
                    Ok(_) => break,
                    Err(e) => return Err(e),
                }
                let done = guarded(|| core.meta.records.remove(&key))
                    .and_then(|_| core.meta.reindex(&core.blobs))
                    .and_then(|()| core.meta.sync(&*core.vfs));
                return done.inspect_err(|e| core.poison.set("delete a damaged record", e));
            }
            Err(StoreError::NotDamaged { what: name })
        })
    }
}

fn note_absent(report: &mut FsckReport, blob: &BlobRef, what: &str, why: &str) {
    match blob.class {
        BlobClass::Derived => report.derived_missing += 1,
        BlobClass::Durable => report.problem(what, format!("its blob {} {why}", blob.hash)),
    }
}

impl Meta {
    /// Finishes a rebuilding of the indexes that a crash cut short, and makes those again that an earlier version
    /// wrote. That costs one reading of all records, once.
    pub(crate) fn finish_reindex(&self, blobs: &Blobs) -> Result<(), StoreError> {
        let known = index::FORMAT.to_be_bytes();
        let is_known = guarded(|| self.index.get(FORMAT_KEY))?.is_some_and(|v| *v == known);
        if !is_known {
            tracing::info!(
                "the indexes of the record store are of an earlier version and are made again"
            );
        }
        if !is_known || guarded(|| self.index.contains_key(DIRTY_KEY))? {
            self.reindex(blobs)?;
        }
        if !is_known {
            guarded(|| self.index.insert(FORMAT_KEY, &known))?;
        }
        Ok(())
    }

    fn reindex(&self, blobs: &Blobs) -> Result<(), StoreError> {
        let mut report = FsckReport::default();
        let want = read_all(self, blobs, &mut report)?;
        guarded(|| self.index.insert(DIRTY_KEY, &[]))?;
        let mut entries = self.index.iter().keys();
        while let Some(key) = guarded(|| entries.next().transpose())? {
            // Entries that are right stay: others may be listing meanwhile.
            let keep = matches!(key.first(), Some(b'v' | b'd' | b'n' | b's'))
                || want.plain.contains_key(&*key)
                || want.counts.contains_key(&*key);
            if !keep {
                guarded(|| self.index.remove(&key))?;
            }
        }
        for (key, value) in &want.plain {
            guarded(|| self.index.insert(key, value.as_slice()))?;
        }
        for (key, n) in &want.counts {
            guarded(|| self.index.insert(key, &n.to_be_bytes()))?;
        }
        let user = index::next_key(crate::record::Kind::User);
        let known = index::read_u64(guarded(|| self.index.get(&user))?.as_deref());
        guarded(|| self.index.insert(&user, &want.highest_user.max(known).to_be_bytes()))?;
        guarded(|| self.index.remove(DIRTY_KEY))?;
        Ok(())
    }
}
