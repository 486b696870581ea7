//! Frames that carry colours, sizes and labels.

use bytes::Bytes;

use super::{Bounds, HEADER_BYTES, Header, Kind, Stamp, frame};
use crate::collection::Bits;
use crate::elements::Axis;

/// Bytes between the axis and the data, so that the data stays aligned.
const PREFIX_BYTES: usize = 16;

fn channel(kind: Kind, stamp: Stamp, axis: Axis, count: usize, data: &[u8]) -> Bytes {
    prefixed(kind, stamp, [axis as u8, 0], count, data)
}

fn prefixed(kind: Kind, stamp: Stamp, first: [u8; 2], count: usize, data: &[u8]) -> Bytes {
    let header = Header::new(kind, stamp, count as u32, Bounds::UNIT);
    let mut out = frame(&header, PREFIX_BYTES + data.len());
    let mut prefix = [0; PREFIX_BYTES];
    prefix[..2].copy_from_slice(&first);
    out.extend_from_slice(&prefix);
    out.extend_from_slice(data);
    out.into()
}

/// [`Kind::Color`]: RGBA of every element; of edges also twice as many, those at the sources and then those at the
/// destinations.
#[must_use]
pub fn encode_color(stamp: Stamp, axis: Axis, rgba: &[[u8; 4]]) -> Bytes {
    channel(Kind::Color, stamp, axis, rgba.len(), rgba.as_flattened())
}

/// What the second byte of the prefix of a [`Kind::Color`] frame says: that an opacity of 0 stands for an element's own look,
/// or that bits follow the colours.
const SOME: u8 = 1;
pub(super) const CHOSEN: u8 = 2;

/// [`Kind::Color`] of nodes, of which those in `chosen` keep their colour in every theme: pages have another in place of a
/// built-in hue on a light background. Where there are such, a bit for each node follows the colours, least significant first.
#[must_use]
pub fn encode_node_colors(stamp: Stamp, rgba: &[[u8; 4]], chosen: &Bits) -> Bytes {
    if chosen.is_empty() {
        return encode_color(stamp, Axis::Node, rgba);
    }
    let data = [rgba.as_flattened(), &chosen.bytes(rgba.len() as u32)].concat();
    prefixed(Kind::Color, stamp, [Axis::Node as u8, CHOSEN], rgba.len(), &data)
}

/// [`Kind::Color`] of edges of which only some have a colour: an opacity of 0 leaves an edge the look that
/// the page gives it. Without any colour, the page forgets those that it had.
#[must_use]
pub fn encode_some_edge_colors(stamp: Stamp, rgba: &[[u8; 4]]) -> Bytes {
    let first = [Axis::Edge as u8, SOME];
    prefixed(Kind::Color, stamp, first, rgba.len(), rgba.as_flattened())
}

/// The colours of a [`Kind::Color`] frame that [`encode_color`] made.
#[must_use]
pub fn colors_of(frame: &[u8]) -> Vec<[u8; 4]> {
    let data = frame.get(HEADER_BYTES + PREFIX_BYTES..).unwrap_or_default();
    let count = Header::parse(frame).map_or(0, |header| header.count as usize);
    data.as_chunks::<4>().0.iter().take(count).copied().collect()
}

/// The nodes of a [`Kind::Color`] frame that keep their colour in every theme.
#[must_use]
pub fn chosen_of(frame: &[u8]) -> Bits {
    let count = Header::parse(frame).map_or(0, |header| header.count);
    let bits = frame.get(HEADER_BYTES + PREFIX_BYTES + 4 * count as usize..).unwrap_or_default();
    let words = bits.chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    });
    Bits::of_words(count, words.collect())
}

/// Whether an opacity of 0 in a [`Kind::Color`] frame stands for the look that the page gives an element:
/// [`encode_some_edge_colors`] made it.
#[must_use]
pub fn has_some_colors(frame: &[u8]) -> bool {
    frame.get(HEADER_BYTES + 1) == Some(&SOME)
}

/// The sizes of a [`Kind::Size`] frame that [`encode_size`] made.
#[must_use]
pub fn sizes_of(frame: &[u8]) -> &[u8] {
    frame.get(HEADER_BYTES + PREFIX_BYTES..).unwrap_or_default()
}

/// [`Kind::Mask`]: the visible ones of `count` elements, a bit for each, least significant first.
#[must_use]
pub fn encode_mask(stamp: Stamp, axis: Axis, visible: &Bits, count: u32) -> Bytes {
    channel(Kind::Mask, stamp, axis, count as usize, &visible.bytes(count))
}

/// [`Kind::Size`]: diameters of nodes in quarter pixels, or widths of edges in sixteenths of a pixel.
#[must_use]
pub fn encode_size(stamp: Stamp, axis: Axis, sizes: &[u8]) -> Bytes {
    channel(Kind::Size, stamp, axis, sizes.len(), sizes)
}

/// The number of a node that belongs to no group.
pub const NO_GROUP: u16 = u16::MAX;

/// [`Kind::Groups`]: the group of every node on each level, coarse levels first, [`NO_GROUP`] for none. The prefix
/// begins with the number of levels.
///
/// # Panics
/// When levels differ in length.
#[must_use]
pub fn encode_groups(stamp: Stamp, levels: &[Vec<u16>]) -> Bytes {
    let nodes = levels.first().map_or(0, Vec::len);
    assert!(levels.iter().all(|level| level.len() == nodes), "every level has all nodes");
    let header = Header::new(Kind::Groups, stamp, nodes as u32, Bounds::UNIT);
    let mut out = frame(&header, PREFIX_BYTES + 2 * nodes * levels.len());
    let mut prefix = [0; PREFIX_BYTES];
    prefix[..4].copy_from_slice(&(levels.len() as u32).to_le_bytes());
    out.extend_from_slice(&prefix);
    out.extend(levels.iter().flatten().flat_map(|group| group.to_le_bytes()));
    out.into()
}

/// [`Kind::Labels`]: node indices with their text, the most important first. Text is cut at 65,535 bytes,
/// between characters.
#[must_use]
pub fn encode_labels(stamp: Stamp, labels: &[(u32, String)]) -> Bytes {
    let header = Header::new(Kind::Labels, stamp, labels.len() as u32, Bounds::UNIT);
    let mut out = frame(&header, labels.iter().map(|(_, t)| 6 + t.len()).sum());
    for (index, text) in labels {
        let text = &text[..text.floor_char_boundary(usize::from(u16::MAX))];
        out.extend_from_slice(&index.to_le_bytes());
        out.extend_from_slice(&(text.len() as u16).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    out.into()
}
