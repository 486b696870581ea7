//! Credentials that had been ended stay ended: after records were lost, and when the machine's clock is set back.

use std::time::Duration;

use graphlume_types::Coded;

use super::*;
use crate::command::Command;
use crate::health::Component;

fn as_if_records_were_lost(rig: Rig) -> Rig {
    std::fs::write(rig.dir.path().join("mark.lost-00000000000000000007"), b"7").unwrap();
    rig.restart()
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_comes_back_in_by_what_was_revoked_when_records_were_lost() {
    let rig = Rig::with(&["alice"]);
    let token = rig.token("alice").await;
    let rig = rig.restart();
    assert!(rig.service.identity.authenticate(&token).is_ok(), "a start alone ends nothing");
    let rig = as_if_records_were_lost(rig);
    assert_eq!(rig.service.identity.authenticate(&token).unwrap_err().slug(), "token-invalid");
    let body = json!({"username": "alice", "password": "alice-password"}).to_string();
    let refused = rig.service.identity.login(body.as_bytes(), PEER).await.unwrap_err();
    assert!(refused.to_string().contains("graphlume doctor --confirm-accounts"), "{refused}");
    assert!(rig.service.identity.use_link("x").await.is_err());
    let health = rig.service.health.component(Component::Content);
    assert!(!health.healthy && health.detail.contains("--confirm-accounts"), "{health:?}");
    assert_eq!(rig.service.health.damage_unconfirmed(), 1);
    let doctor = rig.service.carry_out(Command::Doctor).await.unwrap();
    assert!(doctor.failure.is_some_and(|why| why.contains("--confirm-accounts")));
    // Another start asks again, also when the traces are removed, and ends nothing twice.
    std::fs::remove_file(rig.dir.path().join("mark.lost-00000000000000000007")).unwrap();
    let rig = rig.restart();
    assert!(rig.service.identity.login(body.as_bytes(), PEER).await.is_err());
    rig.service.carry_out(Command::ConfirmAccounts).await.unwrap();
    assert!(rig.service.health.component(Component::Content).healthy);
    let fresh = rig.service.identity.login(body.as_bytes(), PEER).await.unwrap().token;
    let rig = rig.restart();
    assert!(rig.service.identity.authenticate(&fresh).is_ok(), "what is confirmed stays so");
    assert!(rig.service.identity.authenticate(&token).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_revives_no_token() {
    let rig = Rig::with(&["alice"]);
    let token = rig.token("alice").await;
    rig.clock.advance(Duration::from_secs(2 * 3600));
    assert!(rig.service.identity.authenticate(&token).is_err());
    rig.clock.set_unix_secs(NOW);
    assert!(rig.service.identity.authenticate(&token).is_err(), "in the same run");
    assert!(rig.service.health.clock_behind() >= Duration::from_secs(7_000));
    rig.service.upkeep.keep_time().await.unwrap();
    let rig = rig.restart();
    assert!(rig.service.identity.authenticate(&token).is_err(), "and in the next");
    assert!(rig.service.health.clock_behind() >= Duration::from_secs(7_000));
    let fresh = rig.token("alice").await;
    assert!(rig.service.identity.authenticate(&fresh).is_ok(), "new ones work meanwhile");
    // The time before was wrong, and the operator says so.
    rig.service.carry_out(Command::AcceptClock).await.unwrap();
    assert_eq!(rig.service.health.clock_behind(), Duration::ZERO);
    let rig = rig.restart();
    assert_eq!(rig.service.health.clock_behind(), Duration::ZERO);
}
