//! Categories and truth values: which there are, and the most frequent first.

use std::sync::Arc;

use graphlume_expr::{ErrorCode, QueryError, Scalar};
use graphlume_graph::canon::Column;
use rayon::prelude::*;

use super::codes::Codes;
use super::parts::{Count, Parts, VALUES_MAX};
use crate::column::{Cells, ROWS_AT_ONCE};
use crate::rule::Axis;
use crate::work::Work;

/// The values of a column, by their numbers.
#[derive(Debug)]
pub(super) struct Values {
    names: Names,
    /// The numbers of values that occur, the most frequent first.
    order: Vec<u32>,
}

#[derive(Debug)]
enum Names {
    /// Texts, and the row in which each stands first.
    Texts(Arc<Column>, Vec<u32>),
    /// Numbers of groups from 0 on: so many.
    Groups(usize),
    /// False and true.
    Truths,
}

impl Values {
    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        match &self.names {
            Names::Texts(_, rows) => rows.len(),
            Names::Groups(count) => *count,
            Names::Truths => 2,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.len() as u64 * 8
    }

    fn text(&self, value: u32) -> &str {
        match &self.names {
            Names::Texts(column, rows) => match column.as_ref() {
                Column::Text(text) => text.get(rows[value as usize] as usize).unwrap_or_default(),
                _ => "",
            },
            _ => "",
        }
    }

    fn value(&self, value: u32) -> Scalar {
        match &self.names {
            Names::Texts(..) => Scalar::text(self.text(value)),
            Names::Groups(_) => Scalar::Int(i64::from(value)),
            Names::Truths => Scalar::Bool(value == 1),
        }
    }

    /// Puts the most frequent values first; of equally frequent ones the first in order.
    pub(super) fn sort(&mut self, totals: &[u64]) {
        let mut order: Vec<u32> =
            (0..self.len() as u32).filter(|value| totals[*value as usize] > 0).collect();
        order.par_sort_unstable_by(|a, b| {
            let frequent = totals[*b as usize].cmp(&totals[*a as usize]);
            frequent.then_with(|| self.text(*a).cmp(self.text(*b))).then(a.cmp(b))
        });
        self.order = order;
    }

    /// The histogram of the values that contain `search`, in any case.
    pub(super) fn parts(&self, search: Option<&str>, count: impl Fn(usize) -> Count) -> Parts {
        let search = search.map(str::to_lowercase).filter(|text| !text.is_empty());
        let contains = |value: &&u32| match (&search, &self.names) {
            (None, _) => true,
            (Some(search), Names::Texts(..)) => self.text(**value).to_lowercase().contains(search),
            (Some(search), Names::Groups(_)) => value.to_string().contains(search),
            (Some(search), Names::Truths) => (**value == 1).to_string().contains(search),
        };
        let (mut values, mut distinct, mut others) = (Vec::new(), 0, Count::default());
        for value in self.order.iter().filter(contains) {
            let own = count(*value as usize);
            distinct += 1;
            if values.len() < VALUES_MAX {
                values.push((self.value(*value), own));
            } else {
                others.total += own.total;
                others.passing += own.passing;
            }
        }
        Parts::Values { values, distinct, others }
    }
}

impl Work<'_> {
    /// The numbers of the values of every row, and the values.
    pub(super) fn values(&self, cells: &Cells) -> Result<(Codes, Values), QueryError> {
        let of = |names| Values { names, order: vec![] };
        match cells.column.as_ref() {
            Column::Int(groups) => {
                let cells = groups.values();
                let count = cells.par_iter().copied().max().map_or(0, |most| most as usize + 1);
                let codes = cells.par_iter().map(|group| *group as u32).collect();
                Ok((Codes::of(codes, count), of(Names::Groups(count))))
            }
            Column::Bool(truths) => {
                let mut codes = vec![u8::MAX; truths.len()];
                codes.par_chunks_mut(ROWS_AT_ONCE).enumerate().for_each(|(chunk, codes)| {
                    for (i, code) in codes.iter_mut().enumerate() {
                        let row = chunk * ROWS_AT_ONCE + i;
                        if arrow_array::Array::is_valid(truths, row) {
                            *code = u8::from(truths.value(row));
                        }
                    }
                });
                Ok((Codes::Bytes(codes), of(Names::Truths)))
            }
            _ => {
                let nodes = self.graph.node_table(self.cancel)?;
                let table =
                    if cells.axis == Axis::Node { Some(&nodes) } else { self.graph.edges() };
                let array = table.and_then(|table| table.column(&cells.name));
                let distinct = array.and_then(graphlume_graph::distinct).ok_or_else(|| {
                    let text = format!("column {:?} has no values to count", cells.name);
                    QueryError::new(ErrorCode::ColumnType, text).field(&cells.name)
                })?;
                self.cancel.check()?;
                let count = distinct.first_rows.len();
                let names = Names::Texts(Arc::clone(&cells.column), distinct.first_rows);
                Ok((Codes::of(distinct.codes, count), of(names)))
            }
        }
    }
}
