use std::collections::BTreeMap;

use graphlume_engine::ToPage;
use graphlume_types::Budget;
use graphlume_types::UserId;
use graphlume_types::hash::mix64;
use graphlume_types::limits::{
    DOCUMENT_BYTES_MAX, DOCUMENT_UNPACKED_BYTES_MAX, ENCODING_MAPPING_BYTES_MAX,
    OWN_DOCUMENT_BYTES_MAX, OWN_STEPS_MAX,
};
use serde_json::{Value, json};

use super::*;

const ANN: Actor = Actor::User(UserId(1));
const BOB: Actor = Actor::User(UserId(2));

fn author(actor: Actor) -> Author {
    Author { actor, name: format!("{actor:?}"), orgs: [].into() }
}

/// A change as its path takes it; `bytes` are those of a set of nodes.
fn check_within(
    path: &str,
    value: Option<Value>,
    bytes: u64,
    payer: &Payer,
) -> Result<Change, ServiceError> {
    let text = value.map(|v| JsonText::of(&v).unwrap());
    checked(path, text.as_ref(), bytes, payer)
}

fn check(path: &str, value: Option<Value>) -> Result<Change, ServiceError> {
    check_within(path, value, 4, &Payer::default())
}

fn shared() -> Layer {
    Layer::shared(Document::default(), true)
}

fn empty_room() -> std::sync::Arc<Room> {
    Room::new(Document::default(), true, Payer::default(), Unwritten::default())
}

/// The JSON of what is told.
fn message(told: &Told) -> Value {
    match told {
        Told::Message(message) => serde_json::to_value(message).unwrap(),
        Told::Text(text) => serde_json::from_slice(&text.bytes().unwrap()).unwrap(),
        Told::Frame(_) => Value::Null,
    }
}

fn value_of(held: Option<&Held>) -> Option<Value> {
    held.map(Held::value)
}

fn filter(expr: &str) -> Value {
    json!({"rule": {"expr": expr}})
}

fn step(layer: &mut Layer, actor: Actor, join: Option<&str>, changes: &[(&str, Option<Value>)]) {
    let changes = changes.iter().map(|(p, v)| check(p, v.clone()).unwrap()).collect();
    let planned = layer.plan(actor, "step".to_owned(), join.map(str::to_owned), changes).unwrap();
    layer.commit(planned, author(actor));
}

fn go(layer: &mut Layer, actor: Actor, way: Way) -> bool {
    let Ok(planned) = layer.plan_way(actor, way) else { return false };
    layer.commit(planned, author(actor));
    true
}

#[test]
fn what_a_path_may_hold_is_checked_by_name_and_completed() {
    let fine = check("filters/f1", Some(filter("point:degree > 3"))).unwrap();
    let whole = json!({
        "kind": "filter", "name": "", "on": true, "order": 0.0, "rule": {"expr": "point:degree > 3"},
    });
    assert_eq!(value_of(fine.value.as_ref()), Some(whole));
    let node_size = json!({"attribute": "degree"});
    for (path, value) in [
        ("prune_orphans", json!(true)),
        ("pins/7", json!([1.5, -2])),
        ("settings/gravity", json!(2)),
        ("look/pointSize", json!(1.5)),
        ("encodings/node.size", node_size),
        ("encodings/node.axis", json!({"rows": [{"r": "2"}, {"y": 0, "label": "middle"}]})),
    ] {
        let found = check(path, Some(value.clone())).unwrap().value;
        assert_eq!(value_of(found.as_ref()), Some(value), "{path}");
    }
    let refused = |path: &str, value: Value| {
        let error = check(path, Some(value)).unwrap_err();
        (error.reply().slug.to_string(), error.to_string())
    };
    let cases = [
        ("filtres/f", filter("x"), "unknown-path", "filters/<id>"),
        ("filters/a b", filter("x"), "invalid-id", "a b"),
        (
            "filters/f",
            json!({"rule": {"expr": "x", "query": "y"}}),
            "invalid-value",
            "filters/f.rule",
        ),
        ("filters/f", json!({"rule": {"sets": ["a"]}}), "invalid-value", "filters/f.rule"),
        ("filters/f", json!({"rule": {"expr": "x"}, "of": 1}), "invalid-value", "filters/f.of"),
        ("filters/f", json!({"rule": {"expr": "x"}, "on": 1}), "invalid-value", "filters/f.on"),
        ("filters/f", json!({"kind": "keep", "rule": {"expr": "x"}}), "invalid-value", "exclusion"),
        ("collections/c", json!({"rule": {"expr": "x"}}), "invalid-value", "collections/c.name"),
        ("pins/7", json!([1e300, 0]), "invalid-value", "-1e15"),
        ("pins/-1", json!([0, 0]), "unknown-path", "pins/<node>"),
        ("settings/gravitty", json!(1), "unknown-path", "settings/"),
        ("encodings/node.color", json!({}), "invalid-value", "attribute"),
        (
            "encodings/node.color",
            json!({"attribute": "a", "x": [0]}),
            "invalid-value",
            "node.color.x",
        ),
        (
            "encodings/node.color",
            json!({"attribute": "a", "colors": vec!["c"; 1_001]}),
            "invalid-value",
            "up to 1000 colours",
        ),
        (
            "encodings/edge.size",
            json!({"attribute": "a", "mapping": {"m": "x".repeat(ENCODING_MAPPING_BYTES_MAX)}}),
            "invalid-value",
            "65536 bytes",
        ),
        ("encodings/node.axis", json!([{"r": 1}]), "invalid-value", "node.axis.rows is missing"),
        ("encodings/node.axis", json!({"rows": 5}), "invalid-value", "give a list of rows"),
        (
            "encodings/node.axis",
            json!({"rows": [{"r": 1}, {"label": "a"}]}),
            "invalid-value",
            "node.axis.rows[1] is {\"label\":\"a\"}, which has no number in r, x or y",
        ),
        (
            "encodings/node.axis",
            json!({"rows": vec![json!({"r": 1}); 501]}),
            "invalid-value",
            "rows has 501 entries; at most 500",
        ),
        ("encodings/edge.axis", json!({"rows": []}), "unknown-path", "node.axis"),
        ("look/pointSize", json!([1]), "invalid-value", "look/pointSize"),
        ("look/font", json!("x"), "unknown-path", "look/"),
        ("prune_orphans", json!("yes"), "invalid-value", "true or false"),
    ];
    for (path, value, slug, words) in cases {
        let (found, message) = refused(path, value);
        assert!(found == slug && message.contains(words), "{path}: {found}: {message}");
    }
    // What a client sends beside the rows is not kept: axes follow no column.
    let sent = json!({"reset": false, "name": "user_0.5", "attribute": "degree", "rows": []});
    let kept = check("encodings/node.axis", Some(sent)).unwrap().value;
    assert_eq!(value_of(kept.as_ref()), Some(json!({"rows": []})));
    let large = json!({"rule": {"expr": "x".repeat(600_000)}});
    assert_eq!(refused("filters/f", large).0, "too-large");
}

#[test]
fn each_takes_back_what_is_his_and_nothing_that_another_has_changed_since() {
    let mut layer = shared();
    step(&mut layer, ANN, None, &[("filters/a", Some(filter("x > 1")))]);
    step(&mut layer, BOB, None, &[("filters/b", Some(filter("x > 2")))]);
    assert_eq!(layer.labels(ANN), (Some("step"), None));
    assert!(go(&mut layer, ANN, Way::Undo), "not the last step of all, but her last one");
    assert!(layer.document.get("filters/a").is_none() && layer.document.get("filters/b").is_some());
    assert!(!go(&mut layer, ANN, Way::Undo), "there is no other");
    assert!(go(&mut layer, ANN, Way::Redo) && layer.document.get("filters/a").is_some());
    step(&mut layer, BOB, None, &[("filters/a", Some(filter("x > 3")))]);
    assert!(!go(&mut layer, ANN, Way::Undo), "what Bob made of it is not hers to take back");
    assert!(go(&mut layer, BOB, Way::Undo));
    assert_eq!(layer.document.get("filters/a").unwrap().value()["rule"]["expr"], "x > 1");
}

#[test]
fn a_drag_is_one_step() {
    let mut layer = shared();
    for at in 0..40 {
        step(&mut layer, ANN, Some("drag-1"), &[("pins/3", Some(json!([at, 0])))]);
    }
    step(&mut layer, ANN, Some("drag-2"), &[("pins/3", Some(json!([99, 0])))]);
    assert!(go(&mut layer, ANN, Way::Undo));
    assert_eq!(value_of(layer.document.get("pins/3")), Some(json!([39, 0])));
    assert!(go(&mut layer, ANN, Way::Undo) && layer.document.is_empty());
    assert!(go(&mut layer, ANN, Way::Redo));
    assert_eq!(value_of(layer.document.get("pins/3")), Some(json!([39, 0])));
}

#[test]
fn a_document_past_its_limits_is_refused_and_stays_as_it_was() {
    let mut layer = shared();
    let large = |at: usize| json!({"rule": {"query": format!("{at}{}", "x".repeat(500_000))}});
    for at in 0..8 {
        step(&mut layer, ANN, None, &[(&format!("filters/f{at}"), Some(large(at)))]);
    }
    let before = layer.document.as_ref().clone();
    let change = check("filters/f9", Some(large(9))).unwrap();
    let refused = layer.plan(ANN, String::new(), None, vec![change]).unwrap_err();
    assert_eq!(refused.reply().slug, "too-large", "{refused}");
    assert_eq!(layer.document.as_ref(), &before);
    for at in 0..50 {
        step(&mut layer, ANN, None, &[("filters/f0", Some(large(at)))]);
    }
    assert!(layer.bytes() < DOCUMENT_BYTES_MAX * 2 + graphlume_types::limits::HISTORY_BYTES_MAX);
    assert!(go(&mut layer, ANN, Way::Undo), "what is kept of the past can be taken back");
}

#[test]
fn a_page_that_watches_may_change_less_than_all_together() {
    let room = empty_room();
    let seat = room.enter(author(Actor::KeyHolder), false, &Payer::default());
    let large = json!({"rule": {"query": "x".repeat(OWN_DOCUMENT_BYTES_MAX)}});
    let change = check("filters/f", Some(large)).unwrap();
    let own = room.with(Some(seat.id()), |l| {
        l.plan(Actor::Viewer, String::new(), None, vec![change.clone()])
    });
    assert_eq!(own.unwrap().unwrap_err().reply().slug, "too-large");
    let shared = room.with(None, |l| l.plan(ANN, String::new(), None, vec![change]));
    assert!(shared.unwrap().is_ok());
}

#[test]
fn a_set_of_nodes_is_one_of_this_graph_and_all_of_a_document_are_bounded() {
    let set = |bytes: u32| {
        let all = graphlume_engine::Bits::all(bytes * 8);
        json!({"on": false, "rule": {"nodes": graphlume_engine::NodeBytes::pack(&all, bytes * 8)}})
    };
    let error = check("filters/f", Some(set(5))).unwrap_err().to_string();
    assert!(error.contains("unpacks to more than 4 bytes"), "{error}");
    assert!(check("filters/f", Some(set(4))).is_ok());
    let mut layer = shared();
    let mib = 1 << 20;
    let large = |k: u64| {
        check_within(&format!("filters/f{k}"), Some(set(mib)), u64::from(mib), &Payer::default())
            .unwrap()
    };
    let most = DOCUMENT_UNPACKED_BYTES_MAX / u64::from(mib);
    for k in 0..most {
        let planned = layer.plan(ANN, String::new(), None, vec![large(k)]).unwrap();
        layer.commit(planned, author(ANN));
    }
    let refused = layer.plan(ANN, String::new(), None, vec![large(most)]).unwrap_err();
    assert!(refused.to_string().contains("unpack to"), "{refused}");
    let again = layer.plan(ANN, String::new(), None, vec![large(3)]);
    assert!(again.is_ok(), "in the place of another it fits");
}

#[test]
fn whoever_holds_a_value_pays_for_it_once_and_until_nobody_does() {
    let (memory, own) = (Budget::new("memory", 1 << 30), Budget::new("own", 100_000));
    let payer = Payer::new(vec![memory.clone(), own.clone()]);
    let mut layer = shared();
    let value = |k: usize| json!({"rule": {"query": format!("{k}{}", "x".repeat(30_000))}});
    let make = |k: usize| check_within("filters/f", Some(value(k)), 0, &payer);
    let planned = layer.plan(ANN, String::new(), None, vec![make(0).unwrap()]).unwrap();
    layer.commit(planned, author(ANN));
    // In the document, the past and the log: once, as text and as what was read of it.
    assert!((60_000..62_000).contains(&own.used()), "{}", own.used());
    assert_eq!(own.used(), memory.used());
    let before = own.used();
    let refused = make(9).unwrap_err();
    assert_eq!(refused.reply().slug, "memory-full", "{refused}");
    assert!(refused.to_string().contains("remove filters"), "{refused}");
    assert_eq!(own.used(), before);
    drop(layer);
    assert_eq!((own.used(), memory.used()), (0, 0));
}

#[test]
fn a_watcher_takes_back_a_few_steps() {
    let room = empty_room();
    let seat = room.enter(author(Actor::KeyHolder), false, &Payer::default());
    let undone = room.with(Some(seat.id()), |layer| {
        for k in 0..3 * OWN_STEPS_MAX {
            step(layer, Actor::Viewer, None, &[("filters/f", Some(filter(&format!("x > {k}"))))]);
        }
        (0..100).take_while(|_| go(layer, Actor::Viewer, Way::Undo)).count()
    });
    assert_eq!(undone, Some(OWN_STEPS_MAX));
}

#[test]
fn a_name_is_told_to_those_who_share_an_organization_and_to_nobody_else() {
    let of = |actor, orgs: &[&str]| Author {
        orgs: orgs.iter().map(|org| (*org).to_owned()).collect(),
        ..author(actor)
    };
    let told = |by: &Author, to: Author| {
        let room = empty_room();
        let mut seat = room.enter(to, false, &Payer::default());
        drop(seat.pending());
        let change = check("filters/f", Some(filter("degree > 1"))).unwrap();
        let plan = |l: &mut Layer| l.plan(by.actor, "step".to_owned(), None, vec![change]);
        let planned = room.with(None, plan).unwrap().unwrap();
        room.commit(planned, by.clone());
        let told = seat
            .pending()
            .iter()
            .map(message)
            .find_map(|m| (m["t"] == "changed").then(|| m["by"]["name"].clone()));
        told.unwrap().as_str().unwrap().to_owned()
    };
    let ann = of(ANN, &["acme", "lab"]);
    assert_eq!(told(&ann, of(BOB, &["lab"])), ann.name);
    assert_eq!(
        told(&ann, of(ANN, &[])),
        ann.name,
        "the account itself, at a login with less rights"
    );
    let agent = of(Actor::Agent(UserId(1)), &[]);
    assert_eq!(told(&agent, of(ANN, &[])), agent.name);
    for stranger in
        [of(BOB, &["globex"]), of(BOB, &[]), of(Actor::KeyHolder, &[]), of(Actor::Viewer, &[])]
    {
        assert_eq!(told(&ann, stranger.clone()), "", "{stranger:?}");
    }
}

/// A page's copy of the document.
#[derive(Default, PartialEq, Debug, Clone)]
struct Copy(BTreeMap<String, Value>, BTreeMap<String, Value>);

impl Copy {
    fn hear(&mut self, told: &[Told]) {
        for message in told.iter().map(message) {
            let map = |name: &str| {
                let map = message[name].as_object().cloned().unwrap_or_default();
                map.into_iter().collect::<BTreeMap<_, _>>()
            };
            match message["t"].as_str() {
                Some("document") => *self = Self(map("document"), map("own")),
                Some("changed") => {
                    let entries = if message["own"] == true { &mut self.1 } else { &mut self.0 };
                    for change in message["changes"].as_array().unwrap() {
                        let path = change["path"].as_str().unwrap().to_owned();
                        match change["value"].clone() {
                            Value::Null => drop(entries.remove(&path)),
                            value => drop(entries.insert(path, value)),
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// A random step of a guest, as the service makes it.
fn random_step(room: &Room, seat: &str, dice: u64) {
    let OfRoom { author: who, controls, .. } = room.guest(seat).unwrap();
    let own = (!controls).then_some(seat);
    let actor = if controls { who.actor } else { Actor::Viewer };
    let planned = room.with(own, |layer| match dice % 10 {
        0 | 1 => layer.plan_way(actor, Way::Undo),
        2 => layer.plan_way(actor, Way::Redo),
        _ => {
            let many = 1 + dice / 10 % 3;
            let changes = (0..many).map(|k| {
                let path = format!("filters/f{}", (dice / 100 + k) % 7);
                let value = (!(dice / 1_000).is_multiple_of(4))
                    .then(|| filter(&format!("x > {}", dice % 97)));
                check(&path, value).unwrap()
            });
            let join =
                (dice / 10_000).is_multiple_of(3).then(|| format!("j{}", dice / 100_000 % 2));
            layer.plan(actor, format!("{dice}"), join, changes.collect())
        }
    });
    if let Ok(planned) = planned.unwrap() {
        room.with(own, |layer| layer.commit(planned, who));
        room.tell();
    }
}

#[test]
fn after_any_steps_reconnects_and_undos_all_hold_the_same_document() {
    for seed in 0..20 {
        let room = empty_room();
        let agent = Actor::Agent(UserId(1));
        let enter = |of: usize| {
            let actor = [ANN, BOB, agent, Actor::KeyHolder][of];
            room.enter(author(actor), of < 3, &Payer::default())
        };
        let mut pages: Vec<(Seat, Copy)> = (0..4).map(|k| (enter(k), Copy::default())).collect();
        for round in 0..400_u64 {
            let dice = mix64(seed * 1_000 + round);
            let at = (dice % 4) as usize;
            random_step(&room, pages[at].0.id(), dice / 4 % 1_000_000_007);
            // Some hear at once, some late, and some come again.
            for (k, (seat, copy)) in pages.iter_mut().enumerate() {
                match mix64(dice + k as u64) % 40 {
                    0 => (*seat, *copy) = (enter(k), Copy::default()),
                    1..=20 => copy.hear(&seat.pending()),
                    _ => {}
                }
            }
        }
        for (seat, copy) in &mut pages {
            copy.hear(&seat.pending());
            assert!(seat.pending().is_empty(), "all is told");
        }
        let values = |map: BTreeMap<String, JsonText>| -> BTreeMap<String, Value> {
            map.into_iter().map(|(path, text)| (path, text.value())).collect()
        };
        let shared = values(room.document().to_map());
        assert!(!shared.is_empty());
        for (k, (seat, copy)) in pages.iter().enumerate() {
            assert_eq!(copy.0, shared, "seed {seed}, page {k}");
            let own = room.with(Some(seat.id()), |l| l.document.to_map()).unwrap();
            assert_eq!(copy.1, values(own), "seed {seed}, page {k}");
        }
        let entries = room.document().to_map();
        let mut written = Document::from_entries(entries, &Payer::default()).unwrap();
        assert_eq!(&written, room.document().as_ref(), "it is read back as it was written");
        let bytes = written.bytes();
        let gone: Vec<Change> = shared.keys().map(|p| Change::new(p.clone(), None)).collect();
        written.apply(&gone, DOCUMENT_BYTES_MAX).unwrap();
        assert!(written.is_empty() && written.bytes() == 0 && bytes > 0);
    }
}

#[test]
fn all_steps_of_one_can_be_taken_back_and_made_again() {
    for seed in 0..20_u64 {
        let mut layer = shared();
        let mut states = vec![layer.document.clone()];
        for round in 0..60 {
            let dice = mix64(seed << 20 | round);
            let value = (!dice.is_multiple_of(3)).then(|| filter(&format!("x > {}", dice % 11)));
            step(&mut layer, ANN, None, &[(&format!("filters/f{}", dice / 7 % 5), value)]);
            states.push(layer.document.clone());
        }
        for state in states.iter().rev().skip(1) {
            assert!(go(&mut layer, ANN, Way::Undo));
            assert_eq!(&layer.document, state);
        }
        assert!(!go(&mut layer, ANN, Way::Undo));
        for state in states.iter().skip(1) {
            assert!(go(&mut layer, ANN, Way::Redo));
            assert_eq!(&layer.document, state);
        }
        assert!(!go(&mut layer, ANN, Way::Redo));
    }
}

/// Messages of every kind as pages are sent them, in a module that the page's compiler checks against its own types.
fn samples() -> String {
    let room = empty_room();
    let mut page = room.enter(author(ANN), true, &Payer::default());
    let guest = room.enter(author(Actor::KeyHolder), false, &Payer::default());
    let mut told = page.pending();
    let collection = json!({"name": "Ten", "node_color": "#ff0000", "rule": {"sets": ["a", "b"]}});
    let entries = [
        ("Filter", "filters/f", filter("point:degree > 3")),
        ("Collection", "collections/c", collection),
        ("Collapsed", "collapsed/g", json!({"name": "Ten", "rule": {"nodes": "Y2AEAA=="}})),
        (
            "Encoding",
            "encodings/node.color",
            json!({"attribute": "kind", "variation": "categorical"}),
        ),
    ];
    let changes: Vec<Change> =
        entries.iter().map(|(_, path, value)| check(path, Some(value.clone())).unwrap()).collect();
    let plan = |label: &str, actor| {
        room.with(None, |l| l.plan(actor, label.to_owned(), None, changes.clone()))
            .unwrap()
            .unwrap()
    };
    room.commit(plan("by a person", ANN), author(ANN));
    told.extend(page.pending());
    let agent = Actor::Agent(UserId(1));
    room.commit(plan("by an agent", agent), author(agent));
    told.extend(page.pending());
    let line = |message: &ToPage<'_>| format!("  {},", serde_json::to_string(message).unwrap());
    let mut lines: Vec<String> = told
        .iter()
        .map(|told| match told {
            Told::Message(message) => line(message),
            Told::Text(text) => {
                format!("  {},", std::str::from_utf8(&text.bytes().unwrap()).unwrap())
            }
            Told::Frame(_) => panic!("no frame is among them"),
        })
        .collect();
    lines.extend(crate::sessions::samples().iter().map(line));
    drop(guest);
    let typed = entries.iter().zip(&changes).map(|((kind, ..), change)| {
        let (name, held) = (kind.to_lowercase(), change.value.as_ref().unwrap());
        let value = held.text().as_str();
        format!("export const {name}: {kind} = {value};\n")
    });
    let typed: String = typed.collect();
    format!(
        "// Made by the tests of graphlume-service from what the server sends; `npm run check` holds it to the types.\n\
         import type {{ Collapsed, Collection, DocumentMessage, Encoding, Filter }} from '../../src/net/messages.ts';\n\n\
         export const told: DocumentMessage[] = [\n{}\n];\n{typed}",
        lines.join("\n")
    )
}

fn sample_file() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/tests/unit/messages.samples.ts")
}

#[test]
fn the_page_s_types_are_checked_against_what_the_server_sends() {
    let stored = std::fs::read_to_string(sample_file()).unwrap_or_default();
    let hint = "run `cargo test -p graphlume-service -- --ignored write_samples`";
    assert_eq!(stored, samples(), "{hint}");
}

#[test]
#[ignore = "writes what the test above compares"]
fn write_samples() {
    std::fs::write(sample_file(), samples()).unwrap();
}
