//! Datasets that ship with the server: small public samples under the names that old links use, and a
//! larger one for a first impression. They live in the program, not in the store, and anyone may look.

mod generate;

use std::sync::OnceLock;

use bytes::Bytes;
use graphlume_engine::{Encodings, Loaded};
use graphlume_ingest::{Format, ParseCx, ParseSpec, Source, parse};
use graphlume_table::Table;
use graphlume_types::{CancelToken, DatasetId};
use serde_json::{Map, Value, json};

use crate::error::ServiceError;
use crate::reply::DatasetReply;

/// The name of the large demo dataset.
pub const DEMO: &str = "demo";

/// A generated table pair as CSV text.
struct Csv {
    edges: String,
    nodes: Option<String>,
}

/// One built-in dataset.
pub(crate) struct Builtin {
    /// Its name in addresses.
    pub alias: &'static str,
    title: &'static str,
    description: &'static str,
    make: fn() -> Csv,
    node_bindings: &'static [(&'static str, &'static str)],
    edge_bindings: &'static [(&'static str, &'static str)],
}

const TITLED: &[(&str, &str)] = &[("node", "id"), ("node_title", "name"), ("node_label", "name")];
const ENDS: &[(&str, &str)] = &[("source", "src"), ("destination", "dst")];
const WEIGHTED: &[(&str, &str)] =
    &[("source", "src"), ("destination", "dst"), ("edge_weight", "weight")];

/// The list. A dataset's id follows from its place, so that places never change.
static BUILTINS: [Builtin; 5] = [
    Builtin {
        alias: DEMO,
        title: "A small world",
        description: "Generated: groups of friends within regions, and a few who know people elsewhere.",
        make: generate::world,
        node_bindings: TITLED,
        edge_bindings: WEIGHTED,
    },
    Builtin {
        alias: "Miserables",
        title: "Les Misérables",
        description: "Who meets whom in the chapters of the novel (Knuth, The Stanford GraphBase, 1993).",
        make: miserables,
        node_bindings: &[],
        edge_bindings: WEIGHTED,
    },
    Builtin {
        alias: "Karate",
        title: "Karate club",
        description: "Friendships in a club before it split in two (Zachary 1977).",
        make: karate,
        node_bindings: TITLED,
        edge_bindings: ENDS,
    },
    Builtin {
        alias: "Facebook",
        title: "Circles of friends",
        description: "Generated in the likeness of friendship circles in a social network.",
        make: generate::circles,
        node_bindings: &[],
        edge_bindings: ENDS,
    },
    Builtin {
        alias: "Twitter",
        title: "Followers",
        description: "Generated in the likeness of who follows whom: few are followed by many.",
        make: generate::followers,
        node_bindings: &[],
        edge_bindings: ENDS,
    },
];

/// The built-in dataset of a name.
pub(crate) fn by_name(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|b| b.alias.eq_ignore_ascii_case(name))
}

/// The built-in dataset of an id.
pub(crate) fn by_id(id: DatasetId) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|b| b.id() == id)
}

impl Builtin {
    /// Its id: readable bytes that no random id has.
    pub(crate) fn id(&self) -> DatasetId {
        let place = BUILTINS.iter().position(|b| b.alias == self.alias).unwrap_or(BUILTINS.len());
        let mut bytes = *b"graphlume-demo\0\0";
        bytes[15] = u8::try_from(place).unwrap_or(u8::MAX);
        DatasetId::from_bytes(bytes)
    }

    fn encodings(bindings: &[(&str, &str)]) -> Value {
        let map: Map<String, Value> =
            bindings.iter().map(|(k, v)| ((*k).to_owned(), Value::from(*v))).collect();
        json!({ "bindings": map })
    }

    fn metadata() -> Value {
        json!({ "agent": "graphlume", "apiversion": "3" })
    }

    /// The tables, made anew.
    pub(crate) fn load(&self, cancel: &CancelToken) -> Result<Loaded, ServiceError> {
        let csv = (self.make)();
        let nodes = csv.nodes.map(|text| parse_csv(text, cancel)).transpose()?;
        Ok(Loaded {
            name: self.title.to_owned(),
            description: self.description.to_owned(),
            edges: parse_csv(csv.edges, cancel)?,
            source: "src".to_owned(),
            destination: "dst".to_owned(),
            node: nodes.is_some().then(|| "id".to_owned()),
            nodes,
            encodings: Encodings::new(
                Self::encodings(self.node_bindings),
                Self::encodings(self.edge_bindings),
                Self::metadata(),
            ),
            compute: Vec::new(),
            owner: None,
            version: 0,
            notices: Vec::new(),
        })
    }

    pub(crate) fn reply(&self) -> DatasetReply {
        static EDGES: [OnceLock<u64>; BUILTINS.len()] = [const { OnceLock::new() }; BUILTINS.len()];
        let place = usize::from(self.id().as_bytes()[15]).min(EDGES.len() - 1);
        let lines = |text: &str| (text.lines().count() as u64).saturating_sub(1);
        let edge_count = *EDGES[place].get_or_init(|| lines(&(self.make)().edges));
        let when = "2026-01-01T00:00:00.000000Z".to_owned();
        DatasetReply {
            dataset_id: self.id().to_string(),
            name: self.title.to_owned(),
            slug: None,
            author: 0,
            node_count: None,
            edge_count: Some(edge_count),
            agent_name: Some("graphlume".to_owned()),
            agent_version: None,
            uri_tag: None,
            description: self.description.to_owned(),
            image: String::new(),
            created_at: when.clone(),
            updated_at: when.clone(),
            node_files: json!([]),
            edge_files: json!([]),
            node_transform: String::new(),
            edge_transform: String::new(),
            edge_hypergraph_transform: json!([]),
            compute: Value::Null,
            layout: Value::Null,
            node_encodings: Self::encodings(self.node_bindings),
            edge_encodings: Self::encodings(self.edge_bindings),
            metadata: Self::metadata(),
            timestamp: when,
            legacy_dataset_name: None,
            legacy_dataset_author: None,
            org_name: String::new(),
            notices: Vec::new(),
            privacy: None,
            extra: Map::new(),
        }
    }
}

fn parse_csv(text: String, cancel: &CancelToken) -> Result<Table, ServiceError> {
    let spec = ParseSpec::plain(Format::Csv);
    let source = Source::Bytes(Bytes::from(text));
    let cx = ParseCx { cancel: cancel.clone(), ..ParseCx::default() };
    let parsed = parse(&spec, &source, &cx).map_err(|e| ServiceError::unreadable(&e))?;
    let first = parsed.tables.into_iter().next();
    first.map(|(_, t)| t).ok_or_else(|| ServiceError::Internal("an empty demo table".to_owned()))
}

/// Lines `name: name weight, …`.
fn miserables() -> Csv {
    let mut edges = String::from("src,dst,weight\n");
    for line in include_str!("miserables.txt").lines() {
        let Some((from, others)) = line.split_once(": ") else { continue };
        for other in others.split(", ") {
            if let Some((to, weight)) = other.split_once(' ') {
                edges.push_str(&format!("{from},{to},{weight}\n"));
            }
        }
    }
    Csv { edges, nodes: None }
}

/// Each member with the friends of a higher number.
const KARATE: &[(u8, &[u8])] = &[
    (1, &[2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32]),
    (2, &[3, 4, 8, 14, 18, 20, 22, 31]),
    (3, &[4, 8, 9, 10, 14, 28, 29, 33]),
    (4, &[8, 13, 14]),
    (5, &[7, 11]),
    (6, &[7, 11, 17]),
    (7, &[17]),
    (9, &[31, 33, 34]),
    (10, &[34]),
    (14, &[34]),
    (15, &[33, 34]),
    (16, &[33, 34]),
    (19, &[33, 34]),
    (20, &[34]),
    (21, &[33, 34]),
    (23, &[33, 34]),
    (24, &[26, 28, 30, 33, 34]),
    (25, &[26, 28, 32]),
    (26, &[32]),
    (27, &[30, 34]),
    (28, &[34]),
    (29, &[32, 34]),
    (30, &[33, 34]),
    (31, &[33, 34]),
    (32, &[33, 34]),
    (33, &[34]),
];
/// Those who stayed with the instructor.
const KARATE_INSTRUCTOR: &[u8] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22];

fn karate() -> Csv {
    let mut edges = String::from("src,dst\n");
    for (from, others) in KARATE {
        for to in *others {
            edges.push_str(&format!("{from},{to}\n"));
        }
    }
    let mut nodes = String::from("id,name,club\n");
    for id in 1..=34u8 {
        let club = if KARATE_INSTRUCTOR.contains(&id) { "instructor" } else { "officer" };
        nodes.push_str(&format!("{id},Member {id},{club}\n"));
    }
    Csv { edges, nodes: Some(nodes) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::collections::HashSet;

    fn ends(csv: &Csv) -> Vec<(&str, &str)> {
        let cells = |l: &'_ str| -> (usize, usize) {
            let a = l.find(',').unwrap();
            let rest = &l[a + 1..];
            (a, a + 1 + rest.find(',').unwrap_or(rest.len()))
        };
        csv.edges
            .lines()
            .skip(1)
            .map(|l| (&l[..cells(l).0], &l[cells(l).0 + 1..cells(l).1]))
            .collect()
    }

    fn counts(csv: &Csv) -> (usize, usize) {
        let e = ends(csv);
        let nodes: HashSet<&str> = e.iter().flat_map(|(a, b)| [*a, *b]).collect();
        (nodes.len(), e.len())
    }

    #[test]
    fn the_classics_have_their_known_sizes() {
        assert_eq!(counts(&miserables()), (77, 254));
        assert_eq!(counts(&karate()), (34, 78));
    }

    #[test]
    fn names_and_ids_find_each_other() {
        let mut ids = HashSet::new();
        for b in &BUILTINS {
            assert!(ids.insert(b.id()));
            assert_eq!(by_id(b.id()).unwrap().alias, b.alias);
            assert_eq!(by_name(&b.alias.to_uppercase()).unwrap().alias, b.alias);
        }
        assert!(by_name("nobody").is_none());
    }

    #[test]
    fn every_builtin_loads_and_its_bindings_name_columns() {
        for b in &BUILTINS {
            let l = b.load(&CancelToken::new()).unwrap();
            assert!(
                l.edges.column("src").is_some() && l.edges.column("dst").is_some(),
                "{}",
                b.alias
            );
            for (_, column) in b.edge_bindings {
                assert!(l.edges.column(column).is_some(), "{} {column}", b.alias);
            }
            for (_, column) in b.node_bindings {
                assert!(l.nodes.as_ref().unwrap().column(column).is_some(), "{} {column}", b.alias);
            }
            assert_eq!(b.reply().edge_count, Some(l.edges.num_rows() as u64));
        }
    }

    #[test]
    fn the_demo_is_large_connected_enough_and_always_the_same() {
        let a = generate::world();
        let (nodes, edges) = counts(&a);
        assert!((8_000..20_000).contains(&nodes), "{nodes}");
        assert!((25_000..80_000).contains(&edges), "{edges}");
        assert_eq!(a.edges, generate::world().edges);
        assert!(ends(&a).iter().all(|(s, d)| s != d), "no self-loops");
    }
}
