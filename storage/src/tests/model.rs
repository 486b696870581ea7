//! Random operations against a plain map, with reopens in between.

use std::collections::{BTreeMap, BTreeSet};

use graphlume_types::limits;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Operation {
    Put { id: u8, author: u64, org: u8, at: i64, blob: Option<u8>, large: bool },
    Insert { id: u8 },
    Replace { id: u8, stale: bool },
    Delete { id: u8 },
    Pair { a: u8, b: u8, refused: bool },
    Account { id: u64, name: u8 },
    Sweep,
    Export,
    Reopen,
}

fn step() -> impl Strategy<Value = Operation> {
    let id = || 0u8..12;
    prop_oneof![
        8 => (id(), 1u64..4, 0u8..3, -2i64..3, proptest::option::of(0u8..6), prop::bool::weighted(0.1))
            .prop_map(|(id, author, org, at, blob, large)| {
                Operation::Put { id, author, org, at, blob, large }
            }),
        2 => id().prop_map(|id| Operation::Insert { id }),
        3 => (id(), any::<bool>()).prop_map(|(id, stale)| Operation::Replace { id, stale }),
        4 => id().prop_map(|id| Operation::Delete { id }),
        2 => (id(), id(), any::<bool>()).prop_map(|(a, b, refused)| Operation::Pair { a, b, refused }),
        3 => (1u64..5, 0u8..4).prop_map(|(id, name)| Operation::Account { id, name }),
        1 => Just(Operation::Sweep),
        1 => Just(Operation::Export),
        1 => Just(Operation::Reopen),
    ]
}

fn org_of(n: u8) -> Option<&'static str> {
    [None, Some("acme"), Some("beta")][usize::from(n)]
}

#[derive(Default)]
struct Model {
    files: BTreeMap<u8, FileRec>,
    accounts: BTreeMap<u64, String>,
}

fn run(store: &Store, model: &mut Model, step: &Operation) {
    let key = |id: u8| file(u128::from(id), 1, None, 0).file_id;
    match step {
        Operation::Put { id, author, org, at, blob, large } => {
            let raw = blob.map(|b| store.blobs().put(&vec![b; 1_000]).unwrap());
            let mut rec = FileRec { raw, ..file(u128::from(*id), *author, org_of(*org), *at) };
            if *large {
                rec.description = "d".repeat(17_000 + usize::from(*id));
            }
            store.commit(Batch::new().put(&rec)).unwrap();
            model.files.insert(*id, rec);
        }
        Operation::Insert { id } => {
            let rec = file(u128::from(*id), 2, None, 7);
            let done = store.commit(Batch::new().insert(&rec));
            assert_eq!(done.is_ok(), !model.files.contains_key(id));
            model.files.entry(*id).or_insert(rec);
        }
        Operation::Replace { id, stale } => {
            let Some((rec, tag)) = store.get_tagged::<FileRec>(&key(*id)).unwrap() else { return };
            let next =
                FileRec { bytes_count: rec.bytes_count.map_or(Some(1), |n| Some(n + 1)), ..rec };
            store.commit(Batch::new().replace(&next, tag)).unwrap();
            if *stale {
                let e = store.commit(Batch::new().replace(&file(u128::from(*id), 3, None, 0), tag));
                assert!(matches!(e, Err(StoreError::Changed { .. })));
            }
            model.files.insert(*id, next);
        }
        Operation::Delete { id } => {
            store.commit(Batch::new().delete::<FileRec>(&key(*id))).unwrap();
            model.files.remove(id);
        }
        Operation::Pair { a, b, refused } => {
            let rec = file(u128::from(*a), 3, Some("acme"), 1);
            let mut batch = Batch::new().put(&rec).delete::<FileRec>(&key(*b));
            if *refused {
                // Contradicts the state in any case: the batch itself has changed the record.
                batch = batch.put(&rec).insert(&rec);
            }
            assert_eq!(store.commit(batch).is_err(), *refused);
            if !*refused {
                model.files.insert(*a, rec);
                model.files.remove(b);
            }
        }
        Operation::Account { id, name } => {
            let name = format!("name {name}");
            let taken = model.accounts.iter().any(|(other, n)| other != id && *n == name);
            let done = store.commit(Batch::new().put(&user(*id, &name, "")));
            assert_eq!(done.is_err(), taken);
            if !taken {
                model.accounts.insert(*id, name);
            }
        }
        Operation::Sweep => {
            let needed = model.files.values().filter_map(|f| f.raw).collect::<BTreeSet<_>>().len();
            let large = model.files.values().filter(|f| f.description.len() > 16_000).count();
            store.sweep(std::time::Duration::ZERO).unwrap();
            let report = store.sweep(std::time::Duration::ZERO).unwrap();
            assert_eq!((report.kept, report.removed), ((needed + large) as u64, 0));
        }
        Operation::Export => {
            let report = store.export().unwrap();
            assert_eq!(report.records, (model.files.len() + model.accounts.len()) as u64);
        }
        Operation::Reopen => {}
    }
}

fn compare(store: &Store, model: &Model) {
    let there: Vec<FileRec> = store.scan().map(Result::unwrap).collect();
    assert_eq!(there, model.files.values().cloned().collect::<Vec<_>>());
    for rec in &there {
        if let Some(blob) = &rec.raw {
            store.blobs().read(blob).unwrap();
        }
    }
    let unions = [
        vec![Scope::All],
        vec![Scope::Owner(UserId(1))],
        vec![Scope::Org("acme".into())],
        vec![Scope::Owner(UserId(2)), Scope::Org("acme".into())],
        vec![Scope::Owner(UserId(3)), Scope::Org("acme".into()), Scope::Org("beta".into())],
    ];
    for scopes in unions {
        let within = |f: &&FileRec| {
            scopes.iter().any(|s| match s {
                Scope::All => true,
                Scope::Owner(u) => f.author == *u,
                Scope::Org(o) => f.org_name.as_ref() == Some(o),
            })
        };
        let mut want: Vec<&FileRec> = model.files.values().filter(within).collect();
        want.sort_by_key(|f| (std::cmp::Reverse(f.created_at), f.file_id));
        let page = store.list::<FileRec>(&scopes, 1, 4).unwrap();
        assert_eq!(page.total, want.len() as u64, "{scopes:?}");
        let want: Vec<_> = want.into_iter().skip(1).take(4).cloned().collect();
        assert_eq!(page.items, want, "{scopes:?}");
    }
    for user in (1..4).map(UserId) {
        let own = || model.files.values().filter(|f| f.author == user);
        let blobs: BTreeSet<_> = own().filter_map(|f| f.raw).collect();
        let records: u64 = own()
            .map(|f| serde_json::to_vec(f).unwrap().len() as u64 + limits::RECORD_COST_BYTES)
            .sum();
        let held = records + blobs.iter().map(|b| b.len).sum::<u64>();
        assert_eq!(store.held_bytes(user).unwrap(), held, "{user:?}");
    }
    for (id, name) in &model.accounts {
        assert_eq!(store.find::<UserRec>("username", name).unwrap().unwrap().id, UserId(*id));
    }
    assert_sound(store);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_store_behaves_as_a_map(steps in prop::collection::vec(step(), 1..60)) {
        let dir = scratch();
        let mut store = open(dir.path());
        let mut model = Model::default();
        for s in &steps {
            if matches!(s, Operation::Reopen) {
                drop(store);
                store = open(dir.path());
                compare(&store, &model);
            }
            run(&store, &mut model, s);
        }
        compare(&store, &model);
        drop(store);
        compare(&open(dir.path()), &model);
    }
}
