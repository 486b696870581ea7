//! Tests of an expression or a brush, checked against the column and made a predicate of the query engine.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use graphlume_expr::{Cmp, ErrorCode, QueryError, Scalar};
use graphlume_gfql::moment;
use graphlume_graph::canon::Column;
use graphlume_store::filter::{Pattern, Predicate, TextTest};

use graphlume_types::number::{nanos_u32, saturating_i64, saturating_i128};

use crate::column::{Cells, ColumnKind};
use crate::expr::{Literal, Test};

/// A refusal of a value for a column.
fn refused(cells: &Cells, value: &Literal, what: &str, hint: String) -> QueryError {
    let place = if value.at > 0 { format!(" at character {}", value.at) } else { String::new() };
    let text = format!("the {} column {:?} {what}{place}", cells.axis.name(), cells.name);
    let shown = match &value.value {
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(v) => v.to_string(),
        Scalar::Int(v) => v.to_string(),
        Scalar::UInt(v) => v.to_string(),
        Scalar::Float(v) => v.to_string(),
        Scalar::Text(v) => format!("'{v}'"),
        Scalar::Temporal(v) => v.to_string(),
    };
    QueryError::new(ErrorCode::ColumnType, text).field(&cells.name).value(shown).suggest(hint)
}

/// A number among integers: the greatest integer that is not above it, and whether that is the number itself.
#[derive(Clone, Copy)]
struct Bound {
    floor: i128,
    exact: bool,
}

impl Bound {
    fn of_float(v: f64) -> Self {
        // Far beyond every 64-bit integer the answer is the same.
        const FAR: f64 = 1_267_650_600_228_229_401_496_703_205_376.0;
        Self { floor: saturating_i128(v.floor().clamp(-FAR, FAR)), exact: v.fract() == 0.0 }
    }

    /// Ticks of a moment.
    fn of_moment(seconds: i64, nanos: u32, per_second: i64) -> Self {
        let tick_nanos = 1_000_000_000 / per_second;
        let within = i64::from(nanos);
        let floor = i128::from(seconds) * i128::from(per_second) + i128::from(within / tick_nanos);
        Self { floor, exact: within % tick_nanos == 0 }
    }

    /// The least integer that is not below it.
    const fn ceil(self) -> i128 {
        self.floor + !self.exact as i128
    }
}

/// The integers of an interval.
fn ints_between(low: i128, high: i128) -> Predicate {
    let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
    if low > high || low > most || high < least {
        return Predicate::Never;
    }
    if low <= least && high >= most {
        return Predicate::NotNull;
    }
    let within = |v: i128| {
        let end = if v < 0 { i64::MIN } else { i64::MAX };
        Scalar::Int(i64::try_from(v).unwrap_or(end))
    };
    Predicate::Between(within(low), within(high), true)
}

/// A comparison of integers with any number.
fn ints_compared(cmp: Cmp, bound: Bound) -> Predicate {
    match (cmp, i64::try_from(bound.floor)) {
        (Cmp::Eq, Ok(v)) if bound.exact => Predicate::Compare(Cmp::Eq, Scalar::Int(v)),
        (Cmp::Eq, _) => Predicate::Never,
        (Cmp::Ne, Ok(v)) if bound.exact => Predicate::Compare(Cmp::Ne, Scalar::Int(v)),
        (Cmp::Ne, _) => Predicate::NotNull,
        (Cmp::Lt, _) => ints_between(i128::MIN, bound.ceil() - 1),
        (Cmp::Le, _) => ints_between(i128::MIN, bound.floor),
        (Cmp::Gt, _) => ints_between(bound.floor + 1, i128::MAX),
        (Cmp::Ge, _) => ints_between(bound.ceil(), i128::MAX),
    }
}

/// The test as a predicate on the cells.
///
/// # Errors
/// [`ErrorCode::ColumnType`] when the values do not fit the column.
pub(crate) fn predicate(cells: &Cells, test: &Test) -> Result<Predicate, QueryError> {
    let is_whole =
        cells.kind == ColumnKind::Date || matches!(cells.column.as_ref(), Column::Int(_));
    Ok(match test {
        Test::IsNull => Predicate::IsNull,
        Test::Compare(cmp, value) => {
            known(cells, value)?;
            if !matches!(cmp, Cmp::Eq | Cmp::Ne) && cells.kind == ColumnKind::Boolean {
                let hint = format!("write {} = true or {} = false", cells.name, cells.name);
                return Err(refused(cells, value, "holds truth values, which have no order", hint));
            }
            match is_whole {
                true => ints_compared(*cmp, bound(cells, value)?),
                false => Predicate::Compare(*cmp, plain(cells, value)?),
            }
        }
        Test::Between(low, high) => {
            known(cells, low)?;
            known(cells, high)?;
            match is_whole {
                true => ints_between(bound(cells, low)?.ceil(), bound(cells, high)?.floor),
                false if cells.kind == ColumnKind::Boolean => {
                    let hint = format!("write {} = true", cells.name);
                    return Err(refused(
                        cells,
                        low,
                        "holds truth values, which have no order",
                        hint,
                    ));
                }
                false => Predicate::Between(plain(cells, low)?, plain(cells, high)?, true),
            }
        }
        Test::In(values) => {
            let (mut list, mut null) = (Vec::with_capacity(values.len()), false);
            for value in values {
                if value.value == Scalar::Null {
                    null = true;
                } else if is_whole {
                    // What lies between two integers is none of them.
                    let Bound { floor, exact } = bound(cells, value)?;
                    list.extend(i64::try_from(floor).ok().filter(|_| exact).map(Scalar::Int));
                } else {
                    list.push(plain(cells, value)?);
                }
            }
            match null {
                true => {
                    list.push(Scalar::Null);
                    Predicate::IsIn(list)
                }
                false => Predicate::Member(list),
            }
        }
        Test::Like(pattern, fold) => like(cells, pattern, *fold)?,
    })
}

/// Refuses null, which no comparison is true of.
fn known(cells: &Cells, value: &Literal) -> Result<(), QueryError> {
    if value.value != Scalar::Null {
        return Ok(());
    }
    let hint = format!("write {} is null, or {} is not null", cells.name, cells.name);
    Err(refused(cells, value, "is compared with null, which nothing equals", hint))
}

/// The value as a bound of a column of integers or dates.
fn bound(cells: &Cells, value: &Literal) -> Result<Bound, QueryError> {
    if cells.kind != ColumnKind::Date {
        return match plain(cells, value)? {
            Scalar::Float(v) => Ok(Bound::of_float(v)),
            Scalar::Int(v) => Ok(Bound { floor: i128::from(v), exact: true }),
            Scalar::UInt(v) => Ok(Bound { floor: i128::from(v), exact: true }),
            _ => Err(refused(cells, value, "holds numbers", "compare it with a number".to_owned())),
        };
    }
    let (seconds, nanos) = match &value.value {
        Scalar::Text(text) => moment(text).map_err(|e| e.field(&cells.name))?,
        Scalar::Int(millis) => {
            (millis.div_euclid(1_000), nanos_u32(millis.rem_euclid(1_000) * 1_000_000))
        }
        // A float of today's milliseconds is exact to less than a microsecond. Far beyond 64 bits the cast saturates, and
        // no date is there.
        Scalar::Float(millis) => {
            let micros = saturating_i64((millis * 1e3).round());
            (micros.div_euclid(1_000_000), nanos_u32(micros.rem_euclid(1_000_000) * 1_000))
        }
        _ => {
            let hint =
                "compare it with a date in quotes, such as '2024-01-31' or '2024-01-31T08:30:00Z'";
            return Err(refused(cells, value, "holds dates", hint.to_owned()));
        }
    };
    Ok(Bound::of_moment(seconds, nanos, cells.per_second))
}

/// The value, which must be of the kind of the column.
fn plain(cells: &Cells, value: &Literal) -> Result<Scalar, QueryError> {
    match (cells.column.as_ref(), &value.value) {
        (Column::Text(_), Scalar::Text(_))
        | (Column::Bool(_), Scalar::Bool(_))
        | (
            Column::Int(_) | Column::UInt(_) | Column::Float(_),
            Scalar::Int(_) | Scalar::UInt(_) | Scalar::Float(_),
        ) => Ok(value.value.clone()),
        (Column::Bool(_), Scalar::Int(v @ (0 | 1))) => Ok(Scalar::Bool(*v == 1)),
        (Column::Text(_), _) => {
            Err(refused(cells, value, "holds texts", "put the value into quotes".to_owned()))
        }
        (Column::Bool(_), _) => Err(refused(
            cells,
            value,
            "holds truth values",
            "compare it with true or false".to_owned(),
        )),
        (_, Scalar::Text(_)) => {
            Err(refused(cells, value, "holds numbers", "leave out the quotes".to_owned()))
        }
        _ => Err(refused(cells, value, "holds numbers", "compare it with a number".to_owned())),
    }
}

/// The pattern of LIKE, whose percent signs stand for any characters and underscores for one.
fn like(cells: &Cells, pattern: &Literal, fold: bool) -> Result<Predicate, QueryError> {
    let Scalar::Text(text) = &pattern.value else {
        return Err(refused(
            cells,
            pattern,
            "is compared with no text",
            "put the pattern into quotes".to_owned(),
        ));
    };
    if !matches!(cells.column.as_ref(), Column::Text(_)) {
        let hint = "like is for texts: use =, <, > or between".to_owned();
        return Err(refused(cells, pattern, "holds no texts", hint));
    }
    let mut regex = String::from(if fold { r"(?si)\A" } else { r"(?s)\A" });
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '\\' => push_literal(&mut regex, chars.next().unwrap_or('\\')),
            c => push_literal(&mut regex, c),
        }
    }
    regex.push_str(r"\z");
    let compiled = Pattern::new(&regex);
    let test = compiled.map_err(|e| {
        refused(
            cells,
            pattern,
            &format!("cannot be tested: {e}"),
            "use a shorter pattern".to_owned(),
        )
    })?;
    Ok(Predicate::Text { test: TextTest::Regex(test), fold: false, na: false })
}

/// A character that stands for itself.
fn push_literal(regex: &mut String, c: char) {
    if r"\.+*?()|[]{}^$#&-~".contains(c) {
        regex.push('\\');
    }
    regex.push(c);
}
