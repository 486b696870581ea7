//! Ids that are written as texts of digits where a column of whole numbers holds them.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::borrow::Cow;

use graphlume_expr::{Cmp, Scalar};

use super::Binder;
use crate::ast::{Binary, Expr, Kind};
use crate::plan::{Ex, Slot};
use crate::types::Ty;
use crate::value::Value;

/// The columns of whole numbers that hold ids of nodes. Where a query compares one of them by `=`, `<>` or IN with texts that
/// are written in it, texts of digits mean the numbers: clients whose numbers are doubles send ids as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberIds {
    /// The column of nodes, which `id(n)` reads, too.
    pub node: Option<String>,
    /// The columns of relationships: source and destination.
    pub edge: Vec<String>,
}

impl NumberIds {
    /// Whether there is no such column.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.node.is_none() && self.edge.is_empty()
    }
}

/// The number that a text says: as a number is written, without a sign `+`, zeros before it or spaces.
fn number(text: &str) -> Option<Scalar> {
    let number = text.parse::<i128>().ok()?;
    if number.to_string() == text { Scalar::of_whole(number) } else { None }
}

/// A constant with numbers in the place of texts of digits.
fn numbered(value: &Value) -> Cow<'_, Value> {
    match value {
        Value::Scalar(Scalar::Text(text)) => match number(text) {
            Some(number) => Cow::Owned(Value::Scalar(number)),
            None => Cow::Borrowed(value),
        },
        Value::List(list) => {
            Cow::Owned(Value::list(list.iter().map(|v| numbered(v).into_owned()).collect()))
        }
        _ => Cow::Borrowed(value),
    }
}

fn number_constants(of: &mut Ex) {
    match of {
        Ex::Const(value) => {
            if let Cow::Owned(number) = numbered(value) {
                *value = number;
            }
        }
        Ex::List(items) => items.iter_mut().for_each(number_constants),
        _ => {}
    }
}

impl Binder<'_> {
    /// Whether an expression reads ids out of a column of whole numbers.
    fn reads_ids(&self, e: &Expr) -> bool {
        let ty_of = |e: &Expr| match &e.kind {
            Kind::Var(name) => self.find(name).map_or(Ty::ANY, |var| var.ty),
            _ => Ty::ANY,
        };
        match &e.kind {
            Kind::Prop(of, key) => self.holds_ids(ty_of(of), key),
            Kind::Call { name, args, .. } => {
                let is_node = || args.iter().all(|arg| ty_of(arg).is(Ty::NODE));
                self.ids.node.is_some() && name.eq_ignore_ascii_case("id") && is_node()
            }
            _ => false,
        }
    }

    fn holds_ids(&self, of: Ty, key: &str) -> bool {
        of.is(Ty::NODE) && self.ids.node.as_deref() == Some(key)
            || of.is(Ty::EDGE) && self.ids.edge.iter().any(|column| column == key)
    }

    /// Reads the texts of digits in a comparison as ids. `written` and `bound` are the operands, with the comparison before
    /// each but the first.
    pub(super) fn number_compared(
        &self,
        (first, first_ex): (&Expr, &mut Ex),
        rest: &[(Cmp, Expr)],
        rest_ex: &mut [(Cmp, Ex)],
    ) {
        if self.ids.is_empty() {
            return;
        }
        let (mut left, mut left_ex) = (first, first_ex);
        for ((cmp, right), (_, right_ex)) in rest.iter().zip(rest_ex) {
            if matches!(cmp, Cmp::Eq | Cmp::Ne) {
                if self.reads_ids(left) {
                    number_constants(right_ex);
                }
                if self.reads_ids(right) {
                    number_constants(left_ex);
                }
            }
            (left, left_ex) = (right, right_ex);
        }
    }

    /// The same of the list behind IN.
    pub(super) fn number_members(&self, op: Binary, of: &Expr, list: &mut Ex) {
        if op == Binary::In && !self.ids.is_empty() && self.reads_ids(of) {
            number_constants(list);
        }
    }

    /// The same of the value that a pattern gives for a property of a node, or of a relationship.
    pub(super) fn number_given(&self, of: Ty, key: &str, mut value: Ex) -> Ex {
        if self.holds_ids(of, key) {
            number_constants(&mut value);
        }
        value
    }
}

/// What a pattern gives for the properties of an element, whose type is told.
pub(super) type Given<'e> = (Slot, Ty, &'e [(String, Expr)]);
