//! Id columns of any types to numbers: integers the fast way, text by its dictionary where it has one.

use arrow_array::{Array, UInt32Array};
use graphlume_table::TextColumn;
use graphlume_types::{CancelToken, Cancelled};
use rayon::prelude::*;

use crate::canon::{Canon, Column, Hasher};
use crate::renumber::{NONE, Space, number};

/// What the items of one column are: its rows, or the codes of its dictionary.
enum Items<'a> {
    Rows,
    Codes(Codes<'a>),
}

/// The codes that a dictionary column uses, in order of first appearance.
struct Codes<'a> {
    keys: &'a UInt32Array,
    values: &'a TextColumn,
    /// Item to code.
    code: Vec<u32>,
    /// Item to the first row with that code.
    first_row: Vec<u32>,
    /// Code to item, [`NONE`] when unused.
    item: Vec<u32>,
}

impl<'a> Codes<'a> {
    fn new(keys: &'a UInt32Array, values: &'a TextColumn) -> Self {
        let mut codes =
            Self { keys, values, code: vec![], first_row: vec![], item: vec![NONE; values.len()] };
        for (row, key) in keys.iter().enumerate() {
            let Some(key) = key else { continue };
            let item = &mut codes.item[key as usize];
            if *item == NONE {
                *item = codes.code.len() as u32;
                codes.code.push(key);
                codes.first_row.push(row as u32);
            }
        }
        codes
    }
}

/// Columns of any types, compared by canonical value.
struct Mixed<'a> {
    columns: &'a [Column],
    items: Vec<Items<'a>>,
    hasher: Hasher,
}

impl Mixed<'_> {
    fn get(&self, lane: usize, item: usize) -> Option<Canon<'_>> {
        match &self.items[lane] {
            Items::Rows => self.columns[lane].get(item),
            Items::Codes(c) => c.values.get(c.code[item] as usize).map(Canon::Text),
        }
    }
}

impl Space for Mixed<'_> {
    fn lanes(&self) -> Vec<usize> {
        let len = |(c, i): (&Column, &Items<'_>)| match i {
            Items::Rows => c.len(),
            Items::Codes(codes) => codes.code.len(),
        };
        self.columns.iter().zip(&self.items).map(len).collect()
    }

    fn hash(&self, lane: usize, item: usize) -> Option<u64> {
        self.get(lane, item).map(|v| self.hasher.canon(&v))
    }

    fn code(&self, lane: usize, item: usize) -> Option<u128> {
        let Some(Canon::Text(text)) = self.get(lane, item) else { return None };
        let mut bytes = [0; 16];
        bytes.get_mut(..text.len()).filter(|b| b.len() < 16)?.copy_from_slice(text.as_bytes());
        bytes[15] = text.len() as u8;
        Some(u128::from_le_bytes(bytes))
    }

    fn same(&self, a: (usize, usize), b: (usize, usize)) -> bool {
        self.get(a.0, a.1) == self.get(b.0, b.1)
    }
}

/// The numbers of the rows of several columns.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Per column and row its number, or [`NONE`] for a null.
    pub(crate) columns: Vec<Vec<u32>>,
    /// Per number the column and row where it first appears; ascending.
    pub(crate) firsts: Vec<(u32, u32)>,
}

/// Numbers the values of `columns` in order of first appearance, column after column.
pub(crate) fn number_columns(
    columns: &[Column],
    cancel: &CancelToken,
) -> Result<Numbers, Cancelled> {
    let ints: Option<Vec<_>> = columns.iter().map(crate::ints::Ints::try_new).collect();
    let (numbering, mixed) = match ints {
        Some(lanes) => (crate::ints::number(&lanes, cancel)?, None),
        None => {
            let mixed = Mixed {
                columns,
                items: columns.par_iter().map(items_of).collect(),
                hasher: Hasher::new(),
            };
            (number(&mixed, cancel)?, Some(mixed))
        }
    };
    let lens: Vec<usize> = numbering.lanes.iter().map(Vec::len).collect();
    let mut firsts = Vec::with_capacity(numbering.firsts.len());
    let (mut lane, mut base) = (0, 0);
    for first in numbering.firsts {
        while first as usize >= base + lens[lane] {
            base += lens[lane];
            lane += 1;
        }
        let item = first - base as u32;
        let row = match mixed.as_ref().map(|m| &m.items[lane]) {
            Some(Items::Codes(c)) => c.first_row[item as usize],
            _ => item,
        };
        firsts.push((lane as u32, row));
    }
    let columns = match &mixed {
        None => numbering.lanes,
        Some(m) => m.items.iter().zip(numbering.lanes).map(|(i, n)| rows_of(i, n)).collect(),
    };
    Ok(Numbers { columns, firsts })
}

fn items_of(column: &Column) -> Items<'_> {
    let Column::Text(text) = column else { return Items::Rows };
    match text.dictionary() {
        // A dictionary larger than its column would cost more than it saves.
        Some((keys, values)) if values.len() <= keys.len() => {
            Items::Codes(Codes::new(keys, values))
        }
        _ => Items::Rows,
    }
}

/// From numbers of items to numbers of rows.
fn rows_of(items: &Items<'_>, numbers: Vec<u32>) -> Vec<u32> {
    let Items::Codes(codes) = items else { return numbers };
    let of_code: Vec<u32> = codes
        .item
        .iter()
        .map(|item| if *item == NONE { NONE } else { numbers[*item as usize] })
        .collect();
    let keys = codes.keys.values();
    match codes.keys.nulls() {
        None => keys.par_iter().with_min_len(1 << 14).map(|k| of_code[*k as usize]).collect(),
        Some(nulls) => {
            let rows = keys.iter().zip(nulls.iter());
            rows.map(|(k, valid)| if valid { of_code[*k as usize] } else { NONE }).collect()
        }
    }
}

/// The distinct values of a column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distinct {
    /// Per row the number of its value in order of first appearance; `u32::MAX` for a null.
    pub codes: Vec<u32>,
    /// Per value the row where it first appears.
    pub first_rows: Vec<u32>,
}

/// Numbers the values of a column in order of first appearance, with the same notion of equality as
/// node ids have. `None` when the column's type has no values to compare, or it has too many rows.
#[must_use]
pub fn distinct(array: &arrow_array::ArrayRef) -> Option<Distinct> {
    let column = Column::try_new(array).ok().filter(|c| c.len() < NONE as usize)?;
    let numbers = number_columns(&[column], &CancelToken::new()).ok()?;
    let first_rows = numbers.firsts.iter().map(|(_, row)| *row).collect();
    Some(Distinct { codes: numbers.columns.into_iter().next()?, first_rows })
}
