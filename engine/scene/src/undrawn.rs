//! Encodings that are bound and have no effect on the picture, with the reason.

use crate::bind::{Cx, Spec};
use crate::kepler;
use crate::layer::Anchor;
use crate::legend::kind_of;
use crate::notices::NOT_SHOWN;

/// Names every encoding that is kept and not drawn, for the notices of a scene.
pub(crate) fn tell(cx: &mut Cx<'_>) {
    for key in [not_drawn(cx.node), not_drawn(cx.edge)].concat() {
        let why = if key.contains("Kepler") && key.contains("Legend") {
            "the layers of Kepler's maps are drawn with the colours and sizes of this picture, whose legend explains them"
        } else {
            "this kind of encoding is unknown"
        };
        cx.tell(NOT_SHOWN, format!("{key} is kept with the dataset and not drawn: {why}"));
    }
}

/// Keys of complex encodings of one side of which nothing is drawn.
fn not_drawn(spec: Spec<'_>) -> Vec<&str> {
    let unknown = |key: &&str| {
        if *key == kepler::KEY {
            return false;
        }
        let rest = key.strip_prefix(spec.side.key()).and_then(|k| k.strip_suffix("Encoding"));
        !rest.is_some_and(|rest| is_drawn(kind_of(rest)))
    };
    let mut found: Vec<&str> = spec.keys().filter(unknown).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a kind of encoding, such as `Color`, changes the picture or the legend.
fn is_drawn(kind: &str) -> bool {
    let is_place = || Anchor::ALL.iter().any(|(_, name)| *name == kind);
    ["Axis", "Color", "Opacity", "Size", "Weight"].contains(&kind) || is_place()
}
