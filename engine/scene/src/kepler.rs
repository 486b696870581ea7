//! Encodings of kepler.gl (`pointKeplerEncoding`: its data sets, layers, options and configuration, as `encode_kepler_*` of
//! the Python client sends them) as encodings of this picture: positions, colours, sizes and labels of its layers of
//! points, arcs and lines, on the map that lies under nodes with a longitude and a latitude. What has no counterpart is
//! named in a notice. What else binds the same goes before.

use std::borrow::Cow;

use graphlume_types::{Notice, note};
use serde_json::{Map, Value, json};

use crate::css::to_hex;
use crate::hues::RAMP;
use crate::notices::NOT_SHOWN;

/// The key of such an encoding.
pub(crate) const KEY: &str = "pointKeplerEncoding";
/// Layers whose rows are single elements of the graph.
const OF_NODES: [&str; 2] = ["point", "icon"];
const OF_EDGES: [&str; 2] = ["arc", "line"];
/// Columns that hold the places of the ends of edges where Kepler is told to copy them from the nodes.
const COPIED: [&str; 4] =
    ["edgeSourceLatitude", "edgeSourceLongitude", "edgeTargetLatitude", "edgeTargetLongitude"];
/// Looks of a layer that the picture has.
const LOOKS: [&str; 3] = ["colorRange", "radiusRange", "sizeRange"];

/// One side of the graph, and what is bound there.
struct Side<'a> {
    /// The word of simple bindings, and that of complex encodings.
    words: [&'static str; 2],
    encodings: &'a mut Value,
    /// What a layer has bound, for the next one to be told.
    taken: Vec<&'static str>,
}

impl Side<'_> {
    fn object<'v>(value: &'v mut Value, path: &[&str]) -> Option<&'v mut Map<String, Value>> {
        let mut at = value;
        for name in path {
            if !at.is_object() {
                *at = json!({});
            }
            at = at.as_object_mut()?.entry(*name).or_insert_with(|| json!({}));
        }
        if at.is_null() {
            *at = json!({});
        }
        at.as_object_mut()
    }

    /// Whether something binds `what`, such as a colour, plainly or by a complex encoding.
    fn binds(&self, what: &str) -> bool {
        let [own, client] = self.words;
        let mut kind = what.to_owned();
        kind[..1].make_ascii_uppercase();
        let plain = self.encodings.pointer(&format!("/bindings/{own}_{what}"));
        let complex = ["current", "default"].iter().any(|state| {
            let key = format!("/complex/{state}/{client}{kind}Encoding");
            self.encodings.pointer(&key).is_some_and(Value::is_object)
        });
        complex || plain.is_some_and(|name| name.as_str().is_some_and(|name| !name.is_empty()))
    }

    /// Binds a column plainly, unless another is bound.
    fn bind(&mut self, what: &'static str, column: &str) {
        let name = format!("{}_{what}", self.words[0]);
        if !self.binds(what)
            && let Some(bindings) = Self::object(self.encodings, &["bindings"])
        {
            bindings.insert(name, column.into());
            self.taken.push(what);
        }
    }

    /// Colours by a column, unless something else gives colours.
    fn color(&mut self, encoding: Value) {
        let key = format!("{}ColorEncoding", self.words[1]);
        if !self.binds("color")
            && let Some(state) = Self::object(self.encodings, &["complex", "default"])
        {
            state.insert(key, encoding);
            self.taken.push("color");
        }
    }
}

/// A layer as it was sent.
struct Layer<'a> {
    name: Cow<'a, str>,
    kind: &'a str,
    config: &'a Value,
    /// The channels that follow columns; older files have them beside the configuration.
    channels: &'a Value,
}

impl<'a> Layer<'a> {
    fn of(layer: &'a Value, number: usize) -> Self {
        let config = &layer["config"];
        let own = [&config["label"], &layer["id"]].into_iter().find_map(Value::as_str);
        let name = own.map_or_else(|| Cow::Owned(format!("number {}", number + 1)), Cow::Borrowed);
        let inside = &config["visualChannels"];
        let channels = if inside.is_object() { inside } else { &layer["visualChannels"] };
        Self { name, kind: layer["type"].as_str().unwrap_or(""), config, channels }
    }

    /// The column of a channel such as `colorField`.
    fn field(&self, name: &str) -> Option<&'a str> {
        let beside = &self.channels[name];
        let field = if beside.is_null() { &self.config[name] } else { beside };
        field["name"].as_str().or_else(|| field.as_str()).filter(|name| !name.is_empty())
    }

    /// The column whose values have the usual colours, which are bound plainly.
    fn plain_color(&self) -> Option<&'a str> {
        let has_own = !self.config["visConfig"]["colorRange"]["colors"][0].is_null();
        self.field("colorField").filter(|_| self.is_ordinal() && !has_own)
    }

    /// Colours by its column, or the one colour of a layer without.
    fn color(&self, graph_type: &str, any: Option<&str>) -> Option<Value> {
        let head = |attribute: &str, variation: &str| {
            json!({
                "graphType": graph_type, "encodingType": "color",
                "attribute": attribute, "variation": variation,
            })
        };
        let Some(field) = self.field("colorField") else {
            let [r, g, b] = [0, 1, 2].map(|c| self.config["color"][c].as_u64());
            let byte = |c: Option<u64>| u8::try_from(c?).ok();
            let color = to_hex([byte(r)?, byte(g)?, byte(b)?, u8::MAX]);
            let mut encoding = head(any?, "categorical");
            encoding["mapping"] = json!({"categorical": {"fixed": {}, "other": color}});
            return Some(encoding);
        };
        let own = &self.config["visConfig"]["colorRange"]["colors"];
        let is_list = own.as_array().is_some_and(|colors| !colors.is_empty());
        let mut encoding =
            head(field, if self.is_ordinal() { "categorical" } else { "continuous" });
        if is_list {
            encoding["colors"] = own.clone();
        } else if !self.is_ordinal() {
            encoding["colors"] = RAMP.iter().map(|c| json!(to_hex(*c))).collect();
        }
        Some(encoding)
    }

    /// Whether its colours tell values apart, and do not measure.
    fn is_ordinal(&self) -> bool {
        let scale = &self.channels["colorScale"];
        let scale = if scale.is_null() { &self.config["colorScale"] } else { scale };
        let field = [&self.channels["colorField"], &self.config["colorField"]];
        let kind = field.into_iter().find_map(|field| field["type"].as_str());
        match (scale.as_str(), kind) {
            (Some(scale), _) => scale == "ordinal",
            (None, kind) => !matches!(kind, Some("integer" | "real" | "timestamp" | "date")),
        }
    }

    /// The column that is written beside its elements.
    fn label(&self) -> Option<&'a str> {
        let text = &self.config["textLabel"];
        let first = if text.is_array() { &text[0] } else { text };
        first["field"]["name"].as_str().filter(|name| !name.is_empty())
    }

    /// Two columns of its configuration.
    fn columns(&self, names: [&str; 2]) -> Option<[&'a str; 2]> {
        let [a, b] = names.map(|name| self.config["columns"][name].as_str());
        Some([a?, b?])
    }

    /// Looks that are set and have no counterpart.
    fn other_looks(&self) -> Vec<String> {
        let looks = self.config["visConfig"].as_object();
        let names = looks.into_iter().flatten().filter(|(name, value)| {
            !LOOKS.contains(&name.as_str()) && !value.is_null() && *value != &json!(false)
        });
        names.map(|(name, _)| name.clone()).collect()
    }
}

/// Adds what the layers mean to the encodings of nodes and edges; what has no counterpart is said.
pub(crate) fn translate(node: &mut Value, edge: &mut Value) -> Vec<Notice> {
    let states = ["current", "default"];
    let found = states.iter().find_map(|state| node.pointer(&format!("/complex/{state}/{KEY}")));
    let Some(kepler) = found.filter(|found| found.is_object()).cloned() else { return Vec::new() };
    let mut notices = Vec::new();
    let mut tell = |text: String| note(&mut notices, Notice::new(NOT_SHOWN, text));
    let mut sides = [
        Side { words: ["node", "point"], encodings: node, taken: Vec::new() },
        Side { words: ["edge", "edge"], encodings: edge, taken: Vec::new() },
    ];
    let list = |name: &str| kepler[name].as_array().cloned().unwrap_or_default();
    let datasets = list("datasets");
    let layers = list("layers");
    if layers.is_empty() {
        tell(format!("{KEY} has no layers: nothing of it is drawn"));
    }
    for (number, layer) in layers.iter().enumerate() {
        let layer = Layer::of(layer, number);
        if layer.config["isVisible"] == json!(false) {
            continue;
        }
        for text in shown(&layer, &datasets, &mut sides) {
            tell(format!("Kepler's layer {:?} ({}): {text}", layer.name, layer.kind));
        }
    }
    for text in others(&kepler, &datasets) {
        tell(text);
    }
    notices
}

/// What kind of rows a data set has, by its id.
fn table_of<'a>(datasets: &'a [Value], id: Option<&str>) -> Option<&'a str> {
    let of = |data: &&Value| {
        let own = [&data["info"]["id"], &data["id"]].into_iter().find_map(Value::as_str);
        id.is_some() && own == id
    };
    datasets.iter().find(of).and_then(|data| data["type"].as_str())
}

/// Binds what a layer shows; answers what of it is not drawn.
fn shown(layer: &Layer<'_>, datasets: &[Value], sides: &mut [Side<'_>; 2]) -> Vec<String> {
    let is_node = OF_NODES.contains(&layer.kind);
    if !is_node && !OF_EDGES.contains(&layer.kind) {
        return vec![
            "layers of this kind have no counterpart here, and it is not drawn; points, icons, arcs and lines have one"
                .to_owned(),
        ];
    }
    let id = layer.config["dataId"].as_str();
    let table = table_of(datasets, id);
    let wanted = if is_node { "nodes" } else { "edges" };
    if let Some(other) = table.filter(|table| *table != wanted) {
        return vec![format!("its data set has the rows of {other}; one of {wanted} is drawn")];
    }
    let side = &mut sides[usize::from(!is_node)];
    if !side.taken.is_empty() {
        return vec![format!("another layer of the {wanted} goes before it, and it is not drawn")];
    }
    let mut told = Vec::new();
    let key = if is_node { "/bindings/node" } else { "/bindings/source" };
    let any = side.encodings.pointer(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(field) = layer.plain_color() {
        side.bind("color", field);
    } else if let Some(encoding) = layer.color(side.words[1], any.as_deref()) {
        side.color(encoding);
    }
    if let Some(field) = layer.field("sizeField").or_else(|| layer.field("radiusField")) {
        side.bind("size", field);
    }
    if let Some(field) = layer.label() {
        side.bind("label", field);
    }
    if is_node {
        match layer.columns(["lat", "lng"]) {
            Some([lat, lng]) if !side.binds("x") && !side.binds("longitude") => {
                side.bind("latitude", lat);
                side.bind("longitude", lng);
            }
            Some(_) => {}
            None => told.push("it names no columns lat and lng for places".to_owned()),
        }
    } else {
        told.extend(ends(layer, datasets, id));
    }
    let looks = layer.other_looks();
    if !looks.is_empty() {
        told.push(format!(
            "{} {} no counterpart",
            looks.join(", "),
            if looks.len() == 1 { "has" } else { "have" }
        ));
    }
    told
}

/// Columns that hold places of ends of edges, unless these are copies of those of the nodes.
fn ends(layer: &Layer<'_>, datasets: &[Value], id: Option<&str>) -> Option<String> {
    let copied = datasets.iter().find(|data| data["info"]["id"].as_str() == id);
    let copied = copied.map_or(&Value::Null, |data| &data["map_node_coords_mapping"]);
    let name = |own: &str| copied[own].as_str().unwrap_or(own).to_owned();
    let known = COPIED.map(name);
    let own = ["lat0", "lng0", "lat1", "lng1"].map(|name| layer.config["columns"][name].as_str());
    let other: Vec<&str> =
        own.into_iter().flatten().filter(|name| !known.iter().any(|known| known == name)).collect();
    (!other.is_empty()).then(|| {
        format!("edges end at their nodes: places from {} are not drawn", other.join(", "))
    })
}

/// Data sets, options and configuration without a counterpart.
fn others(kepler: &Value, datasets: &[Value]) -> Vec<String> {
    let mut told = Vec::new();
    for data in datasets {
        let kind = data["type"].as_str().unwrap_or("its own data");
        let label =
            [&data["info"]["label"], &data["info"]["id"]].into_iter().find_map(Value::as_str);
        let label = label.unwrap_or("");
        if !["nodes", "edges"].contains(&kind) {
            told.push(format!(
                "Kepler's data set {label:?} ({kind}) is not drawn: the map has its own coast lines and borders"
            ));
        } else if data["computed_columns"].as_object().is_some_and(|c| !c.is_empty()) {
            told.push(format!(
                "Kepler's data set {label:?}: its computed_columns are not computed"
            ));
        }
    }
    let set =
        |part: &str| kepler[part].as_object().into_iter().flatten().map(|(name, _)| name.clone());
    let names: Vec<String> = set("options").chain(set("config")).collect();
    if !names.is_empty() {
        told.push(format!("Kepler's {} have no counterpart on this map", names.join(", ")));
    }
    told
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What a Kepler encoding makes of plain bindings, and what is said.
    fn of(kepler: Value, node: Value, edge: Value) -> (Value, Value, Vec<String>) {
        let mut node = json!({"bindings": node, "complex": {"default": {KEY: kepler}}});
        let mut edge = json!({"bindings": edge});
        let said = translate(&mut node, &mut edge);
        (node, edge, said.into_iter().map(|notice| notice.text.to_string()).collect())
    }

    fn point(config: Value) -> Value {
        json!({
            "datasets": [{"info": {"id": "n", "label": "N"}, "type": "nodes"}],
            "layers": [{"id": "cities", "type": "point", "config": config}],
        })
    }

    #[test]
    fn a_layer_of_points_is_places_colours_sizes_and_labels() {
        let config = json!({
            "dataId": "n", "columns": {"lat": "la", "lng": "lo"}, "textLabel": [{"field": {"name": "city"}}],
            "visConfig": {"colorRange": {"colors": ["#000000", "#ffffff"]}},
            "visualChannels": {
                "colorField": {"name": "people", "type": "integer"}, "colorScale": "quantize",
                "sizeField": {"name": "area", "type": "real"},
            },
        });
        let (node, _, said) = of(point(config), json!({"node": "id"}), json!({}));
        let bound = json!({
            "node": "id", "node_latitude": "la", "node_longitude": "lo", "node_size": "area", "node_label": "city",
        });
        assert_eq!(node["bindings"], bound);
        let color = &node["complex"]["default"]["pointColorEncoding"];
        assert_eq!(color["attribute"], "people");
        assert_eq!(
            (&color["variation"], &color["colors"][1]),
            (&json!("continuous"), &json!("#ffffff"))
        );
        assert!(said.is_empty(), "{said:?}");
    }

    #[test]
    fn what_else_is_bound_goes_before() {
        let config = json!({
            "dataId": "n", "columns": {"lat": "la", "lng": "lo"}, "color": [255, 0, 9],
            "sizeField": "area", "textLabel": {"field": {"name": "city"}},
        });
        let own = json!({"node": "id", "node_x": "x", "node_color": "c", "node_size": "s", "node_label": "l"});
        let (node, ..) = of(point(config.clone()), own.clone(), json!({}));
        assert_eq!(node["bindings"], own);
        assert_eq!(node["complex"]["default"].as_object().unwrap().len(), 1);
        // Without a column the one colour of the layer.
        let (node, ..) = of(point(config), json!({"node": "id"}), json!({}));
        let color = &node["complex"]["default"]["pointColorEncoding"];
        assert_eq!(color["mapping"]["categorical"]["other"], "#ff0009");
    }

    #[test]
    fn arcs_are_edges_and_what_has_no_counterpart_is_named() {
        let mapped = json!({"edgeSourceLatitude": "sla"});
        let kepler = json!({
            "datasets": [
                {"info": {"id": "e"}, "type": "edges", "map_node_coords_mapping": mapped},
                {"info": {"id": "c", "label": "Countries"}, "type": "countries"},
            ],
            "layers": [
                {"type": "arc", "config": {
                    "dataId": "e", "label": "flows",
                    "columns": {"lat0": "sla", "lng0": "edgeSourceLongitude", "lat1": "foreign", "lng1": "edgeTargetLongitude"},
                    "visConfig": {"thickness": 2, "opacity": null},
                }, "visualChannels": {"colorField": {"name": "kind", "type": "string"}, "sizeField": {"name": "w"}}},
                {"id": "h", "type": "hexagon", "config": {}},
                {"id": "again", "type": "line", "config": {"dataId": "e"}},
                {"id": "hidden", "type": "heatmap", "config": {"isVisible": false}},
                {"id": "wrong", "type": "point", "config": {"dataId": "e"}},
            ],
            "options": {"readOnly": true}, "config": {"overlayBlending": "additive"},
        });
        let (_, edge, said) = of(kepler, json!({}), json!({"source": "s", "destination": "d"}));
        assert_eq!(edge["bindings"]["edge_size"], "w");
        assert_eq!(edge["bindings"]["edge_color"], "kind");
        let parts = [
            "\"flows\" (arc): edges end at their nodes: places from foreign",
            "\"flows\" (arc): thickness has no counterpart",
            "\"h\" (hexagon): layers of this kind",
            "\"again\" (line): another layer of the edges",
            "\"wrong\" (point): its data set has the rows of edges",
            "data set \"Countries\" (countries) is not drawn",
            "readOnly, overlayBlending have no counterpart",
        ];
        assert_eq!(said.len(), parts.len(), "{said:?}");
        for part in parts {
            assert!(said.iter().any(|text| text.contains(part)), "{part}: {said:?}");
        }
    }

    #[test]
    fn any_shape_is_taken() {
        for kepler in [
            json!({}),
            json!({"layers": 3, "datasets": "x"}),
            json!({"layers": [null, 7, [], {"type": 3}, {"type": "point"}, {"type": "point", "config": []}]}),
            json!({"layers": [{"type": "arc", "config": {"columns": [1], "color": "red", "visConfig": 5}}]}),
            json!({"datasets": [4, {"info": 3}], "layers": [{"type": "point", "config": {"dataId": 4, "color": [-1, 999, null]}}]}),
        ] {
            let (.., said) = of(kepler.clone(), json!(null), json!([]));
            assert!(said.len() <= 12, "{kepler}: {said:?}");
        }
    }
}
