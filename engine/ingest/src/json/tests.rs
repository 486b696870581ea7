//! Behaviour of the JSON reader.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use graphlume_table::{cell_text, pandas_dtype};
use graphlume_types::Coded;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parsed(text: &str, options: Value) -> Result<Parsed, IngestError> {
    let options = options.as_object().cloned().unwrap_or_default();
    super::parse(&Bytes::from(text.to_owned()), Options(&options), &ParseCx::default())
}

fn read(text: &str, options: Value) -> Table {
    let done = parsed(text, options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    done.tables[0].1.clone()
}

/// `name:dtype` of each column, then the rows.
fn show(table: &Table) -> String {
    let schema = table.batch().schema();
    let head =
        schema.fields().iter().map(|f| format!("{}:{}", f.name(), pandas_dtype(f.data_type())));
    let mut out = head.collect::<Vec<_>>().join(" ");
    for row in 0..table.num_rows() {
        let cell = |c: &arrow_array::ArrayRef| cell_text(c.as_ref(), row).unwrap_or("~".into());
        let cells: Vec<_> = table.batch().columns().iter().map(cell).collect();
        out += &format!("\n{}", cells.join("|"));
    }
    out
}

#[test]
fn numbers_that_no_float_is_are_counted_in_every_orientation() {
    for (text, count) in [
        (r#"[{"a":9007199254740993},{"a":0.5},{"a":18446744073709551615}]"#, 2),
        (
            r#"[{"a":0.5},{"a":0.12345678901234567891},{"a":1e300},{"a":0.1000000000000000055511}]"#,
            1,
        ),
        (r#"{"a":[9007199254740993,0.5],"b":[1,2]}"#, 1),
        (r#"{"a":{"u":0.12345678901234567891},"b":{"v":1,"u":2}}"#, 1),
        (r#"{"b":{"v":1,"u":2},"a":{"u":0.12345678901234567891}}"#, 1),
        (r#"[{"a":9007199254740993},{"a":18446744073709551615}]"#, 0),
        (r#"[{"a":0.12345678901234567891},{"a":"x"}]"#, 0),
    ] {
        let said = parsed(text, json!({})).unwrap().cut;
        assert_eq!(said.len(), usize::from(count > 0), "{text}: {said:?}");
        let shown = format!("\"a\" holds {count} numbers");
        assert!(said.iter().all(|s| s.contains(&shown)), "{text}: {said:?}");
        let asked = parsed(text, json!({"dtype": {"a": "str"}})).unwrap();
        assert!(asked.cut.is_empty(), "{text}");
    }
    let one = "{\"a\":9007199254740993}\n".repeat(30_000) + "{\"a\":0.5}\n";
    let said = parsed(&one, json!({})).unwrap().cut;
    assert!(said[0].contains("holds at least 30000 numbers"), "{said:?}");
}

const WANT: &str = "a:int64 b:object\n1|x\n2|~";

#[test]
fn every_orientation_gives_the_same_table() {
    for (orient, text) in [
        ("records", r#"[{"a":1,"b":"x"},{"a":2,"b":null}]"#),
        ("records", r#"[{"a":1,"b":"x"},{"a":2}]"#),
        ("columns", r#"{"a":{"0":1,"1":2},"b":{"0":"x","1":null}}"#),
        ("columns", r#"{"a":{"0":1,"1":2},"b":{"0":"x"}}"#),
        ("columns", r#"{"a":{"u":1,"v":2},"b":{"v":null,"u":"x"}}"#),
        ("columns", r#"{"a":[1,2],"b":["x",null]}"#),
        ("index", r#"{"0":{"a":1,"b":"x"},"1":{"a":2,"b":null}}"#),
        ("split", r#"{"columns":["a","b"],"index":[0,1],"data":[[1,"x"],[2,null]]}"#),
        ("split", r#"{"data":[[1,"x"],[2]],"columns":["a","b"]}"#),
        ("table", r#"{"schema":{"fields":[]},"data":[{"a":1,"b":"x"},{"a":2,"b":null}]}"#),
        (
            "table",
            r#"{"schema":{"fields":[{"name":"index","type":"integer"},{"name":"a","type":"integer"}],
                "primaryKey":["index"]},"data":[{"index":0,"a":1,"b":"x"},{"index":1,"a":2}]}"#,
        ),
        // The first character tells rows from columns.
        ("records", r#"{"a":[1,2],"b":["x",null]}"#),
        ("columns", r#"[{"a":1,"b":"x"},{"a":2}]"#),
    ] {
        assert_eq!(show(&read(text, json!({ "orient": orient }))), WANT, "{text}");
    }
    let t = read(r#"[[1,"x"],[2,null]]"#, json!({"orient": "values"}));
    assert_eq!(show(&t), WANT.replace("a:", "0:").replace("b:", "1:"));
}

#[test]
fn the_shape_is_recognised_without_options() {
    for text in [
        r#" [{"a":1,"b":"x"},{"b":null,"a":2}]"#,
        "{\"a\":1,\"b\":\"x\"}\n\n{\"a\":2}\r\n",
        r#"{"a":[1,2],"b":["x",null]}"#,
        "\u{feff}{\"a\":{\"0\":1,\"1\":2},\"b\":{\"0\":\"x\"}}",
    ] {
        assert_eq!(show(&read(text, Value::Null)), WANT, "{text}");
    }
    // One line of JSON lines is one record.
    assert_eq!(show(&read(r#"{"a":1,"b":"x"}"#, Value::Null)), "a:int64 b:object\n1|x");
    assert_eq!(
        show(&read("{\"a\":[1]}\n{\"a\":[2]}", json!({"lines": true}))),
        "a:object\n[1]\n[2]"
    );
    assert_eq!(read("[]", Value::Null).num_rows(), 0);
    assert_eq!(read("{}", Value::Null).num_cols(), 0);
}

#[test]
fn the_browser_client_adds_its_name_beside_the_columns() {
    let text = r#"{"s":["a"],"d":["b"],"agent_name":"@x/y","agent_version":"5.1.8","w":3}"#;
    let p = parsed(text, Value::Null).unwrap();
    assert_eq!(
        (p.agent_name.as_deref(), p.agent_version.as_deref()),
        (Some("@x/y"), Some("5.1.8"))
    );
    assert_eq!(show(&p.tables[0].1), "s:object d:object w:int64\na|b|3");
    // A real column of that name stays a column.
    let t = read(r#"{"agent_name":["a"]}"#, Value::Null);
    assert_eq!(t.column_names(), ["agent_name"]);
}

#[test]
fn columns_widen_and_mixtures_become_text() {
    let one = |values: &str| show(&read(&format!("{{\"c\":[{values}]}}"), Value::Null));
    assert_eq!(one("1,2.5,null"), "c:float64\n1.0\n2.5\n~");
    assert_eq!(one("null,true,false"), "c:bool\n~\ntrue\nfalse");
    assert_eq!(one("1,\"x\",2.5,true,null"), "c:object\n1\nx\n2.5\nTrue\n~");
    assert_eq!(one("1,18446744073709551615"), "c:uint64\n1\n18446744073709551615");
    assert_eq!(one("-1,18446744073709551615"), "c:object\n-1\n18446744073709551615");
    assert_eq!(one("null,null"), "c:float64\n~\n~");
    assert_eq!(one("[1,{\"x\":2}],{}"), "c:object\n[1,{\"x\":2}]\n{}");
    assert_eq!(one("\"\\u00e9\\n\""), "c:object\né\n");
    assert_eq!(one("NaN,Infinity,-Infinity"), "c:float64\n~\ninf\n-inf");
    // Numbers among texts are as they are written, wherever the text stands.
    assert_eq!(one("1,2.50,1e3,\"x\""), "c:object\n1\n2.50\n1e3\nx");
    assert_eq!(one("18446744073709551616,1"), "c:object\n18446744073709551616\n1");
    let t = read(r#"[{"a":1},{"a":2.50},{"a":"x"}]"#, Value::Null);
    assert_eq!(show(&t), "a:object\n1\n2.50\nx");
}

#[test]
fn types_can_be_demanded() {
    let text = r#"[{"a":"007","b":1,"c":"2020-01-02","d":2.0},{"a":null,"b":2,"c":null,"d":3}]"#;
    let t = read(
        text,
        json!({"dtype": {"a": "int64", "b": "str", "c": "datetime64[ns]", "d": "int8"}}),
    );
    assert_eq!(
        show(&t),
        "a:int64 b:object c:datetime64[us] d:int8\n7|1|2020-01-02T00:00:00|2\n~|2|~|3"
    );
    for dtype in [json!(true), json!(false)] {
        assert_eq!(show(&read(text, json!({"dtype": dtype}))).lines().count(), 3);
    }
    let e = parsed(r#"[{"a":1},{"a":"x"}]"#, json!({"dtype": {"a": "int64"}})).unwrap_err();
    assert_eq!((e.to_record().row, e.to_record().column.as_deref()), (Some(2), Some("a")));
    let p = parsed("[{\"a\":1}]", json!({"dtype": {"b": "int64"}})).unwrap();
    assert!(p.warnings[0].contains("\"b\""), "{:?}", p.warnings);
    let table = r#"{"schema":{"fields":[{"name":"w","type":"number"},{"name":"t","type":"datetime"}]},
        "data":[{"w":1,"t":"2020-01-02T03:04:05.000"}]}"#;
    assert_eq!(
        show(&read(table, json!({"orient": "table"}))),
        "w:float64 t:datetime64[us]\n1.0|2020-01-02T03:04:05"
    );
}

#[test]
fn long_lines_of_json_mean_the_same_over_many_chunks() {
    let mut text = String::new();
    for i in 0..40_000 {
        let member = if i % 1_000 == 999 { ",\"late\":\"x\"" } else { "" };
        text += &format!("{{\"id\":{i},\"name\":\"n{i}\",\"w\":{}.5{member}}}\r\n", i % 7);
    }
    assert!(text.len() > 1 << 20);
    let t = read(&text, json!({"lines": true}));
    assert_eq!((t.column_names(), t.num_rows()), (vec!["id", "name", "w", "late"], 40_000));
    let cell = |name: &str, row| cell_text(t.column(name).unwrap().as_ref(), row);
    assert_eq!(cell("id", 39_999).as_deref(), Some("39999"));
    assert_eq!((cell("late", 39_998), cell("late", 39_999).as_deref()), (None, Some("x")));
    // A number far from any text is still as it is written.
    let mixed = text + "{\"id\":\"z\"}\n";
    let t = read(&mixed, json!({"lines": true}));
    assert_eq!(show(&t).lines().nth(1), Some("0|n0|0.5|~"));
    let e = parsed(&(mixed + "{\"id\":}\n"), json!({"lines": true})).unwrap_err();
    assert_eq!(e.to_record().row, Some(40_002));
}

#[test]
fn faults_name_their_place() {
    let e = parsed("{\"a\":1}\n{\"a\":2}\n{\"a\":}\n", Value::Null).unwrap_err();
    assert_eq!((e.slug(), e.to_record().row), ("malformed-json", Some(3)));
    let e = parsed(r#"{"a":[1,2],"b":[1]}"#, Value::Null).unwrap_err();
    assert_eq!(e.to_string(), r#"column "b" has 1 values but column "a" has 2"#);
    assert_eq!(e.to_record().column.as_deref(), Some("b"));
    for bad in [
        "",
        "nul",
        "3",
        "\"x\"",
        "[1]",
        "[{\"a\":1},2]",
        "[{\"a\":1}",
        "[{\"a\":1}]]",
        "{\"a\":[1}",
    ] {
        assert_eq!(parsed(bad, Value::Null).unwrap_err().slug(), "malformed-json", "{bad}");
    }
    assert!(parsed(r#"[{"a":1,"a":2}]"#, Value::Null).unwrap_err().to_string().contains("twice"));
    assert_eq!(parsed(r#"{"a":[1],"a":[2]}"#, Value::Null).unwrap_err().slug(), "duplicate-column");
    assert_eq!(parsed("[]", json!({"orient": "up"})).unwrap_err().field(), Some("orient"));
    assert!(parsed(r#"{"data":[[1]]}"#, json!({"orient": "split"})).is_err());
    assert!(parsed(r#"{"columns":["a"],"data":[[1,2]]}"#, json!({"orient": "split"})).is_err());
}

#[test]
fn a_small_document_is_not_blown_up() {
    let wide: Vec<_> = (0..4_000).map(|i| format!("\"c{i}\":1")).collect();
    let bomb = format!("[{{{}}}{}]", wide.join(","), ",{}".repeat(200_000));
    assert_eq!(parsed(&bomb, Value::Null).unwrap_err().slug(), "too-large");
    let text = "x".repeat(100_000);
    let bomb = format!("{{\"a\":[{}0],\"t\":\"{text}\"}}", "0,".repeat(100_000));
    assert_eq!(parsed(&bomb, Value::Null).unwrap_err().slug(), "too-large");
    let deep = format!("[{{\"a\":{}{}}}]", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(parsed(&deep, Value::Null).unwrap_err().slug(), "too-large");
}

#[test]
fn every_truncation_is_an_error() {
    let text = r#"{"a":{"0":1,"1":2.5},"b":{"0":"é\n","1":[1,{"c":null}]}}"#;
    for len in (0..text.len()).filter(|n| text.is_char_boundary(*n)) {
        assert!(parsed(&text[..len], Value::Null).is_err(), "{len}");
    }
}

proptest! {
    #[test]
    fn records_and_columns_agree(
        rows in proptest::collection::vec((any::<i64>(), proptest::option::of(any::<f64>()), ".{0,8}"), 1..20)
    ) {
        let records: Vec<_> = rows.iter().map(|(a, b, c)| json!({"a": a, "b": b, "c": c})).collect();
        let columns = json!({
            "a": rows.iter().map(|r| r.0).collect::<Vec<_>>(),
            "b": rows.iter().map(|r| r.1).collect::<Vec<_>>(),
            "c": rows.iter().map(|r| r.2.clone()).collect::<Vec<_>>(),
        });
        let lines: Vec<_> = records.iter().map(Value::to_string).collect();
        let one = read(&Value::from(records).to_string(), Value::Null);
        prop_assert_eq!(&read(&columns.to_string(), Value::Null), &one);
        prop_assert_eq!(&read(&lines.join("\n"), json!({"lines": true})), &one);
        prop_assert_eq!(one.num_rows(), rows.len());
        for (i, (a, _, c)) in rows.iter().enumerate() {
            let cell = |n: &str| cell_text(one.column(n).unwrap().as_ref(), i);
            prop_assert_eq!(cell("a"), Some(a.to_string()));
            prop_assert_eq!(cell("c"), Some(c.clone()));
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "[\\[\\]{}\",:0-9a-c\n -]{0,80}") {
        let _ = parsed(&text, Value::Null);
        for orient in ["split", "records", "index", "columns", "values", "table"] {
            let _ = parsed(&text, json!({"orient": orient}));
        }
    }
}

#[test]
fn utf_16_is_read_by_the_mark_at_its_start() {
    let text = "[{\"a\":1,\"b\":\"\u{e4}\u{1f600}\"},{\"a\":2,\"b\":null}]";
    for big in [false, true] {
        let unit = |u: u16| if big { u.to_be_bytes() } else { u.to_le_bytes() };
        let bytes: Vec<u8> =
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(unit).collect();
        let none = serde_json::Map::new();
        let read = |bytes: &[u8]| {
            super::parse(&Bytes::copy_from_slice(bytes), Options(&none), &ParseCx::default())
        };
        let done = read(&bytes).unwrap();
        assert_eq!(show(&done.tables[0].1), "a:int64 b:object\n1|\u{e4}\u{1f600}\n2|~");
        let e = read(&bytes[..bytes.len() - 1]).unwrap_err();
        assert!(e.slug() == "malformed-json" && e.to_string().contains("UTF-16"), "{e}");
    }
}

#[test]
fn text_is_looked_at_in_pieces_that_end_within_characters() {
    let text = format!("a{}", "\u{1f600}".repeat(5 << 20));
    assert_eq!(super::utf8(text.as_bytes()), Ok(text.as_str()));
    let mut bytes = text.into_bytes();
    assert_eq!(super::utf8(&bytes[..bytes.len() - 1]), Err(bytes.len() - 4));
    let at = 4 * (3 << 20) + 1;
    bytes[at] = b'x';
    assert_eq!(super::utf8(&bytes), Err(at + 1));
    assert_eq!(super::utf8(b""), Ok(""));
}
