//! Encodings of a dataset as they were uploaded, and as the document of a session changes them.

use arrow_array::ArrayRef;
use graphlume_types::Notice;
use serde_json::{Map, Value, json};

use crate::css::to_hex;
use crate::hues::RAMP;
use crate::kepler;

/// The field of an encoding by which a page asks for shapes where the values of a column name no icons.
pub(crate) const SHAPES: &str = "shapes";
/// A column of the nodes by its name, one row a node.
pub type NodeColumn = (String, ArrayRef);

/// The encodings of a dataset as they were uploaded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Encodings {
    /// `node_encodings`: `{bindings, complex?}`.
    pub node: Value,
    /// `edge_encodings`: `{bindings, complex?}`.
    pub edge: Value,
    /// `metadata`.
    pub metadata: Value,
    /// Columns of the nodes that are in no table, one row a node.
    pub node_columns: Vec<NodeColumn>,
    /// What of another program's encodings is not drawn.
    pub notices: Vec<Notice>,
}

/// Channels of a document, and what clients call their encodings; any other is a size.
const CHANNELS: [(&str, &str); 4] =
    [("color", "Color"), ("opacity", "Opacity"), ("icon", "Icon"), ("axis", "Axis")];

impl Encodings {
    /// Those of an upload; encodings of kepler.gl become those of this picture.
    #[must_use]
    pub fn new(mut node: Value, mut edge: Value, metadata: Value) -> Self {
        let notices = kepler::translate(&mut node, &mut edge);
        Self { node, edge, metadata, node_columns: Vec::new(), notices }
    }

    /// With the encodings of a session's document in place of the upload's: by `node.color`, `node.size`, `node.opacity`,
    /// `node.icon`, the same of `edge`, and `node.axis`, whose rows are drawn as they are. An encoding of a column without colours
    /// and without a mapping binds it plainly; one of icons then has shapes where the values name no icons.
    #[must_use]
    pub fn changed(&self, others: &Map<String, Value>) -> Self {
        let mut out = self.clone();
        for (channel, encoding) in others {
            let (side, spec) = match channel.split_once('.') {
                Some(("node", channel)) => (("point", "node", channel), &mut out.node),
                Some(("edge", channel)) => (("edge", "edge", channel), &mut out.edge),
                _ => continue,
            };
            let (client, own, channel) = side;
            let kind = CHANNELS.iter().find(|(name, _)| *name == channel).map_or("Size", |c| c.1);
            let key = format!("{client}{kind}Encoding");
            let is_simple = ["colors", "mapping", "rows"]
                .iter()
                .all(|f| encoding.get(f).is_none_or(Value::is_null));
            if !spec.is_object() {
                *spec = json!({});
            }
            for state in ["current", "default"] {
                if let Some(state) =
                    spec.pointer_mut(&format!("/complex/{state}")).and_then(Value::as_object_mut)
                {
                    state.remove(&key);
                }
            }
            let is_ramp =
                channel == "color" && encoding.get("variation") == Some(&json!("continuous"));
            if is_simple && channel == "icon" {
                let mut encoding = encoding.clone();
                encoding[SHAPES] = json!(true);
                spec["complex"]["current"][key] = encoding;
            } else if is_simple && is_ramp {
                // A bound column of whole numbers would name colours of a palette.
                let mut encoding = encoding.clone();
                encoding["colors"] = RAMP.iter().map(|c| json!(to_hex(*c))).collect();
                spec["complex"]["current"][key] = encoding;
            } else if is_simple {
                spec["bindings"][format!("{own}_{channel}")] =
                    encoding.get("attribute").cloned().unwrap_or_default();
            } else {
                spec["complex"]["current"][key] = encoding.clone();
            }
        }
        out
    }
}
