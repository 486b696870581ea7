//! The reads of the openCypher Technology Compatibility Kit with every job that has a form for it on the card, which here is
//! the emulator: the answers that the CPU gives, which `engine/cypher/tests/tck.rs` holds to the kit's own.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, RecordBatch};
use expected::{Shown, read};
use gherkin::Scenario;
use graphlume_cypher::testkit::{Setup, execute};
use graphlume_emu::emulator::{self, Counted};
use graphlume_emu::gpu_test;
use graphlume_expr::Strictness;
use graphlume_store::PropertyGraph;
use graphlume_table::Table;
use graphlume_types::{CancelToken, DatasetId};
use serde_json::{Map, Value as Json};

use super::gpu::{on, stop};
use super::kit::live_engine;
use crate::residency::tables::ResidentTables;

#[allow(clippy::unwrap_used, dead_code, reason = "shared with the crate's own tests")]
#[path = "../../../cypher/tests/support/expected.rs"]
mod expected;
#[allow(clippy::unwrap_used, dead_code, reason = "likewise")]
#[path = "../../../cypher/tests/support/gherkin.rs"]
mod gherkin;
#[allow(clippy::unwrap_used, dead_code, reason = "likewise")]
#[path = "../../../cypher/tests/support/tables.rs"]
mod tables;

fn json_of(value: &Shown) -> Option<Json> {
    Some(match value {
        Shown::Null => Json::Null,
        Shown::Bool(v) => Json::from(*v),
        Shown::Int(v) => Json::from(*v),
        Shown::Float(v) => Json::from(v.parse::<f64>().ok()?),
        Shown::Text(v) => Json::from(v.clone()),
        Shown::List(list) => Json::Array(list.iter().map(json_of).collect::<Option<_>>()?),
        Shown::Map(map) => {
            let entries = map.iter().map(|(k, v)| Some((k.clone(), json_of(v)?)));
            Json::Object(entries.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// The set-up of a scenario, its query and the parameters, where it has one query that can be read.
fn parts(scenario: &Scenario) -> Option<(Setup, graphlume_cypher::Query, Map<String, Json>)> {
    let (mut setup, mut params, mut query) = (Setup::default(), Map::new(), None);
    for step in &scenario.steps {
        if step.text.starts_with("having executed") {
            let graph = tables::graph(&setup)?;
            execute(&mut setup, step.doc.as_deref()?, &graph).ok()?;
        } else if step.text.starts_with("parameters are") {
            for row in &step.table {
                params.insert(row[0].clone(), json_of(&read(&row[1])?)?);
            }
        } else if step.text.starts_with("executing") {
            query = graphlume_cypher::parse(step.doc.as_deref()?).ok();
        }
    }
    Some((setup, query?, params))
}

/// The graph of a set-up in the form of which a card takes most: texts by a dictionary, a column of truths for each label.
fn graph(setup: &Setup) -> Option<PropertyGraph> {
    let plain = tables::graph(setup)?;
    let names: BTreeSet<&String> = setup.nodes.iter().flat_map(|(labels, _)| labels).collect();
    let flags = names.into_iter().map(|name| {
        let has = setup.nodes.iter().map(|(labels, _)| Some(labels.contains(name)));
        (format!("label__{name}"), Arc::new(has.collect::<BooleanArray>()) as ArrayRef)
    });
    let flags: Vec<(String, ArrayRef)> = flags.collect();
    let coded = |table: &Table| {
        let columns = table.column_names().into_iter().zip(table.batch().columns());
        let is_flag = |name: &str| flags.iter().any(|(flag, _)| flag == name);
        let columns =
            columns.filter(|(name, _)| *name != "labels" && !is_flag(name)).map(|(name, array)| {
                let coded = array.as_string_opt::<i32>().map(|texts| -> ArrayRef {
                    Arc::new(texts.iter().collect::<DictionaryArray<UInt32Type>>())
                });
                (name.to_owned(), coded.unwrap_or_else(|| array.clone()))
            });
        columns.collect::<Vec<(String, ArrayRef)>>()
    };
    let table = |columns: Vec<(String, ArrayRef)>| {
        Table::try_new(RecordBatch::try_from_iter(columns).expect("columns")).expect("a table")
    };
    let nodes =
        plain.nodes().map(|nodes| table(coded(nodes).into_iter().chain(flags.clone()).collect()));
    let edges = plain.edges().map(|edges| table(coded(edges)));
    PropertyGraph::new(nodes, edges, plain.bindings().clone()).ok()
}

#[test]
fn the_reads_of_the_compatibility_kit_are_the_same_on_the_gpu() {
    let scenarios = gherkin::read(Path::new("../cypher/tests/tck/features"));
    assert!(scenarios.len() > 3_800, "{} scenarios", scenarios.len());
    gpu_test(&["col_filter", "col_reduce"], |gpu| {
        let e = live_engine(on(gpu));
        let ctx = e.handle.remains().upgrade().expect("a context");
        let (mut asked, mut on_gpu) = (0_u32, 0);
        for scenario in &scenarios {
            let Some((setup, query, params)) = parts(scenario) else { continue };
            // Only a graph that nobody shares takes a device.
            let graphs = [graph(&setup), graph(&setup)];
            let [Some(graph), Some(with_gpu)] = graphs else { continue };
            asked += 1;
            let cancel = CancelToken::new();
            let answer = |graph: &PropertyGraph| {
                let strictness = Strictness::Lenient;
                let found = graphlume_cypher::run(graph, &query, &params, strictness, &cancel);
                found.map(|answer| answer.json()).map_err(|error| error.to_string())
            };
            let mut id = [0; 16];
            id[..4].copy_from_slice(&asked.to_le_bytes());
            let device = ResidentTables::of(&ctx, (DatasetId::from_bytes(id), 1), 0, false);
            let before = emulator::count(Counted::Launches);
            let found = answer(&with_gpu.with_table_device(device));
            on_gpu += u32::from(emulator::count(Counted::Launches) > before);
            assert_eq!(found, answer(&graph), "{}: {}", scenario.feature, scenario.name);
        }
        // Most queries ask for no aggregate and no filter of a whole table.
        assert!(asked > 2_900 && on_gpu > 40, "{asked} queries, {on_gpu} of them on the card");
        drop(ctx);
        stop(e);
    });
}
