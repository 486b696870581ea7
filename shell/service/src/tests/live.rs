use std::time::Duration;

use graphlume_types::limits::PAGE_OPENING_SECS_MAX;

use super::*;
use crate::{CollectionChange, LiveError, NewCollection, ToolAccess};

fn nodes(ops: &Value) -> String {
    ops.to_string()
}

fn wanted(name: &str) -> NewCollection {
    let gfql_operations = nodes(&json!([{"type": "Node", "filter_dict": {"id": "a"}}]));
    NewCollection { name: name.to_owned(), gfql_operations, ..NewCollection::default() }
}

fn names(listed: &Value) -> Vec<String> {
    let list = listed["collections"].as_array().unwrap().iter();
    list.map(|c| c["name"].as_str().unwrap().to_owned()).collect()
}

/// A dataset with three nodes.
async fn triangle(rig: &Rig, who: &Principal) -> String {
    let id = rig.empty_dataset(who).await;
    rig.part(who, &id, ElementKind::Edges, "csv", EDGES_CSV.as_bytes()).await.unwrap();
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_open_while_its_page_is_and_belongs_to_who_opened_it() {
    let rig = Rig::with(&["alice", "bob"]);
    let (alice, bob) = (rig.user("alice").await, rig.user("bob").await);
    let admin = rig.user("admin").await;
    let id = triangle(&rig, &alice).await;
    let session = rig.service.sessions.open(&alice, &id, None, &[]).await.unwrap().session_id;
    let live = |who: &Principal, access| {
        let (service, who, session) = (Arc::clone(&rig.service), who.clone(), session.clone());
        async move { service.agents.live(&who, session.as_str(), access).await }
    };
    use ToolAccess::{Owner, Read};
    assert!(live(&alice, Read).await.is_ok(), "its page is being opened");
    rig.clock.advance(Duration::from_secs(PAGE_OPENING_SECS_MAX + 1));
    assert!(matches!(live(&alice, Read).await, Err(LiveError::Closed)), "the page never came");
    let page = rig.service.sessions.page_opened(&alice, &session);
    for (who, access, allowed) in [
        (&alice, Read, true),
        (&alice, Owner, true),
        (&bob, Read, true),
        (&bob, Owner, false),
        (&admin, Owner, false),
    ] {
        let answer = live(who, access).await;
        assert_eq!(answer.is_ok(), allowed, "{access:?} {answer:?}");
        assert!(allowed || matches!(answer, Err(LiveError::Denied)));
    }
    let absent = rig.service.agents.live(&alice, "absent", Read).await;
    assert!(matches!(absent, Err(LiveError::Denied)));
    let open = rig.service.agents.list_sessions(&alice).await.unwrap();
    assert_eq!(open["sessions"][0]["session_id"], session.as_str());
    assert_eq!(rig.service.agents.list_sessions(&bob).await.unwrap(), json!({"sessions": []}));
    drop(page);
    rig.clock.advance(Duration::from_secs(4));
    assert!(matches!(live(&alice, Owner).await, Err(LiveError::Closed)));
    let _guest = rig.service.sessions.page_opened(&bob, &session);
    assert!(
        live(&alice, Read).await.is_ok()
            && matches!(live(&alice, Owner).await, Err(LiveError::Closed))
    );
    // A session of nobody belongs to the first account that opens it.
    let nobody = Principal::anonymous();
    rig.service.sessions.open(&nobody, &id, Some("free"), &[]).await.unwrap();
    let grant = rig.service.sessions.authorize_viewer(&bob, "free", Some(&id)).await.unwrap();
    assert!(grant.owner);
    assert!(!rig.service.sessions.authorize_viewer(&alice, "free", Some(&id)).await.unwrap().owner);
}

#[tokio::test(flavor = "multi_thread")]
async fn collections_are_kept_and_forgotten_by_the_stated_rules() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let id = triangle(&rig, &alice).await;
    let session = rig.service.sessions.open(&alice, &id, Some("s"), &[]).await.unwrap().session_id;
    let page = rig.service.sessions.page_opened(&alice, &session);
    let live = rig.service.agents.live(&alice, "s", ToolAccess::Owner).await.unwrap();
    let made = rig.service.agents.create_collection(&live, wanted("A")).await.unwrap();
    assert_eq!((&made["collection"]["matchCount"], &made["replaced"]), (&json!(1), &json!(false)));
    rig.service.agents.create_collection(&live, wanted("B")).await.unwrap();
    let id_of_a = made["collection"]["id"].as_str().unwrap().to_owned();
    let change =
        CollectionChange { palette: Some("Set1".to_owned()), ..CollectionChange::default() };
    rig.service.agents.update_collection(&live, &id_of_a, change).await.unwrap();
    let before = rig.service.agents.list_collections(&live).await.unwrap();
    assert_eq!(names(&before), ["B", "A"]);
    drop((page, live));
    let rig = rig.restart();
    let alice = rig.user("alice").await;
    rig.service.sessions.authorize_viewer(&alice, "s", Some(&id)).await.unwrap();
    let _page = rig.service.sessions.page_opened(&alice, &session);
    let live = rig.service.agents.live(&alice, "s", ToolAccess::Owner).await.unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while rig.service.agents.list_collections(&live).await.unwrap() != before {
        // Until the graph has been loaded, the counts are null.
        let listed = rig.service.agents.list_collections(&live).await.unwrap();
        assert_eq!(names(&listed), ["B", "A"]);
        assert!(std::time::Instant::now() < deadline, "{listed}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    rig.service.upkeep.run().await.unwrap();
    let listed = rig.service.sessions.list(&alice, false).await.unwrap().results.len();
    assert_eq!(listed, 1);
    rig.clock.advance(Duration::from_secs(91 * 24 * 3600));
    let alice = rig.user("alice").await;
    rig.service.upkeep.run().await.unwrap();
    let listed = rig.service.sessions.list(&alice, false).await.unwrap().results.len();
    assert_eq!(listed, 0, "nobody has opened it for 90 days");
}
