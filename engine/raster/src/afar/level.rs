//! One level of groups (`shell/web/src/afar/level.ts`): which there are, where they stand, what joins them, how dense their
//! nodes lie, and how strongly each is shown at a scale.

use super::apart::{Body, set_apart};
use super::groups::{Elements, Group, Link, Spread, groups_of, links_of, places_in, spreads};
use crate::drawing::Drawing;
use crate::settings::Theme;

/// Pixels between neighbouring nodes at which they begin to be told apart, and at which all are.
const APART: [f64; 2] = [3.0, 6.0];
/// Radius in pixels at which a group begins to give way to the groups in it, and at which it has.
const LARGE: [f64; 2] = [80.0, 115.0];
/// Lines a group, of which the strongest are drawn.
const LINKS_EACH: usize = 3;

/// One level of groups.
#[derive(Debug)]
pub(crate) struct Level<'a> {
    of: &'a [u16],
    pub(crate) groups: Vec<Group>,
    pub(crate) links: Vec<Link>,
    /// Discs in graph units, none on another.
    pub(crate) bodies: Vec<Body>,
    spreads: Vec<Spread>,
    /// Graph units between neighbouring nodes in the middle of each group.
    pub(crate) spacing: Vec<f64>,
    /// How strongly each group is shown, 0 to 1.
    pub(crate) shown: Vec<f64>,
    /// The group of the level above that each group lies in.
    pub(crate) parents: Vec<Option<usize>>,
    /// Visible nodes in groups.
    pub(crate) total: u32,
    place: Vec<i32>,
}

fn smooth([from, to]: [f64; 2], x: f64) -> f64 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

impl<'a> Level<'a> {
    /// At most `most` groups, with `area` square graph units for the discs of all. `of` has the group of every node.
    pub(crate) fn of(
        of: &'a [u16],
        most: usize,
        above: Option<&Self>,
        drawing: &Drawing<'_>,
        theme: Theme,
        area: f64,
    ) -> Self {
        let shows = |v: u32| drawing.shows_node(v);
        let groups = groups_of(of, Elements { drawing, theme, shows: &shows }, most, 2);
        let total: u32 = groups.iter().map(|group| group.count).sum();
        let parents = groups.iter().map(|group| above?.index(group.top)).collect();
        let spreads = spreads(of, &groups, drawing);
        let all = f64::from(above.map_or(total, |above| above.total).max(1));
        let body = |(group, spread): (&Group, &Spread)| {
            let r = (area * f64::from(group.count) / all / std::f64::consts::PI).sqrt();
            Body { at: spread.middle, r }
        };
        let mut level = Self {
            links: links_of(of, &groups, drawing, LINKS_EACH * groups.len()),
            bodies: groups.iter().zip(&spreads).map(body).collect(),
            spacing: Vec::new(),
            shown: vec![0.0; groups.len()],
            place: places_in(groups.iter().map(|group| group.id)),
            of,
            groups,
            spreads,
            parents,
            total,
        };
        match above {
            None => set_apart(&mut level.bodies),
            Some(above) => level.follow(above),
        }
        level.spacing = {
            let coarse = above.unwrap_or(&level);
            level.spreads.iter().map(|spread| coarse.spacing_at(spread.middle)).collect()
        };
        level
    }

    /// Groups in a group move with its disc, and apart from one another.
    fn follow(&mut self, above: &Self) {
        let mut families = vec![Vec::new(); above.groups.len()];
        for (k, parent) in self.parents.iter().enumerate() {
            let Some(parent) = *parent else { continue };
            for c in 0..2 {
                self.bodies[k].at[c] +=
                    above.bodies[parent].at[c] - above.spreads[parent].middle[c];
            }
            families[parent].push(k);
        }
        for family in families {
            let mut bodies: Vec<Body> = family.iter().map(|k| self.bodies[*k]).collect();
            set_apart(&mut bodies);
            family.iter().zip(bodies).for_each(|(k, body)| self.bodies[*k] = body);
        }
    }

    /// Graph units between neighbouring nodes at a place, from how the nodes of all groups are spread.
    fn spacing_at(&self, point: [f64; 2]) -> f64 {
        let density = |(group, spread): (&Group, &Spread)| {
            let far = spread.far.map(|s| if s == 0.0 { 1e-9 } else { s });
            let [dx, dy] = [0, 1].map(|c| (point[c] - spread.middle[c]) / far[c]);
            let most = f64::from(group.count) / (std::f64::consts::TAU * far[0] * far[1]);
            most * (-(dx * dx + dy * dy) / 2.0).exp()
        };
        let density: f64 = self.groups.iter().zip(&self.spreads).map(density).sum();
        1.0 / density.max(1e-300).sqrt()
    }

    /// How strongly each group is shown at a scale; with `below`, large ones give way to those in them.
    pub(crate) fn look(&mut self, above: Option<&Self>, scale: f64, below: bool) {
        for k in 0..self.groups.len() {
            let inside = match (above, self.parents[k]) {
                (Some(above), Some(parent)) => above.opened(parent, scale),
                (Some(_), None) => 0.0,
                (None, _) => 1.0,
            };
            let own = if below { 1.0 - self.opened(k, scale) } else { 1.0 };
            self.shown[k] = self.closed(k, scale) * inside * own;
        }
    }

    /// 1 where nodes of a group cannot be told apart, 0 where they can.
    pub(crate) fn closed(&self, k: usize, scale: f64) -> f64 {
        1.0 - smooth(APART, self.spacing[k] * scale)
    }

    fn opened(&self, k: usize, scale: f64) -> f64 {
        smooth(LARGE, self.bodies[k].r * scale)
    }

    /// The place in the list of the group of a node.
    pub(crate) fn index(&self, node: u32) -> Option<usize> {
        usize::try_from(self.place[usize::from(self.of[node as usize])]).ok()
    }
}
