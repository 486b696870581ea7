//! From a plan to the two tables.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, RecordBatch, RecordBatchOptions, UInt32Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use graphlume_types::limits::ROWS_MAX;
use rayon::prelude::*;

use super::encode::{Codes, NULL};
use super::plan::{EdgeColumn, Join, NodeColumn, Plan};
use super::render::{Texts, texts};
use super::{Hypergraph, HypergraphCx, HypergraphError};
use crate::Table;

/// A column of the table whose values are numbered.
struct Numbered {
    codes: Codes,
    /// The text of each code; empty for columns that are only repeated.
    texts: Option<Texts>,
}

/// A node that stands for a value.
#[derive(Clone, Copy)]
struct Value {
    column: usize,
    /// [`NULL`] for the null.
    code: u32,
}

/// The nodes of values, and how cells find them.
struct Values {
    /// Those of the entity columns, which have a row in the nodes, then those that only edges mention.
    list: Vec<Value>,
    in_nodes: usize,
    ids: ArrayRef,
    /// By column: code to value.
    of_code: Vec<Vec<u32>>,
    /// By column: the value of the null.
    of_null: Vec<u32>,
}

/// The rows' names.
struct Events {
    /// Distinct ids.
    ids: ArrayRef,
    /// Row to id.
    of_row: Vec<u32>,
}

/// All that the two tables are made from.
struct Parts<'a> {
    table: &'a Table,
    plan: &'a Plan<'a>,
    numbered: Vec<Option<Numbered>>,
    values: Values,
    events: Events,
    /// Edges per join.
    counts: Vec<usize>,
    cx: HypergraphCx<'a>,
}

pub(super) fn run(
    table: &Table,
    plan: &Plan<'_>,
    cx: HypergraphCx<'_>,
) -> Result<Hypergraph, HypergraphError> {
    let rows = table.num_rows();
    let numbered = number(table, plan, cx)?;
    let counts = count_edges(table, plan, &numbered, cx)?;
    cx.cancel.check()?;
    let values = list_values(table, plan, &numbered)?;
    let events_as_nodes = if plan.options.direct { 0 } else { rows };
    check_rows("nodes", (values.list.len() + events_as_nodes) as u64)?;
    let events = name_events(plan, &numbered, rows, cx)?;
    cx.cancel.check()?;
    let parts = Parts { table, plan, numbered, values, events, counts, cx };
    let (edges, nodes) = rayon::join(|| parts.edges(), || parts.nodes());
    Ok(Hypergraph { edges: edges?, nodes: nodes?, warnings: plan.warnings.clone() })
}

fn check_rows(part: &'static str, rows: u64) -> Result<(), HypergraphError> {
    if rows > ROWS_MAX { Err(HypergraphError::TooManyRows { part, rows }) } else { Ok(()) }
}

/// Numbers the columns that become nodes, that name the rows, or that hold text to repeat.
fn number(
    table: &Table,
    plan: &Plan<'_>,
    cx: HypergraphCx<'_>,
) -> Result<Vec<Option<Numbered>>, HypergraphError> {
    let mut shown: HashSet<usize> = plan.entities.iter().copied().chain(plan.event).collect();
    shown.extend(plan.joins.iter().flat_map(|j| [Some(j.left), j.right]).flatten());
    let columns = table.batch().columns();
    let one = |i: usize| -> Result<Option<Numbered>, HypergraphError> {
        let array = &columns[i];
        let is_shown = shown.contains(&i);
        if !is_shown && !is_plain_text(array.data_type()) {
            return Ok(None);
        }
        cx.cancel.check()?;
        let codes = Codes::new(array, cx.cancel)?;
        let texts = is_shown.then(|| texts(array, &codes.first_row)).transpose()?;
        Ok(Some(Numbered { codes, texts }))
    };
    (0..columns.len()).into_par_iter().map(one).collect()
}

fn is_plain_text(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn of(numbered: &[Option<Numbered>], column: usize) -> Result<&Numbered, HypergraphError> {
    numbered
        .get(column)
        .and_then(Option::as_ref)
        .ok_or_else(|| HypergraphError::Internal(format!("column {column} was not numbered")))
}

/// How many edges each join gives; nothing is allocated for them before all together are known to fit.
fn count_edges(
    table: &Table,
    plan: &Plan<'_>,
    numbered: &[Option<Numbered>],
    cx: HypergraphCx<'_>,
) -> Result<Vec<usize>, HypergraphError> {
    let rows = table.num_rows();
    let there: Vec<Option<BooleanBuffer>> = numbered
        .iter()
        .map(|n| {
            let codes = &n.as_ref().filter(|_| plan.options.drop_na)?.codes;
            codes.first_null?;
            let mut bits = BooleanBufferBuilder::new(rows);
            codes.of_row.iter().for_each(|c| bits.append(*c != NULL));
            Some(bits.finish())
        })
        .collect();
    let mut total = 0u64;
    let mut counts = Vec::with_capacity(plan.joins.len());
    for (i, join) in plan.joins.iter().enumerate() {
        if i % 256 == 0 {
            cx.cancel.check()?;
        }
        let right = join.right.and_then(|r| there[r].as_ref());
        let count = match (there[join.left].as_ref(), right) {
            (None, None) => rows,
            (Some(one), None) | (None, Some(one)) => one.count_set_bits(),
            (Some(left), Some(right)) => (left & right).count_set_bits(),
        };
        total += count as u64;
        check_rows("edges", total)?;
        counts.push(count);
    }
    Ok(counts)
}

/// Lists the values by column and first appearance. Of equal ids the first stands for all.
fn list_values(
    table: &Table,
    plan: &Plan<'_>,
    numbered: &[Option<Numbered>],
) -> Result<Values, HypergraphError> {
    let mut columns = plan.entities.clone();
    let in_nodes = columns.len();
    for column in plan.joins.iter().flat_map(|j| [Some(j.left), j.right]).flatten() {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let prefixes: Vec<String> = columns.iter().map(|c| plan.prefix(*c)).collect();
    let mut list = Vec::new();
    let mut ids = Texts::with_capacity(0);
    let mut of_code = vec![Vec::new(); numbered.len()];
    let mut of_null = vec![NULL; numbered.len()];
    let mut listed_in_nodes = 0;
    // Two columns can give the same id only when one prefix begins the other.
    let may_meet = |i: usize| {
        prefixes.iter().enumerate().any(|(j, other)| {
            i != j && (other.starts_with(&prefixes[i]) || prefixes[i].starts_with(other.as_str()))
        })
    };
    let mut known = HashMap::<String, u32>::new();
    for (i, column) in columns.iter().copied().enumerate() {
        if i == in_nodes {
            listed_in_nodes = list.len();
        }
        let Numbered { codes, texts: Some(texts) } = of(numbered, column)? else {
            return Err(HypergraphError::Internal("a column of nodes has no texts".to_owned()));
        };
        let null = codes.null_place().filter(|_| !plan.options.drop_na);
        // A text may also be shared by values that differ: a missing one and the text `null`.
        let exact = has_exact_text(table.batch().column(column).data_type());
        let meets = may_meet(i) || null.is_some() || !exact;
        let mut add = |code: u32, text: &str| -> u32 {
            let next = list.len() as u32;
            if meets {
                let id = format!("{}{text}", prefixes[i]);
                if let Some(first) = known.get(&id) {
                    return *first;
                }
                ids.push(&[&id]);
                known.insert(id, next);
            } else {
                ids.push(&[&prefixes[i], text]);
            }
            list.push(Value { column, code });
            next
        };
        let mut values = Vec::with_capacity(codes.len());
        for code in 0..=codes.len() {
            if null == Some(code) {
                of_null[column] = add(NULL, &plan.options.null_text);
            }
            if code < codes.len() {
                values.push(add(code as u32, texts.get(code)));
            }
        }
        of_code[column] = values;
    }
    if columns.len() == in_nodes {
        listed_in_nodes = list.len();
    }
    Ok(Values { list, in_nodes: listed_in_nodes, ids: ids.into_array()?, of_code, of_null })
}

/// Whether different values of a column always have different texts.
fn has_exact_text(dtype: &DataType) -> bool {
    match dtype {
        DataType::Dictionary(_, values) => has_exact_text(values),
        DataType::RunEndEncoded(_, values) => has_exact_text(values.data_type()),
        DataType::Boolean | DataType::Date32 | DataType::Timestamp(..) => true,
        other => is_plain_text(other) || other.is_integer() || other.is_floating(),
    }
}

/// Names the rows: by the column that does, else by their numbers.
fn name_events(
    plan: &Plan<'_>,
    numbered: &[Option<Numbered>],
    rows: usize,
    cx: HypergraphCx<'_>,
) -> Result<Events, HypergraphError> {
    let prefix = format!("{}{}", plan.options.names.event_id, plan.options.delim);
    let Some(column) = plan.event else {
        let mut ids = Texts::with_capacity(rows);
        for row in 0..rows as u64 {
            ids.push(&[&prefix, &(cx.first_event + row).to_string()]);
        }
        return Ok(Events { ids: ids.into_array()?, of_row: (0..rows as u32).collect() });
    };
    let Numbered { codes, texts: Some(texts) } = of(numbered, column)? else {
        return Err(HypergraphError::Internal("the column of rows has no texts".to_owned()));
    };
    let mut ids = Texts::with_capacity(codes.len() + 1);
    (0..codes.len()).for_each(|code| ids.push(&[&prefix, texts.get(code)]));
    let mut null = codes.len() as u32;
    if codes.first_null.is_some() {
        // The text may be a value of the column, too.
        let same = (0..codes.len()).find(|c| texts.get(*c) == plan.options.null_text);
        match same {
            Some(code) => null = code as u32,
            None => ids.push(&[&prefix, &plan.options.null_text]),
        }
    }
    let of_row = codes.of_row.iter().map(|c| if *c == NULL { null } else { *c }).collect();
    Ok(Events { ids: ids.into_array()?, of_row })
}

/// A column of few texts: `text(i)` fills `counts[i]` rows.
fn runs(counts: &[usize], text: impl Fn(usize) -> String) -> Result<ArrayRef, HypergraphError> {
    let mut distinct = Texts::with_capacity(counts.len());
    let mut known = HashMap::new();
    let mut keys = Vec::with_capacity(counts.iter().sum());
    for (i, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let text = text(i);
        let next = distinct.len() as u32;
        let key = *known.entry(text).or_insert_with_key(|text: &String| {
            distinct.push(&[text]);
            next
        });
        keys.resize(keys.len() + count, key);
    }
    dictionary(keys, None, distinct.into_array()?)
}

/// A column that refers to `values` by number.
fn dictionary(
    keys: Vec<u32>,
    nulls: Option<NullBuffer>,
    values: ArrayRef,
) -> Result<ArrayRef, HypergraphError> {
    let keys = UInt32Array::try_new(ScalarBuffer::from(keys), nulls)?;
    Ok(Arc::new(DictionaryArray::<UInt32Type>::try_new(keys, values)?))
}

/// [`dictionary`] where [`NULL`] is a null.
fn dictionary_of_codes(codes: Vec<u32>, values: ArrayRef) -> Result<ArrayRef, HypergraphError> {
    let nulls = codes.par_iter().any(|c| *c == NULL).then(|| {
        let mut bits = BooleanBufferBuilder::new(codes.len());
        codes.iter().for_each(|c| bits.append(*c != NULL));
        NullBuffer::new(bits.finish())
    });
    let codes = match &nulls {
        None => codes,
        Some(_) => codes.into_par_iter().map(|c| if c == NULL { 0 } else { c }).collect(),
    };
    dictionary(codes, nulls, values)
}

/// The distinct values of a text column in the order of their codes.
fn distinct_values(array: &ArrayRef, codes: &Codes) -> Result<ArrayRef, HypergraphError> {
    take(array, &UInt32Array::from(codes.first_row.clone()))
}

/// Arrow's `take`, with what it makes of columns beyond 32-bit offsets as an error.
fn take(array: &ArrayRef, indices: &UInt32Array) -> Result<ArrayRef, HypergraphError> {
    match catch_unwind(AssertUnwindSafe(|| arrow_select::take::take(array, indices, None))) {
        Ok(done) => Ok(done?),
        Err(_) => Err(HypergraphError::Internal("a column of the result is too long".to_owned())),
    }
}

impl Parts<'_> {
    fn codes(&self, column: usize) -> Result<&Codes, HypergraphError> {
        Ok(&of(&self.numbered, column)?.codes)
    }

    /// The rows of each join below each other.
    fn edge_rows(&self) -> Result<Vec<u32>, HypergraphError> {
        let rows = self.table.num_rows();
        let mut out = Vec::with_capacity(self.counts.iter().sum());
        for (Join { left, right }, count) in self.plan.joins.iter().zip(&self.counts) {
            self.cx.cancel.check()?;
            if *count == rows {
                out.extend(0..rows as u32);
                continue;
            }
            let left = &self.codes(*left)?.of_row;
            match right {
                None => out.extend((0..rows as u32).filter(|r| left[*r as usize] != NULL)),
                Some(right) => {
                    let right = &self.codes(*right)?.of_row;
                    let both = |r: &u32| left[*r as usize] != NULL && right[*r as usize] != NULL;
                    out.extend((0..rows as u32).filter(both));
                }
            }
        }
        Ok(out)
    }

    fn edges(&self) -> Result<Table, HypergraphError> {
        let rows = UInt32Array::from(self.edge_rows()?);
        let layout = self.plan.edge_layout();
        let one = |column: &EdgeColumn| self.edge_column(*column, &rows);
        let arrays: Vec<ArrayRef> = layout.par_iter().map(one).collect::<Result<_, _>>()?;
        assemble(layout.iter().map(|c| self.plan.edge_name(*c)), arrays, rows.len())
    }

    fn edge_column(
        &self,
        column: EdgeColumn,
        rows: &UInt32Array,
    ) -> Result<ArrayRef, HypergraphError> {
        self.cx.cancel.check()?;
        let name = |c: usize| self.plan.columns[c];
        let category = |c: usize| self.plan.options.category_of(name(c));
        let both = |join: &Join, text: &dyn Fn(usize) -> String| match join.right {
            None => text(join.left),
            Some(right) => {
                format!("{}{}{}", text(join.left), self.plan.options.delim, text(right))
            }
        };
        match column {
            EdgeColumn::Left => self.ends(rows, |j| j.left),
            EdgeColumn::Right => self.ends(rows, |j| j.right.unwrap_or(j.left)),
            EdgeColumn::Event => {
                let of_row = &self.events.of_row;
                let keys = rows.values().par_iter().map(|r| of_row[*r as usize]).collect();
                dictionary(keys, None, Arc::clone(&self.events.ids))
            }
            EdgeColumn::Kind => {
                runs(&self.counts, |i| both(&self.plan.joins[i], &|c| category(c).to_owned()))
            }
            EdgeColumn::Category => {
                runs(&self.counts, |i| both(&self.plan.joins[i], &|c| name(c).to_owned()))
            }
            EdgeColumn::Attribute(i) => {
                let array = self.table.batch().column(i);
                if !is_plain_text(array.data_type()) {
                    return take(array, rows);
                }
                let codes = self.codes(i)?;
                let keys = rows.values().par_iter().map(|r| codes.of_row[*r as usize]).collect();
                dictionary_of_codes(keys, distinct_values(array, codes)?)
            }
        }
    }

    /// The nodes of one side of the edges, join after join.
    fn ends(
        &self,
        rows: &UInt32Array,
        column_of: impl Fn(&Join) -> usize,
    ) -> Result<ArrayRef, HypergraphError> {
        let mut keys = Vec::with_capacity(rows.len());
        let mut at = 0;
        for (join, count) in self.plan.joins.iter().zip(&self.counts) {
            self.cx.cancel.check()?;
            let column = column_of(join);
            let codes = &self.codes(column)?.of_row;
            let (of_code, null) = (&self.values.of_code[column], self.values.of_null[column]);
            let node = |row: &u32| match codes[*row as usize] {
                NULL => null,
                code => of_code[code as usize],
            };
            keys.extend(rows.values()[at..at + count].iter().map(node));
            at += count;
        }
        dictionary(keys, None, Arc::clone(&self.values.ids))
    }

    /// The nodes of values.
    fn listed(&self) -> &[Value] {
        &self.values.list[..self.values.in_nodes]
    }

    /// Rows that are nodes.
    fn num_events(&self) -> usize {
        if self.plan.options.direct { 0 } else { self.table.num_rows() }
    }

    fn nodes(&self) -> Result<Table, HypergraphError> {
        let total = self.listed().len() + self.num_events();
        let layout = self.plan.node_layout();
        let one = |column: &NodeColumn| self.node_column(*column);
        let arrays: Vec<ArrayRef> = layout.par_iter().map(one).collect::<Result<_, _>>()?;
        assemble(layout.iter().map(|c| self.plan.node_name(*c)), arrays, total)
    }

    fn node_column(&self, column: NodeColumn) -> Result<ArrayRef, HypergraphError> {
        self.cx.cancel.check()?;
        let (plan, options) = (self.plan, self.plan.options);
        match column {
            NodeColumn::Id => {
                let listed = self.values.ids.slice(0, self.values.in_nodes);
                self.with_events(listed)
            }
            NodeColumn::Title => {
                let mut titles = Texts::with_capacity(self.listed().len());
                for value in self.listed() {
                    let texts = of(&self.numbered, value.column)?.texts.as_ref();
                    titles.push(&[match texts.filter(|_| value.code != NULL) {
                        Some(texts) => texts.get(value.code as usize),
                        None => &options.null_text,
                    }]);
                }
                self.with_events(titles.into_array()?)
            }
            NodeColumn::Kind => self.by_column(|c| plan.columns[c], &options.names.event_id),
            NodeColumn::Category => {
                self.by_column(|c| options.category_of(plan.columns[c]), &options.event_type)
            }
            NodeColumn::Event => {
                let mut keys = vec![NULL; self.listed().len()];
                keys.extend(self.events.of_row.iter().take(self.num_events()));
                dictionary_of_codes(keys, Arc::clone(&self.events.ids))
            }
            NodeColumn::Attribute(i) => self.attribute(i),
        }
    }

    /// A text of each value, and then the names of the rows that are nodes.
    fn with_events(&self, values: ArrayRef) -> Result<ArrayRef, HypergraphError> {
        if self.num_events() == 0 {
            return Ok(values);
        }
        let of_row = UInt32Array::from(self.events.of_row.clone());
        let mut parts = [values, take(&self.events.ids, &of_row)?];
        let bytes: usize = parts.iter().map(|p| p.get_buffer_memory_size()).sum();
        if i32::try_from(bytes).is_err() {
            for part in &mut parts {
                *part = cast(part, &DataType::LargeUtf8)?;
            }
        }
        let [values, events] = &parts;
        Ok(arrow_select::concat::concat(&[values.as_ref(), events.as_ref()])?)
    }

    /// A text that depends on the column of a value alone.
    fn by_column<'b>(
        &'b self,
        text: impl Fn(usize) -> &'b str,
        event: &'b str,
    ) -> Result<ArrayRef, HypergraphError> {
        let mut distinct = Texts::with_capacity(self.plan.entities.len() + 1);
        let mut known = HashMap::new();
        let mut key = |text: &'b str| {
            let next = distinct.len() as u32;
            *known.entry(text).or_insert_with(|| {
                distinct.push(&[text]);
                next
            })
        };
        let mut of_column = vec![0; self.table.num_cols()];
        for column in &self.plan.entities {
            of_column[*column] = key(text(*column));
        }
        let mut keys: Vec<u32> = self.listed().iter().map(|v| of_column[v.column]).collect();
        if self.num_events() > 0 {
            keys.resize(keys.len() + self.num_events(), key(event));
        }
        dictionary(keys, None, distinct.into_array()?)
    }

    /// A column of the table in the nodes: values have what they are made of, rows have all. Where a
    /// value has nothing there is a null; columns of integers and truths that know no null stay so, and
    /// have 0 and true there, as a data frame of fixed types would.
    fn attribute(&self, column: usize) -> Result<ArrayRef, HypergraphError> {
        let array = self.table.batch().column(column);
        let (listed, rows) = (self.listed(), self.num_events());
        if is_plain_text(array.data_type()) {
            let codes = self.codes(column)?;
            let own = |v: &Value| if v.column == column { v.code } else { NULL };
            let of_rows = codes.of_row.iter().copied().take(rows);
            let keys = listed.iter().map(own).chain(of_rows).collect();
            return dictionary_of_codes(keys, distinct_values(array, codes)?);
        }
        let filler = filler(array)?;
        let (source, fill) = match &filler {
            Some(one) => {
                let joined = arrow_select::concat::concat(&[array.as_ref(), one.as_ref()])?;
                (joined, Some(array.len() as u32))
            }
            None => (Arc::clone(array), None),
        };
        let first_row = self.numbered[column].as_ref().map(|n| &n.codes.first_row);
        let own = |v: &Value| {
            let rows = first_row.filter(|_| v.column == column && v.code != NULL);
            rows.map(|rows| rows[v.code as usize]).or(fill)
        };
        let indices: UInt32Array =
            listed.iter().map(own).chain((0..rows as u32).map(Some)).collect();
        take(&source, &indices)
    }
}

fn filler(array: &ArrayRef) -> Result<Option<ArrayRef>, HypergraphError> {
    let dtype = array.data_type();
    if array.null_count() > 0 {
        return Ok(None);
    }
    Ok(match dtype {
        DataType::Boolean => Some(Arc::new(BooleanArray::from(vec![true]))),
        t if t.is_integer() => Some(cast(&UInt32Array::from(vec![0]), t)?),
        _ => None,
    })
}

fn assemble<'a>(
    names: impl Iterator<Item = &'a str>,
    arrays: Vec<ArrayRef>,
    rows: usize,
) -> Result<Table, HypergraphError> {
    let fields: Vec<Field> =
        names.zip(&arrays).map(|(name, a)| Field::new(name, a.data_type().clone(), true)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = Arc::new(Schema::new(fields));
    Ok(Table::try_new(RecordBatch::try_new_with_options(schema, arrays, &options)?)?)
}
