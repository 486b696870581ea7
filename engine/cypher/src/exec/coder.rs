//! Numbers for the values of the keys of groups, and the groups behind them.

use std::collections::HashMap;

use arrow_array::Array;
use graphlume_graph::canon::Column;

use super::Exec;
use super::hash::Keyed;
use super::numbers::Numbers;
use crate::error::Res;
use crate::plan::{Ex, Slot};
use crate::tuning::tuning;
use crate::value::{Key, Value};

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
                Value::Node(v) if self.rows > tuning().rows_before_memo => Some(self.number(*v)),
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
        if self.rows <= tuning().rows_before_memo || self.rows < cells.column().len() / COLUMN_PART
        {
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
