//! The options of a CSV, checked and typed.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use graphlume_types::limits::CELL_BYTES_MAX;
use serde_json::Value;

use super::cells::Cells;
use super::encoding::Encoding;
use super::general::{Separator, Syntax};
use super::lines::Pattern;
use super::token::Quote;
use crate::IngestError;
use crate::number::Style;
use crate::options::Options;

/// Where column names come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Header {
    /// The record of this number, from 0, counted after skipped and blank lines.
    Row(u64),
    /// None: every record is data.
    None,
}

/// A column by name or by index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    Name(String),
    Index(usize),
}

/// Lines that are not read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skip {
    /// The first lines.
    First(u64),
    /// Lines by number, from 0.
    Lines(BTreeSet<u64>),
}

impl Skip {
    pub fn has(&self, line: u64) -> bool {
        match self {
            Self::First(n) => line < *n,
            Self::Lines(lines) => lines.contains(&line),
        }
    }

    /// The number of the first line behind all that are skipped.
    pub fn end(&self) -> u64 {
        match self {
            Self::First(n) => *n,
            Self::Lines(lines) => lines.last().map_or(0, |l| l.saturating_add(1)),
        }
    }
}

/// All options.
#[derive(Debug, Clone)]
pub struct Dialect {
    pub syntax: Syntax,
    /// What splits lines when the separator is a pattern.
    pub pattern: Option<Arc<Pattern>>,
    pub cells: Arc<Cells>,
    /// Rules for the cells of single columns, which differ in the words for missing values.
    pub own_cells: Vec<(String, Arc<Cells>)>,
    /// Whether numbers are never whole.
    pub floats: bool,
    pub encoding: Encoding,
    pub header: Header,
    pub names: Option<Vec<String>>,
    /// Whether repeated names get a number.
    pub numbered: bool,
    /// Prefix of made-up column names.
    pub prefix: String,
    pub usecols: Option<Vec<Pick>>,
    pub skip: Skip,
    /// Lines at the end that are not read.
    pub footer: u64,
    /// Where wanted records begin.
    pub range: Option<Range<u64>>,
    pub rows_max: Option<u64>,
    pub dtype: Option<Value>,
    pub dates: Vec<Pick>,
    pub warnings: Vec<String>,
}

impl Dialect {
    pub fn new(options: Options<'_>) -> Result<Self, IngestError> {
        options.not_null("sep", "separators are not guessed; name it, such as \";\" or \"\\t\"")?;
        options.not_null("quotechar", "send quoting 3 where quotes are text like all other")?;
        options.not_null("decimal", "leave it out for a point")?;
        let mut warnings = Vec::new();
        let (syntax, pattern) = syntax(options, &mut warnings)?;
        without_effect(options, pattern.is_some(), &mut warnings)?;
        let names = options.texts("names")?;
        if let Some(names) = &names {
            let mut seen = HashSet::new();
            if let Some(twice) = names.iter().find(|n| !seen.insert(n.as_str())) {
                return Err(IngestError::option("names", format!("{twice:?} occurs twice")));
            }
        }
        let prefix = options.text("prefix")?;
        let header = header(options, names.is_some())?;
        if prefix.is_some() && (header != Header::None || names.is_some()) {
            warnings.push("option `prefix` has no effect: the columns have names".to_owned());
        }
        let encoding = Encoding::new(options.text("encoding")?.unwrap_or("utf-8"))?;
        let range = range(options)?;
        if range.is_some() && !encoding.is_utf8() {
            let message = "goes with the encoding utf-8 only: other text has no fixed places";
            return Err(IngestError::option("byte_range", message));
        }
        let (footer, rows_max) =
            (options.count("skipfooter")?.unwrap_or(0), options.count("nrows")?);
        if footer > 0 && (rows_max.is_some() || range.is_some()) {
            let message = "does not go with `nrows` and `byte_range`, which end before the footer";
            return Err(IngestError::option("skipfooter", message));
        }
        let (cells, own_cells) = cells(options, syntax)?;
        Ok(Self {
            cells,
            own_cells,
            floats: options.count("quoting")? == Some(2),
            syntax,
            pattern,
            encoding,
            header,
            names,
            numbered: options.bool("mangle_dupe_cols", true)?,
            prefix: prefix.unwrap_or_default().to_owned(),
            usecols: picks(options, "usecols")?,
            skip: skip(options)?,
            footer,
            range,
            rows_max,
            dtype: options.get("dtype").cloned(),
            dates: dates(options, &mut warnings)?,
            warnings,
        })
    }
}

const OF_PATTERNS: &str = "a separator that is a pattern splits lines, and knows no quotes";

/// Says which options change nothing beside others.
fn without_effect(
    options: Options<'_>,
    pattern: bool,
    warnings: &mut Vec<String>,
) -> Result<(), IngestError> {
    let unquoted = options.count("quoting")? == Some(3);
    let blanks = options.bool("delim_whitespace", false)?;
    // Comments of lines that a pattern splits do not begin within words for missing values.
    let words_count = pattern && options.get("comment").is_some();
    let nothing_missing = !options.bool("na_filter", true)? && !words_count;
    let sep = options.get("sep").is_some();
    for (names, idle, why) in [
        (&["quotechar", "doublequote"][..], unquoted, "`quoting` 3 says that quotes are text"),
        (&["quotechar", "doublequote"], pattern && !unquoted, OF_PATTERNS),
        (&["escapechar"], pattern, OF_PATTERNS),
        (&["sep", "delimiter"], blanks, "`delim_whitespace` names the separator"),
        (&["delimiter"], sep && !blanks, "`sep` names the separator"),
        (
            &["na_values", "keep_default_na"],
            nothing_missing,
            "`na_filter` false says that nothing is missing",
        ),
    ] {
        let given = names.iter().filter(|name| idle && options.get(name).is_some());
        warnings.extend(given.map(|name| format!("option `{name}` has no effect: {why}")));
    }
    Ok(())
}

fn one_byte(options: Options<'_>, name: &str) -> Result<Option<u8>, IngestError> {
    match options.text(name)?.map(str::as_bytes) {
        None => Ok(None),
        Some([b]) if b.is_ascii() && *b != 0 => Ok(Some(*b)),
        // People write these in a query as they would in code.
        Some(br"\t") => Ok(Some(b'\t')),
        Some(br"\n") => Ok(Some(b'\n')),
        Some(br"\r") => Ok(Some(b'\r')),
        Some(_) => Err(IngestError::option(name, "must be one ASCII character")),
    }
}

type Split = (Separator, Option<Arc<Pattern>>);

fn separator(options: Options<'_>, warnings: &mut Vec<String>) -> Result<Split, IngestError> {
    let name = if options.get("sep").is_some() { "sep" } else { "delimiter" };
    if options.bool("delim_whitespace", false)? {
        warnings.push(r"option `delim_whitespace` is deprecated; use `sep` \s+".to_owned());
        return Ok((Separator::Blanks, None));
    }
    let text = options.text(name)?.unwrap_or(",");
    let mut characters = text.chars();
    let (first, more) = (characters.next(), characters.next().is_some());
    let separator = match (text, first) {
        (r"\s+", _) => Separator::Blanks,
        (r"\t", _) => Separator::Byte(b'\t'),
        ("", _) | (_, None | Some('\0')) => {
            return Err(IngestError::option(name, "must not be empty"));
        }
        (_, Some(c)) if !more && c.is_ascii() => Separator::Byte(c as u8),
        (_, Some(c)) if !more => {
            let mut bytes = [0; 4];
            let len = c.encode_utf8(&mut bytes).len();
            Separator::Char(bytes, len)
        }
        (pattern, _) if pattern.len() > CELL_BYTES_MAX => {
            return Err(IngestError::option(name, "is too long"));
        }
        (pattern, _) => {
            return Ok((Separator::Pattern, Some(Arc::new(Pattern::new(name, pattern)?))));
        }
    };
    Ok((separator, None))
}

fn syntax(
    options: Options<'_>,
    warnings: &mut Vec<String>,
) -> Result<(Syntax, Option<Arc<Pattern>>), IngestError> {
    let mark = one_byte(options, "quotechar")?.unwrap_or(b'"');
    let mark = match options.count("quoting")? {
        None | Some(0..=2) => Some(mark),
        Some(3) => None,
        Some(_) => {
            let message = "must be 0 (minimal), 1 (all), 2 (not numbers) or 3 (none)";
            return Err(IngestError::option("quoting", message));
        }
    };
    let (separator, pattern) = separator(options, warnings)?;
    let syntax = Syntax {
        separator,
        quote: Quote {
            mark: mark.filter(|_| pattern.is_none()),
            doubled: options.bool("doublequote", true)?,
            escape: one_byte(options, "escapechar")?.filter(|_| pattern.is_none()),
        },
        line_end: one_byte(options, "lineterminator")?,
        comment: one_byte(options, "comment")?,
        skip_space: options.bool("skipinitialspace", false)?,
        skip_blank: options.bool("skip_blank_lines", true)?,
    };
    if pattern.is_some() && syntax.line_end.is_some() {
        let message = "goes with a separator of one character only";
        return Err(IngestError::option("lineterminator", message));
    }
    let ends = syntax.line_end.map_or(vec![b'\n', b'\r'], |e| vec![e]);
    let mut roles = vec![syntax.quote.mark, syntax.quote.escape, syntax.comment];
    if let Separator::Byte(b) = syntax.separator {
        roles.push(Some(b));
    }
    roles.extend(ends.into_iter().map(Some));
    let mut seen = HashSet::new();
    if let Some(twice) = roles.into_iter().flatten().find(|r| !seen.insert(*r)) {
        let message = format!(
            "{:?} cannot be two of separator, quote, escape, comment and line end",
            char::from(twice)
        );
        return Err(IngestError::option("sep", message));
    }
    Ok((syntax, pattern))
}

fn header(options: Options<'_>, named: bool) -> Result<Header, IngestError> {
    match options.get("header") {
        // What `header=None` of pandas is in JSON.
        None if options.is_null("header") => Ok(Header::None),
        None => Ok(if named { Header::None } else { Header::Row(0) }),
        Some(Value::Number(n)) if n.is_u64() => Ok(Header::Row(n.as_u64().unwrap_or(0))),
        Some(Value::String(s)) if s == "infer" => {
            Ok(if named { Header::None } else { Header::Row(0) })
        }
        Some(Value::String(s)) if s.eq_ignore_ascii_case("none") => Ok(Header::None),
        Some(_) => Err(IngestError::option("header", "must be a row number, infer or none")),
    }
}

fn skip(options: Options<'_>) -> Result<Skip, IngestError> {
    let wrong = || {
        let message = "must be a number of lines, or a list of line numbers, from 0";
        IngestError::option("skiprows", message)
    };
    match options.get("skiprows") {
        None => Ok(Skip::First(0)),
        Some(Value::Array(list)) => {
            let lines = list.iter().map(|v| v.as_u64().ok_or_else(wrong));
            Ok(Skip::Lines(lines.collect::<Result<_, _>>()?))
        }
        Some(n) => Ok(Skip::First(n.as_u64().ok_or_else(wrong)?)),
    }
}

fn range(options: Options<'_>) -> Result<Option<Range<u64>>, IngestError> {
    let Some(list) = options.list("byte_range")? else { return Ok(None) };
    match list.as_slice() {
        [offset, size] if offset.is_u64() && size.is_u64() => {
            let (offset, size) = (offset.as_u64().unwrap_or(0), size.as_u64().unwrap_or(0));
            let end = if size == 0 { u64::MAX } else { offset.saturating_add(size) };
            Ok(Some(offset..end))
        }
        _ => {
            let message = "must be [offset, size] in bytes; size 0 is all that follows";
            Err(IngestError::option("byte_range", message))
        }
    }
}

fn dates(options: Options<'_>, warnings: &mut Vec<String>) -> Result<Vec<Pick>, IngestError> {
    match options.get("parse_dates") {
        Some(Value::Bool(true)) => {
            let message =
                "option `parse_dates` true has no effect: a table has no index; name columns";
            warnings.push(message.to_owned());
            Ok(Vec::new())
        }
        Some(Value::Bool(false)) => Ok(Vec::new()),
        _ => Ok(picks(options, "parse_dates")?.unwrap_or_default()),
    }
}

type AllCells = (Arc<Cells>, Vec<(String, Arc<Cells>)>);

fn cells(options: Options<'_>, syntax: Syntax) -> Result<AllCells, IngestError> {
    let words = |name| -> Result<HashSet<Vec<u8>>, IngestError> {
        let list = options.texts(name)?.unwrap_or_default();
        Ok(list.into_iter().map(String::into_bytes).collect())
    };
    let decimal = one_byte(options, "decimal")?.unwrap_or(b'.');
    let thousands = one_byte(options, "thousands")?;
    if thousands == Some(decimal) || decimal.is_ascii_digit() {
        return Err(IngestError::option("decimal", "must differ from digits and `thousands`"));
    }
    let plain = Cells {
        quote: syntax.quote,
        style: Style { decimal, thousands },
        na_filter: options.bool("na_filter", true)?,
        default_na: options.bool("keep_default_na", true)?,
        na: HashSet::new(),
        na_numbers: Vec::new(),
        trues: words("true_values")?,
        falses: words("false_values")?,
    };
    match options.get("na_values") {
        Some(Value::Object(map)) => {
            let own = map.keys().map(|name| {
                let words = Options(map).texts(name).map_err(|_| {
                    let message = "must hold texts or numbers, or lists of them, by column";
                    IngestError::option("na_values", message)
                });
                Ok((name.clone(), Arc::new(with_na(&plain, words?.unwrap_or_default()))))
            });
            let own = own.collect::<Result<Vec<_>, IngestError>>()?;
            Ok((Arc::new(plain), own))
        }
        _ => {
            let words = options.texts("na_values")?.unwrap_or_default();
            Ok((Arc::new(with_na(&plain, words)), Vec::new()))
        }
    }
}

/// Cells where `words` stand for missing values, too. A whole number also means the number that is
/// written as a fraction.
fn with_na(plain: &Cells, words: Vec<String>) -> Cells {
    let mut cells = plain.clone();
    for word in words {
        if let Some(v) = crate::number::float(word.as_bytes(), Style::PLAIN) {
            if v.fract() == 0.0 {
                cells.na.insert(format!("{v:.0}").into_bytes());
                cells.na.insert(format!("{v:.1}").into_bytes());
            }
            cells.na_numbers.push(v);
        }
        cells.na.insert(word.into_bytes());
    }
    cells
}

fn picks(options: Options<'_>, name: &str) -> Result<Option<Vec<Pick>>, IngestError> {
    let Some(list) = options.list(name)? else { return Ok(None) };
    let pick = |v: &Value| match v {
        Value::String(s) => Ok(Pick::Name(s.clone())),
        Value::Number(n) => match n.as_u64().and_then(|i| usize::try_from(i).ok()) {
            Some(i) => Ok(Pick::Index(i)),
            None => Err(IngestError::option(name, "column numbers begin at 0")),
        },
        _ => Err(IngestError::option(name, "must list column names or column numbers")),
    };
    list.iter().map(pick).collect::<Result<Vec<_>, _>>().map(Some)
}
