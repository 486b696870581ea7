//! Set-ups as tables: one column for each property, a union where the kinds differ.

use std::sync::Arc;

use arrow_array::types::{IntervalMonthDayNanoType, TimestampNanosecondType};
use arrow_array::*;
use arrow_buffer::{IntervalMonthDayNano, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, UnionFields};
use graphlume_cypher::testkit::{Props, Setup};
use graphlume_cypher::{Temporal, Value};
use graphlume_expr::Scalar;
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::Table;

/// Source, destination, type and properties.
type Edge = (u32, u32, String, Props);

/// The graph of a set-up; `None` when a value has no column type.
pub fn graph(setup: &Setup) -> Option<PropertyGraph> {
    // A property called `id` must not be taken for the id column.
    let id = "tck_nid";
    let names = (0..setup.nodes.len()).map(|i| Some(format!("__n{i}")));
    let mut nodes: Vec<(String, ArrayRef)> =
        vec![(id.to_owned(), Arc::new(names.collect::<StringArray>()))];
    let lists = setup
        .nodes
        .iter()
        .map(|(labels, _)| Value::list(labels.iter().map(|l| Value::text(l.as_str())).collect()));
    let lists: Vec<Value> = lists.collect();
    nodes.push(("labels".to_owned(), column(&lists)?));
    let mut labels: Vec<&String> = setup.nodes.iter().flat_map(|(l, _)| l).collect();
    labels.sort();
    labels.dedup();
    for label in labels {
        let has = setup.nodes.iter().map(|(l, _)| Some(l.contains(label)));
        nodes.push((format!("label__{label}"), Arc::new(has.collect::<BooleanArray>())));
    }
    properties(&mut nodes, setup.nodes.iter().map(|(_, p)| p))?;
    let end = |v: u32| Some(format!("__n{v}"));
    let of = |f: &dyn Fn(&Edge) -> Option<String>| -> ArrayRef {
        Arc::new(setup.edges.iter().map(f).collect::<StringArray>())
    };
    let numbers = (0..setup.edges.len()).map(|i| Some(format!("__e{i}")));
    let mut edges: Vec<(String, ArrayRef)> = vec![
        ("src".to_owned(), of(&|e| end(e.0))),
        ("dst".to_owned(), of(&|e| end(e.1))),
        ("edge_id".to_owned(), Arc::new(numbers.collect::<StringArray>())),
        ("type".to_owned(), of(&|e| Some(e.2.clone()))),
    ];
    properties(&mut edges, setup.edges.iter().map(|(_, _, _, p)| p))?;
    let table = |columns: Vec<(String, ArrayRef)>| {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(n, a)| (n, a, true)),
        );
        Table::try_new(batch.unwrap()).unwrap()
    };
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name(id), source: name("src"), destination: name("dst") };
    Some(PropertyGraph::new(Some(table(nodes)), Some(table(edges)), bindings).unwrap())
}

fn properties<'p>(
    into: &mut Vec<(String, ArrayRef)>,
    rows: impl Iterator<Item = &'p Props> + Clone,
) -> Option<()> {
    let mut keys: Vec<&String> = Vec::new();
    for (key, _) in rows.clone().flatten() {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    for key in keys {
        let value =
            |p: &Props| p.iter().find(|(k, _)| k == key).map_or(Value::NULL, |(_, v)| v.clone());
        let values: Vec<Value> = rows.clone().map(value).collect();
        into.push((key.clone(), column(&values)?));
    }
    Some(())
}

/// What tells column types apart.
fn kind(v: &Value) -> Option<String> {
    Some(match v {
        Value::Scalar(Scalar::Null) => "null".to_owned(),
        Value::Scalar(Scalar::Bool(_)) => "bool".to_owned(),
        Value::Scalar(Scalar::Int(_)) => "int".to_owned(),
        Value::Scalar(Scalar::Float(_)) => "float".to_owned(),
        Value::Scalar(Scalar::Text(_)) => "text".to_owned(),
        Value::List(_) => "list".to_owned(),
        Value::Duration(_) => "duration".to_owned(),
        Value::Scalar(Scalar::Temporal(t)) => match t {
            Temporal::Date(_) => "date".to_owned(),
            Temporal::LocalTime(_) => "clock".to_owned(),
            Temporal::LocalDateTime(..) => "local".to_owned(),
            Temporal::DateTime(z) => {
                let offset = || Temporal::Time(0, z.offset).to_string().replace("00:00", "");
                let fixed = |o: String| if o == "Z" { "+00:00".to_owned() } else { o };
                let named = z.zone.as_ref().map(ToString::to_string);
                format!("zoned {}", named.unwrap_or_else(|| fixed(offset())))
            }
            Temporal::Time(..) => return None,
        },
        _ => return None,
    })
}

fn column(values: &[Value]) -> Option<ArrayRef> {
    let mut kinds: Vec<String> = Vec::new();
    for v in values.iter().filter(|v| !v.is_null()) {
        let kind = kind(v)?;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    match kinds.as_slice() {
        [] => Some(Arc::new(NullArray::new(values.len()))),
        [one] => uniform(values, one),
        _ => union(values, &kinds),
    }
}

fn union(values: &[Value], kinds: &[String]) -> Option<ArrayRef> {
    let mut parts: Vec<Vec<Value>> = vec![Vec::new(); kinds.len()];
    let (mut ids, mut offsets) = (Vec::new(), Vec::new());
    for v in values {
        let at = kinds.iter().position(|k| Some(k) == kind(v).as_ref()).unwrap_or(0);
        ids.push(at as i8);
        offsets.push(parts[at].len() as i32);
        parts[at].push(v.clone());
    }
    let children: Option<Vec<ArrayRef>> =
        parts.iter().zip(kinds).map(|(p, k)| uniform(p, k)).collect();
    let children = children?;
    let fields: UnionFields = children
        .iter()
        .enumerate()
        .map(|(i, c)| (i as i8, Arc::new(Field::new(format!("f{i}"), c.data_type().clone(), true))))
        .collect();
    let (ids, offsets) = (ScalarBuffer::from(ids), ScalarBuffer::from(offsets));
    Some(Arc::new(UnionArray::try_new(fields, ids, Some(offsets), children).unwrap()))
}

fn uniform(values: &[Value], kind: &str) -> Option<ArrayRef> {
    macro_rules! each {
        ($pattern:pat => $value:expr) => {
            values.iter().map(|v| match v {
                $pattern => Some($value),
                _ => None,
            })
        };
    }
    // Nanoseconds of 64 bits reach from 1678 to 2261.
    let in_range = values.iter().all(|v| match v {
        Value::Scalar(Scalar::Temporal(Temporal::LocalDateTime(s, _))) => s.abs() < 9_000_000_000,
        Value::Scalar(Scalar::Temporal(Temporal::DateTime(z))) => z.seconds.abs() < 9_000_000_000,
        _ => true,
    });
    if !in_range {
        return None;
    }
    let nanos = |s: i64, n: u32| s * 1_000_000_000 + i64::from(n);
    Some(match kind {
        "bool" => Arc::new(each!(Value::Scalar(Scalar::Bool(v)) => *v).collect::<BooleanArray>()),
        "int" => Arc::new(each!(Value::Scalar(Scalar::Int(v)) => *v).collect::<Int64Array>()),
        "float" => Arc::new(each!(Value::Scalar(Scalar::Float(v)) => *v).collect::<Float64Array>()),
        "text" => Arc::new(
            each!(Value::Scalar(Scalar::Text(v)) => v.to_string()).collect::<StringArray>(),
        ),
        "date" => Arc::new(
            each!(Value::Scalar(Scalar::Temporal(Temporal::Date(d))) => *d as i32)
                .collect::<Date32Array>(),
        ),
        "clock" => Arc::new(
            each!(Value::Scalar(Scalar::Temporal(Temporal::LocalTime(t))) => *t)
                .collect::<Time64NanosecondArray>(),
        ),
        "local" => Arc::new(
            each!(Value::Scalar(Scalar::Temporal(Temporal::LocalDateTime(s, n))) => nanos(*s, *n))
                .collect::<TimestampNanosecondArray>(),
        ),
        "duration" => Arc::new(
            each!(Value::Duration(d) => IntervalMonthDayNano::new(
                d.months as i32,
                d.days as i32,
                d.seconds * 1_000_000_000 + i64::from(d.nanos),
            ))
            .collect::<PrimitiveArray<IntervalMonthDayNanoType>>(),
        ),
        "list" => {
            let mut items = Vec::new();
            let mut lengths = Vec::new();
            for v in values {
                let list: &[Value] = if let Value::List(list) = v { list } else { &[] };
                items.extend_from_slice(list);
                lengths.push(list.len());
            }
            let items = column(&items)?;
            let field = Arc::new(Field::new("item", items.data_type().clone(), true));
            let valid = NullBuffer::from_iter(values.iter().map(|v| !v.is_null()));
            let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
            Arc::new(ListArray::try_new(field, offsets, items, Some(valid)).unwrap())
        }
        zoned => {
            let zone = zoned.strip_prefix("zoned ")?;
            let moments = each!(Value::Scalar(Scalar::Temporal(Temporal::DateTime(z))) => nanos(z.seconds, z.nanos));
            let array = moments.collect::<PrimitiveArray<TimestampNanosecondType>>();
            let array = array.with_timezone(zone);
            debug_assert!(matches!(array.data_type(), DataType::Timestamp(..)));
            Arc::new(array)
        }
    })
}
