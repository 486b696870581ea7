//! The programs of Graphviz by layouts of the registry that draw alike.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use graphlume_expr::QueryError;
use graphlume_store::{CallOp, PropertyGraph};
use graphlume_types::Notice;
use serde_json::{Value, json};

use super::{floats, placed, with_all};
use crate::context::CallContext;
use crate::params::Params;

/// Points between two layers, and between two nodes of a layer, as Graphviz's own distances are.
const SEPARATION: f64 = 72.0;

/// A program, and what stands for it.
struct Program {
    name: &'static str,
    layout: &'static str,
    /// Whether the first layer is the uppermost, where ours counts downwards.
    falls: bool,
}

const PROGRAMS: [Program; 8] = [
    Program { name: "dot", layout: "sugiyama", falls: true },
    Program { name: "neato", layout: "kk", falls: false },
    Program { name: "fdp", layout: "fr", falls: false },
    Program { name: "sfdp", layout: "drl", falls: false },
    Program { name: "circo", layout: "circle", falls: false },
    Program { name: "twopi", layout: "rt_circular", falls: false },
    Program { name: "osage", layout: "grid", falls: false },
    Program { name: "patchwork", layout: "grid", falls: false },
];

/// What the program `prog` is for, by a layout of ours, in points. Attributes of graphs, nodes and edges say how Graphviz
/// draws, and change nothing here.
pub(crate) fn graphviz(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    let name = params.text("prog")?.unwrap_or("dot");
    let program = PROGRAMS.iter().find(|program| program.name == name).ok_or_else(|| {
        let known: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        let error = params.wrong("prog", "a program of Graphviz", &Value::from(name));
        error.suggest(format!("the programs are: {}", known.join(", ")))
    })?;
    params.flag("strict", true)?;
    params.text("args")?;
    for object in ["graph_attr", "node_attr", "edge_attr"] {
        if let Some(value) = params.get(object).filter(|value| !value.is_object()) {
            return Err(params.wrong(object, "an object", value));
        }
    }
    let directed = params.flag("directed", true)?;
    let call = json!({"layout": program.layout, "directed": directed, "bind_position": false});
    let Value::Object(map) = call else { return Err(params.missing("prog")) };
    let call = CallOp { function: "layout_igraph".to_owned(), params: map };
    let laid = context.call(graph, &call)?;
    context.notices.note(Notice::new(
        "layout-stands-in",
        format!("{name:?} is drawn by the layout {:?} of this server", program.layout),
    ));
    let names = ["x", "y"].map(|axis| {
        let given = params.text(&format!("{axis}_out_col"))?;
        Ok::<_, QueryError>(given.unwrap_or(axis).to_owned())
    });
    let [x, y] = names;
    let (x, y) = (x?, y?);
    let table = laid.node_table(context.cancel)?;
    let points = |axis: &str, scale: f64| {
        let column = table.column(axis)?.as_primitive_opt::<Float64Type>()?;
        Some(floats(column.iter().map(|v| v.map_or(f64::NAN, |v| v * scale))))
    };
    let down = if program.falls { -SEPARATION } else { SEPARATION };
    let (Some(xs), Some(ys)) = (points("x", SEPARATION), points("y", down)) else {
        return Ok(laid);
    };
    let nodes = with_all(&graph.node_table(context.cancel)?, vec![(&x, xs), (&y, ys)])?;
    if !params.flag("bind_position", true)? {
        return graph.replaced(Some(nodes), graph.edges().cloned());
    }
    placed(graph, nodes, (&x, &y), 0.into())
}
