//! Binary frames that viewers draw, in the wire format of the scene crate, encoded once for all of them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use graphlume_graph::{Graph, Topology};
use graphlume_scene::wire::{
    self, Axis, EncodedPositions, FrameSource, PositionEncoder, Quantized, Stamp, flags,
};
use graphlume_scene::{EdgeOrder, Encodings, IconLayer, Scene};
use graphlume_table::Table;
use rayon::prelude::*;
use serde_json::Value;

use crate::error::EngineError;

/// Smaller frames are not worth the time to compress them.
const DEFLATE_NODES_MIN: usize = 20_000;
/// Nodes up to which a frame at rest may be exact: twice the bytes, and looking whether that is needed takes some
/// milliseconds, also while a node of a graph at rest is dragged.
const EXACT_NODES_MAX: usize = 100_000;

/// Colours, sizes and labels as binary frames, encoded once for all viewers.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneFrames {
    /// Element-set version.
    pub epoch: u32,
    /// Grows whenever the colours change; 1 at first.
    pub version: u32,
    /// `COLOR` of the nodes.
    pub node_color: Bytes,
    /// `SIZE` of the nodes.
    pub node_size: Bytes,
    /// Both as they are sent: of many nodes compressed.
    pub(crate) packed: [Bytes; 2],
    /// `LABELS`.
    pub labels: Bytes,
    /// `COLOR` of the edges in drawn order, when they have colours of their own.
    pub edge_color: Option<Bytes>,
    /// `SIZE` (width) of the edges in drawn order, when they have widths of their own.
    pub edge_size: Option<Bytes>,
    /// `ICONS` of nodes and edges, in the order in which they are drawn.
    pub icons: Vec<Bytes>,
    /// Whether a label or a title of the edges is bound.
    pub edges_named: bool,
    /// What was subtracted from the coordinates of the data (see [`Scene::origin`]).
    pub origin: [f64; 2],
    /// What lies under the edges (see [`Scene::underlay`]).
    pub underlay: Value,
    /// What the colours and sizes mean.
    pub legend: Value,
}

impl SceneFrames {
    /// The binary frames in the order in which they are sent.
    pub fn frames(&self) -> impl Iterator<Item = &Bytes> {
        self.packed
            .iter()
            .chain([&self.labels])
            .chain(self.edge_color.as_ref())
            .chain(self.edge_size.as_ref())
            .chain(&self.icons)
    }
}

/// Nodes from which on a page gets its first positions in stripes; fewer are a fraction of a second on a slow link.
const STRIPED_NODES_MIN: u32 = 100_000;
/// Stripes of a key frame: of a million nodes each has some 300 KB.
const STRIPES: u32 = 13;

/// One set of positions, encoded once for all viewers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionFrame {
    /// Element-set version.
    pub epoch: u32,
    /// Number of the frame in its session; gaps are normal.
    pub seq: u32,
    /// The key frame that a delta refers to; equal to `seq` for a key frame.
    pub base_seq: u32,
    /// The binary frame.
    pub bytes: Bytes,
    /// The same cut into stripes, once a viewer has asked for them.
    stripes: OnceLock<Arc<[Bytes]>>,
}

impl PositionFrame {
    pub(crate) fn new(epoch: u32, seq: u32, base_seq: u32, bytes: Bytes) -> Self {
        Self { epoch, seq, base_seq, bytes, stripes: OnceLock::new() }
    }

    /// A key frame of many nodes as stripes, each a sample of the whole picture, for a viewer that shows nothing yet; empty
    /// where the frame is best sent whole. Cutting a million nodes takes a worker some 100 ms, once for all viewers.
    #[must_use]
    pub fn stripes(&self) -> Arc<[Bytes]> {
        let many = wire::Header::parse(&self.bytes).is_ok_and(|h| h.count >= STRIPED_NODES_MIN);
        if !many || !self.is_key() {
            return Arc::default();
        }
        let cut = || wire::striped(&self.bytes, STRIPES).unwrap_or_default().into();
        Arc::clone(self.stripes.get_or_init(cut))
    }

    /// Bytes held.
    pub(crate) fn held_bytes(&self) -> u64 {
        let stripes = self.stripes.get().map_or(0, |all| all.iter().map(Bytes::len).sum());
        (self.bytes.len() + stripes) as u64
    }

    /// Whether the frame stands on its own.
    #[must_use]
    pub const fn is_key(&self) -> bool {
        self.base_seq == self.seq
    }
}

/// How a frame is marked for the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameFlags {
    pub(crate) running: bool,
    pub(crate) settled: bool,
}

impl FrameFlags {
    const fn bits(self) -> u16 {
        let running = if self.running { flags::RUNNING } else { 0 };
        let settled = if self.settled { flags::SETTLED } else { 0 };
        running | settled
    }
}

/// Numbers and encodes the position frames of one session.
pub(crate) struct FrameEncoder {
    seq: u32,
    wire: Option<(u32, PositionEncoder)>,
}

impl FrameEncoder {
    /// Held per node: the last key frame as pairs, as bytes and in stripes, and the delta that is broadcast.
    pub(crate) const BYTES_PER_NODE: u64 = 4 + 4 + 4 + 2;

    /// Frames are numbered from `seq + 1` on.
    pub(crate) const fn new(seq: u32) -> Self {
        Self { seq, wire: None }
    }

    pub(crate) const fn seq(&self) -> u32 {
        self.seq
    }

    /// The frame of nodes at rest: exact where the steps of the other frames would put nodes on one another that are
    /// not, and the graph is small enough to be sent so.
    pub(crate) fn encode_at_rest(
        &mut self,
        positions: &[[f32; 2]],
        epoch: u32,
        key: bool,
        flags: FrameFlags,
    ) -> PositionFrame {
        let is_small = positions.len() <= EXACT_NODES_MAX;
        if !is_small || !Quantized::new(positions).merges(positions) {
            return self.encode(positions, epoch, key, flags);
        }
        // Steps of later frames are not from here.
        let (seq, _) = self.next(positions.len(), epoch, true);
        PositionFrame::new(epoch, seq, seq, self.exact(positions, epoch, flags))
    }

    /// The next frame; a key frame when `key`, and whenever the wire format calls for one.
    pub(crate) fn encode(
        &mut self,
        positions: &[[f32; 2]],
        epoch: u32,
        key: bool,
        flags: FrameFlags,
    ) -> PositionFrame {
        let (seq, wire) = self.next(positions.len(), epoch, key);
        finished(wire.encode(positions, seq, flags.bits()), epoch)
    }

    /// The same of positions that are on the device: what comes from there is what the stream sends.
    ///
    /// # Errors
    /// Those of the device; the next frame is then a key frame.
    pub(crate) fn encode_from<S: FrameSource>(
        &mut self,
        source: &mut S,
        epoch: u32,
        key: bool,
        flags: FrameFlags,
    ) -> Result<PositionFrame, S::Error> {
        let (seq, wire) = self.next(source.num_nodes(), epoch, key);
        Ok(finished(wire.encode_from(source, seq, flags.bits())?, epoch))
    }

    /// The number of the next frame, and what makes it.
    fn next(&mut self, nodes: usize, epoch: u32, key: bool) -> (u32, &mut PositionEncoder) {
        self.seq = self.seq.wrapping_add(1).max(1);
        if self.wire.as_ref().is_none_or(|(e, _)| *e != epoch) {
            let deflate = nodes >= DEFLATE_NODES_MIN;
            self.wire = Some((epoch, PositionEncoder::new(epoch, deflate)));
        }
        let (_, wire) = self.wire.get_or_insert((epoch, PositionEncoder::new(epoch, false)));
        if key {
            wire.force_key();
        }
        (self.seq, wire)
    }

    /// Exact positions, outside the numbering: for export and for pages at rest.
    pub(crate) fn exact(&self, positions: &[[f32; 2]], epoch: u32, flags: FrameFlags) -> Bytes {
        wire::encode_f32(Stamp { epoch, seq: self.seq, flags: flags.bits() }, positions)
    }
}

fn finished(made: EncodedPositions, epoch: u32) -> PositionFrame {
    let (seq, base_seq) = (made.seq, made.key_seq);
    PositionFrame::new(epoch, seq, base_seq, made.delta.unwrap_or(made.key))
}

/// What is drawn.
///
/// # Errors
/// Only when the parts do not belong together.
pub(crate) fn scene_of(
    graph: &Graph,
    nodes: Option<&Table>,
    edges: &Table,
    encodings: &Encodings,
    communities: Option<&[u32]>,
) -> Result<Scene, EngineError> {
    graphlume_scene::build(graph, nodes, edges, encodings, communities)
        .map_err(|e| EngineError::from_coded(&e))
}

/// Values by CSR position in drawn order.
fn drawn<T: Copy + Send + Sync>(values: &[T], order: EdgeOrder) -> Vec<T> {
    (0..order.len())
        .into_par_iter()
        .with_min_len(1 << 13)
        .map(|i| values[order.position(i) as usize])
        .collect()
}

/// Icons repeat: compressed, they are a small part.
fn icon_frame(layer: &IconLayer, stamp: Stamp, order: EdgeOrder) -> Bytes {
    let frame = match layer.axis {
        Axis::Edge => wire::encode_icons(stamp, layer, &drawn(&layer.shown, order)),
        Axis::Node => wire::encode_icons(stamp, layer, &layer.shown),
    };
    if layer.shown.len() < DEFLATE_NODES_MIN { frame } else { wire::deflated(&frame) }
}

/// Colours and sizes of nodes as they are sent. They repeat, and without them nothing is drawn, so that what they take is a
/// part of the wait for the first picture.
pub(crate) fn packed(frames: [&Bytes; 2]) -> [Bytes; 2] {
    frames.map(|frame| {
        let many = wire::Header::parse(frame).is_ok_and(|h| h.count as usize >= DEFLATE_NODES_MIN);
        if many { wire::deflated(frame) } else { frame.clone() }
    })
}

/// Encodes a scene once for all viewers.
pub(crate) fn scene_frames(
    scene: &Scene,
    topology: &Topology,
    order: EdgeOrder,
    epoch: u32,
    version: u32,
) -> SceneFrames {
    let stamp = Stamp { epoch, seq: version, flags: 0 };
    let m = topology.num_edges() as usize;
    let node_color = wire::encode_node_colors(stamp, &scene.node_rgba, &scene.node_chosen);
    let node_size = wire::encode_size(stamp, Axis::Node, &scene.node_size);
    let edge_rgba = scene.edge_rgba.as_ref().filter(|c| c.len() == m || c.len() == 2 * m);
    let in_order =
        |c: &[[u8; 4]]| c.chunks(m.max(1)).flat_map(|end| drawn(end, order)).collect::<Vec<_>>();
    let edge_width = scene.edge_width.as_ref().filter(|w| w.len() == m);
    SceneFrames {
        epoch,
        version,
        packed: packed([&node_color, &node_size]),
        node_color,
        node_size,
        labels: wire::encode_labels(stamp, &scene.label_candidates),
        edge_color: edge_rgba.map(|c| wire::encode_color(stamp, Axis::Edge, &in_order(c))),
        edge_size: edge_width.map(|w| wire::encode_size(stamp, Axis::Edge, &drawn(w, order))),
        icons: scene.icons.iter().map(|layer| icon_frame(layer, stamp, order)).collect(),
        edges_named: scene.edges_named,
        origin: scene.origin,
        underlay: scene.underlay.clone(),
        legend: scene.legend.clone(),
    }
}
