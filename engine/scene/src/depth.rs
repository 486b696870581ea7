//! The third coordinate of nodes, which a page shows on request.

use crate::bind::Cx;
use crate::centre::centred;
use crate::elements::Side;
use crate::measure::plain;
use crate::notices::NO_NUMBERS;
use crate::wire::is_depth;

/// The column that is taken for it where none is bound, as layouts in space leave it.
pub const DEPTH_COLUMN: &str = "z";

/// The z of every node, NaN where there is none: of the column that `node_z` is bound to, else of a numeric node column
/// `z`. `None` where no two nodes differ in it, for then there is no space to show.
pub(crate) fn depths(cx: &mut Cx<'_>) -> Option<Vec<f32>> {
    let source = match cx.node.binding("node_z") {
        Some(name) => cx.column(Side::Node, name, "z")?,
        None => {
            let numeric = |table: &graphlume_table::Table| {
                table.column(DEPTH_COLUMN).is_some_and(|c| c.data_type().is_numeric())
            };
            cx.nodes.filter(|nodes| numeric(nodes))?;
            cx.node_column(DEPTH_COLUMN)?
        }
    };
    let Some(measured) = plain(&source) else {
        let text = format!(
            "z column {:?} holds no number: the page shows no third dimension",
            source.name
        );
        cx.tell(NO_NUMBERS, text);
        return None;
    };
    let z = centred(&measured.values);
    has_depth(&z).then_some(z)
}

/// Whether two of them have a place and differ.
#[must_use]
pub fn has_depth(z: &[f32]) -> bool {
    let mut finite = z.iter().filter(|z| is_depth(**z));
    let first = finite.next();
    finite.any(|z| Some(z) != first)
}
