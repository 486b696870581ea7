//! Login links: who mints them, how long they live, that each works once, and what a guest may do.

use std::time::Duration;

use graphlume_storage::{Batch, LinkRec, LoginRec, Scope};
use graphlume_types::limits::{
    LINK_RECORD_SECS, LINKS_PER_USER_MAX, LOGIN_SESSION_SECS, LOGINS_PER_USER_MAX,
    SESAME_MAX_AGE_SECS,
};
use graphlume_types::{DatasetId, UserId};

use super::*;
use crate::admin::UserChange;
use crate::{LinkLogin, LinkSettings};
use graphlume_identity::testing::{digest, fresh_secret};

const DAY: i64 = 86_400;

/// A service with a private dataset of alice, and links to it.
pub(super) struct Links {
    pub rig: Rig,
    pub admin: Principal,
    pub dataset: String,
}

impl Links {
    pub(super) async fn new() -> Self {
        Self::of(Rig::with(&["alice@acme", "staff1"])).await
    }

    pub(super) async fn of(rig: Rig) -> Self {
        let (admin, alice) = (rig.user("admin").await, rig.user("alice").await);
        let dataset = rig.empty_dataset(&alice).await;
        let private = json!({"obj_pk": dataset, "mode": "private"}).to_string();
        rig.service.datasets.share(&alice, private.as_bytes()).await.unwrap();
        Self { rig, admin, dataset }
    }

    /// The same folder under other settings.
    pub(super) async fn with(self, settings: LinkSettings) -> Self {
        let (dir, clock) = self.rig.stop();
        let mut config = config(dir.path());
        config.settings.links = settings;
        let rig = Rig::start(dir, clock, config);
        let admin = rig.user("admin").await;
        Self { rig, admin, ..self }
    }

    pub(super) async fn mint(&self, name: &str) -> String {
        let dataset = Some(self.dataset.as_str());
        self.rig.service.datasets.mint_link(&self.admin, Some(name), dataset).await.unwrap()
    }

    pub(super) async fn visit(&self, token: &str) -> Result<LinkLogin, IdentityError> {
        self.rig.service.identity.use_link(token).await
    }

    pub(super) fn secs(&self, secs: i64) {
        self.rig.clock.advance(Duration::from_secs(secs.unsigned_abs()));
    }

    fn on_record(&self) -> usize {
        self.rig.service.ctx.data.store.scan::<LinkRec>().count()
    }

    fn record(&self, token: &str) -> LinkRec {
        self.rig.service.ctx.data.store.get::<LinkRec>(&digest(token)).unwrap().unwrap()
    }
}

pub(super) fn slug<T>(outcome: Result<T, impl Coded>) -> &'static str {
    outcome.err().map_or("no refusal", |e| e.slug())
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_mint_links_and_are_told_what_is_wrong() {
    let links = Links::new().await;
    let (s, dataset) = (&links.rig.service, links.dataset.as_str());
    let (alice, staff) = (links.rig.user("alice").await, links.rig.user("staff1").await);
    let refused = s.datasets.mint_link(&alice, Some("guest"), Some(dataset)).await;
    assert_eq!(code(refused), Code::Forbidden, "not even for a dataset of hers");
    let nobody = Principal::anonymous();
    let refused = s.datasets.mint_link(&nobody, Some("guest"), Some(dataset)).await;
    assert_eq!(code(refused), Code::Unauthenticated);
    let refused = s.datasets.mint_link(&staff, Some("guest"), Some(dataset)).await;
    assert_eq!(code(refused), Code::NotFound, "staff let in to what they may see themselves");
    let share = json!({"obj_pk": dataset, "mode": "private",
                       "invited_users": [{"email": "staff1@example.org", "action": "10"}]});
    s.datasets.share(&links.admin, share.to_string().as_bytes()).await.unwrap();
    for who in [&staff, &links.admin] {
        let token = s.datasets.mint_link(who, Some("guest"), Some(dataset)).await.unwrap();
        let rec = links.record(&token);
        assert_eq!((rec.username.as_str(), rec.uses, rec.minted_at), ("guest", 0, NOW * 1_000_000));
        assert_eq!(
            (Some(rec.minted_by), rec.dataset_id.to_string()),
            (who.user(), links.dataset.clone())
        );
    }
    for (username, id, field) in [
        (None, Some(dataset), "username"),
        (Some("a b"), Some(dataset), "username"),
        (Some("../x"), Some(dataset), "username"),
        (Some("guest"), None, "dataset_id"),
        (Some("guest"), Some("Miserables"), "dataset_id"),
    ] {
        let e = s.datasets.mint_link(&links.admin, username, id).await.unwrap_err();
        assert_eq!((e.code(), e.field()), (Code::InvalidArgument, Some(field)), "{e}");
    }
    for absent in ["f".repeat(32), "x".to_owned()] {
        let refused = s.datasets.mint_link(&links.admin, Some("guest"), Some(&absent)).await;
        assert_eq!(code(refused), Code::NotFound, "{absent}");
    }
    let refused = s.datasets.mint_link(&links.admin, Some("acme"), Some(dataset)).await;
    assert_eq!(code(refused), Code::Conflict, "the name of an organization");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_works_once_and_the_login_that_it_gives_for_its_time() {
    let links = Links::new().await;
    let token = links.mint("guest").await;
    let login = links.visit(&token).await.unwrap();
    assert_eq!(login.dataset.to_string(), links.dataset);
    assert_eq!(slug(links.visit(&token).await), "link-used");
    assert_eq!(links.record(&token).uses, 1);
    let s = &links.rig.service;
    for who in [
        s.identity.authenticate(&login.token).unwrap(),
        s.identity.authenticate_login(&login.session).unwrap(),
    ] {
        assert_eq!((who.username(), who.scope()), (Some("guest"), Some(login.dataset)));
    }
    let absent = fresh_secret();
    for bad in ["", "x", &absent, &token[1..], &format!("{token}="), &token.to_lowercase()] {
        assert_eq!(slug(links.visit(bad).await), "link-invalid", "{bad}");
        assert!(s.identity.authenticate_login(bad).is_err());
    }
    links.secs(LOGIN_SESSION_SECS - 1);
    assert_eq!(slug(s.identity.authenticate(&login.token)), "token-expired", "it has an hour");
    assert!(s.identity.authenticate_login(&login.session).is_ok());
    links.secs(1);
    assert_eq!(slug(s.identity.authenticate_login(&login.session)), "token-expired", "at a day");
    links.secs(1);
    assert_eq!(slug(s.identity.authenticate_login(&login.session)), "token-expired");
    s.upkeep.run().await.unwrap();
    assert_eq!(slug(s.identity.authenticate_login(&login.session)), "token-invalid", "forgotten");
    let rig = Links { rig: links.rig.restart(), ..links };
    assert_eq!(slug(rig.visit(&token).await), "link-invalid", "used and too old look alike");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_refused_at_the_second_that_its_setting_names() {
    assert_eq!(SESAME_MAX_AGE_SECS, 3_600);
    for (age, expected) in [
        (0, "no refusal"),
        (SESAME_MAX_AGE_SECS - 1, "no refusal"),
        (SESAME_MAX_AGE_SECS, "link-invalid"),
        (SESAME_MAX_AGE_SECS + 1, "link-invalid"),
    ] {
        let links = Links::new().await;
        let token = links.mint("guest").await;
        links.secs(age);
        assert_eq!(slug(links.visit(&token).await), expected, "{age}");
    }
    let short = LinkSettings { max_age_secs: 1, one_time: true };
    let links = Links::new().await.with(short).await;
    let token = links.mint("guest").await;
    links.rig.clock.advance(Duration::from_micros(999_999));
    let other = links.mint("guest").await;
    assert!(links.visit(&token).await.is_ok(), "one microsecond is left");
    links.rig.clock.advance(Duration::from_secs(1));
    assert_eq!(slug(links.visit(&other).await), "link-invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_setting_keeps_a_link_alive_beyond_seven_days() {
    assert_eq!(LINK_RECORD_SECS, 7 * DAY);
    for one_time in [true, false] {
        let lasting = LinkSettings { max_age_secs: 30 * DAY, one_time };
        let links = Links::new().await.with(lasting).await;
        let (first, second) = (links.mint("guest").await, links.mint("guest").await);
        links.secs(LINK_RECORD_SECS - 1);
        assert!(links.visit(&first).await.is_ok(), "one_time={one_time}");
        let again = links.visit(&first).await;
        assert_eq!(again.is_ok(), !one_time);
        assert_eq!(slug(again), if one_time { "link-used" } else { "no refusal" });
        links.rig.service.upkeep.run().await.unwrap();
        assert_eq!(links.on_record(), 2, "nothing is swept too early");
        links.secs(1);
        assert_eq!(slug(links.visit(&first).await), "link-invalid");
        assert_eq!(links.on_record(), 1, "the visit itself takes the record");
        links.rig.service.upkeep.run().await.unwrap();
        assert_eq!(links.on_record(), 0, "the sweep takes the other one");
        links.secs(1);
        assert_eq!(slug(links.visit(&second).await), "link-invalid");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_works_often_still_respects_its_age() {
    let often = LinkSettings { max_age_secs: 60, one_time: false };
    let links = Links::new().await.with(often).await;
    let token = links.mint("guest").await;
    for second in 0..60 {
        assert!(links.visit(&token).await.is_ok(), "{second}");
        links.secs(1);
    }
    assert_eq!(slug(links.visit(&token).await), "link-invalid");
    assert_eq!(links.record(&token).uses, 60);
    // Set to once, it has been used.
    let fresh = links.mint("guest").await;
    assert!(links.visit(&fresh).await.is_ok());
    let links = links.with(LinkSettings::default()).await;
    assert_eq!(slug(links.visit(&fresh).await), "link-used");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_visits_at_once_one_signs_in() {
    let links = Links::new().await;
    for round in 0..25 {
        let token = links.mint(&format!("guest{}", round % 3)).await;
        let start = Arc::new(tokio::sync::Barrier::new(32));
        let visits: Vec<_> = (0..32)
            .map(|_| {
                let (service, token, start) =
                    (Arc::clone(&links.rig.service), token.clone(), Arc::clone(&start));
                tokio::spawn(async move {
                    start.wait().await;
                    slug(service.identity.use_link(&token).await)
                })
            })
            .collect();
        let mut seen = Vec::new();
        for visit in visits {
            seen.push(visit.await.unwrap());
        }
        seen.sort_unstable();
        assert_eq!(seen[31], "no refusal", "{seen:?}");
        assert!(seen[..31].iter().all(|s| *s == "link-used"), "{seen:?}");
        assert_eq!(links.record(&token).uses, 1);
    }
    assert_eq!(links.rig.service.ctx.data.store.scan::<LoginRec>().count(), 25);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn links_minted_at_once_for_a_new_name_make_one_guest() {
    let links = Arc::new(Links::new().await);
    let minted: Vec<_> = (0..16)
        .map(|_| {
            let links = Arc::clone(&links);
            tokio::spawn(async move { links.mint("guest").await })
        })
        .collect();
    let mut guests = std::collections::HashSet::new();
    for token in minted {
        guests.insert(links.record(&token.await.unwrap()).guest);
    }
    assert_eq!(guests.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_reads_the_dataset_of_the_link_and_nothing_else() {
    let links = Links::new().await;
    let s = &links.rig.service;
    let alice = links.rig.user("alice").await;
    let other = links.rig.empty_dataset(&alice).await;
    let login = links.visit(&links.mint("guest").await).await.unwrap();
    for guest in [
        s.identity.authenticate(&login.token).unwrap(),
        s.identity.authenticate_login(&login.session).unwrap(),
    ] {
        assert!(s.datasets.get(&guest, &links.dataset).await.is_ok());
        assert_eq!(code(s.datasets.get(&guest, &other).await), Code::NotFound);
        assert_eq!(code(s.datasets.get(&guest, "Miserables").await), Code::NotFound);
        let opened = s.sessions.open(&guest, &links.dataset, None, &[]).await.unwrap();
        let session = opened.session_id.to_string();
        assert!(s.sessions.authorize_viewer(&guest, &session, None).await.unwrap().owner);
        assert_eq!(code(s.sessions.open(&guest, &other, None, &[]).await), Code::NotFound);
        assert_eq!(code(s.delete_dataset(&guest, &links.dataset).await), Code::Forbidden);
        assert_eq!(code(links.rig.dataset(&guest, create_body(json!({}))).await), Code::Forbidden);
        assert_eq!(code(s.identity.switch_org(&guest, "guest").await), Code::NotFound);
        assert_eq!(code(s.sessions.list(&guest, true).await), Code::Forbidden);
        let own = s.sessions.list(&guest, false).await.unwrap().results;
        assert!(own.iter().any(|v| v.session_id == session));
        let refused = s.datasets.mint_link(&guest, Some("friend"), Some(&links.dataset)).await;
        assert_eq!(code(refused), Code::Forbidden);
        assert_eq!(code(s.identity.logout_user(&guest, "alice").await), Code::Forbidden);
    }
    // A guest of two datasets has two logins, neither of which sees what the other one opened.
    let second = s.datasets.mint_link(&links.admin, Some("guest"), Some(&other)).await.unwrap();
    let second = links.visit(&second).await.unwrap();
    let guest = s.identity.authenticate(&second.token).unwrap();
    assert!(s.datasets.get(&guest, &other).await.is_ok());
    assert_eq!(code(s.datasets.get(&guest, &links.dataset).await), Code::NotFound);
    assert!(s.sessions.list(&guest, false).await.unwrap().results.is_empty());
    // The name alone lets nobody in.
    let body = json!({"username": "guest", "password": ""}).to_string();
    assert_eq!(slug(s.identity.login(body.as_bytes(), PEER).await), "bad-credentials");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_under_the_name_of_an_account_gives_nothing_that_the_account_has() {
    let links = Links::new().await;
    let s = &links.rig.service;
    let (alice, admin) = (links.rig.user("alice").await, &links.admin);
    let other = links.rig.empty_dataset(&alice).await;
    let file = links.rig.loaded(&alice, "csv", EDGES_CSV.as_bytes()).await.file_id;
    s.sessions.open(&alice, &links.dataset, Some("hers"), &[]).await.unwrap();
    s.sessions.open(&alice, &other, Some("other"), &[]).await.unwrap();
    for name in ["alice", "admin"] {
        let login = links.visit(&links.mint(name).await).await.unwrap();
        let who = s.identity.authenticate(&login.token).unwrap();
        assert!(!who.is_admin() && who.orgs().is_empty() && !who.belongs_to(Some(name)));
        assert!(s.datasets.get(&who, &links.dataset).await.is_ok());
        assert_eq!(code(s.datasets.get(&who, &other).await), Code::NotFound);
        assert_eq!(code(s.files.get(&who, &file).await), Code::NotFound);
        assert_eq!(code(s.delete_dataset(&who, &links.dataset).await), Code::Forbidden);
        assert_eq!(s.datasets.list(&who, page("", "")).await.unwrap().count, 0);
        assert_eq!(s.files.list(&who, page("", "")).await.unwrap().count, 0);
        assert!(s.sessions.list(&who, false).await.unwrap().results.is_empty());
        assert_eq!(code(s.sessions.list(&who, true).await), Code::Forbidden);
        let taken = s.sessions.open(&who, &links.dataset, Some("other"), &[]).await;
        assert_eq!(code(taken), Code::Conflict, "her session cannot be taken over");
        assert!(!s.sessions.authorize_viewer(&who, "hers", None).await.unwrap().owner);
        let claims = login.token.split('.').nth(1).unwrap().to_owned();
        use base64::Engine as _;
        let text = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap();
        assert!(!String::from_utf8(text).unwrap().contains("alice@example.org"));
    }
    // The account itself is as it was.
    assert!(s.datasets.get(&alice, &other).await.is_ok() && admin.is_admin());
    assert_eq!(s.sessions.list(&alice, false).await.unwrap().results.len(), 2);
    assert!(links.rig.user("alice").await.scope().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_account_and_a_deleted_dataset_end_links_and_logins() {
    let links = Links::new().await;
    let (spare, used) = (links.mint("guest").await, links.mint("guest").await);
    let login = links.visit(&used).await.unwrap();
    let (dir, clock) = links.rig.stop();
    let admin = Admin::open(dir.path(), clock.clone()).unwrap();
    let switch = |disabled| UserChange { disabled: Some(disabled), ..UserChange::default() };
    admin.set_user("guest", switch(true)).unwrap();
    drop(admin);
    let restart = |dir: &Arc<tempfile::TempDir>| {
        Rig::start(Arc::clone(dir), clock.clone(), config(dir.path()))
    };
    let rig = restart(&dir);
    let s = &rig.service;
    let check = |s: &Service| {
        assert!(
            s.identity.authenticate(&login.token).is_err()
                && s.identity.authenticate_login(&login.session).is_err()
        );
    };
    check(s);
    assert_eq!(slug(s.identity.use_link(&spare).await), "link-invalid");
    let root = rig.user("admin").await;
    let refused =
        s.datasets.mint_link(&root, Some("guest"), Some(&links.dataset)).await.unwrap_err();
    assert!(refused.code() == Code::Conflict && refused.to_string().contains("guest"), "{refused}");
    rig.stop();
    let admin = Admin::open(dir.path(), clock.clone()).unwrap();
    admin.set_user("guest", switch(false)).unwrap();
    drop(admin);
    let rig = restart(&dir);
    check(&rig.service);
    assert_eq!(
        slug(rig.service.identity.use_link(&spare).await),
        "link-invalid",
        "it does not come back"
    );
    let root = rig.user("admin").await;
    let fresh =
        rig.service.datasets.mint_link(&root, Some("guest"), Some(&links.dataset)).await.unwrap();
    rig.service.delete_dataset(&root, &links.dataset).await.unwrap();
    assert_eq!(
        slug(rig.service.identity.use_link(&fresh).await),
        "link-invalid",
        "nothing is left to see"
    );
}

/// A record of a link of `guest` that was minted `age` seconds ago.
fn link_rec(guest: UserId, n: u64, age: i64) -> LinkRec {
    LinkRec {
        token_sha256: digest(&n.to_string()),
        guest,
        username: "guest".to_owned(),
        dataset_id: DatasetId::from_bytes([7; 16]),
        minted_by: UserId(1),
        minted_at: (NOW - age) * 1_000_000,
        epoch: 0,
        uses: 0,
        used_at: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_a_bounded_number_of_links_and_of_logins() {
    let links = Links::new().await;
    let s = &links.rig.service;
    let first = links.mint("guest").await;
    let guest = links.record(&first).guest;
    let fill = (2..LINKS_PER_USER_MAX).fold(Batch::new(), |b, n| b.put(&link_rec(guest, n, 0)));
    s.ctx.data.store.commit(fill).unwrap();
    links.mint("guest").await;
    assert_eq!(links.on_record() as u64, LINKS_PER_USER_MAX);
    let mint = || s.datasets.mint_link(&links.admin, Some("guest"), Some(&links.dataset));
    let e = mint().await.unwrap_err();
    assert!(e.code() == Code::Conflict && e.to_string().contains("1000"), "{e}");
    assert!(links.visit(&first).await.is_ok());
    mint().await.unwrap();
    assert_eq!(links.on_record() as u64, LINKS_PER_USER_MAX, "the used one made room");
    links.secs(SESAME_MAX_AGE_SECS);
    mint().await.unwrap();
    assert_eq!(links.on_record(), 1, "so did those that have expired");

    // The login of the first link is the oldest from here on.
    let often = LinkSettings { max_age_secs: 60, one_time: false };
    let links = links.with(often).await;
    let token = links.mint("guest").await;
    let mut sessions = Vec::new();
    let count =
        || links.rig.service.ctx.data.store.count::<LoginRec>(&[Scope::Owner(guest)]).unwrap();
    while count() < LOGINS_PER_USER_MAX {
        sessions.push(links.visit(&token).await.unwrap().session);
        if sessions.len() < 3 {
            links.secs(1);
        }
    }
    assert_eq!(sessions.len() as u64, LOGINS_PER_USER_MAX - 1);
    let alive = || {
        let s = &links.rig.service;
        sessions
            .iter()
            .map(|secret| s.identity.authenticate_login(secret).is_ok())
            .collect::<Vec<_>>()
    };
    assert!(alive().iter().all(|a| *a), "as many as there may be");
    for ended in 0..3 {
        links.visit(&token).await.unwrap();
        assert_eq!(count(), LOGINS_PER_USER_MAX);
        let alive = alive();
        assert_eq!(alive[..2], [ended < 1, ended < 2], "the oldest ends first");
        assert!(alive[2..].iter().all(|a| *a));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_a_link_is_on_the_disk() {
    let links = Links::new().await;
    let (used, unused) = (links.mint("guest").await, links.mint("guest").await);
    let login = links.visit(&used).await.unwrap();
    let (dir, _) = links.rig.stop();
    assert_not_on_disk(dir.path(), &[&used, &unused, &login.session, &login.token]);
}
