//! The legend of a scene as the picture shows it, read as leniently as by the page (`shell/web/src/state/legend.ts`).

use graphlume_raster::{Key, Legend, Row, Side};
use graphlume_scene::{Anchor, backdrop};
use serde_json::Value;

use crate::messages::CollectionList;

/// What the colours mean, collections first; `None` where there is nothing to explain.
pub(super) fn read(legend: &Value, collections: &CollectionList) -> Option<Legend> {
    let sides = [("node_color", Side::Nodes), ("edge_color", Side::Edges)];
    let drawn = sides.into_iter().filter_map(|(name, side)| key(&legend[name], side));
    let blocks = list(&legend["blocks"]).iter().filter_map(|b| {
        let side = if b["side"] == "edge" { Side::Edges } else { Side::Nodes };
        key(b, side)
    });
    let keys: Vec<Key> =
        of_collections(collections).into_iter().chain(drawn).chain(blocks).collect();
    let scales = SCALES.iter().filter_map(|(side, of)| scale(&legend[side], of)).collect();
    (!keys.is_empty()).then_some(Legend { keys, scales })
}

/// The collections that are painted, the one on top first, and what is in none where that is painted, too
/// (`shell/web/src/panels/collection-key.ts`).
fn of_collections(list: &CollectionList) -> Option<Key> {
    let row = |name: String, swatches: &[String], count: Option<u64>| {
        let colors: Vec<[u8; 3]> = swatches.iter().filter_map(|c| backdrop::color(c)).collect();
        Row { name, color: colors.first().copied(), colors, chosen: true, count, ..Row::default() }
    };
    let own =
        list.collections.iter().map(|c| row(c.label.name.clone(), &c.swatches, c.match_count));
    let rest = row("Everything else".to_owned(), &list.background, None);
    let mut entries: Vec<Row> = own.collect();
    if entries.is_empty() && rest.color.is_none() {
        return None;
    }
    entries.push(rest);
    let title = "Collections".to_owned();
    Some(Key { title, side: Side::Elements, entries, ..Key::default() })
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
    // Icons that have rows need no line.
    let title = side["title"].as_str().filter(|_| side["kind"] != "categorical")?;
    let [low, high] = ["min", "max"].map(|end| text(&side[end]));
    let is_ranged = !low.is_empty() && !high.is_empty() && title != "degree";
    let range = if is_ranged { format!(" {low}–{high}") } else { String::new() };
    Some(format!("{of}: {title}{range}"))
}

fn key(color: &Value, side: Side) -> Option<Key> {
    let title = color["title"].as_str()?.to_owned();
    let entries: Vec<Row> = list(&color["entries"]).iter().filter_map(row).collect();
    let more = color["more"].as_u64().unwrap_or(0);
    let is_uncolored = entries.iter().all(|row| row.color.is_none());
    let ramp = if is_uncolored { ramp(color) } else { None };
    let sign = |look: &Value| {
        let place = look["place"].as_u64().and_then(|p| Anchor::of_byte(u8::try_from(p).ok()?))?;
        Some((place, look.clone()))
    };
    let signs = list(&color["signs"]).iter().filter_map(sign).collect();
    let lines: Vec<String> = list(&color["lines"]).iter().map(text).collect();
    let is_empty = entries.is_empty() && ramp.is_none() && lines.is_empty();
    (!is_empty).then_some(Key { title, side, entries, more, ramp, signs, lines })
}

/// A row, with the colour of its encoding of the legend, if it has one, before that of the elements.
fn row(entry: &Value) -> Option<Row> {
    let look = &entry["look"];
    let colors = [&look["color"], &entry["color"]];
    let color = colors.iter().find_map(|c| backdrop::color(c.as_str()?));
    let number = |name: &str| look[name].as_f64().map(|v| v as f32);
    // Of the legend's own encodings every colour was chosen.
    let chosen = look["color"].is_string() || entry["chosen"] == true;
    // A row whose colours are all no CSS colours (a client's own text in `look.color`, say) is left out: its swatch would be
    // grey, which would claim that its elements are.
    let is_lost = color.is_none() && colors.iter().any(|c| c.is_string());
    (entry["label"] != Value::Null && !is_lost).then(|| Row {
        name: text(&entry["label"]),
        color,
        colors: Vec::new(),
        chosen,
        count: entry["count"].as_u64(),
        opacity: number("opacity").map(|o| o.clamp(0.0, 1.0)),
        size: number("size"),
        width: number("width"),
        signs: list(&entry["signs"]).iter().map(|s| s.as_u64().unwrap_or(0) as u16).collect(),
    })
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
    use crate::messages::{CollectionEntry, CollectionLabel};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_legend_encodings_say_is_read_with_its_signs_and_lines() {
        let legend = json!({
            "node_color": {"title": "kind", "entries": [
                {"label": "a", "color": "#ff0000", "look": {"color": "#00ff00", "size": 16, "opacity": 0.5}, "signs": [1]}],
                "signs": [{"place": 2, "list": [{"glyph": "x"}]}, {"place": 77}], "lines": ["inner"]},
            "node_icon": {"title": "kind", "kind": "categorical"},
            "blocks": [{"side": "edge", "title": "way", "entries": [{"label": "b", "count": 3, "look": {"width": 4}}]}],
        });
        let found = read(&legend, &CollectionList::default()).unwrap_or_default();
        let [kind, way] = &found.keys[..] else { panic!("{found:?}") };
        let row = &kind.entries[0];
        assert_eq!((row.color, row.size, row.opacity), (Some([0, 255, 0]), Some(16.0), Some(0.5)));
        assert_eq!((&row.signs, &kind.lines), (&vec![1], &vec!["inner".to_owned()]));
        assert_eq!((kind.signs.len(), kind.signs[0].0), (1, Anchor::TopRight));
        assert!(
            way.side == Side::Edges && kind.side == Side::Nodes && way.entries[0].color.is_none()
        );
        assert_eq!((way.entries[0].width, way.entries[0].count), (Some(4.0), Some(3)));
        assert!(found.scales.is_empty(), "the icon has rows: {:?}", found.scales);
    }

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
        let found = read(&legend, &CollectionList::default()).unwrap_or_default();
        let row = |name: &str, color, count| Row {
            name: name.to_owned(),
            color: Some(color),
            count,
            ..Row::default()
        };
        let entries = vec![row("a", [255, 0, 0], Some(7)), row("4", [0, 0, 128], None)];
        assert_eq!(
            (&found.keys[0].entries, found.keys[0].more, found.keys[0].side),
            (&entries, 2, Side::Nodes)
        );
        let ramp = (vec![[0; 3], [255; 3]], "0.25".to_owned(), "1.23e7".to_owned());
        assert_eq!((found.keys[1].ramp.as_ref(), found.keys[1].side), (Some(&ramp), Side::Edges));
        assert_eq!(found.scales, ["Size: degree", "Width: w 0.5–2", "Icon: kind"]);
        assert_eq!(read(&json!({"node_color": null}), &CollectionList::default()), None);
        assert_eq!(
            (short(0.0), short(3.0), short(0.001234), short(999.96)),
            ("0".into(), "3".into(), "0.001234".into(), "1000".into())
        );
    }

    #[test]
    fn collections_are_the_first_rows() {
        let entry = |position: usize, name: &str, swatches: &[&str], match_count| CollectionEntry {
            id: position.to_string(),
            position,
            match_count,
            swatches: swatches.iter().map(|s| (*s).to_owned()).collect(),
            label: CollectionLabel { name: name.to_owned(), ..CollectionLabel::default() },
        };
        let list = CollectionList {
            collections: vec![
                entry(0, "Left", &["#ff0000"], Some(2)),
                entry(1, "Many", &["#00ff00", "#0000ff"], None),
            ],
            background: vec![],
        };
        let legend = json!({"node_color": {"title": "kind", "entries": [{"label": "x", "color": "#111111"}]}});
        let found = read(&legend, &list).unwrap_or_default();
        assert_eq!((found.keys.len(), found.keys[0].side), (2, Side::Elements));
        let rows = &found.keys[0].entries;
        assert_eq!(
            (rows[0].name.as_str(), rows[0].color, rows[0].count),
            ("Left", Some([255, 0, 0]), Some(2))
        );
        assert_eq!(
            (rows[1].colors.len(), rows[1].count, rows[2].name.as_str()),
            (2, None, "Everything else")
        );
        let only = CollectionList { collections: vec![], background: vec!["#333333".to_owned()] };
        assert_eq!(read(&Value::Null, &only).map(|l| l.keys[0].entries.len()), Some(1));
    }
}
