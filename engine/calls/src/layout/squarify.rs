//! Squarified treemaps (Bruls, Huizing and van Wijk 2000).

/// A rectangle: its corner, its width and its height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) w: f64,
    pub(super) h: f64,
}

/// A rectangle for each size, in their order, which fill `room`. Sizes are positive; where they descend the rectangles are
/// nearly square. Cost: O(n).
pub(crate) fn squarify(sizes: &[f64], mut room: Rect) -> Vec<Rect> {
    let scale = room.w * room.h / sizes.iter().sum::<f64>();
    let areas: Vec<f64> = sizes.iter().map(|size| size * scale).collect();
    let mut made = Vec::with_capacity(areas.len());
    let mut from = 0;
    while from < areas.len() {
        // A strip along the shorter side takes areas for as long as its worst rectangle gets no worse.
        let side = room.w.min(room.h);
        let (mut sum, mut to) = (areas[from], from + 1);
        let (mut least, mut most) = (areas[from], areas[from]);
        let mut worst = ratio(sum, least, most, side);
        while let Some(area) = areas.get(to) {
            let (low, high) = (least.min(*area), most.max(*area));
            let next = ratio(sum + area, low, high, side);
            if worst < next {
                break;
            }
            (sum, least, most, worst, to) = (sum + area, low, high, next, to + 1);
        }
        room = strip(&areas[from..to], sum, room, &mut made);
        from = to;
    }
    made
}

/// The worst ratio of the sides of the rectangles of a strip.
fn ratio(sum: f64, least: f64, most: f64, side: f64) -> f64 {
    let across = sum / side;
    let of = |area: f64| {
        let along = area / across;
        f64::max(along / across, across / along)
    };
    f64::max(of(least), of(most))
}

/// Adds a strip of rectangles; what is left of the room.
fn strip(areas: &[f64], sum: f64, room: Rect, made: &mut Vec<Rect>) -> Rect {
    if room.w >= room.h {
        let w = sum / room.h;
        let mut y = room.y;
        for area in areas {
            let h = area / w;
            made.push(Rect { x: room.x, y, w, h });
            y += h;
        }
        return Rect { x: room.x + w, w: room.w - w, ..room };
    }
    let h = sum / room.w;
    let mut x = room.x;
    for area in areas {
        let w = area / h;
        made.push(Rect { x, y: room.y, w, h });
        x += w;
    }
    Rect { y: room.y + h, h: room.h - h, ..room }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_fill_the_room_of_the_paper() {
        // The example of the paper: 6, 6, 4, 3, 2, 2, 1 in a room of 6 by 4.
        let room = Rect { x: 0.0, y: 0.0, w: 6.0, h: 4.0 };
        let made = squarify(&[6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0], room);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        // The first two stand over each other, three wide and two high.
        assert_eq!(
            made[..2],
            [Rect { w: 3.0, h: 2.0, ..room }, Rect { y: 2.0, w: 3.0, h: 2.0, ..room }]
        );
        assert!(near(made.iter().map(|r| r.w * r.h).sum(), 24.0));
        for (i, a) in made.iter().enumerate() {
            assert!(a.x >= -1e-9 && a.x + a.w <= 6.0 + 1e-9 && a.y + a.h <= 4.0 + 1e-9, "{a:?}");
            for b in &made[..i] {
                let apart = |x: f64, w: f64, y: f64, v: f64| x + w <= y + 1e-9 || y + v <= x + 1e-9;
                assert!(apart(a.x, a.w, b.x, b.w) || apart(a.y, a.h, b.y, b.h), "{a:?} {b:?}");
            }
        }
        assert!(squarify(&[], room).is_empty());
    }
}
