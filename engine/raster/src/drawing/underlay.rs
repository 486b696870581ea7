//! The underlay of a drawing: a map of the world, and the rings and lines that a layout is read by.

use serde_json::Value;

/// What lies under the edges of a graph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Underlay {
    /// Rings and lines, the lowest first.
    pub axes: Vec<AxisRow>,
    /// Where the map lies, where the nodes are on one.
    pub map: Option<MapPlace>,
}

/// A ring or a line, in the coordinates of the nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisRow {
    /// Where it is.
    pub at: AxisPlace,
    /// What stands beside it; empty for nothing.
    pub label: String,
    /// How firm it is, and on which side its label stands.
    pub kind: AxisKind,
    /// In pixels.
    pub width: f32,
    /// Where a line begins and ends; without, at the rims of the picture.
    pub ends: [Option<f64>; 2],
}

/// Where a ring or a line is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AxisPlace {
    /// A ring of this radius around the origin.
    Ring(f64),
    /// A line on which all have this x.
    X(f64),
    /// A line on which all have this y.
    Y(f64),
}

/// How a ring or a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisKind {
    /// As any line.
    Plain,
    /// Its label is inside.
    Internal,
    /// Firmer, and its label is outside.
    External,
    /// Dashed.
    Space,
}

/// How degrees become coordinates: `place = scale · (longitude, projected latitude) + shift`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapPlace {
    /// Coordinates a degree.
    pub scale: f64,
    /// Where 0, 0 is.
    pub shift: [f64; 2],
}

impl Underlay {
    /// Reads what a scene says of it (`Scene::underlay`); rows that say nothing are passed over.
    #[must_use]
    pub fn read(value: &Value) -> Self {
        let rows = value["axes"].as_array().map_or(&[][..], Vec::as_slice);
        let number = |of: &Value, name: &str| of[name].as_f64().filter(|x| x.is_finite());
        let place = |map: &Value| {
            let [scale, x, y] = ["scale", "x", "y"].map(|name| number(map, name));
            Some(MapPlace { scale: scale.filter(|s| *s > 0.0)?, shift: [x?, y?] })
        };
        let row = |row: &Value| {
            let ring = number(row, "r").map(AxisPlace::Ring);
            let y = || number(row, "y").map(AxisPlace::Y);
            let at = ring.or_else(y).or_else(|| number(row, "x").map(AxisPlace::X))?;
            let kind = match row["kind"].as_str() {
                Some("internal") => AxisKind::Internal,
                Some("external") => AxisKind::External,
                Some("space") => AxisKind::Space,
                _ => AxisKind::Plain,
            };
            Some(AxisRow {
                at,
                label: row["label"].as_str().unwrap_or_default().to_owned(),
                kind,
                width: number(row, "width").unwrap_or(1.0) as f32,
                ends: ["min", "max"].map(|name| number(row, name)),
            })
        };
        Self { axes: rows.iter().filter_map(row).collect(), map: place(&value["map"]) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_scene_says_is_read_and_the_rest_is_passed_over() {
        let read = Underlay::read(&json!({
            "axes": [{"r": 2.0, "kind": "space", "label": "two"}, {"label": "nowhere"},
                     {"y": -1, "kind": "internal", "width": 3, "min": 0, "max": 4}],
            "map": {"scale": 2.0, "x": 1.0, "y": 0.5},
        }));
        assert_eq!(read.axes.len(), 2);
        assert_eq!((read.axes[0].at, read.axes[0].kind), (AxisPlace::Ring(2.0), AxisKind::Space));
        assert_eq!(read.axes[1].ends, [Some(0.0), Some(4.0)]);
        assert_eq!(read.map, Some(MapPlace { scale: 2.0, shift: [1.0, 0.5] }));
        assert_eq!(Underlay::read(&json!({"axes": null, "map": null})), Underlay::default());
    }
}
