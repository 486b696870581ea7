//! Parsing: bytes of a declared format to tables, step by step.

use crate::options::Options;
use crate::sql::SqlTransform;
use crate::{IngestError, ParseCx, ParseSpec, Parsed, Source, Stage};
use crate::{decimals, decompress, format, misread, options, source, sql, writable};

/// Parses `from` as `spec` says.
///
/// # Examples
///
/// ```
/// use graphlume_ingest::{Format, ParseCx, ParseSpec, Source, options_from_query, parse};
///
/// let mut spec = ParseSpec::plain(Format::Csv);
/// spec.options = options_from_query(Format::Csv, &[("sep".into(), ";".into())])?;
/// let edges = Source::Bytes("src;dst\nada;bob\nbob;cy\n".into());
/// let parsed = parse(&spec, &edges, &ParseCx::default())?;
/// let (name, table) = &parsed.tables[0];
/// assert_eq!((name.as_str(), table.num_rows()), ("table", 2));
///
/// let cut = Source::Bytes("src;dst\nada\nbob;cy;dan\n".into());
/// let refused = parse(&spec, &cut, &ParseCx::default()).unwrap_err();
/// assert!(refused.to_string().contains("line 3"), "{refused}");
/// # Ok::<(), graphlume_ingest::IngestError>(())
/// ```
///
/// # Errors
/// [`IngestError`], with the row and column when known. Never panics on bad input.
pub fn parse(spec: &ParseSpec, from: &Source, cx: &ParseCx) -> Result<Parsed, IngestError> {
    let ParseSpec { format: declared, options: given, .. } = spec;
    cx.cancel.check()?;
    options::check_names(*declared, given)?;
    let bytes = source::open(from)?;
    let bytes = decompress::open(spec, bytes, cx)?;
    misread::refuse_web_page(*declared, &bytes)?;
    misread::refuse_json(*declared, Options(given), &bytes)?;
    cx.report(Stage::Parsing, 0, 0);
    let parsed = (declared.spec().parse)(&bytes, Options(given), cx);
    let parsed = parsed.map_err(|e| format::hinted(e, &bytes))?;
    writable::check(*declared, &parsed)?;
    let mut parsed = transform_tables(&spec.sql, parsed, cx)?;
    decimals::tell(&mut parsed);
    Ok(parsed)
}

/// Runs `queries` over tables that are parsed already, as [`parse`] does after reading the file; without
/// any, the tables stay as they are. The benchmark of this step calls it by itself.
///
/// # Errors
/// [`IngestError`] that names the query. Never panics on a bad one.
pub fn transform_tables(
    queries: &[SqlTransform],
    parsed: Parsed,
    cx: &ParseCx,
) -> Result<Parsed, IngestError> {
    sql::transform(queries, parsed, cx)
}
