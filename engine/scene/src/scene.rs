//! The scene of a graph: encodings resolved to colours, sizes and labels.

use graphlume_graph::Graph;
use graphlume_table::Table;
use graphlume_types::{Notice, note};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::axes;
use crate::bind::{Cx, Source, context};
use crate::collection::Bits;
use crate::css::{self, Rgba, to_hex};
use crate::depth;
use crate::elements::{Axis, Side};
use crate::encodings::Encodings;
use crate::error::SceneError;
use crate::hues::{self, HUES, OTHER, RAMP};
use crate::icons;
use crate::labels::{Labels, candidates};
use crate::layer::{Anchor, IconLayer};
use crate::legend;
use crate::measure::{self, Measured};
use crate::paint;
use crate::painted::Painted;
use crate::sizes::{Sized, size_entry, sizes};
use crate::text::cut;
use crate::undrawn;

/// Everything that is drawn except the positions that a layout makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Colour and opacity of every node.
    pub node_rgba: Vec<[u8; 4]>,
    /// The nodes whose colour equals a built-in hue although the upload or a user gave it (a mapping, a colour column, a palette,
    /// a collection). On a light background pages and pictures replace built-in hues by darker ones; these nodes keep theirs.
    /// Colours of edges are never replaced.
    pub node_chosen: Bits,
    /// Diameter of every node in quarter pixels at fit, before the page's own point size.
    pub node_size: Vec<u8>,
    /// Colour and opacity of every edge by CSR position; `None` means a gradient of the nodes' colours. Where there are
    /// twice as many, those at the sources come first, then those at the destinations.
    pub edge_rgba: Option<Vec<[u8; 4]>>,
    /// Width of every edge by CSR position in sixteenths of a pixel; `None` means the page's default.
    pub edge_width: Option<Vec<u8>>,
    /// What the colours and sizes mean: `{node_color, node_size, edge_color?, edge_size?, node_opacity?, edge_opacity?,
    /// node_icon?, edge_icon?, blocks?}`.
    /// A colour is `{title, kind: categorical|continuous|none, entries: [{label, color, count}], stops:
    /// [{at, color}], min?, max?, scale?, more?}`, where `chosen` marks an entry like [`Scene::node_chosen`] does nodes; a size `{title, kind, min, max, scale}`.
    pub legend: Value,
    /// Nodes worth a label with their text, the most important first.
    pub label_candidates: Vec<(u32, String)>,
    /// Icons and badges, in the order in which they are drawn.
    pub icons: Vec<IconLayer>,
    /// Whether a label or a title of the edges is bound.
    pub edges_named: bool,
    /// What lies under the edges: `{axes: [...], map, origin?}` in places of the picture, with [`Scene::origin`] where it is
    /// not zero; a map is `{scale, x, y}`, with which degrees in Mercator's
    /// projection become places, or null.
    pub underlay: Value,
    /// Bound positions less the origin; NaN where the table has none.
    pub positions: Option<Vec<[f32; 2]>>,
    /// What was subtracted from bound coordinates that are far from zero, by axis: a place of the picture and this is a
    /// place of the data.
    pub origin: [f64; 2],
    /// The third coordinate of every node, NaN where it has none; `None` where there is no third dimension.
    pub depths: Option<Vec<f32>>,
    /// Bound edge weights by edge table row.
    pub edge_weights: Option<Vec<f32>>,
    /// What every node counts for in a layout by forces; `None` where no weight of nodes is bound: its degree + 1.
    pub node_masses: Option<Vec<f32>>,
    /// Importance of every node: the bound size, else the degree.
    pub importance: Vec<f32>,
    /// Whether communities would decide the colours of the nodes: nothing is bound and no column says
    /// what the nodes are.
    pub colors_by_community: bool,
    /// What was bound and is not shown as asked.
    pub notices: Vec<Notice>,
}

/// Resolves the encodings.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
/// use graphlume_graph::GraphSpec;
/// use graphlume_scene::{Encodings, build};
/// use graphlume_table::Table;
/// use graphlume_types::CancelToken;
///
/// let ends = |ends: Vec<i64>| Arc::new(Int64Array::from(ends)) as ArrayRef;
/// let kinds = Arc::new(StringArray::from(vec!["call", "mail"])) as ArrayRef;
/// let columns = [("src", ends(vec![1, 2])), ("dst", ends(vec![2, 3])), ("kind", kinds)];
/// let edges = Table::try_new(RecordBatch::try_from_iter(columns).unwrap()).unwrap();
/// let spec = GraphSpec {
///     edges: &edges,
///     source: "src",
///     destination: "dst",
///     nodes: None,
///     node: None,
/// };
/// let graph = graphlume_graph::build(&spec, &CancelToken::new()).unwrap();
///
/// let scene = build(&graph, None, &edges, &Encodings::default(), None)?;
/// assert_eq!(scene.node_rgba.len(), 3);
/// assert_eq!(scene.importance, [1.0, 2.0, 1.0], "without a size the degree is what counts");
/// # Ok::<(), graphlume_scene::SceneError>(())
/// ```
///
/// `communities` is the community of every node; while it is `None`, nodes that
/// communities would colour are coloured by degree.
///
/// # Errors
/// [`SceneError`] when the parts do not belong together; never because of an encoding.
pub fn build(
    graph: &Graph,
    nodes: Option<&Table>,
    edges: &Table,
    enc: &Encodings,
    communities: Option<&[u32]>,
) -> Result<Scene, SceneError> {
    check(graph, nodes, edges, communities)?;
    let mut cx = context(graph, nodes, Some(edges), enc);
    let labels = Labels::new(&cx);
    let t = &graph.topology;
    let degrees: Vec<f32> = (0..t.num_nodes()).map(|v| t.degree(v) as f32).collect();

    let sized = sizes(&mut cx, &degrees);
    let (mut painted, colors_by_community) =
        node_colors(&mut cx, communities, &labels, [&degrees, &sized.importance]);
    let opacity = measure::bound(&mut cx, Side::Node, "Opacity", "node_opacity");
    if let Some(opacity) = &opacity {
        fade(&mut painted.rgba, opacity);
    }
    let edge_opacity = measure::bound(&mut cx, Side::Edge, "Opacity", "edge_opacity");
    let edge = edge_colors(&mut cx, &painted.rgba, edge_opacity.as_ref());
    let (edge_weights, weights) = measure::edge_weights(&mut cx).unzip();
    let node_masses = measure::node_masses(&mut cx);
    // `edge_size` goes before `edge_weight`: only without it are edges as wide as their weights.
    let width = measure::bound(&mut cx, Side::Edge, "Size", "edge_size").or(weights);
    let edge_width = width.as_ref().map(measure::edge_widths);

    let mut legend = json!({"node_color": painted.legend, "node_size": sized.legend});
    if let Some(edge) = &edge {
        legend["edge_color"] = edge.legend.clone();
    }
    if let Some(width) = &width {
        legend["edge_size"] = size_entry(width, if width.mapped { "linear" } else { "sqrt" });
    }
    let icons = icons::layers(&mut cx);
    explain(&mut legend, [opacity, edge_opacity], &icons);
    let listed = [painted.listed.as_ref(), edge.as_ref().and_then(|e| e.listed.as_ref())];
    legend::extend(&mut cx, &mut legend, listed, &icons);
    let (positions, origin, axes) = placed(&mut cx);
    let Sized { wire, importance, .. } = sized.among(positions.as_deref());
    let depths = depth::depths(&mut cx);
    let edges_named = edges_named(&mut cx);
    let underlay = axes::underlay(&cx, axes, positions.as_ref(), origin);
    undrawn::tell(&mut cx);
    enc.notices.iter().for_each(|own| note(&mut cx.notices, own.clone()));
    Ok(Scene {
        label_candidates: candidates(&labels, &importance),
        node_rgba: painted.rgba,
        node_chosen: painted.chosen,
        node_size: wire,
        edge_rgba: edge.map(|e| e.rgba),
        edge_width,
        legend,
        icons,
        edges_named,
        underlay,
        positions,
        origin,
        depths,
        edge_weights,
        node_masses,
        importance,
        colors_by_community,
        notices: cx.notices,
    })
}

/// Bound places, what was subtracted from them, and the rows of axes among them.
fn placed(cx: &mut Cx<'_>) -> (Option<Vec<[f32; 2]>>, [f64; 2], Value) {
    let mut rows = axes::rows(cx);
    let places = measure::positions(cx, rows.iter().any(axes::is_ring));
    let (positions, origin) = match places {
        Some(places) => (Some(places.at), places.origin),
        None => (None, [0.0; 2]),
    };
    rows.iter_mut().for_each(|row| axes::centre(row, origin));
    (positions, origin, rows.into())
}

/// Colours of nodes: as bound, by a column `type`, by communities, or, while these are not known, by degree; and whether
/// communities decide. `by` has every node's degree and its importance.
fn node_colors(
    cx: &mut Cx<'_>,
    communities: Option<&[u32]>,
    labels: &Labels<'_>,
    by: [&[f32]; 2],
) -> (Painted, bool) {
    let type_column = type_column(cx);
    let [degrees, importance] = by;
    match (paint::bound(cx, Side::Node).or(type_column), communities) {
        (Some(painted), _) => (painted, false),
        (None, Some(c)) => (by_community(cx.graph, c, labels, importance), true),
        (None, None) => (by_degree(degrees), true),
    }
}

/// Adds what opacities and icons stand for; `opacities` are those of nodes and of edges.
fn explain(legend: &mut Value, opacities: [Option<Measured>; 2], icons: &[IconLayer]) {
    for (key, opacity) in ["node_opacity", "edge_opacity"].into_iter().zip(opacities) {
        if let Some(opacity) = opacity {
            legend[key] = size_entry(&opacity, "linear");
        }
    }
    for (axis, key) in [(Axis::Node, "node_icon"), (Axis::Edge, "edge_icon")] {
        let of = icons.iter().find(|l| l.axis == axis && l.place == Anchor::Icon);
        if let Some(icon) = of {
            legend[key] = json!({"title": icon.look["title"], "kind": "none"});
        }
    }
}

/// Whether a label or a title of the edges is bound to a column that is there; a notice where it is not.
fn edges_named(cx: &mut Cx<'_>) -> bool {
    ["edge_label", "edge_title"].into_iter().any(|binding| {
        let name = cx.edge.binding(binding);
        name.is_some_and(|name| cx.column(Side::Edge, name, "label").is_some())
    })
}

/// The parts must have been made from each other, or rows would be looked up that do not exist.
fn check(
    graph: &Graph,
    nodes: Option<&Table>,
    edges: &Table,
    communities: Option<&[u32]>,
) -> Result<(), SceneError> {
    let n = graph.topology.num_nodes() as usize;
    if let Some(given) = communities.map(<[u32]>::len).filter(|len| *len != n) {
        return Err(SceneError::CommunityLength { given, nodes: n });
    }
    if let Some(label) = communities.and_then(|c| c.iter().max()).filter(|m| **m as usize >= n) {
        return Err(SceneError::CommunityLabel { label: *label, nodes: n });
    }
    let last = graph.topology.out_row().par_iter().with_min_len(1 << 14).max();
    if let Some(row) = last.filter(|r| **r as usize >= edges.num_rows()) {
        let rows = edges.num_rows() as u64;
        return Err(SceneError::TableMismatch { table: "edges", row: u64::from(*row), rows });
    }
    let rows = nodes.map_or(0, Table::num_rows);
    let last = match &graph.node_row {
        Some(rows) => rows.iter().copied().filter(|r| *r != u32::MAX).max(),
        None => graph.nodes_in_table.checked_sub(1),
    };
    match last.filter(|r| *r as usize >= rows) {
        Some(row) => Err(SceneError::TableMismatch {
            table: "nodes",
            row: u64::from(row),
            rows: rows as u64,
        }),
        None => Ok(()),
    }
}

/// Values of a column called `type` that say what a node is: at least two, and few enough to read.
const TYPE_VALUES: std::ops::RangeInclusive<usize> = 2..=24;

fn type_column(cx: &Cx<'_>) -> Option<Painted> {
    let source: Source<'_> = cx.nodes?.column("type").and_then(|_| cx.node_column("type"))?;
    graphlume_table::TextColumn::try_new(&source.array)?;
    let found = graphlume_graph::distinct(&source.array)?;
    TYPE_VALUES.contains(&found.first_rows.len()).then(|| paint::categorical(&source))?
}

fn by_degree(degrees: &[f32]) -> Painted {
    let most = degrees.iter().copied().fold(0.0, f32::max).max(1.0);
    let color = |d: &f32| css::ramp(&RAMP, f64::from(d / most).sqrt());
    let last = (RAMP.len() - 1) as f64;
    let stop = |(i, c): (usize, &Rgba)| json!({"at": i as f64 / last, "color": to_hex(*c)});
    let legend = json!({
        "title": "degree", "kind": "continuous", "entries": [],
        "stops": RAMP.iter().enumerate().map(stop).collect::<Vec<_>>(),
        "min": 0, "max": most, "scale": "sqrt",
    });
    let rgba = degrees.par_iter().map(color).collect();
    Painted { rgba, chosen: Bits::default(), legend, listed: None }
}

/// Communities that the legend lists.
const COMMUNITIES_LISTED: usize = 11;
/// Where the nodes without neighbours come in that list: among those that are shown at first.
const ALONE_AT: usize = 5;
/// Characters of a community's name.
const COMMUNITY_CHARS_MAX: usize = 24;

/// Colours by community; each is called after its most important node. Nodes without neighbours are grey.
fn by_community(
    graph: &Graph,
    communities: &[u32],
    labels: &Labels<'_>,
    importance: &[f32],
) -> Painted {
    let found = hues::of_communities(&graph.topology, communities);
    let hue = |c: u32| HUES[usize::from(found.hues[c as usize]) % HUES.len()];
    let mut centers: Vec<Option<u32>> = vec![None; found.sizes.len()];
    let t = &graph.topology;
    for (v, c) in communities.iter().enumerate() {
        let center = &mut centers[*c as usize];
        if center.is_none_or(|best| importance[v] > importance[best as usize]) {
            *center = Some(v as u32);
        }
    }
    let listed = found.by_size.iter().take(COMMUNITIES_LISTED);
    let entry = |c: &u32| {
        let name = centers[*c as usize].map(|v| cut(&labels.full(v), COMMUNITY_CHARS_MAX));
        let count = found.sizes[*c as usize];
        json!({"label": name, "color": to_hex(hue(*c)), "count": count, "community": c})
    };
    let more = found.by_size.len().saturating_sub(COMMUNITIES_LISTED);
    let mut entries: Vec<Value> = listed.map(entry).collect();
    if found.alone > 0 {
        let alone = json!({"label": "no edges", "color": to_hex(OTHER), "count": found.alone});
        entries.insert(entries.len().min(ALONE_AT), alone);
    }
    let legend = json!({
        "title": "community", "kind": "categorical", "entries": entries, "stops": [], "more": more,
    });
    let color = |(v, c): (usize, &u32)| if hues::is_alone(t, v as u32) { OTHER } else { hue(*c) };
    let rgba = communities.par_iter().enumerate().with_min_len(1 << 13).map(color).collect();
    Painted { rgba, chosen: Bits::default(), legend, listed: None }
}

/// Multiplies the opacities in.
fn fade(rgba: &mut [Rgba], opacity: &Measured) {
    rgba.par_iter_mut().zip(opacity.opacities()).with_min_len(1 << 12).for_each(|(c, o)| {
        c[3] = (u16::from(c[3]) * u16::from(o) / 255) as u8;
    });
}

/// Edge colours when something is bound that a gradient of the end colours cannot show.
fn edge_colors(cx: &mut Cx<'_>, node_rgba: &[Rgba], opacity: Option<&Measured>) -> Option<Painted> {
    let bound = paint::bound(cx, Side::Edge).or_else(|| end_colors(cx));
    let mut painted = match (bound, opacity) {
        (Some(painted), _) => painted,
        (None, Some(_)) => {
            let legend = json!({"title": "ends", "kind": "none", "entries": [], "stops": []});
            let rgba = midway(cx.graph, node_rgba);
            Painted { rgba, chosen: Bits::default(), legend, listed: None }
        }
        (None, None) => return None,
    };
    if let Some(opacity) = opacity {
        let edges = cx.graph.topology.num_edges().max(1) as usize;
        painted.rgba.chunks_mut(edges).for_each(|end| fade(end, opacity));
    }
    Some(painted)
}

/// The colours bound to the two ends of an edge: those of all sources, then those of all destinations.
fn end_colors(cx: &mut Cx<'_>) -> Option<Painted> {
    let mut end = |binding: &str| {
        let name = cx.edge.binding(binding)?;
        let source = cx.column(Side::Edge, name, "colour")?;
        paint::automatic(&source)
    };
    let (src, dst) = (end("edge_source_color"), end("edge_destination_color"));
    match (src, dst) {
        (Some(src), Some(dst)) => {
            let legend = both_ends(src.legend, &dst.legend);
            // Entries of the sources come first, as they were.
            let rgba = [src.rgba, dst.rgba].concat();
            Some(Painted { rgba, chosen: Bits::default(), legend, listed: src.listed })
        }
        (one, other) => one.or(other),
    }
}

/// One legend for the colours of both ends: the classes of either, each once, as far as there is room.
fn both_ends(mut legend: Value, other: &Value) -> Value {
    if legend["title"] != other["title"] {
        legend["title"] = json!(format!("{} → {}", word(&legend["title"]), word(&other["title"])));
    }
    let (Some(entries), Some(others)) =
        (legend["entries"].as_array_mut(), other["entries"].as_array())
    else {
        return legend;
    };
    let own = entries.len();
    for entry in others {
        let same = |e: &Value| e["label"] == entry["label"] && e["color"] == entry["color"];
        if let Some(known) = entries[..own].iter().position(same) {
            let count = |e: &Value| e["count"].as_u64().unwrap_or(0);
            entries[known]["count"] = json!(count(&entries[known]) + count(entry));
        } else if entries.len() < paint::ENTRIES_MAX {
            entries.push(entry.clone());
        }
    }
    legend
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn midway(graph: &Graph, node_rgba: &[Rgba]) -> Vec<Rgba> {
    let t = &graph.topology;
    let of = |v: u32| node_rgba.get(v as usize).copied().unwrap_or(OTHER);
    let from = |v: u32| t.out_neighbors(v).iter().map(move |w| css::mix(of(v), of(*w), 0.5));
    (0..t.num_nodes()).into_par_iter().with_min_len(1 << 10).flat_map_iter(from).collect()
}
