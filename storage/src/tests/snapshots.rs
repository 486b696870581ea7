//! Positions of sessions: what is put comes back, and nothing else does.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use graphlume_types::{DatasetId, SessionId};

use crate::error::StoreError;
use crate::snapshot::{Coordinates, Kept, Quota, SnapshotHead, Snapshots};
use crate::vfs::{Fault, FaultPlan, OsVfs};

/// No session has an owner.
const NOBODYS: &dyn Fn(&SessionId) -> bool = &|_| false;
const ROOMY: Quota = Quota { files: 100, bytes: 1 << 30, free_bytes_min: 0 };

struct Folder {
    dir: tempfile::TempDir,
    kept: Snapshots,
}

impl Folder {
    fn new(quota: Quota) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let kept = Snapshots::open(dir.path(), Arc::new(OsVfs), quota);
        Self { dir, kept }
    }

    fn file(&self, name: &str, dataset: DatasetId) -> PathBuf {
        self.dir.path().join("positions").join(dataset.to_string()).join(name)
    }
}

fn session(name: &str) -> SessionId {
    name.parse().expect("a name")
}

const DATA: DatasetId = DatasetId::from_bytes([7; 16]);
const OTHER: DatasetId = DatasetId::from_bytes([8; 16]);

fn head(name: &str, dataset: DatasetId) -> SnapshotHead {
    let notes = b"{\"n\":1}".to_vec();
    SnapshotHead { session: session(name), dataset, fingerprint: 0x0102_0304_0506_0708, notes }
}

#[allow(clippy::cast_precision_loss, reason = "small")]
fn places(n: usize) -> Vec<[f32; 2]> {
    (0..n).map(|i| [i as f32 * 0.5, -(i as f32)]).collect()
}

#[test]
fn what_is_put_comes_back_to_the_bit_and_only_the_last_of_it() {
    let f = Folder::new(ROOMY);
    // More than one buffer full, none at all, and one that is no number.
    for n in [0usize, 1, 40_000] {
        let mut at = places(n);
        if let Some(last) = at.last_mut() {
            *last = [f32::NAN, f32::MIN_POSITIVE];
        }
        f.kept.put(&head("s", DATA), &places(3), None, NOBODYS).expect("kept");
        f.kept.put(&head("s", DATA), &at, None, NOBODYS).expect("kept");
        let nodes = u32::try_from(n).expect("few");
        let Kept::Positions(found, back) = f.kept.get(&session("s"), DATA, nodes).expect("read")
        else {
            panic!("{n} are not there");
        };
        assert_eq!(found, head("s", DATA));
        let bits = |p: &[[f32; 2]]| p.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back.positions), bits(&at));
        assert_eq!(back.depths, None);
        assert_eq!(f.kept.usage().0, 1);
    }
    let again = Snapshots::open(f.dir.path(), Arc::new(OsVfs), ROOMY);
    assert_eq!(again.usage(), f.kept.usage(), "a new process counts what lies there");
    assert_eq!(again.get(&session("t"), DATA, 1).expect("read"), Kept::Nothing);
    assert_eq!(again.get(&session("s"), OTHER, 1).expect("read"), Kept::Nothing);
}

/// What is found of the session `s` of [`DATA`].
fn found(f: &Folder, nodes: u32) -> Coordinates {
    match f.kept.get(&session("s"), DATA, nodes).expect("read") {
        Kept::Positions(_, at) => at,
        other => panic!("{nodes} are not there: {other:?}"),
    }
}

#[test]
fn third_coordinates_come_back_to_the_bit_until_positions_are_put_without() {
    let f = Folder::new(ROOMY);
    for n in [1_u16, 40_000] {
        let mut z: Vec<f32> = (0..n).map(|v| f32::from(v) * -0.25).collect();
        z[0] = f32::NAN;
        f.kept.put(&head("s", DATA), &places(n.into()), Some(&z), NOBODYS).expect("kept");
        let back = found(&f, n.into());
        let bits = |z: &[f32]| z.iter().map(|z| z.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back.depths.expect("third coordinates")), bits(&z));
        assert_eq!(back.positions, places(n.into()));
        let bytes = fs::metadata(f.file("s", DATA)).expect("a file").len();
        assert_eq!(f.kept.usage(), (1, bytes), "they are counted");
        f.kept.put(&head("s", DATA), &places(n.into()), None, NOBODYS).expect("kept");
        assert_eq!(found(&f, n.into()).depths, None);
        assert_eq!(bytes - f.kept.usage().1, 4 * u64::from(n));
    }
    let few = f.kept.put(&head("s", DATA), &places(3), Some(&[1.0, 2.0]), NOBODYS);
    assert!(matches!(few, Err(StoreError::Io { .. })), "{few:?}");
}

#[test]
fn a_file_of_a_server_that_knew_no_third_coordinate_is_read() {
    let f = Folder::new(ROOMY);
    // Byte for byte what such a server wrote: two nodes at (1, 2) and (3, 4), format 1.
    let mut old = b"GLPS\x01\0\0\0".to_vec();
    old.extend_from_slice(DATA.as_bytes());
    old.extend_from_slice(&0x0102_0304_0506_0708_u64.to_le_bytes());
    for word in [2_u32, 7, 1] {
        old.extend_from_slice(&word.to_le_bytes());
    }
    old.extend_from_slice(b"s{\"n\":1}");
    [1.0_f32, 2.0, 3.0, 4.0].iter().for_each(|x| old.extend_from_slice(&x.to_le_bytes()));
    old.extend_from_slice(blake3::hash(&old).as_bytes());
    let places = [[1.0, 2.0], [3.0, 4.0]];
    f.kept.put(&head("s", DATA), &places, None, NOBODYS).expect("kept");
    assert_eq!(fs::read(f.file("s", DATA)).expect("a file"), old, "servers before can read it");
    fs::write(f.file("s", DATA), old).expect("written");
    assert_eq!(found(&f, 2), Coordinates { positions: places.to_vec(), depths: None });
}

#[test]
fn every_torn_length_and_every_flipped_byte_is_noticed_and_the_file_removed() {
    damaged_files_are_noticed(None);
    damaged_files_are_noticed(Some(&[1.0, 2.0, 3.0, 4.0, 5.0]));
}

fn damaged_files_are_noticed(depths: Option<&[f32]>) {
    let f = Folder::new(ROOMY);
    f.kept.put(&head("s", DATA), &places(5), depths, NOBODYS).expect("kept");
    let path = f.file("s", DATA);
    let whole = fs::read(&path).expect("a file");
    let unfit = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).expect("written");
        let found = f.kept.get(&session("s"), DATA, 5).expect("read");
        assert!(matches!(found, Kept::Unfit(_)), "{what}: {found:?}");
        assert!(!path.exists(), "{what}");
    };
    for len in 0..whole.len() {
        unfit(&whole[..len], "torn");
    }
    unfit(&[&whole[..], b"x"].concat(), "longer");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        unfit(&bytes, "flipped");
    }
    fs::write(&path, &whole).expect("written");
    assert!(matches!(f.kept.get(&session("s"), DATA, 5), Ok(Kept::Positions(..))));
}

#[test]
fn a_file_of_another_dataset_session_or_size_is_not_taken() {
    let f = Folder::new(ROOMY);
    f.kept.put(&head("s", DATA), &places(5), None, NOBODYS).expect("kept");
    f.kept.put(&head("x", OTHER), &places(5), None, NOBODYS).expect("kept");
    fs::copy(f.file("s", DATA), f.file("s", OTHER)).expect("copied");
    fs::copy(f.file("s", DATA), f.file("t", DATA)).expect("copied");
    for (name, dataset, nodes) in [("s", OTHER, 5), ("t", DATA, 5), ("s", DATA, 4)] {
        let found = f.kept.get(&session(name), dataset, nodes).expect("read");
        assert!(matches!(found, Kept::Unfit(_)), "{name} {nodes}: {found:?}");
    }
}

#[test]
fn the_oldest_make_room_for_files_and_for_bytes() {
    let f = Folder::new(Quota { files: 3, ..ROOMY });
    for name in ["a", "b", "c"] {
        f.kept.put(&head(name, DATA), &places(2), None, NOBODYS).expect("kept");
    }
    f.kept.put(&head("a", DATA), &places(2), None, NOBODYS).expect("kept");
    f.kept.put(&head("d", OTHER), &places(2), None, NOBODYS).expect("kept");
    assert!(!f.file("b", DATA).exists(), "the one written longest ago");
    assert!(f.file("a", DATA).exists() && f.file("c", DATA).exists());
    let each = f.kept.usage().1 / 3;
    let f = Folder::new(Quota { bytes: 3 * each, ..ROOMY });
    for name in ["a", "b", "c", "d"] {
        f.kept.put(&head(name, DATA), &places(2), None, NOBODYS).expect("kept");
    }
    assert_eq!(f.kept.usage(), (3, 3 * each));
    assert!(!f.file("a", DATA).exists());
    let refused = f
        .kept
        .put(&head("e", DATA), &places(200), None, NOBODYS)
        .expect_err("more than all may have");
    assert!(matches!(refused, StoreError::TooLarge { limit, .. } if limit == 3 * each));
    assert_eq!(f.kept.usage().0, 3, "nobody made room for it");
}

#[test]
fn sessions_of_nobody_never_push_out_those_of_somebody() {
    let f = Folder::new(Quota { files: 2, ..ROOMY });
    let owned: &dyn Fn(&SessionId) -> bool = &|s| s.as_str().starts_with("own");
    let has = |name: &str| f.file(name, DATA).exists();
    for name in ["own1", "a"] {
        f.kept.put(&head(name, DATA), &places(3), None, owned).expect("kept");
    }
    f.kept.put(&head("b", DATA), &places(3), None, owned).expect("kept");
    assert!(has("own1") && has("b") && !has("a"), "one of nobody goes first, though it is newer");
    f.kept.put(&head("own2", DATA), &places(3), None, owned).expect("kept");
    assert!(has("own1") && has("own2") && !has("b"));
    f.kept.put(&head("c", DATA), &places(3), None, owned).expect("no error");
    assert!(has("own1") && has("own2") && !has("c"), "there is no room for it");
    f.kept.put(&head("own3", DATA), &places(3), None, owned).expect("kept");
    assert!(has("own2") && has("own3") && !has("own1"), "somebody's make room for somebody's");
}

#[test]
fn unfinished_files_and_empty_folders_are_swept_at_start() {
    let f = Folder::new(ROOMY);
    f.kept.put(&head("s", DATA), &places(2), None, NOBODYS).expect("kept");
    f.kept.put(&head("t", OTHER), &places(2), None, NOBODYS).expect("kept");
    f.kept.remove(&session("t"), OTHER).expect("removed");
    f.kept.remove(&session("t"), OTHER).expect("absence is no error");
    fs::write(f.file("u.new", DATA), "half").expect("written");
    let again = Snapshots::open(f.dir.path(), Arc::new(OsVfs), ROOMY);
    assert_eq!(again.usage().0, 1);
    assert!(!f.file("u.new", DATA).exists());
    assert!(!f.dir.path().join("positions").join(OTHER.to_string()).exists());
    assert!(f.file("s", DATA).exists());
}

#[test]
fn datasets_and_unwanted_sessions_are_forgotten() {
    let f = Folder::new(ROOMY);
    for (name, dataset) in [("a", DATA), ("b", DATA), ("a", OTHER), ("b", OTHER)] {
        f.kept.put(&head(name, dataset), &places(2), None, NOBODYS).expect("kept");
    }
    f.kept.remove_dataset(DATA).expect("removed");
    assert!(!f.file("a", DATA).exists() && f.file("a", OTHER).exists());
    f.kept.retain(|s, _, at| s.as_str() == "b" && at > 0).expect("removed");
    assert!(!f.file("a", OTHER).exists() && f.file("b", OTHER).exists());
    assert_eq!(f.kept.usage().0, 1);
}

#[test]
fn a_failure_of_any_step_leaves_the_positions_before() {
    for fail_at in 1.. {
        let f = Folder::new(ROOMY);
        f.kept.put(&head("s", DATA), &places(4), None, NOBODYS).expect("kept");
        let plan = FaultPlan::new(fail_at, Fault::Errno(5));
        let faulty = Snapshots::open(f.dir.path(), Arc::new(plan.clone()), ROOMY);
        plan.arm(fail_at);
        let done = faulty.put(&head("s", DATA), &places(5), None, NOBODYS);
        if !plan.hit() {
            done.expect("nothing failed");
            assert!(fail_at > 5, "the steps of a write are counted");
            return;
        }
        assert!(done.is_err(), "step {fail_at}");
        let found = f.kept.get(&session("s"), DATA, 4).expect("read");
        assert!(matches!(found, Kept::Positions(..)), "step {fail_at}: {found:?}");
    }
}
