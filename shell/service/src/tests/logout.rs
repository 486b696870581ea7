//! Logging somebody out: everything ends at once and for good.

use super::links::{Links, slug};
use super::*;
use crate::admin::UserChange;

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_ends_tokens_sessions_and_links_for_good() {
    let links = Links::new().await;
    let (spare, used) = (links.mint("guest").await, links.mint("guest").await);
    let login = links.visit(&used).await.unwrap();
    let s = &links.rig.service;
    let guest = s.identity.authenticate(&login.token).unwrap();
    let opened = s.sessions.open(&guest, &links.dataset, None, &[]).await.unwrap();
    let session = opened.session_id.to_string();
    let mut told = s.identity.access_changes();
    let before = s.identity.access_version();
    let bystander = links.visit(&links.mint("friend").await).await.unwrap();
    let alice = links.rig.user("alice").await;
    assert!(s.sessions.authorize_viewer(&guest, &session, None).await.is_ok());
    assert!(s.identity.require_access_since(&guest, before).is_ok());

    let done = s.identity.logout_user(&links.admin, "guest").await.unwrap();
    assert_eq!((done.status, &done.data["links_removed"]), ("OK", &json!(1)));
    assert_eq!(done.data["sessions_ended"], 1);
    assert!(told.has_changed().unwrap(), "open pages look again");
    told.mark_unchanged();
    // The code that closes a websocket as one without a credential.
    assert_eq!(
        code(s.sessions.authorize_viewer(&guest, &session, None).await),
        Code::Unauthenticated
    );
    assert_eq!(code(s.identity.require_access_since(&guest, before)), Code::Unauthenticated);
    assert!(s.identity.authenticate_login(&bystander.session).is_ok());
    assert!(s.sessions.authorize_viewer(&alice, &session, None).await.is_ok());
    let refresh = json!({ "token": login.token }).to_string();
    assert!(s.identity.refresh(refresh.as_bytes()).await.is_err());
    let rig = links.rig.restart();
    for s in [&rig.service] {
        assert_eq!(slug(s.identity.authenticate(&login.token)), "token-invalid");
        assert_eq!(slug(s.identity.authenticate_login(&login.session)), "token-invalid");
        assert_eq!(slug(s.identity.use_link(&spare).await), "link-invalid", "unused ones are gone");
        assert_eq!(slug(s.identity.use_link(&used).await), "link-used");
        assert!(s.identity.authenticate_login(&bystander.session).is_ok());
    }
    // The guest may be let in again.
    let links = Links { admin: rig.user("admin").await, rig, ..links };
    let again = links.visit(&links.mint("guest").await).await.unwrap();
    assert!(links.rig.service.identity.authenticate(&again.token).is_ok());
    let done = links.rig.service.identity.logout_user(&links.admin, "guest").await.unwrap();
    assert_eq!((&done.data["links_removed"], &done.data["sessions_ended"]), (&json!(0), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_log_out_whom_they_may() {
    let links = Links::new().await;
    let s = &links.rig.service;
    let (alice, staff) = (links.rig.user("alice").await, links.rig.user("staff1").await);
    let token = links.rig.token("alice").await;
    assert_eq!(code(s.identity.logout_user(&alice, "alice").await), Code::Forbidden);
    assert_eq!(
        code(s.identity.logout_user(&Principal::anonymous(), "alice").await),
        Code::Unauthenticated
    );
    assert_eq!(code(s.identity.logout_user(&staff, "admin").await), Code::Forbidden);
    assert_eq!(code(s.identity.logout_user(&staff, "nobody").await), Code::NotFound);
    assert!(s.identity.authenticate(&token).is_ok());
    s.identity.logout_user(&staff, "alice").await.unwrap();
    assert!(s.identity.authenticate(&token).is_err());
    assert!(links.rig.user("alice").await.scope().is_none(), "she may log in again");
    s.identity.logout_user(&links.admin, "admin").await.unwrap();
    assert_eq!(code(s.identity.require_access_since(&links.admin, 0)), Code::Unauthenticated);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_loses_every_way_in_and_an_account_its_keys_and_memberships() {
    let links = Links::new().await;
    links.mint("guest").await;
    let (dir, clock) = links.rig.stop();
    let admin = Admin::open(dir.path(), clock.clone()).unwrap();
    admin.set_password("guest", "guest-password").unwrap();
    let joined = UserChange { org: Some("acme".to_owned()), ..UserChange::default() };
    admin.set_user("alice", joined).unwrap();
    let keys = ["guest", "alice"].map(|name| admin.create_key(name, "").unwrap());
    drop(admin);
    let config = config(dir.path());
    let rig = Rig::start(dir, clock, config);
    let s = &rig.service;
    let header = |(id, secret): &(String, String)| format!("PersonalKey {id}:{secret}");
    let by_key = s.identity.pkey_login(Some(&header(&keys[0])), b"", None).await.unwrap();
    for token in [by_key.token, rig.token("guest").await] {
        let scope = s.identity.authenticate(&token).unwrap().scope().unwrap();
        assert_eq!(scope.to_string(), links.dataset, "however it comes in, it sees its dataset");
    }
    let root = rig.user("admin").await;
    for name in ["guest", "alice"] {
        s.identity.logout_user(&root, name).await.unwrap();
    }
    assert_eq!(
        slug(s.identity.pkey_login(Some(&header(&keys[0])), b"", None).await),
        "bad-credentials"
    );
    assert_eq!(
        slug(s.identity.pkey_login(Some(&header(&keys[1])), b"", None).await),
        "bad-credentials"
    );
    let alice = rig.user("alice").await;
    assert!(alice.orgs().is_empty(), "she comes back alone");
    let body = json!({"username": "guest", "password": "guest-password"}).to_string();
    assert_eq!(slug(s.identity.login(body.as_bytes(), PEER).await), "bad-credentials");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_is_given_a_role_is_an_account_from_then_on() {
    let links = Links::new().await;
    let login = links.visit(&links.mint("guest").await).await.unwrap();
    let (dir, clock) = links.rig.stop();
    let admin = Admin::open(dir.path(), clock.clone()).unwrap();
    let staff = UserChange { role: Some("staff".to_owned()), ..UserChange::default() };
    assert_eq!(admin.set_user("guest", staff).unwrap().role, "staff");
    let (id, secret) = admin.create_key("guest", "").unwrap();
    drop(admin);
    let config = config(dir.path());
    let rig = Rig::start(dir, clock, config);
    let still = rig.service.identity.authenticate(&login.token).unwrap();
    assert!(!still.is_admin() && still.scope().is_some(), "not through the old login");
    let header = format!("PersonalKey {id}:{secret}");
    let fresh = rig.service.identity.pkey_login(Some(&header), b"", None).await.unwrap();
    assert!(rig.service.identity.authenticate(&fresh.token).unwrap().is_admin());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_link_outlives_a_logout_that_runs_beside_its_minting_and_use() {
    let links = Arc::new(Links::new().await);
    links.mint("guest").await;
    for _ in 0..20 {
        let of = |links: &Arc<Links>| Arc::clone(links);
        let minting = tokio::spawn({
            let links = of(&links);
            async move {
                let token = links.mint("guest").await;
                (links.visit(&token).await.ok(), token)
            }
        });
        let logout = tokio::spawn({
            let links = of(&links);
            async move {
                links.rig.service.identity.logout_user(&links.admin, "guest").await.map(|_| ())
            }
        });
        logout.await.unwrap().unwrap();
        let (login, token) = minting.await.unwrap();
        // Whichever came first: a second logout leaves nothing.
        links.rig.service.identity.logout_user(&links.admin, "guest").await.unwrap();
        if let Some(login) = login {
            assert!(links.rig.service.identity.authenticate(&login.token).is_err());
            assert!(links.rig.service.identity.authenticate_login(&login.session).is_err());
        }
        assert!(links.visit(&token).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_ends_the_tokens_and_the_streams_of_that_sign_in_alone() {
    let rig = Rig::with(&["alice"]);
    let s = &rig.service;
    let caller = PEER.into();
    let sign_in = || s.identity.sign_in("alice", "alice-password".to_owned(), &caller);
    let (one, other) = (sign_in().await.unwrap(), sign_in().await.unwrap());
    let by_itself = rig.token("alice").await;
    let refreshed = async |token: &str| {
        s.identity.refresh(json!({ "token": token }).to_string().as_bytes()).await
    };
    let later = refreshed(&one.token).await.unwrap().token;
    let (who, session) = (s.identity.authenticate(&one.token).unwrap(), one.session.as_str());
    let by_cookie = s.identity.authenticate_login(session).unwrap();
    let dataset = rig.empty_dataset(&who).await;
    let grant = s.sessions.authorize_viewer(&who, "open", Some(&dataset)).await.unwrap();
    let told = s.identity.access_changes();
    s.identity.sign_out(&by_cookie, Some(session)).await.unwrap();
    assert!(told.has_changed().unwrap(), "open streams look again");
    for token in [&one.token, &later] {
        assert_eq!(slug(s.identity.authenticate(token)), "token-invalid");
        assert_eq!(slug(refreshed(token).await), "token-invalid");
    }
    for gone in [&who, &by_cookie] {
        assert_eq!(code(s.sessions.recheck_viewer(gone, &grant)), Code::Unauthenticated);
        assert!(!s.identity.is_current(gone));
    }
    for token in [&other.token, &by_itself] {
        assert!(s.identity.authenticate(token).is_ok(), "of another sign-in");
    }
    // The token alone is enough to sign out, when the browser has lost the other cookie.
    let who = s.identity.authenticate(&other.token).unwrap();
    s.identity.sign_out(&who, None).await.unwrap();
    assert_eq!(slug(s.identity.authenticate(&other.token)), "token-invalid");
    assert!(s.identity.authenticate_login(&other.session).is_err());
    // Who has nothing to end wakes nobody.
    let told = s.identity.access_changes();
    s.identity.sign_out(&Principal::anonymous(), Some(session)).await.unwrap();
    assert!(!told.has_changed().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_revokes_itself_alone_and_one_that_is_not_there_wakes_nobody() {
    let rig = Rig::with(&["alice"]);
    let (s, alice) = (&rig.service, rig.user("alice").await);
    let make = async || s.identity.create_own_key(&alice, b"{}").await.unwrap();
    let (one, two) = (make().await, make().await);
    let credential = format!("{}:{}", one.key_id, one.secret.unwrap());
    let by_key = s.identity.authenticate_tool(&credential).unwrap();
    let told = s.identity.access_changes();
    assert_eq!(code(s.identity.revoke_own_key(&by_key, &two.key_id).await), Code::Forbidden);
    assert_eq!(code(s.identity.revoke_own_key(&alice, "NOTAKEY123").await), Code::NotFound);
    assert!(!told.has_changed().unwrap());
    s.identity.revoke_own_key(&by_key, &one.key_id).await.unwrap();
    assert!(told.has_changed().unwrap());
    assert!(s.identity.authenticate_tool(&credential).is_err());
}
