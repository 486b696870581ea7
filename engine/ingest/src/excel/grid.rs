//! The cells of a sheet, and how they become a table.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use graphlume_table::{Table, TableError};
use graphlume_types::limits::{CELL_BYTES_MAX, COLUMNS_MAX, WORKBOOK_CELLS_MAX};
use serde_json::Value;

use super::column::{Cell, Column, TooMuchText};
use super::demanded::{Misfit, demanded};
use crate::csv::column_types::demands;
use crate::decompress::Bound;
use crate::demand::{self, Demand};
use crate::options::Options;
use crate::{Format, IngestError};

/// What all sheets of a workbook may hold together.
pub struct Area {
    cells: u64,
    text: Bound,
    file_bytes: u64,
}

impl Area {
    /// For a workbook of `file_bytes`.
    pub fn new(file_bytes: usize) -> Self {
        Self { cells: 0, text: Bound::default(), file_bytes: file_bytes as u64 }
    }
}

/// What is said of a workbook.
#[derive(Default)]
pub struct Told {
    /// Options without effect. Of several sheets, what is true of all.
    pub warnings: Vec<String>,
    /// Values that are not those of the file.
    pub cut: Vec<String>,
    sheets: usize,
}

impl Told {
    /// What is left when all sheets are read.
    pub fn of_all(mut self) -> Self {
        let all = std::mem::take(&mut self.warnings);
        let everywhere = |text: &String| all.iter().filter(|t| *t == text).count() >= self.sheets;
        let mut seen = HashSet::new();
        let kept = all.iter().filter(|t| seen.insert(t.as_str()) && everywhere(t));
        self.warnings = kept.cloned().collect();
        self
    }
}

/// How a sheet is read.
pub struct Layout {
    format: Format,
    /// Row of the names, after the skipped ones; `None`: there is none.
    header: Option<usize>,
    names: Option<Vec<String>>,
    skip_rows: usize,
    rows_max: Option<usize>,
    usecols: Option<Vec<Value>>,
    na: Vec<String>,
    dtype: Option<Value>,
}

impl Layout {
    /// The layout that the options describe.
    pub fn new(format: Format, options: Options<'_>) -> Result<Self, IngestError> {
        let wrong = || IngestError::option("header", "must be a row from 0, or \"none\"");
        let header = match options.get("header") {
            // What `header=None` of pandas is in JSON.
            None if options.is_null("header") => None,
            None => Some(0),
            Some(Value::String(word)) if word.eq_ignore_ascii_case("none") => None,
            Some(row) => Some(row.as_u64().and_then(small).ok_or_else(wrong)?),
        };
        let count = |name| Ok::<_, IngestError>(options.count(name)?.map(|n| n.min(1 << 32)));
        Ok(Self {
            format,
            header,
            names: options.texts("names")?,
            skip_rows: count("skiprows")?.and_then(small).unwrap_or(0),
            rows_max: count("nrows")?.and_then(small),
            usecols: options.list("usecols")?.cloned(),
            na: options.texts("na_values")?.unwrap_or_default(),
            dtype: options.get("dtype").cloned(),
        })
    }
}

fn small(n: u64) -> Option<usize> {
    u32::try_from(n).ok().map(|n| n as usize)
}

/// The cells of one sheet, by column.
#[derive(Default)]
pub struct Grid {
    columns: Vec<Column>,
    rows: usize,
}

impl Grid {
    /// Whether no cell has a value.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    fn area(&self) -> u64 {
        self.rows as u64 * self.columns.len() as u64
    }

    /// Puts a cell of `sheet`. An empty one does not extend the table.
    pub fn put(
        &mut self,
        row: u32,
        column: u32,
        cell: Cell<'_>,
        sheet: &str,
        area: &mut Area,
    ) -> Result<(), IngestError> {
        if let Cell::Null | Cell::Text("") = cell {
            return Ok(());
        }
        if let Cell::Text(text) = cell {
            if text.len() > CELL_BYTES_MAX {
                let message = format!(
                    "sheet {sheet:?}: a cell of {} bytes; the limit is {CELL_BYTES_MAX}",
                    text.len()
                );
                return Err(too_large(message, row, column));
            }
            area.text.add(text.len(), area.file_bytes, "the text of the workbook")?;
        }
        let (row, column) = (row as usize, column as usize);
        let (rows, columns) = (self.rows.max(row + 1), self.columns.len().max(column + 1));
        if (rows, columns) != (self.rows, self.columns.len()) {
            let before = self.area();
            let after = (rows as u64).saturating_mul(columns as u64);
            area.cells = area.cells.saturating_add(after - before);
            if area.cells > WORKBOOK_CELLS_MAX {
                let message = format!(
                    "sheet {sheet:?} reaches to row {} and column {}, so that the workbook has more \
                     than {WORKBOOK_CELLS_MAX} cells, the limit; delete stray cells, or send the \
                     sheet as csv",
                    row + 1,
                    letters(column)
                );
                return Err(too_large(message, row as u32, column as u32));
            }
            self.rows = rows;
            self.columns.resize_with(columns, Column::default);
        }
        let put = self.columns[column].put(row, cell);
        put.map_err(|TooMuchText| too_much_text(sheet, column))
    }

    /// The table of a sheet.
    pub fn into_table(
        mut self,
        layout: &Layout,
        sheet: &str,
        told: &mut Told,
    ) -> Result<Table, IngestError> {
        if self.columns.len() > COLUMNS_MAX {
            return Err(TableError::TooManyColumns { columns: self.columns.len() }.into());
        }
        let header = layout.header.map(|row| row + layout.skip_rows);
        let first = header.map_or(layout.skip_rows, |row| row + 1).min(self.rows);
        let end = layout.rows_max.map_or(self.rows, |n| self.rows.min(first.saturating_add(n)));
        let (written, names) = self.names(header, layout, sheet)?;
        let dtype = layout.dtype.as_ref();
        let mut demands = demands(&names, &written, dtype, &mut told.warnings)?;
        told.sheets += 1;
        let chosen = choose(&names, layout.usecols.as_deref())?;
        let (mut fields, mut arrays) = (Vec::new(), Vec::<ArrayRef>::new());
        for (index, name) in names.into_iter().enumerate() {
            // Taken, so that the cells do not outlive their column.
            let column = std::mem::take(&mut self.columns[index]);
            if !chosen[index] {
                continue;
            }
            let beyond = column.beyond_doubles(first..end);
            if beyond > 0 {
                let name = crate::decimals::shown(&name);
                told.cut.push(format!(
                    "column {name:?} of sheet {sheet:?} holds {beyond} whole numbers beyond 2^53, of which a workbook keeps 15 \
                     to 17 digits: write ids of that length as text cells"
                ));
            }
            let array = match demands[index].take() {
                None => {
                    let array = column.build(first..end, &layout.na);
                    array.map_err(|TooMuchText| too_much_text(sheet, index))?
                }
                Some(demand) => {
                    let array = demanded(&column, first..end, &layout.na, &demand);
                    let array =
                        array.map_err(|e| e.told(layout.format, sheet, index, &name, &demand))?;
                    demand::finish(layout.format, &name, &demand.then, array, &mut told.warnings)?
                }
            };
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(end - first));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)
            .map_err(|e| TableError::Join(e.to_string()))?;
        Ok(Table::try_new(batch)?)
    }

    /// The names as the header has them, and those that the columns get.
    fn names(
        &self,
        header: Option<usize>,
        layout: &Layout,
        sheet: &str,
    ) -> Result<(Vec<String>, Vec<String>), IngestError> {
        let count = self.columns.len();
        if let Some(names) = &layout.names {
            if names.len() != count {
                let message =
                    format!("has {} names, but sheet {sheet:?} has {count} columns", names.len());
                return Err(IngestError::option("names", message));
            }
            return Ok((Vec::new(), names.clone()));
        }
        let Some(header) = header else {
            return Ok((Vec::new(), (0..count).map(|i| i.to_string()).collect()));
        };
        if header >= self.rows && count > 0 {
            let message = format!("sheet {sheet:?} has {} rows only", self.rows);
            return Err(IngestError::option("header", message));
        }
        let mut blank = vec![false; count];
        let mut names = Vec::with_capacity(count);
        for (i, column) in self.columns.iter().enumerate() {
            let mut name = String::new();
            column.cell(header).render(&mut name);
            blank[i] = name.is_empty();
            names.push(if blank[i] { format!("Unnamed: {i}") } else { name });
        }
        let written = names.clone();
        number_repeats(&mut names, &blank);
        Ok((written, names))
    }
}

/// Numbers repeated names as pandas does: written ones first, then made-up ones.
fn number_repeats(names: &mut [String], blank: &[bool]) {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let mut used = HashSet::new();
    for made_up in [false, true] {
        for (i, name) in names.iter_mut().enumerate().filter(|(i, _)| blank[*i] == made_up) {
            if used.insert(name.clone()) {
                continue;
            }
            // Some number up to the position is free: only so many names came before.
            let free = (1..=i + taken.len()).map(|n| format!("{name}.{n}"));
            if let Some(free) = free.into_iter().find(|n| !taken.contains(n)) {
                *name = free;
            }
            taken.insert(name.clone());
            used.insert(name.clone());
        }
    }
}

fn choose(names: &[String], usecols: Option<&[Value]>) -> Result<Vec<bool>, IngestError> {
    let Some(usecols) = usecols else { return Ok(vec![true; names.len()]) };
    let mut chosen = vec![false; names.len()];
    for pick in usecols {
        let found = match pick {
            Value::String(name) => names.iter().position(|n| n == name),
            _ => pick.as_u64().and_then(small).filter(|i| *i < names.len()),
        };
        let Some(index) = found else {
            let shown: Vec<_> = names.iter().take(32).collect();
            let message = format!("column {pick} does not exist; there are {shown:?}");
            return Err(IngestError::option("usecols", message));
        };
        chosen[index] = true;
    }
    Ok(chosen)
}

/// The letters that Excel shows above a column.
fn letters(column: usize) -> String {
    let mut out = Vec::new();
    let mut rest = column + 1;
    while rest > 0 {
        out.push(b'A' + ((rest - 1) % 26) as u8);
        rest = (rest - 1) / 26;
    }
    out.iter().rev().map(|b| char::from(*b)).collect()
}

fn too_large(message: String, row: u32, column: u32) -> IngestError {
    let column = Some(letters(column as usize));
    IngestError::TooLarge { message, row: Some(u64::from(row) + 1), column }
}

impl Misfit {
    fn told(
        self,
        format: Format,
        sheet: &str,
        index: usize,
        name: &str,
        demand: &Demand,
    ) -> IngestError {
        match self {
            Self::TooMuchText => too_much_text(sheet, index),
            Self::Cell { row, text } => {
                demand::misfit(format, name, row, &text, demand.kind.shown())
            }
        }
    }
}

fn too_much_text(sheet: &str, column: usize) -> IngestError {
    let message = format!(
        "sheet {sheet:?}: column {} holds more than 2 GiB of text; send the sheet as csv",
        letters(column)
    );
    IngestError::TooLarge { message, row: None, column: Some(letters(column)) }
}
