//! Evaluation, one row at a time. A null operand makes most results null.

use std::cmp::Ordering;

use graphlume_expr::cell::Cell;
use graphlume_expr::{Cmp, ErrorCode, QueryError, Scalar, Temporal};
use graphlume_store::filter::Pattern;
use graphlume_types::iso_time::time_of_day;
use graphlume_types::limits::{QUERY_CELL_BYTES_MAX, QUERY_LIST_MAX};

use super::parse::{Binary, Expr, Quantifier};
use crate::wire::value::moment;

/// Where names get their values.
pub(super) trait Names {
    /// The value of a column in the present row.
    fn column(&self, name: &str) -> Cell;

    /// The node or edge that a name stands for in the present row.
    fn entity(&self, name: &str) -> Option<Cell>;

    /// Counts a step; an error when the work is to stop.
    fn step(&self) -> Result<(), QueryError>;

    /// A pattern, compiled once for all rows.
    fn pattern(&self, text: &str) -> Result<Pattern, QueryError>;
}

/// An evaluation of one row.
pub(super) struct Eval<'a> {
    pub(super) names: &'a dyn Names,
    /// Whether comparisons with null are false, as in data frame queries, instead of null.
    pub(super) frame: bool,
    variables: Vec<(String, Cell)>,
    /// Elements of lists that were made for this row.
    made: usize,
}

type Found = Result<Cell, QueryError>;

fn wrong(what: impl Into<String>) -> QueryError {
    QueryError::new(ErrorCode::ColumnType, what)
}

impl<'a> Eval<'a> {
    pub(super) fn new(names: &'a dyn Names, frame: bool) -> Self {
        Self { names, frame, variables: vec![], made: 0 }
    }

    /// Counts elements that a list gets; long texts count more.
    fn make(&mut self, elements: usize) -> Result<(), QueryError> {
        self.made = self.made.saturating_add(elements);
        if self.made <= QUERY_LIST_MAX {
            return Ok(());
        }
        let text = format!("an expression makes more than {QUERY_LIST_MAX} list elements in a row");
        Err(QueryError::new(ErrorCode::Limit, text).suggest("make shorter lists"))
    }

    pub(super) fn eval(&mut self, expr: &Expr) -> Found {
        self.names.step()?;
        Ok(match expr {
            Expr::Literal(cell) => cell.clone(),
            Expr::Name(name) => match self.variable(name)? {
                Some(cell) => cell,
                None => self.names.column(name),
            },
            Expr::Field(value, name) => {
                let value = self.eval(value)?;
                value.field(name).ok_or_else(|| no_fields(&value, name))?
            }
            Expr::Map(fields) => {
                self.make(fields.len())?;
                let field = |(name, value): &(String, Expr)| Ok((name.clone(), self.eval(value)?));
                Cell::Map(fields.iter().map(field).collect::<Result<_, QueryError>>()?)
            }
            Expr::Not(inner) => match self.eval(inner)? {
                Cell::Scalar(Scalar::Bool(v)) => Cell::bool(!v),
                Cell::NULL => Cell::NULL,
                other => return Err(wrong("NOT needs a truth value").value(other.text())),
            },
            Expr::Negative(inner) => match self.eval(inner)? {
                Cell::Scalar(Scalar::Int(v)) => Cell::int(v.checked_neg().ok_or_else(too_large)?),
                Cell::Scalar(Scalar::UInt(v)) => {
                    Cell::int(0_i64.checked_sub_unsigned(v).ok_or_else(too_large)?)
                }
                Cell::Scalar(Scalar::Float(v)) => Cell::float(-v),
                Cell::NULL => Cell::NULL,
                other => return Err(wrong("- needs a number").value(other.text())),
            },
            Expr::IsNull(inner) => Cell::bool(self.eval(inner)?.is_null()),
            Expr::Binary(op, a, b) => self.binary(*op, a, b)?,
            Expr::Index(list, index) => self.index(list, index)?,
            Expr::Slice(list, from, to) => self.slice(list, from.as_deref(), to.as_deref())?,
            Expr::Call(name, args) => {
                if name == "coalesce" {
                    for arg in args {
                        let cell = self.eval(arg)?;
                        if !cell.is_null() {
                            return Ok(cell);
                        }
                    }
                    return Ok(Cell::NULL);
                }
                self.call(name, args)?
            }
            Expr::Case(operand, arms, otherwise) => {
                let operand = operand.as_ref().map(|o| self.eval(o)).transpose()?;
                for (test, then) in arms {
                    let test = self.eval(test)?;
                    let holds = match &operand {
                        Some(o) => order(o, &test)? == Some(Ordering::Equal),
                        None => test.is_true(),
                    };
                    if holds {
                        return self.eval(then);
                    }
                }
                otherwise.as_ref().map_or(Ok(Cell::NULL), |e| self.eval(e))?
            }
            Expr::List(items) => {
                Cell::List(items.iter().map(|i| self.eval(i)).collect::<Result<_, _>>()?)
            }
            Expr::Quantified(quantifier, name, list, test) => {
                self.quantified(*quantifier, name, list, test)?
            }
            Expr::Comprehension(name, list, test, item) => {
                let Cell::List(items) = self.eval(list)? else { return Ok(Cell::NULL) };
                let mut out = Vec::new();
                for cell in items {
                    let kept = match test {
                        Some(test) => self.with(name, &cell, test)?.is_true(),
                        None => true,
                    };
                    if kept {
                        let item = match item {
                            Some(item) => self.with(name, &cell, item)?,
                            None => cell,
                        };
                        self.make(item.weight())?;
                        out.push(item);
                    }
                }
                Cell::List(out)
            }
        })
    }

    /// A variable, or a field of its value.
    fn variable(&self, name: &str) -> Result<Option<Cell>, QueryError> {
        let mut parts = name.split('.');
        let first = parts.next().unwrap_or(name);
        let Some((_, cell)) = self.variables.iter().rev().find(|(n, _)| n == first) else {
            return Ok(None);
        };
        let found = parts.try_fold(cell.clone(), |cell, part| {
            cell.field(part).ok_or_else(|| no_fields(&cell, part))
        });
        found.map(Some)
    }

    fn call(&mut self, name: &str, args: &[Expr]) -> Found {
        use super::function::{Takes, call, of_elements};
        let element = match args.first() {
            Some(Expr::Name(alias)) if of_elements(name).is_some() => self.names.entity(alias),
            _ => None,
        };
        let mut cells = Vec::with_capacity(args.len());
        cells.extend(element);
        if !(cells.len() == 1 && of_elements(name) == Some(Takes::Names)) {
            for arg in &args[cells.len()..] {
                cells.push(self.eval(arg)?);
            }
        }
        match (name, cells.as_slice()) {
            // A simple CASE asks for equality, and null equals nothing.
            ("__cypher_case_eq__", [a, b]) => {
                Ok(Cell::bool(self.compare(Cmp::Eq, a, b)?.is_true()))
            }
            ("searchany", [element, term, options @ ..]) => {
                let search = super::search::Search::new(term, options.first())?;
                search.run(element, |text| self.names.pattern(text))
            }
            _ => {
                let found = call(name, &cells)?;
                if let Cell::List(items) = &found {
                    self.make(items.len())?;
                }
                Ok(found)
            }
        }
    }

    fn with(&mut self, name: &str, cell: &Cell, expr: &Expr) -> Found {
        self.variables.push((name.to_owned(), cell.clone()));
        let found = self.eval(expr);
        self.variables.pop();
        found
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        name: &str,
        list: &Expr,
        test: &Expr,
    ) -> Found {
        let Cell::List(items) = self.eval(list)? else { return Ok(Cell::NULL) };
        let (mut yes, mut no, mut unknown) = (0, 0, 0);
        for cell in &items {
            match self.with(name, cell, test)? {
                Cell::Scalar(Scalar::Bool(true)) => yes += 1,
                Cell::Scalar(Scalar::Bool(false)) => no += 1,
                Cell::NULL => unknown += 1,
                other => return Err(wrong("WHERE needs a truth value").value(other.text())),
            }
        }
        let sure = unknown == 0;
        Ok(match quantifier {
            Quantifier::Any if yes > 0 => Cell::bool(true),
            Quantifier::All if no > 0 => Cell::bool(false),
            Quantifier::None if yes > 0 => Cell::bool(false),
            Quantifier::Single if yes > 1 => Cell::bool(false),
            _ if !sure => Cell::NULL,
            Quantifier::Any => Cell::bool(false),
            Quantifier::All | Quantifier::None => Cell::bool(true),
            Quantifier::Single => Cell::bool(yes == 1),
        })
    }

    fn truth(&mut self, expr: &Expr) -> Result<Option<bool>, QueryError> {
        match self.eval(expr)? {
            Cell::Scalar(Scalar::Bool(v)) => Ok(Some(v)),
            Cell::NULL => Ok(None),
            other => Err(wrong("AND, OR and XOR need truth values").value(other.text())),
        }
    }

    fn binary(&mut self, op: Binary, a: &Expr, b: &Expr) -> Found {
        let known = |v: Option<bool>| v.map_or(Cell::NULL, Cell::bool);
        if matches!(op, Binary::Or | Binary::And | Binary::Xor) {
            let (x, y) = (self.truth(a)?, self.truth(b)?);
            return Ok(known(match op {
                Binary::And if x == Some(false) || y == Some(false) => Some(false),
                Binary::Or if x == Some(true) || y == Some(true) => Some(true),
                Binary::And => x.zip(y).map(|(x, y)| x && y),
                Binary::Or => x.zip(y).map(|(x, y)| x || y),
                _ => x.zip(y).map(|(x, y)| x != y),
            }));
        }
        let (x, y) = (self.eval(a)?, self.eval(b)?);
        match op {
            Binary::Compare(cmp) => self.compare(cmp, &x, &y),
            Binary::In => Ok(known(within(&x, &y)?)),
            Binary::Contains | Binary::Starts | Binary::Ends | Binary::Match => {
                let (Cell::Scalar(Scalar::Text(x)), Cell::Scalar(Scalar::Text(y))) = (&x, &y)
                else {
                    return Ok(Cell::NULL);
                };
                Ok(Cell::bool(match op {
                    Binary::Contains => x.contains(&**y),
                    Binary::Starts => x.starts_with(&**y),
                    Binary::Ends => x.ends_with(&**y),
                    _ => self.names.pattern(y)?.is_match(x),
                }))
            }
            _ => {
                let found = arithmetic(op, x, y)?;
                match &found {
                    Cell::Scalar(Scalar::Text(text)) if text.len() > QUERY_CELL_BYTES_MAX => {
                        let what =
                            format!("a text would have more than {QUERY_CELL_BYTES_MAX} bytes");
                        return Err(QueryError::new(ErrorCode::Limit, what));
                    }
                    Cell::List(items) => self.make(items.len())?,
                    _ => {}
                }
                Ok(found)
            }
        }
    }

    fn compare(&self, cmp: Cmp, x: &Cell, y: &Cell) -> Found {
        if x.is_null() || y.is_null() {
            return Ok(if self.frame { Cell::bool(cmp == Cmp::Ne) } else { Cell::NULL });
        }
        Ok(match order(x, y)? {
            Some(ordering) => Cell::bool(cmp.accepts(ordering)),
            None if matches!(cmp, Cmp::Eq | Cmp::Ne) => Cell::bool(cmp == Cmp::Ne),
            None if self.frame => Cell::bool(false),
            None => Cell::NULL,
        })
    }

    fn index(&mut self, list: &Expr, index: &Expr) -> Found {
        let element = match list {
            Expr::Name(alias) => self.names.entity(alias),
            _ => None,
        };
        let list = match element {
            Some(element) => element,
            None => self.eval(list)?,
        };
        match (list, self.eval(index)?) {
            (Cell::NULL, _) | (_, Cell::NULL) => Ok(Cell::NULL),
            (value @ (Cell::Map(_) | Cell::Entity(_)), Cell::Scalar(Scalar::Text(name))) => {
                value.field(&name).ok_or_else(|| no_fields(&value, &name))
            }
            (Cell::List(items), Cell::Scalar(Scalar::Int(i))) => {
                let at = if i < 0 { i + items.len() as i64 } else { i };
                let cell = usize::try_from(at).ok().and_then(|at| items.get(at).cloned());
                Ok(cell.unwrap_or(Cell::NULL))
            }
            (other, _) => Err(wrong("[ ] needs a list and a whole number").value(other.text())),
        }
    }

    fn slice(&mut self, list: &Expr, from: Option<&Expr>, to: Option<&Expr>) -> Found {
        let Cell::List(items) = self.eval(list)? else { return Ok(Cell::NULL) };
        let len = items.len() as i64;
        let mut end = |expr: Option<&Expr>, default: i64| {
            Ok(match expr.map(|e| self.eval(e)).transpose()? {
                None => Some(default),
                Some(Cell::Scalar(Scalar::Int(i))) => {
                    Some((if i < 0 { i + len } else { i }).clamp(0, len))
                }
                Some(Cell::NULL) => None,
                Some(other) => return Err(wrong("a slice needs whole numbers").value(other.text())),
            })
        };
        let (from, to) = (end(from, 0)?, end(to, len)?);
        let (Some(from), Some(to)) = (from, to) else { return Ok(Cell::NULL) };
        Ok(Cell::List(items.get(from as usize..to as usize).unwrap_or_default().to_vec()))
    }
}

fn no_fields(value: &Cell, name: &str) -> QueryError {
    wrong(format!("a map, a node or an edge has a field {name:?}, and this value is none of them"))
        .value(value.text())
}

/// The order of two values; `None` across kinds and with null. A time is compared with a text that says one.
///
/// # Errors
/// A time and a text that says none.
fn order(x: &Cell, y: &Cell) -> Result<Option<Ordering>, QueryError> {
    Ok(match (x, y) {
        (
            Cell::Scalar(Scalar::Temporal(Temporal::LocalTime(ns))),
            Cell::Scalar(Scalar::Text(text)),
        ) => time_of_day(text).map(|other| ns.cmp(&other)),
        (
            Cell::Scalar(Scalar::Text(text)),
            Cell::Scalar(Scalar::Temporal(Temporal::LocalTime(ns))),
        ) => time_of_day(text).map(|other| other.cmp(ns)),
        (Cell::Scalar(Scalar::Temporal(time)), Cell::Scalar(Scalar::Text(text))) => {
            Some(time.instant().cmp(&Some(moment(text)?)))
        }
        (Cell::Scalar(Scalar::Text(text)), Cell::Scalar(Scalar::Temporal(time))) => {
            Some(Some(moment(text)?).cmp(&time.instant()))
        }
        _ => x.order(y),
    })
}

fn within(x: &Cell, list: &Cell) -> Result<Option<bool>, QueryError> {
    let items = match list {
        Cell::List(items) => items,
        Cell::Scalar(Scalar::Null) => return Ok(None),
        other => return Err(wrong("IN needs a list").value(other.text())),
    };
    if items.is_empty() {
        return Ok(Some(false));
    }
    for item in items {
        if order(x, item)? == Some(Ordering::Equal) {
            return Ok(Some(true));
        }
    }
    let unknown = x.is_null() || items.iter().any(Cell::is_null);
    Ok(if unknown { None } else { Some(false) })
}

fn too_large() -> QueryError {
    QueryError::new(ErrorCode::Predicate, "a whole number does not fit into 64 bits")
}

fn arithmetic(op: Binary, x: Cell, y: Cell) -> Found {
    Ok(match (op, x, y) {
        (Binary::Add, Cell::List(mut a), Cell::List(b)) => {
            a.extend(b);
            Cell::List(a)
        }
        (_, Cell::NULL, _) | (_, _, Cell::NULL) => Cell::NULL,
        (Binary::Add, Cell::List(mut a), b) => {
            a.push(b);
            Cell::List(a)
        }
        (Binary::Add, a, Cell::List(mut b)) => {
            b.insert(0, a);
            Cell::List(b)
        }
        (Binary::Add, Cell::Scalar(Scalar::Text(a)), Cell::Scalar(Scalar::Text(b))) => {
            Cell::string([&*a, &*b].concat())
        }
        (op, Cell::Scalar(a), Cell::Scalar(b))
            if a.as_whole().is_some() && b.as_whole().is_some() =>
        {
            let (a, b) = (a.as_whole().unwrap_or(0), b.as_whole().unwrap_or(0));
            if b == 0 && matches!(op, Binary::Div | Binary::Rem) {
                return Err(QueryError::new(
                    ErrorCode::Predicate,
                    "division of whole numbers by zero",
                )
                .suggest("guard it with CASE WHEN"));
            }
            let result = match op {
                Binary::Add => a.checked_add(b),
                Binary::Sub => a.checked_sub(b),
                Binary::Mul => a.checked_mul(b),
                Binary::Div => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            Cell::Scalar(result.and_then(Scalar::of_whole).ok_or_else(too_large)?)
        }
        (op, a, b) => {
            let (Some(x), Some(y)) = (a.number(), b.number()) else {
                let text = "arithmetic needs two numbers, two texts or a list";
                return Err(wrong(text).value(format!("{} and {}", a.text(), b.text())));
            };
            Cell::float(match op {
                Binary::Add => x + y,
                Binary::Sub => x - y,
                Binary::Mul => x * y,
                Binary::Div => x / y,
                _ => x % y,
            })
        }
    })
}
