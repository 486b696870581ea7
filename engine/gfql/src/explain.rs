//! Plans as text.

use graphlume_expr::{QueryError, Strictness};
use graphlume_store::PropertyGraph;
use graphlume_types::CancelToken;

use crate::chain::{Ran, side};
use crate::scope::{NO_ROWS, Others, Scope, Shared, Step};
use crate::wire::{Binding, Chain, EdgeOp, Filter, Let, NodeOp, Op, Query};
use graphlume_graph::Direction;

/// Characters of one test or of the parameters of one call that are shown.
const SHOWN_CHARS: usize = 120;

/// The operations of a query, in the order in which they are evaluated, a line each. The text is stable.
#[must_use]
pub fn explain(query: &Query) -> String {
    let mut out = String::new();
    match query {
        Query::Chain(ops) => chain(ops, 0, &mut out),
        Query::Let(list) => bindings(list, 0, &mut out),
    }
    out
}

/// The same for a graph. Where the graph has a GPU, a last line of a chain says of its pattern whether the GPU would look for
/// it, or why the CPU would. Only what begins at the graph itself is told: what is made on the way has no copy on a GPU.
///
/// # Errors
/// [`QueryError`] because the work was stopped. Of filters that do not fit the graph nothing is said, as without a GPU.
pub fn explain_on(
    graph: &PropertyGraph,
    query: &Query,
    strictness: Strictness,
    cancel: &CancelToken,
) -> Result<String, QueryError> {
    let mut out = explain(query);
    let Query::Chain(of) = query else { return Ok(out) };
    let steps = of.ops.iter().map_while(|op| match op {
        Op::Node(op) => Some(Step::Node(op.clone())),
        Op::Edge(op) => Some(Step::Edge(op.clone())),
        Op::Call(_) => None,
    });
    let steps: Vec<Step> = steps.collect();
    if steps.is_empty() || graph.chain_device().is_none() {
        return Ok(out);
    }
    let (shared, others) = (Shared::default(), Others::default());
    let scope = Scope { strictness, others: &others, shared: &shared, rows: &NO_ROWS, cancel };
    let ran = match of.clauses.is_empty() {
        true => match side(graph, &steps, scope) {
            Ok(ran) => ran,
            Err(_) => {
                cancel.check()?;
                return Ok(out);
            }
        },
        false => Ran::Cpu("conditions along paths are tested by the CPU".to_owned()),
    };
    match ran {
        Ran::NoDevice => {}
        Ran::Gpu(effort) => line(&mut out, 1, &format!("the pattern on the GPU: {effort}")),
        Ran::Cpu(why) => line(&mut out, 1, &format!("the pattern on the CPU: {why}")),
    }
    Ok(out)
}

fn line(out: &mut String, depth: usize, text: &str) {
    out.push_str(&"  ".repeat(depth));
    out.push_str(text.trim_end());
    out.push('\n');
}

fn bindings(list: &Let, depth: usize, out: &mut String) {
    line(out, depth, "Let");
    for (i, (name, binding)) in list.bindings.iter().enumerate() {
        // What is there already is not made again.
        let before = list.bindings[..i].iter().find(|(_, b)| b == binding);
        if let (Some((before, _)), Binding::Chain(_) | Binding::Ref(..)) = (before, binding) {
            line(out, depth + 1, &format!("{name} = as {before}"));
            continue;
        }
        match binding {
            Binding::Chain(ops) => {
                line(out, depth + 1, &format!("{name} ="));
                chain(ops, depth + 2, out);
            }
            Binding::Ref(other, ops) => {
                line(out, depth + 1, &format!("{name} = from {other}"));
                chain(ops, depth + 2, out);
            }
            Binding::Let(inner) => {
                line(out, depth + 1, &format!("{name} ="));
                bindings(inner, depth + 2, out);
            }
            Binding::Remote(dataset) => {
                line(out, depth + 1, &format!("{name} = dataset {dataset}"));
            }
        }
    }
}

fn chain(chain: &Chain, depth: usize, out: &mut String) {
    line(out, depth, "Chain");
    for op in &chain.ops {
        match op {
            Op::Node(op) => line(out, depth + 1, &format!("Node{}", node(op))),
            Op::Edge(op) => line(out, depth + 1, &edge(op)),
            Op::Call(call) => {
                let params = cut(&serde_json::Value::Object(call.params.clone()).to_string());
                line(out, depth + 1, &format!("Call {} {params}", call.function));
            }
        }
    }
    for c in &chain.clauses {
        let (cmp, a, b) = (c.cmp, &c.left, &c.right);
        line(out, depth + 1, &format!("Where {}.{} {cmp:?} {}.{}", a.0, a.1, b.0, b.1));
    }
}

fn cut(text: &str) -> String {
    let short: String = text.chars().take(SHOWN_CHARS).collect();
    if short.len() < text.len() { format!("{short}...") } else { short }
}

fn tests(filter: &Filter) -> String {
    let one = |(column, test): &(String, _)| format!("{column} {}", cut(&format!("{test:?}")));
    filter.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn node(op: &NodeOp) -> String {
    let mut text = op.name.as_ref().map(|n| format!(" {n}")).unwrap_or_default();
    if !op.filter.is_empty() {
        text += &format!(" [{}]", tests(&op.filter));
    }
    if let Some(query) = &op.query {
        text += &format!(" query {:?}", cut(query));
    }
    text
}

fn edge(op: &EdgeOp) -> String {
    let way = match op.direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
        Direction::Undirected => "either way",
    };
    let hops = match (op.min, op.max) {
        (a, Some(b)) if a == b => format!("hops {a}"),
        (a, Some(b)) => format!("hops {a} to {b}"),
        (a, None) => format!("hops {a} to the end"),
    };
    let name = op.name.as_ref().map(|n| format!(" {n}")).unwrap_or_default();
    let mut text = format!("Edge{name} {way}, {hops}{}", node(&op.edge));
    for (what, side) in [("from", &op.source), ("to", &op.destination)] {
        let side = node(side);
        if !side.is_empty() {
            text += &format!(", {what}{side}");
        }
    }
    if op.output_min.is_some() || op.output_max.is_some() {
        let end = |n: Option<u32>| n.map_or_else(|| "any".to_owned(), |n| n.to_string());
        text += &format!(", kept from {} to {}", end(op.output_min), end(op.output_max));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_plan_has_a_line_for_each_operation() {
        let query = json!({"type": "Let", "bindings": {
            "a": [{"type": "Node", "name": "n", "filter_dict": {"x": {"type": "GT", "val": 3}}},
                {"type": "Edge", "direction": "forward", "min_hops": 1, "max_hops": 2,
                    "destination_node_match": {"y": 1}}],
            "b": {"type": "Ref", "ref": "a",
                "chain": [{"type": "Call", "function": "rows", "params": {"table": "nodes"}}]},
            "c": {"chain": [{"type": "Node", "name": "m"}],
                "where": [{"eq": {"left": "m.x", "right": "m.y"}}]},
            "d": {"type": "Ref", "ref": "a",
                "chain": [{"type": "Call", "function": "rows", "params": {"table": "nodes"}}]},
        }});
        let plan = super::explain(&crate::parse(&query).expect("a query"));
        let want = "Let\n  a =\n    Chain\n      Node n [x Compare(Gt, Int(3))]\n      \
            Edge forward, hops 1 to 2, to [y Same(Int(1))]\n  b = from a\n    Chain\n      \
            Call rows {\"table\":\"nodes\"}\n  c =\n    Chain\n      Node m\n      Where m.x Eq m.y\n  d = as b\n";
        assert_eq!(plan, want);
    }
}
