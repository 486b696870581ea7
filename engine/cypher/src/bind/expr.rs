//! Expressions.

use std::sync::Arc;

use super::call::aggregate;
use super::{Binder, Bound, Ty, Var, intern};
use crate::ast::{Binary, Expr, Kind, Name, Projected};
use crate::plan::{AggKind, Ex, MapItem, Slot};
use crate::value::Value;

/// Calls `f` with every expression directly inside; subqueries and patterns are not entered.
pub(crate) fn children<'e>(e: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    match &e.kind {
        Kind::Prop(a, _)
        | Kind::HasLabels(a, _)
        | Kind::Not(a)
        | Kind::Neg(a)
        | Kind::Plus(a)
        | Kind::IsNull(a, _) => f(a),
        Kind::And(list) | Kind::Or(list) | Kind::List(list) => list.iter().for_each(f),
        Kind::Compare(a, rest) => {
            f(a);
            rest.iter().for_each(|(_, b)| f(b));
        }
        Kind::Binary(_, a, b) | Kind::Index(a, b) => {
            f(a);
            f(b);
        }
        Kind::Slice(a, b, c) => {
            f(a);
            b.iter().chain(c).for_each(|x| f(x));
        }
        Kind::Case { subject, arms, otherwise } => {
            subject.iter().chain(otherwise).for_each(|x| f(x));
            for (a, b) in arms {
                f(a);
                f(b);
            }
        }
        Kind::Map(entries) => entries.iter().for_each(|(_, x)| f(x)),
        Kind::MapProjection(a, items) => {
            f(a);
            for item in items {
                if let Projected::Entry(_, x) = item {
                    f(x);
                }
            }
        }
        Kind::ListComp { list, filter, body, .. } => {
            f(list);
            filter.iter().chain(body).for_each(|x| f(x));
        }
        Kind::Quantified { list, filter, .. } => {
            f(list);
            filter.iter().for_each(|x| f(x));
        }
        Kind::Reduce { init, list, body, .. } => [init, list, body].into_iter().for_each(|x| f(x)),
        Kind::Call { args, .. } => args.iter().for_each(f),
        _ => {}
    }
}

/// Whether an aggregate is in the expression.
pub(super) fn has_aggregate(e: &Expr) -> bool {
    match &e.kind {
        Kind::CountStar => true,
        Kind::Call { name, .. } if aggregate(name).is_some() => true,
        _ => {
            let mut found = false;
            children(e, &mut |c| found = found || has_aggregate(c));
            found
        }
    }
}

/// A variable, or a property of one.
fn is_simple(e: &Expr) -> bool {
    match &e.kind {
        Kind::Var(_) => true,
        Kind::Prop(base, _) => is_simple(base),
        _ => false,
    }
}

impl Binder<'_> {
    /// Resolves an expression.
    pub(super) fn expr(&mut self, e: &Expr) -> Bound<(Ex, Ty)> {
        if let Some(grouping) = self.grouping.as_ref().filter(|g| !self.in_aggregate || g.order)
            && let Some(known) = grouping.known.iter().find(|k| k.expr == *e)
            && (grouping.compound || is_simple(e) || has_aggregate(e))
            && !self.shadowed(e)
        {
            let (slot, ty) = (known.slot, known.ty);
            self.used.push(slot);
            return Ok((Ex::Slot(slot), ty));
        }
        // Only truth values of the connectives below pass a pattern on.
        let predicate = self.predicate;
        if !matches!(e.kind, Kind::Not(_) | Kind::And(_) | Kind::Or(_) | Kind::Pattern(_))
            && !matches!(e.kind, Kind::Binary(Binary::Xor, ..))
        {
            self.predicate = false;
        }
        let bound = self.kind(e);
        self.predicate = predicate;
        bound
    }

    /// Whether a variable of a comprehension hides the one that is meant by a known expression.
    fn shadowed(&self, e: &Expr) -> bool {
        matches!(&e.kind, Kind::Var(name) if self.find(name).is_some_and(|v| v.local || v.alias))
    }

    pub(super) fn boxed(&mut self, e: &Expr) -> Bound<Box<Ex>> {
        Ok(Box::new(self.expr(e)?.0))
    }

    fn boxed_opt(&mut self, e: Option<&Expr>) -> Bound<Option<Box<Ex>>> {
        e.map(|e| self.boxed(e)).transpose()
    }

    fn truth(&mut self, e: &Expr) -> Bound<Ex> {
        let (bound, ty) = self.expr(e)?;
        self.expect(e.at, ty, Ty::BOOL, "an operand of AND, OR, XOR and NOT")?;
        Ok(bound)
    }

    fn kind(&mut self, e: &Expr) -> Bound<(Ex, Ty)> {
        let constant = |v: Value| {
            let ty = Ty::of_value(&v);
            Ok((Ex::Const(v), ty))
        };
        Ok(match &e.kind {
            Kind::Scalar(v) => return constant(Value::Scalar(v.clone())),
            Kind::Param(name) => (Ex::Param(intern(&mut self.params, name)), Ty::ANY),
            Kind::Var(name) => return self.variable(name, e.at),
            Kind::Prop(base, key) => {
                let (base_ex, ty) = self.expr(base)?;
                let holders = Ty::MAP.or(Ty::NODE).or(Ty::EDGE).or(Ty::TEMPORAL).or(Ty::DURATION);
                self.expect(base.at, ty, holders, "what has properties")?;
                let entity = ty.is(Ty::NODE.or(Ty::EDGE));
                let key = if entity { self.entity_key(key) } else { intern(&mut self.keys, key) };
                (Ex::Prop(Box::new(base_ex), key), Ty::ANY)
            }
            Kind::HasLabels(base, labels) => {
                let (base_ex, ty) = self.expr(base)?;
                self.expect(base.at, ty, Ty::NODE.or(Ty::EDGE), "what has labels")?;
                let labels = labels.iter().map(|l| intern(&mut self.labels, l)).collect();
                (Ex::HasLabels(Box::new(base_ex), labels), Ty::BOOL)
            }
            Kind::Not(a) => (Ex::Not(Box::new(self.truth(a)?)), Ty::BOOL),
            Kind::And(list) => {
                let list = list.iter().map(|a| self.truth(a)).collect::<Bound<_>>()?;
                (Ex::And(list), Ty::BOOL)
            }
            Kind::Or(list) => {
                let list = list.iter().map(|a| self.truth(a)).collect::<Bound<_>>()?;
                (Ex::Or(list), Ty::BOOL)
            }
            Kind::Compare(first, rest) => {
                let mut first_ex = self.boxed(first)?;
                let bound = rest.iter().map(|(op, x)| Ok((*op, self.expr(x)?.0)));
                let mut rest_ex = bound.collect::<Bound<Vec<_>>>()?;
                self.number_compared((first, &mut first_ex), rest, &mut rest_ex);
                (Ex::Compare(first_ex, rest_ex), Ty::BOOL)
            }
            Kind::Binary(op, a, b) => return self.binary(*op, a, b),
            Kind::Neg(a) | Kind::Plus(a) => {
                let (bound, ty) = self.expr(a)?;
                self.expect(a.at, ty, Ty::NUMBER.or(Ty::DURATION), "what a sign stands before")?;
                let bound = Box::new(bound);
                (if matches!(e.kind, Kind::Neg(_)) { Ex::Neg(bound) } else { Ex::Plus(bound) }, ty)
            }
            Kind::IsNull(a, negated) => (Ex::IsNull(self.boxed(a)?, *negated), Ty::BOOL),
            Kind::Index(base, index) => return self.index(base, index),
            Kind::Slice(base, from, to) => {
                let (bound, ty) = self.expr(base)?;
                self.expect(base.at, ty, Ty::LIST.or(Ty::TEXT), "what is sliced")?;
                let (from, to) = (self.boxed_opt(from.as_deref())?, self.boxed_opt(to.as_deref())?);
                (Ex::Slice(Box::new(bound), from, to), ty)
            }
            Kind::Case { subject, arms, otherwise } => {
                let subject = self.boxed_opt(subject.as_deref())?;
                let mut ty = Ty::NULL;
                let mut bound = Vec::new();
                for (when, then) in arms {
                    let when = self.expr(when)?.0;
                    let (then, then_ty) = self.expr(then)?;
                    ty = ty.or(then_ty);
                    bound.push((when, then));
                }
                let otherwise = match otherwise {
                    Some(x) => {
                        let (x, x_ty) = self.expr(x)?;
                        ty = ty.or(x_ty);
                        Some(Box::new(x))
                    }
                    None => None,
                };
                (Ex::Case { subject, arms: bound, otherwise }, ty)
            }
            Kind::List(list) => return self.list(list),
            Kind::Map(entries) => {
                let mut bound: Vec<(Arc<str>, Ex)> = Vec::new();
                for (key, x) in entries {
                    let x = self.expr(x)?.0;
                    bound.retain(|(k, _)| **k != **key);
                    bound.push((key.as_str().into(), x));
                }
                (Ex::Map(bound), Ty::MAP)
            }
            Kind::MapProjection(base, items) => (self.map_projection(base, items)?, Ty::MAP),
            Kind::ListComp { name, list, filter, body } => {
                let (list_ex, ty) = self.list_operand(list)?;
                let parts = [filter.as_deref(), body.as_deref()];
                let (slot, mut bound) = self.with_local(name, ty.element(), &parts)?;
                let (body, body_ty) = bound.pop().flatten().unzip();
                let filter = bound.pop().flatten().map(|f| Box::new(f.0));
                let result = body_ty.unwrap_or(ty.element()).list_of();
                let body = body.map(Box::new);
                (Ex::ListComp { slot, list: Box::new(list_ex), filter, body }, result)
            }
            Kind::Quantified { kind, name, list, filter } => {
                let (list_ex, ty) = self.list_operand(list)?;
                let parts = [filter.as_deref()];
                let (slot, mut bound) = self.with_local(name, ty.element(), &parts)?;
                let filter = match (bound.pop().flatten(), filter) {
                    (Some((f, f_ty)), Some(source)) => {
                        self.expect(source.at, f_ty, Ty::BOOL, "a condition")?;
                        Some(Box::new(f))
                    }
                    _ => None,
                };
                let list = Box::new(list_ex);
                (Ex::Quantified { kind: *kind, slot, list, filter }, Ty::BOOL)
            }
            Kind::Reduce { acc, init, name, list, body } => {
                let init = self.boxed(init)?;
                let (list_ex, ty) = self.list_operand(list)?;
                let acc_slot = self.slot(&acc.text)?;
                let slot = self.slot(&name.text)?;
                let depth = self.scope.len();
                let locals = [(acc, acc_slot, Ty::ANY), (name, slot, ty.element())];
                for (name, slot, ty) in locals {
                    self.scope.push(Var {
                        name: name.text.clone(),
                        slot,
                        ty,
                        local: true,
                        alias: false,
                    });
                }
                let body = self.boxed(body);
                self.scope.truncate(depth);
                let list = Box::new(list_ex);
                (Ex::Reduce { acc: acc_slot, init, slot, list, body: body? }, Ty::ANY)
            }
            Kind::Pattern(part) => return self.pattern_expr(part, e.at),
            Kind::PatternComp { part, filter, body } => {
                let op = self.pattern_comp(part, filter.as_deref(), body)?;
                (op, Ty::LIST)
            }
            Kind::Exists(clauses) => (Ex::Exists(Box::new(self.subquery(clauses)?)), Ty::BOOL),
            Kind::CountStar => return self.aggregate_call(AggKind::CountRows, &[], false, e.at),
            Kind::Call { name, args, distinct } => {
                return self.call_expr(name, args, *distinct, e.at);
            }
        })
    }

    fn variable(&mut self, name: &str, offset: usize) -> Bound<(Ex, Ty)> {
        let Some(var) = self.find(name) else { return Err(self.undefined(name, offset)) };
        let (slot, ty, local) = (var.slot, var.ty, var.local || var.alias);
        let strict =
            self.grouping.as_ref().is_some_and(|g| g.strict && (!self.in_aggregate || g.order));
        if strict && !local {
            let counts = self.grouping.as_ref().is_some_and(|g| g.aggs.is_some());
            return Err(if counts {
                self.error(
                    offset,
                    format!("{name:?} stands beside an aggregate and is no grouping key"),
                )
                .suggest(format!("make {name} a column of its own before it is used here"))
            } else {
                self.undefined(name, offset)
            });
        }
        self.used.push(slot);
        Ok((Ex::Slot(slot), ty))
    }

    fn list_operand(&mut self, list: &Expr) -> Bound<(Ex, Ty)> {
        let (bound, ty) = self.expr(list)?;
        self.expect(list.at, ty, Ty::LIST, "what is iterated")?;
        Ok((bound, ty))
    }

    /// Resolves expressions that see one more variable.
    #[allow(clippy::type_complexity, reason = "one slot and what was found, in order")]
    fn with_local(
        &mut self,
        name: &Name,
        ty: Ty,
        parts: &[Option<&Expr>],
    ) -> Bound<(Slot, Vec<Option<(Ex, Ty)>>)> {
        let slot = self.slot(&name.text)?;
        self.scope.push(Var { name: name.text.clone(), slot, ty, local: true, alias: false });
        let mut bound = Vec::new();
        let mut failed = None;
        for (i, part) in parts.iter().enumerate() {
            // A filter may hold a pattern as a truth value.
            let before = std::mem::replace(&mut self.predicate, i == 0);
            let result = part.map(|e| self.expr(e)).transpose();
            self.predicate = before;
            match result {
                Ok(found) => bound.push(found),
                Err(e) => {
                    failed = Some(e);
                    break;
                }
            }
        }
        self.scope.pop();
        match failed {
            Some(e) => Err(e),
            None => Ok((slot, bound)),
        }
    }

    fn list(&mut self, list: &[Expr]) -> Bound<(Ex, Ty)> {
        let mut bound = Vec::new();
        let mut ty: Option<Ty> = None;
        for x in list {
            let (x, x_ty) = self.expr(x)?;
            ty = Some(ty.map_or(x_ty, |t| t.or(x_ty)));
            bound.push(x);
        }
        let ty = ty.map_or(Ty::LIST, Ty::list_of);
        let constant: Option<Vec<Value>> = bound
            .iter()
            .map(|x| match x {
                Ex::Const(v) => Some(v.clone()),
                _ => None,
            })
            .collect();
        Ok(match constant {
            Some(values) => (Ex::Const(Value::list(values)), ty),
            None => (Ex::List(bound), ty),
        })
    }

    fn index(&mut self, base: &Expr, index: &Expr) -> Bound<(Ex, Ty)> {
        let (base_ex, ty) = self.expr(base)?;
        let (index_ex, index_ty) = self.expr(index)?;
        let holders = Ty::LIST.or(Ty::MAP).or(Ty::NODE).or(Ty::EDGE);
        self.expect(base.at, ty, holders, "what has elements")?;
        if ty.is(Ty::LIST) {
            self.expect(index.at, index_ty, Ty::INT, "the index of a list")?;
        } else if ty.is(Ty::MAP.or(Ty::NODE).or(Ty::EDGE)) {
            self.expect(index.at, index_ty, Ty::TEXT, "the key of a map")?;
        }
        Ok((Ex::Index(Box::new(base_ex), Box::new(index_ex)), ty.element()))
    }

    fn binary(&mut self, op: Binary, a: &Expr, b: &Expr) -> Bound<(Ex, Ty)> {
        if op == Binary::Xor {
            let (a, b) = (self.truth(a)?, self.truth(b)?);
            return Ok((Ex::Binary(op, Box::new(a), Box::new(b)), Ty::BOOL));
        }
        let (x, x_ty) = self.expr(a)?;
        let (mut y, y_ty) = self.expr(b)?;
        self.number_members(op, a, &mut y);
        let text = Ty::BOOL;
        let sums = Ty::NUMBER.or(Ty::TEMPORAL).or(Ty::DURATION);
        let ty = match op {
            Binary::Add => {
                let plain = sums.or(Ty::TEXT);
                if !x_ty.may_be(Ty::LIST) && !y_ty.may_be(Ty::LIST) {
                    self.expect(a.at, x_ty, plain, "an operand of +")?;
                    self.expect(b.at, y_ty, plain, "an operand of +")?;
                }
                if x_ty.is(Ty::INT) && y_ty.is(Ty::INT) {
                    Ty::INT
                } else if x_ty.is(Ty::LIST) && y_ty.is(Ty::LIST) {
                    x_ty.or(y_ty)
                } else if x_ty.is(Ty::NUMBER) && y_ty.is(Ty::NUMBER) {
                    Ty::NUMBER
                } else {
                    Ty::ANY
                }
            }
            Binary::Sub | Binary::Mul | Binary::Div | Binary::Mod | Binary::Pow => {
                self.expect(a.at, x_ty, sums, "an operand of arithmetic")?;
                self.expect(b.at, y_ty, sums, "an operand of arithmetic")?;
                let ints = x_ty.is(Ty::INT) && y_ty.is(Ty::INT) && op != Binary::Pow;
                let numbers = x_ty.is(Ty::NUMBER) && y_ty.is(Ty::NUMBER);
                if ints {
                    Ty::INT
                } else if numbers && op == Binary::Pow {
                    Ty::FLOAT
                } else if numbers {
                    Ty::NUMBER
                } else {
                    Ty::ANY
                }
            }
            Binary::In => {
                self.expect(b.at, y_ty, Ty::LIST, "the right side of IN")?;
                Ty::BOOL
            }
            // Wrong operands of the text tests make them unknown.
            _ => text,
        };
        Ok((Ex::Binary(op, Box::new(x), Box::new(y)), ty))
    }

    fn map_projection(&mut self, base: &Expr, items: &[Projected]) -> Bound<Ex> {
        let (base_ex, ty) = self.expr(base)?;
        self.expect(base.at, ty, Ty::MAP.or(Ty::NODE).or(Ty::EDGE), "what is projected")?;
        let mut bound = Vec::new();
        for item in items {
            bound.push(match item {
                Projected::All => MapItem::All,
                Projected::Property(key) => {
                    let number = intern(&mut self.keys, key);
                    let value = Ex::Prop(Box::new(base_ex.clone()), number);
                    MapItem::Entry(key.as_str().into(), value)
                }
                Projected::Entry(key, x) => MapItem::Entry(key.as_str().into(), self.expr(x)?.0),
                Projected::Variable(name) => {
                    let value = Expr { kind: Kind::Var(name.text.clone()), at: name.at };
                    MapItem::Entry(name.text.as_str().into(), self.expr(&value)?.0)
                }
            });
        }
        Ok(Ex::MapProjection(Box::new(base_ex), bound))
    }
}
