#![allow(clippy::unwrap_used)]
use std::io::Write;
use std::sync::Arc;

use flate2::write::GzEncoder;
use graphlume_types::{CancelReason, CancelToken, Coded};
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::{Parsed, Source, parse};

const CSV: &[u8] = b"a,b\n1,x\n2,y\n";

fn gzip(level: u32, plain: &[u8]) -> Vec<u8> {
    let mut w = GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    w.write_all(plain).unwrap();
    w.finish().unwrap()
}

fn pack(how: Compression, plain: &[u8]) -> Vec<u8> {
    match how {
        Compression::None => plain.to_vec(),
        Compression::Gzip => gzip(1, plain),
        Compression::Bz2 => {
            let mut w = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            w.write_all(plain).unwrap();
            w.finish().unwrap()
        }
        Compression::Xz => {
            let mut w = liblzma::write::XzEncoder::new(Vec::new(), 1);
            w.write_all(plain).unwrap();
            w.finish().unwrap()
        }
        Compression::Zip => archive(&[("t.csv", plain)]),
    }
}

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut w = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, plain) in files {
        w.start_file(*name, SimpleFileOptions::default()).unwrap();
        w.write_all(plain).unwrap();
    }
    w.finish().unwrap().into_inner()
}

fn spec(compression: Compression) -> ParseSpec {
    ParseSpec { compression, ..ParseSpec::plain(Format::Csv) }
}

fn read(spec: &ParseSpec, bytes: impl Into<Bytes>) -> Result<Parsed, IngestError> {
    parse(spec, &Source::Bytes(bytes.into()), &ParseCx::default())
}

fn refusal(compression: Compression, bytes: impl Into<Bytes>) -> (&'static str, String) {
    let e = read(&spec(compression), bytes).unwrap_err();
    (e.slug(), e.to_string())
}

fn rows(parsed: Result<Parsed, IngestError>) -> usize {
    parsed.unwrap().tables[0].1.num_rows()
}

const PACKED: [Compression; 4] =
    [Compression::Gzip, Compression::Bz2, Compression::Zip, Compression::Xz];
const STREAMS: [Compression; 3] = [Compression::Gzip, Compression::Bz2, Compression::Xz];

#[test]
fn every_compression_is_undone() {
    for how in Compression::ALL {
        assert_eq!(rows(read(&spec(how), pack(how, CSV))), 2, "{how}");
        // Nothing but a header, and nothing at all.
        assert_eq!(rows(read(&spec(how), pack(how, b"a,b\n"))), 0, "{how}");
        assert_eq!(refusal(how, pack(how, b"")).0, "malformed-csv", "{how}");
    }
}

#[test]
fn several_members_are_one_text_and_zeros_are_padding() {
    for how in STREAMS {
        let mut two = [pack(how, CSV), pack(how, b"3,z\n")].concat();
        assert_eq!(rows(read(&spec(how), two.clone())), 3, "{how}");
        two.extend([0; 1024]);
        assert_eq!(rows(read(&spec(how), two.clone())), 3, "{how}");
        two.extend(pack(how, b"4,w\n"));
        assert_eq!(rows(read(&spec(how), two.clone())), 4, "{how}");
        two.extend(b"garbage");
        let (slug, message) = refusal(how, two);
        assert_eq!(slug, format!("malformed-{how}"));
        assert!(message.contains("7 other bytes"), "{message}");
    }
}

#[test]
fn every_truncation_is_refused_by_name() {
    for how in PACKED {
        let whole = pack(how, CSV);
        for len in 0..whole.len() {
            let (slug, message) = refusal(how, whole[..len].to_vec());
            assert_eq!(slug, format!("malformed-{how}"), "{len}: {message}");
            assert!(message.contains("cut off") || message.contains("damaged"), "{len}: {message}");
        }
    }
}

#[test]
fn every_damaged_byte_is_an_error_or_harmless() {
    for how in PACKED {
        let whole = pack(how, CSV);
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x5a;
            if let Ok(parsed) = read(&spec(how), damaged) {
                assert_eq!(parsed.tables[0].1.num_rows(), 2, "{how} {at}");
            }
        }
    }
}

#[test]
fn bombs_are_refused_at_once() {
    let zeros = vec![b'0'; 200 << 20];
    for how in PACKED {
        let bomb = if how == Compression::Gzip { gzip(9, &zeros) } else { pack(how, &zeros) };
        assert!(bomb.len() * 900 < zeros.len(), "{how}");
        let (slug, message) = refusal(how, bomb);
        assert_eq!(slug, "decompression-limit", "{how}: {message}");
        assert!(message.contains("200 times") && message.contains("parquet"), "{message}");
        // The message says at how many plain bytes the reader gave up.
        let produced = message.split_once("more than ").unwrap().1.split_once(' ').unwrap().0;
        assert!(produced.parse::<usize>().unwrap() < zeros.len() * 3 / 4, "{how}: {message}");
    }
}

#[test]
fn what_shrinks_to_little_is_fine_while_it_is_small() {
    let text = "1234567,1234567\n".repeat(1 << 20);
    for how in PACKED {
        assert_eq!(rows(read(&spec(how), pack(how, text.as_bytes()))), (1 << 20) - 1, "{how}");
    }
}

#[test]
fn an_xz_that_needs_too_much_memory_is_refused() {
    let mut xz = pack(Compression::Xz, CSV);
    // The block's header begins at byte 12; behind the id of its filter stands the dictionary's size.
    assert_eq!(xz[14..16], [0x21, 1]);
    xz[16] = 37; // 1.5 GiB
    let len = (usize::from(xz[12]) + 1) * 4;
    let mut crc = flate2::Crc::new();
    crc.update(&xz[12..12 + len - 4]);
    xz[12 + len - 4..12 + len].copy_from_slice(&crc.sum().to_le_bytes());
    let (slug, message) = refusal(Compression::Xz, xz);
    assert_eq!(slug, "malformed-xz");
    assert!(message.contains("256 MiB"), "{message}");
}

#[test]
fn what_is_declared_decides() {
    for declared in PACKED {
        for other in PACKED.into_iter().filter(|o| *o != declared) {
            let (slug, message) = refusal(declared, pack(other, CSV));
            assert_eq!(slug, "wrong-compression");
            assert!(message.contains(&format!("{:?}", other.name())), "{message}");
        }
        let (slug, message) = refusal(declared, CSV);
        assert_eq!(slug, "wrong-compression");
        assert!(message.contains("declare no compression"), "{message}");
        let (slug, message) = refusal(Compression::None, pack(declared, CSV));
        assert_eq!(slug, "undeclared-compression");
        assert!(message.contains(&format!("compression={declared}")), "{message}");
        let (slug, message) = refusal(declared, pack(declared, &pack(Compression::Gzip, CSV)));
        assert_eq!(slug, format!("malformed-{declared}"));
        assert!(message.contains("twice"), "{message}");
    }
    let (slug, message) = refusal(Compression::None, &b"\x28\xb5\x2f\xfd\0\0"[..]);
    assert_eq!(slug, "undeclared-compression");
    assert!(message.contains("zstd cannot be undone"), "{message}");
    // Text may begin with the letters of a compression.
    assert_eq!(rows(read(&spec(Compression::None), &b"BZhang,b\n1,2\n"[..])), 1);
}

#[test]
fn a_direct_upload_names_its_compression_in_an_option() {
    let with = |word: &str| {
        let mut spec = spec(Compression::None);
        spec.options.insert("compression".to_owned(), json!(word));
        spec
    };
    for how in PACKED {
        for word in [how.name(), "infer"] {
            assert_eq!(rows(read(&with(word), pack(how, CSV))), 2, "{word}");
        }
        let e = read(&with("none"), pack(how, CSV)).unwrap_err();
        assert_eq!(e.slug(), "undeclared-compression");
        let both = ParseSpec { compression: how, ..with("none") };
        let e = read(&both, pack(how, CSV)).unwrap_err();
        assert_eq!((e.slug(), e.field()), ("invalid-option", Some("compression")));
        let both = ParseSpec { compression: how, ..with("infer") };
        assert_eq!(rows(read(&both, pack(how, CSV))), 2);
    }
    assert_eq!(rows(read(&with("infer"), CSV)), 2);
    assert_eq!(rows(read(&with("none"), CSV)), 2);
    let e = read(&with("tar"), CSV).unwrap_err();
    assert_eq!((e.slug(), e.field()), ("invalid-option", Some("compression")));
}

/// Where a record with this mark begins.
fn find(bytes: &[u8], mark: &[u8]) -> usize {
    bytes.windows(mark.len()).position(|w| w == mark).unwrap()
}

#[test]
fn an_archive_has_exactly_one_file() {
    let refuse = |bytes: Vec<u8>, words: &str| {
        let (slug, message) = refusal(Compression::Zip, bytes);
        assert!(slug == "malformed-zip" && message.contains(words), "{slug}: {message}");
    };
    refuse(archive(&[]), "no file in it");
    refuse(archive(&[("a.csv", CSV), ("__MACOSX/a.csv", b"")]), "has 2 entries (a.csv, __MACOSX");
    refuse(archive(&[("[Content_Types].xml", b"<a/>"), ("b", b"")]), "file type xlsx");
    let mut w = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    w.add_directory("folder", SimpleFileOptions::default()).unwrap();
    refuse(w.finish().unwrap().into_inner(), "only a folder");
    let mut w = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    w.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    refuse(w.finish().unwrap().into_inner(), "a link");
    let whole = archive(&[("../../t.csv", CSV)]);
    assert_eq!(rows(read(&spec(Compression::Zip), whole.clone())), 2);
    let central = find(&whole, b"PK\x01\x02");
    let patched = |at: usize, with: &[u8]| {
        let mut bytes = whole.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        bytes
    };
    refuse(patched(central + 8, &[1]), "encrypted");
    refuse(patched(central + 10, &[14]), "use deflate");
    refuse(patched(central + 16, b"????"), "checksum");
    refuse(patched(central + 24, &[200]), "checksum");
    refuse(patched(central + 20, &[255, 255, 0]), "cut off");
}

#[test]
fn archives_that_are_written_in_one_go_or_stored_are_fine() {
    let mut w = ZipWriter::new_stream(Vec::new());
    w.start_file("t.csv", SimpleFileOptions::default()).unwrap();
    w.write_all(CSV).unwrap();
    let streamed = w.finish().unwrap().into_inner();
    assert_eq!(rows(read(&spec(Compression::Zip), streamed)), 2);
    let mut w = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    w.start_file("t.csv", stored).unwrap();
    w.write_all(CSV).unwrap();
    let stored = w.finish().unwrap().into_inner();
    assert_eq!(rows(read(&spec(Compression::Zip), stored)), 2);
}

#[test]
fn an_archive_of_very_many_entries_is_refused_before_they_are_read() {
    use graphlume_types::limits::ZIP_ENTRIES_MAX;
    let mut bytes = archive(&[("a", b"x")]);
    let central = find(&bytes, b"PK\x01\x02");
    let end = find(&bytes, b"PK\x05\x06");
    let entry = bytes[central..end].to_vec();
    bytes.splice(central..end, entry.repeat(ZIP_ENTRIES_MAX + 1));
    let (slug, message) = refusal(Compression::Zip, bytes);
    assert_eq!(slug, "decompression-limit");
    assert!(message.contains("10000 entries"), "{message}");
}

#[test]
fn entries_that_share_bytes_are_refused() {
    let mut bytes = archive(&[("a", CSV), ("b", CSV)]);
    // The second entry of the directory points at the first file.
    let central = find(&bytes, b"PK\x01\x02");
    let second = central + 4 + find(&bytes[central + 4..], b"PK\x01\x02");
    bytes[second + 42..second + 46].copy_from_slice(&[0; 4]);
    let (slug, message) = refusal(Compression::Zip, bytes);
    assert!(slug == "malformed-zip" && message.contains("overlap"), "{slug}: {message}");
}

/// A text that does not shrink beyond the limits.
fn long_csv(bytes: usize) -> Vec<u8> {
    let (mut out, mut x) = (b"a,b\n".to_vec(), 1u64);
    while out.len() < bytes {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        writeln!(out, "{},{}", x >> 40, x >> 20 & 0xfff).unwrap();
    }
    out
}

#[test]
fn what_does_not_stay_in_memory_goes_into_the_scratch_file() {
    let text = long_csv(65 << 20);
    let lines = text.iter().filter(|b| **b == b'\n').count();
    let scratch = Arc::new(tempfile::tempfile().unwrap());
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let watch = Arc::clone(&seen);
    let cx = ParseCx {
        scratch: Some(Arc::clone(&scratch)),
        watch: Some(Arc::new(move |p| watch.lock().unwrap().push(p))),
        ..ParseCx::default()
    };
    let packed = pack(Compression::Gzip, &text);
    let source = Source::Bytes(packed.clone().into());
    let parsed = parse(&spec(Compression::Gzip), &source, &cx);
    assert_eq!(rows(parsed), lines - 1);
    assert_eq!(scratch.metadata().unwrap().len(), text.len() as u64);
    let seen = seen.lock().unwrap();
    let unpacking = seen.iter().filter(|p| p.stage == Stage::Decompressing);
    let bytes: Vec<u64> = unpacking.map(|p| p.bytes).collect();
    assert!(bytes.len() > 2 && bytes.is_sorted() && *bytes.last().unwrap() <= packed.len() as u64);
    // Without a scratch file, a temporary one does.
    assert_eq!(rows(read(&spec(Compression::Gzip), packed)), lines - 1);
}

#[test]
fn unpacking_stops_when_it_is_told_to() {
    let cancel = CancelToken::new();
    let stop = cancel.clone();
    let cx = ParseCx {
        cancel,
        watch: Some(Arc::new(move |p| {
            if p.stage == Stage::Decompressing && p.bytes > 0 {
                stop.cancel(CancelReason::ClientGone);
            }
        })),
        ..ParseCx::default()
    };
    let packed = pack(Compression::Gzip, &long_csv(32 << 20));
    let e = parse(&spec(Compression::Gzip), &Source::Bytes(packed.into()), &cx).unwrap_err();
    assert_eq!(e.slug(), "cancelled");
}
