//! Excel workbooks: each sheet is a table, as `pandas.read_excel` reads it.
//!
//! The first row names the columns; a blank name becomes `Unnamed: n`, a repeated one gets a number.
//! Formulas count as the value that Excel stored for them, error values as missing. A sheet without
//! cells is left out, unless no sheet has any, or it was asked for by name.
//!
//! A workbook is checked before `calamine` sees it: see `package` for xlsx and `biff` for xls.

mod biff;
mod column;
mod demanded;
mod grid;
mod package;
#[cfg(test)]
mod tests;

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use calamine::{Data, DataRef, Reader, Sheet, SheetType, Xls, XlsError, Xlsx};
use graphlume_table::Table;
use graphlume_types::limits::WORKBOOK_SHEETS_MAX;
use serde_json::Value;

use crate::error::one_line;
use crate::format::{FormatSpec, ZIP, by_signature};
use crate::options::{OptionInfo, OptionKind, Options, on};
use crate::{Format, IngestError, ParseCx, Parsed, Stage};
use column::Cell;
use grid::{Area, Grid, Layout, Told};

/// Cells between two looks at the cancel token.
const CELLS_PER_CHECK: u64 = 65_536;

const OPTIONS: &[OptionInfo] = &[
    on("dtype", OptionKind::Json),
    on("header", OptionKind::IntOrText),
    on("na_values", OptionKind::List),
    on("names", OptionKind::List),
    on("nrows", OptionKind::Int),
    on("sheet_name", OptionKind::List),
    on("skiprows", OptionKind::Int),
    on("usecols", OptionKind::List),
];

/// Workbooks of Excel 97 in the list of formats.
pub(crate) const XLS: FormatSpec = FormatSpec {
    name: "xls",
    malformed: "malformed-xls",
    options: OPTIONS,
    signatures: &[b"\xd0\xcf\x11\xe0"],
    resembles: by_signature,
    parse: |bytes, options, cx| parse(Format::Xls, bytes, options, cx),
};

/// Workbooks in the list of formats.
pub(crate) const XLSX: FormatSpec = FormatSpec {
    name: "xlsx",
    malformed: "malformed-xlsx",
    options: OPTIONS,
    signatures: &[ZIP],
    resembles: by_signature,
    parse: |bytes, options, cx| parse(Format::Xlsx, bytes, options, cx),
};

/// Reads a workbook.
pub fn parse(
    format: Format,
    bytes: &Bytes,
    options: Options<'_>,
    cx: &ParseCx,
) -> Result<Parsed, IngestError> {
    let (layout, picks) = (Layout::new(format, options)?, picks(options)?);
    let read = || match format {
        Format::Xls => read_xls(bytes, picks.as_deref(), &layout, cx),
        _ => read_xlsx(bytes, picks.as_deref(), &layout, cx),
    };
    let (tables, told) = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(IngestError::malformed(format, "the workbook contradicts itself; save it again"))
    })?;
    Ok(Parsed {
        tables,
        agent_name: None,
        agent_version: None,
        warnings: told.warnings,
        cut: told.cut,
        misread: Vec::new(),
    })
}

/// A sheet that is asked for.
enum Pick {
    Name(String),
    Index(usize),
}

fn picks(options: Options<'_>) -> Result<Option<Vec<Pick>>, IngestError> {
    let pick = |v: &Value| match v {
        Value::String(name) => Ok(Pick::Name(name.clone())),
        _ => {
            v.as_u64().and_then(|i| usize::try_from(i).ok()).map(Pick::Index).ok_or_else(|| {
                IngestError::option("sheet_name", "must be names or positions from 0")
            })
        }
    };
    match options.get("sheet_name") {
        None => Ok(None),
        Some(Value::Array(list)) => list.iter().map(pick).collect::<Result<_, _>>().map(Some),
        Some(one) => Ok(Some(vec![pick(one)?])),
    }
}

/// Names of the sheets to read, in the order of the workbook or of the option.
fn choose(
    format: Format,
    sheets: &[Sheet],
    picks: Option<&[Pick]>,
) -> Result<Vec<String>, IngestError> {
    let is_table = |s: &&Sheet| s.typ == SheetType::WorkSheet;
    let names: Vec<String> = sheets.iter().filter(is_table).map(|s| s.name.clone()).collect();
    if names.len() > WORKBOOK_SHEETS_MAX {
        let message =
            format!("the workbook has {} sheets; the limit is {WORKBOOK_SHEETS_MAX}", names.len());
        return Err(IngestError::too_large(message));
    }
    if names.is_empty() {
        return Err(IngestError::malformed(format, "the workbook has no sheet with cells"));
    }
    let Some(picks) = picks else { return Ok(names) };
    let find = |pick: &Pick| {
        let found = match pick {
            Pick::Name(name) => names.iter().find(|n| *n == name),
            Pick::Index(i) => names.get(*i),
        };
        found.cloned().ok_or_else(|| {
            let what = match pick {
                Pick::Name(name) => format!("{name:?}"),
                Pick::Index(i) => i.to_string(),
            };
            let shown: Vec<_> = names.iter().take(32).collect();
            let message = format!("sheet {what} does not exist; there are {shown:?}");
            IngestError::option("sheet_name", message)
        })
    };
    let mut chosen: Vec<String> = Vec::with_capacity(picks.len().min(names.len()));
    for pick in picks {
        let name = find(pick)?;
        if chosen.contains(&name) {
            let message = format!("sheet {name:?} is asked for twice");
            return Err(IngestError::option("sheet_name", message));
        }
        chosen.push(name);
    }
    Ok(chosen)
}

/// The tables of a workbook, and what is said of them.
type Read = (Vec<(String, Table)>, Told);

/// The tables of the sheets that `fill` reads.
fn tables(
    names: Vec<String>,
    asked_for: bool,
    layout: &Layout,
    mut fill: impl FnMut(&str) -> Result<Grid, IngestError>,
) -> Result<Read, IngestError> {
    let mut out = Vec::with_capacity(names.len());
    let (mut told, mut first) = (Told::default(), None);
    for name in names {
        let grid = fill(&name)?;
        if !grid.is_empty() || asked_for {
            out.push((name.clone(), grid.into_table(layout, &name, &mut told)?));
        } else if first.is_none() {
            first = Some(name);
        }
    }
    if let (true, Some(name)) = (out.is_empty(), first) {
        let table = Grid::default().into_table(layout, &name, &mut told)?;
        out.push((name, table));
    }
    Ok((out, told.of_all()))
}

fn read_xlsx(
    bytes: &Bytes,
    picks: Option<&[Pick]>,
    layout: &Layout,
    cx: &ParseCx,
) -> Result<Read, IngestError> {
    package::check(bytes, cx)?;
    let bad = |e: calamine::XlsxError| {
        let message = format!("the workbook cannot be read: {}", one_line(e));
        IngestError::malformed(Format::Xlsx, message)
    };
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(bytes.clone())).map_err(bad)?;
    let names = choose(Format::Xlsx, book.sheets_metadata(), picks)?;
    let since_1904 = book.has_1904_epoch();
    let mut area = Area::new(bytes.len());
    tables(names, picks.is_some(), layout, |name| {
        let mut grid = Grid::default();
        let mut cells = book.worksheet_cells_reader(name).map_err(bad)?;
        let mut seen = 0u64;
        while let Some(cell) = cells.next_cell().map_err(bad)? {
            let (row, column) = cell.get_position();
            let value = match cell.get_value() {
                DataRef::Int(v) => Cell::Int(*v),
                DataRef::Float(v) => Cell::number(*v),
                DataRef::String(text) => Cell::Text(text),
                DataRef::SharedString(text) => Cell::Text(text),
                DataRef::Bool(v) => Cell::Bool(*v),
                DataRef::DateTime(at) => Cell::date(at, since_1904),
                DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => Cell::iso(text),
                DataRef::Error(_) | DataRef::Empty => Cell::Null,
            };
            grid.put(row, column, value, name, &mut area)?;
            seen += 1;
            if seen.is_multiple_of(CELLS_PER_CHECK) {
                cx.cancel.check()?;
                cx.report(Stage::Parsing, 0, u64::from(row));
            }
        }
        Ok(grid)
    })
}

fn read_xls(
    bytes: &Bytes,
    picks: Option<&[Pick]>,
    layout: &Layout,
    cx: &ParseCx,
) -> Result<Read, IngestError> {
    let bad = |e: XlsError| {
        let message = match e {
            XlsError::Password => {
                "the workbook is protected by a password; save it without one".to_owned()
            }
            e => format!("the workbook cannot be read: {}", one_line(e)),
        };
        IngestError::malformed(Format::Xls, message)
    };
    let container = biff::checked_container(bytes)?;
    cx.cancel.check()?;
    let mut book: Xls<_> = Xls::new(Cursor::new(container)).map_err(bad)?;
    let names = choose(Format::Xls, book.sheets_metadata(), picks)?;
    let since_1904 = book.has_1904_epoch();
    let mut area = Area::new(bytes.len());
    tables(names, picks.is_some(), layout, |name| {
        cx.cancel.check()?;
        let range = book.worksheet_range(name).map_err(bad)?;
        let mut grid = Grid::default();
        let Some((top, left)) = range.start() else { return Ok(grid) };
        for (row, column, value) in range.used_cells() {
            let value = match value {
                Data::Int(v) => Cell::Int(*v),
                Data::Float(v) => Cell::number(*v),
                Data::String(text) => Cell::Text(text),
                Data::Bool(v) => Cell::Bool(*v),
                Data::DateTime(at) => Cell::date(at, since_1904),
                Data::DateTimeIso(text) | Data::DurationIso(text) => Cell::iso(text),
                Data::Error(_) | Data::Empty => Cell::Null,
            };
            grid.put(top + row as u32, left + column as u32, value, name, &mut area)?;
        }
        Ok(grid)
    })
}
