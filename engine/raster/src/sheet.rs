//! The sheet of a picture: all that it is drawn from, found once for all of its rows.

use graphlume_types::CancelToken;

use crate::afar::Afar;
use crate::canvas::Canvas;
use crate::canvas::nodes::Dots;
use crate::canvas::strokes::{Arrow, Pen, Stroke};
use crate::drawing::Drawing;
use crate::edges::ink::Ink;
use crate::edges::lines::Lines;
use crate::edges::{direction, near, rare};
use crate::error::RasterError;
use crate::marks::Mark;
use crate::names::edge_labels;
use crate::occupied::{Disc, Taken};
use crate::panels::Panels;
use crate::settings::{Background, Settings, Theme};
use crate::tone::Tone;
use crate::underlay::{self, Under};
use crate::view::View;
use crate::{icons, names};

/// Arrow heads only where they can be told apart: so many for each step of zoom.
const ARROWS_MAX: f64 = 600.0;
/// Lines from which a curve has fewer pieces.
const MANY: usize = 5_000;
/// Edges of a selection that are drawn once more, and lines up to which they have arrow heads.
const SELECTED_EDGES_MAX: usize = 20_000;
const SELECTED_ARROWS_MAX: usize = 600;
/// Strength of edges on a light background, on which lines of the same width look heavier.
const LIGHT_INK: f64 = 0.5;

/// All that the rows are drawn from.
pub(crate) struct Sheet<'a> {
    pub(crate) canvas: Canvas<'a>,
    pub(crate) ink: Ink,
    /// Lines with soft rims; none where edges are too many.
    pub(crate) strokes: Option<Vec<Stroke>>,
    /// Pieces of one of them.
    pub(crate) pieces: usize,
    pub(crate) arrows: Vec<Arrow>,
    /// Lines of rare colours, drawn once more over the others.
    pub(crate) rare: Vec<Stroke>,
    pub(crate) rare_pieces: usize,
    pub(crate) rare_gain: f32,
    /// What is selected, drawn once more over all else.
    pub(crate) selected: Option<Selected>,
    /// Communities and collapsed nodes.
    pub(crate) afar: Afar<'a>,
    /// Lines under the edges.
    pub(crate) under: Vec<Under>,
    /// Labels of axes, icons, labels of edges, names, title and legend.
    pub(crate) marks: Vec<Mark>,
}

/// What of the selection is drawn over what is not selected.
pub(crate) struct Selected {
    /// Edges with both ends selected.
    pub(crate) strokes: Vec<Stroke>,
    pub(crate) pieces: usize,
    pub(crate) arrows: Vec<Arrow>,
    /// Many edges at once become a veil, so that each is fainter.
    pub(crate) gain: f32,
    /// The nodes, the smallest first.
    pub(crate) order: Vec<u32>,
}

impl<'a> Sheet<'a> {
    pub(crate) fn new(
        drawing: &'a Drawing<'a>,
        settings: &'a Settings,
        cancel: &CancelToken,
    ) -> Result<Self, RasterError> {
        let panels = Panels::of(settings);
        let view = View::of(drawing, settings, &panels.covered);
        cancel.check()?;
        let near = near::edges(drawing, &view);
        let lines = near.map(|edges| (edges.len(), Lines::of(edges.into_iter(), drawing)));
        cancel.check()?;
        // Parallel edges that share a line cost the ink of one.
        let drawn = lines.as_ref().filter(|(edges, _)| *edges > 0);
        let drawn = drawn.map_or(1.0, |(edges, lines)| lines.all.len() as f64 / *edges as f64);
        let ink = Ink::of(drawing, &view, drawn);
        let canvas = Canvas::new(drawing, settings, view, ink.fade);
        let afar = Afar::of(&canvas);
        let rare = rare_lines(drawing);
        let rare_gain = rare.as_ref().map_or(0.0, |(count, _)| rare::opacity(*count) - ink.alpha);
        let rare = rare.filter(|_| rare_gain > 0.0).map(|(_, lines)| lines);
        let bends = settings.look.curvature > 0.0 || canvas.bundle.is_some();
        let pieces = |lines: &Lines| match (lines.are_curved || bends, lines.all.len()) {
            (false, _) => 1,
            (true, count) if count > MANY => 8,
            (true, _) => 14,
        };
        let mut sheet = Self {
            ink,
            strokes: None,
            pieces: lines.as_ref().map_or(1, |(_, lines)| pieces(lines)),
            arrows: Vec::new(),
            rare: Vec::new(),
            rare_pieces: rare.as_ref().map_or(1, pieces),
            rare_gain: (rare_gain * settings.look.edge_opacity * afar.left()) as f32
                * drawing.dimmed(),
            selected: None,
            afar,
            under: Vec::new(),
            marks: Vec::new(),
            canvas,
        };
        let pen = Pen { width: 1.0 + 0.5 * ink.room as f32, fades: true };
        let strokes = lines.map(|(_, lines)| sheet.canvas.strokes(&lines, pen));
        cancel.check()?;
        if let Some(strokes) = &strokes
            && sheet.shows_arrows(strokes.len(), cancel)?
        {
            sheet.arrows = strokes.iter().filter_map(|s| sheet.canvas.arrow(s, ink.room)).collect();
        }
        sheet.strokes = strokes;
        if let Some(rare) = rare {
            sheet.rare = sheet.canvas.strokes(&rare, Pen { width: 1.0, fades: false });
        }
        cancel.check()?;
        sheet.selected = sheet.selected(pieces, cancel)?;
        cancel.check()?;
        sheet.mark(panels);
        Ok(sheet)
    }

    /// What is drawn once more because it is selected.
    fn selected(
        &self,
        pieces: impl Fn(&Lines) -> usize,
        cancel: &CancelToken,
    ) -> Result<Option<Selected>, RasterError> {
        let drawing = self.canvas.drawing;
        let Some(nodes) = drawing.selected else { return Ok(None) };
        let edges = (0..drawing.ends.len() as u32)
            .filter(|e| drawing.left_of_edge(*e) == 1.0 && drawing.shows_edge(*e))
            .take(SELECTED_EDGES_MAX);
        let lines = Lines::of(edges, drawing);
        let count = lines.all.len();
        let strength = (14.0 / (count as f32 + 1.0).sqrt()).clamp(0.16, 0.95);
        let strokes = self.canvas.strokes(&lines, Pen { width: 1.4, fades: false });
        let has_arrows = count <= SELECTED_ARROWS_MAX && self.shows_arrows(count, cancel)?;
        let arrow =
            |stroke: &Stroke| self.canvas.arrow(stroke, self.ink.room).filter(|_| has_arrows);
        Ok(Some(Selected {
            pieces: pieces(&lines),
            arrows: strokes.iter().filter_map(arrow).collect(),
            strokes,
            gain: strength * (self.canvas.settings.look.edge_opacity * self.afar.left()) as f32,
            order: self.canvas.order.iter().copied().filter(|v| nodes.contains(*v)).collect(),
        }))
    }

    /// Finds what lies under the edges and over the nodes.
    fn mark(&mut self, panels: Panels) {
        let canvas = &self.canvas;
        let drawing = canvas.drawing;
        let strokes = self.strokes.as_deref().unwrap_or_default();
        let mut obstacles = panels.covered;
        if let Some(under) = drawing.underlay {
            self.under = underlay::lines(under, &canvas.view, canvas.settings.theme);
            let square = |disc: Disc| {
                let ([x, y], r) = (disc.at, disc.radius);
                [x - r, y - r, 2.0 * r, 2.0 * r]
            };
            let discs = names::discs(canvas).into_iter().map(square);
            let mut taken = Taken::new(obstacles.iter().copied().chain(discs));
            let (marks, places) = underlay::labels(canvas, under, &mut taken);
            self.marks.extend(marks);
            obstacles.extend(places);
        }
        self.marks.extend(icons::marks(canvas, strokes, drawing.icons));
        self.marks.extend(self.afar.marks());
        if let Some(names) = drawing.names {
            let (marks, places) = self.afar.names(canvas, names, &obstacles);
            self.marks.extend(marks);
            obstacles.extend(places);
        }
        let covers = |node: u32| self.afar.covers(node);
        let placed = drawing.names.map(|names| names::placed(canvas, names, &obstacles, covers));
        let placed = placed.unwrap_or_default();
        if let Some(names) = drawing.edge_names {
            let discs = names::discs(canvas);
            let marks = edge_labels::marks(canvas, strokes, names, &placed, &obstacles, &discs);
            self.marks.extend(marks);
        }
        self.marks.extend(names::marks(canvas, placed));
        self.marks.extend(panels.marks);
    }

    /// What a unit of ink counts where `scale` edges stand for each that is drawn.
    pub(crate) fn ink_scale(&self, scale: f64) -> f32 {
        let light = if self.canvas.settings.theme == Theme::Light { LIGHT_INK } else { 1.0 };
        (self.ink.alpha * scale * light) as f32
    }

    pub(crate) fn tone(&self, scale: f64) -> Tone {
        Tone {
            height: self.canvas.settings.pixels()[1] as usize,
            back: self.canvas.back,
            clear: self.canvas.settings.background == Background::Clear,
            scale: self.ink_scale(scale),
            opacity: (self.canvas.settings.look.edge_opacity * self.afar.left()) as f32
                * self.canvas.drawing.dimmed(),
        }
    }

    /// What nodes are drawn with: all of them, or those once more that `are_full` because they are selected.
    pub(crate) fn dots(&self, are_full: bool) -> Dots {
        Dots {
            back: self.canvas.back[0],
            opacity: (self.canvas.settings.look.point_opacity * self.afar.left()) as f32,
            stroke: self.canvas.settings.look.point_stroke as f32,
            scale: self.canvas.settings.scale as f32,
            are_full,
        }
    }

    /// Whether arrow heads are drawn: they say something, and can be told apart.
    fn shows_arrows(&self, lines: usize, cancel: &CancelToken) -> Result<bool, RasterError> {
        if lines as f64 > ARROWS_MAX * self.canvas.view.zoom.max(1.0) {
            return Ok(false);
        }
        let drawing = self.canvas.drawing;
        Ok(match self.canvas.settings.look.arrows {
            Some(wanted) => wanted,
            None => direction::is_directed(drawing.ends, drawing.positions.len(), cancel)?,
        })
    }
}

/// How many edges have rare colours, and their lines.
fn rare_lines(drawing: &Drawing<'_>) -> Option<(usize, Lines)> {
    let colors = drawing.edge_rgba?;
    let at_sources = &colors[..drawing.ends.len().min(colors.len())];
    let mut edges = rare::edges(at_sources, drawing.edge_rgba_some);
    edges.retain(|e| drawing.shows_edge(*e));
    (!edges.is_empty()).then(|| (edges.len(), Lines::of(edges.into_iter(), drawing)))
}
