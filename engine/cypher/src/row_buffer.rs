//! Rows that are held, by column: node numbers and integers without the overhead of values.

use std::cmp::Ordering;

use graphlume_expr::Scalar;

use crate::value::{Value, order};

/// A column of values of which those of one plain kind take little space.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    Empty,
    Nodes(Vec<u32>),
    Ints(Vec<i64>),
    Any(Vec<Value>),
}

impl Column {
    pub(crate) fn push(&mut self, value: &Value) {
        match (&mut *self, value) {
            (Self::Nodes(list), Value::Node(v)) => list.push(*v),
            (Self::Ints(list), Value::Scalar(Scalar::Int(v))) => list.push(*v),
            (Self::Any(list), v) => list.push(v.clone()),
            (Self::Empty, Value::Node(v)) => *self = Self::Nodes(vec![*v]),
            (Self::Empty, Value::Scalar(Scalar::Int(v))) => *self = Self::Ints(vec![*v]),
            (_, v) => {
                let mut list = std::mem::replace(self, Self::Empty).into_values();
                list.push(v.clone());
                *self = Self::Any(list);
            }
        }
    }

    pub(crate) fn get(&self, i: usize) -> Value {
        match self {
            Self::Empty => Value::NULL,
            Self::Nodes(list) => list.get(i).map_or(Value::NULL, |v| Value::Node(*v)),
            Self::Ints(list) => list.get(i).map_or(Value::NULL, |v| Value::int(*v)),
            Self::Any(list) => list.get(i).cloned().unwrap_or_default(),
        }
    }

    pub(crate) fn into_values(self) -> Vec<Value> {
        match self {
            Self::Empty => Vec::new(),
            Self::Nodes(list) => list.into_iter().map(Value::Node).collect(),
            Self::Ints(list) => list.into_iter().map(Value::int).collect(),
            Self::Any(list) => list,
        }
    }

    fn append(&mut self, more: Self) {
        match (&mut *self, more) {
            (_, Self::Empty) => {}
            (Self::Empty, more) => *self = more,
            (Self::Nodes(list), Self::Nodes(more)) => list.extend(more),
            (Self::Ints(list), Self::Ints(more)) => list.extend(more),
            (_, more) => {
                let mut list = std::mem::replace(self, Self::Empty).into_values();
                list.extend(more.into_values());
                *self = Self::Any(list);
            }
        }
    }

    pub(crate) fn compare(&self, i: usize, j: usize) -> Ordering {
        match self {
            Self::Empty => Ordering::Equal,
            Self::Nodes(list) => list.get(i).cmp(&list.get(j)),
            Self::Ints(list) => list.get(i).cmp(&list.get(j)),
            Self::Any(list) => match (list.get(i), list.get(j)) {
                (Some(a), Some(b)) => order(a, b),
                _ => Ordering::Equal,
            },
        }
    }

    fn picked(&self, rows: &[u32]) -> Self {
        let at = |i: &u32| *i as usize;
        match self {
            Self::Empty => Self::Empty,
            Self::Nodes(list) => {
                Self::Nodes(rows.iter().filter_map(|i| list.get(at(i)).copied()).collect())
            }
            Self::Ints(list) => {
                Self::Ints(rows.iter().filter_map(|i| list.get(at(i)).copied()).collect())
            }
            Self::Any(list) => {
                Self::Any(rows.iter().filter_map(|i| list.get(at(i)).cloned()).collect())
            }
        }
    }
}

/// Rows of a fixed width.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    columns: Vec<Column>,
    len: usize,
}

impl Rows {
    pub(crate) fn new(width: usize) -> Self {
        Self { columns: vec![Column::Empty; width], len: 0 }
    }

    pub(crate) fn push<'v>(&mut self, values: impl Iterator<Item = &'v Value>) {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
        self.len += 1;
    }

    /// Adds the rows of another store of the same width.
    pub(crate) fn append(&mut self, more: Self) {
        for (column, more) in self.columns.iter_mut().zip(more.columns) {
            column.append(more);
        }
        self.len += more.len;
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, row: usize, column: usize) -> Value {
        self.columns.get(column).map_or(Value::NULL, |c| c.get(row))
    }

    pub(crate) fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// Row numbers in the order of the first columns, one direction each; equal rows keep their order.
    pub(crate) fn sorted(&self, descending: &[bool]) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.len as u32).collect();
        rows.sort_by(|a, b| {
            let pairs = self.columns.iter().zip(descending);
            let orders = pairs.map(|(c, down)| {
                let order = c.compare(*a as usize, *b as usize);
                if *down { order.reverse() } else { order }
            });
            orders.into_iter().find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        });
        rows
    }

    /// Keeps these rows in this order.
    pub(crate) fn keep(&mut self, rows: &[u32]) {
        for column in &mut self.columns {
            *column = column.picked(rows);
        }
        self.len = rows.len();
    }
}
