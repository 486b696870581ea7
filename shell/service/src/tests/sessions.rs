use std::time::Duration;

use graphlume_engine::EngineError;

use super::*;
use crate::Component;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_opened_listed_and_remembered_for_its_owner() {
    let rig = Rig::with(&["alice", "bob"]);
    let (alice, bob) = (rig.user("alice").await, rig.user("bob").await);
    let id = rig.empty_dataset(&alice).await;
    let query = pairs(&[("dataset", &id), ("play", "0"), ("linLog", "True"), ("gravity", "x")]);
    let one = rig.service.sessions.open(&alice, &id, None, &query).await.unwrap();
    assert_eq!(one.dataset_id.to_string(), id);
    rig.clock.advance(Duration::from_secs(1));
    let two = rig.service.sessions.open(&bob, &id, Some("cycle"), &[]).await.unwrap();
    assert_eq!(two.session_id.as_str(), "cycle");
    rig.clock.advance(Duration::from_secs(1));
    let anonymous = Principal::anonymous();
    rig.service.sessions.open(&anonymous, &id, Some("guest"), &[]).await.unwrap();
    let names = |r: crate::SessionsReply| -> Vec<String> {
        r.results.into_iter().map(|s| s.session_id).collect()
    };
    let of_alice = rig.service.sessions.list(&alice, false).await.unwrap();
    assert_eq!(names(of_alice), [one.session_id.to_string()]);
    assert_eq!(code(rig.service.sessions.list(&alice, true).await), Code::Forbidden);
    let admin = rig.user("admin").await;
    let all = names(rig.service.sessions.list(&admin, true).await.unwrap());
    assert_eq!(all, ["guest".to_owned(), "cycle".to_owned(), one.session_id.to_string()]);
    assert_eq!(names(rig.service.sessions.list(&admin, false).await.unwrap()), all);
    let shown = rig.service.sessions.get(&bob, one.session_id.as_str()).await.unwrap();
    let shown = serde_json::to_value(shown).unwrap();
    assert_eq!(shown["revision"]["dataset"]["dataset_id"], json!(id));
    assert_eq!(shown["revision"]["revision_id"].as_str().unwrap().len(), 32);
    let rig = rig.restart();
    let alice = rig.user("alice").await;
    let again = rig.service.sessions.get(&alice, one.session_id.as_str()).await.unwrap();
    assert_eq!(serde_json::to_value(again).unwrap(), shown);
    assert_eq!(code(rig.service.sessions.get(&alice, "guest").await), Code::NotFound);
    let grant =
        rig.service.sessions.authorize_viewer(&alice, one.session_id.as_str(), None).await.unwrap();
    assert!(grant.owner);
    let info = rig.service.ctx.engine.info(one.session_id.clone()).await.unwrap();
    assert!(
        info.state.settings.lin_log == Some(true) && info.state.settings.play == 0,
        "settings are remembered"
    );
    rig.service.delete_dataset(&alice, &id).await.unwrap();
    assert_eq!(
        code(rig.service.sessions.get(&alice, one.session_id.as_str()).await),
        Code::NotFound
    );
    assert!(names(rig.service.sessions.list(&alice, false).await.unwrap()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_needs_a_known_session_or_a_dataset_to_open_it_on() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let id = rig.empty_dataset(&alice).await;
    let anonymous = Principal::anonymous();
    let watch = |session: &'static str, dataset: Option<String>| {
        let (service, who) = (Arc::clone(&rig.service), anonymous.clone());
        async move { service.sessions.authorize_viewer(&who, session, dataset.as_deref()).await }
    };
    assert_eq!(code(watch("s1", None).await), Code::NotFound);
    assert_eq!(code(watch("s1", Some("0".repeat(32))).await), Code::NotFound);
    assert_eq!(code(watch("bad name", Some(id.clone())).await), Code::NotFound);
    let grant = watch("s1", Some(id.clone())).await.unwrap();
    assert_eq!((grant.dataset.to_string(), grant.owner), (id.clone(), false));
    assert!(watch("s1", Some(id.clone())).await.is_ok());
    let named = watch("s2", Some("miserables".to_owned())).await.unwrap();
    assert!(rig.service.ctx.engine.attach(named.session).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_name_of_somebody_else_is_not_taken_over() {
    let rig = Rig::with(&["alice", "bob"]);
    let (alice, bob) = (rig.user("alice").await, rig.user("bob").await);
    let id = rig.empty_dataset(&alice).await;
    rig.service.sessions.open(&alice, &id, Some("mine"), &[]).await.unwrap();
    let other = rig.service.sessions.open(&bob, "karate", Some("mine"), &[]).await;
    assert_eq!(code(other), Code::Conflict);
    assert!(
        rig.service.sessions.open(&bob, &id, Some("mine"), &[]).await.is_ok(),
        "joining is fine"
    );
    let moved = rig.service.sessions.open(&alice, "karate", Some("mine"), &[]).await.unwrap();
    assert_ne!(moved.dataset_id.to_string(), id);
    let e = rig.service.sessions.open(&alice, &id, Some("no way!"), &[]).await.unwrap_err();
    assert_eq!(e.field(), Some("session"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_keeps_its_last_hundred_sessions() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    for i in 0..103 {
        rig.clock.advance(Duration::from_secs(1));
        let name = format!("s{i}");
        rig.service.sessions.open(&alice, "karate", Some(&name), &[]).await.unwrap();
    }
    let mine = rig.service.sessions.list(&alice, false).await.unwrap().results;
    assert_eq!(mine.len(), 100);
    assert_eq!((mine[0].session_id.as_str(), mine[99].session_id.as_str()), ("s102", "s3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_outlive_a_restart_and_go_with_what_is_known_of_their_session() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let mut viewers = Vec::new();
    for name in ["old", "s0"] {
        let opened = rig.service.sessions.open(&alice, "karate", Some(name), &[]).await.unwrap();
        viewers.push(rig.service.ctx.engine.attach(opened.session_id.clone()).await.unwrap());
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while rig.service.ctx.engine.info(opened.session_id.clone()).await.unwrap().state.iterations
            == 0
        {
            assert!(std::time::Instant::now() < deadline, "the layout never moved");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The first opened is the oldest.
        rig.clock.advance(Duration::from_secs(1));
    }
    rig.service.ctx.engine.suspend().await.unwrap();
    drop(viewers);
    assert_eq!(rig.service.ctx.data.store.snapshots().usage().0, 2);
    let rig = rig.restart();
    let kept = |rig: &Rig| rig.service.ctx.data.store.snapshots().usage().0;
    assert_eq!(kept(&rig), 2, "the sweep at start takes nothing that is needed");
    let opened = rig.service.sessions.open(&alice, "karate", Some("s0"), &[]).await.unwrap();
    let _viewer = rig.service.ctx.engine.attach(opened.session_id.clone()).await.unwrap();
    let state = loop {
        let state = rig.service.ctx.engine.info(opened.session_id.clone()).await.unwrap().state;
        if state.state != graphlume_engine::Phase::Loading {
            break state;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(state.iterations > 0 && !state.playing, "{state:?}");
    // A hundred newer ones push the oldest out.
    for i in 1..100 {
        rig.clock.advance(Duration::from_secs(1));
        let name = format!("s{i}");
        rig.service.sessions.open(&alice, "karate", Some(&name), &[]).await.unwrap();
    }
    assert_eq!(kept(&rig), 1);
    rig.clock.advance(Duration::from_secs(91 * 24 * 3600));
    rig.service.upkeep.run().await.unwrap();
    assert_eq!(kept(&rig), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_reaches_the_engine_and_the_counts_come_back() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let id = rig.empty_dataset(&alice).await;
    let s = rig.service.sessions.open(&alice, &id, None, &[]).await.unwrap().session_id;
    rig.part(&alice, &id, ElementKind::Edges, "csv", EDGES_CSV.as_bytes()).await.unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        // Each look of a viewer also fills in the counts, once they are known.
        rig.service.sessions.authorize_viewer(&alice, s.as_str(), None).await.unwrap();
        let d = rig.service.datasets.get(&alice, &id).await.unwrap().data;
        if d.node_count.is_some() {
            assert_eq!((d.node_count, d.edge_count), (Some(3), Some(3)));
            break;
        }
        assert!(std::time::Instant::now() < deadline, "the graph was never loaded");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_tells_the_truth_about_each_component() {
    let rig = Rig::new();
    for c in Component::ALL {
        let h = rig.service.health.component(c);
        let want = c != Component::GpuWorker;
        assert_eq!(h.healthy, want, "{c:?}: {}", h.detail);
        assert_eq!(h.status == "ok", h.healthy);
        assert!(!h.detail.is_empty());
    }
    let workers = serde_json::to_value(rig.service.health.workers()).unwrap();
    assert_eq!(workers["workers"][0]["ready"], true);
    assert_eq!(workers["workers"][1]["clContextHealthy"], false);
    let service = Arc::clone(&rig.service);
    // The folder stays: a store whose disk cannot be measured is not healthy.
    let (_folder, _) = rig.stop();
    for c in [Component::GpuController, Component::CpuWorker, Component::VizTier, Component::Pivot]
    {
        assert!(!service.health.component(c).healthy, "{c:?}");
    }
    assert!(service.health.component(Component::Content).healthy);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_session_named_in_the_address_takes_its_settings() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let (id, other) = (rig.empty_dataset(&alice).await, rig.empty_dataset(&alice).await);
    let visit = async |id: &str, query: &[(&str, &str)]| {
        rig.service.sessions.visit(&alice, "cycle", Some(id), &pairs(query)).await.unwrap();
        let session: graphlume_types::SessionId = "cycle".parse().unwrap();
        let settings = rig.service.ctx.engine.info(session).await.unwrap().state.settings;
        (settings.lin_log, settings.play)
    };
    let first = visit(&id, &[("linLog", "true"), ("play", "0")]).await;
    assert_eq!(first, (Some(true), 0), "it is new");
    let again = visit(&id, &[("linLog", "false"), ("play", "7000")]).await;
    assert_eq!(again, first, "whoever joins changes nothing");
    let moved = visit(&other, &[("linLog", "false"), ("play", "7000")]).await;
    assert_eq!(moved, (Some(false), 7000), "it shows another graph");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_credential() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    assert_eq!(rig.service.identity.time_left(&Principal::anonymous()), None);
    let left = rig.service.identity.time_left(&alice).unwrap();
    assert!(left > Duration::from_secs(3_500) && left <= Duration::from_secs(3_600), "{left:?}");
    assert!(rig.service.identity.is_current(&alice));
    rig.clock.advance(left);
    assert_eq!(rig.service.identity.time_left(&alice), Some(Duration::ZERO));
    assert!(!rig.service.identity.is_current(&alice));
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_nobody_are_bounded_and_push_out_none_of_an_account() {
    use graphlume_types::limits::{SESSIONS_OF_NOBODY_BYTES_MAX, SESSIONS_OF_NOBODY_MAX};
    let rig = Rig::with(&["alice"]);
    let (s, nobody) = (&rig.service, Principal::anonymous());
    let alice = rig.user("alice").await;
    s.sessions.open(&alice, "karate", Some("of-alice"), &[]).await.unwrap();
    for i in 0..SESSIONS_OF_NOBODY_MAX + 20 {
        s.sessions.open(&nobody, "karate", Some(&format!("n{i}")), &[]).await.unwrap();
    }
    let count = || {
        let all = s.sessions.all();
        let of_nobody = all.iter().filter(|v| v.owner.is_none());
        (all.len() - of_nobody.clone().count(), of_nobody.count())
    };
    assert_eq!(count(), (1, SESSIONS_OF_NOBODY_MAX));
    // The engine has given up what was forgotten by the time that the next one is open.
    let kept: std::collections::HashSet<_> =
        s.sessions.all().into_iter().map(|v| v.session).collect();
    let mut gone = 0;
    for i in 0..SESSIONS_OF_NOBODY_MAX + 20 {
        let session: graphlume_types::SessionId = format!("n{i}").parse().unwrap();
        if !kept.contains(&session) {
            let held = s.ctx.engine.info(session).await;
            assert!(matches!(held, Err(EngineError::SessionNotFound(_))), "n{i}: {held:?}");
            gone += 1;
        }
    }
    assert_eq!(gone, 20);
    // What the address of a page brings along counts by its size; the oldest go first.
    rig.clock.advance(Duration::from_secs(1));
    let tests: Vec<Value> = (0..250).map(|i| json!({"type": "GT", "val": i})).collect();
    let filter = json!({"a": {"type": "AllOf", "predicates": tests}});
    let set = json!([{"expr": [{"type": "Node", "filter_dict": filter}]}]).to_string();
    for i in 0..1_500 {
        let name = format!("large{i}");
        s.sessions
            .open(&nobody, "karate", Some(&name), &pairs(&[("collections", &set)]))
            .await
            .unwrap();
    }
    let last = "large1499".parse().unwrap();
    assert!(
        s.sessions.address_notices(&last).is_empty(),
        "{:?}",
        s.sessions.address_notices(&last)
    );
    let (of_accounts, of_nobody) = count();
    assert!(of_accounts == 1 && of_nobody < SESSIONS_OF_NOBODY_MAX, "{of_nobody}");
    let bytes: usize = s.sessions.all().iter().filter(|v| v.owner.is_none()).map(|v| v.bytes).sum();
    assert!(bytes <= SESSIONS_OF_NOBODY_BYTES_MAX, "{bytes}");
}
