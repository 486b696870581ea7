//! Behaviour of the CSV reader.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use graphlume_table::{cell_text, pandas_dtype};
use graphlume_types::{CancelReason, Coded};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::Format;

mod corners;
mod told;

type Rows = Vec<Vec<Option<String>>>;

fn options(options: Value) -> Map<String, Value> {
    match options {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        other => panic!("{other}"),
    }
}

fn read_with(text: &[u8], opts: Value, tuning: Tuning) -> Result<Table, IngestError> {
    let opts = options(opts);
    crate::options::check_names(Format::Csv, &opts)?;
    let dialect = Dialect::new(Options(&opts))?;
    parse_with(text, dialect, tuning, &ParseCx::default()).map(|(table, _)| table)
}

fn read(text: &str, opts: Value) -> Table {
    read_with(text.as_bytes(), opts, Tuning::default()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn fails(text: &str, opts: Value) -> IngestError {
    let got = read_with(text.as_bytes(), opts, Tuning::default());
    got.err().unwrap_or_else(|| panic!("accepted: {text}"))
}

fn dtypes(table: &Table) -> Vec<String> {
    table.batch().schema().fields().iter().map(|f| pandas_dtype(f.data_type())).collect()
}

fn rows(table: &Table) -> Rows {
    let columns = table.batch().columns();
    let row = |r| columns.iter().map(|c| cell_text(c.as_ref(), r)).collect();
    (0..table.num_rows()).map(row).collect()
}

fn cells(table: &Table) -> String {
    let show = |c: &Option<String>| c.clone().unwrap_or_else(|| "~".into());
    let row = |r: &Vec<_>| r.iter().map(show).collect::<Vec<_>>().join("|");
    rows(table).iter().map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn types_are_found_over_whole_columns() {
    let text = "i,f,b,s,m,e\n1,1.5,True,x,1,\n-2,2,FALSE,,a,\n3,,true,z,2.5,\n";
    let t = read(text, Value::Null);
    assert_eq!(dtypes(&t), ["int64", "float64", "bool", "object", "object", "float64"]);
    assert_eq!(cells(&t), "1|1.5|true|x|1|~\n-2|2.0|false|~|a|~\n3|~|true|z|2.5|~");
}

#[test]
fn a_late_cell_widens_a_column_at_any_distance() {
    for (late, dtype) in [("1.5", "float64"), ("x", "object"), ("True", "object"), ("", "int64")] {
        let mut text = String::from("a,b\n");
        for i in 0..5_000 {
            text += &format!("{i},0\n");
        }
        text += &format!("{late},0\n");
        for chunk in [64, 1_000, 1 << 20] {
            let tuning = Tuning { chunk_bytes: Some(chunk), general: false };
            let t = read_with(text.as_bytes(), Value::Null, tuning).unwrap();
            assert_eq!(dtypes(&t), [dtype, "int64"], "{late} {chunk}");
            assert_eq!(t.num_rows(), 5_001);
            let first = if dtype == "float64" { "7.0" } else { "7" };
            assert_eq!(rows(&t)[7][0].as_deref(), Some(first), "{late} {chunk}");
            let last = (!late.is_empty()).then_some(late);
            assert_eq!(rows(&t)[5_000][0].as_deref(), last, "{late} {chunk}");
        }
    }
}

#[test]
fn whole_numbers_keep_every_digit() {
    let t = read(
        "a,b,c,d\n9223372036854775807,18446744073709551615,99999999999999999999,1\n\
                  -9223372036854775808,0,1,-1\n",
        Value::Null,
    );
    assert_eq!(dtypes(&t), ["int64", "uint64", "object", "int64"]);
    assert_eq!(rows(&t)[0][2].as_deref(), Some("99999999999999999999"));
    assert_eq!(dtypes(&read("a\n18446744073709551615\n-1\n", Value::Null)), ["object"]);
    assert_eq!(dtypes(&read("a\n99999999999999999999\n1.5\n", Value::Null)), ["float64"]);
}

#[test]
fn quotes_hide_separators_line_ends_and_themselves() {
    let t = read(
        "a,b\n\"x,1\",\"line\nbreak\"\n\"say \"\"hi\"\"\",\"\"\n\"7\",5\" pipe\n\"a\"b\"c,z\n",
        Value::Null,
    );
    assert_eq!(
        rows(&t),
        [
            [Some("x,1".into()), Some("line\nbreak".into())],
            [Some("say \"hi\"".into()), None],
            [Some("7".into()), Some("5\" pipe".into())],
            [Some("ab\"c".into()), Some("z".into())],
        ]
    );
    assert_eq!(dtypes(&read("a\n\"1\"\n\"2\"\n", Value::Null)), ["int64"]);
    let t = read("a,b\n\"x,y\n", json!({"quoting": 3}));
    assert_eq!(cells(&t), "\"x|y");
    let t = read("a,b\n'x,y',1\n", json!({"quotechar": "'"}));
    assert_eq!(cells(&t), "x,y|1");
    let t = read("a,b\n\"x\"\"y\",1\n", json!({"doublequote": false}));
    assert_eq!(cells(&t), "x\"y\"|1");
}

#[test]
fn line_ends_of_all_systems_and_a_byte_order_mark() {
    for text in [
        "\u{feff}a,b\r\n1,2\r\n3,4\r\n",
        "a,b\r1,2\r3,4",
        "a,b\n1,2\n\n\n3,4",
        "a,b\n\r\n1,2\n3,4\n  \n",
    ] {
        let t = read(text, Value::Null);
        assert_eq!(t.column_names(), ["a", "b"], "{text:?}");
        assert_eq!(cells(&t), "1|2\n3|4", "{text:?}");
    }
    assert_eq!(cells(&read("a,b;1,2;3,4", json!({"lineterminator": ";"}))), "1|2\n3|4");
    let t = read("a\n1\n\n2\n", json!({"skip_blank_lines": false}));
    assert_eq!(cells(&t), "1\n~\n2");
}

#[test]
fn a_short_record_is_filled_and_a_long_one_is_an_error_with_its_line() {
    assert_eq!(cells(&read("a,b,c\n1\n2,3\n", Value::Null)), "1|~|~\n2|3|~");
    let e = fails("a,b\n1,2\n\"x\ny\",2\n1,2,3\n", Value::Null);
    assert_eq!(e.to_record().row, Some(5));
    assert_eq!(
        e.to_string(),
        "line 5: expected 2 cells, found 3; quote cells that hold separators"
    );
    assert_eq!((e.slug(), e.to_record().slug.as_str()), ("malformed-csv", "malformed-csv"));
    let t = read("a,b\n1,2\n4,5,6\n", json!({"usecols": ["b"]}));
    assert_eq!(cells(&t), "2\n5");
    // Which of the cells have no name is unknown.
    assert_eq!(fails("a,b\n1,2,3\n4,5\n", json!({"usecols": ["b"]})).to_record().row, Some(2));
}

#[test]
fn an_open_quote_is_an_error_at_the_line_where_it_opens() {
    let e = fails("a,b\n1,2\n3,\"open\n5,6\n", Value::Null);
    assert_eq!(e.to_string(), "line 3: a quoted cell is never closed");
    assert!(fails("\"a,b\n1,2\n", Value::Null).to_string().starts_with("line 1:"));
}

#[test]
fn names_are_made_unique_and_never_empty() {
    let t = read("a,a,,a.1,a\n1,2,3,4,5\n", Value::Null);
    assert_eq!(t.column_names(), ["a", "a.2", "Unnamed: 2", "a.1", "a.3"]);
    let t = read("1,2\n3,4\n", json!({"header": "none", "prefix": "c"}));
    assert_eq!((t.column_names(), t.num_rows()), (vec!["c0", "c1"], 2));
    let t = read("1,2\n3,4\n", json!({"header": null}));
    assert_eq!((t.column_names(), t.num_rows()), (vec!["0", "1"], 2), "pandas' header=None");
    let t = read("1,2\n3,4\n", json!({"names": ["x", "y"]}));
    assert_eq!((t.column_names(), t.num_rows()), (vec!["x", "y"], 2));
    let t = read("a,b\n3,4\n", json!({"names": ["x", "y"], "header": 0}));
    assert_eq!((t.column_names(), t.num_rows()), (vec!["x", "y"], 1));
    let t = read("junk\n\na,b\n3,4\n", json!({"header": 1}));
    assert_eq!((t.column_names(), t.num_rows()), (vec!["a", "b"], 1));
    assert!(fails("", Value::Null).to_string().contains("no columns"));
    assert_eq!(read("", json!({"names": ["x"]})).num_rows(), 0);
    assert_eq!(dtypes(&read("a,b\n", Value::Null)), ["object", "object"]);
}

#[test]
fn rows_and_columns_can_be_chosen() {
    let text = "x\ny\na,b,c\n1,2,3\n4,5,6\n7,8,9\n";
    let t = read(text, json!({"skiprows": 2, "nrows": 2, "usecols": [2, 0]}));
    assert_eq!((t.column_names(), cells(&t)), (vec!["a", "c"], "1|3\n4|6".into()));
    assert_eq!(read(text, json!({"skiprows": 2, "nrows": 0})).num_rows(), 0);
    assert_eq!(read(text, json!({"skiprows": 2, "nrows": 99})).num_rows(), 3);
    // What lies behind the wanted rows is not looked at.
    assert_eq!(cells(&read("a\n1\n2,3,4\n", json!({"nrows": 1}))), "1");
    let e = fails(text, json!({"usecols": ["zz"]}));
    assert_eq!((e.slug(), e.field()), ("invalid-option", Some("usecols")));
}

#[test]
fn missing_values_are_those_of_pandas_unless_told_otherwise() {
    let text = "a,b\nNA,x\n<NA>,null\n1,n/a\n#N/A N/A,nano\n";
    assert_eq!(cells(&read(text, Value::Null)), "~|x\n~|~\n1|~\n~|nano");
    assert_eq!(cells(&read("a\nNA\n\"\"\n", json!({"keep_default_na": false}))), "NA\n");
    assert_eq!(cells(&read("a\n-999\n1\n", json!({"na_values": [-999]}))), "~\n1");
    assert_eq!(cells(&read("a\n-999.0\n1\n", json!({"na_values": ["-999"]}))), "~\n1");
    let t = read("a,b\n1,\nNA,2\n", json!({"na_filter": false}));
    assert_eq!(
        (dtypes(&t), cells(&t)),
        (vec!["object".into(), "object".into()], "1|\nNA|2".into())
    );
}

#[test]
fn separators_blanks_and_comments() {
    assert_eq!(cells(&read("a;b\n1;2\n", json!({"sep": ";"}))), "1|2");
    assert_eq!(cells(&read("a\tb\n1\t2\n", json!({"delimiter": "\t"}))), "1|2");
    let t = read("  a   b\n1 \t 2  \n\n 3 4\n", json!({"sep": "\\s+"}));
    assert_eq!(cells(&t), "1|2\n3|4");
    let t = read("a, b\n1, \"x, y\"\n", json!({"skipinitialspace": true}));
    assert_eq!((t.column_names(), cells(&t)), (vec!["a", "b"], "1|x, y".into()));
    let t = read("# top\na,b\n1,2# tail\n# whole\n3,4\n", json!({"comment": "#"}));
    assert_eq!(cells(&t), "1|2\n3|4");
    // A blank before a separator is a cell, and not a blank line.
    assert_eq!(cells(&read("a\n1\n \t\n", json!({"sep": "\t", "usecols": [0]}))), "1\n ");
    let e = fails("a", json!({"sep": "||"}));
    assert_eq!((e.slug(), e.field()), ("invalid-option", Some("sep")));
    assert!(fails("a", json!({"sep": "\""})).to_string().contains("two of"));
}

#[test]
fn separators_of_several_characters() {
    let t = read("a||b||c\n1||\"x\"||2.5\r\n\n 3 || y ||\n", json!({"sep": r"\|\|"}));
    assert_eq!((t.column_names(), cells(&t)), (vec!["a", "b", "c"], "1|\"x\"|2.5\n3| y |~".into()));
    assert_eq!(cells(&read("a::b\n1::2\n", json!({"sep": "::"}))), "1|2");
    assert_eq!(cells(&read("a, b;c\n1 ,2 ; 3\n", json!({"sep": r"\s*[,;]\s*"}))), "1|2|3");
    let t = read("a::b\n# x::y\n1::2 # 3::4\n5::6\n", json!({"sep": "::", "comment": "#"}));
    assert_eq!(cells(&t), "1|2\n5|6");
    let t = read("a\u{a7}b\n1\u{a7}\"x\u{a7}y\"\n", json!({"sep": "\u{a7}"}));
    assert_eq!(cells(&t), "1|x\u{a7}y");
    let e = fails("a::b\n1::2\n1::2::3\n", json!({"sep": "::"}));
    assert_eq!(e.to_record().row, Some(3), "{e}");
    let many = "a::b\n".to_owned() + &"12::3\n".repeat(10_000);
    let tuning = Tuning { chunk_bytes: Some(100), general: false };
    let t = read_with(many.as_bytes(), json!({"sep": "::"}), tuning).unwrap();
    assert_eq!((t.num_rows(), dtypes(&t)), (10_000, vec!["int64".to_owned(), "int64".to_owned()]));
}

#[test]
fn escapes_make_the_next_character_an_ordinary_one() {
    let opts = || json!({"escapechar": "\\"});
    let t = read("a,b\n1\\,2,\"x\\\"y\"\nz\\\nz,\"\"\"q\"\n", opts());
    assert_eq!(cells(&t), "1,2|x\"y\nz\nz|\"q");
    let e = fails("a,b\n1,2\n3,x\\", opts());
    assert_eq!(e.to_string(), "line 3: the text ends behind an escape character");
}

#[test]
fn lines_can_be_left_out_at_both_ends_and_between() {
    let text = "a,b\n1,2\n\"x\ny\",3\n\n5,6\nfoot,er\n";
    assert_eq!(cells(&read(text, json!({"skiprows": [1, 3, 5]}))), "x\ny|3\n5|6");
    assert_eq!(cells(&read(text, json!({"skiprows": [2], "nrows": 2}))), "1|2\n5|6");
    assert_eq!(read(text, json!({"skiprows": [0]})).column_names(), ["1", "2"]);
    assert_eq!(cells(&read(text, json!({"skipfooter": 1}))), "1|2\nx\ny|3\n5|6");
    assert_eq!(cells(&read(text, json!({"skipfooter": 3}))), "1|2\nx\ny|3");
    assert_eq!(read(text, json!({"skipfooter": 99})).num_rows(), 0);
    assert_eq!(fails(text, json!({"skipfooter": 1, "nrows": 1})).field(), Some("skipfooter"));
    assert_eq!(fails(text, json!({"skiprows": [-1]})).field(), Some("skiprows"));
}

#[test]
fn ranges_of_bytes_hold_the_records_that_begin_in_them() {
    let text = "a,b\n1,x\n2,\"y\ny\"\n3,z\n";
    let range = |offset: usize, size: usize| {
        let t = read(text, json!({"byte_range": [offset, size]}));
        assert_eq!(t.column_names(), ["a", "b"]);
        cells(&t)
    };
    assert_eq!(range(0, 0), "1|x\n2|y\ny\n3|z");
    assert_eq!((range(0, 4), range(0, 5), range(4, 1)), ("".into(), "1|x".into(), "1|x".into()));
    assert_eq!((range(5, 3), range(5, 4), range(9, 0)), ("".into(), "2|y\ny".into(), "3|z".into()));
    // Ranges that share out the file share out the records.
    for step in 1..text.len() {
        let parts = (0..text.len()).step_by(step).map(|at| range(at, step));
        let parts: Vec<_> = parts.filter(|p| !p.is_empty()).collect();
        assert_eq!(parts.join("\n"), range(0, 0), "{step}");
    }
    let marked = format!("\u{feff}{text}");
    assert_eq!(cells(&read(&marked, json!({"byte_range": [8, 3]}))), "");
    assert_eq!(cells(&read(&marked, json!({"byte_range": [8, 4]}))), "2|y\ny");
    assert_eq!(fails(text, json!({"byte_range": [1]})).field(), Some("byte_range"));
}

#[test]
fn words_for_missing_values_can_differ_by_column() {
    let opts = json!({"na_values": {"a": ["x"], "b": 0}, "keep_default_na": false});
    let t = read("a,b,c\nx,1,x\ny,0,NA\n", opts);
    assert_eq!((dtypes(&t)[1].as_str(), cells(&t)), ("int64", "~|1|x\ny|~|NA".to_owned()));
    let (_, told) = parse_with(
        b"a\n1\n",
        Dialect::new(Options(&options(json!({"na_values": {"zz": "x"}})))).unwrap(),
        Tuning::default(),
        &ParseCx::default(),
    )
    .unwrap();
    assert!(told.warnings[0].contains("zz"), "{told:?}");
}

#[test]
fn names_can_be_those_of_the_picked_columns_only() {
    let text = "1,2,3\n4,5,6\n";
    let t = read(text, json!({"names": ["x", "z"], "usecols": [2, 0]}));
    assert_eq!((t.column_names(), cells(&t)), (vec!["x", "z"], "1|3\n4|6".into()));
    let t = read(text, json!({"names": ["x", "y", "z"], "usecols": ["z"]}));
    assert_eq!((t.column_names(), cells(&t)), (vec!["z"], "3\n6".into()));
    let e = fails(text, json!({"names": ["x", "y"], "usecols": ["y"]}));
    assert_eq!((e.slug(), e.field()), ("invalid-option", Some("names")));
    assert_eq!(fails(text, json!({"names": ["x"], "usecols": [7]})).field(), Some("usecols"));
}

#[test]
fn numbers_that_are_words_for_booleans_are_numbers_unless_other_words_stand_beside_them() {
    let opts = || json!({"true_values": ["1", "yes"], "false_values": ["0"]});
    let t = read("a,b,c\n1,1,1\n0,yes,2\n1,0,yes\n", opts());
    assert_eq!(dtypes(&t), ["int64", "bool", "object"]);
    assert_eq!(cells(&t), "1|true|1\n0|true|2\n1|false|yes");
    let t = read("a,b\n1,x\n", json!({"quoting": 2}));
    assert_eq!(dtypes(&t), ["float64", "object"]);
}

#[test]
fn demanded_types_take_what_loses_nothing() {
    let text = "a,b,c,d\n1.0,1,1 days 00:00:01,2020-01-02\n2.0,0,,\n";
    let opts = json!({"dtype": {"a": "Int64", "b": "boolean", "c": "timedelta64[ns]",
        "d": "datetime64[ns]"}});
    let t = read(text, opts);
    assert_eq!(dtypes(&t), ["int64", "bool", "timedelta64[ns]", "datetime64[us]"]);
    assert_eq!(rows(&t)[0][..2], [Some("1".to_owned()), Some("true".to_owned())]);
    let e = fails("a,b\n1,x\n2.5,y\n", json!({"dtype": ["int64"]})).to_record();
    assert_eq!((e.row, e.column.as_deref()), (Some(3), Some("a")));
    let e = fails("d\n2020-01-02\nsoon\n", json!({"dtype": "datetime64[ns]"}));
    assert!(e.to_string().contains("\"soon\" is not a date"), "{e}");
    // What is demanded of a repeated name goes for all its columns.
    assert_eq!(dtypes(&read("a,a\n1,2\n", json!({"dtype": {"a": "str"}}))), ["object", "object"]);
}

#[test]
fn awkward_files_are_tables_or_errors_with_their_place() {
    let wide: Vec<_> = (0..2_000).map(|i| format!("c{i}")).collect();
    let row = |v: usize| (0..2_000).map(|i| (i * v).to_string()).collect::<Vec<_>>().join(",");
    let text = format!("\u{feff}{}\r\n{}\r\n{}\r\n", wide.join(","), row(1), row(2));
    let t = read(&text, Value::Null);
    assert_eq!((t.num_cols(), t.num_rows()), (2_000, 2));
    assert_eq!(rows(&t)[1][1_999].as_deref(), Some("3998"));
    let e = fails(&format!("{text}{},1\r\n", row(3)), Value::Null);
    assert_eq!(
        e.to_string(),
        "line 4: expected 2000 cells, found 2001; quote cells that hold separators"
    );
    let bytes = text.replace("3998", "39\u{0}8").replace('\0', "\u{fffd}");
    let mut bytes = bytes.into_bytes();
    let at = bytes.len() - 4;
    bytes[at] = 0xff;
    let e = read_with(&bytes, Value::Null, Tuning::default()).unwrap_err().to_record();
    assert_eq!((e.row, e.column.as_deref()), (Some(3), Some("c1999")));
    let e = fails("id,name\r\n1,\"a\r\nb\"\r\n2,c,d\r\n", Value::Null);
    assert_eq!(e.to_record().row, Some(4));
    let e = fails("id;w\rx;1\ry;two\r", json!({"sep": ";", "dtype": {"w": "float64"}})).to_record();
    assert_eq!((e.row, e.column.as_deref()), (Some(3), Some("w")));
}

#[test]
fn numbers_of_other_countries() {
    let opts = json!({"sep": ";", "decimal": ",", "thousands": "."});
    let t = read("a;b\n1.234,5;1.000\n2;3\n", opts);
    assert_eq!(
        (dtypes(&t), cells(&t)),
        (vec!["float64".into(), "int64".into()], "1234.5|1000\n2.0|3".into())
    );
    let t = read("a\n yes\nno\n", json!({"true_values": [" yes"], "false_values": ["no"]}));
    assert_eq!((dtypes(&t), cells(&t)), (vec!["bool".to_owned()], "true\nfalse".into()));
    assert_eq!(cells(&read("a\n1e3\ninf\n-Infinity\n 7\n", Value::Null)), "1000.0\ninf\n-inf\n7.0");
}

#[test]
fn demanded_types_are_kept_or_refused_with_the_cell() {
    let text = "a,b,c,d\n01,2,3,2020-01-02\n02,,4,2021-03-04 05:06:07\n";
    let opts = json!({"dtype": {"a": "str", "b": "float32", "c": "int8"}, "parse_dates": ["d"]});
    let t = read(text, opts);
    assert_eq!(dtypes(&t), ["object", "float32", "int8", "datetime64[us]"]);
    assert_eq!(cells(&t), "01|2.0|3|2020-01-02T00:00:00\n02|~|4|2021-03-04T05:06:07");
    let e = fails("a,b\n1,2\n3,x\n", json!({"dtype": {"b": "int64"}})).to_record();
    assert_eq!((e.row, e.column.as_deref()), (Some(3), Some("b")));
    assert!(e.message.contains("\"x\" is not a whole number"), "{}", e.message);
    let e = fails("a\n1\n300\n", json!({"dtype": "int8"}));
    assert_eq!(
        e.to_string(),
        "row 2 of the table, column \"a\": \"300\" is not a value that fits Int8"
    );
    assert_eq!(fails("a\n1\n", json!({"dtype": "complex"})).field(), Some("dtype"));
    assert_eq!(dtypes(&read("a\nx\ny\nx\n", json!({"dtype": "category"}))), ["category"]);
    let opts = options(json!({"parse_dates": ["d"]}));
    let parsed =
        super::parse(&Bytes::from_static(b"d\n1/2/2020\n"), Options(&opts), &ParseCx::default());
    assert!(parsed.unwrap().warnings[0].contains("left as text"));
}

#[test]
fn text_that_is_not_utf8_is_an_error_with_its_place() {
    let e = read_with(b"a,b\n1,ok\n2,\xff\n", Value::Null, Tuning::default()).unwrap_err();
    let record = e.to_record();
    assert_eq!(record.column.as_deref(), Some("b"));
    assert_eq!(record.row, Some(3), "{}", record.message);
    assert!(read_with(b"a\xff\n1\n", Value::Null, Tuning::default()).is_err());
    let t = read_with(b"\xff\xfea\0\n\x001\0", Value::Null, Tuning::default()).unwrap();
    assert_eq!((t.column_names(), cells(&t)), (vec!["a"], "1".to_owned()));
    let t = read_with(b"a\ncaf\xe9\n", json!({"encoding": "latin-1"}), Tuning::default()).unwrap();
    assert_eq!(cells(&t), "caf\u{e9}");
    let e =
        read_with(b"a\n1\n\xe9\n", json!({"encoding": "ascii"}), Tuning::default()).unwrap_err();
    assert_eq!(e.to_record().row, Some(3), "{e}");
    assert_eq!(fails("a\n", json!({"encoding": "klingon"})).field(), Some("encoding"));
}

#[test]
fn a_csv_sent_as_one_json_text_is_read() {
    assert_eq!(cells(&read(r#""a,b\n1,2\n""#, Value::Null)), "1|2");
    assert_eq!(read("\"a\"\n", Value::Null).column_names(), ["a"]);
}

#[test]
fn limits_hold() {
    let cell = "x".repeat(graphlume_types::limits::CELL_BYTES_MAX + 1);
    let e = fails(&format!("a,b\n1,2\n{cell},2\n"), Value::Null);
    assert_eq!((e.slug(), e.to_record().row), ("too-large", Some(3)));
    let header = vec!["c"; graphlume_types::limits::COLUMNS_MAX + 1].join(",");
    assert_eq!(fails(&header, Value::Null).slug(), "too-many-columns");
    // A small body must not be blown up by a wide header.
    let bomb = vec!["c"; 4_000].join(",") + &"\n1".repeat(100_000);
    assert_eq!(fails(&bomb, Value::Null).slug(), "too-large");
}

#[test]
fn a_stopped_parse_says_so() {
    let cx = ParseCx::default();
    cx.cancel.cancel(CancelReason::ClientGone);
    let got = super::parse(&Bytes::from_static(b"a\n1\n"), Options(&Map::new()), &cx);
    assert_eq!(got.unwrap_err().slug(), "cancelled");
}

/// Numbers that look random, the same ones every time.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[test]
fn long_columns_of_every_mixture_read_back() {
    // Each way of reading many cells at once gives up, waits and comes back many times over.
    const ROWS: usize = 60_000;
    let mut drawn = Drawn(1);
    for one_in in [1u64, 2, 3, 7, 50, 900, 20_000] {
        for ended in [false, true] {
            let (mut text, mut want) = ("i,f,t,q,n\n".to_owned(), Vec::new());
            for row in 0..ROWS {
                let odd = drawn.below(one_in) == 0;
                let (whole, part) = (drawn.below(1 << 30), drawn.below(1_000));
                let float = (!odd).then(|| format!("{whole}.{part:03}"));
                let word = format!("w{whole}");
                let quoted = if odd { format!("\"{word}, {part}\"") } else { word.clone() };
                // Stretches of either kind, besides single cells.
                let holes = row / 7_000 % 2 == 0 && !odd;
                let number = holes.then(|| part.to_string());
                let show = |v: &Option<String>| v.clone().unwrap_or_default();
                text += &format!("{row},{},{word},{quoted},{}\n", show(&float), show(&number));
                let unquoted = if odd { format!("{word}, {part}") } else { word.clone() };
                want.push([Some(row.to_string()), float, Some(word), Some(unquoted), number]);
            }
            if !ended {
                text.pop();
            }
            let table = read(&text, Value::Null);
            let types = dtypes(&table);
            assert_eq!((table.num_rows(), types[0].as_str()), (ROWS, "int64"));
            for (row, (got, want)) in rows(&table).iter().zip(&want).enumerate() {
                for ((got, want), dtype) in got.iter().zip(want).zip(&types) {
                    assert!(
                        same(got, want, dtype),
                        "row {row}, 1 in {one_in}: {got:?} {want:?} {dtype}"
                    );
                }
            }
        }
    }
}

/// A cell as it should come back, and how it may be written.
fn cell() -> impl Strategy<Value = (Option<String>, String)> {
    let quoted = |s: &str| format!("\"{}\"", s.replace('"', "\"\""));
    prop_oneof![
        any::<i32>().prop_map(|v| (Some(v.to_string()), v.to_string())),
        (-1_000_000i64..1_000_000, 1u32..9).prop_map(|(v, d)| {
            let text = format!("{:.*}", d as usize, v as f64 / 64.0);
            (Some(text.clone()), text)
        }),
        Just((None, String::new())),
        Just((None, "NaN".to_owned())),
        "[a-z]{1,20}".prop_map(|s| (Some(format!("_{s}")), format!("_{s}"))),
        "[a-z,\"\n\r é]{0,12}".prop_map(move |s| (Some(format!("_{s}")), quoted(&format!("_{s}")))),
    ]
}

fn same(got: &Option<String>, want: &Option<String>, dtype: &str) -> bool {
    match (got, want) {
        (Some(g), Some(w)) if dtype == "float64" => {
            g.parse::<f64>().unwrap().to_bits() == w.parse::<f64>().unwrap().to_bits()
        }
        _ => got == want,
    }
}

proptest! {
    #[test]
    fn a_written_table_reads_back(
        rows_in in proptest::collection::vec(proptest::collection::vec(cell(), 3), 1..40),
        chunk in 1usize..400,
        crlf in any::<bool>(),
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let line = |row: &Vec<(Option<String>, String)>| {
            row.iter().map(|(_, t)| t.as_str()).collect::<Vec<_>>().join(",")
        };
        let body: Vec<_> = rows_in.iter().map(line).collect();
        let text = format!("a,b,c{end}{}{end}", body.join(end));
        let tuning = Tuning { chunk_bytes: Some(chunk), general: false };
        let table = read_with(text.as_bytes(), Value::Null, tuning).unwrap();
        prop_assert_eq!(table.num_rows(), rows_in.len());
        let (got, types) = (rows(&table), dtypes(&table));
        for (g, w) in got.iter().zip(&rows_in) {
            for ((g, (w, _)), dtype) in g.iter().zip(w).zip(&types) {
                prop_assert!(same(g, w, dtype), "{:?} {:?} {}", g, w, dtype);
            }
        }
    }

    #[test]
    fn any_text_means_the_same_in_any_chunks_and_to_both_tokenizers(
        text in "[ab1.,\"\n\r ]{0,200}", chunk in 1usize..64, skip_blank in any::<bool>(),
    ) {
        let text = format!("h,i\n{text}");
        let opts = json!({"skip_blank_lines": skip_blank});
        let run = |tuning| {
            let read = read_with(text.as_bytes(), opts.clone(), tuning);
            read.map(|t| (dtypes(&t), rows(&t))).map_err(|e| e.to_string())
        };
        let whole = run(Tuning { chunk_bytes: Some(1 << 20), general: false });
        prop_assert_eq!(&run(Tuning { chunk_bytes: Some(chunk), general: false }), &whole);
        prop_assert_eq!(&run(Tuning { chunk_bytes: Some(chunk), general: true }), &whole);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_with(&bytes, Value::Null, Tuning { chunk_bytes: Some(16), general: false });
        let _ = read_with(&bytes, json!({"sep": "\\s+", "comment": "#"}), Tuning::default());
    }
}

#[test]
fn repeated_names_are_refused_where_they_are_not_to_be_numbered() {
    let off = || json!({"mangle_dupe_cols": false});
    let e = fails("a,b,a\n1,2,3\n", off());
    assert_eq!((e.slug(), e.field()), ("invalid-option", Some("mangle_dupe_cols")));
    assert!(
        e.to_string().contains("\"a\" more than once") && e.to_string().contains("\"a.1\""),
        "{e}"
    );
    assert_eq!(read("a,b,a.1\n1,2,3\n", off()).column_names(), ["a", "b", "a.1"]);
    assert_eq!(read("1,1\n", json!({"mangle_dupe_cols": false, "header": "none"})).num_cols(), 2);
    let on = json!({"mangle_dupe_cols": true});
    assert_eq!(read("a,a\n1,2\n", on).column_names(), ["a", "a.1"]);
}

#[test]
fn null_is_what_it_is_to_pandas_or_refused_by_name() {
    let plain = cells(&read("a,b\n1,2\n", Value::Null));
    for name in [
        "nrows",
        "names",
        "skiprows",
        "comment",
        "usecols",
        "dtype",
        "encoding",
        "delimiter",
        "thousands",
        "escapechar",
    ] {
        assert_eq!(cells(&read("a,b\n1,2\n", json!({name: null}))), plain, "{name}");
    }
    for name in ["sep", "quotechar", "decimal", "doublequote", "na_filter", "skip_blank_lines"] {
        let e = fails("a,b\n1,2\n", json!({name: null}));
        assert_eq!((e.slug(), e.field()), ("invalid-option", Some(name)));
        assert!(e.to_string().contains("cannot be null: "), "{e}");
    }
}
