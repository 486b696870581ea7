//! Coast lines and borders of the world, as lines in degrees whose latitudes are projected (`shell/web/src/bound/world-map.ts`).
//! The file is that of the page, whose build copies it: Natural Earth 1:110m, made by `shell/web/dev/map-lines.mjs`.

use std::sync::LazyLock;

use serde_json::Value;

const FILE: &str = include_str!("../../world/lines.json");
/// Where maps of this projection end.
const LATITUDE_MAX: f64 = 85.0511;
/// Degrees between the lines of the graticule.
const STEP: i32 = 30;

type Line = Vec<[f64; 2]>;

/// Lines by what they are.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) coasts: Vec<Line>,
    pub(crate) borders: Vec<Line>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let file: Value = serde_json::from_str(FILE).unwrap_or_default();
    let unit = file["unit"].as_f64().unwrap_or(1.0);
    let lines = |name: &str| {
        let lines = file[name].as_array().map_or(&[][..], Vec::as_slice);
        lines.iter().map(|steps| line(steps, unit)).collect()
    };
    World { coasts: lines("coasts"), borders: lines("borders") }
});

/// A line of steps in units from point to point.
fn line(steps: &Value, unit: f64) -> Line {
    let steps = steps.as_array().map_or(&[][..], Vec::as_slice);
    let mut at = [0.0; 2];
    let pairs = steps.as_chunks::<2>().0.iter().map(|pair| {
        for c in 0..2 {
            at[c] += pair[c].as_f64().unwrap_or(0.0);
        }
        [at[0] / unit, projected(at[1] / unit)]
    });
    pairs.collect()
}

/// Coast lines and borders, read once.
pub(crate) fn lines() -> &'static World {
    &WORLD
}

/// A latitude in Mercator's projection, in degrees at the equator.
fn projected(latitude: f64) -> f64 {
    let within = latitude.clamp(-LATITUDE_MAX, LATITUDE_MAX).to_radians();
    within.tan().asinh().to_degrees()
}

/// Meridians and parallels every 30 degrees.
pub(crate) fn graticule() -> Vec<Line> {
    let steps = |most: i32| (-most / STEP..=most / STEP).map(|k| f64::from(k * STEP));
    let end = projected(LATITUDE_MAX);
    let meridians = steps(180).map(|lon| vec![[lon, -end], [lon, end]]);
    let parallels = steps(60).map(|lat| vec![[-180.0, projected(lat)], [180.0, projected(lat)]]);
    meridians.chain(parallels).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_coasts_of_the_world() {
        let World { coasts, borders } = lines();
        assert!(coasts.len() > 100 && borders.len() > 100, "{} {}", coasts.len(), borders.len());
        let all = || coasts.iter().chain(borders).flatten();
        assert!(all().all(|p| p[0].abs() <= 180.001 && p[1].abs() <= 180.001));
        // The cape of Good Hope, to half a degree.
        let cape = [18.5, projected(-34.4)];
        let near = |p: &[f64; 2]| (p[0] - cape[0]).hypot(p[1] - cape[1]) < 0.7;
        assert!(coasts.iter().flatten().any(near));
        assert_eq!(graticule().len(), 13 + 5);
    }
}
