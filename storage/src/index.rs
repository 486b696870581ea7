//! The index tree: everything that is derived from records and changes in their transaction.
//!
//! ```text
//! l kind scope rev-time key  -> empty     listings, newest first
//! c kind scope               -> u64       how many entries of that scope there are
//! u kind field 0 value       -> key       values that must be unique
//! b class hash kind key      -> empty     which records need a blob
//! h kind key                 -> JSON      what decides about the rights to a record
//! r file author mode dataset -> tables    which datasets hold tables of a file, and of which upload
//! q user                     -> u64       bytes that an account holds: records, and each blob once
//! w user class hash          -> u64       records of the account that need the blob
//! n kind                     -> u64       highest account number ever used
//! v                          -> u32       format of the store
//! s                          -> u64       number of the last group of commits
//! d                          -> empty     the indexes are being rebuilt
//! ```
//!
//! A scope is `a` (all), `o` u64 (owner), `g` length slug (organization) or `p` u64 slug (owner within
//! an organization; counted only, to take the overlap of the two out of a sum).

use std::collections::BTreeMap;

use graphlume_types::UserId;
use graphlume_types::limits::RECORD_COST_BYTES;

use crate::blob::{BlobClass, BlobRef};
use crate::record::{Facts, Kind};

pub(crate) const FORMAT: u32 = 3;
/// Of stores whose indexes are made again when they are opened: 1 without heads, holders and sums of accounts, 2 with sums
/// in which sessions do not count.
pub(crate) const FORMATS_BEFORE: [u32; 2] = [1, 2];
pub(crate) const FORMAT_KEY: &[u8] = b"v";
pub(crate) const SEQ_KEY: &[u8] = b"s";
pub(crate) const DIRTY_KEY: &[u8] = b"d";

/// What a listing shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Every record of the kind.
    All,
    /// Records of one account.
    Owner(UserId),
    /// Records placed in one organization.
    Org(String),
}

pub(crate) enum CountScope<'a> {
    Of(&'a Scope),
    Overlap(UserId, &'a str),
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    // Lengths are checked before a record is accepted.
    out.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(text.as_bytes());
}

fn push_scope(out: &mut Vec<u8>, scope: &CountScope<'_>) {
    match scope {
        CountScope::Of(Scope::All) => out.push(b'a'),
        CountScope::Of(Scope::Owner(u)) => {
            out.push(b'o');
            out.extend_from_slice(&u.0.to_be_bytes());
        }
        CountScope::Of(Scope::Org(slug)) => {
            out.push(b'g');
            push_text(out, slug);
        }
        CountScope::Overlap(u, slug) => {
            out.push(b'p');
            out.extend_from_slice(&u.0.to_be_bytes());
            push_text(out, slug);
        }
    }
}

/// Prefix of the listing entries of a scope.
pub(crate) fn list_prefix(kind: Kind, scope: &Scope) -> Vec<u8> {
    let mut out = vec![b'l', kind.tag()];
    push_scope(&mut out, &CountScope::Of(scope));
    out
}

/// Bytes that sort later times first.
fn rev_time(time: i64) -> [u8; 8] {
    (!(time.cast_unsigned() ^ (1 << 63))).to_be_bytes()
}

/// Bytes of the time in front of the key in a listing entry.
pub(crate) const REV_TIME_BYTES: usize = 8;

pub(crate) fn count_key(kind: Kind, scope: &CountScope<'_>) -> Vec<u8> {
    let mut out = vec![b'c', kind.tag()];
    push_scope(&mut out, scope);
    out
}

pub(crate) fn unique_key(kind: Kind, field: &str, value: &str) -> Vec<u8> {
    let mut out = vec![b'u', kind.tag()];
    out.extend_from_slice(field.as_bytes());
    out.push(0);
    out.extend_from_slice(value.as_bytes());
    out
}

/// Prefix of the entries of all records that need a blob.
pub(crate) fn blob_prefix(blob: &BlobRef) -> Vec<u8> {
    let mut out = vec![b'b', class_of(blob)];
    out.extend_from_slice(blob.hash.as_bytes());
    out
}

const fn class_of(blob: &BlobRef) -> u8 {
    match blob.class {
        BlobClass::Durable => 0,
        BlobClass::Derived => 1,
    }
}

pub(crate) fn head_key(kind: Kind, key: &[u8]) -> Vec<u8> {
    let mut out = vec![b'h', kind.tag()];
    out.extend_from_slice(key);
    out
}

/// Where the bytes of an account are added up.
pub(crate) fn held_key(user: UserId) -> Vec<u8> {
    let mut out = vec![b'q'];
    out.extend_from_slice(&user.0.to_be_bytes());
    out
}

fn weight_key(user: UserId, blob: &BlobRef) -> Vec<u8> {
    let mut out = vec![b'w'];
    out.extend_from_slice(&user.0.to_be_bytes());
    out.push(class_of(blob));
    out.extend_from_slice(blob.hash.as_bytes());
    out
}

pub(crate) fn next_key(kind: Kind) -> Vec<u8> {
    vec![b'n', kind.tag()]
}

/// Everything that one record contributes to the index tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Entries {
    /// Entries without a value of interest, and unique values.
    pub plain: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Counters it is counted in.
    pub counts: Vec<Vec<u8>>,
    /// What its owner holds with it.
    pub owned: Option<Owned>,
}

/// What an account holds with one record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    /// Where the account's bytes are added up.
    pub held: Vec<u8>,
    /// Bytes of the record itself.
    pub bytes: u64,
    /// Counter and length of each blob.
    pub blobs: BTreeMap<Vec<u8>, u64>,
}

/// Entries of a record that takes `bytes` of JSON. `overflow` is the blob that holds the record itself, when it is
/// large.
pub(crate) fn entries(
    kind: Kind,
    facts: &Facts,
    overflow: Option<&BlobRef>,
    bytes: usize,
) -> Entries {
    let mut e = Entries::default();
    let mut scopes = vec![Scope::All];
    scopes.extend(facts.owner.map(Scope::Owner));
    scopes.extend(facts.org.clone().map(Scope::Org));
    for scope in &scopes {
        let mut key = list_prefix(kind, scope);
        key.extend_from_slice(&rev_time(facts.created_at));
        key.extend_from_slice(&facts.key);
        e.plain.insert(key, Vec::new());
        e.counts.push(count_key(kind, &CountScope::Of(scope)));
    }
    if let (Some(owner), Some(org)) = (facts.owner, &facts.org) {
        e.counts.push(count_key(kind, &CountScope::Overlap(owner, org)));
    }
    for (field, value) in &facts.unique {
        e.plain.insert(unique_key(kind, field, value), facts.key.clone());
    }
    for blob in facts.blobs.iter().chain(overflow) {
        let mut key = blob_prefix(blob);
        key.push(kind.tag());
        key.extend_from_slice(&facts.key);
        e.plain.insert(key, Vec::new());
    }
    if let Some(head) = &facts.head {
        e.plain.insert(head_key(kind, &facts.key), head.clone());
    }
    e.plain.extend(facts.holds.iter().cloned());
    if let Some(user) = facts.owner.filter(|_| facts.is_counted) {
        let blobs = facts.blobs.iter().map(|b| (weight_key(user, b), b.len)).collect();
        let bytes = (bytes as u64).saturating_add(RECORD_COST_BYTES);
        e.owned = Some(Owned { held: held_key(user), bytes, blobs });
    }
    e
}

/// A counter's value.
pub(crate) fn read_u64(bytes: Option<&[u8]>) -> u64 {
    bytes.and_then(|b| b.try_into().ok()).map_or(0, u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_times_sort_first_even_across_1970() {
        let times = [i64::MAX, 5, 1, 0, -1, -5, i64::MIN];
        assert!(times.windows(2).all(|w| rev_time(w[0]) < rev_time(w[1])));
    }

    #[test]
    fn no_scope_is_a_prefix_of_another() {
        let a = list_prefix(Kind::File, &Scope::Org("ab".into()));
        let b = list_prefix(Kind::File, &Scope::Org("abc".into()));
        assert!(!b.starts_with(&a));
    }
}
