//! The names of a picture: which nodes would like one (`shell/web/src/scene/names.ts`, `picture/label-layer.ts`), and the marks
//! that they become.

pub(crate) mod edge_labels;
pub(crate) mod labels;

use crate::canvas::Canvas;
use crate::drawing::Names;
use crate::marks::{Halo, Mark, Text};
use crate::occupied::{Disc, Rect};
use crate::outlines::text::{Face, shorten};
use crate::settings::text_color;
use labels::{Candidate, DISC_MIN, Placed, Room, budget, place};

/// Nodes in view that are asked for their names, and how many of them for each name that there is room for.
const ASKED_MAX: usize = 200;
const WANTED_PER_LABEL: usize = 3;
/// Rank of the first name in view: behind the points of interest, which come with the graph.
const NEAR_RANK: usize = 100;
/// Letters of a name, beyond which it is cut in its middle.
const LETTERS_MAX: usize = 24;
/// Radius from which the name of a point of interest is bold.
const BOLD_FROM: f32 = 6.0;

/// Size of a name: 11 px for small nodes up to 17 px for large ones.
pub(crate) fn size_for(radius: f32) -> f32 {
    ((10.4 + 0.62 * radius).clamp(11.0, 17.0) * 2.0).round() / 2.0
}

/// Where nodes are that can be named.
fn in_view(canvas: &Canvas<'_>, node: u32) -> Option<[f32; 2]> {
    let at = canvas.at[node as usize];
    let is_in = (0..2).all(|c| (0.0..=canvas.view.sides[c]).contains(&f64::from(at[c])));
    (is_in && canvas.drawing.shows_node(node)).then_some(at)
}

/// The nodes in view that are asked for their names: the largest that are selected, and the largest of the others.
pub(crate) fn wanted(canvas: &Canvas<'_>, most: usize) -> Vec<u32> {
    let drawing = canvas.drawing;
    let mut found = largest(canvas, most, |v| drawing.left_of_node(v) == 1.0);
    if found.len() < most && drawing.selected.is_some() {
        found.extend(largest(canvas, most - found.len(), |v| drawing.left_of_node(v) < 1.0));
    }
    found
}

/// The largest nodes in view that `is_asked` says, the largest first.
fn largest(canvas: &Canvas<'_>, most: usize, is_asked: impl Fn(u32) -> bool) -> Vec<u32> {
    let sizes = canvas.drawing.node_size;
    let mut found: Vec<u32> = Vec::with_capacity(most);
    // In each size the first by index; sizes from the largest on.
    let mut last = 256;
    for v in canvas.order.iter().rev() {
        let size = usize::from(sizes[*v as usize]);
        if found.len() >= most && size < last {
            break;
        }
        last = size;
        if is_asked(*v) && in_view(canvas, *v).is_some() {
            found.push(*v);
        }
    }
    found.sort_by_key(|v| (std::cmp::Reverse(sizes[*v as usize]), *v));
    found.truncate(most);
    found
}

/// The names that find a place, the most important first; nodes that are covered by others have none.
pub(crate) fn placed(
    canvas: &Canvas<'_>,
    names: &dyn Names,
    obstacles: &[Rect],
    is_covered: impl Fn(u32) -> bool,
) -> Vec<Placed> {
    let style = &canvas.settings.labels;
    let faces = [Face::of(false), Face::of(true)];
    let [Some(plain), Some(bold)] = faces else { return Vec::new() };
    let sides = canvas.view.sides;
    let wanted = wanted(canvas, ASKED_MAX.min(budget(sides) * WANTED_PER_LABEL));
    let texts = names.of(&wanted);
    let near = wanted.into_iter().zip(texts).enumerate().map(|(k, (v, t))| (v, t, NEAR_RANK + k));
    let known = names.known().iter().enumerate().map(|(k, (v, t))| (*v, t.clone(), k));
    let forced = |rank: usize| rank < style.must;
    let mut seen = std::collections::HashSet::new();
    let all = known.clone().filter(|(_, _, rank)| forced(*rank)).chain(near).chain(known);
    let candidate = |(node, text, rank): (u32, String, usize)| {
        let at = *canvas.at.get(node as usize)?;
        let is_out = !canvas.drawing.shows_node(node) || is_covered(node);
        if !seen.insert(node) || !at[0].is_finite() || is_out {
            return None;
        }
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = shorten(&line, LETTERS_MAX);
        let radius = canvas.diameter(node) / 2.0;
        let is_bold = forced(rank) && radius >= BOLD_FROM;
        // A name that the font lacks takes no room where letters are drawn; in texts it is one as others.
        let face = if is_bold { bold } else { plain };
        let text = if style.any_script { text } else { face.drawable(&text)? };
        let size = size_for(radius);
        // What is selected is named first.
        let is_selected = canvas.drawing.left_of_node(node) == 1.0;
        let must = forced(rank) && is_selected;
        (!text.is_empty()).then_some(Candidate {
            node,
            text,
            at,
            radius,
            rank,
            size,
            bold: is_bold,
            must,
            is_selected,
        })
    };
    let candidates: Vec<Candidate> = all.filter_map(candidate).collect();
    let discs = discs(canvas);
    let room = Room { sides, obstacles, discs: &discs };
    let width = |c: &Candidate| (if c.bold { bold } else { plain }).width(&c.text) * c.size;
    place(candidates, &room, width)
}

/// The marks of these names, the most important on top.
pub(crate) fn marks(canvas: &Canvas<'_>, placed: Vec<Placed>) -> Vec<Mark> {
    let style = &canvas.settings.labels;
    let color = style.color.unwrap_or_else(|| text_color(canvas.settings.theme));
    let mut marks = Vec::with_capacity(placed.len());
    for label in placed.into_iter().rev() {
        let Candidate { node, text, size, bold, .. } = label.candidate;
        let opacity = style.opacity * canvas.drawing.left_of_node(node);
        if let Some(color) = style.plate {
            let h = size * 1.45;
            let rect = [label.at[0] - 5.0, label.at[1] - h / 2.0, label.width + 10.0, h];
            marks.push(Mark::Plate { rect, radius: 4.0, color, opacity });
        }
        let halo = style.plate.is_none().then(|| Halo::of(canvas.back[0]));
        let at = label.at;
        marks.push(Mark::Text(Text { text, at, size, bold, color, opacity, halo, turn: 0.0 }));
    }
    marks
}

/// Discs in view that are large enough to keep names of others off them.
pub(crate) fn discs(canvas: &Canvas<'_>) -> Vec<Disc> {
    let mut found = Vec::new();
    for node in canvas.order.iter().rev().copied() {
        let radius = canvas.diameter(node) / 2.0;
        if radius < DISC_MIN {
            break;
        }
        let (at, alpha) = (canvas.at[node as usize], canvas.colors[node as usize][3]);
        let is_near = |c: usize| (-radius..=canvas.view.sides[c] as f32 + radius).contains(&at[c]);
        if alpha > 0.0 && is_near(0) && is_near(1) {
            found.push(Disc { node, at, radius });
        }
    }
    found
}
