//! Listings over the index tree: a merge of a few sorted scopes.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use graphlume_types::limits;

use crate::codec::tree_key;
use crate::error::StoreError;
use crate::index::{self, CountScope, REV_TIME_BYTES, Scope, count_key, list_prefix};
use crate::meta::guarded;
use crate::record::{Headed, Kind, Record};
use crate::store::Store;

/// One page of a listing.
#[derive(Debug, Clone)]
pub struct Page<R> {
    /// The records, newest first.
    pub items: Vec<R>,
    /// Records in the whole listing.
    pub total: u64,
    /// Records left out of this page because they are damaged.
    pub damaged: u64,
    /// Entries of the listing that this page used up: what comes next begins after them.
    pub walked: u64,
}

/// A sorted run of one scope, with its head looked at.
struct Run {
    entries: sled::Iter,
    prefix_len: usize,
    /// Time and key of the next entry.
    head: Option<Vec<u8>>,
}

impl Run {
    fn new(store: &Store, kind: Kind, scope: &Scope) -> Result<Self, StoreError> {
        let prefix = list_prefix(kind, scope);
        let entries = store.core().meta.index.scan_prefix(&prefix);
        let mut run = Self { entries, prefix_len: prefix.len(), head: None };
        run.advance()?;
        Ok(run)
    }

    fn advance(&mut self) -> Result<(), StoreError> {
        let next = guarded(|| self.entries.next().transpose())?;
        self.head = next.map(|(key, _)| key[self.prefix_len..].to_vec());
        Ok(())
    }
}

/// One record of a listing that is walked through.
pub struct Entry<'a, R> {
    store: &'a Store,
    key: &'a [u8],
    kind: PhantomData<R>,
}

impl<R: Headed> Entry<'_, R> {
    /// What decides about the rights to it; absent when it was deleted since.
    ///
    /// # Errors
    /// `Corrupt` when it is damaged.
    pub fn head(&self) -> Result<Option<R::Head>, StoreError> {
        self.store.head_of::<R>(self.key)
    }

    /// The whole record as JSON text; absent when it was deleted since.
    ///
    /// # Errors
    /// `Corrupt` when it is damaged.
    pub fn json(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.json_of(&tree_key(R::KIND, self.key))
    }
}

/// A sorted merge of scopes without repetition.
struct Merge(Vec<Run>);

impl Merge {
    fn new(store: &Store, kind: Kind, scopes: &[Scope]) -> Result<Self, StoreError> {
        let runs = distinct(scopes).into_iter().map(|scope| Run::new(store, kind, scope));
        Ok(Self(runs.collect::<Result<_, _>>()?))
    }

    /// Time and key of the next record.
    fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(next) = self.0.iter().filter_map(|r| r.head.as_ref()).min().cloned() else {
            return Ok(None);
        };
        for run in &mut self.0 {
            if run.head.as_ref() == Some(&next) {
                run.advance()?;
            }
        }
        Ok(Some(next))
    }
}

fn walk<R: Headed, E: From<StoreError>>(
    store: &Store,
    scopes: &[Scope],
    mut each: impl FnMut(Entry<'_, R>) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let mut merge = Merge::new(store, R::KIND, scopes)?;
    while let Some(next) = merge.next()? {
        let key = next.get(REV_TIME_BYTES..).unwrap_or_default();
        if each(Entry { store, key, kind: PhantomData })?.is_break() {
            break;
        }
    }
    Ok(())
}

fn distinct(scopes: &[Scope]) -> BTreeSet<&Scope> {
    if scopes.contains(&Scope::All) {
        BTreeSet::from([&Scope::All])
    } else {
        scopes.iter().collect()
    }
}

fn page<R: Record>(
    store: &Store,
    scopes: &[Scope],
    offset: u64,
    limit: u64,
    bytes_max: usize,
) -> Result<Page<R>, StoreError> {
    let total = count(store, R::KIND, scopes)?;
    let mut page = Page { items: Vec::new(), total, damaged: 0, walked: 0 };
    if offset >= total || limit == 0 {
        return Ok(page);
    }
    let mut merge = Merge::new(store, R::KIND, scopes)?;
    let (mut at, mut bytes) = (0u64, 0usize);
    while at < offset.saturating_add(limit) {
        let Some(next) = merge.next()? else { break };
        if at >= offset {
            let key = tree_key(R::KIND, next.get(REV_TIME_BYTES..).unwrap_or_default());
            match store.read_sized::<R>(&key) {
                Ok(Some((_, _, size))) if bytes > 0 && bytes.saturating_add(size) > bytes_max => {
                    break;
                }
                Ok(Some((rec, _, size))) => {
                    bytes = bytes.saturating_add(size);
                    page.items.push(rec);
                }
                // Deleted since the entry was read.
                Ok(None) => {}
                Err(StoreError::Corrupt(_)) => page.damaged += 1,
                Err(e) => return Err(e),
            }
            page.walked += 1;
        }
        at += 1;
    }
    Ok(page)
}

/// Size of a union of scopes. Every record has at most one owner and one organization, so that owners
/// are disjoint, organizations are disjoint, and only an owner and an organization can overlap.
fn count(store: &Store, kind: Kind, scopes: &[Scope]) -> Result<u64, StoreError> {
    let read = |scope: &CountScope<'_>| {
        let key = count_key(kind, scope);
        let bytes = guarded(|| store.core().meta.index.get(&key))?;
        Ok::<u64, StoreError>(index::read_u64(bytes.as_deref()))
    };
    let scopes = distinct(scopes);
    let mut total = 0u64;
    for scope in &scopes {
        total += read(&CountScope::Of(scope))?;
        let Scope::Owner(owner) = scope else { continue };
        for other in &scopes {
            if let Scope::Org(org) = other {
                total = total.saturating_sub(read(&CountScope::Overlap(*owner, org))?);
            }
        }
    }
    Ok(total)
}

impl Store {
    /// Walks through the union of `scopes`, newest first, without repetition, until `each` has seen enough. No record
    /// is read but those that `each` asks for.
    ///
    /// # Errors
    /// When the engine fails, and those of `each`.
    pub fn walk<R: Headed, E: From<StoreError>>(
        &self,
        scopes: &[Scope],
        each: impl FnMut(Entry<'_, R>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        walk(self, scopes, each)
    }

    /// One page of the union of `scopes`, newest first, without repetition. Its cost grows with
    /// `offset + limit`, not with the number of records. `limit` is capped at `PAGE_ROWS_MAX`.
    ///
    /// # Errors
    /// When the engine fails. Damaged records are left out and counted.
    pub fn list<R: Record>(
        &self,
        scopes: &[Scope],
        offset: u64,
        limit: u64,
    ) -> Result<Page<R>, StoreError> {
        self.list_within(scopes, offset, limit, usize::MAX)
    }

    /// [`Store::list`] that ends before its records take more than `bytes_max` together, though not before the
    /// first one: [`Page::walked`] says how far it came.
    ///
    /// # Errors
    /// As there.
    pub fn list_within<R: Record>(
        &self,
        scopes: &[Scope],
        offset: u64,
        limit: u64,
        bytes_max: usize,
    ) -> Result<Page<R>, StoreError> {
        page(self, scopes, offset, limit.min(limits::PAGE_ROWS_MAX), bytes_max)
    }

    /// How many records [`Store::list`] walks through.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn count<R: Record>(&self, scopes: &[Scope]) -> Result<u64, StoreError> {
        count(self, R::KIND, scopes)
    }
}
