//! Counts of paths over a graph whose relations the GPU keeps, which here is the emulator: the same rows as without a GPU.

use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int64Array, StringArray};
use graphlume_device::cuda::{Gpu, GpuOptions};
use graphlume_emu::emulator::{self, Counted, Noticed, Times};
use graphlume_emu::{Zoo, fault_test, gpu_test};
use graphlume_types::hash::h64;

use super::gpu::{emptied, on, open_gpu, stop};
use super::gpu_tables::{loaded, plan, rows};
use super::kit::{Engine, config, live_engine};
use crate::{Config, Loaded};

pub(super) const PERSONS: i64 = 600;
const CITIES: i64 = 40;
const STATES: i64 = 10;
const COUNTRIES: i64 = 3;
const INTERESTS: i64 = 8;

/// The nine questions of the social network.
pub(super) const QUESTIONS: &[&str] = &[
    "MATCH (f:Person)-[:FOLLOWS]->(p:Person) RETURN p.id AS id, p.name AS name, count(*) AS c ORDER BY c DESC, id LIMIT 3",
    "MATCH (f:Person)-[:FOLLOWS]->(p:Person) WITH p, count(*) AS c ORDER BY c DESC, p.id LIMIT 1 \
     MATCH (p)-[:LIVES_IN]->(t:City) RETURN p.name AS name, t.name AS city",
    "MATCH (p:Person)-[:LIVES_IN]->(t:City)-[:CITY_IN]->(:State)-[:STATE_IN]->(:Country {name: 'n650'}) \
     RETURN t.name AS city, avg(p.age) AS age ORDER BY age, city LIMIT 5",
    "MATCH (p:Person)-[:LIVES_IN]->(:City)-[:CITY_IN]->(:State)-[:STATE_IN]->(c:Country) \
     WHERE p.age >= 30 AND p.age <= 40 RETURN c.name AS country, count(*) AS persons ORDER BY persons DESC LIMIT 3",
    "MATCH (p:Person {gender: 'male'})-[:HAS_INTEREST]->(:Interest {name: 'n654'}) \
     MATCH (p)-[:LIVES_IN]->(:City {name: 'n603'}) RETURN count(DISTINCT p) AS persons",
    "MATCH (p:Person {gender: 'female'})-[:HAS_INTEREST]->(:Interest {name: 'n655'}) WITH DISTINCT p \
     MATCH (p)-[:LIVES_IN]->(t:City) RETURN t.name AS city, count(*) AS persons ORDER BY persons DESC, city LIMIT 5",
    "MATCH (p:Person)-[:HAS_INTEREST]->(:Interest {name: 'n656'}) WHERE p.age >= 23 AND p.age <= 30 WITH DISTINCT p \
     MATCH (p)-[:LIVES_IN]->(:City)-[:CITY_IN]->(s:State) RETURN s.name AS state, count(*) AS persons ORDER BY persons DESC, state LIMIT 1",
    "MATCH (a:Person)-[:FOLLOWS]->(b:Person)-[:FOLLOWS]->(c:Person) RETURN count(*) AS paths",
    "MATCH (a:Person)-[:FOLLOWS]->(b:Person)-[:FOLLOWS]->(c:Person) WHERE b.age < 50 AND c.age > 25 RETURN count(*) AS paths",
];

fn pick(stream: u64, i: i64, of: i64) -> i64 {
    (h64(3, stream, i as u64) % of as u64) as i64
}

fn words(all: impl Iterator<Item = Option<&'static str>>) -> ArrayRef {
    Arc::new(all.collect::<DictionaryArray<UInt32Type>>())
}

/// Persons with loops among those they follow, some of them several times, and with ages that are not all known.
pub(super) fn social(persons: i64) -> Loaded {
    let first = [0, persons, persons + CITIES, persons + CITIES + STATES];
    let interests = first[3] + COUNTRIES;
    let nodes = interests + INTERESTS;
    let mut edges: Vec<(i64, i64, &str)> = Vec::new();
    for p in 0..persons {
        edges.extend((0..pick(1, p, 12)).map(|i| {
            let to = pick(2, p * 16 + i, persons);
            (p, to * to / persons, "FOLLOWS")
        }));
        edges.extend((0..2).filter(|_| p % 7 == 3).map(|_| (p, p, "FOLLOWS")));
        edges.push((p, first[1] + pick(3, p, CITIES), "LIVES_IN"));
        let liked = (0..pick(4, p, 4)).map(|i| pick(5, p * 4 + i, INTERESTS));
        edges.extend(liked.map(|i| (p, interests + i, "HAS_INTEREST")));
    }
    edges.extend((0..CITIES).map(|c| (first[1] + c, first[2] + c % STATES, "CITY_IN")));
    edges.extend((0..STATES).map(|s| (first[2] + s, first[3] + s % COUNTRIES, "STATE_IN")));
    let kind = |v: i64| match v {
        v if v < first[1] => "Person",
        v if v < first[2] => "City",
        v if v < first[3] => "State",
        v if v < interests => "Country",
        _ => "Interest",
    };
    let is_person = |v: i64| v < persons;
    let ids = |f: fn(&(i64, i64, &str)) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(edges.iter().map(f)))
    };
    let names = (0..nodes).map(|v| format!("n{v}"));
    let ages = (0..nodes).map(|v| (is_person(v) && v % 11 != 4).then(|| 18 + pick(6, v, 60)));
    let heights =
        (0..nodes).map(|v| (v % 13 != 5).then(|| (150 + pick(8, v, 50)) as f64 - (v % 3) as f64));
    let parts = (0..nodes).map(|v| pick(9, v, 1_000) as f64 / 7.0);
    let balances = (0..nodes).map(|v| pick(10, v, 2_000) - 1_500);
    let genders = (0..nodes)
        .map(|v| is_person(v).then(|| if pick(7, v, 2) == 0 { "male" } else { "female" }));
    loaded(
        vec![
            ("id", Arc::new(Int64Array::from_iter_values(0..nodes)) as ArrayRef),
            ("type", words((0..nodes).map(|v| Some(kind(v))))),
            ("name", Arc::new(StringArray::from_iter_values(names))),
            ("age", Arc::new(Int64Array::from_iter(ages))),
            ("gender", words(genders)),
            ("height", Arc::new(Float64Array::from_iter(heights))),
            ("part", Arc::new(Float64Array::from_iter_values(parts))),
            ("balance", Arc::new(Int64Array::from_iter_values(balances))),
        ],
        vec![
            ("s", ids(|e| e.0)),
            ("d", ids(|e| e.1)),
            ("type", words(edges.iter().map(|e| Some(e.2)))),
        ],
    )
}

/// Patterns of one to four steps with labels, types, directions and conditions by chance.
fn patterns(count: u64) -> Vec<String> {
    let mut all = Vec::new();
    for i in 0..count {
        let mut at = 0;
        let mut one_of = |list: &[&'static str]| {
            at += 1;
            list[(h64(11, i, at) % list.len() as u64) as usize]
        };
        let mut text = "MATCH (n0".to_owned();
        text.push_str(one_of(&["", ":Person", ":Person", ":City"]));
        text.push(')');
        let (steps, mut tests) = (1 + i % 4, Vec::new());
        for step in 1..=steps {
            let kind = one_of(&[
                ":FOLLOWS",
                ":FOLLOWS",
                ":FOLLOWS",
                ":LIVES_IN",
                ":FOLLOWS|LIVES_IN",
                ":HAS_INTEREST",
                ":NONE",
                "",
            ]);
            let (left, right) = [("-", "->"), ("-", "->"), ("<-", "-"), ("-", "-")]
                [(h64(12, i, step) % if i % 3 == 0 { 4 } else { 3 }) as usize];
            let label = one_of(&["", "", ":Person", ":City", ":Interest"]);
            text.push_str(&format!("{left}[{kind}]{right}(n{step}{label})"));
            let test = one_of(&["", "", "", ".age > 40", ".gender = 'male'", ".age IS NULL"]);
            if !test.is_empty() {
                tests.push(format!("n{step}{test}"));
            }
        }
        if one_of(&["", "x"]) == "x" {
            tests.push("n0.age < 60".to_owned());
        }
        if !tests.is_empty() {
            text.push_str(&format!(" WHERE {}", tests.join(" AND ")));
        }
        let end = format!("n{steps}");
        let middle = format!("n{}", steps / 2);
        text.push_str(&match i % 8 {
            0 | 1 => " RETURN count(*)".to_owned(),
            2 => format!(" RETURN {end}.name, count(*)"),
            3 => format!(" RETURN {end}.id AS id, count(*) AS c ORDER BY c DESC, id LIMIT 7"),
            4 => format!(" WITH {end}, count(*) AS c ORDER BY c DESC, {end}.id SKIP 2 LIMIT 3 RETURN {end}.id, c"),
            5 => format!(" RETURN count(DISTINCT {middle})"),
            6 => format!(" WITH DISTINCT {middle} MATCH ({middle})-[:LIVES_IN]->(t:City) RETURN t.name, count(*)"),
            _ => format!(" WITH DISTINCT {end} MATCH ({end})<-[:FOLLOWS]-(x)-[:LIVES_IN]->(y) RETURN count(*)"),
        });
        all.push(text);
    }
    all
}

fn texts() -> Vec<String> {
    let mut all: Vec<String> = QUESTIONS.iter().map(|text| (*text).to_owned()).collect();
    let more = [
        "MATCH (a:Person)-[:FOLLOWS]->(b) RETURN count(*)",
        "MATCH (a)-[:FOLLOWS]->(b) RETURN b.id, count(*)",
        "MATCH (a)<-[:FOLLOWS]-(b) RETURN b.id, count(*)",
        "MATCH (a)-[:FOLLOWS]->(b)-[:FOLLOWS]->(c)-[:FOLLOWS]->(d)-[:FOLLOWS]->(e) RETURN count(*)",
        "MATCH (a)-[:FOLLOWS]->(b)<-[:FOLLOWS]-(c) RETURN count(*)",
        "MATCH (a:None)-[:FOLLOWS]->(b) RETURN count(*)",
        "MATCH (a)-[:FOLLOWS]->(b:City) RETURN count(*)",
        "MATCH (a)-[:FOLLOWS]->(b:City) RETURN b.id AS id, count(*) AS c ORDER BY c DESC LIMIT 4",
        "MATCH (a)-[:FOLLOWS]->(b) RETURN b.id AS id, count(*) AS c ORDER BY c DESC, id LIMIT 10000",
        "MATCH (a)-[:FOLLOWS]->(b) RETURN b.id AS id, count(*) AS c ORDER BY c, id LIMIT 5",
        "MATCH (a)-[:FOLLOWS]->(b) RETURN b.gender AS g, count(*) AS c ORDER BY c DESC, g LIMIT 1",
        "MATCH (a:Person)-[:FOLLOWS]->(b:Person), (a)-[:LIVES_IN]->(t:City {name: 'n605'}) RETURN count(DISTINCT a)",
        "MATCH (a:Person)-[:FOLLOWS]->(b:Person) WHERE b.age > 30 RETURN count(DISTINCT b)",
        "MATCH (a:Person)-[:FOLLOWS]->(b:Person)-[:LIVES_IN]->(c) WHERE c.name = 'n607' RETURN count(DISTINCT a)",
        "MATCH (a:Person)-[:FOLLOWS]->(b)-[:FOLLOWS]->(c) RETURN count(DISTINCT b)",
        "MATCH (a:Person)-[:FOLLOWS]->(b), (a)-[:FOLLOWS]->(c:City) RETURN count(DISTINCT a)",
        "MATCH (p:Person)-[:HAS_INTEREST]->(i) WITH DISTINCT p MATCH (p)-[:FOLLOWS]->(q)-[:FOLLOWS]->(r) RETURN count(*)",
        "MATCH (p:Person)-[:HAS_INTEREST]->(i) WITH DISTINCT i MATCH (i)<-[:HAS_INTEREST]-(q) RETURN q.id AS id, count(*) AS c ORDER BY c DESC, id LIMIT 3",
        "MATCH (p:Person)-[:HAS_INTEREST]->(i) WITH DISTINCT p, i MATCH (p)-[:FOLLOWS]->(q) RETURN count(*)",
        "MATCH (a:Person)-[:LIVES_IN]->(t) RETURN t.name AS name, count(a) AS c ORDER BY c DESC, name LIMIT 2",
    ];
    all.extend(more.map(str::to_owned));
    all.extend(SUMS.iter().map(|text| (*text).to_owned()));
    all.extend(patterns(240));
    all.extend(sums(60));
    all
}

/// Sums of numbers of what the last step leads to, from nodes that none, one or several paths lead to.
const SUMS: &[&str] = &[
    "MATCH (t:City)<-[:LIVES_IN]-(p:Person) RETURN t.name AS city, avg(p.age) AS age, count(p.age) AS known, count(*) AS all, sum(p.age) AS s ORDER BY city",
    "MATCH (p:Person)-[:FOLLOWS]->(q:Person) WHERE q.age > 30 RETURN p.id AS id, avg(q.height), count(*) ORDER BY id LIMIT 50",
    "MATCH (p:Person)-[:FOLLOWS]->(q) RETURN p.gender AS g, sum(q.balance), avg(q.balance), count(q.balance) ORDER BY g",
    "MATCH (i:Interest)<-[:HAS_INTEREST]-(p:Person) RETURN i.name AS name, sum(p.height) ORDER BY name",
    "MATCH (i:Interest)<-[:HAS_INTEREST]-(p:Person) MATCH (p)-[:FOLLOWS]->(q) RETURN p.id AS id, sum(q.height), avg(q.height) ORDER BY id",
    "MATCH (p:Person)-[:FOLLOWS]->(q) RETURN avg(q.age)",
    "MATCH (p:Person {gender: 'none'})-[:FOLLOWS]->(q) RETURN avg(q.age), count(*)",
    "MATCH (s:State)<-[:CITY_IN]-(t:City)<-[:LIVES_IN]-(p:Person) WHERE p.gender = 'male' RETURN t.name AS city, sum(p.balance) ORDER BY city",
    // Fractions add up differently in another order, so these stay on the CPU; as do the least and the greatest, and keys of nodes
    // before the last.
    "MATCH (s:State)<-[:CITY_IN]-(t:City)<-[:LIVES_IN]-(p:Person) RETURN t.name AS city, s.name AS state, avg(p.age) ORDER BY city",
    "MATCH (t:City)<-[:LIVES_IN]-(p:Person) RETURN t.name AS city, avg(p.part) AS part ORDER BY city",
    "MATCH (t:City)<-[:LIVES_IN]-(p:Person) RETURN t.name AS city, avg(p.age), min(p.age) ORDER BY city",
];

/// More of these by chance.
fn sums(count: u64) -> Vec<String> {
    let one = |i: u64, stream: u64, list: &[&'static str]| {
        list[(h64(13, i, stream) % list.len() as u64) as usize]
    };
    let text = |i: u64| {
        let step = |s: u64| {
            let kinds = [":FOLLOWS", ":LIVES_IN", ":HAS_INTEREST", ":FOLLOWS|HAS_INTEREST"];
            one(i, s, &[&kinds[..], &[":NONE"]].concat()[..if i.is_multiple_of(9) { 5 } else { 4 }])
        };
        let way = |s: u64, kind: &str| match h64(14, i, s) % 2 {
            0 => format!("-[{kind}]->"),
            _ => format!("<-[{kind}]-"),
        };
        let mut text = format!("MATCH (a{})", one(i, 1, &["", ":Person", ":City", ":Interest"]));
        let (mut near, tests) = ("a", one(i, 2, &["", "", "c.age > 40", "c.gender = 'female'"]));
        if i % 2 == 1 {
            text.push_str(&format!("{}(b) MATCH (b)", way(3, step(4))));
            near = "b";
        }
        text.push_str(&format!("{}(c{})", way(5, step(6)), one(i, 7, &["", "", ":Person"])));
        if !tests.is_empty() {
            text.push_str(&format!(" WHERE {tests}"));
        }
        let key = one(i, 8, &["id", "name", "gender", "type"]);
        let adds = one(i, 9, &["avg", "sum", "count"]);
        let number = one(i, 10, &["age", "height", "balance", "part"]);
        let rows = one(i, 11, &["", ", count(*) AS n"]);
        text.push_str(&format!(
            " RETURN {near}.{key} AS k, {adds}(c.{number}) AS s{rows} ORDER BY k"
        ));
        text
    };
    (0..count).map(text).collect()
}

fn launches(gpu: &Gpu) -> u64 {
    ["tally_pull", "tally_total"].map(|kernel| gpu.launches(kernel)).iter().sum()
}

fn answers(config: Config, loaded: &Loaded, texts: &[String]) -> Vec<Vec<String>> {
    let e: Engine = live_engine(config);
    let data = e.add(1, loaded.clone());
    let found = texts.iter().map(|text| rows(&e, data, text)).collect();
    stop(e);
    found
}

#[test]
fn counts_of_paths_are_the_same_on_the_gpu() {
    let texts = texts();
    let wanted = answers(config(), &social(PERSONS), &texts);
    let kernels = [
        "tally_marks",
        "tally_covered",
        "tally_pull",
        "tally_total",
        "tally_loops",
        "tally_histogram",
        "tally_least",
        "tally_list",
        "tally_values",
        "tally_sums",
    ];
    gpu_test(&kernels, |gpu| {
        let e = live_engine(on(gpu));
        let data = e.add(1, social(PERSONS));
        let mut on_gpu = Vec::new();
        for (text, wanted) in texts.iter().zip(&wanted) {
            let before = launches(gpu);
            assert_eq!(rows(&e, data, text), *wanted, "{text}");
            let was_there = launches(gpu) != before;
            let said = plan(&e, data, text);
            let mut lines =
                said.lines().filter(|l| l.contains("CountPaths") || l.contains("Aggregate"));
            // A grouping by columns has a side, too.
            let on = lines.any(|l| l.contains("on the GPU") && !l.contains("by columns"));
            assert_eq!(on, was_there, "{text}: {said}");
            let must = QUESTIONS.contains(&text.as_str()) || SUMS[..8].contains(&text.as_str());
            assert!(was_there || !must, "{said}");
            on_gpu.push(was_there);
        }
        let count = on_gpu.iter().filter(|on| **on).count();
        // The others go either way, along any type, or along two of which one must not be taken twice.
        assert!(count * 3 > texts.len(), "{count} of {}", texts.len());
        stop(e);
        emptied(gpu);
    });
}

/// A graph of the zoo whose edges have one of two types by their number.
fn typed(zoo: &Zoo) -> Loaded {
    let (n, m) = (zoo.graph.num_nodes(), zoo.graph.num_edges());
    let pairs: Vec<(u32, u32, u32)> = (0..m).map(|p| zoo.graph.edge(p)).collect();
    let ids = |f: fn(&(u32, u32, u32)) -> u32| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(pairs.iter().map(|p| i64::from(f(p)))))
    };
    let all: ArrayRef = Arc::new(Int64Array::from_iter_values(0..i64::from(n)));
    let ages: ArrayRef =
        Arc::new(Int64Array::from_iter((0..i64::from(n)).map(|v| (v % 5 != 2).then_some(v % 90))));
    let kinds = words((0..m).map(|p| Some(if p % 3 == 1 { "OWES" } else { "FOLLOWS" })));
    let nodes = vec![("id", all), ("age", ages)];
    loaded(nodes, vec![("s", ids(|p| p.0)), ("d", ids(|p| p.1)), ("type", kinds)])
}

#[test]
fn counts_of_paths_are_the_same_over_every_kind_of_graph() {
    let texts = [
        "MATCH (a)-[:FOLLOWS]->(b)-[:FOLLOWS]->(c) RETURN count(*)",
        "MATCH (a)-[:FOLLOWS]->(b)-[:FOLLOWS]->(c) WHERE b.age < 50 AND c.age > 25 RETURN count(*)",
        "MATCH (a)-[:FOLLOWS]->(b)-[:OWES]->(c) WHERE a.age < 60 RETURN c.id AS id, count(*)",
        "MATCH (a)<-[:FOLLOWS]-(b)<-[:FOLLOWS]-(c) RETURN c.id AS id, count(*) AS n ORDER BY n DESC, id LIMIT 5",
        "MATCH (a)-[:FOLLOWS]->(b) RETURN b.id AS id, count(*) AS n ORDER BY n DESC, id LIMIT 9",
        "MATCH (a)-[:FOLLOWS]->(b)-[:FOLLOWS]->(c)-[:FOLLOWS]->(d) WHERE a.age > 5 RETURN count(*)",
        "MATCH (a)-[:FOLLOWS]->(b) RETURN a.id AS id, avg(b.age), sum(b.age), count(b.age), count(*)",
        "MATCH (a)<-[:OWES]-(b) WHERE b.age < 50 RETURN a.id AS id, avg(b.age)",
        "MATCH (a)-[:FOLLOWS]->(b) MATCH (b)-[:OWES]->(c) RETURN b.id AS id, sum(c.age), count(*)",
    ]
    .map(str::to_owned);
    gpu_test(&["tally_pull", "tally_total", "tally_list", "tally_sums"], |gpu| {
        for zoo in Zoo::all() {
            let graph = typed(&zoo);
            let (wanted, found) =
                (answers(config(), &graph, &texts), answers(on(gpu), &graph, &texts));
            for ((found, wanted), text) in found.iter().zip(&wanted).zip(&texts) {
                assert_eq!(found, wanted, "{}: {text}", zoo.name);
            }
        }
        emptied(gpu);
    });
}

#[test]
fn too_many_paths_are_refused_alike() {
    // A hundred relationships from each of a few nodes to the next and back: 10^20 paths of ten steps.
    let ends = |by: i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..400).map(move |i| (i / 100 + by) % 4)))
    };
    let kinds = words((0..400).map(|_| Some("FOLLOWS")));
    let all: ArrayRef = Arc::new(Int64Array::from_iter_values(0..4));
    let graph = loaded(vec![("id", all)], vec![("s", ends(0)), ("d", ends(1)), ("type", kinds)]);
    let step = |i: usize| format!("-[r{i}:FOLLOWS]->(n{i})");
    let texts = [3, 8, 10, 11].map(|steps| {
        // Relationships of separate clauses may be the same.
        let steps: String =
            (1..=steps).map(|i| format!(" MATCH (n{}){}", i - 1, step(i))).collect();
        format!("{steps} RETURN count(*)")
    });
    let wanted = answers(config(), &graph, &texts);
    assert!(wanted.iter().any(|w| w[0].contains("more than")), "{wanted:?}");
    assert!(!wanted[0][0].contains("more than"), "{wanted:?}");
    gpu_test(&["tally_pull", "tally_total"], |gpu| {
        assert_eq!(answers(on(gpu), &graph, &texts), wanted);
        emptied(gpu);
    });
}

#[test]
fn a_small_count_stays_on_the_cpu() {
    gpu_test(&[], |gpu| {
        let e = live_engine(Config { gpu_edges_min: 1, ..on(gpu) });
        let data = e.add(1, social(PERSONS));
        let text = QUESTIONS[7];
        rows(&e, data, text);
        assert_eq!(launches(gpu), 0);
        let said = plan(&e, data, text);
        assert!(said.contains("on the CPU: paths begin at few nodes"), "{said}");
        // A node that is named is no reason to copy the relationships of a large graph.
        let data = e.add(2, social(20_000));
        for text in [
            "MATCH (p:Person {id: 5})-[:FOLLOWS]->(q:Person) RETURN q.id AS id, count(*)",
            "MATCH (p:Person {id: 5})-[:FOLLOWS]->(q:Person) WITH DISTINCT q MATCH (q)-[:LIVES_IN]->(t) RETURN t.name, count(*)",
        ] {
            let said = plan(&e, data, text);
            assert!(said.contains("on the CPU: paths begin at few nodes"), "{text}: {said}");
        }
        stop(e);
    });
}

#[test]
fn faulty_cards_cost_a_line_and_not_the_count() {
    let texts: Vec<String> = [0, 2, 6, 8].map(|q: usize| QUESTIONS[q].to_owned()).to_vec();
    let wanted = answers(config(), &social(PERSONS), &texts);
    fault_test(|| {
        for (text, wanted) in texts.iter().zip(&wanted) {
            let ask = |gpu: &Gpu| {
                let e = live_engine(on(gpu));
                let data = e.add(1, social(PERSONS));
                assert_eq!(rows(&e, data, text), *wanted, "{text}");
                emulator::clear();
                // The next one is fine, on whichever side.
                assert_eq!(rows(&e, data, text), *wanted, "{text}");
                stop(e);
            };
            // What an answer without a fault launches and allocates, the engine's look at the card included: a fault at each.
            let calls = [Counted::Launches, Counted::Allocations].map(|what| {
                let gpu = open_gpu();
                let before = emulator::count(what);
                let e = live_engine(on(&gpu));
                let data = e.add(1, social(PERSONS));
                rows(&e, data, text);
                let calls = emulator::count(what) - before;
                stop(e);
                calls
            });
            assert!(calls[0] > 3 && calls[1] > 3, "{text}: {calls:?}");
            // Every call fails once at least, the first dozen in each way.
            let is_due = |at: u64, odd: bool| at <= 12 || (at % 2 == 1) == odd;
            for at in 1..=calls[0] {
                let each = [(Noticed::AtOnce, true), (Noticed::Later, false)];
                for noticed in each.iter().filter(|way| is_due(at, way.1)).map(|way| way.0) {
                    let gpu = open_gpu();
                    emulator::fail_launch(at, 700, noticed);
                    ask(&gpu);
                }
            }
            for at in 1..=calls[1] {
                let each = [(Times::Once, true), (Times::FromThenOn, false)];
                for times in each.iter().filter(|way| is_due(at, way.1)).map(|way| way.0) {
                    let gpu = open_gpu();
                    emulator::refuse_memory(at, times);
                    ask(&gpu);
                    emptied(&gpu);
                }
            }
        }
    });
}

#[test]
fn relations_make_room_for_each_other_on_a_small_card() {
    let texts: Vec<String> = texts().into_iter().filter(|t| t.contains("FOLLOWS")).collect();
    let wanted = answers(config(), &social(PERSONS), &texts);
    gpu_test(&[], |_| {
        let options = GpuOptions { memory_limit: Some(160 << 10), ..GpuOptions::default() };
        let gpu = Gpu::open(&options).expect("the emulator");
        let e = live_engine(on(&gpu));
        let data = e.add(1, social(PERSONS));
        for (text, wanted) in texts.iter().zip(&wanted) {
            assert_eq!(rows(&e, data, text), *wanted, "{text}");
        }
        assert!(launches(&gpu) > 0 && gpu.budget().peak() <= 160 << 10);
        stop(e);
        emptied(&gpu);
    });
}
