//! Groups: numbers for the values of keys, and the state of aggregates.

use std::collections::{HashMap, HashSet};

use arrow_array::Array;
use graphlume_graph::canon::Column;

use super::hash::Keyed;
use super::numbers::Numbers;
use super::{Exec, arith};
use crate::ast::Binary;
use crate::error::{Res, limit_error, type_error, value_error};
use crate::plan::{Agg, AggKind, Ex, Slot};
use crate::value::{Key, Value, order};

/// Rows before it pays to number the values of a whole column, or to remember nodes.
const ROWS_BEFORE_MEMO: usize = if cfg!(test) { 1 } else { 4_096 };
/// Places of nodes that a row pays for.
const NODES_PER_ROW: usize = 64;
/// The same, as a part of the rows of the column.
const COLUMN_PART: usize = 16;

/// Numbers the values of one key from zero, in order of appearance.
pub(super) struct Coder<'e> {
    expr: &'e Ex,
    /// The slot of the node or relationship that alone decides the value.
    slot: Option<Slot>,
    /// The property of it that is the value; `None` for the node itself.
    key: Option<usize>,
    nodes: usize,
    rows: usize,
    /// Numbers of the values for which nodes stand, when these are told apart by them.
    numbers: Option<Numbers>,
    /// Code of a node, or of a value of the column, plus one.
    memo: Vec<u32>,
    /// The node that was met last, and its code: steps from one node meet it many times in a row.
    last: Option<(u32, u32)>,
    codes: HashMap<Key, u32, Keyed>,
    values: Vec<Value>,
}

impl<'e> Coder<'e> {
    pub(super) fn new(expr: &'e Ex, nodes: usize) -> Self {
        let (slot, key) = match expr {
            Ex::Slot(slot) => (Some(*slot), None),
            Ex::Prop(base, key) => match base.as_ref() {
                Ex::Slot(slot) => (Some(*slot), Some(*key)),
                _ => (None, None),
            },
            _ => (None, None),
        };
        let (memo, codes, values) = (Vec::new(), HashMap::default(), Vec::new());
        Self { expr, slot, key, nodes, rows: 0, numbers: None, memo, last: None, codes, values }
    }

    /// Nodes that stand for the values with these numbers.
    pub(super) fn numbered(mut self, numbers: Option<Numbers>) -> Self {
        self.numbers = numbers;
        self
    }

    pub(super) fn value(&self, code: u32) -> Value {
        self.values.get(code as usize).cloned().unwrap_or_default()
    }

    /// Where the code of this row is remembered: by node, or by the number of the value in its column.
    fn place(&self, exec: &Exec<'_>, row: &[Value]) -> Option<usize> {
        let (entity, key) = (row.get(self.slot?)?, self.key);
        let Some(key) = key else {
            return match entity {
                Value::Node(v) if self.rows > ROWS_BEFORE_MEMO => Some(self.number(*v)),
                _ => None,
            };
        };
        let key = exec.keys.get(key)?;
        let (cells, row, odd) = match entity {
            Value::Node(v) => (key.node.as_ref()?, exec.view.node_row(*v)?, 0),
            Value::Edge(e) => (key.edge.as_ref()?, e.row, 1),
            _ => return None,
        };
        // Nodes have the even places and relationships the odd ones.
        let place = |number: u32| Some(2 * number as usize + odd);
        if let Column::Text(text) = cells.column() {
            if let Some((keys, _)) = text.dictionary() {
                let valid = keys.is_valid(row as usize);
                return place(if valid { keys.value(row as usize).checked_add(1)? } else { 0 });
            }
            // Texts that hardly repeat do so with their nodes.
            if let Value::Node(v) = entity {
                return place(*v).filter(|_| self.rows * NODES_PER_ROW > self.nodes);
            }
        }
        if self.rows <= ROWS_BEFORE_MEMO || self.rows < cells.column().len() / COLUMN_PART {
            return None;
        }
        let code = cells.codes()?.get(row as usize)?;
        // Null has the last number of all; it comes first here.
        place(code.wrapping_add(1))
    }

    /// By what a node is told from others.
    fn number(&self, v: u32) -> usize {
        number_of(self.numbers.as_ref(), v) as usize
    }

    pub(super) fn code(&mut self, exec: &Exec<'_>, row: &mut [Value]) -> Res<u32> {
        let node = match self.slot.and_then(|slot| row.get(slot)) {
            Some(Value::Node(v)) => Some(*v),
            _ => None,
        };
        if let (Some(v), Some((last, code))) = (node, self.last)
            && v == last
        {
            return Ok(code);
        }
        let code = self.new_code(exec, row)?;
        self.last = node.map(|v| (v, code));
        Ok(code)
    }

    fn new_code(&mut self, exec: &Exec<'_>, row: &mut [Value]) -> Res<u32> {
        self.rows += 1;
        let place = self.place(exec, row);
        if let Some(place) = place {
            if self.memo.len() <= place {
                self.memo.resize(place + place / 2 + 1, 0);
            }
            if let Some(code) = self.memo.get(place).copied().filter(|c| *c > 0) {
                return Ok(code - 1);
            }
        }
        let value = exec.eval(self.expr, row)?;
        let next = self.values.len() as u32;
        let key = match (&self.numbers, &value) {
            (Some(_), Value::Node(v)) => Key(Value::Node(self.number(*v) as u32)),
            _ => Key(value.clone()),
        };
        let code = match self.codes.get(&key) {
            Some(code) => *code,
            None => {
                exec.hold(0, 1)?;
                self.values.push(value);
                // A node that is remembered by its number needs no second memory.
                if place.is_none() || !matches!(key.0, Value::Node(_)) {
                    self.codes.insert(key, next);
                }
                next
            }
        };
        if let Some(slot) = place.and_then(|p| self.memo.get_mut(p)) {
            *slot = code + 1;
        }
        Ok(code)
    }
}

/// By what a node is told from others: its own number, or that of its value, of which null has the first.
fn number_of(numbers: Option<&Numbers>, v: u32) -> u32 {
    match numbers {
        Some(numbers) => numbers.get(v as usize).map_or(0, |n| n.wrapping_add(1)),
        None => v,
    }
}

/// Numbers the combinations of codes from zero, in order of appearance.
pub(super) struct Joint {
    pairs: Vec<HashMap<u64, u32, Keyed>>,
    groups: u32,
}

impl Joint {
    pub(super) fn new(keys: usize) -> Self {
        let pairs = (1..keys).map(|_| HashMap::default()).collect();
        Self { pairs, groups: 0 }
    }

    /// The group of the codes, and whether it is new.
    pub(super) fn group(&mut self, codes: &[u32]) -> (usize, bool) {
        let Some((first, rest)) = codes.split_first() else { return (0, false) };
        let mut group = *first;
        for (pairs, code) in self.pairs.iter_mut().zip(rest) {
            let next = pairs.len() as u32;
            group = *pairs.entry(u64::from(group) << 32 | u64::from(*code)).or_insert(next);
        }
        let new = group >= self.groups;
        if new {
            self.groups = group + 1;
        }
        (group as usize, new)
    }
}

/// Groups by the values of their keys.
#[derive(Default)]
pub(super) struct Index {
    /// Numbers of the values for which nodes stand.
    numbers: Option<Numbers>,
    /// Group of a node that alone is the key, plus one.
    nodes: Vec<u32>,
    singles: HashMap<Key, usize, Keyed>,
    others: HashMap<Vec<Key>, usize, Keyed>,
}

impl Index {
    pub(super) fn new(numbers: Option<Numbers>) -> Self {
        Self { numbers, ..Self::default() }
    }

    pub(super) fn find(&self, key: &[Value]) -> Option<usize> {
        match key {
            [Value::Node(v)] => {
                let at = number_of(self.numbers.as_ref(), *v) as usize;
                let group = self.nodes.get(at).filter(|g| **g > 0)?;
                Some(*group as usize - 1)
            }
            [one] => self.singles.get(&Key(one.clone())).copied(),
            _ => {
                let key: Vec<Key> = key.iter().map(|v| Key(v.clone())).collect();
                self.others.get(&key).copied()
            }
        }
    }

    pub(super) fn insert(&mut self, key: &[Value], group: usize) {
        match key {
            [Value::Node(v)] => {
                let at = number_of(self.numbers.as_ref(), *v) as usize;
                if self.nodes.len() <= at {
                    self.nodes.resize((at + 1).max(self.nodes.len() * 2), 0);
                }
                if let (Some(slot), Ok(group)) = (self.nodes.get_mut(at), u32::try_from(group + 1))
                {
                    *slot = group;
                }
            }
            [one] => {
                self.singles.insert(Key(one.clone()), group);
            }
            _ => {
                self.others.insert(key.iter().map(|v| Key(v.clone())).collect(), group);
            }
        }
    }
}

/// Groups with their keys and the states of their aggregates, side by side.
pub(super) struct Groups {
    width: usize,
    aggs: usize,
    keys: Vec<Value>,
    cells: Vec<Cell>,
    len: usize,
}

impl Groups {
    pub(super) const fn new(width: usize, aggs: usize) -> Self {
        Self { width, aggs, keys: Vec::new(), cells: Vec::new(), len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn add(&mut self, key: impl Iterator<Item = Value>, aggs: &[Agg]) -> usize {
        self.keys.extend(key);
        self.cells.extend(aggs.iter().map(Cell::new));
        self.len += 1;
        self.len - 1
    }

    pub(super) fn key(&self, group: usize) -> &[Value] {
        self.keys.get(group * self.width..(group + 1) * self.width).unwrap_or_default()
    }

    pub(super) fn cells(&self, group: usize) -> &[Cell] {
        self.cells.get(group * self.aggs..(group + 1) * self.aggs).unwrap_or_default()
    }

    pub(super) fn cells_mut(&mut self, group: usize) -> &mut [Cell] {
        self.cells.get_mut(group * self.aggs..(group + 1) * self.aggs).unwrap_or_default()
    }

    pub(super) fn into_groups(self) -> impl Iterator<Item = (Vec<Value>, Vec<Cell>)> {
        let (width, aggs) = (self.width, self.aggs);
        let (mut keys, mut cells) = (self.keys.into_iter(), self.cells.into_iter());
        (0..self.len).map(move |_| {
            (keys.by_ref().take(width).collect(), cells.by_ref().take(aggs).collect())
        })
    }
}

/// Values that DISTINCT has seen.
#[derive(Default)]
struct Seen(HashSet<Key, Keyed>);

/// The state of one aggregate of one group.
pub(super) struct Cell {
    count: i64,
    state: State,
    seen: Option<Box<Seen>>,
}

enum State {
    Empty,
    Value(Value),
    Moments { mean: f64, spread: f64 },
    List(Vec<Value>),
    Sample { list: Vec<Value>, at: f64 },
}

impl Cell {
    fn new(agg: &Agg) -> Self {
        let seen = agg.distinct.then(Box::default);
        Self { count: 0, state: State::Empty, seen }
    }

    /// Takes up a row, as often as it counts.
    pub(super) fn feed(&mut self, exec: &Exec<'_>, agg: &Agg, row: &mut [Value]) -> Res<()> {
        let times = match agg.weight.and_then(|slot| row.get(slot)) {
            Some(Value::Int(times)) => *times,
            _ => 1,
        };
        let Some(arg) = &agg.arg else { return self.add_count(times) };
        // A count needs to know of null alone.
        if agg.kind == AggKind::Count
            && !agg.distinct
            && let Ex::Slot(slot) = arg
        {
            let some = row.get(*slot).is_some_and(|v| !v.is_null());
            return if some { self.add_count(times) } else { Ok(()) };
        }
        let value = exec.eval(arg, row)?;
        if let Some(extra) = &agg.extra
            && matches!(self.state, State::Empty)
        {
            let given = exec.eval(extra, row)?;
            let at = given.as_f64().filter(|p| (0.0..=1.0).contains(p));
            let wrong = || value_error("a percentile must be a number from 0.0 to 1.0");
            self.state = State::Sample { list: Vec::new(), at: at.ok_or_else(wrong)? };
        }
        if value.is_null() {
            return Ok(());
        }
        if let Some(seen) = &mut self.seen {
            if !seen.0.insert(Key(value.clone())) {
                return Ok(());
            }
            exec.hold(0, 1)?;
            self.add_count(1)?;
            return self.take(exec, agg.kind, value);
        }
        if matches!(agg.kind, AggKind::Count | AggKind::Min | AggKind::Max) {
            self.add_count(times)?;
            return self.take(exec, agg.kind, value);
        }
        for _ in 1..times {
            exec.tick()?;
            self.add_count(1)?;
            self.take(exec, agg.kind, value.clone())?;
        }
        self.add_count(1)?;
        self.take(exec, agg.kind, value)
    }

    /// Takes up numbers that are not NaN.
    pub(super) fn take_floats(
        &mut self,
        exec: &Exec<'_>,
        kind: AggKind,
        values: impl Iterator<Item = f64>,
    ) -> Res<()> {
        match (kind, &mut self.state) {
            (AggKind::Avg, State::Empty | State::Moments { .. }) => {
                let (mut mean, mut spread) = match self.state {
                    State::Moments { mean, spread } => (mean, spread),
                    _ => (0.0, 0.0),
                };
                let before = self.count;
                for v in values {
                    self.count += 1;
                    let off = v - mean;
                    mean += off / self.count as f64;
                    spread += off * (v - mean);
                }
                if self.count > before {
                    self.state = State::Moments { mean, spread };
                }
                Ok(())
            }
            (AggKind::Sum, State::Value(Value::Float(sum))) => {
                for v in values {
                    self.count += 1;
                    *sum += v;
                }
                Ok(())
            }
            _ => {
                for v in values {
                    self.add_count(1)?;
                    self.take(exec, kind, Value::Float(v))?;
                }
                Ok(())
            }
        }
    }

    /// Takes up whole numbers.
    pub(super) fn take_ints(
        &mut self,
        exec: &Exec<'_>,
        kind: AggKind,
        mut values: impl Iterator<Item = i64>,
    ) -> Res<()> {
        if kind == AggKind::Avg {
            return self.take_floats(exec, kind, values.map(|v| v as f64));
        }
        values.try_for_each(|v| {
            self.add_count(1)?;
            self.take(exec, kind, Value::Int(v))
        })
    }

    pub(super) fn add_count(&mut self, times: i64) -> Res<()> {
        let sum = self.count.checked_add(times);
        self.count =
            sum.ok_or_else(|| limit_error(format!("a group has more than {} rows", i64::MAX)))?;
        Ok(())
    }

    fn take(&mut self, exec: &Exec<'_>, kind: AggKind, value: Value) -> Res<()> {
        match (kind, &mut self.state) {
            (AggKind::CountRows | AggKind::Count, _) => {}
            (AggKind::Sum, State::Value(Value::Int(sum))) if matches!(value, Value::Int(_)) => {
                self.state =
                    State::Value(arith::binary(exec.view, Binary::Add, &Value::Int(*sum), &value)?);
            }
            (AggKind::Sum, _) | (AggKind::Avg, State::Value(_)) => self.add(exec, value)?,
            (AggKind::Avg, _) if matches!(value, Value::Duration(_)) => self.add(exec, value)?,
            (AggKind::Min, State::Value(old)) if order(&value, old).is_ge() => {}
            (AggKind::Max, State::Value(old)) if order(&value, old).is_le() => {}
            (AggKind::Min | AggKind::Max, state) => *state = State::Value(value),
            (AggKind::Collect, State::List(list)) => {
                exec.hold(list.len(), 1)?;
                list.push(value);
            }
            (AggKind::Collect, state) => *state = State::List(vec![value]),
            (AggKind::Avg | AggKind::StDev | AggKind::StDevP, state) => {
                let v = number(&value)?;
                let (mean, spread) = match state {
                    State::Moments { mean, spread } => (*mean, *spread),
                    _ => (0.0, 0.0),
                };
                let off = v - mean;
                let mean = mean + off / self.count as f64;
                *state = State::Moments { mean, spread: spread + off * (v - mean) };
            }
            (AggKind::PercentileCont | AggKind::PercentileDisc, State::Sample { list, .. }) => {
                number(&value)?;
                exec.hold(list.len(), 1)?;
                list.push(value);
            }
            (AggKind::PercentileCont | AggKind::PercentileDisc, _) => {}
        }
        Ok(())
    }

    fn add(&mut self, exec: &Exec<'_>, value: Value) -> Res<()> {
        if !matches!(value, Value::Int(_) | Value::Float(_) | Value::Duration(_)) {
            return Err(type_error(format!("{} cannot be added up", value.kind())));
        }
        self.state = State::Value(match &self.state {
            State::Value(old) => arith::binary(exec.view, Binary::Add, old, &value)?,
            _ => value,
        });
        Ok(())
    }

    /// Takes up the state of the same group of another part.
    pub(super) fn merge(&mut self, exec: &Exec<'_>, agg: &Agg, more: Self) -> Res<()> {
        let (n, m) = (self.count, more.count);
        self.count += m;
        match (agg.kind, more.state) {
            (_, State::Empty) => {}
            (AggKind::Sum | AggKind::Avg, State::Value(v)) => self.add(exec, v)?,
            (kind, State::Value(v)) => self.take(exec, kind, v)?,
            (_, State::Moments { mean: b, spread: s }) => {
                let (mean, spread) = match &self.state {
                    State::Moments { mean, spread } => (*mean, *spread),
                    _ => (0.0, 0.0),
                };
                let (n, m) = (n as f64, m as f64);
                let off = b - mean;
                let all = (n + m).max(1.0);
                let spread = spread + s + off * off * n * m / all;
                self.state = State::Moments { mean: mean + off * m / all, spread };
            }
            (_, State::List(more)) => {
                exec.hold(0, more.len())?;
                match &mut self.state {
                    State::List(list) => list.extend(more),
                    state => *state = State::List(more),
                }
            }
            (_, State::Sample { list: more, at }) => {
                exec.hold(0, more.len())?;
                match &mut self.state {
                    State::Sample { list, .. } => list.extend(more),
                    state => *state = State::Sample { list: more, at },
                }
            }
        }
        Ok(())
    }

    /// The result.
    pub(super) fn result(&self, agg: &Agg) -> Res<Value> {
        let count = self.count as f64;
        Ok(match (agg.kind, &self.state) {
            (AggKind::CountRows | AggKind::Count, _) => Value::Int(self.count),
            (AggKind::Avg, State::Value(Value::Duration(d))) => {
                d.divided(count).map_or(Value::Null, |d| Value::Duration(d.into()))
            }
            (AggKind::Avg, State::Moments { mean, .. }) => Value::Float(*mean),
            (_, State::Value(v)) => v.clone(),
            (AggKind::Sum, _) => Value::Int(0),
            (AggKind::Collect, State::List(list)) => {
                super::eval::bounded(Value::list(list.clone()))?
            }
            (AggKind::Collect, _) => Value::list(Vec::new()),
            (AggKind::StDev, State::Moments { spread, .. }) if self.count > 1 => {
                Value::Float((spread / (count - 1.0)).sqrt())
            }
            (AggKind::StDevP, State::Moments { spread, .. }) => {
                Value::Float((spread / count).sqrt())
            }
            (AggKind::StDev | AggKind::StDevP, _) => Value::Float(0.0),
            (kind, State::Sample { list, at }) => percentile(kind, list, *at),
            _ => Value::Null,
        })
    }
}

fn percentile(kind: AggKind, list: &[Value], at: f64) -> Value {
    let mut list = list.to_vec();
    list.sort_by(order);
    let Some(last) = list.len().checked_sub(1) else { return Value::Null };
    if kind == AggKind::PercentileDisc {
        let rank = (at * list.len() as f64).ceil() as usize;
        return list.get(rank.saturating_sub(1).min(last)).cloned().unwrap_or_default();
    }
    let place = at * last as f64;
    let number = |i: usize| list.get(i.min(last)).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let (low, high) = (number(place.floor() as usize), number(place.ceil() as usize));
    Value::Float(low + (high - low) * place.fract())
}

fn number(value: &Value) -> Res<f64> {
    value.as_f64().ok_or_else(|| type_error(format!("a number is needed, not {}", value.kind())))
}
