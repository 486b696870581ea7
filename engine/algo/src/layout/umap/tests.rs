#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use graphlume_types::CancelReason;
use graphlume_types::hash::unit_f64;
use serde_json::Value;

use super::*;
use crate::testkit;

const IRIS: &str = include_str!("../../../../../tests/data/umap/iris.csv");
const WINE: &str = include_str!("../../../../../tests/data/umap/wine.csv");
const REFERENCE: &str = include_str!("../../../../../tests/data/umap/reference.json");

/// The numbers between the first and the last column, and the labels in the last.
fn read(text: &str) -> (Features, Vec<Option<u32>>) {
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let (label, numbers) = cells[1..].split_last().unwrap();
        values.extend(numbers.iter().map(|x| x.parse::<f32>().unwrap()));
        labels.push(Some(label[1..].parse().unwrap()));
    }
    (Features { rows: labels.len(), columns: values.len() / labels.len(), values }, labels)
}

/// Rows around some centers, of which the row's number says which.
fn blobs(rows: usize, columns: usize, centers: u64) -> Features {
    let value = |i: u64, c: u64| {
        let center = 6.0 * unit_f64(3, 1, (i % centers) << 32 | c);
        let noise: f64 = (0..4).map(|k| unit_f64(3, 10 + k, i << 32 | c) - 0.5).sum();
        (center + noise) as f32
    };
    let values = (0..rows as u64).flat_map(|i| (0..columns as u64).map(move |c| value(i, c)));
    Features { rows, columns, values: values.collect() }
}

fn embedded(features: &Features, labels: Option<&Labels>, options: &Options) -> Embedding {
    embed(features, labels, options, &CancelToken::new()).unwrap()
}

/// The share of neighbours in the picture that are so in the table, by how far off the others are (Venna and Kaski 2001).
fn trustworthiness(features: &Features, points: &[f32], k: usize) -> f64 {
    let n = features.rows;
    let dims = points.len() / n;
    let ranked = |of: &dyn Fn(usize) -> f64, i: usize| {
        let mut order: Vec<usize> = (0..n).filter(|j| *j != i).collect();
        order.sort_by(|a, b| of(*a).total_cmp(&of(*b)));
        order
    };
    let mut off = 0.0;
    for i in 0..n {
        let far = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum()
        };
        let table = ranked(&|j| far(features.row(i), features.row(j)), i);
        let at = |j: usize| &points[j * dims..(j + 1) * dims];
        let mut rank = vec![0; n];
        table.iter().enumerate().for_each(|(r, j)| rank[*j] = r + 1);
        let picture = ranked(&|j| far(at(i), at(j)), i);
        off += picture[..k].iter().map(|j| rank[*j].saturating_sub(k) as f64).sum::<f64>();
    }
    let (n, k) = (n as f64, k as f64);
    1.0 - off * 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0))
}

#[test]
fn neighbourhoods_and_the_graph_are_kept_as_umap_learn_keeps_them() {
    let reference: Value = serde_json::from_str(REFERENCE).unwrap();
    for (name, text) in [("iris", IRIS), ("wine", WINE)] {
        let (features, _) = read(text);
        let want = &reference["tables"][name]["none"];
        let kept = want["trustworthiness"].as_array().unwrap();
        let mean = kept.iter().map(|t| t.as_f64().unwrap()).sum::<f64>() / kept.len() as f64;
        let made = embedded(&features, None, &Options::default());
        let found = trustworthiness(&features, &made.points, 15);
        assert!(found > mean - 0.02, "{name}: {found} instead of {mean}");
        let weight: f64 = made.edges.iter().map(|e| f64::from(e.2)).sum();
        let (edges, sum) = (&want["graph"]["edges"], want["graph"]["weight"].as_f64().unwrap());
        let ratio = made.edges.len() as f64 / edges.as_f64().unwrap();
        // Of rows at equal distances either may be the neighbour.
        assert!(
            (ratio - 1.0).abs() < 0.01 && (weight / sum - 1.0).abs() < 0.005,
            "{name} {ratio} {weight} {sum}"
        );
    }
}

#[test]
fn every_start_and_metric_keeps_the_blobs_apart() {
    let features = blobs(300, 6, 3);
    let starts = [Start::Spectral, Start::Pca, Start::Random];
    let ways = starts.map(|start| Options { start, ..Options::default() });
    let metrics = [Metric::Manhattan, Metric::Chebyshev, Metric::Canberra, Metric::BrayCurtis];
    let ways =
        ways.into_iter().chain(metrics.map(|metric| Options { metric, ..Options::default() }));
    for options in ways {
        let made = embedded(&features, None, &options);
        let found = trustworthiness(&features, &made.points, 15);
        assert!(found > 0.9, "{:?} {:?}: {found}", options.start, options.metric);
    }
}

#[test]
fn equal_seeds_give_equal_bits_at_any_number_of_threads() {
    let features = blobs(3000, 8, 5);
    let options = Options { epochs: Some(12), seed: 4, ..Options::default() };
    let [one, two, three] = testkit::at_1_2_3_threads(|| embedded(&features, None, &options));
    assert!(one == two && two == three);
    let other = embedded(&features, None, &Options { seed: 5, ..options });
    assert!(other.points != one.points && other.edges == one.edges);
    let token = CancelToken::new();
    let search = || {
        let pace = Pace::new(&token);
        descent::nearest(&features, Metric::Euclidean, 15, 1, &pace).unwrap().ids
    };
    let [one, two, three] = testkit::at_1_2_3_threads(search);
    assert!(one == two && two == three);
}

#[test]
fn the_search_finds_nearly_all_neighbours() {
    for (rows, columns) in [(5000, 4), (5000, 24)] {
        let features = blobs(rows, columns, 7);
        let token = CancelToken::new();
        let pace = Pace::new(&token);
        let exact = neighbors::exact(&features, Metric::Euclidean, 12, &pace).unwrap();
        let found = descent::nearest(&features, Metric::Euclidean, 12, 1, &pace).unwrap();
        let both = (0..rows).flat_map(|i| {
            let (want, found) = (exact.row(i).0, found.row(i).0);
            want.iter().filter(|id| found.contains(id)).collect::<Vec<_>>()
        });
        let recall = both.count() as f64 / exact.ids.len() as f64;
        assert!(recall > 0.95, "{columns} columns: {recall}");
        assert!((0..rows).all(|i| found.row(i).0[0] == i as u32));
        assert!(pace.largest() <= STEPS, "{}", pace.largest());
    }
    // Rows that are all the same have neighbours, too, each once.
    let same = Features { rows: 300, columns: 2, values: vec![1.0; 600] };
    let token = CancelToken::new();
    let found = descent::nearest(&same, Metric::Euclidean, 12, 1, &Pace::new(&token)).unwrap();
    for i in 0..300 {
        let mut ids = found.row(i).0.to_vec();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 12);
    }
}

const STEPS: u64 = pace::STEPS_MAX;

#[test]
fn the_token_is_asked_before_every_few_steps_and_ends_the_work() {
    let features = blobs(3000, 40, 5);
    let labels: Vec<Option<u32>> = (0..3000).map(|i| Some(i % 5)).collect();
    for start in [Start::Spectral, Start::Pca] {
        let options = Options { epochs: Some(3), start, ..Options::default() };
        let token = CancelToken::new();
        let pace = Pace::new(&token);
        run(&features, Some(&labels), &options, &pace).unwrap();
        assert!(pace.largest() <= STEPS, "{}", pace.largest());
        assert!(pace.largest() > 1000);
        token.cancel(CancelReason::ClientGone);
        let cancelled = embed(&features, None, &options, &token);
        assert!(matches!(cancelled, Err(AlgoError::Cancelled(_))));
        assert!(clusters(&[0.0, 0.0], 2, 1.0, &token).is_err());
    }
}

#[test]
fn labels_pull_their_rows_together() {
    // No column says which rows belong together.
    let features = blobs(400, 3, 1);
    let labels: Vec<Option<u32>> =
        (0..400_u32).map(|i| (!i.is_multiple_of(10)).then_some(i % 2)).collect();
    let parted = |labels: Option<&Labels>, target_weight| {
        let options = Options { target_weight, ..Options::default() };
        let made = embedded(&features, labels, &options);
        let same = |e: &&(u32, u32, f32)| {
            e.0 % 2 == e.1 % 2 && !e.0.is_multiple_of(10) && !e.1.is_multiple_of(10)
        };
        let weight =
            |edges: Vec<&(u32, u32, f32)>| edges.iter().map(|e| f64::from(e.2)).sum::<f64>();
        weight(made.edges.iter().filter(same).collect()) / weight(made.edges.iter().collect())
    };
    let all: Vec<Option<u32>> = (0..400).map(|i| Some(i % 2)).collect();
    let (without, with, strong) =
        (parted(None, 0.5), parted(Some(&labels), 0.5), parted(Some(&all), 1.0));
    assert!(with > without + 0.1 && strong > with, "{without} {with} {strong}");
    let e = embed(&features, Some(&labels[1..]), &Options::default(), &CancelToken::new());
    assert!(matches!(e, Err(AlgoError::Length { got: 399, expected: 400, .. })));
}

#[test]
fn small_and_uniform_tables_have_places() {
    for rows in 0..9 {
        for dims in [1, 2, 3, 5] {
            for start in [Start::Spectral, Start::Pca, Start::Random] {
                let options = Options { dims, start, epochs: Some(20), ..Options::default() };
                let made = embedded(&blobs(rows, 3, 2), None, &options);
                assert_eq!(made.points.len(), rows * dims);
                assert!(made.points.iter().all(|x| x.is_finite()), "{rows} {dims} {start:?}");
                assert_eq!(made.edges.is_empty(), rows < 2, "{rows}");
            }
        }
    }
    for metric in ["euclidean", "cosine", "correlation", "hamming", "canberra"] {
        let metric = Metric::find(metric).unwrap();
        let same = Features { rows: 40, columns: 2, values: vec![0.0; 80] };
        let made = embedded(&same, None, &Options { metric, ..Options::default() });
        assert!(made.points.iter().all(|x| x.is_finite()), "{metric:?}");
        assert!(made.edges.iter().all(|e| e.2 > 0.0 && e.2 <= 1.0), "{metric:?}");
    }
}

#[test]
fn tables_that_are_too_large_are_refused_before_they_are_read() {
    assert!(check_size(ROWS_MAX, 100, 12).is_ok());
    for (rows, columns, neighbors, what) in [
        (2_000_000, 1, 12, "rows"),
        (1_000_000, 300, 12, "numbers"),
        (1_000_000, 2, 900, "n_neighbors"),
    ] {
        let e = check_size(rows, columns, neighbors).unwrap_err();
        assert!(matches!(e, AlgoError::TooLarge { .. }) && e.to_string().contains(what), "{e}");
    }
    // The table itself is never looked at.
    let table = Features { rows: 2_000_000, columns: 1, values: Vec::new() };
    assert!(embed(&table, None, &Options::default(), &CancelToken::new()).is_err());
}
