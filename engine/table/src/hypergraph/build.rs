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

mod tables;

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
