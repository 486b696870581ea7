//! What is bound and has no effect on the picture, with the reason.

use crate::bind::{Cx, NOT_SHOWN};

/// Names every encoding that is kept and not drawn, for the notices of a scene.
pub(crate) fn tell(cx: &mut Cx<'_>) {
    for key in [cx.node.not_drawn(), cx.edge.not_drawn()].concat() {
        let why = if !key.contains("Kepler") {
            "this kind of encoding is unknown"
        } else if key.contains("Legend") {
            "the layers of Kepler's maps, which this legend would explain, are not drawn either; bind the legend of a \
             colour, a size or an icon instead"
        } else {
            "the page has a map of its own, with coast lines and borders, where nodes have a longitude and a latitude"
        };
        cx.tell(NOT_SHOWN, format!("{key} is kept with the dataset and not drawn: {why}"));
    }
}
