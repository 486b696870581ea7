//! The view from afar (`shell/web/src/afar/afar.ts`): where nodes are too many to be told apart, communities are discs with
//! their names and numbers of nodes, and lines between them; and what is collapsed is a disc at every zoom.

pub(crate) mod apart;
pub(crate) mod collapsed;
pub(crate) mod groups;
pub(crate) mod level;

use crate::canvas::Canvas;
use crate::drawing::{Drawing, Names};
use crate::marks::{Blob, Halo, Mark, Text};
use crate::occupied::{Rect, Taken};
use crate::outlines::text::{Face, shorten};
use crate::settings::{Theme, text_color};
use level::Level;

/// Nodes above which a picture cannot show each of them apart.
pub const MANY: usize = 3_000;
/// Share of the picture that the discs of all groups take when everything is in view.
const AREA: f64 = 0.12;
/// Groups of each level at most: more have no room.
pub(crate) const MOST: [usize; 2] = [140, 600];
/// What is left of nodes and edges behind groups.
pub(crate) const CONTEXT: f64 = 0.4;
/// Least radius in pixels of a disc that stands for collapsed nodes.
const DISC_MIN: f64 = 11.0;
/// How far its second rim is from the first.
const RIM: f64 = 4.0;
/// How near to the background the inside of a disc is, so that names can be read on it.
const INSIDE: f32 = 0.45;
const FILL: f32 = 0.86;
/// Size of the number of nodes below a name.
const NUMBER: f32 = 10.5;
/// Letters of a name at most, and where a long one finds no room.
const LETTERS: [usize; 2] = [22, 11];
const HALO: f32 = 2.0;

/// A disc of the picture, in pixels of the page.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    /// The node that names it, or the name of collapsed nodes.
    named: Named,
    count: u32,
    at: [f32; 2],
    r: f32,
    opacity: f32,
    color: [f32; 3],
}

#[derive(Debug, Clone, PartialEq)]
enum Named {
    By(u32),
    As(String),
}

/// What is seen from afar in one picture.
#[derive(Debug, Default)]
pub(crate) struct Afar<'a> {
    levels: Vec<Level<'a>>,
    /// 0 where nodes are seen, 1 where groups are in their place.
    strength: f64,
    /// Lines and discs, the lowest first.
    blobs: Vec<Blob>,
    shown: Vec<Shown>,
}

/// The middle of a background and a colour, mixed.
fn mixed(a: [f32; 3], b: [f32; 3], share: f32) -> [f32; 3] {
    [0, 1, 2].map(|c| a[c] + (b[c] - a[c]) * share)
}

impl<'a> Afar<'a> {
    /// What a canvas shows from afar.
    pub(crate) fn of(canvas: &Canvas<'a>) -> Self {
        let (settings, back) = (canvas.settings, canvas.back[0]);
        let mut afar = Self::default();
        if settings.super_graph {
            afar.look(canvas, settings.theme);
        }
        if afar.strength > 0.0 {
            afar.add_levels(canvas);
        }
        afar.add_collapsed(canvas, settings.theme, back);
        for Shown { at, r, color, opacity, .. } in &afar.shown {
            let inside = mixed(*color, back, INSIDE);
            let (fill, rim) = (FILL * opacity, *opacity);
            afar.blobs.push(Blob::Disc { at: *at, r: *r, inside, around: *color, fill, rim });
        }
        afar
    }

    /// Finds groups, and how strongly each is shown.
    fn look(&mut self, canvas: &Canvas<'a>, theme: Theme) {
        let (drawing, view) = (canvas.drawing, &canvas.view);
        let [coarse, fine @ ..] = drawing.groups else { return };
        if drawing.positions.len() <= MANY {
            return;
        }
        let fit = view.scale / view.zoom;
        let area = AREA * view.sides[0] * view.sides[1] / (fit * fit);
        let mut coarse = Level::of(coarse, MOST[0], None, drawing, theme, area);
        // Among the few that filters leave, each is seen.
        if coarse.total as usize <= MANY {
            return;
        }
        let fine = fine.first().map(|of| {
            let mut fine = Level::of(of, MOST[1], Some(&coarse), drawing, theme, area);
            fine.look(Some(&coarse), view.scale, false);
            fine
        });
        coarse.look(None, view.scale, fine.is_some());
        let hidden: f64 = (0..coarse.groups.len())
            .map(|k| f64::from(coarse.groups[k].count) * coarse.closed(k, view.scale))
            .sum();
        self.strength = hidden / f64::from(coarse.total.max(1));
        self.levels = std::iter::once(coarse).chain(fine).collect();
    }

    fn add_levels(&mut self, canvas: &Canvas<'_>) {
        let view = &canvas.view;
        let sides = view.sides.map(|side| side as f32);
        for level in &self.levels {
            let at: Vec<[f32; 2]> =
                level.bodies.iter().map(|b| view.pixel64(b.at).map(|x| x as f32)).collect();
            let radius = |k: usize| (level.bodies[k].r * view.scale) as f32;
            let most = level.links.first().map_or(1, |link| link.count);
            for link in &level.links {
                let [a, b] = link.ends;
                let seen = level.shown[a].min(level.shown[b]) as f32;
                let line = between([at[a], at[b]], [radius(a), radius(b)]);
                if let Some(ends) = line.filter(|_| seen >= 0.02) {
                    let share = (f64::from(link.count) / f64::from(most)).sqrt() as f32;
                    let colors = link.ends.map(|k| level.groups[k].color);
                    let (opacity, width) = (seen * (0.12 + 0.5 * share), 0.8 + 7.0 * share);
                    self.blobs.push(Blob::Line { ends, colors, opacity, width });
                }
            }
            for (k, group) in level.groups.iter().enumerate() {
                let (opacity, r, at) = (level.shown[k] as f32, radius(k), at[k]);
                let is_in = (0..2).all(|c| (-r..=sides[c] + r).contains(&at[c]));
                if opacity >= 0.02 && is_in {
                    let named = Named::By(group.top);
                    let (count, color) = (group.count, group.color);
                    self.shown.push(Shown { named, count, at, r, opacity, color });
                }
            }
        }
    }

    /// Discs that stand for collapsed nodes: as large as those of communities at fit, and never small.
    fn add_collapsed(&mut self, canvas: &Canvas<'_>, theme: Theme, back: [f32; 3]) {
        let (drawing, view) = (canvas.drawing, &canvas.view);
        for disc in drawing.collapsed.map(|c| c.discs(drawing, theme)).unwrap_or_default() {
            let r = radius(disc.count, drawing.positions.len(), view.sides, view.zoom) as f32;
            let at = view.pixel64(disc.at).map(|x| x as f32);
            let color = disc.color;
            // A second rim tells it from a community.
            let around = color;
            self.blobs.push(Blob::Disc {
                at,
                r: r + RIM as f32,
                inside: back,
                around,
                fill: 1.0,
                rim: 1.0,
            });
            let named = Named::As(disc.name);
            self.shown.push(Shown { named, count: disc.count, at, r, opacity: 1.0, color });
        }
    }

    /// Groups named by nodes, each with its number of nodes, its place, its radius and its opacity.
    #[cfg(test)]
    pub(crate) fn showing(groups: &[(u32, u32, [f32; 2], f32, f32)]) -> Self {
        let group = |&(node, count, at, r, opacity): &(u32, u32, [f32; 2], f32, f32)| Shown {
            named: Named::By(node),
            count,
            at,
            r,
            opacity,
            color: [0.5; 3],
        };
        Self { shown: groups.iter().map(group).collect(), ..Self::default() }
    }

    /// What is left of the opacity of nodes and edges.
    pub(crate) fn left(&self) -> f64 {
        1.0 - self.strength * (1.0 - CONTEXT)
    }

    /// Whether a node is behind a group, which is named in its place.
    pub(crate) fn covers(&self, node: u32) -> bool {
        self.levels.iter().any(|level| level.index(node).is_some_and(|k| level.shown[k] > 0.4))
    }

    /// Lines and discs over the picture.
    pub(crate) fn marks(&self) -> impl Iterator<Item = Mark> + '_ {
        self.blobs.iter().map(|blob| Mark::Blob(*blob))
    }

    /// Names of the groups and numbers of their nodes where there is room, the largest first, and where they stand.
    pub(crate) fn names(
        &self,
        canvas: &Canvas<'_>,
        names: &dyn Names,
        obstacles: &[Rect],
    ) -> (Vec<Mark>, Vec<Rect>) {
        let (mut marks, mut places) = (Vec::new(), Vec::new());
        let [Some(plain), Some(bold)] = [Face::of(false), Face::of(true)] else {
            return (marks, places);
        };
        let style = &canvas.settings.labels;
        let color = style.color.unwrap_or_else(|| text_color(canvas.settings.theme));
        let sides = canvas.view.sides.map(|side| side as f32);
        let mut taken = Taken::new(obstacles.iter().copied());
        let mut order: Vec<&Shown> = self.shown.iter().filter(|g| g.opacity >= 0.25).collect();
        order.sort_by_key(|group| std::cmp::Reverse(group.count));
        for (group, name) in order.iter().zip(self::names(&order, names)) {
            if group.r < 6.0 {
                continue;
            }
            for letters in LETTERS {
                let name = shorten(&name, letters);
                let name = if style.any_script { Some(name) } else { bold.drawable(&name) };
                let Some(name) = name.filter(|name| !name.is_empty()) else { break };
                // As large as the disc is wide, within what can be read and does not shout.
                let wide = bold.width(&name);
                let size = (1.8 * group.r / wide.max(1e-3)).clamp(10.0, 17.0).round();
                let number = grouped(group.count);
                let widths = [wide * size, plain.width(&number) * NUMBER];
                let ([x, y], w) = (group.at, widths[0].max(widths[1]));
                let (up, down) = (size * 0.6 + 4.0, size * 0.6 + 9.0);
                let rect = [x - w / 2.0 - 2.0, y - up - 4.0, w + 4.0, up + down + 4.0];
                let is_in = (0..2).all(|c| rect[c] >= 0.0 && rect[c] + rect[c + 2] <= sides[c]);
                if !is_in || taken.meets(rect) {
                    continue;
                }
                taken.add(rect);
                places.push(rect);
                let halo = Some(Halo { width: HALO, ..Halo::of(canvas.back[0]) });
                let text = |text: String, at: [f32; 2], size: f32, bold: bool| {
                    let opacity = group.opacity;
                    Mark::Text(Text { text, at, size, bold, color, opacity, halo, turn: 0.0 })
                };
                marks.push(text(name, [x - widths[0] / 2.0, y - 5.0], size, true));
                let below = [x - widths[1] / 2.0, y + size * 0.6 + 2.0];
                marks.push(text(number, below, NUMBER, false));
                break;
            }
        }
        (marks, places)
    }
}

/// Radius in pixels of a disc that stands for `count` of so many nodes, at a zoom (1: all is in view).
fn radius(count: u32, nodes: usize, sides: [f64; 2], zoom: f64) -> f64 {
    let area = AREA * sides[0] * sides[1] * f64::from(count) / nodes.max(1) as f64;
    (area / std::f64::consts::PI).sqrt().max(DISC_MIN) * zoom.max(1.0).powf(0.55)
}

/// Discs of collapsed nodes as a fit sees them: their middles and how many nodes each stands for.
pub(crate) fn places(drawing: &Drawing<'_>) -> Vec<([f64; 2], u32)> {
    // The theme changes colours only.
    let discs = drawing.collapsed.map(|c| c.discs(drawing, Theme::Dark)).unwrap_or_default();
    discs.iter().map(|disc| (disc.at, disc.count)).collect()
}

/// How far in pixels a disc for `count` of so many nodes reaches with its rims, at a zoom.
pub(crate) fn reach(count: u32, nodes: usize, sides: [f64; 2], zoom: f64) -> f64 {
    radius(count, nodes, sides, zoom) + RIM
}

/// What groups are called, in their order.
fn names(groups: &[&Shown], names: &dyn Names) -> Vec<String> {
    /// Names that are asked for at a time.
    const ASKED: usize = 200;
    let tops: Vec<u32> = groups
        .iter()
        .filter_map(|group| match group.named {
            Named::By(node) => Some(node),
            Named::As(_) => None,
        })
        .collect();
    let mut found = tops.chunks(ASKED).flat_map(|some| names.of(some));
    let name = |group: &&Shown| match &group.named {
        Named::By(_) => found.next().unwrap_or_default(),
        Named::As(name) => name.clone(),
    };
    let line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    groups.iter().map(name).map(line).collect()
}

/// A number with a comma after every three digits.
pub(crate) fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + 3);
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The part of a line that no disc at its ends covers; `None` where nothing is left.
pub(crate) fn between([a, b]: [[f32; 2]; 2], r: [f32; 2]) -> Option<[[f32; 2]; 2]> {
    let run = [b[0] - a[0], b[1] - a[1]];
    let span = run[0].hypot(run[1]);
    let at = |t: f32| [a[0] + run[0] * t, a[1] + run[1] * t];
    (span > r[0] + r[1]).then(|| [at(r[0] / span), at(1.0 - r[1] / span)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_discs_and_numbers_have_commas() {
        assert_eq!(between([[0.0, 0.0], [10.0, 0.0]], [2.0, 3.0]), Some([[2.0, 0.0], [7.0, 0.0]]));
        assert_eq!(between([[0.0, 0.0], [5.0, 0.0]], [2.0, 3.0]), None);
        let shown = [7, 999, 1_000, 63_666, 1_234_567].map(grouped);
        assert_eq!(shown, ["7", "999", "1,000", "63,666", "1,234,567"]);
    }
}
