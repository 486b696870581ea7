//! Some rows of the picture: what is added up and blended in them.

/// Rows `first..first + rows` of a picture.
pub(crate) struct Band {
    pub(crate) first: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Pixels of the picture for each of the page's, in which lines are measured.
    scale: f32,
    /// Four numbers a pixel, row by row.
    pub(crate) pixels: Vec<[f32; 4]>,
}

/// How a pixel takes what is drawn on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It is added.
    Sum,
    /// It covers what was there by its opacity; colours are multiplied with theirs.
    Over,
}

impl Band {
    pub(crate) fn new(first: usize, rows: usize, columns: usize, scale: f32) -> Self {
        Self::within(Vec::new(), [first, rows], columns, scale)
    }

    /// Rows without ink in memory that was used before.
    pub(crate) fn within(
        mut pixels: Vec<[f32; 4]>,
        [first, rows]: [usize; 2],
        columns: usize,
        scale: f32,
    ) -> Self {
        pixels.clear();
        pixels.resize(rows * columns, [0.0; 4]);
        Self { first, rows, columns, scale, pixels }
    }

    /// Whether something between two rows of the page may be in the band.
    pub(crate) fn touches(&self, [top, bottom]: [f32; 2]) -> bool {
        let (first, end) = (self.first as f32, (self.first + self.rows) as f32);
        bottom * self.scale >= first && top * self.scale <= end
    }

    /// Pixels of the picture for each of the page's.
    pub(crate) const fn scale(&self) -> f32 {
        self.scale
    }

    /// The first of its rows, and how many.
    pub(crate) const fn span(&self) -> [usize; 2] {
        [self.first, self.rows]
    }

    /// Covers a pixel of the picture, by column and row, where it is in the band.
    pub(crate) fn over(&mut self, [column, row]: [i64; 2], ink: [f32; 4]) {
        let row = row - self.first as i64;
        if (0..self.columns as i64).contains(&column) && (0..self.rows as i64).contains(&row) {
            self.put(row as usize * self.columns + column as usize, ink, Mode::Over);
        }
    }

    fn put(&mut self, pixel: usize, ink: [f32; 4], mode: Mode) {
        let to = &mut self.pixels[pixel];
        let kept = if mode == Mode::Over { 1.0 - ink[3] } else { 1.0 };
        *to = [0, 1, 2, 3].map(|c| to[c] * kept + ink[c]);
    }

    /// Calls `draw` with the middle of every pixel of the band in a convex shape, both in pixels of the page, and puts what
    /// it gives.
    pub(crate) fn shape<const N: usize>(
        &mut self,
        corners: [[f32; 2]; N],
        mode: Mode,
        mut draw: impl FnMut([f32; 2]) -> [f32; 4],
    ) {
        let scale = self.scale;
        self.shape_of_pixels(corners.map(|p| p.map(|x| x * scale)), mode, |q| {
            draw(q.map(|x| x / scale))
        });
    }

    /// The same in pixels of the picture.
    pub(crate) fn shape_of_pixels<const N: usize>(
        &mut self,
        corners: [[f32; 2]; N],
        mode: Mode,
        mut draw: impl FnMut([f32; 2]) -> [f32; 4],
    ) {
        let low = corners.iter().map(|p| p[1]).fold(f32::MAX, f32::min);
        let high = corners.iter().map(|p| p[1]).fold(f32::MIN, f32::max);
        let [from, to] = within(low, high, self.first, self.rows);
        for row in from..to {
            let y = row as f32 + 0.5;
            let mut span = [f32::MAX, f32::MIN];
            for (i, a) in corners.iter().enumerate() {
                let b = corners[(i + 1) % N];
                if (a[1] <= y) != (b[1] <= y) {
                    let x = a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0]);
                    span = [span[0].min(x), span[1].max(x)];
                }
            }
            let [left, right] = within(span[0], span[1], 0, self.columns);
            for column in left..right {
                let ink = draw([column as f32 + 0.5, y]);
                if ink[3] > 0.0 {
                    self.put((row - self.first) * self.columns + column, ink, mode);
                }
            }
        }
    }

    /// Calls `draw` for every row of the band, with its middle in pixels of the page and with what draws a span of it: that
    /// covers each pixel whose middle is between two columns of the page with what is given for its column.
    pub(crate) fn each_row(
        &mut self,
        mut draw: impl FnMut(f32, &mut dyn FnMut([f32; 2], &mut dyn FnMut(f32) -> [f32; 4])),
    ) {
        let scale = self.scale;
        for row in 0..self.rows {
            let y = ((self.first + row) as f32 + 0.5) / scale;
            draw(y, &mut |[from, to], ink| {
                let [left, right] = within(from * scale, to * scale, 0, self.columns);
                for column in left..right {
                    let ink = ink((column as f32 + 0.5) / scale);
                    if ink[3] > 0.0 {
                        self.put(row * self.columns + column, ink, Mode::Over);
                    }
                }
            });
        }
    }

    /// Lays the pixels of another band of the same rows over these.
    pub(crate) fn lay(&mut self, other: &Self) {
        for (pixel, ink) in other.pixels.iter().enumerate() {
            self.put(pixel, *ink, Mode::Over);
        }
    }

    /// A straight piece of a line, soft at its rims, whose ink goes from `inks[0]` to `inks[1]`.
    pub(crate) fn piece(
        &mut self,
        [p0, p1]: [[f32; 2]; 2],
        width: f32,
        inks: [[f32; 4]; 2],
        mode: Mode,
    ) {
        let run = [p1[0] - p0[0], p1[1] - p0[1]];
        let length = run[0].hypot(run[1]);
        let dir = run.map(|x| x / length.max(1e-4));
        let half = width * 0.5 + 0.75;
        let side = [-dir[1] * half, dir[0] * half];
        let corner = |p: [f32; 2], by: f32| [p[0] + by * side[0], p[1] + by * side[1]];
        let corners = [corner(p0, -1.0), corner(p1, -1.0), corner(p1, 1.0), corner(p0, 1.0)];
        let grow = [0, 1, 2, 3].map(|c| inks[1][c] - inks[0][c]);
        let part = 1.0 / length.max(1e-4);
        self.shape(corners, mode, |q| {
            let from = [q[0] - p0[0], q[1] - p0[1]];
            let across = (from[1] * dir[0] - from[0] * dir[1]).abs();
            let t = ((from[0] * dir[0] + from[1] * dir[1]) * part).clamp(0.0, 1.0);
            let cover = (width * 0.5 + 0.5 - across).clamp(0.0, 1.0);
            [0, 1, 2, 3].map(|c| cover * (inks[0][c] + grow[c] * t))
        });
    }

    /// A line of one pixel a step along its longer axis, as the page draws many edges.
    pub(crate) fn thin(&mut self, ends: [[f32; 2]; 2], inks: [[f32; 4]; 2]) {
        let [a, b] = ends.map(|p| p.map(|x| x * self.scale));
        let run = [b[0] - a[0], b[1] - a[1]];
        let long = usize::from(run[1].abs() > run[0].abs());
        let (low, high) = (a[long].min(b[long]), a[long].max(b[long]));
        let (first, count) = if long == 1 { (self.first, self.rows) } else { (0, self.columns) };
        let [from, to] = within(low, high, first, count);
        for step in from..to {
            let t = (step as f32 + 0.5 - a[long]) / run[long];
            let other = a[1 - long] + t * run[1 - long];
            let (x, y) = if long == 1 { (other, step as f32) } else { (step as f32, other) };
            let (column, row) = (x.floor(), y.floor() - self.first as f32);
            if column < 0.0 || row < 0.0 {
                continue;
            }
            let (column, row) = (column as usize, row as usize);
            if column < self.columns && row < self.rows {
                let ink = [0, 1, 2, 3].map(|c| inks[0][c] + (inks[1][c] - inks[0][c]) * t);
                self.put(row * self.columns + column, ink, Mode::Sum);
            }
        }
    }
}

/// The pixels of `first..first + count` whose middle is between `low` and `high`.
fn within(low: f32, high: f32, first: usize, count: usize) -> [usize; 2] {
    let end = (first + count) as f32;
    let bound = |x: f32| (x - 0.5).ceil().clamp(first as f32, end) as usize;
    [bound(low), bound(high)]
}
