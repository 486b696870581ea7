//! Expressions in text form, over the rows of a table.

mod eval;
mod function;
mod lex;
mod parse;
mod value;

use std::cell::{Cell as Place, RefCell};
use std::collections::HashMap;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use graphlume_table::Table;
use graphlume_types::CancelToken;
use regex::Regex;

use crate::bind::Strictness;
use crate::error::{ErrorCode, GfqlError};
use crate::wire::regex;
use eval::{Eval, Names};
use parse::parse_frame;
pub(crate) use parse::{Expr, parse};
pub(crate) use value::{Cell, Reader, column};

/// The columns that expressions name, of the row that is looked at.
pub(crate) struct Rows {
    readers: HashMap<String, Source>,
    row: Place<usize>,
    frame: bool,
    steps: Place<u32>,
    pattern: RefCell<Option<(String, Regex)>>,
    cancel: CancelToken,
}

/// Steps of evaluation between two looks at the cancel token.
const STEPS_PER_CHECK: u32 = 16_384;

enum Source {
    Column(Reader),
    /// A property of a named step: the column where the step's marker is true.
    Property(Reader, Reader),
    Absent,
}

impl Names for Rows {
    fn column(&self, name: &str) -> Cell {
        let row = self.row.get();
        match self.readers.get(name) {
            Some(Source::Column(reader)) => reader.get(row),
            Some(Source::Property(marker, reader)) if marker.get(row) == Cell::Bool(true) => {
                reader.get(row)
            }
            _ => Cell::Null,
        }
    }

    fn step(&self) -> Result<(), GfqlError> {
        let steps = self.steps.get().wrapping_add(1);
        self.steps.set(steps);
        if steps.is_multiple_of(STEPS_PER_CHECK) {
            self.cancel.check()?;
        }
        Ok(())
    }

    fn pattern(&self, text: &str) -> Result<Regex, GfqlError> {
        let mut known = self.pattern.borrow_mut();
        if let Some((_, pattern)) = known.as_ref().filter(|(t, _)| t == text) {
            return Ok(pattern.clone());
        }
        // Each row may have a pattern of its own, and a large one takes long to compile.
        self.cancel.check()?;
        let pattern = regex(&format!(r"\A(?:{text})\z"), 0)
            .map_err(|e| GfqlError::new(ErrorCode::Predicate, e.to_string()).value(text))?;
        *known = Some((text.to_owned(), pattern.clone()));
        Ok(pattern)
    }
}

/// The array of a name, when it simply is a column of the table.
pub(crate) fn plain_column<'t>(table: &'t Table, expr: &Expr) -> Option<&'t ArrayRef> {
    match expr {
        Expr::Name(name) => table.column(name),
        _ => None,
    }
}

impl Rows {
    /// Finds the columns that `expr` names.
    pub(crate) fn new(
        table: &Table,
        exprs: &[&Expr],
        strictness: Strictness,
        frame: bool,
        cancel: &CancelToken,
    ) -> Result<Self, GfqlError> {
        let mut rows = Self {
            readers: HashMap::new(),
            row: Place::new(0),
            frame,
            steps: Place::new(0),
            pattern: RefCell::default(),
            cancel: cancel.clone(),
        };
        for expr in exprs {
            rows.find(table, expr, strictness, &mut Vec::new())?;
        }
        Ok(rows)
    }

    fn find<'e>(
        &mut self,
        table: &Table,
        expr: &'e Expr,
        strictness: Strictness,
        variables: &mut Vec<&'e str>,
    ) -> Result<(), GfqlError> {
        match expr {
            Expr::Literal(_) => {}
            Expr::Name(name) => {
                if !variables.contains(&name.as_str()) && !self.readers.contains_key(name) {
                    let source = source(table, name, strictness)?;
                    self.readers.insert(name.clone(), source);
                }
            }
            Expr::Quantified(_, name, list, test) => {
                self.find(table, list, strictness, variables)?;
                variables.push(name);
                self.find(table, test, strictness, variables)?;
                variables.pop();
            }
            Expr::Comprehension(name, list, test, item) => {
                self.find(table, list, strictness, variables)?;
                variables.push(name);
                for part in [test, item].into_iter().flatten() {
                    self.find(table, part, strictness, variables)?;
                }
                variables.pop();
            }
            other => {
                if let Expr::Call(name, args) = other {
                    function::check(name, args.len())?;
                }
                for part in other.parts() {
                    self.find(table, part, strictness, variables)?;
                }
            }
        }
        Ok(())
    }

    /// The value of `expr` in `row`.
    pub(crate) fn eval(&self, expr: &Expr, row: usize) -> Result<Cell, GfqlError> {
        self.row.set(row);
        Eval::new(self, self.frame).eval(expr)
    }
}

impl Expr {
    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Literal(_) | Self::Name(_) => vec![],
            Self::Not(a) | Self::Negative(a) | Self::IsNull(a) => vec![a],
            Self::Binary(_, a, b) | Self::Index(a, b) | Self::Quantified(_, _, a, b) => vec![a, b],
            Self::Slice(a, from, to) => {
                std::iter::once(a).chain(from).chain(to).map(AsRef::as_ref).collect()
            }
            Self::Call(_, items) | Self::List(items) => items.iter().collect(),
            Self::Case(operand, arms, otherwise) => {
                let ends = operand.iter().chain(otherwise).map(AsRef::as_ref);
                arms.iter().flat_map(|(a, b)| [a, b]).chain(ends).collect()
            }
            Self::Comprehension(_, list, test, item) => {
                std::iter::once(list).chain(test).chain(item).map(AsRef::as_ref).collect()
            }
        }
    }
}

fn source(table: &Table, name: &str, strictness: Strictness) -> Result<Source, GfqlError> {
    let reader = |array: &ArrayRef| {
        Reader::new(array).ok_or_else(|| {
            let text = format!("column {name:?} has no values for expressions");
            GfqlError::new(ErrorCode::ColumnType, text).field(name)
        })
    };
    if let Some(array) = table.column(name) {
        return Ok(Source::Column(reader(array)?));
    }
    if let Some((alias, property)) = name.split_once('.')
        && let (Some(marker), Some(array)) = (table.column(alias), table.column(property))
        && marker.data_type() == &DataType::Boolean
    {
        return Ok(Source::Property(reader(marker)?, reader(array)?));
    }
    match strictness {
        Strictness::Strict => Err(GfqlError::no_column(name, "row", &table.column_names())),
        Strictness::Lenient => Ok(Source::Absent),
    }
}

/// The rows of a table for which a data frame query is true.
pub(crate) fn query(
    table: &Table,
    text: &str,
    cancel: &CancelToken,
) -> Result<Vec<bool>, GfqlError> {
    let place = |e: GfqlError| e.field("query");
    let expr = parse_frame(text).map_err(place)?;
    let rows = Rows::new(table, &[&expr], Strictness::Strict, true, cancel).map_err(place)?;
    (0..table.num_rows())
        .map(|row| match rows.eval(&expr, row).map_err(place)? {
            Cell::Bool(v) => Ok(v),
            Cell::Null => Ok(false),
            other => {
                let text = "a query must be true or false in every row";
                Err(GfqlError::new(ErrorCode::ColumnType, text).field("query").value(other.text()))
            }
        })
        .collect()
}
