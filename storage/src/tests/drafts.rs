//! Blobs that somebody else writes.

use std::io::Write as _;

use super::*;

fn fill(draft: &StagedBlob, bytes: &[u8]) {
    let mut file: &std::fs::File = draft.file();
    file.write_all(bytes).unwrap();
}

fn temporary(dir: &Path) -> usize {
    std::fs::read_dir(dir.join("tmp")).unwrap().count()
}

#[test]
fn parts_of_a_draft_become_blobs_and_nothing_stays_behind() {
    let dir = scratch();
    let store = open(dir.path());
    let blobs = store.blobs();
    let content = b"first......second".to_vec();
    for (parts, want) in [
        (vec![(0u64, 17u64)], vec![&content[..]]),
        (vec![(0, 5), (11, 6)], vec![&content[..5], &content[11..]]),
        (vec![(3, 0)], vec![&content[..0]]),
    ] {
        for keep_max in [0, 1 << 20] {
            let draft = blobs.draft().unwrap();
            fill(&draft, &content);
            let drafted = draft.finish(&parts, keep_max).unwrap();
            for (d, want) in drafted.iter().zip(&want) {
                assert_eq!((d.blob.class, d.blob.len), (BlobClass::Derived, want.len() as u64));
                assert_eq!(blobs.read(&d.blob).unwrap(), *want);
                let kept = want.len() as u64 <= keep_max;
                assert_eq!(d.content.as_deref(), kept.then_some(*want));
            }
            assert_eq!(drafted.len(), want.len());
        }
    }
    drop(blobs.draft().unwrap());
    assert_eq!(temporary(dir.path()), 0);
}

#[test]
fn a_part_outside_the_draft_is_refused() {
    let dir = scratch();
    let store = open(dir.path());
    for part in [(0, 5), (4, 1), (u64::MAX, 2)] {
        let draft = store.blobs().draft().unwrap();
        fill(&draft, b"four");
        assert!(draft.finish(&[part], 0).is_err(), "{part:?}");
    }
    assert_eq!(temporary(dir.path()), 0);
}

#[test]
fn a_scratch_file_has_no_name_and_a_reader_sees_what_was_written() {
    let dir = scratch();
    let store = open(dir.path());
    let mut file = store.blobs().scratch().unwrap();
    file.write_all(b"gone when closed").unwrap();
    assert_eq!(temporary(dir.path()), 0);
    let mut writer = store.blobs().writer().unwrap();
    writer.put(b"some bytes").unwrap();
    let reader = writer.reader().unwrap();
    writer.finish().unwrap();
    assert_eq!(std::io::read_to_string(reader).unwrap(), "some bytes");
}
