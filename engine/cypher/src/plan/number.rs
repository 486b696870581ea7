//! Numbers of operators, and the walk over all of a plan that gives them.

use super::{Ex, MapItem, Op, OpId, Plan, input_of};

/// The number of an operator, borrowed as the operator is; the row that a plan begins with has none.
macro_rules! id_of {
    ($op:expr) => {
        match $op {
            Op::Argument => None,
            Op::Scan { id, .. }
            | Op::Check { id, .. }
            | Op::Expand { id, .. }
            | Op::Tally { id, .. }
            | Op::Ends { id, .. }
            | Op::VarExpand { id, .. }
            | Op::Walk { id, .. }
            | Op::Shortest { id, .. }
            | Op::Path { id, .. }
            | Op::Filter { id, .. }
            | Op::Project { id, .. }
            | Op::Aggregate { id, .. }
            | Op::Distinct { id, .. }
            | Op::Sort { id, .. }
            | Op::Skip { id, .. }
            | Op::Limit { id, .. }
            | Op::Unwind { id, .. }
            | Op::Optional { id, .. }
            | Op::Union { id, .. }
            | Op::Call { id, .. } => Some(id),
        }
    };
}

impl Plan {
    /// The plan with a number for each operator, those of subqueries too.
    pub(crate) fn numbered(mut self) -> Self {
        let mut last = 0;
        each_op(&mut self.root, &mut |op| {
            if let Some(id) = id_of!(op) {
                last += 1;
                *id = OpId(last);
            }
        });
        self.operators = last;
        self
    }
}

impl Op {
    /// The number of an operator; the row that a plan begins with has none.
    pub(crate) fn id(&self) -> Option<OpId> {
        id_of!(self).copied()
    }

    /// Calls `f` with each expression of the operator itself.
    fn each_expression(&mut self, f: &mut dyn FnMut(&mut Ex)) {
        match self {
            Self::Scan { seek, .. } => seek.iter_mut().for_each(|s| f(&mut s.value)),
            Self::Tally { steps, .. } => steps.iter_mut().flat_map(|s| &mut s.tests).for_each(f),
            Self::VarExpand { span, .. } | Self::Shortest { span, .. } => {
                span.props.iter_mut().for_each(|(_, e)| f(e));
            }
            Self::Filter { test, .. } => f(test),
            Self::Project { items, .. } => items.iter_mut().for_each(|(_, e)| f(e)),
            Self::Aggregate { keys, aggs, .. } => {
                keys.iter_mut().for_each(|(_, e)| f(e));
                aggs.iter_mut().flat_map(|a| a.arg.iter_mut().chain(&mut a.extra)).for_each(f);
            }
            Self::Sort { keys, top, .. } => {
                keys.iter_mut().for_each(|(e, _)| f(e));
                if let Some((skip, limit)) = top {
                    skip.iter_mut().for_each(&mut *f);
                    f(limit);
                }
            }
            Self::Skip { count, .. } | Self::Limit { count, .. } => f(count),
            Self::Unwind { list, .. } => f(list),
            Self::Call { args, .. } => args.iter_mut().for_each(f),
            Self::Argument
            | Self::Check { .. }
            | Self::Expand { .. }
            | Self::Ends { .. }
            | Self::Walk { .. }
            | Self::Path { .. }
            | Self::Distinct { .. }
            | Self::Optional { .. }
            | Self::Union { .. } => {}
        }
    }
}

/// Calls `f` with `op`, all operators below it and those of subqueries in their expressions.
fn each_op(op: &mut Op, f: &mut dyn FnMut(&mut Op)) {
    let mut at = Some(op);
    while let Some(op) = at {
        f(op);
        op.each_expression(&mut |e| in_expression(e, f));
        match op {
            Op::Optional { inner, .. } => each_op(inner, f),
            Op::Union { parts, .. } => parts.iter_mut().for_each(|(part, _)| each_op(part, f)),
            _ => {}
        }
        at = input_of!(op).map(|input| &mut **input);
    }
}

/// Calls `f` with the operators of the subqueries of an expression.
fn in_expression(e: &mut Ex, f: &mut dyn FnMut(&mut Op)) {
    match e {
        Ex::Exists(op) | Ex::First(op, _) => each_op(op, f),
        Ex::Collect(op, e) => {
            each_op(op, f);
            in_expression(e, f);
        }
        e => e.each_part(&mut |part| in_expression(part, f)),
    }
}

impl Ex {
    /// Calls `f` with the expressions that this one consists of; not with those of subqueries.
    fn each_part(&mut self, f: &mut dyn FnMut(&mut Self)) {
        match self {
            Self::Const(_) | Self::Slot(_) | Self::Param(_) => {}
            Self::Exists(_) | Self::First(..) => {}
            Self::Prop(e, _)
            | Self::HasLabels(e, _)
            | Self::Not(e)
            | Self::Neg(e)
            | Self::Plus(e)
            | Self::IsNull(e, _)
            | Self::Collect(_, e) => f(e),
            Self::And(list) | Self::Or(list) | Self::List(list) | Self::Call(_, list) => {
                list.iter_mut().for_each(f);
            }
            Self::Compare(first, rest) => {
                f(first);
                rest.iter_mut().for_each(|(_, e)| f(e));
            }
            Self::Binary(_, a, b) | Self::Index(a, b) => {
                f(a);
                f(b);
            }
            Self::Slice(list, from, to) => {
                f(list);
                from.iter_mut().chain(to).for_each(|e| f(e));
            }
            Self::Case { subject, arms, otherwise } => {
                subject.iter_mut().chain(otherwise).for_each(|e| f(e));
                for (when, then) in arms {
                    f(when);
                    f(then);
                }
            }
            Self::Map(entries) => entries.iter_mut().for_each(|(_, e)| f(e)),
            Self::MapProjection(base, items) => {
                f(base);
                for item in items {
                    if let MapItem::Entry(_, e) = item {
                        f(e);
                    }
                }
            }
            Self::ListComp { list, filter, body, .. } => {
                f(list);
                filter.iter_mut().chain(body).for_each(|e| f(e));
            }
            Self::Quantified { list, filter, .. } => {
                f(list);
                filter.iter_mut().for_each(|e| f(e));
            }
            Self::Reduce { init, list, body, .. } => {
                f(init);
                f(list);
                f(body);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_has_a_number_of_its_own() {
        let text = "MATCH (a)-[r]->(b) WHERE a.x > 1 AND EXISTS { MATCH (b)-[]->(c) WHERE c.x = 2 } \
                    OPTIONAL MATCH (b)-[]->(d) \
                    WITH DISTINCT a, count(d) AS n, [(a)--(e) WHERE e.x = 3 | e.x] AS list, \
                      CASE WHEN a.x = 1 THEN {k: size([(a)-->(g) | g.x])} ELSE null END AS more \
                    ORDER BY n LIMIT 3 RETURN a UNION MATCH (a) RETURN a";
        let mut plan = crate::parse(text).unwrap().plan;
        let mut seen = Vec::new();
        each_op(&mut plan.root, &mut |op| seen.extend(op.id()));
        assert!(seen.len() > 12, "{seen:?}");
        let numbers: Vec<usize> = seen.iter().map(|id| id.0).collect();
        assert_eq!(numbers, (1..=seen.len()).collect::<Vec<_>>());
        let printed = format!("{plan:?}");
        assert!(!printed.contains("OpId(0)"), "an operator was left out: {printed}");
    }
}
