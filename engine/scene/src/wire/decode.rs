//! Reading frames back: the twin of the page's decoder, for tests and for command line clients.

use super::icons::{ICONS_PREFIX_BYTES, read_list};
use super::quantize::{ABSENT, Bounds};
use super::{Axis, Header, Kind, payload};
use crate::error::SceneError;
use crate::layer::IconLayer;

/// A frame in parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Its header, as it was.
    pub header: Header,
    /// Its payload.
    pub payload: Decoded,
}

/// A payload.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded {
    /// Quantised pairs.
    Key(Vec<[u16; 2]>),
    /// Steps from a keyframe, and the pairs of nodes whose steps did not fit.
    Delta {
        /// What one step stands for, in quantised units.
        step: f32,
        /// Steps of every node.
        steps: Vec<[i8; 2]>,
        /// Node index and pair.
        over: Vec<(u32, [u16; 2])>,
    },
    /// Exact positions.
    F32(Vec<[f32; 2]>),
    /// Node index and pair.
    List(Vec<(u32, [u16; 2])>),
    /// Which elements are visible, a bit for each, least significant first.
    Mask(Axis, Vec<u8>),
    /// RGBA, without the bits that [`super::chosen_of`] reads.
    Color(Axis, Vec<[u8; 4]>),
    /// Sizes or widths.
    Size(Axis, Vec<u8>),
    /// Node index and text.
    Labels(Vec<(u32, String)>),
    /// The group of every node on each level.
    Groups(Vec<Vec<u16>>),
    /// The quantised third coordinate of every node.
    Depth(Vec<u16>),
    /// Which icon each element shows, in the order of the wire.
    Icons(IconLayer),
}

/// Reads values off the front of a payload.
struct Reader<'a>(&'a [u8]);

const SHORT: SceneError = SceneError::Frame("its payload is shorter than its header says");

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Result<&'a [u8], SceneError> {
        let (head, rest) = self.0.split_at_checked(len).ok_or(SHORT)?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SceneError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*head)
    }

    fn u16(&mut self) -> Result<u16, SceneError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, SceneError> {
        self.array().map(u32::from_le_bytes)
    }

    fn f32(&mut self) -> Result<f32, SceneError> {
        self.array().map(f32::from_le_bytes)
    }

    fn pair(&mut self) -> Result<[u16; 2], SceneError> {
        Ok([self.u16()?, self.u16()?])
    }

    fn axis(&mut self) -> Result<Axis, SceneError> {
        match self.bytes(16)?[0] {
            0 => Ok(Axis::Node),
            1 => Ok(Axis::Edge),
            _ => Err(SceneError::Frame("its axis is neither nodes nor edges")),
        }
    }
}

/// Decompressed bytes that a payload may have for each element it announces; labels are the largest.
const ELEMENT_BYTES_MAX: usize = 6 + u16::MAX as usize;

/// Reads a frame.
///
/// # Errors
/// [`SceneError::Frame`] when the bytes are not a whole frame of a known kind.
pub fn decode(frame: &[u8]) -> Result<Frame, SceneError> {
    let header = Header::parse(frame)?;
    let n = header.count as usize;
    let bytes = payload(&header, frame, n.saturating_mul(ELEMENT_BYTES_MAX).saturating_add(64))?;
    let mut r = Reader(&bytes);
    let payload = match header.kind {
        Kind::PosKey => Decoded::Key((0..n).map(|_| r.pair()).collect::<Result<_, _>>()?),
        Kind::PosDelta => {
            let (step, num_over) = (r.f32()?, r.u32()?);
            let (xs, ys) = (r.bytes(n)?, r.bytes(n)?);
            let steps = xs.iter().zip(ys).map(|(x, y)| [*x as i8, *y as i8]).collect();
            let over = (0..num_over).map(|_| Ok((r.u32()?, r.pair()?)));
            Decoded::Delta { step, steps, over: over.collect::<Result<_, SceneError>>()? }
        }
        Kind::PosF32 => {
            let positions = (0..n).map(|_| Ok([r.f32()?, r.f32()?]));
            Decoded::F32(positions.collect::<Result<_, SceneError>>()?)
        }
        Kind::PosList => {
            let indices: Vec<u32> = (0..n).map(|_| r.u32()).collect::<Result<_, _>>()?;
            let listed = indices.into_iter().map(|i| Ok((i, r.pair()?)));
            Decoded::List(listed.collect::<Result<_, SceneError>>()?)
        }
        Kind::Mask => Decoded::Mask(r.axis()?, r.bytes(n.div_ceil(8))?.to_vec()),
        Kind::Color => {
            let has_bits = bytes.get(1) == Some(&super::attributes::CHOSEN);
            let axis = r.axis()?;
            let colors = (0..n).map(|_| r.array()).collect::<Result<_, _>>()?;
            // Which of them were chosen is read by `chosen_of`.
            r.bytes(if has_bits { n.div_ceil(8) } else { 0 })?;
            Decoded::Color(axis, colors)
        }
        Kind::Size => Decoded::Size(r.axis()?, r.bytes(n)?.to_vec()),
        Kind::Labels => {
            let label = |_| {
                let (index, len) = (r.u32()?, r.u16()?);
                let text = std::str::from_utf8(r.bytes(usize::from(len))?)
                    .map_err(|_| SceneError::Frame("a label is not valid UTF-8"))?;
                Ok((index, text.to_owned()))
            };
            Decoded::Labels((0..n).map(label).collect::<Result<_, SceneError>>()?)
        }
        Kind::Icons => Decoded::Icons(icons(&mut r, n)?),
        Kind::Depth => Decoded::Depth((0..n).map(|_| r.u16()).collect::<Result<_, _>>()?),
        Kind::Groups => {
            let levels = r.u32()?;
            r.bytes(12)?;
            let level = |_| (0..n).map(|_| r.u16()).collect::<Result<Vec<_>, _>>();
            Decoded::Groups((0..levels).map(level).collect::<Result<_, _>>()?)
        }
    };
    if r.0.is_empty() {
        Ok(Frame { header, payload })
    } else {
        Err(SceneError::Frame("its payload is longer than its header says"))
    }
}

fn icons(r: &mut Reader<'_>, n: usize) -> Result<IconLayer, SceneError> {
    let place = r.0.get(1).copied().ok_or(SHORT)?;
    let len = r.0.get(4..8).and_then(|b| b.first_chunk()).copied().map(u32::from_le_bytes);
    // The axis is the first of the bytes of the prefix.
    const { assert!(ICONS_PREFIX_BYTES == 16) };
    let axis = r.axis()?;
    let shown = (0..n).map(|_| r.u16()).collect::<Result<_, _>>()?;
    let list = r.bytes(len.ok_or(SHORT)? as usize)?;
    let (place, look) = read_list(place, list)
        .ok_or(SceneError::Frame("its place is unknown, or its list is not valid JSON"))?;
    Ok(IconLayer { axis, place, shown, look })
}

/// What a page knows of the positions after the frames it was sent.
#[derive(Debug, Clone, Default)]
pub struct Viewer {
    /// The last keyframe.
    key: Option<(u32, Bounds, Vec<[u16; 2]>)>,
    /// Stripes of one that is on its way: its number, the next stripe and the pairs so far.
    stripes: Option<(u32, u32, Vec<[u16; 2]>)>,
    /// Positions; NaN where there is none.
    pub positions: Vec<[f32; 2]>,
    /// The last frame applied.
    pub seq: u32,
}

impl Viewer {
    /// Applies a position frame; other kinds change nothing.
    ///
    /// # Errors
    /// [`SceneError::Frame`] when the bytes are no frame, or a delta refers to a keyframe that this
    /// viewer does not have.
    pub fn apply(&mut self, frame: &[u8]) -> Result<(), SceneError> {
        let Frame { header, payload } = decode(frame)?;
        match payload {
            Decoded::Key(pairs) if header.stride <= 1 => {
                self.positions = pairs.iter().map(|q| header.bounds.position(*q)).collect();
                self.key = Some((header.seq, header.bounds, pairs));
            }
            Decoded::Key(pairs) => self.stripe(&header, &pairs),
            Decoded::Delta { step, steps, over } => {
                let (seq, bounds, key) =
                    self.key.as_ref().ok_or(SceneError::Frame("a delta came before a keyframe"))?;
                if *seq != header.base_seq || key.len() != steps.len() {
                    return Err(SceneError::Frame("a delta refers to another keyframe"));
                }
                let moved = key.iter().zip(steps).map(|(q, d)| stepped(*bounds, *q, d, step));
                self.positions = moved.collect();
                let over: Vec<_> = over.into_iter().map(|(i, q)| (i, bounds.position(q))).collect();
                for (i, p) in over {
                    self.place(u64::from(i), p);
                }
            }
            Decoded::F32(positions) => self.positions = positions,
            Decoded::List(listed) => {
                for (i, q) in listed {
                    self.place(u64::from(i), header.bounds.position(q));
                }
            }
            _ => return Ok(()),
        }
        self.seq = header.seq;
        Ok(())
    }

    /// Stripes of one keyframe, when all have come, are that keyframe.
    fn stripe(&mut self, header: &Header, pairs: &[[u16; 2]]) {
        let Header { seq, bounds, first, stride, .. } = *header;
        if first == 0 {
            self.stripes = Some((seq, 0, Vec::new()));
        }
        for (i, q) in header.elements().zip(pairs) {
            self.place(i, bounds.position(*q));
        }
        let Some((of, next, all)) = &mut self.stripes else { return };
        if *of != seq || *next != first {
            // One is missing: what follows is no keyframe.
            self.stripes = None;
            return;
        }
        let end = header.elements().last().map_or(0, |i| i as usize + 1);
        if all.len() < end {
            all.resize(end, ABSENT);
        }
        for (i, q) in header.elements().zip(pairs) {
            all[i as usize] = *q;
        }
        *next += 1;
        if *next == stride {
            self.key = self.stripes.take().map(|(seq, _, all)| (seq, bounds, all));
        }
    }

    fn place(&mut self, index: u64, point: [f32; 2]) {
        if let Some(p) = self.positions.get_mut(index as usize) {
            *p = point;
        }
    }
}

/// Where a node of the keyframe is after a delta. Steps are fractions of quantised units, which are kept.
fn stepped(bounds: Bounds, q: [u16; 2], d: [i8; 2], step: f32) -> [f32; 2] {
    if q == ABSENT {
        return [f32::NAN; 2];
    }
    let axis = |q: u16, d: i8, o: f32, s: f32| {
        let steps = f64::from(q) + f64::from(d) * f64::from(step);
        (f64::from(o) + steps * f64::from(s)) as f32
    };
    [axis(q[0], d[0], bounds.x0, bounds.sx), axis(q[1], d[1], bounds.y0, bounds.sy)]
}
