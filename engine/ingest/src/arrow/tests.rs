#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::*;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use graphlume_types::Coded;

use super::*;

fn batch(words: &[Option<&str>]) -> RecordBatch {
    let n = words.len();
    let kinds: DictionaryArray<Int8Type> = words.iter().copied().collect();
    let lists = (0..n).map(|i| (i % 3 != 1).then(|| vec![Some(i as i64), None]));
    let inner = Field::new("x", DataType::Int64, true);
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n as i64));
    RecordBatch::try_from_iter([
        ("word", Arc::new(StringArray::from(words.to_vec())) as ArrayRef),
        ("large", Arc::new(LargeStringArray::from(words.to_vec()))),
        ("view", Arc::new(StringViewArray::from(words.to_vec()))),
        ("kind", Arc::new(kinds)),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
        ("row", Arc::new(StructArray::from(vec![(Arc::new(inner), ids)]))),
        ("flag", Arc::new(BooleanArray::from_iter((0..n).map(|i| Some(i % 2 == 0))))),
        ("nothing", Arc::new(NullArray::new(n))),
    ])
    .unwrap()
}

fn batches() -> Vec<RecordBatch> {
    vec![
        batch(&[Some("a"), None, Some("long enough for a view of its own"), Some("")]),
        batch(&[Some("a"), Some("new")]),
    ]
}

fn options(compression: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default().try_with_compression(compression).unwrap()
}

fn file(batches: &[RecordBatch], options: IpcWriteOptions) -> Bytes {
    let schema = batches[0].schema();
    let mut w = FileWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    batches.iter().for_each(|b| w.write(b).unwrap());
    w.finish().unwrap();
    w.into_inner().unwrap().into()
}

fn stream(batches: &[RecordBatch], options: IpcWriteOptions) -> Bytes {
    let schema = batches[0].schema();
    let mut w = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    batches.iter().for_each(|b| w.write(b).unwrap());
    w.finish().unwrap();
    w.into_inner().unwrap().into()
}

fn read(bytes: &Bytes) -> Result<Table, IngestError> {
    parse(bytes, &ParseCx::default()).map(|p| p.tables[0].1.clone())
}

fn words(table: &Table, column: &str) -> Vec<Option<String>> {
    let column = table.column(column).unwrap();
    (0..table.num_rows()).map(|r| graphlume_table::cell_text(column.as_ref(), r)).collect()
}

#[test]
fn both_containers_and_both_compressions_join_their_batches() {
    let one = [batches()[0].clone()];
    for codec in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        assert_eq!(read(&file(&one, options(codec))).unwrap().batch().columns(), one[0].columns());
        let table = read(&stream(&batches(), options(codec))).unwrap();
        assert_eq!(table.num_rows(), 6);
        for column in ["word", "large", "view", "kind"] {
            let want = ["a", "~", "long enough for a view of its own", "", "a", "new"];
            let got = words(&table, column);
            let got: Vec<_> = got.iter().map(|w| w.as_deref().unwrap_or("~")).collect();
            assert_eq!(got, want, "{column}");
        }
        assert_eq!(words(&table, "list")[5], None);
    }
}

#[test]
fn a_dictionary_may_grow_between_batches() {
    let growing: Vec<_> = [vec!["a"], vec!["a", "b"], vec!["a", "b", "c"]]
        .into_iter()
        .map(|values| {
            let keys = Int8Array::from_iter_values(0..values.len() as i8);
            let column = DictionaryArray::new(keys, Arc::new(StringArray::from(values)));
            RecordBatch::try_from_iter([("k", Arc::new(column) as ArrayRef)]).unwrap()
        })
        .collect();
    let delta = options(None).with_dictionary_handling(DictionaryHandling::Delta);
    for bytes in [file(&growing, delta.clone()), stream(&growing, delta)] {
        let table = read(&bytes).unwrap();
        let got: Vec<_> = words(&table, "k").into_iter().flatten().collect();
        assert_eq!(got, ["a", "a", "b", "a", "b", "c"]);
    }
}

#[test]
fn no_batch_is_an_empty_table() {
    let schema = Schema::new(vec![Field::new("src", DataType::Int64, true)]);
    let mut w = FileWriter::try_new(Vec::new(), &schema).unwrap();
    w.finish().unwrap();
    let table = read(&w.into_inner().unwrap().into()).unwrap();
    assert_eq!((table.num_rows(), table.column_names()), (0, vec!["src"]));
    let mut w = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    w.finish().unwrap();
    assert_eq!(read(&w.into_inner().unwrap().into()).unwrap().num_rows(), 0);
}

#[test]
fn every_truncation_of_a_file_is_an_error() {
    let bytes = file(&batches()[..1], options(Some(CompressionType::ZSTD)));
    for len in 0..bytes.len() {
        assert_eq!(read(&bytes.slice(..len)).unwrap_err().slug(), "malformed-arrow", "{len}");
    }
}

#[test]
fn a_cut_stream_is_an_error_or_ends_between_batches() {
    let bytes = stream(&batches(), options(None));
    for len in 0..bytes.len() {
        if let Ok(table) = read(&bytes.slice(..len)) {
            assert!(matches!(table.num_rows(), 0 | 4 | 6), "{len}");
        }
    }
}

#[test]
fn a_damaged_byte_never_panics() {
    for bytes in [
        file(&batches()[..1], options(None)),
        file(&batches()[..1], options(Some(CompressionType::LZ4_FRAME))),
        stream(&batches(), options(Some(CompressionType::ZSTD))),
    ] {
        for at in 0..bytes.len() {
            for flip in [1u8, 0x40, 0xff] {
                let mut damaged = bytes.to_vec();
                damaged[at] ^= flip;
                let _ = read(&damaged.into());
            }
        }
    }
}

#[test]
fn a_buffer_that_claims_a_terabyte_is_refused_before_it_is_allocated() {
    let text = "x".repeat(10_000);
    let one =
        RecordBatch::try_from_iter([("t", Arc::new(StringArray::from(vec![text])) as ArrayRef)]);
    let bytes = stream(&[one.unwrap()], options(Some(CompressionType::ZSTD)));
    let claim = 10_000i64.to_le_bytes();
    // The number also stands in the metadata; the claim is the last of its kind.
    let at = bytes.windows(8).rposition(|w| w == claim).expect("the length is before the data");
    let mut bomb = bytes.to_vec();
    bomb[at..at + 8].copy_from_slice(&(1i64 << 40).to_le_bytes());
    assert_eq!(read(&bomb.into()).unwrap_err().slug(), "too-large");
}

#[test]
fn other_bytes_say_what_is_expected() {
    let e = read(&Bytes::from_static(b"a,b\n1,2\n")).unwrap_err();
    assert_eq!(e.slug(), "malformed-arrow", "{e}");
    let e = read(&Bytes::new()).unwrap_err();
    assert!(e.to_string().contains("neither"), "{e}");
}

#[test]
fn duplicate_columns_are_named() {
    let schema = Schema::new(vec![
        Field::new("a", DataType::Int64, true),
        Field::new("a", DataType::Int64, true),
    ]);
    let mut w = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    w.finish().unwrap();
    let e = read(&w.into_inner().unwrap().into()).unwrap_err();
    assert_eq!((e.slug(), e.to_record().column.as_deref()), ("duplicate-column", Some("a")));
}
