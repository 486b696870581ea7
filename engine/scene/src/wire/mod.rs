//! The binary frames of protocol `graph-viz.v1`.
//!
//! A frame is a header of 48 bytes and a payload; everything is little-endian.
//!
//! | Offset | Type | Field |
//! |---|---|---|
//! | 0 | 4 bytes | `GVZ1` |
//! | 4 | u8 | header version, 1 |
//! | 5 | u8 | [`Kind`] |
//! | 6 | u16 | [`flags`] |
//! | 8 | u32 | epoch |
//! | 12 | u32 | seq |
//! | 16 | u32 | seq of the keyframe that a delta refers to |
//! | 20 | u32 | first element |
//! | 24 | u32 | number of elements |
//! | 28 | u32 | stride: the elements are `first`, `first + stride`, ... |
//! | 32 | 4 × f32 | x0, y0, sx, sy: a quantised `q` stands for `x0 + q * sx` |
//!
//! Nodes are in node index order; edges are in drawn order (see [`crate::EdgeOrder`]).

mod attributes;
mod decode;
mod depth;
mod encoder;
#[cfg(test)]
mod fixtures;
mod icons;
mod positions;
mod quantize;

use std::io::{Read, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::error::SceneError;

pub use crate::elements::Axis;
pub use attributes::{
    NO_GROUP, chosen_of, colors_of, encode_color, encode_groups, encode_labels, encode_mask,
    encode_node_colors, encode_size, encode_some_edge_colors, has_some_colors, sizes_of,
};
pub use decode::{Decoded, Frame, Viewer, decode};
pub use depth::{NO_DEPTH, encode_depth, is_depth};
pub use encoder::{EncodedPositions, FrameSource, PositionEncoder};
pub use icons::encode_icons;
pub use positions::{encode_f32, encode_key, encode_list, encode_stripe, striped};
pub use quantize::{ABSENT, Bounds, Extent, Quantized, STEPS};

/// The first four bytes of every frame.
pub const MAGIC: [u8; 4] = *b"GVZ1";
/// Version of the header.
pub const VERSION: u8 = 1;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 48;

/// Bits of the header's flags.
pub mod flags {
    /// The payload is compressed (raw deflate, RFC 1951).
    pub const DEFLATE: u16 = 1;
    /// The layout is running.
    pub const RUNNING: u16 = 2;
    /// The layout has settled.
    pub const SETTLED: u16 = 4;
    /// This is the last stripe of a frame that was cut into stripes.
    pub const LAST_STRIPE: u16 = 8;
}

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Quantised positions that stand for themselves.
    PosKey = 1,
    /// Steps from a keyframe.
    PosDelta = 2,
    /// Exact positions.
    PosF32 = 3,
    /// Quantised positions of listed nodes, in bounds of their own.
    PosList = 4,
    /// Which nodes or edges are visible.
    Mask = 16,
    /// Colours of nodes or edges.
    Color = 17,
    /// Sizes of nodes or widths of edges.
    Size = 18,
    /// Candidates for labels.
    Labels = 19,
    /// Icons and badges of nodes or edges.
    Icons = 20,
    /// Groups that nodes belong to, coarse ones first.
    Groups = 21,
    /// The third coordinate of nodes.
    Depth = 22,
}

impl Kind {
    fn from_byte(b: u8) -> Option<Self> {
        Some(match b {
            1 => Self::PosKey,
            2 => Self::PosDelta,
            3 => Self::PosF32,
            4 => Self::PosList,
            16 => Self::Mask,
            17 => Self::Color,
            18 => Self::Size,
            19 => Self::Labels,
            20 => Self::Icons,
            21 => Self::Groups,
            22 => Self::Depth,
            _ => return None,
        })
    }
}

/// Where in a session's life a frame belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Version of the element set.
    pub epoch: u32,
    /// Number of the frame.
    pub seq: u32,
    /// [`flags`].
    pub flags: u16,
}

/// The first 48 bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// What the payload is.
    pub kind: Kind,
    /// [`flags`].
    pub flags: u16,
    /// Version of the element set.
    pub epoch: u32,
    /// Number of the frame.
    pub seq: u32,
    /// The keyframe that a delta refers to; for other kinds 0.
    pub base_seq: u32,
    /// First element.
    pub first: u32,
    /// Number of elements.
    pub count: u32,
    /// Distance between elements.
    pub stride: u32,
    /// What quantised coordinates stand for.
    pub bounds: Bounds,
}

impl Header {
    /// A header for `count` contiguous elements.
    #[must_use]
    pub const fn new(kind: Kind, stamp: Stamp, count: u32, bounds: Bounds) -> Self {
        let Stamp { epoch, seq, flags } = stamp;
        Self { kind, flags, epoch, seq, base_seq: 0, first: 0, count, stride: 1, bounds }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[VERSION, self.kind as u8]);
        out.extend_from_slice(&self.flags.to_le_bytes());
        let words = [self.epoch, self.seq, self.base_seq, self.first, self.count, self.stride];
        for word in words {
            out.extend_from_slice(&word.to_le_bytes());
        }
        let Bounds { x0, y0, sx, sy } = self.bounds;
        for v in [x0, y0, sx, sy] {
            out.extend_from_slice(&v.to_le_bytes());
        }
    }

    /// Reads the header of a frame.
    ///
    /// # Errors
    /// [`SceneError::Frame`] when `frame` does not begin with a header of this version.
    pub fn parse(frame: &[u8]) -> Result<Self, SceneError> {
        let header = frame
            .first_chunk::<HEADER_BYTES>()
            .ok_or(SceneError::Frame("it is shorter than a header of 48 bytes"))?;
        if header[..4] != MAGIC || header[4] != VERSION {
            return Err(SceneError::Frame("it does not begin with GVZ1, version 1"));
        }
        let kind = Kind::from_byte(header[5]).ok_or(SceneError::Frame("its kind is unknown"))?;
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let float = |at: usize| f32::from_bits(word(at));
        Ok(Self {
            kind,
            flags: u16::from_le_bytes([header[6], header[7]]),
            epoch: word(8),
            seq: word(12),
            base_seq: word(16),
            first: word(20),
            count: word(24),
            stride: word(28),
            bounds: Bounds { x0: float(32), y0: float(36), sx: float(40), sy: float(44) },
        })
    }

    /// The elements of the frame, in payload order.
    pub fn elements(&self) -> impl Iterator<Item = u64> {
        let (first, stride) = (u64::from(self.first), u64::from(self.stride.max(1)));
        (0..u64::from(self.count)).map(move |i| first + i * stride)
    }
}

/// A buffer that already holds `header`, with room for `payload` bytes.
fn frame(header: &Header, payload: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + payload);
    header.write(&mut out);
    out
}

/// The frame with its payload compressed, or the frame itself when that does not make it smaller.
#[must_use]
pub fn deflated(frame: &Bytes) -> Bytes {
    let Ok(mut header) = Header::parse(frame) else { return frame.clone() };
    if header.flags & flags::DEFLATE != 0 {
        return frame.clone();
    }
    header.flags |= flags::DEFLATE;
    let mut out = Vec::with_capacity(frame.len());
    header.write(&mut out);
    let mut encoder = DeflateEncoder::new(out, Compression::fast());
    let written = encoder.write_all(&frame[HEADER_BYTES..]).and_then(|()| encoder.finish());
    match written {
        Ok(out) if out.len() < frame.len() => out.into(),
        _ => frame.clone(),
    }
}

/// The payload of a frame, decompressed when its flags say so; at most `bytes_max` bytes.
fn payload(header: &Header, frame: &[u8], bytes_max: usize) -> Result<Vec<u8>, SceneError> {
    let raw = &frame[HEADER_BYTES..];
    if header.flags & flags::DEFLATE == 0 {
        return Ok(raw.to_vec());
    }
    let mut out = Vec::new();
    let limit = bytes_max as u64 + 1;
    DeflateDecoder::new(raw)
        .take(limit)
        .read_to_end(&mut out)
        .map_err(|_| SceneError::Frame("its payload is not valid deflate data"))?;
    if out.len() > bytes_max {
        return Err(SceneError::Frame("its payload is larger than its header allows"));
    }
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::Bits;

    const STAMP: Stamp = Stamp { epoch: 3, seq: 7, flags: flags::RUNNING };

    #[test]
    fn the_header_lies_where_the_protocol_says() {
        let header = Header {
            base_seq: 6,
            first: 2,
            stride: 5,
            ..Header::new(Kind::PosKey, STAMP, 9, Bounds { x0: 1.5, y0: -2.0, sx: 0.25, sy: 8.0 })
        };
        let bytes = frame(&header, 0);
        assert_eq!(bytes.len(), 48);
        assert_eq!(&bytes[..8], b"GVZ1\x01\x01\x02\x00");
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!([8, 12, 16, 20, 24, 28].map(word), [3, 7, 6, 2, 9, 5]);
        assert_eq!([32, 36, 40, 44].map(word), [1.5f32, -2.0, 0.25, 8.0].map(f32::to_bits));
        assert_eq!(Header::parse(&bytes).unwrap(), header);
        assert_eq!(header.elements().take(3).collect::<Vec<_>>(), [2, 7, 12]);
    }

    #[test]
    fn colours_sizes_labels_and_lists_come_back() {
        let rgba = [[1, 2, 3, 4], [5, 6, 7, 8]];
        let back = decode(&encode_color(STAMP, Axis::Edge, &rgba)).unwrap();
        assert_eq!(back.payload, Decoded::Color(Axis::Edge, rgba.to_vec()));
        assert!(chosen_of(&encode_color(STAMP, Axis::Node, &rgba)).is_empty());
        let many: Vec<[u8; 4]> = (0..70).map(|v| [v, 1, 2, 255]).collect();
        let chosen = Bits::new(70, &[0, 9, 63, 69]);
        let frame = encode_node_colors(STAMP, &many, &chosen);
        assert_eq!((colors_of(&frame), chosen_of(&frame)), (many.clone(), chosen));
        assert!(!has_some_colors(&frame));
        assert_eq!(decode(&frame).unwrap().payload, Decoded::Color(Axis::Node, many));
        let back = decode(&encode_size(STAMP, Axis::Node, &[9, 0, 255])).unwrap();
        assert_eq!(back.payload, Decoded::Size(Axis::Node, vec![9, 0, 255]));
        let labels = vec![(4, "žluť 🐎".to_owned()), (0, String::new())];
        let back = decode(&encode_labels(STAMP, &labels)).unwrap();
        assert_eq!(back.payload, Decoded::Labels(labels));
        let back = decode(&encode_list(STAMP, &[5, 2], &[[1.0, 1.0], [3.0, f32::NAN]])).unwrap();
        let Decoded::List(list) = back.payload else { panic!("no list") };
        assert_eq!((list[0].0, list[1]), (5, (2, ABSENT)));
        assert!((back.header.bounds.position(list[0].1)[0] - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_label_beyond_the_length_field_is_cut_between_characters() {
        let long = "é".repeat(40_000);
        let back = decode(&encode_labels(STAMP, &[(0, long)])).unwrap();
        let Decoded::Labels(labels) = back.payload else { panic!("no labels") };
        assert_eq!(labels[0].1, "é".repeat(32_767));
    }

    #[test]
    fn exact_positions_and_stripes_rebuild_the_picture() {
        let positions: Vec<[f32; 2]> = (0..21).map(|i| [i as f32, -0.5 * i as f32]).collect();
        let mut viewer = Viewer::default();
        viewer.apply(&encode_f32(STAMP, &positions)).unwrap();
        assert_eq!(viewer.positions, positions);
        viewer.positions.fill([f32::NAN; 2]);
        let quantized = Quantized::new(&positions);
        for first in 0..8 {
            let stripe = encode_stripe(STAMP, &quantized, first, 8);
            let last = Header::parse(&stripe).unwrap().flags & flags::LAST_STRIPE != 0;
            assert_eq!(last, first == 7);
            viewer.apply(&stripe).unwrap();
        }
        assert!(viewer.positions.iter().zip(&positions).all(|(a, b)| (a[0] - b[0]).abs() < 1e-3));
    }

    #[test]
    fn all_stripes_are_the_keyframe_that_deltas_refer_to() {
        let at = |tick: f32| -> Vec<[f32; 2]> {
            (0..1_000).map(|i| [(i * 37 % 101) as f32 + tick, (i * i % 89) as f32 - tick]).collect()
        };
        let mut encoder = PositionEncoder::new(3, true);
        let key = encoder.encode(&at(0.0), 4, flags::RUNNING).key;
        let delta = encoder.encode(&at(0.3), 5, flags::RUNNING).delta.unwrap();
        let stripes = striped(&key, 13).unwrap();
        assert_eq!(stripes.len(), 13);
        let mut whole = Viewer::default();
        whole.apply(&key).unwrap();
        let mut viewer = Viewer::default();
        viewer.positions = vec![[f32::NAN; 2]; 1_000];
        for (first, stripe) in stripes.iter().enumerate() {
            assert!(viewer.apply(&delta).is_err(), "before stripe {first}");
            viewer.apply(stripe).unwrap();
            let header = Header::parse(stripe).unwrap();
            assert_eq!((header.seq, header.epoch, header.stride), (4, 3, 13));
            assert_eq!(header.flags & flags::RUNNING, flags::RUNNING);
            assert_eq!(header.flags & flags::LAST_STRIPE != 0, first == 12);
        }
        assert_eq!(viewer.positions, whole.positions);
        for page in [&mut viewer, &mut whole] {
            page.apply(&delta).unwrap();
        }
        assert_eq!(viewer.positions, whole.positions);
        // One that is missing leaves no keyframe.
        let mut gap = Viewer::default();
        for stripe in [&stripes[0], &stripes[2]] {
            gap.apply(stripe).unwrap();
        }
        assert!(gap.apply(&delta).is_err());
        assert!(striped(&delta, 13).is_none() && striped(&stripes[0], 13).is_none());
        assert!(striped(&key, 0).is_none());
    }

    #[test]
    fn compression_is_marked_undone_and_skipped_where_it_does_not_help() {
        let plain = encode_size(STAMP, Axis::Node, &[7; 5000]);
        let small = deflated(&plain);
        assert!(small.len() < 200);
        assert_eq!(small[6] & 1, 1);
        assert_eq!(decode(&small).unwrap().payload, decode(&plain).unwrap().payload);
        assert_eq!(deflated(&small), small);
        let tiny = encode_size(STAMP, Axis::Node, &[1]);
        assert_eq!(deflated(&deflated(&tiny)), deflated(&tiny));
        let noise: Vec<u8> = (0..1000).map(|i| graphlume_types::hash::mix64(i) as u8).collect();
        let noisy = encode_size(STAMP, Axis::Node, &noise);
        assert!(deflated(&noisy).len() <= noisy.len());
    }

    #[test]
    fn broken_frames_are_errors_and_never_panics() {
        let whole = encode_labels(STAMP, &[(1, "abc".to_owned())]);
        for cut in 0..whole.len() {
            assert!(decode(&whole[..cut]).is_err(), "{cut} bytes");
        }
        let mut wrong = whole.to_vec();
        wrong.push(0);
        assert!(decode(&wrong).is_err());
        for (at, value) in [(0, b'X'), (4, 2), (5, 99), (6, 1), (54, 0xFF)] {
            let mut wrong = whole.to_vec();
            wrong[at] = value;
            assert!(decode(&wrong).is_err(), "byte {at}");
        }
        let huge = Header::new(Kind::PosKey, STAMP, u32::MAX, Bounds::UNIT);
        assert!(decode(&frame(&huge, 0)).is_err());
    }
}
