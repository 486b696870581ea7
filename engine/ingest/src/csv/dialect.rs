//! The options of a CSV, checked and typed.

use std::collections::HashSet;

use serde_json::Value;

use super::cells::Cells;
use super::general::{Separator, Syntax};
use super::number::Style;
use super::token::Quote;
use crate::options::Options;
use crate::{Format, IngestError};

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

/// All options.
#[derive(Debug, Clone)]
pub struct Dialect {
    pub syntax: Syntax,
    pub cells: Cells,
    pub header: Header,
    pub names: Option<Vec<String>>,
    /// Prefix of made-up column names.
    pub prefix: String,
    pub usecols: Option<Vec<Pick>>,
    pub skip_rows: u64,
    pub rows_max: Option<u64>,
    pub dtype: Option<Value>,
    pub dates: Vec<Pick>,
    pub warnings: Vec<String>,
}

impl Dialect {
    pub fn new(options: Options<'_>) -> Result<Self, IngestError> {
        let syntax = syntax(options)?;
        let names = options.texts("names")?;
        if let Some(names) = &names {
            let mut seen = HashSet::new();
            if let Some(twice) = names.iter().find(|n| !seen.insert(n.as_str())) {
                return Err(IngestError::option("names", format!("{twice:?} occurs twice")));
            }
        }
        let mut warnings = Vec::new();
        if !options.bool("mangle_dupe_cols", true)? {
            let message = "must be true: two columns cannot share a name";
            return Err(IngestError::option("mangle_dupe_cols", message));
        }
        let prefix = options.text("prefix")?;
        let header = header(options, names.is_some())?;
        if prefix.is_some() && (header != Header::None || names.is_some()) {
            warnings.push("option `prefix` has no effect: the columns have names".to_owned());
        }
        check_constants(options)?;
        Ok(Self {
            cells: cells(options, syntax)?,
            syntax,
            header,
            names,
            prefix: prefix.unwrap_or_default().to_owned(),
            usecols: picks(options, "usecols")?,
            skip_rows: options.count("skiprows")?.unwrap_or(0),
            rows_max: options.count("nrows")?,
            dtype: options.get("dtype").cloned(),
            dates: picks(options, "parse_dates")?.unwrap_or_default(),
            warnings,
        })
    }
}

/// Options that may only have their usual value.
fn check_constants(options: Options<'_>) -> Result<(), IngestError> {
    let word = |name| Ok::<_, IngestError>(options.text(name)?.unwrap_or("").to_ascii_lowercase());
    if !matches!(
        word("encoding")?.replace('_', "-").as_str(),
        "" | "utf-8" | "utf8" | "utf-8-sig" | "ascii" | "us-ascii"
    ) {
        let message = "only utf-8 is supported; convert the file";
        return Err(IngestError::option("encoding", message));
    }
    let compression = word("compression")?;
    if !matches!(compression.as_str(), "" | "infer" | "none") {
        return Err(IngestError::Compressed { format: Format::Csv, compression });
    }
    Ok(())
}

fn one_byte(options: Options<'_>, name: &str) -> Result<Option<u8>, IngestError> {
    match options.text(name)?.map(str::as_bytes) {
        None => Ok(None),
        Some([b]) if b.is_ascii() && *b != 0 => Ok(Some(*b)),
        Some(_) => Err(IngestError::option(name, "must be one ASCII character")),
    }
}

fn separator(options: Options<'_>) -> Result<Separator, IngestError> {
    let name = if options.get("sep").is_some() { "sep" } else { "delimiter" };
    if options.bool("delim_whitespace", false)? {
        return Ok(Separator::Blanks);
    }
    match options.text(name)? {
        Some(r"\s+") => Ok(Separator::Blanks),
        // People write a tab in a query as they would in code.
        Some(r"\t") => Ok(Separator::Byte(b'\t')),
        _ => match one_byte(options, name) {
            Ok(b) => Ok(Separator::Byte(b.unwrap_or(b','))),
            Err(_) => {
                let message = r"must be one ASCII character, or \s+ for runs of blanks";
                Err(IngestError::option(name, message))
            }
        },
    }
}

fn syntax(options: Options<'_>) -> Result<Syntax, IngestError> {
    let mark = one_byte(options, "quotechar")?.unwrap_or(b'"');
    let mark = match options.count("quoting")? {
        None | Some(0 | 1) => Some(mark),
        Some(3) => None,
        Some(_) => {
            let message = "must be 0 (minimal), 1 (all) or 3 (none)";
            return Err(IngestError::option("quoting", message));
        }
    };
    let syntax = Syntax {
        separator: separator(options)?,
        quote: Quote { mark, doubled: options.bool("doublequote", true)? },
        line_end: one_byte(options, "lineterminator")?,
        comment: one_byte(options, "comment")?,
        skip_space: options.bool("skipinitialspace", false)?,
        skip_blank: options.bool("skip_blank_lines", true)?,
    };
    let ends = syntax.line_end.map_or(vec![b'\n', b'\r'], |e| vec![e]);
    let mut roles = vec![syntax.quote.mark, syntax.comment];
    if let Separator::Byte(b) = syntax.separator {
        roles.push(Some(b));
    }
    roles.extend(ends.into_iter().map(Some));
    let mut seen = HashSet::new();
    if let Some(twice) = roles.into_iter().flatten().find(|r| !seen.insert(*r)) {
        let message = format!(
            "{:?} cannot be two of separator, quote, comment and line end",
            char::from(twice)
        );
        return Err(IngestError::option("sep", message));
    }
    Ok(Syntax { line_end: syntax.line_end.filter(|e| *e != b'\n'), ..syntax })
}

fn header(options: Options<'_>, named: bool) -> Result<Header, IngestError> {
    match options.get("header") {
        None => Ok(if named { Header::None } else { Header::Row(0) }),
        Some(Value::Number(n)) if n.is_u64() => Ok(Header::Row(n.as_u64().unwrap_or(0))),
        Some(Value::String(s)) if s == "infer" => {
            Ok(if named { Header::None } else { Header::Row(0) })
        }
        Some(Value::String(s)) if s.eq_ignore_ascii_case("none") => Ok(Header::None),
        Some(_) => Err(IngestError::option("header", "must be a row number, infer or none")),
    }
}

fn cells(options: Options<'_>, syntax: Syntax) -> Result<Cells, IngestError> {
    let words = |name| -> Result<HashSet<Vec<u8>>, IngestError> {
        let list = options.texts(name)?.unwrap_or_default();
        Ok(list.into_iter().map(String::into_bytes).collect())
    };
    let decimal = one_byte(options, "decimal")?.unwrap_or(b'.');
    let thousands = one_byte(options, "thousands")?;
    if thousands == Some(decimal) || decimal.is_ascii_digit() {
        return Err(IngestError::option("decimal", "must differ from digits and `thousands`"));
    }
    let na = words("na_values")?;
    let number = |w: &Vec<u8>| super::number::float(w, Style::PLAIN);
    Ok(Cells {
        quote: syntax.quote,
        style: Style { decimal, thousands },
        na_filter: options.bool("na_filter", true)?,
        default_na: options.bool("keep_default_na", true)?,
        na_numbers: na.iter().filter_map(number).collect(),
        na,
        trues: words("true_values")?,
        falses: words("false_values")?,
    })
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
