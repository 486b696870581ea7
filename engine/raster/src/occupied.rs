//! A grid of the rectangles and discs of a picture that texts keep off.

use std::collections::HashMap;

/// Pixels that a text keeps from others and from panels.
pub(crate) const INSET: f32 = 3.0;

/// A disc that names of other nodes keep off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Disc {
    pub(crate) node: u32,
    pub(crate) at: [f32; 2],
    pub(crate) radius: f32,
}

/// Left, top, width and height.
pub(crate) type Rect = [f32; 4];

/// A grid of rectangles that are taken.
#[derive(Default)]
pub(crate) struct Taken(Occupied);

impl Taken {
    pub(crate) fn new(rects: impl Iterator<Item = Rect>) -> Self {
        let mut taken = Self::default();
        rects.for_each(|rect| taken.add(rect));
        taken
    }

    /// Whether a rectangle shares a point with one that is taken.
    pub(crate) fn meets(&self, rect: Rect) -> bool {
        self.0.meets_rect(rect)
    }

    pub(crate) fn add(&mut self, rect: Rect) {
        self.0.add(rect);
    }
}

/// A grid of what is occupied: rectangles, and discs with the nodes that they belong to.
#[derive(Default)]
pub(crate) struct Occupied {
    rects: HashMap<[i32; 2], Vec<Rect>>,
    discs: HashMap<[i32; 2], Vec<Disc>>,
}

const CELL: f32 = 64.0;

fn cells([x, y, w, h]: Rect) -> impl Iterator<Item = [i32; 2]> {
    let cell = |at: f32| (at / CELL).floor() as i32;
    let columns = cell(x)..=cell(x + w);
    (cell(y)..=cell(y + h)).flat_map(move |row| columns.clone().map(move |column| [column, row]))
}

impl Occupied {
    /// Whether a rectangle meets another one, or a disc of another node than its own.
    pub(crate) fn hits(&self, r: Rect, own: u32) -> bool {
        let [x, y, w, h] = r;
        let inner = [x + INSET, y + INSET, w - 2.0 * INSET, h - 2.0 * INSET];
        self.meets_rect(r)
            || cells(r).any(|cell| {
                self.discs.get(&cell).is_some_and(|list| {
                    list.iter().any(|disc| disc.node != own && covers(inner, disc))
                })
            })
    }

    fn meets_rect(&self, r: Rect) -> bool {
        let [x, y, w, h] = r;
        let meets = |o: &Rect| x < o[0] + o[2] && o[0] < x + w && y < o[1] + o[3] && o[1] < y + h;
        cells(r).any(|cell| self.rects.get(&cell).is_some_and(|list| list.iter().any(meets)))
    }

    pub(crate) fn add(&mut self, r: Rect) {
        for cell in cells(r) {
            self.rects.entry(cell).or_default().push(r);
        }
    }

    pub(crate) fn add_disc(&mut self, d: Disc) {
        let ([x, y], r) = (d.at, d.radius);
        for cell in cells([x - r, y - r, 2.0 * r, 2.0 * r]) {
            self.discs.entry(cell).or_default().push(d);
        }
    }
}

/// Whether a rectangle and a disc share a point.
fn covers([x, y, w, h]: Rect, d: &Disc) -> bool {
    let dx = d.at[0] - d.at[0].min(x + w).max(x);
    let dy = d.at[1] - d.at[1].min(y + h).max(y);
    dx * dx + dy * dy < d.radius * d.radius
}
