//! Functions of numbers.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};

use graphlume_expr::Scalar;
use graphlume_types::hash::mix64;

use super::{Function, arg, wrong};
use crate::error::{Res, value_error};
use crate::graph_view::GraphView;
use crate::types::Ty;
use crate::value::Value;

macro_rules! f {
    ($name:literal, $min:literal..=$max:literal, $args:expr, $result:expr, $run:expr) => {
        Function { name: $name, min: $min, max: $max, args: $args, result: $result, run: $run }
    };
}
macro_rules! real {
    ($name:literal, $op:expr) => {
        f!($name, 1..=1, NUMBER, Ty::FLOAT, |_, args| real($name, args, $op))
    };
}

const NUMBER: &[Ty] = &[Ty::NUMBER];

pub(super) const TABLE: &[Function] = &[
    f!("abs", 1..=1, NUMBER, Ty::NUMBER, |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Scalar(Scalar::Int(v)) => v
            .checked_abs()
            .map(Value::int)
            .ok_or_else(|| value_error("the absolute value does not fit into 64 bits")),
        Value::Scalar(Scalar::UInt(v)) => Ok(Value::uint(*v)),
        Value::Scalar(Scalar::Float(v)) => Ok(Value::float(v.abs())),
        other => Err(wrong("abs", "a number", other)),
    }),
    f!("sign", 1..=1, NUMBER, Ty::INT, |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Scalar(Scalar::Int(v)) => Ok(Value::int(v.signum())),
        Value::Scalar(Scalar::UInt(_)) => Ok(Value::int(1)),
        Value::Scalar(Scalar::Float(v)) if *v == 0.0 || v.is_nan() => Ok(Value::int(0)),
        Value::Scalar(Scalar::Float(v)) => Ok(Value::int(v.signum() as i64)),
        other => Err(wrong("sign", "a number", other)),
    }),
    f!("round", 1..=3, &[Ty::NUMBER, Ty::INT, Ty::TEXT], Ty::FLOAT, round),
    f!("isNaN", 1..=1, NUMBER, Ty::BOOL, |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Scalar(Scalar::Int(_) | Scalar::UInt(_)) => Ok(Value::bool(false)),
        Value::Scalar(Scalar::Float(v)) => Ok(Value::bool(v.is_nan())),
        other => Err(wrong("isNaN", "a number", other)),
    }),
    f!("rand", 0..=0, &[], Ty::FLOAT, |_, _| Ok(Value::float(random()))),
    f!("pi", 0..=0, &[], Ty::FLOAT, |_, _| Ok(Value::float(std::f64::consts::PI))),
    f!("e", 0..=0, &[], Ty::FLOAT, |_, _| Ok(Value::float(std::f64::consts::E))),
    f!("atan2", 2..=2, NUMBER, Ty::FLOAT, |_, args| {
        match (arg(args, 0), arg(args, 1)) {
            (Value::Scalar(Scalar::Null), _) | (_, Value::Scalar(Scalar::Null)) => Ok(Value::NULL),
            (a, b) => match (a.as_f64(), b.as_f64()) {
                (Some(a), Some(b)) => Ok(Value::float(a.atan2(b))),
                _ => Err(wrong("atan2", "numbers", b)),
            },
        }
    }),
    real!("ceil", f64::ceil),
    real!("ceiling", f64::ceil),
    real!("floor", f64::floor),
    real!("sqrt", f64::sqrt),
    real!("exp", f64::exp),
    real!("log", f64::ln),
    real!("log10", f64::log10),
    real!("sin", f64::sin),
    real!("cos", f64::cos),
    real!("tan", f64::tan),
    real!("cot", |v: f64| 1.0 / v.tan()),
    real!("asin", f64::asin),
    real!("acos", f64::acos),
    real!("atan", f64::atan),
    real!("sinh", f64::sinh),
    real!("cosh", f64::cosh),
    real!("tanh", f64::tanh),
    real!("degrees", f64::to_degrees),
    real!("radians", f64::to_radians),
    real!("haversin", |v: f64| (1.0 - v.cos()) / 2.0),
];

fn real(name: &str, args: &[Value], op: impl Fn(f64) -> f64) -> Res<Value> {
    match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        v => match v.as_f64() {
            Some(x) => Ok(Value::float(op(x))),
            None => Err(wrong(name, "a number", v)),
        },
    }
}

/// Half goes up; with a precision, half goes away from zero.
fn round(_: &GraphView, args: &[Value]) -> Res<Value> {
    if args.iter().any(Value::is_null) {
        return Ok(Value::NULL);
    }
    let Some(v) = arg(args, 0).as_f64() else {
        return Err(wrong("round", "a number", arg(args, 0)));
    };
    let digits = match arg(args, 1) {
        Value::Scalar(Scalar::Int(n)) => *n,
        Value::Scalar(Scalar::Null) => return Ok(Value::float(half_up(v))),
        other => return Err(wrong("round", "an integer as precision", other)),
    };
    if !(0..=300).contains(&digits) {
        return Err(value_error(format!("the precision of round is from 0 to 300, not {digits}")));
    }
    let scale = 10f64.powi(digits as i32);
    let scaled = v * scale;
    if !scaled.is_finite() {
        return Ok(Value::float(v));
    }
    let mode = match arg(args, 2) {
        Value::Scalar(Scalar::Text(mode)) => mode.to_ascii_uppercase(),
        _ => "HALF_UP".to_owned(),
    };
    let whole = scaled.trunc();
    let half = (scaled - whole).abs() == 0.5;
    let rounded = match mode.as_str() {
        "UP" if scaled != whole => whole + scaled.signum(),
        "UP" | "DOWN" => whole,
        "CEILING" => scaled.ceil(),
        "FLOOR" => scaled.floor(),
        "HALF_UP" => scaled.round(),
        "HALF_DOWN" if half => whole,
        "HALF_EVEN" if half => {
            if whole % 2.0 == 0.0 {
                whole
            } else {
                whole + scaled.signum()
            }
        }
        "HALF_DOWN" | "HALF_EVEN" => scaled.round(),
        _ => return Err(value_error(format!("{mode:?} is no mode of rounding"))),
    };
    Ok(Value::float(rounded / scale))
}

fn half_up(v: f64) -> f64 {
    let floor = v.floor();
    if v - floor >= 0.5 { floor + 1.0 } else { floor }
}

/// A number from 0 to 1, without 1.
fn random() -> f64 {
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish());
    }
    let next = STATE.with(|state| {
        let next = state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        state.set(next);
        mix64(next)
    });
    (next >> 11) as f64 / (1u64 << 53) as f64
}
