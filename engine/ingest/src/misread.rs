//! Data that can be read as they are declared, and were surely meant otherwise. A web page is refused: it is what
//! a download gives whose sign-in has run out, and never a table. So is JSON as CSV. The rest is a table by the letter, so it is
//! taken, and the uploader is told.

use graphlume_table::{Table, cell_text};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::options::Options;
use crate::{Format, IngestError};

/// Rows that are looked at.
const ROWS: usize = 100;
/// What separates cells where it is not the comma.
const SEPARATORS: [char; 3] = [';', '\t', '|'];
/// How a graph in one JSON object calls the list of its nodes, and that of its edges.
const NODES: [&str; 2] = ["nodes", "vertices"];
const EDGES: [&str; 2] = ["links", "edges"];
/// What to do with such a graph.
pub(crate) const GRAPH: &str = "these look like the nodes and the edges of a graph in one object; upload each list as a file of its own, and bind \
     them in one dataset";

/// Refuses a page in HTML, whatever was declared.
pub(crate) fn refuse_web_page(format: Format, bytes: &[u8]) -> Result<(), IngestError> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let begins = |with: &str| {
        text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
    };
    // A name may go on behind these letters; the element ends there.
    let element =
        begins("<html") && text.get(5).is_none_or(|b| *b == b'>' || b.is_ascii_whitespace());
    if !element && !begins("<!doctype html") {
        return Ok(());
    }
    let message = format!(
        "the data are a web page (HTML) and no {format}: a download whose sign-in has run out gives such a page; open its \
         address in a browser, and upload the file that it gives there"
    );
    Err(IngestError::malformed_at(format, message, 1))
}

/// Bytes in which a first value of JSON is looked for.
const JSON_BYTES: usize = 64 << 10;

/// Refuses JSON that is declared as CSV. Its lines would become a table of braces and quotes, and the first of them its
/// header. Who says that there is no header, or names the columns, may mean cells of JSON.
pub(crate) fn refuse_json(
    format: Format,
    options: Options<'_>,
    bytes: &[u8],
) -> Result<(), IngestError> {
    let no_header = options.is_null("header")
        || matches!(options.get("header"), Some(Value::String(word)) if word.eq_ignore_ascii_case("none"));
    if format != Format::Csv || no_header || options.get("names").is_some() || !is_json(bytes) {
        return Ok(());
    }
    let message = "the data are JSON and no csv: upload them as json. Where the first line is the header of a CSV, put its \
                   names in quotes; where cells are JSON and there is no header, set the option `header` to none";
    Err(IngestError::malformed_at(format, message.to_owned(), 1))
}

/// Whether the data begin with an object with members, or a list of such, that is a line or more by itself.
fn is_json(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let end = match text.first() {
        Some(b'{') => b'}',
        Some(b'[') => b']',
        _ => return false,
    };
    let mut inner = text[1..].trim_ascii_start();
    if end == b']' {
        let Some(object) = inner.strip_prefix(b"{") else { return false };
        inner = object.trim_ascii_start();
    }
    if inner.first() != Some(&b'"') {
        return false;
    }
    let window = &text[..text.len().min(JSON_BYTES)];
    let mut values = serde_json::Deserializer::from_slice(window).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => {
            let rest = &window[values.byte_offset()..];
            let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
            matches!(rest.get(blanks), None | Some(b'\n' | b'\r'))
        }
        Some(Err(e)) => {
            // An object that the window cuts off ends where the data do.
            e.is_eof() && window.len() < text.len() && text.trim_ascii_end().last() == Some(&end)
        }
        None => false,
    }
}

/// The separator that is in the name of the only column, where it has one.
pub(crate) fn separator_of(name: &str) -> Option<char> {
    SEPARATORS.into_iter().find(|c| name.contains(*c))
}

/// How an option is set, for messages.
pub(crate) fn set_sep(separator: char) -> String {
    let shown = if separator == '\t' { r"\t".to_owned() } else { separator.to_string() };
    format!("set the option `sep` to \"{shown}\"")
}

/// What is said of a CSV that became one column, although every line has a separator other than the comma.
/// `header` says whether the column's name is a line of the file.
pub(crate) fn separator(table: &Table, header: bool) -> Option<String> {
    let [name] = table.column_names()[..] else { return None };
    let column = table.column(name)?;
    let cells: Vec<String> =
        (0..table.num_rows().min(ROWS)).filter_map(|row| cell_text(column.as_ref(), row)).collect();
    let found = SEPARATORS.into_iter().find(|c| {
        let count = |text: &str| text.matches(*c).count();
        let wanted = cells.first().map_or(0, |cell| count(cell));
        match header {
            // A cell may have more of them, in quotes.
            true => {
                let wanted = count(name);
                wanted > 0 && !cells.is_empty() && cells.iter().all(|cell| count(cell) >= wanted)
            }
            false => {
                wanted > 0 && cells.len() > 1 && cells.iter().all(|cell| count(cell) == wanted)
            }
        }
    })?;
    Some(format!(
        "the table has one column, and every line has {found:?}, which seems to be the separator: {}, in `parser_options` \
         of the file or in the address of the upload",
        set_sep(found)
    ))
}

/// Whether columns, or members, of these names are the lists of a graph.
pub(crate) fn is_graph<'a>(names: impl Iterator<Item = &'a str> + Clone) -> bool {
    let has = |wanted: [&str; 2]| names.clone().any(|name| wanted.contains(&name));
    has(NODES) && has(EDGES)
}

/// What is said of JSON that became a table with a column of nodes and one of edges.
pub(crate) fn graph(table: &Table) -> Option<String> {
    let names = table.column_names();
    let objects = |name: &&&str| {
        let column = table.column(name);
        let first = column.filter(|_| table.num_rows() > 0).and_then(|c| cell_text(c.as_ref(), 0));
        first.is_some_and(|text| text.starts_with('{'))
    };
    let lists = names.iter().filter(objects).copied();
    is_graph(lists.collect::<Vec<_>>().into_iter()).then(|| {
        let names = names.join(", ");
        format!("the table has the columns {names} and holds JSON objects: {GRAPH}")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graphlume_types::Coded;
    use serde_json::{Value, json};

    use crate::{Format, IngestError, ParseCx, ParseSpec, Parsed, Source, parse};

    fn read(format: Format, text: &str, options: Value) -> Result<Parsed, IngestError> {
        let options = options.as_object().cloned().unwrap_or_default();
        let source = Source::Bytes(text.to_owned().into());
        parse(&ParseSpec { options, ..ParseSpec::plain(format) }, &source, &ParseCx::default())
    }

    fn told(format: Format, text: &str, options: Value) -> Vec<String> {
        read(format, text, options).unwrap().misread
    }

    #[test]
    fn a_separator_that_is_evident_is_named() {
        for (text, sep) in [
            ("a;b\n1;2\n3;4\n", "\";\""),
            ("a\tb\tc\n1\t2\t3\n", "\"\\t\""),
            ("a|b\r\n1|\r\n|2\r\n", "\"|\""),
            ("\"a\";\"b\"\n\"x;y\";\"z\"\n", "\";\""),
        ] {
            let said = told(Format::Csv, text, json!({}));
            assert!(said.len() == 1 && said[0].contains(&format!("`sep` to {sep}")), "{said:?}");
        }
        let said = told(Format::Csv, "1;2\n3;4\n", json!({"header": "none"}));
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(told(Format::Csv, "a;b\n1;2\n", json!({"sep": ";"})), [""; 0]);
    }

    #[test]
    fn a_column_of_texts_is_no_evidence() {
        for (text, options) in [
            ("a\nx;y\nz;w\n", json!({})),
            ("a;b\nx\ny;z\n", json!({})),
            ("a;b\n", json!({})),
            ("a,b\n1;2,3\n", json!({})),
            ("x;y\nz\n", json!({"header": "none"})),
            ("x;y\nz;w\n", json!({"names": ["pairs"]})),
            ("a,b;c\n1,2;3\n", json!({"usecols": ["b;c"]})),
            ("a b\n1 2\n", json!({})),
        ] {
            assert_eq!(told(Format::Csv, text, options), [""; 0], "{text}");
        }
    }

    #[test]
    fn decimal_commas_between_semicolons_name_the_separator_too() {
        let e = read(Format::Csv, "a;b\n1,5;2\n", json!({})).unwrap_err();
        assert!(e.to_string().contains("set the option `sep` to \";\""), "{e}");
        assert!(e.to_string().contains("`decimal`"), "{e}");
    }

    #[test]
    fn a_graph_in_one_object_is_told_from_a_table() {
        let graph = r#"{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}, {"source": 2, "target": 1}]}"#;
        for text in [graph.to_owned(), graph.replace("links", "edges"), format!("[{graph}]")] {
            let said = told(Format::Json, &text, json!({}));
            // In a list the cells are lists of objects.
            let expected = usize::from(!text.starts_with('['));
            assert_eq!(said.len(), expected, "{said:?}");
            assert!(said.iter().all(|s| s.contains("a file of its own")), "{said:?}");
        }
        let plain = r#"{"nodes": [1, 2], "edges": [3, 4]}"#;
        assert_eq!(told(Format::Json, plain, json!({})), [""; 0]);
        for uneven in [
            r#"{"nodes": [{"id": 1}], "links": []}"#,
            r#"{"directed": true, "graph": {}, "nodes": [{"id": 1}], "links": [{"source": 1, "target": 1}]}"#,
        ] {
            let e = read(Format::Json, uneven, json!({})).unwrap_err();
            assert!(e.to_string().contains("a file of its own"), "{e}");
        }
    }

    #[test]
    fn json_that_is_declared_as_csv_is_refused_with_the_remedy() {
        let long = format!(r#"{{"a": [{}1]}}"#, "1, ".repeat(50_000));
        for json in [
            "{\"s\": 1, \"d\": 2}\n{\"s\": 2, \"d\": 3}\n",
            "{\"a\": [1, 2],\n \"b\": [3, 4]}",
            "\u{feff}\n { \"a\": 1 } ",
            "[{\"s\": 1, \"d\": 2},\n {\"s\": 2, \"d\": 3}]\n",
            &long,
        ] {
            let e = read(Format::Csv, json, json!({})).unwrap_err();
            assert_eq!(e.slug(), "malformed-csv");
            assert!(e.to_string().contains("upload them as json"), "{e}");
        }
        for (text, options) in [
            ("{\"a\": 1}\n{\"a\": 2}\n", json!({"header": "none", "sep": "\t"})),
            ("{\"a\": 1}\n{\"a\": 2}\n", json!({"header": null, "sep": "\t"})),
            ("{\"a\": 1}\n{\"a\": 2}\n", json!({"names": ["cell"], "sep": "\t"})),
            ("{a},{b}\n1,2\n", json!({})),
            ("{},b\n1,2\n", json!({})),
            ("[a],b\n1,2\n", json!({})),
            ("{\"a\": 1},b\n1,2\n", json!({})),
            ("{\"a\"\n1\n", json!({})),
        ] {
            assert!(read(Format::Csv, text, options).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_web_page_is_refused_with_the_remedy() {
        for page in [
            "<!DOCTYPE html>\n<html><body>a,b</body></html>",
            "\u{feff}  \n<html lang=\"en\">\n<p>1,2</p>",
            "<HTML>",
            "<!doctype HTML PUBLIC \"x\">",
        ] {
            for format in [Format::Csv, Format::Json, Format::Parquet] {
                let e = read(format, page, json!({})).unwrap_err();
                assert_eq!(e.slug(), format!("malformed-{format}"));
                assert!(e.to_string().contains("web page") && e.to_string().contains("browser"));
            }
        }
        for table in ["<htmlx>,b\n1,2\n", "<p>\n1\n", "a\n<html>\n"] {
            assert!(read(Format::Csv, table, json!({})).is_ok(), "{table}");
        }
    }
}
