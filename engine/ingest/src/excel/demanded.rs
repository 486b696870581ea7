//! A column of a sheet as the type that the option `dtype` demands.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, UInt64Array};

use graphlume_types::number::{exact_i64, exact_u64, nearest_f64};

use super::column::{Cell, Column, TooMuchText, Word, boolean, meaning, texts};
use crate::csv::cells::is_default_na;
use crate::demand::{Demand, Kind};
use crate::number::{Int, Style, float};

/// Why a column is not of the demanded type.
pub enum Misfit {
    TooMuchText,
    /// The first cell that is not of the type; rows are counted from 0.
    Cell {
        row: usize,
        text: String,
    },
}

impl From<TooMuchText> for Misfit {
    fn from(TooMuchText: TooMuchText) -> Self {
        Self::TooMuchText
    }
}

/// The cells of `rows` as the demanded type; texts in `na` are missing. Text stays as it is written, and a number
/// that is demanded as text is written as Excel shows it: whole ones without a fraction.
pub fn demanded(
    column: &Column,
    rows: Range<usize>,
    na: &[String],
    demand: &Demand,
) -> Result<ArrayRef, Misfit> {
    let cells = || column.cells(rows.clone(), na);
    let bools = demand.bools;
    Ok(match demand.kind {
        Kind::Text => Arc::new(texts(cells())?),
        Kind::Int => Arc::new(all(cells(), |c| int(c, bools))?.collect::<Int64Array>()),
        Kind::UInt => Arc::new(all(cells(), |c| uint(c, bools))?.collect::<UInt64Array>()),
        Kind::Float => Arc::new(all(cells(), |c| double(c, bools))?.collect::<Float64Array>()),
        Kind::Bool => Arc::new(all(cells(), truth)?.collect::<BooleanArray>()),
    })
}

/// The values of all cells, null where none is.
fn all<'a, T>(
    cells: impl Iterator<Item = Cell<'a>>,
    value: impl Fn(Cell<'a>) -> Option<T>,
) -> Result<impl Iterator<Item = Option<T>>, Misfit> {
    let read = cells.enumerate().map(|(row, cell)| match cell {
        Cell::Null => Ok(None),
        Cell::Float(v) if v.is_nan() => Ok(None),
        Cell::Text(text) if is_default_na(text.as_bytes()) => Ok(None),
        cell => value(cell).map(Some).ok_or_else(|| {
            let mut text = String::new();
            cell.render(&mut text);
            Misfit::Cell { row, text }
        }),
    });
    Ok(read.collect::<Result<Vec<_>, _>>()?.into_iter())
}

fn int(cell: Cell<'_>, bools: bool) -> Option<i64> {
    match cell {
        Cell::Int(v) => Some(v),
        Cell::Float(v) => exact_i64(v),
        Cell::Bool(v) => bools.then_some(i64::from(v)),
        Cell::Text(text) => match meaning(text) {
            Word::Int(Int::Signed(v)) => Some(v),
            Word::Float => exact_i64(float(text.as_bytes(), Style::PLAIN)?),
            Word::Bool(v) => bools.then_some(i64::from(v)),
            _ => None,
        },
        _ => None,
    }
}

fn uint(cell: Cell<'_>, bools: bool) -> Option<u64> {
    match cell {
        Cell::Float(v) => exact_u64(v),
        Cell::Text(text) => match meaning(text) {
            Word::Int(Int::Unsigned(v)) => Some(v),
            Word::Float => exact_u64(float(text.as_bytes(), Style::PLAIN)?),
            _ => int(cell, bools).and_then(|v| u64::try_from(v).ok()),
        },
        cell => int(cell, bools).and_then(|v| u64::try_from(v).ok()),
    }
}

fn double(cell: Cell<'_>, bools: bool) -> Option<f64> {
    match cell {
        Cell::Int(v) => Some(nearest_f64(v)),
        Cell::Float(v) => Some(v),
        Cell::Bool(v) => bools.then_some(f64::from(u8::from(v))),
        Cell::Text(text) => match meaning(text) {
            Word::Bool(v) => bools.then_some(f64::from(u8::from(v))),
            _ => float(text.as_bytes(), Style::PLAIN),
        },
        _ => None,
    }
}

fn truth(cell: Cell<'_>) -> Option<bool> {
    boolean(cell).or(match double(cell, true) {
        Some(0.0) => Some(false),
        Some(1.0) => Some(true),
        _ => None,
    })
}
