//! Expressions of the language as expressions over columns. Only those are translated whose types are known from the
//! columns, so that no row can have an error of type.

use std::collections::HashSet;

use graphlume_expr::{Arithmetic, Cmp, Mixed, Number, Scalar, Test, TextTest, truth};
use graphlume_graph::canon::Column;

use super::Pipeline;
use crate::ast::Binary;
use crate::column_reader::ColumnReader;
use crate::exec::Exec;
use crate::plan::{Ex, Step};
use crate::value::Value;

impl Exec<'_> {
    /// The column that an expression reads.
    pub(super) fn column_of<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        e: &'e Ex,
    ) -> Option<&'e ColumnReader> {
        match e {
            Ex::Slot(slot) => self.column_of(pipeline, pipeline.item(*slot)?),
            Ex::Prop(base, key) => {
                let (slot, edges) = pipeline.slot();
                let own = matches!(**base, Ex::Slot(s) if s == slot && pipeline.item(s).is_none());
                let key = self.keys.get(*key).filter(|_| own)?;
                if edges { key.edge.as_ref() } else { key.node.as_ref() }
            }
            _ => None,
        }
    }

    /// A number, by columns.
    pub(super) fn compiled_number<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        e: &'e Ex,
    ) -> Option<Number<'e>> {
        let operator = |op, a: &'e Ex, b: &'e Ex| {
            let sides = (self.compiled_number(pipeline, a)?, self.compiled_number(pipeline, b)?);
            Some(Number::Op(op, Box::new(sides.0), Box::new(sides.1)))
        };
        match e {
            Ex::Const(_) | Ex::Param(_) => match self.fixed(e)? {
                Value::Scalar(Scalar::Int(v)) => Some(Number::Int(*v)),
                Value::Scalar(Scalar::Float(v)) if !v.is_nan() => Some(Number::Float(*v)),
                _ => None,
            },
            Ex::Prop(..) => match self.column_of(pipeline, e)?.number_column()? {
                Column::Int(column) => Some(Number::Ints(column)),
                Column::Float(column) => Some(Number::Floats(column)),
                _ => None,
            },
            Ex::Slot(slot) => self.compiled_number(pipeline, pipeline.item(*slot)?),
            Ex::Plus(a) => self.compiled_number(pipeline, a),
            Ex::Neg(a) => {
                let a = self.compiled_number(pipeline, a)?;
                // From zero, which so has no sign.
                let zero = if a.is_int() { Number::Int(0) } else { Number::Float(0.0) };
                Some(Number::Op(Arithmetic::Sub, Box::new(zero), Box::new(a)))
            }
            Ex::Binary(op, a, b) => match op {
                Binary::Add => operator(Arithmetic::Add, a, b),
                Binary::Sub => operator(Arithmetic::Sub, a, b),
                Binary::Mul => operator(Arithmetic::Mul, a, b),
                Binary::Div => operator(Arithmetic::Div, a, b),
                Binary::Mod => operator(Arithmetic::Mod, a, b),
                Binary::Pow => operator(Arithmetic::Pow, a, b),
                _ => None,
            },
            _ => None,
        }
    }

    /// A condition, by columns.
    pub(super) fn compiled_test<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        e: &'e Ex,
    ) -> Option<Test<'e>> {
        let all = |list: &'e [Ex]| {
            list.iter().map(|e| self.compiled_test(pipeline, e)).collect::<Option<Vec<_>>>()
        };
        match e {
            Ex::Const(_) | Ex::Param(_) => match self.fixed(e)? {
                Value::Scalar(Scalar::Bool(true)) => Some(Test::Always(truth::TRUE)),
                Value::Scalar(Scalar::Bool(false)) => Some(Test::Always(truth::FALSE)),
                Value::Scalar(Scalar::Null) => Some(Test::Always(truth::UNKNOWN)),
                _ => None,
            },
            Ex::Not(a) => Some(Test::Not(Box::new(self.compiled_test(pipeline, a)?))),
            Ex::And(list) => Some(Test::And(all(list)?)),
            Ex::Or(list) => Some(Test::Or(all(list)?)),
            Ex::Compare(first, rest) => {
                let mut left = &**first;
                let mut tests = Vec::new();
                for (op, right) in rest {
                    tests.push(self.comparison_test(pipeline, *op, left, right)?);
                    left = right;
                }
                Some(if tests.len() == 1 { tests.pop()? } else { Test::And(tests) })
            }
            Ex::IsNull(a, negated) => {
                if let Some(number) = self.compiled_number(pipeline, a) {
                    return Some(Test::IsNull(number, !negated));
                }
                match self.column_of(pipeline, a).filter(|c| c.is_plain())?.column() {
                    Column::Text(text) => Some(Test::NoText(text, !negated)),
                    _ => None,
                }
            }
            Ex::Binary(Binary::In, a, list) => match self.fixed(list)? {
                Value::List(list) => self.member_test(pipeline, a, list),
                _ => None,
            },
            Ex::Binary(op, a, b) => self.text_test(pipeline, *op, a, b),
            Ex::Slot(slot) => self.compiled_test(pipeline, pipeline.item(*slot)?),
            Ex::Prop(..) => match self.column_of(pipeline, e)?.column() {
                Column::Bool(column) => Some(Test::Truths(column)),
                _ => None,
            },
            _ => None,
        }
    }

    fn comparison_test<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        op: Cmp,
        left: &'e Ex,
        right: &'e Ex,
    ) -> Option<Test<'e>> {
        let number = |e| self.compiled_number(pipeline, e);
        if let (Some(left), Some(right)) = (number(left), number(right)) {
            return Some(match left {
                Number::Int(_) | Number::Float(_) => Test::Compare(op.turned(), right, left),
                left => Test::Compare(op, left, right),
            });
        }
        let (op, column, constant) = match (self.fixed(left), self.fixed(right)) {
            (None, Some(constant)) => (op, left, constant),
            (Some(constant), None) => (op.turned(), right, constant),
            _ => return None,
        };
        let column = self.column_of(pipeline, column).filter(|c| c.is_plain())?.column();
        match (column, constant) {
            (Column::Text(text), Value::Scalar(Scalar::Text(word))) => Some(Test::Text(match op {
                // Texts of different lengths need no look.
                Cmp::Eq => TextTest::new(text, truth::FALSE, move |cell| *cell == **word),
                Cmp::Ne => TextTest::new(text, truth::FALSE, move |cell| *cell != **word),
                op => TextTest::new(text, truth::FALSE, move |cell| op.accepts(cell.cmp(word))),
            })),
            (Column::Bool(column), Value::Scalar(Scalar::Bool(wanted))) => match (op, wanted) {
                (Cmp::Eq, true) | (Cmp::Ne, false) => Some(Test::Truths(column)),
                (Cmp::Eq, false) | (Cmp::Ne, true) => {
                    Some(Test::Not(Box::new(Test::Truths(column))))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn member_test<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        e: &'e Ex,
        list: &'e [Value],
    ) -> Option<Test<'e>> {
        if list.is_empty() {
            return Some(Test::Always(truth::FALSE));
        }
        // A time among the members is compared with texts by what these say.
        let plain = |v: &Value| {
            matches!(
                v,
                Value::Scalar(
                    Scalar::Null
                        | Scalar::Bool(_)
                        | Scalar::Int(_)
                        | Scalar::UInt(_)
                        | Scalar::Float(_)
                        | Scalar::Text(_)
                )
            )
        };
        if !list.iter().all(plain) {
            return None;
        }
        let has_null = list.iter().any(Value::is_null);
        let otherwise = if has_null { truth::UNKNOWN } else { truth::FALSE };
        if let Some(number) = self.compiled_number(pipeline, e) {
            let (mut ints, mut floats) = (Vec::new(), Vec::new());
            for member in list {
                match member {
                    Value::Scalar(Scalar::Int(v)) => ints.push(*v),
                    // No column of integers has it, and one of floats where a float is equal.
                    Value::Scalar(v @ Scalar::UInt(_)) => {
                        let near = Scalar::Float(v.as_f64().unwrap_or(f64::NAN));
                        if v.equal(&near, Mixed::Exact) == Some(true) {
                            floats.extend(near.as_f64());
                        }
                    }
                    Value::Scalar(Scalar::Float(v)) => match graphlume_graph::canon::of_f64(*v) {
                        Some(graphlume_graph::canon::Canon::Int(v)) => ints.push(v),
                        Some(_) => floats.push(*v),
                        None => {}
                    },
                    _ => {}
                }
            }
            ints.sort_unstable();
            floats.sort_by(f64::total_cmp);
            return Some(Test::In(number, ints, floats, otherwise));
        }
        let cells = self.column_of(pipeline, e).filter(|c| c.is_plain())?;
        let Column::Text(text) = cells.column() else { return None };
        let words: HashSet<&'e str> = list
            .iter()
            .filter_map(|v| match v {
                Value::Scalar(Scalar::Text(word)) => Some(&**word),
                _ => None,
            })
            .collect();
        Some(Test::Text(TextTest::new(text, otherwise, move |cell| words.contains(cell))))
    }

    fn text_test<'e>(
        &'e self,
        pipeline: &Pipeline<'e>,
        op: Binary,
        a: &'e Ex,
        b: &'e Ex,
    ) -> Option<Test<'e>> {
        let Value::Scalar(Scalar::Text(word)) = self.fixed(b)? else { return None };
        let cells = self.column_of(pipeline, a).filter(|c| c.is_plain())?;
        let Column::Text(text) = cells.column() else { return None };
        Some(Test::Text(match op {
            Binary::StartsWith => {
                TextTest::new(text, truth::FALSE, move |cell| cell.starts_with(&**word))
            }
            Binary::EndsWith => {
                TextTest::new(text, truth::FALSE, move |cell| cell.ends_with(&**word))
            }
            Binary::Contains => {
                let finder = memchr::memmem::Finder::new(word.as_bytes());
                TextTest::new(text, truth::FALSE, move |cell| {
                    finder.find(cell.as_bytes()).is_some()
                })
            }
            _ => return None,
        }))
    }

    /// Whether relationships have one of the types of a step.
    pub(super) fn types_test(&self, step: &Step) -> Option<Test<'_>> {
        let words: HashSet<&str> =
            step.types.iter().filter_map(|i| self.type_names.get(*i)).map(String::as_str).collect();
        let cells = self.view.edge_type_cells()?;
        let Column::Text(text) = cells.column() else { return None };
        Some(Test::Text(TextTest::new(text, truth::FALSE, move |cell| words.contains(cell))))
    }
}
