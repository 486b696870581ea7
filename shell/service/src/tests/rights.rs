//! Rights in one table: every actor with every action on every object.

use super::*;
use crate::Arrival;
use graphlume_identity::authz::{Action, require};

/// `Y` yes, `F` refused, `H` as if it were not there, `U` asked to sign in, `-` not in the list. The objects
/// are datasets of `owner` in the organization of `owner` and `member`, each made of a file of its own;
/// `viewer` and `editor` are invited to the private one; `steer` is about a session that `owner` has open.
const TABLE: &str = "
    object       action     owner member viewer editor other nobody staff super
    by-link      read       Y     Y      Y      Y      Y     Y      Y     Y
    by-link      list       Y     Y      -      -      -     U      -     Y
    by-link      write      Y     F      F      F      F     F      F     Y
    by-link      delete     Y     F      F      F      F     F      F     Y
    by-link      share      Y     F      F      F      F     F      F     Y
    by-link      let-in     F     F      F      F      F     U      Y     Y
    by-link      steer      Y     F      F      F      F     F      F     Y
    by-link      file       Y     Y      H      H      H     H      H     Y
    by-link      list-file  Y     Y      -      -      -     U      -     Y
    by-link      cite       Y     Y      Y      Y      Y     U      Y     Y
    private      read       Y     H      Y      Y      H     H      H     Y
    private      list       Y     -      -      -      -     U      -     Y
    private      write      Y     H      F      Y      H     H      H     Y
    private      delete     Y     H      F      Y      H     H      H     Y
    private      share      Y     H      F      F      H     H      H     Y
    private      let-in     F     F      F      F      F     U      H     Y
    private      steer      Y     H      F      Y      H     H      H     Y
    private      file       Y     H      H      H      H     H      H     Y
    private      list-file  Y     -      -      -      -     U      -     Y
    private      cite       Y     H      Y      Y      H     U      H     Y
    organization read       Y     Y      H      H      H     H      H     Y
    organization list       Y     Y      -      -      -     U      -     Y
    organization write      Y     F      H      H      H     H      H     Y
    organization delete     Y     F      H      H      H     H      H     Y
    organization share      Y     F      H      H      H     H      H     Y
    organization let-in     F     F      F      F      F     U      H     Y
    organization steer      Y     F      H      H      H     H      H     Y
    organization file       Y     Y      H      H      H     H      H     Y
    organization list-file  Y     Y      -      -      -     U      -     Y
    organization cite       Y     Y      H      H      H     U      H     Y
    public       read       Y     Y      Y      Y      Y     Y      Y     Y
    public       list       Y     Y      -      -      -     U      -     Y
    public       write      Y     F      F      F      F     F      F     Y
    public       delete     Y     F      F      F      F     F      F     Y
    public       share      Y     F      F      F      F     F      F     Y
    public       let-in     F     F      F      F      F     U      Y     Y
    public       steer      Y     F      F      F      F     F      F     Y
    public       file       Y     Y      H      H      H     H      H     Y
    public       list-file  Y     Y      -      -      -     U      -     Y
    public       cite       Y     Y      Y      Y      Y     U      Y     Y";

/// A dataset and the file that it was made of.
struct Object {
    dataset: String,
    file: String,
}

async fn made(rig: &Rig, owner: &Principal, mode: &str) -> Object {
    let file = rig.file(owner, json!({"file_type": "csv", "org_name": "acme"})).await.file_id;
    rig.upload(owner, &file, &[], EDGES_CSV.as_bytes()).await.unwrap();
    let body = create_body(json!({"edge_files": [file], "org_name": "acme"}));
    let dataset = rig.dataset(owner, body).await.unwrap();
    let invited = json!([{"email": "viewer@example.org", "action": "10"},
                         {"email": "editor@example.org", "action": "20"}]);
    let invited = if mode == "private" { invited } else { json!([]) };
    let share =
        json!({"obj_pk": dataset, "mode": mode, "mode_action": "10", "invited_users": invited});
    if mode != "by-link" {
        rig.service.datasets.share(owner, share.to_string().as_bytes()).await.unwrap();
    }
    rig.service.sessions.open(owner, &dataset, Some(&format!("of-{mode}")), &[]).await.unwrap();
    Object { dataset, file }
}

fn cell<T>(outcome: Result<T, impl Coded>) -> &'static str {
    match outcome.map_err(|e| e.code()) {
        Ok(_) => "Y",
        Err(Code::Forbidden) => "F",
        Err(Code::NotFound) => "H",
        Err(Code::Unauthenticated) => "U",
        Err(other) => panic!("unexpected {other:?}"),
    }
}

fn listed(found: Result<Vec<String>, ServiceError>, id: &str) -> &'static str {
    match found {
        Ok(ids) if ids.iter().any(|i| i == id) => "Y",
        Ok(_) => "-",
        Err(e) => cell::<()>(Err(e)),
    }
}

async fn outcome(
    rig: &Rig,
    who: &Principal,
    mode: &str,
    object: &Object,
    action: &str,
) -> &'static str {
    let (s, id, file) = (&rig.service, object.dataset.as_str(), object.file.as_str());
    let asks = |action: Action| {
        let found = crate::datasets::find(&s.ctx.data, id)?;
        Ok::<_, ServiceError>(require(who, action, found.resource(), "dataset", id)?)
    };
    match action {
        "read" => cell(s.datasets.get(who, id).await),
        "list" => {
            let page = s.datasets.list(who, page("", "")).await;
            listed(page.map(|p| each(p, "dataset_id")), id)
        }
        "write" => cell(asks(Action::Write)),
        "delete" => cell(asks(Action::Delete)),
        "share" => cell(asks(Action::Share)),
        "let-in" => cell(s.datasets.mint_link(who, Some("somebody"), Some(id)).await),
        "steer" => match s.sessions.authorize_viewer(who, &format!("of-{mode}"), Some(id)).await {
            Err(e) => cell::<()>(Err(e)),
            Ok(grant) => {
                let control = s.sessions.take_control(who, &grant, &Arrival::default()).unwrap();
                if control.controls { "Y" } else { "F" }
            }
        },
        "file" => cell(s.files.get(who, file).await),
        "list-file" => {
            let page = s.files.list(who, page("", "")).await;
            listed(page.map(|p| each(p, "file_id")), file)
        }
        "cite" => {
            let made = rig.dataset(who, create_body(json!({"edge_files": [file]}))).await;
            if let Ok(made) = &made {
                // It would be one more dataset that holds the file.
                s.delete_dataset(who, made).await.unwrap();
            }
            cell(made)
        }
        other => panic!("no action {other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_actor_may_do_to_every_object_what_the_table_says() {
    let names = ["owner@acme", "member@acme", "viewer", "editor", "other", "staff1"];
    let rig = Rig::with(&names);
    let mut rows = TABLE.trim().lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
    let actors = rows.next().unwrap().split_off(2);
    let mut people = Vec::new();
    for actor in &actors {
        people.push(match *actor {
            "nobody" => Principal::anonymous(),
            "staff" => rig.user("staff1").await,
            "super" => rig.user("admin").await,
            name => rig.user(name).await,
        });
    }
    let mut objects = std::collections::HashMap::new();
    for mode in ["by-link", "private", "organization", "public"] {
        objects.insert(mode, made(&rig, &people[0], mode).await);
    }
    let (mut cells, mut wrong) = (0, Vec::new());
    for row in rows {
        let (mode, action) = (row[0], row[1]);
        for ((who, actor), want) in people.iter().zip(&actors).zip(&row[2..]) {
            let got = outcome(&rig, who, mode, &objects[mode], action).await;
            cells += 1;
            if got != *want {
                wrong.push(format!("{mode} {action} {actor}: {got}, and not {want}"));
            }
        }
    }
    assert_eq!(cells, 4 * 10 * 8, "no cell is left out");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_page_at_a_session_of_nobody_steers_it_and_proves_it_with_a_key() {
    let rig = Rig::with(&["alice", "bob"]);
    let (s, nobody) = (&rig.service, Principal::anonymous());
    s.sessions.open(&nobody, "karate", Some("shared"), &[]).await.unwrap();
    let grant = s.sessions.authorize_viewer(&nobody, "shared", Some("karate")).await.unwrap();
    let arrive = |who: &Principal, key: Option<&str>, joins| {
        let arrival = Arrival { key: key.map(str::to_owned), joins };
        s.sessions.take_control(who, &grant, &arrival).unwrap()
    };
    assert!(!arrive(&nobody, None, true).controls, "who only watches claims nothing");
    let first = arrive(&nobody, None, false);
    assert!(first.controls);
    let key = first.key.unwrap();
    let bob = rig.user("bob").await;
    for (who, key) in
        [(&nobody, None), (&bob, None), (&nobody, Some("0")), (&nobody, Some(&*"f".repeat(64)))]
    {
        let later = arrive(who, key, false);
        assert!(!later.controls && later.key.is_none(), "{key:?}");
    }
    assert!(arrive(&nobody, Some(&key), false).controls, "the page is loaded again");
    // Arriving signed in makes nobody the owner of what others began.
    let bobs = s.sessions.authorize_viewer(&bob, "shared", Some("karate")).await.unwrap();
    assert!(!bobs.owner);
    // The key is for this session and this dataset.
    s.sessions.open(&nobody, "karate", Some("other"), &[]).await.unwrap();
    let other = s.sessions.authorize_viewer(&nobody, "other", Some("karate")).await.unwrap();
    let arrival = Arrival { key: Some(key.clone()), joins: true };
    assert!(!s.sessions.take_control(&nobody, &other, &arrival).unwrap().controls);
    // It needs no memory of the server's.
    let rig = rig.restart();
    let grant =
        rig.service.sessions.authorize_viewer(&nobody, "shared", Some("karate")).await.unwrap();
    assert!(rig.service.sessions.take_control(&nobody, &grant, &arrival).unwrap().controls);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_count_what_they_show() {
    let rig = Rig::with(&["alice@acme", "bob@acme"]);
    let (alice, bob) = (rig.user("alice").await, rig.user("bob").await);
    for _ in 0..3 {
        made(&rig, &alice, "private").await;
        made(&rig, &alice, "organization").await;
    }
    rig.empty_dataset(&bob).await;
    let shown = rig.service.datasets.list(&bob, page("2", "1")).await.unwrap();
    assert_eq!(shown.count, 4);
    let shown = read(shown);
    assert_eq!((shown["count"].clone(), shown["next"].is_string()), (json!(4), true));
    let results = shown["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for listed in results {
        let id = listed["dataset_id"].as_str().unwrap();
        let alone = rig.service.datasets.get(&bob, id).await.unwrap().data;
        assert_eq!(*listed, serde_json::to_value(alone).unwrap(), "lists show what a GET does");
    }
    assert_eq!(rig.service.files.list(&bob, page("", "")).await.unwrap().count, 3);
    assert_eq!(rig.service.datasets.list(&alice, page("", "")).await.unwrap().count, 6);
}

/// The names of the columns of a dataset's edges.
async fn columns(rig: &Rig, dataset: &str) -> Vec<String> {
    let found = crate::datasets::find(&rig.service.ctx.data, dataset).unwrap();
    let crate::datasets::Found::Stored(rec, _) = found else { panic!("a built-in") };
    rec.edge_tables[0].schema.dtypes.keys().cloned().collect()
}

/// What a file was when it was shared, what became of it, and what each actor's dataset of it shows then: `old` the
/// version that was shared, `new` the file as it is, `H` nothing. `other` sees what is public or by link, `viewer` is
/// invited to what is private.
const VERSIONS: &str = "
    shared       then              owner member viewer other
    public       bytes-replaced    new   new    old    old
    public       options-changed   new   new    old    old
    public       made-private      new   H      old    H
    public       held-privately    new   H      H      H
    public       deleted           new   new    H      H
    by-link      bytes-replaced    new   new    old    old
    by-link      options-changed   new   new    old    old
    by-link      made-private      new   H      old    H
    by-link      held-privately    new   H      H      H
    organization bytes-replaced    new   new    H      H
    organization made-private      new   H      old    H
    private      bytes-replaced    new   H      old    H
    private      options-changed   new   H      old    H";

async fn share(rig: &Rig, owner: &Principal, dataset: &str, mode: &str, invited: Value) {
    let body = json!({"obj_pk": dataset, "mode": mode, "mode_action": "10",
                      "invited_users": invited});
    rig.service.datasets.share(owner, body.to_string().as_bytes()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cited_file_gives_the_version_that_a_dataset_shows_and_no_later_one() {
    const SHARED: &[u8] = b"s,d,w\nold1,old2,1\n";
    let rig = Rig::with(&["owner@acme", "member@acme", "viewer", "other"]);
    let s = &rig.service;
    let mut rows = VERSIONS.trim().lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
    let actors = rows.next().unwrap().split_off(2);
    let mut people = Vec::new();
    for actor in &actors {
        people.push(rig.user(actor).await);
    }
    let owner = people[0].clone();
    let invited = json!([{"email": "viewer@example.org", "action": "10"}]);
    let mut wrong = Vec::new();
    for row in rows {
        let (mode, then) = (row[0], row[1]);
        let file = rig.file(&owner, json!({"file_type": "csv", "org_name": "acme"})).await.file_id;
        rig.upload(&owner, &file, &[], SHARED).await.unwrap();
        let body = create_body(json!({"edge_files": [file], "org_name": "acme"}));
        let dataset = rig.dataset(&owner, body.clone()).await.unwrap();
        if mode != "by-link" {
            let to = if mode == "private" { invited.clone() } else { json!([]) };
            share(&rig, &owner, &dataset, mode, to).await;
        }
        // Later than the upload before: versions are told apart by their time.
        rig.clock.advance(std::time::Duration::from_secs(1));
        match then {
            "options-changed" => {
                let options =
                    json!({"parser_options": {"skiprows": 0, "names": ["s", "d", "w", "x"]}});
                let changed = s.files.patch(&owner, &file, options.to_string().as_bytes()).await;
                assert!(changed.unwrap().is_valid);
            }
            _ => {
                let newer = b"s,d,salary\nsecret1,secret2,99\n";
                rig.upload(&owner, &file, &[], newer).await.unwrap();
            }
        }
        match then {
            "made-private" => share(&rig, &owner, &dataset, "private", invited.clone()).await,
            "held-privately" => {
                let private = rig.dataset(&owner, body).await.unwrap();
                share(&rig, &owner, &private, "private", json!([])).await;
            }
            "deleted" => s.delete_dataset(&owner, &dataset).await.unwrap(),
            _ => {}
        }
        for ((who, actor), want) in people.iter().zip(&actors).zip(&row[2..]) {
            let cited = create_body(json!({"edge_files": [[file, 0]]}));
            let got = match rig.dataset(who, cited).await {
                Err(e) => cell::<()>(Err(e)),
                Ok(made) => {
                    let old = columns(&rig, &made).await == ["s", "d", "w"];
                    s.delete_dataset(who, &made).await.unwrap();
                    if old { "old" } else { "new" }
                }
            };
            if got != *want {
                wrong.push(format!("{mode} {then} {actor}: {got}, and not {want}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_somebody_else_was_given_opens_no_version() {
    let rig = Rig::with(&["alice", "bob"]);
    let (alice, bob) = (rig.user("alice").await, rig.user("bob").await);
    let file = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let body = create_body(json!({"edge_files": [file]}));
    let first = rig.dataset(&alice, body.clone()).await.unwrap();
    assert!(rig.dataset(&bob, body.clone()).await.is_ok(), "the only version");
    rig.clock.advance(std::time::Duration::from_secs(1));
    rig.upload(&alice, &file, &[], b"s,d,salary\nx,y,9\n").await.unwrap();
    rig.dataset(&alice, body.clone()).await.unwrap();
    assert_eq!(
        code(rig.dataset(&bob, body.clone()).await),
        Code::NotFound,
        "which one was bob given?"
    );
    share(&rig, &alice, &first, "public", json!([])).await;
    let made = rig.dataset(&bob, body).await.unwrap();
    assert_eq!(columns(&rig, &made).await, ["s", "d", "w"], "the one that everybody sees");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_no_dataset_shows_cannot_be_cited() {
    let rig = Rig::with(&["alice", "bob"]);
    let (alice, bob) = (rig.user("alice").await, rig.user("bob").await);
    let file = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let made = rig.dataset(&alice, create_body(json!({"edge_files": [file]}))).await.unwrap();
    share(&rig, &alice, &made, "public", json!([])).await;
    let cite = |entry: Value| rig.dataset(&bob, create_body(json!({"edge_files": [entry]})));
    assert!(cite(json!([file, 0])).await.is_ok());
    assert_eq!(code(cite(json!([file, 1])).await), Code::NotFound);
    // What bob made of it goes on being bob's, whatever becomes of alice's.
    let bobs = cite(json!(file)).await.unwrap();
    share(&rig, &alice, &made, "private", json!([])).await;
    assert_eq!(code(cite(json!(file)).await), Code::NotFound);
    assert_eq!(columns(&rig, &bobs).await, ["s", "d", "w"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_steering_key_ends_when_the_session_gets_an_owner() {
    let rig = Rig::with(&["alice"]);
    let (s, nobody) = (&rig.service, Principal::anonymous());
    s.sessions.open(&nobody, "karate", Some("shared"), &[]).await.unwrap();
    let grant = s.sessions.authorize_viewer(&nobody, "shared", Some("karate")).await.unwrap();
    let key = s.sessions.take_control(&nobody, &grant, &Arrival::default()).unwrap().key.unwrap();
    let rig = rig.restart();
    let s = &rig.service;
    let alice = rig.user("alice").await;
    assert!(s.sessions.authorize_viewer(&alice, "shared", Some("karate")).await.unwrap().owner);
    let grant = s.sessions.authorize_viewer(&nobody, "shared", Some("karate")).await.unwrap();
    let arrival = Arrival { key: Some(key), joins: false };
    let control = s.sessions.take_control(&nobody, &grant, &arrival).unwrap();
    assert!(!control.controls && control.key.is_none());
    assert!(
        !s.sessions.may_control(&nobody, &grant, true).unwrap(),
        "a page that is open loses the control, too"
    );
}
