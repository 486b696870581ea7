//! Starts of searches: the default, and the notice about a start that leads nowhere.

use std::cmp::Reverse;

use graphlume_graph::Topology;
use graphlume_types::Notice;

use crate::input::is_directed;
use crate::{Input, ParamValues};

/// A search begins where no edge leads on.
pub const WITHOUT_WAY_OUT: &str = "start-without-way-out";
/// Starts that a notice names.
const SHOWN: usize = 3;
/// Characters of an id that a notice shows.
const ID_CHARS: usize = 64;

/// The nodes from which the most edges lead on, of equal ones the first: where a search begins that is told no start.
#[must_use]
pub fn leading_on(topology: &Topology, directed: bool, many: usize) -> Vec<u32> {
    let mut nodes: Vec<u32> = (0..topology.num_nodes()).collect();
    let ways = |v: &u32| Reverse(ways_out(topology, directed, *v));
    if many == 1 {
        return nodes.into_iter().min_by_key(ways).into_iter().collect();
    }
    nodes.sort_by_cached_key(ways);
    nodes.truncate(many);
    nodes
}

/// Edges that lead from a node to another one: those that leave it, or all where they lead either way.
fn ways_out(topology: &Topology, directed: bool, v: u32) -> usize {
    let others = |list: &[u32]| list.iter().filter(|u| **u != v).count();
    let ins = if directed { 0 } else { others(topology.in_neighbors(v)) };
    others(topology.out_neighbors(v)) + ins
}

/// What is said of a search that begins where no edge leads on: of starts that were given each such one, of those that
/// were chosen only when none leads on. `field` is the request as answers name it, `params` what stands
/// before the names of its parameters.
#[must_use]
pub fn notice(
    input: &Input<'_>,
    p: &ParamValues,
    (field, params): (&str, &str),
    id: impl Fn(u32) -> String,
) -> Option<Notice> {
    let param = p.spec().starts?.param;
    let directed = is_directed(p.spec(), p);
    let starts = input.starts(p).ok()?;
    let ends = |v: &u32| ways_out(input.topology, directed, *v) == 0;
    let stuck: Vec<u32> = starts.iter().copied().filter(ends).collect();
    let is_given = p.is_given(param);
    if stuck.is_empty() || (!is_given && stuck.len() < starts.len()) {
        return None;
    }
    let shown = |v: &u32| format!("{:?}", id(*v).chars().take(ID_CHARS).collect::<String>());
    let mut names = stuck.iter().take(SHOWN).map(shown).collect::<Vec<_>>().join(", ");
    if stuck.len() > SHOWN {
        names.push_str(&format!(" and {} more", stuck.len() - SHOWN));
    }
    let (by, remedy) = match is_given {
        true => (format!("{params}{param}"), "name a node that edges leave"),
        false => ("chosen, for none is named".to_owned(), "name another node"),
    };
    let or = match directed {
        true => format!(", or let edges lead either way with {params}directed=false"),
        false => String::new(),
    };
    let text = format!(
        "{field} starts at {names} ({by}), from which no edge leads to another node: nothing else is reached; {remedy} in \
         {params}{param}{or}"
    );
    Some(Notice::new(WITHOUT_WAY_OUT, text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use graphlume_types::CancelToken;

    use super::*;
    use crate::input::Unnamed;
    use crate::spec::Kind;
    use crate::{ALGORITHMS, Dtype, find};

    fn told(edges: &[(u32, u32)], n: u32, name: &str, pairs: &[&str]) -> Option<String> {
        let (src, dst): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
        let topology = Arc::new(Topology::from_coo(n, &src, &dst));
        let (names, cancel) = (Unnamed(n), CancelToken::new());
        let input = Input::plain(&topology, &names, &cancel);
        let p =
            ParamValues::from_pairs(find(Kind::Compute, "cugraph", name).unwrap(), pairs).unwrap();
        let found = notice(&input, &p, ("compute.hops", "compute.hops.params."), |v| v.to_string());
        found.map(|notice| notice.text)
    }

    #[test]
    fn a_default_start_has_the_most_ways_out() {
        // The node 3 has the most edges, and all of them lead to it; node 1 has a loop besides.
        let edges = [(0, 3), (1, 3), (2, 3), (1, 1), (2, 0), (4, 3)];
        let (src, dst): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
        let t = Topology::from_coo(6, &src, &dst);
        assert_eq!(leading_on(&t, true, 1), [2]);
        assert_eq!(leading_on(&t, false, 1), [3]);
        assert_eq!(leading_on(&t, true, 10), [2, 0, 1, 4, 3, 5]);
        assert_eq!(told(&edges, 6, "bfs", &[]), None);
        assert_eq!(told(&edges, 6, "batched_ego_graphs", &[]), None, "some of them lead on");
        assert!(leading_on(&Topology::from_coo(0, &[], &[]), true, 1).is_empty());
    }

    #[test]
    fn a_start_that_leads_nowhere_is_named_with_the_remedy() {
        let edges = [(0, 1), (2, 2)];
        let text = told(&edges, 3, "bfs", &["start=1"]).unwrap();
        for part in ["\"1\"", "compute.hops.params.start", "params.directed=false", "nothing else"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(told(&edges, 3, "bfs", &["start=1", "directed=false"]), None);
        let text = told(&edges, 3, "sssp", &["source=2", "directed=false"]).unwrap();
        assert!(text.contains("params.source") && !text.contains("directed"), "{text}");
        let text = told(&[(0, 0)], 2, "ego_graph", &[]).unwrap();
        assert!(text.contains("chosen") && text.contains("params.n"), "{text}");
        let text = told(&edges, 3, "batched_ego_graphs", &["seeds=[0, 1, 2]"]).unwrap();
        assert!(text.contains("\"1\", \"2\" ("), "{text}");
        assert_eq!(told(&edges, 3, "pagerank", &[]), None);
    }

    #[test]
    fn starts_are_parameters_that_name_nodes() {
        for spec in ALGORITHMS {
            let Some(starts) = spec.starts else { continue };
            let param = spec.params.iter().find(|p| p.name == starts.param).unwrap();
            assert!(matches!(param.dtype, Dtype::Node | Dtype::Nodes), "{}", spec.id);
            assert!(param.default == "null" && param.doc.contains("lead on"), "{}", spec.id);
        }
    }
}
