//! Who may do what, in one table: every actor with every action on every object.

use super::*;
use crate::Arrival;
use crate::authz::{Action, require};

/// `Y` yes, `F` refused, `H` as if it were not there, `U` asked to sign in, `-` not in the list. The objects
/// are datasets of `owner` in the organization of `owner` and `member`, each made of a file of its own;
/// `viewer` and `editor` are invited to the private one; `steer` is about a session that `owner` has open.
const TABLE: &str = "
    object       action     owner member viewer editor other nobody staff super
    by-link      read       Y     Y      Y      Y      Y     Y      Y     Y
    by-link      list       Y     Y      -      -      -     U      -     -
    by-link      write      Y     F      F      F      F     F      F     Y
    by-link      delete     Y     F      F      F      F     F      F     Y
    by-link      share      Y     F      F      F      F     F      F     Y
    by-link      let-in     F     F      F      F      F     U      Y     Y
    by-link      steer      Y     F      F      F      F     F      F     Y
    by-link      file       Y     Y      H      H      H     H      H     Y
    by-link      list-file  Y     Y      -      -      -     U      -     -
    by-link      cite       Y     Y      Y      Y      Y     U      Y     Y
    private      read       Y     H      Y      Y      H     H      H     Y
    private      list       Y     -      -      -      -     U      -     -
    private      write      Y     H      F      Y      H     H      H     Y
    private      delete     Y     H      F      Y      H     H      H     Y
    private      share      Y     H      F      F      H     H      H     Y
    private      let-in     F     F      F      F      F     U      H     Y
    private      steer      Y     H      F      Y      H     H      H     Y
    private      file       Y     H      H      H      H     H      H     Y
    private      list-file  Y     -      -      -      -     U      -     -
    private      cite       Y     H      Y      Y      H     U      H     Y
    organization read       Y     Y      H      H      H     H      H     Y
    organization list       Y     Y      -      -      -     U      -     -
    organization write      Y     F      H      H      H     H      H     Y
    organization delete     Y     F      H      H      H     H      H     Y
    organization share      Y     F      H      H      H     H      H     Y
    organization let-in     F     F      F      F      F     U      H     Y
    organization steer      Y     F      H      H      H     H      H     Y
    organization file       Y     Y      H      H      H     H      H     Y
    organization list-file  Y     Y      -      -      -     U      -     -
    organization cite       Y     Y      H      H      H     U      H     Y
    public       read       Y     Y      Y      Y      Y     Y      Y     Y
    public       list       Y     Y      -      -      -     U      -     -
    public       write      Y     F      F      F      F     F      F     Y
    public       delete     Y     F      F      F      F     F      F     Y
    public       share      Y     F      F      F      F     F      F     Y
    public       let-in     F     F      F      F      F     U      Y     Y
    public       steer      Y     F      F      F      F     F      F     Y
    public       file       Y     Y      H      H      H     H      H     Y
    public       list-file  Y     Y      -      -      -     U      -     -
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
        rig.service.share(owner, share.to_string().as_bytes()).await.unwrap();
    }
    rig.service.open_session(owner, &dataset, Some(&format!("of-{mode}")), &[]).await.unwrap();
    Object { dataset, file }
}

fn cell<T>(outcome: Result<T, ServiceError>) -> &'static str {
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
        let found = crate::datasets::find(&s.core, id)?;
        require(who, action, found.resource(), "dataset", id)
    };
    match action {
        "read" => cell(s.get_dataset(who, id).await),
        "list" => {
            let page = s.list_datasets(who, page("", "")).await;
            listed(page.map(|p| p.results.into_iter().map(|d| d.dataset_id).collect()), id)
        }
        "write" => cell(asks(Action::Write)),
        "delete" => cell(asks(Action::Delete)),
        "share" => cell(asks(Action::Share)),
        "let-in" => cell(s.mint_link(who, Some("somebody"), Some(id)).await),
        "steer" => match s.authorize_viewer(who, &format!("of-{mode}"), Some(id)).await {
            Err(e) => cell::<()>(Err(e)),
            Ok(ticket) => {
                let helm = s.take_helm(who, &ticket, &Arrival::default()).unwrap();
                if helm.steers { "Y" } else { "F" }
            }
        },
        "file" => cell(s.get_file(who, file).await),
        "list-file" => {
            let page = s.list_files(who, page("", "")).await;
            listed(page.map(|p| p.results.into_iter().map(|f| f.file_id).collect()), file)
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
    s.open_session(&nobody, "karate", Some("shared"), &[]).await.unwrap();
    let ticket = s.authorize_viewer(&nobody, "shared", Some("karate")).await.unwrap();
    let arrive = |who: &Principal, key: Option<&str>, joins| {
        let arrival = Arrival { key: key.map(str::to_owned), joins };
        s.take_helm(who, &ticket, &arrival).unwrap()
    };
    assert!(!arrive(&nobody, None, true).steers, "who only watches claims nothing");
    let first = arrive(&nobody, None, false);
    assert!(first.steers);
    let key = first.key.unwrap();
    let bob = rig.user("bob").await;
    for (who, key) in
        [(&nobody, None), (&bob, None), (&nobody, Some("0")), (&nobody, Some(&*"f".repeat(64)))]
    {
        let later = arrive(who, key, false);
        assert!(!later.steers && later.key.is_none(), "{key:?}");
    }
    assert!(arrive(&nobody, Some(&key), false).steers, "the page is loaded again");
    // Arriving signed in makes nobody the owner of what others began.
    let bobs = s.authorize_viewer(&bob, "shared", Some("karate")).await.unwrap();
    assert!(!bobs.owner);
    // The key is for this session and this dataset.
    s.open_session(&nobody, "karate", Some("other"), &[]).await.unwrap();
    let other = s.authorize_viewer(&nobody, "other", Some("karate")).await.unwrap();
    let arrival = Arrival { key: Some(key.clone()), joins: true };
    assert!(!s.take_helm(&nobody, &other, &arrival).unwrap().steers);
    // It needs no memory of the server's.
    let rig = rig.restart();
    let ticket = rig.service.authorize_viewer(&nobody, "shared", Some("karate")).await.unwrap();
    assert!(rig.service.take_helm(&nobody, &ticket, &arrival).unwrap().steers);
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
    let shown = rig.service.list_datasets(&bob, page("2", "1")).await.unwrap();
    assert_eq!((shown.count, shown.results.len(), shown.next.is_some()), (4, 2, true));
    for dataset in &shown.results {
        assert!(rig.service.get_dataset(&bob, &dataset.dataset_id).await.is_ok());
    }
    assert_eq!(rig.service.list_files(&bob, page("", "")).await.unwrap().count, 3);
    assert_eq!(rig.service.list_datasets(&alice, page("", "")).await.unwrap().count, 6);
}
