//! The legend of a scene as the picture shows it, read as leniently as by the page (`shell/web/src/state/legend.ts`).

use graphlume_raster::{Key, Legend};
use graphlume_scene::backdrop;
use serde_json::Value;

/// What the colours mean; `None` where there is nothing to explain.
pub(super) fn read(legend: &Value) -> Option<Legend> {
    let sides = [("node_color", false), ("edge_color", true)];
    let keys: Vec<Key> =
        sides.into_iter().filter_map(|(side, edges)| key(&legend[side], edges)).collect();
    let scales = SCALES.iter().filter_map(|(side, of)| scale(&legend[side], of)).collect();
    (!keys.is_empty()).then_some(Legend { keys, scales })
}

/// What is bound beside colours, and how the legend calls it.
const SCALES: [(&str, &str); 6] = [
    ("node_size", "Size"),
    ("edge_size", "Width"),
    ("node_opacity", "Opacity"),
    ("edge_opacity", "Edge opacity"),
    ("node_icon", "Icon"),
    ("edge_icon", "Edge icon"),
];

/// The line of one of these: its column, and the ends of its range where it has one.
fn scale(side: &Value, of: &str) -> Option<String> {
    let title = side["title"].as_str()?;
    let [low, high] = ["min", "max"].map(|end| text(&side[end]));
    let is_ranged = !low.is_empty() && !high.is_empty() && title != "degree";
    let range = if is_ranged { format!(" {low}–{high}") } else { String::new() };
    Some(format!("{of}: {title}{range}"))
}

fn key(color: &Value, edges: bool) -> Option<Key> {
    let title = color["title"].as_str()?.to_owned();
    let entry = |entry: &Value| {
        let color = backdrop::color(entry["color"].as_str()?)?;
        Some((text(&entry["label"]), color, entry["count"].as_u64()))
    };
    let entries: Vec<_> = list(&color["entries"]).iter().filter_map(entry).collect();
    let more = color["more"].as_u64().unwrap_or(0);
    let ramp = if entries.is_empty() { ramp(color) } else { None };
    let is_empty = entries.is_empty() && ramp.is_none();
    (!is_empty).then_some(Key { title, edges, entries, more, ramp })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn ramp(color: &Value) -> Option<(Vec<[u8; 3]>, String, String)> {
    let stop = |stop: &Value| {
        let own = stop.as_str().or_else(|| stop["color"].as_str());
        backdrop::color(own.or_else(|| stop[1].as_str())?)
    };
    let stops = ["stops", "colors"].into_iter().flat_map(|name| list(&color[name]));
    let colors: Vec<[u8; 3]> = stops.filter_map(stop).collect();
    (!colors.is_empty()).then(|| (colors, text(&color["min"]), text(&color["max"])))
}

/// What stands at an end of a scale, or beside a colour: numbers with at most four digits.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or_else(String::new, short),
        Value::Bool(flag) => flag.to_string(),
        _ => String::new(),
    }
}

fn short(x: f64) -> String {
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) {
        let digits = (3 - x.abs().max(1e-3).log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{x:.digits$}");
        if !text.contains('.') {
            return text;
        }
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{x:.2e}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn categories_and_scales_are_read_and_the_rest_is_passed_over() {
        let legend = json!({
            "node_color": {"title": "kind", "entries": [
                {"label": "a", "color": "#ff0000", "count": 7}, {"label": 3, "color": "nothing"},
                {"label": 4, "color": "navy"}], "more": 2},
            "edge_color": {"title": "weight", "stops": ["#000000", {"color": "#ffffff"}], "min": 0.25, "max": 12345678},
            "node_size": {"title": "degree", "min": 1, "max": 9}, "edge_size": {"title": "w", "min": 0.5, "max": 2},
            "node_icon": {"title": "kind", "kind": "none"},
        });
        let found = read(&legend).unwrap_or_default();
        let entries =
            vec![("a".to_owned(), [255, 0, 0], Some(7)), ("4".to_owned(), [0, 0, 128], None)];
        assert_eq!(
            (&found.keys[0].entries, found.keys[0].more, found.keys[0].edges),
            (&entries, 2, false)
        );
        let ramp = (vec![[0; 3], [255; 3]], "0.25".to_owned(), "1.23e7".to_owned());
        assert_eq!((found.keys[1].ramp.as_ref(), found.keys[1].edges), (Some(&ramp), true));
        assert_eq!(found.scales, ["Size: degree", "Width: w 0.5–2", "Icon: kind"]);
        assert_eq!(read(&json!({"node_color": null})), None);
        assert_eq!(
            (short(0.0), short(3.0), short(0.001234), short(999.96)),
            ("0".into(), "3".into(), "0.001234".into(), "1000".into())
        );
    }
}
