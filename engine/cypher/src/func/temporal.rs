//! Functions of time.

use std::sync::Arc;

use graphlume_expr::Scalar;

use super::{Function, arg, wrong};
use crate::error::Res;
use crate::graph_view::GraphView;
use crate::types::Ty;
use crate::value::Value;
use crate::value::temporal::{self, Sort, Unit, construct, duration_of, duration_of_map, truncate};

macro_rules! make {
    ($name:literal, $sort:expr) => {
        Function {
            name: $name,
            min: 0,
            max: 1,
            args: MADE_OF,
            result: Ty::TEMPORAL,
            run: |view, args| construct($sort, args.first(), view.now),
        }
    };
}
macro_rules! cut {
    ($name:literal, $sort:expr) => {
        Function {
            name: $name,
            min: 1,
            max: 3,
            args: &[Ty::TEXT, Ty::TEMPORAL, Ty::MAP],
            result: Ty::TEMPORAL,
            run: |view, args| cut($name, $sort, view, args),
        }
    };
}
macro_rules! now {
    ($name:literal, $sort:expr) => {
        Function {
            name: $name,
            min: 0,
            max: 1,
            args: &[Ty::TEXT],
            result: Ty::TEMPORAL,
            run: |view, args| match args {
                [Value::Scalar(Scalar::Null)] => Ok(Value::NULL),
                _ => construct($sort, None, view.now),
            },
        }
    };
}
macro_rules! between {
    ($name:literal, $unit:expr) => {
        Function {
            name: $name,
            min: 2,
            max: 2,
            args: &[Ty::TEMPORAL],
            result: Ty::DURATION,
            run: |_, args| match (arg(args, 0), arg(args, 1)) {
                (Value::Scalar(Scalar::Null), _) | (_, Value::Scalar(Scalar::Null)) => {
                    Ok(Value::NULL)
                }
                (Value::Scalar(Scalar::Temporal(a)), Value::Scalar(Scalar::Temporal(b))) => {
                    Ok(Value::Duration(Arc::new(temporal::between(a, b, $unit)?)))
                }
                (Value::Scalar(Scalar::Temporal(_)), other) | (other, _) => {
                    Err(wrong($name, "points in time", other))
                }
            },
        }
    };
}

const MADE_OF: &[Ty] = &[Ty::TEXT.or(Ty::MAP).or(Ty::TEMPORAL)];

pub(super) const TABLE: &[Function] = &[
    make!("date", Sort::Date),
    make!("localtime", Sort::LocalTime),
    make!("time", Sort::Time),
    make!("localdatetime", Sort::LocalDateTime),
    make!("datetime", Sort::DateTime),
    now!("date.transaction", Sort::Date),
    now!("date.statement", Sort::Date),
    now!("date.realtime", Sort::Date),
    now!("localtime.transaction", Sort::LocalTime),
    now!("localtime.statement", Sort::LocalTime),
    now!("localtime.realtime", Sort::LocalTime),
    now!("time.transaction", Sort::Time),
    now!("time.statement", Sort::Time),
    now!("time.realtime", Sort::Time),
    now!("localdatetime.transaction", Sort::LocalDateTime),
    now!("localdatetime.statement", Sort::LocalDateTime),
    now!("localdatetime.realtime", Sort::LocalDateTime),
    now!("datetime.transaction", Sort::DateTime),
    now!("datetime.statement", Sort::DateTime),
    now!("datetime.realtime", Sort::DateTime),
    cut!("date.truncate", Sort::Date),
    cut!("localtime.truncate", Sort::LocalTime),
    cut!("time.truncate", Sort::Time),
    cut!("localdatetime.truncate", Sort::LocalDateTime),
    cut!("datetime.truncate", Sort::DateTime),
    between!("duration.between", Unit::All),
    between!("duration.inMonths", Unit::Months),
    between!("duration.inDays", Unit::Days),
    between!("duration.inSeconds", Unit::Seconds),
    Function {
        name: "duration",
        min: 1,
        max: 1,
        args: &[Ty::TEXT.or(Ty::MAP).or(Ty::DURATION)],
        result: Ty::DURATION,
        run: |_, args| {
            let made = match arg(args, 0) {
                Value::Scalar(Scalar::Null) => return Ok(Value::NULL),
                Value::Scalar(Scalar::Text(text)) => duration_of(text)?,
                Value::Map(map) => duration_of_map(map)?,
                Value::Duration(d) => return Ok(Value::Duration(Arc::clone(d))),
                other => return Err(wrong("duration", "a map or a text", other)),
            };
            Ok(Value::Duration(Arc::new(made)))
        },
    },
    Function {
        name: "datetime.fromepoch",
        min: 2,
        max: 2,
        args: &[Ty::INT],
        result: Ty::TEMPORAL,
        run: |_, args| match (arg(args, 0), arg(args, 1)) {
            (Value::Scalar(Scalar::Null), _) | (_, Value::Scalar(Scalar::Null)) => Ok(Value::NULL),
            (Value::Scalar(Scalar::Int(s)), Value::Scalar(Scalar::Int(ns))) => {
                temporal::from_epoch(*s, *ns)
            }
            (Value::Scalar(Scalar::Int(_)), other) | (other, _) => {
                Err(wrong("datetime.fromepoch", "integers", other))
            }
        },
    },
    Function {
        name: "datetime.fromepochmillis",
        min: 1,
        max: 1,
        args: &[Ty::INT],
        result: Ty::TEMPORAL,
        run: |_, args| match arg(args, 0) {
            Value::Scalar(Scalar::Null) => Ok(Value::NULL),
            Value::Scalar(Scalar::Int(ms)) => {
                temporal::from_epoch(ms.div_euclid(1000), ms.rem_euclid(1000) * 1_000_000)
            }
            other => Err(wrong("datetime.fromepochmillis", "an integer", other)),
        },
    },
    Function {
        name: "timestamp",
        min: 0,
        max: 0,
        args: &[],
        result: Ty::INT,
        run: |view, _| {
            let (seconds, nanos) = view.now;
            Ok(Value::int(seconds.saturating_mul(1000) + i64::from(nanos / 1_000_000)))
        },
    },
];

fn cut(name: &str, sort: Sort, view: &GraphView, args: &[Value]) -> Res<Value> {
    let unit = match arg(args, 0) {
        Value::Scalar(Scalar::Null) => return Ok(Value::NULL),
        Value::Scalar(Scalar::Text(unit)) => unit,
        other => return Err(wrong(name, "the name of a unit", other)),
    };
    let map = match arg(args, 2) {
        Value::Scalar(Scalar::Null) => None,
        Value::Map(map) => Some(&***map),
        other => return Err(wrong(name, "a map as third argument", other)),
    };
    let now = if args.len() < 2 { Some(construct(sort, None, view.now)?) } else { None };
    match now.as_ref().unwrap_or(arg(args, 1)) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Scalar(Scalar::Temporal(t)) => truncate(sort, unit, t, map),
        other => Err(wrong(name, "a point in time", other)),
    }
}
