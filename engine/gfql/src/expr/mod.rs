//! Expressions in text form, over the rows of a table.

mod entity;
mod eval;
mod function;
mod lex;
mod parse;
mod search;

use std::cell::{Cell as Place, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use graphlume_expr::{ErrorCode, QueryError, Scalar, Strictness};
use graphlume_store::filter::Pattern;
use graphlume_table::Table;
use graphlume_types::CancelToken;
use regex::Regex;

use crate::scope::{NO_ROWS, Scope};
use crate::wire::regex;
use entity::EntityReader;
pub(crate) use entity::{EDGE_IDS, NODE_ID, is_internal};
use eval::{Eval, Names};
use function::Takes;
pub(crate) use graphlume_expr::cell::{Cell, Reader, column};
use parse::parse_frame;
pub(crate) use parse::{Binary, Expr, parse};

/// The columns that expressions name, of the row that is looked at.
pub(crate) struct Rows {
    readers: HashMap<String, Source>,
    entities: HashMap<String, EntityReader>,
    row: Place<usize>,
    frame: bool,
    steps: Place<u32>,
    pattern: RefCell<Option<Known>>,
    cancel: CancelToken,
}

/// The pattern of the last row, with its text and its program.
type Known = (String, Pattern, Option<Arc<Regex>>);

/// Steps of evaluation between two looks at the cancel token.
const STEPS_PER_CHECK: u32 = 16_384;

enum Source {
    Column(Reader),
    /// A property of a named step: the column where the step's marker is true.
    Property(Reader, Reader),
    /// A field of the maps in a column.
    Field(Reader, Vec<String>),
    Absent,
}

impl Names for Rows {
    fn column(&self, name: &str) -> Cell {
        let row = self.row.get();
        match self.readers.get(name) {
            Some(Source::Column(reader)) => reader.get(row),
            Some(Source::Property(marker, reader)) if marker.get(row).is_true() => reader.get(row),
            Some(Source::Field(reader, path)) => path
                .iter()
                .fold(reader.get(row), |cell, name| cell.field(name).unwrap_or(Cell::NULL)),
            _ => Cell::NULL,
        }
    }

    fn entity(&self, name: &str) -> Option<Cell> {
        Some(self.entities.get(name)?.get(self.row.get()))
    }

    fn step(&self) -> Result<(), QueryError> {
        let steps = self.steps.get().wrapping_add(1);
        self.steps.set(steps);
        if steps.is_multiple_of(STEPS_PER_CHECK) {
            self.cancel.check()?;
        }
        Ok(())
    }

    fn pattern(&self, text: &str) -> Result<Pattern, QueryError> {
        let mut known = self.pattern.borrow_mut();
        if let Some((_, pattern, _)) = known.as_ref().filter(|(t, ..)| t == text) {
            return Ok(pattern.clone());
        }
        // Each row may have a pattern of its own, and a large one takes long to compile.
        self.cancel.check()?;
        let pattern = regex(&format!(r"\A(?:{text})\z"), 0)
            .map_err(|e| QueryError::new(ErrorCode::Predicate, e.to_string()).value(text))?;
        let program = pattern.hold();
        *known = Some((text.to_owned(), pattern.clone(), program));
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
        frame: bool,
        scope: Scope<'_>,
    ) -> Result<Self, QueryError> {
        let mut rows = Self {
            readers: HashMap::new(),
            entities: HashMap::new(),
            row: Place::new(0),
            frame,
            steps: Place::new(0),
            pattern: RefCell::default(),
            cancel: scope.cancel.clone(),
        };
        for expr in exprs {
            rows.find(&Scene { table, scope }, expr, &mut Vec::new())?;
        }
        Ok(rows)
    }

    fn find<'e>(
        &mut self,
        scene: &Scene<'_>,
        expr: &'e Expr,
        variables: &mut Vec<&'e str>,
    ) -> Result<(), QueryError> {
        let is_variable = |variables: &[&str], name: &str| {
            variables.iter().any(|v| *v == name.split('.').next().unwrap_or(name))
        };
        match expr {
            Expr::Literal(_) => {}
            Expr::Name(name) => {
                if !is_variable(variables, name) && !self.readers.contains_key(name) {
                    let source = source(scene, name)?;
                    self.readers.insert(name.clone(), source);
                }
            }
            Expr::Quantified(_, name, list, test) => {
                self.find(scene, list, variables)?;
                variables.push(name);
                self.find(scene, test, variables)?;
                variables.pop();
            }
            Expr::Comprehension(name, list, test, item) => {
                self.find(scene, list, variables)?;
                variables.push(name);
                for part in [test, item].into_iter().flatten() {
                    self.find(scene, part, variables)?;
                }
                variables.pop();
            }
            Expr::Call(name, args) => {
                function::check(name, args.len())?;
                let mut rest = args.as_slice();
                if let Some(Expr::Name(alias)) = args.first()
                    && let Some(kind) = function::of_elements(name)
                    && !is_variable(variables, alias)
                {
                    self.element(scene, name, alias, kind)?;
                    // What may follow the element are names of other steps.
                    rest = if kind == Takes::Names { &[] } else { &args[1..] };
                }
                for part in rest {
                    self.find(scene, part, variables)?;
                }
            }
            Expr::Index(value, _) => {
                if let Expr::Name(alias) = value.as_ref()
                    && !is_variable(variables, alias)
                    && let Some(found) = EntityReader::new(scene.table, alias, scene.scope.rows)
                {
                    self.entities.insert(alias.clone(), found);
                }
                for part in expr.parts() {
                    self.find(scene, part, variables)?;
                }
            }
            other => {
                for part in other.parts() {
                    self.find(scene, part, variables)?;
                }
            }
        }
        Ok(())
    }

    /// Finds what `alias` stands for in a call of a function of nodes, edges and paths. A name that stands
    /// for nothing is an error at any strictness, since the answer would be null in every row.
    fn element(
        &mut self,
        scene: &Scene<'_>,
        function: &str,
        alias: &str,
        kind: Takes,
    ) -> Result<(), QueryError> {
        let found = EntityReader::new(scene.table, alias, scene.scope.rows);
        if let Some(found) = found.filter(|_| kind != Takes::Path) {
            self.entities.insert(alias.to_owned(), found);
            return Ok(());
        }
        let source = source(scene, alias)?;
        if matches!(source, Source::Absent) {
            let what = if kind == Takes::Path { "path" } else { "node or edge" };
            let text =
                format!("{function} asks for the {what} {alias:?}, which the rows do not have");
            return Err(QueryError::new(ErrorCode::Query, text).field(alias).suggest(
                "send the query as text, in \"gfql_query\": the server compiles it whole",
            ));
        }
        self.readers.insert(alias.to_owned(), source);
        Ok(())
    }

    /// The value of `expr` in `row`.
    pub(crate) fn eval(&self, expr: &Expr, row: usize) -> Result<Cell, QueryError> {
        self.row.set(row);
        Eval::new(self, self.frame).eval(expr)
    }
}

/// Where names are looked for.
struct Scene<'a> {
    table: &'a Table,
    scope: Scope<'a>,
}

impl Expr {
    /// Whether every name of a column is `known`; those that the expression makes itself are not asked about.
    pub(crate) fn all_names<'e>(
        &'e self,
        variables: &mut Vec<&'e str>,
        known: &dyn Fn(&str) -> bool,
    ) -> bool {
        match self {
            Self::Name(name) => {
                let first = name.split('.').next().unwrap_or(name);
                variables.contains(&first) || known(name)
            }
            Self::Quantified(_, name, list, test) => {
                let outer = list.all_names(variables, known);
                variables.push(name);
                let inner = test.all_names(variables, known);
                variables.pop();
                outer && inner
            }
            Self::Comprehension(name, list, test, item) => {
                let outer = list.all_names(variables, known);
                variables.push(name);
                let mut parts = [test, item].into_iter().flatten();
                let inner = parts.all(|part| part.all_names(variables, known));
                variables.pop();
                outer && inner
            }
            other => other.parts().into_iter().all(|part| part.all_names(variables, known)),
        }
    }

    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Literal(_) | Self::Name(_) => vec![],
            Self::Not(a) | Self::Negative(a) | Self::IsNull(a) | Self::Field(a, _) => vec![a],
            Self::Map(fields) => fields.iter().map(|(_, value)| value).collect(),
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

fn source(scene: &Scene<'_>, name: &str) -> Result<Source, QueryError> {
    let table = scene.table;
    let reader = |array: &ArrayRef| {
        Reader::new(array).ok_or_else(|| {
            let text = format!("column {name:?} has no values for expressions");
            QueryError::new(ErrorCode::ColumnType, text).field(name)
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
    if let Some((column, path)) = field(table, name) {
        return Ok(Source::Field(reader(column)?, path));
    }
    if is_internal(name) {
        return Err(unknown_internal(name));
    }
    scene.scope.absent(QueryError::no_column(name, "row", &table.column_names()))?;
    Ok(Source::Absent)
}

/// A column of maps and the names of the fields that `name` has behind the column's.
fn field<'t>(table: &'t Table, name: &str) -> Option<(&'t ArrayRef, Vec<String>)> {
    let dots = name.match_indices('.').map(|(at, _)| at);
    let found = dots.filter_map(|at| Some((table.column(&name[..at])?, &name[at + 1..])));
    let mut maps = found.filter(|(c, _)| matches!(c.data_type(), DataType::Struct(_)));
    let (column, rest) = maps.next()?;
    Some((column, rest.split('.').map(str::to_owned).collect()))
}

/// A name that a client made up for its own use, and that means nothing here.
pub(crate) fn unknown_internal(name: &str) -> QueryError {
    let text = format!("{name:?} is a name for a client's own use that means nothing here");
    QueryError::new(ErrorCode::Column, text)
        .field(name)
        .suggest("send the query as text, in \"gfql_query\": the server compiles it whole")
}

/// The rows of a table for which a data frame query is true.
pub(crate) fn query(table: &Table, text: &str, scope: Scope<'_>) -> Result<Vec<bool>, QueryError> {
    let place = |e: QueryError| e.field("query");
    let expr = parse_frame(text).map_err(place)?;
    let strict = Scope { strictness: Strictness::Strict, rows: &NO_ROWS, ..scope };
    let rows = Rows::new(table, &[&expr], true, strict);
    let rows = rows.map_err(place)?;
    (0..table.num_rows())
        .map(|row| match rows.eval(&expr, row).map_err(place)? {
            Cell::Scalar(Scalar::Bool(v)) => Ok(v),
            Cell::NULL => Ok(false),
            other => {
                let text = "a query must be true or false in every row";
                Err(QueryError::new(ErrorCode::ColumnType, text).field("query").value(other.text()))
            }
        })
        .collect()
}
