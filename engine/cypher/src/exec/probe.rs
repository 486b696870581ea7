//! Comparisons of a column with a constant, without making a value of the cell.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::cmp::Ordering;

use arrow_array::Array;
use graphlume_expr::{Cmp, Scalar};
use graphlume_graph::canon::Column;
use graphlume_types::number::exact_f64;

use super::Exec;
use crate::column_reader::ColumnReader;
use crate::error::Res;
use crate::plan::{Ex, Seek};
use crate::value::Value;

/// The order of a cell and a constant of the same plain kind; `None` when a value has to be made.
/// The inner option is `None` for a null cell.
pub(super) fn order_of(
    cells: &ColumnReader,
    row: u32,
    constant: &Value,
) -> Option<Option<Ordering>> {
    let row = row as usize;
    match (cells.column(), constant) {
        (Column::Text(text), Value::Scalar(Scalar::Text(word))) if row < text.len() => {
            Some(text.get(row).map(|cell| cell.cmp(word)))
        }
        (Column::Int(a), Value::Scalar(Scalar::Int(v))) if row < a.len() => {
            Some(a.is_valid(row).then(|| a.value(row).cmp(v)))
        }
        (Column::Float(a), Value::Scalar(Scalar::Float(v))) if row < a.len() && !v.is_nan() => {
            let cell = if a.is_valid(row) { a.value(row) } else { f64::NAN };
            Some(cell.partial_cmp(v))
        }
        (Column::UInt(a), Value::Scalar(Scalar::UInt(v))) if row < a.len() => {
            Some(a.is_valid(row).then(|| a.value(row).cmp(v)))
        }
        // Of an integer that is a float too.
        (Column::Float(a), Value::Scalar(Scalar::Int(v))) if row < a.len() => {
            let v = exact_f64(*v)?;
            let cell = if a.is_valid(row) { a.value(row) } else { f64::NAN };
            Some(cell.partial_cmp(&v))
        }
        _ => None,
    }
}

impl Exec<'_> {
    /// A constant or a parameter.
    pub(super) fn fixed<'v>(&'v self, e: &'v Ex) -> Option<&'v Value> {
        match e {
            Ex::Const(v) => Some(v),
            Ex::Param(i) => self.params.get(*i),
            _ => None,
        }
    }

    /// A property compared with a constant.
    pub(super) fn quick(
        &self,
        left: &Ex,
        op: Cmp,
        right: &Ex,
        row: &[Value],
    ) -> Option<Option<bool>> {
        let Ex::Prop(base, key) = left else { return None };
        let Ex::Slot(slot) = base.as_ref() else { return None };
        let constant = self.fixed(right)?;
        let key = self.keys.get(*key)?;
        let entity = row.get(*slot)?;
        // Texts of different lengths need no look.
        if let (Value::Node(v), Cmp::Eq, Value::Scalar(Scalar::Text(word))) = (entity, op, constant)
            && let Column::Text(text) = key.node.as_ref()?.column()
        {
            let cell = text.get(self.view.node_row(*v)? as usize);
            return Some(cell.map(|cell| *cell == **word));
        }
        let order = match entity {
            Value::Node(v) => order_of(key.node.as_ref()?, self.view.node_row(*v)?, constant)?,
            Value::Edge(e) => order_of(key.edge.as_ref()?, e.row, constant)?,
            _ => return None,
        };
        Some(order.map(|o| op.accepts(o)))
    }

    /// Nodes that a seek names by their id; `None` when it names none so.
    pub(super) fn sought(&self, seeks: &[Seek], row: &mut [Value]) -> Res<Option<Vec<u32>>> {
        for seek in seeks {
            let by_id = match seek.key {
                None => true,
                Some(key) => self.keys.get(key).is_some_and(|k| self.view.is_id(&k.name)),
            };
            if !by_id {
                continue;
            }
            let value = self.eval(&seek.value, row)?;
            let mut found = Vec::new();
            match (&value, seek.any) {
                (Value::List(list), true) => {
                    for id in list.iter() {
                        found.extend(self.view.find(id, self.cancel)?);
                    }
                    found.sort_unstable();
                    found.dedup();
                }
                (id, _) => found.extend(self.view.find(id, self.cancel)?),
            }
            return Ok(Some(found));
        }
        Ok(None)
    }
}
