//! Names to slots, with the checks that need no data, and patterns to operators.

mod call;
mod expr;
mod ids;
mod join;
mod order;
mod pattern;
mod project;
mod start;
mod tally;
mod types;

use graphlume_expr::{ErrorCode, QueryError, nearest};
use graphlume_types::limits::{CYPHER_OPERATORS_MAX, CYPHER_SLOTS_MAX};

use crate::ast::{Call, Clause, Expr, Kind, Name, Union};
use crate::error::placed;
use crate::plan::{Agg, Ex, Op, OpId, Plan, Slot};
use crate::types::Ty;
pub(crate) use expr::children;
pub use ids::NumberIds;
pub(crate) use pattern::seek_of;
pub(crate) use start::{Given, HOPS_UNBOUND, Statistics, Wanted};
pub(crate) use tally::cannot_fail;

type Bound<T> = Result<T, QueryError>;

#[derive(Clone, Debug)]
struct Var {
    name: String,
    slot: Slot,
    ty: Ty,
    /// Whether an expression introduced it, such as a list comprehension.
    local: bool,
    /// Whether it is a column of the projection whose ORDER BY is being read.
    alias: bool,
}

/// An expression that stands for a slot after grouping or DISTINCT.
#[derive(Clone, Debug)]
struct Known {
    expr: Expr,
    slot: Slot,
    ty: Ty,
}

/// What the expressions of a projection may use besides variables.
#[derive(Debug, Default)]
struct Grouping {
    known: Vec<Known>,
    /// Aggregates found; `None` where none may be.
    aggs: Option<Vec<Agg>>,
    /// Whether variables that are not among the known expressions are out of reach.
    strict: bool,
    /// Whether that holds for the arguments of aggregates too.
    order: bool,
    /// Whether compound expressions may be taken for the column that they are equal to.
    compound: bool,
}

pub(crate) struct Binder<'a> {
    text: &'a str,
    ids: &'a NumberIds,
    scope: Vec<Var>,
    names: Vec<String>,
    keys: Vec<String>,
    labels: Vec<String>,
    types: Vec<String>,
    params: Vec<String>,
    entity_keys: Vec<usize>,
    /// Slots that were looked up since this was last cleared.
    used: Vec<Slot>,
    grouping: Option<Grouping>,
    in_aggregate: bool,
    /// Whether a pattern may stand here as a truth value.
    predicate: bool,
    /// Whether patterns may bring new variables.
    new_in_pattern: bool,
    /// Whether this is a subquery, which runs for every row around it.
    nested: bool,
    /// What is known of the graph.
    statistics: Option<&'a dyn Statistics>,
    /// Whether statistics could make another plan.
    open: bool,
}

/// A text, and how ids that are written in it are read.
#[derive(Clone, Copy)]
pub(crate) struct Written<'a> {
    pub(crate) text: &'a str,
    pub(crate) ids: &'a NumberIds,
}

/// Plans a query; patterns start where the statistics say that it costs least.
pub(crate) fn bind(
    Written { text, ids }: Written<'_>,
    query: &Union,
    statistics: Option<&dyn Statistics>,
) -> Bound<Plan> {
    let mut binder = Binder {
        text,
        ids,
        scope: Vec::new(),
        names: Vec::new(),
        keys: Vec::new(),
        labels: Vec::new(),
        types: Vec::new(),
        params: Vec::new(),
        entity_keys: Vec::new(),
        used: Vec::new(),
        grouping: None,
        in_aggregate: false,
        predicate: false,
        new_in_pattern: true,
        nested: false,
        statistics,
        open: false,
    };
    let (root, columns, whole_call) = binder.union(query)?;
    let depth = root.depth();
    if depth > CYPHER_OPERATORS_MAX {
        let what = format!("the plan has {depth} operators, {CYPHER_OPERATORS_MAX} may be");
        return Err(QueryError::new(ErrorCode::Limit, what)
            .field("query")
            .suggest("ask for less: fewer clauses and shorter patterns"));
    }
    let plan = Plan {
        root,
        depth,
        operators: 0,
        columns,
        slots: binder.names.len(),
        keys: binder.keys,
        labels: binder.labels,
        types: binder.types,
        params: binder.params,
        entity_keys: binder.entity_keys,
        names: binder.names,
        whole_call,
        open: binder.open,
    };
    Ok(plan.numbered())
}

fn intern(list: &mut Vec<String>, name: &str) -> usize {
    list.iter().position(|n| n == name).unwrap_or_else(|| {
        list.push(name.to_owned());
        list.len() - 1
    })
}

type Planned = (Op, Vec<(String, Slot)>, bool);

impl Binder<'_> {
    fn error(&self, offset: usize, what: impl Into<String>) -> QueryError {
        placed(ErrorCode::Syntax, self.text, offset, what)
    }

    fn slot(&mut self, name: &str) -> Bound<Slot> {
        if self.names.len() >= CYPHER_SLOTS_MAX {
            let what = format!("the query has more than {CYPHER_SLOTS_MAX} variables");
            return Err(QueryError::new(ErrorCode::Limit, what).field("query"));
        }
        self.names.push(name.to_owned());
        Ok(self.names.len() - 1)
    }

    /// The number of a property that nodes or relationships are asked for.
    fn entity_key(&mut self, name: &str) -> usize {
        let key = intern(&mut self.keys, name);
        if !self.entity_keys.contains(&key) {
            self.entity_keys.push(key);
        }
        key
    }

    fn find(&self, name: &str) -> Option<&Var> {
        self.scope.iter().rev().find(|v| v.name == name)
    }

    fn declare(&mut self, name: &Name, ty: Ty) -> Bound<Slot> {
        let slot = self.slot(&name.text)?;
        self.scope.push(Var { name: name.text.clone(), slot, ty, local: false, alias: false });
        Ok(slot)
    }

    fn undefined(&self, name: &str, offset: usize) -> QueryError {
        let error = self.error(offset, format!("the variable {name:?} is not defined"));
        let names: Vec<&str> = self.scope.iter().map(|v| v.name.as_str()).collect();
        match nearest(name, &names) {
            Some(near) => error.suggest(format!("did you mean {near:?}?")),
            None if names.is_empty() => error,
            None => error.suggest(format!("variables here: {}", names.join(", "))),
        }
    }

    fn union(&mut self, query: &Union) -> Bound<Planned> {
        if let [clauses] = query.parts.as_slice() {
            return self.single(clauses);
        }
        if query.all.iter().any(|(all, _)| *all != query.all.first().is_some_and(|f| f.0)) {
            let at = query.all.last().map_or(0, |a| a.1);
            return Err(self.error(at, "UNION and UNION ALL cannot be mixed in one query"));
        }
        let mut parts = Vec::new();
        let mut header: Option<Vec<String>> = None;
        for (i, clauses) in query.parts.iter().enumerate() {
            self.scope.clear();
            let (op, columns, _) = self.single(clauses)?;
            let names: Vec<String> = columns.iter().map(|c| c.0.clone()).collect();
            let header = header.get_or_insert_with(|| names.clone());
            // Columns are matched by name, so their order may differ.
            let slots: Option<Vec<Slot>> = header
                .iter()
                .map(|h| columns.iter().find(|(n, _)| n == h).map(|(_, slot)| *slot))
                .collect();
            let Some(slots) = slots.filter(|s| s.len() == names.len()) else {
                let at = i.checked_sub(1).and_then(|i| query.all.get(i)).map_or(0, |a| a.1);
                let what = format!(
                    "the parts of a UNION must have the same columns: {} and {}",
                    header.join(", "),
                    names.join(", ")
                );
                return Err(self.error(at, what).suggest("name the columns alike with AS"));
            };
            parts.push((op, slots));
        }
        let mut columns = Vec::new();
        for name in header.unwrap_or_default() {
            let slot = self.slot(&name)?;
            columns.push((name, slot));
        }
        let out: Vec<Slot> = columns.iter().map(|c| c.1).collect();
        let mut root = Op::Union { id: OpId::default(), parts, out: out.clone() };
        if !query.all.iter().any(|(all, _)| *all) {
            root = Op::Distinct { id: OpId::default(), input: Box::new(root), slots: out };
        }
        Ok((root, columns, false))
    }

    fn single(&mut self, clauses: &[Clause]) -> Bound<Planned> {
        let mut op = Op::Argument;
        let mut rest = clauses;
        while let Some((clause, after)) = rest.split_first() {
            rest = after;
            match clause {
                Clause::Match(m) => {
                    let more = if self.nested { Vec::new() } else { join::joined(m, after) };
                    rest = after.get(more.len()..).unwrap_or_default();
                    op = self.match_clauses(op, m, &more)?;
                }
                Clause::Unwind { list, name } => {
                    let (list, ty) = self.expr(list)?;
                    if self.find(&name.text).is_some() {
                        let what = format!("the variable {:?} exists already", name.text);
                        return Err(self.error(name.at, what));
                    }
                    let slot = self.declare(name, ty.element())?;
                    op = Op::Unwind { id: OpId::default(), input: Box::new(op), list, slot };
                }
                Clause::With { body, filter } => {
                    op = self.with(op, body, filter.as_ref())?;
                }
                Clause::Return(body) => {
                    let (op, columns) = self.projection(op, body, None, true)?;
                    return Ok((op, columns, false));
                }
                Clause::Call(call) => {
                    let whole = clauses.len() == 1;
                    let (next, columns) = self.call(op, call, whole)?;
                    op = next;
                    if whole {
                        return Ok((op, columns, call.yields.is_none() || call.star));
                    }
                }
            }
        }
        Ok((op, Vec::new(), false))
    }

    fn call(&mut self, op: Op, call: &Call, whole: bool) -> Bound<(Op, Vec<(String, Slot)>)> {
        let mut args = Vec::new();
        match &call.args {
            Some(list) => {
                for arg in list {
                    args.push(self.expr(arg)?.0);
                }
            }
            None if !whole => {
                return Err(self
                    .error(call.name.at, "a procedure inside of a query needs its arguments")
                    .suggest(format!("write CALL {}(...) YIELD ...", call.name.text)));
            }
            None => {}
        }
        if !whole && (call.yields.is_none() || call.star) {
            return Err(self
                .error(call.name.at, "a procedure inside of a query must name its results")
                .suggest("add YIELD and the result columns"));
        }
        let mut yields = Vec::new();
        for (from, to) in call.yields.iter().flatten() {
            if self.find(&to.text).is_some() {
                let what = format!("the variable {:?} exists already", to.text);
                return Err(self.error(to.at, what));
            }
            let slot = self.declare(to, Ty::ANY)?;
            yields.push((from.text.clone(), slot));
        }
        let columns = call.yields.iter().flatten().zip(&yields);
        let columns = columns.map(|((_, to), (_, slot))| (to.text.clone(), *slot)).collect();
        let name = call.name.text.clone();
        let mut op = Op::Call { id: OpId::default(), input: Box::new(op), name, args, yields };
        if let Some(filter) = &call.filter {
            op = Op::Filter {
                id: OpId::default(),
                input: Box::new(op),
                test: self.condition(filter)?,
            };
        }
        Ok((op, columns))
    }

    /// A condition of WHERE.
    fn condition(&mut self, filter: &Expr) -> Bound<Ex> {
        let before = std::mem::replace(&mut self.predicate, true);
        let bound = self.expr(filter);
        self.predicate = before;
        let (test, ty) = bound?;
        self.expect(filter.at, ty, Ty::BOOL, "a condition")?;
        Ok(test)
    }

    /// The clauses of a subquery, with everything around in reach.
    fn subquery(&mut self, clauses: &[Clause]) -> Bound<Op> {
        let saved = self.scope.clone();
        let grouping = self.grouping.take();
        let inside = std::mem::replace(&mut self.in_aggregate, false);
        let new = std::mem::replace(&mut self.new_in_pattern, true);
        let nested = std::mem::replace(&mut self.nested, true);
        let planned = self.single(clauses);
        self.nested = nested;
        (self.scope, self.grouping) = (saved, grouping);
        (self.in_aggregate, self.new_in_pattern) = (inside, new);
        Ok(planned?.0)
    }

    /// Conditions joined by AND, each on its own.
    pub(crate) fn conjuncts<'e>(expr: &'e Expr, into: &mut Vec<&'e Expr>) {
        match &expr.kind {
            Kind::And(list) => list.iter().for_each(|e| Self::conjuncts(e, into)),
            _ => into.push(expr),
        }
    }
}
