#![allow(clippy::unwrap_used)]
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use graphlume_types::Coded;
use orc_rust::ArrowWriterBuilder;
use orc_rust::compression::CompressionType;
use orc_rust::proto::r#type::Kind;
use orc_rust::proto::{CompressionKind, Footer, PostScript, StripeInformation, Type};
use prost::Message;
use serde_json::{Value, json};

use super::*;
use crate::{ParseSpec, Source};

fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let names: StringArray = rows.clone().map(|i| (i % 3 > 0).then(|| format!("n{i}"))).collect();
    RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone())) as ArrayRef),
        ("name", Arc::new(names)),
        ("weight", Arc::new(Float64Array::from_iter_values(rows.map(|i| i as f64 / 4.0)))),
    ])
    .unwrap()
}

/// A file of several stripes.
fn file(rows: i64, how: Option<CompressionType>) -> Vec<u8> {
    let mut out = Vec::new();
    let all = batch(0..rows);
    let builder = ArrowWriterBuilder::new(&mut out, all.schema()).with_stripe_byte_size(8 << 10);
    let builder = match how {
        Some(how) => builder.with_compression(how),
        None => builder,
    };
    let mut writer = builder.try_build().unwrap();
    for at in (0..rows).step_by(1000) {
        writer.write(&batch(at..(at + 1000).min(rows))).unwrap();
    }
    writer.close().unwrap();
    out
}

fn read_with(options: Value, bytes: Vec<u8>) -> Result<Table, IngestError> {
    let options = options.as_object().unwrap().clone();
    let spec = ParseSpec { options, ..ParseSpec::plain(Format::Orc) };
    let parsed = crate::parse(&spec, &Source::Bytes(bytes.into()), &ParseCx::default());
    parsed.map(|mut p| p.tables.remove(0).1)
}

fn read(bytes: Vec<u8>) -> Result<Table, IngestError> {
    read_with(json!({}), bytes)
}

const CODECS: [Option<CompressionType>; 5] = [
    None,
    Some(CompressionType::Zlib),
    Some(CompressionType::Snappy),
    Some(CompressionType::Lz4),
    Some(CompressionType::Zstd),
];

#[test]
fn every_codec_gives_the_values_back() {
    for how in CODECS {
        let table = read(file(5000, how)).unwrap();
        assert_eq!(table.batch().columns(), batch(0..5000).columns(), "{how:?}");
    }
    let mut lzo = PostScript::default();
    lzo.set_compression(CompressionKind::Lzo);
    let e = read(forged(&Footer::default(), lzo)).unwrap_err();
    assert!(e.slug() == "malformed-orc" && e.to_string().contains("lzo; write it"), "{e}");
}

#[test]
fn rows_and_columns_can_be_chosen_across_stripes() {
    let bytes = file(5000, Some(CompressionType::Zstd));
    assert!(Tail::read(&bytes.clone().into()).unwrap().stripes.len() > 2);
    for (skip, count) in [(0, 1), (999, 2), (1500, 2000), (4999, 9), (5000, 1), (9000, 1), (7, 0)] {
        let table = read_with(json!({"skiprows": skip, "num_rows": count}), bytes.clone()).unwrap();
        let ids: Vec<i64> =
            table.column("id").unwrap().as_primitive::<Int64Type>().values().to_vec();
        let want: Vec<i64> = (0..5000).skip(skip).take(count).collect();
        assert_eq!(ids, want, "{skip} {count}");
    }
    let table = read_with(json!({"columns": ["weight", "id"]}), bytes.clone()).unwrap();
    assert_eq!(table.column_names(), ["id", "weight"]);
    let e = read_with(json!({"columns": ["nope"]}), bytes).unwrap_err();
    assert_eq!((e.slug(), e.field()), ("invalid-option", Some("columns")));
}

#[test]
fn truncations_and_damage_are_errors_and_never_panics() {
    for how in CODECS {
        let whole = file(50, how);
        for len in 0..whole.len() {
            assert_eq!(read(whole[..len].to_vec()).unwrap_err().slug(), "malformed-orc", "{len}");
        }
        for at in 0..whole.len() {
            for bits in [0xff, 1, 0x80] {
                let mut damaged = whole.clone();
                damaged[at] ^= bits;
                let _ = read(damaged);
            }
        }
    }
}

/// A file without data that has this footer.
fn forged(footer: &Footer, post: PostScript) -> Vec<u8> {
    let footer = footer.encode_to_vec();
    let post = PostScript { footer_length: Some(footer.len() as u64), ..post };
    let post = PostScript { magic: Some("ORC".into()), metadata_length: Some(0), ..post };
    let post = post.encode_to_vec();
    [b"ORC".to_vec(), footer, post.clone(), vec![post.len() as u8]].concat()
}

fn a_type(kind: Kind, children: &[u32]) -> Type {
    let field_names = children.iter().map(|c| format!("c{c}")).collect();
    let mut out = Type { subtypes: children.to_vec(), field_names, ..Type::default() };
    out.set_kind(kind);
    out
}

#[test]
fn types_that_run_in_circles_or_too_deep_are_refused() {
    let refuse = |types: Vec<Type>, slug: &str| {
        let e = read(forged(&Footer { types, ..Footer::default() }, PostScript::default()));
        assert_eq!(e.unwrap_err().slug(), slug);
    };
    let root = |children: &[u32]| a_type(Kind::Struct, children);
    refuse(vec![root(&[0])], "malformed-orc");
    refuse(vec![root(&[1]), a_type(Kind::List, &[0])], "malformed-orc");
    refuse(vec![root(&[1, 1]), a_type(Kind::Int, &[])], "malformed-orc");
    refuse(vec![root(&[9])], "malformed-orc");
    refuse(vec![a_type(Kind::Int, &[])], "malformed-orc");
    refuse(vec![], "malformed-orc");
    let mut deep = vec![root(&[1])];
    deep.extend((2..200).map(|i| a_type(Kind::List, &[i])));
    deep.push(a_type(Kind::Int, &[]));
    refuse(deep, "too-large");
    let wide: Vec<u32> = (1..=5000).collect();
    let mut types = vec![root(&wide)];
    types.extend(wide.iter().map(|_| a_type(Kind::Int, &[])));
    refuse(types, "too-many-columns");
}

#[test]
fn decimals_of_hive_0_11_without_a_number_of_digits_get_all() {
    let mut old = a_type(Kind::Decimal, &[]);
    tail::give_digits(&mut old);
    assert_eq!((old.precision(), old.scale()), (38, 18));
    let mut new = Type { precision: Some(9), scale: Some(2), ..a_type(Kind::Decimal, &[]) };
    tail::give_digits(&mut new);
    assert_eq!((new.precision(), new.scale()), (9, 2));
}

#[test]
fn claims_are_refused_before_they_are_believed() {
    let types = || vec![a_type(Kind::Struct, &[1]), a_type(Kind::Long, &[])];
    let stripe = |offset, rows| StripeInformation {
        offset: Some(offset),
        index_length: Some(0),
        data_length: Some(0),
        footer_length: Some(0),
        number_of_rows: Some(rows),
        ..StripeInformation::default()
    };
    let refuse = |stripes, post, slug: &str| {
        let footer = Footer { types: types(), stripes, ..Footer::default() };
        assert_eq!(read(forged(&footer, post)).unwrap_err().slug(), slug);
    };
    let plain = PostScript::default;
    refuse(vec![stripe(u64::MAX, 1)], plain(), "malformed-orc");
    refuse(vec![stripe(1 << 40, 1)], plain(), "malformed-orc");
    refuse(vec![stripe(3, u64::MAX)], plain(), "too-large");
    refuse(vec![stripe(3, ROWS_MAX), stripe(2, 1)], plain(), "too-large");
    let mut lz4 = PostScript { compression_block_size: Some(1 << 40), ..plain() };
    lz4.set_compression(CompressionKind::Lz4);
    refuse(vec![], lz4, "malformed-orc");
    // Rows without data are an error and not a wait.
    refuse(vec![stripe(3, 1_000_000)], plain(), "malformed-orc");
}

#[test]
fn a_block_may_not_expand_beyond_its_size() {
    use std::io::Write;
    let zeros = vec![0u8; 4 << 20];
    let mut deflated = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    deflated.write_all(&zeros).unwrap();
    let blocks = [
        (CompressionKind::Zlib, deflated.finish().unwrap()),
        (CompressionKind::Zstd, zstd::encode_all(&zeros[..], 3).unwrap()),
        (CompressionKind::Snappy, snap::raw::Encoder::new().compress_vec(&zeros).unwrap()),
        (CompressionKind::Lz4, lz4_flex::block::compress(&zeros)),
    ];
    for (kind, block) in blocks {
        let head = ((block.len() as u32) << 1).to_le_bytes();
        let section: Bytes = [&head[..3], &block].concat().into();
        let small = codec::Codec::new(kind, Some(1 << 20)).unwrap();
        assert_eq!(small.unpack(&section).unwrap_err().slug(), "malformed-orc", "{kind:?}");
        let large = codec::Codec::new(kind, Some(4 << 20)).unwrap();
        assert_eq!(large.unpack(&section).unwrap().len(), zeros.len(), "{kind:?}");
    }
}
