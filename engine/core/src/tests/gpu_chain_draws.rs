//! Random patterns over random graphs on the GPU, which here is the emulator: the same frames as without one.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use graphlume_emu::gpu_test;
use graphlume_types::hash::h64;
use serde_json::{Value, json};

use super::gpu::{on, stop};
use super::gpu_chains::{DIRECTIONS, Frames, bounds, edge, filters, frames, node};
use super::gpu_tables::{columns, loaded};
use super::kit::{Engine, config, live_engine};
use crate::Loaded;

/// Numbers that a seed gives.
struct Draw(u64, u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.1 += 1;
        h64(self.0, 77, self.1) % bound
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    fn test(&mut self) -> Value {
        if self.below(3) == 0 { json!({}) } else { self.one(&filters()) }
    }

    /// A graph of this many nodes and edges; a few nodes have most edges where it is `skewed`.
    fn graph(&mut self, nodes: i64, edges: i64, is_skewed: bool) -> Loaded {
        let mut end = || {
            let bound = if is_skewed && self.below(2) == 0 { 3 } else { nodes as u64 + 2 };
            self.below(bound) as i64
        };
        let pairs: Vec<(i64, i64)> = (0..edges).map(|_| (end(), end())).collect();
        let ends = |f: fn(&(i64, i64)) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(pairs.iter().map(f)))
        };
        let mut edge_columns = vec![("s", ends(|p| p.0)), ("d", ends(|p| p.1))];
        edge_columns.extend(columns(edges, self.0 as i64));
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..nodes));
        let mut node_columns = vec![("id", ids)];
        node_columns.extend(columns(nodes, 5 + self.0 as i64));
        loaded(node_columns, edge_columns)
    }

    fn chain(&mut self) -> Value {
        let mut steps = vec![];
        let hops = 1 + self.below(3);
        for i in 0..hops {
            if i == 0 || self.below(2) == 0 {
                steps.push(node(self.test(), None));
            }
            let mut step = self.one(&bounds());
            let fields = step.as_object_mut().expect("an object");
            for side in ["edge_match", "source_node_match", "destination_node_match"] {
                if self.below(4) == 0 {
                    fields.insert(side.to_owned(), self.test());
                }
            }
            if self.below(4) == 0 {
                fields.insert("name".to_owned(), json!(format!("way {i}")));
            }
            steps.push(edge(self.one(&DIRECTIONS), step));
        }
        if self.below(2) == 0 {
            steps.push(node(self.test(), None));
        }
        json!(steps)
    }
}

#[test]
fn random_chains_over_random_graphs_give_the_same_frames_on_the_gpu() {
    const CHAINS: u64 = 45;
    let shapes =
        [(1, 3, false), (9, 14, false), (33, 40, true), (70, 500, false), (300, 2_100, true)];
    let cases: Vec<(Loaded, Vec<Value>)> = (0..)
        .zip(shapes)
        .map(|(seed, (nodes, edges, is_skewed))| {
            let mut draw = Draw(seed, 0);
            (draw.graph(nodes, edges, is_skewed), (0..CHAINS).map(|_| draw.chain()).collect())
        })
        .collect();
    let answers = |e: &Engine| -> Vec<Frames> {
        let each = (1..).zip(&cases).map(|(n, (graph, chains))| {
            let data = e.add(n, graph.clone());
            chains.iter().map(|chain| frames(e, data, chain, true)).collect()
        });
        each.collect()
    };
    let e = live_engine(config());
    let wanted = answers(&e);
    stop(e);
    gpu_test(&["chain_follow"], |gpu| {
        let e = live_engine(on(gpu));
        for (shape, (found, wanted)) in answers(&e).iter().zip(&wanted).enumerate() {
            for (i, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                assert_eq!(found, wanted, "graph {shape}: {}", cases[shape].1[i]);
            }
        }
        // At least one hop for each chain, and one for its sizes.
        assert!(gpu.launches("chain_follow") > 2 * CHAINS * shapes.len() as u64);
        stop(e);
    });
}
