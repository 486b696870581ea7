//! The names that the interface promises, whether or not they are carried out yet: what requests are
//! checked against, and what the schema route shows.

use serde_json::{Value, json};

use crate::util;

/// The names of one library.
#[derive(Debug)]
pub struct Library {
    /// Its name in requests.
    pub name: &'static str,
    /// Algorithms.
    pub compute: &'static [&'static str],
    /// Layouts.
    pub layout: &'static [&'static str],
}

/// Every library.
pub static LIBRARIES: &[Library] = &[
    Library {
        name: "cugraph",
        compute: &[
            "betweenness_centrality",
            "katz_centrality",
            "ecg",
            "leiden",
            "louvain",
            "spectralBalancedCutClustering",
            "spectralModularityMaximizationClustering",
            "connected_components",
            "strongly_connected_components",
            "weakly_connected_components",
            "core_number",
            "hits",
            "pagerank",
            "bfs",
            "bfs_edges",
            "sssp",
            "shortest_path",
            "shortest_path_length",
            "batched_ego_graphs",
            "edge_betweenness_centrality",
            "jaccard",
            "jaccard_w",
            "overlap",
            "overlap_coefficient",
            "overlap_w",
            "sorensen",
            "sorensen_coefficient",
            "sorensen_w",
            "ego_graph",
            "k_core",
            "minimum_spanning_tree",
        ],
        layout: &["force_atlas2"],
    },
    Library {
        name: "igraph",
        compute: &[
            "authority_score",
            "betweenness",
            "bibcoupling",
            "harmonic_centrality",
            "closeness",
            "clusters",
            "cocitation",
            "community_edge_betweenness",
            "community_fastgreedy",
            "community_infomap",
            "community_label_propagation",
            "community_leading_eigenvector",
            "community_leiden",
            "community_multilevel",
            "community_spinglass",
            "community_walktrap",
            "constraint",
            "gomory_hu_tree",
            "hub_score",
            "eccentricity",
            "eigenvector_centrality",
            "k_core",
            "pagerank",
            "spanning_tree",
        ],
        layout: &[
            "auto",
            "automatic",
            "bipartite",
            "circle",
            "circular",
            "dh",
            "davidson_harel",
            "drl",
            "drl_3d",
            "fr",
            "fruchterman_reingold",
            "fr_3d",
            "fr3d",
            "fruchterman_reingold_3d",
            "grid",
            "grid_3d",
            "graphopt",
            "kk",
            "kamada_kawai",
            "kk_3d",
            "kk3d",
            "kamada_kawai_3d",
            "lgl",
            "large",
            "large_graph",
            "mds",
            "random",
            "random_3d",
            "rt",
            "tree",
            "reingold_tilford",
            "rt_circular",
            "reingold_tilford_circular",
            "sphere",
            "spherical",
            "circle_3d",
            "circular_3d",
            "star",
            "sugiyama",
        ],
    },
];

/// The kinds of graph that a cuGraph algorithm may be told of.
pub static CUGRAPH_KINDS: &[&str] = &["Graph", "MultiGraph", "BiPartiteGraph"];

/// The schema as the interface shows it.
#[must_use]
pub fn document() -> Value {
    let side = |names: fn(&Library) -> &'static [&'static str]| -> Value {
        LIBRARIES.iter().map(|l| (l.name.to_owned(), json!(names(l)))).collect()
    };
    json!({
        "compute": side(|l| l.compute),
        "layout": side(|l| l.layout),
        "types": {"CuGraphKind": CUGRAPH_KINDS},
    })
}

/// The library called `name`.
#[must_use]
pub fn library(name: &str) -> Option<&'static Library> {
    LIBRARIES.iter().find(|l| l.name == name)
}

/// A did-you-mean clause for a name among `known`, or nothing.
#[must_use]
pub fn hint(name: &str, known: &[&str]) -> String {
    util::did_you_mean(name, known)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{ALGORITHMS, Kind};

    #[test]
    fn no_name_occurs_twice_and_there_are_as_many_as_promised() {
        for (library, compute, layout) in [("cugraph", 31, 1), ("igraph", 24, 39)] {
            let found = library_named(library);
            for (names, many) in [(found.compute, compute), (found.layout, layout)] {
                assert_eq!(names.len(), many, "{library}");
                assert_eq!(names.iter().collect::<HashSet<_>>().len(), many, "{library}");
            }
        }
    }

    fn library_named(name: &str) -> &'static Library {
        library(name).unwrap_or_else(|| unreachable!("{name} is in the list"))
    }

    #[test]
    fn what_is_carried_out_was_promised() {
        for algorithm in ALGORITHMS {
            for name in algorithm.names {
                // NetworkX's names are called from Cypher alone: the schema has no list of them.
                let Some(library) = library(name.library) else {
                    assert!(name.library == "nx" && name.extra, "{name:?}");
                    continue;
                };
                let names = match algorithm.kind {
                    Kind::Compute => library.compute,
                    Kind::Layout => library.layout,
                };
                assert_eq!(
                    names.contains(&name.name),
                    !name.extra,
                    "{}.{}",
                    name.library,
                    name.name
                );
            }
        }
    }

    #[test]
    fn the_document_has_three_parts() {
        let d = document();
        assert_eq!(d["compute"]["cugraph"][0], "betweenness_centrality");
        assert_eq!(d["layout"]["igraph"].as_array().map(Vec::len), Some(39));
        assert_eq!(d["types"], json!({"CuGraphKind": ["Graph", "MultiGraph", "BiPartiteGraph"]}));
        assert_eq!(d.as_object().map(serde_json::Map::len), Some(3));
    }
}
