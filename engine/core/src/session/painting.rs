//! The picture of a session over that of its dataset: columns that viewers colour and size by, and collections.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_scene::wire::{self, Axis, Stamp};
use graphlume_scene::{Members, Paint};
use graphlume_types::CancelToken;

use crate::context::EngineContext;
use crate::error::EngineError;
use crate::frames::{SceneFrames, packed, scene_frames, scene_of};
use crate::residency::Lease;
use crate::session::collection_set::{
    CollectionMembers, CollectionRender, CollectionRule, CollectionSet, CollectionSpec,
};
use crate::session::community_search;
use crate::session::drawn_picture::DrawnPicture;

/// What a picture is to show over the dataset's own.
pub(super) struct Changes<'a> {
    pub(super) set: &'a CollectionSet,
    /// The elements that are known.
    pub(super) members: HashMap<String, CollectionMembers>,
    /// Pictures made so far, this one included.
    pub(super) renderings: u32,
}

/// Finds what is not known and renders; on a reader, inside the CPU pool.
pub(super) fn render(
    lease: &Lease,
    base: Arc<SceneFrames>,
    changes: Changes<'_>,
    ctx: &EngineContext,
    cancel: &CancelToken,
) -> CollectionRender {
    let Changes { set, mut members, renderings } = changes;
    members.retain(|_, f| f.is_of(lease));
    search(lease, set, &mut members, ctx, cancel);
    // The base's own versions are 1 and 2, so every rendering of either differs from all others.
    let version = base.version.wrapping_add(renderings.wrapping_mul(2));
    let encoded = encoded(lease, set, version, ctx, cancel).unwrap_or_else(|error| {
        tracing::warn!(%error, "a picture is not coloured as asked");
        None
    });
    let under = encoded.as_ref().unwrap_or(base.as_ref());
    let rendered: Vec<(&Paint, &Members)> = set
        .specs
        .iter()
        .filter_map(|l| Some((&l.paint, members.get(&l.id)?.members.as_ref())))
        .collect();
    let nodes = wire::colors_of(&under.node_color);
    let chosen = wire::chosen_of(&under.node_color);
    let own_edges = under.edge_color.as_ref().map(|frame| wire::colors_of(frame));
    let has_own = own_edges.is_some();
    let topology = &lease.graph.topology;
    let painted = graphlume_scene::paint(
        topology,
        lease.order,
        (nodes, &chosen),
        own_edges,
        &rendered,
        &set.background,
    );
    let stamp = Stamp { epoch: base.epoch, seq: version, flags: 0 };
    let edges = painted.edges.unwrap_or_default();
    let edge_color = if has_own {
        wire::encode_color(stamp, Axis::Edge, &edges)
    } else {
        wire::encode_some_edge_colors(stamp, &edges)
    };
    let node_color = wire::encode_node_colors(stamp, &painted.nodes, &painted.chosen);
    let scene = SceneFrames {
        version,
        packed: packed([&node_color, &under.node_size]),
        node_color,
        edge_color: Some(edge_color),
        ..under.clone()
    };
    CollectionRender { revision: set.revision, base, members, scene: Arc::new(scene) }
}

/// Finds the members of the collections that are not known. Intersections may refer to each other, so those whose parts
/// are known come next, again and again.
fn search(
    lease: &Lease,
    set: &CollectionSet,
    members: &mut HashMap<String, CollectionMembers>,
    ctx: &EngineContext,
    cancel: &CancelToken,
) {
    loop {
        let ready = |rule: &CollectionRule| match rule {
            CollectionRule::Query(..) | CollectionRule::Rule(_) => true,
            CollectionRule::All(ids) => ids.iter().all(|id| members.contains_key(id)),
        };
        let open = set.specs.iter().filter(|l| !members.contains_key(&l.id));
        let ready: Vec<&CollectionSpec> = open.filter(|l| ready(&l.rule)).collect();
        let before = members.len();
        for spec in ready {
            match CollectionMembers::search(lease, &spec.rule, members, ctx, cancel) {
                Ok(one) => drop(members.insert(spec.id.clone(), one)),
                Err(error) => tracing::info!(%error, "a collection finds nothing in this graph"),
            }
        }
        if members.len() == before {
            return;
        }
    }
}

/// The picture with other columns for colours and sizes than those of the dataset; nothing where there are none.
fn encoded(
    lease: &Lease,
    set: &CollectionSet,
    version: u32,
    ctx: &EngineContext,
    cancel: &CancelToken,
) -> Result<Option<SceneFrames>, EngineError> {
    if set.encodings.is_empty() {
        return Ok(None);
    }
    let mut encodings = lease.encodings.changed(&set.encodings);
    let picture = DrawnPicture { lease, ctx, cancel };
    for name in set.encodings.values().filter_map(|e| e.get("attribute")?.as_str()) {
        if lease.nodes.as_ref().is_none_or(|nodes| nodes.column(name).is_none()) {
            let column = picture.derived(name).map_err(|e| EngineError::from_coded(&e))?;
            encodings.node_columns.extend(column);
        }
    }
    let communities = community_search::of(ctx, lease).ok();
    let of = communities.as_deref().map(Vec::as_slice);
    let scene = scene_of(&lease.graph, lease.nodes.as_ref(), &lease.edges, &encodings, of)?;
    let topology = &lease.graph.topology;
    Ok(Some(scene_frames(&scene, topology, lease.order, lease.facts.epoch, version)))
}
