//! Numbers of paths on the device against sums on the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use graphlume_algo::gpu::relation::Relation;
use graphlume_algo::gpu::tally::{Count, Counted, Paths, PatternStep};
use graphlume_algo::path::expand::words;
use graphlume_device::cuda::{Buf, Gpu};
use graphlume_emu::{Zoo, gpu_test};
use graphlume_graph::Topology;
use graphlume_types::hash::h64;

/// A part of all nodes: three of four, or all of them.
fn random_mask(items: u32, stream: u64) -> Vec<u32> {
    let word = |w| h64(5, stream, w) as u32 | h64(6, stream, w) as u32;
    let mut mask: Vec<u32> = (0..words(items) as u64).map(word).collect();
    if let (Some(last), left @ 1..) = (mask.last_mut(), items % 32) {
        *last &= (1 << left) - 1;
    }
    mask
}

fn bit(mask: &[u32], i: u32) -> bool {
    mask[i as usize / 32] >> (i % 32) & 1 == 1
}

fn loops(t: &Topology) -> Vec<(u32, u32)> {
    let own = |v: u32| t.out_neighbors(v).iter().filter(|u| **u == v).count() as u32;
    (0..t.num_nodes()).map(|v| (v, own(v))).filter(|l| l.1 > 0).collect()
}

/// The nodes that a step leads to.
fn next(t: &Topology, forward: bool, v: u32) -> &[u32] {
    if forward { t.out_neighbors(v) } else { t.in_neighbors(v) }
}

/// Paths after a step, as often as the host meets each; what a loop would repeat is left out where there is a step before.
fn on_the_host(
    t: &Topology,
    forward: bool,
    to: Option<&[u32]>,
    paths: &[u128],
    before: Option<&[u128]>,
) -> Vec<u128> {
    let mut found = vec![0; paths.len()];
    for v in 0..t.num_nodes() {
        for u in next(t, forward, v) {
            if to.is_none_or(|to| bit(to, *u)) && paths[v as usize] > 0 {
                let back = before.filter(|_| *u == v).map_or(0, |b| b[v as usize]);
                found[*u as usize] += paths[v as usize].saturating_sub(back);
            }
        }
    }
    found
}

fn listed(paths: &[u128]) -> Vec<(u32, u64)> {
    let some = (0..).zip(paths).filter(|(_, paths)| **paths > 0);
    some.map(|(v, paths)| (v, *paths as u64)).collect()
}

fn starts(marks: Option<&[u32]>, n: u32) -> Vec<u128> {
    (0..n).map(|v| u128::from(marks.is_none_or(|m| bit(m, v)))).collect()
}

/// Three steps from marked nodes, or all, to marked ones, or all: each count, each total, the nodes that are met most.
fn check(gpu: &Gpu, t: &Topology, name: &str) {
    let (n, loops) = (t.num_nodes(), loops(t));
    let relation = Relation::upload(gpu, t, &loops).unwrap();
    let masks = [random_mask(n, 0), random_mask(n, 1)];
    let [from_mask, to_mask] = masks.each_ref().map(|mask| gpu.upload("marks", mask).unwrap());
    for way in 0..16 {
        let (forward, apart) = (way & 1 != 0, way & 2 != 0);
        let from = (way & 4 != 0).then_some(masks[0].as_slice());
        let to = (way & 8 != 0).then_some(masks[1].as_slice());
        let to_view = to.map(|_| to_mask.view());
        let first = from.map_or(Paths::One, |_| Paths::Marks(from_mask.view()));
        let (mut wanted, mut before) = (starts(from, n), None::<Vec<u128>>);
        let (mut held, mut held_before) = (None::<Buf<u64>>, None::<Option<Buf<u64>>>);
        for taken in 0..3 {
            let is_apart = apart && taken == 1;
            let paths = held.as_ref().map_or(first, |counts| Paths::Each(counts.view()));
            let earlier = held_before
                .as_ref()
                .map(|counts| counts.as_ref().map_or(first, |counts| Paths::Each(counts.view())));
            let step = PatternStep {
                relation: &relation,
                forward,
                to: to_view,
                before: earlier.filter(|_| is_apart),
            };
            let found =
                on_the_host(t, forward, to, &wanted, before.as_deref().filter(|_| is_apart));
            let total: u128 = found.iter().sum();
            let got = Count::new(gpu, n, 0).unwrap().total(&step, paths).unwrap();
            assert_eq!(got, Counted::Total(total as u64), "{name} way {way} step {taken}");
            let mut count = Count::new(gpu, n, n as usize).unwrap();
            let counts = count.pull(&step, paths).unwrap();
            let marks = gpu.read(count.marks(counts.view()).unwrap().view()).unwrap();
            let met: Vec<u32> = (0..n).filter(|v| bit(&marks, *v)).collect();
            let some: Vec<u32> = listed(&found).into_iter().map(|node| node.0).collect();
            assert_eq!(met, some, "{name} way {way} step {taken}");
            let got = count.list(&counts, None).unwrap();
            assert_eq!(got, Counted::Each(listed(&found)), "{name} way {way} step {taken}");
            best(gpu, &counts, &found, name);
            held_before = Some(held.replace(counts));
            before = Some(std::mem::replace(&mut wanted, found));
        }
    }
}

/// The nodes with the greatest numbers come back, and none whose number is much less than the last of these.
fn best(gpu: &Gpu, counts: &Buf<u64>, found: &[u128], name: &str) {
    let mut order: Vec<u128> = found.iter().copied().filter(|c| *c > 0).collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    for wanted in [1, 3, 40] {
        let count = Count::new(gpu, found.len() as u32, found.len()).unwrap();
        let got = count.list(counts, Some(wanted)).unwrap();
        let Counted::Each(nodes) = got else { panic!("{name}: {got:?}") };
        let least = order.get(wanted as usize - 1).copied().unwrap_or(1);
        let floor = least - least / 32;
        let (all, some) = (listed(found), |least| move |n: &&(u32, u64)| u128::from(n.1) >= least);
        let must: Vec<_> = all.iter().filter(some(least)).collect();
        let may: Vec<_> = all.iter().filter(some(floor)).collect();
        assert!(must.iter().all(|n| nodes.contains(n)), "{name} {wanted}: {nodes:?}");
        assert!(nodes.iter().all(|n| may.contains(&n)), "{name} {wanted}: {nodes:?}");
    }
}

const KERNELS: &[&str] = &[
    "tally_covered",
    "tally_pull",
    "tally_total",
    "tally_loops",
    "tally_histogram",
    "tally_least",
    "tally_list",
    "tally_marks",
];

#[test]
fn paths_equal_the_hosts() {
    gpu_test(KERNELS, |gpu| {
        for Zoo { name, graph } in Zoo::all() {
            check(gpu, &graph, name);
        }
    });
}

/// Node 0 leads to all, twice, and all lead to node 1, so that lists are longer than a chunk.
fn hubs() -> Topology {
    const NODES: u32 = 5_000;
    let out = (0..2 * NODES).map(|i| (0, i / 2));
    let ins = (0..NODES).map(|v| (v, 1));
    let middle = (0..600).map(|i| (7, i * 3));
    let (src, dst): (Vec<u32>, Vec<u32>) = out.chain(ins).chain(middle).unzip();
    Topology::from_coo(NODES, &src, &dst)
}

#[test]
fn long_lists_are_shared_out() {
    gpu_test(&["tally_pull_chunks", "tally_total_chunks"], |gpu| check(gpu, &hubs(), "hubs"));
}

#[test]
fn numbers_beyond_63_bits_are_noticed() {
    // 2^12 paths a step from 0 to 1 and on: 2^60 after five steps, and too many after six.
    const PARALLEL: usize = 1 << 12;
    gpu_test(&["tally_pull_chunks"], |gpu| {
        for parallel in [PARALLEL, 200] {
            let ends = |by: u32| (0..9).flat_map(move |v| vec![v + by; parallel]);
            let (src, dst): (Vec<u32>, Vec<u32>) = (ends(0).collect(), ends(1).collect());
            let t = Topology::from_coo(10, &src, &dst);
            let relation = Relation::upload(gpu, &t, &[]).unwrap();
            let step = PatternStep { relation: &relation, forward: true, to: None, before: None };
            let mut counts: Option<Buf<u64>> = None;
            for taken in 1..10_u32 {
                let paths = counts.as_ref().map_or(Paths::One, |c| Paths::Each(c.view()));
                let sums = (0..10 - taken).map(|_| (parallel as u128).pow(taken)).sum::<u128>();
                let most = (parallel as u128).pow(taken);
                let want = |n: u128| n < 1 << 63;
                let got = Count::new(gpu, 10, 0).unwrap().total(&step, paths).unwrap();
                match want(sums) {
                    true => assert_eq!(got, Counted::Total(sums as u64), "{parallel} {taken}"),
                    false => assert_eq!(got, Counted::Beyond, "{parallel} {taken}"),
                }
                let mut count = Count::new(gpu, 10, 10).unwrap();
                let next = count.pull(&step, paths).unwrap();
                let got = count.list(&next, None).unwrap();
                assert_eq!(matches!(got, Counted::Each(_)), want(most), "{parallel} {taken}");
                if !want(most) {
                    break;
                }
                counts = Some(next);
            }
        }
    });
}

#[test]
fn arrays_of_another_graph_are_refused() {
    gpu_test(&[], |gpu| {
        let relation = Relation::upload(gpu, &Zoo::rmat(7, 4, 4), &[]).unwrap();
        let step = PatternStep { relation: &relation, forward: true, to: None, before: None };
        let refused = Count::new(gpu, 5, 0).unwrap().total(&step, Paths::One).unwrap_err();
        assert!(refused.to_string().contains("a relation"), "{refused}");
        let short = gpu.zeros::<u32>("short", 1).unwrap();
        let paths = Paths::Marks(short.view());
        let refused = Count::new(gpu, 128, 0).unwrap().total(&step, paths).unwrap_err();
        assert!(refused.to_string().contains("marks"), "{refused}");
    });
}
