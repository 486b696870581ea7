//! Calls of functions and aggregates in expressions, and the counts of SKIP and LIMIT.

use graphlume_expr::{ErrorCode, Scalar, nearest};

use super::expr::children;
use super::{Binder, Bound, Ty};
use crate::ast::{Expr, Kind};
use crate::error::placed;
use crate::func;
use crate::plan::{Agg, AggKind, Ex};
use crate::value::Value;

/// The aggregate of this name.
pub(super) fn aggregate(name: &str) -> Option<AggKind> {
    Some(match name.to_ascii_lowercase().as_str() {
        "count" => AggKind::Count,
        "sum" => AggKind::Sum,
        "avg" => AggKind::Avg,
        "min" => AggKind::Min,
        "max" => AggKind::Max,
        "collect" => AggKind::Collect,
        "stdev" => AggKind::StDev,
        "stdevp" => AggKind::StDevP,
        "percentilecont" => AggKind::PercentileCont,
        "percentiledisc" => AggKind::PercentileDisc,
        _ => return None,
    })
}

impl Binder<'_> {
    /// A call of a function or an aggregate.
    pub(super) fn call_expr(
        &mut self,
        name: &str,
        args: &[Expr],
        distinct: bool,
        offset: usize,
    ) -> Bound<(Ex, Ty)> {
        if let Some(kind) = aggregate(name) {
            return self.aggregate_call(kind, args, distinct, offset);
        }
        if distinct {
            return Err(self.error(offset, format!("{name} is no aggregate and has no DISTINCT")));
        }
        if name.eq_ignore_ascii_case("exists")
            && let [arg] = args
            && !matches!(arg.kind, Kind::Pattern(_))
        {
            return Ok((Ex::IsNull(self.boxed(arg)?, true), Ty::BOOL));
        }
        if name.eq_ignore_ascii_case("exists")
            && let [arg] = args
        {
            self.predicate = true;
            return self.expr(arg);
        }
        let Some(function) = func::find(name) else {
            let error = self.error(offset, format!("there is no function {name:?}"));
            return Err(match nearest(name, &func::names()) {
                Some(near) => error.suggest(format!("did you mean {near}?")),
                None => error,
            });
        };
        if args.len() < function.min || args.len() > function.max {
            let what = if function.min == function.max {
                format!("{} takes {} arguments, not {}", function.name, function.min, args.len())
            } else {
                let (min, max) = (function.min, function.max);
                format!("{} takes {min} to {max} arguments, not {}", function.name, args.len())
            };
            return Err(self.error(offset, what));
        }
        let mut bound = Vec::new();
        let mut first = Ty::NULL;
        for (i, arg) in args.iter().enumerate() {
            let (x, ty) = self.expr(arg)?;
            let wanted = function.args.get(i).or(function.args.last()).copied();
            let what = format!("argument {} of {}", i + 1, function.name);
            self.expect(arg.at, ty, wanted.unwrap_or(Ty::ANY), &what)?;
            if i == 0 {
                first = ty;
            }
            bound.push(x);
        }
        let ty = match function.name {
            "tail" | "reverse" => first,
            "head" | "last" => first.element(),
            _ => function.result,
        };
        Ok((Ex::Call(function, bound), ty))
    }

    pub(super) fn aggregate_call(
        &mut self,
        kind: AggKind,
        args: &[Expr],
        distinct: bool,
        offset: usize,
    ) -> Bound<(Ex, Ty)> {
        if self.in_aggregate {
            return Err(self
                .error(offset, "an aggregate cannot be inside of another one")
                .suggest("compute the inner one in a WITH before"));
        }
        if self.grouping.as_ref().is_none_or(|g| g.aggs.is_none()) {
            return Err(self
                .error(offset, "an aggregate is possible only in WITH and RETURN")
                .suggest("compute it in a WITH and use its name here"));
        }
        if let Some(local) = self.scope.iter().find(|v| v.local) {
            let what =
                format!("an aggregate cannot be inside of the expression over {:?}", local.name);
            return Err(self.error(offset, what));
        }
        let wanted = match kind {
            AggKind::CountRows => 0,
            AggKind::PercentileCont | AggKind::PercentileDisc => 2,
            _ => 1,
        };
        if args.len() != wanted {
            return Err(self.error(offset, format!("this aggregate takes {wanted} arguments")));
        }
        self.in_aggregate = true;
        let bound: Bound<Vec<(Ex, Ty)>> = args.iter().map(|a| self.expr(a)).collect();
        self.in_aggregate = false;
        let mut bound = bound?.into_iter();
        let (arg, arg_ty) = bound.next().unzip();
        let (extra, _) = bound.next().unzip();
        let arg_ty = arg_ty.unwrap_or(Ty::ANY);
        let rand = args.iter().any(is_random);
        if rand {
            return Err(self
                .error(offset, "an aggregate of a random number is not constant")
                .suggest("compute the random number in a WITH before"));
        }
        let ty = match kind {
            AggKind::CountRows | AggKind::Count => Ty::INT,
            AggKind::Collect => arg_ty.list_of(),
            AggKind::Sum | AggKind::Avg => Ty::ANY,
            AggKind::Min | AggKind::Max => arg_ty,
            _ => Ty::FLOAT.or(Ty::NULL).or(Ty::INT),
        };
        if matches!(kind, AggKind::Sum | AggKind::Avg | AggKind::StDev | AggKind::StDevP) {
            self.expect(offset, arg_ty, Ty::NUMBER.or(Ty::DURATION), "what is added up")?;
        }
        let slot = self.slot("")?;
        let agg = Agg { kind, arg, extra, distinct, slot, weight: None };
        if let Some(aggs) = self.grouping.as_mut().and_then(|g| g.aggs.as_mut()) {
            aggs.push(agg);
        }
        self.used.push(slot);
        Ok((Ex::Slot(slot), ty))
    }

    /// A number of rows for SKIP and LIMIT.
    pub(super) fn row_count(&mut self, e: &Expr, what: &str) -> Bound<Ex> {
        let scope = std::mem::take(&mut self.scope);
        let bound = self.expr(e);
        self.scope = scope;
        let (count, ty) = bound.map_err(|err| {
            if err.error_code() == ErrorCode::Limit {
                return err;
            }
            self.error(e.at, format!("{what} must be the same for all rows"))
                .suggest("use a number or a parameter")
        })?;
        self.expect(e.at, ty, Ty::INT, what)?;
        if let Ex::Const(Value::Scalar(Scalar::Int(n))) = count
            && n < 0
        {
            return Err(self.error(e.at, format!("{what} cannot be negative: {n}")));
        }
        if matches!(count, Ex::Const(Value::Scalar(Scalar::Null))) {
            return Err(placed(
                ErrorCode::Type,
                self.text,
                e.at,
                format!("{what} must be a number"),
            ));
        }
        Ok(count)
    }
}

fn is_random(e: &Expr) -> bool {
    if matches!(&e.kind, Kind::Call { name, .. } if name.eq_ignore_ascii_case("rand")) {
        return true;
    }
    let mut found = false;
    children(e, &mut |c| found = found || is_random(c));
    found
}
