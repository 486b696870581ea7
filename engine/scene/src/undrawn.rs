//! What is bound and has no effect on the picture, with the reason.

use crate::bind::{Cx, NOT_SHOWN};

/// Names every encoding that is kept and not drawn, for the notices of a scene.
pub(crate) fn tell(cx: &mut Cx<'_>) {
    for key in [cx.node.not_drawn(), cx.edge.not_drawn()].concat() {
        let why = if key.contains("Kepler") && key.contains("Legend") {
            "the layers of Kepler's maps are drawn with the colours and sizes of this picture, whose legend explains them"
        } else {
            "this kind of encoding is unknown"
        };
        cx.tell(NOT_SHOWN, format!("{key} is kept with the dataset and not drawn: {why}"));
    }
}
