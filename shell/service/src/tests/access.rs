use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn strangers_cannot_tell_not_yours_from_not_there() {
    let rig = Rig::with(&["alice", "bob"]);
    let (alice, bob) = (rig.user("alice").await, rig.user("bob").await);
    let file = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let absent = "f".repeat(32);
    let s = &rig.service;
    for act in 0..4 {
        let mut said = Vec::new();
        for id in [&file, &absent] {
            let e = match act {
                0 => s.files.get(&bob, id).await.unwrap_err(),
                1 => s.files.delete(&bob, id).await.unwrap_err(),
                2 => s.files.patch(&bob, id, b"{}").await.unwrap_err(),
                _ => rig.upload(&bob, id, &[], b"x\n1\n").await.unwrap_err(),
            };
            let text = serde_json::to_string(&e.reply()).unwrap();
            said.push(text.replace(id.as_str(), "ID"));
        }
        assert_eq!(said[0], said[1]);
    }
    assert!(s.files.get(&alice, &file).await.unwrap().is_valid, "nothing was changed");
    let cited = create_body(json!({"edge_files": [file]}));
    assert_eq!(code(rig.dataset(&bob, cited).await), Code::NotFound);
    let anonymous = Principal::anonymous();
    assert_eq!(code(s.files.get(&anonymous, &file).await), Code::NotFound);
    assert_eq!(code(s.files.create(&anonymous, b"{}").await), Code::Unauthenticated);
    assert_eq!(code(s.files.list(&anonymous, page("", "")).await), Code::Unauthenticated);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cited_foreign_file_is_found_only_where_the_server_is_set_so() {
    let rig = Rig::with(&["alice", "bob"]);
    let alice = rig.user("alice").await;
    let file = rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    let (dir, clock) = rig.stop();
    let mut config = config(dir.path());
    config.settings.allow_foreign_file_ids = true;
    let rig = Rig::start(dir, clock, config);
    let bob = rig.user("bob").await;
    assert!(rig.dataset(&bob, create_body(json!({"edge_files": [file]}))).await.is_ok());
    assert_eq!(code(rig.service.files.get(&bob, &file).await), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn members_share_what_is_placed_in_their_organization() {
    let rig = Rig::with(&["alice@acme", "bob@acme", "carol"]);
    let (alice, bob) = (rig.user("alice").await, rig.user("bob").await);
    let carol = rig.user("carol").await;
    let in_org = json!({"file_type": "csv", "org_name": "acme"});
    let file = rig.file(&alice, in_org).await;
    assert_eq!(file.org_name, "acme");
    let id = file.file_id.as_str();
    assert!(rig.upload(&alice, id, &[], EDGES_CSV.as_bytes()).await.unwrap().is_valid);
    assert!(rig.service.files.get(&bob, id).await.is_ok());
    assert_eq!(rig.service.files.list(&bob, page("", "")).await.unwrap().count, 1);
    assert_eq!(code(rig.service.files.delete(&bob, id).await), Code::Forbidden);
    assert!(rig.dataset(&bob, create_body(json!({"edge_files": [id]}))).await.is_ok());
    assert_eq!(code(rig.service.files.get(&carol, id).await), Code::NotFound);
    let private = rig.file(&alice, json!({"file_type": "csv"})).await;
    assert_eq!(code(rig.service.files.get(&bob, &private.file_id).await), Code::NotFound);
    let body = create_body(json!({"org_name": "acme"}));
    let e = rig.dataset(&carol, body).await.unwrap_err();
    assert_eq!(e.code(), Code::Forbidden);
    assert!(e.to_string().contains("acme"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_account_sees_exactly_its_own() {
    let names = ["u0", "u1", "u2", "u3"];
    let rig = Rig::with(&names);
    let mut all = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let who = rig.user(name).await;
        for _ in 0..=i {
            rig.file(&who, json!({"file_type": "csv"})).await;
            rig.empty_dataset(&who).await;
        }
        all.push(who);
    }
    for (i, who) in all.iter().enumerate() {
        let files = rig.service.files.list(who, page("", "")).await.unwrap();
        let datasets = rig.service.datasets.list(who, page("", "")).await.unwrap();
        assert_eq!((files.count, datasets.count), (i as u64 + 1, i as u64 + 1));
        let id = who.user().unwrap().0;
        for page in [files, datasets] {
            assert!(each(page, "author").iter().all(|author| *author == id.to_string()));
        }
    }
}

/// Whether reading, uploading and deleting are allowed.
async fn rights(rig: &Rig, who: &Principal, id: &str) -> [Right; 3] {
    let read = rig.service.datasets.get(who, id).await.map(|_| ());
    let write =
        rig.part(who, id, ElementKind::Edges, "csv", EDGES_CSV.as_bytes()).await.map(|_| ());
    [outcome(read), outcome(write), outcome(delete_probe(rig, who, id).await)]
}

/// The right to delete, without deleting.
async fn delete_probe(rig: &Rig, who: &Principal, id: &str) -> Result<(), ServiceError> {
    use graphlume_identity::authz::{Action, require};
    let found = crate::datasets::find(&rig.service.ctx.data, id)?;
    Ok(require(who, Action::Delete, found.resource(), "dataset", id)?)
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Right {
    Yes,
    Forbidden,
    Hidden,
}

fn outcome(r: Result<(), ServiceError>) -> Right {
    match r.map_err(|e| e.code()) {
        Ok(()) => Right::Yes,
        Err(Code::Forbidden) => Right::Forbidden,
        Err(Code::NotFound) => Right::Hidden,
        Err(other) => panic!("unexpected {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn privacy_is_what_the_table_says() {
    use Right::{Forbidden as F, Hidden as H, Yes as Y};
    let rig = Rig::with(&["owner@acme", "member@acme", "guest", "editor", "other", "staff1"]);
    let owner = rig.user("owner").await;
    let id = rig.dataset(&owner, create_body(json!({"org_name": "acme"}))).await.unwrap();
    let invited = json!([{"email": "guest@example.org", "action": "10"},
                         {"email": "EDITOR@example.org", "action": "20"}]);
    let modes: [(Option<Value>, [[Right; 3]; 7]); 4] = [
        // Columns: owner, member, guest, editor, other, anonymous, staff.
        (None, [[Y, Y, Y], [Y, F, F], [Y, F, F], [Y, F, F], [Y, F, F], [Y, F, F], [Y, F, F]]),
        (
            Some(json!({"mode": "private", "invited_users": invited})),
            [[Y, Y, Y], [H, H, H], [Y, F, F], [Y, Y, Y], [H, H, H], [H, H, H], [H, H, H]],
        ),
        (
            Some(json!({"mode": "organization", "mode_action": "20"})),
            [[Y, Y, Y], [Y, Y, Y], [H, H, H], [H, H, H], [H, H, H], [H, H, H], [H, H, H]],
        ),
        (
            Some(json!({"mode": "public", "invited_users": ["guest@example.org"]})),
            [[Y, Y, Y], [Y, F, F], [Y, F, F], [Y, F, F], [Y, F, F], [Y, F, F], [Y, F, F]],
        ),
    ];
    let mut people = Vec::new();
    for name in ["owner", "member", "guest", "editor", "other"] {
        people.push(rig.user(name).await);
    }
    people.push(Principal::anonymous());
    people.push(rig.user("staff1").await);
    for (mode, want) in modes {
        if let Some(mut body) = mode.clone() {
            body["obj_pk"] = json!(id);
            body["obj_type"] = json!("dataset");
            let done =
                rig.service.datasets.share(&owner, body.to_string().as_bytes()).await.unwrap();
            assert_eq!((done.status, done.data), ("OK", json!({"notices": []})));
        }
        for (who, want) in people.iter().zip(want) {
            let got = rights(&rig, who, &id).await;
            assert_eq!(got, want, "{mode:?} {:?}", who.username());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_dataset_cannot_be_watched_through_a_session() {
    let rig = Rig::with(&["alice", "bob"]);
    let (alice, bob) = (rig.user("alice").await, rig.user("bob").await);
    let id = rig.empty_dataset(&alice).await;
    rig.service.sessions.open(&alice, &id, Some("open"), &[]).await.unwrap();
    assert!(rig.service.sessions.authorize_viewer(&bob, "open", Some(&id)).await.is_ok());
    let body = json!({"obj_pk": id, "obj_type": "dataset", "mode": "private"}).to_string();
    assert_eq!(code(rig.service.datasets.share(&bob, body.as_bytes()).await), Code::Forbidden);
    rig.service.datasets.share(&alice, body.as_bytes()).await.unwrap();
    for who in [&bob, &Principal::anonymous()] {
        assert_eq!(
            code(rig.service.sessions.authorize_viewer(who, "open", None).await),
            Code::NotFound
        );
        assert_eq!(
            code(rig.service.sessions.authorize_viewer(who, "new", Some(&id)).await),
            Code::NotFound
        );
        assert_eq!(code(rig.service.sessions.open(who, &id, None, &[]).await), Code::NotFound);
        assert_eq!(code(rig.service.sessions.get(who, "open").await), Code::NotFound);
        assert_eq!(code(rig.service.datasets.share(who, body.as_bytes()).await), Code::NotFound);
    }
    assert!(rig.service.sessions.authorize_viewer(&alice, "open", None).await.unwrap().owner);
    let rig = rig.restart();
    let bob = rig.user("bob").await;
    assert_eq!(code(rig.service.datasets.get(&bob, &id).await), Code::NotFound, "it stays private");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guessed_session_name_is_as_one_that_is_not_there() {
    let rig = Rig::with(&["alice@acme", "member@acme", "carol@acme", "bob"]);
    let s = &rig.service;
    let (alice, bob) = (rig.user("alice").await, rig.user("bob").await);
    let (carol, member) = (rig.user("carol").await, rig.user("member").await);
    let (admin, nobody) = (rig.user("admin").await, Principal::anonymous());
    let id = rig.dataset(&alice, create_body(json!({"org_name": "acme"}))).await.unwrap();
    // Carol opens what alice made, by its address.
    s.sessions.open(&carol, &id, Some("demo1"), &[]).await.unwrap();
    let absent = s.sessions.authorize_viewer(&bob, "demo2", None).await.unwrap_err();
    let absent = serde_json::to_string(&absent.reply()).unwrap();
    for who in [&bob, &nobody] {
        let viewer = s.sessions.authorize_viewer(who, "demo1", None).await.unwrap_err();
        let look = s.sessions.authorize_look(who, "demo1", None).await.unwrap_err();
        let shown = s.sessions.get(who, "demo1").await.unwrap_err();
        for refused in [viewer, look, shown] {
            let text = serde_json::to_string(&refused.reply()).unwrap();
            assert_eq!(text.replace("demo1", "demo2"), absent, "{:?}", who.username());
        }
        let visited = s.sessions.visit(who, "demo1", None, &[]).await;
        assert_eq!(code(visited), Code::NotFound);
    }
    let agent = s.agents.live(&bob, "demo1", crate::ToolAccess::Read).await;
    assert!(matches!(agent, Err(crate::LiveError::Denied)), "{agent:?}");
    // The owner, the dataset's author, members of its organization and superusers need no address.
    for who in [&carol, &alice, &member, &admin] {
        assert!(
            s.sessions.authorize_viewer(who, "demo1", None).await.is_ok(),
            "{:?}",
            who.username()
        );
        assert!(s.sessions.get(who, "demo1").await.is_ok());
    }
    // With the address everybody watches, and what they were let in for is checked without the name.
    let grant = s.sessions.authorize_viewer(&nobody, "demo1", Some(&id)).await.unwrap();
    assert!(s.sessions.recheck_viewer(&nobody, &grant).is_ok());
    // Names that the server made cannot be guessed.
    let made = s.sessions.open(&carol, &id, None, &[]).await.unwrap().session_id;
    assert!(s.sessions.authorize_viewer(&nobody, made.as_str(), None).await.is_ok());
    let private = json!({"obj_pk": id, "obj_type": "dataset", "mode": "private"}).to_string();
    s.datasets.share(&alice, private.as_bytes()).await.unwrap();
    assert_eq!(code(s.sessions.recheck_viewer(&nobody, &grant).map(|()| 0)), Code::NotFound);
    assert_eq!(code(s.sessions.authorize_viewer(&member, "demo1", None).await), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_guest_sees_one_dataset_and_makes_nothing() {
    use graphlume_identity::testing::{SigningKey, Subject, Tokens};
    let rig = Rig::with(&["alice", "guest"]);
    let (alice, guest) = (rig.user("alice").await, rig.user("guest").await);
    let (one, two) = (rig.empty_dataset(&alice).await, rig.empty_dataset(&alice).await);
    let private = json!({"obj_pk": one, "mode": "private"}).to_string();
    rig.service.datasets.share(&alice, private.as_bytes()).await.unwrap();
    let tokens = Tokens::new(&SigningKey::load_or_create(rig.dir.path()).unwrap()).unwrap();
    let subject = Subject {
        user: guest.user().unwrap(),
        username: "guest".to_owned(),
        email: String::new(),
        epoch: 0,
        org: None,
        scope: Some(one.clone()),
        key: None,
        login: None,
    };
    let link =
        rig.service.identity.authenticate(&tokens.issue(&subject, NOW, NOW).unwrap().0).unwrap();
    assert!(rig.service.datasets.get(&link, &one).await.is_ok());
    assert_eq!(code(rig.service.datasets.get(&link, &two).await), Code::NotFound);
    assert!(rig.service.sessions.open(&link, &one, None, &[]).await.is_ok());
    assert_eq!(code(rig.service.sessions.open(&link, &two, None, &[]).await), Code::NotFound);
    assert_eq!(code(rig.service.delete_dataset(&link, &one).await), Code::Forbidden);
    let body = br#"{"file_type":"csv"}"#;
    assert_eq!(code(rig.service.files.create(&link, body).await), Code::Forbidden);
    assert_eq!(code(rig.dataset(&link, create_body(json!({}))).await), Code::Forbidden);
    assert_eq!(rig.service.datasets.list(&link, page("", "")).await.unwrap().count, 0);
}
