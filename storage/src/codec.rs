//! The form of a record's value on the disk:
//!
//! ```text
//! byte 0        version: 1 = the JSON follows, 2 = a reference to a blob that holds the JSON
//! bytes 1..17   first 16 bytes of BLAKE3 over version, kind, key length, key and payload
//! bytes 17..    payload
//! ```
//!
//! The key is part of the sum, so that a value under a wrong key is as damaged as a flipped bit.

use crate::error::{Corrupt, StoreError};
use crate::record::Kind;

const INLINE: u8 = 1;
const OVERFLOW: u8 = 2;
const HEADER: usize = 17;

/// Identifies the content of a record: equal tags mean equal records. Used to make a write depend on
/// what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag([u8; 16]);

/// Payload of a verified value.
pub(crate) enum Payload<'a> {
    Json(&'a [u8]),
    Overflow(&'a [u8]),
}

/// Key of a record in the records tree.
pub(crate) fn tree_key(kind: Kind, key: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 + key.len());
    out.push(kind.tag());
    out.extend_from_slice(key);
    out
}

fn sum(version: u8, tree_key: &[u8], payload: &[u8]) -> [u8; 16] {
    let mut h = blake3::Hasher::new();
    h.update(&[version]);
    h.update(&(tree_key.len() as u64).to_le_bytes());
    h.update(tree_key);
    h.update(payload);
    let mut out = [0u8; 16];
    out.copy_from_slice(&h.finalize().as_bytes()[..16]);
    out
}

fn encode(version: u8, tree_key: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + payload.len());
    out.push(version);
    out.extend_from_slice(&sum(version, tree_key, payload));
    out.extend_from_slice(payload);
    out
}

pub(crate) fn encode_inline(tree_key: &[u8], json: &[u8]) -> Vec<u8> {
    encode(INLINE, tree_key, json)
}

pub(crate) fn encode_overflow(tree_key: &[u8], reference: &[u8]) -> Vec<u8> {
    encode(OVERFLOW, tree_key, reference)
}

/// Verifies a value.
///
/// # Errors
/// Corrupt when it is not what was written under this key; Format when a newer version wrote it.
pub(crate) fn decode<'a>(
    tree_key: &[u8],
    value: &'a [u8],
) -> Result<(Tag, Payload<'a>), StoreError> {
    let damaged = |why: String| StoreError::Corrupt(Corrupt::new(describe(tree_key), why));
    let Some((header, payload)) = value.split_at_checked(HEADER) else {
        return Err(damaged(format!("{} bytes are too few", value.len())));
    };
    let mut stored = [0u8; 16];
    stored.copy_from_slice(&header[1..]);
    if sum(header[0], tree_key, payload) != stored {
        return Err(damaged("its checksum does not match".into()));
    }
    match header[0] {
        INLINE => Ok((Tag(stored), Payload::Json(payload))),
        OVERFLOW => Ok((Tag(stored), Payload::Overflow(payload))),
        v => Err(damaged(format!("version {v} is unknown; a newer server may have written it"))),
    }
}

/// Names a record for messages.
pub(crate) fn describe(tree_key: &[u8]) -> String {
    let Some((tag, key)) = tree_key.split_first() else { return "a record without a key".into() };
    let kind = crate::record::row_of_tag(*tag).map_or("unknown", |r| r.kind.name());
    match std::str::from_utf8(key) {
        Ok(text) if !key.is_empty() && text.bytes().all(|b| b.is_ascii_graphic()) => {
            format!("{kind} record {text}")
        }
        _ => format!("{kind} record {}", graphlume_types::id::hex(key)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_value_survives_and_any_changed_bit_is_seen() {
        let key = tree_key(Kind::Org, b"acme");
        let value = encode_inline(&key, b"{\"slug\":\"acme\"}");
        assert!(matches!(decode(&key, &value).unwrap().1, Payload::Json(b"{\"slug\":\"acme\"}")));
        for bit in 0..value.len() * 8 {
            let mut bad = value.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&key, &bad).err().unwrap().is_corrupt(), "bit {bit}");
        }
        for len in 0..value.len() {
            assert!(decode(&key, &value[..len]).err().unwrap().is_corrupt(), "length {len}");
        }
    }

    #[test]
    fn a_value_under_another_key_or_kind_is_damaged() {
        let value = encode_inline(&tree_key(Kind::Org, b"a"), b"{}");
        assert!(decode(&tree_key(Kind::Org, b"b"), &value).is_err());
        assert!(decode(&tree_key(Kind::Setting, b"a"), &value).is_err());
    }
}
