//! The columns of a CSV: their names, which of them are wanted, what types are demanded, and where the
//! records are.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use graphlume_table::TableError;
use graphlume_types::CancelToken;
use graphlume_types::limits::COLUMNS_MAX;

use super::cells::Cells;
use super::column_types::demands;
use super::dialect::{Dialect, Header, Pick};
use super::records::{Halt, Reader, Walk};
use super::token::{Stop, Token};
use crate::demand::{Demand, Kind, Then};
use crate::{Format, IngestError};

/// A wanted column.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    /// Position in the file.
    pub index: usize,
    pub demand: Option<Demand>,
    pub cells: Arc<Cells>,
}

/// The layout of a file.
#[derive(Debug)]
pub struct Plan {
    /// Cells per record.
    pub width: usize,
    /// Cells that a record may have: fewer than the width where there are names for columns that only
    /// a record above the header has.
    pub cells_max: usize,
    /// Wanted columns in the order of the file.
    pub columns: Vec<Column>,
    /// Whether cells past the width are dropped.
    pub drop_extra: bool,
    /// Where records are: pieces of the text that begin and end between records.
    pub pieces: Vec<Range<usize>>,
}

fn no_columns() -> IngestError {
    let message = "the CSV has no columns: it is empty, or ends before its header";
    IngestError::malformed(Format::Csv, message)
}

/// Reads the header.
pub fn plan(
    text: &[u8],
    dialect: &Dialect,
    cancel: &CancelToken,
    warnings: &mut Vec<String>,
) -> Result<Plan, Halt> {
    let mut walk = Walk::new(text, dialect, cancel);
    let (written, widest) = header(&mut walk, dialect)?;
    let mut pieces = walk.kept()?;
    let whole = pieces.clone();
    if dialect.footer > 0 {
        let end = Walk::new(text, dialect, cancel).footer(dialect.footer)?;
        pieces.iter_mut().for_each(|p| p.end = p.end.min(end));
        pieces.retain(|p| p.start < p.end);
    }
    let first = first_record(text, &pieces, dialect)?;
    // Without rows to read, nothing can be wrong with their cells.
    let found = first.map(|(_, cells)| cells).filter(|_| dialect.rows_max != Some(0));
    let mut drop_extra = dialect.usecols.is_some();
    let mut cells_max = usize::MAX;
    let (written, names) = match (written, &dialect.names) {
        (written, Some(names)) => {
            let wide = written.as_ref().map_or(0, Vec::len);
            if written.is_some() {
                cells_max = found.unwrap_or(0).max(wide);
            }
            if wide > names.len() && found.is_some() && dialect.usecols.is_none() {
                let message = format!("names {} columns but the header has {wide}", names.len());
                return Err(IngestError::option("names", message).into());
            }
            // Names may be as many as the widest record has cells, also if that is above the header.
            let cells = found.max(written.map(|_| widest));
            let padded = dialect.header == Header::None && dialect.usecols.is_none();
            if let (Some(cells), Some(_), false) = (cells, found, padded)
                && names.len() > cells
            {
                let message = format!("names {} columns but there are {cells}", names.len());
                return Err(IngestError::option("names", message).into());
            }
            let names = match &dialect.usecols {
                Some(picks) => {
                    names_of_picks(names, picks, first.map(|(_, cells)| cells.max(wide)))?
                }
                None => names.clone(),
            };
            (Vec::new(), names)
        }
        (Some(written), None) => {
            let filled = filled(&written);
            if !dialect.numbered {
                refuse_repeated(&filled)?;
            }
            let names = unique(&written, filled.clone());
            (filled, names)
        }
        (None, None) => {
            // A footer has columns, too.
            let first = first.map_or_else(|| first_record(text, &whole, dialect), |f| Ok(Some(f)));
            let (_, count) = first?.ok_or_else(no_columns)?;
            (Vec::new(), (0..count).map(|i| format!("{}{i}", dialect.prefix)).collect())
        }
    };
    if names.is_empty() {
        return Err(no_columns().into());
    }
    if names.len() > COLUMNS_MAX {
        return Err(IngestError::from(TableError::TooManyColumns { columns: names.len() }).into());
    }
    if let (Some((at, cells)), Some(picks)) = (first, &dialect.usecols) {
        // Whether the surplus is in front or behind cannot be told, unless all are picked.
        let all = picks.len() == names.len() || dialect.names.is_some();
        drop_extra = true;
        if cells > names.len() && !all {
            return Err(Halt::Stop(Stop::TooMany { at, cells }));
        }
    }
    let columns = choose(&names, &written, dialect, warnings)?;
    let width = names.len();
    Ok(Plan { width, cells_max: cells_max.min(width), columns, drop_extra, pieces })
}

/// The names as they are written, `None` where the file has none, and the cells of the widest record up
/// to them.
fn header(walk: &mut Walk<'_>, dialect: &Dialect) -> Result<(Option<Vec<String>>, usize), Halt> {
    let Header::Row(row) = dialect.header else { return Ok((None, 0)) };
    let mut widest = 0;
    for before in 0..=row {
        if !walk.record()? {
            // With names from elsewhere, an empty file is an empty table.
            let empty = before == 0 && dialect.names.is_some();
            return if empty { Ok((None, 0)) } else { Err(no_columns().into()) };
        }
        widest = widest.max(walk.cells().0.len());
    }
    let (tokens, data) = walk.cells();
    let mut names = Vec::with_capacity(tokens.len());
    for (i, token) in tokens.iter().enumerate() {
        let name = token.text(data, dialect.syntax.quote);
        let Ok(name) = std::str::from_utf8(&name) else {
            let message = format!("the name of column {} is not UTF-8 text", i + 1);
            return Err(IngestError::malformed_at(Format::Csv, message, walk.line()).into());
        };
        names.push(name.to_owned());
    }
    Ok((Some(names), widest))
}

/// Where the first record begins, and how many cells it has.
fn first_record(
    text: &[u8],
    pieces: &[Range<usize>],
    dialect: &Dialect,
) -> Result<Option<(usize, usize)>, Halt> {
    let mut cells = Vec::<Token>::new();
    for piece in pieces {
        let mut reader = Reader::new(&text[piece.clone()], dialect);
        let found = reader.record(&mut cells);
        let found = found.map_err(|stop| Halt::Stop(stop.shifted(piece.start)))?;
        if let Some(at) = found {
            return Ok(Some((piece.start + at, cells.len())));
        }
    }
    Ok(None)
}

/// Names for the columns up to the last picked one, where `names` may name just the picked ones.
fn names_of_picks(
    names: &[String],
    picks: &[Pick],
    found: Option<usize>,
) -> Result<Vec<String>, IngestError> {
    let index = |p: &Pick| match p {
        Pick::Index(i) => Some(*i),
        Pick::Name(_) => None,
    };
    let indices: Option<BTreeSet<usize>> = picks.iter().map(index).collect();
    let found = found.unwrap_or(names.len());
    match indices {
        Some(indices) if indices.len() == names.len() => {
            let width = indices.last().map_or(0, |i| i + 1);
            if width > found.max(names.len()) {
                let message = format!("column {} does not exist; there are {found}", width - 1);
                return Err(IngestError::option("usecols", message));
            }
            // Columns that are not picked have no name; the blank cannot be picked by mistake.
            let mut all: Vec<String> = (0..width).map(|i| format!(" {i}")).collect();
            indices.iter().zip(names).for_each(|(i, name)| all[*i].clone_from(name));
            Ok(all)
        }
        _ if picks.len() != names.len() && found > names.len() => {
            let given = names.len();
            let message = format!("names {given} columns but the first record has {found} cells");
            Err(IngestError::option("names", message))
        }
        _ => Ok(names.to_vec()),
    }
}

/// The written names, with made up ones in place of empty ones.
fn filled(written: &[String]) -> Vec<String> {
    let name = |(i, name): (usize, &String)| {
        if name.is_empty() { format!("Unnamed: {i}") } else { name.clone() }
    };
    written.iter().enumerate().map(name).collect()
}

/// Refuses repeated names, where they are not to get a number: a table needs names of its own.
fn refuse_repeated(names: &[String]) -> Result<(), IngestError> {
    let mut seen = HashSet::new();
    let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) else { return Ok(()) };
    let shown: String = twice.chars().take(64).collect();
    let message = format!(
        "is false, but the header has {shown:?} more than once, and the columns of a table need names of their own; leave \
         the option out, so that the next is called {:?}",
        format!("{shown}.1")
    );
    Err(IngestError::option("mangle_dupe_cols", message))
}

/// Repeated names get a number, as pandas does it: those that are written keep their name before those
/// that are made up.
fn unique(written: &[String], mut names: Vec<String>) -> Vec<String> {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let (given, made): (Vec<usize>, Vec<usize>) =
        (0..names.len()).partition(|i| !written[*i].is_empty());
    for i in given.into_iter().chain(made) {
        let old = names[i].clone();
        let mut new = old.clone();
        let mut count = counts.get(&old).copied().unwrap_or(0);
        while count > 0 {
            counts.insert(old.clone(), count + 1);
            new = format!("{old}.{count}");
            count = if taken.contains(&new) {
                count + 1
            } else {
                counts.get(&new).copied().unwrap_or(0)
            };
        }
        *counts.entry(new.clone()).or_default() += 1;
        taken.insert(new.clone());
        names[i] = new;
    }
    names
}

/// The position of a picked column.
fn locate(names: &[String], pick: &Pick, option: &str) -> Result<usize, IngestError> {
    let found = match pick {
        Pick::Name(name) => names.iter().position(|n| n == name),
        Pick::Index(i) => (*i < names.len()).then_some(*i),
    };
    found.ok_or_else(|| {
        let what = match pick {
            Pick::Name(name) => format!("{name:?}"),
            Pick::Index(i) => i.to_string(),
        };
        let shown: Vec<_> = names.iter().take(32).collect();
        IngestError::option(option, format!("column {what} does not exist; there are {shown:?}"))
    })
}

fn choose(
    names: &[String],
    written: &[String],
    dialect: &Dialect,
    warnings: &mut Vec<String>,
) -> Result<Vec<Column>, IngestError> {
    let mut wanted = vec![dialect.usecols.is_none(); names.len()];
    for pick in dialect.usecols.iter().flatten() {
        wanted[locate(names, pick, "usecols")?] = true;
    }
    let mut demands = demands(names, written, dialect.dtype.as_ref(), warnings)?;
    let mut columns = Vec::new();
    for (index, name) in names.iter().enumerate().filter(|(i, _)| wanted[*i]) {
        let own = dialect.own_cells.iter().find(|(n, _)| n == name);
        let cells = own.map_or(&dialect.cells, |(_, cells)| cells).clone();
        columns.push(Column { name: name.clone(), index, demand: demands[index].take(), cells });
    }
    for (name, _) in &dialect.own_cells {
        if !columns.iter().any(|c| c.name == *name) {
            warnings.push(format!("option `na_values` names a column {name:?} that there is not"));
        }
    }
    let chosen: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
    for pick in &dialect.dates {
        let at = locate(&chosen, pick, "parse_dates")?;
        columns[at].demand = Some(Demand::new(Kind::Text, Then::DatesOrText));
    }
    Ok(columns)
}
