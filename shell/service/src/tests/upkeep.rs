//! The regular work goes on beside what is damaged and what fails.

use std::time::Duration;

use graphlume_storage::{Batch, BlobRef, LoginRec, Record, SessionRec};
use graphlume_types::limits::{LOGIN_SESSION_SECS, SESSION_IDLE_DAYS_MAX};

use super::*;
use graphlume_identity::testing::fresh_login;

/// How many records of a kind can be read.
fn whole<R: Record>(rig: &Rig) -> usize {
    rig.service.ctx.data.store.scan::<R>().filter(Result::is_ok).count()
}

fn failures(rig: &Rig) -> Vec<(&'static str, u64)> {
    rig.service.upkeep.failures().filter(|(_, times)| *times > 0).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_the_upkeep_that_fails_leaves_the_others_their_turn() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    rig.service.sessions.open(&alice, "karate", Some("old"), &[]).await.unwrap();
    let orphan: BlobRef = rig.service.ctx.data.store.blobs().put(b"nobody refers to this").unwrap();
    // Where the exports go there is something else: as on a full disk, no export can be written.
    let exports = rig.dir.path().join("exports");
    std::fs::write(&exports, b"in the way").unwrap();
    let idle = u64::try_from(SESSION_IDLE_DAYS_MAX).unwrap() + 1;
    rig.clock.advance(Duration::from_secs(idle * 24 * 3600));
    let refused = rig.service.upkeep.run().await.unwrap_err();
    assert_eq!(refused.slug(), "storage-io", "{refused}");
    assert_eq!(whole::<SessionRec>(&rig), 0, "the idle session is forgotten all the same");
    assert!(!rig.service.ctx.data.store.blobs().path(&orphan).exists(), "and the orphan swept");
    assert_eq!(failures(&rig), [("export", 1)]);
    std::fs::remove_file(&exports).unwrap();
    rig.service.upkeep.run().await.unwrap();
    assert!(rig.service.ctx.data.store.exported_at().unwrap().is_some());
    assert_eq!(failures(&rig), [("export", 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_does_not_stop_the_upkeep_of_the_others() {
    let rig = Rig::with(&["alice"]);
    let alice = rig.user("alice").await;
    let store = rig.service.ctx.data.store.clone();
    for name in ["a", "m", "z"] {
        rig.service.sessions.open(&alice, "karate", Some(name), &[]).await.unwrap();
    }
    let user = store.find::<graphlume_storage::UserRec>("username", "alice").unwrap().unwrap();
    let (_, login) = fresh_login(&user, None, NOW * 1_000_000);
    store.commit(Batch::new().put(&login)).unwrap();
    // A record of this length lies in a file of its own, where a bit can be changed.
    let session = "m".parse().unwrap();
    let mut large = store.get::<SessionRec>(&session).unwrap().unwrap();
    large.url_params = vec![("x".to_owned(), "y".repeat(200_000))];
    store.commit(Batch::new().put(&large)).unwrap();
    assert_eq!(damage_files_with(rig.dir.path(), &[b'y'; 1000]), 1);
    assert!(store.get::<SessionRec>(&session).unwrap_err().is_corrupt());
    let met = rig.service.health.damaged_records_met();
    let idle = u64::try_from(SESSION_IDLE_DAYS_MAX).unwrap() + 1;
    rig.clock.advance(Duration::from_secs(idle * 24 * 3600));
    assert!(i64::try_from(idle).unwrap() * 24 * 3600 > LOGIN_SESSION_SECS);
    rig.service.upkeep.run().await.unwrap();
    let kept: Vec<_> = store.scan::<SessionRec>().collect();
    assert!(kept.len() == 1 && kept[0].as_ref().is_err_and(|e| e.is_corrupt()), "{kept:?}");
    assert_eq!(whole::<LoginRec>(&rig), 0);
    assert_eq!(failures(&rig), []);
    assert!(rig.service.health.damaged_records_met() > met);
}

/// Changes one byte in every file below `folder` that holds `content`; gives their number.
fn damage_files_with(folder: &Path, content: &[u8]) -> usize {
    let mut damaged = 0;
    for path in files_below(&folder.join("blobs")) {
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(content.len()).position(|w| w == content) {
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            damaged += 1;
        }
    }
    damaged
}
