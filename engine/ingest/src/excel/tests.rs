#![allow(clippy::unwrap_used)]
use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_schema::{DataType, TimeUnit};
use graphlume_types::Coded;
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::{ParseSpec, Source};

const STYLES: &str = r#"<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">
<cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="22"/><xf numFmtId="21"/><xf numFmtId="46"/></cellXfs>
</styleSheet>"#;

/// An archive with these parts.
fn package(parts: &[(String, String)]) -> Vec<u8> {
    let mut w = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in parts {
        w.start_file(name.as_str(), SimpleFileOptions::default()).unwrap();
        w.write_all(text.as_bytes()).unwrap();
    }
    w.finish().unwrap().into_inner()
}

/// The parts of a workbook with these sheets (name and rows) and shared texts.
fn parts(sheets: &[(&str, &str)], shared: &str) -> Vec<(String, String)> {
    let (mut list, mut links, mut out) = (String::new(), String::new(), Vec::new());
    for (i, (name, rows)) in sheets.iter().enumerate() {
        let n = i + 1;
        list += &format!(r#"<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>"#);
        links += &format!(
            r#"<Relationship Id="rId{n}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet{n}.xml"/>"#
        );
        let text = format!("<worksheet>{}<sheetData>{rows}</sheetData></worksheet>", "");
        out.push((format!("xl/worksheets/sheet{n}.xml"), text));
    }
    let book = format!(r#"<workbook xmlns:r="r"><sheets>{list}</sheets></workbook>"#);
    let rels = format!("<Relationships>{links}</Relationships>");
    let root = r#"<Relationships><Relationship Id="r" Target="xl/workbook.xml"
        Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/>
        </Relationships>"#;
    out.push(("_rels/.rels".to_owned(), root.to_owned()));
    out.push(("[Content_Types].xml".to_owned(), "<Types></Types>".to_owned()));
    out.push(("xl/workbook.xml".to_owned(), book));
    out.push(("xl/_rels/workbook.xml.rels".to_owned(), rels));
    out.push(("xl/styles.xml".to_owned(), STYLES.to_owned()));
    if !shared.is_empty() {
        out.push(("xl/sharedStrings.xml".to_owned(), shared.to_owned()));
    }
    out
}

fn book(sheets: &[(&str, &str)]) -> Vec<u8> {
    package(&parts(sheets, ""))
}

/// A row of cells: `#` in front of a number, `@` of a date, `!` of an error; text otherwise.
fn row(n: usize, cells: &[&str]) -> String {
    let mut out = format!(r#"<row r="{n}">"#);
    for (i, cell) in cells.iter().enumerate() {
        let at = format!("{}{n}", char::from(b'A' + i as u8));
        out += &match cell.split_at_checked(1) {
            None => String::new(),
            Some(("#", v)) => format!(r#"<c r="{at}"><v>{v}</v></c>"#),
            Some(("=", v)) => format!(r#"<c r="{at}"><f>A1+1</f><v>{v}</v></c>"#),
            Some(("@", v)) => format!(r#"<c r="{at}" s="1"><v>{v}</v></c>"#),
            Some(("%", v)) => format!(r#"<c r="{at}" s="3"><v>{v}</v></c>"#),
            Some(("?", v)) => format!(r#"<c r="{at}" t="b"><v>{v}</v></c>"#),
            Some(("!", v)) => format!(r##"<c r="{at}" t="e"><v>#{v}</v></c>"##),
            Some(_) => format!(r#"<c r="{at}" t="inlineStr"><is><t>{cell}</t></is></c>"#),
        };
    }
    out + "</row>"
}

fn rows(rows: &[&[&str]]) -> String {
    rows.iter().enumerate().map(|(i, cells)| row(i + 1, cells)).collect()
}

fn read_with(options: Value, bytes: Vec<u8>) -> Result<Vec<(String, Table)>, IngestError> {
    let options = options.as_object().unwrap().clone();
    let spec = ParseSpec { options, ..ParseSpec::plain(Format::Xlsx) };
    let source = Source::Bytes(bytes.into());
    crate::parse(&spec, &source, &ParseCx::default()).map(|p| p.tables)
}

fn read(bytes: Vec<u8>) -> Result<Vec<(String, Table)>, IngestError> {
    read_with(json!({}), bytes)
}

fn one(rows_of: &[&[&str]]) -> Table {
    read(book(&[("S", &rows(rows_of))])).unwrap().remove(0).1
}

fn texts(table: &Table, name: &str) -> Vec<Option<String>> {
    let column = table.column(name).unwrap();
    column.as_string::<i32>().iter().map(|v| v.map(str::to_owned)).collect()
}

#[test]
fn columns_have_the_types_of_pandas() {
    let table = one(&[
        &["int", "gap", "float", "bool", "date", "text", "word", "error", "formula", "span"],
        &["#1", "#1", "#1.5", "?1", "@43831", "a", "007", "!N/A", "=2", "%1.25"],
        &["#-2.0", "", "#2", "?0", "@43831.5", "NA", "8", "#3", "=4.5", "%0.5"],
        &["#3e3", "#3", "", "?1", "", "c", "", "!DIV/0!", "=1", ""],
    ]);
    let types: Vec<_> =
        table.batch().schema().fields().iter().map(|f| f.data_type().clone()).collect();
    use DataType as D;
    let micros = D::Timestamp(TimeUnit::Microsecond, None);
    let span = D::Duration(TimeUnit::Microsecond);
    let (f, i) = (D::Float64, D::Int64);
    let want =
        [i.clone(), i.clone(), f.clone(), D::Boolean, micros, D::Utf8, i.clone(), i, f, span];
    assert_eq!(types, want);
    let ints = |name| -> Vec<_> {
        table.column(name).unwrap().as_primitive::<Int64Type>().iter().collect()
    };
    assert_eq!(ints("int"), [Some(1), Some(-2), Some(3000)]);
    assert_eq!(ints("gap"), [Some(1), None, Some(3)]);
    assert_eq!(ints("word"), [Some(7), Some(8), None]);
    assert_eq!(ints("error"), [None, Some(3), None]);
    let formula = table.column("formula").unwrap().as_primitive::<Float64Type>();
    assert_eq!(formula.values(), &[2.0, 4.5, 1.0]);
    let dates = table.column("date").unwrap().as_primitive::<TimestampMicrosecondType>();
    assert_eq!(dates.value(0), 1_577_836_800_000_000);
    assert_eq!(dates.value(1) - dates.value(0), 43_200_000_000);
    assert_eq!(texts(&table, "text"), [Some("a".to_owned()), None, Some("c".to_owned())]);
}

#[test]
fn mixed_columns_are_text_as_python_shows_it() {
    let table = one(&[
        &["m", "d", "b"],
        &["#1", "@43831.25", "?1"],
        &["x", "#5", "yes"],
        &["#2.5", "@43831.000011574", "?0"],
        &["!N/A", "@0.75", "007"],
    ]);
    let got = |name| texts(&table, name).into_iter().map(Option::unwrap_or_default);
    assert!(got("m").eq(["1", "x", "2.5", ""]));
    assert!(got("d").eq(["2020-01-01 06:00:00", "5", "2020-01-01 00:00:01", "18:00:00"]));
    assert!(got("b").eq(["True", "yes", "False", "007"]));
}

#[test]
fn names_come_from_the_first_row() {
    let table = one(&[&["a", "a", "a.1", "#1", "#2.5", "?1", "@43831", "", "b", "", "b"], &["#1"]]);
    let want = [
        "a",
        "a.2",
        "a.1",
        "1",
        "2.5",
        "True",
        "2020-01-01 00:00:00",
        "Unnamed: 7",
        "b",
        "Unnamed: 9",
        "b.1",
    ];
    assert_eq!(table.column_names(), want);
    assert_eq!(table.num_rows(), 1);
}

#[test]
fn empty_sheets_are_left_out_unless_there_is_nothing_else() {
    let some = rows(&[&["a"], &["#1"]]);
    let names =
        |tables: Vec<(String, Table)>| tables.into_iter().map(|(n, _)| n).collect::<Vec<_>>();
    let three = book(&[("first", ""), ("second", &some), ("third", "")]);
    assert_eq!(names(read(three.clone()).unwrap()), ["second"]);
    let asked = read_with(json!({"sheet_name": ["third", 1]}), three.clone()).unwrap();
    assert_eq!(names(asked), ["third", "second"]);
    let e = read_with(json!({"sheet_name": ["nope"]}), three).unwrap_err();
    assert!(e.to_string().contains("there are [\"first\", \"second\", \"third\"]"), "{e}");
    let empty = read(book(&[("one", ""), ("two", "")])).unwrap();
    assert_eq!((empty.len(), empty[0].0.as_str()), (1, "one"));
    assert_eq!((empty[0].1.num_rows(), empty[0].1.num_cols()), (0, 0));
}

#[test]
fn options_choose_rows_columns_and_names() {
    let sheet = rows(&[&["junk"], &["a", "b", "c"], &["#1", "#2", "-"], &["#3", "#4", "#9"]]);
    let read = |options: Value| {
        let table = read_with(options, book(&[("S", &sheet)]));
        table.map(|mut t| t.remove(0).1)
    };
    let table = read(json!({"skiprows": 1, "na_values": ["-"], "usecols": ["c", 0]})).unwrap();
    assert_eq!(table.column_names(), ["a", "c"]);
    assert_eq!(table.column("c").unwrap().as_primitive::<Int64Type>().value(1), 9);
    let table = read(json!({"header": 1, "nrows": 1, "names": ["x", "y", "z"]})).unwrap();
    assert_eq!((table.num_rows(), table.column_names()), (1, vec!["x", "y", "z"]));
    let table = read(json!({"header": "none", "skiprows": 2})).unwrap();
    assert_eq!((table.num_rows(), table.column_names()), (2, vec!["0", "1", "2"]));
    for (options, field) in [
        (json!({"header": 9}), "header"),
        (json!({"header": -1}), "header"),
        (json!({"names": ["x"]}), "names"),
        (json!({"usecols": ["q"]}), "usecols"),
        (json!({"sheet_name": [1]}), "sheet_name"),
    ] {
        let e = read(options).unwrap_err();
        assert_eq!((e.slug(), e.field()), ("invalid-option", Some(field)), "{e}");
    }
}

#[test]
fn a_stray_cell_and_a_claimed_size_cost_nothing() {
    let claim =
        r#"<worksheet><dimension ref="A1:XFD1048576"/><sheetData><row><c><v>1</v></c></row>"#;
    let mut claims = parts(&[("S", "")], "");
    claims[0].1 = format!("{claim}</sheetData></worksheet>");
    assert_eq!(read(package(&claims)).unwrap()[0].1.num_cols(), 1);
    let stray = r#"<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>"#;
    let e = read(book(&[("S", stray)])).unwrap_err();
    assert_eq!(e.slug(), "too-large");
    let record = e.to_record();
    assert_eq!((record.row, record.column.as_deref()), (Some(1_048_576), Some("XFD")));
    let wide = r#"<row r="1"><c r="XFD1"><v>1</v></c></row>"#;
    assert_eq!(read(book(&[("S", wide)])).unwrap_err().slug(), "too-many-columns");
}

#[test]
fn shared_texts_are_bounded_before_they_are_kept() {
    let sheet = r#"<row r="1"><c r="A1" t="s"><v>0</v></c></row>"#;
    let read = |shared: &str| read(package(&parts(&[("S", sheet)], shared)));
    let few = r#"<sst count="1" uniqueCount="1"><si><t>name</t></si></sst>"#;
    assert_eq!(read(few).unwrap()[0].1.column_names(), ["name"]);
    for claim in ["99999999999", "10000000", "99999999999999999999999999"] {
        let e = read(&few.replace("uniqueCount=\"1\"", &format!("uniqueCount = \"{claim}\"")));
        assert_eq!(e.unwrap_err().slug(), "decompression-limit", "{claim}");
    }
    let e = read(&format!("<sst>{}</sst>", "<si><t>x</t></si>".repeat(5_000_000))).unwrap_err();
    assert_eq!(e.slug(), "decompression-limit");
    assert!(e.to_string().contains("shared texts"), "{e}");
    let e = read(&format!("<?xml version=\"1.0\" encoding=\"UTF-16\"?>{few}")).unwrap_err();
    assert_eq!(e.slug(), "malformed-xlsx");
    let mut styled = parts(&[("S", sheet)], "");
    let styles = styled.iter_mut().find(|(name, _)| name == "xl/styles.xml").unwrap();
    styles.1 = format!("<styleSheet><cellXfs>{}</cellXfs></styleSheet>", "<xf/>".repeat(2_000_000));
    let e = super::tests::read(package(&styled)).unwrap_err();
    assert!(e.slug() == "decompression-limit" && e.to_string().contains("styles"), "{e}");
    // One text in very many cells.
    let shared = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(32_000));
    let cells: String =
        (1..=20_000).map(|n| format!(r#"<row r="{n}"><c t="s"><v>0</v></c></row>"#)).collect();
    let e = super::tests::read(package(&parts(&[("S", &cells)], &shared))).unwrap_err();
    assert_eq!(e.slug(), "decompression-limit");
}

#[test]
fn entities_of_the_document_are_not_followed() {
    let sheet = r#"<row r="1"><c r="A1" t="s"><v>0</v></c></row>"#;
    let evil = r#"<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>
        <sst><si><t>&e;</t></si></sst>"#;
    let hostname = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    match read(package(&parts(&[("S", sheet)], evil))) {
        Err(e) => assert_eq!(e.slug(), "malformed-xlsx"),
        Ok(tables) => assert!(tables[0].1.column_names().iter().all(|n| *n != hostname.trim())),
    }
}

#[test]
fn damaged_workbooks_are_errors_and_never_panics() {
    let whole = book(&[("S", &rows(&[&["a", "b"], &["#1", "x"]]))]);
    for len in 0..whole.len() {
        assert_eq!(read(whole[..len].to_vec()).unwrap_err().slug(), "malformed-xlsx", "{len}");
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        let _ = read(damaged);
    }
    let missing: Vec<_> = parts(&[("S", "")], "").into_iter().skip(1).collect();
    assert_eq!(read(package(&missing)).unwrap_err().slug(), "malformed-xlsx");
    let e = read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec()).unwrap_err();
    assert!(e.to_string().contains("password"), "{e}");
}

/// A record of the old format.
fn record(kind: u16, content: &[u8]) -> Vec<u8> {
    let mut out = kind.to_le_bytes().to_vec();
    out.extend((content.len() as u16).to_le_bytes());
    out.extend(content);
    out
}

/// An old workbook with one sheet of these records.
fn old_book(records: &[Vec<u8>]) -> Vec<u8> {
    let begin = record(0x0809, &[0, 6, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let end = record(0x000a, &[]);
    let sheet = |at: u32| {
        let mut content = at.to_le_bytes().to_vec();
        content.extend([0, 0, 3, 0]);
        content.extend(b"old");
        record(0x0085, &content)
    };
    let at = (begin.len() + sheet(0).len() + end.len()) as u32;
    let mut stream = [begin.clone(), sheet(at), end.clone(), begin].concat();
    stream.extend(records.concat());
    stream.extend(end);
    biff::wrap(&stream)
}

fn number(row: u16, column: u16, v: f64) -> Vec<u8> {
    let mut content = [row.to_le_bytes(), column.to_le_bytes(), [0, 0]].concat();
    content.extend(v.to_le_bytes());
    record(0x0203, &content)
}

fn label(row: u16, column: u16, text: &str) -> Vec<u8> {
    let mut content = [row.to_le_bytes(), column.to_le_bytes(), [0, 0]].concat();
    content.extend((text.len() as u16).to_le_bytes());
    content.push(0);
    content.extend(text.as_bytes());
    record(0x0204, &content)
}

fn read_old(bytes: Vec<u8>) -> Result<Vec<(String, Table)>, IngestError> {
    let source = Source::Bytes(bytes.into());
    crate::parse(&ParseSpec::plain(Format::Xls), &source, &ParseCx::default()).map(|p| p.tables)
}

#[test]
fn old_workbooks_are_read() {
    let cells = [
        label(0, 0, "a"),
        label(0, 1, "b"),
        number(1, 0, 7.0),
        number(2, 0, 9.0),
        label(2, 1, "x"),
    ];
    let tables = read_old(old_book(&cells)).unwrap();
    let (name, table) = &tables[0];
    assert_eq!((name.as_str(), table.column_names()), ("old", vec!["a", "b"]));
    assert_eq!(table.column("a").unwrap().as_primitive::<Int64Type>().values(), &[7, 9]);
    assert_eq!(texts(table, "b"), [None, Some("x".to_owned())]);
}

#[test]
fn old_workbooks_that_claim_or_span_too_much_are_refused() {
    let span = [number(0, 0, 1.0), number(65_535, 255, 1.0)];
    // One full sheet is legal, empty as it is.
    assert_eq!(read_old(old_book(&span)).unwrap()[0].1.num_cols(), 256);
    for column in [256, 60_000] {
        let wide = [number(0, 0, 1.0), number(65_535, column, 1.0)];
        let e = read_old(old_book(&wide)).unwrap_err();
        assert!(
            e.slug() == "too-large" && e.to_string().contains("span more than 16777216"),
            "{e}"
        );
    }
    let claim = [[0; 4], [0xff; 4], [0, 0, 0xff, 0xff], [0; 4]].concat();
    let e = read_old(old_book(&[record(0x0200, &claim[..14])])).unwrap_err();
    assert_eq!(e.slug(), "too-large", "{e}");
}

#[test]
fn damaged_old_workbooks_are_errors_and_never_panics() {
    let whole = old_book(&[label(0, 0, "a"), number(1, 0, 7.0)]);
    for len in (0..whole.len()).step_by(61) {
        if let Err(e) = read_old(whole[..len].to_vec()) {
            assert_eq!(e.slug(), "malformed-xls", "{len}");
        }
    }
    for at in (0..whole.len()).filter(|at| whole[*at] != 0) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        let _ = read_old(damaged);
    }
    let e = read_old(b"PK\x03\x04".to_vec()).unwrap_err();
    assert!(e.to_string().contains("xlsx"), "{e}");
}

#[test]
fn a_demanded_type_holds_for_cells_of_a_sheet() {
    let sheet = rows(&[
        &["a", "b", "c", "d", "a"],
        &["007", "#7.0", "@43831", "#1", "01"],
        &["#7", "#2.5", "@43831.5", "TRUE", "NA"],
        &["?1", "x", "", "#0", ""],
    ]);
    let read = |dtype: Value| read_with(json!({"dtype": dtype}), book(&[("S", &sheet)]));
    let table = read(json!({"a": "str", "b": "str", "c": "datetime64[ns]", "d": "bool"}));
    let table = table.unwrap().remove(0).1;
    let got = |name| texts(&table, name).into_iter().map(Option::unwrap_or_default);
    assert!(got("a").eq(["007", "7", "True"]));
    assert!(got("b").eq(["7", "2.5", "x"]));
    assert!(got("a.1").eq(["01", "", ""]), "what is demanded of a repeated name goes for all");
    assert!(matches!(table.column("c").unwrap().data_type(), DataType::Timestamp(..)));
    let bools = table.column("d").unwrap().as_boolean();
    assert_eq!(bools.iter().collect::<Vec<_>>(), [Some(true), Some(true), Some(false)]);
    let all = read(json!("str")).unwrap().remove(0).1;
    assert_eq!(texts(&all, "c")[1].as_deref(), Some("2020-01-01 12:00:00"));
    let e = read(json!({"b": "int64"})).unwrap_err();
    assert!(e.to_string().contains("row 2 of the table, column \"b\": \"2.5\" is not"), "{e}");
    let e = read(json!({"b": "Txt"})).unwrap_err();
    assert_eq!((e.slug(), e.field()), ("invalid-option", Some("dtype")));
    let small = read(json!({"d": "Int8", "a": "str"})).unwrap_err();
    assert!(small.to_string().contains("column \"d\""), "a boolean is no Int8: {small}");
}

#[test]
fn a_type_for_a_column_of_no_sheet_is_told_once() {
    let (one, two) = (rows(&[&["a"], &["007"]]), rows(&[&["b"], &["008"]]));
    let bytes = book(&[("S", &one), ("T", &two)]);
    let options = json!({"dtype": {"a": "str", "b": "str", "c": "str"}});
    let options = options.as_object().unwrap().clone();
    let spec = ParseSpec { options, ..ParseSpec::plain(Format::Xlsx) };
    let parsed = crate::parse(&spec, &Source::Bytes(bytes.into()), &ParseCx::default()).unwrap();
    assert!(parsed.warnings.len() == 1 && parsed.warnings[0].contains("\"c\""), "{parsed:?}");
    assert_eq!(texts(&parsed.tables[1].1, "b"), [Some("008".to_owned())]);
}

#[test]
fn ids_beyond_what_a_workbook_holds_are_told() {
    let sheet = rows(&[
        &["id", "text", "measure", "far"],
        &["#9007199254740993", "9007199254740993", "#1e300", "#1e19"],
        &["#1", "1", "#0.5", "#2"],
    ]);
    let spec = ParseSpec::plain(Format::Xlsx);
    let source = Source::Bytes(book(&[("S", &sheet)]).into());
    let said = crate::parse(&spec, &source, &ParseCx::default()).unwrap().cut;
    let of = |name: &str| format!("column {name:?} of sheet \"S\" holds 1 whole numbers");
    assert!(
        said.len() == 2 && said[0].contains(&of("id")) && said[1].contains(&of("far")),
        "{said:?}"
    );
}
