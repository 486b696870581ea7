//! The one list of algorithms.

use crate::centrality::{
    betweenness_spec, closeness, constraint, eigenvector, hits, katz, pagerank, personalized,
};
use crate::community::{leiden, louvain_spec, optimal, specs};
use crate::component::{articulation, core_number, cores, strong, weak};
use crate::layout::davidson_harel::DAVIDSON_HAREL;
use crate::layout::force_directed::{drl, fruchterman_reingold, graphopt, lgl};
use crate::layout::stress::kamada_kawai;
use crate::layout::{
    auto, bipartite, circle, force_atlas2_spec, grid, mds, random, reingold_tilford, sphere, star,
    sugiyama,
};
use crate::path::{bfs, distances, ego, walks};
use crate::similarity::{cocitation, pairs};
use crate::tree::{gomory_hu, spanning};
use crate::triangle::{count, lcc, truss};
use crate::{AlgoError, AlgorithmSpec, Kind, networkx, util};

pub use crate::community::louvain_spec::louvain_options;
pub use crate::dispatch::run;
pub use crate::layout::force_atlas2_spec::{
    force_atlas2_end, force_atlas2_params, force_atlas2_start,
};

/// Every algorithm, in the order in which they are documented.
pub static ALGORITHMS: &[&AlgorithmSpec] = &[
    &pagerank::CUGRAPH,
    &pagerank::IGRAPH,
    &personalized::PERSONALIZED,
    &betweenness_spec::CUGRAPH,
    &betweenness_spec::EDGES,
    &betweenness_spec::IGRAPH,
    &closeness::CLOSENESS,
    &closeness::HARMONIC,
    &closeness::ECCENTRICITY,
    &katz::KATZ,
    &hits::HITS,
    &hits::AUTHORITY,
    &hits::HUB,
    &eigenvector::EIGENVECTOR,
    &constraint::CONSTRAINT,
    &louvain_spec::LOUVAIN,
    &louvain_spec::MULTILEVEL,
    &leiden::spec::LEIDEN,
    &leiden::spec::COMMUNITY_LEIDEN,
    &optimal::spec::OPTIMAL_MODULARITY,
    &specs::ECG,
    &specs::SPECTRAL_CUT,
    &specs::SPECTRAL_MODULARITY,
    &specs::LABEL_PROPAGATION,
    &specs::CDLP,
    &specs::INFOMAP,
    &specs::FASTGREEDY,
    &specs::LEADING_EIGENVECTOR,
    &specs::WALKTRAP,
    &specs::EDGE_BETWEENNESS,
    &specs::SPINGLASS,
    &strong::CONNECTED,
    &weak::WEAK,
    &strong::STRONG,
    &strong::CLUSTERS,
    &articulation::ARTICULATION,
    &core_number::CORE_NUMBER,
    &cores::K_CORE,
    &cores::CORENESS,
    &spanning::MINIMUM,
    &spanning::SPANNING_TREE,
    &gomory_hu::GOMORY_HU,
    &count::TRIANGLES,
    &lcc::LCC,
    &truss::K_TRUSS,
    &truss::TRUSS_NUMBER,
    &bfs::BFS,
    &ego::BFS_EDGES,
    &distances::SSSP,
    &distances::SHORTEST_PATH,
    &distances::SHORTEST_PATH_LENGTH,
    &ego::EGO,
    &ego::BATCHED,
    &walks::UNIFORM,
    &walks::BIASED,
    &pairs::JACCARD,
    &pairs::JACCARD_W,
    &pairs::OVERLAP,
    &pairs::OVERLAP_COEFFICIENT,
    &pairs::OVERLAP_W,
    &pairs::SORENSEN,
    &pairs::SORENSEN_COEFFICIENT,
    &pairs::SORENSEN_W,
    &cocitation::COCITATION,
    &cocitation::BIBCOUPLING,
    &networkx::PAGERANK,
    &networkx::BETWEENNESS,
    &networkx::EDGE_BETWEENNESS,
    &networkx::CLOSENESS,
    &networkx::DEGREE,
    &networkx::EIGENVECTOR,
    &networkx::KATZ,
    &networkx::HITS,
    &networkx::CONNECTED,
    &networkx::STRONG,
    &networkx::CORE_NUMBER,
    &networkx::K_CORE,
    &force_atlas2_spec::FORCE_ATLAS2,
    &circle::CIRCLE,
    &star::STAR,
    &grid::GRID,
    &grid::GRID_3D,
    &sphere::SPHERE,
    &random::RANDOM,
    &random::RANDOM_3D,
    &reingold_tilford::RT,
    &reingold_tilford::RT_CIRCULAR,
    &bipartite::BIPARTITE,
    &sugiyama::SUGIYAMA,
    &mds::MDS,
    &kamada_kawai::KAMADA_KAWAI,
    &kamada_kawai::KAMADA_KAWAI_3D,
    &fruchterman_reingold::FRUCHTERMAN_REINGOLD,
    &fruchterman_reingold::FRUCHTERMAN_REINGOLD_3D,
    &drl::DRL,
    &drl::DRL_3D,
    &lgl::LGL,
    &graphopt::GRAPHOPT,
    &DAVIDSON_HAREL,
    &auto::AUTO,
];

/// The algorithm of `kind` that `library` calls `name`.
#[must_use]
pub fn find(kind: Kind, library: &str, name: &str) -> Option<&'static AlgorithmSpec> {
    ALGORITHMS
        .iter()
        .copied()
        .find(|a| a.kind == kind && a.names.iter().any(|n| n.library == library && n.name == name))
}

/// The algorithm of `kind` called `name`, which may be `library.name`, a name in any library, or our own
/// id; of several the first in the list.
///
/// # Errors
/// [`AlgoError::UnknownAlgorithm`], which lists what there is.
pub fn find_any(kind: Kind, name: &str) -> Result<&'static AlgorithmSpec, AlgoError> {
    if let Some(spec) = name.split_once('.').and_then(|(library, name)| find(kind, library, name)) {
        return Ok(spec);
    }
    let of_kind = || ALGORITHMS.iter().copied().filter(|a| a.kind == kind);
    let found = of_kind()
        .find(|a| a.id == name)
        .or_else(|| of_kind().find(|a| a.names.iter().any(|n| n.name == name)));
    found.ok_or_else(|| {
        let mut known: Vec<&str> = of_kind().flat_map(|a| a.names.iter().map(|n| n.name)).collect();
        known.sort_unstable();
        known.dedup();
        AlgoError::UnknownAlgorithm {
            kind: kind.as_str(),
            name: name.to_owned(),
            hint: util::did_you_mean(name, &known),
            known: known.join(", "),
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use graphlume_graph::Topology;
    use graphlume_types::{CancelReason, CancelToken};

    use super::*;
    use crate::input::Unnamed;
    use crate::{Gives, Input, Output, ParamValues, Subgraph, Values, testkit};

    use Kind::{Compute, Layout};

    /// Layouts that ask nothing, because a formula gives each place.
    const CLOSED: [&str; 7] =
        ["circle", "star", "grid", "grid_3d", "sphere", "random", "random_3d"];

    fn run_with(
        spec: &'static AlgorithmSpec,
        t: &Arc<Topology>,
        pairs: &[&str],
    ) -> Result<Output, AlgoError> {
        let (data, cancel) = (Unnamed(t.num_nodes()), CancelToken::new());
        let library = spec.names[0].library;
        let input = Input { library, ..Input::plain(t, &data, &cancel) };
        run(spec, &input, &ParamValues::from_pairs(spec, pairs)?)
    }

    #[test]
    fn names_are_unique_defaults_are_legal_and_everything_is_documented() {
        let mut ids = BTreeSet::new();
        let mut names = BTreeSet::new();
        for spec in ALGORITHMS {
            assert!(ids.insert(spec.id), "{}", spec.id);
            assert!(
                !spec.doc.is_empty() && (!spec.outputs.is_empty() || spec.gives == Gives::Graph)
            );
            assert!(spec.kind == Layout || !spec.paper.is_empty(), "{}", spec.id);
            for n in spec.names {
                assert!(["cugraph", "igraph", "nx"].contains(&n.library));
                assert!(names.insert((spec.kind, n.library, n.name)), "{n:?}");
                assert_eq!(find(spec.kind, n.library, n.name).unwrap().id, spec.id);
            }
            for p in spec.params {
                assert!(!p.doc.is_empty());
                let pair = format!("{}={}", p.name, p.default);
                let given = ParamValues::from_pairs(spec, &[pair]).unwrap();
                assert_eq!(given, ParamValues::defaults(spec), "{} {}", spec.id, p.name);
            }
        }
    }

    #[test]
    fn every_name_that_the_interface_promises_is_found() {
        for library in crate::schema::LIBRARIES {
            for (kind, names) in [(Compute, library.compute), (Layout, library.layout)] {
                for name in names {
                    assert!(find(kind, library.name, name).is_some(), "{} {name}", library.name);
                }
            }
        }
    }

    #[test]
    fn every_algorithm_works_on_every_graph_of_the_zoo() {
        for spec in ALGORITHMS {
            for (name, t) in testkit::zoo() {
                let pairs: &[&str] = match spec.id {
                    "force_atlas2" => &["max_iter=40"],
                    "davidson_harel" => &["maxiter=1", "fineiter=1"],
                    _ => &[],
                };
                let what = format!("{} on {name}", spec.id);
                let results = testkit::at_1_2_3_threads(|| match run_with(spec, &t, pairs) {
                    Ok(output) => Some(output),
                    // cuGraph's iterations end at their limit with an error, and so do ours.
                    Err(AlgoError::NotConverged { .. }) => None,
                    // An exact method, which says so.
                    Err(AlgoError::TooLarge { limit: 200, size: 201.., .. }) => None,
                    // Graphs that have no two sides.
                    Err(AlgoError::Unfit { algorithm: "bipartite", .. }) => None,
                    Err(e) => panic!("{what}: {e}"),
                });
                let Some(out) = &results[0] else { continue };
                assert!(
                    results[0] == results[1] && results[0] == results[2],
                    "{what}: depends on threads"
                );
                let made = if spec.gives == Gives::Edges { &out.edges } else { &out.columns };
                let columns: Vec<&str> = made.iter().map(|c| c.name).collect();
                let declared: Vec<&str> = spec.outputs.iter().map(|o| o.name).collect();
                assert_eq!(columns, declared, "{what}");
                assert_eq!(out.graph.is_some(), spec.gives == Gives::Graph, "{what}");
                if let Some(Subgraph::Kept { edges, .. }) = &out.graph {
                    assert!(
                        edges.is_sorted() && edges.iter().all(|r| *r < t.num_edges()),
                        "{what}"
                    );
                }
                for c in made {
                    let many =
                        if spec.gives == Gives::Edges { t.num_edges() } else { t.num_nodes() };
                    assert_eq!(c.values.len(), many as usize, "{what}");
                    if let Values::F64(v) = &c.values {
                        assert!(v.iter().all(|x| x.is_finite()), "{what}");
                    }
                }
                assert_eq!(out.positions().is_some(), spec.kind == Layout, "{what}");
            }
        }
    }

    #[test]
    fn a_cancelled_run_ends() {
        let t = testkit::karate();
        let cancel = CancelToken::new();
        cancel.cancel(CancelReason::ClientGone);
        let data = Unnamed(t.num_nodes());
        let input = Input::plain(&t, &data, &cancel);
        for spec in ALGORITHMS.iter().filter(|s| s.kind == Compute || !CLOSED.contains(&s.id)) {
            let r = run(spec, &input, &ParamValues::defaults(spec));
            assert!(matches!(r, Err(AlgoError::Cancelled(_))), "{}", spec.id);
        }
    }

    #[test]
    fn wrong_names_and_values_are_refused_with_the_right_ones() {
        let e = find_any(Compute, "pagernk").unwrap_err().to_string();
        assert!(e.contains("did you mean \"pagerank\"?") && e.contains("louvain"), "{e}");
        assert_eq!(find_any(Layout, "cugraph.force_atlas2").unwrap().id, "force_atlas2");
        assert_eq!(find_any(Compute, "igraph.pagerank").unwrap().id, "pagerank_igraph");
        assert!(find_any(Layout, "pagerank").is_err());
        let t = testkit::karate();
        let pagerank = find_any(Compute, "pagerank").unwrap();
        let e = run_with(pagerank, &t, &["alpa=0.5"]).unwrap_err().to_string();
        assert!(
            e.contains("\"alpa\"")
                && e.contains("did you mean \"alpha\"?")
                && e.contains("max_iter"),
            "{e}"
        );
        for bad in [
            "alpha=1.5",
            "alpha=x",
            "alpha=[1]",
            "max_iter=0",
            "max_iter=1.5",
            "directed=7",
            "alpha",
        ] {
            let e = run_with(pagerank, &t, &[bad]).unwrap_err();
            assert!(matches!(e, AlgoError::BadParam { .. }), "{bad}: {e}");
        }
        let e = run_with(find_any(Compute, "bfs").unwrap(), &t, &["start=ghost"])
            .unwrap_err()
            .to_string();
        assert!(e.contains("\"start\"") && e.contains("ghost"), "{e}");
    }

    #[test]
    fn louvain_takes_levels_under_either_name_but_not_both() {
        let t = testkit::planted(600, 12, 0.3, 0.01);
        let louvain = find_any(Compute, "louvain").unwrap();
        let many = |pairs: &[&str]| {
            let out = run_with(louvain, &t, pairs).unwrap();
            match &out.columns[0].values {
                Values::I64(v) => v.iter().max().copied(),
                _ => None,
            }
        };
        assert_eq!(many(&["max_level=1"]), many(&["max_iter=1"]));
        assert_eq!(many(&[]), many(&["max_level=100", "threshold=1e-7"]));
        for bad in [
            &["max_level=0"][..],
            &["max_level=501"],
            &["threshold=-1"],
            &["threshold=nan"],
            &["max_level=5", "max_iter=5"],
        ] {
            let e = run_with(louvain, &t, bad).unwrap_err();
            assert!(matches!(e, AlgoError::BadParam { .. }), "{bad:?}: {e}");
        }
    }

    #[test]
    fn a_search_starts_where_it_is_told_and_else_where_the_most_edges_lead_on() {
        let t = testkit::karate();
        let distance = |pairs: &[&str]| {
            let out = run_with(find_any(Compute, "bfs").unwrap(), &t, pairs).unwrap();
            match &out.columns[0].values {
                Values::I64OrNull(v) => v.iter().position(|d| *d == Some(0)),
                _ => None,
            }
        };
        assert_eq!(distance(&["start=5"]), Some(5));
        assert_eq!(distance(&["directed=false"]), Some(33));
        let first = crate::start::leading_on(&t, true, 1)[0] as usize;
        assert_eq!(distance(&[]), Some(first));
    }
}
