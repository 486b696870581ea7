//! Frames that say which icon each element shows.

use bytes::Bytes;
use serde_json::Value;

use super::{Bounds, Header, Kind, Stamp, frame};
use crate::layer::{Anchor, IconLayer};

/// Bytes before the indices: the axis, the place, two of padding, the bytes of the list at the end, and padding.
pub(super) const ICONS_PREFIX_BYTES: usize = 16;

/// [`Kind::Icons`]: of every element the entry of the list that it shows, counted from 1, as u16; then the look and its
/// list as JSON (see [`IconLayer::look`]). `shown` is in the order of the elements on the wire.
#[must_use]
pub fn encode_icons(stamp: Stamp, layer: &IconLayer, shown: &[u16]) -> Bytes {
    let list = layer.look.to_string();
    let header = Header::new(Kind::Icons, stamp, shown.len() as u32, Bounds::UNIT);
    let mut out = frame(&header, ICONS_PREFIX_BYTES + 2 * shown.len() + list.len());
    out.extend_from_slice(&[layer.axis as u8, layer.place as u8, 0, 0]);
    out.extend_from_slice(&(list.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    for index in shown {
        out.extend_from_slice(&index.to_le_bytes());
    }
    out.extend_from_slice(list.as_bytes());
    out.into()
}

/// The place of a byte, and a list as it was.
pub(super) fn read_list(place: u8, list: &[u8]) -> Option<(Anchor, Value)> {
    Some((Anchor::of_byte(place)?, serde_json::from_slice(list).ok()?))
}
