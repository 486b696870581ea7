//! Sums of numbers behind a step on the device against sums on the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use graphlume_algo::gpu::relation::Relation;
use graphlume_algo::gpu::tally::{Count, Paths, PatternStep};
use graphlume_algo::gpu::tally_sums::{Cells, Numbers, Sums};
use graphlume_algo::path::expand::words;
use graphlume_device::cuda::Gpu;
use graphlume_emu::{Zoo, gpu_test};
use graphlume_graph::Topology;
use graphlume_types::hash::h64;

const LEAST: i64 = -700;

/// Three of four nodes.
fn mask(n: u32, stream: u64) -> Vec<u32> {
    let mut mask: Vec<u32> =
        (0..words(n) as u64).map(|w| h64(5, stream, w) as u32 | h64(6, stream, w) as u32).collect();
    if let (Some(last), left @ 1..) = (mask.last_mut(), n % 32) {
        *last &= (1 << left) - 1;
    }
    mask
}

fn bit(mask: Option<&Vec<u32>>, i: u32) -> bool {
    mask.is_none_or(|mask| mask[i as usize / 32] >> (i % 32) & 1 == 1)
}

/// Every way to ask: the numbers integers or floats, some nodes without one; some ends; paths to all, some, or several to some.
fn check(gpu: &Gpu, t: &Topology, name: &str) {
    let n = t.num_nodes();
    let relation = Relation::upload(gpu, t, &[]).unwrap();
    let ints: Vec<i64> = (0..n.into()).map(|v| LEAST + (h64(7, 0, v) % 3_000) as i64).collect();
    let floats: Vec<f64> = ints.iter().map(|v| *v as f64).collect();
    let masks = [mask(n, 0), mask(n, 1), mask(n, 2)];
    let on = masks.each_ref().map(|mask| gpu.upload("marks", mask).unwrap());
    let counts: Vec<u64> = (0..n.into()).map(|v| h64(8, 0, v) % 3 * (1 + v)).collect();
    let (ints_on, floats_on) = (gpu.upload("a", &ints).unwrap(), gpu.upload("b", &floats).unwrap());
    let counts_on = gpu.upload("paths", &counts).unwrap();
    for way in 0..48 {
        let forward = way & 1 != 0;
        let valid = (way & 2 != 0).then_some(&masks[0]);
        let ends = (way & 4 != 0).then_some(&masks[1]);
        let cells = match way & 8 {
            0 => Cells::Ints(ints_on.view()),
            _ => Cells::Floats(floats_on.view()),
        };
        let (paths, to) = match way / 16 {
            0 => (Paths::One, None),
            1 => (Paths::Marks(on[2].view()), Some(on[2].view())),
            _ => (Paths::Each(counts_on.view()), None),
        };
        let of = |v: u32| match way / 16 {
            0 => 1,
            1 => u64::from(bit(Some(&masks[2]), v)),
            _ => counts[v as usize],
        };
        let valid_on = valid.map(|_| on[0].view());
        let numbers = Numbers { cells, valid: valid_on, least: LEAST };
        // Taken the other way.
        let step = PatternStep { relation: &relation, forward: !forward, to, before: None };
        let count = Count::of_sums(gpu, n, n as usize).unwrap();
        let found = count.sums(&step, ends.map(|_| on[1].view()), numbers, paths).unwrap().unwrap();
        let wanted = (0..n).filter_map(|v| {
            let list = if forward { t.out_neighbors(v) } else { t.in_neighbors(v) };
            let rows: Vec<u32> = list.iter().copied().filter(|u| bit(ends, *u)).collect();
            let with: Vec<u32> = rows.iter().copied().filter(|u| bit(valid, *u)).collect();
            let above = with.iter().map(|u| (ints[*u as usize] - LEAST) as u64).sum();
            let (rows, values) = (rows.len() as u32, with.len() as u32);
            (of(v) > 0 && rows > 0).then_some(Sums { node: v, paths: of(v), rows, values, above })
        });
        let wanted: Vec<Sums> = wanted.collect();
        // Where all have a number, rows are those with one: the same here.
        assert_eq!(found, wanted, "{name} way {way}");
    }
}

#[test]
fn sums_equal_the_hosts() {
    gpu_test(&["tally_values", "tally_sums", "tally_pull"], |gpu| {
        for Zoo { name, graph } in Zoo::all() {
            check(gpu, &graph, name);
        }
    });
}

#[test]
fn sums_over_long_lists_equal_the_hosts() {
    const NODES: u32 = 5_000;
    let out = (0..2 * NODES).map(|i| (0, i / 2));
    let ins = (0..NODES).map(|v| (v, 1));
    let (src, dst): (Vec<u32>, Vec<u32>) = out.chain(ins).unzip();
    let t = Topology::from_coo(NODES, &src, &dst);
    gpu_test(&["tally_pull_chunks", "tally_sums"], |gpu| check(gpu, &t, "hubs"));
}

#[test]
fn arrays_of_another_graph_are_refused() {
    gpu_test(&[], |gpu| {
        let relation = Relation::upload(gpu, &Zoo::rmat(7, 4, 4), &[]).unwrap();
        let step = PatternStep { relation: &relation, forward: true, to: None, before: None };
        let cells = gpu.zeros::<i64>("short", 5).unwrap();
        let numbers = Numbers { cells: Cells::Ints(cells.view()), valid: None, least: 0 };
        let count = Count::of_sums(gpu, 128, 128).unwrap();
        let refused = count.sums(&step, None, numbers, Paths::One).unwrap_err();
        assert!(refused.to_string().contains("cells"), "{refused}");
    });
}
