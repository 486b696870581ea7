#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, Int16Array, Int64Array,
    LargeStringArray, ListArray, StringArray, TimestampMicrosecondArray, types::Int64Type,
};
use graphlume_types::Coded;
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::json;

use super::*;

fn sample() -> RecordBatch {
    let words = StringArray::from(vec![Some("x"), None, Some("y"), Some("x")]);
    let lists = [Some(vec![Some(1)]), None, Some(vec![]), Some(vec![None, Some(2)])];
    let kinds: DictionaryArray<arrow_array::types::Int32Type> =
        vec![Some("u"), Some("v"), None, Some("u")].into_iter().collect();
    RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3, 4])) as ArrayRef),
        ("word", Arc::new(words)),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
        ("kind", Arc::new(kinds)),
    ])
    .unwrap()
}

fn write(batch: &RecordBatch, compression: Compression) -> Bytes {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(3))
        .build();
    let mut out = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    out.into()
}

fn read(bytes: &Bytes, options: Value) -> Result<Table, IngestError> {
    let options = options.as_object().cloned().unwrap_or_default();
    parse(bytes, Options(&options), &ParseCx::default()).map(|p| p.tables[0].1.clone())
}

#[test]
fn a_written_table_reads_back_with_its_types() {
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW] {
        let table = read(&write(&sample(), compression), Value::Null).unwrap();
        assert_eq!(table.batch().columns(), sample().columns(), "{compression:?}");
        assert_eq!(table.column_names(), ["id", "word", "list", "kind"]);
    }
}

/// More rows than are decoded at a time, in several row groups, the first without nulls.
fn long() -> RecordBatch {
    let rows = 0..30_000i64;
    let some = |i: i64| i < 9_000 || i % 7 > 0;
    let text = |i: i64| "é1x".repeat((i % 11) as usize) + &"z".repeat((i % 3) as usize);
    let texts: Vec<Option<String>> = rows.clone().map(|i| some(i).then(|| text(i))).collect();
    let whole: Vec<Option<i64>> = rows.clone().map(|i| some(i).then_some(i * i)).collect();
    let small = whole.iter().map(|v| v.map(|v| (v % 100) as i16));
    let times = TimestampMicrosecondArray::from(whole.clone()).with_timezone("UTC");
    let digits = whole.iter().map(|v| v.map(i128::from)).collect::<Decimal128Array>();
    let flags = rows.clone().map(|i| some(i).then_some(i % 2 == 0)).collect::<BooleanArray>();
    RecordBatch::try_from_iter([
        ("row", Arc::new(Int64Array::from_iter_values(rows)) as ArrayRef),
        ("whole", Arc::new(Int64Array::from(whole.clone()))),
        ("small", Arc::new(small.collect::<Int16Array>())),
        ("time", Arc::new(times)),
        ("digits", Arc::new(digits.with_precision_and_scale(20, 2).unwrap())),
        ("flag", Arc::new(flags)),
        ("text", Arc::new(StringArray::from(texts.clone()))),
        ("long", Arc::new(LargeStringArray::from(texts))),
    ])
    .unwrap()
}

#[test]
fn columns_of_several_row_groups_are_one_piece() {
    let batch = long();
    for has_dictionary in [true, false] {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(has_dictionary)
            .set_data_page_row_count_limit(5_000)
            .set_max_row_group_row_count(Some(11_000))
            .build();
        let mut out = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let bytes = Bytes::from(out);
        let table = read(&bytes, Value::Null).unwrap();
        assert_eq!(table.batch().columns(), batch.columns());
        let table = read(&bytes, json!({"columns": ["text", "time"], "row_groups": [2, 0]}));
        let parts = [batch.slice(22_000, 8_000), batch.slice(0, 11_000)];
        let parts = parts.map(|part| part.project(&[3, 6]).unwrap());
        let wanted = Table::concat(parts[0].schema(), &parts).unwrap();
        assert_eq!(table.unwrap().batch().columns(), wanted.batch().columns());
    }
}

#[test]
fn columns_and_row_groups_can_be_chosen() {
    let bytes = write(&sample(), Compression::SNAPPY);
    let table = read(&bytes, json!({"columns": ["word", "id"], "row_groups": 1})).unwrap();
    assert_eq!((table.column_names(), table.num_rows()), (vec!["id", "word"], 1));
    let e = read(&bytes, json!({"columns": ["nope"]})).unwrap_err();
    assert_eq!((e.slug(), e.field()), ("invalid-option", Some("columns")));
    let e = read(&bytes, json!({"row_groups": 2})).unwrap_err();
    assert!(e.to_string().contains("the data has 2"), "{e}");
    assert!(read(&bytes, json!({"row_groups": -1})).is_err());
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = write(&sample(), Compression::SNAPPY);
    for len in 0..bytes.len() {
        let e = read(&bytes.slice(..len), Value::Null).expect_err("a part is not the whole");
        assert_eq!(e.slug(), "malformed-parquet", "{len}: {e}");
    }
}

#[test]
fn a_damaged_byte_never_panics() {
    let bytes = write(&sample(), Compression::SNAPPY);
    for at in 0..bytes.len() {
        for flip in [1u8, 0x80, 0xff] {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= flip;
            let _ = read(&damaged.into(), Value::Null);
        }
    }
}

/// A footer whose schema is a chain of groups.
fn nested(depth: usize) -> Bytes {
    // version = 1; schema = list of structs with a long length.
    let mut meta = vec![0x15, 0x02, 0x19, 0xFC];
    let mut len = depth;
    while len >= 0x80 {
        meta.push(len as u8 | 0x80);
        len >>= 7;
    }
    meta.push(len as u8);
    for _ in 0..depth {
        // repetition = required (3), name = "g" (4), num_children = 1 (5).
        meta.extend([0x35, 0x00, 0x18, 0x01, b'g', 0x15, 0x02, 0x00]);
    }
    meta.push(0);
    let mut bytes = b"PAR1".to_vec();
    bytes.extend(&meta);
    bytes.extend((meta.len() as u32).to_le_bytes());
    bytes.extend(b"PAR1");
    bytes.into()
}

#[test]
fn a_schema_nested_without_end_does_not_end_the_process() {
    let e = read(&nested(1_000_000), Value::Null).unwrap_err();
    assert_eq!(e.slug(), "too-large", "{e}");
    assert_eq!(read(&nested(10), Value::Null).unwrap_err().slug(), "malformed-parquet");
}

#[test]
fn a_page_header_that_claims_more_than_there_is_is_refused_at_once() {
    // Three numbers, the last one the size of the page, then the page and padding.
    let page = [0x15, 0, 0x15, 2, 0x15, 2, 0, 0xAA];
    let twice = [&page[..], &page[..], &[0, 0]].concat();
    assert!(footer::check_pages(&twice, Some(1)).is_ok());
    assert!(footer::check_pages(&page[..7], None).is_err(), "the page is cut off");
    // A list of two thousand million numbers in a few bytes.
    assert!(footer::check_pages(&[0x19, 0xF5, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0], None).is_err());
}

#[test]
fn a_page_that_claims_to_expand_beyond_its_compression_is_refused_at_once() {
    // One byte that claims to be two thousand million: the reader would make room for them.
    let page = [0x15, 0, 0x15, 0x80, 0xA8, 0xD6, 0xB9, 0x07, 0x15, 2, 0, 0xAA];
    let refused = |ratio| footer::check_pages(&page, ratio).unwrap_err().to_string();
    for compression in [Compression::LZ4, Compression::SNAPPY, Compression::UNCOMPRESSED] {
        let ratio = footer::ratio_max(compression);
        assert!(refused(ratio).contains("claims to expand to"), "{compression}");
    }
    assert!(footer::check_pages(&page, None).is_ok());
    // What compresses best stays within the bounds.
    let same = StringArray::from(vec!["a".repeat(100_000); 50]);
    let batch = RecordBatch::try_from_iter([("s", Arc::new(same) as ArrayRef)]).unwrap();
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
    ] {
        let table = read(&write(&batch, compression), Value::Null).unwrap();
        assert_eq!(table.num_rows(), 50, "{compression}");
    }
}

/// A file with a column `t` of INT96, without a schema of Arrow: days of the Julian calendar and nanoseconds; with the mark of
/// Spark or without.
fn with_int96(times: &[Option<(u32, u64)>], of_spark: bool) -> Bytes {
    use parquet::data_type::{Int96, Int96Type};
    use parquet::file::metadata::KeyValue;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    let schema = parse_message_type("message m { OPTIONAL INT96 t; }").unwrap();
    let mut out = Vec::new();
    let mark = KeyValue::new("org.apache.spark.version".to_owned(), "3.4.3".to_owned());
    let marks = of_spark.then(|| vec![mark]);
    let properties = WriterProperties::builder().set_key_value_metadata(marks).build();
    let mut writer =
        SerializedFileWriter::new(&mut out, Arc::new(schema), Arc::new(properties)).unwrap();
    for group in times.chunks(2) {
        let levels: Vec<i16> = group.iter().map(|t| i16::from(t.is_some())).collect();
        let some = group.iter().flatten().map(|(day, nanos)| {
            let mut time = Int96::new();
            time.set_data(*nanos as u32, (*nanos >> 32) as u32, *day);
            time
        });
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        let some: Vec<Int96> = some.collect();
        column.typed::<Int96Type>().write_batch(&some, Some(&levels), None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
    }
    writer.close().unwrap();
    out.into()
}

#[test]
fn timestamps_of_spark_keep_their_dates_in_the_finest_unit_that_holds_them() {
    use arrow_schema::{DataType, TimeUnit};

    /// The Julian day of 1970-01-01.
    const EPOCH: u32 = 2_440_588;
    let parsed_of = |times: &[Option<(u32, u64)>], of_spark: bool| {
        let none = serde_json::Map::new();
        let bytes = with_int96(times, of_spark);
        let parsed = parse(&bytes, Options(&none), &ParseCx::default()).unwrap();
        let column = Arc::clone(parsed.tables[0].1.batch().column(0));
        let whole = arrow_cast::cast(&column, &DataType::Int64).unwrap();
        let whole: Int64Array = whole.as_any().downcast_ref::<Int64Array>().unwrap().clone();
        (column.data_type().clone(), whole.iter().collect::<Vec<_>>(), parsed.cut)
    };
    let parsed = |times: &[Option<(u32, u64)>]| parsed_of(times, false);
    let day = 86_400_i64;
    // Within 1677 to 2262 nothing is lost.
    let near = parsed(&[Some((EPOCH + 1, 7)), None, Some((EPOCH - 2, 0))]);
    let nanos = DataType::Timestamp(TimeUnit::Nanosecond, None);
    let ns = 1_000_000_000;
    assert_eq!(near, (nanos, vec![Some(day * ns + 7), None, Some(-2 * day * ns)], vec![]));
    // 9999-12-31, 1500-06-01 and a time of today.
    let us = 1_000_000;
    let (far, old) = (2_932_896_i64, -171_513_i64);
    let days = |d: i64| u32::try_from(i64::from(EPOCH) + d).unwrap();
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let times = [Some((days(far), 0)), Some((days(old), 5_000)), None, Some((EPOCH, 1_000))];
    let wide = vec![Some(far * day * us), Some(old * day * us + 5), None, Some(1)];
    assert_eq!(parsed(&times), (micros.clone(), wide, vec![]));
    // What microseconds cut is said.
    let (kind, values, said) = parsed(&[Some((days(far), 1_001)), Some((EPOCH, 2_000))]);
    assert_eq!((kind, values), (micros, vec![Some(far * day * us + 1), Some(2)]));
    assert!(said[0].contains(r#"column "t""#) && said[0].contains("1 of its values"), "{said:?}");
    // The last day that the type has.
    let (kind, values, _) = parsed(&[Some((i32::MAX as u32, 0))]);
    assert_eq!(kind, DataType::Timestamp(TimeUnit::Millisecond, None));
    let last = i64::from(i32::MAX) - i64::from(EPOCH);
    assert_eq!(values, vec![Some(last * day * 1_000)]);
    // Spark has microseconds, which its days beyond them wrap to.
    let (kind, values, said) = parsed_of(&[Some((i32::MAX as u32, 5_000))], true);
    assert_eq!(kind, DataType::Timestamp(TimeUnit::Microsecond, None));
    assert_eq!((values, said), (vec![Some((last * day).wrapping_mul(us) + 5)], vec![]));
}

#[test]
fn footers_of_old_writers_are_read() {
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        // Without a dictionary, as the writer that wrote such footers.
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_dictionary_enabled(false)
            .build();
        let mut out = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut out, sample().schema(), Some(properties)).unwrap();
        writer.write(&sample()).unwrap();
        writer.close().unwrap();
        let old = Bytes::from(super::dialect::tests::as_dremio(&out));
        let table = read(&old, Value::Null).unwrap();
        assert_eq!(table.batch().columns(), sample().columns(), "{compression:?}");
        // Cut anywhere, it is refused and nothing worse.
        for len in (old.len() - 200)..old.len() {
            assert!(read(&old.slice(..len), Value::Null).is_err());
        }
    }
}
