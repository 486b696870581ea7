//! WITH and RETURN: projection, grouping, DISTINCT, ORDER BY, SKIP and LIMIT.

use super::expr::has_aggregate;
use super::{Binder, Bound, Grouping, Known, Ty, Var};
use crate::ast::{Expr, Item, Kind, Name, Projection};
use crate::plan::{Agg, Ex, Op, OpId, Slot};

/// A column that is being projected.
struct Column {
    name: Name,
    slot: Slot,
    ty: Ty,
    expr: Expr,
}

impl Binder<'_> {
    pub(super) fn with(&mut self, op: Op, body: &Projection, filter: Option<&Expr>) -> Bound<Op> {
        Ok(self.projection(op, body, filter, false)?.0)
    }

    pub(super) fn projection(
        &mut self,
        op: Op,
        body: &Projection,
        filter: Option<&Expr>,
        last: bool,
    ) -> Bound<(Op, Vec<(String, Slot)>)> {
        let items = self.items(body, last)?;
        let grouped = items.iter().any(|i| has_aggregate(&i.expr));
        let outer = self.grouping.take();
        let (mut op, columns, order) =
            if grouped { self.grouped(op, &items, body)? } else { self.plain(op, &items, body)? };
        if body.distinct {
            let slots = columns.iter().map(|c| c.slot).collect();
            op = Op::Distinct { id: OpId::default(), input: Box::new(op), slots };
        }
        let mark = self.used.len();
        let filter = filter.map(|f| self.condition(f)).transpose()?;
        let mut keep: Vec<Slot> = columns.iter().map(|c| c.slot).collect();
        keep.extend_from_slice(self.used.get(mark..).unwrap_or_default());
        keep.sort_unstable();
        keep.dedup();
        self.grouping = None;
        op = self.cut(op, order, keep, body)?;
        if let Some(test) = filter {
            op = Op::Filter { id: OpId::default(), input: Box::new(op), test };
        }
        self.grouping = outer;
        let named = |c: &Column| (c.name.text.clone(), c.slot);
        let names = columns.iter().map(named).collect();
        let var = |c: Column| Var {
            name: c.name.text,
            slot: c.slot,
            ty: c.ty,
            local: false,
            alias: false,
        };
        self.scope = columns.into_iter().map(var).collect();
        Ok((op, names))
    }

    /// The items, those of the star included, checked for their names.
    fn items(&self, body: &Projection, last: bool) -> Bound<Vec<Item>> {
        let mut items = Vec::new();
        if body.star {
            let mut names: Vec<&str> = self.scope.iter().map(|v| v.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            if names.is_empty() && last {
                return Err(self.error(body.at, "there is no variable that * could stand for"));
            }
            for name in names {
                let at = body.at;
                let expr = Expr { kind: Kind::Var(name.to_owned()), at };
                items.push(Item { expr, name: Name { text: name.to_owned(), at }, aliased: true });
            }
        }
        items.extend(body.items.iter().cloned());
        for (i, item) in items.iter().enumerate() {
            if !last && !item.aliased && !matches!(item.expr.kind, Kind::Var(_)) {
                return Err(self
                    .error(item.name.at, format!("the expression {} needs a name", item.name.text))
                    .suggest(format!("write {} AS name", item.name.text)));
            }
            if items.iter().take(i).any(|j| j.name == item.name) {
                let what = format!("two columns have the name {:?}", item.name.text);
                return Err(self
                    .error(item.name.at, what)
                    .suggest("give one another name with AS"));
            }
        }
        Ok(items)
    }

    fn see_columns(&mut self, columns: &[Column]) {
        for c in columns {
            let (name, slot, ty) = (c.name.text.clone(), c.slot, c.ty);
            self.scope.push(Var { name, slot, ty, local: false, alias: true });
        }
    }

    fn known(columns: &[Column]) -> Vec<Known> {
        let known = |c: &Column| Known { expr: c.expr.clone(), slot: c.slot, ty: c.ty };
        columns.iter().map(known).collect()
    }

    /// The column of an item; what has no slot yet goes into `made` with its new one.
    fn column(&mut self, item: &Item, made: &mut Vec<(Slot, Ex)>) -> Bound<Column> {
        let (ex, ty) = self.expr(&item.expr)?;
        let slot = match ex {
            Ex::Slot(slot) => slot,
            ex => {
                let slot = self.slot(&item.name.text)?;
                made.push((slot, ex));
                slot
            }
        };
        Ok(Column { name: item.name.clone(), slot, ty, expr: item.expr.clone() })
    }

    #[allow(clippy::type_complexity, reason = "the parts of one clause")]
    fn plain(
        &mut self,
        op: Op,
        items: &[Item],
        body: &Projection,
    ) -> Bound<(Op, Vec<Column>, Vec<(Ex, bool)>)> {
        let mut columns = Vec::new();
        let mut made = Vec::new();
        for item in items {
            columns.push(self.column(item, &mut made)?);
        }
        self.see_columns(&columns);
        if body.distinct {
            let known = Self::known(&columns);
            self.grouping =
                Some(Grouping { known, strict: true, compound: true, ..Grouping::default() });
        }
        let order = self.order(body)?;
        let op = match made.is_empty() {
            true => op,
            false => Op::Project { id: OpId::default(), input: Box::new(op), items: made },
        };
        Ok((op, columns, order))
    }

    fn order(&mut self, body: &Projection) -> Bound<Vec<(Ex, bool)>> {
        let mut keys = Vec::new();
        for (e, down) in &body.order {
            if let Some(grouping) = &mut self.grouping {
                grouping.compound = !has_aggregate(e);
            }
            keys.push((self.expr(e)?.0, *down));
        }
        Ok(keys)
    }

    #[allow(clippy::type_complexity, reason = "the parts of one clause")]
    fn grouped(
        &mut self,
        op: Op,
        items: &[Item],
        body: &Projection,
    ) -> Bound<(Op, Vec<Column>, Vec<(Ex, bool)>)> {
        let mut keys = Vec::new();
        let mut key_columns = Vec::new();
        for item in items.iter().filter(|i| !has_aggregate(&i.expr)) {
            let (ex, ty) = self.expr(&item.expr)?;
            let slot = self.slot(&item.name.text)?;
            keys.push((slot, ex));
            key_columns.push(Column { name: item.name.clone(), slot, ty, expr: item.expr.clone() });
        }
        let known = Self::known(&key_columns);
        let aggs = Some(Vec::new());
        self.grouping = Some(Grouping { known, aggs, strict: true, ..Grouping::default() });
        let mut made = Vec::new();
        let mut columns = Vec::new();
        let mut key_columns = key_columns.into_iter();
        for item in items {
            if !has_aggregate(&item.expr) {
                columns.extend(key_columns.next());
                continue;
            }
            columns.push(self.column(item, &mut made)?);
        }
        if let Some(grouping) = &mut self.grouping {
            grouping.known = Self::known(&columns);
            grouping.order = true;
        }
        let depth = self.scope.len();
        self.see_columns(&columns);
        let order = self.order(body)?;
        // WHERE sees the columns alone, and no aggregate.
        self.scope.drain(..depth);
        let aggs = self.grouping.take().and_then(|g| g.aggs).unwrap_or_default();
        let (input, weight) = self.counted(op, &keys, &aggs)?;
        let aggs = aggs.into_iter().map(|a| Agg { weight, ..a }).collect();
        let mut op = Op::Aggregate { id: OpId::default(), input: Box::new(input), keys, aggs };
        if !made.is_empty() {
            op = Op::Project { id: OpId::default(), input: Box::new(op), items: made };
        }
        Ok((op, columns, order))
    }

    fn cut(
        &mut self,
        op: Op,
        order: Vec<(Ex, bool)>,
        keep: Vec<Slot>,
        body: &Projection,
    ) -> Bound<Op> {
        let mut op = Box::new(op);
        let skip = body.skip.as_ref().map(|e| self.row_count(e, "SKIP")).transpose()?;
        let limit = body.limit.as_ref().map(|e| self.row_count(e, "LIMIT")).transpose()?;
        if !order.is_empty() {
            let top = limit.clone().map(|l| (skip.clone(), l));
            op = Box::new(Op::Sort { id: OpId::default(), input: op, keys: order, keep, top });
        }
        if let Some(count) = skip {
            op = Box::new(Op::Skip { id: OpId::default(), input: op, count });
        }
        if let Some(count) = limit {
            op = Box::new(Op::Limit { id: OpId::default(), input: op, count });
        }
        Ok(*op)
    }
}
