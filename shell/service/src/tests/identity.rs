use std::time::Duration;

use serde_json::json;

use super::*;
use crate::admin::UserChange;
use graphlume_identity::testing::{SigningKey, Subject, Tokens};

fn token_body(token: &str) -> Vec<u8> {
    json!({ "token": token }).to_string().into_bytes()
}

async fn login(
    rig: &Rig,
    name: &str,
    password: &str,
    org: Option<&str>,
) -> Result<Value, IdentityError> {
    let mut body = json!({"username": name, "password": password});
    if let Some(org) = org {
        body["org_name"] = json!(org);
    }
    let reply = rig.service.identity.login(body.to_string().as_bytes(), PEER).await?;
    Ok(serde_json::to_value(reply).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_makes_a_superuser_and_later_ones_do_not() {
    let rig = Rig::new();
    let first = rig.bootstrap.as_ref().unwrap();
    assert_eq!((first.username.as_str(), first.password.as_str()), ("admin", "admin-password"));
    assert!(!first.generated);
    let admin = rig.user("admin").await;
    assert!(admin.is_admin());
    let rig = rig.restart();
    assert!(rig.bootstrap.is_none());
    assert!(login(&rig, "admin", "admin-password", None).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_password_is_told_once_and_works() {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let mut config = config(dir.path());
    config.admin_password = None;
    let rig = Rig::start(dir, Arc::new(TestClock::at(NOW)), config);
    let first = rig.bootstrap.as_ref().unwrap();
    assert!(first.generated && first.password.len() >= 32);
    assert!(login(&rig, "admin", &first.password, None).await.is_ok());
    assert!(!format!("{first:?}").contains(&first.password));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_replies_what_both_clients_read() {
    let rig = Rig::with(&["alice"]);
    let got = login(&rig, "alice", "alice-password", None).await.unwrap();
    assert_eq!(got["user"]["username"], "alice");
    assert_eq!(got["user"]["email"], "alice@example.org");
    assert_eq!(got["pk"], got["user"]["id"]);
    let personal = json!({"slug": "alice", "is_found": true, "is_member": true});
    assert_eq!(got["active_organization"], personal);
    assert_eq!(got["token"].as_str().unwrap().split('.').count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_wrong_and_disabled_look_alike() {
    let rig = Rig::with(&["alice", "bob"]);
    let (dir, clock) = rig.stop();
    let admin = Admin::open(dir.path(), clock.clone()).unwrap();
    let off = UserChange { disabled: Some(true), ..UserChange::default() };
    admin.set_user("bob", off).unwrap();
    drop(admin);
    let config = config(dir.path());
    let rig = Rig::start(dir, clock, config);
    let mut seen = Vec::new();
    for (name, password) in
        [("alice", "wrong"), ("nobody", "x"), ("bob", "bob-password"), ("alice", ""), ("", "")]
    {
        let e = login(&rig, name, password, None).await.unwrap_err();
        seen.push(serde_json::to_string(&ServiceError::from(e).reply()).unwrap());
    }
    assert!(seen.iter().all(|s| *s == seen[0]), "{seen:?}");
    assert!(seen[0].contains("Unable to log in with provided credentials."));
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_accounts_take_as_long_as_wrong_passwords() {
    let rig = Rig::with(&["alice"]);
    let mut took = [Vec::new(), Vec::new()];
    for round in 0..9 {
        for (i, name) in ["alice", "nobody"].iter().enumerate() {
            // A fresh name each time would be throttled by peer only; the same names by account.
            rig.clock.advance(Duration::from_secs(901));
            let begin = std::time::Instant::now();
            let refused = login(&rig, name, &format!("wrong{round}"), None).await;
            took[i].push(begin.elapsed());
            assert!(matches!(refused, Err(IdentityError::BadCredentials)));
        }
    }
    took.iter_mut().for_each(|t| t.sort());
    let [wrong, unknown] = took.map(|t| t[0].as_secs_f64());
    assert!(unknown > wrong * 0.5, "an unknown account answers early: {unknown} vs {wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn organizations_are_reported_as_the_client_expects() {
    let rig = Rig::with(&["alice@acme", "bob"]);
    for (name, org, found, member) in [
        ("alice", "acme", true, true),
        ("alice", "alice", true, true),
        ("bob", "acme", true, false),
        ("bob", "alice", false, false),
        ("bob", "nowhere", false, false),
        ("bob", "../..", false, false),
    ] {
        let got = login(&rig, name, &format!("{name}-password"), Some(org)).await.unwrap();
        let want = json!({"slug": org, "is_found": found, "is_member": member});
        assert_eq!(got["active_organization"], want, "{name} {org}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_throttled_after_ten_failures_but_its_tokens_live_on() {
    let rig = Rig::with(&["alice", "bob"]);
    let token = rig.token("alice").await;
    for _ in 0..10 {
        assert!(matches!(
            login(&rig, "alice", "wrong", None).await,
            Err(IdentityError::BadCredentials)
        ));
    }
    let e = login(&rig, "alice", "alice-password", None).await.unwrap_err();
    assert_eq!(e.code(), Code::Exhausted);
    assert_eq!(e.retry_after_secs(), Some(900));
    assert!(rig.service.identity.refresh(&token_body(&token)).await.is_ok());
    assert!(login(&rig, "bob", "bob-password", None).await.is_ok());
    rig.clock.advance(Duration::from_secs(900));
    assert!(login(&rig, "alice", "alice-password", None).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_refused_at_its_last_second_everywhere() {
    let rig = Rig::with(&["alice"]);
    let token = rig.token("alice").await;
    rig.clock.advance(Duration::from_secs(3_599));
    assert!(rig.service.identity.authenticate(&token).is_ok());
    assert!(rig.service.identity.verify(&token_body(&token)).await.is_ok());
    rig.clock.advance(Duration::from_secs(1));
    assert!(matches!(rig.service.identity.authenticate(&token), Err(IdentityError::TokenExpired)));
    let e = rig.service.identity.refresh(&token_body(&token)).await.unwrap_err();
    assert_eq!(
        ServiceError::from(e).reply().non_field_errors,
        ["Token has expired."],
        "the client looks for this text"
    );
    assert!(rig.service.identity.verify(&token_body(&token)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn refreshing_goes_on_for_a_day_and_never_moves_the_login() {
    let rig = Rig::with(&["alice"]);
    let mut token = rig.token("alice").await;
    let mut elapsed = 0;
    while elapsed + 3_000 < 86_399 {
        rig.clock.advance(Duration::from_secs(3_000));
        elapsed += 3_000;
        token = rig.service.identity.refresh(&token_body(&token)).await.unwrap().token;
    }
    rig.clock.advance(Duration::from_secs(86_399 - elapsed));
    let last = rig.service.identity.refresh(&token_body(&token)).await.unwrap().token;
    rig.clock.advance(Duration::from_secs(1));
    let e = rig.service.identity.refresh(&token_body(&last)).await.unwrap_err();
    assert_eq!(ServiceError::from(e).reply().non_field_errors, ["Refresh has expired."]);
    assert!(rig.service.identity.authenticate(&last).is_ok(), "its own hour still runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_another_time_or_account_do_not_pass() {
    let rig = Rig::with(&["alice"]);
    let key = SigningKey::load_or_create(rig.dir.path()).unwrap();
    let tokens = Tokens::new(&key).unwrap();
    let good = rig.user("alice").await;
    let mint = |id: u64, epoch: u64, scope: Option<&str>| {
        let subject = Subject {
            user: graphlume_types::UserId(id),
            username: "alice".to_owned(),
            email: String::new(),
            epoch,
            org: None,
            scope: scope.map(str::to_owned),
            key: None,
            login: None,
        };
        tokens.issue(&subject, NOW, NOW).unwrap().0
    };
    let id = good.user().unwrap().0;
    assert!(rig.service.identity.authenticate(&mint(id, 0, None)).is_ok());
    for bad in [mint(id, 1, None), mint(999, 0, None), mint(id, 0, Some("not-an-id"))] {
        assert!(matches!(
            rig.service.identity.authenticate(&bad),
            Err(IdentityError::TokenInvalid)
        ));
    }
    for bad in ["", "x", "a.b.c", "null"] {
        let e = rig.service.identity.authenticate(bad).unwrap_err();
        assert_eq!(e.to_string(), "Error decoding token.");
        assert!(rig.service.identity.refresh(&token_body(bad)).await.is_err());
    }
    assert_eq!(code(rig.service.identity.refresh(b"{}").await), Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_and_a_disabled_account_end_tokens_keys_and_logins() {
    let rig = Rig::with(&["alice"]);
    let token = rig.token("alice").await;
    let who = rig.service.identity.authenticate(&token).unwrap();
    assert!(rig.service.identity.is_current(&who));
    let (dir, clock) = rig.stop();
    let admin = Admin::open(dir.path(), clock.clone()).unwrap();
    let (key_id, secret) = admin.create_key("alice", "").unwrap();
    admin.set_password("alice", "other-password").unwrap();
    drop(admin);
    let start = |dir: &Arc<tempfile::TempDir>| {
        Rig::start(Arc::clone(dir), clock.clone(), config(dir.path()))
    };
    let rig = start(&dir);
    assert!(matches!(rig.service.identity.authenticate(&token), Err(IdentityError::TokenInvalid)));
    assert!(!rig.service.identity.is_current(&who));
    assert!(login(&rig, "alice", "other-password", None).await.is_ok());
    let header = format!("PersonalKey {key_id}:{secret}");
    let pkey = rig.service.identity.pkey_login(Some(&header), b"", None).await.unwrap();
    rig.stop();
    let admin = Admin::open(dir.path(), clock.clone()).unwrap();
    let off = UserChange { disabled: Some(true), ..UserChange::default() };
    admin.set_user("alice", off).unwrap();
    drop(admin);
    let rig = start(&dir);
    assert!(rig.service.identity.authenticate(&pkey.token).is_err());
    assert!(rig.service.identity.pkey_login(Some(&header), b"", None).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn personal_keys_log_in_until_they_are_revoked() {
    let rig = Rig::with(&["alice@acme"]);
    let (dir, clock) = rig.stop();
    let admin = Admin::open(dir.path(), clock.clone()).unwrap();
    let (key_id, secret) = admin.create_key("alice", "laptop").unwrap();
    assert_eq!(key_id.len(), 10);
    assert_eq!(admin.list_keys(Some("alice")).unwrap()[0].label, "laptop");
    drop(admin);
    let start = |dir: &Arc<tempfile::TempDir>| {
        Rig::start(Arc::clone(dir), clock.clone(), config(dir.path()))
    };
    let rig = start(&dir);
    let header = format!("PersonalKey {key_id}:{secret}");
    let got = rig.service.identity.pkey_login(Some(&header), b"{}", None).await.unwrap();
    assert_eq!(got.user.username, "alice");
    let body = br#"{"org_name":"acme"}"#;
    let got = rig.service.identity.pkey_login(Some(&header), body, Some("alice")).await.unwrap();
    assert_eq!(got.active_organization.slug, "acme", "the body wins");
    let got = rig.service.identity.pkey_login(Some(&header), b"", Some("acme")).await.unwrap();
    assert_eq!(got.active_organization.slug, "acme");
    let other = format!("{}A", &secret[..31]);
    for bad in [
        format!("PersonalKey {key_id}:{}", if other == secret { "x".repeat(32) } else { other }),
        format!("PersonalKey {key_id}:"),
        format!("PersonalKey ABCDEFGHIJ:{secret}"),
        format!("PersonalKey {secret}:{key_id}"),
        format!("PersonalKey {key_id}"),
        format!("Bearer {key_id}:{secret}"),
        "PersonalKey".to_owned(),
        format!("PersonalKey {}:x", "k".repeat(5_000)),
    ] {
        let refused = rig.service.identity.pkey_login(Some(&bad), b"", None).await;
        assert!(matches!(refused, Err(IdentityError::BadCredentials)), "{bad:.40}");
    }
    assert!(rig.service.identity.pkey_login(None, b"", None).await.is_err());
    rig.stop();
    let admin = Admin::open(dir.path(), clock.clone()).unwrap();
    admin.revoke_key(&key_id).unwrap();
    assert!(admin.list_keys(None).unwrap()[0].revoked);
    assert_eq!(code(admin.revoke_key("ABCDEFGHIJ")), Code::NotFound);
    drop(admin);
    let rig = start(&dir);
    assert!(rig.service.identity.pkey_login(Some(&header), b"", None).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_holds_for_its_token_and_the_tokens_made_from_it() {
    let rig = Rig::with(&["alice@acme", "bob@other"]);
    let (one, two) = (rig.token("alice").await, rig.token("alice").await);
    let org = |rig: &Rig, t: &str| {
        rig.service.identity.authenticate(t).unwrap().active_org().unwrap().to_owned()
    };
    let who = rig.service.identity.authenticate(&one).unwrap();
    let done = rig.service.identity.switch_org(&who, "acme").await.unwrap();
    assert_eq!(serde_json::to_value(&done).unwrap()["data"], json!([]));
    assert_eq!((done.status, org(&rig, &one).as_str()), ("OK", "acme"));
    assert_eq!(org(&rig, &two), "alice", "another client of the account is not disturbed");
    let fresh = rig.service.identity.refresh(&token_body(&one)).await.unwrap().token;
    assert_eq!(org(&rig, &fresh), "acme");
    assert_eq!(code(rig.service.identity.switch_org(&who, "other").await), Code::Forbidden);
    assert_eq!(code(rig.service.identity.switch_org(&who, "nowhere").await), Code::NotFound);
    assert!(rig.service.identity.switch_org(&who, "alice").await.is_ok());
    assert_eq!(org(&rig, &one), "alice");
    assert_eq!(
        code(rig.service.identity.switch_org(&Principal::anonymous(), "acme").await),
        Code::Unauthenticated
    );
    let rig = rig.restart();
    assert_eq!(org(&rig, &fresh), "acme", "a refreshed token carries its organization");
}

#[test]
fn admin_refuses_what_would_lock_everybody_out_or_cannot_be() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(NOW));
    let (admin, is_new) = Admin::open_or_make(dir.path(), clock).unwrap();
    assert!(is_new);
    let mut root = new_user("root", None);
    root.role = "admin".to_owned();
    assert_eq!(admin.add_user(root.clone()).unwrap().role, "superuser");
    assert_eq!(code(admin.add_user(root)), Code::Conflict);
    for change in [
        UserChange { disabled: Some(true), ..UserChange::default() },
        UserChange { role: Some("user".into()), ..UserChange::default() },
    ] {
        assert_eq!(code(admin.set_user("root", change)), Code::Conflict);
    }
    for name in ["", "a b", "a/b", "é", "..", &"x".repeat(151)] {
        assert_eq!(code(admin.add_user(new_user(name, None))), Code::InvalidArgument, "{name}");
    }
    let mut bad = new_user("eve", None);
    bad.role = "emperor".to_owned();
    assert_eq!(code(admin.add_user(bad)), Code::InvalidArgument);
    let mut bad = new_user("eve", None);
    bad.email = "nowhere".to_owned();
    assert_eq!(code(admin.add_user(bad)), Code::InvalidArgument);
    let mut same_mail = new_user("eve", None);
    same_mail.email = "ROOT@example.org".to_owned();
    assert_eq!(code(admin.add_user(same_mail)), Code::Conflict);
    assert_eq!(code(admin.add_user(new_user("eve", Some("root")))), Code::Conflict);
    admin.add_user(new_user("eve", Some("acme"))).unwrap();
    assert_eq!(code(admin.add_user(new_user("acme", None))), Code::Conflict);
    let all = admin.list_users().unwrap();
    assert_eq!(all.iter().map(|u| u.username.as_str()).collect::<Vec<_>>(), ["root", "eve"]);
    assert_eq!(all[1].orgs, ["acme"]);
    let lang = UserChange { graph_language: Some(false), ..UserChange::default() };
    assert!(!admin.set_user("eve", lang).unwrap().graph_language);
    assert_eq!(code(admin.set_user("nobody", UserChange::default())), Code::NotFound);
    assert_eq!(code(admin.set_password("eve", "")), Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_of_a_running_server_is_in_use() {
    let rig = Rig::new();
    let refused = Admin::open(rig.dir.path(), rig.clock.clone()).map(|_| ());
    let e = refused.unwrap_err();
    assert_eq!(e.slug(), "storage-in-use");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_on_the_disk_in_readable_form() {
    let rig = Rig::with(&["alice"]);
    let token = rig.token("alice").await;
    let (dir, clock) = rig.stop();
    let admin = Admin::open(dir.path(), clock).unwrap();
    let (_, secret) = admin.create_key("alice", "").unwrap();
    drop(admin);
    assert_not_on_disk(dir.path(), &["alice-password", "admin-password", &secret, &token]);
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_of_the_command_line_and_of_persons_take_turns_with_logins() {
    use std::future::Future;
    use std::task::{Context, Waker};

    use graphlume_types::limits::{PASSWORD_HASHES_MAX, PASSWORD_QUEUE_MAX};

    use crate::command::Command;
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let identity = &rig.service.identity;
    let mut held = Vec::new();
    for _ in 0..PASSWORD_HASHES_MAX {
        held.push(identity.password_turn().await.unwrap());
    }
    // Each waits in the queue once it was looked at.
    let mut waiting: Vec<_> =
        (0..PASSWORD_QUEUE_MAX).map(|_| Box::pin(identity.password_turn())).collect();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(waiting.iter_mut().all(|w| w.as_mut().poll(&mut cx).is_pending()));
    let new = || "a-new-password".to_owned();
    let change = Command::UserPassword { username: "alice".to_owned(), password: new() };
    let body = json!({"old_password": "alice-password", "new_password": new()}).to_string();
    assert_eq!(code(rig.service.carry_out(change.clone()).await), Code::Exhausted);
    let refused = identity.change_password(&alice, body.as_bytes(), PEER).await.map(|_| ());
    assert!(matches!(refused, Err(IdentityError::Busy { .. })), "{refused:?}");
    // What needs no hash needs no turn.
    assert!(rig.service.carry_out(Command::UserList).await.is_ok());
    drop((waiting, held));
    assert!(rig.service.carry_out(change).await.is_ok());
    assert!(login(&rig, "alice", "a-new-password", None).await.is_ok());
}
