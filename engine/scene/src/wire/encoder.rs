//! The stream of position frames: keyframes, and deltas against the last keyframe.

use bytes::Bytes;
use rayon::prelude::*;

use super::quantize::{ABSENT, Bounds, Extent, Quantized};
use super::{Header, Kind, Stamp, deflated, encode_key, frame};

/// Frames after a keyframe before the next one is due.
const DELTAS_MAX: u32 = 8;
/// Of how many nodes one may overflow into the side list.
const OVERFLOW_SHARE: usize = 100;
/// Differences looked at to choose the step.
const SAMPLES: usize = 8_192;
/// Share of them that the step should cover; a bit more than must be.
const COVERED: f64 = 0.992;
/// A step that covers every difference of 16 bits.
const STEP_MAX: f32 = 520.0;
/// Nodes encoded as one piece of work.
const CHUNK: usize = 1 << 14;

/// One position frame in the forms that viewers may need.
#[derive(Debug, Clone)]
pub struct EncodedPositions {
    /// Number of the frame.
    pub seq: u32,
    /// Number of the keyframe it builds on; equal to `seq` when the frame is a keyframe itself.
    pub key_seq: u32,
    /// That keyframe.
    pub key: Bytes,
    /// The steps from the keyframe, unless the frame is the keyframe.
    pub delta: Option<Bytes>,
}

impl EncodedPositions {
    /// What a viewer must be sent to see this frame, given the keyframe that it has: nothing more than
    /// the delta, or the keyframe first.
    pub fn parts_for(&self, has_key: Option<u32>) -> impl Iterator<Item = &Bytes> {
        let key = Some(&self.key).filter(|_| has_key != Some(self.key_seq) || self.delta.is_none());
        key.into_iter().chain(&self.delta)
    }
}

/// Makes the payloads of frames where the positions are, such as on a GPU.
pub trait FrameSource {
    /// Why that failed.
    type Error;

    /// Nodes of every frame.
    fn num_nodes(&self) -> usize;

    /// Where the nodes are.
    ///
    /// # Errors
    /// The source's own.
    fn extent(&mut self) -> Result<Extent, Self::Error>;

    /// The payload of a keyframe within `bounds`; later deltas are steps from it.
    ///
    /// # Errors
    /// The source's own.
    fn key(&mut self, bounds: Bounds) -> Result<Vec<u8>, Self::Error>;

    /// The payload of a delta from the last keyframe; `None` when a keyframe is due.
    ///
    /// # Errors
    /// The source's own.
    fn delta(&mut self) -> Result<Option<Vec<u8>>, Self::Error>;
}

/// Encodes a session's positions once for all viewers.
///
/// A delta refers to the last keyframe and not to the frame before it, so a viewer may skip any number
/// of frames as long as it has that keyframe.
#[derive(Debug)]
pub struct PositionEncoder {
    epoch: u32,
    deflate: bool,
    key: Option<Key>,
}

#[derive(Debug)]
struct Key {
    seq: u32,
    /// Without pairs when a [`FrameSource`] made the keyframe and keeps them.
    positions: Quantized,
    nodes: usize,
    bytes: Bytes,
    deltas: u32,
}

impl Key {
    /// Whether another delta may refer to this keyframe.
    fn serves(&self, nodes: usize, extent: Extent) -> bool {
        self.deltas < DELTAS_MAX && self.nodes == nodes && self.positions.bounds.fit_extent(extent)
    }

    fn is_made_here(&self) -> bool {
        self.positions.pairs.len() == self.nodes
    }
}

impl PositionEncoder {
    /// An encoder for one epoch; `deflate` compresses deltas (keyframes do not shrink).
    #[must_use]
    pub const fn new(epoch: u32, deflate: bool) -> Self {
        Self { epoch, deflate, key: None }
    }

    /// Makes the next frame a keyframe.
    pub fn force_key(&mut self) {
        self.key = None;
    }

    /// Encodes frame `seq`; `flags` are [`super::flags::RUNNING`] and [`super::flags::SETTLED`].
    /// `seq` must rise from call to call.
    pub fn encode(&mut self, positions: &[[f32; 2]], seq: u32, flags: u16) -> EncodedPositions {
        let stamp = Stamp { epoch: self.epoch, seq, flags };
        let extent = Extent::of(positions);
        if let Some(key) = &mut self.key
            && key.is_made_here()
            && key.serves(positions.len(), extent)
        {
            let now = Quantized::within(key.positions.bounds, positions);
            if let Some(delta) = encode_delta(stamp, key.seq, &key.positions, &now) {
                return key.followed_by(seq, delta, self.deflate);
            }
        }
        let positions = Quantized::within(Bounds::about(extent), positions);
        let (nodes, bytes) = (positions.pairs.len(), encode_key(stamp, &positions));
        self.key = Some(Key { seq, positions, nodes, bytes: bytes.clone(), deltas: 0 });
        EncodedPositions { seq, key_seq: seq, key: bytes, delta: None }
    }

    /// The same of positions that are elsewhere: the frames are those that [`Self::encode`] would make.
    ///
    /// # Errors
    /// Those of the source; the next frame is then a keyframe.
    pub fn encode_from<S: FrameSource>(
        &mut self,
        source: &mut S,
        seq: u32,
        flags: u16,
    ) -> Result<EncodedPositions, S::Error> {
        let stamp = Stamp { epoch: self.epoch, seq, flags };
        let (nodes, extent) = (source.num_nodes(), source.extent()?);
        if let Some(mut key) = self.key.take()
            && !key.is_made_here()
            && key.serves(nodes, extent)
            && let Some(payload) = source.delta()?
        {
            let base_seq = key.seq;
            let bounds = key.positions.bounds;
            let header = Header::new(Kind::PosDelta, stamp, nodes as u32, bounds);
            let delta = whole(&Header { base_seq, ..header }, &payload);
            let made = key.followed_by(seq, delta, self.deflate);
            self.key = Some(key);
            return Ok(made);
        }
        let bounds = Bounds::about(extent);
        let payload = source.key(bounds)?;
        let bytes = whole(&Header::new(Kind::PosKey, stamp, nodes as u32, bounds), &payload);
        let positions = Quantized { bounds, pairs: Vec::new() };
        self.key = Some(Key { seq, positions, nodes, bytes: bytes.clone(), deltas: 0 });
        Ok(EncodedPositions { seq, key_seq: seq, key: bytes, delta: None })
    }
}

impl Key {
    fn followed_by(&mut self, seq: u32, delta: Bytes, deflate: bool) -> EncodedPositions {
        self.deltas += 1;
        let delta = Some(if deflate { deflated(&delta) } else { delta });
        EncodedPositions { seq, key_seq: self.seq, key: self.bytes.clone(), delta }
    }
}

/// A frame of a payload that is there already.
fn whole(header: &Header, payload: &[u8]) -> Bytes {
    let mut out = frame(header, payload.len());
    out.extend_from_slice(payload);
    out.into()
}

/// The larger difference of a node that is placed in both frames.
fn difference(a: [u16; 2], b: [u16; 2]) -> Option<u16> {
    (a != ABSENT && b != ABSENT).then(|| a[0].abs_diff(b[0]).max(a[1].abs_diff(b[1])))
}

/// A step for the bytes of the delta: 1, which is exact, as long as the nodes move little.
fn choose_step(key: &[[u16; 2]], now: &[[u16; 2]]) -> f32 {
    let stride = key.len().div_ceil(SAMPLES).max(1);
    let pairs = key.iter().zip(now).step_by(stride);
    let mut sample: Vec<u16> = pairs.filter_map(|(a, b)| difference(*a, *b)).collect();
    sample.sort_unstable();
    let covered = (sample.len() as f64 * COVERED).ceil() as usize;
    let wanted = covered.checked_sub(1).map_or(0, |i| sample[i]);
    (f32::from(wanted) / 127.0).max(1.0)
}

/// [`Kind::PosDelta`]; `None` when more than a hundredth of the nodes do not fit a byte.
fn encode_delta(stamp: Stamp, base: u32, key: &Quantized, now: &Quantized) -> Option<Bytes> {
    let n = now.pairs.len();
    let mut step = choose_step(&key.pairs, &now.pairs);
    let mut planes = vec![0u8; 2 * n];
    let over = loop {
        let over = fill(&mut planes, step, &key.pairs, &now.pairs);
        if over.len() <= n / OVERFLOW_SHARE {
            break over;
        }
        if step >= STEP_MAX {
            return None;
        }
        step = (step * 1.5).min(STEP_MAX);
    };
    let header =
        Header { base_seq: base, ..Header::new(Kind::PosDelta, stamp, n as u32, key.bounds) };
    let mut out = frame(&header, 8 + planes.len() + over.len() * 8);
    out.extend_from_slice(&step.to_le_bytes());
    out.extend_from_slice(&(over.len() as u32).to_le_bytes());
    out.extend_from_slice(&planes);
    for (index, [x, y]) in over {
        out.extend_from_slice(&index.to_le_bytes());
        out.extend_from_slice(&x.to_le_bytes());
        out.extend_from_slice(&y.to_le_bytes());
    }
    Some(out.into())
}

/// Writes the x steps and then the y steps; answers the nodes that do not fit, which get step 0.
fn fill(planes: &mut [u8], step: f32, key: &[[u16; 2]], now: &[[u16; 2]]) -> Vec<(u32, [u16; 2])> {
    let (xs, ys) = planes.split_at_mut(now.len());
    let chunks = xs.par_chunks_mut(CHUNK).zip(ys.par_chunks_mut(CHUNK));
    let pairs = key.par_chunks(CHUNK).zip(now.par_chunks(CHUNK));
    let overs: Vec<Vec<(u32, [u16; 2])>> = chunks
        .zip(pairs)
        .enumerate()
        .map(|(c, ((xs, ys), (key, now)))| {
            let mut over = Vec::new();
            for (i, (a, b)) in key.iter().zip(now).enumerate() {
                let steps = steps(*a, *b, step);
                [xs[i], ys[i]] = steps.unwrap_or([0; 2]).map(|v| v as u8);
                if steps.is_none() {
                    over.push(((c * CHUNK + i) as u32, *b));
                }
            }
            over
        })
        .collect();
    overs.concat()
}

/// The steps from `a` to `b`; `None` when they do not fit, or only one of the two is a place.
fn steps(a: [u16; 2], b: [u16; 2], step: f32) -> Option<[i8; 2]> {
    if a == b {
        return Some([0; 2]);
    }
    if a == ABSENT || b == ABSENT {
        return None;
    }
    let axis = |a: u16, b: u16| {
        // Rounds half away from zero by hand: `round` is a call into the C library.
        let v = (f32::from(b) - f32::from(a)) / step;
        let v = (v + 0.5f32.copysign(v)) as i32;
        i8::try_from(v).ok().filter(|v| *v != i8::MIN)
    };
    Some([axis(a[0], b[0])?, axis(a[1], b[1])?])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_types::hash::unit_f64;

    use super::*;
    use crate::wire::{Decoded, Viewer, decode, flags};

    const N: usize = 3_000;
    /// Width of the cloud in [`start`], and what a page shows it at.
    const WIDTH: f32 = 1000.0;

    fn noise(stream: u64, i: usize) -> f32 {
        unit_f64(9, stream, i as u64) as f32 - 0.5
    }

    fn start() -> Vec<[f32; 2]> {
        (0..N).map(|i| [noise(0, i) * WIDTH, noise(1, i) * WIDTH]).collect()
    }

    /// Every node moves by up to `by`, inwards and outwards.
    fn moved(positions: &mut [[f32; 2]], tick: u64, by: f32) {
        for (i, p) in positions.iter_mut().enumerate() {
            p[0] = (p[0] + noise(10 + tick, i) * by).clamp(-WIDTH / 2.0, WIDTH / 2.0);
            p[1] = (p[1] + noise(20 + tick, i) * by).clamp(-WIDTH / 2.0, WIDTH / 2.0);
        }
    }

    fn worst(a: &[[f32; 2]], b: &[[f32; 2]]) -> f32 {
        assert_eq!(a.len(), b.len());
        let far = |(p, q): (&[f32; 2], &[f32; 2])| (p[0] - q[0]).abs().max((p[1] - q[1]).abs());
        a.iter().zip(b).map(far).fold(0.0, f32::max)
    }

    #[test]
    fn a_viewer_that_sees_every_frame_follows_the_layout() {
        let mut encoder = PositionEncoder::new(4, true);
        let (mut positions, mut viewer, mut key) = (start(), Viewer::default(), None);
        let mut deltas = 0;
        for seq in 1..60 {
            // Motion dies down as it does in a layout.
            moved(&mut positions, u64::from(seq), 60.0 / seq as f32);
            let frame = encoder.encode(&positions, seq, flags::RUNNING);
            for part in frame.parts_for(key) {
                viewer.apply(part).unwrap();
            }
            key = Some(frame.key_seq);
            deltas += u32::from(frame.delta.is_some());
            let bound = if seq < 10 { 0.62 } else { 0.1 };
            let error = worst(&positions, &viewer.positions);
            assert!(error <= bound, "frame {seq}: {error} px");
            assert_eq!(viewer.seq, seq);
        }
        assert!(deltas > 40, "{deltas} deltas");
    }

    /// A source as a GPU is one: it keeps the keyframe's pairs itself.
    struct Elsewhere {
        positions: Vec<[f32; 2]>,
        key: Option<Quantized>,
    }

    impl FrameSource for Elsewhere {
        type Error = std::convert::Infallible;

        fn num_nodes(&self) -> usize {
            self.positions.len()
        }

        fn extent(&mut self) -> Result<Extent, Self::Error> {
            let axis = |k: usize| self.positions.iter().map(move |p| p[k]);
            let (low, high) = (f32::INFINITY, f32::NEG_INFINITY);
            let [x0, y0] = [0, 1].map(|k| axis(k).fold(low, f32::min));
            let [x1, y1] = [0, 1].map(|k| axis(k).fold(high, f32::max));
            Ok(Extent::surveyed(Some([x0, y0, x1, y1]), &self.positions))
        }

        fn key(&mut self, bounds: Bounds) -> Result<Vec<u8>, Self::Error> {
            let key = self.key.insert(Quantized::within(bounds, &self.positions));
            Ok(key.pairs.iter().flatten().flat_map(|q| q.to_le_bytes()).collect())
        }

        fn delta(&mut self) -> Result<Option<Vec<u8>>, Self::Error> {
            let Some(key) = &self.key else { return Ok(None) };
            let now = Quantized::within(key.bounds, &self.positions);
            let frame = encode_delta(Stamp { epoch: 0, seq: 0, flags: 0 }, 0, key, &now);
            Ok(frame.map(|f| f[crate::wire::HEADER_BYTES..].to_vec()))
        }
    }

    #[test]
    fn frames_made_elsewhere_are_those_made_here() {
        let (mut here, mut there) = (PositionEncoder::new(4, true), PositionEncoder::new(4, true));
        let mut source = Elsewhere { positions: start(), key: None };
        let mut deltas = 0;
        for seq in 1..40 {
            moved(&mut source.positions, u64::from(seq), 60.0 / seq as f32);
            if seq == 20 {
                // Now and then a frame is made here after all: the next one elsewhere is a keyframe.
                let positions = source.positions.clone();
                assert!(there.encode(&positions, seq, 0).delta.is_none());
                here.force_key();
                here.encode(&positions, seq, 0);
                here.force_key();
                continue;
            }
            let want = here.encode(&source.positions, seq, flags::RUNNING);
            let got = there.encode_from(&mut source, seq, flags::RUNNING).unwrap();
            assert_eq!((got.seq, got.key_seq, &got.key), (want.seq, want.key_seq, &want.key));
            assert_eq!(got.delta, want.delta, "frame {seq}");
            deltas += u32::from(got.delta.is_some());
        }
        assert!(deltas > 25, "{deltas} deltas");
    }

    #[test]
    fn a_viewer_that_skips_frames_catches_up_with_what_it_is_given() {
        let mut encoder = PositionEncoder::new(1, false);
        let (mut positions, mut viewer, mut key) = (start(), Viewer::default(), None);
        for seq in 1..80u32 {
            moved(&mut positions, u64::from(seq), 2.0);
            let frame = encoder.encode(&positions, seq, 0);
            // Sees one frame in two, then one in five, then one in eleven.
            let every = [2, 5, 11][seq as usize / 27];
            if seq % every == 0 {
                frame.parts_for(key).for_each(|part| viewer.apply(part).unwrap());
                key = Some(frame.key_seq);
                assert!(worst(&positions, &viewer.positions) < 0.1, "frame {seq}");
            }
        }
    }

    #[test]
    fn small_motion_is_exact_to_the_quantisation_and_large_motion_to_the_step() {
        for by in [0.5, 20.0, 300.0] {
            let mut encoder = PositionEncoder::new(1, false);
            let mut positions = start();
            encoder.encode(&positions, 1, 0);
            moved(&mut positions, 1, by);
            let frame = encoder.encode(&positions, 2, 0);
            let delta = decode(&frame.delta.unwrap()).unwrap();
            let Decoded::Delta { step, over, .. } = delta.payload else { panic!("no delta") };
            assert!(over.len() <= N / 100);
            assert_eq!(step == 1.0, by < 1.0, "step {step} for {by}");
            let mut viewer = Viewer::default();
            viewer.apply(&frame.key).unwrap();
            let mut encoder = PositionEncoder::new(1, false);
            encoder.encode(&start(), 1, 0);
            viewer.apply(&encoder.encode(&positions, 2, 0).delta.unwrap()).unwrap();
            let unit = delta.header.bounds.sx.max(delta.header.bounds.sy);
            assert!(worst(&positions, &viewer.positions) <= unit * (0.51 + 0.51 * step) + 1e-4);
        }
    }

    #[test]
    fn the_few_that_jump_travel_in_the_side_list() {
        let mut encoder = PositionEncoder::new(1, false);
        let mut positions = start();
        let first = encoder.encode(&positions, 1, 0);
        for i in 0..N / 200 {
            positions[i * 7] = [noise(5, i) * WIDTH, noise(6, i) * WIDTH];
        }
        positions[1] = [f32::NAN; 2];
        let second = encoder.encode(&positions, 2, 0);
        let delta = second.delta.unwrap();
        let Decoded::Delta { step, over, .. } = decode(&delta).unwrap().payload else { panic!() };
        assert_eq!(step, 1.0);
        assert!(over.iter().any(|(i, q)| *i == 1 && *q == ABSENT));
        let mut viewer = Viewer::default();
        viewer.apply(&first.key).unwrap();
        viewer.apply(&delta).unwrap();
        assert!(viewer.positions[1][0].is_nan());
        positions.remove(1);
        viewer.positions.remove(1);
        assert!(worst(&positions, &viewer.positions) < 0.02);
    }

    #[test]
    fn a_keyframe_comes_every_ninth_time_and_when_asked_and_when_the_box_breaks() {
        let mut encoder = PositionEncoder::new(1, false);
        let mut positions = start();
        let mut is_key =
            |positions: &[[f32; 2]], seq| encoder.encode(positions, seq, 0).delta.is_none();
        let keys: Vec<u32> = (0..27).filter(|seq| is_key(&positions, *seq)).collect();
        assert_eq!(keys, [0, 9, 18]);
        assert!(is_key(&positions, 27));
        assert!(!is_key(&positions, 28));
        positions[0] = [WIDTH * 2.0, 0.0];
        assert!(is_key(&positions, 29), "a node left the box");
        let half: Vec<_> = positions.iter().map(|p| [p[0] * 0.3, p[1] * 0.3]).collect();
        assert!(is_key(&half, 30), "the box shrank");
        assert!(is_key(&half[1..], 31), "another number of nodes");
        encoder.force_key();
        assert!(encoder.encode(&half[1..], 32, 0).delta.is_none());
    }

    #[test]
    fn many_nodes_that_appear_at_once_need_a_keyframe() {
        let mut encoder = PositionEncoder::new(1, false);
        let mut positions = start();
        positions[..N / 2].fill([f32::NAN; 2]);
        encoder.encode(&positions, 1, 0);
        assert!(encoder.encode(&start(), 2, 0).delta.is_none());
    }

    #[test]
    fn a_delta_for_another_keyframe_is_refused() {
        let mut encoder = PositionEncoder::new(1, false);
        let positions = start();
        let first = encoder.encode(&positions, 1, 0);
        let delta = encoder.encode(&positions, 2, 0).delta.unwrap();
        let mut late = Viewer::default();
        assert!(late.apply(&delta).is_err());
        encoder.force_key();
        late.apply(&encoder.encode(&positions, 3, 0).key).unwrap();
        assert!(late.apply(&delta).is_err());
        assert_eq!(first.parts_for(Some(1)).count(), 1, "a keyframe frame is always sent");
    }

    #[test]
    fn empty_and_tiny_graphs_stream_too() {
        let mut encoder = PositionEncoder::new(1, true);
        for (seq, positions) in [vec![], vec![[1.0, 2.0]], vec![[1.0, 2.0]]].iter().enumerate() {
            let frame = encoder.encode(positions, seq as u32, 0);
            let mut viewer = Viewer::default();
            frame.parts_for(None).for_each(|part| viewer.apply(part).unwrap());
            assert!(worst(positions, &viewer.positions) < 1e-3);
        }
    }

    #[test]
    fn the_number_of_threads_does_not_show() {
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut encoder = PositionEncoder::new(1, true);
                let mut positions: Vec<[f32; 2]> =
                    (0..50_000).map(|i| [noise(0, i) * WIDTH, noise(1, i) * WIDTH]).collect();
                let first = encoder.encode(&positions, 1, 0);
                moved(&mut positions, 1, 30.0);
                (first.key, encoder.encode(&positions, 2, 0).delta.unwrap())
            })
        };
        assert_eq!(on(1), on(5));
    }
}
