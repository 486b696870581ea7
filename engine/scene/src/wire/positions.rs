//! Frames that carry positions, except deltas.

use bytes::Bytes;

use super::{
    Bounds, Decoded, Frame, Header, Kind, Quantized, Stamp, decode, deflated, flags, frame,
};

fn put_pairs<'a>(out: &mut Vec<u8>, pairs: impl Iterator<Item = &'a [u16; 2]>) {
    for [x, y] in pairs {
        out.extend_from_slice(&x.to_le_bytes());
        out.extend_from_slice(&y.to_le_bytes());
    }
}

/// [`Kind::PosKey`]: all nodes, 4 bytes each.
#[must_use]
pub fn encode_key(stamp: Stamp, positions: &Quantized) -> Bytes {
    let n = positions.pairs.len();
    let header = Header::new(Kind::PosKey, stamp, n as u32, positions.bounds);
    let mut out = frame(&header, n * 4);
    put_pairs(&mut out, positions.pairs.iter());
    out.into()
}

/// [`Kind::PosKey`] of the nodes `first`, `first + stride`, ..., for links too slow for whole frames.
/// The stripe that ends the frame is marked.
///
/// # Panics
/// When `stride` is 0 or `first` is not below it.
#[must_use]
pub fn encode_stripe(stamp: Stamp, positions: &Quantized, first: u32, stride: u32) -> Bytes {
    assert!(first < stride, "stripe {first} of {stride}");
    let pairs = positions.pairs.iter().skip(first as usize).step_by(stride as usize);
    let last = if first + 1 == stride { flags::LAST_STRIPE } else { 0 };
    let stamp = Stamp { flags: stamp.flags | last, ..stamp };
    let header = Header {
        first,
        stride,
        ..Header::new(Kind::PosKey, stamp, pairs.len() as u32, positions.bounds)
    };
    let mut out = frame(&header, pairs.len() * 4);
    put_pairs(&mut out, pairs);
    out.into()
}

/// A keyframe cut into compressed stripes, each a sample of all of it: node `i` is in stripe `i` modulo their number, which is
/// best a prime, for what repeats among the nodes of a table seldom does so by one. `None` for other frames.
#[must_use]
pub fn striped(key: &Bytes, stripes: u32) -> Option<Vec<Bytes>> {
    let Frame { header, payload } = decode(key).ok()?;
    let Decoded::Key(pairs) = payload else { return None };
    if header.stride > 1 || stripes == 0 {
        return None;
    }
    let stamp =
        Stamp { epoch: header.epoch, seq: header.seq, flags: header.flags & !flags::DEFLATE };
    let positions = Quantized { bounds: header.bounds, pairs };
    let stripe = |first| deflated(&encode_stripe(stamp, &positions, first, stripes));
    Some((0..stripes).map(stripe).collect())
}

/// [`Kind::PosF32`]: exact positions of all nodes, 8 bytes each; NaN where there is none.
#[must_use]
pub fn encode_f32(stamp: Stamp, positions: &[[f32; 2]]) -> Bytes {
    let header = Header::new(Kind::PosF32, stamp, positions.len() as u32, Bounds::of(positions));
    let mut out = frame(&header, positions.len() * 8);
    for [x, y] in positions {
        out.extend_from_slice(&x.to_le_bytes());
        out.extend_from_slice(&y.to_le_bytes());
    }
    out.into()
}

/// [`Kind::PosList`]: the nodes `indices` at `positions`, within bounds of their own.
///
/// # Panics
/// When the slices differ in length.
#[must_use]
pub fn encode_list(stamp: Stamp, indices: &[u32], positions: &[[f32; 2]]) -> Bytes {
    assert_eq!(indices.len(), positions.len(), "every listed node has a position");
    let quantized = Quantized::new(positions);
    let header = Header::new(Kind::PosList, stamp, indices.len() as u32, quantized.bounds);
    let mut out = frame(&header, indices.len() * 8);
    for index in indices {
        out.extend_from_slice(&index.to_le_bytes());
    }
    put_pairs(&mut out, quantized.pairs.iter());
    out.into()
}
