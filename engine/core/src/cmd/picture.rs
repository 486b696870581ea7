//! The picture of a session, drawn here instead of in a browser.

mod legend;

use std::sync::Arc;

use bytes::Bytes;
use graphlume_facets::{FilterSet, Filtered, Rule};
use graphlume_raster::{
    Background, Collapsed, Drawing, EdgeNames, Format, Names, RasterError, Settings, Theme,
    Underlay,
};
use graphlume_scene::wire::{self, Decoded, chosen_of, colors_of, has_some_colors, sizes_of};
use graphlume_scene::{Bits, IconLayer, backdrop};
use graphlume_types::CancelToken;

use crate::cmd::facets::Parts;
use crate::cmd::read::{check_epoch, read_for_picture};
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::frames::SceneFrames;
use crate::messages::CollectionList;
use crate::residency::Lease;
use crate::target::Target;

/// Bytes of working memory for each node, each edge and each pixel: positions, places, colours, the drawing order, groups
/// and where collapsed nodes were gathered; ends and colours; the compressed file, which is seldom a quarter of it.
const NODE_BYTES: u64 = 66;
const EDGE_BYTES: u64 = 16;
const PIXEL_BYTES: u64 = 4;

/// What a picture has to show.
#[derive(Debug, Clone, Default)]
pub struct PictureRequest {
    /// Size, window, background and look.
    pub settings: Settings,
    /// Whether background and palette are those that the dataset binds, where it does.
    pub follows_dataset: bool,
    /// What is hidden.
    pub filters: Arc<FilterSet>,
    /// What is collapsed: the name of each disc and the nodes that it stands for, the first of two on a node before the other.
    pub collapsed: Arc<Vec<(String, Arc<Rule>)>>,
    /// What kind of file it is.
    pub format: Format,
    /// The frame of the groups, as [`EngineHandle::groups_of_picture`](crate::EngineHandle::groups_of_picture) finds it.
    pub groups: Option<Bytes>,
    /// Whether nodes are named.
    pub names: bool,
    /// Whether it says what the colours mean.
    pub legend: bool,
    /// Nodes that stand out, from one index to another; without, all do.
    pub selected: Option<Vec<[u32; 2]>>,
}

/// The names of a graph.
struct Named<'a> {
    lease: &'a Lease,
    known: Vec<(u32, String)>,
}

impl Names for Named<'_> {
    fn known(&self) -> &[(u32, String)] {
        &self.known
    }

    fn of(&self, nodes: &[u32]) -> Vec<String> {
        let (graph, encodings) = (&self.lease.graph, &self.lease.encodings);
        graphlume_scene::node_names(graph, self.lease.nodes.as_ref(), encodings, nodes)
    }
}

impl EdgeNames for Named<'_> {
    fn of(&self, edges: &[u32]) -> Vec<String> {
        let (lease, nodes) = (self.lease, self.lease.nodes.as_ref());
        let positions: Vec<u32> = edges.iter().map(|e| lease.order.position(*e)).collect();
        let (graph, encodings) = (&lease.graph, &lease.encodings);
        graphlume_scene::edge_names(graph, nodes, &lease.edges, encodings, &positions)
    }
}

/// Asks for a picture of what a session shows, with positions that were asked for before.
pub(crate) struct Picture {
    pub(crate) target: Target,
    pub(crate) epoch: u32,
    /// An exact frame.
    pub(crate) positions: Bytes,
    pub(crate) request: Box<PictureRequest>,
    /// What is hidden and collapsed, where something is.
    pub(crate) parts: Option<Parts>,
}

impl Apply for Picture {
    type Answer = Bytes;
    type On = Engine;
    const NAME: &'static str = "picture";
    const PRIORITY: CommandPriority = CommandPriority::Batch;

    fn apply(self, engine: &mut Engine, call: Call<Bytes>) {
        let Self { target, epoch, positions, request, parts } = self;
        let found = engine.sessions.target(&target).and_then(|session| {
            let scene = session.broadcast.scene();
            let missing = || EngineError::NotLoaded(session.id.clone());
            let scene = scene.ok_or_else(missing)?;
            let mut underlay = Underlay::read(&scene.underlay);
            // A layout that has moved the nodes has moved them off the map.
            underlay.map = underlay.map.filter(|_| !session.is_displaced);
            Ok((session.dataset, scene, underlay, session.broadcast.collections()))
        });
        let memory = engine.residency.query_memory();
        match found {
            Ok((dataset, scene, underlay, collections)) => {
                read_for_picture(engine, "picture", dataset, call, move |lease, cancel| {
                    check_epoch(epoch, lease.facts.epoch)?;
                    check_epoch(epoch, scene.epoch)?;
                    let Parts { visible, collapsed, .. } = match parts {
                        Some(parts) => {
                            check_epoch(parts.epoch, lease.facts.epoch)?;
                            parts
                        }
                        None => Parts { epoch, visible: None, collapsed: Vec::new() },
                    };
                    let counted = cancel.with_memory(memory.share());
                    let shown = Shown {
                        scene: &scene,
                        underlay: &underlay,
                        positions: &positions,
                        groups: request.groups.as_deref(),
                        collapsed: &collapsed,
                        collections: &collections.list,
                    };
                    drawn(lease, shown, visible.as_ref(), &request, &counted)
                })
            }
            Err(e) => call.reply.send(Err(e)),
        }
    }
}

/// The settings with the background of the dataset, where they follow it.
fn backed(lease: &Lease, request: &PictureRequest) -> Settings {
    let settings = request.settings.clone();
    let bound = backdrop::of_metadata(&lease.facts.metadata).filter(|_| request.follows_dataset);
    let Some(color) = bound else { return settings };
    let theme = if backdrop::is_light(color) { Theme::Light } else { Theme::Dark };
    let background = match settings.background {
        Background::Theme => Background::Color(color),
        other => other,
    };
    Settings { theme, background, ..settings }
}

/// What a session shows.
#[derive(Clone, Copy)]
struct Shown<'a> {
    scene: &'a SceneFrames,
    underlay: &'a Underlay,
    /// An exact frame.
    positions: &'a [u8],
    /// The frame of the groups.
    groups: Option<&'a [u8]>,
    /// Names of discs, and the nodes that each stands for.
    collapsed: &'a [(String, Bits)],
    /// The message to the page about collections.
    collections: &'a CollectionList,
}

/// The nodes of a list of first and last ones.
fn selected(ranges: &[[u32; 2]], nodes: u32) -> Result<Bits, EngineError> {
    let unknown = ranges.iter().map(|[_, last]| *last).find(|last| *last >= nodes);
    if let Some(node) = unknown {
        return Err(EngineError::from_coded(&RasterError::Selected { node, nodes }));
    }
    Ok(Bits::of_ranges(nodes, ranges.to_vec()))
}

/// The group of every node on each level; those of another epoch tell nothing of these nodes.
fn levels_of(frame: Option<&[u8]>, epoch: u32) -> Vec<Vec<u16>> {
    match frame.map(wire::decode) {
        Some(Ok(frame)) if frame.header.epoch == epoch => match frame.payload {
            Decoded::Groups(levels) => levels,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The two ends of every edge, in drawn order.
fn ends_of(stream: &[u8]) -> Vec<[u32; 2]> {
    let pairs = stream.as_chunks::<8>().0.iter();
    pairs
        .map(|[a, b, c, d, e, f, g, h]| {
            [u32::from_le_bytes([*a, *b, *c, *d]), u32::from_le_bytes([*e, *f, *g, *h])]
        })
        .collect()
}

/// Draws what the frames say; on a reader, inside the CPU pool.
fn drawn(
    lease: &Lease,
    Shown { scene, underlay, positions, groups, collapsed, collections }: Shown<'_>,
    visible: Option<&Filtered>,
    request: &PictureRequest,
    cancel: &CancelToken,
) -> Result<Bytes, EngineError> {
    let mut settings = backed(lease, request);
    if request.legend {
        settings.legend = legend::read(&scene.legend, collections);
    }
    let known = match wire::decode(&scene.labels).map(|frame| frame.payload) {
        Ok(Decoded::Labels(known)) => known,
        _ => Vec::new(),
    };
    let icon = |frame: &Bytes| match wire::decode(frame).map(|frame| frame.payload) {
        Ok(Decoded::Icons(layer)) => Some(layer),
        _ => None,
    };
    let icons: Vec<IconLayer> = scene.icons.iter().filter_map(icon).collect();
    let named = Named { lease, known };
    let [nodes, edges] = [lease.facts.node_count, lease.facts.edge_count].map(u64::from);
    let pixels: u64 = settings.pixels().into_iter().map(u64::from).product();
    let bytes = nodes * NODE_BYTES + edges * EDGE_BYTES + pixels * PIXEL_BYTES;
    cancel.take(bytes)?;
    let frame = wire::decode(positions).map_err(|e| EngineError::from_coded(&e))?;
    let Decoded::F32(positions) = frame.payload else { return Err(EngineError::Dropped) };
    let node_rgba = colors_of(&scene.node_color);
    let node_chosen = chosen_of(&scene.node_color);
    // A frame without any colour has the page forget those that it had.
    let edge_color =
        scene.edge_color.as_ref().map(|frame| (colors_of(frame), has_some_colors(frame)));
    let edge_color = edge_color.filter(|(colors, _)| !colors.is_empty());
    let ends = ends_of(&lease.edge_stream());
    let groups = levels_of(groups, lease.facts.epoch);
    let selected = request.selected.as_deref().map(|nodes| selected(nodes, lease.facts.node_count));
    let selected = selected.transpose()?;
    let size_title = scene.legend.pointer("/node_size/title").and_then(|title| title.as_str());
    let drawing = Drawing {
        positions: &positions,
        node_rgba: &node_rgba,
        node_chosen: Some(&node_chosen),
        node_size: sizes_of(&scene.node_size),
        ends: &ends,
        edge_rgba: edge_color.as_ref().map(|(colors, _)| colors.as_slice()),
        edge_rgba_some: edge_color.as_ref().is_some_and(|(_, some)| *some),
        edge_width: scene.edge_size.as_ref().map(|frame| sizes_of(frame)),
        visible: visible.map(|v| [&v.nodes, &v.edges]),
        is_given: lease.facts.has_positions,
        names: request.names.then_some(&named),
        edge_names: (request.names && scene.edges_named).then_some(&named as &dyn EdgeNames),
        underlay: Some(underlay),
        icons: &icons,
        collapsed: None,
        selected: selected.as_ref(),
        groups: &groups,
        // A legend of sizes that names the degree is that of a dataset that binds none.
        sizes_bound: !scene.legend["node_size"].is_null() && size_title != Some("degree"),
    };
    let collapsed = (!collapsed.is_empty()).then(|| Collapsed::of(collapsed, &drawing));
    let drawing = collapsed.as_ref().map_or(drawing, |collapsed| collapsed.applied(drawing));
    let file = request.format.draw(&drawing, &settings, cancel);
    Ok(file.map_err(|e| EngineError::from_coded(&e))?.into())
}
