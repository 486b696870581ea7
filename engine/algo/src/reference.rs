//! The page that documents every algorithm and layout, out of the list itself.

use std::fmt::Write as _;

use crate::spec::{AlgorithmSpec, Gives, Kind};
use crate::{ALGORITHMS, schema};

/// The page as Markdown: what there is, then a section for each algorithm.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from(
        "# Algorithms and layouts\n\n\
         Written by `graphlume print algorithms`; a test holds it to the code. Every name can be called from a dataset's \
         `compute`, from a GFQL call (`compute_cugraph`, `compute_igraph`, `layout_cugraph`, \
         `layout_igraph`), from Cypher (`CALL graphistry.cugraph.NAME({...})`) and on the command line (`graphlume compute \
         NAME`, `graphlume layout NAME`). Names in brackets are not listed by the schema route: ours beyond the interface, \
         which are called alike, and those of NetworkX, which Cypher calls as `graphistry.nx.NAME`.\n\n\
         Every algorithm also takes `vertex_set`: `all` nodes, which is the default, or `edges_only`, those with an edge, which \
         is what libraries see that read a graph from its edges alone; the others then get no value.\n",
    );
    for kind in [Kind::Compute, Kind::Layout] {
        let heading = if kind == Kind::Compute { "Algorithms" } else { "Layouts" };
        let _ = write!(page, "\n## {heading}\n");
        for spec in ALGORITHMS.iter().filter(|a| a.kind == kind) {
            section(&mut page, spec);
        }
    }
    let missing: Vec<String> = schema::LIBRARIES
        .iter()
        .flat_map(|l| {
            let compute = l.compute.iter().map(move |n| (Kind::Compute, l.name, *n));
            compute.chain(l.layout.iter().map(move |n| (Kind::Layout, l.name, *n)))
        })
        .filter(|(kind, library, name)| crate::find(*kind, library, name).is_none())
        .map(|(_, library, name)| format!("`{library}.{name}`"))
        .collect();
    if !missing.is_empty() {
        let _ = write!(page, "\n## Not available yet\n\n{}\n", missing.join(", "));
    }
    page
}

fn section(page: &mut String, spec: &AlgorithmSpec) {
    let names = spec.names.iter().map(|n| {
        let name = format!("`{}.{}`", n.library, n.name);
        if n.extra { format!("[{name}]") } else { name }
    });
    let _ = write!(page, "\n### {}\n\n{}\n\n", spec.id, names.collect::<Vec<_>>().join(", "));
    let _ = write!(page, "{}", spec.doc);
    if !spec.paper.is_empty() {
        let _ = write!(page, " Source: {}. Cost: {}.", spec.paper, spec.cost.describe());
    }
    if crate::gpu::forms::of(spec.id).is_some() {
        page.push_str(" Large graphs are computed on the GPU where there is one.");
    }
    page.push('\n');
    if !spec.params.is_empty() {
        page.push_str("\n| parameter | type | default | meaning |\n|---|---|---|---|\n");
        for p in spec.params {
            let range = p
                .range
                .map(|(low, high)| {
                    format!(", {} to {}", crate::util::bound(low), crate::util::bound(high))
                })
                .unwrap_or_default();
            let dtype = p.dtype.describe().replace('|', "\\|");
            let _ = writeln!(page, "| {} | {dtype}{range} | {} | {} |", p.name, p.default, p.doc);
        }
    }
    if !spec.accepted.is_empty() {
        let names = spec.accepted.iter().map(|a| match a.values.filter(|v| *v != "[]") {
            None if a.values.is_some() => format!("`{}` (null only)", a.name),
            None => format!("`{}`", a.name),
            Some(values) => format!("`{}` ({values})", a.name),
        });
        let _ =
            write!(page, "\nAccepted without effect: {}.\n", names.collect::<Vec<_>>().join(", "));
    }
    let gives = match spec.gives {
        Gives::Nodes => "Columns of the nodes",
        Gives::Edges => "Columns of the edges",
        Gives::Graph if spec.outputs.is_empty() => "A graph",
        Gives::Graph => "A graph; in a dataset these columns of the nodes",
    };
    let outputs = spec.outputs.iter();
    let outputs = outputs.map(|o| format!("`{}` ({}): {}", o.name, o.dtype.describe(), o.doc));
    let outputs: Vec<String> = outputs.collect();
    let colon = if outputs.is_empty() { "" } else { ": " };
    let _ = write!(page, "\n{gives}{colon}{}.\n", outputs.join("; "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_that_of_the_list() {
        let written = include_str!("../../doc/ALGORITHMS.md");
        assert!(
            written.trim_end() == markdown().trim_end(),
            "run `graphlume print algorithms > engine/doc/ALGORITHMS.md`"
        );
    }
}
